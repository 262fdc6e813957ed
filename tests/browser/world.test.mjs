// The World page: its pure parts without a browser, then a field in a real Chromium against a real server.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, open, Server, shot, sideways, until, webFile } from './kit.mjs';

const load = (name) => import(webFile('pages/world', name));
const TENANT = 'de300000-0000-4000-8000-000000000001';
const NIL = '00000000-0000-0000-0000-000000000000';

test('a field is chosen by the address, else the fullest, and pickers count what is there', async () => {
  const { choose, offers } = await load('model.js');
  const at = (id, mapId, monsters, reactors) => ({
    tenant: { id },
    worldId: 0,
    channelId: 1,
    mapId,
    instance: NIL,
    monsters,
    reactors,
  });
  const fields = [at('a', 1, 2, 0), at('a', 2, 3, 4), at('b', 1, 5, 0)];
  assert.equal(choose(fields, {}).mapId, 2);
  assert.equal(choose(fields, { tenant: 'b' }).tenant.id, 'b');
  assert.equal(choose(fields, { tenant: 'b', map: '9' }), null);
  assert.deepEqual(offers(fields, fields[0], 'mapId'), [
    { value: 1, count: 2 },
    { value: 2, count: 7 },
  ]);
  assert.deepEqual(
    offers(fields, fields[0], 'tenant').map((o) => o.count),
    [9, 5],
  );
});

test('lost health becomes a number, a fall is remembered, and then all is calm', async () => {
  const { Model, NUMBER_MS } = await load('model.js');
  const model = new Model();
  const mob = (hp) => ({ id: '7', monsterId: 1, x: 0, y: 0, hp, maxHp: 100, statusEffects: [], damageEntries: [] });
  model.showMonsters([mob(100)], 1000);
  assert.equal(model.moving(1000), false);
  model.showMonsters([mob(70)], 2000);
  assert.deepEqual(
    model.numbers.map((n) => n.text),
    ['30'],
  );
  assert.equal(model.moving(2000), true);
  model.asked.set('7', 500);
  const told = { module: 'monsters', type: 'KILLED', at: 3000, id: '7', body: { uniqueId: 7, body: { actorId: 4 } } };
  model.hear([told], 3000);
  model.showMonsters([], 3001);
  assert.deepEqual(model.ends.get('7'), { how: 'KILLED', by: 4, at: 3000 });
  model.sweep(3001 + 2 * NUMBER_MS);
  assert.equal(model.moving(3001 + 2 * NUMBER_MS), false);
});

test('a broken reactor leaves its spot cooling, also when it broke before the page came', async () => {
  const { Model } = await load('model.js');
  const r = { id: '1', classification: 2001, x: 5, y: 0, delay: 4000, state: 0, name: 'box' };
  const seen = new Model();
  seen.showReactors([r], 0);
  seen.hear([{ module: 'reactors', type: 'DESTROYED', at: 1000, id: '1', body: { reactorId: 1, body: {} } }], 1100);
  seen.showReactors([], 1200);
  assert.equal([...seen.ghosts.values()][0].until, 5000);
  seen.sweep(5001);
  assert.equal(seen.ghosts.size, 0);
  const late = new Model();
  late.hear(
    [
      { module: 'reactors', type: 'CREATED', at: 500, id: '1', body: { reactorId: 1, body: r } },
      { module: 'reactors', type: 'DESTROYED', at: 1000, id: '1', body: { reactorId: 1, body: {} } },
    ],
    2000,
  );
  assert.equal([...late.ghosts.values()][0].until, 5000);
  late.showReactors([{ ...r, id: '2' }], 2500);
  assert.equal(late.ghosts.size, 0, 'the spot is taken again');
});

