// What a page knows about its room, as one plain object, and how each message of the server changes it. Pure: no
// sockets, no clocks, no page. A push that is not newer than what is shown changes nothing.

const NO_RULES = { vote_ms: null, latecomers: false };

/** A room nobody has told us about yet. */
export const fresh = (role = 'play') => ({
  role,
  code: null,
  phase: null,
  expires_at: null,
  players: [],
  senders: [],
  my_player_id: null,
  scores: {},
  online: [],
  master_away: false,
  keyed: false,
  game: null,
  ranking: null,
  result: null,
  recap: null,
  seat: null,
  gone: null,
  rules: NO_RULES,
  next_code: null,
});

const idOf = (x) => (x && typeof x === 'object' ? x.sender_id : x);
const ids = (list) => (list || []).map(idOf);
const without = (list, value) => list.filter((x) => x !== value);
const withOne = (list, value) => (list.includes(value) ? list : [...list, value]);

/** Replaces the entry with the same id, or appends it. */
function put(list, entry, key) {
  const at = list.findIndex((x) => x[key] === entry[key]);
  return at < 0 ? [...list, entry] : list.map((x, i) => (i === at ? { ...x, ...entry } : x));
}

/** The game part of a sync answer, in our shape. */
function gameOf(g, before) {
  if (!g) return null;
  const item = g.item || null;
  const results = g.current_vote_results
    ? { ...g.current_vote_results, true_senders: ids(g.current_vote_results.true_senders) }
    : null;
  const same = before && item && before.item?.item_id === item.item_id && before.round_id === g.current_round_id;
  return {
    round_id: g.current_round_id,
    round_index: g.round_index ?? null,
    rounds_total: g.rounds_total ?? null,
    item_index: g.current_item_index,
    items_total: g.items_total ?? item?.items_total ?? null,
    status: g.status,
    version: g.version ?? 0,
    item,
    expected: g.expected_player_ids || results?.players.map((p) => p.player_id) || (same ? before.expected : null),
    voted: g.votes_received_player_ids || (results ? results.players.map((p) => p.player_id) : []),
    my_vote: g.my_vote || null,
    results,
    // A reveal is played once, when its push arrives; what a sync brings is a still picture.
    live: same && before.results ? before.live : false,
    ends_at: g.force_close_ends_at_ms ?? null,
    not_expected: g.may_vote === false,
  };
}

function sync(state, p) {
  const keyed = Array.isArray(p.players_all);
  const game = gameOf(p.game, state.code === p.code ? state.game : null);
  const seat = p.my_player_id || state.my_player_id === null || state.code !== p.code ? null : state.seat;
  const lost = state.code === p.code && state.my_player_id && !p.my_player_id && p.phase !== 'over';
  return {
    ...state,
    code: p.code,
    phase: p.phase,
    expires_at: p.expires_at ?? state.expires_at,
    players: p.players_all || p.players_visible || [],
    senders: p.senders_all || p.senders_visible || [],
    my_player_id: p.my_player_id ?? null,
    scores: p.scores || {},
    online: p.connected_player_ids || [],
    keyed,
    game,
    ranking: p.ranking || null,
    recap: p.game?.recap || (game?.status === 'round_recap' || p.phase === 'over' ? state.recap : null),
    result: lastResult(state, game, p) ?? keepResult(state.result, game, p),
    seat: lost ? seat || 'lost' : seat,
    gone: null,
    rules: p.rules || NO_RULES,
    next_code: p.next_code || null,
  };
}

/** The last reel's result as the server keeps it for a phone that was away. */
function lastResult(state, game, p) {
  const last = p.game?.last_result;
  if (!last) return null;
  const known = state.result?.round_id === last.round_id && state.result?.item_id === last.item_id;
  return {
    code: p.code,
    round_id: last.round_id,
    item_id: last.item_id,
    item_index: known ? state.result.item_index : null,
    items_total: known ? state.result.items_total : (game?.items_total ?? null),
    true_senders: ids(last.true_senders),
    mine: last.mine || null,
  };
}

/** The last reel's result stays until the next vote opens. */
function keepResult(result, game, p) {
  if (!result || result.code !== p.code || p.phase !== 'game' || !game) return null;
  return game.status === 'idle' || game.status === 'round_recap' ? result : null;
}

