//! A room as a whole: made, joined, read, listed, closed. It is visible completely or not at all, and when it is
//! closed `meta` goes first, so that no step can write behind the sweep.

use std::time::Duration;

use kernel::keyspace::{Key, scan_glob};
use kernel::{Deadline, Fault, Scan, reply};
use serde::Serialize;
use serde_json::json;

use super::game::text;
use super::{Caller, Decision, Desk, Proof, Rooms, prove};
use crate::error::{Refused, Result, word};
use crate::events::Fact;
use crate::ids;
use crate::keys::def;
use crate::model::{Meta, Phase, Rules, Sender};
use crate::push::{Audience, Reply, line};
use crate::scripts::{CREATE, SUMMARY};
use crate::seen::{Parts, Room, bad_id, corrupt};
use crate::setup::{LIFE_S, Plan, Setup, first_meta};
use crate::view::PlayerView;

/// How often another code is drawn when one is in use.
const DRAWS: usize = 10;
/// After the room is gone its clients hear of it at the latest so much later, sweep or not.
const SWEEP_WAIT: Duration = Duration::from_secs(1);
/// Everything but the list of open sockets.
const JOINING: Parts = Parts("pcx");
const STATE: Parts = Parts("spcorvdfwlux");

/// A new room. The key is told here and never again.
#[derive(Debug, Clone, Serialize)]
pub struct Created {
    /// The room's code.
    pub code: String,
    /// The room's master key.
    pub master_key: String,
    /// `lobby`.
    pub phase: Phase,
    /// Active players.
    pub players_visible: Box<serde_json::value::RawValue>,
    /// Active senders.
    pub senders_visible: Box<serde_json::value::RawValue>,
    /// Unix milliseconds.
    pub expires_at: u64,
    /// The address where phones join; filled in by whoever knows the server's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join_url: Option<String>,
}

/// A room that was entered.
#[derive(Debug)]
pub struct Entered {
    /// The answer.
    pub reply: Reply,
    /// The player this device holds.
    pub player_id: Option<String>,
    /// Whether the key was right.
    pub master: bool,
    /// Unix milliseconds.
    pub expires_at: u64,
}

/// A room that was closed.
#[derive(Debug, Clone, Copy)]
pub struct Closed {
    /// Whether the caller showed the key.
    pub proved: bool,
}

/// A room in a list.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// The room's code.
    pub code: String,
    /// How far it is.
    pub phase: Phase,
    /// Active players.
    pub players_active: usize,
    /// Active players that nobody holds.
    pub players_free: usize,
    /// Unix milliseconds.
    pub created_at: u64,
    /// Unix milliseconds.
    pub expires_at: u64,
}

impl Rooms {
    /// Makes a room, or says which part of the setup is wrong.
    pub async fn create(&self, setup: &Setup) -> Result<Created> {
        let now_ms = self.clock.now_ms();
        let plan = setup.plan(&self.sizes, now_ms)?;
        self.make(&plan, ids::draw_master_key(), now_ms).await
    }

    /// Writes a planned room under a free code.
    pub(super) async fn make(&self, plan: &Plan<'_>, key: String, now_ms: u64) -> Result<Created> {
        let hash = ids::hash_master_key(&key);
        for _ in 0..DRAWS {
            let meta = first_meta(&ids::draw_code(), hash.clone(), now_ms);
            if self.write_room(&meta, plan).await? {
                return Ok(created(meta, key, plan));
            }
        }
        Err(Refused::new(word::NO_FREE_CODE).into())
    }

