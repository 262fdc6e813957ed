// Draws the sky, bottom to top: stars, distance rings, orbits, trails, predicted path, bodies, craft, names, edges,
// scale. Colours are tokens; bodies bring theirs. `draw` says where everything stands, so that a click finds it.
import { t } from '../../base/i18n.js';
import * as craft from './craft.js';
import { lens } from './lens.js';
import { edges, names, scale } from './over.js';
import { Pen, TAU } from './pen.js';
import { AU, len, sub } from './space.js';
import { dist, round125 } from './units.js';

/** Stars stand still: the same ones each time, from a small generator with a fixed seed. */
const STARS = (() => {
  let s = 20002;
  const next = () => {
    s = (s * 16807) % 2147483647;
    return s / 2147483647;
  };
  return Array.from({ length: 220 }, () => ({ x: next(), y: next(), r: 0.4 + next() ** 3, a: 0.15 + next() * 0.45 }));
})();

/** Smallest radius in pixels, by class: star, planet, moon. */
export const least = (b) => (!b.parent ? 9 : b.held && !b.held.parent ? (b.radius > 2e7 ? 6 : 5) : 4);

/** One picture. `see`: sky, view, labels, selected, followed, own, wall, meets. */
export function draw(c, { color }, see) {
  const p = new Pen(c, color, see);
  stars(p);
  rings(p);
  orbits(p);
  reachOf(p);
  craft.trails(p);
  craft.ahead(p);
  for (const b of see.sky.bodies.values()) body(p, b);
  craft.fixed(p);
  craft.ships(p);
  names(p, [...lens(p), ...see.covered, ...p.boxes]);
  edges(p);
  scale(p);
  p.notes();
  return p.places;
}

function stars(p) {
  const { c, w, h } = p;
  c.fillStyle = p.color('--sky');
  c.fillRect(0, 0, w, h);
  c.fillStyle = p.color('--sky-label');
  for (const s of STARS) {
    c.globalAlpha = s.a;
    c.fillRect(s.x * w, s.y * h, s.r, s.r);
  }
  c.globalAlpha = 1;
}

/** Round distances about what the view moves with. */
function rings(p) {
  const { c, see, view } = p;
  const centre = see.sky.get(see.anchor) || see.sky.star;
  const about = centre && (centre.kind === 'body' ? centre : centre.held);
  if (!about?.at) return;
  const s = view.to(about.at);
  const span = view.mpp * Math.min(p.w, p.h) * 0.3;
  const base = span > 0.05 * AU ? AU : 1;
  const step = round125(span / base) * base;
  c.strokeStyle = p.color('--sky-orbit');
  c.lineWidth = 1;
  for (const k of [1, 2, 3]) {
    const r = p.px(step * k);
    const far = Math.hypot(s.x - p.w / 2, s.y - p.h / 2);
    if (r < 40 || r > 6000 || far > r + view.diag / 2 || step * k < (about.radius || 0) * 1.05) continue;
    c.globalAlpha = 0.35;
    c.setLineDash([1, 6]);
    c.beginPath();
    c.arc(s.x, s.y, r, 0, TAU);
    c.stroke();
    c.setLineDash([]);
    const at = { x: s.x - r * 0.72, y: s.y + r * 0.694 };
    p.note(dist(step * k), at.x, at.y);
  }
  c.globalAlpha = 1;
}

function orbits(p) {
  const { c, see, view } = p;
  c.lineWidth = 1.1;
  for (const b of see.sky.bodies.values()) {
    if (!b.held) continue;
    const size = p.px(len(b.rel));
    const shown = Math.min(1, (size - 10) / 24);
    if (shown <= 0) continue;
    const s = view.to(b.at);
    const centre = view.to(b.held.at);
    const near = Math.min(Math.hypot(s.x - p.w / 2, s.y - p.h / 2), size * 3);
    const clear = Math.hypot(centre.x - p.w / 2, centre.y - p.h / 2) - size * 1.3 > view.diag / 2;
    if (clear && near > view.diag) continue;
    const o = p.orbitFor(b);
    if (!o) continue;
    b.orbit = o;
    const half = p.half(o);
    c.strokeStyle = p.color('--sky-orbit');
    c.globalAlpha = shown;
    p.line(p.curve(o, b.at, o.at - half, o.at + half, half > 3 ? 160 : 80));
    // The eighth of its way that it has just gone.
    const back = Math.min(TAU / 8, half);
    const gone = p.curve(o, b.at, o.at - back, o.at, 22);
    c.strokeStyle = p.tint(b);
    c.lineCap = 'round';
    for (let i = 1; i < gone.length; i += 1) {
      const k = i / (gone.length - 1);
      c.globalAlpha = shown * k * k * 0.9;
      c.lineWidth = 0.3 + 2.1 * k;
      p.line([gone[i - 1], gone[i]]);
    }
    c.lineCap = 'butt';
    c.lineWidth = 1.1;
  }
  c.globalAlpha = 1;
}

