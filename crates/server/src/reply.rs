//! Every error answer of the server, in one place. A handler returns a [`Refusal`] and knows no dialect;
//! [`speak`] writes the body in the dialect of the path, also for what fails before routing (401, 404, 405,
//! 413, 429) and for a panic. No answer holds anything internal: causes go to the log with the request id.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use kernel::{Fault, LogOnce, RefusalDef, RefusalKind, Refuses};
use serde_json::{Map, Value, json};

use crate::guard::RequestId;

/// One kind of error: its stable code, its status, what it means. `docs/errors.md` is a loop over these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorDef {
    /// Stable word, lower case with underscores; clients compare it.
    pub code: &'static str,
    /// HTTP status.
    pub status: u16,
    /// One sentence: when it is answered and what to do.
    pub says: &'static str,
}

/// The status of a module's refusal. The kind is all that the modules say of it.
const fn status(kind: RefusalKind) -> u16 {
    match kind {
        RefusalKind::Invalid => 400,
        RefusalKind::Unauthorized => 401,
        RefusalKind::Forbidden => 403,
        RefusalKind::Missing => 404,
        RefusalKind::Conflict => 409,
        RefusalKind::Gone => 410,
        RefusalKind::TooMany => 429,
        RefusalKind::Broken => 500,
        RefusalKind::Busy | RefusalKind::Unavailable => 503,
    }
}

impl From<RefusalDef> for ErrorDef {
    fn from(RefusalDef { code, kind, says }: RefusalDef) -> Self {
        ErrorDef { code, status: status(kind), says }
    }
}

macro_rules! errors {
    ($($name:ident = $code:literal, $status:literal, $says:literal;)*) => {
        $(#[doc = $says]
        #[allow(clippy::doc_markdown)] // A sentence for users.
        pub const $name: ErrorDef = ErrorDef { code: $code, status: $status, says: $says };)*
        /// The errors any route may answer; modules declare their refusals themselves.
        pub const ERRORS: &[ErrorDef] = &[$($name),*];
    };
}

errors! {
    BAD_REQUEST = "bad_request", 400, "the request is not one this route understands; the message names the part";
    BAD_JSON = "bad_json", 400, "the body is not valid JSON, or not of the shape in /openapi.json";
    BAD_FIELD = "bad_field", 400, "one field is missing, of the wrong type or out of range; `field` names it";
    BAD_CURSOR = "bad_cursor", 400, "the cursor is not one this server gave; start again without it";
    UNAUTHORIZED = "unauthorized", 401, "no credentials; send `Authorization: Bearer wk_…` or log in on the dashboard";
    BAD_TOKEN = "bad_token", 401, "the token or session is unknown, removed or ended; make one with `worldkeep token new`";
    FORBIDDEN = "forbidden", 403, "the credentials are good but their role, tenants or rights do not cover this";
    WRONG_ORIGIN = "wrong_origin", 403, "the request came from another site, under a foreign host name or through a proxy; use a token, or list the origin in `origins`";
    BAD_CSRF = "bad_csrf", 403, "a write with a session cookie needs the header `X-CSRF-Token` with the session's token";
    NOT_FOUND = "not_found", 404, "nothing lives at this address";
    NO_KEY = "no_such_key", 404, "the store holds no such key; it may have ended";
    NO_TOKEN = "no_such_token", 404, "no token has this id; `worldkeep token ls` lists them";
    METHOD_NOT_ALLOWED = "method_not_allowed", 405, "the address exists, but not with this method; `Allow` lists those it has";
    TIMEOUT = "timeout", 408, "the request took longer than the time limit; look before repeating a write";
    CONFLICT = "conflict", 409, "the state does not allow it now";
    GONE = "gone", 410, "it existed and has ended";
    TOO_LARGE = "too_large", 413, "the body is larger than this route accepts";
    URI_TOO_LONG = "uri_too_long", 414, "the address is longer than 8 KiB";
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type", 415, "send the body as `Content-Type: application/json`";
    UPGRADE_REQUIRED = "upgrade_required", 426, "this address speaks WebSocket only";
    TOO_MANY_REQUESTS = "too_many_requests", 429, "the rate limit is used up; wait `Retry-After` seconds";
    TOO_MANY_SOCKETS = "too_many_sockets", 429, "this account or address holds as many sockets as it may";
    INTERNAL = "internal", 500, "a bug; the log has the request id";
    NOT_READY = "not_ready", 503, "the server is starting or stopping; try another one or wait";
    STORE_UNAVAILABLE = "store_unavailable", 503, "the store does not answer and nothing was changed (`details.outcome` is `not_sent`): repeat it later";
    OUTCOME_UNKNOWN = "outcome_unknown", 503, "the store did not answer in time and the step may have happened (`details.outcome` is `unknown`): look before repeating";
    STORE_REFUSED = "store_refused", 503, "the store answered with an error, such as being out of memory or lacking a right; nothing was changed";
    CORRUPT = "corrupt_value", 500, "a stored value is not what its definition says; `worldkeep check` shows it";
    BUSY = "busy", 503, "others kept changing the same value; repeat it";
}

