// Words in the reader's language. Catalogues hold plain strings with {name} holes, or [one, many] pairs chosen by {n}.
import { num } from './format.js';

export const LANGS = { en: 'English', fr: 'Français' };
let lang = 'en';
let words = {};
let plural = new Intl.PluralRules('en');
const wanted = new Set();
let base = (code) => import(`/lang/${code}.js`);

export const current = () => lang;

/** The language kept from last time, else the browser's, else English. */
export function preferred() {
  let kept = null;
  try {
    kept = localStorage.getItem('wk.lang');
  } catch {
    /* private window */
  }
  if (kept && LANGS[kept]) return kept;
  return (navigator.languages || []).map((l) => l.slice(0, 2)).find((l) => LANGS[l]) || 'en';
}

const named = (name, code) => import(`/lang/${name}.${code}.js`);

/** Loads the base catalogue and those that pages have asked for so far; sets the page's `lang`. */
export async function use(code, keep = false) {
  const [main, ...more] = await Promise.all([base(code), ...[...wanted].map((name) => named(name, code))]);
  words = Object.assign({}, main.default, ...more.map((m) => m.default));
  lang = code;
  plural = new Intl.PluralRules(code);
  document.documentElement.lang = code;
  if (keep)
    try {
      localStorage.setItem('wk.lang', code);
    } catch {
      /* private window: this page only */
    }
}

/** A page's own catalogues by name, `jobs` for `/lang/jobs.en.js`: loaded once, before it is drawn. */
export async function need(names = []) {
  const code = lang;
  const fresh = names.filter((name) => !wanted.has(name));
  const more = await Promise.all(fresh.map((name) => named(name, code)));
  for (const name of fresh) wanted.add(name);
  // The language was changed meanwhile: `use` has not seen these yet.
  if (code !== lang) await use(lang);
  else Object.assign(words, ...more.map((m) => m.default));
}

/** A page outside the dashboard brings a catalogue instead of the dashboard's. */
export const onlyWords = (load) => {
  base = load;
};

export const has = (key) => key in words;

function pick(key, holes) {
  const found = words[key];
  if (found === undefined) return key;
  if (!Array.isArray(found)) return found;
  return found[plural.select(Number(holes?.n ?? 0)) === 'one' ? 0 : 1];
}

/** A sentence as text. Numbers are written in the language's way. */
export function t(key, holes) {
  return pick(key, holes).replace(/\{(\w+)\}/g, (all, name) => {
    const value = holes?.[name];
    return value === undefined ? all : typeof value === 'number' ? num(value) : String(value);
  });
}

/** The same sentence as nodes, so that holes may be links or bold words. */
export function rich(key, holes) {
  return pick(key, holes)
    .split(/(\{\w+\})/)
    .filter(Boolean)
    .map((piece) => {
      const hole = /^\{(\w+)\}$/.exec(piece);
      if (!hole) return piece;
      const value = holes?.[hole[1]];
      return value === undefined ? piece : typeof value === 'number' ? num(value) : value;
    });
}
