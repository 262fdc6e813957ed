//! The pace of the game for admins. Every change is an entry of `galaxy:admin`: who, what, old, new.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use galaxy::{Command, Engine, Order, Pace, pace};
use kernel::Event;
use kernel::numbers::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::things::{GameStatus, game_status};
use crate::app::App;
use crate::caller::Caller;
use crate::extract::Body;
use crate::galaxy::orders::Asker;
use crate::galaxy::{errors, gateway};
use crate::reply::{self, Refusal};

/// The game, and how its engine is doing; numbers of an engine elsewhere are `null`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct AdminStatus {
    #[serde(flatten)]
    game: GameStatus,
    /// Whether this server's engine ticks the world.
    leader: bool,
    /// The snapshot that is being put back, if one is.
    restoring: Option<String>,
    ships: usize,
    stations: usize,
    actual_rate: Option<f64>,
    ticks_behind: Option<u64>,
    effective_scale: f64,
    /// Seconds until game time is UTC, while time sync works on it.
    converges_in_s: Option<f64>,
    /// Milliseconds of the last tick with its write.
    tick_ms: Option<f64>,
    /// Of the bodies, relative, against the start.
    energy_drift: Option<f64>,
    /// Of the bodies, relative.
    momentum_drift: Option<f64>,
    backlog_dropped: Option<u64>,
    failed_writes: Option<u64>,
    orders_dropped: Option<u64>,
    not_finite: Option<u64>,
    /// Snapshots that failed in a row; from three on it is an alarm.
    snapshots_failed: Option<u32>,
}

/// The game and its engine.
#[utoipa::path(get, path = "/api/admin/status", tag = "galaxy",
    responses((status = 200, body = AdminStatus), (status = 404)))]
pub(crate) async fn status(State(app): State<Arc<App>>) -> Result<Json<AdminStatus>, Refusal> {
    let gateway = gateway::of(&app);
    let seen = gateway.look(&app).await?;
    let restoring = gateway.restoring(&app).await?;
    let numbers = &seen.numbers;
    let scale = pace::effective_scale(&seen.pace, seen.drift_s);
    let pulls = seen.pace.sync && (seen.pace.scale - 1.0).abs() <= 1e-3;
    Ok(Json(AdminStatus {
        game: game_status(&app, &seen).await?,
        leader: seen.leads,
        restoring,
        ships: seen.ships.len(),
        stations: seen.stations.len(),
        actual_rate: seen.leads.then_some(numbers.rate),
        ticks_behind: seen.leads.then_some(numbers.behind),
        effective_scale: scale,
        converges_in_s: pulls.then(|| pace::converges_in_s(seen.drift_s)),
        tick_ms: seen.leads.then_some(numbers.took.as_secs_f64() * 1e3),
        energy_drift: seen.leads.then_some(numbers.energy_drift),
        momentum_drift: seen.leads.then_some(numbers.momentum_drift),
        backlog_dropped: seen.leads.then_some(numbers.backlog_dropped),
        failed_writes: seen.leads.then_some(numbers.failed_writes),
        orders_dropped: seen.leads.then_some(numbers.orders_dropped),
        not_finite: seen.leads.then_some(numbers.not_finite),
        snapshots_failed: seen.leads.then_some(numbers.snapshots_failed),
    }))
}

/// Appends what an admin changed. The change itself is done: a store that fails now is only logged.
pub(super) async fn record(
    app: &App,
    caller: &Caller,
    what: &str,
    id: &str,
    old: Value,
    new: Value,
) {
    let body = json!({ "who": caller.name, "what": what, "old": old, "new": new });
    let stream = gateway::of(app).keys.admin_events();
    let event = Event::new(what, app.now_ms(), id, &body, Dialect::Python);
    let Ok(event) = event else { return };
    let by = kernel::Deadline::after(crate::wire::CALL);
    if let Err(fault) = app.store().call(&event.append_to(&stream).cmd(), by).await {
        tracing::warn!(%fault, what, "an admin's change could not be recorded");
    }
}

/// Gives an order about the pace and records what it changed.
async fn change(
    app: &App,
    caller: &Caller,
    what: &str,
    order: Order,
    part: impl Fn(&Pace) -> Value,
) -> Result<Json<GameStatus>, Refusal> {
    let gateway = gateway::of(app);
    let old = part(&gateway.look(app).await?.pace);
    gateway.order(app, &Asker::operator(), order).await?;
    let seen = gateway.look(app).await?;
    record(app, caller, what, "game", old, part(&seen.pace)).await;
    game_status(app, &seen).await.map(Json)
}

/// Makes a world where there is none.
#[utoipa::path(post, path = "/api/admin/game/init", tag = "galaxy",
    responses((status = 201, description = "made", body = GameStatus), (status = 409, description = "there is one")))]
