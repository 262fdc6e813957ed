//! A client of `/ws/galaxy`, and players who register.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::world::send;
use crate::support::Running;
use crate::wire::Wire;

const WAIT: Duration = testkit::PATIENCE;

/// A player who registered.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) id: String,
    pub(super) ship: String,
    pub(super) token: String,
}

pub(super) async fn register(running: &Running, username: &str) -> Account {
    let body = json!({ "username": username, "password": "long enough" });
    let (status, made) = send(running, Method::POST, "/api/auth/register", body).await;
    assert_eq!(status, 201, "{made}");
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    Account { id: text("player_id"), ship: text("ship_id"), token: text("token") }
}

pub(super) struct Pilot {
    wire: Wire,
}

impl Pilot {
    /// A socket that said nothing yet.
    pub(super) async fn open(running: &Running, path: &str, origin: Option<&str>) -> Pilot {
        Pilot { wire: Wire::open(running, path, origin).await }
    }

    /// Logged in; gives the welcome too.
    pub(super) async fn fly(running: &Running, account: &Account) -> (Pilot, Value) {
        Pilot::open(running, "/ws/galaxy", None).await.log_in(account).await
    }

    /// The same for somebody with little room for what comes.
    pub(super) async fn fly_narrow(running: &Running, account: &Account) -> (Pilot, Value) {
        let wire = Wire::narrow(running, "/ws/galaxy").await;
        Pilot { wire }.log_in(account).await
    }

    async fn log_in(mut self, account: &Account) -> (Pilot, Value) {
        self.say(json!({ "type": "auth", "token": account.token })).await;
        let welcome = self.hear().await.expect("a welcome");
        assert_eq!(welcome["type"], "welcome", "{welcome}");
        (self, welcome)
    }

    pub(super) async fn say(&mut self, message: Value) {
        self.raw(Message::text(message.to_string())).await;
    }

    pub(super) async fn raw(&mut self, message: Message) {
        self.wire.send(message).await;
    }

    /// The next message, `None` when the socket is closed.
    pub(super) async fn hear(&mut self) -> Option<Value> {
        self.wire.hear().await
    }

    /// The next message that satisfies.
    pub(super) async fn until(&mut self, what: impl Fn(&Value) -> bool) -> Value {
        let began = std::time::Instant::now();
        loop {
            let heard =
                self.hear().await.unwrap_or_else(|| panic!("closed: {:?}", self.wire.closed));
            if what(&heard) {
                return heard;
            }
            assert!(began.elapsed() < WAIT, "{heard}");
        }
    }

    pub(super) async fn wait(&mut self, kind: &str) -> Value {
        self.until(|heard| heard["type"] == kind).await
    }

    /// The close code.
    pub(super) async fn ended(&mut self) -> Option<u16> {
        while self.hear().await.is_some() {}
        self.wire.closed
    }
}
