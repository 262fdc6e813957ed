// The bar of time over the map: the game's clock, tick, pace and drift, with pause for who may. Its menu leads to what an
// operator can change.
import { fill, h, icon, s as svg, text } from '../../base/dom.js';
import { age, ms, num } from '../../base/format.js';
import { need, t } from '../../base/i18n.js';
import { menu } from '../../base/overlay.js';
import { badge, button, sayError } from '../../base/parts.js';
import { paceOf } from './sky.js';
import { settles } from './space.js';
import { day, hour, span } from './units.js';

const admin = async () => (await Promise.all([import('./admin.js'), need(['galaxyops'])]))[0];

/** Drift in words and tone: up to 10 s well, up to a minute worth a look, above wrong. */
export function driftOf(s) {
  const d = s?.time_drift;
  if (!Number.isFinite(d)) return null;
  const size = Math.abs(d);
  const tone = size <= 10 ? 'ok' : size <= 60 ? 'warn' : 'bad';
  const key = size < 0.05 ? 'galaxy.drift.none' : d > 0 ? 'galaxy.drift.behind' : 'galaxy.drift.ahead';
  const synced = s.time_sync && Math.abs((s.time_scale ?? 1) - 1) <= 0.001;
  return { tone, word: t(key, { far: size < 600 ? age(size * 1000, true) : span(size) }), synced, settles: settles(d) };
}

/** Points of a small line, its highest at the top. */
const line = (list) => {
  const top = Math.max(...list, 1e-6);
  return list.map((v, i) => `${60 - list.length + i},${(15 - (v / top) * 13).toFixed(1)}`).join(' ');
};

/** Three decimals while it is near 1: syncing is a matter of a few thousandths. */
const factor = (x) => (Math.abs(x - 1) < 0.06 && Math.abs(x - 1) >= 0.0005 ? num(x, 3) : num(x));

export class Timebar {
  /** `o`: ctx, sky, can, again(), late(). */
  constructor(o) {
    this.o = o;
    this.times = [];
    this.date = h('b');
    this.clock = h('b');
    this.under = h('span.note');
    this.fault = h('p.bad', { role: 'alert' });
    this.badges = h('span.gxbadges');
    this.spark = svg('polyline');
    this.tickMs = h('b');
    this.tickBox = h(
      'span.gxtick',
      { hidden: true },
      h('span', {}, h('span.note', {}, t('galaxy.tick')), this.tickMs),
      svg('svg', { viewBox: '0 0 60 16', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, this.spark),
    );
    this.pauseButton = o.can
      ? button({ icon: 'pause', title: t('galaxy.pause'), kind: 'primary', run: () => this.toggle() })
      : h('span.gxstate');
    this.more = o.can
      ? button({
          icon: 'more',
          kind: 'quiet',
          title: t('galaxy.more'),
          attrs: { 'aria-haspopup': 'menu' },
          run: () => this.menu(),
        })
      : null;
    this.el = h(
      'div.gxbar',
      { role: 'group', 'aria-label': t('galaxy.time') },
      this.pauseButton,
      h('span.gxclock', {}, h('span', {}, this.date, ' ', this.clock, h('span.note', {}, ' UTC')), this.under),
      this.tickBox,
      this.badges,
      this.more,
      this.fault,
    );
    this.beat = setInterval(() => {
      if (!this.el.isConnected) clearInterval(this.beat);
      else this.time();
    }, 250);
  }

  time() {
    const T = this.o.sky.at(performance.now() / 1000);
    text(this.date, day(T));
    text(this.clock, hour(T));
  }

  show() {
    const s = this.o.sky.status || {};
    this.time();
    const scale = s.effective_scale ?? (s.paused ? 0 : paceOf(s));
    text(
      this.under,
      [
        t('galaxy.ticks', { n: num(s.tick) }),
        t('galaxy.persecond', { n: num(s.tick_rate) }),
        `×${factor(s.paused ? (s.time_scale ?? 1) : scale || 0)}`,
      ].join(' · '),
    );
    const took = s.tick_ms ?? s.last_tick_ms;
    this.tickBox.hidden = !Number.isFinite(took);
    if (Number.isFinite(took)) {
      this.times.push(took);
      if (this.times.length > 60) this.times.shift();
      text(this.tickMs, ms(took));
      this.spark.setAttribute('points', line(this.times));
    }
    const drift = driftOf(s);
    const late = this.o.late();
    fill(this.badges, [
      late ? badge('bad', t('galaxy.stale', { age: age(late * 1000) })) : null,
      s.restoring && badge('warn', t('galaxy.restoring', { id: String(s.restoring) })),
      s.snapshots_failed >= 3 && badge('bad', t('galaxy.snapshotsfail', { n: s.snapshots_failed })),
      s.paused && badge('paused', t('galaxy.pausedat', { n: num(s.tick) })),
      s.ticks_behind > 0 && badge('warn', t('galaxy.ticksbehind', { n: s.ticks_behind })),
      !late && drift && badge(drift.tone, drift.word),
    ]);
    if (drift) {
      const last = /** @type {HTMLElement} */ (this.badges.lastChild);
      if (last) last.title = drift.synced ? t('galaxy.settles', { left: span(drift.settles) }) : t('galaxy.nosync');
    }
    if (this.paused !== !!s.paused || !this.drawn) {
      this.paused = !!s.paused;
      this.drawn = true;
      this.drawButton();
    }
  }

  drawButton() {
    const name = this.paused ? 'play' : 'pause';
    fill(this.pauseButton, icon(name, { class: 's' }));
    if (!this.o.can) return;
    const word = t(this.paused ? 'galaxy.resume' : 'galaxy.pause');
    this.pauseButton.setAttribute('aria-label', word);
    this.pauseButton.title = word;
  }

  async toggle() {
    const on = !this.o.sky.status?.paused;
    try {
      await this.o.ctx.api.post(`/api/admin/game/${on ? 'pause' : 'resume'}`);
      this.o.sky.takeStatus({ paused: on }, performance.now() / 1000);
      text(this.fault, '');
      this.o.ctx.say(t(on ? 'galaxy.said.paused' : 'galaxy.said.resumed'));
    } catch (e) {
      text(this.fault, sayError(e));
    }
    await this.o.again();
    this.drawn = false;
    this.show();
  }

  menu() {
    const { ctx, sky, again } = this.o;
    const open = (name) => async () => (await admin())[name]({ ctx, sky, again });
    menu(this.more, [
      { label: t('galaxy.menu.time'), icon: 'clock', run: open('time') },
      { label: t('galaxy.menu.snapshots'), icon: 'store', run: open('snapshots') },
      { label: t('galaxy.menu.players'), icon: 'user', run: open('players') },
    ]);
  }

  /** The page in one sentence. */
  sentence() {
    const s = this.o.sky.status || {};
    const n = t('galaxy.nships', { n: this.o.sky.ships.size });
    const bodies = t('galaxy.nbodies', { n: this.o.sky.bodies.size });
    if (s.paused) return t('galaxy.sentence.paused', { ships: n, bodies, n: num(s.tick) });
    return t('galaxy.sentence', { ships: n, bodies, rate: num(s.tick_rate) });
  }
}
