//! `galaxy:commands`: how an order given on one server reaches the engine on another.

use std::time::Duration;

use kernel::{Deadline, Fault, Store, Value, reply};
use serde_json::Map;

use crate::keys::Keys;
use crate::load::cmd;
use crate::orders::{Command, Order};

/// Older orders are dropped: their pilot has long seen that nothing happened.
const TOO_OLD_MS: u64 = 10_000;
const PATIENCE: Duration = Duration::from_secs(2);
/// Entries kept, about.
const KEPT: &str = "100000";
/// Entries read per tick.
const AT_ONCE: &str = "1000";

/// Where a new engine starts to read.
pub(super) fn recent(now_ms: u64) -> String {
    format!("{}-0", now_ms.saturating_sub(TOO_OLD_MS))
}

pub(super) fn too_old(command: &Command, now_ms: u64) -> bool {
    now_ms.saturating_sub(command.at_ms) > TOO_OLD_MS
}

/// Appends an order for whichever engine leads.
pub async fn send(store: &dyn Store, keys: Keys, command: &Command) -> Result<(), Fault> {
    let (kind, body) = spell(&command.order);
    let stream = keys.commands();
    let ship = command.ship_id.map(|id| id.to_string()).unwrap_or_default();
    let add = cmd(&[
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
    store.call(&add, Deadline::after(PATIENCE)).await.map(drop)
}

/// The orders after an entry, and where to go on. What cannot be read is passed over.
pub(super) async fn read(
    store: &dyn Store,
    keys: Keys,
    after: &str,
) -> Result<(Vec<Command>, String), Fault> {
    let stream = keys.commands();
    let read = cmd(&["XREAD", "COUNT", AT_ONCE, "STREAMS", stream.as_str(), after]);
    let answer = store.call(&read, Deadline::after(PATIENCE)).await?;
    let mut last = after.to_owned();
    let mut commands = Vec::new();
    for (_, entries) in reply::pairs(&answer).unwrap_or_default() {
        for entry in reply::list(entries).unwrap_or_default() {
            let Some([id, fields]) = reply::list(entry) else { continue };
            if let Some(id) = reply::text(id) {
                id.clone_into(&mut last);
            }
            commands.extend(read_entry(fields));
        }
    }
    Ok((commands, last))
}

/// One entry of the stream.
pub fn read_entry(fields: &Value) -> Option<Command> {
    let fields = crate::load::fields(fields);
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
