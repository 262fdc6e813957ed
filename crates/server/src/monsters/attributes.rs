//! A monster as the API shows it, and what comes in for one: everything is checked here, by name and range, before
//! anything is written.

use std::collections::BTreeMap;

use field::Point;
use monsters::{Attack, Blow, EffectBody, Monster, Move, NewEffect, Spawn};
use serde::Serialize;

use crate::reply::Refusal;
use crate::worlds::attributes::{Attributes, refuse};

/// A monster as the API shows it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MonsterAttributes {
    world_id: u8,
    channel_id: u8,
    map_id: u32,
    instance: String,
    monster_id: u32,
    control_character_id: u32,
    x: i16,
    y: i16,
    fh: i16,
    stance: u8,
    team: i8,
    max_hp: u32,
    hp: u32,
    max_mp: u32,
    mp: u32,
    damage_entries: Vec<EntryAttributes>,
    status_effects: Vec<EffectAttributes>,
    /// How often its id was given out, from 1: with the id it names this monster and no heir.
    life: u64,
}

/// Damage of one character, all its hits together.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryAttributes {
    character_id: u32,
    damage: u64,
}

/// An active effect.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EffectAttributes {
    source_skill_id: u32,
    source_skill_level: u32,
    statuses: BTreeMap<String, i32>,
    /// Unix milliseconds.
    expires_at: i64,
}

impl MonsterAttributes {
    /// A monster as it is.
    pub(crate) fn of(from: &Monster) -> Self {
        let entry = |(character_id, damage)| EntryAttributes { character_id, damage };
        MonsterAttributes {
            world_id: from.field.world_id,
            channel_id: from.field.channel_id,
            map_id: from.field.map_id,
            instance: from.field.instance.to_string(),
            monster_id: from.monster_id,
            control_character_id: from.control_character_id,
            x: from.at.x,
            y: from.at.y,
            fh: from.fh,
            stance: from.stance,
            team: from.team,
            max_hp: from.max_hp,
            hp: from.hp,
            max_mp: from.max_mp,
            mp: from.mp,
            damage_entries: from.summed().into_iter().map(entry).collect(),
            status_effects: from
                .status_effects
                .iter()
                .map(|effect| EffectAttributes {
                    source_skill_id: effect.source_skill_id,
                    source_skill_level: effect.source_skill_level,
                    statuses: effect.statuses.clone(),
                    expires_at: effect.expires_at_ms,
                })
                .collect(),
            life: from.life,
        }
    }
}

/// The new position of a monster.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct MovedAttributes {
    x: i16,
    y: i16,
    fh: i16,
    stance: u8,
    /// The life of the monster that moved.
    life: u64,
}

impl From<&Monster> for MovedAttributes {
    fn from(monster: &Monster) -> Self {
        let Monster { at, fh, stance, life, .. } = *monster;
        MovedAttributes { x: at.x, y: at.y, fh, stance, life }
    }
}

/// The outcome of an attack.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BlowAttributes {
    /// Hp left.
    hp: u32,
    /// Whether this attack killed.
    killed: bool,
    /// Each hit that was taken.
    lines: Vec<LineAttributes>,
    /// The damage that came back to the attacker.
    reflected: Option<ReflectedAttributes>,
    /// The life of the monster that took it.
    life: u64,
}

/// One hit.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LineAttributes {
    /// As it was sent.
    damage: u32,
    /// As it was taken from the hp.
    actual: u32,
}

/// The damage that came back to the attacker.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ReflectedAttributes {
    damage: i32,
    /// `PHYSICAL` or `MAGICAL`.
    #[serde(rename = "type")]
    kind: &'static str,
}

impl From<Blow> for BlowAttributes {
    fn from(blow: Blow) -> Self {
        let line =
            |line: monsters::Line| LineAttributes { damage: line.damage, actual: line.actual };
        BlowAttributes {
            hp: blow.hp,
            killed: blow.killed,
            lines: blow.lines.into_iter().map(line).collect(),
            reflected: blow
                .reflected
                .map(|back| ReflectedAttributes { damage: back.damage, kind: back.kind }),
            life: blow.life,
        }
    }
}

/// An effect that was applied.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AppliedAttributes {
    pub(crate) effect_id: String,
    /// The life of the monster that has it.
    pub(crate) life: u64,
}

/// How many effects were taken away.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct CancelledAttributes {
    pub(crate) cancelled: usize,
    /// The life of the monster that had them.
    pub(crate) life: u64,
}

