//! The connections of a listening door and the readiness events of the system. Events are
//! edge-triggered: the system tells of each change once, so an event is kept until it has been
//! acted on. It is kept with the connection, or in its slot while the connection is out and its
//! calls run. All connections wait in one line; a turn serves its head.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use crate::doors::conn::{Conn, Socket, Stream};
use crate::doors::tls::{Configs, TlsStream};
use crate::doors::wake::Bell;
use crate::exec::LockedEngine;
use crate::shared::SharedEngine;

const LISTENER: Token = Token(usize::MAX);
const BELL: Token = Token(usize::MAX - 1);
/// Connections that one turn looks after, and that it lets in.
pub(crate) const TURN: usize = 128;
/// The bytes that one turn reads from a connection at most.
const READ: usize = 64 * 1024;
/// How long to wait before trying again what cannot go on now.
const AGAIN: Duration = Duration::from_millis(10);

/// A listening socket.
pub(crate) enum Listening {
    Tcp(mio::net::TcpListener),
    Tls(mio::net::TcpListener, Configs),
    Unix(mio::net::UnixListener, PathBuf),
}

/// See the file's head.
pub(crate) struct Hub {
    poll: Poll,
    events: Events,
    /// None when the door is closed.
    listening: Option<Listening>,
    bell: Arc<Bell>,
    /// Connections may wait to be let in.
    knocks: bool,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Connections to exchange bytes with.
    line: VecDeque<usize>,
    /// Connections to run calls of.
    runnable: VecDeque<usize>,
    /// Connections that wait for the end of a slow script.
    later: Vec<usize>,
    rung: Vec<usize>,
    /// Connections whose peer takes nothing of what it is owed.
    stalled: Vec<usize>,
    /// When they were last looked at.
    looked: Instant,
    /// How long they may go on so.
    stall: Duration,
    space: Vec<u8>,
}

#[derive(Default)]
struct Slot {
    /// Away while its calls run.
    conn: Option<Box<Conn>>,
    taken: bool,
    readable: bool,
    writable: bool,
    ended: bool,
    rung: bool,
    in_line: bool,
    later: bool,
    stalled: bool,
}

impl Listening {
    fn register(&mut self, poll: &Poll) -> io::Result<()> {
        match self {
            Listening::Tcp(l) | Listening::Tls(l, _) => {
                poll.registry().register(l, LISTENER, Interest::READABLE)
            }
            Listening::Unix(l, _) => poll.registry().register(l, LISTENER, Interest::READABLE),
        }
    }

