//! Many callers for a while: how many calls a second, and how long the slowest of a hundred took. And the time a
//! thread had a core.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The figures of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    /// Calls per second.
    pub(crate) per_s: f64,
    /// Milliseconds that 99 of 100 calls stay below.
    pub(crate) p99_ms: f64,
    /// Calls in all.
    pub(crate) calls: u64,
}

/// `callers` call as fast as they can for `time`; each call gets its caller and its number.
#[allow(clippy::cast_precision_loss)] // figures for people
pub(crate) async fn pace<F, R>(callers: u32, time: Duration, call: F) -> Pace
where
    F: Fn(u32, u32) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send,
{
    let call = Arc::new(call);
    let start = Instant::now();
    let all: Vec<_> = (0..callers)
        .map(|caller| {
            let call = Arc::clone(&call);
            tokio::spawn(async move {
                let mut took: Vec<u32> = Vec::with_capacity(1 << 16);
                while start.elapsed() < time {
                    let before = Instant::now();
                    call(caller, u32::try_from(took.len()).unwrap_or(0)).await;
                    took.push(u32::try_from(before.elapsed().as_micros()).unwrap_or(u32::MAX));
                }
                took
            })
        })
        .collect();
    let mut took: Vec<u32> = Vec::new();
    for one in all {
        took.extend(one.await.unwrap_or_default());
    }
    let passed = start.elapsed().as_secs_f64();
    took.sort_unstable();
    let p99 = took.get(took.len().saturating_sub(1) * 99 / 100).copied().unwrap_or(0);
    Pace {
        per_s: took.len() as f64 / passed,
        p99_ms: f64::from(p99) / 1000.0,
        calls: took.len() as u64,
    }
}

/// Time this thread had a core: on a busy machine the clock on the wall says little about one core. Where the
/// system does not tell, it is the wall's.
pub(crate) fn core_time() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = told.and_then(|text| text.split(' ').next()?.parse().ok());
    spent.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}
