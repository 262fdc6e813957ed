//! `worldkeep galaxy …`: the game from the command line, on a store or over HTTP.

use serde_json::{Value, json};

use crate::cli::Global;
use crate::cli::galaxy::{Build, Fly, Galaxy, Gate, PlayersVerb, Rate, Snapshot, Spawn, Switch};
use crate::exit::Failure;
use crate::remote::{self, Ask};
use crate::view::{Column, Show, col, text, yes};
use crate::{open, path};

const STATUS: &[Column] = &[
    col("tick", "/tick"),
    col("game time", "/time"),
    col("paused", "/paused").by(yes),
    col("ticks/s", "/tick_rate"),
    col("actual", "/actual_rate").by(short),
    col("behind", "/ticks_behind"),
    col("time scale", "/time_scale"),
    col("effective", "/effective_scale").by(short),
    col("time sync", "/time_sync").by(yes),
    col("drift s", "/time_drift"),
    col("tick ms", "/tick_ms").by(short),
    col("energy off by", "/energy_drift").by(small),
    col("momentum off by", "/momentum_drift").by(small),
    col("ships", "/ships"),
    col("stations", "/stations"),
    col("online", "/online"),
    col("registration", "/registration_open").by(gate),
    col("leader", "/leader").by(yes),
];

const SHIPS: &[Column] = &[
    col("id", "/ship_id"),
    col("name", "/name"),
    col("class", "/ship_class"),
    col("near", "/reference_body"),
    col("thrust", "/thrust_level").by(short),
    col("fuel kg", "/fuel").by(short),
    col("owner", "/player_id"),
];

const SHIP: &[Column] = &[
    col("id", "/ship_id"),
    col("name", "/name"),
    col("owner", "/player_id"),
    col("class", "/ship_class"),
    col("system", "/system_id"),
    col("near", "/reference_body"),
    col("position m", "/position"),
    col("velocity m/s", "/velocity"),
    col("attitude", "/attitude"),
    col("mode", "/attitude_mode"),
    col("target", "/attitude_target_id"),
    col("thrust", "/thrust_level"),
    col("fuel kg", "/fuel"),
    col("of", "/fuel_capacity"),
    col("docked at", "/docked_station_id"),
    col("landed on", "/landed_body_name"),
];

const ORBIT: &[Column] = &[
    col("about", "/reference_body"),
    col("altitude m", "/altitude").by(short),
    col("speed m/s", "/speed").by(short),
    col("periapsis m", "/periapsis/altitude").by(short),
    col("in s", "/periapsis/in_s").by(short),
    col("apoapsis m", "/apoapsis/altitude").by(short),
    col("in s", "/apoapsis/in_s").by(short),
    col("eccentricity", "/eccentricity"),
    col("inclination", "/inclination").by(short),
    col("node", "/longitude_of_node").by(short),
    col("argument", "/argument_of_periapsis").by(short),
    col("anomaly", "/true_anomaly").by(short),
    col("period s", "/period").by(short),
    col("meets", "/encounter/body"),
    col("how", "/encounter/kind"),
    col("in s", "/encounter/in_s").by(short),
    col("flies", "/maneuver/type"),
];

const PLAYERS: &[Column] = &[
    col("id", "/player_id"),
    col("name", "/username"),
    col("admin", "/is_admin").by(yes),
    col("online", "/online").by(yes),
    col("since", "/created_at"),
];

const PLAYER: &[Column] = &[
    col("id", "/player_id"),
    col("name", "/username"),
    col("admin", "/is_admin").by(yes),
    col("online", "/online").by(yes),
    col("since", "/created_at"),
    col("ships", "/ships").by(|ships| {
        let all = ships.as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().map(|ship| text(&ship["name"])).collect::<Vec<_>>().join(", ")
    }),
];

const SNAPSHOTS: &[Column] = &[
    col("id", "/id"),
    col("tick", "/tick_number"),
    col("game time", "/game_time"),
    col("taken", "/created_at"),
];

fn short(value: &Value) -> String {
    value.as_f64().map(|number| format!("{number:.2}")).unwrap_or_default()
}

fn small(value: &Value) -> String {
    value.as_f64().map(|number| format!("{number:.1e}")).unwrap_or_default()
}

fn gate(value: &Value) -> String {
    if *value == Value::Bool(false) { "closed".into() } else { "open".into() }
}

/// The game's pace, in a sentence.
fn pace(status: &Value) -> String {
    format!(
        "{} at tick {}: {} ticks/s, time scale {}, sync {}",
        if status["paused"] == true { "paused" } else { "running" },
        text(&status["tick"]),
        text(&status["tick_rate"]),
        text(&status["time_scale"]),
        if status["time_sync"] == true { "on" } else { "off" },
    )
}

