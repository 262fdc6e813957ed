// The way people move: from every page to every other by a click, by Back and Forward and by keys; each page by its address
// alone and after a reload; rows by j, k and Enter; a second tab; a server that goes and comes back. One server, one browser:
// what only shows on the second visit to a page shows here. Any console error, empty page or endless loading fails.
import assert from 'node:assert/strict';
import test from 'node:test';
import { open, Server, stage, until } from './kit.mjs';
import { pagesOf, seed } from './seed.mjs';

const on = stage(seed);

/** Runs in the page: takes each step and gives the first that went wrong. A step is how (`click`, `back`, `forward`, `g` with
 *  a letter, `stay`) and where that leads. */
async function walk(steps) {
  const router = await import('/base/router.js');
  const view = () => document.querySelector('main .view');
  const wrong = (to) => {
    if (router.here() !== to) return `is at ${router.here()}`;
    if (!router.view().page || router.view().r.pattern !== location.pathname) return 'is not drawn';
    if (!document.querySelector('[aria-current=page]')) return 'is nowhere in the navigation';
    if (!document.querySelector('h1')?.textContent.trim()) return 'has no title';
    if (view().querySelector('.skeleton, [aria-busy=true], .spin') || window.asking) return 'goes on loading';
    if (!view().textContent.trim() || view().getBoundingClientRect().height < 40) return 'is empty';
    return null;
  };
  for (const [how, to] of steps) {
    const from = location.pathname;
    if (how === 'click') {
      // A link of the page itself where there is one; any other works the same way.
      const own = [...document.querySelectorAll('a[href]')].find((a) => a.getAttribute('href') === to);
      const link = own || document.body.appendChild(Object.assign(document.createElement('a'), { href: to }));
      link.click();
      if (!own) link.remove();
    } else if (how.startsWith('g '))
      for (const key of how.split(' '))
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    else if (how !== 'stay') history[how]();
    const end = Date.now() + 10000;
    while (wrong(to) && Date.now() < end)
      await new Promise((r) => {
        setTimeout(r, 2);
      });
    if (wrong(to)) return `${how} from ${from} to ${to}: it ${wrong(to)}`;
  }
  return null;
}

/** Counts what is being asked for, from the page's first line on: what goes wrong with an answer is seen only by whoever
 *  waits for it. */
function counting() {
  const { fetch } = window;
  window.asking = 0;
  window.fetch = (...args) => {
    window.asking += 1;
    return fetch(...args).finally(() => {
      setTimeout(() => (window.asking -= 1), 10);
    });
  };
}

const went = async (page, what, steps) => {
  const fault = await page.evaluate(walk, steps);
  assert.deepEqual([fault, ...(await page.wrong())], [null], what);
};

test('a click leads from every page to every other and back, and so do Back, Forward and keys', async () => {
  const page = await open(on.browser, on.server, '/');
  await page.evaluate(counting);
  const pages = await pagesOf(page);
  const trail = ['/'];
  const go = async (what, steps) => {
    await went(page, what, steps);
    trail.push(...steps.map(([, to]) => to));
  };
  for (const [n, one] of pages.entries()) {
    const there = trail.at(-1) === one ? [] : [['click', one]];
    const others = pages.slice(n + 1).flatMap((other) => [
      ['click', other],
      ['click', one],
    ]);
    await go(`from ${one} and back`, [...there, ...others]);
  }
  const last = trail.slice(-2 * pages.length - 1);
  await went(
    page,
    'by Back',
    last
      .slice(0, -1)
      .reverse()
      .map((to) => ['back', to]),
  );
  await went(
    page,
    'by Forward',
    last.slice(1).map((to) => ['forward', to]),
  );
  const chords = await page.evaluate(async () =>
    (await import('/pages/registry.js')).nav.map((item) => [`g ${item.chord}`, item.path]),
  );
  await went(page, 'by keys', [...chords, ...chords.toReversed()]);
  await page.close();
});

test('each page comes by its address alone and after a reload', async () => {
  const page = await open(on.browser, on.server, '/');
  await page.addInitScript(counting);
  for (const at of await pagesOf(page)) {
    await page.goto(on.server.url + at);
    await page.waitForSelector('h1:not(:empty)');
    await went(page, `${at} by its address`, [['stay', at]]);
    await page.reload();
    await page.waitForSelector('h1:not(:empty)');
    await went(page, `${at} after a reload`, [['stay', at]]);
  }
  await page.close();
});

/** Texts of the browser itself while a server is away. */
const AWAY = [
  'ERR_CONNECTION_REFUSED',
  'ERR_CONNECTION_RESET',
  'ERR_EMPTY_RESPONSE',
  'WebSocket connection',
  'net::ERR_',
];

