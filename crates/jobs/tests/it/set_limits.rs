//! Limits that are set on types at run time: every worker obeys them, over any period, until they are taken away.

use jobs::{Error, Limit};
use testkit::on_every_store;

use crate::support::{Bed, bed, job, worker};

async fn fill(bed: &Bed, count: usize) {
    for n in 0..count {
        bed.put(job("mail", &format!("m{n}"))).await;
    }
}

async fn claimed(bed: &Bed, who: &str, count: usize) -> usize {
    bed.jobs.claim(&worker(who), count).await.unwrap().jobs.len()
}

on_every_store!(a_limit_on_a_type_binds_every_worker_at_once, |store| {
    let bed = bed(store);
    fill(&bed, 10).await;
    bed.put(job("other", "free")).await;
    let limit = Limit::concurrency(3);
    assert_eq!(bed.jobs.limit("mail", limit).await.unwrap(), (Some(limit), true));
    assert_eq!(bed.jobs.limit("mail", limit).await.unwrap(), (Some(limit), false), "so already");
    let one = worker("w1");
    let mut held = bed.jobs.claim(&one, 2).await.unwrap().jobs;
    assert_eq!(claimed(&bed, "w2", 5).await, 2, "one of mail and the free one");
    assert_eq!(claimed(&bed, "w3", 5).await, 0);
    bed.jobs.complete(&one, held.remove(0).job, None, 1).await.unwrap();
    assert_eq!(claimed(&bed, "w3", 5).await, 1);
    let why = bed.jobs.explain("m9").await.unwrap();
    assert!(why.reasons.iter().any(|one| one.code == "concurrent" && one.stops), "{why:?}");
    assert_eq!(bed.jobs.limit("mail", Limit::default()).await.unwrap(), (None, true));
    assert_eq!(claimed(&bed, "w3", 9).await, 6, "nothing holds them any more");
    assert_eq!(bed.line("EXISTS bridge:x:limits bridge:x:rate:mail").await, "0");
});

on_every_store!(a_rate_holds_in_every_stretch_of_its_period, |store| {
    let bed = bed(store);
    fill(&bed, 10).await;
    bed.jobs.limit("mail", Limit::rate(3, 10_000)).await.unwrap();
    assert_eq!(claimed(&bed, "w1", 2).await, 2);
    bed.pass(6_000);
    assert_eq!(claimed(&bed, "w2", 5).await, 1, "three in this stretch of ten seconds");
    bed.pass(3_999);
    assert_eq!(claimed(&bed, "w1", 5).await, 0);
    let why = bed.jobs.explain("m9").await.unwrap();
    assert!(why.reasons.iter().any(|one| one.code == "rate" && one.stops), "{why:?}");
    let queues = bed.jobs.queues().await.unwrap().items;
    assert_eq!((queues[0].limit, queues[0].this_period), (Some(Limit::rate(3, 10_000)), 3));
    bed.pass(1);
    assert_eq!(claimed(&bed, "w1", 5).await, 2, "the first two are ten seconds old");
    // The same over a long period, and together with a concurrency.
    bed.jobs
        .limit("mail", Limit { concurrency: Some(6), ..Limit::rate(100, 86_400_000) })
        .await
        .unwrap();
    assert_eq!(claimed(&bed, "w1", 9).await, 1, "five run already");
});

on_every_store!(a_limit_that_cannot_be_is_refused_and_changes_nothing, |store| {
    let bed = bed(store);
    for (limit, field) in [
        (Limit::concurrency(0), "concurrency"),
        (Limit::rate(0, 1_000), "rate"),
        (Limit::rate(200_000, 1_000), "rate"),
        (Limit::rate(1, 0), "periodMs"),
        (Limit { period_ms: Some(5), ..Limit::concurrency(1) }, "rate"),
    ] {
        match bed.jobs.limit("mail", limit).await.unwrap_err() {
            Error::Invalid { def, field: named, .. } if def == jobs::refusal::INVALID_LIMIT => {
                assert_eq!(named, field);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(bed.jobs.limit("", Limit::concurrency(1)).await.is_err());
    assert_eq!(bed.state().await, "\n");
    assert_eq!(
        bed.jobs.limit("mail", Limit { rate: Some(5), ..Limit::default() }).await.unwrap().0,
        Some(Limit::rate(5, 60_000))
    );
});

on_every_store!(a_stored_limit_that_nobody_can_read_limits_nothing, |store| {
    let bed = bed(store);
    for text in ["", "{", "[]", r#"{"concurrency":"1","rate":null}"#, "7"] {
        bed.ask(&["HSET", "bridge:x:limits", "mail", text]).await;
        bed.put(job("mail", "a")).await;
        assert_eq!(bed.claimed_id(&worker("w")).await, "a", "{text}");
        bed.line("FLUSHALL").await;
    }
    // Keys of another type: nothing is limited, and claims go on.
    bed.jobs.limit("mail", Limit::rate(1, 1_000)).await.unwrap();
    bed.line("SET bridge:x:rate:mail x").await;
    bed.put(job("mail", "a")).await;
    assert_eq!(bed.claimed_id(&worker("w")).await, "a");
});
