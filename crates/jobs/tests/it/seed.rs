//! Our claim against the seed's on random states: the same job each time, and the same keys of the seed after it.

use std::sync::Arc;
use std::time::Duration;

use jobs::export::SEED_SCRIPTS;
use jobs::{Jobs, Options};
use kernel::keyspace::Layout;
use kernel::{Deadline, FakeClock, reply};
use testkit::on_every_store;

use crate::support::{Bed, NOW, show, worker};

/// A small generator: the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }
}

const TARGETS: &[&str] = &[
    "{}",
    "{}",
    "{}",
    r#"{"server":"w1"}"#,
    r#"{"server":"w2"}"#,
    r#"{"stack":["rust"]}"#,
    r#"{"stack":["node"],"mode":"all"}"#,
    r#"{"capabilities":["gpu","cpu"]}"#,
    r#"{"capabilities":["gpu","cpu"],"mode":"all"}"#,
    r#"{"region":["eu"],"mode":"all"}"#,
    r#"{"region":["us"],"stack":["rust"]}"#,
    r#"{"server":"","region":["eu"]}"#,
];
const LIMITS: &[&str] =
    &["", "", "", r#","rateLimit":{"maxConcurrent":1}"#, r#","rateLimit":{"maxConcurrent":2}"#];
const EXTRAS: &[&str] = &[r#"{}"#, r#"{"target":{"server":"w2"}}"#, r#"{"n":[1,{"x":2}]}"#];

/// The same queue in two namespaces.
async fn fill(bed: &Bed, dice: &mut Dice) {
    for n in 0..dice.roll(25) {
        let (id, kind) = (format!("j{n}"), dice.pick(&["a", "b", "c"]));
        let (target, limit, payload) = (dice.pick(TARGETS), dice.pick(LIMITS), dice.pick(EXTRAS));
        let text = format!(
            r#"{{"jobId":"{id}","type":"{kind}","payload":{payload},"target":{target},"metadata":{{}},"createdAt":1,"attempts":0{limit}}}"#
        );
        let (ghost, locked, twice) = (dice.roll(8) == 0, dice.roll(8) == 0, dice.roll(10) == 0);
        for ns in ["one", "two"] {
            if !ghost {
                bed.ask(&["SET", &format!("{ns}:jobs:data:{id}"), &text]).await;
            }
            if locked {
                bed.ask(&["SET", &format!("{ns}:jobs:lock:{id}"), "other"]).await;
            }
            for _ in 0..=u8::from(twice) {
                bed.ask(&["RPUSH", &format!("{ns}:jobs:waiting"), &id]).await;
            }
        }
    }
    let (paused, running) = (dice.roll(3) == 0, dice.roll(3).to_string());
    for ns in ["one", "two"] {
        if paused {
            bed.ask(&["SADD", &format!("{ns}:queues:paused"), "b"]).await;
        }
        bed.ask(&["SET", &format!("{ns}:ratelimit:concurrent:c"), &running]).await;
    }
}

/// The keys that the seed's claim touches.
async fn state(bed: &Bed, ns: &str) -> String {
    let mut lines =
        vec![show(&bed.ask(&["LRANGE", &format!("{ns}:jobs:waiting"), "0", "-1"]).await)];
    let active = bed.ask(&["SMEMBERS", &format!("{ns}:jobs:active")]).await;
    let mut active: Vec<String> = reply::list(&active).unwrap().iter().map(show).collect();
    active.sort_unstable();
    for id in &active {
        lines.push(show(&bed.ask(&["GET", &format!("{ns}:jobs:lock:{id}")]).await));
    }
    for kind in ["a", "b", "c"] {
        lines.push(show(&bed.ask(&["GET", &format!("{ns}:ratelimit:concurrent:{kind}")]).await));
    }
    format!("{active:?} {}", lines.join(" "))
}

on_every_store!(our_claim_takes_what_the_seeds_takes, |store| {
    let clock = FakeClock::at(NOW);
    let ours =
        Jobs::new(store.clone(), Arc::new(clock.clone()), "one", Layout::Plain, Options::default());
    let bed = Bed { jobs: ours.unwrap(), clock, store };
    let seed = *SEED_SCRIPTS.iter().find(|script| script.name() == "claim_job").unwrap();
    let keys = ["two:jobs:waiting", "two:jobs:active", "two:queues:paused"].map(str::as_bytes);
    let now = NOW.to_string();
    let args = [
        "w1",
        r#"["rust"]"#,
        r#"["gpu"]"#,
        r#"["eu"]"#,
        &now,
        "30",
        "two:jobs:data:",
        "two:jobs:lock:",
        "two:ratelimit:concurrent:",
    ]
    .map(str::as_bytes);
    let mut claimed = 0;
    for round in 0..40 {
        bed.line("FLUSHALL").await;
        fill(&bed, &mut Dice(round)).await;
        let facts = worker("w1").region("eu").capabilities(["gpu"]);
        for _ in 0..5 {
            let by = Deadline::after(Duration::from_secs(10));
            let theirs = bed.store.script(seed, &keys, &args, by).await.unwrap();
            let mine = bed.claim(&facts).await;
            claimed += u32::from(mine.is_some());
            let mine = mine.map_or_else(|| "-".to_owned(), |one| one.job.text().to_owned());
            assert_eq!(mine, show(&theirs), "round {round}");
            assert_eq!(state(&bed, "one").await, state(&bed, "two").await, "round {round}");
        }
    }
    assert!(claimed > 60, "{claimed}");
});
