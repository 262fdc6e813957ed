//! Bodies whose bytes matter: a job's payload is stored as it was sent, so it is read as text and never re-encoded.
//! The limit is the queue's own, not that of small requests.

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::header;

use crate::reply::{self, Refusal};

/// The JSON text of a request; an empty one is `{}`.
pub(crate) async fn text(request: Request, most: usize) -> Result<String, Refusal> {
    let json = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(crate::extract::is_json);
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    if length.is_some_and(|length: usize| length > most) {
        return Err(too_large(most));
    }
    let bytes = to_bytes(request.into_body(), most).await.map_err(|error| {
        // The only two ways to fail: more than the limit, or the other end went away.
        let text = format!("{error:?}");
        if text.contains("LengthLimit") {
            too_large(most)
        } else {
            Refusal::new(reply::BAD_REQUEST, "the body broke off before its end")
        }
    })?;
    if bytes.is_empty() {
        return Ok("{}".to_owned());
    }
    if !json {
        return Err(reply::UNSUPPORTED_MEDIA_TYPE.into());
    }
    String::from_utf8(bytes.into())
        .map_err(|_| Refusal::new(reply::BAD_JSON, "the body is not UTF-8"))
}

fn too_large(most: usize) -> Refusal {
    Refusal::new(
        reply::TOO_LARGE,
        format!("the body has more than {most} bytes, the most that is taken"),
    )
}
