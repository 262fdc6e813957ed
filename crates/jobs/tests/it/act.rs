//! Actions by hand: cancel, bury, remove, retry, run now, purge, dead letters; retention; what is refused.

use std::time::Duration;

use jobs::{
    Cancelled, Done, Ending, Error, Failure, Job, Lease, NewJob, Options, Pick, Progress,
    Registration, Wrote,
};
use testkit::on_every_store;

use crate::support::{Bed, bed, bed_with, job, worker};

async fn die(bed: &Bed, name: &str) -> Job {
    let facts = worker("w");
    let claimed = bed.claim(&facts).await.unwrap();
    let ending = Ending::Dead { failure: Failure::new(name, "no") };
    bed.jobs.finish(&facts, Done::new(claimed.job.clone(), ending, 1)).await.unwrap();
    claimed.job
}

fn state_of(error: &Error) -> String {
    match error {
        Error::WrongState { status, .. } => status.clone(),
        other => format!("{other:?}"),
    }
}

on_every_store!(what_does_not_run_is_cancelled_at_once, |store| {
    let bed = bed(store);
    bed.put(job("t", "waiting")).await;
    bed.put(job("t", "delayed").delay(Duration::from_secs(9))).await;
    bed.put(job("t", "cron").cron("* * * * *", None)).await;
    for id in ["waiting", "delayed", "cron"] {
        assert_eq!(bed.jobs.cancel(id).await.unwrap(), Cancelled::Done, "{id}");
        assert_eq!(bed.status(id).await, "failed");
        let error = bed.jobs.cancel(id).await.unwrap_err();
        assert_eq!(state_of(&error), "failed");
    }
    assert_eq!(
        bed.line("EXISTS bridge:jobs:waiting bridge:jobs:delayed bridge:jobs:cron").await,
        "0"
    );
    assert!(bed.line("GET bridge:jobs:result:delayed").await.contains(r#""name":"JobCancelled""#));
    assert_eq!(bed.jobs.cancel("nobody").await.unwrap_err(), Error::no_job("nobody"));
});

on_every_store!(a_running_job_is_asked_to_stop_and_ends_as_failed, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a")).await;
    let claimed = bed.claim(&facts).await.unwrap();
    assert_eq!(bed.jobs.renew(&facts, &["a", "b"]).await.unwrap(), [Lease::Held, Lease::Lost]);
    assert_eq!(bed.jobs.cancel("a").await.unwrap(), Cancelled::Asked);
    assert!(bed.jobs.get("a").await.unwrap().unwrap().cancelling);
    assert_eq!(bed.jobs.renew(&facts, &["a"]).await.unwrap(), [Lease::Cancelled]);
    let wrote = bed.jobs.fail(&facts, claimed.job, Failure::new("X", ""), 1, 0.0).await.unwrap();
    assert_eq!(wrote, Wrote::Cancelled);
    assert_eq!(bed.status("a").await, "failed");
    assert_eq!(bed.line("EXISTS bridge:x:cancelled bridge:jobs:delayed").await, "0");
});

on_every_store!(a_cancelled_job_whose_worker_died_ends_when_it_is_taken_back, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    bed.claim(&worker("w")).await.unwrap();
    bed.jobs.cancel("a").await.unwrap();
    bed.line("DEL bridge:jobs:lock:a").await;
    bed.pass(30_000);
    assert_eq!(bed.jobs.reclaim().await.unwrap()[0].became, "cancelled");
    assert_eq!(bed.status("a").await, "failed");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "0");
});

on_every_store!(a_cancelled_job_that_is_handed_back_ends_instead_of_running_again, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a").unique("only one", Duration::from_mins(1))).await;
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.cancel("a").await.unwrap();
    let wrote = bed.jobs.finish(&facts, Done::new(claimed.job, Ending::HandBack, 0)).await.unwrap();
    assert_eq!((wrote, bed.status("a").await.as_str()), (Wrote::Cancelled, "failed"));
    assert_eq!(
        bed.line("EXISTS bridge:jobs:waiting bridge:x:cancelled bridge:x:claimed").await,
        "0"
    );
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "0");
    bed.put(job("t", "b").unique("only one", Duration::from_mins(1))).await;
});

