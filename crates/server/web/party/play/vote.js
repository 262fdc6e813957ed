// Looking at the big screen, voting, and having voted. The choice is kept in the tab until it is sent, so that a reload in
// the middle of a vote loses nothing.
import { fill, h, icon, patch, text } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { ask, toast } from '../../base/overlay.js';
import { button } from '../../base/parts.js';
import { keepTab, readTab } from '../kept.js';
import { mark, ofSender } from '../marks.js';
import { canSit, senderOf } from '../room-state.js';
import { countdown } from '../shell.js';
import { head, lookUp, reelPill, screen } from './frame.js';

/** The countdown's pill and bar; `set(ends_at)` starts and stops it. */
function clock(client) {
  const words = h('span.num');
  const pill = h('span.pill.clock', { hidden: true }, icon('clock'), words);
  const bar = h('div.timebar', { hidden: true, 'aria-hidden': 'true' }, h('i'));
  let stop = null;
  let at = null;
  return {
    pill,
    bar,
    set(endsAt) {
      if (endsAt === at) return;
      at = endsAt;
      stop?.();
      stop = null;
      pill.hidden = bar.hidden = !endsAt;
      if (!endsAt) return;
      const whole = Math.max(1000, endsAt - client.serverNow());
      stop = countdown(client, endsAt, (left) => {
        text(words, left > 0 ? t('vote.ends', { n: left }) : t('vote.over'));
        /** @type {HTMLElement} */ (bar.firstChild).style.transform =
          `scaleX(${Math.max(0, (left - 1) * 1000) / whole})`;
        pill.classList.toggle('soon', left <= 3);
        if (left === 3) navigator.vibrate?.(120);
      });
    },
    stop: () => stop?.(),
  };
}

/** The slots to fill: k of them. */
function slots(state, chosen, k) {
  return Array.from({ length: Math.max(k, chosen.length) }, (_, i) =>
    chosen[i]
      ? mark(ofSender(state, senderOf(state, chosen[i])), 'slot')
      : h('span.slot.empty', { 'aria-hidden': 'true' }),
  );
}

const draftKey = (g) => `${g.round_id}/${g.item.item_id}`;

export function vote(ctx) {
  const top = head();
  const time = clock(ctx.client);
  const reel = reelPill();
  const row = h('div.slots');
  const count = h('p.quiet.num.count');
  const grid = h('ul.grid');
  const title = h('h1', {}, t('vote.title'));
  const send = button({
    label: t('vote.send'),
    kind: 'primary',
    run: () => {
      submit();
    },
  });
  const keepMine = button({
    label: t('vote.keep'),
    kind: 'outline',
    run: () => {
      ctx.ui.changing = false;
      ctx.redraw(false);
    },
  });
  const hint = h('p.hint.quiet');
  let chosen = null;
  let state;

  const draw = () => {
    const k = state.game.item.k;
    fill(row, slots(state, chosen, k));
    text(count, t('vote.count', { n: chosen.length, k }));
    const full = chosen.length >= k;
    for (const b of grid.querySelectorAll('.tile')) {
      const on = chosen.includes(b.dataset.id);
      b.setAttribute('aria-pressed', String(on));
      b.classList.toggle('full', full && !on);
    }
  };
  const tap = (id, tile) => {
    const k = state.game.item.k;
    if (chosen.includes(id)) chosen = chosen.filter((x) => x !== id);
    else if (k === 1) chosen = [id];
    else if (chosen.length >= k) {
      toast(t('vote.most', { n: k }), { glyph: 'info' });
      tile.classList.remove('shake');
      void tile.offsetWidth;
      tile.classList.add('shake');
      return;
    } else chosen = [...chosen, id];
    keepTab('draft', { key: draftKey(state.game), chosen });
    draw();
    ctx.say(t('vote.count', { n: chosen.length, k }));
  };
  async function submit() {
    const { item } = state.game;
    const sure =
      chosen.length >= Math.min(item.k, item.senders_selectable.length) ||
      (await ask({
        title: t('vote.fewer', { n: chosen.length, k: item.k }),
        say: t('vote.fewerSay'),
        verb: t('vote.send'),
        keep: t('vote.choose'),
        danger: false,
      }));
    if (!sure || state.game.item?.item_id !== item.item_id) return;
    const round_id = state.game.round_id;
    const selections = [...chosen];
    navigator.vibrate?.(30);
    ctx.client.want({
      key: 'vote',
      type: 'SUBMIT_VOTE',
      payload: { round_id, item_id: item.item_id, selections },
      needed: (s) =>
        !!s.my_player_id &&
        s.game?.status === 'vote' &&
        s.game.round_id === round_id &&
        s.game.item?.item_id === item.item_id,
    });
  }
  const make = (sender) => {
    const b = h(
      'button.tile',
      {
        type: 'button',
        'aria-pressed': 'false',
        'data-id': sender.sender_id,
        on: { click: () => tap(sender.sender_id, b) },
      },
      mark({ id: sender.sender_id, name: sender.name }, 'l'),
      h('b.name.cut', { title: sender.name }, sender.name),
      h('span.tickmark', { 'aria-hidden': 'true' }, icon('tick')),
    );
    return h('li', {}, b);
  };
  const el = screen(
    'vote',
    [top.el, time.bar, h('div.ask', {}, title, h('div.chosen', {}, row, count)), grid],
    [send, keepMine, hint],
  );
  return {
    el,
    leave: () => time.stop(),
    update(next) {
      state = next;
      const g = state.game;
      if (chosen === null) {
        const kept = readTab('draft');
        chosen = kept?.key === draftKey(g) ? kept.chosen : g.my_vote?.selections || [];
        chosen = chosen.filter((id) => g.item.senders_selectable.some((s) => s.sender_id === id)).slice(0, g.item.k);
      }
      const list = g.item.senders_selectable;
      patch(
        grid,
        list,
        (s) => s.sender_id,
        make,
        (li, sender) => {
          li.querySelector('wk-mark').set(ofSender(state, sender));
          li.querySelector('wk-mark').classList.add('l');
          text(li.querySelector('.name'), sender.name);
        },
      );
      grid.classList.toggle('three', list.length > 8);
      time.set(g.ends_at);
      top.set(state, g.ends_at ? time.pill : reel(g));
      const sending = ctx.client.wants('vote');
      send.setAttribute('aria-disabled', String(!!sending));
      send.lastChild.textContent = t(sending ? 'vote.sending' : 'vote.send');
      keepMine.hidden = !g.my_vote || !ctx.ui.changing;
      text(hint, sending && ctx.client.link !== 'live' ? t('link.kept') : t('vote.hint'));
      draw();
    },
  };
}

