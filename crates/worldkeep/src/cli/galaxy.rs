//! The verbs of `worldkeep galaxy`.

use clap::{Args, Subcommand, ValueEnum};

/// What to do with the game.
#[derive(Debug, Subcommand)]
pub enum Galaxy {
    /// Show the game and its engine
    #[command(
        after_help = "Examples:\n  worldkeep galaxy status\n  worldkeep galaxy status --json"
    )]
    Status,
    /// Make a world where there is none
    #[command(after_help = "Examples:\n  worldkeep galaxy init --redis redis://10.0.0.5\n\n\
        With the embedded engine the server makes one by itself; setting galaxy.epoch says when it begins.")]
    Init,
    /// Hold the game before its next tick
    #[command(after_help = "Example:\n  worldkeep galaxy pause")]
    Pause,
    /// Let it go on
    #[command(after_help = "Example:\n  worldkeep galaxy resume")]
    Resume,
    /// Show or change how often it ticks
    #[command(
        after_help = "Examples:\n  worldkeep galaxy tick-rate get\n  worldkeep galaxy tick-rate set 10"
    )]
    TickRate {
        /// get, or set.
        #[command(subcommand)]
        verb: Rate,
    },
    /// Change how fast game time runs; time sync must be off
    #[command(
        after_help = "Examples:\n  worldkeep galaxy sync off && worldkeep galaxy time-scale 10"
    )]
    TimeScale {
        /// Game seconds per second, 0.1 to 100
        scale: f64,
    },
    /// Whether game time is drawn towards UTC
    #[command(after_help = "Example:\n  worldkeep galaxy sync on")]
    Sync {
        /// on or off
        switch: Switch,
    },
    /// Take, list and restore snapshots
    #[command(
        after_help = "Examples:\n  worldkeep galaxy snapshot create\n  worldkeep galaxy snapshot list\n  \
        worldkeep galaxy snapshot restore 42 --yes"
    )]
    Snapshot {
        /// What to do with them.
        #[command(subcommand)]
        verb: Snapshot,
    },
    /// List players, show or delete one
    #[command(
        after_help = "Examples:\n  worldkeep galaxy players\n  worldkeep galaxy players --limit 500 --json\n  \
        worldkeep galaxy players show 660e8400-e29b-41d4-a716-446655440001\n  \
        worldkeep galaxy players rm 660e8400-e29b-41d4-a716-446655440001 --yes"
    )]
    Players(Players),
    /// Show, open or close registration
    #[command(
        after_help = "Examples:\n  worldkeep galaxy registrations\n  worldkeep galaxy registrations close"
    )]
    Registrations {
        /// open or close; without it, only shows
        gate: Option<Gate>,
    },
    /// Put a ship of nobody, a station or a jump gate into the world
    #[command(
        after_help = "Examples:\n  worldkeep galaxy spawn ship Wren --class cargo_hauler\n  \
        worldkeep galaxy spawn station Highport --at Earth --altitude 420000\n  \
        worldkeep galaxy spawn jumpgate Gate --at Luna --lagrange Earth-Luna-L4"
    )]
    Spawn {
        /// What.
        #[command(subcommand)]
        what: Spawn,
    },
    /// List ships
    #[command(after_help = "Example:\n  worldkeep galaxy ships --limit 500 --json")]
    Ships {
        /// At most so many
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        limit: usize,
    },
    /// Show one ship
    #[command(
        after_help = "Example:\n  worldkeep galaxy ship 550e8400-e29b-41d4-a716-446655440000"
    )]
    Ship {
        /// Its id.
        id: String,
    },
    /// Show the orbit of a ship: elements, apsides, what it meets, the maneuver it flies
    #[command(
        after_help = "Example:\n  worldkeep galaxy orbit 550e8400-e29b-41d4-a716-446655440000"
    )]
    Orbit {
        /// Its id.
        id: String,
    },
    /// Let a ship fly a maneuver
    #[command(after_help = "Examples:\n  \
        worldkeep galaxy maneuver ID transfer --altitude 35786000\n  \
        worldkeep galaxy maneuver ID plane_change --inclination 28.5\n  \
        worldkeep galaxy maneuver ID burn --direction prograde --delta-v 50\n  \
        worldkeep galaxy maneuver ID abort")]
    Maneuver(Fly),
    /// Begin the world anew: paused, without craft; accounts stay
    #[command(after_help = "Example:\n  worldkeep galaxy reset --yes")]
    Reset,
}

