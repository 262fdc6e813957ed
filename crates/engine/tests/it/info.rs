//! What the server tells of itself, and the commands on the whole of it.

use crate::talk::say;
use engine::{Engine, Options};

fn line<'a>(info: &'a str, name: &str) -> &'a str {
    let start = format!("{name}:");
    info.lines().find_map(|line| line.strip_prefix(start.as_str())).unwrap_or("(missing)")
}

#[test]
fn info_has_what_clients_look_for() {
    let connection = Engine::memory().connect();
    say(&connection, "SET k v EX 100");
    let info = say(&connection, "INFO");
    assert_eq!(line(&info, "redis_version"), "7.0.15");
    assert_eq!(line(&info, "redis_mode"), "standalone");
    assert_eq!(line(&info, "loading"), "0");
    assert_eq!(line(&info, "role"), "master");
    assert_eq!(line(&info, "maxmemory_policy"), "noeviction");
    assert_eq!(line(&info, "connected_clients"), "1");
    assert!(line(&info, "db0").starts_with("keys=1,expires=1,avg_ttl="), "{info}");
    let keyspace = say(&connection, "INFO keyspace");
    assert!(keyspace.starts_with("# Keyspace\r\ndb0:"), "{keyspace}");
}

#[test]
fn calls_errors_and_rejections_are_counted() {
    let connection = Engine::memory().connect();
    say(&connection, "SET k v");
    say(&connection, "LPUSH k v");
    say(&connection, "GET");
    let stats = say(&connection, "INFO commandstats errorstats");
    assert!(line(&stats, "cmdstat_set").starts_with("calls=1,"), "{stats}");
    assert!(line(&stats, "cmdstat_lpush").ends_with("rejected_calls=0,failed_calls=1"), "{stats}");
    assert!(line(&stats, "cmdstat_get").ends_with("rejected_calls=1,failed_calls=0"), "{stats}");
    assert_eq!(line(&stats, "errorstat_WRONGTYPE"), "count=1");
    say(&connection, "CONFIG RESETSTAT");
    assert_eq!(line(&say(&connection, "INFO commandstats"), "cmdstat_set"), "(missing)");
}

#[test]
fn command_tells_the_keys_of_a_call() {
    let connection = Engine::memory().connect();
    for (call, keys) in [
        ("MSET a 1 b 2", "[a b]"),
        ("ZUNIONSTORE d 2 a b WEIGHTS 1 2", "[d a b]"),
        ("EVAL x 2 a b c", "[a b]"),
        ("EVAL x 0", "[]"),
        ("PING x", "ERR The command has no key arguments"),
        ("GET a b", "ERR Invalid number of arguments specified for command"),
    ] {
        assert_eq!(say(&connection, &format!("COMMAND GETKEYS {call}")), keys, "{call}");
    }
    assert_eq!(say(&connection, "COMMAND GETKEYSANDFLAGS SET k v"), "[[k [OW update]]]");
    assert_eq!(say(&connection, "COMMAND GETKEYSANDFLAGS SET k v GET"), "[[k [RW access update]]]");
}

#[test]
fn slow_calls_are_kept_short_and_without_secrets() {
    let connection = Engine::memory().connect();
    say(&connection, "CONFIG SET slowlog-log-slower-than 0");
    say(&connection, "SLOWLOG RESET");
    say(&connection, &format!("ECHO {}", "x".repeat(200)));
    say(&connection, "CONFIG SET masterauth secret");
    let log = say(&connection, "SLOWLOG GET 2");
    assert!(log.contains(&format!("{}... (72 more bytes)", "x".repeat(128))), "{log}");
    assert!(log.contains("masterauth (redacted)") && !log.contains("secret"), "{log}");
}

#[test]
fn emptying_breaks_watches_of_keys_that_were_there() {
    let engine = Engine::memory();
    let (watcher, other) = (engine.connect(), engine.connect());
    say(&other, "SET here 1");
    for (watched, outcome) in [("here", "nil"), ("absent", "[PONG]")] {
        say(&watcher, &format!("WATCH {watched}"));
        say(&watcher, "MULTI");
        say(&watcher, "PING");
        say(&other, "FLUSHALL");
        assert_eq!(say(&watcher, "EXEC"), outcome, "{watched}");
        say(&other, "SET here 1");
    }
}

#[test]
fn swapped_databases_keep_their_clients() {
    let connection = Engine::memory().connect();
    say(&connection, "SET k zero");
    assert_eq!(say(&connection, "SWAPDB 0 1"), "OK");
    assert_eq!(say(&connection, "GET k"), "nil");
    say(&connection, "SELECT 1");
    assert_eq!(say(&connection, "GET k"), "zero");
    assert_eq!(say(&connection, "SWAPDB 0 99"), "ERR DB index is out of range");
}

#[test]
fn a_cluster_of_one_node_refuses_keys_of_different_slots() {
    let alone = Engine::memory().connect();
    assert_eq!(say(&alone, "CLUSTER KEYSLOT k"), "ERR This instance has cluster support disabled");
    let (engine, _) = Engine::open(Options { cluster: true, ..Options::default() }).unwrap();
    let node = engine.connect();
    assert_eq!(say(&node, "CLUSTER KEYSLOT foo"), "12182");
    assert_eq!(say(&node, "MSET a 1 b 2"), "CROSSSLOT Keys in request don't hash to the same slot");
    assert_eq!(say(&node, "MSET {t}a 1 {t}b 2"), "OK");
    assert_eq!(say(&node, "SELECT 1"), "ERR SELECT is not allowed in cluster mode");
    assert!(say(&node, "CLUSTER SLOTS").starts_with("[[0 16383 [127.0.0.1 0 "));
    assert!(say(&node, "CLUSTER INFO").contains("cluster_state:ok"));
}
