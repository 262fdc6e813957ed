// Types of jobs: counts, limits, pause and purge, and how long they wait and take.
import { asTable } from '../../base/charts.js';
import { fill, h } from '../../base/dom.js';
import { ms, num, when } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { ask, closeDrawer, openDrawer, toast } from '../../base/overlay.js';
import { badge, button, empty, errorBox, skeleton } from '../../base/parts.js';
import '../../base/table.js';
import { frame, namespaces, poll } from './frame.js';

const HOLDS = [
  { id: 'forever', ms: null },
  { id: '15m', ms: 15 * 60000 },
  { id: '1h', ms: 3600000 },
  { id: '1d', ms: 86400000 },
];

/** Asks which type to pause and for how long.
 *  @param {Wk.Context} ctx @param {string} ns @param {string[]} types @param {string} [given] */
export async function pauseType(ctx, ns, types, given) {
  const id = (x) => `jobs-type-${x}`;
  const pick = h(
    'select',
    { id: id('name') },
    h('option', { value: '*' }, t('jobs.pause.all')),
    types.map((x) => h('option', { value: x, selected: x === given }, x)),
  );
  const how = h(
    'select',
    { id: id('long') },
    HOLDS.map((x) => h('option', { value: x.id }, t(`jobs.pause.${x.id}`))),
  );
  return ask({
    title: t('jobs.pause.title'),
    say: t('jobs.pause.say'),
    content: h(
      'div.pair',
      {},
      h('div.field', {}, h('label', { for: id('name') }, t('jobs.type')), pick),
      h('div.field', {}, h('label', { for: id('long') }, t('jobs.pause.long')), how),
    ),
    verb: t('jobs.pause.verb'),
    danger: false,
    run: async () => {
      const hold = HOLDS.find((x) => x.id === how.value);
      const path = `/api/queues/${ctx.api.part(pick.value)}:pause`;
      await ctx.api.post(path, hold.ms ? { forMs: hold.ms } : {}, { query: { ns } });
      const type = pick.value;
      toast(t('jobs.pause.done', { type: type === '*' ? t('jobs.pause.all') : type }), {
        glyph: 'pause',
        action: t('jobs.resume'),
        run: () => ctx.api.post(`/api/queues/${ctx.api.part(type)}:resume`, {}, { query: { ns } }),
      });
    },
  });
}

const PERIODS = ['1', '10', '60', '3600', '86400'];

/** Asks for the limit on a type or a group and sets it; empty fields are no limit.
 *  @param {Wk.Context} ctx @param {string} ns @param {string} name @param {string} where @param {Api.SetLimit} [limit] */
