// The attitude ball: where a craft points against the horizon of the body that holds it, with marks for the directions
// that matter. The picture is as from the seat: the craft's y is up, its z ahead, its x to the left.
import { num } from '../../base/format.js';
import { FONT, TAU } from './pen.js';
import { add, cross, len, mul, sub, unit, unrotate } from './space.js';

/** Where a ship can point by itself, as the server calls it. */
export const MODES = [
  'none',
  'hold',
  'prograde',
  'retrograde',
  'normal',
  'antinormal',
  'radial',
  'antiradial',
  'target',
  'target_retrograde',
];

/** Directions that matter, in the craft's axes. `r`, `v`: place and velocity from its holder.
 *  @param {{turn: any, r: any, v: any, target?: any, targetV?: any}} o */
export function bearings({ turn, r, v, target, targetV }) {
  const out = { up: unrotate(turn, unit(r)) };
  if (len(v) > 0.1) {
    out.prograde = unrotate(turn, unit(v));
    out.retrograde = mul(out.prograde, -1);
    const n = cross(r, v);
    if (len(n) > 1e-6) {
      out.normal = unrotate(turn, unit(n));
      out.antinormal = mul(out.normal, -1);
    }
  }
  out.radial = out.up;
  out.antiradial = mul(out.up, -1);
  if (target) out.target = unrotate(turn, unit(target));
  if (targetV && len(targetV) > 0.1) out.target_retrograde = unrotate(turn, mul(unit(targetV), -1));
  return out;
}

/** Draws the ball at `x, y` with radius `R`. `b`: bearings. */
function ball(c, x, y, R, b, color) {
  const at = (d) => ({ x: x - d.x * R, y: y - d.y * R });
  const n = b.up;
  c.save();
  c.beginPath();
  c.arc(x, y, R, 0, TAU);
  c.clip();
  const flat = Math.hypot(n.x, n.y);
  c.fillStyle = color(flat < 1e-3 && n.z < 0 ? '--ball-ground' : '--ball-sky');
  c.fillRect(x - R, y - R, 2 * R, 2 * R);
  if (flat >= 1e-3) horizon(c, n, at, x, y, R, color);
  ladder(c, n, at, R, color);
  c.restore();
  c.strokeStyle = color('--ball-rim');
  c.lineWidth = Math.max(2, R * 0.045);
  c.beginPath();
  c.arc(x, y, R, 0, TAU);
  c.stroke();
  for (const kind of SHOWN) if (b[kind] && b[kind].z > 0.12) mark(c, kind, at(b[kind]), R * 0.11, color);
  wings(c, x, y, R, color);
}

/** The same on a canvas of its own, at the device's resolution. */
export function paintBall(box, b, color) {
  const size = box.clientWidth;
  const ratio = Math.min(devicePixelRatio || 1, 2);
  if (!size) return;
  if (box.width !== Math.round(size * ratio)) box.width = box.height = Math.round(size * ratio);
  const c = box.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, size, size);
  ball(c, size / 2, size / 2, size / 2 - 4, b, color);
}

function horizon(c, n, at, x, y, R, color) {
  const e1 = unit(cross(n, { x: 0, y: 0, z: 1 }));
  let e2 = cross(n, e1);
  if (e2.z < 0) e2 = mul(e2, -1);
  const line = [];
  for (let i = 0; i <= 40; i += 1) {
    const a = (Math.PI * i) / 40;
    line.push(at(add(mul(e1, Math.cos(a)), mul(e2, Math.sin(a)))));
  }
  c.fillStyle = color('--ball-ground');
  c.beginPath();
  for (const p of line) c.lineTo(p.x, p.y);
  // Back along the rim on the ground's side.
  const end = line[line.length - 1];
  const from = Math.atan2(end.y - y, end.x - x);
  const down = Math.atan2(n.y, n.x);
  const turnTo = ((down - from + 3 * Math.PI) % TAU) - Math.PI;
  c.arc(x, y, R, from, from + Math.sign(turnTo || 1) * Math.PI, turnTo < 0);
  c.fill();
  c.strokeStyle = color('--ball-line');
  c.lineWidth = Math.max(1.2, R * 0.022);
  c.beginPath();
  for (const p of line) c.lineTo(p.x, p.y);
  c.stroke();
}

