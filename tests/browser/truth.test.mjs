// What the pages show is what the store holds: histories, counts, sentences, what the search finds, actions on many jobs, and
// the first run of the demo world.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { ask, loaded, open, Server, stage, until, WEB, webFile } from './kit.mjs';
import { pagesOf, seed } from './seed.mjs';

const on = stage(seed);

const history = (range) => ask(on.server, 'GET', `/api/history?range=${range}`);
const line = (answer, module, name) => answer.series.find((x) => x.module === module && x.name === name);

test('the history counts the events that the stream has, and says nothing of a time that nobody measured', async () => {
  const count = (answer) =>
    line(answer, 'rooms', 'events').points.reduce((sum, rate) => sum + (rate || 0) * (answer.every_ms / 1000), 0);
  await until('a first history', async () => line(await history('5m'), 'rooms', 'events'));
  const was = count(await history('5m'));
  for (let n = 0; n < 25; n += 1) await on.server.roomEvent('voted', 'ABCD2345');
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
  const page = await open(on.browser, on.server, '/health');
  await page.waitForSelector('#h-mem');
  const card = page.locator('section[aria-labelledby=h-mem]');
  await until('a hatched gap', () => card.locator('rect[fill^="url(#hatch"]').count());
  await card.locator('button[data-range="24h"]').click();
  await until('a day', async () => /\d\d:00/.test(await card.locator('svg').first().textContent()));
  assert.deepEqual(await page.done(), []);
});

test('the search finds each kind of thing, by keyboard alone', async () => {
  const room = await ask(on.server, 'POST', '/api/rooms', {
    players: [{ name: 'Camille' }, { name: 'Nico' }],
  }).catch(() => null);
  const page = await open(on.browser, on.server, '/');
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
  await found(String(on.made.monster), 'Monsters', String(on.made.monster));
  await found(String(on.made.reactor), 'Reactors', String(on.made.reactor));
  await found('bridge:jobs:deadletter', 'Keys', 'bridge:jobs:deadletter');
  if (room?.code) await found(room.code, 'Rooms', room.code);
  await page.keyboard.press('/');
  await page.keyboard.type('lost-1');
  await page.waitForSelector('wk-search [role=group][aria-label=Jobs] [role=option]');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/jobs/job?id=lost-1');
  assert.deepEqual(await page.done(), []);
  const bad = await fetch(`${on.server.url}/api/search?q=`);
  assert.equal(bad.status, 400);
});

test('actions fit what is selected, and everything that matches can be selected', async () => {
  for (let n = 0; n < 60; n += 1)
    await ask(on.server, 'POST', '/api/jobs', {
      jobId: `later-${n}`,
      type: 'sweep',
      payload: {},
      schedule: { delay: 3600000 },
    });
  const page = await open(on.browser, on.server, '/jobs?type=sweep');
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
  const left = await ask(on.server, 'POST', '/api/jobs:bulk', { action: 'cancel', type: 'sweep', count: true });
  assert.equal(left.count, 0, 'none is left to cancel');
  const ended = await ask(on.server, 'POST', '/api/jobs:bulk', { action: 'retry', type: 'sweep', count: true });
  assert.equal(ended.count, 60, 'all of them ended');
  assert.deepEqual(await page.done(), []);
});

test('with the demo the front page says so, shows six steps and how to leave it out; without it, nothing', async () => {
  const demo = await Server.start({ args: ['--demo'] });
  assert.match(demo.said, /Demo {7}.*--no-demo/);
  const page = await open(on.browser, demo, '/');
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
  const plain = await open(on.browser, on.server, '/');
  await plain.waitForSelector('wk-tile');
  assert.ok(await plain.locator('.tour').isHidden());
  assert.deepEqual(await plain.done(), []);
});

/** A number that the store answers with. */
const counted = async (...words) => {
  const answer = await on.server.redis(...words);
  return answer.startsWith('$-1') ? 0 : Number(answer.match(/\d+(?=\D*$)/)?.[0] ?? 0);
};
/** Digits of a text, without the spaces between thousands. */
const digits = (text) => Number(/\d[\d\s\u202f]*/.exec(text)?.[0].replace(/\D/g, '') ?? Number.NaN);

test('counts on the front page, in the frame and on Jobs are those of the store', async () => {
  const page = await open(on.browser, on.server, '/');
  await page.waitForSelector('wk-tile wk-number');
  const tile = async (module) => digits(await page.locator(`wk-tile:has(.m-${module}) wk-number`).first().innerText());
  const held = { jobs: ['LLEN', 'bridge:jobs:waiting'], reactors: ['SCARD', 'reactors:all'] };
  for (const [module, words] of Object.entries(held))
    await until(`the tile of ${module}`, async () => (await tile(module)) === (await counted(...words)));
  await until('four monsters', async () => (await tile('monsters')) === 4);
  await page.goto(`${on.server.url}/jobs`);
  await page.waitForSelector('.counts .count b');
  const shown = async (nth, what = 'b') =>
    digits(await page.locator('.counts .count').nth(nth).locator(what).innerText());
  /** @type {[string, number, string, string[]][]} */
  const numbers = [
    ['waiting', 0, 'b', ['LLEN', 'bridge:jobs:waiting']],
    ['active', 1, 'b', ['SCARD', 'bridge:jobs:active']],
    ['delayed', 2, 'b', ['ZCARD', 'bridge:jobs:delayed']],
    ['completed ever', 3, '.note', ['GET', 'bridge:metrics:jobs:processed']],
    ['failed ever', 4, '.note', ['GET', 'bridge:metrics:jobs:failed']],
    ['dead', 5, 'b', ['LLEN', 'bridge:jobs:deadletter']],
  ];
  for (const [what, nth, where, words] of numbers)
    await until(`${what} as in the store`, async () => (await shown(nth, where)) === (await counted(...words)));
  for (const one of await page.locator('.counts .count').all())
    assert.ok((await one.getAttribute('title')).length > 20, 'each says what it counts');
  assert.deepEqual(await page.done(), []);
});

