// The pages of jobs: their pure parts without a browser, then all of them in a real Chromium against a real server.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, noBrowser, open, Server, shot, sideways, until, webFile } from './kit.mjs';

noBrowser();
const load = (name) => import(webFile('pages/jobs', name));

test('a life is read from the events of a job', async () => {
  const { life } = await load('timeline.js');
  const e = (type, at, body = {}) => ({ type, at, body });
  const events = [
    e('dispatched', 0),
    e('claimed', 300, { worker: 'eu-2' }),
    e('retried', 10300, { error: 'SmtpTimeout' }),
    e('promoted', 12300),
    e('claimed', 12400, { worker: 'eu-1' }),
  ];
  const { spans, tries } = life(events, 20000, { from: 12400, worker: 'eu-1' });
  assert.deepEqual(
    spans.map((s) => [s.kind, s.to - s.from]),
    [
      ['waiting', 300],
      ['failed', 10000],
      ['backoff', 2100],
      ['active', 7600],
    ],
  );
  assert.deepEqual(
    tries.map((x) => [x.n, x.worker, x.outcome, x.waited]),
    [
      [1, 'eu-2', 'SmtpTimeout', 300],
      [2, 'eu-1', 'active', 2100],
    ],
  );
  assert.deepEqual(life([], 5, null), { spans: [], tries: [] });
});

test('workers that say the same share a line, those who may come first', async () => {
  const { byVerdict } = await load('explain.js');
  const w = (serverId, matches, sentence, alive = true) => ({ serverId, matches, alive, sentence });
  const lines = byVerdict([w('us-1', false, 'Region.'), w('eu-1', true, 'May.'), w('us-2', false, 'Region.')]);
  assert.deepEqual(
    lines.map((g) => [g.ok, g.ids.join()]),
    [
      [true, 'eu-1'],
      [false, 'us-1,us-2'],
    ],
  );
});

test('a payload has a gist, a time is read as written, delays are counted', async () => {
  const { gist } = await load('dead.js');
  assert.equal(gist({ to: 'list:weekly', n: 3, deep: { a: 1 } }), 'to list:weekly, n 3');
  assert.equal(gist('text'), 'text');
  assert.equal(gist(null), '');
  const { wall } = await load('cron.js');
  assert.equal(wall('2026-03-29T03:30:00+02:00'), '29 Mar 03:30');
  assert.equal(wall('2026-03-29T03:30:15Z'), '29 Mar 03:30:15');
  const { strip } = await load('delayed.js');
  const counts = strip([{ runAt: 1000 }, { runAt: 4000000 }, { runAt: 1e12 }], 0);
  assert.deepEqual(
    counts.map((c) => c.value),
    [1, 0, 1, 0, 0, 1],
  );
});

let server;
let browser;
const PAGES = ['/jobs', '/jobs/types', '/jobs/dead', '/jobs/delayed', '/jobs/cron', '/jobs/workers', '/jobs/doctor'];

