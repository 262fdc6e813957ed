//! One look at the world as sockets get it. What all sockets share (bodies, stations, every ship) is written once per
//! tick, by the first who needs it; a socket's state names the parts of it that it wants, and adds its own ship.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use galaxy::{WorldView, text};
use metrics::{Counter, Histogram};
use serde::Serialize;
use uuid::Uuid;

use super::nearest::{Places, Reach};
use super::shapes::{ShipFull, ShipLine, StationLine, body_lines};
use super::state::{Spans, State};

/// The most ships in one message.
pub(crate) const SHIPS_MOST: usize = 200;

/// The counters of states, found once.
#[derive(Clone)]
pub(crate) struct Meters {
    state: Histogram,
    fanout: Histogram,
    pub(crate) sent: Counter,
}

impl Meters {
    pub(crate) fn new() -> Self {
        Meters {
            state: metrics::histogram!("worldkeep_galaxy_state_seconds"),
            fanout: metrics::histogram!("worldkeep_galaxy_fanout_seconds"),
            sent: metrics::counter!("worldkeep_galaxy_sent_bytes_total"),
        }
    }
}

/// One tick for sockets.
pub(crate) struct Frame {
    pub(crate) seen: Arc<WorldView>,
    /// When the tick was done, or read here; monotonic.
    at: Duration,
    /// How long after that the last socket so far had it queued, microseconds.
    slowest_us: AtomicU64,
    meters: Meters,
    parts: OnceLock<Parts>,
}

impl Drop for Frame {
    /// When everybody who takes it has it.
    fn drop(&mut self) {
        let slowest = Duration::from_micros(*self.slowest_us.get_mut());
        if !slowest.is_zero() {
            self.meters.fanout.record(slowest.as_secs_f64());
        }
    }
}

/// The text that is written once.
struct Parts {
    /// From `{` to the last ship of all.
    text: String,
    /// The offset of each in it, and where one more would: behind a comma.
    begins: Vec<usize>,
    /// The position of each in the world.
    places: Places,
}

impl Frame {
    pub(crate) fn new(seen: Arc<WorldView>, now: Duration, meters: Meters) -> Self {
        let at = if seen.leads { seen.done } else { now };
        Frame { seen, at, slowest_us: AtomicU64::new(0), meters, parts: OnceLock::new() }
    }

    /// It was just queued to a socket.
    pub(crate) fn queued(&self, now: Duration) {
        let took = now.saturating_sub(self.at);
        self.meters.state.record(took.as_secs_f64());
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        self.slowest_us.fetch_max(took, Ordering::Relaxed);
    }

