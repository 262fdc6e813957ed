//! `worldkeep-bench jobs`: dispatch, process and pick up no-op jobs, on one Redis, beside `BullMQ` and bee-queue, with
//! repetitions taken in turns, so that what the machine does meanwhile meets all alike.

mod ours;
mod packages;

use std::sync::Arc;
use std::time::Duration;

use jobs::{Jobs, NewJob, Options, Target};
use kernel::{Cmd, Deadline, Store, reply};

use super::own_redis::OwnRedis;
use super::peers::{Peers, Said};
use super::stats::median;
use super::{Figure, Tell};
use ours::{
    KIND, claimed_in, dispatch_bulk, dispatch_each, dispatch_limited, open, pickup, told, work_off,
};

/// How much to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Repetitions, of which the median counts.
    pub(crate) rounds: usize,
    /// Jobs of the shorter measurements; the longer ones take ten times as many.
    pub(crate) count: usize,
    /// Waiting jobs of the measurement with a long queue.
    pub(crate) long: usize,
}

/// All figures of jobs.
pub(crate) async fn run(size: Size, tell: &mut Tell<'_>) -> Result<(), String> {
    let redis = OwnRedis::start()
        .ok_or("redis-server does not start; install it (apt-get install redis-server)")?;
    let store = redis.open().await.ok_or("redis-server does not answer")?;
    let port = redis.url().rsplit(':').next().unwrap_or_default().to_owned();
    let peers = Peers::ready("queues", "queues.mjs")?;
    let bench = Bench { store, peers, port, size };
    bench.dispatching(tell).await?;
    bench.processing(tell).await?;
    bench.picking_up(tell).await?;
    bench.embedded(tell).await?;
    bench.memory(tell).await?;
    bench.long_queue(tell).await?;
    bench.unroutable(tell).await?;
    bench.limited(tell).await?;
    bench.packages(tell)
}

struct Bench {
    store: Arc<dyn Store>,
    peers: Peers,
    port: String,
    size: Size,
}

/// Three measured in turns: ours, `BullMQ`, bee-queue.
#[derive(Default)]
struct Three {
    ours: Vec<Said>,
    bullmq: Vec<Said>,
    bee: Vec<Said>,
}

impl Bench {
    fn queue(&self, options: Options) -> Result<Jobs, String> {
        open(Arc::clone(&self.store), options)
    }

    async fn clear(&self) -> Result<(), String> {
        ask(&*self.store, &["FLUSHALL"]).await.map(drop)
    }

    fn peer(&self, which: &str, task: &str, count: usize, slots: usize) -> Result<Said, String> {
        let (count, slots) = (count.to_string(), slots.to_string());
        self.peers.run(&[which, &self.port, task, &count, &slots])
    }

    /// CPU of the server and time of some work on `count` jobs.
    async fn timed(
        &self,
        count: usize,
        work: impl Future<Output = Result<Duration, String>>,
    ) -> Result<Said, String> {
        let cpu = server_cpu_us(&*self.store).await?;
        let seconds = work.await?.as_secs_f64();
        let cpu = server_cpu_us(&*self.store).await? - cpu;
        Ok(Said { per_s: number(count) / seconds, cpu_us: cpu / number(count), ..Said::default() })
    }

    async fn dispatching(&self, tell: &mut Tell<'_>) -> Result<(), String> {
        let (mut one, mut bulk) = (Three::default(), Three::default());
        let (few, many) = (self.size.count, self.size.count * 10);
        for _ in 0..self.size.rounds {
            let jobs = self.queue(Options::default())?;
            self.clear().await?;
            one.ours.push(self.timed(few, dispatch_each(&jobs, few)).await?);
            self.clear().await?;
            bulk.ours.push(self.timed(many, dispatch_bulk(&jobs, many)).await?);
            for (which, one, bulk) in [
                ("bullmq", &mut one.bullmq, &mut bulk.bullmq),
                ("bee", &mut one.bee, &mut bulk.bee),
            ] {
                one.push(self.peer(which, "one", few, 1)?);
                bulk.push(self.peer(which, "bulk", many, 1)?);
            }
        }
        one.figures(tell, "dispatch one by one", Some(2.5), None);
        bulk.figures(tell, "dispatch in bulk", Some(4.0), None);
        Ok(())
    }

