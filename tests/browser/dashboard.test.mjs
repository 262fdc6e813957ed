// The dashboard in a real Chromium against a real worldkeep with the embedded engine: loading, moving about, live
// events, reconnecting, keys, check, languages, themes, small screens, names and roles.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { contrastFaults, nameFaults } from './faults.mjs';
import { launch, open, Server, shot, sideways, until } from './kit.mjs';

let server;
let browser;
const PAGES = ['/', '/rooms', '/world', '/galaxy', '/keys', '/check', '/events', '/health'];

before(async () => {
  server = await Server.start();
  browser = await launch();
  await server.redis(
    'SET',
    'room:ABCD2345:meta',
    JSON.stringify({ code: 'ABCD2345', phase: 'lobby', version: 3 }),
    'EX',
    '43200',
  );
  await server.redis('HSET', 'room:ABCD2345:scores', 'p1', '5', 'p2', '3');
  await server.redis('EXPIRE', 'room:ABCD2345:scores', '43200');
  await server.redis('SET', 'somebody:else', 'hello');
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const MAP = 'reactors:map:083839c6-c47c-42a6-9585-76492795d123:0:1:40000:00000000-0000-0000-0000-000000000000';

const clean = async (page) => assert.deepEqual(await page.done(), []);
const heading = (page) => page.locator('h1').innerText();

test('every page loads without console errors, foreign requests or policy violations', async () => {
  for (const at of PAGES) {
    const page = await open(browser, server, at);
    await page.waitForSelector('.livestate:visible .dot.ok');
    assert.equal(await page.locator('h1').count(), 1, at);
    assert.ok((await heading(page)).length > 2, at);
    assert.equal(await page.locator('[aria-current=page]:visible').count(), 1, at);
    assert.ok(await page.locator('wk-echo code').first().isVisible(), at);
    await page.waitForTimeout(300);
    await shot(page, `page-${at.slice(1) || 'overview'}-light`);
    await clean(page);
  }
});

test('the page carries the strict policy and weighs little', async () => {
  const answer = await fetch(server.url);
  const policy = answer.headers.get('content-security-policy');
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"])
    assert.ok(policy.includes(part), part);
  const page = await open(browser, server);
  const bytes = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter((r) => !r.name.includes('/api/'))
      .reduce((n, r) => n + /** @type {PerformanceResourceTiming} */ (r).decodedBodySize, 0),
  );
  assert.ok(bytes > 50000 && bytes < 250000, `${bytes} bytes`);
  await clean(page);
});

test('mouse goes from page to page without loading anew, and Back comes back', async () => {
  const page = await open(browser, server);
  await page.evaluate(() => {
    window.stayed = true;
  });
  await page.click('.side a[href="/keys"]');
  await page.waitForURL('**/keys');
  await page.waitForSelector('[role=tree] [role=treeitem]');
  await page.click('.side a[href="/health"]');
  await page.waitForURL('**/health');
  await until('focus goes to the title', () => page.locator('h1').evaluate((el) => el === document.activeElement));
  await page.goBack();
  await page.waitForURL('**/keys');
  assert.equal(await page.evaluate(() => window.stayed), true);
  await clean(page);
});

test('keyboard alone: skip link, chords, help, search, letters switched off', async () => {
  const page = await open(browser, server);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  await page.keyboard.press('g');
  await page.keyboard.press('e');
  await page.waitForURL('**/events');
  await page.keyboard.press('?');
  await page.waitForSelector('dialog[open] .keymap');
  await shot(page, 'help');
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  await page.keyboard.press('/');
  await page.keyboard.type('health');
  await page.waitForSelector('wk-search [role=option]');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/health');
  await page.keyboard.press('?');
  await page.click('#wk-letters');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await page.waitForTimeout(200);
  assert.ok(page.url().endsWith('/health'), 'letters are off');
  await clean(page);
});

test('letters stay quiet inside fields', async () => {
  const page = await open(browser, server, '/events');
  await page.locator('.filters input').fill('g');
  await page.locator('.filters input').press('k');
  await page.waitForTimeout(250);
  assert.ok(page.url().includes('/events'));
  await clean(page);
});

test('light and dark: the system decides, the switch wins and is kept', async () => {
  const page = await open(browser, server, '/', { scheme: 'dark' });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  assert.equal(dark, 'rgb(11, 18, 21)');
  await page.waitForSelector('.tree, .barlist');
  await shot(page, 'overview-dark');
  await page.click('.foot button[title="Light theme"]');
  assert.equal(await ground(), 'rgb(243, 246, 246)');
  await page.reload();
  await page.waitForSelector('h1:not(:empty)');
  assert.equal(await ground(), 'rgb(243, 246, 246)');
  await clean(page);
});

test('narrow screens have no sideways scrolling, in both languages', async () => {
  for (const lang of ['en-GB', 'fr-FR']) {
    const page = await open(browser, server, '/', { width: 1440, height: 800, lang });
    for (const at of [...PAGES, '/keys?key=room:ABCD2345:meta', '/keys?module=rooms&pattern=meta']) {
      await page.goto(server.url + at);
      await page.waitForSelector('h1:not(:empty)');
      await page.waitForFunction(() => !document.querySelector('.view .skeleton'));
      for (const width of [1440, 1024, 768, 390, 360, 320]) {
        await page.setViewportSize({ width, height: 800 });
        assert.ok((await sideways(page)) <= 0, `${at} at ${width} px in ${lang}: ${await sideways(page)} px too wide`);
        if (width === 360)
          await shot(page, `phone-${lang.slice(0, 2)}-${at.replace(/\W+/g, '-').slice(1) || 'overview'}`);
        if (width === 768 && lang === 'en-GB')
          await shot(page, `rail-${at.replace(/\W+/g, '-').slice(1) || 'overview'}`);
      }
      await page.setViewportSize({ width: 1440, height: 800 });
    }
    await clean(page);
  }
});

test('a wall shows the same page, larger', async () => {
  const page = await open(browser, server, '/', { width: 3840, height: 2160 });
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize), '30px');
  assert.ok((await sideways(page)) <= 0);
  await shot(page, 'wall-3840');
  await page.setViewportSize({ width: 2560, height: 1440 });
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize), '20px');
  await clean(page);
});

