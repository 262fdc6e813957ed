// A queue in one namespace: dispatch, look, wait, cancel, pause, and what happens in it.
import { EventEmitter } from 'node:events';
import { JobsError, StoreError } from './errors.js';
import { readEvents } from './events.js';
import { prepareFlow } from './flow.js';
import { Job } from './job.js';
import { prepare } from './newjob.js';
import { scriptsDigest } from './script.js';
import { Store } from './store.js';

/** Jobs that one step stores at most. */
const DISPATCH_MAX = 500;
/** The life of a job's failure where results are not kept. */
const FAILURE_TTL_S = 86_400;
const ENDED = new Set(['completed', 'failed', 'dead']);
const END_EVENTS = ['completed', 'failed', 'dead', 'cancelled', 'removed'];

/** The defaults of the library and of the server; a namespace has the same ones everywhere. */
const DEFAULTS = {
  payloadMax: 1 << 20,
  resultMax: 1 << 20,
  retentionS: 86_400,
  resultTtlS: 86_400,
  lockTtlS: 30,
  maxWaiting: 0,
  promoteHonoursPriority: false,
  fairHigh: false,
  scanLimit: 1000,
  events: true,
  maxRecoveries: 3,
  cronFailed: 'letter',
  timeoutMs: 5000,
};

export class Jobs extends EventEmitter {
  /** @type {Map<string, Set<() => void>>} */
  #waiters = new Map();
  /** @type {AbortController | undefined} */
  #watch;

  /**
   * @param {any} [redis] an address, options of ioredis, or a connection that is copied
   * @param {Record<string, any>} [options]
   */
  constructor(redis = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', options = {}) {
    super();
    const { namespace = 'bridge', layout = 'plain', ...rest } = options;
    checkOptions(namespace, layout, rest);
    this.namespace = namespace;
    this.options = { ...DEFAULTS, ...rest };
    /** Our own; not for programs. */
    this.store = new Store(redis, namespace, layout, (error) => this.#tell('error', error));
    const { events, fairHigh, resultTtlS, promoteHonoursPriority } = this.options;
    /** The letters of what is switched on, as scripts understand them. */
    this.opts =
      (events ? 'e' : '') + (fairHigh ? 'f' : '') + (resultTtlS === 0 ? 'n' : '') + (promoteHonoursPriority ? 'p' : '');
  }

  /** An event without a listener is not thrown: the queue heals by itself. @param {string} name @param {unknown} value */
  #tell(name, value) {
    if (this.listenerCount(name) > 0) this.emit(name, value);
  }

  /** Unix milliseconds, the store's. */
  now() {
    return this.store.now();
  }

  /** Ends the connections. Workers of this queue must have been stopped before. */
  close() {
    this.#watch?.abort();
    this.store.close();
  }

  /** Runs a script. @param {import('./script.js').ScriptName} name @param {Record<string, any>} named @param {any[]} [rest] */
  script(name, named, rest = []) {
    return this.store.script(name, named, rest, this.options.timeoutMs);
  }

  /** Sends commands. @template T @param {(redis: import('ioredis').Redis) => Promise<T>} send */
  send(send) {
    return this.store.send(send, this.options.timeoutMs);
  }

  /** Sends what only reads, again after a lost answer. @template T @param {(redis: import('ioredis').Redis) => Promise<T>} send */
  read(send) {
    return this.store.send(send, this.options.timeoutMs, true);
  }

  /** Many commands in one trip; the first refusal is thrown. @param {(string | number)[][]} commands @param {boolean} [isRead] @returns {Promise<any[]>} */
  async pipeline(commands, isRead = false) {
    const run = async (/** @type {import('ioredis').Redis} */ redis) => {
      const pipeline = redis.pipeline();
      for (const [name, ...words] of commands) pipeline.call(String(name), ...words);
      const answers = (await pipeline.exec()) ?? [];
      for (const [error] of answers) if (error) throw error;
      return answers.map(([, value]) => value);
    };
    return await (isRead ? this.read(run) : this.send(run));
  }

  /** Arguments of every script that may end a job. */
  ending() {
    const { retentionS, resultTtlS } = this.options;
    return {
      now: this.now(),
      opts: this.opts,
      result_ttl: resultTtlS === 0 ? FAILURE_TTL_S : resultTtlS,
      retention: Math.max(-1, retentionS),
    };
  }

  /** Stores a job and puts it where it belongs. @param {string} type @param {unknown} [payload] @param {Record<string, any>} [options] */
  async dispatch(type, payload, options = {}) {
    const [answer] = await this.dispatchMany([{ type, payload, ...options }]);
    if (answer.error) throw answer.error;
    return /** @type {string} */ (answer.jobId);
  }

