//! Storms of creating and destroying: answers that get lost, servers that are killed; the check is clean after.

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::Layout;
use kernel::{FakeClock, Store};
use reactors::{Created, Hit, New, Reactors};
use testkit::{Faulty, How};

use crate::support::{NOW, ONE, World, a_box, everywhere, reactors_on, tenant};

/// A small generator of one's own: the same storm for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Creates and destroys at random until something fails for good, or the rounds are over.
async fn play(reactors: &Reactors, seed: u64, rounds: usize) -> usize {
    let (mut dice, mut live, mut failed) = (Dice(seed), Vec::new(), 0);
    for _ in 0..rounds {
        let x = i16::try_from(dice.roll(50)).unwrap();
        let classification = if dice.roll(2) == 0 { 2001 } else { 2002 };
        let new = New { x, classification, delay: 1, guarded: dice.roll(2) == 0, ..a_box() };
        match reactors.create(&tenant(ONE), new).await {
            Ok(Created::Made(reactor)) => live.push(reactor.id),
            Ok(_) => {}
            Err(_) => failed += 1,
        }
        if live.len() > 10 {
            let at = usize::try_from(dice.roll(10)).unwrap();
            let id = live.swap_remove(at);
            let gone = match dice.roll(2) {
                0 => reactors.hit(ONE, id, Hit::default()).await.map(|_| ()),
                _ => reactors.destroy(ONE, id).await,
            };
            failed += usize::from(gone.is_err());
        }
    }
    failed
}

everywhere!(a_store_that_loses_answers_leaves_nothing_half_done, |world| {
    let faulty = Faulty::new(world.store.clone());
    let store: Arc<dyn Store> = faulty.clone();
    let reactors = reactors_on(&store, &world.clock, world.layout);
    for (n, how) in [(3, How::AnswerLost), (4, How::RequestLost), (5, How::NotSent)] {
        faulty.fail_every(n, how);
        play(&reactors, n, 60).await;
    }
    assert!(faulty.failed() > 30);
    faulty.fail_every(0, How::NotSent);
    world.is_clean().await;
    let told = world.told().await;
    let count = |kind: &str| told.iter().filter(|one| *one == kind).count();
    let live = usize::try_from(world.int(&["SCARD", &world.key("reactors:all")]).await).unwrap();
    assert_eq!(count("CREATED"), count("DESTROYED") + live, "one DESTROYED per CREATED");
});

#[test]
fn a_server_killed_in_the_middle_of_a_storm_is_clean_after() {
    let rounds = if std::env::var_os("WORLDKEEP_TORTURE").is_some() { 30 } else { 3 };
    for program in testkit::programs() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let setup = testkit::Setup::new(program).args([
                "--appendonly",
                "yes",
                "--appendfsync",
                "always",
            ]);
            let mut server = setup.start();
            for round in 0..rounds {
                let store = testkit::open(&server.url()).await;
                let clock = FakeClock::at(NOW + round);
                let reactors = Arc::new(reactors_on(&store, &clock, Layout::Plain));
                let players: Vec<_> = (0..8)
                    .map(|player| {
                        let reactors = Arc::clone(&reactors);
                        tokio::spawn(
                            async move { play(&reactors, round * 100 + player, 400).await },
                        )
                    })
                    .collect();
                tokio::time::sleep(Duration::from_millis(30 + 17 * round)).await;
                server.kill();
                for player in players {
                    player.abort();
                    let _ = player.await;
                }
                server.restart();
                let world = World::new(testkit::open(&server.url()).await, Layout::Plain);
                world.is_clean().await;
            }
        });
    }
}
