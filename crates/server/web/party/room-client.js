// One line to a room: connects, asks for the whole state, follows, and comes back by itself after a loss. What the page
// wants is kept as an intent until the state shows it done, so a tap is sent again after a reconnect and counts once.
import { fresh, reduce } from './room-state.js';

/** Waits between tries, in milliseconds; the last one repeats. */
export const WAITS = [500, 1000, 2000, 4000, 8000, 10000];
const QUIET_MS = 20000; // no frame for so long: ask whether anyone is there
const ANSWER_MS = 6000;

/** How long before try `n` (from 0), with ± 20 % so that a whole party does not come back at one instant. */
export const waitBefore = (n, random = Math.random) =>
  Math.round(WAITS[Math.min(n, WAITS.length - 1)] * (0.8 + 0.4 * random()));

/** What a close code means: come back, or the room is gone. */
export function afterClose(code) {
  if (code === 4000) return 'closed';
  if (code === 4410) return 'expired';
  if (code === 4503) return 'full';
  if (code === 4429) return 'slow';
  return 'again';
}

export class RoomClient extends EventTarget {
  /** `io` replaces the world in tests: makeSocket, setTimeout, clearTimeout, now, random. */
  constructor({ url, code, deviceId, masterKey = null, role = 'play', io = {} }) {
    super();
    this.url = url;
    this.code = code;
    this.deviceId = deviceId;
    this.masterKey = masterKey;
    this.state = { ...fresh(role), code };
    this.io = {
      makeSocket: (u) => new WebSocket(u),
      setTimeout: (f, ms) => setTimeout(f, ms),
      clearTimeout: (id) => clearTimeout(id),
      now: () => Date.now(),
      random: Math.random,
      ...io,
    };
    this.link = 'idle'; // idle, connecting, live, waiting, ended
    this.tries = 0;
    this.retryAt = null;
    this.offset = 0; // server clock minus ours
    this.intents = new Map();
    this.seq = 0;
    this.wake = () => this.nudge();
    this.dark = () => this.suspect();
  }

  start() {
    globalThis.addEventListener?.('online', this.wake);
    globalThis.addEventListener?.('offline', this.dark);
    globalThis.document?.addEventListener('visibilitychange', this.wake);
    this.connect();
  }

  stop() {
    globalThis.removeEventListener?.('online', this.wake);
    globalThis.removeEventListener?.('offline', this.dark);
    globalThis.document?.removeEventListener('visibilitychange', this.wake);
    this.setLink('ended');
    this.clear();
    this.drop();
  }

  /** The server's clock, for countdowns: phones are often minutes off. */
  serverNow() {
    return this.io.now() + this.offset;
  }

  setLink(link) {
    if (this.link === link) return;
    this.link = link;
    this.dispatchEvent(new Event('link'));
  }

  clear() {
    for (const name of ['retry', 'watch']) this.io.clearTimeout(this[name]);
  }

  drop() {
    const ws = this.ws;
    this.ws = null;
    if (!ws) return;
    ws.onopen = ws.onmessage = ws.onclose = ws.onerror = null;
    try {
      ws.close();
    } catch {
      /* never opened */
    }
  }

  connect() {
    if (this.link === 'ended') return;
    this.clear();
    this.drop();
    this.synced = false;
    this.retryAt = null;
    this.setLink('connecting');
    let ws;
    try {
      ws = this.io.makeSocket(this.url);
    } catch {
      this.again();
      return;
    }
    this.ws = ws;
    ws.onopen = () => {
      this.askedAt = this.io.now();
      this.raw('PING', {});
      this.sync();
      this.listen(ANSWER_MS);
    };
    ws.onmessage = (e) => this.hear(e.data);
    ws.onclose = (e) => this.lost(e.code);
    ws.onerror = () => {};
    // A network that swallows packets never says no: the try has an end of its own.
    this.listen(ANSWER_MS * 2);
  }

  /** Asks for everything; also binds the socket. */
  sync() {
    const payload = { code: this.code, device_id: this.deviceId, photos: 'links' };
    if (this.masterKey) payload.master_key = this.masterKey;
    this.raw('STATE_SYNC', payload, 'sync');
  }

  raw(type, payload, id) {
    if (this.ws?.readyState !== 1) return false;
    this.ws.send(JSON.stringify(id ? { type, payload, id } : { type, payload }));
    return true;
  }

  /** Waits for a frame; without one it asks, and without an answer it starts over. */
  listen(ms) {
    this.io.clearTimeout(this.watch);
    this.watch = this.io.setTimeout(() => {
      if (!this.synced || this.probing) {
        this.probing = false;
        this.lost(0);
        return;
      }
      this.probing = true;
      this.askedAt = this.io.now();
      this.raw('PING', {});
      this.listen(ANSWER_MS);
    }, ms);
  }

  /** The browser says the network went away: ask at once instead of waiting for silence. */
  suspect() {
    if (this.link !== 'live') return;
    this.probing = true;
    this.askedAt = this.io.now();
    this.raw('PING', {});
    this.listen(2000);
  }