test('the phone has its bar, and More holds the rest with the echo lines', async () => {
  const page = await open(browser, server, '/', { width: 390, height: 844 });
  assert.equal(await page.locator('.side').isVisible(), false);
  const targets = await page
    .locator('.phonebar > *')
    .evaluateAll((all) => all.map((el) => Math.min(el.offsetWidth, el.offsetHeight)));
  assert.equal(targets.length, 5);
  assert.ok(
    targets.every((n) => n >= 44),
    `targets of ${targets}`,
  );
  await page.click('.phonebar button');
  await page.waitForSelector('dialog[open]');
  await page.waitForTimeout(250);
  await shot(page, 'phone-more');
  assert.ok(await page.locator('dialog code', { hasText: '/api/overview' }).first().isVisible());
  await page.click('dialog a[href="/health"]');
  await page.waitForURL('**/health');
  await clean(page);
});

test('a change in the store shows in the feed at once, and pause holds it', async () => {
  const page = await open(browser, server, '/events');
  await page.waitForSelector('.livestate:visible .dot.ok');
  await server.roomEvent('opened', 'LIVE2345', { players: 4 });
  const row = page.locator('.feed li', { hasText: 'LIVE2345' });
  await row.waitFor({ timeout: 5000 });
  assert.ok((await row.innerText()).includes('opened'));
  await shot(page, 'events-live');
  await page.keyboard.press('.');
  await page.waitForSelector('.livestate:visible .dot.warn');
  await server.roomEvent('closed', 'HELD2345');
  await page.waitForTimeout(600);
  assert.equal(await page.locator('.feed li', { hasText: 'HELD2345' }).count(), 0, 'held while paused');
  await page.keyboard.press('.');
  await page.locator('.feed li', { hasText: 'HELD2345' }).waitFor();
  await clean(page);
});

