//! Opens what a verb works on: a store by `--redis` or `--data`, else the running server by `--server`.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use kernel::{
    Answer, Cmd, Deadline, Fault, Kind, Message, Script, Session, Status, Store, Topic, Value,
};

use crate::cli::Global;
use crate::client::Client;
use crate::exit::Failure;

/// What a verb works on.
pub enum Target {
    /// A store opened here.
    Store(Arc<dyn Store>),
    /// The server that has it.
    Server(Client),
}

/// What a verb that needs state works on.
pub async fn target(global: &Global) -> Result<Target, Failure> {
    if global.redis.is_none() && global.data.is_none() {
        return Ok(Target::Server(Client::new(global)?));
    }
    store(global.redis.as_deref(), global.data.clone()).await.map(Target::Store)
}

/// Opens a store: a URL, else a directory, else the user's data directory.
pub async fn store(redis: Option<&str>, data: Option<PathBuf>) -> Result<Arc<dyn Store>, Failure> {
    let place = match (redis, data) {
        (Some(url), _) => link::Place::parse(url)?,
        (None, Some(dir)) => link::Place::Directory(dir),
        (None, None) => link::Place::Directory(data_dir()?),
    };
    if let link::Place::Directory(dir) = &place {
        return Ok(Arc::new(Absent { place: dir.display().to_string() }));
    }
    Ok(link::open_place(&place, link::Options::default()).await?)
}

impl From<link::OpenError> for Failure {
    fn from(error: link::OpenError) -> Self {
        Failure { code: error.exit_code(), message: error.to_string() }
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

/// Stands in until `link` opens stores: every call says that there is none.
struct Absent {
    place: String,
}

fn none() -> Fault {
    Fault::Unavailable("this build opens no store yet".into())
}

impl Store for Absent {
    fn call<'a>(&'a self, _: &'a Cmd, _: Deadline) -> Answer<'a, Value> {
        Answer::ready(Err(none()))
    }

    fn pipeline<'a>(&'a self, _: &'a [Cmd], _: Deadline) -> Answer<'a, Vec<Result<Value, Fault>>> {
        Answer::ready(Err(none()))
    }

    fn script<'a>(
        &'a self,
        _: &'static Script,
        _: &'a [&'a [u8]],
        _: &'a [&'a [u8]],
        _: Deadline,
    ) -> Answer<'a, Value> {
        Answer::ready(Err(none()))
    }

    fn session<'a>(&'a self, _: &'a [u8], _: Deadline) -> Answer<'a, Box<dyn Session>> {
        Answer::ready(Err(none()))
    }

    fn subscribe<'a>(
        &'a self,
        _: &'a [Topic],
        _: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        Answer::ready(Err(none()))
    }

    fn status(&self) -> Status {
        Status {
            kind: Kind::Embedded,
            place: self.place.clone(),
            server: "none".into(),
            up: false,
            since_ms: 0,
            reason: Some("this build opens no store yet".into()),
            reconnects: 0,
            persistence: "none".into(),
            eviction: "noeviction".into(),
            warnings: Vec::new(),
        }
    }
}
