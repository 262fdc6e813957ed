//! Sequences: jobs of one name run one after the other, in the order of their dispatch, whatever happens to each.

use std::time::Duration;

use jobs::{Failure, NewJob};
use testkit::on_every_store;

use crate::support::{Bed, bed, job, worker};

fn of(id: &str) -> NewJob {
    job("t", id).sequence("order:42")
}

async fn fill(bed: &Bed, ids: &[&str]) {
    for id in ids {
        bed.put(of(id)).await;
    }
}

on_every_store!(the_next_one_starts_when_the_one_before_has_ended, |store| {
    let bed = bed(store);
    fill(&bed, &["a", "b", "c"]).await;
    bed.put(job("t", "free")).await;
    let facts = worker("w");
    let claims = bed.jobs.claim(&facts, 9).await.unwrap();
    let ids: Vec<_> = claims.jobs.iter().map(|one| one.job.id.clone()).collect();
    assert_eq!(ids, ["a", "free"]);
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0", "no foreign worker can take b");
    let mut running = claims.jobs.into_iter().next().unwrap();
    for next in ["b", "c", "-"] {
        bed.jobs.complete(&facts, running.job, None, 1).await.unwrap();
        let Some(one) = bed.claim(&facts).await else {
            assert_eq!(next, "-");
            break;
        };
        assert_eq!(one.job.id, next);
        running = one;
    }
    // It is over, and begins anew.
    bed.jobs.forget_marks().await.unwrap();
    assert_eq!(bed.line("EXISTS bridge:x:sequences bridge:x:parked").await, "0");
    bed.put(of("d")).await;
    assert_eq!(bed.claimed_id(&facts).await, "d");
});

on_every_store!(a_retry_and_a_delay_hold_the_others, |store| {
    let bed = bed(store);
    bed.put(of("a").delay(Duration::from_secs(5))).await;
    fill(&bed, &["b"]).await;
    let facts = worker("w");
    assert_eq!(bed.claimed_id(&facts).await, "-", "the first one is delayed");
    bed.pass(5_000);
    bed.jobs.promote(10).await.unwrap();
    let one = bed.claim(&facts).await.unwrap();
    bed.jobs.fail(&facts, one.job, Failure::new("Boom", "it broke"), 1, 0.5).await.unwrap();
    assert_eq!(bed.status("a").await, "delayed");
    assert_eq!(bed.claimed_id(&facts).await, "-", "it waits for its retry");
    bed.pass(3_000);
    bed.jobs.promote(10).await.unwrap();
    let one = bed.claim(&facts).await.unwrap();
    assert_eq!(one.job.id, "a");
    // A worker that dies.
    bed.line("DEL bridge:jobs:lock:a").await;
    bed.jobs.reclaim().await.unwrap();
    let one = bed.claim(&facts).await.unwrap();
    assert_eq!((one.job.id.as_str(), bed.claimed_id(&facts).await.as_str()), ("a", "-"));
    // A dead letter lets the next one go.
    bed.jobs.bury("a").await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "b");
});

on_every_store!(one_that_is_taken_out_of_the_middle_lets_nobody_overtake, |store| {
    let bed = bed(store);
    fill(&bed, &["a", "b", "c", "d"]).await;
    let facts = worker("w");
    let first = bed.claim(&facts).await.unwrap();
    bed.jobs.cancel("b").await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "-", "c follows a now");
    bed.jobs.remove("c").await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "-", "d follows a now");
    bed.jobs.complete(&facts, first.job, None, 1).await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "d");
});

on_every_store!(a_sequence_and_dependencies_hold_together, |store| {
    let bed = bed(store);
    bed.put(job("t", "base")).await;
    bed.put(of("a")).await;
    let mut dependent = of("b");
    dependent.depends_on = vec!["base".into()];
    bed.put(dependent).await;
    bed.put(of("c")).await;
    let facts = worker("w");
    let claims = bed.jobs.claim(&facts, 9).await.unwrap().jobs;
    let [base, a] = claims.try_into().unwrap();
    bed.jobs.complete(&facts, a.job, None, 1).await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "-", "b still waits for base");
    // A dependency that fails ends b, and the sequence goes on with c.
    bed.jobs.bury("base").await.unwrap();
    assert_eq!(base.job.id, "base");
    assert_eq!(bed.status("b").await, "failed");
    assert_eq!(bed.claimed_id(&facts).await, "c");
});
