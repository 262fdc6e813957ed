//! The two lists of a monster, hits and effects. An element of another spelling carries its own text, so that
//! members which are not ours survive a change of their neighbours.

use std::collections::BTreeMap;
use std::ops::Deref;

use kernel::json::{self, Change};
use kernel::numbers::{Dialect, to_json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One hit, or several of one character merged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DamageEntry {
    /// The attacker.
    pub character_id: u32,
    /// How many hp it took.
    pub damage: u32,
    /// When; only kept where decay is on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub last_hit_ms: i64,
}

/// The origin of an effect.
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
    /// The effect's id.
    pub effect_id: Uuid,
    /// The origin.
    pub source_type: SourceType,
    /// The character, when one did.
    pub source_character_id: u32,
    /// With which skill.
    pub source_skill_id: u32,
    /// At which level.
    pub source_skill_level: u32,
    /// The effect: status to value.
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

/// How we write a value ourselves.
pub trait Spelled: DeserializeOwned {
    /// Appends its text.
    fn spell(&self, text: &mut String);
}

impl Spelled for DamageEntry {
    fn spell(&self, text: &mut String) {
        let mut digits = itoa::Buffer::new();
        text.push_str("{\"characterId\":");
        text.push_str(digits.format(self.character_id));
        text.push_str(",\"damage\":");
        text.push_str(digits.format(self.damage));
        if self.last_hit_ms != 0 {
            text.push_str(",\"lastHitMs\":");
            text.push_str(digits.format(self.last_hit_ms));
        }
        text.push('}');
    }
}

impl Spelled for Effect {
    fn spell(&self, text: &mut String) {
        text.push_str(&to_json(self, Dialect::Go).expect("plain data is always JSON"));
    }
}

/// A member of a list. One that another program spells otherwise keeps its text, and so what we do not
/// know of it survives.
#[derive(Debug, Clone, PartialEq)]
pub struct Element<T> {
    value: T,
    text: Option<Box<str>>,
}

impl<T> Deref for Element<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Spelled> Element<T> {
    /// A new one.
    pub fn new(value: T) -> Self {
        Element { value, text: None }
    }

    pub(super) fn read(text: &str) -> serde_json::Result<Self> {
        let value: T = serde_json::from_str(text)?;
        let mut ours = String::with_capacity(text.len());
        value.spell(&mut ours);
        Ok(Element { value, text: (ours != text).then(|| text.into()) })
    }

    /// Appends its text.
    fn spell(&self, text: &mut String) {
        match &self.text {
            Some(own) => text.push_str(own),
            None => self.value.spell(text),
        }
    }

    /// Changes numbers of it and keeps the rest.
    pub(crate) fn set(&mut self, name: &str, number: i64) {
        let mut text = String::new();
        self.spell(&mut text);
        let edited = json::edit(&text, &[(name, Change::Set(&number.to_string()))]);
        let edited = edited.expect("it was read from an object");
        *self = Element::read(&edited).expect("a number for a number");
    }
}

/// The attackers of a monster, in order, and how much each did in all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entries {
    list: Vec<Element<DamageEntry>>,
    sums: Vec<(u32, u64)>,
}

impl Entries {
    /// Appends one.
    pub fn push(&mut self, entry: Element<DamageEntry>) {
        self.count(&entry);
        self.list.push(entry);
    }

    /// Damage per character, in order of first appearance.
    pub fn sums(&self) -> &[(u32, u64)] {
        &self.sums
    }

    fn count(&mut self, entry: &DamageEntry) {
        match self.sums.iter_mut().find(|(known, _)| *known == entry.character_id) {
            Some((_, sum)) => *sum = sum.saturating_add(entry.damage.into()),
            None => self.sums.push((entry.character_id, entry.damage.into())),
        }
    }
}

impl Deref for Entries {
    type Target = [Element<DamageEntry>];

    fn deref(&self) -> &[Element<DamageEntry>] {
        &self.list
    }
}

impl FromIterator<Element<DamageEntry>> for Entries {
    fn from_iter<I: IntoIterator<Item = Element<DamageEntry>>>(entries: I) -> Self {
        let mut all = Entries::default();
        for entry in entries {
            all.push(entry);
        }
        all
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = &'a Element<DamageEntry>;
    type IntoIter = std::slice::Iter<'a, Element<DamageEntry>>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

/// `[{…},{…}]`.
pub(crate) fn push_list<T: Spelled>(text: &mut String, list: &[Element<T>]) {
    text.push('[');
    for (at, element) in list.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        element.spell(text);
    }
    text.push(']');
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
