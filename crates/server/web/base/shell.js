// The frame around every page: sidebar, rail, phone bar, head. Pages fill the head and the echo bar through their
// context and never touch the frame.

import { nav, phone, SECTIONS } from '../pages/registry.js';
import { help } from './bars.js';
import { add, fill, h, icon, logo, patch, text } from './dom.js';
import { age, num } from './format.js';
import { current, LANGS, t } from './i18n.js';
import * as keys from './keys.js';
import { closeDrawer, menu, sheet } from './overlay.js';
import { button, copyButton, copyText } from './parts.js';
import { go } from './router.js';
import { state } from './state.js';
import './search.js';

export class Shell {
  /** @type {HTMLElement} */ status;
  /** @type {import('./bars.js').Banner} */ banner;
  /** @type {string | null} */ navId = null;
  constructor(live) {
    this.live = live;
    this.root = document.getElementById('app');
  }

  build() {
    document.querySelector('.skip').textContent = t('skip');
    this.status ||= h('div.said', { role: 'status', id: 'wk-status' });
    this.sideNav = h('nav.nav', { 'aria-label': t('nav.main') });
    this.storeLine = h('a.store', { href: '/health' });
    this.roleLine = h('span.role');
    this.themeButton = h('button.copy', { type: 'button', on: { click: () => window.wkTheme.toggle() } });
    this.langButton = h(
      'button.copy',
      {
        type: 'button',
        'aria-haspopup': 'menu',
        'aria-label': `${current().toUpperCase()} · ${t('lang.choose')}`,
        title: t('lang.choose'),
        on: {
          click: () =>
            menu(
              this.langButton,
              Object.entries(LANGS).map(([code, name]) => ({
                label: name,
                on: code === current(),
                run: () => dispatchEvent(new CustomEvent('wk-lang', { detail: code })),
              })),
            ),
        },
      },
      h('span.note', {}, current().toUpperCase()),
    );
    const side = h(
      'aside.side',
      {},
      brand(),
      this.sideNav,
      h(
        'div.foot',
        {},
        this.storeLine,
        h(
          'div.who',
          {},
          this.roleLine,
          this.langButton,
          this.themeButton,
          h(
            'button.copy',
            { type: 'button', 'aria-label': t('help.title'), title: t('help.title'), on: { click: help } },
            icon('help'),
          ),
        ),
      ),
    );
    this.liveTop = this.liveButton();
    this.sheetSearch = h('wk-search');
    this.sheetSearch.classList.add('sheet');
    this.sheetSearch.hidden = true;
    const top = h(
      'header.topbar',
      {},
      brand(),
      this.liveTop,
      h(
        'button.copy',
        { type: 'button', 'aria-label': t('search.label'), on: { click: () => this.toggleSearch() } },
        icon('search'),
      ),
    );
    this.phoneNav = h('nav.phonebar', { 'aria-label': t('nav.main') });
    this.crumbs = h('div.crumbs');
    this.h1 = h('h1', { tabindex: '-1' });
    this.badges = h('span');
    this.sentence = h('p.sentence');
    this.actions = h('div.row.actions');
    this.liveHead = this.liveButton();
    this.search = h('wk-search');
    this.head = h(
      'div.head',
      {},
      h('div.say', {}, this.crumbs, h('div.row', {}, this.h1, this.badges), this.sentence),
      h('div.tools', {}, this.liveHead, this.search, this.actions),
    );
    this.banner ||= h('wk-banner').setup(this.live);
    this.view = h('div.view');
    this.echo = h('wk-echo');
    this.main = h('main.page', { id: 'main', tabindex: '-1' }, this.head, this.banner, this.view);
    fill(
      this.root,
      h(
        'div.frame',
        {},
        side,
        h('div.body', {}, top, h('div', { class: 'sheetsearch' }, this.sheetSearch), this.main, this.echo),
      ),
      this.phoneNav,
      this.status,
    );
    this.echo.set();
    this.drawTheme();
    this.drawSession();
    this.drawNav();
    this.drawLive();
  }

  /** Called once: what keeps the frame current. */
  follow() {
    addEventListener('wk-theme', () => this.drawTheme());
    addEventListener('wk-say', (e) => this.say(e.detail));
    addEventListener('wk-go', (e) => go(e.detail));
    for (const what of ['overview', 'fault', 'session'])
      state.addEventListener(what, () => {
        this.drawNav();
        this.drawSession();
      });
    for (const what of ['state', 'paused']) this.live.addEventListener(what, () => this.drawLive());
    keys.bind('/', 'keys.search', () => {
      (this.search.offsetParent ? this.search : this.toggleSearch()).focus();
    });
    keys.bind('?', 'keys.help', help);
    keys.bind('.', 'keys.pause', () => this.live.pause());
    keys.bind('y', 'keys.copy', async () => {
      if (this.echo.cli) {
        await copyText(this.echo.cli);
        this.say(t('copy.done'));
      }
    });
    keys.bind('Escape', 'keys.close', () => closeDrawer());
    keys.bind(
      'j',
      'keys.row.j',
      () =>
        this.view.querySelector('wk-table')?.focusRow() || this.view.querySelector('wk-feed')?.focusFirst?.() || false,
    );
    for (const item of nav) if (item.chord) keys.chord(item.chord, item.label, () => go(item.path));
  }

