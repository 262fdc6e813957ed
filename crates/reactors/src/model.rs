//! A reactor as it is stored (seed 000): the order of members is upstream's, numbers are Go's. We write `[]`
//! for a list without items and read `null` and `{}` as one too. A change edits the stored text in place, so
//! members we do not know stay where they are.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use field::{Area, Field, Point, Tenant};
use kernel::json::{self, Change, JsonError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// One reactor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reactor {
    /// The tenant whose reactor it is.
    pub tenant: Tenant,
    /// 1000000001 to 2000000000.
    pub id: u32,
    /// Part of the field.
    pub world_id: u8,
    /// Part of the field.
    pub channel_id: u8,
    /// Part of the field.
    pub map_id: u32,
    /// Part of the field.
    pub instance: Uuid,
    /// The kind of reactor.
    pub classification: u32,
    /// May be empty.
    #[serde(default)]
    pub name: String,
    /// The reactor's behaviour in each state.
    #[serde(default)]
    pub data: Data,
    /// The current state.
    #[serde(default)]
    pub state: i8,
    /// No operation changes it.
    #[serde(default)]
    pub event_state: u8,
    /// Milliseconds during which its spot stays empty after it.
    #[serde(default)]
    pub delay: u32,
    /// Which way it faces.
    #[serde(default)]
    pub direction: u8,
    /// The horizontal position on the map.
    #[serde(default)]
    pub x: i16,
    /// The vertical position on the map.
    #[serde(default)]
    pub y: i16,
    /// RFC 3339, of its creation or its last change of state.
    #[serde(default)]
    pub update_time: String,
}

/// The behaviour of a reactor, state by state. Any of the maps may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Data {
    /// The name of its kind.
    #[serde(default)]
    pub name: String,
    /// Top left of the box in which an item must lie, relative to the reactor.
    #[serde(default)]
    pub tl: Point,
    /// Bottom right.
    #[serde(default)]
    pub br: Point,
    /// The ways from each state to the next; the first match wins.
    #[serde(default)]
    pub state_info: Option<BTreeMap<State, Reactions>>,
    /// After how many milliseconds a state ends by itself.
    #[serde(default)]
    pub timeout_info: Option<BTreeMap<State, i32>>,
    /// Which state comes then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_next_state_info: Option<BTreeMap<State, i8>>,
}

/// The reactions of one state; `null` and `{}` read as none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Reactions(pub Vec<Reaction>);

impl<'de> Deserialize<'de> for Reactions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        field::list(deserializer).map(Reactions)
    }
}

/// One way out of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reaction {
    /// 0 any attack, 1 and 2 directional, 5 to 7 by skill, 100 item, 101 timer.
    #[serde(rename = "type", default)]
    pub kind: i32,
    /// The item it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reactor_item: Option<Item>,
    /// The skills it answers to; all when empty.
    #[serde(default, deserialize_with = "field::list")]
    pub active_skills: Vec<u32>,
    /// The state it leads to.
    #[serde(default)]
    pub next_state: i8,
}

/// An item and how many of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The item's id.
    pub item_id: u32,
    /// The least quantity.
    pub quantity: u16,
}

/// A state as the name of a member: decimal, ordered as text, which is how upstream sorts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State(pub i8);

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Ord for State {
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other { Ordering::Equal } else { self.to_string().cmp(&other.to_string()) }
    }
}

impl PartialOrd for State {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(State).map_err(|_| {
            serde::de::Error::custom(format!("{text:?} is no state: write -128 to 127 as text"))
        })
    }
}

impl Data {
    /// The reactions of a state; `None` when the state is not there at all.
    pub fn reactions(&self, state: i8) -> Option<&[Reaction]> {
        let states = self.state_info.as_ref()?;
        states.get(&State(state)).map(|reactions| reactions.0.as_slice())
    }

    /// How long a state lasts and what comes then, when it ends by itself.
    pub fn timeout(&self, state: i8) -> Option<(u32, i8)> {
        let wait = self.timeout_info.as_ref()?.get(&State(state)).copied()?;
        let next = self.timeout_next_state_info.as_ref()?.get(&State(state)).copied()?;
        u32::try_from(wait).ok().filter(|wait| *wait > 0).map(|wait| (wait, next))
    }

    /// The box in which an item must lie.
    pub fn area(&self) -> Area {
        Area { tl: self.tl, br: self.br }
    }
}

impl Reactor {
    /// The field in which the reactor stands.
    pub fn field(&self) -> Field {
        let Reactor { world_id, channel_id, map_id, instance, .. } = *self;
        Field { world_id, channel_id, map_id, instance }
    }

    /// The reactor's entry in the hash of spots: the field, the classification and the coordinates.
    pub fn spot(&self) -> String {
        format!("{}:{}:{}:{}", self.field(), self.classification, self.x, self.y)
    }

    /// The stored text before the id and behind it: the id is drawn in the step that stores both.
    pub(crate) fn halves(&self) -> serde_json::Result<(String, String)> {
        let text = serde_json::to_string(self)?;
        let head = format!("{{\"tenant\":{},\"id\":", serde_json::to_string(&self.tenant)?);
        let digits = self.id.to_string().len();
        debug_assert!(text.starts_with(&head), "the id follows the tenant");
        let tail = text[head.len() + digits..].to_owned();
        Ok((head, tail))
    }
}