/** Between votes, after one's vote, and for those who only watch. */
export function look(ctx) {
  const top = head();
  const time = clock(ctx.client);
  const reel = reelPill();
  const title = h('h1');
  const say = h('p.quiet');
  const own = h('div.mychoice');
  const art = h('div.art', { 'aria-hidden': 'true' });
  const change = button({
    label: t('vote.change'),
    kind: 'outline',
    run: () => {
      ctx.ui.changing = true;
      ctx.redraw(false);
    },
  });
  const seat = button({
    label: t('play.takeSeat'),
    kind: 'outline',
    run: () => {
      ctx.ui.watching = false;
      ctx.redraw(false);
    },
  });
  const foot = h('div');
  const el = screen('look', [top.el, time.bar, h('div.middle', {}, art, title, say, own)], [change, seat, foot]);
  let key = null;
  return {
    el,
    leave: () => time.stop(),
    update(state) {
      const g = state.game;
      const status = g?.status || 'idle';
      const mine = state.my_player_id && g?.my_vote ? g.my_vote.selections : null;
      time.set(status === 'vote' ? g.ends_at : null);
      top.set(state, status === 'vote' && g.ends_at ? time.pill : g && reel(g));
      change.hidden = !(mine && status === 'vote');
      seat.hidden = !!state.my_player_id || !canSit(state);
      const next = JSON.stringify([status, mine, state.my_player_id, state.master_away, g?.item?.item_id]);
      if (next === key) return;
      key = next;
      const words = {
        idle: ['look.title', 'look.say'],
        vote: mine ? ['voted.title', 'voted.say'] : ['watch.title', 'watch.say'],
        reveal_wait: ['reveal.title', 'reveal.say'],
      }[status] || ['look.title', 'look.say'];
      if (status === 'idle' && !state.my_player_id) words[1] = 'watch.idle';
      if (status === 'vote' && !mine && state.my_player_id) words[1] = 'late.next';
      text(title, t(words[0]));
      text(say, t(words[1]));
      fill(art, icon(status === 'vote' && mine ? 'tick' : status === 'reveal_wait' ? 'eye' : 'screen'));
      art.className = `art ${status}`;
      fill(
        own,
        mine && [
          h('p.quiet', {}, t(mine.length ? 'voted.yours' : 'voted.nobody')),
          h(
            'ul.picks',
            {},
            mine.map((id) => pickLine(state, id)),
          ),
        ],
      );
      fill(foot, lookUp(state));
    },
  };
}

function pickLine(state, id) {
  const sender = senderOf(state, id);
  return h('li', {}, mark(ofSender(state, sender), 'm'), h('b.cut', {}, sender?.name || '?'));
}