    async fn processing(&self, tell: &mut Tell<'_>) -> Result<(), String> {
        // The others remove a job and what came of it at its end, and so do we here; by default ours stay for a day.
        let removed = Options { retention_s: 0, result_ttl_s: 0, ..Options::default() };
        for (slots, count, bars) in
            [(1, self.size.count * 2, (2.0, None)), (100, self.size.count * 10, (3.0, Some(1.5)))]
        {
            let (mut three, mut kept) = (Three::default(), Vec::new());
            for _ in 0..self.size.rounds {
                three.ours.push(self.worked(&removed, count, slots).await?);
                three.bullmq.push(self.peer("bullmq", "work", count, slots)?);
                three.bee.push(self.peer("bee", "work", count, slots)?);
                kept.push(self.worked(&Options::default(), count, slots).await?);
            }
            let what = format!("process, concurrency {slots}");
            three.figures(tell, &what, Some(bars.0), bars.1);
            let ratio_kept = ratio(&kept, &three.bullmq, |said| said.per_s);
            tell(Figure::plain(format!("{what}, kept for a day, to BullMQ"), ratio_kept, "×"));
            if slots == 100 {
                let ratio = ratio(&kept, &three.bullmq, |said| said.cpu_us);
                tell(Figure::plain(
                    "Redis CPU per job, ours, kept for a day",
                    median(kept.iter().map(|said| said.cpu_us)),
                    "µs",
                ));
                tell(Figure::at_most("Redis CPU per job, ours to BullMQ", ratio, "×", 0.6));
            }
        }
        Ok(())
    }

    /// The jobs worked off on an empty store.
    async fn worked(&self, options: &Options, count: usize, slots: usize) -> Result<Said, String> {
        self.clear().await?;
        let jobs = self.queue(options.clone())?;
        dispatch_bulk(&jobs, count).await?;
        self.timed(count, work_off(&jobs, count, slots)).await
    }

    async fn picking_up(&self, tell: &mut Tell<'_>) -> Result<(), String> {
        let count = 200;
        let mut three = Three::default();
        for _ in 0..self.size.rounds {
            self.clear().await?;
            three.ours.push(pickup(&self.queue(Options::default())?, count).await?);
            three.bullmq.push(self.peer("bullmq", "pickup", count, 1)?);
            three.bee.push(self.peer("bee", "pickup", count, 1)?);
        }
        let p50 = |all: &[Said]| median(all.iter().map(|said| said.p50_ms));
        tell(Figure::plain("pick-up p50, ours", p50(&three.ours), "ms"));
        tell(Figure::plain("pick-up p50, BullMQ", p50(&three.bullmq), "ms"));
        let p50 = ratio(&three.ours, &three.bee, |said| said.p50_ms);
        tell(Figure::at_most("pick-up p50, ours to bee-queue", p50, "×", 1.1));
        let p99 = ratio(&three.ours, &three.bee, |said| said.p99_ms);
        tell(Figure::at_most("pick-up p99, ours to bee-queue", p99, "×", 2.0));
        Ok(())
    }

    async fn embedded(&self, tell: &mut Tell<'_>) -> Result<(), String> {
        let count = self.size.count * 5;
        let (mut ours, mut peer) = (Vec::new(), Vec::new());
        for _ in 0..self.size.rounds {
            let jobs = open(link::Embedded::memory().store(), Options::default())?;
            dispatch_bulk(&jobs, count).await?;
            let per_s = number(count) / work_off(&jobs, count, 1).await?.as_secs_f64();
            ours.push(Said { per_s, ..Said::default() });
            peer.push(self.peer("bullmq", "work", self.size.count * 2, 1)?);
        }
        let per_s = median(ours.iter().map(|said| said.per_s));
        tell(Figure::plain("embedded engine, concurrency 1", per_s, "jobs/s"));
        let ratio = ratio(&ours, &peer, |said| said.per_s);
        tell(Figure::at_least("embedded, ours to BullMQ on Redis", ratio, "×", 6.0));
        Ok(())
    }

