//! When snapshots are taken, by a clock that the tests move, and who hears when none can be.

use std::sync::Arc;
use std::time::Duration;

use galaxy::physics::solar::SOL;
use galaxy::{
    ALARM_AFTER, Database, DatabaseAddress, Engine, Epoch, Handle, Options, Order, Placement,
    Snapshots, WorldView,
};
use kernel::{Clock as _, FakeClock, Store};
use testkit::{Faulty, How};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::ticking::{KEYS, command, spawn};

const START_MS: u64 = 1_800_000_000_000;

/// An engine whose time is ours, and whose snapshots read the world through a store that can be made to fail.
struct Timed {
    clock: FakeClock,
    handle: Handle,
    snapshots: Arc<Snapshots>,
    faulty: Arc<Faulty>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Timed {
    async fn start() -> Timed {
        let store = testkit::open("memory").await;
        let clock = FakeClock::at(START_MS);
        let faulty = Faulty::new(Arc::clone(&store));
        let snapshots = Snapshots::new(
            Database::open(DatabaseAddress::Memory).await.unwrap(),
            Arc::clone(&faulty) as Arc<dyn Store>,
            Arc::new(clock.clone()),
            KEYS,
        );
        let options = Options {
            create: Some(Epoch::Now),
            snapshots: Some(Arc::clone(&snapshots)),
            ..Options::new("a")
        };
        let (engine, handle) = Engine::new(store, Arc::new(clock.clone()), KEYS, options);
        let stop = CancellationToken::new();
        let task = tokio::spawn(engine.run(stop.clone()));
        let timed = Timed { clock, handle, snapshots, faulty, stop, task };
        timed.until(|seen| seen.leads).await;
        timed.asleep().await;
        timed
    }

    async fn until(&self, what: impl Fn(&WorldView) -> bool) {
        let mut seen = self.handle.seen();
        let found = tokio::time::timeout(Duration::from_secs(20), seen.wait_for(|seen| what(seen)));
        found.await.expect("in time").unwrap();
    }

    /// Until the engine has done what is due.
    async fn asleep(&self) {
        let waits = async {
            while self.clock.sleepers() == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waits).await.expect("the engine sleeps");
    }

    /// Time passes, no faster than the engine can follow.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds * 4 {
            self.asleep().await;
            self.clock.advance(Duration::from_millis(250));
            // The sleeper is awake before it is counted again.
            tokio::task::yield_now().await;
        }
        self.asleep().await;
    }

    /// Time passes until the world looks like that; what is done beside the engine has a moment for it at each step.
    async fn comes(&self, what: impl Fn(&WorldView) -> bool) -> Duration {
        for _ in 0..2_000 {
            if what(&self.handle.seen().borrow()) {
                return self.clock.monotonic();
            }
            self.asleep().await;
            self.clock.advance(Duration::from_millis(250));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("it did not come: {:?}", self.handle.seen().borrow().numbers);
    }

    /// Seconds after the start at which each was taken, oldest first, once there are so many.
    async fn taken(&self, count: usize) -> Vec<u64> {
        let began = std::time::Instant::now();
        loop {
            let mut all = self.snapshots.list().await.unwrap();
            if all.len() >= count {
                all.reverse();
                let since = |ms: i64| (ms.unsigned_abs() - START_MS) / 1_000;
                return all.iter().map(|row| since(row.created_at.as_millisecond())).collect();
            }
            assert!(began.elapsed().as_secs() < 20, "{} of {count}", all.len());
            tokio::task::yield_now().await;
        }
    }

    async fn ask(&self, order: Order) {
        self.handle.ask(command(None, None, order)).await.expect("it leads").unwrap();
    }

    fn failed(&self) -> u32 {
        self.handle.seen().borrow().numbers.snapshots_failed
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

#[tokio::test]
async fn one_is_taken_each_minute_of_wall_time() {
    let timed = Timed::start().await;
    timed.pass(59).await;
    assert_eq!(timed.taken(0).await, [0_u64; 0], "none before its time");
    for minute in 1..=4 {
        timed.pass(2).await;
        assert_eq!(timed.taken(minute).await.len(), minute);
        timed.pass(58).await;
    }
    for (minute, at) in (1..).zip(timed.taken(4).await) {
        assert!((60 * minute..60 * minute + 2).contains(&at), "{minute}: {at}");
    }
    let rows = timed.snapshots.list().await.unwrap();
    let ticks: Vec<_> = rows.iter().rev().map(|row| row.tick_number).collect();
    assert_eq!(ticks, [60, 120, 180, 240], "one a second");
    let snapshots = Arc::clone(&timed.snapshots);
    timed.end().await;
    assert_eq!(snapshots.list().await.unwrap().len(), 5, "and one at the stop");
}

#[tokio::test]
async fn a_pause_takes_one_at_once_and_the_next_follows_a_minute_later() {
    let timed = Timed::start().await;
    timed.pass(20).await;
    let pause = timed.ask(Order::Pause);
    tokio::join!(pause, timed.pass(2));
    let first = timed.taken(1).await[0];
    assert!((20..=22).contains(&first), "{first}");
    timed.pass(70).await;
    // Wall time is what counts: orders change a paused world too.
    let second = timed.taken(2).await[1];
    assert!((first + 58..=first + 62).contains(&second), "{second}");
    let kept = timed.snapshots.list().await.unwrap();
    assert_eq!(kept[0].tick_number, kept[1].tick_number);
    timed.end().await;
}

#[tokio::test]
async fn a_failing_one_is_tried_again_and_the_third_failure_in_a_row_is_told() {
    let timed = Timed::start().await;
    timed.faulty.fail_every(1, How::NotSent);
    timed.pass(59).await;
    assert_eq!(timed.failed(), 0);
    let mut last = timed.comes(|seen| seen.numbers.snapshots_failed == 1).await;
    assert!((60..62).contains(&last.as_secs()), "{last:?}");
    for more in 2..=ALARM_AFTER {
        let next = timed.comes(|seen| seen.numbers.snapshots_failed == more).await;
        assert!(
            (4..8).contains(&next.saturating_sub(last).as_secs()),
            "five seconds lie between two tries"
        );
        last = next;
    }
    assert_eq!(timed.taken(0).await, [0_u64; 0]);
    timed.faulty.fail_every(0, How::NotSent);
    timed.comes(|seen| seen.numbers.snapshots_failed == 0).await;
    assert_eq!(timed.taken(0).await.len(), 1);
    timed.end().await;
}

#[tokio::test]
async fn the_alarm_of_a_paused_world_is_seen_too() {
    let timed = Timed::start().await;
    timed.faulty.fail_every(1, How::NotSent);
    let pause = timed.ask(Order::Pause);
    tokio::join!(pause, timed.pass(1));
    timed.comes(|seen| seen.pace.paused && seen.numbers.snapshots_failed == ALARM_AFTER).await;
    timed.end().await;
}

#[tokio::test]
async fn one_that_hangs_is_given_up_and_counts_as_failed() {
    let timed = Timed::start().await;
    timed.faulty.delay(Duration::from_hours(1));
    timed.pass(119).await;
    assert_eq!(timed.failed(), 0, "it may take a minute");
    timed.comes(|seen| seen.numbers.snapshots_failed == 1).await;
    timed.faulty.delay(Duration::ZERO);
    timed.comes(|seen| seen.numbers.snapshots_failed == 0).await;
    assert_eq!(timed.taken(0).await.len(), 1);
    timed.end().await;
}

#[tokio::test]
async fn ships_appear_where_the_options_say() {
    assert!(Placement::about(&SOL, "Vulcan", 4e5).unwrap_err().contains("`Vulcan`"));
    for altitude in [0.0, -1.0, 1e13, f64::NAN, f64::INFINITY] {
        assert!(Placement::about(&SOL, "Earth", altitude).is_err(), "{altitude}");
    }
    let store = testkit::open("memory").await;
    let place = Placement::about(&SOL, "luna", 123_000.0).unwrap();
    assert_eq!(place, Placement::Orbit { body: "Luna".into(), altitude: 123_000.0 });
    let options = Options { create: Some(Epoch::Now), spawn_place: place, ..Options::new("a") };
    let engine = crate::ticking::Ticking::with(&store, options);
    engine.until(|seen| seen.leads).await;
    engine.ask(Order::Pause).await.unwrap();
    let id = Uuid::from_u128(5);
    let luna = SOL.find("Luna").unwrap();
    for order in [spawn("Wren"), Order::Reset { ship_class: None }] {
        engine.order(id, order).await.unwrap();
        let seen = engine.until(|seen| seen.ships.len() == 1).await;
        let high = (seen.ships[0].position - seen.bodies[luna].0).length() - SOL.body(luna).radius;
        assert!((high - 123_000.0).abs() < 1.0, "{high}");
    }
    engine.end().await;
}
