// The search field of the head: pages, commands and key patterns, which this page knows, and jobs, rooms, ships, players,
// monsters, reactors and keys, which the server finds. `/` goes there, arrows choose, Enter opens.

import { get } from './api.js';
import { define, fill, h, icon, square, uid } from './dom.js';
import { t } from './i18n.js';
import { go } from './router.js';

/** Order of the kinds in the list. */
const KINDS = [
  'page',
  'command',
  'room',
  'job',
  'type',
  'ship',
  'player',
  'monster',
  'reactor',
  'key',
  'pattern',
  'text',
];
export class Search extends HTMLElement {
  connectedCallback() {
    if (this.input) return;
    const id = uid('search');
    this.input = h('input', {
      type: 'search',
      role: 'combobox',
      'aria-expanded': 'false',
      'aria-controls': id,
      'aria-autocomplete': 'list',
      'aria-label': t('search.label'),
      placeholder: t('search.hint'),
      title: t('search.hint'),
      autocomplete: 'off',
      spellcheck: 'false',
      maxlength: '512',
    });
    this.list = h('div.menu', { id, role: 'listbox', 'aria-label': t('search.label'), hidden: true });
    this.append(
      h('label.search', {}, icon('search', { class: 's' }), this.input, h('kbd', { 'aria-hidden': 'true' }, '/')),
      this.list,
    );
    this.input.addEventListener('input', () => this.find());
    this.input.addEventListener('focus', () => this.find());
    this.input.addEventListener('blur', () =>
      setTimeout(() => document.activeElement !== this.input && this.show([]), 150),
    );
    this.input.addEventListener('keydown', (e) => this.onKey(e));
  }
  focus() {
    this.input?.focus();
    this.input?.select();
  }

  async find() {
    const typed = this.input.value.trim();
    clearTimeout(this.soon);
    if (!typed) {
      this.show([]);
      return;
    }
    // What this page knows is there at once; what the server finds comes after it.
    const { here, there } = await import('./find.js');
    const own = await here(typed);
    if (typed !== this.input.value.trim()) return;
    this.show([...own, ...there(typed, [])]);
    this.soon = setTimeout(async () => {
      const found = await get('/api/search', { query: { q: typed } }).catch(() => null);
      if (!found || typed !== this.input.value.trim()) return;
      const at = this.found[this.at];
      this.show([...own, ...there(typed, found.hits)], found.bounded);
      // The choice stays where it was, whatever came in between.
      const again = this.found.findIndex((one) => one.kind === at?.kind && one.label === at?.label);
      this.at = Math.max(0, this.moved ? again : 0);
      this.mark();
    }, 60);
  }

  show(found, bounded = false) {
    this.found = found.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
    this.at = 0;
    this.moved = false;
    this.list.hidden = !found.length;
    this.input.setAttribute('aria-expanded', String(!!found.length));
    const kinds = [...new Set(this.found.map((one) => one.kind))];
    fill(
      this.list,
      kinds.map((kind) =>
        h(
          'div',
          { role: 'group', 'aria-label': t(`search.kind.${kind}`) },
          h('div.kind', { 'aria-hidden': 'true' }, t(`search.kind.${kind}`)),
          this.found.flatMap((one, i) => (one.kind === kind ? [this.option(one, i)] : [])),
        ),
      ),
      bounded && h('div.foot', { role: 'presentation' }, t('search.bounded')),
    );
    this.mark();
  }

  option(one, i) {
    return h(
      'a',
      {
        role: 'option',
        id: `${this.list.id}-${i}`,
        href: one.href || '#',
        tabindex: '-1',
        title: one.label,
        on: {
          pointerdown: (e) => e.preventDefault(),
          click: (e) => {
            if (one.run) e.preventDefault();
            this.input.value = '';
            this.show([]);
            one.run?.();
          },
        },
      },
      one.module ? square(one.module) : icon(one.glyph || 'search', { class: 's' }),
      h('span.cut', { class: one.mono ? 'mono' : '' }, one.label),
      h('span.end', {}, one.end || ''),
    );
  }

  mark() {
    for (const el of this.list.querySelectorAll('[role=option]')) {
      const chosen = el.id === `${this.list.id}-${this.at}`;
      el.setAttribute('aria-selected', String(chosen));
      if (chosen) el.scrollIntoView({ block: 'nearest' });
    }
    if (this.found.length) this.input.setAttribute('aria-activedescendant', `${this.list.id}-${this.at}`);
    else this.input.removeAttribute('aria-activedescendant');
  }

  onKey(e) {
    if (e.key === 'Escape') {
      e.stopPropagation();
      if (this.found?.length) this.show([]);
      else this.input.blur();
      return;
    }
    if (!this.found?.length) return;
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault();
      this.moved = true;
      this.at = (this.at + (e.key === 'ArrowDown' ? 1 : -1) + this.found.length) % this.found.length;
      this.mark();
    } else if (e.key === 'Enter') {
      e.preventDefault();
      const { href, run } = this.found[this.at];
      this.input.value = '';
      this.show([]);
      this.input.blur();
      if (run) run();
      else go(href);
    }
  }
}
define('wk-search', Search);
