// After a round: points, totals and who moved. After the game: the podium, equal ranks at one height, side by side.
import { fill, h, s, text } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { button } from '../../base/parts.js';
import { confetti } from '../confetti.js';
import { keep, read } from '../kept.js';
import { mark, ofPlayer } from '../marks.js';
import { moves, playerOf, ranked } from '../room-state.js';
import { listed, points } from '../shell.js';
import { sound } from '../sound.js';
import { bottom, closeRoom, progress, top } from './frame.js';

const GLIDE = 500;
const LONG_NAME = 12; // characters that a step of the podium holds in large letters

/** ▲ 2, ▼ 1 or –, with a word for readers. */
function move(n) {
  if (!n)
    return h('span.move.quiet', {}, h('span', { 'aria-hidden': 'true' }, '–'), h('span.said', {}, t('move.same')));
  return h(
    'span.move.quiet.num',
    {},
    h('span', { 'aria-hidden': 'true' }, `${n > 0 ? '▲' : '▼'} ${Math.abs(n)}`),
    h('span.said', {}, t(n > 0 ? 'move.up' : 'move.down', { n: Math.abs(n) })),
  );
}

export function recap(ctx) {
  const left = h('div.left');
  const bar = top(ctx, { left });
  const title = h('h1');
  const list = h('ol.recaplist');
  const say = h('p.quiet');
  const next = button({
    label: t('recap.next'),
    kind: 'primary',
    run: () => {
      const { round_id } = ctx.client.state.game;
      ctx.command(
        'START_NEXT_ROUND',
        {},
        (x) => x.phase === 'game' && x.game?.status === 'round_recap' && x.game.round_id === round_id,
      );
    },
  });
  const el = h('div.game.recap', {}, bar.el, title, list, bottom(say, next));
  let key = null;
  let timer;
  return {
    el,
    leave() {
      clearTimeout(timer);
      bar.stop();
    },
    update(state) {
      const g = state.game;
      const rows = state.recap || [];
      const now = `${g.round_id}:${rows.length}`;
      if (now === key || !rows.length) return;
      key = now;
      fill(left, progress(state));
      text(title, g.round_index == null ? t('round.over') : t('round.overN', { n: g.round_index + 1 }));
      const last = g.rounds_total != null && g.round_index != null && g.round_index + 1 >= g.rounds_total;
      next.lastChild.textContent = t(last ? 'recap.final' : 'recap.next');
      const { before, after } = moves(rows);
      const best = Math.max(1, ...rows.map((r) => r.score_total));
      const lines = new Map(
        rows.map((r) => {
          const p = playerOf(state, r.player_id);
          const fillBar = h('i');
          fillBar.style.setProperty('--share', String(r.score_total / best));
          return [
            r.player_id,
            h(
              'li',
              {},
              move(before.rank[r.player_id] - after.rank[r.player_id]),
              h('span.rank.num', {}, String(after.rank[r.player_id])),
              mark(ofPlayer(p), 'm'),
              h('b.cut', {}, p?.name || '?'),
              h('b.gain.num', { class: r.points_round ? '' : 'zero' }, `+${r.points_round}`),
              h('span.bar', { 'aria-hidden': 'true' }, fillBar),
              h('b.total.num', {}, String(r.score_total)),
            ),
          ];
        }),
      );
      list.classList.toggle('dense', rows.length > 9);
      list.style.setProperty('--rows', String(Math.ceil(rows.length / 2)));
      const bestRound = Math.max(...rows.map((r) => r.points_round));
      const kings = rows
        .filter((r) => r.points_round === bestRound && bestRound > 0)
        .map((r) => playerOf(state, r.player_id)?.name || '?');
      text(say, kings.length && kings.length <= 3 ? t('recap.best', { who: listed(kings), n: bestRound }) : '');
      fill(
        list,
        before.order.map((id) => lines.get(id)),
      );
      const glide = () => {
        const from = new Map([...lines].map(([id, li]) => [id, li.getBoundingClientRect().top]));
        fill(
          list,
          after.order.map((id) => lines.get(id)),
        );
        if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
        for (const [id, li] of lines) {
          const shift = from.get(id) - li.getBoundingClientRect().top;
          if (shift)
            li.animate([{ transform: `translateY(${shift}px)` }, { transform: 'none' }], {
              duration: GLIDE,
              easing: 'cubic-bezier(.2,.8,.2,1)',
            });
        }
      };
      timer = setTimeout(glide, matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 700);
    },
  };
}

/** Places on the podium from the middle outwards: best in the middle. */
export function around(list) {
  const out = [];
  for (const [i, one] of list.entries()) {
    if (i % 2) out.unshift(one);
    else out.push(one);
  }
  return out;
}

