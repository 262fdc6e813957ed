//! Automation: rules that a pilot gives to a ship, as `automation:{ship}:{rule}` holds them.
//!
//! Always true: a rule that flies was read whole, its trigger and actions within the limits; one
//! that could not be read is kept, disabled and with its reason, until somebody replaces it. The
//! JSON is stored as it was given, with members that mean nothing here.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::model::text::{self, words};
use crate::model::{Fields, Unusable, Written};

mod action;
mod evaluate;
mod trigger;

pub(crate) use action::{Action, read_plan};
pub(crate) use evaluate::Alert;
pub(crate) use evaluate::Automated;
pub(crate) use trigger::Trigger;

/// Rules of one ship at most.
pub(crate) const MOST_RULES: usize = 32;
/// Conditions of a rule at most; actions too.
pub(crate) const MOST_PARTS: usize = 5;
/// Characters of a name at most.
const LONGEST_NAME: usize = 64;
/// Bytes of the trigger or of the actions at most: five of the longest parts, and room for what others keep there.
const LONGEST_JSON: usize = 8_192;
const HIGHEST_PRIORITY: i64 = 99;

words! {
    /// How often a rule acts.
    pub enum RuleMode {
        /// When its trigger is met for the first time; then it disables itself.
        Once = "once",
        /// In every tick in which its trigger is met.
        Continuous = "continuous",
    }
}

/// A rule as somebody asks for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleDraft {
    /// 1 to 64 characters.
    pub name: String,
    /// Whether it acts.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// `once` or `continuous`.
    #[serde(default = "once")]
    pub mode: String,
    /// 0 to 99; lower ones act first, later ones have the last word.
    #[serde(default = "middle")]
    pub priority: i64,
    /// `{"conditions": […], "logic": "AND" | "OR"}`.
    pub trigger: Value,
    /// `[{"action": …}, …]`.
    pub actions: Value,
}

fn yes() -> bool {
    true
}

fn once() -> String {
    RuleMode::Once.word().to_owned()
}

fn middle() -> i64 {
    50
}

/// A rule of a ship.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The rule's id.
    pub id: Uuid,
    /// Shown to people.
    pub name: String,
    /// Whether it acts.
    pub enabled: bool,
    /// How often the rule acts.
    pub mode: RuleMode,
    /// Lower ones act first.
    pub priority: u8,
    /// As stored.
    pub trigger_json: String,
    /// As stored.
    pub actions_json: String,
    /// When it was made, ISO 8601.
    pub created_at: String,
    /// Why it cannot act, when it was stored by somebody and cannot be read.
    pub broken: Option<String>,
    pub(crate) trigger: Trigger,
    pub(crate) actions: Vec<Action>,
    /// Whether its trigger was met in the last tick: what is told is told once.
    pub(crate) met: bool,
}

impl Rule {
    /// Whether it was made of the same draft.
    pub(crate) fn says_the_same(&self, other: &Rule) -> bool {
        (&self.name, self.mode, self.priority) == (&other.name, other.mode, other.priority)
            && self.trigger_json == other.trigger_json
            && self.actions_json == other.actions_json
    }

    /// Whether a hash says what this rule says. One that could not be read is never sure.
    pub(crate) fn is_stored_as(&self, fields: &Fields) -> bool {
        let text = |field: &str| fields.get(field).map(String::as_str);
        let same = |field: &str, own: &str| text(field).unwrap_or_default() == own;
        self.broken.is_none()
            && text("enabled").unwrap_or("true") == text::flag(self.enabled)
            && text("mode").unwrap_or(RuleMode::Once.word()) == self.mode.word()
            && text("priority").unwrap_or("50").parse() == Ok(self.priority)
            && same("trigger_json", &self.trigger_json)
            && same("actions_json", &self.actions_json)
            && same("name", &self.name)
            && same("created_at", &self.created_at)
    }

    /// A rule of a draft, or the first field that is wrong.
    pub fn of(id: Uuid, draft: &RuleDraft, created_at: String) -> Result<Rule, Unusable> {
        let name = draft.name.trim();
        let long = name.chars().count();
        if !(1..=LONGEST_NAME).contains(&long) || name.chars().any(char::is_control) {
            return Err(bad("name", "must have 1 to 64 characters"));
        }
        let mode =
            RuleMode::read(&draft.mode).ok_or_else(|| bad("mode", "must be once or continuous"))?;
        let priority = read_priority(draft.priority)?;
        Ok(Rule {
            id,
            name: name.to_owned(),
            enabled: draft.enabled,
            mode,
            priority,
            trigger: Trigger::read(&draft.trigger)?,
            actions: Action::read_all(&draft.actions)?,
            trigger_json: stored_json("trigger", &draft.trigger)?,
            actions_json: stored_json("actions", &draft.actions)?,
            created_at,
            broken: None,
            met: false,
        })
    }

