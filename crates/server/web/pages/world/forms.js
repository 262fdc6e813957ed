// What can be done in a field, as forms that show the command they stand for: spawn, hit, effect, remove. Loaded when
// somebody does something.
import { fill, h, uid } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { ask, toast } from '../../base/overlay.js';
import { field, sayError } from '../../base/parts.js';
import { nameOf } from '../names.js';
import { headers, line, pathOf, placeFlags, statusName, tenantFlags } from './act.js';

const send = (ctx, f, method, path, attributes) => {
  const opts = { headers: headers(f) };
  return method === 'del' ? ctx.api.del(path, opts) : ctx.api.post(path, { data: { attributes } }, opts);
};

/** Whole numbers between two ends. */
export const whole = (low, high) => (text) =>
  /^-?\d+$/.test(text.trim()) && Number(text) >= low && Number(text) <= high
    ? null
    : t('world.form.range', { low, high, text: text || '–' });

const number = (label, value, low, high, hint = '') =>
  field({ label, hint, value: String(value), check: whole(low, high), attrs: { inputmode: 'numeric' } });

function choice(label, options) {
  const id = uid('choice');
  const el = h(
    'select',
    { id, 'aria-describedby': `${id}-hint` },
    options.map((o) => (o.of ? h('optgroup', { label: o.label }, o.of.map(opt)) : opt(o))),
  );
  const hint = h('span.hint', { id: `${id}-hint` });
  return { el, hint, box: h('div.field', {}, h('label', { for: id }, label), el, hint) };
}
const opt = (o) => h('option', { value: o.value }, o.label);

/** Asks with fields; `command()` is shown as it changes, `run` throws what the server says. */
function form({ title, verb, parts, fields, command, run, say = null }) {
  const shown = h('code.cmd');
  const draw = () => fill(shown, command());
  const content = h('div.form', {}, parts, shown);
  content.addEventListener('input', draw);
  content.addEventListener('change', draw);
  draw();
  return ask({
    title,
    say,
    content,
    verb,
    danger: false,
    run: async () => {
      if (
        !fields
          .filter((x) => x.isConnected && !x.hidden)
          .map((x) => x.valid())
          .every(Boolean)
      )
        throw new Error(t('world.form.look'));
      try {
        await run();
      } catch (e) {
        throw new Error(sayError(e));
      }
    },
  });
}

/** Remembered between two uses: who hits, and how hard. */
const last = { character: 1, damage: null, skill: 0, what: null };

/** `lists`: monsters and reactors as templates; `at`: where. */
export function spawn(ctx, f, lists, at, done) {
  const options = [
    lists.monsters.length && {
      label: t('module.monsters'),
      of: lists.monsters.map((m) => ({
        value: `m${m.id}`,
        label: m.name,
        hint: t('world.form.mob', { id: String(m.id), hp: m.hp }),
      })),
    },
    lists.reactors.length && {
      label: t('module.reactors'),
      of: lists.reactors.map((r) => ({
        value: `r${r.classification}`,
        label: r.name,
        hint: t('world.form.thing', { id: String(r.classification) }),
      })),
    },
  ].filter(Boolean);
  const what = choice(t('world.form.what'), options);
  if (last.what && [...what.el.options].some((o) => o.value === last.what)) what.el.value = last.what;
  const x = number('x', at.x, -32768, 32767);
  const y = number('y', at.y, -32768, 32767);
  const delay = number(t('world.form.delay'), 5000, 0, 86400000, t('world.form.delayhint'));
  const reactor = () => what.el.value[0] === 'r';
  const show = () => {
    delay.hidden = !reactor();
    fill(what.hint, options.flatMap((o) => o.of).find((o) => o.value === what.el.value)?.hint);
  };
  what.el.addEventListener('change', show);
  show();
  const place = () => `--at=${x.value},${y.value}`;
  return form({
    title: t('world.spawn'),
    verb: t('world.form.spawn'),
    parts: [what.box, h('div.pair', {}, x, y), delay],
    fields: [x, y, delay],
    command: () =>
      reactor()
        ? line('reactors create', what.el.value.slice(1), place(), `--delay ${delay.value}`, ...placeFlags(f))
        : line('monsters spawn', what.el.value.slice(1), place(), ...placeFlags(f)),
    run: async () => {
      last.what = what.el.value;
      const id = Number(what.el.value.slice(1));
      const to = { x: Number(x.value), y: Number(y.value) };
      const made = reactor()
        ? await send(ctx, f, 'post', pathOf(f, 'reactors'), { classification: id, ...to, delay: Number(delay.value) })
        : await send(ctx, f, 'post', pathOf(f, 'monsters'), { monsterId: id, ...to });
      const kind = what.el.value[0];
      const template = kind === 'm' ? { monsterId: id } : { classification: id };
      toast(t('world.spawned', { name: nameOf(kind, made.data.id, template) }));
      done(`${kind}${made.data.id}`);
    },
  });
}

