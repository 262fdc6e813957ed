// The party game played for real: one big screen and eight phones in Chromium, each with a context of its own, against a
// real worldkeep. A reload in the middle of a vote, a lost connection, a forced close, the podium, the end of the room.
// Then the same room on two servers with one Redis, one of which is killed. Pictures go to target/screenshots.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { contrastFaults, nameFaults } from './faults.mjs';
import { freePort, launch, Server, shot, sideways, until, webFile } from './kit.mjs';
import * as kit from './partykit.mjs';
import { choose, createRoom, keyOf, seat, stateOf, tile, title, titled, vote } from './partykit.mjs';

const { path } = await import(webFile('party/qr.js'));

const NAMES = ['Camille', 'Nico', 'Comet', 'Pixel', 'Marble', 'Biscuit', 'Olive', 'Lemon'];
const TV = { width: 1920, height: 1080 };

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const device = (...how) => kit.device(browser, ...how);

/** What must hold on any screen. */
async function sound(page, name) {
  await shot(page, `party-${name}`);
  assert.ok((await sideways(page)) <= 0, `${name} is too wide`);
  assert.deepEqual(await nameFaults(page, { nav: false }), [], name);
  assert.deepEqual(await contrastFaults(page), [], name);
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('button, a[href], input')]
      .filter((el) => el.checkVisibility() && !el.closest('.said') && !el.matches('.said'))
      .map((el) => ({ el, r: el.getBoundingClientRect() }))
      .filter(({ el, r }) => r.width && (r.height < 44 || r.width < 44) && !el.matches('.skip, .plain'))
      .map(({ el, r }) => `${el.textContent.trim() || el.ariaLabel}: ${Math.round(r.width)}×${Math.round(r.height)}`),
  );
  assert.deepEqual(small, [], `${name}: targets`);
}

