//! The galaxy's gateway: what a server holds of it beside the routes. The engine in this process (if it leads, reads
//! and orders go straight to it), the newest frame for sockets, who is online here, and the accounts.
//!
//! Invariants: a server that does not lead reads the store and gives orders through `galaxy:commands`; no
//! socket ever slows the tick.

use std::net::IpAddr;
use std::sync::Arc;

use galaxy::keys::Keys;
use galaxy::physics::solar::SOL;
use galaxy::{
    Engine, EngineState, Fleets, Handle, Online, Options, Orders, Placement, Snapshots, WorldView,
    refusal,
};
use kernel::{Clock, Kind, Said};
use parking_lot::Mutex;
use tokio::sync::{Notify, OnceCell, broadcast, watch};
use uuid::Uuid;

use crate::app::App;
use crate::galaxy::settings::Restore;
use crate::limits::Counts;
use crate::reply::Refusal;
use crate::settings::Settings;

use super::frame::{Frame, Meters};
use super::notices::Notice;
use super::viewers::Viewers;

/// One server's share of the galaxy.
pub(crate) struct Gateway {
    pub(crate) keys: Keys,
    clock: Arc<dyn Clock>,
    /// The engine of this process; it may or may not lead.
    pub(crate) engine: Handle,
    /// Until its loop takes it.
    pub(super) waiting: Mutex<Option<Engine>>,
    /// The newest frame; `None` until there is a world.
    pub(crate) frames: watch::Sender<Option<Arc<Frame>>>,
    /// The sockets that get them.
    pub(crate) viewers: Viewers,
    pub(crate) meters: Meters,
    /// The notices that sockets hear beside the state.
    pub(crate) notices: broadcast::Sender<Notice>,
    /// Open sockets of this server that are logged in.
    pub(crate) sockets: watch::Sender<usize>,
    /// Whether the event streams are heard for them.
    pub(crate) hearing: watch::Sender<bool>,
    /// The store says that a tick is done.
    pub(super) ticked: Notify,
    /// The way to whichever engine leads.
    pub(crate) orders: Arc<Orders>,
    pub(super) fleets: OnceCell<Fleets>,
    /// The name that store and database share.
    pub(crate) identity: OnceCell<String>,
    pub(super) online: OnceCell<Arc<Online>>,
    pub(super) snapshots: OnceCell<Arc<Snapshots>>,
    /// Sockets by address and by player.
    pub(crate) by_address: Counts<IpAddr>,
    pub(crate) by_player: Counts<Uuid>,
}

/// The gateway of this server, made at the first use.
pub(crate) fn of(app: &App) -> Arc<Gateway> {
    app.kept(|| Gateway::new(app))
}

/// How an engine of this server is told to work.
pub(crate) fn options(app: &App, create: bool) -> Options {
    let settings = &app.settings.galaxy;
    // A pilot of the demo should not wait a second for the ship to answer.
    let default = if app.demo() { 10.0 } else { 1.0 };
    // A place that does not exist was refused at the start.
    let spawn_place = settings_place(&app.settings).unwrap_or_default();
    let restore = match settings.restore {
        Restore::Auto => true,
        Restore::Wait => false,
        Restore::Own => app.store().status().kind == Kind::Embedded,
    };
    Options {
        restore,
        spawn_place,
        create: create.then_some(settings.epoch),
        rate: settings.tick_rate.unwrap_or(default),
        ..Options::new(app.server_id.clone())
    }
}

/// The place where new ships appear, as set.
pub(crate) fn settings_place(settings: &Settings) -> Result<Placement, String> {
    let settings = &settings.galaxy;
    let body = settings.spawn_body.as_deref().unwrap_or_default();
    // Empty is no height.
    let altitude = settings.spawn_altitude.unwrap_or(f64::NAN);
    Placement::about(&SOL, body, altitude)
        .map_err(|why| format!("settings `galaxy.spawn_body` and `galaxy.spawn_altitude`: {why}"))
}

