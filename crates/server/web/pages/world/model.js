// What a field view knows: monsters and reactors as last listed, and what only time and events tell (damage numbers,
// spots that cool down, since when a state lasts, who is angry). No drawing and no calls; every time comes in as `now`.

export const NUMBER_MS = 900;
export const PALE_MS = 400;
export const GONE_MS = 1200;
const SHAKE_MS = 250;
/** Numbers shown at once; a storm of hits shows its newest. */
const MOST_NUMBERS = 60;
const MOST_KEPT = 2000;

/** The parts of a field as one text; `NIL` is no instance. */
export const NIL = '00000000-0000-0000-0000-000000000000';
export const placeOf = (x) => [x.worldId, x.channelId, x.mapId, x.instance || NIL].join(':');

/** The place among fields that the address asks for, else the fullest. Parts that are missing choose for themselves. */
export function choose(fields, query) {
  const fits = (f) =>
    (!query.tenant || f.tenant.id === query.tenant) &&
    (query.world == null || String(f.worldId) === query.world) &&
    (query.channel == null || String(f.channelId) === query.channel) &&
    (query.map == null || String(f.mapId) === query.map) &&
    (query.instance == null || f.instance === query.instance);
  const size = (f) => (f.monsters || 0) + (f.reactors || 0);
  return fields.filter(fits).sort((a, b) => size(b) - size(a))[0] || null;
}

/** What a picker offers: values of one part among fields that share the parts before it, with counts. */
export function offers(fields, at, part) {
  const order = ['tenant', 'worldId', 'channelId', 'mapId', 'instance'];
  const value = (f, p) => (p === 'tenant' ? f.tenant.id : f[p]);
  const before = order.slice(0, order.indexOf(part));
  const counts = new Map();
  for (const f of fields) {
    if (before.some((p) => value(f, p) !== value(at, p))) continue;
    counts.set(value(f, part), (counts.get(value(f, part)) || 0) + (f.monsters || 0) + (f.reactors || 0));
  }
  return [...counts].map(([v, count]) => ({ value: v, count })).sort((a, b) => (a.value > b.value ? 1 : -1));
}

/** Health as a share with its tone: above half, above 22 %, below.
 *  @param {{hp: number, maxHp: number}} m */
export function health(m) {
  const f = m.maxHp > 0 ? Math.max(0, Math.min(1, m.hp / m.maxHp)) : 0;
  return { f, tone: f > 0.5 ? '--ok' : f > 0.22 ? '--hp-mid' : '--bad' };
}

/** Effects as discs: one per status, stacks of the same counted, soonest end first.
 *  @param {Wk.Monster} m @param {number} now */
export function discs(m, now) {
  const by = new Map();
  for (const e of m.statusEffects || [])
    for (const [name, value] of Object.entries(e.statuses)) {
      const left = e.expiresAt - now;
      if (left <= 0) continue;
      const one = by.get(name) || { name, value: 0, left: 0, stacks: 0 };
      one.value = name === 'VENOM' ? one.value + value : value;
      one.left = Math.max(one.left, left);
      one.stacks += 1;
      by.set(name, one);
    }
  return [...by.values()].sort((a, b) => a.left - b.left);
}

export class Model {
  constructor() {
    /** @type {Map<string, Wk.Monster>} */
    this.monsters = new Map();
    /** @type {Map<string, Wk.Reactor>} */
    this.reactors = new Map();
    this.ghosts = new Map(); // spot → {name, x, y, classification, until, total}
    this.numbers = []; // {x, y, text, at}
    this.gone = []; // monsters that fell, for a moment
    this.angry = new Map(); // monster id → its controller has aggro
    this.ends = new Map(); // id → {how, by, at}
    this.made = new Map(); // reactor id → as it was made
    this.since = new Map(); // reactor id → when its state began
    this.whole = new Map(); // effect → its whole time
    this.asked = new Map(); // monster id → damage as it was sent, when it differs
    this.skew = 0;
  }

  /** The server's time, by what its events say; small differences are delay, not skew. */
  now(now = Date.now()) {
    return now + this.skew;
  }

  /** @param {Wk.Monster[]} list @param {number} now */
  showMonsters(list, now) {
    const next = new Map();
    for (const m of list) {
      const old = this.monsters.get(m.id);
      m.lost = old?.lost;
      if (old && m.hp < old.hp) {
        m.lost = { from: old.hp, at: now };
        const asked = this.asked.get(m.id);
        this.asked.delete(m.id);
        this.number(m, old.hp - m.hp, asked, now);
      }
      for (const d of discs(m, now)) {
        const key = `${m.id} ${d.name}`;
        if (!(this.whole.get(key) >= d.left)) this.whole.set(key, d.left);
      }
      next.set(m.id, m);
    }
    for (const [id, m] of this.monsters)
      if (!next.has(id)) {
        if (!this.ends.has(id)) this.ends.set(id, { how: 'gone', at: now });
        if (this.ends.get(id).how === 'KILLED') this.number(m, m.hp, null, now);
        this.gone.push({ ...m, at: now });
        this.angry.delete(id);
        for (const key of this.whole.keys()) if (key.startsWith(`${id} `)) this.whole.delete(key);
      }
    this.monsters = next;
  }

