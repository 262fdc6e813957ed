// The pen both canvases of the galaxy draw with: pixels of metres, text with a halo of the ground, orbits as curves.
import { orbitNow, placeAt } from './space.js';

export const TAU = Math.PI * 2;
export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const HEX = /^#[0-9a-f]{6}$/i;

/** On a wall the root grows, and so do the canvases: pixels of the drawing per pixel of the page. */
export const rootScale = () => Math.max(1, parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1);
/** The drawing's own size, its context scaled. */
export function zoomed(c, o) {
  const k = rootScale();
  if (k === 1) return o;
  c.scale(k, k);
  return { ...o, w: o.w / k, h: o.h / k };
}

export class Pen {
  constructor(c, color, see) {
    this.c = c;
    this.color = color;
    this.see = see;
    this.view = see.view;
    this.places = [];
    this.marks = [];
    this.counts = new Map();
    this.boxes = [];
    this.later = [];
    this.w = see.view.w;
    this.h = see.view.h;
  }
  /** Pixels of a length. */
  px(m) {
    return m / this.view.mpp;
  }
  inside(s, edge = 0) {
    return s.x > -edge && s.y > -edge && s.x < this.w + edge && s.y < this.h + edge;
  }
  tint(b) {
    if (HEX.test(b.colour || '')) return b.colour;
    return this.color(b.parent ? '--sky-rock' : '--sky-sun');
  }
  font(px, weight = 400) {
    this.c.font = `${weight} ${px}px ${FONT}`;
  }
  text(what, x, y, { px = 12, weight = 400, tone = '--sky-label', align = 'left', halo = true } = {}) {
    const { c } = this;
    this.font(px, weight);
    c.textAlign = align;
    c.textBaseline = 'alphabetic';
    if (halo) {
      c.lineJoin = 'round';
      c.lineWidth = 4;
      c.strokeStyle = this.color('--sky');
      c.strokeText(what, x, y);
    }
    c.fillStyle = this.color(tone);
    c.fillText(what, x, y);
  }
  /** A small note that gives way: it is drawn last, and only where nothing else stands. */
  note(what, x, y, { tone = '--sky-note', align = 'center' } = {}) {
    this.later.push({ what, x, y, tone, align });
  }
  notes() {
    for (const n of this.later) {
      this.font(11);
      const w = this.c.measureText(n.what).width + 4;
      const left = { center: n.x - w / 2, left: n.x, right: n.x - w }[n.align];
      const box = { x: left, y: n.y - 11, w, h: 15 };
      if (left < 4 || n.y < 14 || left + w > this.w - 4 || n.y > this.h - 4) continue;
      if (this.boxes.some((o) => box.x < o.x + o.w && o.x < box.x + w && box.y < o.y + o.h && o.y < box.y + 15))
        continue;
      this.boxes.push(box);
      this.text(n.what, n.x, n.y, { px: 11, tone: n.tone, align: n.align });
    }
  }
  line(points, { close = false } = {}) {
    const { c } = this;
    c.beginPath();
    for (const s of points) c.lineTo(s.x, s.y);
    if (close) c.closePath();
    c.stroke();
  }

  /** Places of an orbit on the screen between two anomalies, measured from the body: no jitter near it. */
  curve(o, at, from, to, n = 120) {
    const middle = this.view.to(at);
    const here = placeAt(o, o.at);
    const out = [];
    for (let i = 0; i <= n; i += 1) {
      const q = placeAt(o, from + ((to - from) * i) / n);
      out.push({ x: middle.x + (q.x - here.x) / this.view.mpp, y: middle.y - (q.y - here.y) / this.view.mpp });
    }
    return out;
  }
  orbitFor(e) {
    return orbitNow(e);
  }
  /** How much of an orbit to draw on each side of its body: all of it, or the part near the view. */
  half(o) {
    const span = (this.view.diag * 1.6 * this.view.mpp) / Math.max(o.low, 1);
    return Math.min(Math.PI, Math.max(0.02, span));
  }

  reticle(s, r, tone = '--sky-own') {
    const { c } = this;
    c.strokeStyle = this.color(tone);
    c.lineWidth = 1.5;
    c.beginPath();
    c.arc(s.x, s.y, r, 0, TAU);
    for (let i = 0; i < 4; i += 1) {
      const a = (i * TAU) / 4;
      c.moveTo(s.x + (r - 3) * Math.cos(a), s.y + (r - 3) * Math.sin(a));
      c.lineTo(s.x + (r + 5) * Math.cos(a), s.y + (r + 5) * Math.sin(a));
    }
    c.stroke();
  }
}
