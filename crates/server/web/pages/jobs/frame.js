// What all pages of jobs share: tabs with counts, the namespace, numbers asked each second, small words about a job.
import { fill, h, patch } from '../../base/dom.js';
import { age, ms, num, shortId, when } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { menu } from '../../base/overlay.js';
import { badge } from '../../base/parts.js';

const TABS = [
  { id: 'list', path: '/jobs' },
  { id: 'types', path: '/jobs/types' },
  { id: 'dead', path: '/jobs/dead', count: (n) => n.dead },
  { id: 'delayed', path: '/jobs/delayed', count: (n) => n.delayed },
  { id: 'cron', path: '/jobs/cron', count: (n) => n.cron },
  { id: 'workers', path: '/jobs/workers', count: (n) => n.workers },
  { id: 'doctor', path: '/jobs/doctor' },
];

/** The last numbers of one namespace, so that a page begins with them.
 *  @type {{ns: string | undefined, stats: Api.Numbers | null}} */
let last = { ns: undefined, stats: null };

/** Asks again each `every` ms while the page is there and visible; a fault goes to `fail`, the next try goes on.
 *  @param {{signal: AbortSignal}} ctx @param {number} every @param {() => unknown} ask @param {(fault: any) => unknown} [fail] */
export function poll(ctx, every, ask, fail = () => {}) {
  let timer;
  let busy = false;
  const run = async () => {
    clearTimeout(timer);
    if (ctx.signal.aborted) return;
    timer = setTimeout(run, every);
    if (document.hidden || busy) return;
    busy = true;
    try {
      await ask();
    } catch (e) {
      if (!ctx.signal.aborted && e.status !== 401) fail(e);
    } finally {
      busy = false;
    }
  };
  ctx.signal.addEventListener('abort', () => clearTimeout(timer));
  document.addEventListener('visibilitychange', () => !document.hidden && run(), { signal: ctx.signal });
  run();
  return run;
}

/** Draws tabs over `body` and keeps the numbers fresh. `numbers(stats)` is called with each answer, and with the last
 *  known ones once `mount` has returned: it may use everything that the page declares after this call.
 *  @param {HTMLElement} root @param {Wk.Context} ctx @param {string} tab @param {(stats: Api.Numbers) => unknown} [numbers] */
export function frame(root, ctx, tab, numbers = () => {}) {
  const tabs = h('nav.tabs', { 'aria-label': t('jobs.tabs') });
  const body = h('div.jobs');
  fill(root, tabs, body);
  const ns = () => ctx.ns || undefined;
  ctx.ns = ctx.query.ns;
  const link = (path) => (ctx.ns ? `${path}?ns=${encodeURIComponent(ctx.ns)}` : path);
  function draw(stats) {
    patch(
      tabs,
      TABS,
      (x) => x.id,
      (x) => h('a', { 'aria-current': x.id === tab ? 'page' : null }, t(`jobs.tab.${x.id}`), h('span.count')),
      (el, x) => {
        el.setAttribute('href', link(x.path));
        const n = x.count && stats ? x.count(stats) : 0;
        el.querySelector('.count').textContent = n ? num(n) : '';
      },
    );
  }
  const known = last.ns === ns() ? last.stats : null;
  draw(known);
  if (known) queueMicrotask(() => numbers(known));
  const refresh = poll(ctx, 1000, async () => {
    const stats = await ctx.api.get('/api/stats', { query: { ns: ns() }, signal: ctx.signal });
    last = { ns: ns(), stats };
    draw(stats);
    numbers(stats);
  });
  return { body, refresh, ns, link };
}

/** A button that chooses the namespace, when there are several.
 *  @param {Wk.Context} ctx @param {Api.Numbers | null} stats */
export function namespaces(ctx, stats) {
  const all = stats?.namespaces || [];
  if (all.length < 2) return null;
  const el = h(
    'button.chip.on',
    { type: 'button', 'aria-haspopup': 'menu' },
    t('jobs.ns'),
    h('b', {}, stats.namespace),
  );
  el.addEventListener('click', () =>
    menu(
      el,
      all.map((name) => ({
        label: name,
        on: name === stats.namespace,
        run: () => ctx.router.go(`${location.pathname}?ns=${encodeURIComponent(name)}`),
      })),
    ),
  );
  return el;
}

export const jobHref = (id, ns) => `/jobs/job?id=${encodeURIComponent(id)}${ns ? `&ns=${encodeURIComponent(ns)}` : ''}`;
export const idTag = (id) => h('span.mono', { title: id }, shortId(id));
export const statusBadge = (status) => badge(status, t(`jobs.status.${status}`));

/** "3 of 4": runs used of runs allowed.
 *  @param {{tries: Api.Tries}} x */
export const tries = (x) => t('jobs.tries', { used: x.tries.used, allowed: x.tries.allowed });

/** The one thing that matters now, in the reader's language.
 *  @param {Api.JobItem} x */
export function nowLine(x, at = Date.now()) {
  const error = x.error && [h('b', {}, x.error.name), x.error.message ? ` · ${firstLine(x.error.message)}` : ''];
  const later = (to) => (to - at > 0 ? age(to - at) : t('jobs.now.due'));
  switch (x.status) {
    case 'active': {
      const p = x.progress;
      if (p?.percent == null)
        return h(
          'span.quiet',
          {},
          x.claimedAt ? t('jobs.now.runs', { age: age(at - x.claimedAt) }) : t('jobs.now.run'),
        );
      return h(
        'span.howfar',
        {},
        h('span.bar', {}, h('i', { vars: { '--f': p.percent / 100 } })),
        h('span', {}, `${num(Math.round(p.percent))} %`),
        p.message && h('span.quiet.cut', {}, p.message),
      );
    }
    case 'delayed':
      if (error && x.tries.used > 0)
        return h('span.bad', {}, error, ` · ${t('jobs.now.again', { age: x.runAt ? later(x.runAt) : '–' })}`);
      return h('span.quiet', {}, t('jobs.now.later', { at: when(x.runAt), age: x.runAt ? later(x.runAt) : '–' }));
    case 'cron':
      return h('span.quiet', {}, t('jobs.now.fires', { at: when(x.runAt), age: x.runAt ? later(x.runAt) : '–' }));
    case 'completed':
      return h('span.quiet', {}, ms(x.tookMs));
    case 'waiting':
      if (x.waitsFor?.length) return h('span.quiet', {}, t('jobs.now.parked', { n: x.waitsFor.length }));
      if (error && x.tries.used > 0) return h('span.quiet', {}, t('jobs.now.waitagain'), ' ', error);
      return h('span.quiet', {}, t('jobs.now.wait'));
    default:
      return error ? h('span.bad', {}, error) : h('span.quiet', {}, t(`jobs.status.${x.status}`));
  }
}

const firstLine = (text) => String(text).split('\n')[0].slice(0, 120);

/** Said once after an action on many: what happened to how many. */
export function outcome(answer) {
  const parts = [t('jobs.did', { n: answer.count })];
  if (answer.refused) parts.push(t('jobs.refused', { n: answer.refused }));
  if (answer.missing) parts.push(t('jobs.missing', { n: answer.missing }));
  return parts.join(' ');
}
