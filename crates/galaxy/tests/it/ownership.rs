//! Who may touch which key: the ownership table of seed 002, tried by every user on real servers and on the engine's own
//! door, and the engine and the gateway at work with no more rights than that.

use std::sync::Arc;

use galaxy::keys::TABLE;
use galaxy::{Online, OnlineChange, Order};
use kernel::SystemClock;
use kernel::keyspace::{Layout, Profile, acl};
use testkit::on_every_address;
use uuid::Uuid;

use crate::ticking::{KEYS, Ticking};

const PHYSICS: &str = "physics";
const TICK: &str = "tick-engine";
const GATEWAY: &str = "api-gateway";
const PLAYERS: &str = "players";
const GALAXY: &str = "galaxy";
const BOTH: &str = "game-engine";
const SERVER: &str = "game-gateway";
const ALL: [&str; 7] = [PHYSICS, TICK, GATEWAY, PLAYERS, GALAXY, BOTH, SERVER];

/// Key, how it is read and written, who owns it, who else reads it. Written by hand from the seed's own table, so that
/// the table of the code is held to it.
type Row = (&'static str, [&'static str; 2], &'static [&'static str], &'static [&'static str]);

const STRING: [&str; 2] = ["GET K", "SET K 1"];
const HASH: [&str; 2] = ["HGETALL K", "HSET K f v"];
const SET: [&str; 2] = ["SMEMBERS K", "SADD K m"];
const ZSET: [&str; 2] = ["ZRANGEBYSCORE K -inf +inf", "ZADD K 1 m"];
const STREAM: [&str; 2] = ["XREAD STREAMS K 0", "XADD K * f v"];
const ID: &str = "550e8400-e29b-41d4-a716-446655440000";

const MATRIX: &[Row] = &[
    ("ship:ID", HASH, &[PHYSICS], &[GATEWAY]),
    ("station:ID", HASH, &[PHYSICS], &[GATEWAY]),
    ("jumpgate:ID", HASH, &[PHYSICS], &[GATEWAY]),
    ("body:Earth", HASH, &[PHYSICS, GALAXY], &[GATEWAY]),
    ("game:tick", STRING, &[TICK], &[GATEWAY, PHYSICS]),
    ("game:time", STRING, &[TICK], &[GATEWAY, PHYSICS]),
    ("game:paused", STRING, &[TICK], &[GATEWAY]),
    ("game:tick_rate", STRING, &[TICK], &[GATEWAY]),
    ("game:time_scale", STRING, &[TICK], &[GATEWAY]),
    ("game:time_sync", STRING, &[TICK], &[GATEWAY]),
    ("game:time_drift", STRING, &[TICK], &[GATEWAY]),
    ("game:total_spawns", ["GET K", "INCR K"], &[PHYSICS], &[]),
    ("game:registration_open", STRING, &[GATEWAY], &[PLAYERS]),
    ("maneuver:ID", HASH, &[TICK], &[GATEWAY]),
    ("automation:ID:rules", SET, &[GATEWAY, TICK], &[]),
    ("automation:ID:ID", HASH, &[GATEWAY, TICK], &[]),
    ("connections:online", SET, &[GATEWAY], &[PLAYERS]),
    ("player:ID:active_ship", STRING, &[PLAYERS], &[GATEWAY]),
    ("player:ID:ships", SET, &[PLAYERS], &[]),
    ("system:sol:bodies", SET, &[PHYSICS, TICK, GALAXY], &[GATEWAY]),
    ("system:sol:ships", SET, &[PHYSICS, TICK], &[GATEWAY]),
    ("system:sol:stations", SET, &[PHYSICS, TICK], &[GATEWAY]),
    ("system:sol:jumpgates", SET, &[PHYSICS, TICK], &[GATEWAY]),
    ("{connections:online}:count", HASH, &[GATEWAY], &[]),
    ("{connections:online}:inst:a", HASH, &[GATEWAY], &[]),
    ("{connections:online}:leases", ZSET, &[GATEWAY], &[]),
    ("wk:galaxy:changed", SET, &[GATEWAY, TICK], &[]),
    ("game:restoring", STRING, &[TICK], &[PHYSICS, GATEWAY]),
    // A gateway must know whether anybody ticks.
    ("game:engine_lock", STRING, &[TICK], &[GATEWAY]),
    ("galaxy:ships", STREAM, &[PHYSICS], &[GATEWAY]),
    ("galaxy:jumpgates", STREAM, &[PHYSICS], &[GATEWAY]),
    ("galaxy:tick", STREAM, &[TICK], &[GATEWAY]),
    ("galaxy:admin", STREAM, &[GATEWAY], &[]),
    ("galaxy:commands", STREAM, &[GATEWAY], &[PHYSICS]),
    ("room:ABCD1234:meta", STRING, &[], &[]),
    ("anything", STRING, &[], &[]),
];

fn among(role: &str, roles: &[&str]) -> bool {
    let parts: &[&str] = match role {
        BOTH => &[PHYSICS, TICK],
        SERVER => &[GATEWAY, PLAYERS],
        _ => &[],
    };
    roles.contains(&role) || parts.iter().any(|part| roles.contains(part))
}

fn may_read(role: &str, (_, _, writers, readers): &Row) -> bool {
    // For snapshots.
    role == TICK || role == BOTH || among(role, writers) || among(role, readers)
}

