// The World page: one field, live. Pickers choose it, a canvas draws it, a list is its twin, a panel follows the selected
// one (monster, reactor or player) and acts on it, a feed tells what happens here. Lists are asked again when events come,
// and from time to time.
import { fill, h } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { bind } from '../../base/keys.js';
import { button, errorBox, skeleton } from '../../base/parts.js';
import '../../base/canvas.js';
import '../../base/feed.js';
import * as names from '../names.js';
import * as act from './act.js';
import { fit, outside, zoom } from './camera.js';
import { draw } from './draw.js';
import { choose, Model, NIL, placeOf } from './model.js';
import { pickers } from './pickers.js';
import { spread } from './place.js';
import { follow } from './pointer.js';
import * as told from './told.js';

const forms = () => import('./forms.js');

const SOON_MS = 200;
const EVERY_MS = 2500;
const FIELDS_MS = 5000;
const PAGE = 250;
const MOST = 1000;

/** @type {Wk.Mount} */
export function mount(root, ctx) {
  const view = new World(root, ctx);
  view.start();
  return { update: (_params, query) => view.moved(query), unmount: () => view.stop() };
}

class World {
  /** @param {HTMLElement} root @param {Wk.Context} ctx */
  constructor(root, ctx) {
    this.root = root;
    this.ctx = ctx;
    this.query = ctx.query;
    this.fields = [];
    /** @type {Map<number, any>} */
    this.mobs = new Map();
    /** @type {Map<number, any>} */
    this.things = new Map();
    this.totals = { monsters: 0, reactors: 0 };
    this.model = new Model();
    this.still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    fill(root, h('section.card', {}, skeleton(8)));
    ctx.head({ title: t('nav.world'), sentence: t('world.say') });
  }

  get runs() {
    const all = this.ctx.state.running;
    return { monsters: all.includes('monsters'), reactors: all.includes('reactors') };
  }
  get selected() {
    return this.query.sel || null;
  }

  async start() {
    const { ctx } = this;
    if (!ctx.state.overview)
      await new Promise((done) => ctx.state.addEventListener('overview', done, { once: true, signal: ctx.signal }));
    if (ctx.signal.aborted) return;
    try {
      await Promise.all([this.templates(), this.findFields()]);
    } catch (e) {
      if (!ctx.signal.aborted)
        fill(
          this.root,
          errorBox(e, () => this.start()),
        );
      return;
    }
    this.build();
    this.pick();
    ctx.live.addEventListener('events', (e) => this.heard(e.detail), { signal: ctx.signal });
    ctx.live.addEventListener('paused', () => !ctx.live.paused && this.soon(0), { signal: ctx.signal });
    document.addEventListener('visibilitychange', () => !document.hidden && this.soon(0), { signal: ctx.signal });
    this.every = setInterval(() => this.soon(0), EVERY_MS);
    this.look = setInterval(() => !document.hidden && this.findFields().catch(() => {}), FIELDS_MS);
    this.unbind = [
      bind('+', 'world.key.in', () => this.zoomBy(1.25)),
      bind('-', 'world.key.out', () => this.zoomBy(0.8)),
      bind('0', 'world.key.all', () => this.refit()),
      bind('f', 'world.key.follow', () => this.selected && this.follow()),
    ];
  }

  stop() {
    for (const timer of [this.every, this.look]) clearInterval(timer);
    clearTimeout(this.later);
    clearTimeout(this.tick);
    for (const off of this.unbind || []) off?.();
  }

  async templates() {
    [this.mobs, this.things] = await Promise.all([
      names.templates('monsters', true),
      names.templates('reactors', true),
    ]);
  }

  async findFields() {
    const { data } = await this.ctx.api.get('/api/worlds', { signal: this.ctx.signal });
    this.fields = data.map((x) => x.attributes);
  }