/** Lines of equal height ahead, each ten degrees. */
function ladder(c, n, at, R, color) {
  const f = { x: 0, y: 0, z: 1 };
  let ahead = sub(f, mul(n, n.z));
  if (len(ahead) < 0.05) ahead = sub({ x: 0, y: 1, z: 0 }, mul(n, n.y));
  ahead = unit(ahead);
  const side = cross(n, ahead);
  c.strokeStyle = c.fillStyle = color('--ball-line');
  c.lineWidth = 1;
  c.font = `400 ${Math.max(8, R * 0.12)}px ${FONT}`;
  c.textBaseline = 'middle';
  for (let deg = -80; deg <= 80; deg += 10) {
    if (!deg) continue;
    const el = (deg * Math.PI) / 180;
    const wide = deg % 30 === 0 ? 0.3 : 0.15;
    const dots = [-wide, 0, wide].map((az) =>
      add(mul(add(mul(ahead, Math.cos(az)), mul(side, Math.sin(az))), Math.cos(el)), mul(n, Math.sin(el))),
    );
    if (dots.some((d) => d.z < 0.35)) continue;
    const [a, m, b] = dots.map(at);
    c.globalAlpha = 0.75;
    c.beginPath();
    c.moveTo(a.x, a.y);
    c.quadraticCurveTo(2 * m.x - (a.x + b.x) / 2, 2 * m.y - (a.y + b.y) / 2, b.x, b.y);
    c.stroke();
    if (deg % 30 === 0 && R > 40) {
      const end = a.x > b.x ? a : b;
      c.textAlign = 'left';
      c.fillText(num(deg), end.x + 4, end.y);
    }
  }
  c.globalAlpha = 1;
}

const SHOWN = ['antinormal', 'normal', 'antiradial', 'radial', 'retrograde', 'prograde', 'target_retrograde', 'target'];
const TONE = {
  prograde: '--sky-good',
  retrograde: '--sky-good',
  target: '--sky-event',
  target_retrograde: '--sky-event',
};

/** The sign of a direction: the same on the ball, in the window and on the buttons. */
export function mark(c, kind, p, r, color) {
  c.strokeStyle = c.fillStyle = color(TONE[kind] || '--sky-own');
  c.lineWidth = Math.max(1.4, r * 0.16);
  c.beginPath();
  const ray = (a, from, to) => {
    c.moveTo(p.x + Math.cos(a) * r * from, p.y + Math.sin(a) * r * from);
    c.lineTo(p.x + Math.cos(a) * r * to, p.y + Math.sin(a) * r * to);
  };
  if (kind === 'prograde' || kind === 'retrograde') {
    c.arc(p.x, p.y, r * 0.62, 0, TAU);
    for (const a of [-TAU / 4, 0, TAU / 2]) ray(a, 0.62, 1.15);
    if (kind === 'retrograde') for (const a of [0.785, 2.356]) ray(a, -0.62, 0.62);
  } else if (kind === 'target') {
    c.rect(p.x - r * 0.6, p.y - r * 0.6, r * 1.2, r * 1.2);
    c.moveTo(p.x + 1, p.y);
    c.arc(p.x, p.y, 1, 0, TAU);
  } else if (kind === 'target_retrograde') {
    c.rect(p.x - r * 0.6, p.y - r * 0.6, r * 1.2, r * 1.2);
    for (const a of [0.785, 2.356]) ray(a, -0.6, 0.6);
  } else if (kind === 'normal' || kind === 'antinormal') {
    const s = kind === 'normal' ? 1 : -1;
    c.moveTo(p.x, p.y - r * 0.75 * s);
    c.lineTo(p.x + r * 0.75, p.y + r * 0.55 * s);
    c.lineTo(p.x - r * 0.75, p.y + r * 0.55 * s);
    c.closePath();
  } else {
    c.arc(p.x, p.y, r * 0.62, 0, TAU);
    const [from, to] = kind === 'radial' ? [0.62, 1.05] : [0.2, 0.62];
    for (let i = 0; i < 4; i += 1) ray((i * TAU) / 4 + TAU / 8, from, to);
  }
  c.stroke();
}

function wings(c, x, y, R, color) {
  c.strokeStyle = color('--ball-wings');
  c.lineWidth = Math.max(2, R * 0.035);
  c.lineJoin = 'round';
  c.beginPath();
  c.moveTo(x - R * 0.42, y);
  c.lineTo(x - R * 0.17, y);
  c.lineTo(x - R * 0.08, y + R * 0.09);
  c.lineTo(x + R * 0.08, y + R * 0.09);
  c.lineTo(x + R * 0.17, y);
  c.lineTo(x + R * 0.42, y);
  c.stroke();
}
