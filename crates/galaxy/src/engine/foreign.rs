//! Foreign writes: what other services may write while the world ticks, taken over by the engine.
//!
//! Always true: a value that somebody else wrote is taken over only where no write of ours to the
//! same thing is under way, so an order never seems to be undone by the value it replaces. Of two
//! writers the last one wins. Nothing is read twice in a tick; the cost per second has a limit
//! ([`SHIPS_PER_S`]) that does not grow with the world.

use std::collections::HashMap;
use std::time::Duration;

use kernel::{Cmd, Deadline, Fault, Value, reply};
use uuid::Uuid;

use super::commands;
use super::{Engine, Turn, pace};
use crate::model::{Fields, text};
use crate::store::{cmd, fields, write};
use crate::world::Pace;

/// Ships whose name and rules are read in a second: two commands each, and one for each rule.
const SHIPS_PER_S: f64 = 5_000.0;
/// And in one tick at the least, however many ticks a second has.
const SHIPS_LEAST: usize = 50;
/// A paused world looks so often in a second.
const LOOKS_PAUSED: f64 = 4.0;
/// A store that does not answer holds a tick up no longer than this.
const PATIENCE: Duration = Duration::from_secs(2);
/// Ships that others named in `wk:galaxy:changed` and that are read at once, at most.
const NAMED_MOST: &str = "1000";

/// The things of which others may write values that we write too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    /// Pause, rate, scale and sync.
    Pace,
    /// Name and rules of a ship.
    Ship(Uuid),
}

/// The things of which a write of ours is not in the store yet.
#[derive(Debug, Default)]
pub(super) struct Unstored {
    /// The number of the batch that takes what is noted now.
    batch: u64,
    topics: HashMap<Topic, u64>,
}

impl Unstored {
    /// The next batch holds a write of this.
    pub(super) fn note(&mut self, topic: Topic) {
        self.topics.insert(topic, self.batch);
    }

    /// A batch leaves with all that was noted; its number.
    pub(super) fn leaves(&mut self) -> u64 {
        self.batch += 1;
        self.batch - 1
    }

    /// Notes that this batch is stored, and so is everything before it.
    pub(super) fn stored(&mut self, batch: u64) {
        self.topics.retain(|_, noted| *noted > batch);
    }

    fn has(&self, topic: Topic) -> bool {
        self.topics.contains_key(&topic)
    }
}

/// Commands of a look before those about ships: orders, pace, ships that others named.
const FIRST: usize = 1 + 4 + 1;

/// Questions about ships: the commands, and for each ship the rules it is known to have.
#[derive(Default)]
struct Questions {
    cmds: Vec<Cmd>,
    ships: Vec<(Uuid, Vec<Uuid>)>,
}

/// Name and rules of a ship, as the store has them.
struct ShipFound {
    id: Uuid,
    name: Option<String>,
    /// The members of its set of rules; `None` when they could not be read.
    members: Option<Vec<Uuid>>,
    rules: HashMap<Uuid, Fields>,
}

impl Engine {
    /// Reads what other servers ordered and what other services wrote, in one trip. What was written takes effect at
    /// once; orders wait for their turn.
    pub(super) async fn hear(&self, turn: &mut Turn) {
        if let Err(fault) = self.look_around(turn).await {
            tracing::debug!(%fault, "what others ordered and wrote could not be read");
        }
    }

    async fn look_around(&self, turn: &mut Turn) -> Result<(), Fault> {
        let keys = self.keys;
        let mut cmds = vec![commands::reading(keys, &turn.after)];
        let pace = [keys.paused(), keys.tick_rate(), keys.time_scale(), keys.time_sync()];
        cmds.extend(pace.iter().map(|key| cmd(&["GET", key.as_str()])));
        cmds.push(cmd(&["SPOP", keys.changed().as_str(), NAMED_MOST]));
        let ids = turn.next_to_look_at(self.clock.monotonic());
        let Questions { cmds: about, ships } = self.questions(turn, &ids);
        cmds.extend(about);
        let answers = self.store.pipeline(&cmds, Deadline::after(PATIENCE)).await?;
        let mut answers = answers.into_iter();
        let first: Vec<_> = answers.by_ref().take(FIRST).collect();
        let [orders, pace @ .., named] = &first[..] else { return Ok(()) };
        turn.heard_of(commands::entries(orders.as_ref().map_err(Clone::clone)?));
        self.take_pace(turn, pace);
        self.take_ships(turn, read_ships(ships, answers)).await?;
        let named = named.as_ref().ok().and_then(reply::list).unwrap_or_default();
        let named: Vec<Uuid> =
            named.iter().filter_map(|member| reply::text(member)?.parse().ok()).collect();
        let Questions { cmds, ships } = self.questions(turn, &named);
        if ships.is_empty() {
            return Ok(());
        }
        let answers = self.store.pipeline(&cmds, Deadline::after(PATIENCE)).await?;
        self.take_ships(turn, read_ships(ships, answers.into_iter())).await
    }

