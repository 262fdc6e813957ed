//! Opens the state that a verb works on: a store by `--redis` or `--data`, else the running server
//! by `--server`.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use kernel::Store;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Global;
use crate::client::Client;
use crate::exit::Failure;

/// The state that a verb works on.
pub enum Target {
    /// A store opened here.
    Store(Arc<dyn Store>),
    /// The server that has it.
    Server(Client),
}

/// Opens the state that a verb works on.
pub async fn target(global: &Global) -> Result<Target, Failure> {
    if global.redis.is_none() && global.data.is_none() {
        return Ok(Target::Server(Client::new(global)?));
    }
    let opened = store(global.redis.as_deref(), global.data.clone(), Absent::Refuse).await?;
    Ok(Target::Store(opened.store))
}

/// A store, and the engine when it is in this process.
pub struct Opened {
    /// As every verb uses it.
    pub store: Arc<dyn Store>,
    /// To listen on RESP with.
    pub embedded: Option<link::Embedded>,
}

/// The way to treat a directory without a store. Only the server makes a store there: for any other
/// verb such a directory is a wrong one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// It gets one.
    Make,
    /// It is left as it is, and the verb fails.
    Refuse,
}

/// Opens a store: a URL, else a directory (or the word `memory`), else the user's data directory.
pub async fn store(
    redis: Option<&str>,
    data: Option<PathBuf>,
    absent: Absent,
) -> Result<Opened, Failure> {
    let dir = match (redis, data) {
        (Some(url), _) => {
            let place = link::Address::parse(url)?;
            let options = link::Options { make: absent == Absent::Make, ..Default::default() };
            let store = link::open_address(&place, options).await?;
            return Ok(Opened { store, embedded: None });
        }
        (None, Some(dir)) => dir,
        (None, None) => data_dir()?,
    };
    outlive_file_limits();
    let embedded = match absent {
        _ if dir.as_os_str() == "memory" => link::Embedded::memory(),
        Absent::Make => link::Embedded::open(&dir)?,
        Absent::Refuse => link::Embedded::open_existing(&dir)?,
    };
    Ok(Opened { store: embedded.store(), embedded: Some(embedded) })
}

/// A file that may not grow any more (`ulimit -f`) is an error like a full disk, and not the end of the process: a signal
/// that somebody listens to does not kill.
fn outlive_file_limits() {
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    if let Err(error) = signal(kind) {
        tracing::warn!(%error, "a file that reaches its limit will end this process");
    }
}

impl From<link::OpenError> for Failure {
    fn from(error: link::OpenError) -> Self {
        Failure { code: error.exit_code(), message: error.to_string(), word: None }
    }
}

/// The user's data directory for us.
pub fn data_dir() -> Result<PathBuf, Failure> {
    let var =
        |name: &str| std::env::var_os(name).filter(|text| !text.is_empty()).map(PathBuf::from);
    let base = if cfg!(target_os = "macos") {
        var("HOME").map(|home| home.join("Library/Application Support"))
    } else if cfg!(windows) {
        var("LOCALAPPDATA")
    } else {
        var("XDG_DATA_HOME")
            .filter(|dir| dir.is_absolute())
            .or_else(|| var("HOME").map(|home| home.join(".local/share")))
    };
    base.map(|dir| dir.join("worldkeep")).ok_or_else(|| {
        Failure::usage(
            "there is no home directory to keep data in; name a directory with --data DIR",
        )
    })
}

/// Asks before something is destroyed. Without a terminal, only `--yes` will do.
pub fn confirm(global: &Global, what: &str) -> Result<(), Failure> {
    if global.yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(format!("this will {what}; add --yes to do it")));
    }
    let _ = write!(std::io::stderr(), "This will {what}. Go on? [y/N] ");
    let mut answer = String::new();
    let _ = std::io::stdin().read_line(&mut answer);
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(Failure::interrupted("nothing was changed"))
    }
}
