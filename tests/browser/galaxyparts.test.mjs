// The parts of the Galaxy map and the pilot view that need no browser: orbits, turns, the view, names, time, figures.
import assert from 'node:assert/strict';
import test from 'node:test';
import { webFile } from './kit.mjs';

const load = (name) => import(webFile('pages/galaxy', name));
const near = (a, b, eps, what) => assert.ok(Math.abs(a - b) <= eps, `${what || ''} ${a} is not ${b} ± ${eps}`);
const EARTH = { gm: 3.98600435507e14, radius: 6371008.4 };
const LEO = EARTH.radius + 400000;

test('an orbit is read from place and velocity, and walked by time', async () => {
  const { orbitOf, placeAt, anomalyAfter, timeTo, path: way, len } = await load('space.js');
  const v = Math.sqrt(EARTH.gm / LEO);
  const round = orbitOf(EARTH.gm, { x: LEO, y: 0, z: 0 }, { x: 0, y: v, z: 0 });
  near(round.period, 5544.865, 0.01, 'period of a low orbit');
  near(round.e, 0, 1e-9);
  const [low, high] = [6.8e6, 4.2e7];
  const fast = Math.sqrt(EARTH.gm * (2 / low - 2 / (low + high)));
  const o = orbitOf(EARTH.gm, { x: low, y: 0, z: 0 }, { x: 0, y: 0, z: fast });
  near(o.low, low, 1e-3);
  near(o.high, high, 1e-1);
  near(o.tilt, Math.PI / 2, 1e-12);
  near(timeTo(o, Math.PI), o.period / 2, 1e-6, 'half a turn to the highest place');
  near(len(placeAt(o, anomalyAfter(o, o.period / 2))), high, 1);
  near(len(placeAt(o, anomalyAfter(o, o.period * 3.25))), len(placeAt(o, anomalyAfter(o, o.period / 4))), 1e-3);
  assert.equal(way(o, 32).length, 33);
  const away = orbitOf(EARTH.gm, { x: low, y: 0, z: 0 }, { x: 0, y: 12000, z: 0 });
  assert.equal(away.high, null);
  assert.ok(way(away, 16, 1e9).every((p) => len(p) <= 1e9 * 1.001));
  assert.equal(orbitOf(EARTH.gm, { x: 1, y: 0, z: 0 }, { x: 0, y: 0, z: 0 }), null, 'straight down is no orbit');
});

test('the nose goes where the arrow shows, as seen from the seat', async () => {
  const { rotate, spun } = await load('space.js');
  const { Controls } = await load('controls.js');
  const { bearings } = await load('ball.js');
  const told = [];
  globalThis.addEventListener ??= () => {};
  const c = new Controls({
    able: () => true,
    turn: (v) => told.push(v),
    move: () => {},
    thrust: () => {},
    cut: () => {},
  });
  const press = (key) => {
    c.down({ key, target: {}, preventDefault() {} });
    c.up(key);
    return told.splice(0)[0];
  };
  const start = { w: 1, x: 0, y: 0, z: 0 };
  const nose = (turn) => rotate(spun(start, turn, 0.3), { x: 0, y: 0, z: 1 });
  assert.ok(nose(press('ArrowUp')).y > 0.2, 'up lifts it');
  // The craft's x is on the left, so that nothing is seen in a mirror.
  assert.ok(nose(press('a')).x > 0.2, 'left turns it left');
  const top = rotate(spun(start, press('e'), 0.3), { x: 0, y: 1, z: 0 });
  assert.ok(top.x < -0.2, 'a roll to the right tips the top to the right');
  const b = bearings({ turn: start, r: { x: 0, y: 1e7, z: 0 }, v: { x: 0, y: 0, z: 7000 } });
  near(b.prograde.z, 1, 1e-12, 'ahead');
  near(b.up.y, 1, 1e-12);
  near(Math.abs(b.normal.x), 1, 1e-12);
  c.down({ key: 'q', target: {}, preventDefault() {} });
  c.release();
  assert.deepEqual(told.pop(), { x: 0, y: 0, z: 0 }, 'leaving lets go');
});

test('nothing jitters at any scale: ten metres off a ship one AU away', async () => {
  const { Camera, NEAREST } = await load('camera.js');
  const ship = { x: 149597870700.123, y: -1.2e11, z: 5 };
  const cam = new Camera(1e9);
  const place = () => ship;
  cam.follow('s:1', place, NEAREST, { still: true });
  const view = cam.view(place, 1000, 800, 1);
  const s = view.to({ ...ship, x: ship.x + 4 });
  near(s.x - 500, 4 / NEAREST, 0.01, 'pixels');
  near(s.y, 400, 1e-9);
  cam.follow('s:1', place, 1e9);
  for (let t = 1; t < 3; t += 0.02) cam.view(place, 1000, 800, t);
  assert.equal(cam.flight, null);
  near(cam.mpp, 1e9, 1);
  assert.ok(cam.centred);
  cam.zoom(2, 100, 50);
  const before = { x: 100 * 1e9, y: -50 * 1e9 };
  near(cam.offset.x + 100 * cam.mpp, before.x, 1, 'what is under the pointer stays');
  near(cam.offset.y - 50 * cam.mpp, before.y, 1);
  cam.zoom(1e30);
  assert.equal(cam.mpp, NEAREST);
});

