//! A backlog at its limits: it is read once and then skipped, by all workers, and no job that may run is ever skipped.

use std::time::Duration;

use jobs::{Claims, NewJob, Target, WorkerFacts};
use proptest::prelude::*;
use testkit::on_every_store;

use crate::support::{Bed, bed, job, worker};

async fn limited(bed: &Bed, count: usize) {
    let all = (0..count).map(|n| job("mail", &format!("m{n}")).max_concurrent(3));
    let all: Vec<NewJob> = all.collect();
    for part in all.chunks(500) {
        for answer in bed.jobs.dispatch_many(part.to_vec()).await.unwrap() {
            answer.unwrap();
        }
    }
}

fn ids(claims: &Claims) -> String {
    claims.jobs.iter().map(|one| one.job.id.as_str()).collect::<Vec<_>>().join(" ")
}

/// Claims, again while a claim reached its scan limit: what was claimed, and how many jobs were read.
async fn claim(bed: &Bed, facts: &WorkerFacts, count: usize) -> (String, u64) {
    let mut read = 0;
    for _ in 0..20 {
        let claims = bed.jobs.claim(facts, count).await.unwrap();
        read += claims.scan.scanned;
        if !claims.jobs.is_empty() || claims.scan.scanned < 1_000 {
            return (ids(&claims), read);
        }
    }
    panic!("the end of the list was not reached");
}

on_every_store!(a_backlog_at_its_limit_is_read_once_for_all_workers, |store| {
    let bed = bed(store);
    limited(&bed, 4_000).await;
    let first = worker("w1");
    assert_eq!(claim(&bed, &first, 5).await.0, "m0 m1 m2");
    assert_eq!(claim(&bed, &first, 1).await.0, "", "all of it is read");
    for n in 0..3 {
        let other = worker(&format!("other-{n}"));
        assert_eq!(claim(&bed, &other, 4).await, (String::new(), 0), "an idle poll reads nothing");
        bed.put(job("free", &format!("f{n}"))).await;
        assert_eq!(
            claim(&bed, &other, 1).await,
            (format!("f{n}"), 1),
            "the free one alone is read"
        );
    }
    // A place is free: the first job of the backlog is the next.
    bed.line("SET bridge:ratelimit:concurrent:mail 2").await;
    let (got, read) = claim(&bed, &worker("w2"), 4).await;
    assert_eq!(got, "m3");
    assert!(read <= 4, "{read}");
    assert_eq!(claim(&bed, &worker("w3"), 1).await, (String::new(), 0));
});

on_every_store!(other_programs_change_the_list_and_the_limits_at_any_time, |store| {
    let bed = bed(store);
    limited(&bed, 1_500).await;
    bed.line("SET bridge:ratelimit:concurrent:mail 3").await;
    let facts = worker("w");
    assert_eq!(claim(&bed, &facts, 1).await.0, "");
    // Heads come and go, jobs vanish from the middle, and a job with a larger limit comes.
    bed.line("LPOP bridge:jobs:waiting").await;
    bed.line("LREM bridge:jobs:waiting 1 m700").await;
    assert_eq!(claim(&bed, &facts, 1).await.0, "");
    bed.put(job("mail", "head").max_concurrent(3).priority(9)).await;
    assert_eq!(claim(&bed, &facts, 1).await.0, "");
    bed.put(job("mail", "larger").max_concurrent(4)).await;
    assert_eq!(claim(&bed, &facts, 1).await.0, "larger");
    bed.put(job("mail", "fifth").max_concurrent(5).priority(8)).await;
    assert_eq!(claim(&bed, &facts, 1).await.0, "fifth");
    // A foreign release.
    bed.line("SET bridge:ratelimit:concurrent:mail 2").await;
    assert_eq!(claim(&bed, &facts, 1).await.0, "head");
    bed.jobs.pause("mail", None).await.unwrap();
    bed.line("SET bridge:ratelimit:concurrent:mail 0").await;
    assert_eq!(claim(&bed, &facts, 1).await, (String::new(), 0), "paused is as good as limited");
    bed.jobs.resume("mail").await.unwrap();
    assert_eq!(claim(&bed, &facts, 2).await.0, "m1 m2");
});

on_every_store!(a_job_put_into_the_middle_by_another_program_is_found_in_time, |store| {
    let bed = bed(store);
    limited(&bed, 300).await;
    bed.line("SET bridge:ratelimit:concurrent:mail 3").await;
    let facts = worker("w");
    assert_eq!(claim(&bed, &facts, 1).await.0, "");
    // In the place of another one: nothing that can be seen from outside has changed.
    bed.put(job("free", "hidden")).await;
    bed.line("RPOP bridge:jobs:waiting").await;
    bed.line("LSET bridge:jobs:waiting 150 hidden").await;
    assert_eq!(claim(&bed, &facts, 1).await.0, "");
    bed.pass(10_001);
    assert_eq!(claim(&bed, &facts, 1).await.0, "hidden");
});