/// Why a request is not answered with what it asked for.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// Which error.
    pub def: ErrorDef,
    /// The sentence: lower case, no full stop, says what to do.
    pub message: String,
    /// The field, parameter or JSON pointer it is about.
    pub field: Option<String>,
    /// Facts for programs.
    pub details: Option<Box<Value>>,
    /// Seconds for `Retry-After`.
    pub retry_after_s: Option<u64>,
}

impl Refusal {
    /// A refusal with its own sentence.
    pub fn new(def: impl Into<ErrorDef>, message: impl Into<String>) -> Self {
        let (def, message) = (def.into(), message.into());
        Refusal { def, message, field: None, details: None, retry_after_s: None }
    }

    /// A refusal of a module: its sentence, its field, and what the sentence names as `details`.
    pub fn of(error: &impl Refuses) -> Self {
        let Some(def) = error.def() else { return INTERNAL.into() };
        let mut refusal = Refusal::new(def, error.to_string());
        refusal.field = error.field().map(str::to_owned);
        let params = error.params();
        refusal.details = (!params.is_empty()).then(|| Box::new(params.into()));
        // Whoever comes again may find it otherwise.
        let passes = matches!(def.kind, RefusalKind::TooMany | RefusalKind::Busy);
        if passes { refusal.retry_after(1) } else { refusal }
    }

    /// Names the field.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Adds facts for programs.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Says when to come back.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds.max(1));
        self
    }

    fn of_status(status: StatusCode) -> Self {
        let def = match status.as_u16() {
            400 => BAD_REQUEST,
            401 => UNAUTHORIZED,
            403 => FORBIDDEN,
            404 => NOT_FOUND,
            405 => METHOD_NOT_ALLOWED,
            408 => TIMEOUT,
            409 => CONFLICT,
            410 => GONE,
            413 => TOO_LARGE,
            414 => URI_TOO_LONG,
            415 => UNSUPPORTED_MEDIA_TYPE,
            422 => BAD_JSON,
            426 => UPGRADE_REQUIRED,
            429 => TOO_MANY_REQUESTS,
            503 => NOT_READY,
            other if other < 500 => BAD_REQUEST,
            _ => INTERNAL,
        };
        Refusal::new(def, def.says)
    }
}

impl From<RefusalDef> for Refusal {
    fn from(def: RefusalDef) -> Self {
        ErrorDef::from(def).into()
    }
}

impl From<ErrorDef> for Refusal {
    fn from(def: ErrorDef) -> Self {
        Refusal::new(def, def.says)
    }
}

/// The answer to a caller whom a long script kept from the store.
const KEPT_BUSY: &str = "the store is busy with a long script or command and nothing was changed (`details.outcome` is `not_sent`): repeat it later";

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        tell_fault(&fault);
        let busy = fault.is_busy();
        let (def, outcome) = match fault {
            Fault::Unavailable(_) => (STORE_UNAVAILABLE, "not_sent"),
            Fault::Refused { .. } => (STORE_REFUSED, "not_done"),
            Fault::Corrupt { .. } => (CORRUPT, "not_done"),
            Fault::Contended { .. } => (BUSY, "not_done"),
            // Whatever a later kernel adds is treated as the worst: it may have happened.
            _ => (OUTCOME_UNKNOWN, "unknown"),
        };
        let says = if busy { KEPT_BUSY } else { def.says };
        let refusal = Refusal::new(def, says).details(json!({ "outcome": outcome }));
        if def.status == 503 { refusal.retry_after(1) } else { refusal }
    }
}

/// The log of the store, and of each value that cannot be read.
static FAULTS: LogOnce = LogOnce::new();

