// The map's view: anchored to something that moves, so that following it shows no jitter at any scale. A place is
// anchor + offset in metres (north up); `mpp` is metres per pixel. Pure, except for the flight in progress.
import { add, sub, ZERO } from './space.js';

export const NEAREST = 0.01;
export const WIDEST = 3e10;
const FLY_MS = 700;
const clamp = (mpp) => Math.max(NEAREST, Math.min(WIDEST, mpp));

/** Metres per pixel that show the inner planets in a view of this size. */
export function wide(sky, w, h) {
  const all = [...sky.bodies.values()].filter((b) => b.held && !b.held.parent).map((b) => Math.hypot(b.rel.x, b.rel.y));
  all.sort((a, b) => a - b);
  const far = all[Math.min(3, all.length - 1)] || 1e11;
  return (2.3 * far) / Math.max(240, Math.min(w * 0.62, h));
}
/** Metres per pixel at which something is seen well: a body with its surroundings, a craft over its body. */
export function near(e, most) {
  if (e?.kind === 'body') return e.parent ? (e.radius || 1e6) / 60 : most;
  const up = e?.held ? Math.hypot(e.rel.x, e.rel.y, e.rel.z) : 1e7;
  return Math.max(0.05, up / 240);
}

export class Camera {
  constructor(mpp = 1e9) {
    this.anchor = null; // what moves the view, by key
    this.offset = { x: 0, y: 0, z: 0 };
    this.mpp = mpp;
    this.rigid = false;
    this.flight = null;
  }

  /** `place(key)` gives a place now. Advances a flight; gives the view for one picture, its middle at `cx` pixels. */
  view(place, w, h, wall, cx = w / 2) {
    const base = place(this.anchor) || ZERO;
    // What covers the map moves its middle, gently.
    const dt = Math.min(0.1, wall - (this.seenAt ?? -1));
    this.seenAt = wall;
    this.cx = this.cx === undefined || this.rigid ? cx : cx + (this.cx - cx) * Math.exp(-dt * 9);
    if (Math.abs(this.cx - cx) < 0.5) this.cx = cx;
    const middle = this.cx;
    if (this.flight) this.fly(wall);
    const c = add(base, this.offset);
    const { mpp } = this;
    return {
      c,
      mpp,
      w,
      h,
      moving: middle !== cx,
      diag: Math.hypot(w, h),
      to: (p) => ({ x: (p.x - c.x) / mpp + middle, y: h / 2 - (p.y - c.y) / mpp }),
    };
  }

  fly(wall) {
    const f = this.flight;
    f.from ??= wall;
    const k = Math.min(1, ((wall - f.from) * 1000) / f.ms);
    const s = k * k * (3 - 2 * k);
    this.mpp = Math.exp(Math.log(f.mpp0) + (Math.log(f.mpp1) - Math.log(f.mpp0)) * s);
    // The rest of the way shrinks with the scale, so the goal drifts evenly to the middle.
    const even = Math.abs(f.mpp0 - f.mpp1) < 1e-6 * f.mpp0;
    const left = even ? 1 - s : (this.mpp - f.mpp1) / (f.mpp0 - f.mpp1);
    this.offset = { x: f.d.x * left, y: f.d.y * left, z: 0 };
    if (k >= 1) this.flight = null;
  }

  /** Goes to `key` and stays with it; `mpp` of the arrival. */
  follow(key, place, mpp = this.mpp, { still = false } = {}) {
    const now = add(place(this.anchor) || ZERO, this.offset);
    const there = place(key) || ZERO;
    const d = sub(now, there);
    this.anchor = key;
    this.offset = { x: d.x, y: d.y, z: 0 };
    if (still) {
      this.flight = null;
      this.mpp = clamp(mpp);
      this.offset = { x: 0, y: 0, z: 0 };
    } else this.flight = { mpp0: this.mpp, mpp1: clamp(mpp), d: this.offset, ms: FLY_MS };
  }
  /** Centred on its anchor, or on the way to it. */
  get centred() {
    return !!this.flight || (Math.abs(this.offset.x) < this.mpp && Math.abs(this.offset.y) < this.mpp);
  }

  pan(dx, dy) {
    this.flight = null;
    this.offset = { x: this.offset.x - dx * this.mpp, y: this.offset.y + dy * this.mpp, z: 0 };
  }

  /** Zooms by `factor` (above 1 is nearer); the place `dx, dy` pixels from the middle stays, or the middle itself. */
  zoom(factor, dx = 0, dy = 0) {
    const goal = this.flight?.mpp1 ?? this.mpp;
    const next = clamp(goal / factor);
    if (this.flight) {
      Object.assign(this.flight, { mpp0: this.mpp, mpp1: next, d: this.offset, from: null, ms: 250 });
      return;
    }
    const change = this.mpp - next;
    this.offset = { x: this.offset.x + dx * change, y: this.offset.y - dy * change, z: 0 };
    this.mpp = next;
  }
}
