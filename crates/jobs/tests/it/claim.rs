//! Claims: order, routing, pauses, limits, what blocks nobody, what a worker remembers, and races.

use std::sync::Arc;

use jobs::{NewJob, Options, Target, WorkerFacts};
use testkit::on_every_store;

use crate::support::{Bed, bed, bed_with, job, worker};

async fn raw(bed: &Bed, id: &str, text: &str) {
    bed.ask(&["SET", &format!("bridge:jobs:data:{id}"), text]).await;
    bed.ask(&["RPUSH", "bridge:jobs:waiting", id]).await;
}

on_every_store!(high_priority_goes_first_and_the_newest_of_them_before_the_others, |store| {
    let bed = bed(store);
    for (id, priority) in [("low", 1), ("nine", 9), ("mid", 5), ("seven", 7)] {
        bed.put(job("t", id).priority(priority)).await;
    }
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[seven nine low mid]");
});

on_every_store!(fair_high_goes_behind_the_high_ones, |store| {
    let bed = bed_with(store, Options { fair_high: true, ..Options::default() });
    for (id, priority) in [("low", 1), ("nine", 9), ("mid", 5), ("seven", 7), ("eight", 8)] {
        bed.put(job("t", id).priority(priority)).await;
    }
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[nine seven eight low mid]");
});

