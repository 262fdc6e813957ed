// The reveal: votes rise, true senders drop into their slots, marks appear at once, points count up. It plays once, when
// somebody is there to see it; from then on it is a still picture that can be played again. Skip goes to its end.
import { fill, h, icon, text } from '../../base/dom.js';
import { rich, t } from '../../base/i18n.js';
import { button } from '../../base/parts.js';
import { confetti } from '../confetti.js';
import { keepTab, readTab } from '../kept.js';
import { lookOf, mark, ofPlayer, ofSender, placeOf } from '../marks.js';
import { playerOf, senderOf } from '../room-state.js';
import { sound } from '../sound.js';
import { bottom, progress, top } from './frame.js';

const RISE = 900; // votes, with a moment to look at them
const DROP = 900; // each true sender
const MARKS = 700;
const COUNT = 700;

const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

export function reveal(ctx) {
  const left = h('div.left');
  const bar = top(ctx, { left });
  const title = h('h1');
  const slots = h('div.truths');
  const row = h('ul.playerrow.revealing');
  const say = h('p.quiet');
  const next = button({
    label: t('reveal.next'),
    kind: 'primary',
    run: () => {
      if (el.dataset.step !== 'end') {
        finish();
        return;
      }
      const g = ctx.client.state.game;
      const { item_id, round_id } = g.results;
      ctx.command(
        'END_ITEM',
        { round_id, item_id },
        (s) => s.game?.status === 'reveal_wait' && s.game.results?.item_id === item_id && s.game.round_id === round_id,
      );
    },
  });
  const again = button({ label: t('reveal.again'), kind: 'outline', icon: 'loop', run: () => play() });
  const el = h('div.game.reveal', {}, bar.el, h('div.middle', {}, title, slots), row, bottom(say, again, next));
  let state = null;
  let key = null;
  let timers = [];
  let waiting = null;

  const after = (ms, run) => timers.push(setTimeout(run, ms));
  const clear = () => {
    timers.forEach(clearTimeout);
    timers = [];
  };

  function draw() {
    const r = state.game.results;
    const truth = r.true_senders;
    fill(left, progress(state));
    fill(
      slots,
      truth.map((id) => {
        const sender = senderOf(state, id);
        const { color } = lookOf(placeOf(id));
        return h(
          'div.truth',
          { class: `c${color}` },
          h(
            'div.card.inside',
            {},
            mark(ofSender(state, sender || { sender_id: id, name: '?' }), 'xl'),
            h('b.cut', {}, sender?.name || '?'),
          ),
          h('span.tickmark', { 'aria-hidden': 'true' }, icon('tick')),
        );
      }),
    );
    const k = Math.max(1, ...r.players.map((p) => p.selections.length));
    row.style.setProperty('--votes', String(Math.min(k, 4)));
    row.classList.toggle('dense', r.players.length > 10);
    fill(
      row,
      r.players.map((one) => voteColumn(state, one)),
    );
    const all = r.players.filter((p) => p.points_gained >= truth.length).length;
    text(
      say,
      truth.length === 1
        ? t('reveal.found', { n: all })
        : truth.length === 2
          ? t('reveal.foundBoth', { n: all })
          : t('reveal.foundAll', { n: all }),
    );
    return all;
  }

  function name() {
    const names = state.game.results.true_senders.map((id) =>
      h('span.colored', { class: `c${lookOf(placeOf(id)).color}` }, senderOf(state, id)?.name || '?'),
    );
    const joined = names.flatMap((n, i) => (i === 0 ? [n] : [i === names.length - 1 ? ` ${t('and')} ` : ', ', n]));
    fill(title, rich('reveal.was', { who: h('span', {}, joined) }));
  }

  function step(word) {
    el.dataset.step = word;
  }

  function play() {
    clear();
    const all = draw();
    if (still()) {
      finish();
      return;
    }
    const truth = state.game.results.true_senders.length;
    text(title, t('reveal.who'));
    next.lastChild.textContent = t('reveal.skip');
    again.hidden = true;
    say.hidden = true;
    step('start');
    for (const one of slots.children) one.classList.remove('in');
    after(60, () => step('votes'));
    for (let i = 0; i < truth; i += 1)
      after(RISE + i * DROP, () => {
        step('drop');
        sound('drop');
        slots.children[i].classList.add('in');
      });
    const marks = RISE + truth * DROP;
    after(marks, () => {
      name();
      step('marks');
      ctx.say(title.textContent);
    });
    after(marks + MARKS, () => {
      step('count');
      countUp();
      sound(all ? 'glad' : 'sad');
      if (all) confetti(document.body);
    });
    after(marks + MARKS + COUNT, finish);
  }

  /** A host who is away, at the reel's own tab or behind a lost line, sees the reveal from its beginning on coming back. */
  function whenSeen(run) {
    if (!document.hidden) {
      run();
      return;
    }
    text(title, t('reveal.ready'));
    step('start');
    // After the stage has named the page by its heading.
    queueMicrotask(() => {
      document.title = `▶ ${t('reveal.ready')}`;
    });
    waiting = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', waiting);
      run();
    };
    document.addEventListener('visibilitychange', waiting);
  }
  const seenKey = () => `${ctx.client.code}/${key}`;

  function countUp() {
    state.game.results.players.forEach((one, i) => {
      const box = row.children[i].querySelector('.before');
      if (!one.points_gained) return;
      after(COUNT / 2, () => text(box, one.score_total));
    });
  }

  function finish() {
    clear();
    name();
    for (const one of slots.children) one.classList.add('in');
    for (const [i, one] of state.game.results.players.entries())
      text(row.children[i].querySelector('.before'), one.score_total);
    next.lastChild.textContent = t('reveal.next');
    again.hidden = false;
    say.hidden = false;
    step('end');
    keepTab('seen', seenKey());
    document.title = `${title.textContent} · ${t('game.name')}`;
  }

  return {
    el,
    leave() {
      clear();
      document.removeEventListener('visibilitychange', waiting);
      bar.stop();
    },
    update(fresh) {
      const r = fresh.game.results;
      const had = state;
      state = fresh;
      if (!r) {
        text(title, t('reveal.wait'));
        return;
      }
      const now = `${r.round_id}/${r.item_id}`;
      if (now === key) {
        if (had && had.players !== fresh.players && el.dataset.step === 'end') {
          draw();
          finish();
        }
        return;
      }
      key = now;
      draw();
      if (readTab('seen') === seenKey()) finish();
      else whenSeen(play);
    },
  };
}

/** One player: what they chose, their mark, name, points. */
function voteColumn(state, one) {
  const p = playerOf(state, one.player_id);
  const chips = one.selections.map((id) => {
    const hit = one.correct.includes(id);
    const sender = senderOf(state, id);
    return h(
      'li.chip',
      { class: hit ? 'hit' : 'miss' },
      mark(ofSender(state, sender || { sender_id: id, name: '?' }), 's'),
      h('span.verdict', {}, icon(hit ? 'tick' : 'cross')),
      h('span.said', {}, `${sender?.name || '?'} ${t(hit ? 'reveal.right' : 'reveal.wrong')}`),
    );
  });
  return h(
    'li',
    {},
    h('ul.chips', {}, chips.length ? chips : h('li.chip.none', {}, t('reveal.none'))),
    mark(ofPlayer(p), 'l'),
    h('b.cut', { title: p?.name }, p?.name || '?'),
    h(
      'span.num.score',
      {},
      h('span.before.quiet', {}, String(one.score_total - one.points_gained)),
      ' ',
      h('b.gain', { class: one.points_gained ? '' : 'zero' }, `+${one.points_gained}`),
    ),
  );
}
