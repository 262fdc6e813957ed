// The panel beside the field: everything about the selected one, with what happened to it and what can be done to it. It
// stays when its object is gone and says how it ended.
import { fill, h, icon, s, square } from '../../base/dom.js';
import { age, num, when } from '../../base/format.js';
import { rich, t } from '../../base/i18n.js';
import { badge, button } from '../../base/parts.js';
import { statusName } from './act.js';
import { Story } from './follow.js';
import { discs, health } from './model.js';
import { fxTone } from './pen.js';

const meter = (label, value, of, tone) =>
  h(
    'div.meter',
    {},
    h('div.head2', {}, h('span', {}, label), h('span.end', {}, h('b', {}, num(value)), ' ', t('world.of', { n: of }))),
    h(
      'span.bar',
      { class: value > 0 ? '' : 'none' },
      h('i', { vars: { '--f': of > 0 ? value / of : 0, '--tone': `var(${tone})` } }),
    ),
  );

/** Time left as a ring with the seconds inside. */
export function ring(left, total, tone) {
  const f = Math.max(0, Math.min(1, left / (total || left || 1)));
  const circle = (cls, dash) =>
    s('circle', { class: cls, cx: 22, cy: 22, r: 18, pathLength: 100, 'stroke-dasharray': dash });
  const el = s(
    'svg',
    { class: 'fxring', viewBox: '0 0 44 44', 'aria-hidden': 'true' },
    circle('track', null),
    circle('left', `${f * 100} 100`),
    s('text', { x: 22, y: 23 }, String(Math.ceil(left / 1000))),
  );
  el.style.setProperty('--tone', `var(${tone})`);
  return el;
}

export class Panel {
  /** `o`: ctx, model, can, template(m), thing(r), timeout(r), name(key), link(key), here(e), at(), close(), follow(),
   *  following(), act(name, key), cooldowns(id). */
  constructor(o) {
    this.o = o;
    this.story = new Story(o);
    this.eye = button({
      icon: 'target',
      kind: 'quiet',
      small: true,
      title: t('world.key.follow'),
      run: () => o.follow(),
    });
    this.key = null;
    this.title = h('h2', { tabindex: '-1' });
    this.mark = h('span');
    this.under = h('p.mono.note.under');
    this.body = h('div');
    this.foot = h('footer');
    this.el = h(
      'section.card.flush.panel',
      { 'aria-label': t('world.selected') },
      h(
        'div.top',
        {},
        h(
          'div.row',
          {},
          this.title,
          this.mark,
          h(
            'span.end',
            {},
            this.eye,
            button({ icon: 'cross', kind: 'quiet', small: true, title: t('action.close'), run: () => o.close() }),
          ),
        ),
        this.under,
      ),
      h('div.parts', {}, this.body, this.story.el),
      this.foot,
    );
    this.el.hidden = true;
  }

  /** Shows `key` (`m…` or `r…`), or nothing. */
  show(key) {
    const changed = key !== this.key;
    if (changed) this.last = null;
    this.key = key;
    this.el.hidden = !key;
    if (!key) return;
    const { model, template } = this.o;
    const id = key.slice(1);
    this.eye.setAttribute('aria-pressed', String(this.o.following()));
    this.story.show(key);
    if (key[0] === 'p') {
      fill(this.title, this.o.name(key));
      fill(this.mark, icon('user', { class: 's' }));
      fill(this.under, this.story.summary());
      fill(this.body, this.story.deeds());
      fill(this.foot);
      return;
    }
    const live = (key[0] === 'm' ? model.monsters : model.reactors).get(id);
    if (live) this.last = live;
    const x = this.last;
    // The id has a line of its own.
    fill(this.title, this.o.name(key).replace(/ \d+$/, ''));
    const boss = key[0] === 'm' && x && template(x)?.boss;
    fill(
      this.mark,
      boss ? h('span.badge', {}, icon('bolt'), t('world.boss')) : square(key[0] === 'm' ? 'monsters' : 'reactors'),
    );
    fill(
      this.under,
      t(`world.kind.${key[0]}`),
      ' ',
      id,
      x ? ` · ${t('world.template', { id: String(x.monsterId ?? x.classification) })}` : '',
    );
    /** @type {Wk.Child[]} */
    const parts = [!live && this.ended(id)];
    if (x) parts.push(key[0] === 'm' ? this.monster(x, !live) : this.reactor(x, !live));
    fill(this.body, parts);
    if (changed || this.footFor !== !!live) {
      this.footFor = !!live;
      fill(this.foot, live && this.o.can ? this.actions(key) : null);
    }
  }

  actions(key) {
    const act = (name) => () => this.o.act(name, key);
    return [
      button({ label: t('world.hit'), run: act('hit') }),
      key[0] === 'm' && button({ label: t('world.effect'), run: act('effect') }),
      h('span.end', {}, button({ label: t('world.remove'), kind: 'danger', run: act('remove') })),
    ].filter(Boolean);
  }

  /** A monster's skills with the time until each can be used again. A use costs mp: then it is asked anew. */
  /** @param {Wk.Monster} m */
  skills(m, tpl, now) {
    const asked = `${m.id} ${m.mp}`;
    if (asked !== this.asked) {
      this.asked = asked;
      const keep = (list) => {
        if (this.asked === asked)
          this.until = new Map(list.map((c) => [c.skillId, this.o.model.now() + c.remainingMs]));
      };
      this.o.cooldowns(m.id).then(keep, () => keep([]));
    }
    const left = (x) => (this.until?.get(x.id) ?? 0) - now;
    return tpl.skills.map((x) => `${x.id} (${x.level})${left(x) > 0 ? ` · ${age(left(x))}` : ''}`).join(', ');
  }

