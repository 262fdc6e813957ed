//! Values that other services write, taken over into the world: the name of a ship, its rules.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::model::Fields;
use crate::rules::Rule;
use crate::world::World;

impl World {
    /// The name that the store has for a ship; whether it is another one.
    pub(crate) fn take_name(&mut self, id: Uuid, name: &str) -> bool {
        match self.ships.get_mut(&id) {
            Some(ship) if ship.name != name => {
                name.clone_into(&mut ship.name);
                true
            }
            _ => false,
        }
    }

    /// The rules that the store has for a ship; whether they are others. A rule that cannot be read is kept, disabled,
    /// and told with the next tick.
    pub(crate) fn take_rules(&mut self, id: Uuid, found: &HashMap<Uuid, Fields>) -> bool {
        let Some(ship) = self.ships.get_mut(&id) else { return false };
        let stays =
            |rule: &Rule| found.get(&rule.id).is_some_and(|fields| rule.is_stored_as(fields));
        if ship.rules.len() == found.len() && ship.rules.iter().all(stays) {
            return false;
        }
        let mut rules: Vec<Rule> = ship.rules.iter().filter(|rule| stays(rule)).cloned().collect();
        for (rule, fields) in found {
            if rules.iter().any(|known| known.id == *rule) {
                continue;
            }
            let read = Rule::read(*rule, fields);
            let acts = fields.get("enabled").is_none_or(|flag| flag != "false");
            if read.broken.is_some() && acts && !self.broken.contains(&(id, *rule)) {
                self.broken.push((id, *rule));
            }
            rules.push(read);
        }
        rules.sort_by(Rule::before);
        if *ship.rules == rules {
            return false;
        }
        ship.rules = Arc::new(rules);
        true
    }
}
