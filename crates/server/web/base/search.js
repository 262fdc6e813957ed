// The search field of the head: pages, key patterns and whole keys. `/` goes there, arrows choose, Enter opens.

import { nav } from '../pages/registry.js';
import { get } from './api.js';
import { define, fill, h, icon, square, uid } from './dom.js';
import { t } from './i18n.js';
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
    this.input.addEventListener('blur', () => setTimeout(() => this.show([]), 150));
    this.input.addEventListener('keydown', (e) => this.onKey(e));
  }
  focus() {
    this.input?.focus();
    this.input?.select();
  }

  async find() {
    const q = this.input.value.trim().toLowerCase();
    if (!q) {
      this.show([]);
      return;
    }
    const all = await known();
    if (q !== this.input.value.trim().toLowerCase()) return;
    const words = q.split(/\s+/);
    const hit = (s) => words.every((w) => s.toLowerCase().includes(w));
    /** @type {{label: string, href: string, end: string, glyph?: string, module?: string, mono?: boolean}[]} */
    const found = nav
      .filter((n) => hit(t(n.label)))
      .map((n) => ({ glyph: n.icon, label: t(n.label), href: n.path, end: t('search.page') }));
    const label = this.input.value.trim();
    const href = `/keys?key=${encodeURIComponent(label)}`;
    const whole = { glyph: 'keys', label, mono: true, href, end: t('search.key') };
    if (label.includes(':')) found.push(whole);
    for (const p of all.filter((x) => hit(`${x.pattern} ${x.says || ''}`)).slice(0, 7))
      found.push({
        module: p.module,
        label: p.pattern,
        mono: true,
        href: `/keys?pattern=${encodeURIComponent(p.name)}`,
        end: t('search.keys', { n: p.keys ?? 0 }),
      });
    if (!found.length) found.push(whole);
    this.show(found.slice(0, 9));
  }

  show(found) {
    this.found = found;
    this.at = 0;
    this.list.hidden = !found.length;
    this.input.setAttribute('aria-expanded', String(!!found.length));
    fill(
      this.list,
      found.map((f, i) =>
        h(
          'a',
          {
            role: 'option',
            id: `${this.list.id}-${i}`,
            href: f.href,
            tabindex: '-1',
            on: {
              pointerdown: (e) => e.preventDefault(),
              click: () => {
                this.input.value = '';
                this.show([]);
              },
            },
          },
          f.module ? square(f.module) : icon(f.glyph || 'search', { class: 's' }),
          h('span.cut', { class: f.mono ? 'mono' : '' }, f.label),
          h('span.end', {}, f.end),
        ),
      ),
    );
    this.mark();
  }

  mark() {
    for (const [i, el] of [...this.list.children].entries()) el.setAttribute('aria-selected', String(i === this.at));
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
      this.at = (this.at + (e.key === 'ArrowDown' ? 1 : -1) + this.found.length) % this.found.length;
      this.mark();
    } else if (e.key === 'Enter') {
      e.preventDefault();
      const { href } = this.found[this.at];
      this.input.value = '';
      this.show([]);
      this.input.blur();
      go(href);
    }
  }
}
define('wk-search', Search);
