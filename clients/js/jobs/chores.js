// The chores of a worker beside its jobs: it renews their leases, shows that it lives, hears wake-ups, cancellations and
// orders, moves due jobs, and takes back those of dead workers.
import { readFileSync } from 'node:fs';
import { JobsError, StoreError } from './errors.js';
import { scriptsDigest } from './script.js';
import { LISTENS } from './store.js';

/** A worker shows that it lives this often; its key lives three times as long (seed). */
const HEARTBEAT_MS = 10_000;
/** After a fault a renewal is tried again this soon, because a missed one costs a job. */
const AGAIN_MS = 500;
const RENEW_BATCH = 200;
/** The longest sleep of the helper; due jobs are moved when they are due. */
const TICK_MS = 1000;
/** One look through the claimed jobs serves all processes this long; a little less than a tick. */
const RECLAIM_PAUSE_MS = 900;
const PROMOTE_BATCH = 100;

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export class Chores {
  #isOver = false;
  /** @type {Set<NodeJS.Timeout>} */
  #timers = new Set();
  #beats = 0;
  /** @type {import('ioredis').Redis | undefined} */
  #listener;
  #reclaimAt = 0;
  #holder = 'another process';
  /** @type {Set<Promise<unknown>>} */
  #underWay = new Set();

  /** @param {import('./worker.js').Worker} worker */
  constructor(worker) {
    this.worker = worker;
    this.jobs = worker.jobs;
  }

  /** Enters the worker into the registry. A living one of the same id is refused. */
  async register() {
    const { worker, jobs } = this;
    await jobs.read((redis) => redis.call('PING'));
    worker.startedAt = jobs.now();
    const named = {
      now: jobs.now(),
      opts: jobs.opts,
      worker: worker.serverId,
      pid: worker.pid,
      hostname: worker.hostname,
    };
    const until = performance.now() + jobs.options.timeoutMs;
    for (;;) {
      try {
        const answer = await jobs.script('register', { ...named, text: this.#entry() });
        if (answer === 'done') return;
        if (!(await this.#replaces(answer[1]))) break;
      } catch (error) {
        // The same process may enter itself twice.
        if (!(error instanceof StoreError) || performance.now() >= until) throw error;
      }
    }
    const message = `serverId ${worker.serverId} is in use by ${this.#holder}; give this worker an id of its own`;
    throw new JobsError('worker_in_use', message, { field: 'serverId' });
  }

  /** Takes a dead predecessor out: a process of this host that is gone. @param {string} text its entry */
  async #replaces(text) {
    const { jobs, worker } = this;
    let entry;
    try {
      entry = JSON.parse(text);
    } catch {
      return false;
    }
    this.#holder = `process ${entry.pid} on ${entry.hostname}`;
    if (entry.hostname !== worker.hostname || !Number.isSafeInteger(entry.pid) || isAlive(entry.pid)) return false;
    const old = { now: jobs.now(), opts: jobs.opts, worker: worker.serverId, pid: entry.pid, hostname: entry.hostname };
    return (await jobs.script('unregister', old)) === 'done';
  }

  /** The registry's bytes. */
  #entry() {
    const { serverId, facts, pid, hostname, concurrency, startedAt } = this.worker;
    const { stack, region, capabilities, types } = facts;
    const x = { version, concurrency, types, startedAt, scripts: scriptsDigest };
    return JSON.stringify({ serverId, stack, region, capabilities, lastSeen: this.jobs.now(), pid, hostname, x });
  }

  start() {
    const renewMs = (this.jobs.options.lockTtlS * 1000) / 3;
    this.#listen();
    this.#repeat(renewMs, async () => ((await this.#renewAll()) ? renewMs : Math.min(AGAIN_MS, renewMs)));
    this.#repeat(HEARTBEAT_MS, async () => {
      this.#beats += 1;
      await this.#beat(this.#beats % 3 === 0);
      return HEARTBEAT_MS;
    });
    this.#repeat(10, () => this.#help());
  }

  async stop() {
    this.#isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#listener) this.jobs.store.drop(this.#listener);
    // A sign of life that is under way must not enter the worker again after it has left.
    await Promise.allSettled(this.#underWay);
    const { worker, jobs } = this;
    try {
      await this.#flushCounts();
      const named = {
        now: jobs.now(),
        opts: jobs.opts,
        worker: worker.serverId,
        pid: worker.pid,
        hostname: worker.hostname,
      };
      await jobs.script('unregister', named);
    } catch (error) {
      worker.tell(error);
    }
  }

  /** Does something again and again; it says itself when next. @param {number} ms @param {() => Promise<number>} act */
  #repeat(ms, act) {
    if (this.#isOver) return;
    const timer = setTimeout(async () => {
      this.#timers.delete(timer);
      let next = AGAIN_MS;
      try {
        next = await this.#track(act());
      } catch (error) {
        this.worker.tell(error);
      }
      this.#repeat(next, act);
    }, ms);
    this.#timers.add(timer);
  }

  /** @template T @param {Promise<T>} work */
  #track(work) {
    this.#underWay.add(work);
    const forget = () => this.#underWay.delete(work);
    work.then(forget, forget);
    return work;
  }

  /** Renews all leases; false when the store did not answer for some. */
  async #renewAll() {
    const { running, serverId } = this.worker;
    const held = [...running.keys()];
    let isWell = true;
    for (let at = 0; at < held.length; at += RENEW_BATCH) {
      const ids = held.slice(at, at + RENEW_BATCH);
      let answers;
      try {
        answers = await this.jobs.script('renew', { worker: serverId, ttl: this.jobs.options.lockTtlS }, ids);
      } catch (error) {
        this.worker.tell(error);
        isWell = false;
      }
      for (const [n, id] of ids.entries()) {
        const cx = running.get(id);
        if (!cx) continue;
        const answer = answers?.[n] ?? (performance.now() >= cx.leaseUntil ? 0 : undefined);
        if (answer === 0) cx.cancel('lease_lost');
        else if (answer !== undefined) cx.extendLease();
        if (answer === 2) cx.cancel('asked');
      }
    }
    return isWell;
  }

  /** Shows that the worker lives. @param {boolean} renewsEntry */
  async #beat(renewsEntry) {
    const { serverId } = this.worker;
    const key = (/** @type {string} */ name) => this.jobs.store.key(name);
    /** @type {(string | number)[][]} */
    const commands = [
      ['SET', key(`workers:heartbeat:${serverId}`), this.jobs.now(), 'EX', 30],
      ['HGET', key('x:asked'), serverId],
      ['SISMEMBER', key('workers:active'), serverId],
    ];
    if (renewsEntry) {
      commands.push(['SET', key(`workers:${serverId}`), this.#entry()], ['SADD', key('workers:active'), serverId]);
    }
    const [, asked, isKnown] = await this.jobs.pipeline(commands);
    // A store that lost its data has lost the registry too.
    if (isKnown !== 1 && !renewsEntry && !this.#isOver) await this.#beat(true);
    this.#obey(asked);
  }

  /** @param {string | null} word */
  #obey(word) {
    if (word === 'quiet') this.worker.quiet();
    else if (word === 'stop') this.worker.stop().catch(() => {});
  }

  /** Hears what the queue and its operators say, for ever. */
  #listen() {
    const [wake, cancel, control] = ['x:wake', 'x:cancel', 'x:control'].map((name) => this.jobs.store.key(name));
    const listener = this.jobs.store.open({ ...LISTENS, autoResubscribe: true });
    this.#listener = listener;
    const types = new Set(this.worker.facts.types);
    listener.on('message', (channel, text) => {
      if (channel === wake) {
        if (types.has(text) || text === '' || text === '*') this.worker.wake();
      } else if (channel === cancel) {
        this.worker.running.get(text)?.cancel('asked');
      } else {
        const [word, id] = text.split(' ');
        if (id === this.worker.serverId) this.#obey(word);
      }
    });
    // Messages may have been missed: jobs may wait, a heartbeat tells orders, a renewal cancellations.
    listener.on('ready', async () => {
      try {
        await listener.subscribe(wake, cancel, control);
        this.worker.wake();
        if (this.#isOver) return;
        await this.#track(this.#beat(false));
        await this.#track(this.#renewAll());
      } catch (error) {
        if (!this.#isOver) this.worker.tell(error);
      }
    });
  }

  /** Moves due jobs, takes back those of dead workers, writes counts; says how long there is nothing to do. */
  async #help() {
    let moved = 0;
    let due = '';
    do {
      [moved, due] = await this.jobs.script('promote', {
        now: this.jobs.now(),
        opts: this.jobs.opts,
        batch: PROMOTE_BATCH,
      });
    } while (moved === PROMOTE_BATCH && !this.#isOver);
    if (performance.now() >= this.#reclaimAt) {
      this.#reclaimAt = performance.now() + RECLAIM_PAUSE_MS;
      await this.#reclaim();
      await this.#flushCounts();
    }
    const tick = TICK_MS * (0.9 + 0.1 * Math.random());
    return due === '' ? tick : Math.max(1, Math.min(tick, Number(due) - this.jobs.now()));
  }

  async #reclaim() {
    let cursor = '0';
    do {
      const named = { max_recoveries: this.jobs.options.maxRecoveries, cursor, pause: RECLAIM_PAUSE_MS };
      const [next, ...flat] = await this.jobs.script('reclaim', { ...this.jobs.ending(), ...named });
      cursor = String(next);
      for (let at = 0; at + 2 < flat.length; at += 3) {
        const outcome = { dead: 'dead', cancelled: 'failed' }[/** @type {string} */ (flat[at + 2])] ?? 'recovered';
        this.worker.tally.add(flat[at + 1], outcome, 0, this.jobs.now());
      }
    } while (cursor !== '0' && !this.#isOver);
  }

  async #flushCounts() {
    const commands = this.worker.tally.take((name) => this.jobs.store.key(name));
    if (commands.length > 0) await this.jobs.pipeline(commands);
  }
}

/** Whether a process of this machine is there. @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH';
  }
}
