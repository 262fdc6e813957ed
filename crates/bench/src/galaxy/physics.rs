//! Bodies and ships without a store: steps per second, per core by CPU time, and on all cores by the wall.

use std::time::{Duration, Instant};

use galaxy::physics::solar::SOL;
use galaxy::physics::{Bodies, Craft, Fleet, Hull, ShipClass, Vec3};

use super::super::pace::core_time;
use super::super::peers::Python;
use super::super::stats::median;
use super::{Amounts, Figure, Tell};

const STEP_S: f64 = 0.5;
/// Steps between two looks at the clock.
const AT_ONCE: usize = 5;

pub(super) fn run(
    amounts: Amounts,
    peers: Option<&Python>,
    tell: &mut Tell<'_>,
) -> Result<(), String> {
    let Amounts { ships, rounds, seconds } = amounts;
    let (mut core, mut all) = (vec![], vec![]);
    let (mut rebound, mut numpy, mut by_body) = (vec![], vec![], vec![]);
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../galaxy/data/sol.tsv");
    let (count, time) = (ships.to_string(), seconds.to_string());
    for _ in 0..rounds {
        core.push(alone(ships, seconds)?);
        all.push(together(ships, seconds));
        if let Some(peers) = peers {
            let whose = [("rebound", &mut rebound), ("numpy", &mut numpy), ("loop", &mut by_body)];
            for (which, rates) in whose {
                rates.push(peers.run("physics.py", &[which, &count, &time, table])?.per_s);
            }
        }
    }
    let (core, all) = (median(core), median(all));
    tell(Figure::plain(format!("29 bodies, {ships} ships: one core"), core, "steps/s"));
    tell(Figure::plain(format!("29 bodies, {ships} ships: all cores"), all, "steps/s"));
    if rebound.is_empty() {
        return Ok(());
    }
    let (rebound, numpy) = (median(rebound), median(numpy));
    tell(Figure::plain("REBOUND leapfrog, one core", rebound, "steps/s"));
    tell(Figure::plain("numpy, all pairs at once, one core", numpy, "steps/s"));
    tell(Figure::plain("numpy, body by body, one core", median(by_body), "steps/s"));
    tell(Figure::at_least("physics: times REBOUND, per core", core / rebound, "x", 1.0));
    tell(Figure::at_least("physics: times REBOUND, all cores (goal)", all / rebound, "x", 3.0));
    tell(Figure::at_least("physics: times numpy, per core", core / numpy, "x", 5.0));
    tell(Figure::at_least("physics: times numpy, all cores (goal)", all / numpy, "x", 15.0));
    Ok(())
}

fn crowd(ships: usize) -> (Bodies, Fleet) {
    let bodies = SOL.at_j2000();
    let mut fleet = Fleet::default();
    let earth = SOL.find("Earth").unwrap_or_default();
    for n in 0..ships {
        #[allow(clippy::cast_precision_loss)] // some ten thousand
        let (distance, angle) = (6.771e6 + 1e3 * (n % 5_000) as f64, 2.399_963 * n as f64);
        let speed = (bodies.gm()[earth] / distance).sqrt();
        let (sin, cos) = angle.sin_cos();
        let craft = Craft {
            reference: earth,
            r: Vec3::new(cos, sin, 0.0) * distance,
            v: Vec3::new(-sin, cos, 0.0) * speed,
        };
        fleet.insert(&bodies, craft, Some(Hull::new(ShipClass::first())));
    }
    (bodies, fleet)
}

fn step(bodies: &mut Bodies, fleet: &mut Fleet) {
    for _ in 0..AT_ONCE {
        let track = bodies.advance(STEP_S);
        fleet.advance(bodies.gm(), &track);
    }
}

/// On one thread, by its CPU time.
fn alone(ships: usize, seconds: f64) -> Result<f64, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|error| format!("no thread: {error}"))?;
    Ok(pool.install(|| {
        let (mut bodies, mut fleet) = crowd(ships);
        step(&mut bodies, &mut fleet);
        rate(seconds, core_time, || step(&mut bodies, &mut fleet))
    }))
}

/// On all cores, by the wall.
fn together(ships: usize, seconds: f64) -> f64 {
    let (mut bodies, mut fleet) = crowd(ships);
    step(&mut bodies, &mut fleet);
    let start = Instant::now();
    rate(seconds, || start.elapsed(), || step(&mut bodies, &mut fleet))
}

fn rate(seconds: f64, now: impl Fn() -> Duration, mut work: impl FnMut()) -> f64 {
    let (start, mut done) = (now(), 0.0);
    loop {
        work();
        #[allow(clippy::cast_precision_loss)] // five
        let more = AT_ONCE as f64;
        done += more;
        let passed = now().saturating_sub(start).as_secs_f64();
        if passed >= seconds {
            return done / passed;
        }
    }
}
