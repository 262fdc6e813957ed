//! Limits on types and groups, set at run time and stored, so that every worker obeys: how many jobs run at once, and how many
//! start in a period that slides. They hold beside the limits that jobs bring themselves.

use std::collections::BTreeMap;

use kernel::keyspace::Key;
use kernel::{Cmd, Said, reply};
use serde::{Deserialize, Serialize};

use crate::error::{Error, refusal};
use crate::model::{check_name, check_type};
use crate::said;
use crate::scripts::LIMIT;
use crate::store::wire::texts;
use crate::store::{Jobs, cmd, cmd_on};

/// Bounds of a limit: jobs at once, starts in a period, milliseconds of a period (30 days).
const MOST: (u64, u64, u64) = (1_000_000, 100_000, 30 * 86_400_000);

/// A limit that was set at run time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limit {
    /// Jobs that run at once, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// Jobs that start in a period, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// The period in milliseconds, a minute unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ms: Option<u64>,
}

impl Limit {
    /// A limit on how many run at once.
    pub fn concurrency(most: u64) -> Limit {
        Limit { concurrency: Some(most), ..Limit::default() }
    }

    /// A limit on how many start in a period of milliseconds.
    pub fn rate(rate: u64, period_ms: u64) -> Limit {
        Limit { rate: Some(rate), period_ms: Some(period_ms), ..Limit::default() }
    }

    /// The stored text; empty for no limit at all.
    pub(crate) fn text(self) -> String {
        if self == Limit::default() {
            return String::new();
        }
        serde_json::to_string(&self).expect("numbers are always JSON")
    }

    /// The limit with its period, or why it cannot be.
    pub(crate) fn checked(self) -> Result<Limit, Error> {
        let bounds = [
            ("concurrency", self.concurrency, MOST.0),
            ("rate", self.rate, MOST.1),
            ("periodMs", self.period_ms, MOST.2),
        ];
        for (field, value, most) in bounds {
            if value.is_some_and(|value| value == 0 || value > most) {
                let why = format!("{field} is a whole number from 1 to {most}");
                return Err(Error::invalid(refusal::INVALID_LIMIT, field, why));
            }
        }
        if self.period_ms.is_some() && self.rate.is_none() {
            let why = "periodMs is the period of a rate; give both";
            return Err(Error::invalid(refusal::INVALID_LIMIT, "rate", why));
        }
        Ok(Limit { period_ms: self.rate.and(self.period_ms.or(Some(60_000))), ..self })
    }
}

/// A group that has jobs in the list, or a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// The group; `*` stands for each that has no limit of its own.
    pub group: String,
    /// Jobs in the waiting list that are known to be of the group.
    pub waiting: u64,
    /// Running, where a limit counts them.
    pub running: u64,
    /// The limit that was set on it.
    pub limit: Option<Limit>,
}

/// Groups that [`Jobs::groups`] tells of, at most: those whose turns are next.
const GROUPS_MAX: i64 = 1_000;

impl Jobs {
    /// Limits a type, or takes its limit away when nothing is limited. Gives the limit as it is now, and whether that
    /// is a change.
    pub async fn limit(&self, kind: &str, limit: Limit) -> Result<(Option<Limit>, bool), Error> {
        check_type(kind)?;
        self.set_limit("", kind, limit).await
    }

    /// The same for a group; `*` is each group that has no limit of its own.
    pub async fn limit_group(
        &self,
        group: &str,
        limit: Limit,
    ) -> Result<(Option<Limit>, bool), Error> {
        if group != "*" {
            check_name("group", group)?;
        }
        self.set_limit("1", group, limit).await
    }

    async fn set_limit(
        &self,
        of_group: &str,
        name: &str,
        limit: Limit,
    ) -> Result<(Option<Limit>, bool), Error> {
        let limit = limit.checked()?;
        let (now, opts, text) = (self.now_ms().to_string(), self.opts(), limit.text());
        let args = [now.as_str(), &opts, of_group, name, &text].map(str::as_bytes);
        let reply = self.script(&LIMIT, &args, self.by()).await?;
        let set = (!text.is_empty()).then_some(limit);
        Ok((set, reply::text(&reply) == Some("changed")))
    }

