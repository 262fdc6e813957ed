//! The set `wk:<module>:scopes` names the tenants or namespaces that have keys of their own, so
//! that loops and readers find them. A scope is added before its first write and stays. The set is
//! in another Cluster slot than the scope's state, so both cannot change in one step: the set is a
//! hint, which writers repair by adding the scope again every few seconds.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::Clock;
use crate::fault::Fault;
use crate::reply;
use crate::store::{Deadline, Store};

/// A scope added this long ago is added again, in case somebody has dropped it meanwhile.
const SURE_FOR: Duration = Duration::from_secs(5);
/// Memory stays bounded; forgetting costs one `SADD` more.
const REMEMBERED: usize = 10_000;

/// One module's set of scopes.
#[derive(Debug)]
pub struct ScopeSet {
    key: String,
    added: Mutex<HashMap<String, Duration>>,
}

impl ScopeSet {
    /// Of this key, such as `wk:reactors:scopes`.
    pub fn new(key: impl Into<String>) -> Self {
        ScopeSet { key: key.into(), added: Mutex::new(HashMap::new()) }
    }

    /// The set's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Makes sure the scope is listed; call it before writing. Nearly always answers from memory.
    pub async fn ensure(
        &self,
        store: &dyn Store,
        clock: &dyn Clock,
        scope: &str,
        by: Deadline,
    ) -> Result<(), Fault> {
        let now = clock.monotonic();
        if self.added.lock().get(scope).is_some_and(|at| now.saturating_sub(*at) < SURE_FOR) {
            return Ok(());
        }
        store.call(redis::cmd("SADD").arg(&self.key).arg(scope), by).await?;
        let mut added = self.added.lock();
        if added.len() >= REMEMBERED {
            added.clear();
        }
        added.insert(scope.to_owned(), now);
        Ok(())
    }

    /// All of them, sorted.
    pub async fn list(&self, store: &dyn Store, by: Deadline) -> Result<Vec<String>, Fault> {
        list(store, &self.key, by).await
    }
}

/// Members of a set of scopes, sorted; what is not UTF-8 is no scope.
pub(crate) async fn list(store: &dyn Store, key: &str, by: Deadline) -> Result<Vec<String>, Fault> {
    let answer = store.call(redis::cmd("SMEMBERS").arg(key), by).await?;
    let members =
        reply::list(&answer).ok_or_else(|| reply::unexpected(key, "a set of scopes", &answer))?;
    let mut scopes: Vec<String> =
        members.iter().filter_map(reply::text).map(str::to_owned).collect();
    scopes.sort_unstable();
    Ok(scopes)
}