    /// Writes all documents, unless the code is in use.
    pub(crate) async fn write_room(&self, meta: &Meta, plan: &Plan<'_>) -> Result<bool> {
        let (code, keys) = (meta.code.as_str(), self.keys);
        let mut names = vec![
            keys.meta(code),
            keys.senders(code),
            keys.players(code),
            keys.scores(code),
            keys.game(code),
            keys.claims(code),
            keys.rules(code),
        ];
        names.extend(plan.rounds.iter().map(|round| keys.round(code, &round.round_id)));
        let mut names =
            names.into_iter().collect::<std::result::Result<Vec<Key>, _>>().map_err(bad_id)?;
        let events = self.events_in_step();
        names.extend(events.clone());
        let items: usize = plan.rounds.iter().map(|round| round.items.len()).sum();
        let body = json!({ "code": code, "players": plan.players.len(),
            "rounds": plan.rounds.len(), "items": items, "version": meta.version });
        let fact =
            Fact { kind: "CREATE_ROOM", at_ms: meta.created_at, code: code.to_owned(), body };
        let mut args = vec![
            LIFE_S.to_string(),
            text(meta),
            text(&plan.senders),
            text(&plan.players),
            text(&plan.game),
            if plan.rules == Rules::default() { String::new() } else { text(&plan.rules) },
            plan.rounds.len().to_string(),
        ];
        args.extend(plan.rounds.iter().map(text));
        args.push(plan.players.len().to_string());
        args.extend(plan.players.iter().map(|player| player.player_id.clone()));
        args.push(plan.claims.len().to_string());
        args.extend(
            plan.claims.iter().flat_map(|(player, device)| [player.clone(), device.clone()]),
        );
        args.extend([fact.kind.into(), fact.at_ms.to_string(), code.into(), fact.body_text()]);
        let names: Vec<&[u8]> = names.iter().map(Key::as_bytes).collect();
        let args: Vec<&[u8]> = args.iter().map(String::as_bytes).collect();
        let by = Deadline::after(super::PATIENCE);
        let answer = self.store.script(&CREATE, &names, &args, by).await?;
        match reply::text(&answer) {
            Some("created") => {
                if events.is_none() {
                    self.append(fact);
                }
                Ok(true)
            }
            Some("exists") => Ok(false),
            _ => Err(reply::unexpected(names[0], "created or exists", &answer).into()),
        }
    }