  /** Builds what stays; the rest changes in place. */
  build() {
    const { ctx } = this;
    const template = (m) => this.mobs.get(m.monsterId);
    const thing = (r) => this.things.get(r.classification);
    const timeout = (r) => thing(r)?.states?.[String(r.state)]?.timeout?.afterMs;
    this.timeout = timeout;
    this.see = { template, thing, timeout, area: (r) => thing(r)?.area, name: (key) => this.name(key) };
    this.canvas = h('wk-canvas');
    this.canvas.setup({ label: t('world.canvas'), fps: 60, draw: (c, o) => this.paint(c, o) });
    this.canvas.setAttribute('role', 'img');
    follow(this.canvas, {
      cam: () => this.cam,
      places: () => this.places,
      move: (cam) => this.moveTo(cam),
      hover: (key) => {
        if (key !== this.hover) this.canvas.touch();
        this.hover = key;
      },
      click: (key, place) => this.clicked(key, place),
    });
    this.counts = h('div.counts2');
    this.grouped = h('li', { hidden: true }, h('i.several', {}, '7'), t('world.legend.group'));
    this.legend = h(
      'ul.legend',
      {},
      this.runs.monsters && h('li', {}, h('i.solid'), t('world.legend.angry')),
      this.runs.monsters && h('li', {}, h('i.dots'), t('world.legend.controls')),
      this.runs.reactors && h('li', {}, h('i.diamond'), t('world.legend.reactor')),
      this.grouped,
    );
    this.none = h('div.none');
    this.fault = h('div');
    this.twin = h('wk-twin').setup({
      label: t('world.list'),
      key: (x) => x.key,
      name: (x) => told.line(this, x).join(' · '),
      row: (x) => told.row(this, x),
      pick: (x, byKey) => this.select(x.key, { push: !byKey }),
    });
    this.twin.items = [];
    this.aside = h('div.asidebox');
    this.feed = h('wk-feed');
    const zoomBar = h(
      'div.zoom',
      {},
      button({ icon: 'plus', title: t('world.key.in'), run: () => this.zoomBy(1.25) }),
      button({ icon: 'minus', title: t('world.key.out'), run: () => this.zoomBy(0.8) }),
      button({ icon: 'screen', title: t('world.key.all'), run: () => this.refit() }),
    );
    this.chips = h('div.filters.places');
    this.listHead = h('span.note.end');
    fill(
      this.root,
      this.chips,
      this.fault,
      h(
        'div.world',
        {},
        h(
          'section.card.flush.fieldbox',
          { 'aria-label': t('world.canvas') },
          h('div.over', {}, this.counts, zoomBar),
          this.canvas,
          this.legend,
          this.none,
        ),
        h(
          'div.beside',
          {},
          this.aside,
          h('section.card.happens', {}, h('div.cardhead', {}, h('h2', {}, t('world.events'))), this.feed),
        ),
        h('section.card.listing', {}, h('div.cardhead', {}, h('h2', {}, t('world.list')), this.listHead), this.twin),
      ),
    );
    this.feed.setup({
      live: ctx.live,
      limit: 40,
      filter: (e) => this.here(e),
      empty: () => h('p.note', {}, t('world.noevents')),
    });
  }

  /** The field the address asks for; one that holds nothing is shown too, empty. */
  pick() {
    const q = this.query;
    const found = choose(this.fields, q);
    const tenant = this.fields.find((f) => f.tenant.id === q.tenant)?.tenant;
    const asked = q.map != null && {
      tenant: tenant || { ...act.DEMO.tenant, id: q.tenant || act.DEMO.tenant.id },
      worldId: Number(q.world || 0),
      channelId: Number(q.channel || 0),
      mapId: Number(q.map),
      instance: q.instance || NIL,
    };
    const next = found || asked || act.DEMO;
    const same = this.at && this.at.tenant.id === next.tenant.id && placeOf(this.at) === placeOf(next);
    if (!same) {
      this.at = next;
      this.own = false;
      const fresh = new Model();
      Object.assign(this.model, fresh);
      this.cam = null;
      this.mark = null;
      this.loaded = false;
      this.model.hear(
        this.ctx.live.events.filter((e) => this.here(e)),
        Date.now(),
      );
      this.feed.draw();
      this.soon(0);
    }
    this.pickers();
    this.draw();
  }

