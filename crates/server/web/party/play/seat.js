// Before the game: pick a player, then wait with one's own mark, name and photo.
import { fill, h, icon, patch, text, uid } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { ask, menu } from '../../base/overlay.js';
import { button } from '../../base/parts.js';
import { cleanName } from '../importer.js';
import { showCode } from '../kept.js';
import { mark, ofPlayer } from '../marks.js';
import { toPhoto } from '../photo.js';
import { playerOf } from '../room-state.js';
import { langs, sentence } from '../shell.js';
import { screen } from './frame.js';

const LOST = {
  disabled_or_deleted: 'seat.disabled',
  reset_by_master: 'seat.reset',
  freed_by_master: 'seat.freed',
  lost: 'seat.lost',
};

export function pick(ctx) {
  const why = h('p.why', { role: 'status', hidden: true });
  const grid = h('ul.seats', { 'aria-label': t('pick.title') });
  const watch = button({
    label: t('pick.watch'),
    kind: 'outline',
    run: () => {
      ctx.ui.watching = true;
      ctx.redraw(false);
    },
  });
  const tell = (words) => {
    fill(why, icon('info'), h('span', {}, words));
    why.hidden = false;
  };
  const late = button({ label: t('late.verb'), icon: 'plus', kind: 'outline', run: () => joinLate(ctx) });
  late.hidden = true;
  // Tiles keep the place they had when the screen was drawn; newcomers go to the end.
  const order = [];
  const take = (player) => {
    if (player.status === 'taken') {
      tell(t('pick.taken'));
      return;
    }
    why.hidden = true;
    ctx.client.want({
      key: 'take',
      type: 'TAKE_PLAYER',
      payload: { player_id: player.player_id },
      needed: (s) => s.my_player_id !== player.player_id,
    });
  };
  const make = () => {
    const parts = { mark: mark({ id: 'p1', name: '' }, 'l'), name: h('b.cut'), status: h('span.status') };
    const b = h(
      'button.tile.seat',
      { type: 'button', on: { click: () => take(b.player) } },
      parts.mark,
      h('span.who', {}, parts.name, parts.status),
    );
    b.parts = parts;
    return h('li', {}, b);
  };
  const update = (li, player) => {
    const b = li.firstChild;
    const taken = player.status === 'taken';
    b.player = player;
    b.parts.mark.set(ofPlayer(player, { off: taken }));
    b.parts.mark.classList.add('l');
    text(b.parts.name, player.name);
    b.parts.name.title = player.name;
    const key = `${taken}${ctx.client.wants('take')?.payload.player_id === player.player_id}`;
    if (b.dataset.key === key) return;
    b.dataset.key = key;
    b.setAttribute('aria-disabled', String(taken));
    b.classList.toggle('taken', taken);
    const busy = ctx.client.wants('take')?.payload.player_id === player.player_id;
    fill(
      b.parts.status,
      busy ? h('i.spin', { 'aria-hidden': 'true' }) : icon(taken ? 'lock' : 'user'),
      t(busy ? 'pick.asking' : taken ? 'seat.taken' : 'seat.free'),
    );
  };
  const title = h('h1', {}, t('pick.title'));
  const el = screen(
    'pick',
    [h('p.brandline.num', {}, showCode(ctx.client.code)), title, h('p.quiet.sub', {}, t('pick.sub')), why, grid],
    [
      late,
      watch,
      h(
        'div.footline',
        {},
        langs(() => ctx.redraw()),
        leaveLink(ctx),
      ),
    ],
  );
  return {
    el,
    refused(p) {
      if (p.intent?.type === 'JOIN_LATE') return true;
      if (p.reason === undefined && p.intent?.type !== 'TAKE_PLAYER') return false;
      const words = p.reason ? t(`take.${p.reason}`) : sentence(p);
      tell(words);
      const tile = [...grid.querySelectorAll('.seat')].find((b) => b.player?.player_id === p.player_id);
      if (tile) {
        tile.classList.remove('shake');
        void tile.offsetWidth;
        tile.classList.add('shake');
      }
      return true;
    },
    update(state) {
      if (state.seat && LOST[state.seat]) tell(t(LOST[state.seat]));
      watch.hidden = state.phase === 'lobby';
      late.hidden = !state.rules.latecomers;
      for (const p of state.players) if (!order.includes(p.player_id)) order.push(p.player_id);
      const list = order.map((id) => playerOf(state, id)).filter(Boolean);
      patch(grid, list, (p) => p.player_id, make, update);
      grid.classList.toggle('three', list.length > 8);
    },
  };
}

/** Someone who is not on the list: a name, and a seat of their own. */
function joinLate(ctx) {
  const playing = ctx.client.state.phase === 'game';
  askName({
    title: t('late.title'),
    hint: t(playing ? 'late.playing' : 'late.say'),
    verb: t('late.join'),
    send: (name) => wanted(ctx, { key: 'late', type: 'JOIN_LATE', payload: { name }, needed: (s) => !s.my_player_id }),
  });
}

/** Asks the server for something; resolves to a sentence when refused, null when done. */
function wanted(ctx, wish) {
  return new Promise((resolve) => {
    const intent = ctx.client.want(wish);
    const no = (e) => {
      if (e.detail.intent === intent) resolve(sentence(e.detail));
    };
    ctx.client.addEventListener('refused', no);
    intent.done.then(() =>
      queueMicrotask(() => {
        ctx.client.removeEventListener('refused', no);
        resolve(null);
      }),
    );
  });
}

