//! Items that players drop on reactors. A drop that fits is taken after a while, by a timer in the store; until
//! then no other item is. When the time comes the reactor is looked at again: an item is never used up for
//! nothing.

use field::Field;
use kernel::{Decision, Effects as _, Pending, Written};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::change::{Context, StoredReactor};
use super::{Reactors, item_timer};
use crate::error::ReactorError;
use crate::machine;

/// An item on the ground.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Drop {
    /// The id of the drop.
    pub drop_id: u32,
    /// The item's id.
    pub item_id: u32,
    /// The quantity.
    pub quantity: u16,
    /// The horizontal position on the map.
    pub x: i16,
    /// The vertical position on the map.
    pub y: i16,
    /// The character who owned it.
    pub owner_id: u32,
    /// Whether a player dropped it; all others are ignored.
    pub player_drop: bool,
}

impl Reactors {
    /// Tells of a drop. Gives the reactor that will take it.
    pub async fn offer(
        &self,
        tenant: Uuid,
        field: Field,
        drop: &Drop,
    ) -> Result<Option<u32>, ReactorError> {
        self.offer_for(tenant, field, drop, None).await
    }

    /// The same as the answer to a command.
    pub async fn offer_for(
        &self,
        tenant: Uuid,
        field: Field,
        drop: &Drop,
        command: Option<&Pending>,
    ) -> Result<Option<u32>, ReactorError> {
        if !drop.player_drop {
            return Ok(None);
        }
        self.ensure(tenant).await?;
        let (all, _) = self.load_field(tenant, field).await?;
        for StoredReactor { reactor, .. } in all {
            if machine::takes_drop(&reactor, drop)
                && self.reserve(tenant, reactor.id, drop, command).await?
            {
                return Ok(Some(reactor.id));
            }
        }
        Ok(None)
    }

    /// Arms the timer that takes the item. `false`: another item is on its way, or the reactor has changed.
    async fn reserve(
        &self,
        tenant: Uuid,
        id: u32,
        drop: &Drop,
        command: Option<&Pending>,
    ) -> Result<bool, ReactorError> {
        let payload = serde_json::to_string(drop).expect("a drop is plain data");
        let (drop, delay_ms) = (drop.clone(), self.item_delay_ms);
        let (timers, member) = (self.keys.due(tenant), item_timer(id));
        let is_answer = command.is_some();
        let command = command.cloned();
        let rule = move |context: &Context, seen: &StoredReactor| {
            if !machine::takes_drop(&seen.reactor, &drop) {
                return Ok(Decision::Leave(false));
            }
            let due_ms = context.now_ms.saturating_add(delay_ms);
            let step = context
                .step(&seen.reactor, command.as_ref())
                .while_no_field(&timers.data, &member)
                .ops(timers.arm(&member, due_ms, &payload));
            Ok(Decision::Write(step, true))
        };
        match self.change(tenant, id, rule).await {
            Ok(Written::Answer(true)) => {
                self.wake.notify_one();
                Ok(true)
            }
            Ok(Written::Guarded(0)) if is_answer => Err(ReactorError::Answered),
            Ok(Written::Answer(false) | Written::Guarded(_)) | Err(ReactorError::NotFound(_)) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}
