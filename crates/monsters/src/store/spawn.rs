//! Monsters come into a field: id, value, index entry, controller, drop timer and event in one script. Unknown
//! templates and a full id space write nothing.

use std::sync::Arc;

use field::{Field, Point, Tenant};
use kernel::keyspace::Key;
use kernel::{Timer, reply};

use super::{Monsters, TenantKeys};
use crate::error::{MonsterError, Result};
use crate::model::{DropTimer, Monster};
use crate::{events, scripts};

/// Arguments of the script before those of the monsters, and how many each of them has.
const FACTS: usize = 4;
const PARTS: usize = 9;
/// Which of them is the drop timer.
const DROP_TIMER: usize = 5;

/// A monster that is to come into a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spawn {
    /// The template.
    pub monster_id: u32,
    /// To the right.
    pub x: i16,
    /// Downwards.
    pub y: i16,
    /// The foothold.
    pub fh: i16,
    /// The side.
    pub team: i8,
    /// The spawner, when it has a name.
    pub source_type: String,
    /// Which one of these.
    pub source_id: u32,
}

/// How a spawn ended.
#[derive(Debug, PartialEq)]
pub(crate) enum Spawned {
    /// The monsters are there.
    Born(Vec<Monster>),
    /// The field has as many as the limit.
    Full,
    /// The timer whose work this is belongs to somebody else now.
    Lost,
}

/// A timer whose end is part of a step: member and the value it must still have.
#[derive(Clone)]
pub(crate) struct Finishes {
    pub(crate) member: String,
    pub(crate) value: String,
}

impl Finishes {
    /// A timer in this server's hands.
    pub(crate) fn timer(timer: &Timer) -> Self {
        Finishes { member: timer.member.clone(), value: timer.value() }
    }

    /// A timer that was armed a moment ago, and that nobody has taken.
    pub(crate) fn armed(member: String, payload: &str) -> Self {
        Finishes { member, value: format!("- {payload}") }
    }
}

impl Monsters {
    /// Spawns one monster.
    pub async fn spawn(&self, tenant: &Tenant, field: Field, spawn: &Spawn) -> Result<Monster> {
        match self.spawn_all(tenant, field, std::slice::from_ref(spawn), 0, None).await? {
            Spawned::Born(mut born) if !born.is_empty() => Ok(born.remove(0)),
            _ => Err(MonsterError::NotFound),
        }
    }

    /// Spawns several in one step; `limit` above 0 is the most monsters the field may have before it.
    pub(crate) async fn spawn_all(
        &self,
        tenant: &Tenant,
        field: Field,
        spawns: &[Spawn],
        limit: u32,
        finishes: Option<Finishes>,
    ) -> Result<Spawned> {
        let now = self.now();
        let mut unborn = Vec::with_capacity(spawns.len());
        let mut args: Vec<String> = vec![now.to_string(), limit.to_string()];
        let finishes = finishes.map(|finishes| [finishes.member, finishes.value]);
        args.extend(finishes.unwrap_or_default());
        for spawn in spawns {
            let template = self
                .template(spawn.monster_id)
                .ok_or(MonsterError::UnknownTemplate(spawn.monster_id))?;
            let mut monster = Monster::unborn(tenant, field, &template);
            monster.at = Point::new(spawn.x, spawn.y);
            monster.fh = spawn.fh;
            monster.team = spawn.team;
            monster.spawn_source_type.clone_from(&spawn.source_type);
            monster.spawn_source_id = spawn.source_id;
            args.extend(monster.parts());
            args.extend(created(&monster));
            args.extend(drop_timer(&monster, &template, now));
            let skills: Vec<String> = template.skills.iter().map(|s| s.id.to_string()).collect();
            args.push(skills.join(" "));
            unborn.push(monster);
        }
        self.ensure_scope(tenant.id).await?;
        let keys = SpawnKeys::new(self.of(tenant.id)?, field)?;
        let born = match self.run_spawn(&keys, &args).await? {
            Drawn::Full => return Ok(Spawned::Full),
            Drawn::Lost => return Ok(Spawned::Lost),
            Drawn::Busy => return Err(MonsterError::IdSpaceBusy),
            Drawn::Born(born) => born,
        };
        for (monster, Born { id, control, life }) in unborn.iter_mut().zip(born) {
            monster.unique_id = id;
            monster.control_character_id = control;
            monster.life = life;
            let (key, text) = (self.keys.monster(tenant.id, id)?, monster.text());
            let count = (life > 1).then(|| (life - 1).to_string().into_bytes());
            let marked = (keys.of.mark(id), count);
            self.writer.remember(key, text.into_bytes(), marked, monster.clone());
        }
        if args[FACTS..].chunks(PARTS).any(|parts| !parts[DROP_TIMER].is_empty()) {
            self.wake();
        }
        Ok(Spawned::Born(unborn))
    }

