//! One server's share of the rooms: the sockets of each room, whose presence changed, limits and timers. Texts of the
//! bus go from here to the sockets they are for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use kernel::Timers;
use kernel::timers::Scopes;
use parking_lot::Mutex;
use rooms::{Audience, MASTER, Rooms, Sizes};
use tokio::sync::{mpsc, watch};

use super::rates::Rates;
use super::room_sockets::{Entered, RoomMessage, RoomSockets};
use crate::app::App;
use crate::socket::{End, Outbox, Utf8Bytes};

/// Close codes of the protocol.
pub(super) mod code {
    pub(crate) const CLOSED: u16 = 4000;
    pub(crate) const EXPIRED: u16 = 4410;
    pub(crate) const TOO_FAST: u16 = 4429;
    pub(crate) const FULL: u16 = 4503;
    pub(crate) const AWAY: u16 = 1001;
}

/// Everything the rooms keep in one server's memory.
pub(super) struct Gateway {
    pub(super) rooms: Rooms,
    pub(super) timers: Timers,
    pub(super) rates: Rates,
    /// This server in presence leases.
    pub(super) server: String,
    by_code: Mutex<HashMap<String, Arc<RoomSockets>>>,
    next: AtomicU64,
    /// How many sockets there are.
    pub(super) open: watch::Sender<usize>,
    sockets_per_room: usize,
    /// Whether the bus is heard.
    pub(super) heard: watch::Sender<bool>,
    /// Whose presence may have changed: room and player.
    changed: mpsc::UnboundedSender<(String, String)>,
    pub(super) changes: Mutex<Option<mpsc::UnboundedReceiver<(String, String)>>>,
}

/// The gateway of this server, made at the first use.
pub(super) fn of(app: &App) -> Arc<Gateway> {
    app.kept(|| Gateway::new(app))
}