export function hitMonster(ctx, f, m, name, done) {
  const damage = number(t('world.form.damage'), last.damage ?? Math.max(1, Math.round(m.maxHp / 8)), 1, 4294967295);
  const who = number(
    t('world.form.character'),
    m.controlCharacterId || last.character,
    1,
    4294967295,
    t('world.form.characterhint'),
  );
  return form({
    title: t('world.hitwhat', { name }),
    verb: t('world.form.hit'),
    parts: [h('div.pair', {}, damage, who)],
    fields: [damage, who],
    command: () => line('monsters damage', m.id, damage.value, `--character ${who.value}`, ...tenantFlags(f)),
    run: async () => {
      last.damage = Number(damage.value);
      last.character = Number(who.value);
      const { data } = await send(ctx, f, 'post', `/api/monsters/${m.id}/damage`, {
        characterId: last.character,
        damages: [last.damage],
      });
      done(data.attributes, last.damage);
    },
  });
}

export function hitReactor(ctx, f, r, name, done) {
  const who = number(t('world.form.character'), last.character, 0, 4294967295, t('world.form.characterhint'));
  const skill = number(t('world.form.skill'), last.skill, 0, 4294967295, t('world.form.skillhint'));
  return form({
    title: t('world.hitwhat', { name }),
    verb: t('world.form.hit'),
    parts: [h('div.pair', {}, who, skill)],
    fields: [who, skill],
    command: () =>
      line(
        'reactors hit',
        r.id,
        `--character ${who.value}`,
        skill.value !== '0' ? `--skill ${skill.value}` : '',
        ...tenantFlags(f),
      ),
    run: async () => {
      last.character = Number(who.value);
      last.skill = Number(skill.value);
      const { data } = await send(ctx, f, 'post', `/api/reactors/${r.id}/hits`, {
        characterId: last.character,
        skillId: last.skill,
      });
      toast(t(`world.struck.${data.attributes.result}`, { state: data.attributes.state }));
      done();
    },
  });
}

const STATUSES = ['POISON', 'VENOM', 'SPEED', 'STUN', 'FREEZE', 'SEAL', 'WEAPON_ATTACK', 'WEAPON_DEFENSE'];

export function effect(ctx, f, m, name, done) {
  const kind = choice(
    t('world.form.status'),
    STATUSES.map((value) => ({ value, label: statusName(value) })),
  );
  const value = number(t('world.form.value'), 10, -32768, 32767);
  const seconds = number(t('world.form.seconds'), 15, 1, 3600);
  return form({
    title: t('world.effectwhat', { name }),
    verb: t('world.form.apply'),
    parts: [kind.box, h('div.pair', {}, value, seconds)],
    fields: [value, seconds],
    command: () => `POST /api/monsters/${m.id}/status`,
    run: async () => {
      await send(ctx, f, 'post', `/api/monsters/${m.id}/status`, {
        statuses: { [kind.el.value]: Number(value.value) },
        duration: Number(seconds.value) * 1000,
        sourceSkillId: 1,
        sourceSkillLevel: 1,
        sourceCharacterId: last.character,
      });
      done();
    },
  });
}

export function remove(ctx, f, key, name, done) {
  const kind = key[0] === 'm' ? 'monsters' : 'reactors';
  const id = key.slice(1);
  return ask({
    title: t('world.removewhat', { name }),
    say: t(`world.removesay.${kind}`),
    command: line(kind, 'destroy', id, ...(kind === 'monsters' ? tenantFlags(f) : placeFlags(f))),
    verb: t('world.remove'),
    keep: t('world.keep'),
    run: async () => {
      await send(ctx, f, 'del', `/api/${kind}/${id}`);
      toast(t('world.removed', { name }));
      done();
    },
  });
}