async function setLimit(ctx, ns, name, where, limit) {
  const id = (x) => `jobs-limit-${x}`;
  const set = /** @type {Api.SetLimit} */ (limit ?? {});
  const number = (name, value) =>
    h('input', { id: id(name), type: 'number', min: '1', inputmode: 'numeric', value: value ?? '' });
  const most = number('most', set.concurrency);
  const rate = number('rate', set.rate);
  const seconds = String((set.periodMs ?? 60000) / 1000);
  const period = h(
    'select',
    { id: id('period') },
    [...new Set([...PERIODS, seconds])].map((x) =>
      h('option', { value: x, selected: x === seconds }, t('jobs.setlimit.seconds', { n: x })),
    ),
  );
  const path = `/api/${where}/${ctx.api.part(name)}:limit`;
  return ask({
    title: t('jobs.setlimit.title', { type: name }),
    say: t('jobs.setlimit.say'),
    command: `POST ${path}`,
    content: h(
      'div.pair',
      {},
      h('div.field', {}, h('label', { for: id('most') }, t('jobs.setlimit.most')), most),
      h('div.field', {}, h('label', { for: id('rate') }, t('jobs.setlimit.rate')), rate),
      h('div.field', {}, h('label', { for: id('period') }, t('jobs.setlimit.period')), period),
    ),
    verb: t('jobs.setlimit.verb'),
    danger: false,
    run: async () => {
      const body = {};
      if (most.value) body.concurrency = Number(most.value);
      if (rate.value) Object.assign(body, { rate: Number(rate.value), periodMs: Number(period.value) * 1000 });
      await ctx.api.post(path, body, { query: { ns } });
      const key = most.value || rate.value ? 'jobs.setlimit.done' : 'jobs.setlimit.gone';
      toast(t(key, { type: name }));
    },
  });
}

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  /** @type {Api.Numbers} */
  let stats = null;
  /** @type {Api.TypeRow[]} */
  let rows = [];
  let q = ctx.query;
  const { body, ns } = frame(root, ctx, 'types', (n) => {
    stats = n;
    head();
  });
  const card = h('section.card.flush', { 'aria-label': t('jobs.tab.types') }, skeleton(6));
  const groups = h('section.card.flush', { 'aria-label': t('jobs.groups'), hidden: true });
  fill(body, card, groups);
  const table = h('wk-table').setup({
    label: t('jobs.tab.types'),
    key: (/** @type {Api.TypeRow} */ x) => x.type,
    open: (x) => ctx.router.setQuery({ type: x.type }, { push: true }),
    sort: { id: 'type', down: false },
    columns: [
      { id: 'type', name: t('jobs.type'), sort: true, cell: (x) => h('b', {}, x.type) },
      {
        id: 'state',
        name: t('jobs.state'),
        cell: (x) =>
          x.paused
            ? badge(
                'paused',
                x.pausedUntil ? t('jobs.pause.until', { at: when(x.pausedUntil) }) : t('jobs.pause.paused'),
              )
            : badge('ok', t('jobs.pause.flows')),
      },
      ...['waiting', 'active', 'delayed', 'dead'].map((id) => ({
        id,
        name: t(`jobs.status.${id}`),
        num: true,
        sort: true,
        cell: (x) => num(x[id]),
      })),
      { id: 'limit', name: t('jobs.limit'), wide: true, cell: limits },
    ],
    empty: () =>
      empty({
        glyph: 'jobs',
        title: t('jobs.notypes'),
        say: t('jobs.notypessay'),
        command: 'worldkeep jobs dispatch TYPE',
      }),
  });

  /** @param {Api.TypeRow} x */
  function limits(x) {
    const { maxConcurrent, maxPerMinute } = x.limits;
    const { concurrency, rate, periodMs } = /** @type {Api.SetLimit} */ (x.limit ?? {});
    if (!maxConcurrent && !maxPerMinute && !x.limit) return h('span.quiet', {}, t('jobs.nolimit'));
    const bar = (used, most, key, more = {}) =>
      h(
        'span.limit',
        {},
        h('span.bar', { class: used >= most ? 'full' : '' }, h('i', { vars: { '--f': Math.min(1, used / most) } })),
        t(key, { used, most, ...more }),
      );
    return h(
      'span.limits',
      {},
      maxConcurrent && bar(x.active, maxConcurrent, 'jobs.limit.concurrent'),
      maxPerMinute && bar(x.thisMinute, maxPerMinute, 'jobs.limit.minute'),
      concurrency && bar(x.active, concurrency, 'jobs.setlimit.concurrent'),
      rate && bar(x.thisPeriod, rate, 'jobs.setlimit.inperiod', { period: ms(periodMs) }),
    );
  }

  const groupTable = h('wk-table').setup({
    label: t('jobs.groups'),
    key: (/** @type {Api.GroupRow} */ x) => x.group,
    open: (x) => (ctx.can('operator') ? setLimit(ctx, ns(), x.group, 'groups', x.limit).then(show) : Promise.resolve()),
    sort: { id: 'group', down: false },
    columns: [
      { id: 'group', name: t('jobs.group'), sort: true, cell: (x) => h('b', {}, x.group) },
      { id: 'waiting', name: t('jobs.status.waiting'), num: true, sort: true, cell: (x) => num(x.waiting) },
      { id: 'running', name: t('jobs.status.active'), num: true, sort: true, cell: (x) => num(x.running) },
      { id: 'limit', name: t('jobs.limit'), wide: true, cell: (x) => groupLimit(x.limit) },
    ],
    empty: () => empty({ glyph: 'jobs', title: t('jobs.groups'), say: t('jobs.nolimit') }),
  });

  /** @param {Api.SetLimit} [limit] */
  function groupLimit(limit) {
    if (!limit) return h('span.quiet', {}, t('jobs.nolimit'));
    const { concurrency, rate, periodMs } = limit;
    const words = [
      concurrency && t('jobs.group.most', { most: concurrency }),
      rate && t('jobs.group.rate', { most: rate, period: ms(periodMs) }),
    ];
    return h('span', {}, words.filter(Boolean).join(', '));
  }

  const resume = async (type) => {
    await ctx.api.post(`/api/queues/${ctx.api.part(type)}:resume`, {}, { query: { ns: ns() } });
    await show();
  };

  async function purge(type) {
    const path = `/api/queues/${ctx.api.part(type)}:purge`;
    const { count } = await ctx.api.post(path, { count: true }, { query: { ns: ns() } });
    await ask({
      title: t('jobs.purge.title', { n: count, type }),
      say: t('jobs.purge.say'),
      command: `POST ${path}`,
      verb: t('jobs.verb.remove', { n: count }),
      count,
      run: async () => {
        const done = await ctx.api.post(path, {}, { query: { ns: ns() } });
        toast(t('jobs.did', { n: done.count }));
      },
    });
    await show();
  }

  async function open(type) {
    const x = await ctx.api.get(`/api/queues/${ctx.api.part(type)}`, { query: { ns: ns() }, signal: ctx.signal });
    const chart = (counts, label) => {
      const el = h('wk-histogram');
      el.style.height = '9rem';
      const bins = x.boundsMs.map((to, i) => ({ to, n: counts[i] }));
      const total = counts.reduce((a, b) => a + b, 0);
      if (!total) return h('section', {}, h('h3', {}, label), h('p.quiet', {}, t('jobs.nodata')));
      const at = (share) => {
        let seen = 0;
        for (const b of bins) {
          seen += b.n;
          if (seen >= share * total) return b.to;
        }
        return bins.at(-1).to;
      };
      const box = h('section', {}, h('div.cardhead', {}, h('h3', {}, label), h('span.end', {}, asTable(el))), el);
      requestAnimationFrame(() =>
        el.set({
          bins,
          format: ms,
          label,
          marks: [
            { name: 'p50', value: at(0.5) },
            { name: 'p99', value: at(0.99) },
          ],
        }),
      );
      return box;
    };
    openDrawer({
      title: type,
      say: t('jobs.typesay', { waiting: x.waiting, active: x.active, dead: x.dead }),
      content: [
        limits(x),
        chart(x.seen.latency, t('jobs.hist.latency')),
        chart(x.seen.duration, t('jobs.hist.duration')),
        h(
          'dl.facts',
          {},
          ['dispatched', 'completed', 'failed', 'dead'].flatMap((k) => [
            h('dt', {}, t(`jobs.seen.${k}`)),
            h('dd', {}, num(x.seen[k])),
          ]),
        ),
        h('p', {}, h('a.link', { href: `/jobs?type=${encodeURIComponent(type)}` }, t('jobs.seejobs'))),
      ],
      actions: ctx.can('operator') && [
        x.paused
          ? button({
              label: t('jobs.resume'),
              icon: 'play',
              kind: 'primary',
              run: () => resume(type).then(() => open(type)),
            })
          : button({
              label: t('jobs.pause.verb'),
              icon: 'pause',
              run: () =>
                pauseType(
                  ctx,
                  ns(),
                  rows.map((r) => r.type),
                  type,
                ).then(() => open(type)),
            }),
        button({
          label: t('jobs.setlimit'),
          run: () =>
            setLimit(ctx, ns(), type, 'queues', x.limit)
              .then(show)
              .then(() => open(type)),
        }),
        button({ label: t('jobs.purge'), icon: 'trash', kind: 'danger', run: () => purge(type) }),
      ],
      onclose: () => ctx.router.setQuery({ type: null }),
    });
  }

  function head() {
    const n = rows.length;
    const paused = rows.filter((x) => x.paused).length;
    ctx.head({
      title: t('jobs.typestitle', { n }),
      sentence: paused ? t('jobs.say.paused', { n: paused }) : t('jobs.typesflow'),
      actions: [
        namespaces(ctx, stats),
        ctx.can('operator') &&
          button({
            label: t('jobs.pausea'),
            icon: 'pause',
            run: () =>
              pauseType(
                ctx,
                ns(),
                rows.map((r) => r.type),
              ).then(show),
          }),
      ].filter(Boolean),
    });
    ctx.echo({ cli: 'worldkeep jobs queues', api: `GET ${ctx.api.address('/api/queues', { ns: ns() })}` });
  }

  async function show() {
    const page = await ctx.api.get('/api/queues', { query: { ns: ns() }, signal: ctx.signal });
    rows = page.items;
    if (!card.contains(table)) fill(card, table);
    table.show(rows);
    const { items } = await ctx.api.get('/api/groups', { query: { ns: ns() }, signal: ctx.signal });
    groups.hidden = !items.length;
    if (items.length && !groups.contains(groupTable)) fill(groups, groupTable);
    groupTable.show(items);
    head();
  }
  head();
  poll(ctx, 2000, show, (e) => fill(card, errorBox(e, show)));
  if (q.type) open(q.type).catch(() => {});
  return {
    update(_, query) {
      const was = q.type;
      q = query;
      if (q.type === was) return undefined;
      return q.type ? open(q.type) : closeDrawer(false);
    },
    unmount: () => closeDrawer(false),
  };
}
