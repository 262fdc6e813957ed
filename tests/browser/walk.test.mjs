// From every page to every other by a click, by Back and Forward and by keys; each page by its address alone and after a
// reload. One server, one browser: what only shows on the second visit to a page shows here.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, open, Server } from './kit.mjs';
import { pagesOf, seed } from './seed.mjs';

let server;
let browser;

before(async () => {
  server = await Server.start();
  browser = await launch();
  await seed(server);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

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
  const page = await open(browser, server, '/');
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
  const page = await open(browser, server, '/');
  await page.addInitScript(counting);
  for (const at of await pagesOf(page)) {
    await page.goto(server.url + at);
    await page.waitForSelector('h1:not(:empty)');
    await went(page, `${at} by its address`, [['stay', at]]);
    await page.reload();
    await page.waitForSelector('h1:not(:empty)');
    await went(page, `${at} after a reload`, [['stay', at]]);
  }
  await page.close();
});
