//! Texts that never change while the server runs, compressed once: files of the pages and the API's document. Each name has
//! one compressed text at a time, so memory and work are bound by what is embedded.

use std::collections::HashMap;
use std::io::Write as _;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// Shorter texts do not become shorter on the wire.
const LEAST: usize = 512;

/// Compressed texts by name, each with the tag of what it was made from.
static KEPT: Mutex<Option<HashMap<String, (String, Bytes)>>> = Mutex::new(None);

/// The answer with a text that never changes under its tag: 304 to whoever has it, compressed for whoever takes that.
pub(crate) fn answer(name: &str, text: Bytes, media: HeaderValue, asked: &HeaderMap) -> Response {
    let tag = tag_of(&text);
    let mut response = if is_known(asked, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else if text.len() >= LEAST && takes_gzip(asked) {
        let mut response = Response::new(Body::from(compressed(name, &tag, &text)));
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
        response
    } else {
        Response::new(Body::from(text))
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media);
    // Names do not change with contents, so a browser asks each time and mostly hears 304.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// Weak, because the compressed text has the same.
fn tag_of(text: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut tag = String::from("W/\"");
    for byte in Sha256::digest(text).iter().take(12) {
        let _ = write!(tag, "{byte:02x}");
    }
    tag + "\""
}

fn is_known(asked: &HeaderMap, tag: &str) -> bool {
    let known = asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let bare = |text: &str| text.trim().trim_start_matches("W/").to_owned();
    let tag = bare(tag);
    known.is_some_and(|known| known.split(',').any(|one| bare(one) == tag || one.trim() == "*"))
}

/// Whether `Accept-Encoding` names gzip, or everything, and not with a weight of nothing.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let named = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    named.unwrap_or_default().split(',').any(|one| {
        let (coding, weight) = one.split_once(';').unwrap_or((one, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        matches!(coding.trim(), "gzip" | "*") && weight.parse::<f32>().is_ok_and(|q| q > 0.0)
    })
}

fn compressed(name: &str, tag: &str, text: &[u8]) -> Bytes {
    let known = |all: &HashMap<String, (String, Bytes)>| {
        all.get(name).filter(|(of, _)| of == tag).map(|(_, bytes)| bytes.clone())
    };
    if let Some(bytes) = KEPT.lock().as_ref().and_then(known) {
        return bytes;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 3), Compression::best());
    let written = encoder.write_all(text).and_then(|()| encoder.finish());
    let bytes = Bytes::from(written.expect("a vector takes every byte"));
    let mut kept = KEPT.lock();
    kept.get_or_insert_default().insert(name.to_owned(), (tag.to_owned(), bytes.clone()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn gzip_goes_to_whoever_takes_it() {
        for (value, takes) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("identity", false),
        ] {
            assert_eq!(takes_gzip(&asked(header::ACCEPT_ENCODING, value)), takes, "{value}");
        }
    }

    #[test]
    fn a_text_is_compressed_once_and_anew_when_it_changes() {
        let text = |letter: &str| Bytes::from(letter.repeat(4000));
        let media = || HeaderValue::from_static("text/plain");
        let gzip = asked(header::ACCEPT_ENCODING, "gzip");
        let first = answer("test/once", text("a"), media(), &gzip);
        assert_eq!(first.headers()[header::CONTENT_ENCODING], "gzip");
        let kept = |letter| compressed("test/once", &tag_of(&text(letter)), &text(letter));
        assert_eq!(kept("a").as_ptr(), kept("a").as_ptr(), "the same bytes");
        assert_ne!(kept("b"), kept("a"));
        let tag = first.headers()[header::ETAG].to_str().unwrap().to_owned();
        let mut again = HeaderMap::new();
        again.insert(header::IF_NONE_MATCH, HeaderValue::from_str(&tag).unwrap());
        assert_eq!(answer("test/once", text("a"), media(), &again).status(), 304);
        assert_eq!(answer("test/once", text("c"), media(), &again).status(), 200);
    }
}