test('filters live in the address, an event opens in a drawer, and Esc gives focus back', async () => {
  await server.roomEvent('voted', 'FILT2345', { n: 1 });
  const page = await open(browser, server, '/events');
  await server.roomEvent('voted', 'FILT2346', { n: 2 });
  await page.locator('.feed li', { hasText: 'FILT2346' }).waitFor();
  await page.locator('.filters .chip', { hasText: 'Type' }).click();
  await page.locator('.menu [role=menuitemradio]', { hasText: 'voted' }).click();
  await until('the filter in the address', () => page.url().includes('type=voted'));
  assert.ok((await page.locator('wk-echo').innerText()).includes('type=voted'), 'the echo bar follows');
  const row = page.locator('.feed li', { hasText: 'FILT2346' });
  await row.focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('wk-drawer');
  assert.ok((await page.locator('wk-drawer pre').innerText()).includes('"n": 2'));
  await shot(page, 'event-drawer');
  await page.keyboard.press('Escape');
  await page.waitForSelector('wk-drawer', { state: 'detached' });
  assert.ok(await row.evaluate((el) => el === document.activeElement));
  await page.locator('.filters .chip.on').press('Backspace');
  await until('the filter to go', () => !page.url().includes('type='));
  await clean(page);
});

test('many events in one second become one line', async () => {
  const page = await open(browser, server, '/events');
  await page.waitForSelector('.livestate:visible .dot.ok');
  const at = Math.ceil(Date.now() / 1000) * 1000;
  for (let i = 0; i < 40; i += 1)
    await server.redis('XADD', 'wk:rooms:events', '*', 'type', 'burst', 'at', at, 'id', `B${i}`, 'body', '{}');
  await until('the group', async () => /×(2[1-9]|3\d|40)/.test(await page.locator('.feed').innerText()));
  await clean(page);
});

test('the tree leads to a pattern and to a key, each with its own address', async () => {
  const page = await open(browser, server, '/keys');
  const item = (name) => page.locator('[role=treeitem]', { hasText: name }).first();
  await item('Rooms').waitFor();
  for (const name of ['Jobs', 'Monsters', 'Reactors', 'Galaxy', 'Not ours']) assert.ok(await item(name).count(), name);
  await item('Rooms').click();
  await item('room:{code}:meta').click();
  await page.waitForURL(/pattern=/);
  await page.locator('wk-table a', { hasText: 'room:ABCD2345:meta' }).waitFor();
  await shot(page, 'keys-pattern');
  await page.locator('wk-table a', { hasText: 'room:ABCD2345:meta' }).click();
  await page.waitForURL(/key=/);
  await page.locator('wk-key').waitFor();
  const card = await page.locator('wk-key').innerText();
  assert.ok(card.includes('ABCD2345') && /left/.test(card), card);
  assert.ok((await page.locator('.value pre').innerText()).includes('lobby'));
  assert.ok((await page.locator('wk-echo').innerText()).includes('worldkeep keys show room:ABCD2345:meta'));
  await shot(page, 'key-light');
  await page.locator('button', { hasText: 'Raw bytes' }).click();
  assert.match(await page.locator('.value pre').innerText(), /000000 {2}7b 22/);
  const again = await open(browser, server, new URL(page.url()).pathname + new URL(page.url()).search, {
    scheme: 'dark',
  });
  await again.locator('wk-key').waitFor();
  await again.locator('.value pre').waitFor();
  await shot(again, 'key-dark');
  await clean(again);
  await clean(page);
});

test('a list of keys leaves no timer behind', async () => {
  // Each row once made a ring of its own for its words; the ring was never shown, and ticked for as long as the page.
  const page = await open(browser, server, '/');
  await page.addInitScript(() => {
    const { setInterval, clearInterval } = window;
    const running = new Set();
    Object.assign(window, {
      timers: () => running.size,
      setInterval: (run, ms) => {
        const id = setInterval(run, ms);
        running.add(id);
        return id;
      },
      clearInterval: (id) => {
        running.delete(id);
        clearInterval(id);
      },
    });
  });
  await page.goto(`${server.url}/keys`);
  const item = (name) => page.locator('[role=treeitem]', { hasText: name }).first();
  await item('Rooms').click();
  await item('room:{code}:meta').waitFor();
  const before = await page.evaluate(() => window.timers());
  await item('room:{code}:meta').click();
  await page.locator('wk-table td', { hasText: /left/ }).first().waitFor();
  assert.equal(await page.evaluate(() => window.timers()), before);
  await clean(page);
});

