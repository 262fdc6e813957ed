// A worker: handlers by type, a number of slots, and everything that keeps a job safe while it runs.
//
// Always true: a job runs only under a lease, which is renewed while it runs; a handler whose lease is lost is told and
// its result dropped; whatever is not finished when the worker ends goes back to the front.
import { EventEmitter } from 'node:events';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Chores } from './chores.js';
import { JobContext } from './context.js';
import { afterError, attemptArgs, completed, failed } from './ending.js';
import { Discard, StoreError } from './errors.js';
import { Job } from './job.js';
import { withResolvers } from './jobs.js';
import { Tally } from './tally.js';
import { checkWorker, defaultId } from './workeroptions.js';

/** Jobs that one call finishes or claims at most. */
const WORK_MAX = 64;
/** An idle worker looks by itself this often: foreign producers send no wake-up. */
const POLL_MS = 1000;
/** From so many slots on two calls are under way at once, so that handlers run while the store works. */
const TWO_CALLS = 16;
/** How many stretches of jobs for others a claim goes through before it rests. */
const DEEPER_MAX = 20;
/** The first wait after a failed call, and the longest. */
const RETRY_MS = [10, 160];
/** How long handlers have after they were told that the worker stops. */
const LAST_CALL_MS = 5000;

/** Ordered: later ones include what earlier ones forbid. */
export const PHASE = { running: 0, quiet: 1, draining: 2, cancelling: 3, handBack: 4 };

/** @typedef {import('./ending.js').Done} Done */

export class Worker extends EventEmitter {
  #handlers;
  #phase = PHASE.running;
  /** @type {Set<() => void>} */
  #sleepers = new Set();
  /** @type {Done[]} */
  #done = [];
  /** Slots in use, and slots for which a claim is under way. */
  #busy = 0;
  #claiming = 0;
  #mayHaveMore = true;
  #deeper = 0;
  #memory = { head: '', last: '', index: 0, since: 0 };
  #calls = 0;
  #isUnsure = false;
  /** @type {Promise<void> | undefined} */
  #gate;
  /** @type {Promise<void> | undefined} */
  #run;
  #dropped = withResolvers();
  /** Fulfilled when the phase moves on. */
  #moved = withResolvers();

  /** @param {import('./jobs.js').Jobs} jobs @param {Record<string, any>} options */
  constructor(jobs, options) {
    super();
    const {
      handlers,
      concurrency = 1,
      serverId = defaultId(),
      stack = 'node',
      region,
      capabilities = [],
      graceMs = 25_000,
      ...rest
    } = options;
    checkWorker(serverId, handlers, concurrency, Object.keys(rest));
    this.jobs = jobs;
    this.serverId = serverId;
    this.concurrency = concurrency;
    this.graceMs = graceMs;
    this.#handlers = new Map(Object.entries(handlers));
    /** Our own: every job that is held, until its end is written. @type {Map<string, JobContext>} */
    this.running = new Map();
    this.tally = new Tally();
    this.pid = process.pid;
    this.hostname = hostname();
    this.facts = { stack, region, capabilities, types: [...this.#handlers.keys()] };
    this.startedAt = 0;
    /** What this worker did: `leaseLost` counts results that were dropped. */
    this.counts = { completed: 0, failed: 0, retried: 0, dead: 0, leaseLost: 0, faults: 0 };
    this.routing = JSON.stringify({ stack: [stack], capabilities, region: region === undefined ? [] : [region] });
    this.types = `\n${this.facts.types.join('\n')}\n`;
  }

  /** Registers, then claims and runs jobs until it is stopped. Ends when everything is written or handed back. */
  run() {
    this.#run ??= this.#live();
    return this.#run;
  }

  /** The same until the process is told to end. A second signal hands everything back at once. */
  async runUntilSignal() {
    const stop = () => {
      this.stop().catch(() => {});
    };
    for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) process.on(signal, stop);
    try {
      await this.run();
    } finally {
      for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) process.off(signal, stop);
    }
  }

  /** Claims nothing more; what runs goes on and the worker stays. */
  quiet() {
    this.#reach(PHASE.quiet);
  }

  /** Ends gracefully: waits for its jobs for the grace time, tells those that still run, and hands back what is left. Called a
   * second time it hands everything back at once.
   */
  async stop() {
    this.#reach(this.#phase >= PHASE.draining ? PHASE.handBack : PHASE.draining);
    await this.#run;
  }

