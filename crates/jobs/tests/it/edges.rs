//! Edges of the store: keys of the wrong type, Clusters, namespaces with braces, and how many trips a job takes.

use std::sync::Arc;

use jobs::{Done, Ending, Error, Failure, Jobs, Options, Registration, Wrote};
use kernel::FakeClock;
use kernel::keyspace::Layout;
use testkit::{Recorder, on_cluster, on_every_store};

use crate::support::{Bed, NOW, bed, job, worker};

on_every_store!(a_key_of_the_wrong_type_is_named_and_nothing_is_touched, |store| {
    for (key, set) in [
        ("bridge:jobs:waiting", true),
        ("bridge:jobs:active", false),
        ("bridge:x:claimed", true),
        ("bridge:events:stream", true),
        ("bridge:jobs:delayed", true),
        ("bridge:jobs:deadletter", true),
    ] {
        let bed = bed(store.clone());
        bed.line("FLUSHALL").await;
        let facts = worker("w");
        bed.put(job("t", "a")).await;
        bed.put(job("t", "b")).await;
        let claimed = bed.claim(&facts).await.unwrap();
        bed.ask(&["DEL", key]).await;
        if set {
            bed.ask(&["SADD", key, "m"]).await;
        } else {
            bed.ask(&["RPUSH", key, "m"]).await;
        }
        let before = bed.state().await;
        let failure = || Failure::new("Error", "boom");
        // Each with an ending that touches it.
        let ending = match key {
            "bridge:jobs:delayed" => Ending::after(&claimed.job, failure(), NOW, 1_000),
            "bridge:jobs:deadletter" => Ending::Dead { failure: failure() },
            _ => Ending::Completed { data: None },
        };
        let done = Done::new(claimed.job, ending, 1);
        let error = bed.jobs.finish_and_claim(&facts, &[done], 1).await.unwrap_err();
        assert!(
            matches!(&error, Error::WrongType { key: named, .. } if named == key),
            "{key}: {error:?}"
        );
        assert_eq!(bed.state().await, before, "{key}");
    }
});

on_every_store!(a_dispatch_into_a_wrong_type_touches_nothing, |store| {
    let bed = bed(store);
    bed.line("SADD bridge:jobs:waiting m").await;
    let before = bed.state().await;
    let error = bed.jobs.dispatch(job("t", "a")).await.unwrap_err();
    assert_eq!(error.code(), "wrong_type");
    assert_eq!(bed.state().await, before);
    bed.line("DEL bridge:jobs:waiting").await;
    bed.line("SADD bridge:jobs:delayed m").await;
    let before = bed.state().await;
    let later = job("t", "a").delay(std::time::Duration::from_secs(1));
    assert!(bed.jobs.dispatch_many(vec![job("t", "b"), later]).await.is_err());
    assert_eq!(bed.state().await, before);
});

on_every_store!(a_lock_or_a_job_of_the_wrong_type_blocks_nobody, |store| {
    let bed = bed(store);
    bed.line("RPUSH bridge:jobs:waiting odd locked").await;
    bed.line("HSET bridge:jobs:data:odd f v").await;
    bed.put(job("t", "good")).await;
    assert_eq!(bed.claimed_id(&worker("w")).await, "good");
    assert!(bed.jobs.quarantine("odd").await.unwrap());
    assert_eq!(bed.status("odd").await, "dead");
});

on_every_store!(a_worker_makes_one_trip_per_job, |store| {
    let wire = Recorder::new(store);
    let bed = bed(wire.clone());
    let facts = worker("w");
    for n in 0..3 {
        bed.put(job("t", &format!("j{n}"))).await;
    }
    let mut claims = bed.jobs.claim(&facts, 1).await.unwrap();
    wire.take();
    while let Some(one) = claims.jobs.pop() {
        let done = Done::new(one.job, Ending::Completed { data: None }, 1);
        let finished = bed.jobs.finish_and_claim(&facts, &[done], 1).await.unwrap();
        assert_eq!(finished.wrote, [Wrote::Written]);
        claims = finished.claims;
    }
    let calls: Vec<String> = wire
        .take()
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(calls, ["SCRIPT finish_and_claim"; 3]);
    bed.put(job("t", "later").unique("k", std::time::Duration::from_mins(1))).await;
    assert_eq!(bed.claimed_id(&facts).await, "later");
});

