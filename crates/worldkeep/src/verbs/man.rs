//! `worldkeep man DIR`: one page per verb, from the same definitions as the help.

use std::path::Path;

use clap::CommandFactory as _;

use crate::cli::Cli;
use crate::config::plain;
use crate::exit::Failure;

pub(super) fn run(dir: &Path) -> Result<(), Failure> {
    let fail = |error: &std::io::Error| {
        Failure::failed(format!("cannot write man pages to {}: {}", dir.display(), plain(error)))
    };
    std::fs::create_dir_all(dir).map_err(|error| fail(&error))?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(|error| fail(&error))
}