/** The selected body's reach: within it, craft go round it. */
function reachOf(p) {
  const { c, see, view } = p;
  const e = see.sky.get(see.selected);
  const b = e?.kind === 'body' ? e : e?.held;
  if (!b?.hill || !b.parent) return;
  const r = p.px(b.hill);
  if (r < 26 || r > 4000) return;
  const s = view.to(b.at);
  c.strokeStyle = p.color('--sky-note');
  c.globalAlpha = 0.5;
  c.setLineDash([2, 7]);
  c.beginPath();
  c.arc(s.x, s.y, r, 0, TAU);
  c.stroke();
  c.setLineDash([]);
  const at = { x: s.x, y: s.y - r - 6 };
  if (p.inside(at, -30) && r > 70)
    p.text(t('galaxy.reach', { name: b.name, far: dist(b.hill) }), at.x, at.y, {
      px: 11,
      tone: '--sky-note',
      align: 'center',
    });
  c.globalAlpha = 1;
}

function body(p, b) {
  const { c, see, view } = p;
  const parentSize = b.held ? p.px(len(b.rel)) : Infinity;
  const moon = b.held?.parent;
  if (parentSize < (moon ? 14 : 5) && see.selected !== b.key) return;
  const s = view.to(b.at);
  const r = Math.max(p.px(b.radius || 0), least(b));
  b.shown = r;
  if (!p.inside(s, r + 40)) return;
  if (!b.parent) glow(p, s, r);
  c.fillStyle = p.tint(b);
  if (r < 3000) {
    c.globalAlpha = 0.14;
    c.beginPath();
    c.arc(s.x, s.y, r + Math.min(8, 2 + r * 0.8), 0, TAU);
    c.fill();
    c.globalAlpha = 1;
    c.beginPath();
    c.arc(s.x, s.y, r, 0, TAU);
    c.fill();
    if (r > 10 && b.parent) night(p, b, s, r);
  } else ground(p, s, r);
  if (see.selected === b.key) p.reticle(s, Math.min(r + 8, 400));
  p.places.push({ key: b.key, x: s.x, y: s.y, r: Math.max(r, 10) });
  const rank = see.selected === b.key ? 0 : !b.parent ? 2 : moon ? 6 : 3;
  p.marks.push({ key: b.key, x: s.x, y: s.y, r: Math.min(r, 400), rank, b });
}

function glow(p, s, r) {
  const { c } = p;
  const R = r * 4.2 + 30;
  if (R > 4000) return;
  const g = c.createRadialGradient(s.x, s.y, r * 0.6, s.x, s.y, R);
  g.addColorStop(0, p.color('--sky-sun'));
  g.addColorStop(1, p.color('--sky-clear'));
  c.globalAlpha = 0.38;
  c.fillStyle = g;
  c.beginPath();
  c.arc(s.x, s.y, R, 0, TAU);
  c.fill();
  c.globalAlpha = 1;
}

/** The side away from the star. */
function night(p, b, s, r) {
  const { c, see } = p;
  const star = see.sky.star;
  if (!star?.at) return;
  const d = sub(star.at, b.at);
  const a = Math.atan2(-d.y, d.x);
  c.fillStyle = p.color('--sky');
  c.globalAlpha = 0.45;
  c.beginPath();
  c.arc(s.x, s.y, r + 0.5, a + TAU / 4, a + (3 * TAU) / 4);
  c.fill();
  c.globalAlpha = 1;
}

/** A disc far larger than the screen: only its edge near the view, so that nothing is rounded away. */
function ground(p, s, r) {
  const { c, w, h, view } = p;
  const [dx, dy] = [w / 2 - s.x, h / 2 - s.y];
  const d = Math.hypot(dx, dy);
  if (d > r + view.diag) return;
  if (d < r - view.diag) {
    c.globalAlpha = 0.9;
    c.fillRect(0, 0, w, h);
    c.globalAlpha = 1;
    return;
  }
  const a = Math.atan2(dy, dx);
  const span = Math.min(1, (view.diag * 1.5) / r);
  c.beginPath();
  for (let i = -40; i <= 40; i += 1) {
    const k = a + (span * i) / 40;
    // Measured from the point of the edge nearest to the view: differences stay small.
    const e = { x: w / 2 + (r - d) * Math.cos(a), y: h / 2 + (r - d) * Math.sin(a) };
    const half = (k - a) / 2;
    const chord = 2 * r * Math.sin(half);
    c.lineTo(e.x + chord * -Math.sin(a + half), e.y + chord * Math.cos(a + half));
  }
  c.lineTo(w / 2 - 3 * view.diag * Math.cos(a - 0.5), h / 2 - 3 * view.diag * Math.sin(a - 0.5));
  c.lineTo(w / 2 - 3 * view.diag * Math.cos(a + 0.5), h / 2 - 3 * view.diag * Math.sin(a + 0.5));
  c.closePath();
  c.fill();
}
