//! Votes and how they close. A vote is taken by a script that also counts and scores, so an item closes once
//! however many last votes arrive together; forced closes are timers in the store that any server serves.

use kernel::keyspace::Key;
use kernel::{Deadline, Fault, Verdict, reply};
use serde::Serialize;
use serde_json::json;

use super::game::text;
use super::{Caller, Decision, Desk, Done, Rooms};
use crate::command::{Command, RoundItem};
use crate::error::{Refused, Result, RoomError, word};
use crate::events::Fact;
use crate::model::{Phase, Status, Vote};
use crate::push::{Audience, Reply, line};
use crate::scripts::VOTE;
use crate::seen::{Parts, Room, corrupt};
use crate::step::RoomStep;

/// The look that closes a vote.
const CLOSING: Parts = Parts("rvf");
/// The log of votes that could not be closed in time.
static WAITS: kernel::LogOnce = kernel::LogOnce::new();

/// Why the script is called.
#[derive(Clone, Copy)]
enum Cause<'a> {
    /// A vote: player, device, the vote's text.
    Vote(&'a str, &'a str, &'a str),
    /// The deadline of a forced close has come.
    Force,
    /// Everybody has voted, and a writer died before closing it.
    Heal,
}

impl Cause<'_> {
    fn word(self) -> &'static str {
        match self {
            Cause::Vote(..) => "complete",
            Cause::Force => "forced",
            Cause::Heal => "healed",
        }
    }
}

/// A call of the script that takes votes and closes items.
struct VoteCall {
    rooms: Rooms,
    names: Vec<Key>,
    args: [String; 15],
    cause: &'static str,
    /// Told after the call, where it cannot be part of it.
    fact: Option<Fact>,
}

/// The script's answer.
enum Cast {
    Accepted,
    Closed,
    Retry,
    Gone,
    Refused(&'static str),
}

#[derive(Serialize)]
struct Ack<'a> {
    code: &'a str,
    round_id: &'a str,
    item_id: &'a str,
    accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct Voted<'a> {
    code: &'a str,
    round_id: &'a str,
    item_id: &'a str,
    player_id: &'a str,
}

#[derive(Serialize)]
struct VoteClosed<'a> {
    code: &'a str,
    round_id: &'a str,
    item_id: &'a str,
    version: u64,
}

#[derive(Serialize)]
struct Forced<'a> {
    code: &'a str,
    round_id: &'a str,
    item_id: &'a str,
    ends_at_ms: u64,
}

