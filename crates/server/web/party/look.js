// Night or day before the first paint: a classic script, so nothing flashes. The big screen is night unless someone chose;
// a phone follows its system. Owns `data-look` and the colour of the browser's bar.
(() => {
  const root = document.documentElement;
  const key = `wk.party.look.${root.dataset.role}`;
  const light = matchMedia('(prefers-color-scheme: light)');
  const kept = () => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  const paint = () => {
    const own = root.dataset.role === 'play' && light.matches ? 'day' : 'night';
    root.dataset.look = kept() || own;
    const bar = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name=theme-color]'));
    if (bar) bar.content = getComputedStyle(root).getPropertyValue('--ground').trim();
  };
  paint();
  addEventListener('load', paint);
  light.addEventListener('change', paint);
  window.wkLook = {
    toggle() {
      const next = root.dataset.look === 'day' ? 'night' : 'day';
      try {
        localStorage.setItem(key, next);
      } catch {
        root.dataset.look = next;
      }
      paint();
    },
  };
})();
