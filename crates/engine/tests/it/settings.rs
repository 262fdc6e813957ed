//! The table of settings, row by row: what a setting says is what the engine does, or `CONFIG SET` refuses another value and
//! says why. A row without a proof fails.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::{Engine, ManualClock, Options};
use testkit::wait_until;

use crate::talk::{Socket, say};

struct Row {
    name: &'static str,
    kind: Vec<&'static str>,
    flags: &'static str,
    effect: &'static str,
    default: &'static str,
}

fn table() -> Vec<Row> {
    let lines = include_str!("../../src/core/settings.tsv").lines().filter(|l| !l.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, _, kind, flags, effect, default] = fields[..] else { panic!("{line}") };
            Row { name, kind: kind.split(' ').collect(), flags, effect, default }
        })
        .collect()
}

/// The same lines are answered differently under two values: a part of the last answer for each.
type Proof = (&'static str, [(&'static str, &'static str); 2], &'static [&'static str]);

const PROOFS: &[Proof] = &[
    (
        "acl-pubsub-default",
        [("resetchannels", "off resetchannels"), ("allchannels", "off &*")],
        &["ACL SETUSER ann", "ACL LIST"],
    ),
    ("acllog-max-len", [("0", "[]"), ("5", "username ann")], &["AUTH ann x", "ACL LOG"]),
    (
        "hash-max-listpack-entries",
        [("1", "hashtable"), ("2", "listpack")],
        &["HSET k a 1 b 2", "OBJECT ENCODING k"],
    ),
    (
        "hash-max-listpack-value",
        [("1", "hashtable"), ("2", "listpack")],
        &["HSET k a 12", "OBJECT ENCODING k"],
    ),
    ("hll-sparse-max-bytes", [("0", "12304"), ("3000", "21")], &["PFADD k a", "STRLEN k"]),
    ("hz", [("10", "\r\nhz:10\r\n"), ("100", "\r\nhz:100\r\n")], &["INFO server"]),
    (
        "latency-monitor-threshold",
        [("0", "[]"), ("1", "[[command")],
        &["DEBUG SLEEP 0.005", "LATENCY LATEST"],
    ),
    ("latency-tracking", [("no", "[]"), ("yes", "calls 1")], &["SET k v", "LATENCY HISTOGRAM set"]),
    (
        "latency-tracking-info-percentiles",
        [("50", "set:p50="), ("90", "set:p90=")],
        &["SET k v", "INFO latencystats"],
    ),
    (
        "lazyfree-lazy-user-flush",
        [("no", "lazyfreed_objects:0"), ("yes", "lazyfreed_objects:10001")],
        &["EVAL for\ti=1,10001\tdo\tredis.call('set',i,'')\tend 0", "FLUSHALL", "INFO memory"],
    ),
    (
        "lfu-log-factor",
        [("0", "10"), ("1000000000", "6")],
        &[
            "CONFIG SET maxmemory-policy allkeys-lfu",
            "SET k v",
            "GET k",
            "GET k",
            "GET k",
            "GET k",
            "GET k",
            "OBJECT FREQ k",
        ],
    ),
    (
        "maxmemory-policy",
        [("noeviction", "1"), ("allkeys-lru", "0")],
        &["SET k v", "CONFIG SET maxmemory 1", "SET k v", "EXISTS k"],
    ),
    (
        "min-replicas-max-lag",
        [("0", "OK"), ("10", "NOREPLICAS ")],
        &["CONFIG SET min-replicas-to-write 1", "SET k v"],
    ),
    ("min-replicas-to-write", [("0", "OK"), ("1", "NOREPLICAS ")], &["SET k v"]),
    (
        "proto-max-bulk-len",
        [("1048576", "exceeds maximum allowed size"), ("536870912", "1048578")],
        &["SETRANGE k 1048576 xx"],
    ),
    (
        "set-max-intset-entries",
        [("1", "hashtable"), ("2", "intset")],
        &["SADD k 1 2", "OBJECT ENCODING k"],
    ),
    ("slowlog-log-slower-than", [("-1", "[]"), ("0", "[SET k v]")], &["SET k v", "SLOWLOG GET"]),
    (
        "slowlog-max-len",
        [("0", "[]"), ("9", "[SET k v]")],
        &["CONFIG SET slowlog-log-slower-than 0", "SET k v", "SLOWLOG GET"],
    ),
    (
        "stream-node-max-bytes",
        [("1", "radix-tree-keys 2"), ("4096", "radix-tree-keys 1")],
        &["XADD k 1 a 1", "XADD k 2 a 1", "XINFO STREAM k"],
    ),
    (
        "stream-node-max-entries",
        [("1", "radix-tree-keys 2"), ("100", "radix-tree-keys 1")],
        &["XADD k 1 a 1", "XADD k 2 a 1", "XINFO STREAM k"],
    ),
    (
        "zset-max-listpack-entries",
        [("1", "skiplist"), ("2", "listpack")],
        &["ZADD k 1 a 2 b", "OBJECT ENCODING k"],
    ),
    (
        "zset-max-listpack-value",
        [("1", "skiplist"), ("2", "listpack")],
        &["ZADD k 1 ab", "OBJECT ENCODING k"],
    ),
];

/// Settings that a test of their own proves: they need sockets, time, or a directory.
const TESTS: &[(&str, &str)] = &[
    ("appendfsync", "the_log_is_synced_as_appendfsync_says_while_it_runs"),
    ("auto-aof-rewrite-min-size", "the_log_is_rewritten_when_it_has_grown_as_the_settings_say"),
    ("auto-aof-rewrite-percentage", "the_log_is_rewritten_when_it_has_grown_as_the_settings_say"),
    ("busy-reply-threshold", "calls_that_came_with_a_slow_script_are_answered_and_it_can_be_ended"),
    ("client-output-buffer-limit", "replies_beyond_the_output_limit_close_the_connection"),
    ("client-query-buffer-limit", "more_than_the_query_buffer_may_hold_closes_the_connection"),
    ("lfu-decay-time", "uses_are_forgotten_as_lfu_decay_time_says"),
    ("maxclients", "there_are_as_many_clients_as_allowed_and_none_is_forgotten"),
    ("maxmemory", "writes_are_refused_when_memory_is_full_and_taken_again_when_it_is_not"),
    ("maxmemory-samples", "with_many_samples_the_longest_unused_key_goes"),
    ("notify-keyspace-events", "events_are_told_as_notify_keyspace_events_says"),
    ("protected-mode", "beyond_this_machine_nobody_connects_without_a_password_or_users"),
    ("requirepass", "a_password_is_asked_for_once_it_is_set"),
    ("tcp-keepalive", "silent_peers_are_asked_as_tcp_keepalive_says"),
    ("timeout", "silent_clients_are_closed_as_timeout_says"),
    ("tracking-table-max-keys", "tracked_keys_are_forgotten_beyond_tracking_table_max_keys"),
];

/// Settings that are taken although nothing depends on them, because programs and Redis's own tests set them: lists are
/// kept in pieces of one size and whole, there are no replicas, and no snapshots beside the log.
const IDLE: &[&str] = &[
    "list-compress-depth",
    "list-max-listpack-size",
    "rdb-key-save-delay",
    "repl-backlog-size",
    "replica-serve-stale-data",
    "save",
];

#[test]
fn every_setting_is_obeyed_or_refused() {
    let rows = table();
    let with = |effect: &str| -> BTreeSet<&str> {
        rows.iter().filter(|row| row.effect == effect).map(|row| row.name).collect()
    };
    let proven = PROOFS.iter().map(|(name, ..)| *name).chain(TESTS.iter().map(|(name, _)| *name));
    assert_eq!(with("obeyed"), proven.collect(), "a setting that is obeyed has one proof");
    assert_eq!(with("idle"), IDLE.iter().copied().collect());
    let connection = Engine::memory().connect();
    for row in &rows {
        let other = another_value(row);
        let answer = say(&connection, &format!("CONFIG SET {} {other}", row.name));
        let refusal =
            format!("ERR CONFIG SET failed (possibly related to argument '{}')", row.name);
        match row.effect {
            "obeyed" => {
                assert_eq!(answer, "OK", "{} {other}", row.name);
                // Others would be disturbed.
                say(&connection, &format!("CONFIG SET {} {}", row.name, quoted(row.default)));
            }
            "idle" => assert_eq!(answer, "OK", "{} {other}", row.name),
            "-" => {
                let why = if row.flags.contains("protected") { "protected" } else { "immutable" };
                assert_eq!(answer, format!("{refusal} - can't set {why} config"));
            }
            _ => {
                assert!(answer.starts_with(&refusal), "{} {other}: {answer}", row.name);
                let same =
                    say(&connection, &format!("CONFIG SET {} {}", row.name, now(&connection, row)));
                assert_eq!(same, "OK", "{} keeps its value", row.name);
            }
        }
    }
}

/// The value as an argument.
fn now(connection: &engine::Connection, row: &Row) -> String {
    let shown = say(connection, &format!("CONFIG GET {}", row.name));
    let value = shown.strip_prefix(&format!("[{} ", row.name)).unwrap().strip_suffix(']').unwrap();
    quoted(value)
}

fn quoted(value: &str) -> String {
    if value.is_empty() { "''".into() } else { value.replace(' ', "\u{a0}") }
}

/// A good value that is not the one at the start.
fn another_value(row: &Row) -> String {
    let differs = |value: &&&str| **value != row.default;
    match row.kind[..] {
        ["bool"] => if row.default == "yes" { "no" } else { "yes" }.into(),
        ["text"] => "other".into(),
        ["enum", ..] => (*row.kind[1..].iter().find(differs).unwrap()).to_owned(),
        ["special"] => match row.name {
            "client-output-buffer-limit" => "normal\u{a0}1\u{a0}2\u{a0}3".into(),
            "latency-tracking-info-percentiles" => "75".into(),
            "oom-score-adj-values" => "1\u{a0}2\u{a0}3".into(),
            "save" => "60\u{a0}1".into(),
            "notify-keyspace-events" => "KEA".into(),
            _ => "10.1.1.1".into(),
        },
        [_, low, high] => {
            // Near the start, so that nothing else is disturbed.
            let number = |text: &str| text.parse::<i128>().unwrap();
            let start = row.default.parse::<i128>().unwrap_or(0);
            (if start < number(high) { start + 1 } else { number(low) }).to_string()
        }
        _ => panic!("{}: {:?}", row.name, row.kind),
    }
}

#[test]
fn settings_that_are_obeyed_change_what_is_answered() {
    for (name, values, lines) in PROOFS {
        let answers = values.map(|(value, _)| {
            let options = Options { debug: true, ..Options::default() };
            let (engine, _) = Engine::open(options).unwrap();
            let connection = engine.connect();
            assert_eq!(say(&connection, &format!("CONFIG SET {name} {value}")), "OK");
            lines.iter().fold(String::new(), |_, line| say(&connection, line))
        });
        let [(_, first), (_, second)] = values;
        assert!(answers[0].contains(first), "{name}: {first} in {}", answers[0]);
        assert!(answers[1].contains(second), "{name}: {second} in {}", answers[1]);
        assert!(!answers[0].contains(second), "{name}: {}", answers[0]);
    }
}

#[test]
fn every_test_that_is_named_as_a_proof_exists() {
    fn sources(dir: &Path, text: &mut String) {
        for entry in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                sources(&entry, text);
            } else if entry.extension().is_some_and(|ext| ext == "rs") {
                text.push_str(&std::fs::read_to_string(entry).unwrap());
            }
        }
    }
    let (mut text, home) = (String::new(), Path::new(env!("CARGO_MANIFEST_DIR")));
    sources(&home.join("src"), &mut text);
    sources(&home.join("tests"), &mut text);
    for (name, test) in TESTS {
        assert!(
            text.contains(&format!("#[test]\nfn {test}()"))
                || text.contains(&format!("#[test]\n    fn {test}()")),
            "{name}: {test}"
        );
    }
}