    /// All limits that are set, by type. One that cannot be read limits nothing and is left out.
    pub async fn limits(&self) -> Result<BTreeMap<String, Limit>, Error> {
        self.read_limits(&self.space().limits).await
    }

    async fn read_limits(&self, key: &Key) -> Result<BTreeMap<String, Limit>, Error> {
        let stored = self.call(&cmd("HGETALL", key.as_str())).await?;
        let pairs = reply::pairs(&stored).unwrap_or_default();
        let read = pairs.into_iter().filter_map(|(name, text)| {
            let limit = serde_json::from_str(reply::text(text)?).ok()?;
            Some((reply::text(name)?.to_owned(), limit))
        });
        Ok(read.collect())
    }

    /// Groups that have jobs in the list or a limit, by name; of those with jobs the first thousand in line.
    pub async fn groups(&self) -> Result<Vec<Group>, Error> {
        let space = self.space();
        let mut limits = self.read_limits(&space.group_limits).await?;
        let mut line = cmd("ZRANGE", space.groups.as_str());
        line.arg(0).arg(GROUPS_MAX - 1);
        let mut names = texts(&self.call(&line).await?);
        names.extend(
            limits.keys().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>(),
        );
        names.sort_unstable();
        let cmds: Vec<Cmd> = names
            .iter()
            .flat_map(|name| {
                [cmd("ZCARD", space.group(name)), cmd("SCARD", space.group_runs(name))]
            })
            .collect();
        let counts = self.all(&cmds).await?;
        let number = |value| reply::int(value).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let groups = names.into_iter().zip(counts.chunks_exact(2)).map(|(group, counts)| {
            let limit = limits.remove(&group);
            Group { waiting: number(&counts[0]), running: number(&counts[1]), limit, group }
        });
        Ok(groups.collect())
    }

    /// How many jobs of a type started in the period of its limit.
    pub(crate) async fn started_in(&self, kind: &str, period_ms: u64) -> Result<u64, Error> {
        self.starts(self.space().rate(kind), period_ms).await
    }

    async fn starts(&self, key: String, period_ms: u64) -> Result<u64, Error> {
        let mut count = cmd("ZCOUNT", key);
        count.arg(format!("({}", self.now_ms().saturating_sub(period_ms))).arg("+inf");
        let started = self.call(&count).await?;
        Ok(reply::int(&started).and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
    }

    /// Why the group of a job stops it now, in words.
    pub(crate) async fn stopped_group(&self, group: &str) -> Result<Option<Said>, Error> {
        let mut limits = self.read_limits(&self.space().group_limits).await?;
        let Some(limit) = limits.remove(group).or_else(|| limits.remove("*")) else {
            return Ok(None);
        };
        let runs = texts(&self.call(&cmd("SMEMBERS", self.space().group_runs(group))).await?);
        let asks: Vec<Cmd> =
            runs.iter().map(|id| cmd_on("SISMEMBER", &self.space().active, id)).collect();
        let running =
            self.all(&asks).await?.iter().filter(|one| reply::int(one) == Some(1)).count();
        if let Some(most) = limit.concurrency.filter(|most| running as u64 >= *most) {
            let full = said::GROUP_FULL.say().with("n", running).with("group", group);
            return Ok(Some(full.with("most", most)));
        }
        let Some(rate) = limit.rate else { return Ok(None) };
        let period_ms = limit.period_ms.unwrap_or(60_000);
        let started = self.starts(self.space().group_rate(group), period_ms).await?;
        let full = said::GROUP_RATE_FULL.say().with("n", started).with("group", group);
        let full = full.with("period_ms", period_ms).with("most", rate);
        Ok((started >= rate).then_some(full))
    }
}
