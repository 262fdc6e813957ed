// The pilot view: one player flies one ship over /ws/galaxy. Starts with the door unless this browser has an account;
// the window is drawn from what the ticks say and moved in between.

import * as api from '../../base/api.js';
import { h, loadIcons } from '../../base/dom.js';
import * as i18n from '../../base/i18n.js';
import { toast } from '../../base/overlay.js';
import { sayError } from '../../base/parts.js';
import '../../base/canvas.js';
import * as account from './account.js';
import { pick, targetOf } from './aim.js';
import { bearings, paintBall } from './ball.js';
import { Controls } from './controls.js';
import * as crew from './crew.js';
import { Flight } from './flight.js';
import { Hud } from './hud.js';
import { zoomed } from './pen.js';
import { Sky } from './sky.js';
import { sub } from './space.js';
import { seconds } from './units.js';
import { look } from './window.js';

const { t } = i18n;
const LOST_MS = 2000;
const ASK_MS = 1500;
const RULES_MS = 10000;
/** A guest logs in unseen at most this often. */
const AGAIN_MS = 60000;
const root = document.getElementById('app');
const wallNow = () => performance.now() / 1000;
let lastAgain = -AGAIN_MS;

class Pilot {
  constructor(who) {
    this.who = who;
    this.still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.sky = new Sky({ still: this.still });
    this.asked = {};
    this.changing = false;
    this.abort = new AbortController();
    this.flight = new Flight({
      token: () => this.who.token,
      renewed: (token) => {
        this.who = { ...this.who, token };
        account.keep(this.who);
      },
    });
    const on = (type, run) => this.flight.addEventListener(type, (e) => run(e.detail));
    on('welcome', (m) => this.welcome(m));
    on('state', (m) => this.take(m));
    on('paused', () => this.pause(true));
    on('resumed', () => this.pause(false));
    on('alert', (m) => toast(m.message || t('pilot.alert'), { glyph: 'warn' }));
    on('error', (m) => this.refuse(m));
    on('refused', () => this.out());
  }

  start() {
    this.controls = new Controls({
      able: () => this.able,
      turn: (v) => this.flight.control({ rotation_input: v }),
      move: (v) => this.flight.control({ translation_input: v }),
      thrust: (step) => this.thrust(this.level + step),
      cut: () => this.thrust(0),
    });
    this.controls.listen(this.abort.signal);
    this.build();
    this.flight.start();
    this.timer = setInterval(() => this.beat(), 250);
  }
  stop() {
    clearInterval(this.timer);
    this.abort.abort();
    this.flight.stop();
  }

  restart() {
    start();
  }

  build() {
    document.title = `${t('pilot.title')} · Worldkeep`;
    this.canvas = h('wk-canvas');
    this.canvas.setup({ label: t('pilot.window'), draw: (c, o) => this.paint(c, o) });
    this.canvas.setAttribute('role', 'img');
    this.hud = new Hud({
      mode: (m) => this.mode(m),
      thrust: (v) => this.thrust(v),
      moves: (on) => {
        this.controls.use(on);
        this.hud.moves(on);
      },
      service: (s) => this.flight.raw({ type: 'service', service: s }),
      ships: (el) => crew.ships(this, el),
      rename: () => crew.rename(this),
      target: (el) => pick(this, el),
      password: () => crew.password(this),
      leave: () => crew.leave(this),
      lang: async (code) => {
        await i18n.use(code, true);
        this.build();
        this.draw();
      },
    });
    this.controls.pad(this.hud.ball, this.abort.signal);
    const { hud } = this;
    for (const [el, what, sign] of [
      [hud.rollLeft, 'stick', -1],
      [hud.rollRight, 'stick', 1],
      [hud.back, 'push', -1],
      [hud.ahead, 'push', 1],
    ])
      this.controls.hold(el, what, sign, this.abort.signal);
    hud.moves(this.controls.moves);
    root.replaceChildren(h('a.skip', { href: '#main' }, t('skip')), this.canvas, this.hud.el);
    this.beat();
  }

  get ship() {
    return this.sky.ships.get(this.shipId) || null;
  }
  get level() {
    return this.asked.thrust ?? this.ship?.data?.thrust_level ?? 0;
  }
  /** May the pilot act? Not without contact, nor while time stands. */
  get able() {
    return this.flight.state === 'flying' && !this.lost && !this.ship?.data?.docked_station_id;
  }
  get lost() {
    if (this.flight.state !== 'flying') return true;
    const rate = this.sky.status?.tick_rate || 1;
    return !this.sky.status?.paused && performance.now() - this.flight.heardAt > LOST_MS + 2000 / rate;
  }

