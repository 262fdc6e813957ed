//! The engine: takes the lock, reads the world, ticks it at its rate, writes each tick in one
//! batch.
//!
//! Always true: at most one engine writes. Orders take effect between ticks, in the order they
//! came. A sender whose order is a write of its own hears of it when that write is in the store. A
//! batch that fails is tried again with the newest state and the writes of its orders; at most one
//! batch may happen at a time. After five seconds of failing the engine pauses the world in memory
//! until the store is back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use kernel::{Clock, Cmd, Fault, Session, Store};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::error::OrderError;
use crate::keys::Keys;
use crate::physics::solar::{SOL, System};
use crate::snapshot::Snapshots;
use crate::store::batch::{Batch, Born};
use crate::store::load::Epoch;
use crate::store::write;
use crate::world::orders::{Command, Effect};
use crate::world::{Placement, World};
use pace::Beat;

mod alone;
mod commands;
mod engine_state;
mod examine;
mod find;
mod flight;
mod foreign;
mod give;
mod keep;
mod lock;
mod mend;
mod obey;
pub mod pace;
mod reply_to;
mod send;
mod show;
mod world_view;

pub use commands::{Answer, OrderRefusal, send, send_asking};
pub use engine_state::EngineState;
pub use give::Orders;
pub(crate) use world_view::Numbers;
pub use world_view::{ShipView, StationView, WorldView};

use flight::Flight;
use foreign::{Topic, Unstored};
use keep::Keeper;
use lock::Lock;
use mend::Mender;
use reply_to::{OrderOutcome, ReplyTo};

const PATIENCE: Duration = Duration::from_secs(5);
/// How long an engine without lock or world waits before it looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The longest pause between two looks at a store without a world: it doubles up to here.
const LOOK_AT_MOST: Duration = Duration::from_secs(5);
/// How long somebody waits for the outcome of an order: older ones are dropped.
const ORDER_WAIT: Duration = Duration::from_secs(10);

/// The options of an engine, given once.
#[derive(Debug, Clone)]
pub struct Options {
    /// Makes a world where there is none; otherwise the engine waits for one.
    pub create: Option<Epoch>,
    /// Ticks per second of a world it makes.
    pub rate: f64,
    /// The system it ticks.
    pub system: &'static System,
    /// Names this engine in the lock.
    pub id: String,
    /// The snapshots, if they are kept.
    pub snapshots: Option<Arc<Snapshots>>,
    /// The place where ships appear that name no station.
    pub spawn_place: Placement,
    /// The store that the database belongs to; no other is ticked.
    pub identity: Option<String>,
    /// Whether a store that lost its world gets the newest snapshot without being asked.
    pub restore: bool,
}

impl Options {
    /// Waits for a world, ticks Sol.
    pub fn new(id: impl Into<String>) -> Self {
        Options {
            create: None,
            rate: 1.0,
            system: &SOL,
            id: id.into(),
            snapshots: None,
            spawn_place: Placement::default(),
            identity: None,
            restore: true,
        }
    }
}

/// An order with somebody who waits for what becomes of it.
pub(crate) struct Ask {
    /// The order.
    pub command: Command,
    /// Told once the order is stored, or why it was refused.
    pub answer: oneshot::Sender<Result<Effect, OrderError>>,
}

/// How others reach an engine in their own process.
#[derive(Clone)]
pub struct Handle {
    asks: mpsc::Sender<Ask>,
    seen: watch::Receiver<Arc<WorldView>>,
    look: Arc<Notify>,
}

impl Handle {
    /// Gives an order and waits until it is stored; `None`, and nothing was done, when this engine does not lead.
    pub async fn ask(&self, command: Command) -> Option<Result<Effect, OrderError>> {
        if !self.seen.borrow().leads {
            return None;
        }
        let (answer, outcome) = oneshot::channel();
        let sent = tokio::time::timeout(ORDER_WAIT, self.asks.send(Ask { command, answer })).await;
        if !matches!(sent, Ok(Ok(()))) {
            return None;
        }
        match tokio::time::timeout(ORDER_WAIT, outcome).await {
            Ok(Ok(Err(OrderError::Away))) => None,
            Ok(Ok(outcome)) => Some(outcome),
            // The engine ended its turn, or is still at it.
            Ok(Err(_)) | Err(_) => Some(Err(OrderError::Unconfirmed)),
        }
    }

    /// Makes an engine without a world look for one now instead of at its next turn.
    pub fn look_again(&self) {
        self.look.notify_one();
    }