    fn accept(&self) -> io::Result<(Stream, Socket)> {
        match self {
            Listening::Tcp(listener) => listener.accept().map(|(stream, peer)| {
                let socket = Socket::tcp(&stream, peer);
                (Stream::Tcp(stream), socket)
            }),
            Listening::Tls(listener, configs) => {
                let (stream, peer) = listener.accept()?;
                let socket = Socket::tcp(&stream, peer);
                Ok((Stream::Tls(TlsStream::new(stream, configs())?), socket))
            }
            Listening::Unix(listener, path) => listener.accept().map(|(stream, _)| {
                let socket = Socket::unix(&stream, &path.to_string_lossy());
                (Stream::Unix(stream), socket)
            }),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Listening::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Hub {
    /// Whoever takes nothing of what it is owed for as long as `stall` is closed.
    pub(crate) fn new(mut listening: Listening, stall: Duration) -> io::Result<Self> {
        let poll = Poll::new()?;
        listening.register(&poll)?;
        let bell = Arc::new(Bell::new(mio::Waker::new(poll.registry(), BELL)?));
        Ok(Hub {
            poll,
            events: Events::with_capacity(1024),
            listening: Some(listening),
            bell,
            knocks: false,
            slots: Vec::new(),
            free: Vec::new(),
            line: VecDeque::new(),
            runnable: VecDeque::new(),
            later: Vec::new(),
            rung: Vec::new(),
            stalled: Vec::new(),
            looked: Instant::now(),
            stall,
            space: vec![0; READ],
        })
    }

    pub(crate) fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// Waits until there is something to do, unless told not to, and exchanges bytes with those at the head of the line.
    pub(crate) fn gather(&mut self, shared: &SharedEngine, may_sleep: bool) {
        self.hear();
        let wait = if !may_sleep || !self.line.is_empty() || !self.runnable.is_empty() {
            Some(Duration::ZERO)
        } else if self.knocks || !self.later.is_empty() {
            Some(AGAIN)
        } else if self.bell.may_sleep() {
            (!self.stalled.is_empty()).then(|| self.look_every())
        } else {
            Some(Duration::ZERO)
        };
        // Interrupted, or the system is out of something: what it had to tell it tells the next time.
        let _ = self.poll.poll(&mut self.events, wait);
        self.note_events();
        self.hear();
        if !self.later.is_empty() && !shared.watch.busy() {
            for slot in std::mem::take(&mut self.later) {
                self.slots[slot].rung = true;
                self.slots[slot].later = false;
                self.queue(slot);
            }
        }
        self.let_in();
        if !self.stalled.is_empty() && self.looked.elapsed() >= self.look_every() {
            self.look_at_stalled();
        }
        for _ in 0..self.line.len().min(TURN) {
            self.exchange_with_next();
        }
    }

    fn look_every(&self) -> Duration {
        (self.stall / 10).clamp(Duration::from_millis(1), Duration::from_secs(1))
    }

    /// Tries those who take nothing once more, since the system tells of room only when there is much of it, and gives
    /// up those who had their time.
    fn look_at_stalled(&mut self) {
        self.looked = Instant::now();
        for at in std::mem::take(&mut self.stalled) {
            let slot = &mut self.slots[at];
            slot.stalled = false;
            let Some(conn) = slot.conn.as_mut() else { continue };
            let Some(stalls_for) = conn.stalls_for() else { continue };
            if stalls_for >= self.stall {
                conn.give_up();
            }
            slot.writable = true;
            self.queue(at);
        }
    }

    fn note_stall(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        let stalls = slot.conn.as_ref().is_some_and(|conn| conn.stalls_for().is_some());
        if stalls && !std::mem::replace(&mut slot.stalled, true) {
            self.stalled.push(at);
        }
    }

    /// Puts the connections that were rung for in line.
    fn hear(&mut self) {
        let mut rung = std::mem::take(&mut self.rung);
        self.bell.take(&mut rung);
        for slot in rung.drain(..) {
            self.slots[slot].rung = true;
            self.queue(slot);
        }
        self.rung = rung;
    }

    fn note_events(&mut self) {
        let Hub { events, slots, line, knocks, .. } = self;
        for event in &*events {
            let Token(at) = event.token();
            match event.token() {
                LISTENER => *knocks = true,
                BELL => {}
                _ if at >= slots.len() => {}
                _ => {
                    let slot = &mut slots[at];
                    let failed = event.is_error();
                    let ended = event.is_read_closed() || failed;
                    slot.readable |= event.is_readable() || ended;
                    slot.ended |= ended;
                    slot.writable |= event.is_writable() || event.is_write_closed() || failed;
                    if !std::mem::replace(&mut slot.in_line, true) {
                        line.push_back(at);
                    }
                }
            }
        }
    }

    fn queue(&mut self, slot: usize) {
        if !std::mem::replace(&mut self.slots[slot].in_line, true) {
            self.line.push_back(slot);
        }
    }

    /// Lets new connections in.
    fn let_in(&mut self) {
        let mut left = if self.knocks { TURN } else { 0 };
        while left > 0 {
            left -= 1;
            let Some(listening) = &self.listening else { return };
            match listening.accept() {
                Ok(new) => self.seat(new),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.knocks = false;
                    return;
                }
                // Gone before it came in.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    // Out of descriptors, most likely: others leave, then there is room.
                    tracing::warn!(%error, "a connection cannot be let in");
                    return;
                }
            }
        }
    }

    fn seat(&mut self, new: (Stream, Socket)) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        match Conn::new(slot, new, &self.bell, self.poll.registry()) {
            Ok(conn) => {
                let Slot { in_line, later, stalled, .. } = self.slots[slot];
                self.slots[slot] = Slot {
                    conn: Some(conn),
                    rung: true,
                    in_line,
                    later,
                    stalled,
                    ..Slot::default()
                };
                self.queue(slot);
            }
            Err(error) => {
                self.free.push(slot);
                tracing::warn!(%error, "a connection cannot be watched");
            }
        }
    }

