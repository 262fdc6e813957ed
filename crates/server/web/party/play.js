// The phone: one room, one seat. Reads the code from the address, keeps the line, and shows the screen the state asks for.

import { t } from '../base/i18n.js';
import { toast } from '../base/overlay.js';
import { awake } from './awake.js';
import { deviceId, keep, keepTab, read, readCode, readTab } from './kept.js';
import { tellApart } from './marks.js';
import { join, loading } from './play/join.js';
import { finalResult, result, roundResult } from './play/result.js';
import { pick, wait } from './play/seat.js';
import { look, vote } from './play/vote.js';
import { RoomClient } from './room-client.js';
import { playScreen } from './room-state.js';
import { Stage, sentence, socketUrl, start } from './shell.js';

const screens = {
  join,
  loading,
  pick,
  wait,
  look,
  vote,
  voted: look,
  result,
  round: roundResult,
  final: finalResult,
};

let client = null;
const stage = new Stage(document.getElementById('app'), screens);
const ui = { watching: false, why: null, changing: false };

const ctx = {
  ui,
  get client() {
    return client;
  },
  say: (words) => stage.say(words),
  redraw: (anew = true) => draw(anew),
  enter,
  leave,
};

/** The state the screens see: the room's, and what this phone decided for itself. */
const view = () => ({ ...client.state, watching: ui.watching, changing: ui.changing });

function draw(anew = false) {
  if (!client) {
    stage.show('join', ctx, null, anew);
    return;
  }
  const state = view();
  tellApart(state.players.map((p) => p.name));
  let name = playScreen(state);
  if (name === 'vote' && state.game.my_vote && !ui.changing && !client.wants('vote')) name = 'voted';
  stage.show(name, ctx, state, anew);
  awake(state.game?.status === 'vote');
}

/** Goes into a room: the address names it, so that a reload comes back here. */
function enter(code) {
  client?.stop();
  ui.why = null;
  ui.watching = false;
  ui.changing = false;
  history.replaceState(null, '', `/r/${code}`);
  client = new RoomClient({ url: socketUrl(), code, deviceId: deviceId(), role: 'play' });
  const kept = readTab('result');
  if (kept?.code === code) client.state = { ...client.state, result: kept };
  let item = null;
  client.addEventListener('state', () => {
    const { state } = client;
    if (state.gone) {
      leave(state.gone);
      return;
    }
    if (state.next_code && state.next_code !== code) {
      follow(state.next_code, state.my_player_id);
      return;
    }
    const now = state.game?.item && `${state.game.round_id}/${state.game.item.item_id}`;
    if (now !== item) {
      item = now;
      ui.changing = false;
    }
    if (state.phase) keep('room', code);
    keepTab('result', state.result);
    draw();
  });
  client.addEventListener('intents', () => draw());
  client.addEventListener('message', (e) => heard(e.detail));
  client.addEventListener('refused', (e) => refused(e.detail));
  stage.follow(client);
  client.start();
  draw();
}

/** The same people play on in another room: seat, name and photo are there already. */
function follow(next, seated) {
  enter(next);
  if (seated) toast(t('play.moved'));
}

function heard({ message, intent }) {
  const p = message.payload || {};
  if (message.type === 'VOTE_ACK') {
    if (p.accepted) {
      ui.changing = false;
      keepTab('draft', null);
      stage.say(t('vote.sent'));
    } else if (p.reason !== 'not_expected_voter') {
      toast(t(p.reason === 'late' || p.reason === 'not_in_vote' ? 'vote.late' : 'vote.refused'), { glyph: 'warn' });
      if (!['late', 'not_in_vote'].includes(p.reason)) client.sync();
    }
    draw();
  }
  if (message.type === 'TAKE_PLAYER_FAIL') {
    stage.screen.refused?.(p);
    if (p.reason !== 'taken_now' || intent) client.sync();
  }
  if (message.type === 'VOTE_FORCE_CLOSE_STARTED') stage.say(t('vote.ending'));
}

function refused(p) {
  if (stage.screen.refused?.(p)) return;
  if (p.error === 'not_claimed') client.sync();
  toast(sentence(p), { glyph: 'warn' });
}

/** Back to the first screen, with the reason when there is one. */
function leave(gone) {
  const code = client?.code || null;
  client?.stop();
  client = null;
  awake(false);
  ui.why = gone ? { ...gone, code } : null;
  if (read('room') === code) keep('room', null);
  keepTab('result', null);
  history.replaceState(null, '', '/play');
  draw();
}

await start();
const code = readCode(decodeURIComponent(location.pathname.replace(/^\/r\//, '')).replace(/^\/play\/?$/, ''));
if (code) enter(code);
else draw();
