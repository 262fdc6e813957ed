//! Monsters leave: killed, destroyed, caught, or all at once. Deleting the value is the claim: only who deleted
//! it releases the id, removes the index entry and tells it, all in the same step.

use std::collections::BTreeSet;

use field::{Field, Point, Tenant};
use futures_util::StreamExt as _;
use kernel::keyspace::{Classifier, KeyDef, scan_glob};
use kernel::{Cmd, Decision, Effects as _, Fault, Pending, Scan, Step, Value, reply};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::change::Context;
use super::damage::Nonce;
use super::spawn::{Finishes, Spawn, Spawned};
use super::{Monsters, timers};
use crate::error::{MonsterError, Result, SkillCheck};
use crate::events;
use crate::keys::{TABLE, def};
use crate::model::Monster;

/// The number of a field's monsters that are removed side by side.
const SIDE_BY_SIDE: usize = 32;

/// How a clearing of many went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cleared {
    /// Monsters that are gone.
    pub destroyed: usize,
    /// Monsters that could not be removed; the log has why.
    pub failed: usize,
}

/// The successors of a fallen monster; also the payload of its timer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Revive {
    tenant: Tenant,
    field: Field,
    at: Point,
    fh: i16,
    team: i8,
    monsters: Vec<u32>,
    #[serde(skip)]
    member: String,
}

impl Monster {
    /// Whose it is.
    pub(crate) fn tenant(&self) -> Result<Tenant> {
        let id: Uuid = self.tenant_id.parse().map_err(|_| {
            MonsterError::Fault(Fault::Corrupt {
                key: format!("monster {}", self.unique_id),
                detail: "tenantId is no UUID".to_owned(),
            })
        })?;
        Ok(Tenant {
            id,
            region: self.tenant_region.clone(),
            major_version: self.tenant_major_version,
            minor_version: self.tenant_minor_version,
        })
    }
}

/// Rules of a monster's end.
impl Context {
    /// Adds to a step all that goes with a monster's end but the event.
    fn removal(&self, step: Step, monster: &Monster) -> Result<Step> {
        let keys = &self.keys;
        let (number, id) = (monster.unique_id, monster.unique_id.to_string());
        let template = self.template(monster);
        let mut step = step.delete().srem(keys.map(monster.field)?, &id).lpush(&keys.free, &id);
        step = step.ops(keys.counted(monster.field, monster.control_character_id, 0)?);
        let unsure = template.is_none();
        if unsure || template.as_ref().is_some_and(|template| template.friendly) {
            step = step.del(keys.keys.drop_timer(keys.tenant, number)?);
            step = step.ops(keys.timers.cancel(&format!("drop:{id}")));
        }
        if unsure || !monster.status_effects.is_empty() {
            step = step.ops(keys.timers.cancel(&format!("fx:{id}")));
        }
        if unsure || template.as_ref().is_some_and(|template| template.recovers()) {
            step = step.ops(keys.timers.cancel(&format!("rec:{id}")));
        }
        if self.options.decay {
            step = step.ops(keys.timers.cancel(&format!("decay:{id}")));
        }
        if let Some(template) = template {
            for skill in &template.skills {
                step = step.del(keys.keys.cooldown(keys.tenant, number, skill.id.into())?);
            }
            for attack in &template.attacks {
                step = step.del(keys.keys.attack(keys.tenant, number, attack.position)?);
            }
        }
        Ok(step)
    }

    /// Makes a step the one in which a monster falls. What rises in its place is armed in it.
    pub(super) fn kill(
        &self,
        step: Step,
        monster: &Monster,
        actor: u32,
        revives: bool,
        nonce: &mut Nonce,
    ) -> Result<(Step, Option<Revive>)> {
        let (tenant, keys, now) = (monster.tenant()?, &self.keys, self.now_ms);
        let template = self.template(monster);
        let mut step = self.removal(step, monster)?;
        for effect in &monster.status_effects {
            step = step.event(&keys.events, &events::status_cancelled(monster, now, effect));
        }
        let boss = template.as_ref().is_some_and(|template| template.boss);
        step = step.event(&keys.events, &events::killed(monster, now, actor, boss));
        let rising = template.filter(|_| revives).map(|template| template.revives.clone());
        let mut rising = rising.unwrap_or_default();
        rising.retain(|id| self.options.templates.get(*id).is_some());
        if rising.is_empty() {
            return Ok((step, None));
        }
        let revive = Revive {
            tenant,
            field: monster.field,
            at: monster.at,
            fh: monster.fh,
            team: monster.team,
            monsters: rising,
            // The id may be in use again, and fall again, before this is served.
            member: format!("revive:{}:{now}:{:08x}", monster.unique_id, nonce.get()),
        };
        let due = now + timers::GRACE_MS;
        let armed = keys.timers.arm(&revive.member, due, &revive.payload());
        Ok((step.ops(armed), Some(revive)))
    }
}