pub(crate) async fn init(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<(StatusCode, Json<GameStatus>), Refusal> {
    let gateway = gateway::of(&app);
    let refuse =
        || Err(Refusal::new(reply::CONFLICT, "there is a world already; nothing was changed"));
    match gateway.look(&app).await {
        Ok(_) => return refuse(),
        Err(refusal)
            if [errors::NO_WORLD.code, errors::WORLD_LOST.code].contains(&refusal.def.code) => {}
        Err(refusal) => return Err(refusal),
    }
    let resume =
        Command { at_ms: app.now_ms(), player_id: None, ship_id: None, order: Order::Resume };
    // An engine that looks for a world holds the lock for a moment, now and then.
    let mut tries = 0;
    let outcome = loop {
        let options = gateway::options(&app, true);
        let (engine, _) =
            Engine::new(app.shared_store(), Arc::clone(&app.clock), gateway.keys, options);
        match engine.alone(&resume).await? {
            Some(outcome) => break outcome,
            None if tries == 20 => return refuse(),
            None => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        tries += 1;
    };
    outcome.map_err(errors::refused)?;
    gateway.engine.look_again();
    let seen = gateway.look(&app).await?;
    record(&app, &caller, "created", "game", Value::Null, seen.tick.into()).await;
    Ok((StatusCode::CREATED, Json(game_status(&app, &seen).await?)))
}

/// Holds the game before its next tick.
#[utoipa::path(post, path = "/api/admin/game/pause", tag = "galaxy",
    responses((status = 200, body = GameStatus), (status = 404)))]
pub(crate) async fn pause(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<GameStatus>, Refusal> {
    change(&app, &caller, "paused", Order::Pause, |pace| pace.paused.into()).await
}

/// Lets it go on.
#[utoipa::path(post, path = "/api/admin/game/resume", tag = "galaxy",
    responses((status = 200, body = GameStatus), (status = 404)))]
pub(crate) async fn resume(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<GameStatus>, Refusal> {
    change(&app, &caller, "resumed", Order::Resume, |pace| pace.paused.into()).await
}

/// A new rate.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TickRate {
    /// Ticks per second, 0.1 to 100.
    tick_rate: f64,
}

/// Changes how often the game ticks.
#[utoipa::path(put, path = "/api/admin/game/tick-rate", tag = "galaxy", request_body = TickRate,
    responses((status = 200, body = GameStatus), (status = 400, description = "outside 0.1 to 100")))]
pub(crate) async fn tick_rate(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(TickRate { tick_rate }): Body<TickRate>,
) -> Result<Json<GameStatus>, Refusal> {
    let order = Order::TickRate { tick_rate };
    change(&app, &caller, "tick_rate_changed", order, |pace| pace.rate.into()).await
}

/// A new scale.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeScale {
    /// Game seconds per second, 0.1 to 100.
    time_scale: f64,
}

/// Changes how fast game time runs.
#[utoipa::path(put, path = "/api/admin/game/time-scale", tag = "galaxy", request_body = TimeScale,
    responses((status = 200, body = GameStatus), (status = 400, description = "outside 0.1 to 100"), (status = 409, description = "time sync is on")))]
pub(crate) async fn time_scale(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(TimeScale { time_scale }): Body<TimeScale>,
) -> Result<Json<GameStatus>, Refusal> {
    let order = Order::TimeScale { time_scale };
    change(&app, &caller, "time_scale_changed", order, |pace| pace.scale.into()).await
}

/// On or off.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeSync {
    enabled: bool,
}

/// Whether game time is drawn towards UTC.
#[utoipa::path(post, path = "/api/admin/game/time-sync", tag = "galaxy", request_body = TimeSync,
    responses((status = 200, body = GameStatus), (status = 400)))]
pub(crate) async fn time_sync(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(TimeSync { enabled }): Body<TimeSync>,
) -> Result<Json<GameStatus>, Refusal> {
    let order = Order::TimeSync { enabled };
    change(&app, &caller, "time_sync_changed", order, |pace| pace.sync.into()).await
}

/// Begins the world anew: paused, without craft, its bodies where they are now. Accounts stay; ships come back at the
/// next login.
#[utoipa::path(post, path = "/api/admin/reset", tag = "galaxy",
    responses((status = 200, body = GameStatus), (status = 404)))]
pub(crate) async fn reset(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<GameStatus>, Refusal> {
    let gateway = gateway::of(&app);
    let before = gateway.look(&app).await?;
    let epoch = gateway::options(&app, true).create.unwrap_or_default();
    gateway.order(&app, &Asker::operator(), Order::ResetWorld { epoch }).await?;
    let seen = gateway.look(&app).await?;
    let count = |seen: &galaxy::WorldView| json!({ "ships": seen.ships.len(), "stations": seen.stations.len() });
    record(&app, &caller, "reset", "game", count(&before), count(&seen)).await;
    game_status(&app, &seen).await.map(Json)
}
