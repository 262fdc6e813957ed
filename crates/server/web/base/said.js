// Sentences that the server makes about itself, in the reader's language: it sends a code with parameters beside its English
// sentence. The words are in lang/said.*.js. A sentence without a code is the store's own and stays as it is.
import { age } from './format.js';
import { has, t } from './i18n.js';

/** @param {{sentence: string, said?: {code: string, params: Record<string, any>} | null}} x */
export function said(x) {
  const code = x.said && `said.${x.said.code}`;
  if (!code || !has(code)) return x.sentence;
  const holes = { in: '' };
  for (const [name, value] of Object.entries(x.said.params)) holes[name] = name.endsWith('_ms') ? age(value) : value;
  if (holes.ns) holes.in = t('said.in', { ns: holes.ns });
  return t(code, holes);
}
