//! Messages of one socket: rates first, then envelope and fields, then the binding, then the room. The first thing that
//! is wrong is answered with its word; nothing a phone sends can do more than its device may.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rooms::{
    Ask, Caller, Command, Entered, Family, Proof, Refused, Reply, RoomError, Seat, Setup, Wish,
    word,
};
use serde::Serialize;
use serde_json::json;

use super::gateway::{Gateway, code};
use super::rates::too_fast;
use super::room_sockets::RoomSockets;
use crate::app::App;
use crate::limits::{MessageRate, Taken};
use crate::socket::{End, Outbox};

/// A wrong key is answered so much later.
const WRONG_KEY_WAIT: Duration = Duration::from_millis(500);
/// How long a socket waits for the bus before it is bound without.
const BUS_WAIT: Duration = Duration::from_millis(300);
// Whoever holds a phone hears within three seconds that the store is away.
const _: () = assert!(BUS_WAIT.as_millis() + rooms::PATIENCE.as_millis() < 3_000);

/// Answers the messages of one socket.
pub(super) struct Inbound {
    app: Arc<App>,
    gateway: Arc<Gateway>,
    address: IpAddr,
    /// The address where phones reach this server.
    base: String,
    outbox: Outbox,
    number: u64,
    rate: MessageRate,
    wrong_keys: u64,
    bound: Option<Bound>,
}

struct Bound {
    room: Arc<RoomSockets>,
    device: Option<Arc<str>>,
    master: bool,
    /// Whether it asked for photos as links.
    links: bool,
}

/// The answer, and whether the socket ends with that.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) texts: Vec<String>,
    pub(super) end: Option<End>,
}

impl Answer {
    fn one(text: String) -> Self {
        Answer { texts: vec![text], end: None }
    }

    fn ending(text: String, end: End) -> Self {
        Answer { texts: vec![text], end: Some(end) }
    }
}

/// An `ERROR` as it is sent.
pub(super) fn error_text(code: Option<&str>, refused: &Refused, id: Option<&str>) -> String {
    #[derive(Serialize)]
    struct Payload<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str>,
        #[serde(flatten)]
        refused: &'a Refused,
    }
    rooms::push::message("ERROR", &Payload { code, refused }, id)
}

impl Inbound {
    pub(super) fn new(
        app: Arc<App>,
        gateway: Arc<Gateway>,
        address: IpAddr,
        base: String,
        outbox: Outbox,
    ) -> Self {
        let per_second = app.settings.rooms.messages_per_second;
        Inbound {
            rate: MessageRate::new(per_second, app.clock.monotonic()),
            number: gateway.number(),
            app,
            gateway,
            address,
            base,
            outbox,
            wrong_keys: 0,
            bound: None,
        }
    }

    pub(super) fn is_bound(&self) -> bool {
        self.bound.is_some()
    }

    pub(super) fn leave(&mut self) {
        if let Some(bound) = self.bound.take() {
            self.gateway.leave(&bound.room, self.number);
        }
    }

    fn error(&self, refused: &Refused, id: Option<&str>) -> String {
        error_text(self.bound.as_ref().map(|bound| bound.room.code.as_str()), refused, id)
    }

    /// Answers to a frame that is not text.
    pub(super) fn binary(&self) -> Answer {
        Answer::one(self.error(&Refused::new(word::BINARY_FRAME), None))
    }

    /// Answers to a text.
    pub(super) async fn hear(&mut self, text: &str) -> Answer {
        match self.rate.take(self.app.clock.monotonic()) {
            Taken::Yes => {}
            Taken::Dropped(wait) => {
                return Answer::one(self.error(&too_fast(word::TOO_MANY_MESSAGES, wait), None));
            }
            Taken::Enough => {
                let wait = Duration::from_secs(10);
                let text = self.error(&too_fast(word::TOO_MANY_MESSAGES, wait), None);
                return Answer::ending(text, End(code::TOO_FAST, "too many messages"));
            }
        }
        let ask = match Ask::read(text) {
            Ok(ask) => ask,
            Err((refused, id)) => {
                count("unknown", refused.message);
                return Answer::one(self.error(&refused, id.as_deref()));
            }
        };
        let (id, name) = (ask.id.clone(), name(&ask.wish));
        let said = match self.answer(ask).await {
            Ok(said) => {
                count(name, "ok");
                return said;
            }
            Err(error) => self.refuse(&error, id.as_deref(), name),
        };
        self.after_refusal(said).await
    }