async function call(method, at, body) {
  const answer = await fetch(server.url + at, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${at}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}
const dispatch = (job) => call('POST', '/api/jobs', job);

before(async () => {
  server = await Server.start();
  browser = await launch();
  for (let n = 0; n < 4; n += 1) await dispatch({ jobId: `mail-${n}`, type: 'email', payload: { to: `list:${n}` } });
  await dispatch({ jobId: 'thumb', type: 'thumbnail', payload: {}, priority: 8, target: { region: ['eu'] } });
  await dispatch({ jobId: 'later', type: 'email', payload: {}, schedule: { delay: 3600000 } });
  for (const id of ['lost-1', 'lost-2']) {
    await dispatch({ jobId: id, type: 'invoice', payload: { to: 'a@b.c', template: 'invoice' } });
    await call('POST', `/api/jobs/${id}:bury`, {});
  }
  const picture = { jobId: 'picture-of-the-first-page', type: 'picture', target: { region: ['eu'] } };
  await call('POST', '/api/jobs:flow', {
    jobId: 'report-1',
    type: 'report',
    x: { onDependencyFailed: 'wait' },
    children: [
      { jobId: 'page-1', type: 'page', children: [picture] },
      { jobId: 'page-2', type: 'page' },
    ],
  });
  await call('POST', '/api/jobs/page-2:bury', {});
  await call('PUT', '/api/cron/digest', {
    type: 'email',
    payload: {},
    schedule: { cron: '0 18 * * *', timezone: 'Europe/Paris' },
  });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const clean = async (page) => assert.deepEqual(await page.done(), []);
const ready = (page) => page.waitForFunction(() => !document.querySelector('.view .skeleton'));

test('every page of jobs loads clean, wide and narrow, in both languages and themes', async () => {
  for (const [lang, scheme] of [
    ['en-GB', 'light'],
    ['fr-FR', 'dark'],
  ]) {
    const page = await open(browser, server, '/jobs', { lang, scheme });
    for (const at of [...PAGES, '/jobs/job?id=mail-1', '/jobs/job?id=page-1']) {
      await page.goto(server.url + at);
      await page.waitForSelector('h1:not(:empty)');
      await ready(page);
      assert.equal((await page.locator('[aria-current=page]:visible').count()) > 0, true, at);
      const name = at.replace(/\W+/g, '-').slice(1);
      await shot(page, `${name}-${lang.slice(0, 2)}-${scheme}`);
      for (const width of [1024, 768, 390, 320]) {
        await page.setViewportSize({ width, height: 844 });
        assert.ok((await sideways(page)) <= 0, `${at} at ${width} in ${lang}: ${await sideways(page)} px too wide`);
        if (width === 390) await shot(page, `${name}-${lang.slice(0, 2)}-phone`);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      const nameless = await page.evaluate(
        () =>
          [...document.querySelectorAll('button, a[href], input, select, textarea')].filter((el) => {
            const label = el.getAttribute('aria-label') || el.textContent || el.title || '';
            return (
              !label.trim() &&
              !(/** @type {HTMLInputElement} */ (el).labels?.length) &&
              !el.getAttribute('aria-labelledby') &&
              el.offsetParent
            );
          }).length,
      );
      assert.equal(nameless, 0, `${at}: something without a name`);
    }
    await clean(page);
  }
});

test('filters live in the address, and many are cancelled after their count was shown', async () => {
  const page = await open(browser, server, '/jobs?type=email&status=waiting');
  await page.waitForSelector('wk-table tbody tr');
  assert.equal(await page.locator('wk-table tbody tr').count(), 4);
  await page.locator('.filters input[type=search]').fill('list:2');
  await page.waitForURL('**text=list*');
  await until('one row', async () => (await page.locator('wk-table tbody tr').count()) === 1);
  assert.match(await page.locator('wk-echo code').first().innerText(), /jobs ls --type email --status waiting --text/);
  await page.locator('.filters input[type=search]').fill('');
  await until('four rows', async () => (await page.locator('wk-table tbody tr').count()) === 4);
  for (const n of [0, 1]) await page.locator('wk-table tbody input[type=checkbox]').nth(n).check();
  await page.locator('.bulk .btn', { hasText: 'Cancel' }).click();
  await page.waitForSelector('dialog[open]');
  assert.match(await page.locator('dialog h2').innerText(), /Cancel 2 jobs/);
  await shot(page, 'jobs-cancel');
  await page.locator('dialog .btn.danger').click();
  await page.waitForSelector('dialog', { state: 'detached' });
  await until('two rows', async () => (await page.locator('wk-table tbody tr').count()) === 2);
  await clean(page);
});

test('a new job is dispatched from the form, and a bad one says why', async () => {
  const page = await open(browser, server, '/jobs');
  await page.locator('.head .btn.primary').click();
  await page.waitForSelector('dialog[open] textarea');
  await page.locator('dialog input').first().fill('resize');
  await page.locator('dialog textarea').fill('{"w": 1');
  assert.match(await page.locator('dialog .form').innerText(), /not JSON yet/);
  await page.locator('dialog textarea').fill('{"w": 100}');
  assert.match(await page.locator('dialog code.cmd').innerText(), /jobs dispatch resize '\{"w":100\}'/);
  assert.equal(await page.getByLabel('Key', { exact: true }).isVisible(), false);
  await page.getByLabel('Jobs of one key').selectOption('debounce');
  await page.getByLabel('Key', { exact: true }).fill('shop-7');
  await page.getByLabel('Seconds', { exact: true }).fill('60');
  assert.match(await page.locator('dialog code.cmd').innerText(), /--debounce shop-7:60s$/);
  await page.locator('dialog .btn.primary').click();
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.equal((await server.redis('ZCARD', 'bridge:jobs:delayed')).trim(), ':2', 'it waits for a pause');
  await page.locator('.toast button').click();
  await page.waitForURL('**/jobs/job?id=*');
  await until('its title', async () => (await page.locator('h1').innerText()) === 'resize');
  await clean(page);
});

test('how far a running job is can be read whole, wide and narrow', async () => {
  await dispatch({ jobId: 'runs', type: 'report', payload: {} });
  await server.redis('LREM', 'bridge:jobs:waiting', '0', 'runs');
  await server.redis('SADD', 'bridge:jobs:active', 'runs');
  await server.redis('SET', 'bridge:jobs:status:runs', 'active');
  await server.redis('SET', 'bridge:jobs:lock:runs', 'w1', 'EX', '600');
  await server.redis('HSET', 'bridge:x:claimed', 'runs', `${Date.now()} w1`);
  await server.redis(
    'SET',
    'bridge:jobs:progress:runs',
    JSON.stringify({ percent: 62, message: 'page 14 of 22 of the long report' }),
  );
  const page = await open(browser, server, '/jobs?type=report');
  await page.waitForSelector('.howfar');
  for (const width of [1440, 768, 360]) {
    await page.setViewportSize({ width, height: 800 });
    const cut = await page.locator('.howfar').evaluate((el) => {
      const box = el.getBoundingClientRect();
      return [...el.children]
        .map((x) => [x.className, x.getBoundingClientRect()])
        .filter(
          ([, own]) =>
            own.top < box.top - 1 || own.bottom > box.bottom + 1 || own.right > Math.min(box.right, innerWidth) + 1,
        )
        .map(([name]) => name || 'percent');
    });
    assert.deepEqual(cut, [], `at ${width} px`);
  }
  await shot(page, 'jobs-progress');
  await clean(page);
  await server.redis('SREM', 'bridge:jobs:active', 'runs');
  for (const what of ['data', 'status', 'lock', 'progress']) await server.redis('DEL', `bridge:jobs:${what}:runs`);
  await server.redis('HDEL', 'bridge:x:claimed', 'runs');
});

test('a job of a flow shows the tree, and leads through it by keyboard', async () => {
  const page = await open(browser, server, '/jobs/job?id=page-1');
  await page.waitForSelector('.jobtree');
  const rows = await page.locator('.jobtree .treerow').allInnerTexts();
  assert.deepEqual(
    rows.map((text) => text.split(/\s+/).slice(0, 2).join(' ')),
    ['Waiting report', 'Waiting page', 'Waiting picture', 'Dead page'],
  );
  assert.match(rows[0], /waits until a failed child is retried or deleted/);
  assert.match(rows[3], /Buried/);
  assert.equal(await page.locator('.jobtree [aria-current=page]').innerText(), 'page');
  await page.locator('.jobtree a').last().focus();
  // The tree is asked for again every two seconds; what has not changed stays, and with it the focus.
  await page.waitForTimeout(2500);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'page', 'the focus stays');
  await page.keyboard.press('Enter');
  await page.waitForURL('**id=page-2*');
  await until('its badge', async () => /Dead/.test(await page.locator('.head').innerText()));
  await clean(page);
  await call('DELETE', '/api/jobs/page-2');
});

test('a job tells why it does not run', async () => {
  const page = await open(browser, server, '/jobs/job?id=thumb');
  await page.waitForSelector('.facts dd');
  assert.match(await page.locator('.facts').innerText(), /front of the queue/);
  await page.locator('.head .btn', { hasText: 'Explain' }).click();
  await page.waitForSelector('wk-drawer .lead');
  assert.match(await page.locator('wk-drawer').innerText(), /worker/i);
  await shot(page, 'jobs-explain');
  await page.keyboard.press('Escape');
  await page.waitForSelector('wk-drawer', { state: 'detached' });
  // The drawer is filled anew every two seconds while it is open, and used to come back after it was closed.
  await page.waitForTimeout(2500);
  assert.equal(await page.locator('wk-drawer').count(), 0, 'it stays closed');
  await page.goto(`${server.url}/jobs/job?id=never-was`);
  await page.waitForSelector('.empty');
  assert.match(await page.locator('.empty').innerText(), /gone/);
  await page.close();
});

test('dead letters are grouped, edited and requeued', async () => {
  const page = await open(browser, server, '/jobs/dead');
  await page.waitForSelector('.group');
  assert.match(await page.locator('.group').innerText(), /Buried[\s\S]*2 dead/);
  await page.locator('.twistrow').click();
  await page.waitForSelector('.letter');
  assert.equal(await page.locator('.letter').count(), 2);
  assert.match(await page.locator('.letter').first().innerText(), /template invoice/);
  await shot(page, 'dead-letters');
  await page.locator('.letter').first().locator('.btn', { hasText: 'Edit' }).click();
  await page.waitForSelector('dialog[open] textarea');
  await page.locator('dialog textarea').fill('{"to":"fixed@b.c"}');
  await page.locator('dialog .btn.primary').click();
  await page.waitForSelector('dialog', { state: 'detached' });
  await until('one letter', async () => (await page.locator('.letter').count()) === 1);
  await page.locator('.group header .btn', { hasText: 'Requeue 1' }).click();
  await page.locator('dialog .btn.primary').click();
  await page.waitForSelector('.empty');
  const { items } = await call('GET', '/api/jobs?type=invoice&status=waiting');
  assert.equal(items.length, 2);
  await clean(page);
});

test('cron shows its next times in its zone and in UTC, reads a pattern back and fires now', async () => {
  const page = await open(browser, server, '/jobs/cron', { allow: ['400'] });
  await page.waitForSelector('.cronrow');
  assert.match(await page.locator('.cronrow').innerText(), /18:00[\s\S]*Europe\/Paris[\s\S]*UTC/);
  await page.locator('.cronrow .linkish').click();
  await page.waitForSelector('wk-drawer .firings tbody tr');
  assert.equal(await page.locator('wk-drawer .firings tbody tr').count(), 10);
  await shot(page, 'cron-next');
  await page.keyboard.press('Escape');
  await page.locator('.head .btn.primary').click();
  await page.waitForSelector('dialog .preview tbody tr');
  const fields = page.locator('dialog .field input');
  await fields.nth(2).fill('0 25 * * *');
  await page.waitForSelector('dialog .field.wrong');
  await fields.nth(0).fill('hourly');
  await fields.nth(1).fill('email');
  await fields.nth(2).fill('0 * * * *');
  await page.waitForSelector('dialog .preview tbody tr');
  await page.locator('dialog .btn.primary').click();
  await page.waitForSelector('dialog', { state: 'detached' });
  await until('two rows', async () => (await page.locator('.cronrow').count()) === 2);
  await page.locator('.cronrow', { hasText: 'digest' }).locator('.btn').click();
  await page.locator('.toast', { hasText: 'digest was fired' }).waitFor();
  await clean(page);
});

test('a type is paused for a while and resumed', async () => {
  const page = await open(browser, server, '/jobs/types');
  await page.waitForSelector('wk-table tbody tr');
  await page.locator('.head .btn', { hasText: 'Pause' }).click();
  await page.locator('dialog select').first().selectOption('email');
  await page.locator('dialog select').nth(1).selectOption('15m');
  await page.locator('dialog .btn.primary').click();
  await page.waitForSelector('dialog', { state: 'detached' });
  const row = page.locator('wk-table tbody tr', { hasText: 'email' });
  await until('the pause', async () => (await row.innerText()).includes('Paused until'));
  await row.click();
  await page.waitForSelector('wk-drawer');
  await shot(page, 'jobs-type');
  await page.locator('wk-drawer .btn', { hasText: 'Resume' }).click();
  await until('the flow', async () => (await row.innerText()).includes('Flows'));
  await clean(page);
});

test('a type and a group are limited on the page', async () => {
  await server.redis('HSET', 'bridge:x:group_limits', 'acme', '{"concurrency":3}');
  const page = await open(browser, server, '/jobs/types');
  const row = page.locator('wk-table tbody tr', { hasText: 'email' });
  await row.click();
  await page.locator('wk-drawer .btn', { hasText: 'Set a limit' }).click();
  await page.locator('#jobs-limit-most').fill('7');
  await page.locator('dialog .btn.primary').click();
  await page.waitForSelector('dialog', { state: 'detached' });
  await until('the limit', async () => (await row.innerText()).includes('of 7 at once'));
  const group = page.locator('section[aria-label="Groups"] tbody tr', { hasText: 'acme' });
  assert.match(await group.innerText(), /3 at once/);
  await server.redis('DEL', 'bridge:x:limits', 'bridge:x:group_limits');
  await clean(page);
});

test('the doctor finds what is wrong and mends it', async () => {
  await server.redis('RPUSH', 'bridge:jobs:waiting', 'ghost');
  const page = await open(browser, server, '/jobs/doctor');
  await page.locator('.empty .btn').click();
  await page.waitForSelector('.finding');
  await shot(page, 'jobs-doctor');
  await page.locator('.head .btn', { hasText: 'Repair' }).click();
  await page.locator('dialog .btn.primary').click();
  await page.waitForSelector('dialog', { state: 'detached' });
  await page.locator('.head .btn', { hasText: 'Examine again' }).click();
  await until('health', async () => /nothing is wrong/.test(await page.locator('.healthy').innerText()));
  await clean(page);
});