impl Gateway {
    fn new(app: &App) -> Self {
        let keys = Keys::new(app.keyspace.layout);
        // Nobody's Redis fills with planets unasked.
        let create = app.demo() || app.store().status().kind == Kind::Embedded;
        let (engine, handle) =
            Engine::new(app.shared_store(), Arc::clone(&app.clock), keys, options(app, create));
        let orders = Arc::new(Orders::new(
            app.shared_store(),
            Arc::clone(&app.clock),
            keys,
            handle.clone(),
            options(app, false),
        ));
        Gateway {
            keys,
            clock: Arc::clone(&app.clock),
            engine: handle,
            waiting: Mutex::new(Some(engine)),
            frames: watch::Sender::new(None),
            viewers: Viewers::default(),
            meters: Meters::new(),
            notices: broadcast::channel(1_024).0,
            sockets: watch::Sender::new(0),
            hearing: watch::Sender::new(false),
            ticked: Notify::new(),
            orders,
            fleets: OnceCell::new(),
            identity: OnceCell::new(),
            online: OnceCell::new(),
            snapshots: OnceCell::new(),
            by_address: Counts::new(app.settings.galaxy.sockets_per_address),
            by_player: Counts::new(app.settings.galaxy.sockets_per_player),
        }
    }

    /// Whether the engine of this process ticks the world.
    pub(crate) fn leads(&self) -> bool {
        self.engine.seen().borrow().leads
    }

    /// The world: from the engine here, or as the store has it.
    pub(crate) async fn look(&self, app: &App) -> Result<Arc<WorldView>, Refusal> {
        let here = Arc::clone(&self.engine.seen().borrow());
        if here.leads {
            return Ok(here);
        }
        let lost = |alarm: Said| {
            let details = serde_json::json!({ "outcome": "not_sent", "said": alarm });
            Refusal::new(refusal::WORLD_LOST, alarm.sentence()).details(details)
        };
        let alarm = here.standing.alarm();
        if let (EngineState::Foreign, Some(alarm)) = (here.standing, &alarm) {
            return Err(lost(alarm.clone()));
        }
        // A restore brings it back before the engine has looked again.
        match WorldView::read(&app.shared_store(), self.keys, &SOL).await? {
            Some(seen) => Ok(Arc::new(seen)),
            None => Err(alarm.map_or_else(|| refusal::NO_WORLD.into(), lost)),
        }
    }

    /// The newest frame for a socket that just came.
    pub(crate) async fn frame(&self, app: &App) -> Result<Arc<Frame>, Refusal> {
        let newest = self.frames.borrow().clone();
        if let Some(frame) = newest
            && (frame.seen.leads || *self.sockets.borrow() > 1)
        {
            return Ok(frame);
        }
        let frame = self.framed(self.look(app).await?);
        self.tell_sockets(&frame);
        Ok(frame)
    }

    /// Puts a new look at the world before the sockets: first everybody's state is chosen, then they are told.
    pub(crate) async fn show(&self, seen: Arc<WorldView>) {
        let frame = self.framed(seen);
        self.viewers.serve(&frame, &self.clock).await;
        self.tell_sockets(&frame);
    }

    fn framed(&self, seen: Arc<WorldView>) -> Arc<Frame> {
        Arc::new(Frame::new(seen, self.clock.monotonic(), self.meters.clone()))
    }

    fn tell_sockets(&self, frame: &Arc<Frame>) {
        let mut paused = None;
        self.frames.send_modify(|newest| {
            let now = frame.seen.pace.paused;
            let before = newest.as_ref().map_or(now, |frame| frame.seen.pace.paused);
            paused = (before != now).then_some(now);
            *newest = Some(Arc::clone(frame));
        });
        if let Some(paused) = paused {
            let _ = self.notices.send(Notice::paused(paused, frame.seen.tick));
        }
    }
}
