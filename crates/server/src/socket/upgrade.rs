//! From HTTP to a [`Socket`]. A request that is no handshake of a WebSocket is refused with 426, and every handshake while
//! the server stops.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use metrics::Gauge;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{PeerStream, Socket};
use crate::app::App;
use crate::reply::{self, Refusal};

/// A good handshake that waits for its answer.
pub(crate) struct Upgrade {
    app: Arc<App>,
    key: HeaderValue,
    stream: OnUpgrade,
}

impl FromRequestParts<Arc<App>> for Upgrade {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refusal> {
        if app.stopping.is_cancelled() {
            return Err(reply::NOT_READY.into());
        }
        let text = |name: HeaderName| parts.headers.get(name)?.to_str().ok();
        let is = |name, word: &str| text(name).is_some_and(|text| text.eq_ignore_ascii_case(word));
        let connection = text(header::CONNECTION).unwrap_or_default();
        let good = parts.method == Method::GET
            && connection.split(',').any(|word| word.trim().eq_ignore_ascii_case("upgrade"))
            && is(header::UPGRADE, "websocket")
            && is(header::SEC_WEBSOCKET_VERSION, "13");
        let key = parts.headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| good).cloned();
        match (key, parts.extensions.remove::<OnUpgrade>()) {
            (Some(key), Some(stream)) => Ok(Upgrade { app: Arc::clone(app), key, stream }),
            _ => Err(reply::UPGRADE_REQUIRED.into()),
        }
    }
}

impl Upgrade {
    /// Says yes, and serves the socket in a task that a stop waits for. Messages of more than `most` bytes are errors;
    /// `open` counts the sockets; `held` is given back at the end.
    pub(crate) fn answer<F>(
        self,
        most: usize,
        open: Gauge,
        held: impl Send + 'static,
        serve: impl FnOnce(Socket) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let accept = derive_accept_key(self.key.as_bytes());
        let token = self.app.tasks.token();
        tokio::spawn(async move {
            let Ok(upgraded) = self.stream.await else { return };
            // `serve.rs` serves nothing else.
            let Ok(parts) = upgraded.downcast::<TokioIo<PeerStream>>() else {
                return tracing::error!("what was upgraded is not TCP and is closed");
            };
            // A copy, so that the room for heads of requests is not kept for as long as the socket lives.
            let (stream, read) = (parts.io.into_inner(), parts.read_buf.to_vec());
            let socket = Socket::new(stream, read, most).await;
            open.increment(1.0);
            Box::pin(serve(socket)).await;
            open.decrement(1.0);
            drop((token, held));
        });
        let answer = Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header(header::CONNECTION, "upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_ACCEPT, accept);
        answer.body(Body::empty()).expect("its headers are good")
    }
}
