// How the host wants it played: how long a vote is open, and whether latecomers may play along. The same form stands in
// the setup and, while the room is open, in a sheet of its own.
import { h, uid } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { sheet } from '../../base/overlay.js';

const SECONDS = [15, 20, 30, 45, 60, 90, 120, 180];

/** The two rules as controls; `change` gets what was changed. The setup has no room for their explanations.
 *  @param {{vote_ms: number|null, latecomers: boolean}} rules @param {(next: object) => void} change
 *  @param {{brief?: boolean}} [o] */
export function rulesForm(rules, change, { brief = false } = {}) {
  const id = uid('rules');
  const now = (rules.vote_ms || 0) / 1000;
  const choices = now && !SECONDS.includes(now) ? [...SECONDS, now].sort((a, b) => a - b) : SECONDS;
  const time = h(
    'select.input',
    { id, on: { change: () => change({ vote_ms: Number(time.value) * 1000 }) } },
    h('option', { value: '0', selected: now === 0 }, t('rules.endless')),
    choices.map((n) => h('option', { value: String(n), selected: n === now }, t('rules.seconds', { n }))),
  );
  const late = h(
    'button.switch',
    {
      type: 'button',
      role: 'switch',
      'aria-checked': String(rules.latecomers),
      'aria-labelledby': `${id}-late`,
      on: {
        click: () => {
          const on = late.getAttribute('aria-checked') !== 'true';
          late.setAttribute('aria-checked', String(on));
          change({ latecomers: on });
        },
      },
    },
    h('i'),
  );
  return h(
    'div.rules',
    {},
    h('div.line', {}, h('label', { for: id }, t('rules.time')), time),
    !brief && h('p.quiet', {}, t('rules.timeSay')),
    h('div.line', {}, h('span', { id: `${id}-late` }, t('rules.late')), late),
    !brief && h('p.quiet', {}, t('rules.lateSay')),
  );
}

/** The rules of the open room; each change is sent at once and told to everyone. */
export function rulesSheet(ctx) {
  const change = (next) =>
    ctx.command('SET_RULES', next, ({ rules }) =>
      'latecomers' in next ? rules.latecomers !== next.latecomers : (rules.vote_ms || 0) !== next.vote_ms,
    );
  sheet({ title: t('rules.title'), content: rulesForm(ctx.client.state.rules, change) });
}
