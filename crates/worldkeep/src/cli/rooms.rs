//! `worldkeep rooms`: the party game's rooms from the command line.

use std::path::PathBuf;

use clap::Subcommand;

/// What to do with rooms.
#[derive(Debug, Clone, Subcommand)]
pub enum Rooms {
    /// List the open rooms
    #[command(
        after_help = "Examples:\n  worldkeep rooms ls\n  worldkeep rooms ls --limit 500 --json"
    )]
    Ls {
        /// At most so many
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        limit: usize,
    },
    /// Show one room
    #[command(
        after_help = "Examples:\n  worldkeep rooms show ABCD-2345\n  worldkeep rooms show ABCD2345 --state --json"
    )]
    Show {
        /// Its code; hyphens and case do not matter
        code: String,
        /// The whole state, as a phone without a seat sees it
        #[arg(long)]
        state: bool,
    },
    /// Close a room: everybody is told and every key of it is deleted
    #[command(after_help = "Examples:\n  worldkeep rooms close ABCD2345 --yes")]
    Close {
        /// Its code; hyphens and case do not matter
        code: String,
    },
    /// Make a room from a file with senders and rounds
    #[command(
        after_help = "Examples:\n  worldkeep rooms create party.json\n  worldkeep rooms create - --json < party.json\n\n\
        The file holds {\"senders\":[…],\"rounds\":[…]}; docs/rooms.md describes it. The master key is shown only now."
    )]
    Create {
        /// JSON file; - reads from the input
        file: PathBuf,
    },
}