/// The stored text with another state, everything else as it was.
pub(crate) fn moved(text: &str, state: i8, update_time: &str) -> Result<String, JsonError> {
    let (state, time) = (state.to_string(), format!("\"{update_time}\""));
    json::edit(text, &[("state", Change::Set(&state)), ("updateTime", Change::Set(&time))])
}

/// RFC 3339 in UTC, without trailing zeros.
pub(crate) fn rfc3339(now_ms: u64) -> String {
    let ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3 of the specification, byte for byte.
    pub(crate) const BOX: &str = r#"{"tenant":{"id":"11111111-1111-4111-8111-111111111111","region":"GMS","majorVersion":83,"minorVersion":1},"id":1000000001,"worldId":0,"channelId":1,"mapId":1000000,"instance":"00000000-0000-0000-0000-000000000000","classification":2001,"name":"box","data":{"name":"box","tl":{"x":-20,"y":-40},"br":{"x":20,"y":0},"stateInfo":{"0":[{"type":0,"activeSkills":[],"nextState":1}]},"timeoutInfo":{}},"state":0,"eventState":0,"delay":5000,"direction":0,"x":231,"y":253,"updateTime":"2026-02-21T10:11:12.5Z"}"#;

    #[test]
    fn the_golden_reactor_is_read_and_written_byte_for_byte() {
        let reactor: Reactor = serde_json::from_str(BOX).unwrap();
        assert_eq!(serde_json::to_string(&reactor).unwrap(), BOX);
        let (head, tail) = reactor.halves().unwrap();
        assert_eq!(format!("{head}{}{tail}", reactor.id), BOX);
        assert_eq!(reactor.spot(), "0:1:1000000:00000000-0000-0000-0000-000000000000:2001:231:253");
    }

    #[test]
    fn empty_data_is_written_as_upstream_does() {
        assert_eq!(
            serde_json::to_string(&Data::default()).unwrap(),
            r#"{"name":"","tl":{"x":0,"y":0},"br":{"x":0,"y":0},"stateInfo":null,"timeoutInfo":null}"#
        );
    }

    #[test]
    fn states_are_sorted_as_text() {
        let text = r#"{"name":"","tl":{"x":0,"y":0},"br":{"x":0,"y":0},"stateInfo":{"-1":[],"0":[],"1":[],"10":[],"2":[]},"timeoutInfo":{"0":50},"timeoutNextStateInfo":{"0":1}}"#;
        let data: Data = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&data).unwrap(), text);
        assert_eq!(data.timeout(0), Some((50, 1)));
        assert_eq!(data.timeout(1), None);
    }

    #[test]
    fn every_way_to_write_nothing_is_read() {
        let text = r#"{"stateInfo":{"0":{},"1":null,"2":[{"type":5,"activeSkills":{},"nextState":-1},{"type":0,"activeSkills":null,"nextState":3}]},"timeoutInfo":{},"timeoutNextStateInfo":null}"#;
        let data: Data = serde_json::from_str(text).unwrap();
        assert_eq!(data.reactions(0), Some(&[][..]));
        assert_eq!(data.reactions(1), Some(&[][..]));
        let two = data.reactions(2).unwrap();
        assert!(two.iter().all(|reaction| reaction.active_skills.is_empty()));
        assert_eq!(data.reactions(9), None);
        let item = r#"[{"type":100,"reactorItem":{"itemId":4031161,"quantity":1},"activeSkills":[],"nextState":1}]"#;
        let reactions: Reactions = serde_json::from_str(item).unwrap();
        assert_eq!(serde_json::to_string(&reactions).unwrap(), item);
    }

    #[test]
    fn what_cannot_be_a_reactor_is_refused() {
        for (from, to) in [
            (r#""tenant":{"id""#, r#""tenant":null,"was":{"id""#),
            ("\"worldId\":0", "\"worldId\":256"),
            ("\"x\":231", "\"x\":40000"),
            ("\"state\":0", "\"state\":\"0\""),
            (r#"{"0":["#, r#"{"zero":["#),
            ("\"delay\":5000", "\"delay\":-1"),
        ] {
            let text = BOX.replace(from, to);
            assert_ne!(text, BOX, "{from}");
            assert!(serde_json::from_str::<Reactor>(&text).is_err(), "{to}");
        }
    }

    #[test]
    fn a_change_keeps_what_we_do_not_know() {
        let text = BOX.replace("\"eventState\":0", "\"eventState\":0, \"later\" : [1.50, {}]");
        let moved = moved(&text, -1, "2026-02-21T10:11:13Z").unwrap();
        let expected = text.replace("\"state\":0", "\"state\":-1").replace("12.5Z", "13Z");
        assert_eq!(moved, expected);
    }

    #[test]
    fn times_are_utc_without_trailing_zeros() {
        assert_eq!(rfc3339(1_771_668_672_500), "2026-02-21T10:11:12.5Z");
        assert_eq!(rfc3339(1_771_668_672_000), "2026-02-21T10:11:12Z");
        assert_eq!(rfc3339(1_771_668_672_023), "2026-02-21T10:11:12.023Z");
        assert!(!rfc3339(u64::MAX).is_empty());
    }
}
