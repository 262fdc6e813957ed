// Before the game: the code and its QR, everyone's seat, and why it cannot start yet.
import { fill, h, icon, patch, text, uid } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { ask, menu } from '../../base/overlay.js';
import { button } from '../../base/parts.js';
import { cleanName } from '../importer.js';
import { showCode } from '../kept.js';
import { mark, ofPlayer } from '../marks.js';
import { playerOf, startBlocked } from '../room-state.js';
import { copy, listed, sentence } from '../shell.js';
import { bottom, joinUrl, qr, seatKind, status, top, typedUrl } from './frame.js';
import { rulesSheet } from './rules.js';

const LONG_NAME = 9; // characters that a third of the width holds

export function lobby(ctx) {
  const link = joinUrl(ctx);
  const { rounds, reels } = ctx.facts();
  const bar = top(ctx, {
    takeover: true,
    code: false,
    left: [
      h('span.name', {}, t('game.name')),
      rounds && h('span.pill.num', {}, `${t('rounds', { n: rounds })} · ${t('reels', { n: reels })}`),
    ],
  });
  const title = h('h1');
  const grid = h('ul.seatgrid');
  const why = h('b');
  const way = h('p.quiet');
  const begin = button({
    label: t('lobby.start'),
    kind: 'primary',
    run: () => {
      ctx.command('START_GAME', {}, (s) => s.phase === 'lobby');
    },
  });
  const local = /^(localhost|127\.|\[::1\])/.test(new URL(link).hostname);
  const copied = h('span.said', { role: 'status' });
  const copyLink = button({
    label: t('lobby.copy'),
    icon: 'copy',
    kind: 'outline',
    run: async () => {
      const done = await copy(link);
      text(copied, t(done ? 'copy.done' : 'copy.failed'));
      copyLink.lastChild.textContent = t(done ? 'copy.done' : 'copy.failed');
      setTimeout(() => {
        copyLink.lastChild.textContent = t('lobby.copy');
      }, 2500);
    },
  });
  const code = showCode(ctx.client.code);
  const [a, b] = code.split('-');
  const el = h(
    'div.lobby',
    {},
    bar.el,
    h(
      'div.columns',
      {},
      h(
        'section.card.invite',
        { 'aria-label': t('lobby.invite') },
        h('p.scan', {}, t('lobby.scan'), ' ', h('b', {}, typedUrl(ctx))),
        h('div.paper', {}, qr(link, t('lobby.qr', { code }))),
        h('p.quiet', {}, t('lobby.type')),
        h(
          'p.bigcode',
          { 'aria-label': [...code].join(' ') },
          h('span', {}, a),
          b && h('i', { 'aria-hidden': 'true' }, '-'),
          b && h('span', {}, b),
        ),
        copyLink,
        copied,
        local && h('p.note.local', {}, icon('warn'), t('lobby.local')),
      ),
      h(
        'section.people',
        {},
        h(
          'div.headline',
          {},
          title,
          h(
            'div.tools',
            {},
            button({ label: t('lobby.add'), icon: 'plus', run: () => addPlayer(ctx) }),
            button({ label: t('lobby.freeAll'), run: () => freeAll(ctx) }),
            button({ label: t('rules.title'), icon: 'clock', run: () => rulesSheet(ctx) }),
          ),
        ),
        grid,
      ),
    ),
    bottom([why, way], begin),
  );
  return {
    el,
    leave: bar.stop,
    update(state) {
      const active = state.players.filter((p) => p.active);
      const taken = active.filter((p) => p.status === 'taken');
      text(title, t('lobby.in', { n: taken.length, m: active.length }));
      patch(
        grid,
        state.players,
        (p) => p.player_id,
        () => seat(ctx),
        (li, p) => drawSeat(li, state, p),
      );
      grid.classList.toggle('dense', state.players.length > 12);
      grid.classList.toggle(
        'wide',
        state.players.some((p) => [...p.name].length > LONG_NAME),
      );
      const stop = startBlocked(state);
      const starting = ctx.client.wants('START_GAME.');
      begin.setAttribute('aria-disabled', String(!!stop || !!starting));
      begin.classList.toggle('pulse', !stop && !starting);
      if (!stop) {
        text(why, t('lobby.ready'));
        text(way, t('lobby.readySay'));
      } else if (stop.word === 'few') {
        text(why, t('lobby.few'));
        text(way, t('lobby.fewSay'));
      } else {
        const names = stop.players.map((p) => p.name);
        const shown = names.length > 6 ? [...names.slice(0, 5), t('lobby.others', { n: names.length - 5 })] : names;
        text(why, t('lobby.free', { n: names.length, who: listed(shown) }));
        text(way, t('lobby.freeSay'));
      }
    },
    refused(p) {
      if (p.intent?.type === 'ADD_PLAYER') return true;
      if (p.message !== 'unclaimed_players' && p.message !== 'not_enough_players') return false;
      text(way, sentence(p));
      return true;
    },
  };
}

