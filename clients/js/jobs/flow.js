// A flow: a job and the jobs that must end before it, as a tree. A parent depends on its children.
import { randomUUID } from 'node:crypto';
import { JobsError } from './errors.js';
import { prepare } from './newjob.js';

/** Jobs of a flow, at most: one step stores them all. */
const JOBS_MAX = 500;
/** Jobs from the root of a flow to its lowest leaf, at most. */
const DEPTH_MAX = 16;

/** @param {string} path @param {string} field @param {string} why */
function refuse(path, field, why) {
  const at = path === '' ? '' : `${path.slice(0, -1)}: `;
  return new JobsError('invalid_flow', at + why, { field: path + field });
}

/** @param {import('./newjob.js').Entry} entry @param {string} path */
function check(entry, path) {
  if (entry.isCron) throw refuse(path, 'schedule.cron', 'a cron definition cannot be part of a flow');
  if (entry.policy !== '' && entry.policy !== 'reject') {
    const why = 'a job of a flow can be unique with reject only: all of a flow is stored, or none';
    throw refuse(path, 'unique', why);
  }
}

/**
 * The jobs of a flow, each child before its parent.
 * @param {Record<string, any>} flow
 * @param {number} now Unix ms
 * @param {number} payloadMax bytes
 */
export function prepareFlow(flow, now, payloadMax) {
  /** @type {import('./newjob.js').Entry[]} */
  const entries = [];
  const root = flow?.jobId ?? randomUUID();
  /** @param {any} given @param {string} jobId @param {string | undefined} parent @param {string} path @param {number} depth */
  const add = (given, jobId, parent, path, depth) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw new JobsError('invalid_body', `${path.slice(0, -1)}: a job is an object`, { field: path.slice(0, -1) });
    }
    const { children = [], ...job } = given;
    if (depth > DEPTH_MAX) throw refuse(path, 'children', `a flow is up to ${DEPTH_MAX} jobs deep`);
    if (!Array.isArray(children)) throw refuse(path, 'children', 'children must be a list of jobs');
    const ids = [];
    for (const [n, child] of children.entries()) {
      const childId = child?.jobId ?? randomUUID();
      ids.push(childId);
      add(child, childId, jobId, `${path}children[${n}].`, depth + 1);
    }
    const others = job.dependsOn ?? [];
    const dependsOn = Array.isArray(others) ? [...others, ...ids] : others;
    const entry = named(path, () => prepare({ ...job, jobId, dependsOn }, now, payloadMax, { flow: root, parent }));
    check(entry, path);
    if (entries.length === JOBS_MAX) throw refuse(path, 'children', `a flow has up to ${JOBS_MAX} jobs`);
    entries.push(entry);
  };
  add(flow, root, undefined, '', 1);
  return entries;
}

/** A refusal names the job in the tree that it is about. @template T @param {string} path @param {() => T} read @returns {T} */
function named(path, read) {
  try {
    return read();
  } catch (error) {
    if (path === '' || !(error instanceof JobsError)) throw error;
    const field = (path + (error.field ?? '')).replace(/\.$/, '');
    throw new JobsError(error.code, `${path.slice(0, -1)}: ${error.message}`, { field, cause: error });
  }
}
