//! Recovery: leases, foreign claimers, orphans, counters; and the registry of workers.

use std::sync::Arc;

use jobs::{Asked, Error, Progress, Registration, Scheduler, Sightings, Wrote};
use testkit::on_every_store;

use crate::support::{Bed, NOW, bed, job, worker};

async fn lose(bed: &Bed, id: &str) {
    bed.ask(&["DEL", &format!("bridge:jobs:lock:{id}")]).await;
    bed.pass(30_000);
}

on_every_store!(a_dead_workers_jobs_come_back_and_the_fourth_time_they_are_dead, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a").priority(9)).await;
    bed.put(job("t", "b")).await;
    bed.jobs.register(&facts, &Registration::default()).await.unwrap();
    for round in 1..=4 {
        let claimed = bed.claim(&facts).await.unwrap();
        assert_eq!((claimed.job.id.as_str(), claimed.job.attempts), ("a", 0), "round {round}");
        assert!(bed.jobs.reclaim().await.unwrap().is_empty(), "the lease is not over");
        lose(&bed, "a").await;
        let taken = bed.jobs.reclaim().await.unwrap();
        assert_eq!(taken[0].became, if round < 4 { "waiting" } else { "dead" });
        assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "0");
        assert_eq!(bed.line("EXISTS bridge:x:claimed").await, "0");
        assert!(bed.jobs.reclaim().await.unwrap().is_empty());
    }
    assert_eq!(bed.line("LRANGE bridge:jobs:deadletter 0 -1").await, "[a]");
    assert!(bed.line("GET bridge:jobs:result:a").await.contains(r#""name":"WorkerLost""#));
    assert_eq!(bed.line("EXISTS bridge:x:recoveries").await, "0");
});

on_every_store!(progress_of_a_dead_worker_ends_with_the_job, |store| {
    let bed = bed(store);
    let (dead, alive) = (worker("dead"), worker("alive"));
    bed.put(job("t", "a")).await;
    bed.claim(&dead).await.unwrap();
    assert!(bed.jobs.progress(&dead, "a", &Progress::default()).await.unwrap());
    lose(&bed, "a").await;
    bed.jobs.reclaim().await.unwrap();
    assert_eq!(bed.line("TTL bridge:jobs:progress:a").await, "-1", "none while it lives");
    let claimed = bed.claim(&alive).await.unwrap();
    bed.jobs.complete(&alive, claimed.job, None, 1).await.unwrap();
    assert_eq!(bed.line("TTL bridge:jobs:progress:a").await, "86400");
});

on_every_store!(a_lock_that_somebody_prolonged_is_respected, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    bed.claim(&worker("w")).await.unwrap();
    bed.pass(30_000);
    assert!(bed.jobs.reclaim().await.unwrap().is_empty(), "the lock still lives on the server");
    bed.line("DEL bridge:jobs:lock:a").await;
    assert_eq!(bed.jobs.reclaim().await.unwrap().len(), 1);
});

on_every_store!(one_look_through_the_claimed_jobs_serves_all_processes, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    bed.claim(&worker("w")).await.unwrap();
    let scheduler = || Scheduler::new(&bed.jobs, Arc::default());
    scheduler().round().await;
    bed.line("DEL bridge:jobs:lock:a").await;
    bed.pass(500);
    scheduler().round().await;
    assert_eq!(bed.status("a").await, "active", "somebody has just looked");
    bed.pass(500);
    scheduler().round().await;
    assert_eq!(bed.status("a").await, "waiting");
});

on_every_store!(many_claimed_jobs_are_looked_through_in_stretches, |store| {
    let bed = bed(store);
    let facts = worker("w");
    for n in 0..1_300 {
        bed.put(job("t", &format!("j{n}"))).await;
    }
    let mut left = 1_300;
    while left > 0 {
        left -= bed.jobs.claim(&facts, left).await.unwrap().jobs.len();
    }
    for n in [3, 640, 1_299] {
        bed.line(&format!("DEL bridge:jobs:lock:j{n}")).await;
    }
    let mut taken: Vec<_> =
        bed.jobs.reclaim().await.unwrap().into_iter().map(|one| one.id).collect();
    taken.sort_unstable();
    assert_eq!(taken, ["j1299", "j3", "j640"]);
    assert_eq!(bed.line("HLEN bridge:x:claimed").await, "1297");
});

