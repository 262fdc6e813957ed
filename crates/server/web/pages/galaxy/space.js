// Pure geometry of the sky: vectors, turns, the orbit a craft is on right now, which body holds it. Metres, seconds, and
// the stored axes (ecliptic, z north); a turn is {w, x, y, z} and takes the craft's axes (x right, y up, z forward) out.

export const AU = 149597870700;
export const G0 = 9.80665;

export const ZERO = Object.freeze({ x: 0, y: 0, z: 0 });
export const add = (a, b) => ({ x: a.x + b.x, y: a.y + b.y, z: a.z + b.z });
export const sub = (a, b) => ({ x: a.x - b.x, y: a.y - b.y, z: a.z - b.z });
export const mul = (a, k) => ({ x: a.x * k, y: a.y * k, z: a.z * k });
export const dot = (a, b) => a.x * b.x + a.y * b.y + a.z * b.z;
export const len = (a) => Math.hypot(a.x, a.y, a.z);
export const unit = (a) => {
  const l = len(a);
  return l > 0 ? mul(a, 1 / l) : ZERO;
};
export const cross = (a, b) => ({ x: a.y * b.z - a.z * b.y, y: a.z * b.x - a.x * b.z, z: a.x * b.y - a.y * b.x });

/** Stored vectors come as {x, y, z} or as three numbers; anything else is the origin. */
export function vec(v) {
  const [x, y, z] = Array.isArray(v) ? v : [v?.x, v?.y, v?.z];
  return [x, y, z].every(Number.isFinite) ? { x, y, z } : { ...ZERO };
}
export function turn(q) {
  const [w, x, y, z] = Array.isArray(q) ? q : [q?.w, q?.x, q?.y, q?.z];
  return [w, x, y, z].every(Number.isFinite) ? { w, x, y, z } : { w: 1, x: 0, y: 0, z: 0 };
}

/** A vector of the craft's axes, in the sky's. */
export function rotate(q, u) {
  const v = { x: q.x, y: q.y, z: q.z };
  const t = mul(cross(v, u), 2);
  return add(add(u, mul(t, q.w)), cross(v, t));
}
/** A vector of the sky's axes, in the craft's. */
export const unrotate = (q, u) => rotate({ w: q.w, x: -q.x, y: -q.y, z: -q.z }, u);

/** `q`, then a turn of `rate` (rad/s, craft's axes) for `dt`. */
export function spun(q, rate, dt) {
  const l = len(rate);
  if (l * Math.abs(dt) < 1e-9) return q;
  const half = (l * dt) / 2;
  const s = Math.sin(half) / l;
  const [w, x, y, z] = [Math.cos(half), rate.x * s, rate.y * s, rate.z * s];
  return {
    w: q.w * w - q.x * x - q.y * y - q.z * z,
    x: q.w * x + q.x * w + q.y * z - q.z * y,
    y: q.w * y - q.x * z + q.y * w + q.z * x,
    z: q.w * z + q.x * y - q.y * x + q.z * w,
  };
}

/** Osculating elements about a centre of `mu`, from place and velocity relative to it. Null when there is none. */
export function orbitOf(mu, r, v) {
  const distance = len(r);
  if (!(mu > 0) || !(distance > 0)) return null;
  const h = cross(r, v);
  const hh = dot(h, h);
  if (!(hh > 0)) return null;
  const towards = sub(mul(cross(v, h), 1 / mu), mul(r, 1 / distance));
  const e = len(towards);
  const inverse = 2 / distance - dot(v, v) / mu;
  const p = hh / mu;
  const closed = inverse > 0 && e < 1;
  const a = 1 / inverse;
  const low = p / (1 + e);
  // A circle has no lowest place: the present one stands for it.
  const along = e > 1e-8 ? mul(towards, 1 / e) : mul(r, 1 / distance);
  const side = cross(unit(h), along);
  return {
    mu,
    a,
    e,
    p,
    closed,
    low,
    high: closed ? p / (1 - e) : null,
    tilt: Math.acos(Math.max(-1, Math.min(1, h.z / Math.sqrt(hh)))),
    period: closed ? 2 * Math.PI * Math.sqrt((a * a * a) / mu) : null,
    at: Math.atan2(dot(r, side), dot(r, along)),
    along,
    side,
  };
}

