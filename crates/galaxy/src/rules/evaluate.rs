//! Rules in the world: evaluated on the state at the start of a tick, then done, ship by ship in the order of ids.
//!
//! Always true: conditions see no effect of the same tick; a rule that acted once is disabled in the same write as what
//! it did. The cost is bounded by the limits on rules and conditions, never by a clock: a replay does the same.

use std::sync::Arc;

use rayon::prelude::*;
use uuid::Uuid;

use super::trigger::Sight;
use super::{Action, Rule, RuleMode};
use crate::world::{Service, Ship, World};

/// From so many ships with rules on, looking is worth a second thread.
const WORTH_SHARING: usize = 512;

/// Something a pilot is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// The ship.
    pub ship_id: Uuid,
    /// The rule.
    pub rule_id: Uuid,
    /// The message.
    pub message: String,
}

/// The effects of a tick's rules beyond setting controls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Automated {
    pub(crate) alerts: Vec<Alert>,
    /// Rules that are disabled now, by ship.
    pub(crate) disabled: Vec<(Uuid, Uuid)>,
}

impl Rule {
    fn maneuvers(&self) -> bool {
        self.actions.iter().any(|action| matches!(action, Action::Maneuver(_)))
    }
}

impl World {
    /// Evaluates all rules and does what they say.
    pub(crate) fn automate(&mut self) -> Automated {
        let mut done = self.tell_broken();
        for (id, met) in self.triggers() {
            self.act(id, &met, &mut done);
        }
        done
    }

    /// Rules that somebody stored and nobody can read are disabled, and their pilot is told once.
    fn tell_broken(&mut self) -> Automated {
        let mut done = Automated::default();
        for (ship_id, rule_id) in std::mem::take(&mut self.broken) {
            let rules = self.ships.get(&ship_id).map(|ship| &ship.rules);
            let Some(rule) = rules.and_then(|rules| rules.iter().find(|rule| rule.id == rule_id))
            else {
                continue;
            };
            let Some(why) = &rule.broken else { continue };
            let message = format!("the rule {} cannot be read and was disabled: {why}", rule.name);
            done.alerts.push(Alert { ship_id, rule_id, message });
            done.disabled.push((ship_id, rule_id));
        }
        done
    }

    /// Per ship which of its rules are met; ships where nothing is and nothing was are left out.
    fn triggers(&self) -> Vec<(Uuid, Vec<bool>)> {
        let ruled: Vec<(&Uuid, &Ship)> =
            self.ships.iter().filter(|(_, ship)| !ship.rules.is_empty()).collect();
        let look = |(id, ship): &(&Uuid, &Ship)| {
            let sight = Sight::of(self, ship)?;
            let met: Vec<bool> =
                ship.rules.iter().map(|rule| rule.enabled && rule.trigger.met(&sight)).collect();
            let matters = ship.rules.iter().zip(&met).any(|(rule, met)| *met || rule.met);
            matters.then_some((**id, met))
        };
        if ruled.len() < WORTH_SHARING {
            ruled.iter().filter_map(look).collect()
        } else {
            ruled.par_iter().filter_map(look).collect()
        }
    }

    fn act(&mut self, id: Uuid, met: &[bool], done: &mut Automated) {
        let Some(ship) = self.ships.get(&id) else { return };
        let rules = Arc::clone(&ship.rules);
        let mut off: Vec<Uuid> = Vec::new();
        for (rule, _) in rules.iter().zip(met).filter(|(_, met)| **met) {
            // Disabled by a rule that came before it, or put off while a maneuver flies.
            if off.contains(&rule.id) || (rule.maneuvers() && self.flies(id)) {
                continue;
            }
            for action in &rule.actions {
                match self.act_once(id, rule, action) {
                    RuleOutcome::Fine => {}
                    RuleOutcome::Disables(other) => off.push(other),
                    RuleOutcome::Tells(message) => {
                        if !rule.met {
                            done.alerts.push(Alert { ship_id: id, rule_id: rule.id, message });
                        }
                    }
                }
            }
            if rule.mode == RuleMode::Once {
                off.push(rule.id);
            }
        }
        let Some(ship) = self.ships.get_mut(&id) else { return };
        let changes =
            !off.is_empty() || ship.rules.iter().zip(met).any(|(rule, met)| rule.met != *met);
        if !changes {
            return;
        }
        for (rule, met) in Arc::make_mut(&mut ship.rules).iter_mut().zip(met) {
            rule.met = *met;
            if rule.enabled && off.contains(&rule.id) {
                (rule.enabled, rule.met) = (false, false);
                done.disabled.push((id, rule.id));
            }
        }
    }

    fn act_once(&mut self, id: Uuid, rule: &Rule, action: &Action) -> RuleOutcome {
        let docked = self.ships.get(&id).is_none_or(|ship| ship.docked.is_some());
        let told =
            |why: &dyn std::fmt::Display| RuleOutcome::Tells(format!("{}: {why}", rule.name));
        match action {
            Action::SetThrust(level) => {
                if let Some(hull) = self.hull_mut(id).filter(|_| !docked) {
                    hull.thrust_level = *level;
                }
                RuleOutcome::Fine
            }
            Action::SetAttitude { mode, target } => {
                if docked {
                    return RuleOutcome::Fine;
                }
                match self.keep_pointing(id, *mode, target.as_ref()) {
                    Ok(()) => RuleOutcome::Fine,
                    Err(why) => told(&why),
                }
            }
            Action::Alert(message) => RuleOutcome::Tells(message.clone()),
            Action::Dock => match self.serve(id, &Service::Dock(None)) {
                Ok(()) => RuleOutcome::Fine,
                Err(why) => told(&why),
            },
            Action::Undock => match self.serve(id, &Service::Undock) {
                Ok(()) => RuleOutcome::Fine,
                Err(why) => told(&why),
            },
            Action::Maneuver(plan) if self.has_nothing_to_do(id, plan) => RuleOutcome::Fine,
            Action::Maneuver(plan) => match self.begin(id, plan.clone(), Some(rule.id)) {
                Ok(()) => RuleOutcome::Fine,
                Err(why) => told(&why),
            },
            Action::DisableRule(other) => RuleOutcome::Disables(*other),
        }
    }
}

enum RuleOutcome {
    Fine,
    Disables(Uuid),
    Tells(String),
}
