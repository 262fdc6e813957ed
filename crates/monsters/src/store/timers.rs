//! Timers that become due: effects, recovery, decay, drops, delayed skills, revives. Every timer's work is one step
//! that also removes or moves the timer, so a killed server loses none and two servers do none twice. The step
//! compares the monster even where it changes nothing: who arms recovery or decay leaves a timer that runs, and
//! a change of the monster meanwhile is seen before the timer ends. A monster with nothing due has no timer.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kernel::timers::Scopes;
use kernel::{
    Cmd, Decision, Effects as _, Fault, Op, Refused, Step, Stepped, Timer, TimerKeys, Timers,
    Value, Verdict, Written,
};
use uuid::Uuid;

use super::change::Context;
use super::remove::Revive;
use super::spawn::{Finishes, Spawned};
use super::{Monsters, TenantKeys};
use crate::effects;
use crate::error::{MonsterError, Result};
use crate::events;
use crate::model::{Monster, check_drop_timer, check_monster};

/// Recovery comes this often, and only to who was not hurt for as long.
pub(crate) const RECOVER_MS: i64 = 10_000;
/// Damage entries that are idle for longer than ten seconds shrink this often.
const DECAY_MS: u64 = 1_500;
/// A timer of what cannot be read is put off for so long.
const UNREAD_MS: u64 = 60_000;
/// The log of monsters that cannot be read.
static UNREAD: kernel::LogOnce = kernel::LogOnce::new();
const IDLE_MS: i64 = 10_000;
/// The wait of a timer whose work is done at once by the one who armed it.
pub(crate) const GRACE_MS: u64 = 2_000;
/// How long a timer stays with a server that does not answer for it: a friendly monster's drop is late by less
/// than a second after a kill.
const LEASE: Duration = Duration::from_millis(800);

/// Tells why a text cannot be read.
type CheckText = fn(&[u8]) -> std::result::Result<(), String>;

/// The outcome of a timer's work on a monster: the step, and when to come again.
type Turn = fn(&Context, Step, &mut Monster) -> (Step, Option<u64>);

impl TenantKeys {
    /// The writes that make a hurt or spent monster recover, at the pace it has if it does already.
    pub(super) fn arm_recovery(&self, id: u32, now: u64) -> Vec<Op> {
        let due = now + RECOVER_MS.unsigned_abs();
        self.timers.arm_if_absent(&format!("rec:{id}"), due, &id.to_string())
    }

    /// The writes that make damage entries shrink, likewise.
    pub(super) fn arm_decay(&self, id: u32, now: u64) -> Vec<Op> {
        self.timers.arm_if_absent(&format!("decay:{id}"), now + DECAY_MS, &id.to_string())
    }
}

impl Monsters {
    /// Serves all timers until `stop` ends. Several servers may do so at once.
    pub async fn serve_timers(self: Arc<Self>, stop: impl Future<Output = ()>) {
        let timers = self.timers();
        *self.wake.lock() = Some(timers.waker());
        let act = |timer: Timer| {
            let this = Arc::clone(&self);
            async move { this.act(&timer).await }
        };
        tokio::select! {
            () = timers.serve(act, stop) => {}
            () = self.clear_for_ever() => {}
        }
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
        .lease(LEASE)
    }

    /// Does one timer's work.
    pub async fn act(&self, timer: &Timer) -> Verdict {
        let Ok(tenant) = timer.scope.parse::<Uuid>() else { return Verdict::Done };
        let (kind, rest) = timer.member.split_once(':').unwrap_or((timer.member.as_str(), ""));
        let id = rest.split(':').next().and_then(|id| id.parse::<u32>().ok());
        let done = match (kind, id) {
            ("fx", Some(id)) => self.work(timer, tenant, id, Context::sweep).await,
            ("rec", Some(id)) => self.work(timer, tenant, id, Context::recover).await,
            ("decay", Some(id)) => self.work(timer, tenant, id, Context::decay).await,
            ("drop", Some(id)) => self.drop_due(timer, tenant, id).await,
            ("skill", Some(id)) => self.skill_due(timer, tenant, id).await,
            ("reach", Some(id)) => self.reach_due(timer, tenant, id).await,
            ("revive", _) => self.revive_due(timer).await,
            _ => Ok(Verdict::Done),
        };
        let done = match (done, id) {
            (Err(MonsterError::NotFound), Some(id)) => self.let_go(timer, tenant, id, None).await,
            (Err(MonsterError::Fault(Fault::Corrupt { key, detail })), Some(id)) => {
                if UNREAD.is_news(&key, &detail) {
                    tracing::warn!(key, detail, "a timer's monster cannot be read");
                }
                self.put_off(timer, tenant, id, &key).await
            }
            (done, _) => done,
        };
        match done {
            Ok(verdict) => verdict,
            Err(error) => {
                tracing::debug!(member = timer.member, %error, "a timer waits");
                Verdict::Failed
            }
        }
    }

    /// Puts off the timer of what cannot be read: a broken text must not keep the loop busy. The step compares the
    /// text, so that one that was mended meanwhile is looked at again at once.
    async fn put_off(&self, timer: &Timer, tenant: Uuid, id: u32, broken: &str) -> Result<Verdict> {
        let is_drop_timer = broken.starts_with(&self.of(tenant)?.drop_timers);
        let (key, check): (_, CheckText) = if is_drop_timer {
            (self.keys.drop_timer(tenant, id)?, check_drop_timer)
        } else {
            (self.keys.monster(tenant, id)?, check_monster)
        };
        let step = match self.store.call(Cmd::new().arg("GET").arg(&key), self.by()).await {
            Ok(Value::BulkString(text)) if check(&text).is_err() => Step::new(&key).expect(text),
            Err(Fault::Refused { code, .. }) if code == "WRONGTYPE" => Step::new(&key),
            answer => return answer.map(|_| Verdict::Failed).map_err(Into::into),
        };
        let step = timer.rearm(step, self.clock.now_ms() + UNREAD_MS, &timer.payload);
        Ok(match self.store.step(&step, self.by()).await? {
            // Mended or gone meanwhile.
            Stepped::Refused(Refused { guard: 0, .. }) => Verdict::Failed,
            // Put off, or not ours any more.
            _ => Verdict::Finished,
        })
    }

