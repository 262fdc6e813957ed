//! Commands of other services, in upstream's shapes: a message with the field and the monster, and a `body`.
//! A command for one monster is acknowledged and deleted inside the step it causes; one for a whole field may be
//! repeated after a crash, which changes nothing.

use std::collections::BTreeMap;

use field::{Field, Point, Tenant};
use kernel::{Fault, Pending};
use serde::Deserialize;

use super::damage::Hit;
use super::{Monsters, Move};
use crate::effects::NewEffect;
use crate::error::MonsterError;
use crate::model::SourceType;
use crate::strike::Attack;

/// How a command ended otherwise than well.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CommandError {
    /// The world says no, or it makes no sense; it is not to be repeated.
    #[error("{0}")]
    Refused(String),
    /// The store failed: it is to be tried again.
    #[error(transparent)]
    Fault(Fault),
}

impl From<MonsterError> for CommandError {
    fn from(error: MonsterError) -> Self {
        match error {
            MonsterError::Fault(fault) if fault.may_pass() => CommandError::Fault(fault),
            MonsterError::Contended => {
                CommandError::Fault(Fault::Contended { key: "monster".to_owned(), attempts: 10 })
            }
            other => CommandError::Refused(other.to_string()),
        }
    }
}

/// A message as upstream sends it. `monsterId` is the unique id there.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(flatten)]
    field: Option<Field>,
    #[serde(alias = "uniqueId", default)]
    monster_id: u32,
    #[serde(default)]
    body: Option<CommandBody>,
}

/// Everything a body may say.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CommandBody {
    character_id: u32,
    damage: Option<u32>,
    damages: Vec<u32>,
    attack_type: u8,
    life: Option<u64>,
    attacker_monster_id: u32,
    hidden: bool,
    x: i16,
    y: i16,
    fh: Option<i16>,
    stance: u8,
    skill_id: u16,
    skill_level: u8,
    gm: bool,
    #[serde(flatten)]
    effect: EffectBody,
    status_types: Vec<String>,
}

/// An effect as commands and routes spell it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EffectBody {
    source_type: SourceType,
    source_character_id: u32,
    source_skill_id: u32,
    source_skill_level: u32,
    statuses: BTreeMap<String, i32>,
    #[serde(alias = "durationMs")]
    duration: i64,
    #[serde(alias = "tickIntervalMs")]
    tick_interval: i64,
}

impl EffectBody {
    /// As the module takes it.
    pub fn into_effect(self) -> NewEffect {
        NewEffect {
            source_type: self.source_type,
            source_character_id: self.source_character_id,
            source_skill_id: self.source_skill_id,
            source_skill_level: self.source_skill_level,
            statuses: self.statuses,
            duration_ms: self.duration,
            tick_interval_ms: self.tick_interval,
            reflect: None,
        }
    }
}

impl Monsters {
    /// Does one command. Tells whether the step it caused acknowledged it.
    pub async fn command(
        &self,
        tenant: &Tenant,
        kind: &str,
        message: &str,
        answers: Option<&Pending>,
    ) -> Result<bool, CommandError> {
        let unfit = |error: serde_json::Error| CommandError::Refused(format!("{kind}: {error}"));
        let message: Message = serde_json::from_str(message).map_err(unfit)?;
        let body = message.body.unwrap_or_default();
        let id = message.monster_id;
        match kind {
            "DAMAGE" => {
                let damages = match body.damage {
                    Some(damage) if body.damages.is_empty() => vec![damage],
                    _ => body.damages,
                };
                if damages.is_empty() {
                    return Ok(false);
                }
                let attack = Attack {
                    character_id: body.character_id,
                    damages,
                    attack_type: body.attack_type,
                    from: None,
                    life: body.life,
                };
                let hit = Hit { attack, ..Hit::default() };
                self.hit(tenant.id, id, hit, answers).await?;
            }
            "DAMAGE_FRIENDLY" => {
                self.damage_friendly_for(tenant, id, body.attacker_monster_id, answers).await?;
            }
            "APPLY_STATUS" => {
                let effect = body.effect.into_effect();
                self.apply_for(tenant.id, id, &effect, answers).await?;
            }
            "CANCEL_STATUS" => {
                self.cancel_for(tenant.id, id, &body.status_types, None, answers).await?;
            }
            "USE_SKILL" => {
                let skill = (body.skill_id, body.skill_level);
                self.use_skill_for(tenant, id, skill, body.gm, answers).await?;
            }
            "MOVE" => {
                let CommandBody { x, y, stance, fh, life, .. } = body;
                let to = Move { x, y, stance, fh, life };
                self.movement_for(tenant.id, id, to, answers).await?;
            }
            "DESTROY" => drop(self.destroy_by(tenant.id, id, 0, false, answers).await?),
            _ => {
                self.field_command(tenant, kind, message.field, body).await?;
                return Ok(false);
            }
        }
        Ok(answers.is_some())
    }

    async fn field_command(
        &self,
        tenant: &Tenant,
        kind: &str,
        field: Option<Field>,
        body: CommandBody,
    ) -> Result<(), CommandError> {
        const KNOWN: &[&str] = &[
            "APPLY_STATUS_FIELD",
            "CANCEL_STATUS_FIELD",
            "USE_SKILL_FIELD",
            "DESTROY_FIELD",
            "CHARACTER_ENTER",
            "CHARACTER_EXIT",
            "PUPPET_SPAWN",
            "PUPPET_REMOVE",
        ];
        if !KNOWN.contains(&kind) {
            return Err(CommandError::Refused(format!("no command is called {kind:?}")));
        }
        let field = field.ok_or_else(|| {
            CommandError::Refused(format!("{kind} needs worldId, channelId, mapId and instance"))
        })?;
        let who = body.character_id;
        match kind {
            "APPLY_STATUS_FIELD" => {
                let effect = body.effect.into_effect();
                self.apply_status_field(tenant, field, &effect).await?;
            }
            "CANCEL_STATUS_FIELD" => {
                self.cancel_status_field(tenant, field, &body.status_types).await?;
            }
            "USE_SKILL_FIELD" => {
                self.use_skill_field(tenant, field, body.skill_id, body.skill_level).await?;
            }
            "DESTROY_FIELD" => drop(self.destroy_field(tenant, field).await?),
            "CHARACTER_ENTER" => drop(self.enter(tenant, field, who, body.hidden).await?),
            "CHARACTER_EXIT" => drop(self.leave(tenant, field, who).await?),
            "PUPPET_SPAWN" => {
                self.puppet(tenant, field, who, Some(Point::new(body.x, body.y))).await?;
            }
            _ => self.puppet(tenant, field, who, None).await?,
        }
        Ok(())
    }
}
