// The panel beside the map: everything about the selected ship, body or station. It stays when its object is gone.
import { fill, h, icon, text } from '../../base/dom.js';
import { num, percent } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { badge, button } from '../../base/parts.js';
import { bearings, paintBall } from './ball.js';
import { doing } from './doing.js';
import { sayManeuver, sayRule } from './rules.js';
import { classOf, len, orbitNow, speedLeft, sub } from './space.js';
import { angle, dist, kg, mass, pace, reach, span, speed } from './units.js';

/** What the lists do not tell of a ship, and its rules now and then. Who may not read those sees none.
 *  @param {Wk.Context} ctx */
export async function details(ctx, e) {
  if (!e) return;
  const quiet = { signal: ctx.signal, quiet: true };
  const none = () => null;
  const due = !e.rulesAt || performance.now() - e.rulesAt > RULES_MS;
  if (due) e.rulesAt = performance.now();
  const [ship, rules] = await Promise.all([
    ctx.api.get(`/api/ships/${e.id}`, quiet).catch(none),
    due ? ctx.api.get(`/api/ships/${e.id}/automation`, quiet).catch(none) : null,
  ]);
  if (ship) e.data = { ...e.data, ...ship };
  if (!rules) return;
  e.rules = rules.items || [];
  e.maneuver = rules.maneuver;
}

const RULES_MS = 1900;

const meter = (label, value, f, tone = '--accent') =>
  h(
    'div.meter',
    {},
    h('div.head2', {}, h('span', {}, label), h('span.end', {}, h('b', {}, value))),
    h(
      'span.bar',
      { class: f > 0 ? '' : 'none' },
      h('i', { vars: { '--f': Math.max(0, Math.min(1, f)), '--tone': `var(${tone})` } }),
    ),
  );
const facts = (rows) =>
  h(
    'dl.gxfacts',
    {},
    rows.filter(Boolean).map(([k, v]) => h('div', {}, h('dt', {}, k), h('dd', {}, v))),
  );
const big = (label, [value, unit]) =>
  h('div.gxbig', {}, h('span.note', {}, label), h('span', {}, h('b', {}, value), ' ', h('span.note', {}, unit)));

export class Panel {
  /** `o`: sky, ctx, can, target(d), follows(key), follow(key), select(key), close(). */
  constructor(o) {
    this.o = o;
    this.title = h('h2', { tabindex: '-1' });
    this.under = h('p.note');
    this.badges = h('div.row.gxmarks');
    this.body = h('div.parts', { tabindex: '0', role: 'group', 'aria-label': t('galaxy.facts') });
    this.ballBox = h('canvas.gxball', { role: 'img', 'aria-label': t('galaxy.ball') });
    this.bigs = h('div.gxbigs');
    this.followButton = button({ label: t('galaxy.follow'), icon: 'target', run: () => o.follow(this.key) });
    this.pilot = h('a.btn.primary', { href: '/fly', 'data-plain': '' }, t('galaxy.pilotview'));
    this.seat = h('div.gxseat', {}, this.ballBox, this.bigs);
    this.el = h(
      'section.card.flush.panel.gxcard',
      { 'aria-label': t('galaxy.selected') },
      h(
        'div.top',
        {},
        h(
          'div.row',
          {},
          this.title,
          h(
            'span.end',
            {},
            button({ icon: 'cross', kind: 'quiet', small: true, title: t('action.close'), run: () => o.close() }),
          ),
        ),
        this.under,
        this.badges,
      ),
      this.seat,
      this.body,
      h('footer', {}, this.followButton, this.pilot),
    );
    this.el.hidden = true;
  }

