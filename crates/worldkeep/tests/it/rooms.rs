//! The rooms from the command line, and two real servers on one Redis of which one is killed.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{command, output, serve, told};

pub(crate) fn setup() -> Value {
    let item = json!({"item_id": "i1", "reel": {"reel_id": "a", "url": "https://example.org/1"}, "true_sender_ids": ["s0"]});
    json!({
        "senders": [{"sender_id": "s0", "name": "Ann"}, {"sender_id": "s1", "name": "Bea"}],
        "rounds": [{"round_id": "r1", "items": [item]}]
    })
}

#[test]
fn rooms_are_made_listed_shown_and_closed() {
    let served = serve(&["--no-demo", "--modules", "rooms"]);
    let server = format!("http://{}", served.addr);
    let file = served.dir.path().join("party.json");
    std::fs::write(&file, setup().to_string()).unwrap();
    let run = |args: &[&str]| {
        let mut all = vec!["rooms"];
        all.extend(args);
        all.extend(["--server", &server]);
        told(&output(&mut command(&served.dir, &all)))
    };
    let (code, made, errors) = run(&["create", file.to_str().unwrap(), "--json"]);
    assert_eq!(code, 0, "{errors}");
    let made: Value = serde_json::from_str(&made).unwrap();
    let room = made["code"].as_str().unwrap();
    assert_eq!(made["master_key"].as_str().unwrap().len(), 32);
    let (code, listed, _) = run(&["ls"]);
    assert_eq!(code, 0);
    let shown = format!("{}-{}", &room[..4], &room[4..]);
    assert!(listed.contains(&shown) && listed.contains("lobby"), "{listed}");
    let (code, one, _) = run(&["show", &shown.to_lowercase(), "--json"]);
    assert_eq!(code, 0);
    assert_eq!(serde_json::from_str::<Value>(&one).unwrap()["players_free"], 2);
    let (code, state, _) = run(&["show", room, "--state"]);
    assert_eq!(code, 0);
    assert!(state.contains("\"players_visible\"") && !state.contains("players_all"), "{state}");
    assert_eq!(run(&["close", room]).0, 2, "without --yes it asks, and nobody answers");
    let (code, _, errors) = run(&["close", room, "--yes"]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(run(&["show", room]).0, 3);
    // Every refusal is a sentence with its field: nobody reads `room_not_found` or `senders_count`.
    let refused = |args: &[&str]| {
        let (code, _, errors) = run(args);
        (code, errors.trim().to_owned())
    };
    assert_eq!(refused(&["show", "xx"]), (3, "worldkeep: no room has this code".to_owned()));
    for (bad, says) in [
        (json!({"senders": [], "rounds": []}), "worldkeep: a room has 2 to 64 senders"),
        (json!({"senders": []}), "rounds: a field is missing or of the wrong type"),
    ] {
        std::fs::write(&file, bad.to_string()).unwrap();
        let (code, errors) = refused(&["create", file.to_str().unwrap()]);
        assert_eq!(code, 2, "{errors}");
        assert!(errors.contains(says), "{errors}");
    }
}

pub(crate) type Socket =
    tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

/// A socket to the rooms of this server; `None` when nobody listens.
pub(crate) async fn open(at: std::net::SocketAddr) -> Option<Socket> {
    Some(tokio_tungstenite::connect_async(format!("ws://{at}/ws/rooms")).await.ok()?.0)
}

/// The payload of the next message of this type; `None` when the socket ends first.
async fn wait(socket: &mut Socket, kind: &str) -> Option<Value> {
    loop {
        let frame = testkit::within(kind, socket.next()).await?.ok()?;
        if let Message::Text(text) = frame {
            let message: Value = serde_json::from_str(&text).unwrap();
            assert_ne!(message["type"], "ERROR", "{message}");
            if message["type"] == kind {
                return Some(message["payload"].clone());
            }
        }
    }
}

/// Sends a message and waits for its answer; `None` when the socket ends first.
pub(crate) async fn ask(
    socket: &mut Socket,
    kind: &str,
    payload: Value,
    answer: &str,
) -> Option<Value> {
    let text = json!({"type": kind, "payload": payload}).to_string();
    socket.send(Message::text(text)).await.ok()?;
    wait(socket, answer).await
}

#[test]
fn a_killed_server_takes_only_its_sockets_along() {
    for program in testkit::programs() {
        let redis = testkit::Lent::take(program);
        let url = redis.server().url();
        let args = ["--redis", &url, "--modules", "rooms"];
        let (mut dying, living) = (serve(&args), serve(&args));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let mut master = open(dying.addr).await.unwrap();
            let made = ask(&mut master, "CREATE_ROOM", setup(), "ROOM_CREATED").await.unwrap();
            let (code, key) = (made["code"].clone(), made["master_key"].clone());
            let mut phones = Vec::new();
            for (n, at) in [dying.addr, living.addr].into_iter().enumerate() {
                let mut phone = open(at).await.unwrap();
                let join = json!({"code": code, "device_id": format!("device-{n}")});
                ask(&mut phone, "JOIN_ROOM", join, "JOIN_OK").await.unwrap();
                let take = json!({"player_id": format!("p{n}")});
                ask(&mut phone, "TAKE_PLAYER", take, "TAKE_PLAYER_OK").await.unwrap();
                phones.push(phone);
            }
            ask(&mut master, "START_GAME", json!({}), "NEW_ITEM").await.unwrap();
            let item = json!({"round_id": "r1", "item_id": "i1"});
            ask(&mut master, "REEL_OPENED", item, "START_VOTE").await.unwrap();
            let vote = json!({"round_id": "r1", "item_id": "i1", "selections": ["s0"]});
            ask(&mut phones[1], "SUBMIT_VOTE", vote, "VOTE_ACK").await.unwrap();
            let force = json!({"round_id": "r1", "item_id": "i1", "delay_ms": 800});
            ask(&mut master, "FORCE_CLOSE_VOTE", force, "VOTE_FORCE_CLOSE_STARTED").await.unwrap();
            // No goodbye: the process is gone, with its sockets and its promise.
            dying.child.kill().unwrap();
            dying.child.wait().unwrap();
            wait(&mut phones[1], "VOTE_CLOSED").await.unwrap();
            let mut master = open(living.addr).await.unwrap();
            let sync = json!({"code": code, "master_key": key});
            let state = ask(&mut master, "STATE_SYNC", sync, "STATE_SYNC_RESPONSE").await.unwrap();
            assert_eq!(state["game"]["status"], "reveal_wait");
            assert_eq!(state["scores"], json!({"p0": 0, "p1": 1}));
            let mut phone = open(living.addr).await.unwrap();
            let sync = json!({"code": code, "device_id": "device-0"});
            let state = ask(&mut phone, "STATE_SYNC", sync, "STATE_SYNC_RESPONSE").await.unwrap();
            assert_eq!(state["my_player_id"], "p0", "the seat is kept");
            let item = json!({"round_id": "r1", "item_id": "i1"});
            ask(&mut master, "END_ITEM", item, "ROUND_RECAP").await.unwrap();
            ask(&mut master, "START_NEXT_ROUND", json!({}), "GAME_OVER").await.unwrap();
            wait(&mut phone, "GAME_OVER").await.unwrap();
        });
    }
}
