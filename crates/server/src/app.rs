//! One running server: its settings, store, modules and tables, and the router built from them. Layers, from
//! outside in: ids and headers, error dialects, panics, time limit, who calls, then routes with their access.

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, Method};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use kernel::{Clock, Store};
use metrics_exporter_prometheus::PrometheusHandle;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;

use crate::access::{ACCESS, Table};
use crate::backups::Backups;
use crate::checks::Checks;
use crate::history::Histories;
use crate::hub::Hub;
use crate::keyspace::Keyspace;
use crate::limits::Limits;
use crate::modules::{self, Module};
use crate::reply::{self, Refusal};
use crate::settings::{Demo, Settings};
use crate::{authorise, caller, guard, measure, pages, routes};

/// Everything a handler may need. Shared by all requests and loops.
pub struct App {
    /// All settings.
    pub settings: Settings,
    store: Arc<dyn Store>,
    /// The store's time.
    pub clock: Arc<dyn Clock>,
    /// The modules that run.
    pub modules: Vec<&'static Module>,
    /// Rates and counts.
    pub limits: Limits,
    /// Definitions and counts of keys.
    pub keyspace: Arc<Keyspace>,
    /// The consistency check.
    pub checks: Checks,
    /// Backups for those who ask.
    pub backups: Backups,
    /// Events for sockets.
    pub hub: Arc<Hub>,
    /// Histories for the charts.
    pub(crate) histories: Histories,
    /// This server among those that share the store.
    pub server_id: String,
    /// Cancelled when the server begins to stop: not ready, sockets say goodbye, loops end.
    pub stopping: CancellationToken,
    /// Loops and sockets, waited for at the end.
    pub tasks: TaskTracker,
    /// Unix milliseconds of the start.
    pub started_at: u64,
    /// Set at the stop: whether no other server shares the store any more.
    pub was_last: AtomicBool,
    /// The address where guests of the party reach this server, when it has a listener for them.
    pub party_url: OnceLock<String>,
    pub(crate) started: Instant,
    pub(crate) access: Table,
    paths: HashSet<String>,
    pub(crate) admin_token: Option<String>,
    pub(crate) origins: Vec<String>,
    trusted_proxies: Vec<IpAddr>,
    pub(crate) loopback_admin: bool,
    pub(crate) openapi: Bytes,
    pub(crate) metrics: PrometheusHandle,
    kept: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl App {
    /// Puts a server together. Refuses settings that cannot work, with a sentence.
    pub fn new(
        settings: Settings,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, String> {
        let modules = modules::choose(&settings.server.modules)?;
        let proxies = &settings.server.trusted_proxies;
        let trusted_proxies = proxies
            .iter()
            .map(|text| {
                text.parse().map_err(|_| format!("trusted_proxies: `{text}` is not an IP address"))
            })
            .collect::<Result<Vec<IpAddr>, String>>()?;
        let admin_token = settings.server.admin_token.clone();
        if let Some(token) = &admin_token {
            check_admin_token(token)?;
        }
        let (_, api) = api_router(&modules).split_for_parts();
        let rows = || ACCESS.iter().chain(modules.iter().flat_map(|module| module.access));
        let access = Table::new(rows());
        check_access(&api, &access);
        let stopping = CancellationToken::new();
        let metrics = measure::recorder();
        let names: Vec<&str> = modules.iter().map(|module| module.name).collect();
        measure::begin(&names, &settings.jobs.namespaces);
        let keyspace = Arc::new(Keyspace::new(&settings));
        let feeds = modules
            .iter()
            .flat_map(|m| m.streams.feeds(m.name, &settings, keyspace.layout))
            .collect();
        Ok(Arc::new(App {
            hub: Hub::new(Arc::clone(&store), feeds, stopping.clone()),
            limits: Limits::new(&settings),
            keyspace,
            server_id: uuid::Uuid::now_v7().to_string(),
            checks: Checks::default(),
            backups: Backups::default(),
            histories: Histories::default(),
            store,
            stopping,
            tasks: TaskTracker::new(),
            started_at: clock.now_ms(),
            clock,
            was_last: AtomicBool::new(false),
            party_url: OnceLock::new(),
            started: Instant::now(),
            paths: rows().map(|row| row.path.to_owned()).collect(),
            access,
            admin_token,
            origins: settings.server.origins.clone(),
            trusted_proxies,
            loopback_admin: settings.server.loopback_admin,
            openapi: openapi_text(&api).into(),
            metrics,
            kept: Mutex::default(),
            modules,
            settings,
        }))
    }

    /// The data.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Unix milliseconds by the store's clock.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// The data, to keep.
    pub fn shared_store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// The socket's address, or what a trusted proxy says of it: the last address that is not a proxy itself.
    pub(crate) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusted_proxies.contains(&peer) {
            return peer;
        }
        let hops: Vec<IpAddr> = headers
            .get_all("x-forwarded-for")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map_while(|hop| hop.trim().parse::<IpAddr>().ok())
            .map(|hop| hop.to_canonical())
            .collect();
        hops.iter().rev().find(|hop| !self.trusted_proxies.contains(hop)).copied().unwrap_or(peer)
    }

    pub(crate) fn access_has_path(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Whether to start the demo world: as set, by default only with the embedded engine, so that nobody's Redis
    /// fills with samples.
    pub fn demo(&self) -> bool {
        match self.settings.server.demo {
            Demo::On => true,
            Demo::Off => false,
            Demo::Auto => self.store.status().kind == kernel::Kind::Embedded,
        }
    }

    /// A value that a module keeps as long as the server lives: handles, rings, counters. One per type, made at the
    /// first use; `make` must be quick and must not ask for another.
    pub fn kept<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut kept = self.kept.lock();
        let any = kept.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(make()));
        Arc::clone(any).downcast::<T>().expect("each entry stands under its own type")
    }

