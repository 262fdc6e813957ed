//! The verbs of a room. Each command is one look (a consistent read) and one step (a guarded write): two round
//! trips when nothing races. A step that finds something changed is decided anew, up to sixteen times.

mod game;
mod lobby;
mod room;
mod vote;
mod who;

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::{Key, Layout};
use kernel::{Clock, Deadline, Stepped, Store, TimerKeys};
use rand::RngExt as _;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::command::Command;
use crate::error::{Refused, Result, word};
use crate::events::Fact;
use crate::ids;
use crate::keys::Keys;
use crate::model::{Phase, Status};
use crate::push::Reply;
use crate::scripts::LOOK;
use crate::seen::{Parts, Room, Seen, bad_id};
use crate::setup::Sizes;
use crate::step::RoomStep;

pub use room::{Closed, Created, Entered, Listed};
pub use who::{LEASE_MS, MASTER, Presence};

/// Attempts of one command, and the pause between two, in milliseconds.
const TRIES: u32 = 16;
const PAUSE_MS: std::ops::RangeInclusive<u64> = 1..=20;
/// How long a command may take in all.
const PATIENCE: Duration = Duration::from_secs(5);

/// All rooms of a store.
#[derive(Clone)]
pub struct Rooms {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    sizes: Sizes,
    /// Rung when a forced close was armed, so that it is not served late.
    wake: Arc<Notify>,
}

/// Who sends a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// The device the socket is bound with.
    pub device: Option<&'a str>,
    /// What it shows to be the Master.
    pub proof: Proof<'a>,
    /// When the room ends, as far as the socket knows: tells an expired room from one that never was.
    pub expires_at: Option<u64>,
}

/// What a caller shows to be the Master.
#[derive(Debug, Clone, Copy, Default)]
pub enum Proof<'a> {
    /// Nothing.
    #[default]
    None,
    /// The socket showed the key before.
    Proved,
    /// A key, right or wrong.
    Key(&'a str),
    /// An operator of the server, who may close rooms and nothing else.
    Operator,
}

/// What a command changed about the caller's seat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Seat {
    /// Nothing.
    #[default]
    Same,
    /// The caller's device holds this player now.
    Taken(String),
    /// The caller's device holds no player any more.
    Left,
}

/// A command that was answered.
#[derive(Debug, Default)]
pub struct Done {
    /// For the caller alone.
    pub replies: Vec<Reply>,
    /// What became of its seat.
    pub seat: Seat,
    /// Whether the caller showed the right key.
    pub proved: bool,
}

impl Done {
    fn reply(reply: Reply) -> Self {
        Done { replies: vec![reply], ..Done::default() }
    }
}

/// What was decided.
enum Decision {
    /// Nothing is to be written.
    Answer(Done),
    /// This, and then the answer.
    Step(Box<RoomStep>, Done),
    /// A device takes a player.
    Take(lobby::Take),
    /// A vote.
    Vote(vote::Casting),
}

/// One decision under way: the room as seen, and when.
struct Desk<'a> {
    rooms: &'a Rooms,
    code: &'a str,
    room: &'a Room<'a>,
    caller: &'a Caller<'a>,
    now_ms: u64,
}

