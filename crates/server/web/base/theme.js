// Light or dark, before the first paint: a classic script, so nothing flashes. Owns the `data-theme` attribute
// and the tab icon, which is drawn from the tokens and therefore follows the theme.
(() => {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const read = () => {
    try {
      return localStorage.getItem('wk.theme');
    } catch {
      return null;
    }
  };
  const chosen = read();
  if (chosen === 'light' || chosen === 'dark') root.dataset.theme = chosen;

  const current = () => root.dataset.theme || (system.matches ? 'dark' : 'light');

  function paint() {
    const css = getComputedStyle(root);
    const v = (name) => encodeURIComponent(css.getPropertyValue(name).trim());
    if (!v('--accent')) return;
    const link = /** @type {HTMLLinkElement} */ (document.querySelector('link[rel=icon]'));
    if (!link) return;
    link.href =
      'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28">' +
      `<rect width="28" height="28" rx="7" fill="${v('--accent')}"/>` +
      `<path d="M7 8h3v2h2.5V8h3v2H18V8h3v5l-1.5 1.5V20h-11v-5.5L7 13z" fill="${v('--on-accent')}"/>` +
      `<path d="M12.3 20v-3.2a1.7 1.7 0 0 1 3.400 0V20z" fill="${v('--door')}"/></svg>`;
  }

  function set(theme) {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    try {
      if (theme) localStorage.setItem('wk.theme', theme);
      else localStorage.removeItem('wk.theme');
    } catch {
      /* private window: this page only */
    }
    paint();
    dispatchEvent(new CustomEvent('wk-theme', { detail: current() }));
  }

  system.addEventListener('change', () => {
    if (!root.dataset.theme) {
      paint();
      dispatchEvent(new CustomEvent('wk-theme', { detail: current() }));
    }
  });
  addEventListener('load', paint);
  window.wkTheme = { current, set, toggle: () => set(current() === 'dark' ? 'light' : 'dark') };
})();
