// The shared parts by themselves, built inside a real page under the real policy: table, chips, dialog, toast, field,
// charts, canvas and its twin, numbers, error dialects. Also draws the gallery that is compared with the pictures by eye.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, open, Server, shot } from './kit.mjs';

let server;
let browser;
let page;

before(async () => {
  server = await Server.start();
  browser = await launch();
  page = await open(browser, server, '/health');
  await page.waitForSelector('.verdicts b');
  await recipes();
});

after(async () => {
  const wrong = await page?.done();
  await browser?.close();
  await server?.stop();
  assert.deepEqual(wrong, []);
});

/** Empties the view, runs `build(host, load)` in the page with the modules it names. */
const inPage = (names, build) =>
  page.evaluate(
    async ([list, source]) => {
      const m = Object.assign({}, ...(await Promise.all(list.map((name) => import(name)))));
      let host = document.getElementById('bench');
      host?.remove();
      host = document.createElement('div');
      host.id = 'bench';
      host.className = 'stack';
      document.querySelector('.view').prepend(host);
      window.bench = { host, m };
      // The policy forbids eval, so the caller sends plain data and this page knows the recipes.
      return window.recipes[source](host, m);
    },
    [names, build],
  );

/** What the tests build, known to the page by name. */
const recipes = () =>
  page.evaluate(() => {
    window.recipes = {
      table(host, { h }) {
        const rows = Array.from({ length: 120 }, (_, i) => ({ id: `r${i}`, n: (i * 37) % 120, name: `row ${i}` }));
        window.opened = [];
        const table = document.createElement('wk-table').setup({
          label: 'Rows',
          key: (r) => r.id,
          open: (r) => window.opened.push(r.id),
          columns: [
            { id: 'name', name: 'Name', sort: true },
            { id: 'n', name: 'Number', num: true, sort: (r) => r.n },
          ],
          actions: [{ label: 'Retry', icon: 'loop', run: (picked) => (window.acted = picked.map((r) => r.id)) }],
        });
        host.append(h('div.card.flush', {}, table));
        table.show(rows.slice(0, 50));
      },
      paged(host, { h }) {
        const table = document.createElement('wk-table').setup({
          label: 'Pages',
          key: (r) => r.id,
          columns: [{ id: 'id', name: 'Id' }],
          load: async ({ cursor }) => {
            const from = Number(cursor || 0);
            return {
              items: Array.from({ length: 50 }, (_, i) => ({ id: `p${from + i}` })),
              cursor: from + 50 < 150 ? String(from + 50) : null,
            };
          },
        });
        host.append(h('div.card.flush', {}, table));
        return table.reload();
      },
      dialog(_host, { ask }) {
        window.answer = ask({
          title: 'Delete 214 jobs?',
          say: 'All are of type email.',
          command: 'worldkeep jobs rm --type email',
          verb: 'Delete 214 jobs',
          keep: 'Keep them',
          count: 214,
          run: async () => (window.deleted = true),
        });
      },
      toast(_host, { toast }) {
        toast('214 jobs sent back to the queue', { action: 'Undo', run: () => (window.undone = true) });
      },
      field(host, { field }) {
        host.append(
          field({
            label: 'Cron',
            hint: 'five parts',
            value: '',
            check: (v) => (/^0 2[0-3] /.test(v) ? null : 'Hour goes from 0 to 23. You wrote 25.'),
          }),
        );
      },
      line(host, { h, asTable }) {
        const chart = h('wk-line');
        chart.style.height = '14rem';
        const points = (k) => Array.from({ length: 60 }, (_, i) => (i === 20 ? null : 400 + 200 * Math.sin(i / 6 + k)));
        host.append(
          h(
            'section.card',
            {},
            h('header', {}, h('h2', {}, 'Steps per second'), h('span.end', {}, asTable(chart))),
            chart,
          ),
        );
        chart.set({
          at: Array.from({ length: 60 }, (_, i) => 1.7e12 + i * 15000),
          label: 'Steps per second',
          series: ['jobs', 'galaxy', 'monsters', 'rooms', 'reactors'].map((module, k) => ({
            id: module,
            module,
            name: module,
            points: points(k),
          })),
        });
      },
      canvas(host) {
        window.drawn = 0;
        const canvas = document.createElement('wk-canvas').setup({
          label: 'Map',
          draw: (ctx, { w, color }) => {
            window.drawn += 1;
            ctx.fillStyle = color('--accent');
            ctx.fillRect(0, 0, w / 2, 20);
          },
        });
        canvas.style.height = '60px';
        const items = ['Wren', 'Heron', 'Tern'].map((id) => ({ id }));
        const twin = document
          .createElement('wk-twin')
          .setup({ label: 'Ships', key: (x) => x.id, name: (x) => x.id, pick: (x) => (window.picked = x.id) });
        host.append(canvas, twin);
        twin.show(items);
        for (let i = 0; i < 200; i += 1) canvas.touch();
      },
      gallery(host, { h, button, badge, empty, skeleton, field, icon }) {
        const kinds = ['waiting', 'active', 'delayed', 'cron', 'completed', 'failed', 'dead', 'paused'];
        const busy = button({ label: 'Run now', kind: 'primary', run: () => new Promise(() => {}) });
        const wrong = field({ label: 'Cron', value: '0 25 * * *' });
        const tile = document.createElement('wk-tile');
        const stale = document.createElement('wk-tile');
        host.append(
          h(
            'div.card.row',
            {},
            button({ label: 'Run now', kind: 'primary' }),
            busy,
            button({ label: 'Pause' }),
            button({ label: 'Pause', reason: 'It is paused already.' }),
            button({ label: 'Columns', kind: 'quiet' }),
            button({ label: 'Cancel job', kind: 'danger' }),
          ),
          h(
            'div.card.row',
            {},
            kinds.map((k) => badge(k)),
          ),
          h('div.tiles', {}, tile, stale, h('div.card', {}, skeleton(3))),
          h(
            'div.card',
            {},
            empty({
              glyph: 'jobs',
              title: 'No jobs yet',
              say: 'Send one from here or from your program.',
              action: button({ label: 'New job', icon: 'plus', kind: 'primary' }),
            }),
          ),
          h(
            'div.banner',
            {},
            icon('clock'),
            h('span.text', {}, 'Live updates paused. Trying again in 4 s.'),
            button({ label: 'Try now', small: true }),
          ),
          h('div.banner.bad', {}, icon('warn'), 'The store does not answer. What you see is from 14:31.'),
          h('div.banner.ok', {}, icon('tick'), 'Connected again. Nothing was missed.'),
          h('div.card', {}, wrong),
        );
        const points = Array.from({ length: 80 }, (_, i) => 1200 + 90 * Math.sin(i / 5) + (i % 7) * 12);
        tile.set({ module: 'jobs', name: 'Jobs', value: 1284, unit: 'waiting', line: '32 running', points });
        stale.set({
          module: 'rooms',
          name: 'Rooms',
          value: 38,
          unit: 'open',
          line: '241 phones',
          points,
          staleMs: 40000,
        });
        wrong.error('Hour goes from 0 to 23. You wrote 25.');
        busy.click();
      },
    };
  });

