// The World page: its pure parts without a browser, then a field in a real Chromium against a real server.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, noBrowser, open, Server, shot, sideways, until, webFile } from './kit.mjs';

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

/** Draws onto nothing: only widths of texts count. */
const blank = () =>
  new Proxy(
    {},
    { get: (_, name) => (name === 'measureText' ? (text) => ({ width: 7 * text.length }) : () => {}), set: () => true },
  );

/** A field of `n` monsters in `w` by `h` units, the first a boss; the same for the same numbers. */
function crowd(n, w, h) {
  let seed = n;
  const dice = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  return Array.from({ length: n }, (_, i) => ({
    id: String(1000000000 + i),
    monsterId: i ? 9400001 + (i % 4) : 9400007,
    x: Math.round(dice() * w),
    y: Math.round(dice() * h),
    hp: Math.ceil(dice() * 300),
    maxHp: 300,
    stance: i,
    controlCharacterId: i % 5,
    damageEntries: [],
    statusEffects: i % 3 ? [] : [{ statuses: { POISON: 1, STUN: 1 }, expiresAt: 9000 }],
  }));
}

async function picture(list, size, more = {}) {
  noBrowser();
  const [{ draw }, { Model }, { fit }] = await Promise.all(['draw.js', 'model.js', 'camera.js'].map(load));
  const model = new Model();
  model.showMonsters(
    list.map((m) => ({ ...m, hp: 300 })),
    1000,
  );
  model.showReactors(
    [0, 40, 80, 400].map((x, i) => ({
      id: String(i),
      classification: 2001,
      name: 'box',
      state: 0,
      x,
      y: 10,
      delay: 9000,
    })),
    1000,
  );
  model.showReactors([], 1001);
  model.showReactors([{ id: '9', classification: 2001, name: 'box', state: 0, x: 30, y: 10 }], 1002);
  model.showMonsters(list, 1100);
  const cam = fit([...list, ...model.ghosts.values()], size.w, size.h);
  const see = {
    model,
    cam,
    now: 1200,
    still: false,
    selected: 'm1000000003',
    template: (m) => ({ name: `Kind ${m.monsterId}`, boss: m.monsterId === 9400007 }),
    timeout: () => 0,
    area: () => null,
    name: (key) => `Somebody ${key.slice(1)}`,
    ...more,
  };
  return { ...draw(blank(), { ...size, color: () => '' }, see), see, model };
}

test('names, bars, discs and numbers lie on nothing of each other, however close their monsters stand', async () => {
  for (const [n, w, h] of [
    [2, 10, 0],
    [12, 60, 0],
    [30, 900, 0],
    [60, 1200, 300],
    [500, 2000, 700],
  ])
    for (const size of [
      { w: 830, h: 440 },
      { w: 290, h: 360 },
    ]) {
      const { boxes, see, model } = await picture(crowd(n, w, h), size);
      const kinds = new Set(boxes.map((b) => b.what));
      for (const what of ['number', 'name']) assert.ok(kinds.has(what), `${n}: no ${what} among ${[...kinds]}`);
      for (const [i, a] of boxes.entries())
        for (const b of boxes.slice(i + 1)) {
          const apart = a.x >= b.x + b.w || b.x >= a.x + a.w || a.y >= b.y + b.h || b.y >= a.y + a.h;
          assert.ok(apart, `${n} in ${size.w}: ${JSON.stringify(a)} on ${JSON.stringify(b)}`);
        }
      assert.ok(
        boxes.some((b) => b.what === 'name' && b.text.startsWith('Somebody')),
        'the selected one has its name',
      );
      // A number keeps its place while it rises.
      const { draw } = await load('draw.js');
      const at = (all) => all.filter((b) => b.what === 'number').map((b) => [b.text, b.x.toFixed(3), b.y.toFixed(3)]);
      const later = draw(blank(), { ...size, color: () => '' }, { ...see, now: 1500 });
      assert.deepEqual(at(later.boxes), at(boxes));
      assert.ok(model.numbers.length > 0);
    }
});

