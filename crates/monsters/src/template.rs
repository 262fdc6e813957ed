//! Templates of monsters: templates and skill definitions, from JSON files (`docs/monsters.md`). Nothing here
//! is stored with a monster; a changed file counts from the next look on.

use std::collections::BTreeMap;

use field::{FileKind, Point};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of monster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Template {
    /// The number, which clients know.
    pub id: u32,
    /// For people.
    pub name: String,
    /// Hp at birth.
    pub hp: u32,
    /// Mp at birth.
    #[serde(default)]
    pub mp: u32,
    /// Bosses take few effects and are not killed at one stroke.
    #[serde(default)]
    pub boss: bool,
    /// A friendly one is defended by characters and drops things meanwhile.
    #[serde(default)]
    pub friendly: bool,
    /// Milliseconds; a third of it passes between two drops of a friendly one.
    #[serde(default)]
    pub drop_period: u32,
    /// For the damage a friendly one takes and gives.
    #[serde(default)]
    pub weapon_attack: u32,
    /// Templates that rise where it fell.
    #[serde(default)]
    pub revives: Vec<u32>,
    /// Element (`P` poison, `I` ice, …) to `"1"` immune, `"2"` strong, `"3"` weak.
    #[serde(default)]
    pub resistances: BTreeMap<String, String>,
    /// The skills that it may use.
    #[serde(default)]
    pub skills: Vec<SkillRef>,
    /// The place to which its banish skill sends characters.
    #[serde(default)]
    pub banish: Option<Banish>,
    /// Milliseconds from a use to its effect, by animation name (`skill1`).
    #[serde(default)]
    pub animation_times: BTreeMap<String, u32>,
    /// Hp that come back every ten seconds.
    #[serde(default)]
    pub hp_recovery: u32,
    /// Mp that come back every ten seconds.
    #[serde(default)]
    pub mp_recovery: u32,
    /// Basic attacks, by position.
    #[serde(default)]
    pub attacks: Vec<Attack>,
    /// The drops of a friendly one.
    #[serde(default)]
    pub drops: Vec<Drop>,
}

/// A skill of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillRef {
    /// 100 to 200.
    pub id: u16,
    /// From 1 up.
    pub level: u8,
}

/// The place to which a banished character goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Banish {
    /// Which map.
    pub map_id: u32,
    /// Which portal of it.
    #[serde(default)]
    pub portal: String,
    /// The message to the character.
    #[serde(default)]
    pub message: String,
}

/// A basic attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attack {
    /// The place among the monster's attacks.
    pub position: u8,
    /// The cost.
    #[serde(default)]
    pub mp_cost: u32,
    /// How long before it can be used again.
    #[serde(default)]
    pub cooldown_ms: u32,
}

/// Something that may drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Drop {
    /// 0 is mesos.
    pub item_id: u32,
    /// At least so many.
    pub minimum: u32,
    /// At most so many.
    pub maximum: u32,
    /// Of 999999.
    pub chance: u32,
    /// Only during this quest; such drops are not for friendly ones.
    #[serde(default)]
    pub quest_id: u32,
}

/// In which unit a skill's duration is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[default]
    #[serde(rename = "ms")]
    Millis,
}

/// One skill at one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Skill {
    /// 100 to 200.
    pub id: u16,
    /// From 1 up.
    pub level: u8,
    /// The cost.
    #[serde(default)]
    pub mp_con: u32,
    /// Seconds until it can be used again.
    #[serde(default)]
    pub interval: u32,
    /// Percent of hp above which it cannot be used; 0 is no threshold.
    #[serde(default)]
    pub hp: u8,
    /// Percent of uses that work.
    #[serde(default = "hundred")]
    pub prop: u8,
    /// How long its effect lasts.
    #[serde(default)]
    pub duration: u32,
    /// In which unit.
    #[serde(default)]
    pub duration_unit: Unit,
    /// How strong: a status value, hp healed, a reflect's percent.
    #[serde(default)]
    pub x: i32,
    /// The second number of some skills.
    #[serde(default)]
    pub y: i32,
    /// How many characters a debuff reaches.
    #[serde(default)]
    pub count: u32,
    /// How many monsters may be in the field when it summons.
    #[serde(default)]
    pub limit: u32,
    /// The box it reaches, as offsets from the monster.
    #[serde(default)]
    pub lt: Option<Point>,
    /// The other corner.
    #[serde(default)]
    pub rb: Option<Point>,
    /// The summons.
    #[serde(default)]
    pub summons: Vec<u32>,
}

fn hundred() -> u8 {
    100
}

impl Skill {
    /// How a skill and a level are one number in a catalogue.
    pub fn key(id: u16, level: u8) -> u32 {
        u32::from(id) * 1000 + u32::from(level)
    }

