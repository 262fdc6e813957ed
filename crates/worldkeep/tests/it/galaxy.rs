//! The galaxy from the command line, on a server and on a store; two real servers on one Redis, of which one is killed.

use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use testkit::programs;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Served, command, output, serve, serve_in, told};

/// Runs a verb: exit code, stdout, stderr.
fn run(dir: &tempfile::TempDir, place: &[&str], args: &[&str]) -> (i32, String, String) {
    let mut all = vec!["galaxy"];
    all.extend(args);
    all.extend(place);
    told(&output(&mut command(dir, &all)))
}

fn json(answer: &(i32, String, String)) -> Value {
    assert_eq!(answer.0, 0, "{}", answer.2);
    serde_json::from_str(&answer.1).unwrap_or_else(|_| panic!("no JSON: {}", answer.1))
}

/// How soon after the death of a server its players are offline.
const OFFLINE: Duration = Duration::from_secs(20);

/// Until the engine of the server ticks.
pub(crate) fn ticking(served: &Served) -> Value {
    let began = Instant::now();
    loop {
        let (status, body) = served.get("/api/admin/status");
        let told: Value = serde_json::from_str(&body).unwrap_or_default();
        if status == 200 && told["leader"] == true {
            return told;
        }
        assert!(began.elapsed() < testkit::PATIENCE, "nobody leads: {body}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_game_is_run_from_the_command_line() {
    let served = serve(&["--no-demo", "--modules", "galaxy"]);
    ticking(&served);
    let url = served.url();
    let at = |args: &[&str]| run(&served.dir, &["--server", &url], args);
    let (code, out, err) = at(&["status"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("game time") && out.contains("open"), "{out}");
    assert_eq!(json(&at(&["status", "--json"]))["time_sync"], true);
    assert!(at(&["pause"]).1.starts_with("paused at tick"), "{:?}", at(&["pause"]));
    assert_eq!(json(&at(&["resume", "--json"]))["paused"], false);
    assert_eq!(at(&["tick-rate", "get"]).1.trim(), "1.0 ticks per second");
    assert_eq!(json(&at(&["tick-rate", "set", "20", "--json"]))["tick_rate"], 20.0);
    for (args, code) in [
        (&["tick-rate", "set", "500"][..], 2),
        (&["tick-rate", "set", "fast"], 2),
        (&["time-scale", "10"], 4),
        (&["ship", "nobody"], 3),
        (&["players", "rm", "nobody", "--yes"], 3),
        (&["init"], 4),
    ] {
        let (got, _, err) = at(args);
        assert_eq!(got, code, "{args:?}: {err}");
        assert!(!err.trim().is_empty(), "{args:?}");
    }
    at(&["sync", "off"]);
    assert_eq!(json(&at(&["time-scale", "10", "--json"]))["time_scale"], 10.0);
    let ship = json(&at(&["spawn", "ship", "Wren", "--json"]));
    let id = ship["ship_id"].as_str().unwrap();
    assert!(at(&["ships"]).1.contains("Wren"));
    let (_, shown, _) = at(&["ship", id]);
    assert!(shown.contains("fast_frigate") && shown.contains("Earth"), "{shown}");
    let (_, shown, _) = at(&["orbit", id]);
    assert!(shown.contains("periapsis m") && shown.contains("Earth"), "{shown}");
    assert_eq!(
        at(&["maneuver", id, "transfer", "--altitude", "900000"]).1.trim(),
        "transfer is flown"
    );
    assert_eq!(at(&["maneuver", id, "abort"]).0, 0);
    assert_eq!(at(&["maneuver", id, "warp"]).0, 2);
    assert_eq!(at(&["spawn", "station", "Highport", "--at", "Earth", "--altitude", "420000"]).0, 0);
    let gate = ["spawn", "jumpgate", "Gate", "--at", "Luna", "--lagrange", "Earth-Luna-L4"];
    assert_eq!(at(&gate).0, 0);
    assert_eq!(at(&["registrations", "close"]).1.trim(), "registration is closed");
    assert_eq!(json(&at(&["registrations", "--json"]))["open"], false);
    assert_eq!(at(&["players"]).2.trim(), "nobody has registered yet");
    assert_eq!(at(&["reset", "--yes"]).0, 0);
    assert_eq!(at(&["ships"]).2.trim(), "no ship flies");
}

#[test]
fn the_game_is_run_on_a_directory_that_no_server_uses() {
    let dir = tempfile::tempdir().unwrap();
    let data = crate::support::data(&dir);
    let place = ["--data", data.as_str()];
    assert_eq!(run(&dir, &place, &["status"]).0, 3, "there is no world yet");
    assert_eq!(run(&dir, &place, &["init"]).0, 0);
    assert_eq!(json(&run(&dir, &place, &["pause", "--json"]))["paused"], true);
    assert_eq!(json(&run(&dir, &place, &["status", "--json"]))["paused"], true);
    assert_eq!(json(&run(&dir, &place, &["spawn", "ship", "Wren", "--json"]))["name"], "Wren");
    assert!(run(&dir, &place, &["ships"]).1.contains("Wren"));
    assert_eq!(json(&run(&dir, &place, &["registrations", "close", "--json"]))["open"], false);
}

/// A server on this Redis; players are kept in `shared`.
fn on_redis(url: &str, shared: &std::path::Path) -> Served {
    let dir = tempfile::tempdir().unwrap();
    let file =
        format!("data = {:?}\n[galaxy]\nlogins_per_minute = 0\n", shared.display().to_string());
    std::fs::write(dir.path().join("worldkeep.toml"), file).unwrap();
    serve_in(dir, &["--redis", url, "--modules", "galaxy"])
}

pub(crate) async fn fly(addr: std::net::SocketAddr, token: &str) -> impl Sized {
    let (mut socket, _) =
        tokio_tungstenite::connect_async(format!("ws://{addr}/ws/galaxy")).await.unwrap();
    let auth = json!({ "type": "auth", "token": token }).to_string();
    socket.send(Message::text(auth)).await.unwrap();
    let welcome = socket.next().await.unwrap().unwrap();
    assert!(welcome.to_text().unwrap().contains(r#""type":"welcome""#), "{welcome:?}");
    socket
}

fn online(served: &Served) -> u64 {
    let (_, body) = served.get("/api/status");
    serde_json::from_str::<Value>(&body).unwrap()["online"].as_u64().unwrap()
}

/// A server that is killed cannot say goodbye: another one takes its sockets back, and ticks on.
#[test]
fn a_killed_servers_players_go_offline() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // The wait is long; one program shows it.
    for program in programs().into_iter().take(1) {
        let redis = testkit::Lent::take(program);
        let redis = redis.server();
        let shared = tempfile::tempdir().unwrap();
        let mut first = on_redis(&redis.url(), shared.path());
        let url = first.url();
        assert_eq!(run(&first.dir, &["--server", &url], &["init"]).0, 0);
        ticking(&first);
        let second = on_redis(&redis.url(), shared.path());
        let token = |name: &str| {
            runtime.block_on(async {
                let body = json!({ "username": name, "password": "long enough" });
                let made = reqwest::Client::new()
                    .post(format!("{}/api/auth/register", second.url()))
                    .json(&body)
                    .send()
                    .await
                    .unwrap();
                let made: Value = made.json().await.unwrap();
                made["token"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
            })
        };
        let (wren, robin) = (token("wren"), token("robin"));
        let sockets = runtime.block_on(async {
            (
                fly(first.addr, &wren).await,
                fly(first.addr, &robin).await,
                fly(second.addr, &robin).await,
            )
        });
        assert_eq!(online(&second), 2);
        first.child.kill().unwrap();
        let killed = Instant::now();
        while online(&second) > 1 {
            assert!(killed.elapsed() < testkit::PATIENCE, "wren is still online");
            std::thread::sleep(Duration::from_millis(50));
        }
        testkit::timed("a killed server's players are offline", killed.elapsed(), OFFLINE);
        let members = redis.ask(&["SMEMBERS", "connections:online"]);
        assert_eq!(members.matches('-').count(), 4, "robin is still there: {members}");
        let tick = ticking(&second)["tick"].as_u64();
        assert!(tick.is_some(), "it ticks on");
        drop(sockets);
    }
}

/// The users that `worldkeep acl` prints, at this server.
fn make_users(dir: &tempfile::TempDir, redis: &testkit::Server) {
    let (code, printed, err) = told(&output(&mut command(dir, &["acl", "--module", "galaxy"])));
    assert_eq!(code, 0, "{err}");
    for line in printed.lines().filter_map(|line| line.strip_prefix("user ")) {
        let line = line.replace("CHANGE-ME", "secret");
        let words: Vec<&str> = ["ACL", "SETUSER"].into_iter().chain(line.split(' ')).collect();
        assert_eq!(redis.ask(&words), "+OK\r\n", "{line}");
    }
}

/// The engine and the gateway are two processes with the users of the seed's services, and neither ever asks for more
/// than is its own.
#[test]
fn engine_and_gateway_are_two_processes_with_users_of_their_own() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for program in programs() {
        let redis = testkit::Server::start(program);
        let (shared, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        make_users(&dir, &redis);
        let as_user = |user: &str, engine: bool| {
            let url = format!("redis://{user}:secret@127.0.0.1:{}", redis.port());
            let dir = tempfile::tempdir().unwrap();
            let file = format!(
                "data = {:?}\n[galaxy]\nengine = {engine}\ngateway = {}\nlogins_per_minute = 0\n",
                shared.path().display().to_string(),
                !engine
            );
            std::fs::write(dir.path().join("worldkeep.toml"), file).unwrap();
            serve_in(dir, &["--redis", &url, "--modules", "galaxy"])
        };
        let url = format!("redis://worldkeep:secret@127.0.0.1:{}", redis.port());
        let data = shared.path().display().to_string();
        let (code, _, err) = run(&dir, &["--redis", &url, "--data", &data], &["init"]);
        assert_eq!(code, 0, "{err}");
        let engine = as_user("game-engine", true);
        ticking(&engine);
        let gateway = as_user("game-gateway", false);
        runtime.block_on(play(&gateway));
        let at = gateway.url();
        for args in [
            &["pause"][..],
            &["resume"],
            &["tick-rate", "set", "5"],
            &["spawn", "station", "Kestrel", "--at", "Earth", "--altitude", "420000"],
            &["snapshot", "create"],
            &["registrations", "close"],
            &["status"],
        ] {
            let (code, _, err) = run(&gateway.dir, &["--server", &at], args);
            assert_eq!(code, 0, "{args:?}: {err}");
        }
        assert_eq!(redis.ask(&["ACL", "LOG"]), "*0\r\n", "nobody asked for more");
        drop((engine, gateway));
        assert_eq!(redis.ask(&["ACL", "LOG"]), "*0\r\n", "nor at the end");
    }
}

/// A player registers, flies, gives a rule and a name, by this server.
async fn play(gateway: &Served) {
    let client = reqwest::Client::new();
    let body = json!({ "username": "wren", "password": "long enough" });
    let made = client.post(format!("{}/api/auth/register", gateway.url())).json(&body);
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    let token = made["token"].as_str().unwrap_or_else(|| panic!("{made}"));
    let socket = fly(gateway.addr, token).await;
    let ship = format!("{}/api/ships/{}", gateway.url(), made["ship_id"].as_str().unwrap());
    let named = client.patch(&ship).bearer_auth(token).json(&json!({ "name": "Heron" }));
    assert_eq!(named.send().await.unwrap().status(), 200);
    let rule = json!({
        "name": "Hail", "trigger": { "conditions": [{ "field": "immediate" }] },
        "actions": [{ "action": "alert", "message": "all is well" }],
    });
    let ruled = client.post(format!("{ship}/automation")).bearer_auth(token).json(&rule);
    assert_eq!(ruled.send().await.unwrap().status(), 201);
    drop(socket);
}
