// Rounds out of people and their reels, the same for the same seed word: each reel once, a sender at most once per round,
// at most one reel with several senders per round, and that one first. Pure.

/** A generator of numbers in [0, 1) from a word. */
export function dice(word) {
  let a = 2166136261;
  for (const ch of String(word)) a = Math.imul(a ^ ch.codePointAt(0), 16777619);
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let x = Math.imul(a ^ (a >>> 15), 1 | a);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

export function shuffled(list, roll) {
  const out = [...list];
  for (let i = out.length - 1; i > 0; i -= 1) {
    const j = Math.floor(roll() * (i + 1));
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
}

/** url → ids of the people who sent it, in the order of people. */
export function byReel(people) {
  const found = new Map();
  for (const person of people)
    for (const url of person.urls) {
      const who = found.get(url);
      if (who) who.push(person.id);
      else found.set(url, [person.id]);
    }
  return found;
}

/**
 * `people`: [{id, active, urls}]. `played`: reels of earlier games, left out.
 * Gives `{rounds: [[{url, senders}]], used, left: {off, limit, shared, played}, sharedLeft}` where each of left is
 * Map(id → count) and sharedLeft counts reels of several people that found no round.
 */
export function buildRounds(people, { rounds, seed, played = new Set() }) {
  const roll = dice(seed);
  const active = people.filter((p) => p.active);
  const left = { off: new Map(), limit: new Map(), shared: new Map(), played: new Map() };
  const note = (map, id, n = 1) => n && map.set(id, (map.get(id) || 0) + n);
  const reels = byReel(active.map((p) => ({ ...p, urls: p.urls.filter((u) => !played.has(u)) })));
  for (const p of people) {
    if (!p.active) note(left.off, p.id, p.urls.length);
    else note(left.played, p.id, p.urls.filter((u) => played.has(u)).length);
  }
  const out = Array.from({ length: rounds }, () => ({ items: [], who: new Set() }));

  // Sorted before shuffling: the order of import must not matter, only the word.
  const several = [...reels].filter(([, who]) => who.length > 1).sort(([a], [b]) => (a < b ? -1 : 1));
  shuffled(several, roll).forEach(([url, senders], i) => {
    if (i < rounds) {
      out[i].items.push({ url, senders });
      for (const id of senders) out[i].who.add(id);
    } else for (const id of senders) note(left.shared, id);
  });

  for (const person of shuffled(
    [...active].sort((a, b) => (a.id < b.id ? -1 : 1)),
    roll,
  )) {
    const own = [...reels].filter(([, who]) => who.length === 1 && who[0] === person.id).map(([url]) => url);
    const urls = shuffled(own.sort(), roll);
    // The emptiest rounds first, so that all are about as long.
    const open = shuffled(
      out.filter((r) => !r.who.has(person.id)),
      roll,
    ).sort((a, b) => a.items.length - b.items.length);
    for (const round of open) {
      if (!urls.length) break;
      round.items.push({ url: urls.shift(), senders: [person.id] });
      round.who.add(person.id);
    }
    note(left.limit, person.id, urls.length);
  }

  const filled = out
    .map(({ items }) => [
      ...items.filter((i) => i.senders.length > 1),
      ...shuffled(
        items.filter((i) => i.senders.length === 1),
        roll,
      ),
    ])
    .filter((items) => items.length);
  const sharedLeft = Math.max(0, several.length - rounds);
  return { rounds: filled, used: filled.reduce((n, items) => n + items.length, 0), left, sharedLeft };
}

/** A good number of rounds: as many as the second busiest sender or the shared reels can fill, at most ten. */
export function suggestRounds(people) {
  const active = people.filter((p) => p.active);
  const counts = active.map((p) => p.urls.length).sort((a, b) => b - a);
  const shared = [...byReel(active).values()].filter((who) => who.length > 1).length;
  return Math.max(1, Math.min(10, Math.max(counts[1] ?? counts[0] ?? 1, shared)));
}

/** Who plays as whom: id of a person → id of their player. The people's places give their senders' ids. */
export const seatsOf = (people) => Object.fromEntries(people.map((p, i) => [p.id, `p${i + 1}`]));

/** Sender of the new room → player of the room before, for those who were there. */
export const carriedSeats = (people, before = {}) =>
  Object.fromEntries(people.flatMap((p, i) => (before[p.id] ? [[`s${i + 1}`, before[p.id]]] : [])));

/** The body of `POST /api/rooms`. */
export function roomBody(people, rounds) {
  const ids = new Map(people.map((p, i) => [p.id, `s${i + 1}`]));
  let reel = 0;
  return {
    senders: people.map((p) => ({
      sender_id: ids.get(p.id),
      name: p.name,
      active: p.active,
      reels_count: p.urls.length,
    })),
    rounds: rounds.map((items, r) => ({
      round_id: `r${r + 1}`,
      items: items.map((item, i) => {
        reel += 1;
        return {
          item_id: `i${i + 1}`,
          reel: { reel_id: `reel_${reel}`, url: item.url },
          true_sender_ids: item.senders.map((id) => ids.get(id)),
        };
      }),
    })),
  };
}

/** What keeps the room from being created, as words with their holes; empty when nothing does. */
export function problems(people, built) {
  const active = people.filter((p) => p.active);
  const out = [];
  if (active.length < 2) out.push({ word: 'people', n: active.length });
  if (people.length > 64) out.push({ word: 'many', n: people.length });
  if (!built.used) out.push({ word: 'reels' });
  if (built.used > 2000) out.push({ word: 'large', n: built.used });
  return out;
}