/** Versioned pushes: an old one, or one a sync already told, is dropped. */
const stale = (state, p) => p.version != null && state.game && p.version <= state.game.version;

function newItem(state, p) {
  if (stale(state, p)) return state;
  const before = state.game;
  const other = before && before.round_id !== p.round_id;
  const index = p.round_index ?? (before?.round_index == null ? null : before.round_index + (other ? 1 : 0));
  const { code: _, version, ...item } = p;
  return {
    ...state,
    phase: 'game',
    recap: null,
    game: {
      round_id: p.round_id,
      round_index: index ?? (before ? null : 0),
      rounds_total: p.rounds_total ?? before?.rounds_total ?? null,
      item_index: p.item_index,
      items_total: p.items_total ?? (other ? null : before?.items_total) ?? null,
      status: 'idle',
      version: version ?? (before?.version || 0) + 1,
      item,
      expected: null,
      voted: [],
      my_vote: null,
      results: null,
      live: false,
      ends_at: null,
    },
  };
}

function startVote(state, p) {
  if (!state.game || stale(state, p)) return state;
  const item = { ...state.game.item, round_id: p.round_id, item_id: p.item_id, k: p.k };
  if (p.senders_selectable) item.senders_selectable = p.senders_selectable;
  return {
    ...state,
    result: null,
    game: {
      ...state.game,
      status: 'vote',
      version: p.version ?? state.game.version + 1,
      item,
      expected: p.expected_player_ids || null,
      voted: [],
      my_vote: null,
      results: null,
      live: false,
      ends_at: p.ends_at_ms ?? null,
      not_expected: false,
    },
  };
}

/** Whether a message speaks of the reel that is up now. */
const current = (state, p) =>
  !!state.game?.item && state.game.round_id === p.round_id && state.game.item.item_id === p.item_id;

function voteResults(state, p) {
  if (!state.game || stale(state, p)) return state;
  const scores = { ...state.scores };
  for (const one of p.players) scores[one.player_id] = one.score_total;
  const results = { round_id: p.round_id, item_id: p.item_id, true_senders: ids(p.true_senders), players: p.players };
  return {
    ...state,
    scores,
    game: {
      ...state.game,
      status: 'reveal_wait',
      version: p.version ?? state.game.version + 1,
      voted: p.players.map((x) => x.player_id),
      results,
      live: true,
      ends_at: null,
    },
  };
}

function itemResult(state, p) {
  const mine = p.mine || null;
  const scores = { ...state.scores, ...p.scores };
  if (mine) scores[mine.player_id] = mine.score_total;
  const item = state.game?.item?.item_id === p.item_id ? state.game.item : null;
  return {
    ...state,
    scores,
    result: {
      code: state.code,
      round_id: p.round_id,
      item_id: p.item_id,
      item_index: item?.item_index ?? null,
      items_total: state.game?.items_total ?? null,
      true_senders: ids(p.true_senders),
      mine,
    },
  };
}

function recap(state, p) {
  if (!state.game || stale(state, p)) return state;
  const scores = { ...state.scores };
  for (const one of p.players || []) scores[one.player_id] = one.score_total;
  return {
    ...state,
    scores,
    recap: p.players || null,
    game: {
      ...state.game,
      round_id: p.round_id,
      status: 'round_recap',
      version: p.version ?? state.game.version,
      item: null,
      voted: [],
      my_vote: null,
      results: null,
      live: false,
      ends_at: null,
    },
  };
}

function playerUpdate(state, p) {
  const players = put(state.players, p.player, 'player_id');
  const senders = p.sender_updated ? put(state.senders, p.sender_updated, 'sender_id') : state.senders;
  const item = state.game?.item;
  const lists = item?.senders_selectable && p.sender_updated;
  // Giving a seat back is answered only by the news that it is free.
  const released = p.player.player_id === state.my_player_id && p.player.status === 'free';
  return {
    ...state,
    players,
    senders,
    my_player_id: released ? null : state.my_player_id,
    game: lists
      ? {
          ...state.game,
          item: {
            ...item,
            senders_selectable: item.senders_selectable.map((x) =>
              x.sender_id === p.sender_updated.sender_id ? { ...x, name: p.sender_updated.name } : x,
            ),
          },
        }
      : state.game,
  };
}

