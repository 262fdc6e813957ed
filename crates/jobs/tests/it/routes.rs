//! Routing is told in three places: the seed's script, our claim, and the pure function behind "why is this job
//! not running". Random targets and workers must come out alike.

use std::time::Duration;

use jobs::WorkerFacts;
use jobs::export::SEED_SCRIPTS;
use jobs::routing::{Facts, Route};
use kernel::{Deadline, Store, reply};
use serde_json::{Value as Json, json};
use testkit::on_every_store;

use crate::hands::{NOW, NS, ask, still};

struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn some(&mut self, words: &[&str]) -> Vec<String> {
        let picked = words.iter().filter(|_| self.throw(3) == 0).map(ToString::to_string);
        picked.collect()
    }

    fn target(&mut self, odd: bool) -> Json {
        let mut target = serde_json::Map::new();
        for (name, words) in [
            ("stack", &["rust", "node"][..]),
            ("capabilities", &["gpu", "email", "tpu"]),
            ("region", &["eu", "us"]),
        ] {
            match self.throw(if odd { 6 } else { 4 }) {
                0 => {}
                4 => {
                    target.insert(name.into(), Json::Null);
                }
                5 => {
                    target.insert(name.into(), json!([1, {"a": 2}, "eu"]));
                }
                _ => {
                    target.insert(name.into(), json!(self.some(words)));
                }
            }
        }
        match self.throw(8) {
            0 => target.insert("server".into(), json!("w1")),
            1 => target.insert("server".into(), json!("w2")),
            2 => target.insert("server".into(), json!("")),
            _ => None,
        };
        match self.throw(5) {
            0 => target.insert("mode".into(), json!("all")),
            1 => target.insert("mode".into(), json!("any")),
            2 => target.insert("mode".into(), json!("most")),
            _ => None,
        };
        Json::Object(target)
    }
}

async fn put(store: &dyn Store, target: &Json) -> String {
    let job = json!({"jobId": "j", "type": "do", "payload": {}, "target": target}).to_string();
    ask(store, &["FLUSHALL"]).await;
    ask(store, &["SET", &format!("{NS}:jobs:data:j"), &job]).await;
    ask(store, &["RPUSH", &format!("{NS}:jobs:waiting"), "j"]).await;
    job
}

async fn by_seed(store: &dyn Store, facts: &Facts) -> bool {
    let script = SEED_SCRIPTS.iter().find(|script| script.name() == "claim_job").unwrap();
    let key = |name: &str| format!("{NS}:{name}");
    let keys = [key("jobs:waiting"), key("jobs:active"), key("queues:paused")];
    let list = |words: &[String]| json!(words).to_string();
    let args = [
        facts.server_id.clone(),
        list(&facts.stack),
        list(&facts.capabilities),
        list(&facts.region),
        NOW.to_string(),
        "30".into(),
        key("jobs:data:"),
        key("jobs:lock:"),
        key("ratelimit:concurrent:"),
    ];
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let args: Vec<&[u8]> = args.iter().map(String::as_bytes).collect();
    let by = Deadline::after(Duration::from_secs(5));
    reply::text(&store.script(script, &keys, &args, by).await.unwrap()).is_some()
}

on_every_store!(the_seeds_script_our_claim_and_the_explanation_agree, |store| {
    let (jobs, _clock) = still(&store);
    let mut dice = Dice(7);
    let mut ran = 0;
    for turn in 0..400 {
        let odd = turn % 2 == 1;
        let target = dice.target(odd);
        let mut worker =
            WorkerFacts::new("w1").unwrap().capabilities(dice.some(&["gpu", "email", "tpu"]));
        worker = worker.stack(if dice.throw(2) == 0 { "rust" } else { "node" });
        if dice.throw(3) > 0 {
            worker = worker.region(if dice.throw(2) == 0 { "eu" } else { "us" });
        }
        let facts = Facts::from(&worker);
        let job = put(&*store, &target).await;
        let told = Route::of_job(&job).admits(&facts);
        let claimed = !jobs.claim(&worker, 1).await.unwrap().jobs.is_empty();
        assert_eq!(told, claimed, "{target} on {facts:?}");
        // What has a wrong type stops the seed's script; ours reads it as absent.
        if !odd {
            put(&*store, &target).await;
            assert_eq!(told, by_seed(&*store, &facts).await, "{target} on {facts:?}");
        }
        ran += usize::from(told);
    }
    assert!((50..350).contains(&ran), "both answers were tried: {ran}");
});