  /** @param {Wk.Reactor[]} list @param {number} now */
  showReactors(list, now) {
    const next = new Map();
    for (const r of list) {
      const old = this.reactors.get(r.id);
      r.shaken = old?.shaken;
      if (old && old.state !== r.state) {
        r.shaken = now;
        // Without the event's word, now is the best that is known.
        if (!(this.since.get(r.id)?.state === r.state)) this.since.set(r.id, { state: r.state, at: now });
      }
      this.ghosts.delete(spot(r));
      next.set(r.id, r);
    }
    for (const [id, r] of this.reactors) if (!next.has(id)) this.cool(r, this.ends.get(id)?.at ?? now, now);
    this.reactors = next;
  }

  cool(r, from, now) {
    if (!this.ends.has(r.id)) this.ends.set(r.id, { how: 'gone', at: now });
    const until = from + (r.delay || 0);
    if (until > now) this.ghosts.set(spot(r), { ...r, until, total: r.delay });
    this.since.delete(r.id);
  }

  number(m, damage, asked, now) {
    if (damage <= 0) return;
    const text = asked != null && asked !== damage ? `${damage} (${asked})` : String(damage);
    this.numbers.push({ x: m.x, y: m.y, id: m.id, text, at: now, heavy: damage >= m.maxHp * 0.08 });
    if (this.numbers.length > MOST_NUMBERS) this.numbers.shift();
  }

  /** Takes events of this field, oldest first. Those of the past only fill in what lists do not say. */
  hear(events, now) {
    for (const e of events) {
      const id = String(e.body?.uniqueId ?? e.body?.reactorId ?? e.id);
      const body = e.body?.body || {};
      const key = `${e.module}.${e.type}`;
      if (key === 'monsters.AGGRO_CHANGED') this.angry.set(id, !!body.controllerHasAggro);
      else if (key === 'monsters.START_CONTROL') this.angry.delete(id);
      else if (key === 'monsters.KILLED' || key === 'monsters.DESTROYED')
        this.ends.set(id, { how: e.type, by: body.actorId || 0, at: e.at });
      else if (key === 'monsters.STATUS_APPLIED')
        for (const name of Object.keys(body.statuses || {})) this.whole.set(`${id} ${name}`, body.duration);
      else if (key === 'reactors.CREATED') {
        this.since.set(id, { state: body.state, at: e.at });
        this.made.set(id, { ...body, id });
      } else if (key === 'reactors.HIT') {
        this.since.set(id, { state: body.state, at: e.at });
      } else if (key === 'reactors.DESTROYED') {
        this.ends.set(id, { how: e.type, by: 0, at: e.at });
        // One that went before this page came: its birth, if it is still told, says how long its spot cools.
        const r = this.made.get(id);
        if (r && !this.reactors.has(id)) this.cool(r, e.at, now);
      } else if (key === 'reactors.script.HIT' && this.reactors.has(id)) {
        this.reactors.get(id).shaken = now;
      }
    }
    for (const map of [this.ends, this.since, this.angry, this.whole, this.made])
      while (map.size > MOST_KEPT) map.delete(map.keys().next().value);
  }

  /** Drops what has ended. */
  sweep(now) {
    this.numbers = this.numbers.filter((n) => now - n.at < NUMBER_MS);
    this.gone = this.gone.filter((g) => now - g.at < GONE_MS);
    for (const [k, g] of this.ghosts) if (g.until <= now) this.ghosts.delete(k);
  }

  /** Something moves: draw as often as allowed. */
  moving(now) {
    if (this.numbers.length || this.gone.length) return true;
    for (const m of this.monsters.values()) if (m.lost && now - m.lost.at < PALE_MS) return true;
    for (const r of this.reactors.values()) if (r.shaken && now - r.shaken < SHAKE_MS) return true;
    return false;
  }

  /** A ring runs: a few times a second is enough. */
  ticking(now, timeout) {
    if (this.ghosts.size) return true;
    for (const m of this.monsters.values()) if (m.statusEffects?.length) return true;
    for (const r of this.reactors.values()) if (this.timer(r, now, timeout)) return true;
    return false;
  }

  /** When a reactor's state ends by itself: `{left, total}`, or null. `timeout(r)` is its template's. */
  timer(r, now, timeout) {
    const total = timeout(r);
    const since = this.since.get(r.id);
    if (!total || !since || since.state !== r.state) return null;
    const left = since.at + total - now;
    return left > 0 ? { left, total } : null;
  }

  /** Who controls what: player → monsters. */
  players() {
    const by = new Map();
    for (const m of this.monsters.values())
      if (m.controlCharacterId) by.set(m.controlCharacterId, [...(by.get(m.controlCharacterId) || []), m]);
    return by;
  }
}

export const spot = (r) => `${r.classification} ${r.x} ${r.y}`;
