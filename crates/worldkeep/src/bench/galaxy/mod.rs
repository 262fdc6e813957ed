//! `worldkeep bench galaxy`: the physics beside REBOUND and numpy, the tick with its write beside what Redis takes at
//! most and beside Python, the times that a tick may take, and its state on the way to a thousand sockets.
//!
//! The peers are Python packages (`peers/galaxy/requirements.txt`), installed into a folder of their own when they are
//! missing. CPU time is compared where one core is meant, so that a busy machine does not decide.

mod physics;
mod sockets;
mod ticks;
mod world;

use super::{Figure, Tell};

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amounts {
    /// Ships of the large runs.
    pub(crate) ships: usize,
    /// Repetitions, taken in turns; the median counts.
    pub(crate) rounds: usize,
    /// Length of one measurement, s.
    pub(crate) seconds: f64,
}

/// Everything, told line by line.
pub(crate) async fn run(amounts: Amounts, tell: &mut Tell<'_>) -> Result<(), String> {
    let peers = super::peers::Python::ready("galaxy");
    if let Err(why) = &peers {
        tell(Figure::plain(format!("peers left out: {why}"), 0.0, ""));
    }
    let peers = peers.ok();
    physics::run(amounts, peers.as_ref(), tell)?;
    ticks::run(amounts, peers.as_ref(), tell).await?;
    sockets::run(amounts, tell).await
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The value that such a part stays at or below.
fn percentile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let count = (values.len() as f64 * part).ceil() as usize;
    values.get(count.saturating_sub(1)).copied().unwrap_or(0.0)
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
