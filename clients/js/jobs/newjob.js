// A job to be dispatched: checked by the table of fields, and written with the members and the order of the seed.
import { createHash, randomUUID } from 'node:crypto';
import { FIELDS } from './bundle.js';
import { checkCron } from './cron.js';
import { JobsError } from './errors.js';
import { depth } from './json.js';

const DEPTH_MAX = 100;
const DAY_MS = 86_400_000;
/** Short names for members of `schedule`. */
const SHORT = ['delay', 'runAt', 'cron', 'timezone'];
/** Members that a job carries which was read and is sent again. */
const IGNORED = new Set(['createdAt', 'attempts', 'status']);
/** Words that a path of the API may end with after its last colon; an id or a type must not look like that. */
const VERBS = /:(batch|bury|cancel|fire|limit|pause|purge|quiet|requeue|resume|retry|runNow|stop)$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * @typedef {object} Rule a row of the table of fields
 * @property {'text'|'texts'|'count'|'bool'|'json'|'map'|'object'} kind
 * @property {string} [code]
 * @property {string} [says]
 * @property {number} [min] bytes of a text
 * @property {number} [max] bytes of a text, or the largest number
 * @property {number} [least]
 * @property {number} [most] entries of a list
 * @property {string} [pattern]
 * @property {string[]} [words]
 * @property {string[]} [not]
 * @property {boolean} [controls]
 * @property {boolean} [verb]
 * @property {boolean} [required]
 * @property {boolean} [keep] an empty list is stored
 * @property {string} [drop] this text is not stored
 * @property {any} [default]
 * @property {Record<string, Rule>} [members]
 */

/** @param {string} code @param {string} field @param {string} message */
const refuse = (code, field, message) => new JobsError(code, message, { field });

/** @type {Record<string, (value: any, rule: Rule, path: string, code: string) => any>} */
const READ = {
  text(value, rule, path, code) {
    if (typeof value !== 'string') throw refuse(code, path, `${path} must be text`);
    if (rule.words && !rule.words.includes(value)) {
      throw refuse(code, path, `${path} must be ${rule.words.join(' or ')}`);
    }
    const size = Buffer.byteLength(value);
    const fits = size >= (rule.min ?? 0) && size <= (rule.max ?? Number.POSITIVE_INFINITY);
    const isPlain = rule.controls !== false || !CONTROLS.test(value);
    if (!fits || !isPlain || rule.not?.includes(value) || (rule.pattern && !new RegExp(rule.pattern).test(value))) {
      throw refuse(code, path, `${path} ${rule.says}`);
    }
    if (rule.verb && VERBS.test(value)) {
      throw refuse(code, path, `${path} must not end like an action of the API, such as :cancel`);
    }
    return value === rule.drop ? undefined : value;
  },
  texts(value, rule, path, code) {
    const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
    if (!isList) throw refuse(code, path, `${path} must be a list of texts`);
    const [most, max] = [rule.most ?? 64, rule.max ?? 200];
    const fits = value.every((one) => Buffer.byteLength(one) <= max && one.length >= (rule.min ?? 0));
    if (value.length > most || !fits) {
      throw refuse(code, path, `${path} ${rule.says ?? `takes up to ${most} texts of up to ${max} bytes`}`);
    }
    return value.length === 0 && !rule.keep ? undefined : value;
  },
  count(value, rule, path, code) {
    if (!Number.isSafeInteger(value)) throw refuse(code, path, `${path} must be a whole number`);
    if (value < 0) throw refuse(code, path, `${path} must not be negative`);
    if (value < (rule.least ?? 0) || value > (rule.max ?? Number.MAX_SAFE_INTEGER)) {
      throw refuse(code, path, `${path} ${rule.says}`);
    }
    return value;
  },
  bool(value, _rule, path, code) {
    if (typeof value !== 'boolean') throw refuse(code, path, `${path} must be true or false`);
    return value || undefined;
  },
  json: (value) => value,
  map(value, _rule, path, code) {
    if (!isObject(value)) throw refuse(code, path, `${path} must be an object`);
    return value;
  },
  object(value, rule, path, code) {
    if (!isObject(value)) throw refuse(code, path, `${path} must be an object`);
    return readMembers(value, /** @type {Record<string, Rule>} */ (rule.members), `${path}.`, code);
  },
};

