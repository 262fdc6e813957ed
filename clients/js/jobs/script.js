// The scripts of the queue and their arguments by name. The table comes with the scripts, made from their headers, so that
// an argument this package does not know of is found when it is loaded and not in the middle of somebody's job.
import { DIGEST, SCRIPTS } from './bundle.js';

/** The digest of all scripts in the package; servers of the same release tell the same one. */
export const scriptsDigest = DIGEST;

/** The arguments that this package can give, by script: fixed ones in any order, then the name of the rest. */
const GIVEN = {
  enqueue: ['now', 'opts', 'max_waiting', 'jobs'],
  enqueue_dependent: ['now', 'opts', 'result_ttl', 'retention', 'max_waiting', 'jobs'],
  finish_and_claim: [
    ...[
      'now',
      'opts',
      'result_ttl',
      'retention',
      'worker',
      'finishing',
      'claiming',
      'last_head',
      'lock_ttl',
      'routing',
    ],
    ...['types', 'scan_limit', 'first_seen', 'last_seen', 'last_index', 'attempts'],
  ],
  join_groups: ['now', 'jobs'],
  renew: ['worker', 'ttl', 'ids'],
  progress: ['worker', 'id', 'text'],
  reclaim: ['now', 'opts', 'result_ttl', 'retention', 'max_recoveries', 'cursor', 'pause'],
  promote: ['now', 'opts', 'batch'],
  put_cron: ['now', 'opts', 'id', 'old_text', 'new_text', 'score', 'type'],
  cancel: ['now', 'opts', 'result_ttl', 'retention', 'ids'],
  pause: ['now', 'opts', 'type', 'until_ms'],
  resume: ['now', 'opts', 'type', 'only_due'],
  register: ['now', 'opts', 'worker', 'pid', 'hostname', 'text'],
  unregister: ['now', 'opts', 'worker', 'pid', 'hostname'],
  quarantine: ['now', 'opts', 'result_ttl', 'retention', 'id'],
};

/** @typedef {keyof typeof GIVEN} ScriptName */

for (const [name, given] of Object.entries(GIVEN)) {
  const script = SCRIPTS[name];
  const unknown = script?.args.find((arg) => !given.includes(arg));
  if (!script || unknown) {
    throw new Error(
      `worldkeep: the script ${name} is not the one this package was written for (${unknown ?? 'it is missing'})`,
    );
  }
}

/**
 * What `EVALSHA` takes after the hash.
 * @param {ScriptName} name
 * @param {string[]} keys
 * @param {Record<string, string | number>} named the fixed arguments
 * @param {(string | number)[]} rest the arguments after them
 */
export function call(name, keys, named, rest) {
  const script = SCRIPTS[name];
  const words = [keys.length, ...keys];
  for (const arg of script.args) if (arg !== script.rest) words.push(named[arg]);
  if (rest.length > 0) for (const word of rest) words.push(word);
  return { sha: script.sha1, lua: script.lua, words };
}