  /**
   * The same for many, up to 500 in a step; an answer per job, in order.
   * @param {Record<string, any>[]} jobs
   * @returns {Promise<{jobId?: string, status?: string, error?: JobsError}[]>}
   */
  async dispatchMany(jobs) {
    /** @type {{jobId?: string, status?: string, error?: JobsError}[]} */
    const answers = [];
    /** @type {{at: number, entry: import('./newjob.js').Entry}[]} */
    let plain = [];
    await this.#clock();
    for (const [at, given] of jobs.entries()) {
      try {
        const entry = prepare(given, this.now(), this.options.payloadMax);
        if (entry.dependsOn.length === 0 && entry.sequence === '') {
          plain.push({ at, entry });
        } else {
          // A job that it depends on may stand before it in this very call.
          await this.#enqueue(plain, answers);
          plain = [];
          [answers[at]] = await this.#enqueueDependent([entry]);
        }
      } catch (error) {
        if (!(error instanceof JobsError)) throw error;
        answers[at] = { error };
      }
      if (plain.length === DISPATCH_MAX) {
        await this.#enqueue(plain, answers);
        plain = [];
      }
    }
    await this.#enqueue(plain, answers);
    return answers;
  }

  /**
   * Stores a flow, all of it or nothing: a job with `children`, which may have children, too. A parent runs when its children
   * have ended, and sees how by `cx.children()`.
   * @param {Record<string, any>} flow
   * @returns {Promise<{jobId: string, jobs: {jobId: string, status: string}[]}>} the root's id; all jobs, the root first
   */
  async dispatchFlow(flow) {
    await this.#clock();
    const answers = await this.#enqueueDependent(prepareFlow(flow, this.now(), this.options.payloadMax));
    const jobs = /** @type {{jobId: string, status: string}[]} */ (answers.reverse());
    return { jobId: jobs[0].jobId, jobs };
  }