    /// A rule of a hash. One that cannot be read comes back disabled, with the reason.
    pub fn read(id: Uuid, fields: &Fields) -> Rule {
        let word = |field: &str| fields.get(field).cloned().unwrap_or_default();
        let mut rule = Rule {
            id,
            name: word("name"),
            enabled: false,
            mode: RuleMode::Once,
            priority: 0,
            trigger_json: word("trigger_json"),
            actions_json: word("actions_json"),
            created_at: word("created_at"),
            broken: None,
            trigger: Trigger::default(),
            actions: Vec::new(),
            met: false,
        };
        if let Err(why) = rule.fill(fields) {
            rule.enabled = false;
            rule.broken = Some(format!("{} {}", why.field, why.reason));
        }
        rule
    }

    fn fill(&mut self, fields: &Fields) -> Result<(), Unusable> {
        let text = |field: &str| fields.get(field).map(String::as_str);
        self.mode = match text("mode") {
            None => RuleMode::Once,
            Some(word) => {
                RuleMode::read(word).ok_or_else(|| bad("mode", "it is not once or continuous"))?
            }
        };
        let priority = text("priority").unwrap_or("50").parse();
        self.priority =
            read_priority(priority.map_err(|_| bad("priority", "it is not a whole number"))?)?;
        let json = |field: &'static str| -> Result<Value, Unusable> {
            let stored = text(field).ok_or_else(|| bad(field, "it is missing"))?;
            if stored.len() > LONGEST_JSON {
                return Err(bad(field, "it is too long"));
            }
            serde_json::from_str(stored).map_err(|why| bad(field, format!("it is not JSON: {why}")))
        };
        self.trigger = Trigger::read(&json("trigger_json")?)?;
        self.actions = Action::read_all(&json("actions_json")?)?;
        self.enabled = text::read_flag(text("enabled").unwrap_or("true"))
            .ok_or_else(|| bad("enabled", "it is not true or false"))?;
        Ok(())
    }

    /// All fields of its hash.
    pub fn write(&self, ship: Uuid) -> Written {
        vec![
            ("rule_id", self.id.to_string()),
            ("ship_id", ship.to_string()),
            ("name", self.name.clone()),
            ("enabled", text::flag(self.enabled).to_owned()),
            ("mode", self.mode.word().to_owned()),
            ("priority", self.priority.to_string()),
            ("trigger_json", self.trigger_json.clone()),
            ("actions_json", self.actions_json.clone()),
            ("created_at", self.created_at.clone()),
        ]
    }

    /// The order in which the rules of a ship act.
    pub fn before(&self, other: &Rule) -> Ordering {
        (self.priority, &self.created_at, self.id).cmp(&(
            other.priority,
            &other.created_at,
            other.id,
        ))
    }
}

fn read_priority(priority: i64) -> Result<u8, Unusable> {
    u8::try_from(priority)
        .ok()
        .filter(|_| priority <= HIGHEST_PRIORITY)
        .ok_or_else(|| bad("priority", "must be from 0 to 99"))
}

fn stored_json(field: &'static str, value: &Value) -> Result<String, Unusable> {
    let json = value.to_string();
    if json.len() > LONGEST_JSON {
        Err(bad(field, "must have at most 8192 bytes"))
    } else {
        Ok(json)
    }
}

pub(crate) fn bad(field: &'static str, reason: impl Into<String>) -> Unusable {
    Unusable { field, reason: reason.into() }
}