test('the tree works by keyboard alone', async () => {
  const page = await open(browser, server, '/keys');
  const item = page.locator('[role=treeitem]', { hasText: 'Rooms' }).first();
  await item.focus();
  await page.keyboard.press('ArrowRight');
  await page.locator('[role=treeitem][aria-level="2"]').first().waitFor();
  assert.equal(await item.getAttribute('aria-expanded'), 'true');
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-level')), '2');
  await page.keyboard.press('Enter');
  await page.waitForURL(/pattern=/);
  await clean(page);
});

test('a key that is not there says so; a foreign key is shown as such', async () => {
  const page = await open(browser, server, '/keys?key=room:NOPE2345:meta', { allow: ['404'] });
  await page.locator('text=The store holds no such key').waitFor();
  await page.goto(`${server.url}/keys?key=somebody:else`);
  await page.locator('text=Not one of our keys').waitFor();
  await clean(page);
});

test('the check runs, finds a fault, and repairs only after asking', async () => {
  await server.redis('SET', 'room:BAD23456:scores', 'not a hash', 'EX', '1000');
  await server.redis('SADD', MAP, '1000000231');
  const page = await open(browser, server, '/check');
  await page.locator('button', { hasText: /Run/ }).first().click();
  await page.locator('.verdicts').waitFor({ timeout: 30000 });
  assert.ok((await page.locator('main').innerText()).includes('room:BAD23456:scores'));
  await shot(page, 'check-found');
  const preview = page.locator('button', { hasText: 'Preview 1 repair' });
  await preview.click();
  await page.waitForSelector('dialog[open]');
  const words = await page.locator('dialog').innerText();
  assert.ok(words.includes('worldkeep check --repair') && words.includes(MAP) && words.includes('1000000231'), words);
  assert.ok(
    await page
      .locator('dialog .buttons button')
      .first()
      .evaluate((el) => el === document.activeElement),
    'the safe button has focus',
  );
  await page.waitForTimeout(250);
  await shot(page, 'check-dialog');
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.match(await server.redis('SISMEMBER', MAP, '1000000231'), /:1/, 'nothing was written');
  await preview.click();
  await page.locator('dialog button', { hasText: 'Repair it' }).click();
  await page.locator('.toast', { hasText: 'One thing repaired' }).waitFor({ timeout: 30000 });
  assert.match(await server.redis('SISMEMBER', MAP, '1000000231'), /:0/, 'the entry is gone');
  assert.match(await server.redis('EXISTS', 'room:BAD23456:scores'), /:1/, 'what has no cure is left alone');
  await server.redis('DEL', 'room:BAD23456:scores');
  await clean(page);
});

test('French: words, numbers and the page language change in place', async () => {
  const page = await open(browser, server);
  await page.click('.foot button[aria-label$="Language"]');
  await page.locator('.menu button', { hasText: 'Français' }).click();
  await page.locator('.side a', { hasText: 'Santé' }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'fr');
  await until('a French title', async () => (await heading(page)) === 'Tout fonctionne');
  await shot(page, 'overview-fr');
  await page.reload();
  await page.locator('.side a', { hasText: 'Clés' }).waitFor();
  await clean(page);
});

test('an address that is no page says so and leads back', async () => {
  const page = await open(browser, server, '/nothing/here');
  await page.locator('text=No page at this address').waitFor();
  await page.click('main a[href="/"]');
  await page.waitForURL(`${server.url}/`);
  await clean(page);
});

test('names and roles: one title, labelled controls, landmarks, no duplicate ids, headings in order', async () => {
  for (const at of [...PAGES, '/keys?key=room:ABCD2345:meta']) {
    const page = await open(browser, server, at);
    await page.waitForFunction(() => !document.querySelector('.view .skeleton'));
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      const faults = await nameFaults(page);
      assert.deepEqual(faults, [], `${at} at ${width}`);
    }
    await clean(page);
  }
});