on_every_store!(completion_against_recovery_has_one_winner, |store| {
    let bed = Arc::new(bed(store));
    let facts = worker("w");
    for n in 0..20 {
        bed.put(job("t", &format!("j{n}"))).await;
    }
    let claims = bed.jobs.claim(&facts, 20).await.unwrap();
    bed.pass(31_000);
    let taker = bed.clone();
    let taking = tokio::spawn(async move {
        let mut taken = 0;
        for n in 0..20 {
            taker.ask(&["DEL", &format!("bridge:jobs:lock:j{n}")]).await;
            taken += taker.jobs.reclaim().await.unwrap().len();
        }
        taken
    });
    let mut written = 0;
    for one in claims.jobs.into_iter().rev() {
        let wrote = bed.jobs.complete(&facts, one.job, None, 1).await.unwrap();
        written += usize::from(wrote == Wrote::Written);
    }
    let taken = taking.await.unwrap();
    bed.pass(31_000);
    let taken = taken + bed.jobs.reclaim().await.unwrap().len();
    assert_eq!(written + taken, 20, "each job has one end");
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, taken.to_string());
    assert_eq!(bed.line("SCARD bridge:jobs:active").await, "0");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "0");
});

on_every_store!(a_foreign_claimers_job_is_taken_back_when_seen_lost_twice, |store| {
    let bed = bed(store);
    let seen = Sightings::default();
    bed.put(job("t", "a")).await;
    // As the seed's script claims: lock, active, counter; no lease, and the status stays.
    bed.line("LREM bridge:jobs:waiting 1 a").await;
    bed.line("SADD bridge:jobs:active a").await;
    bed.line("INCR bridge:ratelimit:concurrent:t").await;
    bed.line("SET bridge:jobs:lock:a py-1 EX 30").await;
    bed.ask(&["SET", "bridge:workers:py-1", &format!(r#"{{"serverId":"py-1","lastSeen":{NOW}}}"#)])
        .await;
    bed.line("SADD bridge:workers:active py-1").await;
    for _ in 0..2 {
        assert!(bed.jobs.sweep_active(&seen).await.unwrap().is_empty());
        bed.pass(10_000);
    }
    bed.pass(20_000);
    assert!(
        bed.jobs.sweep_active(&seen).await.unwrap().is_empty(),
        "the owner is dead: first sighting"
    );
    assert!(bed.jobs.sweep_active(&seen).await.unwrap().is_empty(), "too soon");
    bed.pass(5_000);
    let taken = bed.jobs.sweep_active(&seen).await.unwrap();
    assert_eq!((taken[0].id.as_str(), taken[0].became.as_str()), ("a", "waiting"));
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[a]");
    assert_eq!(bed.line("EXISTS bridge:jobs:lock:a bridge:jobs:active").await, "0");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "0");
});

// A store came back empty under a running worker. Its next job was taken away after 20 s and started twice, because
// the sweep asked the registry, which knew nobody.
on_every_store!(a_worker_that_lives_keeps_its_job_though_the_registry_lost_it, |store| {
    let bed = bed(store);
    let (facts, seen) = (worker("w1"), Sightings::default());
    bed.put(job("t", "leased")).await;
    assert_eq!(bed.claimed_id(&facts).await, "leased");
    // As the seed's script claims, by a worker that shows its life.
    bed.put(job("t", "foreign")).await;
    bed.line("LREM bridge:jobs:waiting 1 foreign").await;
    bed.line("SADD bridge:jobs:active foreign").await;
    bed.line("SET bridge:jobs:lock:foreign py-1").await;
    bed.line("SET bridge:workers:heartbeat:py-1 1").await;
    for _ in 0..4 {
        assert!(bed.jobs.sweep_active(&seen).await.unwrap().is_empty());
        bed.pass(10_000);
    }
    // The last word is the lock's: an owner that was silent and is back before the rescue keeps its job.
    bed.line("DEL bridge:workers:heartbeat:py-1").await;
    assert!(bed.jobs.sweep_active(&seen).await.unwrap().is_empty(), "first sighting");
    bed.pass(10_000);
    bed.line("SET bridge:workers:heartbeat:py-1 1").await;
    assert!(bed.jobs.sweep_active(&seen).await.unwrap().is_empty(), "it lives again");
    assert_eq!(bed.line("SMISMEMBER bridge:jobs:active leased foreign").await, "[1 1]");
});

on_every_store!(a_worker_that_the_registry_lost_is_told_so_by_its_heartbeat, |store| {
    let bed = bed(store);
    let facts = worker("w1");
    bed.jobs.register(&facts, &entry(7)).await.unwrap();
    assert!(bed.jobs.heartbeat(&facts, None).await.unwrap().was_known);
    bed.line("FLUSHALL").await;
    assert!(!bed.jobs.heartbeat(&facts, None).await.unwrap().was_known);
    bed.jobs.heartbeat(&facts, Some(&entry(7))).await.unwrap();
    assert!(bed.jobs.heartbeat(&facts, None).await.unwrap().was_known);
    assert_eq!(bed.jobs.workers().await.unwrap().len(), 1);
});

on_every_store!(a_job_that_nothing_holds_is_put_back_when_seen_twice, |store| {
    let bed = bed(store);
    let seen = Sightings::default();
    for id in ["popped", "fine", "later", "locked"] {
        bed.put(job("t", id)).await;
    }
    // As a foreign worker pops: out of the list, and then it dies.
    bed.line("LREM bridge:jobs:waiting 1 popped").await;
    bed.line("SET bridge:jobs:status:popped active").await;
    bed.line("LREM bridge:jobs:waiting 1 locked").await;
    bed.line("SET bridge:jobs:lock:locked v1 EX 30").await;
    bed.line("LREM bridge:jobs:waiting 1 later").await;
    bed.line("SET bridge:jobs:status:later delayed").await;
    bed.line(&format!("ZADD bridge:jobs:delayed {} later", NOW + 1_000_000)).await;
    let sweep = async || {
        let mut all = Vec::new();
        for _ in 0..5 {
            all.extend(bed.jobs.sweep_orphans(&seen, 200).await.unwrap());
        }
        all
    };
    assert!(sweep().await.is_empty());
    bed.pass(59_000);
    assert!(sweep().await.is_empty());
    bed.pass(1_000);
    let back = sweep().await;
    assert_eq!(back.len(), 1);
    assert_eq!(back[0].id, "popped");
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[fine popped]");
    assert_eq!(bed.status("popped").await, "waiting");
    assert!(bed.events().await.ends_with("orphan_requeued popped"));
});

on_every_store!(counters_are_put_right_when_wrong_twice, |store| {
    let bed = bed(store);
    let seen = Sightings::default();
    bed.put(job("t", "a")).await;
    bed.claim(&worker("w")).await.unwrap();
    assert!(bed.jobs.reconcile(&seen).await.unwrap().is_empty());
    bed.line("SET bridge:ratelimit:concurrent:t 7").await;
    bed.line("SET bridge:ratelimit:concurrent:leaked 3").await;
    let first = bed.jobs.reconcile(&seen).await.unwrap();
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|one| !one.repaired));
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "7");
    let second = bed.jobs.reconcile(&seen).await.unwrap();
    assert!(second.iter().all(|one| one.repaired), "{second:?}");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "1");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:leaked").await, "0");
    assert!(bed.jobs.reconcile(&seen).await.unwrap().is_empty());
});

