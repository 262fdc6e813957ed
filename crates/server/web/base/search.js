// The search field of the head: pages, commands and key patterns, which this page knows, and jobs, rooms, ships, players,
// monsters, reactors and keys, which the server finds. `/` goes there, arrows choose, Enter opens.

import { nav } from '../pages/registry.js';
import { get } from './api.js';
import { define, fill, h, icon, square, uid } from './dom.js';
import { t } from './i18n.js';
import * as keys from './keys.js';
import { go } from './router.js';

let patterns = null; // asked once per page load, on first use

/** Every known pattern, flat. */
async function known() {
  if (patterns) return patterns;
  try {
    const tree = await get('/api/keys');
    patterns = (tree.modules || []).flatMap((m) => (m.patterns || []).map((p) => ({ ...p, module: m.module })));
  } catch {
    return [];
  }
  return patterns;
}

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
/** Kinds whose label is an id. */
const MONO = ['job', 'key', 'room'];

/** @typedef {{kind: string, label: string, href?: string, run?: () => unknown, end?: string, glyph?: string,
 *    module?: string, mono?: boolean}} Found */

/** What this page knows: pages, commands, key patterns.
 *  @param {string} typed @returns {Promise<Found[]>} */
async function here(typed) {
  const all = await known();
  const words = typed.toLowerCase().split(/\s+/);
  const hit = (text) => words.every((w) => text.toLowerCase().includes(w));
  const pages = nav
    .filter((n) => hit(t(n.label)))
    .map((n) => ({ kind: 'page', glyph: n.icon, label: t(n.label), href: n.path, end: `g ${n.chord}` }));
  const commands = keys
    .list()
    .plain.filter((one) => one.label !== 'keys.close' && hit(t(one.label)))
    .map((one) => ({ kind: 'command', glyph: 'play', label: t(one.label), run: one.run, end: one.key }));
  const theme = window.wkTheme.current() === 'dark' ? 'theme.light' : 'theme.dark';
  if (hit(t(theme)))
    commands.push({ kind: 'command', glyph: 'moon', label: t(theme), run: () => window.wkTheme.toggle(), end: '' });
  const patterns = all.filter((x) => hit(`${x.pattern} ${x.says || ''}`)).slice(0, 5);
  return [
    ...pages,
    ...commands.slice(0, 4),
    ...patterns.map((p) => ({
      kind: 'pattern',
      module: p.module,
      label: p.pattern,
      mono: true,
      href: `/keys?pattern=${encodeURIComponent(p.name)}`,
      end: t('search.keys', { n: p.keys ?? 0 }),
    })),
  ];
}

/** What the server found, and two ways on that always work.
 *  @param {string} typed @param {Api.Hit[]} hits @returns {Found[]} */
function there(typed, hits) {
  const ways = [
    {
      kind: 'text',
      glyph: 'jobs',
      label: t('search.text', { text: typed }),
      href: `/jobs?text=${encodeURIComponent(typed)}`,
    },
  ];
  const key = {
    kind: 'key',
    glyph: 'keys',
    label: typed,
    mono: true,
    href: `/keys?key=${encodeURIComponent(typed)}`,
    end: t('search.key'),
  };
  const whole = typed.includes(':') && !hits.some((one) => one.kind === 'key' && one.label === typed);
  const found = hits.map((one) => ({
    kind: one.kind,
    module: one.module || undefined,
    glyph: 'keys',
    label: one.label,
    mono: MONO.includes(one.kind),
    href: one.link,
    end: one.note,
  }));
  return [...found, ...(whole ? [key] : []), ...ways];
}

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