    /// The message for whoever flies this ship and wants at most so many others.
    pub(crate) fn state(
        self: &Arc<Self>,
        ship: Option<Uuid>,
        most: usize,
        reach: &mut Reach,
    ) -> State {
        let parts = self.parts.get_or_init(|| Parts::of(&self.seen));
        let own = ship.and_then(|id| self.seen.ship(id));
        let most = most.min(SHIPS_MOST).min(parts.places.len());
        let mut spans = Spans::new(0..parts.begins[0], most);
        let mut take = |at: usize| spans.add(parts.begins[at]..parts.begins[at + 1]);
        match own {
            Some(own) => parts.places.nearest(own.position, most, reach, take),
            // A spectator sees the first ones.
            None => (0..most).for_each(&mut take),
        }
        let spans = spans.end(most > 0);
        let mut tail = Vec::with_capacity(1_200);
        tail.extend_from_slice(br#"],"ship":"#);
        match own {
            Some(own) => push(&mut tail, &ShipFull::from(own)),
            None => tail.extend_from_slice(b"null"),
        }
        tail.push(b'}');
        State::new(Arc::clone(self), spans, tail)
    }

    /// The part that all sockets share.
    pub(super) fn text(&self) -> &str {
        self.parts.get().map_or("", |parts| &parts.text)
    }
}

impl Parts {
    fn of(seen: &WorldView) -> Self {
        let mut text = Vec::with_capacity(10_000 + seen.ships.len() * 400);
        let time = text::time(seen.time_ns);
        let _ = write!(text, r#"{{"type":"state","tick":{},"game_time":"{time}","#, seen.tick);
        text.extend_from_slice(br#""bodies":["#);
        list(&mut text, body_lines(seen));
        let of_kind = |kind| seen.stations.iter().filter(move |station| station.kind == kind);
        text.extend_from_slice(br#"],"stations":["#);
        list(&mut text, of_kind(galaxy::StationKind::Station).map(StationLine::from));
        text.extend_from_slice(br#"],"jumpgates":["#);
        list(&mut text, of_kind(galaxy::StationKind::Jumpgate).map(StationLine::from));
        text.extend_from_slice(br#"],"ships":["#);
        let mut begins = Vec::with_capacity(seen.ships.len() + 1);
        for ship in &seen.ships {
            if !begins.is_empty() {
                text.push(b',');
            }
            begins.push(text.len());
            push(&mut text, &ShipLine::from(ship));
        }
        begins.push(text.len() + usize::from(!begins.is_empty()));
        let text = String::from_utf8(text).expect("JSON is text");
        let places = seen.ships.iter().map(|ship| ship.position).collect();
        Parts { text, begins, places }
    }
}

fn list<T: Serialize>(out: &mut Vec<u8>, items: impl Iterator<Item = T>) {
    for (n, item) in items.enumerate() {
        if n > 0 {
            out.push(b',');
        }
        push(out, &item);
    }
}

/// Appends JSON.
fn push<T: Serialize>(out: &mut Vec<u8>, item: &T) {
    serde_json::to_writer(out, item).expect("it holds texts and numbers");
}

#[cfg(test)]
pub(super) mod tests {
    use galaxy::ShipView;
    use galaxy::physics::solar::SOL;
    use galaxy::physics::{Hull, ShipClass, Vec3};
    use serde_json::Value;

    use super::*;
    use crate::socket::FrameHeader;

    fn world(ships: usize) -> Arc<Frame> {
        world_at(ships, 7)
    }

    /// Ships in a row, a kilometre apart.
    pub(in super::super) fn world_at(ships: usize, tick: u64) -> Arc<Frame> {
        let bodies = SOL.at_j2000();
        let now = bodies.now();
        #[allow(clippy::cast_precision_loss)]
        let ships = (0..ships).map(|n| ShipView {
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
        let seen = Arc::new(WorldView {
            bodies: now.position.iter().copied().zip(now.velocity.iter().copied()).collect(),
            ships: ships.collect(),
            tick,
            ..WorldView::default()
        });
        Arc::new(Frame::new(seen, Duration::ZERO, Meters::new()))
    }

    /// The texts, by whom they are sent to.
    fn sent(frame: &Arc<Frame>, ship: Option<u128>, most: usize) -> String {
        let state = frame.state(ship.map(Uuid::from_u128), most, &mut Reach::default());
        let all: Vec<u8> = state.pieces().iter().flat_map(|piece| piece.to_vec()).collect();
        let head = FrameHeader::text(state.len());
        assert_eq!(&all[..head.len()], &*head);
        let text = String::from_utf8(all[head.len()..].to_vec()).unwrap();
        assert_eq!(text.len(), state.len());
        text
    }

    fn read(frame: &Arc<Frame>, ship: Option<u128>, most: usize) -> Value {
        serde_json::from_str(&sent(frame, ship, most)).unwrap()
    }

    #[derive(Serialize)]
    struct Whole<'a> {
        r#type: &'a str,
        tick: u64,
        game_time: String,
        bodies: Vec<super::super::shapes::BodyLine<'a>>,
        stations: [(); 0],
        jumpgates: [(); 0],
        ships: Vec<ShipLine<'a>>,
        ship: Option<ShipFull<'a>>,
    }

    #[test]
    fn pieces_are_byte_for_byte_what_the_whole_is() {
        for count in [0, 1, 2, 199, 200, 201, 500] {
            let frame = world(count);
            let seen = &frame.seen;
            for (ship, most) in [
                (None, 200),
                (None, 3),
                (Some(1), 200),
                (Some(150), 7),
                (Some(150), 0),
                (Some(900), 1),
            ] {
                let own = ship.and_then(|id| seen.ship(Uuid::from_u128(id)));
                let mut near: Vec<&ShipView> = seen.ships.iter().collect();
                if let Some(own) = own {
                    let far = |ship: &ShipView| (ship.position - own.position).length();
                    near.sort_by(|a, b| far(a).total_cmp(&far(b)));
                }
                near.truncate(most);
                near.sort_by_key(|ship| ship.id);
                let whole = Whole {
                    r#type: "state",
                    tick: 7,
                    game_time: text::time(seen.time_ns),
                    bodies: body_lines(seen).collect(),
                    stations: [],
                    jumpgates: [],
                    ships: near.into_iter().map(ShipLine::from).collect(),
                    ship: own.map(ShipFull::from),
                };
                let whole = serde_json::to_string(&whole).unwrap();
                assert_eq!(sent(&frame, ship, most), whole, "{most} of {count} for {ship:?}");
            }
        }
    }

    #[test]
    fn ships_that_stand_side_by_side_are_one_piece() {
        let frame = world(500);
        let state = frame.state(Some(Uuid::from_u128(250)), 100, &mut Reach::default());
        assert_eq!(state.pieces().len(), 4, "head, what stands before the ships, ships, own ship");
        let state = frame.state(Some(Uuid::from_u128(1)), 100, &mut Reach::default());
        assert_eq!(state.pieces().len(), 3, "the first ships follow what stands before them");
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