/// Every kind of step, on whatever keys the namespace has.
async fn whole_life(bed: &Bed) {
    let facts = worker("w");
    bed.jobs.register(&facts, &Registration::default()).await.unwrap();
    bed.put(job("t", "a").unique("k", std::time::Duration::from_mins(1))).await;
    bed.put(job("t", "b").depends_on("a")).await;
    bed.put(job("t", "later").delay(std::time::Duration::from_secs(1))).await;
    bed.jobs.put_cron(job("c", "cron").cron("* * * * *", None)).await.unwrap();
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.renew(&facts, &["a"]).await.unwrap();
    bed.jobs.progress(&facts, "a", &jobs::Progress::default()).await.unwrap();
    bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    assert_eq!(bed.claimed_id(&facts).await, "b");
    bed.pass(60_000);
    assert_eq!(bed.jobs.promote(10).await.unwrap().0, 1);
    let (due, _) = bed.jobs.due_crons(10).await.unwrap();
    bed.jobs.fire_cron(&due[0].0, due[0].1, jobs::Overlap::Skip).await.unwrap();
    bed.jobs.bury("b").await.unwrap();
    bed.jobs.dlq_requeue(&jobs::Pick::All).await.unwrap();
    bed.jobs.cancel("b").await.unwrap();
    bed.jobs.pause("t", None).await.unwrap();
    bed.jobs.resume("t").await.unwrap();
    let seen = jobs::Sightings::default();
    bed.jobs.reclaim().await.unwrap();
    bed.jobs.reconcile(&seen).await.unwrap();
    bed.jobs.sweep_active(&seen).await.unwrap();
    bed.jobs.sweep_orphans(&seen, 100).await.unwrap();
    let all = bed.jobs.list(&jobs::ListQuery::default()).await.unwrap();
    assert_eq!(all.items.len(), 4);
    assert_eq!(bed.jobs.stats().await.unwrap().workers, 1);
    bed.jobs.unregister(&facts, &Registration::default()).await.unwrap();
}

fn at(store: Arc<dyn kernel::Store>, ns: &str, layout: Layout) -> Result<Bed, Error> {
    let clock = FakeClock::at(NOW);
    let made = Jobs::new(store.clone(), Arc::new(clock.clone()), ns, layout, Options::default());
    made.map(|jobs| Bed { jobs, clock, store })
}

on_every_store!(a_namespace_of_its_own_shares_nothing, |store| {
    let mine = at(store.clone(), "mine", Layout::Plain).unwrap();
    let tagged = at(store.clone(), "mine", Layout::Tagged).unwrap();
    let braces = at(store, "{yours}.x", Layout::Plain).unwrap();
    whole_life(&mine).await;
    whole_life(&tagged).await;
    whole_life(&braces).await;
    assert_ne!(mine.line("EXISTS {mine}:events:stream").await, "0");
    assert_ne!(mine.line("EXISTS {yours}.x:events:stream").await, "0");
});

on_cluster!(a_cluster_needs_a_hash_tag, |store, _cluster| {
    let refused = at(store.clone(), "bridge", Layout::Plain).err().unwrap();
    assert_eq!(refused, Error::NeedsTag("bridge".into()));
    assert!(refused.to_string().contains("--layout tagged"), "{refused}");
    whole_life(&at(store.clone(), "bridge", Layout::Tagged).unwrap()).await;
    whole_life(&at(store, "{other}", Layout::Plain).unwrap()).await;
});

#[test]
fn every_key_has_the_seeds_bytes() {
    let keys = jobs::keys::Keys::new(Layout::Plain);
    let built = [
        keys.worker("bridge", "worker-1").unwrap(),
        keys.heartbeat("bridge", "worker-1").unwrap(),
        keys.workers_active("bridge").unwrap(),
        keys.data("bridge", "a").unwrap(),
        keys.status("bridge", "a").unwrap(),
        keys.result("bridge", "a").unwrap(),
        keys.lock("bridge", "a").unwrap(),
        keys.progress("bridge", "a").unwrap(),
        keys.waiting("bridge").unwrap(),
        keys.active("bridge").unwrap(),
        keys.delayed("bridge").unwrap(),
        keys.cron("bridge").unwrap(),
        keys.deadletter("bridge").unwrap(),
        keys.concurrent("bridge", "email").unwrap(),
        keys.minute("bridge", "email").unwrap(),
        keys.paused("bridge").unwrap(),
        keys.scheduler_lock("bridge").unwrap(),
    ];
    let built: Vec<&str> = built.iter().map(kernel::keyspace::Key::as_str).collect();
    assert_eq!(
        built,
        [
            "bridge:workers:worker-1",
            "bridge:workers:heartbeat:worker-1",
            "bridge:workers:active",
            "bridge:jobs:data:a",
            "bridge:jobs:status:a",
            "bridge:jobs:result:a",
            "bridge:jobs:lock:a",
            "bridge:jobs:progress:a",
            "bridge:jobs:waiting",
            "bridge:jobs:active",
            "bridge:jobs:delayed",
            "bridge:jobs:cron",
            "bridge:jobs:deadletter",
            "bridge:ratelimit:concurrent:email",
            "bridge:ratelimit:minute:email",
            "bridge:queues:paused",
            "bridge:scheduler:lock",
        ]
    );
}