    /// A device enters a room.
    pub async fn join(&self, code: &str, caller: &Caller<'_>) -> Result<Entered> {
        #[derive(Serialize)]
        struct JoinOk<'a> {
            code: &'a str,
            phase: Phase,
            players_visible: Vec<PlayerView<'a>>,
            my_player_id: Option<&'a str>,
            expires_at: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            next_code: Option<&'a str>,
        }
        let seen = self.look(code, JOINING, caller).await?;
        let room = Room::read(self.keys, code, &seen, JOINING, self.clock.now_ms())?;
        let mine = caller.device.and_then(|device| room.player_of(device));
        let joined = JoinOk {
            code,
            phase: room.meta.phase,
            players_visible: room.players_visible(),
            my_player_id: mine,
            expires_at: room.meta.expires_at,
            next_code: seen.next.as_deref(),
        };
        Ok(Entered {
            reply: Reply::new("JOIN_OK", &joined),
            player_id: mine.map(str::to_owned),
            master: false,
            expires_at: room.meta.expires_at,
        })
    }

    /// The whole state as the caller may see it: one round trip, and enough to redraw any screen.
    pub async fn sync(&self, code: &str, caller: &Caller<'_>) -> Result<Entered> {
        let rule = |desk: &Desk<'_>| {
            if let Some(heal) = desk.heal()? {
                return Ok(heal);
            }
            let Desk { room, caller, .. } = desk;
            // A wrong key is no error here: the caller sees what Play sees.
            let master = prove(room, caller, true).unwrap_or(false);
            Ok(Decision::Answer(Entered {
                reply: desk.state_reply(master),
                player_id: caller.device.and_then(|d| room.player_of(d)).map(str::to_owned),
                master,
                expires_at: room.meta.expires_at,
            }))
        };
        self.change(code, STATE, caller, rule).await
    }

    /// Whether this is the room's key.
    pub async fn is_key(&self, code: &str, key: &str) -> Result<bool> {
        let (caller, parts) = (Caller { proof: Proof::Key(key), ..Caller::default() }, Parts(""));
        let seen = self.look(code, parts, &caller).await?;
        let room = Room::read(self.keys, code, &seen, parts, self.clock.now_ms())?;
        Ok(prove(&room, &caller, true).is_ok())
    }

    /// One room in a line.
    pub async fn show(&self, code: &str) -> Result<Listed> {
        let keys = [self.keys.meta(code), self.keys.players(code), self.keys.claims(code)];
        let keys =
            keys.into_iter().collect::<std::result::Result<Vec<Key>, _>>().map_err(bad_id)?;
        let names: Vec<&[u8]> = keys.iter().map(Key::as_bytes).collect();
        let by = Deadline::after(super::PATIENCE);
        let answer = self.store.script(&SUMMARY, &names, &[], by).await?;
        let parts = reply::list(&answer).unwrap_or_default();
        let [_, meta, active, free] = parts else { return Err(Refused::not_found().into()) };
        let meta: Meta = reply::text(meta)
            .and_then(|text| serde_json::from_str(text).ok())
            .ok_or_else(|| corrupt(&keys[0], "not the meta of a room"))?;
        if self.clock.now_ms() >= meta.expires_at {
            return Err(Refused::expired().into());
        }
        let count = |value| reply::int(value).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        Ok(Listed {
            code: code.to_owned(),
            phase: meta.phase,
            players_active: count(active),
            players_free: count(free),
            created_at: meta.created_at,
            expires_at: meta.expires_at,
        })
    }

    /// Rooms by code, after this one; and whether there are more. Walks all keys of the store.
    pub async fn list(&self, after: Option<&str>, limit: usize) -> Result<(Vec<Listed>, bool)> {
        let mut codes: Vec<String> = Vec::new();
        let glob = scan_glob(&def::meta, self.keys.layout(), &[]).map_err(bad_id)?;
        let mut scan = Scan::open(&*self.store, super::PATIENCE).await?.matching(glob);
        while let Some(found) = scan.next(1000).await? {
            let code = |key: &Vec<u8>| {
                let text = std::str::from_utf8(key).ok()?;
                let code = text.strip_prefix("room:")?.strip_suffix(":meta")?;
                let code = code.strip_prefix('{').and_then(|c| c.strip_suffix('}')).unwrap_or(code);
                let wanted = self.keys.meta(code).is_ok_and(|own| own.as_str() == text);
                (wanted && after.is_none_or(|after| code > after)).then(|| code.to_owned())
            };
            codes.extend(found.iter().filter_map(code));
        }
        codes.sort();
        codes.dedup();
        let mut found = Vec::with_capacity(limit);
        let mut codes = codes.into_iter();
        for code in codes.by_ref() {
            match self.show(&code).await {
                Ok(listed) => found.push(listed),
                Err(crate::RoomError::Refused(_)) => {}
                Err(error @ crate::RoomError::Fault(Fault::Corrupt { .. })) => {
                    tracing::debug!(%error, code, "a room that cannot be read");
                }
                Err(error) => return Err(error),
            }
            if found.len() == limit {
                break;
            }
        }
        Ok((found, codes.next().is_some()))
    }

    /// Ends a room: the Master with the key, or an operator.
    pub async fn close(&self, code: &str, caller: &Caller<'_>) -> Result<Closed> {
        let operator = matches!(caller.proof, Proof::Operator);
        let reason = if operator { "closed_by_operator" } else { "closed_by_master" };
        let rule = move |desk: &Desk<'_>| {
            let proved = !operator && prove(desk.room, desk.caller, true)?;
            let mut step = desk.step("ROOM_CLOSED", json!({ "reason": reason }))?;
            for key in desk.rooms.known_keys(desk.code, desk.room) {
                step = step.del(&key);
            }
            Ok(Decision::Step(Box::new(step), Closed { proved }))
        };
        match self.change(code, Parts(""), caller, rule).await {
            Ok(closed) => {
                self.sweep_and_tell(code, reason).await?;
                Ok(closed)
            }
            // Half a room has no Master that could be told from others, but an operator may clear it away.
            Err(error) if operator && error.is_unreadable() => self.clear(code).await,
            Err(error) => Err(error),
        }
    }

    async fn clear(&self, code: &str) -> Result<Closed> {
        let mut cmd = kernel::Cmd::new();
        cmd.arg("DEL").arg(self.keys.meta(code).map_err(bad_id)?);
        self.store.call(&cmd, Deadline::after(super::PATIENCE)).await?;
        self.sweep_and_tell(code, "closed_by_operator").await?;
        Ok(Closed { proved: false })
    }

    /// Every key whose name is known, `meta` first. Votes exist for one item at a time.
    fn known_keys(&self, code: &str, room: &Room<'_>) -> Vec<Key> {
        let keys = self.keys;
        let mut all = vec![
            keys.meta(code),
            keys.online(code),
            keys.last(code),
            keys.senders(code),
            keys.players(code),
            keys.claims(code),
            keys.scores(code),
            keys.game(code),
            keys.vote_deadline(code),
            keys.rules(code),
            keys.next(code),
        ];
        for round in &room.game.round_order {
            all.push(keys.round(code, round));
            all.push(keys.round_delta(code, round));
        }
        if let Some(ballot) = &room.game.vote {
            all.push(keys.votes(code, &ballot.round_id, &ballot.item_id));
        }
        // An id that a foreign writer made impossible is found by the sweep.
        all.into_iter().filter_map(std::result::Result::ok).collect()
    }

    /// Sweeps what is left and tells everybody, at the latest a second later.
    async fn sweep_and_tell(&self, code: &str, reason: &str) -> Result<()> {
        let (rooms, name) = (self.clone(), code.to_owned());
        let sweep = tokio::spawn(async move {
            if let Err(fault) = rooms.sweep(&name).await {
                tracing::warn!(%fault, code = name, "sweeping a closed room; the rest ends with its life");
            }
        });
        let _ = tokio::time::timeout(SWEEP_WAIT, sweep).await;
        let payload = json!({ "code": code, "reason": reason });
        let told = line(&Audience::Closing, "ROOM_CLOSED_BROADCAST", &payload);
        let mut publish = kernel::Cmd::new();
        publish.arg("PUBLISH").arg(self.bus(code)?).arg(told);
        self.store.call(&publish, Deadline::after(super::PATIENCE)).await?;
        Ok(())
    }

    /// Deletes every key of the room that is left, on the node that has them.
    async fn sweep(&self, code: &str) -> std::result::Result<(), Fault> {
        let Ok(meta) = self.keys.meta(code) else { return Ok(()) };
        let by = || Deadline::after(super::PATIENCE);
        let mut session = self.store.session(meta.as_bytes(), by()).await?;
        let pattern = format!("{}*", meta.as_str().trim_end_matches("meta"));
        let mut cursor = b"0".to_vec();
        loop {
            let mut scan = kernel::Cmd::new();
            scan.arg("SCAN").arg(&cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(200);
            let answer = session.call(&scan, by()).await?;
            let wrong = || reply::unexpected("SCAN", "a cursor and keys", &answer);
            let [next, found] = reply::list(&answer).ok_or_else(wrong)? else {
                return Err(wrong());
            };
            cursor = reply::bytes(next).ok_or_else(wrong)?.to_vec();
            let found = reply::list(found).ok_or_else(wrong)?;
            if !found.is_empty() {
                let mut del = kernel::Cmd::new();
                del.arg("DEL");
                for key in found.iter().filter_map(reply::bytes) {
                    del.arg(key);
                }
                session.call(&del, by()).await?;
            }
            if cursor == b"0" {
                return Ok(());
            }
        }
    }
}

fn created(meta: Meta, master_key: String, plan: &Plan<'_>) -> Created {
    let raw = |json: String| serde_json::value::RawValue::from_string(json).expect("it is JSON");
    let players: Vec<PlayerView<'_>> = plan
        .players
        .iter()
        .filter(|player| player.active)
        .map(|player| {
            let taken = plan.claims.iter().any(|(held, _)| *held == player.player_id);
            PlayerView::new(player, taken)
        })
        .collect();
    let senders: Vec<&Sender> = plan.senders.iter().filter(|sender| sender.active).collect();
    Created {
        code: meta.code,
        master_key,
        phase: meta.phase,
        players_visible: raw(text(&players)),
        senders_visible: raw(text(&senders)),
        expires_at: meta.expires_at,
        join_url: None,
    }
}