/** @param {any} value */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members that are known, in the order of the table; absent ones and those of no meaning are left out.
 * @param {Record<string, any>} given @param {Record<string, Rule>} rules @param {string} path @param {string} code
 * @returns {Record<string, any>}
 */
function readMembers(given, rules, path, code) {
  for (const name of Object.keys(given)) {
    if (name in rules || given[name] === undefined) continue;
    const message = `${path}${name} is no field of a job; leave it out or put it into metadata`;
    throw refuse('unknown_field', `${path}${name}`, message);
  }
  /** @type {Record<string, any>} */
  const read = {};
  for (const [name, rule] of Object.entries(rules)) {
    const value = given[name] === undefined ? rule.default : given[name];
    const own = rule.code ?? code;
    if (value === undefined) {
      if (rule.required) throw refuse(own, `${path}${name}`, `${path}${name} is missing`);
      continue;
    }
    const kept = READ[rule.kind](value, rule, `${path}${name}`, own);
    if (kept !== undefined) read[name] = kept;
  }
  return read;
}

/** @param {unknown} value @param {string} field @param {string} code @param {number} max */
function json(value, field, code, max) {
  let text;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new JobsError(code, `${field} is no JSON: ${/** @type {Error} */ (cause).message}`, { field, cause });
  }
  if (text === undefined) throw refuse(code, field, `${field} is no JSON`);
  const size = Buffer.byteLength(text);
  if (size > max) throw refuse('too_large', field, `${field} has ${size} bytes, at most ${max} are taken`);
  if (depth(text) > DEPTH_MAX) throw refuse(code, field, `${field} is nested more than ${DEPTH_MAX} deep`);
  return text;
}

/** @param {Record<string, any>} schedule */
function checkSchedule({ delay, runAt, cron, timezone }) {
  if ([delay, runAt, cron].filter((one) => one !== undefined).length > 1) {
    throw refuse('conflicting_schedule', 'schedule', 'schedule takes one of delay, runAt and cron');
  }
  if (cron !== undefined) checkCron(cron, timezone);
  else if (timezone !== undefined) {
    const message = 'schedule.timezone has a meaning with schedule.cron only';
    throw refuse('invalid_timezone', 'schedule.timezone', message);
  }
}

/** The structure that a new job goes to, and its score there. A cron definition is due at once: the scheduler finds that
 * this is no occurrence of the expression and sets the true time, without firing.
 * @param {Record<string, any>} job @param {number} now @returns {[string, number]}
 */
function whereTo({ schedule, priority }, now) {
  if (schedule.cron !== undefined) return ['cron', 1];
  if (schedule.runAt !== undefined) return ['delayed', schedule.runAt];
  if (schedule.delay > 0) return ['delayed', now + schedule.delay];
  return [priority >= 7 ? 'front' : 'back', 0];
}

/**
 * @typedef {object} Entry a job that was checked, with all that the scripts want to know of it
 * @property {string} id
 * @property {boolean} isOwnId the id was made here, so that nobody else can have it
 * @property {string} type
 * @property {string} text
 * @property {string} place
 * @property {number} score
 * @property {string[]} dependsOn
 * @property {string} digest of the uniqueness key
 * @property {string} window
 * @property {string} policy
 * @property {boolean} isCron
 * @property {string} group
 * @property {string} sequence
 */

/**
 * Checks a job and writes its text.
 * @param {Record<string, any>} given
 * @param {number} now Unix ms
 * @param {number} payloadMax bytes
 * @param {{flow?: string, parent?: string}} [place] in a flow
 * @returns {Entry}
 */