  moved(query) {
    this.query = query;
    if (this.canvas) this.pick();
  }

  /** "Moss Slime 1000000007", "Player 4". */
  name(key) {
    const id = key.slice(1);
    if (key[0] === 'p') return t('world.player', { id });
    const x = (key[0] === 'm' ? this.model.monsters : this.model.reactors).get(id);
    if (x || this.panel?.key !== key) return names.nameOf(key[0], id, x, this.at.tenant.id);
    return names.nameOf(key[0], id, this.panel.last, this.at.tenant.id);
  }

  /** A group spreads until its members stand apart; one place only holds the weakest of them. */
  clicked(key, place) {
    this.mark = key || !this.ctx.can('operator') ? null : place;
    const group = key?.[0] === 'c' && this.groups?.get(key);
    if (!group) this.select(key);
    else if (this.cam.k < 5.9) this.moveTo(spread(group, this.cam, this.canvas.clientWidth, this.canvas.clientHeight));
    else this.select(`m${group.of.reduce((a, b) => (b.hp < a.hp ? b : a)).id}`);
    this.canvas.touch();
  }

  here(e) {
    return (
      this.at &&
      (e.module === 'monsters' || e.module === 'reactors') &&
      (!e.scope || e.scope === this.at.tenant.id) &&
      e.body?.mapId !== undefined &&
      placeOf(e.body) === placeOf(this.at)
    );
  }

  heard(events) {
    const mine = events.filter((e) => this.here(e));
    if (!mine.length || this.ctx.live.paused) return;
    const now = Date.now();
    const off = Math.max(...mine.map((e) => e.at)) - now;
    this.model.skew = Math.abs(off) > 2000 ? off : 0;
    this.model.hear(mine, this.model.now(now));
    this.soon(SOON_MS);
  }

  /** Lists again, at most once per `SOON_MS`. */
  soon(wait) {
    if (this.later || document.hidden || this.ctx.live.paused) return;
    this.later = setTimeout(async () => {
      try {
        await this.load();
      } catch (e) {
        if (!this.ctx.signal.aborted && e.status !== 401) fill(this.fault, e.away ? null : errorBox(e));
      } finally {
        this.later = null;
      }
    }, wait);
  }

  async load() {
    const at = this.at;
    const [mobs, things] = await Promise.all([this.all('monsters'), this.all('reactors')]);
    if (this.ctx.signal.aborted || at !== this.at) {
      if (!this.ctx.signal.aborted) setTimeout(() => this.soon(0));
      return;
    }
    const now = this.model.now();
    names.learn(things.map((r) => ({ module: 'reactors', scope: at.tenant.id, id: r.id, body: { body: r } })));
    this.model.showMonsters(mobs, now);
    this.model.showReactors(things, now);
    // The first look frames what is there.
    if (!this.loaded && !this.own) this.cam = null;
    this.loaded = true;
    fill(this.fault);
    this.draw();
  }

  /** @template {'monsters' | 'reactors'} K @param {K} kind
   *  @returns {Promise<(K extends 'monsters' ? Wk.Monster : Wk.Reactor)[]>} */
  async all(kind) {
    if (!this.runs[kind]) return [];
    const out = [];
    for (let n = 1; out.length < MOST; n += 1) {
      const page = await this.ctx.api.get(act.pathOf(this.at, kind), {
        query: { 'page[size]': PAGE, 'page[number]': n > 1 ? n : null },
        headers: act.headers(this.at),
        signal: this.ctx.signal,
      });
      out.push(...page.data.map((x) => ({ id: x.id, ...x.attributes })));
      this.totals[kind] = page.meta?.total ?? out.length;
      if (page.data.length < PAGE || out.length >= this.totals[kind]) break;
    }
    return out;
  }