    fn exchange_with_next(&mut self) {
        let Some(at) = self.line.pop_front() else { return };
        let slot = &mut self.slots[at];
        slot.in_line = false;
        let rung = std::mem::take(&mut slot.rung);
        let Some(conn) = slot.conn.as_mut() else {
            // The connection's calls run at this moment: it joins the line again when it is back.
            slot.rung = rung && slot.taken;
            return;
        };
        conn.readable |= std::mem::take(&mut slot.readable);
        conn.writable |= std::mem::take(&mut slot.writable);
        conn.ended |= std::mem::take(&mut slot.ended);
        if rung {
            conn.heard();
        }
        let ask = conn.exchange(&mut self.space);
        if conn.is_over() {
            self.let_go(at);
        } else if ask || rung {
            self.runnable.push_back(at);
        } else if conn.can_go_on() {
            self.queue(at);
        }
        self.note_stall(at);
    }

    fn let_go(&mut self, at: usize) {
        self.slots[at].conn = None;
        self.slots[at].taken = false;
        self.free.push(at);
    }

    /// Takes the next connection whose calls should run.
    pub(crate) fn next(&mut self) -> Option<Box<Conn>> {
        while let Some(at) = self.runnable.pop_front() {
            let slot = &mut self.slots[at];
            if let Some(conn) = slot.conn.take() {
                slot.taken = true;
                return Some(conn);
            }
        }
        None
    }

    /// A connection was taken too early.
    pub(crate) fn run_later(&mut self, conn: Box<Conn>) {
        let at = conn.slot;
        self.slots[at].taken = false;
        self.slots[at].conn = Some(conn);
        self.runnable.push_front(at);
    }

    /// A connection is back from its calls.
    pub(crate) fn put_back(&mut self, conn: Box<Conn>) {
        let at = conn.slot;
        if conn.is_over() {
            return self.let_go(at);
        }
        let slot = &mut self.slots[at];
        let told = slot.rung || slot.readable || slot.writable || slot.ended;
        let goes_on = conn.can_go_on();
        slot.taken = false;
        slot.conn = Some(conn);
        if told || goes_on {
            self.queue(at);
        }
        self.note_stall(at);
    }

    /// A slow script holds the lock: those who ask meanwhile are told so, or may end it.
    pub(crate) fn answer_busy(&mut self, shared: &SharedEngine) {
        while shared.watch.busy()
            && let Some(mut conn) = self.next()
        {
            conn.answer_busy(shared);
            let at = conn.slot;
            let slot = &mut self.slots[at];
            slot.taken = false;
            slot.conn = Some(conn);
            // Whatever else waits for it is done when the script has ended.
            if !std::mem::replace(&mut slot.later, true) {
                self.later.push(at);
            }
            self.note_stall(at);
        }
    }

    /// Listens no more, and ends all connections.
    pub(crate) fn close(&mut self, inner: &mut LockedEngine) {
        self.listening = None;
        for slot in &mut self.slots {
            if let Some(mut conn) = slot.conn.take() {
                conn.leave(inner);
            }
        }
    }
}