const BASE = [
  '/base/dom.js',
  '/base/parts.js',
  '/base/overlay.js',
  '/base/table.js',
  '/base/charts.js',
  '/base/canvas.js',
];

test('a table sorts by its heads and says so', async () => {
  await inPage(BASE, 'table');
  const head = page.locator('#bench th', { hasText: 'Number' });
  assert.equal(await head.getAttribute('aria-sort'), 'none');
  await head.locator('button').click();
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  const numbers = () => page.locator('#bench tbody td.num').allInnerTexts();
  const up = (await numbers()).map(Number);
  assert.deepEqual(
    up,
    [...up].sort((a, b) => a - b),
  );
  await head.locator('button').click();
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  const down = (await numbers()).map(Number);
  assert.deepEqual(
    down,
    [...down].sort((a, b) => b - a),
  );
});

test('rows are walked, selected and opened by keyboard, and the bulk bar counts them', async () => {
  await inPage(BASE, 'table');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.keyboard.press('k');
  await page.keyboard.press('Enter');
  assert.deepEqual(await page.evaluate(() => window.opened), ['r1']);
  assert.equal(await page.locator('#bench tr[aria-selected=true]').count(), 2);
  assert.ok((await page.locator('.bulk').innerText()).includes('2 selected'));
  assert.ok(
    await page.locator('.bulk').evaluate((el) => el.getBoundingClientRect().bottom <= innerHeight),
    'the bar is in view',
  );
  await shot(page, 'part-table');
  await page.locator('.bulk button', { hasText: 'Retry' }).click();
  assert.deepEqual(await page.evaluate(() => window.acted), ['r0', 'r2']);
  await page.locator('#bench thead input').check();
  assert.ok((await page.locator('.bulk').innerText()).includes('50 selected'));
  await page.locator('.bulk button[aria-label="Clear the selection"]').click();
  assert.equal(await page.locator('.bulk').isVisible(), false);
});

