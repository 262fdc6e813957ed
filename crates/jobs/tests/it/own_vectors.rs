//! Where the vectors of our own scripts come from: the library does something at a fixed time, what it sends to a script is
//! noted, and the script is played again alone. `UPDATE_EXPECT=1` writes them anew; read the diff.

use std::sync::Arc;

use jobs::{Options, SCRIPTS};
use serde_json::{Value as Json, json};
use testkit::{Recorder, ScriptCall};

use crate::support::{Bed, bed_with};
use crate::vector_cases::{claim, enqueue, finish};
use crate::vector_chores::{act, hold, keep, schedule};
use crate::vectors::{play, state};

/// The commands that make a state.
fn commands(state: &std::collections::BTreeMap<String, Json>) -> Vec<Vec<String>> {
    let text = |value: &Json| value.as_str().expect("text").to_owned();
    let mut all = Vec::new();
    for (key, value) in state {
        let object = value.as_object().unwrap();
        let (kind, held) = object.iter().find(|(name, _)| *name != "ttl").unwrap();
        let (verb, words): (_, Vec<String>) = match (kind.as_str(), held) {
            ("string", Json::String(value)) => ("SET", vec![value.clone()]),
            ("list", Json::Array(items)) => ("RPUSH", items.iter().map(text).collect()),
            ("set", Json::Array(items)) => ("SADD", items.iter().map(text).collect()),
            ("zset", Json::Array(pairs)) => {
                ("ZADD", pairs.iter().flat_map(|pair| [text(&pair[1]), text(&pair[0])]).collect())
            }
            ("hash", Json::Object(fields)) => (
                "HSET",
                fields.iter().flat_map(|(name, value)| [name.clone(), text(value)]).collect(),
            ),
            _ => panic!("{key}: {value}"),
        };
        all.push([vec![verb.to_owned(), key.clone()], words].concat());
        if let Some(ttl) = object.get("ttl") {
            all.push(vec!["EXPIRE".to_owned(), key.clone(), ttl.to_string()]);
        }
    }
    all
}

/// What was recorded so far.
pub(crate) struct Book {
    lines: Vec<String>,
    names: Vec<&'static str>,
}

impl Book {
    /// Notes what `act` sends to the script, after `setup`; gives its keys and arguments.
    pub(crate) async fn note(
        &mut self,
        (script, name): (&'static str, &str),
        options: Options,
        setup: impl AsyncFnOnce(&Bed),
        act: impl AsyncFnOnce(&Bed),
    ) -> (Vec<String>, Vec<String>) {
        let store = testkit::open("memory").await;
        let recorder = Recorder::new(Arc::clone(&store));
        let bed = bed_with(recorder.clone(), options);
        setup(&bed).await;
        bed.ask(&["DEL", "bridge:events:stream", "bridge:x:index"]).await;
        let before = commands(&state(&*store).await);
        recorder.take_scripts();
        act(&bed).await;
        let call = recorder.take_scripts().into_iter().find(|call| call.name == script);
        let ScriptCall { keys, args, .. } =
            call.unwrap_or_else(|| panic!("{name}: {script} was not called"));
        self.play(script, name, &before, &keys, &args).await;
        (keys, args)
    }

    pub(crate) async fn play(
        &mut self,
        script: &'static str,
        name: &str,
        before: &[Vec<String>],
        keys: &[String],
        args: &[String],
    ) {
        let vector = json!({"script": script, "before": before, "keys": keys, "args": args});
        let store = testkit::open("memory").await;
        let (reply, after) = play(&*store, SCRIPTS, &vector).await;
        assert_ne!(reply, json!({"error": true}), "{name}");
        let json = |value: &dyn erased::Text| value.json();
        self.lines.push(format!(
            r#"{{"name":{},"script":{},"before":{},"keys":{},"args":{},"reply":{},"after":{}}}"#,
            json(&name),
            json(&script),
            json(&before),
            json(&keys),
            json(&args),
            json(&reply),
            json(&after),
        ));
        self.names.push(script);
    }
}

/// Anything as JSON.
mod erased {
    pub(super) trait Text {
        fn json(&self) -> String;
    }

    impl<T: serde::Serialize> Text for T {
        fn json(&self) -> String {
            serde_json::to_string(self).unwrap()
        }
    }
}

#[test]
fn our_vectors_are_what_the_library_sends_and_the_scripts_do() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let book = runtime.block_on(async {
        let mut book = Book { lines: Vec::new(), names: Vec::new() };
        enqueue(&mut book).await;
        claim(&mut book).await;
        finish(&mut book).await;
        hold(&mut book).await;
        schedule(&mut book).await;
        act(&mut book).await;
        keep(&mut book).await;
        book
    });
    for script in SCRIPTS {
        assert!(book.names.contains(&script.name()), "{} has no vector", script.name());
    }
    let text = format!("[\n{}\n]\n", book.lines.join(",\n"));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/vectors.json");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    let stored = std::fs::read_to_string(file).unwrap();
    for (wanted, got) in stored.lines().zip(text.lines()) {
        assert_eq!(got, wanted, "UPDATE_EXPECT=1 records the vectors anew");
    }
    assert_eq!(stored.len(), text.len(), "UPDATE_EXPECT=1 records the vectors anew");
}