fn with_clock() -> (Engine, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at_ms(1_700_000_000_000));
    let options = Options { clock: clock.clone(), ..Options::default() };
    (Engine::open(options).unwrap().0, clock)
}

#[test]
fn uses_are_forgotten_as_lfu_decay_time_says() {
    for (minutes, left) in [("1", "0"), ("0", "10")] {
        let (engine, clock) = with_clock();
        let connection = engine.connect();
        say(&connection, "CONFIG SET maxmemory-policy allkeys-lfu lfu-log-factor 0");
        assert_eq!(say(&connection, &format!("CONFIG SET lfu-decay-time {minutes}")), "OK");
        say(&connection, "SET k v");
        (0..5).for_each(|_| drop(say(&connection, "GET k")));
        clock.advance_ms(60 * 60_000);
        assert_eq!(say(&connection, "OBJECT FREQ k"), left);
    }
}

#[test]
fn with_many_samples_the_longest_unused_key_goes() {
    // With one sample it would be any of a hundred keys; with five hundred the oldest is certainly among them.
    let (engine, clock) = with_clock();
    let connection = engine.connect();
    for n in 0..20 {
        say(&connection, &format!("SET k{n} {}", "x".repeat(10_000)));
        clock.advance_ms(60_000);
    }
    say(&connection, "CONFIG SET maxmemory-policy allkeys-lru maxmemory-samples 500");
    let used = say(&connection, "INFO memory");
    let used = used.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    say(&connection, &format!("CONFIG SET maxmemory {}", used.parse::<u64>().unwrap() - 5_000));
    say(&connection, "SET last v");
    assert_eq!(say(&connection, "EXISTS k0"), "0");
    assert_eq!(say(&connection, "EXISTS k2 k3 k4 k5 k6 k7 k8 k9 k10 k19"), "10");
}

