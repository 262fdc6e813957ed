//! `worldkeep-bench galaxy`: the physics beside REBOUND and numpy, the tick with its write beside what Redis takes at
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
