//! Reactors that nobody can read: a foreign writer left no JSON, or another type, under the key.
//! Such a reactor can be taken away like any other, without a cooldown and without an event,
//! because its state is not known.

use kernel::keyspace::Layout;
use kernel::{Cmd, Decision, Effects as _, Fault, Step, Value, reply};
use uuid::Uuid;

use super::read::cmd;
use super::{Reactors, by, item_timer, state_timer};
use crate::error::ReactorError;
use crate::keys::def;
use crate::model::Reactor;

/// Reads a stored text, as the verbs and the check do.
pub(crate) fn decode(text: &[u8]) -> Result<Reactor, String> {
    let text = std::str::from_utf8(text).map_err(|_| "is not UTF-8".to_owned())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl Reactors {
    /// Takes away what cannot be read, with all that lists it. In the plain layout a key does not say whose it is:
    /// only a tenant whose fields list the id may do so.
    pub(super) async fn remove_unreadable(
        &self,
        tenant: Uuid,
        id: u32,
    ) -> Result<(), ReactorError> {
        let lists = self.lists_of(tenant, id).await?;
        if lists.is_empty() && self.keys.layout() == Layout::Plain {
            return Err(ReactorError::NotFound(id));
        }
        let key = self.keys.reactor(tenant, id);
        let cleanup = self.cleanup(tenant, id, &lists).await?;
        let step = cleanup.clone().delete();
        let unreadable = move |current: Option<&[u8]>| match current {
            Some(text) if decode(text).is_err() => Decision::Write(step.clone(), ()),
            // Somebody took it away, or made it readable.
            _ => Decision::Leave(()),
        };
        match self.writer.write(&key, by(), unreadable).await {
            Err(Fault::Corrupt { .. }) => {}
            done => return done.map(drop).map_err(Into::into),
        }
        // It holds another type than text.
        self.store.call(&cmd("DEL", [key.as_str()]), by()).await?;
        let gone = move |current: Option<&[u8]>| match current {
            None => Decision::Write(cleanup.clone(), ()),
            Some(_) => Decision::Leave(()),
        };
        self.writer.write(&key, by(), gone).await?;
        Ok(())
    }

    /// The step that takes an id off everything that lists it.
    async fn cleanup(&self, tenant: Uuid, id: u32, lists: &[String]) -> Result<Step, ReactorError> {
        let (member, spots) = (id.to_string(), self.keys.spots(tenant));
        let mut step =
            Step::new(self.keys.reactor(tenant, id)).srem(self.keys.all(tenant), &member);
        for list in lists {
            step = step.srem(list, &member);
        }
        for spot in self.spots_of(tenant, &member).await? {
            step = step.release(&spots, spot, &member);
        }
        let timers = self.keys.due(tenant);
        Ok(step.ops(timers.cancel(&state_timer(id))).ops(timers.cancel(&item_timer(id))))
    }

    /// The tenant's fields that list this id.
    async fn lists_of(&self, tenant: Uuid, id: u32) -> Result<Vec<String>, ReactorError> {
        let tenant = tenant.to_string();
        let maps = self.scan(&def::map, &[("tenant_id", &tenant)]).await?;
        let id = id.to_string();
        let asks: Vec<Cmd> = maps.iter().map(|map| cmd("SISMEMBER", [map, id.as_str()])).collect();
        let answers = self.store.pipeline(&asks, by()).await?;
        let lists = |answer: &Result<Value, Fault>| {
            answer.as_ref().is_ok_and(|answer| reply::int(answer) == Some(1))
        };
        Ok(maps
            .into_iter()
            .zip(&answers)
            .filter(|(_, answer)| lists(answer))
            .map(|(map, _)| map)
            .collect())
    }

    /// The spots that this id holds.
    async fn spots_of(&self, tenant: Uuid, id: &str) -> Result<Vec<String>, ReactorError> {
        let spots = self.keys.spots(tenant);
        let answer = self.store.call(&cmd("HGETALL", [spots.as_str()]), by()).await?;
        let pairs = reply::pairs(&answer).unwrap_or_default();
        let held = pairs.into_iter().filter(|(_, holder)| reply::text(holder) == Some(id));
        Ok(held.filter_map(|(spot, _)| reply::text(spot).map(str::to_owned)).collect())
    }
}
