// The login view: a token once, then a cookie no script can read. The token is sent and forgotten.
import { post, setCsrf } from '../base/api.js';
import { fill, h, logo } from '../base/dom.js';
import { t } from '../base/i18n.js';
import { button, field, sayError } from '../base/parts.js';

/** The way into the party game, for whoever came to play and not to operate. On a phone it stands first. */
const game = () =>
  h('section.card.game', {}, h('p', {}, t('login.party')), h('a.btn', { href: '/play' }, t('login.play')));

/** @param {HTMLElement} root @param {{reason?: any, party?: boolean}} [o] */
export function mount(root, { reason, party = false } = {}) {
  document.title = `${t('login.title')} · Worldkeep`;
  document.querySelector('.toasts')?.remove();
  const token = field({
    label: t('login.token'),
    hint: t('login.hint'),
    type: 'password',
    attrs: { autocomplete: 'current-password', spellcheck: 'false', required: true },
    check: (v) => (v.trim().startsWith('wk_') ? null : t('login.shape')),
  });
  const enter = button({ label: t('login.enter'), kind: 'primary', run: () => submit() });
  async function submit() {
    if (!token.valid()) {
      token.input.focus();
      return;
    }
    try {
      const me = await post('/api/session', { token: token.value.trim() }, { quiet: true });
      token.input.value = '';
      setCsrf(me?.csrf);
      location.reload();
    } catch (e) {
      token.error(
        e.status === 401
          ? t('login.wrong')
          : e.status === 429
            ? t('login.slow', { n: e.retryAfter || 60 })
            : e.status === 0
              ? t('error.unreachable')
              : sayError(e),
      );
      token.input.focus();
    }
  }
  const form = h(
    'form',
    {
      novalidate: true,
      on: {
        submit: (e) => {
          e.preventDefault();
          submit();
        },
      },
    },
    h('div.stack', {}, token, enter),
  );
  const ended = reason?.status === 401 && reason?.code === 'bad_token';
  fill(
    root,
    h(
      'main.login',
      { id: 'main' },
      h(
        'section.card',
        {},
        h('div.row', {}, logo(), h('b', {}, 'Worldkeep')),
        h(
          'div',
          {},
          h('h1', {}, t('login.title')),
          h('p.quiet', {}, reason?.status === 403 ? sayError(reason) : t(ended ? 'login.ended' : 'login.say')),
        ),
        form,
        h('code.cmd', {}, 'worldkeep token new --role operator'),
      ),
      party && game(),
    ),
  );
  // On a phone the keyboard would slide over the way into the game.
  if (!party || !matchMedia('(pointer: coarse)').matches) token.input.focus();
}