    /// The world after each tick.
    pub fn seen(&self) -> watch::Receiver<Arc<WorldView>> {
        self.seen.clone()
    }
}

/// One engine; runs until it is told to stop.
pub struct Engine {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    options: Options,
    asks: mpsc::Receiver<Ask>,
    seen: watch::Sender<Arc<WorldView>>,
    look: Arc<Notify>,
}

/// Why a turn of leading ended.
enum Ended {
    Stopped,
    /// The lock is somebody else's, or nobody's any more.
    Lost,
    /// There is nothing to tick, and this is how the engine stands to it.
    Without(EngineState),
}

/// The state of a leader while it leads.
struct Turn {
    world: World,
    lock: Lock,
    session: Option<Box<dyn Session>>,
    beat: Beat,
    /// Writes of orders, until a batch with them was taken.
    extra: Vec<Cmd>,
    /// Keys that come into being by those writes.
    born: Born,
    /// Callers that wait for orders which the next batch stores.
    askers: reply_to::Replies,
    /// Whether those writes count spawns.
    recount: bool,
    /// Whether a batch found that something is gone from the store which the world has.
    gone: bool,
    /// The write that is under way.
    flight: Option<Flight>,
    /// The memory of the one before it, for the next.
    room: Batch,
    /// The memory of what nobody looks at any more.
    unseen: Option<Box<WorldView>>,
    /// When none was, last.
    rested: Duration,
    /// Orders of other servers that were read while the store had time.
    heard: Vec<commands::Sent>,
    /// The things of which a write is under way, so that no older value of the store is taken over.
    unstored: Unstored,
    /// Whether something that others wrote was taken over and nobody was shown it.
    unshown: bool,
    /// The last ship whose name and rules were looked at.
    looked_at: Uuid,
    /// The entry after which reading `galaxy:commands` goes on; set when the turn begins.
    after: String,
    failing_since: Option<Duration>,
    paused_at: Option<Duration>,
    numbers: Numbers,
    recent: VecDeque<Duration>,
    energy: f64,
    /// The two bodies in one place that were told of.
    coinciding: Option<(usize, usize)>,
    keeper: Keeper,
    mender: Mender,
}

