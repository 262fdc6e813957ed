// The party game's pure parts, without a browser: what a message does to a room, what the line does when it breaks, rounds
// from a seed word, imports, the QR code.
import assert from 'node:assert/strict';
import test from 'node:test';
import { noBrowser, webFile } from './kit.mjs';

const load = (name) => import(webFile('party', name));
const { fresh, masterScreen, moves, playScreen, ranked, reduce, startBlocked } = await load('room-state.js');
const { afterClose, RoomClient, waitBefore } = await load('room-client.js');
const { buildRounds, carriedSeats, roomBody, seatsOf } = await load('rounds.js');
const { addPeople, cleanName, cleanUrl, mend, merge, readExport, readLines, twins } = await load('importer.js');
const { errorWords, matrix } = await load('qr.js');
const { readCode, showCode, uuid } = await load('kept.js');
// Marks are elements; their colours and letters are not.
noBrowser();
const { lettersAmong, lettersOf, lookOf, placeOf } = await load('marks.js');

const player = (n, more = {}) => ({
  player_id: `p${n}`,
  sender_id: `s${n}`,
  is_sender_bound: true,
  active: true,
  status: 'taken',
  name: `N${n}`,
  avatar_url: null,
  ...more,
});
const item = (id = 'i1', more = {}) => ({
  round_id: 'r1',
  item_index: 0,
  item_id: id,
  reel: { reel_id: 'x', url: 'http://x.test/1' },
  k: 2,
  slots_total: 2,
  senders_selectable: [1, 2, 3].map((n) => ({ sender_id: `s${n}`, name: `N${n}` })),
  ...more,
});
const gameAt = (status, more = {}) => ({
  current_round_id: 'r1',
  current_item_index: 0,
  status,
  version: 3,
  round_index: 0,
  rounds_total: 2,
  item: item(),
  ...more,
});
const synced = (more = {}) => ({
  type: 'STATE_SYNC_RESPONSE',
  payload: {
    code: 'ABCD2345',
    phase: 'game',
    expires_at: 9e12,
    players_visible: [player(1), player(2)],
    senders_visible: [],
    my_player_id: 'p1',
    game: gameAt('vote', { my_vote: null }),
    scores: { p1: 1, p2: 4 },
    ...more,
  },
});
const say = (type, payload) => ({ type, payload: { code: 'ABCD2345', ...payload } });
const play = (...messages) => messages.reduce((s, m) => reduce(s, m), fresh());

test('a push that is not newer than the state changes nothing', () => {
  const state = play(synced());
  const old = [
    say('START_VOTE', { round_id: 'r1', item_id: 'i1', k: 2, senders_selectable: [], version: 3 }),
    say('NEW_ITEM', { ...item('i0'), version: 2 }),
    say('VOTE_RESULTS', { round_id: 'r1', item_id: 'i0', true_senders: [], players: [], version: 3 }),
  ];
  for (const m of old) assert.equal(reduce(state, m), state, m.type);
  const other = { type: 'NEW_ITEM', payload: { code: 'OTHER234', ...item('i9'), version: 99 } };
  assert.equal(reduce(state, other), state, 'another room');
});

test('a reel goes from idle over the vote to its result on a phone', () => {
  let s = play(synced({ game: gameAt('idle') }));
  assert.equal(playScreen(s), 'look');
  s = reduce(
    s,
    say('START_VOTE', {
      round_id: 'r1',
      item_id: 'i1',
      k: 2,
      senders_selectable: item().senders_selectable,
      version: 4,
    }),
  );
  assert.equal(playScreen(s), 'vote');
  s = reduce(s, say('VOTE_ACK', { round_id: 'r1', item_id: 'i1', accepted: true }), {
    payload: { selections: ['s2'] },
  });
  assert.deepEqual(s.game.my_vote.selections, ['s2']);
  s = reduce(s, say('VOTE_CLOSED', { round_id: 'r1', item_id: 'i1', version: 5 }));
  assert.equal(playScreen(s), 'voted');
  const mine = {
    player_id: 'p1',
    selections: ['s2'],
    correct: ['s2'],
    incorrect: [],
    points_gained: 1,
    score_total: 2,
  };
  s = reduce(
    s,
    say('ITEM_RESULT', { round_id: 'r1', item_id: 'i1', true_senders: ['s2'], mine, scores: { p1: 2, p2: 4 } }),
  );
  s = reduce(s, say('NEW_ITEM', { ...item('i2', { item_index: 1 }), version: 6 }));
  assert.equal(playScreen(s), 'result', 'the result stays while the next reel waits');
  assert.equal(s.scores.p1, 2);
  s = reduce(s, say('START_VOTE', { round_id: 'r1', item_id: 'i2', k: 1, senders_selectable: [], version: 7 }));
  assert.equal(playScreen(s), 'vote');
  assert.equal(s.result, null);
});

