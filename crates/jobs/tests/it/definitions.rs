//! Cron definitions: put, fire, coalesce, correct; a firing happens once however many schedulers try.

use std::sync::Arc;

use jobs::{CronFailed, Done, Ending, Failure, Fired, NewJob, Options, Overlap};
use testkit::on_every_store;

use crate::support::{Bed, NOW, bed, bed_with, job, worker};

fn minutely(id: &str) -> NewJob {
    job("tick", id).cron("* * * * *", None)
}

/// The first full minute after the start.
const FIRST: u64 = NOW - NOW % 60_000 + 60_000;

async fn due(bed: &Bed) -> Vec<(jobs::Job, u64)> {
    bed.jobs.due_crons(10).await.unwrap().0
}

on_every_store!(a_definition_fires_at_its_time_and_runs_like_any_job, |store| {
    let bed = bed(store);
    let (definition, created) = bed.jobs.put_cron(minutely("c")).await.unwrap();
    assert!(created);
    assert_eq!(definition.next_at, Some(FIRST));
    assert!(due(&bed).await.is_empty());
    assert_eq!(bed.jobs.due_crons(10).await.unwrap().1, Some(FIRST));
    bed.pass(60_000);
    let (definition, score) = due(&bed).await.pop().unwrap();
    let fired = bed.jobs.fire_cron(&definition, score, Overlap::Skip).await.unwrap();
    assert_eq!(fired, Fired::Fired);
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[c]");
    assert_eq!(bed.line("ZSCORE bridge:jobs:cron c").await, (FIRST + 60_000).to_string());
    let again = bed.jobs.fire_cron(&definition, score, Overlap::Skip).await.unwrap();
    assert_eq!(again, Fired::Elsewhere);
    let facts = worker("w");
    let claimed = bed.claim(&facts).await.unwrap();
    bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    assert_eq!(bed.status("c").await, "cron");
    assert_eq!(bed.line("TTL bridge:jobs:data:c").await, "-1");
});

on_every_store!(a_firing_is_dropped_while_the_one_before_is_not_over, |store| {
    let bed = bed(store);
    bed.jobs.put_cron(minutely("c")).await.unwrap();
    bed.pass(60_000);
    let (definition, score) = due(&bed).await.pop().unwrap();
    bed.jobs.fire_cron(&definition, score, Overlap::Skip).await.unwrap();
    assert_eq!(bed.jobs.fire_now("c").await.unwrap(), Fired::Coalesced);
    bed.pass(60_000);
    let (definition, score) = due(&bed).await.pop().unwrap();
    let fired = bed.jobs.fire_cron(&definition, score, Overlap::Skip).await.unwrap();
    assert_eq!(fired, Fired::Coalesced);
    assert_eq!(bed.line("LRANGE bridge:jobs:waiting 0 -1").await, "[c]");
    bed.pass(60_000);
    let (definition, score) = due(&bed).await.pop().unwrap();
    let fired = bed.jobs.fire_cron(&definition, score, Overlap::Queue).await.unwrap();
    assert_eq!(fired, Fired::Fired);
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "2");
});

on_every_store!(of_many_schedulers_one_fires, |store| {
    let bed = Arc::new(bed(store));
    for n in 0..10 {
        bed.jobs.put_cron(minutely(&format!("c{n}"))).await.unwrap();
    }
    bed.pass(60_000);
    let racers: Vec<_> = (0..6)
        .map(|_| {
            let bed = bed.clone();
            tokio::spawn(async move {
                let mut fired = 0;
                for (definition, score) in bed.jobs.due_crons(100).await.unwrap().0 {
                    let done =
                        bed.jobs.fire_cron(&definition, score, Overlap::Queue).await.unwrap();
                    fired += usize::from(done == Fired::Fired);
                }
                fired
            })
        })
        .collect();
    let mut total = 0;
    for racer in racers {
        total += racer.await.unwrap();
    }
    assert_eq!(total, 10);
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "10");
});