impl Desk<'_> {
    fn ack(&self, place: &RoundItem, reason: Option<&str>) -> Done {
        let RoundItem { round_id, item_id } = place;
        let ack = Ack { code: self.code, round_id, item_id, accepted: reason.is_none(), reason };
        Done::reply(Reply::new("VOTE_ACK", &ack))
    }

    pub(super) fn vote(
        &self,
        place: &RoundItem,
        named: Option<&str>,
        selections: &[String],
    ) -> Result<Decision> {
        self.in_phase(&[Phase::Game])?;
        let device = self.device()?;
        match self.vote_reason(place, named, selections, device) {
            Some(reason) => Ok(Decision::Answer(self.ack(place, Some(reason)))),
            None => self.cast(place, device, selections),
        }
    }

    /// Why a vote does not count, in the order of the rules.
    fn vote_reason(
        &self,
        place: &RoundItem,
        named: Option<&str>,
        selections: &[String],
        device: &str,
    ) -> Option<&'static str> {
        let room = self.room;
        let ballot = room.game.vote.as_ref();
        let same =
            ballot.is_some_and(|b| b.round_id == place.round_id && b.item_id == place.item_id);
        let ballot = match (ballot, room.game.status, same) {
            (Some(ballot), Status::Vote, true) => ballot,
            (_, Status::Vote, false) | (Some(_), _, true) => return Some("late"),
            _ => return Some("not_in_vote"),
        };
        let own = room.player_of(device).filter(|own| named.is_none_or(|named| named == *own));
        let Some(own) = own else { return Some("not_claimed") };
        if !ballot.expected_player_ids.iter().any(|player| player == own) {
            return Some("not_expected_voter");
        }
        let k = room.item().map_or(0, |(_, _, item)| item.k);
        if selections.len() > k {
            return Some("too_many");
        }
        let known = |id: &String| room.senders.iter().any(|s| s.active && s.sender_id == *id);
        let twice = (1..selections.len()).any(|n| selections[..n].contains(&selections[n]));
        (twice || !selections.iter().all(known)).then_some("invalid_selection")
    }

    /// Hands the vote to the script.
    fn cast(&self, place: &RoundItem, device: &str, selections: &[String]) -> Result<Decision> {
        let vote = text(&Vote { selections: selections.to_vec(), ts: self.now_ms });
        let player_id = self.room.player_of(device).unwrap_or_default();
        let call = self.vote_call(Cause::Vote(player_id, device, &vote))?;
        let (accepted, gone) = (self.ack(place, None), self.rooms.gone(self.caller));
        let refused =
            ["not_claimed", "not_expected_voter"].map(|why| (why, self.ack(place, Some(why))));
        Ok(Decision::Call(Box::new(move |by| {
            Box::pin(async move {
                Ok(match call.run(by).await? {
                    Cast::Accepted | Cast::Closed => Some(Ok(accepted)),
                    Cast::Refused(why) => refused.into_iter().find(|r| r.0 == why).map(|r| Ok(r.1)),
                    Cast::Gone => Some(Err(gone.into())),
                    Cast::Retry => None,
                })
            })
        })))
    }

    /// Closes what is complete and still open, and then looks again: a writer died halfway, or a foreign one never
    /// closed it.
    pub(super) fn heal<T: Send + 'static>(&self) -> Result<Option<Decision<T>>> {
        let complete = self.room.open_ballot().is_some_and(|(_, complete)| complete);
        if !complete || self.room.round.is_none() {
            return Ok(None);
        }
        let call = self.vote_call(Cause::Heal)?;
        Ok(Some(Decision::Call(Box::new(move |by| {
            Box::pin(async move { call.run(by).await.map(|_| None) })
        }))))
    }

    pub(super) fn force_close(&self, place: &RoundItem, delay_ms: u64) -> Result<Decision> {
        self.in_phase(&[Phase::Game])?;
        self.in_status(Status::Vote)?;
        let ballot = self.room.game.vote.as_ref();
        if !ballot.is_some_and(|b| b.round_id == place.round_id && b.item_id == place.item_id) {
            return Err(Refused::new(word::NOT_CURRENT_ITEM).into());
        }
        let wanted = self.now_ms + delay_ms;
        let forced = |ends_at_ms| Forced {
            code: self.code,
            round_id: &place.round_id,
            item_id: &place.item_id,
            ends_at_ms,
        };
        // It can only be brought forward.
        if let Some(known) = self.room.deadline.filter(|known| *known <= wanted) {
            let reply = Reply::new("VOTE_FORCE_CLOSE_STARTED", &forced(known));
            return Ok(Decision::Answer(Done::reply(reply)));
        }
        let keys = self.rooms.keys;
        let deadline = self.key(keys.vote_deadline(self.code))?;
        let game = self.key(keys.game(self.code))?;
        let body =
            json!({ "round_id": place.round_id, "item_id": place.item_id, "ends_at_ms": wanted });
        let step = self
            .step("FORCE_CLOSE_VOTE", body)?
            .while_text(&game, self.room.seen.game.as_deref().unwrap_or_default());
        let mut step = match self.room.deadline {
            Some(known) => step.while_text(&deadline, &known.to_string()),
            None => step.while_absent(&deadline),
        }
        .set(&deadline, &wanted.to_string());
        step = self.arm(step, place, wanted);
        step.told.push(&Audience::All, "VOTE_FORCE_CLOSE_STARTED", &forced(wanted));
        Ok(Decision::Step(Box::new(step), Done::default()))
    }
}

impl Desk<'_> {
    /// The timer of a vote's end, where it can be part of the step; else it was armed before.
    pub(super) fn arm(&self, step: RoomStep, place: &RoundItem, at_ms: u64) -> RoomStep {
        if self.rooms.events_in_step().is_none() {
            return step;
        }
        let member = timer_name(self.code, place, at_ms);
        step.beside(self.rooms.timer_keys().arm(&member, at_ms, ""))
    }
}