test('a late vote closes the screen, and a refused one leaves it', () => {
  const s = play(synced());
  assert.equal(
    playScreen(reduce(s, say('VOTE_ACK', { round_id: 'r1', item_id: 'i1', accepted: false, reason: 'late' }))),
    'voted',
  );
  assert.equal(
    playScreen(reduce(s, say('VOTE_ACK', { round_id: 'r1', item_id: 'i1', accepted: false, reason: 'too_many' }))),
    'vote',
  );
  assert.equal(
    playScreen(
      reduce(s, say('VOTE_ACK', { round_id: 'r1', item_id: 'i1', accepted: false, reason: 'not_expected_voter' })),
    ),
    'look',
  );
});

test('a seat is lost with its reason, and given back without one', () => {
  const lobby = synced({ phase: 'lobby', game: null });
  let s = play(lobby, say('SLOT_INVALIDATED', { player_id: 'p1', reason: 'freed_by_master' }));
  assert.deepEqual([s.my_player_id, s.seat, playScreen(s)], [null, 'freed_by_master', 'pick']);
  s = play(lobby, say('SLOT_INVALIDATED', { player_id: 'p2', reason: 'freed_by_master' }));
  assert.equal(s.my_player_id, 'p1', 'somebody else lost theirs');
  s = play(lobby, say('PLAYER_UPDATE', { player: player(1, { status: 'free' }) }));
  assert.deepEqual([s.my_player_id, s.seat], [null, null]);
  s = play(lobby, synced({ phase: 'lobby', game: null, my_player_id: null }));
  assert.equal(s.seat, 'lost', 'freed while the phone was away');
});

test('a spectator sees the game and no vote; a freed seat is offered', () => {
  const watcher = synced({ my_player_id: null });
  assert.equal(playScreen(play(watcher)), 'look');
  const free = synced({ my_player_id: null, players_visible: [player(1, { status: 'free' }), player(2)] });
  assert.equal(playScreen(play(free)), 'pick');
  assert.equal(playScreen({ ...play(free), watching: true }), 'look');
});

test('the big screen follows votes, plays a reveal once and shows it still after a reload', () => {
  const all = {
    players_all: [player(1), player(2)],
    senders_all: [],
    connected_player_ids: ['p1'],
    my_player_id: null,
  };
  const start = { ...fresh('master') };
  let s = reduce(
    start,
    synced({ ...all, game: gameAt('vote', { votes_received_player_ids: ['p1'], expected_player_ids: ['p1', 'p2'] }) }),
  );
  assert.equal(masterScreen(s), 'vote');
  s = reduce(s, say('PLAYER_VOTED', { round_id: 'r1', item_id: 'i1', player_id: 'p2' }));
  s = reduce(s, say('PLAYER_VOTED', { round_id: 'r1', item_id: 'i1', player_id: 'p2' }));
  assert.deepEqual(s.game.voted, ['p1', 'p2']);
  const results = {
    round_id: 'r1',
    item_id: 'i1',
    true_senders: ['s1'],
    players: [{ player_id: 'p1', selections: [], correct: [], incorrect: [], points_gained: 0, score_total: 1 }],
    version: 4,
  };
  s = reduce(s, say('VOTE_RESULTS', results));
  assert.deepEqual([masterScreen(s), s.game.live], ['reveal', true]);
  const still = reduce(
    start,
    synced({ ...all, game: gameAt('reveal_wait', { version: 4, current_vote_results: results }) }),
  );
  assert.deepEqual([masterScreen(still), still.game.live, still.game.results.true_senders], ['reveal', false, ['s1']]);
  assert.equal(reduce(s, say('PRESENCE', { player_id: 'p2', connected: true })).online.length, 2);
});

