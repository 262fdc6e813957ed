//! The `worldkeep` binary. Everything is in the library beside it.

use std::process::ExitCode;

/// Gives memory back after a burst. It also stands in for musl's in the static image, which is slow with threads.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    worldkeep_cli::run(std::env::args_os())
}
