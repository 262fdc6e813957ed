// The one table: sort by header, pages by cursor, selection with the bulk bar, rows by keyboard (j k x Enter).
// Filter chips live here too, since they stand over tables. Rows keep their element by key, so live changes never jump.
import { define, fill, h, icon, patch } from './dom.js';
import { num } from './format.js';
import { t } from './i18n.js';
import { menu } from './overlay.js';

export class Table extends HTMLElement {
  /** @template Row @param {Wk.TableOptions<Row>} opts */
  setup(opts) {
    this.o = opts;
    this.rows = [];
    this.picked = new Map();
    this.sort = opts.sort || null;
    const heads = opts.columns.map((c) => this.head(c));
    this.all =
      opts.actions &&
      h('input', {
        type: 'checkbox',
        'aria-label': t('table.pickall'),
        on: { change: () => this.pickAll(this.all.checked) },
      });
    this.body = h('tbody');
    this.table = h(
      'table.t.cards',
      {},
      h('caption.said', {}, opts.label),
      h('thead', {}, h('tr', {}, this.all && h('th.pick', {}, this.all), heads)),
      this.body,
    );
    this.note = h('div');
    this.foot = h('div.more', { hidden: true });
    this.bulk = h('div.bulk', { role: 'region', 'aria-label': t('table.selection'), hidden: true });
    this.waiting = h('button.waiting', { type: 'button', hidden: true, on: { click: () => this.release() } });
    this.replaceChildren(this.waiting, h('div.scroll', {}, this.table), this.note, this.foot, this.bulk);
    this.body.addEventListener('keydown', (e) => this.onKey(e));
    this.body.addEventListener('click', (e) => this.onClick(e));
    return this;
  }

  head(c) {
    const th = h('th', { scope: 'col', class: c.num ? 'num' : '' });
    if (!c.sort) return fill(th, c.name);
    const dir = icon('down', { class: 'dir' });
    th.append(h('button', { type: 'button', on: { click: () => this.sortBy(c.id) } }, c.name, dir));
    th.dataset.id = c.id;
    return th;
  }

  sortBy(id) {
    const down = this.sort?.id === id && !this.sort.down;
    this.sort = { id, down };
    this.markSort();
    this.dispatchEvent(new CustomEvent('sort', { detail: this.sort }));
    if (this.o.load) this.reload();
    else this.show(this.rows);
  }

  markSort() {
    for (const th of this.table.querySelectorAll('th[data-id]')) {
      const mine = this.sort?.id === th.dataset.id;
      th.setAttribute('aria-sort', mine ? (this.sort.down ? 'descending' : 'ascending') : 'none');
      const dir = th.querySelector('.dir');
      dir.style.visibility = mine ? 'visible' : 'hidden';
      dir.style.transform = this.sort?.down ? 'none' : 'rotate(180deg)';
    }
  }

  /** First page again. */
  async reload() {
    this.cursor = null;
    const page = await this.o.load({ cursor: null, sort: this.sort });
    this.cursor = page.cursor;
    this.show(page.items);
  }
  async next() {
    const page = await this.o.load({ cursor: this.cursor, sort: this.sort });
    this.cursor = page.cursor;
    this.show([...this.rows, ...page.items]);
  }

  /** Draws rows; new ones wait behind "n new" when `calm` and the list is not at its top. */
  show(rows, { calm = false } = {}) {
    if (calm && this.rows.length && scrollY > 80) {
      const known = new Set(this.rows.map(this.o.key));
      const fresh = rows.filter((r) => !known.has(this.o.key(r)));
      this.held = fresh.length ? rows : null;
      this.waiting.hidden = !fresh.length;
      this.waiting.textContent = t('table.new', { n: fresh.length });
      rows = rows.filter((r) => known.has(this.o.key(r)));
    } else {
      this.held = null;
      this.waiting.hidden = true;
    }
    this.rows = this.o.load ? rows : this.sorted(rows);
    this.markSort();
    patch(
      this.body,
      this.rows,
      this.o.key,
      () => this.makeRow(),
      (tr, row) => this.fillRow(tr, row),
    );
    const tabbable = this.body.querySelector('tr[tabindex="0"]');
    if (!tabbable && this.body.rows[0] && this.opens) this.body.rows[0].tabIndex = 0;
    fill(this.note, this.rows.length ? null : this.o.empty?.());
    this.table.hidden = !this.rows.length;
    this.foot.hidden = !this.cursor;
    if (this.cursor)
      fill(this.foot, h('button.btn.small', { type: 'button', on: { click: () => this.next() } }, t('table.more')));
    this.drawBulk();
  }

