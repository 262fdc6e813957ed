//! `/ws/rooms`: one task per socket. What waits for it is written in one go; a client that does not read is
//! closed, never buffered without end. Pings every 25 s; a minute without any frame ends it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::gateway::{self, code};
use super::http::base_url;
use super::inbound::{Answer, Inbound};
use crate::app::App;
use crate::caller::{Caller, IsHttps};
use crate::reply::{self, Refusal};
use crate::socket::{End, Incoming, Outbox, OutboxWriter, QueueLimits, Socket, Upgrade};

const PING_EVERY: Duration = Duration::from_secs(25);
const SILENCE: Duration = Duration::from_mins(1);

/// The rooms over a WebSocket: `{"type","payload","id"?}` in text frames; see docs/rooms.md.
#[utoipa::path(get, path = "/ws/rooms", tag = "rooms",
    responses((status = 101, description = "WebSocket"), (status = 426), (status = 429)))]
pub(crate) async fn open(
    State(app): State<Arc<App>>,
    caller: Caller,
    https: IsHttps,
    headers: HeaderMap,
    upgrade: Result<Upgrade, Refusal>,
) -> Result<Response, Refusal> {
    let upgrade = upgrade?;
    let gateway = gateway::of(&app);
    let spent = gateway.rates.sockets.take(caller.address, app.clock.monotonic());
    spent.map_err(|wait| Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(wait.as_secs() + 1))?;
    let held = gateway.rates.open_sockets.take(caller.address);
    let held = held.ok_or_else(|| Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(5))?;
    let base = base_url(&app, https, &headers);
    let limits = QueueLimits {
        messages: app.settings.rooms.queue_messages,
        bytes: app.settings.rooms.queue_bytes,
        too_slow: End(code::AWAY, "too slow: come again"),
    };
    let open = metrics::gauge!("worldkeep_rooms_sockets");
    Ok(upgrade.answer(app.settings.rooms.frame_bytes, open, held, move |socket| async move {
        let (outbox, mut writer) = Outbox::new(socket, limits);
        let socket = outbox.socket();
        let mut inbound =
            Inbound::new(Arc::clone(&app), gateway, caller.address, base, outbox.clone());
        let Err(end) = converse(&app, socket, &mut inbound, &mut writer).await;
        inbound.leave();
        // Texts queued before the end are still written, unless the client is to come again.
        if end.0 != code::AWAY {
            writer.last_words().await;
        }
        socket.goodbye(end).await;
    }))
}

/// Reads and writes in turn, so that an answer stays ahead of what its message caused.
async fn converse(
    app: &App,
    socket: &Socket,
    inbound: &mut Inbound,
    writer: &mut OutboxWriter,
) -> Result<Infallible, End> {
    let mut ping = tokio::time::interval(PING_EVERY);
    ping.reset();
    let mut heard = Instant::now();
    loop {
        let answer = tokio::select! {
            biased;
            batch = writer.next() => {
                let batch = batch?;
                let refresh = batch.refresh;
                writer.write(batch).await?;
                if !refresh {
                    continue;
                }
                Box::pin(inbound.resync()).await
            }
            frame = socket.next() => {
                heard = Instant::now();
                writer.hold();
                match frame? {
                    Incoming::Text(text) => Box::pin(inbound.hear(&text)).await,
                    Incoming::Binary => inbound.binary(),
                    Incoming::Control => continue,
                }
            }
            // Bound sockets are told by the gateway; this keeps thousands of them off one lock.
            () = app.stopping.cancelled(), if !inbound.is_bound() => return Err(End::away()),
            _ = ping.tick() => {
                if heard.elapsed() > SILENCE || app.stopping.is_cancelled() {
                    return Err(End::away());
                }
                socket.ping().await?;
                continue;
            }
        };
        let Answer { texts, end } = answer;
        socket.send(&texts).await?;
        if let Some(end) = end {
            return Err(end);
        }
        // Bound just while the gateway said goodbye to the others.
        if app.stopping.is_cancelled() {
            return Err(End::away());
        }
    }
}