on_every_store!(a_buried_job_is_taken_from_its_worker, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b")).await;
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.bury("a").await.unwrap();
    bed.jobs.bury("b").await.unwrap();
    assert_eq!(bed.line("LRANGE bridge:jobs:deadletter 0 -1").await, "[b a]");
    assert_eq!(bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap(), Wrote::Lost);
    assert_eq!(bed.status("a").await, "dead");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "0");
    assert!(bed.line("GET bridge:jobs:result:a").await.contains(r#""name":"Buried""#));
    assert_eq!(state_of(&bed.jobs.bury("a").await.unwrap_err()), "dead");
});

on_every_store!(removal_leaves_nothing_and_spares_what_runs, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a")).await;
    let claimed = bed.claim(&facts).await.unwrap();
    assert_eq!(state_of(&bed.jobs.remove("a").await.unwrap_err()), "active");
    let far = Progress { percent: 150.0, message: Some("half".into()), data: None };
    assert!(bed.jobs.progress(&facts, "a", &far).await.unwrap());
    let expected = r#"{"percent":100,"message":"half","updatedAt":1794768259299}"#;
    assert_eq!(bed.line("GET bridge:jobs:progress:a").await, expected);
    assert!(!bed.jobs.progress(&worker("other"), "a", &far).await.unwrap());
    let done =
        Done { progressed: true, ..Done::new(claimed.job, Ending::Completed { data: None }, 1) };
    bed.jobs.finish(&facts, done).await.unwrap();
    assert_eq!(bed.line("TTL bridge:jobs:progress:a").await, "86400");
    bed.put(job("t", "b").delay(Duration::from_secs(9))).await;
    bed.jobs.remove("a").await.unwrap();
    bed.jobs.remove("b").await.unwrap();
    assert_eq!(bed.line("KEYS bridge:jobs:*").await, "[]");
    assert_eq!(bed.jobs.remove("a").await.unwrap_err(), Error::no_job("a"));
});

on_every_store!(an_ended_job_runs_again_with_all_its_attempts, |store| {
    let bed = bed(store);
    bed.put(NewJob::raw("t", "[1.50]").id("a").priority(9).attempts(1)).await;
    let facts = worker("w");
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.fail(&facts, claimed.job, Failure::new("X", ""), 1, 0.0).await.unwrap();
    assert_eq!(state_of(&bed.jobs.retry("a").await.unwrap_err()), "delayed");
    bed.jobs.run_now("a").await.unwrap();
    die(&bed, "X").await;
    bed.put(job("t", "other")).await;
    let again = bed.jobs.retry("a").await.unwrap();
    assert_eq!((again.attempts, again.payload()), (0, "[1.50]"));
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[a other]");
    assert_eq!(bed.line("LLEN bridge:jobs:deadletter").await, "0");
    assert_eq!(bed.line("TTL bridge:jobs:data:a").await, "-1");
    assert_eq!(state_of(&bed.jobs.run_now("a").await.unwrap_err()), "waiting");
});

on_every_store!(unknown_members_and_spellings_survive_a_retry, |store| {
    let bed = bed(store);
    let text = r#"{ "type":"t", "jobId":"a","payload":{"n":12345678901234567,"e":[],"u":"a\/b"}, "zz":1e15,"attempts": 0 ,"retry":{"attempts":2}}"#;
    bed.ask(&["SET", "bridge:jobs:data:a", text]).await;
    bed.ask(&["RPUSH", "bridge:jobs:waiting", "a"]).await;
    let facts = worker("w");
    let claimed = bed.claim(&facts).await.unwrap();
    assert_eq!(claimed.job.retry.backoff.delay, 2_000, "a missing backoff is the default");
    bed.jobs.fail(&facts, claimed.job, Failure::new("X", ""), 1, 0.0).await.unwrap();
    let stored = bed.line("GET bridge:jobs:data:a").await;
    assert_eq!(stored, text.replace("\"attempts\": 0", "\"attempts\": 1"));
});

