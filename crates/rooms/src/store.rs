//! The verbs of a room. Each command is one look (a consistent read) and one step (a guarded write): two round
//! trips when nothing races. Those of many phones at once share them (`change.rs`).

mod change;
mod game;
mod late;
mod lobby;
mod next;
mod photos;
mod room;
mod vote;
mod who;

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::{Key, Layout};
use kernel::{Clock, Deadline, Store, TimerKeys, Writer, WriterLimits};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::command::Command;
use crate::error::{Refused, Result, word};
use crate::events::Fact;
use crate::ids;
use crate::keys::Keys;
use crate::model::{Phase, Status};
use crate::push::Reply;
use crate::seen::{Room, bad_id};
use crate::setup::Sizes;
use crate::step::RoomStep;
use change::Look;

pub use photos::{Photo, with_links};
pub use room::{Closed, Created, Entered, Listed};
pub use who::{LEASE_MS, MASTER, Presence};

/// How long a command may take in all: whoever holds a phone hears within three seconds that the store is away.
pub const PATIENCE: Duration = Duration::from_millis(2_500);

/// All rooms of a store.
#[derive(Clone)]
pub struct Rooms {
    store: Arc<dyn Store>,
    writer: Writer<Look>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    sizes: Sizes,
    /// Rung when the close of a vote was armed, so that it is not served late.
    wake: Arc<Notify>,
}

/// The sender of a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// The device the socket is bound with.
    pub device: Option<&'a str>,
    /// The proof of being the Master.
    pub proof: Proof<'a>,
    /// When the room ends, as far as the socket knows: tells an expired room from one that never was.
    pub expires_at: Option<u64>,
}

/// The proof that a caller is the Master.
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

/// The change that a command made to the caller's seat.
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
    /// The change to the caller's seat.
    pub seat: Seat,
    /// Whether the caller showed the right key.
    pub proved: bool,
}

impl Done {
    fn reply(reply: Reply) -> Self {
        Done { replies: vec![reply], ..Done::default() }
    }
}

/// The decision.
enum Decision<T = Done> {
    /// Nothing is to be written.
    Answer(T),
    /// This, and then the answer.
    Step(Box<RoomStep>, T),
    /// A script that applies it: a claim, a vote.
    Call(kernel::Call<Result<T>>),
}

impl Decision {
    fn proved(self, proved: bool) -> Self {
        match self {
            Decision::Answer(done) => Decision::Answer(Done { proved, ..done }),
            Decision::Step(step, done) => Decision::Step(step, Done { proved, ..done }),
            Decision::Call(call) => Decision::Call(call), // only a Master proves, who takes no player and votes not
        }
    }
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
        let look = Look { keys, clock: Arc::clone(&clock) };
        let writer = Writer::over(Arc::clone(&store), look, WriterLimits::default());
        Rooms { store, writer, clock, keys, sizes: Sizes::default(), wake: Arc::default() }
    }

    /// With other limits.
    #[must_use]
    pub fn sized(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Rings `wake` when the close of a vote was armed.
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

    /// The topic of the buses of all rooms.
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
        if let Some((place, delay_ms)) = self.will_close(code, caller, command).await? {
            self.arm_ahead(code, place, delay_ms).await?;
        }
        let (wish, mut tries) = (command.clone(), 0);
        let rule = move |desk: &Desk<'_>| {
            if tries > 0 {
                metrics::counter!("worldkeep_rooms_retries_total", "type" => wish.name())
                    .increment(1);
            }
            tries += 1;
            let proved = prove(desk.room, desk.caller, wish.needs_master())?;
            match desk.heal()? {
                Some(heal) => Ok(heal),
                None => Ok(desk.decide(&wish)?.proved(proved)),
            }
        };
        let done = self.change(code, command.parts(), caller, rule).await?;
        if matches!(command, Command::ForceCloseVote { .. } | Command::ReelOpened(_)) {
            self.wake.notify_one();
        }
        Ok(done)
    }

    /// How a room that is not there is called.
    fn gone(&self, caller: &Caller<'_>) -> Refused {
        match caller.expires_at {
            Some(at) if at <= self.clock.now_ms() => Refused::expired(),
            _ => Refused::not_found(),
        }
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
            Command::JoinLate { name } => self.join_late(name),
            Command::SetRules { vote_ms, latecomers } => self.set_rules(*vote_ms, *latecomers),
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