test('text keeps 4.5:1 on what is behind it, in both themes', async () => {
  for (const scheme of ['light', 'dark']) {
    const page = await open(browser, server, '/', { scheme });
    for (const at of PAGES) {
      await page.goto(server.url + at);
      await page.waitForSelector('h1:not(:empty)');
      await page.waitForFunction(() => !document.querySelector('.view .skeleton'));
      const faults = await contrastFaults(page);
      assert.deepEqual(faults, [], `${at} ${scheme}`);
    }
    await clean(page);
  }
});

test('reduced motion moves nothing, and forced colours keep icons', async () => {
  const page = await open(browser, server, '/', { motion: 'reduce', colors: 'active' });
  await page.waitForTimeout(300);
  const moving = await page.evaluate(
    () =>
      document.getAnimations().filter((a) => a.playState === 'running' && Number(a.effect.getTiming().duration) > 0)
        .length,
  );
  assert.equal(moving, 0);
  assert.notEqual(
    await page
      .locator('.nav .icon')
      .first()
      .evaluate((el) => getComputedStyle(el).stroke),
    'none',
  );
  await shot(page, 'forced-colors');
  await clean(page);
});

test('copy puts the very command on the clipboard', async () => {
  const page = await open(browser, server, '/keys');
  await page.locator('wk-echo .cli .copy').click();
  await until(
    'the clipboard',
    async () => (await page.evaluate(() => navigator.clipboard.readText())) === 'worldkeep keys',
  );
  await clean(page);
});

test('a day of events does not grow the page', async () => {
  const page = await open(browser, server, '/events');
  await page.waitForSelector('.livestate:visible .dot.ok');
  for (let i = 0; i < 700; i += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, k) =>
        server.redis(
          'XADD',
          'wk:rooms:events',
          '*',
          'type',
          `kind${k}`,
          'at',
          Date.now() - (i + k) * 1000,
          'id',
          `G${i + k}`,
          'body',
          '{}',
        ),
      ),
    );
  await until('the last of them', async () => (await page.locator('.feed li').count()) >= 150);
  await page.waitForTimeout(400);
  assert.ok((await page.locator('.feed li').count()) <= 200);
  const kept = Number((await page.locator('.sentence').innerText()).replace(/\D/g, ''));
  assert.ok(kept >= 500 && kept <= 700, `${kept} events kept: the tail is bounded`);
  await clean(page);
});

// Last, because it stops the server under the others.
test('a stopped server shows the banner, keeps the values, and resumes without losing an event', async () => {
  const page = await open(browser, server, '/', {
    allow: ['WebSocket', 'ERR_CONNECTION_REFUSED', 'Failed to load resource'],
  });
  await page.waitForSelector('.livestate:visible .dot.ok');
  await page.click('.side a[href="/events"]');
  await page.waitForURL('**/events');
  await server.roomEvent('before', 'LAST2345');
  await page.locator('.feed li', { hasText: 'LAST2345' }).waitFor();
  await server.down();
  await page.locator('.banner', { hasText: 'Live updates paused' }).waitFor({ timeout: 10000 });
  assert.ok(await page.locator('.banner .icon use').evaluate((el) => el.getBBox().width > 5), 'icons need no server');
  await shot(page, 'banner-late');
  assert.ok(await page.locator('.feed li', { hasText: 'LAST2345' }).isVisible(), 'what was shown stays');
  await page.click('.side a[href="/"]');
  await until('the sentence', async () => (await heading(page)) === 'The server does not answer');
  assert.match(await page.locator('.sentence').innerText(), /What you see is from/);
  await shot(page, 'overview-away');
  await server.up();
  await server.roomEvent('after', 'BACK2345');
  await page.locator('.banner.ok', { hasText: 'Connected again' }).waitFor({ timeout: 20000 });
  await shot(page, 'banner-back');
  await page.locator('.feed li', { hasText: 'BACK2345' }).waitFor();
  await page.locator('.banner').waitFor({ state: 'detached', timeout: 6000 });
  await clean(page);
});