function seat(ctx) {
  const parts = {
    mark: mark({ id: 'p1', name: '' }, 'l'),
    dot: h('i.online', { 'aria-hidden': 'true' }),
    name: h('b.cut'),
    status: h('span'),
  };
  const more = button({
    icon: 'more',
    kind: 'quiet',
    title: t('seat.more'),
    run: () => seatMenu(ctx, li.player, more),
  });
  const li = h(
    'li.card.seat',
    {},
    h('span.face', {}, parts.mark, parts.dot),
    h('div.who', {}, parts.name, parts.status),
    more,
  );
  li.parts = parts;
  li.more = more;
  return li;
}

function drawSeat(li, state, p) {
  const kind = seatKind(state, p);
  li.player = p;
  li.parts.mark.set(ofPlayer(p, { off: kind === 'free' || kind === 'off' }));
  li.parts.mark.classList.add('l');
  text(li.parts.name, p.name);
  li.parts.name.title = p.name;
  li.more.setAttribute('aria-label', t('seat.moreOf', { name: p.name }));
  status(li.parts.status, kind);
  for (const k of ['here', 'away', 'free', 'off']) li.classList.toggle(k, k === kind);
}

function seatMenu(ctx, p, anchor) {
  const now = () => playerOf(ctx.client.state, p.player_id);
  const manual = !p.is_sender_bound;
  menu(anchor, [
    p.active
      ? {
          label: t('seat.turnOff'),
          icon: 'off',
          run: () =>
            ctx.command(
              'TOGGLE_PLAYER',
              { player_id: p.player_id, active: false },
              (s) => playerOf(s, p.player_id)?.active !== false,
            ),
        }
      : {
          label: t('seat.turnOn'),
          icon: 'tick',
          run: () =>
            ctx.command(
              'TOGGLE_PLAYER',
              { player_id: p.player_id, active: true },
              (s) => playerOf(s, p.player_id)?.active !== true,
            ),
        },
    ...(now()?.status === 'taken' ? [{ label: t('seat.free_it'), icon: 'user', run: () => freeSeat(ctx, p) }] : []),
    ...(manual
      ? [
          {
            label: t('seat.delete'),
            icon: 'trash',
            run: () => ctx.command('DELETE_PLAYER', { player_id: p.player_id }, (s) => !!playerOf(s, p.player_id)),
          },
        ]
      : []),
  ]);
}

/** Gives a lost phone's seat to whoever takes it next; also during the game. */
export const freeSeat = (ctx, p) =>
  ctx.command('FREE_PLAYER', { player_id: p.player_id }, (s) => playerOf(s, p.player_id)?.status === 'taken');

function freeAll(ctx) {
  const taken = ctx.client.state.players.filter((p) => p.status === 'taken').length;
  if (!taken) return;
  ask({
    title: t('freeAll.title', { n: taken }),
    say: t('freeAll.say'),
    verb: t('freeAll.verb'),
    run: () => {
      ctx.command('RESET_CLAIMS', {}, (s) => s.players.some((p) => p.status === 'taken'));
    },
  });
}

function addPlayer(ctx) {
  const id = uid('add');
  const input = h('input.input', { id, maxlength: '48', autocomplete: 'off' });
  const bad = h('p.fault', { role: 'alert' });
  ask({
    title: t('add.title'),
    content: h(
      'div.fieldrow',
      {},
      h('p.quiet', {}, t('add.say')),
      h('br'),
      h('label', { for: id }, t('add.label')),
      input,
      bad,
    ),
    verb: t('add.verb'),
    danger: false,
    run: async () => {
      const name = cleanName(input.value);
      const no = (words) => {
        fill(bad, icon('warn'), h('span', {}, words));
        input.setAttribute('aria-invalid', 'true');
        input.focus();
        throw new Error('');
      };
      if (!name) no(t('error.invalid_name'));
      let refused = null;
      const intent = ctx.command(
        'ADD_PLAYER',
        { name },
        (s) => !s.players.some((p) => p.name === name && !p.is_sender_bound),
      );
      const hear = (e) => {
        if (e.detail.intent === intent) refused = e.detail;
      };
      ctx.client.addEventListener('refused', hear);
      await intent.done;
      ctx.client.removeEventListener('refused', hear);
      if (refused) no(sentence(refused));
    },
  });
  input.focus();
  input.addEventListener('keydown', (e) => {
    if (e.key === 'Enter') input.closest('dialog').querySelector('.buttons .btn:last-child').click();
  });
}
