//! The ACL rules made from the tables, tried on a real server: each role does what the ownership matrix of
//! seed 002 lets it do, and is refused the rest, from inside a script too.

#![allow(clippy::unwrap_used)]

use kernel::check::{Options, check};
use kernel::keyspace::{Acl, Classifier, Layout, Profile, acl};
use testkit::{Program, Server, programs};

const SHIP: &str = "ship:550e8400-e29b-41d4-a716-446655440000";

fn users(layout: Layout, profile: Profile) -> Vec<Acl> {
    acl(&server::modules::tables(), layout, &["bridge", "{own}"], profile).unwrap()
}

struct Door {
    server: Server,
}

impl Door {
    fn open(program: Program, users: &[Acl]) -> Door {
        let door = Door { server: Server::start(program) };
        let mut admin = door.connect(None);
        for user in users {
            let words = user.setuser("secret");
            let () = redis::cmd(&words[0])
                .arg(&words[1..])
                .query(&mut admin)
                .unwrap_or_else(|error| panic!("{} {error}", user.line("secret")));
        }
        door
    }

    fn url(&self, user: &str) -> String {
        format!("redis://{user}:secret@127.0.0.1:{}", self.server.port())
    }

    fn connect(&self, user: Option<&str>) -> redis::Connection {
        let url = user.map_or_else(|| self.server.url(), |user| self.url(user));
        redis::Client::open(url).unwrap().get_connection().unwrap()
    }

    /// Whether the user may; any other error counts as leave, since the keys need not exist.
    fn may(&self, user: &str, line: &str) -> bool {
        let words: Vec<_> = line.split(' ').collect();
        let mut connection = self.connect(Some(user));
        let reply: redis::RedisResult<redis::Value> =
            redis::cmd(words[0]).arg(&words[1..]).query(&mut connection);
        match reply {
            Ok(_) => true,
            Err(error) => {
                let error = error.to_string();
                let refusals = ["NoPerm", "NOPERM", "ACL failure", "executing the script can't"];
                !refusals.iter().any(|words| error.contains(words))
            }
        }
    }

    fn expect(&self, user: &str, may: &[&str], may_not: &[&str]) {
        for line in may {
            assert!(self.may(user, line), "{user} must be able to: {line}");
        }
        for line in may_not {
            assert!(!self.may(user, line), "{user} must be refused: {line}");
        }
    }
}

#[test]
fn roles_of_the_galaxy_write_what_they_own() {
    for program in programs() {
        let door = Door::open(program, &users(Layout::Plain, Profile::Strict));
        let ship = |verb: &str, rest: &str| format!("{verb} {SHIP}{rest}");
        door.expect(
            "physics",
            &[
                &ship("HSET", " name x"),
                &ship("HGETALL", ""),
                "INCR game:total_spawns",
                "SADD system:sol:ships a",
                "GET game:tick",
                "XADD galaxy:ships * a b",
                "PUBLISH tick_completed 1",
                "SCAN 0 MATCH ship:*",
                "HSET body:Earth a b",
                "XREAD STREAMS galaxy:commands 0",
            ],
            &[
                "SET game:tick 1",
                "SET game:paused true",
                "SADD connections:online p",
                "HSET maneuver:x a b",
                "GET game:paused",
                "XADD galaxy:tick * a b",
                "XADD galaxy:commands * a b",
                "KEYS *",
                "FLUSHALL",
                "CONFIG GET *",
                "SUBSCRIBE other",
                "SET room:ABCD1234:meta x",
                "EVAL return(redis.call('SET','game:tick','1')) 0",
            ],
        );
        door.expect(
            "tick-engine",
            &[
                "SET game:tick 1",
                "SET game:time_drift 0.0",
                &ship("HGETALL", ""),
                "GET game:registration_open",
                "HSET maneuver:x a b",
                "SADD system:sol:ships a",
                "XADD galaxy:tick * a b",
                "SMEMBERS connections:online",
                "GET anything:else",
                "LRANGE bridge:jobs:waiting 0 0",
            ],
            &[
                &ship("HSET", " name x"),
                "INCR game:total_spawns",
                "SET game:registration_open true",
                "SADD connections:online p",
                "SET anything:else x",
                "KEYS *",
            ],
        );
        door.expect(
            "api-gateway",
            &[
                "GET game:tick",
                "SET game:registration_open false",
                "SADD connections:online p",
                "HINCRBY {connections:online}:count p 1",
                "ZADD {connections:online}:leases 1 i",
                &ship("HGETALL", ""),
                "GET player:p:active_ship",
                "XADD galaxy:commands * a b",
                "XADD galaxy:admin * a b",
                "HSET automation:s:r a b",
                "SUBSCRIBE tick_completed",
            ],
            &[
                &ship("HSET", " name x"),
                "SET game:tick 1",
                "SET player:p:active_ship s",
                "SADD system:sol:ships a",
                "PUBLISH tick_completed 1",
                "SCAN 0",
                "EVAL return(redis.call('HSET',KEYS[1],'a','b')) 1 ship:x",
            ],
        );
        door.expect(
            "players",
            &[
                "SET player:p:active_ship s",
                "SADD player:p:ships s",
                "SMEMBERS connections:online",
                "GET game:registration_open",
            ],
            &["SADD connections:online p", "SET game:registration_open true", &ship("HGETALL", "")],
        );
        door.expect(
            "galaxy",
            &["HSET body:Earth a b", "HGETALL body:Earth", "SADD system:sol:bodies Earth"],
            &["SADD system:sol:ships a", &ship("HSET", " a b"), "GET game:tick"],
        );
        door.expect(
            "game-engine",
            &[&ship("HSET", " a b"), "SET game:tick 1", "INCR game:total_spawns"],
            &["SADD connections:online p", "SET player:p:active_ship s"],
        );
    }
}