test('a long list comes page by page, by cursor', async () => {
  await inPage(BASE, 'paged');
  assert.equal(await page.locator('#bench tbody tr').count(), 50);
  await page.locator('#bench .more button').click();
  await page.locator('#bench tbody tr').nth(99).waitFor();
  await page.locator('#bench .more button').click();
  await page.locator('#bench tbody tr').nth(149).waitFor();
  assert.equal(await page.locator('#bench .more').isVisible(), false);
});

test('a dialog over a hundred objects wants the number typed; Esc keeps everything', async () => {
  await inPage(BASE, 'dialog');
  const dialog = page.locator('dialog[open]');
  await dialog.locator('button', { hasText: 'Delete 214 jobs' }).click();
  await page.locator('dialog .field.wrong').waitFor();
  assert.equal(await page.evaluate(() => window.deleted), undefined);
  await page.waitForTimeout(250);
  await shot(page, 'part-dialog');
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => window.answer), false);
  await inPage(BASE, 'dialog');
  await page.locator('dialog input').fill('214');
  await page.locator('dialog button', { hasText: 'Delete 214 jobs' }).click();
  assert.equal(await page.evaluate(() => window.answer), true);
  assert.equal(await page.evaluate(() => window.deleted), true);
});

test('a toast is a status and offers to undo', async () => {
  await inPage(BASE, 'toast');
  assert.equal(await page.locator('.toasts').getAttribute('role'), 'status');
  await page.locator('.toast button', { hasText: 'Undo' }).click();
  assert.equal(await page.evaluate(() => window.undone), true);
  assert.equal(await page.locator('.toast').count(), 0);
});

test('a field is checked on leaving, and the error stands where the hint was', async () => {
  await inPage(BASE, 'field');
  const input = page.locator('#bench input');
  await input.fill('0 25 * * *');
  assert.equal(await page.locator('#bench .wrong').count(), 0, 'not while typing');
  await input.blur();
  await page.locator('#bench .wrong', { hasText: 'Hour goes from 0 to 23' }).waitFor();
  assert.equal(await input.getAttribute('aria-invalid'), 'true');
  await input.fill('0 21 * * *');
  assert.equal(await page.locator('#bench .wrong').count(), 0);
});

test('a chart is read by arrows and can be shown as a table; missing data is a gap', async () => {
  await inPage(BASE, 'line');
  assert.equal(await page.locator('#bench path.series').count(), 5);
  assert.ok(
    (await page.locator('#bench path.series').first().getAttribute('d')).match(/M/g).length === 2,
    'a gap lifts the pen',
  );
  await page.locator('#bench svg[role=img]').focus();
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  assert.ok(await page.locator('#bench .readout').isVisible());
  assert.equal(await page.locator('#bench .ringmark').count(), 5);
  await shot(page, 'part-line');
  await page.locator('#bench button', { hasText: 'Show as table' }).click();
  assert.equal(await page.locator('#bench tbody tr').count(), 60);
});

test('a canvas draws when asked and not more than thirty times a second; its twin drives the selection', async () => {
  await inPage(BASE, 'canvas');
  await page.waitForTimeout(300);
  const drawn = await page.evaluate(() => window.drawn);
  assert.ok(drawn >= 1 && drawn <= 10, `${drawn} drawings`);
  const box = page.locator('#bench [role=listbox]');
  await box.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(() => window.picked), 'Heron');
  assert.equal(
    await box.getAttribute('aria-activedescendant'),
    await page.locator('#bench [aria-selected=true]').getAttribute('id'),
  );
});

