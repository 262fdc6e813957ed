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
    let json = args.iter().any(|arg| arg == "--json");
    let cli = match cli::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return misread(&error, json),
    };
    // One TLS provider for the whole process; a second install only says that it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (quiet, json) = (cli.global.quiet, cli.global.json);
    match verbs::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let silent = failure.message.is_empty() || (quiet && failure.code == 1);
            match (silent, json) {
                (true, _) => {}
                (false, true) => print::note(&failure.json().to_string()),
                (false, false) => print::problem(&failure.message),
            }
            ExitCode::from(failure.code)
        }
    }
}

/// Ends a command line that clap did not take. Help and version are no errors: they have code 0, and the rest 2.
fn misread(error: &clap::Error, json: bool) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    if code == 0 || !json {
        let _ = error.print();
        return ExitCode::from(code);
    }
    let text = error.render().to_string();
    let text = text.split("\n\nFor more information").next().unwrap_or_default().trim();
    let sentence: Vec<&str> = text.split_whitespace().collect();
    let sentence = sentence.join(" ");
    let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
    print::note(&exit::Failure::usage(sentence).json().to_string());
    ExitCode::from(code)
}
