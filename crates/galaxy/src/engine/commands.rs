//! `galaxy:commands`: the stream by which an order given on one server reaches the engine on
//! another.

use std::time::Duration;

use kernel::{Cmd, Deadline, Fault, Store, Value, reply};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::error::OrderError;
use crate::keys::Keys;
use crate::store::cmd;
use crate::world::orders::{Command, Order};

/// Older orders are dropped: their pilot has long seen that nothing happened.
const TOO_OLD_MS: u64 = 10_000;
const PATIENCE: Duration = Duration::from_secs(2);
/// Entries kept, about.
const KEPT: &str = "100000";
/// Entries read per tick.
const AT_ONCE: &str = "1000";

/// The entry after which a new engine starts to read: after those stored already, and not before
/// those too old.
pub(super) fn recent(now_ms: u64, heard: Option<&str>) -> String {
    let oldest = (now_ms.saturating_sub(TOO_OLD_MS), 0);
    let (ms, n) = heard.and_then(read_id).map_or(oldest, |heard| heard.max(oldest));
    format!("{ms}-{n}")
}

/// The two numbers of an entry's id.
fn read_id(id: &str) -> Option<(u64, u64)> {
    let (ms, n) = id.split_once('-')?;
    Some((ms.parse().ok()?, n.parse().ok()?))
}

pub(super) fn too_old(command: &Command, now_ms: u64) -> bool {
    now_ms.saturating_sub(command.at_ms) > TOO_OLD_MS
}

/// Appends an order for whichever engine leads.
pub async fn send(store: &dyn Store, keys: Keys, command: &Command) -> Result<(), Fault> {
    append(store, keys, command, None).await
}

/// The same for somebody who waits on `galaxy:bus` for the [`Answer`] with this name.
pub async fn send_asking(
    store: &dyn Store,
    keys: Keys,
    command: &Command,
    ask: &str,
) -> Result<(), Fault> {
    append(store, keys, command, Some(ask)).await
}

async fn append(
    store: &dyn Store,
    keys: Keys,
    command: &Command,
    ask: Option<&str>,
) -> Result<(), Fault> {
    let (kind, body) = spell(&command.order);
    let stream = keys.commands();
    let ship = command.ship_id.map(|id| id.to_string()).unwrap_or_default();
    let mut add = cmd(&[
        "XADD",
        stream.as_str(),
        "MAXLEN",
        "~",
        KEPT,
        "*",
        "type",
        &kind,
        "player_id",
        command.player_id.as_deref().unwrap_or_default(),
        "ship_id",
        &ship,
        "body",
        &body,
        "at",
        &command.at_ms.to_string(),
    ]);
    if let Some(ask) = ask {
        add.arg("ask").arg(ask);
    }
    store.call(&add, Deadline::after(PATIENCE)).await.map(drop)
}

/// An order of the stream.
pub(super) struct Sent {
    /// The id of its entry.
    pub(super) entry: String,
    /// `None` when it cannot be read.
    pub(super) command: Option<Command>,
    /// The name under which somebody waits for its answer.
    pub(super) ask: Option<String>,
}

/// The command that reads the orders after an entry.
pub(super) fn reading(keys: Keys, after: &str) -> Cmd {
    cmd(&["XREAD", "COUNT", AT_ONCE, "STREAMS", keys.commands().as_str(), after])
}

/// The orders of its answer.
pub(super) fn entries(answer: &Value) -> Vec<Sent> {
    let mut sent = Vec::new();
    for (_, entries) in reply::pairs(answer).unwrap_or_default() {
        for entry in reply::list(entries).unwrap_or_default() {
            let Some([id, fields]) = reply::list(entry) else { continue };
            let Some(entry) = reply::text(id).map(str::to_owned) else { continue };
            let ask = crate::store::fields(fields).remove("ask");
            sent.push(Sent { entry, command: read_entry(fields), ask });
        }
    }
    sent
}

/// One entry of the stream.
pub(crate) fn read_entry(fields: &Value) -> Option<Command> {
    let fields = crate::store::fields(fields);
    let mut body: Map<String, serde_json::Value> =
        serde_json::from_str(fields.get("body").map_or("{}", String::as_str)).ok()?;
    body.insert("type".to_owned(), fields.get("type")?.as_str().into());
    let order: Order = serde_json::from_value(body.into()).ok()?;
    Some(Command {
        at_ms: fields.get("at")?.parse().ok()?,
        player_id: fields.get("player_id").filter(|id| !id.is_empty()).cloned(),
        ship_id: fields.get("ship_id").and_then(|id| id.parse().ok()),
        order,
    })
}

/// The order's word, and its body without it.
fn spell(order: &Order) -> (String, String) {
    let mut body = match serde_json::to_value(order) {
        Ok(serde_json::Value::Object(body)) => body,
        _ => Map::new(),
    };
    let kind = body.remove("type").and_then(|kind| kind.as_str().map(str::to_owned));
    (kind.unwrap_or_default(), serde_json::Value::Object(body).to_string())
}

/// The code of an order of which nobody knows whether it was stored.
pub(super) const UNCONFIRMED: &str = "outcome_unknown";

/// The outcome of an order that came by the stream, as it is told on `galaxy:bus`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The name its sender gave it.
    pub answer: String,
    /// Why not, if not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<OrderRefusal>,
}

/// A refusal in words that travel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRefusal {
    /// A number of the protocol, or the word of its kind.
    pub code: String,
    /// A sentence.
    pub message: String,
    /// The value it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl From<&OrderError> for OrderRefusal {
    fn from(why: &OrderError) -> Self {
        let (code, field) = match why {
            OrderError::Invalid { field, .. } => ("bad_field", Some((*field).to_owned())),
            OrderError::NotYours => ("forbidden", None),
            OrderError::Missing(_) => ("not_found", None),
            OrderError::Conflict(_) => ("conflict", None),
            OrderError::Away | OrderError::Unconfirmed => (UNCONFIRMED, None),
            OrderError::Docking(_) | OrderError::NoTransit => {
                (why.code().unwrap_or("conflict"), None)
            }
        };
        OrderRefusal { code: code.to_owned(), message: why.to_string(), field }
    }
}

impl Answer {
    /// The write that tells it.
    pub(super) fn tell(&self, keys: Keys) -> Cmd {
        let text = serde_json::to_string(self).unwrap_or_default();
        cmd(&["PUBLISH", keys.bus().as_str(), &text])
    }
}