  welcome(m) {
    this.shipId = m.ship_id;
    this.mine = m.ships || [];
    this.sky.configure(m.config?.bodies || []);
    this.sky.status = {
      ...this.sky.status,
      tick: m.tick,
      tick_rate: m.tick_rate,
      time_scale: m.time_scale,
      paused: m.paused,
    };
    this.asked = {};
    this.changing = false;
    // What was let go of while there was no line.
    this.controls.tell();
    this.askRules();
  }
  take(m) {
    const wall = wallNow();
    const time = seconds(m.game_time);
    this.sky.takeStatus({ tick: m.tick, game_time: m.game_time }, wall);
    if (m.bodies) this.sky.takeBodies(m.bodies, time, wall);
    if (m.stations) this.sky.takeCraft('stations', m.stations, time, wall);
    if (m.jumpgates) this.sky.takeCraft('gates', m.jumpgates, time, wall);
    const own = m.ship;
    if (own?.ship_id && own.ship_id !== this.shipId) {
      this.shipId = own.ship_id;
      this.askRules();
    }
    const others = (m.ships || [...this.sky.ships.values()].map((e) => e.data)).filter(
      (s) => s.ship_id !== own?.ship_id,
    );
    this.sky.takeCraft('ships', own ? [own, ...others] : others, time, wall);
    this.settle();
    this.draw();
  }
  /** What the tick has confirmed is no longer asked; what it does not take up in time is given up. */
  settle() {
    const d = this.ship?.data;
    if (!d) return;
    const a = this.asked;
    const old = (at) => performance.now() - at > ASK_MS;
    if (a.thrust != null && (Math.abs(a.thrust - (d.thrust_level || 0)) < 0.004 || old(a.thrustAt))) a.thrust = null;
    if (a.mode && (a.mode === d.attitude_mode || old(a.modeAt))) a.mode = null;
  }
  pause(on) {
    this.sky.status = { ...this.sky.status, paused: on };
    if (this.sky.clock) this.sky.clock.rate = on ? 0 : this.sky.clock.rate;
    this.beat();
  }
  refuse(m) {
    // Who is not let in is told by the door, or logs in again by itself.
    if (this.flight.state !== 'flying') return;
    toast(sayError({ message: m.message || m.error?.message || m.code }), { glyph: 'warn' });
  }
  /** The token is not taken any more: a guest logs in again, others are asked. */
  async out() {
    // A new password ends the old token, and brings a new one.
    if (this.changing) return;
    this.stop();
    const { guest, username } = this.who;
    let lost = true;
    if (guest && performance.now() - lastAgain > AGAIN_MS) {
      lastAgain = performance.now();
      try {
        const back = await account.again(this.who);
        account.keep(back);
        fly(back);
        return;
      } catch (e) {
        // Only a name that is not known any more is forgotten: nobody else knows a guest's password.
        lost = e.status === 401;
      }
    }
    if (lost) account.keep(null);
    fly(await account.door(root, { reason: t('pilot.ended'), username: guest ? '' : username }));
  }

  thrust(v) {
    if (!this.able) return;
    const level = Math.round(Math.max(0, Math.min(1, v)) * 100) / 100;
    this.asked.thrust = level;
    this.asked.thrustAt = performance.now();
    this.flight.control({ thrust_level: level });
    this.draw();
  }
  mode(mode) {
    if (!this.able) return;
    const message = { type: 'attitude', mode };
    if (mode.startsWith('target')) {
      const target = targetOf(this);
      if (!target) {
        toast(t('pilot.notarget'), { glyph: 'info' });
        return;
      }
      message.target_id = target.kind === 'body' ? target.name : target.id;
      message.target_type = target.kind;
    }
    this.asked.mode = mode;
    this.asked.modeAt = performance.now();
    this.flight.raw(message);
    this.draw();
  }

  async askRules() {
    this.rulesAt = performance.now();
    if (!this.shipId) return;
    try {
      const got = await api.get(`/api/ships/${this.shipId}/automation`, account.as(this.who));
      this.rules = got.items || [];
    } catch {
      this.rules = [];
    }
  }

  /** Four times a second: contact, clock, the rest when no state comes. */
  beat() {
    const { flight, hud, sky } = this;
    hud.time(sky.at(wallNow()));
    if (flight.state === 'connecting' && !this.shipId) hud.line('', t('pilot.connecting'));
    else if (flight.state === 'waiting' || flight.state === 'connecting') {
      const wait = Math.max(0, Math.ceil(((flight.retryAt || 0) - Date.now()) / 1000));
      hud.line('bad', t('pilot.nocontact'), wait ? t('banner.again', { n: wait }) : t('banner.trying'));
    } else if (this.lost) hud.line('bad', t('pilot.silent'));
    else if (sky.status?.paused) hud.line('warn', t('pilot.paused'));
    else hud.line('ok', null);
    document.body.classList.toggle('lost', this.lost);
    if (this.lost) hud.lock(true);
    if (performance.now() - (this.rulesAt || 0) > RULES_MS && flight.state === 'flying') this.askRules();
    if (this.lost !== this.wasLost) {
      this.wasLost = this.lost;
      if (this.lost) Object.assign(this, { asked: {} });
      this.draw();
    }
  }

  draw() {
    const { ship, sky } = this;
    if (!ship) return;
    sky.frame(wallNow());
    this.hud.show({
      ship,
      data: ship.data,
      sky,
      target: targetOf(this),
      asked: this.asked,
      rules: this.rules,
      locked: this.lost,
    });
    this.canvas.touch();
  }

  paint(c, given) {
    const o = zoomed(c, given);
    const { ship, sky } = this;
    if (!ship?.held || !ship.p) {
      c.fillStyle = o.color('--sky');
      c.fillRect(0, 0, o.w, o.h);
      return;
    }
    sky.frame(wallNow());
    const target = targetOf(this);
    const b = bearings({
      turn: ship.turn,
      r: ship.rel,
      v: ship.rv,
      target: target?.at && sub(target.at, ship.at),
      targetV: target && sub(ship.v, target.v),
    });
    look(c, o, { sky, ship, bearings: b, target, middle: o.w < 720 ? 0.3 : 0.44 });
    paintBall(this.hud.ball, b, o.color);
    if (!this.still && !this.lost && !sky.status?.paused) this.canvas.touch();
  }
}

function fly(who) {
  new Pilot(who).start();
}

async function start() {
  fly(account.kept() || (await account.door(root)));
}

async function boot() {
  await Promise.all([i18n.use(i18n.preferred()), loadIcons()]);
  await i18n.need(['galaxy', 'galaxyrules', 'pilot']);
  await start();
}

boot().catch((e) => {
  console.error(e);
  root.append(h('p.noscript', { role: 'alert' }, String(e.message || e)));
});
