//! Rules of status effects: immunity, stacking, expiry, damage over time. Pure functions on a monster; the
//! store writes what comes out. Ticks never drift: the last tick moves on by whole intervals, and a late look
//! makes up for every one that was missed. Damage over time never kills.

use std::collections::BTreeMap;

use field::{Area, Point};
use uuid::Uuid;

use crate::error::{Immunity, MonsterError, Result};
use crate::model::{DamageEntry, Effect, Element, Monster, SourceType};
use crate::template::Template;

/// The buffs that a boss takes from characters.
const BOSS_TAKES: &[&str] = &[
    "SPEED",
    "WEAPON_ATTACK",
    "WEAPON_DEFENSE",
    "MAGIC_ATTACK",
    "MAGIC_DEFENSE",
    "POWER_UP",
    "MAGIC_UP",
    "POWER_GUARD_UP",
    "MAGIC_GUARD_UP",
    "SHOWDOWN",
    "NINJA_AMBUSH",
    "VENOM",
];
/// The most venom at once.
const MOST_VENOM: usize = 3;
/// No tick and no reflect is larger: clients read a signed 16-bit number.
pub(crate) const MOST_DAMAGE: i32 = 32_767;
/// Poison and venom without an interval hurt this often.
const TICK_MS: i64 = 1_000;
/// Nobody needs an effect with more statuses.
const MOST_STATUSES: usize = 32;

/// An effect somebody wants to apply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewEffect {
    /// The origin.
    pub source_type: SourceType,
    /// The character, when one does.
    pub source_character_id: u32,
    /// With which skill.
    pub source_skill_id: u32,
    /// At which level.
    pub source_skill_level: u32,
    /// Status to value.
    pub statuses: BTreeMap<String, i32>,
    /// How long it lasts.
    pub duration_ms: i64,
    /// How often it hurts; 0 takes the default.
    pub tick_interval_ms: i64,
    /// For a reflect: percent and box.
    pub reflect: Option<Reflect>,
}

/// The share that a reflect gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reflect {
    /// Whether it answers magic.
    pub magical: bool,
    /// How much of a hit.
    pub percent: i32,
    /// To attackers in this box.
    pub area: Area,
    /// At most so much.
    pub most: i32,
}

