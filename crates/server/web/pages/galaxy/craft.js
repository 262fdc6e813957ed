// Craft on the map: darts along their attitude, trails, the path ahead of the selected one with its encounters, its
// vectors, stations and gates; crowds become a number on their body.
import { num } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { TAU } from './pen.js';
import { add, anomalyAfter, len, mul, orbitNow, path, placeAt, rotate, sub, timeTo, unit } from './space.js';
import { dist, round125, span, speed } from './units.js';

const NEAR_PX = 24;
const CROWD = 5;
/** With more ships than this only the selected one draws its trail. */
const TRAILS = 80;

export function trails(p) {
  const { c, see, view } = p;
  c.lineCap = 'round';
  for (const e of see.sky.ships.values()) {
    const past = e.past || [];
    if (past.length < 2 || !e.held?.at) continue;
    const mine = e.key === see.selected;
    if (!mine && see.sky.ships.size > TRAILS) continue;
    const dots = [...past.map((x) => add(e.held.at, x.rp)), e.at].map((x) => view.to(x));
    const [first, last] = [dots[0], dots[dots.length - 1]];
    if (Math.hypot(first.x - last.x, first.y - last.y) < 3 || !p.inside(last, 200)) continue;
    c.strokeStyle = p.color(mine ? '--sky-own' : '--sky-label');
    for (let i = 1; i < dots.length; i += 1) {
      const k = i / (dots.length - 1);
      c.globalAlpha = k * (mine ? 0.9 : 0.5);
      c.lineWidth = 0.3 + 2.1 * k;
      p.line([dots[i - 1], dots[i]]);
    }
  }
  c.lineCap = 'butt';
  c.globalAlpha = 1;
}

/** The selected craft's way ahead: dashed, a dot at each round interval, lowest and highest, encounters. */
export function ahead(p) {
  const { c, see, view } = p;
  const e = see.sky.get(see.selected);
  if (!e || e.kind === 'body' || !e.held?.at) return;
  const o = orbitNow(e);
  if (!o) return;
  e.orbit = o;
  const size = p.px(o.closed ? o.a : o.low);
  if (size < 8) return;
  c.strokeStyle = p.color('--sky-own');
  c.lineWidth = 1.4;
  c.globalAlpha = 0.85;
  c.setLineDash([6, 5]);
  const half = p.half(o);
  if (half > 3 || !o.closed) {
    const way = path(o, 180, view.mpp * view.diag * 20);
    p.line(way.map((r) => view.to(add(e.held.at, r))));
  } else p.line(p.curve(o, e.at, o.at - half / 8, o.at + half, 90));
  c.setLineDash([]);
  c.globalAlpha = 1;
  if (!o.closed || size < 60) return;
  const step = interval(o.period / 5);
  for (let k = 1; k * step < o.period * 0.92 && k < 9; k += 1) {
    const r = placeAt(o, anomalyAfter(o, k * step));
    const s = view.to(add(e.held.at, r));
    if (!p.inside(s)) continue;
    ringDot(p, s, '--sky-own');
    const out = unit(r);
    p.note(span(k * step), s.x + out.x * 18, s.y - out.y * 18 + 4);
  }
  for (const [name, at] of o.e > 0.002
    ? [
        ['low', 0],
        ['high', Math.PI],
      ]
    : []) {
    const r = placeAt(o, at);
    const s = view.to(add(e.held.at, r));
    if (!p.inside(s)) continue;
    ringDot(p, s, '--sky-event');
    const far = dist(len(r) - (e.held.radius || 0));
    const out = unit(r);
    p.note(t(`galaxy.${name}at`, { far, left: span(timeTo(o, at)) }), s.x + out.x * 14, s.y - out.y * 20 + 4, {
      tone: '--sky-event',
      align: out.x < -0.3 ? 'right' : out.x > 0.3 ? 'left' : 'center',
    });
  }
  for (const m of see.meets || []) {
    const s = view.to(add(e.held.at, placeAt(o, anomalyAfter(o, m.after))));
    if (!p.inside(s)) continue;
    p.reticle(s, 8, '--sky-event');
    p.text(t('galaxy.meets', { name: m.name }), s.x + 16, s.y + 2, { px: 12.5, weight: 620, tone: '--sky-event' });
    const say = t('galaxy.meetssay', { left: span(m.after), far: dist(m.miss) });
    p.text(say, s.x + 16, s.y + 17, { px: 11, tone: '--sky-note' });
  }
}

