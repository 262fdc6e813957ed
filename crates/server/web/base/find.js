// Hits that the search field finds without the server (pages, commands, key patterns), and how hits of the server are shown. Loaded
// when somebody first types.

import { nav } from '../pages/registry.js';
import { get } from './api.js';
import { need, t } from './i18n.js';
import * as keys from './keys.js';

let patterns = null; // asked once per page load, on first use

/** Every known pattern, flat. */
async function known() {
  if (patterns) return patterns;
  try {
    const tree = await get('/api/keys');
    patterns = (tree.modules || []).flatMap((m) => (m.patterns || []).map((p) => ({ ...p, module: m.module })));
  } catch {
    return [];
  }
  return patterns;
}

/** Kinds whose label is an id. */
const MONO = ['job', 'key', 'room'];

/** @typedef {{kind: string, label: string, href?: string, run?: () => unknown, end?: string, glyph?: string,
 *    module?: string, mono?: boolean}} Found */

/** What this page knows: pages, commands, key patterns.
 *  @param {string} typed @returns {Promise<Found[]>} */
export async function here(typed) {
  const [all] = await Promise.all([known(), need(['search'])]);
  const words = typed.toLowerCase().split(/\s+/);
  const hit = (text) => words.every((w) => text.toLowerCase().includes(w));
  const pages = nav
    .filter((n) => hit(t(n.label)))
    .map((n) => ({ kind: 'page', glyph: n.icon, label: t(n.label), href: n.path, end: `g ${n.chord}` }));
  const commands = keys
    .list()
    .plain.filter((one) => one.label !== 'keys.close' && hit(t(one.label)))
    .map((one) => ({ kind: 'command', glyph: 'play', label: t(one.label), run: one.run, end: one.key }));
  const theme = window.wkTheme.current() === 'dark' ? 'theme.light' : 'theme.dark';
  if (hit(t(theme)))
    commands.push({ kind: 'command', glyph: 'moon', label: t(theme), run: () => window.wkTheme.toggle(), end: '' });
  const patterns = all.filter((x) => hit(`${x.pattern} ${x.says || ''}`)).slice(0, 5);
  return [
    ...pages,
    ...commands.slice(0, 4),
    ...patterns.map((p) => ({
      kind: 'pattern',
      module: p.module,
      label: p.pattern,
      mono: true,
      href: `/keys?pattern=${encodeURIComponent(p.name)}`,
      end: t('search.keys', { n: p.keys ?? 0 }),
    })),
  ];
}

/** What the server found, and two ways on that always work.
 *  @param {string} typed @param {Api.Hit[]} hits @returns {Found[]} */
export function there(typed, hits) {
  const ways = [
    {
      kind: 'text',
      glyph: 'jobs',
      label: t('search.text', { text: typed }),
      href: `/jobs?text=${encodeURIComponent(typed)}`,
    },
  ];
  const key = {
    kind: 'key',
    glyph: 'keys',
    label: typed,
    mono: true,
    href: `/keys?key=${encodeURIComponent(typed)}`,
    end: t('search.key'),
  };
  const whole = typed.includes(':') && !hits.some((one) => one.kind === 'key' && one.label === typed);
  const found = hits.map((one) => ({
    kind: one.kind,
    module: one.module || undefined,
    glyph: 'keys',
    label: one.label,
    mono: MONO.includes(one.kind),
    href: one.link,
    end: one.note,
  }));
  return [...found, ...(whole ? [key] : []), ...ways];
}
