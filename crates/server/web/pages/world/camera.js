// From places of a field to pixels and back: x to the right, y down, as they are stored. Pure.

const MIN_W = 900;
const MIN_H = 520;
const MARGIN = 130;
const LARGEST = 1.25;
/** Pixels above for bars and names, below for players. */
const ABOVE = 70;
const BELOW = 100;

/** The view that shows all of `points`, not closer than 1.25 pixels a unit. */
export function fit(points, w, h) {
  const xs = points.map((p) => p.x);
  const ys = points.map((p) => p.y);
  const [x0, x1] = points.length ? [Math.min(...xs), Math.max(...xs)] : [0, 0];
  const [y0, y1] = points.length ? [Math.min(...ys), Math.max(...ys)] : [0, 0];
  const bw = Math.max(MIN_W, x1 - x0 + 2 * MARGIN);
  const k = Math.min(w / bw, h / MIN_H, Math.max(0.02, (h - ABOVE - BELOW) / Math.max(1, y1 - y0)), LARGEST);
  return { x: (x0 + x1) / 2, y: (y0 + y1) / 2 + (BELOW - ABOVE) / 2 / k, k };
}

export const toScreen = (cam, w, h, p) => ({ x: (p.x - cam.x) * cam.k + w / 2, y: (p.y - cam.y) * cam.k + h / 2 });
export const toField = (cam, w, h, s) => ({ x: (s.x - w / 2) / cam.k + cam.x, y: (s.y - h / 2) / cam.k + cam.y });

/** Zooms by `factor` and keeps the point under the pointer where it is. */
export function zoom(cam, w, h, at, factor) {
  const k = Math.max(0.02, Math.min(6, cam.k * factor));
  const p = toField(cam, w, h, at);
  return { k, x: p.x - (at.x - w / 2) / k, y: p.y - (at.y - h / 2) / k };
}

/** Round steps (1, 2, 5 × 10ⁿ, at least 100) that lie some 60 pixels apart; numbers stand at each second one. */
export function steps(k) {
  let step = 100;
  for (let i = 0; step * k < 45; i += 1) step *= i % 3 === 1 ? 2.5 : 2;
  return step;
}

/** Multiples of `step` from `a` to `b`. */
export function marks(a, b, step) {
  const out = [];
  for (let v = Math.ceil(a / step) * step; v <= b && out.length < 200; v += step) out.push(v + 0);
  return out;
}

/** Whether some point is out of sight, or close to an edge. */
export const outside = (cam, w, h, points, edge = 24) =>
  points.some((p) => {
    const s = toScreen(cam, w, h, p);
    return s.x < edge || s.y < edge || s.x > w - edge || s.y > h - edge;
  });
