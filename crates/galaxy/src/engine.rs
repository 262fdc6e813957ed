//! The engine: takes the lock, reads the world, ticks it at its rate, writes each tick in one batch.
//!
//! Always true: at most one engine writes; orders take effect between ticks, in the order they came; whoever gave an
//! order that is a write of its own hears of it when that is in the store; a batch that fails is tried again with the
//! newest state and the writes of its orders; at most one batch may happen at a time; after five seconds of failing the
//! engine pauses the world in memory until the store is back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use kernel::{Clock, Cmd, Fault, Session, Store};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::batch::Batch;
use crate::keys::Keys;
use crate::load::Epoch;
use crate::orders::{Command, Effect, OrderError};
use crate::pace::{self, Beat};
use crate::physics::solar::{SOL, System};
use crate::snapshot::Snapshots;
use crate::world::{Placement, World};

mod alone;
mod commands;
mod find;
mod flight;
mod keep;
mod lock;
mod mend;
mod obey;
mod seen;
mod show;
mod write;

pub use commands::{Answer, Told, read_entry, send, send_asking};
pub use seen::{Numbers, Seen, ShipSeen, StationSeen};

use flight::Flight;
use keep::Keeper;
use lock::Lock;
use mend::Mender;

const PATIENCE: Duration = Duration::from_secs(5);
/// How long an engine without lock or world waits before it looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What the engine is told once.
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
    /// Where snapshots are kept, if they are.
    pub snapshots: Option<Arc<Snapshots>>,
    /// Where ships appear that name no station.
    pub spawn_place: Placement,
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
        }
    }
}

/// Where the outcome of an order goes.
type Asker = oneshot::Sender<Result<Effect, OrderError>>;

/// An order with somebody who waits for what becomes of it.
pub struct Ask {
    /// What is asked.
    pub command: Command,
    /// Told once the order took effect, or why it did not.
    pub answer: Asker,
}

/// How others reach an engine in their own process.
#[derive(Clone)]
pub struct Handle {
    asks: mpsc::Sender<Ask>,
    seen: watch::Receiver<Arc<Seen>>,
}

impl Handle {
    /// Gives an order and waits until it took effect; `None` when this engine does not lead.
    pub async fn ask(&self, command: Command) -> Option<Result<Effect, OrderError>> {
        if !self.seen.borrow().leads {
            return None;
        }
        let (answer, outcome) = oneshot::channel();
        self.asks.send(Ask { command, answer }).await.ok()?;
        outcome.await.ok()
    }

    /// The world after each tick.
    pub fn seen(&self) -> watch::Receiver<Arc<Seen>> {
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
    seen: watch::Sender<Arc<Seen>>,
}

/// Why a turn of leading ended.
enum Ended {
    Stopped,
    Lost,
}

/// What a leader holds while it leads.
struct Turn {
    world: World,
    lock: Lock,
    session: Option<Box<dyn Session>>,
    beat: Beat,
    /// Writes of orders, until a batch with them was taken.
    extra: Vec<Cmd>,
    /// Who waits for those writes.
    askers: Vec<(Asker, Effect)>,
    /// Answers to orders of other servers: told when those writes are in the store and can be seen here.
    answers: Vec<Cmd>,
    /// The write that is under way.
    flight: Option<Flight>,
    /// The memory of the one before it, for the next.
    room: Batch,
    /// The memory of what nobody looks at any more.
    unseen: Option<Box<Seen>>,
    /// When none was, last.
    rested: Duration,
    /// Orders of other servers that were read while the store had time.
    heard: Vec<commands::Sent>,
    /// Where reading `galaxy:commands` goes on.
    after: String,
    failing_since: Option<Duration>,
    paused_at: Option<Duration>,
    numbers: Numbers,
    recent: VecDeque<Duration>,
    energy: f64,
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
        let (seen, watched) = watch::channel(Arc::new(Seen::default()));
        let engine = Engine { store, clock, keys, options, asks, seen };
        (engine, Handle { asks: ask, seen: watched })
    }

    /// The same, with snapshots: for whoever opens the database later than the engine.
    #[must_use]
    pub fn keeping(mut self, snapshots: Arc<Snapshots>) -> Engine {
        self.options.snapshots = Some(snapshots);
        self
    }

