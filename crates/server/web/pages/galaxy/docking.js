// The docking card: how far and how fast the target is, whether the station's door opens, and what a docked ship can do.
import { fill, h, icon, text } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { button } from '../../base/parts.js';
import { dot, len, sub, unit } from './space.js';
import { dist, signed, span, speed } from './units.js';

const DOCK_M = 500;
const DOCK_V = 5;

export class Docking {
  /** `o`: service(name), target(button). */
  constructor(o) {
    this.o = o;
    this.el = h('section.glass.dock', { 'aria-label': t('pilot.docking') });
  }

  /** Distance and closing speed to the target, and whether the door opens. */
  show({ ship, data: d, sky, target, locked }) {
    const at = d.docked_station_id && sky.stations.get(d.docked_station_id);
    const full = (d.fuel || 0) >= (d.fuel_capacity || 0) - 0.5;
    const far = target?.at ? len(sub(target.at, ship.at)) : null;
    const rel = target ? sub(target.v, ship.v) : null;
    const quick = rel ? len(rel) : 0;
    const station = target?.kind === 'station';
    const can = station && far <= DOCK_M && quick <= DOCK_V;
    const sig = [at?.id, target?.key, station, can, locked, full].join();
    if (sig !== this.sig) {
      this.sig = sig;
      this.distance = h('b');
      this.closing = h('b');
      this.farNote = h('span.end');
      this.quickNote = h('span.end');
      fill(this.el, at ? this.docked(at, full, locked) : this.free(target, station, can, locked));
    }
    if (at || !target) return;
    text(this.distance, dist(far));
    const closing = -dot(rel, unit(sub(target.at, ship.at)));
    text(this.closing, signed(closing));
    const eta = (far - DOCK_M) / closing;
    const away = closing > 0.05 && eta > 0 && eta < 86400 ? t('pilot.eta', { left: span(eta) }) : '';
    fill(this.farNote, far <= DOCK_M ? [icon('tick', { class: 's' }), t('pilot.fine')] : away);
    fill(
      this.quickNote,
      quick <= DOCK_V ? [icon('tick', { class: 's' }), t('pilot.fine')] : t('pilot.fast', { v: speed(quick) }),
    );
  }
  docked(at, full, locked) {
    const off = locked ? t('pilot.locked') : null;
    return [
      h('div.row', {}, h('h2', {}, t('pilot.dockedat', { name: at.name }))),
      button({
        label: t('pilot.refuel'),
        run: () => this.o.service('refuel'),
        reason: off || (full ? t('pilot.full') : null),
      }),
      button({ label: t('pilot.undock'), kind: 'primary', run: () => this.o.service('undock'), reason: off }),
    ];
  }
  free(target, station, can, locked) {
    const pick = button({
      label: target ? target.name : t('pilot.pick'),
      icon: 'target',
      small: true,
      attrs: { 'aria-haspopup': 'menu', title: t('pilot.pick') },
      run: () => this.o.target(pick),
    });
    return [
      h('div.row', {}, h('h2', {}, t(station ? 'pilot.docking' : 'pilot.target')), h('span.end', {}, pick)),
      target &&
        h(
          'dl',
          {},
          h('div', {}, h('dt', {}, t('pilot.distance')), h('dd', {}, this.distance)),
          h('div.note', {}, station ? t('pilot.under', { what: '500\u202fm' }) : '', this.farNote),
          h('div', {}, h('dt', {}, t('pilot.closingword')), h('dd', {}, this.closing)),
          h('div.note', {}, station ? t('pilot.under', { what: '5\u202fm/s' }) : '', station && this.quickNote),
        ),
      station &&
        button({
          label: t('pilot.dock'),
          kind: can ? 'primary' : 'plain',
          run: () => this.o.service('dock'),
          reason: locked ? t('pilot.locked') : can ? null : t('pilot.opens'),
        }),
      station && !can && h('p.note', {}, t('pilot.opens')),
    ];
  }
}
