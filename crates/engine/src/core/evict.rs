//! Eviction: when the data takes more than `maxmemory`, keys are removed as `maxmemory-policy`
//! says. As in Redis, the best of a few keys picked at random goes. Without a limit none of this
//! runs.

use std::time::{Duration, Instant};

use crate::core::notify::class;
use crate::core::{Core, access_stamp};
use crate::data::{Counting, Text};

/// Which keys go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Only keys with a deadline.
    pub(crate) volatile: bool,
    pub(crate) by: By,
}

/// The measure by which keys are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Longest unused.
    Lru,
    /// Least used.
    Lfu,
    Random,
    /// Nearest deadline.
    Ttl,
}

/// A call waits no longer than this for room; the next one goes on.
const AT_ONCE: Duration = Duration::from_millis(2);

impl Policy {
    /// `noeviction` is none.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (from, by) = text.split_once('-')?;
        let by = match by {
            "lru" => By::Lru,
            "lfu" => By::Lfu,
            "random" => By::Random,
            "ttl" => By::Ttl,
            _ => return None,
        };
        Some(Policy { volatile: from == "volatile", by })
    }
}

impl Core {
    /// Makes room before a call, while all clients are seated: who tracks a key that goes is told before the reply.
    #[cold]
    pub(crate) fn make_room_first(&mut self) {
        self.now = self.clock.now_ms();
        self.make_room();
        if self.admin.tracking.due() {
            self.send_invalidations();
        }
    }

    /// Lets keys go until the data fits. True when it still does not.
    pub(crate) fn make_room(&mut self) -> bool {
        let used = self.used_memory();
        let Some(mut over) = used.checked_sub(self.config.maxmemory).filter(|over| *over > 0)
        else {
            return false;
        };
        let Some(policy) = self.config.policy else { return true };
        if self.loading || self.paused() || self.write_refusal.is_some() {
            return true;
        }
        let started = Instant::now();
        loop {
            let Some((db, key)) = self.victim(policy) else { return true };
            let freed = self.in_db(db, |core| core.evict(&key));
            over = over.saturating_sub(freed);
            if over == 0 || started.elapsed() > AT_ONCE {
                return false;
            }
        }
    }

    /// The best of a few keys of each database.
    fn victim(&mut self, policy: Policy) -> Option<(usize, Text)> {
        let now = access_stamp(self.now);
        let minutes = minutes_stamp(self.now);
        let mut best: Option<(i64, usize, Text)> = None;
        for (index, db) in self.dbs.iter().enumerate() {
            if db.keys.is_empty() {
                continue;
            }
            let mut offer = |score: i64, key: &Text| {
                if best.as_ref().is_none_or(|(least, ..)| score > *least) {
                    best = Some((score, index, key.clone()));
                }
            };
            if policy.by == By::Ttl {
                // Deadlines are in order, so the nearest is known.
                if let Some((at_ms, key)) = db.keys.nearest() {
                    offer(-at_ms, key);
                }
                continue;
            }
            for _ in 0..self.config.samples {
                let Some((key, stamp)) = db.keys.sample(&mut self.rng, policy.volatile) else {
                    break;
                };
                let score = match policy.by {
                    By::Lfu => {
                        let counting = self.config.counting.unwrap_or_default();
                        255 - i64::from(counting.now(stamp, minutes))
                    }
                    By::Random => i64::from(rand::RngExt::random::<u32>(&mut self.rng)),
                    By::Lru | By::Ttl => i64::from(now.wrapping_sub(stamp) & 0x00FF_FFFF),
                };
                offer(score, key);
            }
        }
        best.map(|(_, db, key)| (db, key))
    }

    /// Deletes a key of the current database for its room; about how much that was.
    fn evict(&mut self, key: &[u8]) -> u64 {
        let before = self.keys().live_bytes();
        self.preserve(key);
        let Some(value) = self.keys().remove(key) else { return 0 };
        let freed = before.saturating_sub(self.keys().live_bytes()) + value.memory_bytes();
        self.stats.evicted_keys += 1;
        self.pending_push(&[b"DEL", key]);
        self.break_watches(key);
        self.notify(class::EVICTED, "evicted", key);
        self.signal_ready(key);
        self.close_unit();
        let memory = &mut self.admin.memory;
        memory.bytes = memory.bytes.saturating_sub(freed as u64);
        freed as u64
    }
}

/// Minutes, as counted uses are stamped.
pub(crate) fn minutes_stamp(now_ms: i64) -> u32 {
    Counting::stamp(u32::try_from((now_ms / 60_000).rem_euclid(1 << 16)).expect("16 bits fit"))
}