impl Engine {
    /// An engine and how to reach it.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        keys: Keys,
        options: Options,
    ) -> (Engine, Handle) {
        let (ask, asks) = mpsc::channel(1_024);
        let (seen, watched) = watch::channel(Arc::new(WorldView::default()));
        let look = Arc::new(Notify::new());
        let handle = Handle { asks: ask, seen: watched, look: Arc::clone(&look) };
        (Engine { store, clock, keys, options, asks, seen, look }, handle)
    }

    /// The same, with snapshots: for whoever opens the database later than the engine.
    #[must_use]
    pub fn keeping(mut self, snapshots: Arc<Snapshots>) -> Engine {
        self.options.snapshots = Some(snapshots);
        self
    }

    /// The same for the store of this name alone.
    #[must_use]
    pub fn belonging(mut self, identity: &str) -> Engine {
        self.options.identity = Some(identity.to_owned());
        self
    }

    /// Lets everybody see that it is about to run: who gives an order waits until it knows how it stands.
    pub fn starts(&self) {
        self.stand(EngineState::Looks, None);
    }

    /// Ticks whenever it holds the lock, until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let key = self.keys.engine_lock();
        self.starts();
        let mut pause = LOOK_AGAIN;
        while !stop.is_cancelled() {
            if self.still_without_world().await {
                pause = (pause * 2).min(LOOK_AT_MOST);
                self.rest(pause, &stop).await;
                continue;
            }
            pause = LOOK_AGAIN;
            let lock = Lock::take(&self.store, &self.clock, key.as_str(), &self.options.id).await;
            match lock {
                Ok(Some(lock)) => match self.lead(lock, &stop).await {
                    Ok(Ended::Stopped) => break,
                    Ok(Ended::Lost) => self.stand(EngineState::Looks, None),
                    Ok(Ended::Without(standing)) => self.stand(standing, None),
                    Err(fault) => self.stand(EngineState::Fails, Some(&fault)),
                },
                // An alarm stays until there is a world.
                Ok(None) if self.seen.borrow().standing.alarm().is_some() => {}
                Ok(None) => self.stand(EngineState::Follows, None),
                Err(fault) => self.stand(EngineState::Fails, Some(&fault)),
            }
            self.rest(pause, &stop).await;
        }
    }

    /// Whether a store that had no world at the last look still has none: two keys tell, without the lock.
    async fn still_without_world(&self) -> bool {
        self.seen.borrow().standing == EngineState::NoWorld
            && keep::has_no_world(&*self.store, self.keys).await.unwrap_or(false)
    }

    /// Refuses what is asked of an engine that does not lead, for a while or until somebody
    /// makes it look again.
    async fn rest(&mut self, pause: Duration, stop: &CancellationToken) {
        tokio::select! {
            () = self.clock.sleep(pause) => {}
            () = stop.cancelled() => {}
            () = self.look.notified() => {}
        }
        while let Ok(ask) = self.asks.try_recv() {
            let _ = ask.answer.send(Err(OrderError::Away));
        }
    }

    async fn lead(&mut self, mut lock: Lock, stop: &CancellationToken) -> Result<Ended, Fault> {
        let world = match self.find_world(&mut lock).await? {
            Ok(world) => world,
            Err(standing) => {
                lock.give_back().await;
                return Ok(Ended::Without(standing));
            }
        };
        let mut turn = self.turn(world, lock);
        turn.after = self.begin_to_hear().await?;
        self.stand(EngineState::Leads, None);
        self.show(&mut turn, false).await;
        loop {
            self.wait(&mut turn, stop).await;
            if !turn.lock.renew().await || !turn.lock.holds() {
                self.land(&mut turn).await;
                return Ok(Ended::Lost);
            }
            self.take_orders(&mut turn).await;
            if stop.is_cancelled() {
                self.finish(turn).await;
                return Ok(Ended::Stopped);
            }
            if turn.gone
                && let Some(standing) = self.examine(&mut turn).await?
            {
                turn.lock.give_back().await;
                return Ok(Ended::Without(standing));
            }
            if let Some((id, reply_to)) = turn.keeper.restore.take() {
                self.land(&mut turn).await;
                turn = self.restore(turn, id, reply_to).await?;
            }
            if !turn.world.pace.paused && !turn.gone {
                self.tick_all_due(&mut turn).await;
            }
            let now = self.clock.monotonic();
            // Snapshots and the mending of indexes need the store as the world is: once a second at the least.
            let long = now.saturating_sub(turn.rested) > LOOK_AGAIN || turn.keeper.waits(now);
            if turn.world.pace.paused || turn.beat.behind(now) == 0 || long {
                self.land(&mut turn).await;
                turn.rested = now;
            }
            // Nothing was due, and whoever gave an order need not wait until something is.
            if turn.world.pace.paused || (turn.failing_since.is_none() && turn.flight.is_none()) {
                self.stand_still(&mut turn).await;
            }
            if turn.rests() {
                self.tend(&mut turn).await;
            }
        }
    }

    /// Snapshots and the mending of indexes, while the store holds exactly this world.
    async fn tend(&self, turn: &mut Turn) {
        turn.keeper.tend(&turn.world, self.clock.monotonic()).await;
        self.tell(std::mem::take(&mut turn.keeper.told)).await;
        if turn.keeper.failed() != turn.numbers.snapshots_failed {
            // A paused world shows nothing else, and an alarm must be seen.
            self.show(turn, false).await;
        }
        let now = self.clock.monotonic();
        turn.numbers.mended += turn.mender.tend(&self.store, now).await;
    }

    /// The last write, the last snapshot, and the lock for whoever comes next.
    async fn finish(&mut self, mut turn: Turn) {
        let stored = self.flush_whole(&mut turn).await.unwrap_or(false);
        self.show(&mut turn, stored).await;
        let told = if stored {
            turn.keeper.finish(&turn.world, self.clock.monotonic()).await
        } else {
            tracing::error!("the last tick could not be written; no snapshot is taken of it");
            Vec::new()
        };
        self.tell(told).await;
        turn.lock.give_back().await;
        self.stand(EngineState::Off, None);
    }

    fn turn(&self, mut world: World, lock: Lock) -> Turn {
        let now = self.clock.monotonic();
        world.spawn_place.clone_from(&self.options.spawn_place);
        Turn {
            beat: Beat::new(now, world.pace.rate),
            energy: world.bodies.energy(),
            paused_at: world.pace.paused.then_some(now),
            world,
            lock,
            session: None,
            extra: Vec::new(),
            born: Born::new(),
            askers: Vec::new(),
            recount: false,
            gone: false,
            flight: None,
            room: Batch::default(),
            unseen: None,
            rested: now,
            heard: Vec::new(),
            unstored: Unstored::default(),
            unshown: false,
            looked_at: Uuid::nil(),
            after: String::new(),
            failing_since: None,
            numbers: Numbers::default(),
            recent: VecDeque::new(),
            coinciding: None,
            keeper: Keeper::new(self.options.snapshots.clone(), now),
            mender: Mender::new(now),
        }
    }

    /// Until the next tick is due, or an order comes while nothing is.
    async fn wait(&mut self, turn: &mut Turn, stop: &CancellationToken) {
        let now = self.clock.monotonic();
        let wait = if turn.world.pace.paused || turn.failing_since.is_some() {
            Duration::from_millis(250)
        } else if turn.beat.behind(now) > 0 {
            tokio::task::yield_now().await;
            return;
        } else {
            turn.beat.wait(now)
        };
        tokio::select! {
            () = self.clock.sleep(wait.min(Duration::from_secs(1))) => {}
            () = stop.cancelled() => {}
            ask = self.asks.recv(), if turn.world.pace.paused => {
                if let Some(ask) = ask {
                    self.obey(turn, &ask.command, Some(ReplyTo::Here(ask.answer)));
                }
            }
        }
    }

    /// Ticks until nothing is due or others deserve a turn.
    async fn tick_all_due(&mut self, turn: &mut Turn) {
        let began = self.clock.monotonic();
        turn.numbers.backlog_dropped += turn.beat.shed(began);
        for _ in 0..pace::BURST_TICKS {
            let now = self.clock.monotonic();
            if turn.beat.behind(now) == 0 || now.saturating_sub(began) > pace::BURST {
                return;
            }
            self.tick(turn, now).await;
            if turn.failing_since.is_some() || turn.gone {
                return;
            }
        }
    }

    async fn tick(&mut self, turn: &mut Turn, now: Duration) {
        let utc_ns = i128::from(self.clock.now_ms()) * 1_000_000;
        let shared = turn.may_share();
        let world = &mut turn.world;
        #[expect(clippy::cast_precision_loss, reason = "seconds of drift")]
        let drift = (utc_ns - world.time_ns) as f64 / 1e9;
        world.drift_s = drift;
        let stepped = world.step_on(pace::tick_ns(&world.pace, drift), shared);
        turn.beat.tick();
        turn.tell_of_coinciding();
        for id in &stepped.not_finite {
            turn.numbers.not_finite += 1;
            tracing::error!(ship = %id, "its state left the numbers; it stays where it was");
        }
        let now_ms = self.clock.now_ms();
        turn.extra.extend(write::automated(&turn.world, self.keys, &stepped, now_ms));
        for (ship, _) in &stepped.disabled {
            turn.unstored.note(Topic::Ship(*ship));
        }
        turn.recent.push_back(now);
        while turn.recent.len() > 50 {
            turn.recent.pop_front();
        }
        // When more is due and nobody waits for a write of its own, it is computed while the store takes this.
        let late = turn.beat.behind(self.clock.monotonic()) > 0;
        let steers = |(_, outcome): &(ReplyTo, OrderOutcome)| *outcome == Ok(Effect::None);
        if late && turn.failing_since.is_none() && turn.askers.iter().all(steers) {
            self.launch(turn, now).await;
        } else {
            let stored = self.flush(turn).await;
            turn.numbers.behind = turn.beat.behind(self.clock.monotonic());
            turn.numbers.took = self.clock.monotonic().saturating_sub(now);
            self.show(turn, stored).await;
        }
    }

    /// Without a tick, what orders changed is written as it comes, and what others wrote is told to everybody.
    async fn stand_still(&mut self, turn: &mut Turn) {
        let changed = std::mem::take(&mut turn.unshown);
        if !turn.gone && (changed || !turn.extra.is_empty() || !turn.askers.is_empty()) {
            let stored = self.flush(turn).await;
            self.show(turn, stored).await;
        }
    }
}

impl Turn {
    /// Two bodies in one place do not pull each other, which is told once.
    fn tell_of_coinciding(&mut self) {
        let coinciding = self.world.bodies.coinciding();
        if self.coinciding.is_some() || coinciding.is_none() {
            return;
        }
        self.coinciding = coinciding;
        if let Some((one, other)) = coinciding {
            let name = |body| self.world.system.body(body).name;
            tracing::error!(
                "{} and {} lie in one place; their pull upon each other is left out",
                name(one),
                name(other)
            );
        }
    }
}
