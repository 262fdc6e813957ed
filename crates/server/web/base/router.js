// One address per view, filters included. A page is a module with `mount(root, ctx)` giving back optional
// `update(params, query)` and `unmount()`. Only a change of page moves focus; a change of filter does not.

const routes = [];
let shown = null;
let hooks = {};
let serial = 0;

/** `/keys/:key*` → a matcher; `:name` takes one part, `:name*` the rest of the path. */
export function route(pattern, load, nav) {
  const names = [];
  const source = pattern.replace(/[.]/g, '\\.').replace(/\/:(\w+)(\*?)/g, (_, name, star) => {
    names.push(name);
    return star ? '/(.+)' : '/([^/]+)';
  });
  routes.push({ pattern, re: new RegExp(`^${source}/?$`), names, load, nav });
}

function find(path) {
  for (const r of routes) {
    const hit = r.re.exec(path);
    if (hit) {
      try {
        return { r, params: Object.fromEntries(r.names.map((n, i) => [n, decodeURIComponent(hit[i + 1])])) };
      } catch {
        return null;
      }
    }
  }
  return null;
}

export const query = () => Object.fromEntries(new URLSearchParams(location.search));
export const here = () => location.pathname + location.search;
export const view = () => shown;
/** Whether an address is one of ours. */
export const knows = (url) => !!find(String(url).split('?')[0]);

/** Goes to an address of ours. */
export function go(url, { replace = false, keepFocus = false } = {}) {
  if (url !== here()) history[replace ? 'replaceState' : 'pushState']({ y: 0 }, '', url);
  return show({ keepFocus });
}

/** Changes members of the query; null removes. Filters replace, selections push. */
export function setQuery(change, { push = false } = {}) {
  const q = new URLSearchParams(location.search);
  for (const [k, v] of Object.entries(change))
    if (v == null || v === '') q.delete(k);
    else q.set(k, v);
  const tail = q.toString();
  return go(location.pathname + (tail ? `?${tail}` : ''), { replace: !push, keepFocus: true });
}

async function show({ keepFocus = false, fresh = false } = {}) {
  const mine = ++serial;
  const found = find(location.pathname);
  const params = found?.params || {};
  const q = query();
  if (!fresh && found && shown && shown.r === found.r && shown.page?.update) {
    shown.params = params;
    hooks.changed?.(shown);
    await shown.page.update(params, q);
    return;
  }
  let module;
  try {
    module = found ? await found.r.load() : await hooks.missing();
  } catch (e) {
    if (mine === serial) hooks.broken?.(e);
    return;
  }
  if (mine !== serial) return;
  shown?.abort.abort();
  try {
    shown?.page?.unmount?.();
  } catch (e) {
    console.error(e);
  }
  const abort = new AbortController();
  shown = { r: found?.r, params, abort, page: null, nav: found?.r.nav };
  const { root, ctx } = hooks.prepare(shown, { params, query: q, signal: abort.signal });
  try {
    shown.page = (await module.mount(root, ctx)) || {};
  } catch (e) {
    // A page that cannot be drawn says so: an empty frame tells nobody anything.
    if (mine === serial) hooks.broken?.(e);
    return;
  }
  if (mine === serial) hooks.shown?.(shown, { keepFocus });
}

/** Draws the present page again from nothing: another language, another role. */
export const again = () => show({ keepFocus: true, fresh: true });

/** Starts listening. `hooks`: prepare, shown, changed, missing, broken. */
export function start(given) {
  hooks = given;
  addEventListener('popstate', () => show());
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = /** @type {HTMLAnchorElement} */ (/** @type {Element} */ (e.target).closest?.('a[href]'));
    if (!a || a.target || a.hasAttribute('download') || a.origin !== location.origin || a.dataset.plain !== undefined)
      return;
    if (a.hash && a.pathname === location.pathname && a.search === location.search) return;
    if (!find(a.pathname)) return;
    e.preventDefault();
    go(a.pathname + a.search);
  });
  return show({ keepFocus: true });
}
