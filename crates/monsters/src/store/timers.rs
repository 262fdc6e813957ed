//! What becomes due: effects, recovery, decay, drops, delayed skills, revives. Every timer's work is one step
//! that also removes or moves the timer, so a killed server loses none and two servers do none twice. A monster
//! with nothing due has no timer.

use std::future::Future;
use std::sync::Arc;

use kernel::timers::Scopes;
use kernel::{Effects as _, Op, Step, Stepped, Timer, TimerKeys, Timers, Verdict};
use uuid::Uuid;

use super::remove::Revive;
use super::spawn::{Ended, Finishes};
use super::{Monsters, TenantKeys};
use crate::effects;
use crate::error::{MonsterError, Result};
use crate::events;
use crate::model::Monster;

/// Recovery comes this often, and only to who was not hurt for as long.
pub(crate) const RECOVER_MS: i64 = 10_000;
/// Damage entries that are idle for longer than ten seconds shrink this often.
const DECAY_MS: u64 = 1_500;
/// What was said of monsters that cannot be read.
static UNREAD: kernel::LogOnce = kernel::LogOnce::new();
const IDLE_MS: i64 = 10_000;
/// What is done at once by who armed it waits so long for its timer.
pub(crate) const GRACE_MS: u64 = 2_000;
const TRIES: usize = 20;

/// What a timer's work makes of a monster.
pub(super) struct Turn {
    /// Events and other writes.
    pub(super) ops: Vec<Op>,
    /// When to come again.
    pub(super) again_ms: Option<u64>,
}

impl TenantKeys {
    /// The writes that make a hurt or spent monster recover.
    pub(super) fn arm_recovery(&self, id: u32, now: u64) -> Vec<Op> {
        let due = now + RECOVER_MS.unsigned_abs();
        self.timers.arm(&format!("rec:{id}"), due, &id.to_string())
    }

    /// The writes that make damage entries shrink.
    pub(super) fn arm_decay(&self, id: u32, now: u64) -> Vec<Op> {
        self.timers.arm(&format!("decay:{id}"), now + DECAY_MS, &id.to_string())
    }
}

impl Monsters {
    /// Serves all timers until `stop` ends. Several servers may do so at once.
    pub async fn serve_timers(self: Arc<Self>, stop: impl Future<Output = ()>) {
        let timers = self.timers();
        *self.wake.lock() = Some(timers.waker());
        timers
            .serve(
                |timer| {
                    let this = Arc::clone(&self);
                    async move { this.act(&timer).await }
                },
                stop,
            )
            .await;
    }

    /// The timers of all tenants.
    pub fn timers(&self) -> Timers {
        let keys = self.keys;
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let scopes = Scopes::Set(self.scopes.key().to_owned());
        Timers::new(store, clock, scopes, move |tenant| {
            let tenant: Uuid = tenant.parse().ok()?;
            Some(TimerKeys::new(keys.due(tenant).ok()?, keys.due_data(tenant).ok()?))
        })
    }

    /// Does one timer's work.
    pub async fn act(&self, timer: &Timer) -> Verdict {
        let Ok(tenant) = timer.scope.parse::<Uuid>() else { return Verdict::Done };
        let (kind, rest) = timer.member.split_once(':').unwrap_or((timer.member.as_str(), ""));
        let id = rest.split(':').next().and_then(|id| id.parse::<u32>().ok());
        let done = match (kind, id) {
            ("fx", Some(id)) => self.work(timer, tenant, id, |m, k| self.sweep(m, k)).await,
            ("rec", Some(id)) => self.work(timer, tenant, id, |m, k| self.recover(m, k)).await,
            ("decay", Some(id)) => self.work(timer, tenant, id, |m, k| self.decay(m, k)).await,
            ("drop", Some(id)) => self.drop_due(timer, tenant, id).await,
            ("skill", Some(id)) => self.skill_due(timer, tenant, id).await,
            ("reach", Some(id)) => self.reach_due(timer, tenant, id).await,
            ("revive", _) => self.revive_due(timer).await,
            _ => Ok(Verdict::Done),
        };
        match done {
            Ok(verdict) => verdict,
            Err(MonsterError::NotFound) => Verdict::Done,
            // Looked at again when somebody mends it: a broken text must not keep the loop busy.
            Err(MonsterError::Fault(kernel::Fault::Corrupt { key, detail })) => {
                if UNREAD.is_news(&key, &detail) {
                    tracing::warn!(key, detail, "a timer's monster cannot be read");
                }
                Verdict::Again(self.clock.now_ms() + 60_000)
            }
            Err(error) => {
                tracing::debug!(member = timer.member, %error, "a timer waits");
                Verdict::Failed
            }
        }
    }

