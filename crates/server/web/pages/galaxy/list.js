// The list beside the map: bodies, stations, ships; its search; one tab stop, arrows select, Enter follows.
import { h, icon, text } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { button } from '../../base/parts.js';
import { len } from './space.js';
import { dist } from './units.js';

const MOST = 300;
const ORDER = { body: 0, station: 1, gate: 2, ship: 3 };

export class List {
  /** `o`: sky, pick(key), open(key). */
  constructor(o) {
    this.o = o;
    this.open = innerWidth >= 1280;
    this.twin = h('wk-twin').setup({
      label: t('galaxy.list'),
      key: (x) => x.key,
      name: (x) => x.line,
      pick: (x) => x && o.pick(x.key),
    });
    this.twin.items = [];
    this.twin.list.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' && this.twin.chosen) {
        e.preventDefault();
        o.open(this.twin.chosen);
      }
    });
    this.search = h('input', {
      type: 'search',
      'aria-label': t('galaxy.find'),
      placeholder: t('galaxy.find'),
      on: {
        input: () => this.show(this.twin.chosen),
        keydown: (e) => {
          if (e.key !== 'Enter' && e.key !== 'ArrowDown') return;
          e.preventDefault();
          if (this.twin.items.length) {
            this.twin.choose(this.twin.items[0]);
            this.twin.list.focus();
          }
        },
      },
    });
    this.note = h('p.note', { role: 'status' });
    this.body = h(
      'div.gxlistbody',
      {},
      h('label.search', {}, icon('search', { class: 's' }), this.search),
      this.note,
      this.twin,
    );
    this.toggle = button({
      label: t('galaxy.list'),
      icon: 'table',
      kind: 'quiet',
      run: () => {
        this.open = !this.open;
        this.draw();
        this.show(this.twin.chosen);
      },
    });
    this.el = h('section.gxlist', { 'aria-label': t('galaxy.list') }, this.toggle, this.body);
    this.draw();
  }
  draw() {
    this.el.classList.toggle('open', this.open);
    this.toggle.setAttribute('aria-expanded', String(this.open));
    this.body.hidden = !this.open;
  }
  focus() {
    if (this.open) this.twin.list.focus();
    else this.toggle.focus();
  }

  show(selected) {
    if (!this.open) return;
    const word = this.search.value.trim().toLowerCase();
    const { sky } = this.o;
    const all = [...sky.all()]
      .filter((e) => e.at && (!word || e.name.toLowerCase().includes(word)))
      .map((e) => ({ key: e.key, e, far: len(e.rel), line: line(e) }));
    all.sort(
      (a, b) => ORDER[a.e.kind] - ORDER[b.e.kind] || order(a.e) - order(b.e) || a.e.name.localeCompare(b.e.name),
    );
    this.twin.show(all.slice(0, MOST));
    if (this.twin.chosen !== selected) this.twin.choose(all.find((x) => x.key === selected) || null, false);
    text(
      this.note,
      !all.length ? t('galaxy.nomatch') : all.length > MOST ? t('galaxy.part', { n: MOST, all: all.length }) : '',
    );
    for (const el of this.twin.list.querySelectorAll('div')) el.dataset.kind = kindOf(el.wkItem.e);
  }
}

/** Bodies stand in the order the server tells them: from the star outwards, moons after their planet. */
const order = (e) => (e.kind === 'body' ? (e.seat ?? 0) : 0);
const kindOf = (e) => (e.kind !== 'body' ? e.kind : !e.parent ? 'star' : e.held?.parent ? 'moon' : 'planet');

function line(e) {
  if (e.kind === 'body') return e.held ? `${e.name} · ${dist(len(e.rel))}` : e.name;
  const up = e.held ? len(e.rel) - (e.held.radius || 0) : 0;
  return e.held ? t('galaxy.line', { name: e.name, body: e.held.name, far: dist(up) }) : e.name;
}