    async fn run_spawn(&self, keys: &SpawnKeys, args: &[String]) -> Result<Drawn> {
        let (facts, parts) = args.split_at(FACTS);
        let prefixes = [&keys.of.monsters, &keys.of.drop_timers, &keys.of.cooldowns];
        let args = facts.iter().chain(prefixes).chain(parts);
        let args: Vec<&[u8]> = args.map(String::as_bytes).collect();
        let answer = self.store.script(&scripts::SPAWN, &keys.all(), &args, self.by()).await?;
        match reply::bytes(&answer) {
            Some(b"full") => return Ok(Drawn::Full),
            Some(b"lost") => return Ok(Drawn::Lost),
            Some(b"busy") => return Ok(Drawn::Busy),
            _ => {}
        }
        let born = reply::list(&answer)
            .and_then(|items| items.chunks_exact(3).map(Born::read).collect::<Option<Vec<_>>>());
        let wrong = || reply::unexpected("spawn", "ids, controllers and lives", &answer);
        Ok(Drawn::Born(born.ok_or_else(wrong)?))
    }
}

/// The script's answer.
enum Drawn {
    Full,
    Lost,
    Busy,
    Born(Vec<Born>),
}

/// The store's choices for a monster.
struct Born {
    id: u32,
    control: u32,
    life: u64,
}

impl Born {
    fn read(items: &[kernel::Value]) -> Option<Self> {
        let number = |at: usize| u64::try_from(reply::int(&items[at])?).ok();
        let small = |at: usize| u32::try_from(number(at)?).ok();
        Some(Born { id: small(0)?, control: small(1)?, life: number(2)? })
    }
}

/// The keys of the script.
struct SpawnKeys {
    of: Arc<TenantKeys>,
    map: Key,
    present: Key,
    hidden: Key,
}

impl SpawnKeys {
    fn new(of: Arc<TenantKeys>, field: Field) -> Result<Self> {
        let (map, present, hidden) = (of.map(field)?, of.present(field)?, of.hidden(field)?);
        Ok(SpawnKeys { of, map, present, hidden })
    }

    fn all(&self) -> [&[u8]; 9] {
        [
            self.of.next.as_bytes(),
            self.of.free.as_bytes(),
            self.map.as_bytes(),
            self.present.as_bytes(),
            self.hidden.as_bytes(),
            self.of.events.as_bytes(),
            self.of.timers.due.as_bytes(),
            self.of.timers.data.as_bytes(),
            self.of.lives.as_bytes(),
        ]
    }
}

/// The event in three parts, between which the id and the life stand.
fn created(unborn: &Monster) -> [String; 3] {
    let text = events::created(unborn);
    let expect = "every message names the monster and its life";
    let (before, rest) = text.split_once("\"uniqueId\":0,").expect(expect);
    let (between, after) = rest.split_once("\"life\":1,").expect(expect);
    [format!("{before}\"uniqueId\":"), format!(",{between}\"life\":"), format!(",{after}")]
}

/// The drop timer in two parts and when it is due; three empty texts where there is none.
fn drop_timer(monster: &Monster, template: &crate::Template, now: i64) -> [String; 3] {
    let every = i64::try_from(template.drop_every_ms()).unwrap_or(i64::MAX);
    if every == 0 {
        return [String::new(), String::new(), String::new()];
    }
    let timer = DropTimer {
        tenant_id: monster.tenant_id.clone(),
        tenant_region: monster.tenant_region.clone(),
        tenant_major_version: monster.tenant_major_version,
        tenant_minor_version: monster.tenant_minor_version,
        unique_id: 0,
        monster_id: monster.monster_id,
        field: monster.field,
        drop_period: every,
        weapon_attack: template.weapon_attack,
        max_hp: monster.max_hp,
        last_drop_at: now,
        last_hit_at: 0,
    };
    let text = kernel::numbers::to_json(&timer, kernel::numbers::Dialect::Go)
        .expect("plain data is always JSON");
    let (before, after) = text.split_once("\"uniqueId\":0").expect("a timer names its monster");
    [format!("{before}\"uniqueId\":"), after.to_owned(), timer.next_ms().to_string()]
}
