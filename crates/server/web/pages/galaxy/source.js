// Asks the server for the state of the sky. Answers may be of different ticks: each says its own game time.
import { seconds } from './units.js';

const PAGE = 500;
const MOST = 2000;

/** A list of an answer, whatever it is called. */
const items = (answer) => (Array.isArray(answer) ? answer : answer?.items || answer?.data || []);
const timeOf = (answer, other) => {
  const own = seconds(answer?.time ?? answer?.game_time);
  return Number.isFinite(own) ? own : other;
};

async function pages(ctx, path) {
  const out = { list: [], first: null };
  let cursor = null;
  do {
    const page = await ctx.api.get(path, { query: { limit: PAGE, cursor }, signal: ctx.signal });
    out.first ||= page;
    out.list.push(...items(page));
    cursor = page?.cursor || page?.next_cursor || null;
  } while (cursor && out.list.length < MOST);
  return out;
}

/** Fills `sky`. Operators get the engine's own figures too. */
export async function load(ctx, sky, now, operator) {
  const get = (path) => ctx.api.get(path, { signal: ctx.signal });
  const [status, bodies, stations, gates, ships] = await Promise.all([
    get(operator ? '/api/admin/status' : '/api/status'),
    get('/api/bodies'),
    get('/api/stations'),
    get('/api/jumpgates').catch((e) => {
      if (e.status === 404) return [];
      throw e;
    }),
    pages(ctx, '/api/ships'),
  ]);
  const wall = now();
  const time = timeOf(status, NaN);
  sky.takeStatus(status, wall);
  sky.takeBodies(items(bodies), timeOf(bodies, time), wall);
  sky.takeCraft('stations', items(stations), timeOf(stations, time), wall);
  sky.takeCraft('gates', items(gates), timeOf(gates, time), wall);
  sky.takeCraft('ships', ships.list, timeOf(ships.first, time), wall);
}