test('five hundred monsters are few marks; moving the view changes none, the chosen one stands alone', async () => {
  const { clusters, spread } = await load('place.js');
  const list = crowd(500, 2000, 700);
  const cam = { x: 1000, y: 350, k: 0.35 };
  const own = (m) => m.id === '1000000003';
  const all = clusters(list, cam, own);
  assert.equal(all.single.length + all.groups.reduce((n, g) => n + g.of.length, 0), 500);
  assert.ok(all.single.length + all.groups.length < 180, `${all.single.length} and ${all.groups.length}`);
  assert.ok(all.single.some(own));
  const moved = clusters(list, { ...cam, x: -77, y: 13 }, own);
  assert.deepEqual(
    moved.groups.map((g) => g.key),
    all.groups.map((g) => g.key),
  );
  // A click on a group brings its members apart in the end.
  let near = cam;
  for (let i = 0; i < 12; i += 1) {
    const group = clusters(list, near, own).groups.sort((a, b) => b.of.length - a.of.length)[0];
    if (!group) break;
    near = spread(group, near, 830, 440);
  }
  assert.ok(near.k > 1, `zoomed to ${near.k}`);
  assert.equal(clusters(crowd(5, 10, 0), cam, () => false).groups.length, 0, 'a handful stays apart');
});