  toggleSearch() {
    this.sheetSearch.hidden = !this.sheetSearch.hidden;
    if (!this.sheetSearch.hidden) this.sheetSearch.focus();
    return this.sheetSearch;
  }

  liveButton() {
    return h(
      'button.livestate',
      { type: 'button', on: { click: () => this.live.pause() } },
      h('i.dot', { 'aria-hidden': 'true' }),
      h('span'),
    );
  }

  drawLive() {
    const word = this.live.paused
      ? 'paused'
      : { live: 'live', connecting: 'connecting', waiting: 'offline', off: 'offline' }[this.live.state];
    const tone = { live: 'ok', paused: 'warn', connecting: '', offline: 'bad' }[word];
    for (const el of [this.liveHead, this.liveTop]) {
      if (!el) continue;
      el.firstElementChild.className = `dot ${tone}`;
      text(el.lastChild, t(`live.${word}`));
      el.title = t(this.live.paused ? 'live.resume' : 'live.pause');
      el.setAttribute('aria-pressed', String(this.live.paused));
    }
  }

  drawTheme() {
    const dark = isDark();
    fill(this.themeButton, icon(dark ? 'sun' : 'moon'));
    this.themeButton.setAttribute('aria-label', t(dark ? 'theme.light' : 'theme.dark'));
    this.themeButton.title = t(dark ? 'theme.light' : 'theme.dark');
  }

  drawSession() {
    const role = state.session?.role;
    fill(
      this.roleLine,
      role && icon('user', { class: 's' }),
      h('span.cut', { title: role ? t(`role.${role}`) : '' }, role ? t(`role.${role}`) : ''),
      state.session?.login &&
        h(
          'button.copy',
          {
            type: 'button',
            'aria-label': t('login.leave'),
            title: t('login.leave'),
            on: { click: () => dispatchEvent(new CustomEvent('wk-logout')) },
          },
          icon('leave', { class: 's' }),
        ),
    );
    const store = state.overview?.store;
    const away = state.fault || store?.up === false;
    const tone = away || store?.refuses_writes ? 'bad' : !store ? '' : store.warnings?.length ? 'warn' : 'ok';
    const line = away
      ? state.overviewAt
        ? t('age.old', { age: age(state.ageMs) })
        : t('store.away')
      : store?.refuses_writes
        ? t('store.refuses')
        : storeNote(store);
    fill(
      this.storeLine,
      h('i.dot', { class: tone, 'aria-hidden': 'true' }),
      h('span', {}, store ? storeName(store) : t('store.unknown'), h('span.note', {}, line)),
    );
  }

  visible() {
    return nav.filter((n) => !n.module || state.running.some((m) => n.module.includes(m)));
  }

  drawNav() {
    const here = this.navId;
    const items = this.visible();
    const parts = SECTIONS.flatMap((section) => {
      const mine = items.filter((i) => i.section === section);
      return mine.length ? [section && { id: `s-${section}`, heading: section }, ...mine] : [];
    }).filter(Boolean);
    patch(
      this.sideNav,
      parts,
      (i) => i.id,
      (i) =>
        i.heading
          ? h('h2', {}, t(`nav.section.${i.heading}`))
          : h(
              'a',
              { href: i.path, title: t(i.label) },
              icon(i.icon),
              h('span.label', {}, t(i.label)),
              h('span.count'),
              h('span.pill', { hidden: true }),
            ),
      (el, i) => {
        if (!i.heading) this.drawItem(el, i, here);
      },
    );
    const bar = phone(items);
    patch(
      this.phoneNav,
      [...bar.shown, { id: 'more', more: true }],
      (i) => i.id,
      (i) =>
        i.more
          ? h(
              'button',
              { type: 'button', 'aria-haspopup': 'dialog', on: { click: () => this.moreSheet() } },
              h('span.glyph', {}, icon('more')),
              h('span.label', {}, t('nav.more')),
            )
          : h(
              'a',
              { href: i.path },
              h('span.glyph', {}, icon(i.icon), h('span.pill', { hidden: true })),
              h('span.label', {}, t(i.short || i.label)),
            ),
      (el, i) => {
        if (i.more)
          el.toggleAttribute(
            'data-here',
            bar.rest.some((r) => r.id === here),
          );
        else this.drawItem(el, i, here);
      },
    );
  }