    /// The commands that read name and rules of these ships, but for those of which a write of ours is under way.
    fn questions(&self, turn: &Turn, ids: &[Uuid]) -> Questions {
        let (keys, mut asked) = (self.keys, Questions::default());
        for id in ids.iter().filter(|id| !turn.unstored.has(Topic::Ship(**id))) {
            let Some(ship) = turn.world.ships.get(id) else { continue };
            let (Ok(key), Ok(rules)) = (keys.ship(*id), keys.rules(*id)) else { continue };
            asked.cmds.push(cmd(&["HGET", key.as_str(), "name"]));
            asked.cmds.push(cmd(&["SMEMBERS", rules.as_str()]));
            let mut known = Vec::with_capacity(ship.rules.len());
            for rule in ship.rules.iter() {
                let Ok(key) = keys.rule(*id, rule.id) else { continue };
                asked.cmds.push(cmd(&["HGETALL", key.as_str()]));
                known.push(rule.id);
            }
            asked.ships.push((*id, known));
        }
        asked
    }

    /// Takes over pause, rate, scale and sync. A value that cannot be used is put back.
    fn take_pace(&self, turn: &mut Turn, answers: &[Result<Value, Fault>]) {
        if turn.unstored.has(Topic::Pace) {
            return;
        }
        let found: Vec<_> =
            answers.iter().map(|answer| answer.as_ref().ok().map(reply::text)).collect();
        let [Some(paused), Some(rate), Some(scale), Some(sync)] = found[..] else { return };
        let before = turn.world.pace.clone();
        let (now, usable) = read_pace(&before, [paused, rate, scale, sync]);
        if now != before {
            tracing::info!(?now, "somebody else set the pace of the world");
            turn.took_over(1);
            turn.world.pace = now;
            self.follow_pace(turn, &before);
        }
        if !usable {
            tracing::warn!(
                "a key of the world's pace cannot be used; the one in force is put back"
            );
            turn.extra.extend(write::pace(&turn.world, self.keys));
            turn.unstored.note(Topic::Pace);
        }
    }

    /// Takes over names and rules. Rules that are new are read first, all in one trip.
    async fn take_ships(&self, turn: &mut Turn, mut found: Vec<ShipFound>) -> Result<(), Fault> {
        let (mut cmds, mut wanted) = (Vec::new(), Vec::new());
        for (at, ship) in found.iter().enumerate() {
            for rule in ship.members.iter().flatten().filter(|id| !ship.rules.contains_key(*id)) {
                let Ok(key) = self.keys.rule(ship.id, *rule) else { continue };
                cmds.push(cmd(&["HGETALL", key.as_str()]));
                wanted.push((at, *rule));
            }
        }
        if !cmds.is_empty() {
            let answers = self.store.pipeline(&cmds, Deadline::after(PATIENCE)).await?;
            for ((at, rule), answer) in wanted.into_iter().zip(answers) {
                found[at].rules.insert(rule, fields(&answer?));
            }
        }
        for mut ship in found {
            if let Some(name) = &ship.name {
                let taken = turn.world.take_name(ship.id, name);
                turn.took_over(u64::from(taken));
            }
            let Some(members) = &ship.members else { continue };
            ship.rules.retain(|rule, fields| members.contains(rule) && !fields.is_empty());
            let taken = turn.world.take_rules(ship.id, &ship.rules);
            turn.took_over(u64::from(taken));
        }
        Ok(())
    }
}

/// The answers to [`Engine::questions`].
fn read_ships(
    asked: Vec<(Uuid, Vec<Uuid>)>,
    mut answers: impl Iterator<Item = Result<Value, Fault>>,
) -> Vec<ShipFound> {
    let mut next = || answers.next().and_then(Result::ok);
    let read = |(id, known): (Uuid, Vec<Uuid>)| {
        let name = next().as_ref().and_then(reply::text).map(str::to_owned);
        let members = next().as_ref().and_then(reply::list).map(|members| {
            members.iter().filter_map(|member| reply::text(member)?.parse().ok()).collect()
        });
        let rules = known.into_iter().filter_map(|rule| Some((rule, fields(&next()?))));
        ShipFound { id, name, members, rules: rules.collect() }
    };
    asked.into_iter().map(read).collect()
}

