//! The lobby: who holds which player, names, photos, who plays. A player has one device and a device one player,
//! always; a player that is switched off is held by nobody.

use kernel::keyspace::Key;
use kernel::reply;
use serde::Serialize;
use serde_json::json;

use super::{Decision, Desk, Done, Seat};
use crate::document;
use crate::error::{Refused, Result, word};
use crate::ids;
use crate::model::{Phase, Player, Sender};
use crate::push::{Audience, Reply, line};
use crate::scripts::TAKE;
use crate::seen::{corrupt, sha};
use crate::step::RoomStep;
use crate::view::{PlayerUpdate, PlayerView};

#[derive(Serialize)]
struct Seated<'a> {
    code: &'a str,
    player_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl Desk<'_> {
    pub(super) fn take_player(&self, player_id: &str) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby, Phase::Game])?;
        let device = self.device()?;
        let room = self.room;
        let Some(player) = room.player(player_id) else {
            return Ok(Decision::Answer(self.not_taken(player_id, "player_not_found")));
        };
        if !player.active {
            return Ok(Decision::Answer(self.not_taken(player_id, "inactive")));
        }
        let holder = room.claims.get(player_id).copied();
        if holder.is_some_and(|holder| holder != device) {
            return Ok(Decision::Answer(self.not_taken(player_id, "taken_now")));
        }
        if room.player_of(device).is_some_and(|own| own != player_id) {
            return Ok(Decision::Answer(self.not_taken(player_id, "device_already_has_player")));
        }
        if holder.is_some() {
            return Ok(Decision::Answer(self.taken(player_id)));
        }
        self.take(player, device)
    }

    pub(super) fn taken(&self, player_id: &str) -> Done {
        let seated = Seated { code: self.code, player_id, reason: None };
        Done {
            seat: Seat::Taken(player_id.to_owned()),
            ..Done::reply(Reply::new("TAKE_PLAYER_OK", &seated))
        }
    }

    pub(super) fn not_taken(&self, player_id: &str, reason: &str) -> Done {
        let seated = Seated { code: self.code, player_id, reason: Some(reason) };
        Done::reply(Reply::new("TAKE_PLAYER_FAIL", &seated))
    }

    /// A device takes a player; the script decides.
    fn take(&self, player: &Player<'_>, device: &str) -> Result<Decision> {
        let (rooms, room, keys) = (self.rooms.clone(), self.room, self.rooms.keys);
        let player_id = &player.player_id;
        let body = json!({ "player_id": player_id, "claims": room.claims.len() + 1 });
        let fact = self.fact("TAKE_PLAYER", body);
        let events = rooms.events_in_step();
        let own = [keys.meta(self.code), keys.players(self.code), keys.claims(self.code)];
        let own = own.into_iter().map(|key| self.key(key)).collect::<Result<Vec<_>>>()?;
        let update = PlayerUpdate {
            code: self.code,
            player: PlayerView::new(player, true),
            sender_updated: None,
        };
        let args = [
            room.meta.expires_at.to_string(),
            room.seen.meta.clone(),
            self.players_sha(),
            player_id.clone(),
            device.to_owned(),
            rooms.bus(self.code)?.as_str().to_owned(),
            line(&Audience::All, "PLAYER_UPDATE", &update),
            self.now_ms.to_string(),
            self.code.to_owned(),
            fact.body_text(),
        ];
        let (taken, gone) = (self.taken(player_id), rooms.gone(self.caller));
        let refused = ["taken_now", "device_already_has_player"]
            .map(|reason| (reason, self.not_taken(player_id, reason)));
        Ok(Decision::Call(Box::new(move |by| {
            Box::pin(async move {
                let names: Vec<&[u8]> = own.iter().chain(&events).map(Key::as_bytes).collect();
                let args = args.each_ref().map(String::as_bytes);
                let answer = rooms.store.script(&TAKE, &names, &args, by).await?;
                match reply::text(&answer) {
                    Some("taken") => {
                        if events.is_none() {
                            rooms.append(fact);
                        }
                        Ok(Some(Ok(taken)))
                    }
                    Some("held") => Ok(Some(Ok(taken))),
                    Some("changed") => Ok(None),
                    Some("gone") => Ok(Some(Err(gone.into()))),
                    word => match refused.into_iter().find(|(reason, _)| word == Some(*reason)) {
                        Some((_, done)) => Ok(Some(Ok(done))),
                        None => Err(reply::unexpected(&own[2], "taken or a reason", &answer)),
                    },
                }
            })
        })))
    }

    pub(super) fn players_sha(&self) -> String {
        sha(self.room.seen.players.as_deref().unwrap_or_default())
    }

    pub(super) fn players_text(&self) -> &str {
        self.room.seen.players.as_deref().unwrap_or_default()
    }

    fn player_index(&self, player_id: &str) -> Result<usize> {
        let place = self.room.players.iter().position(|player| player.player_id == player_id);
        Ok(place.ok_or(Refused::new(word::UNKNOWN_PLAYER))?)
    }

    /// Tells everybody how a player looks now.
    pub(super) fn tell_player(
        &self,
        step: &mut RoomStep,
        to: &Audience<'_>,
        player: &Player<'_>,
        taken: bool,
        sender: Option<&Sender>,
    ) {
        let player = PlayerView::new(player, taken);
        let update = PlayerUpdate { code: self.code, player, sender_updated: sender };
        step.told.push(to, "PLAYER_UPDATE", &update);
    }

    fn tell_lost_seat(&self, step: &mut RoomStep, device: &str, player_id: &str, reason: &str) {
        let lost = Seated { code: self.code, player_id, reason: Some(reason) };
        step.told.push(&Audience::Device(device), "SLOT_INVALIDATED", &lost);
    }

    /// The answer to a wish that changes nothing.
    fn unchanged(&self, player: &Player<'_>) -> Decision {
        let player = self.room.view(player);
        let update = PlayerUpdate { code: self.code, player, sender_updated: None };
        Decision::Answer(Done::reply(Reply::new("PLAYER_UPDATE", &update)))
    }

    pub(super) fn release(&self) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby])?;
        let device = self.device()?;
        let Some(player_id) = self.room.player_of(device) else {
            let done = Done { seat: Seat::Left, ..Done::reply(self.state_reply(false)) };
            return Ok(Decision::Answer(done));
        };
        let claims = self.key(self.rooms.keys.claims(self.code))?;
        let mut step = self
            .step("RELEASE_PLAYER", json!({ "player_id": player_id }))?
            .while_field(&claims, player_id, device)
            .hdel(&claims, player_id);
        if let Some(player) = self.room.player(player_id) {
            self.tell_player(&mut step, &Audience::All, player, false, None);
        }
        Ok(Decision::Step(Box::new(step), Done { seat: Seat::Left, ..Done::default() }))
    }

    pub(super) fn free(&self, player_id: &str) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby, Phase::Game])?;
        let player = &self.room.players[self.player_index(player_id)?];
        let Some(device) = self.room.claims.get(player_id) else {
            return Ok(self.unchanged(player));
        };
        let claims = self.key(self.rooms.keys.claims(self.code))?;
        let mut step = self
            .step("FREE_PLAYER", json!({ "player_id": player_id }))?
            .while_field(&claims, player_id, device)
            .hdel(&claims, player_id);
        self.tell_lost_seat(&mut step, device, player_id, "freed_by_master");
        self.tell_player(&mut step, &Audience::All, player, false, None);
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    pub(super) fn reset(&self) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby])?;
        let claims = &self.room.claims;
        if claims.is_empty() {
            return Ok(Decision::Answer(Done::reply(self.state_reply(true))));
        }
        let key = self.key(self.rooms.keys.claims(self.code))?;
        let mut step = self
            .step("RESET_CLAIMS", json!({ "claims": claims.len() }))?
            .while_hash(&key, claims.iter().map(|(player, device)| (*player, *device)))
            .del(&key);
        for player in &self.room.players {
            let Some(device) = claims.get(player.player_id.as_str()) else { continue };
            self.tell_lost_seat(&mut step, device, &player.player_id, "reset_by_master");
        }
        for player in self.room.active_players() {
            if claims.contains_key(player.player_id.as_str()) {
                self.tell_player(&mut step, &Audience::All, player, false, None);
            }
        }
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    pub(super) fn rename(&self, named: Option<&str>, new_name: &str) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby])?;
        let own = self.own_player(named)?;
        let index = self.player_index(own)?;
        let name = ids::read_name(new_name).ok_or(Refused::new(word::INVALID_NAME))?;
        let player = &self.room.players[index];
        let sender_index = player
            .sender_id
            .as_ref()
            .and_then(|id| self.room.senders.iter().position(|sender| sender.sender_id == *id));
        self.name_is_free(&name, Some(index), sender_index)?;
        if player.name == name && sender_index.is_none_or(|n| self.room.senders[n].name == name) {
            return Ok(self.unchanged(player));
        }
        let text = serde_json::to_string(&name).expect("a string is always JSON");
        let members = [("name", text)];
        let keys = self.rooms.keys;
        let players = self.key(keys.players(self.code))?;
        let claims = self.key(keys.claims(self.code))?;
        let splice = document::set_in(self.players_text(), index, &members)
            .map_err(|detail| corrupt(&players, &detail))?;
        let mut step = self
            .step("RENAME_PLAYER", json!({ "player_id": own }))?
            .while_sha(&players, &self.players_sha())
            .while_field(&claims, own, self.device()?)
            .splice(&players, &splice);
        let mut sender_updated = None;
        if let Some(at) = sender_index {
            let senders = self.key(keys.senders(self.code))?;
            let old = self.room.seen.senders_text();
            let splice = document::set_in(old, at, &members).map_err(|d| corrupt(&senders, &d))?;
            step = step.while_text(&senders, old).splice(&senders, &splice);
            sender_updated = Some(Sender { name: name.clone(), ..self.room.senders[at].clone() });
        }
        let renamed = Player { name, ..player.clone() };
        self.tell_player(&mut step, &Audience::All, &renamed, true, sender_updated.as_ref());
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    /// Nobody else has that name, whatever its case.
    pub(super) fn name_is_free(
        &self,
        name: &str,
        player: Option<usize>,
        sender: Option<usize>,
    ) -> Result<()> {
        let folded = ids::fold_name(name);
        let room = self.room;
        let players = room.players.iter().enumerate().filter(|(n, _)| Some(*n) != player);
        let senders = room.senders.iter().enumerate().filter(|(n, _)| Some(*n) != sender);
        let mut names = players.map(|(_, p)| &p.name).chain(senders.map(|(_, s)| &s.name));
        if names.any(|other| ids::fold_name(other) == folded) {
            return Err(Refused::new(word::NAME_TAKEN).into());
        }
        Ok(())
    }

    pub(super) fn avatar(&self, named: Option<&str>, image: Option<&str>) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby])?;
        let own = self.own_player(named)?;
        let index = self.player_index(own)?;
        let most = self.rooms.sizes.avatar_chars;
        if let Some(reason) = image.and_then(|url| ids::avatar_fault(url, most)) {
            let details = json!({ "reason": reason, "most_chars": most });
            return Err(Refused::with(word::INVALID_AVATAR, details).into());
        }
        let raw = serde_json::value::to_raw_value(&image).expect("a string is always JSON");
        let keys = self.rooms.keys;
        let players = self.key(keys.players(self.code))?;
        let claims = self.key(keys.claims(self.code))?;
        let members = [("avatar_url", raw.get().to_owned())];
        let splice = document::set_in(self.players_text(), index, &members)
            .map_err(|detail| corrupt(&players, &detail))?;
        let mut step = self
            .step("UPDATE_AVATAR", json!({ "player_id": own, "removed": image.is_none() }))?
            .while_sha(&players, &self.players_sha())
            .while_field(&claims, own, self.device()?)
            .splice(&players, &splice);
        let avatar_url = image.is_some().then_some(&*raw);
        let player = Player { avatar_url, ..self.room.players[index].clone() };
        self.tell_player(&mut step, &Audience::All, &player, true, None);
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    pub(super) fn toggle(&self, player_id: &str, active: bool) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby])?;
        let index = self.player_index(player_id)?;
        let player = &self.room.players[index];
        if player.active == active {
            return Ok(self.unchanged(player));
        }
        let keys = self.rooms.keys;
        let players = self.key(keys.players(self.code))?;
        let claims = self.key(keys.claims(self.code))?;
        let splice =
            document::set_in(self.players_text(), index, &[("active", active.to_string())])
                .map_err(|detail| corrupt(&players, &detail))?;
        let mut step = self
            .step("TOGGLE_PLAYER", json!({ "player_id": player_id, "active": active }))?
            .while_sha(&players, &self.players_sha())
            .splice(&players, &splice);
        let toggled = Player { active, ..player.clone() };
        if active {
            self.tell_player(&mut step, &Audience::All, &toggled, false, None);
            return Ok(Decision::Step(Box::new(step), Done::default()));
        }
        match self.room.claims.get(player_id) {
            // A device that takes it meanwhile is expelled by the next try; nobody holds a player that is off.
            Some(device) => {
                step = step.while_field(&claims, player_id, device).hdel(&claims, player_id);
                self.tell_lost_seat(&mut step, device, player_id, "disabled_or_deleted");
            }
            None => step = step.while_no_field(&claims, player_id),
        }
        self.tell_player(&mut step, &Audience::Masters, &toggled, false, None);
        let removed = Seated { code: self.code, player_id, reason: None };
        step.told.push(&Audience::Plays, "PLAYER_REMOVED", &removed);
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    pub(super) fn add(&self, name: &str) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby])?;
        let name = ids::read_name(name).ok_or(Refused::new(word::INVALID_NAME))?;
        let player = self.new_player(name)?;
        let keys = self.rooms.keys;
        let players = self.key(keys.players(self.code))?;
        let scores = self.key(keys.scores(self.code))?;
        let text = serde_json::to_string(&player).expect("a player is plain data");
        let splice =
            document::push(self.players_text(), &text).map_err(|d| corrupt(&players, &d))?;
        let mut step = self
            .step("ADD_PLAYER", json!({ "player_id": player.player_id }))?
            .while_sha(&players, &self.players_sha())
            .splice(&players, &splice)
            .hset(&scores, &player.player_id, "0");
        self.tell_player(&mut step, &Audience::All, &player, false, None);
        Ok(Decision::Step(Box::new(step), Done::default()))
    }

    pub(super) fn delete(&self, player_id: &str) -> Result<Decision> {
        self.in_phase(&[Phase::Lobby])?;
        let index = self.player_index(player_id)?;
        if self.room.players[index].is_sender_bound {
            return Err(Refused::new(word::NOT_MANUAL).into());
        }
        let keys = self.rooms.keys;
        let players = self.key(keys.players(self.code))?;
        let claims = self.key(keys.claims(self.code))?;
        let scores = self.key(keys.scores(self.code))?;
        let splice =
            document::remove(self.players_text(), index).map_err(|d| corrupt(&players, &d))?;
        let mut step = self
            .step("DELETE_PLAYER", json!({ "player_id": player_id }))?
            .while_sha(&players, &self.players_sha())
            .splice(&players, &splice)
            .hdel(&scores, player_id);
        match self.room.claims.get(player_id) {
            Some(device) => {
                step = step.while_field(&claims, player_id, device).hdel(&claims, player_id);
                self.tell_lost_seat(&mut step, device, player_id, "disabled_or_deleted");
            }
            None => step = step.while_no_field(&claims, player_id),
        }
        let removed = Seated { code: self.code, player_id, reason: None };
        step.told.push(&Audience::All, "PLAYER_REMOVED", &removed);
        Ok(Decision::Step(Box::new(step), Done::default()))
    }
}
