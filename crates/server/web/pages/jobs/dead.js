// Dead letters by reason: requeue one, a reason or all; edit a payload beside the old one and requeue.
import { fill, h, icon } from '../../base/dom.js';
import { age, shortId, when } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { ask, menu, toast } from '../../base/overlay.js';
import { badge, button, empty, errorBox, skeleton } from '../../base/parts.js';
import { frame, jobHref, namespaces, poll, tries } from './frame.js';

/** A payload in a line: `to list:weekly, template invoice`. */
export function gist(payload) {
  if (payload == null || typeof payload !== 'object') return payload == null ? '' : String(payload);
  const entries = Object.entries(payload).filter(([, v]) => v == null || typeof v !== 'object');
  return entries
    .slice(0, 4)
    .map(([k, v]) => `${k} ${v}`)
    .join(', ')
    .slice(0, 90);
}

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  /** @type {Api.Numbers} */
  let stats = null;
  /** @type {Api.DlqGroup[]} */
  let groups = null;
  let total = 0;
  let q = ctx.query;
  const open = new Set(q.error ? [q.error] : []);
  const letters = new Map();
  const { body, ns } = frame(root, ctx, 'dead', (n) => {
    stats = n;
    head();
  });
  const list = h('div.stack', {}, skeleton(6));
  const fault = h('div');
  fill(body, fault, list, h('p.hintcard', {}, icon('help', { class: 's' }), t('jobs.dead.hint')));

  const call = (method, path, data) =>
    method === 'DELETE'
      ? ctx.api.del(path, { query: { ns: ns() }, body: data })
      : ctx.api.post(path, data, { query: { ns: ns() } });

  /** Requeues or deletes after the count was seen. */
  async function act(kind, pick, title) {
    const [method, path] = kind === 'requeue' ? ['POST', '/api/dlq:requeue'] : ['DELETE', '/api/dlq'];
    const { count } = await call(method, path, { ...pick, count: true });
    await ask({
      title: title || t(`jobs.dead.ask.${kind}`, { n: count }),
      say: t(`jobs.dead.say.${kind}`),
      command: `worldkeep jobs dlq ${kind === 'requeue' ? 'requeue' : 'purge'} ${flags(pick)}`,
      verb: t(`jobs.dead.verb.${kind}`, { n: count }),
      danger: kind !== 'requeue',
      count,
      run: async () => {
        const done = await call(method, path, pick);
        toast(t(`jobs.dead.did.${kind}`, { n: done.count }), { glyph: kind === 'requeue' ? 'loop' : 'trash' });
      },
    });
    await show();
  }
  const flags = (pick) =>
    pick.all ? '--all' : pick.error ? `--error ${pick.error}` : pick.type ? `--type ${pick.type}` : pick.ids.join(' ');

  async function edit(x) {
    const found = await ctx.api.get(`/api/jobs/${ctx.api.part(x.jobId)}`, { query: { ns: ns() } });
    if (found.hidden) {
      await ask({ title: t('jobs.dead.hidden'), say: found.hidden, verb: t('action.close'), danger: false });
      return;
    }
    const old = JSON.stringify(found.job?.payload ?? found.job, null, 2);
    const area = h('textarea', { rows: 12, spellcheck: 'false', 'aria-label': t('jobs.dead.new') });
    area.value = old;
    await ask({
      title: t('jobs.dead.edittitle', { id: shortId(x.jobId) }),
      say: t('jobs.dead.editsay'),
      content: h(
        'div.pair.wide',
        {},
        h('div.field', {}, h('label', {}, t('jobs.dead.old')), h('pre.json', { tabindex: '0' }, old)),
        h('div.field', {}, h('label', {}, t('jobs.dead.new')), area),
      ),
      verb: t('jobs.dead.editverb'),
      danger: false,
      run: async () => {
        const payload = JSON.parse(area.value);
        await call('POST', `/api/dlq/${ctx.api.part(x.jobId)}:edit`, { payload });
        toast(t('jobs.dead.did.requeue', { n: 1 }), { glyph: 'loop' });
      },
    });
    await show();
  }

  /** @param {Api.JobItem & {gist?: string}} x */
  function row(x) {
    return h(
      'li.letter',
      {},
      h('a.mono', { href: jobHref(x.jobId, ns()), title: x.jobId }, shortId(x.jobId)),
      h('span.quiet.cut', { title: x.error?.message || '' }, x.gist || x.error?.message || x.type || '–'),
      h('span.num', {}, tries(x)),
      h('span.num', { title: when(x.endedAt) }, x.endedAt ? age(Date.now() - x.endedAt) : '–'),
      ctx.can('operator') &&
        h(
          'span.acts',
          {},
          button({ label: t('jobs.dead.edit'), icon: 'pencil', kind: 'quiet', small: true, run: () => edit(x) }),
          button({ label: t('jobs.dead.requeue'), small: true, run: () => act('requeue', { ids: [x.jobId] }) }),
        ),
    );
  }

  /** @param {Api.DlqGroup} g */
  function groupCard(g) {
    const shown = open.has(g.error);
    const id = `dead-${groups.indexOf(g)}`;
    const newest = g.newest?.endedAt;
    const twist = h(
      'button.twistrow',
      {
        type: 'button',
        'aria-expanded': String(shown),
        'aria-controls': id,
        on: { click: () => toggle(g) },
      },
      icon(shown ? 'down' : 'right', { class: 's' }),
      h(
        'span.what',
        {},
        h('b', {}, g.error),
        ' ',
        badge('dead', t('jobs.dead.n', { n: g.count })),
        ' ',
        h('span.quiet', {}, g.types.join(', ')),
        g.message && h('span.line.quiet', {}, g.message),
      ),
    );
    const more = button({
      icon: 'more',
      kind: 'quiet',
      small: true,
      title: t('jobs.more'),
      run: (e) =>
        menu(e.currentTarget || more, [
          {
            label: t('jobs.dead.verb.delete', { n: g.count }),
            icon: 'trash',
            run: () => act('delete', { error: g.error }),
          },
        ]),
    });
    return h(
      'section.card.flush.group',
      {},
      h(
        'header',
        {},
        twist,
        h('span.note', {}, newest ? t('jobs.dead.last', { age: age(Date.now() - newest) }) : ''),
        ctx.can('operator') &&
          button({
            label: t('jobs.dead.verb.requeue', { n: g.count }),
            icon: 'loop',
            run: () => act('requeue', { error: g.error }),
          }),
        ctx.can('operator') && more,
      ),
      h('ul.letters', { id, hidden: !shown }, (letters.get(g.error) || []).map(row)),
    );
  }

  async function toggle(g) {
    if (open.has(g.error)) open.delete(g.error);
    else {
      open.add(g.error);
      await loadLetters(g.error);
    }
    draw();
  }

  async function loadLetters(error) {
    const page = await ctx.api.get('/api/dlq', { query: { ns: ns(), error, limit: 100 }, signal: ctx.signal });
    const items = /** @type {(Api.JobItem & {gist?: string})[]} */ (page.items);
    letters.set(error, items);
    // A line of the payload says more than an id; asked for what is shown only.
    await Promise.all(
      items.slice(0, 20).map(async (x) => {
        const found = await ctx.api
          .get(`/api/jobs/${ctx.api.part(x.jobId)}`, { query: { ns: ns() } })
          .catch(() => null);
        x.gist = gist(found?.job?.payload);
      }),
    );
  }

  function draw() {
    if (!groups) return;
    if (!groups.length) {
      fill(list, empty({ glyph: 'tick', title: t('jobs.dead.none'), say: t('jobs.dead.nonesay') }));
      return;
    }
    fill(list, groups.map(groupCard));
  }

  function head() {
    const first = groups?.[0];
    ctx.head({
      title: groups?.length
        ? `${t('jobs.dead.title', { n: total })}, ${t('jobs.dead.reasons', { n: groups.length })}`
        : t('jobs.tab.dead'),
      sentence: !groups
        ? t('state.loading')
        : first
          ? t('jobs.dead.first', { n: first.count, error: first.error })
          : t('jobs.dead.nonesay'),
      actions: [
        namespaces(ctx, stats),
        ctx.can('operator') &&
          total > 0 &&
          button({ label: t('jobs.dead.deleteall'), icon: 'trash', run: () => act('delete', { all: true }) }),
        ctx.can('operator') &&
          total > 0 &&
          button({
            label: t('jobs.dead.verb.requeue', { n: total }),
            icon: 'loop',
            kind: 'primary',
            run: () => act('requeue', { all: true }),
          }),
      ].filter(Boolean),
    });
    ctx.echo({
      cli: 'worldkeep jobs dlq ls --group error',
      api: `GET ${ctx.api.address('/api/dlq', { ns: ns(), group: 'error' })}`,
    });
  }

  let seen = '';
  async function show() {
    const page = await ctx.api.get('/api/dlq', { query: { ns: ns(), group: 'error' }, signal: ctx.signal });
    groups = /** @type {Api.DlqGroup[]} */ (page.items);
    total = page.total;
    const mark = JSON.stringify(groups.map((g) => [g.error, g.count]));
    fill(fault);
    head();
    // Same letters, same elements: nothing jumps under the pointer.
    if (mark === seen) return;
    seen = mark;
    await Promise.all(groups.filter((g) => open.has(g.error)).map((g) => loadLetters(g.error)));
    draw();
  }
  head();
  poll(ctx, 3000, show, (e) => fill(fault, errorBox(e, show)));
  return {
    update(_, query) {
      q = query;
    },
  };
}
