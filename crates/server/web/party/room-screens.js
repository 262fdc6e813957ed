// What follows from the state of a room: places, who moved, which screen a page shows, why a game cannot start. Pure.

/** Active players by score, best first; equal scores share a rank and the next one skips. */
export function ranked(state) {
  const list = state.players
    .filter((p) => p.active !== false)
    .map((p) => ({ player_id: p.player_id, score_total: state.scores[p.player_id] || 0 }))
    .sort((a, b) => b.score_total - a.score_total || (a.player_id < b.player_id ? -1 : 1));
  return list.map((one) => ({ ...one, rank: list.findIndex((x) => x.score_total === one.score_total) + 1 }));
}

/** Places before and after a round, from its recap. */
export function moves(rows) {
  const place = (of) => {
    const sorted = [...rows].sort((a, b) => of(b) - of(a) || (a.player_id < b.player_id ? -1 : 1));
    return {
      order: sorted.map((r) => r.player_id),
      rank: Object.fromEntries(sorted.map((r) => [r.player_id, sorted.findIndex((x) => of(x) === of(r)) + 1])),
    };
  };
  return { before: place((r) => r.score_total - r.points_round), after: place((r) => r.score_total) };
}

export const playerOf = (state, id) => state.players.find((p) => p.player_id === id) || null;
export const senderOf = (state, id) =>
  state.senders.find((s) => s.sender_id === id) ||
  state.game?.item?.senders_selectable?.find((s) => s.sender_id === id) ||
  null;

/** Which screen a phone shows. */
export function playScreen(state) {
  if (state.gone) return 'join';
  if (!state.phase) return 'loading';
  if (state.phase === 'over') return 'final';
  if (!state.my_player_id && (state.phase === 'lobby' || state.seat || canSit(state))) {
    if (state.phase === 'lobby' || !state.watching) return 'pick';
  }
  if (state.phase === 'lobby') return 'wait';
  const g = state.game;
  if (!g) return 'look';
  if (g.status === 'round_recap') return 'round';
  if (g.status === 'vote') return state.my_player_id && !excluded(state) ? 'vote' : 'look';
  if (g.status === 'reveal_wait') return state.my_player_id ? 'voted' : 'look';
  return state.result ? 'result' : 'look';
}

/** In a game only seats that were freed can be taken. */
export const freeSeats = (state) => state.players.filter((p) => p.status === 'free');
/** Whether someone without a seat can get one: a free one, or one of their own where the host lets latecomers in. */
export const canSit = (state) => freeSeats(state).length > 0 || !!state.rules?.latecomers;
const excluded = (state) => state.game.not_expected === true;

/** Which screen the big one shows. */
export function masterScreen(state) {
  if (state.gone) return 'gone';
  if (!state.phase) return 'loading';
  if (state.phase === 'lobby') return 'lobby';
  if (state.phase === 'over') return 'podium';
  const g = state.game;
  if (!g) return 'loading';
  return { idle: 'idle', vote: 'vote', reveal_wait: 'reveal', round_recap: 'recap' }[g.status] || 'idle';
}

/** Why the game cannot start yet: `{word, players}`, or null when it can. */
export function startBlocked(state) {
  const active = state.players.filter((p) => p.active);
  const free = active.filter((p) => p.status !== 'taken');
  if (active.length < 2) return { word: 'few', players: active };
  return free.length ? { word: 'free', players: free } : null;
}
