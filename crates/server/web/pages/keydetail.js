// The right side of the keys page: one pattern with its live keys, or one key with its value, verdict and neighbours.
// Makes nodes from answers; asks nothing itself.
import { fill, h, icon, text } from '../base/dom.js';
import { bytes, num } from '../base/format.js';
import { t } from '../base/i18n.js';
import { endWord, hexdump, lifeSay, ownerName, segmentLine, typeWord, valueView } from '../base/keyview.js';
import { copyButton, empty } from '../base/parts.js';
import { declared, said, sentence } from '../base/said.js';
import '../base/table.js';

export const keyHref = (key) => `/keys?key=${encodeURIComponent(key)}`;
export const patternHref = (p, module) =>
  `/keys?module=${encodeURIComponent(module)}&pattern=${encodeURIComponent(p.name)}`;

/** A key as one shell word, quoted only when it must be. */
export const shellWord = (word) => (/^[\w:.,@%+=/-]+$/.test(word) ? word : `'${String(word).replace(/'/g, "'\\''")}'`);

const endOf = (ttl) => (ttl == null || ttl < 0 ? null : Date.now() + ttl);
const fact = (label, value) => value && h('div', {}, h('dt', {}, t(label)), h('dd', {}, value));

/** A pattern's card and the table of its keys, page by page through `load`. */
export function patternCards(p, load) {
  const table = h('wk-table').setup({
    label: t('keys.ofpattern', { pattern: p.pattern }),
    key: (/** @type {Api.KeyLine} */ k) => k.key,
    href: (k) => keyHref(k.key),
    columns: [
      { id: 'key', name: t('key.key'), wide: true, cell: (k) => h('a.mono', { href: keyHref(k.key) }, k.key) },
      { id: 'type', name: t('key.type'), cell: (k) => typeWord({ type: k.type }) },
      { id: 'length', name: t('key.length'), num: true, cell: (k) => (k.length == null ? '' : num(k.length)) },
      { id: 'memory', name: t('key.size'), num: true, cell: (k) => bytes(k.memory) },
      { id: 'ttl_ms', name: t('key.end'), num: true, cell: (k) => endWord(endOf(k.ttl_ms)) },
    ],
    load,
    empty: () => empty({ glyph: 'keys', title: t('keys.none'), say: t('keys.nonesay') }),
  });
  const facts = [
    fact('key.type', typeWord({ type: p.type })),
    fact('key.life', lifeSay(p)),
    fact('key.owner', ownerName(p.owner)),
    fact('key.readers', p.readers?.map(ownerName).join(', ')),
    fact('keys.keys', num(p.keys)),
    fact('keys.memory', p.memory == null ? null : bytes(p.memory)),
  ];
  const card = h(
    'section.card',
    {},
    segmentLine(p.pattern, p.pattern, p.module),
    h('p.quiet', {}, declared(`key.${p.module}.${p.name}`, p.says)),
    h('dl.keyfacts', {}, facts),
  );
  return { table, nodes: [card, h('section.card.flush', {}, table)] };
}

/** A key's cards from the answer of GET /api/keys/{key}. The value greys when the key ends while it is open. */
export function keyCards(d, key) {
  const view = h('wk-key');
  view.show({ ...d, key });
  const valueBox = h('div', {}, valueView(d));
  view.addEventListener('ended', () => {
    valueBox.style.opacity = '.5';
  });
  return [
    view,
    h(
      'div.grid',
      {},
      valueCard(d, valueBox),
      h('div.stack.w5', {}, verdict(d), neighbours(d.neighbours || [], d.definition?.module)),
    ),
  ];
}

/** @param {Api.KeyView} d @param {HTMLElement} box */
function valueCard(d, box) {
  const bytesOf = () => hexdump(typeof d.value === 'string' ? d.value : JSON.stringify(d.value));
  const swap = h('button.btn.quiet.small', { type: 'button', 'aria-pressed': 'false' }, t('key.raw'));
  swap.addEventListener('click', () => {
    const raw = swap.getAttribute('aria-pressed') !== 'true';
    swap.setAttribute('aria-pressed', String(raw));
    text(swap, t(raw ? 'key.meaning' : 'key.raw'));
    fill(box, raw ? h('div.value', {}, h('pre', { tabindex: '0' }, bytesOf())) : valueView(d));
  });
  const copy = typeof d.value === 'string' && copyButton(d.value, t('key.value'));
  const head = h('header', {}, h('h2', {}, t('key.value')), h('span.end', {}, !d.hidden && swap, copy));
  return h('section.card.w7', {}, head, box, d.truncated && h('p.note', {}, t('key.first', { n: d.shown })));
}

/** @param {Api.KeyView} d */
function verdict(d) {
  const faults = d.findings || [];
  const words = faults.length
    ? faults.map((f) => h('div', {}, sentence(said(f))))
    : t(d.definition ? 'key.healthy' : 'key.foreignok');
  return h(
    'div.healthy',
    { class: faults.length ? 'warn' : '' },
    icon(faults.length ? 'warn' : 'check'),
    h('span', {}, words),
  );
}

function neighbours(list, module) {
  if (!list.length) return null;
  const lines = list.map((n) =>
    h(
      'a',
      { href: keyHref(n.key) },
      h('span.mono.cut', { title: n.key }, n.key),
      h(
        'span.end.note',
        { title: declared(`key.${module}.${n.name}`, n.says) },
        h('span', { translate: 'no' }, n.name),
      ),
    ),
  );
  return h('section.card', {}, h('header', {}, h('h2', {}, t('key.near'))), h('div.lines', {}, lines));
}
