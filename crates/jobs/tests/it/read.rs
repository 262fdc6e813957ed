//! Readers: views, pages, counts, waiting, the timeline, and why a job is not running.

use std::sync::Arc;
use std::time::Duration;

use jobs::{ListQuery, Options, Order, Registration, Status, Target};
use kernel::events::{Filter, Record};
use testkit::on_every_store;

use crate::support::{Bed, NOW, bed, bed_with, job, worker};

async fn ids(bed: &Bed, query: &ListQuery) -> Vec<String> {
    let mut query = query.clone();
    let mut all = Vec::new();
    loop {
        let page = bed.jobs.list(&query).await.unwrap();
        assert!(page.items.len() <= query.limit.max(1) || query.limit == 0);
        all.extend(page.items.into_iter().map(|view| view.id));
        match page.cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => return all,
        }
    }
}

on_every_store!(a_view_has_all_that_belongs_to_a_job, |store| {
    let bed = bed(store);
    let facts = worker("w");
    assert!(bed.jobs.get("nobody").await.unwrap().is_none());
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b").depends_on("a")).await;
    bed.put(job("t", "c").delay(Duration::from_secs(5))).await;
    bed.claim(&facts).await.unwrap();
    let view = bed.jobs.get("a").await.unwrap().unwrap();
    assert_eq!(view.status.as_deref(), Some("active"));
    let lock = view.lock.unwrap();
    assert_eq!(lock.owner, "w");
    assert!((29_000..=30_000).contains(&lock.ttl_ms));
    assert_eq!(view.claimed_at, Some(NOW.cast_signed()));
    assert_eq!(bed.jobs.get("b").await.unwrap().unwrap().waits_for, ["a"]);
    assert_eq!(bed.jobs.get("c").await.unwrap().unwrap().due_at, Some(NOW.cast_signed() + 5_000));
    bed.line("SET bridge:jobs:data:odd nonsense").await;
    let odd = bed.jobs.get("odd").await.unwrap().unwrap();
    assert_eq!(odd.job.get(), "\"nonsense\"");
    assert!(odd.read().is_none());
});

on_every_store!(pages_walk_every_state, |store| {
    let bed = bed(store);
    let facts = worker("w");
    for n in 0..7 {
        bed.put(job(if n % 2 == 0 { "even" } else { "odd" }, &format!("w{n}"))).await;
    }
    bed.put(job("t", "p").depends_on("w6")).await;
    bed.put(job("t", "d1").delay(Duration::from_secs(2))).await;
    bed.put(job("t", "d0").delay(Duration::from_secs(1))).await;
    let of = |status, limit| ListQuery {
        status: Some(status),
        limit,
        order: Order::Place,
        ..ListQuery::default()
    };
    for limit in [1, 3, 50] {
        let found = ids(&bed, &of(Status::Waiting, limit)).await;
        assert_eq!(found, ["w0", "w1", "w2", "w3", "w4", "w5", "w6", "p"], "{limit}");
    }
    assert_eq!(ids(&bed, &of(Status::Delayed, 1)).await, ["d0", "d1"]);
    let odd = ListQuery { kind: Some("odd".into()), ..of(Status::Waiting, 2) };
    assert_eq!(ids(&bed, &odd).await, ["w1", "w3", "w5"]);
    let text = ListQuery { text: Some("w4".into()), ..ListQuery::default() };
    assert_eq!(ids(&bed, &text).await, ["w4"]);
    for _ in 0..2 {
        let claimed = bed.claim(&facts).await.unwrap();
        bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    }
    bed.claim(&facts).await.unwrap();
    let mut done = ids(&bed, &of(Status::Completed, 1)).await;
    done.sort_unstable();
    assert_eq!(done, ["w0", "w1"]);
    assert_eq!(ids(&bed, &of(Status::Active, 5)).await, ["w2"]);
    assert_eq!(ids(&bed, &ListQuery { limit: 3, ..ListQuery::default() }).await.len(), 10);
    let bad = ListQuery { cursor: Some("x.y".into()), ..ListQuery::default() };
    assert_eq!(bed.jobs.list(&bad).await.unwrap_err().code(), "invalid_cursor");
});

