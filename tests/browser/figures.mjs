// Figures of the dashboard, by hand: `WORLDKEEP_BIN=target/release/worldkeep node tests/browser/figures.mjs [--small]`. Fills a
// store with a million keys, 100 000 jobs, 10 000 ships and 500 rooms (`--small`: a hundredth), opens every page and prints
// what it took: bytes, first paint, longest task, requests over 200 ms. Medians of three. No test: times belong to a machine.
import net from 'node:net';
import { ask, launch, open, Server, until } from './kit.mjs';
import { pagesOf } from './seed.mjs';

const share = process.argv.includes('--small') ? 100 : 1;
const WANTED = { keys: 1_000_000 / share, jobs: 100_000 / share, ships: 10_000 / share, rooms: Math.ceil(500 / share) };
const SLOW_MS = 200;

/** Many commands over one connection, in pieces; the answers are counted, not read. */
async function pour(server, count, command) {
  const line = net.connect(server.resp, '127.0.0.1');
  let answers = 0;
  line.on('data', (d) => {
    for (const byte of d) if (byte === 10) answers += 1;
  });
  for (let n = 0; n < count; n += 5000) {
    let out = '';
    for (let i = n; i < Math.min(n + 5000, count); i += 1) {
      const words = command(i).map(String);
      out += `*${words.length}\r\n${words.map((w) => `$${Buffer.byteLength(w)}\r\n${w}\r\n`).join('')}`;
    }
    line.write(out);
    await until('the store to keep up', () => answers >= Math.min(n + 5000, count), 60000);
  }
  line.destroy();
}

async function jobs(server) {
  for (let n = 0; n < WANTED.jobs; n += 500)
    await ask(server, 'POST', '/api/jobs:batch', {
      jobs: Array.from({ length: Math.min(500, WANTED.jobs - n) }, (_, i) => ({
        jobId: `job-${n + i}`,
        type: ['email', 'invoice', 'thumbnail', 'report'][(n + i) % 4],
        payload: { to: `someone-${n + i}@example.org` },
        schedule: (n + i) % 5 === 0 ? { delay: 3_600_000 + n + i } : undefined,
      })),
    });
}

async function rooms(server) {
  const people = ['Camille', 'Nico', 'Pixel', 'Comet'];
  const senders = people.map((name, i) => ({ sender_id: `s${i}`, name, active: true, reels_count: 1 }));
  const items = people.map((_, i) => ({
    item_id: `i${i}`,
    k: 1,
    reel: { reel_id: `r${i}`, url: `https://example.org/${i}` },
    true_sender_ids: [`s${i}`],
  }));
  for (let n = 0; n < WANTED.rooms; n += 1)
    await ask(server, 'POST', '/api/rooms', { senders, rounds: [{ round_id: 'one', items }] });
}

/** Ships like the first one, in the store that the engine reads at its next start. */
async function ships(server) {
  const player = await ask(server, 'POST', '/api/auth/register', { username: 'someone', password: 'figures-12' });
  const ship = player.ship_id || player.player?.ship_id || player.ships?.[0]?.ship_id;
  const raw = await server.redis('HGETALL', `ship:${ship}`);
  const fields = raw.split('\r\n').filter((part) => part && !/^[*$]/.test(part));
  const id = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  const own = (n) =>
    fields.map((value, i) => (fields[i - 1] === 'ship_id' ? id(n) : fields[i - 1] === 'name' ? `Ship ${n}` : value));
  await server.down();
  await server.up();
  await pour(server, WANTED.ships, (n) => ['HSET', `ship:${id(n)}`, ...own(n)]);
  await pour(server, WANTED.ships, (n) => ['SADD', 'system:sol:ships', id(n)]);
  await server.down();
  await server.up();
}

async function fill(server) {
  await jobs(server);
  await rooms(server);
  await ships(server).catch((e) => console.log(`no ships: ${e.message}`));
  const have = Number((await server.redis('DBSIZE')).slice(1));
  await pour(server, Math.max(0, WANTED.keys - have), (n) => ['SET', `session:${n}`, `value of ${n}`]);
  console.log(`keys in the store: ${(await server.redis('DBSIZE')).trim().slice(1)}`);
}

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;

/** Opens a page anew and says what that took. */
async function visit(browser, server, at) {
  const page = await open(browser, server, at);
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const one of list.getEntries()) window.longest = Math.max(window.longest, one.duration);
    }).observe({ type: 'longtask', buffered: true });
  });
  await page.waitForTimeout(2500);
  const seen = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    longest: window.longest,
    bytes: performance
      .getEntriesByType('resource')
      .filter((x) => !/\/api\/|\/ws\//.test(x.name))
      .reduce((n, x) => n + /** @type {any} */ (x).transferSize, 0),
    calls: performance
      .getEntriesByType('resource')
      .filter((x) => /\/api\/|\/metrics|\/readyz/.test(x.name))
      .map((x) => ({ at: x.name.replace(location.origin, ''), ms: x.duration })),
  }));
  return { ...seen, wrong: await page.done() };
}

const server = await Server.start();
const browser = await launch();
try {
  await fill(server);
  for (const at of [...(await pagesOf(await open(browser, server, '/'))), '/docs/', '/fly', '/party', '/play']) {
    const seen = [];
    for (let n = 0; n < 3; n += 1) seen.push(await visit(browser, server, at));
    const of = (pick) => Math.round(median(seen.map(pick)));
    const slow = seen.flatMap((x) => x.calls).filter((x) => x.ms > SLOW_MS);
    const names = [...new Set(slow.map((x) => `${x.at} ${Math.round(x.ms)} ms`))];
    console.log(
      `${at.padEnd(18)} ${of((x) => x.bytes / 1000)} kB, painted after ${of((x) => x.paint)} ms, longest task ${of((x) => x.longest)} ms${names.length ? `\n    slow: ${names.join('; ')}` : ''}${seen.some((x) => x.wrong.length) ? `\n    ${seen.flatMap((x) => x.wrong).join('; ')}` : ''}`,
    );
  }
} finally {
  await browser.close();
  await server.stop();
}
