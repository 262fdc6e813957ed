// What the tests of the party game share: devices with a context of their own, and what people do on them.
import assert from 'node:assert/strict';
import { until, webFile } from './kit.mjs';

const { path } = await import(webFile('party/qr.js'));

const PHONE = { width: 390, height: 844 };

/** A device: a context with one page that writes down what it must not do. `line` can be cut and given back. */
export async function device(
  browser,
  server,
  at,
  { size = PHONE, scheme = 'dark', lang = 'en-GB', motion = 'reduce', held = false } = {},
) {
  const context = await browser.newContext({
    viewport: size,
    colorScheme: scheme,
    locale: lang,
    reducedMotion: motion,
  });
  const page = await context.newPage();
  const wrong = [];
  // Reels open in tabs of their own; nobody looks at them here.
  context.on('page', (p) => p !== page && p.close().catch(() => null));
  page.on('console', (m) => {
    if (['error', 'warning'].includes(m.type()) && !/WebSocket|ERR_CONNECTION_REFUSED|ERR_INTERNET/.test(m.text()))
      wrong.push(`${m.type()}: ${m.text()}`);
  });
  page.on('pageerror', (e) => wrong.push(e.stack || e.message));
  await page.addInitScript(() => {
    window.wkViolations = [];
    document.addEventListener('securitypolicyviolation', (e) =>
      window.wkViolations.push(`${e.violatedDirective} ${e.blockedURI}`),
    );
  });
  const line = { down: false, open: null };
  if (held)
    await page.routeWebSocket(/\/ws\/rooms$/, (ws) => {
      if (line.down) {
        ws.close({ code: 1001 });
        return;
      }
      ws.connectToServer();
      line.open = ws;
    });
  page.setDefaultTimeout(60000);
  await page.goto(server.url + at);
  await page.waitForSelector('h1:not(:empty)');
  page.line = {
    cut: async () => {
      line.down = true;
      await line.open.close({ code: 1001 });
    },
    back: () => {
      line.down = false;
    },
  };
  page.done = async () => {
    const list = [...wrong, ...(await page.evaluate(() => window.wkViolations))];
    await context.close();
    return list;
  };
  return page;
}

export const title = (page) => page.locator('h1').innerText();
export const titled = (page, words) =>
  until(`"${words}" on ${page.url()}`, async () => (await title(page)).match(words)).catch(async (e) => {
    throw new Error(`${e.message}; it says: ${(await page.locator('body').innerText()).slice(0, 300)}`);
  });

/** What guests are told leads them to the game, typed or scanned; the bare host would be the operators' login. */
async function invites(master, code) {
  const { host, origin } = new URL(master.url());
  assert.equal(await master.locator('.scan b').innerText(), `${host}/play`);
  assert.equal(await master.locator('.qr path').getAttribute('d'), path(`${origin}/r/${code}`).d);
  for (const at of ['/play', `/r/${code}`]) assert.match(await (await fetch(origin + at)).text(), /\/party\/play\.js/);
}

/** Types the game into the setup of the big screen and creates the room; gives its code. */
export async function createRoom(master, lines) {
  await master.locator('.btn', { hasText: 'New game' }).click();
  await master.locator('textarea').fill(lines.join('\n'));
  await master.locator('.btn', { hasText: 'Add these lines' }).click();
  await master.locator('.peoplelist').waitFor();
  return async (rounds) => {
    const now = () => master.locator('.stepper .count').innerText().then(Number);
    for (let n = await now(); n !== rounds; n = await now())
      await master
        .locator('.stepper .btn')
        .nth(n < rounds ? 1 : 0)
        .click();
    await master.locator('.btn.primary', { hasText: 'Create room' }).click();
    await master.waitForURL(/\/party\/[A-Z2-9]{8}$/);
    await master.locator('.bigcode').waitFor();
    const code = master.url().slice(-8);
    await invites(master, code);
    return code;
  };
}

export const seat = (page, name) => page.locator('.seats .seat', { hasText: name });
export const tile = (page, name) => page.locator('.grid .tile', { hasText: name });

export async function choose(page, names) {
  await page.locator('.grid .tile').first().waitFor();
  for (const name of names) await tile(page, name).click();
}
export async function vote(page, names) {
  await choose(page, names);
  await page.locator('.foot .btn.primary').click();
  const more = page.locator('dialog[open] .btn.primary');
  if (await page.locator('dialog[open]').count()) await more.click();
}
/** The state as a page sees it, from the server. */
export const stateOf = (server, code, key) =>
  fetch(`${server.url}/api/rooms/${code}/state`, { headers: key ? { authorization: `Bearer ${key}` } : {} }).then((r) =>
    r.json(),
  );
export const keyOf = (master, code) =>
  master.evaluate((c) => JSON.parse(localStorage.getItem('wk.party.masters'))[c].key, code);
