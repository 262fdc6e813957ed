//! The galaxy on the front page: how many ships fly, and what deserves a look.

use galaxy::{ALARM_AFTER, WorldView};
use kernel::Said;

use crate::app::App;
use crate::galaxy::{errors, gateway};
use crate::history::{Sample, Unit};
use crate::modules::State;
use crate::overview::{Look, Tile};
use crate::reply::Refusal;
use crate::said;

/// Energy of the bodies that changed by so much is wrong.
const DRIFT_BAD: f64 = 1e-3;
/// Seconds behind UTC that deserve a look.
const LATE_S: f64 = 60.0;

pub(super) async fn tile(app: State) -> Result<Tile, Refusal> {
    let seen = match gateway::of(&app).look(&app).await {
        Ok(seen) => seen,
        Err(refusal) if refusal.def.code == errors::NO_WORLD.code => {
            return Ok(made(0, said::GALAXY_NONE.say(), Vec::new()));
        }
        Err(refusal) if refusal.def.code == errors::WORLD_LOST.code => {
            let sentence = refusal.message.clone();
            let look = Look::new("bad", "galaxy", said::GALAXY_LOST.say(), "/galaxy");
            let look = Look { sentence, ..look };
            return Ok(made(0, said::GALAXY_LOST.say(), vec![look]));
        }
        Err(refusal) => return Err(refusal),
    };
    Ok(made(seen.ships.len() as u64, line(&seen), looks(&seen)))
}

/// The tick of this server, while it leads: others do not know how long one takes.
#[allow(clippy::cast_precision_loss)]
pub(super) fn samples(app: &App) -> Vec<Sample> {
    let gateway = gateway::of(app);
    let seen = gateway.engine.seen();
    let seen = seen.borrow();
    if !seen.leads {
        return Vec::new();
    }
    vec![
        Sample::server("galaxy", "tick", Unit::Ms, seen.numbers.took.as_secs_f64() * 1000.0),
        Sample::store("galaxy", "ships", Unit::Count, seen.ships.len() as f64),
    ]
}

fn made(number: u64, said: Said, looks: Vec<Look>) -> Tile {
    let unit = if number == 1 { "ship flies" } else { "ships fly" };
    let (unit, link, sentence) = (unit.into(), "/galaxy".into(), said.sentence());
    Tile { module: "galaxy", number, unit, sentence, said, counted: None, link, looks }
}

fn line(seen: &WorldView) -> Said {
    let line = if seen.pace.paused { said::GALAXY_PAUSED } else { said::GALAXY_TICKING };
    // The time of a game is within some thousand years of now.
    let game_at = i64::try_from(seen.time_ns / 1_000_000).unwrap_or_default();
    line.say().with("rate", seen.pace.rate).with("tick", seen.tick).with("game_at", game_at)
}

fn looks(seen: &WorldView) -> Vec<Look> {
    let mut looks = Vec::new();
    let mut add = |level: &'static str, said: Said| {
        looks.push(Look::new(level, "galaxy", said, "/galaxy"));
    };
    let numbers = &seen.numbers;
    if seen.pace.paused {
        add("warn", said::GALAXY_LOOK_PAUSED.say());
    }
    if numbers.behind > 10 {
        add("warn", said::GALAXY_LOOK_BEHIND.say().with("n", numbers.behind));
    }
    if numbers.energy_drift > DRIFT_BAD {
        let drift = format!("{:.0e}", numbers.energy_drift);
        add("bad", said::GALAXY_LOOK_ENERGY.say().with("drift", drift));
    }
    if numbers.snapshots_failed >= ALARM_AFTER {
        add("bad", said::GALAXY_LOOK_SNAPSHOTS.say().with("n", numbers.snapshots_failed));
    }
    if seen.pace.sync && seen.drift_s.abs() > LATE_S {
        #[allow(clippy::cast_possible_truncation)] // A world that is late by more is stopped.
        let behind = (seen.drift_s * 1000.0) as i64;
        add("warn", said::GALAXY_LOOK_LATE.say().with("behind_ms", behind));
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_world_deserves_a_look() {
        let mut seen = WorldView::default();
        assert!(looks(&seen).is_empty());
        seen.pace.paused = true;
        seen.drift_s = 90.0;
        assert_eq!(looks(&seen).len(), 2);
        seen.numbers.snapshots_failed = 2;
        assert_eq!(looks(&seen).len(), 2, "two may happen");
        seen.numbers.snapshots_failed = 3;
        let alarm = looks(&seen).into_iter().find(|look| look.level == "bad").unwrap();
        assert!(alarm.sentence.starts_with("3 snapshots"), "{}", alarm.sentence);
        assert_eq!(line(&seen).sentence(), "paused at 1.0 Hz, tick 0, 1970-01-01 00:00:00 UTC");
    }
}
