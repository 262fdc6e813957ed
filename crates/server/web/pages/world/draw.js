// Draws a field: grid, control curves, reactors, monsters and groups of them, their bars and discs, rising numbers. Bodies
// stand where they are; whatever is said about them finds a free place. Says where everything stands, so that a click
// finds it, and which boxes hold words and bars, so that a test sees that none lies on another.
import { age, num } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { discs, GONE_MS, health, NUMBER_MS } from './model.js';
import { Pen } from './pen.js';
import { Boxes, clusters, rising, standing, take } from './place.js';

const MOBS = ['--mob-1', '--mob-2', '--mob-3', '--mob-4'];
const MOST_PLAYERS = 24;
const RISE = 24;
/** How much higher a number is tried, in pixels. */
const STEPS = [0, 18, 36, 54, 72, 90, 108, -18, -36];

const tint = (m, boss) => (boss ? '--mob-boss' : MOBS[Math.abs(m.monsterId) % MOBS.length]);
/** Half the width of a monster's body in pixels, by rank. */
const bulk = (m, boss, k) => {
  const base = boss ? 36 : 13 + Math.min(9, Math.log10(Math.max(10, m.maxHp)) * 2.6);
  return base * Math.max(0.62, Math.min(1.15, 0.5 + k * 0.55));
};

/** One picture. `see`: model, cam, now, still (no motion), selected, hover, mark, template(m), timeout(r), area(r),
 *  name(key). */
export function draw(c, o, see) {
  const p = new Scene(c, o, see);
  p.grid();
  p.settle();
  p.players();
  p.area();
  for (const g of see.model.ghosts.values()) p.ghost(g);
  for (const r of see.model.reactors.values()) p.reactor(r);
  for (const g of see.model.gone) p.gone(g);
  // Those further down stand in front; the selected one before all.
  for (const b of p.standing) p.body(b);
  p.mark();
  for (const b of p.ranked) p.hat(b);
  for (const say of p.words) say();
  p.numbers();
  return { places: p.places, boxes: p.said.all, groups: p.groups };
}

class Scene extends Pen {
  places = [];
  /** What is said later, once every body and bar stands. */
  words = [];
  said = new Boxes();
  bodies = new Boxes();

  chosen(key) {
    return this.see.selected === key || this.see.hover === key;
  }
  /** A word with its box, at the first of `spots` ({x, y} of its middle and base) that is free. */
  word(texts, spots, { px = 11, weight = 400, tone = '--ink-2', what = 'label' } = {}) {
    for (const text of [texts].flat()) {
      const w = this.width(text, px, weight) + 4;
      // Close to an edge it moves in, as far as it still stands over its body.
      const aside = (x) => Math.max(2, Math.min(this.w - w - 2, x - w / 2));
      const tries = spots
        .filter((s) => Math.abs(aside(s.x) + w / 2 - s.x) < w / 2 && s.y >= px && s.y + 3 <= this.h)
        .map((s) => ({ x: aside(s.x), y: s.y - px, w, h: px + 3, text, what }));
      const box = take(this.said, tries, this.bodies);
      if (!box) continue;
      this.label(text, box.x + w / 2, box.y + px, { px, weight, tone });
      return box;
    }
    return null;
  }