impl Monsters {
    /// Spawns what rises, at once; when that fails, its timer does it.
    pub(super) async fn rise(&self, revive: &Revive) {
        let finishes = Finishes::armed(revive.member.clone(), &revive.payload());
        if let Err(error) = self.rise_by(revive, finishes).await {
            tracing::debug!(%error, member = revive.member, "a revive is left to its timer");
        }
    }

    pub(super) async fn rise_by(&self, revive: &Revive, finishes: Finishes) -> Result<Spawned> {
        let spawns: Vec<Spawn> = revive
            .monsters
            .iter()
            .map(|monster_id| Spawn {
                monster_id: *monster_id,
                x: revive.at.x,
                y: revive.at.y,
                fh: revive.fh,
                team: revive.team,
                ..Spawn::default()
            })
            .collect();
        self.spawn_all(&revive.tenant, revive.field, &spawns, 0, Some(finishes)).await
    }

    /// Removes a monster. Of many who try, one succeeds.
    pub async fn destroy(&self, tenant: &Tenant, id: u32) -> Result<()> {
        match self.destroy_by(tenant.id, id, 0, false, None).await {
            Err(MonsterError::Fault(Fault::Corrupt { .. })) => {
                let fields = self.fields_of(tenant.id, id).await?;
                self.destroy_ruined(tenant.id, &fields, id).await
            }
            done => done.map(|_| ()),
        }
    }

    /// The tenant's fields that list this id.
    async fn fields_of(&self, tenant: Uuid, id: u32) -> Result<Vec<Field>> {
        let (scope, member) = (tenant.to_string(), id.to_string());
        let maps = self.scan(&def::map, &[("tenant_id", &scope)]).await?;
        let mut fields = Vec::new();
        for (_, field) in maps.iter().filter_map(place) {
            let map = self.of(tenant)?.map(field)?;
            let mut ask = Cmd::new();
            ask.arg("SISMEMBER").arg(&map).arg(&member);
            // A key of another type lists nothing.
            if reply::int(&self.store.call(&ask, self.by()).await.unwrap_or(Value::Nil)) == Some(1)
            {
                fields.push(field);
            }
        }
        Ok(fields)
    }

    pub(super) async fn destroy_by(
        &self,
        tenant: Uuid,
        id: u32,
        actor: u32,
        spares_bosses: bool,
        answers: Option<&Pending>,
    ) -> Result<Monster> {
        let rule = move |context: &Context, step: Step, monster: &mut Monster| {
            let template = context.template(monster);
            if spares_bosses && template.is_none_or(|template| template.boss) {
                return Err(MonsterError::Skill(SkillCheck::Boss));
            }
            let gone = events::destroyed(monster, context.now_ms, actor);
            let step = context.removal(step, monster)?.event(&context.keys.events, &gone);
            Ok(Decision::Write(step, monster.clone()))
        };
        let gone = self.alter(tenant, id, answers, rule).await?;
        self.deaths.note(tenant, id);
        Ok(gone)
    }

    /// Removes every monster of a field. One that cannot be removed does not stop the rest.
    pub async fn destroy_field(&self, tenant: &Tenant, field: Field) -> Result<Cleared> {
        self.destroy_where(tenant, field, |_| true).await
    }

    /// Removes the monsters of a field that one source spawned.
    pub async fn destroy_source(
        &self,
        tenant: &Tenant,
        field: Field,
        source_type: &str,
        source_id: u32,
    ) -> Result<Cleared> {
        self.destroy_where(tenant, field, |monster| {
            monster.spawn_source_type == source_type && monster.spawn_source_id == source_id
        })
        .await
    }

    async fn destroy_where(
        &self,
        tenant: &Tenant,
        field: Field,
        which: impl Fn(&Monster) -> bool,
    ) -> Result<Cleared> {
        let ids = self.ids(tenant, field).await?;
        let listed = self.load(tenant.id, &ids).await?;
        let wanted: Vec<u32> =
            listed.monsters.iter().filter(|m| which(m)).map(|m| m.unique_id).collect();
        let mut cleared = Cleared::default();
        let mut done = futures_util::stream::iter(wanted)
            .map(|id| async move { (id, self.destroy(tenant, id).await) })
            .buffer_unordered(SIDE_BY_SIDE);
        while let Some((id, result)) = done.next().await {
            cleared.note(id, result);
        }
        drop(done);
        if !listed.monsters.iter().all(&which) {
            return Ok(cleared);
        }
        for (id, _) in &listed.ruined {
            cleared.note(*id, self.destroy_ruined(tenant.id, &[field], *id).await);
        }
        let known = |id: &&u32| {
            !listed.monsters.iter().any(|m| m.unique_id == **id)
                && !listed.ruined.iter().any(|(ruined, _)| ruined == *id)
        };
        for id in ids.iter().filter(known) {
            // A value that is no text, or an entry without a monster: both go, unless the monster came meanwhile.
            match self.destroy(tenant, *id).await {
                Err(MonsterError::NotFound) => {}
                done => {
                    cleared.note(*id, done);
                    continue;
                }
            }
            let map = self.of(tenant.id)?.map(field)?;
            let step = Step::new(self.keys.monster(tenant.id, *id)?).absent();
            self.store.step(&step.srem(map, id.to_string()), self.by()).await?;
        }
        Ok(cleared)
    }

