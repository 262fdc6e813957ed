// Shapes of a field on a canvas: text with a halo, rings, bodies, bars, discs, the grid. All colours are tokens.
import { num } from '../../base/format.js';
import { marks, steps, toField, toScreen } from './camera.js';
import { PALE_MS } from './model.js';

const TAU = Math.PI * 2;
const FX = { POISON: '--fx-poison', VENOM: '--m-monsters' };
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
export const fxTone = (name) => FX[name] || '--info';

/** Widths of texts, measured once. */
const widths = new Map();

export class Pen {
  constructor(c, { w, h, color }, see) {
    this.c = c;
    this.w = w;
    this.h = h;
    this.color = color;
    this.see = see;
    this.set = '';
  }
  at(p) {
    return toScreen(this.see.cam, this.w, this.h, p);
  }
  font(px, weight = 400) {
    const font = `${weight} ${px}px ${FONT}`;
    if (this.set !== font) this.c.font = font;
    this.set = font;
  }
  width(text, px, weight) {
    const key = `${px} ${weight} ${text}`;
    if (!widths.has(key)) {
      if (widths.size > 3000) widths.clear();
      this.font(px, weight);
      widths.set(key, this.c.measureText(text).width);
    }
    return widths.get(key);
  }
  /** Text with a halo of the ground, readable over lines. */
  label(text, x, y, { px = 11, weight = 400, tone = '--ink-2', align = 'center' } = {}) {
    const { c } = this;
    this.font(px, weight);
    c.textAlign = align;
    c.textBaseline = 'alphabetic';
    c.lineJoin = 'round';
    c.lineWidth = 4;
    c.strokeStyle = this.color('--surface');
    c.strokeText(text, x, y);
    c.fillStyle = this.color(tone);
    c.fillText(text, x, y);
  }
  ring(x, y, r, f, tone, width = 2.5) {
    const { c } = this;
    c.lineWidth = width;
    c.strokeStyle = this.color('--line');
    c.beginPath();
    c.arc(x, y, r, 0, TAU);
    c.stroke();
    c.strokeStyle = this.color(tone);
    c.lineCap = 'round';
    c.beginPath();
    c.arc(x, y, r, -TAU / 4, -TAU / 4 + TAU * Math.max(0, Math.min(1, f)));
    c.stroke();
    c.lineCap = 'butt';
  }

  grid() {
    const { c, w, h, see } = this;
    const step = steps(see.cam.k);
    const a = toField(see.cam, w, h, { x: 0, y: 0 });
    const b = toField(see.cam, w, h, { x: w, y: h });
    c.lineWidth = 1;
    c.strokeStyle = this.color('--line');
    c.globalAlpha = 0.6;
    c.beginPath();
    for (const x of marks(a.x, b.x, step)) {
      const s = Math.round(this.at({ x, y: 0 }).x) + 0.5;
      c.moveTo(s, 0);
      c.lineTo(s, h);
    }
    for (const y of marks(a.y, b.y, step)) {
      const s = Math.round(this.at({ x: 0, y }).y) + 0.5;
      c.moveTo(0, s);
      c.lineTo(w, s);
    }
    c.stroke();
    c.globalAlpha = 1;
    for (const x of marks(a.x, b.x, step * 2)) {
      const s = this.at({ x, y: 0 }).x;
      if (s > 60 && s < w - 24) this.label(num(x), s, h - 8, { tone: '--ink-3' });
    }
    for (const y of marks(a.y, b.y, step * 2)) {
      const s = this.at({ x: 0, y }).y;
      if (s > 24 && s < h - 30) this.label(num(y), 8, s + 4, { tone: '--ink-3', align: 'left' });
    }
  }

  curve(from, to, { angry, bold }) {
    const { c } = this;
    c.lineWidth = bold ? 2.4 : angry ? 1.4 : 1.6;
    c.setLineDash(angry ? [] : [1.6, 5]);
    c.lineCap = angry ? 'butt' : 'round';
    c.strokeStyle = this.color(angry ? '--bad' : bold ? '--accent' : '--ink-3');
    c.beginPath();
    c.moveTo(from.x, from.y);
    c.quadraticCurveTo((from.x * 3 + to.x) / 4, Math.min(to.y - 10, from.y - 14), to.x, to.y - 14);
    c.stroke();
    c.setLineDash([]);
    c.lineCap = 'butt';
  }

  person(x, y) {
    const { c } = this;
    c.fillStyle = this.color('--ink');
    c.beginPath();
    c.arc(x, y - 19, 6.5, 0, TAU);
    c.fill();
    c.beginPath();
    c.roundRect(x - 8, y - 11, 16, 19, [8, 8, 2, 2]);
    c.fill();
  }