    /// Ticks whenever it holds the lock, until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let key = self.keys.engine_lock();
        while !stop.is_cancelled() {
            let lock = Lock::take(&self.store, &self.clock, key.as_str(), &self.options.id).await;
            if let Ok(Some(lock)) = lock {
                match self.lead(lock, &stop).await {
                    Ok(Ended::Stopped) => return,
                    Ok(Ended::Lost) => tracing::warn!("another engine ticks this world now"),
                    Err(fault) => tracing::warn!(%fault, "the engine starts over"),
                }
                self.seen.send_modify(|seen| Arc::make_mut(seen).leads = false);
            }
            self.rest(&stop).await;
        }
    }

    /// Refuses what is asked of an engine that does not lead, for a while.
    async fn rest(&mut self, stop: &CancellationToken) {
        tokio::select! {
            () = self.clock.sleep(LOOK_AGAIN) => {}
            () = stop.cancelled() => {}
        }
        while let Ok(ask) = self.asks.try_recv() {
            let _ =
                ask.answer.send(Err(OrderError::Conflict("no engine ticks here now; try again")));
        }
    }

    async fn lead(&mut self, mut lock: Lock, stop: &CancellationToken) -> Result<Ended, Fault> {
        let Some(world) = self.find_world(&mut lock).await? else {
            lock.give_back().await;
            return Ok(Ended::Lost);
        };
        let mut turn = self.turn(world, lock);
        self.show(&mut turn, false).await;
        loop {
            self.wait(&mut turn, stop).await;
            if !turn.lock.renew().await || !turn.lock.holds() {
                self.land(&mut turn).await;
                return Ok(Ended::Lost);
            }
            self.take_orders(&mut turn).await;
            if stop.is_cancelled() {
                let stored = self.flush(&mut turn).await;
                self.show(&mut turn, stored).await;
                turn.keeper.finish(&turn.world, self.clock.monotonic()).await;
                turn.lock.give_back().await;
                return Ok(Ended::Stopped);
            }
            if let Some((id, asker)) = turn.keeper.restore.take() {
                self.land(&mut turn).await;
                turn = self.restore(turn, id, asker).await?;
            }
            if !turn.world.pace.paused {
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
            if turn.failing_since.is_none() && turn.extra.is_empty() && turn.flight.is_none() {
                turn.keeper.tend(&turn.world, self.clock.monotonic()).await;
                if turn.keeper.failed() != turn.numbers.snapshots_failed {
                    // A paused world shows nothing else, and an alarm must be seen.
                    self.show(&mut turn, false).await;
                }
                let now = self.clock.monotonic();
                turn.numbers.mended += turn.mender.tend(&self.store, now).await;
            }
        }
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
            askers: Vec::new(),
            answers: Vec::new(),
            flight: None,
            room: Batch::default(),
            unseen: None,
            rested: now,
            heard: Vec::new(),
            after: commands::recent(self.clock.now_ms()),
            failing_since: None,
            numbers: Numbers::default(),
            recent: VecDeque::new(),
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
                    self.obey(turn, &ask.command, Some(ask.answer));
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
            if turn.failing_since.is_some() {
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
        for id in &stepped.not_finite {
            turn.numbers.not_finite += 1;
            tracing::error!(ship = %id, "its state left the numbers; it stays where it was");
        }
        let now_ms = self.clock.now_ms();
        turn.extra.extend(write::automated(&turn.world, self.keys, &stepped, now_ms));
        turn.recent.push_back(now);
        while turn.recent.len() > 50 {
            turn.recent.pop_front();
        }
        // When more is due and nobody waits for an answer, it is computed while the store takes this.
        let late = turn.beat.behind(self.clock.monotonic()) > 0;
        if late && turn.failing_since.is_none() && turn.askers.is_empty() {
            self.launch(turn, now).await;
        } else {
            let stored = self.flush(turn).await;
            turn.numbers.behind = turn.beat.behind(self.clock.monotonic());
            turn.numbers.took = self.clock.monotonic().saturating_sub(now);
            self.show(turn, stored).await;
        }
    }

    /// Without a tick, what orders changed is written as it comes.
    async fn stand_still(&mut self, turn: &mut Turn) {
        if !turn.extra.is_empty() || !turn.answers.is_empty() {
            let stored = self.flush(turn).await;
            self.show(turn, stored).await;
        }
    }
}
