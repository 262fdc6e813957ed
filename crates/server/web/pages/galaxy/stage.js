// Round the map: its buttons, what it shows where there is no world, and which parts of it panels cover.
import { fill, h } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { button, empty, errorBox } from '../../base/parts.js';
import { rootScale } from './pen.js';

/** Buttons for what the keys do. */
export function tools(map) {
  map.followButton = button({
    icon: 'target',
    title: t('galaxy.key.follow'),
    run: () => map.follow(map.selected),
  });
  return h(
    'div.gxzoom',
    { role: 'group', 'aria-label': t('galaxy.view') },
    button({ icon: 'plus', title: t('galaxy.key.in'), run: () => map.zoom(2) }),
    button({ icon: 'minus', title: t('galaxy.key.out'), run: () => map.zoom(0.5) }),
    map.followButton,
    button({ icon: 'galaxy', title: t('galaxy.key.all'), run: () => map.whole() }),
  );
}

/** No bodies: why, and the way to make them for who may. */
export function nothing(map) {
  const make = async () => {
    try {
      await map.ctx.api.post('/api/admin/game/init');
    } catch (e) {
      fill(map.none, errorBox(e));
    }
    await map.poll();
    map.sky.frame(performance.now() / 1000);
    map.whole();
  };
  return empty({
    glyph: 'galaxy',
    title: t('galaxy.empty'),
    say: t('galaxy.emptysay'),
    action: map.can && button({ label: t('galaxy.make'), kind: 'primary', run: make }),
    command: 'worldkeep galaxy init',
  });
}

/** Boxes of the drawing that elements lie over. */
export function covers(canvas, elements) {
  const home = canvas.getBoundingClientRect();
  const k = rootScale();
  return elements
    .filter((el) => el?.checkVisibility())
    .map((el) => el.getBoundingClientRect())
    .map((r) => ({ x: (r.x - home.x) / k, y: (r.y - home.y) / k, w: r.width / k, h: r.height / k }));
}