test('why the game cannot start names who is missing', () => {
  const state = (players) => ({ ...fresh('master'), players });
  assert.equal(startBlocked(state([player(1)])).word, 'few');
  assert.deepEqual(
    startBlocked(state([player(1), player(2, { status: 'free' })])).players.map((p) => p.name),
    ['N2'],
  );
  assert.equal(startBlocked(state([player(1), player(2), player(3, { active: false, status: 'disabled' })])), null);
});

test('equal scores share a rank and the next one skips; a recap tells who moved', () => {
  const s = { ...fresh(), players: [1, 2, 3, 4].map((n) => player(n)), scores: { p1: 5, p2: 7, p3: 5, p4: 1 } };
  assert.deepEqual(
    ranked(s).map((r) => [r.player_id, r.rank]),
    [
      ['p2', 1],
      ['p1', 2],
      ['p3', 2],
      ['p4', 4],
    ],
  );
  const { before, after } = moves([
    { player_id: 'a', points_round: 0, score_total: 5 },
    { player_id: 'b', points_round: 4, score_total: 6 },
  ]);
  assert.deepEqual([before.order, after.order, after.rank], [['a', 'b'], ['b', 'a'], { a: 2, b: 1 }]);
});

/** A world where time moves by hand and sockets are lists. */
function world() {
  const sockets = [];
  const timers = new Map();
  let id = 0;
  let now = 1000;
  const io = {
    makeSocket: () => {
      const ws = {
        readyState: 0,
        sent: [],
        send: (t) => ws.sent.push(JSON.parse(t)),
        close: () => (ws.readyState = 3),
      };
      sockets.push(ws);
      return ws;
    },
    setTimeout: (f, ms) => {
      id += 1;
      timers.set(id, { f, at: now + ms });
      return id;
    },
    clearTimeout: (x) => timers.delete(x),
    now: () => now,
    random: () => 0.5,
  };
  const pass = (ms) => {
    const end = now + ms;
    for (;;) {
      const next = [...timers].filter(([, x]) => x.at <= end).sort((a, b) => a[1].at - b[1].at)[0];
      if (!next) break;
      now = next[1].at;
      timers.delete(next[0]);
      next[1].f();
    }
    now = end;
  };
  const client = new RoomClient({ url: 'ws:', code: 'ABCD2345', deviceId: 'device-1', io });
  const last = () => sockets.at(-1);
  const open = () => {
    last().readyState = 1;
    last().onopen();
  };
  const hear = (m) => last().onmessage({ data: JSON.stringify(m) });
  return { client, sockets, last, open, hear, pass, types: () => last().sent.map((m) => m.type) };
}
const wish = (client, selections) =>
  client.want({
    key: 'vote',
    type: 'SUBMIT_VOTE',
    payload: { round_id: 'r1', item_id: 'i1', selections },
    needed: (s) => s.game?.status === 'vote' && s.game.item?.item_id === 'i1',
  });

test('the line asks for the state first and comes back with the spec’s pauses', () => {
  const w = world();
  w.client.connect();
  w.open();
  assert.deepEqual(w.types(), ['PING', 'STATE_SYNC']);
  assert.deepEqual(w.last().sent[1].payload, { code: 'ABCD2345', device_id: 'device-1', photos: 'links' });
  w.hear(synced());
  assert.equal(w.client.link, 'live');
  w.last().onclose({ code: 1006 });
  const gaps = [];
  for (let i = 0; i < 7; i += 1) {
    const had = w.sockets.length;
    let ms = 0;
    while (w.sockets.length === had) {
      w.pass(100);
      ms += 100;
    }
    gaps.push(ms);
    w.last().onclose({ code: 1006 });
  }
  assert.deepEqual(gaps, [500, 1000, 2000, 4000, 8000, 10000, 10000]);
  for (const r of [0, 1])
    assert.equal(
      waitBefore(0, () => r),
      r ? 600 : 400,
    );
  w.client.stop();
});

