//! `/ws/galaxy`: one task per socket, which reads and writes side by side. What a client does not read is never queued:
//! it gets the newest state when it is ready for one, and the tick never waits for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::stream::SplitSink;
use futures_util::{SinkExt as _, StreamExt as _};
use parking_lot::Mutex;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};

use super::pilot::{Pilot, View, log_in, welcome};
use super::talk::Talk;
use crate::app::App;
use crate::caller::{Caller, WrongOrigin};
use crate::gateway::frame::Frame;
use crate::gateway::notes::{JOINED, LEFT, Note, What};
use crate::gateway::{self, Gateway};
use crate::outbox::End;
use crate::reply::{self, Refusal};

/// Close codes of the protocol.
pub(super) mod code {
    /// The first message was no good `auth`, or the token ended.
    pub(in super::super) const AUTH: u16 = 4001;
    pub(in super::super) const ORIGIN: u16 = 4003;
    pub(in super::super) const IDLE: u16 = 4008;
    pub(in super::super) const POLICY: u16 = 1008;
    pub(in super::super) const TOO_BIG: u16 = 1009;
    pub(in super::super) const AWAY: u16 = 1001;
}

/// Frames from a client, bytes.
const FRAME_MOST: usize = 64 * 1024;
/// A state of the most ships fits in, so that it is sent when it is flushed and not before.
const STATE_ROOM: usize = 256 * 1024;
/// Answers that may wait for a client that sends and does not read.
const REPLIES: usize = 256;
/// How long a socket waits until the event streams are heard for it.
const HEARING: Duration = Duration::from_secs(1);
/// While the engine catches up, states come no more often than this.
const CATCHING_UP: Duration = Duration::from_millis(100);
/// How long one write may wait for a client that does not read.
const WRITE_WAIT: Duration = Duration::from_mins(1);

/// The game over a WebSocket: JSON in text frames, `auth` first; see docs/galaxy.md.
#[utoipa::path(get, path = "/ws/galaxy", tag = "galaxy",
    responses((status = 101, description = "WebSocket"), (status = 426), (status = 429)))]
pub(crate) async fn open(
    State(app): State<Arc<App>>,
    caller: Caller,
    origin: Option<axum::Extension<WrongOrigin>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
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
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    accept(app, &caller, origin.is_some(), upgrade)
}

fn accept(
    app: Arc<App>,
    caller: &Caller,
    wrong_origin: bool,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    if app.stopping.is_cancelled() {
        return Err(reply::NOT_READY.into());
    }
    let upgrade = upgrade.map_err(|_| Refusal::from(reply::UPGRADE_REQUIRED))?;
    let gateway = gateway::of(&app);
    let held = gateway.by_address.take(caller.address);
    let held = held.ok_or_else(|| Refusal::from(reply::TOO_MANY_SOCKETS).retry_after(5))?;
    let token = app.tasks.token();
    let upgrade = upgrade
        .max_message_size(FRAME_MOST)
        .max_frame_size(FRAME_MOST)
        .read_buffer_size(4 * 1024)
        .write_buffer_size(STATE_ROOM);
    Ok(upgrade.on_upgrade(move |socket| async move {
        metrics::gauge!("worldkeep_galaxy_sockets").increment(1.0);
        Box::pin(run(app, gateway, socket, wrong_origin)).await;
        metrics::gauge!("worldkeep_galaxy_sockets").decrement(1.0);
        drop((token, held));
    }))
}

async fn run(app: Arc<App>, gateway: Arc<Gateway>, socket: WebSocket, wrong_origin: bool) {
    let (mut sink, mut stream) = socket.split();
    let end = if wrong_origin {
        End(code::ORIGIN, "this origin may not play here")
    } else {
        match log_in(&app, &gateway, &mut stream).await {
            Err((text, end)) => {
                if let Some(text) = text {
                    let _ = in_time(&app, sink.send(Message::Text(text))).await;
                }
                end
            }
            Ok(pilot) => fly(&app, &gateway, &mut sink, stream, pilot).await,
        }
    };
    let frame = CloseFrame { code: end.0, reason: end.1.into() };
    let goodbye = sink.send(Message::Close(Some(frame)));
    let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
}

/// From the welcome to the end.
async fn fly(
    app: &Arc<App>,
    gateway: &Arc<Gateway>,
    sink: &mut SplitSink<WebSocket, Message>,
    stream: futures_util::stream::SplitStream<WebSocket>,
    pilot: Pilot,
) -> End {
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
    if joined == Some(galaxy::online::Change::Came) {
        gateway.announce(app, JOINED, id, Some(&username)).await;
    }
    let (said, replies) = mpsc::channel(REPLIES);
    let view = Mutex::new(View::of(&pilot));
    let (nudge, nudged) = watch::channel(0_u64);
    let end = {
        let mut talk = Talk::new(app, gateway, &pilot, &view, said, nudge);
        let mut mouth = Mouth {
            app,
            gateway,
            sink,
            view: &view,
            replies,
            notes,
            frames,
            nudged,
            pilot: &pilot,
        };
        let end = tokio::select! {
            end = talk.listen(stream) => end,
            end = mouth.speak() => end,
        };
        // What was answered to the last messages is still said.
        mouth.last_words().await;
        end
    };
    if let Ok(online) = gateway.online(app).await
        && let Ok(galaxy::online::Change::Left) = online.disconnect(id).await
    {
        gateway.announce(app, LEFT, id, Some(&username)).await;
    }
    gateway.sockets.send_modify(|count| *count -= 1);
    end
}

