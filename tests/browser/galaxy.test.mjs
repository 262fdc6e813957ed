// The Galaxy map in a real Chromium against a real server whose engine ticks: it shows what there is, moves, zooms from
// the star to a ship, holds and changes time, and says what it cannot do.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { contrastFaults, nameFaults } from './faults.mjs';
import { ask, launch, open, Server, shot, sideways, until } from './kit.mjs';

let server;
let browser;
let ship;

const RATE = { WORLDKEEP_GALAXY_TICK_RATE: '10', WORLDKEEP_GALAXY_LOGINS_PER_MINUTE: '0' };

const call = (method, at, body, to = server) => ask(to, method, at, body);

before(async () => {
  server = await Server.start({ env: RATE });
  browser = await launch();
  await until('the world', async () => (await call('GET', '/api/status')).tick > 0);
  await call('POST', '/api/admin/stations', { name: 'Highport', parent_body: 'Earth', altitude: 420000 });
  await call('POST', '/api/admin/jumpgates', { name: 'Far gate', parent_body: 'Luna', lagrange: 'Earth-Luna-L4' });
  for (const [name, ship_class] of [
    ['Wren 2', 'fast_frigate'],
    ['Mule 12', 'cargo_hauler'],
  ])
    await call('POST', '/api/admin/ships', { name, ship_class });
  const { items } = await call('GET', '/api/ships');
  ship = items.find((s) => s.name === 'Wren 2').ship_id;
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const clean = async (page) => assert.deepEqual(await page.done(), []);
const options = (page, kinds) => page.locator(kinds.map((k) => `.gxlist [data-kind=${k}]`).join(', '));
const ready = (page) => until('the map', async () => (await page.locator('.gxlist [role=option]').count()) > 30);
const mpp = async (page) => Number(await page.locator('wk-canvas').getAttribute('data-mpp'));
const badges = (page) => page.locator('.gxbadges').innerText();
const picture = (page) =>
  page.evaluate(() => document.querySelector('.gx wk-canvas').querySelector('canvas').toDataURL());
/** The map is calm when a flight of the view has ended. */
const landed = (page) => page.waitForTimeout(900);

test('the map shows 29 bodies, a station, a gate and ships, and time passes', async () => {
  const page = await open(browser, server, '/galaxy', { scheme: 'dark' });
  await ready(page);
  assert.equal(await options(page, ['star', 'planet', 'moon']).count(), 29);
  assert.equal(await options(page, ['star']).innerText(), 'Sun');
  assert.equal(await options(page, ['station']).count(), 1);
  assert.equal(await options(page, ['gate']).count(), 1);
  assert.equal(await options(page, ['ship']).count(), 2);
  assert.match(await page.locator('.sentence').textContent(), /2 ships and 29 bodies, 10 ticks a second\./);
  const clock = () => page.locator('.gxclock').innerText();
  const first = await clock();
  assert.match(first, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\s+tick \d/);
  await until('time to pass', async () => (await clock()) !== first);
  assert.match(await badges(page), /UTC/, 'drift is told');
  await page.waitForTimeout(400);
  await shot(page, 'galaxy-map-dark');
  await clean(page);
});

test('from the star to a ship with keys alone, and everything moves without an answer', async () => {
  const page = await open(browser, server, '/galaxy');
  await ready(page);
  const far = await mpp(page);
  await page.locator('.gxlist .twin').focus();
  await page.keyboard.press('End');
  await until('its panel', async () => (await page.locator('.gxcard h2').innerText()) === 'Wren 2');
  assert.match(page.url(), /sel=s%3A|sel=s:/);
  await until('fuel', async () => /15.000 of 15.000.kg/.test(await page.locator('.gxcard').innerText()));
  assert.match(
    await page.locator('.gxcard').innerText(),
    /Coasting[\s\S]*Speed, from Earth\s+7\.6\d km\/s[\s\S]*92\.\d.min/,
  );
  await page.waitForTimeout(300);
  await shot(page, 'galaxy-ship-far');
  await page.keyboard.press('Enter');
  await landed(page);
  assert.ok((await mpp(page)) < far / 1000, 'Enter goes there');
  await shot(page, 'galaxy-ship-near');
  for (let i = 0; i < 40; i += 1) await page.keyboard.press('+');
  await until('the nearest', async () => (await mpp(page)) <= 0.011);
  await shot(page, 'galaxy-ship-close');
  // No answer comes, and yet the ball and the ship turn with the orbit: the picture is another one.
  await page.route('**/api/**', () => {});
  const before = await picture(page);
  await page.waitForTimeout(500);
  assert.notEqual(await picture(page), before);
  await page.unroute('**/api/**');
  const pressed = () => page.locator('.gxzoom [aria-pressed]').getAttribute('aria-pressed');
  await until('it is followed', async () => (await pressed()) === 'true');
  await page.locator('h1').evaluate((el) => el.focus());
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await until('the view was moved', async () => (await pressed()) === 'false');
  await page.keyboard.press('f');
  await landed(page);
  await until('it is followed again', async () => (await pressed()) === 'true');
  await page.keyboard.press('0');
  await landed(page);
  assert.ok((await mpp(page)) > 1e8, '0 shows the system');
  await clean(page);
});

test('the wheel, a drag and a click on the picture', async () => {
  const page = await open(browser, server, '/galaxy?follow=b:Earth');
  await ready(page);
  const box = await page.locator('wk-canvas').boundingBox();
  await page.waitForTimeout(600);
  const was = await mpp(page);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -400);
  await until('it is nearer', async () => (await mpp(page)) < was * 0.8);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 120, box.y + box.height / 2 + 60, { steps: 6 });
  await page.mouse.up();
  assert.ok(!/sel=/.test(page.url()), 'a drag selects nothing');
  await page.mouse.click(box.x + box.width / 2 + 250, box.y + box.height / 2 + 70);
  await until('the Earth fills the middle', async () => /sel=b/.test(page.url()));
  assert.equal(await page.locator('.gxcard h2').innerText(), 'Earth');
  assert.match(await page.locator('.gxcard').innerText(), /planet · round Sun[\s\S]*Radius\s+6.371.km/);
  await page.locator('.gxlinks button', { hasText: 'Luna' }).click();
  await until('its moon', async () => (await page.locator('.gxcard h2').innerText()) === 'Luna');
  await page.locator('.gxlist input').fill('wre');
  await until('one is found', async () => (await page.locator('.gxlist [role=option]').count()) === 1);
  await page.locator('.gxlist input').press('Enter');
  await until('the ship', async () => (await page.locator('.gxcard h2').innerText()) === 'Wren 2');
  await page.locator('.gxlist input').fill('no such thing');
  assert.match(await page.locator('.gxlist').innerText(), /Nothing has that name/);
  await clean(page);
});

