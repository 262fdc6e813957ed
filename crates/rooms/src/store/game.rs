//! The course of the game: start, reel by reel, round by round, the podium. Each transition asks for a phase and
//! a status and names the item it means, so two Masters pressing at once advance it once.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::{Decision, Desk, Done};
use crate::command::RoundItem;
use crate::document;
use crate::error::{Refused, Result, word};
use crate::model::{Ballot, Phase, Round, Status};
use crate::push::Audience;
use crate::seen::corrupt;
use crate::step::RoomStep;
use crate::view::{RecapLine, Selectable, VoteResult};

#[derive(Serialize)]
struct Coded<'a> {
    code: &'a str,
}

#[derive(Serialize)]
struct StartVote<'a> {
    code: &'a str,
    round_id: &'a str,
    item_id: &'a str,
    k: usize,
    senders_selectable: Vec<Selectable<'a>>,
    version: u64,
    /// When the vote ends by itself, by the rules of the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_player_ids: Option<&'a [String]>,
}

#[derive(Serialize)]
struct ItemResult<'a> {
    code: &'a str,
    round_id: &'a str,
    item_id: &'a str,
    true_senders: &'a [String],
    mine: Option<&'a VoteResult<'a>>,
    /// Everybody's points now, for one's own place.
    scores: &'a BTreeMap<&'a str, i64>,
}

#[derive(Serialize)]
struct Recap<'a> {
    code: &'a str,
    round_id: &'a str,
    players: &'a [RecapLine<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

/// JSON of a value that cannot fail to be written.
pub(super) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("what we store is plain data")
}

