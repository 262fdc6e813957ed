//! Numbers: of a namespace, of its types, of the last days.

use std::collections::BTreeMap;

use kernel::{Cmd, Value, reply};
use serde::Serialize;

use crate::error::Error;
use crate::model::{Job, Status};
use crate::store::limits::Limit;
use crate::store::read::whole;
use crate::store::wire::texts;
use crate::store::{Jobs, cmd};

/// Waiting jobs that [`Jobs::queues`] looks at; beyond, counts are of the first ones.
const QUEUES_MAX: u64 = 10_000;

/// The numbers of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// In the waiting list.
    pub waiting: u64,
    /// Running.
    pub active: u64,
    /// For later.
    pub delayed: u64,
    /// Definitions.
    pub cron: u64,
    /// Dead letters.
    pub dead: u64,
    /// Workers alive.
    pub workers: u64,
}

/// One type of jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Waiting, among those looked at.
    pub waiting: u64,
    /// Running, by its counter.
    pub running: u64,
    /// For later, among those looked at.
    pub delayed: u64,
    /// Claimed in this minute, where a limit counts them.
    pub this_minute: u64,
    /// Whether claims are stopped.
    pub paused: bool,
    /// Unix milliseconds until which.
    pub paused_until: Option<i64>,
    /// The smallest limit that a waiting job asks for.
    pub max_concurrent: Option<u64>,
    /// The same, per minute.
    pub max_per_minute: Option<u64>,
    /// The limit that was set on the type.
    pub limit: Option<Limit>,
    /// Started in the period of that limit.
    pub this_period: u64,
}

/// The types, and whether all jobs were looked at.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Queues {
    /// By name.
    pub items: Vec<Queue>,
    /// `false` when only the first waiting and delayed jobs were counted.
    pub exact: bool,
}

impl Jobs {
    /// The numbers of this namespace, as the seed's programs tell them.
    pub async fn stats(&self) -> Result<Stats, Error> {
        let space = self.space();
        let cmds = [
            cmd("LLEN", space.waiting.as_str()),
            cmd("SCARD", space.active.as_str()),
            cmd("ZCARD", space.delayed.as_str()),
            cmd("ZCARD", space.cron.as_str()),
            cmd("LLEN", space.deadletter.as_str()),
        ];
        let values = self.all(&cmds).await?;
        let count =
            |at: usize| reply::int(&values[at]).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let workers = self.workers().await?.iter().filter(|worker| worker.alive).count() as u64;
        Ok(Stats {
            waiting: count(0),
            active: count(1),
            delayed: count(2),
            cron: count(3),
            dead: count(4),
            workers,
        })
    }

    /// Outcomes per type on the last `days` days, today first: field `<type>:<outcome>`.
    pub async fn daily(&self, days: u32) -> Result<Vec<(String, BTreeMap<String, u64>)>, Error> {
        let now_ms = self.now_ms();
        let names: Vec<String> = (0..u64::from(days.clamp(1, 90)))
            .map(|back| crate::store::counts::day(now_ms.saturating_sub(back * 86_400_000)))
            .collect();
        let cmds: Vec<Cmd> =
            names.iter().map(|day| cmd("HGETALL", self.space().stats(day))).collect();
        let values = self.all(&cmds).await?;
        let read = |value: &Value| {
            let pairs = reply::pairs(value).unwrap_or_default();
            pairs
                .iter()
                .filter_map(|(field, count)| {
                    Some((reply::text(field)?.to_owned(), u64::try_from(reply::int(count)?).ok()?))
                })
                .collect()
        };
        Ok(names.into_iter().zip(values.iter().map(read)).collect())
    }

    /// The types that have jobs, counters, a limit, a pause or outcomes of today, with their counts.
    pub async fn queues(&self) -> Result<Queues, Error> {
        let mut queues: BTreeMap<String, Queue> = BTreeMap::new();
        let mut exact = true;
        for (status, list) in [(Status::Waiting, true), (Status::Delayed, false)] {
            let mut from = 0;
            loop {
                let ids = self.stretch(status, from, 500).await?;
                from += ids.len() as u64;
                for job in self
                    .texts_of(&ids)
                    .await?
                    .iter()
                    .zip(&ids)
                    .filter_map(|(text, id)| Job::read(&**id, text.as_deref()?).ok())
                {
                    let queue = queues.entry(job.kind.clone()).or_default();
                    *(if list { &mut queue.waiting } else { &mut queue.delayed }) += 1;
                    let limit = job.rate_limit.unwrap_or_default();
                    queue.max_concurrent = least(queue.max_concurrent, limit.max_concurrent);
                    queue.max_per_minute = least(queue.max_per_minute, limit.max_per_minute);
                }
                if ids.len() < 500 {
                    break;
                }
                if from >= QUEUES_MAX {
                    exact = false;
                    break;
                }
            }
        }
        let space = self.space();
        let mut until = cmd("ZRANGE", space.paused_until.as_str());
        until.arg(0).arg(-1).arg("WITHSCORES");
        let today = cmd("HKEYS", space.stats(&crate::store::counts::day(self.now_ms())));
        let values = self.all(&[cmd("SMEMBERS", space.paused.as_str()), until, today]).await?;
        for kind in texts(&values[2]) {
            if let Some((kind, _)) = kind.rsplit_once(':') {
                queues.entry(kind.to_owned()).or_default();
            }
        }
        for (kind, limit) in self.limits().await? {
            let queue = queues.entry(kind.clone()).or_default();
            queue.limit = Some(limit);
            if limit.rate.is_some() {
                let period_ms = limit.period_ms.unwrap_or(60_000);
                queue.this_period = self.started_in(&kind, period_ms).await?;
            }
        }
        let paused = texts(&values[0]);
        for kind in &paused {
            queues.entry(kind.clone()).or_default();
        }
        let kinds: Vec<String> = queues.keys().cloned().collect();
        let cmds: Vec<Cmd> = kinds
            .iter()
            .flat_map(|kind| [cmd("GET", space.concurrent(kind)), cmd("GET", space.minute(kind))])
            .collect();
        let counters = self.all(&cmds).await?;
        let number = |value: &Value| reply::int(value).and_then(|n| u64::try_from(n).ok());
        for ((kind, queue), parts) in queues.iter_mut().zip(counters.chunks_exact(2)) {
            queue.kind.clone_from(kind);
            queue.running = number(&parts[0]).unwrap_or(0);
            queue.this_minute = number(&parts[1]).unwrap_or(0);
            queue.paused = paused.contains(kind) || paused.iter().any(|all| all == "*");
        }
        for (kind, score) in reply::pairs(&values[1]).unwrap_or_default() {
            if let Some(queue) = reply::text(kind).and_then(|kind| queues.get_mut(kind)) {
                queue.paused_until = reply::number(score).map(whole);
            }
        }
        Ok(Queues { items: queues.into_values().collect(), exact })
    }
}

fn least(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
}