/// A maneuver.
#[derive(Debug, Clone, Args)]
pub struct Fly {
    /// The ship's id.
    pub id: String,
    /// `circularize`, `transfer`, `station_keeping`, `plane_change`, `burn`, `rendezvous`, or `abort`
    pub action: String,
    /// Above the ground, m
    #[arg(long, value_name = "M")]
    pub altitude: Option<f64>,
    /// Against the ecliptic, degrees
    #[arg(long, value_name = "DEGREES")]
    pub inclination: Option<f64>,
    /// `prograde`, `retrograde`, `normal`, `antinormal`, `radial`, `antiradial`, `target`
    #[arg(long)]
    pub direction: Option<String>,
    /// m/s
    #[arg(long, value_name = "M/S")]
    pub delta_v: Option<f64>,
    /// A ship, station, body or Lagrange point
    #[arg(long, value_name = "ID")]
    pub target: Option<String>,
    /// `ship`, `station`, `body` or `lagrange`
    #[arg(long, value_name = "KIND")]
    pub target_type: Option<String>,
    /// Dock on arrival at the station
    #[arg(long)]
    pub dock: bool,
}

/// The rate of ticks.
#[derive(Debug, Clone, Subcommand)]
pub enum Rate {
    /// Show it
    #[command(after_help = "Example:\n  worldkeep galaxy tick-rate get --json")]
    Get,
    /// Change it
    #[command(after_help = "Example:\n  worldkeep galaxy tick-rate set 0.5")]
    Set {
        /// Ticks per second, 0.1 to 100
        rate: f64,
    },
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// Open or close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Gate {
    /// Players may register.
    Open,
    /// They may not.
    Close,
}

/// What to do with snapshots.
#[derive(Debug, Clone, Subcommand)]
pub enum Snapshot {
    /// Take one now
    #[command(after_help = "Example:\n  worldkeep galaxy snapshot create --json")]
    Create,
    /// List them, newest first
    #[command(after_help = "Example:\n  worldkeep galaxy snapshot list --limit 500")]
    List {
        /// At most so many
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        limit: usize,
    },
    /// Put the world back to one; the game is paused then
    #[command(after_help = "Example:\n  worldkeep galaxy snapshot restore 42 --yes")]
    Restore {
        /// As `snapshot list` shows it.
        id: i64,
    },
}

/// Flags of `players`.
#[derive(Debug, Args)]
pub struct Players {
    /// `show ID` or `rm ID`, or nothing for the list.
    #[command(subcommand)]
    pub verb: Option<PlayersVerb>,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub limit: usize,
}

/// What to do with a player.
#[derive(Debug, Clone, Subcommand)]
pub enum PlayersVerb {
    /// Show one with their ships
    #[command(
        after_help = "Example:\n  worldkeep galaxy players show 660e8400-e29b-41d4-a716-446655440001"
    )]
    Show {
        /// The player's id.
        id: String,
    },
    /// Delete an account with its ships
    #[command(
        after_help = "Example:\n  worldkeep galaxy players rm 660e8400-e29b-41d4-a716-446655440001 --yes"
    )]
    Rm {
        /// The player's id.
        id: String,
    },
}

/// What to spawn.
#[derive(Debug, Clone, Subcommand)]
pub enum Spawn {
    /// A ship that nobody owns
    #[command(after_help = "Example:\n  worldkeep galaxy spawn ship Wren")]
    Ship {
        /// Its name.
        name: String,
        /// `fast_frigate` or `cargo_hauler`
        #[arg(long)]
        class: Option<String>,
        /// Near this station instead of in orbit of the Earth
        #[arg(long, value_name = "ID")]
        station: Option<String>,
    },
    /// A station
    #[command(after_help = "Example:\n  worldkeep galaxy spawn station Highport --at Earth")]
    Station(Build),
    /// A jump gate, at an L4 or L5 point
    #[command(
        after_help = "Example:\n  worldkeep galaxy spawn jumpgate Gate --at Luna --lagrange Earth-Luna-L4"
    )]
    Jumpgate(Build),
}

/// What to build, and where.
#[derive(Debug, Clone, Args)]
pub struct Build {
    /// Its name.
    pub name: String,
    /// The body it goes round
    #[arg(long, value_name = "BODY")]
    pub at: String,
    /// Metres above the body's mean radius [default: 400000]
    #[arg(long)]
    pub altitude: Option<f64>,
    /// Instead of an altitude, a point such as Earth-Luna-L4
    #[arg(long, value_name = "POINT")]
    pub lagrange: Option<String>,
}