pub(super) fn run(global: &Global, verb: Galaxy) -> Result<(), Failure> {
    let post = |path: &str| Ask::post(path.to_owned());
    let paced = |ask: Ask| remote::run(global, &[], &ask, &Show::Says(&pace));
    match verb {
        Galaxy::Status => {
            remote::run(global, &[], &Ask::get("/api/admin/status"), &Show::Facts(STATUS))
        }
        Galaxy::Init => paced(post("/api/admin/game/init")),
        Galaxy::Pause => paced(post("/api/admin/game/pause")),
        Galaxy::Resume => paced(post("/api/admin/game/resume")),
        Galaxy::TickRate { verb: Rate::Get } => {
            let says = |status: &Value| format!("{} ticks per second", text(&status["tick_rate"]));
            remote::run(global, &[], &Ask::get("/api/status"), &Show::Says(&says))
        }
        Galaxy::TickRate { verb: Rate::Set { rate } } => {
            paced(Ask::put("/api/admin/game/tick-rate").body(json!({ "tick_rate": rate })))
        }
        Galaxy::TimeScale { scale } => {
            paced(Ask::put("/api/admin/game/time-scale").body(json!({ "time_scale": scale })))
        }
        Galaxy::Sync { switch } => {
            let body = json!({ "enabled": switch == Switch::On });
            paced(post("/api/admin/game/time-sync").body(body))
        }
        Galaxy::Snapshot { verb } => snapshot(global, &verb),
        Galaxy::Players(flags) => players(global, flags.verb, flags.limit),
        Galaxy::Registrations { gate: wish } => {
            let ask = match wish {
                None => Ask::get("/api/admin/registrations"),
                Some(Gate::Open) => post("/api/admin/registrations/enable"),
                Some(Gate::Close) => post("/api/admin/registrations/disable"),
            };
            let says = |answer: &Value| format!("registration is {}", gate(&answer["open"]));
            remote::run(global, &[], &ask, &Show::Says(&says))
        }
        Galaxy::Spawn { what } => spawn(global, what),
        Galaxy::Ships { limit } => {
            let ask = Ask::get("/api/ships").up_to(limit);
            remote::run(global, &[], &ask, &Show::Table(SHIPS, "no ship flies"))
        }
        Galaxy::Ship { id } => {
            remote::run(global, &[], &Ask::get(path!("/api/ships/{}", id)), &Show::Facts(SHIP))
        }
        Galaxy::Orbit { id } => {
            let ask = Ask::get(path!("/api/ships/{}/orbit", id));
            remote::run(global, &[], &ask, &Show::Facts(ORBIT))
        }
        Galaxy::Maneuver(fly) => maneuver(global, &fly),
        Galaxy::Reset => {
            open::confirm(global, "take every ship, station and gate out of the world")?;
            paced(post("/api/admin/reset"))
        }
    }
}

fn maneuver(global: &Global, fly: &Fly) -> Result<(), Failure> {
    let path = path!("/api/ships/{}/maneuver", fly.id);
    if fly.action == "abort" {
        let says = |_: &Value| "the maneuver is ended".to_owned();
        let done = json!({ "aborted": fly.id.as_str() });
        return super::worlds::done(global, &Ask::delete(path), &done, &says);
    }
    let mut body = json!({ "action": fly.action });
    for (name, value) in [
        ("target_altitude", json!(fly.altitude)),
        ("inclination", json!(fly.inclination)),
        ("direction", json!(fly.direction)),
        ("delta_v", json!(fly.delta_v)),
        ("target_id", json!(fly.target)),
        ("target_type", json!(fly.target_type)),
        ("dock_on_arrival", json!(fly.dock.then_some(true))),
    ] {
        if !value.is_null() {
            body[name] = value;
        }
    }
    let says = |made: &Value| format!("{} is flown", text(&made["type"]));
    remote::run(global, &[], &Ask::post(path).body(body), &Show::Says(&says))
}

fn snapshot(global: &Global, verb: &Snapshot) -> Result<(), Failure> {
    match verb {
        Snapshot::Create => {
            let says = |made: &Value| {
                format!("snapshot {} of tick {}", text(&made["id"]), text(&made["tick_number"]))
            };
            remote::run(global, &[], &Ask::post("/api/admin/snapshots"), &Show::Says(&says))
        }
        Snapshot::List { limit } => {
            let ask = Ask::get("/api/admin/snapshots").up_to(*limit);
            remote::run(global, &[], &ask, &Show::Table(SNAPSHOTS, "no snapshot was taken yet"))
        }
        Snapshot::Restore { id } => {
            open::confirm(global, &format!("put the world back to snapshot {id}"))?;
            let ask = Ask::post(path!("/api/admin/snapshots/{}/restore", id));
            remote::run(global, &[], &ask, &Show::Says(&pace))
        }
    }
}

fn players(global: &Global, verb: Option<PlayersVerb>, limit: usize) -> Result<(), Failure> {
    match verb {
        None => {
            let ask = Ask::get("/api/admin/players").up_to(limit);
            remote::run(global, &[], &ask, &Show::Table(PLAYERS, "nobody has registered yet"))
        }
        Some(PlayersVerb::Show { id }) => {
            let ask = Ask::get(path!("/api/admin/players/{}", id));
            remote::run(global, &[], &ask, &Show::Facts(PLAYER))
        }
        Some(PlayersVerb::Rm { id }) => {
            open::confirm(global, &format!("delete player {id} with all ships"))?;
            let ask = Ask::delete(path!("/api/admin/players/{}", id));
            let says = |_: &Value| format!("player {id} is deleted");
            super::worlds::done(global, &ask, &json!({ "deleted": id.as_str() }), &says)
        }
    }
}

fn spawn(global: &Global, what: Spawn) -> Result<(), Failure> {
    let build = |ask: Ask, field: &'static str, build: Build| {
        let Build { name, at, altitude, lagrange } = build;
        let body = json!({
            "name": name, "parent_body": at, "altitude": altitude, "lagrange": lagrange,
        });
        let says = |made: &Value| format!("{} is {}", text(&made["name"]), text(&made[field]));
        remote::run(global, &[], &ask.body(body), &Show::Says(&says))
    };
    match what {
        Spawn::Ship { name, class, station } => {
            let body = json!({ "name": name, "ship_class": class, "station_id": station });
            let says =
                |made: &Value| format!("{} is {}", text(&made["name"]), text(&made["ship_id"]));
            let ask = Ask::post("/api/admin/ships").body(body);
            remote::run(global, &[], &ask, &Show::Says(&says))
        }
        Spawn::Station(what) => build(Ask::post("/api/admin/stations"), "station_id", what),
        Spawn::Jumpgate(what) => build(Ask::post("/api/admin/jumpgates"), "jumpgate_id", what),
    }
}
