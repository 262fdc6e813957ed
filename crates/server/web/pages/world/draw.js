// Draws a field: grid, control curves, reactors, monsters, their bars and discs, rising numbers. All colours are
// tokens; `draw` also says where everything stands, so that a click finds it.
import { age, num } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { marks, steps, toField, toScreen } from './camera.js';
import { discs, GONE_MS, health, NUMBER_MS, PALE_MS } from './model.js';

const TAU = Math.PI * 2;
const MOBS = ['--mob-1', '--mob-2', '--mob-3', '--mob-4'];
const FX = { POISON: '--fx-poison', VENOM: '--m-monsters' };
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

export const tint = (m, boss) => (boss ? '--mob-boss' : MOBS[Math.abs(m.monsterId) % MOBS.length]);
export const fxTone = (name) => FX[name] || '--info';
/** Half the width of a monster's body in pixels, by rank. */
const bulk = (m, boss, k) => {
  const base = boss ? 36 : 13 + Math.min(9, Math.log10(Math.max(10, m.maxHp)) * 2.6);
  return base * Math.max(0.62, Math.min(1.15, 0.5 + k * 0.55));
};

/** One picture. `see`: model, cam, now, still (no motion), selected, mark, template(m), timeout(r), area(r). */
export function draw(c, { w, h, color }, see) {
  const p = new Pen(c, w, h, color, see);
  p.grid();
  p.players();
  p.area();
  for (const g of see.model.ghosts.values()) p.ghost(g);
  for (const r of see.model.reactors.values()) p.reactor(r);
  for (const g of see.model.gone) p.gone(g);
  // Those further down stand in front; the selected one before all.
  const order = [...see.model.monsters.values()].sort((a, b) => a.y - b.y);
  for (const m of order) if (`m${m.id}` !== see.selected) p.monster(m);
  const own = see.selected?.[0] === 'm' && see.model.monsters.get(see.selected.slice(1));
  if (own) p.monster(own);
  p.mark();
  for (const n of see.model.numbers) p.number(n);
  return p.places;
}

