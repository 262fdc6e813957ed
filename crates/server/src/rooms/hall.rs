//! Who is here: the sockets of this server by room, the players they hold, and the way to each of them. A
//! message is one shared text; handing it to a socket copies a pointer and never waits: a phone that stays
//! behind is closed and comes back with a fresh state.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use axum::extract::ws::Utf8Bytes;
use kernel::Timers;
use kernel::timers::Scopes;
use parking_lot::Mutex;
use rooms::{Audience, MASTER, Rooms, Sizes};
use tokio::sync::{mpsc, watch};

use super::post::{Parcel, Post, Round};
use super::rates::Rates;
use crate::app::App;
use crate::outbox::End;

/// Close codes of the protocol.
pub(super) mod code {
    pub(in super::super) const CLOSED: u16 = 4000;
    pub(in super::super) const EXPIRED: u16 = 4410;
    pub(in super::super) const TOO_FAST: u16 = 4429;
    pub(in super::super) const FULL: u16 = 4503;
    pub(in super::super) const AWAY: u16 = 1001;
}

/// In a room of more sockets the first have their message before the last are looked at.
const AT_ONCE: usize = 256;

/// Everything the rooms keep in one server's memory.
pub(super) struct Hall {
    pub(super) rooms: Rooms,
    pub(super) timers: Timers,
    pub(super) rates: Rates,
    /// This server in presence leases.
    pub(super) server: String,
    places: Mutex<HashMap<String, Arc<Place>>>,
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

/// The hall of this server, made at the first use.
pub(super) fn of(app: &App) -> Arc<Hall> {
    app.kept(|| Hall::new(app))
}

/// One room's sockets on this server.
pub(super) struct Place {
    pub(super) code: String,
    /// Unix milliseconds; far away until the room was read.
    expires_at: AtomicU64,
    seats: Mutex<Seats>,
    round: Arc<Round>,
}

#[derive(Default)]
struct Seats {
    sockets: HashMap<u64, Seat>,
    /// Device → player.
    players: HashMap<Arc<str>, String>,
    /// It is closed: whoever comes now goes elsewhere.
    closed: bool,
}

struct Seat {
    post: Post,
    device: Option<Arc<str>>,
    master: bool,
}

impl Hall {
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
        Hall {
            rooms: rooms.sized(sizes).waking(timers.waker()),
            timers,
            rates: Rates::new(settings),
            server: app.server_id.clone(),
            places: Mutex::default(),
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
        let places: Vec<Arc<Place>> = self.places.lock().values().cloned().collect();
        (places.len(), places.iter().map(|place| place.seats.lock().sockets.len()).sum())
    }

    fn place(&self, code: &str) -> Option<Arc<Place>> {
        self.places.lock().get(code).cloned()
    }

    /// A socket comes to a room. `None` when the room is full.
    pub(super) fn enter(
        &self,
        code: &str,
        socket: u64,
        post: &Post,
        device: Option<Arc<str>>,
    ) -> Option<Arc<Place>> {
        loop {
            let place =
                Arc::clone(self.places.lock().entry(code.to_owned()).or_insert_with(|| {
                    let (code, expires_at) = (code.to_owned(), AtomicU64::new(u64::MAX));
                    Arc::new(Place {
                        code,
                        expires_at,
                        seats: Mutex::default(),
                        round: Arc::default(),
                    })
                }));
            let mut seats = place.seats.lock();
            if seats.closed {
                drop(seats);
                self.forget(&place);
                continue;
            }
            if self.sockets_per_room > 0 && seats.sockets.len() >= self.sockets_per_room {
                return None;
            }
            seats.sockets.insert(socket, Seat { post: post.clone(), device, master: false });
            drop(seats);
            self.open.send_modify(|open| *open += 1);
            return Some(place);
        }
    }

    /// A socket leaves; a room without sockets is forgotten.
    pub(super) fn leave(&self, place: &Arc<Place>, socket: u64) {
        let mut seats = place.seats.lock();
        let Some(seat) = seats.sockets.remove(&socket) else { return };
        let changed = seats.left_behind(&seat);
        let empty = seats.sockets.is_empty();
        seats.closed |= empty;
        drop(seats);
        for who in changed {
            let _ = self.changed.send((place.code.clone(), who));
        }
        // After its changes: whoever sees the last socket gone finds them all.
        self.open.send_modify(|open| *open -= 1);
        if empty {
            self.forget(place);
        }
    }

    fn forget(&self, place: &Arc<Place>) {
        let mut places = self.places.lock();
        if places.get(&place.code).is_some_and(|known| Arc::ptr_eq(known, place)) {
            places.remove(&place.code);
        }
    }

    /// The socket showed the key.
    pub(super) fn is_master(&self, place: &Place, socket: u64, master: bool) {
        if let Some(seat) = place.seats.lock().sockets.get_mut(&socket)
            && seat.master != master
        {
            seat.master = master;
        } else {
            return;
        }
        let _ = self.changed.send((place.code.clone(), MASTER.to_owned()));
    }

    /// The socket is bound with this device from now on.
    pub(super) fn has_device(place: &Place, socket: u64, device: Arc<str>) {
        if let Some(seat) = place.seats.lock().sockets.get_mut(&socket) {
            seat.device = Some(device);
        }
    }

    /// A device holds a player, or none any more.
    pub(super) fn seated(&self, place: &Place, device: &Arc<str>, player: Option<&str>) {
        let mut seats = place.seats.lock();
        let before = match player {
            Some(player) => seats.players.insert(Arc::clone(device), player.to_owned()),
            None => seats.players.remove(device),
        };
        drop(seats);
        if before.as_deref() == player {
            return;
        }
        for who in before.into_iter().chain(player.map(str::to_owned)) {
            let _ = self.changed.send((place.code.clone(), who));
        }
    }

