// Jobs for later: how many in each of the next hours, then the list in the order of their time.
import { bars } from '../../base/charts.js';
import { fill, h } from '../../base/dom.js';
import { age, num, when } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { ask, toast } from '../../base/overlay.js';
import { empty, errorBox, skeleton, timeTag } from '../../base/parts.js';
import '../../base/table.js';
import { frame, idTag, jobHref, namespaces, outcome, poll, tries } from './frame.js';

/** Counts by when they are due: `[{name, value}]`. */
export function strip(items, now) {
  const edges = [
    ['jobs.delayed.now', 60000],
    ['jobs.delayed.hour', 3600000],
    ['jobs.delayed.six', 6 * 3600000],
    ['jobs.delayed.day', 86400000],
    ['jobs.delayed.week', 7 * 86400000],
    ['jobs.delayed.later', Infinity],
  ];
  const counts = edges.map(([key]) => ({ key, value: 0 }));
  for (const x of items) counts[edges.findIndex(([, to]) => x.runAt - now < Number(to))].value += 1;
  return counts;
}

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  /** @type {Api.Numbers} */
  let stats = null;
  let q = ctx.query;
  const { body, ns } = frame(root, ctx, 'delayed', (n) => {
    stats = n;
    head();
  });
  const strips = h(
    'section.card',
    { 'aria-labelledby': 'd-strip' },
    h('header', {}, h('h2', { id: 'd-strip' }, t('jobs.delayed.when'))),
  );
  const box = h('div');
  strips.append(box);
  const card = h('section.card.flush', { 'aria-label': t('jobs.tab.delayed') }, skeleton(6));
  fill(body, strips, card);
  const load = ({ cursor }) =>
    ctx.api.get('/api/jobs', {
      query: { ns: ns(), status: 'delayed', order: 'place', type: q.type, limit: 100, cursor },
      signal: ctx.signal,
    });
  const bulk = (action, verb) => ({
    label: t(`jobs.do.${action}`),
    icon: verb,
    run: async (rows, table) => {
      const ids = rows.map((x) => x.jobId);
      await ask({
        title: t(`jobs.ask.${action}`, { n: ids.length }),
        say: t(`jobs.asksay.${action}`),
        verb: t(`jobs.verb.${action}`, { n: ids.length }),
        danger: action === 'cancel',
        count: ids.length,
        run: async () => toast(outcome(await ctx.api.post('/api/jobs:bulk', { action, ids }, { query: { ns: ns() } }))),
      });
      table.pickAll(false);
      await show();
    },
  });
  const table = h('wk-table').setup({
    label: t('jobs.tab.delayed'),
    key: (/** @type {Api.JobItem} */ x) => x.jobId,
    href: (x) => jobHref(x.jobId, ns()),
    load,
    actions: ctx.can('operator') ? [bulk('runNow', 'play'), bulk('cancel', 'cross')] : null,
    columns: [
      { id: 'when', name: t('jobs.delayed.runs'), cell: (x) => timeTag(x.runAt) },
      {
        id: 'in',
        name: t('jobs.delayed.in'),
        num: true,
        cell: (x) => (x.runAt > Date.now() ? age(x.runAt - Date.now()) : t('jobs.now.due')),
      },
      { id: 'job', name: t('jobs.job'), cell: (x) => h('a', { href: jobHref(x.jobId, ns()) }, idTag(x.jobId)) },
      { id: 'type', name: t('jobs.type'), cell: (x) => x.type || '–' },
      {
        id: 'why',
        name: t('jobs.delayed.why'),
        wide: true,
        cell: (x) =>
          x.error && x.tries.used ? h('span.bad', {}, x.error.name) : h('span.quiet', {}, t('jobs.delayed.asked')),
      },
      { id: 'tries', name: t('jobs.triesname'), num: true, cell: (x) => tries(x) },
    ],
    empty: () =>
      empty({
        glyph: 'calendar',
        title: t('jobs.delayed.none'),
        say: t('jobs.delayed.nonesay'),
        command: 'worldkeep jobs dispatch TYPE --delay 5m',
      }),
  });

  function head() {
    ctx.head({
      title: t('jobs.delayed.title', { n: stats?.delayed ?? 0 }),
      sentence: t('jobs.delayed.say'),
      actions: [namespaces(ctx, stats)].filter(Boolean),
    });
    ctx.echo({
      cli: 'worldkeep jobs ls --status delayed',
      api: `GET ${ctx.api.address('/api/jobs', { ns: ns(), status: 'delayed', order: 'place' })}`,
    });
  }
  async function show() {
    const page = await load({ cursor: null });
    if (!card.contains(table)) fill(card, table);
    table.cursor = page.cursor;
    table.show(page.items, { calm: true });
    const shown = strip(page.items, Date.now()).map((x) => ({
      name: t(x.key),
      value: x.value,
      shown: num(x.value),
      module: 'jobs',
    }));
    strips.hidden = !page.items.length;
    fill(
      box,
      bars(shown),
      page.cursor &&
        h('p.note', {}, t('jobs.delayed.first', { n: page.items.length, at: when(page.items.at(-1)?.runAt) })),
    );
  }
  head();
  poll(
    ctx,
    2000,
    () => (table.picked.size ? null : show()),
    (e) => fill(card, errorBox(e, show)),
  );
  return {
    update(_, query) {
      q = query;
      return show();
    },
  };
}
