// Who flies: register, log in, or one click as a guest. The token stays in this browser; a guest's password too, so that
// the guest comes back to the same ship. Nothing goes into an address.

import * as api from '../../base/api.js';
import { fill, h, icon } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { button, field, sayError } from '../../base/parts.js';

const KEY = 'wk.pilot';

export function kept() {
  try {
    const x = JSON.parse(localStorage.getItem(KEY) || 'null');
    return x?.token ? x : null;
  } catch {
    return null;
  }
}
export function keep(account) {
  try {
    if (account) localStorage.setItem(KEY, JSON.stringify(account));
    else localStorage.removeItem(KEY);
  } catch {
    /* private window: until it is closed */
  }
}

/** A call as this player. */
export const as = (account) => ({ headers: { Authorization: `Bearer ${account.token}` }, quiet: true });

const random = (n) => {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789';
  return [...crypto.getRandomValues(new Uint8Array(n))].map((b) => letters[b % letters.length]).join('');
};

async function register(username, password, guest) {
  const made = await api.post('/api/auth/register', { username, password }, { quiet: true });
  return { token: made.token, username, player_id: made.player_id, ...(guest ? { guest: password } : {}) };
}
export async function login(username, password, guest) {
  const got = await api.post('/api/auth/login', { username, password }, { quiet: true });
  return { token: got.token, username, player_id: got.player_id, ...(guest ? { guest: password } : {}) };
}
/** A guest whose token has ended logs in again by itself. */
export const again = (account) => login(account.username, account.guest, true);

/** Ends the token on the server too. Without a line it ends by itself within a day. */
export async function logout(account) {
  try {
    await api.post('/api/auth/logout', {}, as(account));
  } catch {
    /* it had ended already, or the server is away */
  }
}
/** The account with its new token; a guest's password is not kept any longer. */
export async function changePassword(account, old, fresh) {
  const body = { old_password: old, new_password: fresh };
  const { token } = await api.put('/api/auth/password', body, as(account));
  const changed = { token, username: account.username, player_id: account.player_id };
  keep(changed);
  return changed;
}

/** The door: resolves with an account. Who is sent here for a `reason` finds the form open, with the `username` in it.
 *  @param {HTMLElement} root @param {{reason?: string, username?: string}} [o] */
export function door(root, { reason, username } = {}) {
  return new Promise((resolve) => {
    const fault = h('p.bad', { role: 'alert' }, reason || '');
    const name = field({
      label: t('pilot.name'),
      hint: t('pilot.namehint'),
      value: username || '',
      check: (v) => (/^[a-zA-Z0-9_]{3,20}$/.test(v) ? null : t('pilot.namewrong', { got: v })),
      attrs: { autocomplete: 'username', maxlength: 20, autocapitalize: 'off', spellcheck: 'false' },
    });
    const word = field({
      label: t('pilot.password'),
      hint: t('pilot.passwordhint'),
      type: 'password',
      check: (v) => (v.length >= 8 ? null : t('pilot.passwordwrong')),
      attrs: { autocomplete: 'current-password' },
    });
    const done = (account) => {
      keep(account);
      resolve(account);
    };
    const run = (what) => async () => {
      fill(fault);
      if (![name.valid(), word.valid()].every(Boolean)) return;
      try {
        done(await what(name.value, word.value));
      } catch (e) {
        fill(fault, e.status === 0 ? t('error.unreachable') : sayError(e));
      }
    };
    const guest = async () => {
      fill(fault);
      try {
        done(await register(`guest_${random(6)}`, random(20), true));
      } catch (e) {
        fill(fault, e.status === 0 ? t('error.unreachable') : sayError(e));
      }
    };
    const form = h(
      'form.stack',
      { on: { submit: (e) => e.preventDefault() } },
      name,
      word,
      h(
        'div.row',
        {},
        button({ label: t('pilot.login'), run: run(login) }),
        button({ label: t('pilot.register'), run: run(register) }),
      ),
    );
    fill(
      root,
      h(
        'main.door',
        { id: 'main' },
        h(
          'section.card',
          {},
          h('a.link', { href: '/galaxy' }, icon('right', { class: 's' }), t('pilot.map')),
          h('h1', {}, t('pilot.door')),
          h('p.quiet', {}, t('pilot.doorsay')),
          button({ label: t('pilot.guest'), icon: 'bolt', kind: 'primary', run: guest }),
          h('p.note', {}, t('pilot.guestsay')),
          fault,
          h('details', { open: !!reason }, h('summary', {}, t('pilot.own')), form),
        ),
      ),
    );
  });
}
