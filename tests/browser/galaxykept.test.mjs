// What the galaxy keeps, in a real Chromium: snapshots taken and put back from the map, the alarm when none can be taken, a
// pilot's token that is renewed in flight or refused, and a ship flown by fingers alone.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { nameFaults } from './faults.mjs';
import { ask, launch, open, Server, shot, sideways, until } from './kit.mjs';

const KEY = 'a key that only this test knows, 32 bytes or more';
const WORD = 'a long password';
let server;
let browser;

const call = (method, at, body) => ask(server, method, at, body);

before(async () => {
  server = await Server.start({
    env: {
      WORLDKEEP_GALAXY_TICK_RATE: '10',
      WORLDKEEP_GALAXY_LOGINS_PER_MINUTE: '0',
      WORLDKEEP_JWT_KEY: KEY,
    },
  });
  browser = await launch();
  await until('the world', async () => (await call('GET', '/api/status')).tick > 0);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const clean = async (page) => assert.deepEqual(await page.done(), []);
const stored = async (ship, field) => (await server.redis('HGET', `ship:${ship}`, field)).split('\r\n')[1];
const account = (page) => page.evaluate(() => JSON.parse(localStorage.getItem('wk.pilot')));
const claims = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString());
const seated = (page) => until('the seat', async () => /km\/s/.test(await page.locator('.facts2').innerText()));

/** Changes the accounts and snapshots behind the server's back. */
const behind = (sql) =>
  execFileSync('python3', [
    '-c',
    'import sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=10); db.execute(sys.argv[2]); db.commit()',
    path.join(server.dir, 'data', 'galaxy.db'),
    sql,
  ]);

/** A token of this server that ends so many seconds from now. */
function token(player, seconds) {
  const text = (x) => Buffer.from(JSON.stringify(x)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const says = { sub: player.player_id, username: player.username, is_admin: false, iat: now - 60, exp: now + seconds };
  const signed = `${text({ alg: 'HS256', typ: 'JWT' })}.${text(says)}`;
  return `${signed}.${createHmac('sha256', KEY).update(signed).digest('base64url')}`;
}

/** The pilot page in a browser that kept this account. */
async function fly(who, options) {
  const page = await open(browser, server, '/fly', options);
  await page.evaluate((kept) => localStorage.setItem('wk.pilot', JSON.stringify(kept)), who);
  await page.reload();
  return page;
}
const register = async (username) => ({
  username,
  ...(await call('POST', '/api/auth/register', { username, password: WORD })),
});

test('a snapshot is taken in the drawer and put back; the map shows the world of then', async () => {
  await call('POST', '/api/admin/ships', { name: 'Wren 2' });
  const page = await open(browser, server, '/galaxy');
  const ships = page.locator('.gxlist [data-kind=ship]');
  await until('the ship', async () => (await ships.count()) === 1);
  await page.locator('.gxbar [aria-haspopup=menu]').click();
  await page.locator('[role=menu] button', { hasText: 'Snapshots' }).click();
  const drawer = page.locator('wk-drawer');
  const make = drawer.locator('button', { hasText: 'Make a snapshot now' });
  const before = (await call('GET', '/api/admin/snapshots')).items.length;
  await make.click();
  await until('it is listed', async () => (await drawer.locator('li').count()) > before);
  const [kept] = (await call('GET', '/api/admin/snapshots')).items;
  const row = drawer.locator('li', { hasText: new RegExp(`^Snapshot ${kept.id}`) });
  assert.match(await row.innerText(), /tick [\d\u202f]+/);
  await shot(page, 'galaxy-snapshots');

  await call('POST', '/api/admin/ships', { name: 'Mule 12', ship_class: 'cargo_hauler' });
  await until('two ships', async () => (await ships.count()) === 2);
  await row.locator('button', { hasText: 'Restore' }).click();
  const dialog = page.locator('dialog[open]', { hasText: `Go back to snapshot ${kept.id}?` });
  assert.match(
    await dialog.innerText(),
    /All 2 ships[\s\S]*[\d\u202f]+ ticks are undone[\s\S]*Ships made since then are gone/,
  );
  assert.match(await dialog.innerText(), new RegExp(`worldkeep galaxy snapshot restore ${kept.id}`));
  await shot(page, 'galaxy-restore-question');
  await dialog.locator('button', { hasText: `Go back to ${kept.id}` }).click();
  await until('one ship again', async () => (await ships.count()) === 1);
  assert.match(await ships.innerText(), /Wren 2/);
  const status = await call('GET', '/api/status');
  assert.deepEqual([status.tick, status.paused], [kept.tick_number, true]);
  const badges = page.locator('.gxbadges');
  await until('it is told', async () => /Paused at tick/.test(await badges.innerText()));
  assert.match(await page.locator('body').innerText(), new RegExp(`Back at snapshot ${kept.id}\\. Time is paused\\.`));
  await shot(page, 'galaxy-restored');

  // The mark of a restore under way, as a slower store would leave it for a while.
  await server.redis('SET', 'game:restoring', kept.id);
  await until('the badge', async () => (await badges.innerText()).includes(`Restoring snapshot ${kept.id}`));
  await shot(page, 'galaxy-restoring');
  await server.redis('DEL', 'game:restoring');
  await until('no badge', async () => !/Restoring/.test(await badges.innerText()));
  await call('POST', '/api/admin/game/resume');
  await clean(page);
});

test('snapshots that keep failing are an alarm on the map until one is taken', async () => {
  const page = await open(browser, server, '/galaxy');
  const badges = page.locator('.gxbadges');
  const take = () => fetch(`${server.url}/api/admin/snapshots`, { method: 'POST' });
  assert.ok((await take()).ok);
  // As a full disk would: what is there can be read, and nothing more is taken.
  behind("CREATE TRIGGER full BEFORE INSERT ON snapshots BEGIN SELECT raise(FAIL, 'the disk is full'); END");
  try {
    for (let failed = 1; failed <= 3; failed += 1) {
      assert.ok(!/failed in a row/.test(await badges.innerText()), 'one or two are tried again');
      assert.equal((await take()).status, 409);
    }
    await until('the alarm', async () => /\d snapshots failed in a row/.test(await badges.innerText()));
    assert.ok((await call('GET', '/api/admin/status')).snapshots_failed >= 3);
    const [bar, list] = [await page.locator('.gxbar').boundingBox(), await page.locator('.gxlist').boundingBox()];
    assert.ok(bar.y + bar.height <= list.y, 'the alarm covers nothing');
    await shot(page, 'galaxy-snapshots-failing');
  } finally {
    behind('DROP TRIGGER full');
  }
  assert.ok((await take()).ok);
  await until('no alarm', async () => !/failed/.test(await badges.innerText()));
  await clean(page);
});

test('a token that ends in flight is renewed without a word, and the new one is kept', async () => {
  const player = await register('pilot_long');
  // A socket renews an hour before the end: three seconds after this page came.
  const old = token(player, 3603);
  const page = await fly({ username: player.username, player_id: player.player_id, token: old });
  await seated(page);
  const said = [];
  await page.exposeFunction('said', (text) => said.push(text));
  await page.evaluate(() => {
    const line = document.querySelector('.contact');
    new MutationObserver(() => line.textContent && window.said(line.textContent)).observe(line, {
      childList: true,
      subtree: true,
      characterData: true,
    });
  });
  await until('another token', async () => (await account(page)).token !== old);
  assert.ok(claims((await account(page)).token).exp > claims(old).exp + 3600, 'for a day again');
  await page.keyboard.press('w');
  await until('it flies on', async () => (await stored(player.ship_id, 'thrust_level')) === '0.05');
  assert.deepEqual(said, [], 'nobody noticed');
  await clean(page);

  // The last seconds of a token: it is renewed at once, and after its end the page comes back with the new one.
  const short = await fly({ username: player.username, player_id: player.player_id, token: token(player, 4) });
  await seated(short);
  const { token: fresh } = await account(short);
  await until('the old one is over', () => claims(fresh).exp > Date.now() / 1000 + 3600);
  await short.waitForTimeout(4000);
  await short.reload();
  await seated(short);
  assert.equal(await short.locator('.door').count(), 0);
  await clean(short);
});

test('a refused token leads to the door with its reason; a guest comes back without one', async () => {
  const allow = ['401'];
  const player = await register('pilot_gone');
  const page = await fly({ username: player.username, player_id: player.player_id, token: player.token }, { allow });
  await seated(page);
  await call('DELETE', `/api/admin/players/${player.player_id}`);
  await page.locator('.door').waitFor();
  assert.equal(await page.locator('.door [role=alert]').innerText(), 'Your session has ended. Log in again.');
  const name = page.locator('.door input').first();
  assert.ok(await name.isVisible(), 'the form is open');
  assert.equal(await name.inputValue(), player.username);
  assert.equal(await account(page), null, 'what is no good is not kept');
  await shot(page, 'pilot-ended');
  await clean(page);

  const other = await register('pilot_late');
  const late = await fly({ username: other.username, player_id: other.player_id, token: token(other, -5) }, { allow });
  await late.locator('.door').waitFor();
  assert.match(await late.locator('.door [role=alert]').innerText(), /session has ended/);
  await late.locator('.door input').nth(1).fill(WORD);
  await late.locator('.door button', { hasText: 'Log in' }).click();
  await seated(late);
  await clean(late);

  const guest = await register('guest_abc234');
  const stale = { username: guest.username, player_id: guest.player_id, guest: WORD, token: token(guest, -5) };
  const back = await fly(stale, { allow });
  await seated(back);
  assert.equal(await back.locator('.toast').filter({ hasText: /token/ }).count(), 0, 'nor is it told');
  assert.equal(await back.locator('.door').count(), 0, 'it logged in by itself');
  assert.notEqual((await account(back)).token, stale.token);
  await clean(back);
});

test('a token that is refused when it is to be renewed leads to the door, and nothing knocks again', async () => {
  const allow = ['401'];
  for (const guest of [undefined, WORD]) {
    const player = await register(guest ? 'guest_def567' : 'pilot_cut');
    // A socket renews an hour before the end: some seconds from now, when nobody knows the player any more.
    const kept = { username: player.username, player_id: player.player_id, guest, token: token(player, 3606) };
    const page = await open(browser, server, '/fly', { allow });
    const lines = [];
    const logins = [];
    page.on('websocket', (line) => lines.push(line.url()));
    page.on('request', (r) => r.url().endsWith('/api/auth/login') && logins.push(r.url()));
    await page.evaluate((who) => localStorage.setItem('wk.pilot', JSON.stringify(who)), kept);
    await page.reload();
    await seated(page);
    assert.equal(lines.length, 1);
    behind(`DELETE FROM ships WHERE player_id = '${player.player_id}'`);
    behind(`DELETE FROM players WHERE id = '${player.player_id}'`);
    await page.locator('.door').waitFor();
    assert.equal(await page.locator('.door [role=alert]').innerText(), 'Your session has ended. Log in again.');
    assert.equal(await page.locator('.door input').first().inputValue(), guest ? '' : player.username);
    assert.equal(await account(page), null, 'what is no good is not kept');
    await page.waitForTimeout(2500);
    assert.equal(lines.length, 1, 'no line is opened again');
    assert.equal(logins.length, guest ? 1 : 0, 'a guest tries once');
    assert.equal(await page.locator('.contact').count(), 0);
    await clean(page);
  }
});

test('a guest whose login cannot be tried is not forgotten', async () => {
  const player = await register('guest_ghk234');
  const kept = { username: player.username, player_id: player.player_id, guest: WORD, token: token(player, -5) };
  const page = await open(browser, server, '/fly', { allow: ['503'] });
  await page.route('**/api/auth/login', (r) =>
    r.fulfill({ status: 503, json: { error: { code: 'x', message: 'x' } } }),
  );
  await page.evaluate((who) => localStorage.setItem('wk.pilot', JSON.stringify(who)), kept);
  await page.reload();
  await page.locator('.door').waitFor();
  assert.equal((await account(page)).guest, WORD, 'nobody else knows the password');
  await page.unroute('**/api/auth/login');
  await page.reload();
  await seated(page);
  await clean(page);
});

test('a ship is flown by fingers alone on a phone', async () => {
  const page = await open(browser, server, '/fly', { touch: true, width: 390, height: 844, scheme: 'dark' });
  await page.locator('.door .btn.primary').tap();
  await seated(page);
  const { player_id } = await account(page);
  const ship = (await call('GET', `/api/ships?limit=100`)).items.find((s) => s.player_id === player_id).ship_id;
  assert.ok((await sideways(page)) <= 0);
  assert.deepEqual(await nameFaults(page, { nav: false }), []);
  const line = await page.context().newCDPSession(page);
  const touch = (type, ...points) =>
    line.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: points.map(([x, y], id) => ({ x, y, id, radiusX: 8, radiusY: 8, force: 1 })),
    });
  const turn = () => stored(ship, 'rotation_input');
  const rests = () => until('it rests', async () => (await turn()) === '[0.0, 0.0, 0.0]');
  const middle = async (el) => {
    await el.scrollIntoViewIfNeeded();
    const b = await el.boundingBox();
    return [b.x + b.width / 2, b.y + b.height / 2];
  };

  const ball = page.locator('.ball');
  const [x, y] = await middle(ball);
  const r = (await ball.boundingBox()).width / 2;
  await touch('touchStart', [x, y]);
  await touch('touchMove', [x - r * 0.9, y]);
  await until('a turn to the left', async () => /^\[-?0\.0, 1\.0, 0\.0\]/.test(await turn()));
  await touch('touchMove', [x, y - r * 0.9]);
  await until('the nose up', async () => /^\[-1\.0, -?0\.0, 0\.0\]/.test(await turn()));
  // A second finger rolls meanwhile.
  const roll = await middle(page.locator('.rolls .btn:visible').last());
  await touch('touchStart', [x, y - r * 0.9], roll);
  await until('both', async () => /^\[-1\.0, -?0\.0, 1\.0\]/.test(await turn()));
  await shot(page, 'pilot-touch-turning');
  await touch('touchEnd');
  await rests();

  // The same ball moves the ship without turning it.
  const moved = () => stored(ship, 'translation_input');
  const mover = page.locator('.mover .btn');
  await mover.tap();
  assert.equal(await mover.getAttribute('aria-pressed'), 'true');
  assert.match(await ball.getAttribute('aria-label'), /without turning/);
  assert.deepEqual(await page.locator('.rolls .btn:visible').allInnerTexts(), ['Back', 'Ahead']);
  assert.deepEqual(await nameFaults(page, { nav: false }), []);
  await touch('touchStart', [x, y]);
  await touch('touchMove', [x - r * 0.9, y]);
  await until('a push to the left', async () => (await moved()) === '[1.0, 0.0, 0.0]');
  await touch('touchMove', [x, y - r * 0.9]);
  await until('upwards', async () => (await moved()) === '[0.0, 1.0, 0.0]');
  const ahead = await middle(page.locator('.rolls .btn:visible').last());
  await touch('touchStart', [x, y - r * 0.9], ahead);
  await until('ahead too', async () => (await moved()) === '[0.0, 1.0, 1.0]');
  assert.equal(await turn(), '[0.0, 0.0, 0.0]', 'it does not turn');
  await shot(page, 'pilot-touch-moving');
  await touch('touchEnd');
  await until('no push', async () => (await moved()) === '[0.0, 0.0, 0.0]');
  await touch('touchStart', await middle(page.locator('.rolls .btn:visible').first()));
  await until('back', async () => (await moved()) === '[0.0, 0.0, -1.0]');
  await touch('touchEnd');
  await until('no push', async () => (await moved()) === '[0.0, 0.0, 0.0]');
  assert.ok(Number(await stored(ship, 'fuel')) < 15000, 'it costs fuel');
  await mover.tap();
  assert.equal(await page.locator('.rolls .push:visible').count(), 0, 'it turns again');

  const lever = page.locator('.lever input');
  const [lx, ly] = await middle(lever);
  const high = (await lever.boundingBox()).height;
  const level = async () => Number(await stored(ship, 'thrust_level'));
  await touch('touchStart', [lx, ly + high * 0.4]);
  for (const f of [0.2, 0, -0.2, -0.3]) await touch('touchMove', [lx, ly + high * f]);
  await touch('touchEnd');
  await until('thrust', async () => (await level()) > 0.6);
  const over = () =>
    page.locator('.who').evaluate((el) => Math.max(...[...el.children].map((c) => c.getBoundingClientRect().right)));
  const edge = await page.locator('.who').boundingBox();
  assert.ok((await over()) <= edge.x + edge.width, 'what it does fits into the header');
  await shot(page, 'pilot-touch-thrust');
  await touch('touchStart', [lx, ly - high * 0.3]);
  for (const f of [0, 0.3, 0.49]) await touch('touchMove', [lx, ly + high * f]);
  await touch('touchEnd');
  await until('no thrust', async () => (await level()) === 0);

  const mode = page.locator('.modes button', { hasText: /^Prograde$/ });
  await mode.tap();
  await until('a mode', async () => (await mode.getAttribute('aria-pressed')) === 'true');
  await page.locator('[aria-label="Switch ship"]').tap();
  await page.locator('[role=menu] button', { hasText: 'New ship' }).waitFor();
  await page.touchscreen.tap(195, 20);
  // Fingers need room: no control is smaller than what one hits.
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('.board button, .lever input, .dock button')]
      .filter((el) => el.offsetParent)
      .map((el) => ({ name: el.textContent || el.ariaLabel, b: el.getBoundingClientRect() }))
      .filter(({ b }) => b.height < 32 || b.width < 32)
      .map(({ name, b }) => `${name}: ${Math.round(b.width)}×${Math.round(b.height)}`),
  );
  assert.deepEqual(small, []);
  await clean(page);
});
