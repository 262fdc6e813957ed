//! A room, its people and short words for what they do.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::Layout;
use kernel::{Clock, Cmd, Deadline, FakeClock, Store, Value, reply};
use rooms::{Ask, Caller, Command, Done, Proof, Rooms, Setup, Wish};
use serde_json::json;

pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

pub(crate) async fn ask(store: &dyn Store, words: &[&str]) -> Value {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    testkit::call_as_default(store, &cmd, soon()).await.unwrap()
}

pub(crate) async fn text(store: &dyn Store, words: &[&str]) -> String {
    reply::text(&ask(store, words).await).unwrap_or_default().to_owned()
}

pub(crate) async fn int(store: &dyn Store, words: &[&str]) -> i64 {
    reply::int(&ask(store, words).await).unwrap()
}

pub(crate) async fn hash(store: &dyn Store, key: &str) -> HashMap<String, String> {
    let answer = ask(store, &["HGETALL", key]).await;
    let own = |value: &Value| reply::text(value).unwrap().to_owned();
    reply::pairs(&answer).unwrap().iter().map(|(name, value)| (own(name), own(value))).collect()
}

/// `senders` people named n0, n1, …; rounds of these many items, each sent by the next person, every third by two.
pub(crate) fn setup(senders: usize, rounds: &[usize]) -> Setup {
    let people: Vec<_> = (0..senders)
        .map(|n| json!({"sender_id": format!("s{n}"), "name": format!("n{n}"), "active": true, "reels_count": n}))
        .collect();
    let mut serial = 0;
    let rounds: Vec<_> = rounds
        .iter()
        .enumerate()
        .map(|(r, items)| {
            let items: Vec<_> = (0..*items)
                .map(|i| {
                    serial += 1;
                    let one = format!("s{}", serial % senders);
                    let two = format!("s{}", (serial + 1) % senders);
                    let truth = if serial % 3 == 0 { vec![one, two] } else { vec![one] };
                    json!({"item_id": format!("i{}", i + 1), "true_sender_ids": truth,
                        "reel": {"reel_id": format!("reel{serial}"), "url": format!("https://example.test/{serial}")}})
                })
                .collect();
            json!({"round_id": format!("r{}", r + 1), "items": items})
        })
        .collect();
    Setup::read(&json!({"senders": people, "rounds": rounds}).to_string()).unwrap()
}

/// One room under test.
#[derive(Clone)]
pub(crate) struct Party {
    pub(crate) rooms: Rooms,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) layout: Layout,
    pub(crate) code: String,
    pub(crate) key: String,
}

impl Party {
    pub(crate) async fn new(store: &Arc<dyn Store>, senders: usize, rounds: &[usize]) -> Party {
        Party::with(store, Layout::Plain, senders, rounds).await
    }

    /// On a Cluster.
    pub(crate) async fn tagged(store: &Arc<dyn Store>, senders: usize, rounds: &[usize]) -> Party {
        Party::with(store, Layout::Tagged, senders, rounds).await
    }

    async fn with(
        store: &Arc<dyn Store>,
        layout: Layout,
        senders: usize,
        rounds: &[usize],
    ) -> Party {
        // The store's own time, stopped: lives are counted by the store.
        let system = kernel::SystemClock::new();
        let clock = Arc::new(FakeClock::at(system.now_ms()));
        let rooms = Rooms::new(Arc::clone(store), clock.clone(), layout);
        let made = rooms.create(&setup(senders, rounds)).await.unwrap();
        let store = Arc::clone(store);
        Party { rooms, store, clock, layout, code: made.code, key: made.master_key }
    }

    pub(crate) fn k(&self, rest: &str) -> String {
        match self.layout {
            Layout::Plain => format!("room:{}:{rest}", self.code),
            Layout::Tagged => format!("room:{{{}}}:{rest}", self.code),
        }
    }

    pub(crate) async fn get(&self, rest: &str) -> String {
        text(&*self.store, &["GET", &self.k(rest)]).await
    }

    pub(crate) async fn hash(&self, rest: &str) -> HashMap<String, String> {
        hash(&*self.store, &self.k(rest)).await
    }

    pub(crate) async fn json(&self, rest: &str) -> serde_json::Value {
        serde_json::from_str(&self.get(rest).await).unwrap()
    }

    /// Sends a message of the protocol as this device, or as the Master. Gives the answers' texts.
    pub(crate) async fn send(
        &self,
        device: Option<&str>,
        master: bool,
        kind: &str,
        payload: serde_json::Value,
    ) -> rooms::Result<Done> {
        let proof = if master { Proof::Key(&self.key) } else { Proof::None };
        let caller = Caller { device, proof, expires_at: None };
        self.rooms.act(&self.code, &caller, &command(kind, &payload)).await
    }

