//! Items that players drop on reactors. A drop that fits is taken after a while, by a timer in the store; until
//! then no other item is. When the time comes the reactor is looked at again: an item is never used up for
//! nothing.

use field::Field;
use kernel::{Effects as _, Pending, Step};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Reactors, Seen, TRIES, item_timer};
use crate::error::ReactorError;
use crate::machine;

/// An item on the ground.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Drop {
    /// Which drop.
    pub drop_id: u32,
    /// Of which item.
    pub item_id: u32,
    /// How many.
    pub quantity: u16,
    /// Where it lies.
    pub x: i16,
    /// Where it lies.
    pub y: i16,
    /// Whose it was.
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
        for seen in all {
            let id = seen.reactor.id;
            if machine::takes_drop(&seen.reactor, drop)
                && self.reserve(tenant, seen, drop, command).await?
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Arms the timer that takes the item. `false`: another item is on its way, or the reactor has changed.
    async fn reserve(
        &self,
        tenant: Uuid,
        mut seen: Seen,
        drop: &Drop,
        command: Option<&Pending>,
    ) -> Result<bool, ReactorError> {
        let id = seen.reactor.id;
        let (timers, member) = (self.due(tenant), item_timer(id));
        let payload = serde_json::to_string(drop).expect("a drop is plain data");
        for _ in 0..TRIES {
            let due_ms = self.clock.now_ms().saturating_add(self.item_delay_ms);
            let step = Step::new(self.reactor_key(tenant, id))
                .expect(&seen.text)
                .while_no_field(&timers.data, &member)
                .ops(timers.arm(&member, due_ms, &payload));
            if self.run(step, command).await? {
                self.wake.notify_one();
                return Ok(true);
            }
            self.still_pending(command).await?;
            match self.load(tenant, id).await? {
                Some(now) if now.text != seen.text && machine::takes_drop(&now.reactor, drop) => {
                    seen = now;
                }
                _ => return Ok(false),
            }
        }
        Err(self.contended(tenant, id))
    }
}
