//! One connection as the core sees it: selected database, protocol, transaction, subscriptions, and the
//! bytes waiting to be sent. Lives in [`Clients`]; taken out while its own command runs.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::acl::User;
use crate::commands::table::Spec;
use crate::core::tracking::ClientTracking;
use crate::doors::out::Out;
use crate::doors::wake::Wake;

/// A client of any door.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) name: Vec<u8>,
    pub(crate) lib_name: Vec<u8>,
    pub(crate) lib_ver: Vec<u8>,
    /// `127.0.0.1:5555`, or the name of the in-process door.
    pub(crate) addr: String,
    pub(crate) laddr: String,
    pub(crate) fd: i64,
    pub(crate) created_ms: i64,
    pub(crate) last_ms: i64,
    pub(crate) last_command: Option<&'static Spec>,
    pub(crate) db: usize,
    /// Replies and pushes not yet taken by the door.
    pub(crate) out: Out,
    pub(crate) user: Arc<User>,
    pub(crate) authenticated: bool,
    pub(crate) multi: Option<Multi>,
    /// Database and key of each `WATCH`.
    pub(crate) watching: Vec<(usize, Box<[u8]>)>,
    pub(crate) channels: HashSet<Box<[u8]>>,
    pub(crate) patterns: HashSet<Box<[u8]>>,
    pub(crate) shard_channels: HashSet<Box<[u8]>>,
    pub(crate) blocked: Option<Box<Blocked>>,
    /// Inside `EXEC` or a script, where nothing may block.
    pub(crate) deny_blocking: bool,
    /// This is the client a script calls through.
    pub(crate) in_script: bool,
    pub(crate) monitor: bool,
    /// `CLIENT TRACKING`.
    pub(crate) tracking: Option<Box<ClientTracking>>,
    /// Reached by no socket: never closed for being idle.
    pub(crate) in_process: bool,
    /// The program around the engine: needs no login, and no rule of users binds it.
    pub(crate) owner: bool,
    /// The login of this client was held back, and is tried now.
    pub(crate) login_waited: bool,
    /// Since when more than the soft limit waits to be sent.
    pub(crate) over_soft_since: Option<i64>,
    /// Bytes received and not yet run, the running call included.
    pub(crate) query_bytes: usize,
    pub(crate) no_evict: bool,
    pub(crate) replies: Replies,
    /// The door closes the connection once `out` is sent.
    pub(crate) closing: bool,
    /// Tells its door that something waits for it.
    pub(crate) wake: Wake,
}

/// `CLIENT REPLY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Replies {
    #[default]
    On,
    Off,
    /// The next command is silent.
    SkipNext,
}

/// Commands between `MULTI` and `EXEC`.
#[derive(Debug, Default)]
pub(crate) struct Multi {
    pub(crate) queue: Vec<Queued>,
    /// A command was refused while queueing: `EXEC` must abort.
    pub(crate) broken: bool,
}

/// One queued command.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) spec: &'static Spec,
    pub(crate) argv: Vec<Box<[u8]>>,
}

/// A client that waits for a key, or for a pause to end.
#[derive(Debug)]
pub(crate) struct Blocked {
    /// Run again when one of the keys may serve it.
    pub(crate) argv: Vec<Box<[u8]>>,
    pub(crate) spec: &'static Spec,
    pub(crate) db: usize,
    pub(crate) keys: Vec<Box<[u8]>>,
    /// Unix milliseconds; `None` waits for ever.
    pub(crate) until_ms: Option<i64>,
    pub(crate) on_timeout: OnTimeout,
    /// `CLIENT UNBLOCK` refuses a client that is only paused.
    pub(crate) paused: bool,
}

/// The reply that a blocked client gets when its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnTimeout {
    NullArray,
    /// A null array too; only where nothing may wait it is a null, as for the command that does not wait.
    Null,
    Int(i64),
    /// A pause is over: the command runs now.
    Run,
}

impl Client {
    pub(crate) fn new(id: u64, addr: String, user: Arc<User>, now_ms: i64) -> Self {
        let authenticated = user.needs_no_password();
        Client {
            id,
            name: Vec::new(),
            lib_name: Vec::new(),
            lib_ver: Vec::new(),
            addr,
            laddr: String::new(),
            fd: 0,
            created_ms: now_ms,
            last_ms: now_ms,
            last_command: None,
            db: 0,
            out: Out::default(),
            user,
            authenticated,
            multi: None,
            watching: Vec::new(),
            channels: HashSet::new(),
            patterns: HashSet::new(),
            shard_channels: HashSet::new(),
            blocked: None,
            deny_blocking: false,
            in_script: false,
            monitor: false,
            tracking: None,
            in_process: false,
            owner: false,
            login_waited: false,
            over_soft_since: None,
            query_bytes: 0,
            no_evict: false,
            replies: Replies::On,
            closing: false,
            wake: Wake::task(),
        }
    }

    /// Number of channels and patterns, as `SUBSCRIBE` counts them.
    pub(crate) fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Bytes that wait to be taken by the other end.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.out.buf.len() + self.wake.owed()
    }

    /// Subscribed in any way: in RESP2 only a few commands are allowed then.
    pub(crate) fn subscribed(&self) -> bool {
        self.subscriptions() + self.shard_channels.len() > 0
    }
}

/// All clients but the one whose command runs now.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    slots: Vec<Option<Box<Client>>>,
    by_id: hashbrown::HashMap<u64, usize>,
    free: Vec<usize>,
    last_id: u64,
}

/// A door's hold on its client: found without hashing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seat {
    slot: usize,
    pub(crate) id: u64,
}

impl Clients {
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn add(&mut self, client: Box<Client>) -> Seat {
        let id = client.id;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(client);
        self.by_id.insert(id, slot);
        Seat { slot, id }
    }

    /// Takes a client out to run its command; [`Clients::put`] gives it back.
    pub(crate) fn take(&mut self, seat: Seat) -> Box<Client> {
        self.slots[seat.slot].take().expect("a client runs one command at a time")
    }

    /// The same for a client that may be the running one.
    pub(crate) fn try_take(&mut self, seat: Seat) -> Option<Box<Client>> {
        self.slots[seat.slot].take()
    }

    pub(crate) fn put(&mut self, seat: Seat, client: Box<Client>) {
        self.slots[seat.slot] = Some(client);
    }

    pub(crate) fn seat(&self, id: u64) -> Option<Seat> {
        self.by_id.get(&id).map(|slot| Seat { slot: *slot, id })
    }

    /// The client of a seat, found without hashing.
    pub(crate) fn at(&mut self, seat: Seat) -> Option<&mut Client> {
        self.slots.get_mut(seat.slot)?.as_deref_mut().filter(|client| client.id == seat.id)
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Client> {
        self.slots[*self.by_id.get(&id)?].as_deref()
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Client> {
        self.slots[*self.by_id.get(&id)?].as_deref_mut()
    }

    pub(crate) fn remove(&mut self, seat: Seat) -> Option<Box<Client>> {
        self.by_id.remove(&seat.id);
        self.free.push(seat.slot);
        self.slots[seat.slot].take()
    }

    /// Number of connections, the running one included.
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.slots.iter().filter_map(|slot| slot.as_deref())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Client> {
        self.slots.iter_mut().filter_map(|slot| slot.as_deref_mut())
    }
}