on_every_store!(a_job_that_was_edited_while_it_ran_is_decided_anew, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a")).await;
    let claimed = bed.claim(&facts).await.unwrap();
    let edited = claimed.job.text().replace("\"metadata\":{}", "\"metadata\":{\"k\":1}");
    bed.ask(&["SET", "bridge:jobs:data:a", &edited]).await;
    let boom = Failure::new("X", "");
    assert_eq!(bed.jobs.fail(&facts, claimed.job, boom, 1, 0.0).await.unwrap(), Wrote::Written);
    let stored = bed.line("GET bridge:jobs:data:a").await;
    assert!(stored.contains("{\"k\":1}") && stored.contains("\"attempts\":1"), "{stored}");
});

on_every_store!(skip_and_reroute_follow_the_name_of_the_error, |store| {
    let bed = bed(store);
    let mut new = job("t", "a").target(jobs::Target::any().server("w"));
    new.retry.skip_on = vec!["Fatal".into()];
    new.retry.reroute_on = vec!["NoGpu".into()];
    new.retry.backoff.delay = 0;
    bed.put(new).await;
    let facts = worker("w");
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.fail(&facts, claimed.job, Failure::new("NoGpu", ""), 1, 0.0).await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "-", "this worker is excluded now");
    let other = worker("other");
    let claimed = bed.claim(&other).await.unwrap();
    assert_eq!((claimed.job.attempts, claimed.job.x.exclude.clone()), (1, vec!["w".to_owned()]));
    bed.jobs.fail(&other, claimed.job, Failure::new("Fatal", ""), 1, 0.0).await.unwrap();
    assert_eq!(bed.status("a").await, "dead");
});

on_every_store!(a_snooze_uses_no_attempt_and_a_discard_is_no_dead_letter, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a")).await;
    let claimed = bed.claim(&facts).await.unwrap();
    let failure = Failure::new("Snooze", "later");
    let run_at = crate::support::NOW + 500;
    let snooze = Ending::Retry { failure: failure.clone(), run_at, counts: false, reroute: false };
    bed.jobs.finish(&facts, Done::new(claimed.job, snooze, 1)).await.unwrap();
    bed.pass(500);
    bed.jobs.promote(10).await.unwrap();
    let claimed = bed.claim(&facts).await.unwrap();
    assert_eq!(claimed.job.attempts, 0);
    bed.jobs.hand_back(&facts, claimed.job).await.unwrap();
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[a]");
    assert_eq!(bed.status("a").await, "waiting");
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.finish(&facts, Done::new(claimed.job, Ending::Failed { failure }, 1)).await.unwrap();
    assert_eq!(bed.status("a").await, "failed");
    assert_eq!(bed.line("EXISTS bridge:jobs:deadletter").await, "0");
});

on_every_store!(progress_ends_with_its_attempt_and_a_checkpoint_does_not, |store| {
    let bed = bed(store);
    let facts = worker("w");
    let failure = Failure::new("Snooze", "later \"data\":");
    let snooze = Ending::Retry { failure, run_at: 0, counts: false, reroute: false };
    for (ending, id) in [(snooze, "a"), (Ending::HandBack, "b")] {
        for (data, left) in [(None, "0"), (Some("{\"at\":3}"), "1")] {
            bed.put(job("t", id)).await;
            let claimed = bed.claim(&facts).await.unwrap();
            let data = data.map(|data| serde_json::from_str(data).unwrap());
            let far = Progress { percent: 40.0, message: Some("a \"data\":1".into()), data };
            assert!(bed.jobs.progress(&facts, id, &far).await.unwrap());
            let done = Done { progressed: true, ..Done::new(claimed.job, ending.clone(), 1) };
            bed.jobs.finish(&facts, done).await.unwrap();
            let key = format!("EXISTS bridge:jobs:progress:{id}");
            assert_eq!(bed.line(&key).await, left, "{ending:?}");
            bed.jobs.remove(id).await.unwrap();
        }
    }
});

