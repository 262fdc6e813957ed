//! Settings: what is shown, what is refused, and that a change is all or nothing.

use crate::talk::say;
use engine::Engine;

#[test]
fn a_refused_value_leaves_everything_as_it_was() {
    let connection = Engine::memory().connect();
    assert_eq!(
        say(&connection, "CONFIG SET maxmemory 1mb timeout x"),
        "ERR CONFIG SET failed (possibly related to argument 'timeout') - argument couldn't be \
         parsed into an integer"
    );
    assert_eq!(say(&connection, "CONFIG GET maxmemory"), "[maxmemory 0]");
    assert_eq!(say(&connection, "CONFIG SET maxmemory 1mb timeout 5"), "OK");
    assert_eq!(say(&connection, "CONFIG GET maxmemory timeout"), "[maxmemory 1048576 timeout 5]");
}

#[test]
fn errors_are_those_of_redis() {
    let connection = Engine::memory().connect();
    let failed = "ERR CONFIG SET failed (possibly related to argument";
    for (line, expected) in [
        (
            "CONFIG SET nosuch 1",
            "ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'".into(),
        ),
        ("CONFIG SET databases 1", format!("{failed} 'databases') - can't set immutable config")),
        ("CONFIG SET hz 1 hz 2", format!("{failed} 'hz') - duplicate parameter")),
        (
            "CONFIG SET appendfsync x",
            format!(
                "{failed} 'appendfsync') - argument(s) must be one of the following: everysec, always, no"
            ),
        ),
        (
            "CONFIG SET maxclients 0",
            format!("{failed} 'maxclients') - argument must be between 1 and 4294967295 inclusive"),
        ),
        ("CONFIG SET dir /", format!("{failed} 'dir') - can't set protected config")),
        ("CONFIG SET timeout", "ERR wrong number of arguments for 'config|set' command".into()),
        ("CONFIG REWRITE", "ERR The server is running without a config file".into()),
    ] {
        assert_eq!(say(&connection, line), expected);
    }
}

#[test]
fn old_names_and_patterns_find_settings() {
    let connection = Engine::memory().connect();
    assert_eq!(say(&connection, "CONFIG SET hash-max-ziplist-entries 3"), "OK");
    assert_eq!(
        say(&connection, "CONFIG GET hash-max-*-entries"),
        "[hash-max-listpack-entries 3 hash-max-ziplist-entries 3]"
    );
    say(&connection, "HSET h a 1 b 2 c 3 d 4");
    assert_eq!(say(&connection, "OBJECT ENCODING h"), "hashtable");
}

#[test]
fn writes_are_refused_when_memory_is_full_and_taken_again_when_it_is_not() {
    let connection = Engine::memory().connect();
    let big = "x".repeat(4_000_000);
    say(&connection, "CONFIG SET maxmemory 3mb");
    assert_eq!(say(&connection, &format!("SET k {big}")), "OK");
    assert_eq!(
        say(&connection, "SET other v"),
        "OOM command not allowed when used memory > 'maxmemory'."
    );
    assert_eq!(say(&connection, "DEL k"), "1");
    assert_eq!(say(&connection, "SET other v"), "OK");
}

#[test]
fn a_password_is_asked_for_once_it_is_set() {
    let engine = Engine::memory();
    let first = engine.connect();
    assert_eq!(say(&first, "CONFIG SET requirepass secret"), "OK");
    assert_eq!(say(&first, "PING"), "PONG");
    let second = engine.connect();
    assert_eq!(say(&second, "PING"), "NOAUTH Authentication required.");
    assert_eq!(
        say(&second, "AUTH wrong"),
        "WRONGPASS invalid username-password pair or user is disabled."
    );
    assert_eq!(say(&second, "AUTH secret"), "OK");
    assert_eq!(say(&second, "PING"), "PONG");
    say(&first, "CONFIG SET requirepass ''");
    assert_eq!(say(&engine.connect(), "PING"), "PONG");
}
