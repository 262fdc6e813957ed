//! The galaxy's loops: the engine, frames for sockets, what the store tells, what the streams tell. Every server runs
//! them; only the one whose engine holds the lock ticks.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use galaxy::WorldView;
use galaxy::physics::solar::SOL;
use kernel::{Deadline, Message, Topic};
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::gateway::{Gateway, of};
use super::notices::Notice;
use crate::app::App;
use crate::modules::State;

const REST: Duration = Duration::from_millis(250);

/// Ticks whenever it holds the lock.
pub(crate) async fn engine(app: State, stop: CancellationToken) {
    if !app.settings.galaxy.engine {
        return;
    }
    let gateway = of(&app);
    let Some(engine) = gateway.waiting.lock().take() else { return };
    engine.starts();
    let engine = match gateway.snapshots(&app).await {
        Ok(snapshots) => {
            gateway.orders.keep_in(snapshots);
            let engine = engine.keeping(Arc::clone(snapshots));
            match gateway.identity.get() {
                Some(identity) => engine.belonging(identity),
                None => engine,
            }
        }
        // The world goes on; the log says why nothing of it is kept.
        Err(_) => engine,
    };
    engine.run(stop).await;
}

/// Gives ships to those whose registration was cut short by the end of a server, once a world is ticked.
pub(crate) async fn complete(app: State, stop: CancellationToken) {
    let gateway = of(&app);
    let mut seen = gateway.engine.seen();
    tokio::select! {
        () = stop.cancelled() => return,
        leads = seen.wait_for(|seen| seen.leads) => if leads.is_err() { return },
    }
    let Ok(fleets) = gateway.fleets(&app).await else { return };
    match fleets.complete().await {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "registrations that were cut short are complete now"),
        // The next login does it, or the next start.
        Err(error) => tracing::warn!(%error, "registrations that were cut short are left for now"),
    }
}

/// Puts each tick before the sockets: from the engine here, or, when another server ticks and somebody looks, from the
/// store.
pub(crate) async fn frames(app: State, stop: CancellationToken) {
    let gateway = of(&app);
    let mut seen = gateway.engine.seen();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            changed = seen.changed() => {
                if changed.is_err() {
                    // This server never ticks: only the store tells.
                    return follow(&app, &gateway, &stop).await;
                }
                let now = Arc::clone(&seen.borrow_and_update());
                let lost = now.standing.alarm().is_some();
                metrics::gauge!("worldkeep_galaxy_world_lost").set(f64::from(u8::from(lost)));
                if now.leads {
                    measure(&now);
                    gateway.show(now).await;
                }
            }
            () = gateway.ticked.notified() => read(&app, &gateway).await,
        }
    }
}

async fn follow(app: &App, gateway: &Gateway, stop: &CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = gateway.ticked.notified() => read(app, gateway).await,
        }
    }
}

async fn read(app: &App, gateway: &Gateway) {
    if gateway.leads() || *gateway.sockets.borrow() == 0 {
        return;
    }
    match WorldView::read(&app.shared_store(), gateway.keys, &SOL).await {
        Ok(Some(seen)) => gateway.show(Arc::new(seen)).await,
        Ok(None) => {}
        Err(fault) => tracing::debug!(%fault, "a tick of another server could not be read"),
    }
}

/// Hears `tick_completed` and the answers to orders.
pub(crate) async fn bus(app: State, stop: CancellationToken) {
    let gateway = of(&app);
    let store = app.shared_store();
    let (ticked, answers) = (gateway.keys.tick_completed(), gateway.keys.bus());
    let topics = [ticked, answers].map(|key| Topic::Channel(key.as_str().to_owned()));
    while !stop.is_cancelled() {
        let by = Deadline::after(Duration::from_secs(5));
        let Ok(mut messages) = store.subscribe(&topics, by).await else {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(REST) => continue,
            }
        };
        gateway.orders.hears(true);
        loop {
            tokio::select! {
                () = stop.cancelled() => return gateway.orders.hears(false),
                message = messages.next() => match message {
                    Some(Message::Payload { channel, payload }) => {
                        if channel == gateway.keys.bus().as_str() {
                            gateway.orders.deliver(&payload);
                        } else {
                            gateway.ticked.notify_one();
                        }
                    }
                    Some(Message::Resumed) => gateway.ticked.notify_one(),
                    None => break,
                },
            }
        }
        gateway.orders.hears(false);
    }
}

/// Tells sockets what the streams say, while there are any.
pub(crate) async fn notices(app: State, stop: CancellationToken) {
    let gateway = of(&app);
    let mut sockets = gateway.sockets.subscribe();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            some = sockets.wait_for(|count| *count > 0) => if some.is_err() { return },
        }
        let Some((mut news, _)) = app.hub.listen(Duration::from_secs(5)).await else { continue };
        gateway.hearing.send_replace(true);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                one = news.recv() => match one {
                    Ok(one) => {
                        if let Some(notice) = one.event.as_ref().and_then(Notice::of) {
                            let _ = gateway.notices.send(notice);
                        }
                    }
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => break,
                },
                none = sockets.wait_for(|count| *count == 0) => if none.is_ok() { break },
            }
        }
        gateway.hearing.send_replace(false);
    }
}

/// Numbers of the tick for `/metrics`.
#[allow(clippy::cast_precision_loss)] // A gauge is a float by its format.
fn measure(seen: &WorldView) {
    let numbers = &seen.numbers;
    metrics::histogram!("worldkeep_galaxy_tick_seconds").record(numbers.took.as_secs_f64());
    metrics::counter!("worldkeep_galaxy_ticks_total").absolute(seen.tick);
    metrics::gauge!("worldkeep_galaxy_ticks_behind").set(numbers.behind as f64);
    metrics::gauge!("worldkeep_galaxy_ships").set(seen.ships.len() as f64);
    metrics::gauge!("worldkeep_galaxy_time_drift_seconds").set(seen.drift_s);
    metrics::gauge!("worldkeep_galaxy_energy_drift").set(numbers.energy_drift);
    metrics::counter!("worldkeep_galaxy_backlog_dropped_total").absolute(numbers.backlog_dropped);
    metrics::counter!("worldkeep_galaxy_failed_writes_total").absolute(numbers.failed_writes);
    metrics::gauge!("worldkeep_galaxy_snapshots_failed").set(f64::from(numbers.snapshots_failed));
    metrics::counter!("worldkeep_galaxy_foreign_changes_total").absolute(numbers.foreign);
    metrics::counter!("worldkeep_galaxy_orders_dropped_total").absolute(numbers.orders_dropped);
    metrics::counter!("worldkeep_galaxy_physics_nonfinite_total").absolute(numbers.not_finite);
}