on_every_store!(missed_firings_are_one_and_a_wrong_time_is_corrected, |store| {
    let bed = bed(store);
    bed.jobs.put_cron(minutely("c")).await.unwrap();
    bed.pass(3_600_000);
    let (definition, score) = due(&bed).await.pop().unwrap();
    let fired = bed.jobs.fire_cron(&definition, score, Overlap::Skip).await.unwrap();
    assert_eq!(fired, Fired::Fired);
    let next: u64 = bed.line("ZSCORE bridge:jobs:cron c").await.parse().unwrap();
    assert_eq!(next, FIRST + 3_600_000, "it goes on from now");
    // As the seed's program schedules: a minute from now, whatever the expression says.
    bed.put(job("t", "v1").cron("0 9 * * *", None)).await;
    let wrong = NOW + 3_600_000 + 60_000;
    bed.line(&format!("ZADD bridge:jobs:cron {wrong} v1")).await;
    bed.pass(60_000);
    let all = due(&bed).await;
    let (definition, score) = all.iter().find(|(job, _)| job.id == "v1").unwrap();
    let fired = bed.jobs.fire_cron(definition, *score, Overlap::Skip).await.unwrap();
    assert_eq!(fired, Fired::Corrected);
    assert_eq!(bed.status("v1").await, "cron");
});

on_every_store!(each_firing_may_be_a_job_of_its_own, |store| {
    let bed = bed_with(store, Options { cron_instances: true, ..Options::default() });
    bed.jobs.put_cron(minutely("c")).await.unwrap();
    bed.pass(60_000);
    let (definition, score) = due(&bed).await.pop().unwrap();
    bed.jobs.fire_cron(&definition, score, Overlap::Skip).await.unwrap();
    let facts = worker("w");
    let claimed = bed.claim(&facts).await.unwrap();
    assert_eq!(claimed.job.id, format!("c:{FIRST}"));
    assert_eq!(claimed.job.x.cron_parent.as_deref(), Some("c"));
    assert!(!claimed.job.is_cron());
    assert_eq!(bed.status("c").await, "cron");
    bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    assert_eq!(bed.jobs.fire_now("c").await.unwrap(), Fired::Fired);
});

on_every_store!(
    a_firing_that_fails_for_good_is_a_dead_letter_and_the_definition_fires_on,
    |store| {
        let bed = bed(store);
        bed.jobs.put_cron(minutely("c").attempts(1)).await.unwrap();
        bed.jobs.run_now("c").await.unwrap();
        let facts = worker("w");
        let claimed = bed.claim(&facts).await.unwrap();
        bed.jobs.fail(&facts, claimed.job, Failure::new("X", ""), 1, 0.0).await.unwrap();
        assert_eq!(bed.status("c").await, "delayed");
        bed.pass(2_000);
        bed.jobs.promote(10).await.unwrap();
        let claimed = bed.claim(&facts).await.unwrap();
        assert_eq!(claimed.job.attempts, 1);
        let dead = Ending::Dead { failure: Failure::new("X", "") };
        bed.jobs.finish(&facts, Done::new(claimed.job, dead, 1)).await.unwrap();
        assert_eq!(bed.status("c").await, "cron");
        let letter = format!("c:{}", NOW + 2_000);
        assert_eq!(bed.line("LRANGE bridge:jobs:deadletter 0 -1").await, format!("[{letter}]"));
        assert_eq!(bed.status(&letter).await, "dead");
        let view = bed.jobs.get(&letter).await.unwrap().unwrap();
        assert_eq!(view.read().unwrap().x.cron_parent.as_deref(), Some("c"));
        assert!(view.result.unwrap().get().contains("\"name\":\"X\""));
        assert_eq!(bed.line("EXISTS bridge:x:cron_failed").await, "0");
        assert_eq!(bed.jobs.fire_now("c").await.unwrap(), Fired::Fired);
        assert_eq!(bed.claim(&facts).await.unwrap().job.attempts, 0);
        // The letter runs again as a job of its own.
        bed.jobs.retry(&letter).await.unwrap();
        let again = bed.claim(&facts).await.unwrap().job;
        assert_eq!(again.id, letter);
        bed.jobs.complete(&facts, again, None, 1).await.unwrap();
        assert_eq!(bed.status(&letter).await, "completed");
    }
);

on_every_store!(a_firing_that_fails_for_good_may_raise_an_alarm_instead, |store| {
    let bed = bed_with(store, Options { cron_failed: CronFailed::Alarm, ..Options::default() });
    bed.jobs.put_cron(minutely("c").attempts(0)).await.unwrap();
    let facts = worker("w");
    let fail = async || {
        assert_eq!(bed.jobs.fire_now("c").await.unwrap(), Fired::Fired);
        let job = bed.claim(&facts).await.unwrap().job;
        bed.jobs.fail(&facts, job, Failure::new("X", ""), 1, 0.0).await.unwrap();
    };
    fail().await;
    assert_eq!(bed.status("c").await, "cron");
    assert_eq!(bed.line("EXISTS bridge:jobs:deadletter").await, "0");
    assert_eq!(bed.line("HGET bridge:x:cron_failed c").await, NOW.to_string());
    bed.jobs.fire_now("c").await.unwrap();
    let job = bed.claim(&facts).await.unwrap().job;
    bed.jobs.complete(&facts, job, None, 1).await.unwrap();
    assert_eq!(bed.line("EXISTS bridge:x:cron_failed").await, "0", "a firing completed");
    fail().await;
    bed.jobs.remove_cron("c").await.unwrap();
    assert_eq!(bed.line("EXISTS bridge:x:cron_failed").await, "0", "the definition is gone");
});

