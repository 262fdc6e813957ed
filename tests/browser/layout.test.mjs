// Facts of the layout, on every page and in every dialog, at five widths, light and dark: see facts.mjs.
import assert from 'node:assert/strict';
import test from 'node:test';
import { layoutFaults } from './facts.mjs';
import { BESIDE, loaded, open, shot, stage, until } from './kit.mjs';
import { FIELD, pagesOf, seed } from './seed.mjs';

const WIDTHS = [1440, 768, 390, 360, 320];
const HEIGHTS = { 1440: 900, 768: 1024, 390: 844, 360: 740, 320: 568 };
const on = stage(seed);

/** What is wrong under `root` at each width and in each theme. A picture that still changes gets a moment. */
async function look(page, root, name, widths = WIDTHS, schemes = ['light', 'dark']) {
  const wrong = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: HEIGHTS[width] });
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      /** @type {string[]} */
      let faults = [];
      const right = async () => {
        faults = await page.evaluate(layoutFaults, root);
        return !faults.length;
      };
      await until('no fault', right, 700).catch(() => {});
      wrong.push(...faults.map((fault) => `${name} at ${width}, ${colorScheme}: ${fault}`));
      if (faults.length) await shot(page, `layout-${name.replace(/\W+/g, '-')}-${width}-${colorScheme}`);
    }
  }
  return wrong;
}

test('each kind of fault is found', async () => {
  const page = await open(on.browser, on.server, '/health');
  const found = (change) =>
    page.evaluate(
      ([check, edit]) => {
        const el = document.createElement('div');
        const words = document.createElement('button');
        words.textContent = 'some words that are rather long';
        el.append(words);
        document.querySelector('main').prepend(el);
        new Function('el', 'words', edit)(el, words);
        const faults = new Function(`return (${check})('main')`)();
        el.remove();
        return faults.join('; ');
      },
      [layoutFaults.toString(), change],
    );
  assert.equal(await found(''), '');
  assert.match(await found("el.style.width = '3000px'"), /scrolls sideways by/);
  assert.match(
    await found("Object.assign(el.style, {width: '60px', overflow: 'hidden', whiteSpace: 'nowrap'})"),
    /is cut/,
  );
  assert.equal(
    await found(
      "Object.assign(el.style, {width: '60px', overflow: 'hidden', whiteSpace: 'nowrap'}); el.title = words.textContent",
    ),
    '',
  );
  assert.match(
    await found("const twin = words.cloneNode(true); el.append(twin); twin.style.marginLeft = '-40px'"),
    /lie on/,
  );
  assert.match(await found("words.style.color = 'rgb(200, 205, 205)'"), /contrast is 1/);
  await page.close();
});

async function everyPage(page, ...how) {
  const own = ['m', 'r'].map((kind) => `${FIELD}&sel=${kind}${kind === 'm' ? on.made.monster : on.made.reactor}`);
  const wrong = [];
  for (const at of [...(await pagesOf(page)), ...own, `${FIELD}&sel=p4`, '/nowhere', ...BESIDE]) {
    await page.goto(on.server.url + at);
    await loaded(page);
    wrong.push(...(await look(page, 'body', at.replace(FIELD, '/world'), ...how)));
  }
  assert.deepEqual([...wrong, ...(await page.done())], []);
}

test('every page keeps the facts of the layout', async () => {
  await everyPage(await open(on.browser, on.server, '/', { motion: 'reduce' }));
});

test('so it does in French, which is longer, where there is least room', async () => {
  const page = await open(on.browser, on.server, '/', {
    motion: 'reduce',
    lang: 'fr-FR',
    width: 320,
    height: HEIGHTS[320],
  });
  await everyPage(page, [320], ['light']);
});

test('every dialog fits and keeps the facts of the layout', async () => {
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
    [
      'cancel-jobs',
      '/jobs',
      async (page) => {
        // A waiting job can be cancelled; what has ended offers other actions.
        const row = page.locator('wk-table tbody tr', { has: page.getByText('mail', { exact: true }) });
        await row.first().locator('input').check();
        await page.locator('.bulk .btn', { hasText: 'Cancel' }).click();
      },
    ],
    ['pause-type', '/jobs/types', head('Pause')],
    ['edit-letter', '/jobs/dead', letter('Edit')],
    ['new-cron', '/jobs/cron', head('New')],
    ['spawn', FIELD, head('Spawn')],
    ['hit-monster', `${FIELD}&sel=m${on.made.monster}`, beside('Hit')],
    ['effect', `${FIELD}&sel=m${on.made.monster}`, beside('Effect')],
    ['remove-monster', `${FIELD}&sel=m${on.made.monster}`, beside('Remove')],
    ['hit-reactor', `${FIELD}&sel=r${on.made.reactor}`, beside('Hit')],
    ['help', '/', (page) => page.keyboard.press('?')],
    [
      'more',
      '/',
      async (page) => {
        await page.setViewportSize({ width: 360, height: 740 });
        await page.locator('.phonebar button').click();
      },
    ],
  ];
  const page = await open(on.browser, on.server, '/', { motion: 'reduce' });
  const wrong = [];
  for (const [name, at, opened] of dialogs) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(on.server.url + at);
    await loaded(page);
    await opened(page);
    await page.waitForSelector('dialog[open]');
    wrong.push(...(await look(page, 'dialog[open]', `dialog-${name}`)));
    // Whatever the height, the answers are in sight.
    const [box, buttons] = await page.evaluate(() => {
      const rect = (el) => el?.getBoundingClientRect().toJSON();
      const el = document.querySelector('dialog[open]');
      return [rect(el), rect(el.querySelector('.buttons') || el.querySelector('.cardhead'))];
    });
    if (box.top < 0 || box.bottom > 568 || buttons.top < box.top || buttons.bottom > box.bottom + 1)
      wrong.push(`${name}: its buttons are out of sight`);
  }
  assert.deepEqual([...wrong, ...(await page.done())], []);
});