test('j and k go along the rows of every page that has some, Enter opens one, Back leads to the list again', async () => {
  const page = await open(on.browser, on.server, '/');
  await page.evaluate(counting);
  const withRows = [];
  for (const at of await pagesOf(page)) {
    await went(page, at, [['click', at]]);
    const rows = await page.locator('main wk-table tbody tr[tabindex]').count();
    if (!rows) continue;
    withRows.push(at);
    const focused = () =>
      page.evaluate(() => {
        const row = document.activeElement?.closest('tbody tr');
        return row ? [...row.parentElement.children].indexOf(row) : -1;
      });
    await page.locator('h1').focus();
    await page.keyboard.press('j');
    assert.equal(await focused(), 0, `${at}: j takes the first row`);
    await page.keyboard.press('j');
    assert.equal(await focused(), Math.min(1, rows - 1), `${at}: j goes down`);
    await page.keyboard.press('k');
    assert.equal(await focused(), 0, `${at}: k goes up`);
    const before = page.url();
    await page.keyboard.press('Enter');
    await until(`${at}: Enter opens the row`, () =>
      page.evaluate((url) => location.href !== url || !!document.querySelector('wk-drawer, dialog[open]'), before),
    );
    if (page.url() !== before) {
      await page.goBack();
      await went(page, `${at} again`, [['stay', at]]);
    } else await page.keyboard.press('Escape');
    assert.deepEqual(await page.wrong(), [], at);
  }
  assert.ok(withRows.includes('/jobs'), `pages with rows: ${withRows}`);
  await page.close();
});

/** Every page by a click, without a look at how it got there. */
async function tour(page, what) {
  const pages = await pagesOf(page);
  await went(
    page,
    what,
    pages.map((at) => ['click', at]),
  );
}

test('a second tab walks beside the first, and neither disturbs the other', async () => {
  const first = await open(on.browser, on.server, '/jobs');
  const second = await first.context().newPage();
  const wrong = [];
  second.on('console', (m) => ['error', 'warning'].includes(m.type()) && wrong.push(m.text()));
  second.on('pageerror', (e) => wrong.push(e.message));
  second.wrong = async () => wrong;
  await second.goto(`${on.server.url}/health`);
  await second.waitForSelector('h1:not(:empty)');
  await second.evaluate(counting);
  await first.evaluate(counting);
  await Promise.all([tour(first, 'first tab'), tour(second, 'second tab')]);
  assert.deepEqual(await first.done(), []);
});

test('pages outlive a lost connection and a restart: each is there while the server is away, and lives on after', async () => {
  const other = await Server.start();
  await seed(other);
  const page = await open(on.browser, other, '/', { allow: AWAY });
  await page.evaluate(counting);
  // Each page is fetched once before; one that never was says so, and comes with the server.
  await tour(page, 'before');
  const live = (word) =>
    until(`the page to be ${word}`, () =>
      page.evaluate((state) => document.querySelector('.livestate i').classList.contains(state), word),
    );
  await live('ok');
  await other.down();
  await live('bad');
  const pages = await pagesOf(page);
  for (const at of pages) {
    await page.evaluate((to) => {
      const link = document.body.appendChild(Object.assign(document.createElement('a'), { href: to }));
      link.click();
      link.remove();
    }, at);
    await until(`${at} to be drawn while the server is away`, () =>
      page.evaluate(
        (to) =>
          location.pathname + location.search === to &&
          !!document.querySelector('h1').textContent.trim() &&
          document.querySelector('main').innerText.trim().length > 40,
        at,
      ),
    );
  }
  await other.up();
  await live('ok');
  await seed(other).catch(() => {}); // what is durable is there already
  await page.goto(other.url);
  await page.waitForSelector('h1:not(:empty)');
  await page.evaluate(counting);
  await tour(page, 'after the restart');
  assert.deepEqual(await page.done(), []);
  await other.stop();
});

test('a page that stays open goes on by itself after a restart', async () => {
  const other = await Server.start();
  await seed(other);
  const wrong = [];
  for (const at of ['/', '/jobs', '/world', '/health', '/events']) {
    const page = await open(on.browser, other, at, { allow: AWAY });
    await other.down();
    await other.up();
    await until(`${at} to be live again`, () =>
      page.evaluate(() => document.querySelector('.livestate i').classList.contains('ok')),
    );
    await until(`${at} to be whole again`, () =>
      page.evaluate(
        () =>
          !document.querySelector('.view .skeleton, .view [role=alert]') &&
          document.querySelector('main .view').innerText.trim().length > 40,
      ),
    );
    wrong.push(...(await page.done()));
  }
  assert.deepEqual(wrong, []);
  await other.stop();
});