const ROUND = [60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
/** A round stretch of time near `s`. */
function interval(s) {
  if (s <= 86400) return ROUND.find((r) => r >= s * 0.7) || 86400;
  return Math.max(1, round125(s / 86400)) * 86400;
}

function ringDot(p, s, tone) {
  const { c } = p;
  c.fillStyle = p.color('--sky');
  c.strokeStyle = p.color(tone);
  c.lineWidth = 1.4;
  c.beginPath();
  c.arc(s.x, s.y, 3, 0, TAU);
  c.fill();
  c.stroke();
}

/** Bodies the craft comes close to within one turn, if everything stays on its present orbit. */
export function meetings(sky, e) {
  const o = e && orbitNow(e);
  if (!o?.closed) return [];
  const far = Math.min(o.period, 4e8);
  const out = [];
  for (const b of sky.children(e.held.name)) {
    const q = orbitNow(b);
    if (!q?.closed || q.low - b.hill > o.high || q.high + b.hill < o.low) continue;
    const gap = (s) => len(sub(placeAt(o, anomalyAfter(o, s)), placeAt(q, anomalyAfter(q, s))));
    let best = null;
    for (let i = 1; i <= 240; i += 1) {
      const s = (far * i) / 240;
      const g = gap(s);
      if (!best || g < best.g) best = { s, g };
    }
    for (let step = far / 240; step > far * 1e-6; step /= 2)
      for (const s of [best.s - step, best.s + step]) {
        const g = s > 0 ? gap(s) : Infinity;
        if (g < best.g) best = { s, g };
      }
    if (best.g < 2 * b.hill) out.push({ name: b.name, after: best.s, miss: Math.max(0, best.g - (b.radius || 0)) });
  }
  return out;
}

/** Stations and gates: small squares in the colour of events. */
export function fixed(p) {
  const { c, see, view } = p;
  for (const e of [...see.sky.stations.values(), ...see.sky.gates.values()]) {
    if (!e.at) continue;
    const s = view.to(e.at);
    const far = p.px(len(e.rel));
    const mine = e.key === see.selected;
    if (!p.inside(s, 20) || (far < 18 && !mine)) {
      count(p, e, 'stations');
      continue;
    }
    c.strokeStyle = p.color('--sky-event');
    c.lineWidth = 1.8;
    if (e.kind === 'station') c.strokeRect(s.x - 4.5, s.y - 4.5, 9, 9);
    else {
      c.beginPath();
      c.arc(s.x, s.y, 6, 0, TAU);
      c.stroke();
    }
    if (mine) p.reticle(s, 13);
    p.places.push({ key: e.key, x: s.x, y: s.y, r: 10 });
    p.marks.push({ key: e.key, name: e.name, x: s.x, y: s.y, r: mine ? 14 : 6, rank: mine ? 0 : 4 });
  }
}

function count(p, e, what) {
  let body = e.held;
  // A crowd round a moon that is itself hidden is told at its planet.
  while (body?.held?.parent && p.px(len(body.rel)) < 14) body = body.held;
  if (!body) return;
  const c = p.counts.get(body.name) || { ships: 0, stations: 0 };
  c[what] += 1;
  p.counts.set(body.name, c);
}

/** "128 ships, 3 stations" under a body's name. */
export function crowd(p, b) {
  const n = p.counts.get(b.name);
  if (!n) return null;
  return [n.ships && t('galaxy.nships', { n: n.ships }), n.stations && t('galaxy.nstations', { n: n.stations })]
    .filter(Boolean)
    .join(', ');
}

export function ships(p) {
  const { see, view } = p;
  const cells = new Map();
  const shown = [];
  for (const e of see.sky.ships.values()) {
    if (!e.at) continue;
    const s = view.to(e.at);
    const mine = e.key === see.selected;
    const hidden = e.held?.parent && p.px(len(e.rel)) < Math.max(NEAR_PX, e.held.shown || 0) && p.px(len(e.rel)) < 60;
    if (hidden && !mine) {
      count(p, e, 'ships');
      continue;
    }
    if (!p.inside(s, 30)) continue;
    const cell = `${Math.round(s.x / NEAR_PX)} ${Math.round(s.y / NEAR_PX)}`;
    const group = cells.get(cell) || [];
    group.push({ e, s, mine });
    cells.set(cell, group);
  }
  for (const group of cells.values()) {
    const rest = group.filter((g) => !g.mine);
    if (rest.length > CROWD) {
      const { s } = rest[0];
      for (const g of rest) dart(p, g, 0.45);
      p.marks.push({
        key: `crowd ${s.x}`,
        name: t('galaxy.nships', { n: rest.length }),
        x: s.x,
        y: s.y,
        r: 8,
        rank: 7,
      });
      shown.push(...group.filter((g) => g.mine));
    } else shown.push(...group);
  }
  shown.sort((a, b) => a.mine - b.mine);
  for (const g of shown) {
    dart(p, g, g.mine ? 1 : 0.85);
    const { e, s, mine } = g;
    if (mine) {
      p.reticle(s, 15, '--sky-own');
      vectors(p, e, s);
    }
    p.places.push({ key: e.key, x: s.x, y: s.y, r: mine ? 16 : 9 });
    const rank = mine ? 0 : 8;
    p.marks.push({ key: e.key, name: e.name, x: s.x, y: s.y, r: mine ? 17 : 8, rank });
  }
}

/** Where a craft points on the map; straight up or down shows its way instead. */
function heading(e) {
  const f = e.turn ? rotate(e.turn, { x: 0, y: 0, z: 1 }) : { x: 0, y: 0, z: 0 };
  const d = Math.hypot(f.x, f.y) > 0.15 ? f : e.rv;
  return Math.atan2(-d.y, d.x);
}

function dart(p, { e, s, mine }, alpha) {
  const { c } = p;
  const a = heading(e);
  const to = (x, y) => [s.x + x * Math.cos(a) - y * Math.sin(a), s.y + x * Math.sin(a) + y * Math.cos(a)];
  c.fillStyle = p.color(mine ? '--sky-own' : '--sky-label');
  c.globalAlpha = alpha;
  c.beginPath();
  c.moveTo(...to(7, 0));
  c.lineTo(...to(-6, -4.2));
  c.lineTo(...to(-3.5, 0));
  c.lineTo(...to(-6, 4.2));
  c.closePath();
  c.fill();
  c.globalAlpha = 1;
}

/** Velocity (from its holder), thrust and target, drawn from the selected ship. */
function vectors(p, e, s) {
  const target = e.data?.attitude_target_id && findTarget(p.see.sky, e.data);
  if (target?.at) arrow(p, s, sub(target.at, e.at), 64, '--sky-note', 1);
  const v = len(e.rv);
  if (v > 0.5) {
    const long = Math.max(24, Math.min(80, Math.sqrt(v) * 0.55));
    const tip = arrow(p, s, e.rv, long, '--sky-own', 1.8);
    const side = tip.x < s.x ? 'right' : 'left';
    const x = tip.x + (side === 'left' ? 9 : -9);
    p.text(speed(v), x, tip.y + 4, { px: 11, tone: '--sky-own', align: side });
    p.boxes.push({ x: side === 'left' ? x : x - 56, y: tip.y - 8, w: 56, h: 16 });
  }
  const burn = e.data?.thrust_level || 0;
  if (burn > 0 && e.turn) {
    const f = rotate(e.turn, { x: 0, y: 0, z: 1 });
    const tip = arrow(p, s, f, 24 + 40 * burn, '--sky-event', 2.4);
    p.text(`${num(Math.round(burn * 100))}\u202f%`, tip.x + 9, tip.y + 4, { px: 11, tone: '--sky-event' });
  }
}

export function findTarget(sky, d) {
  const id = d.attitude_target_id;
  return sky.bodies.get(id) || sky.ships.get(id) || sky.stations.get(id) || sky.gates.get(id) || null;
}

function arrow(p, s, d, long, tone, width) {
  const { c } = p;
  const flat = Math.hypot(d.x, d.y) || 1;
  const k = mul({ x: d.x, y: -d.y, z: 0 }, 1 / flat);
  const short = Math.max(14, long * Math.min(1, flat / (len(d) || 1)));
  const tip = { x: s.x + k.x * short, y: s.y + k.y * short };
  const a = Math.atan2(k.y, k.x);
  c.strokeStyle = c.fillStyle = p.color(tone);
  c.lineWidth = width;
  p.line([{ x: s.x + k.x * 9, y: s.y + k.y * 9 }, tip]);
  c.beginPath();
  c.moveTo(tip.x + 5 * Math.cos(a), tip.y + 5 * Math.sin(a));
  c.lineTo(tip.x + 5 * Math.cos(a + 2.5), tip.y + 5 * Math.sin(a + 2.5));
  c.lineTo(tip.x + 5 * Math.cos(a - 2.5), tip.y + 5 * Math.sin(a - 2.5));
  c.fill();
  return tip;
}
