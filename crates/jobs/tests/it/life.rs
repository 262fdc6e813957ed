//! The life of a job: each arrow of the state machine, with the exact keys it leaves.

use std::time::Duration;

use expect_test::expect;
use jobs::{Done, Ending, Failure, NewJob, Wrote};
use testkit::on_every_store;

use crate::support::{bed, job, worker};

on_every_store!(a_dispatch_is_the_seeds_three_keys, |store| {
    let bed = bed(store);
    let id = "86fc0e88-c832-4c43-b5a5-5ef9f808fc97";
    bed.put(NewJob::new("email", &serde_json::json!({"to": "a@b.c"})).id(id)).await;
    expect![[r#"
        bridge:jobs:data:86fc0e88-c832-4c43-b5a5-5ef9f808fc97 {"jobId":"86fc0e88-c832-4c43-b5a5-5ef9f808fc97","type":"email","payload":{"to":"a@b.c"},"schedule":{},"retry":{"attempts":3,"backoff":{"type":"exponential","delay":2000}},"priority":5,"dependsOn":[],"target":{},"metadata":{},"createdAt":1794768259299,"attempts":0}
        bridge:jobs:status:86fc0e88-c832-4c43-b5a5-5ef9f808fc97 waiting
        bridge:jobs:waiting [86fc0e88-c832-4c43-b5a5-5ef9f808fc97]
        bridge:x:index stream
    "#]].assert_eq(&bed.dump().await);
    expect!["dispatched 86fc0e88-c832-4c43-b5a5-5ef9f808fc97"].assert_eq(&bed.events().await);
});

on_every_store!(a_claim_and_its_completion, |store| {
    let bed = bed(store);
    let facts = worker("w1");
    bed.put(job("email", "a")).await;
    let claimed = bed.claim(&facts).await.unwrap();
    expect![[r#"
        bridge:jobs:active [a]
        bridge:jobs:data:a {"jobId":"a","type":"email","payload":{},"schedule":{},"retry":{"attempts":3,"backoff":{"type":"exponential","delay":2000}},"priority":5,"dependsOn":[],"target":{},"metadata":{},"createdAt":1794768259299,"attempts":0}
        bridge:jobs:lock:a (30 s) w1
        bridge:jobs:status:a active
        bridge:ratelimit:concurrent:email 1
        bridge:x:claimed [a=1794768259299 w1 email]
        bridge:x:index stream
    "#]].assert_eq(&bed.dump().await);
    bed.pass(1_500);
    let data = Some(r#"{"sent":true}"#.to_owned());
    let wrote = bed.jobs.complete(&facts, claimed.job, data, 1_500).await.unwrap();
    assert_eq!(wrote, Wrote::Written);
    expect![[r#"
        bridge:jobs:data:a (86400 s) {"jobId":"a","type":"email","payload":{},"schedule":{},"retry":{"attempts":3,"backoff":{"type":"exponential","delay":2000}},"priority":5,"dependsOn":[],"target":{},"metadata":{},"createdAt":1794768259299,"attempts":0}
        bridge:jobs:result:a (86400 s) {"success":true,"data":{"sent":true},"completedAt":1794768260799,"processingTime":1500}
        bridge:jobs:status:a (86400 s) completed
        bridge:ratelimit:concurrent:email 0
        bridge:x:index stream
    "#]].assert_eq(&bed.dump().await);
    expect!["dispatched a, claimed a, completed a"].assert_eq(&bed.events().await);
});

on_every_store!(a_failure_waits_and_then_runs_again, |store| {
    let bed = bed(store);
    let facts = worker("w1");
    bed.put(job("email", "a").attempts(1)).await;
    let claimed = bed.claim(&facts).await.unwrap();
    let failure = Failure::new("Boom", "it broke");
    bed.jobs.fail(&facts, claimed.job, failure.clone(), 7, 0.5).await.unwrap();
    expect![[r#"
        bridge:jobs:data:a {"jobId":"a","type":"email","payload":{},"schedule":{},"retry":{"attempts":1,"backoff":{"type":"exponential","delay":2000}},"priority":5,"dependsOn":[],"target":{},"metadata":{},"createdAt":1794768259299,"attempts":1}
        bridge:jobs:delayed [a=1794768261299]
        bridge:jobs:result:a (86400 s) {"success":false,"error":{"message":"it broke","name":"Boom"},"completedAt":1794768259299,"processingTime":7}
        bridge:jobs:status:a delayed
        bridge:ratelimit:concurrent:email 0
        bridge:x:index stream
    "#]].assert_eq(&bed.dump().await);
    assert_eq!(bed.jobs.promote(100).await.unwrap(), (0, Some(crate::support::NOW + 2_000)));
    bed.pass(2_000);
    assert_eq!(bed.jobs.promote(100).await.unwrap(), (1, None));
    assert_eq!(bed.status("a").await, "waiting");
    let claimed = bed.claim(&facts).await.unwrap();
    assert_eq!(claimed.job.attempts, 1);
    bed.jobs.fail(&facts, claimed.job, failure, 7, 0.5).await.unwrap();
    expect![[r#"
        bridge:jobs:data:a {"jobId":"a","type":"email","payload":{},"schedule":{},"retry":{"attempts":1,"backoff":{"type":"exponential","delay":2000}},"priority":5,"dependsOn":[],"target":{},"metadata":{},"createdAt":1794768259299,"attempts":1}
        bridge:jobs:deadletter [a]
        bridge:jobs:result:a (86400 s) {"success":false,"error":{"message":"it broke","name":"Boom"},"completedAt":1794768261299,"processingTime":7}
        bridge:jobs:status:a dead
        bridge:ratelimit:concurrent:email 0
        bridge:x:index stream
    "#]].assert_eq(&bed.dump().await);
    expect!["dispatched a, claimed a, retried a, promoted a, claimed a, dead a"]
        .assert_eq(&bed.events().await);
});

on_every_store!(finishing_and_claiming_is_one_step, |store| {
    let bed = bed(store);
    let facts = worker("w1");
    for id in ["a", "b", "c", "d"] {
        bed.put(job("t", id)).await;
    }
    let first = bed.jobs.claim(&facts, 2).await.unwrap();
    let done: Vec<Done> = first
        .jobs
        .into_iter()
        .map(|one| Done::new(one.job, Ending::Completed { data: None }, 1))
        .collect();
    let next = bed.jobs.finish_and_claim(&facts, &done, 5).await.unwrap();
    assert_eq!(next.wrote, [Wrote::Written, Wrote::Written]);
    let ids: Vec<&str> = next.claims.jobs.iter().map(|one| one.job.id.as_str()).collect();
    assert_eq!(ids, ["c", "d"]);
    assert_eq!(bed.line("GET bridge:ratelimit:concurrent:t").await, "2");
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0");
});

on_every_store!(a_late_worker_writes_nothing, |store| {
    let bed = bed(store);
    let (early, late) = (worker("early"), worker("late"));
    bed.put(job("t", "a")).await;
    let claimed = bed.claim(&late).await.unwrap();
    bed.line("DEL bridge:jobs:lock:a").await;
    bed.pass(31_000);
    assert_eq!(bed.jobs.reclaim().await.unwrap()[0].became, "waiting");
    assert_eq!(bed.claimed_id(&early).await, "a");
    let before = bed.state().await;
    let wrote = bed.jobs.complete(&late, claimed.job.clone(), None, 1).await.unwrap();
    assert_eq!(wrote, Wrote::Lost);
    let boom = Failure::new("Boom", "");
    assert_eq!(bed.jobs.fail(&late, claimed.job, boom, 1, 0.0).await.unwrap(), Wrote::Lost);
    assert_eq!(bed.state().await, before);
});

on_every_store!(delayed_and_promoted, |store| {
    let bed = bed(store);
    bed.put(job("t", "a").delay(Duration::from_secs(5))).await;
    assert_eq!(bed.status("a").await, "delayed");
    assert_eq!(bed.claimed_id(&worker("w")).await, "-");
    bed.pass(5_000);
    assert_eq!(bed.jobs.promote(10).await.unwrap().0, 1);
    assert_eq!(bed.claimed_id(&worker("w")).await, "a");
});