  release() {
    const rows = this.held;
    this.held = null;
    if (rows) this.show(rows);
  }

  get opens() {
    return this.o.open || this.o.href;
  }

  sorted(rows) {
    const c = this.sort && this.o.columns.find((x) => x.id === this.sort.id);
    if (!c?.sort) return rows;
    const by = typeof c.sort === 'function' ? c.sort : (r) => r[c.id];
    const sign = this.sort.down ? -1 : 1;
    return [...rows].sort((a, b) => {
      const x = by(a);
      const y = by(b);
      return (
        sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x ?? '').localeCompare(String(y ?? '')))
      );
    });
  }

  makeRow() {
    const tr = h('tr', { tabindex: this.opens ? '-1' : null });
    if (this.o.actions) tr.append(h('td.pick', {}, h('input', { type: 'checkbox', 'aria-label': t('table.pick') })));
    for (const c of this.o.columns) tr.append(h('td', { class: `${c.num ? 'num' : ''} ${c.wide ? 'wide' : ''}` }));
    return tr;
  }

  fillRow(tr, row) {
    tr.wkRow = row;
    const shift = this.o.actions ? 1 : 0;
    this.o.columns.forEach((c, i) => {
      const td = tr.children[i + shift];
      const made = c.cell ? c.cell(row) : row[c.id];
      if (made instanceof Node || Array.isArray(made)) fill(td, made);
      else if (td.textContent !== String(made ?? '')) td.textContent = made ?? '';
    });
    if (this.o.actions) this.markRow(tr);
  }

  markRow(tr) {
    const on = this.picked.has(this.o.key(tr.wkRow));
    tr.setAttribute('aria-selected', on ? 'true' : 'false');
    tr.querySelector('input').checked = on;
  }

  onClick(e) {
    const tr = e.target.closest('tr');
    if (!tr) return;
    if (e.target.closest('input')) {
      this.pick(tr);
      return;
    }
    if (e.target.closest('a,button') || String(getSelection())) return;
    this.openRow(tr);
  }

  openRow(tr) {
    if (this.o.open) this.o.open(tr.wkRow, tr);
    else if (this.o.href) dispatchEvent(new CustomEvent('wk-go', { detail: this.o.href(tr.wkRow) }));
  }

  onKey(e) {
    const tr = e.target.closest('tr');
    if (!tr || e.target.closest('input,button,a')) return;
    const move = {
      j: 'nextElementSibling',
      ArrowDown: 'nextElementSibling',
      k: 'previousElementSibling',
      ArrowUp: 'previousElementSibling',
    }[e.key];
    if (move) {
      e.preventDefault();
      this.focusRow(tr[move], tr);
    } else if (e.key === 'Enter') {
      e.preventDefault();
      this.openRow(tr);
    } else if (e.key === 'x' && this.o.actions) {
      e.preventDefault();
      this.pick(tr);
    }
  }

  /** First row from anywhere: what `j` does before a row has focus. */
  focusRow(tr = this.body.rows[0], from) {
    if (!tr) return false;
    if (from) from.tabIndex = -1;
    tr.tabIndex = 0;
    tr.focus();
    return true;
  }

  pick(tr) {
    this.whole = null;
    const id = this.o.key(tr.wkRow);
    if (this.picked.has(id)) this.picked.delete(id);
    else this.picked.set(id, tr.wkRow);
    this.markRow(tr);
    this.drawBulk();
  }
  pickAll(on) {
    this.whole = null;
    this.picked = on ? new Map(this.rows.map((r) => [this.o.key(r), r])) : new Map();
    for (const tr of this.body.children) this.markRow(tr);
    this.drawBulk();
  }

  /** Everything that the filter finds, also what is on no page: the count is asked first. */
  async pickWhole() {
    this.pickAll(true);
    this.whole = await this.o.pickTotal();
    this.drawBulk();
  }

  /** The selected rows that an action is for. */
  fit(a) {
    return [...this.picked.values()].filter((row) => !a.fits || a.fits(row));
  }

  /** Actions that are for some selected row; what a filter finds beyond the page may be anything. */
  fitting() {
    return this.o.actions.filter((a) => (this.whole && !this.o.alike?.() ? true : this.fit(a).length));
  }

  drawBulk() {
    if (!this.o.actions) return;
    const n = this.picked.size;
    this.all.checked = n > 0 && n >= this.rows.length;
    this.all.indeterminate = n > 0 && n < this.rows.length;
    this.bulk.hidden = n === 0;
    if (!n) return;
    fill(
      this.bulk,
      h(
        'b',
        {},
        this.whole
          ? t(this.whole.more ? 'table.wholemore' : 'table.whole', { n: this.whole.count })
          : t('table.selected', { n }),
      ),
      !this.whole &&
        this.o.pickTotal &&
        h('button.plain', { type: 'button', on: { click: () => this.pickWhole() } }, t('table.matching')),
      this.fitting().map((a) =>
        h(
          'button.btn.small',
          { type: 'button', on: { click: () => a.run(this.fit(a), this.whole) } },
          a.icon && icon(a.icon, { class: 's' }),
          a.label,
        ),
      ),
      h(
        'button',
        { type: 'button', 'aria-label': t('table.clear'), on: { click: () => this.pickAll(false) } },
        icon('cross', { class: 's' }),
      ),
    );
  }
}
define('wk-table', Table);

