//! `maxmemory`: what goes, what stays, and that the log knows.

use std::sync::Arc;

use engine::{Connection, Engine, ManualClock, Options};

use crate::common::Ask as _;

fn say(connection: &mut Connection, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match connection.ask(&words) {
        redis::Value::Int(n) => n.to_string(),
        redis::Value::ServerError(error) => {
            format!("-{} {}", error.code(), error.details().unwrap_or_default())
        }
        other => redis::from_redis_value(other).unwrap_or_default(),
    }
}

fn info(connection: &mut Connection, name: &str) -> u64 {
    let text = say(connection, "INFO");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().trim().parse().unwrap()
}

/// Lets the data grow by about a megabyte from now on.
fn limit(connection: &mut Connection, policy: &str) -> u64 {
    let most = info(connection, "used_memory") + (1 << 20);
    say(connection, &format!("CONFIG SET maxmemory-policy {policy}"));
    assert_eq!(say(connection, &format!("CONFIG SET maxmemory {most}")), "OK");
    most
}

const VALUE: &str = "a-value-of-one-hundred-bytes-give-or-take-so-that-it-lies-outside-of-the-table-of-keys-itself-......";

#[test]
fn every_policy_keeps_the_data_below_the_limit() {
    for policy in [
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
    ] {
        let mut connection = Engine::memory().connect();
        for n in 0..50 {
            say(&mut connection, &format!("SET stays:{n} {VALUE}"));
        }
        let most = limit(&mut connection, policy);
        for n in 0..12_000 {
            let reply = say(&mut connection, &format!("SET k:{n} {VALUE} EX {}", 5000 + n));
            assert_eq!(reply, "OK", "{policy} {n}");
        }
        let (used, evicted) =
            (info(&mut connection, "used_memory"), info(&mut connection, "evicted_keys"));
        assert!(used < most + most / 20, "{policy}: {used} of {most}");
        assert!((2_000..12_000).contains(&evicted), "{policy}: {evicted} evicted");
        let keys: u64 = say(&mut connection, "DBSIZE").parse().unwrap();
        assert_eq!(keys + evicted, 12_050, "{policy}");
        if policy.starts_with("volatile") {
            for n in 0..50 {
                assert_eq!(say(&mut connection, &format!("EXISTS stays:{n}")), "1", "{policy}");
            }
        }
        if policy == "volatile-ttl" {
            assert_eq!(say(&mut connection, "EXISTS k:0 k:100 k:1500"), "0");
            assert_eq!(say(&mut connection, "EXISTS k:11999 k:11000"), "2");
        }
    }
}

#[test]
fn without_keys_that_may_go_writes_are_refused() {
    let mut connection = Engine::memory().connect();
    limit(&mut connection, "volatile-lru");
    let refused = (0..20_000).find_map(|n| {
        let reply = say(&mut connection, &format!("SET k:{n} {VALUE}"));
        (reply != "OK").then_some(reply)
    });
    assert!(refused.unwrap().starts_with("-OOM"), "nothing has a deadline");
    assert_eq!(say(&mut connection, "GET k:0"), VALUE, "reads go on");
    assert_eq!(info(&mut connection, "evicted_keys"), 0);
}

#[test]
fn keys_in_use_stay() {
    for policy in ["allkeys-lru", "allkeys-lfu"] {
        let clock = Arc::new(ManualClock::at_ms(1_700_000_000_000));
        let options = Options { clock: clock.clone(), ..Options::default() };
        let mut connection = Engine::open(options).unwrap().0.connect();
        limit(&mut connection, policy);
        for n in 0..100 {
            say(&mut connection, &format!("SET hot:{n} {VALUE}"));
        }
        for n in 0..10_000 {
            clock.advance_ms(100);
            say(&mut connection, &format!("SET k:{n} {VALUE}"));
            for hot in [n % 100, (n + 50) % 100] {
                say(&mut connection, &format!("GET hot:{hot}"));
            }
        }
        let mut kept = 0;
        for n in 0..100 {
            kept += say(&mut connection, &format!("EXISTS hot:{n}")).parse::<u32>().unwrap();
        }
        assert!(kept >= 90, "{policy}: {kept} of 100 in use are left");
    }
}

#[test]
fn uses_are_counted_under_a_policy_that_asks_for_it() {
    let clock = Arc::new(ManualClock::at_ms(1_700_000_000_000));
    let options = Options { clock: clock.clone(), ..Options::default() };
    let mut connection = Engine::open(options).unwrap().0.connect();
    say(&mut connection, "CONFIG SET maxmemory-policy allkeys-lfu lfu-log-factor 0");
    say(&mut connection, "SET a 1");
    assert_eq!(say(&mut connection, "OBJECT FREQ a"), "5");
    for _ in 0..10 {
        say(&mut connection, "GET a");
    }
    assert_eq!(say(&mut connection, "OBJECT FREQ a"), "15");
    clock.advance_ms(3 * 60_000);
    assert_eq!(say(&mut connection, "OBJECT FREQ a"), "12");
    assert!(say(&mut connection, "OBJECT IDLETIME a").starts_with('-'));
    say(&mut connection, "CONFIG SET maxmemory-policy allkeys-lru");
    say(&mut connection, "GET a");
    assert_eq!(say(&mut connection, "OBJECT IDLETIME a"), "0");
}

#[test]
fn what_was_evicted_is_gone_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let options = || Options { dir: Some(dir.path().into()), ..Options::default() };
    let engine = Engine::open(options()).unwrap().0;
    let mut connection = engine.connect();
    limit(&mut connection, "allkeys-random");
    for n in 0..12_000 {
        say(&mut connection, &format!("SET k:{n} {VALUE}"));
    }
    let size = say(&mut connection, "DBSIZE");
    assert!(info(&mut connection, "evicted_keys") > 1000);
    drop((connection, engine));
    let engine = Engine::open(options()).unwrap().0;
    assert_eq!(say(&mut engine.connect(), "DBSIZE"), size);
}
