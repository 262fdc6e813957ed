//! Notices on sockets, beside the state: who came and left, alerts, pause and resume, the end of an account. All but the
//! pause come from the event streams, so that the sockets of every server hear the same.

use kernel::events::Envelope;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::socket::Utf8Bytes;

/// One notice, for everybody or for one player.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    /// Only this player's sockets, when set.
    pub(crate) to: Option<Uuid>,
    pub(crate) what: What,
}

/// The treatment of it.
#[derive(Debug, Clone)]
pub(crate) enum What {
    Say(Utf8Bytes),
    /// The account is gone: close.
    Close,
    /// A login of the player has ended: close, if it is the socket's own.
    LoginEnded,
    /// The player flies another ship.
    Switch(Uuid),
}

/// Types of `galaxy:players`.
pub(crate) const JOINED: &str = "player_joined";
pub(crate) const LEFT: &str = "player_left";
pub(crate) const LOGIN_ENDED: &str = "login_ended";
/// Type of `galaxy:admin` that closes sockets.
pub(crate) const PLAYER_DELETED: &str = "player_deleted";

impl Notice {
    pub(crate) fn say(to: Option<Uuid>, message: &Value) -> Self {
        Notice { to, what: What::Say(message.to_string().into()) }
    }

    pub(crate) fn paused(paused: bool, tick: u64) -> Self {
        let kind = if paused { "paused" } else { "resumed" };
        Notice::say(None, &json!({ "type": kind, "tick": tick }))
    }

    /// The meaning of an event for sockets, if any.
    pub(crate) fn of(event: &Envelope) -> Option<Self> {
        if event.module != "galaxy" {
            return None;
        }
        let body: Value = serde_json::from_str(event.body.get()).ok()?;
        let player = || body["player_id"].as_str()?.parse::<Uuid>().ok();
        match event.kind.as_str() {
            kind @ (JOINED | LEFT) => Some(Notice::say(
                None,
                &json!({ "type": kind, "player_id": body["player_id"], "username": body["username"] }),
            )),
            "ship.alert" => {
                let message = json!({
                    "type": "alert", "ship_id": body["ship_id"], "rule_id": body["rule_id"],
                    "message": body["message"], "tick": body["tick"],
                });
                Some(Notice::say(Some(player()?), &message))
            }
            "maneuver.ended" => {
                let message = json!({
                    "type": "alert", "ship_id": body["ship_id"], "maneuver": body["type"],
                    "status": body["status"], "message": maneuver(&body), "tick": body["tick"],
                });
                Some(Notice::say(Some(player()?), &message))
            }
            LOGIN_ENDED => Some(Notice { to: Some(player()?), what: What::LoginEnded }),
            PLAYER_DELETED => Some(Notice { to: Some(event.id.parse().ok()?), what: What::Close }),
            _ => None,
        }
    }
}

fn maneuver(body: &Value) -> String {
    let word = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let error = word("error");
    let end = if error.is_empty() { String::new() } else { format!(": {error}") };
    format!("{} {}{end}", word("type"), word("status"))
}
