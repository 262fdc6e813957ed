//! Players and who is online, opened when they are first needed: the database may be a file, PostgreSQL or memory.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use galaxy::{
    AccountError, Accounts, DatabaseAddress, FleetError, Fleets, Online, SnapshotError, Snapshots,
};
use kernel::{Event, Kind, Refuses as _, Status};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::gateway::Gateway;
use super::{errors, notices};
use crate::app::App;
use crate::caller::Player;
use crate::reply::{self, Refusal};
use crate::settings::Settings;

/// How long sockets may take to say goodbye at the stop.
const GOODBYE: Duration = Duration::from_secs(3);

/// The address of a store's database: by its URL, in the data directory, or with the embedded engine's own data.
pub fn database_place(settings: &Settings, status: &Status) -> DatabaseAddress {
    if let Some(url) = settings.galaxy.database_url.as_deref() {
        return DatabaseAddress::choose(Some(url), None);
    }
    let dir = match (settings.server.data.as_deref(), status.kind) {
        (Some(dir), _) => Some(PathBuf::from(dir)),
        (None, Kind::Embedded) => Some(PathBuf::from(&status.address)),
        // Each store has accounts of its own.
        (None, _) => user_dir().map(|dir| dir.join(folder(&status.address))),
    };
    let dir = dir.filter(|dir| dir.as_os_str() != "memory");
    DatabaseAddress::choose(None, dir.as_deref())
}

/// The same, where its directory exists.
fn place(app: &App) -> Result<DatabaseAddress, String> {
    let place = database_place(&app.settings, &app.store().status());
    if let DatabaseAddress::File(file) = &place
        && let Some(dir) = file.parent()
    {
        std::fs::create_dir_all(dir).map_err(|error| {
            format!("cannot make {}: {error}; name another with --data", dir.display())
        })?;
    }
    Ok(place)
}

