//! The two lists of a monster, hits and effects. Each element carries its own text, so that members which are
//! not ours survive a change of their neighbours.

use std::collections::BTreeMap;
use std::ops::Deref;

use kernel::json::{self, Change};
use kernel::numbers::{Dialect, to_json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

/// One hit, or several of one character merged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Who hit.
    pub character_id: u32,
    /// How many hp it took.
    pub damage: u32,
    /// When; only kept where decay is on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub last_hit_ms: i64,
}

/// Who made an effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SourceType {
    /// A character; immunities count.
    #[default]
    PlayerSkill,
    /// A monster; they do not.
    MonsterSkill,
}

/// A status effect that is active.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// Its own id.
    pub effect_id: Uuid,
    /// Who made it.
    pub source_type: SourceType,
    /// The character, when one did.
    pub source_character_id: u32,
    /// With which skill.
    pub source_skill_id: u32,
    /// At which level.
    pub source_skill_level: u32,
    /// What it does: status to value.
    #[serde(deserialize_with = "field::map")]
    pub statuses: BTreeMap<String, i32>,
    /// How long it lasts.
    pub duration_ms: i64,
    /// How often it hurts; 0 never.
    pub tick_interval_ms: i64,
    /// When it last did.
    pub last_tick_ms: i64,
    /// When it began.
    pub created_at_ms: i64,
    /// When it ends.
    pub expires_at_ms: i64,
    /// `PHYSICAL` or `MAGICAL`, for a reflect that knows its percent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reflect_kind: String,
    /// How much of a hit comes back.
    #[serde(default, skip_serializing_if = "is_zero32")]
    pub reflect_percent: i32,
    /// The box in which an attacker is reached.
    #[serde(default, skip_serializing_if = "is_zero16")]
    pub reflect_lt_x: i16,
    /// Top.
    #[serde(default, skip_serializing_if = "is_zero16")]
    pub reflect_lt_y: i16,
    /// Right.
    #[serde(default, skip_serializing_if = "is_zero16")]
    pub reflect_rb_x: i16,
    /// Bottom.
    #[serde(default, skip_serializing_if = "is_zero16")]
    pub reflect_rb_y: i16,
    /// At most so much comes back.
    #[serde(default, skip_serializing_if = "is_zero32")]
    pub reflect_max_damage: i32,
}

impl Effect {
    /// Whether it has this status.
    pub fn has(&self, status: &str) -> bool {
        self.statuses.contains_key(status)
    }
}

/// A member of a list together with its text, so that what we do not know of it survives.
#[derive(Debug, Clone, PartialEq)]
pub struct Element<T> {
    value: T,
    text: String,
}

impl<T> Deref for Element<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Serialize + DeserializeOwned> Element<T> {
    /// A new one.
    pub fn new(value: T) -> Self {
        let text = to_json(&value, Dialect::Go).expect("plain data is always JSON");
        Element { value, text }
    }

    pub(super) fn read(raw: &RawValue) -> serde_json::Result<Self> {
        Ok(Element { value: serde_json::from_str(raw.get())?, text: raw.get().to_owned() })
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Changes numbers of it and keeps the rest.
    pub(crate) fn set(&mut self, name: &str, number: i64) {
        let number = number.to_string();
        let edited = json::edit(&self.text, &[(name, Change::Set(&number))]);
        self.text = edited.expect("it was read from an object");
        self.value = serde_json::from_str(&self.text).expect("a number for a number");
    }
}

/// `[{…},{…}]`.
pub(crate) fn list_text<T>(list: &[Element<T>]) -> String {
    let size = list.iter().map(|element| element.text.len() + 1).sum::<usize>() + 2;
    let mut text = String::with_capacity(size);
    text.push('[');
    for (at, element) in list.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&element.text);
    }
    text.push(']');
    text
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks so
fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero32(number: &i32) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero16(number: &i16) -> bool {
    *number == 0
}
