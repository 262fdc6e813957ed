// When the store goes away under a living server: the page says so, keeps what it had with its age, and heals. And who
// may do what: a reader sees no actions, a stranger gets the login view.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, open, Server, shot, until } from './kit.mjs';

const TOKEN = `wk_${'a'.repeat(43)}`;
let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

test('a store that goes away turns the banner red and comes back by itself', async () => {
  const server = await Server.start({ store: 'redis' });
  try {
    const page = await open(browser, server, '/', { allow: ['503', 'WebSocket', 'Failed to load resource'] });
    await page.waitForSelector('.barlist');
    await server.redisDown();
    await page
      .locator('.banner.bad', { hasText: 'The store does not answer. What you see is from' })
      .waitFor({ timeout: 15000 });
    assert.equal(await page.locator('h1').innerText(), 'The store is away');
    assert.ok(await page.locator('.barlist').isVisible(), 'what was shown stays');
    await shot(page, 'store-away');
    await page.click('.side a[href="/health"]');
    await until(
      'the health page to say it',
      async () => (await page.locator('h1').innerText()) === 'The store does not answer',
    );
    await page.locator('.healthy.bad', { hasText: 'Not ready' }).waitFor();
    await shot(page, 'health-away');
    await server.redisUp();
    await page.locator('.healthy', { hasText: 'Ready for requests' }).waitFor({ timeout: 15000 });
    await page.locator('.banner.bad').waitFor({ state: 'detached', timeout: 10000 });
    assert.deepEqual(await page.done(), []);
  } finally {
    await server.stop();
  }
});

test('a stranger logs in with a token; a reader sees no actions; leaving shows the login again', async () => {
  const server = await Server.start({ env: { WORLDKEEP_ADMIN_TOKEN: TOKEN, WORLDKEEP_LOOPBACK_ADMIN: 'false' } });
  try {
    const made = await fetch(`${server.url}/api/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'watcher', role: 'reader' }),
    });
    assert.ok(made.ok, `${made.status} ${await made.clone().text()}`);
    const reader = (await made.json()).token;
    const page = await open(browser, server, '/check', { allow: ['401', 'Failed to load resource', 'WebSocket'] });
    await page.locator('input[type=password]').fill('nonsense');
    await page.keyboard.press('Enter');
    await page.locator('.field.wrong', { hasText: 'starts with wk_' }).waitFor();
    await page.locator('input[type=password]').fill(`wk_${'b'.repeat(43)}`);
    await page.keyboard.press('Enter');
    await page.locator('.field.wrong', { hasText: 'not known' }).waitFor();
    await shot(page, 'login');
    await page.locator('input[type=password]').fill(reader);
    await page.keyboard.press('Enter');
    await page.locator('.foot', { hasText: 'read only' }).waitFor();
    await page.waitForSelector('.livestate:visible .dot.ok');
    assert.ok(page.url().endsWith('/check'), 'back where one wanted to go');
    await page.locator('text=Your role is read only').waitFor();
    assert.equal(await page.locator('button', { hasText: 'Run' }).count(), 0, 'actions are absent');
    assert.equal(await page.evaluate(() => document.cookie), '', 'no script can read the cookie');
    assert.equal(
      await page.evaluate(
        (secret) =>
          Object.values({ ...localStorage, ...sessionStorage })
            .join(' ')
            .includes(secret),
        reader,
      ),
      false,
    );
    await shot(page, 'reader-check');
    await page.click('.foot button[aria-label="Log out"]');
    await page.locator('input[type=password]').waitFor();
    await page.reload();
    await page.locator('input[type=password]').waitFor();
    assert.deepEqual(await page.done(), []);
  } finally {
    await server.stop();
  }
});
