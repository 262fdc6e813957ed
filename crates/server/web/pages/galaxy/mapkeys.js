// The map's keys: arrows move, + and - zoom, 0 shows the system, f follows, p flies, the space bar holds time.
import { bind } from '../../base/keys.js';

/** Binds them to a map; gives what takes them away again. */
export function bindKeys(map) {
  const quiet = (run) => (e) => (e.target.closest?.('button, a, summary, [role=menu]') ? false : run());
  return [
    bind('+', 'galaxy.key.in', () => map.zoom(1.5)),
    bind('=', 'galaxy.key.in', () => map.zoom(1.5)),
    bind('-', 'galaxy.key.out', () => map.zoom(1 / 1.5)),
    bind('0', 'galaxy.key.all', () => map.whole()),
    bind('f', 'galaxy.key.follow', () => map.follow(map.selected)),
    bind('p', 'galaxy.key.pilot', () => location.assign('/fly')),
    bind(
      ' ',
      'galaxy.key.pause',
      quiet(() => (map.can ? map.bar.toggle() : false)),
    ),
    ...[
      ['ArrowLeft', 60, 0],
      ['ArrowRight', -60, 0],
      ['ArrowUp', 0, 60],
      ['ArrowDown', 0, -60],
    ].map(([key, x, y]) => bind(key, 'galaxy.key.pan', () => map.pan(x, y))),
  ];
}
