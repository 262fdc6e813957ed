//! Giving orders: straight to the engine of this process while it leads, else through `galaxy:commands` to the one
//! that does, whose answer comes back on `galaxy:bus`. Where nobody ticks, the order is carried out here, once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use galaxy::engine::{Answer, Engine, Told, send, send_asking};
use galaxy::orders::{Command, Order};
use kernel::{Deadline, Message, Topic};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::errors::{refusal, refused};
use super::{Gateway, options};
use crate::app::App;
use crate::reply::{self, Refusal};
use crate::wire;

/// How long an answer of another server's engine is waited for: orders older than ten seconds are dropped there.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// Who waits for an answer of another server.
#[derive(Default)]
pub(crate) struct Answers {
    waiting: Mutex<HashMap<String, oneshot::Sender<Option<Told>>>>,
    next: AtomicU64,
    /// Whether the loop hears the bus; if not, whoever asks listens for himself.
    heard: AtomicBool,
}

impl Answers {
    pub(super) fn hears(&self, heard: bool) {
        self.heard.store(heard, Ordering::Relaxed);
    }

    /// A text of the bus.
    pub(super) fn deliver(&self, payload: &[u8]) {
        let Ok(Answer { answer, refused }) = serde_json::from_slice(payload) else { return };
        if let Some(waiting) = self.waiting.lock().remove(&answer) {
            let _ = waiting.send(refused);
        }
    }
}

/// Who asks, for which ship.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asker {
    /// `None` for an operator.
    pub(crate) player: Option<Uuid>,
    pub(crate) ship: Option<Uuid>,
}

impl Asker {
    /// An operator, about no ship.
    pub(crate) fn operator() -> Self {
        Asker::default()
    }
}

impl Gateway {
    fn command(app: &App, asker: &Asker, order: Order) -> Command {
        Command {
            at_ms: app.now_ms(),
            player_id: asker.player.map(|id| id.to_string()),
            ship_id: asker.ship,
            order,
        }
    }

    /// Gives an order and waits until what it did is stored, or why it was refused.
    pub(crate) async fn order(
        &self,
        app: &App,
        asker: &Asker,
        order: Order,
    ) -> Result<(), Refusal> {
        let command = Gateway::command(app, asker, order);
        if let Some(outcome) = self.engine.ask(command.clone()).await {
            return outcome.map(drop).map_err(refused);
        }
        if self.is_ticked(app).await? {
            return self.ask_there(app, &command).await;
        }
        let (engine, _) =
            Engine::new(app.shared_store(), Arc::clone(&app.clock), self.keys, options(app, false));
        let engine = match command.order {
            Order::Snapshot | Order::Restore { .. } => {
                engine.keeping(Arc::clone(self.snapshots(app).await?))
            }
            _ => engine,
        };
        match engine.alone(&command).await? {
            Some(outcome) => outcome.map(drop).map_err(refused),
            // Somebody was quicker.
            None => self.ask_there(app, &command).await,
        }
    }

    /// Gives an order that nobody waits for, such as a pilot's hand on the stick.
    pub(crate) async fn tell(&self, app: &App, asker: &Asker, order: Order) -> Result<(), Refusal> {
        if self.leads() {
            return self.order(app, asker, order).await;
        }
        let command = Gateway::command(app, asker, order);
        Ok(send(app.store(), self.keys, &command).await?)
    }

    async fn is_ticked(&self, app: &App) -> Result<bool, Refusal> {
        let lock = self.keys.engine_lock();
        let reply = wire::call(app.store(), &["EXISTS", lock.as_str()]).await?;
        Ok(wire::int(&reply) == Some(1))
    }

    async fn ask_there(&self, app: &App, command: &Command) -> Result<(), Refusal> {
        let name =
            format!("{}:{}", app.server_id, self.answers.next.fetch_add(1, Ordering::Relaxed));
        let (sender, mut answer) = oneshot::channel();
        self.answers.waiting.lock().insert(name.clone(), sender);
        let told = async {
            if self.answers.heard.load(Ordering::Relaxed) {
                send_asking(app.store(), self.keys, command, &name).await?;
                return Ok(answer.await.ok());
            }
            // On the command line no loop listens: this order does.
            let topics = [Topic::Channel(self.keys.bus().as_str().to_owned())];
            let by = Deadline::after(wire::CALL);
            let mut bus = app.store().subscribe(&topics, by).await?;
            send_asking(app.store(), self.keys, command, &name).await?;
            loop {
                if let Some(Message::Payload { payload, .. }) = bus.next().await {
                    self.answers.deliver(&payload);
                } else {
                    return Ok(None);
                }
                if let Ok(told) = answer.try_recv() {
                    return Ok(Some(told));
                }
            }
        };
        let told: Result<_, kernel::Fault> =
            tokio::time::timeout(ANSWER_WAIT, told).await.unwrap_or(Ok(None));
        self.answers.waiting.lock().remove(&name);
        match told? {
            Some(None) => Ok(()),
            Some(Some(told)) => Err(refusal(told)),
            None => Err(Refusal::from(reply::OUTCOME_UNKNOWN)
                .details(serde_json::json!({ "outcome": "unknown" }))
                .retry_after(1)),
        }
    }
}
