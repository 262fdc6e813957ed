//! The verbs of `worldkeep reactors`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::worlds::{FieldFlags, Place, TemplateVerb, TenantFlags};

/// What to do with reactors.
#[derive(Debug, Subcommand)]
pub enum Reactors {
    /// List what stands in a field
    #[command(
        after_help = "Example:\n  worldkeep reactors ls --field 0:1:1000000 --name box --json"
    )]
    Ls {
        /// Where.
        #[command(flatten)]
        place: FieldFlags,
        /// Only reactors of exactly this name
        #[arg(long)]
        name: Option<String>,
    },
    /// Show one
    #[command(after_help = "Example:\n  worldkeep reactors show 1000000001 --json")]
    Show {
        /// Its id.
        id: u32,
        /// Whose.
        #[command(flatten)]
        tenant: TenantFlags,
    },
    /// Make one
    #[command(after_help = "Examples:\n  \
        worldkeep reactors create 2001 --at 231,253 --delay 5000\n  \
        worldkeep reactors create 99 --at=-20,0 --behaviour '{\"name\":\"own\",\"stateInfo\":{}}'")]
    Create(Create),
    /// Strike one
    #[command(
        after_help = "Example:\n  worldkeep reactors hit 1000000001 --character 7 --skill 2001005"
    )]
    Hit {
        /// Its id.
        id: u32,
        /// Who strikes
        #[arg(long, default_value_t = 0)]
        character: u32,
        /// With what; 0 is a plain attack
        #[arg(long, default_value_t = 0)]
        skill: u32,
        /// Whose.
        #[command(flatten)]
        tenant: TenantFlags,
    },
    /// Take one away, or all of a field
    #[command(after_help = "Examples:\n  \
        worldkeep reactors destroy 1000000001\n  \
        worldkeep reactors destroy --all --field 0:1:1000000 --yes",
        group(clap::ArgGroup::new("what").required(true).args(["id", "all"])))]
    Destroy {
        /// Its id.
        id: Option<u32>,
        /// Everything in the field, its cooldowns too
        #[arg(long)]
        all: bool,
        /// Where.
        #[command(flatten)]
        place: FieldFlags,
    },
    /// Take away every reactor of every tenant, as a stop of the last server does
    #[command(after_help = "Example:\n  worldkeep reactors teardown --yes")]
    Teardown,
    /// List and check templates: the shipped set, or files of your own; needs no server
    #[command(after_help = "Examples:\n  \
        worldkeep reactors templates\n  \
        worldkeep reactors templates --catalogue ./reactors --json\n  \
        worldkeep reactors templates check ./reactors/forest.json\n  \
        worldkeep reactors templates schema > reactors.schema.json\n\n\
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

/// Flags of `reactors create`.
#[derive(Debug, Args)]
pub struct Create {
    /// What kind; `reactors templates` lists them.
    pub classification: u32,
    /// Where it stands
    #[arg(long, value_name = "X,Y", allow_hyphen_values = true)]
    pub at: Place,
    /// Where.
    #[command(flatten)]
    pub place: FieldFlags,
    /// Its name [default: that of its kind]
    #[arg(long)]
    pub name: Option<String>,
    /// Its first state
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    pub state: i8,
    /// Milliseconds during which its spot stays empty after it
    #[arg(long, default_value_t = 0)]
    pub delay: u32,
    /// Which way it faces
    #[arg(long, default_value_t = 0)]
    pub direction: u8,
    /// What it does, as JSON, instead of a template
    #[arg(long, value_name = "JSON")]
    pub behaviour: Option<String>,
}