  /** @param {number} phase */
  #reach(phase) {
    if (phase <= this.#phase) return;
    this.#phase = phase;
    if (phase === PHASE.handBack) this.#dropped.resolve();
    const moved = this.#moved;
    this.#moved = withResolvers();
    moved.resolve();
    this.wake(true);
  }

  /** Our own: there may be something to do. @param {boolean} [all] */
  wake(all = false) {
    this.#mayHaveMore = true;
    for (const one of this.#sleepers) {
      this.#sleepers.delete(one);
      one();
      if (!all) return;
    }
  }

  /** Our own: an error that heals by itself. @param {unknown} error */
  tell(error) {
    this.counts.faults += 1;
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }

  async #live() {
    const chores = new Chores(this);
    await chores.register();
    chores.start();
    try {
      const pumps = Array.from({ length: this.concurrency >= TWO_CALLS ? 2 : 1 }, () => this.#pump());
      const over = Promise.all(pumps);
      await Promise.race([over, this.#reached(PHASE.draining)]);
      await this.#windDown(over);
    } finally {
      await chores.stop();
    }
  }

  /** @param {Promise<unknown>} over */
  async #windDown(over) {
    const steps = /** @type {const} */ ([
      [this.graceMs, PHASE.cancelling],
      [LAST_CALL_MS, PHASE.handBack],
    ]);
    for (const [ms, next] of steps) {
      const timer = new AbortController();
      const waited = sleep(ms, false, { signal: timer.signal }).catch(() => true);
      const isOver = await Promise.race([
        over.then(() => true),
        waited,
        this.#reached(PHASE.handBack).then(() => false),
      ]);
      timer.abort();
      if (isOver) return;
      if (next === PHASE.cancelling) for (const cx of this.running.values()) cx.cancel('stopping');
      this.#reach(next);
    }
    await over;
  }

  /** @param {number} phase */
  async #reached(phase) {
    while (this.#phase < phase) await this.#moved.promise;
  }

  /** Ends when there may be something to do. @param {number} ms */
  #idle(ms) {
    return new Promise((/** @type {(value: void) => void} */ resolve) => {
      const timer = setTimeout(() => {
        this.#sleepers.delete(wake);
        this.#mayHaveMore = true;
        resolve();
      }, ms);
      const wake = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#sleepers.add(wake);
    });
  }

  /** One call to the store at a time: what is done goes out and new jobs come in. */
  async #pump() {
    for (;;) {
      const isClaiming = this.#phase === PHASE.running;
      const free = this.concurrency - this.#busy - this.#claiming;
      const want = isClaiming && (this.#mayHaveMore || this.#done.length > 0) ? Math.min(free, WORK_MAX) : 0;
      if (want > 0 || this.#done.length > 0) {
        await this.#turn(this.#done.splice(0, WORK_MAX), want);
      } else if (this.#phase >= PHASE.draining && this.#busy === 0 && this.#claiming === 0) {
        this.wake(true);
        return;
      } else {
        await this.#idle(POLL_MS * (0.8 + 0.4 * Math.random()));
      }
      // Attempts that end at the same time go out together.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** @param {Done[]} done @param {number} want */
  async #turn(done, want) {
    this.#claiming += want;
    // A wake-up that comes while the store looks is about something that it may not have seen.
    if (want > 0) this.#mayHaveMore = false;
    const { claimed, hasMore } = await this.exchange(done, want);
    this.#claiming -= want;
    if (want > 0) {
      this.#deeper = hasMore && claimed.length === 0 ? this.#deeper + 1 : 0;
      if (claimed.length === want || (hasMore && this.#deeper <= DEEPER_MAX)) this.#mayHaveMore = true;
      // There may be more than this call could take.
      if (claimed.length === want) this.wake();
    }
    for (const cx of claimed) this.#begin(cx);
  }

  /** @param {JobContext} cx */
  async #begin(cx) {
    this.#busy += 1;
    const done = await this.#attempt(cx);
    this.#busy -= 1;
    if (done) this.#done.push(done);
    else this.running.delete(cx.jobId);
    this.wake();
  }

  /** Runs one claimed job. Nothing: its lease was lost meanwhile, so nothing may be written. @param {JobContext} cx */
  async #attempt(cx) {
    const started = performance.now();
    /** @type {import('./ending.js').Ending} */
    let ending;
    const { job } = cx;
    try {
      const value = await this.#handle(cx);
      ending = value === this.#dropped ? { outcome: 'hand_back' } : completed(value);
    } catch (error) {
      ending = afterError(job, error, this.jobs.now());
    }
    const tookMs = Math.round(performance.now() - started);
    try {
      await cx.flush();
    } catch (error) {
      this.tell(error);
    }
    if (cx.cancelled === 'lease_lost') {
      this.counts.leaseLost += 1;
      return null;
    }
    if (cx.cancelled === 'asked' && ending.outcome !== 'hand_back') {
      ending = failed('JobCancelled', 'the job was cancelled while it ran');
    }
    return { job, ending, tookMs, progressed: cx.progressed };
  }

  /** The handler with its guards. @param {JobContext} cx */
  async #handle(cx) {
    const { job } = cx;
    if (cx.cancelled === 'asked') return undefined;
    if (Number(job.x.expiresAt) < this.jobs.now())
      throw new Discard('the job was claimed after its expiry', 'JobExpired');
    const handler = this.#handlers.get(job.type);
    if (!handler) return this.#dropped;
    const work = handler(job, cx);
    if (typeof work?.then !== 'function') return work;
    const dropped = this.#dropped.promise.then(() => this.#dropped);
    if (!(job.x.timeoutMs > 0)) return await Promise.race([work, dropped]);
    const timer = new AbortController();
    const late = sleep(job.x.timeoutMs, null, { signal: timer.signal }).then(() => {
      cx.cancel('stopping');
      const error = new Error(`the handler took longer than ${job.x.timeoutMs} ms`);
      error.name = 'Timeout';
      throw error;
    });
    try {
      return await Promise.race([work, dropped, late]);
    } finally {
      timer.abort();
      late.catch(() => {});
    }
  }

