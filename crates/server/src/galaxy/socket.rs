//! `/ws/galaxy`: one task per socket, which reads and writes side by side. What a client does not read is never queued:
//! it gets the newest state when it is ready for one, and the tick never waits for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use tokio::sync::{mpsc, watch};

use super::mouth::Mouth;
use super::pilot::{Pilot, log_in, view};
use super::talk::Talk;
use crate::app::App;
use crate::caller::{Caller, WrongOrigin};
use crate::galaxy::gateway::{self, Gateway};
use crate::galaxy::notes::{JOINED, LEFT};
use crate::galaxy::seats::Seat;
use crate::outbox::End;
use crate::pipe::Socket;
use crate::reply::{self, Refusal};
use crate::upgrade::Upgrade;

/// Close codes of the protocol.
pub(super) mod code {
    /// The first message was no good `auth`, or the token ended.
    pub(in super::super) const AUTH: u16 = 4001;
    pub(in super::super) const ORIGIN: u16 = 4003;
    pub(in super::super) const IDLE: u16 = 4008;
    pub(in super::super) const POLICY: u16 = 1008;
    pub(in super::super) const AWAY: u16 = 1001;
}

/// Frames from a client, bytes.
const FRAME_MOST: usize = 64 * 1024;
/// Answers that may wait for a client that sends and does not read.
const REPLIES: usize = 256;
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
    accept(app, &caller, origin.is_some(), upgrade)
}

/// The same under a shorter name.
#[utoipa::path(get, path = "/ws", tag = "galaxy",
    responses((status = 101, description = "WebSocket"), (status = 426), (status = 429)))]
pub(crate) async fn open_short(
    State(app): State<Arc<App>>,
    caller: Caller,
    origin: Option<axum::Extension<WrongOrigin>>,
    upgrade: Result<Upgrade, Refusal>,
) -> Result<Response, Refusal> {
    accept(app, &caller, origin.is_some(), upgrade)
}

fn accept(
    app: Arc<App>,
    caller: &Caller,
    wrong_origin: bool,
    upgrade: Result<Upgrade, Refusal>,
) -> Result<Response, Refusal> {
    if app.stopping.is_cancelled() {
        return Err(reply::NOT_READY.into());
    }
    let upgrade = upgrade?;
    let gateway = gateway::of(&app);
    let held = gateway.by_address.take(caller.address);
    let held = held.ok_or_else(|| Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(5))?;
    let token = app.tasks.token();
    Ok(upgrade.answer(FRAME_MOST, move |socket| async move {
        metrics::gauge!("worldkeep_galaxy_sockets").increment(1.0);
        Box::pin(run(app, gateway, socket, wrong_origin)).await;
        metrics::gauge!("worldkeep_galaxy_sockets").decrement(1.0);
        drop((token, held));
    }))
}

async fn run(app: Arc<App>, gateway: Arc<Gateway>, socket: Socket, wrong_origin: bool) {
    let end = if wrong_origin {
        End(code::ORIGIN, "this origin may not play here")
    } else {
        match log_in(&app, &gateway, &socket).await {
            Err((text, end)) => {
                if let Some(text) = text {
                    let _ = socket.send(&[text]).await;
                }
                end
            }
            Ok(pilot) => fly(&app, &gateway, &socket, pilot).await,
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), socket.close(end)).await;
}

/// From the welcome to the end.
async fn fly(app: &Arc<App>, gateway: &Arc<Gateway>, socket: &Socket, pilot: Pilot) -> End {
    let Some(_held) = gateway.by_player.take(pilot.player.id) else {
        return End(code::POLICY, "you have too many sockets open");
    };
    gateway.sockets.send_modify(|count| *count += 1);
    let notes = gateway.notes.subscribe();
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
    let (said, replies) = mpsc::channel(REPLIES);
    let seat = Arc::new(Seat::new(view(&pilot)));
    gateway.seats.add(&seat);
    let (nudge, nudged) = watch::channel(0_u64);
    let end = {
        let mut talk = Talk::new(app, gateway, &pilot, &seat, said, nudge);
        let (seat, pilot) = (&*seat, &pilot);
        let mut mouth = Mouth { app, gateway, socket, seat, replies, notes, frames, nudged, pilot };
        let end = tokio::select! {
            end = talk.listen(socket) => end,
            end = mouth.speak() => end,
        };
        mouth.last_words().await;
        end
    };
    if let Ok(online) = gateway.online(app).await
        && let Ok(galaxy::OnlineChange::Left) = online.disconnect(id).await
    {
        gateway.announce(app, LEFT, id, Some(&username)).await;
    }
    gateway.sockets.send_modify(|count| *count -= 1);
    end
}
