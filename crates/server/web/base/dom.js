// Making elements without innerHTML: text always goes through text nodes, so nothing stored can become markup.

const SVG = 'http://www.w3.org/2000/svg';

/** `h('div.card#id', {class, on: {click}, …attributes}, …children)`. Null children are left out.
 *  @type {Wk.H} */
export function h(spec, props, ...kids) {
  const [, tag, rest] = /^([\w-]*)(.*)$/.exec(spec);
  const el = document.createElement(tag || 'div');
  for (const [, mark, name] of rest.matchAll(/([.#])([\w-]+)/g)) {
    if (mark === '.') el.classList.add(name);
    else el.id = name;
  }
  if (props) setAll(el, props);
  add(el, kids);
  return /** @type {any} */ (el);
}

/** An SVG element with attributes; classes carry the colours.
 *  @type {Wk.S} */
export function s(tag, attrs, ...kids) {
  const el = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attrs || {})) if (value != null) el.setAttribute(name, String(value));
  add(el, kids);
  return el;
}

function setAll(el, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value == null || value === false) continue;
    if (name === 'on') for (const [type, fn] of Object.entries(value)) el.addEventListener(type, fn);
    else if (name === 'class') el.classList.add(...String(value).split(' ').filter(Boolean));
    else if (name === 'vars') for (const [k, v] of Object.entries(value)) el.style.setProperty(k, v);
    else if (name === 'props') Object.assign(el, value);
    else el.setAttribute(name, value === true ? '' : value);
  }
}

/** Appends strings, numbers, nodes and nested lists of them. */
export function add(el, kids) {
  for (const kid of kids.flat(Infinity)) {
    if (kid == null || kid === false) continue;
    el.append(kid instanceof Node ? kid : String(kid));
  }
  return el;
}

/** Replaces all children.
 *  @type {Wk.Fill} */
export function fill(el, ...kids) {
  el.replaceChildren();
  return add(el, kids);
}

/** Sets text only when it differs, so that nothing blinks and nothing is read out twice. */
export function text(el, value) {
  const next = value == null ? '' : String(value);
  if (el.textContent !== next) el.textContent = next;
}

/** Keeps children in step with `items` by key: same key, same element, focus survives. */
export function patch(parent, items, key, make, update) {
  const had = parent.wkRows || new Map();
  const now = new Map();
  let at = parent.firstChild;
  for (const item of items) {
    const id = key(item);
    const el = had.get(id) || make(item);
    update?.(el, item);
    now.set(id, el);
    if (el === at) at = at.nextSibling;
    else parent.insertBefore(el, at);
  }
  for (const [id, el] of had) if (!now.has(id)) el.remove();
  parent.wkRows = now;
}

let last = 0;
/** A fresh id for label and description links. */
export const uid = (stem = 'wk') => `${stem}-${++last}`;

/** Brings the sprite into the document once: icons then need no server, also while it is away. */
export async function loadIcons() {
  const answer = await fetch('/base/icons.svg');
  const sprite = new DOMParser().parseFromString(await answer.text(), 'image/svg+xml').documentElement;
  for (const symbol of sprite.querySelectorAll('symbol')) symbol.id = `icon-${symbol.id}`;
  sprite.setAttribute('class', 'said');
  sprite.setAttribute('aria-hidden', 'true');
  document.body.append(document.importNode(sprite, true));
}

/** One icon of the sprite; decorative unless it gets a label. */
export function icon(name, opts = {}) {
  const el = s('svg', {
    class: `icon ${opts.class || ''}`.trim(),
    'aria-hidden': opts.label ? null : 'true',
    role: opts.label ? 'img' : null,
    'aria-label': opts.label,
  });
  el.append(s('use', { href: `#icon-${name}` }));
  return el;
}

/** The keep, in the accent colour. */
export function logo() {
  return s(
    'svg',
    { class: 'logo', viewBox: '0 0 28 28', 'aria-hidden': 'true' },
    s('rect', { class: 'ground', width: 28, height: 28, rx: 7 }),
    s('path', { class: 'keep', d: 'M7 8h3v2h2.5V8h3v2H18V8h3v5l-1.5 1.5V20h-11v-5.5L7 13z' }),
    s('path', { class: 'door', d: 'M12.3 20v-3.2a1.7 1.7 0 0 1 3.400 0V20z' }),
  );
}

/** The coloured square of a module.
 *  @param {string} [module] */
export const square = (module) => h('i.square', { class: module ? `m-${module}` : '', 'aria-hidden': 'true' });

/** A page's own looks, loaded once before it is drawn. */
export function useStyle(href) {
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  return new Promise((resolve) => {
    const link = h('link', { rel: 'stylesheet', href });
    link.addEventListener('load', resolve);
    // Without its looks a page still works.
    link.addEventListener('error', resolve);
    document.head.append(link);
  });
}

/** Registers a custom element once, also when a page module is loaded twice in tests. */
export function define(name, type) {
  if (!customElements.get(name)) customElements.define(name, type);
}