impl Gateway {
    fn new(app: &App) -> Self {
        let settings = &app.settings.rooms;
        let sizes = Sizes {
            senders: settings.senders,
            rounds: settings.rounds,
            items_per_round: settings.items_per_round,
            items: settings.items,
            url_chars: settings.url_chars,
            avatar_chars: settings.avatar_chars,
            players: settings.players,
        };
        let rooms = Rooms::new(app.shared_store(), Arc::clone(&app.clock), app.keyspace.layout);
        let keys = rooms.deadline_timers();
        let timers =
            Timers::new(app.shared_store(), Arc::clone(&app.clock), Scopes::One, move |_| {
                Some(keys.clone())
            });
        let (changed, changes) = mpsc::unbounded_channel();
        Gateway {
            rooms: rooms.sized(sizes).waking(timers.waker()),
            timers,
            rates: Rates::new(settings),
            server: app.server_id.clone(),
            by_code: Mutex::default(),
            next: AtomicU64::new(1),
            open: watch::Sender::new(0),
            sockets_per_room: settings.sockets_per_room,
            heard: watch::Sender::new(false),
            changed,
            changes: Mutex::new(Some(changes)),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Rooms and sockets on this server.
    pub(super) fn counts(&self) -> (usize, usize) {
        let all = self.all();
        (all.len(), all.iter().map(|room| room.len()).sum())
    }

    /// Codes on this server that begin so.
    pub(super) fn codes_like(&self, start: &str, most: usize) -> Vec<String> {
        let known = self.by_code.lock();
        let mut like: Vec<_> =
            known.keys().filter(|code| code.starts_with(start)).cloned().collect();
        like.sort_unstable();
        like.truncate(most);
        like
    }

    fn all(&self) -> Vec<Arc<RoomSockets>> {
        self.by_code.lock().values().cloned().collect()
    }

    pub(super) fn room(&self, code: &str) -> Option<Arc<RoomSockets>> {
        self.by_code.lock().get(code).cloned()
    }

    /// A socket comes to a room. `None` when the room is full.
    pub(super) fn enter(
        &self,
        code: &str,
        socket: u64,
        outbox: &Outbox,
        device: Option<&Arc<str>>,
    ) -> Option<Arc<RoomSockets>> {
        loop {
            let new = || Arc::new(RoomSockets::new(code));
            let room = Arc::clone(self.by_code.lock().entry(code.to_owned()).or_insert_with(new));
            match room.add(socket, outbox, device.cloned(), self.sockets_per_room) {
                Entered::Full => return None,
                Entered::Closed => self.forget(&room),
                Entered::Yes => {
                    self.open.send_modify(|open| *open += 1);
                    return Some(room);
                }
            }
        }
    }

    /// A socket leaves; a room without sockets is forgotten.
    pub(super) fn leave(&self, room: &Arc<RoomSockets>, socket: u64) {
        let Some((changed, empty)) = room.remove(socket) else { return };
        self.presence_changed(room, changed);
        // After its changes: whoever sees the last socket gone finds them all.
        self.open.send_modify(|open| *open -= 1);
        if empty {
            self.forget(room);
        }
    }

    fn forget(&self, room: &Arc<RoomSockets>) {
        let mut by_code = self.by_code.lock();
        if by_code.get(&room.code).is_some_and(|known| Arc::ptr_eq(known, room)) {
            by_code.remove(&room.code);
        }
    }

    fn presence_changed(&self, room: &RoomSockets, who: impl IntoIterator<Item = String>) {
        for who in who {
            let _ = self.changed.send((room.code.clone(), who));
        }
    }

    /// The socket showed the key, or does not count as a Master any more.
    pub(super) fn set_master(&self, room: &RoomSockets, socket: u64, master: bool) {
        if room.set_master(socket, master) {
            self.presence_changed(room, [MASTER.to_owned()]);
        }
    }

    /// A device holds a player, or none any more.
    pub(super) fn set_player(&self, room: &RoomSockets, device: &Arc<str>, player: Option<&str>) {
        let before = room.set_player(device, player);
        if before.as_deref() != player {
            self.presence_changed(room, before.into_iter().chain(player.map(str::to_owned)));
        }
    }

    /// Whether a player (or a Master) has a socket here.
    pub(super) fn is_here(&self, code: &str, who: &str) -> bool {
        self.room(code).is_some_and(|room| room.has(who))
    }

    /// Everybody here, for renewal.
    pub(super) fn everybody(&self) -> Vec<(String, Vec<String>)> {
        self.all().into_iter().map(|room| (room.code.clone(), room.present())).collect()
    }

    /// Broadcasts a text of the bus to those it is for.
    pub(super) fn deliver(&self, code: &str, payload: Vec<u8>) {
        let Some(room) = self.room(code) else { return };
        let whole = Bytes::from(payload);
        let Ok(text) = std::str::from_utf8(&whole) else { return };
        let mut own: Vec<&str> = Vec::new();
        let mut queued = Vec::new();
        for (to, range) in rooms::push::lines(text) {
            // It is a part of a checked text, cut at its line ends.
            let Ok(message) = Utf8Bytes::try_from(whole.slice(range)) else { continue };
            if let Audience::Own(device) = to {
                own.push(device);
            }
            if let Audience::Device(device) = to
                && message.starts_with(r#"{"type":"SLOT_INVALIDATED""#)
            {
                self.set_player(&room, &Arc::from(device), None);
            }
            let message = RoomMessage::new(message, code);
            room.queue(&to, &own, &message, &mut queued);
            if to == Audience::Closing {
                metrics::counter!("worldkeep_rooms_closed_total").increment(1);
                self.end(&room, End(code::CLOSED, "the room is closed"));
            }
        }
        room.write(queued);
    }

    /// Closes every socket of a room.
    fn end(&self, room: &Arc<RoomSockets>, end: End) {
        room.close(end);
        self.forget(room);
    }

    /// Tells the rooms whose time is over, and closes them.
    pub(super) fn expire(&self, now_ms: u64) {
        for room in self.all().into_iter().filter(|room| room.expires_at() <= now_ms) {
            let refused = rooms::Refused::expired();
            let text = super::inbound::error_text(Some(&room.code), &refused, None);
            metrics::counter!("worldkeep_rooms_expired_total").increment(1);
            // Whoever is told the end takes this along.
            let message = RoomMessage::new(text.into(), &room.code);
            room.queue(&Audience::All, &[], &message, &mut Vec::new());
            self.end(&room, End(code::EXPIRED, "the room has expired"));
        }
    }

    /// The server stops: everybody goes elsewhere.
    pub(super) fn goodbye(&self) {
        for room in self.all() {
            self.end(&room, End::away());
        }
    }

    /// Every socket looks at its room anew: something may have been missed.
    pub(super) fn refresh(&self) {
        for room in self.all() {
            room.refresh();
        }
    }
}