  points() {
    return [...this.model.monsters.values(), ...this.model.reactors.values(), ...this.model.ghosts.values()];
  }

  refit() {
    this.cam = null;
    this.own = false;
    this.canvas.touch();
  }
  zoomBy(factor) {
    const { clientWidth: w, clientHeight: hgt } = this.canvas;
    if (!this.cam) return;
    this.moveTo(zoom(this.cam, w, hgt, { x: w / 2, y: hgt / 2 }, factor));
  }
  /** Somebody moved the view: it stays so. */
  moveTo(cam) {
    this.own = true;
    this.cam = cam;
    if (this.query.follow) this.follow();
    this.canvas.touch();
  }
  /** The view goes with the selected one, or stops to. */
  follow() {
    this.ctx.router.setQuery(this.place({ sel: this.selected, follow: this.query.follow ? null : 1 }));
    this.canvas.touch();
  }
  /** Where the followed one is: of a player, the middle of what it controls. */
  followed() {
    if (!this.query.follow || !this.selected) return null;
    const id = this.selected.slice(1);
    if (this.selected[0] !== 'p')
      return (this.selected[0] === 'm' ? this.model.monsters : this.model.reactors).get(id) || null;
    const of = this.model.players().get(Number(id));
    const mean = (pick) => of.reduce((sum, m) => sum + pick(m), 0) / of.length;
    return of ? { x: mean((m) => m.x), y: mean((m) => m.y) } : null;
  }

  paint(c, o) {
    const now = this.model.now();
    this.model.sweep(now);
    // The view is left alone while everything is in it, or while somebody has moved it.
    const points = this.points();
    const size = `${o.w} ${o.h}`;
    if (!this.cam || (!this.own && (this.size !== size || outside(this.cam, o.w, o.h, points))))
      this.cam = fit(points, o.w, o.h);
    this.size = size;
    const to = this.followed();
    const far = to && Math.hypot(to.x - this.cam.x, to.y - this.cam.y) * this.cam.k > 1;
    if (far) {
      const f = this.still ? 1 : 0.15;
      this.own = true;
      this.cam = { ...this.cam, x: this.cam.x + (to.x - this.cam.x) * f, y: this.cam.y + (to.y - this.cam.y) * f };
    }
    const { model, cam, still, selected, hover, mark } = this;
    const drawn = draw(c, o, { ...this.see, model, cam, now, still, selected, hover, mark });
    this.places = drawn.places;
    this.groups = drawn.groups;
    // It stays: a legend that comes and goes would move the picture.
    if (drawn.groups.size) this.grouped.hidden = false;
    clearTimeout(this.tick);
    if (this.ctx.live.paused) return;
    if (far || model.moving(now)) this.canvas.touch();
    else if (model.ticking(now, this.timeout))
      this.tick = setTimeout(() => {
        this.canvas.touch();
        if (this.selected && now - (this.paneled || 0) > 900) this.panelOnly();
      }, 120);
  }

  select(key, { push = true } = {}) {
    if (key === this.selected) return;
    this.ctx.router.setQuery(this.place({ sel: key, follow: null }), { push: !!key && (push || !this.selected) });
  }
  /** The address of this field with one of it selected. */
  link(key) {
    const all = Object.entries(this.place({ sel: key })).filter(([, v]) => v != null);
    return `/world?${new URLSearchParams(all.map(([k, v]) => [k, String(v)]))}`;
  }
  place(more = {}) {
    const { at } = this;
    return {
      tenant: at.tenant.id,
      world: at.worldId,
      channel: at.channelId,
      map: at.mapId,
      instance: at.instance === NIL ? null : at.instance,
      ...more,
    };
  }

