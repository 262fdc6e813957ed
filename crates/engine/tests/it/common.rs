//! What several topics need: commands of words, and everything a store has in comparable form.

use std::path::Path;

use engine::{Connection, Engine, Fsync, OpenError, Options};
use redis::Value;

/// Whoever answers commands: the engine by direct call, or a real server.
pub(crate) trait Ask {
    fn ask(&mut self, words: &[&str]) -> Value;
}

impl Ask for Connection {
    fn ask(&mut self, words: &[&str]) -> Value {
        self.call(&command(words)).expect("does not block")
    }
}

impl Ask for redis::Connection {
    fn ask(&mut self, words: &[&str]) -> Value {
        match redis::ConnectionLike::req_command(self, &command(words)) {
            Ok(value) => value,
            Err(error) => Value::SimpleString(format!("-{error}")),
        }
    }
}

fn command(words: &[&str]) -> redis::Cmd {
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    command
}

/// Whether long runs are wanted.
pub(crate) fn long() -> bool {
    ["WORLDKEEP_TORTURE", "WORLDKEEP_TEST_LONG"].iter().any(|name| std::env::var_os(name).is_some())
}

/// Whether a reply, or a part of it, is an error.
pub(crate) fn failed(reply: &Value) -> bool {
    match reply {
        Value::ServerError(_) => true,
        Value::SimpleString(text) => text.starts_with('-'),
        Value::Array(all) => all.iter().any(failed),
        _ => false,
    }
}

pub(crate) fn open(dir: &Path, fsync: Fsync) -> Result<Engine, OpenError> {
    let options = Options { dir: Some(dir.to_path_buf()), fsync, ..Options::default() };
    Engine::open(options).map(|(engine, _)| engine)
}

/// Every key of every database with type, value, deadline; streams with groups; functions.
pub(crate) fn everything(from: &mut dyn Ask) -> Vec<String> {
    let mut found = Vec::new();
    for db in 0..16 {
        from.ask(&["SELECT", &db.to_string()]);
        let keys: Vec<Vec<u8>> = redis::from_redis_value(from.ask(&["KEYS", "*"])).unwrap();
        for key in keys {
            let key = String::from_utf8(key).expect("test keys are text");
            let kind: String = redis::from_redis_value(from.ask(&["TYPE", &key])).unwrap();
            let value = match kind.as_str() {
                "string" => vec![from.ask(&["GET", &key])],
                "list" => vec![from.ask(&["LRANGE", &key, "0", "-1"])],
                "hash" => pairs(from.ask(&["HGETALL", &key])),
                "set" => pairs_of(from.ask(&["SMEMBERS", &key]), 1),
                "zset" => scores(from.ask(&["ZRANGE", &key, "0", "-1", "WITHSCORES"])),
                _ => stream(from, &key),
            };
            let end = from.ask(&["PEXPIRETIME", &key]);
            found.push(format!("{db} {key} {kind} {end:?} {value:?}"));
        }
    }
    from.ask(&["SELECT", "0"]);
    found.sort();
    found.push(format!("{:?}", from.ask(&["FUNCTION", "LIST", "WITHCODE"])));
    found
}

/// Entries, groups with what is pending, and the numbers that a rewrite must keep.
fn stream(from: &mut dyn Ask, key: &str) -> Vec<Value> {
    let mut all = vec![from.ask(&["XRANGE", key, "-", "+"])];
    let facts: Vec<Value> = redis::from_redis_value(from.ask(&["XINFO", "STREAM", key])).unwrap();
    for two in facts.chunks(2) {
        let name: String = redis::from_redis_value(two[0].clone()).unwrap();
        let kept =
            ["length", "last-generated-id", "max-deleted-entry-id", "entries-added", "groups"];
        if kept.contains(&name.as_str()) {
            all.push(two[1].clone());
        }
    }
    let groups: Vec<redis::Value> =
        redis::from_redis_value(from.ask(&["XINFO", "GROUPS", key])).unwrap();
    for group in groups {
        let Value::Array(facts) = group else { panic!("{group:?}") };
        let name: String = redis::from_redis_value(facts[1].clone()).unwrap();
        all.extend(facts);
        let Value::Array(pending) = from.ask(&["XPENDING", key, &name, "-", "+", "100"]) else {
            continue;
        };
        // Which entry, whose, how often; idle time goes on.
        for entry in pending {
            let Value::Array(mut entry) = entry else { continue };
            entry.remove(2);
            all.push(Value::Array(entry));
        }
    }
    all
}

/// Scores as numbers: Valkey writes some of them shorter.
fn scores(value: Value) -> Vec<Value> {
    let mut items: Vec<Value> = redis::from_redis_value(value).unwrap();
    for score in items.iter_mut().skip(1).step_by(2) {
        *score = Value::Double(redis::from_redis_value(score.clone()).unwrap());
    }
    items
}

fn pairs(value: Value) -> Vec<Value> {
    pairs_of(value, 2)
}

/// Elements without their order, which is nobody's promise.
fn pairs_of(value: Value, width: usize) -> Vec<Value> {
    let items: Vec<Value> = redis::from_redis_value(value).unwrap();
    let mut groups: Vec<&[Value]> = items.chunks(width).collect();
    groups.sort_by_key(|group| format!("{group:?}"));
    groups.concat()
}
