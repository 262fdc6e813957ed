// Parts the big screen's screens share: the bar with the code and the menu, take-over, closing the room, player rows.
import { fill, h, icon, s, text } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { ask, menu, sheet } from '../../base/overlay.js';
import { button } from '../../base/parts.js';
import { showCode } from '../kept.js';
import { path } from '../qr.js';
import { copy, langs, reelWords } from '../shell.js';
import { hasSound, setSound } from '../sound.js';
import { rulesSheet } from './rules.js';

const HOUR = 3600000;

/** A QR code as an image with a name. */
export function qr(link, label) {
  const { d, size } = path(link);
  return s('svg', { class: 'qr', viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': label }, s('path', { d }));
}

/** The address phones open: it holds the room's code. */
export const joinUrl = (ctx) => ctx.facts().join_url || `${location.origin}/r/${ctx.client.code}`;

/** The party's own pages begin here, wherever a proxy put them. */
const baseUrl = (ctx) => joinUrl(ctx).replace(/\/r\/[^/]*$/, '');

/** What a guest types who cannot scan: the page that asks for the code. The bare host is the operators' login. */
export const typedUrl = (ctx) => `${baseUrl(ctx)}/play`.replace(/^https?:\/\//, '');

/** Top of every screen with a room: at the left what is going on, at the right code, language and the rest.
 *  @param {any} ctx @param {{left?: Wk.Child, code?: boolean, takeover?: boolean}} [o] */
export function top(ctx, { left, code = true, takeover = false } = {}) {
  const ends = h('span.pill.ends', { hidden: true });
  const more = button({ icon: 'more', title: t('menu.more'), run: () => openMenu(ctx, more) });
  const el = h(
    'header.top',
    {},
    h('div.left', {}, left),
    h(
      'div.right',
      {},
      ends,
      takeover && button({ label: t('menu.takeover'), icon: 'link', small: true, run: () => takeOver(ctx) }),
      code && h('span.pill.codepill.num', { title: t('lobby.code') }, showCode(ctx.client.code)),
      langs(() => ctx.redraw()),
      more,
    ),
  );
  const tick = () => {
    const left = ctx.client ? (ctx.client.state.expires_at ?? Infinity) - ctx.client.serverNow() : Infinity;
    ends.hidden = left > HOUR;
    if (left <= HOUR) text(ends, t('room.ends', { n: Math.max(1, Math.ceil(left / 60000)) }));
  };
  tick();
  const timer = setInterval(tick, 10000);
  return { el, stop: () => clearInterval(timer) };
}

function openMenu(ctx, anchor) {
  menu(anchor, [
    { label: t('menu.takeover'), icon: 'link', run: () => takeOver(ctx) },
    ...(ctx.client.state.phase === 'over'
      ? []
      : [{ label: t('rules.title'), icon: 'clock', run: () => rulesSheet(ctx) }]),
    {
      label: t(hasSound() ? 'menu.quiet' : 'menu.sound'),
      icon: hasSound() ? 'off' : 'play',
      run: () => setSound(!hasSound()),
    },
    {
      label: t('menu.look'),
      icon: document.documentElement.dataset.look === 'day' ? 'moon' : 'sun',
      run: () => window.wkLook.toggle(),
    },
    ...(document.fullscreenEnabled
      ? [
          {
            label: t(document.fullscreenElement ? 'menu.window' : 'menu.full'),
            icon: 'open',
            run: () =>
              document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen(),
          },
        ]
      : []),
    { label: t('menu.home'), icon: 'leave', run: () => ctx.go('home') },
    { label: t('menu.close'), icon: 'trash', run: () => closeRoom(ctx) },
  ]);
}

/** A second screen gets the key by a link whose fragment no server sees. */
export function takeOver(ctx) {
  const link = `${baseUrl(ctx)}/party#take=${ctx.client.code}.${ctx.client.masterKey}`;
  const copied = h('span', { role: 'status' });
  sheet({
    title: t('takeover.title'),
    content: h(
      'div.takeover',
      {},
      h('p.quiet', {}, t('takeover.say')),
      h('div.paper', {}, qr(link, t('takeover.qr'))),
      h(
        'div.buttons',
        {},
        copied,
        button({
          label: t('takeover.copy'),
          icon: 'copy',
          run: async () => text(copied, t((await copy(link)) ? 'copy.done' : 'copy.failed')),
        }),
      ),
    ),
  });
}

export function closeRoom(ctx) {
  return ask({
    title: t('close.title', { code: showCode(ctx.client.code) }),
    say: t('close.say'),
    verb: t('close.verb'),
    keep: t('close.keep'),
    run: () => ctx.command('ROOM_CLOSED', {}, (s) => !s.gone).done,
  });
}

/** "Round 3 of 5", a dot per reel, "reel 1 of 5"; a round with a single reel is called that. */
export function progress(state) {
  const g = state.game;
  const total = g.items_total;
  const round =
    g.round_index == null
      ? t('round.word')
      : g.rounds_total
        ? t('round.of', { n: g.round_index + 1, m: g.rounds_total })
        : t('round.n', { n: g.round_index + 1 });
  const at = g.item_index ?? 0;
  const dots =
    total > 1 && total <= 16
      ? h(
          'span.dots',
          { 'aria-hidden': 'true' },
          Array.from({ length: total }, (_, i) => h('i', { class: i === at ? 'now' : i < at ? 'done' : '' })),
        )
      : null;
  return [h('span.pill', {}, round), dots, g.item && h('span.quiet.num', {}, reelWords(at, total))];
}

/** Bottom of a screen: a sentence at one side, the action at the other. */
export const bottom = (say, ...actions) => h('footer.bottom', {}, h('div.say', {}, say), h('div.actions', {}, actions));

/** A status with its icon, never colour alone. */
export function status(el, kind) {
  const [glyph, cls] = {
    here: ['tick', 'good'],
    away: ['clock', 'quiet'],
    free: ['user', 'note'],
    off: ['off', 'quiet'],
  }[kind];
  if (el.dataset.kind === kind) return;
  el.dataset.kind = kind;
  el.className = `status ${cls}`;
  fill(el, icon(glyph), t(`seat.is.${kind}`));
}

export const seatKind = (state, p) =>
  !p.active ? 'off' : p.status !== 'taken' ? 'free' : state.online.includes(p.player_id) ? 'here' : 'away';