/// An address with the users of `worldkeep acl`.
struct Door {
    addr: String,
}

impl Door {
    fn open(url: &str, profile: Profile) -> Door {
        let door = Door { addr: url.trim_start_matches("redis://").to_owned() };
        let none: [&str; 0] = [];
        for user in acl(&[&TABLE], Layout::Plain, &none, profile).unwrap() {
            let words = user.setuser("secret");
            let made: redis::RedisResult<()> =
                redis::cmd(&words[0]).arg(&words[1..]).query(&mut door.connect(None));
            made.unwrap_or_else(|error| panic!("{}: {error}", user.line("secret")));
        }
        door
    }

    fn url(&self, user: &str) -> String {
        format!("redis://{user}:secret@{}", self.addr)
    }

    fn connect(&self, user: Option<&str>) -> redis::Connection {
        let url = user.map_or_else(|| format!("redis://{}", self.addr), |user| self.url(user));
        redis::Client::open(url).unwrap().get_connection().unwrap()
    }

    /// Takes the users back: the next test has this server too.
    fn close(&self) {
        let mut admin = self.connect(None);
        let mut gone = redis::cmd("ACL");
        gone.arg("DELUSER").arg(&ALL).arg("worldkeep").arg("readonly");
        let () = gone.query(&mut admin).unwrap();
    }
}

/// Whether it was let through; any other error counts as leave.
fn may(connection: &mut redis::Connection, line: &str) -> bool {
    let words: Vec<_> = line.split(' ').collect();
    let outcome: redis::RedisResult<redis::Value> =
        redis::cmd(words[0]).arg(&words[1..]).query(connection);
    let Err(error) = outcome else { return true };
    let error = error.to_string();
    !["NoPerm", "NOPERM", "ACL failure", "executing the script can't"]
        .iter()
        .any(|refusal| error.contains(refusal))
}

#[test]
fn every_user_touches_what_the_table_says_and_nothing_else() {
    on_every_address("every_user_touches_what_the_table_says_and_nothing_else", |url| {
        let door = Door::open(url, Profile::Strict);
        for role in ALL {
            let mut connection = door.connect(Some(role));
            for row in MATRIX {
                let (key, [read, write], writers, _) = row;
                let key = key.replace("ID", ID);
                let (read, write) = (read.replace('K', &key), write.replace('K', &key));
                assert_eq!(may(&mut connection, &read), may_read(role, row), "{role}: {read}");
                let writes = among(role, writers);
                assert_eq!(may(&mut connection, &write), writes, "{role}: {write}");
                // A script lends nobody a right.
                let inside = write.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>();
                let script = format!("EVAL return(redis.call({})) 0", inside.join(","));
                if !writes {
                    assert!(!may(&mut connection, &script), "{role}: {script}");
                }
            }
            for line in ["KEYS *", "FLUSHALL", "CONFIG GET *", "ACL LIST", "DEBUG JMAP"] {
                assert!(!may(&mut connection, line), "{role}: {line}");
            }
            let scans = [PHYSICS, TICK, BOTH].contains(&role);
            assert_eq!(may(&mut connection, "SCAN 0"), scans, "{role} scans");
            let tells = [PHYSICS, TICK, BOTH].contains(&role);
            assert_eq!(may(&mut connection, "PUBLISH tick_completed 1"), tells, "{role} tells");
            assert!(!may(&mut connection, "PUBLISH elsewhere 1"), "{role}");
        }
        door.close();
    });
}

#[test]
fn only_the_compatible_profile_lets_the_gateway_write_a_ship() {
    on_every_address("only_the_compatible_profile_lets_the_gateway_write_a_ship", |url| {
        for (profile, renames) in [(Profile::Strict, false), (Profile::Compat, true)] {
            let door = Door::open(url, profile);
            let mut gateway = door.connect(Some(GATEWAY));
            assert_eq!(may(&mut gateway, &format!("HSET ship:{ID} name x")), renames);
            assert!(!may(&mut gateway, &format!("DEL ship:{ID}")));
            assert!(!may(&mut gateway, &format!("HSET station:{ID} name x")));
            door.close();
        }
    });
}

/// The engine ticks, keeps and mends with the rights of `game-engine`; sockets are counted with those of `api-gateway`.
#[test]
fn the_services_work_with_no_more_rights_than_theirs() {
    on_every_address("the_services_work_with_no_more_rights_than_theirs", |url| {
        let door = Door::open(url, Profile::Strict);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(async {
            let store = testkit::open(&door.url(BOTH)).await;
            let engine = Ticking::start(&store, "a");
            engine.until(|seen| seen.leads).await;
            engine.ask(Order::TickRate { tick_rate: 50.0 }).await.unwrap();
            engine.until(|seen| seen.tick > 5).await;
            let gateway = testkit::open(&door.url(GATEWAY)).await;
            let clock = Arc::new(SystemClock::new());
            let online = Online::start(gateway, KEYS, clock).await.unwrap();
            let player = Uuid::new_v4();
            assert_eq!(online.connect(player).await.unwrap(), OnlineChange::Came);
            online.beat().await.unwrap();
            assert_eq!(online.disconnect(player).await.unwrap(), OnlineChange::Left);
            online.leave().await.unwrap();
            let mended = galaxy::reconcile(&store).await.unwrap();
            assert_eq!(mended.findings, [], "a world that ticks is in order");
            engine.end().await;
        });
        door.close();
    });
}