/// The writing half.
struct Mouth<'a> {
    app: &'a App,
    gateway: &'a Gateway,
    sink: &'a mut SplitSink<WebSocket, Message>,
    view: &'a Mutex<View>,
    replies: mpsc::Receiver<Utf8Bytes>,
    notes: tokio::sync::broadcast::Receiver<Note>,
    frames: watch::Receiver<Option<Arc<Frame>>>,
    /// Another ship or another view: the next state comes at once.
    nudged: watch::Receiver<u64>,
    pilot: &'a Pilot,
}

impl Mouth<'_> {
    async fn speak(&mut self) -> End {
        let mut sent_tick = match self.greet().await {
            Ok(tick) => Some(tick),
            Err(end) => return end,
        };
        let mut sent_at = Duration::ZERO;
        loop {
            let now = self.app.clock.monotonic();
            let (fresh, gap) = {
                let frame = self.frames.borrow_and_update();
                let tick = frame.as_ref().map(|frame| frame.seen.tick);
                let behind = frame.as_ref().is_some_and(|frame| frame.seen.numbers.behind > 0);
                let gap =
                    self.view.lock().gap.max(if behind { CATCHING_UP } else { Duration::ZERO });
                (tick.is_some() && tick != sent_tick, gap)
            };
            let wait = (sent_at + gap).saturating_sub(now);
            if fresh && (wait.is_zero() || sent_tick.is_none()) {
                sent_at = now;
                match self.state().await {
                    Ok(tick) => sent_tick = tick,
                    Err(end) => return end,
                }
                continue;
            }
            let later = async {
                if fresh { self.app.clock.sleep(wait).await } else { std::future::pending().await }
            };
            tokio::select! {
                biased;
                reply = self.replies.recv() => {
                    let Some(reply) = reply else { return End::gone() };
                    if let Err(end) = self.write_all(reply).await {
                        return end;
                    }
                }
                note = self.notes.recv() => match note {
                    Ok(note) => if let Err(end) = self.note(note).await { return end },
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return End::gone(),
                },
                changed = self.nudged.changed() => {
                    if changed.is_err() { return End::gone() }
                    (sent_tick, sent_at) = (None, Duration::ZERO);
                }
                changed = self.frames.changed() => if changed.is_err() { return End::gone() },
                () = later => {}
            }
        }
    }

    /// `welcome`, then one `state` at once.
    async fn greet(&mut self) -> Result<u64, End> {
        let failed = |_| End(1013, "the world cannot be read now; come again");
        let frame = self.gateway.frame(self.app).await.map_err(failed)?;
        let text = welcome(self.app, self.pilot, &frame.seen).to_string();
        self.write(text.into()).await?;
        let (ship, ships) = {
            let view = self.view.lock();
            (view.ship, view.ships)
        };
        self.write(frame.state(ship, ships)).await?;
        Ok(frame.seen.tick)
    }

    /// The newest state; says which tick it was.
    async fn state(&mut self) -> Result<Option<u64>, End> {
        let Some(frame) = self.frames.borrow_and_update().clone() else { return Ok(None) };
        let (ship, ships) = {
            let view = self.view.lock();
            (view.ship, view.ships)
        };
        let (text, tick) = (frame.state(ship, ships), frame.seen.tick);
        metrics::counter!("worldkeep_galaxy_sent_bytes_total").increment(text.len() as u64);
        in_time(self.app, self.sink.feed(Message::Text(text))).await?;
        frame.queued(self.app.clock.monotonic());
        drop(frame);
        // Everybody has the tick queued before the first is sent: sending takes longer.
        tokio::task::yield_now().await;
        in_time(self.app, self.sink.flush()).await?;
        Ok(Some(tick))
    }

    async fn note(&mut self, note: Note) -> Result<(), End> {
        if note.to.is_some_and(|player| player != self.pilot.player.id) {
            return Ok(());
        }
        match note.what {
            What::Say(text) => self.write(text).await,
            What::Close => Err(End(code::POLICY, "the account was deleted")),
            What::Switch(ship) => {
                self.view.lock().ship = Some(ship);
                Ok(())
            }
        }
    }

    /// A text and those that wait behind it.
    async fn write_all(&mut self, first: Utf8Bytes) -> Result<(), End> {
        let mut next = Some(first);
        while let Some(text) = next {
            in_time(self.app, self.sink.feed(Message::Text(text))).await?;
            next = self.replies.try_recv().ok();
        }
        in_time(self.app, self.sink.flush()).await
    }

    async fn last_words(&mut self) {
        if let Ok(first) = self.replies.try_recv() {
            let _ = tokio::time::timeout(Duration::from_secs(1), self.write_all(first)).await;
        }
    }

    async fn write(&mut self, text: Utf8Bytes) -> Result<(), End> {
        metrics::counter!("worldkeep_galaxy_sent_bytes_total").increment(text.len() as u64);
        in_time(self.app, self.sink.send(Message::Text(text))).await
    }
}

/// Does it within the time a client has. Most writes are done at once and need no timer.
async fn in_time(
    app: &App,
    work: impl Future<Output = Result<(), axum::Error>>,
) -> Result<(), End> {
    let mut work = std::pin::pin!(work);
    let done = match futures_util::poll!(work.as_mut()) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => tokio::select! {
            done = work => done,
            () = app.clock.sleep(WRITE_WAIT) => return Err(End(code::IDLE, "nothing was read")),
        },
    };
    done.map_err(|_| End::gone())
}
