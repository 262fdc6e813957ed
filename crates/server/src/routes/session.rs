//! Dashboard login and socket tickets. A token is given once and becomes a cookie no script can read, with a
//! CSRF token for writes; sockets, which can send no header, use a ticket good once for thirty seconds.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::cookie::{Cookie, CookieJar, SameSite};
use serde::{Deserialize, Serialize};

use crate::access::Role;
use crate::app::App;
use crate::caller::{self, Caller, IsHttps, Who};
use crate::extract::Body;
use crate::reply::{self, Refusal};
use crate::sessions;

/// A login.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// A token of `worldkeep token new`.
    token: String,
}

/// The account that is logged in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Me {
    /// `nobody`, `loopback`, `token` or `session`.
    kind: &'static str,
    name: String,
    role: Option<Role>,
    /// Tenants it may see; all when null.
    tenants: Option<Vec<String>>,
    /// Job namespaces it may see; all when null.
    namespaces: Option<Vec<String>>,
    /// Whether it may see payloads and results.
    payloads: bool,
    /// For the header `X-CSRF-Token` of writes; only with a session.
    csrf: Option<String>,
    /// Unix milliseconds at which the token ends.
    expires_at: Option<u64>,
    /// Whether the party game is played here: the login offers it to guests.
    party: bool,
}

impl Me {
    fn new(app: &App, caller: Caller) -> Self {
        Me {
            party: app.runs("rooms"),
            kind: match caller.who {
                Who::Nobody | Who::Foreign => "nobody",
                Who::Loopback => "loopback",
                Who::Token(_) => "token",
                Who::Session(_) => "session",
            },
            name: caller.name,
            role: caller.role,
            tenants: caller.scopes.tenants().map(<[String]>::to_vec),
            namespaces: caller.scopes.namespaces().map(<[String]>::to_vec),
            payloads: caller.payloads,
            csrf: caller.csrf,
            expires_at: caller.expires_at,
        }
    }
}

/// Logs in with a token; answers with a cookie.
#[utoipa::path(post, path = "/api/session", tag = "access", security(()), request_body = Login,
    responses((status = 200, body = Me), (status = 401), (status = 429)))]
pub(crate) async fn open(
    State(app): State<Arc<App>>,
    caller: Caller,
    IsHttps(https): IsHttps,
    jar: CookieJar,
    Body(login): Body<Login>,
) -> Result<Response, Refusal> {
    app.limits.spend_login(&caller)?;
    let holder = match caller::of_bearer(&app, login.token.trim(), caller.address).await? {
        known if known.role.is_some() => known,
        _ => return Err(reply::BAD_TOKEN.into()),
    };
    let hash = holder.holder().ok_or(reply::BAD_TOKEN)?;
    let hours = app.settings.server.session_hours;
    let text = sessions::open(app.store(), &hash, hours).await?;
    let csrf = Some(sessions::csrf_of(&text));
    let cookie = Cookie::build((sessions::COOKIE, text))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Strict)
        .secure(https);
    let me = Caller { who: Who::Session(hash), csrf, ..holder };
    Ok((jar.add(cookie), Json(Me::new(&app, me))).into_response())
}

/// The account of the caller.
#[utoipa::path(get, path = "/api/session", tag = "access", security(()),
    responses((status = 200, body = Me)))]
pub(crate) async fn show(State(app): State<Arc<App>>, caller: Caller) -> Json<Me> {
    Json(Me::new(&app, caller))
}

/// Logs out.
#[utoipa::path(delete, path = "/api/session", tag = "access", security(()),
    responses((status = 204)))]
pub(crate) async fn close(
    State(app): State<Arc<App>>,
    jar: CookieJar,
) -> Result<(CookieJar, StatusCode), Refusal> {
    if let Some(cookie) = jar.get(sessions::COOKIE) {
        sessions::close(app.store(), cookie.value()).await?;
    }
    let jar = jar.remove(Cookie::build((sessions::COOKIE, "")).path("/"));
    Ok((jar, StatusCode::NO_CONTENT))
}

/// A ticket.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Ticket {
    /// For `?ticket=` of one socket.
    ticket: String,
    /// How long it is good for.
    expires_in_s: u64,
}

/// A ticket that opens one socket within thirty seconds.
#[utoipa::path(post, path = "/api/ws-ticket", tag = "access",
    responses((status = 200, body = Ticket)))]
pub(crate) async fn ticket(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<Ticket>, Refusal> {
    let holder = caller.holder().ok_or(reply::UNAUTHORIZED)?;
    let ticket = sessions::issue_ticket(app.store(), &holder).await?;
    Ok(Json(Ticket { ticket, expires_in_s: sessions::TICKET_S }))
}
