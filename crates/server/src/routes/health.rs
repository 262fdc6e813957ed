//! Is it alive, is it ready, what is it, how much. `/healthz` and `/metrics` never ask the store, and `/readyz` only what
//! is known of it already: all three answer at once whatever the store does.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kernel::Said;
use serde::Serialize;

use crate::app::App;
use crate::backups::BackupState;
use crate::gzip;
use crate::measure;
use crate::said::{self, SaidShape, Told};

/// Version of this build.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Version {
    name: &'static str,
    version: &'static str,
}

/// Whether the process is alive. Always 200, and never asks the store.
#[utoipa::path(get, path = "/healthz", tag = "server", security(()),
    responses((status = 200, description = "alive", body = String)))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Readiness, with reasons.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[allow(clippy::struct_field_names)] // Programs that wait for a start read this word.
pub(crate) struct Ready {
    ready: bool,
    /// Why not, in sentences; empty when ready.
    reasons: Vec<String>,
    /// The same for pages.
    #[schema(value_type = Vec<SaidShape>)]
    said: Vec<Said>,
}

/// Whether requests should be sent here: the store answers and takes writes, and the server is not stopping.
#[utoipa::path(get, path = "/readyz", tag = "server", security(()),
    responses((status = 200, body = Ready), (status = 503, body = Ready)))]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Response {
    let stopping = app.stopping.is_cancelled().then(|| said::STOPPING.say());
    let said: Vec<Said> = stopping.into_iter().chain(app.store().status().trouble()).collect();
    let reasons: Vec<String> = said.iter().map(Said::sentence).collect();
    let ready = reasons.is_empty();
    let code = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(Ready { ready, reasons, said })).into_response()
}

/// Name and version of this server.
#[utoipa::path(get, path = "/version", tag = "server", security(()),
    responses((status = 200, body = Version)))]
pub(crate) async fn version() -> Json<Version> {
    Json(Version { name: "worldkeep", version: env!("CARGO_PKG_VERSION") })
}

/// Numbers in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = 200, description = "Prometheus text", body = String)))]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    measure::sample(&app.store().status());
    let media = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, media)], app.metrics.render()).into_response()
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "server", security(()),
    responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
pub(crate) async fn openapi(State(app): State<Arc<App>>, asked: HeaderMap) -> Response {
    let media = HeaderValue::from_static("application/json");
    gzip::answer("openapi.json", app.openapi.clone(), media, &asked)
}

/// A store as the pages show it. Holds no secret.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct StoreStatus {
    /// `embedded`, `standalone`, `sentinel` or `cluster`.
    #[schema(value_type = String)]
    kind: kernel::Kind,
    /// The address, without password: a directory, `memory`, or an address.
    place: String,
    /// Program and version, such as `redis 7.0.15`.
    server: String,
    /// Whether the last try to reach it worked.
    up: bool,
    /// Unix milliseconds of the last change of `up`.
    since_ms: u64,
    /// Why it is down, when it is.
    reason: Option<String>,
    /// Why it answers and refuses every write, such as a full disk.
    refuses_writes: Option<String>,
    /// How often a connection was opened anew.
    reconnects: u64,
    /// In words: `append-only log, synced every second`, `none`.
    persistence: String,
    /// The same for pages.
    #[schema(value_type = SaidShape)]
    kept: Said,
    /// `maxmemory-policy`.
    eviction: String,
    /// The warnings, each with what to do about it.
    warnings: Vec<Told>,
}

impl From<kernel::Status> for StoreStatus {
    fn from(store: kernel::Status) -> Self {
        StoreStatus {
            kind: store.kind,
            place: store.address,
            server: store.server,
            up: store.up,
            since_ms: store.since_ms,
            reason: store.reason,
            refuses_writes: store.refuses_writes,
            reconnects: store.reconnects,
            persistence: store.persistence.sentence(),
            kept: store.persistence,
            eviction: store.eviction,
            warnings: store.warnings.into_iter().map(Told::from).collect(),
        }
    }
}

/// The content of the Health page.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Health {
    /// State in words.
    sentence: String,
    version: &'static str,
    /// Unix milliseconds.
    started_at: u64,
    uptime_ms: u64,
    /// Resident memory, where the system tells it.
    resident_bytes: Option<u64>,
    store: StoreStatus,
    /// Names of the modules that run here.
    modules: Vec<&'static str>,
    /// Names of the loops that run here.
    loops: Vec<&'static str>,
    /// Other servers that share the store; null when it does not say.
    other_servers: Option<usize>,
    /// Backups by setting; null where none are asked for, or while the store is away.
    backup: Option<BackupState>,
    stopping: bool,
}

/// Store, loops, memory and warnings of this server. Works from memory while the store is away.
#[utoipa::path(get, path = "/api/health", tag = "server", responses((status = 200, body = Health)))]
pub(crate) async fn health(State(app): State<Arc<App>>) -> Json<Health> {
    let store = app.store().status();
    // While the store is away this page answers from memory.
    let other_servers = if store.up { crate::presence::others(&app).await.ok() } else { None };
    let backup = if store.up { backup(&app).await } else { None };
    let late = backup.as_ref().and_then(|backup| backup.trouble(app.now_ms()));
    let sentence = match (store.trouble(), store.warnings.len() + usize::from(late.is_some())) {
        (Some(trouble), _) => as_sentence(&trouble.sentence()),
        (None, 0) => "All well.".to_owned(),
        (None, 1) => "Running. One thing deserves a look.".to_owned(),
        (None, many) => format!("Running. {many} things deserve a look."),
    };
    Json(Health {
        sentence,
        version: env!("CARGO_PKG_VERSION"),
        started_at: app.started_at,
        uptime_ms: u64::try_from(app.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        resident_bytes: measure::resident_bytes(),
        store: store.into(),
        modules: app.modules.iter().map(|module| module.name).collect(),
        loops: app.modules.iter().flat_map(|m| m.loops.iter().map(|one| one.name)).collect(),
        other_servers,
        backup,
        stopping: app.stopping.is_cancelled(),
    })
}

/// The state of backups by setting; nothing while the store does not say.
pub(super) async fn backup(app: &App) -> Option<BackupState> {
    let by = kernel::Deadline::after(std::time::Duration::from_secs(1));
    crate::backups::read(app.store(), &app.settings, by).await.ok().flatten()
}

/// With a capital letter and a full stop.
pub(super) fn as_sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

/// One setting as `worldkeep config show --json` prints it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ShownSetting {
    name: &'static str,
    /// Secrets are hidden.
    value: String,
    /// The source.
    source: String,
    says: &'static str,
}

/// Settings, each with its value and where it came from.
#[utoipa::path(get, path = "/api/config", tag = "server",
    responses((status = 200, body = Vec<ShownSetting>)))]
pub(crate) async fn config(State(app): State<Arc<App>>) -> Json<Vec<ShownSetting>> {
    let shown = app.settings.iter().map(|setting| ShownSetting {
        name: setting.def.name,
        value: setting.shown(),
        source: setting.source.to_string(),
        says: setting.def.says,
    });
    Json(shown.collect())
}
