// A new game: import, people, rounds. Everything stays in this browser until "Create room"; it survives a reload.

import * as api from '../../base/api.js';
import { fill, h, icon, text, uid } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { toast } from '../../base/overlay.js';
import { button } from '../../base/parts.js';
import { keep, keepMaster, masters, read, showCode } from '../kept.js';
import { mark, tellApart } from '../marks.js';
import { buildRounds, carriedSeats, problems, roomBody, seatsOf, suggestRounds } from '../rounds.js';
import { langs, listed, sentence } from '../shell.js';
import { importView } from './import.js';
import { peopleCard } from './people.js';
import { rulesForm } from './rules.js';

const WORDS = ['lantern', 'comet', 'maple', 'harbor', 'velvet', 'pepper', 'meadow', 'cobalt', 'walnut', 'saffron'];
const MOST_ROUNDS = 50;

const blank = () => ({
  people: [],
  rounds: null,
  seed: WORDS[crypto.getRandomValues(new Uint8Array(1))[0] % WORDS.length],
  played: [],
  rules: { vote_ms: 0, latecomers: false },
  /** Code of the room whose people play on. */
  from: null,
});

/** Number of rounds that is used: the chosen one, else one that suits the people. */
const roundsOf = (model) => model.rounds ?? suggestRounds(model.people);

export function setup(ctx) {
  let model = { ...blank(), ...read('setup') };
  let mode = model.people.length ? 'people' : 'import';
  const body = h('div.setupbody');
  const steps = h('ol.stepline');
  const el = h(
    'div.setup',
    {},
    h(
      'header.top',
      {},
      h('div.left', {}, h('h1.name', {}, t('setup.title')), steps),
      h(
        'div.right',
        {},
        h('span.quiet.promise', {}, t('setup.promise')),
        langs(() => ctx.redraw()),
        button({ icon: 'cross', title: t('menu.home'), run: () => ctx.go('home') }),
      ),
    ),
    body,
  );

  function change(next, { keepFocus = false } = {}) {
    model = { ...model, ...next };
    keep('setup', model);
    if (!keepFocus) draw();
    else side?.draw();
  }
  function show(next) {
    mode = next;
    draw();
    body.querySelector('h2')?.focus();
  }

  let side = null;
  function draw() {
    tellApart(model.people.map((p) => p.name));
    const at = mode === 'import' ? 0 : 1;
    const step = (n, key, run) =>
      h(
        'li',
        {},
        h(
          'button.pill',
          {
            type: 'button',
            class: n === at ? 'now' : '',
            'aria-current': n === at ? 'step' : null,
            'aria-disabled': n > 0 && !model.people.length ? 'true' : null,
            on: { click: () => (n === 0 || model.people.length) && run() },
          },
          n < at ? icon('tick') : h('b.num', {}, String(n + 1)),
          t(key),
        ),
      );
    fill(
      steps,
      step(0, 'setup.import', () => show('import')),
      step(1, 'setup.people', () => show('people')),
      step(2, 'setup.rounds', () => {
        if (mode !== 'people') show('people');
        body.querySelector('.roundscard input, .roundscard button')?.focus();
      }),
    );
    if (mode === 'import') {
      side = null;
      fill(body, importView({ model, change, show, say: ctx.say }));
      return;
    }
    side = roundsSide(ctx, () => model, change);
    fill(body, h('div.columns', {}, peopleCard({ model, change, show, say: ctx.say }), side.el), side.foot);
    side.draw();
  }
  draw();
  return { el };
}

