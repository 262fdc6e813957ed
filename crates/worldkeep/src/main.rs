//! The `worldkeep` binary. Everything is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    worldkeep::run(std::env::args_os())
}
