// The page of the API: every call of /openapi.json, found, opened, linked and read on a phone.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, open, Server, shot } from './kit.mjs';

let browser;
let server;
before(async () => {
  [browser, server] = await Promise.all([launch(), Server.start({})]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test('every call is listed; the filter narrows; a call opens and has an address', async () => {
  const document = await (await fetch(`${server.url}/openapi.json`)).json();
  const methods = ['get', 'post', 'put', 'patch', 'delete'];
  const calls = Object.values(document.paths).reduce((n, item) => n + methods.filter((one) => item[one]).length, 0);
  const page = await open(browser, server, '/docs');
  await page.waitForSelector('.call');
  assert.equal(await page.locator('.call').count(), calls);
  await page.fill('input[type=search]', 'post /api/jobs');
  const found = page.locator('.call', { has: page.locator('.path', { hasText: /^\/api\/jobs$/ }) });
  assert.equal(await found.count(), 1);
  assert.ok((await page.locator('.call').count()) < 20);
  await found.locator('summary').click();
  await found.locator('b', { hasText: /^payload$/ }).waitFor();
  assert.match(await found.locator('pre').innerText(), /^curl -X POST .*\/api\/jobs'$/);
  assert.match(page.url(), /#post-\/api\/jobs$/);
  await page.reload();
  await page.locator('.call[open] .inside').waitFor();
  await page.fill('input[type=search]', 'no such call');
  await page.locator('text=No call matches.').waitFor();
  assert.deepEqual(await page.done(), []);
});

test('a phone reads it without scrolling sideways, and gets back to the dashboard', async () => {
  const page = await open(browser, server, '/docs#get-/api/jobs', { width: 360, height: 740 });
  await page.locator('.call[open] .inside').waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0);
  await shot(page, 'docs-phone');
  await page.click('a[href="/"]');
  await page.waitForSelector('.barlist, .tiles, h1');
  assert.deepEqual(await page.done(), []);
});
