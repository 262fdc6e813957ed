//! The check of the galaxy beyond single keys: indexes and hashes, counts of sockets, ships that
//! somebody flies, the game's own keys. The engine mends indexes at its start and every ten
//! minutes; `worldkeep check` finds the rest.

use std::sync::Arc;
use std::time::Duration;

use kernel::check::{Finding, Options, Report, Trouble};
use kernel::keyspace::{Classifier, KeyDef, Layout};
use kernel::{Deadline, Fault, Said, Store, Wording, reply};
use uuid::Uuid;

use crate::engine::pace::RANGE;
use crate::keys::{Keys, TABLE};
use crate::model::read_body;
use crate::model::text;
use crate::physics::solar::SOL;
use crate::said;
use crate::scripts;
use crate::store::{cmd, fields, load};

const PATIENCE: Duration = Duration::from_secs(10);
/// How the key of a server's own counts begins.
const INSTANCES: &str = "{connections:online}:inst:";

/// Mends the indexes from the hashes: adds members that are missing, removes those whose hash is gone.
pub async fn reconcile(store: &Arc<dyn Store>) -> Result<Report, Fault> {
    // Both layouts spell these keys alike.
    let options = Options { repair: true, ..Options::new(classifier(), Layout::Plain) };
    let report = kernel::check::check(&**store, &options, &mut |_| {}).await?;
    for finding in report.findings.iter().filter(|finding| finding.repaired) {
        let Finding { key, entry, detail, .. } = finding;
        tracing::warn!(key, entry, detail, "mended");
    }
    Ok(report)
}

/// Finds faults beyond single keys and their indexes; repairs those it can when asked to.
pub async fn check(
    store: &Arc<dyn Store>,
    keys: Keys,
    repair: bool,
) -> Result<Vec<Finding>, Fault> {
    let at = Looking { store, keys, classifier: classifier(), repair };
    let mut found = at.game().await?;
    found.extend(at.entities().await?);
    found.extend(at.choices().await?);
    found.extend(at.sockets().await?);
    Ok(found)
}

fn classifier() -> Classifier {
    let none: [&str; 0] = [];
    Classifier::new(&[&TABLE], &none)
}

/// Whether a value is what it may be.
type Fits<'a> = &'a (dyn Fn(&str) -> bool + Sync);

struct Looking<'a> {
    store: &'a Arc<dyn Store>,
    keys: Keys,
    classifier: Classifier,
    repair: bool,
}

