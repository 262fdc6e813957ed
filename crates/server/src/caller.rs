//! The caller of a request, and its rights. The rules of "who may": a `wk_` token, a dashboard session with
//! its CSRF token, or a direct loopback request (`Host` a loopback name, `Origin` absent or ours, no
//! forwarding header), which is admin. Any `Origin` that is not ours is refused whatever the credentials.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::cookie::CookieJar;

use crate::access::Role;
use crate::app::App;
use crate::inside::Owner;
use crate::reply::{self, Refusal};
use crate::token_scopes::TokenScopes;
use crate::{limits, party, scrapers, sessions, tokens};

/// The identity of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// Nobody showed anything.
    Nobody,
    /// A bearer text that is not one of our tokens: a player's JWT or a room's key. Its module reads it.
    Foreign,
    /// Straight from this machine.
    Loopback,
    /// A token; the text is its hash, `admin_token` for the configured one.
    Token(String),
    /// A dashboard login with that token.
    Session(String),
}

/// A caller and what it may do. Handlers take it as an argument.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The identity.
    pub who: Who,
    /// The role; `None` for nobody.
    pub role: Option<Role>,
    /// The reach of its token.
    pub scopes: TokenScopes,
    /// Whether it may see payloads and results.
    pub payloads: bool,
    /// Name for people.
    pub name: String,
    /// Unix milliseconds at which its token ends.
    pub expires_at: Option<u64>,
    /// The text that a session's writes must repeat.
    pub(crate) csrf: Option<String>,
    /// Address it comes from, behind trusted proxies, as limits count it.
    pub address: IpAddr,
}

impl Caller {
    pub(crate) fn nobody(address: IpAddr) -> Self {
        Caller {
            who: Who::Nobody,
            role: None,
            scopes: TokenScopes::Everywhere,
            payloads: false,
            name: "nobody".into(),
            expires_at: None,
            csrf: None,
            address,
        }
    }

    fn admin(who: Who, name: &str, address: IpAddr) -> Self {
        let role = Some(Role::Admin);
        Caller { who, role, payloads: true, name: name.into(), ..Caller::nobody(address) }
    }

    /// Whoever opened the store itself, on the command line.
    pub fn owner() -> Self {
        Caller::admin(Who::Loopback, "owner", IpAddr::from([127, 0, 0, 1]))
    }

    fn of_token(who: Who, token: tokens::Token, address: IpAddr) -> Self {
        Caller {
            who,
            role: Some(token.role),
            scopes: token.scopes(),
            payloads: token.payloads,
            name: token.name,
            expires_at: token.expires_at,
            ..Caller::nobody(address)
        }
    }

    /// Whether it may touch this tenant.
    pub fn may_tenant(&self, tenant: &str) -> bool {
        self.role.is_some() && self.scopes.has_tenant(tenant)
    }

    /// Whether it may touch this job namespace.
    pub fn may_namespace(&self, namespace: &str) -> bool {
        self.role.is_some() && self.scopes.has_namespace(namespace)
    }

    /// The field of a token that goes beyond what this caller holds, if one does. Nobody hands out, sees or takes away
    /// such a token.
    pub(crate) fn exceeded_by(&self, token: &tokens::Token) -> Option<&'static str> {
        if self.role < Some(token.role) {
            return Some("role");
        }
        let beyond = self.scopes.exceeded_by(&token.scopes());
        beyond.or((token.payloads && !self.payloads).then_some("payloads"))
    }

    /// Refuses below `role`: 401 without credentials, 403 with too weak ones.
    pub fn needs(&self, role: Role) -> Result<(), Refusal> {
        match (self.role, &self.who) {
            (Some(own), _) if own >= role => Ok(()),
            (Some(own), _) => Err(Refusal::new(
                reply::FORBIDDEN,
                format!("this needs the role {role:?}, and yours is {own:?}").to_lowercase(),
            )),
            (None, Who::Foreign) => Err(reply::BAD_TOKEN.into()),
            (None, _) => Err(reply::UNAUTHORIZED.into()),
        }
    }

    /// Counts together for rates and sockets.
    pub fn account(&self) -> String {
        match &self.who {
            Who::Token(hash) | Who::Session(hash) => tokens::id_of(hash),
            Who::Loopback => "loopback".into(),
            Who::Nobody | Who::Foreign => format!("address {}", self.address),
        }
    }

    /// The account that a ticket or a session of this caller points at; `None` for nobody.
    pub(crate) fn holder(&self) -> Option<String> {
        match &self.who {
            Who::Token(hash) | Who::Session(hash) => Some(hash.clone()),
            Who::Loopback => Some("loopback".into()),
            Who::Nobody | Who::Foreign => None,
        }
    }
}