on_every_store!(routing_is_the_table_of_the_specification, |store| {
    for (target, runs) in [
        (r#"{}"#, true),
        (r#"{"mode":"all"}"#, true),
        (r#"{"stack":[],"capabilities":[],"region":[]}"#, true),
        (r#"{"server":"w1","stack":["python"]}"#, true),
        (r#"{"server":"","stack":["node"]}"#, true),
        (r#"{"server":"w2"}"#, false),
        (r#"{"stack":["node","python"]}"#, true),
        (r#"{"stack":["node","python"],"mode":"all"}"#, true),
        (r#"{"capabilities":["gpu","tpu"]}"#, true),
        (r#"{"capabilities":["gpu","tpu"],"mode":"all"}"#, false),
        (r#"{"capabilities":["gpu","tpu"],"mode":"every"}"#, false),
        (r#"{"capabilities":["gpu","email"],"mode":"all"}"#, true),
        (r#"{"region":["us-east","eu"],"mode":"all"}"#, true),
        (r#"{"stack":["node"],"region":["eu"],"mode":"any"}"#, false),
        (r#"{"stack":["Node"]}"#, false),
        // What has the wrong type is absent.
        (r#"null"#, true),
        (r#"{"server":null,"stack":null,"region":"eu"}"#, true),
    ] {
        let bed = bed(store.clone());
        let facts = worker("w1").stack("node").region("us-east").capabilities(["email", "gpu"]);
        bed.line("FLUSHALL").await;
        let text =
            format!(r#"{{"jobId":"a","type":"t","payload":{{}},"target":{target},"attempts":0}}"#);
        raw(&bed, "a", &text).await;
        assert_eq!(bed.claimed_id(&facts).await == "a", runs, "{target}");
    }
});

on_every_store!(a_worker_takes_only_types_it_has_handlers_for, |store| {
    let bed = bed(store);
    bed.put(job("sms", "a")).await;
    bed.put(job("email", "b")).await;
    bed.put(job("mail", "c")).await;
    assert_eq!(bed.claimed_id(&worker("w").types(["mail"])).await, "c");
    assert_eq!(bed.claimed_id(&worker("w").types(["email", "push"])).await, "b");
    assert_eq!(bed.claimed_id(&worker("w").types(["push"])).await, "-");
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[a]");
});

on_every_store!(an_excluded_worker_leaves_the_job_to_others, |store| {
    let bed = bed(store);
    let mut new = job("t", "a");
    new.x.exclude = vec!["w1".into()];
    bed.put(new).await;
    assert_eq!(bed.claimed_id(&worker("w1")).await, "-");
    assert_eq!(bed.claimed_id(&worker("w2")).await, "a");
});

on_every_store!(a_paused_type_stays_and_others_go_on, |store| {
    let bed = bed(store);
    bed.put(job("slow", "a")).await;
    bed.put(job("fast", "b")).await;
    assert!(bed.jobs.pause("slow", None).await.unwrap());
    assert!(!bed.jobs.pause("slow", None).await.unwrap());
    let claims = bed.jobs.claim(&worker("w"), 5).await.unwrap();
    assert_eq!(claims.jobs.len(), 1);
    assert_eq!(claims.scan.skipped_paused, 1);
    assert_eq!(bed.claimed_id(&worker("w")).await, "-");
    bed.jobs.pause("*", Some(crate::support::NOW + 1_000)).await.unwrap();
    assert!(bed.jobs.resume("slow").await.unwrap());
    assert_eq!(bed.claimed_id(&worker("w")).await, "-", "all types are paused");
    assert!(bed.jobs.resume_due().await.unwrap().is_empty());
    bed.pass(1_000);
    assert_eq!(bed.jobs.resume_due().await.unwrap(), ["*"]);
    assert_eq!(bed.claimed_id(&worker("w")).await, "a");
});

on_every_store!(a_concurrent_limit_is_never_exceeded, |store| {
    let bed = bed(store);
    let facts = worker("w");
    for n in 0..5 {
        bed.put(job("t", &format!("j{n}")).max_concurrent(2)).await;
    }
    let claims = bed.jobs.claim(&facts, 5).await.unwrap();
    assert_eq!(claims.jobs.len(), 2);
    assert_eq!(claims.scan.skipped_limited, 3);
    assert_eq!(bed.claimed_id(&facts).await, "-");
    let first = claims.jobs.into_iter().next().unwrap();
    bed.jobs.complete(&facts, first.job, None, 1).await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "j2");
});

on_every_store!(jobs_without_a_limit_count_and_odd_limits_are_absent, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "plain")).await;
    bed.put(job("t", "one").max_concurrent(1)).await;
    assert_eq!(bed.claimed_id(&facts).await, "plain");
    assert_eq!(bed.claimed_id(&facts).await, "-", "the plain one fills the limit of the other");
    let odd = r#"{"type":"t","rateLimit":{"maxConcurrent":"1"}}"#;
    raw(&bed, "odd", odd).await;
    assert_eq!(bed.claimed_id(&facts).await, "odd");
    raw(&bed, "zero", r#"{"type":"z","rateLimit":{"maxConcurrent":0}}"#).await;
    assert_eq!(bed.claimed_id(&facts).await, "-", "0 means never, in every state");
    bed.line("SET bridge:ratelimit:concurrent:u many").await;
    raw(&bed, "u", r#"{"type":"u","rateLimit":{"maxConcurrent":1}}"#).await;
    assert_eq!(bed.claimed_id(&facts).await, "u", "a counter that is no number counts as none");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:u").await, "1");
});

on_every_store!(a_limit_per_minute_opens_a_window_of_sixty_seconds, |store| {
    let bed = bed(store);
    let facts = worker("w");
    for n in 0..4 {
        bed.put(job("t", &format!("j{n}")).max_per_minute(3)).await;
    }
    assert_eq!(bed.jobs.claim(&facts, 10).await.unwrap().jobs.len(), 3);
    assert_eq!(bed.line("GET bridge:ratelimit:minute:t").await, "3");
    assert_eq!(bed.line("TTL bridge:ratelimit:minute:t").await, "60");
    assert_eq!(bed.claimed_id(&facts).await, "-");
    bed.line("DEL bridge:ratelimit:minute:t").await;
    assert_eq!(bed.claimed_id(&facts).await, "j3");
});

on_every_store!(what_nobody_can_read_blocks_nobody, |store| {
    let bed = bed(store);
    for (id, text) in [
        ("m1", "not json"),
        ("m2", r#"{"payload":{}}"#),
        ("m3", r#"{"type":7}"#),
        ("m4", "[]"),
        ("m5", "\"type\""),
    ] {
        raw(&bed, id, text).await;
    }
    bed.put(job("t", "good")).await;
    let claims = bed.jobs.claim(&worker("w"), 1).await.unwrap();
    assert_eq!(claims.jobs[0].job.id, "good");
    assert_eq!(claims.malformed, ["m1", "m2", "m3", "m4", "m5"]);
    assert_eq!(bed.line("EXISTS bridge:jobs:lock:m1").await, "0");
    for id in claims.malformed {
        assert!(bed.jobs.quarantine(&id).await.unwrap(), "{id}");
    }
    assert!(!bed.jobs.quarantine("good").await.unwrap());
    assert_eq!(bed.line("LRANGE bridge:jobs:deadletter 0 -1").await, "[m5 m4 m3 m2 m1]");
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0");
    assert_eq!(bed.status("m1").await, "dead");
    assert!(bed.line("GET bridge:jobs:result:m1").await.contains("MalformedJob"));
});

on_every_store!(a_job_that_only_looks_sound_is_buried_by_whoever_claims_it, |store| {
    let bed = bed(store);
    // So long that the claim leaves it to its worker to read it.
    let long = "o".repeat(20_000);
    let text =
        format!(r#"{{"jobId":"bad","type":"t","payload":{{{long}}},"target":{{}},"attempts":0}}"#);
    raw(&bed, "bad", &text).await;
    bed.put(job("t", "good")).await;
    let claims = bed.jobs.claim(&worker("w"), 2).await.unwrap();
    assert_eq!(claims.jobs.len(), 1);
    assert_eq!(bed.status("bad").await, "dead");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "1");
    assert_eq!(bed.line("SMEMBERS bridge:jobs:active").await, "[good]");
});

on_every_store!(a_target_inside_the_payload_is_not_the_jobs, |store| {
    let bed = bed(store);
    let payload = r#"{"target":{},"x":{"exclude":["w"]},"rateLimit":{"maxConcurrent":0}}"#;
    bed.put(NewJob::raw("t", payload).id("a").target(Target::any().server("other"))).await;
    bed.put(NewJob::raw("t", payload).id("b")).await;
    bed.put(NewJob::raw("t", r#"{"s":"\"target\":{}"}"#).id("c")).await;
    assert_eq!(bed.claimed_id(&worker("w")).await, "b");
    assert_eq!(bed.claimed_id(&worker("w")).await, "c");
    assert_eq!(bed.claimed_id(&worker("other")).await, "a");
});

on_every_store!(ghosts_are_dropped_and_held_ones_stay, |store| {
    let bed = bed(store);
    bed.line("RPUSH bridge:jobs:waiting ghost1 held ghost2").await;
    bed.line("SET bridge:jobs:lock:held foreign").await;
    bed.put(job("t", "a")).await;
    bed.line("RPUSH bridge:jobs:waiting ghost3").await;
    assert_eq!(bed.claimed_id(&worker("w")).await, "a");
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[held ghost3]");
});

on_every_store!(
    a_locked_job_is_passed_over_and_an_id_that_is_there_twice_is_claimed_once,
    |store| {
        let bed = bed(store);
        bed.put(job("t", "locked")).await;
        bed.line("SET bridge:jobs:lock:locked foreign").await;
        bed.put(job("t", "twice")).await;
        bed.line("RPUSH bridge:jobs:waiting twice").await;
        let claims = bed.jobs.claim(&worker("w"), 5).await.unwrap();
        assert_eq!(claims.jobs.len(), 1);
        assert_eq!(claims.scan.skipped_locked, 2);
        assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[locked twice]");
    }
);

async fn unroutable(bed: &Bed, count: usize) {
    let mut all = Vec::new();
    for n in 0..count {
        all.push(job("t", &format!("u{n}")).target(Target::any().server("elsewhere")));
    }
    for answer in bed.jobs.dispatch_many(all).await.unwrap() {
        answer.unwrap();
    }
}

async fn scan(bed: &Bed, facts: &WorkerFacts) -> (String, u64) {
    let claims = bed.jobs.claim(facts, 1).await.unwrap();
    let id = claims.jobs.first().map_or_else(|| "-".to_owned(), |one| one.job.id.clone());
    (id, claims.scan.scanned)
}

on_every_store!(a_worker_remembers_the_head_it_can_never_run_and_sees_a_new_one, |store| {
    let bed = bed(store);
    let facts = worker("w");
    unroutable(&bed, 300).await;
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b")).await;
    let (id, scanned) = scan(&bed, &facts).await;
    assert_eq!((id.as_str(), scanned), ("a", 301));
    assert_eq!(scan(&bed, &facts).await, ("b".into(), 1), "it starts where it was");
    assert_eq!(scan(&bed, &facts).await, ("-".into(), 0));
    // A new head is seen at once, and what follows still starts behind.
    bed.put(job("t", "head").priority(9)).await;
    bed.put(job("t", "c")).await;
    assert_eq!(scan(&bed, &facts).await, ("head".into(), 1));
    assert_eq!(scan(&bed, &facts).await, ("c".into(), 1));
    // Others take some of the jobs in front: the place is found again.
    for _ in 0..50 {
        bed.claim(&worker("elsewhere")).await.unwrap();
    }
    bed.put(job("t", "d")).await;
    let (id, scanned) = scan(&bed, &facts).await;
    assert_eq!(id, "d");
    assert!(scanned <= 70, "{scanned}");
    // A new head that it cannot run either.
    bed.put(job("t", "no").priority(9).target(Target::any().server("x"))).await;
    bed.put(job("t", "e")).await;
    let (id, scanned) = scan(&bed, &facts).await;
    assert_eq!(id, "e");
    assert!(scanned <= 70, "{scanned}");
    assert_eq!(scan(&bed, &facts).await.0, "-");
    bed.put(job("t", "f")).await;
    assert_eq!(scan(&bed, &facts).await, ("f".into(), 1));
});

on_every_store!(what_may_change_is_never_passed_over, |store| {
    let bed = bed(store);
    let facts = worker("w");
    unroutable(&bed, 20).await;
    bed.put(job("slow", "paused")).await;
    unroutable_more(&bed).await;
    bed.put(job("t", "a")).await;
    bed.jobs.pause("slow", None).await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "a");
    bed.jobs.resume("slow").await.unwrap();
    assert_eq!(scan(&bed, &facts).await, ("paused".into(), 1));
});

async fn unroutable_more(bed: &Bed) {
    for n in 0..5 {
        let target = Target::any().server("elsewhere");
        bed.put(job("t", &format!("v{n}")).target(target)).await;
    }
}

on_every_store!(a_claim_looks_at_no_more_than_the_limit_and_goes_on_from_there, |store| {
    let bed = bed_with(store, Options { scan_limit: 100, ..Options::default() });
    let facts = worker("w");
    unroutable(&bed, 250).await;
    bed.put(job("t", "a")).await;
    assert_eq!(scan(&bed, &facts).await, ("-".into(), 100));
    assert_eq!(scan(&bed, &facts).await, ("-".into(), 100));
    assert_eq!(scan(&bed, &facts).await, ("a".into(), 51));
});

on_every_store!(of_many_claimers_each_job_has_one, |store| {
    let bed = Arc::new(bed(store));
    for n in 0..60 {
        bed.put(job("t", &format!("j{n}"))).await;
    }
    let racers: Vec<_> = (0..8)
        .map(|n| {
            let bed = bed.clone();
            tokio::spawn(async move {
                let facts = worker(&format!("w{n}"));
                let mut mine = Vec::new();
                loop {
                    let claims = bed.jobs.claim(&facts, 1 + n % 3).await.unwrap();
                    if claims.jobs.is_empty() {
                        return mine;
                    }
                    mine.extend(claims.jobs.into_iter().map(|one| one.job.id));
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for racer in racers {
        all.extend(racer.await.unwrap());
    }
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 60);
    assert_eq!(bed.line("SCARD bridge:jobs:active").await, "60");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "60");
});

on_every_store!(limits_hold_under_a_race, |store| {
    let bed = Arc::new(bed(store));
    for n in 0..30 {
        bed.put(job("t", &format!("j{n}")).max_concurrent(3)).await;
    }
    let racers: Vec<_> = (0..6)
        .map(|n| {
            let bed = bed.clone();
            tokio::spawn(async move {
                bed.jobs.claim(&worker(&format!("w{n}")), 5).await.unwrap().jobs.len()
            })
        })
        .collect();
    let mut total = 0;
    for racer in racers {
        total += racer.await.unwrap();
    }
    assert_eq!(total, 3);
});

on_every_store!(a_sliding_limit_allows_no_burst_across_the_edge_of_a_minute, |store| {
    let bed = bed(store);
    let facts = worker("w");
    for n in 0..6 {
        let mut new = job("t", &format!("j{n}")).max_per_minute(2);
        new.x.limiter = Some("sliding".into());
        bed.put(new).await;
    }
    assert_eq!(bed.claimed_id(&facts).await, "j0");
    bed.pass(50_000);
    assert_eq!(bed.claimed_id(&facts).await, "j1");
    assert_eq!(bed.claimed_id(&facts).await, "-");
    bed.pass(10_000);
    assert_eq!(bed.claimed_id(&facts).await, "j2", "the first is a minute ago");
    assert_eq!(bed.claimed_id(&facts).await, "-", "a fixed window would allow one more");
    bed.pass(50_000);
    assert_eq!(bed.claimed_id(&facts).await, "j3");
    assert_eq!(bed.claimed_id(&facts).await, "-");
});

on_every_store!(a_job_that_no_worker_can_read_is_found_before_it_is_locked, |store| {
    let bed = bed(store);
    let text = |id: &str, payload: &str| {
        format!(
            r#"{{"jobId":"{id}","type":"email","payload":{payload},"schedule":{{}},"retry":{{"attempts":3,"backoff":{{"type":"exponential","delay":2000}}}},"priority":5,"dependsOn":[],"target":{{}},"metadata":{{}},"createdAt":1,"attempts":0}}"#
        )
    };
    let nested = |deep: usize| format!("{}{}", "[".repeat(deep), "]".repeat(deep));
    let object = |deep: usize| format!("{{\"a\":{}}}", nested(deep - 1));
    for (id, stored) in [
        ("deep", text("deep", &nested(2_000))),
        ("deeper-than-readers", text("deeper-than-readers", &object(128))),
        ("broken", text("broken", r#"{"to":}"#)),
        ("cut", text("cut", "{}")[..60].to_owned()),
        ("as-deep-as-readers-go", text("as-deep-as-readers-go", &object(127))),
        ("fine", text("fine", r#"{"to":"a}b"}"#)),
    ] {
        bed.ask(&["SET", &format!("bridge:jobs:data:{id}"), &stored]).await;
        bed.ask(&["RPUSH", "bridge:jobs:waiting", id]).await;
    }
    let claims = bed.jobs.claim(&worker("w"), 10).await.unwrap();
    let ids: Vec<&str> = claims.jobs.iter().map(|one| one.job.id.as_str()).collect();
    assert_eq!(ids, ["as-deep-as-readers-go", "fine"]);
    assert_eq!(claims.malformed, ["deep", "deeper-than-readers", "broken", "cut"]);
    assert_eq!(bed.line("EXISTS bridge:jobs:lock:deep bridge:jobs:lock:cut").await, "0");
    for id in claims.malformed {
        assert!(bed.jobs.quarantine(&id).await.unwrap(), "{id}");
        let result = bed.line(&format!("GET bridge:jobs:result:{id}")).await;
        assert!(result.contains("MalformedJob"), "{id}: {result}");
    }
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0");
});
