//! One look at the world as sockets get it. What all sockets share (bodies, stations, every ship) is written once per
//! tick, by the first socket that needs it; a socket copies the parts it wants and adds its own ship.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::ws::Utf8Bytes;
use galaxy::engine::Seen;
use galaxy::physics::Vec3;
use galaxy::text;
use serde::Serialize;
use uuid::Uuid;

use super::shapes::{ShipFull, ShipLine, StationLine, body_lines};

/// The most ships in one message.
pub(crate) const SHIPS_MOST: usize = 200;

/// One tick for sockets.
pub(crate) struct Frame {
    pub(crate) seen: Arc<Seen>,
    /// When the tick was done, or read here; monotonic.
    at: Duration,
    /// How long after that the last socket so far had it queued, microseconds.
    slowest_us: AtomicU64,
    parts: OnceLock<Parts>,
}

impl Drop for Frame {
    /// When everybody who takes it has it.
    fn drop(&mut self) {
        let slowest = Duration::from_micros(*self.slowest_us.get_mut());
        if !slowest.is_zero() {
            metrics::histogram!("worldkeep_galaxy_fanout_seconds").record(slowest.as_secs_f64());
        }
    }
}

/// What is written once.
pub(crate) struct Parts {
    /// From `{` to the beginning of the list of ships.
    head: String,
    /// All ships, with commas between.
    ships: String,
    /// Where each of them stands in that text.
    spans: Vec<Range<usize>>,
    /// Where each of them is, side by side: every socket looks through all of them.
    places: Vec<Vec3>,
}

impl Frame {
    pub(crate) fn new(seen: Arc<Seen>, now: Duration) -> Self {
        let at = if seen.leads { seen.done } else { now };
        Frame { seen, at, slowest_us: AtomicU64::new(0), parts: OnceLock::new() }
    }

    /// It was just queued to a socket.
    pub(crate) fn queued(&self, now: Duration) {
        let took = now.saturating_sub(self.at);
        metrics::histogram!("worldkeep_galaxy_state_seconds").record(took.as_secs_f64());
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        self.slowest_us.fetch_max(took, Ordering::Relaxed);
    }

