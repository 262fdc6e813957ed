// What every page shares: who is looking, the front page's numbers (asked once a second while the page is visible),
// and whether the store answers. Last good values stay, with their age.
import { get, setCsrf } from './api.js';

const EVERY_MS = 1000;
const HISTORY = 90;
const RANK = { reader: 0, operator: 1, admin: 2 };

class State extends EventTarget {
  /** @type {Api.Me & {login: boolean}} */ session = null;
  /** @type {Api.Overview} */ overview = null;
  overviewAt = null;
  fault = null; // the last refusal of the overview, null when it answers
  history = new Map(); // module → its last numbers, for sparklines
  tiles = new Map(); // module → its last tile with its time: one that fails keeps its place

  /** True when the role may do it; otherwise the action is absent. */
  can(role = 'operator') {
    return (RANK[this.session?.role] ?? -1) >= RANK[role];
  }

  async loadSession() {
    const answer = await get('/api/session', { quiet: true });
    this.party = !!answer?.party;
    this.session = answer?.role ? { ...answer, login: answer.kind === 'session' } : null;
    setCsrf(this.session?.csrf);
    this.tell('session');
    return this.session;
  }

  start() {
    if (this.timer) return;
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.ask();
    });
    this.ask();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    this.stopped = true;
  }

  async ask() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), EVERY_MS);
    if (document.hidden || this.asking || this.stopped) return;
    this.asking = true;
    try {
      this.overview = await get('/api/overview', { timeout: 5000 });
      this.fault = null;
      // While the store is away the numbers are from before, and keep that time.
      if (this.overview.store?.up !== false || this.overviewAt == null) this.overviewAt = Date.now();
      this.keep();
      this.tell('overview');
    } catch (e) {
      if (e.status === 401) {
        this.stop();
        return;
      }
      this.fault = e;
      this.tell('fault');
    } finally {
      this.asking = false;
    }
  }

  keep() {
    for (const tile of this.overview.tiles || []) {
      const line = this.history.get(tile.module) || [];
      line.push(tile.number);
      if (line.length > HISTORY) line.shift();
      this.history.set(tile.module, line);
      this.tiles.set(tile.module, { ...tile, at: this.overviewAt });
    }
  }

  /** The store does not answer: the server said so, or refused because of it. */
  get storeAway() {
    return this.fault ? this.fault.status === 503 : this.overview?.store?.up === false;
  }

  /** Names of the modules that run here. */
  get running() {
    return (this.overview?.modules || []).filter((m) => m.running).map((m) => m.name);
  }

  /** How old the shown numbers are. */
  get ageMs() {
    return this.overviewAt == null ? null : Date.now() - this.overviewAt;
  }

  tell(what) {
    this.dispatchEvent(new CustomEvent(what));
  }
}

export const state = new State();