/** Rounds, preview, and the foot that says what is left out and why. */
function roundsSide(ctx, get, change) {
  const id = uid('seed');
  const count = h('b.count.num', { 'aria-live': 'polite' });
  const seed = h('input.input', { id, maxlength: '40', autocomplete: 'off', spellcheck: 'false' });
  const preview = h('ol.preview');
  const legend = h('p.quiet.legend', {}, h('i', { 'aria-hidden': 'true' }), t('setup.multi'));
  const headline = h('b');
  const left = h('p.quiet');
  const fault = h('p.fault', { role: 'alert' });
  const create = button({ label: t('setup.create'), kind: 'primary', run: () => make() });
  const step = (by) => {
    const n = Math.max(1, Math.min(MOST_ROUNDS, roundsOf(get()) + by));
    change({ rounds: n }, { keepFocus: true });
  };
  seed.value = get().seed;
  seed.addEventListener('input', () => change({ seed: seed.value.trim() || 'lantern' }, { keepFocus: true }));
  let built = null;

  /** The room, for the people of an earlier one or for new ones. */
  async function ask(model) {
    const body = { ...roomBody(model.people, built.rounds), rules: model.rules };
    const before = masters()[model.from];
    if (!before) return api.post('/api/rooms', body);
    // A screen that took the room over does not know who sat where: then the same name is the same person.
    const seats = before.seats && carriedSeats(model.people, before.seats);
    return api.post(
      `/api/rooms/${model.from}/next`,
      { ...body, seats },
      { headers: { Authorization: `Bearer ${before.key}` }, quiet: true },
    );
  }

  async function make() {
    const model = get();
    fault.replaceChildren();
    try {
      const room = await ask(model);
      change({ from: null }, { keepFocus: true });
      keepMaster(room.code, {
        seats: seatsOf(model.people),
        key: room.master_key,
        expires_at: room.expires_at,
        join_url: room.join_url,
        rounds: built.rounds.length,
        reels: built.used,
        urls: built.rounds.flat().map((i) => i.url),
      });
      ctx.direct(room.code);
    } catch (e) {
      if (!(e instanceof api.ApiError)) throw e;
      if (model.from && e.data?.message === 'already_moved') {
        keepMaster(e.data.details.code, { key: masters()[model.from].key });
        change({ from: null }, { keepFocus: true });
        ctx.direct(e.data.details.code);
        return;
      }
      // The earlier room is over: whoever comes joins anew.
      if (model.from && [404, 410].includes(e.status)) change({ from: null }, { keepFocus: true });
      const words = e.status === 0 ? t('error.unreachable') : sentence(e.data || { error: e.code, message: e.message });
      fill(fault, icon('warn'), h('span', {}, words));
    }
  }

  function draw() {
    const model = get();
    const ids = new Map(model.people.map((p, i) => [p.id, `s${i + 1}`]));
    const byId = new Map(model.people.map((p) => [p.id, p]));
    built = buildRounds(model.people, { rounds: roundsOf(model), seed: model.seed, played: new Set(model.played) });
    text(count, String(roundsOf(model)));
    fill(
      preview,
      built.rounds.map((items, i) =>
        h(
          'li',
          {},
          h('span.quiet.num', {}, String(i + 1)),
          items.length === 1 && h('span.quiet.only', {}, t('reel.only')),
          h(
            'span.items',
            {
              role: 'img',
              'aria-label': items.map((it) => it.senders.map((x) => byId.get(x).name).join(' + ')).join(', '),
            },
            items.map((it) =>
              h(
                'span',
                { class: it.senders.length > 1 ? 'multi' : 'one' },
                it.senders.map((x) => mark({ id: ids.get(x), name: byId.get(x).name }, 's')),
              ),
            ),
          ),
        ),
      ),
    );
    legend.hidden = !built.rounds.some((items) => items[0]?.senders.length > 1);
    const bad = problems(model.people, built);
    create.setAttribute('aria-disabled', String(bad.length > 0));
    if (bad.length) {
      text(headline, t(`setup.bad.${bad[0].word}`, bad[0]));
      text(left, t(`setup.fix.${bad[0].word}`, bad[0]));
    } else {
      text(
        headline,
        t('setup.sum', { reels: t('reels', { n: built.used }), rounds: t('rounds', { n: built.rounds.length }) }),
      );
      text(left, leftOut(built, byId));
    }
    again.hidden = !model.played.length;
    const goesOn = !!masters()[model.from];
    along.hidden = !goesOn;
    if (goesOn) text(along.children[1], t('setup.along', { code: showCode(model.from) }));
  }
  const along = h(
    'p.along',
    {},
    icon('phone'),
    h('span'),
    button({ label: t('setup.alone'), kind: 'quiet', small: true, run: () => change({ from: null }) }),
  );
  const again = button({
    label: t('setup.replay'),
    small: true,
    run: () => {
      change({ played: [] });
      toast(t('setup.replayed'));
    },
  });
  const el = h(
    'div.side',
    {},
    h(
      'section.card.roundscard',
      {},
      h('h2', {}, t('setup.rounds')),
      h(
        'div.line',
        {},
        h('span', { id: `${id}-n` }, t('setup.many')),
        h(
          'div.stepper',
          { role: 'group', 'aria-labelledby': `${id}-n` },
          button({ icon: 'minus', title: t('setup.fewer'), run: () => step(-1) }),
          count,
          button({ icon: 'plus', title: t('setup.more'), run: () => step(1) }),
        ),
      ),
      h('div.line', {}, h('label', { for: id }, t('setup.seed')), seed),
      h('p.quiet', {}, t('setup.seedSay')),
      rulesForm(get().rules, (next) => change({ rules: { ...get().rules, ...next } }, { keepFocus: true }), {
        brief: true,
      }),
    ),
    h('section.card.previewcard', {}, h('h2', {}, t('setup.preview')), preview, legend),
  );
  const foot = h(
    'footer.bottom',
    {},
    h('div.say', {}, headline, left, along, fault),
    h('div.actions', {}, again, create),
  );
  return { el, foot, draw };
}

/** "7 left out: 4 of Camille and 2 of Nico (one per round), 1 of Tango (off)". */
export function leftOut({ left, sharedLeft }, byId) {
  const groups = [];
  let total = sharedLeft;
  for (const [word, map] of Object.entries(left)) {
    if (!map.size) continue;
    // A reel of several people is one reel, and nobody's alone.
    if (word === 'shared') {
      groups.push(`${t('setup.shared', { n: sharedLeft })} (${t('setup.why.limit')})`);
      continue;
    }
    const counts = [...map].sort((a, b) => b[1] - a[1]);
    total += counts.reduce((n, [, c]) => n + c, 0);
    const names = counts.slice(0, 3).map(([id, n]) => t('setup.of', { n, who: byId.get(id).name }));
    if (counts.length > 3) names.push(t('setup.others', { n: counts.length - 3 }));
    groups.push(`${listed(names)} (${t(`setup.why.${word}`)})`);
  }
  return total ? `${t('setup.left', { n: total })} ${groups.join(', ')}` : t('setup.all');
}