    async fn answer(&mut self, ask: Ask) -> Result<Answer, RoomError> {
        let id = ask.id.as_deref();
        match &ask.wish {
            Wish::Ping => {
                let now = json!({ "now": self.app.now_ms() });
                Ok(Answer::one(Reply::new("PONG", &now).text(id)))
            }
            Wish::Create(payload) => self.create(&ask, payload.get()).await,
            Wish::Join | Wish::Sync => self.enter(&ask).await,
            Wish::Do(command) => self.act(&ask, command).await,
        }
    }

    fn refuse(&self, error: &RoomError, id: Option<&str>, name: &'static str) -> (Refused, String) {
        if let RoomError::Fault(fault) = error {
            crate::reply::tell_fault(fault);
            tracing::debug!(%fault, message = name, "a room's step failed");
        }
        let refused = error.refused();
        count(name, refused.message);
        let text = self.error(&refused, id);
        (refused, text)
    }

    /// Slows down and ends those who guess.
    async fn after_refusal(&mut self, (refused, text): (Refused, String)) -> Answer {
        match refused.message {
            "bad_master_key" => {
                let most = self.app.settings.rooms.wrong_keys_per_socket;
                tokio::time::sleep(WRONG_KEY_WAIT).await;
                self.wrong_keys += 1;
                if most > 0 && self.wrong_keys >= most {
                    return Answer::ending(text, End(code::TOO_FAST, "too many wrong keys"));
                }
                Answer::one(text)
            }
            "too_many_codes" => Answer::ending(text, End(code::TOO_FAST, "too many unknown codes")),
            "room_full" if self.bound.is_none() => {
                Answer::ending(text, End(code::FULL, "the room is full"))
            }
            _ => Answer::one(text),
        }
    }

    async fn create(&mut self, ask: &Ask, payload: &str) -> Result<Answer, RoomError> {
        let setup = Setup::read(payload)?;
        let now = self.app.clock.monotonic();
        let spent = self.gateway.rates.created.take(self.address, now);
        spent.map_err(|wait| too_fast(word::TOO_MANY_ROOMS, wait))?;
        self.wait_for_bus().await;
        let mut created = self.gateway.rooms.create(&setup).await?;
        metrics::counter!("worldkeep_rooms_created_total").increment(1);
        created.join_url = Some(format!("{}/r/{}", self.base, created.code));
        let device: Option<Arc<str>> = ask.device_id.as_deref().map(Arc::from);
        let room = self.join_sockets(&created.code, device.as_ref())?;
        room.ends(created.expires_at);
        self.bind(room, device, true, ask.photo_links);
        Ok(Answer::one(Reply::new("ROOM_CREATED", &created).text(ask.id.as_deref())))
    }

