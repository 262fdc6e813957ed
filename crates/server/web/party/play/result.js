// After a reel, after a round, after the game: one's own line first, then the others.
import { fill, h, icon } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { button } from '../../base/parts.js';
import { confetti } from '../confetti.js';
import { mark, ofPlayer, ofSender } from '../marks.js';
import { playerOf, ranked, senderOf } from '../room-state.js';
import { ordinal, points } from '../shell.js';
import { head, lookUp, reelPill, screen } from './frame.js';

/** "+2" and what it means. */
function verdict(result) {
  const { mine, true_senders: truth } = result;
  if (!mine) return { title: t('result.watch'), glad: false };
  const n = mine.points_gained;
  if (n === 0) return { title: t(mine.selections.length ? 'result.none' : 'result.novote'), glad: false };
  if (n >= truth.length)
    return { title: t(['', 'result.one', 'result.both'][truth.length] || 'result.all'), glad: true };
  return { title: t('result.some', { n, m: truth.length }), glad: false };
}

function truthLine(state, id, mine) {
  const sender = senderOf(state, id);
  const hit = mine?.correct.includes(id);
  return h(
    'li',
    {},
    mark(sender ? ofSender(state, sender) : { id, name: '?' }, 'l'),
    h('div.who', {}, h('b.cut', {}, sender?.name || t('result.stranger')), h('span.quiet', {}, t('result.sent'))),
    mine &&
      h(
        'span.mark-word',
        { class: hit ? 'good' : 'quiet' },
        icon(hit ? 'tick' : 'minus'),
        t(hit ? 'result.found' : 'result.missed'),
      ),
  );
}

function place(state) {
  return ranked(state).find((r) => r.player_id === state.my_player_id);
}

export function result() {
  const reel = reelPill();
  const top = head();
  const body = h('div.resultbody');
  const foot = h('div');
  const el = screen('result', [top.el, body], foot);
  let key = null;
  return {
    el,
    update(state) {
      const r = state.result;
      top.set(state, reel(r), { score: false });
      const own = place(state);
      const next = JSON.stringify([r.round_id, r.item_id, own, state.master_away]);
      if (next === key) return;
      const first = key === null;
      key = next;
      const { title, glad } = verdict(r);
      const wrong = r.mine?.incorrect || [];
      fill(
        body,
        r.mine && h('p.bigpoints.num', { class: r.mine.points_gained ? '' : 'zero' }, `+${r.mine.points_gained}`),
        h('h1', {}, title),
        h(
          'ul.card.truths',
          {},
          r.true_senders.map((id) => truthLine(state, id, r.mine)),
        ),
        wrong.length > 0 &&
          h(
            'p.missed.quiet',
            {},
            h('span', {}, t(r.mine.correct.length ? 'result.alsoChose' : 'result.youChose')),
            wrong.map((id) => h('span.miss', {}, icon('cross'), senderOf(state, id)?.name || '?')),
          ),
        own && standing(own),
      );
      fill(foot, lookUp(state));
      if (first && glad) confetti(document.body, { pieces: 70 });
    },
  };
}

function standing(own) {
  const [n, th] = ordinal(own.rank);
  return h(
    'dl.card.standing.num',
    {},
    h('div', {}, h('dt.quiet', {}, t('result.points')), h('dd', {}, String(own.score_total))),
    h('div', {}, h('dt.quiet', {}, t('result.place')), h('dd', {}, n, h('small', {}, th))),
  );
}

/** All players by place; one's own line is marked, and also stands on top. */
function table(state, list, gained) {
  return h(
    'ol.card.table',
    {},
    list.map((r) => {
      const p = playerOf(state, r.player_id);
      const own = r.player_id === state.my_player_id;
      return h(
        'li.num',
        { class: own ? 'own' : '', 'aria-current': own ? 'true' : null },
        h('span.rank', {}, String(r.rank)),
        mark(ofPlayer(p), 's'),
        h('b.cut', {}, p?.name || '?'),
        gained && h('span.quiet.gain', {}, `+${gained[r.player_id] ?? 0}`),
        h('b.total', {}, String(r.score_total)),
      );
    }),
  );
}

export function roundResult() {
  const top = head();
  const body = h('div.resultbody');
  const foot = h('div');
  const el = screen('round', [top.el, body], foot);
  let key = null;
  return {
    el,
    update(state) {
      top.set(state, null, { score: false });
      const next = JSON.stringify([state.recap, state.scores, state.result, state.master_away]);
      if (next === key) return;
      key = next;
      const gained = state.recap && Object.fromEntries(state.recap.map((r) => [r.player_id, r.points_round]));
      const list = ranked(state);
      const own = list.find((r) => r.player_id === state.my_player_id);
      const n = state.game?.round_index;
      fill(
        body,
        h('h1', {}, n == null ? t('round.over') : t('round.overN', { n: n + 1 })),
        state.result && lastReel(state),
        own && gained && h('p.ownline', {}, t('round.own', { n: gained[own.player_id] ?? 0 })),
        own && standing(own),
        table(state, list, gained),
      );
      fill(foot, lookUp(state));
    },
  };
}

/** The round's last reel had no screen of its own: one line tells it. */
function lastReel(state) {
  const r = state.result;
  const names = r.true_senders.map((id) => senderOf(state, id)?.name || t('result.stranger'));
  return h(
    'p.lastreel',
    {},
    r.true_senders.map((id) =>
      mark(senderOf(state, id) ? ofSender(state, senderOf(state, id)) : { id, name: '?' }, 's'),
    ),
    h('span', {}, t('round.last', { who: names.join(', ') })),
    r.mine && h('b.num', { class: r.mine.points_gained ? 'good' : 'quiet' }, `+${r.mine.points_gained}`),
  );
}

export function finalResult(ctx) {
  const top = head();
  const body = h('div.resultbody');
  const el = screen(
    'final',
    [top.el, body],
    [
      h('p.quiet.thanks', {}, t('final.thanks')),
      h('p.quiet.stay', {}, t('final.stay')),
      button({ label: t('final.leave'), kind: 'outline', run: () => ctx.leave(null) }),
    ],
  );
  let key = null;
  return {
    el,
    update(state) {
      top.set(state, null, { score: false });
      const list = state.ranking || ranked(state);
      const next = JSON.stringify(list);
      if (next === key) return;
      const first = key === null;
      key = next;
      const own = list.find((r) => r.player_id === state.my_player_id);
      const winners = list.filter((r) => r.rank === 1);
      const won = own?.rank === 1;
      const title = !own
        ? t('final.title')
        : won
          ? t(winners.length > 1 ? 'final.tied' : 'final.won')
          : t('final.place', { n: ordinal(own.rank).join('') });
      fill(
        body,
        own &&
          h(
            'div.bigmark',
            { class: won ? 'won' : '' },
            won && h('span.crown', { 'aria-hidden': 'true' }, icon('crown')),
            mark(ofPlayer(playerOf(state, own.player_id)), 'xl'),
          ),
        h('h1', {}, title),
        own && h('p.quiet.num', {}, points(own.score_total)),
        table(state, list, null),
      );
      if (first && won) confetti(document.body, { pieces: 120 });
    },
  };
}