    /// The duration in milliseconds.
    pub fn duration_ms(&self) -> u64 {
        u64::from(self.duration) * if self.duration_unit == Unit::Seconds { 1000 } else { 1 }
    }

    /// The box, when it has one.
    pub fn area(&self) -> Option<field::Area> {
        Some(field::Area { tl: self.lt?, br: self.rb? })
    }
}

impl Template {
    /// Whether anything of it comes back by itself.
    pub fn recovers(&self) -> bool {
        self.hp_recovery > 0 || self.mp_recovery > 0
    }

    /// Milliseconds between two drops of a friendly one; 0 when it drops nothing.
    pub fn drop_every_ms(&self) -> u64 {
        if self.friendly { u64::from(self.drop_period / 3) } else { 0 }
    }

    /// Milliseconds from the use of a skill to its effect.
    pub fn skill_delay_ms(&self) -> u64 {
        self.animation_times.get("skill1").copied().unwrap_or(0).into()
    }
}

/// The kinds of catalogue files: monsters, and their skills.
pub fn file_kinds() -> [FileKind; 2] {
    [FileKind::of::<Template>(), FileKind::of::<Skill>()]
}

impl field::Template for Template {
    const KIND: &'static str = "monsters";

    fn id(&self) -> u32 {
        self.id
    }

    fn check(&self) -> Result<(), String> {
        if self.id == 0 {
            return Err("`id` must be more than 0".into());
        }
        if self.hp == 0 {
            return Err("`hp` must be more than 0, or it is born dead".into());
        }
        if self.revives.len() > 16 {
            return Err("`revives` may name at most 16 templates".into());
        }
        if let Some(drop) = self.drops.iter().find(|drop| drop.minimum > drop.maximum) {
            return Err(format!("`drops`: item {} has a minimum above its maximum", drop.item_id));
        }
        if self.drops.iter().any(|drop| drop.chance > 999_999) {
            return Err("`drops`: `chance` goes from 0 to 999999".into());
        }
        Ok(())
    }
}

impl field::Template for Skill {
    const KIND: &'static str = "skills";

    fn id(&self) -> u32 {
        Skill::key(self.id, self.level)
    }

    fn check(&self) -> Result<(), String> {
        if !(100..=200).contains(&self.id) {
            return Err(format!("`id` {} must be from 100 to 200", self.id));
        }
        if self.level == 0 {
            return Err("`level` must be more than 0".into());
        }
        if self.prop > 100 || self.hp > 100 {
            return Err("`prop` and `hp` are percent, from 0 to 100".into());
        }
        if self.lt.is_some() != self.rb.is_some() {
            return Err("`lt` and `rb` come together".into());
        }
        if self.summons.len() > 16 {
            return Err("`summons` may name at most 16 templates".into());
        }
        Ok(())
    }
}

/// Templates by id.
pub type Templates = field::Catalogue<Template>;
/// Skills by [`Skill::key`].
pub type Skills = field::Catalogue<Skill>;

/// The shipped templates.
pub const SHIPPED_TEMPLATES: &[(&str, &str)] =
    &[("shipped monsters.json", include_str!("../catalogue/monsters.json"))];
/// The shipped skills.
pub const SHIPPED_SKILLS: &[(&str, &str)] =
    &[("shipped skills.json", include_str!("../catalogue/skills.json"))];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_catalogue_is_whole() {
        let templates = Templates::of(SHIPPED_TEMPLATES).unwrap();
        let skills = Skills::of(SHIPPED_SKILLS).unwrap();
        let example = templates.get(9_300_018).unwrap();
        assert_eq!((example.hp, example.mp), (100, 50));
        for template in templates.all() {
            for skill in &template.skills {
                assert!(
                    skills.get(Skill::key(skill.id, skill.level)).is_some(),
                    "{} uses {skill:?}",
                    template.id
                );
            }
            for id in &template.revives {
                assert!(templates.get(*id).is_some(), "{} revives as {id}", template.id);
            }
        }
        for skill in skills.all() {
            assert!(skill.summons.iter().all(|id| templates.get(*id).is_some()));
        }
    }

    #[test]
    fn a_wrong_template_is_told_with_its_line() {
        let text = "{\"format\":1,\"monsters\":[\n{\"id\":1,\"name\":\"a\",\"hp\":0}]}";
        let told = Templates::of(&[("m.json", text)]).err().unwrap().to_string();
        assert_eq!(told, "m.json:2: template 1: `hp` must be more than 0, or it is born dead");
        let text = "{\"format\":1,\"skills\":[\n{\"id\":99,\"level\":1}]}";
        assert!(Skills::of(&[("s.json", text)]).err().unwrap().to_string().starts_with("s.json:2"));
    }
}