impl Desk<'_> {
    /// The game's text with these members, one version on.
    pub(super) fn next_game(&self, members: &[(&str, String)]) -> Result<String> {
        let mut members = members.to_vec();
        members.push(("version", (self.room.game.version + 1).to_string()));
        let old = self.room.seen.game.as_deref().unwrap_or_default();
        let key = self.key(self.rooms.keys.game(self.code))?;
        Ok(document::set(old, &members).map_err(|detail| corrupt(&key, &detail))?)
    }

    fn next_meta(&self, phase: Phase) -> Result<String> {
        let version = (self.room.meta.version + 1).to_string();
        let members = [("phase", text(&phase)), ("version", version)];
        let key = self.key(self.rooms.keys.meta(self.code))?;
        Ok(document::set(&self.room.seen.meta, &members).map_err(|d| corrupt(&key, &d))?)
    }

    /// A step that rewrites the game as it was seen.
    pub(super) fn game_step(
        &self,
        kind: &'static str,
        body: serde_json::Value,
        new: &str,
    ) -> Result<RoomStep> {
        let game = self.key(self.rooms.keys.game(self.code))?;
        let old = self.room.seen.game.as_deref().unwrap_or_default();
        Ok(self.step(kind, body)?.while_text(&game, old).set(&game, new))
    }

    /// Players and claims are what they were.
    fn while_seats(&self, step: RoomStep) -> Result<RoomStep> {
        let keys = self.rooms.keys;
        let players = self.key(keys.players(self.code))?;
        let claims = self.key(keys.claims(self.code))?;
        let all = self.room.claims.iter().map(|(player, device)| (*player, *device));
        Ok(step.while_sha(&players, &self.players_sha()).while_hash(&claims, all))
    }

    /// A round begins: every active player has won nothing in it.
    fn begin_round(&self, mut step: RoomStep, round: &Round, version: u64) -> Result<RoomStep> {
        let delta = self.key(self.rooms.keys.round_delta(self.code, &round.round_id))?;
        for player in self.room.active_players() {
            step = step.hset(&delta, &player.player_id, "0");
        }
        let first = round.items.first().ok_or_else(|| corrupt(&delta, "a round without items"))?;
        let item = self.room.new_item(self.code, round, 0, first, version);
        step.told.push(&Audience::All, "NEW_ITEM", &item);
        Ok(step)
    }

    fn next_round_of(&self) -> Result<&Round> {
        let missing = || corrupt(format!("room:{}:round", self.code), "the next round is missing");
        Ok(self.room.next_round.as_ref().ok_or_else(missing)?)
    }

    pub(super) fn start(&self) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby])?;
        let room = self.room;
        if room.active_players().count() < 2 {
            return Err(Refused::new(word::NOT_ENOUGH_PLAYERS).into());
        }
        let unclaimed: Vec<&str> = room
            .active_players()
            .map(|player| player.player_id.as_str())
            .filter(|player| !room.claims.contains_key(player))
            .collect();
        if !unclaimed.is_empty() {
            let details = json!({ "player_ids": unclaimed });
            return Err(Refused::with(word::UNCLAIMED_PLAYERS, details).into());
        }
        let first = self.next_round_of()?;
        let version = room.game.version + 1;
        let game = self.next_game(&[
            ("phase", text(&Phase::Game)),
            ("current_round_id", text(&first.round_id)),
            ("current_item_index", "0".into()),
            ("status", text(&Status::Idle)),
            ("vote", "null".into()),
        ])?;
        let meta = self.key(self.rooms.keys.meta(self.code))?;
        let players = room.active_players().count();
        let body = json!({ "players": players, "version": version });
        let step = self.game_step("START_GAME", body, &game)?;
        let mut step = self.while_seats(step)?.set(&meta, &self.next_meta(Phase::Game)?);
        step.told.push(&Audience::All, "GAME_START", &Coded { code: self.code });
        let step = self.begin_round(step, first, version)?;
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    pub(super) fn reel_opened(&self, place: &RoundItem) -> Result<Decision> {
        self.in_phase(&[Phase::Game])?;
        self.in_status(Status::Idle)?;
        let current = self.room.item().filter(|(round, _, item)| {
            round.round_id == place.round_id && item.item_id == place.item_id
        });
        let (round, _, item) = current.ok_or(Refused::new(word::NOT_CURRENT_ITEM))?;
        let expected: Vec<String> = self
            .room
            .active_players()
            .map(|player| player.player_id.clone())
            .filter(|player| self.room.claims.contains_key(player.as_str()))
            .collect();
        if expected.is_empty() {
            return Err(Refused::new(word::NO_VOTERS).into());
        }
        let ballot = Ballot {
            round_id: round.round_id.clone(),
            item_id: item.item_id.clone(),
            expected_player_ids: expected,
        };
        let version = self.room.game.version + 1;
        let game = self.next_game(&[("status", text(&Status::Vote)), ("vote", text(&ballot))])?;
        let keys = self.rooms.keys;
        let body = json!({ "round_id": place.round_id, "item_id": place.item_id,
            "expected": ballot.expected_player_ids.len(), "version": version });
        let step = self.game_step("REEL_OPENED", body, &game)?;
        let mut step = self.while_seats(step)?.del(&self.key(keys.votes(
            self.code,
            &place.round_id,
            &place.item_id,
        ))?);
        let deadline = self.key(keys.vote_deadline(self.code))?;
        let ends_at_ms = self.room.rules.vote_ms.map(|ms| self.now_ms + ms);
        step = match ends_at_ms {
            None => step.del(&deadline),
            Some(at_ms) => self.arm(step.set(&deadline, &at_ms.to_string()), place, at_ms),
        };
        for (to, expected) in
            [(Audience::Masters, Some(&ballot.expected_player_ids[..])), (Audience::Plays, None)]
        {
            let start = StartVote {
                code: self.code,
                round_id: &place.round_id,
                item_id: &place.item_id,
                k: item.k,
                senders_selectable: self.room.selectable(),
                version,
                ends_at_ms,
                expected_player_ids: expected,
            };
            step.told.push(&to, "START_VOTE", &start);
        }
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    pub(super) fn end_item(&self, place: &RoundItem) -> Result<Decision> {
        self.in_phase(&[Phase::Game])?;
        self.in_status(Status::RevealWait)?;
        let ballot =
            self.room.game.vote.as_ref().filter(|ballot| {
                ballot.round_id == place.round_id && ballot.item_id == place.item_id
            });
        ballot.ok_or(Refused::new(word::NOT_CURRENT_ITEM))?;
        let missing = || corrupt(format!("room:{}:round", self.code), "the round is missing");
        let round = self.room.round.as_ref().ok_or_else(missing)?;
        let next = self.room.game.current_item_index.unwrap_or(0) + 1;
        let over = next >= round.items.len();
        let status = if over { Status::RoundRecap } else { Status::Idle };
        let next = next.min(round.items.len());
        let version = self.room.game.version + 1;
        let game = self.next_game(&[
            ("current_item_index", next.to_string()),
            ("status", text(&status)),
            ("vote", "null".into()),
        ])?;
        let keys = self.rooms.keys;
        let body = json!({ "round_id": place.round_id, "item_id": place.item_id,
            "status": status, "version": version });
        let mut step = self
            .game_step("END_ITEM", body, &game)?
            .del(&self.key(keys.votes(self.code, &place.round_id, &place.item_id))?)
            .del(&self.key(keys.vote_deadline(self.code))?);
        if let Some(results) = self.room.results() {
            step = step.set(&self.key(keys.last(self.code))?, &text(&results.kept()));
        }
        self.tell_results(&mut step, place);
        if over {
            self.tell_recap(&mut step, &round.round_id, version);
        } else {
            let item = self.room.new_item(self.code, round, next, &round.items[next], version);
            step.told.push(&Audience::All, "NEW_ITEM", &item);
        }
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    /// To each phone what it guessed, to the others only who it was.
    fn tell_results(&self, step: &mut RoomStep, place: &RoundItem) {
        let Some(results) = self.room.results() else { return };
        let scores = self.room.scores_of(false);
        let result = |mine| ItemResult {
            code: self.code,
            round_id: &place.round_id,
            item_id: &place.item_id,
            true_senders: results.true_senders,
            mine,
            scores: &scores,
        };
        for mine in &results.players {
            if let Some(device) = self.room.claims.get(mine.player_id) {
                step.told.push(&Audience::Own(device), "ITEM_RESULT", &result(Some(mine)));
            }
        }
        step.told.push(&Audience::Rest, "ITEM_RESULT", &result(None));
    }

    fn tell_recap(&self, step: &mut RoomStep, round_id: &str, version: u64) {
        let players = self.room.recap();
        let recap = |version| Recap { code: self.code, round_id, players: &players, version };
        step.told.push(&Audience::Masters, "ROUND_RECAP", &recap(Some(version)));
        step.told.push(&Audience::Plays, "ROUND_FINISHED", &recap(None));
    }

    pub(super) fn next_round(&self) -> Result<Decision> {
        self.in_phase(&[Phase::Game])?;
        self.in_status(Status::RoundRecap)?;
        let game = &self.room.game;
        let at = game.round_order.iter().position(|id| Some(id) == game.current_round_id.as_ref());
        let is_last = at.is_none_or(|at| at + 1 >= game.round_order.len());
        if is_last {
            return self.game_over();
        }
        let round = self.next_round_of()?;
        let version = game.version + 1;
        let new = self.next_game(&[
            ("current_round_id", text(&round.round_id)),
            ("current_item_index", "0".into()),
            ("status", text(&Status::Idle)),
            ("vote", "null".into()),
        ])?;
        let body = json!({ "round_id": round.round_id, "version": version });
        let step = self.game_step("START_NEXT_ROUND", body, &new)?;
        let step = self.begin_round(step, round, version)?;
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    /// Only `meta` says so; `game` stays as it is.
    fn game_over(&self) -> Result<Decision> {
        #[derive(Serialize)]
        struct GameOver<'a> {
            code: &'a str,
            ranking: Vec<crate::view::Ranked<'a>>,
            scores: std::collections::BTreeMap<&'a str, i64>,
        }
        let keys = self.rooms.keys;
        let (meta, game) = (self.key(keys.meta(self.code))?, self.key(keys.game(self.code))?);
        let old = self.room.seen.game.as_deref().unwrap_or_default();
        let body = json!({ "players": self.room.active_players().count(),
            "version": self.room.meta.version + 1 });
        let mut step = self
            .step("GAME_OVER", body)?
            .while_text(&game, old)
            .set(&meta, &self.next_meta(Phase::Over)?);
        let over = GameOver {
            code: self.code,
            ranking: self.room.ranking(),
            scores: self.room.scores_of(false),
        };
        step.told.push(&Audience::All, "GAME_OVER", &over);
        Ok(Decision::Step(Box::new(step), Done::default()))
    }
}
