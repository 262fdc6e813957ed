//! The common part of reactors and monsters on HTTP: the tenant of a request, the field of a path, JSON:API
//! documents in and out, paging, commands from streams, and what a stop means. Which tenant it is comes from
//! headers that are held against the caller's list, never from a body.

pub(crate) mod attributes;
pub(crate) mod commands;
pub mod demo;
pub(crate) mod document;
pub(crate) mod fields;
pub(crate) mod paging;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use field::{Bad, CatalogueError, Field, Tenant};
use kernel::{Fault, Refuses};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app::App;
use crate::modules::Streams;
use crate::reply::{self, Refusal};
use crate::settings::{settings, words};

/// The end of the worlds when the last server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnStop {
    /// The worlds are emptied.
    Teardown,
    /// The worlds stay.
    Keep,
}

words!(OnStop { "teardown" = Teardown, "keep" = Keep });

settings! {
    /// Settings of reactors and monsters together.
    pub struct WorldsSettings, names, "worlds." {
        on_stop: OnStop = "teardown",
            "what the last server to stop does with reactors and monsters, which their services call volatile";
    }
}

/// Whether the last server to stop has something to do.
pub(crate) fn asks_who_is_last(app: &App) -> bool {
    app.settings.worlds.on_stop == OnStop::Teardown
        && (app.runs("reactors") || app.runs("monsters"))
}

/// Whether a module empties its worlds now that this server has stopped.
pub(crate) fn tears_down(app: &App) -> bool {
    app.was_last.load(Ordering::Relaxed) && asks_who_is_last(app)
}

/// Reads a catalogue again when its files change, until the stop. A broken one is told, and the old one stays.
pub(crate) async fn keep_fresh(
    module: &'static str,
    refresh: impl Fn() -> Result<bool, CatalogueError> + Clone + Send + 'static,
    every: Duration,
    stop: CancellationToken,
) {
    let told = kernel::LogOnce::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        // Files may be on a slow disk: not on the threads that answer requests.
        match tokio::task::spawn_blocking(refresh.clone()).await {
            Ok(Ok(true)) => {
                told.well(module);
                tracing::info!(module, "the catalogue was read again");
            }
            Ok(Err(error)) if told.is_news(module, &error) => {
                tracing::warn!(module, %error, "the catalogue is wrong, the old one stays");
            }
            _ => {}
        }
    }
}

/// A fault as the worlds' routes answer it: a stored value that cannot be used is named by its key.
pub(crate) fn of_fault(fault: Fault) -> Refusal {
    match fault.naming_key() {
        Fault::Corrupt { key, detail } => {
            let says = format!("{key} {detail}; `worldkeep check` shows it");
            let mut refusal = Refusal::from(Fault::Corrupt { key: key.clone(), detail });
            refusal.message = says;
            refusal.details(json!({ "outcome": "not_done", "key": key }))
        }
        fault => fault.into(),
    }
}

/// The refusal of a module, as the worlds' routes answer it: its field is an attribute.
pub(crate) fn refused(error: &impl Refuses) -> Refusal {
    let mut refusal = Refusal::of(error);
    refusal.field = refusal.field.map(|name| attributes::pointer(&name));
    refusal
}

impl From<Bad> for Refusal {
    fn from(bad: Bad) -> Self {
        Refusal::new(reply::BAD_FIELD, bad.to_string()).field(bad.field)
    }
}

/// The tenant that the headers name.
pub(crate) fn tenant_of(headers: &HeaderMap) -> Result<Tenant, Bad> {
    let mut texts = [None; 4];
    for (text, name) in texts.iter_mut().zip(Tenant::HEADERS) {
        *text = header(headers, name)?;
    }
    Tenant::parse(texts)
}

/// The tenant of a request, which its caller may touch: routes that take it have the scope of a tenant.
pub(crate) struct Of(pub(crate) Tenant);

impl<S: Send + Sync> FromRequestParts<S> for Of {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        Ok(Of(tenant_of(&parts.headers)?))
    }
}

