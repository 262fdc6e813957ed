//! A server that is killed in the middle of a storm: whatever it was doing, the store it leaves is whole, and
//! what it had armed is done by the next one.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::Layout;
use kernel::{Clock as _, SystemClock};
use monsters::{Monsters, Spawn};

use crate::storm::findings_of;
use crate::support::{attack, options, tenant};

const PLACE: &str = "WORLDKEEP_TEST_STORM";

/// Not a test by itself: the child of the next one runs it, until it is killed.
#[test]
fn a_storm_until_somebody_kills_it() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = testkit::open(&place).await;
        let clock = Arc::new(SystemClock::new());
        let monsters = Arc::new(Monsters::new(store, clock, options(Layout::Plain)));
        let field = field::Field { map_id: 40_000, ..field::Field::default() };
        let storms: Vec<_> = (1..=8_u32)
            .map(|who| {
                let monsters = Arc::clone(&monsters);
                tokio::spawn(async move {
                    for n in 0..u32::MAX {
                        let monster_id = [9_300_018, 3, 5, 7, 8][(who + n) as usize % 5];
                        let spawn = Spawn { monster_id, ..Spawn::default() };
                        let born = monsters.spawn(&tenant(), field, &spawn).await.unwrap();
                        let target = 1_000_000_000 + (who * 7 + n * 3) % 60;
                        let _ = monsters.enter(&tenant(), field, who, false).await;
                        let _ = monsters.damage(&tenant(), target, attack(who, &[200, 9])).await;
                        let venom = crate::status::effect(&[("VENOM", 3)], 400);
                        let _ = monsters.apply_status(&tenant(), target, &venom).await;
                        let _ = monsters.use_skill(&tenant(), target, 100, 1, false).await;
                        if n % 2 == 0 {
                            let _ = monsters.destroy(&tenant(), born.unique_id).await;
                        }
                    }
                })
            })
            .collect();
        for storm in storms {
            let _ = storm.await;
        }
    });
}

fn storm_on(place: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::a_storm_until_somebody_kills_it"])
        .env(PLACE, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the storm has done something, so that the kill falls into the middle of it.
fn killed_midway(place: &str, round: u64) {
    let mut child = storm_on(place);
    std::thread::sleep(Duration::from_millis(350 + 137 * round));
    child.kill().unwrap();
    child.wait().unwrap();
}

async fn look_at(place: &str) {
    let store = testkit::open(place).await;
    assert_eq!(findings_of(&store, Layout::Plain).await, [""; 0], "{place}");
    // The next server goes on: it serves what was armed, and clears the field without a fault.
    let clock = Arc::new(SystemClock::new());
    let monsters = Arc::new(Monsters::new(Arc::clone(&store), clock, options(Layout::Plain)));
    let since = SystemClock::new();
    let timers = monsters.timers();
    while since.monotonic() < Duration::from_millis(600) {
        for timer in timers.take(crate::support::TENANT, crate::support::soon()).await.unwrap() {
            let verdict = monsters.act(&timer).await;
            timers.settle(&timer, verdict, crate::support::soon()).await.unwrap();
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(findings_of(&store, Layout::Plain).await, [""; 0], "{place}");
}

#[test]
fn a_kill_in_a_storm_leaves_a_store_that_the_check_finds_clean() {
    if std::env::var(PLACE).is_ok() {
        return;
    }
    let rounds = if std::env::var("WORLDKEEP_TORTURE").is_ok() { 20 } else { 2 };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if testkit::On::Embedded.is_wanted() {
        let dir = std::env::temp_dir().join(format!("worldkeep-storm-{}", std::process::id()));
        let place = format!("embedded:{}", dir.display());
        for round in 0..rounds {
            killed_midway(&place, round);
            runtime.block_on(look_at(&place));
        }
        let _ = std::fs::remove_dir_all(dir);
    }
    for program in testkit::programs() {
        let server = testkit::Setup::new(program).start();
        for round in 0..rounds {
            killed_midway(&server.url(), round);
            runtime.block_on(look_at(&server.url()));
        }
    }
}
