//! The server itself goes away and comes back, by a signal and by force, while jobs are dispatched and run. What
//! was acknowledged is done in the end; only with `everysec` may a kill take the last two seconds, as Redis says.

use std::time::{Duration, Instant};

use jobs::{Error, Jobs, NewJob};
use kernel::Fault;
use testkit::{Program, Setup, programs, timed};

use crate::hands::{Live, int, live, status, until, until_in};
use crate::torture::{left, long, many, noting, runtime};

/// Dispatches under an id of its own until the store has it, whatever happens to answers.
async fn insist(jobs: &Jobs, id: &str) {
    loop {
        match jobs.dispatch(NewJob::new("work", &1).id(id)).await {
            Ok(_) | Err(Error::Exists(_)) => return,
            Err(Error::Fault(
                Fault::Unavailable(_) | Fault::Unknown(_) | Fault::Refused { .. },
            )) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// Jobs that run at once.
const SLOTS: usize = 8;

/// What became of a run.
struct Run {
    /// Every acknowledged job and when that was.
    sent: Vec<(String, Instant)>,
    /// Those without any trace.
    lost: Vec<(String, Instant)>,
    kills: Vec<Instant>,
    /// The longest wait for the first answer after a restart.
    slowest: Duration,
    /// Memory of this process after the second restart and in the end, in MiB.
    memory: (u64, u64),
}

/// Resident memory of this process in MiB.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4 / 1024
}

/// Restarts a server that syncs this way, again and again, under load.
fn restarts(program: Program, fsync: &str) -> Run {
    let (rounds, each) = (many(2, 60), if long() { 2_000 } else { 100 });
    let mut server =
        Setup::new(program).args(["--appendonly", "yes", "--appendfsync", fsync]).start();
    let url = server.url();
    let runtime = runtime();
    let (jobs, store) = runtime.block_on(async {
        let store = testkit::open(&url).await;
        (live(&store), store)
    });
    let worker = runtime.block_on(Live::start(noting(&jobs, &store, "w", SLOTS, 5)));
    let mut run = Run {
        sent: Vec::new(),
        lost: Vec::new(),
        kills: Vec::new(),
        slowest: Duration::ZERO,
        memory: (0, 0),
    };
    for round in 0..rounds {
        let sender = jobs.clone();
        let sending = runtime.spawn(async move {
            let mut sent = Vec::new();
            for n in 0..each {
                let id = format!("job-{round}-{n}");
                insist(&sender, &id).await;
                sent.push((id, Instant::now()));
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            sent
        });
        std::thread::sleep(Duration::from_millis(80));
        if round % 2 == 0 {
            server.stop();
        } else {
            run.kills.push(Instant::now());
            server.kill();
        }
        std::thread::sleep(Duration::from_millis(150));
        server.restart();
        let back = Instant::now();
        runtime.block_on(async {
            let jobs = &jobs;
            until("a call is answered", || async move { jobs.stats().await.is_ok() }).await;
            run.slowest = run.slowest.max(back.elapsed());
            run.sent.extend(sending.await.unwrap());
        });
        if round == 1 {
            run.memory.0 = memory();
        }
    }
    run.memory.1 = memory();
    runtime.block_on(async {
        let jobs = &jobs;
        let most = Duration::from_secs(if long() { 120 } else { 15 });
        until_in(most, "all are done", || async move { left(jobs).await == 0 }).await;
        for (id, at) in &run.sent {
            match status(jobs, id).await.as_str() {
                "completed" => {}
                "gone" => run.lost.push((id.clone(), *at)),
                other => panic!("{id} is {other}"),
            }
        }
        let effects = int(&*store, &["SCARD", "effects"]).await;
        // A kill may take an effect whose job ends after it: that of each slot, unless all is synced at once.
        let taken = if fsync == "always" { 0 } else { SLOTS * run.kills.len() };
        let done = i64::try_from(run.sent.len() - run.lost.len() - taken).unwrap();
        assert!(effects >= done, "{effects} effects of {done} jobs");
        worker.stop().await;
    });
    timed("served again after a restart", run.slowest, Duration::from_secs(1));
    // What was sent is remembered here too: some MiB of ids.
    assert!(run.memory.1 <= run.memory.0 * 11 / 10 + 16, "memory grew: {:?} MiB", run.memory);
    run
}

#[allow(clippy::print_stdout)] // the line of the scoreboard
fn show(fsync: &str, run: &Run) {
    let (sent, lost, slowest) = (run.sent.len(), run.lost.len(), run.slowest);
    let (before, after) = run.memory;
    println!(
        "{fsync}: {sent} jobs acknowledged, lost {lost}, served again {slowest:?} after, \
         memory {before} then {after} MiB: PASS"
    );
}

#[test]
fn a_server_that_restarts_loses_nothing_that_was_acknowledged() {
    for program in programs() {
        let run = restarts(program, "always");
        assert_eq!(run.lost, []);
        show("always", &run);
    }
}

#[test]
fn a_server_synced_every_second_loses_what_a_kill_took_and_nothing_else() {
    for program in programs() {
        let run = restarts(program, "everysec");
        for (id, at) in &run.lost {
            let window = Duration::from_secs(2);
            let taken =
                run.kills.iter().any(|kill| *at <= *kill && kill.duration_since(*at) <= window);
            assert!(taken, "{id} was acknowledged long before a kill, or after it");
        }
        show("everysec", &run);
    }
}
