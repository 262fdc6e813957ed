//! An engine that runs for a test, and plain words to a store.

use std::sync::Arc;
use std::time::Duration;

use galaxy::keys::Keys;
use galaxy::{
    Command, Effect, Engine, Epoch, Fields, Handle, Options, Order, OrderError, WorldView, fields,
};
use kernel::keyspace::Layout;
use kernel::{Clock as _, Cmd, Deadline, Store, SystemClock, Value, reply};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub(crate) const KEYS: Keys = Keys::new(Layout::Plain);

pub(crate) const PLAYER: &str = "660e8400-e29b-41d4-a716-446655440001";

pub(crate) struct Ticking {
    pub(crate) handle: Handle,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Ticking {
    /// An engine that makes a world where there is none.
    pub(crate) fn start(store: &Arc<dyn Store>, id: &str) -> Ticking {
        Ticking::with(store, Options { create: Some(Epoch::Now), ..Options::new(id) })
    }

    pub(crate) fn with(store: &Arc<dyn Store>, options: Options) -> Ticking {
        let clock = Arc::new(SystemClock::new());
        let (engine, handle) = Engine::new(Arc::clone(store), clock, KEYS, options);
        let stop = CancellationToken::new();
        let task = tokio::spawn(engine.run(stop.clone()));
        Ticking { handle, stop, task }
    }

    /// Waits for a look at the world that satisfies.
    pub(crate) async fn until(&self, what: impl Fn(&WorldView) -> bool) -> Arc<WorldView> {
        let mut seen = self.handle.seen();
        let found = tokio::time::timeout(Duration::from_secs(30), seen.wait_for(|seen| what(seen)));
        Arc::clone(&found.await.expect("in time").expect("the engine runs"))
    }

    /// As an operator.
    pub(crate) async fn ask(&self, order: Order) -> Result<Effect, OrderError> {
        self.handle.ask(command(None, None, order)).await.expect("it leads")
    }

    /// As an operator, to a ship.
    pub(crate) async fn order(&self, ship: Uuid, order: Order) -> Result<Effect, OrderError> {
        self.handle.ask(command(Some(ship), None, order)).await.expect("it leads")
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

pub(crate) fn command(ship_id: Option<Uuid>, player: Option<&str>, order: Order) -> Command {
    let at_ms = SystemClock::new().now_ms();
    Command { at_ms, player_id: player.map(str::to_owned), ship_id, order }
}

pub(crate) fn spawn(name: &str) -> Order {
    Order::Spawn { name: name.to_owned(), ship_class: None, station_id: None }
}

pub(crate) async fn ask(store: &Arc<dyn Store>, words: &[&str]) -> Value {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    let by = Deadline::after(Duration::from_secs(5));
    testkit::call_as_default(&**store, &cmd, by).await.unwrap()
}

pub(crate) async fn text(store: &Arc<dyn Store>, key: &str) -> String {
    reply::text(&ask(store, &["GET", key]).await).unwrap_or_default().to_owned()
}

pub(crate) async fn hash(store: &Arc<dyn Store>, key: &str) -> Fields {
    fields(&ask(store, &["HGETALL", key]).await)
}

/// Members of a set, sorted.
pub(crate) async fn members(store: &Arc<dyn Store>, key: &str) -> Vec<String> {
    let answer = ask(store, &["SMEMBERS", key]).await;
    let mut all: Vec<String> =
        reply::list(&answer).unwrap().iter().filter_map(reply::text).map(str::to_owned).collect();
    all.sort();
    all
}
