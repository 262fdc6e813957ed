//! The data and everything a command may touch, behind one lock. Methods here keep what belongs together
//! together: an expired key is never seen, a change wakes watchers, a deletion drops its deadline.
//!
//! The current database (`db`) and time (`now`) are set once per top-level command and stay fixed for the
//! whole of a script or transaction.

pub(crate) mod admin;
pub(crate) mod client;
pub(crate) mod config;
pub(crate) mod evict;
pub(crate) mod notify;
pub(crate) mod pubsub;
pub(crate) mod settings;
pub(crate) mod stats;
pub(crate) mod tracking;

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;

use crate::clock::Clock;
use crate::core::admin::Admin;
use crate::core::client::{Clients, OnTimeout};
use crate::core::config::Config;
use crate::core::evict::minutes_stamp;
use crate::core::notify::class;
use crate::core::pubsub::PubSub;
use crate::core::stats::Stats;
use crate::data::{Hash, Keyspace, List, Set, Stream, Value, Zset};
use crate::error::{ReplyError, WRONG_TYPE};
use crate::exec::guard::Pause;
use crate::log::pending::Pending;
use crate::log::rewrite::Copy;

/// One numbered database.
#[derive(Default)]
pub(crate) struct Db {
    pub(crate) keys: Keyspace,
    /// The database's number when the running copy began; `SWAPDB` may have moved it since.
    pub(crate) copied_as: usize,
    /// Clients that watch a key.
    pub(crate) watched: HashMap<Box<[u8]>, Vec<u64>>,
    /// Clients that wait for a key, first come first served.
    pub(crate) waiting: HashMap<Box<[u8]>, VecDeque<u64>>,
}

/// Everything but the Lua host.
pub(crate) struct Core {
    pub(crate) dbs: Vec<Db>,
    /// Index of the database of the running command.
    pub(crate) db: usize,
    /// Unix milliseconds, fixed while a command, script or transaction runs.
    pub(crate) now: i64,
    pub(crate) clock: Arc<dyn Clock>,
    /// When the running top-level call began, until its first command takes it; else 0.
    pub(crate) started_us: i64,
    pub(crate) config: Config,
    pub(crate) stats: Stats,
    /// Users, slow log and what else operators ask for.
    pub(crate) admin: Admin,
    pub(crate) clients: Clients,
    /// The client whose command runs; it is not in `clients` meanwhile.
    pub(crate) current: u64,
    /// Pushes for the running client itself; they go out before its reply.
    pub(crate) self_push: Vec<u8>,
    /// Whether the running client speaks RESP3.
    pub(crate) current_resp3: bool,
    pub(crate) pubsub: PubSub,
    /// Clients whose watched keys changed.
    pub(crate) watch_broken: HashSet<u64>,
    /// Number of changes so far; what a command adds decides whether it is logged.
    pub(crate) dirty: u64,
    pub(crate) pending: Pending,
    /// A rewrite of the log is under way: keys are copied as they were when it began.
    pub(crate) copy: Option<Box<Copy>>,
    /// Keys that may serve a waiting client, in order.
    pub(crate) ready: VecDeque<(usize, Box<[u8]>)>,
    /// A blocked command is being tried again: if it must go on waiting it keeps its place.
    pub(crate) retrying: bool,
    pub(crate) still_blocked: bool,
    /// Number of clients that wait for a key or a pause.
    pub(crate) blocked_clients: usize,
    /// `DEBUG SET-ACTIVE-EXPIRE`.
    pub(crate) active_expire: bool,
    /// Restoring from the log: nothing is logged again, nothing expires.
    pub(crate) loading: bool,
    pub(crate) rng: SmallRng,
    pub(crate) pause: Pause,
    /// Number of clients in `MONITOR`.
    pub(crate) monitors: usize,
    /// The Lua host's numbers of scripts, libraries and functions, for `INFO`.
    pub(crate) script_counts: crate::lua::host::Counts,
    /// Set while the log cannot be written: what every write is told.
    pub(crate) write_refusal: Option<ReplyError>,
}

/// The current database's typed access, one pair a type.
macro_rules! typed {
    ($($get:ident $get_mut:ident $or_new:ident $variant:ident $type:ty;)*) => {$(
        /// The value at `key`, to read.
        pub(crate) fn $get(&mut self, key: &[u8]) -> Result<Option<&$type>, ReplyError> {
            match self.read(key) {
                None => Ok(None),
                Some(Value::$variant(value)) => Ok(Some(value)),
                Some(_) => Err(WRONG_TYPE),
            }
        }

        /// The value at `key`, to change.
        #[allow(dead_code)]
        pub(crate) fn $get_mut(&mut self, key: &[u8]) -> Result<Option<&mut $type>, ReplyError> {
            match self.write(key) {
                None => Ok(None),
                Some(Value::$variant(value)) => Ok(Some(value)),
                Some(_) => Err(WRONG_TYPE),
            }
        }

        /// The value at `key`, made empty when there is none.
        #[allow(dead_code)]
        pub(crate) fn $or_new(&mut self, key: &[u8]) -> Result<&mut $type, ReplyError> {
            if self.write(key).is_none() {
                self.put(key, Value::$variant(Box::default()));
            }
            match self.dbs[self.db].keys.get_mut(key) {
                Some(Value::$variant(value)) => Ok(value),
                _ => Err(WRONG_TYPE),
            }
        }
    )*};
}

