//! Rates and counts, the one limiter for HTTP, rooms and galaxy: requests per account or address, logins, messages of a
//! socket, sockets and connections. A setting of 0 switches a limit off. Memory stays bounded: buckets that are full again
//! are swept as others come, and counts vanish with the last holder.
//!
//! Each server counts for itself. Guesses, which several servers must not make cheaper, are counted in the store (`shared`).

pub(crate) mod shared;

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::caller::Caller;
use crate::pages;
use crate::reply::{self, Refusal};
use crate::settings::Settings;

/// Buckets that are looked through before the first sweep, and buckets at most.
const KEYS: (usize, usize) = (1_024, 100_000);

/// How often something may happen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    /// At once; 0 is no limit.
    most: f64,
    /// The time in which that many come back.
    window: Duration,
    /// One by one, or all together when the window ends.
    steady: bool,
}

#[allow(clippy::cast_precision_loss)] // a rate, not a count
impl Quota {
    /// The rate per second, twice as many at once.
    pub(crate) fn per_second(rate: usize) -> Self {
        Quota { most: rate as f64 * 2.0, window: Duration::from_secs(2), steady: true }
    }

    /// The rate in any window, and as many at once.
    pub(crate) fn steady(most: usize, window: Duration) -> Self {
        Quota { most: most as f64, window, steady: true }
    }

    /// The number per window; the window begins with the first one.
    pub(crate) fn window(most: usize, window: Duration) -> Self {
        Quota { most: most as f64, window, steady: false }
    }

    fn full(self, now: Duration) -> Bucket {
        Bucket { left: self.most, since: now }
    }
}

/// The rest of a quota.
#[derive(Debug)]
struct Bucket {
    left: f64,
    /// When the window began, or when it was filled last.
    since: Duration,
}

impl Bucket {
    fn refill(&mut self, quota: Quota, now: Duration) {
        let passed = now.saturating_sub(self.since);
        if quota.steady {
            let back = passed.as_secs_f64() * quota.most / quota.window.as_secs_f64();
            *self = Bucket { left: (self.left + back).min(quota.most), since: now };
        } else if passed >= quota.window {
            *self = quota.full(now);
        }
    }

    /// Whether one is left; else how long to wait.
    fn check(&mut self, quota: Quota, now: Duration) -> Result<(), Duration> {
        self.refill(quota, now);
        if self.left >= 1.0 {
            return Ok(());
        }
        Err(if quota.steady {
            quota.window.mul_f64((1.0 - self.left) / quota.most)
        } else {
            (self.since + quota.window).saturating_sub(now)
        })
    }

    fn take(&mut self, quota: Quota, now: Duration) -> Result<(), Duration> {
        self.check(quota, now)?;
        self.left -= 1.0;
        Ok(())
    }
}

/// A quota for each key.
pub(crate) struct RateLimiter<K> {
    quota: Quota,
    buckets: Mutex<Buckets<K>>,
}

struct Buckets<K> {
    by_key: HashMap<K, Bucket>,
    /// With so many, those that are full again are swept.
    sweep_at: usize,
}

impl<K: Eq + Hash> RateLimiter<K> {
    pub(crate) fn new(quota: Quota) -> Self {
        let buckets = Buckets { by_key: HashMap::new(), sweep_at: KEYS.0 };
        RateLimiter { quota, buckets: Mutex::new(buckets) }
    }

    /// Whether it limits anything.
    pub(crate) fn is_on(&self) -> bool {
        self.quota.most > 0.0
    }

    /// Takes one, or says how long to wait.
    pub(crate) fn take(&self, key: K, now: Duration) -> Result<(), Duration> {
        if !self.is_on() {
            return Ok(());
        }
        let mut buckets = self.buckets.lock();
        buckets.sweep(self.quota, now);
        buckets.by_key.entry(key).or_insert(self.quota.full(now)).take(self.quota, now)
    }

    /// Whether one is left, without taking it.
    pub(crate) fn check(&self, key: &K, now: Duration) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock();
        buckets.by_key.get_mut(key).map_or(Ok(()), |bucket| bucket.check(self.quota, now))
    }

    /// The number that is known to be used until the window ends in `left`, here and on other servers.
    #[allow(clippy::cast_precision_loss)] // a rate, not a count
    pub(crate) fn learn(&self, key: K, now: Duration, used: usize, left: Duration) {
        if self.is_on() {
            let since = now.saturating_sub(self.quota.window.saturating_sub(left));
            let mut buckets = self.buckets.lock();
            buckets.sweep(self.quota, now);
            let bucket = buckets.by_key.entry(key).or_insert(self.quota.full(since));
            bucket.left = bucket.left.min(self.quota.most - used as f64);
        }
    }
}

