//! The stored state of a friendly monster's drops. A second program of the family spells three of its members
//! with `Ms`: both spellings are read, and a rewrite keeps the one it found.

use field::Field;
use kernel::Fault;
use kernel::json::{self, Change};
use serde::{Deserialize, Serialize};

/// When a friendly monster drops next, as stored (its three times in milliseconds).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DropTimer {
    /// Whose it is.
    pub tenant_id: String,
    /// Region of the tenant.
    #[serde(default)]
    pub tenant_region: String,
    /// Version of the tenant's game.
    #[serde(default)]
    pub tenant_major_version: u16,
    /// Version of the tenant's game.
    #[serde(default)]
    pub tenant_minor_version: u16,
    /// The monster.
    pub unique_id: u32,
    /// The template.
    pub monster_id: u32,
    /// The field where it lives.
    pub field: Field,
    /// How long between two drops.
    #[serde(alias = "dropPeriodMs")]
    pub drop_period: i64,
    /// For the damage it takes.
    #[serde(default)]
    pub weapon_attack: u32,
    /// Hp at birth.
    #[serde(default)]
    pub max_hp: u32,
    /// When it last dropped.
    #[serde(default, alias = "lastDropAtMs")]
    pub last_drop_at: i64,
    /// When it was last hit; 0 is never.
    #[serde(default, alias = "lastHitAtMs")]
    pub last_hit_at: i64,
}

impl DropTimer {
    /// Reads the stored text, in either spelling of the three times.
    pub fn read(key: &str, text: &[u8]) -> Result<Self, Fault> {
        let corrupt = |detail: String| Fault::Corrupt { key: key.to_owned(), detail };
        let text = std::str::from_utf8(text).map_err(|_| corrupt("it is not UTF-8".to_owned()))?;
        // Both spellings at once: the seed's counts.
        let both = [
            ("dropPeriod", "dropPeriodMs"),
            ("lastDropAt", "lastDropAtMs"),
            ("lastHitAt", "lastHitAtMs"),
        ];
        let mut drop = Vec::new();
        for (seeds, other) in both {
            if json::get(text, seeds).is_some() && json::get(text, other).is_some() {
                drop.push((other, Change::Remove));
            }
        }
        let cleaned = json::edit(text, &drop).map_err(|error| corrupt(error.to_string()))?;
        serde_json::from_str(&cleaned).map_err(|error| corrupt(error.to_string()))
    }

    /// When it drops next: a hit since the last drop puts it off.
    pub fn next_ms(&self) -> i64 {
        self.last_hit_at.max(self.last_drop_at).saturating_add(self.drop_period)
    }

    /// The old text with the two times of `self`, in the spelling it has.
    pub(crate) fn spliced(&self, text: &str) -> Result<String, Fault> {
        let named = |seeds: &'static str, other: &'static str| {
            if json::get(text, seeds).is_none() && json::get(text, other).is_some() {
                other
            } else {
                seeds
            }
        };
        let (drop, hit) = (self.last_drop_at.to_string(), self.last_hit_at.to_string());
        let changes = [
            (named("lastDropAt", "lastDropAtMs"), Change::Set(drop.as_str())),
            (named("lastHitAt", "lastHitAtMs"), Change::Set(hit.as_str())),
        ];
        json::edit(text, &changes).map_err(|error| Fault::Corrupt {
            key: format!("drop timer {}", self.unique_id),
            detail: error.to_string(),
        })
    }
}
