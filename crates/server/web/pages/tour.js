// A first run, narrated: with the demo world the front page says so and offers six steps. Steps that were taken are ticked
// and kept in this browser, and so is the wish not to see them.
import { fill, h, icon } from '../base/dom.js';
import { t } from '../base/i18n.js';
import { button } from '../base/parts.js';

const KEPT = 'wk.tour';
const DEMO_FIELD = '/world?tenant=de300000-0000-4000-8000-000000000001&world=0&channel=1&map=40000';
/** What each step opens; one whose modules do not run is left out. */
const STEPS = [
  { id: 'job', module: 'jobs', href: '/jobs', glyph: 'jobs' },
  { id: 'reactor', module: 'reactors', href: DEMO_FIELD, glyph: 'world' },
  { id: 'fly', module: 'galaxy', href: '/fly', glyph: 'galaxy' },
  { id: 'party', module: 'rooms', href: '/party', glyph: 'rooms' },
  { id: 'key', href: '/keys', glyph: 'keys' },
  { id: 'check', href: '/check', glyph: 'check' },
];

function kept() {
  try {
    const told = JSON.parse(localStorage.getItem(KEPT) || '{}');
    return { hidden: told.hidden === true, done: Array.isArray(told.done) ? told.done : [] };
  } catch {
    return { hidden: false, done: [] };
  }
}

function keep(now) {
  try {
    localStorage.setItem(KEPT, JSON.stringify(now));
  } catch {
    /* private window: this page only */
  }
}

/** The card; `draw(demo, running)` shows or hides it. */
export function tour() {
  const card = h('section.card.tour', { hidden: true });
  let was = '';
  function draw(demo, running) {
    const state = kept();
    const now = JSON.stringify([demo, running, state]);
    if (now === was) return;
    was = now;
    card.hidden = !demo;
    if (!demo) return;
    const steps = STEPS.filter((one) => !one.module || running.includes(one.module));
    const show = (hidden) => {
      keep({ ...kept(), hidden });
      draw(demo, running);
    };
    const step = (one) => {
      const done = state.done.includes(one.id);
      const take = () => keep({ ...kept(), done: [...new Set([...kept().done, one.id])] });
      return h(
        'li',
        {},
        h(
          'a',
          { href: one.href, on: { click: take } },
          icon(done ? 'tick' : one.glyph, { class: done ? 'ok' : '', label: done ? t('tour.done') : undefined }),
          h('b', {}, t(`tour.${one.id}`)),
          h('span.quiet', {}, t(`tour.${one.id}.say`)),
        ),
      );
    };
    card.setAttribute('aria-labelledby', 'o-tour');
    fill(
      card,
      h(
        'header',
        {},
        h('h2', { id: 'o-tour' }, t('tour.title')),
        h('span.note', {}, t('tour.off'), ' ', h('code', {}, 'worldkeep --no-demo')),
        h(
          'span.end',
          {},
          button({
            label: t(state.hidden ? 'tour.show' : 'tour.hide'),
            kind: 'quiet',
            small: true,
            run: () => show(!state.hidden),
          }),
        ),
      ),
      !state.hidden && h('p.quiet', {}, t('tour.say')),
      !state.hidden && h('ol.steps', {}, steps.map(step)),
    );
  }
  return { card, draw };
}