test('the gallery of parts, light and dark', async () => {
  await inPage(BASE, 'gallery');
  await page.waitForTimeout(300);
  await page.setViewportSize({ width: 1440, height: 1100 });
  await shot(page, 'parts-light');
  assert.equal(await page.locator('#bench .btn[aria-busy=true]').innerText(), 'Running…');
  await page.evaluate(() => window.wkTheme.set('dark'));
  await shot(page, 'parts-dark');
  await page.evaluate(() => window.wkTheme.set('light'));
  await page.setViewportSize({ width: 1440, height: 900 });
});

test('numbers, sizes, times and ids are written as agreed, in both languages', async () => {
  const said = await page.evaluate(async () => {
    const f = await import('/base/format.js');
    const i18n = await import('/base/i18n.js');
    const all = () => [
      f.num(198335),
      f.num(0.412),
      f.num(-1234.5, 1),
      f.bytes(41234567),
      f.bytes(696),
      f.ms(0.038),
      f.ms(0.41),
      f.ms(212),
      f.ms(3400),
      f.age(3000),
      f.age(123000),
      f.age(35460000),
      f.age(6 * 86400000),
      f.shortId('86fc0e88-c832-4c43-b5a5-5ef9f808fc97'),
    ];
    const en = all();
    await i18n.use('fr');
    const fr = all();
    await i18n.use('en');
    return { en, fr };
  });
  const thin = (list) => list.map((x) => x.replace(/\u202f/g, ' '));
  assert.deepEqual(thin(said.en), [
    '198 335',
    '0.412',
    '−1 234.5',
    '41.2 MB',
    '696 B',
    '38 µs',
    '0.41 ms',
    '212 ms',
    '3.4 s',
    '3 s',
    '2 m 03 s',
    '9 h 51 m',
    '6 d',
    '86fc…fc97',
  ]);
  assert.deepEqual(thin(said.fr).slice(0, 5), ['198 335', '0,412', '−1 234,5', '41,2 Mo', '696 o']);
  assert.deepEqual(thin(said.fr).slice(10, 13), ['2 min 03 s', '9 h 51 min', '6 j']);
});

test('the three dialects of errors become one shape', async () => {
  const read = await page.evaluate(async () => {
    const { readError } = await import('/base/api.js');
    const pick = (e) => [e.status, e.code, e.message, e.field];
    return [
      pick(
        readError(400, { error: { code: 'bad_field', message: 'the hour is 25', field: 'cron', request_id: 'r1' } }),
      ),
      pick(readError(409, { error: 'conflict', message: 'taken_now' })),
      pick(readError(404, { error: 'not_found', message: 'room_not_found', says: 'no room has this code' })),
      pick(
        readError(409, {
          errors: [{ status: '409', code: 'ON_COOLDOWN', detail: 'back in 3 s', source: { pointer: '/data/x' } }],
        }),
      ),
      pick(readError(502, null)),
    ];
  });
  assert.deepEqual(read, [
    [400, 'bad_field', 'the hour is 25', 'cron'],
    [409, 'conflict', 'taken_now', null],
    [404, 'not_found', 'no room has this code', null],
    [409, 'ON_COOLDOWN', 'back in 3 s', '/data/x'],
    [502, '502', 'HTTP 502', null],
  ]);
});

test('keys are explained by their pattern, and stored JSON keeps the spelling of its numbers', async () => {
  const got = await page.evaluate(async () => {
    const k = await import('/base/keyview.js');
    await (await import('/base/i18n.js')).need(['keys']);
    const shown = k.jsonView('{"hp":1.50,"id":10000000000000000001,"x":[],"o":{}}');
    return {
      parts: k
        .segments('room:ABCD2345:votes:r2:i:3', 'room:{code}:votes:{round}:{item}')
        .map((p) => `${p.part}=${p.means}`),
      text: [shown].flat()[0].textContent,
      hex: k.hexdump('hé'),
    };
  });
  assert.deepEqual(got.parts, ['room=module', 'ABCD2345=code', 'votes=', 'r2=round', 'i:3=item']);
  assert.equal(got.text, '{\n  "hp": 1.50,\n  "id": 10000000000000000001,\n  "x": [],\n  "o": {}\n}');
  assert.match(got.hex, /^000000 {2}68 c3 a9/);
});