on_every_store!(retention_deletes_at_once_or_never, |store| {
    for (retention_s, keys) in [(0, "[bridge:jobs:result:a]"), (-1, "3")] {
        let bed = bed_with(store.clone(), Options { retention_s, ..Options::default() });
        bed.line("FLUSHALL").await;
        let facts = worker("w");
        bed.put(job("t", "a")).await;
        let claimed = bed.claim(&facts).await.unwrap();
        bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
        if retention_s == 0 {
            assert_eq!(bed.line("KEYS bridge:jobs:*").await, keys);
        } else {
            assert_eq!(bed.line("TTL bridge:jobs:data:a").await, "-1");
            assert_eq!(bed.line("TTL bridge:jobs:status:a").await, "-1");
        }
    }
});

on_every_store!(many_that_end_at_once_are_deleted_or_kept, |store| {
    for retention_s in [0, 600, -1] {
        let bed = bed_with(store.clone(), Options { retention_s, ..Options::default() });
        bed.line("FLUSHALL").await;
        let facts = worker("w");
        for id in ["a", "b", "c"] {
            bed.put(job("t", id)).await;
        }
        let claims = bed.jobs.claim(&facts, 3).await.unwrap();
        bed.jobs.register(&facts, &Registration::default()).await.unwrap();
        assert_eq!(bed.jobs.workers().await.unwrap()[0].jobs, ["a", "b", "c"]);
        bed.line("SET bridge:jobs:progress:b {}").await;
        let ending = Ending::Completed { data: None };
        let done: Vec<Done> = (claims.jobs.into_iter())
            .map(|claimed| Done::new(claimed.job, ending.clone(), 1))
            .collect();
        bed.jobs.finish_and_claim(&facts, &done, 1).await.unwrap();
        let (life, kept) = match retention_s {
            0 => ("-2", "0"),
            600 => ("600", "2"),
            _ => ("-1", "2"),
        };
        for id in ["a", "b", "c"] {
            let kept_of = format!("EXISTS bridge:jobs:data:{id} bridge:jobs:status:{id}");
            assert_eq!(bed.line(&kept_of).await, kept, "{retention_s}");
            assert_eq!(bed.line(&format!("TTL bridge:jobs:status:{id}")).await, life);
            assert_eq!(bed.line(&format!("EXISTS bridge:jobs:lock:{id}")).await, "0");
            assert_eq!(bed.line(&format!("EXISTS bridge:jobs:result:{id}")).await, "1");
        }
        if retention_s == 0 {
            assert_eq!(bed.line("EXISTS bridge:jobs:progress:b").await, "0");
        }
        assert_eq!(bed.line("EXISTS bridge:jobs:active bridge:x:claimed").await, "0");
    }
});

on_every_store!(results_of_completed_jobs_are_left_out_where_nobody_wants_them, |store| {
    let failure = || Failure::new("Late", "not yet");
    for (retention_s, left) in [(0, "0"), (600, "1"), (-1, "1")] {
        let options = Options { retention_s, result_ttl_s: 0, ..Options::default() };
        let bed = bed_with(store.clone(), options);
        bed.line("FLUSHALL").await;
        let facts = worker("w");
        // One alone, one whose earlier attempt left a result, two together, one that fails.
        let snooze = Ending::Retry { failure: failure(), run_at: 0, counts: false, reroute: false };
        let completed = Ending::Completed { data: Some("7".into()) };
        bed.put(job("t", "a")).await;
        for ending in [snooze, completed.clone()] {
            let claimed = bed.claim(&facts).await.unwrap();
            let done = Done::new(claimed.job, ending, 1);
            bed.jobs.finish_and_claim(&facts, &[done], 0).await.unwrap();
        }
        for id in ["b", "c", "d"] {
            bed.put(job("t", id)).await;
        }
        let claims = bed.jobs.claim(&facts, 3).await.unwrap().jobs.into_iter();
        let endings = [completed.clone(), completed, Ending::Failed { failure: failure() }];
        let done: Vec<Done> = claims
            .zip(endings)
            .map(|(claimed, ending)| Done::new(claimed.job, ending, 1))
            .collect();
        bed.jobs.finish_and_claim(&facts, &done, 1).await.unwrap();
        for id in ["a", "b", "c"] {
            assert_eq!(bed.line(&format!("EXISTS bridge:jobs:result:{id}")).await, "0", "{id}");
            assert_eq!(bed.line(&format!("EXISTS bridge:jobs:status:{id}")).await, left, "{id}");
        }
        assert_eq!(bed.line("TTL bridge:jobs:result:d").await, "86400");
        assert_eq!(bed.line("EXISTS bridge:jobs:active bridge:x:claimed").await, "0");
    }
});

