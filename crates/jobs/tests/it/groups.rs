//! Groups: fair turns, limits for each, and a list that other programs may use as they like.

use std::time::Duration;

use jobs::{Claimed, Limit, NewJob, Target, WorkerFacts};
use testkit::on_every_store;

use crate::support::{Bed, bed, job, worker};

fn of(group: &str, n: usize) -> NewJob {
    job("mail", &format!("{group}{n}")).group(group)
}

async fn fill(bed: &Bed, groups: &[(&str, usize)]) {
    let all = groups.iter().flat_map(|(group, count)| (0..*count).map(move |n| of(group, n)));
    for part in all.collect::<Vec<_>>().chunks(500) {
        for answer in bed.jobs.dispatch_many(part.to_vec()).await.unwrap() {
            answer.unwrap();
        }
    }
}

async fn take(bed: &Bed, facts: &WorkerFacts, count: usize) -> Vec<Claimed> {
    bed.jobs.claim(facts, count).await.unwrap().jobs
}

fn ids(jobs: &[Claimed]) -> String {
    jobs.iter().map(|one| one.job.id.as_str()).collect::<Vec<_>>().join(" ")
}

on_every_store!(groups_take_turns_however_much_one_of_them_sends, |store| {
    let bed = bed(store);
    fill(&bed, &[("a", 2_000), ("b", 3)]).await;
    bed.put(job("mail", "plain")).await;
    bed.put(of("c", 0)).await;
    let mut order = Vec::new();
    for n in 0..8 {
        order.push(ids(&take(&bed, &worker(&format!("w{n}")), 1).await));
    }
    assert_eq!(order.join(" "), "a0 b0 c0 a1 b1 a2 b2 a3");
    assert_eq!(
        bed.line("LLEN bridge:jobs:waiting").await,
        "1997",
        "all others are in the seed's list"
    );
    assert_eq!(bed.status("b2").await, "active");
    assert_eq!(bed.status("a4").await, "waiting");
});

on_every_store!(a_job_that_comes_back_joins_its_line_at_once, |store| {
    let bed = bed(store);
    bed.put(of("b", 0)).await;
    bed.put(of("c", 0).delay(Duration::from_secs(5))).await;
    let retried = take(&bed, &worker("w"), 1).await.pop().unwrap();
    fill(&bed, &[("a", 300)]).await;
    bed.jobs.bury("b0").await.unwrap();
    assert_eq!(retried.job.id, "b0");
    bed.jobs.retry("b0").await.unwrap();
    bed.pass(5_000);
    bed.jobs.promote(10).await.unwrap();
    // Both stand behind 300 jobs of another group, and have their turns all the same.
    assert_eq!(ids(&take(&bed, &worker("w"), 4).await), "a0 b0 c0 a1");
});

on_every_store!(a_limit_counts_what_runs_already, |store| {
    let bed = bed(store);
    fill(&bed, &[("a", 5), ("b", 5)]).await;
    let facts = worker("w");
    let mut running = take(&bed, &facts, 6).await;
    assert_eq!(ids(&running), "a0 b0 a1 b1 a2 b2");
    bed.jobs.limit_group("a", Limit::concurrency(3)).await.unwrap();
    bed.jobs.limit_group("*", Limit::concurrency(4)).await.unwrap();
    assert_eq!(ids(&take(&bed, &facts, 9).await), "b3", "three of a run, and one more of b may");
    bed.jobs.complete(&facts, running.remove(0).job, None, 1).await.unwrap();
    assert_eq!(ids(&take(&bed, &facts, 9).await), "a3");
});

on_every_store!(many_at_once_take_the_same_turns, |store| {
    let bed = bed(store);
    fill(&bed, &[("a", 6), ("b", 3), ("c", 1)]).await;
    assert_eq!(ids(&take(&bed, &worker("w"), 20).await), "a0 b0 c0 a1 b1 a2 b2 a3 a4 a5");
    assert_eq!(bed.line("EXISTS bridge:jobs:waiting bridge:x:groups bridge:x:group:a").await, "0");
});