impl Looking<'_> {
    /// `game:*`: each value is what it may be, and no restore was cut short.
    async fn game(&self) -> Result<Vec<Finding>, Fault> {
        let keys = self.keys;
        let flag = |text: &str| text::read_flag(text).is_some();
        let ranged = |text: &str| text::read_float(text).is_some_and(|n| RANGE.contains(&n));
        let rules: [(_, Fits<'_>, &'static Wording); 7] = [
            (keys.time(), &|text| text::read_time(text).is_some(), said::NO_TIME),
            (keys.tick_rate(), &ranged, said::NOT_IN_RANGE),
            (keys.time_scale(), &ranged, said::NOT_IN_RANGE),
            (keys.paused(), &flag, said::NO_FLAG),
            (keys.time_sync(), &flag, said::NO_FLAG),
            (keys.registration_open(), &flag, said::NO_FLAG),
            (keys.time_drift(), &|text| text::read_float(text).is_some(), said::NO_NUMBER),
        ];
        let mut found = Vec::new();
        for (key, fits, wrong) in rules {
            if let Some(value) = self.text(key.as_str()).await?.filter(|value| !fits(value)) {
                let wrong = wrong.say().with("value", value);
                found.extend(self.finding(Trouble::BadValue, key.as_str(), wrong));
            }
        }
        let (mark, lock) = (keys.restoring(), keys.engine_lock());
        if let (Some(id), None) = (self.text(mark.as_str()).await?, self.text(lock.as_str()).await?)
        {
            let cut = said::CUT_SHORT.say().with("id", id);
            found.extend(self.finding(Trouble::WrongState, mark.as_str(), cut));
        }
        Ok(found)
    }

    /// Ships, stations and bodies that the engine cannot read.
    async fn entities(&self) -> Result<Vec<Finding>, Fault> {
        if self.text(self.keys.tick().as_str()).await?.is_none() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        match load::load(self.store, self.keys, &SOL).await {
            Ok(Some(loaded)) => {
                for (key, why) in loaded.aside {
                    found.extend(self.unreadable(&key, &why.to_string()));
                }
            }
            Ok(None) => {
                for body in SOL.bodies() {
                    let Ok(key) = self.keys.body(body.name) else { continue };
                    let hash = self.call(&["HGETALL", key.as_str()]).await?;
                    if let Err(why) = read_body(&fields(&hash)) {
                        found.extend(self.unreadable(key.as_str(), &why.to_string()));
                    }
                }
            }
            Err(Fault::Corrupt { key, detail }) => {
                found.extend(self.unreadable(&key, &detail));
            }
            Err(fault) => return Err(fault),
        }
        Ok(found)
    }

    /// `player:*:active_ship`: a ship that exists and is theirs. The next login chooses another.
    async fn choices(&self) -> Result<Vec<Finding>, Fault> {
        let mut found = Vec::new();
        let mut nodes = kernel::Scan::open(&**self.store, PATIENCE).await?;
        nodes = nodes.matching("player:*:active_ship");
        while let Some(keys) = nodes.next(500).await? {
            for key in keys.iter().filter_map(|key| std::str::from_utf8(key).ok()) {
                let player = self
                    .classifier
                    .classify(key.as_bytes())
                    .and_then(|known| known.param("player_id").map(str::to_owned));
                let Some(player) = player else { continue };
                if let Some(wrong) = self.not_theirs(key, &player).await? {
                    let mut finding = self.finding(Trouble::Dangling, key, wrong);
                    // Looked at again: a login may have chosen meanwhile.
                    if self.repair && self.not_theirs(key, &player).await?.is_some() {
                        self.call(&["DEL", key]).await?;
                        finding = finding.map(|finding| Finding { repaired: true, ..finding });
                    }
                    found.extend(finding);
                }
            }
        }
        Ok(found)
    }

    async fn not_theirs(&self, key: &str, player: &str) -> Result<Option<Said>, Fault> {
        let Some(ship) = self.text(key).await? else { return Ok(None) };
        let hash = ship.parse::<Uuid>().ok().and_then(|id| self.keys.ship(id).ok());
        let Some(hash) = hash else { return Ok(Some(said::NO_SHIP_ID.say().with("value", ship))) };
        let owner = self.call(&["HGET", hash.as_str(), "player_id"]).await?;
        Ok(match reply::text(&owner) {
            None => Some(said::NO_SHIP.say().with("key", hash.as_str())),
            Some(owner) if owner != player => {
                Some(said::OTHERS_SHIP.say().with("key", hash.as_str()).with("owner", owner))
            }
            Some(_) => None,
        })
    }

    /// Checks the players online: totals against the servers, servers without a lease.
    async fn sockets(&self) -> Result<Vec<Finding>, Fault> {
        let keys = self.keys;
        let (online, count, leases) = (keys.online(), keys.online_count(), keys.online_leases());
        let all: [&[u8]; 3] = [online.as_ref(), count.as_ref(), leases.as_ref()];
        let args = [text::flag(self.repair).as_bytes(), INSTANCES.as_bytes()];
        let by = Deadline::after(PATIENCE);
        let wrong = self.store.script(&scripts::RECOUNT, &all, &args, by).await?;
        let mut found = Vec::new();
        for player in reply::list(&wrong).unwrap_or_default().iter().filter_map(reply::text) {
            let wrong = said::OTHER_SOCKETS.say();
            found.extend(self.finding(Trouble::Miscounted, count.as_str(), wrong).map(|finding| {
                Finding { entry: Some(player.to_owned()), repaired: self.repair, ..finding }
            }));
        }
        found.extend(self.lost_servers().await?);
        Ok(found)
    }

    /// Counts of servers that have no lease: in no total, and nobody will ever take them back.
    async fn lost_servers(&self) -> Result<Vec<Finding>, Fault> {
        let mut found = Vec::new();
        let mut nodes = kernel::Scan::open(&**self.store, PATIENCE).await?;
        nodes = nodes.matching(format!("{INSTANCES}*"));
        while let Some(keys) = nodes.next(500).await? {
            for key in keys.iter().filter_map(|key| std::str::from_utf8(key).ok()) {
                let Some(server) = key.strip_prefix(INSTANCES) else { continue };
                if self.has_lease(server).await? {
                    continue;
                }
                let mut finding = self.finding(Trouble::Orphan, key, said::NO_LEASE.say());
                if self.repair && !self.has_lease(server).await? {
                    self.call(&["DEL", key]).await?;
                    finding = finding.map(|finding| Finding { repaired: true, ..finding });
                }
                found.extend(finding);
            }
        }
        Ok(found)
    }

    async fn has_lease(&self, server: &str) -> Result<bool, Fault> {
        let leases = self.keys.online_leases();
        let listed = self.call(&["ZRANGEBYSCORE", leases.as_str(), "-inf", "+inf"]).await?;
        let servers = reply::list(&listed).unwrap_or_default();
        Ok(servers.iter().any(|one| reply::text(one) == Some(server)))
    }

    fn finding(&self, trouble: Trouble, key: &str, said: Said) -> Option<Finding> {
        let def: &KeyDef = self.classifier.classify(key.as_bytes())?.def;
        Some(Finding::of(trouble, def, key.as_bytes(), said))
    }

    fn unreadable(&self, key: &str, why: &str) -> Option<Finding> {
        self.finding(Trouble::BadValue, key, said::UNREADABLE.say().with("why", why))
    }

    async fn text(&self, key: &str) -> Result<Option<String>, Fault> {
        Ok(reply::text(&self.call(&["GET", key]).await?).map(str::to_owned))
    }

    async fn call(&self, words: &[&str]) -> Result<kernel::Value, Fault> {
        match self.store.call(&cmd(words), Deadline::after(PATIENCE)).await {
            // Another type than it should be: the check of single keys says so.
            Err(Fault::Refused { code, .. }) if code == "WRONGTYPE" => Ok(kernel::Value::Nil),
            outcome => outcome,
        }
    }
}