/** A room of Camille and Nico with a reel of each, made over HTTP. */
async function twoPlayers(server) {
  const senders = ['Camille', 'Nico'].map((name, i) => ({
    sender_id: `s${i + 1}`,
    name,
    active: true,
    reels_count: 1,
  }));
  const items = [1, 2].map((n) => ({
    item_id: `i${n}`,
    reel: { reel_id: `x${n}`, url: `${server.url}/version?reel=${n}` },
    true_sender_ids: [`s${n}`],
  }));
  const made = await fetch(`${server.url}/api/rooms`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ senders, rounds: [{ round_id: 'r1', items }] }),
  });
  assert.equal(made.status, 201);
  return made.json();
}
test('a whole game: eight phones, a reload, a lost connection, a forced close, the podium', {
  timeout: 240000,
}, async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const reel = (n) => `${server.url}/version?reel=${n}`;
  // Three reels of several people make three rounds; one of Camille alone makes one of them longer.
  const lines = [
    ...['Camille', 'Nico'].map((n) => `${n}, ${reel(1)}`),
    ...['Comet', 'Pixel'].map((n) => `${n}, ${reel(2)}`),
    ...['Marble', 'Biscuit', 'Olive', 'Lemon'].map((n) => `${n}, ${reel(3)}`),
    `Camille, ${reel(4)}`,
  ];
  const truth = {
    1: ['Camille', 'Nico'],
    2: ['Comet', 'Pixel'],
    3: ['Marble', 'Biscuit', 'Olive', 'Lemon'],
    4: ['Camille'],
  };

  const master = await device(server, '/party', { size: TV, motion: 'no-preference' });
  await sound(master, 'master-1-home');
  const create = await createRoom(master, lines);
  assert.match(await master.locator('.peoplecard h2').innerText(), /8 people sent 4 reels/);
  await sound(master, 'master-2-setup');
  const code = await create(3);
  const key = await keyOf(master, code);
  assert.ok(!master.url().includes(key));
  assert.match(await master.locator('.bottom').innerText(), /8 seats are still free/);

  const phones = await Promise.all(
    NAMES.map((_name, i) =>
      device(server, i === 0 ? '/play' : `/r/${code}`, {
        scheme: i % 2 ? 'light' : 'dark',
        lang: i === 1 ? 'fr-FR' : 'en-GB',
        held: i === 4,
        motion: i === 0 ? 'no-preference' : 'reduce',
      }),
    ),
  );
  await sound(phones[0], 'play-1-join');
  await phones[0]
    .locator('.input.code')
    .pressSequentially(`${code.slice(0, 4).toLowerCase()} ${code.slice(4).toLowerCase()}`);
  assert.equal(await phones[0].locator('.input.code').inputValue(), `${code.slice(0, 4)}-${code.slice(4)}`);
  await phones[0].keyboard.press('Enter');
  await titled(phones[0], /Who are you/);
  await titled(phones[1], /Qui êtes-vous/);
  await Promise.all(phones.map((p, i) => seat(p, NAMES[i]).click()));
  await Promise.all(phones.map((p, i) => titled(p, NAMES[i])));
  await titled(master, /8 of 8 are in/);
  await sound(phones[1], 'play-3-wait-fr');

  // A taken seat says so; a name and a photo reach everyone.
  const ninth = await device(server, `/r/${code}`);
  await seat(ninth, 'Nico').click({ force: true }); // it says it is off, and why
  await ninth.locator('.why', { hasText: 'taken' }).waitFor();
  await sound(ninth, 'play-2-pick');
  await phones[7].locator('.btn', { hasText: 'Rename' }).click();
  await phones[7].locator('dialog input').fill('  Camille ');
  await phones[7].locator('dialog .btn.primary').click();
  await phones[7].locator('dialog .fault', { hasText: 'already has this name' }).waitFor();
  await phones[7].locator('dialog input').fill('Lemon Tree');
  await phones[7].locator('dialog .btn.primary').click();
  await titled(phones[7], /Lemon Tree/);
  const png = await phones[7].screenshot({ clip: { x: 0, y: 0, width: 120, height: 90 } });
  await phones[7]
    .locator('input[type=file]')
    .last()
    .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: png });
  await master.locator('.seat', { hasText: 'Lemon Tree' }).locator('img').waitFor();
  await until('the dots of all eight', async () => (await master.locator('.seat.here').count()) === 8);
  await sound(master, 'master-3-lobby');
  truth[3][3] = 'Lemon Tree';

  await master.locator('.btn.primary', { hasText: 'Start' }).click();
  await titled(master, /Who sent this reel/);
  await sound(master, 'master-4-idle');
  await Promise.all(phones.map((p, i) => titled(p, i === 1 ? /Levez les yeux/ : /Eyes up/)));
  await titled(ninth, /Eyes up/);
  assert.ok(await ninth.locator('.own', { hasText: 'Watching' }).isVisible());

  /** Which reel is up, as the server tells the Master. */
  const current = async () => {
    const { game } = await stateOf(server, code, key);
    return { n: Number(new URL(game.item.reel.url).searchParams.get('reel')), k: game.item.k, version: game.version };
  };
  const show = () => master.locator('.btn.primary', { hasText: 'Show the reel' }).click();
  const revealed = () => master.locator('.reveal[data-step=end]').waitFor({ timeout: 20000 });
  const skip = async () => {
    await master.locator('.game.reveal').waitFor();
    const b = master.locator('.game.reveal .btn.primary');
    if ((await b.innerText()).includes('Skip')) await b.click();
    await revealed();
  };
  const next = () => master.locator('.btn.primary', { hasText: 'Next' }).click();
  const others = (not) => phones.filter((p) => !not.includes(p));

  // First reel: one phone reloads in the middle of its vote and finds its choice again.
  let at = await current();
  let right = truth[at.n];
  await show();
  await choose(phones[0], right.slice(0, 1));
  await sound(phones[0], 'play-5-vote');
  await phones[0].reload();
  await tile(phones[0], right[0]).waitFor();
  assert.equal(await tile(phones[0], right[0]).getAttribute('aria-pressed'), 'true', 'the choice is still there');
  await Promise.all(others([phones[0]]).map((p) => vote(p, right)));
  await titled(master, /7 of 8 voted/);
  await sound(master, 'master-5-vote');
  await titled(phones[1], /Votre vote est parti/);
  await sound(phones[1], 'play-6-voted-fr');
  await phones[0].locator('.foot .btn.primary').click();
  await phones[0].locator('dialog[open] .btn', { hasText: 'Choose more' }).click();
  await choose(phones[0], right.slice(1));
  await phones[0].locator('.foot .btn.primary').click();
  await revealed();
  assert.match(await title(master), new RegExp(`It was .*${right.at(-1)}`));
  await sound(master, 'master-6-reveal');
  await titled(phones[2], /votes are closed/);
  assert.ok(!(await phones[2].locator('body').innerText()).includes('Found'), 'nothing true before Next');
  await next();
  await Promise.all(
    others([phones[1]]).map((p) =>
      p
        .locator('.bigpoints', { hasText: `+${right.length}` })
        .or(p.locator('h1', { hasText: 'is over' }))
        .first()
        .waitFor(),
    ),
  );

  /** Moves on over recaps until a reel waits, or to the podium. */
  const onward = async () => {
    await until('the next screen', async () => (await master.locator('.recap, .idle, .podium').count()) > 0);
    while (await master.locator('.recap').count()) {
      await sound(master, 'master-7-recap');
      await phones[2].locator('h1', { hasText: 'is over' }).waitFor();
      await sound(phones[2], 'play-8-round');
      const round = await master.locator('h1').innerText();
      await master.locator('.recap .btn.primary').click();
      await until('the recap to end', async () => (await master.locator('h1').innerText()) !== round);
    }
    return (await master.locator('.podium').count()) > 0;
  };
  assert.equal(await onward(), false);

  // Second reel: a phone loses its line, votes all the same, and the vote arrives once when the line is back.
  at = await current();
  right = truth[at.n];
  await show();
  await tile(phones[4], right[0]).waitFor();
  await phones[4].line.cut();
  await vote(phones[4], right);
  await phones[4].locator('.linkbar', { hasText: 'kept' }).waitFor();
  await sound(phones[4], 'play-5-offline');
  await Promise.all(others([phones[4]]).map((p, i) => vote(p, i % 2 ? right : ['Olive'])));
  await titled(master, /7 of 8 voted/);
  await master.locator('.voting .state', { hasText: 'Away' }).waitFor();
  phones[4].line.back();
  // It may be back by itself before the click.
  await phones[4]
    .locator('.linkbar .btn')
    .click({ timeout: 1000 })
    .catch(() => null);
  await skip();
  const afterTwo = await stateOf(server, code, key);
  const mine = afterTwo.game.current_vote_results.players.find((p) => p.player_id === 'p5');
  assert.equal(mine.points_gained, right.length, 'the kept vote counted, once');
  // The big screen reloads: the same reveal, still.
  await master.reload();
  await revealed();
  assert.ok(await master.locator('.btn', { hasText: 'Play again' }).isVisible());
  await next();
  await onward();

  // Third reel: two never vote; the Master closes by force.
  at = await current();
  right = truth[at.n];
  await show();
  await Promise.all(phones.slice(0, 6).map((p, i) => vote(p, i < 3 ? right.slice(0, 1) : ['Olive'])));
  await titled(master, /6 of 8 voted/);
  await master.locator('.btn', { hasText: 'Close the vote' }).click();
  await phones[7].locator('.clock', { hasText: 'ends in' }).waitFor();
  await sound(phones[7], 'play-5-countdown');
  await shot(master, 'party-master-5-countdown');
  await titled(phones[7], /votes are closed/);
  await skip();
  assert.equal(await master.locator('.chip.none').count(), 2);
  await sound(master, 'master-6-forced');
  await next();
  await onward();

  // The rest.
  for (let done = false; !done; done = await onward()) {
    right = truth[(await current()).n];
    await show();
    await Promise.all(phones.map((p, i) => vote(p, i === 2 ? right : right.slice(0, 1))));
    await skip();
    await next();
    if (await phones[2].locator('.bigpoints').count()) await sound(phones[2], 'play-7-result');
  }

  // Podium: what the screen shows is what the server counted.
  const over = await stateOf(server, code, key);
  assert.equal(over.phase, 'over');
  const best = over.ranking
    .filter((r) => r.rank === 1)
    .map((r) => over.players_all.find((p) => p.player_id === r.player_id).name);
  for (const name of best) assert.ok((await title(master)).includes(name));
  const totals = await master.locator('.finaltable .total').allInnerTexts();
  assert.deepEqual(
    totals.map(Number),
    over.ranking.map((r) => r.score_total),
  );
  await master.waitForTimeout(900);
  await sound(master, 'master-8-podium');
  await phones[0].locator('.table').waitFor();
  await sound(phones[0], 'play-8-final');
  await phones[1].locator('.table').waitFor();
  await sound(phones[1], 'play-8-final-fr');

  await master.locator('.btn', { hasText: 'Close the room' }).click();
  await master.locator('dialog .btn.danger').click();
  await titled(master, /The room is closed/);
  await phones[0].locator('.why', { hasText: 'closed' }).waitFor();
  await titled(phones[1], /Rejoindre/);
  await until('no key of the room', async () =>
    /:0/.test(await server.redis('EXISTS', `room:${code}:meta`, `room:${code}:scores`)),
  );
  const unknown = await device(server, `/r/${code}`);
  await unknown.locator('.fault', { hasText: 'No room with this code' }).waitFor();
  await sound(unknown, 'play-1-unknown');
  for (const page of [master, ninth, unknown, ...phones]) assert.deepEqual(await page.done(), []);
});

