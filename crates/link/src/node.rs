//! One server, kept connected: a shared connection that heals by itself and never gives up, and a few idle
//! connections for sessions. Calls wait for the connection as long as their deadline allows, because
//! nothing was sent yet; once a byte has left, a lost answer is an unknown outcome and is never repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kernel::{Deadline, Fault, Value};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{sleep, timeout_at};

use crate::address::Endpoint;
use crate::connection::{Connector, RawConnection};
use crate::error::ConnectError;
use crate::multiplexer::{Lost, Multiplexer};
use crate::probe::{self, ServerFacts};
use crate::sentinel::Sentinels;
use crate::writes;

const FIRST_DELAY: Duration = Duration::from_millis(20);
const LAST_DELAY: Duration = Duration::from_millis(100);
const REFUSED_DELAY: Duration = Duration::from_secs(1); // a wrong password does not mend itself soon
const STEADY: Duration = Duration::from_secs(1); // a connection that lived so long was a good one
const AGREED: Duration = Duration::from_secs(2); // how often the Sentinels are asked meanwhile
const LEARN: Duration = Duration::from_secs(5); // how often a server is asked about its settings
const IDLE_MAX: usize = 16;
const IDLE_FOR: Duration = Duration::from_secs(30);

/// How the server's address is found.
pub(crate) enum Discovery {
    Fixed(Endpoint),
    Sentinel(Sentinels),
}

impl Discovery {
    async fn find(&self) -> Result<Endpoint, ConnectError> {
        match self {
            Discovery::Fixed(address) => Ok(address.clone()),
            Discovery::Sentinel(sentinels) => sentinels.primary().await,
        }
    }
}

#[derive(Clone)]
enum NodeState {
    Up(Arc<Multiplexer>),
    Down(ConnectError),
}

struct Idle {
    connection: RawConnection,
    since: Instant,
    generation: u64,
    watching: bool,
}

struct NodeShared {
    route: Discovery,
    connector: Connector,
    state: watch::Sender<NodeState>,
    since_ms: AtomicU64,
    connects: AtomicU64,
    facts: Mutex<Option<ServerFacts>>,
    idle: Mutex<Vec<Idle>>,
}

/// A server and the task that keeps it connected; the task ends with the last handle.
pub(crate) struct Node {
    inner: Arc<NodeShared>,
    keeper: tokio::task::AbortHandle,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

/// A connection lent for a session. `watching`: a former owner may have left keys watched.
pub(crate) struct LentConnection {
    pub(crate) connection: RawConnection,
    pub(crate) generation: u64,
    pub(crate) watching: bool,
    /// Whose it is; a connection to the embedded engine goes back to nobody.
    pub(crate) node: Option<Arc<Node>>,
}

/// How a node is now.
pub(crate) struct Health {
    pub(crate) up: bool,
    pub(crate) reason: Option<String>,
    pub(crate) since_ms: u64,
    pub(crate) refuses_writes: Option<String>,
    pub(crate) reconnects: u64,
    pub(crate) facts: Option<ServerFacts>,
}

impl Node {
    /// Starts to connect and does not wait for it.
    pub(crate) fn start(route: Discovery, connector: Connector) -> Arc<Self> {
        Self::make(route, connector, None)
    }

    /// Connects within `patience`, or tells why not. An error that waiting cannot mend fails at
    /// once.
    pub(crate) async fn open(
        route: Discovery,
        connector: Connector,
        patience: Duration,
    ) -> Result<Arc<Self>, ConnectError> {
        let give_up = Instant::now() + patience;
        let mut told = None;
        loop {
            match connect(&route, &connector).await {
                Ok(multiplexer) => return Ok(Self::make(route, connector, Some(multiplexer))),
                Err(trouble) if !trouble.may_pass() => return Err(trouble),
                Err(trouble) => told = Some(trouble.or_earlier(told)),
            }
            if Instant::now() >= give_up {
                return Err(told.expect("an attempt was made"));
            }
            sleep(LAST_DELAY).await;
        }
    }

    fn make(
        route: Discovery,
        connector: Connector,
        multiplexer: Option<Arc<Multiplexer>>,
    ) -> Arc<Self> {
        let first = match &multiplexer {
            Some(multiplexer) => NodeState::Up(Arc::clone(multiplexer)),
            None => NodeState::Down(ConnectError::Gone("not connected yet".to_owned())),
        };
        let inner = Arc::new(NodeShared {
            route,
            connector,
            connects: AtomicU64::new(u64::from(multiplexer.is_some())),
            state: watch::Sender::new(first),
            since_ms: AtomicU64::new(crate::wall_ms()),
            facts: Mutex::new(None),
            idle: Mutex::default(),
        });
        let keeper = tokio::spawn(keep(Arc::clone(&inner), multiplexer)).abort_handle();
        Arc::new(Node { inner, keeper })
    }

