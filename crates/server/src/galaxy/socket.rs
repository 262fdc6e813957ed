//! `/ws/galaxy`: one task per socket, which reads and writes side by side. What a client does not read is never queued:
//! it gets the newest state when it is ready for one, and the tick never waits for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;

use super::inbound::Inbound;
use super::outbound::Outbound;
use super::pilot::{Pilot, log_in, view};
use crate::app::App;
use crate::caller::{Caller, WrongOrigin};
use crate::galaxy::gateway::{self, Gateway};
use crate::galaxy::notices::{JOINED, LEFT};
use crate::galaxy::viewers::Viewer;
use crate::reply::{self, Refusal};
use crate::socket::{End, Outbox, OutboxWriter, QueueLimits, Upgrade};

/// Close codes of the protocol.
pub(super) mod code {
    /// The first message was no good `auth`, or the token ended.
    pub(crate) const AUTH: u16 = 4001;
    pub(crate) const ORIGIN: u16 = 4003;
    pub(crate) const IDLE: u16 = 4008;
    pub(crate) const POLICY: u16 = 1008;
}

/// Frames from a client, bytes.
const FRAME_MOST: usize = 64 * 1024;
/// Answers that may wait for a client that sends and does not read.
const ANSWERS: usize = 256;
pub(super) const TOO_SLOW: End = End(1013, "too slow: answers were waiting");
/// How long a socket waits until the event streams are heard for it.
const HEARING: Duration = Duration::from_secs(1);

/// The game over a WebSocket: JSON in text frames, `auth` first; see docs/galaxy.md.
#[utoipa::path(get, path = "/ws/galaxy", tag = "galaxy",
    responses((status = 101, description = "WebSocket"), (status = 426), (status = 429)))]
pub(crate) async fn open(
    State(app): State<Arc<App>>,
    caller: Caller,
    origin: Option<axum::Extension<WrongOrigin>>,
    upgrade: Result<Upgrade, Refusal>,
) -> Result<Response, Refusal> {
    let upgrade = upgrade?;
    if !app.settings.galaxy.gateway {
        return Err(Refusal::new(reply::NOT_FOUND, "this server only ticks; fly on a gateway"));
    }
    let gateway = gateway::of(&app);
    let held = gateway.by_address.take(caller.address);
    let held = held.ok_or_else(|| Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(5))?;
    let open = metrics::gauge!("worldkeep_galaxy_sockets");
    Ok(upgrade.answer(FRAME_MOST, open, held, move |socket| async move {
        let limits = QueueLimits { messages: ANSWERS, bytes: usize::MAX, too_slow: TOO_SLOW };
        let (outbox, mut writer) = Outbox::new(socket, limits);
        let end = if origin.is_some() {
            End(code::ORIGIN, "this origin may not play here")
        } else {
            match log_in(&app, &gateway, outbox.socket()).await {
                Err((text, end)) => {
                    let _ = outbox.socket().send(text.as_slice()).await;
                    end
                }
                Ok(pilot) => fly(&app, &gateway, &outbox, &mut writer, pilot).await,
            }
        };
        outbox.socket().goodbye(end).await;
    }))
}

/// The same under a shorter name.
#[utoipa::path(get, path = "/ws", tag = "galaxy",
    responses((status = 101, description = "WebSocket"), (status = 426), (status = 429)))]
pub(crate) async fn open_short(
    state: State<Arc<App>>,
    caller: Caller,
    origin: Option<axum::Extension<WrongOrigin>>,
    upgrade: Result<Upgrade, Refusal>,
) -> Result<Response, Refusal> {
    open(state, caller, origin, upgrade).await
}

/// From the welcome to the end.
async fn fly(
    app: &Arc<App>,
    gateway: &Arc<Gateway>,
    outbox: &Outbox,
    writer: &mut OutboxWriter,
    pilot: Pilot,
) -> End {
    let Some(_held) = gateway.by_player.take(pilot.player.id) else {
        return End(code::POLICY, "you have too many sockets open");
    };
    gateway.sockets.send_modify(|count| *count += 1);
    let notices = gateway.notices.subscribe();
    let frames = gateway.frames.subscribe();
    // From the welcome on nothing is missed; a store that does not answer delays it no longer than this.
    let mut hearing = gateway.hearing.subscribe();
    let _ = tokio::time::timeout(HEARING, hearing.wait_for(|hears| *hears)).await;
    let id = pilot.player.id;
    let username = pilot.player.username.clone();
    let joined = match gateway.online(app).await {
        Ok(online) => online.connect(id).await.ok(),
        Err(_) => None,
    };
    if joined == Some(galaxy::OnlineChange::Came) {
        gateway.announce(app, JOINED, id, Some(&username)).await;
    }
    let viewer = Arc::new(Viewer::new(view(&pilot)));
    gateway.viewers.add(&viewer);
    let end = {
        let (viewer, pilot) = (&*viewer, &pilot);
        let mut inbound = Inbound::new(app, gateway, pilot, viewer, outbox.clone());
        let mut outbound =
            Outbound { app, gateway, outbox, viewer, writer, notices, frames, pilot };
        tokio::select! {
            end = inbound.listen() => end,
            end = outbound.write() => end,
        }
    };
    // The answers to the last messages are still sent.
    writer.last_words().await;
    if let Ok(online) = gateway.online(app).await
        && let Ok(galaxy::OnlineChange::Left) = online.disconnect(id).await
    {
        gateway.announce(app, LEFT, id, Some(&username)).await;
    }
    gateway.sockets.send_modify(|count| *count -= 1);
    end
}