/// A player of a game, by the token of their login. Left with the request where the access table asks for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    /// The caller.
    pub id: uuid::Uuid,
    /// Name for people.
    pub username: String,
    /// Whether the game's administration is open to them.
    pub is_admin: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Player {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get::<Player>().cloned().ok_or_else(|| reply::UNAUTHORIZED.into())
    }
}

/// `None` where somebody else than a player may ask too.
impl<S: Send + Sync> axum::extract::OptionalFromRequestParts<S> for Player {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Refusal> {
        Ok(parts.extensions.get::<Player>().cloned())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get::<Caller>().cloned().ok_or_else(|| reply::UNAUTHORIZED.into())
    }
}

/// The configured admin token's place among hashes.
pub(crate) const CONFIGURED: &str = "admin_token";

/// Finds out who calls and leaves a [`Caller`] with the request. A bad credential is refused here; a missing
/// one only where the route asks for it.
pub(crate) async fn identify(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    if parts.extensions.get::<Owner>().is_some() {
        parts.extensions.insert(Caller::owner());
        return next.run(Request::from_parts(parts, body)).await;
    }
    let path = parts.uri.path();
    let peer = parts.extensions.get::<Peer>().copied().unwrap_or_default();
    if peer.listener == Listener::Party {
        let guest = Caller::nobody(limits::counted(peer.remote.ip()));
        let refused = app.limits.spend(&guest, path).and_then(|()| party::admit(&app, &parts));
        if let Err(refusal) = refused {
            return refusal.into_response();
        }
        parts.extensions.insert(guest);
        return next.run(Request::from_parts(parts, body)).await;
    }
    let address = limits::counted(app.client_address(peer.remote.ip(), &parts.headers));
    // Pages and health are the same for everybody; only what holds data is guarded.
    let caller = if speaks_for_itself(&parts) {
        if !(origin_is_ours(&app, &parts.headers, host_of(&parts).as_deref())
            || origin_is_local(&parts.headers))
        {
            parts.extensions.insert(WrongOrigin);
        }
        Caller::nobody(address)
    } else if is_guarded(path) {
        match recognise(&app, &parts, peer, address).await {
            Ok(caller) => caller,
            Err(refusal) => {
                let nobody = Caller::nobody(address);
                let spent = app.limits.spend(&nobody, path).err();
                return spent.unwrap_or(refusal).into_response();
            }
        }
    } else {
        Caller::nobody(address)
    };
    if let Err(refusal) = app.limits.spend(&caller, path) {
        return refusal.into_response();
    }
    parts.extensions.insert(caller);
    next.run(Request::from_parts(parts, body)).await
}

/// Left with a socket's request that came from a page of another site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrongOrigin;

/// Players' sockets prove who they are by their first message, whatever way they came; a wrong origin is told there, by
/// a close code of the protocol.
fn speaks_for_itself(parts: &Parts) -> bool {
    matches!(parts.uri.path(), "/ws" | "/ws/galaxy") && parts.headers.contains_key(header::UPGRADE)
}

/// A page of this machine, on any port.
fn origin_is_local(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(header::ORIGIN).iter();
    let (Some(one), None) = (all.next(), all.next()) else { return false };
    let origin = one.to_str().unwrap_or_default().to_ascii_lowercase();
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    host.is_some_and(is_loopback_host)
}

