//! Many craft: ids that stay, spheres that change, and the same bits every time.

use galaxy::physics::hull::Mode;
use galaxy::physics::solar::SOL;
use galaxy::physics::{Bodies, Craft, CraftId, Fleet, Hull, ShipClass, Vec3};

use crate::accuracy::fly;

fn about(name: &str, distance: f64, angle: f64, bodies: &Bodies) -> Craft {
    let reference = SOL.find(name).unwrap();
    let speed = (bodies.gm()[reference] / distance).sqrt();
    let (sin, cos) = angle.sin_cos();
    Craft {
        reference,
        r: Vec3::new(cos, sin, 0.0) * distance,
        v: Vec3::new(-sin, cos, 0.0) * speed,
    }
}

/// Ships of many kinds about several bodies, some of them busy.
fn crowd(bodies: &Bodies, count: u32) -> (Fleet, Vec<CraftId>) {
    let mut fleet = Fleet::default();
    let ids = (0..count)
        .map(|n| {
            let home = ["Earth", "Luna", "Mars", "Io"][n as usize % 4];
            let craft = about(home, 7e6 + f64::from(n) * 1e3, f64::from(n), bodies);
            let mut hull = Hull::new(ShipClass::first());
            match n % 5 {
                0 => hull.thrust_level = 0.01,
                1 => hull.mode = Mode::Prograde,
                2 => hull.steer(Vec3::new(0.1, 0.0, -0.2)),
                _ => {}
            }
            fleet.insert(bodies, craft, Some(hull))
        })
        .collect();
    (fleet, ids)
}

fn bits(fleet: &Fleet, ids: &[CraftId]) -> Vec<u64> {
    ids.iter()
        .filter_map(|id| Some((fleet.craft(*id)?, fleet.hull(*id)?)))
        .flat_map(|(craft, hull)| {
            [craft.r, craft.v, hull.omega, Vec3::new(hull.fuel, hull.attitude.w, hull.attitude.x)]
                .into_iter()
                .flat_map(|v| v.to_array().map(f64::to_bits))
        })
        .collect()
}

#[test]
fn the_same_start_gives_the_same_bits_on_one_thread_and_on_many() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut bodies = SOL.at_j2000();
        let (mut fleet, ids) = crowd(&bodies, 700);
        pool.install(|| fly(&mut bodies, &mut fleet, 20.0, 1.0));
        bits(&fleet, &ids)
    };
    let once = run(1);
    assert_eq!(once, run(1));
    assert_eq!(once, run(4));
}

#[test]
fn a_craft_is_computed_alone_whoever_flies_beside_it() {
    let end = |company: u32| {
        let mut bodies = SOL.at_j2000();
        let mut fleet = Fleet::default();
        let craft = about("Earth", 8e6, 1.0, &bodies);
        let id = fleet.insert(&bodies, craft, Some(Hull::new(ShipClass::first())));
        for n in 0..company {
            fleet.insert(&bodies, about("Earth", 7e6, f64::from(n), &bodies), None);
        }
        fly(&mut bodies, &mut fleet, 10.0, 1.0);
        bits(&fleet, &[id])
    };
    assert_eq!(end(0), end(13));
}

#[test]
fn ids_stay_while_others_come_and_go() {
    let bodies = SOL.at_j2000();
    let (mut fleet, ids) = crowd(&bodies, 50);
    let kept: Vec<_> = ids.iter().copied().skip(1).step_by(2).collect();
    let before = bits(&fleet, &kept);
    for id in ids.iter().step_by(2) {
        assert!(fleet.remove(*id).is_some());
        assert!(fleet.remove(*id).is_none());
    }
    assert_eq!(fleet.len(), kept.len());
    assert_eq!(bits(&fleet, &kept), before);
    let again = fleet.insert(&bodies, about("Earth", 9e6, 0.0, &bodies), None);
    assert!(!kept.contains(&again));
    assert_eq!(bits(&fleet, &kept), before);
}

#[test]
fn a_craft_changes_its_reference_at_the_edge_of_a_sphere_and_does_not_flap() {
    let mut bodies = SOL.at_j2000();
    let (earth, luna) = (SOL.find("Earth").unwrap(), SOL.find("Luna").unwrap());
    let hill = SOL.body(luna).hill;
    let mut fleet = Fleet::default();
    let mut cross = |distance: f64, speed: f64| {
        let craft = Craft { reference: luna, r: Vec3::X * distance, v: Vec3::X * speed };
        let id = fleet.insert(&bodies, craft, None);
        fleet.change_spheres(&SOL, &bodies);
        fleet.craft(id).unwrap().reference
    };
    assert_eq!(cross(hill * 0.99, 0.0), luna);
    assert_eq!(cross(hill * 1.01, 0.0), luna);
    assert_eq!(cross(hill * 1.03, 0.0), earth);

    let id = fleet.insert(
        &bodies,
        Craft { reference: luna, r: Vec3::X * hill, v: Vec3::X * 2_000.0 },
        None,
    );
    let before = fleet.craft(id).unwrap().absolute(bodies.now()).0;
    let mut changes = 0;
    for _ in 0..1_500 {
        let track = bodies.advance(1.0);
        fleet.advance(bodies.gm(), &track);
        changes += fleet.change_spheres(&SOL, &bodies);
    }
    let after = fleet.craft(id).unwrap();
    assert_eq!(after.reference, earth);
    assert!(changes <= 4, "{changes} changes");
    assert!((after.absolute(bodies.now()).0 - before).length() > 1e6);
}

#[test]
fn an_absolute_place_finds_its_sphere() {
    let bodies = SOL.at_j2000();
    for name in ["Sun", "Earth", "Luna", "Io", "Phobos"] {
        let body = SOL.find(name).unwrap();
        let place = bodies.now().position[body] + Vec3::Y * SOL.body(body).radius * 1.2;
        let craft = Craft::seen_from(&SOL, bodies.now(), place, bodies.now().velocity[body]);
        assert_eq!(SOL.body(craft.reference).name, name);
        assert!((craft.absolute(bodies.now()).0 - place).length() < 1e-2);
    }
}
