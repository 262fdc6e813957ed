//! One file per verb.

use crate::cli::{Cli, Verb};
use crate::exit::Failure;

mod acl;
mod backup;
mod backups;
mod check;
mod completions;
mod config;
mod door;
mod galaxy;
mod jobs;
mod keys;
mod log;
mod man;
mod migrate;
mod monsters;
mod party;
mod reactors;
mod rooms;
mod serve;
mod token;
mod version;
mod worlds;

/// Does what the command line says.
pub fn run(cli: Cli) -> Result<(), Failure> {
    let mut global = cli.global;
    private_files();
    read_url(&mut global)?;
    match cli.verb {
        None => serve::run(&global, &crate::cli::Serve::default()),
        Some(Verb::Serve(flags)) => serve::run(&global, &flags),
        Some(Verb::Party(flags)) => party::run(&global, &flags),
        Some(Verb::Keys(flags)) => keys::run(&global, &flags),
        Some(Verb::Acl(flags)) => acl::run(&global, &flags),
        Some(Verb::Check(flags)) => check::run(&global, &flags),
        Some(Verb::Config { verb }) => config::run(&global, &verb),
        Some(Verb::Token { verb }) => token::run(&global, verb),
        Some(Verb::Rooms { verb }) => rooms::run(&global, &verb),
        Some(Verb::Backup(flags)) => backup::backup(&global, &flags),
        Some(Verb::Restore(flags)) => backup::restore(&global, &flags),
        Some(Verb::Migrate(flags)) => migrate::run(&global, &flags),
        Some(Verb::Log { verb }) => log::run(&global, verb),
        Some(Verb::Jobs(flags)) => jobs::run(&global, flags),
        Some(Verb::Monsters { verb }) => monsters::run(&global, verb),
        Some(Verb::Reactors { verb }) => reactors::run(&global, verb),
        Some(Verb::Galaxy { verb }) => galaxy::run(&global, verb),
        Some(Verb::Completions { shell }) => {
            completions::run(shell);
            Ok(())
        }
        Some(Verb::Man { dir }) => man::run(&dir),
        Some(Verb::Version) => {
            version::run(&global);
            Ok(())
        }
    }
}

/// Whatever we make is ours alone to read, whatever the umask was: the data holds hashes of passwords and keys.
fn private_files() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// `--redis-file` is `--redis` without showing it to `ps`.
fn read_url(global: &mut crate::cli::Global) -> Result<(), Failure> {
    let Some(path) = &global.redis_file else { return Ok(()) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let why = crate::config::plain(&error);
        Failure::usage(format!("--redis-file: cannot read {}: {why}", path.display()))
    })?;
    global.redis = Some(text.trim().to_owned());
    Ok(())
}

/// The tables, all or of one module, in the order of the document.
pub(crate) fn tables(
    module: Option<&str>,
) -> Result<Vec<&'static kernel::keyspace::Table>, Failure> {
    let all = server::modules::tables();
    let Some(module) = module else { return Ok(all) };
    let chosen: Vec<_> = all.iter().copied().filter(|table| table.module == module).collect();
    if chosen.is_empty() {
        let names: Vec<_> = all.iter().map(|table| table.module).collect();
        return Err(Failure::usage(format!(
            "there is no module `{module}`; there are {}",
            names.join(", ")
        )));
    }
    Ok(chosen)
}

/// Progress over keys, on a terminal only: elsewhere it is noise.
pub(crate) fn keys_bar(global: &crate::cli::Global, total: u64) -> indicatif::ProgressBar {
    use std::io::IsTerminal as _;
    if global.quiet || !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(total);
    let style =
        indicatif::ProgressStyle::with_template("{bar:30} {pos} of {len} keys, {per_sec}, {msg}");
    bar.set_style(style.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()));
    bar
}

/// Progress over bytes whose number nobody knows, on a terminal only.
pub(crate) fn bytes_bar(global: &crate::cli::Global) -> indicatif::ProgressBar {
    let bar = keys_bar(global, 0);
    let style = indicatif::ProgressStyle::with_template("{spinner} {bytes}, {bytes_per_sec}");
    bar.set_style(style.unwrap_or_else(|_| indicatif::ProgressStyle::default_spinner()));
    bar
}

/// A runtime for a verb that waits for answers; Ctrl-C ends it with 130.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    wait_or(work, std::future::ready(()))
}

/// How long a verb takes at most to end what it began elsewhere.
const GOODBYE: std::time::Duration = std::time::Duration::from_secs(2);

/// The same; after Ctrl-C `goodbye` ends what the verb began elsewhere.
pub(crate) fn wait_or<T>(
    work: impl Future<Output = Result<T, Failure>>,
    goodbye: impl Future<Output = ()>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    runtime.block_on(async {
        tokio::select! {
            done = work => done,
            _ = tokio::signal::ctrl_c() => {
                let _ = tokio::time::timeout(GOODBYE, goodbye).await;
                Err(Failure::interrupted("interrupted"))
            }
        }
    })
}