fn is_guarded(path: &str) -> bool {
    ["/api", "/ws", "/metrics"].iter().any(|root| {
        path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

async fn recognise(
    app: &App,
    parts: &Parts,
    peer: Peer,
    address: IpAddr,
) -> Result<Caller, Refusal> {
    let headers = &parts.headers;
    let host = host_of(parts);
    let ours = origin_is_ours(app, headers, host.as_deref());
    if !ours {
        return Err(Refusal::new(
            reply::WRONG_ORIGIN,
            "this origin may not use the API; list it in `origins`",
        ));
    }
    if let Some(bearer) = bearer(headers)? {
        let asked = of_bearer(app, &bearer, address).await;
        let scrapes = parts.uri.path() == "/metrics";
        return if scrapes { scrapers::recognise(app, &bearer, asked) } else { asked };
    }
    let cookie = CookieJar::from_headers(headers);
    // A dead cookie must not stand in the way of logging in again, nor hide loopback.
    if let Some(cookie) = cookie.get(sessions::COOKIE)
        && let Some(caller) = of_session(app, cookie.value(), address).await?
    {
        check_csrf(parts, &caller)?;
        return Ok(caller);
    }
    of_loopback(app, headers, host.as_deref(), peer, address)
}

/// The bearer text; two headers or another scheme are refused rather than guessed at.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let Some(first) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(Refusal::new(reply::BAD_REQUEST, "send one Authorization header, not several"));
    }
    let text = first.to_str().ok().and_then(|text| {
        let (scheme, rest) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim().to_owned())
    });
    match text {
        Some(text) if !text.is_empty() => Ok(Some(text)),
        _ => Err(Refusal::new(reply::BAD_TOKEN, "write `Authorization: Bearer <token>`")),
    }
}

pub(crate) async fn of_bearer(app: &App, text: &str, address: IpAddr) -> Result<Caller, Refusal> {
    if !text.starts_with(tokens::PREFIX) {
        return Ok(Caller { who: Who::Foreign, ..Caller::nobody(address) });
    }
    if let Some(configured) = &app.admin_token
        && tokens::same(configured, text)
    {
        return Ok(Caller::admin(Who::Token(CONFIGURED.into()), "configured admin", address));
    }
    if !tokens::plausible(text) {
        return Err(reply::BAD_TOKEN.into());
    }
    let hash = tokens::hash(text);
    match tokens::by_hash(app.store(), app.now_ms(), &hash).await? {
        Some(token) => Ok(Caller::of_token(Who::Token(hash), token, address)),
        None => Err(reply::BAD_TOKEN.into()),
    }
}

async fn of_session(app: &App, cookie: &str, address: IpAddr) -> Result<Option<Caller>, Refusal> {
    let Some(session) =
        sessions::find(app.store(), cookie, app.settings.server.session_hours).await?
    else {
        return Ok(None);
    };
    let caller = of_holder(app, &session.token, address).await?;
    Ok(caller.map(|caller| Caller {
        who: Who::Session(session.token.clone()),
        csrf: Some(sessions::csrf_of(cookie)),
        ..caller
    }))
}

/// The caller behind a stored holder: a token's hash, the configured token, or loopback.
pub(crate) async fn of_holder(
    app: &App,
    holder: &str,
    address: IpAddr,
) -> Result<Option<Caller>, Refusal> {
    match holder {
        CONFIGURED => Ok(app
            .admin_token
            .as_ref()
            .map(|_| Caller::admin(Who::Token(CONFIGURED.into()), "configured admin", address))),
        "loopback" => Ok(Some(Caller::admin(Who::Loopback, "loopback", address))),
        hash => Ok(tokens::by_hash(app.store(), app.now_ms(), hash)
            .await?
            .map(|token| Caller::of_token(Who::Token(hash.to_owned()), token, address))),
    }
}

fn check_csrf(parts: &Parts, caller: &Caller) -> Result<(), Refusal> {
    if matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let given = parts.headers.get(sessions::CSRF_HEADER).and_then(|value| value.to_str().ok());
    match (given, &caller.csrf) {
        (Some(given), Some(wanted)) if tokens::same(given, wanted) => Ok(()),
        // Logging in again replaces the session, so it needs no proof from the old one.
        _ if parts.uri.path() == "/api/session" && parts.method == Method::POST => Ok(()),
        _ => Err(reply::BAD_CSRF.into()),
    }
}

