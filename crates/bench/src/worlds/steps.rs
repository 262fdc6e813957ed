//! The two ways into the embedded engine: a compare-and-write in its own code, and a script of five commands.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Deadline, Effects as _, Script, Step, Store};

use super::super::{Figure, Tell};
use super::{core_time, since};

/// Calls of one run: the system counts a thread's time in coarse steps.
const CALLS: u32 = 50_000;

static FIVE: Script = Script::new(
    "bench_five",
    "redis.call('set', KEYS[1], ARGV[1]) redis.call('get', KEYS[1]) redis.call('incr', KEYS[2]) \
     redis.call('hset', KEYS[3], 'f', ARGV[1]) return redis.call('hget', KEYS[3], 'f')",
);

pub(super) async fn run(store: &Arc<dyn Store>, tell: &mut Tell<'_>) {
    let by = || Deadline::after(Duration::from_secs(5));
    let texts = ["x".repeat(288), "y".repeat(288)];
    let first = Step::new("bench:step").absent().write(&texts[0]);
    let _ = store.step(&first, by()).await.expect("the bench's own store writes");
    let start = core_time();
    for call in 0..CALLS as usize {
        let (old, new) = (&texts[call % 2], &texts[(call + 1) % 2]);
        let step = Step::new("bench:step").expect(old).write(new).sadd("bench:steps", "1");
        let done = store.step(&step, by()).await.expect("the bench's own store writes");
        assert!(done.is_done(), "nobody else writes there");
    }
    tell(Figure::at_most("one Step with two writes, embedded", each(start), "µs", 4.0));

    let keys: [&[u8]; 3] = [b"bench:one", b"bench:two", b"bench:three"];
    let start = core_time();
    for _ in 0..CALLS {
        store.script(&FIVE, &keys, &[b"value"], by()).await.expect("the script is sound");
    }
    tell(Figure::at_most("one script of five commands, embedded", each(start), "µs", 5.0));
}

fn each(start: Duration) -> f64 {
    since(start).as_secs_f64() * 1e6 / f64::from(CALLS)
}