    /// Changes a monster and its timer in one step.
    async fn work(&self, timer: &Timer, tenant: Uuid, id: u32, turn: Turn) -> Result<Verdict> {
        let held = timer.clone();
        let rule = move |context: &Context, step: Step, monster: Option<&mut Monster>| {
            let (step, again_ms) = match monster {
                Some(monster) => turn(context, step, monster),
                None => (step, None),
            };
            let step = match again_ms {
                Some(again_ms) => held.rearm(step, again_ms, &held.payload),
                None => held.finish(step),
            };
            Ok(Decision::Write(step, ()))
        };
        // Guarded: the timer is somebody else's, or armed anew.
        self.decide(tenant, id, rule).await.map(|_| Verdict::Finished)
    }

    /// Ends a timer that has nothing to do: its monster is gone, dead, or not of this template.
    pub(super) async fn let_go(
        &self,
        timer: &Timer,
        tenant: Uuid,
        id: u32,
        kind: Option<u32>,
    ) -> Result<Verdict> {
        let held = timer.clone();
        let rule = move |_: &Context, step: Step, monster: Option<&mut Monster>| {
            let fits = |monster: &Monster| kind.is_none_or(|kind| monster.monster_id == kind);
            if monster.is_some_and(|monster| monster.alive() && fits(monster)) {
                return Ok(Decision::Leave(Verdict::Failed));
            }
            Ok(Decision::Write(held.finish(step), Verdict::Finished))
        };
        match self.decide(tenant, id, rule).await? {
            Written::Answer(verdict) => Ok(verdict),
            Written::Guarded(_) => Ok(Verdict::Finished),
        }
    }

    async fn revive_due(&self, timer: &Timer) -> Result<Verdict> {
        let Ok(revive) = serde_json::from_str::<Revive>(&timer.payload) else {
            tracing::warn!(member = timer.member, "a revive that cannot be read is dropped");
            return Ok(Verdict::Done);
        };
        match self.rise_by(&revive, Finishes::timer(timer)).await {
            // A template that left the catalogue meanwhile rises no more.
            Ok(Spawned::Born(_) | Spawned::Lost | Spawned::Full)
            | Err(MonsterError::UnknownTemplate(_)) => Ok(Verdict::Done),
            Err(error) => Err(error),
        }
    }
}

/// Rules of what becomes due.
impl Context {
    /// Effects hurt and run out.
    fn sweep(&self, mut step: Step, monster: &mut Monster) -> (Step, Option<u64>) {
        let (events, now) = (&self.keys.events, self.now_ms);
        let swept = effects::sweep(monster, self.now(), self.options.decay);
        let boss = self.is_boss(monster);
        for (source, _) in &swept.hurt {
            step = step.event(events, &events::damaged(monster, now, *source, boss));
        }
        for effect in &swept.expired {
            step = step.event(events, &events::status_expired(monster, now, effect));
        }
        if !swept.hurt.is_empty() {
            step = self.hurt(step, monster).0;
        }
        (step, effects::next_due(monster))
    }

    /// Hp come back after rest, mp always.
    fn recover(&self, mut step: Step, monster: &mut Monster) -> (Step, Option<u64>) {
        let Some(template) = self.template(monster).filter(|_| monster.alive()) else {
            return (step, None);
        };
        let (events, now) = (&self.keys.events, self.now_ms);
        let rested = self.now().saturating_sub(monster.last_damage_taken_ms) > RECOVER_MS;
        let hp = monster.hp.saturating_add(template.hp_recovery).min(monster.max_hp);
        if rested && hp > monster.hp {
            monster.hp = hp;
            step = step.event(events, &events::refreshed(monster, now, template.boss));
        }
        let mp = monster.mp.saturating_add(template.mp_recovery).min(monster.max_mp);
        if mp > monster.mp {
            let gained = i64::from(mp - monster.mp);
            monster.mp = mp;
            let told = events::mp_changed(monster, now, 0, 0, "RECOVERY", gained);
            step = step.event(events, &told);
        }
        let more = (template.hp_recovery > 0 && monster.hp < monster.max_hp)
            || (template.mp_recovery > 0 && monster.mp < monster.max_mp);
        (step, more.then_some(now + RECOVER_MS.unsigned_abs()))
    }

    /// Idle damage entries shrink; with the last of them anger goes.
    fn decay(&self, mut step: Step, monster: &mut Monster) -> (Step, Option<u64>) {
        if self.is_boss(monster) || !monster.alive() || !self.options.decay {
            return (step, None);
        }
        let mut entries: Vec<_> = monster.damage_entries.iter().cloned().collect();
        for entry in &mut entries {
            if self.now().saturating_sub(entry.last_hit_ms) > IDLE_MS {
                let less = u64::from(entry.damage) * 85 / 100;
                entry.set("damage", i64::try_from(less).unwrap_or(0));
            }
        }
        monster.damage_entries = entries.into_iter().filter(|entry| entry.damage > 0).collect();
        let calm = monster.damage_entries.is_empty();
        if calm && monster.controller_has_aggro {
            monster.controller_has_aggro = false;
            let told = events::aggro_changed(monster, self.now_ms);
            step = step.event(&self.keys.events, &told);
        }
        (step, (!calm).then_some(self.now_ms + DECAY_MS))
    }
}