impl Core {
    pub(crate) fn new(clock: Arc<dyn Clock>, config: Config) -> Self {
        let dbs = (0..config.databases).map(|_| Db::default()).collect();
        let now = clock.now_ms();
        Core {
            dbs,
            db: 0,
            now,
            clock,
            started_us: 0,
            config,
            stats: Stats::new(now),
            admin: Admin::new(now),
            clients: Clients::default(),
            current: 0,
            self_push: Vec::new(),
            current_resp3: false,
            pubsub: PubSub::default(),
            watch_broken: HashSet::new(),
            dirty: 0,
            pending: Pending::default(),
            copy: None,
            ready: VecDeque::new(),
            retrying: false,
            still_blocked: false,
            blocked_clients: 0,
            active_expire: true,
            loading: false,
            rng: SmallRng::from_rng(&mut rand::rng()),
            pause: Pause::default(),
            monitors: 0,
            script_counts: crate::lua::host::Counts::default(),
            write_refusal: None,
        }
    }

    pub(crate) fn keys(&mut self) -> &mut Keyspace {
        &mut self.dbs[self.db].keys
    }

    /// Uses of keys are noted as happening now (`OBJECT IDLETIME`).
    fn note_now(&mut self) {
        let stamp = match self.config.counting {
            None => access_stamp(self.now),
            counting => {
                self.dbs[self.db].keys.count_uses(counting);
                minutes_stamp(self.now)
            }
        };
        self.dbs[self.db].keys.note_uses_at(stamp);
    }

    /// Deletes `key` if its time is over. True when it was there and is gone now.
    pub(crate) fn expire_if_due(&mut self, key: &[u8]) -> bool {
        let keys = &self.dbs[self.db].keys;
        match keys.expire_at(key) {
            Some(at) if at <= self.now && !self.loading => {
                self.expire_now(key);
                true
            }
            _ => false,
        }
    }

    /// Deletes a key whose time is over, with its event and its line in the log.
    pub(crate) fn expire_now(&mut self, key: &[u8]) {
        self.preserve(key);
        self.dbs[self.db].keys.remove(key);
        self.stats.expired_keys += 1;
        self.pending_push(&[b"DEL", key]);
        self.break_watches(key);
        self.notify(class::EXPIRED, "expired", key);
        self.signal_ready(key);
    }

    /// A live key's value, for reading; counts a hit or a miss.
    pub(crate) fn read(&mut self, key: &[u8]) -> Option<&Value> {
        self.expire_if_due(key);
        if self.config.notify_flags & class::KEY_MISS != 0 && !self.dbs[self.db].keys.contains(key)
        {
            self.notify(class::KEY_MISS, "keymiss", key);
        }
        self.note_now();
        let value = self.dbs[self.db].keys.get_touched(key);
        if value.is_some() {
            self.stats.hits += 1;
        } else {
            self.stats.misses += 1;
        }
        value
    }

    /// A live key's value without counting a hit or moving its idle time (`OBJECT`, `TTL`, `TYPE`).
    pub(crate) fn peek(&mut self, key: &[u8]) -> Option<&Value> {
        self.expire_if_due(key);
        self.dbs[self.db].keys.get(key)
    }

    /// A live key's value, to change in place.
    pub(crate) fn write(&mut self, key: &[u8]) -> Option<&mut Value> {
        self.expire_if_due(key);
        self.note_now();
        self.preserve(key);
        self.dbs[self.db].keys.get_mut(key)
    }

    pub(crate) fn exists(&mut self, key: &[u8]) -> bool {
        !self.expire_if_due(key) && self.dbs[self.db].keys.contains(key)
    }

    /// A live key's value and the generator of random numbers at once.
    pub(crate) fn value_and_rng(&mut self, key: &[u8]) -> (Option<&Value>, &mut SmallRng) {
        self.expire_if_due(key);
        (self.dbs[self.db].keys.get(key), &mut self.rng)
    }

    typed! {
        list list_mut list_or_new List List;
        hash hash_mut hash_or_new Hash Hash;
        set set_mut set_or_new Set Set;
        zset zset_mut zset_or_new Zset Zset;
        stream stream_mut stream_or_new Stream Stream;
    }

    /// Stores a value under a key, replacing what was there; any deadline goes.
    pub(crate) fn put(&mut self, key: &[u8], value: Value) {
        self.note_now();
        self.preserve(key);
        if self.dbs[self.db].keys.insert(key, value).is_none()
            && self.config.notify_flags & class::NEW != 0
        {
            self.notify(class::NEW, "new", key);
        }
        self.signal_ready(key);
    }