    /// The message for whoever flies this ship and wants at most so many others.
    pub(crate) fn state(&self, ship: Option<Uuid>, most: usize) -> Utf8Bytes {
        let parts = self.parts();
        let Parts { head, ships, spans, .. } = parts;
        let own = ship.and_then(|id| self.seen.ship(id));
        let most = most.min(SHIPS_MOST);
        let mut out = String::with_capacity(head.len() + ships.len().min(most * 400) + 1_200);
        out.push_str(head);
        if spans.len() <= most {
            out.push_str(ships);
        } else {
            for (n, at) in parts.nearest(own.map(|own| own.position), most).into_iter().enumerate()
            {
                if n > 0 {
                    out.push(',');
                }
                out.push_str(&ships[spans[at].clone()]);
            }
        }
        out.push_str(r#"],"ship":"#);
        match own {
            Some(own) => push(&mut out, &ShipFull::from(own)),
            None => out.push_str("null"),
        }
        out.push('}');
        out.into()
    }

    /// Writes what all sockets share, unless it is written.
    pub(crate) fn parts(&self) -> &Parts {
        self.parts.get_or_init(|| Parts::of(&self.seen))
    }
}

impl Parts {
    fn of(seen: &Seen) -> Self {
        let mut head = String::with_capacity(8_192);
        let time = text::time(seen.time_ns);
        let _ = write!(head, r#"{{"type":"state","tick":{},"game_time":"{time}","#, seen.tick);
        head.push_str(r#""bodies":["#);
        list(&mut head, body_lines(seen));
        let of_kind = |kind| seen.stations.iter().filter(move |station| station.kind == kind);
        head.push_str(r#"],"stations":["#);
        list(&mut head, of_kind(galaxy::model::StationKind::Station).map(StationLine::from));
        head.push_str(r#"],"jumpgates":["#);
        list(&mut head, of_kind(galaxy::model::StationKind::Jumpgate).map(StationLine::from));
        head.push_str(r#"],"ships":["#);
        let mut ships = Vec::with_capacity(seen.ships.len() * 400);
        let mut spans = Vec::with_capacity(seen.ships.len());
        for ship in &seen.ships {
            if !ships.is_empty() {
                ships.push(b',');
            }
            let begin = ships.len();
            serde_json::to_writer(&mut ships, &ShipLine::from(ship))
                .expect("it holds texts and numbers");
            spans.push(begin..ships.len());
        }
        let ships = String::from_utf8(ships).expect("JSON is text");
        let places = seen.ships.iter().map(|ship| ship.position).collect();
        Parts { head, ships, spans, places }
    }

    /// The ships that are nearest to a place, by their own place in the list; the first ones for a spectator.
    fn nearest(&self, from: Option<Vec3>, most: usize) -> Vec<usize> {
        let Some(from) = from else { return (0..most.min(self.places.len())).collect() };
        if most == 0 {
            return Vec::new();
        }
        // Of numbers that are not negative, the bits are in order too.
        let distance = |place: &Vec3| (*place - from).length_squared().to_bits();
        let all = self.places.iter().enumerate();
        let mut by_distance: Vec<(u64, usize)> =
            all.map(|(at, place)| (distance(place), at)).collect();
        by_distance.select_nth_unstable(most - 1);
        let mut chosen: Vec<usize> = by_distance[..most].iter().map(|(_, at)| *at).collect();
        chosen.sort_unstable();
        chosen
    }
}

fn list<T: Serialize>(out: &mut String, items: impl Iterator<Item = T>) {
    for (n, item) in items.enumerate() {
        if n > 0 {
            out.push(',');
        }
        push(out, &item);
    }
}

/// Appends JSON.
fn push<T: Serialize>(out: &mut String, item: &T) {
    // Texts and finite numbers: there is nothing here that JSON cannot hold.
    out.push_str(&serde_json::to_string(item).unwrap_or_else(|_| "null".to_owned()));
}

#[cfg(test)]
mod tests {
    use galaxy::engine::ShipSeen;
    use galaxy::physics::solar::SOL;
    use galaxy::physics::{Hull, ShipClass};
    use serde_json::Value;

    use super::*;

    fn world(ships: usize) -> Frame {
        let bodies = SOL.at_j2000();
        let now = bodies.now();
        #[allow(clippy::cast_precision_loss)]
        let ships = (0..ships).map(|n| ShipSeen {
            id: Uuid::from_u128(n as u128 + 1),
            player_id: "npc".into(),
            name: format!("ship \"{n}\""),
            position: Vec3::new(n as f64 * 1e3, 0.0, -0.0),
            velocity: Vec3::ZERO,
            hull: Hull::new(ShipClass::first()),
            target: None,
            docked: None,
            docked_at_tick: 0,
            landed: None,
            reference: 0,
            rules: Arc::default(),
            maneuver: None,
        });
        let seen = Arc::new(Seen {
            bodies: now.position.iter().copied().zip(now.velocity.iter().copied()).collect(),
            ships: ships.collect(),
            tick: 7,
            ..Seen::default()
        });
        Frame::new(seen, Duration::ZERO)
    }

    fn read(frame: &Frame, ship: Option<u128>, most: usize) -> Value {
        serde_json::from_str(&frame.state(ship.map(Uuid::from_u128), most)).unwrap()
    }

    #[test]
    fn a_state_has_every_ship_while_there_are_few() {
        let state = read(&world(3), Some(2), SHIPS_MOST);
        assert_eq!((&state["type"], &state["tick"]), (&"state".into(), &7.into()));
        assert_eq!(state["ships"].as_array().unwrap().len(), 3);
        assert_eq!(state["bodies"].as_array().unwrap().len(), 29);
        assert_eq!(state["ship"]["ship_id"], Uuid::from_u128(2).to_string());
        assert_eq!(state["ship"]["position"]["z"].to_string(), "0.0", "zero has no sign");
        assert_eq!(read(&world(3), None, SHIPS_MOST)["ship"], Value::Null);
    }

    #[test]
    fn of_many_ships_the_nearest_are_told() {
        let frame = world(500);
        let state = read(&frame, Some(401), SHIPS_MOST);
        let ships = state["ships"].as_array().unwrap();
        assert_eq!(ships.len(), 200);
        let xs: Vec<f64> = ships.iter().map(|s| s["position"]["x"].as_f64().unwrap()).collect();
        assert!(xs.iter().all(|x| (x - 400_000.0).abs() <= 100_000.0), "{xs:?}");
        assert_eq!(read(&frame, Some(1), 5)["ships"].as_array().unwrap().len(), 5);
        assert_eq!(read(&frame, Some(1), 0)["ships"].as_array().unwrap().len(), 0);
    }
}
