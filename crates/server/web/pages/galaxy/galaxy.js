// The Galaxy page: a live map of the star system. It asks for the state once a second and moves everything in between;
// a list is the map's twin, a panel shows the selected one, the bar holds time. Everything here is in the address.
import { fill, h } from '../../base/dom.js';
import { need, t } from '../../base/i18n.js';
import { errorBox, skeleton } from '../../base/parts.js';
import '../../base/canvas.js';
import { Camera, near, wide } from './camera.js';
import { findTarget, meetings } from './craft.js';
import { draw } from './draw.js';
import { Labels } from './labels.js';
import { List } from './list.js';
import { bindKeys } from './mapkeys.js';
import { rootScale, zoomed } from './pen.js';
import { follow } from './pointer.js';
import { Sky } from './sky.js';
import { load } from './source.js';
import { covers, nothing, tools } from './stage.js';
import { Timebar } from './timebar.js';

const EVERY_MS = 1000;
const LATE_MS = 6000;
const MANY = 500;
const MANY_S = 2.9;

const wallNow = () => performance.now() / 1000;

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const view = new Galaxy(root, ctx);
  view.start();
  return { update: (_params, query) => view.moved(query), unmount: () => view.stop() };
}

class Galaxy {
  /** @type {HTMLElement} */ followButton;
  /** @param {HTMLElement} root @param {Wk.Context} ctx */
  constructor(root, ctx) {
    this.root = root;
    this.ctx = ctx;
    this.query = ctx.query;
    this.still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.sky = new Sky({ still: this.still });
    this.cam = new Camera();
    this.cam.rigid = this.still;
    this.labels = new Labels();
    this.night = root.closest('main') || root;
    this.night.dataset.theme = 'dark';
    this.night.classList.add('night');
    ctx.head({ title: t('nav.galaxy'), sentence: t('galaxy.say') });
    fill(root, h('section.card', {}, skeleton(8)));
  }
  get selected() {
    return this.query.sel || null;
  }
  get can() {
    return this.ctx.can('operator');
  }

  async start() {
    try {
      await this.ask();
    } catch (e) {
      if (this.ctx.signal.aborted) return;
      this.ended = true;
      fill(
        this.root,
        errorBox(e, () => {
          this.ended = false;
          return this.start();
        }),
      );
      return;
    }
    if (this.ctx.signal.aborted) return;
    this.build();
    this.first();
    this.draw();
    const { signal } = this.ctx;
    this.timer = setInterval(() => this.poll(), EVERY_MS);
    document.addEventListener('visibilitychange', () => !document.hidden && this.poll(), { signal });
    this.ctx.live.addEventListener('paused', () => this.poll(), { signal });
    this.unbind = bindKeys(this);
  }

  stop() {
    clearInterval(this.timer);
    clearTimeout(this.slow);
    for (const off of this.unbind || []) off();
    delete this.night.dataset.theme;
    this.night.classList.remove('night');
  }

  async poll() {
    if (document.hidden || this.asking || this.ctx.live.paused) return;
    // A great many ships are a great answer: less often then.
    if (this.sky.ships.size > MANY && wallNow() - this.toldAt < MANY_S) return;
    try {
      await this.ask();
      this.fault = null;
    } catch (e) {
      if (this.ctx.signal.aborted) return;
      this.fault = e;
    }
    if (this.bar) this.draw();
  }

  async ask() {
    this.asking = true;
    try {
      await load(this.ctx, this.sky, wallNow);
      this.toldAt = wallNow();
    } finally {
      this.asking = false;
    }
    const e = this.sky.get(this.selected);
    if (e?.kind === 'ship' && this.panelModule) this.panelModule.details(this.ctx, e).then(() => this.panelOnly());
  }

  build() {
    const { ctx } = this;
    this.canvas = h('wk-canvas');
    this.canvas.setup({ label: t('galaxy.canvas'), draw: (c, o) => this.paint(c, o) });
    this.canvas.setAttribute('role', 'img');
    follow(this.canvas, {
      places: () => this.places || [],
      scale: rootScale,
      pan: (dx, dy) => this.pan(dx, dy),
      zoom: (k, x, y) => this.zoom(k, x, y),
      click: (key) => this.select(key?.startsWith('crowd') ? null : key),
      open: (key) => this.follow(key),
    });
    this.bar = new Timebar({ ctx, sky: this.sky, can: this.can, again: () => this.poll(), late: () => this.late });
    this.list = new List({
      sky: this.sky,
      pick: (key) => this.select(key),
      open: (key) => this.follow(key),
    });
    this.aside = h('div.gxpanel');
    this.none = h('div.none');
    this.tools = tools(this);
    this.box = h(
      'section.gx',
      { 'aria-label': t('galaxy.canvas') },
      this.canvas,
      h('div.gxtop', {}, this.bar.el),
      this.list.el,
      this.aside,
      this.tools,
      this.none,
    );
    fill(this.root, this.box);
  }

