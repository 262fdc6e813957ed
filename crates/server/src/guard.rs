//! The outermost layer: request id in and out, security headers on every answer, one log line and one
//! measurement per request. Logs hold the path without its query, and never a header or a body.

use std::time::Instant;

use axum::body::HttpBody as _;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::caller::Peer;
use crate::reply::{self, Refusal};

/// Header that carries the request id, both ways.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest path and query that are looked at.
const MAX_URI: usize = 8 * 1024;

/// The longest body that has surely arrived when its request is refused unread.
const SHORT_BODY: u64 = 16 * 1024;

/// The id of one request, in errors and logs.
#[derive(Debug, Clone, Default)]
pub struct RequestId(pub String);

impl RequestId {
    /// The caller's own when it is short and plain (it goes into logs), else a new one.
    fn of(request: &Request) -> Self {
        let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
        let plain = |text: &&str| {
            (1..=64).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        RequestId(
            given.filter(plain).map_or_else(|| uuid::Uuid::now_v7().to_string(), str::to_owned),
        )
    }
}

/// Nothing from other hosts, no inline script or style, no frame around us.
pub const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
     frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", CONTENT_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
];

/// Keeps the matched route for the measurement: it is known only inside the router.
#[derive(Debug, Clone)]
struct Route(String);

/// Runs inside the router and tells [`outer`] which route matched.
pub(crate) async fn note_route(request: Request, next: Next) -> Response {
    let route =
        request.extensions().get::<MatchedPath>().map(|path| Route(path.as_str().to_owned()));
    let mut response = next.run(request).await;
    if let Some(route) = route {
        response.extensions_mut().insert(route);
    }
    response
}

/// The first and last to touch a request.
pub(crate) async fn outer(mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::of(&request);
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let uri_len = request.uri().path_and_query().map_or(0, |whole| whole.as_str().len());
    let peer = request.extensions().get::<Peer>().copied().unwrap_or_default();
    let long_body = request.body().size_hint().upper().is_none_or(|bytes| bytes > SHORT_BODY);
    request.extensions_mut().insert(id.clone());
    let mut response = if uri_len > MAX_URI {
        Refusal::from(reply::URI_TOO_LONG).into_response()
    } else {
        next.run(request).await
    };
    let route = response.extensions_mut().remove::<Route>().map_or_else(|| "other".into(), |r| r.0);
    let status = response.status();
    let took = started.elapsed();
    let labels = [
        ("method", known(&method).to_owned()),
        ("route", route),
        ("status", status.as_str().to_owned()),
    ];
    metrics::counter!("worldkeep_http_requests_total", &labels).increment(1);
    metrics::histogram!("worldkeep_http_request_seconds").record(took.as_secs_f64());
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(request_id = id.0, %method, path, status = status.as_u16(), ms, peer = %peer.remote.ip(), "request");
    if status.is_success() && path.starts_with("/api/") {
        reply::store_is_well();
    }
    if status.is_server_error() && status.as_u16() != 503 {
        tracing::error!(request_id = id.0, %method, path, status = status.as_u16(), "request failed");
    }
    dress(&mut response, &path, &id);
    if long_body && !status.is_success() {
        // The rest of a refused body is not read, and the connection ends: the client must not use it again.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The method as a label; clients make up their own.
fn known(method: &Method) -> &str {
    const KNOWN: &[Method] = &[
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::CONNECT,
        Method::TRACE,
    ];
    if KNOWN.contains(method) { method.as_str() } else { "other" }
}

fn dress(response: &mut Response, path: &str, id: &RequestId) {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(*name).or_insert(HeaderValue::from_static(value));
    }
    if path.starts_with("/api") || path == "/metrics" || path == "/readyz" {
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        headers.insert(REQUEST_ID, value);
    }
}
