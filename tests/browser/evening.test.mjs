// A whole evening: a big screen and eight phones play three games in a row. Seats, names and photos go along from game to
// game. On the way a phone is reloaded, another sleeps through the change of rooms, the server is killed, a vote closes by
// its own time, the host is away when the votes are in, and somebody comes late.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, Server, shot, sideways, until } from './kit.mjs';
import { createRoom, device, keyOf, seat, stateOf, tile, title, vote } from './partykit.mjs';

const NAMES = ['Christophe', 'Christine', 'Christian', 'Anna Lena', 'Anna Lisa', 'Maximilian-Alexander M.', 'Zoé'];
const PAIRS = [
  [0, 1],
  [2, 3],
  [4, 5],
  [6, 0],
  [1, 2],
  [3, 4],
];
const TV = { width: 1920, height: 1080 };
const LONG = 90000; // a machine under load is slow; every wait says what it waits for

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const press = (page, words) => page.locator('.btn.primary', { hasText: words }).first().click();
const screenOf = (page) => page.evaluate(() => document.documentElement.dataset.screen);
const shows = (page, ...names) =>
  until(`${names.join(' or ')} on ${page.who}`, async () => names.includes(await screenOf(page)), LONG).catch(
    async (e) => {
      throw new Error(
        `${e.message}; it shows ${await screenOf(page)}: ${(await page.locator('body').innerText()).slice(0, 300)}`,
      );
    },
  );
const says = (page, words) => until(`${words} on ${page.who}`, async () => words.test(await title(page)), LONG);

/** What a page shows is whole: nothing sideways, no name cut. */
async function whole(page, name) {
  await shot(page, `evening-${name}`);
  assert.ok((await sideways(page)) <= 0, `${name} is too wide`);
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll('.cut')]
      .filter(
        (el) => el.checkVisibility() && (el.scrollHeight > el.clientHeight + 2 || el.scrollWidth > el.clientWidth + 2),
      )
      .map((el) => el.textContent),
  );
  assert.deepEqual(cut, [], `${name}: names that are cut`);
}

/** The letters of everybody's marks on a page; each is somebody's own. */
async function toldApart(page, selector) {
  const letters = await page.locator(`${selector} .mark text`).allTextContents();
  assert.equal(new Set(letters).size, letters.length, `${page.who}: ${letters}`);
}

class Evening {
  /** @param {{server: Server, master: any, code: string, key: string}} o */
  constructor({ server, master, code, key }) {
    this.server = server;
    this.master = master;
    this.code = code;
    this.key = key;
    /** Reels that were shown. */
    this.seen = [];
  }

  /** Which people sent the reel that is up, by the server's own account. */
  async truth() {
    const { game } = await stateOf(this.server, this.code, this.key);
    const n = Number(new URL(game.item.reel.url).searchParams.get('reel'));
    this.seen.push(n);
    return PAIRS[n].map((i) => NAMES[i]);
  }

  async show() {
    await shows(this.master, 'idle');
    const right = await this.truth();
    await press(this.master, 'Show the reel');
    await shows(this.master, 'vote');
    return right;
  }

  async onward() {
    await until(
      'the reveal to be told',
      async () => (await this.master.locator('.reveal[data-step=end]').count()) > 0,
      LONG,
    );
    await press(this.master, 'Next');
    await shows(this.master, 'recap');
    const round = await title(this.master);
    await this.master.locator('.recap .btn.primary').click();
    await until('the recap to end', async () => (await title(this.master)) !== round, LONG);
  }

  async votes(phones, right) {
    await Promise.all(
      phones.map(async (p, i) => {
        await shows(p, 'vote');
        await vote(p, i % 3 ? right : right.slice(0, 1));
      }),
    );
  }

  /** What the podium shows is what the server counted, and nobody is missing. */
  async podium(players) {
    await shows(this.master, 'podium');
    const over = await stateOf(this.server, this.code, this.key);
    assert.equal(over.phase, 'over');
    assert.equal(over.ranking.length, players);
    const totals = await this.master.locator('.finaltable .total').allInnerTexts();
    assert.deepEqual(
      totals.map(Number),
      over.ranking.map((r) => r.score_total),
    );
    return over.ranking;
  }

  /** The next game for the same people; phones that are awake are there without a tap. */
  async again(change = async () => {}) {
    const before = this.code;
    await press(this.master, 'New game, same people');
    await shows(this.master, 'setup');
    await this.master.locator('.along', { hasText: 'come along' }).waitFor();
    await change();
    await press(this.master, 'Create room');
    await shows(this.master, 'lobby');
    this.code = this.master.url().slice(-8);
    assert.notEqual(this.code, before);
    assert.equal(await keyOf(this.master, this.code), this.key, 'the same key directs it');
  }

  /** Everybody sits in the new room, each on their own seat. */
  async seated(phones) {
    for (const page of phones) {
      await shows(page, 'wait');
      await until(`${page.who} in ${this.code}`, async () => page.url().endsWith(this.code), LONG);
      assert.equal(await title(page), page.who);
    }
  }
}