test('time is held, run at another pace and let go, by hand', async () => {
  const page = await open(browser, server, '/galaxy', { allow: ['400', '409'] });
  await ready(page);
  await page.locator('.gxbar [aria-label="Pause time"]').click();
  await until('it says so', async () => /Paused at tick \d/.test(await badges(page)));
  assert.equal((await call('GET', '/api/status')).paused, true);
  assert.match(await page.locator('.sentence').textContent(), /^Paused at tick/);
  await shot(page, 'galaxy-paused');
  await page.locator('h1').evaluate((el) => el.focus());
  await page.keyboard.press(' ');
  await until('it runs', async () => (await call('GET', '/api/status')).paused === false);
  await until('nothing says paused', async () => !/Paused/.test(await badges(page)));
  await page.locator('.gxbar [aria-haspopup=menu]').click();
  await page.locator('[role=menu] button', { hasText: 'Pace of time' }).click();
  const drawer = page.locator('wk-drawer');
  await drawer.locator('button', { hasText: '×50' }).click();
  await until('the reason', async () => /sync/.test(await drawer.locator('[role=alert]').innerText()));
  await drawer.locator('button', { hasText: 'Stop following UTC' }).click();
  await drawer.locator('button', { hasText: 'Follow UTC again' }).waitFor();
  await drawer.locator('button', { hasText: '×50' }).click();
  await until('fifty times', async () => (await call('GET', '/api/status')).time_scale === 50);
  await until('the bar tells', async () => /×50/.test(await page.locator('.gxclock').innerText()));
  await drawer.locator('input[name=tick_rate]').fill('500');
  await drawer.locator('.gxset', { hasText: 'Ticks per second' }).locator('.btn.primary').click();
  assert.match(await drawer.innerText(), /From 0\.1 to 100\. You wrote 500\./);
  await drawer.locator('input[name=tick_rate]').fill('20');
  await drawer.locator('input[name=tick_rate]').press('Enter');
  await until('twenty a second', async () => (await call('GET', '/api/status')).tick_rate === 20);
  await shot(page, 'galaxy-time');
  await drawer.locator('button', { hasText: '×1' }).first().click();
  await until('as before', async () => (await call('GET', '/api/status')).time_scale === 1);
  await drawer.locator('button', { hasText: 'Follow UTC again' }).click();
  await until('synced', async () => (await call('GET', '/api/status')).time_sync === true);
  await call('PUT', '/api/admin/game/tick-rate', { tick_rate: 10 });
  await until('it is told', async () => /On UTC again in \d/.test(await drawer.innerText()));
  await page.keyboard.press('Escape');
  await clean(page);
});

