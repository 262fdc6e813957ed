// The pilot view in a real Chromium against a real server whose engine ticks: a guest flies with keys, fingers and
// buttons, what happens is in the store, a lost line is told and comes back.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { contrastFaults, nameFaults } from './faults.mjs';
import { launch, open, Server, shot, sideways, until } from './kit.mjs';

let server;
let browser;
const DOCKER = { username: 'docker_1', password: 'a long password' };

before(async () => {
  server = await Server.start({
    env: { WORLDKEEP_GALAXY_TICK_RATE: '10', WORLDKEEP_GALAXY_LOGINS_PER_MINUTE: '0' },
  });
  browser = await launch();
  await until('the world', async () => (await (await fetch(`${server.url}/api/status`)).json()).tick > 0);
  // While time stands, the first ship of a world and a station a little higher are made side by side.
  await call('POST', '/api/admin/game/pause');
  await call('POST', '/api/admin/stations', { name: 'Highport', parent_body: 'Earth', altitude: 400520 });
  await call('POST', '/api/auth/register', DOCKER);
  await call('POST', '/api/admin/game/resume');
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const call = async (method, at, body, token) => {
  const answer = await fetch(server.url + at, {
    method,
    headers: {
      ...(body ? { 'Content-Type': 'application/json' } : {}),
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
    },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${at}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
};
const clean = async (page) => assert.deepEqual(await page.done(), []);
const account = (page) => page.evaluate(() => JSON.parse(localStorage.getItem('wk.pilot')));
/** A field of a ship as the store has it. */
const stored = async (ship, field) => (await server.redis('HGET', `ship:${ship}`, field)).split('\r\n')[1];
const shipOf = async (page) => {
  const { token } = await account(page);
  return (await call('GET', '/api/fleet', null, token)).items[0].ship_id;
};
const mode = (page, name) => page.locator('.modes button', { hasText: new RegExp(`^${name}$`) });
const pressed = (el) => el.getAttribute('aria-pressed');
const number = (text) => Number(text.replace(/[^\d.-]/g, ''));

async function guest(options) {
  const page = await open(browser, server, '/fly', options);
  await page.locator('.door .btn.primary').click();
  await until('the seat', async () => (await page.locator('.facts2').innerText()).includes('km/s'));
  return page;
}

test('one click makes a guest who flies: thrust burns what the store holds, space cuts it', async () => {
  const page = await guest();
  assert.match(await page.locator('h1').innerText(), /^guest_\w{6}/);
  const ship = await shipOf(page);
  assert.match(await page.locator('.facts2').innerText(), /Height\s+4\d\d km\s+Speed\s+7\.6\d km\/s/);
  assert.equal(await page.locator('.modes button').count(), 10, 'every mode has its button');
  await page.waitForTimeout(400);
  await shot(page, 'pilot-start');
  for (let i = 0; i < 8; i += 1) await page.keyboard.press('w');
  await until('the store has it', async () => (await stored(ship, 'thrust_level')) === '0.4');
  await until('the badge', async () => /Burning, 40/.test(await page.locator('.who').innerText()));
  assert.equal(await page.locator('.lever input.asked').count(), 0, 'confirmed');
  const first = Number(await stored(ship, 'fuel'));
  assert.ok(first < 15000);
  await until('more of it burns', async () => Number(await stored(ship, 'fuel')) < first);
  await until(
    'the bar shows it',
    async () => number(await page.locator('.side2 .meter b').first().innerText()) < 15000,
  );
  await shot(page, 'pilot-burning');
  await page.keyboard.press(' ');
  await until('it is cut', async () => (await stored(ship, 'thrust_level')) === '0.0');
  await page.locator('.lever input').fill('25');
  await until('the lever', async () => (await stored(ship, 'thrust_level')) === '0.25');
  await page.keyboard.press(' ');
  await until('cut again', async () => (await stored(ship, 'thrust_level')) === '0.0');
  await clean(page);
});

test('a pilot closes in on a station, docks, refuels and leaves again', async () => {
  const page = await open(browser, server, '/fly');
  await page.locator('summary').click();
  await page.locator('.door input').nth(0).fill(DOCKER.username);
  await page.locator('.door input').nth(1).fill(DOCKER.password);
  await page.locator('.door button', { hasText: 'Log in' }).click();
  const card = page.locator('.dock');
  await until('the station', async () => /Highport[\s\S]*Distance/.test(await card.innerText()));
  const ship = await shipOf(page);
  const far = async () => {
    const [, n, unit] = /Distance\s+([\d.\u202f]+)\u202f(k?m)/.exec(await card.innerText());
    return Number(n.replaceAll('\u202f', '')) * (unit === 'km' ? 1000 : 1);
  };
  const dock = card.locator('button', { hasText: /^Dock$/ });
  assert.equal(await dock.getAttribute('aria-disabled'), 'true', 'too far, and it says so');
  assert.match(await card.innerText(), /Opens within 500 m and 5 m\/s/);
  await mode(page, 'Target').click();
  await until('it points there', async () => (await pressed(mode(page, 'Target'))) === 'true');
  await page.waitForTimeout(7000);
  await page.keyboard.press('w');
  await page.waitForTimeout(1200);
  await page.keyboard.press(' ');
  await shot(page, 'pilot-closing');
  await until('it is near', async () => (await far()) < 500, 90000);
  await until('the door', async () => (await dock.getAttribute('aria-disabled')) === null, 5000);
  await dock.click();
  await until('docked', async () => /Docked at Highport/.test(await card.innerText()));
  await until('the store', async () => (await stored(ship, 'docked_station_id')).length === 36);
  assert.match(await page.locator('.who').innerText(), /Docked/);
  assert.equal(await page.locator('.lever input').isDisabled(), true, 'no thrust at the dock');
  await shot(page, 'pilot-docked');
  if ((await stored(ship, 'fuel')) !== '15000.0') {
    await card.locator('button', { hasText: 'Refuel' }).click();
    await until('full', async () => (await stored(ship, 'fuel')) === '15000.0');
  }
  await card.locator('button', { hasText: 'Undock' }).click();
  await until('free', async () => /Distance/.test(await card.innerText()));
  await until('the store', async () => !(await stored(ship, 'docked_station_id')));
  await clean(page);
});

test('keys turn the ship while they are held; modes are kept by the tick', async () => {
  const page = await guest();
  const ship = await shipOf(page);
  await page.keyboard.down('ArrowUp');
  await until('a turn', async () => (await stored(ship, 'rotation_input')) === '[-1.0, 0.0, 0.0]');
  await page.keyboard.up('ArrowUp');
  await until('no turn', async () => (await stored(ship, 'rotation_input')) === '[0.0, 0.0, 0.0]');
  for (const [name, word] of [
    ['Prograde', 'prograde'],
    ['Radial out', 'radial'],
    ['Target', 'target'],
    ['Brake', 'target_retrograde'],
    ['Hold', 'hold'],
  ]) {
    await mode(page, name).click();
    await until(name, async () => (await pressed(mode(page, name))) === 'true');
    assert.equal(await stored(ship, 'attitude_mode'), word);
  }
  await mode(page, 'Prograde').click();
  await until('it points ahead', async () => (await pressed(mode(page, 'Prograde'))) === 'true');
  await page.waitForTimeout(6000);
  await shot(page, 'pilot-prograde');
  await clean(page);
});

test('a name is given, a second ship is taken, and a reload comes back to it', async () => {
  const page = await guest();
  const ship = await shipOf(page);
  await page.locator('[aria-label="Rename"]').click();
  await page.locator('dialog input').fill('Wren 2');
  await page.locator('dialog .btn.primary').click();
  await until('its name', async () => (await page.locator('h1').innerText()) === 'Wren 2');
  assert.equal(await stored(ship, 'name'), 'Wren 2');
  await page.locator('[aria-label="Switch ship"]').click();
  await page.locator('[role=menu] button', { hasText: 'New ship' }).click();
  await page.locator('dialog input').fill('Heron');
  await page.locator('dialog .btn.primary').click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.locator('[aria-label="Switch ship"]').click();
  await page.locator('[role=menu] button', { hasText: 'Heron' }).click();
  await until('the other ship', async () => (await page.locator('h1').innerText()) === 'Heron');
  await page.reload();
  await until('no door', async () => (await page.locator('h1').innerText()) === 'Heron');
  await page.locator('[aria-label="Log out"]').click();
  assert.match(await page.locator('dialog').innerText(), /nobody can come back/);
  await page.locator('dialog .btn.danger').click();
  await page.locator('.door').waitFor();
  assert.equal(await account(page), null);
  await clean(page);
});

test('a guest takes a password, changes it, and logging out ends the token', async () => {
  const page = await guest({ allow: ['401'] });
  const first = await account(page);
  const dialog = page.locator('dialog');
  await page.locator('[aria-label="Change password"]').click();
  assert.equal(await dialog.locator('input').count(), 1, 'a guest knows no old one');
  await page.waitForTimeout(200);
  await shot(page, 'pilot-password');
  await dialog.locator('input').fill('a long password');
  await dialog.locator('.btn.primary').click();
  await dialog.waitFor({ state: 'detached' });
  await until('the seat', async () => (await page.locator('.facts2').innerText()).includes('km/s'));
  const second = await account(page);
  assert.equal(second.guest, undefined, 'no password is kept');
  const fleet = (token) =>
    fetch(`${server.url}/api/fleet`, { headers: { Authorization: `Bearer ${token}` } }).then((a) => a.status);
  assert.equal(await fleet(first.token), 401);
  assert.equal(await fleet(second.token), 200);
  await page.locator('[aria-label="Change password"]').click();
  await dialog.locator('input').nth(0).fill('not the old one');
  await dialog.locator('input').nth(1).fill('another long one');
  await dialog.locator('.btn.primary').click();
  await until('the reason', async () => /old password is wrong/.test(await dialog.innerText()));
  await dialog.locator('input').nth(0).fill('a long password');
  await dialog.locator('.btn.primary').click();
  await dialog.waitFor({ state: 'detached' });
  await until('the seat', async () => (await page.locator('.facts2').innerText()).includes('km/s'));
  const third = await account(page);
  assert.equal(await fleet(second.token), 401);
  await page.locator('[aria-label="Log out"]').click();
  await dialog.locator('.btn.primary').click();
  await page.locator('.door').waitFor();
  assert.equal(await fleet(third.token), 401);
  assert.equal(await account(page), null);
  await clean(page);
});

test('the door refuses with a reason, and takes a name of one’s own', async () => {
  const page = await open(browser, server, '/fly', { allow: ['401'] });
  await page.locator('summary').click();
  const [name, word] = [page.locator('.door input').nth(0), page.locator('.door input').nth(1)];
  await name.fill('a b');
  await word.fill('short');
  await page.locator('.door button', { hasText: 'Log in' }).click();
  assert.match(await page.locator('.door').innerText(), /You wrote a b\.[\s\S]*at least 8/);
  await name.fill('pilot_1');
  await word.fill('a long password');
  await page.locator('.door button', { hasText: 'Log in' }).click();
  await until('the reason', async () => /wrong/.test(await page.locator('.door [role=alert]').innerText()));
  await page.locator('.door button', { hasText: 'Make an account' }).click();
  await until('the seat', async () => (await page.locator('.facts2').innerText()).includes('km/s'));
  assert.equal((await account(page)).guest, undefined, 'no password is kept');
  await clean(page);
});

test('an operator sees who flies and closes registrations; the door says so to the next', async () => {
  const pilot = await guest();
  const { username } = await account(pilot);
  const page = await open(browser, server, '/galaxy');
  await page.locator('.gxbar [aria-haspopup=menu]').click();
  await page.locator('[role=menu] button', { hasText: 'Players' }).click();
  const drawer = page.locator('wk-drawer');
  const line = drawer.locator('li', { hasText: username });
  await until('the pilot is online', async () => /online/.test(await line.innerText()));
  await shot(page, 'galaxy-players');
  await drawer.locator('button', { hasText: 'Close registrations' }).click();
  await until('closed', async () => (await call('GET', '/api/status')).registration_open === false);
  const late = await open(browser, server, '/fly', { allow: ['403'] });
  await late.locator('.door .btn.primary').click();
  await until('the reason', async () => /closed/.test(await late.locator('.door [role=alert]').innerText()));
  await drawer.locator('button', { hasText: 'Open registrations' }).click();
  await until('open', async () => (await call('GET', '/api/status')).registration_open === true);
  await late.locator('.door .btn.primary').click();
  await until('the seat', async () => (await late.locator('.facts2').innerText()).includes('km/s'));
  for (const p of [pilot, page, late]) await clean(p);
});

test('while time is paused the pilot is told', async () => {
  const page = await guest();
  await call('POST', '/api/admin/game/pause');
  await until('it says so', async () => /Time is paused/.test(await page.locator('.contact').innerText()));
  await call('POST', '/api/admin/game/resume');
  await until('it goes on', async () => !(await page.locator('.contact').innerText()));
  await clean(page);
});

test('names, contrast, French, and a phone under two thumbs', async () => {
  const page = await guest({ lang: 'fr-FR', width: 1440, height: 860 });
  assert.match(await page.locator('.facts2').innerText(), /Altitude[\s\S]*Vitesse[\s\S]*Montée/);
  assert.deepEqual(await nameFaults(page, { nav: false }), []);
  assert.deepEqual(await contrastFaults(page), []);
  await shot(page, 'pilot-fr');
  const ship = await shipOf(page);
  for (const [width, height] of [
    [1024, 768],
    [390, 844],
    [360, 740],
  ]) {
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(200);
    assert.ok((await sideways(page)) <= 0, `${width}`);
    assert.deepEqual(await nameFaults(page, { nav: false }), [], `${width}`);
    if (width === 390) await shot(page, 'pilot-phone');
  }
  const box = await page.locator('.ball').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 4, box.y + box.height / 2, { steps: 3 });
  await until('it turns left', async () => /^\[0\.0, 1\.0,/.test(await stored(ship, 'rotation_input')));
  await page.mouse.up();
  await until('it rests', async () => (await stored(ship, 'rotation_input')) === '[0.0, 0.0, 0.0]');
  await page.locator('[aria-label="English"]').click();
  await until('English', async () => /Height/.test(await page.locator('.facts2').innerText()));
  await clean(page);
});

// Last: it stops the server under the others.
test('a lost line locks the controls and says so; the same ship is flown when it is back', async () => {
  const page = await guest({ allow: ['WebSocket', 'ERR_CONNECTION_REFUSED', 'Failed to load resource'] });
  const ship = await shipOf(page);
  await server.down();
  await until('it says so', async () => /no contact/.test(await page.locator('.contact').innerText()));
  await until('the lever is locked', () => page.locator('.lever input').isDisabled());
  await until('the modes are locked', () => mode(page, 'Prograde').isDisabled());
  await shot(page, 'pilot-lost');
  await server.up();
  await until('contact', async () => !(await page.locator('.contact').innerText()), 30000);
  assert.equal(await shipOf(page), ship);
  await page.keyboard.press('w');
  await until('it flies', async () => (await stored(ship, 'thrust_level')) === '0.05');
  await clean(page);
});
