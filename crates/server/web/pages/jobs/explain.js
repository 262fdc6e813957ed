// Why a job is not running: the first check that fails, then every check, then every worker. Live until it runs.
import { h, icon } from '../../base/dom.js';
import { need, t } from '../../base/i18n.js';
import { said, sentence } from '../../base/said.js';

/** Why a job does not run, with the words for it.
 *  @param {Promise<Api.Explained>} answer */
export async function withWords(answer) {
  await need(['saidjobs']);
  return answer;
}

/** What a worker says, grouped by its sentence, so that twenty equal ones are one line.
 *  @param {Api.Verdict[]} workers */
export function byVerdict(workers) {
  const groups = new Map();
  for (const w of workers) {
    const each = (w.said || []).map((one, i) => sentence(said({ sentence: i ? '' : w.sentence, said: one })));
    const words = each.length ? each.join(' ') : w.sentence;
    const key = `${w.matches && w.alive} ${words}`;
    if (!groups.has(key)) groups.set(key, { ok: w.matches && w.alive, sentence: words, ids: [] });
    groups.get(key).ids.push(w.serverId);
  }
  return [...groups.values()].sort((a, b) => Number(b.ok) - Number(a.ok));
}

/** @param {Api.Explained} found */
export function workerLines(found) {
  if (!found.workers.length) return h('p.quiet', {}, t('jobs.worker.none'));
  return h(
    'ul.checks',
    {},
    byVerdict(found.workers).map((g) =>
      h(
        'li',
        {},
        icon(g.ok ? 'tick' : 'cross', { class: g.ok ? 'ok' : 'bad', label: t(g.ok ? 'jobs.why.yes' : 'jobs.why.no') }),
        h('span.mono', {}, g.ids.slice(0, 4).join(', '), g.ids.length > 4 && ` +${g.ids.length - 4}`),
        h('span.quiet', {}, g.sentence),
      ),
    ),
  );
}

/** @param {Api.Explained} found */
export function checkLines(found) {
  return h(
    'ul.checks',
    {},
    found.checks.map((c) =>
      h(
        'li',
        {},
        icon(c.ok ? 'tick' : 'cross', { class: c.ok ? 'ok' : 'bad', label: t(c.ok ? 'jobs.why.yes' : 'jobs.why.no') }),
        h('span.span2', {}, sentence(said(c))),
      ),
    ),
  );
}

/** The drawer's content.
 *  @param {Api.Explained} found */
export const explained = (found) => [
  h('p.lead', {}, sentence(said(found))),
  checkLines(found),
  h('h3', {}, t('jobs.why.workers', { n: found.workers.length })),
  workerLines(found),
];
