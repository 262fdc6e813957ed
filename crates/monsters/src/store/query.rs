//! Looking at monsters. One that cannot be read is told apart from one that is not there, and never hides its
//! neighbours.

use field::{Field, Point, Rect, Tenant};
use kernel::{Cmd, Fault, Value, reply};
use uuid::Uuid;

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

    /// The text and the monster in it. The life is read first: one that is over by then refuses what is meant for it,
    /// and never leads it to an heir.
    pub(crate) async fn fetch(&self, tenant: Uuid, id: u32) -> Result<(String, Monster)> {
        let (key, keys) = (self.keys.monster(tenant, id)?, self.of(tenant)?);
        let (mut life, mut get) = (Cmd::new(), Cmd::new());
        life.arg("HGET").arg(&keys.lives).arg(id);
        get.arg("GET").arg(&key);
        let mut answers = self.store.pipeline(&[life, get], self.by()).await?.into_iter();
        let mut next = || answers.next().unwrap_or(Ok(Value::Nil));
        let life = next()?;
        match next() {
            Err(Fault::Refused { code, .. }) if code == "WRONGTYPE" => {
                let detail = "holds no text".to_owned();
                Err(Fault::Corrupt { key: key.into(), detail }.into())
            }
            Err(fault) => Err(fault.into()),
            Ok(Value::Nil) => Err(MonsterError::NotFound),
            Ok(Value::BulkString(bytes)) => {
                let monster = Monster::read(key.as_str(), &bytes)?.in_life(reply::bytes(&life));
                Ok((String::from_utf8(bytes).unwrap_or_default(), monster))
            }
            Ok(other) => Err(reply::unexpected(&key, "text", &other).into()),
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
    pub(crate) async fn load(&self, tenant: Uuid, ids: &[u32]) -> Result<Listed> {
        let mut listed = Listed::default();
        for (id, read) in ids.iter().zip(self.read_all(tenant, ids).await?) {
            match read {
                Ok(monster) => listed.monsters.push(monster),
                Err(MonsterError::Fault(Fault::Corrupt { detail, .. })) => {
                    listed.ruined.push((*id, detail));
                }
                Err(MonsterError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(listed)
    }

    /// Monsters by id, each with its own answer.
    pub(super) async fn read_all(&self, tenant: Uuid, ids: &[u32]) -> Result<Vec<Result<Monster>>> {
        let keys = self.of(tenant)?;
        let mut all = Vec::with_capacity(ids.len());
        for ids in ids.chunks(PER_CALL) {
            let (mut lives, mut get) = (Cmd::new(), Cmd::new());
            lives.arg("HMGET").arg(&keys.lives).arg(ids);
            get.arg("MGET");
            for id in ids {
                get.arg(format!("{}{id}", keys.monsters));
            }
            let answers = self.store.pipeline(&[lives, get], self.by()).await?;
            let [lives, texts] = answers.try_into().unwrap_or([Ok(Value::Nil), Ok(Value::Nil)]);
            let (lives, texts) = (lives?, texts?);
            let lives = reply::list(&lives).unwrap_or_default();
            let texts = reply::list(&texts)
                .filter(|values| values.len() == ids.len())
                .ok_or_else(|| reply::unexpected("MGET", "as many values", &texts))?;
            for (at, (id, text)) in ids.iter().zip(texts).enumerate() {
                let read = reply::bytes(text)
                    .ok_or(MonsterError::NotFound)
                    .and_then(|text| Ok(Monster::read(&format!("{}{id}", keys.monsters), text)?));
                let life = lives.get(at).and_then(reply::bytes);
                all.push(read.map(|monster| monster.in_life(life)));
            }
        }
        Ok(all)
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