    async fn memory(&self, tell: &mut Tell<'_>) -> Result<(), String> {
        self.clear().await?;
        let count = self.size.count * 10;
        let jobs = self.queue(Options { events: false, ..Options::default() })?;
        let before = info(&*self.store, "memory", "used_memory:").await?;
        dispatch_bulk(&jobs, count).await?;
        let after = info(&*self.store, "memory", "used_memory:").await?;
        tell(Figure::at_most(
            "Redis memory of a waiting job",
            (after - before) / number(count),
            "bytes",
            650.0,
        ));
        Ok(())
    }

    /// Claim and dispatch with a long queue against the same with a short one, on a server each, in turns.
    async fn long_queue(&self, tell: &mut Tell<'_>) -> Result<(), String> {
        self.clear().await?;
        let other = OwnRedis::start().ok_or("a second redis-server does not start")?;
        let other_store = other.open().await.ok_or("a second redis-server does not answer")?;
        let (count, long) = (self.size.count, self.size.long);
        let mut queues = Vec::new();
        for (store, waiting) in [(&self.store, 1_000), (&other_store, long)] {
            let options = Options { events: false, ..Options::default() };
            let jobs = open(Arc::clone(store), options)?;
            dispatch_bulk(&jobs, waiting + count).await?;
            queues.push(jobs);
        }
        let (mut claims, mut sent) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for _ in 0..self.size.rounds {
            for (at, jobs) in queues.iter().enumerate() {
                claims[at].push(self.timed(count, work_off(jobs, count, 16)).await?);
                sent[at].push(self.timed(count, dispatch_each(jobs, count)).await?);
            }
        }
        for (what, [short, long_ones]) in [("claims", claims), ("dispatch", sent)] {
            let name = format!("{what} with {long} waiting, to 1000");
            let ratio = ratio(&long_ones, &short, |said| said.per_s);
            tell(Figure::at_least(name, ratio, "×", 0.7));
        }
        self.clear().await
    }

    /// A thousand jobs at the head that this worker may not run.
    async fn unroutable(&self, tell: &mut Tell<'_>) -> Result<(), String> {
        self.clear().await?;
        let jobs = self.queue(Options { scan_limit: 2_000, ..Options::default() })?;
        let elsewhere = || {
            NewJob::raw(KIND, "{}")
                .target(Target { region: vec!["mars".into()], ..Target::default() })
        };
        let all: Vec<_> = (0..1_000).map(|_| elsewhere()).collect();
        for sent in jobs.dispatch_many(all).await.map_err(told)? {
            sent.map_err(told)?;
        }
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for round in 0..self.size.rounds {
            // Nobody has told this one what stands at the head.
            let facts = jobs::WorkerFacts::new(format!("bench-{round}")).map_err(told)?;
            first.push(self.claim_cost(&jobs, &facts).await?);
            for _ in 0..10 {
                later.push(self.claim_cost(&jobs, &facts).await?);
            }
        }
        let cost = |costs: &[Said]| median(costs.iter().map(|said| said.cpu_us)) / 1e3;
        let name = "first claim past 1000 unroutable jobs";
        tell(Figure::at_most(name, cost(&first), "ms of Redis", 8.0));
        tell(Figure::at_most("later claims past them", cost(&later), "ms of Redis", 1.0));
        Ok(())
    }