    /// The live connection, waited for until the deadline.
    pub(crate) async fn multiplexer(&self, by: Deadline) -> Result<Arc<Multiplexer>, Fault> {
        if let Some(multiplexer) = self.pipe_now() {
            return Ok(multiplexer);
        }
        let mut state = self.inner.state.subscribe();
        let live = state.wait_for(
            |state| matches!(state, NodeState::Up(multiplexer) if !multiplexer.is_closed()),
        );
        if let Ok(Ok(state)) = timeout_at(by.instant().into(), live).await
            && let NodeState::Up(multiplexer) = &*state
        {
            return Ok(Arc::clone(multiplexer));
        }
        Err(Fault::Unavailable(self.down().unwrap_or_else(|| "it just came back".to_owned())))
    }

    /// The live connection, if there is one.
    pub(crate) fn pipe_now(&self) -> Option<Arc<Multiplexer>> {
        match &*self.inner.state.borrow() {
            NodeState::Up(multiplexer) if !multiplexer.is_closed() => Some(Arc::clone(multiplexer)),
            _ => None,
        }
    }

    /// Why there is no connection, if there is none.
    pub(crate) fn down(&self) -> Option<String> {
        match &*self.inner.state.borrow() {
            NodeState::Up(_) => None,
            NodeState::Down(trouble) => Some(trouble.reason().to_owned()),
        }
    }

    /// Sends packed commands and gives their replies.
    pub(crate) async fn ask(
        &self,
        bytes: &Bytes,
        replies: usize,
        by: Deadline,
    ) -> Result<Vec<Value>, Fault> {
        loop {
            let multiplexer = self.multiplexer(by).await?;
            match multiplexer.ask(bytes.clone(), replies, by).await {
                Ok(values) => return Ok(values),
                Err(Lost::Unknown(why)) => return Err(Fault::Unknown(why)),
                Err(Lost::NotSent(why)) if by.left().is_zero() => {
                    return Err(Fault::Unavailable(why));
                }
                Err(Lost::NotSent(_)) => {}
            }
        }
    }

    /// Gives the connection up, because the server says it is not what we want any more.
    pub(crate) fn kick(&self, reason: &str) {
        if let Some(multiplexer) = self.pipe_now() {
            multiplexer.close(reason);
        }
    }

    /// A connection for one caller: an idle one that is still sound, or a new one.
    pub(crate) async fn hold(
        self: &Arc<Self>,
        idle: bool,
        by: Deadline,
    ) -> Result<LentConnection, Fault> {
        if idle && let Some(found) = self.take_idle() {
            let Idle { connection, generation, watching, .. } = found;
            return Ok(LentConnection {
                connection,
                generation,
                watching,
                node: Some(Arc::clone(self)),
            });
        }
        let mut told = None;
        loop {
            let multiplexer = self.multiplexer(by).await?;
            let generation = self.generation();
            let open = self.inner.connector.open(multiplexer.address());
            match timeout_at(by.instant().into(), open).await {
                Ok(Ok(connection)) => {
                    let node = Some(Arc::clone(self));
                    return Ok(LentConnection { connection, generation, watching: false, node });
                }
                Ok(Err(trouble)) => {
                    let trouble = trouble.or_earlier(told);
                    if by.left() <= FIRST_DELAY {
                        return Err(Fault::Unavailable(trouble.reason().to_owned()));
                    }
                    told = Some(trouble);
                    sleep(FIRST_DELAY).await;
                }
                Err(_) => {
                    // An earlier answer of the server tells more than a timeout.
                    let late =
                        || format!("{} did not open a connection in time", multiplexer.address());
                    let why = told.as_ref().map_or_else(late, |told| told.reason().to_owned());
                    return Err(Fault::Unavailable(why));
                }
            }
        }
    }

    fn take_idle(&self) -> Option<Idle> {
        let now = self.generation();
        loop {
            let mut idle = self.inner.idle.lock().pop()?;
            if idle.generation == now
                && idle.since.elapsed() < IDLE_FOR
                && idle.connection.is_quiet()
            {
                return Some(idle);
            }
        }
    }

    /// Takes back a connection whose last answer was read in full.
    pub(crate) fn give_back(&self, connection: RawConnection, generation: u64, watching: bool) {
        if generation == self.generation() {
            let mut idle = self.inner.idle.lock();
            if idle.len() < IDLE_MAX {
                idle.push(Idle { connection, since: Instant::now(), generation, watching });
            }
        }
    }