  show(key, e) {
    if (key !== this.key) this.last = null;
    this.key = key;
    this.el.hidden = !key;
    if (!key) return;
    if (e) this.last = e;
    const x = this.last;
    text(this.title, x ? x.name : t('galaxy.gone'));
    this.el.classList.toggle('gone', !e);
    this.seat.hidden = x?.kind !== 'ship';
    this.pilot.hidden = x?.kind !== 'ship';
    this.followButton.hidden = !e;
    this.followButton.setAttribute('aria-pressed', String(this.o.follows(key)));
    if (!x) {
      text(this.under, t('galaxy.gonesay'));
      fill(this.body);
      fill(this.badges);
      return;
    }
    const make = {
      ship: () => this.ship(x),
      body: () => this.bodyOf(x),
      station: () => this.station(x),
      gate: () => this.station(x),
    };
    const at = this.body.scrollTop;
    fill(this.body, !e && h('section', { role: 'status' }, badge('dead', t('galaxy.gonesay'))), make[x.kind]());
    this.body.scrollTop = at;
  }

  ship(e) {
    const d = e.data;
    const cls = t(
      `galaxy.class.${classOf(d) && ['fast_frigate', 'cargo_hauler'].includes(d.ship_class) ? d.ship_class : 'other'}`,
    );
    const owner = d.player_name || d.username || (d.player_id === 'npc' ? t('galaxy.npc') : null);
    text(this.under, [cls, owner, e.held && t('galaxy.near', { name: e.held.name })].filter(Boolean).join(' · '));
    const target = d.attitude_target_id && this.o.target(d);
    const mode = d.attitude_mode && d.attitude_mode !== 'none' && t(`galaxy.mode.${d.attitude_mode}`);
    fill(
      this.badges,
      doing(d),
      mode && h('span.badge.accent', {}, icon('target'), mode),
      target && h('span.badge', {}, t('galaxy.to', { name: target.name })),
    );
    fill(
      this.bigs,
      big(t('galaxy.speedfrom', { name: e.held?.name || '–' }), pace(len(e.rv))),
      target?.at && e.at
        ? big(t('galaxy.tonow', { name: target.name }), reach(len(sub(target.at, e.at))))
        : big(t('galaxy.height'), reach(len(e.rel || e.rp) - (e.held?.radius || 0))),
    );
    const fuel = d.fuel ?? 0;
    const room = d.fuel_capacity || classOf(d).fuel;
    const left = speedLeft(d);
    const most = speedLeft({ ...d, fuel: room });
    const h0 = d.wheel_momentum;
    const wheels = h0 ? Math.max(...(Array.isArray(h0) ? h0 : [h0.x, h0.y, h0.z]).map(Math.abs)) : null;
    const { maneuver } = e;
    return [
      d.fuel !== undefined &&
        h(
          'section',
          {},
          meter(
            t('galaxy.fuel'),
            t('galaxy.fuelof', { n: num(Math.round(fuel)), all: kg(room) }),
            fuel / room,
            fuel / room < 0.1 ? '--bad' : '--accent',
          ),
          meter(t('galaxy.dv'), speed(left), left / most),
          wheels !== null &&
            meter(
              t('galaxy.wheels'),
              t('galaxy.wheelsof', { n: num(Math.round(wheels)), all: num(classOf(d).wheels) }),
              wheels / classOf(d).wheels,
            ),
          d.thrust_level > 0 && meter(t('galaxy.thrust'), percent(d.thrust_level), d.thrust_level, '--warn'),
        ),
      this.path(e),
      maneuver?.type && h('section', {}, h('h3', {}, t('galaxy.maneuver')), sayManeuver(maneuver)),
      e.rules &&
        h(
          'section',
          {},
          h('h3', {}, t('galaxy.rules')),
          e.rules.length ? h('ul.gxrules', {}, e.rules.map(rule)) : h('p.note', {}, t('galaxy.norules')),
        ),
    ];
  }

