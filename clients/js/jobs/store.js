// The connection to the store. A call waits until there is a connection, is sent at most once, and never outlives its
// deadline; after a lost answer its outcome is unknown, and the caller decides. Time is the store's.
import { Cluster, Redis } from 'ioredis';
import { StoreError } from './errors.js';
import { call } from './script.js';

/** The server is asked for its time this often. */
const TIME_EVERY_MS = 60_000;
/** Answers by which a server says that it did nothing and may do it later. */
const LATER = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|MISCONF|OOM) ?/;

/** Options of our own connections: nothing is sent twice, a call whose answer was lost fails at once, and a lost connection
 * is opened again within 250 ms.
 */
const OWN = {
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (/** @type {number} */ times) => Math.min(10 * 2 ** Math.min(times, 5), 200),
};

/**
 * @param {string | import('ioredis').RedisOptions | Redis | Cluster} to an address, options, or a connection that is copied
 * @param {Record<string, any>} [more]
 * @returns {Redis}
 */
function open(to, more = {}) {
  const options = { ...OWN, ...more };
  if (to instanceof Cluster) {
    const own = {
      enableOfflineQueue: options.enableOfflineQueue,
      redisOptions: { ...to.options.redisOptions, ...OWN },
    };
    return /** @type {any} */ (to.duplicate([], own));
  }
  if (to instanceof Redis) return to.duplicate(options);
  return typeof to === 'string' ? new Redis(to, options) : new Redis({ ...to, ...options });
}

/** Options of connections that only read and listen: they may ask again. */
export const LISTENS = { autoResendUnfulfilledCommands: true, enableOfflineQueue: true, maxRetriesPerRequest: null };

/** A store and the keys of one namespace in it. */
export class Store {
  #to;
  #offset = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #clock;
  /** @type {Redis[]} */
  #others = [];
  #closed = false;
  /** @type {((error: Error) => void)} */
  #onError;

  /**
   * @param {string | import('ioredis').RedisOptions | Redis | Cluster} to
   * @param {string} namespace
   * @param {'plain' | 'tagged'} layout
   * @param {(error: Error) => void} onError
   */
  constructor(to, namespace, layout, onError) {
    this.#to = to;
    this.#onError = onError;
    this.prefix = layout === 'tagged' && !namespace.includes('{') ? `{${namespace}}:` : `${namespace}:`;
    const waiting = this.key('jobs:waiting');
    // On a Cluster a key that never is: while a slot is on its way the nodes refuse the step, whole, instead of half.
    this.keys = to instanceof Cluster ? [waiting, this.key('jobs:lock:')] : [waiting];
    this.redis = this.open();
  }

  /** A key of the namespace. @param {string} name */
  key(name) {
    return this.prefix + name;
  }

  /** One more connection, closed with the store. @param {Record<string, any>} [more] */
  open(more) {
    const redis = open(this.#to, more);
    // Every call that waits for the connection listens.
    redis.setMaxListeners(0);
    redis.on('error', (error) => this.#onError(error));
    if (this.redis) this.#others.push(redis);
    return redis;
  }

  /** Closes a connection of `open`. @param {Redis} redis */
  drop(redis) {
    redis.disconnect();
    this.#others = this.#others.filter((one) => one !== redis);
  }

  close() {
    this.#closed = true;
    clearInterval(this.#clock);
    for (const redis of [this.redis, ...this.#others]) redis.disconnect();
  }

  /** Whether the store was asked for its time. */
  get knowsTime() {
    return this.#clock !== undefined;
  }

  /** Unix milliseconds, the store's. */
  now() {
    return Math.round(Date.now() + this.#offset);
  }

  /** Sends something as soon as there is a connection; what only reads may be sent `again` after a lost answer. @template T
   * @param {(redis: Redis) => Promise<T>} send @param {number} ms @param {boolean} [again] @returns {Promise<T>}
   */
  async send(send, ms, again = false) {
    const until = performance.now() + ms;
    for (;;) {
      await this.#ready(until);
      if (this.#clock === undefined) await this.#readTime(until);
      try {
        return await this.#bounded(send(this.redis), until);
      } catch (error) {
        const fault = faultOf(error);
        if (!fault) throw error;
        const mayTry = fault.outcome === 'not_sent' || again;
        if (!mayTry || performance.now() + 20 >= until || this.#closed) throw fault;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }

  /** Runs a script. @param {import('./script.js').ScriptName} name @param {Record<string, string | number>} named
   * @param {(string | number)[]} rest @param {number} ms @returns {Promise<any>}
   */
  async script(name, named, rest, ms) {
    const { sha, lua, words } = call(name, this.keys, named, rest);
    try {
      return await this.send((redis) => redis.call('EVALSHA', sha, ...words), ms);
    } catch (error) {
      if (!isReply(error) || !(/** @type {Error} */ (error).message.startsWith('NOSCRIPT'))) throw error;
      return await this.send((redis) => redis.call('EVAL', lua, ...words), ms);
    }
  }

  /** Waits for a connection. @param {number} until */
  async #ready(until) {
    if (this.redis.status === 'ready') return;
    if (this.#closed) throw new StoreError('not_sent', 'the queue is closed');
    const { redis } = this;
    let timer;
    let ready;
    try {
      await new Promise((resolve, reject) => {
        ready = resolve;
        redis.once('ready', ready);
        const sentence = 'the store cannot be reached';
        timer = setTimeout(() => reject(new StoreError('not_sent', sentence)), Math.max(0, until - performance.now()));
        if (redis.status === 'wait') redis.connect().catch(() => {});
      });
    } finally {
      clearTimeout(timer);
      if (ready) redis.off('ready', ready);
    }
  }

  /** The answer, or a fault at the deadline: then the connection is opened anew, because it may be dead.
   * @template T @param {Promise<T>} answer @param {number} until @returns {Promise<T>}
   */
  async #bounded(answer, until) {
    let timer;
    try {
      const late = new Promise((_, reject) => {
        const fail = () => {
          this.redis.disconnect(true);
          reject(new StoreError('unknown', 'the store did not answer in time'));
        };
        timer = setTimeout(fail, Math.max(0, until - performance.now()));
      });
      return await /** @type {Promise<T>} */ (Promise.race([answer, late]));
    } finally {
      clearTimeout(timer);
    }
  }

  /** How far the server's clock is from ours; asked again once a minute. @param {number} until */
  async #readTime(until) {
    const ask = async () => {
      const before = Date.now();
      const [seconds, micros] = /** @type {string[]} */ (await this.redis.call('TIME'));
      const half = (Date.now() - before) / 2;
      this.#offset = Number(seconds) * 1000 + Number(micros) / 1000 - (before + half);
    };
    this.#clock = setInterval(() => ask().catch(() => {}), TIME_EVERY_MS);
    this.#clock.unref();
    try {
      await this.#bounded(ask(), until);
    } catch (error) {
      clearInterval(this.#clock);
      this.#clock = undefined;
      const fault = faultOf(error);
      if (!fault) throw error;
    }
  }
}

/** @param {any} error */
const isReply = (error) => error?.name === 'ReplyError';

/** The fault that an error of the driver is; nothing when the server refused the command for its content.
 * @param {any} error
 */
function faultOf(error) {
  if (error instanceof StoreError) return error;
  if (isReply(error)) {
    return LATER.test(error.message) ? new StoreError('not_sent', error.message, error) : null;
  }
  const text = String(error?.message);
  const isUnsent = text.includes('enableOfflineQueue') || text.includes("isn't writeable");
  return new StoreError(isUnsent ? 'not_sent' : 'unknown', `the store failed: ${text}`, error);
}