  async act(name, key) {
    const { ctx, at, model } = this;
    const id = key.slice(1);
    const x = (key[0] === 'm' ? model.monsters : model.reactors).get(id);
    if (!x) return;
    const form = await forms();
    const called = this.name(key);
    const done = () => this.soon(0);
    if (name === 'remove') form.remove(ctx, at, key, called, done);
    else if (name === 'effect') form.effect(ctx, at, x, called, done);
    else if (key[0] === 'r') form.hitReactor(ctx, at, x, called, done);
    else
      form.hitMonster(ctx, at, x, called, (blow, asked) => {
        const took = (blow.lines || []).reduce((sum, l) => sum + l.actual, 0);
        if (took !== asked) model.asked.set(id, asked);
        done();
      });
  }

  async spawn() {
    const at = this.mark || { x: Math.round(this.cam?.x || 0), y: 0 };
    const lists = { monsters: [...this.mobs.values()], reactors: [...this.things.values()] };
    (await forms()).spawn(this.ctx, this.at, lists, at, (key) => {
      this.mark = null;
      this.select(key);
      this.soon(0);
      this.findFields().catch(() => {});
    });
  }

  pickers() {
    const said = `${placeOf(this.at)} ${this.at.tenant.id}`;
    if (said === this.pickedAs) return;
    this.pickedAs = said;
    fill(
      this.chips,
      pickers(
        this.at,
        () => this.fields,
        (q) => this.ctx.router.setQuery(q),
      ),
    );
  }

  panelOnly() {
    this.paneled = this.model.now();
    if (this.panel) this.panel.show(this.selected);
    else if (this.selected) this.openPanel();
  }
  /** The panel's code comes with the first selection. */
  async openPanel() {
    const { Panel } = await import('./panel.js');
    if (this.panel || this.ctx.signal.aborted) return;
    this.panel = new Panel({
      ...this.see,
      ctx: this.ctx,
      model: this.model,
      can: this.ctx.can('operator'),
      here: (e) => this.here(e),
      at: () => this.at,
      link: (key) => this.link(key),
      follow: () => this.follow(),
      following: () => !!this.query.follow,
      close: () => {
        this.select(null);
        this.twin.list.focus();
      },
      act: (name, key) => this.act(name, key),
      cooldowns: async (id) => {
        const opts = { headers: act.headers(this.at), signal: this.ctx.signal };
        return (await this.ctx.api.get(`/api/monsters/${id}`, opts)).meta?.cooldowns ?? [];
      },
    });
    fill(this.aside, this.panel.el);
    this.panelOnly();
  }

  /** Everything that changes with the lists. */
  draw() {
    const { model } = this;
    const share = (m) => (m.maxHp ? m.hp / m.maxHp : 1);
    const items = [
      ...[...model.monsters.values()]
        .sort((a, b) => share(a) - share(b) || Number(a.id) - Number(b.id))
        .map((x) => ({ key: `m${x.id}`, x })),
      ...[...model.reactors.values()].sort((a, b) => a.x - b.x).map((x) => ({ key: `r${x.id}`, x })),
    ];
    this.twin.show(items);
    if (this.twin.chosen !== this.selected) this.twin.choose(items.find((i) => i.key === this.selected) || null, false);
    this.panelOnly();
    this.canvas.touch();
    const n = { monsters: this.totals.monsters, reactors: this.totals.reactors };
    const shown = model.monsters.size + model.reactors.size;
    fill(this.counts, told.counts(this, n));
    fill(
      this.listHead,
      shown < n.monsters + n.reactors ? t('world.part', { n: shown, all: n.monsters + n.reactors }) : null,
    );
    const bare = this.loaded && !shown && !model.ghosts.size;
    if (bare !== this.bare) {
      this.bare = bare;
      fill(this.none, bare && told.nothing(this));
      this.canvas.parentElement.classList.toggle('bare', !!bare);
    }
    told.head(this, n);
  }
}
