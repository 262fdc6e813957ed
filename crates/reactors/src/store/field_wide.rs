//! Whole fields and everything: clearing a field leaves no cooldown behind, teardown does, because it is
//! nothing but many destroys. Other fields, instances and tenants are not touched.

use field::Field;
use futures_util::StreamExt as _;
use kernel::keyspace::{Classifier, KeyDef, Layout, scan_glob};
use kernel::{Cmd, Fault, Scan, reply};
use uuid::Uuid;

use super::read::cmd;
use super::typed_keys::TYPED;
use super::{PATIENCE, Reactors, by};
use crate::error::ReactorError;
use crate::keys::{TABLE, def};
use crate::scripts::FORGET;

/// How many reactors are taken away side by side.
const SIDE_BY_SIDE: usize = 64;
/// How many keys one look of SCAN passes.
const SCANNED: usize = 1_000;

impl Reactors {
    /// Takes away every reactor of a field, without cooldowns, then the field's cooldowns and spots. Tells how
    /// many there were.
    pub async fn destroy_in_field(&self, tenant: Uuid, field: Field) -> Result<u64, ReactorError> {
        let (all, _) = self.load_field(tenant, field).await?;
        let ids: Vec<(Uuid, u32)> = all.iter().map(|seen| (tenant, seen.reactor.id)).collect();
        let gone = self.remove_all(ids, false).await? + self.drop_unreadable(tenant, field).await?;
        self.clear_cooldowns(tenant, field).await?;
        self.forget_spots(tenant, field).await?;
        Ok(gone)
    }

