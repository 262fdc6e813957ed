// Start: language, who is looking, frame, routes, socket. The only file that knows all parts.

import * as api from './base/api.js';
import { h, loadIcons } from './base/dom.js';
import * as i18n from './base/i18n.js';
import * as keys from './base/keys.js';
import { Live } from './base/live.js';
import { closeDrawer } from './base/overlay.js';
import * as router from './base/router.js';
import { Shell } from './base/shell.js';
import { state } from './base/state.js';
import { nav } from './pages/registry.js';

const live = new Live({ needsTicket: () => !!state.session?.login });
const shell = new Shell(live);
let leaving = false;

/** What a page gets: everything it may use, nothing of the frame itself. */
function prepare(view, at) {
  closeDrawer(false);
  shell.navId = view.nav;
  shell.clear();
  shell.setHead({ title: '', sentence: '', crumbs: null, actions: null, badges: null });
  shell.drawNav();
  return {
    root: shell.view,
    ctx: {
      ...at,
      api,
      live,
      state,
      head: (x) => shell.setHead(x),
      echo: (x) => shell.echo.set(x),
      say: (x) => shell.say(x),
      digest: (x) => shell.digest(x),
      can: (role) => state.can(role),
      router,
    },
  };
}

async function login(reason) {
  if (leaving) return;
  leaving = true;
  live.stop();
  state.stop();
  const [page] = await Promise.all([import('./pages/login.js'), i18n.need(['login'])]);
  page.mount(document.getElementById('app'), { reason, party: state.party });
}

async function boot() {
  await Promise.all([i18n.use(i18n.preferred()), loadIcons()]);
  addEventListener('wk-login', (e) => login(e.detail));
  addEventListener('wk-logout', async () => {
    await api.del('/api/session', { quiet: true }).catch(() => null);
    login(null);
  });
  addEventListener('wk-lang', async (e) => {
    await i18n.use(e.detail, true);
    shell.build();
    router.again();
  });
  try {
    if (!(await state.loadSession())) {
      await login(null);
      return;
    }
  } catch (e) {
    if (e.status === 401 || e.status === 403) {
      await login(e);
      return;
    }
    // Server or store away: show the frame and keep asking.
  }
  // A page comes with its own words; the base has only what every page says.
  const withWords = (item, load) => async () => (await Promise.all([load(), i18n.need(item.words)]))[0];
  for (const item of nav) for (const [at, load] of item.routes) router.route(at, withWords(item, load), item.id);
  shell.build();
  shell.follow();
  keys.start();
  state.start();
  live.start();
  live.latest();
  await router.start({
    prepare,
    missing: () => import('./pages/missing.js'),
    broken: (e) => {
      prepare({ nav: null }, {});
      const away = live.state !== 'live';
      shell.broken(e, away);
      // A page that could not be fetched stays unfetched for this document, so its return takes a new one.
      if (away) live.addEventListener('back', () => location.reload(), { once: true });
      else console.warn(e);
    },
    changed: (view) => {
      shell.navId = view.nav;
      shell.drawNav();
    },
    shown: (_view, { keepFocus }) => {
      scrollTo(0, 0);
      if (!keepFocus) shell.h1.focus();
    },
  });
}

boot().catch((e) => {
  console.error(e);
  document.getElementById('app').append(h('p.noscript', { role: 'alert' }, String(e.message || e)));
});
