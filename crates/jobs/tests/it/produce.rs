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
    let key = bed.line("KEYS bridge:x:unique:*").await;
    let key = key.trim_matches(['[', ']']).to_owned();
    let ttl: i64 = bed.line(&format!("PTTL {key}")).await.parse().unwrap();
    assert!((59_000..=60_000).contains(&ttl), "{ttl}");
    let claimed = bed.claim(&facts).await.unwrap();
    assert!(
        bed.jobs.dispatch(unique("b", OnConflict::Replace)).await.is_err(),
        "a running one wins"
    );
    bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    assert_eq!(bed.line(&format!("EXISTS {key}")).await, "0");
    bed.put(unique("b", OnConflict::Reject)).await;
});

on_every_store!(a_waiting_job_is_replaced_by_the_latest, |store| {
    let bed = bed(store);
    bed.put(unique("a", OnConflict::Replace).delay(Duration::from_secs(9))).await;
    bed.put(unique("b", OnConflict::Replace)).await;
    bed.put(unique("c", OnConflict::Replace)).await;
    assert_eq!(bed.line("ZCARD bridge:jobs:delayed").await, "0");
    assert_eq!(bed.line("EXISTS bridge:jobs:data:a bridge:jobs:data:b").await, "0");
    assert_eq!(bed.claimed_id(&worker("w")).await, "c");
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0");
});

on_every_store!(one_more_may_queue_up_while_the_first_runs, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(unique("a", OnConflict::QueueNext)).await;
    assert!(bed.jobs.dispatch(unique("b", OnConflict::QueueNext)).await.is_err());
    let claimed = bed.claim(&facts).await.unwrap();
    bed.put(unique("b", OnConflict::QueueNext)).await;
    assert!(bed.jobs.dispatch(unique("c", OnConflict::QueueNext)).await.is_err());
    bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    let refused = bed.jobs.dispatch(unique("c", OnConflict::Reject)).await.unwrap_err();
    assert_eq!(
        refused,
        Error::NotUnique { existing: "b".into() },
        "the end of a left b's key alone"
    );
});

async fn complete(bed: &Bed, id: &str) {
    let facts = worker("w");
    let claimed = bed.claim(&facts).await.unwrap();
    assert_eq!(claimed.job.id, id);
    bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
}

async fn die(bed: &Bed, id: &str) {
    let facts = worker("w");
    let claimed = bed.claim(&facts).await.unwrap();
    assert_eq!(claimed.job.id, id);
    let ending = Ending::Dead { failure: Failure::new("Boom", "no") };
    bed.jobs.finish(&facts, Done::new(claimed.job, ending, 1)).await.unwrap();
}

on_every_store!(a_dependant_waits_in_no_queue_until_the_last_one_completed, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b")).await;
    let answer = bed.jobs.dispatch(job("t", "c").depends_on("a").depends_on("b")).await.unwrap();
    assert_eq!(answer.status, Status::Waiting);
    assert_eq!(bed.line("SMEMBERS bridge:x:parked").await, "[c]");
    complete(&bed, "a").await;
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[b]");
    complete(&bed, "b").await;
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[c]");
    assert_eq!(bed.line("KEYS bridge:x:*").await, "[bridge:x:index]", "but for the list");
    complete(&bed, "c").await;
    // A dependency that is met already does not park.
    bed.put(job("t", "d").depends_on("a").delay(Duration::from_secs(1))).await;
    assert_eq!(bed.status("d").await, "delayed");
});

on_every_store!(a_failed_dependency_ends_those_who_wait_for_it, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b").depends_on("a")).await;
    bed.put(job("t", "c").depends_on("b")).await;
    bed.put(job("t", "d").depends_on("c").ignore_failed_dependencies()).await;
    die(&bed, "a").await;
    assert_eq!(bed.status("b").await, "failed");
    assert_eq!(bed.status("c").await, "failed");
    assert!(bed.line("GET bridge:jobs:result:b").await.contains(r#""name":"DependencyFailed""#));
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[d]");
    assert_eq!(bed.line("EXISTS bridge:x:parked").await, "0");
    let late = bed.jobs.dispatch(job("t", "e").depends_on("a")).await.unwrap();
    assert_eq!(late.status, Status::Failed);
    assert_eq!(bed.status("e").await, "failed");
});

on_every_store!(an_unknown_dependency_is_refused, |store| {
    let bed = bed(store);
    let refused = bed.jobs.dispatch(job("t", "a").depends_on("nobody")).await.unwrap_err();
    assert_eq!((refused.code(), refused.field()), ("unknown_dependency", Some("dependsOn")));
    assert_eq!(bed.line("DBSIZE").await, "0");
    // What it depends on may come in the same call.
    let both = vec![job("t", "a"), job("t", "b").depends_on("a")];
    assert!(bed.jobs.dispatch_many(both).await.unwrap().iter().all(Result::is_ok));
});

on_every_store!(cancelling_a_parked_job_frees_it, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b").depends_on("a")).await;
    bed.put(job("t", "c").depends_on("b")).await;
    bed.jobs.cancel("b").await.unwrap();
    assert_eq!(bed.status("b").await, "failed");
    assert_eq!(bed.status("c").await, "failed");
    complete(&bed, "a").await;
    assert_eq!(bed.status("b").await, "failed");
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0");
});

