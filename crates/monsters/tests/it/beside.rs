//! Programs that write monsters beside us, in their own ways: none of their changes is lost, and none of ours
//! is refused for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use monsters::{Monster, Move};
use testkit::on_every_store;
use testkit::update::{Change, update};

use crate::support::{World, soon};

/// A hit as another service's script does it: the text is edited in place.
const FOREIGN: &str = r#"
local text = redis.call('GET', KEYS[1])
local hp = tonumber(string.match(text, '"hp":(%d+)'))
redis.call('SET', KEYS[1], (string.gsub(text, '"hp":%d+', '"hp":' .. (hp - 1), 1)))
return 1"#;

async fn foreign_hit(world: &World, id: u32) {
    assert_eq!(world.int(&["EVAL", FOREIGN, "1", &world.key(id)]).await, 1);
}

/// A hit by `WATCH`, as the seed's service does it.
async fn watched_hit(world: &World, id: u32) -> bool {
    let key = world.key(id);
    let done = update(&*world.store, &key, soon(), |text| {
        let mut monster = Monster::read("", text.unwrap()).unwrap();
        monster.hp -= 1;
        Change::write(monster.text())
    });
    done.await.is_ok()
}

on_every_store!(hits_of_a_script_and_of_watch_beside_ours_are_all_kept, |store| {
    let world = Arc::new(World::new(&store));
    let id = world.spawn(2).await;
    let stop = Arc::new(AtomicBool::new(false));
    let theirs = Arc::new(AtomicU64::new(0));
    let others: Vec<_> = [true, false]
        .map(|by_script| {
            let (world, stop, theirs) =
                (Arc::clone(&world), Arc::clone(&stop), Arc::clone(&theirs));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let done = if by_script {
                        foreign_hit(&world, id).await;
                        true
                    } else {
                        watched_hit(&world, id).await
                    };
                    theirs.fetch_add(u64::from(done), Ordering::Relaxed);
                    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                }
            })
        })
        .into();
    let ours: Vec<_> = (1..=8_u32)
        .map(|who| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                for _ in 0..25 {
                    world.hit(id, who, 1).await;
                }
            })
        })
        .collect();
    for hits in ours {
        hits.await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for other in others {
        other.await.unwrap();
    }
    let monster = world.get(id).await;
    let taken = u64::from(4_000_000_000 - monster.hp);
    assert_eq!(taken, 200 + theirs.load(Ordering::Relaxed));
    assert_eq!(monster.summed().iter().map(|(_, sum)| sum).sum::<u64>(), 200);
});

on_every_store!(moves_and_effects_beside_forty_five_attackers_are_not_refused, |store| {
    let world = Arc::new(World::new(&store));
    let id = world.spawn(2).await;
    let stop = Arc::new(AtomicBool::new(false));
    let attackers: Vec<_> = (1..=45_u32)
        .map(|who| {
            let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut hits = 0_u32;
                while !stop.load(Ordering::Relaxed) {
                    world.hit(id, who, 1).await;
                    hits += 1;
                }
                hits
            })
        })
        .collect();
    for n in 0..100_i16 {
        let to = Move { x: n, y: 1, stance: 2, ..Move::default() };
        let moved = world.monsters.movement(&world.tenant, id, to).await.unwrap();
        assert_eq!(moved.at.x, n);
        let venom = crate::status::effect(&[("VENOM", 3)], 60_000);
        world.monsters.apply_status(&world.tenant, id, &venom).await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let mut hits = 0;
    for attacker in attackers {
        hits += attacker.await.unwrap();
    }
    let monster = world.get(id).await;
    assert_eq!(4_000_000_000 - monster.hp, hits);
    assert_eq!((monster.at.x, monster.status_effects.len()), (99, 3));
});

on_every_store!(empty_lists_of_another_program_are_lists_after_any_write, |store| {
    // cjson writes an empty list as an object, Go one that was never made as null. Upstream's reader refuses the first.
    let world = World::new(&store);
    let id = world.spawn(3).await;
    let ours = world.stored(id).await;
    for (empty, written) in [("{}", "[]"), ("null", "[]"), ("[ ]", "[ ]")] {
        let lists = |text: &str| {
            ours.replace("\"damageEntries\":[]", &format!("\"damageEntries\":{text}"))
                .replace("\"statusEffects\":[]", &format!("\"statusEffects\":{text}"))
        };
        world.ask(&["SET", &world.key(id), &lists(empty)]).await;
        let to = Move { x: 3, y: 4, stance: 5, ..Move::default() };
        world.monsters.movement(&world.tenant, id, to).await.unwrap();
        world.monsters.drain_mp(&world.tenant, id, 7, 1, 20).await.unwrap();
        let moved = lists(written).replace("\"x\":0,\"y\":0", "\"x\":3,\"y\":4");
        assert_eq!(world.stored(id).await, moved.replace("\"mp\":100", "\"mp\":80"));
        world.hit(id, 7, 1).await;
        assert!(world.stored(id).await.contains(&format!("\"statusEffects\":{written}")));
    }
});
