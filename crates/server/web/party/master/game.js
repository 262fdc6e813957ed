// The game between two reveals: show the reel, then wait for the votes. Votes stay secret: ticks only.
import { fill, h, icon, patch, text } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { menu } from '../../base/overlay.js';
import { button } from '../../base/parts.js';
import { mark, ofPlayer } from '../marks.js';
import { playerOf, ranked } from '../room-state.js';
import { countdown, listed, points } from '../shell.js';
import { sound } from '../sound.js';
import { bottom, progress, top } from './frame.js';
import { freeSeat } from './lobby.js';

const FORCE_MS = 10000;

/** k empty slots, and how many people that is. */
function emptySlots(k) {
  return [
    h(
      'div.slots',
      { 'aria-hidden': 'true' },
      Array.from({ length: k }, () => h('span.slot', {}, h('span', {}, '?'))),
    ),
    h('p.quiet.lead', {}, t('game.senders', { n: k })),
  ];
}

/** The reel's link: opens its own tab, without a way back to this page. */
const reelLink = (url, cls, ...kids) =>
  h('a.btn', { class: cls, href: url, target: '_blank', rel: 'noopener noreferrer' }, kids);

export function idle(ctx) {
  const left = h('div.left');
  const bar = top(ctx, { left });
  const title = h('h1', {}, t('vote.title'));
  const slots = h('div.stagebox');
  const row = h('ul.playerrow');
  const show = h('div.showbox');
  const hint = h('p.quiet');
  const foot = bottom(hint);
  const el = h('div.game.idle', {}, bar.el, h('div.middle', {}, title, slots, show), row, foot);
  let key = null;
  return {
    el,
    leave: bar.stop,
    update(state) {
      const g = state.game;
      if (!g.item) return;
      const next = `${g.round_id}/${g.item.item_id}`;
      if (next !== key) {
        key = next;
        fill(left, progress(state));
        fill(slots, emptySlots(g.item.k), g.items_total === 1 && h('p.note.only', {}, t('round.only')));
        const link = reelLink(g.item.reel.url, 'primary huge', icon('play'), t('idle.show'));
        link.addEventListener('click', () => open(ctx, g));
        link.addEventListener('auxclick', (e) => e.button === 1 && open(ctx, g));
        fill(show, link);
      }
      const seconds = (state.rules.vote_ms || 0) / 1000;
      text(hint, seconds ? `${t('idle.hint')} ${t('idle.timed', { n: seconds })}` : t('idle.hint'));
      const places = ranked(state);
      patch(
        row,
        places,
        (r) => r.player_id,
        () => h('li', {}, mark({ id: 'p1', name: '' }, 'l'), h('b.cut'), h('span.quiet.num.score')),
        (li, r) => {
          const p = playerOf(state, r.player_id);
          const away = !state.online.includes(r.player_id);
          li.children[0].set(ofPlayer(p, { off: p.status !== 'taken' || away }));
          li.children[0].classList.add('l');
          text(li.children[1], p.name);
          text(
            li.children[2],
            p.status === 'taken' && !away
              ? points(r.score_total)
              : `${points(r.score_total)} · ${t(p.status === 'taken' ? 'seat.is.away' : 'seat.is.free')}`,
          );
        },
      );
      row.classList.toggle('dense', places.length > 10);
    },
  };
}

/** The vote starts with the reel; a second press while it is asked for changes nothing. */
function open(ctx, g) {
  const { round_id } = g;
  const { item_id } = g.item;
  ctx.command(
    'REEL_OPENED',
    { round_id, item_id },
    (s) => s.game?.status === 'idle' && s.game.item?.item_id === item_id && s.game.round_id === round_id,
  );
}

