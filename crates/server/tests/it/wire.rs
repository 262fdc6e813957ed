//! The client's end of a socket that speaks JSON in text frames.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async, connect_async};

use crate::support::Running;

const WAIT: Duration = Duration::from_secs(15);

pub(crate) struct Wire {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The code it was closed with.
    pub(crate) closed: Option<u16>,
}

impl Wire {
    pub(crate) async fn open(running: &Running, path: &str, origin: Option<&str>) -> Wire {
        let mut request = format!("ws://{}{path}", running.addr).into_client_request().unwrap();
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        let (socket, _) = connect_async(request).await.unwrap();
        Wire { socket, closed: None }
    }

    /// With so little room that a long message does not go in at once.
    pub(crate) async fn narrow(running: &Running, path: &str) -> Wire {
        let request = format!("ws://{}{path}", running.addr).into_client_request().unwrap();
        let stream = TcpSocket::new_v4().unwrap();
        stream.set_recv_buffer_size(4 * 1024).unwrap();
        let stream = MaybeTlsStream::Plain(stream.connect(running.addr).await.unwrap());
        let (socket, _) = client_async(request, stream).await.unwrap();
        Wire { socket, closed: None }
    }

    pub(crate) async fn send(&mut self, message: Message) {
        // The other end may have closed already; then the next `hear` says so.
        let _ = self.socket.send(message).await;
    }

    /// The next message, `None` when the socket is closed.
    pub(crate) async fn hear(&mut self) -> Option<Value> {
        loop {
            let frame =
                tokio::time::timeout(WAIT, self.socket.next()).await.expect("a frame in time");
            match frame {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => {
                    self.closed = frame.map(|frame| frame.code.into());
                    return None;
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }
}