  /**
   * Our own. Writes what is done, claims up to `want`, and tries again until the store answers or nothing is left that may be
   * written. Also tells whether the list goes on behind what was looked at.
   * @param {Done[]} done @param {number} want @returns {Promise<{claimed: JobContext[], hasMore: boolean}>}
   */
  async exchange(done, want) {
    let wait = RETRY_MS[0];
    // An answer was lost: a job that is not ours any more may well have been finished by that very call.
    let isUnsure = false;
    for (;;) {
      await this.#gate;
      this.#calls += 1;
      try {
        const answer = await this.#step(done, want, isUnsure);
        this.#calls -= 1;
        if (this.#isUnsure && !this.#gate) this.#giveBackUnknown();
        return answer;
      } catch (error) {
        this.#calls -= 1;
        this.tell(error);
        if (!(error instanceof StoreError) || error.outcome === 'unknown') {
          isUnsure = true;
          this.#isUnsure = true;
        }
        await sleep(wait);
        wait = Math.min(wait * 2, RETRY_MS[1]);
        done = done.filter((one) => !this.#isLost(one.job.jobId));
        if (done.length === 0) return { claimed: [], hasMore: false };
      }
    }
  }

  /** Forgets a job whose lease was lost while the store did not answer. @param {string} id */
  #isLost(id) {
    const cx = this.running.get(id);
    if (cx && cx.cancelled !== 'lease_lost' && performance.now() < cx.leaseUntil) return false;
    this.running.delete(id);
    this.counts.leaseLost += 1;
    return true;
  }

  /** @param {Done[]} done @param {number} want @param {boolean} [isUnsure] */
  async #step(done, want, isUnsure = false) {
    const { options } = this.jobs;
    const named = this.jobs.ending();
    const now = named.now;
    const memory = this.#recall(now);
    const rest = [];
    for (const one of done) rest.push(...attemptArgs(one, this.serverId, now, options));
    const reply = await this.jobs.script(
      'finish_and_claim',
      {
        ...named,
        worker: this.serverId,
        finishing: done.length,
        claiming: want,
        last_head: Math.max(0, Math.min(want, options.scanLimit) - 1),
        lock_ttl: options.lockTtlS,
        routing: this.routing,
        types: this.types,
        scan_limit: options.scanLimit,
        first_seen: memory.head,
        last_seen: memory.last,
        last_index: memory.index,
      },
      rest,
    );
    const [wrote, seen, ...jobs] = reply;
    // Claimed jobs are held before anybody can ask for them.
    const claimed = this.#take(jobs, now);
    for (const [n, one] of done.entries()) {
      await this.#settle(one, Array.isArray(wrote) ? wrote[n] : 'written', now, isUnsure);
    }
    let hasMore = false;
    if (Array.isArray(seen)) {
      this.#remember(seen[2], now);
      hasMore = seen[0][0] >= options.scanLimit;
      if (seen[1].length > 0) this.#quarantine(seen[1]);
    } else if (want > 0) {
      this.#memory = { head: '', last: '', index: 0, since: 0 };
    }
    return { claimed, hasMore };
  }