test('one room on two servers: messages cross, and a killed server’s countdown still ends', {
  timeout: 240000,
}, async (t) => {
  const one = await Server.start({ store: 'redis' });
  t.after(() => one.stop());
  const two = await Server.start({ beside: one });
  t.after(() => two.stop());
  const lines = ['Camille', 'Nico', 'Comet'].map((n, i) => `${n}, ${one.url}/version?reel=${i}`);
  const master = await device(one, '/party', { size: { width: 1440, height: 900 } });
  const code = await (await createRoom(master, lines))(1);
  const key = await keyOf(master, code);
  const phones = await Promise.all([one, two, two].map((s) => device(s, `/r/${code}`)));
  await Promise.all(phones.map((p, i) => seat(p, NAMES[i]).click()));
  await titled(master, /3 of 3 are in/);
  await until('presence of both servers', async () => (await master.locator('.seat.here').count()) === 3);
  await master.locator('.btn.primary', { hasText: 'Start' }).click();

  await master.locator('.btn.primary', { hasText: 'Show the reel' }).click();
  await Promise.all(phones.map((p) => vote(p, ['Nico'])));
  await master.locator('.reveal[data-step=end]').waitFor();
  await master.locator('.btn.primary', { hasText: 'Next' }).click();
  await Promise.all(phones.map((p) => p.locator('.bigpoints').waitFor()));

  // The server that promised the close dies; the other one keeps the promise.
  await master.locator('.btn.primary', { hasText: 'Show the reel' }).click();
  await vote(phones[1], ['Comet']);
  await titled(master, /1 of 3 voted/);
  await master.locator('.btn', { hasText: 'Close the vote' }).click();
  await phones[2].locator('.clock').waitFor();
  one.child.kill('SIGKILL');
  await one.gone;
  await titled(phones[2], /votes are closed/);
  assert.equal((await stateOf(two, code, key)).game.status, 'reveal_wait');
  await master.locator('.linkbar').waitFor();
  await shot(master, 'party-master-away');
  await one.up();
  await master.locator('.reveal[data-step=end]').waitFor({ timeout: 20000 });
  // All are back before the result comes: this part is about those who hear it as it is told.
  await Promise.all(phones.map((p) => titled(p, /votes are closed/)));
  await master.locator('.btn.primary', { hasText: 'Next' }).click();
  await Promise.all(phones.map((p) => p.locator('.bigpoints').waitFor({ timeout: 20000 })));
  for (const page of [master, ...phones]) assert.deepEqual(await page.done(), []);
});