  /** Where bodies stand: single monsters and groups that share a mark. */
  settle() {
    const { see, w, h } = this;
    const { single, groups } = clusters(
      [...see.model.monsters.values()],
      see.cam,
      (m) => this.chosen(`m${m.id}`) || !!see.template(m)?.boss,
    );
    this.groups = new Map(groups.map((g) => [g.key, g]));
    this.where = new Map();
    const all = [
      ...single.map((m) => {
        const boss = !!see.template(m)?.boss;
        return { key: `m${m.id}`, g: null, m, boss, r: bulk(m, boss, see.cam.k), ...this.at(m) };
      }),
      ...groups.map((g) => ({
        key: g.key,
        g,
        m: g.of[0],
        boss: false,
        r: 17 + Math.log2(g.of.length) * 1.6,
        ...this.at(g),
      })),
    ];
    for (const b of all) for (const m of b.g ? b.g.of : [b.m]) this.where.set(m.id, b);
    this.standing = all.filter((b) => b.x > -90 && b.y > -60 && b.x < w + 90 && b.y < h + 120);
    const front = (b) => (this.chosen(b.key) ? 1 : 0);
    this.standing.sort((a, b) => front(a) - front(b) || a.y - b.y || (a.key < b.key ? -1 : 1));
    // Who finds a place first: the chosen, bosses, groups, then the rest, always in the same order.
    const rank = (b) => (this.chosen(b.key) ? 0 : b.boss ? 1 : b.g ? 2 : 3);
    this.ranked = [...this.standing].sort((a, b) => rank(a) - rank(b) || (a.key < b.key ? -1 : 1));
    for (const b of this.standing) {
      this.places.push({ key: b.key, x: b.x, y: b.y - b.r * 0.7, r: Math.max(b.r, 12) });
      this.bodies.add({ x: b.x - b.r, y: b.y - b.r * 1.55, w: b.r * 2, h: b.r * 1.6 });
    }
  }

  /** Players are known by what they control. */
  players() {
    const { see, w, h } = this;
    const name = (id) => t('world.player', { id: String(id) });
    const known = [...see.model.players()].slice(0, MOST_PLAYERS);
    const y = h - 64;
    for (const p of standing(known, see.cam, w, h, (id) => this.width(name(id), 11, 620))) {
      const own = this.chosen(`p${p.id}`);
      const drawn = new Set();
      for (const m of p.of) {
        const to = this.where.get(m.id);
        const angry = !!see.model.angry.get(m.id);
        if (!to || drawn.has(`${to.key} ${angry}`) || drawn.size > 60) continue;
        drawn.add(`${to.key} ${angry}`);
        this.curve({ x: p.x, y: y - 26 }, to, { angry, bold: own });
      }
      if (own) this.feet(p.x, y + 8, 14);
      this.person(p.x, y);
      this.places.push({ key: `p${p.id}`, x: p.x, y: y - 6, r: 18 });
      this.bodies.add({ x: p.x - 9, y: y - 27, w: 18, h: 37 });
      this.word(name(p.id), [{ x: p.x, y: y + 22 }], { weight: 620, tone: '--ink', what: 'player' });
    }
  }

  body({ key, m, g, boss, x, y, r }) {
    if (this.see.selected === key) this.feet(x, y, r);
    this.blob(x, y, r, tint(m, boss));
    if (!g) {
      this.eyes(x, y, r, m.stance);
      return;
    }
    this.count(g.of.length, x, y - r * 0.95);
    this.bar({ x: x - 17, y: y - 10, w: 34, h: 8 }, health(g), null, g.maxHp);
  }

  /** Over a body: health, effects, name, each at the next free height. */
  hat({ key, m, g, boss, x, y, r }) {
    const { see } = this;
    // A group carries its health and its count; who it is, is said to whoever points at it.
    if (g) {
      if (this.chosen(key))
        this.word(this.groupName(g), rising({ x, y: y - r * 1.62 - 4 }, 5, 14), {
          px: 12,
          weight: 640,
          tone: '--ink',
          what: 'name',
        });
      return;
    }
    const [w, h] = boss ? [84, 11] : [48, 9];
    const top = y - r * 1.62 - 4;
    const tries = rising({ x: x - w / 2, y: top - h, w, h, what: 'bar' }, 6, h + 3);
    const bar = take(this.said, tries, this.bodies);
    let above = bar ? bar.y : top;
    if (bar) {
      if (bar.y < top - h - 4) this.leader(x, bar.y + h, top + 4);
      this.bar(bar, health(m), m.lost, m.maxHp);
    }
    const fx = discs(m, see.now);
    if (fx.length && bar) {
      const shown = fx.length > 4 ? fx.slice(0, 3) : fx;
      const wide = (shown.length + (fx.length > shown.length ? 1 : 0)) * 18;
      const row = take(this.said, rising({ x: x - wide / 2, y: above - 17, w: wide, h: 16, what: 'discs' }, 4, 9));
      if (row) {
        shown.forEach((d, i) => {
          this.disc(d, row.x + 9 + i * 18, row.y + 8, see.model.whole.get(`${m.id} ${d.name}`) || d.left);
        });
        if (fx.length > shown.length) this.label(`+${fx.length - shown.length}`, row.x + wide - 9, row.y + 12);
        above = row.y;
      }
    }
    if (!boss && !this.chosen(key)) return;
    const whole = see.name(key);
    const spots = rising({ x, y: above - 5 }, 5, 14);
    this.word([whole, whole.replace(/ \d+$/, '')], spots, { px: 12, weight: 640, tone: '--ink', what: 'name' });
  }

