//! The pages' files, inside the binary (read from disk in debug builds): the dashboard, the party game, the
//! pilot view, the API. Nothing outside `web/` can be named: a path is looked up in a table of embedded names, never joined to a
//! directory.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Redirect, Response};
use rust_embed::RustEmbed;

use crate::app::App;
use crate::gzip;
use crate::party;
use crate::reply::{self, Refusal};

/// As the dashboard's, except that our own pages may frame it: the playground shows a Master and its phones.
const PARTY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

#[derive(RustEmbed)]
#[folder = "web/"]
#[exclude = "*.d.ts"] // Types for the check of the scripts.
#[exclude = "*.md"]
struct Web;

/// Roots of what is no page.
const RESERVED: [&str; 7] =
    ["/api", "/ws", "/metrics", "/healthz", "/readyz", "/version", "/openapi.json"];

/// Whether a path is a page's or a file's of one.
pub(crate) fn is_page(path: &str) -> bool {
    let under = |root| path.strip_prefix(root).is_some_and(|r| r.is_empty() || r.starts_with('/'));
    !RESERVED.into_iter().any(under)
}

/// The answer when no route matched: a file, a page of the party game, the dashboard's shell, or 404.
pub(crate) async fn fallback(State(app): State<Arc<App>>, request: Request) -> Response {
    let path = request.uri().path();
    if !is_page(path) {
        return Refusal::from(reply::NOT_FOUND).into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Refusal::from(reply::METHOD_NOT_ALLOWED).into_response();
    }
    let name = path.strip_prefix('/').unwrap_or(path);
    if !is_plain(name) {
        return Refusal::from(reply::NOT_FOUND).into_response();
    }
    if party::is_guest(request.extensions()) {
        return for_guests(name, request.headers());
    }
    let last = name.rsplit('/').next().unwrap_or_default();
    // A dashboard address such as /jobs/dead has no file name; anything with a dot is a file or nothing.
    if last.contains('.') {
        return serve(name, request.headers());
    }
    if matches!(name, "docs" | "docs/") {
        return serve("docs/docs.html", request.headers());
    }
    if name == "fly" && app.runs("galaxy") {
        return serve("pages/galaxy/fly.html", request.headers());
    }
    match party_page(name).filter(|_| app.runs("rooms")) {
        Some(page) => framed(serve(page, request.headers())),
        None => serve("index.html", request.headers()),
    }
}

/// The party game's addresses: `/party` and `/party/{code}` for the big screen, `/play` and `/r/{code}` for
/// phones. The page's script reads the code.
fn party_page(name: &str) -> Option<&'static str> {
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    match first {
        _ if rest.contains('/') => None,
        "party" => Some("party/master.html"),
        "play" if rest.is_empty() => Some("party/play.html"),
        "r" if !rest.is_empty() => Some("party/play.html"),
        _ => None,
    }
}

/// The game's pages and files. A guest who typed the bare host is sent to the phone's page.
fn for_guests(name: &str, asked: &HeaderMap) -> Response {
    if name.is_empty() {
        return Redirect::to("/play").into_response();
    }
    let is_file = name.rsplit('/').next().is_some_and(|last| last.contains('.'));
    match party_page(name) {
        _ if is_file && is_game_file(name) => serve(name, asked),
        Some(page) if !is_file => framed(serve(page, asked)),
        _ => Refusal::from(reply::NOT_FOUND).into_response(),
    }
}

/// The game's own files, and the parts that all pages share.
fn is_game_file(name: &str) -> bool {
    ["party/", "base/", "lang/party."].iter().any(|root| name.starts_with(root))
}

fn framed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PARTY_POLICY));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    response
}

/// Ordinary characters only: no `..`, no backslash, no percent-escape, no hidden file.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./~@:".contains(&b))
        && name.split('/').all(|part| !part.starts_with('.') || part.is_empty())
        && !name.contains("//")
        && !name.starts_with('/')
}

fn serve(name: &str, asked: &HeaderMap) -> Response {
    let Some(file) = Web::get(name) else {
        return Refusal::from(reply::NOT_FOUND).into_response();
    };
    let text = match file.data {
        Cow::Borrowed(text) => Bytes::from_static(text),
        Cow::Owned(text) => Bytes::from(text),
    };
    gzip::answer(name, text, media_of(name, file.metadata.mimetype()), asked)
}

fn media_of(name: &str, guessed: &str) -> HeaderValue {
    let media = match name.rsplit('.').next() {
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        _ => guessed,
    };
    HeaderValue::from_str(media).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_looked_up() {
        for good in ["", "index.html", "base/tokens.css", "jobs/dead"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in [
            "../Cargo.toml",
            "a/../b",
            "%2e%2e/x",
            "a\\b",
            ".git/config",
            "a//b",
            "/a",
            "a/.hidden",
        ] {
            assert!(!is_plain(bad), "{bad}");
        }
    }

    #[test]
    fn the_party_game_has_its_addresses() {
        let big = Some("party/master.html");
        let phone = Some("party/play.html");
        for (name, page) in [
            ("party", big),
            ("party/ABCD2345", big),
            ("party/a/b", None),
            ("play", phone),
            ("play/x", None),
            ("r/ABCD-2345", phone),
            ("r", None),
            ("rooms", None),
            ("", None),
        ] {
            assert_eq!(party_page(name), page, "{name}");
        }
    }

    #[test]
    fn only_what_a_page_loads_is_embedded() {
        for name in Web::iter() {
            let known =
                ["js", "css", "html", "svg"].iter().any(|ext| name.ends_with(&format!(".{ext}")));
            assert!(known, "{name}");
        }
    }

    #[test]
    fn scripts_and_styles_have_their_media_type() {
        assert_eq!(media_of("a.js", "application/octet-stream"), "text/javascript; charset=utf-8");
        assert_eq!(media_of("a.png", "image/png"), "image/png");
    }
}
