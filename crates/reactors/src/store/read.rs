//! Looking: one reactor, all of a field. A tenant sees its own only; a value that cannot be read is told apart
//! from one that is not there, and never hides its neighbours.

use field::Field;
use kernel::{Cmd, Fault, Value, reply};
use uuid::Uuid;

use super::change::StoredReactor;
use super::{Reactors, by};
use crate::error::ReactorError;
use crate::model::Reactor;

/// How many values one command fetches.
const AT_ONCE: usize = 1_000;

/// The reactors of a field.
#[derive(Debug, Default, PartialEq)]
pub struct Listing {
    /// By ascending id.
    pub reactors: Vec<Reactor>,
    /// Keys whose value is no reactor, each with what is wrong.
    pub corrupt: Vec<Fault>,
}

impl Reactors {
    /// One reactor of this tenant.
    pub async fn get(&self, tenant: Uuid, id: u32) -> Result<Reactor, ReactorError> {
        let seen = self.load(tenant, id).await?;
        seen.map(|seen| seen.reactor).ok_or(ReactorError::NotFound(id))
    }

    /// Everything that stands in a field. A field nobody has seen is empty.
    pub async fn list(&self, tenant: Uuid, field: Field) -> Result<Listing, ReactorError> {
        let (seen, corrupt) = self.load_field(tenant, field).await?;
        Ok(Listing { reactors: seen.into_iter().map(|seen| seen.reactor).collect(), corrupt })
    }

    /// How many reactors there are in all: of all tenants in the plain layout, of those we know else.
    pub async fn count(&self) -> Result<u64, ReactorError> {
        let mut sets: Vec<String> =
            self.tenants().await?.into_iter().map(|tenant| self.keys.all(tenant).into()).collect();
        sets.sort_unstable();
        sets.dedup();
        let cmds: Vec<Cmd> = sets.iter().map(|set| cmd("SCARD", [set.as_str()])).collect();
        let mut count = 0;
        for answer in self.store.pipeline(&cmds, by()).await? {
            count += u64::try_from(reply::int(&answer?).unwrap_or(0)).unwrap_or(0);
        }
        Ok(count)
    }

    /// How many timers wait, of all tenants.
    pub async fn waiting(&self) -> Result<u64, ReactorError> {
        let due = |tenant| cmd("ZCARD", [self.keys.due(tenant).due.as_str()]);
        let cmds: Vec<Cmd> = self.tenants().await?.into_iter().map(due).collect();
        let mut count = 0;
        for answer in self.store.pipeline(&cmds, by()).await? {
            count += u64::try_from(reply::int(&answer?).unwrap_or(0)).unwrap_or(0);
        }
        Ok(count)
    }

    /// Tenants that have own keys here.
    pub async fn tenants(&self) -> Result<Vec<Uuid>, ReactorError> {
        let scopes = self.scopes.list(&*self.store, by()).await?;
        Ok(scopes.iter().filter_map(|scope| Uuid::parse_str(scope).ok()).collect())
    }

    pub(super) async fn load(
        &self,
        tenant: Uuid,
        id: u32,
    ) -> Result<Option<StoredReactor>, ReactorError> {
        let key = self.keys.reactor(tenant, id);
        let answer = match self.store.call(&cmd("GET", [key.as_str()]), by()).await {
            Err(Fault::Refused { code, .. }) if code == "WRONGTYPE" => {
                let detail = "holds no text".to_owned();
                return Err(Fault::Corrupt { key: key.into(), detail }.into());
            }
            answer => answer?,
        };
        if matches!(answer, Value::Nil) {
            return Ok(None);
        }
        let seen = StoredReactor::read(key.as_str(), reply::bytes(&answer).unwrap_or_default())?;
        Ok(Some(seen).filter(|seen| seen.is(tenant, id)))
    }

    pub(super) async fn load_field(
        &self,
        tenant: Uuid,
        field: Field,
    ) -> Result<(Vec<StoredReactor>, Vec<Fault>), ReactorError> {
        let set = self.keys.map(tenant, field);
        let answer = self.store.call(&cmd("SMEMBERS", [set.as_str()]), by()).await?;
        let members = reply::list(&answer).unwrap_or_default().iter().filter_map(reply::text);
        let mut ids: Vec<u32> = members.filter_map(|member| member.parse().ok()).collect();
        ids.sort_unstable();
        let (mut all, mut corrupt) = (Vec::with_capacity(ids.len()), Vec::new());
        for some in ids.chunks(AT_ONCE) {
            let keys: Vec<String> =
                some.iter().map(|id| self.keys.reactor(tenant, *id).into()).collect();
            let ask = cmd("MGET", keys.iter().map(String::as_str));
            let answer = self.store.call(&ask, by()).await?;
            let values = reply::list(&answer).unwrap_or_default();
            for (key, value) in keys.iter().zip(values) {
                // Gone, or not text: an index may outlive its value for a moment.
                if matches!(value, Value::Nil) {
                    continue;
                }
                match StoredReactor::read(key, reply::bytes(value).unwrap_or_default()) {
                    // A value that says it is elsewhere is nobody's business here; the check reports it.
                    Ok(seen) if seen.reactor.tenant.id != tenant => {}
                    Ok(seen) if seen.reactor.field() != field => {}
                    Ok(seen) => all.push(seen),
                    Err(fault) => corrupt.push(fault),
                }
            }
        }
        Ok((all, corrupt))
    }
}

pub(super) fn cmd<'a>(name: &str, words: impl IntoIterator<Item = &'a str>) -> Cmd {
    let mut cmd = Cmd::new();
    cmd.arg(name);
    for word in words {
        cmd.arg(word);
    }
    cmd
}
