// What the World page says: its head and echo bar, the counts, a line of the list, why there is nothing.
import { h, square } from '../../base/dom.js';
import { num } from '../../base/format.js';
import { rich, t } from '../../base/i18n.js';
import { button, empty } from '../../base/parts.js';
import * as names from '../names.js';
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

/** One of the list, part by part: its name with its id, then what matters. */
export function line(view, { key, x }) {
  const place = t('world.at', { x: x.x, y: x.y });
  if (key[0] === 'r') return [view.name(key), t('world.twin.reactor', { state: String(x.state) }), place];
  return [
    view.name(key),
    view.mobs.get(x.monsterId)?.boss && t('world.boss'),
    t('world.twin.monster', { hp: x.hp, max: x.maxHp }),
    ...discs(x, view.model.now()).map((d) => act.statusName(d.name)),
    place,
  ].filter(Boolean);
}

/** The same with a mark of its kind. */
export function row(view, item) {
  const [name, ...rest] = line(view, item);
  const kind = item.key[0];
  const mark = square(names.KINDS[kind]);
  mark.title = t(`world.kind.${kind}`);
  return [mark, h('b', {}, name), h('span.note', {}, rest.join(' · '))];
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
  if (selected?.[0] === 'p') {
    const asked = { module: 'monsters', scope: at.tenant.id };
    ctx.echo({ cli: ctx.api.curl('/api/events', asked), api: `GET ${ctx.api.address('/api/events', asked)}` });
  } else if (selected) {
    const kind = selected[0] === 'm' ? 'monsters' : 'reactors';
    const id = selected.slice(1);
    ctx.echo({ cli: act.line(kind, 'show', id, ...act.tenantFlags(at)), api: act.curl(at, `/api/${kind}/${id}`) });
  } else {
    const kind = view.runs.monsters && (n.monsters || !n.reactors) ? 'monsters' : 'reactors';
    ctx.echo({ cli: act.line(kind, 'ls', ...act.placeFlags(at)), api: act.curl(at, act.pathOf(at, kind)) });
  }
}