  drawItem(el, item, here) {
    if (item.id === here) el.setAttribute('aria-current', 'page');
    else el.removeAttribute('aria-current');
    const count = state.overview && item.count?.(state.overview);
    const look = state.overview && item.look?.(state.overview);
    const pill = el.querySelector('.pill');
    pill.hidden = !look;
    if (look) {
      text(pill, num(look));
      pill.title = t('nav.look', { n: look });
    }
    const tail = el.querySelector('.count');
    if (tail) text(tail, !look && count != null ? num(count) : '');
  }

  moreSheet() {
    const { rest } = phone(this.visible());
    sheet({
      title: t('nav.more'),
      cls: 'sheet',
      content: h(
        'div.stack',
        {},
        h(
          'div.lines',
          {},
          rest.map((i) => h('a', { href: i.path }, icon(i.icon), t(i.label))),
        ),
        h(
          'div.lines',
          {},
          this.echo.cli &&
            h(
              'div',
              {},
              h('code', {}, `$ ${this.echo.cli}`),
              h('span.end', {}, copyButton(this.echo.cli, t('echo.command'))),
            ),
          this.echo.api &&
            h('div', {}, h('code', {}, this.echo.api), h('span.end', {}, copyButton(this.echo.api, t('echo.call')))),
        ),
        h(
          'div.row',
          {},
          button({
            label: t(isDark() ? 'theme.light' : 'theme.dark'),
            icon: isDark() ? 'sun' : 'moon',
            run: () => {
              window.wkTheme.toggle();
              closeDialog();
            },
          }),
          Object.entries(LANGS)
            .filter(([c]) => c !== current())
            .map(([code, name]) =>
              button({
                label: name,
                run: () => {
                  closeDialog();
                  dispatchEvent(new CustomEvent('wk-lang', { detail: code }));
                },
              }),
            ),
        ),
        h(
          'p.note',
          {},
          [state.session && t(`role.${state.session.role}`), state.overview?.store && storeName(state.overview.store)]
            .filter(Boolean)
            .join(' · '),
        ),
      ),
    });
  }

  /** Only given members change.
   *  @param {Wk.Head} head */
  setHead({ title, tab, sentence, crumbs, actions, badges }) {
    if (title !== undefined) {
      text(this.h1, title);
      document.title = `${tab || title} · Worldkeep`;
    }
    if (sentence !== undefined) fill(this.sentence, sentence);
    if (crumbs !== undefined)
      fill(
        this.crumbs,
        (crumbs || []).map((c, i) => [
          i > 0 && icon('right', { class: 's' }),
          c.href ? h('a.link', { href: c.href }, c.label) : h('span.mono', {}, c.label),
          c.copy && copyButton(c.copy, t('copy.id')),
        ]),
      );
    if (actions !== undefined) fill(this.actions, actions || []);
    if (badges !== undefined) fill(this.badges, badges || []);
  }

  /** Read out once, politely. */
  say(sentence) {
    this.status.textContent = '';
    requestAnimationFrame(() => {
      this.status.textContent = sentence;
    });
  }

  /** A digest at most every ten seconds, and only when it changed. */
  digest(sentence) {
    const now = Date.now();
    if (sentence === this.lastDigest || now - (this.digestAt || 0) < 10000) return;
    this.lastDigest = sentence;
    this.digestAt = now;
    this.say(sentence);
  }

  /** A page could not be drawn: the frame stays and says so. */
  broken(e, away) {
    this.setHead({
      title: t(away ? 'overview.unreachable' : 'error.page'),
      sentence: t(away ? 'error.pageaway' : 'error.pagesay'),
      crumbs: null,
      actions: null,
    });
    fill(
      this.view,
      h(
        'div.card',
        { role: 'alert' },
        h('p', {}, h('code', {}, e?.message || String(e))),
        h('p', {}, h('br'), button({ label: t('action.retry'), icon: 'loop', run: () => location.reload() })),
      ),
    );
  }

  clear() {
    add(fill(this.view), []);
  }
}

const brand = () => h('a.brand', { href: '/', 'aria-label': 'Worldkeep' }, logo(), h('span', {}, 'Worldkeep'));
const isDark = () => window.wkTheme.current() === 'dark';
const closeDialog = () => /** @type {HTMLDialogElement} */ (document.querySelector('dialog[open]'))?.close();

/** "Embedded engine", "Redis 7.0.15", "Valkey 9.1.2, Cluster".
 *  @param {Api.StoreStatus} store */
export function storeName(store) {
  if (store.kind === 'embedded') return t('store.embedded');
  const name = store.server ? store.server[0].toUpperCase() + store.server.slice(1) : 'Redis';
  return ['cluster', 'sentinel'].includes(store.kind)
    ? `${name}, ${store.kind[0].toUpperCase()}${store.kind.slice(1)}`
    : name;
}

/** How the data is kept, in the reader's language. */
/** @param {Api.StoreStatus} store */
function storeNote(store) {
  if (!store) return '';
  if (store.kind === 'embedded') return store.place === 'memory' ? t('store.memoryonly') : t('store.disk');
  return store.place;
}
