//! The command line as data: what is measured, and how much of it.

use clap::{Parser, Subcommand};

/// Figures that matter to users, measured on this machine, each beside what it is compared with in the same run.
#[derive(Debug, Parser)]
#[command(
    name = "worldkeep-bench",
    version,
    propagate_version = true,
    after_help = "Examples:\n  \
        cargo run --release -p worldkeep-bench -- jobs\n  \
        cargo run --release -p worldkeep-bench -- rooms --json\n\n\
        Stores and servers are its own. The server is the worldkeep program of this checkout, which is built when it is\n\
        missing or old, or the one that WORLDKEEP_BIN names.\n\n\
        Exit codes: 0 measured, 1 failure, 2 usage, 130 interrupted. A bar that is missed is no failure."
)]
pub(crate) struct Cli {
    /// Print one JSON array of all figures instead of a line for each
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The thing to measure.
    #[command(subcommand)]
    pub(crate) what: Bench,
}

/// The thing to measure.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Bench {
    /// Dispatch, process and pick up no-op jobs, beside `BullMQ` and bee-queue on one Redis
    #[command(after_help = "Examples:\n  \
        worldkeep-bench jobs\n  \
        worldkeep-bench jobs --rounds 1 --count 500 --long 10000 --json\n\n\
        The peers are Node packages (crates/bench/peers/queues) and are installed when they are missing.")]
    Jobs {
        /// Repetitions, taken in turns; the median counts
        #[arg(long, value_name = "COUNT", default_value_t = 5)]
        rounds: usize,
        /// Jobs of the short measurements; the long ones take ten times as many
        #[arg(long, value_name = "COUNT", default_value_t = 3000)]
        count: usize,
        /// Waiting jobs of the long queue
        #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
        long: usize,
    },
    /// Broadcast, latency, connects, memory and votes of the rooms, beside Node `ws` and Colyseus
    #[command(after_help = "Examples:\n  \
        worldkeep-bench rooms\n  \
        worldkeep-bench rooms --sockets 200 --many 500 --back 500 --rooms 50 --json\n\n\
        The peers are Node packages (crates/bench/peers/rooms) and are installed when they are missing.")]
    Rooms {
        /// Sockets of the room that is broadcast in
        #[arg(long, value_name = "COUNT", default_value_t = 1000)]
        sockets: usize,
        /// Sockets of the same room when the latency is measured
        #[arg(long, value_name = "COUNT", default_value_t = 5000)]
        many: usize,
        /// Sockets that are dropped at once and come back
        #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
        back: usize,
        /// Rooms of eight players that vote within ten seconds
        #[arg(long, value_name = "COUNT", default_value_t = 1000)]
        rooms: usize,
        /// Seconds of broadcasting
        #[arg(long, value_name = "SECONDS", default_value_t = 5)]
        seconds: u64,
    },
    /// Physics beside REBOUND and numpy, ticks beside what Redis takes and beside Python, times of a tick
    #[command(after_help = "Examples:\n  \
        worldkeep-bench galaxy\n  \
        worldkeep-bench galaxy --ships 2000 --rounds 1 --seconds 1 --json\n\n\
        The peers are Python packages (crates/bench/peers/galaxy) and are installed when they are missing.")]
    Galaxy {
        /// Ships of the large runs
        #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
        ships: usize,
        /// Repetitions, taken in turns; the median counts
        #[arg(long, value_name = "COUNT", default_value_t = 3)]
        rounds: usize,
        /// How long each run takes
        #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
        seconds: f64,
    },
    /// Hits on monsters against WATCH on the same Redis, the embedded engine, listing, memory, timers
    #[command(after_help = "Example:\n  worldkeep-bench worlds --seconds 5 --json\n\n\
        Uses stores of its own: the engine in memory, and a redis-server that is started for the run.")]
    Worlds {
        /// How long each run under load takes
        #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
        seconds: f64,
    },
    /// An idle stop, and how soon `/healthz` answers while a script without an end keeps the engine
    #[command(after_help = "Example:\n  worldkeep-bench trust --rounds 3 --json\n\n\
        Starts servers of its own in scratch directories.")]
    Trust {
        /// Stops that are measured; the median counts
        #[arg(long, value_name = "COUNT", default_value_t = 5)]
        rounds: usize,
        /// Requests to `/healthz` during the script
        #[arg(long, value_name = "COUNT", default_value_t = 1000)]
        requests: usize,
    },
}

/// The length of a run.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if (0.1..=600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("it goes from 0.1 to 600".into())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_measurement_has_examples() {
        for one in Cli::command().get_subcommands() {
            let help = one.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{} has no example", one.get_name());
        }
    }

    #[test]
    fn a_run_without_a_sensible_length_is_refused() {
        for wrong in ["0", "601", "NaN", "soon"] {
            assert!(
                Cli::try_parse_from(["worldkeep-bench", "worlds", "--seconds", wrong]).is_err()
            );
        }
        assert!(Cli::try_parse_from(["worldkeep-bench", "worlds", "--seconds", "0.5"]).is_ok());
    }
}
