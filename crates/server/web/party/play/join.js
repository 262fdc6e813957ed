// The phone's first screen: the code, typed in any way, or why the last room is over. And the wait for its answer.
import { h, icon, uid } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { button } from '../../base/parts.js';
import { keep, read, readCode, showCode } from '../kept.js';
import { parade } from '../marks.js';
import { langs } from '../shell.js';
import { screen } from './frame.js';

const WHY = { closed: 'gone.closed', expired: 'gone.expired', unknown: 'gone.unknown', full: 'gone.full' };

export function join(ctx) {
  const why = ctx.ui.why;
  const id = uid('code');
  const last = read('room');
  const typo = why?.why === 'unknown';
  const input = h('input.input.code', {
    id,
    inputmode: 'text',
    autocomplete: 'off',
    autocapitalize: 'characters',
    autocorrect: 'off',
    spellcheck: 'false',
    maxlength: '24',
    placeholder: 'ABCD-2345',
    'aria-describedby': `${id}-fault`,
    'aria-invalid': typo ? 'true' : null,
    enterkeyhint: 'go',
  });
  if (typo) input.value = showCode(why.code);
  const fault = h('p.fault', { id: `${id}-fault`, role: 'alert' });
  const complain = (words) => {
    fault.replaceChildren(icon('warn'), h('span', {}, words));
    input.setAttribute('aria-invalid', 'true');
  };
  if (typo) complain(t('gone.unknown'));
  input.addEventListener('input', () => {
    fault.replaceChildren();
    input.removeAttribute('aria-invalid');
    const at = input.selectionStart;
    const plain = input.value.toUpperCase().replace(/[^A-Z0-9]/g, '');
    // A pasted link names its room after /r/.
    const link = /\/r\/([A-Za-z0-9-]+)/.exec(input.value);
    const code = link ? link[1].toUpperCase().replace(/-/g, '') : plain;
    const shown = code.length > 4 ? `${code.slice(0, 4)}-${code.slice(4, 12)}` : code;
    if (shown === input.value) return;
    const end = at === input.value.length;
    input.value = shown;
    if (!end) input.setSelectionRange(at, at);
  });
  const go = () => {
    const code = readCode(input.value);
    if (!code) {
      complain(t(input.value.trim() ? 'join.short' : 'join.empty'));
      input.focus();
      return;
    }
    ctx.enter(code);
  };
  const form = h(
    'form.joinform',
    {
      on: {
        submit: (e) => {
          e.preventDefault();
          go();
        },
      },
    },
    h('label.label', { for: id }, t('join.label')),
    input,
    fault,
    h('p.quiet', {}, t('join.hint')),
  );
  const el = screen(
    'join',
    [
      parade(['Camille', 'Nico', 'Comet', 'Pixel', 'Marble']),
      h('p.brandline', {}, t('game.name')),
      h('h1', {}, t('join.title')),
      why && !typo && h('p.why', { role: 'status' }, icon('info'), h('span', {}, t(WHY[why.why] || 'gone.expired'))),
      form,
      last &&
        !why &&
        button({ label: t('join.back', { code: showCode(last) }), kind: 'outline', run: () => ctx.enter(last) }),
    ],
    [
      button({ label: t('join.go'), kind: 'primary', run: go }),
      h(
        'div.footline',
        {},
        langs(() => ctx.redraw()),
        h('a.small', { href: '/party' }, t('join.master')),
      ),
    ],
  );
  if (why) keep('room', null);
  return { el };
}

export function loading(ctx) {
  const el = screen('loading', [
    h(
      'div.lost',
      {},
      h('i.spin.big', { 'aria-hidden': 'true' }),
      h('h1', {}, t('loading.title')),
      h('p.quiet.code', {}, showCode(ctx.client?.code)),
    ),
  ]);
  const slow = setTimeout(() => {
    el.querySelector('.lost').append(
      h('p', {}, t('loading.slow')),
      button({ label: t('loading.other'), kind: 'outline', run: () => ctx.leave(null) }),
    );
  }, 5000);
  return { el, leave: () => clearTimeout(slow) };
}