    /// `JOIN_ROOM` and `STATE_SYNC`: the socket is in the room before the state is read, so it misses nothing.
    async fn enter(&mut self, ask: &Ask) -> Result<Answer, RoomError> {
        let code = ask.code.as_deref().unwrap_or_default();
        let now = self.app.clock.monotonic();
        let codes = &self.gateway.rates.unknown_codes;
        codes.check(&self.address, now).map_err(|wait| too_fast(word::TOO_MANY_CODES, wait))?;
        self.wait_for_bus().await;
        let device: Option<Arc<str>> = ask.device_id.as_deref().map(Arc::from);
        let known = self.bound.as_ref().filter(|bound| bound.room.code == code);
        let expires_at = known.map(|bound| bound.room.expires_at());
        let room = self.join_sockets(code, device.as_ref())?;
        let proof = ask.master_key.as_deref().map_or(Proof::None, Proof::Key);
        let caller = Caller { device: device.as_deref(), proof, expires_at };
        let entered = match ask.wish {
            Wish::Join => self.gateway.rooms.join(code, &caller).await,
            _ => self.gateway.rooms.sync(code, &caller).await,
        };
        let entered = match entered {
            Ok(entered) => entered,
            Err(error) => {
                if !self.bound.as_ref().is_some_and(|bound| Arc::ptr_eq(&bound.room, &room)) {
                    self.gateway.leave(&room, self.number);
                }
                return Err(self.unknown_code(error).await);
            }
        };
        let Entered { reply, player_id, master, expires_at } = entered;
        room.ends(expires_at);
        if let Some(device) = &device {
            self.gateway.set_player(&room, device, player_id.as_deref());
        }
        self.bind(room, device, master, ask.photo_links);
        Ok(self.spoken([reply], ask.id.as_deref()))
    }

    /// A code of no room counts; whoever asks for too many is turned away.
    async fn unknown_code(&self, error: RoomError) -> RoomError {
        let unknown =
            matches!(&error, RoomError::Refused(refused) if refused.error == Family::RoomNotFound);
        if unknown {
            let now = self.app.clock.monotonic();
            if let Err(wait) =
                self.gateway.rates.guessed(&self.gateway.rooms, self.address, now).await
            {
                return too_fast(word::TOO_MANY_CODES, wait).into();
            }
        }
        error
    }

    async fn wait_for_bus(&self) {
        let mut heard = self.gateway.heard.subscribe();
        if !*heard.borrow() {
            let _ = tokio::time::timeout(BUS_WAIT, heard.wait_for(|heard| *heard)).await;
        }
    }

    fn join_sockets(
        &self,
        code: &str,
        device: Option<&Arc<str>>,
    ) -> Result<Arc<RoomSockets>, Refused> {
        if let Some(bound) = self.bound.as_ref().filter(|bound| bound.room.code == code) {
            return Ok(Arc::clone(&bound.room));
        }
        let entered = self.gateway.enter(code, self.number, &self.outbox, device);
        entered.ok_or(Refused::new(word::ROOM_FULL))
    }

    /// The socket belongs to this room from now on, and to no other.
    fn bind(
        &mut self,
        room: Arc<RoomSockets>,
        device: Option<Arc<str>>,
        master: bool,
        links: Option<bool>,
    ) {
        let links = links.unwrap_or(self.bound.as_ref().is_some_and(|bound| bound.links));
        room.set_links(self.number, links);
        if let Some(before) = self.bound.take()
            && !Arc::ptr_eq(&before.room, &room)
        {
            self.gateway.leave(&before.room, self.number);
        }
        if let Some(device) = &device {
            room.set_device(self.number, Arc::clone(device));
        }
        self.gateway.set_master(&room, self.number, master);
        self.bound = Some(Bound { room, device, master, links });
    }

    /// Answers as this socket wants them: photos as links, or as they are stored.
    fn spoken(&self, replies: impl IntoIterator<Item = Reply>, id: Option<&str>) -> Answer {
        let linked = self.bound.as_ref().filter(|bound| bound.links);
        let text = |reply: Reply| {
            let text = reply.text(id);
            match linked {
                Some(bound) => rooms::with_links(&text, &bound.room.code).into_owned(),
                None => text,
            }
        };
        Answer { texts: replies.into_iter().map(text).collect(), end: None }
    }

