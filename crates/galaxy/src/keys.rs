//! Keys of the galaxy (seed 002), with the seed's ownership matrix as data. No key has a scope: one leader
//! writes, so both layouts are the seed's bytes. Online counts share the slot of `connections:online`.

use kernel::keyspace::{At, Belongs, Held, Index, Life, Named, Role};

const PHYSICS: &str = "physics";
const TICK: &str = "tick-engine";
const GATEWAY: &str = "api-gateway";
const PLAYERS: &str = "players";
const GALAXY: &str = "galaxy";

/// The roles that touch the keys. The tick engine reads all of them, for snapshots.
const ROLES: &[Role] = &[
    Role {
        name: PHYSICS,
        about: "Creates, moves and removes ships, bodies, stations and gates.",
        scans: true,
        ..Role::BASE
    },
    Role {
        name: TICK,
        about: "Advances the game and takes snapshots.",
        reads_all: true,
        scans: true,
        ..Role::BASE
    },
    Role { name: GATEWAY, about: "Serves players and admins.", ..Role::BASE },
    Role { name: PLAYERS, about: "Accounts and fleets.", ..Role::BASE },
    Role { name: GALAXY, about: "Puts the bodies of a new world in place.", ..Role::BASE },
    Role {
        name: "game-engine",
        about: "Physics and tick engine in one process.",
        reads_all: true,
        scans: true,
        acts_as: &[PHYSICS, TICK],
        serves: true,
    },
    Role {
        name: "game-gateway",
        about: "Gateway and players in one process.",
        acts_as: &[GATEWAY, PLAYERS],
        serves: true,
        ..Role::BASE
    },
];

/// An index of a star system: each entity is in the set of the system its hash names, `sol` by default.
const fn system(names: &'static str, fills: &'static str) -> Index {
    Index {
        names,
        fills,
        held: Held::Members,
        named: Named::Live,
        complete: Some(&[("system_id", At::Field("system_id", "sol"))]),
    }
}

const OF_SHIP: Option<Belongs> = Some(Belongs { to: "ship", with: &[], drop: false });