const SAYS = {
  STATE_SYNC_RESPONSE: sync,
  ROOM_CREATED: (state, p) => ({ ...state, code: p.code, phase: p.phase, expires_at: p.expires_at ?? null }),
  JOIN_OK: (state, p) => ({
    ...state,
    code: p.code,
    phase: p.phase,
    players: p.players_visible || state.players,
    expires_at: p.expires_at ?? state.expires_at,
  }),
  TAKE_PLAYER_OK: (state, p, intent) => ({
    ...state,
    my_player_id: p.player_id,
    seat: null,
    players: state.players.map((x) => (x.player_id === p.player_id ? { ...x, status: 'taken' } : x)),
    // An open vote asks those who were there when it began.
    game:
      intent?.type === 'JOIN_LATE' && state.game?.status === 'vote'
        ? { ...state.game, not_expected: true }
        : state.game,
  }),
  RULES: (state, p) => ({ ...state, rules: { vote_ms: p.vote_ms ?? null, latecomers: !!p.latecomers } }),
  ROOM_MOVED: (state, p) => ({ ...state, next_code: p.next_code }),
  PLAYER_UPDATE: playerUpdate,
  PLAYER_REMOVED: (state, p) => ({
    ...state,
    players: state.players.filter((x) => x.player_id !== p.player_id),
    online: without(state.online, p.player_id),
  }),
  SLOT_INVALIDATED: (state, p) =>
    state.my_player_id === p.player_id
      ? { ...state, my_player_id: null, seat: p.reason || 'lost', game: state.game && { ...state.game, my_vote: null } }
      : state,
  GAME_START: (state) => (state.phase === 'lobby' ? { ...state, phase: 'game' } : state),
  NEW_ITEM: newItem,
  START_VOTE: startVote,
  VOTE_ACK: (state, p, intent) => {
    if (!current(state, p)) return state;
    if (p.accepted) {
      const selections = intent?.payload.selections || state.game.my_vote?.selections || [];
      return { ...state, game: { ...state.game, my_vote: { selections, ts: p.ts ?? null } } };
    }
    if (p.reason === 'not_expected_voter') return { ...state, game: { ...state.game, not_expected: true } };
    const closed = p.reason === 'late' || p.reason === 'not_in_vote';
    return closed && state.game.status === 'vote'
      ? { ...state, game: { ...state.game, status: 'reveal_wait' } }
      : state;
  },
  VOTE_CLOSED: (state, p) =>
    current(state, p) && state.game.status === 'vote'
      ? {
          ...state,
          game: { ...state.game, status: 'reveal_wait', version: p.version ?? state.game.version, ends_at: null },
        }
      : state,
  PLAYER_VOTED: (state, p) =>
    current(state, p) ? { ...state, game: { ...state.game, voted: withOne(state.game.voted, p.player_id) } } : state,
  VOTE_FORCE_CLOSE_STARTED: (state, p) =>
    current(state, p) && state.game.status === 'vote'
      ? { ...state, game: { ...state.game, ends_at: p.ends_at_ms } }
      : state,
  VOTE_RESULTS: voteResults,
  ITEM_RESULT: itemResult,
  ROUND_RECAP: recap,
  ROUND_FINISHED: recap,
  GAME_OVER: (state, p) => ({
    ...state,
    phase: 'over',
    scores: p.scores || state.scores,
    ranking: p.ranking,
    game: state.game && { ...state.game, item: null, status: 'round_recap' },
    result: null,
  }),
  ROOM_CLOSED_BROADCAST: (state, p) => ({ ...state, gone: { why: 'closed', reason: p.reason } }),
  PRESENCE: (state, p) => {
    if (p.role === 'master') return { ...state, master_away: !p.connected };
    return {
      ...state,
      online: p.connected ? withOne(state.online, p.player_id) : without(state.online, p.player_id),
    };
  },
  GONE: (state, p) => ({ ...state, gone: p }),
};

/** The room after one message; `intent` is what this page asked for, when the message answers it. */
export function reduce(state, message, intent) {
  const step = SAYS[message.type];
  const p = message.payload || {};
  if (!step || (p.code && state.code && p.code !== state.code && message.type !== 'STATE_SYNC_RESPONSE')) return state;
  return step(state, p, intent);
}

export * from './room-screens.js';
