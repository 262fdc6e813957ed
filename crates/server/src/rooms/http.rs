//! The rooms over HTTP: made, shown, listed and closed; their state and their QR code. The body of an error is
//! that of the socket's `ERROR`. Only operators list; only the key, or an operator, closes.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rooms::{Caller as Guest, Proof, Refused, Setup, ids, word};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::errors::{failed, refusal};
use super::gateway;
use super::rates::too_fast;
use crate::access::Role;
use crate::app::App;
use crate::caller::{Caller, IsHttps};
use crate::extract::{Query, pack_cursor, page_limit, unpack_cursor};
use crate::reply::{self, Refusal};

/// The address where phones reach this server: as set, by the party's listener, or as whoever asks reached it.
pub(super) fn base_url(app: &App, https: IsHttps, headers: &HeaderMap) -> String {
    let known = app.settings.rooms.public_url.as_deref();
    if let Some(url) = known.or(app.party_url.get().map(String::as_str)) {
        return url.trim_end_matches('/').to_owned();
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let plain =
        |host: &&str| host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b));
    let host = host.filter(plain).map(str::to_owned);
    let scheme = if https.0 { "https" } else { "http" };
    let own = || app.settings.server.http.as_deref().unwrap_or("127.0.0.1:7070").to_owned();
    format!("{scheme}://{}", host.unwrap_or_else(own))
}

/// The room's key, when the bearer is one: tokens of the server begin with `wk_`.
fn master_key(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = text.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.starts_with("wk_")).then(|| key.to_owned())
}

/// The code of a path; what cannot be one is no room.
pub(super) fn code_of(text: &str) -> Result<String, Refusal> {
    ids::read_code(text).ok_or_else(|| refusal(Refused::not_found()))
}

/// Asks for a room by its code, at the rate an address may guess.
pub(super) async fn known<T>(
    app: &App,
    caller: &Caller,
    look: impl Future<Output = rooms::Result<T>>,
) -> Result<T, Refusal> {
    let gateway = gateway::of(app);
    let now = app.clock.monotonic();
    let codes = &gateway.rates.unknown_codes;
    // Operators may list all rooms anyway.
    let counts = caller.role.is_none();
    if counts {
        codes
            .check(&caller.address, now)
            .map_err(|wait| refusal(too_fast(word::TOO_MANY_CODES, wait)))?;
    }
    let found = look.await;
    if counts
        && matches!(&found, Err(rooms::RoomError::Refused(r)) if r.error == rooms::Family::RoomNotFound)
    {
        let _ = gateway.rates.guessed(&gateway.rooms, caller.address, now).await;
    }
    found.map_err(failed)
}

/// Which rooms.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoomsQuery {
    /// 1 to 500, default 50.
    limit: Option<u32>,
    /// Of the page before.
    cursor: Option<String>,
}

/// A room in the list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RoomLine {
    code: String,
    /// `lobby`, `game` or `over`.
    #[schema(value_type = String)]
    phase: rooms::model::Phase,
    players_active: usize,
    /// Active players that nobody holds.
    players_free: usize,
    /// Unix milliseconds.
    created_at: u64,
    /// Unix milliseconds.
    expires_at: u64,
}

impl From<rooms::Listed> for RoomLine {
    fn from(room: rooms::Listed) -> Self {
        RoomLine {
            code: room.code,
            phase: room.phase,
            players_active: room.players_active,
            players_free: room.players_free,
            created_at: room.created_at,
            expires_at: room.expires_at,
        }
    }
}

/// A page of rooms, by code.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RoomsPage {
    items: Vec<RoomLine>,
    cursor: Option<String>,
}

