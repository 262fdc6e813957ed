//! Time comes from outside, so that tests move it instead of sleeping. "Now" is the store's time, because
//! several servers share one store and their own clocks differ; leases and deadlines run on the monotonic
//! clock, because nobody can set that one back.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::fault::Fault;
use crate::reply;
use crate::store::{Deadline, Store};

/// Tells the time and waits for it.
pub trait Clock: Send + Sync + 'static {
    /// Unix milliseconds.
    fn now_ms(&self) -> u64;

    /// Time since some start; never goes back, whatever happens to the calendar.
    fn monotonic(&self) -> Duration;

    /// Waits that long, monotonic.
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()>;

    /// Waits until [`Clock::now_ms`] has reached `at_ms`, as far as can be told now: a clock that is set
    /// meanwhile makes it end early or late, so the caller looks again.
    fn sleep_until(&self, at_ms: u64) -> BoxFuture<'static, ()> {
        self.sleep(Duration::from_millis(at_ms.saturating_sub(self.now_ms())))
    }
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Starts at zero on the monotonic side.
    #[allow(clippy::new_without_default)] // a clock starts when it is made
    pub fn new() -> Self {
        SystemClock { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        #[allow(clippy::disallowed_methods)] // this is the Clock
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(wait))
    }
}

/// A jump of the store's time by more than this is believed only when it is seen twice.
const JUMP_MS: u64 = 1_000;

/// The store's time: its `TIME` once in a while, carried on by a monotonic clock in between.
///
/// It never goes back by itself. When the store is found to be a little behind, it stands still until the
/// store has caught up; when the store was really set, twice seen, it follows and says so in the log.
pub struct ServerClock {
    under: Arc<dyn Clock>,
    anchor: Mutex<Anchor>,
    /// The latest time given out: nobody sees an earlier one.
    latest: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
struct Anchor {
    monotonic: Duration,
    server_ms: u64,
    /// A jump seen once: how far, in milliseconds.
    suspect: Option<i64>,
}

impl ServerClock {
    /// Asks the store for its time. `under` gives the monotonic side and waits.
    pub async fn start(
        store: &dyn Store,
        under: Arc<dyn Clock>,
        by: Deadline,
    ) -> Result<Self, Fault> {
        let (monotonic, server_ms) = ask(store, &*under, by).await?;
        let anchor = Mutex::new(Anchor { monotonic, server_ms, suspect: None });
        Ok(ServerClock { under, anchor, latest: AtomicU64::new(server_ms) })
    }

    /// Asks again; call it every few seconds. On a fault the clock runs on as it was.
    pub async fn refresh(&self, store: &dyn Store, by: Deadline) -> Result<(), Fault> {
        let (monotonic, server_ms) = ask(store, &*self.under, by).await?;
        self.take(monotonic, server_ms);
        Ok(())
    }

    /// Refreshes for ever; spawn it.
    pub async fn keep(self: Arc<Self>, store: Arc<dyn Store>, every: Duration) {
        loop {
            self.under.sleep(every).await;
            if let Err(fault) = self.refresh(&*store, Deadline::after(Duration::from_secs(1))).await
            {
                tracing::debug!(%fault, "the store's time was not read, the clock runs on");
            }
        }
    }

    fn take(&self, monotonic: Duration, server_ms: u64) {
        let mut anchor = self.anchor.lock();
        let carried = anchor.at(monotonic);
        let off = i64::try_from(server_ms).unwrap_or(i64::MAX)
            - i64::try_from(carried).unwrap_or(i64::MAX);
        if off.unsigned_abs() <= JUMP_MS {
            *anchor = Anchor { monotonic, server_ms, suspect: None };
            return;
        }
        match anchor.suspect {
            Some(before) if before.abs_diff(off) <= JUMP_MS => {
                tracing::warn!(off_ms = off, "the store's clock was set, following it");
                *anchor = Anchor { monotonic, server_ms, suspect: None };
                self.latest.store(server_ms, Ordering::Relaxed);
            }
            _ => anchor.suspect = Some(off),
        }
    }
}

impl Anchor {
    fn at(&self, monotonic: Duration) -> u64 {
        let passed = monotonic.saturating_sub(self.monotonic).as_millis();
        self.server_ms.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
    }
}

impl Clock for ServerClock {
    fn now_ms(&self) -> u64 {
        // The lock is held over the update of `latest`, so that a followed jump is not undone by a reader.
        let anchor = self.anchor.lock();
        let carried = anchor.at(self.under.monotonic());
        self.latest.fetch_max(carried, Ordering::Relaxed).max(carried)
    }

    fn monotonic(&self) -> Duration {
        self.under.monotonic()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        self.under.sleep(wait)
    }
}

/// The store's time at the middle of the round trip.
async fn ask(store: &dyn Store, clock: &dyn Clock, by: Deadline) -> Result<(Duration, u64), Fault> {
    let sent = clock.monotonic();
    let answer = store.call(&redis::cmd("TIME"), by).await?;
    let middle = sent + clock.monotonic().saturating_sub(sent) / 2;
    let parts = reply::list(&answer).unwrap_or_default();
    let part = |at: usize| parts.get(at).and_then(reply::int).and_then(|n| u64::try_from(n).ok());
    match (part(0), part(1)) {
        (Some(seconds), Some(micros)) => Ok((middle, seconds * 1000 + micros / 1000)),
        _ => Err(reply::unexpected("TIME", "seconds and microseconds", &answer)),
    }
}

/// A clock that stands still until a test moves it. Clones share the time; sleepers wake when it is reached.
#[derive(Clone)]
pub struct FakeClock {
    inner: Arc<Fake>,
}

struct Fake {
    time: Mutex<(u64, Duration)>,
    moved: Notify,
    sleepers: AtomicU64,
}

impl FakeClock {
    /// Shows `now_ms`.
    pub fn at(now_ms: u64) -> Self {
        let time = Mutex::new((now_ms, Duration::ZERO));
        FakeClock {
            inner: Arc::new(Fake { time, moved: Notify::new(), sleepers: AtomicU64::new(0) }),
        }
    }

