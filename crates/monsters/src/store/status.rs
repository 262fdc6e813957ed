//! Status effects on stored monsters: applied, cancelled, one monster or a whole field. The timer that looks
//! at them next is armed in the same step.

use field::{Field, Tenant};
use kernel::{Effects as _, Op, Pending};
use uuid::Uuid;

use super::{Monsters, TenantKeys};
use crate::effects::{self, NewEffect};
use crate::error::{MonsterError, Result};
use crate::events;
use crate::model::{Effect, Monster};

impl Monsters {
    /// Applies an effect and gives its id. Refuses what the monster is immune to.
    pub async fn apply_status(&self, tenant: &Tenant, id: u32, new: &NewEffect) -> Result<Uuid> {
        self.apply_for(tenant.id, id, new, None).await
    }

    pub(crate) async fn apply_for(
        &self,
        tenant: Uuid,
        id: u32,
        new: &NewEffect,
        answers: Option<&Pending>,
    ) -> Result<Uuid> {
        effects::validate(new)?;
        self.ensure_scope(tenant).await?;
        let keys = self.of(tenant)?;
        let effect_id = self.effect_id();
        let applied = self
            .alter(tenant, id, |monster| {
                let now = self.clock.now_ms();
                let template = self.template(monster.monster_id);
                let (effect, replaced) =
                    effects::apply(monster, template.as_deref(), new, effect_id, self.now())?;
                let mut ops = Vec::new();
                for old in &replaced {
                    ops = ops.event(&keys.events, &events::status_cancelled(monster, now, old));
                }
                ops = ops.event(&keys.events, &events::status_applied(monster, now, &effect));
                ops.extend(look_again(&keys, monster));
                Ok((effect_id, acknowledged(ops, answers)))
            })
            .await?;
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
    ) -> Result<Vec<Effect>> {
        self.cancel_for(tenant.id, id, types, class, None).await
    }

    pub(crate) async fn cancel_for(
        &self,
        tenant: Uuid,
        id: u32,
        types: &[String],
        class: Option<bool>,
        answers: Option<&Pending>,
    ) -> Result<Vec<Effect>> {
        let keys = self.of(tenant)?;
        self.alter(tenant, id, |monster| {
            let now = self.clock.now_ms();
            let gone = effects::cancel(monster, types, class)?;
            let mut ops = Vec::new();
            for effect in &gone {
                ops = ops.event(&keys.events, &events::status_cancelled(monster, now, effect));
            }
            if !gone.is_empty() {
                ops.extend(look_again(&keys, monster));
            }
            Ok((gone, acknowledged(ops, answers)))
        })
        .await
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
                Err(MonsterError::Bad { field, says }) => {
                    return Err(MonsterError::Bad { field, says });
                }
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
                Ok(effects) => gone += effects.len(),
                Err(error) => tracing::debug!(id, %error, "effects were not taken away"),
            }
        }
        Ok(gone)
    }
}

/// The writes that arm or cancel the timer of a monster's effects.
pub(super) fn look_again(keys: &TenantKeys, monster: &Monster) -> Vec<Op> {
    let member = format!("fx:{}", monster.unique_id);
    match effects::next_due(monster) {
        Some(due) => keys.timers.arm(&member, due, &monster.unique_id.to_string()),
        None => keys.timers.cancel(&member),
    }
}

/// The command that caused a change is done with it.
pub(super) fn acknowledged(ops: Vec<Op>, answers: Option<&Pending>) -> Vec<Op> {
    match answers {
        Some(command) => ops.xack(&command.stream, &command.group, &command.entry),
        None => ops,
    }
}
