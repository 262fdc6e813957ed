//! Which stores a test runs on. `WORLDKEEP_TEST_STORES` names them (`embedded,redis,valkey,cluster`); then
//! a missing program is a failure that says how to install it. Without it only the embedded engine runs,
//! and one line says what was left out.
//!
//! Isolation is real: a test has its server to itself. Servers are kept in a pool per test process, lent to
//! one test at a time and emptied (data, scripts, statistics) before the next; the pool grows with the number
//! of tests that run at once. A test that changes a server's settings starts its own [`Server`].

use std::future::Future;
use std::io::Write as _;
use std::sync::{Arc, LazyLock, Once};

use kernel::Store;
use parking_lot::Mutex;

use crate::cluster::Cluster;
use crate::printed::{self, ByHand};
use crate::server::{Program, Server};

/// A kind of store that tests run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum On {
    /// The engine in the process, in memory.
    Embedded,
    /// A real Redis.
    Redis,
    /// A real Valkey.
    Valkey,
    /// Three primaries and three replicas.
    Cluster,
}

const ALL: [(On, &str); 4] = [
    (On::Embedded, "embedded"),
    (On::Redis, "redis"),
    (On::Valkey, "valkey"),
    (On::Cluster, "cluster"),
];

impl On {
    /// As it is spelled in `WORLDKEEP_TEST_STORES`.
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(on, _)| *on == self).expect("every kind has a name").1
    }

    /// Whether tests are to run on it.
    pub fn is_wanted(self) -> bool {
        wanted().contains(&self)
    }
}

/// The real programs that tests are to run on, for tests that start their own servers.
pub fn programs() -> Vec<Program> {
    let program = |on| match on {
        On::Redis => Some(Program::Redis),
        On::Valkey => Some(Program::Valkey),
        On::Embedded | On::Cluster => None,
    };
    wanted().into_iter().filter_map(program).collect()
}

/// The stores that tests are to run on.
pub fn wanted() -> Vec<On> {
    let Ok(list) = std::env::var("WORLDKEEP_TEST_STORES") else {
        static SAID: Once = Once::new();
        SAID.call_once(|| {
            // Past the harness, which swallows what a passing test prints.
            let _ = std::io::stderr().write_all(
                b"testkit: embedded engine only; left out: redis, valkey, cluster \
                  (set WORLDKEEP_TEST_STORES=embedded,redis,valkey,cluster)\n",
            );
        });
        return vec![On::Embedded];
    };
    parse(&list).unwrap_or_else(|sentence| panic!("{sentence}"))
}

fn parse(list: &str) -> Result<Vec<On>, String> {
    list.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| {
            ALL.iter().find(|(_, known)| *known == name).map(|(on, _)| *on).ok_or_else(|| {
                format!("WORLDKEEP_TEST_STORES: {name} is no store; use embedded, redis, valkey, cluster")
            })
        })
        .collect()
}

type Idle = Vec<(Program, Server)>;
static POOL: LazyLock<Mutex<Idle>> = LazyLock::new(Mutex::default);

/// A server lent to one test, clean when it comes and cleaned when the next one takes it.
pub struct Lent(Option<(Program, Server)>);

impl Lent {
    /// A running, empty server of this program.
    pub fn take(program: Program) -> Self {
        let idle = {
            let mut pool = POOL.lock();
            let found = pool.iter().position(|(kind, _)| *kind == program);
            found.map(|at| pool.swap_remove(at))
        };
        let (_, server) = idle.unwrap_or_else(|| (program, Server::start(program)));
        for words in [
            &["FLUSHALL"][..],
            &["SCRIPT", "FLUSH"],
            &["FUNCTION", "FLUSH"],
            &["CONFIG", "RESETSTAT"],
        ] {
            assert_eq!(server.ask(words), "+OK\r\n", "{words:?} empties a server");
        }
        Lent(Some((program, server)))
    }

    /// The server itself.
    pub fn server(&self) -> &Server {
        &self.0.as_ref().expect("it is lent until it is dropped").1
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // A server that a failed test leaves may be in any state: such a server is not lent again.
        if let Some(lent) = self.0.take().filter(|_| !std::thread::panicking()) {
            POOL.lock().push(lent);
        }
    }
}