    async fn act(&mut self, ask: &Ask, command: &Command) -> Result<Answer, RoomError> {
        let bound = self.bound.as_mut().ok_or(Refused::new(word::NOT_JOINED))?;
        if ask.code.as_ref().is_some_and(|code| *code != bound.room.code) {
            return Err(Refused::new(word::CODE_MISMATCH).into());
        }
        match (&ask.device_id, &bound.device) {
            (Some(given), Some(known)) if **given != **known => {
                return Err(Refused::new(word::DEVICE_MISMATCH).into());
            }
            // A socket that never named a device may do so now.
            (Some(given), None) => {
                let device: Arc<str> = Arc::from(given.as_str());
                bound.room.set_device(self.number, Arc::clone(&device));
                bound.device = Some(device);
            }
            _ => {}
        }
        let room = Arc::clone(&bound.room);
        let device = bound.device.clone();
        self.spend(command, device.as_deref())?;
        let master = self.prove(ask, command, &room).await?;
        let proof = match &ask.master_key {
            Some(key) => Proof::Key(key),
            None if master => Proof::Proved,
            None => Proof::None,
        };
        let caller =
            Caller { device: device.as_deref(), proof, expires_at: Some(room.expires_at()) };
        let started = self.app.clock.monotonic();
        let done = self.gateway.rooms.act(&room.code, &caller, command).await?;
        let took = self.app.clock.monotonic().saturating_sub(started);
        metrics::histogram!("worldkeep_rooms_step_seconds").record(took.as_secs_f64());
        if let Some(device) = &device {
            match &done.seat {
                Seat::Same => {}
                Seat::Taken(player) => self.gateway.set_player(&room, device, Some(player)),
                Seat::Left => self.gateway.set_player(&room, device, None),
            }
        }
        Ok(self.spoken(done.replies, ask.id.as_deref()))
    }

    /// The right key makes any socket a Master, before its command is told to Masters.
    async fn prove(
        &mut self,
        ask: &Ask,
        command: &Command,
        room: &Arc<RoomSockets>,
    ) -> Result<bool, RoomError> {
        let Some(bound) = &mut self.bound else { return Ok(false) };
        if let Some(key) = &ask.master_key
            && !bound.master
            && command.needs_master()
            && self.gateway.rooms.is_key(&room.code, key).await?
        {
            bound.master = true;
            self.gateway.set_master(room, self.number, true);
        }
        Ok(bound.master)
    }

    /// Photos and names are dear: each rewrites the players.
    fn spend(&self, command: &Command, device: Option<&str>) -> Result<(), Refused> {
        let rates = &self.gateway.rates;
        let (rate, word) = match command {
            Command::UpdateAvatar { .. } => (&rates.avatars, word::TOO_MANY_AVATARS),
            Command::RenamePlayer { .. } | Command::JoinLate { .. } => {
                (&rates.renames, word::TOO_MANY_RENAMES)
            }
            _ => return Ok(()),
        };
        let key = device.unwrap_or_default().to_owned();
        rate.take(key, self.app.clock.monotonic()).map_err(|wait| too_fast(word, wait))
    }

    /// The bus was lost for a while: the whole state again.
    pub(super) async fn resync(&mut self) -> Answer {
        let Some(bound) = &self.bound else { return Answer::default() };
        let proof = if bound.master { Proof::Proved } else { Proof::None };
        let expires_at = Some(bound.room.expires_at());
        let caller = Caller { device: bound.device.as_deref(), proof, expires_at };
        match self.gateway.rooms.sync(&bound.room.code, &caller).await {
            Ok(entered) => self.spoken([entered.reply], None),
            Err(error) => {
                let end = End(code::AWAY, "the room could not be read, come again");
                Answer::ending(self.error(&error.refused(), None), end)
            }
        }
    }
}

fn name(wish: &Wish) -> &'static str {
    match wish {
        Wish::Create(_) => "CREATE_ROOM",
        Wish::Join => "JOIN_ROOM",
        Wish::Sync => "STATE_SYNC",
        Wish::Ping => "PING",
        Wish::Do(command) => command.name(),
    }
}

fn count(name: &'static str, outcome: &'static str) {
    metrics::counter!("worldkeep_rooms_messages_total", "type" => name, "outcome" => outcome)
        .increment(1);
}
