// The instruments over the pilot's window: who flies, how high and fast, docking, thrust, ball, modes, rules, keys. What
// was asked shows hollow at once and fills when a tick confirms it.
import { fill, h, icon, text } from '../../base/dom.js';
import { num, percent } from '../../base/format.js';
import { current, LANGS, t } from '../../base/i18n.js';
import { button } from '../../base/parts.js';
import { MODES } from './ball.js';
import { Docking } from './docking.js';
import { doing } from './doing.js';
import { sayRule } from './rules.js';
import { classOf, dot, len, orbitNow, unit } from './space.js';
import { dist, hour, kg, longDay, pace, reach, span } from './units.js';

const figure = (label) => {
  const [value, unitOf] = [h('b'), h('span.note')];
  const el = h('div.figure', {}, h('span.note', {}, label), h('span', {}, value, ' ', unitOf));
  const set = ([v, u]) => {
    text(value, v);
    text(unitOf, u);
  };
  return { el, set };
};
const fact = (label) => {
  const value = h('dd');
  return { el: h('div', {}, h('dt', {}, label), value), set: (v) => text(value, v) };
};
const meter = (label) => {
  const value = h('b');
  const bar = h('i');
  return {
    el: h('div.meter', {}, h('div.head2', {}, h('span', {}, label), h('span.end', {}, value)), h('span.bar', {}, bar)),
    set: (say, f, tone = '--accent') => {
      text(value, say);
      bar.style.setProperty('--f', String(Math.max(0, Math.min(1, f || 0))));
      bar.style.setProperty('--tone', `var(${tone})`);
    },
  };
};

export class Hud {
  /** `o`: mode(name), thrust(value), moves(on), service(name), ships(), rename(), target(), password(), leave(), lang(code). */
  constructor(o) {
    this.o = o;
    this.title = h('h1');
    this.under = h('p.note');
    this.state = h('span.row');
    this.tick = h('span.note');
    this.dot = h('i.dot', { 'aria-hidden': 'true' });
    this.clock = h('b');
    this.date = h('span.note');
    this.height = figure(t('galaxy.height'));
    this.speed = figure(t('galaxy.speed'));
    this.climb = figure(t('pilot.climbing'));
    this.high = fact(t('galaxy.highest'));
    this.low = fact(t('galaxy.lowest'));
    this.turn = fact(t('galaxy.oneturn'));
    this.fuel = meter(t('galaxy.fuel'));
    this.wheels = meter(t('galaxy.wheels'));
    this.ball = h('canvas.ball', { role: 'img', 'aria-label': t('pilot.ball') });
    this.slider = h('input', {
      type: 'range',
      min: 0,
      max: 100,
      step: 1,
      value: 0,
      'aria-label': t('galaxy.thrust'),
      'aria-orientation': 'vertical',
      on: { input: () => o.thrust(Number(this.slider.value) / 100) },
    });
    this.thrustNow = h('b');
    this.fillBar = h('i.done');
    this.modes = new Map(
      MODES.map((m) => [
        m,
        h(
          'button.btn.small',
          { type: 'button', 'aria-pressed': 'false', on: { click: () => o.mode(m) } },
          t(`galaxy.mode.${m}`),
        ),
      ]),
    );
    const round = (word, glyph, flip) =>
      h(
        'button.btn.round',
        { type: 'button', 'aria-label': t(word), title: t(word) },
        icon(glyph, { class: `s${flip ? ' flip' : ''}` }),
      );
    const push = (word) => h('button.btn.push', { type: 'button' }, t(word));
    this.rollLeft = round('pilot.rollleft', 'loop', true);
    this.rollRight = round('pilot.rollright', 'loop');
    this.back = push('pilot.back');
    this.ahead = push('pilot.ahead');
    this.mover = round('pilot.moves', 'move');
    this.mover.addEventListener('click', () => o.moves(this.mover.getAttribute('aria-pressed') !== 'true'));
    this.contact = h('div.contact', { role: 'alert' });
    this.dock = new Docking(o);
    this.rules = h('section.glass.rules', { hidden: true, 'aria-label': t('galaxy.rules') });
    this.el = h(
      'main.hud',
      { id: 'main' },
      this.top(),
      this.left(),
      this.dock.el,
      this.rules,
      this.board(),
      this.keys(),
      this.contact,
    );
  }