impl<K: Eq + Hash> Buckets<K> {
    /// Makes room as buckets become many. Where even those in use are too many, every other one is forgotten.
    fn sweep(&mut self, quota: Quota, now: Duration) {
        if self.by_key.len() < self.sweep_at {
            return;
        }
        self.by_key.retain(|_, bucket| {
            bucket.refill(quota, now);
            bucket.left < quota.most
        });
        let (mut keep, many) = (false, self.by_key.len() >= KEYS.1);
        self.by_key.retain(|_, _| {
            keep = !keep;
            keep || !many
        });
        self.by_key.shrink_to_fit();
        self.sweep_at = (self.by_key.len() * 2).clamp(KEYS.0, KEYS.1);
    }
}

/// The messages of one socket.
pub(crate) struct MessageRate {
    quota: Quota,
    bucket: Bucket,
    drops: Bucket,
}

/// The number of dropped messages within ten seconds that ends a socket.
const DROPS: usize = 100;
const DROPS_WINDOW: Duration = Duration::from_secs(10);

/// The treatment of a message.
pub(crate) enum Taken {
    Yes,
    Dropped(Duration),
    Enough,
}

impl MessageRate {
    /// The rate per second, twice as many at once; 0 is no limit.
    pub(crate) fn new(per_second: usize, now: Duration) -> Self {
        let quota = Quota::per_second(per_second);
        MessageRate { quota, bucket: quota.full(now), drops: Self::drops().full(now) }
    }

    fn drops() -> Quota {
        Quota::window(DROPS - 1, DROPS_WINDOW)
    }

    pub(crate) fn take(&mut self, now: Duration) -> Taken {
        if self.quota.most == 0.0 {
            return Taken::Yes;
        }
        match self.bucket.take(self.quota, now) {
            Ok(()) => Taken::Yes,
            Err(wait) if self.drops.take(Self::drops(), now).is_ok() => Taken::Dropped(wait),
            Err(_) => Taken::Enough,
        }
    }
}

/// Messages of one socket that make no sense. Three within ten seconds are too many.
#[derive(Default)]
pub(crate) struct Malformed(VecDeque<Duration>);

impl Malformed {
    /// One more; true when there are too many.
    pub(crate) fn add(&mut self, now: Duration) -> bool {
        self.0.push_back(now);
        while self.0.front().is_some_and(|at| now.saturating_sub(*at) > Duration::from_secs(10)) {
            self.0.pop_front();
        }
        self.0.len() >= 3
    }
}

/// The limits of the server itself.
pub struct Limits {
    started: Instant,
    account: RateLimiter<String>,
    anonymous: RateLimiter<String>,
    login: RateLimiter<IpAddr>,
    sockets_by_account: Counts<String>,
    sockets_by_address: Counts<IpAddr>,
}

impl Limits {
    /// From the settings.
    pub fn new(settings: &Settings) -> Self {
        let limits = &settings.limits;
        let logins = Quota::steady(limits.logins_per_minute, Duration::from_mins(1));
        let per_second = |rate| RateLimiter::new(Quota::per_second(rate));
        Limits {
            started: Instant::now(),
            account: per_second(limits.requests_per_second),
            anonymous: per_second(limits.anonymous_per_second),
            login: RateLimiter::new(logins),
            sockets_by_account: Counts::new(limits.sockets_per_account),
            sockets_by_address: Counts::new(limits.sockets_per_address),
        }
    }

    /// Takes one request from the caller's bucket. Health answers are free: a probe must not be refused. Files of the
    /// pages have the rate of an account: ten phones behind one address open forty of them each, at once.
    pub(crate) fn spend(&self, caller: &Caller, path: &str) -> Result<(), Refusal> {
        if matches!(path, "/healthz" | "/readyz") {
            return Ok(());
        }
        let known = caller.role.is_some() || pages::is_page(path);
        let limiter = if known { &self.account } else { &self.anonymous };
        self.take(limiter, caller.account())
    }

    /// Takes one try to log in.
    pub(crate) fn spend_login(&self, caller: &Caller) -> Result<(), Refusal> {
        self.take(&self.login, caller.address)
    }

    fn take<K: Eq + Hash>(&self, limiter: &RateLimiter<K>, key: K) -> Result<(), Refusal> {
        limiter.take(key, self.started.elapsed()).map_err(|wait| {
            metrics::counter!("worldkeep_rate_limited_total").increment(1);
            Refusal::from(reply::TOO_MANY_REQUESTS).retry_after(wait.as_secs() + 1)
        })
    }

    /// Room for one more socket, held until the guard is dropped.
    pub(crate) fn socket(&self, caller: &Caller) -> Result<impl Send + 'static + use<>, Refusal> {
        let refuse = || Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(5);
        let account = self.sockets_by_account.take(caller.account()).ok_or_else(refuse)?;
        let address = self.sockets_by_address.take(caller.address).ok_or_else(refuse)?;
        Ok((account, address))
    }
}

/// The address that limits count. Whoever has one address of IPv6 has the other 2^64 of its network too, so they count as
/// one.
pub(crate) fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        other => other,
    }
}

