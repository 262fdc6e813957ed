//! The galaxy on the front page: how many ships fly, and what deserves a look.

use galaxy::{ALARM_AFTER, WorldView, text};

use crate::galaxy::{errors, gateway};
use crate::modules::State;
use crate::overview::{Look, Tile};
use crate::reply::Refusal;

/// Energy of the bodies that changed by so much is wrong.
const DRIFT_BAD: f64 = 1e-3;
/// Seconds behind UTC that deserve a look.
const LATE_S: f64 = 60.0;

pub(super) async fn tile(app: State) -> Result<Tile, Refusal> {
    let seen = match gateway::of(&app).look(&app).await {
        Ok(seen) => seen,
        Err(refusal) if refusal.def.code == errors::NO_WORLD.code => {
            return Ok(made(0, "There is no world yet: worldkeep galaxy init".into(), Vec::new()));
        }
        Err(refusal) if refusal.def.code == errors::WORLD_LOST.code => {
            let link = "/galaxy".to_owned();
            let sentence = refusal.message.clone();
            let look = Look { level: "bad", module: "galaxy".into(), sentence, link };
            return Ok(made(0, "The store has lost the world.".into(), vec![look]));
        }
        Err(refusal) => return Err(refusal),
    };
    Ok(made(seen.ships.len() as u64, sentence(&seen), looks(&seen)))
}

fn made(number: u64, sentence: String, looks: Vec<Look>) -> Tile {
    let unit = if number == 1 { "ship flies" } else { "ships fly" };
    Tile { module: "galaxy", number, unit: unit.into(), sentence, link: "/galaxy".into(), looks }
}

fn sentence(seen: &WorldView) -> String {
    let state = if seen.pace.paused { "paused" } else { "ticking" };
    let time = text::time(seen.time_ns);
    let time = time.split('.').next().unwrap_or_default().trim_end_matches('Z');
    format!("{state} at {} Hz, tick {}, {time}Z", seen.pace.rate, seen.tick)
}

fn looks(seen: &WorldView) -> Vec<Look> {
    let mut looks = Vec::new();
    let mut add = |level: &'static str, sentence: String| {
        looks.push(Look { level, module: "galaxy".into(), sentence, link: "/galaxy".into() });
    };
    let numbers = &seen.numbers;
    if seen.pace.paused {
        add("warn", "The game is paused.".into());
    }
    if numbers.behind > 10 {
        add("warn", format!("{} ticks are due and not done.", numbers.behind));
    }
    if numbers.energy_drift > DRIFT_BAD {
        add("bad", format!("The energy of the bodies is off by {:.0e}.", numbers.energy_drift));
    }
    if numbers.snapshots_failed >= ALARM_AFTER {
        let failed = numbers.snapshots_failed;
        add("bad", format!("{failed} snapshots in a row could not be kept; the log says why."));
    }
    if seen.pace.sync && seen.drift_s.abs() > LATE_S {
        add("warn", format!("Game time is {:.0} s behind UTC.", seen.drift_s));
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
        assert_eq!(sentence(&seen), "paused at 1 Hz, tick 0, 1970-01-01T00:00:00Z");
    }
}
