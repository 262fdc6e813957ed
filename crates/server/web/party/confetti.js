// Confetti: at most 150 pieces for two and a half seconds on one canvas behind the text. None with reduced motion.
import { h } from '../base/dom.js';
import { dice } from './rounds.js';

const PIECES = 150;
const LASTS = 2500;

/** Throws it once. `from`: shares of the width it starts at. */
export function confetti(host = document.body, { pieces = 110 } = {}) {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  document.querySelector('canvas.confetti')?.remove();
  const canvas = h('canvas.confetti', { 'aria-hidden': 'true' });
  host.prepend(canvas);
  const pen = canvas.getContext('2d');
  const scale = Math.min(devicePixelRatio || 1, 2);
  const [w, hgt] = [innerWidth, innerHeight];
  canvas.width = w * scale;
  canvas.height = hgt * scale;
  const css = getComputedStyle(document.documentElement);
  const colors = Array.from({ length: 12 }, (_, i) => css.getPropertyValue(`--mark-${i}`).trim());
  const roll = dice(`${performance.now()}`);
  const unit = Math.max(6, w / 240);
  const bits = Array.from({ length: Math.min(pieces, PIECES) }, (_, i) => ({
    x: roll() * w,
    y: -roll() * hgt * 0.5,
    vx: (roll() - 0.5) * w * 0.12,
    vy: hgt * (0.25 + roll() * 0.35),
    turn: roll() * 6,
    spin: (roll() - 0.5) * 9,
    size: unit * (0.6 + roll() * 0.7),
    round: i % 3 === 0,
    color: colors[i % colors.length],
  }));
  const start = performance.now();
  let before = start;
  const step = (now) => {
    const t = (now - start) / LASTS;
    const dt = Math.min(0.05, (now - before) / 1000);
    before = now;
    if (t >= 1 || !canvas.isConnected) {
      canvas.remove();
      return;
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, w, hgt);
    pen.globalAlpha = t > 0.7 ? (1 - t) / 0.3 : 1;
    for (const b of bits) {
      b.x += (b.vx + Math.sin(now / 300 + b.turn) * 24) * dt;
      b.y += b.vy * dt;
      b.turn += b.spin * dt;
      pen.save();
      pen.translate(b.x, b.y);
      pen.rotate(b.turn);
      pen.fillStyle = b.color;
      if (b.round) {
        pen.beginPath();
        pen.arc(0, 0, b.size * 0.5, 0, 7);
        pen.fill();
      } else pen.fillRect(-b.size * 0.5, -b.size * 0.3, b.size, b.size * 0.6);
      pen.restore();
    }
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