export function prepare(given, now, payloadMax, place = {}) {
  if (!isObject(given)) throw refuse('invalid_body', '', 'a job is an object');
  const { delay, runAt, cron, timezone, ...rest } = given;
  if (SHORT.some((name) => given[name] !== undefined))
    rest.schedule = { ...rest.schedule, delay, runAt, cron, timezone };
  for (const name of IGNORED) delete rest[name];
  // The definition that fired a job, and its place in a flow, are not for its sender to name.
  const { flow, parent } = place;
  if (isObject(rest.x) || flow) rest.x = { ...rest.x, cronParent: undefined, flow, parent };
  const { jobId, unique: asked, debounce, throttle, ...job } = readMembers(rest, FIELDS, '', 'invalid_body');
  const unique = uniqueOf(job, asked, debounce, throttle);
  checkSchedule(job.schedule);
  const isCron = job.schedule.cron !== undefined;
  if (isCron && job.dependsOn.length > 0) {
    throw refuse('invalid_dependency', 'dependsOn', 'a cron definition cannot depend on other jobs');
  }
  if (isCron && job.x?.sequence) {
    throw refuse('invalid_x', 'x.sequence', 'a cron definition has no place in a sequence');
  }
  if (isCron && unique) throw refuse('invalid_unique', 'unique', 'a cron definition is unique by its id');
  if (job.priority === 0) job.priority = 5;
  const id = jobId ?? randomUUID();
  const payload = json(job.payload, 'payload', 'invalid_payload', payloadMax);
  const metadata = json(job.metadata, 'metadata', 'invalid_metadata', payloadMax);
  const text = write(
    id,
    job,
    payload,
    metadata,
    now,
    unique?.isFreed ? { uniqueKey: unique.key, ...job.x } : undefined,
  );
  const [where, score] = whereTo(job, now);
  return {
    id,
    isOwnId: jobId === undefined,
    type: job.type,
    text,
    place: where,
    score,
    dependsOn: job.dependsOn,
    digest: unique ? digest(unique.key) : '',
    window: unique ? String(unique.windowMs) : '',
    policy: unique ? unique.onConflict : '',
    isCron,
    group: job.x?.group ?? '',
    sequence: job.x?.sequence ?? '',
  };
}

/**
 * The uniqueness key of a job. A debounce replaces the job that waits with its key and waits anew; a throttle keeps its key
 * also after the job's end.
 * @param {Record<string, any>} job @param {any} unique @param {any} debounce @param {any} throttle
 * @returns {{key: string, windowMs: number, onConflict: string, isFreed: boolean} | undefined}
 */
function uniqueOf(job, unique, debounce, throttle) {
  if ([unique, debounce, throttle].filter((one) => one !== undefined).length > 1) {
    throw refuse('invalid_unique', 'unique', 'a job takes one of unique, debounce and throttle');
  }
  if (debounce) {
    if (Object.keys(job.schedule).length > 0) {
      throw refuse('invalid_debounce', 'debounce', 'debounce says when the job runs: leave schedule out');
    }
    job.schedule.delay = debounce.waitMs;
    // The key outlives the wait, because a full queue may keep the job longer.
    return {
      key: `debounce:${debounce.key}`,
      windowMs: debounce.waitMs + DAY_MS,
      onConflict: 'debounce',
      isFreed: true,
    };
  }
  if (throttle) {
    return { key: `throttle:${throttle.key}`, windowMs: throttle.windowMs, onConflict: 'throttle', isFreed: false };
  }
  // Stored jobs carry the key only; its window is then a day.
  const known = unique ?? (job.x?.uniqueKey && { key: job.x.uniqueKey, windowMs: DAY_MS, onConflict: 'reject' });
  return known && { ...known, isFreed: true };
}

/** The bytes that are stored.
 * @param {string} id @param {Record<string, any>} job @param {string} payload @param {string} metadata
 * @param {number} now @param {Record<string, any> | undefined} unique `x` of a job that is unique
 */
function write(id, job, payload, metadata, now, unique) {
  const x = unique ?? job.x;
  const limit =
    job.rateLimit && Object.keys(job.rateLimit).length > 0 ? `,"rateLimit":${JSON.stringify(job.rateLimit)}` : '';
  const own = x && Object.keys(x).length > 0 ? `,"x":${JSON.stringify(x)}` : '';
  return (
    `{"jobId":${JSON.stringify(id)},"type":${JSON.stringify(job.type)},"payload":${payload},` +
    `"schedule":${JSON.stringify(job.schedule)},"retry":${JSON.stringify(job.retry)},"priority":${job.priority},` +
    `"dependsOn":${JSON.stringify(job.dependsOn)},"target":${JSON.stringify(job.target)},"metadata":${metadata},` +
    `"createdAt":${now},"attempts":0${limit}${own}}`
  );
}

/** The digest of a uniqueness key, as scripts compute it. @param {string} key */
export const digest = (key) => createHash('sha1').update(key).digest('hex');
