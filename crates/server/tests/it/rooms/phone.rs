//! A client of `/ws/rooms` that keeps what it hears, and a party of them.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::Store;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Running, start};
use crate::wire::Wire;

pub(super) struct Phone {
    wire: Wire,
    /// Heard and not asked for yet.
    kept: VecDeque<Value>,
}

impl Phone {
    pub(super) async fn open(running: &Running) -> Phone {
        Phone { wire: Wire::open(running, "/ws/rooms", None).await, kept: VecDeque::new() }
    }

    pub(super) async fn send(&mut self, kind: &str, payload: Value) {
        self.raw(Message::text(json!({"type": kind, "payload": payload}).to_string())).await;
    }

    pub(super) async fn raw(&mut self, message: Message) {
        self.wire.send(message).await;
    }

    /// The next message, `None` when the socket is closed.
    pub(super) async fn hear(&mut self) -> Option<Value> {
        if let Some(kept) = self.kept.pop_front() {
            return Some(kept);
        }
        self.wire.hear().await
    }

    /// The payload of the next message of this type; others are kept for later.
    pub(super) async fn wait(&mut self, kind: &str) -> Value {
        if let Some(at) = self.kept.iter().position(|message| message["type"] == kind) {
            return self.kept.remove(at).unwrap()["payload"].clone();
        }
        let reading = async {
            loop {
                let Some(message) = self.wire.hear().await else {
                    panic!(
                        "closed with {:?} while waiting for {kind}; heard {:?}",
                        self.wire.closed, self.kept
                    )
                };
                if message["type"] == kind {
                    return message["payload"].clone();
                }
                self.kept.push_back(message);
            }
        };
        reading.await
    }

    pub(super) async fn ask(&mut self, kind: &str, payload: Value, answer: &str) -> Value {
        self.send(kind, payload).await;
        self.wait(answer).await
    }

    /// The error that a message is answered with, `family/word`.
    pub(super) async fn refused(&mut self, kind: &str, payload: Value) -> String {
        let error = self.ask(kind, payload, "ERROR").await;
        format!("{}/{}", error["error"].as_str().unwrap(), error["message"].as_str().unwrap())
    }

    /// Whether nothing of this type was heard until the answer to a ping.
    pub(super) async fn heard_no(&mut self, kind: &str) -> bool {
        self.send("PING", json!({})).await;
        self.wait("PONG").await;
        !self.kept.iter().any(|message| message["type"] == kind)
    }

    /// Reads to the end and gives the close code.
    pub(super) async fn ended(&mut self) -> Option<u16> {
        while let Some(message) = self.wire.hear().await {
            self.kept.push_back(message);
        }
        self.wire.closed
    }
}

/// A setup of so many people, one round with two items: the first sent by s0, the second by s0 and s1.
pub(crate) fn setup(people: usize) -> Value {
    let senders: Vec<_> = (0..people)
        .map(|n| json!({"sender_id": format!("s{n}"), "name": format!("n{n}"), "active": true, "reels_count": 1}))
        .collect();
    json!({"senders": senders, "rounds": [{"round_id": "r1", "items": [
        {"item_id": "i1", "reel": {"reel_id": "a", "url": "https://example.test/1"}, "true_sender_ids": ["s0"]},
        {"item_id": "i2", "reel": {"reel_id": "b", "url": "https://example.test/2"}, "true_sender_ids": ["s0", "s1"]},
    ]}]})
}

/// No limits per address: tests share one.
pub(super) const OFF: &[(&str, &str)] =
    &[("rooms.sockets_per_minute", "0"), ("rooms.created_per_hour", "0"), ("demo", "off")];

pub(super) async fn server(store: &Arc<dyn Store>) -> Running {
    start(Arc::clone(store), OFF).await
}

/// A Master and phones, seated.
pub(super) struct Party {
    pub(super) master: Phone,
    pub(super) phones: Vec<Phone>,
    pub(super) code: String,
    pub(super) key: String,
}

pub(super) fn device(n: usize) -> String {
    format!("device-{n:04}")
}

impl Party {
    pub(super) async fn seated(on: &Running, people: usize) -> Party {
        Party::spread(on, &[on], people).await
    }

    /// The Master on one server, the phones on these in turn.
    pub(super) async fn spread(on: &Running, others: &[&Running], people: usize) -> Party {
        let mut master = Phone::open(on).await;
        let made = master.ask("CREATE_ROOM", setup(people), "ROOM_CREATED").await;
        let code = made["code"].as_str().unwrap().to_owned();
        let key = made["master_key"].as_str().unwrap().to_owned();
        let mut phones = Vec::new();
        for n in 0..people {
            let mut phone = Phone::open(others[n % others.len()]).await;
            phone.ask("JOIN_ROOM", json!({"code": code, "device_id": device(n)}), "JOIN_OK").await;
            phone.ask("TAKE_PLAYER", json!({"player_id": format!("p{n}")}), "TAKE_PLAYER_OK").await;
            phones.push(phone);
        }
        Party { master, phones, code, key }
    }

    pub(super) async fn start_vote(&mut self, item: &str) {
        self.master.send("REEL_OPENED", json!({"round_id": "r1", "item_id": item})).await;
        self.master.wait("START_VOTE").await;
        for phone in &mut self.phones {
            let start = phone.wait("START_VOTE").await;
            assert_eq!(start["item_id"], item);
            assert!(start.get("expected_player_ids").is_none(), "for Masters only");
        }
    }

    pub(super) async fn start_game(&mut self) {
        self.master.send("START_GAME", json!({})).await;
        self.master.wait("GAME_START").await;
    }
}
