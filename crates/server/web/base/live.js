// The one socket: /ws/events. Reconnects with jittered backoff, resumes each stream after the last entry seen, and
// says what was lost. Keeps a bounded tail of events, so a page opened later has something to show.
import { get, post } from './api.js';

const TAIL = 500;
const FLUSH_MS = 150; // bursts reach the pages as one batch
const SLOWEST_MS = 10000;
const RESUBSCRIBE_MS = 2000;
const LATEST = 200;

/** Stream ids compare by milliseconds, then by count. */
function newer(a, b) {
  const [x, y] = [a, b].map((id) => String(id).split('-').map(Number));
  return x[0] !== y[0] ? x[0] > y[0] : (x[1] || 0) > (y[1] || 0);
}

export class Live extends EventTarget {
  /** @param {{needsTicket?: () => boolean, url?: string}} [o] */
  constructor({ needsTicket = () => false, url } = {}) {
    super();
    this.url = url || `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws/events`;
    this.needsTicket = needsTicket;
    this.state = 'off'; // off, connecting, live, waiting
    this.paused = false;
    this.events = [];
    this.after = {};
    this.tries = 0;
    this.lostAt = null;
    this.retryAt = null;
    this.gaps = [];
    this.batch = [];
    this.seen = new Set();
  }

  start() {
    if (this.state !== 'off') return;
    addEventListener('online', () => this.now());
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.now();
    });
    this.connect();
  }

  /** Tries at once instead of waiting for the timer. */
  now() {
    if (this.state !== 'waiting') return;
    clearTimeout(this.timer);
    this.connect();
  }

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.again);
    this.wanted = false;
    this.socket?.close();
    this.set('off');
  }

  async connect() {
    this.wanted = true;
    this.set('connecting');
    let url = this.url;
    if (this.needsTicket()) {
      try {
        const given = await post('/api/ws-ticket');
        url += `?ticket=${encodeURIComponent(given.ticket)}`;
      } catch {
        this.retry();
        return;
      }
    }
    let socket;
    try {
      socket = new WebSocket(url);
    } catch {
      this.retry();
      return;
    }
    this.socket = socket;
    // A half-open handshake must not hold us for the browser's own minutes.
    const slow = setTimeout(() => socket.close(), 8000);
    socket.onopen = () => {
      clearTimeout(slow);
      this.subscribe();
    };
    socket.onmessage = (m) => this.read(m.data);
    socket.onclose = (e) => {
      clearTimeout(slow);
      if (this.socket !== socket) return;
      if (e.code === 4401) dispatchEvent(new CustomEvent('wk-login'));
      if (this.wanted) this.retry();
    };
  }

  subscribe() {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    const ask = { type: 'subscribe' };
    if (Object.keys(this.after).length) ask.after = this.after;
    this.socket.send(JSON.stringify(ask));
  }

  /** The server has answered our subscription: from here on nothing is missed. */
  opened() {
    const was = this.lostAt;
    this.tries = 0;
    this.retryAt = null;
    this.lostAt = null;
    this.gaps = [];
    this.set('live');
    if (was != null) {
      // Gap notices follow the answer to `subscribe`; a moment later we know what was missed. Streams that were born
      // meanwhile have no place to resume from, so the latest events are read once more.
      const socket = this.socket;
      this.latest();
      setTimeout(() => {
        if (this.socket === socket && this.state === 'live')
          this.dispatchEvent(new CustomEvent('back', { detail: { awayMs: Date.now() - was, gaps: this.gaps } }));
      }, 400);
    }
  }

  retry() {
    if (this.lostAt == null) this.lostAt = Date.now();
    const top = Math.min(SLOWEST_MS, 300 * 2 ** Math.min(this.tries, 6));
    const wait = top / 2 + Math.random() * (top / 2);
    this.tries += 1;
    this.retryAt = Date.now() + wait;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), wait);
    this.set('waiting');
  }

  read(data) {
    let m;
    try {
      m = JSON.parse(data);
    } catch {
      return;
    }
    if (m.type === 'gap' && m.stream && m.module === undefined) {
      this.gaps.push(m);
      this.dispatchEvent(new CustomEvent('gap', { detail: m }));
      return;
    }
    if (m.module === undefined || m.seq === undefined) {
      if (m.type === 'subscribed') {
        // Where each stream stood when we subscribed: a stream silent until now resumes from there too.
        for (const [k, v] of Object.entries(m.streams || {})) if (!(k in this.after)) this.after[k] = v;
        this.opened();
      } else if (m.type === 'error' && m.code === 'store_unavailable') {
        if (this.lostAt == null) this.lostAt = Date.now();
        this.again = setTimeout(() => this.subscribe(), RESUBSCRIBE_MS);
      }
      return;
    }
    const stream = m.stream || m.module;
    const key = `${stream} ${m.seq}`;
    if (this.seen.has(key)) return;
    this.seen.add(key);
    this.after[stream] = m.seq;
    m.key = key;
    this.batch.push(m);
    if (!this.flushing) this.flushing = setTimeout(() => this.flush(), FLUSH_MS);
  }

  /** Reads the latest events once over HTTP: what a page shows before the first one arrives. */
  async latest() {
    try {
      this.backfill((await get('/api/events', { query: { limit: LATEST }, quiet: true })).items || []);
    } catch {
      /* the banner tells */
    }
  }

  /** Events read over HTTP, older than the socket: fills the tail and tells each stream where to resume. */
  backfill(events) {
    for (const m of events) {
      const stream = m.stream || m.module;
      m.key = `${stream} ${m.seq}`;
      if (this.seen.has(m.key)) continue;
      this.seen.add(m.key);
      this.events.push(m);
      if (!(stream in this.after) || newer(m.seq, this.after[stream])) this.after[stream] = m.seq;
    }
    this.events.sort((a, b) => a.at - b.at);
    this.trim();
    this.dispatchEvent(new CustomEvent('events', { detail: [] }));
  }

  flush() {
    this.flushing = null;
    const fresh = this.batch.splice(0);
    if (!fresh.length) return;
    this.events.push(...fresh);
    this.trim();
    this.dispatchEvent(new CustomEvent('events', { detail: fresh }));
  }

  trim() {
    if (this.events.length <= TAIL) return;
    for (const old of this.events.splice(0, this.events.length - TAIL)) this.seen.delete(old.key);
  }

  /** Holds drawing, not reading: nothing is lost while paused. */
  pause(on = !this.paused) {
    this.paused = on;
    this.dispatchEvent(new CustomEvent('paused', { detail: on }));
  }

  set(state) {
    if (this.state === state) return;
    this.state = state;
    this.dispatchEvent(new CustomEvent('state', { detail: state }));
  }
}
