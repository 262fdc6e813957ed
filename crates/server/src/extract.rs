//! Bodies and queries read with our own sentences: what is wrong, where, and nothing internal. The body
//! limit of the route applies before anything is parsed.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Uri, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;

use crate::reply::{self, Refusal};

/// A JSON body. An empty one is `{}`.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let media = request.headers().get(header::CONTENT_TYPE).cloned();
        let bytes =
            Bytes::from_request(request, state).await.map_err(|rejection| match rejection {
                BytesRejection::FailedToBufferBody(inner) if inner.status().as_u16() == 413 => {
                    Refusal::from(reply::TOO_LARGE)
                }
                _ => Refusal::new(reply::BAD_REQUEST, "the body broke off before its end"),
            })?;
        if bytes.is_empty() {
            let empty = serde_json::from_str("{}").map_err(|error| bad_json(&error))?;
            return Ok(Body(empty));
        }
        let json = media.as_ref().and_then(|value| value.to_str().ok()).is_some_and(is_json);
        if !json {
            return Err(reply::UNSUPPORTED_MEDIA_TYPE.into());
        }
        serde_json::from_slice(&bytes).map(Body).map_err(|error| bad_json(&error))
    }
}

pub(crate) fn is_json(media: &str) -> bool {
    let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media == "application/json" || (media.starts_with("application/") && media.ends_with("+json"))
}

fn bad_json(error: &serde_json::Error) -> Refusal {
    Refusal::new(reply::BAD_JSON, format!("the body does not fit: {error}"))
}

/// The query string.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> Query<T> {
    /// Of this address.
    pub(crate) fn of(uri: &Uri) -> Result<Self, Refusal> {
        axum::extract::Query::<T>::try_from_uri(uri).map(|query| Query(query.0)).map_err(
            |rejection| {
                let text = rejection.body_text();
                let detail =
                    text.rsplit_once("query string: ").map_or(text.as_str(), |(_, tail)| tail);
                Refusal::new(reply::BAD_REQUEST, format!("the query does not fit: {detail}"))
            },
        )
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        Query::of(&parts.uri)
    }
}

/// `limit`: default 50, at most 500.
pub fn page_limit(limit: Option<u32>) -> Result<usize, Refusal> {
    match limit.unwrap_or(50) {
        limit @ 1..=500 => Ok(limit as usize),
        _ => Err(Refusal::new(reply::BAD_FIELD, "limit goes from 1 to 500").field("limit")),
    }
}

/// Packs a cursor; clients must not look inside.
pub fn pack_cursor<T: serde::Serialize>(inside: &T) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(inside).unwrap_or_default())
}

/// Reads a cursor back.
pub fn unpack_cursor<T: DeserializeOwned>(cursor: &str) -> Result<T, Refusal> {
    let bad = || Refusal::from(reply::BAD_CURSOR).field("cursor");
    if cursor.len() > 6000 {
        return Err(bad());
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
    serde_json::from_slice(&bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_and_strangers_are_refused() {
        let packed = pack_cursor(&(7_u64, "abc"));
        assert_eq!(unpack_cursor::<(u64, String)>(&packed).unwrap(), (7, "abc".to_owned()));
        for bad in ["", "!!", "AAAA", &"A".repeat(6001)] {
            assert_eq!(unpack_cursor::<(u64, String)>(bad).unwrap_err().def, reply::BAD_CURSOR);
        }
    }

    #[test]
    fn media_types_of_json_are_known() {
        assert!(is_json("application/json; charset=utf-8") && is_json("application/vnd.api+json"));
        assert!(!is_json("text/plain") && !is_json("text/json"));
    }
}
