// A stored job: its text is the truth. Members of the wrong type read as absent; edits change the members they own and
// keep every other byte.
import { edit, member } from './json.js';

/** No job waits longer than this before a retry. */
const MAX_DELAY_MS = 30 * 86_400_000;
/** @type {Record<string, any>} */
const USUAL_RETRY = { attempts: 3, backoff: { type: 'exponential', delay: 2000 } };

/** @param {any} value */
const count = (value) => (Number.isSafeInteger(value) && value >= 0 ? value : undefined);
/** @param {any} value @returns {string[]} */
const words = (value) => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []);
/** @param {any} value @returns {Record<string, any>} */
const object = (value) => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {});

export class Job {
  /** @param {string} id @param {string} text @param {Record<string, any>} read */
  constructor(id, text, read) {
    this.jobId = id;
    this.text = text;
    /** @type {string} */
    this.type = read.type;
    this.payload = read.payload === undefined ? {} : read.payload;
    this.metadata = object(read.metadata);
    this.schedule = object(read.schedule);
    this.retry = { ...USUAL_RETRY, ...object(read.retry) };
    this.priority = count(read.priority) || 5;
    this.dependsOn = words(read.dependsOn);
    this.target = object(read.target);
    this.createdAt = count(read.createdAt) ?? 0;
    this.attempts = count(read.attempts) ?? 0;
    this.rateLimit = read.rateLimit;
    this.x = object(read.x);
  }

  /** Reads a stored text; nothing when no worker could run it. @param {string} id @param {string} text */
  static read(id, text) {
    try {
      const read = JSON.parse(text);
      return typeof read?.type === 'string' && read.type !== '' ? new Job(id, text, read) : null;
    } catch {
      return null;
    }
  }

  get isHigh() {
    return this.priority >= 7;
  }

  get isCron() {
    return typeof this.schedule.cron === 'string' && this.schedule.cron !== '';
  }

  /** The number of retries it may have. */
  get maxAttempts() {
    return count(this.retry.attempts) ?? 3;
  }

  /** Milliseconds before the next retry. @param {number} random 0 to 1, spreads the wait */
  backoffMs(random) {
    const backoff = object(this.retry.backoff);
    const delay = count(backoff.delay) ?? 2000;
    let wait = delay;
    if (backoff.type === undefined || backoff.type === 'exponential') wait = delay * 2 ** this.attempts;
    else if (backoff.type === 'linear') wait = delay * (this.attempts + 1);
    wait = Math.min(wait, count(backoff.maxDelay) || MAX_DELAY_MS, MAX_DELAY_MS);
    if (backoff.jitter === true) wait = Math.floor(wait * (0.75 + 0.5 * random));
    return Math.min(wait, MAX_DELAY_MS);
  }

  /** The text with another number of attempts. @param {number} attempts */
  withAttempts(attempts) {
    return edit(this.text, { attempts: String(attempts) });
  }

  /** The text of one firing of this definition, as a job of its own. @param {string} id @param {number} now */
  instance(id, now) {
    const x = edit(member(this.text, 'x') ?? '{}', { cronParent: JSON.stringify(this.jobId) });
    return edit(this.text, { jobId: JSON.stringify(id), schedule: '{}', createdAt: String(now), attempts: '0', x });
  }

  /** The text for a retry that must not run on `worker` again. @param {string} worker @param {number} attempts */
  rerouted(worker, attempts) {
    const exclude = [...new Set([...words(this.x.exclude), worker])];
    const x = edit(member(this.text, 'x') ?? '{}', { exclude: JSON.stringify(exclude) });
    const target = edit(member(this.text, 'target') ?? '{}', { server: null });
    return edit(this.text, { target, attempts: String(attempts), x });
  }
}
