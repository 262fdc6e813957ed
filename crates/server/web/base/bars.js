// What the frame says by itself: the connection banner under the title, the echo bar at the foot, the list of keys.
import { define, fill, h, icon } from './dom.js';
import { when } from './format.js';
import { t } from './i18n.js';
import * as keys from './keys.js';
import { sheet } from './overlay.js';
import { button, copyButton } from './parts.js';
import { state } from './state.js';

const LATE_MS = 3000;
const BACK_MS = 3000;

/** Full-width line under the title: late (amber), store away (red), back (green for three seconds). */
export class Banner extends HTMLElement {
  setup(live) {
    this.live = live;
    this.setAttribute('role', 'alert');
    live.addEventListener('state', () => this.draw());
    live.addEventListener('back', (e) => this.back(e.detail));
    state.addEventListener('fault', () => this.draw());
    state.addEventListener('overview', () => this.draw());
    this.timer = setInterval(() => {
      if (this.shown || live.lostAt != null) this.draw();
    }, 500);
    return this;
  }
  back({ gaps }) {
    if (!this.wasLate) return;
    this.wasLate = false;
    this.greenUntil = Date.now() + BACK_MS;
    this.green = gaps.length ? t('banner.backgap', { n: gaps.length }) : t('banner.back');
    this.draw();
  }
  draw() {
    const late = this.live.lostAt != null && Date.now() - this.live.lostAt > LATE_MS;
    const { storeAway } = state;
    const from = state.overviewAt ? when(state.overviewAt) : null;
    if (late) this.wasLate = true;
    if (storeAway)
      this.put(
        'bad',
        'warn',
        from ? t('banner.away', { at: from }) : t('banner.awaynever'),
        [],
        h('a.btn.small', { href: '/health' }, t('nav.health')),
      );
    else if (late) {
      const wait = Math.max(0, Math.ceil(((this.live.retryAt || 0) - Date.now()) / 1000));
      this.put(
        '',
        'clock',
        wait ? t('banner.late') : t('banner.trying'),
        wait ? [' ', h('span', { 'aria-hidden': 'true' }, t('banner.again', { n: wait }))] : [],
        button({ label: t('banner.now'), small: true, run: () => this.live.now() }),
      );
    } else if (this.greenUntil > Date.now()) this.put('ok', 'tick', this.green, []);
    else {
      this.shown = null;
      this.replaceChildren();
    }
  }
  // The box stays while its meaning stays, so that an alert is read once and a button keeps its focus.
  put(tone, glyph, sentence, more, act) {
    if (this.shown !== tone + glyph) {
      this.shown = tone + glyph;
      this.words = h('span.text');
      fill(this, h('div.banner', { class: tone }, icon(glyph), this.words, act));
    }
    const want = sentence + more.map((m) => m.textContent || m).join('');
    if (this.words.textContent !== want) fill(this.words, sentence, more);
  }
}
define('wk-banner', Banner);

/** `$ worldkeep …` and `GET /api/…` of this very view. Never holds tokens. */
export class Echo extends HTMLElement {
  /** @param {{cli?: string, api?: string}} [o] */
  set({ cli, api } = {}) {
    this.cli = cli;
    this.api = api;
    this.setAttribute('role', 'contentinfo');
    this.setAttribute('aria-label', t('echo.label'));
    fill(
      this,
      cli &&
        h(
          'span.line.cli',
          {},
          h('span.dollar', { 'aria-hidden': 'true' }, '$'),
          h('code', { title: cli }, cli),
          copyButton(cli, t('echo.command')),
        ),
      api && h('span.line', {}, h('code', { title: api }, api), copyButton(api, t('echo.call'))),
      h('button.keys', { type: 'button', on: { click: help } }, h('kbd', {}, '?'), t('echo.allkeys')),
    );
  }
}
define('wk-echo', Echo);

/** The `?` sheet, with the switch for single letters. */
export function help() {
  if (document.querySelector('dialog[open]')) return;
  const { plain, chords } = keys.list();
  const box = h('input.tick', {
    type: 'checkbox',
    id: 'wk-letters',
    on: { change: () => keys.setLetters(box.checked) },
  });
  box.checked = keys.state.letters;
  const line = (combo, label) =>
    h(
      'div',
      {},
      h(
        'dt',
        {},
        combo.map((k) => h('kbd', {}, k)),
      ),
      h('dd', {}, t(label)),
    );
  sheet({
    title: t('help.title'),
    wide: true,
    content: h(
      'div.stack',
      {},
      h(
        'dl.keymap',
        {},
        plain.map((b) => line([b.key === 'Escape' ? 'Esc' : b.key], b.label)),
        ['k', 'x', 'Enter'].map((k) => line([k], `keys.row.${k}`)),
        chords.map((c) => line(['g', c.key], c.label)),
      ),
      h('label.row', { for: 'wk-letters' }, box, t('help.letters')),
    ),
  });
}
