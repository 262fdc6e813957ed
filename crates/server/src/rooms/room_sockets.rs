//! The sockets of one room on this server, the players that their devices hold, and broadcasts to them. A message is one
//! shared text: queueing it for a socket copies a pointer and never waits. A phone that stays behind is closed and comes
//! back with a fresh state.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rooms::{Audience, MASTER};

use super::photos::Photos;
use crate::socket::{End, FanOut, Outbox, Utf8Bytes};

/// In a room of more sockets the first have their message before the last are looked at.
const AT_ONCE: usize = 256;

/// One room's sockets on this server.
pub(super) struct RoomSockets {
    pub(super) code: String,
    /// Unix milliseconds; far away until the room was read.
    expires_at: AtomicU64,
    members: Mutex<Members>,
    fan_out: Arc<FanOut>,
    pub(super) photos: Photos,
}

/// A message for the sockets of a room.
pub(super) struct RoomMessage {
    text: Utf8Bytes,
    /// The same with photos as links, where it has any.
    linked: Option<Utf8Bytes>,
}

impl RoomMessage {
    pub(super) fn new(text: Utf8Bytes, code: &str) -> Self {
        let linked = match rooms::with_links(&text, code) {
            Cow::Borrowed(_) => None,
            Cow::Owned(linked) => Some(linked.into()),
        };
        RoomMessage { text, linked }
    }
}

#[derive(Default)]
struct Members {
    sockets: HashMap<u64, Member>,
    /// Device → player.
    players: HashMap<Arc<str>, String>,
    /// The room is closed: whoever comes now gets a new one.
    closed: bool,
}

struct Member {
    outbox: Outbox,
    device: Option<Arc<str>>,
    master: bool,
    /// Whether it asked for photos as links.
    links: bool,
}

/// The outcome for a socket that came.
pub(super) enum Entered {
    Yes,
    /// The room has as many sockets as it may.
    Full,
    /// The room was closed meanwhile.
    Closed,
}

impl RoomSockets {
    pub(super) fn new(code: &str) -> Self {
        let (code, expires_at) = (code.to_owned(), AtomicU64::new(u64::MAX));
        RoomSockets {
            code,
            expires_at,
            members: Mutex::default(),
            fan_out: Arc::default(),
            photos: Photos::default(),
        }
    }

    pub(super) fn expires_at(&self) -> u64 {
        self.expires_at.load(Ordering::Relaxed)
    }

    pub(super) fn ends(&self, expires_at: u64) {
        self.expires_at.store(expires_at, Ordering::Relaxed);
    }

    pub(super) fn len(&self) -> usize {
        self.members.lock().sockets.len()
    }

    /// A socket comes; 0 for `most` is no limit.
    pub(super) fn add(
        &self,
        socket: u64,
        outbox: &Outbox,
        device: Option<Arc<str>>,
        most: usize,
    ) -> Entered {
        let mut members = self.members.lock();
        if members.closed {
            return Entered::Closed;
        }
        if most > 0 && members.sockets.len() >= most {
            return Entered::Full;
        }
        let member = Member { outbox: outbox.clone(), device, master: false, links: false };
        members.sockets.insert(socket, member);
        Entered::Yes
    }

    /// A socket leaves. Gives whose presence it may have taken along, and whether it was the last; nothing when it had
    /// left already.
    pub(super) fn remove(&self, socket: u64) -> Option<(Vec<String>, bool)> {
        let mut members = self.members.lock();
        let member = members.sockets.remove(&socket)?;
        let changed = members.lost_presence(&member);
        let empty = members.sockets.is_empty();
        members.closed |= empty;
        Some((changed, empty))
    }

    /// The socket showed the key, or does not count as a Master any more. Tells whether that is new.
    pub(super) fn set_master(&self, socket: u64, master: bool) -> bool {
        let mut members = self.members.lock();
        let member = members.sockets.get_mut(&socket);
        member.is_some_and(|member| std::mem::replace(&mut member.master, master) != master)
    }

    /// The socket takes photos as links from now on, or as data URLs.
    pub(super) fn set_links(&self, socket: u64, links: bool) {
        if let Some(member) = self.members.lock().sockets.get_mut(&socket) {
            member.links = links;
        }
    }

    /// The socket is bound with this device from now on.
    pub(super) fn set_device(&self, socket: u64, device: Arc<str>) {
        if let Some(member) = self.members.lock().sockets.get_mut(&socket) {
            member.device = Some(device);
        }
    }

    /// A device holds a player, or none any more. Gives the player that it held before.
    pub(super) fn set_player(&self, device: &Arc<str>, player: Option<&str>) -> Option<String> {
        let mut members = self.members.lock();
        match player {
            Some(player) => members.players.insert(Arc::clone(device), player.to_owned()),
            None => members.players.remove(device),
        }
    }

    /// Whether a player (or a Master) has a socket here.
    pub(super) fn has(&self, who: &str) -> bool {
        self.members.lock().has(who)
    }

    /// Everybody who has a socket here.
    pub(super) fn present(&self) -> Vec<String> {
        let members = self.members.lock();
        let players = members.players.values().filter(|player| members.has(player)).cloned();
        players.chain(members.has(MASTER).then(|| MASTER.to_owned())).collect()
    }

    /// Queues a message for those it is for. Outboxes that were empty are collected: [`Self::write`] has them written.
    pub(super) fn queue(
        &self,
        to: &Audience<'_>,
        own: &[&str],
        message: &RoomMessage,
        queued: &mut Vec<Outbox>,
    ) {
        for member in self.members.lock().sockets.values() {
            let device = member.device.as_deref();
            let wanted = match to {
                Audience::All | Audience::Closing => true,
                Audience::Masters => member.master,
                Audience::Plays => !member.master,
                Audience::Device(one) => device == Some(*one),
                Audience::Own(one) => !member.master && device == Some(*one),
                Audience::Rest => !member.master && device.is_none_or(|one| !own.contains(&one)),
            };
            let text = message.linked.as_ref().filter(|_| member.links).unwrap_or(&message.text);
            if wanted && member.outbox.queue(text.clone()) {
                queued.push(member.outbox.clone());
                if queued.len() == AT_ONCE {
                    self.write(std::mem::take(queued));
                }
            }
        }
    }

    /// Writes what was queued.
    pub(super) fn write(&self, queued: Vec<Outbox>) {
        self.fan_out.write(queued);
    }

    /// Closes every socket, after what is queued.
    pub(super) fn close(&self, end: End) {
        let mut members = self.members.lock();
        members.closed = true;
        for member in members.sockets.values() {
            member.outbox.close(end);
        }
    }

    /// Every socket reads its state anew.
    pub(super) fn refresh(&self) {
        for member in self.members.lock().sockets.values() {
            member.outbox.refresh();
        }
    }
}

impl Members {
    fn has(&self, who: &str) -> bool {
        if who == MASTER {
            return self.sockets.values().any(|member| member.master);
        }
        let held = |device| self.players.get(device).is_some_and(|player| player == who);
        self.sockets.values().any(|member| member.device.as_ref().is_some_and(held))
    }

    /// Whose presence a socket that left may have taken along.
    fn lost_presence(&mut self, member: &Member) -> Vec<String> {
        let mut who = Vec::new();
        if let Some(device) = &member.device
            && let Some(player) = self.players.get(device).cloned()
            && !self.has(&player)
        {
            self.players.remove(device);
            who.push(player);
        }
        if member.master && !self.has(MASTER) {
            who.push(MASTER.to_owned());
        }
        who
    }
}
