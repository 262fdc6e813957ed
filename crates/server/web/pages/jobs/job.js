// One job: its life as bars, the flow it belongs to, progress, tries, payload and result, facts, who may run it, the keys
// that hold it.
import { fill, h, icon } from '../../base/dom.js';
import { age, bytes, ms, num, when, whenLong } from '../../base/format.js';
import { rich, t } from '../../base/i18n.js';
import { jsonView } from '../../base/keyview.js';
import { ask, closeDrawer, openDrawer, toast } from '../../base/overlay.js';
import { badge, button, copyButton, empty, errorBox, skeleton } from '../../base/parts.js';
import { explained, withWords, workerLines } from './explain.js';
import { poll, statusBadge } from './frame.js';
import { newJob } from './new.js';
import { drawLife, life } from './timeline.js';
import { drawTree, hasTree } from './tree.js';

const card = (title, id, ...kids) =>
  h('section.card', { 'aria-labelledby': id }, h('header', {}, h('h2', { id }, title)), ...kids);

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const id = ctx.query.id || '';
  const ns = ctx.query.ns || undefined;
  const opts = () => ({ query: { ns }, signal: ctx.signal });
  /** @type {`/api/jobs/${string}`} */
  const path = `/api/jobs/${ctx.api.part(id)}`;
  /** @type {Api.JobAnswer} */
  let found = null;
  let events = [];
  let ended = false;

  const lifeBox = h('div.lifebox');
  const lifeNote = h('span.note');
  const progress = h('div');
  const progressCard = card(t('jobs.progress'), 'j-progress', progress);
  const tree = h('div');
  const treeCard = card(t('jobs.tree'), 'j-tree', tree);
  treeCard.hidden = true;
  const triesBox = h('div');
  const payload = h('div.value');
  const payloadSize = h('span.note');
  const result = h('div.value');
  const resultCard = card(t('jobs.result'), 'j-result', result);
  const facts = h('dl.facts');
  const can = h('div', {}, skeleton(3));
  const keys = h('ul.keylines');
  const whole = h(
    'div.stack',
    { hidden: true },
    h(
      'section.card',
      { 'aria-labelledby': 'j-life' },
      h(
        'header',
        {},
        h('h2', { id: 'j-life' }, t('jobs.life')),
        lifeNote,
        h(
          'span.end.legend',
          {},
          ['waiting', 'active', 'done', 'failed'].map((k) =>
            h('span', {}, h('i', { class: `life life-${k}` }), t(`jobs.life.legend.${k}`)),
          ),
        ),
      ),
      lifeBox,
    ),
    h(
      'div.grid',
      {},
      h(
        'div.stack.w8',
        {},
        treeCard,
        progressCard,
        h(
          'section.card.flush',
          { 'aria-labelledby': 'j-tries' },
          h('header', {}, h('h2', { id: 'j-tries' }, t('jobs.triesname'))),
          triesBox,
        ),
        h(
          'section.card',
          { 'aria-labelledby': 'j-payload' },
          h(
            'header',
            {},
            h('h2', { id: 'j-payload' }, t('jobs.payload')),
            payloadSize,
            h(
              'span.end',
              {},
              copyButton(() => JSON.stringify(found?.job?.payload), t('jobs.payload')),
            ),
          ),
          payload,
        ),
        resultCard,
      ),
      h(
        'div.stack.w4',
        {},
        card(t('jobs.facts'), 'j-facts', facts),
        card(t('jobs.can'), 'j-can', can),
        card(t('jobs.keys'), 'j-keys', keys),
      ),
    ),
  );
  const fault = h('div', {}, skeleton(8));
  fill(root, fault, whole);
  root.classList.add('jobs');

  const act = (verb, body) => ctx.api.post(`${path}:${verb}`, body ?? {}, { query: { ns } });
  const actions = () => {
    if (!found || !ctx.can('operator')) return [];
    const s = found.status;
    const open = ['waiting', 'delayed', 'active', 'cron'].includes(s);
    return [
      s === 'delayed' && button({ label: t('jobs.do.runNow'), icon: 'play', run: () => act('runNow').then(show) }),
      ['failed', 'dead', 'completed'].includes(s) &&
        button({ label: t('jobs.do.retry'), icon: 'loop', kind: 'primary', run: () => act('retry').then(show) }),
      open && s !== 'cron' && button({ label: t('jobs.do.bury'), icon: 'skull', run: () => sure('bury') }),
      open && button({ label: t('jobs.cancelthis'), icon: 'cross', kind: 'danger', run: () => sure('cancel') }),
      !open && button({ label: t('jobs.do.remove'), icon: 'trash', kind: 'danger', run: () => sure('remove') }),
    ];
  };
  const sure = (what) =>
    ask({
      title: t(`jobs.ask.${what}`, { n: 1 }),
      say: t(`jobs.asksay.${what}`),
      command: `worldkeep jobs ${what === 'remove' ? 'rm' : what} ${id}`,
      verb: t(`jobs.verb.${what}`, { n: 1 }),
      run: async () => {
        if (what === 'remove') await ctx.api.del(path, { query: { ns } });
        else await act(what);
        toast(t('jobs.did', { n: 1 }));
      },
    }).then((done) => (done && what === 'remove' ? ctx.router.go('/jobs') : show()));

  /** Why the job does not run, fresh every two seconds until its drawer is closed. */
  const explain = () => {
    const closed = new AbortController();
    const signal = AbortSignal.any([ctx.signal, closed.signal]);
    let drawer = null;
    poll({ signal }, 2000, async () => {
      // Another drawer takes the place of this one without a word.
      if (drawer && !drawer.isConnected) closed.abort();
      const seen = await withWords(ctx.api.get(`${path}/explain`, { ...opts(), signal }));
      if (drawer) fill(drawer.querySelector('.content'), explained(seen));
      else {
        const onclose = () => closed.abort();
        drawer = openDrawer({ title: t('jobs.why.title'), say: id, content: explained(seen), onclose });
      }
    });
  };

  function head() {
    const job = found?.job;
    ctx.head({
      title: job?.type || t('jobs.job'),
      tab: `${job?.type || ''} ${id}`.trim(),
      crumbs: [{ label: t('jobs.title'), href: ns ? `/jobs?ns=${encodeURIComponent(ns)}` : '/jobs' }, { label: id }],
      badges:
        found && [statusBadge(found.status), found.cancelling && badge('paused', t('jobs.stopping'))].filter(Boolean),
      sentence: !found
        ? t('state.loading')
        : found.lock
          ? rich('jobs.tryon', { n: found.tries.used, of: found.tries.allowed, worker: h('b', {}, found.lock.owner) })
          : t('jobs.tryof', { n: found.tries.used, of: found.tries.allowed }),
      actions: found
        ? [
            !ended && button({ label: t('jobs.why.button'), icon: 'help', run: explain }),
            ctx.can('operator') &&
              job &&
              !found.hidden &&
              button({ label: t('jobs.copyedit'), icon: 'pencil', run: () => newJob(ctx, ns, null, job) }),
            ...actions(),
          ].filter(Boolean)
        : [],
    });
    ctx.echo({ cli: `worldkeep jobs get ${id}`, api: `GET ${ctx.api.address(path, { ns })}` });
  }

  function drawFacts() {
    const job = found.job || {};
    const rows = [];
    const row = (name, value) => value != null && rows.push(h('dt', {}, name), h('dd', {}, value));
    row(t('jobs.priority'), t(job.priority >= 7 ? 'jobs.fact.front' : 'jobs.fact.back', { n: job.priority }));
    row(t('jobs.fact.created'), job.createdAt && h('time', { title: whenLong(job.createdAt) }, when(job.createdAt)));
    row(t('jobs.fact.runs'), found.runAt && h('time', { title: whenLong(found.runAt) }, when(found.runAt)));
    const retry = job.retry || {};
    const backoff = retry.backoff || { type: 'exponential', delay: 2000 };
    row(
      t('jobs.fact.retry'),
      t(`jobs.fact.retry.${backoff.type}`, { n: retry.attempts ?? 3, age: ms(backoff.delay ?? 2000) }),
    );
    const target = job.target || {};
    const parts = ['server', 'stack', 'region', 'capabilities']
      .filter((k) => target[k]?.length)
      .map((k) => `${t(`jobs.fact.${k}`)} ${[target[k]].flat().join(', ')}`);
    row(t('jobs.fact.target'), parts.length ? parts.join(' · ') : t('jobs.fact.any'));
    const limit = job.rateLimit || {};
    const limits = [
      limit.maxConcurrent && t('jobs.fact.concurrent', { n: limit.maxConcurrent }),
      limit.maxPerMinute && t('jobs.fact.minute', { n: limit.maxPerMinute }),
    ].filter(Boolean);
    row(t('jobs.limit'), limits.length ? limits.join(', ') : t('jobs.nolimit'));
    row(t('jobs.fact.waitsfor'), found.waitsFor?.length ? found.waitsFor.join(', ') : null);
    row(t('jobs.fact.recoveries'), found.recoveries > 0 ? num(found.recoveries) : null);
    row(t('jobs.fact.unique'), job.x?.uniqueKey);
    row(t('jobs.fact.trace'), job.x?.traceparent && h('span.mono', {}, job.x.traceparent));
    fill(facts, rows);
  }

  function drawTries(lived) {
    if (!lived.tries.length) {
      fill(triesBox, h('p.pad.quiet', {}, t('jobs.notries')));
      return;
    }
    const errors = found.result?.error;
    fill(
      triesBox,
      h(
        'table.t',
        {},
        h('caption.said', {}, t('jobs.triesname')),
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            [t('jobs.try'), t('jobs.worker'), t('jobs.outcome')].map((x) => h('th', { scope: 'col' }, x)),
            [t('jobs.ran'), t('jobs.waited')].map((x) => h('th.num', { scope: 'col' }, x)),
          ),
        ),
        h(
          'tbody',
          {},
          [...lived.tries]
            .reverse()
            .map((x, i) =>
              h(
                'tr',
                {},
                h('td', {}, num(x.n)),
                h('td.mono', {}, x.worker || '–'),
                h(
                  'td',
                  {},
                  x.outcome === 'active'
                    ? statusBadge('active')
                    : x.good
                      ? statusBadge('completed')
                      : badge('bad', x.outcome),
                  i === 0 &&
                    !x.good &&
                    x.outcome !== 'active' &&
                    errors?.message &&
                    h('span.quiet', {}, ` ${errors.message.split('\n')[0]}`),
                ),
                h('td.num', {}, ms((x.to ?? Date.now()) - x.from)),
                h('td.num', {}, x.waited == null ? '–' : ms(x.waited)),
              ),
            ),
        ),
      ),
    );
  }

  function draw() {
    fill(fault);
    whole.hidden = false;
    const job = found.job;
    ended = ['completed', 'failed', 'dead'].includes(found.status);
    const running =
      found.status === 'active' ? { from: found.claimedAt ?? Date.now(), worker: found.lock?.owner } : null;
    const lived = life(events, Date.now(), running);
    if (!lived.spans.length && job?.createdAt)
      lived.spans.push({
        kind: ended ? (found.status === 'completed' ? 'done' : 'failed') : 'waiting',
        from: job.createdAt,
        to: found.result?.completedAt ?? Date.now(),
        try: 1,
      });
    drawLife(lifeBox, lived, found.lock?.ttlMs > 0 && running ? Date.now() + found.lock.ttlMs : null);
    lifeNote.textContent = job?.createdAt ? t('jobs.life.since', { age: age(Date.now() - job.createdAt) }) : '';
    const p = found.progress;
    progressCard.hidden = !p;
    if (p)
      fill(
        progress,
        h(
          'div.bigprogress',
          {},
          h(
            'span.bar',
            {
              role: 'progressbar',
              'aria-valuenow': Math.round(p.percent),
              'aria-valuemin': 0,
              'aria-valuemax': 100,
              'aria-label': t('jobs.progress'),
            },
            h('i', { vars: { '--f': (p.percent || 0) / 100 } }),
          ),
          h('b', {}, `${num(Math.round(p.percent || 0))} %`),
        ),
        p.message && h('p.quiet', {}, p.message),
        p.data !== undefined && h('details', {}, h('summary', {}, t('jobs.checkpoint')), jsonView(p.data)),
      );
    drawTries(lived);
    if (found.hidden) fill(payload, h('p.hiddenvalue', {}, icon('lock', { class: 's' }), t('jobs.hidden')));
    else fill(payload, jsonView(typeof job === 'string' ? job : JSON.stringify(job?.payload ?? null)));
    payloadSize.textContent = found.hidden
      ? ''
      : bytes(new TextEncoder().encode(JSON.stringify(job?.payload ?? null)).length);
    resultCard.hidden = !found.result;
    if (found.result)
      fill(
        result,
        found.result.success === false
          ? [
              h(
                'p.bad',
                {},
                h('b', {}, found.result.error?.name || ''),
                found.result.error?.message ? ` · ${found.result.error.message}` : '',
              ),
              found.result.error?.stack &&
                h(
                  'details',
                  {},
                  h('summary', {}, t('jobs.stack')),
                  h('pre', { tabindex: '0' }, found.result.error.stack),
                ),
            ]
          : jsonView(JSON.stringify(found.result.data ?? null)),
        h('p.note', {}, `${when(found.result.completedAt)} · ${ms(found.result.processingTime)}`),
      );
    drawFacts();
    fill(
      keys,
      found.keys.map((k) => h('li', {}, h('a.mono.cut', { href: `/keys?key=${encodeURIComponent(k)}`, title: k }, k))),
    );
    head();
  }

  let asked = 0;
  async function show() {
    try {
      found = await ctx.api.get(path, opts());
    } catch (e) {
      if (e.status === 404) {
        whole.hidden = true;
        fill(
          fault,
          empty({
            glyph: 'jobs',
            title: t('jobs.gone'),
            say: t('jobs.gonesay'),
            action: h('a.btn', { href: '/jobs' }, t('jobs.all')),
          }),
        );
        ctx.head({ title: t('jobs.job'), sentence: id, actions: [] });
        return;
      }
      throw e;
    }
    if (asked++ % 2 === 0) events = (await ctx.api.get(`${path}/timeline`, opts())).items;
    draw();
    if (asked % 2 === 1 && hasTree(found.job)) {
      treeCard.hidden = false;
      drawTree(tree, await ctx.api.get(`${path}/tree`, opts()), ns);
    }
    if (ended) fill(can, h('p.quiet', {}, t('jobs.can.ended')));
    else if (asked % 3 === 1) fill(can, workerLines(await withWords(ctx.api.get(`${path}/explain`, opts()))));
  }
  head();
  poll(
    ctx,
    1000,
    () => (ended && asked > 1 && asked++ % 5 ? null : show()),
    (e) => !found && fill(fault, errorBox(e, show)),
  );
  return { unmount: () => closeDrawer(false) };
}
