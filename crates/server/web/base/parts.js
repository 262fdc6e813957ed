// Small parts every page uses: button, badge, live number, tile, empty state, skeleton, field, copy, age.
import { define, fill, h, icon, square, text, uid } from './dom.js';
import { age, num, when, whenLong } from './format.js';
import { current, t } from './i18n.js';
import { declared, said, sentence } from './said.js';

/** `button({label, icon, kind: 'primary'|'plain'|'quiet'|'danger', run, reason})`. Busy while `run` runs; a reason switches it off and is read with it.
 *  @param {Wk.ButtonOptions} o */
export function button({ label, icon: glyph, kind = 'plain', run, reason, small, full, title, attrs }) {
  const el = h('button.btn', {
    type: 'button',
    class: [kind === 'plain' ? '' : kind, small && 'small', full && 'full', !label && 'round']
      .filter(Boolean)
      .join(' '),
    title: title || reason || null,
    'aria-label': label ? null : title,
    ...attrs,
  });
  const draw = () => fill(el, glyph && icon(glyph, { class: 's' }), label);
  draw();
  if (reason) el.setAttribute('aria-disabled', 'true');
  el.addEventListener('click', async (e) => {
    if (el.getAttribute('aria-disabled') === 'true' || el.getAttribute('aria-busy') === 'true' || !run) return;
    const out = run(e);
    if (!(out instanceof Promise)) return;
    el.style.minWidth = `${el.offsetWidth}px`;
    el.setAttribute('aria-busy', 'true');
    const slow = setTimeout(() => {
      // Waiting for somebody's answer in a dialog is no work.
      const asking = document.querySelector('dialog[open]');
      if (!asking || asking.contains(el)) fill(el, h('i.spin', { 'aria-hidden': 'true' }), label && t('state.running'));
    }, 120);
    try {
      await out;
    } catch (err) {
      console.error(err);
    } finally {
      clearTimeout(slow);
      el.removeAttribute('aria-busy');
      el.style.minWidth = '';
      draw();
    }
  });
  return el;
}

const BADGES = {
  waiting: ['', 'clock'],
  active: ['info', 'play'],
  delayed: ['', 'calendar'],
  cron: ['accent', 'loop'],
  completed: ['ok', 'tick'],
  failed: ['bad', 'cross'],
  dead: ['bad', 'skull'],
  paused: ['warn', 'pause'],
  ok: ['ok', 'tick'],
  warn: ['warn', 'warn'],
  bad: ['bad', 'cross'],
  info: ['info', 'info'],
  idle: ['', 'clock'],
  locked: ['', 'lock'],
};

/** Icon and word on a soft colour: never colour alone. */
export function badge(kind, word) {
  const [tone, glyph] = BADGES[kind] || ['', 'info'];
  return h('span.badge', { class: tone }, icon(glyph), word ?? t(`badge.${kind}`));
}

/** A number that changes in place. `set(value, {unit, change})`; marks a change at most once per second. */
export class LiveNumber extends HTMLElement {
  connectedCallback() {
    this.build();
  }
  build() {
    if (this.value_) return;
    this.value_ = h('span.value', {}, '–');
    this.unit_ = h('span.unit');
    this.change_ = h('span.change');
    this.append(this.value_, this.unit_, this.change_);
    this.format = this.format || ((v) => num(v));
  }
  /** @param {number | null} value @param {{unit?: string, change?: number | null}} [o] */
  set(value, { unit, change } = {}) {
    this.build();
    const shown = value == null ? '–' : this.format(value);
    if (shown !== this.value_.textContent) {
      const first = this.value_.textContent === '–';
      text(this.value_, shown);
      const now = Date.now();
      if (!first && now - (this.moved || 0) > 1000) {
        this.moved = now;
        this.value_.classList.remove('moved');
        void this.value_.offsetWidth;
        this.value_.classList.add('moved');
      }
    }
    if (unit !== undefined) text(this.unit_, unit);
    if (change === undefined) return;
    if (change == null || change === 0) {
      this.change_.replaceChildren();
      return;
    }
    fill(
      this.change_,
      h('span', { 'aria-hidden': 'true' }, change > 0 ? '▲ ' : '▼ '),
      h('span.said', {}, t(change > 0 ? 'change.up' : 'change.down')),
      num(Math.abs(Math.round(change * 100))),
      '\u202f%',
    );
  }
}
define('wk-number', LiveNumber);

/** A card that is a link: square, name, number, unit, one line, sparkline to the edges. */
export class Tile extends HTMLElement {
  build() {
    if (this.card) return;
    this.classList.add('tilebox');
    this.mark = square();
    this.name_ = h('span.cut');
    this.aside = h('span.aside');
    this.number = h('wk-number');
    this.line = h('span.line');
    this.spark = h('wk-spark');
    const top = h('span.top', {}, this.mark, this.name_, this.aside);
    this.card = h('a.card.tile', {}, top, this.number, this.line, this.spark);
    this.append(this.card);
  }
  /** @param {Wk.TileOptions} o */
  set({ href, module, name, value, unit, line, aside, points, staleMs }) {
    this.build();
    if (href) this.card.setAttribute('href', href);
    this.mark.className = `square ${module ? `m-${module}` : ''}`;
    text(this.name_, name);
    this.name_.title = name || '';
    this.number.set(value, { unit });
    text(this.line, line || '');
    this.line.title = line || '';
    this.card.classList.toggle('stale', staleMs > 3000);
    fill(this.aside, staleMs > 3000 ? badge('idle', t('age.old', { age: age(staleMs) })) : aside || null);
    if (module) this.spark.className = `m-${module}`;
    this.spark.hidden = !points;
    if (points) this.spark.set(points);
  }
}
define('wk-tile', Tile);