test('the big screen by keyboard alone, taken over by a link, a seat that moves to another phone', {
  timeout: 240000,
}, async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const { code, master_key: key } = await twoPlayers(server);
  const [a, b] = await Promise.all([1, 2].map(() => device(server, `/r/${code}`)));
  await seat(a, 'Camille').click();
  await seat(b, 'Nico').click();
  await titled(b, /Nico/);

  // The key arrives in the fragment and leaves the address at once.
  const master = await device(server, `/party#take=${code}.${key}`, {
    size: { width: 1440, height: 900 },
    scheme: 'light',
  });
  await master.waitForURL(`**/party/${code}`);
  await titled(master, /2 of 2 are in/);
  assert.equal(await master.evaluate(() => document.documentElement.dataset.look), 'night', 'night by default');
  await until(
    'start to be allowed',
    async () => (await master.locator('.btn.primary').getAttribute('aria-disabled')) === 'false',
  );
  await master.locator('.btn', { hasText: 'Take over' }).click();
  await master.locator('dialog .qr').waitFor();
  await shot(master, 'party-master-takeover');
  await master.keyboard.press('Escape');
  await master.locator('dialog').waitFor({ state: 'detached' });

  // A stranger with a wrong key sees no more than a phone would, and directs nothing.
  const stranger = await device(server, `/party#take=${code}.${'A'.repeat(32)}`);
  await titled(stranger, /cannot direct/);

  // Keyboard only: Tab reaches every control of the lobby, Enter on nothing in particular moves the game on.
  const reached = new Set();
  for (let i = 0; i < 30; i += 1) {
    await master.keyboard.press('Tab');
    reached.add(
      await master.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.ariaLabel),
    );
  }
  for (const word of ['Start', 'Add a player', 'Copy the link', 'Actions for Nico', 'More'])
    assert.ok(reached.has(word), `${word} of ${[...reached]}`);
  await master.locator('h1').focus();
  await master.keyboard.press('Enter');
  await titled(master, /Who sent this reel/);
  await master.keyboard.press('Enter');
  await titled(master, /0 of 2 voted/);

  // Nico's phone dies in the middle of the vote; another one takes the seat and votes.
  await vote(a, ['Camille']);
  await titled(master, /1 of 2 voted/);
  await master.locator('.voting .face').nth(1).click();
  await master.locator('.menu button', { hasText: 'Free the seat' }).click();
  await b.locator('.why', { hasText: 'freed by the big screen' }).waitFor();
  await shot(b, 'party-play-2-freed');
  const c = await device(server, `/r/${code}`, { scheme: 'light' });
  await seat(c, 'Nico').click();
  await vote(c, ['Nico']);
  await master.locator('.reveal[data-step=end]').waitFor();
  const { scores } = await stateOf(server, code, key);
  assert.deepEqual(scores, { p1: 1, p2: 0 });

  // Day, and colours forced by the system.
  await master.locator('.top .btn.round').click();
  await master.locator('.menu button', { hasText: 'Day or night' }).click();
  await sound(master, 'master-6-day');
  await master.emulateMedia({ forcedColors: 'active' });
  await shot(master, 'party-master-forced-colors');

  // Two Masters press at once: the game advances once.
  await device(server, `/party#take=${code}.${key}`, { size: { width: 1440, height: 900 } }).then(async (second) => {
    await second.locator('.reveal[data-step=end]').waitFor();
    const press = () => [...document.querySelectorAll('.btn.primary')].find((b) => b.textContent === 'Next')?.click();
    await Promise.all([master, second].map((m) => m.evaluate(press)));
    await titled(second, /Who sent this reel/);
    await titled(master, /Who sent this reel/);
    assert.equal((await stateOf(server, code, key)).game.current_item_index, 1);
    assert.deepEqual(await second.done(), []);
  });
  for (const page of [master, stranger, a, b, c]) assert.deepEqual(await page.done(), []);
});

