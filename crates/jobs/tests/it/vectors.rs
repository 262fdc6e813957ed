//! The test vectors that are shipped for other languages hold on every store: whole state before and after.

use std::collections::BTreeMap;

use jobs::SCRIPTS;
use jobs::export::{OWN_VECTORS, SEED_SCRIPTS, VECTORS};
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
    testkit::call_as_default(store, &command(&words), by()).await.unwrap()
}

fn texts(value: &Value) -> Vec<String> {
    let all = reply::list(value).expect("a list");
    all.iter().map(|item| reply::text(item).expect("text").to_owned()).collect()
}

/// Fields and values as an object.
fn object(value: &Value) -> Json {
    let pairs = reply::pairs(value).expect("pairs");
    let text = |value: &Value| reply::text(value).expect("text").to_owned();
    pairs.iter().map(|(field, value)| (text(field), json!(text(value)))).collect()
}

/// Every key of the database with its value, and its life in seconds when it has one.
pub(crate) async fn state(store: &dyn Store) -> BTreeMap<String, Json> {
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
            "hash" => json!({"hash": object(&ask(store, &["HGETALL", &key]).await)}),
            "stream" => {
                // An entry's id is the server's clock: left out.
                let all = ask(store, &["XRANGE", &key, "-", "+"]).await;
                let fields = |entry: &Value| object(&reply::list(entry).unwrap()[1]);
                json!({"stream": reply::list(&all).unwrap().iter().map(fields).collect::<Vec<_>>()})
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

/// A reply as vectors spell it.
pub(crate) fn spelled(got: &Result<Value, Fault>) -> Json {
    match got {
        Err(Fault::Refused { .. }) => json!({"error": true}),
        Err(fault) => panic!("{fault}"),
        Ok(value) => spell(value),
    }
}

fn spell(value: &Value) -> Json {
    match value {
        Value::Nil => json!({"nil": true}),
        Value::Int(int) => json!({"int": int}),
        Value::Array(all) => json!({"list": all.iter().map(spell).collect::<Vec<_>>()}),
        other => json!({"text": reply::text(other).expect("text")}),
    }
}

fn is_reply(wanted: &Json, got: &Json) -> bool {
    let parsed = got["text"].as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
    wanted == got || parsed.is_some_and(|parsed| wanted.get("json") == Some(&parsed))
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

/// Makes the state before and calls the script: the reply and the state after.
pub(crate) async fn play(
    store: &dyn Store,
    scripts: &[&'static Script],
    vector: &Json,
) -> (Json, BTreeMap<String, Json>) {
    let words = |field: &str| -> Vec<Vec<u8>> {
        let all = vector[field].as_array().unwrap();
        all.iter().map(|word| word.as_str().unwrap().as_bytes().to_vec()).collect()
    };
    ask(store, &["FLUSHALL"]).await;
    for before in vector["before"].as_array().unwrap() {
        let before = command(before.as_array().unwrap());
        testkit::call_as_default(store, &before, by()).await.unwrap();
    }
    let script = *scripts.iter().find(|s| Some(s.name()) == vector["script"].as_str()).unwrap();
    let (keys, args) = (words("keys"), words("args"));
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
    let got = spelled(&store.script(script, &keys, &args, by()).await);
    (got, state(store).await)
}

async fn hold(store: &dyn Store, scripts: &[&'static Script], vectors: &str) {
    let vectors: Vec<Json> = serde_json::from_str(vectors).unwrap();
    for vector in &vectors {
        let name = vector["name"].as_str().unwrap();
        let (got, after) = play(store, scripts, vector).await;
        assert!(is_reply(&vector["reply"], &got), "{name}: {got:?}");
        assert!(same_state(&vector["after"], &after), "{name}: {after:#?}");
    }
    assert!(vectors.len() > 50);
}

on_every_store!(the_seeds_scripts_do_what_their_vectors_say, |store| {
    hold(&*store, SEED_SCRIPTS, VECTORS).await;
});

on_every_store!(our_own_scripts_do_what_their_vectors_say, |store| {
    hold(&*store, SCRIPTS, OWN_VECTORS).await;
});