class Pen {
  constructor(c, w, h, color, see) {
    this.c = c;
    this.w = w;
    this.h = h;
    this.color = color;
    this.see = see;
    this.places = [];
    this.captions = [];
    this.calm = see.model.monsters.size > 300;
  }
  at(p) {
    return toScreen(this.see.cam, this.w, this.h, p);
  }
  font(px, weight = 400) {
    this.c.font = `${weight} ${px}px ${FONT}`;
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
  /** Time left above a ring; one that would lie on another goes higher. */
  caption(text, x, y) {
    const near = (c) => Math.abs(c.x - x) < 84 && Math.abs(c.y - y) < 13;
    for (let i = 0; i < 3 && this.captions.some(near); i += 1) y -= 14;
    this.captions.push({ x, y });
    this.label(text, x, y);
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

  /** Players are known by what they control; they stand at the foot, below the middle of it. */
  players() {
    const { c, see, w, h } = this;
    let last = 24;
    const all = [...see.model.players()].map(([id, of]) => ({
      id,
      of,
      x: of.reduce((sum, m) => sum + this.at(m).x, 0) / of.length,
    }));
    all.sort((a, b) => a.x - b.x);
    for (const [i, p] of all.slice(0, 24).entries()) {
      const room = Math.min(all.length, 24) - 1 - i;
      p.x = Math.max(Math.min(p.x, w - 44 - room * 56), last + 20);
      last = p.x + 48;
      const y = h - 64;
      for (const m of p.of.slice(0, 60)) {
        const to = this.at(m);
        const angry = see.model.angry.get(m.id);
        c.lineWidth = angry ? 1.4 : 1.6;
        c.setLineDash(angry ? [] : [1.6, 5]);
        c.lineCap = angry ? 'butt' : 'round';
        c.strokeStyle = this.color(angry ? '--bad' : '--ink-3');
        c.beginPath();
        c.moveTo(p.x, y - 26);
        c.quadraticCurveTo((p.x * 3 + to.x) / 4, Math.min(to.y - 10, y - 40), to.x, to.y - 14);
        c.stroke();
      }
      c.setLineDash([]);
      c.lineCap = 'butt';
      c.fillStyle = this.color('--ink');
      c.beginPath();
      c.arc(p.x, y - 19, 6.5, 0, TAU);
      c.fill();
      c.beginPath();
      c.roundRect(p.x - 8, y - 11, 16, 19, [8, 8, 2, 2]);
      c.fill();
      this.label(t('world.player', { id: String(p.id) }), p.x, y + 22, { weight: 620, tone: '--ink' });
    }
  }

  /** @param {Wk.Monster} m */
  monster(m) {
    const { see } = this;
    const tpl = see.template(m);
    const boss = !!tpl?.boss;
    const s = this.at(m);
    const r = bulk(m, boss, see.cam.k);
    this.places.push({ key: `m${m.id}`, x: s.x, y: s.y - r * 0.7, r: Math.max(r, 12) });
    if (s.x < -90 || s.y < -60 || s.x > this.w + 90 || s.y > this.h + 120) return;
    if (see.selected === `m${m.id}`) this.feet(s.x, s.y, r);
    this.blob(s.x, s.y, r, tint(m, boss), m.stance);
    const top = s.y - r * 1.62;
    this.bar(m, s.x, top - 8, boss);
    const fx = discs(m, see.now);
    if (fx.length) this.effects(m, fx, s.x, top - 21 - (boss ? 3 : 0));
    if (boss || see.selected === `m${m.id}`)
      this.label(tpl?.name || String(m.monsterId), s.x, top - (fx.length ? 36 : 15), {
        px: 12,
        weight: 640,
        tone: '--ink',
      });
  }

  blob(x, y, r, tone, stance = 0) {
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
    // An odd stance looks to the left.
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

  /** @param {Wk.Monster} m */
  bar(m, x, y, boss) {
    const { c, see } = this;
    const { f, tone } = health(m);
    const w = boss ? 80 : 44;
    const hgt = boss ? 7 : 5;
    c.fillStyle = this.color('--surface');
    c.strokeStyle = this.color('--ink');
    c.lineWidth = 1.2;
    c.beginPath();
    c.roundRect(x - w / 2 - 1.5, y - hgt / 2 - 1.5, w + 3, hgt + 3, 4);
    c.fill();
    c.stroke();
    const part = (share, fill, alpha = 1) => {
      if (share <= 0) return;
      c.globalAlpha = alpha;
      c.fillStyle = this.color(fill);
      c.beginPath();
      c.roundRect(x - w / 2, y - hgt / 2, Math.max(2, w * share), hgt, 2);
      c.fill();
      c.globalAlpha = 1;
    };
    if (m.lost && see.now - m.lost.at < PALE_MS) part(Math.min(1, m.lost.from / m.maxHp), tone, 0.35);
    part(f, tone);
  }

  effects(m, fx, x, y) {
    const { c, see } = this;
    const shown = fx.length > 4 ? fx.slice(0, 3) : fx;
    const rest = fx.length - shown.length;
    let at = x - ((shown.length + (rest ? 1 : 0) - 1) * 18) / 2;
    for (const d of shown) {
      const whole = see.model.whole.get(`${m.id} ${d.name}`) || d.left;
      c.fillStyle = this.color('--surface');
      c.beginPath();
      c.arc(at, y, 7.5, 0, TAU);
      c.fill();
      this.ring(at, y, 6.8, d.left / whole, fxTone(d.name), 1.8);
      this.font(8.5, 700);
      c.textAlign = 'center';
      c.textBaseline = 'middle';
      c.fillStyle = this.color(fxTone(d.name));
      c.fillText(d.name[0], at, y + 0.5 - (d.stacks > 1 ? 1 : 0));
      for (let i = 0; d.stacks > 1 && i < Math.min(3, d.stacks); i += 1) {
        c.beginPath();
        c.arc(at - 3 + i * 3, y + 4.6, 1, 0, TAU);
        c.fill();
      }
      at += 18;
    }
    if (rest) this.label(`+${rest}`, at, y + 4, { weight: 620 });
  }

  /** It shrinks, then a mark stays for a moment where it fell. */
  gone(g) {
    const { c, see } = this;
    const s = this.at(g);
    const passed = see.now - g.at;
    const r = bulk(g, see.template(g)?.boss, see.cam.k);
    if (passed < 200 && !see.still) {
      this.blob(s.x, s.y, Math.max(1, r * (1 - passed / 200)), tint(g, see.template(g)?.boss), g.stance);
      return;
    }
    c.globalAlpha = Math.max(0, 1 - passed / GONE_MS);
    c.strokeStyle = this.color('--ink-3');
    c.lineWidth = 2;
    c.beginPath();
    c.moveTo(s.x - 5, s.y - 9);
    c.lineTo(s.x + 5, s.y + 1);
    c.moveTo(s.x + 5, s.y - 9);
    c.lineTo(s.x - 5, s.y + 1);
    c.stroke();
    c.globalAlpha = 1;
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

  /** @param {Wk.Reactor} r */
  reactor(r) {
    const { c, see } = this;
    const s = this.at(r);
    const y = s.y - 15;
    const shake = r.shaken && see.now - r.shaken < 250 && !see.still ? Math.sin((see.now - r.shaken) / 18) * 2 : 0;
    this.places.push({ key: `r${r.id}`, x: s.x, y, r: 17 });
    if (s.x < -60 || s.y < -60 || s.x > this.w + 60 || s.y > this.h + 60) return;
    const left = see.model.timer(r, see.now, see.timeout);
    if (left) {
      this.ring(s.x, y, 20, left.left / left.total, '--m-reactors');
      this.caption(t('world.next', { left: age(left.left, true) }), s.x, y - 28);
    }
    if (see.selected === `r${r.id}`) this.feet(s.x, s.y + 4, 16);
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
    if (r.name && !this.calm) this.label(r.name.slice(0, 24), s.x, s.y + 18, { tone: '--ink-2' });
  }

  ghost(g) {
    const { c, see } = this;
    const s = this.at(g);
    const y = s.y - 15;
    const left = g.until - see.now;
    if (left <= 0) return;
    this.ring(s.x, y, 20, left / g.total, '--m-reactors');
    c.lineWidth = 1.3;
    c.setLineDash([3, 3]);
    c.strokeStyle = this.color('--ink-3');
    this.diamond(s.x, y, 12);
    c.stroke();
    c.setLineDash([]);
    this.caption(t('world.back', { left: age(left, true) }), s.x, y - 28);
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
    const { c, see } = this;
    if (!see.mark) return;
    const s = this.at(see.mark);
    c.lineWidth = 1.6;
    c.strokeStyle = this.color('--accent');
    c.beginPath();
    c.moveTo(s.x - 7, s.y);
    c.lineTo(s.x + 7, s.y);
    c.moveTo(s.x, s.y - 7);
    c.lineTo(s.x, s.y + 7);
    c.stroke();
    this.label(`${num(see.mark.x)}, ${num(see.mark.y)}`, s.x, s.y + 20, { tone: '--ink-3' });
  }

  number(n) {
    const { see, c } = this;
    const f = (see.now - n.at) / NUMBER_MS;
    if (f < 0 || f > 1) return;
    const s = this.at(n);
    c.globalAlpha = f < 0.6 ? 1 : 1 - (f - 0.6) / 0.4;
    const m = see.model.monsters.get(n.id);
    const r = m ? bulk(m, see.template(m)?.boss, see.cam.k) : 18;
    const y = s.y - r * 1.75 - 8 - (see.still ? 12 : 24 * f);
    this.label(n.text, s.x + r + 16, y, { px: n.heavy ? 19 : 15, weight: 750, tone: '--bad' });
    c.globalAlpha = 1;
  }
}