test('what happens is told in the feed, and leads to the map', async () => {
  const page = await open(browser, server, '/events');
  await until('its sentences', async () => /Ship Wren 2 was spawned/.test(await page.locator('.feed').innerText()));
  await until('of operators too', async () => /Time was paused/.test(await page.locator('.feed').innerText()));
  await page.locator('.feed a', { hasText: 'Wren 2' }).click();
  await until('its panel', async () => (await page.locator('.gxcard h2').innerText()) === 'Wren 2');
  await clean(page);
});

test('both languages and themes, from a wall to a small phone', async () => {
  for (const [lang, scheme] of [
    ['en-GB', 'light'],
    ['fr-FR', 'dark'],
  ]) {
    const page = await open(browser, server, `/galaxy?sel=s:${ship}`, { lang, scheme });
    await ready(page);
    await until('its panel', async () => (await page.locator('.gxcard .meter').count()) >= 3);
    if (scheme === 'dark') {
      assert.match(await page.locator('.sentence').textContent(), /2 vaisseaux et 29 astres/);
      assert.match(await page.locator('.gxcard').innerText(), /Carburant[\s\S]*Trajectoire[\s\S]*Au plus bas/);
    }
    assert.deepEqual(await nameFaults(page), []);
    assert.deepEqual(await contrastFaults(page), [], `${lang} ${scheme}`);
    await shot(page, `galaxy-${lang.slice(0, 2)}-${scheme}`);
    for (const [width, height] of [
      [2560, 1440],
      [1024, 768],
      [768, 1024],
      [390, 844],
      [320, 640],
    ]) {
      await page.setViewportSize({ width, height });
      await page.waitForTimeout(250);
      assert.ok((await sideways(page)) <= 0, `at ${width} in ${lang}: ${await sideways(page)} px too wide`);
      if (width === 390 || width === 2560) await shot(page, `galaxy-${lang.slice(0, 2)}-${width}`);
      if (width === 390) assert.deepEqual(await nameFaults(page), []);
    }
    await clean(page);
  }
});

test('who may only read finds no controls; reduced motion steps', async () => {
  const page = await open(browser, server, '/', { motion: 'reduce' });
  await page.route('**/api/session', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...(await answer.json()), role: 'reader' } });
  });
  await page.goto(`${server.url}/galaxy?sel=s:${ship}`);
  await ready(page);
  assert.equal(await page.locator('.gxbar button').count(), 0);
  await page.route('**/api/**', () => {});
  await page.waitForTimeout(300);
  const before = await picture(page);
  await page.waitForTimeout(500);
  assert.equal(await picture(page), before, 'nothing moves between answers');
  await clean(page);
});

test('a store without a world says so, and makes one on demand', async () => {
  const bare = await Server.start({ store: 'redis', env: RATE });
  try {
    const page = await open(browser, bare, '/galaxy', { allow: ['404'] });
    await page.locator('.empty', { hasText: 'No star system yet' }).waitFor();
    await shot(page, 'galaxy-empty');
    await page.locator('.empty .btn.primary').click();
    await until('29 bodies', async () => (await options(page, ['star', 'planet', 'moon']).count()) === 29);
    await page.locator('.empty').waitFor({ state: 'detached' });
    await clean(page);
  } finally {
    await bare.stop();
  }
});

// Last: it stops the server under the others.
test('while the server is away the map stays and says since when; then it goes on', async () => {
  const page = await open(browser, server, '/galaxy', {
    allow: ['WebSocket', 'ERR_CONNECTION_REFUSED', 'Failed to load resource'],
  });
  await ready(page);
  await server.down();
  await until('it says so', async () => /no answer for \d/.test(await badges(page)));
  assert.equal(await options(page, ['star', 'planet', 'moon']).count(), 29, 'what was shown stays');
  await shot(page, 'galaxy-away');
  await server.up();
  await until('it goes on', async () => !/no answer/.test(await badges(page)), 30000);
  await clean(page);
});
