// The keyspace as the pages use it: modules, their patterns, counts and sizes. One place reads GET /api/keys.
import { has, t } from '../base/i18n.js';

/** A module's name in the reader's language; other groups keep the server's word. */
export const moduleName = (module) => (has(`module.${module}`) ? t(`module.${module}`) : module || t('module.none'));

/** @type {ReturnType<typeof readTree>} */
let last = null;
/** What was counted last, for a page that opens while the server is away. */
export const lastTree = () => last;

/** Asks once and gives `{keys, memory, at, done, modules: [{module, name, keys, memory, patterns: […]}]}`.
 *  @param {typeof import('../base/api.js')} api @param {Wk.Options} [opts] */
export async function keyTree(api, opts) {
  last = readTree(await api.get('/api/keys', opts));
  return last;
}

/** @param {Api.Tree} answer */
export function readTree(answer) {
  const sum = (list, of) => list.reduce((n, x) => n + (x[of] || 0), 0);
  const modules = (answer.modules || []).map((m) => {
    const patterns = (m.patterns || []).map((p) => ({ ...p, keys: p.keys ?? 0, memory: p.memory ?? null }));
    return {
      ...m,
      module: m.module,
      name: moduleName(m.module),
      patterns,
      keys: m.keys ?? sum(patterns, 'keys'),
      memory: m.memory ?? (patterns.some((p) => p.memory != null) ? sum(patterns, 'memory') : null),
    };
  });
  const order = ['jobs', 'rooms', 'monsters', 'reactors', 'galaxy', 'worldkeep', 'foreign'];
  modules.sort((a, b) => order.indexOf(a.module) - order.indexOf(b.module));
  return {
    ...answer,
    modules,
    keys: answer.keys ?? sum(modules, 'keys'),
    memory: answer.memory ?? (modules.some((m) => m.memory != null) ? sum(modules, 'memory') : null),
  };
}
