//! Producers: where jobs go, many at once, uniqueness, dependencies, batches, back-pressure.

use std::time::Duration;

use jobs::{Done, Ending, Error, Failure, NewBatch, NewJob, OnConflict, Options, Status};
use testkit::{Faulty, How, Recorder, on_every_store};

use crate::support::{Bed, NOW, bed, bed_with, job, show, worker};

on_every_store!(each_schedule_has_its_place, |store| {
    let bed = bed(store);
    bed.put(job("t", "now").delay(Duration::ZERO)).await;
    bed.put(job("t", "soon").delay(Duration::from_secs(5))).await;
    bed.put(job("t", "past").run_at(1_000)).await;
    bed.put(job("t", "daily").cron("0 9 * * *", Some("Europe/Paris"))).await;
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[now]");
    let soon = (NOW + 5_000).to_string();
    assert_eq!(bed.line("ZSCORE bridge:jobs:delayed soon").await, soon);
    assert_eq!(bed.line("ZSCORE bridge:jobs:delayed past").await, "1000");
    assert_eq!(bed.status("past").await, "delayed");
    assert_eq!(bed.status("daily").await, "cron");
    let next: u64 = bed.line("ZSCORE bridge:jobs:cron daily").await.parse().unwrap();
    assert!(next > NOW && next.is_multiple_of(3_600_000));
    assert!(
        bed.line("GET bridge:jobs:data:daily")
            .await
            .contains(r#""schedule":{"cron":"0 9 * * *","timezone":"Europe/Paris"}"#)
    );
});

on_every_store!(a_payload_is_kept_as_it_was_given, |store| {
    let bed = bed(store);
    for (id, payload) in [
        ("a", "null"),
        ("b", "0"),
        ("c", "\"\""),
        ("d", "[1.50, 12345678901234567, 1e15, \"a/b\"]"),
    ] {
        bed.put(NewJob::raw("t", payload).id(id)).await;
        let view = bed.jobs.get(id).await.unwrap().unwrap();
        assert_eq!(view.read().unwrap().payload(), payload.replace(", ", ","));
    }
    let none = NewJob { kind: "t".into(), ..NewJob::default() };
    let stored = bed.jobs.dispatch(none).await.unwrap();
    assert_eq!(stored.job.payload(), "{}");
    assert_eq!(stored.job.id.len(), 36);
});

on_every_store!(many_jobs_are_few_trips, |store| {
    let wire = Recorder::new(store);
    let bed = bed(wire.clone());
    let jobs = (0..1_200).map(|n| NewJob::new("t", &n)).collect();
    let answers = bed.jobs.dispatch_many(jobs).await.unwrap();
    assert!(answers.iter().all(Result::is_ok));
    let calls = wire.take().lines().filter(|line| line.starts_with("SCRIPT enqueue")).count();
    assert_eq!(calls, 3);
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "1200");
    let first = answers[0].as_ref().unwrap().job.id.clone();
    assert_eq!(bed.line("LINDEX bridge:jobs:waiting 0").await, first);
});

on_every_store!(each_of_many_has_its_own_answer, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    let answers = bed
        .jobs
        .dispatch_many(vec![
            job("t", "b"),
            job("t", "a"),
            job("", "c"),
            job("t", "d"),
            job("t", "d"),
        ])
        .await
        .unwrap();
    let words: Vec<&str> =
        answers.iter().map(|one| one.as_ref().map_or_else(Error::code, |_| "ok")).collect();
    assert_eq!(words, ["ok", "job_exists", "invalid_type", "ok", "job_exists"]);
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[a b d]");
});

on_every_store!(too_many_waiting_jobs_push_back, |store| {
    let bed = bed_with(store, Options { max_waiting: 2, ..Options::default() });
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b")).await;
    let refused = bed.jobs.dispatch(job("t", "c")).await.unwrap_err();
    assert_eq!(refused, Error::Full { waiting: 2, max: 2 });
    bed.claim(&worker("w")).await.unwrap();
    bed.put(job("t", "c")).await;
});

fn unique(id: &str, policy: OnConflict) -> NewJob {
    job("t", id).unique_or("u:42", Duration::from_mins(1), policy)
}

on_every_store!(a_unique_key_is_held_until_the_job_ends, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(unique("a", OnConflict::Reject)).await;
    let refused = bed.jobs.dispatch(unique("b", OnConflict::Reject)).await.unwrap_err();
    assert_eq!(refused, Error::NotUnique { existing: "a".into() });
    assert_eq!(bed.line("EXISTS bridge:jobs:data:b").await, "0");
    let digest = ["EVAL", "return redis.sha1hex(ARGV[1])", "0", "throttle:user"];
    let throttle = format!("bridge:x:unique:{}", show(&bed.ask(&digest).await));
    assert_eq!(bed.line(&format!("GET {throttle}")).await, "t1");
    bed.line(&format!("DEL {throttle}")).await;
    bed.put(job("mail", "t3").throttle("user", wait)).await;
});

#[test]
fn debounce_and_throttle_are_read_from_requests() {
    let read = |text: &str| NewJob::from_json(text);
    let debounced = read(r#"{"type":"t","debounce":{"key":"k","waitMs":5000}}"#).unwrap();
    assert_eq!(debounced.schedule.delay, Some(5_000));
    assert!(
        read(r#"{"type":"t","throttle":{"key":"k","windowMs":5000}}"#).unwrap().unique.is_some()
    );
    for (text, code) in [
        (r#"{"type":"t","debounce":{"key":"","waitMs":5}}"#, "invalid_debounce"),
        (r#"{"type":"t","debounce":{"key":"k"}}"#, "invalid_debounce"),
        (r#"{"type":"t","debounce":{"key":"k","waitMs":-5}}"#, "invalid_debounce"),
        (
            r#"{"type":"t","schedule":{"delay":1},"debounce":{"key":"k","waitMs":5}}"#,
            "invalid_debounce",
        ),
        (r#"{"type":"t","throttle":{"key":"k","windowMs":"x"}}"#, "invalid_throttle"),
        (r#"{"type":"t","throttle":{"key":"k","wait":1}}"#, "unknown_field"),
        (
            r#"{"type":"t","unique":{"key":"k"},"throttle":{"key":"k","windowMs":5}}"#,
            "invalid_unique",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().code(), code, "{text}");
    }
}
