// All jobs: counts, filters in the address, one sentence each, actions on many with the count first.
import { asTable } from '../../base/charts.js';
import { fill, h, icon } from '../../base/dom.js';
import { age, ms, num } from '../../base/format.js';
import { history, ranges } from '../../base/history.js';
import { t } from '../../base/i18n.js';
import { ask, toast } from '../../base/overlay.js';
import { button, empty, errorBox, skeleton } from '../../base/parts.js';
import '../../base/table.js';
import { frame, idTag, jobHref, namespaces, nowLine, outcome, poll, statusBadge, tries } from './frame.js';
import { newJob } from './new.js';
import { pauseType } from './types.js';

const STATUSES = ['waiting', 'active', 'delayed', 'cron', 'completed', 'failed', 'dead'];
/** What can be done with jobs in which states; the server refuses the rest. */
const ACTIONS = [
  { action: 'runNow', icon: 'play', states: ['delayed', 'cron'] },
  { action: 'retry', icon: 'loop', states: ['completed', 'failed', 'dead'] },
  { action: 'cancel', icon: 'cross', danger: true, states: ['waiting', 'active', 'delayed'] },
  { action: 'remove', icon: 'trash', danger: true, states: STATUSES.filter((x) => x !== 'active') },
];

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  let q = ctx.query;
  /** @type {Api.Numbers} */
  let stats = null;
  const tiles = h('div.counts');
  const { body, refresh, ns } = frame(root, ctx, 'list', (n) => {
    stats = n;
    drawTiles();
    head();
  });

  const input = h('input', {
    type: 'search',
    'aria-label': t('jobs.find'),
    placeholder: t('jobs.find'),
    autocomplete: 'off',
    spellcheck: 'false',
  });
  input.value = q.text || '';
  let typing;
  input.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => ctx.router.setQuery({ text: input.value.trim() || null }), 250);
  });
  let types = [];
  const chips = h('wk-chips').setup({
    extra: h('label.search', {}, icon('search', { class: 's' }), input),
    change: (id, value) => ctx.router.setQuery({ [id]: value }),
    filters: [
      { id: 'type', name: t('jobs.type'), options: () => types.map((x) => ({ value: x, label: x })) },
      {
        id: 'status',
        name: t('jobs.state'),
        options: STATUSES.map((x) => ({ value: x, label: t(`jobs.status.${x}`) })),
      },
    ],
  });

  const asked = () => ({ ns: ns(), type: q.type, status: q.status, text: q.text });
  const load = async ({ cursor }) =>
    ctx.api.get('/api/jobs', { query: { ...asked(), limit: 50, cursor }, signal: ctx.signal });
  const fault = h('div');
  const table = h('wk-table').setup({
    label: t('jobs.title'),
    key: (/** @type {Api.JobItem} */ x) => x.jobId,
    href: (x) => jobHref(x.jobId, ns()),
    load,
    actions: ctx.can('operator')
      ? ACTIONS.map((a) => ({
          label: t(`jobs.do.${a.action}`),
          icon: a.icon,
          fits: (/** @type {Api.JobItem} */ x) => a.states.includes(x.status),
          run: (/** @type {Api.JobItem[]} */ rows, whole) => many(a, rows, !!whole),
        }))
      : null,
    columns: [
      { id: 'status', name: t('jobs.state'), cell: (x) => statusBadge(x.status) },
      { id: 'job', name: t('jobs.job'), cell: (x) => h('a', { href: jobHref(x.jobId, ns()) }, idTag(x.jobId)) },
      { id: 'type', name: t('jobs.type'), cell: (x) => x.type ?? h('i.quiet', {}, t('jobs.unreadable')) },
      { id: 'priority', name: t('jobs.priority'), num: true, cell: (x) => num(x.priority) },
      { id: 'now', name: t('jobs.now'), wide: true, cell: (x) => nowLine(x) },
      { id: 'tries', name: t('jobs.triesname'), num: true, cell: (x) => tries(x) },
      { id: 'age', name: t('jobs.age'), num: true, cell: (x) => (x.createdAt ? age(Date.now() - x.createdAt) : '–') },
      { id: 'worker', name: t('jobs.worker'), cell: (x) => h('span.mono', {}, x.worker || '–') },
    ],
    alike: () => !!q.status,
    empty: none,
  });
  const chart = h('wk-line');
  chart.style.height = '11rem';
  let range = '5m';
  const choices = ranges(range, (one) => {
    range = one;
    drawChart();
  });
  const card = h('section.card.flush', { 'aria-label': t('jobs.title') }, skeleton(8));
  fill(
    body,
    tiles,
    h(
      'details.card.chartcard',
      { open: localOpen() },
      h('summary', {}, h('h2', {}, t('jobs.rate')), h('span.note')),
      h('span.end', {}, choices, asTable(chart)),
      chart,
    ),
    chips,
    fault,
    card,
  );
  const details = body.querySelector('details');
  details.addEventListener('toggle', () => keepOpen(details.open));

  function none() {
    const filtered = q.type || q.status || q.text;
    return filtered
      ? empty({
          glyph: 'search',
          title: t('jobs.nomatch'),
          say: t('jobs.nomatchsay'),
          action: button({
            label: t('filter.clear'),
            run: () => {
              input.value = '';
              ctx.router.setQuery({ type: null, status: null, text: null });
            },
          }),
        })
      : empty({
          glyph: 'jobs',
          title: t('jobs.none'),
          say: t('jobs.nonesay'),
          action: ctx.can('operator') && button({ label: t('jobs.new'), icon: 'plus', kind: 'primary', run: make }),
          command: 'worldkeep jobs dispatch email \'{"to":"a@b.c"}\'',
        });
  }

  const make = () => newJob(ctx, ns(), () => show());

  /** Selected rows, or everything the filter finds: the count is asked first.
   *  @param {any} a @param {Api.JobItem[]} rows */
  async function many(a, rows, everything = false) {
    const { ns: _, ...filter } = asked();
    const which = everything ? filter : { ids: rows.map((x) => x.jobId) };
    const send = (count) =>
      ctx.api.post('/api/jobs:bulk', { action: a.action, ...which, count }, { query: { ns: ns() } });
    const { count, more } = await send(true);
    const bar = h('progress', { max: count || 1, value: 0, 'aria-label': t('jobs.progress'), hidden: true });
    const howFar = h('p.note', { role: 'status' });
    await ask({
      title: t(`jobs.ask.${a.action}`, { n: count }),
      say: [t(`jobs.asksay.${a.action}`), more && ` ${t('jobs.askmore')}`],
      content: everything && [bar, howFar],
      command: everything ? `POST /api/jobs:bulk ${JSON.stringify({ action: a.action, ...filter })}` : null,
      verb: t(`jobs.verb.${a.action}`, { n: count }),
      danger: !!a.danger,
      count,
      run: async () => {
        bar.hidden = !more;
        let answer = await send(false);
        const all = { ...answer };
        while (everything && answer.more && answer.count) {
          bar.max = Math.max(bar.max, all.count + answer.count);
          bar.value = all.count;
          howFar.textContent = t('jobs.sofar', { n: all.count });
          answer = await send(false);
          for (const what of ['count', 'refused', 'missing']) all[what] += answer[what];
        }
        toast(outcome(all));
      },
    });
    table.pickAll(false);
    await show();
  }

  function drawTiles() {
    if (!stats) return;
    const tile = (name, value, line, status) =>
      h(
        'a.card.count',
        {
          title: t(`jobs.counts.${status}`),
          href: status ? `/jobs?status=${status}${ns() ? `&ns=${encodeURIComponent(ns())}` : ''}` : null,
        },
        h('span.quiet', {}, name),
        h('b', {}, value),
        h('span.note', {}, line),
      );
    fill(
      tiles,
      tile(
        t('jobs.status.waiting'),
        num(stats.waiting),
        stats.oldestWaitingMs == null
          ? t('jobs.tile.empty')
          : t('jobs.tile.oldest', { age: age(stats.oldestWaitingMs) }),
        'waiting',
      ),
      tile(t('jobs.status.active'), num(stats.active), t('jobs.tile.workers', { n: stats.workers }), 'active'),
      tile(
        t('jobs.status.delayed'),
        num(stats.delayed),
        stats.parked ? t('jobs.tile.parked', { n: stats.parked }) : t('jobs.tile.later'),
        'delayed',
      ),
      tile(
        t('jobs.tile.done'),
        `${num(Number(stats.completedPerSecond.toFixed(1)))}/s`,
        t('jobs.tile.ever', { n: stats.processed }),
        'completed',
      ),
      tile(
        t('jobs.tile.failed'),
        `${num(Number(stats.failedPerSecond.toFixed(1)))}/s`,
        t('jobs.tile.failedever', { n: stats.failed }),
        'failed',
      ),
      h(
        'a.card.count',
        { href: '/jobs/dead', class: stats.dead ? 'bad' : '', title: t('jobs.counts.dead') },
        h('span.quiet', {}, t('jobs.status.dead')),
        h('b', {}, num(stats.dead)),
        h('span.note', {}, t(stats.dead ? 'jobs.tile.look' : 'jobs.tile.nodead')),
      ),
    );
    ctx.digest(t('jobs.digest', { waiting: stats.waiting, active: stats.active, dead: stats.dead }));
  }

  function head() {
    const paused = stats?.paused?.length || 0;
    ctx.head({
      title: t('jobs.title'),
      sentence: !stats
        ? t('state.loading')
        : [
            stats.workers || !stats.waiting
              ? t(stats.active ? 'jobs.say.well' : 'jobs.say.idle', { n: stats.active })
              : t('jobs.say.noworker'),
            paused ? ` ${t('jobs.say.paused', { n: paused })}` : '',
            stats.leader || !stats.cron ? '' : ` ${t('jobs.say.noleader')}`,
          ],
      actions: [
        namespaces(ctx, stats),
        ctx.can('operator') &&
          button({ label: t('jobs.pausea'), icon: 'pause', run: () => pauseType(ctx, ns(), types) }),
        ctx.can('operator') && button({ label: t('jobs.new'), icon: 'plus', kind: 'primary', run: make }),
      ].filter(Boolean),
    });
  }

  async function show() {
    try {
      const page = await load({ cursor: null });
      if (!card.contains(table)) fill(card, table);
      fill(fault);
      table.cursor = page.cursor;
      table.show(page.items, { calm: true });
      for (const x of page.items) if (x.type && !types.includes(x.type)) types = [...types, x.type].sort();
      chips.draw(q, page.cursor ? t('jobs.atleast', { n: page.items.length }) : page.items.length);
      matchAll(page);
    } catch (e) {
      if (!ctx.signal.aborted) fill(fault, errorBox(e, show));
    }
    const flags = [q.type && `--type ${q.type}`, q.status && `--status ${q.status}`, q.text && `--text ${q.text}`];
    ctx.echo({
      cli: ['worldkeep jobs ls', ...flags.filter(Boolean)].join(' '),
      api: `GET ${ctx.api.address('/api/jobs', { ...asked(), limit: 50 })}`,
    });
  }

  /** With a filter, everything it finds can be selected, not only what is on the page.
   *  @param {Api.JobPage} page */
  function matchAll(page) {
    if (!page.cursor || !(q.type || q.status || q.text) || !ctx.can('operator')) {
      delete table.o.pickTotal;
      return;
    }
    const { ns: _, ...filter } = asked();
    table.o.pickTotal = () =>
      ctx.api.post('/api/jobs:bulk', { action: 'any', ...filter, count: true }, { query: { ns: ns() } });
  }

  /** The last minutes come by second and are known after a restart; the day comes from the histories of all. */
  async function lastMinutes() {
    const c = await ctx.api.get('/api/stats/history', { query: { ns: ns(), seconds: 300 }, signal: ctx.signal });
    const every = 5;
    const bins = (list) =>
      Array.from(
        { length: Math.floor(list.length / every) },
        (_, i) => list.slice(i * every, (i + 1) * every).reduce((a, b) => a + (b || 0), 0) / every,
      );
    const at = Array.from({ length: Math.floor(c.at.length / every) }, (_, i) => c.at[i * every]);
    return { at, completed: bins(c.completed), dispatched: bins(c.dispatched), failed: bins(c.failed) };
  }

  async function lastDay() {
    const { from, every_ms, series } = await history('24h');
    const points = (name) =>
      series.find((x) => x.module === 'jobs' && x.name === name && x.scope === stats?.namespace)?.points || [];
    const [completed, dispatched, failed] = ['completed', 'dispatched', 'failed'].map(points);
    return { at: completed.map((_, i) => from + i * every_ms), completed, dispatched, failed };
  }

  async function drawChart() {
    const now = range;
    const seen = await (now === '5m' ? lastMinutes() : lastDay());
    if (now !== range || ctx.signal.aborted) return;
    chart.set({
      at: seen.at,
      series: [
        { id: 'done', name: t('jobs.line.done'), module: 'jobs', points: seen.completed },
        { id: 'in', name: t('jobs.line.in'), points: seen.dispatched, dash: '7 3' },
        { id: 'failed', name: t('jobs.line.failed'), points: seen.failed, dash: '2 3' },
      ],
      label: t('jobs.rate'),
    });
    const p95 = stats?.startedP95Ms;
    details.querySelector('.note').textContent =
      p95 == null ? t('jobs.nostart') : t('jobs.ratep95', { ms: ms(Math.max(p95, 1)) });
  }

  async function learnTypes() {
    const page = await ctx.api.get('/api/queues', { query: { ns: ns() }, signal: ctx.signal });
    types = page.items.map((x) => x.type).filter(Boolean);
    chips.draw(q);
  }

  head();
  learnTypes().catch(() => {});
  poll(ctx, 2000, () => (table.picked.size || table.contains(document.activeElement) ? null : show()));
  poll(ctx, 5000, () => details.open && drawChart());
  return {
    update(_, query) {
      q = query;
      if (ctx.ns !== q.ns) {
        ctx.ns = q.ns;
        refresh();
      }
      if (document.activeElement !== input) input.value = q.text || '';
      return show();
    },
  };
}

const KEY = 'wk.jobs.chart';
function localOpen() {
  try {
    return localStorage.getItem(KEY) !== 'closed';
  } catch {
    return true;
  }
}
function keepOpen(open) {
  try {
    localStorage.setItem(KEY, open ? 'open' : 'closed');
  } catch {
    /* private window */
  }
}