  top() {
    const act = (glyph, title, run) => button({ icon: glyph, kind: 'quiet', small: true, title, run });
    this.shipsButton = act('down', t('pilot.switch'), () => this.o.ships(this.shipsButton));
    this.langButton = button({
      label: (current() === 'fr' ? 'en' : 'fr').toUpperCase(),
      kind: 'quiet',
      small: true,
      attrs: { 'aria-label': LANGS[current() === 'fr' ? 'en' : 'fr'], lang: current() === 'fr' ? 'en' : 'fr' },
      run: () => this.o.lang(current() === 'fr' ? 'en' : 'fr'),
    });
    return [
      h(
        'header.glass.who',
        {},
        h(
          'a.btn.quiet.round',
          { href: '/galaxy', 'aria-label': t('pilot.map'), title: t('pilot.map') },
          icon('right', { class: 's flip' }),
        ),
        h(
          'div.name',
          {},
          h(
            'div.row',
            {},
            this.title,
            this.shipsButton,
            act('pencil', t('pilot.rename'), () => this.o.rename()),
          ),
          this.under,
        ),
        this.state,
        h('span.row.ticks', {}, this.dot, this.tick),
      ),
      h(
        'div.glass.clock',
        {},
        h('span', {}, this.clock, ' ', this.date),
        this.langButton,
        act('lock', t('pilot.newpassword'), () => this.o.password()),
        act('leave', t('pilot.leave'), () => this.o.leave()),
      ),
    ];
  }
  left() {
    return h(
      'section.glass.facts2',
      { 'aria-label': t('galaxy.path') },
      this.height.el,
      this.speed.el,
      this.climb.el,
      h('dl', {}, this.high.el, this.low.el, this.turn.el),
    );
  }
  board() {
    return h(
      'section.glass.board',
      { 'aria-label': t('pilot.board') },
      h(
        'div.thrust',
        {},
        h('span.note', {}, t('galaxy.thrust')),
        h('div.lever', {}, h('span.track', { 'aria-hidden': 'true' }, this.fillBar), this.slider),
        this.thrustNow,
      ),
      h(
        'div.ballbox',
        {},
        this.ball,
        h('div.mover', {}, this.mover),
        h('div.rolls', {}, this.rollLeft, this.rollRight, this.back, this.ahead),
      ),
      h(
        'div.side2',
        {},
        this.fuel.el,
        this.wheels.el,
        h('div.modes', { role: 'group', 'aria-label': t('pilot.modes') }, [...this.modes.values()]),
      ),
    );
  }
  keys() {
    const line = (keys, word) =>
      h(
        'div',
        {},
        h(
          'dt',
          {},
          keys.map((k) => h('kbd', {}, k)),
        ),
        h('dd', {}, t(word)),
      );
    return h(
      'dl.glass.keys2',
      { 'aria-label': t('pilot.keys') },
      line(['W', 'S'], 'pilot.k.thrust'),
      line(['A', 'D'], 'pilot.k.yaw'),
      line(['↑', '↓'], 'pilot.k.pitch'),
      line(['Q', 'E'], 'pilot.k.roll'),
      line([t('pilot.space')], 'pilot.k.cut'),
    );
  }

  /** Whether the ball moves the ship instead of turning it. */
  moves(on) {
    this.mover.setAttribute('aria-pressed', String(on));
    this.ball.classList.toggle('moves', on);
    this.ball.setAttribute('aria-label', t(on ? 'pilot.ballmoves' : 'pilot.ball'));
    for (const el of [this.rollLeft, this.rollRight]) el.hidden = on;
    for (const el of [this.back, this.ahead]) el.hidden = !on;
  }
  /** Takes the controls away, or gives them back. */
  lock(on) {
    for (const el of this.modes.values()) el.disabled = on;
    this.slider.disabled = on;
  }