/// One header by its name, or the same with `-`, since some proxies drop names with `_`.
fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, Bad> {
    let hyphens = name.replace('_', "-");
    let mut all = headers.get_all(name).iter();
    let mut given: Vec<_> = all.by_ref().collect();
    if hyphens != name {
        given.extend(headers.get_all(hyphens.as_str()).iter());
    }
    match given.as_slice() {
        [] => Ok(None),
        [one] => one.to_str().map(Some).map_err(|_| Bad::new(name, "is not plain text")),
        [one, rest @ ..] if rest.iter().all(|other| other == one) => {
            one.to_str().map(Some).map_err(|_| Bad::new(name, "is not plain text"))
        }
        _ => Err(Bad::new(name, "is there twice, with different values")),
    }
}

/// The field of a path `…/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/…`.
pub(crate) struct At(pub(crate) Field);

impl<S: Send + Sync> FromRequestParts<S> for At {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let parts = named(parts, state).await?;
        let part = |name: &str| parts.get(name).map_or("", String::as_str);
        Ok(At(Field::parse(part("world"), part("channel"), part("map"), part("instance"))?))
    }
}

/// The `{id}` of a path.
pub(crate) struct Id(pub(crate) u32);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let parts = named(parts, state).await?;
        Ok(Id(field::number("id", parts.get("id").map_or("", String::as_str))?))
    }
}

async fn named<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<HashMap<String, String>, Refusal> {
    let bad = |_| Refusal::new(reply::BAD_REQUEST, "the path is not UTF-8");
    Path::<HashMap<String, String>>::from_request_parts(parts, state)
        .await
        .map(|path| path.0)
        .map_err(bad)
}

/// Whether the caller only wants to know that the request was taken: `Prefer: respond-async`.
pub(crate) struct Later(pub(crate) bool);

impl<S: Send + Sync> FromRequestParts<S> for Later {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let said = parts.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let words = said.flat_map(|value| value.split(',')).map(str::trim);
        Ok(Later(words.into_iter().any(|word| word.eq_ignore_ascii_case("respond-async"))))
    }
}

/// The headers that choose the tenant, for the API's description.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code)] // read by its derive
pub(crate) struct TenantHeaders {
    /// A UUID. It must be among the tenants of the caller's token. All four may be spelled with `-` instead of `_`.
    #[param(rename = "TENANT_ID", value_type = String)]
    id: String,
    /// Such as `GMS`.
    #[param(rename = "REGION", value_type = String)]
    region: String,
    /// 0 to 65535.
    #[param(rename = "MAJOR_VERSION", value_type = u16)]
    major: u16,
    /// 0 to 65535.
    #[param(rename = "MINOR_VERSION", value_type = u16)]
    minor: u16,
}

/// The parts of a field's path, for the API's description.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
#[allow(dead_code)] // read by its derive
pub(crate) struct FieldPath {
    /// 0 to 255.
    world: u8,
    /// 0 to 255.
    channel: u8,
    /// 0 to 4294967295.
    map: u32,
    /// A UUID; `00000000-0000-0000-0000-000000000000` where the map has no copies.
    instance: String,
}

/// The parameters of a page, for the API's description.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // read by its derive
pub(crate) struct PageQuery {
    /// From 1.
    #[param(rename = "page[number]", value_type = Option<u32>)]
    number: Option<u32>,
    /// 1 to 250, which is the default.
    #[param(rename = "page[size]", value_type = Option<u32>)]
    size: Option<u32>,
}

/// Tenants that a search by id looks at.
pub(crate) const TENANTS_SEARCHED: usize = 50;

/// The tenants of a module.
pub(crate) async fn tenants(app: &App, streams: Streams) -> Result<Vec<Uuid>, Fault> {
    let all = streams.list(app.store(), &app.settings, app.keyspace.layout).await?;
    Ok(all.into_iter().filter_map(|(tenant, _)| tenant?.parse().ok()).collect())
}

/// The page of the dashboard that shows a field.
pub(crate) fn page_of(tenant: Uuid, field: &Field) -> String {
    let Field { world_id, channel_id, map_id, instance } = field;
    format!(
        "/world?tenant={tenant}&world={world_id}&channel={channel_id}&map={map_id}&instance={instance}"
    )
}
