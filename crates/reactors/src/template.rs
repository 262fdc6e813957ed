//! Templates of the reactors of a classification, from catalogue files. The format is ours and
//! smaller than the stored one: states with their reactions, and a timeout for a state that ends by
//! itself.

use std::collections::BTreeMap;

use field::{Area, Catalogue, FileKind, Template};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::ITEM;
use crate::model::{Data, Item, Reaction, Reactions, State};

/// The set that is shipped with the program.
pub const SHIPPED: &[(&str, &str)] = &[("reactors.json", include_str!("../data/reactors.json"))];

/// The reactors' catalogue.
pub type Templates = Catalogue<ReactorTemplate>;

/// One entry of a catalogue file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReactorTemplate {
    /// By which it is looked up; not 0.
    pub classification: u32,
    /// The name of its reactors when a creation gives none.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The box in which an item must lie, relative to the reactor.
    #[serde(default)]
    pub area: Area,
    /// By state.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, TemplateState>")]
    pub states: BTreeMap<State, TemplateState>,
}

/// One state of a template.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TemplateState {
    /// Ways out, first match first.
    #[serde(default)]
    pub reactions: Vec<TemplateReaction>,
    /// When and how it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
}

/// One way out of a state.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TemplateReaction {
    /// Upstream's number: 0 any attack, 1 and 2 directional, 5 to 7 by skill, 100 item, 101 timer.
    #[serde(rename = "type")]
    pub kind: i32,
    /// For type 100: what it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// Skills it answers to; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<u32>,
    /// The state it leads to; one that is not in `states` is an end.
    pub next: i8,
}

/// A state that ends by itself.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Timeout {
    /// After so many milliseconds.
    pub after_ms: i32,
    /// The state it leads to.
    pub next: i8,
}

/// The kind of catalogue file that holds reactors.
pub fn file_kinds() -> [FileKind; 1] {
    [FileKind::of::<ReactorTemplate>()]
}

impl Template for ReactorTemplate {
    const KIND: &'static str = "reactors";

    fn id(&self) -> u32 {
        self.classification
    }

    fn check(&self) -> Result<(), String> {
        if self.classification == 0 {
            return Err("`classification` must not be 0".into());
        }
        let Area { tl, br } = self.area;
        if tl.x > br.x || tl.y > br.y {
            return Err("`area` is inside out: `tl` must not lie right of or below `br`".into());
        }
        for (state, one) in &self.states {
            if one.timeout.is_some_and(|timeout| timeout.after_ms <= 0) {
                return Err(format!("state {state}: `afterMs` must be more than 0"));
            }
            for reaction in &one.reactions {
                match (reaction.kind == ITEM, reaction.item) {
                    (true, None) => {
                        return Err(format!("state {state}: a reaction of type 100 needs `item`"));
                    }
                    (false, Some(_)) => {
                        return Err(format!("state {state}: `item` belongs to type 100 only"));
                    }
                    (true, Some(item)) if item.quantity == 0 => {
                        return Err(format!("state {state}: `quantity` must be more than 0"));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl ReactorTemplate {
    /// As it is stored in a reactor.
    pub fn data(&self) -> Data {
        let reaction = |from: &TemplateReaction| Reaction {
            kind: from.kind,
            reactor_item: from.item,
            active_skills: from.skills.clone(),
            next_state: from.next,
        };
        let states = self
            .states
            .iter()
            .map(|(state, one)| (*state, Reactions(one.reactions.iter().map(reaction).collect())));
        let timed = || {
            self.states
                .iter()
                .filter_map(|(state, one)| one.timeout.map(|timeout| (*state, timeout)))
        };
        let next: BTreeMap<State, i8> =
            timed().map(|(state, timeout)| (state, timeout.next)).collect();
        Data {
            name: self.name.clone(),
            tl: self.area.tl,
            br: self.area.br,
            state_info: Some(states.collect()),
            timeout_info: Some(timed().map(|(state, timeout)| (state, timeout.after_ms)).collect()),
            timeout_next_state_info: (!next.is_empty()).then_some(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_set_is_sound_and_has_the_box_of_the_specification() {
        let set = Templates::of(SHIPPED).unwrap();
        assert!(set.len() >= 5);
        let data = serde_json::to_string(&set.get(2001).unwrap().data()).unwrap();
        assert_eq!(
            data,
            r#"{"name":"box","tl":{"x":-20,"y":-40},"br":{"x":20,"y":0},"stateInfo":{"0":[{"type":0,"activeSkills":[],"nextState":1}]},"timeoutInfo":{}}"#
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let told = |states: &str| {
            let text = format!(
                "{{\"format\":1,\"reactors\":[{{\"classification\":1,\"name\":\"x\",\"states\":{states}}}]}}"
            );
            Templates::of(&[("f", &text)]).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(told("{}"), "");
        assert!(told(r#"{"zero":{}}"#).contains("is no state"));
        assert!(told(r#"{"0":{"reactions":[{"type":100,"next":1}]}}"#).contains("needs `item`"));
        assert!(told(r#"{"0":{"timeout":{"afterMs":0,"next":1}}}"#).contains("more than 0"));
        assert!(told(r#"{"0":{"reactions":[{"type":0,"next":300}]}}"#).contains("f:1: "));
    }
}