/// A line in the log, once per change: requests that meet the same fault add none until one is answered well.
pub(crate) fn tell_fault(fault: &Fault) {
    let (about, state) = match fault {
        Fault::Corrupt { key, detail } => (key.as_str(), detail.as_str()),
        Fault::Refused { code, .. } => (STORE, code.as_str()),
        Fault::Unavailable(_) => (STORE, "unavailable"),
        Fault::Contended { .. } => return tracing::debug!(%fault, "store fault"),
        _ => (STORE, "unknown"),
    };
    if FAULTS.is_news(about, state) {
        tracing::warn!(%fault, "store fault");
    }
}

/// The store answered a request.
pub(crate) fn store_is_well() {
    FAULTS.well(STORE);
}

/// No key has this name.
const STORE: &str = "";

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() =
            StatusCode::from_u16(self.def.status).unwrap_or(StatusCode::BAD_REQUEST);
        response.extensions_mut().insert(self);
        response
    }
}

/// Which of the three bodies a path speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `/api/worlds… /api/reactors… /api/monsters…`.
    JsonApi,
    /// `/api/rooms…`.
    Rooms,
    /// All else.
    Plain,
}

impl Dialect {
    /// By whole path segments: `/api/roomservice` is not `/api/rooms`.
    pub fn of(path: &str) -> Self {
        let mut parts = path.split('/').skip(1);
        if parts.next() != Some("api") {
            return Dialect::Plain;
        }
        // `/api/jobs:batch` has a verb behind a colon.
        match parts.next().and_then(|part| part.split(':').next()) {
            Some("worlds" | "reactors" | "monsters") => Dialect::JsonApi,
            Some("rooms") => Dialect::Rooms,
            _ => Dialect::Plain,
        }
    }

    fn media(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Dialect::JsonApi => "application/vnd.api+json",
            Dialect::Rooms | Dialect::Plain => "application/json",
        })
    }

    fn body(self, refusal: &Refusal, request_id: &str) -> Value {
        match self {
            Dialect::JsonApi => json_api(refusal, request_id),
            Dialect::Rooms => rooms(refusal),
            Dialect::Plain => plain(refusal, request_id),
        }
    }
}

fn plain(refusal: &Refusal, request_id: &str) -> Value {
    let mut error = Map::new();
    error.insert("code".into(), refusal.def.code.into());
    error.insert("message".into(), refusal.message.clone().into());
    if let Some(field) = &refusal.field {
        error.insert("field".into(), field.clone().into());
    }
    if let Some(details) = &refusal.details {
        error.insert("details".into(), Value::clone(details));
    }
    error.insert("request_id".into(), request_id.into());
    json!({ "error": error })
}

fn json_api(refusal: &Refusal, request_id: &str) -> Value {
    let mut error = json_api_error(refusal);
    error["meta"]["request_id"] = request_id.into();
    json!({ "errors": [error] })
}

/// One error of a JSON:API answer, with its facts in `meta`.
pub(crate) fn json_api_error(refusal: &Refusal) -> Value {
    let mut error = Map::new();
    error.insert("status".into(), refusal.def.status.to_string().into());
    error.insert("code".into(), refusal.def.code.to_uppercase().into());
    error.insert("title".into(), refusal.def.code.replace('_', " ").into());
    error.insert("detail".into(), refusal.message.clone().into());
    if let Some(field) = &refusal.field {
        let kind = if field.starts_with('/') { "pointer" } else { "parameter" };
        error.insert("source".into(), json!({ kind: field }));
    }
    let meta = match refusal.details.as_deref() {
        Some(Value::Object(details)) => details.clone(),
        Some(other) => Map::from_iter([("details".to_owned(), other.clone())]),
        None => Map::new(),
    };
    error.insert("meta".into(), meta.into());
    error.into()
}

/// Rooms have nine families, and the message is a machine word (its spec, 4.5); the sentence stands beside it.
fn rooms(refusal: &Refusal) -> Value {
    const FAMILIES: &[&str] = &[
        "room_not_found",
        "room_expired",
        "bad_request",
        "forbidden",
        "conflict",
        "not_in_phase",
        "not_claimed",
        "rate_limited",
        "internal_error",
    ];
    let given = refusal.details.as_ref().and_then(|d| d.get("family")).and_then(Value::as_str);
    let family = match given.and_then(|given| FAMILIES.iter().find(|known| **known == given)) {
        Some(family) => family,
        None => match refusal.def.status {
            401 | 403 => "forbidden",
            404 => "room_not_found",
            409 => "conflict",
            410 => "room_expired",
            429 => "rate_limited",
            400..=499 => "bad_request",
            _ => "internal_error",
        },
    };
    let mut body = Map::new();
    body.insert("error".into(), family.into());
    body.insert("message".into(), refusal.def.code.into());
    body.insert("says".into(), refusal.message.clone().into());
    let mut details = match refusal.details.as_deref() {
        Some(Value::Object(details)) => details.clone(),
        _ => Map::new(),
    };
    details.remove("family");
    if let Some(field) = &refusal.field {
        details.insert("field".into(), field.clone().into());
    }
    if let Some(seconds) = refusal.retry_after_s {
        details.entry("retry_after_ms").or_insert_with(|| (seconds * 1000).into());
    }
    if !details.is_empty() {
        body.insert("details".into(), details.into());
    }
    body.into()
}