  /** Who stands together, when they are of one kind. */
  groupName({ of }) {
    const kinds = new Set(of.map((m) => m.monsterId));
    const name = kinds.size === 1 && this.see.template(of[0])?.name;
    return name ? `${name} ×${of.length}` : t('world.nmonsters', { n: of.length });
  }

  /** From a bar that had to rise down to its body. */
  leader(x, from, to) {
    const { c } = this;
    c.lineWidth = 1;
    c.strokeStyle = this.color('--ink-3');
    c.globalAlpha = 0.6;
    c.beginPath();
    c.moveTo(x, from);
    c.lineTo(x, to);
    c.stroke();
    c.globalAlpha = 1;
  }

  /** It shrinks, then a mark stays for a moment where it fell. */
  gone(g) {
    const { c, see } = this;
    const s = this.at(g);
    const passed = see.now - g.at;
    const boss = see.template(g)?.boss;
    if (passed < 200 && !see.still) {
      const r = Math.max(1, bulk(g, boss, see.cam.k) * (1 - passed / 200));
      this.blob(s.x, s.y, r, tint(g, boss));
      this.eyes(s.x, s.y, r, g.stance);
      return;
    }
    c.globalAlpha = Math.max(0, 1 - passed / GONE_MS);
    this.cross(s.x, s.y - 4, 5, '--ink-3', true);
    c.globalAlpha = 1;
  }

  /** @param {Wk.Reactor} r */
  reactor(r) {
    const { c, see } = this;
    const s = this.at(r);
    const key = `r${r.id}`;
    const y = s.y - 15;
    const shake = r.shaken && see.now - r.shaken < 250 && !see.still ? Math.sin((see.now - r.shaken) / 18) * 2 : 0;
    this.places.push({ key, x: s.x, y, r: 17 });
    if (s.x < -60 || s.y < -60 || s.x > this.w + 60 || s.y > this.h + 60) return;
    this.bodies.add({ x: s.x - 14, y: y - 14, w: 28, h: 28 });
    const left = see.model.timer(r, see.now, see.timeout);
    if (left) this.timer(s.x, y, left.left / left.total, t('world.next', { left: age(left.left, true) }));
    if (see.selected === key) this.feet(s.x, s.y + 4, 16);
    c.fillStyle = this.color('--m-reactors');
    c.lineJoin = 'round';
    c.lineWidth = 4;
    c.strokeStyle = this.color('--m-reactors');
    this.diamond(s.x + shake, y, 11.5);
    c.fill();
    c.stroke();
    this.font(12, 700);
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    c.fillStyle = this.color('--on-reactors');
    c.fillText(String(r.state), s.x + shake, y + 0.5);
    const whole = see.name(key);
    const short = whole.replace(/ \d+$/, '');
    const below = [0, 13].map((n) => ({ x: s.x, y: s.y + 18 + n }));
    const look = this.chosen(key) ? { px: 12, weight: 640, tone: '--ink', what: 'name' } : {};
    this.words[this.chosen(key) ? 'unshift' : 'push'](() => this.word([whole, short], below, look));
  }

