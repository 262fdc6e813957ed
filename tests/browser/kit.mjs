// What the browser tests share: one worldkeep on a free port with a scratch directory, on its embedded engine or on a
// redis-server of its own, a RESP line into it, one Chromium, and pages that remember everything they must not do
// (console errors, foreign requests, policy violations). Processes are ended by their id.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const WEB = path.join(ROOT, 'crates/server/web');
export const SHOTS = path.join(ROOT, 'target/screenshots');

/** The address of one of the pages' files, for `import` without a browser. */
export const webFile = (...parts) => pathToFileURL(path.join(WEB, ...parts)).href;

/** Just enough of a document for scripts that define elements and are never drawn. */
export const noBrowser = () =>
  Object.assign(globalThis, {
    HTMLElement: class {},
    customElements: { get: () => true },
    document: Object.assign(new EventTarget(), { documentElement: { lang: 'en' } }),
  });

const HOW = 'build it with `cargo build -p worldkeep-cli`, or name one in WORLDKEEP_BIN';

function binary() {
  const named = process.env.WORLDKEEP_BIN;
  if (named) return named;
  const target = process.env.CARGO_TARGET_DIR || path.join(ROOT, 'target');
  const found = ['debug', 'release']
    .map((kind) => path.join(target, kind, 'worldkeep'))
    .find((file) => existsSync(file));
  if (!found) throw new Error(`there is no worldkeep in ${target}; ${HOW}`);
  return found;
}

/** A port nobody listens on now. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {net.AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}

/** Asks again until `look` gives something true, or says what it waited for. */
export async function until(what, look, ms = 20000) {
  const end = Date.now() + ms;
  let last;
  for (;;) {
    try {
      const got = await look();
      if (got) return got;
      last = null;
    } catch (e) {
      if (e.final) throw e;
      last = e;
    }
    if (Date.now() > end) throw new Error(`waited ${ms} ms for ${what}${last ? `: ${last.message}` : ''}`);
    await new Promise((r) => {
      setTimeout(r, 50);
    });
  }
}

export class Server {
  store = 'embedded';
  dir = '';
  http = 0;
  resp = 0;
  accounts = '';
  /** @type {string[]} */
  args = [];
  /** @type {Record<string, string>} */
  env = {};

  /** `store`: `embedded` (also by WORLDKEEP_BROWSER_STORE) or `redis`; `beside` shares another server's Redis and accounts.
   *  @param {{args?: string[], env?: Record<string, string>, store?: string, beside?: Server}} [o] */
  static async start({ args = [], env = {}, store = process.env.WORLDKEEP_BROWSER_STORE || 'embedded', beside } = {}) {
    const s = new Server();
    s.store = beside ? 'redis' : store;
    s.dir = mkdtempSync(path.join(tmpdir(), 'worldkeep-browser-'));
    s.http = await freePort();
    s.resp = beside ? beside.resp : await freePort();
    s.accounts = beside ? beside.accounts : path.join(s.dir, 'accounts');
    s.args = args;
    s.env = env;
    try {
      if (s.store === 'redis' && !beside) await s.redisUp();
      await s.up();
    } catch (e) {
      await s.stop();
      throw e;
    }
    return s;
  }

  async redisUp() {
    this.redisChild = spawn(
      'redis-server',
      ['--port', String(this.resp), '--bind', '127.0.0.1', '--dir', this.dir, '--appendonly', 'yes', '--save', ''],
      { stdio: 'ignore' },
    );
    this.redisGone = new Promise((resolve) => {
      this.redisChild.once('exit', resolve);
      this.redisChild.once('error', resolve);
    });
    await until('redis-server to answer', () => this.redis('PING'));
  }

  async redisDown() {
    if (!this.redisChild) return;
    this.redisChild.kill('SIGTERM');
    await this.redisGone;
    this.redisChild = null;
  }

  get url() {
    return `http://127.0.0.1:${this.http}`;
  }

  async up() {
    const where =
      this.store === 'redis'
        ? ['--redis', `redis://127.0.0.1:${this.resp}`, '--data', this.accounts]
        : ['--data', path.join(this.dir, 'data'), '--resp', `127.0.0.1:${this.resp}`];
    const line = ['serve', '--http', `127.0.0.1:${this.http}`, ...where, '--no-demo', ...this.args];
    this.said = '';
    this.child = spawn(binary(), line, {
      cwd: this.dir,
      env: { PATH: process.env.PATH, HOME: this.dir, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const keep = (chunk) => {
      this.said = (this.said + chunk).slice(-8000);
    };
    this.child.stdout.on('data', keep);
    this.child.stderr.on('data', keep);
    this.gone = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => {
        this.ended = { code, signal };
        resolve(this.ended);
      });
    });
    this.ended = null;
    await until('worldkeep to answer', async () => {
      if (this.ended)
        throw Object.assign(new Error(`worldkeep ended with ${JSON.stringify(this.ended)}`), { final: true });
      return (await fetch(`${this.url}/healthz`)).ok;
    }).catch(async (e) => {
      await this.down();
      throw new Error(`${e.message}\n${this.said}`);
    });
  }