  /** Where the address asks to look; else the planets near the star. */
  first() {
    const key = this.query.follow || this.selected;
    const place = (k) => this.place(k);
    this.sky.frame(wallNow());
    this.cam.anchor = this.sky.star?.key || null;
    this.cam.mpp = this.wide();
    if (key && this.sky.get(key))
      this.cam.follow(key, place, Number(this.query.mpp) || this.near(key), { still: true });
  }
  place(key) {
    return this.sky.get(key)?.at || null;
  }
  wide() {
    const k = rootScale();
    return wide(this.sky, this.box.clientWidth / k, this.canvas.clientHeight / k);
  }
  near(key) {
    return near(this.sky.get(key), this.wide());
  }

  moved(query) {
    const was = this.selected;
    this.query = query;
    if (!this.bar) return;
    this.draw();
    if (was !== this.selected) this.poll();
  }
  select(key) {
    this.ctx.router.setQuery({ sel: key || null });
  }
  follow(key) {
    if (!key || !this.sky.get(key)) return;
    if (this.selected !== key) this.select(key);
    const goal = this.near(key);
    const mpp = this.cam.anchor === key && this.cam.mpp < goal * 4 ? this.cam.mpp : goal;
    this.cam.follow(key, (k) => this.place(k), mpp, { still: this.still });
    this.canvas.touch();
    this.panelOnly();
  }
  whole() {
    const star = this.sky.star;
    if (star) this.cam.follow(star.key, (k) => this.place(k), this.wide(), { still: this.still });
    this.canvas.touch();
  }
  pan(dx, dy) {
    this.cam.pan(dx, dy);
    this.canvas.touch();
  }
  zoom(k, x, y) {
    const own = x === undefined || this.cam.centred;
    this.cam.zoom(k, own ? 0 : x - this.cam.cx, own ? 0 : y - this.canvas.clientHeight / 2);
    this.canvas.touch();
  }

  /** Seconds since the last answer, when that is long. */
  get late() {
    const s = wallNow() - (this.toldAt || 0);
    return s * 1000 > LATE_MS || this.fault ? s : 0;
  }

  paint(c, given) {
    const o = zoomed(c, given);
    const wall = wallNow();
    const { sky, cam, selected } = this;
    sky.frame(wall);
    // left, top, right, bottom that panels cover
    const shut = this.panel?.el.hidden ?? true;
    const edges = o.w > 900 ? [this.list.open ? 300 : 28, 104, shut ? 80 : 410, 40] : [28, 40, 76, 36];
    const free = o.w > 900 ? (edges[0] + o.w - edges[2]) / 2 : o.w / 2;
    const view = cam.view((k) => this.place(k), o.w, o.h, wall, free);
    this.canvas.dataset.mpp = view.mpp.toPrecision(3);
    this.places = draw(c, o, {
      sky,
      view,
      labels: this.labels,
      selected,
      anchor: cam.anchor,
      wall,
      meets: this.meets,
      edges,
      covered: this.covered || [],
    });
    this.panel?.paint(o.color);
    const moving = sky.clock?.rate && !this.still && !this.late;
    if (cam.flight || view.moving || moving) {
      // Far out nothing moves by a pixel in a second: fewer pictures do.
      const lively = cam.flight || view.moving || view.mpp < 2e6 || sky.clock.rate > 5;
      if (lively) this.canvas.touch();
      else {
        clearTimeout(this.slow);
        this.slow = setTimeout(() => this.canvas.touch(), 100);
      }
    }
  }

  panelOnly() {
    const e = this.sky.get(this.selected);
    this.followButton.setAttribute('aria-pressed', String(!!e && this.cam.anchor === e.key && this.cam.centred));
    if (this.panel) this.panel.show(this.selected, e);
    else if (this.selected) this.openPanel();
  }
  async openPanel() {
    const [module] = await Promise.all([import('./panel.js'), need(['galaxyrules'])]);
    this.panelModule = module;
    if (this.panel || this.ctx.signal.aborted) return;
    this.panel = new this.panelModule.Panel({
      sky: this.sky,
      ctx: this.ctx,
      can: this.can,
      target: (d) => findTarget(this.sky, d),
      follows: (key) => this.cam.anchor === key && this.cam.centred,
      follow: (key) => this.follow(key),
      select: (key) => this.select(key),
      close: () => {
        this.select(null);
        this.list.focus();
      },
    });
    fill(this.aside, this.panel.el);
    this.panelOnly();
  }

  draw() {
    const { sky, ctx } = this;
    const e = sky.get(this.selected);
    this.meets = e && e.kind === 'ship' ? meetings(sky, e) : [];
    this.bar.show();
    this.list.show(this.selected);
    this.panelOnly();
    const bare = !sky.bodies.size;
    this.box.classList.toggle('bare', bare);
    this.box.classList.toggle('paused', !!sky.status?.paused);
    if (bare !== this.bare) fill(this.none, bare && nothing(this));
    this.bare = bare;
    ctx.head({ sentence: bare ? t('galaxy.emptysay') : this.bar.sentence() });
    const id = e?.kind === 'ship' ? e.id : null;
    ctx.echo(
      id
        ? { cli: `worldkeep galaxy ship ${id}`, api: `GET /api/ships/${id}` }
        : { cli: 'worldkeep galaxy status', api: 'GET /api/status' },
    );
    if (!bare) ctx.digest(this.bar.sentence());
    this.covered = covers(this.canvas, [this.bar.el, this.list.el, this.aside.firstChild, this.tools]);
    this.canvas.touch();
  }
}
