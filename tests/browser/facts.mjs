// Facts about a layout that hold on every page and in every dialog: nothing scrolls sideways, no text is cut unless its whole
// text can be had, no control lies on another, text stands out from its ground.

/** Runs in the page: what is wrong under `root`, as sentences.
 *  @param {string} root */
export function layoutFaults(root) {
  const top = /** @type {HTMLElement} */ (document.querySelector(root));
  if (!top) return [`there is no ${root}`];
  const out = new Set();
  const styles = new Map();
  const style = (el) => {
    if (!styles.has(el)) styles.set(el, getComputedStyle(el));
    return styles.get(el);
  };
  const called = (el) => {
    const name = el.tagName.toLowerCase() + [...el.classList].map((c) => `.${c}`).join('');
    return `${name} “${(el.getAttribute('aria-label') || el.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 40)}”`;
  };
  const path = function* (el) {
    for (let x = el; x; x = x.parentElement) yield x;
  };
  // What is one pixel large is there for readers only.
  const tiny = (el) => style(el).overflowX !== 'visible' && (el.clientWidth <= 2 || el.clientHeight <= 2);
  const shown = (el) =>
    el.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    !el.closest('.said, [inert]') &&
    ![...path(el)].some(tiny);

  const wide = document.documentElement;
  if (Math.max(wide.scrollWidth, document.body.scrollWidth) > wide.clientWidth)
    out.add(`scrolls sideways by ${Math.max(wide.scrollWidth, document.body.scrollWidth) - wide.clientWidth} px`);

  if (top.matches('dialog')) {
    const box = top.getBoundingClientRect();
    if (box.left < 0 || box.right > innerWidth || box.top < 0 || box.bottom > innerHeight)
      out.add('stands out of the window');
    for (const el of [top, ...top.children])
      if (el.scrollWidth > el.clientWidth)
        out.add(`${el.scrollWidth - el.clientWidth} px too wide inside: ${called(el)}`);
  }

  /** What of a box can be seen or scrolled to; `cut` is what hides the rest for good. */
  const visible = (el, box) => {
    let { left, top: up, right, bottom } = box;
    let cut = null;
    for (const x of path(el.parentElement && el)) {
      const s = style(x);
      if (s.overflowX === 'visible' && s.overflowY === 'visible') continue;
      const own = x.getBoundingClientRect();
      const [l, r] = [own.left + x.clientLeft, own.left + x.clientLeft + x.clientWidth];
      const [t, b] = [own.top + x.clientTop, own.top + x.clientTop + x.clientHeight];
      const hides = (how) => how === 'hidden' || how === 'clip';
      if (hides(s.overflowX) && (left < l - 1 || right > r + 1)) cut ||= x;
      if (hides(s.overflowY) && (up < t - 1 || bottom > b + 1)) cut ||= x;
      if (s.overflowX !== 'visible') [left, right] = [Math.max(left, l), Math.min(right, r)];
      if (s.overflowY !== 'visible') [up, bottom] = [Math.max(up, t), Math.min(bottom, b)];
      if (s.overflowY === 'auto' || s.overflowY === 'scroll' || s.overflowX === 'auto' || s.overflowX === 'scroll') {
        // What is scrolled away is only out of sight.
        if (right <= left || bottom <= up) return { left, up, right: left, bottom: up, cut };
      }
    }
    return { left, up, right, bottom, cut };
  };

  // Texts.
  const lum = ([r, g, b]) => {
    const f = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const colors = new Map();
  const color = (text) => {
    if (!colors.has(text)) {
      const n = (text.match(/[\d.]+(?:e-?\d+)?%?/g) || []).map(Number);
      const rgb = text.startsWith('color(') ? n.slice(0, 3) : n.slice(0, 3).map((v) => v / 255);
      colors.set(text, { rgb, a: n[3] ?? 1 });
    }
    return colors.get(text);
  };
  const over = (a, b) => ({ rgb: a.rgb.map((v, i) => v * a.a + b.rgb[i] * (1 - a.a)), a: 1 });
  const grounds = new Map();
  const ground = (el) => {
    if (!el) return color(getComputedStyle(document.body).backgroundColor);
    if (!grounds.has(el)) {
      const own = color(style(el).backgroundColor);
      const image = style(el).backgroundImage !== 'none';
      const below = own.a < 1 || image ? ground(el.parentElement) : null;
      grounds.set(el, image || below === 'image' ? 'image' : own.a < 1 ? over(own, below) : own);
    }
    return grounds.get(el);
  };
  const texts = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  const measured = document.createRange();
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const el = node.parentElement;
    const text = node.textContent.trim();
    if (!text || !shown(el) || el.closest('svg, option, select, textarea, script')) continue;
    measured.selectNodeContents(node);
    const boxes = [...measured.getClientRects()].filter((b) => b.width > 1);
    if (!boxes.length) continue;
    const whole = (x) =>
      [x.getAttribute('title'), x.getAttribute('aria-label')].some((t) =>
        t?.replace(/\s+/g, ' ').includes(text.replace(/\s+/g, ' ')),
      );
    const cut = boxes.map((b) => visible(el, b).cut).find(Boolean);
    if (cut && ![...path(el)].some(whole)) out.add(`text is cut: ${called(el)} by ${called(cut)}`);
    const s = style(el);
    const below = ground(el);
    if (below === 'image') continue;
    const ink = over(color(s.color), below);
    const [a, b] = [lum(ink.rgb), lum(below.rgb)].sort((m, n) => n - m);
    const ratio = (a + 0.05) / (b + 0.05);
    const px = Number.parseFloat(s.fontSize);
    const least = px >= 24 || (px >= 18.66 && Number(s.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < least - 0.01 && !el.closest('[aria-disabled=true], :disabled'))
      out.add(`contrast is ${ratio.toFixed(2)}: ${called(el)}`);
  }

  // Fields: what they hold can be scrolled with the caret, what they suggest or have chosen cannot.
  const pen = document.createElement('canvas').getContext('2d');
  for (const el of /** @type {NodeListOf<HTMLInputElement | HTMLSelectElement>} */ (
    top.querySelectorAll('input, select')
  )) {
    if (!shown(el)) continue;
    const s = style(el);
    const choice = el instanceof HTMLSelectElement;
    const text = choice ? el.selectedOptions[0]?.textContent : el.value ? '' : el.placeholder;
    if (!text) continue;
    pen.font = s.font;
    const room =
      el.clientWidth - Number.parseFloat(s.paddingLeft) - Number.parseFloat(s.paddingRight) - (choice ? 18 : 0);
    if (pen.measureText(text).width > room + 1 && !el.title) out.add(`text is cut: ${called(el)} “${text}”`);
  }

  // Controls, in layers: what is fixed to the window lies over what scrolls under it.
  const layer = (el) =>
    [...path(el)].find((x) => ['fixed', 'sticky'].includes(style(x).position) || x.matches('dialog, [popover]'));
  const controls = [
    ...top.querySelectorAll('a[href], button, input, select, textarea, summary, [role=option], [role=treeitem]'),
  ]
    .filter((el) => shown(el) && style(el).pointerEvents !== 'none')
    .flatMap((el) => [...el.getClientRects()].map((box) => ({ el, layer: layer(el), ...visible(el, box) })))
    .filter((c) => c.right - c.left > 1 && c.bottom - c.up > 1)
    .sort((a, b) => a.up - b.up);
  for (const [i, a] of controls.entries())
    for (let j = i + 1; j < controls.length && controls[j].up < a.bottom - 1; j += 1) {
      const b = controls[j];
      if (a.el === b.el || a.layer !== b.layer || a.el.contains(b.el) || b.el.contains(a.el)) continue;
      if (a.left < b.right - 1 && b.left < a.right - 1)
        out.add(`lie on each other: ${called(a.el)} and ${called(b.el)}`);
    }
  return [...out];
}
