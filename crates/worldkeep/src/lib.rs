//! The `worldkeep` program as a library: command-line definitions, configuration, one file per verb. `main`
//! only calls [`run`], so that completions, man pages and tests derive from the same definitions.

mod archive;
pub mod cli;
pub mod client;
pub mod config;
mod copy;
pub mod exit;
pub mod lan;
pub mod logs;
pub mod open;
pub mod print;
pub mod remote;
mod scratch;
mod snapshot;
pub mod verbs;
pub mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

/// Runs one command line to its end.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = cli::with_default_verb(args.into_iter().collect());
    let cli = match cli::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors: clap gives them code 0, and 2 to the rest.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    // One TLS provider for the whole process; a second install only says that it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let quiet = cli.global.quiet;
    match verbs::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let silent = failure.message.is_empty() || (quiet && failure.code == 1);
            if !silent {
                print::problem(&failure.message);
            }
            ExitCode::from(failure.code)
        }
    }
}
