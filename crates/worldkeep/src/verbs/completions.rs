//! `worldkeep completions SHELL`, from the same definitions as the help.

use clap::CommandFactory as _;

use crate::cli::Cli;
use crate::print;

pub(super) fn run(shell: clap_complete::Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "worldkeep", &mut script);
    print::line(String::from_utf8_lossy(&script).trim_end());
}
