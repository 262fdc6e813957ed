// What every page must keep, looked at in the browser: names and roles, and contrast. Both give a list of faults.

/** One title, labelled controls, landmarks, no duplicate ids, headings in order. */
export const nameFaults = (page, { nav = true } = {}) =>
  page.evaluate((nav) => {
    const out = [];
    const seen = (el) => el.checkVisibility();
    const name = (el) =>
      (
        el.getAttribute('aria-label') ||
        el.getAttribute('title') ||
        (el.getAttribute('aria-labelledby') || '')
          .split(' ')
          .map((id) => document.getElementById(id)?.textContent || '')
          .join('') ||
        el.labels?.[0]?.textContent ||
        el.textContent ||
        ''
      ).trim();
    for (const el of document.querySelectorAll('button, a[href], input, select, [role=button], [role=treeitem]'))
      if (seen(el) && !name(el)) out.push(`no name: ${el.outerHTML.slice(0, 120)}`);
    for (const el of document.querySelectorAll('input'))
      if (seen(el) && !el.labels?.length && !el.getAttribute('aria-label')) out.push(`no label: ${el.outerHTML}`);
    const ids = [...document.querySelectorAll('[id]')].map((el) => el.id);
    for (const id of new Set(ids)) if (ids.filter((x) => x === id).length > 1) out.push(`id twice: ${id}`);
    for (const el of document.querySelectorAll('[aria-labelledby], [aria-describedby], [aria-controls]'))
      for (const attr of ['aria-labelledby', 'aria-describedby', 'aria-controls'])
        for (const id of (el.getAttribute(attr) || '').split(' ').filter(Boolean))
          if (!document.getElementById(id)) out.push(`${attr} to nothing: ${id}`);
    if (document.querySelectorAll('main').length !== 1) out.push('not one main');
    if (nav && ![...document.querySelectorAll('nav')].some(seen)) out.push('no nav');
    for (const img of document.querySelectorAll('svg'))
      if (
        seen(img) &&
        !img.getAttribute('aria-hidden') &&
        !img.getAttribute('aria-label') &&
        !img.closest('[aria-hidden]')
      )
        out.push(`svg without name: ${img.outerHTML.slice(0, 80)}`);
    let level = 1;
    for (const el of document.querySelectorAll('main h1, main h2, main h3, main h4')) {
      const n = Number(el.tagName[1]);
      if (n > level + 1) out.push(`heading jumps to ${el.tagName}: ${el.textContent}`);
      level = n;
    }
    for (const el of document.querySelectorAll('[tabindex]'))
      if (Number(el.getAttribute('tabindex')) > 0) out.push('positive tabindex');
    return out;
  }, nav);

/** Text that misses 4.5:1 on the colour behind it. What is fading or clipped is not looked at. */
export const contrastFaults = (page) =>
  page.evaluate(() => {
    const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = (c) => {
      paint.clearRect(0, 0, 1, 1);
      paint.fillStyle = c;
      paint.fillRect(0, 0, 1, 1);
      const d = paint.getImageData(0, 0, 1, 1).data;
      return [d[0], d[1], d[2], d[3] / 255];
    };
    /** @param {number[]} rgba */
    const lum = ([r, g, b]) => {
      const f = (v) => {
        v /= 255;
        return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      };
      return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
    };
    const behind = (el) => {
      for (let e = el; e; e = e.parentElement) {
        const c = rgba(getComputedStyle(e).backgroundColor);
        if (c[3] > 0.99) return c;
      }
      return rgba('Canvas');
    };
    const out = [];
    for (const el of document.querySelectorAll('body *')) {
      if (
        ![...el.childNodes].some((n) => n instanceof Text && n.data.trim()) ||
        !el.checkVisibility() ||
        el.closest('.said, .skip, svg')
      )
        continue;
      const css = getComputedStyle(el);
      if (css.clipPath !== 'none' || Number(css.opacity) < 1) continue;
      const [a, b] = [lum(rgba(css.color)), lum(behind(el))].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < 4.5) out.push(`${ratio.toFixed(2)} ${el.className} ${el.textContent.slice(0, 40)}`);
    }
    return out;
  });