  player(id, word = t('world.player', { id: String(id) })) {
    return h('a.link', { href: this.o.link(`p${id}`) }, word);
  }

  ended(id) {
    const end = this.o.model.ends.get(id);
    const say = !end
      ? t('world.end.unknown')
      : end.how === 'KILLED' && end.by
        ? rich('world.end.by', { id: this.player(end.by, String(end.by)), at: when(end.at) })
        : t(`world.end.${end.how}`, { at: when(end.at) });
    return h('section', { role: 'status' }, badge('dead', h('span', {}, say)));
  }

  /** @param {Wk.Monster} m @param {boolean} gone */
  monster(m, gone) {
    const { model, template } = this.o;
    const now = model.now();
    const tpl = template(m);
    const fx = gone ? [] : discs(m, now);
    const entries = [...m.damageEntries].sort((a, b) => b.damage - a.damage);
    const most = entries[0]?.damage || 1;
    return [
      h(
        'section',
        {},
        meter(t('world.health'), gone ? 0 : m.hp, m.maxHp, health(m).tone),
        m.maxMp > 0 && meter(t('world.mana'), m.mp, m.maxMp, '--info'),
      ),
      fx.length > 0 &&
        h(
          'section',
          {},
          h('h3', {}, t('world.effects')),
          h(
            'ul.fx',
            {},
            fx.map((d) =>
              h(
                'li',
                { title: `${d.name} · ${age(d.left)}` },
                ring(d.left, model.whole.get(`${m.id} ${d.name}`), fxTone(d.name)),
                h('b', {}, statusName(d.name), d.stacks > 1 && ` ×${d.stacks}`),
                h(
                  'span.note',
                  {},
                  ['POISON', 'VENOM'].includes(d.name) ? t('world.persecond', { n: d.value }) : num(d.value),
                ),
              ),
            ),
          ),
        ),
      h(
        'section',
        {},
        h(
          'div.row',
          {},
          h('h3', {}, t('world.damage')),
          m.controlCharacterId > 0 &&
            h(
              'span.note.end',
              {},
              rich(model.angry.get(m.id) ? 'world.angry' : 'world.controlled', {
                id: this.player(m.controlCharacterId, String(m.controlCharacterId)),
              }),
            ),
        ),
        entries.length
          ? h(
              'div.barlist',
              {},
              entries
                .slice(0, 8)
                .map((e) =>
                  h(
                    'div',
                    {},
                    h(
                      'div.head2',
                      {},
                      e.characterId ? this.player(e.characterId) : t('world.effects'),
                      e.characterId === m.controlCharacterId && h('span.badge.accent', {}, t('world.control')),
                      h('span.end', {}, num(e.damage)),
                    ),
                    h('span.bar', {}, h('i', { vars: { '--f': e.damage / most, '--tone': 'var(--m-monsters)' } })),
                  ),
                ),
            )
          : h('p.note', {}, t('world.nodamage')),
      ),
      h(
        'section',
        {},
        h(
          'dl.facts',
          {},
          facts([
            [t('world.place'), `${num(m.x)}, ${num(m.y)}`],
            [t('world.stance'), `${m.stance} · fh ${m.fh}`],
            m.team !== 0 && [t('world.team'), num(m.team)],
            tpl?.skills?.length && [t('world.skills'), this.skills(m, tpl, now)],
          ]),
        ),
      ),
    ];
  }

  /** @param {Wk.Reactor} r @param {boolean} gone */
  reactor(r, gone) {
    const { model, thing, timeout } = this.o;
    const now = model.now();
    const tpl = thing(r);
    const left = gone ? null : model.timer(r, now, timeout);
    const state = tpl?.states?.[String(r.state)];
    return [
      h(
        'section',
        {},
        h(
          'div.row.statebox',
          {},
          left ? ring(left.left, left.total, '--m-reactors') : null,
          h(
            'div',
            {},
            h('b', {}, t('world.state', { n: String(r.state) })),
            h('p.note', {}, left ? t('world.next', { left: age(left.left, true) }) : tpl?.about || t('world.waits')),
          ),
        ),
      ),
      h(
        'section',
        {},
        h(
          'dl.facts',
          {},
          facts([
            [t('world.place'), `${num(r.x)}, ${num(r.y)}`],
            [t('world.delay'), r.delay ? age(r.delay, true) : t('world.nodelay')],
            [t('world.states'), tpl ? Object.keys(tpl.states || {}).join(' ') : '–'],
            [
              t('world.reacts'),
              state?.reactions?.length ? state.reactions.map((x) => reaction(x)).join(', ') : t('world.noreact'),
            ],
          ]),
        ),
      ),
    ];
  }
}

const facts = (rows) => rows.filter(Boolean).map(([k, v]) => [h('dt', {}, k), h('dd', {}, v)]);

/** "hit → 1", "skill 2001004 → 1", "item 4000100 ×10 → 1". */
function reaction(x) {
  const what = x.item
    ? t('world.react.item', { id: String(x.item.itemId), n: x.item.quantity })
    : x.type === 101
      ? t('world.react.time')
      : x.skills?.length
        ? t('world.react.skill', { ids: x.skills.join(' ') })
        : t('world.react.hit');
  return `${what} → ${x.next}`;
}
