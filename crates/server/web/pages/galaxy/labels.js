// Names on the map, so that none lies on another: each tries right, left, above and below its mark, near and then
// further off with a leader; what still collides is hidden. A side once chosen is kept for a while. Pure.

const KEEP_S = 2;
const MOST = 40;
const SIDES = ['right', 'left', 'above', 'below'];

const hits = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

function boxAt(side, m, gap) {
  const r = m.r + gap;
  if (side === 'right') return { x: m.x + r, y: m.y - m.h / 2, w: m.w, h: m.h };
  if (side === 'left') return { x: m.x - r - m.w, y: m.y - m.h / 2, w: m.w, h: m.h };
  if (side === 'above') return { x: m.x - m.w / 2, y: m.y - r - m.h, w: m.w, h: m.h };
  return { x: m.x - m.w / 2, y: m.y + r, w: m.w, h: m.h };
}

export class Labels {
  constructor() {
    this.kept = new Map();
  }

  /** `marks`: {key, x, y, r, w, h, rank}, lower rank first. Gives [{mark, box, side, leader}] that do not collide. */
  place(marks, { w, h, taken = [] }, now) {
    const order = [...marks].sort((a, b) => a.rank - b.rank);
    const solid = order.map((m) => ({
      key: m.key,
      x: m.x - m.r - 2,
      y: m.y - m.r - 2,
      w: 2 * m.r + 4,
      h: 2 * m.r + 4,
    }));
    const boxes = [...taken];
    const out = [];
    for (const m of order) {
      if (out.length >= MOST) break;
      const was = this.kept.get(m.key);
      const tries = [];
      if (was && now - was.at < KEEP_S) tries.push([was.side, was.gap]);
      for (const gap of [8, 24]) for (const side of SIDES) tries.push([side, gap]);
      const free = ([side, gap]) => {
        const b = boxAt(side, m, gap);
        if (b.x < 2 || b.y < 2 || b.x + b.w > w - 2 || b.y + b.h > h - 2) return false;
        if (boxes.some((o) => hits(b, o))) return false;
        return !solid.some((s) => s.key !== m.key && s.w < 60 && hits(b, s));
      };
      const found = tries.find(free);
      if (!found) continue;
      const [side, gap] = found;
      if (!was || was.side !== side || was.gap !== gap) this.kept.set(m.key, { side, gap, at: now });
      const box = boxAt(side, m, gap);
      boxes.push(box);
      out.push({ mark: m, box, side, leader: gap > 12 });
    }
    if (this.kept.size > 400) this.kept.clear();
    return out;
  }
}