on_every_store!(a_group_runs_no_more_at_once_than_its_limit, |store| {
    let bed = bed(store);
    fill(&bed, &[("a", 200), ("b", 4), ("c", 4)]).await;
    bed.jobs.limit_group("*", Limit::concurrency(1)).await.unwrap();
    bed.jobs.limit_group("b", Limit::concurrency(2)).await.unwrap();
    let facts = worker("w");
    let mut held = take(&bed, &facts, 20).await;
    assert_eq!(ids(&held), "a0 b0 c0 b1");
    assert_eq!(ids(&take(&bed, &facts, 20).await), "");
    let claims = bed.jobs.claim(&worker("idle"), 1).await.unwrap();
    assert_eq!((claims.jobs.len(), claims.scan.scanned), (0, 0), "an idle poll reads nothing");
    let why = bed.jobs.explain("a1").await.unwrap();
    assert!(why.reasons.iter().any(|one| one.code == "group" && one.stops), "{why:?}");
    bed.jobs.complete(&facts, held.remove(0).job, None, 1).await.unwrap();
    assert_eq!(ids(&take(&bed, &facts, 20).await), "a1", "the place of a is free");
    // A worker that dies gives the place back when its job is taken back.
    bed.line("DEL bridge:jobs:lock:c0").await;
    bed.jobs.reclaim().await.unwrap();
    assert!(ids(&take(&bed, &facts, 20).await).starts_with('c'));
    let groups = bed.jobs.groups().await.unwrap();
    let told: Vec<_> = groups.iter().map(|one| (&*one.group, one.limit.is_some())).collect();
    assert_eq!(told, [("*", true), ("a", false), ("b", true), ("c", false)]);
    bed.jobs.limit_group("*", Limit::default()).await.unwrap();
    bed.jobs.limit_group("b", Limit::default()).await.unwrap();
    assert_eq!(take(&bed, &facts, 8).await.len(), 8);
});

on_every_store!(a_group_starts_no_more_in_a_period_than_its_rate, |store| {
    let bed = bed(store);
    fill(&bed, &[("a", 5), ("b", 1)]).await;
    bed.jobs.limit_group("a", Limit::rate(2, 10_000)).await.unwrap();
    let facts = worker("w");
    assert_eq!(ids(&take(&bed, &facts, 20).await), "a0 b0 a1");
    bed.pass(9_999);
    assert_eq!(ids(&take(&bed, &facts, 20).await), "");
    bed.pass(1);
    assert_eq!(ids(&take(&bed, &facts, 20).await), "a2 a3");
});

on_every_store!(other_programs_take_from_the_list_and_put_into_it, |store| {
    let bed = bed(store);
    fill(&bed, &[("a", 3), ("b", 3)]).await;
    // As a foreign worker pops, and as one takes a job from the middle.
    assert_eq!(bed.line("LPOP bridge:jobs:waiting").await, "a0");
    bed.line("LREM bridge:jobs:waiting 1 b0").await;
    // A foreign producer knows no lines; the claim enters what it meets.
    let text =
        bed.line("GET bridge:jobs:data:b1").await.replace("b1", "x1").replace("\"b\"", "\"x\"");
    bed.ask(&["SET", "bridge:jobs:data:x1", &text]).await;
    bed.line("RPUSH bridge:jobs:waiting x1").await;
    bed.line("DEL bridge:x:groups bridge:x:group:a").await;
    let got = ids(&take(&bed, &worker("w"), 20).await);
    let mut sorted: Vec<&str> = got.split(' ').collect();
    sorted.sort_unstable();
    assert_eq!(sorted, ["a1", "a2", "b1", "b2", "x1"], "each once, none lost: {got}");
    assert_eq!(bed.line("EXISTS bridge:jobs:waiting bridge:x:groups").await, "0");
});

on_every_store!(a_turn_goes_to_a_job_that_the_worker_may_run, |store| {
    let bed = bed(store);
    bed.put(of("a", 0).target(Target::any().capability("gpu"))).await;
    bed.put(of("a", 1)).await;
    bed.put(of("b", 0)).await;
    bed.jobs.pause("other", None).await.unwrap();
    bed.put(job("other", "c0").group("c")).await;
    assert_eq!(ids(&take(&bed, &worker("w"), 20).await), "a1 b0");
    assert_eq!(ids(&take(&bed, &worker("g").capabilities(["gpu"]), 20).await), "a0");
    bed.jobs.resume("other").await.unwrap();
    assert_eq!(ids(&take(&bed, &worker("w"), 20).await), "c0");
});

on_every_store!(names_that_cannot_be_are_refused, |store| {
    let bed = bed(store);
    for name in ["", "*", "a\nb", "acme:limit", &"x".repeat(129)] {
        assert!(bed.jobs.dispatch(job("t", "a").group(name)).await.is_err(), "{name:?}");
        assert!(bed.jobs.dispatch(job("t", "a").sequence(name)).await.is_err(), "{name:?}");
    }
    assert!(bed.jobs.limit_group("a\nb", Limit::concurrency(1)).await.is_err());
    assert_eq!(bed.state().await, "\n");
});
