// Who sent which reel, read from conversation exports and pasted lines, in the browser only. Pure: text in, people out.

const LONGEST_URL = 2048;
const REEL = /\/(?:reels?|tv)\/([\w-]+)/;

/** NFC, one space between words, at most 24 characters, nothing invisible. */
export function cleanName(raw) {
  const text = String(raw ?? '')
    .normalize('NFC')
    .replace(/\p{Cc}|\p{Cf}/gu, (c) => (c === '\u200d' ? c : ' '))
    .replace(/\s+/g, ' ')
    .trim();
  return [...text].slice(0, 24).join('').trim();
}

/** The same person under two spellings gives the same fold. */
export const fold = (name) =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '') || name.toLowerCase();

/** Exports write each byte of a UTF-8 text as its own character; this puts them together again. */
export function mend(text) {
  if (!/[\u0080-\u00ff]/.test(text) || /[\u0100-\uffff]/.test(text)) return text;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(text, (c) => c.charCodeAt(0)));
  } catch {
    return text;
  }
}

/** One spelling per reel: no query, no fragment; null for what is not a web link. */
export function cleanUrl(raw) {
  let url;
  try {
    url = new URL(String(raw).trim());
  } catch {
    return null;
  }
  if (!['http:', 'https:'].includes(url.protocol) || url.username || url.password) return null;
  const reel = REEL.exec(url.pathname);
  url.hash = '';
  if (reel && /(^|\.)instagram\.com$/.test(url.hostname)) {
    url.protocol = 'https:';
    url.hostname = 'www.instagram.com';
    url.pathname = `/reel/${reel[1]}/`;
    url.search = '';
  }
  return url.href.length <= LONGEST_URL ? url.href : null;
}

const isReel = (url) => REEL.test(new URL(url).pathname);

/** One export file. Gives `{people: Map(name → Set(url)), others}` or throws a word: `json` or `shape`. */
export function readExport(text) {
  let doc;
  try {
    doc = JSON.parse(text);
  } catch {
    throw Object.assign(new Error('json'), { word: 'json' });
  }
  const messages = Array.isArray(doc) ? doc : doc?.messages;
  if (!Array.isArray(messages)) throw Object.assign(new Error('shape'), { word: 'shape' });
  const people = new Map();
  let others = 0;
  for (const m of messages) {
    const name = cleanName(mend(String(m?.sender_name ?? '')));
    if (!name) continue;
    const links = [m.share?.link, ...(String(m.content ?? '').match(/https?:[^\s<>"']+/g) || [])];
    const found = new Set(links.filter((l) => typeof l === 'string').map(cleanUrl));
    for (const url of found) {
      if (!url) continue;
      if (!isReel(url)) {
        others += 1;
        continue;
      }
      if (!people.has(name)) people.set(name, new Set());
      people.get(name).add(url);
    }
  }
  return { people, others };
}

/** Lines `name, url`. Gives people and the lines that could not be read, with their number and why. */
export function readLines(text) {
  const people = new Map();
  const faults = [];
  String(text)
    .split(/\r?\n/)
    .forEach((line, i) => {
      if (!line.trim()) return;
      const at = line.search(/https?:/i);
      const name = cleanName(line.slice(0, at < 0 ? line.length : at).replace(/[\s,;:|\t–-]+$/u, ''));
      const url = at < 0 ? null : cleanUrl(line.slice(at).replace(/[\s,;]+$/, ''));
      if (!url) faults.push({ line: i + 1, word: 'url', text: line.trim() });
      else if (!name) faults.push({ line: i + 1, word: 'name', text: line.trim() });
      else {
        if (!people.has(name)) people.set(name, new Set());
        people.get(name).add(url);
      }
    });
  return { people, faults };
}

let last = 0;
const newId = (taken) => {
  do last += 1;
  while (taken.has(`k${last}`));
  return `k${last}`;
};

/** Adds what was read to the people there are; the same name is the same person. */
export function addPeople(had, found) {
  const list = had.map((p) => ({ ...p, urls: [...p.urls] }));
  const taken = new Set(list.map((p) => p.id));
  for (const [name, urls] of found) {
    let person = list.find((p) => p.name === name || p.aliases?.includes(name));
    if (!person) {
      person = { id: newId(taken), name, aliases: [], active: true, urls: [] };
      taken.add(person.id);
      list.push(person);
    }
    const known = new Set(person.urls);
    for (const url of urls) if (!known.has(url)) person.urls.push(url);
  }
  return list.sort((a, b) => b.urls.length - a.urls.length || (fold(a.name) < fold(b.name) ? -1 : 1));
}

/** Everything of `other` becomes `into`'s. */
export function merge(people, into, other) {
  const gone = people.find((p) => p.id === other);
  return people
    .filter((p) => p.id !== other)
    .map((p) =>
      p.id === into
        ? {
            ...p,
            aliases: [...(p.aliases || []), gone.name, ...(gone.aliases || [])],
            urls: [...new Set([...p.urls, ...gone.urls])],
          }
        : p,
    );
}

/** id → the other person whose name is the same but for case, accents and signs. The first of a pair carries it. */
export function twins(people) {
  const seen = new Map();
  const out = new Map();
  for (const p of people) {
    const first = seen.get(fold(p.name));
    if (!first) seen.set(fold(p.name), p);
    else if (!out.has(first.id)) out.set(first.id, p);
  }
  return out;
}
