// Asks the server for the state of the sky. Answers may be of different ticks: each is placed at its own game time.
import { paceOf } from './sky.js';
import { seconds } from './units.js';

const PAGE = 500;
const MOST = 2000;

const items = (answer) => answer?.items || [];

/** The game time of an answer: by its tick, counted from the status. */
export function timeOf(answer, status) {
  const base = seconds(status.time);
  const ticks = Number.isFinite(answer?.tick) ? answer.tick - status.tick : 0;
  return base + (ticks * paceOf({ ...status, actual_rate: null, paused: false })) / (status.tick_rate || 1);
}

/** @param {(query: any) => Promise<Api.Page_ShipListed>} get */
async function pages(get) {
  const out = { list: [], tick: undefined };
  let cursor = null;
  do {
    const page = await get({ limit: PAGE, cursor });
    out.tick ??= page.tick;
    out.list.push(...items(page));
    cursor = page.cursor || null;
  } while (cursor && out.list.length < MOST);
  return out;
}

/** Fills `sky`. Without a world it is left bare; anything else that fails is thrown.
 *  @param {Wk.Context} ctx */
export async function load(ctx, sky, now) {
  const { get } = ctx.api;
  const ask = (query) => ({ query, signal: ctx.signal });
  let all;
  try {
    all = await Promise.all([
      get('/api/admin/status', ask()),
      get('/api/bodies', ask({ limit: PAGE })),
      get('/api/stations', ask({ limit: PAGE })),
      get('/api/jumpgates', ask({ limit: PAGE })),
      pages((query) => get('/api/ships', ask(query))),
    ]);
  } catch (e) {
    if (e.code !== 'no_world') throw e;
    sky.clear();
    return;
  }
  const [status, bodies, stations, gates, ships] = all;
  const wall = now();
  sky.takeStatus(status, wall);
  sky.takeBodies(items(bodies), timeOf(bodies, status), wall);
  sky.takeCraft('stations', items(stations), timeOf(stations, status), wall);
  sky.takeCraft('gates', items(gates), timeOf(gates, status), wall);
  sky.takeCraft('ships', ships.list, timeOf(ships, status), wall);
}