/** Icon, title, one sentence, one action, the command: why there is nothing, and the next step.
 *  @param {Wk.EmptyOptions} o */
export function empty({ glyph = 'info', title, say, action, command }) {
  return h(
    'div.empty',
    {},
    h('span.glyph', {}, icon(glyph)),
    h('h2', {}, title),
    say && h('p', {}, say),
    action,
    command && h('code.cmd', {}, command),
  );
}

/** Boxes of about the final size; after five seconds it says so. */
export function skeleton(lines = 6) {
  const box = h(
    'div.skeleton',
    { 'aria-busy': 'true' },
    Array.from({ length: lines }, () => h('i')),
    h('span.said', {}, t('state.loading')),
  );
  setTimeout(() => {
    if (box.isConnected) box.append(h('p.note', { role: 'status' }, t('state.still')));
  }, 5000);
  return box;
}

/** Label above, hint below, error instead of the hint. Checked on leaving, not on typing. */
export class Field extends HTMLElement {
  /** @param {Wk.FieldOptions} o */
  setup({ label, hint = '', type = 'text', value = '', check, attrs = {} }) {
    const id = uid('field');
    this.hint = hint;
    this.check = check;
    this.classList.add('field');
    this.input = h('input', { id, type, 'aria-describedby': `${id}-hint`, ...attrs });
    this.input.value = value;
    this.note = h('span.hint', { id: `${id}-hint` }, hint);
    this.append(h('label', { for: id }, label), this.input, this.note);
    this.input.addEventListener('blur', () => {
      if (this.input.value) this.valid();
    });
    this.input.addEventListener('input', () => {
      if (this.classList.contains('wrong')) this.valid();
    });
    return this;
  }
  get value() {
    return this.input.value;
  }
  valid() {
    const wrong = this.check?.(this.input.value) || null;
    this.error(wrong);
    return !wrong;
  }
  error(sentence) {
    this.classList.toggle('wrong', !!sentence);
    this.input.setAttribute('aria-invalid', sentence ? 'true' : 'false');
    fill(this.note, sentence ? [icon('warn', { class: 's' }), sentence] : this.hint);
  }
}
define('wk-field', Field);
/** @param {Wk.FieldOptions} opts */
export const field = (opts) => h('wk-field').setup(opts);

/** Copies and says so; falls back to a selection where the clipboard is not allowed. */
export async function copyText(value) {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    /* no permission: the old way */
  }
  const area = h('textarea.said', { 'aria-hidden': 'true' });
  area.value = value;
  document.body.append(area);
  area.select();
  const done = document.execCommand?.('copy');
  area.remove();
  return !!done;
}

export function copyButton(value, what) {
  const el = h(
    'button.copy',
    { type: 'button', 'aria-label': t('copy.what', { what }), title: t('copy.what', { what }) },
    icon('copy', { class: 's' }),
  );
  el.addEventListener('click', async (e) => {
    e.stopPropagation();
    const ok = await copyText(typeof value === 'function' ? value() : value);
    fill(el, icon(ok ? 'tick' : 'cross', { class: 's' }));
    dispatchEvent(new CustomEvent('wk-say', { detail: t(ok ? 'copy.done' : 'copy.failed') }));
    setTimeout(() => fill(el, icon('copy', { class: 's' })), 1500);
  });
  return el;
}

/** A time with UTC and local in its title. */
export const timeTag = (at) =>
  h(
    'time',
    { datetime: Number.isFinite(Number(at)) ? new Date(Number(at)).toISOString() : null, title: whenLong(at) },
    when(at),
  );

/** Sentence, and code with request id behind "Details", as errors are shown where they happened. */
export function errorBox(err, retry) {
  const sentence = err.status === 0 ? t(err.code === 'timeout' ? 'error.timeout' : 'error.unreachable') : sayError(err);
  return h(
    'div.card',
    { role: 'alert' },
    h(
      'div.healthy.bad',
      {},
      icon('warn'),
      h(
        'div',
        {},
        h('b', {}, sentence),
        h(
          'details.more2',
          {},
          h('summary', {}, t('error.details')),
          h('code', {}, `${err.code} · ${err.status || '–'}${err.requestId ? ` · ${err.requestId}` : ''}`),
          current() !== 'en' && err.status > 0 && h('p.note', { lang: 'en' }, err.message),
        ),
      ),
    ),
    retry && h('p', {}, h('br'), button({ label: t('action.retry'), icon: 'loop', run: retry })),
  );
}

/** The server's sentence starts lower case and has no full stop; on a page it is a sentence. In English it names what is
 *  wrong; other languages say what its code means, with the field, and have the server's words under "Details". */
export function sayError(err) {
  const own = String(err.message || err.code || '');
  const told = err.details?.said ? said({ sentence: own, said: err.details.said }) : null;
  const code = String(err.word ?? err.code ?? '').toLowerCase();
  const meant = current() === 'en' ? own : told || declared(`error.${code}`, own);
  return sentence(meant + (meant !== own && err.field && !told ? ` (${err.field})` : '')) || t('error.unknown');
}
