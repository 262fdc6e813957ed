//! The world in memory and in the store: what is written, what is read back, what docking asks.

use std::sync::Arc;
use std::time::Duration;

use galaxy::keys::Keys;
use galaxy::physics::solar::SOL;
use galaxy::physics::{Craft, ShipClass, Vec3};
use galaxy::{Epoch, Fields, Placement, Service, StationKind, World, create, fields, load};
use kernel::keyspace::Layout;
use kernel::{Cmd, Deadline, Store, Value, reply};
use testkit::on_every_store;
use uuid::Uuid;

const NOW_MS: u64 = 1_794_787_200_000;
const KEYS: Keys = Keys::new(Layout::Plain);

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

async fn ask(store: &Arc<dyn Store>, words: &[&str]) -> Value {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    testkit::call_as_default(&**store, &cmd, soon()).await.unwrap()
}

async fn hash(store: &Arc<dyn Store>, key: &str) -> Fields {
    fields(&ask(store, &["HGETALL", key]).await)
}

pub(crate) fn ship_id(n: u64) -> Uuid {
    Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_0000 + u128::from(n))
}

pub(crate) fn world() -> World {
    World::new(&SOL, SOL.at_j2000(), 946_728_000_000_000_000)
}

pub(crate) fn add_ship(world: &mut World, n: u64) -> Uuid {
    let (_, position, velocity) = world.free_spawn(&Placement::default(), n).unwrap();
    let owner = ("660e8400-e29b-41d4-a716-446655440001", "PlayerOne");
    let record = world.new_ship(owner, ShipClass::first(), (position, velocity));
    world.add_ship(ship_id(n), record);
    ship_id(n)
}

/// Writes a whole new ship and the tick's batch, as the engine does.
async fn write(store: &Arc<dyn Store>, world: &mut World) {
    let mut cmds = Vec::new();
    for id in world.ships.keys() {
        let mut cmd = Cmd::new();
        cmd.arg("HSET").arg(KEYS.ship(*id).unwrap().as_str());
        for (field, value) in world.ship_record(*id).unwrap().write() {
            cmd.arg(field).arg(value);
        }
        cmds.push(cmd);
        let mut index = Cmd::new();
        index.arg("SADD").arg("system:sol:ships").arg(id.to_string());
        cmds.push(index);
    }
    cmds.extend(world.batch(KEYS).in_order());
    for outcome in store.pipeline(&cmds, soon()).await.unwrap() {
        outcome.unwrap();
    }
}

on_every_store!(a_new_world_has_its_bodies_its_time_and_nothing_else, |store| {
    ask(&store, &["SET", "game:tick_rate", "5.0"]).await;
    create(&store, KEYS, &SOL, Epoch::Now, NOW_MS).await.unwrap();
    let text = |value: Value| reply::text(&value).unwrap().to_owned();
    assert_eq!(text(ask(&store, &["GET", "game:tick"]).await), "0");
    assert_eq!(text(ask(&store, &["GET", "game:time"]).await), "2026-11-16T00:00:00Z");
    assert_eq!(text(ask(&store, &["GET", "game:tick_rate"]).await), "5.0", "what was set is kept");
    assert_eq!(text(ask(&store, &["GET", "game:time_scale"]).await), "1.0");
    assert_eq!(reply::int(&ask(&store, &["SCARD", "system:sol:bodies"]).await), Some(29));
    let earth = hash(&store, "body:Earth").await;
    assert_eq!(earth.keys().collect::<Vec<_>>(), ["position", "system_id", "velocity"]);
    assert!(galaxy::text::read_vector(&earth["position"]).unwrap().length() > 1.4e11);
});

on_every_store!(a_world_reads_back_as_it_was_written, |store| {
    create(&store, KEYS, &SOL, Epoch::J2000, NOW_MS).await.unwrap();
    let mut world = load(&store, KEYS, &SOL).await.unwrap().unwrap().world;
    let id = add_ship(&mut world, 1);
    world.hull_mut(id).unwrap().thrust_level = 0.5;
    world.step(1_000_000_000);
    write(&store, &mut world).await;
    let again = load(&store, KEYS, &SOL).await.unwrap().unwrap();
    assert!(again.aside.is_empty());
    assert_eq!((again.world.tick, again.world.time_ns), (world.tick, world.time_ns));
    assert_eq!(again.world.bodies.now().position, world.bodies.now().position);
    let fuel = |world: &World| world.hull(id).unwrap().fuel.to_bits();
    assert_eq!(fuel(&again.world), fuel(&world));
    let off = again.world.motion(again.world.ships[&id].craft).unwrap().0
        - world.motion(world.ships[&id].craft).unwrap().0;
    assert!(off.length() < 1e-4);
});