impl Rooms {
    /// On this store, by this clock.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, layout: Layout) -> Self {
        let keys = Keys::new(layout);
        Rooms { store, clock, keys, sizes: Sizes::default(), wake: Arc::default() }
    }

    /// With other limits.
    #[must_use]
    pub fn sized(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Rings `wake` when a forced close was armed.
    #[must_use]
    pub fn waking(mut self, wake: Arc<Notify>) -> Self {
        self.wake = wake;
        self
    }

    /// The limits.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The channel of a room's bus.
    pub fn bus(&self, code: &str) -> Result<Key> {
        Ok(self.keys.bus(code).map_err(bad_id)?)
    }

    /// What to subscribe to for the buses of all rooms.
    pub fn bus_pattern(&self) -> String {
        kernel::keyspace::scan_glob(&crate::keys::def::bus, self.keys.layout(), &[])
            .expect("a pattern without values cannot be refused")
    }

    /// The room whose bus this is.
    pub fn code_of_bus(channel: &str) -> Option<&str> {
        let code = channel.strip_prefix("room:")?.strip_suffix(":bus")?;
        Some(code.strip_prefix('{').and_then(|code| code.strip_suffix('}')).unwrap_or(code))
    }

    /// Does it, or says why not and changes nothing.
    pub async fn act(&self, code: &str, caller: &Caller<'_>, command: &Command) -> Result<Done> {
        if matches!(command, Command::CloseRoom) {
            let closed = self.close(code, caller).await?;
            return Ok(Done { proved: closed.proved, ..Done::default() });
        }
        let by = Deadline::after(PATIENCE);
        for attempt in 1..=TRIES {
            if let Some(done) = self.attempt(code, caller, command, by).await? {
                return Ok(done);
            }
            metrics::counter!("worldkeep_rooms_retries_total", "type" => command.name())
                .increment(1);
            if attempt < TRIES {
                let pause = rand::rng().random_range(PAUSE_MS);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        }
        Err(Refused::new(word::BUSY).into())
    }

    /// One look, one decision, one step. `None`: something changed in between.
    async fn attempt(
        &self,
        code: &str,
        caller: &Caller<'_>,
        command: &Command,
        by: Deadline,
    ) -> Result<Option<Done>> {
        let parts = command.parts();
        let armed = match command {
            Command::ForceCloseVote { place, delay_ms } => {
                Some(self.arm_ahead(code, place, *delay_ms, by))
            }
            _ => None,
        };
        let seen = match armed {
            // Where the timer cannot be part of the step it is armed before it, beside the look.
            Some(armed) => {
                let (armed, seen) = tokio::join!(armed, self.look(code, parts, caller, by));
                armed?;
                seen?
            }
            None => self.look(code, parts, caller, by).await?,
        };
        let now_ms = self.clock.now_ms();
        let room = Room::read(self.keys, code, &seen, parts, now_ms)?;
        let proved = prove(&room, caller, command.needs_master())?;
        if self.heal(code, &room, by).await? {
            return Ok(None);
        }
        let desk = Desk { rooms: self, code, room: &room, caller, now_ms };
        let ended = match desk.decide(command)? {
            Decision::Answer(done) => return Ok(Some(Done { proved, ..done })),
            Decision::Take(take) => desk.take(take, by).await?,
            Decision::Vote(casting) => desk.cast(casting, by).await?,
            Decision::Step(step, done) => match self.run(code, *step, by).await? {
                Stepped::Done => {
                    if matches!(command, Command::ForceCloseVote { .. }) {
                        self.wake.notify_one();
                    }
                    Some(done)
                }
                Stepped::Refused(refused) if refused.is_gone() => {
                    return Err(self.gone(caller).into());
                }
                Stepped::Refused(_) => None,
            },
        };
        Ok(ended.map(|done| Done { proved, ..done }))
    }

    /// Reads what is asked for, all of one moment.
    async fn look(
        &self,
        code: &str,
        parts: Parts,
        caller: &Caller<'_>,
        by: Deadline,
    ) -> Result<Seen> {
        let keys = self.keys;
        let built = [
            keys.meta(code),
            keys.senders(code),
            keys.players(code),
            keys.claims(code),
            keys.scores(code),
            keys.game(code),
            keys.vote_deadline(code),
            keys.online(code),
            keys.last(code),
        ];
        let built =
            built.into_iter().collect::<std::result::Result<Vec<Key>, _>>().map_err(bad_id)?;
        let meta = built[0].as_str();
        let prefix = meta.strip_suffix("meta").unwrap_or(meta).as_bytes();
        let names: Vec<&[u8]> = built.iter().map(Key::as_bytes).collect();
        let now = self.clock.now_ms().to_string();
        let args = [parts.0.as_bytes(), now.as_bytes(), prefix];
        let answer = self.store.script(&LOOK, &names, &args, by).await;
        // Nothing was written, so a lost answer leaves no doubt.
        let answer = answer.map_err(|fault| match fault {
            kernel::Fault::Unknown(why) => kernel::Fault::Unavailable(why),
            other => other,
        })?;
        Seen::of(&answer)?.ok_or_else(|| self.gone(caller).into())
    }

    /// How a room that is not there is called.
    fn gone(&self, caller: &Caller<'_>) -> Refused {
        match caller.expires_at {
            Some(at) if at <= self.clock.now_ms() => Refused::expired(),
            _ => Refused::not_found(),
        }
    }

    /// Runs a step, its fact in it or right after it.
    async fn run(&self, code: &str, step: RoomStep, by: Deadline) -> Result<Stepped> {
        let events = self.events_in_step();
        let channel = self.bus(code)?;
        let (stepped, fact) = step.run(&*self.store, &channel, events.as_ref(), by).await?;
        if stepped.is_done() && events.is_none() {
            self.append(fact);
        }
        Ok(stepped)
    }

    /// The stream, where it can be part of the step.
    fn events_in_step(&self) -> Option<Key> {
        (self.keys.layout() == Layout::Plain).then(|| self.keys.events())
    }

    /// Appends a fact after its step; operators may miss one when the server dies in between.
    fn append(&self, fact: Fact) {
        let (store, stream) = (Arc::clone(&self.store), self.keys.events());
        tokio::spawn(async move {
            let cmd = fact.event().append_to(&stream).cmd();
            if let Err(fault) = store.call(&cmd, Deadline::after(PATIENCE)).await {
                tracing::debug!(%fault, "appending an event of a room");
            }
        });
    }

    fn timer_keys(&self) -> TimerKeys {
        TimerKeys::new(self.keys.due(), self.keys.due_data())
    }
}

/// Whether the caller is the Master; refuses where it must be and is not, and a wrong key in any case.
fn prove(room: &Room<'_>, caller: &Caller<'_>, needed: bool) -> Result<bool> {
    let bad = || Refused::new(word::BAD_MASTER_KEY);
    if !needed {
        return Ok(false);
    }
    match caller.proof {
        Proof::Proved => Ok(true),
        Proof::Key(key) if ids::is_master_key(key, &room.meta.master_key_hash) => Ok(true),
        Proof::Key(_) | Proof::None | Proof::Operator => Err(bad().into()),
    }
}

impl Desk<'_> {
    fn decide(&self, command: &Command) -> Result<Decision> {
        match command {
            Command::TakePlayer { player_id } => self.take_player(player_id),
            Command::ReleasePlayer => self.release(),
            Command::RenamePlayer { player_id, new_name } => {
                self.rename(player_id.as_deref(), new_name)
            }
            Command::UpdateAvatar { player_id, image } => {
                self.avatar(player_id.as_deref(), image.as_deref())
            }
            Command::TogglePlayer { player_id, active } => self.toggle(player_id, *active),
            Command::FreePlayer { player_id } => self.free(player_id),
            Command::ResetClaims => self.reset(),
            Command::AddPlayer { name } => self.add(name),
            Command::DeletePlayer { player_id } => self.delete(player_id),
            Command::StartGame => self.start(),
            Command::ReelOpened(place) => self.reel_opened(place),
            Command::SubmitVote { place, player_id, selections } => {
                self.vote(place, player_id.as_deref(), selections)
            }
            Command::ForceCloseVote { place, delay_ms } => self.force_close(place, *delay_ms),
            Command::EndItem(place) => self.end_item(place),
            Command::StartNextRound => self.next_round(),
            Command::CloseRoom => unreachable!("closing has a way of its own"),
        }
    }

    fn in_phase(&self, allowed: &[Phase]) -> Result<()> {
        let phase = self.room.meta.phase;
        if allowed.contains(&phase) {
            return Ok(());
        }
        let details = json!({ "phase": phase });
        Err(Refused::with(word::NOT_IN_PHASE, details).into())
    }

    fn in_status(&self, wanted: Status) -> Result<()> {
        let status = self.room.game.status;
        if status == wanted {
            return Ok(());
        }
        let details = json!({ "status": status });
        Err(Refused::with(word::BAD_STATUS, details).into())
    }

    fn device(&self) -> Result<&str> {
        Ok(self.caller.device.ok_or(Refused::new(word::NOT_JOINED))?)
    }

    /// The player this device holds; a player that is named must be that one.
    fn own_player(&self, named: Option<&str>) -> Result<&str> {
        let own = self.room.player_of(self.device()?);
        match own {
            Some(own) if named.is_none_or(|named| named == own) => Ok(own),
            _ => Err(Refused::not_claimed().into()),
        }
    }

    fn fact(&self, kind: &'static str, mut body: Value) -> Fact {
        body["code"] = self.code.into();
        Fact { kind, at_ms: self.now_ms, code: self.code.to_owned(), body }
    }

    /// A step on this room as it was seen.
    fn step(&self, kind: &'static str, body: Value) -> Result<RoomStep> {
        let meta = self.rooms.keys.meta(self.code).map_err(bad_id)?;
        let room = self.room;
        let fact = self.fact(kind, body);
        Ok(RoomStep::new(&meta, &room.seen.meta, room.meta.expires_at, fact))
    }

    /// A document's key or the sentence of a wrong id, which the edge has refused already.
    #[allow(clippy::unused_self)] // reads well where it is used
    fn key(&self, key: std::result::Result<Key, kernel::keyspace::BadId>) -> Result<Key> {
        Ok(key.map_err(bad_id)?)
    }

    /// The whole state, for the caller.
    fn state_reply(&self, master: bool) -> Reply {
        Reply::new("STATE_SYNC_RESPONSE", &self.room.state(self.caller.device, master))
    }
}
