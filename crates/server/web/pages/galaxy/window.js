// What the pilot sees: the sky from the seat. Stars, the bodies as discs with their air and a net of lines, the orbit
// ahead, marks of directions, craft near by, the target. Ahead is the craft's z, up its y, left its x.
import { t } from '../../base/i18n.js';
import { mark } from './ball.js';
import { crafts } from './beside.js';
import { FONT, TAU } from './pen.js';
import { add, cross, dot, len, mul, orbitNow, path, placeAt, sub, timeTo, unit, unrotate } from './space.js';
import { dist, span } from './units.js';

const NEAR = 0.03;
const HEX = /^#[0-9a-f]{6}$/i;

const STARS = (() => {
  let s = 4711;
  const next = () => {
    s = (s * 16807) % 2147483647;
    return s / 2147483647;
  };
  return Array.from({ length: 700 }, () => {
    const [z, a] = [2 * next() - 1, next() * TAU];
    const r = Math.sqrt(1 - z * z);
    return { d: { x: r * Math.cos(a), y: r * Math.sin(a), z }, r: 0.5 + next() ** 4 * 1.3, a: 0.2 + next() * 0.6 };
  });
})();

/** One picture. `see`: sky, ship (with at, rel, rv, turn), bearings, target, mode, free {top,bottom,left,right}. */
export function look(c, { w, h, color }, see) {
  const p = new Seat(c, w, h, color, see);
  c.fillStyle = color('--sky');
  c.fillRect(0, 0, w, h);
  p.stars();
  const bodies = [...see.sky.bodies.values()].filter((b) => b.at).map((b) => ({ b, d: sub(b.at, see.ship.at) }));
  bodies.sort((a, b) => len(b.d) - len(a.d));
  for (const x of bodies) p.body(x.b, x.d);
  p.orbit();
  crafts(p);
  p.marks();
  p.cross();
}

class Seat {
  constructor(c, w, h, color, see) {
    this.c = c;
    this.w = w;
    this.h = h;
    this.color = color;
    this.see = see;
    this.q = see.ship.turn;
    this.names = [];
    this.x = w / 2;
    this.y = h * see.middle;
    this.f = Math.max(w, h) * 0.62;
  }
  /** A direction of the sky on the screen; null behind. */
  to(d) {
    return this.on(unrotate(this.q, d));
  }
  on(k) {
    if (k.z <= 0.001) return null;
    return { x: this.x - (k.x / k.z) * this.f, y: this.y - (k.y / k.z) * this.f };
  }
  inside(s, edge = 0) {
    return s && s.x > -edge && s.y > -edge && s.x < this.w + edge && s.y < this.h + edge;
  }
  text(what, x, y, { px = 12.5, weight = 400, tone = '--sky-label', align = 'left' } = {}) {
    const { c } = this;
    c.font = `${weight} ${px}px ${FONT}`;
    c.textAlign = align;
    c.textBaseline = 'alphabetic';
    c.lineJoin = 'round';
    c.lineWidth = 3.5;
    c.strokeStyle = this.color('--sky');
    c.strokeText(what, x, y);
    c.fillStyle = this.color(tone);
    c.fillText(what, x, y);
  }

  stars() {
    const { c } = this;
    c.fillStyle = this.color('--sky-label');
    for (const s of STARS) {
      const at = this.to(s.d);
      if (!this.inside(at)) continue;
      c.globalAlpha = s.a;
      c.fillRect(at.x, at.y, s.r, s.r);
    }
    c.globalAlpha = 1;
  }

