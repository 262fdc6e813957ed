// Names of what lives in fields: a monster has its template's, a reactor its own. Templates are asked for once, when the
// first name is needed; what one event says of a reactor is remembered for those that do not say it.
import { get } from '../base/api.js';
import { h, text } from '../base/dom.js';
import { shortId } from '../base/format.js';
import { t } from '../base/i18n.js';
import { state } from '../base/state.js';

/** Which module a letter of a key (`m1000000007`, `r1000000018`) stands for. */
export const KINDS = { m: 'monsters', r: 'reactors' };
const lists = { monsters: new Map(), reactors: new Map() };
const asked = { monsters: null, reactors: null };
const MOST_KEPT = 5000;
const told = new Map(); // tenant and reactor → its name

const overview = () =>
  state.overview ? null : new Promise((done) => state.addEventListener('overview', done, { once: true }));

/** The templates of a module by id; none while it does not run. `anew` asks again: catalogues are read again by the server.
 *  @param {'monsters' | 'reactors'} module @returns {Promise<Map<number, any>>} */
export function templates(module, anew = false) {
  if (anew) asked[module] = null;
  asked[module] ||= (async () => {
    await overview();
    const { data } = state.running.includes(module) ? await get(`/api/${module}/templates`) : { data: [] };
    for (const { attributes: x } of data) lists[module].set('classification' in x ? x.classification : x.id, x);
    return lists[module];
  })().catch((fault) => {
    asked[module] = null;
    throw fault;
  });
  return asked[module];
}

/** Remembers what events say of reactors. */
export function learn(events) {
  for (const e of events) {
    if (e.module !== 'reactors') continue;
    const at = e.body || {};
    const key = `${e.scope} ${e.id}`;
    const name = at.reactorName || at.body?.name || at.body?.classification || at.classification;
    if (name && !(typeof told.get(key) === 'string' && /\D/.test(told.get(key)))) told.set(key, String(name));
  }
  while (told.size > MOST_KEPT) told.delete(told.keys().next().value);
}

const ships = new Map(); // id → its name, or the question for it

/** What events say of ships' names is remembered; of the others the search knows them, asked once for each. */
export function shipTag(e) {
  const name = e.body?.name;
  if (name) ships.set(e.id, name);
  while (ships.size > MOST_KEPT) ships.delete(ships.keys().next().value);
  const el = h('b', {}, typeof ships.get(e.id) === 'string' ? ships.get(e.id) : shortId(e.id));
  if (!ships.has(e.id))
    ships.set(
      e.id,
      get('/api/search', { query: { q: e.id }, quiet: true }).catch(() => null),
    );
  const kept = ships.get(e.id);
  if (typeof kept !== 'string')
    kept.then((/** @type {Api.SearchAnswer | null} */ found) => {
      const hit = found?.hits.find((one) => one.kind === 'ship');
      if (!hit) return;
      ships.set(e.id, hit.label);
      text(el, hit.label);
    });
  return h('a', { href: `/galaxy?sel=s:${e.id}`, title: e.id }, el);
}

const reactor = (name) => (/^\d+$/.test(name) ? lists.reactors.get(Number(name))?.name : name);

/** "Gravetide Colossus 1000000007". `kind` is `m` or `r`; `x` is a monster or a reactor as listed, or an event's body. */
export function nameOf(kind, id, x, scope = '') {
  const name =
    kind === 'm'
      ? lists.monsters.get(x?.monsterId)?.name
      : x?.name || reactor(told.get(`${scope} ${id}`) || String(x?.classification ?? ''));
  return `${name || t(`world.kind.${kind}`)} ${id}`;
}

/** The same as a link, which learns its name when that comes. */
export function nameTag(kind, e, href) {
  const el = h('b');
  const draw = () => {
    text(el, nameOf(kind, e.id, e.body, e.scope));
    const line = /** @type {HTMLElement} */ (el.closest('.say[title]'));
    if (line) line.title = line.textContent;
  };
  draw();
  if (!lists[KINDS[kind]].size) templates(KINDS[kind]).then(draw, () => {});
  return h('a', { href, title: t(`world.kind.${kind}`) }, el);
}