/// Live rooms, for operators.
#[utoipa::path(get, path = "/api/rooms", tag = "rooms", params(RoomsQuery),
    responses((status = 200, body = RoomsPage)))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(query): Query<RoomsQuery>,
) -> Result<Json<RoomsPage>, Refusal> {
    let limit = page_limit(query.limit)?;
    let after: Option<String> = query.cursor.as_deref().map(unpack_cursor).transpose()?;
    let gateway = gateway::of(&app);
    let (items, more) = gateway.rooms.list(after.as_deref(), limit).await.map_err(failed)?;
    let cursor = items.last().filter(|_| more).map(|last| pack_cursor(&last.code));
    let items = items.into_iter().map(RoomLine::from).collect();
    Ok(Json(RoomsPage { items, cursor }))
}

/// Makes a room. The answer holds the master key, which is told nowhere else.
#[utoipa::path(post, path = "/api/rooms", tag = "rooms",
    request_body(content = Object, description = "`{senders, rounds, round_order?, rules?}` as in docs/rooms.md"),
    responses((status = 201, description = "`{code, master_key, phase, expires_at, join_url, players_visible, senders_visible}`"),
        (status = 400), (status = 413), (status = 429)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    https: IsHttps,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let setup = read_setup(&app, body).await?;
    spend_room(&app, &caller)?;
    let created = gateway::of(&app).rooms.create(&setup).await.map_err(failed)?;
    Ok(made(&app, https, &headers, created))
}

/// Makes the room in which the same people play on, with their names, photos and seats, and tells their phones.
#[utoipa::path(post, path = "/api/rooms/{code}/next", tag = "rooms", params(("code" = String, Path, description = "the room's code")),
    request_body(content = Object, description = "`{senders, rounds, round_order?, rules?, seats?}` as in docs/rooms.md"),
    responses((status = 201, description = "as of `POST /api/rooms`; the key stays the same"),
        (status = 400), (status = 403), (status = 404), (status = 409), (status = 410), (status = 413), (status = 429)))]
pub(crate) async fn next(
    State(app): State<Arc<App>>,
    caller: Caller,
    https: IsHttps,
    headers: HeaderMap,
    Path(code): Path<String>,
    body: Body,
) -> Result<Response, Refusal> {
    let code = code_of(&code)?;
    let setup = read_setup(&app, body).await?;
    let key = master_key(&headers).ok_or_else(|| refusal(Refused::new(word::BAD_MASTER_KEY)))?;
    spend_room(&app, &caller)?;
    let gateway = gateway::of(&app);
    let created = known(&app, &caller, gateway.rooms.next(&code, &key, &setup)).await?;
    Ok(made(&app, https, &headers, created))
}

async fn read_setup(app: &App, body: Body) -> Result<Setup, Refusal> {
    let most = app.settings.rooms.body_bytes;
    let bytes = to_bytes(body, most).await.map_err(|_| Refusal::from(reply::TOO_LARGE))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Refusal::from(reply::BAD_JSON))?;
    if serde_json::from_str::<&serde_json::value::RawValue>(text).is_err() {
        return Err(refusal(Refused::new(word::INVALID_JSON)));
    }
    Setup::read(text).map_err(refusal)
}

/// One of the rooms that an address may make.
fn spend_room(app: &App, caller: &Caller) -> Result<(), Refusal> {
    if caller.role.is_some() {
        return Ok(());
    }
    let spent = gateway::of(app).rates.created.take(caller.address, app.clock.monotonic());
    spent.map_err(|wait| refusal(too_fast(word::TOO_MANY_ROOMS, wait)))
}

fn made(app: &App, https: IsHttps, headers: &HeaderMap, mut created: rooms::Created) -> Response {
    metrics::counter!("worldkeep_rooms_created_total").increment(1);
    created.join_url = Some(format!("{}/r/{}", base_url(app, https, headers), created.code));
    (StatusCode::CREATED, Json(created)).into_response()
}

