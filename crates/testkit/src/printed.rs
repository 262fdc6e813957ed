//! The Redis user that `worldkeep acl` prints for the server. Tests of modules speak as this user on every real
//! server, so that a right that is missing fails the test that needs it. What a test does with its own hands (look
//! at all keys, write a foreign value) goes through [`call_as_default`], as the server's default user.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use kernel::{Cmd, Deadline, Fault, Store, Value};
use parking_lot::Mutex;

use crate::server::Server;

/// The user in both layouts, for the namespaces that tests use. A test of `worldkeep` holds it to the tables.
const PRINTED: &str = include_str!("../printed.acl");

/// Crates whose tests make up keys of their own, which no table has.
const ANY_KEY: &[&str] = &[
    "worldkeep-cli",
    "worldkeep-kernel",
    "worldkeep-engine",
    "worldkeep-link",
    "worldkeep-testkit",
];

/// The stores of running tests as the default user, by the address of the store that the test got.
static BY_HAND: LazyLock<Mutex<HashMap<usize, Arc<dyn Store>>>> = LazyLock::new(Mutex::default);

/// Whether tests of this package speak as the printed user.
pub(crate) fn speaks_as_printed(package: &str) -> bool {
    !ANY_KEY.contains(&package)
}

/// Loads the user and gives the address that speaks as it.
pub(crate) fn load(server: &Server) -> String {
    let rules = PRINTED.lines().flat_map(|line| line.split(' ').skip(3));
    let words: Vec<&str> = ["ACL", "SETUSER", "worldkeep", "reset", "on"]
        .into_iter()
        .chain(rules.filter(|word| *word != "-@all" && *word != "resetchannels"))
        .collect();
    assert_eq!(server.ask(&words), "+OK\r\n", "the printed user can be loaded");
    assert_eq!(server.ask(&["ACL", "LOG", "RESET"]), "+OK\r\n", "ACL LOG can be emptied");
    format!("redis://worldkeep:printed@127.0.0.1:{}", server.port())
}

/// Panics when the server refused the user anything.
pub(crate) fn assert_nothing_refused(server: &Server) {
    let log = server.ask(&["ACL", "LOG"]);
    assert!(log.starts_with("*0"), "the printed user was refused something, ACL LOG has\n{log}");
}

/// Keeps the default user's way to the same server while the test runs.
pub(crate) struct ByHand(usize);

impl ByHand {
    pub(crate) fn new(store: &Arc<dyn Store>, default: Arc<dyn Store>) -> ByHand {
        let address = address(&**store);
        BY_HAND.lock().insert(address, default);
        ByHand(address)
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        BY_HAND.lock().remove(&self.0);
    }
}

fn address(store: &dyn Store) -> usize {
    std::ptr::from_ref(store).cast::<()>().addr()
}

/// The server behind this store as its default user, who may do everything.
pub fn as_default(store: &Arc<dyn Store>) -> Arc<dyn Store> {
    let default = BY_HAND.lock().get(&address(&**store)).cloned();
    default.unwrap_or_else(|| Arc::clone(store))
}

/// One command of the test itself, as the default user of the server behind this store.
pub async fn call_as_default(store: &dyn Store, cmd: &Cmd, by: Deadline) -> Result<Value, Fault> {
    let default = BY_HAND.lock().get(&address(store)).cloned();
    match default {
        Some(default) => default.call(cmd, by).await,
        None => store.call(cmd, by).await,
    }
}