test('a state that ends by itself has time left, only while its beginning is known', async () => {
  const { Model, discs, health } = await load('model.js');
  const model = new Model();
  const r = { id: '3', state: 1 };
  assert.equal(
    model.timer(r, 0, () => 2000),
    null,
  );
  model.hear([{ module: 'reactors', type: 'HIT', at: 100, id: '3', body: { reactorId: 3, body: { state: 1 } } }], 100);
  assert.deepEqual(
    model.timer(r, 600, () => 2000),
    { left: 1500, total: 2000 },
  );
  const fx = (name, value, expiresAt) => ({ statuses: { [name]: value }, expiresAt });
  const m = { statusEffects: [fx('VENOM', 5, 900), fx('VENOM', 6, 800), fx('STUN', 1, 100)] };
  assert.deepEqual(discs(m, 200), [{ name: 'VENOM', value: 11, left: 700, stacks: 2 }]);
  assert.deepEqual(
    [60, 40, 20].map((hp) => health({ hp, maxHp: 100 }).tone),
    ['--ok', '--hp-mid', '--bad'],
  );
});

test('a view shows everything, and a point goes to the screen and back', async () => {
  const { fit, toScreen, toField, outside, steps, zoom } = await load('camera.js');
  const points = [
    { x: -900, y: 0 },
    { x: 1400, y: 300 },
  ];
  const cam = fit(points, 800, 600);
  assert.equal(outside(cam, 800, 600, points), false);
  const back = toField(cam, 800, 600, toScreen(cam, 800, 600, points[1]));
  assert.ok(Math.abs(back.x - 1400) < 1e-6 && Math.abs(back.y - 300) < 1e-6);
  const near = zoom(cam, 800, 600, { x: 10, y: 20 }, 2);
  const [a, b] = [cam, near].map((c) => toField(c, 800, 600, { x: 10, y: 20 }));
  assert.ok(Math.abs(a.x - b.x) < 1e-6 && Math.abs(a.y - b.y) < 1e-6);
  assert.deepEqual([1, 0.3, 0.05].map(steps), [100, 200, 1000]);
});

test('the command names only what differs from its defaults', async () => {
  const { DEMO, placeFlags, tenantFlags } = await load('act.js');
  assert.deepEqual(placeFlags(DEMO), []);
  const other = { ...DEMO, mapId: 40000, tenant: { id: 'x-1', region: "a'b", majorVersion: 83, minorVersion: 0 } };
  assert.deepEqual(tenantFlags(other), ['--tenant x-1', "--region 'a'\\''b'", '--major 83']);
  assert.deepEqual(placeFlags(other).at(-1), '--field 0:0:40000');
});

let server;
let browser;
const FIELD = `/api/worlds/0/channels/0/maps/100000/instances/${NIL}`;
const HEADERS = {
  'Content-Type': 'application/json',
  'TENANT-ID': TENANT,
  REGION: 'DEMO',
  'MAJOR-VERSION': '1',
  'MINOR-VERSION': '0',
};

async function call(method, at, attributes) {
  const body = attributes && JSON.stringify({ data: { attributes } });
  const answer = await fetch(server.url + at, { method, headers: HEADERS, body });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${at}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}
const spawn = async (monsterId, x, y, place = FIELD) =>
  (await call('POST', `${place}/monsters`, { monsterId, x, y })).data.id;
const stand = async (classification, x, y, delay = 0) =>
  (await call('POST', `${FIELD}/reactors`, { classification, x, y, delay })).data.id;
const clean = async (page) => assert.deepEqual(await page.done(), []);
const options = (page) => page.locator('.twin [role=option]');

