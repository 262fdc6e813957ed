// What the World page says: its head and echo bar, the counts, a line of the list, why there is nothing.
import { h } from '../../base/dom.js';
import { num } from '../../base/format.js';
import { rich, t } from '../../base/i18n.js';
import { button, empty } from '../../base/parts.js';
import * as act from './act.js';
import { discs, placeOf } from './model.js';

/** The counts over the picture. */
export function counts(view, n) {
  const { model } = view;
  const bold = (key, count) => h('span', {}, rich(key, { n: count, b: h('b', {}, num(count)) }));
  return [
    view.runs.monsters && bold('world.count.monsters', n.monsters),
    view.runs.reactors && bold('world.count.reactors', n.reactors),
    model.ghosts.size > 0 && bold('world.count.back', model.ghosts.size),
    model.players().size > 0 && bold('world.count.players', model.players().size),
  ];
}

/** Nothing lives here, and the next step. */
export function nothing(view) {
  const what = view.runs.monsters ? 'monsters spawn 9400001' : 'reactors create 2001';
  return empty({
    glyph: 'world',
    title: t('world.empty'),
    say: t('world.emptysay'),
    action: view.ctx.can('operator') && button({ label: t('world.spawn'), icon: 'plus', run: () => view.spawn() }),
    command: act.line(what, '--at=0,0', ...act.placeFlags(view.at)),
  });
}

/** One of the list. */
export function line(view, { key, x }) {
  const boss = key[0] === 'm' && view.mobs.get(x.monsterId)?.boss;
  return key[0] === 'm'
    ? [
        t(boss ? 'world.twin.boss' : 'world.twin.monster', {
          name: view.mobs.get(x.monsterId)?.name || String(x.monsterId),
          hp: x.hp,
          max: x.maxHp,
          x: x.x,
          y: x.y,
        }),
        ...discs(x, view.model.now()).map((d) => act.statusName(d.name)),
      ].join(' · ')
    : t('world.twin.reactor', { name: x.name || String(x.classification), state: String(x.state), x: x.x, y: x.y });
}

/** Title, sentence, actions and the command of this very view. */
export function head(view, n) {
  const { ctx, at, selected } = view;
  const sentence = view.loaded
    ? t('world.sentence', {
        monsters: t('world.nmonsters', { n: n.monsters }),
        reactors: t('world.nreactors', { n: n.reactors }),
      })
    : t('world.say');
  const said = `${sentence} ${selected} ${placeOf(at)} ${at.tenant.id}`;
  if (view.said === said) return;
  view.said = said;
  const may = ctx.can('operator');
  if (may) view.spawner ||= [button({ label: t('world.spawn'), icon: 'plus', run: () => view.spawn() })];
  ctx.head({ title: t('nav.world'), sentence, actions: may ? view.spawner : [] });
  ctx.digest(sentence);
  if (selected) {
    const kind = selected[0] === 'm' ? 'monsters' : 'reactors';
    const id = selected.slice(1);
    ctx.echo({ cli: act.line(kind, 'show', id, ...act.tenantFlags(at)), api: act.curl(at, `/api/${kind}/${id}`) });
  } else {
    const kind = view.runs.monsters && (n.monsters || !n.reactors) ? 'monsters' : 'reactors';
    ctx.echo({ cli: act.line(kind, 'ls', ...act.placeFlags(at)), api: act.curl(at, act.pathOf(at, kind)) });
  }
}
