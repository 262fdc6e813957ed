// What the pages show is what the store holds: histories, counts, sentences, what the search finds, actions on many jobs, and
// the first run of the demo world.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { ask, launch, open, Server, until } from './kit.mjs';
import { pagesOf, seed } from './seed.mjs';

let server;
let browser;
let made;

before(async () => {
  server = await Server.start();
  browser = await launch();
  made = await seed(server);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const history = (range) => ask(server, 'GET', `/api/history?range=${range}`);
const line = (answer, module, name) => answer.series.find((x) => x.module === module && x.name === name);

test('the history counts the events that the stream has, and says nothing of a time that nobody measured', async () => {
  const count = (answer) =>
    line(answer, 'rooms', 'events').points.reduce((sum, rate) => sum + (rate || 0) * (answer.every_ms / 1000), 0);
  await until('a first history', async () => line(await history('5m'), 'rooms', 'events'));
  const was = count(await history('5m'));
  for (let n = 0; n < 25; n += 1) await server.roomEvent('voted', 'ABCD2345');
  // A rate is measured over the time between two looks, which is five seconds but for some milliseconds.
  const now = await until('25 events more', async () => {
    const seen = count(await history('5m')) - was;
    return seen > 24 && seen;
  });
  assert.ok(now < 27, `${now} events of 25`);
  const answer = await history('5m');
  assert.equal(answer.series.find((x) => x.module === 'server' && x.name === 'memory').points[0], null);
  const day = await history('24h');
  assert.equal(day.every_ms, 300000);
  assert.ok(line(day, 'rooms', 'events').points.length === 288);
  assert.ok(line(day, 'server', 'memory').points.filter((x) => x != null).length <= 2);
  // A point is as old as the last look at the queue; the next one, five seconds later, has the two dead letters of the seed.
  await until('two dead letters in the history', async () => {
    const queue = (await history('5m')).series.find((x) => x.name === 'dead' && x.scope === 'bridge');
    return queue?.points.findLast((x) => x != null) === 2;
  });
});

test('a restart leaves a gap, and the events before it are filled in from the streams', async () => {
  const other = await Server.start();
  for (let n = 0; n < 10; n += 1) await other.roomEvent('voted', 'ABCD2345');
  await other.down();
  await other.up();
  const told = () => ask(other, 'GET', '/api/history');
  const answer = await until('the past', async () => {
    const got = await told();
    return line(got, 'rooms', 'events')?.points.some((x) => x > 0) && got;
  });
  const sum = line(answer, 'rooms', 'events').points.reduce((n, rate) => n + (rate || 0) * 5, 0);
  assert.ok(Math.abs(sum - 10) < 0.1, `${sum} events`);
  await other.stop();
});

test('the chart opens with its past, has a range, and hatches what nobody measured', async () => {
  const page = await open(browser, server, '/health');
  await page.waitForSelector('#h-mem');
  const card = page.locator('section[aria-labelledby=h-mem]');
  await until('a hatched gap', () => card.locator('rect[fill^="url(#hatch"]').count());
  await card.locator('button[data-range="24h"]').click();
  await until('a day', async () => /\d\d:00/.test(await card.locator('svg').first().textContent()));
  assert.deepEqual(await page.done(), []);
});

test('the search finds each kind of thing, by keyboard alone', async () => {
  const room = await ask(server, 'POST', '/api/rooms', {
    players: [{ name: 'Camille' }, { name: 'Nico' }],
  }).catch(() => null);
  const page = await open(browser, server, '/');
  const found = async (words, kind, label) => {
    await page.keyboard.press('/');
    await page.keyboard.type(words);
    await until(`${kind} ${label} for ${words}`, () =>
      page.evaluate(
        ([k, l]) =>
          [...document.querySelectorAll('wk-search [role=group]')].some(
            (group) => group.getAttribute('aria-label') === k && group.textContent.includes(l),
          ),
        [kind, label],
      ),
    );
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.evaluate(() => {
      const input = /** @type {HTMLInputElement} */ (document.querySelector('.head wk-search input'));
      input.value = '';
      input.blur();
    });
  };
  await found('healt', 'Pages', 'Health');
  await found('pause', 'Commands', 'live');
  await found('mail', 'Jobs', 'mail');
  await found('emai', 'Types of jobs', 'email');
  await found(String(made.monster), 'Monsters', String(made.monster));
  await found(String(made.reactor), 'Reactors', String(made.reactor));
  await found('bridge:jobs:deadletter', 'Keys', 'bridge:jobs:deadletter');
  if (room?.code) await found(room.code, 'Rooms', room.code);
  await page.keyboard.press('/');
  await page.keyboard.type('lost-1');
  await page.waitForSelector('wk-search [role=group][aria-label=Jobs] [role=option]');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/jobs/job?id=lost-1');
  assert.deepEqual(await page.done(), []);
  const bad = await fetch(`${server.url}/api/search?q=`);
  assert.equal(bad.status, 400);
});

test('actions fit what is selected, and everything that matches can be selected', async () => {
  for (let n = 0; n < 60; n += 1)
    await ask(server, 'POST', '/api/jobs', {
      jobId: `later-${n}`,
      type: 'sweep',
      payload: {},
      schedule: { delay: 3600000 },
    });
  const page = await open(browser, server, '/jobs?type=sweep');
  await page.waitForSelector('wk-table tbody tr');
  await page.locator('wk-table tbody input[type=checkbox]').first().check();
  const actions = () => page.locator('.bulk .btn').allInnerTexts();
  assert.deepEqual(await actions(), ['Run now', 'Cancel', 'Delete'], 'a delayed job is not retried');
  await page.locator('.bulk .plain').click();
  await until('all of them', async () => /All 60 that match/.test(await page.locator('.bulk').innerText()));
  await page.locator('.bulk .btn', { hasText: 'Cancel' }).click();
  await page.waitForSelector('dialog[open]');
  assert.match(await page.locator('dialog[open]').innerText(), /Cancel 60 jobs\?/);
  await page.locator('dialog[open] .buttons .btn').last().click();
  await page.waitForSelector('dialog', { state: 'detached' });
  const left = await ask(server, 'POST', '/api/jobs:bulk', { action: 'cancel', type: 'sweep', count: true });
  assert.equal(left.count, 0, 'none is left to cancel');
  const ended = await ask(server, 'POST', '/api/jobs:bulk', { action: 'retry', type: 'sweep', count: true });
  assert.equal(ended.count, 60, 'all of them ended');
  assert.deepEqual(await page.done(), []);
});

test('with the demo the front page says so, shows six steps and how to leave it out; without it, nothing', async () => {
  const demo = await Server.start({ args: ['--demo'] });
  assert.match(demo.said, /Demo {7}.*--no-demo/);
  const page = await open(browser, demo, '/');
  await page.waitForSelector('.tour .steps li');
  assert.equal(await page.locator('.tour .steps li').count(), 6);
  assert.match(await page.locator('.tour').innerText(), /worldkeep --no-demo/);
  await page.locator('.tour .steps a', { hasText: 'Check' }).click();
  await page.waitForURL('**/check');
  await page.goto(demo.url);
  await page.waitForSelector('.tour .steps li .icon.ok');
  await page.locator('.tour .btn').click();
  await page.waitForSelector('.tour .steps', { state: 'detached' });
  await page.reload();
  await page.waitForSelector('.tour');
  assert.equal(await page.locator('.tour .steps').count(), 0, 'hidden stays hidden');
  assert.deepEqual(await page.done(), []);
  await demo.stop();
  const plain = await open(browser, server, '/');
  await plain.waitForSelector('wk-tile');
  assert.ok(await plain.locator('.tour').isHidden());
  assert.deepEqual(await plain.done(), []);
});

/** Words that no French sentence has. */
const ENGLISH =
  /(?<![\w-])(the|and|is|are|of|waits?|running|workers?|nobody|connected|since|ago|which|with|from)(?![\w-])/i;

test('French pages hold no English sentence', async () => {
  const page = await open(browser, server, '/', { lang: 'fr-FR' });
  const wrong = [];
  for (const at of await pagesOf(page)) {
    await page.goto(server.url + at);
    await page.waitForFunction(
      () => document.querySelector('h1:not(:empty)') && !document.querySelector('.view .skeleton'),
    );
    const texts = await page.evaluate(() => {
      const out = [];
      const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
      for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const el = node.parentElement;
        // Ids, keys, commands and stored values are the same in every language; what is marked as English is known to be.
        if (el.closest('code, .mono, kbd, pre, [translate=no], [lang=en]')) continue;
        if (node.textContent.trim()) out.push(node.textContent.trim());
      }
      return out;
    });
    for (const text of texts) if (ENGLISH.test(text)) wrong.push(`${at}: ${text}`);
  }
  assert.deepEqual([...new Set(wrong), ...(await page.done())], []);
});