  /** @param {string[]} flat id and text of each @param {number} now */
  #take(flat, now) {
    const claimed = [];
    for (let at = 0; at < flat.length; at += 2) {
      const [id, text] = [flat[at], flat[at + 1]];
      const job = Job.read(id, text);
      if (job) {
        const cx = new JobContext(this.jobs, this.serverId, job, now);
        this.running.set(id, cx);
        claimed.push(cx);
      } else {
        this.#bury(id, text);
      }
    }
    return claimed;
  }

  /** A job that looked like one to the script and is none. @param {string} id @param {string} text */
  #bury(id, text) {
    const type = /"type":"([^"\\]+)"/.exec(text)?.[1] ?? '?';
    const job = new Job(id, text, { type });
    const failure = { message: 'the stored job cannot be read', name: 'MalformedJob' };
    this.#done.push({ job, ending: { outcome: 'dead', failure }, tookMs: 0, progressed: false });
  }

  /** Counts what was written and forgets it. @param {Done} one @param {string} word @param {number} now @param {boolean} isUnsure */
  async #settle(one, word, now, isUnsure) {
    const { job, ending } = one;
    if (word === 'changed') return await this.#finishChanged(one);
    const cx = this.running.get(job.jobId);
    this.running.delete(job.jobId);
    if (word === 'lost') {
      if (cx && !isUnsure) this.counts.leaseLost += 1;
      return;
    }
    const outcome = word === 'cancelled' ? 'failed' : ending.outcome === 'retry' ? 'retried' : ending.outcome;
    if (outcome === 'hand_back') return;
    this.counts[outcome] += 1;
    this.tally.add(job.type, outcome, one.tookMs, now);
    if (this.listenerCount(outcome) > 0) this.emit(outcome, job, ending.failure);
  }

  /** The stored text is not the one that was claimed: somebody edited the job while it ran. It is decided anew.
   * @param {Done} one
   */
  async #finishChanged(one) {
    const { jobId } = one.job;
    const text = await this.jobs.read((redis) => redis.get(this.jobs.store.key(`jobs:data:${jobId}`)));
    // The same text again is one that cannot be told apart from what it was read as.
    const job = text === null || text === one.job.text ? null : Job.read(jobId, text);
    const gone = failed('JobGone', 'the job was removed while it ran');
    this.#done.push(job ? { ...one, job } : { ...one, ending: gone });
  }

  /** Unreadable jobs go to the dead letters, in the background: they must not slow the readable ones. @param {string[]} ids */
  async #quarantine(ids) {
    for (const id of ids)
      await this.jobs.script('quarantine', { ...this.jobs.ending(), id }).catch((error) => this.tell(error));
  }

  /** The worker's memory of the jobs at the head of the list that it can never run. It expires. @param {number} now */
  #recall(now) {
    const keepMs = 1000 * Math.min(60, 1 + Math.floor(this.#memory.index / this.jobs.options.scanLimit));
    if (now - this.#memory.since > keepMs) this.#memory = { head: '', last: '', index: 0, since: 0 };
    return this.#memory;
  }

  /** @param {[string, string, number]} told @param {number} now */
  #remember([head, last, index], now) {
    const since = this.#memory.last === '' ? now : this.#memory.since;
    this.#memory =
      last !== '' && index >= 0 ? { head, last, index, since } : { head: '', last: '', index: 0, since: 0 };
  }

  /** A call whose answer was lost may have claimed jobs that nobody here runs: they go back at once instead of waiting for
   * their lease to run out. No call is under way meanwhile.
   */
  #giveBackUnknown() {
    const work = async () => {
      while (this.#calls > 0) await sleep(1);
      const held = await this.jobs.read((redis) => redis.hgetall(this.jobs.store.key('x:claimed')));
      for (const [id, value] of Object.entries(held)) {
        if (this.running.has(id) || value.split(' ')[1] !== this.serverId) continue;
        const text = await this.jobs.read((redis) => redis.get(this.jobs.store.key(`jobs:data:${id}`)));
        const job = text === null ? null : Job.read(id, text);
        if (job) await this.#step([{ job, ending: { outcome: 'hand_back' }, tookMs: 0, progressed: false }], 0);
      }
      this.#isUnsure = false;
    };
    this.#gate = work()
      .catch((error) => this.tell(error))
      .finally(() => {
        this.#gate = undefined;
      });
  }
}