test('names on the map never lie on one another, and keep their side', async () => {
  const { Labels } = await load('labels.js');
  const labels = new Labels();
  let seed = 7;
  const next = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  const marks = Array.from({ length: 120 }, (_, i) => ({
    key: `k${i}`,
    x: next() * 900,
    y: next() * 600,
    r: 5,
    w: 40 + next() * 60,
    h: 16,
    rank: i % 9,
  }));
  const placed = labels.place(marks, { w: 900, h: 600 }, 0);
  assert.ok(placed.length > 20 && placed.length <= 40, `${placed.length}`);
  for (const [i, { box: a }] of placed.entries())
    for (const { box: b } of placed.slice(i + 1)) {
      const apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
      assert.ok(apart, 'two names collide');
    }
  const later = labels.place(
    marks.map((m) => ({ ...m, x: m.x + 0.4 })),
    { w: 900, h: 600 },
    0.5,
  );
  const side = new Map(placed.map((p) => [p.mark.key, p.side]));
  const flips = later.filter((p) => side.has(p.mark.key) && side.get(p.mark.key) !== p.side).length;
  assert.ok(flips <= 2, `${flips} flip`);
});

const body = (name, parent, gm, radius, p, v) => ({ name, parent, gm, radius, position: p, velocity: v });
const SUN = body('Sun', null, 1.32712440041e20, 6.957e8, { x: 0, y: 0, z: 0 }, { x: 0, y: 0, z: 0 });
const earthAt = (t) =>
  body('Earth', 'Sun', EARTH.gm, EARTH.radius, { x: 1.5e11, y: 29780 * t, z: 0 }, { x: 0, y: 29780, z: 0 });
const leoAt = (t, id = 's1') => {
  const v = Math.sqrt(EARTH.gm / LEO);
  const a = (v / LEO) * t;
  return {
    ship_id: id,
    name: id,
    position: { x: 1.5e11 + LEO * Math.cos(a), y: 29780 * t + LEO * Math.sin(a), z: 0 },
    velocity: { x: -v * Math.sin(a), y: 29780 + v * Math.cos(a), z: 0 },
  };
};
const iso = (t) => new Date(1.7e12 + t * 1000).toISOString().replace('Z', '000Z');

test('between answers everything moves on its orbit, also when they are of different ticks', async () => {
  const { Sky, paceOf } = await load('sky.js');
  const { timeOf } = await load('source.js');
  const status = { tick: 100, time: iso(0), tick_rate: 1, time_scale: 100, time_sync: false, paused: false };
  assert.equal(timeOf({ tick: 101 }, status) - timeOf({ tick: 100 }, status), 100);
  const sky = new Sky();
  sky.takeStatus(status, 0);
  const t0 = 1.7e9;
  // The list may name a moon before its planet.
  sky.takeBodies([earthAt(0), SUN], t0, 0);
  assert.deepEqual([...sky.bodies.keys()], ['Sun', 'Earth']);
  sky.takeCraft('ships', [leoAt(100)], t0 + 100, 0);
  sky.frame(1);
  near(sky.time - t0, 100, 1e-3);
  const ship = sky.ships.get('s1');
  assert.equal(ship.held.name, 'Earth');
  near(Math.hypot(ship.rel.x, ship.rel.y), LEO, 2000, 'still as high');
  sky.frame(2.5);
  const want = leoAt(250);
  near(
    ship.at.x - sky.bodies.get('Earth').at.x,
    want.position.x - 1.5e11,
    20000,
    'a quarter of a minute of game time later',
  );
  assert.equal(paceOf({ ...status, paused: true }), 0);
  near(paceOf({ ...status, time_scale: 1, time_sync: true, time_drift: 60 }), 1.05, 1e-12);
});

test('the drawn clock never runs back for a late answer, and stands while time is paused', async () => {
  const { Sky } = await load('sky.js');
  const sky = new Sky();
  const s = (t, more) => ({ tick: Math.floor(t), time: iso(t), tick_rate: 1, time_scale: 1, paused: false, ...more });
  let last = -Infinity;
  for (let wall = 0; wall < 20; wall += 0.3) {
    sky.takeStatus(s(Math.floor(wall)), wall);
    const now = sky.at(wall);
    assert.ok(now >= last - 0.06, `${now} after ${last}`);
    last = now;
  }
  sky.takeStatus(s(20, { paused: true }), 20);
  assert.equal(sky.at(20), sky.at(27));
  const calm = new Sky({ still: true });
  calm.takeStatus(s(3), 3);
  assert.equal(calm.at(3.9), calm.at(3), 'reduced motion: it steps');
});

test('drift settles as the engine makes it, and what is left of fuel is speed', async () => {
  const { settles, speedLeft } = await load('space.js');
  near(settles(15.3), 596.6, 1.5);
  near(settles(-60), 1490, 2);
  near(settles(3600), 72290, 5);
  assert.equal(settles(0.05), 0);
  near(speedLeft({ ship_class: 'fast_frigate', dry_mass: 8000, fuel: 15000 }), 207126.8, 0.5);
  near(speedLeft({ ship_class: 'cargo_hauler', dry_mass: 100000, fuel: 60000 }), 69137.4, 0.5);
});

test('figures are for people', async () => {
  const u = await load('units.js');
  const plain = (s) => s.replaceAll('\u202f', ' ');
  assert.deepEqual([412, 400000, 6371008, 5.8e8].map(u.dist).map(plain), ['412 m', '400 km', '6 371 km', '580 000 km']);
  assert.deepEqual([3.24, 7669, 0.4].map(u.speed).map(plain), ['3.2 m/s', '7.67 km/s', '0.4 m/s']);
  assert.deepEqual([42, 5544.9, 86400 * 27.3].map(u.span).map(plain), ['42 s', '92.4 min', '27.3 unit.day']);
  assert.deepEqual([7, 0.034, 99].map(u.round125), [5, 0.02, 50]);
  assert.equal(u.seconds('2026-11-16T03:10:06.250000Z') % 60, 6.25);
});