/** A dialog for one name; `send` gives a sentence when it was refused. */
function askName({ title, hint, verb, value = '', send }) {
  const id = uid('name');
  const input = h('input.input', { id, maxlength: '48', autocomplete: 'off', enterkeyhint: 'done' });
  input.value = value;
  const bad = h('p.fault', { role: 'alert' });
  const no = (words) => {
    fill(bad, icon('warn'), h('span', {}, words));
    input.setAttribute('aria-invalid', 'true');
    input.focus();
    throw new Error('');
  };
  ask({
    title,
    content: h('div.fieldrow', {}, h('label', { for: id }, t('rename.label')), input, bad, h('p.quiet', {}, hint)),
    verb,
    danger: false,
    run: async () => {
      const name = cleanName(input.value);
      if (!name) no(t('error.invalid_name'));
      const error = await send(name);
      if (error) no(error);
    },
  });
  input.focus();
  input.select();
  input.addEventListener('keydown', (e) => {
    if (e.key !== 'Enter') return;
    e.preventDefault();
    input.closest('dialog').querySelector('.buttons .btn:last-child').click();
  });
}

const leaveLink = (ctx) => button({ label: t('seat.leave'), kind: 'quiet', small: true, run: () => ctx.leave(null) });

/** The waiting room: own tile, rename, photo, change player. */
export function wait(ctx) {
  const face = mark({ id: 'p1', name: '' }, 'xl');
  const name = h('h1.name');
  const fault = h('p.fault', { role: 'alert' });
  const lookup = h('p.lookup', {}, icon('screen'), h('span', {}, t('wait.look')));
  const here = h('p.quiet.num');
  const files = {};
  for (const [kind, capture] of [
    ['camera', 'user'],
    ['file', null],
  ])
    files[kind] = h('input.said', {
      type: 'file',
      accept: 'image/*',
      capture,
      tabindex: '-1',
      'aria-label': t(`photo.${kind}`),
      on: { change: (e) => send(e.target) },
    });

  async function send(input) {
    const file = input.files[0];
    input.value = '';
    if (!file) return;
    fault.replaceChildren();
    try {
      wantPhoto(await toPhoto(file));
    } catch {
      complain(t('photo.bad'));
    }
  }
  const complain = (words) => fill(fault, icon('warn'), h('span', {}, words));
  // Photos come back as links, so the news that one's own player changed says that it is done.
  const wantPhoto = (image) => {
    const before = playerOf(ctx.client.state, ctx.client.state.my_player_id)?.avatar_url ?? null;
    const intent = ctx.client.want({
      key: 'photo',
      type: 'UPDATE_AVATAR',
      payload: { image },
      needed: (s) => (playerOf(s, s.my_player_id)?.avatar_url ?? null) === before,
    });
    const heard = (e) => {
      const { message } = e.detail;
      const own = message.payload?.player?.player_id === ctx.client.state.my_player_id;
      if (message.type === 'PLAYER_UPDATE' && own && intent.sent) ctx.client.forget(intent);
    };
    ctx.client.addEventListener('message', heard);
    intent.done.then(() => ctx.client.removeEventListener('message', heard));
  };

  const rename = () =>
    askName({
      title: t('rename.title'),
      hint: t('rename.hint'),
      verb: t('rename.save'),
      value: playerOf(ctx.client.state, ctx.client.state.my_player_id)?.name,
      send: (name) =>
        wanted(ctx, {
          key: 'name',
          type: 'RENAME_PLAYER',
          payload: { new_name: name },
          needed: (s) => !s.my_player_id || playerOf(s, s.my_player_id)?.name !== name,
        }),
    });

  const photo = button({
    label: t('wait.photo'),
    icon: 'camera',
    run: () => {
      const me = playerOf(ctx.client.state, ctx.client.state.my_player_id);
      menu(photo, [
        { label: t('photo.camera'), icon: 'camera', run: () => files.camera.click() },
        { label: t('photo.file'), icon: 'image', run: () => files.file.click() },
        ...(me?.avatar_url ? [{ label: t('photo.remove'), icon: 'trash', run: () => wantPhoto(null) }] : []),
      ]);
    },
  });
  const change = button({
    label: t('wait.change'),
    icon: 'loop',
    run: () => ctx.client.want({ key: 'release', type: 'RELEASE_PLAYER', needed: (s) => s.my_player_id !== null }),
  });
  const el = screen(
    'wait',
    [
      h('p.brandline.num', {}, showCode(ctx.client.code)),
      h('div.self', {}, face, name, h('p.good.ready', {}, icon('tick'), t('wait.in')), fault),
      h('div.tools', {}, button({ label: t('wait.rename'), icon: 'pencil', run: rename }), photo, change),
      files.camera,
      files.file,
    ],
    [
      lookup,
      here,
      h(
        'div.footline',
        {},
        langs(() => ctx.redraw()),
        leaveLink(ctx),
      ),
    ],
  );
  return {
    el,
    refused(p) {
      if (p.intent?.type === 'RENAME_PLAYER') return true;
      if (p.intent?.type !== 'UPDATE_AVATAR') return false;
      complain(sentence(p));
      return true;
    },
    update(state) {
      const me = playerOf(state, state.my_player_id);
      if (!me) return;
      face.set(ofPlayer(me));
      face.classList.add('xl');
      text(name, me.name);
      const taken = state.players.filter((p) => p.status === 'taken').length;
      text(here, t('wait.count', { n: taken, m: state.players.length }));
    },
  };
}