on_every_store!(a_drifted_counter_is_found_whatever_else_is_in_the_store, |store| {
    // The repair once walked the whole database, a thousand keys each time.
    let bed = bed(store);
    for part in 0..20 {
        let words = (0..1_000).flat_map(|n| [format!("{{other}}:{part}:{n}"), "1".to_owned()]);
        let words: Vec<String> = std::iter::once("MSET".to_owned()).chain(words).collect();
        bed.ask(&words.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    bed.put(job("mail", "a").max_concurrent(3)).await;
    bed.line("SET bridge:ratelimit:concurrent:mail 99").await;
    assert_eq!(bed.claimed_id(&worker("w")).await, "-");
    let told = bed.jobs.explain("a").await.unwrap();
    let codes: Vec<_> = told.reasons.iter().map(|one| (one.code, one.stops)).collect();
    assert!(codes.contains(&("drifted", true)), "{codes:?}");
    assert!(!codes.iter().any(|(code, _)| *code == "concurrent"), "no job runs: {codes:?}");
    let seen = Sightings::default();
    bed.jobs.reconcile(&seen).await.unwrap();
    bed.jobs.reconcile(&seen).await.unwrap();
    assert_eq!(bed.claimed_id(&worker("w")).await, "a", "the second look set it");
    // Jobs that a foreign worker claimed with the seed's script count as well, and nothing of ours names them.
    bed.put(job("mail", "theirs")).await;
    bed.line("LREM bridge:jobs:waiting 1 theirs").await;
    bed.line("SADD bridge:jobs:active theirs").await;
    bed.jobs.reconcile(&seen).await.unwrap();
    bed.jobs.reconcile(&seen).await.unwrap();
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:mail").await, "2");
});

on_every_store!(marks_of_jobs_that_a_foreign_worker_ended_are_forgotten, |store| {
    let bed = bed(store);
    for id in ["ours", "theirs", "again"] {
        bed.put(job("t", id)).await;
        bed.claim(&worker("w")).await.unwrap();
    }
    for id in ["ours", "theirs"] {
        bed.jobs.cancel(id).await.unwrap();
    }
    bed.line("HSET bridge:x:recoveries theirs 1 again 2 removed 1").await;
    // As a foreign worker ends a job: it knows nothing of marks.
    bed.line("DEL bridge:jobs:lock:theirs").await;
    bed.line("SREM bridge:jobs:active theirs").await;
    bed.line("SET bridge:jobs:status:theirs completed").await;
    assert_eq!(bed.jobs.forget_marks().await.unwrap(), 3);
    assert_eq!(bed.line("SMEMBERS bridge:x:cancelled").await, "[ours]");
    assert_eq!(bed.line("HKEYS bridge:x:recoveries").await, "[again]");
    for n in 0..250 {
        bed.line(&format!("HSET bridge:x:recoveries gone{n} 1")).await;
    }
    assert_eq!(bed.jobs.forget_marks().await.unwrap(), 250);
});

fn entry(pid: u32) -> Registration {
    Registration {
        pid,
        hostname: "h1".into(),
        version: "1".into(),
        concurrency: 4,
        started_at: NOW,
        process: String::new(),
    }
}

on_every_store!(a_worker_registers_beats_and_leaves, |store| {
    let bed = bed(store);
    let facts = worker("w1").region("eu").capabilities(["gpu"]).types(["mail"]);
    bed.jobs.register(&facts, &entry(7)).await.unwrap();
    let text = bed.line("GET bridge:workers:w1").await;
    assert_eq!(
        text,
        r#"{"serverId":"w1","stack":"rust","region":"eu","capabilities":["gpu"],"lastSeen":1794768259299,"pid":7,"hostname":"h1","x":{"version":"1","concurrency":4,"types":["mail"],"startedAt":1794768259299}}"#
    );
    assert_eq!(bed.line("GET bridge:workers:heartbeat:w1").await, NOW.to_string());
    assert_eq!(bed.line("TTL bridge:workers:heartbeat:w1").await, "30");
    assert_eq!(bed.line("SMEMBERS bridge:workers:active").await, "[w1]");
    bed.jobs.register(&facts, &entry(7)).await.unwrap();
    let error = bed.jobs.register(&facts, &entry(8)).await.unwrap_err();
    let (id, hostname) = ("w1".into(), "h1".into());
    assert_eq!(error, Error::WorkerInUse { id, hostname, pid: 7 });
    let says = "serverId w1 is in use by process 7 on h1; give this worker an id of its own";
    assert_eq!(error.to_string(), says);
    assert_eq!(bed.jobs.heartbeat(&facts, None).await.unwrap().asked, None);
    bed.jobs.ask_worker("w1", Asked::Quiet).await.unwrap();
    let beat = bed.jobs.heartbeat(&facts, Some(&entry(7))).await.unwrap();
    assert_eq!(beat.asked, Some(Asked::Quiet));
    assert!(bed.jobs.ask_worker("nobody", Asked::Stop).await.is_err());
    assert_eq!(Asked::read("stop w1", "w1"), Some(Asked::Stop));
    assert_eq!(Asked::read("stop w2", "w1"), None);
    bed.jobs.unregister(&facts, &entry(8)).await.unwrap();
    assert_eq!(bed.jobs.workers().await.unwrap().len(), 1, "another process cannot take it out");
    bed.jobs.unregister(&facts, &entry(7)).await.unwrap();
    assert_eq!(bed.line("KEYS bridge:workers:*").await, "[]");
    assert!(bed.events().await.starts_with("worker_joined w1"));
    assert!(bed.events().await.ends_with("worker_left w1"));
});

on_every_store!(a_dead_worker_makes_room_and_is_forgotten_after_a_day, |store| {
    let bed = bed(store);
    let facts = worker("w1");
    bed.jobs.register(&facts, &entry(7)).await.unwrap();
    bed.line("DEL bridge:workers:heartbeat:w1").await;
    assert!(bed.jobs.workers().await.unwrap()[0].alive, "its entry is young");
    bed.pass(30_000);
    assert!(!bed.jobs.workers().await.unwrap()[0].alive);
    bed.jobs.register(&facts, &entry(8)).await.unwrap();
    bed.line("DEL bridge:workers:heartbeat:w1").await;
    assert!(bed.jobs.forget_workers().await.unwrap().is_empty());
    bed.pass(86_400_000);
    assert_eq!(bed.jobs.forget_workers().await.unwrap(), ["w1"]);
    assert_eq!(bed.line("KEYS bridge:workers:*").await, "[]");
});

on_every_store!(outcomes_are_counted_per_day_and_type, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a")).await;
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.complete(&facts, claimed.job, None, 40).await.unwrap();
    bed.jobs.flush_counts().await.unwrap();
    bed.jobs.flush_counts().await.unwrap();
    assert_eq!(bed.line("GET bridge:metrics:jobs:processed").await, "1");
    assert_eq!(bed.line("GET bridge:metrics:processing:time").await, "40");
    let days = bed.jobs.daily(2).await.unwrap();
    assert_eq!(days[0].0, "20261115");
    assert_eq!(days[0].1.get("t:completed"), Some(&1));
});
