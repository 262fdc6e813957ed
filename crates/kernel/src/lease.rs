//! Work that must run once among all servers: `wk:lease:<name>` holds the token of who does it. A holder
//! counts on its lease only until the monotonic instant at which it can be lost, less a margin, and stops
//! acting before that; so at most one acts, even when the store does not answer.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::fault::Fault;
use crate::reply;
use crate::script::Script;
use crate::store::{Deadline, Store};

/// Takes a free lease, or renews one's own.
pub(crate) static TAKE: Script =
    Script::new("lease_take", include_str!("../scripts/lease_take.lua"));
/// Prolongs one's own lease, never takes one.
pub(crate) static RENEW: Script =
    Script::new("lease_renew", include_str!("../scripts/lease_renew.lua"));
/// Gives one's own lease back.
pub(crate) static DROP: Script =
    Script::new("lease_drop", include_str!("../scripts/lease_drop.lua"));

/// One contender for one lease. Each process makes its own, with its own token.
pub struct Lease {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    key: String,
    token: String,
    life: Duration,
}

/// Until when the holder may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// On the monotonic clock.
    pub until: Duration,
}

impl Lease {
    /// For the work called `name`; whoever holds it and dies is succeeded after `life`.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, name: &str, life: Duration) -> Self {
        let key = format!("wk:lease:{name}");
        let token = uuid::Uuid::new_v4().to_string();
        Lease { store, clock, key, token, life: life.max(Duration::from_millis(10)) }
    }

    /// The token of the present holder, if there is one.
    pub async fn holder(&self, by: Deadline) -> Result<Option<String>, Fault> {
        let answer = self.store.call(redis::cmd("GET").arg(&self.key), by).await?;
        Ok(reply::text(&answer).map(str::to_owned))
    }

    /// This contender's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Tries to get it. `None`: somebody else has it.
    pub async fn take(&self, by: Deadline) -> Result<Option<Term>, Fault> {
        self.run(&TAKE, by).await
    }

    /// Prolongs it. `None`: it is lost, stop.
    pub async fn renew(&self, by: Deadline) -> Result<Option<Term>, Fault> {
        self.run(&RENEW, by).await
    }

    /// Gives it back, so that the next one need not wait.
    pub async fn give_back(&self, by: Deadline) -> Result<(), Fault> {
        let args: [&[u8]; 1] = [self.token.as_bytes()];
        self.store.script(&DROP, &[self.key.as_bytes()], &args, by).await?;
        Ok(())
    }

    async fn run(&self, script: &'static Script, by: Deadline) -> Result<Option<Term>, Fault> {
        // Counted from before sending: the store starts its own count later than this.
        let sent = self.clock.monotonic();
        let life = self.life.as_millis().to_string();
        let args: [&[u8]; 2] = [self.token.as_bytes(), life.as_bytes()];
        let answer = self.store.script(script, &[self.key.as_bytes()], &args, by).await?;
        match reply::bytes(&answer) {
            Some(b"held") => {
                Ok(Some(Term { until: sent + self.life.saturating_sub(self.margin()) }))
            }
            Some(b"taken" | b"lost") => Ok(None),
            _ => Err(reply::unexpected(&self.key, "held, taken or lost", &answer)),
        }
    }

    /// Clocks of two machines differ in speed, and stopping takes a moment.
    fn margin(&self) -> Duration {
        self.life / 10
    }

    /// Leads whenever it can, for ever: takes the lease, runs `work`, renews meanwhile. `work` is dropped
    /// the moment the lease can no longer be counted on; when it ends by itself, the lease is given back and
    /// taken anew after a pause. Ends only when `stop` does; the lease is given back then.
    pub async fn lead<W, F>(&self, mut work: W, stop: impl Future<Output = ()>)
    where
        W: FnMut() -> F,
        F: Future<Output = ()>,
    {
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = self.one_term(&mut work) => {}
            }
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = self.clock.sleep(self.life / 3) => {}
            }
        }
        let _ = self.give_back(Deadline::after(Duration::from_millis(500))).await;
    }

    async fn one_term<W, F>(&self, work: &mut W)
    where
        W: FnMut() -> F,
        F: Future<Output = ()>,
    {
        let Ok(Some(term)) = self.take(self.patience()).await else { return };
        tracing::debug!(lease = %self.key, "leading");
        let mut working = std::pin::pin!(work());
        let mut keeping = std::pin::pin!(self.keep(term));
        tokio::select! {
            // The end of the lease comes first: when both are ready, no more work is done.
            biased;
            () = &mut keeping => tracing::warn!(lease = %self.key, "lease lost, work stopped"),
            () = &mut working => {
                let _ = self.give_back(self.patience()).await;
            }
        }
    }

    /// Renews until the lease cannot be counted on any more.
    async fn keep(&self, mut term: Term) {
        loop {
            let left = term.until.saturating_sub(self.clock.monotonic());
            if left.is_zero() {
                return;
            }
            // A third of the life when all is well; quicker the closer the end is.
            let pause = (left / 2).clamp(self.life / 20, self.life / 3);
            let renewing = async {
                self.clock.sleep(pause).await;
                self.renew(self.patience()).await
            };
            tokio::select! {
                biased;
                () = self.clock.sleep(left) => return,
                renewed = renewing => match renewed {
                    Ok(Some(renewed)) => term = renewed,
                    Ok(None) => return,
                    Err(fault) => tracing::debug!(lease = %self.key, %fault, "not renewed yet"),
                }
            }
        }
    }

    fn patience(&self) -> Deadline {
        Deadline::after(self.life / 3)
    }
}