test('a vote given without a connection is sent once it is back, and only while it is wanted', () => {
  const w = world();
  w.client.connect();
  w.open();
  w.hear(synced());
  w.last().onclose({ code: 1006 });
  wish(w.client, ['s1']);
  wish(w.client, ['s2']);
  w.pass(500);
  w.open();
  assert.deepEqual(w.types(), ['PING', 'STATE_SYNC'], 'nothing before the state is known');
  w.hear(synced());
  const votes = () => w.last().sent.filter((m) => m.type === 'SUBMIT_VOTE');
  assert.deepEqual(
    votes().map((m) => m.payload.selections),
    [['s2']],
    'the last tap counts',
  );
  w.hear({ ...say('VOTE_ACK', { round_id: 'r1', item_id: 'i1', accepted: true }), id: votes()[0].id });
  assert.deepEqual(w.client.state.game.my_vote.selections, ['s2']);
  w.hear(synced({ game: gameAt('vote', { my_vote: { selections: ['s2'], ts: 1 } }) }));
  assert.equal(votes().length, 1, 'an answered vote is not sent again');

  wish(w.client, ['s3']);
  w.last().onclose({ code: 1006 });
  w.pass(500);
  w.open();
  w.hear(synced({ game: gameAt('reveal_wait', { version: 9 }) }));
  assert.equal(votes().length, 0, 'the vote closed meanwhile');
  assert.equal(w.client.wants('vote'), null);
  w.client.stop();
});

test('a silent line is asked, then given up; the server’s clock is known', () => {
  const w = world();
  w.client.connect();
  w.open();
  w.hear({ type: 'PONG', payload: { now: 61000 } });
  w.hear(synced());
  assert.equal(w.client.serverNow(), 61000);
  w.pass(20000);
  assert.equal(w.types().at(-1), 'PING');
  w.hear({ type: 'PONG', payload: { now: 81000 } });
  assert.equal(w.client.link, 'live');
  w.pass(26000);
  assert.equal(w.client.link, 'waiting');
  w.client.stop();
});

test('a room that is gone ends the line with its reason', () => {
  /** @type {[(w: any) => void, string][]} */
  const ends = [
    [(w) => w.hear({ type: 'ERROR', payload: { error: 'room_not_found' }, id: 'sync' }), 'unknown'],
    [(w) => w.hear({ type: 'ERROR', payload: { error: 'room_expired' } }), 'expired'],
    [(w) => w.last().onclose({ code: 4410 }), 'expired'],
    [(w) => w.last().onclose({ code: 4503 }), 'full'],
    [
      (w) => {
        w.hear(synced());
        w.hear(say('ROOM_CLOSED_BROADCAST', { reason: 'closed_by_master' }));
      },
      'closed',
    ],
  ];
  for (const [act, why] of ends) {
    const w = world();
    w.client.connect();
    w.open();
    act(w);
    assert.equal(w.client.state.gone?.why, why);
    assert.equal(w.client.link, 'ended');
    w.pass(60000);
    assert.equal(w.sockets.length, 1, 'no further try');
  }
  assert.deepEqual([1001, 1006, 4429].map(afterClose), ['again', 'again', 'slow']);
});

