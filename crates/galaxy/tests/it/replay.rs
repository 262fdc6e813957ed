//! The same start and the same orders give the same bytes, over ten thousand ticks, on one thread or many.

#![expect(clippy::cast_precision_loss, reason = "small numbers")]

use galaxy::keys::Keys;
use galaxy::{Command, Order};
use kernel::keyspace::Layout;
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::rules::draft;
use crate::world::{ship_id, world};

const KEYS: Keys = Keys::new(Layout::Plain);
const TICKS: u64 = 10_000;
const SHIPS: u64 = 24;

/// What somebody orders before a tick: everything that can change a world, at fixed moments.
fn orders(tick: u64) -> Vec<(Option<u64>, Order)> {
    let spawn = |n: u64| {
        let name = format!("Ship {n}");
        (Some(n), Order::Spawn { name, ship_class: None, station_id: None })
    };
    let control = |thrust: f64, turn: f64| Order::Control {
        thrust_level: Some(thrust),
        rotation_input: Some([turn, 0.1, -turn]),
        translation_input: None,
    };
    let ship = tick % SHIPS + 1;
    match tick {
        0 => (1..=SHIPS).map(spawn).collect(),
        1 => vec![
            (None, Order::TimeSync { enabled: false }),
            (
                None,
                Order::StationSpawn {
                    id: ship_id(900),
                    name: "Kestrel".into(),
                    parent_body: "Earth".into(),
                    altitude: 4e5,
                    lagrange: None,
                    jumpgate: false,
                },
            ),
        ],
        2 => (1..=SHIPS).map(rule).collect(),
        5_000 => vec![(Some(3), Order::Despawn), (None, Order::TimeScale { time_scale: 3.0 })],
        6_000 => vec![(Some(4), Order::Reset { ship_class: Some("cargo_hauler".into()) })],
        7_000 => vec![(None, Order::TimeScale { time_scale: 1.0 })],
        _ if tick % 200 == 7 => {
            let circle =
                json!({"action": "circularize", "target_altitude": 5e5 + 1e3 * ship as f64});
            vec![(Some(ship), Order::Maneuver { maneuver: circle })]
        }
        _ if tick % 100 == 57 => {
            let burn = json!({"action": "burn", "direction": "normal", "delta_v": 1.5});
            vec![(Some(ship), Order::Maneuver { maneuver: burn })]
        }
        _ if tick % 150 == 11 => vec![(Some(ship), control(0.05, 0.3))],
        _ if tick % 150 == 31 => vec![(Some(ship), control(0.0, 0.0))],
        _ => Vec::new(),
    }
}

fn rule(n: u64) -> (Option<u64>, Order) {
    let below = json!([{"field": "ship.fuel_pct", "op": "<", "value": 99.0 - n as f64},
        {"field": "orbit.eccentricity", "op": ">", "value": 0.001}]);
    let actions = json!([{"action": "set_attitude", "mode": "prograde"},
        {"action": "alert", "message": "low"}]);
    let rule = draft("continuous", 5, below, actions);
    (Some(n), Order::RuleCreate { rule_id: Uuid::from_u128(u128::from(n)), rule })
}

/// A digest of every byte that would be written.
fn run(threads: usize) -> Vec<u8> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut world = world();
        let mut digest = Sha256::new();
        let mut told = 0;
        for tick in 0..TICKS {
            for (ship, order) in orders(tick) {
                let command = Command {
                    at_ms: 1_794_787_200_000 + tick,
                    player_id: None,
                    ship_id: ship.map(ship_id),
                    order,
                };
                // Some are refused, the same ones each time.
                let outcome = world.obey(&command);
                digest.update(format!("{outcome:?}"));
            }
            let dt_ns = galaxy::pace::tick_ns(&world.pace, 0.0);
            let stepped = world.step(dt_ns);
            told += stepped.alerts.len() + stepped.ended.len();
            digest.update(format!("{stepped:?}"));
            if tick % 16 == 0 || tick + 1 == TICKS {
                for cmd in world.batch(KEYS).in_order() {
                    digest.update(cmd.get_packed_command());
                }
            }
        }
        assert!(told > 20 && world.ships.len() == 23, "much happened: {told}");
        digest.finalize().to_vec()
    })
}

#[test]
fn ten_thousand_ticks_with_the_same_orders_give_the_same_bytes() {
    assert_eq!(run(1), run(3));
}
