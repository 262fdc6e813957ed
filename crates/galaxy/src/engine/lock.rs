//! The lock of the engine that ticks: `game:engine_lock`, five seconds, renewed every one and a
//! half.
//!
//! No script: the role of the tick engine has none. A holder counts on the lock only until four
//! seconds after it last asked for a renewal that was granted, by its own monotonic clock; then it
//! stops writing and reads the world again.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Clock, Deadline, Fault, Store, reply};

use crate::store::cmd;

const LIFE_MS: &str = "5000";
const RENEW_EVERY: Duration = Duration::from_millis(1_500);
const TRUST: Duration = Duration::from_secs(4);
/// How often long work looks after the lock.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(2);

/// One engine's claim to tick.
pub(super) struct Lock {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    key: String,
    id: String,
    renewed: Duration,
}

impl Lock {
    /// Takes the lock when nobody has it.
    pub(super) async fn take(
        store: &Arc<dyn Store>,
        clock: &Arc<dyn Clock>,
        key: &str,
        id: &str,
    ) -> Result<Option<Lock>, Fault> {
        let asked = clock.monotonic();
        let set = cmd(&["SET", key, id, "NX", "PX", LIFE_MS]);
        let answer = store.call(&set, Deadline::after(PATIENCE)).await?;
        Ok(reply::text(&answer).map(|_| Lock {
            store: Arc::clone(store),
            clock: Arc::clone(clock),
            key: key.to_owned(),
            id: id.to_owned(),
            renewed: asked,
        }))
    }

    /// Whether it may still be counted on.
    pub(super) fn holds(&self) -> bool {
        self.clock.monotonic().saturating_sub(self.renewed) < TRUST
    }

    /// Renews it when it is time; `false` when it is somebody else's now.
    pub(super) async fn renew(&mut self) -> bool {
        let asked = self.clock.monotonic();
        if asked.saturating_sub(self.renewed) < RENEW_EVERY {
            return true;
        }
        let by = Deadline::after(PATIENCE);
        match self.store.call(&cmd(&["GET", &self.key]), by).await {
            Ok(holder) if reply::text(&holder) == Some(&self.id) => {
                let prolonged = self.store.call(&cmd(&["PEXPIRE", &self.key, LIFE_MS]), by).await;
                if prolonged.is_ok_and(|answer| reply::int(&answer) == Some(1)) {
                    self.renewed = asked;
                }
                self.holds()
            }
            Ok(_) => false,
            // No answer: it is still ours for as long as it is trusted.
            Err(_) => self.holds(),
        }
    }

    /// Does work that may take longer than the lock is trusted, and renews it meanwhile. `None` when the lock was lost.
    pub(super) async fn hold_while<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let (clock, mut work) = (Arc::clone(&self.clock), std::pin::pin!(work));
        loop {
            tokio::select! {
                done = &mut work => return self.holds().then_some(done),
                () = clock.sleep(LOOK_EVERY) => {
                    if !self.renew().await {
                        return None;
                    }
                }
            }
        }
    }

    /// Gives it back, so that the next engine need not wait.
    pub(super) async fn give_back(self) {
        let by = Deadline::after(PATIENCE);
        let holder = self.store.call(&cmd(&["GET", &self.key]), by).await;
        if holder.is_ok_and(|holder| reply::text(&holder) == Some(&self.id)) {
            let _ = self.store.call(&cmd(&["DEL", &self.key]), by).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::SystemClock;

    use super::*;

    const KEY: &str = "game:engine_lock";

    // A world of 150 000 ships was read for longer than the lock lives, and so never had an engine.
    #[tokio::test]
    async fn work_that_is_longer_than_the_lock_keeps_it() {
        let store = testkit::open("memory").await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let mut lock = Lock::take(&store, &clock, KEY, "a").await.unwrap().expect("nobody has it");
        let work = async {
            clock.sleep(Duration::from_secs(6)).await;
            Lock::take(&store, &clock, KEY, "b").await.unwrap().is_none()
        };
        assert_eq!(lock.hold_while(work).await, Some(true), "nobody else gets it meanwhile");
    }

    #[tokio::test]
    async fn work_without_the_lock_has_no_result() {
        let store = testkit::open("memory").await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let mut lock = Lock::take(&store, &clock, KEY, "a").await.unwrap().expect("nobody has it");
        let work = async {
            store.call(&cmd(&["SET", KEY, "b"]), Deadline::after(PATIENCE)).await.unwrap();
            clock.sleep(Duration::from_secs(6)).await;
        };
        assert_eq!(lock.hold_while(work).await, None, "it is b's now");
    }
}