    /// Time passes.
    pub fn advance(&self, by: Duration) {
        let mut time = self.inner.time.lock();
        time.0 += u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        time.1 += by;
        drop(time);
        self.inner.moved.notify_waiters();
    }

    /// Somebody sets the calendar; no time passes. Sleepers look again.
    pub fn set(&self, now_ms: u64) {
        self.inner.time.lock().0 = now_ms;
        self.inner.moved.notify_waiters();
    }

    /// How many are asleep: a test waits for its subject to sleep before it moves the clock.
    pub fn sleepers(&self) -> u64 {
        self.inner.sleepers.load(Ordering::SeqCst)
    }

    fn wait(
        &self,
        over: impl Fn((u64, Duration)) -> bool + Send + 'static,
    ) -> BoxFuture<'static, ()> {
        let inner = self.inner.clone();
        Box::pin(async move {
            let _asleep = Asleep::new(inner.clone());
            loop {
                let mut moved = std::pin::pin!(inner.moved.notified());
                // Registered before looking, so that a move in between is not missed.
                moved.as_mut().enable();
                if over(*inner.time.lock()) {
                    return;
                }
                Pin::as_mut(&mut moved).await;
            }
        })
    }
}

struct Asleep(Arc<Fake>);

impl Asleep {
    fn new(fake: Arc<Fake>) -> Self {
        fake.sleepers.fetch_add(1, Ordering::SeqCst);
        Asleep(fake)
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.0.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now_ms(&self) -> u64 {
        self.inner.time.lock().0
    }

    fn monotonic(&self) -> Duration {
        self.inner.time.lock().1
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        let until = self.monotonic() + wait;
        self.wait(move |(_, monotonic)| monotonic >= until)
    }

    fn sleep_until(&self, at_ms: u64) -> BoxFuture<'static, ()> {
        self.wait(move |(now_ms, _)| now_ms >= at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn server(fake: &FakeClock, server_ms: u64) -> ServerClock {
        let anchor = Anchor { monotonic: fake.monotonic(), server_ms, suspect: None };
        ServerClock {
            under: Arc::new(fake.clone()),
            anchor: Mutex::new(anchor),
            latest: AtomicU64::new(server_ms),
        }
    }

    #[tokio::test]
    async fn a_fake_clock_wakes_whoever_waited_for_that_time() {
        let clock = FakeClock::at(1_000);
        let mut early = clock.sleep_until(1_500);
        let mut late = clock.sleep(Duration::from_secs(1));
        assert!((&mut early).now_or_never().is_none());
        assert!((&mut late).now_or_never().is_none());
        assert_eq!(clock.sleepers(), 2);
        clock.advance(Duration::from_millis(500));
        early.await;
        assert!((&mut late).now_or_never().is_none());
        clock.set(9_000);
        assert!((&mut late).now_or_never().is_none(), "setting the calendar is no passing of time");
        clock.advance(Duration::from_millis(500));
        late.await;
        assert_eq!(clock.sleepers(), 0);
    }

    #[test]
    fn a_server_clock_runs_on_between_two_readings() {
        let fake = FakeClock::at(0);
        let clock = server(&fake, 5_000);
        fake.advance(Duration::from_millis(250));
        assert_eq!(clock.now_ms(), 5_250);
        fake.set(99_999_999);
        assert_eq!(clock.now_ms(), 5_250, "the machine's calendar does not matter");
    }

    #[test]
    fn a_small_step_back_makes_it_stand_still() {
        let fake = FakeClock::at(0);
        let clock = server(&fake, 5_000);
        assert_eq!(clock.now_ms(), 5_000);
        clock.take(fake.monotonic(), 4_900);
        assert_eq!(clock.now_ms(), 5_000);
        fake.advance(Duration::from_millis(150));
        assert_eq!(clock.now_ms(), 5_050);
    }

    #[test]
    fn a_jump_is_followed_only_when_seen_twice() {
        let fake = FakeClock::at(0);
        for jumped in [1_000_000, 9_000_000] {
            let clock = server(&fake, 5_000_000);
            clock.take(fake.monotonic(), jumped);
            assert_eq!(clock.now_ms(), 5_000_000, "once may be an error");
            clock.take(fake.monotonic(), 5_000_010);
            clock.take(fake.monotonic(), jumped);
            assert_eq!(clock.now_ms(), 5_000_010, "a good reading between forgets the first");
            clock.take(fake.monotonic(), jumped + 5);
            assert_eq!(clock.now_ms(), jumped + 5);
        }
    }

    #[tokio::test]
    async fn the_system_clock_tells_a_time_of_this_century() {
        let clock = SystemClock::new();
        assert!(clock.now_ms() > 1_700_000_000_000);
        let before = clock.monotonic();
        clock.sleep(Duration::from_millis(1)).await;
        assert!(clock.monotonic() > before);
    }
}