  /** The edge of a cone about `d` (craft's axes) on the screen: its cut with what lies ahead. */
  cap(d, cosA, sinA) {
    const a = unit(cross(d, Math.abs(d.z) < 0.9 ? { x: 0, y: 0, z: 1 } : { x: 0, y: 1, z: 0 }));
    const b = cross(d, a);
    const ring = [];
    for (let i = 0; i < 96; i += 1) {
      const k = (i / 96) * TAU;
      ring.push(add(mul(d, cosA), mul(add(mul(a, Math.cos(k)), mul(b, Math.sin(k))), sinA)));
    }
    const out = [];
    ring.forEach((p, i) => {
      const q = ring[(i + 1) % ring.length];
      if (p.z >= NEAR) out.push(p);
      if (p.z >= NEAR !== q.z >= NEAR) out.push(add(p, mul(sub(q, p), (NEAR - p.z) / (q.z - p.z))));
    });
    return out.map((p) => this.on(p));
  }
  fillCap(dots) {
    const { c } = this;
    c.beginPath();
    for (const p of dots) c.lineTo(p.x, p.y);
    c.closePath();
    c.fill();
  }

  body(b, d) {
    const { c } = this;
    const far = len(d);
    const R = Math.min(b.radius || 0, far * 0.9999);
    const k = unrotate(this.q, mul(d, 1 / far));
    const sin = R / far;
    const px = sin * this.f;
    const tint = HEX.test(b.colour || '') ? b.colour : this.color(b.parent ? '--sky-rock' : '--sky-sun');
    if (px < 2.2) {
      const s = this.on(k);
      if (!this.inside(s)) return;
      c.fillStyle = tint;
      c.beginPath();
      c.arc(s.x, s.y, b.parent ? 2 : 5, 0, TAU);
      c.fill();
      if (!b.held?.parent || b.held === this.see.ship.held) this.name(b.name, dist(far), s, 8);
      return;
    }
    if (px > 60 && b.parent) this.air(k, sin, px);
    const rim = px > 60 && b.parent ? Math.asin(sin) - Math.min(0.006, 4 / px) : Math.asin(sin);
    const dots = this.cap(k, Math.cos(rim), Math.sin(rim));
    if (dots.length < 3) return;
    // Lit by its star: by how much of the side towards us is day.
    const star = this.see.sky.star;
    const day = b.parent && star?.at ? Math.max(0.16, 0.5 + 0.5 * dot(unit(sub(star.at, b.at)), mul(d, -1 / far))) : 1;
    c.fillStyle = this.color('--sky');
    this.fillCap(dots);
    c.fillStyle = tint;
    c.globalAlpha = b.parent ? 0.22 + 0.5 * day : 1;
    this.fillCap(dots);
    c.globalAlpha = 1;
    if (px > 90) this.net(d, R);
    const s = this.on(k);
    if (s && px < 200 && this.inside(s)) this.name(b.name, dist(far - R), s, px + 8);
  }
  /** A bright thin edge that fades outwards. */
  air(k, sin, px) {
    const { c } = this;
    c.fillStyle = this.color('--sky-air');
    const edge = Math.asin(sin);
    const step = Math.min(0.0045, 5 / px + 0.0012);
    for (let i = 9; i >= 0; i -= 1) {
      const a = Math.min(1.56, edge + step * i ** 1.35);
      c.globalAlpha = 0.05 + 0.011 * (9 - i) + (i === 0 ? 0.35 : 0);
      const dots = this.cap(k, Math.cos(a), Math.sin(a));
      if (dots.length > 2) this.fillCap(dots);
    }
    c.globalAlpha = 1;
  }
  /** Lines of a globe, so that one sees the ground pass. */
  net(d, R) {
    const { c } = this;
    c.strokeStyle = this.color('--sky-air');
    c.lineWidth = 1;
    c.globalAlpha = 0.16;
    const step = Math.PI / 18;
    const at = (lat, lon) => ({
      x: Math.cos(lat) * Math.cos(lon),
      y: Math.cos(lat) * Math.sin(lon),
      z: Math.sin(lat),
    });
    const seen = (n) => {
      const p = add(d, mul(n, R));
      if (dot(n, p) >= 0) return null;
      const k = unrotate(this.q, p);
      return k.z > len(p) * NEAR ? this.on(k) : null;
    };
    const draw = (fn, n) => {
      let pen = false;
      c.beginPath();
      for (let i = 0; i <= n; i += 1) {
        const s = seen(fn(i));
        if (s) pen ? c.lineTo(s.x, s.y) : c.moveTo(s.x, s.y);
        pen = !!s;
      }
      c.stroke();
    };
    for (let i = 0; i < 36; i += 1) draw((j) => at(-Math.PI / 2 + (Math.PI * j) / 36, i * step), 36);
    for (let i = -8; i <= 8; i += 1) draw((j) => at(i * step, (TAU * j) / 72), 72);
    c.globalAlpha = 1;
  }

