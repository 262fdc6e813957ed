//! With the data in this process a worker of one slot needs no script: whatever the queue holds, the same is written.

use std::sync::Arc;

use jobs::{Done, Ending, Failure, Job, NewJob, Target};
use kernel::{Store, reply};
use proptest::prelude::*;

use crate::support::{Bed, bed_with, job, show, worker};

/// Everything with lives to the nearest ten seconds, and all events.
async fn all_of(bed: &Bed) -> String {
    let dump = bed.dump().await;
    let lines: Vec<String> = dump.lines().map(rounded).collect();
    let events = bed.ask(&["XRANGE", "bridge:events:stream", "-", "+"]).await;
    let events = reply::list(&events).unwrap_or_default().iter();
    let told: Vec<String> =
        events.map(|entry| show(reply::list(entry).unwrap().get(1).unwrap())).collect();
    format!("{}\n{}", lines.join("\n"), told.join("\n"))
}

fn rounded(line: &str) -> String {
    let Some((key, rest)) = line.split_once(" (") else { return line.to_owned() };
    let Some((seconds, rest)) = rest.split_once(" s)") else { return line.to_owned() };
    let seconds: u64 = seconds.parse().unwrap();
    format!("{key} ({} s){rest}", (seconds + 5) / 10 * 10)
}

/// What happens next, by a number.
async fn act(bed: &Bed, step: u8, number: usize, held: &mut Vec<Job>) -> String {
    let facts = worker("w").types(["t", "u"]);
    let id = format!("j{number}");
    let plain = |kind: &str| job(kind, &id);
    let put =
        async |new: NewJob| format!("{:?}", bed.jobs.dispatch(new).await.map(|sent| sent.job.id));
    match step {
        0..=9 => put(plain("t")).await,
        10..=13 => put(plain("u")).await,
        14 => put(plain("other")).await,
        15 => put(plain("t").unique(&id, std::time::Duration::from_mins(1))).await,
        16 => put(plain("t").target(Target::default().stack("node"))).await,
        17 => put(plain("t").priority(9)).await,
        18 => bed.line(&format!("SET bridge:jobs:lock:{id} somebody")).await,
        19 => bed.line(&format!("RPUSH bridge:jobs:waiting {id}")).await,
        20 => bed.line("SET bridge:ratelimit:concurrent:t nonsense").await,
        21 => format!("{:?}", bed.jobs.pause("u", None).await.map(drop)),
        22 => format!("{:?}", bed.jobs.resume("u").await.map(drop)),
        23 => bed.line(&format!("SET bridge:jobs:data:{id} {{\"type\":\"t\"}}")).await,
        24 => match held.first() {
            Some(job) => format!("{:?}", bed.jobs.cancel(&job.id).await.map(drop)),
            None => String::new(),
        },
        25 => match held.first() {
            Some(job) => bed.line(&format!("DEL bridge:jobs:lock:{}", job.id)).await,
            None => String::new(),
        },
        _ => {
            let ending = match step % 8 {
                0 => Ending::Dead { failure: Failure::new("E", "why") },
                1 => Ending::HandBack,
                _ => Ending::Completed { data: Some(format!("{{\"n\":{step}}}")) },
            };
            let done: Vec<Done> =
                held.pop().into_iter().map(|job| Done::new(job, ending.clone(), 7)).collect();
            let count = usize::from(!step.is_multiple_of(5));
            match bed.jobs.finish_and_claim(&facts, &done, count).await {
                Ok(finished) => {
                    let claims = finished.claims;
                    let told = format!("{:?} {:?}", finished.wrote, claims);
                    held.extend(claims.jobs.into_iter().map(|claimed| claimed.job));
                    told
                }
                Err(error) => error.to_string(),
            }
        }
    }
}

async fn played(store: Arc<dyn Store>, steps: &[u8], options: jobs::Options) -> Vec<String> {
    let bed = bed_with(store, options);
    let (mut held, mut told) = (Vec::new(), Vec::new());
    for (number, step) in steps.iter().enumerate() {
        let said = act(&bed, *step, number, &mut held).await;
        told.push(format!("{step}: {said}\n{}", all_of(&bed).await));
        bed.pass(3);
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_same_is_written_with_and_without_a_script(
        steps in prop::collection::vec(0_u8..60, 1..40),
        retention_s in prop::sample::select(vec![-1, 0, 600]),
        result_ttl_s in prop::sample::select(vec![0, 600]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let here = testkit::open("memory").await;
            // A recorder wants to see every call, so everything is a script there.
            let recorder: Arc<dyn Store> = testkit::Recorder::new(testkit::open("memory").await);
            assert!(here.here().is_some() && recorder.here().is_none());
            let options = jobs::Options { retention_s, result_ttl_s, ..jobs::Options::default() };
            let one = played(here, &steps, options.clone()).await;
            let two = played(recorder, &steps, options).await;
            for (one, two) in one.iter().zip(&two) {
                assert_eq!(one, two);
            }
        });
    }
}

/// How many scripts the engine has run.
async fn scripts_run(bed: &Bed) -> Vec<String> {
    let told = show(&bed.ask(&["INFO", "commandstats"]).await);
    let lines = told.lines().filter(|line| line.starts_with("cmdstat_eval"));
    lines.map(|line| line.split(',').next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_plain_job_is_claimed_and_ended_without_a_script() {
    let bed = bed_with(testkit::open("memory").await, jobs::Options::default());
    for n in 0..3 {
        bed.put(job("t", &format!("j{n}"))).await;
    }
    let (facts, before) = (worker("w"), scripts_run(&bed).await);
    assert!(!before.is_empty(), "they were put in by one");
    let mut held = bed.claim(&facts).await.map(|claimed| claimed.job);
    for _ in 0..3 {
        let done = Done::new(held.take().unwrap(), Ending::Completed { data: None }, 1);
        let finished = bed.jobs.finish_and_claim(&facts, &[done], 1).await.unwrap();
        assert_eq!(finished.wrote, [jobs::Wrote::Written]);
        held = finished.claims.jobs.into_iter().next().map(|claimed| claimed.job);
    }
    assert_eq!(scripts_run(&bed).await, before);
    // What is not that simple is still the script's.
    bed.put(job("t", "later").unique("k", std::time::Duration::from_mins(1))).await;
    let before = scripts_run(&bed).await;
    assert_eq!(bed.claimed_id(&facts).await, "later");
    assert_ne!(scripts_run(&bed).await, before);
}
