//! `worldkeep bench`: what is measured, and how much of it.

use clap::Subcommand;

/// What to measure.
#[derive(Debug, Clone, Subcommand)]
pub enum Bench {
    /// Broadcast, latency, connects, memory and votes of the rooms, beside Node `ws` and Colyseus
    #[command(after_help = "Examples:\n  \
        worldkeep bench rooms\n  \
        worldkeep bench rooms --sockets 200 --many 500 --rooms 50 --json\n\n\
        The peers are Node packages (crates/worldkeep/peers/rooms) and are installed when they are missing.")]
    Rooms {
        /// Sockets of the room that is broadcast in
        #[arg(long, value_name = "COUNT", default_value_t = 1000)]
        sockets: usize,
        /// Sockets of the same room when the latency is measured
        #[arg(long, value_name = "COUNT", default_value_t = 5000)]
        many: usize,
        /// Rooms of eight players that vote within ten seconds
        #[arg(long, value_name = "COUNT", default_value_t = 1000)]
        rooms: usize,
        /// Seconds of broadcasting
        #[arg(long, value_name = "SECONDS", default_value_t = 5)]
        seconds: u64,
    },
}