/// How a skill went.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsedAttributes {
    /// Whether the dice let it work.
    pub(crate) worked: bool,
    /// Milliseconds until its effect.
    pub(crate) delay_ms: u64,
    /// Mp left.
    pub(crate) mp: u32,
    /// The life of the monster that used it.
    pub(crate) life: u64,
}

/// A body about many monsters, for the API's description.
#[derive(utoipa::ToSchema)]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewItems {
    /// At most 1000 items, each as the `data` of a call about one. `id` names a monster that is there already.
    #[schema(value_type = Vec<Object>)]
    data: Vec<serde_json::Value>,
}

/// A body for a new monster, for the API's description.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewMonster {
    /// A template of the catalogue, which also gives hp and mp.
    monster_id: u32,
    x: i16,
    y: i16,
    fh: Option<i16>,
    team: Option<i8>,
    /// The spawner, for those who take its monsters away together.
    spawn_source_type: Option<String>,
    spawn_source_id: Option<u32>,
}

/// A body for an attack.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewAttack {
    character_id: u32,
    /// Each hit; or one as `damage`.
    damages: Option<Vec<u32>>,
    damage: Option<u32>,
    /// 0 melee, 1 ranged, 2 magic, 3 energy.
    attack_type: Option<u8>,
    /// The life it is aimed at, as the monster was shown: an heir of the id is not hit, and the answer is 404.
    life: Option<u32>,
}

/// A body for a movement.
#[derive(utoipa::ToSchema)]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewMovement {
    x: i16,
    y: i16,
    stance: u8,
    fh: Option<i16>,
    /// The life it is meant for: an heir of the id is not moved, and the answer is 404.
    life: Option<u32>,
}

/// A body for an effect.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewStatus {
    /// `PLAYER_SKILL`, the default, or `MONSTER_SKILL`.
    source_type: Option<String>,
    source_character_id: Option<u32>,
    source_skill_id: Option<u32>,
    source_skill_level: Option<u32>,
    /// Status to value.
    statuses: BTreeMap<String, i32>,
    /// Milliseconds.
    duration: i64,
    /// Milliseconds; poison and venom have 1000 without it.
    tick_interval: Option<i64>,
}

/// A body for a skill.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewSkill {
    skill_id: u16,
    skill_level: u8,
    /// A game master's use skips every check.
    gm: Option<bool>,
}

/// A body for a character that comes in.
#[derive(utoipa::ToSchema)]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewPresence {
    /// A hidden one controls nothing.
    hidden: Option<bool>,
}

/// Reads a new monster. Stance, hp, mp and controller are not for the caller to say.
pub(crate) fn new(given: &Attributes) -> Result<Spawn, Refusal> {
    Ok(Spawn {
        monster_id: given.need("monsterId")?,
        x: given.need("x")?,
        y: given.need("y")?,
        fh: given.number("fh")?.unwrap_or(0),
        team: given.number("team")?.unwrap_or(0),
        source_type: given.text("spawnSourceType", 64)?.unwrap_or_default(),
        source_id: given.number("spawnSourceId")?.unwrap_or(0),
    })
}

/// Reads an attack.
pub(crate) fn attack(given: &Attributes) -> Result<Attack, Refusal> {
    let damages = match given.numbers::<u32>("damages", 64)? {
        Some(damages) => damages,
        None => {
            vec![given.number::<u32>("damage")?.ok_or_else(|| refuse("damages", "is required"))?]
        }
    };
    let character_id = given.need("characterId")?;
    if character_id == 0 {
        return Err(refuse("characterId", "must be more than 0"));
    }
    let from = match (given.number("x")?, given.number("y")?) {
        (Some(x), Some(y)) => Some(Point::new(x, y)),
        _ => None,
    };
    Ok(Attack {
        character_id,
        damages,
        attack_type: given.number("attackType")?.unwrap_or(0),
        from,
        life: life(given)?,
    })
}

/// Reads the life that something is meant for.
fn life(given: &Attributes) -> Result<Option<u64>, Refusal> {
    Ok(given.number::<u32>("life")?.map(u64::from))
}

/// Reads a movement.
pub(crate) fn movement(given: &Attributes) -> Result<Move, Refusal> {
    Ok(Move {
        x: given.need("x")?,
        y: given.need("y")?,
        stance: given.need("stance")?,
        fh: given.number("fh")?,
        life: life(given)?,
    })
}

/// Reads an effect.
pub(crate) fn effect(given: &Attributes) -> Result<NewEffect, Refusal> {
    Ok(given.fitted::<EffectBody>()?.into_effect())
}
