//! Timers of both modules: a hundred thousand that are not due cost nothing, ten thousand that are due at once are
//! served within a second.

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::Layout;
use kernel::{Cmd, Deadline, FakeClock, Store, Timer, Timers, Verdict};
use monsters::NewEffect;
use reactors::{New, Reactors};

use super::{LOOKS, PLAIN, at, core_time, empty, since, spawn, world};
use crate::{Figure, Tell};

/// The number that is due at once.
const DUE: u32 = 10_000;
const LATER: u32 = 100_000;
const START: u64 = 1_700_000_000_000;

fn by() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

pub(super) async fn run(store: &Arc<dyn Store>, tell: &mut Tell<'_>) {
    of_monsters(store, tell).await;
    of_reactors(store, tell).await;
}

/// Effects that end.
async fn of_monsters(store: &Arc<dyn Store>, tell: &mut Tell<'_>) {
    empty(store).await;
    let clock = FakeClock::at(START);
    let monsters = world(store, Arc::new(clock.clone()));
    let (tenant, _) = at();
    let stun = NewEffect {
        statuses: [("STUN".to_owned(), 1)].into(),
        duration_ms: 5_000,
        ..NewEffect::default()
    };
    for _ in 0..DUE {
        let id = spawn(&monsters, PLAIN).await.unique_id;
        let _ = monsters.apply_status(&tenant, id, &stun).await;
    }
    later(store, &format!("wk:monsters:{}:due", tenant.id)).await;
    let timers = monsters.timers();
    looks("monsters", &timers, tell).await;
    clock.advance(Duration::from_millis(5_001));
    serve("monsters", &timers, async |timer| monsters.act(&timer).await, tell).await;
}

/// States that end by themselves.
async fn of_reactors(store: &Arc<dyn Store>, tell: &mut Tell<'_>) {
    const TEXT: &str = r#"{"format":1,"reactors":[{"classification":1,"name":"ends",
      "states":{"0":{"timeout":{"afterMs":5000,"next":1}},"1":{}}}]}"#;
    empty(store).await;
    let clock = FakeClock::at(START);
    let (tenant, field) = at();
    let templates = reactors::Templates::of(&[("bench", TEXT)]).expect("our own text");
    let shared = Arc::new(clock.clone());
    let reactors = Reactors::new(Arc::clone(store), shared, Layout::Plain, Arc::new(templates));
    for _ in 0..DUE {
        let new = New { field, classification: 1, ..New::default() };
        let _ = reactors.create(&tenant, new).await;
    }
    later(store, &format!("wk:reactors:{}:due", tenant.id)).await;
    let timers = reactors.timers();
    looks("reactors", &timers, tell).await;
    clock.advance(Duration::from_millis(5_001));
    serve("reactors", &timers, async |timer| reactors.fire(timer).await, tell).await;
}

/// Timers of a far day.
async fn later(store: &Arc<dyn Store>, due: &str) {
    for n in 0..LATER {
        let mut add = Cmd::new();
        add.arg("ZADD").arg(due).arg(1_800_000_000_000_u64).arg(format!("later:{n}"));
        let _ = store.call(&add, by()).await;
    }
}

async fn looks(name: &str, timers: &Timers, tell: &mut Tell<'_>) {
    let scope = at().0.id.to_string();
    let start = core_time();
    for _ in 0..50 * LOOKS {
        let none = timers.take(&scope, by()).await.map_or(1, |due| due.len());
        assert_eq!(none, 0, "nothing is due yet");
    }
    let look = since(start).as_secs_f64() * 1e6 / f64::from(50 * LOOKS);
    let pending = LATER + DUE;
    let says = format!("{name}: a look at {pending} pending timers, none due");
    tell(Figure::at_most(says, look, "us", 50.0));
}

async fn serve(
    name: &str,
    timers: &Timers,
    act: impl AsyncFn(Timer) -> Verdict,
    tell: &mut Tell<'_>,
) {
    let scope = at().0.id.to_string();
    let start = core_time();
    let mut served = 0;
    loop {
        let taken = timers.take(&scope, by()).await.unwrap_or_default();
        if taken.is_empty() {
            break;
        }
        for timer in taken {
            let verdict = act(timer.clone()).await;
            served += u32::from(verdict != Verdict::Failed);
            let _ = timers.settle(&timer, verdict, by()).await;
        }
    }
    assert_eq!(served, DUE, "each was served once");
    let passed = since(start).as_secs_f64();
    tell(Figure::at_most(format!("{name}: {DUE} timers due at once, served in"), passed, "s", 1.0));
}