on_every_store!(overlap_is_a_setting_of_the_definition, |store| {
    let bed = bed(store);
    for (new, len) in [(minutely("s"), "1"), (minutely("q").queue_overlaps(), "2")] {
        let id = new.id.clone().unwrap();
        bed.jobs.put_cron(new).await.unwrap();
        for _ in 0..2 {
            bed.jobs.fire_now(&id).await.unwrap();
        }
        assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, len, "{id}");
        bed.line("DEL bridge:jobs:waiting").await;
    }
    let refused = bed.jobs.dispatch(job("t", "x").queue_overlaps()).await.unwrap_err();
    assert_eq!((refused.code(), refused.field()), ("invalid_x", Some("x.overlap")));
});

on_every_store!(a_time_that_the_seeds_program_wrote_is_right_before_it_is_due, |store| {
    let bed = bed(store);
    bed.put(job("t", "daily").cron("0 9 * * *", None)).await;
    bed.put(job("t", "fine").cron("* * * * *", None)).await;
    let right = bed.line("ZSCORE bridge:jobs:cron daily").await;
    // A minute from now, whatever the expression says.
    bed.line(&format!("ZADD bridge:jobs:cron {} daily", NOW + 60_000)).await;
    let mut scheduler = jobs::Scheduler::new(&bed.jobs, Arc::default());
    scheduler.round().await;
    assert_eq!(bed.line("ZSCORE bridge:jobs:cron daily").await, right);
    assert_eq!(bed.line("ZSCORE bridge:jobs:cron fine").await, FIRST.to_string());
    assert_eq!(bed.status("daily").await, "cron");
    assert_eq!(bed.line("LLEN bridge:jobs:waiting").await, "0");
});

on_every_store!(definitions_are_listed_replaced_and_removed, |store| {
    let bed = bed(store);
    bed.put(job("t", "plain")).await;
    assert_eq!(bed.jobs.put_cron(minutely("plain")).await.unwrap_err().code(), "job_exists");
    assert_eq!(bed.jobs.put_cron(job("t", "none")).await.unwrap_err().code(), "invalid_cron");
    bed.jobs.put_cron(minutely("b")).await.unwrap();
    let (_, created) = bed.jobs.put_cron(job("tick", "b").cron("0 0 * * *", None)).await.unwrap();
    assert!(!created);
    bed.jobs.put_cron(minutely("a")).await.unwrap();
    let all = bed.jobs.crons(0, 10).await.unwrap();
    let ids: Vec<&str> = all.iter().map(|one| one.job.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    bed.jobs.remove_cron("a").await.unwrap();
    assert!(bed.jobs.cron("a").await.unwrap().is_none());
    assert_eq!(bed.jobs.remove_cron("plain").await.unwrap_err().code(), "not_found");
    // A definition that a foreign program broke is set aside.
    bed.line("SET bridge:jobs:data:b nonsense").await;
    bed.line("ZADD bridge:jobs:cron 5 b 6 ghost").await;
    assert!(due(&bed).await.is_empty());
    assert_eq!(bed.line("ZCARD bridge:jobs:cron").await, "0");
    assert_eq!(bed.status("b").await, "dead");
});

on_every_store!(many_who_replace_one_definition_at_once_are_all_served, |store| {
    let bed = bed(store);
    let all: Vec<_> = (0..40)
        .map(|n| {
            let jobs = bed.jobs.clone();
            let new = job("tick", "c").cron(format!("{n} 3 * * *"), None);
            tokio::spawn(async move { jobs.put_cron(new).await })
        })
        .collect();
    let mut made = 0;
    for one in all {
        let (definition, is_new) = one.await.unwrap().unwrap();
        assert_eq!(definition.job.id, "c");
        made += usize::from(is_new);
    }
    assert_eq!(made, 1, "one makes it, the others replace it");
});