/// Headers that only a proxy adds.
const FORWARDED: &[&str] = &[
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-forwarded-server",
    "x-real-ip",
    "via",
    "cf-connecting-ip",
    "true-client-ip",
];

fn of_loopback(
    app: &App,
    headers: &HeaderMap,
    host: Option<&str>,
    peer: Peer,
    address: IpAddr,
) -> Result<Caller, Refusal> {
    let nobody = Caller::nobody(address);
    let direct = peer.remote.ip().to_canonical().is_loopback() && peer.local_loopback;
    if !direct || !app.loopback_admin {
        return Ok(nobody);
    }
    let refuse = |why: &str| Err(Refusal::new(reply::WRONG_ORIGIN, why));
    if FORWARDED.iter().any(|name| headers.contains_key(*name)) {
        return refuse(
            "requests through a proxy need a token; loopback without login is for direct ones",
        );
    }
    if !host.is_some_and(is_loopback_host) {
        return refuse("under this host name a token is needed; use 127.0.0.1 or localhost");
    }
    // A page of another site or of another port of this machine can make a browser send simple requests.
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    let navigates =
        headers.get("sec-fetch-mode").and_then(|value| value.to_str().ok()) == Some("navigate");
    if matches!(site, Some("cross-site" | "same-site")) && !navigates {
        return refuse("another site may not use the API of this machine");
    }
    Ok(Caller::admin(Who::Loopback, "loopback", address))
}

pub(crate) fn host_of(parts: &Parts) -> Option<String> {
    let named = parts.headers.get_all(header::HOST).iter().collect::<Vec<_>>();
    match named.as_slice() {
        [one] => one.to_str().ok().map(str::to_ascii_lowercase),
        [] => parts.uri.authority().map(|authority| authority.as_str().to_ascii_lowercase()),
        _ => None,
    }
}

/// `localhost`, `127.0.0.0/8` or `[::1]`, with or without a port.
fn is_loopback_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(inside, _)| inside),
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether `Origin` is absent, the address the request went to, or in the configured list.
pub(crate) fn origin_is_ours(app: &App, headers: &HeaderMap, host: Option<&str>) -> bool {
    let mut all = headers.get_all(header::ORIGIN).iter();
    let Some(first) = all.next() else { return true };
    let Ok(origin) = first.to_str() else { return false };
    if all.next().is_some() {
        return false;
    }
    if app.origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Some(host) = host else { return false };
    let origin = origin.to_ascii_lowercase();
    origin.strip_prefix("http://") == Some(host) || origin.strip_prefix("https://") == Some(host)
}

/// Both ends of the connection a request came on.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// The other end.
    pub remote: SocketAddr,
    /// Whether our end is a loopback address.
    pub local_loopback: bool,
    /// Whether it is encrypted.
    pub tls: bool,
    /// The listener that accepted it.
    pub listener: Listener,
}

/// The listener that accepted a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Listener {
    /// The server's own: everything, behind loopback or credentials.
    #[default]
    Main,
    /// The party's, on the local network: the game alone, and nobody is anything but a guest.
    Party,
}

impl Default for Peer {
    fn default() -> Self {
        let remote = SocketAddr::from(([0, 0, 0, 0], 0));
        Peer { remote, local_loopback: false, tls: false, listener: Listener::Main }
    }
}

/// Whether the browser sees us over TLS: ours, or a proxy's by its own word. A lie only makes cookies stricter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IsHttps(pub(crate) bool);

impl<S: Sync> FromRequestParts<S> for IsHttps {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let ours = parts.extensions.get::<Peer>().is_some_and(|peer| peer.tls);
        let told = parts.headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
        Ok(IsHttps(ours || told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names_are_recognised_exactly() {
        for host in ["localhost", "localhost:7070", "127.0.0.1:7070", "127.9.9.9", "[::1]:7070"] {
            assert!(is_loopback_host(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]",
            "",
        ] {
            assert!(!is_loopback_host(host), "{host}");
        }
    }

    #[test]
    fn guarded_paths_are_whole_segments() {
        assert!(is_guarded("/api/keys") && is_guarded("/ws/events") && is_guarded("/metrics"));
        assert!(!is_guarded("/apix") && !is_guarded("/keys") && !is_guarded("/healthz"));
    }
}