  /** The first call learns the store's time. */
  async #clock() {
    if (!this.store.knowsTime) await this.read((redis) => redis.call('PING'));
  }

  /**
   * One step. After a lost answer it is sent again, and then a job with an id of our own making that is there was stored by
   * the first one: nothing is stored twice, nothing is lost.
   * @param {{at: number, entry: import('./newjob.js').Entry}[]} entries @param {any[]} answers
   */
  async #enqueue(entries, answers) {
    if (entries.length === 0) return;
    let reply;
    let isAgain = false;
    const until = performance.now() + this.options.timeoutMs;
    for (;;) {
      const rest = [];
      for (const { entry } of entries) {
        const fresh = entry.isOwnId && !isAgain ? '1' : '';
        rest.push(
          entry.id,
          fresh,
          entry.place,
          entry.score,
          entry.text,
          entry.type,
          entry.digest,
          entry.window,
          entry.policy,
        );
      }
      const named = { now: this.now(), opts: this.opts, max_waiting: this.options.maxWaiting };
      try {
        reply = await this.script('enqueue', named, rest);
        break;
      } catch (error) {
        if (performance.now() >= until || !(error instanceof StoreError) || error.outcome !== 'unknown') throw error;
        isAgain = true;
      }
    }
    for (const [n, { at, entry }] of entries.entries()) {
      answers[at] = typeof reply === 'number' ? { error: this.#full(reply) } : stored(entry, reply[n], isAgain);
    }
    const joins = entries.filter(({ at, entry }) => entry.group !== '' && answers[at].status === 'waiting');
    if (joins.length > 0) await this.#joinGroups(joins.flatMap(({ entry }) => [entry.id, entry.group]));
  }

  /** Enters stored jobs into the lines of their groups. A claim enters what it meets in the list, so a fault here costs a turn
   * and nothing else. @param {string[]} rest
   */
  async #joinGroups(rest) {
    try {
      await this.script('join_groups', { now: this.now() }, rest);
    } catch (error) {
      this.#tell('error', error);
    }
  }

  /** @param {number} waiting */
  #full(waiting) {
    const most = this.options.maxWaiting;
    return new JobsError('queue_full', `${waiting} jobs wait already, at most ${most} may; try again later`);
  }

  /**
   * Jobs that depend on others or follow the last of their sequence, dependencies first. All are stored, or none and it throws.
   * @param {import('./newjob.js').Entry[]} entries
   */
  async #enqueueDependent(entries) {
    const rest = entries.flatMap(({ id, text, digest, window }) => [id, text, digest, window]);
    const named = { ...this.ending(), max_waiting: this.options.maxWaiting };
    const reply = await this.script('enqueue_dependent', named, rest);
    if (typeof reply === 'number') throw this.#full(reply);
    const [word, id] = reply;
    if (word === 'exists') throw exists(id);
    if (word === 'held') throw new JobsError('not_unique', `job ${id} holds this unique key`, { jobId: id });
    if (word === 'unknown') {
      const message = `there is no job ${id}, so nothing can depend on it`;
      throw new JobsError('unknown_dependency', message, { field: 'dependsOn' });
    }
    const placed = entries.filter((entry, n) => reply[n] === 'placed' && entry.place !== 'delayed');
    const joins = placed.filter((entry) => entry.group !== '').flatMap((entry) => [entry.id, entry.group]);
    if (joins.length > 0) await this.#joinGroups(joins);
    return entries.map((entry, n) => {
      if (reply[n] === 'placed') return stored(entry, '', false);
      return { jobId: entry.id, status: reply[n] === 'parked' ? 'waiting' : reply[n] };
    });
  }

  /**
   * Creates a cron definition under this id, or replaces it. A scheduler of Worldkeep fires it.
   * @param {string} jobId @param {string} type @param {unknown} payload @param {Record<string, any>} options
   * @returns {Promise<boolean>} whether it is new
   */
  async putCron(jobId, type, payload, options) {
    await this.#clock();
    for (;;) {
      const entry = prepare({ type, payload, ...options, jobId }, this.now(), this.options.payloadMax);
      if (!entry.isCron) {
        throw new JobsError('invalid_cron', 'schedule.cron is missing: say when the definition fires', {
          field: 'schedule.cron',
        });
      }
      const old = await this.read((redis) => redis.get(this.store.key(`jobs:data:${jobId}`)));
      const texts = { old_text: old ?? '', new_text: entry.text, score: entry.score, type: entry.type };
      const word = await this.script('put_cron', { now: this.now(), opts: this.opts, id: jobId, ...texts });
      if (word === 'exists') throw exists(jobId);
      if (word !== 'changed') return word === 'created';
    }
  }

  /** A job as it stands, or nothing. @param {string} jobId */
  async get(jobId) {
    const names = ['data', 'status', 'progress', 'result', 'lock'];
    const keys = names.map((name) => this.store.key(`jobs:${name}:${jobId}`));
    const [text, status, progress, result, worker] = await this.read((redis) => redis.mget(keys));
    if (text === null && status === null && result === null) return null;
    const job = text === null ? null : Job.read(jobId, text);
    return { jobId, job, status, progress: parsed(progress), result: parsed(result), worker };
  }

  /**
   * Waits until a job has ended, and gives what its handler returned; throws when it failed, or has not ended in time.
   * @param {string} jobId @param {{timeoutMs?: number}} [options] @returns {Promise<any>}
   */
  async wait(jobId, { timeoutMs = 30_000 } = {}) {
    const until = performance.now() + timeoutMs;
    let seen = false;
    for (;;) {
      const changed = this.#changed(jobId, Math.min(1000, until - performance.now()));
      try {
        const view = await this.get(jobId);
        const status =
          view?.status ?? (seen && view?.result ? (view.result.success ? 'completed' : 'failed') : undefined);
        if (!view && !seen) throw new JobsError('no_such_job', `there is no job ${jobId}`, { jobId });
        if (!view) return undefined;
        seen = true;
        if (ENDED.has(status ?? '')) return outcome(jobId, status, view.result);
        if (performance.now() >= until) {
          throw new JobsError('wait_timeout', `job ${jobId} is ${status} after ${timeoutMs} ms`, { jobId });
        }
        await changed.promise;
      } finally {
        changed.forget();
      }
    }
  }

  /** Ends when the job may have, or after `ms`. @param {string} jobId @param {number} ms */
  #changed(jobId, ms) {
    const { promise, resolve } = withResolvers();
    const timer = setTimeout(resolve, Math.max(1, ms));
    const all = this.#waiters.get(jobId) ?? new Set();
    this.#waiters.set(jobId, all.add(resolve));
    if (!this.#watch && this.options.events) this.#listen();
    const forget = () => {
      clearTimeout(timer);
      all.delete(resolve);
      if (all.size === 0) this.#waiters.delete(jobId);
      if (this.#waiters.size === 0) {
        this.#watch?.abort();
        this.#watch = undefined;
      }
    };
    return { promise, forget };
  }

  /** One reader of events for all that wait. */
  async #listen() {
    const watch = new AbortController();
    this.#watch = watch;
    try {
      for await (const event of this.events({ types: END_EVENTS, signal: watch.signal })) {
        for (const wake of this.#waiters.get(event.id) ?? []) wake();
      }
    } catch (error) {
      this.#tell('error', error);
    }
  }

  /** Asks for the end of jobs: waiting ones end at once, running ones are told. @param {...string} ids */
  async cancel(...ids) {
    const reply = await this.script('cancel', this.ending(), ids);
    return ids.map((jobId, n) => ({ jobId, answer: reply[2 * n], status: reply[2 * n + 1] }));
  }

  /** Stops claims of a type (`*`: all), for good or for `forMs`. @param {string} type @param {{forMs?: number}} [options] */
  async pause(type, { forMs } = {}) {
    await this.#clock();
    const until = forMs === undefined ? '' : this.now() + forMs;
    return (await this.script('pause', { now: this.now(), opts: this.opts, type, until_ms: until })) === 'changed';
  }

  /** Lets claims of a type go on. @param {string} type */
  async resume(type) {
    return (await this.script('resume', { now: this.now(), opts: this.opts, type, only_due: '' })) === 'changed';
  }

  /** How many jobs are where. */
  async stats() {
    const key = (/** @type {string} */ name) => this.store.key(name);
    const commands = [
      ['LLEN', key('jobs:waiting')],
      ['SCARD', key('jobs:active')],
      ['ZCARD', key('jobs:delayed')],
      ['ZCARD', key('jobs:cron')],
      ['LLEN', key('jobs:deadletter')],
    ];
    const [waiting, active, delayed, cron, dead] = await this.pipeline(commands, true);
    return { waiting, active, delayed, cron, dead };
  }

  /**
   * What happens in the namespace, from now on or after an event that was seen.
   * @param {{after?: string, types?: string[], signal?: AbortSignal}} [options]
   */
  events(options = {}) {
    return readEvents(this.store, this.namespace, options);
  }

  /** Whether the scheduler that leads has the scripts of this package; nothing when it does not say. */
  async hasSameScripts() {
    const text = await this.read((redis) => redis.get(this.store.key('scheduler:leader')));
    const theirs = parsed(text)?.scripts;
    return theirs === undefined ? undefined : theirs === scriptsDigest;
  }
}

