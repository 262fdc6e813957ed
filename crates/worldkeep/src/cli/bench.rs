//! `worldkeep bench`: what is measured, and how much of it.

use clap::Subcommand;

/// What to measure.
#[derive(Debug, Clone, Subcommand)]
pub enum Bench {
    /// Dispatch, process and pick up no-op jobs, beside `BullMQ` and bee-queue on one Redis
    #[command(after_help = "Examples:\n  \
        worldkeep bench jobs\n  \
        worldkeep bench jobs --rounds 1 --count 500 --long 10000 --json\n\n\
        The peers are Node packages (crates/worldkeep/peers/queues) and are installed when they are missing.")]
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
        worldkeep bench rooms\n  \
        worldkeep bench rooms --sockets 200 --many 500 --back 500 --rooms 50 --json\n\n\
        The peers are Node packages (crates/worldkeep/peers/rooms) and are installed when they are missing.")]
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
        worldkeep bench galaxy\n  \
        worldkeep bench galaxy --ships 2000 --rounds 1 --seconds 1 --json\n\n\
        The peers are Python packages (crates/worldkeep/peers/galaxy) and are installed when they are missing.")]
    Galaxy {
        /// Ships of the large runs
        #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
        ships: usize,
        /// Repetitions, taken in turns; the median counts
        #[arg(long, value_name = "COUNT", default_value_t = 3)]
        rounds: usize,
        /// How long each run takes
        #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
        seconds: f64,
    },
    /// Hits on monsters against WATCH on the same Redis, the embedded engine, listing, memory, timers
    #[command(after_help = "Example:\n  worldkeep bench worlds --seconds 5 --json\n\n\
        Uses stores of its own: the engine in memory, and a redis-server that is started for the run.")]
    Worlds {
        /// How long each run under load takes
        #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
        seconds: f64,
    },
    /// An idle stop, and how soon `/healthz` answers while a script without an end keeps the engine
    #[command(after_help = "Example:\n  worldkeep bench trust --rounds 3 --json\n\n\
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
