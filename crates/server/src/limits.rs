//! Rates and counts: requests per account or address, logins per address, sockets per account and address,
//! connections per address. A setting of 0 switches a limit off. Memory stays bounded: idle buckets are
//! swept, and counts vanish with the last holder.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use parking_lot::Mutex;

use crate::caller::Caller;
use crate::reply::{self, Refusal};
use crate::settings::Settings;

/// All limits of one server.
pub struct Limits {
    account: Option<DefaultKeyedRateLimiter<String>>,
    anonymous: Option<DefaultKeyedRateLimiter<String>>,
    login: Option<DefaultKeyedRateLimiter<String>>,
    sockets_by_account: Counts<String>,
    sockets_by_address: Counts<IpAddr>,
}

impl Limits {
    /// From the settings.
    pub fn new(settings: &Settings) -> Self {
        let limits = &settings.limits;
        let per_second = |rate| {
            NonZeroU32::new(rate).map(|rate| {
                Quota::per_second(rate)
                    .allow_burst(rate.saturating_mul(NonZeroU32::MIN.saturating_add(1)))
            })
        };
        Limits {
            account: per_second(limits.requests_per_second).map(RateLimiter::keyed),
            anonymous: per_second(limits.anonymous_per_second).map(RateLimiter::keyed),
            login: NonZeroU32::new(limits.logins_per_minute)
                .map(|rate| RateLimiter::keyed(Quota::per_minute(rate))),
            sockets_by_account: Counts::new(limits.sockets_per_account),
            sockets_by_address: Counts::new(limits.sockets_per_address),
        }
    }

    /// Takes one request from the caller's bucket. Health answers are free: a probe must not be refused.
    pub(crate) fn spend(&self, caller: &Caller, path: &str) -> Result<(), Refusal> {
        if matches!(path, "/healthz" | "/readyz") {
            return Ok(());
        }
        let bucket = if caller.role.is_some() { &self.account } else { &self.anonymous };
        take(bucket.as_ref(), &caller.account())
    }

    /// Takes one try to log in.
    pub(crate) fn spend_login(&self, caller: &Caller) -> Result<(), Refusal> {
        take(self.login.as_ref(), &caller.address.to_string())
    }

    /// Room for one more socket, held until the guard is dropped.
    pub fn socket(&self, caller: &Caller) -> Result<SocketGuard, Refusal> {
        let refuse = || Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(5);
        let account = self.sockets_by_account.take(caller.account()).ok_or_else(refuse)?;
        let address = self.sockets_by_address.take(caller.address).ok_or_else(refuse)?;
        Ok(SocketGuard { _account: account, _address: address })
    }

    /// Forgets buckets that are full again.
    pub(crate) fn sweep(&self) {
        for bucket in [&self.account, &self.anonymous, &self.login].into_iter().flatten() {
            bucket.retain_recent();
            bucket.shrink_to_fit();
        }
    }
}

fn take(bucket: Option<&DefaultKeyedRateLimiter<String>>, key: &String) -> Result<(), Refusal> {
    let Some(bucket) = bucket else { return Ok(()) };
    bucket.check_key(key).map_err(|not_until| {
        let wait = not_until.wait_time_from(DefaultClock::default().now());
        metrics::counter!("worldkeep_rate_limited_total").increment(1);
        Refusal::from(reply::TOO_MANY_REQUESTS).retry_after(wait.as_secs() + 1)
    })
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

/// Holds a socket's place in both counts.
pub struct SocketGuard {
    _account: CountGuard<String>,
    _address: CountGuard<IpAddr>,
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
}