/// Checks shape and ranges of an effect to be applied.
pub fn validate(new: &NewEffect) -> Result<()> {
    if new.statuses.is_empty() || new.statuses.len() > MOST_STATUSES {
        return Err(MonsterError::bad("statuses", "must have 1 to 32 members"));
    }
    let word = |name: &String| {
        (1..=40).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    if !new.statuses.keys().all(word) {
        return Err(MonsterError::bad("statuses", "are named in capital letters, such as POISON"));
    }
    let longest = 365 * 86_400_000_i64;
    if !(1..=longest).contains(&new.duration_ms) {
        return Err(MonsterError::bad("duration", "must be from 1 ms to a year"));
    }
    if !(0..=longest).contains(&new.tick_interval_ms) {
        return Err(MonsterError::bad("tickInterval", "must be from 0 ms to a year"));
    }
    Ok(())
}

fn immunity(
    monster: &Monster,
    template: Option<&Template>,
    new: &NewEffect,
) -> std::result::Result<(), Immunity> {
    if new.source_type != SourceType::PlayerSkill {
        return Ok(());
    }
    let Some(template) = template else { return Err(Immunity::Unknown) };
    let has = |status: &str| new.statuses.contains_key(status);
    let immune = |element: &str| template.resistances.get(element).is_some_and(|how| how == "1");
    if !has("DOOM")
        && ((immune("P") && has("POISON")) || (immune("I") && (has("FREEZE") || has("FROZEN"))))
    {
        return Err(Immunity::Element);
    }
    if template.boss && !new.statuses.keys().all(|status| BOSS_TAKES.contains(&status.as_str())) {
        return Err(Immunity::Boss);
    }
    if has("POISON") && monster.hp <= 1 {
        return Err(Immunity::PoisonFloor);
    }
    Ok(())
}

/// Poison of that level on so many hp: `⌈maxHp / (70 − level)⌉`, at most 32767.
pub fn poison_damage(max_hp: u32, level: u32) -> i32 {
    let divisor = 70_u32.saturating_sub(level).max(1);
    i32::try_from(max_hp.div_ceil(divisor)).unwrap_or(MOST_DAMAGE).min(MOST_DAMAGE)
}

/// Applies an effect: gives it as stored, and those it replaced.
pub fn apply(
    monster: &mut Monster,
    template: Option<&Template>,
    new: &NewEffect,
    id: Uuid,
    now_ms: i64,
) -> Result<(Effect, Vec<Effect>)> {
    validate(new)?;
    if !monster.alive() {
        return Err(MonsterError::Dead);
    }
    immunity(monster, template, new).map_err(MonsterError::Immune)?;
    let mut statuses = new.statuses.clone();
    if let Some(value) = statuses.get_mut("POISON") {
        *value = poison_damage(monster.max_hp, new.source_skill_level);
    }
    let hurts = statuses.contains_key("POISON") || statuses.contains_key("VENOM");
    let tick = if new.tick_interval_ms == 0 && hurts { TICK_MS } else { new.tick_interval_ms };
    let mut effect = Effect {
        effect_id: id,
        source_type: new.source_type,
        source_character_id: new.source_character_id,
        source_skill_id: new.source_skill_id,
        source_skill_level: new.source_skill_level,
        statuses,
        duration_ms: new.duration_ms,
        tick_interval_ms: tick,
        last_tick_ms: now_ms,
        created_at_ms: now_ms,
        expires_at_ms: now_ms.saturating_add(new.duration_ms),
        ..Effect::default()
    };
    if let Some(reflect) = new.reflect {
        reflect_kind(reflect.magical).clone_into(&mut effect.reflect_kind);
        effect.reflect_percent = reflect.percent;
        effect.reflect_lt_x = reflect.area.tl.x;
        effect.reflect_lt_y = reflect.area.tl.y;
        effect.reflect_rb_x = reflect.area.br.x;
        effect.reflect_rb_y = reflect.area.br.y;
        effect.reflect_max_damage = reflect.most;
    }
    let replaced = stack(monster, &effect);
    monster.status_effects.push(Element::new(effect.clone()));
    Ok((effect, replaced))
}

/// The effects that a new one pushes out: everything of its own kinds, the other immunity, the oldest venom.
fn stack(monster: &mut Monster, new: &Effect) -> Vec<Effect> {
    let mut gone = take(monster, |old| {
        new.statuses.keys().filter(|kind| *kind != "VENOM").any(|kind| old.has(kind))
            || (new.has("WEAPON_ATTACK_IMMUNE") && old.has("MAGIC_ATTACK_IMMUNE"))
            || (new.has("MAGIC_ATTACK_IMMUNE") && old.has("WEAPON_ATTACK_IMMUNE"))
    });
    while new.has("VENOM")
        && monster.status_effects.iter().filter(|effect| effect.has("VENOM")).count() >= MOST_VENOM
    {
        let oldest = monster
            .status_effects
            .iter()
            .filter(|effect| effect.has("VENOM"))
            .min_by_key(|effect| effect.expires_at_ms)
            .map(|effect| effect.effect_id);
        gone.extend(take(monster, |effect| {
            Some(effect.effect_id) == oldest && effect.has("VENOM")
        }));
    }
    gone
}

fn take(monster: &mut Monster, which: impl Fn(&Effect) -> bool) -> Vec<Effect> {
    let mut gone = Vec::new();
    monster.status_effects.retain(|effect| {
        let out = which(effect);
        if out {
            gone.push(Effect::clone(effect));
        }
        !out
    });
    gone
}

/// Takes away effects that contain any of `types`; an empty list means all. A cancel that carries a class
/// (`magical`) is refused while a reflect of that class stands, unless only reflects are asked for.
pub fn cancel(monster: &mut Monster, types: &[String], class: Option<bool>) -> Result<Vec<Effect>> {
    if let Some(magical) = class {
        let only_reflects =
            !types.is_empty() && types.iter().all(|kind| kind.ends_with("_COUNTER"));
        if !only_reflects && monster.is_under(counter(magical)) {
            return Err(MonsterError::ReflectStands);
        }
    }
    Ok(take(monster, |effect| types.is_empty() || types.iter().any(|kind| effect.has(kind))))
}

/// The status that answers an attack of this class.
pub(crate) fn counter(magical: bool) -> &'static str {
    if magical { "MAGIC_COUNTER" } else { "WEAPON_COUNTER" }
}

