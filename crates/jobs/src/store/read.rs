//! Readers: one job with all that belongs to it, pages of jobs, counts per type, numbers. They change nothing and
//! look at a bounded number of keys per call.

use kernel::{Cmd, Value, reply};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::Error;
use crate::model::{Job, Status};
use crate::store::wire::texts;
use crate::store::{Jobs, cmd, cmd_on};

/// A lock and how long it lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LockView {
    /// The worker.
    pub owner: String,
    /// Milliseconds left.
    pub ttl_ms: i64,
}

/// A job with all that belongs to it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// The job's id.
    pub id: String,
    /// The stored object, or the stored text where that is no JSON.
    pub job: Box<RawValue>,
    /// The job's state; `None` when no word is stored.
    pub status: Option<String>,
    /// The progress.
    pub progress: Option<Box<RawValue>>,
    /// The result of the last attempt.
    pub result: Option<Box<RawValue>>,
    /// The lock of the worker that runs the job.
    pub lock: Option<LockView>,
    /// How often it was taken back from dead workers.
    pub recoveries: i64,
    /// Unix milliseconds of its claim, while it runs.
    pub claimed_at: Option<i64>,
    /// Unix milliseconds at which it runs or fires, when it is delayed or a definition.
    pub due_at: Option<i64>,
    /// The jobs that a parked job still waits for.
    pub waits_for: Vec<String>,
    /// Whether its cancellation was asked for.
    pub cancelling: bool,
}

impl JobView {
    /// The job, unless nobody can read it.
    pub fn read(&self) -> Option<Job> {
        Job::read(&*self.id, self.job.get()).ok()
    }
}

impl Jobs {
    /// One job, or `None`.
    pub async fn get(&self, id: &str) -> Result<Option<JobView>, Error> {
        Ok(self.views(&[id.to_owned()]).await?.pop())
    }

    /// The result of a job's last attempt as raw JSON, and its state.
    pub async fn result(&self, id: &str) -> Result<(Option<String>, Option<Status>), Error> {
        let space = self.space();
        let cmds = [cmd("GET", space.result(id)), cmd("GET", space.status(id))];
        let values = self.all(&cmds).await?;
        let status = reply::text(&values[1]).and_then(|word| word.parse().ok());
        Ok((reply::text(&values[0]).map(str::to_owned), status))
    }

    /// Many jobs in one trip; those that are gone are left out.
    pub(crate) async fn views(&self, ids: &[String]) -> Result<Vec<JobView>, Error> {
        const PARTS: usize = 12;
        let space = self.space();
        let cmds: Vec<Cmd> = ids
            .iter()
            .flat_map(|id| {
                [
                    cmd("GET", space.data(id)),
                    cmd("GET", space.status(id)),
                    cmd("GET", space.progress(id)),
                    cmd("GET", space.result(id)),
                    cmd("GET", space.lock(id)),
                    cmd("PTTL", space.lock(id)),
                    cmd_on("HGET", &space.recoveries, id),
                    cmd_on("HGET", &space.claimed, id),
                    cmd_on("ZSCORE", &space.delayed, id),
                    cmd_on("ZSCORE", &space.cron, id),
                    cmd_on("SISMEMBER", &space.cancelled, id),
                    cmd("SMEMBERS", space.deps(id)),
                ]
            })
            .collect();
        let values = self.all(&cmds).await?;
        let mut views = Vec::new();
        for (id, parts) in ids.iter().zip(values.chunks_exact(PARTS)) {
            if parts[0] == Value::Nil && parts[1] == Value::Nil {
                continue;
            }
            views.push(view(id, parts));
        }
        Ok(views)
    }
}

#[allow(clippy::cast_possible_truncation)] // a score is a time
pub(crate) fn whole(score: f64) -> i64 {
    score as i64
}

fn view(id: &str, parts: &[Value]) -> JobView {
    let raw = |value: &Value| {
        let text = reply::text(value)?;
        let parsed = serde_json::from_str::<Box<RawValue>>(text);
        Some(parsed.unwrap_or_else(|_| {
            serde_json::value::to_raw_value(text).expect("a string is always JSON")
        }))
    };
    let lock = reply::text(&parts[4]).map(|owner| LockView {
        owner: owner.to_owned(),
        ttl_ms: reply::int(&parts[5]).unwrap_or(-1),
    });
    let due = reply::number(&parts[8]).or_else(|| reply::number(&parts[9]));
    let status = reply::text(&parts[1]).map(str::to_owned);
    let parked = status.as_deref() == Some("waiting");
    JobView {
        id: id.to_owned(),
        job: raw(&parts[0]).unwrap_or_else(|| RawValue::NULL.to_owned()),
        status,
        progress: raw(&parts[2]),
        result: raw(&parts[3]),
        lock,
        recoveries: reply::int(&parts[6]).unwrap_or(0),
        claimed_at: reply::text(&parts[7]).and_then(|text| text.split(' ').next()?.parse().ok()),
        due_at: due.map(whole),
        waits_for: if parked { texts(&parts[11]) } else { Vec::new() },
        cancelling: reply::int(&parts[10]) == Some(1),
    }
}
