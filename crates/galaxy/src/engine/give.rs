//! Giving orders from anywhere: straight to the engine of this process while it leads, else through
//! `galaxy:commands` to the one that does, whose answer comes back on `galaxy:bus`. When nobody
//! ticks, the order is carried out here.
//!
//! Always true: `Ok` means that what the order did is in the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::StreamExt as _;
use kernel::{Clock, Deadline, Fault, Message, Store, Topic, reply};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::commands::{self, Answer, OrderRefusal};
use super::{Engine, EngineState, Handle, ORDER_WAIT, Options, PATIENCE};
use crate::error::{GiveError, OrderError};
use crate::keys::Keys;
use crate::snapshot::Snapshots;
use crate::store::cmd;
use crate::world::orders::{Command, Effect, Order};

/// The way to whichever engine leads.
pub struct Orders {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    engine: Handle,
    /// For an engine that carries out one order.
    options: Options,
    snapshots: OnceLock<Arc<Snapshots>>,
    waiting: Mutex<HashMap<String, oneshot::Sender<Option<OrderRefusal>>>>,
    next: AtomicU64,
    /// Whether a loop hears the bus; if not, whoever asks listens for himself.
    heard: AtomicBool,
}

impl Orders {
    /// `engine` is the one of this process, which may or may not run; `options` are for one that is made for one order.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        keys: Keys,
        engine: Handle,
        options: Options,
    ) -> Self {
        Orders {
            store,
            clock,
            keys,
            engine,
            options,
            snapshots: OnceLock::new(),
            waiting: Mutex::default(),
            next: AtomicU64::new(0),
            heard: AtomicBool::new(false),
        }
    }

    /// Sets the snapshots, for an order about them to a world that nobody ticks.
    pub fn keep_in(&self, snapshots: &Arc<Snapshots>) {
        let _ = self.snapshots.set(Arc::clone(snapshots));
    }

    /// Whether a loop hears the bus and hands its messages over.
    pub fn hears(&self, heard: bool) {
        self.heard.store(heard, Ordering::Relaxed);
    }

    /// A message of the bus.
    pub fn deliver(&self, payload: &[u8]) {
        let Ok(Answer { answer, refused }) = serde_json::from_slice(payload) else { return };
        if let Some(waiting) = self.waiting.lock().remove(&answer) {
            let _ = waiting.send(refused);
        }
    }

    /// Refuses while the world cannot be reached for a reason that does not pass.
    pub fn check(&self) -> Result<(), Fault> {
        match self.engine.seen().borrow().standing.alarm() {
            Some(alarm) => Err(Fault::Unavailable(alarm.sentence())),
            None => Ok(()),
        }
    }

    /// Gives an order and waits until what it did is stored, or why it was refused.
    pub async fn give(&self, command: Command) -> Result<(), GiveError> {
        self.wait_for_the_first_look().await;
        // A restore is what ends the alarm.
        if !matches!(command.order, Order::Restore { .. }) {
            self.check()?;
        }
        if let Some(outcome) = self.engine.ask(command.clone()).await {
            return settled(outcome);
        }
        if self.is_ticked().await? {
            return self.ask_there(&command).await;
        }
        let options = self.options.clone();
        let (engine, _) =
            Engine::new(Arc::clone(&self.store), Arc::clone(&self.clock), self.keys, options);
        let engine = match self.snapshots.get() {
            Some(snapshots) => engine.keeping(Arc::clone(snapshots)),
            None => engine,
        };
        match engine.alone(&command).await? {
            Some(outcome) => settled(outcome),
            // Somebody was quicker.
            None => self.ask_there(&command).await,
        }
    }

    /// Gives an order that nobody waits for, such as a pilot's hand on the stick.
    pub async fn tell(&self, command: Command) -> Result<(), GiveError> {
        if self.engine.seen().borrow().leads {
            return self.give(command).await;
        }
        self.check()?;
        Ok(commands::send(&*self.store, self.keys, &command).await?)
    }

    /// An engine that just started leads in a moment, or knows why not.
    async fn wait_for_the_first_look(&self) {
        let mut seen = self.engine.seen();
        let looked = seen.wait_for(|seen| seen.standing != EngineState::Looks);
        let _ = tokio::time::timeout(PATIENCE, looked).await;
    }

    async fn is_ticked(&self) -> Result<bool, Fault> {
        let ask = cmd(&["EXISTS", self.keys.engine_lock().as_str()]);
        let answer = self.store.call(&ask, Deadline::after(PATIENCE)).await?;
        Ok(reply::int(&answer) == Some(1))
    }

    async fn ask_there(&self, command: &Command) -> Result<(), GiveError> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}:{next}", self.options.id);
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().insert(name.clone(), sender);
        let told = tokio::time::timeout(ORDER_WAIT, self.answered(command, &name, answer)).await;
        self.waiting.lock().remove(&name);
        match told.unwrap_or(Ok(None))? {
            Some(None) => Ok(()),
            Some(Some(told)) if told.code != commands::UNCONFIRMED => Err(GiveError::Refused(told)),
            _ => Err(OrderError::Unconfirmed.into()),
        }
    }

    /// `None` when the answer got lost.
    async fn answered(
        &self,
        command: &Command,
        name: &str,
        mut answer: oneshot::Receiver<Option<OrderRefusal>>,
    ) -> Result<Option<Option<OrderRefusal>>, Fault> {
        if self.heard.load(Ordering::Relaxed) {
            commands::send_asking(&*self.store, self.keys, command, name).await?;
            return Ok(answer.await.ok());
        }
        // On the command line no loop listens: this order does.
        let topics = [Topic::Channel(self.keys.bus().as_str().to_owned())];
        let mut bus = self.store.subscribe(&topics, Deadline::after(PATIENCE)).await?;
        commands::send_asking(&*self.store, self.keys, command, name).await?;
        loop {
            let Some(message) = bus.next().await else { return Ok(None) };
            if let Message::Payload { payload, .. } = message {
                self.deliver(&payload);
            }
            if let Ok(told) = answer.try_recv() {
                return Ok(Some(told));
            }
        }
    }
}

fn settled(outcome: Result<Effect, OrderError>) -> Result<(), GiveError> {
    outcome.map(drop).map_err(GiveError::from)
}
