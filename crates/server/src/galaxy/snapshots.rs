//! Snapshots for admins: taken by the engine that ticks, listed from the database, put back by the engine.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use galaxy::{Order, SnapshotRow};
use serde_json::{Value, json};

use super::admin::record;
use super::things::{GameStatus, PageQuery, game_status};
use crate::app::App;
use crate::caller::Caller;
use crate::extract::{Query, pack_cursor, page_limit, unpack_cursor};
use crate::galaxy::gateway;
use crate::galaxy::orders::Asker;
use crate::reply::{self, Refusal};

/// How long an engine of another server may take.
const WAIT: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

fn line(row: &SnapshotRow) -> Value {
    json!({
        "id": row.id, "tick_number": row.tick_number, "game_time": row.game_time.to_string(),
        "bytes": row.bytes, "created_at": row.created_at.to_string(),
    })
}

/// All of them, newest first.
async fn all(app: &App) -> Result<Vec<SnapshotRow>, Refusal> {
    let gateway = gateway::of(app);
    let mut rows =
        gateway.snapshots(app).await?.list().await.map_err(crate::galaxy::accounts::snapshot)?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    Ok(rows)
}

/// Snapshots, newest first.
#[utoipa::path(get, path = "/api/admin/snapshots", tag = "galaxy", params(PageQuery),
    responses((status = 200, description = "`{items: [{id, tick_number, game_time, bytes, created_at}], cursor}`"), (status = 400)))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Value>, Refusal> {
    let limit = page_limit(query.limit)?;
    let before: Option<i64> = query.cursor.as_deref().map(unpack_cursor).transpose()?;
    let rows = all(&app).await?;
    let mut rest = rows.iter().filter(|row| before.is_none_or(|before| row.id < before));
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let cursor = page.last().filter(|_| rest.next().is_some()).map(|row| pack_cursor(&row.id));
    let items: Vec<_> = page.into_iter().map(line).collect();
    Ok(Json(json!({ "items": items, "cursor": cursor })))
}

/// Takes one now.
#[utoipa::path(post, path = "/api/admin/snapshots", tag = "galaxy",
    responses((status = 201, description = "`{id, tick_number, game_time, bytes, created_at}`"), (status = 404), (status = 503)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let before = all(&app).await?.first().map_or(0, |row| row.id);
    gateway::of(&app).order(&app, &Asker::operator(), Order::Snapshot).await?;
    // The engine of another server says yes when it has begun.
    let began = app.clock.monotonic();
    let row = loop {
        if let Some(row) = all(&app).await?.into_iter().next().filter(|row| row.id > before) {
            break row;
        }
        if app.clock.monotonic().saturating_sub(began) > WAIT {
            return Err(reply::OUTCOME_UNKNOWN.into());
        }
        app.clock.sleep(LOOK_AGAIN).await;
    };
    record(&app, &caller, "snapshot_taken", &row.id.to_string(), Value::Null, line(&row)).await;
    Ok((StatusCode::CREATED, Json(line(&row))))
}

/// Puts the world back to a snapshot. The game is paused then; resume it when you like what you see.
#[utoipa::path(post, path = "/api/admin/snapshots/{id}/restore", tag = "galaxy",
    params(("id" = String, Path, description = "the snapshot's id")),
    responses((status = 200, body = GameStatus), (status = 404)))]
pub(crate) async fn restore(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<GameStatus>, Refusal> {
    let missing = || Refusal::new(reply::NOT_FOUND, "there is no such snapshot");
    let id: i64 = id.parse().map_err(|_| missing())?;
    let row = all(&app).await?.into_iter().find(|row| row.id == id).ok_or_else(missing)?;
    let gateway = gateway::of(&app);
    let old = gateway.look(&app).await.map_or(Value::Null, |seen| seen.tick.into());
    gateway.order(&app, &Asker::operator(), Order::Restore { id }).await?;
    // The engine of another server says yes when it has begun; the marker is gone when it is done.
    let began = app.clock.monotonic();
    while gateway.restoring(&app).await?.is_some() {
        if app.clock.monotonic().saturating_sub(began) > WAIT {
            return Err(reply::OUTCOME_UNKNOWN.into());
        }
        app.clock.sleep(LOOK_AGAIN).await;
    }
    let seen = gateway.look(&app).await?;
    record(&app, &caller, "snapshot_restored", &id.to_string(), old, line(&row)).await;
    game_status(&app, &seen).await.map(Json)
}