/// A timer for each deadline: bringing it forward arms another, and the later one finds nothing to do.
fn timer_name(code: &str, place: &RoundItem, at_ms: u64) -> String {
    format!("{code}:{}:{}:{at_ms}", place.round_id, place.item_id)
}

impl Rooms {
    /// The vote that a command gives an end to, where its timer must be armed before the step.
    pub(super) async fn will_close<'a>(
        &self,
        code: &str,
        caller: &Caller<'_>,
        command: &'a Command,
    ) -> Result<Option<(&'a RoundItem, u64)>> {
        if self.events_in_step().is_some() {
            return Ok(None);
        }
        match command {
            Command::ForceCloseVote { place, delay_ms } => Ok(Some((place, *delay_ms))),
            Command::ReelOpened(place) => {
                let parts = Parts("u");
                let seen = self.look(code, parts, caller).await?;
                let room = Room::read(self.keys, code, &seen, parts, self.clock.now_ms())?;
                Ok(room.rules.vote_ms.map(|delay_ms| (place, delay_ms)))
            }
            _ => Ok(None),
        }
    }

    /// Arms the timer before the step, where the two cannot be one. The step may still refuse; then the timer
    /// finds nothing to do.
    pub(super) async fn arm_ahead(
        &self,
        code: &str,
        place: &RoundItem,
        delay_ms: u64,
    ) -> std::result::Result<(), Fault> {
        // A little late rather than early: the step's own deadline is what counts, and it is looked at.
        let at_ms = self.clock.now_ms() + delay_ms;
        let ops = self.timer_keys().arm(&timer_name(code, place, at_ms), at_ms, "");
        let cmds: Vec<kernel::Cmd> = ops.iter().map(kernel::Op::cmd).collect();
        let by = Deadline::after(super::PATIENCE);
        let answers = self.store.pipeline(&cmds, by).await?;
        answers.into_iter().collect::<std::result::Result<Vec<_>, _>>().map(drop)
    }

    /// Serves one forced close: closes the vote when its deadline has come.
    pub async fn serve_deadline(&self, timer: &kernel::Timer) -> Verdict {
        let code = timer.member.split(':').next().unwrap_or_default();
        match self.close_due(code).await {
            Ok(Some(later)) => Verdict::Again(later),
            // Nothing is open any more, or the room is gone.
            Ok(None) | Err(RoomError::Refused(_)) => Verdict::Done,
            Err(RoomError::Fault(fault)) => {
                if WAITS.is_news(code, &fault) {
                    tracing::warn!(%fault, code, "a forced close has to wait");
                }
                Verdict::Failed
            }
        }
    }

    /// The keys of the timers, for whoever serves them.
    pub fn deadline_timers(&self) -> kernel::TimerKeys {
        self.timer_keys()
    }

    /// Closes the open vote by force when its deadline has passed; says when to look again when it has not.
    pub async fn close_due(&self, code: &str) -> Result<Option<u64>> {
        let rule = |desk: &Desk<'_>| {
            let open = desk.room.open_ballot().is_some();
            let Some(deadline) = desk.room.deadline.filter(|_| open) else {
                return Ok(Decision::Answer(None));
            };
            if deadline > desk.now_ms {
                return Ok(Decision::Answer(Some(deadline)));
            }
            let call = desk.vote_call(Cause::Force)?;
            Ok(Decision::Call(Box::new(move |by| {
                Box::pin(async move {
                    Ok(match call.run(by).await? {
                        Cast::Retry => None,
                        _ => Some(Ok(None)),
                    })
                })
            })))
        };
        self.change(code, CLOSING, &Caller::default(), rule).await
    }
}

