// One key, explained: its segments with their meaning, its sentence, type, size, end, owner, and the value by its meaning.
// Secrets arrive hidden from the server and are shown as a lock with the reason.
import { define, fill, h, icon, s, square, text } from './dom.js';
import { age, bytes, num, when } from './format.js';
import { has, t } from './i18n.js';
import { copyButton } from './parts.js';
import { declared, said, sentence } from './said.js';

/** Splits a key along its pattern: literal parts are the module's words, holes carry the pattern's name. */
export function segments(key, pattern) {
  if (!pattern) return key.split(':').map((part) => ({ part, means: '' }));
  const want = pattern.split(':');
  const have = key.split(':');
  const out = [];
  while (want.length) {
    const p = want.shift();
    // The last hole takes what is left: ids at the end of a key may hold colons.
    const part = want.length ? have.shift() : have.join(':');
    const hole = /\{(\w+)\}/.exec(p);
    out.push({
      part: part ?? '',
      means: hole
        ? hole[1].replace(/_/g, ' ')
        : out.length === 0
          ? t('key.module')
          : want.length === 0
            ? t('key.what')
            : '',
      lead: out.length === 0,
      hole: !!hole,
    });
  }
  return out;
}

export function segmentLine(key, pattern, module) {
  return h(
    'div.segments',
    { 'aria-label': key },
    segments(key, pattern).map((x, i) => [
      i > 0 && h('span.sep', { 'aria-hidden': 'true' }, ':'),
      h(
        'span',
        { class: x.lead ? `lead` : '' },
        h('span.part', { translate: 'no' }, i === 0 && module ? [square(module), ' '] : null, x.part),
        h('span.means', {}, x.means),
      ),
    ]),
  );
}

/** Time left in words; `endsAt` is null when there is no end. */
export function endWord(endsAt) {
  if (endsAt == null) return t('key.noend');
  const left = endsAt - Date.now();
  return left > 0 ? t('key.left', { age: age(left) }) : t('key.ended', { at: when(endsAt) });
}

/** Time left as ring and words. */
export class Ends extends HTMLElement {
  /** @param {{endsAt?: number | null, wholeMs?: number | null, say?: Wk.Child}} o */
  set({ endsAt, wholeMs, say }) {
    this.arc = s('circle', { class: 'left', cx: 22, cy: 22, r: 18, pathLength: 100 });
    const ring = s(
      'svg',
      { class: 'ring', viewBox: '0 0 44 44', 'aria-hidden': 'true' },
      s('circle', { cx: 22, cy: 22, r: 18 }),
      this.arc,
    );
    this.words = h('b');
    fill(this, h('div.ends', {}, endsAt != null && ring, h('div', {}, this.words, say && h('div.note', {}, say))));
    this.endsAt = endsAt;
    this.whole = Math.max(wholeMs || 0, endsAt != null ? endsAt - Date.now() : 0) || 1;
    clearInterval(this.timer);
    if (endsAt != null) this.timer = setInterval(() => this.tick(), 1000);
    this.tick();
    return this;
  }
  disconnectedCallback() {
    clearInterval(this.timer);
  }
  tick() {
    if (this.endsAt == null) {
      text(this.words, endWord(null));
      return;
    }
    const left = this.endsAt - Date.now();
    text(this.words, endWord(this.endsAt));
    if (left <= 0) {
      clearInterval(this.timer);
      this.dispatchEvent(new CustomEvent('ended', { bubbles: true }));
    }
    this.arc.setAttribute('stroke-dasharray', `${Math.max(0, Math.min(100, (left / this.whole) * 100))} 100`);
  }
}
define('wk-ends', Ends);

const TOKEN = /("(?:[^"\\]|\\.)*")|([{}[\],:])|([^\s{}[\],:"]+)/g;

/** Stored JSON with line breaks and marked kinds. Works on the text itself, so each number keeps its spelling. */
function pretty(source, into) {
  let depth = 0;
  let key = false; // the next string names a member
  const open = [];
  const line = () => into.append(`\n${'  '.repeat(depth)}`);
  const tokens = [...source.matchAll(TOKEN)];
  tokens.forEach((m, i) => {
    const [, string, mark, word] = m;
    if (string) into.append(h(`span.${key ? 'k' : 's'}`, {}, string));
    else if (word) into.append(h(`span.${/^[-\d]/.test(word) ? 'n' : 'w'}`, {}, word));
    else if (mark === '{' || mark === '[') {
      into.append(mark);
      open.push(mark);
      if (!/[}\]]/.test(tokens[i + 1]?.[2] || '')) {
        depth += 1;
        line();
      }
      key = mark === '{';
    } else if (mark === '}' || mark === ']') {
      open.pop();
      if (!/[{[]/.test(tokens[i - 1]?.[2] || '')) {
        depth -= 1;
        line();
      }
      into.append(mark);
    } else if (mark === ',') {
      into.append(',');
      line();
      key = open.at(-1) === '{';
    } else {
      into.append(': ');
      key = false;
    }
  });
}

