//! The loops of the rooms: hear the bus and hand its messages out, serve forced closes, keep presence leases,
//! end rooms whose time is over. Every server runs them; whoever is alive serves what is due.

use std::time::Duration;

use futures_util::StreamExt as _;
use kernel::{Deadline, Message, Topic};
use rooms::{Presence, Rooms};
use tokio_util::sync::CancellationToken;

use super::gateway::{self, Gateway};
use crate::modules::State;

/// How long a stop waits for sockets that do not go.
const GOODBYE: Duration = Duration::from_secs(2);
const RENEW_EVERY: u32 = 20; // seconds; leases last sixty

/// Hears the buses of all rooms. After a gap every socket gets a fresh state.
pub(super) async fn listen(app: State, stop: CancellationToken) {
    let gateway = gateway::of(&app);
    tokio::select! {
        () = stop.cancelled() => {}
        () = hear(&app, &gateway) => {}
    }
    gateway.goodbye();
}

async fn hear(app: &State, gateway: &Gateway) {
    let store = app.shared_store();
    let topics = [Topic::Pattern(gateway.rooms.bus_pattern())];
    let mut first = true;
    let told = kernel::LogOnce::new();
    loop {
        let by = Deadline::after(Duration::from_secs(5));
        let mut messages = match store.subscribe(&topics, by).await {
            Ok(messages) => messages,
            Err(fault) => {
                if told.is_news("bus", &fault) {
                    tracing::warn!(%fault, "the rooms' bus cannot be heard");
                }
                tokio::time::sleep(Duration::from_millis(250)).await;
                continue;
            }
        };
        told.well("bus");
        gateway.heard.send_replace(true);
        if !std::mem::take(&mut first) {
            gateway.refresh();
        }
        while let Some(message) = messages.next().await {
            match message {
                Message::Payload { channel, payload } => {
                    if let Some(code) = Rooms::code_of_bus(&channel) {
                        gateway.deliver(code, payload);
                    }
                }
                Message::Resumed => gateway.refresh(),
            }
        }
        gateway.heard.send_replace(false);
    }
}

/// Closes votes by force when their time has come, whoever promised it.
pub(super) async fn deadlines(app: State, stop: CancellationToken) {
    let gateway = gateway::of(&app);
    let act = |timer: kernel::Timer| {
        let rooms = gateway.rooms.clone();
        async move { rooms.serve_deadline(&timer).await }
    };
    gateway.timers.serve(act, stop.cancelled()).await;
}

/// Tells the store whose presence changed here. The truth is looked up when it is told, so the order of coming
/// and going does not matter.
pub(super) async fn presence(app: State, stop: CancellationToken) {
    let gateway = gateway::of(&app);
    let Some(mut changes) = gateway.changes.lock().take() else { return };
    let tell = async |code: String, who: String| {
        let what = if gateway.is_here(&code, &who) { Presence::Came } else { Presence::Went };
        if let Err(error) = gateway.rooms.presence(&code, &gateway.server, &who, what).await {
            tracing::debug!(%error, code, "telling presence");
        }
    };
    let gone = async {
        stop.cancelled().await;
        // The sockets say goodbye after the stop; their last changes are told, but not waited for long.
        let mut open = gateway.open.subscribe();
        if tokio::time::timeout(GOODBYE, open.wait_for(|open| *open == 0)).await.is_err() {
            tracing::warn!("sockets of rooms did not go in time");
        }
    };
    tokio::pin!(gone);
    loop {
        tokio::select! {
            biased;
            change = changes.recv() => match change {
                Some((code, who)) => tell(code, who).await,
                None => return,
            },
            () = &mut gone => break,
        }
    }
    while let Ok((code, who)) = changes.try_recv() {
        tell(code, who).await;
    }
}

/// Each second: rooms that end. Each twenty: leases.
pub(super) async fn upkeep(app: State, stop: CancellationToken) {
    let gateway = gateway::of(&app);
    let mut tick: u32 = 0;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = app.clock.sleep(Duration::from_secs(1)) => {}
        }
        tick = tick.wrapping_add(1);
        gateway.expire(app.now_ms());
        if tick.is_multiple_of(RENEW_EVERY) {
            let here = gateway.everybody();
            if let Err(error) = gateway.rooms.renew(&gateway.server, &here).await {
                tracing::debug!(%error, "renewing presence");
            }
        }
    }
}
