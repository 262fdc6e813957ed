//! The galaxy in the store: the world as it is read (`load`), each tick as it is written (`batch`),
//! the writes of orders and rules beside it (`write`, `maneuver`), the players online, and the
//! check. `database` holds the data that outlives the store.

pub(crate) mod batch;
pub(crate) mod check;
pub(crate) mod database;
pub(crate) mod load;
pub(crate) mod maneuver;
pub(crate) mod online;
pub(crate) mod write;

use kernel::keyspace::Key;
use kernel::{Cmd, Value, reply};

use crate::keys::Keys;
use crate::model::Fields;

/// The keys that a world has once.
pub(crate) fn game(keys: Keys) -> [Key; 9] {
    [
        keys.tick(),
        keys.time(),
        keys.paused(),
        keys.tick_rate(),
        keys.time_scale(),
        keys.time_sync(),
        keys.time_drift(),
        keys.total_spawns(),
        keys.registration_open(),
    ]
}

/// The pairs of `HGETALL` that are text.
pub fn fields(answer: &Value) -> Fields {
    reply::pairs(answer)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(field, value)| {
            Some((reply::text(field)?.to_owned(), reply::text(value)?.to_owned()))
        })
        .collect()
}

pub(crate) fn cmd(words: &[&str]) -> Cmd {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    cmd
}
