// Errors of the package: refusals of the queue, faults of the store, and the errors by which a handler says how its
// attempt goes on.

/** The queue says no, and nothing was changed. `code` is a stable word, `field` the part of the job that is meant. */
export class JobsError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {{field?: string, jobId?: string, cause?: unknown}} [more]
   */
  constructor(code, message, more = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'JobsError';
    this.code = code;
    this.field = more.field;
    this.jobId = more.jobId;
  }
}

/** The store failed. With `outcome` `unknown` the call may have happened; with `not_sent` it has not. */
export class StoreError extends Error {
  /**
   * @param {'unknown' | 'not_sent' | 'refused'} outcome
   * @param {string} message
   * @param {unknown} [cause]
   */
  constructor(outcome, message, cause) {
    super(message, { cause });
    this.name = 'StoreError';
    this.code = 'store';
    this.outcome = outcome;
  }
}

/** Thrown by a handler: the base of the four ways an attempt can go on beside the job's own rules. */
export class JobError extends Error {
  /** @param {string} message @param {string} [name] what `skipOn` and `rerouteOn` compare */
  constructor(message, name) {
    super(message);
    this.name = name ?? new.target.name;
  }
}

/** Again after `ms`, while the job has attempts left. */
export class RetryAfter extends JobError {
  /** @param {number} ms @param {string} [message] @param {string} [name] */
  constructor(ms, message = 'the handler asked to run again later', name = undefined) {
    super(message, name);
    this.ms = ms;
  }
}

/** Again after `ms`; this uses no attempt. */
export class Snooze extends JobError {
  /** @param {number} ms */
  constructor(ms) {
    super('the handler asked to run later', 'Snooze');
    this.ms = ms;
  }
}

/** Never again, and not in the dead letters: the job ends as `failed`. */
export class Discard extends JobError {}

/** Never again: to the dead letters at once. */
export class Dead extends JobError {}
