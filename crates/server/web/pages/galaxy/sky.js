// What the map knows: bodies and craft as last told, each at its own game time, and where everything is at the moment
// that is drawn. Places are kept relative to the body that holds them, so that answers of different ticks agree.
import { add, anomalyAfter, holder, len, mul, orbitOf, placeAt, spun, sub, turn, vec, ZERO } from './space.js';
import { seconds } from './units.js';

const EASE_MS = 200;
const TRAIL_S = 60;
const TRAIL_MOST = 120;
/** Told nothing for so long, a craft is drawn where it was last seen. */
const FAR_MS = 8000;

/** How fast game time runs, in seconds per second. */
export function paceOf(s) {
  if (!s || s.paused) return 0;
  const late = s.actual_rate > 0 && s.tick_rate > 0 ? Math.min(1.5, s.actual_rate / s.tick_rate) : 1;
  if (s.effective_scale > 0) return s.effective_scale * late;
  const synced = s.time_sync && Math.abs(s.time_scale - 1) <= 0.001;
  const gentle = Math.max(-0.05, Math.min(0.05, (s.time_drift || 0) / 100));
  return (synced ? 1 + gentle : s.time_scale || 1) * late;
}

/** A place and velocity relative to a centre of `mu`, `dt` seconds later. */
export function carried(mu, rp, rv, dt) {
  if (!dt) return rp;
  const r = len(rp);
  const pull = mu > 0 && r > 0 ? mu / (r * r * r) : 0;
  if (pull * dt * dt < 1e-4) return add(add(rp, mul(rv, dt)), mul(rp, -0.5 * pull * dt * dt));
  const o = orbitOf(mu, rp, rv);
  return o?.closed ? placeAt(o, anomalyAfter(o, dt)) : add(rp, mul(rv, dt));
}

export class Sky {
  constructor({ still = false } = {}) {
    this.still = still;
    this.bodies = new Map();
    this.ships = new Map();
    this.stations = new Map();
    this.gates = new Map();
    /** @type {Api.AdminStatus} */
    this.status = null;
    this.clock = null;
    this.time = NaN;
  }

  /** There is no world. */
  clear() {
    for (const kind of ['bodies', 'ships', 'stations', 'gates']) this[kind].clear();
    this.status = null;
    this.clock = null;
    this.ordered = null;
  }

  /** Everything, bodies first, parents before what goes round them. */
  *all() {
    for (const kind of ['bodies', 'stations', 'gates', 'ships']) yield* this[kind].values();
  }
  get(key) {
    if (!key) return null;
    const [, kind, id] = /^(\w):(.*)$/.exec(key) || [];
    return { b: this.bodies, s: this.ships, t: this.stations, g: this.gates }[kind]?.get(id) || null;
  }
  get star() {
    for (const b of this.bodies.values()) if (!b.parent) return b;
    return null;
  }
  children(name) {
    return [...this.bodies.values()].filter((b) => b.parent === name);
  }

  /** Game time as told now; the drawn clock follows it without jumping back for an answer one tick old. */
  takeStatus(s, wall) {
    this.status = { ...this.status, ...s };
    this.takeTime(seconds(s.time ?? s.game_time), wall);
  }
  takeTime(told, wall) {
    if (!Number.isFinite(told)) return;
    const rate = paceOf(this.status);
    const was = this.clock;
    if (!was || !rate || this.still) {
      this.clock = { game: told, wall, rate };
      return;
    }
    const guess = was.game + was.rate * (wall - was.wall);
    const off = told - guess;
    const tick = rate / (this.status?.tick_rate || 1);
    if (Math.abs(off) > Math.max(3 * tick, 2 * rate)) this.clock = { game: told, wall, rate };
    else this.clock = { game: guess + off * (off > 0 ? 0.5 : 0.05), wall, rate };
  }
  /** The game time drawn at a moment (seconds of the wall clock). */
  at(wall) {
    const c = this.clock;
    if (!c) return NaN;
    if (this.still || !c.rate) return c.game;
    return c.game + c.rate * Math.min(FAR_MS / 1000, Math.max(0, wall - c.wall));
  }

  /** What bodies are, before the first state says where they are. */
  configure(list) {
    this.known = new Map(list.map((x) => [x.name, x]));
  }

  takeBodies(list, time, wall) {
    const seen = new Set();
    for (const told of list) {
      const x = { ...this.known?.get(told.name), ...told };
      const b = this.bodies.get(x.name) || { key: `b:${x.name}`, kind: 'body', name: x.name };
      for (const k of ['gm', 'radius', 'type']) if (x[k] != null) b[k] = x[k];
      b.hill = x.hill_radius ?? b.hill;
      b.colour = x.color ?? b.colour;
      if ('parent' in x) b.parent = x.parent || null;
      seen.add(x.name);
      this.bodies.set(x.name, b);
      this.told(b, x, time);
    }
    for (const name of this.bodies.keys()) if (!seen.has(name)) this.bodies.delete(name);
    for (const b of this.bodies.values()) {
      b.ref = this.bodies.get(b.parent) || null;
      if (!(b.hill > 0) && b.ref) b.hill = len(sub(b.p, b.ref.p)) * Math.cbrt(b.gm / (3 * b.ref.gm));
    }
    this.order();
    for (const b of this.bodies.values()) this.settle(b, b.ref, wall);
  }

