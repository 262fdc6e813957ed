//! From HTTP to a [`Socket`]: for routes that write to the stream themselves. What is no handshake of a WebSocket is
//! refused with 426.

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::peer_stream::PeerStream;
use crate::pipe::Socket;
use crate::reply::{self, Refusal};

/// A good handshake that waits for its answer.
pub(crate) struct Upgrade {
    key: HeaderValue,
    stream: OnUpgrade,
}

impl<S: Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let text = |name: HeaderName| parts.headers.get(name)?.to_str().ok();
        let is = |name, word: &str| text(name).is_some_and(|text| text.eq_ignore_ascii_case(word));
        let connection = text(header::CONNECTION).unwrap_or_default();
        let good = parts.method == Method::GET
            && connection.split(',').any(|word| word.trim().eq_ignore_ascii_case("upgrade"))
            && is(header::UPGRADE, "websocket")
            && is(header::SEC_WEBSOCKET_VERSION, "13");
        let key = parts.headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| good).cloned();
        match (key, parts.extensions.remove::<OnUpgrade>()) {
            (Some(key), Some(stream)) => Ok(Upgrade { key, stream }),
            _ => Err(reply::UPGRADE_REQUIRED.into()),
        }
    }
}

impl Upgrade {
    /// Says yes. What is done with the socket is a task of its own; messages of more than `most` bytes are errors.
    pub(crate) fn answer<F>(
        self,
        most: usize,
        then: impl FnOnce(Socket) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let accept = derive_accept_key(self.key.as_bytes());
        tokio::spawn(async move {
            let Ok(upgraded) = self.stream.await else { return };
            // `serve.rs` serves nothing else.
            let Ok(parts) = upgraded.downcast::<TokioIo<PeerStream>>() else {
                return tracing::error!("what was upgraded is not TCP and is closed");
            };
            // A copy, so that the room for heads of requests is not kept for as long as the socket lives.
            let (stream, read) = (parts.io.into_inner(), parts.read_buf.to_vec());
            then(Socket::new(stream, read, most).await).await;
        });
        let answer = Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header(header::CONNECTION, "upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_ACCEPT, accept);
        answer.body(Body::empty()).expect("its headers are good")
    }
}