on_every_store!(a_result_that_is_too_large_is_null_and_told, |store| {
    let bed = bed_with(store, Options { result_max: 10, ..Options::default() });
    let facts = worker("w");
    bed.put(job("t", "a")).await;
    let claimed = bed.claim(&facts).await.unwrap();
    let large = Some(format!("\"{}\"", "x".repeat(20)));
    bed.jobs.complete(&facts, claimed.job, large, 1).await.unwrap();
    let (result, status) = bed.jobs.result("a").await.unwrap();
    assert!(result.unwrap().starts_with(r#"{"success":true,"data":null,"#));
    assert_eq!(status, Some(jobs::Status::Completed));
    assert!(bed.events().await.ends_with("completed a, result_too_large a"));
});

on_every_store!(dead_letters_are_grouped_requeued_edited_and_deleted, |store| {
    let bed = bed(store);
    for n in 0..4 {
        bed.put(job(if n == 3 { "sms" } else { "mail" }, &format!("j{n}"))).await;
        die(&bed, if n == 0 { "Timeout" } else { "Refused" }).await;
    }
    let groups = bed.jobs.dlq_by_error(1_000).await.unwrap();
    let shown: Vec<_> =
        groups.iter().map(|g| (g.error.as_str(), g.count, g.newest.as_str())).collect();
    assert_eq!(shown, [("Refused", 3, "j3"), ("Timeout", 1, "j0")]);
    assert_eq!(bed.jobs.dlq_count(&Pick::Error("Refused".into())).await.unwrap(), 3);
    assert_eq!(bed.jobs.dlq_requeue(&Pick::Type("sms".into())).await.unwrap(), 1);
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[j3]");
    let error = bed.jobs.dlq_edit_and_requeue("j0", "{").await.unwrap_err();
    assert_eq!(error.code(), "invalid_payload");
    let edited = bed.jobs.dlq_edit_and_requeue("j0", r#"{ "fixed": true }"#).await.unwrap();
    assert_eq!(edited.payload(), r#"{"fixed":true}"#);
    let ids = Pick::Ids(vec!["j1".into(), "j3".into(), "nobody".into()]);
    assert_eq!(bed.jobs.dlq_delete(&ids).await.unwrap(), 1, "j3 is not dead any more");
    assert_eq!(bed.jobs.dlq_requeue(&Pick::All).await.unwrap(), 1);
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[j3 j0 j2]");
    assert_eq!(bed.jobs.dlq_len().await.unwrap(), 0);
});

on_every_store!(the_dead_letters_are_capped, |store| {
    let bed = bed_with(store, Options { dlq_max: 2, ..Options::default() });
    for n in 0..4 {
        bed.put(job("t", &format!("j{n}"))).await;
        die(&bed, "X").await;
    }
    assert_eq!(bed.jobs.trim_dlq().await.unwrap(), 2);
    assert_eq!(bed.jobs.trim_dlq().await.unwrap(), 0);
    assert_eq!(bed.line("LRANGE bridge:jobs:deadletter 0 -1").await, "[j3 j2]");
    assert_eq!(bed.line("EXISTS bridge:jobs:data:j0 bridge:jobs:status:j1").await, "0");
});

on_every_store!(a_type_is_purged, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    bed.put(job("u", "b")).await;
    bed.put(job("t", "c").delay(Duration::from_secs(9))).await;
    bed.put(job("t", "d").depends_on("b")).await;
    assert_eq!(bed.jobs.purge("t").await.unwrap(), 3);
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[b]");
    assert_eq!(bed.line("EXISTS bridge:jobs:delayed bridge:x:parked").await, "0");
});