/** @param {import('./newjob.js').Entry} entry @param {string} word @param {boolean} isAgain */
function stored(entry, word, isAgain) {
  if (word === '' || (word === 'exists' && isAgain && entry.isOwnId)) {
    const status = entry.place === 'delayed' || entry.place === 'cron' ? entry.place : 'waiting';
    return { jobId: entry.id, status };
  }
  if (word === 'exists') return { error: exists(entry.id) };
  const jobId = word.replace(/^held /, '');
  // The first one of two tries holds the key for this very job.
  if (jobId === entry.id) return { jobId, status: 'waiting' };
  return { error: new JobsError('not_unique', `job ${jobId} holds this unique key`, { jobId }) };
}

/** @param {string} jobId */
const exists = (jobId) =>
  new JobsError('job_exists', `job ${jobId} exists already; choose another id or leave it out`, { jobId });

/** @param {string} jobId @param {string | undefined} status @param {any} result */
function outcome(jobId, status, result) {
  if (status === 'completed') return result?.data;
  const { name = 'Error', message = `the job is ${status}` } = result?.error ?? {};
  throw new JobsError('job_failed', `job ${jobId} is ${status}: ${name}: ${message}`, { jobId, cause: result?.error });
}

/** @param {string | null} text */
function parsed(text) {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {string} namespace @param {string} layout @param {Record<string, any>} options */
function checkOptions(namespace, layout, options) {
  const refuse = (/** @type {string} */ field, /** @type {string} */ why) => {
    throw new JobsError('invalid_option', `${field} ${why}`, { field });
  };
  if (typeof namespace !== 'string' || !/^[A-Za-z0-9._{}-]{1,64}$/.test(namespace)) {
    refuse('namespace', 'must be 1 to 64 of A-Z, a-z, 0-9, ., _, -, { and }');
  }
  if (layout !== 'plain' && layout !== 'tagged') refuse('layout', 'must be plain or tagged');
  for (const [name, value] of Object.entries(options)) {
    const usual = DEFAULTS[/** @type {keyof typeof DEFAULTS} */ (name)];
    if (usual === undefined) refuse(name, 'is no option of a queue');
    if (typeof usual === 'string') {
      if (value !== 'letter' && value !== 'alarm') refuse(name, 'must be letter or alarm');
      continue;
    }
    const isRight = typeof usual === 'boolean' ? typeof value === 'boolean' : Number.isSafeInteger(value);
    if (!isRight) refuse(name, `must be ${typeof usual === 'boolean' ? 'true or false' : 'a whole number'}`);
  }
  if (options.lockTtlS !== undefined && options.lockTtlS < 5) refuse('lockTtlS', 'must be whole seconds, 5 or more');
  if (options.scanLimit !== undefined && options.scanLimit < 1) refuse('scanLimit', 'must be 1 or more');
}

/** A promise and what fulfils it. @returns {{promise: Promise<void>, resolve: () => void}} */
export function withResolvers() {
  let resolve = () => {};
  const promise = new Promise((/** @type {(value: void) => void} */ done) => {
    resolve = done;
  });
  return { promise, resolve };
}
