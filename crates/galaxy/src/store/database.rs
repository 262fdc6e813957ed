//! The database, which outlives the store: accounts and snapshots, in one SQLite file or in
//! PostgreSQL.
//!
//! Every statement is written once, in PostgreSQL's words; for SQLite the casts and row locks are
//! left out, which it does not need. Tables are made at opening and never changed by it. A password
//! of the URL is never shown.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use jiff::Timestamp;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

/// How long a caller waits for a connection, and a writer of SQLite for another.
const PATIENCE: Duration = Duration::from_secs(5);
/// The file in the data directory.
const FILE: &str = "galaxy.db";
/// Held while tables are made, so that two servers that start at once do not both make them.
const SCHEMA_LOCK: &str = "SELECT pg_advisory_xact_lock(2002)";

/// The address of the database.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseAddress {
    /// Nowhere: gone with the process.
    Memory,
    /// One SQLite file.
    File(PathBuf),
    /// `postgres://user:password@host/name`.
    Postgres(String),
}

impl DatabaseAddress {
    /// A URL wins; without one a file in the data directory; without that, memory.
    pub fn choose(url: Option<&str>, dir: Option<&Path>) -> DatabaseAddress {
        match (url, dir) {
            (Some(url), _) => DatabaseAddress::Postgres(url.to_owned()),
            (None, Some(dir)) => DatabaseAddress::File(dir.join(FILE)),
            (None, None) => DatabaseAddress::Memory,
        }
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseAddress::Memory => f.write_str("memory"),
            DatabaseAddress::File(path) => path.display().fmt(f),
            // Without what stands before the `@`: user and password.
            DatabaseAddress::Postgres(url) => {
                write!(f, "postgres://{}", url.rsplit_once('@').map_or("…", |(_, rest)| rest))
            }
        }
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// At the start.
    #[error("the database at {place} cannot be opened: {reason}; check its address and rights")]
    Open {
        /// The address that was tried.
        place: String,
        /// The database's answer.
        reason: String,
    },
    /// Later.
    #[error("the database failed: {0}")]
    Failed(#[from] sqlx::Error),
    /// A stored value that cannot be.
    #[error("a stored {what} cannot be read: {value:?}")]
    Corrupt {
        /// Which kind of value.
        what: &'static str,
        /// As it is stored.
        value: String,
    },
}

impl DatabaseError {
    /// Whether a row like it exists already.
    pub(crate) fn is_taken(error: &sqlx::Error) -> bool {
        error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
    }
}

/// An open database; cheap to clone.
#[derive(Clone)]
pub struct Database {
    pub(crate) pool: Pool,
    place: DatabaseAddress,
}

#[derive(Clone)]
pub(crate) enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// Runs the same words against whichever pool there is.
macro_rules! on {
    ($database:expr, $pool:ident => $body:expr) => {
        match &$database.pool {
            $crate::store::database::Pool::Sqlite($pool) => $body,
            $crate::store::database::Pool::Postgres($pool) => $body,
        }
    };
}
pub(crate) use on;

impl Database {
    /// Opens it and makes the tables that are missing.
    pub async fn open(place: DatabaseAddress) -> Result<Database, DatabaseError> {
        let failed = |error: &sqlx::Error| DatabaseError::Open {
            place: place.to_string(),
            reason: error.to_string(),
        };
        let pool = connect(&place).await.map_err(|error| failed(&error))?;
        let database = Database { pool, place: place.clone() };
        database.make_tables().await.map_err(|error| failed(&error))?;
        Ok(database)
    }

    /// The address of the database, without password.
    pub fn place(&self) -> &DatabaseAddress {
        &self.place
    }

    /// Writes a copy of a SQLite database to a new file, as it is at one moment; servers may go on using it. False for
    /// PostgreSQL, which has tools of its own.
    pub async fn copy_to(&self, path: &Path) -> Result<bool, DatabaseError> {
        let Pool::Sqlite(pool) = &self.pool else { return Ok(false) };
        let path = path.to_string_lossy().into_owned();
        sqlx::query("VACUUM INTO ?").bind(path).execute(pool).await?;
        Ok(true)
    }