test('what the store is said to keep follows its settings', async () => {
  const page = await open(on.browser, on.server, '/health');
  const says = (words) =>
    until(`Health to say “${words}”`, async () => (await page.locator('.verdicts').innerText()).includes(words));
  await says('synced every second');
  await on.server.redis('CONFIG', 'SET', 'appendfsync', 'always');
  await says('synced at every write');
  await on.server.redis('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  await says('keys may vanish');
  await on.server.redis('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await on.server.redis('CONFIG', 'SET', 'appendfsync', 'everysec');
  await says('synced every second');
  assert.deepEqual(await page.done(), []);
});

const CATALOGUES = readdirSync(path.join(WEB, 'lang')).filter(
  (name) => /(^|\.)en\.js$/.test(name) && !/party/.test(name),
);
const plain = (text) => text.replace(/[\s\u202f\u00a0]+/g, ' ').trim();

/** Every text of a catalogue as a pattern: holes stand for anything. One that is hardly more than holes says nothing. */
async function patterns(language) {
  const out = new Map();
  for (const name of CATALOGUES) {
    const words = (await import(webFile('lang', name.replace(/en\.js$/, `${language}.js`)))).default;
    for (const [key, value] of Object.entries(words))
      for (const text of [value].flat().map(plain)) {
        if (text.replace(/\{\w+\}/g, '').replace(/[^\p{L}]/gu, '').length < 4) continue;
        const escaped = text.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
        out.set(`${key} ${text}`, { key, text, is: new RegExp(`^${escaped.join('.+')}[.:…]?$`, 'iu') });
      }
  }
  return [...out.values()];
}

/** Runs in the page: every text a reader meets, titles and labels too. Ids, keys, commands and stored values are the same in
 *  every language; what is marked as another language is known to be. */
function texts() {
  const out = new Set();
  const same = 'code, .mono, kbd, pre, [translate=no], [lang=en], script, noscript';
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const el = node instanceof Element ? node : node.parentElement;
    if (el.closest(same)) continue;
    if (!(node instanceof Element)) out.add(node.textContent);
    else for (const name of ['title', 'aria-label', 'placeholder', 'alt']) out.add(node.getAttribute(name) || '');
  }
  return [...out].flatMap((text) => text.split(' · ')).filter((text) => text.trim());
}

/** What a page shows only after something was done on it. */
const OPENED = {
  '/jobs/job?id=mail': (page) => page.locator('.head .btn', { hasText: 'Expliquer' }).click(),
  '/jobs/cron': (page) => page.locator('.cronrow button.linkish').first().click(),
  '/jobs/doctor': async (page) => {
    await page.locator('.view .btn.primary').first().click();
    await page.waitForSelector('.view .finding');
  },
  '/check': async (page) => {
    await page.locator('.view .btn.primary').first().click();
    await page.waitForSelector('.view wk-table tbody tr');
  },
  '/keys': (page) => page.goto(`${on.server.url}/keys?key=bridge%3Ajobs%3Astatus%3Alost-1`),
};

test('French pages hold no English: no text of the English catalogues, and no common English word', async () => {
  const ENGLISH =
    /(?<![\w-])(the|and|is|are|of|waits?|running|workers?|nobody|connected|since|ago|which|with|from)(?![\w-])/i;
  const [english, french] = [await patterns('en'), await patterns('fr')];
  // Something for the check and the doctor to find.
  await on.server.redis('SET', 'bridge:jobs:status:ghost', 'waiting');
  await on.server.redis('RPUSH', 'reactors:all', 'x').catch(() => {});
  const page = await open(on.browser, on.server, '/', { lang: 'fr-FR' });
  const wrong = [];
  const look = async (at) => {
    for (const text of (await page.evaluate(texts)).map(plain)) {
      if (french.some((one) => one.is.test(text))) continue;
      const found = english.find((one) => one.is.test(text));
      if (found) wrong.push(`${at}: “${text}” is ${found.key} in English`);
      else if (ENGLISH.test(text)) wrong.push(`${at}: ${text}`);
    }
  };
  for (const at of await pagesOf(page)) {
    await page.goto(on.server.url + at);
    await loaded(page);
    await look(at);
    if (!OPENED[at]) continue;
    await OPENED[at](page);
    await loaded(page);
    await look(`${at}, opened`);
  }
  assert.deepEqual([...new Set(wrong), ...(await page.done())], []);
});

test('a refusal is worded in French, and English stays under the details', async () => {
  const page = await open(on.browser, on.server, '/jobs/job?id=nobody', { lang: 'fr-FR', allow: ['404'] });
  await page.waitForSelector('.view [role=alert], .view .empty');
  const seen = await page.locator('main').innerText();
  assert.ok(!/no job has this id/i.test(seen), seen);
  assert.deepEqual(await page.done(), []);
});