#[test]
fn events_are_told_as_notify_keyspace_events_says() {
    let (engine, listener) = crate::talk::served();
    let connection = engine.connect();
    let mut socket = Socket::open(&listener);
    assert_eq!(socket.say("PSUBSCRIBE __key*"), "[psubscribe __key* 1]");
    say(&connection, "SET quiet v");
    say(&connection, "CONFIG SET notify-keyspace-events E$");
    say(&connection, "SET loud v");
    assert_eq!(socket.read(), "[pmessage __key* __keyevent@0__:set loud]");
}

#[test]
fn silent_clients_are_closed_as_timeout_says() {
    let (engine, clock) = with_clock();
    let listener = engine.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let connection = engine.connect();
    let mut socket = Socket::open(&listener);
    assert_eq!(socket.say("PING"), "PONG");
    clock.advance_ms(60_000);
    engine.tick();
    assert_eq!(socket.say("PING"), "PONG", "0 is for ever");
    say(&connection, "CONFIG SET timeout 5");
    clock.advance_ms(4_000);
    engine.tick();
    assert_eq!(socket.say("PING"), "PONG");
    clock.advance_ms(6_000);
    engine.tick();
    assert_eq!(socket.read(), "(closed)");
}

#[test]
fn tracked_keys_are_forgotten_beyond_tracking_table_max_keys() {
    for (most, kept) in [("1000000", "tracking_total_keys:3"), ("1", "tracking_total_keys:1")] {
        let (engine, listener) = crate::talk::served();
        let connection = engine.connect();
        say(&connection, &format!("CONFIG SET tracking-table-max-keys {most}"));
        let mut socket = Socket::open(&listener);
        socket.send("HELLO 3\r\nCLIENT TRACKING ON\r\nGET a\r\nGET b\r\nGET c\r\nPING");
        while socket.read() != "PONG" {}
        engine.tick();
        let info = say(&connection, "INFO stats");
        assert!(info.contains(&format!("{kept}\r\n")), "{most}: {info}");
    }
}

#[test]
fn the_log_is_rewritten_when_it_has_grown_as_the_settings_say() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { dir: Some(dir.path().into()), ..Options::default() };
    let (engine, _) = Engine::open(options).unwrap();
    let connection = engine.connect();
    let base = dir.path().join("appendonlydir/appendonly.aof.1.base.aof");
    let grow =
        || (0..50).for_each(|_| drop(say(&connection, &format!("SET k {}", "x".repeat(1000)))));
    say(&connection, "CONFIG SET auto-aof-rewrite-percentage 0 auto-aof-rewrite-min-size 10kb");
    grow();
    engine.tick();
    assert!(!engine.is_rewriting() && !base.exists(), "0 is for never");
    say(&connection, "CONFIG SET auto-aof-rewrite-percentage 100 auto-aof-rewrite-min-size 1gb");
    engine.tick();
    assert!(!engine.is_rewriting() && !base.exists(), "it is small");
    say(&connection, "CONFIG SET auto-aof-rewrite-min-size 10kb");
    engine.tick();
    wait_until("a base is written", || base.exists());
}