  /** The way ahead, where the body does not hide it, with its lowest and highest place. */
  orbit() {
    const { c, see } = this;
    const { ship } = see;
    const o = orbitNow(ship);
    if (!o) return;
    const hidden = (r) => {
      const d = sub(r, ship.rel);
      const l = len(d);
      const u = mul(d, 1 / (l || 1));
      const along = -dot(ship.rel, u);
      if (along < 0 || along > l) return false;
      const miss = len(add(ship.rel, mul(u, along)));
      return miss < (ship.held.radius || 0);
    };
    c.strokeStyle = this.color('--sky-own');
    c.lineWidth = 1.5;
    c.globalAlpha = 0.8;
    c.setLineDash([6, 5]);
    c.beginPath();
    let pen = false;
    for (const r of path(o, 240, len(ship.rel) * 40).slice(2)) {
      const k = unrotate(this.q, sub(r, ship.rel));
      const s = k.z > len(k) * NEAR && !hidden(r) ? this.on(k) : null;
      if (s) pen ? c.lineTo(s.x, s.y) : c.moveTo(s.x, s.y);
      pen = !!s;
    }
    c.stroke();
    c.setLineDash([]);
    c.globalAlpha = 1;
    if (!o.closed || o.e < 0.0015) return;
    for (const [name, nu] of [
      ['low', 0],
      ['high', Math.PI],
    ]) {
      const r = placeAt(o, nu);
      const s = this.to(sub(r, ship.rel));
      if (!this.inside(s, -40) || hidden(r)) continue;
      c.fillStyle = this.color('--sky');
      c.beginPath();
      c.arc(s.x, s.y, 4.5, 0, TAU);
      c.fill();
      c.stroke();
      const far = dist(len(r) - (ship.held.radius || 0));
      this.text(t(`pilot.${name}`, { far, left: span(timeTo(o, nu)) }), s.x + 12, s.y - 10, { tone: '--sky-own' });
    }
  }

  name(what, note, s, gap) {
    const box = { x: s.x + gap, y: s.y - 12, w: 130, h: 28 };
    if (this.names.some((n) => box.x < n.x + n.w && n.x < box.x + box.w && box.y < n.y + n.h && n.y < box.y + box.h))
      return;
    this.names.push(box);
    this.text(what, s.x + gap, s.y, { weight: 560 });
    if (note) this.text(note, s.x + gap, s.y + 14, { px: 11, tone: '--sky-note' });
  }

  marks() {
    const { bearings } = this.see;
    for (const kind of ['retrograde', 'prograde', 'normal', 'antinormal', 'radial', 'antiradial']) {
      const k = bearings[kind];
      const s = k && k.z > 0.05 && this.on(k);
      if (!s || !this.inside(s, -8)) continue;
      mark(this.c, kind, s, 16, this.color);
      this.text(t(`galaxy.mode.${kind}`), s.x + 22, s.y + 22, { px: 12 });
    }
  }
  cross() {
    const { c, x, y } = this;
    c.strokeStyle = c.fillStyle = this.color('--sky-label');
    c.lineWidth = 2;
    c.beginPath();
    for (const [i, j] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ]) {
      c.moveTo(x + i * 15, y + j * 15);
      c.lineTo(x + i * 34, y + j * 34);
    }
    c.stroke();
    c.beginPath();
    c.arc(x, y, 3, 0, TAU);
    c.fill();
  }
}