    /// Whether a player (or a Master) has a socket here.
    pub(super) fn is_here(&self, code: &str, who: &str) -> bool {
        self.place(code).is_some_and(|place| place.seats.lock().has(who))
    }

    /// Everybody here, for renewal.
    pub(super) fn everybody(&self) -> Vec<(String, Vec<String>)> {
        let places: Vec<Arc<Place>> = self.places.lock().values().cloned().collect();
        places
            .into_iter()
            .map(|place| {
                let seats = place.seats.lock();
                let mut who: Vec<String> =
                    seats.players.values().filter(|player| seats.has(player)).cloned().collect();
                who.extend(seats.has(MASTER).then(|| MASTER.to_owned()));
                (place.code.clone(), who)
            })
            .collect()
    }

    /// Hands a text of the bus to those it is for.
    pub(super) fn deliver(&self, code: &str, payload: Vec<u8>) {
        let Some(place) = self.place(code) else { return };
        let whole = Bytes::from(payload);
        let Ok(text) = std::str::from_utf8(&whole) else { return };
        let mut own: Vec<&str> = Vec::new();
        let mut left = Vec::new();
        for (to, range) in rooms::push::lines(text) {
            // It is a part of a checked text, cut at its line ends.
            let Ok(message) = Utf8Bytes::try_from(whole.slice(range)) else { continue };
            if let Audience::Own(device) = to {
                own.push(device);
            }
            if let Audience::Device(device) = to
                && message.starts_with(r#"{"type":"SLOT_INVALIDATED""#)
            {
                self.seated(&place, &Arc::from(device), None);
            }
            place.hand_out(&to, &own, &message, &mut left);
            if to == Audience::Closing {
                metrics::counter!("worldkeep_rooms_closed_total").increment(1);
                self.end(&place, End(code::CLOSED, "the room is closed"));
            }
        }
        place.round.carry(left);
    }

    /// Closes every socket of a room.
    fn end(&self, place: &Arc<Place>, end: End) {
        let mut seats = place.seats.lock();
        seats.closed = true;
        for seat in seats.sockets.values() {
            seat.post.put(Parcel::Close(end));
        }
        drop(seats);
        self.forget(place);
    }

    /// Tells the rooms whose time is over, and closes them.
    pub(super) fn expire(&self, now_ms: u64) {
        let over: Vec<Arc<Place>> =
            self.places.lock().values().filter(|p| p.expires_at() <= now_ms).cloned().collect();
        for place in over {
            let refused = rooms::Refused::expired();
            let text = super::talk::error_text(Some(&place.code), &refused, None);
            metrics::counter!("worldkeep_rooms_expired_total").increment(1);
            // Whoever is told the end takes this along.
            place.hand_out(&Audience::All, &[], &text.into(), &mut Vec::new());
            self.end(&place, End(code::EXPIRED, "the room has expired"));
        }
    }

    /// The server stops: everybody goes elsewhere.
    pub(super) fn goodbye(&self) {
        let places: Vec<Arc<Place>> = self.places.lock().values().cloned().collect();
        for place in places {
            self.end(&place, End(code::AWAY, "the server is going away"));
        }
    }

    /// Every socket looks at its room anew: something may have been missed.
    pub(super) fn resync(&self) {
        let places: Vec<Arc<Place>> = self.places.lock().values().cloned().collect();
        for place in places {
            for seat in place.seats.lock().sockets.values() {
                seat.post.put(Parcel::Resync);
            }
        }
    }
}

impl Seats {
    fn has(&self, who: &str) -> bool {
        if who == MASTER {
            return self.sockets.values().any(|seat| seat.master);
        }
        let devices = self.players.iter().filter(|(_, player)| *player == who);
        let mut devices = devices.map(|(device, _)| device);
        devices.any(|device| self.sockets.values().any(|seat| seat.device.as_ref() == Some(device)))
    }

    /// Whose presence a socket that left may have taken along.
    fn left_behind(&mut self, seat: &Seat) -> Vec<String> {
        let mut who = Vec::new();
        if let Some(device) = &seat.device
            && let Some(player) = self.players.get(device).cloned()
            && !self.has(&player)
        {
            self.players.remove(device);
            who.push(player);
        }
        if seat.master && !self.has(MASTER) {
            who.push(MASTER.to_owned());
        }
        who
    }
}

impl Place {
    pub(super) fn expires_at(&self) -> u64 {
        self.expires_at.load(Ordering::Relaxed)
    }

    pub(super) fn ends(&self, expires_at: u64) {
        self.expires_at.store(expires_at, Ordering::Relaxed);
    }

    /// Leaves a message with those it is for. Boxes that were empty are told: somebody must carry what is in them.
    fn hand_out(&self, to: &Audience<'_>, own: &[&str], message: &Utf8Bytes, left: &mut Vec<Post>) {
        let seats = self.seats.lock();
        for seat in seats.sockets.values() {
            let device = seat.device.as_deref();
            let wanted = match to {
                Audience::All | Audience::Closing => true,
                Audience::Masters => seat.master,
                Audience::Plays => !seat.master,
                Audience::Device(one) => device == Some(*one),
                Audience::Own(one) => !seat.master && device == Some(*one),
                Audience::Rest => !seat.master && device.is_none_or(|one| !own.contains(&one)),
            };
            if wanted && seat.post.leave(message.clone()) {
                left.push(seat.post.clone());
                if left.len() == AT_ONCE {
                    self.round.carry(std::mem::take(left));
                }
            }
        }
    }
}
