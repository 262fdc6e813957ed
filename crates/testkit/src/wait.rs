//! Waiting in tests. Every wait has an end and says what it waited for, so that a log tells where a test stood.

use std::time::{Duration, Instant};

/// The longest that a test waits for one thing. Far beyond what a busy machine needs, well within what the runner
/// gives a whole test.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Asks again every few milliseconds until the answer is yes.
///
/// # Panics
/// After [`PATIENCE`], with `what`.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// As [`wait_until`], for a question that itself waits.
pub async fn eventually(what: &str, done: impl AsyncFnMut() -> bool) {
    eventually_in(PATIENCE, what, done).await;
}

/// As [`eventually`], for what takes longer than anything else: the long forms.
pub async fn eventually_in(most: Duration, what: &str, mut done: impl AsyncFnMut() -> bool) {
    let ask = async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within_time(most, what, ask).await;
}

/// The future's output, in time.
///
/// # Panics
/// After [`PATIENCE`], with `what`.
pub async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    within_time(PATIENCE, what, work).await
}

async fn within_time<T>(most: Duration, what: &str, work: impl Future<Output = T>) -> T {
    let value = tokio::time::timeout(most, work).await;
    value.unwrap_or_else(|_| panic!("waited {most:?} in vain until {what}"))
}

/// Prints how long something took beside its bar. Only `make bench` holds it to the bar (`WORLDKEEP_TIMING`): a test
/// on a busy machine would fail for reasons that are not ours.
///
/// # Panics
/// When times are held and this one is over its bar.
#[allow(clippy::print_stdout)] // the figure is for whoever reads the test's output
pub fn timed(what: &str, took: Duration, bar: Duration) {
    println!("{what}: {took:?}, at most {bar:?}");
    if std::env::var_os("WORLDKEEP_TIMING").is_some() {
        assert!(took <= bar, "{what}: {took:?}, at most {bar:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[should_panic(expected = "in vain until it rains")]
    async fn a_wait_ends_and_says_what_it_waited_for() {
        let never = std::future::pending::<()>();
        within_time(Duration::from_millis(1), "it rains", never).await;
    }
}