/// The name of a list's entry in a refusal: the first is number 1.
fn of_number(what: &str, index: usize, reason: &str) -> String {
    format!("of {what} {} {reason}", index + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft(trigger: Value, actions: Value) -> RuleDraft {
        RuleDraft {
            name: "Low fuel".into(),
            enabled: true,
            mode: "once".into(),
            priority: 10,
            trigger,
            actions,
        }
    }

    fn simple() -> RuleDraft {
        draft(
            json!({"conditions": [{"field": "ship.fuel_pct", "op": "<", "value": 20, "note": "x"}],
                "logic": "AND"}),
            json!([{"action": "set_thrust", "value": 0}]),
        )
    }

    fn refused(change: impl Fn(&mut RuleDraft)) -> String {
        let mut draft = simple();
        change(&mut draft);
        let why = Rule::of(Uuid::nil(), &draft, String::new()).unwrap_err();
        format!("{} {}", why.field, why.reason)
    }

    #[test]
    fn a_rule_that_is_written_reads_back_the_same_with_what_others_put_there() {
        let rule = Rule::of(Uuid::from_u128(7), &simple(), "2026-11-16T00:00:00Z".into()).unwrap();
        assert!(rule.trigger_json.contains("\"note\":\"x\""));
        let stored: Fields = rule
            .write(Uuid::from_u128(9))
            .into_iter()
            .map(|(field, value)| (field.to_owned(), value))
            .collect();
        assert_eq!(stored["priority"], "10");
        assert_eq!(Rule::read(Uuid::from_u128(7), &stored), rule);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(refused(|d| d.name = String::new()), "name must have 1 to 64 characters");
        assert_eq!(refused(|d| d.mode = "often".into()), "mode must be once or continuous");
        assert_eq!(refused(|d| d.priority = 100), "priority must be from 0 to 99");
        assert_eq!(refused(|d| d.priority = -1), "priority must be from 0 to 99");
        for (trigger, why) in [
            (json!(3), "trigger must be an object with conditions"),
            (json!({"conditions": []}), "trigger.conditions must be a list of 1 to 5"),
            (
                json!({"conditions": [{"field": "immediate"}], "logic": "XOR"}),
                "trigger.logic must be AND or OR",
            ),
            (
                json!({"conditions": [{"field": "immediate"}, {"field": "ship.mood"}]}),
                "trigger.conditions.field of condition 2 is not a field of the ship, its orbit or the game",
            ),
            (
                json!({"conditions": [{"field": "ship.fuel", "op": "~", "value": 1}]}),
                "trigger.conditions.op of condition 1 must be one of < <= > >= == !=",
            ),
            (
                json!({"conditions": [{"field": "ship.fuel", "op": "<", "value": "low"}]}),
                "trigger.conditions.value of condition 1 must be a number",
            ),
            (
                json!({"conditions": [{"field": "ship.distance_to", "op": "<", "value": 1}]}),
                "trigger.conditions.args of condition 1 must name a body or a station",
            ),
        ] {
            assert_eq!(refused(|d| d.trigger = trigger.clone()), why);
        }
        for (actions, why) in [
            (json!([]), "actions must be a list of 1 to 5"),
            (json!([{"action": "fly"}]), "actions.action of action 1 is not an action"),
            (
                json!([{"action": "set_thrust", "value": 1.5}]),
                "actions.value of action 1 must be from 0 to 1",
            ),
            (
                json!([{"action": "dock"}, {"action": "set_attitude", "mode": "up"}]),
                "actions.mode of action 2 is not a mode of attitude",
            ),
            (
                json!([{"action": "burn", "direction": "prograde", "delta_v": 0}]),
                "actions.delta_v of action 1 must be from 0.01 to 1000000 m/s",
            ),
            (
                json!([{"action": "rendezvous", "target_id": "x", "target_type": "moon"}]),
                "actions.target_type of action 1 is not body, ship, station or lagrange",
            ),
            (
                json!([{"action": "disable_rule", "rule_id": "me"}]),
                "actions.rule_id of action 1 must be the id of a rule",
            ),
        ] {
            assert_eq!(refused(|d| d.actions = actions.clone()), why);
        }
        let many = json!(vec![json!({"action": "dock"}); 6]);
        assert_eq!(refused(|d| d.actions = many.clone()), "actions must be a list of 1 to 5");
        let long = json!({"conditions": [{"field": "immediate", "note": "x".repeat(9_000)}]});
        assert_eq!(refused(|d| d.trigger = long.clone()), "trigger must have at most 8192 bytes");
    }

    #[test]
    fn a_stored_rule_that_cannot_be_read_is_disabled_with_its_reason() {
        let good = Rule::of(Uuid::nil(), &simple(), String::new()).unwrap();
        let stored: Fields = good
            .write(Uuid::nil())
            .into_iter()
            .map(|(field, value)| (field.to_owned(), value))
            .collect();
        for (field, value) in [
            ("trigger_json", "{"),
            ("trigger_json", r#"{"conditions":[{"field":"ship.mood","op":"<","value":1}]}"#),
            ("actions_json", "null"),
            ("mode", "often"),
            ("priority", "high"),
            ("enabled", "perhaps"),
        ] {
            let mut stored = stored.clone();
            stored.insert(field.into(), value.into());
            let rule = Rule::read(Uuid::nil(), &stored);
            assert!(!rule.enabled && rule.broken.is_some(), "{field} {value}");
        }
        assert!(Rule::read(Uuid::nil(), &stored).enabled);
    }
}