/// One room in a line.
#[utoipa::path(get, path = "/api/rooms/{code}", tag = "rooms", params(("code" = String, Path, description = "the room's code")),
    responses((status = 200, description = "`{code, phase, expires_at, players_active, players_free, join_url}`"),
        (status = 404), (status = 410)))]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    https: IsHttps,
    headers: HeaderMap,
    Path(code): Path<String>,
) -> Result<Json<serde_json::Value>, Refusal> {
    let code = code_of(&code)?;
    let gateway = gateway::of(&app);
    let room = known(&app, &caller, gateway.rooms.show(&code)).await?;
    let join_url = format!("{}/r/{code}", base_url(&app, https, &headers));
    let mut line = json!({
        "code": room.code, "phase": room.phase, "expires_at": room.expires_at,
        "players_active": room.players_active, "players_free": room.players_free,
        "join_url": join_url,
    });
    if caller.role.is_some() {
        line["created_at"] = room.created_at.into();
    }
    Ok(Json(line))
}

/// Closes a room, with its key or as an operator.
#[utoipa::path(delete, path = "/api/rooms/{code}", tag = "rooms", params(("code" = String, Path, description = "the room's code")),
    responses((status = 204), (status = 403), (status = 404), (status = 410)))]
pub(crate) async fn close(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    Path(code): Path<String>,
) -> Result<StatusCode, Refusal> {
    let code = code_of(&code)?;
    let key = master_key(&headers);
    let proof = match (&key, caller.role) {
        (Some(key), _) => Proof::Key(key),
        (None, Some(role)) if role >= Role::Operator => Proof::Operator,
        (None, _) => Proof::None,
    };
    let guest = Guest { proof, ..Guest::default() };
    let gateway = gateway::of(&app);
    known(&app, &caller, gateway.rooms.close(&code, &guest)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How a state is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateQuery {
    /// `links` instead of data URLs: `/api/rooms/{code}/photos/{hash}`, which never change.
    #[param(value_type = Option<String>)]
    photos: Option<PhotosAs>,
}

/// How photos come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PhotosAs {
    Data,
    Links,
}

/// The state as the caller may see it: the payload of `STATE_SYNC_RESPONSE`.
#[utoipa::path(get, path = "/api/rooms/{code}/state", tag = "rooms",
    params(StateQuery, ("code" = String, Path, description = "the room's code"),
        ("X-Device-Id" = Option<String>, Header, description = "the device, to see its own player and vote")),
    responses((status = 200, description = "as on the socket"), (status = 404), (status = 410)))]
pub(crate) async fn state(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    Path(code): Path<String>,
    Query(query): Query<StateQuery>,
) -> Result<Response, Refusal> {
    let code = code_of(&code)?;
    let device = headers.get("x-device-id").and_then(|value| value.to_str().ok());
    if device.is_some_and(|device| !ids::is_device(device)) {
        return Err(refusal(Refused::field("X-Device-Id")));
    }
    let key = master_key(&headers);
    let proof = key.as_deref().map_or(Proof::None, Proof::Key);
    let guest = Guest { device, proof, expires_at: None };
    let gateway = gateway::of(&app);
    let entered = known(&app, &caller, gateway.rooms.sync(&code, &guest)).await?;
    let mut text = String::from(Box::<str>::from(entered.reply.payload));
    if query.photos == Some(PhotosAs::Links) {
        text = rooms::with_links(&text, &code).into_owned();
    }
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], text).into_response())
}

/// The join link as a QR code.
#[utoipa::path(get, path = "/api/rooms/{code}/qr.svg", tag = "rooms", params(("code" = String, Path, description = "the room's code")),
    responses((status = 200, content_type = "image/svg+xml"), (status = 404), (status = 410)))]
pub(crate) async fn qr(
    State(app): State<Arc<App>>,
    caller: Caller,
    https: IsHttps,
    headers: HeaderMap,
    Path(code): Path<String>,
) -> Result<Response, Refusal> {
    let code = code_of(&code)?;
    let gateway = gateway::of(&app);
    known(&app, &caller, gateway.rooms.show(&code)).await?;
    let link = format!("{}/r/{code}", base_url(&app, https, &headers));
    let svg = super::qr::svg(&link).ok_or_else(|| Refusal::from(reply::INTERNAL))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600")),
        (header::VARY, HeaderValue::from_static("host")),
    ];
    Ok((headers, svg).into_response())
}
