// Where names, bars and numbers go, so that none lies on another; and which monsters stand so close that they are one
// mark with a count. Pure.
import { toScreen } from './camera.js';

const CELL = 48;
const key = (x, y) => (x + 2048) * 8192 + y + 2048;

/** Boxes `{x, y, w, h}` that are taken. */
export class Boxes {
  all = [];
  cells = new Map();

  add(box) {
    this.all.push(box);
    const [right, bottom] = [(box.x + box.w) / CELL, (box.y + box.h) / CELL];
    for (let i = Math.floor(box.x / CELL); i <= right; i += 1)
      for (let j = Math.floor(box.y / CELL); j <= bottom; j += 1) {
        const here = this.cells.get(key(i, j));
        if (here) here.push(box);
        else this.cells.set(key(i, j), [box]);
      }
    return box;
  }
  free(a) {
    const [right, bottom] = [(a.x + a.w) / CELL, (a.y + a.h) / CELL];
    for (let i = Math.floor(a.x / CELL); i <= right; i += 1)
      for (let j = Math.floor(a.y / CELL); j <= bottom; j += 1) {
        const here = this.cells.get(key(i, j));
        if (here)
          for (const b of here)
            if (a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h) return false;
      }
    return true;
  }
}

/** Takes the first of `tries` that is free here and does not lie on a body; else the first that is free here; else null. */
export function take(boxes, tries, bodies) {
  const found = tries.find((b) => boxes.free(b) && bodies?.free(b) !== false) || tries.find((b) => boxes.free(b));
  return found ? boxes.add(found) : null;
}

/** The same box, `steps` times higher. */
export const rising = (box, steps, by) => Array.from({ length: steps }, (_, i) => ({ ...box, y: box.y - i * by }));

/** Closer than this in pixels, monsters share a mark; how many it takes depends on how full the field is. */
const NEAR_X = 46;
const NEAR_Y = 38;
/** Marks closer than this share of that become one. */
const JOIN = 0.9;
const least = (n) => (n > 100 ? 2 : n > 40 ? 4 : 6);

/** `{single, groups}` of monsters; `alone(m)` says who never joins. Distances decide, so moving the view changes nothing.
 *  @param {Wk.Monster[]} list @param {{x: number, y: number, k: number}} cam @param {(m: Wk.Monster) => boolean} alone */
export function clusters(list, cam, alone) {
  const [w, h] = [NEAR_X / cam.k, NEAR_Y / cam.k];
  const cell = (m) => [Math.floor(m.x / w), Math.floor(m.y / h)];
  const grid = new Map();
  const single = list.filter(alone);
  const order = list.filter((m) => !alone(m)).sort((a, b) => a.x - b.x || a.y - b.y || (a.id < b.id ? -1 : 1));
  for (const m of order) {
    const at = key(...cell(m));
    if (!grid.has(at)) grid.set(at, new Set());
    grid.get(at).add(m);
  }
  const groups = [];
  for (const m of order) {
    const [cx, cy] = cell(m);
    if (!grid.get(key(cx, cy)).has(m)) continue;
    const of = [];
    for (let i = cx - 1; i <= cx + 1; i += 1)
      for (let j = cy - 1; j <= cy + 1; j += 1)
        for (const o of grid.get(key(i, j)) || []) if (Math.abs(o.x - m.x) <= w && Math.abs(o.y - m.y) <= h) of.push(o);
    if (of.length < least(list.length)) {
      // Not enough for a mark: only this one is settled, the others may belong to a later group.
      grid.get(key(cx, cy)).delete(m);
      single.push(m);
      continue;
    }
    for (const o of of) grid.get(key(...cell(o))).delete(o);
    groups.push(gather(of));
  }
  return joined(single, groups, alone, w * JOIN, h * JOIN);
}

function gather(of) {
  const sum = (pick) => of.reduce((n, o) => n + pick(o), 0);
  return {
    key: `c${of[0].id}`,
    of,
    x: sum((o) => o.x) / of.length,
    y: sum((o) => o.y) / of.length,
    hp: sum((o) => o.hp),
    maxHp: sum((o) => o.maxHp),
  };
}

/** Groups stand in the middle of their members: those that came close become one, and take who stands under them. */
function joined(single, groups, alone, w, h) {
  const near = (a, b) => Math.abs(a.x - b.x) < w && Math.abs(a.y - b.y) < h;
  const out = [];
  for (const g of groups) {
    const other = out.findIndex((o) => near(o, g));
    if (other < 0) out.push(g);
    else out[other] = gather([...out[other].of, ...g.of]);
  }
  const left = [];
  for (const m of single) {
    const g = alone(m) ? -1 : out.findIndex((o) => near(o, m));
    if (g < 0) left.push(m);
    else out[g] = gather([...out[g].of, m]);
  }
  return { single: left, groups: out };
}

/** The view that shows the members of a group apart. */
export function spread(group, cam, w, h) {
  const xs = group.of.map((m) => m.x);
  const ys = group.of.map((m) => m.y);
  const [dx, dy] = [Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)];
  const k = Math.min(6, Math.max(cam.k * 1.6, Math.min((w * 0.7) / Math.max(1, dx), (h * 0.6) / Math.max(1, dy))));
  return { x: (Math.min(...xs) + Math.max(...xs)) / 2, y: (Math.min(...ys) + Math.max(...ys)) / 2, k };
}

/** Players stand at the foot, below the middle of what they control, side by side.
 *  @param {[number, Wk.Monster[]][]} players @param {(id: number) => number} width of its name */
export function standing(players, cam, w, h, width) {
  const all = players.map(([id, of]) => ({
    id,
    of,
    w: Math.max(36, width(id)) + 12,
    x: of.reduce((sum, m) => sum + toScreen(cam, w, h, m).x, 0) / of.length,
  }));
  all.sort((a, b) => a.x - b.x || a.id - b.id);
  let left = 40;
  let right = w - 8;
  // From the left as far as needed, then back from the right edge.
  for (const p of all) {
    p.x = Math.max(p.x, left + p.w / 2);
    left = p.x + p.w / 2;
  }
  for (const p of all.toReversed()) {
    p.x = Math.min(p.x, right - p.w / 2);
    right = p.x - p.w / 2;
  }
  return all;
}