on_every_store!(a_batch_counts_and_calls_back_once, |store| {
    let bed = bed(store);
    let batch = NewBatch {
        id: Some("b1".into()),
        jobs: vec![job("t", "a"), job("t", "b"), job("", "bad")],
        callback: Some(job("done", "cb")),
    };
    let (id, answers) = bed.jobs.dispatch_batch(batch).await.unwrap();
    assert_eq!(id, "b1");
    assert_eq!(answers.iter().filter(|one| one.is_ok()).count(), 2);
    complete(&bed, "a").await;
    let state = bed.jobs.batch("b1").await.unwrap().unwrap();
    assert_eq!((state.total, state.pending, state.completed), (2, 1, 1));
    assert_eq!(bed.line("EXISTS bridge:jobs:data:cb").await, "0");
    die(&bed, "b").await;
    let state = bed.jobs.batch("b1").await.unwrap().unwrap();
    assert_eq!((state.pending, state.failed, state.ended_at), (0, 1, Some(NOW)));
    complete(&bed, "cb").await;
    // A dead one that runs again is counted again, and the callback is not.
    bed.jobs.retry("b").await.unwrap();
    assert_eq!(bed.jobs.batch("b1").await.unwrap().unwrap().pending, 1);
    complete(&bed, "b").await;
    let state = bed.jobs.batch("b1").await.unwrap().unwrap();
    assert_eq!((state.completed, state.failed), (2, 0));
    assert_eq!(bed.claimed_id(&worker("w")).await, "-");
    assert!(bed.jobs.batch("nobody").await.unwrap().is_none());
});

on_every_store!(a_wake_up_is_told_in_the_step, |store| {
    use futures_util::StreamExt as _;
    let bed = bed(store.clone());
    let by = kernel::Deadline::after(Duration::from_secs(5));
    let topics = [kernel::Topic::Channel("bridge:x:wake".into())];
    let mut heard = store.subscribe(&topics, by).await.unwrap();
    bed.put(job("email", "a")).await;
    let told = tokio::time::timeout(Duration::from_secs(5), heard.next()).await.unwrap().unwrap();
    let kernel::Message::Payload { payload, .. } = told else { panic!("a message") };
    assert_eq!(payload, b"email");
});

on_every_store!(a_key_of_another_type_refuses_one_plain_job_and_nothing_stays, |store| {
    let bed = bed(store);
    for key in ["bridge:jobs:waiting", "bridge:events:stream"] {
        bed.line(&format!("SET {key} spoilt")).await;
        let before = bed.state().await;
        let refused = bed.jobs.dispatch(NewJob::new("t", &1)).await.unwrap_err();
        assert!(refused.to_string().contains("holds a string"), "{refused}");
        assert_eq!(bed.state().await, before);
        bed.line(&format!("DEL {key}")).await;
    }
    for kind in ["t", "a \"b\"\\/c", "é/ü"] {
        bed.put(NewJob::new(kind, &1)).await;
        let text = bed.events().await;
        assert!(text.lines().last().is_some_and(|line| line.contains("dispatched")), "{text}");
    }
});

on_every_store!(a_fault_ends_the_call_also_when_one_job_is_left_alone, |store| {
    let faulty = Faulty::new(store.clone());
    let bed = bed(faulty.clone());
    for count in [1, 2] {
        faulty.fail_next(How::NotSent);
        let jobs = (0..count).map(|n| NewJob::new("t", &n)).collect();
        let ended = bed.jobs.dispatch_many(jobs).await;
        assert!(matches!(ended, Err(Error::Fault(_))), "{count}: {ended:?}");
    }
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0");
});

on_every_store!(debounce_runs_the_last_one_and_throttle_the_first, |store| {
    let bed = bed(store);
    let facts = worker("w");
    let wait = Duration::from_secs(5);
    for id in ["a", "b", "c"] {
        bed.put(job("index", id).debounce("shop", wait)).await;
        bed.pass(3_000);
    }
    assert_eq!(bed.line("ZRANGE bridge:jobs:delayed 0 -1").await, "[c]");
    assert_eq!((bed.status("a").await, bed.status("b").await), ("-".into(), "-".into()));
    bed.pass(2_000);
    bed.jobs.promote(10).await.unwrap();
    let running = bed.claim(&facts).await.unwrap().job;
    assert_eq!(running.id, "c");
    // While it runs the next one may wait, and takes the key with it.
    bed.put(job("index", "d").debounce("shop", wait)).await;
    bed.jobs.complete(&facts, running, None, 1).await.unwrap();
    bed.put(job("index", "e").debounce("shop", wait)).await;
    assert_eq!(bed.line("ZRANGE bridge:jobs:delayed 0 -1").await, "[e]");

    bed.put(job("mail", "t1").throttle("user", wait)).await;
    let claimed = bed.claim(&facts).await.unwrap().job;
    bed.jobs.complete(&facts, claimed, None, 1).await.unwrap();
    let refused = bed.jobs.dispatch(job("mail", "t2").throttle("user", wait)).await.unwrap_err();
    assert_eq!(refused, Error::NotUnique { existing: "t1".into() });
    // The window is the store's: it ends by itself.
    assert_eq!(bed.status("t2").await, "-");
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