    /// A hundred thousand jobs at their limit in front of one that is free: what a claim of that one costs, and what the
    /// poll of an idle worker does, on Redis and embedded.
    async fn limited(&self, tell: &mut Tell<'_>) -> Result<(), String> {
        self.clear().await?;
        let embedded = link::Embedded::memory().store();
        for (name, store) in [("Redis", Arc::clone(&self.store)), ("embedded", embedded)] {
            let jobs = open(store, Options { events: false, ..Options::default() })?;
            dispatch_limited(&jobs, 100_000).await?;
            let facts = jobs::WorkerFacts::new("bench").map_err(told)?;
            for _ in 0..120 {
                jobs.claim(&facts, 1).await.map_err(told)?;
            }
            let (mut claims, mut polls) = (Vec::new(), Vec::new());
            for _ in 0..50 * self.size.rounds {
                polls.push(claimed_in(&jobs, &facts, 0).await?);
                jobs.dispatch(NewJob::raw("free", "{}")).await.map_err(told)?;
                claims.push(claimed_in(&jobs, &facts, 1).await?);
            }
            let (claim, poll) = (median(claims), median(polls));
            let claim_name = format!("claim behind 100 000 limited jobs, {name}");
            tell(Figure::at_most(claim_name, claim, "ms with the trip", 5.0));
            tell(Figure::at_most(
                format!("idle poll before them, {name}"),
                poll,
                "ms with the trip",
                0.2,
            ));
        }
        Ok(())
    }

    /// CPU of the server for the claim of one job behind all others.
    async fn claim_cost(&self, jobs: &Jobs, facts: &jobs::WorkerFacts) -> Result<Said, String> {
        jobs.dispatch(NewJob::raw(KIND, "{}")).await.map_err(told)?;
        let cpu = server_cpu_us(&*self.store).await?;
        let claims = jobs.claim(facts, 1).await.map_err(told)?;
        let cpu_us = server_cpu_us(&*self.store).await? - cpu;
        let claimed = claims.jobs.into_iter().next();
        let claimed = claimed.ok_or("the routable job behind a thousand others was not found")?;
        jobs.complete(facts, claimed.job, None, 0).await.map_err(told)?;
        Ok(Said { cpu_us, ..Said::default() })
    }
}

impl Three {
    fn figures(&self, tell: &mut Tell<'_>, what: &str, bullmq: Option<f64>, bee: Option<f64>) {
        let ours = median(self.ours.iter().map(|said| said.per_s));
        tell(Figure::plain(format!("{what}, ours"), ours, "jobs/s"));
        for (name, said, bar) in [("BullMQ", &self.bullmq, bullmq), ("bee-queue", &self.bee, bee)] {
            let theirs = median(said.iter().map(|said| said.per_s));
            tell(Figure::plain(format!("{what}, {name}"), theirs, "jobs/s"));
            let ratio = ratio(&self.ours, said, |said| said.per_s);
            let name = format!("{what}, ours to {name}");
            tell(match bar {
                Some(bar) => Figure::at_least(name, ratio, "×", bar),
                None => Figure::plain(name, ratio, "×"),
            });
        }
    }
}

/// The median of what the rounds say, each of them taken in one go: the machine may be twice as fast a minute later.
fn ratio(ours: &[Said], theirs: &[Said], pick: impl Fn(&Said) -> f64) -> f64 {
    median(ours.iter().zip(theirs).map(|(a, b)| pick(a) / pick(b)))
}

async fn server_cpu_us(store: &dyn Store) -> Result<f64, String> {
    let system = info(store, "cpu", "used_cpu_sys:").await?;
    Ok((system + info(store, "cpu", "used_cpu_user:").await?) * 1e6)
}

/// A number of `INFO`.
async fn info(store: &dyn Store, section: &str, name: &str) -> Result<f64, String> {
    let answer = ask(store, &["INFO", section]).await?;
    let text = reply::text(&answer).unwrap_or_default().to_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let digits = line.unwrap_or_default().split(|c: char| c != '.' && !c.is_ascii_digit()).next();
    digits.unwrap_or_default().parse().map_err(|_| format!("INFO {section} has no {name}"))
}

async fn ask(store: &dyn Store, words: &[&str]) -> Result<kernel::Value, String> {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    store
        .call(&cmd, Deadline::after(Duration::from_secs(30)))
        .await
        .map_err(|fault| fault.to_string())
}

#[allow(clippy::cast_precision_loss)] // figures for people
fn number(count: usize) -> f64 {
    count as f64
}