test('rounds: the same word gives the same rounds, and every rule holds', () => {
  const people = Array.from({ length: 9 }, (_, i) => ({
    id: `k${i}`,
    name: `N${i}`,
    active: i !== 8,
    urls: Array.from({ length: 1 + i }, (__, j) => `http://x.test/${i}/${j}`),
  }));
  for (const [a, b] of [
    [1, 4],
    [2, 3],
    [5, 6],
  ]) {
    const url = `http://x.test/both/${a}`;
    people[a].urls.push(url);
    people[b].urls.push(url);
  }
  for (const seed of ['lantern', 'comet', 'x', 'é']) {
    const one = buildRounds(people, { rounds: 4, seed });
    const again = buildRounds([...people].reverse(), { rounds: 4, seed });
    assert.deepEqual(
      one.rounds.map((r) => r.map((i) => i.url)),
      again.rounds.map((r) => r.map((i) => i.url)),
    );
    const urls = one.rounds.flat().map((i) => i.url);
    assert.equal(new Set(urls).size, urls.length, 'each reel once');
    for (const round of one.rounds) {
      const who = round.flatMap((i) => i.senders);
      assert.equal(new Set(who).size, who.length, 'a sender once per round');
      const several = round.map((i) => i.senders.length > 1);
      assert.ok(several.filter(Boolean).length <= 1 && !several.slice(1).includes(true), 'one shared reel, first');
      assert.ok(!who.includes('k8'), 'who is off is not asked for');
    }
    const sizes = one.rounds.map((r) => r.length);
    assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 2, `about as long: ${sizes}`);
    const left = Object.values(one.left)
      .flatMap((m) => [...m.values()])
      .reduce((a, b) => a + b, 0);
    const sent = people.reduce((n, p) => n + p.urls.length, 0);
    const shown = one.rounds.flat().reduce((n, i) => n + i.senders.length, 0);
    assert.equal(left + shown, sent, 'every reel is shown or its absence explained');
  }
  assert.notDeepEqual(
    buildRounds(people, { rounds: 4, seed: 'a' }).rounds,
    buildRounds(people, { rounds: 4, seed: 'b' }).rounds,
  );
  assert.equal(buildRounds(people, { rounds: 1, seed: 'a' }).sharedLeft, 2, 'two shared reels find no round');
  const body = roomBody(people, buildRounds(people, { rounds: 2, seed: 'a' }).rounds);
  assert.deepEqual(body.senders[8], { sender_id: 's9', name: 'N8', active: false, reels_count: 9 });
  for (const r of body.rounds) for (const i of r.items) assert.match(i.true_sender_ids[0], /^s\d+$/);
});

test('imports: exports with broken accents, links in texts, pasted lines and their faults', () => {
  const doc = {
    participants: [],
    messages: [
      { sender_name: 'Zo\u00c3\u00ab', share: { link: 'https://www.instagram.com/reel/AAA/?igsh=1' } },
      { sender_name: 'Zo\u00c3\u00ab', content: 'look https://instagram.com/reels/BBB ok' },
      { sender_name: 'Nico', share: { link: 'https://www.instagram.com/p/CCC/' } },
      { sender_name: 'Nico', share: { link: 'javascript:alert(1)' } },
      { content: 'https://www.instagram.com/reel/NOBODY/' },
    ],
  };
  const read = readExport(JSON.stringify(doc));
  assert.deepEqual([...read.people.keys()], ['Zoë']);
  assert.deepEqual(
    [...read.people.get('Zoë')],
    ['https://www.instagram.com/reel/AAA/', 'https://www.instagram.com/reel/BBB/'],
  );
  assert.equal(read.others, 1);
  assert.throws(() => readExport('nope'), { word: 'json' });
  assert.throws(() => readExport('{"a":1}'), { word: 'shape' });
  assert.equal(mend('Zoë'), 'Zoë');
  const lines = readLines(
    'Camille, https://a.test/1\n  Nico ; http://a.test/2 \nnothing\n, https://a.test/3\n\nCamille\thttps://a.test/4',
  );
  assert.deepEqual(
    [...lines.people].map(([n, u]) => [n, u.size]),
    [
      ['Camille', 2],
      ['Nico', 1],
    ],
  );
  assert.deepEqual(
    lines.faults.map((f) => [f.line, f.word]),
    [
      [3, 'url'],
      [4, 'name'],
    ],
  );
  assert.equal(cleanUrl('ftp://a.test/'), null);
  assert.equal(cleanUrl(`https://a.test/${'x'.repeat(3000)}`), null);
  assert.equal(cleanName('  a\u0000 b  '.concat('c'.repeat(40))).length, 24);
  let people = addPeople(
    [],
    new Map([
      ['Pixel', new Set(['https://a.test/1'])],
      ['pixel', new Set(['https://a.test/2'])],
    ]),
  );
  const [[first, twin]] = [...twins(people)];
  people = merge(people, first, twin.id);
  assert.deepEqual([people.length, people[0].urls.length], [1, 2]);
  people = addPeople(people, new Map([['pixel', new Set(['https://a.test/3'])]]));
  assert.deepEqual([people.length, people[0].urls.length], [1, 3], 'a merged spelling stays merged');
});

