//! How often: messages of a socket, photos and names of a device, rooms, codes and sockets of an address. Each server
//! counts for itself but for guessed codes, which all servers count together in the store. A setting of 0 switches a limit off; what is idle is forgotten, so memory stays bounded.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use rooms::{Refused, Rooms, Word};
use serde_json::json;

use crate::limits::Counts;
use crate::rooms::settings::RoomsSettings;

/// All keyed rates and counts of one server.
pub(super) struct Rates {
    pub(super) avatars: Rate<String>,
    pub(super) renames: Rate<String>,
    pub(super) created: Rate<IpAddr>,
    pub(super) unknown_codes: Rate<IpAddr>,
    pub(super) sockets: Rate<IpAddr>,
    pub(super) open_sockets: Counts<IpAddr>,
}

const MINUTE: Duration = Duration::from_mins(1);

impl Rates {
    pub(super) fn new(settings: &RoomsSettings) -> Self {
        Rates {
            avatars: Rate::new(settings.avatars_per_minute, MINUTE),
            renames: Rate::new(settings.renames_per_minute, MINUTE),
            created: Rate::new(settings.created_per_hour, MINUTE * 60),
            unknown_codes: Rate::new(settings.unknown_codes_per_minute, MINUTE),
            sockets: Rate::new(settings.sockets_per_minute, MINUTE),
            open_sockets: Counts::new(settings.sockets_per_address),
        }
    }

    /// An address asked for a code of no room. All servers count together, so many of them are no way round the limit;
    /// one hears of the others' count with the next guess that fails here.
    pub(super) async fn guessed(
        &self,
        rooms: &Rooms,
        address: IpAddr,
        now: Duration,
    ) -> Result<(), Duration> {
        let spent = self.unknown_codes.spend(address, now);
        if self.unknown_codes.most > 0
            && let Ok((count, left_ms)) = rooms.guessed(&address.to_string()).await
        {
            let used = usize::try_from(count).unwrap_or(usize::MAX);
            self.unknown_codes.learn(address, now, used, Duration::from_millis(left_ms));
        }
        spent
    }

    /// Forgets whoever has been quiet for a whole window.
    pub(super) fn sweep(&self, now: Duration) {
        self.avatars.sweep(now);
        self.renames.sweep(now);
        self.created.sweep(now);
        self.unknown_codes.sweep(now);
        self.sockets.sweep(now);
    }
}

/// At most so many per window and key; the window begins with the first one.
pub(crate) struct Rate<K> {
    most: usize,
    window: Duration,
    used: Mutex<HashMap<K, (Duration, usize)>>,
}

impl<K: Eq + Hash> Rate<K> {
    pub(crate) fn new(most: usize, window: Duration) -> Self {
        Rate { most, window, used: Mutex::default() }
    }

    /// Takes one, or says how long to wait.
    pub(crate) fn spend(&self, key: K, now: Duration) -> Result<(), Duration> {
        self.look(&key, now)?;
        if self.most > 0 {
            let mut used = self.used.lock();
            let entry = used.entry(key).or_insert((now, 0));
            if now.saturating_sub(entry.0) >= self.window {
                *entry = (now, 0);
            }
            entry.1 += 1;
        }
        Ok(())
    }

    /// So many are known to be used until the window ends in `left`, here and on other servers.
    fn learn(&self, key: K, now: Duration, used: usize, left: Duration) {
        if self.most > 0 {
            let since = now.saturating_sub(self.window.saturating_sub(left));
            let mut all = self.used.lock();
            let entry = all.entry(key).or_insert((since, 0));
            entry.1 = entry.1.max(used);
        }
    }

    /// Whether one is left, without taking it.
    pub(super) fn look(&self, key: &K, now: Duration) -> Result<(), Duration> {
        if self.most == 0 {
            return Ok(());
        }
        match self.used.lock().get(key) {
            Some((since, count)) if *count >= self.most => {
                let left = (*since + self.window).saturating_sub(now);
                if left.is_zero() { Ok(()) } else { Err(left) }
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn sweep(&self, now: Duration) {
        let mut used = self.used.lock();
        used.retain(|_, (since, _)| now.saturating_sub(*since) < self.window);
        used.shrink_to_fit();
    }
}

/// A refusal that says when to come back.
pub(super) fn too_fast(word: Word, wait: Duration) -> Refused {
    metrics::counter!("worldkeep_rooms_rate_limited_total", "what" => word.word).increment(1);
    let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    Refused::with(word, json!({ "retry_after_ms": wait }))
}

/// One socket's messages: refilled by the second, twice as many at once.
pub(crate) struct Bucket {
    per_second: f64,
    left: f64,
    seen: Duration,
    /// Drops of the last ten seconds, and since when.
    drops: (Duration, u32),
}

/// So many dropped messages within ten seconds end a socket.
const DROPS: u32 = 100;
const DROPS_WINDOW: Duration = Duration::from_secs(10);

/// What becomes of a message.
pub(crate) enum Taken {
    Yes,
    Dropped(Duration),
    Enough,
}

impl Bucket {
    #[allow(clippy::cast_precision_loss)] // a rate, not a count
    pub(crate) fn new(per_second: u64, now: Duration) -> Self {
        let per_second = per_second as f64;
        Bucket { per_second, left: per_second * 2.0, seen: now, drops: (now, 0) }
    }

    pub(crate) fn take(&mut self, now: Duration) -> Taken {
        if self.per_second == 0.0 {
            return Taken::Yes;
        }
        let passed = now.saturating_sub(self.seen).as_secs_f64();
        self.seen = now;
        self.left = (self.left + passed * self.per_second).min(self.per_second * 2.0);
        if self.left >= 1.0 {
            self.left -= 1.0;
            return Taken::Yes;
        }
        if now.saturating_sub(self.drops.0) > DROPS_WINDOW {
            self.drops = (now, 0);
        }
        self.drops.1 += 1;
        if self.drops.1 >= DROPS {
            return Taken::Enough;
        }
        Taken::Dropped(Duration::from_secs_f64((1.0 - self.left) / self.per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_rate_is_per_key_and_opens_again() {
        let rate = Rate::new(2, MINUTE);
        assert!(rate.spend("a", at(0)).is_ok() && rate.spend("a", at(1)).is_ok());
        assert_eq!(rate.spend("a", at(10_000)), Err(at(50_000)));
        assert!(rate.spend("b", at(10_000)).is_ok());
        assert!(rate.spend("a", at(60_000)).is_ok());
        rate.sweep(at(200_000));
        assert!(rate.used.lock().is_empty());
        rate.learn("c", at(200_000), 2, at(15_000));
        assert_eq!(rate.spend("c", at(201_000)), Err(at(14_000)), "other servers count too");
        let off = Rate::new(0, MINUTE);
        assert!((0..10_000).all(|_| off.spend("a", at(0)).is_ok()));
        assert!(off.used.lock().is_empty(), "a limit that is off keeps nothing");
    }

    #[test]
    fn a_socket_has_a_burst_then_its_rate_then_the_end() {
        let mut bucket = Bucket::new(20, at(0));
        assert!((0..40).all(|_| matches!(bucket.take(at(0)), Taken::Yes)));
        assert!(matches!(bucket.take(at(0)), Taken::Dropped(wait) if wait == at(50)));
        assert!(matches!(bucket.take(at(50)), Taken::Yes));
        let ended = (0..200).position(|_| matches!(bucket.take(at(60)), Taken::Enough));
        assert_eq!(ended, Some(98));
        let mut off = Bucket::new(0, at(0));
        assert!((0..10_000).all(|_| matches!(off.take(at(0)), Taken::Yes)));
    }
}
