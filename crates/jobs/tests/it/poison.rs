//! A job that kills every worker it meets: it is dead after as many recoveries as are allowed, and the others go on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jobs::{Jobs, NewJob, Options, Scheduler};
use kernel::{Store, SystemClock};
use testkit::on_every_address;

use crate::hands::{error_name, int, options, queue_with, status};
use crate::torture::{Process, long, runtime};

/// Slots of each of the three workers, and how long a job takes: 600 in a second at most.
const SLOTS: usize = 4;
const MS: u64 = 20;

/// Workers that are started again when they die, as a supervisor does.
struct Team {
    url: String,
    recoveries: u32,
    members: Vec<Process>,
    deaths: usize,
}

impl Team {
    fn new(url: &str, recoveries: u32) -> Team {
        let start = |n| Process::start_with(url, &format!("w-{n}"), SLOTS, MS, recoveries);
        let members = (0..3).map(start).collect();
        Team { url: url.to_owned(), recoveries, members, deaths: 0 }
    }

    fn tend(&mut self) {
        for member in &mut self.members {
            if member.is_over() {
                self.deaths += 1;
                let id = format!("after-{}", self.deaths);
                *member = Process::start_with(&self.url, &id, SLOTS, MS, self.recoveries);
            }
        }
    }
}

async fn effects(store: &dyn Store) -> i64 {
    int(store, &["SCARD", "effects"]).await
}

/// Keeps enough jobs waiting and counts how many are done in that time.
async fn work_for(jobs: &Jobs, store: &dyn Store, team: &mut Team, time: Duration) -> i64 {
    let (start, before) = (Instant::now(), effects(store).await);
    while start.elapsed() < time {
        if jobs.stats().await.unwrap().waiting < 500 {
            let lot = (0..500).map(|n| NewJob::new("work", &n)).collect();
            jobs.dispatch_many(lot).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        team.tend();
    }
    effects(store).await - before
}

#[test]
fn a_job_that_kills_its_workers_dies_and_the_others_go_on() {
    // A lock lasts five seconds, so each death costs five and a second more.
    let recoveries = if long() { 3 } else { 0 };
    let time = Duration::from_secs(if long() { 30 } else { 3 });
    on_every_address("a_job_that_kills_its_workers_dies_and_the_others_go_on", |url| {
        runtime().block_on(async {
            let store = testkit::open(url).await;
            let options = Options { max_recoveries: recoveries, ..options() };
            let jobs = queue_with(&store, Arc::new(SystemClock::new()), options);
            let scheduler = Scheduler::new(&jobs, Arc::default()).run_until(std::future::pending());
            let scheduler = tokio::spawn(scheduler);
            let mut team = Team::new(url, recoveries);
            work_for(&jobs, &*store, &mut team, Duration::from_secs(1)).await;
            let without = work_for(&jobs, &*store, &mut team, time).await;
            let poison = NewJob::new("poison", &1).priority(9);
            let poison = jobs.dispatch(poison).await.unwrap().job.id;
            let with = work_for(&jobs, &*store, &mut team, time).await;
            let began = Instant::now();
            while status(&jobs, &poison).await != "dead" {
                assert!(began.elapsed() < Duration::from_mins(1), "it is not dead yet");
                tokio::time::sleep(Duration::from_millis(20)).await;
                team.tend();
            }
            assert_eq!(error_name(&jobs, &poison).await, "WorkerLost");
            assert_eq!(team.deaths, 1 + recoveries as usize, "once, and once per recovery");
            #[allow(clippy::cast_precision_loss)]
            let share = with as f64 / without as f64;
            println!(
                "poison killed {} workers and is dead; others did {without} jobs in {time:?} without it and \
                 {with} with it ({share:.2}): PASS",
                team.deaths
            );
            // Half of the machine may be somebody else's during the short form.
            assert!(share > if long() { 0.9 } else { 0.5 }, "throughput fell to {share:.2}");
            scheduler.abort();
        });
    });
}
