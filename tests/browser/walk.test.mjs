// From every page to every other by a click, and by the browser's Back; every dialog at three widths. One server, one
// browser: what only shows on the second visit to a page, or only in a narrow window, shows here.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { ask, launch, open, Server, shot, until } from './kit.mjs';

const TENANT = 'de300000-0000-4000-8000-000000000001';
const FIELD = `/world?tenant=${TENANT}&world=0&channel=1&map=40000`;
const WIDTHS = [1440, 768, 360];
let server;
let browser;
let monster;
let reactor;

async function inField(kind, attributes) {
  const answer = await fetch(
    `${server.url}/api/worlds/0/channels/1/maps/40000/instances/00000000-0000-0000-0000-000000000000/${kind}`,
    {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'TENANT-ID': TENANT,
        REGION: 'DEMO',
        'MAJOR-VERSION': '1',
        'MINOR-VERSION': '0',
      },
      body: JSON.stringify({ data: { attributes } }),
    },
  );
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return JSON.parse(text).data.id;
}

before(async () => {
  server = await Server.start();
  browser = await launch();
  await ask(server, 'POST', '/api/jobs', { jobId: 'mail', type: 'email', payload: { to: 'a@b.c' } });
  for (const id of ['lost-1', 'lost-2']) {
    await ask(server, 'POST', '/api/jobs', { jobId: id, type: 'invoice', payload: { to: 'a@b.c' } });
    await ask(server, 'POST', `/api/jobs/${id}:bury`, {});
  }
  await ask(server, 'PUT', '/api/cron/digest', { type: 'email', payload: {}, schedule: { cron: '0 18 * * *' } });
  monster = await inField('monsters', { monsterId: 9400001, x: 0, y: 0 });
  reactor = await inField('reactors', { classification: 2001, x: 50, y: 0, delay: 0 });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Runs in the page: takes each step, `click` or `back` and where that leads, and gives the first that went wrong. */
async function walk(steps) {
  const router = await import('/base/router.js');
  const view = () => document.querySelector('main .view');
  const wrong = (to) => {
    if (router.here() !== to) return `is at ${router.here()}`;
    if (!router.view().page || router.view().r.pattern !== location.pathname) return 'is not drawn';
    if (!document.querySelector('[aria-current=page]')) return 'is nowhere in the navigation';
    if (!document.querySelector('h1')?.textContent.trim()) return 'has no title';
    if (view().querySelector('.skeleton') || window.asking) return 'goes on loading';
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
    } else history.back();
    const end = Date.now() + 10000;
    while (wrong(to) && Date.now() < end)
      await new Promise((r) => {
        setTimeout(r, 2);
      });
    if (wrong(to)) return `${how} from ${from} to ${to}: it ${wrong(to)}`;
  }
  return null;
}

test('a click leads from every page to every other and back, and so does Back', async () => {
  const page = await open(browser, server, '/');
  const routes = await page.evaluate(async () => {
    // What goes wrong with an answer is seen only by whoever waits for it.
    const { fetch } = window;
    window.asking = 0;
    window.fetch = (...args) => {
      window.asking += 1;
      return fetch(...args).finally(() => {
        setTimeout(() => (window.asking -= 1), 10);
      });
    };
    return (await import('/pages/registry.js')).nav.flatMap((item) => item.routes.map((route) => String(route[0])));
  });
  const pages = routes.map((at) => (at === '/jobs/job' ? '/jobs/job?id=mail' : at));
  assert.ok(pages.length > 15 && !pages.some((at) => at.includes(':')), `no address for one of ${pages}`);
  const went = ['/'];
  const go = async (what, steps) => {
    const fault = await page.evaluate(walk, steps);
    assert.deepEqual([fault, ...(await page.wrong())], [null], what);
    went.push(...steps.map(([, to]) => to));
  };
  for (const [n, one] of pages.entries()) {
    const there = went.at(-1) === one ? [] : [['click', one]];
    const others = pages.slice(n + 1).flatMap((other) => [
      ['click', other],
      ['click', one],
    ]);
    await go(`from ${one} and back`, [...there, ...others]);
  }
  const before = went.slice(-2 * pages.length - 1, -1).reverse();
  await go(
    'by Back',
    before.map((to) => ['back', to]),
  );
  await page.close();
});

/** What stands out of a dialog, or out of the window. */
const outside = (page) =>
  page.evaluate(() => {
    const el = document.querySelector('dialog[open]');
    const box = el.getBoundingClientRect();
    const wide = [...el.querySelectorAll('*')].filter((x) => {
      const own = x.getBoundingClientRect();
      return own.width && !x.closest('pre, .scroll') && (own.right > box.right + 1 || own.left < box.left - 1);
    });
    return [
      el.scrollWidth > el.clientWidth && `${el.scrollWidth - el.clientWidth} px too wide inside`,
      (box.left < 0 || box.right > innerWidth || box.top < 0 || box.bottom > innerHeight) && 'out of the window',
      ...wide.map((x) => `${x.tagName} ${x.className} stands out`),
    ].filter(Boolean);
  });

test('every dialog fits into the window, wide and narrow', async () => {
  const head = (words) => (page) => page.locator('.head .btn', { hasText: words }).first().click();
  const letter = (words) => async (page) => {
    await page.locator('.twistrow').first().click();
    await page.locator('.letter .btn', { hasText: words }).first().click();
  };
  const beside = (words) => (page) => page.locator('.beside .btn, wk-drawer .btn', { hasText: words }).first().click();
  /** @type {[string, string, (page: any) => Promise<unknown>][]} */
  const dialogs = [
    ['new-job', '/jobs', head('New job')],
    ['copy-job', '/jobs/job?id=mail', head('Copy')],
    ['cancel-job', '/jobs/job?id=mail', head('Cancel')],
    ['pause-type', '/jobs/types', head('Pause')],
    ['edit-letter', '/jobs/dead', letter('Edit')],
    ['new-cron', '/jobs/cron', head('New')],
    ['spawn', FIELD, head('Spawn')],
    ['hit-monster', `${FIELD}&sel=m${monster}`, beside('Hit')],
    ['effect', `${FIELD}&sel=m${monster}`, beside('Effect')],
    ['remove-monster', `${FIELD}&sel=m${monster}`, beside('Remove')],
    ['hit-reactor', `${FIELD}&sel=r${reactor}`, beside('Hit')],
    ['help', '/', (page) => page.keyboard.press('?')],
  ];
  const page = await open(browser, server, '/');
  for (const [name, at, opened] of dialogs) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(server.url + at);
    await page.waitForFunction(
      () => document.querySelector('h1:not(:empty)') && !document.querySelector('.view .skeleton'),
    );
    await opened(page);
    await page.waitForSelector('dialog[open]');
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await until(`${name} at ${width} px to fit`, async () => (await outside(page)).length === 0, 1500).catch(
        async () => assert.deepEqual(await outside(page), [], `${name} at ${width} px`),
      );
      await shot(page, `dialog-${name}-${width}`);
    }
  }
  assert.deepEqual(await page.done(), []);
});