/// Runs the body on a store of its own for each kind that is wanted (a Cluster only by [`on_cluster`]). On real
/// servers, tests of modules speak as the user that `worldkeep acl` prints, and no refusal may be in `ACL LOG`.
pub fn on_every<F, R>(package: &str, name: &str, body: F)
where
    F: Fn(Arc<dyn Store>) -> R,
    R: Future<Output = ()>,
{
    for on in wanted() {
        let lent = match on {
            On::Embedded => None,
            On::Redis => Some(Lent::take(Program::Redis)),
            On::Valkey => Some(Lent::take(Program::Valkey)),
            On::Cluster => continue,
        };
        let _whose = Whose(name, on);
        match lent.as_ref().map(Lent::server) {
            Some(server) if printed::speaks_as_printed(package) => {
                let url = printed::load(server);
                runtime().block_on(async {
                    let store = open(&url).await;
                    let _by_hand = ByHand::new(&store, open(&server.url()).await);
                    body(store).await;
                });
                printed::assert_nothing_refused(server);
            }
            other => {
                let url = other.map_or_else(|| "memory".to_owned(), Server::url);
                runtime().block_on(async { body(open(&url).await).await });
            }
        }
    }
}

/// Runs the body with the address of a store of its own for each kind that is wanted, for tests that start
/// processes: the engine is behind a TCP door.
pub fn on_every_address(name: &str, body: impl Fn(&str)) {
    for on in wanted() {
        let _whose = Whose(name, on);
        let program = match on {
            On::Embedded => {
                let engine = engine::Engine::memory();
                let door = engine.listen(([127, 0, 0, 1], 0).into());
                let door = door.expect("loopback has a free port");
                body(&format!("redis://{}", door.addr()));
                continue;
            }
            On::Redis => Program::Redis,
            On::Valkey => Program::Valkey,
            On::Cluster => continue,
        };
        let lent = Lent::take(program);
        body(&lent.server().url());
    }
}

/// Runs the body on the Cluster of this test process, emptied, when a Cluster is wanted.
pub fn on_cluster<F, R>(name: &str, body: F)
where
    F: FnOnce(Arc<dyn Store>, Arc<Cluster>) -> R,
    R: Future<Output = ()>,
{
    if !On::Cluster.is_wanted() {
        return;
    }
    let lent = Cluster::lend();
    let _whose = Whose(name, On::Cluster);
    runtime().block_on(async {
        let store = open(&lent.url()).await;
        body(store, lent.cluster()).await;
    });
}

/// A store at this URL, or a panic with the sentence that says why not.
pub async fn open(url: &str) -> Arc<dyn Store> {
    link::open(url, link::Options::default()).await.unwrap_or_else(|error| panic!("{error}"))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be built")
}

/// Says on which store a body failed.
struct Whose<'a>(&'a str, On);

impl Drop for Whose<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let line = format!("testkit: {} failed on {}\n", self.0, self.1.name());
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}

/// A test on every store: `on_every_store!(name, |store| { … });`. The body is asynchronous, gets an
/// `Arc<dyn Store>` of its own and runs once per store.
#[macro_export]
macro_rules! on_every_store {
    ($(#[$attribute:meta])* $name:ident, |$store:ident| $body:block) => {
        $(#[$attribute])*
        #[test]
        fn $name() {
            $crate::on_every(
                env!("CARGO_PKG_NAME"),
                stringify!($name),
                |$store: ::std::sync::Arc<dyn $crate::Store>| async move $body,
            );
        }
    };
}

/// A test on the Cluster: `on_cluster!(name, |store, cluster| { … });`.
#[macro_export]
macro_rules! on_cluster {
    ($(#[$attribute:meta])* $name:ident, |$store:ident, $cluster:ident| $body:block) => {
        $(#[$attribute])*
        #[test]
        fn $name() {
            $crate::on_cluster(
                stringify!($name),
                |$store: ::std::sync::Arc<dyn $crate::Store>, $cluster: ::std::sync::Arc<$crate::Cluster>| async move $body,
            );
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_stores_is_read_and_a_wrong_name_is_refused() {
        assert_eq!(parse("redis, valkey"), Ok(vec![On::Redis, On::Valkey]));
        assert_eq!(parse(""), Ok(vec![]));
        assert!(parse("redis,dragon").expect_err("no such store").contains("dragon"));
    }
}
