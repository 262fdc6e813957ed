//! Automation of a ship: its rules and the maneuver it flies. The owner, or an operator.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use galaxy::physics::solar::SOL;
use galaxy::{Order, Rule, RuleDraft, ShipView, WorldView};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::things::ship_id;
use crate::app::App;
use crate::caller::Player;
use crate::extract::Body;
use crate::galaxy::orders::Asker;
use crate::galaxy::{errors, gateway};
use crate::reply::{self, Refusal};

/// A rule as it is told: trigger and actions as JSON, not as text.
fn line(ship: Uuid, rule: &Rule) -> Value {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
    json!({
        "rule_id": rule.id, "ship_id": ship, "name": rule.name, "enabled": rule.enabled,
        "mode": rule.mode.word(), "priority": rule.priority, "trigger": parsed(&rule.trigger_json),
        "actions": parsed(&rule.actions_json), "created_at": rule.created_at, "broken": rule.broken,
    })
}

/// The maneuver as its hash spells it.
pub(super) fn maneuver(ship: &ShipView) -> Value {
    let Some(maneuver) = &ship.maneuver else { return Value::Null };
    let fields = maneuver.write(|body| SOL.body(body).name);
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let spell = |(field, value): (&str, String)| match field {
        // The one field that is a list.
        "burns" => (field.to_owned(), serde_json::from_str(&value).unwrap_or_default()),
        _ => (field.to_owned(), Value::from(value)),
    };
    fields.map(spell).collect::<Map<_, _>>().into()
}

/// The ship, if whoever asks may: its owner, or an operator.
pub(super) fn own<'a>(
    seen: &'a WorldView,
    id: Uuid,
    player: Option<&Player>,
) -> Result<&'a ShipView, Refusal> {
    let ship = seen.ship(id).ok_or_else(|| Refusal::from(errors::NO_SHIP))?;
    match player {
        Some(player) if ship.player_id != player.id.to_string() => Err(errors::NO_SHIP.into()),
        _ => Ok(ship),
    }
}

fn rule_of(ship: &ShipView, id: Uuid) -> Result<Value, Refusal> {
    let found = ship.rules.iter().find(|rule| rule.id == id);
    let missing = || Refusal::new(reply::NOT_FOUND, "there is no such rule");
    found.map(|rule| line(ship.id, rule)).ok_or_else(missing)
}

fn rule_id(text: &str) -> Result<Uuid, Refusal> {
    text.parse().map_err(|_| Refusal::new(reply::NOT_FOUND, "there is no such rule"))
}

/// A ship's rules in the order in which they act, and the maneuver it flies.
#[utoipa::path(get, path = "/api/ships/{id}/automation", tag = "galaxy",
    params(("id" = String, Path, description = "the ship's id")),
    responses((status = 200, description = "`{items: [rule], maneuver, cursor}`"), (status = 404, description = "E014")))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    player: Option<Player>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let id = ship_id(&id)?;
    let seen = gateway::of(&app).look(&app).await?;
    let ship = own(&seen, id, player.as_ref())?;
    let items: Vec<_> = ship.rules.iter().map(|rule| line(id, rule)).collect();
    Ok(Json(json!({ "items": items, "maneuver": maneuver(ship), "cursor": null })))
}

/// One rule.
#[utoipa::path(get, path = "/api/ships/{id}/automation/{rule}", tag = "galaxy",
    params(("id" = String, Path, description = "the ship's id"), ("rule" = String, Path, description = "the rule's id")),
    responses((status = 200), (status = 404)))]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    player: Option<Player>,
    Path((id, rule)): Path<(String, String)>,
) -> Result<Json<Value>, Refusal> {
    let (id, rule) = (ship_id(&id)?, rule_id(&rule)?);
    let seen = gateway::of(&app).look(&app).await?;
    rule_of(own(&seen, id, player.as_ref())?, rule).map(Json)
}

/// Gives an order about a rule and shows what it is then.
async fn change(
    app: &App,
    player: Option<&Player>,
    ship: Uuid,
    rule: Uuid,
    order: Order,
) -> Result<Json<Value>, Refusal> {
    let gateway = gateway::of(app);
    own(&*gateway.look(app).await?, ship, player)?;
    let asker = Asker { player: player.map(|player| player.id), ship: Some(ship) };
    gateway.order(app, &asker, order).await?;
    let seen = gateway.look(app).await?;
    rule_of(own(&seen, ship, player)?, rule).map(Json)
}

/// Makes a rule.
#[utoipa::path(post, path = "/api/ships/{id}/automation", tag = "galaxy",
    request_body(content = Object, description = "`{name, enabled?, mode?, priority?, trigger, actions}` as in docs/galaxy.md"),
    params(("id" = String, Path, description = "the ship's id")),
    responses((status = 201, description = "the rule"), (status = 400), (status = 404, description = "E014"), (status = 409, description = "32 rules are the most")))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    player: Option<Player>,
    Path(id): Path<String>,
    Body(rule): Body<RuleDraft>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let (ship, rule_id) = (ship_id(&id)?, Uuid::new_v4());
    let order = Order::RuleCreate { rule_id, rule };
    let made = change(&app, player.as_ref(), ship, rule_id, order).await?;
    Ok((StatusCode::CREATED, made))
}

/// Puts another rule in the place of one.
#[utoipa::path(put, path = "/api/ships/{id}/automation/{rule}", tag = "galaxy",
    request_body(content = Object, description = "as for a new rule"),
    params(("id" = String, Path, description = "the ship's id"), ("rule" = String, Path, description = "the rule's id")),
    responses((status = 200, description = "the rule"), (status = 400), (status = 404)))]
pub(crate) async fn replace(
    State(app): State<Arc<App>>,
    player: Option<Player>,
    Path((id, rule)): Path<(String, String)>,
    Body(draft): Body<RuleDraft>,
) -> Result<Json<Value>, Refusal> {
    let (ship, rule_id) = (ship_id(&id)?, rule_id(&rule)?);
    let order = Order::RuleReplace { rule_id, rule: draft };
    change(&app, player.as_ref(), ship, rule_id, order).await
}

/// Takes a rule away.
#[utoipa::path(delete, path = "/api/ships/{id}/automation/{rule}", tag = "galaxy",
    params(("id" = String, Path, description = "the ship's id"), ("rule" = String, Path, description = "the rule's id")),
    responses((status = 204), (status = 404)))]
pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    player: Option<Player>,
    Path((id, rule)): Path<(String, String)>,
) -> Result<StatusCode, Refusal> {
    let (ship, rule_id) = (ship_id(&id)?, rule_id(&rule)?);
    let gateway = gateway::of(&app);
    own(&*gateway.look(&app).await?, ship, player.as_ref())?;
    let asker = Asker { player: player.map(|player| player.id), ship: Some(ship) };
    gateway.order(&app, &asker, Order::RuleRemove { rule_id }).await?;
    Ok(StatusCode::NO_CONTENT)
}
