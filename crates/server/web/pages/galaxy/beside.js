// What flies near the pilot: stations, ships and gates in the window, brackets round the target, an arrow when it is out
// of sight.
import { t } from '../../base/i18n.js';
import { TAU } from './pen.js';
import { dot, len, sub, unit, unrotate } from './space.js';
import { dist, speed } from './units.js';

/** Craft near by, and the target with its brackets wherever it is. */
export function crafts(p) {
  const { c, see } = p;
  const near = [...see.sky.stations.values(), ...see.sky.gates.values(), ...see.sky.ships.values()]
    .filter((e) => e.at && e.key !== see.ship.key)
    .map((e) => ({ e, d: sub(e.at, see.ship.at) }))
    .filter((x) => x.e === see.target || len(x.d) < 5e6)
    .sort((a, b) => Number(b.e === see.target) - Number(a.e === see.target) || len(a.d) - len(b.d))
    .slice(0, 12);
  for (const { e, d } of near) {
    const s = p.to(d);
    const mine = e === see.target;
    if (!p.inside(s, -6)) {
      if (mine && !see.ship.data.docked_station_id) edge(p, e, d);
      continue;
    }
    const big = e.kind === 'station' ? Math.max(9, Math.min(120, ((e.data.radius || 50) / len(d)) * p.f)) : 5;
    if (e.kind === 'station') station(p, s, big);
    else {
      c.fillStyle = p.color('--sky-label');
      c.beginPath();
      c.arc(s.x, s.y, 2.5, 0, TAU);
      c.fill();
    }
    if (!mine) {
      p.name(e.name, dist(len(d)), s, big + 8);
      continue;
    }
    corners(p, s, big + 12);
    const closing = -dot(sub(e.v, see.ship.v), unit(d));
    p.names.push({ x: s.x - big, y: s.y - big - 10, w: 2 * big + 190, h: 2 * big + 20 });
    // Where the name would leave the window it stands below.
    const below = s.x + big + 220 > p.w;
    const [x, y, align] = below
      ? [Math.min(s.x, p.w - 110), s.y + big + 30, 'center']
      : [s.x + big + 20, s.y - 2, 'left'];
    p.text(e.name, x, y, { px: 15, weight: 650, tone: '--sky-event', align });
    const say = t(closing >= 0 ? 'pilot.closing' : 'pilot.opening', { far: dist(len(d)), v: speed(Math.abs(closing)) });
    p.text(say, x, y + 19, { px: 13, align });
  }
}

function station(p, s, r) {
  const { c } = p;
  c.fillStyle = p.color('--sky-label');
  c.fillRect(s.x - r * 0.16, s.y - r * 0.6, r * 0.32, r * 1.2);
  c.fillRect(s.x - r * 0.75, s.y - r * 0.12, r * 1.5, r * 0.24);
  c.fillStyle = p.color('--sky-air');
  for (const k of [-1, 1]) c.fillRect(s.x + k * r * 0.78 - r * 0.17, s.y - r * 0.45, r * 0.34, r * 0.9);
}

function corners(p, s, r) {
  const { c } = p;
  c.strokeStyle = p.color('--sky-event');
  c.lineWidth = 3;
  for (const [i, j] of [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
  ]) {
    c.beginPath();
    c.moveTo(s.x + i * r, s.y + j * (r - 8));
    c.lineTo(s.x + i * r, s.y + j * r);
    c.lineTo(s.x + i * (r - 8), s.y + j * r);
    c.stroke();
  }
}
/** The target is out of sight: which way to turn. */
function edge(p, e, d) {
  const { c } = p;
  const k = unrotate(p.q, unit(d));
  const a = Math.atan2(-k.y, -k.x);
  const r = Math.min(p.w, p.h) * 0.3;
  const s = { x: p.x + Math.cos(a) * r, y: p.y + Math.sin(a) * r };
  c.fillStyle = p.color('--sky-event');
  c.beginPath();
  for (const [i, j] of [
    [11, 0],
    [-5, -7],
    [-5, 7],
  ])
    c.lineTo(s.x + i * Math.cos(a) - j * Math.sin(a), s.y + i * Math.sin(a) + j * Math.cos(a));
  c.fill();
  p.text(e.name, s.x, s.y + 24, { tone: '--sky-event', align: 'center' });
}
