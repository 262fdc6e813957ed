// The mark of a person: colour, pattern and two letters that stay the same on every screen, or a photo in a ring of that
// colour. Colours live in tokens.css as `--mark-0` to `--mark-11`.
import { define, h, s } from '../base/dom.js';

const KINDS = 12;

/** Place of an id: `s12`, `p12` are the twelfth; any other id gets one by its letters, alike on all screens. */
export function placeOf(id) {
  const own = /^[sp](\d+)$/.exec(id || '');
  if (own) return (Number(own[1]) + KINDS * KINDS - 1) % (KINDS * KINDS);
  let sum = 7;
  for (const ch of String(id || '').replace(/^p_/, '')) sum = (Math.imul(sum, 31) + ch.codePointAt(0)) >>> 0;
  return sum % (KINDS * KINDS);
}

/** Colour and pattern; after twelve the colours come again with the next pattern. */
export const lookOf = (place) => ({
  color: place % KINDS,
  pattern: (place + Math.floor(place / KINDS)) % KINDS,
});

/** A text as people see letters. */
const graphemes = (text) =>
  typeof Intl !== 'undefined' && Intl.Segmenter
    ? [...new Intl.Segmenter().segment(text)].map((x) => x.segment)
    : [...text];
const isLetter = (text) => /\p{L}|\p{N}/u.test(text || '');

/** The first two letters of a name. */
export function lettersOf(name) {
  const letters = graphemes(name || '').filter((p) => p.trim());
  if (!letters.length) return '?';
  return isLetter(letters[0]) ? letters[0].toUpperCase() + (isLetter(letters[1]) ? letters[1] : '') : letters[0];
}

/** Longer letters for a name that begins like others: initials, three letters, or those in which it differs. */
function longer(name, alike) {
  const letters = graphemes(name).filter(isLetter);
  const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const last = words.length > 1 ? graphemes(words.at(-1)) : [];
  const shared = (other) => {
    const theirs = graphemes(other).filter(isLetter);
    const at = letters.findIndex((x, i) => x.toLowerCase() !== theirs[i]?.toLowerCase());
    return at < 0 ? letters.length : at;
  };
  const differs = Math.max(...alike.filter((x) => x !== name).map(shared));
  const head = letters[0].toUpperCase();
  return [
    last.length && head + last[0].toUpperCase(),
    last.length && head + last[0].toUpperCase() + (last[1] || ''),
    differs < 3 && head + letters.slice(1, 3).join(''),
    letters[differs] && head + letters[1] + letters[differs],
    letters[differs] && head + letters.slice(differs, differs + 2).join(''),
  ].filter(Boolean);
}

/** name → letters, told apart: names that begin alike get letters in which they differ. */
export function lettersAmong(names) {
  const out = new Map();
  const used = new Set();
  const groups = new Map();
  for (const name of new Set(names)) {
    const key = lettersOf(name).toLowerCase();
    groups.set(key, [...(groups.get(key) || []), name]);
  }
  const give = (name, letters) => {
    out.set(name, letters);
    used.add(letters.toLowerCase());
  };
  for (const [, alike] of groups) if (alike.length === 1) give(alike[0], lettersOf(alike[0]));
  for (const [, alike] of groups) {
    if (alike.length === 1) continue;
    for (const name of alike) {
      const free = (x) => !used.has(x.toLowerCase());
      const plain = lettersOf(name);
      const numbered = Array.from({ length: 99 }, (_, i) => `${[...plain][0]}${i + 1}`);
      const choices = isLetter(plain) ? longer(name, alike) : [];
      give(name, [...choices, plain, ...numbered].find(free) || plain);
    }
  }
  return out;
}

let told = new Map();
/** Everybody on this page: their marks are told apart. */
export function tellApart(names) {
  told = lettersAmong(names);
}

const circle = (cx, cy, r) => s('circle', { cx, cy, r });
const draw = (d) => s('path', { d });
const PATTERNS = [
  () => [circle(46, 16, 22)],
  () => [draw('M64 14V64H14z')],
  () => [8, 32, 56].flatMap((x) => [8, 32, 56].filter((y) => x !== 32 || y !== 32).map((y) => circle(x, y, 4.6))),
  () => [draw('M0 48c9-8 20-8 32-1s23 6 32-3v20H0z')],
  () => [draw('M32 4 60 60H4z')],
  () => [draw('M-6 34 34-6h13L-6 47zM-6 66 66-6v13L7 70H-6zM24 70 70 24v14L38 70z')],
  () => [s('rect', { x: 13, y: 13, width: 38, height: 38, rx: 10, transform: 'rotate(45 32 32)' })],
  () => [draw('M0 0h32v64H0z')],
  () => [draw('M0 0h64L0 64z')],
  () => [draw('M32 6a26 26 0 1 1 0 52 26 26 0 0 1 0-52zm0 12a14 14 0 1 0 0 28 14 14 0 0 0 0-28z')],
  () => [draw('M24 0h16v24h24v16H40v24H24V40H0V24h24z')],
  () => [draw('M0 6h64v10H0zM0 27h64v10H0zM0 48h64v10H0z')],
];

/** `<wk-mark>`: `set({id, name, photo, off})`. Decorative: the name always stands beside it. */
export class Mark extends HTMLElement {
  set({ id, name, photo, off = false }) {
    const letters = told.get(name) ?? lettersOf(name);
    const key = JSON.stringify([id, name, letters, photo?.length, photo?.slice(-40), off]);
    if (key === this.key) return this;
    this.key = key;
    const { color, pattern } = lookOf(placeOf(id));
    this.className = `mark c${color}${off ? ' off' : ''}${photo ? ' photo' : ''}`;
    this.setAttribute('aria-hidden', 'true');
    if (photo) {
      this.replaceChildren(h('img', { src: photo, alt: '', draggable: 'false' }));
      return this;
    }
    this.replaceChildren(
      s(
        'svg',
        { viewBox: '0 0 64 64', 'aria-hidden': 'true' },
        s('g', { class: 'pattern' }, PATTERNS[pattern]()),
        s('text', { x: 32, y: 33.5, class: ['', 'one', '', 'three'][Math.min(3, [...letters].length)] }, letters),
      ),
    );
    return this;
  }
}
define('wk-mark', Mark);

/** A mark, ready. */
export const mark = (who, cls = '') => {
  const el = h('wk-mark').set(who);
  if (cls) el.classList.add(...cls.split(' '));
  return el;
};

/** What `mark` needs, from a player or a sender of the room. */
export const ofPlayer = (player, extra) => ({
  id: player?.sender_id || player?.player_id,
  name: player?.name || '?',
  photo: player?.avatar_url || null,
  ...extra,
});
export function ofSender(state, sender, extra) {
  const player = state.players.find((p) => p.sender_id && p.sender_id === sender?.sender_id);
  return { id: sender?.sender_id, name: sender?.name || '?', photo: player?.avatar_url || null, ...extra };
}

/** A few marks that hop: the game's own decoration. */
export const parade = (names) =>
  h(
    'div.parade',
    { 'aria-hidden': 'true' },
    names.map((name, i) => mark({ id: `s${i + 1}`, name })),
  );
