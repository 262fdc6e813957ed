//! The `worldkeep-bench` program: figures that matter to users, measured on their machine, each beside what it is
//! compared with in the same run. It uses the modules as a library and the server as the program that users start.
//! Stores are its own: the engine in memory, and a Redis that is started for the run.

mod cli;
mod crowd;
mod figure;
mod galaxy;
mod jobs;
mod line;
mod own_redis;
mod own_server;
mod pace;
mod peers;
mod rooms;
mod stats;
mod trust;
mod worlds;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use cli::{Bench, Cli};
use figure::{Figure, Tell};

/// The allocator of the server, so that what is measured in this process has the same one.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = match runtime.worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("cannot start: {error}")),
    };
    let mut all: Vec<Figure> = Vec::new();
    let mut tell = |figure: Figure| {
        if !cli.json {
            print(&figure.line());
        }
        all.push(figure);
    };
    let done = runtime.block_on(async {
        tokio::select! {
            done = measure(cli.what, &mut tell) => Some(done),
            _ = tokio::signal::ctrl_c() => None,
        }
    });
    match done {
        Some(Ok(())) => {}
        Some(Err(why)) => return failed(&why),
        None => return ExitCode::from(130),
    }
    if cli.json {
        print(&serde_json::to_string(&all).unwrap_or_default());
    }
    ExitCode::SUCCESS
}

async fn measure(what: Bench, tell: &mut Tell<'_>) -> Result<(), String> {
    match what {
        Bench::Jobs { rounds, count, long } => {
            let size = jobs::Size { rounds: rounds.max(1), count: count.max(100), long };
            jobs::run(size, tell).await
        }
        Bench::Rooms { sockets, many, back, rooms, seconds } => {
            let many = many.max(sockets);
            rooms::run(rooms::Amounts { sockets, many, seconds, back, rooms }, tell).await
        }
        Bench::Galaxy { ships, rounds, seconds } => {
            let (ships, rounds) = (ships.clamp(8, 1_000_000), rounds.max(1));
            galaxy::run(galaxy::Amounts { ships, rounds, seconds }, tell).await
        }
        Bench::Worlds { seconds } => worlds::run(seconds, tell).await,
        Bench::Trust { rounds, requests } => {
            let (rounds, requests) = (rounds.clamp(1, 100), requests.clamp(100, 100_000));
            trust::run(rounds, requests, tell).await.map_err(|error| error.to_string())
        }
    }
}

/// One line of the report.
fn print(line: &str) {
    if writeln!(std::io::stdout(), "{line}").is_err() {
        // The reader of the report is gone; there is nobody left to tell.
        std::process::exit(0);
    }
}

fn failed(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "worldkeep-bench: {why}");
    ExitCode::FAILURE
}