    /// Takes away what a field still lists and nobody can read.
    async fn drop_unreadable(&self, tenant: Uuid, field: Field) -> Result<u64, ReactorError> {
        let set = self.keys.map(tenant, field);
        let answer = self.store.call(&cmd("SMEMBERS", [set.as_str()]), by()).await?;
        let members = reply::list(&answer).unwrap_or_default().iter().filter_map(reply::text);
        let mut gone = 0;
        for id in members.filter_map(|member| member.parse().ok()) {
            if let Err(ReactorError::Fault(Fault::Corrupt { .. })) = self.load(tenant, id).await {
                self.remove_unreadable(tenant, id).await?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// Takes away every reactor of every tenant. Cooldowns are recorded, and outlive this.
    pub async fn teardown(&self) -> Result<u64, ReactorError> {
        let mut gone = 0;
        for tenant in self.scopes_to_empty().await? {
            let set = self.keys.all(tenant);
            let answer = self.store.call(&cmd("SMEMBERS", [set.as_str()]), by()).await?;
            let members = reply::list(&answer).unwrap_or_default().iter().filter_map(reply::text);
            let ids: Vec<u32> = members.filter_map(|member| member.parse().ok()).collect();
            for some in ids.chunks(1_000) {
                let owned = self.owners(tenant, some).await?;
                gone += self.remove_all(owned, true).await?;
                self.drop_remains(tenant, some).await?;
            }
        }
        self.empty_sets().await?;
        Ok(gone)
    }

    /// Tenants to go through: in the plain layout one set has everybody's ids.
    async fn scopes_to_empty(&self) -> Result<Vec<Uuid>, ReactorError> {
        match self.keys.layout() {
            Layout::Plain => Ok(vec![Uuid::nil()]),
            Layout::Tagged => self.tenants().await,
        }
    }

    /// Whose these reactors are, as their values say.
    async fn owners(&self, tenant: Uuid, ids: &[u32]) -> Result<Vec<(Uuid, u32)>, ReactorError> {
        let keys: Vec<String> =
            ids.iter().map(|id| self.keys.reactor(tenant, *id).into()).collect();
        let answer = self.store.call(&cmd("MGET", keys.iter().map(String::as_str)), by()).await?;
        let values = reply::list(&answer).unwrap_or_default();
        let owner = |text: &str| serde_json::from_str::<crate::Reactor>(text).ok();
        Ok(ids
            .iter()
            .zip(values)
            .filter_map(|(id, value)| Some((owner(reply::text(value)?)?.tenant.id, *id)))
            .collect())
    }

    /// Destroys these side by side. One that is gone already is nobody's fault.
    async fn remove_all(&self, ids: Vec<(Uuid, u32)>, cools: bool) -> Result<u64, ReactorError> {
        let mut work = futures_util::stream::iter(ids)
            .map(|(tenant, id)| self.remove(tenant, id, cools))
            .buffer_unordered(SIDE_BY_SIDE);
        let (mut gone, mut failed) = (0, None);
        while let Some(done) = work.next().await {
            match done {
                Ok(()) => gone += 1,
                Err(ReactorError::NotFound(_)) => {}
                // One that cannot be taken away does not save the rest.
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(gone), Err)
    }

    /// Values that are no reactors, and index entries without a value: teardown leaves none.
    async fn drop_remains(&self, tenant: Uuid, ids: &[u32]) -> Result<(), ReactorError> {
        let cmds: Vec<Cmd> = ids
            .iter()
            .flat_map(|id| {
                let key = self.keys.reactor(tenant, *id);
                let (set, id) = (self.keys.all(tenant), id.to_string());
                [cmd("DEL", [key.as_str()]), cmd("SREM", [set.as_str(), &id])]
            })
            .collect();
        for answer in self.store.pipeline(&cmds, by()).await? {
            answer?;
        }
        Ok(())
    }

    /// Field sets that still name something whose value was gone, or could not be read.
    async fn empty_sets(&self) -> Result<(), ReactorError> {
        for key in self.scan(&def::map, &[]).await? {
            let answer = self.store.call(&cmd("SMEMBERS", [key.as_str()]), by()).await?;
            let members: Vec<&str> =
                reply::list(&answer).unwrap_or_default().iter().filter_map(reply::text).collect();
            let Some(tenant) = tenant_of(&key) else { continue };
            let prefix = self.keys.prefix(tenant);
            let value = |id: &&str| cmd("EXISTS", [format!("{prefix}{id}").as_str()]);
            let asks: Vec<Cmd> = members.iter().map(value).collect();
            let there = self.store.pipeline(&asks, by()).await?;
            for (member, answer) in members.into_iter().zip(there) {
                if reply::int(&answer?) == Some(0) {
                    self.store.call(&cmd("SREM", [key.as_str(), member]), by()).await?;
                }
            }
        }
        Ok(())
    }

    async fn clear_cooldowns(&self, tenant: Uuid, field: Field) -> Result<(), ReactorError> {
        let texts = [
            ("tenant_id", tenant.to_string()),
            ("world_id", field.world_id.to_string()),
            ("channel_id", field.channel_id.to_string()),
            ("map_id", field.map_id.to_string()),
            ("instance", field.instance.to_string()),
        ];
        let values = texts.each_ref().map(|(name, text)| (*name, text.as_str()));
        let keys = self.scan(&def::cooldown, &values).await?;
        let cmds: Vec<Cmd> = keys.iter().map(|key| cmd("DEL", [key.as_str()])).collect();
        for some in cmds.chunks(SCANNED) {
            for answer in self.store.pipeline(some, by()).await? {
                answer?;
            }
        }
        Ok(())
    }

    async fn forget_spots(&self, tenant: Uuid, field: Field) -> Result<(), ReactorError> {
        let (spots, prefix) = (self.keys.spots(tenant), self.keys.prefix(tenant));
        let field = format!("{field}:");
        let args = [field.as_bytes(), prefix.as_bytes()];
        self.store.script(&FORGET, &[spots.as_bytes()], &args, by()).await?;
        Ok(())
    }

    /// Keys of one definition, on every primary.
    pub(super) async fn scan(
        &self,
        def: &'static KeyDef,
        values: &[(&str, &str)],
    ) -> Result<Vec<String>, Fault> {
        let glob = scan_glob(def, self.keys.layout(), values).expect(TYPED);
        let mut scan = Scan::open(&*self.store, PATIENCE).await?.matching(glob);
        let none: [&str; 0] = [];
        let classifier = Classifier::new(&[&TABLE], &none);
        let is = |key: &String| {
            classifier.classify(key.as_bytes()).is_some_and(|found| std::ptr::eq(found.def, def))
        };
        let mut found = Vec::new();
        while let Some(keys) = scan.next(SCANNED).await? {
            let texts = keys.into_iter().filter_map(|key| String::from_utf8(key).ok());
            // A pattern may find more than it means.
            found.extend(texts.filter(is));
        }
        Ok(found)
    }
}

/// The tenant in the name of a field's set.
fn tenant_of(map: &str) -> Option<Uuid> {
    let part = map.split(':').nth(2)?;
    Uuid::parse_str(part.trim_matches(['{', '}'])).ok()
}