  blob(x, y, r, tone) {
    const { c } = this;
    c.fillStyle = this.color('--ink');
    c.globalAlpha = 0.13;
    c.beginPath();
    c.ellipse(x, y, r * 0.95, r * 0.16, 0, 0, TAU);
    c.fill();
    c.globalAlpha = 1;
    c.fillStyle = this.color(tone);
    c.beginPath();
    c.moveTo(x - r, y - r * 0.18);
    c.bezierCurveTo(x - r * 1.02, y - r * 1.05, x - r * 0.62, y - r * 1.55, x, y - r * 1.55);
    c.bezierCurveTo(x + r * 0.62, y - r * 1.55, x + r * 1.02, y - r * 1.05, x + r, y - r * 0.18);
    c.quadraticCurveTo(x + r, y, x + r * 0.82, y);
    c.lineTo(x - r * 0.82, y);
    c.quadraticCurveTo(x - r, y, x - r, y - r * 0.18);
    c.fill();
  }

  /** An odd stance looks to the left. */
  eyes(x, y, r, stance = 0) {
    const { c } = this;
    const side = stance % 2 ? -1 : 1;
    for (const e of [-0.17, 0.28]) {
      const ex = x + side * r * (0.3 + e);
      c.fillStyle = this.color('--eye');
      c.beginPath();
      c.arc(ex, y - r * 0.88, r * 0.19, 0, TAU);
      c.fill();
      c.fillStyle = this.color('--pupil');
      c.beginPath();
      c.arc(ex + side * r * 0.07, y - r * 0.86, r * 0.095, 0, TAU);
      c.fill();
    }
  }

  feet(x, y, r) {
    const { c } = this;
    c.lineWidth = 2;
    c.strokeStyle = this.color('--accent');
    c.beginPath();
    c.ellipse(x, y, r * 1.25, r * 0.24, 0, 0, TAU);
    c.stroke();
  }

  /** Health in a box with an outline; what was just lost stays pale for a moment. */
  bar({ x, y, w, h }, { f, tone }, lost, maxHp) {
    const { c, see } = this;
    c.fillStyle = this.color('--surface');
    c.strokeStyle = this.color('--ink');
    c.lineWidth = 1.2;
    c.beginPath();
    c.roundRect(x + 0.6, y + 0.6, w - 1.2, h - 1.2, 4);
    c.fill();
    c.stroke();
    const part = (share, alpha) => {
      if (share <= 0) return;
      c.globalAlpha = alpha;
      c.fillStyle = this.color(tone);
      c.beginPath();
      c.roundRect(x + 2, y + 2, Math.max(2, (w - 4) * share), h - 4, 2);
      c.fill();
      c.globalAlpha = 1;
    };
    if (lost && see.now - lost.at < PALE_MS) part(Math.min(1, lost.from / maxHp), 0.35);
    part(f, 1);
  }

  /** One effect: its letter in a ring that runs down, dots for stacks. */
  disc(d, x, y, whole) {
    const { c } = this;
    c.fillStyle = this.color('--surface');
    c.beginPath();
    c.arc(x, y, 7.5, 0, TAU);
    c.fill();
    this.ring(x, y, 6.8, d.left / whole, fxTone(d.name), 1.8);
    this.font(8.5, 700);
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    c.fillStyle = this.color(fxTone(d.name));
    c.fillText(d.name[0], x, y + 0.5 - (d.stacks > 1 ? 1 : 0));
    for (let i = 0; d.stacks > 1 && i < Math.min(3, d.stacks); i += 1) {
      c.beginPath();
      c.arc(x - 3 + i * 3, y + 4.6, 1, 0, TAU);
      c.fill();
    }
  }

  /** A count in a pill, on a body. */
  count(n, x, y) {
    const { c } = this;
    const w = this.width(String(n), 12, 700) + 12;
    c.fillStyle = this.color('--surface');
    c.beginPath();
    c.roundRect(x - w / 2, y - 9, w, 18, 9);
    c.fill();
    this.font(12, 700);
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    c.fillStyle = this.color('--ink');
    c.fillText(String(n), x, y + 0.5);
  }

  diamond(x, y, r) {
    const { c } = this;
    c.beginPath();
    c.moveTo(x, y - r);
    c.lineTo(x + r, y);
    c.lineTo(x, y + r);
    c.lineTo(x - r, y);
    c.closePath();
  }

  cross(x, y, r, tone, turned) {
    const { c } = this;
    c.lineWidth = 1.8;
    c.strokeStyle = this.color(tone);
    c.beginPath();
    for (const [a, b] of turned
      ? [
          [1, 1],
          [1, -1],
        ]
      : [
          [1, 0],
          [0, 1],
        ]) {
      c.moveTo(x - a * r, y - b * r);
      c.lineTo(x + a * r, y + b * r);
    }
    c.stroke();
  }
}