  /** Network or page is back: try now. */
  nudge() {
    if (globalThis.document?.hidden) return;
    if (this.link === 'waiting') {
      this.tries = 0;
      this.connect();
    } else if (this.link === 'live') {
      this.suspect();
    }
  }

  lost(code) {
    if (this.link === 'ended') return;
    this.drop();
    const then = afterClose(code);
    if (then === 'again' || then === 'slow') {
      if (then === 'slow') this.tries = Math.max(this.tries, WAITS.length - 1);
      this.again();
      return;
    }
    if (!this.state.gone) this.apply({ type: 'GONE', payload: { why: then } });
    this.end();
  }

  again() {
    const ms = waitBefore(this.tries, this.io.random);
    this.tries += 1;
    this.retryAt = this.io.now() + ms;
    this.clear();
    this.setLink('waiting');
    this.retry = this.io.setTimeout(() => this.connect(), ms);
  }

  end() {
    this.intents.clear();
    this.clear();
    this.drop();
    this.setLink('ended');
  }

  hear(data) {
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    if (!message || typeof message.type !== 'string') return;
    this.probing = false;
    this.listen(QUIET_MS);
    const p = message.payload || {};
    if (message.type === 'PONG') {
      if (typeof p.now === 'number') this.offset = p.now - (this.askedAt + this.io.now()) / 2;
      return;
    }
    if (message.type === 'ERROR') {
      this.refused(message, p);
      return;
    }
    const intent = message.id ? this.intents.get(message.id) : this.byAck(message, p);
    if (message.type === 'VOTE_ACK' && intent) this.forget(intent);
    if (/^TAKE_PLAYER_(FAIL|OK)$/.test(message.type) && intent) this.forget(intent);
    this.apply(message, intent);
    if (message.type === 'STATE_SYNC_RESPONSE') this.caughtUp();
    if (message.type === 'ROOM_CLOSED_BROADCAST') this.end();
  }

  /** A vote's answer finds its vote also when the server repeats no id. */
  byAck(message, p) {
    if (message.type !== 'VOTE_ACK') return null;
    return [...this.intents.values()].find(
      (i) => i.sent && i.type === 'SUBMIT_VOTE' && i.payload.item_id === p.item_id && i.payload.round_id === p.round_id,
    );
  }

  refused(message, p) {
    const intent = message.id ? this.intents.get(message.id) : null;
    if (intent) this.forget(intent);
    const gone = { room_not_found: 'unknown', room_expired: 'expired' }[p.error];
    if (gone) {
      const why = gone === 'unknown' && this.state.phase ? 'expired' : gone;
      this.apply({ type: 'GONE', payload: { why, message: p.message } });
      this.end();
      return;
    }
    this.tell('refused', { ...p, intent });
    // The step may or may not have happened: look.
    if (p.error === 'internal_error' || p.error === 'conflict' || p.error === 'not_in_phase') this.sync();
  }

  caughtUp() {
    this.synced = true;
    this.tries = 0;
    this.setLink('live');
    for (const intent of this.intents.values()) intent.sent = false;
    this.flush();
  }

  apply(message, intent) {
    const before = this.state;
    this.state = reduce(before, message, intent);
    if (this.state !== before) {
      this.dispatchEvent(new Event('state'));
      this.settle();
    }
    this.tell('message', { message, intent });
  }

  tell(type, detail) {
    this.dispatchEvent(Object.assign(new Event(type), { detail }));
  }

  /** Wants something. The same key replaces an earlier wish. `needed(state)` says whether it is still to be done. */
  want({ key, type, payload = {}, needed = () => true }) {
    const had = [...this.intents.values()].find((i) => i.key === key);
    if (had) this.forget(had);
    this.seq += 1;
    const id = `${key}.${this.seq}`.slice(-64);
    const intent = { id, key, type, payload, needed, sent: false };
    intent.done = new Promise((resolve) => {
      intent.resolve = resolve;
    });
    this.intents.set(id, intent);
    this.dispatchEvent(new Event('intents'));
    this.flush();
    return intent;
  }

  wants(key) {
    return [...this.intents.values()].find((i) => i.key === key) || null;
  }

  forget(intent) {
    this.intents.delete(intent.id);
    intent.resolve();
    this.dispatchEvent(new Event('intents'));
  }

  /** What the state shows done is done. */
  settle() {
    for (const intent of this.intents.values()) if (!intent.needed(this.state)) this.forget(intent);
  }

  flush() {
    if (this.link !== 'live') return;
    for (const intent of [...this.intents.values()]) {
      if (intent.sent) continue;
      if (!intent.needed(this.state)) {
        this.forget(intent);
        continue;
      }
      const payload = this.masterKey ? { ...intent.payload, master_key: this.masterKey } : intent.payload;
      intent.sent = this.raw(intent.type, payload, intent.id);
    }
  }
}