test('an evening of three games: nine browsers, reloads, a killed server, a phone that sleeps', {
  timeout: 900000,
}, async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const open = async (who, at, how) => Object.assign(await device(browser, server, at, how), { who });
  const master = await open('the big screen', '/party', { size: TV });
  // A host who looks at the reel's own tab does not see this one.
  await master.evaluate(() => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => !!window.wkAway });
  });
  const away = (on) =>
    master.evaluate((x) => {
      window.wkAway = x;
      document.dispatchEvent(new Event('visibilitychange'));
    }, on);
  const lines = PAIRS.flatMap((who, n) => who.map((i) => `${NAMES[i]}, ${server.url}/version?reel=${n}`));
  const create = await createRoom(master, lines);
  await toldApart(master, '.peoplelist');
  const code = await create(2);
  const evening = new Evening({ server, master, code, key: await keyOf(master, code) });

  const phones = await Promise.all(
    NAMES.map((name, i) =>
      open(name, `/r/${code}`, { held: i === 2, size: { width: i % 2 ? 320 : 390, height: 740 } }),
    ),
  );
  const late = await open('Late', `/r/${code}`);
  await Promise.all([...phones, late].map((p) => shows(p, 'pick')));
  await whole(phones[1], 'pick-320');
  await toldApart(phones[1], '.seats');
  await Promise.all(phones.map((p, i) => seat(p, NAMES[i]).click()));
  await evening.seated(phones);
  const png = await phones[6].screenshot({ clip: { x: 0, y: 0, width: 120, height: 90 } });
  await phones[6]
    .locator('input[type=file]')
    .last()
    .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: png });
  const photo = master.locator('.seatgrid .seat', { hasText: 'Zoé' }).locator('img');
  await photo.waitFor();
  const link = await photo.getAttribute('src');
  assert.match(link, new RegExp(`^/api/rooms/${code}/photos/[0-9a-f]+$`), 'photos are links');
  await until('all seven here', async () => (await master.locator('.seat.here').count()) === 7, LONG);
  await whole(master, '1-lobby');
  await toldApart(master, '.seatgrid');

  // First game. A phone is reloaded in the middle of its vote; a server is killed in the middle of another.
  await press(master, 'Start');
  let right = await evening.show();
  assert.match(await master.locator('.game.vote .top').innerText(), /the only reel of this round/);
  await tile(phones[0], right[0]).click();
  await phones[0].reload();
  await shows(phones[0], 'vote');
  assert.equal(await tile(phones[0], right[0]).getAttribute('aria-pressed'), 'true', 'the choice is still there');
  await tile(phones[0], right[0]).click();
  await whole(phones[1], 'vote-320');
  await whole(master, '1-vote');
  await evening.votes(phones, right);
  await shows(master, 'reveal');
  await until('the reveal', async () => (await master.locator('.reveal[data-step=end]').count()) > 0, LONG);
  await whole(master, '1-reveal');
  await evening.onward();
  right = await evening.show();
  await evening.votes(phones.slice(0, 3), right);
  await says(master, /3 of 7 voted/);
  server.child.kill('SIGKILL');
  await server.gone;
  await server.up();
  await says(master, /3 of 7 voted/);
  await evening.votes(phones.slice(3), right);
  await evening.onward();
  const first = await evening.podium(7);
  await whole(master, '1-podium');
  await shows(late, 'final');

  // Second game: a phone sleeps through the change of rooms. Votes have a time, and somebody comes late.
  await phones[2].line.cut();
  await evening.again(async () => {
    await master.locator('.roundscard select').selectOption({ label: '15 seconds' });
    await master.locator('.roundscard .switch').click();
  });
  await evening.seated(phones.filter((p) => p !== phones[2]));
  assert.equal(await screenOf(phones[2]), 'final', 'nobody told it');
  await says(master, /7 of 7 are in/);
  assert.ok(await photo.isVisible(), 'the photo went along');
  await until('the big screen to see who sleeps', async () => (await master.locator('.seat.away').count()) === 1, LONG);
  phones[2].line.back();
  await evening.seated(phones);
  await press(master, 'Start');
  right = await evening.show();
  await shows(late, 'pick');
  await late.locator('.btn', { hasText: 'not on the list' }).click();
  await late.locator('dialog input').fill('Late');
  await late.locator('dialog .btn.primary').click();
  await shows(late, 'look');
  await late.locator('.middle', { hasText: 'from the next reel on' }).waitFor();
  await phones[4].locator('.clock', { hasText: 'ends in' }).waitFor();
  await evening.votes(phones.slice(0, 6), right);
  // The seventh never votes: the vote ends by its own time.
  await shows(master, 'reveal');
  await evening.onward();
  right = await evening.show();
  await away(true);
  await evening.votes([...phones, late], right);
  await shows(master, 'reveal');
  assert.equal(await master.locator('.reveal').getAttribute('data-step'), 'start', 'it waits for the host');
  assert.match(await master.title(), /▶/);
  await away(false);
  await evening.onward();
  await evening.podium(8);

  // Third game, from a reload of the big screen on.
  await master.reload();
  await shows(master, 'podium');
  await evening.again();
  await evening.seated([...phones, late]);
  await says(master, /8 of 8 are in/);
  await press(master, 'Start');
  for (let round = 0; round < 2; round += 1) {
    right = await evening.show();
    await evening.votes([...phones, late], right);
    await evening.onward();
  }
  await evening.podium(8);
  await whole(master, '3-podium');
  assert.equal(new Set(evening.seen).size, 6, 'no reel was played twice');
  assert.ok(first.length);
  await master.locator('.btn', { hasText: 'Close the room' }).click();
  await master.locator('dialog .btn.danger').click();
  await shows(master, 'gone');
  await Promise.all([...phones, late].map((p) => shows(p, 'join')));
  for (const page of [master, late, ...phones]) assert.deepEqual(await page.done(), [], page.who);
});