    /// Removes what cannot be read; its fields are those that list it.
    async fn destroy_ruined(&self, tenant: Uuid, fields: &[Field], id: u32) -> Result<()> {
        let keys = self.of(tenant)?;
        let key = self.keys.monster(tenant, id)?;
        let step = match self.store.call(Cmd::new().arg("GET").arg(&key), self.by()).await {
            Ok(Value::BulkString(text)) => Step::new(&key).expect(&text).delete(),
            Err(Fault::Refused { code, .. }) if code == "WRONGTYPE" => {
                self.store.call(Cmd::new().arg("DEL").arg(&key), self.by()).await?;
                Step::new(&key).absent()
            }
            answer => return answer.map(drop).map_err(Into::into),
        };
        let mut step =
            step.lpush(&keys.free, id.to_string()).del(self.keys.drop_timer(tenant, id)?);
        for field in fields {
            step = step.srem(keys.map(*field)?, id.to_string());
        }
        for kind in ["fx", "rec", "decay", "drop"] {
            step = step.ops(keys.timers.cancel(&format!("{kind}:{id}")));
        }
        self.store.step(&step, self.by()).await?;
        Ok(())
    }

    /// Removes the monsters of all tenants, and who was present. Counters, free ids and events remain.
    pub async fn teardown(&self) -> Result<Cleared> {
        let mut cleared = Cleared::default();
        for key in self.scan(&def::map, &[]).await? {
            let Some((tenant, field)) = place(&key) else { continue };
            let one = self.destroy_field(&Tenant::of(tenant), field).await?;
            cleared.destroyed += one.destroyed;
            cleared.failed += one.failed;
        }
        // Monsters that no field lists.
        for key in self.scan(&def::monster, &[]).await? {
            let number = |name: &str| key.iter().find(|(known, _)| *known == name).map(|(_, v)| v);
            let (Some(tenant), Some(id)) = (number("tenant_id"), number("unique_id")) else {
                continue;
            };
            let (Ok(tenant), Ok(id)) = (tenant.parse(), id.parse()) else { continue };
            cleared.note(id, self.destroy(&Tenant::of(tenant), id).await);
        }
        for def in [&def::present, &def::hidden, &def::puppets, &def::due, &def::due_data] {
            for values in self.scan(def, &[]).await? {
                let values: Vec<(&str, &str)> =
                    values.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let key = def.render(self.keys.layout(), &values)?;
                self.store.call(Cmd::new().arg("DEL").arg(&key), self.by()).await?;
            }
        }
        Ok(cleared)
    }

    /// All keys of a definition that have these values, each as its values.
    pub(super) async fn scan(
        &self,
        def: &'static KeyDef,
        values: &[(&str, &str)],
    ) -> Result<Vec<Values>> {
        let classifier = Classifier::new(&[&TABLE], &[] as &[&str]);
        let glob = scan_glob(def, self.keys.layout(), values)?;
        let wait = std::time::Duration::from_secs(5);
        let mut scan = Scan::open(&*self.store, wait).await?.matching(glob);
        let mut found = BTreeSet::new();
        while let Some(batch) = scan.next(500).await? {
            for key in batch {
                let Some(one) = classifier.classify(&key) else { continue };
                let ours = one.layout.is_none_or(|layout| layout == self.keys.layout());
                if one.def == def && ours {
                    let values =
                        one.params.iter().map(|(name, value)| (*name, (*value).to_owned()));
                    found.insert(values.collect::<Values>());
                }
            }
        }
        Ok(found.into_iter().collect())
    }
}

pub(super) type Values = Vec<(&'static str, String)>;

/// Tenant and field of a field's set.
pub(super) fn place(values: &Values) -> Option<(Uuid, Field)> {
    let value =
        |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, v)| v.as_str());
    let field = Field {
        world_id: value("world_id")?.parse().ok()?,
        channel_id: value("channel_id")?.parse().ok()?,
        map_id: value("map_id")?.parse().ok()?,
        instance: value("instance")?.parse().ok()?,
    };
    Some((value("tenant_id")?.parse().ok()?, field))
}

impl Cleared {
    fn note(&mut self, id: u32, result: Result<()>) {
        match result {
            Ok(()) => self.destroyed += 1,
            Err(MonsterError::NotFound) => {}
            Err(error) => {
                tracing::warn!(id, %error, "a monster could not be removed");
                self.failed += 1;
            }
        }
    }
}

impl Revive {
    fn payload(&self) -> String {
        serde_json::to_string(self).expect("plain data is always JSON")
    }
}