    pub(crate) async fn play(
        &self,
        device: &str,
        kind: &str,
        payload: serde_json::Value,
    ) -> String {
        said(&self.send(Some(device), false, kind, payload).await)
    }

    pub(crate) async fn master(&self, kind: &str, payload: serde_json::Value) -> String {
        said(&self.send(None, true, kind, payload).await)
    }

    /// Player `p<n>` is held by device `device-<n>`.
    pub(crate) async fn seat_all(&self, players: usize) {
        for n in 0..players {
            let said =
                self.play(&device(n), "TAKE_PLAYER", json!({"player_id": format!("p{n}")})).await;
            assert!(said.starts_with("TAKE_PLAYER_OK"), "{said}");
        }
    }

    pub(crate) async fn start(&self, players: usize) {
        self.seat_all(players).await;
        assert_eq!(self.master("START_GAME", json!({})).await, "ok");
    }

    pub(crate) async fn open_item(&self, round: &str, item: &str) {
        let place = json!({"round_id": round, "item_id": item});
        assert_eq!(self.master("REEL_OPENED", place).await, "ok");
    }

    pub(crate) async fn vote(&self, n: usize, round: &str, item: &str, picks: &[&str]) -> String {
        self.play(
            &device(n),
            "SUBMIT_VOTE",
            json!({"round_id": round, "item_id": item, "selections": picks}),
        )
        .await
    }

    pub(crate) async fn state(&self, device: Option<&str>, master: bool) -> serde_json::Value {
        let proof = if master { Proof::Key(&self.key) } else { Proof::None };
        let caller = Caller { device, proof, expires_at: None };
        let entered = self.rooms.sync(&self.code, &caller).await.unwrap();
        serde_json::from_str(entered.reply.payload.get()).unwrap()
    }

    /// All keys of the room.
    pub(crate) async fn keys(&self) -> Vec<String> {
        let store = testkit::as_default(&self.store);
        let mut session = store.session(self.k("meta").as_bytes(), soon()).await.unwrap();
        let mut cmd = Cmd::new();
        cmd.arg("KEYS").arg(format!("room:*{}*", self.code));
        let answer = session.call(&cmd, soon()).await.unwrap();
        let mut keys: Vec<String> = reply::list(&answer)
            .unwrap()
            .iter()
            .map(|key| reply::text(key).unwrap().to_owned())
            .collect();
        keys.sort();
        keys
    }

    /// Every key ends with `meta`, within a second.
    pub(crate) async fn lives_agree(&self) {
        let meta = int(&*self.store, &["PTTL", &self.k("meta")]).await;
        for key in self.keys().await {
            let life = int(&*self.store, &["PTTL", &key]).await;
            assert!(life > 0 && (life - meta).abs() <= 1_000, "{key} lives {life} ms, meta {meta}");
        }
    }
}

pub(crate) fn device(n: usize) -> String {
    format!("device-{n}")
}

pub(crate) fn command(kind: &str, payload: &serde_json::Value) -> Command {
    let text = json!({"type": kind, "payload": payload}).to_string();
    match Ask::read(&text).unwrap().wish {
        Wish::Do(command) => command,
        other => panic!("not a command: {other:?}"),
    }
}

/// The answers in a line: types with what matters of them, `ok` for none, or the refusal.
pub(crate) fn said(done: &rooms::Result<Done>) -> String {
    match done {
        Ok(done) if done.replies.is_empty() => "ok".into(),
        Ok(done) => {
            let line = |reply: &rooms::Reply| {
                let payload: serde_json::Value = serde_json::from_str(reply.payload.get()).unwrap();
                match payload.get("reason").and_then(|reason| reason.as_str()) {
                    Some(reason) => format!("{} {reason}", reply.kind),
                    None => reply.kind.to_owned(),
                }
            };
            done.replies.iter().map(line).collect::<Vec<_>>().join(", ")
        }
        Err(error) => {
            let refused = error.refused();
            format!("{}/{}", refused.error.word(), refused.message)
        }
    }
}

/// The smallest JPEG that is one: its first bytes and some that tell pictures apart.
pub(crate) fn photo(n: usize) -> String {
    // Base64 of ff d8 ff e0, then digits.
    format!("data:image/jpeg;base64,/9j/4{n:03}")
}

/// So many trials, or many more when asked to be cruel.
pub(crate) fn trials(few: usize, many: usize) -> usize {
    if std::env::var_os("WORLDKEEP_TORTURE").is_some() { many } else { few }
}
