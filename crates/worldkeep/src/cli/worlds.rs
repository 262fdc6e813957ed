//! Flags that reactors and monsters share: whose world, and where in it. Their defaults are the demo field.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use field::Field;
use server::worlds::demo;

/// Whose.
#[derive(Debug, Clone, Args)]
pub struct TenantFlags {
    /// Tenant, a UUID
    #[arg(long, value_name = "UUID", env = "WORLDKEEP_TENANT", default_value_t = demo::TENANT.to_string())]
    pub tenant: String,
    /// Region of the tenant
    #[arg(long, env = "WORLDKEEP_REGION", default_value_t = demo::tenant().region)]
    pub region: String,
    /// Major version of the tenant's game
    #[arg(long, env = "WORLDKEEP_MAJOR_VERSION", default_value_t = demo::tenant().major_version)]
    pub major: u16,
    /// Minor version of the tenant's game
    #[arg(long, env = "WORLDKEEP_MINOR_VERSION", default_value_t = demo::tenant().minor_version)]
    pub minor: u16,
}

/// Whose, and where.
#[derive(Debug, Clone, Args)]
pub struct FieldFlags {
    /// Whose.
    #[command(flatten)]
    pub tenant: TenantFlags,
    /// World, channel and map, and the instance where there is one: 0:1:1000000
    #[arg(long, value_name = "FIELD", default_value_t = demo::FIELD)]
    pub field: Field,
}

/// `231,253`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// To the right.
    pub x: i16,
    /// Downwards.
    pub y: i16,
}

impl std::str::FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(',').and_then(|(x, y)| {
            Some(Place { x: x.trim().parse().ok()?, y: y.trim().parse().ok()? })
        });
        parts.ok_or_else(|| "write it as x,y, each from -32768 to 32767".to_owned())
    }
}

/// Verbs of `templates`.
#[derive(Debug, Subcommand)]
pub enum TemplateVerb {
    /// Read files of templates and say what is wrong with them, with file, line and member
    #[command(after_help = "Examples:\n  \
        worldkeep monsters templates check forest.json caves/\n  \
        worldkeep reactors templates check forest.json --json")]
    Check {
        /// Files or directories
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Print the JSON Schema of such files, for editors
    #[command(
        after_help = "Example:\n  worldkeep monsters templates schema > monsters.schema.json"
    )]
    Schema,
}