on_every_store!(a_memory_that_is_damaged_costs_nothing_but_time, |store| {
    let bed = bed(store);
    limited(&bed, 200).await;
    bed.put(job("free", "a")).await;
    bed.line("SET bridge:ratelimit:concurrent:mail 3").await;
    assert_eq!(bed.claimed_id(&worker("w")).await, "a");
    let memory = bed.line("GET bridge:x:passed").await;
    for damaged in ["", "x", "1\t2\n", &memory[..memory.len() / 2], &memory.replace('\t', " ")] {
        bed.put(job("free", "b")).await;
        bed.ask(&["SET", "bridge:x:passed", damaged]).await;
        let mut claims = bed.jobs.claim(&worker("w"), 1).await.unwrap();
        let one = claims.jobs.pop().unwrap();
        assert_eq!(one.job.id, "b", "{damaged}");
        bed.jobs.complete(&worker("w"), one.job, None, 1).await.unwrap();
        bed.line("DEL bridge:jobs:data:b bridge:jobs:status:b").await;
    }
    bed.line("DEL bridge:x:passed").await;
    bed.line("SADD bridge:x:passed other").await;
    assert_eq!(bed.claimed_id(&worker("w")).await, "-");
});

/// Something that happens to the list between two claims.
#[derive(Debug, Clone)]
enum Happens {
    Pushed { kind: u8, front: bool },
    Popped,
    Removed(usize),
    Forgotten(usize),
    Paused(u8, bool),
    Counter(u8, u8),
    MinuteOver(u8),
    Later(u64),
    Finished,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => (0u8..24, any::<bool>()).prop_map(|(kind, front)| Happens::Pushed { kind, front }),
        1 => Just(Happens::Popped),
        1 => (0usize..300).prop_map(Happens::Removed),
        1 => (0usize..300).prop_map(Happens::Forgotten),
        1 => (0u8..3, any::<bool>()).prop_map(|(kind, on)| Happens::Paused(kind, on)),
        2 => (0u8..3, 0u8..4).prop_map(|(kind, runs)| Happens::Counter(kind, runs)),
        1 => (0u8..3).prop_map(Happens::MinuteOver),
        1 => prop_oneof![Just(1_000u64), Just(61_000)].prop_map(Happens::Later),
        3 => Just(Happens::Finished),
    ]
}

/// One of 24 kinds of job: types a, b and c, with limits that differ from job to job of a type.
fn of_kind(n: usize, kind: u8) -> NewJob {
    let mut new = job(["a", "b", "c"][usize::from(kind % 3)], &format!("j{n}"));
    new = match kind / 3 {
        0 => new.max_concurrent(1),
        1 => new.max_concurrent(2),
        2 => new.max_concurrent(3),
        3 => new.max_per_minute(2),
        4 => new.max_concurrent(2).max_per_minute(4),
        5 => new.max_concurrent(3).target(Target::any().capability("gpu")),
        6 => new.max_concurrent(1).timeout(Duration::from_secs(9)),
        _ => new.max_per_minute(3),
    };
    if kind / 3 == 7 {
        new.x.limiter = Some("sliding".into());
    }
    new
}

/// A history: on one queue workers remember, on the other nobody does.
struct Twice {
    beds: [Bed; 2],
    workers: Vec<WorkerFacts>,
    held: Vec<Vec<[jobs::Claimed; 2]>>,
    made: usize,
    read: [u64; 2],
}

impl Twice {
    async fn both(&self, words: &[&str]) -> String {
        let [one, two] = &self.beds;
        let (a, b) = (one.ask(words).await, two.ask(words).await);
        assert_eq!(crate::support::show(&a), crate::support::show(&b), "{words:?}");
        crate::support::show(&a)
    }

    async fn push(&mut self, kind: u8, front: bool) {
        self.made += 1;
        for bed in &self.beds {
            let id = bed.put(of_kind(self.made, kind)).await;
            if front {
                bed.ask(&["LREM", "bridge:jobs:waiting", "-1", &id]).await;
                bed.ask(&["LPUSH", "bridge:jobs:waiting", &id]).await;
            }
        }
    }

