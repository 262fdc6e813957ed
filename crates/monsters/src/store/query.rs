//! Looking at monsters. One that cannot be read is told apart from one that is not there, and never hides its
//! neighbours.

use field::{Field, Point, Rect, Tenant};
use kernel::{Cmd, Fault, Value, reply};

use super::Monsters;
use crate::error::{MonsterError, Result};
use crate::model::Monster;

/// No list of one field is longer in one command: the reply would be.
const PER_CALL: usize = 5_000;

/// The content of a field.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listed {
    /// By ascending id.
    pub monsters: Vec<Monster>,
    /// Monsters whose text cannot be read: id and what is wrong.
    pub ruined: Vec<(u32, String)>,
}

impl Monsters {
    /// One monster.
    pub async fn get(&self, tenant: &Tenant, id: u32) -> Result<Monster> {
        Ok(self.fetch(tenant.id, id).await?.1)
    }

    /// The text and the monster in it.
    pub(crate) async fn fetch(&self, tenant: uuid::Uuid, id: u32) -> Result<(String, Monster)> {
        let key = self.keys.monster(tenant, id)?;
        let answer = self.store.call(kernel::Cmd::new().arg("GET").arg(&key), self.by()).await;
        let answer = match answer {
            Err(Fault::Refused { code, .. }) if code == "WRONGTYPE" => {
                let detail = "holds no text".to_owned();
                return Err(Fault::Corrupt { key: key.into(), detail }.into());
            }
            answer => answer?,
        };
        match answer {
            Value::Nil => Err(MonsterError::NotFound),
            Value::BulkString(bytes) => {
                let monster = Monster::read(key.as_str(), &bytes)?;
                let text = String::from_utf8(bytes).unwrap_or_default();
                Ok((text, monster))
            }
            other => Err(reply::unexpected(&key, "text", &other).into()),
        }
    }

    /// Ids of a field's monsters, ascending.
    pub async fn ids(&self, tenant: &Tenant, field: Field) -> Result<Vec<u32>> {
        let map = self.of(tenant.id)?.map(field)?;
        let answer = self.store.call(Cmd::new().arg("SMEMBERS").arg(&map), self.by()).await?;
        let members =
            reply::list(&answer).ok_or_else(|| reply::unexpected(&map, "a set", &answer))?;
        let mut ids: Vec<u32> =
            members.iter().filter_map(reply::text).filter_map(|id| id.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// All monsters of a field, by ascending id: two round trips.
    pub async fn list(&self, tenant: &Tenant, field: Field) -> Result<Listed> {
        let ids = self.ids(tenant, field).await?;
        self.load(tenant.id, &ids).await
    }

    /// Monsters by id. What is not there is left out.
    pub(crate) async fn load(&self, tenant: uuid::Uuid, ids: &[u32]) -> Result<Listed> {
        let mut listed = Listed::default();
        for ids in ids.chunks(PER_CALL) {
            let mut get = Cmd::new();
            get.arg("MGET");
            for id in ids {
                get.arg(self.keys.monster(tenant, *id)?);
            }
            let answer = self.store.call(&get, self.by()).await?;
            let values = reply::list(&answer)
                .filter(|values| values.len() == ids.len())
                .ok_or_else(|| reply::unexpected("MGET", "as many values", &answer))?;
            for (id, value) in ids.iter().zip(values) {
                let Some(bytes) = reply::bytes(value) else { continue };
                match Monster::read("", bytes) {
                    Ok(monster) => listed.monsters.push(monster),
                    Err(Fault::Corrupt { detail, .. }) => listed.ruined.push((*id, detail)),
                    Err(fault) => return Err(fault.into()),
                }
            }
        }
        Ok(listed)
    }

    /// How many timers of all tenants run.
    pub async fn waiting(&self) -> Result<u64> {
        let mut asks = Vec::new();
        for scope in self.scopes.list(&*self.store, self.by()).await? {
            let Ok(tenant) = scope.parse() else { continue };
            let mut cmd = Cmd::new();
            cmd.arg("ZCARD").arg(self.keys.due(tenant)?);
            asks.push(cmd);
        }
        let answers = self.store.pipeline(&asks, self.by()).await?;
        let count = |answer: &std::result::Result<Value, Fault>| {
            answer.as_ref().ok().and_then(reply::int).unwrap_or(0).unsigned_abs()
        };
        Ok(answers.iter().map(count).sum())
    }

    /// Monsters of a field inside a box, nearest to its centre first, of equals the lowest id; at most `max`.
    pub async fn in_rect(
        &self,
        tenant: &Tenant,
        field: Field,
        (one, other): (Point, Point),
        max: usize,
    ) -> Result<Vec<Monster>> {
        let rect = Rect::between(one, other);
        let mut inside = self.list(tenant, field).await?.monsters;
        inside.retain(|monster| rect.holds(monster.at));
        inside.sort_by_key(|monster| (rect.distance(monster.at), monster.unique_id));
        inside.truncate(max);
        Ok(inside)
    }
}