/// The outermost layer that may change a body: gives every error the dialect of its path.
pub(crate) async fn speak(request: Request, next: Next) -> Response {
    let dialect = Dialect::of(request.uri().path());
    let request_id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let mut response = next.run(request).await;
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let refusal = match response.extensions_mut().remove::<Refusal>() {
        Some(refusal) => refusal,
        // A module that wrote its own JSON body (207 lists, 409 with the existing job) keeps it.
        None if is_json(&response) => return response,
        None => Refusal::of_status(status),
    };
    write(dialect, &refusal, &request_id.0, response)
}

fn is_json(response: &Response) -> bool {
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("json"))
}

fn write(dialect: Dialect, refusal: &Refusal, request_id: &str, answered: Response) -> Response {
    let (mut parts, _) = answered.into_parts();
    parts.status = StatusCode::from_u16(refusal.def.status).unwrap_or(parts.status);
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, dialect.media());
    parts.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if refusal.def.status == 401 {
        parts.headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(seconds) = refusal.retry_after_s {
        parts.headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    let body = dialect.body(refusal, request_id).to_string();
    Response::from_parts(parts, Body::from(body))
}

/// `docs/errors.md`, from the tables.
pub fn errors_page(tables: &[(&str, Vec<ErrorDef>)]) -> String {
    use std::fmt::Write as _;
    let mut page = String::from(
        "# Errors\n\nGenerated from the error tables in `crates/server/src/reply.rs` and the modules. \
         Do not edit: `UPDATE_EXPECT=1 cargo test -p worldkeep-server` writes it.\n\n\
         The same error has three spellings, by path:\n\n\
         | paths | body |\n|---|---|\n\
         | `/api/worlds… /api/reactors… /api/monsters…` | JSON:API: `{\"errors\":[{\"status\",\"code\":\"NOT_FOUND\",\"title\",\"detail\",\"source\",\"meta\"}]}` |\n\
         | `/api/rooms…` | `{\"error\":\"<family>\",\"message\":\"<code>\",\"says\":\"<sentence>\",\"details\"?}` |\n\
         | all else | `{\"error\":{\"code\",\"message\",\"field\"?,\"details\"?,\"request_id\"}}` |\n",
    );
    for (name, table) in tables {
        let _ = write!(
            page,
            "\n## {name}\n\n| code | status | when, and what to do |\n|---|---|---|\n"
        );
        for error in table {
            let _ = writeln!(page, "| `{}` | {} | {} |", error.code, error.status, error.says);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialect_is_chosen_by_whole_segments() {
        assert_eq!(Dialect::of("/api/rooms/ABCD/state"), Dialect::Rooms);
        assert_eq!(Dialect::of("/api/roomservice"), Dialect::Plain);
        assert_eq!(Dialect::of("/api/worlds/1/channels"), Dialect::JsonApi);
        assert_eq!(Dialect::of("/api/monsters"), Dialect::JsonApi);
        assert_eq!(Dialect::of("/rooms"), Dialect::Plain);
        assert_eq!(Dialect::of("/api/jobs:batch"), Dialect::Plain);
    }

    #[test]
    fn one_refusal_has_three_spellings() {
        let refusal = Refusal::new(CONFLICT, "the spot is taken").field("/data/x");
        let json_api = Dialect::JsonApi.body(&refusal, "r1");
        assert_eq!(json_api["errors"][0]["code"], "CONFLICT");
        assert_eq!(json_api["errors"][0]["source"]["pointer"], "/data/x");
        assert_eq!(
            Dialect::Rooms.body(&refusal, "r1"),
            json!({"error":"conflict","message":"conflict","says":"the spot is taken","details":{"field":"/data/x"}})
        );
        assert_eq!(Dialect::Plain.body(&refusal, "r1")["error"]["request_id"], "r1");
    }

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = ERRORS.iter().map(|error| error.code).collect();
        codes.sort_unstable();
        let before = codes.len();
        codes.dedup();
        assert_eq!(before, codes.len());
    }
}
