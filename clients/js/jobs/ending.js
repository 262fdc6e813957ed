// How an attempt ends: by the job's own rules, by what its handler threw, or by a cancellation; and the arguments of the
// script about it.
import { Dead, Discard, RetryAfter, Snooze } from './errors.js';
import { digest } from './newjob.js';

/**
 * @typedef {object} Ending
 * @property {'completed' | 'retry' | 'dead' | 'failed' | 'hand_back'} outcome
 * @property {string} [data] JSON of what the handler returned
 * @property {{message: string, stack?: string, name: string}} [failure]
 * @property {number} [runAt] Unix ms; 0 is at once
 * @property {boolean} [counts] whether a retry uses up an attempt
 * @property {boolean} [reroute] whether another worker must run it
 */

/** @typedef {{job: import('./job.js').Job, ending: Ending, tookMs: number, progressed: boolean}} Done */

/** @param {string} name @param {string} message @returns {Ending} */
export const failed = (name, message) => ({ outcome: 'failed', failure: { message, name } });

/** The end of an attempt whose handler returned. A result that is no JSON now is none later either. @param {unknown} value
 * @returns {Ending}
 */
export function completed(value) {
  try {
    return { outcome: 'completed', data: JSON.stringify(value) };
  } catch (error) {
    const message = `the result is no JSON: ${/** @type {Error} */ (error).message}`;
    return { outcome: 'dead', failure: { message, name: 'InvalidResult' } };
  }
}

/** @param {any} error */
function failureOf(error) {
  if (!(error instanceof Error)) return { message: String(error), name: 'Error' };
  return { message: error.message, stack: error.stack, name: error.name || 'Error' };
}

/** The end of an attempt whose handler threw. @param {import('./job.js').Job} job @param {any} error @param {number} now
 * @returns {Ending}
 */
export function afterError(job, error, now) {
  const failure = failureOf(error);
  if (error instanceof Discard) return { outcome: 'failed', failure };
  if (error instanceof Dead) return { outcome: 'dead', failure };
  if (error instanceof Snooze) {
    return { outcome: 'retry', failure, runAt: now + Math.max(1, Math.round(error.ms)), counts: false, reroute: false };
  }
  const names = (/** @type {any} */ list) => Array.isArray(list) && list.includes(failure.name);
  if (names(job.retry.skipOn) || job.attempts >= job.maxAttempts) return { outcome: 'dead', failure };
  const wait = error instanceof RetryAfter ? Math.max(0, Math.round(error.ms)) : job.backoffMs(Math.random());
  const runAt = wait === 0 ? 0 : now + wait;
  return { outcome: 'retry', failure, runAt, counts: true, reroute: names(job.retry.rerouteOn) };
}

/** @param {Ending} ending @param {number} now @param {number} took @param {boolean} isLarge */
function resultOf({ outcome, data, failure }, now, took, isLarge) {
  const times = `"completedAt":${now},"processingTime":${took}}`;
  if (outcome === 'hand_back') return '';
  if (outcome !== 'completed') return `{"success":false,"error":${JSON.stringify(failure)},${times}`;
  const kept = isLarge ? 'null' : data;
  return kept === undefined ? `{"success":true,${times}` : `{"success":true,"data":${kept},${times}`;
}

/** The body of the event. @param {Done} done @param {string} worker */
function bodyOf({ job, ending, tookMs }, worker) {
  const { outcome, failure, counts, runAt } = ending;
  const { type } = job;
  if (outcome === 'completed') return JSON.stringify({ took: tookMs, type, worker });
  if (outcome === 'hand_back') return JSON.stringify({ reason: 'handed_back', type, worker });
  if (outcome !== 'retry') return JSON.stringify({ error: failure?.name, took: tookMs, type, worker });
  const attempt = job.attempts + (counts ? 1 : 0);
  return JSON.stringify({ attempt, error: failure?.name, runAt, took: tookMs, type, worker });
}

/** A definition fires on, so a firing that failed for good is told by a letter of its own (text and id), or by an alarm.
 * @param {import('./job.js').Job} job @param {Ending} ending @param {number} now @param {string} cronFailed
 */
function letterOf(job, ending, now, cronFailed) {
  if (!job.isCron || ending.outcome !== 'dead' || cronFailed !== 'letter') return ['', ''];
  const id = `${job.jobId}:${now}`;
  return [job.instance(id, now), id];
}

/**
 * The arguments of `finish_and_claim` about one attempt: six, and five more when there is something to the job.
 * @param {Done} done @param {string} worker @param {number} now @param {{resultMax: number, cronFailed: string}} options
 * @returns {(string | number)[]}
 */
export function attemptArgs(done, worker, now, { resultMax, cronFailed }) {
  const { job, ending, progressed } = done;
  const isRetry = ending.outcome === 'retry';
  const isLarge = ending.data !== undefined && Buffer.byteLength(ending.data) > resultMax;
  const attempts = job.attempts + (ending.counts ? 1 : 0);
  const { uniqueKey, batch } = job.x;
  const isUnique = typeof uniqueKey === 'string';
  const isInBatch = typeof batch === 'string';
  const flags =
    (job.isCron ? 'c' : '') +
    // An attempt before this one may have left some progress.
    (progressed || job.attempts > 0 ? 'p' : '') +
    (isLarge ? 'l' : '') +
    (isUnique ? 'u' : '') +
    (isInBatch ? 'b' : '') +
    (typeof job.x.flow === 'string' && job.dependsOn.length > 0 ? 'f' : '') +
    (isRetry ? 'r' : '') +
    (isRetry && job.isHigh ? 'h' : '');
  const result = resultOf(ending, now, done.tookMs, isLarge);
  const args = [job.jobId, ending.outcome, job.type, result, bodyOf(done, worker), flags];
  if (flags === '') return args;
  const [newText, oldText] = isRetry
    ? [ending.reroute ? job.rerouted(worker, attempts) : job.withAttempts(attempts), job.text]
    : letterOf(job, ending, now, cronFailed);
  args.push(newText, oldText, String(ending.runAt ?? 0));
  args.push(isUnique ? digest(uniqueKey) : '', isInBatch ? batch : '');
  return args;
}
