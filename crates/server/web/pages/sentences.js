// What events say in a feed, by module: objects are links to their pages. Loaded with the feed; words are in `lang/events`.
import { h } from '../base/dom.js';
import { num, shortId } from '../base/format.js';
import { has, rich, t } from '../base/i18n.js';
import { learn, nameTag, shipTag } from './names.js';

export { learn };

/** Where in the dashboard a field is, with one of it selected. */
function fieldAt(e, sel) {
  const { body: at } = e;
  const q = new URLSearchParams({ tenant: e.scope || '', world: at.worldId, channel: at.channelId, map: at.mapId });
  if (at.instance && !/^[0-]+$/.test(at.instance)) q.set('instance', at.instance);
  q.set('sel', sel);
  return `/world?${q}`;
}

/** What happened to one of a field; it leads to the field with that one, or who did it, selected. */
const inField = (kind) => (e) => {
  const key = `world.event.${e.module}.${e.type}`;
  const { body: at } = e;
  if (!has(key) || at?.mapId === undefined || !e.id) return null;
  const body = at.body || {};
  const fx = Object.keys(body.statuses || {})
    .join(', ')
    .toLowerCase();
  const who = String(body.actorId ?? body.characterId ?? 0);
  // What nobody did has words of its own.
  const said = who === '0' && has(`${key}.self`) ? `${key}.self` : key;
  const line = rich(said, {
    id: nameTag(kind, e, fieldAt(e, kind + e.id)),
    who: who === '0' ? '–' : h('a', { href: fieldAt(e, `p${who}`) }, h('b', {}, t('world.who', { id: who }))),
    fx,
    state: body.state ?? '',
  });
  return e.dealt ? [line, ' · ', h('b', {}, num(e.dealt))] : line;
};

/** module → (event) → nodes or text, null for the plain sentence. */
export const sentences = {
  galaxy: (e) => {
    const key = `galaxy.event.${e.type}`;
    if (!has(key)) return null;
    const { body = {} } = e;
    const id = /^(ship|maneuver)\./.test(e.type) ? shipTag(e) : '';
    const ended =
      e.type === 'maneuver.ended' &&
      t('galaxy.event.maneuver', {
        what: t(`galaxy.event.plan.${body.type}`),
        how: t(`galaxy.event.end.${body.status}`),
      });
    const what = ended || body.message || body.username || body.new?.id || body.new;
    return rich(key, { id, what: h('b', {}, String(what ?? e.id)) });
  },
  monsters: inField('m'),
  reactors: inField('r'),
  jobs: (e) => {
    if (!has(`jobs.event.${e.type}`)) return null;
    const what = t(`jobs.event.${e.type}`);
    const link = (href, text) => h('a', { href }, h('b', {}, text));
    if (['paused', 'resumed'].includes(e.type)) return rich('jobs.say.type', { id: h('b', {}, e.id), what });
    if (/^(worker_|leader_)/.test(e.type)) return rich('jobs.say.worker', { id: link('/jobs/workers', e.id), what });
    const id = link(`/jobs/job?id=${encodeURIComponent(e.id)}&ns=${encodeURIComponent(e.scope || '')}`, shortId(e.id));
    return rich(e.body?.type ? 'jobs.say.jobtype' : 'jobs.say.job', { id, type: e.body?.type, what });
  },
  rooms: (event) => {
    const key = `rooms.event.${event.type}`;
    if (!has(key) || !event.id) return null;
    const code = event.id.length === 8 ? `${event.id.slice(0, 4)}-${event.id.slice(4)}` : event.id;
    return rich(key, { code: h('b', {}, code), n: event.body?.votes ?? 0, m: event.body?.expected ?? 0 });
  },
};
