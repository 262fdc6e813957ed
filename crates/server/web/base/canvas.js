// For the pages that draw worlds: a canvas at device resolution (at most 2×) that redraws only when asked, at most
// `fps` times a second and never while hidden; and its twin, a real list that drives the same selection.
import { define, fill, h, patch } from './dom.js';

export class Canvas extends HTMLElement {
  /** `setup({draw(ctx, {w, h, ratio, color}), label, fps})`; call `touch()` when something changed. */
  setup({ draw, label, fps = 30 }) {
    this.drawing = draw;
    // A frame that comes a little early is still one of these.
    this.frameMs = 1000 / fps - 3;
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.setAttribute('aria-label', label);
    this.replaceChildren(this.canvas);
    this.colors = new Map();
    return this;
  }
  connectedCallback() {
    this.watch = new ResizeObserver(() => this.touch());
    this.watch.observe(this);
    this.theme = () => {
      this.colors?.clear();
      this.touch();
    };
    addEventListener('wk-theme', this.theme);
    this.seen = () => {
      if (!document.hidden) this.touch();
    };
    document.addEventListener('visibilitychange', this.seen);
  }
  disconnectedCallback() {
    this.watch.disconnect();
    removeEventListener('wk-theme', this.theme);
    document.removeEventListener('visibilitychange', this.seen);
    cancelAnimationFrame(this.frame);
    clearTimeout(this.later);
    this.frame = this.later = null;
  }
  /** A token's value, read once per theme. */
  color(token) {
    if (!this.colors.has(token)) this.colors.set(token, getComputedStyle(this).getPropertyValue(token).trim());
    return this.colors.get(token);
  }
  touch() {
    if (this.frame || this.later || document.hidden || !this.drawing) return;
    const wait = this.frameMs - (performance.now() - (this.last || 0));
    const paint = () => {
      this.later = null;
      this.frame = requestAnimationFrame(() => this.paint());
    };
    if (wait > 0) this.later = setTimeout(paint, wait);
    else paint();
  }
  paint() {
    this.frame = null;
    this.last = performance.now();
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const w = this.clientWidth;
    const hgt = this.clientHeight;
    if (!w || !hgt) return;
    if (this.canvas.width !== Math.round(w * ratio) || this.canvas.height !== Math.round(hgt * ratio)) {
      this.canvas.width = Math.round(w * ratio);
      this.canvas.height = Math.round(hgt * ratio);
    }
    const ctx = this.canvas.getContext('2d');
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, w, hgt);
    this.drawing(ctx, { w, h: hgt, ratio, color: (token) => this.color(token) });
  }
}
define('wk-canvas', Canvas);

/** The canvas's objects as a listbox: one tab stop, arrows between neighbours, `pick(item, byKey)` on both sides. `name` is
 *  its text; `row(item)` gives nodes that show the same. */
export class Twin extends HTMLElement {
  setup({ label, key, name, row = name, pick }) {
    this.o = { key, name, row, pick };
    this.chosen = null;
    this.list = h('div.twin', { role: 'listbox', 'aria-label': label, tabindex: '0' });
    this.replaceChildren(this.list);
    this.list.addEventListener('keydown', (e) => {
      const i = this.items.findIndex((x) => key(x) === this.chosen);
      const to = {
        ArrowDown: i + 1,
        ArrowRight: i + 1,
        ArrowUp: i - 1,
        ArrowLeft: i - 1,
        Home: 0,
        End: this.items.length - 1,
      }[e.key];
      if (to === undefined || !this.items.length) return;
      e.preventDefault();
      this.choose(this.items[Math.max(0, Math.min(this.items.length - 1, to))], true, true);
    });
    this.list.addEventListener('click', (e) => {
      const row = /** @type {Element} */ (e.target).closest('[role=option]');
      if (row) this.choose(row.wkItem);
    });
    return this;
  }
  show(items) {
    this.items = items;
    patch(
      this.list,
      items,
      this.o.key,
      () => h('div', { role: 'option' }),
      (el, item) => {
        el.wkItem = item;
        el.id ||= `twin-${this.o.key(item)}`;
        const name = this.o.name(item);
        if (el.wkLine !== name) fill(el, this.o.row(item));
        el.wkLine = name;
        el.setAttribute('aria-selected', String(this.o.key(item) === this.chosen));
      },
    );
  }
  choose(item, told = true, byKey = false) {
    this.chosen = item ? this.o.key(item) : null;
    this.show(this.items);
    const el = this.list.querySelector('[aria-selected=true]');
    if (el) {
      this.list.setAttribute('aria-activedescendant', el.id);
      // Only the list scrolls: a choice made elsewhere must not move the page.
      const [row, box] = [el.getBoundingClientRect(), this.list.getBoundingClientRect()];
      if (row.top < box.top) this.list.scrollTop -= box.top - row.top;
      else if (row.bottom > box.bottom) this.list.scrollTop += row.bottom - box.bottom;
    } else this.list.removeAttribute('aria-activedescendant');
    if (told) this.o.pick(item, byKey);
  }
}
define('wk-twin', Twin);
