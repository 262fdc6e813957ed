// What a pilot does beside flying: another ship, a new one, a name, another password, going home.
import * as api from '../../base/api.js';
import { h } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { ask, menu } from '../../base/overlay.js';
import { field, sayError } from '../../base/parts.js';
import * as account from './account.js';

export async function ships(p, el) {
  let list = p.mine;
  try {
    const got = await api.get('/api/fleet', account.as(p.who));
    list = got.items || list;
  } catch {
    /* what the welcome said */
  }
  menu(el, [
    ...list.map((s) => ({
      label: s.name,
      on: s.ship_id === p.shipId,
      run: () => p.flight.raw({ type: 'switch_ship', ship_id: s.ship_id }),
    })),
    { label: t('pilot.newship'), icon: 'plus', run: () => newShip(p) },
  ]);
}

function nameBox(value) {
  return field({
    label: t('pilot.shipname'),
    hint: t('pilot.shipnamehint'),
    value,
    check: (v) => (v.trim().length >= 1 && v.trim().length <= 32 ? null : t('pilot.shipnamehint')),
    attrs: { maxlength: 32 },
  });
}

export function rename(p) {
  const box = nameBox(p.ship?.name || '');
  return ask({
    title: t('pilot.renameask'),
    content: box,
    danger: false,
    verb: t('pilot.rename'),
    run: () => {
      if (!box.valid()) throw new Error(t('pilot.shipnamehint'));
      p.flight.raw({ type: 'rename', name: box.value.trim() });
    },
  });
}

function newShip(p) {
  const box = nameBox('');
  return ask({
    title: t('pilot.newask'),
    content: box,
    danger: false,
    verb: t('pilot.newship'),
    run: async () => {
      if (!box.valid()) throw new Error(t('pilot.shipnamehint'));
      await api.post('/api/fleet', { name: box.value.trim() }, account.as(p.who));
    },
  });
}

export async function leave(p) {
  const guest = !!p.who.guest;
  const go = await ask({
    title: t('pilot.leaveask'),
    say: t(guest ? 'pilot.leaveguest' : 'pilot.leavesay'),
    verb: t('pilot.leave'),
    danger: guest,
  });
  if (!go) return;
  p.stop();
  account.keep(null);
  await account.logout(p.who);
  p.restart();
}

function secretBox(label, fresh) {
  return field({
    label: t(label),
    hint: fresh ? t('pilot.passwordhint') : null,
    type: 'password',
    check: (v) => (v.length >= 8 ? null : t('pilot.passwordwrong')),
    attrs: { autocomplete: fresh ? 'new-password' : 'current-password' },
  });
}

/** Another password; all other logins end. A guest, whose password this browser knows, gets a first one of their own. */
export async function password(p) {
  const { guest } = p.who;
  const old = guest ? null : secretBox('pilot.oldpassword', false);
  const fresh = secretBox('pilot.newpasswordword', true);
  const done = await ask({
    title: t('pilot.passwordask'),
    say: guest ? t('pilot.passwordguest', { name: p.who.username }) : t('pilot.passwordsay'),
    content: h('div.stack', {}, old, fresh),
    danger: false,
    verb: t('pilot.newpassword'),
    run: async () => {
      if (
        ![old, fresh]
          .filter(Boolean)
          .map((box) => box.valid())
          .every(Boolean)
      )
        throw new Error(t('pilot.passwordwrong'));
      p.changing = true;
      try {
        p.who = await account.changePassword(p.who, old ? old.value : guest, fresh.value);
      } catch (e) {
        p.changing = false;
        if (e.code === 'E005') {
          old?.error(t('pilot.oldwrong'));
          throw new Error(t('pilot.oldwrong'));
        }
        throw new Error(e.status === 0 ? t('error.unreachable') : sayError(e));
      }
    },
  });
  if (!done) return;
  p.stop();
  p.restart();
}