impl Desk<'_> {
    /// The one close routine: with a vote, by force, or because everybody has voted.
    fn vote_call(&self, cause: Cause<'_>) -> Result<VoteCall> {
        let (rooms, room, code, keys) = (self.rooms, self.room, self.code, self.rooms.keys);
        let missing = |what| corrupt(format!("room:{code}:game"), what);
        let ballot = room.game.vote.as_ref().ok_or_else(|| missing("the vote is missing"))?;
        let (round_id, item_id) = (ballot.round_id.as_str(), ballot.item_id.as_str());
        let item = room.round.as_ref().and_then(|r| r.items.iter().find(|i| i.item_id == item_id));
        let item = item.ok_or_else(|| {
            corrupt(format!("room:{code}:round:{round_id}"), "the item is missing")
        })?;
        let events = rooms.events_in_step();
        let own = [
            keys.meta(code),
            keys.game(code),
            keys.claims(code),
            keys.votes(code, round_id, item_id),
            keys.round(code, round_id),
            keys.scores(code),
            keys.round_delta(code, round_id),
            keys.vote_deadline(code),
        ];
        let mut names = own.into_iter().map(|key| self.key(key)).collect::<Result<Vec<_>>>()?;
        let is_told_after = events.is_none();
        names.extend(events);
        let (player_id, device, vote, force) = match cause {
            Cause::Vote(player_id, device, vote) => (player_id, device, vote, ""),
            Cause::Force => ("", "", "", "force"),
            Cause::Heal => ("", "", "", ""),
        };
        let voted = Voted { code, round_id, item_id, player_id };
        let truth = text(&item.true_sender_ids);
        let head = format!(
            r#"m {{"type":"VOTE_RESULTS","payload":{{"code":"{code}","round_id":"{round_id}","item_id":"{item_id}","true_senders":{truth},"players":["#
        );
        // Phones hear that the vote is closed, and nothing more.
        let version = room.game.version + 1;
        let closing = VoteClosed { code, round_id, item_id, version };
        let told = line(&Audience::Plays, "VOTE_CLOSED", &closing);
        let mut body = json!({ "code": code, "round_id": round_id, "item_id": item_id });
        let kind = if player_id.is_empty() { "VOTE_RESULTS" } else { "SUBMIT_VOTE" };
        if !player_id.is_empty() {
            body["player_id"] = player_id.into();
        }
        let args = [
            room.meta.expires_at.to_string(),
            room.seen.game.clone().unwrap_or_default(),
            self.next_game(&[("status", text(&Status::RevealWait))])?,
            item_id.to_owned(),
            player_id.to_owned(),
            device.to_owned(),
            vote.to_owned(),
            force.to_owned(),
            rooms.bus(code)?.as_str().to_owned(),
            line(&Audience::Masters, "PLAYER_VOTED", &voted),
            head,
            format!("],\"version\":{version}}}}}\n{told}"),
            self.now_ms.to_string(),
            code.to_owned(),
            // The script adds how many voted, and the closing brace.
            body.to_string().trim_end_matches('}').to_owned(),
        ];
        let fact = Fact { kind, at_ms: self.now_ms, code: code.to_owned(), body };
        let fact = is_told_after.then_some(fact);
        Ok(VoteCall { rooms: rooms.clone(), names, args, cause: cause.word(), fact })
    }
}

impl VoteCall {
    async fn run(self, by: Deadline) -> std::result::Result<Cast, Fault> {
        let names: Vec<&[u8]> = self.names.iter().map(Key::as_bytes).collect();
        let args = self.args.each_ref().map(String::as_bytes);
        let answer = self.rooms.store.script(&VOTE, &names, &args, by).await?;
        let parts = reply::list(&answer).unwrap_or_default();
        let number = |n: usize| parts.get(n).and_then(reply::int).unwrap_or(0);
        let cast = match parts.first().and_then(reply::text) {
            Some("accepted") => Cast::Accepted,
            Some("closed") => Cast::Closed,
            Some("retry" | "waiting") => Cast::Retry,
            Some("gone") => Cast::Gone,
            Some("not_claimed") => Cast::Refused("not_claimed"),
            Some("not_expected_voter") => Cast::Refused("not_expected_voter"),
            _ => return Err(reply::unexpected(names[3], "what became of a vote", &answer)),
        };
        if matches!(cast, Cast::Closed) {
            metrics::counter!("worldkeep_rooms_closes_total", "cause" => self.cause).increment(1);
        }
        if let (Some(mut fact), Cast::Accepted | Cast::Closed) = (self.fact, &cast) {
            fact.body["votes"] = number(2).into();
            fact.body["expected"] = number(3).into();
            fact.body["closed"] = matches!(cast, Cast::Closed).into();
            self.rooms.append(fact);
        }
        Ok(cast)
    }
}