test('codes and ids: every spelling of a code, a device id without a secure context', () => {
  for (const x of ['abcd2345', ' ABCD-2345 ', 'ab cd 23 45']) assert.equal(readCode(x), 'ABCD2345');
  for (const x of ['', 'abc', 'ABCD_2345', 'A'.repeat(13), '<b>']) assert.equal(readCode(x), null);
  assert.equal(showCode('ABCD2345'), 'ABCD-2345');
  assert.match(uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('marks: the same on every screen, letters as people see them', () => {
  assert.equal(placeOf('s3'), placeOf('p3'));
  assert.deepEqual(lookOf(placeOf('s1')), { color: 0, pattern: 0 });
  assert.deepEqual(lookOf(placeOf('s13')), { color: 0, pattern: 1 });
  assert.equal(lettersOf('camille'), 'Ca');
  assert.equal(lettersOf('Élodie'), 'Él');
  assert.equal(lettersOf('👩‍👩‍👧 us'), '👩‍👩‍👧');
  assert.equal(lettersOf(''), '?');
});

/** Reads a symbol back: format, unmasking, blocks, bytes. Written from the standard, not from the encoder. */
function readQr(grid) {
  const size = grid.length;
  const version = (size - 17) / 4;
  let format = 0;
  const spots = [
    [8, 0],
    [8, 1],
    [8, 2],
    [8, 3],
    [8, 4],
    [8, 5],
    [8, 7],
    [8, 8],
    [7, 8],
    [5, 8],
    [4, 8],
    [3, 8],
    [2, 8],
    [1, 8],
    [0, 8],
  ];
  for (const [r, c] of spots) format = (format << 1) | Number(grid[r][c]);
  format ^= 0b101010000010010;
  assert.equal(format >> 13, 0, 'level M');
  const mask = (format >> 10) & 7;
  const flips = [
    (i, j) => (i + j) % 2,
    (i) => i % 2,
    (_i, j) => j % 3,
    (i, j) => (i + j) % 3,
    (i, j) => ((i >> 1) + Math.floor(j / 3)) % 2,
    (i, j) => ((i * j) % 2) + ((i * j) % 3),
    (i, j) => (((i * j) % 2) + ((i * j) % 3)) % 2,
    (i, j) => (((i + j) % 2) + ((i * j) % 3)) % 2,
  ];
  const lines = { 1: [], 2: [6, 18], 3: [6, 22], 4: [6, 26], 5: [6, 30], 6: [6, 34], 7: [6, 22, 38], 8: [6, 24, 42] }[
    version
  ];
  const fixed = (r, c) => {
    if (r === 6 || c === 6) return true;
    if ((r < 9 && c < 9) || (r < 9 && c >= size - 8) || (r >= size - 8 && c < 9)) return true;
    if (version >= 7 && ((r < 6 && c >= size - 11) || (c < 6 && r >= size - 11))) return true;
    return lines.some((a) =>
      lines.some((b) => {
        const corner = (a === 6 && b === 6) || (a === 6 && b === size - 7) || (a === size - 7 && b === 6);
        return !corner && Math.abs(r - a) <= 2 && Math.abs(c - b) <= 2;
      }),
    );
  };
  const bits = [];
  let up = true;
  for (let x = size - 1; x > 0; x -= 2) {
    if (x === 6) x = 5;
    for (let n = 0; n < size; n += 1) {
      const r = up ? size - 1 - n : n;
      for (const c of [x, x - 1]) if (!fixed(r, c)) bits.push(Number(grid[r][c]) ^ Number(flips[mask](r, c) === 0));
    }
    up = !up;
  }
  const words = [];
  for (let i = 0; i + 8 <= bits.length; i += 8) words.push(parseInt(bits.slice(i, i + 8).join(''), 2));
  const shape = {
    1: [[1, 16]],
    2: [[1, 28]],
    3: [[1, 44]],
    4: [[2, 32]],
    5: [[2, 43]],
    6: [[4, 27]],
    7: [[4, 31]],
    8: [
      [2, 38],
      [2, 39],
    ],
  }[version];
  const extra = { 1: 10, 2: 16, 3: 26, 4: 18, 5: 24, 6: 16, 7: 18, 8: 22 }[version];
  const blocks = shape.flatMap(([n, len]) => Array.from({ length: n }, () => ({ len, data: [], error: [] })));
  let at = 0;
  for (let i = 0; i < Math.max(...blocks.map((b) => b.len)); i += 1)
    for (const b of blocks) if (i < b.len) b.data.push(words[at++]);
  for (let i = 0; i < extra; i += 1) for (const b of blocks) b.error.push(words[at++]);
  for (const b of blocks) assert.deepEqual(errorWords(b.data, extra), b.error, 'error words');
  const stream = blocks
    .flatMap((b) => b.data)
    .map((w) => w.toString(2).padStart(8, '0'))
    .join('');
  assert.equal(stream.slice(0, 4), '0100', 'byte mode');
  const length = parseInt(stream.slice(4, 12), 2);
  const bytes = Array.from({ length }, (_, i) => parseInt(stream.slice(12 + i * 8, 20 + i * 8), 2));
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

test('the QR code reads back, and its error words are the standard’s', () => {
  // The worked example known from textbooks: HELLO WORLD, version 1-M.
  assert.deepEqual(
    errorWords([32, 91, 11, 120, 209, 114, 220, 77, 67, 64, 236, 17, 236, 17, 236, 17], 10),
    [196, 35, 39, 119, 235, 215, 231, 226, 93, 23],
  );
  for (const text of [
    'hi',
    'http://192.168.1.20:7979/r/ABCD2345',
    `http://game.example.test/party#take=ABCD2345.${'k'.repeat(32)}`,
    'é'.repeat(60),
  ])
    for (const mask of [undefined, 0, 1, 2, 3, 4, 5, 6, 7]) assert.equal(readQr(matrix(text, mask)), text);
  assert.throws(() => matrix('x'.repeat(400)), /too long/);
});

test('marks of names that begin alike have letters of their own', () => {
  const among = (...names) => [...lettersAmong(names).values()];
  assert.deepEqual(among('Camille', 'Nico'), ['Ca', 'Ni']);
  assert.deepEqual(among('Christophe', 'Christine', 'Christian'), ['Cho', 'Chn', 'Cha']);
  assert.deepEqual(among('Anna Lena', 'Anna Lisa', 'Anna'), ['AL', 'ALi', 'An']);
  for (const names of [
    Array.from({ length: 64 }, (_, i) => `Player ${i}`),
    Array.from({ length: 64 }, (_, i) => `${'x'.repeat(20)}${i}`),
    ['Al', 'Ala', 'Alan', 'Alana', 'AL', 'Äl'],
    ['🎉', '🎉🎉', '🎉 party', '?', '??'],
    ['李小龙', '李小明', '李'],
  ]) {
    const letters = among(...names).map((x) => x.toLowerCase());
    assert.equal(new Set(letters).size, names.length, letters.join(' '));
    for (const one of letters) assert.ok([...one].length <= 3, one);
  }
});

test('the next game knows who sat where, and rules reach every screen', () => {
  const people = [{ id: 'k2' }, { id: 'k1' }, { id: 'k9' }];
  assert.deepEqual(seatsOf(people), { k2: 'p1', k1: 'p2', k9: 'p3' });
  assert.deepEqual(carriedSeats(people, { k1: 'p1', k2: 'p2' }), { s1: 'p2', s2: 'p1' });
  assert.deepEqual(carriedSeats(people), {});
  const game = { status: 'idle', version: 1, round_id: 'r1', item: { item_id: 'i1' } };
  let state = { ...fresh(), code: 'ABCD', phase: 'game', game };
  const hear = (type, payload, intent) => {
    state = reduce(state, { type, payload: { code: 'ABCD', ...payload } }, intent);
  };
  hear('RULES', { vote_ms: 20000, latecomers: true });
  assert.deepEqual(state.rules, { vote_ms: 20000, latecomers: true });
  assert.equal(playScreen(state), 'pick', 'a latecomer may sit down');
  hear('START_VOTE', { round_id: 'r1', item_id: 'i1', k: 1, version: 2, ends_at_ms: 77 });
  assert.equal(state.game.ends_at, 77);
  hear('TAKE_PLAYER_OK', { player_id: 'p_manual_1' }, { type: 'JOIN_LATE' });
  assert.equal(playScreen(state), 'look', 'and votes from the next reel on');
  hear('ROOM_MOVED', { next_code: 'EFGH' });
  assert.equal(state.next_code, 'EFGH');
});