/// How many of something each key holds, up to a cap; 0 is no cap.
pub(crate) struct Counts<K: Eq + Hash> {
    cap: usize,
    held: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Clone> Counts<K> {
    pub(crate) fn new(cap: usize) -> Self {
        Counts { cap, held: Arc::default() }
    }

    /// Whoever holds something.
    pub(crate) fn holders(&self) -> Vec<K> {
        self.held.lock().keys().cloned().collect()
    }

    /// One more, unless the cap is reached.
    pub(crate) fn take(&self, key: K) -> Option<CountGuard<K>> {
        let mut held = self.held.lock();
        let count = held.entry(key.clone()).or_insert(0);
        if self.cap != 0 && *count >= self.cap {
            return None;
        }
        *count += 1;
        Some(CountGuard { key, held: Arc::clone(&self.held) })
    }
}

/// Gives its place back when dropped.
pub(crate) struct CountGuard<K: Eq + Hash> {
    key: K,
    held: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash> Drop for CountGuard<K> {
    fn drop(&mut self) {
        let mut held = self.held.lock();
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Source;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn counts_are_capped_and_forgotten() {
        let counts = Counts::new(2);
        let first = counts.take("a").unwrap();
        let second = counts.take("a").unwrap();
        assert!(counts.take("a").is_none());
        assert!(counts.take("b").is_some());
        drop((first, second));
        assert!(counts.held.lock().is_empty());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let counted = |text: &str| counted(text.parse().unwrap()).to_string();
        assert_eq!(counted("2001:db8:1:2:3:4:5:6"), counted("2001:db8:1:2:ffff::1"));
        assert_ne!(counted("2001:db8:1:2::1"), counted("2001:db8:1:3::1"));
        assert_eq!(counted("10.0.0.1"), "10.0.0.1");
        assert_eq!(counted("::ffff:10.0.0.1"), "10.0.0.1");
        assert_eq!(counted("::1"), "::1");
    }

    #[test]
    fn zero_switches_a_rate_off() {
        let mut settings = Settings::new();
        let caller = Caller::nobody([10, 0, 0, 1].into());
        settings.set("limits.anonymous_per_second", "1", Source::Default).unwrap();
        let limits = Limits::new(&settings);
        assert!(limits.spend(&caller, "/api/keys").is_ok());
        assert!(limits.spend(&caller, "/api/keys").is_ok(), "the burst is twice the rate");
        let refusal = limits.spend(&caller, "/api/keys").unwrap_err();
        assert_eq!(refusal.def.status, 429);
        assert!(refusal.retry_after_s.is_some_and(|s| s >= 1));
        assert!(limits.spend(&caller, "/healthz").is_ok(), "probes are never refused");
        settings.set("limits.anonymous_per_second", "0", Source::Default).unwrap();
        let limits = Limits::new(&settings);
        assert!((0..10_000).all(|_| limits.spend(&caller, "/api/keys").is_ok()));
    }

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_rate_is_per_key_and_opens_again() {
        let rate = RateLimiter::new(Quota::window(2, MINUTE));
        assert!(rate.take("a", at(0)).is_ok() && rate.take("a", at(1)).is_ok());
        assert_eq!(rate.take("a", at(10_000)), Err(at(50_000)));
        assert!(rate.take("b", at(10_000)).is_ok());
        assert!(rate.take("a", at(60_000)).is_ok());
        rate.learn("c", at(200_000), 2, at(15_000));
        assert_eq!(rate.take("c", at(201_000)), Err(at(14_000)), "other servers count too");
        let off = RateLimiter::new(Quota::window(0, MINUTE));
        assert!((0..10_000).all(|_| off.take("a", at(0)).is_ok()));
        assert!(off.buckets.lock().by_key.is_empty(), "a limit that is off keeps nothing");
    }

    #[test]
    fn memory_stays_bounded() {
        let rate = RateLimiter::new(Quota::per_second(1));
        let len = |rate: &RateLimiter<usize>| rate.buckets.lock().by_key.len();
        for key in 0..KEYS.1 + 10 {
            assert!(rate.take(key, at(0)).is_ok());
        }
        assert!(len(&rate) <= KEYS.1 / 2 + 10, "every other one was forgotten");
        let rate = RateLimiter::new(Quota::per_second(1));
        for key in 0..10 * KEYS.0 {
            assert!(rate.take(key, at(10_000 * key as u64)).is_ok());
        }
        assert!(len(&rate) <= KEYS.0, "those that are full again are swept");
    }

    #[test]
    fn a_socket_has_a_burst_then_its_rate_then_the_end() {
        let mut bucket = MessageRate::new(20, at(0));
        assert!((0..40).all(|_| matches!(bucket.take(at(0)), Taken::Yes)));
        assert!(matches!(bucket.take(at(0)), Taken::Dropped(wait) if wait == at(50)));
        assert!(matches!(bucket.take(at(50)), Taken::Yes));
        let ended = (0..200).position(|_| matches!(bucket.take(at(60)), Taken::Enough));
        assert_eq!(ended, Some(98));
        let mut off = MessageRate::new(0, at(0));
        assert!((0..10_000).all(|_| matches!(off.take(at(0)), Taken::Yes)));
    }
}