kernel::keyspace! {
    module = "galaxy",
    seed = Some("002"),
    about = "Ships, bodies and stations of a star system, and the tick that moves them.",
    prefixes = &[
        "ship:", "station:", "body:", "jumpgate:", "game:", "maneuver:", "automation:",
        "connections:", "{connections:online}:", "player:", "system:", "galaxy:", "wk:galaxy:",
    ],
    roles = ROLES,
    ;

    /// A ship's state: owner, position, velocity, attitude, controls, fuel.
    seed ship(ship_id: Uuid) = "ship:{ship_id}", Hash, Life::None,
        writers = &[PHYSICS], readers = &[GATEWAY, TICK], partly = &[(GATEWAY, "name")];
    /// A station's state, one field per component.
    seed station(station_id: Uuid) = "station:{station_id}", Hash, Life::None,
        writers = &[PHYSICS], readers = &[GATEWAY, TICK];
    /// A celestial body's position and velocity.
    seed body(name: Name) = "body:{name}", Hash, Life::None,
        writers = &[PHYSICS, GALAXY], readers = &[GATEWAY, TICK];

    /// The current tick number; written last of each tick.
    seed tick() = "game:tick", Int, Life::None,
        writers = &[TICK], readers = &[GATEWAY, PHYSICS];
    /// The current game time, ISO 8601.
    seed time() = "game:time", String, Life::None,
        writers = &[TICK], readers = &[GATEWAY, PHYSICS];
    /// How many ships were ever spawned; decides where the next one appears.
    seed total_spawns() = "game:total_spawns", Int, Life::None,
        writers = &[PHYSICS], readers = &[TICK];
    /// Whether the tick rests: true or false.
    seed paused() = "game:paused", String, Life::None, writers = &[TICK], readers = &[GATEWAY];
    /// Ticks per second.
    seed tick_rate() = "game:tick_rate", String, Life::None,
        writers = &[TICK], readers = &[GATEWAY];
    /// How fast game time runs; 1.0 is real time.
    seed time_scale() = "game:time_scale", String, Life::None,
        writers = &[TICK], readers = &[GATEWAY];
    /// Whether game time is drawn towards UTC: true or false.
    seed time_sync() = "game:time_sync", String, Life::None,
        writers = &[TICK], readers = &[GATEWAY];
    /// Seconds by which the game is behind UTC.
    seed time_drift() = "game:time_drift", String, Life::None,
        writers = &[TICK], readers = &[GATEWAY];
    /// Whether players may register; open when absent.
    seed registration_open() = "game:registration_open", String, Life::None,
        writers = &[GATEWAY], readers = &[PLAYERS, TICK];

    /// The maneuver that a ship flies.
    seed maneuver(ship_id: Uuid) = "maneuver:{ship_id}", Hash,
        Life::Sometimes("none while it flies; gone a minute after its end"),
        writers = &[TICK], readers = &[GATEWAY], belongs = OF_SHIP;
    /// Ids of a ship's automation rules.
    seed rules(ship_id: Uuid) = "automation:{ship_id}:rules", Set, Life::None,
        writers = &[GATEWAY, TICK], belongs = OF_SHIP,
        index = Some(Index {
            names: "rule", fills: "rule_id", held: Held::Members, named: Named::Live,
            complete: Some(&[]),
        });
    /// One automation rule: trigger, actions, mode, priority.
    seed rule(ship_id: Uuid, rule_id: Uuid) = "automation:{ship_id}:{rule_id}", Hash, Life::None,
        writers = &[GATEWAY, TICK], belongs = OF_SHIP, reserved = &[("rule_id", &["rules"])];

    /// Ids of the players with an open socket.
    seed online() = "connections:online", Set, Life::None,
        writers = &[GATEWAY], readers = &[PLAYERS, TICK];

    /// Names of the bodies in a star system.
    seed system_bodies(system_id: Name) = "system:{system_id}:bodies", Set, Life::None,
        writers = &[PHYSICS, TICK, GALAXY], readers = &[GATEWAY], index = Some(system("body", "name"));
    /// Ids of the ships in a star system.
    seed system_ships(system_id: Name) = "system:{system_id}:ships", Set, Life::None,
        writers = &[PHYSICS, TICK], readers = &[GATEWAY], index = Some(system("ship", "ship_id"));
    /// Ids of the stations in a star system.
    seed system_stations(system_id: Name) = "system:{system_id}:stations", Set, Life::None,
        writers = &[PHYSICS, TICK], readers = &[GATEWAY], index = Some(system("station", "station_id"));
    /// Ids of the jump gates in a star system.
    seed system_jumpgates(system_id: Name) = "system:{system_id}:jumpgates", Set, Life::None,
        writers = &[PHYSICS, TICK], readers = &[GATEWAY], index = Some(system("jumpgate", "jumpgate_id"));

    /// The ship that a player flies.
    seed active_ship(player_id: Uuid) = "player:{player_id}:active_ship", String, Life::None,
        writers = &[PLAYERS], readers = &[GATEWAY];
    /// Ids of a player's ships; rebuilt from the accounts at each login.
    seed player_ships(player_id: Uuid) = "player:{player_id}:ships", Set, Life::None,
        writers = &[PLAYERS],
        index = Some(Index {
            names: "ship", fills: "ship_id", held: Held::Members, named: Named::Any, complete: None,
        });

    /// A jump gate's state, one field per component.
    own jumpgate(jumpgate_id: Uuid) = "jumpgate:{jumpgate_id}", Hash, Life::None,
        writers = &[PHYSICS], readers = &[GATEWAY, TICK];
    /// Open sockets per player, on all servers.
    own online_count() = "{{connections:online}}:count", Hash, Life::None, writers = &[GATEWAY];
    /// Open sockets per player on one server.
    own online_inst(instance: Host) = "{{connections:online}}:inst:{instance}", Hash, Life::None,
        writers = &[GATEWAY];
    /// Servers with sockets: score = Unix ms at which the lease ends.
    own online_leases() = "{{connections:online}}:leases", Zset, Life::None, writers = &[GATEWAY];
    /// The snapshot that is being restored; whoever finds it repeats the restore.
    own restoring() = "game:restoring", String, Life::None,
        writers = &[TICK], readers = &[PHYSICS, GATEWAY];
    /// Which database has the accounts and snapshots of this store.
    own store() = "wk:galaxy:store", Hash, Life::None,
        writers = &[TICK, GATEWAY], readers = &[PHYSICS, PLAYERS];
    /// The last order of `galaxy:commands` that is carried out and stored; a new engine goes on after it.
    own heard() = "wk:galaxy:heard", String, Life::None, writers = &[TICK];
    /// Ships whose name or rules another service changed and wants to be read with the next tick.
    own changed() = "wk:galaxy:changed", Set, Life::None, writers = &[GATEWAY, TICK];
    /// Which engine ticks this world.
    own engine_lock() = "game:engine_lock", String, Life::Secs(5),
        writers = &[TICK], readers = &[GATEWAY];
    /// What happened to ships.
    own ships_events() = "galaxy:ships", Stream, Life::None,
        writers = &[PHYSICS], readers = &[GATEWAY];
    /// What happened to jump gates.
    own jumpgates_events() = "galaxy:jumpgates", Stream, Life::None,
        writers = &[PHYSICS], readers = &[GATEWAY];
    /// What happened to the tick.
    own tick_events() = "galaxy:tick", Stream, Life::None, writers = &[TICK], readers = &[GATEWAY];
    /// What admins changed: who, what, old, new.
    own admin_events() = "galaxy:admin", Stream, Life::None, writers = &[GATEWAY];
    /// Who came online and who left.
    own players_events() = "galaxy:players", Stream, Life::None,
        writers = &[GATEWAY], readers = &[GATEWAY];
    /// How a command given on one server reaches the engine on another.
    own commands() = "galaxy:commands", Stream, Life::None,
        writers = &[GATEWAY], readers = &[PHYSICS, TICK];
    /// What became of an order that came by `galaxy:commands`, for whoever waits for it.
    own bus() = "galaxy:bus", Channel, Life::None, writers = &[TICK], readers = &[GATEWAY];
    /// Told after each tick: its number.
    own tick_completed() = "tick_completed", Channel, Life::None,
        writers = &[PHYSICS, TICK], readers = &[GATEWAY];
}

/// The hash of a station or of a gate.
pub fn of_station(
    keys: Keys,
    kind: crate::model::StationKind,
    id: uuid::Uuid,
) -> Result<kernel::keyspace::Key, kernel::keyspace::BadId> {
    match kind {
        crate::model::StationKind::Station => keys.station(id),
        crate::model::StationKind::Jumpgate => keys.jumpgate(id),
    }
}