export function vote(ctx) {
  const left = h('div.left');
  const bar = top(ctx, { left });
  const title = h('h1.num');
  const slots = h('div.stagebox.small');
  const row = h('ul.playerrow.voting');
  const clock = h('div.bigclock', { hidden: true, role: 'timer' });
  const say = h('p.quiet');
  const acts = h('div.actions');
  const close = button({
    label: t('force.verb'),
    icon: 'clock',
    run: () => {
      const g = ctx.client.state.game;
      if (!g?.item) return;
      const { item_id } = g.item;
      ctx.command(
        'FORCE_CLOSE_VOTE',
        { round_id: g.round_id, item_id, delay_ms: FORCE_MS },
        (s) =>
          s.game?.status === 'vote' &&
          s.game.item?.item_id === item_id &&
          !(s.game.ends_at && s.game.ends_at - ctx.client.serverNow() <= FORCE_MS),
      );
    },
  });
  const el = h(
    'div.game.vote',
    {},
    bar.el,
    h('div.middle', {}, title, clock, slots),
    row,
    h('footer.bottom', {}, h('div.say', {}, say), acts),
  );
  let key = null;
  let ends = null;
  let stop = null;
  let last = -1;
  return {
    el,
    leave() {
      bar.stop();
      stop?.();
    },
    update(state) {
      const g = state.game;
      if (!g.item) return;
      const next = `${g.round_id}/${g.item.item_id}`;
      if (next !== key) {
        key = next;
        last = -1;
        fill(left, progress(state));
        fill(slots, emptySlots(g.item.k));
        fill(acts, reelLink(g.item.reel.url, 'outline', icon('open'), t('vote.again')), close);
      }
      const expected =
        g.expected || state.players.filter((p) => p.active && p.status === 'taken').map((p) => p.player_id);
      const n = g.voted.length;
      text(title, t('vote.voted', { n, m: expected.length }));
      if (n !== last && last >= 0) ctx.say(t('vote.voted', { n, m: expected.length }));
      last = n;
      patch(
        row,
        expected,
        (id) => id,
        () => voter(ctx),
        (li, id) => drawVoter(li, state, id, g.voted.includes(id)),
      );
      row.classList.toggle('dense', expected.length > 10);
      const missing = expected.filter((id) => !g.voted.includes(id)).map((id) => playerOf(state, id)?.name || '?');
      text(
        say,
        missing.length && missing.length <= 3 && n ? t('vote.missing', { who: listed(missing) }) : t('vote.secret'),
      );
      if (g.ends_at !== ends) {
        ends = g.ends_at;
        stop?.();
        clock.hidden = !ends;
        close.hidden = !!ends && ends - ctx.client.serverNow() <= FORCE_MS;
        if (ends)
          stop = countdown(ctx.client, ends, (seconds) => {
            close.hidden = seconds <= FORCE_MS / 1000;
            if (seconds <= 3 && seconds > 0) sound('tick');
            fill(clock, h('span.num', {}, String(seconds)), h('span.quiet', {}, t('force.running')));
            clock.classList.toggle('soon', seconds <= 3);
          });
      }
    },
  };
}

function voter(ctx) {
  const b = h('button.face', { type: 'button', on: { click: () => voterMenu(ctx, li.player, b) } });
  const li = h('li', {}, b, h('b.cut'), h('span.state'));
  b.append(mark({ id: 'p1', name: '' }, 'l'), h('span.tickmark', { 'aria-hidden': 'true' }, icon('tick')));
  return li;
}

function drawVoter(li, state, id, done) {
  const p = playerOf(state, id) || { player_id: id, name: '?' };
  li.player = p;
  const away = !state.online.includes(id);
  const [face, name, word] = li.children;
  face.firstChild.set(ofPlayer(p, { off: away && !done }));
  face.firstChild.classList.add('l');
  face.setAttribute('aria-label', t('seat.moreOf', { name: p.name }));
  text(name, p.name);
  li.classList.toggle('done', done);
  const kind = done ? 'voted.is' : p.status !== 'taken' ? 'seat.is.free' : away ? 'seat.is.away' : 'voting.is';
  if (word.dataset.kind === kind) return;
  word.dataset.kind = kind;
  word.className = `state ${done ? 'good' : 'quiet'}`;
  fill(word, icon(done ? 'tick' : away ? 'clock' : 'more'), t(kind));
}

/** A dead phone: its seat can be given to another one, also in the middle of a vote. */
function voterMenu(ctx, p, anchor) {
  if (p.status !== 'taken') return;
  menu(anchor, [{ label: t('seat.free_it'), icon: 'user', run: () => freeSeat(ctx, p) }]);
}