test('a reload brings back the very screen, wherever the game is', { timeout: 240000 }, async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const { code, master_key: key } = await twoPlayers(server);
  const [master, a, b] = await Promise.all(
    [`/party#take=${code}.${key}`, `/r/${code}`, `/r/${code}`].map((at) => device(server, at)),
  );
  const look = (p) =>
    p.evaluate(() => [document.documentElement.dataset.screen, document.querySelector('h1')?.textContent].join(': '));
  const again = async (...screens) => {
    for (const [i, page] of [master, a, b].entries()) {
      await until(`${screens[i]} on ${i}`, async () => (await look(page)).startsWith(`${screens[i]}:`));
      const before = await look(page);
      await page.reload();
      await until(`${before} again`, async () => (await look(page)) === before);
    }
  };
  const press = (word) => master.locator('.btn.primary', { hasText: word }).click();
  await again('lobby', 'pick', 'pick');
  await seat(a, 'Camille').click();
  await seat(b, 'Nico').click();
  await titled(master, /2 of 2 are in/);
  await again('lobby', 'wait', 'wait');
  await press('Start');
  await again('idle', 'look', 'look');
  await press('Show the reel');
  await vote(a, ['Camille']);
  await titled(master, /1 of 2 voted/);
  await again('vote', 'voted', 'vote');
  await vote(b, ['Nico']);
  await again('reveal', 'voted', 'voted');
  await press('Next');
  await again('idle', 'result', 'result');
  await press('Show the reel');
  await Promise.all([a, b].map((p) => vote(p, ['Nico'])));
  await titled(master, /It was Nico/);
  await press('Next');
  await again('recap', 'round', 'round');
  await press('Final results');
  await again('podium', 'final', 'final');
  for (const page of [master, a, b]) assert.deepEqual(await page.done(), []);
});