impl Turn {
    /// The ships whose turn it is to be looked at: all in turn, no more than a share of a second's worth.
    fn next_to_look_at(&mut self, now: Duration) -> Vec<Uuid> {
        let rate = if self.world.pace.paused { LOOKS_PAUSED } else { self.world.pace.rate };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "50000 at most"
        )]
        let share = (SHIPS_PER_S / rate.max(1.0)) as usize;
        // A tick that is late has no time for more.
        let late = self.beat.behind(now) > 1;
        let most = if late { SHIPS_LEAST } else { share.max(SHIPS_LEAST) };
        let most = most.min(self.world.ships.len());
        let after = (std::ops::Bound::Excluded(self.looked_at), std::ops::Bound::Unbounded);
        let mut ids: Vec<Uuid> =
            self.world.ships.range(after).take(most).map(|(id, _)| *id).collect();
        let rest = most - ids.len();
        ids.extend(self.world.ships.keys().take(rest));
        self.looked_at = ids.last().copied().unwrap_or_default();
        ids
    }

    fn took_over(&mut self, count: u64) {
        self.numbers.foreign += count;
        self.unshown |= count > 0;
    }

    fn heard_of(&mut self, sent: Vec<commands::Sent>) {
        if let Some(last) = sent.last() {
            self.after.clone_from(&last.entry);
        }
        self.heard.extend(sent);
    }
}

/// The pace that the keys spell. A key that is gone or cannot be used leaves the value in force; whether all that are
/// there can be used.
fn read_pace(own: &Pace, [paused, rate, scale, sync]: [Option<&str>; 4]) -> (Pace, bool) {
    let mut usable = true;
    let mut number = |word: Option<&str>, own: f64| {
        let Some(word) = word else { return own };
        let read = text::read_float(word).filter(|number| pace::RANGE.contains(number));
        usable &= read.is_some();
        read.unwrap_or(own)
    };
    let (rate, scale) = (number(rate, own.rate), number(scale, own.scale));
    let mut flag = |word: Option<&str>, own: bool| {
        let Some(word) = word else { return own };
        let read = text::read_flag(word);
        usable &= read.is_some();
        read.unwrap_or(own)
    };
    let (paused, sync) = (flag(paused, own.paused), flag(sync, own.sync));
    (Pace { rate, scale, sync, paused }, usable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_its_way_is_held_until_its_batch_is_stored() {
        let mut unstored = Unstored::default();
        unstored.note(Topic::Pace);
        let first = unstored.leaves();
        unstored.note(Topic::Ship(Uuid::nil()));
        assert!(unstored.has(Topic::Pace) && unstored.has(Topic::Ship(Uuid::nil())));
        unstored.stored(first);
        assert!(!unstored.has(Topic::Pace) && unstored.has(Topic::Ship(Uuid::nil())));
        // A batch that failed goes again with the next one.
        let _failed = unstored.leaves();
        let again = unstored.leaves();
        unstored.stored(again);
        assert!(!unstored.has(Topic::Ship(Uuid::nil())));
    }

    #[test]
    fn a_pace_that_cannot_be_used_leaves_the_one_in_force() {
        let own = Pace { rate: 2.0, scale: 3.0, sync: false, paused: false };
        let all = [Some("true"), Some("10"), Some("0.5"), Some("true")];
        let wanted = Pace { rate: 10.0, scale: 0.5, sync: true, paused: true };
        assert_eq!(read_pace(&own, all), (wanted, true));
        for bad in [
            [Some("yes"), Some("2.0"), Some("3.0"), Some("false")],
            [Some("false"), Some("1000"), Some("3.0"), Some("false")],
            [Some("false"), Some("2.0"), Some("fast"), Some("false")],
            [Some("false"), Some("2.0"), Some("3.0"), Some("")],
        ] {
            assert_eq!(read_pace(&own, bad), (own.clone(), false), "{bad:?}");
        }
        assert_eq!(read_pace(&own, [None; 4]), (own, true), "a key that is gone says nothing");
    }
}