    /// Waits for what is under way and closes.
    pub async fn close(&self) {
        on!(self, pool => pool.close().await);
    }

    async fn make_tables(&self) -> Result<(), sqlx::Error> {
        let tables = match self.pool {
            Pool::Sqlite(_) => SQLITE,
            Pool::Postgres(_) => POSTGRES,
        };
        on!(self, pool => {
            let mut step = pool.begin_with(self.begin()).await?;
            for statement in tables {
                sqlx::query(*statement).execute(&mut *step).await?;
            }
            step.commit().await
        })
    }

    /// How a step that writes begins: SQLite's must say at once that it will.
    pub(crate) fn begin(&self) -> &'static str {
        match self.pool {
            Pool::Sqlite(_) => "BEGIN IMMEDIATE",
            Pool::Postgres(_) => "BEGIN",
        }
    }

    /// The statement in the words of this database. `@column` is a time to be read.
    pub(crate) fn sql(&self, statement: &'static str) -> AssertSqlSafe<Cow<'static, str>> {
        AssertSqlSafe(match self.pool {
            Pool::Sqlite(_) => Cow::Owned(for_sqlite(statement)),
            Pool::Postgres(_) if statement.contains('@') => Cow::Owned(with_times(statement)),
            Pool::Postgres(_) => Cow::Borrowed(statement),
        })
    }
}

async fn connect(place: &DatabaseAddress) -> Result<Pool, sqlx::Error> {
    let sqlite = |options: SqliteConnectOptions| options.foreign_keys(true).busy_timeout(PATIENCE);
    match place {
        // One connection that is never closed: the data lives in it.
        DatabaseAddress::Memory => {
            let options = sqlite(SqliteConnectOptions::new().in_memory(true));
            let pool = SqlitePoolOptions::new()
                .max_connections(1)
                .min_connections(1)
                .idle_timeout(None)
                .max_lifetime(None)
                .acquire_timeout(PATIENCE);
            pool.connect_with(options).await.map(Pool::Sqlite)
        }
        DatabaseAddress::File(path) => {
            let options = SqliteConnectOptions::new()
                .filename(path)
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Normal);
            let pool = SqlitePoolOptions::new().max_connections(4).acquire_timeout(PATIENCE);
            pool.connect_with(sqlite(options)).await.map(Pool::Sqlite)
        }
        DatabaseAddress::Postgres(url) => {
            let options = PgConnectOptions::from_str(url)?.application_name("worldkeep");
            let pool = PgPoolOptions::new().max_connections(8).acquire_timeout(PATIENCE);
            pool.connect_with(options).await.map(Pool::Postgres)
        }
    }
}

/// Without casts (`::uuid`), row locks and the marks of times: SQLite stores all of that as text.
fn for_sqlite(statement: &str) -> String {
    let mut out = String::with_capacity(statement.len());
    let mut rest = statement;
    while let Some((before, after)) = rest.split_once("::") {
        out.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_lowercase());
    }
    out.push_str(rest);
    out.replace(" FOR UPDATE", "").replace('@', "")
}

/// `@created_at` as the text that SQLite holds.
fn with_times(statement: &str) -> String {
    let mut parts = statement.split('@');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(part.len());
        let (column, rest) = part.split_at(end);
        out.push_str("to_char(");
        out.push_str(column);
        out.push_str(" AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS ");
        out.push_str(column);
        out.push_str(rest);
    }
    out
}

/// A time as it is stored: microseconds, always six digits, so that text sorts as time does.
pub(crate) fn time_text(at: Timestamp) -> String {
    format!("{at:.6}")
}