  /** Everything that a state changes. `x`: ship, data, sky, target, asked {thrust, mode}, rules, locked. */
  show(x) {
    const { ship, data: d, sky, asked } = x;
    text(this.title, ship.name);
    text(
      this.under,
      `${t(`galaxy.class.${d.ship_class in { fast_frigate: 1, cargo_hauler: 1 } ? d.ship_class : 'other'}`)}, ${t('pilot.orbitof', { name: ship.held?.name || '–' })}`,
    );
    const now = doing(d);
    if (this.state.textContent !== now.textContent) fill(this.state, now);
    text(this.tick, t('galaxy.ticks', { n: num(sky.status.tick) }));
    const up = len(ship.rel) - (ship.held?.radius || 0);
    this.height.set(reach(up));
    this.speed.set(pace(len(ship.rv)));
    const climbing = dot(ship.rv, unit(ship.rp));
    const [v, u] = pace(climbing);
    this.climb.set([(climbing > 0.05 ? '+' : '') + v, u]);
    const o = orbitNow(ship);
    const R = ship.held?.radius || 0;
    this.high.set(o?.high ? dist(o.high - R) : t('galaxy.leaves'));
    this.low.set(o ? dist(o.low - R) : '–');
    this.turn.set(o?.period ? span(o.period) : '–');
    const room = d.fuel_capacity || classOf(d).fuel;
    const share = (d.fuel || 0) / room;
    this.fuel.set(kg(d.fuel || 0), share, share < 0.1 ? '--bad' : '--accent');
    const hm = d.wheel_momentum;
    const spin = hm ? Math.max(...(Array.isArray(hm) ? hm : [hm.x, hm.y, hm.z]).map(Math.abs)) / classOf(d).wheels : 0;
    this.wheels.set(percent(spin), spin, spin > 0.9 ? '--warn' : '--accent');
    const level = d.thrust_level || 0;
    this.fillBar.style.setProperty('--f', level);
    const wanted = asked.thrust ?? level;
    if (document.activeElement !== this.slider || asked.thrust == null) this.slider.value = Math.round(wanted * 100);
    this.slider.classList.toggle('asked', Math.abs(wanted - level) > 0.004);
    text(this.thrustNow, percent(wanted));
    const mode = d.attitude_mode || 'none';
    for (const [name, el] of this.modes) {
      el.setAttribute('aria-pressed', String(name === mode));
      el.classList.toggle('asked', asked.mode === name && name !== mode);
    }
    this.lock(x.locked || !!d.docked_station_id);
    this.dock.show(x);
    this.showRules(x.rules);
  }

  time(T) {
    text(this.clock, hour(T));
    text(this.date, `UTC, ${longDay(T)}`);
  }

  showRules(rules) {
    this.rules.hidden = !rules?.length;
    const key = JSON.stringify(rules || []);
    if (key === this.rulesKey) return;
    this.rulesKey = key;
    const on = (r) => r.enabled === true || r.enabled === 'true';
    fill(
      this.rules,
      h('h2', {}, t('galaxy.rules')),
      h(
        'ul',
        {},
        (rules || []).slice(0, 5).map((r) => h('li', {}, icon(on(r) ? 'tick' : 'off', { class: 's' }), sayRule(r))),
      ),
    );
  }

  /** Full width over everything while the line is lost; null when all is well. */
  line(tone, sentence, note, act) {
    this.dot.className = `dot ${tone || 'ok'}`;
    const key = `${sentence}`;
    if (key !== this.lineKey) {
      this.lineKey = key;
      this.lineNote = h('span', { 'aria-hidden': 'true' });
      fill(
        this.contact,
        sentence &&
          h(
            'div.banner',
            { class: tone === 'bad' ? 'bad' : '' },
            icon('warn'),
            h('span.text', {}, sentence, ' ', this.lineNote),
            act,
          ),
      );
    }
    text(this.lineNote, note || '');
  }
}
