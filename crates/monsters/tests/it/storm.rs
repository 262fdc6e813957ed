//! Many at once: no damage lost, one kill, no id twice, nothing left that the check would find.

use std::collections::HashSet;
use std::sync::Arc;

use kernel::check::{Options, check};
use kernel::keyspace::{Classifier, Layout, own};
use testkit::{Store, on_every_store};

use crate::support::{World, attack};

async fn findings(world: &World) -> Vec<String> {
    findings_of(&world.store, world.layout).await
}

/// What the consistency check says of a store.
pub(crate) async fn findings_of(store: &Arc<dyn Store>, layout: Layout) -> Vec<String> {
    let tables: Vec<&'static kernel::keyspace::Table> = vec![&monsters::keys::TABLE, &own::TABLE];
    let classifier = Classifier::new(&tables, &[] as &[&str]);
    let options = Options::new(classifier, layout);
    let report = check(&**store, &options, &mut |_| {}).await.unwrap();
    report.findings.iter().map(|finding| format!("{finding:?}")).collect()
}

on_every_store!(sixty_four_attackers_lose_nothing_and_kill_once, |store| {
    let world = Arc::new(World::new(&store));
    let other = Arc::new(world.second());
    let id = world.spawn(8).await;
    let attackers: Vec<_> = (1..=64_u32)
        .map(|who| {
            let world = Arc::clone(if who % 2 == 0 { &world } else { &other });
            tokio::spawn(async move {
                let (mut dealt, mut kills) = (0_u64, 0);
                for n in 0..40_u32 {
                    match world
                        .monsters
                        .damage(&world.tenant, id, attack(who, &[1 + n % 7, 5]))
                        .await
                    {
                        Ok(blow) => {
                            dealt +=
                                blow.lines.iter().map(|line| u64::from(line.actual)).sum::<u64>();
                            kills += usize::from(blow.killed);
                        }
                        Err(_) => break,
                    }
                }
                (dealt, kills)
            })
        })
        .collect();
    let (mut dealt, mut kills) = (0, 0);
    for attacker in attackers {
        let (some, killed) = attacker.await.unwrap();
        dealt += some;
        kills += killed;
    }
    assert_eq!((dealt, kills), (15_200, 1));
    let events = world.events().await;
    let killed: Vec<_> = events.iter().filter(|(kind, _, _)| kind == "KILLED").collect();
    assert_eq!(killed.len(), 1);
    let told: u64 = killed[0].2["body"]["damageEntries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["damage"].as_u64().unwrap())
        .sum();
    assert_eq!(told, 15_200, "every hit is in the sums of the event");
    assert_eq!(findings(&world).await, [""; 0]);
});

on_every_store!(one_revive_set_per_kill_and_no_id_twice, |store| {
    let world = Arc::new(World::new(&store));
    let other = Arc::new(world.second());
    for _ in 0..10 {
        world.spawn(5).await;
    }
    let hunters: Vec<_> = (0..16_u32)
        .map(|who| {
            let world = Arc::clone(if who % 2 == 0 { &world } else { &other });
            tokio::spawn(async move {
                for id in 1_000_000_000..1_000_000_010_u32 {
                    let _ = world.monsters.damage(&world.tenant, id, attack(who, &[10])).await;
                }
            })
        })
        .collect();
    for hunter in hunters {
        hunter.await.unwrap();
    }
    let (mut living, mut killed) = (HashSet::new(), 0);
    for (kind, id, message) in world.events().await {
        match kind.as_str() {
            "CREATED" => assert!(living.insert(id), "an id was given out twice"),
            "KILLED" => {
                assert!(living.remove(&id), "killed twice");
                killed += usize::from(message["monsterId"] == 5);
            }
            _ => {}
        }
    }
    assert_eq!(killed, 10);
    let halves = world
        .events()
        .await
        .iter()
        .filter(|(kind, _, m)| kind == "CREATED" && m["monsterId"] == 6)
        .count();
    assert_eq!(halves, 20);
    assert_eq!(world.monsters.ids(&world.tenant, world.field).await.unwrap().len(), living.len());
    assert_eq!(findings(&world).await, [""; 0]);
});

on_every_store!(a_storm_of_everything_leaves_what_the_check_finds_clean, |store| {
    let world = Arc::new(World::new(&store));
    let workers: Vec<_> = (1..=8_u32)
        .map(|who| {
            let world = world.second();
            tokio::spawn(async move {
                for n in 0..30_u32 {
                    let template = [9_300_018, 3, 5, 7, 8][(who + n) as usize % 5];
                    let id = world.spawn(template).await;
                    let target = 1_000_000_000 + (who * 7 + n * 3) % 60;
                    let _ = world.monsters.enter(&world.tenant, world.field, who, n % 5 == 0).await;
                    let _ =
                        world.monsters.damage(&world.tenant, target, attack(who, &[40, 9])).await;
                    let venom = crate::status::effect(&[("VENOM", 3)], 5_000);
                    let _ = world.monsters.apply_status(&world.tenant, target, &venom).await;
                    let _ = world.monsters.use_skill(&world.tenant, target, 100, 1, false).await;
                    if n % 3 == 0 {
                        let _ = world.monsters.destroy(&world.tenant, id).await;
                    }
                    if n % 4 == 0 {
                        let _ = world.monsters.leave(&world.tenant, world.field, who).await;
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    assert_eq!(findings(&world).await, [""; 0]);
    // Every controller's count is what the monsters say.
    let listed = world.monsters.list(&world.tenant, world.field).await.unwrap();
    assert!(listed.ruined.is_empty());
    let (mut created, mut ended) = (0, 0);
    for kind in world.told().await {
        created += usize::from(kind == "CREATED");
        ended += usize::from(kind == "KILLED" || kind == "DESTROYED");
    }
    assert_eq!(created - ended, listed.monsters.len());
    for monster in &listed.monsters {
        assert!(monster.alive() && monster.hp <= monster.max_hp && monster.mp <= monster.max_mp);
    }
    world.monsters.teardown().await.unwrap();
    assert_eq!(findings(&world).await, [""; 0]);
});
