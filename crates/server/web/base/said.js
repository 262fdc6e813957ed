// Sentences that the server makes about itself, in the reader's language: it sends a code with parameters beside its English
// sentence. The words are in lang/said*.js. A sentence without a code is the store's own and stays as it is.
import { age, when } from './format.js';
import { current, has, t } from './i18n.js';

/** A parameter as text: `_ms` is a span, `_at` an instant; a sentence of its own or a list of them. */
function worded(name, value) {
  if (Array.isArray(value)) return new Intl.ListFormat(current()).format(value.map((one) => String(worded(name, one))));
  if (value && typeof value === 'object') return words(value) ?? '';
  if (name.endsWith('_ms')) return age(value);
  return name.endsWith('_at') ? when(value) : value;
}

/** @param {Api.Said | null} [x] */
function words(x) {
  const code = x && `said.${x.code}`;
  if (!code || !has(code)) return null;
  const holes = { in: '' };
  for (const [name, value] of Object.entries(x.params)) holes[name] = worded(name, value);
  if (holes.ns) holes.in = t('said.in', { ns: holes.ns });
  return t(code, holes);
}

/** @param {{sentence: string, said?: Api.Said | null}} x */
export const said = (x) => words(x.said) ?? x.sentence;

/** As a sentence that stands alone: a capital letter and a full stop. */
export const sentence = (text) =>
  text ? text[0].toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? '' : '.') : '';

/** What stands in a table of the server under this code, or the server's own English words. */
export const declared = (code, english) => (has(`said.${code}`) ? t(`said.${code}`) : english);
