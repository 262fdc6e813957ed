//! The sum of many measurements, and what the machine did meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Figure;

/// The middle one.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The value that such a part stays at or below.
pub(crate) fn percentile(values: impl IntoIterator<Item = f64>, part: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let count = (values.len() as f64 * part).ceil() as usize;
    values.get(count.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// A thread that sleeps and notes how late it wakes: what the machine does to everybody.
pub(crate) struct Sleeper {
    awake: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Vec<f64>>,
}

impl Sleeper {
    /// It sleeps until [`Sleeper::end`].
    pub(crate) fn start() -> Self {
        const NAP: Duration = Duration::from_millis(10);
        let awake = Arc::new(AtomicBool::new(true));
        let go_on = Arc::clone(&awake);
        let thread = std::thread::spawn(move || {
            let mut late = Vec::new();
            while go_on.load(Ordering::Relaxed) {
                let start = Instant::now();
                std::thread::sleep(NAP);
                late.push(start.elapsed().saturating_sub(NAP).as_secs_f64() * 1e3);
            }
            late
        });
        Sleeper { awake, thread }
    }

    /// How late it was.
    pub(crate) fn end(self) -> Figure {
        self.awake.store(false, Ordering::Relaxed);
        let late = self.thread.join().unwrap_or_default();
        let name = "meanwhile, how late a thread that only sleeps wakes, p99";
        Figure::plain(name, percentile(late, 0.99), "ms")
    }
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn ninety_nine_of_a_hundred_stay_at_or_below_the_p99() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(hundred, 0.99).to_string(), "99");
        assert_eq!(percentile(vec![7.0], 0.99).to_string(), "7");
        assert_eq!(percentile(vec![1.0, 2.0, 3.0], 0.99).to_string(), "3");
        assert_eq!(percentile(vec![], 0.99).to_string(), "0");
    }
}