#[test]
fn the_compatible_profile_lets_the_gateway_rename_ships() {
    for program in programs() {
        let door = Door::open(program, &users(Layout::Plain, Profile::Compat));
        door.expect(
            "api-gateway",
            &[&format!("HSET {SHIP} name x")],
            &[&format!("DEL {SHIP}"), &format!("HDEL {SHIP} name"), "HSET station:x a b"],
        );
    }
}

#[test]
fn module_users_stay_in_their_module() {
    for program in programs() {
        for layout in Layout::ALL {
            let door = Door::open(program, &users(layout, Profile::Strict));
            let (room, ns) = match layout {
                Layout::Plain => ("room:ABCD1234", "bridge"),
                Layout::Tagged => ("room:{ABCD1234}", "{bridge}"),
            };
            door.expect(
                "rooms",
                &[
                    &format!("SET {room}:meta x"),
                    &format!("HSET {room}:claims p d"),
                    &format!("PUBLISH {room}:bus x"),
                    "XADD wk:rooms:events * a b",
                    "SCAN 0 MATCH room:*",
                    "EVAL return(1) 0",
                ],
                &["SET reactors:next_id 1", "HGETALL wk:tokens", "SET game:tick 1", "SET foo 1"],
            );
            door.expect(
                "jobs",
                &[
                    &format!("RPUSH {ns}:jobs:waiting j"),
                    &format!("PUBLISH {ns}:x:wake t"),
                    "RPUSH {own}:jobs:waiting j",
                    &format!("SUBSCRIBE {ns}:x:cancel"),
                ],
                &["RPUSH other:jobs:waiting j", &format!("SET {room}:meta x")],
            );
            door.expect(
                "worldkeep",
                &["HSET wk:tokens a b", &format!("HSET {room}:claims p d"), "INFO server"],
                &[
                    "SET foo 1",
                    "FLUSHALL",
                    "ACL LIST",
                    "CLIENT KILL TYPE normal",
                    "SHUTDOWN",
                    "DEBUG SLEEP 0",
                ],
            );
            door.expect(
                "readonly",
                &[
                    &format!("GET {room}:meta"),
                    "GET game:tick",
                    "SCAN 0",
                    "XRANGE wk:rooms:events - +",
                ],
                &[
                    &format!("HGETALL {room}:claims"),
                    &format!("GET {ns}:jobs:data:j"),
                    "HGETALL wk:tokens",
                    &format!("SET {room}:meta x"),
                    "SET game:tick 1",
                    "KEYS *",
                    &format!("GET {room}:round:r1"),
                ],
            );
        }
    }
}

#[tokio::test]
async fn the_servers_user_can_open_and_check_its_store() {
    for program in programs() {
        let door = Door::open(program, &users(Layout::Plain, Profile::Strict));
        let mut admin = door.connect(None);
        let () = redis::cmd("SADD").arg("reactors:all").arg("7").query(&mut admin).unwrap();
        let store = testkit::open(&door.url("worldkeep")).await;
        let classifier = Classifier::new(&server::modules::tables(), &["bridge"]);
        let options = Options { repair: true, ..Options::new(classifier, Layout::Plain) };
        let report = check(&*store, &options, &mut |_| {}).await.unwrap();
        assert_eq!((report.findings.len(), report.repaired), (1, 1), "{:?}", report.findings);
        // Who may only look is told so, instead of hearing that all is well.
        let store = testkit::open(&door.url("readonly")).await;
        let () = redis::cmd("HSET").arg("wk:tokens").arg("a").arg("b").query(&mut admin).unwrap();
        assert!(check(&*store, &options, &mut |_| {}).await.is_err());
    }
}

/// The namespaces that tests of the jobs and of the server use.
const NAMESPACES: &[&str] =
    &["bridge", "mine", "one", "two", "mirror", "{yours}.x", "{bridge}", "{other}"];

#[test]
fn tests_of_modules_speak_as_the_user_that_is_printed() {
    let line = |layout| {
        let users = acl(&server::modules::tables(), layout, NAMESPACES, Profile::Strict).unwrap();
        let user = users.into_iter().find(|user| user.user == "worldkeep").unwrap();
        user.line("printed") + "\n"
    };
    let both: String = Layout::ALL.into_iter().map(line).collect();
    expect_test::expect_file!["../../testkit/printed.acl"].assert_eq(&both);
}

#[test]
fn lines_fit_an_acl_file_and_hold_no_secret_of_ours() {
    for user in users(Layout::Tagged, Profile::Compat) {
        let line = user.line("SECRET");
        assert!(
            line.starts_with(&format!("user {} on >SECRET resetchannels", user.user)),
            "{line}"
        );
        assert!(!line.contains(['\n', '"']), "{line}");
    }
    assert!(acl(&[&jobs::keys::TABLE], Layout::Plain, &["a b"], Profile::Strict).is_err());
}
