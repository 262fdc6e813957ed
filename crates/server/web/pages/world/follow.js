// What one of a field did or suffered: its events, the stored ones first and then as they come. A player is known by these
// and by what it controls.
import { fill, h, square } from '../../base/dom.js';
import { num, percent } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { KINDS, nameOf } from '../names.js';
import { health } from './model.js';

const LIMIT = 500;
const ROWS = 15;
const SHOWN = 8;

const actor = (e) => e.body?.body?.actorId ?? e.body?.body?.characterId ?? 0;

/** Whether an event is about `key`: it happened to this monster or reactor, or this player did it. */
export const about = (key, e) =>
  key[0] === 'p' ? String(actor(e)) === key.slice(1) : e.module === KINDS[key[0]] && e.id === key.slice(1);

/** Damage of one player by monster: what its events say last, then what the living say. */
export function damageBy(player, events, monsters) {
  const by = new Map();
  const note = (id, x, entries) => {
    const own = (entries || []).find((d) => d.characterId === player);
    if (own) by.set(id, { id, x, damage: own.damage });
  };
  for (const e of events)
    if (e.module === 'monsters' && e.body?.body?.damageEntries) note(e.id, e.body, e.body.body.damageEntries);
  for (const m of monsters) note(m.id, m, m.damageEntries);
  return [...by.values()].sort((a, b) => b.damage - a.damage);
}

/** Events, oldest first, each hit with the damage it did: events tell what everybody has done so far. */
export function dealt(events) {
  const before = new Map();
  return events.map((e) => {
    if (e.module === 'monsters' && e.type === 'CREATED') before.set(e.id, 0);
    const entries = e.module === 'monsters' && e.body?.body?.damageEntries;
    if (!entries) return e;
    const now = entries.reduce((sum, d) => sum + d.damage, 0);
    const had = before.get(e.id);
    before.set(e.id, now);
    // A line is drawn once: with its damage it is another.
    return now > had ? { ...e, dealt: now - had, key: `${e.key} ${now - had}` } : e;
  });
}

export class Story {
  /** @param {any} o as the panel has it */
  constructor(o) {
    this.o = o;
    this.older = new Map();
    this.feed = h('wk-feed');
    this.title = h('h3');
    this.all = h('a.link.note');
    this.el = h('section.story', {}, this.title, this.feed, this.all);
    this.feed.setup({
      live: o.ctx.live,
      limit: ROWS,
      events: () => this.events(),
      empty: () => h('p.note', {}, t('world.nostory')),
    });
  }

  show(key) {
    if (key === this.key) return;
    this.key = key;
    this.older.clear();
    fill(this.title, t(key[0] === 'p' ? 'world.did' : 'world.happened'));
    fill(this.all, key[0] === 'p' ? null : t('world.allevents'));
    if (key[0] !== 'p') this.all.setAttribute('href', `/events?module=${KINDS[key[0]]}&text=${key.slice(1)}`);
    this.feed.draw();
    this.ask(key).catch(() => {});
  }

  async ask(key) {
    const { ctx, at } = this.o;
    const id = key.slice(1);
    const of = key[0] === 'p' ? ctx.state.running.filter((m) => Object.values(KINDS).includes(m)) : [KINDS[key[0]]];
    const pages = await Promise.all(
      of.map((module) =>
        ctx.api.get('/api/events', {
          query: { module, scope: at().tenant.id, id: key[0] === 'p' ? null : id, limit: LIMIT },
          signal: ctx.signal,
        }),
      ),
    );
    if (key !== this.key) return;
    for (const e of pages.flatMap((page) => page.items)) {
      const one = `${e.stream} ${e.seq}`;
      this.older.set(one, { ...e, key: one });
    }
    this.feed.draw();
  }

  /** Oldest first, each once. */
  events() {
    const { ctx, here } = this.o;
    if (!this.key) return [];
    const all = new Map(this.older);
    for (const e of ctx.live.events) all.set(e.key, e);
    const told = [...all.values()].filter(here).sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1));
    return dealt(told).filter((e) => about(this.key, e));
  }

  controlled() {
    return this.o.model.players().get(Number(this.key.slice(1))) || [];
  }

  summary() {
    return t('world.controls', { n: this.controlled().length });
  }

  /** What a player controls, and what it has hit. */
  deeds() {
    const { model, link, at } = this.o;
    const player = Number(this.key.slice(1));
    const row = (kind, id, x, end) =>
      h(
        'li',
        {},
        square(KINDS[kind]),
        h('a.link', { href: link(kind + id) }, nameOf(kind, id, x, at().tenant.id)),
        end,
      );
    const events = this.events();
    const hit = damageBy(player, events, model.monsters.values());
    const most = hit[0]?.damage || 1;
    const struck = new Map();
    for (const e of events) if (e.type === 'script.HIT') struck.set(e.id, [e, (struck.get(e.id)?.[1] || 0) + 1]);
    const part = (title, rows, none) =>
      h('section', {}, h('h3', {}, title), rows.length ? h('ul.deeds', {}, rows) : h('p.note', {}, none));
    const controlled = this.controlled().map((m) => row('m', m.id, m, h('span.end', {}, percent(health(m).f))));
    return [
      part(t('world.controlling'), controlled, t('world.controlsnone')),
      part(
        t('world.damage'),
        hit
          .slice(0, SHOWN)
          .map((d) =>
            row('m', d.id, d.x, [
              h('span.end', {}, num(d.damage)),
              h('span.bar', {}, h('i', { vars: { '--f': d.damage / most, '--tone': 'var(--m-monsters)' } })),
            ]),
          ),
        t('world.hitnone'),
      ),
      struck.size > 0 &&
        part(
          t('module.reactors'),
          [...struck.values()]
            .slice(-SHOWN)
            .map(([e, n]) => row('r', e.id, e.body, h('span.end', {}, t('world.times', { n })))),
          '',
        ),
    ];
  }
}
