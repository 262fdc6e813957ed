//! Status effects on stored monsters: applied, cancelled, one monster or a whole field. The timer that looks
//! at them next is armed in the same step.

use field::{Field, Tenant};
use kernel::{Decision, Effects as _, Pending, Step};
use uuid::Uuid;

use super::Monsters;
use super::change::Context;
use crate::effects::{self, NewEffect};
use crate::error::Result;
use crate::events;
use crate::model::{Effect, Monster};

/// An effect that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// The id of the effect.
    pub effect_id: Uuid,
    /// The life of the monster that has it.
    pub life: u64,
}

/// Effects that were taken away.
#[derive(Debug, Clone, PartialEq)]
pub struct Cancelled {
    /// Each of them.
    pub effects: Vec<Effect>,
    /// The life of the monster that had them.
    pub life: u64,
}

impl Monsters {
    /// Applies an effect. Refuses what the monster is immune to.
    pub async fn apply_status(&self, tenant: &Tenant, id: u32, new: &NewEffect) -> Result<Applied> {
        self.apply_for(tenant.id, id, new, None).await
    }

    pub(crate) async fn apply_for(
        &self,
        tenant: Uuid,
        id: u32,
        new: &NewEffect,
        answers: Option<&Pending>,
    ) -> Result<Applied> {
        effects::validate(new)?;
        self.ensure_scope(tenant).await?;
        let (effect_id, new) = (self.effect_id(), new.clone());
        let rule = move |context: &Context, step: Step, monster: &mut Monster| {
            let applied = Applied { effect_id, life: monster.life };
            Ok(Decision::Write(context.apply(step, monster, &new, effect_id)?, applied))
        };
        let applied = self.alter(tenant, id, answers, rule).await?;
        self.wake();
        Ok(applied)
    }

    /// Takes away effects that contain any of these types; all, when none is named. Gives what went.
    pub async fn cancel_status(
        &self,
        tenant: &Tenant,
        id: u32,
        types: &[String],
        class: Option<bool>,
    ) -> Result<Cancelled> {
        self.cancel_for(tenant.id, id, types, class, None).await
    }

    pub(crate) async fn cancel_for(
        &self,
        tenant: Uuid,
        id: u32,
        types: &[String],
        class: Option<bool>,
        answers: Option<&Pending>,
    ) -> Result<Cancelled> {
        let types = types.to_vec();
        let rule = move |context: &Context, mut step: Step, monster: &mut Monster| {
            let effects = effects::cancel(monster, &types, class)?;
            let gone = Cancelled { effects, life: monster.life };
            if gone.effects.is_empty() {
                return Ok(Decision::Leave(gone));
            }
            for effect in &gone.effects {
                step = context.cancelled(step, monster, effect);
            }
            Ok(Decision::Write(context.look_again(step, monster), gone))
        };
        self.alter(tenant, id, answers, rule).await
    }

    /// Applies an effect to every monster of a field; gives how many took it.
    pub async fn apply_status_field(
        &self,
        tenant: &Tenant,
        field: Field,
        new: &NewEffect,
    ) -> Result<usize> {
        let mut taken = 0;
        for id in self.ids(tenant, field).await? {
            match self.apply_status(tenant, id, new).await {
                Ok(_) => taken += 1,
                Err(error) if error.is_bad() || error.may_pass() => return Err(error),
                Err(error) => tracing::debug!(id, %error, "an effect did not take"),
            }
        }
        Ok(taken)
    }

    /// Takes away effects from every monster of a field; gives how many effects went.
    pub async fn cancel_status_field(
        &self,
        tenant: &Tenant,
        field: Field,
        types: &[String],
    ) -> Result<usize> {
        let mut gone = 0;
        for id in self.ids(tenant, field).await? {
            match self.cancel_status(tenant, id, types, None).await {
                Ok(cancelled) => gone += cancelled.effects.len(),
                Err(error) if error.may_pass() => return Err(error),
                Err(error) => tracing::debug!(id, %error, "effects were not taken away"),
            }
        }
        Ok(gone)
    }
}

/// Rules of effects.
impl Context {
    /// An effect begins, and those it replaces end.
    pub(super) fn apply(
        &self,
        mut step: Step,
        monster: &mut Monster,
        new: &NewEffect,
        id: Uuid,
    ) -> Result<Step> {
        let template = self.template(monster);
        let (effect, replaced) = effects::apply(monster, template.as_deref(), new, id, self.now())?;
        for old in &replaced {
            step = self.cancelled(step, monster, old);
        }
        let told = events::status_applied(monster, self.now_ms, &effect);
        Ok(self.look_again(step.event(&self.keys.events, &told), monster))
    }

    fn cancelled(&self, step: Step, monster: &Monster, effect: &Effect) -> Step {
        let told = events::status_cancelled(monster, self.now_ms, effect);
        step.event(&self.keys.events, &told)
    }

    /// Moves the timer of the effects to where they next need a look.
    fn look_again(&self, step: Step, monster: &Monster) -> Step {
        let member = format!("fx:{}", monster.unique_id);
        let timers = &self.keys.timers;
        step.ops(match effects::next_due(monster) {
            Some(due) => timers.arm(&member, due, &monster.unique_id.to_string()),
            None => timers.cancel(&member),
        })
    }
}