before(async () => {
  server = await Server.start();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test('an empty field says so, and the first one is spawned from it', async () => {
  const page = await open(browser, server, '/world');
  await page.locator('.fieldbox .empty').waitFor();
  assert.match(await page.locator('.fieldbox .empty').innerText(), /Nothing lives here[\s\S]*--at=0,0/);
  await shot(page, 'world-empty');
  await page.locator('.fieldbox .empty .btn').click();
  await page.locator('dialog select').selectOption('m9400001');
  await page.locator('dialog .pair input').first().fill('40 000');
  await page.locator('dialog .btn.primary').click();
  assert.match(await page.locator('dialog').innerText(), /from −32.768 to 32.767\. You wrote 40 000/);
  await page.locator('dialog .pair input').first().fill('120');
  assert.match(await page.locator('dialog code.cmd').innerText(), /^worldkeep monsters spawn 9400001 --at=120,0$/);
  await page.locator('dialog .btn.primary').click();
  await page.waitForSelector('dialog', { state: 'detached' });
  await until('it is listed', async () => (await options(page).count()) === 1);
  await until('its panel', async () => /Moss Slime/.test(await page.locator('.panel h2').innerText()));
  assert.match(await page.locator('.panel').innerText(), /320 of 320/);
  assert.match(page.url(), /sel=m\d+/);
  await clean(page);
});

test('a click on the canvas selects, a hit takes health, the last one is told', async () => {
  const { data } = await call('GET', `${FIELD}/monsters`);
  const page = await open(browser, server, '/world');
  await until('it is listed', async () => (await options(page).count()) === 1);
  await page.waitForTimeout(200);
  // Alone in its field, it stands in the middle of the picture.
  const box = await page.locator('wk-canvas').boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2 - 18);
  await until('its panel', async () => /Moss Slime/.test(await page.locator('.panel h2').innerText()));
  const hit = async (damage) => {
    await page.locator('.panel .btn', { hasText: 'Hit' }).click();
    const fields = page.locator('dialog .field input');
    await fields.nth(0).fill(String(damage));
    await fields.nth(1).fill('4');
    await page.locator('dialog .btn.primary').click();
    await page.waitForSelector('dialog', { state: 'detached' });
  };
  await hit(120);
  await until('200 are left', async () => /200 of 320/.test(await page.locator('.panel').innerText()));
  assert.match(await page.locator('.panel').innerText(), /Player 4[\s\S]*120/);
  await until('the feed', async () => /was hit by Player 4/.test(await page.locator('.happens').innerText()));
  await hit(5000);
  await until('its end', async () => /Killed by Player 4 at/.test(await page.locator('.panel').innerText()));
  assert.equal(await page.locator('.panel footer .btn').count(), 0, 'nothing can be done to it any more');
  await until('nobody is listed', async () => (await options(page).count()) === 0);
  assert.match(await page.locator('wk-echo .cli code').innerText(), new RegExp(`monsters show ${data[0].id}$`));
  await clean(page);
});

test('a reactor is hit until its spot cools down, and removed after a question', async () => {
  const id = await stand(2001, 0, 0, 30000);
  const other = await stand(2002, 200, 0, 0);
  const page = await open(browser, server, `/world?sel=r${id}`);
  await page.locator('.panel .btn', { hasText: 'Hit' }).click();
  await page.locator('dialog .btn.primary').click();
  await page.waitForSelector('dialog', { state: 'detached' });
  await until('its spot', async () => /1 coming back/.test(await page.locator('.counts2').innerText()));
  await until('its end', async () => /Removed at/.test(await page.locator('.panel').innerText()));
  await options(page).filter({ hasText: 'barrel' }).click();
  await until('the other', async () => /barrel/.test(await page.locator('.panel h2').innerText()));
  await page.locator('.panel .btn.danger').click();
  assert.match(await page.locator('dialog code.cmd').innerText(), new RegExp(`reactors destroy ${other}`));
  await page.locator('dialog .btn.danger').click();
  await until('none is left', async () => (await options(page).count()) === 0);
  await shot(page, 'world-cooling');
  await clean(page);
});

test('a living field looks right, wide and narrow, in both languages and themes', async () => {
  for (const who of [4, 7]) await call('PUT', `${FIELD}/characters/${who}`);
  const boss = await spawn(9400007, 20, 330);
  for (const [kind, x, y] of [
    [9400001, -470, -190],
    [9400001, -290, -160],
    [9400003, 40, -300],
    [9400003, 130, -300],
    [9400005, 140, 20],
    [9300018, 500, 290],
  ])
    await spawn(kind, x, y);
  const boar = await spawn(9400002, -190, 60);
  const box = await stand(2001, -520, 330, 60000);
  await stand(2003, 570, 120);
  const barrel = await stand(2002, -350, 60, 9000);
  await call('POST', `/api/monsters/${boss}/damage`, { characterId: 4, damages: [50000, 30000] });
  await call('POST', `/api/monsters/${boss}/damage`, { characterId: 7, damages: [15400] });
  await call('POST', `/api/monsters/${boar}/damage`, { characterId: 4, damages: [750] });
  for (const [name, value] of [
    ['SPEED', -40],
    ['VENOM', 120],
  ])
    await call('POST', `/api/monsters/${boss}/status`, { statuses: { [name]: value }, duration: 120000 });
  await call('POST', `/api/reactors/${barrel}/hits`, { characterId: 4 });
  await spawn(9400001, 0, 0, FIELD.replace('100000', '40000'));
  for (const [lang, scheme] of [
    ['en-GB', 'light'],
    ['fr-FR', 'dark'],
  ]) {
    const page = await open(browser, server, `/world?map=100000&sel=m${boss}`, { lang, scheme });
    await until('effects', async () => (await page.locator('.panel .fx li').count()) === 2);
    await until('all are listed', async () => (await options(page).count()) >= 10);
    if (scheme === 'light') await call('POST', `/api/reactors/${box}/hits`, { characterId: 4 });
    await until('a spot cools', async () => (await page.locator('.counts2 span').count()) === 4);
    assert.equal(await page.evaluate(() => scrollY), 0, 'a selection does not move the page');
    assert.equal(await page.locator('[aria-current=page]:visible').count(), 1);
    await shot(page, `world-${lang.slice(0, 2)}-${scheme}`);
    for (const width of [1024, 768, 390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      assert.ok((await sideways(page)) <= 0, `at ${width} in ${lang}: ${await sideways(page)} px too wide`);
      if (width === 390) await shot(page, `world-${lang.slice(0, 2)}-phone`);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.locator('.places .chip').nth(3).click();
    assert.match(await page.locator('.menu.floating').innerText(), /40000\s*1\b[\s\S]*100000/);
    await page.locator('.menu.floating [role=menuitemradio]', { hasText: '40000' }).click();
    await until('the other map', async () => (await options(page).count()) === 1);
    assert.match(page.url(), /map=40000/);
    await clean(page);
  }
});

test('a skill that was used shows in the panel until it can be used again', async () => {
  const place = FIELD.replace('100000', '100900');
  const id = await spawn(9400007, 0, 0, place);
  const page = await open(browser, server, `/world?map=100900&sel=m${id}`);
  const panel = page.locator('.panel');
  await until('its skills', async () => /102 \(1\), 129 \(1\)/.test(await panel.innerText()));
  await call('POST', `/api/monsters/${id}/skills`, { skillId: 102, skillLevel: 1 });
  const { meta } = await call('GET', `/api/monsters/${id}`);
  assert.equal(meta.cooldowns[0].skillId, 102);
  const left = async () => Number(/102 \(1\) · (\d+)/.exec(await panel.innerText())?.[1]);
  const first = await until('its cooldown', left);
  assert.ok(first * 1000 <= meta.cooldowns[0].remainingMs + 1000, `${first} s`);
  await until('it runs down', async () => (await left()) < first);
  assert.match(await panel.innerText(), /129 \(1\),/, 'the others are ready');
  await shot(page, 'world-cooldown');
  await call('DELETE', `/api/monsters/${id}`);
  await clean(page);
});

test('the list drives the selection by keys, and who may only read finds no actions', async () => {
  const page = await open(browser, server, '/world?map=100000');
  await until('all are listed', async () => (await options(page).count()) >= 10);
  await page.locator('.twin').focus();
  await page.keyboard.press('End');
  await until('its panel', async () => (await page.locator('.panel .facts').count()) === 1);
  assert.match(page.url(), /sel=r/);
  await page.keyboard.press('Home');
  await until('the weakest first', async () => /Ember Boar/.test(await page.locator('.panel h2').innerText()));
  const read = await open(browser, server, '/world?map=100000');
  await read.route('**/api/session', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...(await answer.json()), role: 'reader' } });
  });
  await read.reload();
  await until('all are listed', async () => (await options(read).count()) >= 10);
  await options(read).first().click();
  await until('its panel', async () => (await read.locator('.panel .facts').count()) === 1);
  assert.equal(await read.locator('.panel footer .btn').count(), 0);
  assert.equal(await read.locator('.head .btn', { hasText: 'Spawn' }).count(), 0);
  await clean(page);
  await clean(read);
});