on_every_store!(numbers_and_types, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.jobs.register(&facts, &Registration::default()).await.unwrap();
    bed.put(job("mail", "a")).await;
    bed.put(job("mail", "b").max_concurrent(4)).await;
    bed.put(job("sms", "c").delay(Duration::from_secs(9))).await;
    bed.claim(&facts).await.unwrap();
    bed.jobs.pause("push", Some(NOW + 5)).await.unwrap();
    let stats = serde_json::to_string(&bed.jobs.stats().await.unwrap()).unwrap();
    assert_eq!(stats, r#"{"waiting":1,"active":1,"delayed":1,"cron":0,"dead":0,"workers":1}"#);
    let queues = bed.jobs.queues().await.unwrap();
    assert!(queues.exact);
    let shown: Vec<_> = queues
        .items
        .iter()
        .map(|q| {
            (q.kind.as_str(), q.waiting, q.running, q.delayed, q.paused_until, q.max_concurrent)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("mail", 1, 1, 0, None, Some(4)),
            ("push", 0, 0, 0, Some(NOW.cast_signed() + 5), None),
            ("sms", 0, 0, 1, None, None),
        ]
    );
    assert_eq!(bed.jobs.workers().await.unwrap()[0].jobs, ["a"]);
});

on_every_store!(waiting_ends_with_the_job, |store| {
    for events in [true, false] {
        let bed = Arc::new(bed_with(store.clone(), Options { events, ..Options::default() }));
        bed.line("FLUSHALL").await;
        let facts = worker("w");
        bed.put(job("t", "a")).await;
        let early = bed.jobs.wait("a", Duration::from_millis(20)).await.unwrap();
        assert_eq!(early.status.as_deref(), Some("waiting"));
        let other = bed.clone();
        let waiting =
            tokio::spawn(async move { other.jobs.wait("a", Duration::from_secs(20)).await });
        let claimed = bed.claim(&facts).await.unwrap();
        bed.jobs.complete(&facts, claimed.job, Some("7".into()), 1).await.unwrap();
        let view = waiting.await.unwrap().unwrap();
        assert_eq!(view.status.as_deref(), Some("completed"));
        assert!(view.result.unwrap().get().contains("\"data\":7"));
        assert!(bed.jobs.wait("nobody", Duration::ZERO).await.is_err());
    }
});

on_every_store!(waiting_ends_with_a_job_that_is_not_kept, |store| {
    for (result_ttl_s, ends) in [(0, true), (600, true), (0, false)] {
        let options = Options { retention_s: 0, result_ttl_s, ..Options::default() };
        let bed = Arc::new(bed_with(store.clone(), options));
        bed.line("FLUSHALL").await;
        let facts = worker("w");
        bed.put(job("t", "a")).await;
        let other = bed.clone();
        let waiting =
            tokio::spawn(async move { other.jobs.wait("a", Duration::from_secs(20)).await });
        tokio::time::sleep(Duration::from_millis(300)).await; // it must have seen the job
        if ends {
            let claimed = bed.claim(&facts).await.unwrap();
            bed.jobs.complete(&facts, claimed.job, Some("7".into()), 1).await.unwrap();
        } else {
            bed.jobs.remove("a").await.unwrap();
        }
        match waiting.await.unwrap() {
            Ok(view) => {
                assert!(ends);
                assert_eq!(view.status.as_deref(), Some("completed"));
                let data = view.result.map(|result| result.get().contains("\"data\":7"));
                assert_eq!(data, (result_ttl_s > 0).then_some(true));
            }
            Err(error) => assert!(!ends, "{error}"),
        }
    }
});

on_every_store!(the_timeline_tells_a_jobs_life, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b")).await;
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.complete(&facts, claimed.job, None, 4).await.unwrap();
    let events = bed.jobs.timeline("a").await.unwrap();
    let shown: Vec<String> =
        events.iter().map(|one| format!("{} {}", one.kind, one.body.get())).collect();
    assert_eq!(
        shown,
        [
            r#"dispatched {"type":"t"}"#,
            r#"claimed {"type":"t","worker":"w"}"#,
            r#"completed {"took":4,"type":"t","worker":"w"}"#,
        ]
    );
    assert_eq!(events[0].scope.as_deref(), Some("bridge"));
    assert_eq!(events[0].at, NOW);
});

on_every_store!(without_events_nothing_is_told, |store| {
    let bed = bed_with(store, Options { events: false, ..Options::default() });
    bed.put(job("t", "a")).await;
    bed.claim(&worker("w")).await.unwrap();
    assert_eq!(bed.line("EXISTS bridge:events:stream").await, "0");
});