    async fn happens(&mut self, what: &Happens, who: usize) {
        let list = "bridge:jobs:waiting";
        let kind = |n: &u8| ["a", "b", "c"][usize::from(*n)];
        match what {
            Happens::Pushed { kind, front } => self.push(*kind, *front).await,
            Happens::Popped => drop(self.both(&["LPOP", list]).await),
            Happens::Removed(at) | Happens::Forgotten(at) => {
                let id = self.both(&["LINDEX", list, &at.to_string()]).await;
                let words: &[&str] = if matches!(what, Happens::Removed(_)) {
                    &["LREM", list, "1", &id]
                } else {
                    &["DEL", &format!("bridge:jobs:data:{id}")]
                };
                self.both(words).await;
            }
            Happens::Paused(n, on) => {
                let verb = if *on { "SADD" } else { "SREM" };
                self.both(&[verb, "bridge:queues:paused", kind(n)]).await;
            }
            Happens::Counter(n, runs) => {
                let key = format!("bridge:ratelimit:concurrent:{}", kind(n));
                self.both(&["SET", &key, &runs.to_string()]).await;
            }
            Happens::MinuteOver(n) => {
                self.both(&["DEL", &format!("bridge:ratelimit:minute:{}", kind(n))]).await;
            }
            Happens::Later(ms) => self.beds.iter().for_each(|bed| bed.pass(*ms)),
            Happens::Finished => {
                if let Some(pair) = self.held[who].pop() {
                    for (bed, one) in self.beds.iter().zip(pair) {
                        bed.jobs.complete(&self.workers[who], one.job, None, 1).await.unwrap();
                    }
                }
            }
        }
    }

    async fn claim(&mut self, who: usize, count: usize) {
        let facts = &self.workers[who];
        let remembers = self.beds[0].jobs.claim(facts, count).await.unwrap();
        // One that has no past, and nobody told it anything.
        self.beds[1].ask(&["DEL", "bridge:x:passed"]).await;
        let fresh = worker(&facts.server_id).capabilities(facts.capabilities.clone());
        let fresh = facts.types.iter().fold(fresh, |fresh, types| fresh.types(types.clone()));
        let reads = self.beds[1].jobs.claim(&fresh, count).await.unwrap();
        assert_eq!(ids(&remembers), ids(&reads));
        self.read[0] += remembers.scan.scanned;
        self.read[1] += reads.scan.scanned;
        for (one, two) in remembers.jobs.into_iter().zip(reads.jobs) {
            self.held[who].push([one, two]);
        }
    }
}

async fn same_claims(start: &[u8], history: &[(Happens, usize, usize)]) {
    let bed = || async { bed(testkit::open("memory").await) };
    let workers =
        vec![worker("w0"), worker("w1").types(["a", "b"]), worker("w2").capabilities(["gpu"])];
    let mut twice = Twice {
        beds: [bed().await, bed().await],
        workers,
        held: vec![vec![]; 3],
        made: 0,
        read: [0; 2],
    };
    for kind in start {
        twice.push(*kind, false).await;
    }
    for (what, who, count) in history {
        twice.happens(what, *who).await;
        twice.claim(*who, *count).await;
    }
    assert!(twice.read[0] <= twice.read[1], "a memory saves reading: {:?}", twice.read);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]

    #[test]
    fn workers_that_remember_claim_what_workers_that_read_everything_claim(
        start in proptest::collection::vec(0u8..24, 70..130),
        history in proptest::collection::vec((happens(), 0usize..3, 1usize..6), 1..25),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(same_claims(&start, &history));
    }
}

on_every_store!(fifty_workers_keep_a_limit_busy, |store| {
    // Idle workers poll between the ends; a job that ends is replaced in the same step.
    let bed = bed(store);
    limited(&bed, 200).await;
    let workers: Vec<WorkerFacts> = (0..50).map(|n| worker(&format!("w{n}"))).collect();
    let mut running = std::collections::VecDeque::new();
    let (mut done, mut read) = (0, 0);
    for facts in &workers {
        let claims = bed.jobs.claim(facts, 1).await.unwrap();
        read += claims.scan.scanned;
        running.extend(claims.jobs.into_iter().map(|one| (facts, one.job)));
    }
    while let Some((facts, job)) = running.pop_front() {
        let end = jobs::Done::new(job, jobs::Ending::Completed { data: None }, 1);
        let next = bed.jobs.finish_and_claim(facts, &[end], 1).await.unwrap().claims;
        done += 1;
        read +=
            next.scan.scanned + bed.jobs.claim(&workers[done % 50], 1).await.unwrap().scan.scanned;
        running.extend(next.jobs.into_iter().map(|one| (facts, one.job)));
        assert!(running.len() <= 3);
    }
    assert_eq!(done, 200);
    assert!(read < 200 + 5_000, "{read} jobs were read for 200");
});
