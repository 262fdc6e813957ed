//! How the host wants it played: how long a vote is open, and whether people who come late may play along. A latecomer
//! has a seat at once and votes from the next item on, because an open vote asks those who were there when it began.

use serde_json::json;

use super::game::text;
use super::{Decision, Desk, Done};
use crate::document;
use crate::error::{Refused, Result, word};
use crate::ids;
use crate::model::{Phase, Player, Rules};
use crate::push::Audience;
use crate::seen::corrupt;
use crate::setup;

impl Desk<'_> {
    /// Changes the rules; a rule that is left out stays as it is. An open vote keeps the end it has.
    pub(super) fn set_rules(
        &self,
        vote_ms: Option<u64>,
        latecomers: Option<bool>,
    ) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby, Phase::Game])?;
        let had = self.room.rules;
        let vote_ms = match vote_ms {
            Some(given) => setup::vote_ms(given, "vote_ms")?,
            None => had.vote_ms,
        };
        let rules = Rules { vote_ms, latecomers: latecomers.unwrap_or(had.latecomers) };
        let key = self.key(self.rooms.keys.rules(self.code))?;
        let body = json!({ "vote_ms": rules.vote_ms, "latecomers": rules.latecomers });
        let step = self.step("SET_RULES", body.clone())?;
        let mut step = match &self.room.seen.rules {
            Some(old) => step.while_text(&key, old),
            None => step.while_absent(&key),
        }
        .set(&key, &text(&rules));
        let mut told = body;
        told["code"] = self.code.into();
        step.told.push(&Audience::All, "RULES", &told);
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    /// A player of one's own for whoever came without a seat.
    pub(super) fn join_late(&self, name: &str) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby, Phase::Game])?;
        let device = self.device()?;
        if let Some(own) = self.room.player_of(device) {
            return Ok(Decision::Answer(self.not_taken(own, "device_already_has_player")));
        }
        if !self.room.rules.latecomers {
            return Err(Refused::new(word::NO_LATECOMERS).into());
        }
        let name = ids::read_name(name).ok_or(Refused::new(word::INVALID_NAME))?;
        let player = self.new_player(name)?;
        let keys = self.rooms.keys;
        let players = self.key(keys.players(self.code))?;
        let claims = self.key(keys.claims(self.code))?;
        let scores = self.key(keys.scores(self.code))?;
        let splice = document::push(self.players_text(), &text(&player))
            .map_err(|detail| corrupt(&players, &detail))?;
        let all = self.room.claims.iter().map(|(player, device)| (*player, *device));
        let mut step = self
            .step("JOIN_LATE", json!({ "player_id": player.player_id }))?
            .while_sha(&players, &self.players_sha())
            .while_hash(&claims, all)
            .splice(&players, &splice)
            .hset(&scores, &player.player_id, "0")
            .hset(&claims, &player.player_id, device);
        self.tell_player(&mut step, &Audience::All, &player, true, None);
        Ok(Decision::Step(Box::new(step), self.taken(&player.player_id)))
    }

    /// A player that stands for no sender, under a name that nobody has.
    pub(super) fn new_player(&self, name: String) -> Result<Player<'static>> {
        self.name_is_free(&name, None, None)?;
        if self.room.players.len() >= self.rooms.sizes.players {
            return Err(Refused::new(word::ROOM_FULL).into());
        }
        Ok(Player {
            player_id: ids::draw_player_id(),
            sender_id: None,
            is_sender_bound: false,
            active: true,
            name,
            avatar_url: None,
        })
    }
}
