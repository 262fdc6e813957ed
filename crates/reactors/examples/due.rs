//! How dear timers are: 100 000 that wait, 10 000 that are due at once, and a round trip per creation.
//!
//! `cargo run --release -p worldkeep-reactors --example due -- [redis://127.0.0.1:6379]`
//!
//! Empties nothing: give it a store of its own. Without an address it runs on the engine in this process.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a small program to look at

use std::sync::Arc;
use std::time::{Duration, Instant};

use field::{Field, Tenant};
use kernel::keyspace::Layout;
use kernel::{Clock as _, FakeClock};
use uuid::Uuid;
use worldkeep_reactors::{New, Reactors, SHIPPED, Templates};

const WAITING: usize = 100_000;
const DUE: usize = 10_000;

#[tokio::main]
async fn main() {
    let place = std::env::args().nth(1).unwrap_or_else(|| "memory".to_owned());
    let store = testkit::open(&place).await;
    let clock = FakeClock::at(1_771_668_672_500);
    let templates = Arc::new(Templates::of(SHIPPED).unwrap());
    let reactors =
        Arc::new(Reactors::new(store, Arc::new(clock.clone()), Layout::Plain, templates));
    let tenant = Tenant {
        id: Uuid::from_u128(1),
        region: "GMS".into(),
        major_version: 83,
        minor_version: 1,
    };

    // Beacons wait three seconds; the later ones an hour longer, by the clock.
    let started = Instant::now();
    fill(&reactors, &tenant, 1, DUE).await;
    clock.advance(Duration::from_hours(1));
    fill(&reactors, &tenant, 2, WAITING).await;
    let took = started.elapsed();
    println!("{} creations: {took:?}, {:?} each", DUE + WAITING, took / 110_000);

    clock.set(1_771_668_672_500);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = {
        let reactors = Arc::clone(&reactors);
        tokio::spawn(async move { reactors.serve_timers(async move { drop(stopped.await) }).await })
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    let before = cpu();
    let idle = Instant::now();
    for _ in 0..20 {
        // Ten seconds pass for the loop, which looks twice a second; nothing is due.
        clock.advance(Duration::from_millis(50));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!(
        "{} waiting, none due: {:?} of CPU in {:?}",
        WAITING + DUE,
        cpu().saturating_sub(before),
        idle.elapsed()
    );

    let started = Instant::now();
    clock.advance(Duration::from_secs(3));
    let field = field(1);
    while reactors.list(tenant.id, field).await.unwrap().reactors.iter().any(|one| one.state == 0) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{DUE} due at once: {:?} (clock {})", started.elapsed(), clock.now_ms());
    drop(stop);
    serving.await.unwrap();
}

fn field(map_id: u32) -> Field {
    Field { world_id: 0, channel_id: 0, map_id, instance: Uuid::nil() }
}

async fn fill(reactors: &Arc<Reactors>, tenant: &Tenant, map_id: u32, count: usize) {
    let sides = 64;
    let mut work = Vec::new();
    for side in 0..sides {
        let (reactors, tenant) = (Arc::clone(reactors), tenant.clone());
        work.push(tokio::spawn(async move {
            for n in (side..count).step_by(sides) {
                let x = i16::try_from(n % 30_000).unwrap();
                let y = i16::try_from(n / 30_000).unwrap();
                let new =
                    New { field: field(map_id), classification: 2003, x, y, ..New::default() };
                reactors.create(&tenant, new).await.unwrap();
            }
        }));
    }
    for one in work {
        one.await.unwrap();
    }
}

/// CPU time of this process, in user and system mode.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: u64 =
        after.split(' ').skip(11).take(2).filter_map(|part| part.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