/** The orbit of something that is held, as last told, with its place on it now. */
export function orbitNow(e) {
  const o = e.held && orbitOf(e.held.gm, e.rp, e.rv);
  if (o && e.rel) o.at = Math.atan2(dot(e.rel, o.side), dot(e.rel, o.along));
  return o || null;
}

/** The place on an orbit at a true anomaly, relative to its centre. */
export function placeAt(o, anomaly) {
  const r = o.p / (1 + o.e * Math.cos(anomaly));
  return add(mul(o.along, r * Math.cos(anomaly)), mul(o.side, r * Math.sin(anomaly)));
}

/** `n` places along the orbit from the present one on: all of a closed one, what stays within `reach` of an open one. */
export function path(o, n = 96, reach = Infinity) {
  const out = [];
  let top = Math.PI;
  if (!o.closed) {
    const far = Math.min(reach, o.low * 400);
    top = Math.acos(Math.max(-1, Math.min(1, (o.p / far - 1) / o.e)));
    if (!(top > o.at)) return out;
  }
  const span = o.closed ? 2 * Math.PI : top - o.at;
  for (let i = 0; i <= n; i += 1) out.push(placeAt(o, o.at + (span * i) / n));
  return out;
}

/** Seconds from the present place to a true anomaly; only on a closed orbit. */
export function timeTo(o, anomaly) {
  const mean = (nu) => {
    const E = 2 * Math.atan2(Math.sqrt(1 - o.e) * Math.sin(nu / 2), Math.sqrt(1 + o.e) * Math.cos(nu / 2));
    return E - o.e * Math.sin(E);
  };
  const turnOf = 2 * Math.PI;
  const d = (((mean(anomaly) - mean(o.at)) % turnOf) + turnOf) % turnOf;
  return (d / turnOf) * o.period;
}

/** The true anomaly `dt` seconds from now on a closed orbit. */
export function anomalyAfter(o, dt) {
  const E0 = 2 * Math.atan2(Math.sqrt(1 - o.e) * Math.sin(o.at / 2), Math.sqrt(1 + o.e) * Math.cos(o.at / 2));
  const full = E0 - o.e * Math.sin(E0) + (2 * Math.PI * dt) / o.period;
  const M = full - 2 * Math.PI * Math.floor(full / (2 * Math.PI));
  let E = o.e > 0.8 ? Math.PI : M;
  for (let i = 0; i < 30; i += 1) {
    const d = (E - o.e * Math.sin(E) - M) / (1 - o.e * Math.cos(E));
    E -= d;
    if (Math.abs(d) < 1e-12) break;
  }
  return 2 * Math.atan2(Math.sqrt(1 + o.e) * Math.sin(E / 2), Math.sqrt(1 - o.e) * Math.cos(E / 2));
}

/** The body that holds a place: the smallest reach that contains it, else the star. `bodies`: {p, hill, parent}. */
export function holder(bodies, p) {
  let best = null;
  let star = null;
  for (const b of bodies) {
    if (!b.parent) star ||= b;
    else if (b.hill > 0 && len(sub(p, b.p)) < b.hill && (!best || b.hill < best.hill)) best = b;
  }
  return best || star;
}

/** Engine figures by class; they are configuration of the world. */
export const CLASSES = {
  fast_frigate: { thrust: 600000, isp: 20000, wheels: 5000, dry: 8000, fuel: 15000 },
  cargo_hauler: { thrust: 400000, isp: 15000, wheels: 40000, dry: 100000, fuel: 60000 },
};
export const classOf = (ship) => CLASSES[ship.ship_class] || CLASSES.fast_frigate;

/** Speed change left, by the rocket equation. */
export function speedLeft(ship) {
  const dry = ship.dry_mass > 0 ? ship.dry_mass : classOf(ship).dry;
  return classOf(ship).isp * G0 * Math.log((dry + Math.max(0, ship.fuel || 0)) / dry);
}
/** Acceleration at full thrust, m/s². */
export const push = (ship) => classOf(ship).thrust / ((ship.dry_mass || classOf(ship).dry) + (ship.fuel || 0));

/** Seconds until a drift is below a tenth of a second: at most 5 % faster or slower, then ever gentler. */
export function settles(drift) {
  const d = Math.abs(drift);
  if (d <= 0.1) return 0;
  return d > 5 ? (d - 5) / 0.05 + 100 * Math.log(50) : 100 * Math.log(d / 0.1);
}