/// Unix milliseconds as a time.
pub(crate) fn at_ms(now_ms: u64) -> Timestamp {
    i64::try_from(now_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .unwrap_or_default()
}

/// Reads a stored time.
pub(crate) fn read_time(text: &str) -> Result<Timestamp, DatabaseError> {
    text.parse().map_err(|_| DatabaseError::Corrupt { what: "time", value: text.to_owned() })
}

const POSTGRES: &[&str] = &[
    SCHEMA_LOCK,
    "CREATE TABLE IF NOT EXISTS players (
        id uuid PRIMARY KEY,
        username varchar(20) NOT NULL UNIQUE,
        password_hash varchar(255) NOT NULL,
        is_admin boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE IF NOT EXISTS ships (
        id uuid PRIMARY KEY,
        player_id uuid NOT NULL REFERENCES players (id) ON DELETE CASCADE,
        name varchar(32) NOT NULL,
        ship_class varchar(32) NOT NULL DEFAULT 'fast_frigate',
        system_id varchar(32) NOT NULL DEFAULT 'sol',
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (player_id, name))",
    "CREATE INDEX IF NOT EXISTS ships_of_player ON ships (player_id, created_at)",
    "CREATE INDEX IF NOT EXISTS ships_of_system ON ships (system_id)",
    "CREATE TABLE IF NOT EXISTS snapshots (
        id serial PRIMARY KEY,
        tick_number bigint NOT NULL,
        game_time timestamptz NOT NULL,
        state jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now())",
    "CREATE INDEX IF NOT EXISTS snapshots_by_tick ON snapshots (tick_number DESC)",
    "CREATE TABLE IF NOT EXISTS worldkeep_secrets (name varchar(64) PRIMARY KEY, value text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ended_logins (login varchar(64) PRIMARY KEY, forget_at bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS logins_since (
        player_id uuid PRIMARY KEY REFERENCES players (id) ON DELETE CASCADE,
        since_ms bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS worldkeep_unfinished (
        player_id uuid PRIMARY KEY REFERENCES players (id) ON DELETE CASCADE)",
];

const SQLITE: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS players (
        id TEXT PRIMARY KEY,
        username TEXT NOT NULL UNIQUE,
        password_hash TEXT NOT NULL,
        is_admin BOOLEAN NOT NULL DEFAULT false,
        created_at TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ships (
        id TEXT PRIMARY KEY,
        player_id TEXT NOT NULL REFERENCES players (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        ship_class TEXT NOT NULL DEFAULT 'fast_frigate',
        system_id TEXT NOT NULL DEFAULT 'sol',
        created_at TEXT NOT NULL,
        UNIQUE (player_id, name))",
    "CREATE INDEX IF NOT EXISTS ships_of_player ON ships (player_id, created_at)",
    "CREATE INDEX IF NOT EXISTS ships_of_system ON ships (system_id)",
    "CREATE TABLE IF NOT EXISTS snapshots (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        tick_number INTEGER NOT NULL,
        game_time TEXT NOT NULL,
        state TEXT NOT NULL,
        created_at TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS snapshots_by_tick ON snapshots (tick_number DESC)",
    "CREATE TABLE IF NOT EXISTS worldkeep_secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ended_logins (login TEXT PRIMARY KEY, forget_at INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS logins_since (
        player_id TEXT PRIMARY KEY REFERENCES players (id) ON DELETE CASCADE,
        since_ms INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS worldkeep_unfinished (
        player_id TEXT PRIMARY KEY REFERENCES players (id) ON DELETE CASCADE)",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_gets_the_same_words_without_casts_and_locks() {
        assert_eq!(
            for_sqlite("SELECT id::text, @created_at FROM ships WHERE id = $1::uuid FOR UPDATE"),
            "SELECT id, created_at FROM ships WHERE id = $1"
        );
    }

    #[test]
    fn a_place_is_shown_without_its_password() {
        let place =
            DatabaseAddress::Postgres("postgres://ann:hush@db.example:5432/galaxy".to_owned());
        assert_eq!(format!("{place} {place:?}").matches("hush").count(), 0);
        assert_eq!(place.to_string(), "postgres://db.example:5432/galaxy");
        assert_eq!(
            DatabaseAddress::Postgres("postgres:///x?password=hush".into()).to_string(),
            "postgres://…"
        );
    }
}