on_every_store!(a_ship_that_cannot_be_read_is_set_aside_and_the_rest_goes_on, |store| {
    create(&store, KEYS, &SOL, Epoch::J2000, NOW_MS).await.unwrap();
    let mut world = load(&store, KEYS, &SOL).await.unwrap().unwrap().world;
    let (good, bad) = (add_ship(&mut world, 1), add_ship(&mut world, 2));
    write(&store, &mut world).await;
    let key = format!("ship:{bad}");
    ask(&store, &["HSET", &key, "position", "[NaN, 0, 0]"]).await;
    let loaded = load(&store, KEYS, &SOL).await.unwrap().unwrap();
    assert_eq!(loaded.world.ships.keys().collect::<Vec<_>>(), [&good]);
    assert_eq!((loaded.aside[0].0.as_str(), loaded.aside[0].1.field), (key.as_str(), "position"));
});

on_every_store!(a_tick_keeps_the_fields_it_does_not_own, |store| {
    create(&store, KEYS, &SOL, Epoch::J2000, NOW_MS).await.unwrap();
    let mut world = load(&store, KEYS, &SOL).await.unwrap().unwrap().world;
    let id = add_ship(&mut world, 1);
    write(&store, &mut world).await;
    let key = format!("ship:{id}");
    ask(&store, &["HSET", &key, "name", "Renamed", "paint", "red"]).await;
    for _ in 0..3 {
        world.step(1_000_000_000);
        for outcome in store.pipeline(&world.batch(KEYS).in_order(), soon()).await.unwrap() {
            outcome.unwrap();
        }
    }
    let stored = hash(&store, &key).await;
    assert_eq!((stored["name"].as_str(), stored["paint"].as_str()), ("Renamed", "red"));
    assert_eq!(reply::text(&ask(&store, &["GET", "game:tick"]).await), Some("3"));
});

#[test]
fn the_batch_of_a_quiet_ship_is_its_motion_and_ends_with_the_tick() {
    let mut world = world();
    let id = add_ship(&mut world, 1);
    world.step(1_000_000_000);
    let cmds = world.batch(KEYS).in_order();
    let words = |cmd: &Cmd| -> Vec<String> {
        cmd.args_iter()
            .map(|arg| match arg {
                redis::Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                _ => String::new(),
            })
            .collect()
    };
    let ship = cmds.iter().map(words).find(|cmd| cmd[1] == format!("ship:{id}")).unwrap();
    let fields: Vec<_> = ship[2..].iter().step_by(2).map(String::as_str).collect();
    assert_eq!(fields, ["position", "velocity", "attitude", "angular_velocity"]);
    assert_eq!(ship[7], "[1.0, 0.0, 0.0, 0.0]");
    assert_eq!(words(&cmds[cmds.len() - 2]), ["SET", "game:tick", "1"]);
    assert_eq!(words(&cmds[cmds.len() - 1]), ["PUBLISH", "tick_completed", "1"]);
    assert_eq!(words(&cmds[cmds.len() - 4]), ["SET", "game:time", "2000-01-01T12:00:01Z"]);

    world.hull_mut(id).unwrap().thrust_level = 1.0;
    world.step(1_000_000_000);
    let cmds = world.batch(KEYS).in_order();
    let ship = cmds.iter().map(words).find(|cmd| cmd[1] == format!("ship:{id}")).unwrap();
    let fields: Vec<_> = ship[2..].iter().step_by(2).map(String::as_str).collect();
    assert_eq!(fields[4..], ["fuel", "thrust_level"]);
}

#[test]
fn the_same_start_and_orders_give_the_same_bytes() {
    let run = || {
        let mut world = world();
        for n in 1..=20 {
            add_ship(&mut world, n);
        }
        let mut bytes = Vec::new();
        for tick in 0..500_u32 {
            if tick % 50 == 0 {
                let id = ship_id(u64::from(tick / 50) + 1);
                world.hull_mut(id).unwrap().thrust_level = 0.1;
                world.hull_mut(id).unwrap().mode = galaxy::physics::hull::Mode::Prograde;
            }
            world.step(1_000_000_000);
        }
        for cmd in world.batch(KEYS).in_order() {
            bytes.extend(cmd.get_packed_command());
        }
        bytes
    };
    assert_eq!(run(), run());
}