    /// Stores a value under a key; a deadline stays.
    pub(crate) fn put_keeping_ttl(&mut self, key: &[u8], value: Value) {
        if self.dbs[self.db].keys.contains(key) {
            self.note_now();
            self.preserve(key);
            self.dbs[self.db].keys.replace_value(key, value);
            self.signal_ready(key);
        } else {
            self.put(key, value);
        }
    }

    /// Deletes a live key. Tells watchers; counts nothing as changed (see [`Core::touched`]).
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Value> {
        if self.expire_if_due(key) {
            return None;
        }
        self.preserve(key);
        let value = self.dbs[self.db].keys.remove(key)?;
        self.break_watches(key);
        // A reader of a stream group waits on a key that is gone now: it must be told.
        self.signal_ready(key);
        Some(value)
    }

    /// Gives a key a deadline; says whether it is there.
    pub(crate) fn set_deadline(&mut self, key: &[u8], at_ms: i64) -> bool {
        self.preserve(key);
        self.dbs[self.db].keys.set_expire(key, at_ms)
    }

    /// Takes a key's deadline away; says whether it had one.
    pub(crate) fn clear_deadline(&mut self, key: &[u8]) -> bool {
        self.preserve(key);
        self.dbs[self.db].keys.persist(key)
    }

    /// A command changed `key` once: watchers are told and the command will be logged.
    pub(crate) fn touched(&mut self, key: &[u8]) {
        self.dirty += 1;
        self.break_watches(key);
    }

    /// Watchers of `key` will find their transaction refused.
    pub(crate) fn break_watches(&mut self, key: &[u8]) {
        if self.admin.tracking.clients > 0 {
            self.invalidate(key);
        }
        let db = &self.dbs[self.db];
        if !db.watched.is_empty()
            && let Some(clients) = db.watched.get(key)
        {
            self.watch_broken.extend(clients);
        }
    }

    /// `key` may be able to serve a client that waits for it.
    pub(crate) fn signal_ready(&mut self, key: &[u8]) {
        let db = &self.dbs[self.db];
        if !db.waiting.is_empty() && db.waiting.contains_key(key) {
            let entry = (self.db, Box::from(key));
            if !self.ready.contains(&entry) {
                self.ready.push_back(entry);
            }
        }
    }

    /// Publishes a keyspace event if its class is switched on.
    pub(crate) fn notify(&mut self, class: u32, event: &str, key: &[u8]) {
        if self.config.notify_flags & class == 0 {
            return;
        }
        notify::publish(self, event, key);
    }

    /// The usual end of a write: the key changed, and its event.
    pub(crate) fn changed(&mut self, class: u32, event: &str, key: &[u8]) {
        self.touched(key);
        self.notify(class, event, key);
    }

    /// Deletes `key` if its collection is empty now, with the `del` event.
    pub(crate) fn remove_if_empty(&mut self, key: &[u8]) -> bool {
        let empty = self.drop_if_empty(key);
        if empty {
            self.notify(class::GENERIC, "del", key);
        }
        empty
    }

    /// Takes back an empty collection that nobody saw.
    pub(crate) fn drop_if_empty(&mut self, key: &[u8]) -> bool {
        let empty = match self.dbs[self.db].keys.get(key) {
            Some(Value::List(list)) => list.is_empty(),
            Some(Value::Hash(hash)) => hash.is_empty(),
            Some(Value::Set(set)) => set.is_empty(),
            Some(Value::Zset(zset)) => zset.is_empty(),
            _ => false,
        };
        if empty {
            self.dbs[self.db].keys.remove(key);
        }
        empty
    }

    /// Ends the wait of a client that nothing served.
    pub(crate) fn time_out(&mut self, id: u64) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let Some(blocked) = client.blocked.take() else { return };
        match blocked.on_timeout {
            OnTimeout::NullArray | OnTimeout::Null => client.out.null_array(),
            OnTimeout::Int(n) => client.out.int(n),
            OnTimeout::Run => {}
        }
        client.wake.ring();
        self.forget_waiter(id, &blocked);
    }

    /// Takes a client off the queues of the keys it waited for.
    pub(crate) fn forget_waiter(&mut self, id: u64, blocked: &crate::core::client::Blocked) {
        self.blocked_clients = self.blocked_clients.saturating_sub(1);
        let db = &mut self.dbs[blocked.db];
        for key in &blocked.keys {
            if let Some(queue) = db.waiting.get_mut(key) {
                queue.retain(|waiter| *waiter != id);
                if queue.is_empty() {
                    db.waiting.remove(key);
                }
            }
        }
    }
}

/// Seconds, cut to the width of the keyspace's access stamp.
pub(crate) fn access_stamp(now_ms: i64) -> u32 {
    u32::try_from((now_ms / 1000).rem_euclid(1 << 24)).expect("24 bits fit")
}
