// Workers: who is alive, what each runs and can do, and asking one to be quiet or to stop.
import { fill, h } from '../../base/dom.js';
import { age, num } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { ask, toast } from '../../base/overlay.js';
import { badge, button, empty, errorBox, skeleton } from '../../base/parts.js';
import '../../base/table.js';
import { frame, idTag, jobHref, namespaces, poll } from './frame.js';

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  /** @type {Api.Numbers} */
  let stats = null;
  /** @type {Api.WorkerPage} */
  let page = null;
  const { body, ns } = frame(root, ctx, 'workers', (n) => {
    stats = n;
    head();
  });
  const card = h('section.card.flush', { 'aria-label': t('jobs.tab.workers') }, skeleton(5));
  const leader = h('section.card', { 'aria-labelledby': 'w-lead' });
  fill(body, card, leader);

  const tell = (x, verb) =>
    ask({
      title: t(`jobs.worker.${verb}title`, { id: x.serverId }),
      say: t(`jobs.worker.${verb}say`),
      command: `worldkeep jobs workers ${verb} ${x.serverId}`,
      verb: t(`jobs.worker.${verb}`),
      danger: verb === 'stop',
      run: async () => {
        await ctx.api.post(`/api/workers/${ctx.api.part(x.serverId)}:${verb}`, {}, { query: { ns: ns() } });
        toast(t('jobs.worker.told', { id: x.serverId }));
      },
    });

  const state = (x) => {
    if (!x.alive) return badge('bad', t('jobs.worker.dead'));
    if (x.asked) return badge('paused', t(`jobs.worker.asked.${x.asked}`));
    return badge('ok', t('jobs.worker.alive'));
  };
  const running = (x) => x.jobs || [];
  const table = h('wk-table').setup({
    label: t('jobs.tab.workers'),
    key: (/** @type {Api.WorkerItem} */ x) => x.serverId,
    columns: [
      { id: 'serverId', name: t('jobs.worker'), cell: (x) => h('b.mono', {}, x.serverId) },
      { id: 'state', name: t('jobs.state'), cell: state },
      {
        id: 'seen',
        name: t('jobs.worker.seen'),
        num: true,
        cell: (x) => (x.seenAt ? age(Date.now() - x.seenAt) : '–'),
      },
      {
        id: 'stack',
        name: t('jobs.worker.stack'),
        cell: (x) => [x.stack, !x.ours && ' ', !x.ours && badge('warn', t('jobs.worker.foreign'))].filter(Boolean),
      },
      { id: 'region', name: t('jobs.worker.region'), cell: (x) => x.region || '–' },
      {
        id: 'can',
        name: t('jobs.worker.can'),
        cell: (x) => h('span.quiet', {}, (x.capabilities || []).join(', ') || '–'),
      },
      {
        id: 'runs',
        name: t('jobs.worker.runs'),
        wide: true,
        cell: (x) =>
          h(
            'span.limits',
            {},
            x.concurrency
              ? h(
                  'span.limit',
                  {},
                  h('span.bar', {}, h('i', { vars: { '--f': Math.min(1, running(x).length / x.concurrency) } })),
                  t('jobs.worker.slots', { used: running(x).length, most: x.concurrency }),
                )
              : num(running(x).length),
            running(x)
              .slice(0, 4)
              .map((id) => h('a', { href: jobHref(id, ns()) }, idTag(id))),
          ),
      },
      {
        id: 'act',
        name: h('span.said', {}, t('jobs.more')),
        cell: (x) =>
          ctx.can('operator') && x.alive && x.ours
            ? h(
                'span.acts',
                {},
                button({ label: t('jobs.worker.quiet'), small: true, run: () => tell(x, 'quiet') }),
                button({ label: t('jobs.worker.stop'), small: true, kind: 'danger', run: () => tell(x, 'stop') }),
              )
            : '',
      },
    ],
    empty: () =>
      empty({
        glyph: 'bolt',
        title: t('jobs.worker.none'),
        say: t('jobs.worker.nonesay'),
        command: 'cargo run --example worker',
      }),
  });

  function head() {
    const foreign = page?.items.filter((x) => x.alive && !x.ours).length || 0;
    ctx.head({
      title: t('jobs.worker.title', { n: page?.alive ?? stats?.workers ?? 0 }),
      sentence: foreign ? t('jobs.worker.foreignsay', { n: foreign }) : t('jobs.worker.say'),
      actions: [namespaces(ctx, stats)].filter(Boolean),
    });
    ctx.echo({ cli: 'worldkeep jobs workers', api: `GET ${ctx.api.address('/api/workers', { ns: ns() })}` });
    const l = stats?.leader;
    fill(
      leader,
      h('header', {}, h('h2', { id: 'w-lead' }, t('jobs.leader'))),
      l
        ? h(
            'dl.facts',
            {},
            ['id', 'host', 'pid'].flatMap((k) =>
              l[k] == null ? [] : [h('dt', {}, t(`jobs.leader.${k}`)), h('dd.mono', {}, String(l[k]))],
            ),
            l.since != null && [h('dt', {}, t('jobs.leader.since')), h('dd', {}, age(Date.now() - l.since))],
          )
        : h('p.quiet', {}, t('jobs.leader.none')),
    );
  }
  async function show() {
    page = await ctx.api.get('/api/workers', { query: { ns: ns() }, signal: ctx.signal });
    if (!card.contains(table)) fill(card, table);
    table.show(page.items);
    head();
  }
  head();
  poll(
    ctx,
    2000,
    () => (card.querySelector('.acts :focus') ? null : show()),
    (e) => fill(card, errorBox(e, show)),
  );
}