test('a phone that was away while the result was shown finds it when it is back', { timeout: 120000 }, async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const { code, master_key: key } = await twoPlayers(server);
  const master = await device(server, `/party#take=${code}.${key}`);
  const [here, away] = await Promise.all([false, true].map((held) => device(server, `/r/${code}`, { held })));
  await seat(here, 'Camille').click();
  await seat(away, 'Nico').click();
  await titled(master, /2 of 2 are in/);
  const press = (word) => master.locator('.btn.primary', { hasText: word }).click();
  await press('Start');
  await press('Show the reel');
  await vote(here, ['Nico']);
  await vote(away, ['Camille']);
  await master.locator('.reveal[data-step=end]').waitFor();
  await away.line.cut();
  await press('Next');
  await here.locator('.bigpoints').waitFor();
  assert.equal(await away.locator('.bigpoints').count(), 0, 'nobody told it');
  away.line.back();
  await away.locator('.bigpoints').waitFor({ timeout: 20000 });
  assert.match(await away.locator('.bigpoints').innerText(), /\+1/);
  assert.match(await away.locator('.resultbody').innerText(), /Camille[\s\S]*sent/i);
  await shot(away, 'party-result-late');
  // And when the page itself was closed: a new one has no memory of its own.
  await away.evaluate(() => sessionStorage.clear());
  await away.reload();
  await away.locator('.bigpoints').waitFor({ timeout: 20000 });
  for (const page of [master, here, away]) assert.deepEqual(await page.done(), []);
});

test('guests come in by the party’s own address and find the game alone', { timeout: 240000 }, async (t) => {
  const at = `127.0.0.2:${await freePort()}`;
  const server = await Server.start({ env: { WORLDKEEP_ROOMS_PARTY: at, WORLDKEEP_LOOPBACK_ADMIN: 'false' } });
  t.after(() => server.stop());
  const { code, master_key: key, join_url: link } = await twoPlayers(server);
  assert.equal(link, `http://${at}/r/${code}`);
  const party = { url: `http://${at}` };

  // The big screen took the room over: it learns from the server where phones go.
  const master = await device(server, `/party#take=${code}.${key}`, { size: { width: 1440, height: 900 } });
  await until('the address of the party', async () => (await master.locator('.scan b').innerText()) === `${at}/play`);
  await until('its QR code', async () => (await master.locator('.qr path').getAttribute('d')) === path(link).d);

  // A guest types the bare host; another one scans.
  const typed = await device(party, '/');
  await typed.waitForURL(`http://${at}/play`);
  await typed.locator('.input.code').fill(code);
  await typed.keyboard.press('Enter');
  const scanned = await device(party, `/r/${code}`);
  await seat(typed, 'Camille').click();
  await seat(scanned, 'Nico').click();
  await titled(master, /2 of 2 are in/);
  for (const there of ['/jobs', '/api/overview', '/index.html', '/healthz'])
    assert.equal((await fetch(party.url + there)).status, 404, there);

  // Whoever opens the operators' page on a phone is offered the game.
  const lost = await device(server, '/');
  await lost.locator('.login .game a', { hasText: 'Join the game' }).click();
  await titled(lost, /Join the game/);
  await sound(lost, 'play-1-from-login');
  for (const page of [master, typed, scanned, lost]) assert.deepEqual(await page.done(), []);
});

