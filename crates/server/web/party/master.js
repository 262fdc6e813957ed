// The big screen: makes a room, directs it, and shows it. Holds the room's key in this browser; the key never goes into a
// path or a query, only into the fragment of the take-over link.

import * as api from '../base/api.js';
import { t } from '../base/i18n.js';
import { toast } from '../base/overlay.js';
import { awake } from './awake.js';
import { deviceId, forgetMaster, keepMaster, masters, readCode } from './kept.js';
import { tellApart } from './marks.js';
import { podium, recap } from './master/end.js';
import { idle, vote } from './master/game.js';
import { gone, home, loading } from './master/home.js';
import { lobby } from './master/lobby.js';
import { reveal } from './master/reveal.js';
import { setup } from './master/setup.js';
import { RoomClient } from './room-client.js';
import { masterScreen } from './room-state.js';
import { Stage, sentence, socketUrl, start } from './shell.js';
import { sound } from './sound.js';

const stage = new Stage(document.getElementById('app'), {
  home,
  setup,
  gone,
  loading,
  lobby,
  idle,
  vote,
  reveal,
  recap,
  podium,
});
let client = null;
let place = 'home';
let heardStatus = null;

const ctx = {
  get client() {
    return client;
  },
  say: (words) => stage.say(words),
  redraw: () => draw(true),
  go,
  direct,
  /** What this browser knows of the room besides its state. */
  facts: () => masters()[client?.code] || {},
  command,
};

/** Asks for a step of the game. It stays asked until the state shows it done, also over a lost connection. */
function command(type, payload, needed) {
  return client.want({ key: `${type}.${payload?.player_id || ''}`, type, payload, needed });
}

function draw(anew = false) {
  if (!client) {
    stage.show(place, ctx, null, anew);
    awake(false);
    return;
  }
  const { state } = client;
  tellApart(state.players.map((p) => p.name));
  const status = state.game?.status;
  if (status !== heardStatus && heardStatus === 'vote' && status === 'reveal_wait') sound('closed');
  heardStatus = status;
  let name = masterScreen(state);
  if (state.phase && !state.keyed && name !== 'gone') name = 'gone';
  stage.show(name, ctx, state, anew);
  awake(!!state.phase && state.phase !== 'over');
}

/** Home or setup: no room. */
function go(where, { push = true } = {}) {
  client?.stop();
  client = null;
  place = where;
  const at = where === 'setup' ? '/party/new' : '/party';
  if (push && location.pathname !== at) history.pushState(null, '', at);
  draw();
}

/** Directs a room whose key is kept here. */
function direct(code, { push = true } = {}) {
  client?.stop();
  const key = masters()[code]?.key;
  if (!key) {
    go('home');
    return;
  }
  if (push && location.pathname !== `/party/${code}`) history.pushState(null, '', `/party/${code}`);
  client = new RoomClient({ url: socketUrl(), code, deviceId: deviceId(), masterKey: key, role: 'master' });
  client.addEventListener('state', () => {
    const { state } = client;
    if (state.next_code && state.keyed) {
      follow(state.next_code);
      return;
    }
    if (state.gone || (state.phase && !state.keyed)) forgetMaster(code);
    else if (state.expires_at) remember(code, state);
    draw();
  });
  client.addEventListener('intents', () => draw());
  client.addEventListener('refused', (e) => {
    if (!stage.screen.refused?.(e.detail)) toast(sentence(e.detail), { glyph: 'warn' });
  });
  stage.follow(client);
  client.start();
  draw();
  learnLink(code);
}

/** The people went on to another room, perhaps by another screen: the same key directs it. */
function follow(next) {
  const { key } = masters()[client.code] || {};
  if (!masters()[next]) keepMaster(next, { key });
  direct(next);
}

/** A room that was taken over: the server knows where phones reach it. */
async function learnLink(code) {
  if (masters()[code]?.join_url) return;
  const room = await api.get(`/api/rooms/${code}`, { quiet: true }).catch(() => null);
  if (!room?.join_url || !masters()[code]) return;
  keepMaster(code, { join_url: room.join_url });
  if (client?.code === code) draw(true);
}

function remember(code, state) {
  if (masters()[code]?.expires_at !== state.expires_at) keepMaster(code, { expires_at: state.expires_at });
}

/** Enter moves the game on when no control has the focus: a remote or a keyboard at the far end of the room. */
addEventListener('keydown', (e) => {
  if (e.key !== 'Enter' || e.defaultPrevented || document.querySelector('dialog[open], :popover-open')) return;
  if (e.target !== document.body && !(/** @type {Element} */ (e.target).matches?.('h1, main'))) return;
  document.querySelector('main .btn.primary')?.click();
});

addEventListener('popstate', route);
addEventListener('hashchange', route);

function route() {
  const taken = /^#take=([A-Za-z0-9]{4,12})\.([\w-]{16,64})$/.exec(location.hash);
  if (taken) {
    // The key leaves the address at once, so that it stays out of the history and of pictures of the screen.
    keepMaster(taken[1].toUpperCase(), { key: taken[2] });
    history.replaceState(null, '', `/party/${taken[1].toUpperCase()}`);
  }
  const rest = location.pathname.replace(/^\/party\/?/, '');
  const code = rest === 'new' ? null : readCode(rest);
  if (code && masters()[code]) direct(code, { push: false });
  else go(rest === 'new' ? 'setup' : 'home', { push: false });
}

await start();
document.title = t('game.name');
route();
