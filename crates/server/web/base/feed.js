// The event feed: time, module square, one sentence with its objects as links. Newest on top; bursts of one type are
// grouped; paused means held, not lost.

import { learn, sentences } from '../pages/sentences.js';
import { define, fill, h, patch, square } from './dom.js';
import { shortId } from './format.js';
import { has, rich, t } from './i18n.js';
import { timeTag } from './parts.js';

const BURST = 20;

/** One sentence for an event: the module's own words if it gave some, else its id and type. */
export function sentence(e) {
  const own = sentences[e.module]?.(e);
  if (own) return own;
  const id = h('b.mono', { title: e.id }, shortId(e.id));
  const key = `event.${e.module}.${e.type}`;
  if (has(key)) return rich(key, { ...e.body, id });
  const word = String(e.type).replace(/[_.]/g, ' ');
  return e.id ? [h('b', { title: e.id }, shortId(e.id)), ' ', word] : [word];
}

/** More than twenty of one kind in one second become one line "×38". */
export function grouped(events) {
  const out = [];
  let run = [];
  const flush = () => {
    if (run.length > BURST) out.push({ ...run[0], key: `${run[run.length - 1].key} x`, times: run.length });
    else out.push(...run);
    run = [];
  };
  for (const e of events) {
    const head = run[0];
    if (
      head &&
      (head.module !== e.module || head.type !== e.type || Math.floor(head.at / 1000) !== Math.floor(e.at / 1000))
    )
      flush();
    run.push(e);
  }
  flush();
  return out;
}

export class Feed extends HTMLElement {
  /** `setup({live, limit, full, filter(e), open(e), empty()})`: follows the socket's tail until removed. */
  setup(o) {
    this.o = o;
    this.list = h('ol.feed', { class: o.full ? 'full' : '', 'aria-label': t('events.title') });
    this.none = h('div');
    this.replaceChildren(this.list, this.none);
    this.follow = () => {
      if (!o.live.paused) this.draw();
    };
    this.connectedCallback();
    return this;
  }
  // Moving the feed within a page disconnects and connects it again.
  connectedCallback() {
    if (!this.o || !this.isConnected) return;
    this.o.live.addEventListener('events', this.follow);
    this.o.live.addEventListener('paused', this.follow);
    this.draw();
  }
  disconnectedCallback() {
    this.o?.live.removeEventListener('events', this.follow);
    this.o?.live.removeEventListener('paused', this.follow);
  }

  draw() {
    const { live, filter, limit = 50 } = this.o;
    const all = (this.o.events ? this.o.events() : live.events)
      .filter((e) => !filter || filter(e))
      .sort((a, b) => b.at - a.at || (a.key < b.key ? 1 : -1));
    const rows = grouped(all.slice(0, limit * 40)).slice(0, limit);
    this.count = all.length;
    learn(all);
    patch(
      this.list,
      rows,
      (e) => e.key,
      (e) => this.row(e),
    );
    fill(this.none, rows.length ? null : this.o.empty?.());
    this.dispatchEvent(new CustomEvent('drawn', { detail: all.length }));
  }

  row(e) {
    const li = h(
      'li',
      this.o.open
        ? {
            tabindex: '0',
            on: {
              click: (x) => {
                if (!x.target.closest('a')) this.o.open(e, li);
              },
              keydown: (x) => this.onKey(x, e, li),
            },
          }
        : {},
      timeTag(e.at),
      square(e.module),
      h('span.say', {}, sentence(e), e.times && h('span.dim', {}, ` ×${e.times}`)),
      this.o.full && h('span.note.scope', {}, [t(`module.${e.module}`), e.scope].filter(Boolean).join(' · ')),
    );
    li.querySelector('.say').title = li.querySelector('.say').textContent;
    return li;
  }

  onKey(x, e, li) {
    const to = {
      j: li.nextElementSibling,
      ArrowDown: li.nextElementSibling,
      k: li.previousElementSibling,
      ArrowUp: li.previousElementSibling,
    }[x.key];
    if (to) {
      x.preventDefault();
      to.focus();
    } else if (x.key === 'Enter') {
      x.preventDefault();
      this.o.open(e, li);
    }
  }

  focusFirst() {
    const li = this.list.querySelector('li[tabindex]');
    li?.focus();
    return !!li;
  }
}
define('wk-feed', Feed);