/// The address of a store as the name of a directory.
fn folder(place: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let name: String = place.chars().map(plain).collect();
    name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// The directory of a user's data; the command line uses the same for the embedded engine.
fn user_dir() -> Option<PathBuf> {
    let var = |name| std::env::var_os(name).filter(|text| !text.is_empty()).map(PathBuf::from);
    let base = var("XDG_DATA_HOME").or_else(|| Some(var("HOME")?.join(".local/share")))?;
    Some(base.join("worldkeep"))
}

impl Gateway {
    /// The players' fleets.
    pub(crate) async fn fleets(&self, app: &App) -> Result<&Fleets, Refusal> {
        self.fleets.get_or_try_init(|| self.open(app)).await.map_err(|why| {
            database_fails(&why);
            Refusal::new(
                reply::STORE_UNAVAILABLE,
                "the accounts cannot be reached; the log says why",
            )
            .details(json!({ "outcome": "not_sent" }))
            .retry_after(5)
        })
    }

    /// The same for the start of the server: a sentence.
    pub(crate) async fn open_accounts(&self, app: &App) -> Result<(), String> {
        self.fleets.get_or_try_init(|| self.open(app)).await.map(drop)
    }

    async fn open(&self, app: &App) -> Result<Fleets, String> {
        let key = app.settings.server.jwt_key.as_deref();
        let accounts = Accounts::open(place(app)?, Arc::clone(&app.clock), key);
        let accounts = accounts.await.map_err(|error| error.to_string())?;
        let tied = accounts.tie(app.store(), self.keys).await.map_err(|error| error.to_string())?;
        self.identity.get_or_init(async || tied).await;
        let first = (
            app.settings.galaxy.admin_user.as_deref(),
            app.settings.galaxy.admin_password.as_deref(),
        );
        if let (Some(user), Some(password)) = first {
            match accounts.first_admin(user, password).await {
                Ok(Some(_)) => tracing::info!(user, "the first admin was made"),
                Ok(None) => {}
                Err(error) => return Err(format!("galaxy.admin_user: {error}")),
            }
        }
        Ok(Fleets::new(
            Arc::new(accounts),
            app.shared_store(),
            Arc::clone(&app.clock),
            self.keys,
            Arc::clone(&self.orders),
        ))
    }

    /// The snapshots of this world, in the accounts' database.
    pub(crate) async fn snapshots(&self, app: &App) -> Result<&Arc<Snapshots>, Refusal> {
        let database = self.fleets(app).await?.accounts().database().clone();
        let make = async || {
            Snapshots::new(database, app.shared_store(), Arc::clone(&app.clock), self.keys)
        };
        Ok(self.snapshots.get_or_init(make).await)
    }

    /// The snapshot that is being put back, if one is.
    pub(crate) async fn restoring(&self, app: &App) -> Result<Option<String>, Refusal> {
        let key = self.keys.restoring();
        let reply = crate::wire::call(app.store(), &["GET", key.as_str()]).await?;
        Ok(kernel::reply::text(&reply).map(str::to_owned))
    }

    /// Everybody who is online, on all servers.
    pub(crate) async fn online(&self, app: &App) -> Result<&Arc<Online>, Refusal> {
        let start = || Online::start(app.shared_store(), self.keys, Arc::clone(&app.clock));
        Ok(self.online.get_or_try_init(start).await?)
    }

    /// Tells the player's sockets, here at once and on every server, to look whether their login has ended.
    pub(crate) async fn end_logins(&self, app: &App, player: Uuid) {
        let _ = self
            .notices
            .send(notices::Notice { to: Some(player), what: notices::What::LoginEnded });
        self.announce(app, notices::LOGIN_ENDED, player, None).await;
    }

    /// Tells every server that a player came or left, or that a login ended.
    pub(crate) async fn announce(
        &self,
        app: &App,
        kind: &str,
        player: Uuid,
        username: Option<&str>,
    ) {
        let body = json!({ "player_id": player, "username": username });
        let id = player.to_string();
        let event = Event::new(kind, app.now_ms(), &id, &body, kernel::numbers::Dialect::Python);
        let Ok(event) = event else { return };
        let add = event.append_to(self.keys.players_events()).cmd();
        let by = kernel::Deadline::after(crate::wire::CALL);
        if let Err(fault) = app.store().call(&add, by).await {
            tracing::debug!(%fault, kind, "telling other servers of a player");
        }
    }
}

/// Whose a player's token is.
pub(crate) async fn whose(app: Arc<App>, token: String) -> Result<Player, Refusal> {
    let gateway = super::gateway::of(&app);
    let player = gateway.fleets(&app).await?.accounts().whose(&token).await.map_err(account)?;
    FAILS.store(false, Ordering::Relaxed);
    Ok(Player { id: player.id, username: player.username, is_admin: player.is_admin })
}

/// Whether the database of accounts failed last, which was told.
static FAILS: AtomicBool = AtomicBool::new(false);

fn database_fails(error: &dyn std::fmt::Display) {
    if FAILS.swap(true, Ordering::Relaxed) {
        tracing::debug!(%error, "the accounts' database still fails");
    } else {
        tracing::error!(%error, "the accounts' database failed");
    }
}

/// A refusal of the accounts.
#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
pub(crate) fn account(error: AccountError) -> Refusal {
    if error.def().is_some() {
        return Refusal::of(&error);
    }
    database_fails(&error);
    Refusal::new(reply::STORE_UNAVAILABLE, "the accounts' database does not answer")
        .details(json!({ "outcome": "unknown" }))
        .retry_after(1)
}

/// A refusal of the snapshots.
#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
pub(crate) fn snapshot(error: SnapshotError) -> Refusal {
    match error {
        SnapshotError::Fault(fault) => fault.into(),
        SnapshotError::Missing(_) => Refusal::new(reply::NOT_FOUND, error.to_string()),
        SnapshotError::Unusable(_) => Refusal::new(reply::CONFLICT, error.to_string()),
        SnapshotError::Database(_) => {
            database_fails(&error);
            Refusal::new(reply::STORE_UNAVAILABLE, "the snapshots' database does not answer")
                .details(json!({ "outcome": "unknown" }))
                .retry_after(1)
        }
    }
}

/// A refusal of a fleet.
pub(crate) fn fleet(error: FleetError) -> Refusal {
    match error {
        FleetError::Account(error) => account(error),
        FleetError::Order(told) => errors::refusal(told),
        FleetError::Fault(fault) => fault.into(),
    }
}

/// Keeps this server's sockets counted, and takes back those of servers that died.
pub(crate) async fn presence(app: Arc<App>, stop: CancellationToken) {
    if !app.settings.galaxy.gateway {
        return;
    }
    let gateway = super::gateway::of(&app);
    let online = loop {
        match gateway.online(&app).await {
            Ok(online) => break online,
            Err(refusal) => {
                tracing::debug!(why = refusal.message, "who is online is not known yet");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = app.clock.sleep(galaxy::ONLINE_BEAT) => {}
        }
    };
    // The sockets go first and tell it themselves; what they leave is taken back after them.
    let last = CancellationToken::new();
    let goodbye = async {
        stop.cancelled().await;
        let mut sockets = gateway.sockets.subscribe();
        if tokio::time::timeout(GOODBYE, sockets.wait_for(|count| *count == 0)).await.is_err() {
            tracing::warn!("sockets of the galaxy did not go in time");
        }
        last.cancel();
    };
    let told = Arc::clone(&app);
    let left = |player| {
        let app = Arc::clone(&told);
        told.tasks.spawn(async move {
            super::gateway::of(&app).announce(&app, notices::LEFT, player, None).await;
        });
    };
    tokio::join!(online.run(last.clone(), left), goodbye);
}