test('who did it and to whom it happened: events of one, damage of one player', async () => {
  const { about, damageBy, dealt } = await load('follow.js');
  const hit = (id, actorId, damage) => ({
    module: 'monsters',
    type: 'DAMAGED',
    id,
    body: { monsterId: 9400001, body: { actorId, damageEntries: [{ characterId: actorId, damage }] } },
  });
  const events = [hit('7', 4, 10), hit('7', 4, 30), hit('8', 4, 20), hit('8', 5, 99)];
  assert.equal(events.filter((e) => about('m7', e)).length, 2);
  assert.equal(events.filter((e) => about('r7', e)).length, 0, 'ids of monsters and reactors overlap');
  assert.equal(events.filter((e) => about('p4', e)).length, 3);
  const born = { module: 'monsters', type: 'CREATED', id: '7', body: { body: {} } };
  assert.deepEqual(
    dealt([born, ...events.slice(0, 3)]).map((e) => e.dealt),
    [undefined, 10, 20, undefined],
    'the first known hit of one that was not seen to appear tells nothing',
  );
  const living = [{ id: '8', monsterId: 1, damageEntries: [{ characterId: 4, damage: 45 }] }];
  assert.deepEqual(
    damageBy(4, events, living).map((d) => [d.id, d.damage]),
    [
      ['8', 45],
      ['7', 30],
    ],
  );
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

test('a monster and who hit it can be followed, by click, by address and by Back', async () => {
  const place = FIELD.replace('100000', '100901');
  await call('PUT', `${place}/characters/4`);
  const slime = await spawn(9400001, 0, 0, place);
  const imp = await spawn(9400003, 300, -200, place);
  const box = (await call('POST', `${place}/reactors`, { classification: 2002, x: 100, y: 0, delay: 0 })).data.id;
  for (const damage of [20, 30])
    await call('POST', `/api/monsters/${slime}/damage`, { characterId: 4, damages: [damage] });
  await call('POST', `/api/reactors/${box}/hits`, { characterId: 4 });
  const page = await open(browser, server, `/world?map=100901`);
  const panel = page.locator('.panel');
  const shows = (what, text) => until(what, async () => text.test((await panel.innerText()).replace(/\s+/g, ' ')));
  await until('all are listed', async () => (await options(page).count()) === 3);
  for (const name of [`Moss Slime ${slime}`, `Frost Imp ${imp}`, `barrel ${box}`])
    assert.equal(await options(page).filter({ hasText: name }).count(), 1, name);
  await until('names in the feed', async () =>
    (await page.locator('.happens').innerText()).includes(`Moss Slime ${slime} was hit by Player 4`),
  );
  const list = await page.locator('.listing').boundingBox();
  assert.ok(list.y + list.height <= 900, `what is here ends at ${list.y + list.height}`);
  await options(page).filter({ hasText: 'Moss Slime' }).click();
  await shows(
    'its story',
    new RegExp(
      `Monster ${slime} .*What happened to it.* was hit by Player 4 · 30 .* was hit by Player 4 · 20 .* appeared`,
    ),
  );
  await panel.locator('.barlist a', { hasText: 'Player 4' }).click();
  await shows(
    'the player',
    new RegExp(`Player 4 controls \\d monsters? here.*Moss Slime ${slime} .*50.*barrel ${box} hit 1 time`),
  );
  assert.match(page.url(), /sel=p4/);
  await shot(page, 'world-player');
  await panel.locator('.deeds a', { hasText: `barrel ${box}` }).click();
  await shows('the reactor', new RegExp(`Reactor ${box} .*Player 4 hit barrel ${box}`));
  await page.goBack();
  await shows('the player again', /What it did/);
  await page.goBack();
  await shows('the monster again', new RegExp(`Monster ${slime}`));
  await page.goBack();
  await until('nobody is selected', async () => !(await panel.isVisible()));
  await page.goForward();
  await page.reload();
  await shows('the monster after a reload', new RegExp(`Moss Slime .*Monster ${slime} `));
  await page.keyboard.press('f');
  await until('it is followed', async () => /follow=1/.test(page.url()));
  await call('POST', `/api/monsters/${slime}/movement`, { x: 900, y: 0, stance: 2 });
  await until('the view goes with it', () =>
    page.evaluate(() => document.querySelector('.listing .twin').textContent.includes('at\u00a0900,\u00a00')),
  );
  assert.equal(await panel.locator('[aria-pressed=true]').count(), 1);
  await clean(page);
});

test('a field with five hundred monsters is drawn in little time', async () => {
  const place = FIELD.replace('100000', '100902');
  for (let i = 0; i < 500; i += 25)
    await Promise.all(
      crowd(500, 2000, 700)
        .slice(i, i + 25)
        .map((m) => spawn(m.monsterId, m.x, m.y, place)),
    );
  const page = await open(browser, server, '/world?map=100902');
  await until('all are listed', async () => (await options(page).count()) === 500);
  await until('the picture', () => page.evaluate(() => document.querySelector('canvas').width > 300));
  await shot(page, 'world-500');
  const times = await page.evaluate(
    async (list) => {
      const [{ draw }, { Model }, { fit }] = await Promise.all(
        ['draw', 'model', 'camera'].map((name) => import(`/pages/world/${name}.js`)),
      );
      // On the page, so that each frame is shown before the next is drawn.
      const canvas = Object.assign(document.createElement('canvas'), { width: 830, height: 440 });
      document.body.append(canvas);
      const c = canvas.getContext('2d');
      const model = new Model();
      const color = (token) => getComputedStyle(document.documentElement).getPropertyValue(token);
      const known = new Map();
      const see = {
        model,
        selected: 'm1000000003',
        template: (m) => ({ name: 'Moss Slime', boss: m.monsterId === 9400007 }),
        timeout: () => 0,
        area: () => null,
        name: (key) => `Moss Slime ${key.slice(1)}`,
      };
      const out = [];
      for (let i = 0; i < 150; i += 1) {
        await new Promise(requestAnimationFrame);
        // Lists come five times a second, each with a tenth of them hit; the view moves with every frame.
        if (i % 12 === 0)
          model.showMonsters(
            list.map((m, n) => ({ ...m, hp: m.hp - (n % 10 === (i / 12) % 10 ? i : 0) })),
            i * 16,
          );
        model.sweep(i * 16);
        const cam = fit(list, 830, 440);
        cam.x += i;
        const from = performance.now();
        c.clearRect(0, 0, 830, 440);
        draw(
          c,
          { w: 830, h: 440, color: (x) => known.get(x) || known.set(x, color(x)).get(x) },
          { ...see, cam, now: i * 16 },
        );
        out.push(performance.now() - from);
      }
      return out.slice(20).sort((a, b) => a - b);
    },
    crowd(500, 2000, 700),
  );
  const at = (f) => times[Math.floor(times.length * f)].toFixed(2);
  console.log(`# a frame of 500 monsters: median ${at(0.5)} ms, p95 ${at(0.95)} ms, slowest ${at(0.999)} ms`);
  await clean(page);
});
