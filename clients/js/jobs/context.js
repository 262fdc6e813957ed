// The context of one attempt: progress, checkpoints, cancellation, child jobs and their results.

/** Progress of one job is written at most this often. */
const PROGRESS_EVERY_MS = 100;

/** @typedef {'asked' | 'lease_lost' | 'stopping'} Cancelled */

/** @type {Record<Cancelled, string>} */
const REASONS = {
  asked: 'the job was cancelled',
  lease_lost: 'the lease of the job was lost: another worker may have it',
  stopping: 'the worker stops',
};

export class JobContext {
  /** @type {AbortController | undefined} */
  #abort;
  /** @type {{percent: number, message?: string, data?: unknown}} */
  #latest = { percent: 0 };
  #isDirty = false;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #children = 0;

  /** @param {import('./jobs.js').Jobs} jobs @param {string} worker @param {import('./job.js').Job} job @param {number} now */
  constructor(jobs, worker, job, now) {
    this.jobs = jobs;
    this.worker = worker;
    this.job = job;
    this.jobId = job.jobId;
    /** Retries before this attempt: 0 the first time. */
    this.attempt = job.attempts;
    this.maxAttempts = job.maxAttempts;
    /** Unix ms by which the attempt must end, when the job has a limit. */
    this.deadline = job.x.timeoutMs > 0 ? now + job.x.timeoutMs : undefined;
    /** @type {Cancelled | undefined} */
    this.cancelled = undefined;
    this.progressed = false;
    this.leaseUntil = 0;
    this.extendLease();
  }

  /** Aborts when the handler should end; `cancelled` says why. */
  get signal() {
    this.#abort ??= new AbortController();
    if (this.cancelled && !this.#abort.signal.aborted) this.#abort.abort(reasonOf(this.cancelled));
    return this.#abort.signal;
  }

  /** Our own: the lock was taken or renewed just now. */
  extendLease() {
    this.leaseUntil = performance.now() + this.jobs.options.lockTtlS * 1000;
  }

  /** Our own. A lost lease outweighs everything: nothing may be written any more. @param {Cancelled} why */
  cancel(why) {
    if (this.cancelled === 'lease_lost') return;
    this.cancelled = why;
    if (this.#abort && !this.#abort.signal.aborted) this.#abort.abort(reasonOf(why));
  }

  /** Says how far the job is, 0 to 100. Written at most every 100 ms; the last value always is.
   * @param {number} percent @param {string} [message]
   */
  async progress(percent, message) {
    this.#latest = { ...this.#latest, percent, message };
    this.#isDirty = true;
    if (performance.now() - this.#writtenAt >= PROGRESS_EVERY_MS) await this.flush();
  }

  /** Stores where the handler is, for `restored` after a crash or a retry. It is written when this returns.
   * @param {unknown} data
   */
  async checkpoint(data) {
    this.#latest.data = data;
    this.#isDirty = true;
    const wait = PROGRESS_EVERY_MS - (performance.now() - this.#writtenAt);
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    await this.flush();
  }

  /** The last checkpoint of an earlier attempt, or of this one. */
  async restored() {
    const text = await this.jobs.read((redis) => redis.get(this.jobs.store.key(`jobs:progress:${this.jobId}`)));
    if (text === null) return undefined;
    this.progressed = true;
    try {
      return JSON.parse(text).data;
    } catch {
      return undefined;
    }
  }

  /** Our own: writes what was said and not written yet. */
  async flush() {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    this.#writtenAt = performance.now();
    this.progressed = true;
    const { percent, message, data } = this.#latest;
    const shown = Number.isNaN(percent) ? 0 : Math.min(100, Math.max(0, percent));
    const text = JSON.stringify({ percent: shown, message, data, updatedAt: this.jobs.now() });
    const word = await this.jobs.script('progress', { worker: this.worker, id: this.jobId, text });
    if (word !== 'written') this.cancel('lease_lost');
  }

  /** Prolongs the lock now, for a handler that is about to block its thread. False: it is lost. */
  async extendLock() {
    const [answer] = await this.jobs.script('renew', { worker: this.worker, ttl: this.jobs.options.lockTtlS }, [
      this.jobId,
    ]);
    if (answer === 0) this.cancel('lease_lost');
    else this.extendLease();
    return answer !== 0;
  }

  /** How the jobs ended that this one waited for: its children in a flow, or what it depends on, in their order. `status` is
   * `gone` for one that was removed; `data` is what its handler returned, `error` why it failed.
   * @returns {Promise<{jobId: string, status: string, data?: unknown, error?: {name: string, message: string}}[]>}
   */
  async children() {
    const { store } = this.jobs;
    const ids = this.job.dependsOn;
    if (ids.length === 0) return [];
    const noted = await this.jobs.read((redis) => redis.hmget(store.key(`x:flow:${this.jobId}`), ...ids));
    const unknown = ids.filter((_, n) => noted[n] === null);
    const keys = unknown.flatMap((id) => [store.key(`jobs:status:${id}`), store.key(`jobs:result:${id}`)]);
    const found = keys.length === 0 ? [] : await this.jobs.read((redis) => redis.mget(...keys));
    return ids.map((jobId, n) => {
      const at = 2 * unknown.indexOf(jobId);
      const text = noted[n] ?? `${found[at] ?? 'gone'} ${found[at + 1] ?? ''}`;
      const space = text.indexOf(' ');
      const { data, error } = resultOf(text.slice(space + 1));
      return { jobId, status: text.slice(0, space), data, error };
    });
  }

  /** Dispatches a job that belongs to this one: `<id>.<n>`, counted within the attempt. An attempt that is repeated finds
   * the children of the one before instead of making them twice.
   * @param {string} type @param {unknown} [payload] @param {Record<string, any>} [options]
   */
  async spawnChild(type, payload, options = {}) {
    this.#children += 1;
    const jobId = options.jobId ?? (this.jobId.length < 110 ? `${this.jobId}.${this.#children}` : undefined);
    const traceparent = options.x?.traceparent ?? this.job.x.traceparent;
    const x = traceparent === undefined ? options.x : { ...options.x, traceparent };
    const [answer] = await this.jobs.dispatchMany([{ type, payload, ...options, jobId, x }]);
    if (answer.error?.code === 'job_exists') return /** @type {string} */ (jobId);
    if (answer.error) throw answer.error;
    return /** @type {string} */ (answer.jobId);
  }
}

/** @param {string} text @returns {{data?: any, error?: any}} */
function resultOf(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** @param {Cancelled} why */
function reasonOf(why) {
  const error = new Error(REASONS[why]);
  error.name = 'AbortError';
  return error;
}