pub(crate) fn reflect_kind(magical: bool) -> &'static str {
    if magical { "MAGICAL" } else { "PHYSICAL" }
}

/// The damage that comes back to an attacker, if any: a percent of the damage where the effect knows one, else its
/// bare value.
pub(crate) fn reflected(
    monster: &Monster,
    magical: bool,
    damage: u64,
    from: Option<Point>,
) -> Option<i32> {
    let status = counter(magical);
    let effect = monster
        .status_effects
        .iter()
        .find(|effect| effect.statuses.get(status).is_some_and(|value| *value > 0))?;
    if effect.reflect_percent <= 0 {
        return effect.statuses.get(status).copied();
    }
    let area = Area {
        tl: Point::new(effect.reflect_lt_x, effect.reflect_lt_y),
        br: Point::new(effect.reflect_rb_x, effect.reflect_rb_y),
    };
    let reached = from.is_none_or(|from| area == Area::default() || area.holds(monster.at, from));
    if !reached {
        return None;
    }
    let most = match effect.reflect_max_damage {
        most if most > 0 => most.min(MOST_DAMAGE),
        _ => MOST_DAMAGE,
    };
    let part = damage.saturating_mul(u64::try_from(effect.reflect_percent).unwrap_or(0)) / 100;
    Some(i32::try_from(part).unwrap_or(most).min(most))
}

/// The outcome of a look at the effects.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Swept {
    /// Effects that ran out.
    pub expired: Vec<Effect>,
    /// The characters credited with damage over time, and how much.
    pub hurt: Vec<(u32, u32)>,
    /// Whether the monster differs from before.
    pub changed: bool,
}

/// Does all that is due at `now_ms`: every whole tick up to then or to the effect's end, then expiry.
pub fn sweep(monster: &mut Monster, now_ms: i64, stamp: bool) -> Swept {
    let mut swept = Swept::default();
    if !monster.alive() {
        return swept;
    }
    for at in 0..monster.status_effects.len() {
        let effect = &monster.status_effects[at];
        let (each, interval) = (tick_damage(effect), effect.tick_interval_ms);
        let until = now_ms.min(effect.expires_at_ms);
        let passed = until.saturating_sub(effect.last_tick_ms);
        if !hurts(effect) || interval <= 0 || passed < interval {
            continue;
        }
        let ticks = passed / interval;
        let (source, last) = (effect.source_character_id, effect.last_tick_ms + ticks * interval);
        monster.status_effects[at].set("lastTickMs", last);
        swept.changed = true;
        let wanted = i64::from(each).saturating_mul(ticks);
        let damage = u32::try_from(wanted).unwrap_or(u32::MAX).min(monster.hp - 1);
        if damage == 0 {
            continue;
        }
        monster.hp -= damage;
        let last_hit_ms = if stamp { now_ms } else { 0 };
        crate::strike::push(monster, DamageEntry { character_id: source, damage, last_hit_ms });
        swept.hurt.push((source, damage));
    }
    swept.expired = take(monster, |effect| now_ms > effect.expires_at_ms);
    swept.changed |= !swept.expired.is_empty();
    swept
}

fn hurts(effect: &Effect) -> bool {
    effect.has("POISON") || effect.has("VENOM")
}

/// One tick: poison and venom of the effect together.
fn tick_damage(effect: &Effect) -> i32 {
    let of = |status: &str| effect.statuses.get(status).copied().unwrap_or(0).max(0);
    of("POISON").saturating_add(of("VENOM"))
}

/// When the effects next need a look; `None` when there is none.
pub fn next_due(monster: &Monster) -> Option<u64> {
    let due = |effect: &Element<Effect>| {
        let end = effect.expires_at_ms.saturating_add(1);
        let tick = effect.last_tick_ms.saturating_add(effect.tick_interval_ms);
        let ticks = hurts(effect) && effect.tick_interval_ms > 0 && tick <= effect.expires_at_ms;
        if ticks { tick.min(end) } else { end }
    };
    let first = monster.status_effects.iter().map(due).min()?;
    Some(u64::try_from(first).unwrap_or(0))
}