  /** From the star outwards, moons after their planet: what is held comes after what holds it. */
  order() {
    const names = [...this.bodies.keys()].join();
    if (names === this.ordered) return;
    const far = (b) => (b.ref ? len(sub(b.p, b.ref.p)) : 0);
    const out = new Map();
    const take = (b) => {
      if (out.has(b.name)) return;
      b.seat = out.size;
      out.set(b.name, b);
      this.children(b.name)
        .sort((x, y) => far(x) - far(y))
        .forEach(take);
    };
    for (const b of this.bodies.values()) if (!b.ref) take(b);
    for (const b of this.bodies.values()) take(b);
    this.bodies = out;
    this.ordered = [...out.keys()].join();
  }

  takeCraft(kind, list, time, wall) {
    const map = this[kind];
    const [letter, name, id] = {
      ships: ['s', 'ship', 'ship_id'],
      stations: ['t', 'station', 'station_id'],
      gates: ['g', 'gate', 'jumpgate_id'],
    }[kind];
    const bodies = [...this.bodies.values()].filter((b) => b.p);
    const seen = new Set();
    for (const x of list) {
      seen.add(x[id]);
      const e = map.get(x[id]) || { key: `${letter}:${x[id]}`, kind: name, id: x[id] };
      e.name = x.name || x[id];
      e.data = { ...e.data, ...x };
      if (x.attitude) e.q = turn(x.attitude);
      e.w = vec(x.angular_velocity);
      map.set(x[id], e);
      this.told(e, x, time);
      this.settle(e, holder(bodies, e.p), wall);
      if (kind === 'ships') this.trail(e, time);
    }
    for (const key of map.keys()) if (!seen.has(key)) map.delete(key);
  }

  told(e, x, time) {
    e.before = e.p ? { rp: e.rp, rv: e.rv, t: e.t, ref: e.held } : null;
    e.p = vec(x.position);
    e.v = vec(x.velocity);
    e.t = time;
  }

  /** Relative state at its own time, and what the picture has to make up for, over a fifth of a second. */
  settle(e, ref, wall) {
    const dt = ref && Number.isFinite(ref.t) ? e.t - ref.t : 0;
    e.held = ref || null;
    e.rp = ref ? sub(e.p, add(ref.p, mul(ref.v, dt))) : e.p;
    e.rv = ref ? sub(e.v, ref.v) : e.v;
    const was = e.before;
    e.before = null;
    e.off = null;
    if (!was || was.ref !== e.held || this.still || !this.clock) return;
    const T = this.at(wall);
    const off = sub(this.relative(was, T), this.relative({ ...e, ref }, T));
    // Somewhere else altogether (a restore, a gate): it is simply there.
    if (len(off) < Math.max(5e4, len(e.rv) * 30)) e.off = { d: off, wall };
  }

  relative({ rp, rv, t, ref }, T) {
    const dt = Number.isFinite(T) ? T - t : 0;
    return ref ? carried(ref.gm, rp, rv, dt) : add(rp, mul(rv, dt));
  }

  trail(e, time) {
    e.past ||= [];
    const last = e.past[e.past.length - 1];
    if (last && (last.t === time || last.ref !== e.held)) {
      if (last.t === time) return;
      e.past = [];
    }
    e.past.push({ t: time, rp: e.rp, ref: e.held });
    const from = time - TRAIL_S * Math.max(1, this.clock?.rate || 1);
    while (e.past.length > TRAIL_MOST || e.past[0]?.t < from) e.past.shift();
  }

  /** Sets `at` (place), `vel` (relative to its holder) and `turn` of everything for this moment. */
  frame(wall) {
    this.time = this.at(wall);
    const T = this.time;
    for (const e of this.all()) {
      const centre = e.held?.at || ZERO;
      let r = this.relative({ ...e, ref: e.held }, T);
      if (e.off) {
        const k = 1 - (wall - e.off.wall) / (EASE_MS / 1000);
        if (k > 0) r = add(r, mul(e.off.d, k * k));
        else e.off = null;
      }
      e.rel = r;
      e.at = add(centre, r);
      if (e.q) e.turn = this.still ? e.q : spun(e.q, e.w || ZERO, Math.max(0, Math.min(2, T - e.t || 0)));
    }
    return T;
  }
}