async fn codes(bed: &Bed, id: &str) -> Vec<&'static str> {
    let found = bed.jobs.explain(id).await.unwrap();
    assert!(!found.summary.is_empty());
    found.reasons.iter().map(|reason| reason.code).collect()
}

on_every_store!(it_says_why_a_job_is_not_running, |store| {
    let bed = bed(store);
    let facts = worker("w").types(["t", "x"]);
    bed.put(job("t", "a")).await;
    assert_eq!(codes(&bed, "a").await, ["no_worker"]);
    bed.jobs.register(&facts, &Registration::default()).await.unwrap();
    assert!(codes(&bed, "a").await.is_empty());
    bed.put(job("t", "gpu").target(Target::any().capability("gpu"))).await;
    let found = bed.jobs.explain("gpu").await.unwrap();
    assert_eq!(found.position, Some(1));
    assert_eq!(found.workers[0].why_not[0].criterion, "capabilities");
    assert_eq!(found.summary, "the one worker alive may not run it");
    bed.jobs.pause("t", None).await.unwrap();
    assert_eq!(codes(&bed, "a").await, ["paused"]);
    bed.jobs.resume("t").await.unwrap();
    bed.put(job("t", "b").depends_on("gpu")).await;
    assert_eq!(codes(&bed, "b").await, ["parked"]);
    bed.put(job("t", "c").delay(Duration::from_secs(5))).await;
    assert_eq!(codes(&bed, "c").await, ["delayed"]);
    bed.put(job("t", "d").max_concurrent(1)).await;
    let claimed = bed.claim(&facts).await.unwrap();
    assert_eq!(codes(&bed, "a").await, ["running"]);
    assert_eq!(codes(&bed, "d").await, ["behind", "concurrent"]);
    bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    assert_eq!(codes(&bed, "a").await, ["ended"]);
    bed.put(job("t", "lost")).await;
    bed.line("LREM bridge:jobs:waiting 1 lost").await;
    assert_eq!(codes(&bed, "lost").await, ["lost"]);
    bed.line("SET bridge:jobs:data:odd nonsense").await;
    assert_eq!(codes(&bed, "odd").await, ["unreadable"]);
});

on_every_store!(a_limit_that_is_reached_is_told_apart_from_a_counter_that_drifted, |store| {
    let bed = bed(store);
    let facts = worker("w").types(["t"]);
    bed.jobs.register(&facts, &Registration::default()).await.unwrap();
    for id in ["a", "b"] {
        bed.put(job("t", id)).await;
    }
    bed.put(job("t", "limited").max_concurrent(1)).await;
    for _ in 0..2 {
        bed.claim(&facts).await.unwrap();
    }
    let found = bed.jobs.explain("limited").await.unwrap();
    assert_eq!(found.summary, "2 jobs of its type run, and its limit is 1");
    // Both have ended, and the counter does not know.
    bed.line("SREM bridge:jobs:active a b").await;
    let found = bed.jobs.explain("limited").await.unwrap();
    assert_eq!(codes(&bed, "limited").await, ["drifted"]);
    let says = "the counter of its type says 2 and 0 jobs run, with a limit of 1";
    assert!(found.summary.starts_with(says), "{}", found.summary);
    assert!(found.summary.contains("jobs doctor --repair"), "{}", found.summary);
    // Too low a count holds nothing back, and is told all the same.
    bed.line("SADD bridge:jobs:active a b").await;
    bed.line("SET bridge:ratelimit:concurrent:t 0").await;
    let found = bed.jobs.explain("limited").await.unwrap();
    assert!(found.reasons.iter().any(|one| one.code == "drifted" && !one.stops), "{found:?}");
});

on_every_store!(what_happens_is_read_as_it_happens, |store| {
    let bed = bed(store);
    bed.put(job("t", "before")).await;
    let filter = Filter { types: vec!["dispatched".into()], ..Filter::default() };
    let mut reader = bed.jobs.events(filter);
    // The first look settles where "from now on" begins.
    assert!(reader.next(Duration::from_millis(20)).await.unwrap().is_empty());
    bed.put(job("t", "a")).await;
    bed.claim(&worker("w")).await.unwrap();
    bed.put(job("t", "b")).await;
    let mut told = Vec::new();
    while told.len() < 2 {
        for record in reader.next(Duration::from_secs(5)).await.unwrap() {
            let Record::Event(one) = record else { panic!("{record:?}") };
            told.push(format!("{} {}", one.envelope.kind, one.envelope.id));
        }
    }
    assert_eq!(told, ["dispatched a", "dispatched b"]);
});