/** Chips over a list; each filter lives in the address, and `change` writes it. */
export class Chips extends HTMLElement {
  /** @param {Wk.ChipsOptions} o */
  setup({ filters, change, extra }) {
    this.f = filters;
    this.change = change;
    this.extra = extra;
    this.classList.add('filters');
    this.found = h('span.matches');
    this.box = h('span.row');
    this.replaceChildren(...[extra, this.box, this.found].filter(Boolean));
    this.draw({});
    return this;
  }

  /** Draws from the address's values and the number of matches. */
  draw(values, count) {
    this.values = values;
    patch(
      this.box,
      this.f,
      (f) => f.id,
      (f) => this.chip(f),
      (el, f) => this.fillChip(el, f),
    );
    fill(this.found, count === undefined ? null : typeof count === 'number' ? t('filter.match', { n: count }) : count);
  }

  chip(f) {
    const el = h('button.chip', { type: 'button', 'aria-haspopup': 'menu' });
    el.addEventListener('click', (e) => {
      if (/** @type {Element} */ (e.target).closest('.icon.off')) {
        this.change(f.id, null);
        return;
      }
      const now = this.values[f.id] || '';
      menu(el, [
        { label: t('filter.any'), on: !now, run: () => this.change(f.id, null) },
        ...(typeof f.options === 'function' ? f.options() : f.options).map((o) => ({
          label: o.label,
          mark: o.mark,
          end: o.count === undefined ? null : num(o.count),
          on: now === o.value,
          run: () => this.change(f.id, o.value),
        })),
      ]);
    });
    el.addEventListener('keydown', (e) => {
      if ((e.key === 'Backspace' || e.key === 'Delete') && this.values[f.id]) {
        e.preventDefault();
        this.change(f.id, null);
      }
    });
    return el;
  }

  fillChip(el, f) {
    const value = this.values[f.id];
    const options = typeof f.options === 'function' ? f.options() : f.options;
    const word = value ? options.find((o) => o.value === value)?.label || value : t('filter.any');
    el.classList.toggle('on', !!value);
    fill(el, f.name, h('b.cut', {}, word), icon(value ? 'cross' : 'down', { class: `s ${value ? 'off' : ''}` }));
  }
}
define('wk-chips', Chips);
