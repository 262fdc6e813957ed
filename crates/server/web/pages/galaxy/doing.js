// What a ship does now, as a badge: the same on the map and in the pilot's seat.
import { h, icon } from '../../base/dom.js';
import { percent } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { badge } from '../../base/parts.js';

export function doing(d) {
  if (d.docked_station_id) return badge('info', t('galaxy.docked'));
  if (d.landed_body_name) return badge('info', t('galaxy.landed', { name: d.landed_body_name }));
  if (d.thrust_level > 0)
    return h('span.badge.info', {}, icon('bolt'), t('galaxy.burning', { n: percent(d.thrust_level) }));
  return badge('ok', t('galaxy.coasting'));
}
