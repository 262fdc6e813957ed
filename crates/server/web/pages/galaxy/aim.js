// What the pilot aims at: a station, a ship or a body.
import { menu } from '../../base/overlay.js';
import { findTarget } from './craft.js';
import { len, sub } from './space.js';

/** The chosen target; else what the ship already points at; else the nearest station. */
export function targetOf(p) {
  const { ship, sky } = p;
  const own = sky.get(p.targetKey) || (ship?.data && findTarget(sky, ship.data));
  if (own) return own;
  const far = (e) => len(sub(e.at, ship.at));
  return ship?.at ? [...sky.stations.values()].filter((e) => e.at).sort((a, b) => far(a) - far(b))[0] || null : null;
}

/** A menu of what is near. */
export function pick(p, el) {
  const { ship, sky } = p;
  if (!ship?.at) return;
  const far = (e) => len(sub(e.at, ship.at));
  const near = (list, n) =>
    [...list]
      .filter((e) => e.at && e !== ship)
      .sort((a, b) => far(a) - far(b))
      .slice(0, n);
  const all = [...near(sky.stations.values(), 6), ...near(sky.ships.values(), 6), ...near(sky.bodies.values(), 10)];
  menu(
    el,
    all.map((e) => ({
      label: e.name,
      on: e === targetOf(p),
      run: () => {
        p.targetKey = e.key;
        if (ship.data.attitude_mode?.startsWith('target')) p.mode(ship.data.attitude_mode);
        p.draw();
      },
    })),
  );
}
