//! The same people play on: a new room with their names, photos, seats and devices, directed by the same key. The new
//! room is written whole, seats included, in one step; then one step of the old room names it, and only with that does
//! anybody hear of it. The two rooms need not share a slot. A server that dies in between leaves a room that nobody
//! knows, which ends with its life, and the old one as it was.

use std::collections::{BTreeMap, HashSet};

use kernel::Fault;
use serde_json::json;

use super::{Caller, Created, Decision, PATIENCE, Proof, Rooms, prove};
use crate::error::{Refused, Result, RoomError, word};
use crate::ids;
use crate::model::Player;
use crate::push::Audience;
use crate::seen::{Parts, Room, RoomTexts, bad_id, sha};
use crate::setup::{Plan, Setup, refuse};

/// The parts of a room that go along.
const CARRIED: Parts = Parts("pscux");
/// How often the move begins anew before the host is told that the room is busy.
const TRIES: usize = 8;

impl Rooms {
    /// Makes the room in which the people of this one play on, and tells them. Only with the key, which directs both.
    /// Begins anew when somebody took a seat or changed a photo meanwhile. All of it takes no longer than one command may:
    /// when the store dies midway, the host hears that the outcome is unknown.
    pub async fn next(&self, code: &str, key: &str, setup: &Setup) -> Result<Created> {
        let moved = tokio::time::timeout(PATIENCE, self.next_in_tries(code, key, setup)).await;
        let late = || Fault::Unknown("the store did not answer while the people moved on".into());
        moved.unwrap_or_else(|_| Err(late().into()))
    }

    async fn next_in_tries(&self, code: &str, key: &str, setup: &Setup) -> Result<Created> {
        let caller = Caller { proof: Proof::Key(key), ..Caller::default() };
        for _ in 1..TRIES {
            match self.try_next(code, key, &caller, setup).await {
                Err(RoomError::Refused(refused)) if refused.message == word::BUSY.word => {}
                done => return done,
            }
        }
        self.try_next(code, key, &caller, setup).await
    }

    async fn try_next(
        &self,
        code: &str,
        key: &str,
        caller: &Caller<'_>,
        setup: &Setup,
    ) -> Result<Created> {
        let seen = self.look(code, CARRIED, caller).await?;
        let now_ms = self.clock.now_ms();
        let room = Room::read(self.keys, code, &seen, CARRIED, now_ms)?;
        prove(&room, caller, true)?;
        stays(&seen)?;
        let mut plan = setup.plan(&self.sizes, now_ms)?;
        if setup.rules.is_none() {
            plan.rules = room.rules;
        }
        carry(&room, setup, &mut plan, self.sizes.players)?;
        let made = self.make(&plan, key.to_owned(), now_ms).await?;
        match self.move_on(code, caller, &seen, &made.code).await {
            Ok(()) => Ok(made),
            Err(error) => {
                // An outcome that is unknown may have been told already: then the room is needed.
                if !matches!(error, RoomError::Fault(Fault::Unknown(_))) {
                    let _ = self.close(&made.code, caller).await;
                }
                Err(error)
            }
        }
    }

    /// The step that everybody hears of. Refused when the seats are not those that went along.
    async fn move_on(
        &self,
        code: &str,
        caller: &Caller<'_>,
        carried: &RoomTexts,
        next: &str,
    ) -> Result<()> {
        let next = next.to_owned();
        let players = carried.players.as_deref().map(sha);
        let mut claims = carried.claims.clone();
        claims.sort();
        let rule = move |desk: &super::Desk<'_>| {
            let seen = desk.room.seen;
            stays(seen)?;
            let mut held = seen.claims.clone();
            held.sort();
            if seen.players.as_deref().map(sha) != players || held != claims {
                return Err(Refused::new(word::BUSY).into());
            }
            let keys = desk.rooms.keys;
            let key = keys.next(desk.code).map_err(bad_id)?;
            let seats = claims.iter().map(|(player, device)| (player.as_str(), device.as_str()));
            let body = json!({ "next_code": next, "claims": claims.len() });
            let mut step = desk
                .step("ROOM_MOVED", body)?
                .while_absent(&key)
                .while_sha(&keys.players(desk.code).map_err(bad_id)?, &desk.players_sha())
                .while_hash(&keys.claims(desk.code).map_err(bad_id)?, seats)
                .set(&key, &next);
            let told = json!({ "code": desk.code, "next_code": next });
            step.told.push(&Audience::All, "ROOM_MOVED", &told);
            Ok(Decision::Step(Box::new(step), ()))
        };
        self.change(code, CARRIED, caller, rule).await
    }
}

/// Refuses when the people have gone on already, and says where to.
fn stays(seen: &RoomTexts) -> Result<()> {
    match &seen.next {
        None => Ok(()),
        Some(next) => Err(Refused::with(word::ALREADY_MOVED, json!({ "code": next })).into()),
    }
}

/// Gives the players of the new room what they had in the old one. Players that were added by hand come along too.
fn carry<'a>(
    room: &'a Room<'a>,
    setup: &Setup,
    plan: &mut Plan<'a>,
    most: usize,
) -> std::result::Result<(), Refused> {
    let seats = match &setup.seats {
        Some(seats) => named(room, seats, plan)?,
        None => by_name(room, plan),
    };
    let mut gone: HashSet<&str> = HashSet::new();
    for player in &mut plan.players {
        let Some(old) = player.sender_id.as_ref().and_then(|id| seats.get(id)) else { continue };
        player.avatar_url = old.avatar_url;
        gone.insert(&old.player_id);
        if let Some(device) = room.claims.get(old.player_id.as_str()).filter(|_| player.active) {
            plan.claims.push((player.player_id.clone(), (*device).to_owned()));
        }
    }
    let taken: HashSet<String> = plan.players.iter().map(|p| ids::fold_name(&p.name)).collect();
    for old in room.players.iter().filter(|old| !old.is_sender_bound) {
        let is_new =
            !gone.contains(old.player_id.as_str()) && !taken.contains(&ids::fold_name(&old.name));
        if !is_new || plan.players.len() >= most {
            continue;
        }
        if let Some(device) = room.claims.get(old.player_id.as_str()) {
            plan.claims.push((old.player_id.clone(), (*device).to_owned()));
        }
        plan.players.push(old.clone());
    }
    Ok(())
}

/// As the setup names them.
fn named<'a>(
    room: &'a Room<'a>,
    seats: &BTreeMap<String, String>,
    plan: &Plan<'_>,
) -> std::result::Result<BTreeMap<String, &'a Player<'a>>, Refused> {
    let mut once = HashSet::new();
    let mut found = BTreeMap::new();
    for (sender, player) in seats {
        let bad = || refuse(word::SEATS_INVALID, &format!("seats.{sender}"));
        let is_sender = plan.senders.iter().any(|known| known.sender_id == *sender);
        let old =
            room.player(player).filter(|_| is_sender && once.insert(player)).ok_or_else(bad)?;
        found.insert(sender.clone(), old);
    }
    Ok(found)
}

/// Whoever has the same name is the same person.
fn by_name<'a>(room: &'a Room<'a>, plan: &Plan<'_>) -> BTreeMap<String, &'a Player<'a>> {
    let same = |name: &str| {
        let folded = ids::fold_name(name);
        room.players.iter().find(|old| ids::fold_name(&old.name) == folded)
    };
    let senders = plan.senders.iter();
    senders.filter_map(|new| Some((new.sender_id.clone(), same(&new.name)?))).collect()
}
