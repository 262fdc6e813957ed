//! The doctor finds what is wrong with a namespace, repairs it when asked to, and leaves a sound one alone.

use std::time::Duration;

use testkit::on_every_store;

use crate::support::{Bed, bed, job, worker};

async fn sick(bed: &Bed, repair: bool) -> Vec<String> {
    let found = bed.jobs.doctor(repair).await.unwrap();
    let mut lines: Vec<String> = found
        .iter()
        .map(|one| {
            let done = if one.repaired { " (repaired)" } else { "" };
            format!("{:?} {} {}{done}", one.trouble, one.key.replace("bridge:", ""), one.detail)
        })
        .collect();
    lines.sort_unstable();
    lines
}

async fn full_house(bed: &Bed) {
    bed.put(job("t", "run")).await;
    bed.claim(&worker("w")).await.unwrap();
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b").depends_on("a")).await;
    bed.put(job("t", "later").delay(Duration::from_secs(9))).await;
    bed.put(job("t", "tick").cron("* * * * *", None)).await;
    bed.put(job("t", "gone")).await;
    bed.jobs.bury("gone").await.unwrap();
}

on_every_store!(a_sound_namespace_has_no_findings, |store| {
    let bed = bed(store);
    full_house(&bed).await;
    let before = bed.state().await;
    assert_eq!(sick(&bed, true).await, [] as [&str; 0]);
    assert_eq!(bed.state().await, before);
    assert!(bed.jobs.doctor_notes().await.unwrap().is_empty());
});

on_every_store!(each_fault_is_found_and_repaired, |store| {
    for (harm, says) in [
        (
            "LREM bridge:jobs:waiting 1 a",
            "Unlisted jobs:status:a says waiting and is not in the waiting list and not parked",
        ),
        (
            "ZREM bridge:jobs:delayed later",
            "Unlisted jobs:status:later says delayed and is not in the delayed set",
        ),
        (
            "LREM bridge:jobs:deadletter 1 gone",
            "Unlisted jobs:status:gone says dead and is not in the dead letters",
        ),
        (
            "ZREM bridge:jobs:cron tick",
            "Unlisted jobs:status:tick says cron and is not in the cron set",
        ),
        (
            "SET bridge:jobs:status:a delayed",
            "WrongState jobs:status:a says delayed and its job is waiting",
        ),
        (
            "DEL bridge:jobs:status:later",
            "WrongState jobs:status:later says nothing and its job is delayed",
        ),
        (
            "SET bridge:jobs:status:run completed",
            "WrongState jobs:status:run says completed and its job is active",
        ),
        (
            "SET bridge:ratelimit:concurrent:t 5",
            "Miscounted ratelimit:concurrent:t says \"5\" and one job is active",
        ),
        (
            "SET bridge:ratelimit:concurrent:old 2",
            "Miscounted ratelimit:concurrent:old says \"2\" and 0 jobs are active",
        ),
        ("SET bridge:jobs:data:a {}", "BadValue jobs:data:a is no job that anybody can run"),
        (
            "DEL bridge:x:deps:b",
            "WrongState jobs:status:b is parked and waits for nothing any more",
        ),
    ] {
        let bed = bed(store.clone());
        bed.line("FLUSHALL").await;
        full_house(&bed).await;
        bed.line(harm).await;
        let before = bed.state().await;
        assert_eq!(sick(&bed, false).await, [says], "{harm}");
        assert_eq!(bed.state().await, before, "looking changes nothing");
        assert_eq!(sick(&bed, true).await, [format!("{says} (repaired)")], "{harm}");
        assert_eq!(sick(&bed, false).await, [] as [&str; 0], "{harm}");
    }
});

on_every_store!(an_active_job_that_nobody_holds_comes_back, |store| {
    let bed = bed(store);
    full_house(&bed).await;
    bed.line("DEL bridge:jobs:lock:run").await;
    assert!(sick(&bed, true).await.is_empty(), "we claimed it: it is taken back anyway");
    bed.line("HDEL bridge:x:claimed run").await;
    let says = "WrongState jobs:status:run is active and nobody holds its lock (repaired)";
    assert_eq!(sick(&bed, true).await, [says]);
    assert_eq!(bed.status("run").await, "waiting");
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "0");
});

on_every_store!(a_parked_job_goes_on_when_its_helpers_were_lost, |store| {
    let bed = bed(store);
    let facts = worker("w");
    bed.put(job("t", "a")).await;
    bed.put(job("t", "b").depends_on("a")).await;
    bed.put(job("t", "c").depends_on("b")).await;
    bed.line("DEL bridge:x:children:a").await;
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "-");
    assert_eq!(bed.jobs.sweep_parked().await.unwrap(), 1);
    assert_eq!(bed.claimed_id(&facts).await, "b");
    bed.line("DEL bridge:x:children:b").await;
    bed.jobs.bury("b").await.unwrap();
    assert_eq!(bed.jobs.sweep_parked().await.unwrap(), 1);
    assert_eq!(bed.status("c").await, "failed");
});

on_every_store!(a_foreign_claim_is_sound_and_noted, |store| {
    let bed = bed(store);
    bed.put(job("t", "a")).await;
    // As the seed's script claims: the status stays `waiting`.
    bed.line("LREM bridge:jobs:waiting 1 a").await;
    bed.line("SADD bridge:jobs:active a").await;
    bed.line("INCR bridge:ratelimit:concurrent:t").await;
    bed.line("SET bridge:jobs:lock:a py-1 EX 30").await;
    bed.line("SADD bridge:workers:active py-1").await;
    assert_eq!(sick(&bed, true).await, [] as [&str; 0]);
    let notes = bed.jobs.doctor_notes().await.unwrap();
    assert!(notes[0].sentence().contains("1 of 1 active jobs have no lease"), "{notes:?}");
    assert!(notes[0].sentence().contains("py-1"));
});
