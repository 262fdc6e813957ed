//! Orders about rules and maneuvers.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::{Effect, invalid};
use crate::error::OrderError;
use crate::model::StationKind;
use crate::model::text;
use crate::rules::{MOST_RULES, Rule, RuleDraft, read_plan};
use crate::world::{Ship, World};

impl World {
    pub(super) fn make_rule(
        &mut self,
        ship_id: Uuid,
        rule_id: Uuid,
        draft: &RuleDraft,
        at_ms: u64,
    ) -> Result<Effect, OrderError> {
        let rule = Rule::of(rule_id, draft, text::time(i128::from(at_ms) * 1_000_000))?;
        let ship = self.ships.get_mut(&ship_id).ok_or(OrderError::Missing("ship"))?;
        match ship.rules.iter().find(|other| other.id == rule_id) {
            // An order that is repeated because its answer was lost.
            Some(other) if other.says_the_same(&rule) => return Ok(Effect::None),
            Some(_) => return Err(OrderError::Conflict("this rule exists already")),
            None => {}
        }
        if ship.rules.len() >= MOST_RULES {
            return Err(OrderError::Conflict("a ship has at most 32 rules; remove one first"));
        }
        put(ship, rule);
        Ok(Effect::Ruled(ship_id, rule_id))
    }

    pub(super) fn replace_rule(
        &mut self,
        ship_id: Uuid,
        rule_id: Uuid,
        draft: &RuleDraft,
    ) -> Result<Effect, OrderError> {
        let ship = self.ships.get_mut(&ship_id).ok_or(OrderError::Missing("ship"))?;
        let old = ship.rules.iter().find(|rule| rule.id == rule_id);
        let created = old.ok_or(OrderError::Missing("rule"))?.created_at.clone();
        let rule = Rule::of(rule_id, draft, created)?;
        put(ship, rule);
        Ok(Effect::Ruled(ship_id, rule_id))
    }

    pub(super) fn remove_rule(
        &mut self,
        ship_id: Uuid,
        rule_id: Uuid,
    ) -> Result<Effect, OrderError> {
        let ship = self.ships.get_mut(&ship_id).ok_or(OrderError::Missing("ship"))?;
        if !ship.rules.iter().any(|rule| rule.id == rule_id) {
            return Err(OrderError::Missing("rule"));
        }
        Arc::make_mut(&mut ship.rules).retain(|rule| rule.id != rule_id);
        Ok(Effect::Unruled(ship_id, rule_id))
    }

    pub(super) fn begin_asked(&mut self, id: Uuid, asked: &Value) -> Result<(), OrderError> {
        let plan = read_plan(asked).map_err(|(field, reason)| {
            invalid(field.strip_prefix("actions.").unwrap_or(field), reason)
        })?;
        self.begin(id, plan, None)
    }

    pub(super) fn abort(&mut self, id: Uuid) -> Result<(), OrderError> {
        if self.cancel(id) {
            Ok(())
        } else {
            Err(OrderError::Conflict("the ship flies no maneuver"))
        }
    }

    /// The pilot flies: a maneuver ends, and the engine does what the pilot said.
    pub(super) fn let_go(&mut self, id: Uuid, thrust: Option<f64>) {
        if self.cancel(id)
            && let (Some(thrust), Some(hull)) = (thrust, self.hull_mut(id))
        {
            hull.thrust_level = thrust.clamp(0.0, 1.0);
        }
    }

    pub(super) fn jump(&self, gate: Uuid) -> Result<Effect, OrderError> {
        match self.stations.get(&gate) {
            Some(found) if found.kind == StationKind::Jumpgate => Err(OrderError::NoTransit),
            _ => Err(OrderError::Missing("jump gate")),
        }
    }
}

/// Puts a rule in its place among the others, instead of one of its id.
fn put(ship: &mut Ship, rule: Rule) {
    let rules = Arc::make_mut(&mut ship.rules);
    rules.retain(|other| other.id != rule.id);
    rules.push(rule);
    rules.sort_by(Rule::before);
}