  /** Stops it as an operator would; after ten seconds, for good. */
  async down() {
    if (this.ended) return;
    this.child.kill('SIGTERM');
    const late = setTimeout(() => this.child.kill('SIGKILL'), 10000);
    await this.gone;
    clearTimeout(late);
  }

  async stop() {
    await this.down();
    await this.redisDown();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** One command to the embedded engine over RESP; gives the answer, throws what it refuses. */
  async redis(...words) {
    const out = `*${words.length}\r\n${words
      .map((w) => {
        const s = String(w);
        return `$${Buffer.byteLength(s)}\r\n${s}\r\n`;
      })
      .join('')}`;
    const line = net.connect(this.resp, '127.0.0.1');
    try {
      line.write(out);
      const first = await new Promise((resolve, reject) => {
        line.once('data', (d) => resolve(String(d)));
        line.once('error', reject);
        line.setTimeout(5000, () => reject(new Error('no answer over RESP')));
      });
      if (first.startsWith('-')) throw new Error(first.trim());
      return first;
    } finally {
      line.destroy();
    }
  }

  /** An event as the rooms write it, for the feed. */
  roomEvent(type, id, body = {}) {
    return this.redis(
      'XADD',
      'wk:rooms:events',
      '*',
      'type',
      type,
      'at',
      Date.now(),
      'id',
      id,
      'body',
      JSON.stringify(body),
    );
  }
}

/** A request that must be answered well; what it answered. */
export async function ask(server, method, at, body) {
  const answer = await fetch(server.url + at, {
    method,
    headers: body ? { 'Content-Type': 'application/json' } : {},
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${at}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });

/** A page that writes down what it must not do. `allow` names console texts that a test expects. */
export async function open(
  browser,
  server,
  at = '/',
  {
    width = 1440,
    height = 900,
    scheme = 'light',
    lang = 'en-GB',
    motion = 'no-preference',
    colors = 'none',
    touch = false,
    allow = [],
  } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    locale: lang,
    reducedMotion: motion,
    forcedColors: colors,
    hasTouch: touch,
    isMobile: touch,
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.url });
  const page = await context.newPage();
  const wrong = [];
  page.on('console', (m) => {
    if (['error', 'warning'].includes(m.type()) && !allow.some((a) => m.text().includes(a)))
      wrong.push(`console ${m.type()}: ${m.text()} ${m.location()?.url || ''}`);
  });
  page.on('pageerror', (e) => wrong.push(`page error: ${e.stack || e.message}`));
  page.on('request', (r) => {
    const u = new URL(r.url());
    if (u.host !== new URL(server.url).host && u.protocol !== 'data:') wrong.push(`foreign request: ${r.url()}`);
  });
  await page.addInitScript(() => {
    window.wkViolations = [];
    document.addEventListener('securitypolicyviolation', (e) =>
      window.wkViolations.push(`${e.violatedDirective} ${e.blockedURI}`),
    );
  });
  await page.goto(server.url + at);
  await page.waitForSelector('h1:not(:empty)').catch(async (e) => {
    const seen = await page.evaluate(() => document.body.innerText.slice(0, 500)).catch(() => '(no answer)');
    throw new Error(`${e.message}\npage: ${seen}\n${wrong.join('\n')}\nserver: ${server.said}`);
  });
  page.wrong = async () => [...wrong, ...(await page.evaluate(() => window.wkViolations)).map((v) => `policy: ${v}`)];
  page.done = async () => {
    const list = await page.wrong();
    await context.close();
    return list;
  };
  return page;
}

export async function shot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
}

/** One server and one browser for all tests of a file; `fill` puts something into the server, and what it gives is `made`.
 *  @template T @param {(server: Server) => Promise<T>} fill
 *  @returns {{server: Server, browser: any, made: T}} */
export function stage(fill) {
  const at = { server: null, browser: null, made: null };
  before(async () => {
    at.server = await Server.start();
    at.browser = await launch();
    at.made = await fill(at.server);
  });
  after(async () => {
    await at.browser?.close();
    await at.server?.stop();
  });
  return at;
}

/** Pages beside the dashboard. */
export const BESIDE = ['/party', '/play', '/fly', '/docs/'];

/** Waits until a page has its title and nothing is loading. */
export const loaded = (page) =>
  page.waitForFunction(() => document.querySelector('h1:not(:empty)') && !document.querySelector('.view .skeleton'));

/** How far the page can be pushed sideways; 0 is right. */
export const sideways = (page) =>
  page.evaluate(
    () =>
      Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - document.documentElement.clientWidth,
  );
