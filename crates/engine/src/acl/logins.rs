//! Failed logins, counted by address. After ten within a second each further try from that address is held back before its
//! password is looked at, twice as long each time and at most ten seconds, until one succeeds or a minute passes without
//! any. A try waits once: it is looked at when its wait is over, however many others wait. Clients that are logged in are
//! not held back, and no thread waits.

use std::net::{IpAddr, SocketAddr};

use hashbrown::HashMap;

use crate::commands::ctx::is;
use crate::commands::table::Spec;
use crate::core::Core;
use crate::core::client::Client;

/// Failures within a second that cost nothing.
const FREE: u32 = 10;
const SHORTEST_MS: i64 = 100;
const LONGEST_MS: i64 = 10_000;
/// After so long without a failure an address is forgotten.
const CALM_MS: i64 = 60_000;
/// Addresses that are remembered; the calmest goes first.
const MOST: usize = 4096;

/// Addresses from which logins failed, and how often.
#[derive(Debug, Default)]
pub(crate) struct Logins {
    by_address: HashMap<Box<str>, Failures>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Failures {
    /// When the second began in which failures are counted.
    since_ms: i64,
    count: u32,
    /// Failures since there were too many.
    over: u32,
    last_ms: i64,
    /// No try is looked at before.
    until_ms: i64,
}

impl Logins {
    fn failed(&mut self, address: Box<str>, now: i64) {
        if self.by_address.len() >= MOST && !self.by_address.contains_key(&address) {
            self.forget_calmest();
        }
        let known = self.by_address.entry(address).or_default();
        if now - known.last_ms >= CALM_MS {
            *known = Failures { since_ms: now, ..Failures::default() };
        }
        if now - known.since_ms >= 1000 {
            (known.since_ms, known.count) = (now, 0);
        }
        known.count += 1;
        known.last_ms = now;
        if known.count >= FREE || known.over > 0 {
            let wait = SHORTEST_MS << known.over.min(10);
            known.over += 1;
            known.until_ms = now + wait.min(LONGEST_MS);
        }
    }

    fn forget_calmest(&mut self) {
        let calmest = self.by_address.iter().min_by_key(|(_, known)| known.last_ms);
        if let Some(address) = calmest.map(|(address, _)| address.clone()) {
            self.by_address.remove(&address);
        }
    }

    fn held_until(&self, address: &str, now: i64) -> Option<i64> {
        let until = self.by_address.get(address)?.until_ms;
        (now < until).then_some(until)
    }
}

/// The client's IP address without its port; of IPv6 the /64 network, which one host has to itself.
fn address_of(client: &Client) -> Box<str> {
    match client.addr.parse::<SocketAddr>().map(|addr| addr.ip().to_canonical()) {
        Ok(IpAddr::V4(ip)) => ip.to_string().into(),
        Ok(IpAddr::V6(ip)) => {
            let [a, b, c, d, ..] = ip.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}").into()
        }
        Err(_) => client.addr.as_str().into(),
    }
}

impl Core {
    /// Until when a try to log in is held back.
    pub(crate) fn login_waits(&self, client: &Client, spec: &Spec, argv: &[&[u8]]) -> Option<i64> {
        let tries = spec.full_name == "auth"
            || spec.full_name == "hello" && argv.iter().any(|word| is(word, "auth"));
        if !tries || client.multi.is_some() || client.in_process {
            return None;
        }
        self.admin.logins.held_until(&address_of(client), self.now)
    }

    /// Whether tries from this client's address are held back now.
    pub(crate) fn logins_held(&self, client: &Client) -> bool {
        !client.in_process && self.admin.logins.held_until(&address_of(client), self.now).is_some()
    }

    pub(crate) fn login_failed(&mut self, client: &Client) {
        if !client.in_process {
            self.admin.logins.failed(address_of(client), self.now);
        }
    }

    pub(crate) fn login_succeeded(&mut self, client: &Client) {
        if !client.in_process && !self.admin.logins.by_address.is_empty() {
            self.admin.logins.by_address.remove(&address_of(client));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(logins: &mut Logins, times: usize, mut now: i64) -> Vec<i64> {
        let mut all = Vec::new();
        for _ in 0..times {
            logins.failed("10.0.0.1".into(), now);
            let until = logins.held_until("10.0.0.1", now).unwrap_or(now);
            all.push(until - now);
            now = until;
        }
        all
    }

    #[test]
    fn after_ten_failures_in_a_second_each_wait_is_twice_the_last_up_to_ten_seconds() {
        let mut logins = Logins::default();
        let all = waits(&mut logins, 19, 5_000);
        assert_eq!(all[..9], [0; 9]);
        assert_eq!(all[9..], [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]);
        assert!(logins.held_until("10.0.0.2", 5_000).is_none(), "others are not held back");
    }

    #[test]
    fn nine_failures_a_second_are_never_held_back() {
        let mut logins = Logins::default();
        for second in 0..20 {
            assert_eq!(waits(&mut logins, 9, second * 1000), [0; 9]);
        }
    }

    #[test]
    fn a_calm_minute_is_a_new_beginning_and_memory_is_bounded() {
        let mut logins = Logins::default();
        waits(&mut logins, 15, 0);
        assert_eq!(waits(&mut logins, 9, 2 * CALM_MS), [0; 9]);
        for n in 0..2 * MOST {
            logins.failed(format!("host {n}").into(), 3 * CALM_MS);
        }
        assert_eq!(logins.by_address.len(), MOST);
    }
}