function crown() {
  return s(
    'svg',
    { class: 'crown', viewBox: '0 0 64 40', 'aria-hidden': 'true' },
    s('path', { class: 'gold', d: 'M6 10l13 11L32 4l13 17 13-11-4 26H10z' }),
    s('circle', { class: 'gold', cx: 6, cy: 8, r: 4 }),
    s('circle', { class: 'gold', cx: 32, cy: 4, r: 4 }),
    s('circle', { class: 'gold', cx: 58, cy: 8, r: 4 }),
    s('path', { class: 'band', d: 'M10.500 31h43l-.7 5h-41.600z' }),
  );
}

export function podium(ctx) {
  const bar = top(ctx, {});
  const title = h('h1');
  const say = h('p.quiet.lead');
  const steps = h('ol.steps');
  const table = h('ol.card.finaltable');
  const el = h(
    'div.podium',
    {},
    h('section.hall', {}, h('div.words', {}, title, say), steps),
    h(
      'section.side',
      {},
      bar.el,
      table,
      button({ label: t('podium.again'), kind: 'primary', run: () => again(ctx) }),
      button({ label: t('menu.close'), kind: 'outline', run: () => closeRoom(ctx) }),
    ),
  );
  let key = null;
  return {
    el,
    leave: bar.stop,
    update(state) {
      const list = state.ranking || ranked(state);
      const now = JSON.stringify([list, state.players.map((p) => p.name)]);
      if (now === key) return;
      const first = key === null;
      key = now;
      const name = (r) => playerOf(state, r.player_id)?.name || '?';
      const winners = list.filter((r) => r.rank === 1);
      text(
        title,
        winners.length === 1
          ? t('podium.wins', { who: name(winners[0]) })
          : t('podium.tie', { who: listed(winners.slice(0, 4).map(name)) }),
      );
      const { rounds, reels } = ctx.facts();
      const second = list.find((r) => r.rank > 1);
      const lead = second ? winners[0].score_total - second.score_total : 0;
      text(
        say,
        [
          reels && t('reels', { n: reels }),
          rounds && t('rounds', { n: rounds }),
          lead > 0 && winners.length === 1 && t('podium.lead', { n: lead }),
        ]
          .filter(Boolean)
          .join(', '),
      );
      const up = list.filter((r) => r.rank <= 3).slice(0, 7);
      steps.classList.toggle('many', up.length > 4);
      fill(
        steps,
        around(up).map((r) =>
          h(
            'li',
            { class: `p${r.rank}${[...name(r)].length > LONG_NAME ? ' long' : ''}` },
            h('div.winner', {}, r.rank === 1 && crown(), mark(ofPlayer(playerOf(state, r.player_id)), 'xl')),
            h('b.cut', {}, name(r)),
            h('span.quiet.num', {}, points(r.score_total)),
            h('div.block', {}, h('span.num', {}, String(r.rank))),
          ),
        ),
      );
      const shift = state.recap ? moves(state.recap) : null;
      fill(
        table,
        list.map((r) => {
          const n = shift ? (shift.before.rank[r.player_id] ?? r.rank) - (shift.after.rank[r.player_id] ?? r.rank) : 0;
          return h(
            'li',
            {},
            h('span.rank.num', { class: r.rank === 1 ? 'first' : '' }, String(r.rank)),
            mark(ofPlayer(playerOf(state, r.player_id)), 'm'),
            h('b.cut', {}, name(r)),
            n ? move(n) : h('span.move'),
            h('b.total.num', {}, String(r.score_total)),
          );
        }),
      );
      table.classList.toggle('dense', list.length > 8);
      if (first) {
        confetti(document.body, { pieces: 150 });
        sound('win');
      }
    },
  };
}

/** Back to setup with the same people under their newest names, without the reels of this game. Their phones stay where
 *  they are and follow by themselves when the new room is made. */
function again(ctx) {
  const { state, code } = ctx.client;
  const { urls = [], seats = {} } = ctx.facts();
  const had = read('setup') || {};
  // A screen that took the room over knows its people, not their reels.
  const known = had.people?.length
    ? had.people
    : state.senders.map((x) => ({ id: x.sender_id, name: x.name, aliases: [], active: x.active, urls: [] }));
  const people = known.map((p) => {
    const name = playerOf(state, seats[p.id])?.name;
    return name && name !== p.name ? { ...p, name, aliases: [...(p.aliases || []), p.name] } : p;
  });
  const { vote_ms, latecomers } = state.rules;
  const played = [...new Set([...(had.played || []), ...urls])];
  keep('setup', { ...had, people, rules: { vote_ms: vote_ms || 0, latecomers }, from: code, played });
  ctx.go('setup');
}
