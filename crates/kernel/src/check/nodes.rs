//! `SCAN` over all keys: one cursor on a single server, one per primary on a Cluster. Each cursor
//! runs on a session that is opened by a key of that primary's slots. Like `SCAN` itself it may
//! give a key twice, and may give or miss keys that come and go meanwhile.

use std::time::Duration;

use redis::Value;

use crate::fault::Fault;
use crate::keyspace::slot;
use crate::reply;
use crate::store::{Deadline, Kind, Session, Store};

/// The keys of all nodes, batch by batch.
pub struct Nodes<'a> {
    store: &'a dyn Store,
    wait: Duration,
    /// `MATCH`, when only some keys are wanted.
    pattern: Option<String>,
    /// Sessions of the primaries still to walk; `None` is the store itself.
    left: Vec<Option<Box<dyn Session>>>,
    cursor: Vec<u8>,
}

impl<'a> Nodes<'a> {
    /// Starts at the first key; each call of the store may take `wait`.
    pub async fn open(store: &'a dyn Store, wait: Duration) -> Result<Nodes<'a>, Fault> {
        let mut left: Vec<Option<Box<dyn Session>>> = Vec::new();
        if store.status().kind == Kind::Cluster {
            for slot in first_slots(store, wait).await? {
                let key = key_in(slot);
                left.push(Some(store.session(key.as_bytes(), Deadline::after(wait)).await?));
            }
        } else {
            left.push(None);
        }
        Ok(Nodes { store, wait, pattern: None, left, cursor: b"0".to_vec() })
    }

    /// Only keys that match this glob.
    #[must_use]
    pub fn matching(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// The next keys; `None` when all nodes are through.
    pub async fn next(&mut self, count: usize) -> Result<Option<Vec<Vec<u8>>>, Fault> {
        let by = Deadline::after(self.wait);
        let Some(node) = self.left.last_mut() else { return Ok(None) };
        let mut scan = redis::cmd("SCAN");
        scan.arg(&self.cursor);
        if let Some(pattern) = &self.pattern {
            scan.arg("MATCH").arg(pattern);
        }
        scan.arg("COUNT").arg(count);
        let answer = match node {
            Some(session) => session.call(&scan, by).await?,
            None => self.store.call(&scan, by).await?,
        };
        let wrong = || reply::unexpected("SCAN", "a cursor and keys", &answer);
        let [cursor, keys] = reply::list(&answer).ok_or_else(wrong)? else { return Err(wrong()) };
        self.cursor = reply::bytes(cursor).ok_or_else(wrong)?.to_vec();
        let keys = reply::list(keys).ok_or_else(wrong)?;
        let keys = keys.iter().filter_map(reply::bytes).map(<[u8]>::to_vec).collect();
        if self.cursor == b"0" {
            self.left.pop();
        }
        Ok(Some(keys))
    }
}

/// The first slot of each primary.
async fn first_slots(store: &dyn Store, wait: Duration) -> Result<Vec<u16>, Fault> {
    let mut cmd = redis::cmd("CLUSTER");
    cmd.arg("SLOTS");
    let answer = store.call(&cmd, Deadline::after(wait)).await?;
    let wrong = || reply::unexpected("CLUSTER SLOTS", "ranges of slots", &answer);
    let mut firsts: Vec<(Vec<u8>, u16)> = Vec::new();
    for range in reply::list(&answer).ok_or_else(wrong)? {
        let Some([from, _, primary, ..]) = reply::list(range) else { return Err(wrong()) };
        let from = reply::int(from).and_then(|from| u16::try_from(from).ok()).ok_or_else(wrong)?;
        let id = node_id(primary).ok_or_else(wrong)?;
        if !firsts.iter().any(|(known, _)| *known == id) {
            firsts.push((id, from));
        }
    }
    Ok(firsts.into_iter().map(|(_, from)| from).collect())
}

fn node_id(node: &Value) -> Option<Vec<u8>> {
    reply::bytes(reply::list(node)?.get(2)?).map(<[u8]>::to_vec)
}

/// Some key of that slot.
fn key_in(wanted: u16) -> String {
    (0..u32::MAX)
        .map(|number| number.to_string())
        .find(|key| slot(key.as_bytes()) == wanted)
        .expect("every slot has a key among the numbers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_key() {
        for wanted in [0, 1, 5_461, 10_923, 16_383] {
            assert_eq!(slot(key_in(wanted).as_bytes()), wanted);
        }
    }
}