    /// Changes a monster and its timer in one step. `None`: there is nothing to do any more.
    async fn work(
        &self,
        timer: &Timer,
        tenant: Uuid,
        id: u32,
        turn: impl Fn(&mut Monster, &TenantKeys) -> Turn,
    ) -> Result<Verdict> {
        let keys = self.of(tenant)?;
        let key = self.keys.monster(tenant, id)?;
        for _ in 0..TRIES {
            let (text, before) = self.fetch(tenant, id).await?;
            let mut after = before.clone();
            let Turn { ops, again_ms } = turn(&mut after, &keys);
            if after == before && ops.is_empty() {
                return Ok(again_ms.map_or(Verdict::Done, Verdict::Again));
            }
            let step = Step::new(&key).expect(&text).write(after.spliced(&before, &text)?).ops(ops);
            let step = match again_ms {
                Some(again) => timer.rearm(step, again, &timer.payload),
                None => timer.finish(step),
            };
            match self.store.step(&step, self.by()).await? {
                Stepped::Done => return Ok(Verdict::Done),
                Stepped::Refused(refused) if refused.is_gone() => {
                    return Err(MonsterError::NotFound);
                }
                // Either the monster changed or the timer is somebody else's; the latter ends it.
                Stepped::Refused(_) => {
                    if !self.still_ours(timer, &keys).await? {
                        return Ok(Verdict::Done);
                    }
                }
            }
        }
        Ok(Verdict::Failed)
    }

    /// Whether nobody armed the timer anew or took it over.
    pub(super) async fn still_ours(&self, timer: &Timer, keys: &TenantKeys) -> Result<bool> {
        let mut get = kernel::Cmd::new();
        get.arg("HGET").arg(&keys.timers.data).arg(&timer.member);
        let answer = self.store.call(&get, self.by()).await?;
        Ok(kernel::reply::text(&answer) == Some(timer.value().as_str()))
    }

    fn sweep(&self, monster: &mut Monster, keys: &TenantKeys) -> Turn {
        let now = self.clock.now_ms();
        let swept = effects::sweep(monster, self.now(), self.options.decay);
        let boss = self.template(monster.monster_id).is_some_and(|template| template.boss);
        let mut ops = Vec::new();
        for (source, _) in &swept.hurt {
            ops = ops.event(&keys.events, &events::damaged(monster, now, *source, boss, &[]));
        }
        for effect in &swept.expired {
            ops = ops.event(&keys.events, &events::status_expired(monster, now, effect));
        }
        if !swept.hurt.is_empty() {
            let template = self.template(monster.monster_id);
            if template.is_some_and(|template| template.hp_recovery > 0) {
                monster.last_damage_taken_ms = self.now();
                ops.extend(keys.arm_recovery(monster.unique_id, now));
            }
            if self.options.decay && !boss {
                ops.extend(keys.arm_decay(monster.unique_id, now));
            }
        }
        Turn { ops, again_ms: effects::next_due(monster) }
    }

    fn recover(&self, monster: &mut Monster, keys: &TenantKeys) -> Turn {
        let Some(template) = self.template(monster.monster_id).filter(|_| monster.alive()) else {
            return Turn { ops: Vec::new(), again_ms: None };
        };
        let now = self.clock.now_ms();
        let mut ops = Vec::new();
        let rested = self.now().saturating_sub(monster.last_damage_taken_ms) > RECOVER_MS;
        let hp = monster.hp.saturating_add(template.hp_recovery).min(monster.max_hp);
        if rested && hp > monster.hp {
            monster.hp = hp;
            ops = ops.event(&keys.events, &events::refreshed(monster, now, template.boss));
        }
        let mp = monster.mp.saturating_add(template.mp_recovery).min(monster.max_mp);
        if mp > monster.mp {
            let gained = i64::from(mp - monster.mp);
            monster.mp = mp;
            let event = events::mp_changed(monster, now, 0, 0, "RECOVERY", gained);
            ops = ops.event(&keys.events, &event);
        }
        let more = (template.hp_recovery > 0 && monster.hp < monster.max_hp)
            || (template.mp_recovery > 0 && monster.mp < monster.max_mp);
        Turn { ops, again_ms: more.then_some(now + RECOVER_MS.unsigned_abs()) }
    }

    fn decay(&self, monster: &mut Monster, keys: &TenantKeys) -> Turn {
        let (now, at) = (self.clock.now_ms(), self.now());
        let boss = self.template(monster.monster_id).is_some_and(|template| template.boss);
        if boss || !monster.alive() || !self.options.decay {
            return Turn { ops: Vec::new(), again_ms: None };
        }
        for entry in &mut monster.damage_entries {
            if at.saturating_sub(entry.last_hit_ms) > IDLE_MS {
                let less = u64::from(entry.damage) * 85 / 100;
                entry.set("damage", i64::try_from(less).unwrap_or(0));
            }
        }
        monster.damage_entries.retain(|entry| entry.damage > 0);
        let mut ops = Vec::new();
        let calm = monster.damage_entries.is_empty();
        if calm && monster.controller_has_aggro {
            monster.controller_has_aggro = false;
            ops = ops.event(&keys.events, &events::aggro_changed(monster, now));
        }
        Turn { ops, again_ms: (!calm).then_some(now + DECAY_MS) }
    }

    async fn revive_due(&self, timer: &Timer) -> Result<Verdict> {
        let Ok(revive) = serde_json::from_str::<Revive>(&timer.payload) else {
            tracing::warn!(member = timer.member, "a revive that cannot be read is dropped");
            return Ok(Verdict::Done);
        };
        match self.rise_by(&revive, Finishes::timer(timer)).await {
            // A template that left the catalogue meanwhile rises no more.
            Ok(Ended::Born(_) | Ended::Lost | Ended::Full)
            | Err(MonsterError::UnknownTemplate(_)) => Ok(Verdict::Done),
            Err(error) => Err(error),
        }
    }
}