    // Sessions opened before the shared connection was lost are not trusted again.
    fn generation(&self) -> u64 {
        self.inner.connects.load(Ordering::Acquire)
    }

    pub(crate) fn health(&self) -> Health {
        let reason = self.down();
        Health {
            up: reason.is_none(),
            reason,
            refuses_writes: self.pipe_now().and_then(|multiplexer| multiplexer.writes().refused()),
            since_ms: self.inner.since_ms.load(Ordering::Acquire),
            reconnects: self.generation().saturating_sub(1),
            facts: self.inner.facts.lock().clone(),
        }
    }

    /// Looks at the replies of a session, which has a connection of its own.
    pub(crate) fn look(&self, values: &[Value]) {
        if let Some(multiplexer) = self.pipe_now() {
            multiplexer.writes().look(values);
        }
    }

    /// Asks what it is, now rather than in the background.
    pub(crate) async fn facts(&self, by: Deadline) -> Option<ServerFacts> {
        let multiplexer = self.multiplexer(by).await.ok()?;
        let facts = probe::ask(&multiplexer, self.inner.connector.user(), by).await;
        self.inner.facts.lock().clone_from(&facts);
        facts
    }
}

async fn connect(
    route: &Discovery,
    connector: &Connector,
) -> Result<Arc<Multiplexer>, ConnectError> {
    let address = route.find().await?;
    let connection = match (connector.open(&address).await, route) {
        (Err(trouble), Discovery::Sentinel(sentinels)) => {
            sentinels.doubt();
            return Err(trouble);
        }
        (opened, _) => opened?,
    };
    Ok(Arc::new(Multiplexer::new(connection, address)))
}

impl NodeShared {
    fn set(&self, state: NodeState) {
        let was_up = matches!(&*self.state.borrow(), NodeState::Up(_));
        if was_up != matches!(state, NodeState::Up(_)) {
            self.since_ms.store(crate::wall_ms(), Ordering::Release);
        }
        if let NodeState::Up(_) = state {
            self.connects.fetch_add(1, Ordering::AcqRel);
            self.idle.lock().clear();
        }
        self.state.send_replace(state);
    }
}

async fn keep(inner: Arc<NodeShared>, mut multiplexer: Option<Arc<Multiplexer>>) {
    let mut delay = FIRST_DELAY;
    loop {
        if let Some(live) = multiplexer.take() {
            let began = Instant::now();
            let why = live_until_lost(&inner, &live).await;
            tracing::warn!(address = %live.address(), why, "the store's connection is lost");
            inner.set(NodeState::Down(ConnectError::Gone(why)));
            if began.elapsed() >= STEADY {
                delay = FIRST_DELAY;
            } else {
                sleep(delay).await;
                delay = (delay * 2).min(LAST_DELAY);
            }
        }
        match connect(&inner.route, &inner.connector).await {
            Ok(live) => {
                tracing::info!(address = %live.address(), "the store is connected");
                inner.set(NodeState::Up(Arc::clone(&live)));
                multiplexer = Some(live);
            }
            Err(trouble) => {
                let wait = if trouble.may_pass() { delay } else { REFUSED_DELAY };
                inner.set(NodeState::Down(trouble));
                sleep(wait).await;
                delay = (delay * 2).min(LAST_DELAY);
            }
        }
    }
}

async fn live_until_lost(inner: &NodeShared, multiplexer: &Multiplexer) -> String {
    let learn = async {
        loop {
            let by = Deadline::after(Duration::from_secs(2));
            if let Some(facts) = probe::ask(multiplexer, inner.connector.user(), by).await {
                *inner.facts.lock() = Some(facts);
            }
            sleep(LEARN).await;
        }
    };
    tokio::select! {
        why = multiplexer.ended() => why,
        () = learn => unreachable!("learning never ends"),
        () = writes::watch(multiplexer) => unreachable!("watching never ends"),
        why = deposed(&inner.route, multiplexer) => {
            multiplexer.close(&why);
            why
        }
    }
}

// Ends when the Sentinels agree on another primary than the one we are connected to.
async fn deposed(route: &Discovery, multiplexer: &Multiplexer) -> String {
    let Discovery::Sentinel(sentinels) = route else { return std::future::pending().await };
    loop {
        sleep(AGREED).await;
        match sentinels.agreed().await {
            Some(other) if other != *multiplexer.address() => {
                return format!("the Sentinels name {other} as the primary");
            }
            _ => {}
        }
    }
}