#[test]
fn ships_appear_on_a_circle_by_the_golden_angle_and_never_on_each_other() {
    let world = world();
    let earth = SOL.find("Earth").unwrap();
    let (first, velocity) = world.spawn_point(&Placement::default(), 1).unwrap();
    let home = world.bodies.now();
    let r = first - home.position[earth];
    assert!((r - Vec3::X * (6_371_008.4 + 400_000.0)).length() < 1e-3);
    let v = velocity - home.velocity[earth];
    assert!((v - Vec3::Y * (SOL.body(earth).gm / r.length()).sqrt()).length() < 1e-6);

    let mut crowded = world;
    add_ship(&mut crowded, 1);
    let (k, place, _) = crowded.free_spawn(&Placement::default(), 1).unwrap();
    assert_eq!(k, 2);
    assert!((place - first).length() > 500.0);
    assert!(
        crowded
            .spawn_point(&Placement::Orbit { body: "Vulcan".into(), altitude: 1.0 }, 1)
            .is_none()
    );
}

#[test]
fn docking_asks_for_nearness_and_slowness_and_then_holds() {
    let mut world = world();
    let record =
        world.new_station(StationKind::Station, "Kestrel", "Earth", 500_000.0, None).unwrap();
    let station = ship_id(900);
    world.add_station(station, StationKind::Station, record);
    let id = add_ship(&mut world, 1);
    let dock = Service::Dock(None);
    assert_eq!(world.serve(id, &dock).unwrap_err().code(), "E032");
    let at = world.fleet.craft(world.stations[&station].craft).unwrap();
    let near = |offset: f64, speed: f64| Craft {
        r: at.r + Vec3::Z * offset,
        v: at.v + Vec3::X * speed,
        ..at
    };
    let craft = world.ships[&id].craft;
    world.fleet.relocate(&world.bodies, craft, near(499.0, 5.1));
    assert_eq!(world.serve(id, &dock).unwrap_err().code(), "E033");
    world.fleet.relocate(&world.bodies, craft, near(499.0, 4.9));
    assert_eq!(world.serve(id, &Service::Undock).unwrap_err().code(), "E031");
    assert_eq!(world.serve(id, &Service::Dock(Some(ship_id(5)))).unwrap_err().code(), "E034");
    world.hull_mut(id).unwrap().fuel = 100.0;
    world.serve(id, &dock).unwrap();
    assert_eq!(world.serve(id, &dock).unwrap_err().code(), "E030");
    world.serve(id, &Service::Refuel).unwrap();
    for _ in 0..10 {
        world.step(1_000_000_000);
    }
    let (ship, home) = (
        world.fleet.craft(craft).unwrap(),
        world.fleet.craft(world.stations[&station].craft).unwrap(),
    );
    assert_eq!((ship.r, ship.v), (home.r, home.v));
    assert!((world.hull(id).unwrap().fuel - 600.0).abs() < 1e-9);
    world.serve(id, &Service::Undock).unwrap();
    world.step(1_000_000_000);
    let ship = world.fleet.craft(craft).unwrap();
    let home = world.fleet.craft(world.stations[&station].craft).unwrap();
    assert!(((ship.v - home.v).length() - 0.5).abs() < 0.01);
}

#[test]
fn a_ship_that_falls_stands_on_the_ground_and_can_lift_off() {
    let mut world = world();
    let id = add_ship(&mut world, 1);
    let luna = SOL.find("Luna").unwrap();
    let radius = SOL.body(luna).radius;
    let craft = world.ships[&id].craft;
    let falling = Craft { reference: luna, r: Vec3::Z * (radius + 5.0), v: Vec3::Z * -3.0 };
    world.fleet.relocate(&world.bodies, craft, falling);
    let mut touched = Vec::new();
    for _ in 0..5 {
        touched.extend(world.step(1_000_000_000).touched);
    }
    assert_eq!(touched, [(id, "Luna".to_owned())]);
    assert_eq!(world.ships[&id].landed, Some(luna));
    assert!((world.fleet.craft(craft).unwrap().r.length() - radius).abs() < 1e-6);
    world.hull_mut(id).unwrap().thrust_level = 0.5;
    for _ in 0..5 {
        world.step(1_000_000_000);
    }
    assert_eq!(world.ships[&id].landed, None);
    assert!(world.fleet.craft(craft).unwrap().r.length() > radius + 10.0);
}

#[test]
fn a_target_that_is_gone_turns_into_holding_still() {
    use galaxy::physics::hull::Mode;
    use galaxy::{Target, TargetKind};
    let mut world = world();
    let (id, other) = (add_ship(&mut world, 1), add_ship(&mut world, 2));
    world.ships.get_mut(&id).unwrap().target =
        Some(Target { id: other.to_string(), kind: TargetKind::Ship });
    world.hull_mut(id).unwrap().mode = Mode::Target;
    world.step(1_000_000_000);
    assert_eq!(world.hull(id).unwrap().mode, Mode::Target);
    world.remove_ship(other);
    world.step(1_000_000_000);
    assert_eq!(world.hull(id).unwrap().mode, Mode::Hold);
}