/** JSON or plain text. Long values are cut with a word about it. */
export function jsonView(value, max = 60000) {
  const whole = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const pre = h('pre.json', { tabindex: '0' });
  let isJson = typeof value !== 'string';
  if (!isJson && /^\s*[{[]/.test(whole))
    try {
      JSON.parse(whole);
      isJson = true;
    } catch {
      /* plain text */
    }
  if (isJson && whole.length <= max) pretty(whole, pre);
  else pre.textContent = whole.slice(0, max);
  return whole.length > max ? [pre, h('p.note', {}, t('key.cut', { n: whole.length - max }))] : pre;
}

const hiddenMark = (why) => h('span.hiddenvalue', { title: why || '' }, icon('lock', { class: 's' }), t('key.hidden'));
const cell = (v) =>
  v && typeof v === 'object' && v.hidden
    ? hiddenMark(v.why)
    : h('span.mono', {}, typeof v === 'string' ? v : JSON.stringify(v));

/** The value of a key by its Redis type: text or JSON, fields, members, scored members, entries. */
export function valueView(data) {
  const v = data.value;
  if (data.hidden || v === undefined)
    return h(
      'p.hiddenvalue',
      {},
      icon('lock', { class: 's' }),
      data.hidden ? sentence(said({ sentence: data.hidden, said: data.hidden_said })) : t('key.hiddensay'),
    );
  const table = (head, rows) =>
    h(
      'div.scroll',
      {},
      h(
        'table.t',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            head.map((x) => h('th', { scope: 'col' }, x)),
          ),
        ),
        h(
          'tbody',
          {},
          rows.map((r) =>
            h(
              'tr',
              {},
              r.map((x) => h('td', {}, x)),
            ),
          ),
        ),
      ),
    );
  const kind = String(data.type || '').toLowerCase();
  if (kind === 'hash')
    return table(
      [t('key.field'), t('key.value')],
      (Array.isArray(v) ? v : Object.entries(v)).map((e) =>
        Array.isArray(e) ? [h('span.mono', {}, e[0]), cell(e[1])] : [h('span.mono', {}, e.field), cell(e.value)],
      ),
    );
  if (kind === 'zset')
    return table(
      [t('key.member'), t('key.score')],
      v.map((e) =>
        Array.isArray(e)
          ? [h('span.mono', {}, e[0]), h('span.mono', {}, String(e[1]))]
          : [h('span.mono', {}, e.member), h('span.mono', {}, String(e.score))],
      ),
    );
  if (kind === 'set')
    return table(
      [t('key.member')],
      v.map((e) => [cell(e)]),
    );
  if (kind === 'list')
    return table(
      [t('key.place'), t('key.value')],
      v.map((e, i) => [num(i), cell(e)]),
    );
  if (kind === 'stream')
    return table(
      [t('key.entry'), t('key.fields')],
      v.map((e) =>
        Array.isArray(e)
          ? [h('span.mono', {}, e[0]), h('span.mono', {}, JSON.stringify(e[1]))]
          : [h('span.mono', {}, e.id), h('span.mono', {}, JSON.stringify(e.fields ?? e.body))],
      ),
    );
  return h('div.value', {}, jsonView(v));
}

/** Bytes as rows of sixteen, for the raw view. */
export function hexdump(raw, max = 4096) {
  const bytesOf = typeof raw === 'string' ? new TextEncoder().encode(raw) : raw;
  const rows = [];
  for (let i = 0; i < Math.min(bytesOf.length, max); i += 16) {
    const part = [...bytesOf.slice(i, i + 16)];
    rows.push(
      `${i.toString(16).padStart(6, '0')}  ${part
        .map((b) => b.toString(16).padStart(2, '0'))
        .join(' ')
        .padEnd(47)}  ${part.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : '·')).join('')}`,
    );
  }
  return rows.join('\n');
}

/** A module by its name; another program keeps its own. */
export const ownerName = (owner) => (has(`module.${owner}`) ? t(`module.${owner}`) : owner);

/** Sentence of a definition's life: "at most 12 h", "ends with its room", "no end". */
export function lifeSay(def) {
  const life = def.life;
  if (!life || life === 'none') return t('life.none');
  if (def.life_ms != null) return t('life.secs', { age: age(def.life_ms) });
  const holder = /^ends with `(\w+)`/.exec(life);
  return holder ? t('life.inherited', { key: holder[1] }) : declared(`life.${def.module}.${def.name}`, life);
}

/** The whole card: `<wk-key>` with `show(data)` where data is the answer of GET /api/keys/{key}. */
export class KeyView extends HTMLElement {
  show(d) {
    const def = d.definition;
    const fact = (label, value) => value && h('div', {}, h('dt', {}, t(label)), h('dd', {}, value));
    const ends = h('wk-ends').set({
      endsAt: d.ttl_ms != null && d.ttl_ms >= 0 ? Date.now() + d.ttl_ms : null,
      wholeMs: def?.life_ms,
      say: def ? lifeSay(def) : null,
    });
    fill(
      this,
      h(
        'section.card',
        {},
        h(
          'div.cardhead.top',
          {},
          segmentLine(d.key, def?.pattern, def?.module),
          h('span.end', {}, copyButton(d.key, t('key.key'))),
        ),
        h('p.quiet', {}, def ? declared(`key.${def.module}.${def.name}`, def.says) : t('key.foreign')),
        h(
          'dl.keyfacts',
          {},
          h('div', {}, h('dt.said', {}, t('key.end')), h('dd', {}, ends)),
          fact(
            'key.type',
            typeWord({
              type: ['json', 'int'].includes(def?.type) && d.type === 'string' ? def.type : d.type,
              length: d.length,
            }),
          ),
          fact('key.size', d.memory != null ? bytes(d.memory) : null),
          fact('key.owner', def && ownerName(def.owner)),
          fact('key.readers', def?.readers?.length ? def.readers.map(ownerName).join(', ') : null),
          fact('key.index', def?.indexed_by?.length ? def.indexed_by.join(', ') : def && t('key.noindex')),
        ),
      ),
    );
  }
}
define('wk-key', KeyView);

/** "Hash, 8 fields". */
export function typeWord(d) {
  const kind = String(d.type || '').toLowerCase();
  const word = has(`type.${kind}`) ? t(`type.${kind}`) : d.type;
  return d.length == null
    ? word
    : `${word}, ${t(kind === 'hash' ? 'type.fields' : ['string', 'json', 'int'].includes(kind) ? 'type.bytes' : 'type.members', { n: d.length })}`;
}
