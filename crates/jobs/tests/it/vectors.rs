//! The test vectors that are shipped for other languages hold on every store: whole state before and after.

use std::collections::BTreeMap;

use jobs::export::{SEED_SCRIPTS, VECTORS};
use kernel::{Cmd, Deadline, Fault, Script, Store, Value, reply};
use serde_json::{Value as Json, json};
use testkit::on_every_store;

fn by() -> Deadline {
    Deadline::after(std::time::Duration::from_secs(5))
}

fn command(words: &[Json]) -> Cmd {
    let mut words = words.iter().map(|word| word.as_str().expect("words are text"));
    let mut cmd = redis::cmd(words.next().expect("a command has a name"));
    words.for_each(|word| {
        cmd.arg(word);
    });
    cmd
}

async fn ask(store: &dyn Store, words: &[&str]) -> Value {
    let words: Vec<Json> = words.iter().map(|word| json!(word)).collect();
    store.call(&command(&words), by()).await.unwrap()
}

fn texts(value: &Value) -> Vec<String> {
    let all = reply::list(value).expect("a list");
    all.iter().map(|item| reply::text(item).expect("text").to_owned()).collect()
}

/// Every key of the database with its value, and its life in seconds when it has one.
async fn state(store: &dyn Store) -> BTreeMap<String, Json> {
    let mut state = BTreeMap::new();
    for key in texts(&ask(store, &["KEYS", "*"]).await) {
        let kind = ask(store, &["TYPE", &key]).await;
        let mut value = match reply::text(&kind).unwrap() {
            "string" => json!({"string": reply::text(&ask(store, &["GET", &key]).await).unwrap()}),
            "list" => json!({"list": texts(&ask(store, &["LRANGE", &key, "0", "-1"]).await)}),
            "set" => {
                let mut members = texts(&ask(store, &["SMEMBERS", &key]).await);
                members.sort();
                json!({"set": members})
            }
            "zset" => {
                let all = ask(store, &["ZRANGE", &key, "0", "-1", "WITHSCORES"]).await;
                let pairs = reply::pairs(&all).unwrap();
                let pair = |(member, score): &(&Value, &Value)| {
                    json!([reply::text(member).unwrap(), reply::number(score).unwrap().to_string()])
                };
                json!({"zset": pairs.iter().map(pair).collect::<Vec<_>>()})
            }
            other => panic!("{key} is a {other}"),
        };
        let ttl = reply::int(&ask(store, &["TTL", &key]).await).unwrap();
        if ttl >= 0 {
            value["ttl"] = json!(ttl);
        }
        state.insert(key, value);
    }
    state
}

fn is_reply(wanted: &Json, got: &Result<Value, Fault>) -> bool {
    match got {
        Err(Fault::Refused { .. }) => wanted.get("error").is_some(),
        Err(_) => false,
        Ok(Value::Nil) => wanted.get("nil").is_some(),
        Ok(Value::Int(int)) => wanted.get("int") == Some(&json!(int)),
        Ok(other) => {
            let text = reply::text(other).unwrap_or_default();
            let parsed: Option<Json> = serde_json::from_str(text).ok();
            wanted.get("text") == Some(&json!(text))
                || parsed.is_some_and(|parsed| wanted.get("json") == Some(&parsed))
        }
    }
}

fn same_state(wanted: &Json, got: &BTreeMap<String, Json>) -> bool {
    let wanted = wanted.as_object().unwrap();
    let same = |key: &String, value: &Json| {
        let (mut wanted, mut got) = (wanted[key].clone(), value.clone());
        let ttl = |value: &mut Json| value.as_object_mut().unwrap().remove("ttl");
        let lives = match (ttl(&mut wanted), ttl(&mut got)) {
            (Some(wanted), Some(got)) => wanted.as_i64().unwrap() - got.as_i64().unwrap() <= 2,
            (wanted, got) => wanted == got,
        };
        lives && wanted == got
    };
    wanted.len() == got.len()
        && got.iter().all(|(key, value)| wanted.contains_key(key) && same(key, value))
}

on_every_store!(the_seeds_scripts_do_what_their_vectors_say, |store| {
    let vectors: Vec<Json> = serde_json::from_str(VECTORS).unwrap();
    for vector in &vectors {
        let name = vector["name"].as_str().unwrap();
        let words = |field: &str| -> Vec<Vec<u8>> {
            let all = vector[field].as_array().unwrap();
            all.iter().map(|word| word.as_str().unwrap().as_bytes().to_vec()).collect()
        };
        ask(&*store, &["FLUSHALL"]).await;
        for before in vector["before"].as_array().unwrap() {
            store.call(&command(before.as_array().unwrap()), by()).await.unwrap();
        }
        let script: &'static Script =
            SEED_SCRIPTS.iter().find(|s| Some(s.name()) == vector["script"].as_str()).unwrap();
        let (keys, args) = (words("keys"), words("args"));
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let got = store.script(script, &keys, &args, by()).await;
        assert!(is_reply(&vector["reply"], &got), "{name}: {got:?}");
        let after = state(&*store).await;
        assert!(same_state(&vector["after"], &after), "{name}: {after:#?}");
    }
    assert!(vectors.len() > 50);
});
