// A lens over a corner of the map: the surroundings of the selected body, or of the one that holds the selected craft,
// while the map's scale hides them.
import { t } from '../../base/i18n.js';
import { TAU } from './pen.js';
import { len } from './space.js';
import { dist } from './units.js';

const R = 84;

/** Draws it when it helps; gives the boxes it takes. */
export function lens(p) {
  const { c, see } = p;
  const e = see.sky.get(see.selected);
  const b = e?.kind === 'body' ? e : e?.held;
  if (!b?.at || !b.parent || p.w < 620 || p.h < 420) return [];
  const near = (x) => x.held === b;
  const ships = [...see.sky.ships.values()].filter(near);
  const fixed = [...see.sky.stations.values(), ...see.sky.gates.values()].filter(near);
  const moons = see.sky.children(b.name);
  if (!ships.length && !fixed.length && !moons.length) return [];
  const span = Math.max(b.radius * 2.6, middle(ships.map((x) => len(x.rel))) * 1.5);
  if (p.px(span) > 60) return [];
  const [x, y] = [see.edges[0] + R + 8, p.h - see.edges[3] - R - 16];
  const k = R / span;
  c.save();
  c.fillStyle = p.color('--sky');
  c.globalAlpha = 0.92;
  c.beginPath();
  c.arc(x, y, R, 0, TAU);
  c.fill();
  c.globalAlpha = 1;
  c.clip();
  c.strokeStyle = p.color('--sky-orbit');
  c.lineWidth = 1;
  for (const r of [0.5, 0.78]) {
    c.beginPath();
    c.arc(x, y, R * r, 0, TAU);
    c.stroke();
  }
  c.fillStyle = p.tint(b);
  c.beginPath();
  c.arc(x, y, Math.max(4, b.radius * k), 0, TAU);
  c.fill();
  for (const m of moons) spot(p, x, y, k, m, Math.max(2.5, m.radius * k), p.tint(m));
  for (const s of ships)
    spot(
      p,
      x,
      y,
      k,
      s,
      s.key === see.selected ? 3.4 : 1.5,
      p.color(s.key === see.selected ? '--sky-own' : '--sky-label'),
    );
  c.strokeStyle = p.color('--sky-event');
  c.lineWidth = 1.6;
  for (const f of fixed) c.strokeRect(x + f.rel.x * k - 3.5, y - f.rel.y * k - 3.5, 7, 7);
  c.restore();
  c.strokeStyle = p.color('--sky-note');
  c.globalAlpha = 0.7;
  c.lineWidth = 1.2;
  c.beginPath();
  c.arc(x, y, R, 0, TAU);
  c.stroke();
  c.globalAlpha = 1;
  p.text(t('galaxy.lens', { name: b.name, far: dist(span * 2) }), x, y + R + 17, { px: 11.5, align: 'center' });
  return [{ x: x - R - 4, y: y - R - 4, w: 2 * R + 8, h: 2 * R + 28 }];
}

function spot(p, x, y, k, e, r, fill) {
  const { c } = p;
  c.fillStyle = fill;
  c.beginPath();
  c.arc(x + e.rel.x * k, y - e.rel.y * k, r, 0, TAU);
  c.fill();
}

/** The middle one of some lengths; 0 of none. */
function middle(list) {
  const s = [...list].sort((a, b) => a - b);
  return s.length ? s[Math.floor(s.length * 0.8)] : 0;
}
