// Events of a namespace, read from its stream on a connection of its own. A reader can resume after the last event
// that it saw, and is told where the stream does not go back that far.
import { JobsError } from './errors.js';
import { LISTENS } from './store.js';

/** One blocking read. */
const BLOCK_MS = 2000;
const COUNT = 500;

/**
 * @param {import('./store.js').Store} store
 * @param {string} scope
 * @param {{after?: string, types?: string[], signal?: AbortSignal}} options
 * @returns {AsyncGenerator<any, void, void>}
 */
export async function* readEvents(store, scope, { after, types, signal }) {
  if (after !== undefined && !/^\d+(-\d+)?$/.test(after)) {
    throw new JobsError('invalid_after', 'after must be the seq of an event', { field: 'after' });
  }
  const stream = store.key('events:stream');
  const redis = store.open(LISTENS);
  const stop = () => store.drop(redis);
  signal?.addEventListener('abort', stop, { once: true });
  const wants = types && new Set(types);
  try {
    let last = after ?? (await newest(redis, stream));
    let isSure = after === undefined;
    while (!signal?.aborted) {
      let entries;
      try {
        if (!isSure) {
          const [start, from] = await resume(redis, stream, last);
          last = start;
          if (from) yield { type: 'gap', module: 'jobs', scope, from };
          isSure = true;
        }
        const found = await redis.xread('COUNT', COUNT, 'BLOCK', BLOCK_MS, 'STREAMS', stream, last);
        entries = found?.[0]?.[1] ?? [];
      } catch (error) {
        if (signal?.aborted || /** @type {Error} */ (error).name === 'ReplyError') throw error;
        // The connection was lost: it comes back, and nothing is missed unless the stream was trimmed meanwhile.
        isSure = false;
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      // A reader that is far behind may be overtaken by the trimming.
      if (entries.length === COUNT) isSure = false;
      for (const [seq, flat] of entries) {
        last = seq;
        const event = envelope(scope, seq, flat);
        if (!wants || wants.has(event.type)) yield event;
      }
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
  }
}

/** @param {string} scope @param {string} seq @param {string[]} flat */
function envelope(scope, seq, flat) {
  /** @type {Record<string, string>} */
  const fields = {};
  for (let at = 0; at < flat.length; at += 2) fields[flat[at]] = flat[at + 1];
  let body = {};
  try {
    body = JSON.parse(fields.body ?? '{}');
  } catch {
    // A foreign program wrote something else.
  }
  return { module: 'jobs', scope, seq, at: Number(fields.at), type: fields.type, id: fields.id, body };
}

/** @param {import('ioredis').Redis} redis @param {string} stream */
async function newest(redis, stream) {
  const [entry] = await redis.xrevrange(stream, '+', '-', 'COUNT', 1);
  return entry?.[0] ?? '0-0';
}

/** Where to go on, and the first event that is still there when some before it are gone.
 * @param {import('ioredis').Redis} redis @param {string} stream @param {string} after @returns {Promise<[string, string?]>}
 */
async function resume(redis, stream, after) {
  const [first] = await redis.xrange(stream, '-', '+', 'COUNT', 1);
  // Another stream of the same name.
  if (isLater(after, await newest(redis, stream))) return ['0-0', first?.[0] ?? '0-0'];
  const isMissing = first && isLater(first[0], after) && isLater(after, '0-0');
  return [after, isMissing ? first[0] : undefined];
}

/** @param {string} one @param {string} other */
function isLater(one, other) {
  const [a, b] = one.split('-').map(BigInt);
  const [c, d = 0n] = other.split('-').map(BigInt);
  return a > c || (a === c && b > d);
}
