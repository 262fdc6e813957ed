// The chips that choose a field. Each lists only what holds something, with counts, among fields that share the parts
// before it; a choice leaves the parts after it to `choose`.
import { h, icon } from '../../base/dom.js';
import { num, shortId } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { menu } from '../../base/overlay.js';
import { DEMO } from './act.js';
import { NIL, offers } from './model.js';

const PARTS = ['tenant', 'world', 'channel', 'map', 'instance'];
const KEYS = { tenant: 'tenant', world: 'worldId', channel: 'channelId', map: 'mapId', instance: 'instance' };
const value = (at, part) => (part === 'tenant' ? at.tenant.id : at[KEYS[part]]);

function said(part, v) {
  if (part === 'tenant') return v === DEMO.tenant.id ? t('world.demo') : shortId(v);
  if (part === 'instance') return v === NIL ? t('world.noinstance') : shortId(v);
  return String(v);
}

/** The chips of `at`; `fields()` gives what is known when a menu opens, `go(query)` takes the choice. */
export function pickers(at, fields, go) {
  return PARTS.map((part, i) => {
    const now = value(at, part);
    const el = h(
      'button.chip',
      { type: 'button', 'aria-haspopup': 'menu', title: String(now) },
      t(`world.pick.${part}`),
      h('b.cut', {}, said(part, now)),
      icon('down', { class: 's' }),
    );
    el.addEventListener('click', () => {
      const all = offers(fields(), at, KEYS[part]);
      if (!all.some((o) => o.value === now)) all.push({ value: now, count: 0 });
      const pick = (v) => Object.fromEntries(PARTS.map((p, n) => [p, n < i ? value(at, p) : n === i ? v : null]));
      menu(
        el,
        all.map((o) => ({
          label: said(part, o.value),
          end: num(o.count),
          on: o.value === now,
          run: () => go({ ...pick(o.value), sel: null }),
        })),
      );
    });
    return el;
  });
}
