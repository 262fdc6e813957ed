//! The verbs of `worldkeep monsters`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::worlds::{FieldFlags, Place, TemplateVerb, TenantFlags};

/// What to do with monsters.
#[derive(Debug, Subcommand)]
pub enum Monsters {
    /// List what lives in a field
    #[command(after_help = "Example:\n  worldkeep monsters ls --field 0:1:1000000 --json")]
    Ls {
        /// Where.
        #[command(flatten)]
        place: FieldFlags,
        /// Only monsters of this template
        #[arg(long)]
        template: Option<u32>,
    },
    /// Show one
    #[command(after_help = "Example:\n  worldkeep monsters show 1000000000 --json")]
    Show {
        /// Its id.
        id: u32,
        /// Whose.
        #[command(flatten)]
        tenant: TenantFlags,
    },
    /// Spawn one, or many at once
    #[command(after_help = "Examples:\n  \
        worldkeep monsters spawn 9300018 --at 120,0\n  \
        worldkeep monsters spawn 9300018 --at 120,0 --count 50")]
    Spawn(Spawn),
    /// Hit one
    #[command(after_help = "Example:\n  worldkeep monsters damage 1000000000 30 12 --character 7")]
    Damage {
        /// Its id.
        id: u32,
        /// Each hit of the attack.
        #[arg(required = true)]
        damages: Vec<u32>,
        /// Who attacks
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        character: u32,
        /// 0 melee, 1 ranged, 2 magic, 3 energy
        #[arg(long, default_value_t = 0)]
        attack_type: u8,
        /// Whose.
        #[command(flatten)]
        tenant: TenantFlags,
    },
    /// Take one away, or all of a field
    #[command(after_help = "Examples:\n  \
        worldkeep monsters destroy 1000000000\n  \
        worldkeep monsters destroy --all --field 0:1:1000000 --yes",
        group(clap::ArgGroup::new("what").required(true).args(["id", "all"])))]
    Destroy {
        /// Its id.
        id: Option<u32>,
        /// Everything in the field
        #[arg(long)]
        all: bool,
        /// Where.
        #[command(flatten)]
        place: FieldFlags,
    },
    /// Take away every monster of every tenant, as a stop of the last server does
    #[command(after_help = "Example:\n  worldkeep monsters teardown --yes")]
    Teardown,
    /// List and check templates: the shipped set, or files of your own; needs no server
    #[command(after_help = "Examples:\n  \
        worldkeep monsters templates\n  \
        worldkeep monsters templates --catalogue ./monsters --json\n  \
        worldkeep monsters templates check ./monsters/forest.json\n  \
        worldkeep monsters templates schema > monsters.schema.json\n\n\
        Exit code 1 when a file is wrong; each fault is told with its file, line and member.")]
    Templates {
        /// File or directory [default: the shipped set]
        #[arg(long, value_name = "PATH")]
        catalogue: Option<PathBuf>,
        /// The templates are listed without it
        #[command(subcommand)]
        verb: Option<TemplateVerb>,
    },
}

/// Flags of `monsters spawn`.
#[derive(Debug, Args)]
pub struct Spawn {
    /// What kind; `monsters templates` lists them.
    pub template: u32,
    /// Where it appears
    #[arg(long, value_name = "X,Y", default_value = "0,0", allow_hyphen_values = true)]
    pub at: Place,
    /// Where.
    #[command(flatten)]
    pub place: FieldFlags,
    /// The foothold it stands on
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    pub fh: i16,
    /// Its side
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    pub team: i8,
    /// How many, in one call
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub count: u16,
}