test('setup: exports, two spellings, someone left out, and nothing sent before the room is created', async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const page = await device(server, '/party/new', { size: { width: 1440, height: 900 } });
  const policy = (await fetch(`${server.url}/party`)).headers.get('content-security-policy');
  for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'self'"])
    assert.ok(policy.includes(part), part);
  assert.ok(
    (await fetch(`${server.url}/rooms`)).headers.get('content-security-policy').includes("frame-ancestors 'none'"),
  );
  const asked = [];
  page.on('request', (r) => r.url().includes('/api/') && asked.push(r.url()));
  const file = (name, text) => ({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
  const messages = [
    ['Zo\u00c3\u00ab', 'A1'],
    ['Zo\u00c3\u00ab', 'A2'],
    ['zoe', 'A3'],
    ['Nico', 'A1'],
    ['Nico', 'B1'],
    ['Pixel', 'C1'],
  ].map(([sender_name, id]) => ({ sender_name, share: { link: `https://www.instagram.com/reel/${id}/?x=1` } }));
  const files = page.locator('input[type=file]');
  await files.setInputFiles([file('message_1.json', JSON.stringify({ messages })), file('broken.json', '{')]);
  await page.locator('.filenotes .wrong', { hasText: 'not a JSON file' }).waitFor();
  await sound(page, 'master-2-import');
  await page.locator('.btn.primary', { hasText: 'Go on to people' }).click();
  await page.locator('.peoplelist').waitFor();
  assert.match(await page.locator('.peoplecard h2').innerText(), /4 people sent 5 reels/);
  await page.locator('.peoplelist li', { hasText: 'two spellings' }).locator('.btn', { hasText: 'Merge' }).click();
  await until('three people', async () => (await page.locator('.peoplelist > li').count()) === 3);
  await page.getByRole('switch', { name: 'Pixel plays' }).click();
  await page.locator('.bottom', { hasText: '1 of Pixel (off)' }).waitFor();
  await page.locator('.stepper .btn').first().click();
  // The seed word decides, and a reload keeps everything.
  const rounds = () =>
    page.locator('.preview .items').evaluateAll((all) => all.map((x) => x.getAttribute('aria-label')));
  const before = await rounds();
  await page.reload();
  await page.locator('.preview .items').first().waitFor();
  assert.deepEqual(await rounds(), before);
  await page.getByRole('switch', { name: 'Nico plays' }).click();
  await page.locator('.bottom', { hasText: 'Two people at least' }).waitFor();
  assert.equal(await page.locator('.btn.primary').getAttribute('aria-disabled'), 'true');
  assert.deepEqual(asked, [], 'nothing left the browser');
  assert.deepEqual(await page.done(), []);
});

test('the list of live rooms, and the playground with its five devices', { timeout: 240000 }, async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const page = await device(server, '/rooms', { size: { width: 1600, height: 1300 }, scheme: 'light' });
  await page.locator('text=No room is open').first().waitFor();
  await shot(page, 'rooms-empty');
  await page.locator('a', { hasText: 'Playground' }).click();
  const frame = async (name) => {
    await until(`the frame ${name}`, () => page.frame({ name }));
    return page.frame({ name });
  };
  for (const name of ['master', 1, 2, 3, 4]) await (await frame(`wk-seat-${name}`)).locator('h1').waitFor();
  await page.locator('.btn', { hasText: 'Open a sample room' }).click();
  const phone = await frame('wk-seat-1');
  await phone.locator('.seats .seat', { hasText: 'Camille' }).click();
  await phone.locator('h1', { hasText: 'Camille' }).waitFor();
  const second = await frame('wk-seat-2');
  await second.locator('.seats .seat', { hasText: 'Nico' }).click();
  await second.locator('h1', { hasText: 'Nico' }).waitFor();
  const big = await frame('wk-seat-master');
  await big.locator('h1', { hasText: '2 of 4 are in' }).waitFor();
  const tools = page.locator('section[aria-label="Phone 1"]');
  await tools.locator('.btn', { hasText: 'Lose network' }).click();
  await phone.locator('.linkbar', { hasText: 'No connection' }).waitFor();
  await shot(page, 'rooms-playground');
  await tools.locator('.btn', { hasText: 'Network back' }).click();
  await phone.locator('.linkbar', { hasText: 'Connected again' }).waitFor();
  assert.deepEqual(await nameFaults(page), []);

  await page.locator('.side a[href="/rooms"]').click();
  const row = page.locator('wk-table tbody tr');
  await row.first().waitFor();
  assert.match(await page.locator('.sentence').innerText(), /1 room open, 0 in a game/);
  await row.first().click();
  await page.locator('wk-drawer dd', { hasText: '2' }).first().waitFor();
  await shot(page, 'rooms-drawer');
  await page.locator('wk-drawer .btn', { hasText: 'Close the room' }).click();
  await page.locator('dialog .btn.danger', { hasText: 'Close the room' }).click();
  await page.locator('text=No room is open').first().waitFor();
  assert.deepEqual(await page.done(), []);
});