  /** A ring that runs down, with its time above. */
  timer(x, y, f, text) {
    this.ring(x, y, 20, f, '--m-reactors');
    this.words.push(() => this.word(text, [...rising({ x, y: y - 25 }, 4, 13), { x, y: y + 46 }], { what: 'caption' }));
  }

  ghost(g) {
    const { c, see } = this;
    const s = this.at(g);
    const y = s.y - 15;
    const left = g.until - see.now;
    if (left <= 0) return;
    this.timer(s.x, y, left / g.total, t('world.back', { left: age(left, true) }));
    c.lineWidth = 1.3;
    c.setLineDash([3, 3]);
    c.strokeStyle = this.color('--ink-3');
    this.diamond(s.x, y, 12);
    c.stroke();
    c.setLineDash([]);
  }

  /** The box in which an item must lie, for the selected reactor. */
  area() {
    const { c, see } = this;
    const r = see.selected?.[0] === 'r' && see.model.reactors.get(see.selected.slice(1));
    const box = r && see.area(r);
    if (!box) return;
    const a = this.at({ x: r.x + box.tl.x, y: r.y + box.tl.y });
    const b = this.at({ x: r.x + box.br.x, y: r.y + box.br.y });
    c.setLineDash([4, 3]);
    c.lineWidth = 1.2;
    c.strokeStyle = this.color('--m-reactors');
    c.strokeRect(a.x, a.y, b.x - a.x, b.y - a.y);
    c.setLineDash([]);
  }

  /** Where something would be spawned. */
  mark() {
    const { mark } = this.see;
    if (!mark) return;
    const s = this.at(mark);
    this.cross(s.x, s.y, 7, '--accent');
    this.word(`${num(mark.x)}, ${num(mark.y)}`, [{ x: s.x, y: s.y + 20 }], { tone: '--ink-3' });
  }

  /** Damage rises beside its bar. Each number keeps the free place it found first; one that finds none is left out. */
  numbers() {
    const { see, c } = this;
    const shown = [];
    const fresh = [];
    for (const n of see.model.numbers) {
      if (see.now < n.at || see.now - n.at > NUMBER_MS || n.left) continue;
      const b = this.where.get(n.id) || { ...this.at(n), r: 18 };
      if (n.dx === undefined) fresh.push([n, b]);
      else shown.push([n, this.said.add(rise(n, b.x + n.dx, b.y + n.dy))]);
    }
    for (const [n, b] of fresh) {
      n.px = n.heavy ? 19 : 15;
      n.w = this.width(n.text, n.px, 750) + 6;
      const box = this.beside(n, b);
      n.left = !box;
      if (!box) continue;
      n.dx = box.x - b.x;
      n.dy = box.y - b.y;
      shown.push([n, this.said.add(box)]);
    }
    for (const [n, at] of shown) {
      const f = (see.now - n.at) / NUMBER_MS;
      c.globalAlpha = f < 0.6 ? 1 : 1 - (f - 0.6) / 0.4;
      const y = at.y + at.h - 2 - (see.still ? RISE / 2 : RISE * f);
      this.label(n.text, at.x + at.w / 2, y, { px: n.px, weight: 750, tone: '--bad' });
      c.globalAlpha = 1;
    }
  }

  /** A free place for a number: beside its body or above it, then higher, at last lower. */
  beside(n, b) {
    const top = b.y - b.r * 1.62 - 10 - n.px - RISE;
    const sides = [b.r + 6, -b.r - 6 - n.w, -n.w / 2, b.r + 10 + n.w, -b.r - 10 - 2 * n.w];
    for (const step of STEPS)
      for (const side of sides) {
        const box = rise(n, b.x + side, top - step);
        if (box.y >= 0 && box.x >= 0 && box.x + box.w <= this.w && this.said.free(box)) return box;
      }
    return null;
  }
}

/** All that a rising number crosses. */
const rise = (n, x, y) => ({ x, y, w: n.w, h: n.px + 2 + RISE, what: 'number', text: n.text });