  path(e) {
    const o = orbitNow(e);
    if (!o) return null;
    const ground = e.held.parent ? e.held.radius || 0 : 0;
    return h(
      'section',
      {},
      h('h3', {}, t('galaxy.path')),
      facts([
        [t(ground ? 'galaxy.lowest' : 'galaxy.nearest'), dist(o.low - ground)],
        [t(ground ? 'galaxy.highest' : 'galaxy.farthest'), o.high ? dist(o.high - ground) : t('galaxy.leaves')],
        [t('galaxy.tilt'), angle(o.tilt)],
        [t('galaxy.oneturn'), o.period ? span(o.period) : '–'],
      ]),
    );
  }

  bodyOf(b) {
    const { sky } = this.o;
    const kind = !b.parent ? 'star' : b.held?.parent ? 'moon' : 'planet';
    text(
      this.under,
      [t(`galaxy.kind.${kind}`), b.parent && t('galaxy.round', { name: b.parent })].filter(Boolean).join(' · '),
    );
    const ships = [...sky.ships.values()].filter((s) => s.held === b).length;
    const fixed = [...sky.stations.values()].filter((s) => s.held === b);
    const moons = sky.children(b.name);
    const link = (x) => h('button.btn.small', { type: 'button', on: { click: () => this.o.select(x.key) } }, x.name);
    fill(this.badges, ships > 0 && badge('info', t('galaxy.nships', { n: ships })));
    return [
      h(
        'section',
        {},
        facts([
          [t('galaxy.radius'), dist(b.radius)],
          [t('galaxy.mass'), mass(b.gm / 6.6743e-11)],
          b.held && [t('galaxy.away2', { name: b.held.name }), dist(len(b.rel))],
          b.held && [t('galaxy.speed'), speed(len(b.rv))],
          b.hill && b.parent && [t('galaxy.holds'), dist(b.hill)],
          [t('galaxy.pull'), `${num(Number((b.gm / b.radius ** 2).toPrecision(3)))}\u202fm/s²`],
        ]),
      ),
      b.held && this.path(b),
      moons.length > 0 &&
        h(
          'section',
          {},
          h('h3', {}, t(b.parent ? 'galaxy.moons' : 'galaxy.planets')),
          h('div.row.gxlinks', {}, moons.map(link)),
        ),
      fixed.length > 0 &&
        h('section', {}, h('h3', {}, t('galaxy.stations')), h('div.row.gxlinks', {}, fixed.map(link))),
    ];
  }

  station(e) {
    const docked = [...this.o.sky.ships.values()].filter((s) => s.data?.docked_station_id === e.id);
    text(
      this.under,
      [t(`galaxy.kind.${e.kind}`), e.held && t('galaxy.near', { name: e.held.name })].filter(Boolean).join(' · '),
    );
    fill(this.badges, docked.length > 0 && badge('info', t('galaxy.ndocked', { n: docked.length })));
    return [
      h(
        'section',
        {},
        facts([
          [t('galaxy.height'), dist(len(e.rel || e.rp) - (e.held?.radius || 0))],
          [t('galaxy.speed'), speed(len(e.rv))],
          [t('galaxy.dockrule'), t('galaxy.dockrulesay')],
        ]),
      ),
      this.path(e),
    ];
  }

  /** The ball turns with every picture of the map. */
  paint(color) {
    const e = this.o.sky.get(this.key);
    if (this.el.hidden || e?.kind !== 'ship' || !e.turn || !e.rel) return;
    const target = e.data?.attitude_target_id && this.o.target(e.data);
    const b = bearings({ turn: e.turn, r: e.rel, v: e.rv, target: target?.at && sub(target.at, e.at) });
    paintBall(this.ballBox, b, color);
  }
}

function rule(r) {
  const on = r.enabled === true || r.enabled === 'true';
  return h(
    'li',
    { title: sayRule(r) },
    icon(on ? 'tick' : 'off', { class: 's' }),
    h('span', {}, r.name || sayRule(r)),
    h('span.note.end', {}, t(on ? 'galaxy.waits' : 'galaxy.off')),
  );
}
