// Recurring jobs: what they are in words, when they fire next in their zone and in UTC, fire now, add with a preview.
import { fill, h, icon } from '../../base/dom.js';
import { age, ms, when, whenLong } from '../../base/format.js';
import { need, t } from '../../base/i18n.js';
import { ask, closeDrawer, openDrawer, toast } from '../../base/overlay.js';
import { badge, button, empty, errorBox, field, sayError, skeleton } from '../../base/parts.js';
import { said, sentence } from '../../base/said.js';
import { frame, jobHref, namespaces, poll, statusBadge } from './frame.js';

/** `2026-03-29T03:30:00+02:00` → `29 Mar 03:30` as it is written there, whatever the reader's own zone. */
export function wall(text) {
  const hit = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d)(:\d\d)?/.exec(text || '');
  if (!hit) return text || '–';
  const month = new Intl.DateTimeFormat(document.documentElement.lang || 'en', {
    month: 'short',
    timeZone: 'UTC',
  }).format(new Date(Date.UTC(Number(hit[1]), Number(hit[2]) - 1, 1)));
  const seconds = hit[5] && hit[5] !== ':00' ? hit[5] : '';
  return `${Number(hit[3])} ${month} ${hit[4]}${seconds}`;
}

function firings(items, zone) {
  return h(
    'table.t.firings',
    {},
    h('caption.said', {}, t('jobs.cron.next')),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, zone),
        h('th', { scope: 'col' }, 'UTC'),
        h('th.num', { scope: 'col' }, t('jobs.delayed.in')),
        h('th', {}),
      ),
    ),
    h(
      'tbody',
      {},
      items.map((f) =>
        h(
          'tr',
          {},
          h('td', { title: f.local }, wall(f.local)),
          h('td.quiet', { title: f.utc }, wall(f.utc)),
          h('td.num', {}, age(f.at - Date.now())),
          h('td', {}, f.clock && badge('warn', t(`jobs.cron.clock.${f.clock.change}`))),
        ),
      ),
    ),
  );
}

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  /** @type {Api.Numbers} */
  let stats = null;
  /** @type {Api.CronItem[]} */
  let items = null;
  let q = ctx.query;
  const { body, ns } = frame(root, ctx, 'cron', (n) => {
    stats = n;
    head();
    banner();
  });
  const note = h('div');
  const list = h('div.stack', {}, skeleton(5));
  fill(body, note, list);
  const query = () => ({ query: { ns: ns() }, signal: ctx.signal });

  function banner() {
    fill(
      note,
      stats && !stats.leader && stats.cron
        ? h('div.banner', {}, icon('warn'), h('span.text', {}, t('jobs.cron.noleader')))
        : null,
    );
  }

  async function fire(x) {
    const done = await ctx.api.post(`/api/cron/${ctx.api.part(x.jobId)}:fire`, {}, { query: { ns: ns() } });
    toast(t(done.fired ? 'jobs.cron.fired' : 'jobs.cron.busy', { id: x.jobId }), {
      glyph: done.fired ? 'play' : 'info',
    });
    await show();
  }

  const remove = (x) =>
    ask({
      title: t('jobs.cron.removetitle', { id: x.jobId }),
      say: t('jobs.cron.removesay'),
      command: `worldkeep jobs cron rm ${x.jobId}`,
      verb: t('jobs.cron.remove'),
      run: () => ctx.api.del(`/api/cron/${ctx.api.part(x.jobId)}`, { query: { ns: ns() } }),
    }).then((done) => {
      if (done) closeDrawer();
      return show();
    });

  /** Makes or changes one; the pattern is read back while it is typed.
   *  @param {Api.CronItem} x */
  function form(x = null) {
    const id = field({
      label: t('jobs.cron.id'),
      value: x?.jobId || '',
      check: (v) => (/^[\w.~:-]{1,128}$/.test(v) ? null : t('jobs.cron.badid')),
      attrs: { readonly: !!x, autocomplete: 'off' },
    });
    const type = field({
      label: t('jobs.type'),
      value: x?.type || '',
      check: (v) => (v.trim() ? null : t('jobs.form.notype')),
    });
    const pattern = field({
      label: t('jobs.cron.pattern'),
      hint: t('jobs.cron.patternhint'),
      value: x?.cron || '0 18 * * *',
      attrs: { spellcheck: 'false', autocomplete: 'off' },
    });
    const zone = field({
      label: t('jobs.cron.zone'),
      hint: t('jobs.cron.zonehint'),
      value: x?.timezone || 'UTC',
      attrs: { spellcheck: 'false' },
    });
    const overlap = h(
      'select',
      { id: 'cron-overlap' },
      ['skip', 'queue'].map((word) => h('option', { value: word }, t(`jobs.cron.overlap.${word}`))),
    );
    overlap.value = x?.overlap || 'skip';
    const payload = h('textarea', { rows: 4, spellcheck: 'false', 'aria-label': t('jobs.payload') });
    payload.value = JSON.stringify(x?.job?.payload ?? {}, null, 2);
    const preview = h('div.preview', { 'aria-live': 'polite' });
    let timer;
    const look = () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        try {
          const seen = await ctx.api.post(
            '/api/cron:preview',
            { cron: pattern.value, timezone: zone.value, n: 5 },
            { query: { ns: ns() } },
          );
          pattern.error(null);
          zone.error(null);
          fill(preview, h('p', {}, h('b', {}, sentence(said(seen)))), firings(seen.items, seen.timezone));
        } catch (e) {
          fill(preview);
          (e.code === 'invalid_timezone' ? zone : pattern).error(sayError(e));
        }
      }, 200);
    };
    pattern.addEventListener('input', look);
    zone.addEventListener('input', look);
    look();
    return ask({
      title: x ? t('jobs.cron.edit', { id: x.jobId }) : t('jobs.cron.new'),
      content: h(
        'div.form',
        {},
        h('div.pair', {}, id, type),
        h('div.pair', {}, pattern, zone),
        h('div.field', {}, h('label', { for: 'cron-overlap' }, t('jobs.cron.overlap')), overlap),
        h('div.field', {}, h('label', {}, t('jobs.payload')), payload),
        preview,
      ),
      verb: t('jobs.cron.save'),
      danger: false,
      run: async () => {
        if (![id, type].map((f) => f.valid()).every(Boolean)) throw new Error(t('jobs.form.look'));
        const job = {
          type: type.value.trim(),
          payload: JSON.parse(payload.value),
          schedule: { cron: pattern.value, timezone: zone.value },
          x: { ...x?.job?.x, overlap: overlap.value },
        };
        await ctx.api.put(`/api/cron/${ctx.api.part(id.value)}`, job, { query: { ns: ns() } });
        toast(t('jobs.cron.saved', { id: id.value }));
      },
    }).then(show);
  }

  async function open(id) {
    const [x, next] = await Promise.all([
      ctx.api.get(`/api/cron/${ctx.api.part(id)}`, query()),
      ctx.api.get(`/api/cron/${ctx.api.part(id)}/next`, { query: { ns: ns(), n: 10 }, signal: ctx.signal }),
    ]);
    const past = await ctx.api.get(`/api/jobs/${ctx.api.part(id)}/timeline`, query()).catch(() => ({ items: [] }));
    const history = past.items
      .filter((e) => ['fired', 'coalesced', 'completed', 'failed', 'dead', 'retried'].includes(e.type))
      .slice(-12)
      .reverse();
    openDrawer({
      title: id,
      say: sentence(said(next)),
      content: [
        h('h3', {}, t('jobs.cron.next')),
        firings(next.items, next.timezone),
        h('h3', {}, t('jobs.cron.history')),
        history.length
          ? h(
              'ul.plainlist',
              {},
              history.map((e) =>
                h('li', {}, h('time', { title: whenLong(e.at) }, when(e.at)), ' ', t(`jobs.event.${e.type}`)),
              ),
            )
          : h('p.quiet', {}, t('jobs.cron.nohistory')),
        h('p', {}, h('a.link', { href: jobHref(id, ns()) }, t('jobs.cron.asjob'))),
      ],
      actions: ctx.can('operator') && [
        button({ label: t('jobs.cron.fire'), icon: 'play', kind: 'primary', run: () => fire(x) }),
        button({ label: t('jobs.dead.edit'), icon: 'pencil', run: () => form(x) }),
        button({ label: t('jobs.cron.remove'), icon: 'trash', kind: 'danger', run: () => remove(x) }),
      ],
      onclose: () => ctx.router.setQuery({ open: null }),
    });
  }

  /** @param {Api.CronItem} x */
  function card(x) {
    const r = x.lastResult;
    return h(
      'section.card.cronrow',
      {},
      h(
        'div.what',
        {},
        h(
          'button.linkish',
          { type: 'button', on: { click: () => ctx.router.setQuery({ open: x.jobId }, { push: true }) } },
          h('b', {}, x.jobId),
        ),
        h('span.quiet', {}, ` ${x.type} `),
        x.status !== 'cron' && statusBadge(x.status),
        h(
          'div.line',
          {},
          h('code', {}, x.cron),
          ' ',
          h('span.quiet', {}, sentence(said(x))),
          x.overlap === 'queue' && h('span.quiet', {}, ` · ${t('jobs.cron.overlap.queue')}`),
        ),
      ),
      h(
        'div.nextat',
        {},
        x.next
          ? [
              h('b', {}, wall(x.next.local)),
              h('span.quiet', {}, ` ${x.timezone}`),
              h('div.note', {}, t('jobs.cron.utcin', { utc: wall(x.next.utc), age: age(x.next.at - Date.now()) })),
            ]
          : h('span.bad', {}, t('jobs.cron.never')),
      ),
      h(
        'div.lastrun',
        {},
        r
          ? badge(r.success ? 'ok' : 'bad', r.success ? ms(r.processingTime) : r.error?.name || t('jobs.status.failed'))
          : h('span.quiet', {}, t('jobs.cron.notyet')),
      ),
      ctx.can('operator') && button({ label: t('jobs.cron.fire'), icon: 'play', small: true, run: () => fire(x) }),
    );
  }

  function head() {
    ctx.head({
      title: t('jobs.cron.title', { n: items?.length ?? stats?.cron ?? 0 }),
      sentence: items?.[0]?.next
        ? t('jobs.cron.first', { id: items[0].jobId, age: age(items[0].next.at - Date.now()) })
        : t('jobs.cron.say'),
      actions: [
        namespaces(ctx, stats),
        ctx.can('operator') && button({ label: t('jobs.cron.new'), icon: 'plus', kind: 'primary', run: () => form() }),
      ].filter(Boolean),
    });
    ctx.echo({ cli: 'worldkeep jobs cron ls', api: `GET ${ctx.api.address('/api/cron', { ns: ns() })}` });
  }

  async function show() {
    await need(['saidjobs']);
    const page = await ctx.api.get('/api/cron', { query: { ns: ns(), limit: 200 }, signal: ctx.signal });
    items = page.items;
    head();
    if (list.contains(document.activeElement) && list.wkCount === items.length) return;
    list.wkCount = items.length;
    fill(
      list,
      items.length
        ? items.map(card)
        : empty({
            glyph: 'loop',
            title: t('jobs.cron.none'),
            say: t('jobs.cron.nonesay'),
            command: "worldkeep jobs cron add digest '0 18 * * *' email",
          }),
    );
  }
  head();
  poll(ctx, 3000, show, (e) => fill(list, errorBox(e, show)));
  if (q.open) open(q.open).catch(() => {});
  return {
    update(_, given) {
      const was = q.open;
      q = given;
      if (q.open === was) return undefined;
      return q.open ? open(q.open) : closeDrawer(false);
    },
    unmount: () => closeDrawer(false),
  };
}
