// What both pages start with: words, icons, live region, connection bar, and one screen at a time. A screen is a function
// of its context that gives `{el, update(state), leave()}`; it is kept while its name stays the same.
import { add, fill, h, icon, loadIcons, text } from '../base/dom.js';
import * as i18n from '../base/i18n.js';
import { button } from '../base/parts.js';

const { t } = i18n;
const LATE_MS = 1500; // a shorter loss is not worth a word

i18n.onlyWords((code) => import(`/lang/party.${code}.js`));

/** Words, then icons; a game without icons is still a game. */
export const start = () => Promise.all([i18n.use(i18n.preferred()), loadIcons().catch(() => null)]);

/** EN FR, the chosen one pressed. */
export function langs(changed) {
  return h(
    'div.langs',
    { role: 'group', 'aria-label': t('lang.label') },
    Object.entries(i18n.LANGS).map(([code, name]) =>
      h(
        'button',
        {
          type: 'button',
          lang: code,
          title: name,
          'aria-label': `${code.toUpperCase()} · ${name}`,
          'aria-pressed': String(i18n.current() === code),
          on: {
            click: async () => {
              if (i18n.current() === code) return;
              await i18n.use(code, true);
              changed();
            },
          },
        },
        code.toUpperCase(),
      ),
    ),
  );
}

/** A refusal as a sentence: the machine's word first, then its kind. */
export function sentence(p) {
  const reason = p?.details?.reason;
  for (const key of [`error.${p?.message}.${reason}`, `error.${p?.message}`, `error.${p?.error}`])
    if (i18n.has(key)) return t(key);
  return t('error.unknown');
}

/** Names as a list: "Pixel", "Pixel and Biscuit", "Pixel, Biscuit and Olive". */
export const listed = (names) =>
  new Intl.ListFormat(i18n.current(), { style: 'long', type: 'conjunction' }).format(names);

/** "1st", "2nd" / "1er", "2e". */
export function ordinal(n) {
  if (i18n.current() === 'fr') return [String(n), n === 1 ? 'er' : 'e'];
  const kind = new Intl.PluralRules('en', { type: 'ordinal' }).select(n);
  return [String(n), { one: 'st', two: 'nd', few: 'rd', other: 'th' }[kind]];
}

export const points = (n) => t('points', { n });

/** "reel 1 of 5", or that it is the round's only one, in a word for phones. */
export const reelWords = (index, total, short = false) =>
  total === 1
    ? t(short ? 'reel.single' : 'reel.only')
    : total
      ? t('reel.of', { n: index + 1, m: total })
      : t('reel.n', { n: index + 1 });

export class Stage {
  constructor(root, screens) {
    this.root = root;
    this.screens = screens;
    this.name = null;
    this.said = h('div.said', { role: 'status', 'aria-live': 'polite' });
    this.alerts = h('div.said', { role: 'alert' });
    this.bar = h('div.linkbar', { hidden: true });
    this.main = h('main#main', { tabindex: '-1' });
    add(root, [this.bar, this.main, this.said, this.alerts]);
    // What is fixed at the bottom needs a ground of its own only when something can slide under it.
    const page = document.documentElement;
    new ResizeObserver(() => {
      page.dataset.scrolls = String(page.scrollHeight > page.clientHeight + 2);
    }).observe(this.main);
  }

  /** Read out once. */
  say(words) {
    this.said.textContent = '';
    requestAnimationFrame(() => text(this.said, words));
  }

  /** Draws a screen, or tells the one that is up about the new state. `anew` draws it again, after a change of language. */
  show(name, ctx, state, anew = false) {
    if (name !== this.name || anew) {
      const first = this.name === null;
      this.screen?.leave?.();
      this.name = name;
      document.documentElement.dataset.screen = name;
      this.screen = this.screens[name](ctx);
      fill(this.main, this.screen.el);
      this.screen.update?.(state);
      if (!anew) scrollTo(0, 0);
      const title = this.main.querySelector('h1');
      if (title) {
        document.title = `${title.textContent} · ${t('game.name')}`;
        if (!anew) this.say(title.textContent);
        title.tabIndex = -1;
        if (!first && !anew && !this.main.contains(document.activeElement)) title.focus({ preventScroll: true });
      }
      return;
    }
    this.screen.update?.(state);
  }

  /** Shows how the line is: nothing when it is well, a bar when it is not, a word when it is back. */
  follow(client) {
    let timer;
    let late = false;
    const draw = () => {
      clearTimeout(timer);
      if (client.link === 'live') {
        if (late) this.back();
        else this.bar.hidden = true;
        late = false;
        return;
      }
      if (client.link === 'ended') {
        this.bar.hidden = true;
        return;
      }
      if (!late && client.state.phase) {
        timer = setTimeout(() => {
          late = true;
          draw();
        }, LATE_MS);
        return;
      }
      late = late || client.tries > 1;
      if (!late) return;
      this.bar.className = 'linkbar';
      this.bar.hidden = false;
      const waiting = client.wants('vote') ? t('link.kept') : t('link.away');
      if (this.bar.dataset.words !== waiting) {
        this.bar.dataset.words = waiting;
        fill(
          this.bar,
          h('i.spin', { 'aria-hidden': 'true' }),
          h('span', {}, waiting),
          button({ label: t('link.now'), run: () => client.nudge() }),
        );
        text(this.alerts, waiting);
      }
    };
    client.addEventListener('link', draw);
    client.addEventListener('intents', draw);
    draw();
  }

  back() {
    this.bar.className = 'linkbar back';
    this.bar.hidden = false;
    delete this.bar.dataset.words;
    fill(this.bar, icon('tick'), h('span', {}, t('link.back')));
    text(this.alerts, t('link.back'));
    setTimeout(() => {
      if (this.bar.classList.contains('back')) this.bar.hidden = true;
    }, 2500);
  }
}

/** A countdown to a server time: calls `tick(seconds left, share left)` while it runs. Gives a stop. */
export function countdown(client, endsAt, tick) {
  const whole = Math.max(1, endsAt - client.serverNow());
  let last = null;
  const step = () => {
    const left = Math.max(0, endsAt - client.serverNow());
    const seconds = Math.ceil(left / 1000);
    if (seconds !== last) tick(seconds, Math.min(1, left / Math.max(whole, 1)));
    last = seconds;
    if (left <= 0) clearInterval(timer);
  };
  const timer = setInterval(step, 200);
  step();
  return () => clearInterval(timer);
}

/** Copies a text; without permission (plain http) by way of a selection. */
export async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    const field = h('textarea.said', { readonly: true, 'aria-hidden': 'true' });
    field.value = words;
    document.body.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    return done;
  }
}

/** The socket of this server. */
export const socketUrl = () => `${location.protocol === 'https:' ? 'wss:' : 'ws:'}//${location.host}/ws/rooms`;
