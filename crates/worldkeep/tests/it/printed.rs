//! The server on a Redis that lets it in only as the user that `worldkeep acl` prints: everything works, and the
//! Redis has refused nothing.

use serde_json::{Value, json};
use testkit::Server;

use crate::galaxy::{fly, ticking};
use crate::rooms::{ask, open, setup};
use crate::support::{Served, command, output, run, serve, told};

/// Loads all printed users and gives the address of the server's own.
fn load_users(redis: &Server) -> String {
    let (code, lines, err) = told(&run(&["acl"]));
    assert_eq!(code, 0, "{err}");
    for line in lines.lines().filter(|line| line.starts_with("user ")) {
        let line = line.replace("CHANGE-ME", "secret");
        let words: Vec<&str> =
            ["ACL", "SETUSER"].into_iter().chain(line.split(' ').skip(1)).collect();
        assert_eq!(redis.ask(&words), "+OK\r\n", "{line}");
    }
    assert_eq!(redis.ask(&["ACL", "LOG", "RESET"]), "+OK\r\n");
    format!("redis://worldkeep:secret@127.0.0.1:{}", redis.port())
}

/// Runs a verb that must work.
fn verb(served: &Served, args: &[&str]) -> String {
    let url = served.url();
    let all: Vec<&str> = args.iter().copied().chain(["--server", &url]).collect();
    let (code, out, err) = told(&output(&mut command(&served.dir, &all)));
    assert_eq!(code, 0, "{args:?}: {out}{err}");
    out
}

async fn a_party(served: &Served) {
    let mut master = open(served.addr).await.unwrap();
    let made = ask(&mut master, "CREATE_ROOM", setup(), "ROOM_CREATED").await.unwrap();
    let mut phones = Vec::new();
    for n in 0..2 {
        let mut phone = open(served.addr).await.unwrap();
        let join = json!({"code": made["code"], "device_id": format!("device-{n}")});
        ask(&mut phone, "JOIN_ROOM", join, "JOIN_OK").await.unwrap();
        let take = json!({"player_id": format!("p{n}")});
        ask(&mut phone, "TAKE_PLAYER", take, "TAKE_PLAYER_OK").await.unwrap();
        phones.push(phone);
    }
    let item = json!({"round_id": "r1", "item_id": "i1"});
    ask(&mut master, "START_GAME", json!({}), "NEW_ITEM").await.unwrap();
    ask(&mut master, "REEL_OPENED", item.clone(), "START_VOTE").await.unwrap();
    for phone in &mut phones {
        let vote = json!({"round_id": "r1", "item_id": "i1", "selections": ["s0"]});
        ask(phone, "SUBMIT_VOTE", vote, "VOTE_ACK").await.unwrap();
    }
    let sync = json!({"code": made["code"], "master_key": made["master_key"]});
    ask(&mut master, "STATE_SYNC", sync, "STATE_SYNC_RESPONSE").await.unwrap();
    ask(&mut master, "END_ITEM", item, "ROUND_RECAP").await.unwrap();
    ask(&mut master, "START_NEXT_ROUND", json!({}), "GAME_OVER").await.unwrap();
}

async fn a_flight(served: &Served) {
    let body = json!({ "username": "wren", "password": "long enough" });
    let made = reqwest::Client::new().post(format!("{}/api/auth/register", served.url()));
    let made: Value = made.json(&body).send().await.unwrap().json().await.unwrap();
    let token = made["token"].as_str().unwrap_or_else(|| panic!("{made}"));
    drop(fly(served.addr, token).await);
}

#[test]
fn a_server_with_the_printed_users_is_refused_nothing() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for program in testkit::programs() {
        let redis = Server::start(program);
        let url = load_users(&redis);
        let mut served = serve(&["--redis", &url, "--no-demo"]);
        verb(&served, &["galaxy", "init"]);
        ticking(&served);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            a_party(&served).await;
            a_flight(&served).await;
        });
        verb(&served, &["galaxy", "spawn", "ship", "Wren"]);
        verb(&served, &["reactors", "create", "2002", "--at=1,1", "--delay", "60000"]);
        verb(&served, &["reactors", "hit", "1000000001", "--character", "7"]);
        verb(&served, &["reactors", "destroy", "--all", "--yes"]);
        verb(&served, &["monsters", "spawn", "9300018"]);
        verb(&served, &["monsters", "damage", "1000000000", "5"]);
        let id = verb(&served, &["jobs", "dispatch", "email", "{}"]);
        verb(&served, &["jobs", "dispatch", "email", "{}", "--delay", "1h"]);
        verb(&served, &["jobs", "explain", id.trim()]);
        verb(&served, &["jobs", "cancel", id.trim()]);
        verb(&served, &["jobs", "stats"]);
        verb(&served, &["token", "new", "--role", "reader", "--name", "eyes"]);
        verb(&served, &["keys", "show", "wk:tokens"]);
        verb(&served, &["check"]);
        for page in [
            "/api/overview",
            "/api/health",
            "/api/keys",
            "/api/stats/history",
            "/metrics",
            "/readyz",
        ] {
            assert_eq!(served.get(page).0, 200, "{page}");
        }
        served.signal("TERM");
        let (code, _, log) = served.ended(std::time::Duration::from_secs(30));
        assert_eq!(code, 0, "{log}");
        let refused = redis.ask(&["ACL", "LOG"]);
        assert!(refused.starts_with("*0"), "ACL LOG on {program:?}:\n{refused}\n{log}");
    }
}
