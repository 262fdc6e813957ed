//! The state behind the operator's commands: users, the slow log, latency events, the estimate of
//! memory, and the identity of this run. One field of [`crate::core::Core`].

use std::collections::{BTreeMap, VecDeque};

use rand::RngExt as _;

use crate::acl::logins::Logins;
use crate::acl::{AclLog, Users};
use crate::core::tracking::Tracking;

/// State of the commands that look after the server.
#[derive(Debug)]
pub(crate) struct Admin {
    pub(crate) users: Users,
    pub(crate) acl_log: AclLog,
    pub(crate) logins: Logins,
    /// When the program's log last heard of connections that were closed for a reason.
    pub(crate) turned_away: BTreeMap<&'static str, i64>,
    pub(crate) slowlog: Slowlog,
    pub(crate) latency: Latency,
    pub(crate) memory: MemoryEstimate,
    pub(crate) tracking: Tracking,
    /// A pause ended early: clients that waited run now.
    pub(crate) resume: bool,
    /// Forty hexadecimal digits, new for each run.
    pub(crate) run_id: String,
    pub(crate) on_shutdown: Option<crate::ShutdownHook>,
    /// Whether `DEBUG` may be called.
    pub(crate) debug: bool,
    pub(crate) last_save_s: i64,
    /// `BGREWRITEAOF` was asked for; the next tick starts it.
    pub(crate) rewrite_wanted: bool,
    /// The log is being rewritten.
    pub(crate) rewriting: bool,
    /// The last rewrite did not succeed.
    pub(crate) rewrite_failed: bool,
    /// The address of the TCP door; port 0 before one listens.
    pub(crate) tcp: Option<std::net::SocketAddr>,
}

impl Admin {
    pub(crate) fn new(now_ms: i64) -> Self {
        Admin {
            users: Users::default(),
            acl_log: AclLog::default(),
            logins: Logins::default(),
            turned_away: BTreeMap::new(),
            slowlog: Slowlog::default(),
            latency: Latency::default(),
            memory: MemoryEstimate::default(),
            tracking: Tracking::default(),
            resume: false,
            run_id: random_id(),
            on_shutdown: None,
            debug: false,
            rewrite_wanted: false,
            rewriting: false,
            rewrite_failed: false,
            last_save_s: now_ms / 1000,
            tcp: None,
        }
    }
}

/// Forty random hexadecimal digits.
pub(crate) fn random_id() -> String {
    let mut rng = rand::rng();
    (0..40).filter_map(|_| char::from_digit(rng.random_range(0..16), 16)).collect()
}

/// A call that took long.
#[derive(Debug)]
pub(crate) struct SlowCall {
    pub(crate) id: u64,
    pub(crate) time_s: i64,
    pub(crate) usec: u64,
    pub(crate) argv: Vec<Vec<u8>>,
    pub(crate) addr: String,
    pub(crate) name: Vec<u8>,
}

/// Calls that took long, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Slowlog {
    pub(crate) calls: VecDeque<SlowCall>,
    next_id: u64,
}

impl Slowlog {
    pub(crate) fn add(&mut self, mut call: SlowCall, max: usize) {
        call.id = self.next_id;
        self.next_id += 1;
        self.calls.push_front(call);
        self.calls.truncate(max);
    }

    /// Arguments as they are kept: not too many, none too long.
    pub(crate) fn shortened(argv: &[&[u8]]) -> Vec<Vec<u8>> {
        const ARGS_MAX: usize = 32;
        const BYTES_MAX: usize = 128;
        let kept = if argv.len() > ARGS_MAX { ARGS_MAX - 1 } else { argv.len() };
        let mut short: Vec<Vec<u8>> = argv[..kept]
            .iter()
            .map(|arg| {
                let mut text = arg[..arg.len().min(BYTES_MAX)].to_vec();
                if arg.len() > BYTES_MAX {
                    let more = format!("... ({} more bytes)", arg.len() - BYTES_MAX);
                    text.extend_from_slice(more.as_bytes());
                }
                text
            })
            .collect();
        if kept < argv.len() {
            short.push(format!("... ({} more arguments)", argv.len() - kept).into_bytes());
        }
        short
    }
}

/// Slow moments of one kind.
#[derive(Debug, Default)]
pub(crate) struct Event {
    /// Second and milliseconds, the oldest first.
    pub(crate) samples: VecDeque<(i64, i64)>,
    pub(crate) max_ms: i64,
}

/// `LATENCY`: slow moments by kind.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    pub(crate) events: BTreeMap<&'static str, Event>,
}

impl Latency {
    pub(crate) fn add(&mut self, kind: &'static str, now_s: i64, took_ms: i64) {
        const SAMPLES_MAX: usize = 160;
        let event = self.events.entry(kind).or_default();
        event.max_ms = event.max_ms.max(took_ms);
        match event.samples.back_mut() {
            Some((second, ms)) if *second == now_s => *ms = (*ms).max(took_ms),
            _ => {
                event.samples.push_back((now_s, took_ms));
                if event.samples.len() > SAMPLES_MAX {
                    event.samples.pop_front();
                }
            }
        }
    }
}

/// An estimate of the memory that the data takes: exact for the tables, from a sample of values for
/// the rest, plus the arguments of writes since. It is cheap enough to ask before every write.
#[derive(Debug, Default)]
pub(crate) struct MemoryEstimate {
    pub(crate) bytes: u64,
    pub(crate) peak: u64,
    /// Arguments of writes since `bytes` was found.
    pub(crate) added: u64,
    pub(crate) calls: u32,
    pub(crate) at_ms: i64,
}