    /// Whether a module runs here.
    pub fn runs(&self, module: &str) -> bool {
        self.modules.iter().any(|one| one.name == module)
    }
}

fn check_admin_token(token: &str) -> Result<(), String> {
    // Short or guessable secrets are refused: this one opens everything. 40 is `wk_` and about 220 bits.
    if crate::tokens::plausible(token) && token.len() >= 40 {
        return Ok(());
    }
    Err("admin_token must start with wk_ and have 40 to 128 printable characters; \
         make one with: echo wk_$(openssl rand -hex 32)"
        .into())
}

fn api_router(modules: &[&'static Module]) -> OpenApiRouter<Arc<App>> {
    let core = OpenApiRouter::with_openapi(routes::document()).merge(routes::core());
    modules.iter().fold(core, |router, module| router.merge((module.routes)()))
}

/// The `OpenAPI` document of the server with all its modules.
pub fn openapi() -> utoipa::openapi::OpenApi {
    api_router(&modules::MODULES.iter().collect::<Vec<_>>()).into_openapi()
}

/// The document as it is served and committed: `{*key}` is the router's word for a last part with slashes.
pub fn openapi_text(api: &utoipa::openapi::OpenApi) -> String {
    let text = api.to_pretty_json().expect("an OpenAPI document is plain data");
    text.replace("{*key}", "{key}") + "\n"
}

/// A route that nobody decided about is a bug, found at the first start.
fn check_access(api: &utoipa::openapi::OpenApi, access: &Table) {
    for (method, path) in operations(api) {
        assert!(
            access.row(&method, &path).is_some(),
            "{method} {path} has no row in the access table"
        );
    }
}

const METHODS: &[&str] = &["get", "put", "post", "delete", "patch", "head", "options"];

/// Every method and path of a document.
pub fn operations(api: &utoipa::openapi::OpenApi) -> Vec<(String, String)> {
    let json = serde_json::to_value(api).expect("an OpenAPI document is plain data");
    let paths = json["paths"].as_object().cloned().unwrap_or_default();
    paths
        .iter()
        .flat_map(|(path, item)| {
            METHODS
                .iter()
                .filter(|method| item.get(**method).is_some())
                .map(move |method| (method.to_uppercase(), path.clone()))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The whole service: routes, pages, layers.
pub fn router(app: &Arc<App>) -> Router {
    let (api, _) = api_router(&app.modules).split_for_parts();
    let routed = api
        .route_layer(from_fn_with_state(Arc::clone(app), authorise::authorise))
        .route_layer(from_fn(guard::note_route));
    let pages = Router::new().fallback(pages::fallback).with_state(Arc::clone(app));
    routed
        .fallback_service(pages)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(app.settings.limits.body_bytes))
        .layer(from_fn_with_state(Arc::clone(app), caller::identify))
        .layer(from_fn_with_state(Arc::clone(app), time_limit))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(reply::speak))
        .layer(from_fn(guard::outer))
        .with_state(Arc::clone(app))
}

/// Guests do not learn which paths there are.
async fn wrong_method(request: Request) -> Refusal {
    let is_guest = crate::party::is_guest(request.extensions());
    Refusal::from(if is_guest { reply::NOT_FOUND } else { reply::METHOD_NOT_ALLOWED })
}

/// No request takes longer than the setting. A check or a backup walks the whole store instead.
async fn time_limit(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let checks = path == "/api/check" && *request.method() == Method::POST;
    if checks || matches!(path, "/api/jobs:doctor" | "/api/backup") {
        return next.run(request).await;
    }
    let limit = Duration::from_millis(app.settings.limits.request_ms);
    if limit.is_zero() {
        return next.run(request).await;
    }
    // A caller that waits for a job waits as long as it wants.
    let measured = !path.ends_with(":wait") && !path.ends_with("/wait");
    let started = Instant::now();
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => {
            if measured {
                app.histories.requests.record(started.elapsed());
            }
            response
        }
        Err(_) => Refusal::from(reply::TIMEOUT).into_response(),
    }
}

#[allow(clippy::needless_pass_by_value)] // The layer hands it over so.
fn panicked(cause: Box<dyn Any + Send + 'static>) -> Response {
    let text = cause
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("unknown cause");
    tracing::error!(cause = text, "a handler panicked");
    metrics::counter!("worldkeep_panics_total").increment(1);
    Refusal::from(reply::INTERNAL).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn boom() -> Response {
        panic!("the secret cause")
    }

    #[tokio::test]
    async fn a_panic_ends_the_request_and_tells_nothing() {
        let router: Router = Router::new()
            .route("/api/worlds/boom", get(boom))
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn(reply::speak))
            .layer(from_fn(guard::outer));
        let request = Request::builder().uri("/api/worlds/boom").body(axum::body::Body::empty());
        let response = router.oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), 500);
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("\"INTERNAL\"") && !text.contains("secret cause"), "{text}");
    }
}
