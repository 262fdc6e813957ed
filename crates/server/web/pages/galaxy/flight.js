// The pilot's line to the server: /ws/galaxy. Says who we are, keeps alive (ping each 30 s, an answer within 10 s), comes
// back with growing pauses, renews its token, and tells what arrives. Inputs go out at most twenty times a second.

const PING_MS = 30000;
const PONG_MS = 10000;
const SLOWEST_MS = 8000;
const SEND_MS = 50;
/** The server closed for good: another token is needed, or this page is not welcome. */
const REFUSED = [4001, 4003];

export class Flight extends EventTarget {
  /** `token()` gives the present one; `renewed(token)` keeps a fresh one.
   *  @param {{token: () => string, renewed: (token: string) => void, url?: string}} o */
  constructor({ token, renewed, url }) {
    super();
    this.url = url || `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws/galaxy`;
    this.token = token;
    this.renewed = renewed;
    this.state = 'off'; // off, connecting, flying, waiting, refused
    this.tries = 0;
    this.heardAt = 0;
    this.waiting = {};
  }

  start() {
    this.online = () => this.now();
    addEventListener('online', this.online);
    this.connect();
  }
  stop() {
    removeEventListener('online', this.online);
    clearTimeout(this.retryTimer);
    this.quiet();
    const s = this.socket;
    this.socket = null;
    s?.close();
    this.set('off');
  }
  /** Tries at once instead of waiting. */
  now() {
    if (this.state !== 'waiting') return;
    clearTimeout(this.retryTimer);
    this.connect();
  }

  connect() {
    this.set('connecting');
    let socket;
    try {
      socket = new WebSocket(this.url);
    } catch {
      this.retry();
      return;
    }
    this.socket = socket;
    const slow = setTimeout(() => socket.close(), 8000);
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: 'auth', token: this.token() }));
    };
    socket.onmessage = (m) => {
      if (this.socket !== socket) return;
      clearTimeout(slow);
      this.read(m.data);
    };
    socket.onclose = (e) => {
      clearTimeout(slow);
      if (this.socket !== socket) return;
      this.socket = null;
      this.quiet();
      if (REFUSED.includes(e.code)) {
        this.set('refused');
        this.tell('refused', { code: e.code, reason: e.reason });
      } else this.retry();
    };
  }

  retry() {
    const top = Math.min(SLOWEST_MS, 500 * 2 ** Math.min(this.tries, 5));
    const wait = top / 2 + Math.random() * (top / 2);
    this.tries += 1;
    this.retryAt = Date.now() + wait;
    this.set('waiting');
    this.retryTimer = setTimeout(() => this.connect(), wait);
  }

  read(raw) {
    let m;
    try {
      m = JSON.parse(raw);
    } catch {
      return;
    }
    this.heardAt = performance.now();
    if (m.type === 'welcome') {
      this.tries = 0;
      this.set('flying');
      this.alive();
    } else if (m.type === 'pong') clearTimeout(this.pongTimer);
    else if (m.type === 'token_refresh' && m.token) this.renewed?.(m.token);
    this.tell(m.type, m);
  }

  alive() {
    clearInterval(this.pingTimer);
    this.pingTimer = setInterval(() => {
      this.raw({ type: 'ping' });
      clearTimeout(this.pongTimer);
      const socket = this.socket;
      this.pongTimer = setTimeout(() => {
        // A line that does not answer is let go without waiting for its closing.
        if (this.socket !== socket || !socket) return;
        this.socket = null;
        socket.close();
        this.quiet();
        this.retry();
      }, PONG_MS);
    }, PING_MS);
  }
  quiet() {
    clearInterval(this.pingTimer);
    clearTimeout(this.pongTimer);
    clearTimeout(this.sendTimer);
    this.sendTimer = null;
    this.waiting = {};
  }

  raw(message) {
    if (this.state !== 'flying' || this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
  /** Controls are joined: only the newest of each goes out. */
  control(change) {
    if (this.state !== 'flying') return false;
    Object.assign(this.waiting, change);
    if (!this.sendTimer) {
      const send = () => {
        this.sendTimer = null;
        const now = this.waiting;
        this.waiting = {};
        if (Object.keys(now).length && this.raw({ type: 'control', ...now }))
          this.sendTimer = setTimeout(send, SEND_MS);
      };
      send();
    }
    return true;
  }

  set(state) {
    if (this.state === state) return;
    this.state = state;
    this.tell('link', state);
  }
  tell(what, detail) {
    this.dispatchEvent(new CustomEvent(what, { detail }));
  }
}
