//! Batches: jobs that are counted together, and a job that runs when all of them have ended. The counters are a
//! helper: without them the jobs still run, only the callback does not.

use std::collections::HashMap;

use kernel::reply;
use serde::Serialize;

use crate::error::{Error, refusal};
use crate::model::NewJob;
use crate::store::produce::{Dispatched, new_id};
use crate::store::{Jobs, cmd};

/// Jobs to be counted together.
#[derive(Debug, Clone, Default)]
pub struct NewBatch {
    /// The batch's id; made when absent.
    pub id: Option<String>,
    /// The batch's jobs.
    pub jobs: Vec<NewJob>,
    /// Runs when all of them have ended.
    pub callback: Option<NewJob>,
}

/// How a batch stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// The batch's id.
    pub id: String,
    /// The number of jobs.
    pub total: u64,
    /// The number of jobs that have not ended.
    pub pending: u64,
    /// The number of jobs that completed.
    pub completed: u64,
    /// The number of jobs that failed or are dead.
    pub failed: u64,
    /// Unix milliseconds of its end.
    pub ended_at: Option<u64>,
    /// The id of its callback.
    pub callback_id: Option<String>,
}

impl Jobs {
    /// Dispatches a batch: its id, and an answer per job. A job that is refused is not counted.
    pub async fn dispatch_batch(
        &self,
        batch: NewBatch,
    ) -> Result<(String, Vec<Result<Dispatched, Error>>), Error> {
        let id = batch.id.unwrap_or_else(new_id);
        let mut jobs = batch.jobs;
        if jobs.is_empty() {
            return Err(Error::invalid(
                refusal::INVALID_BATCH,
                "jobs",
                "a batch needs one job or more",
            ));
        }
        for job in &mut jobs {
            job.x.batch = Some(id.clone());
        }
        jobs[0].validate(self.options().payload_max)?;
        self.open_batch(&id, jobs.len(), batch.callback).await?;
        let total = jobs.len();
        let answers = self.dispatch_many(jobs).await;
        let stored = match &answers {
            Ok(answers) => answers.iter().filter(|answer| answer.is_ok()).count(),
            Err(_) => 0,
        };
        if stored < total {
            self.shrink_batch(&id, total - stored).await?;
        }
        Ok((id, answers?))
    }

    async fn open_batch(
        &self,
        id: &str,
        total: usize,
        callback: Option<NewJob>,
    ) -> Result<(), Error> {
        let key = self.space().batch(id);
        let mut fields = vec![("pending", total.to_string())];
        if let Some(job) = callback {
            job.validate(self.options().payload_max)?;
            let callback_id = job.id.clone().unwrap_or_else(new_id);
            fields.push(("callback", job.text(&callback_id, self.now_ms())));
            fields.push(("callbackId", callback_id));
            fields.push(("callbackType", job.kind.clone()));
            fields.push(("callbackHigh", if job.priority >= 7 { "1" } else { "0" }.to_owned()));
        }
        // The one who sets the total owns the id.
        let mut total_once = cmd("HSETNX", &key);
        total_once.arg("total").arg(total);
        if reply::int(&self.call(&total_once).await?) != Some(1) {
            return Err(Error::Exists(id.to_owned()));
        }
        let mut rest = cmd("HSET", &key);
        for (field, value) in fields {
            rest.arg(field).arg(value);
        }
        self.call(&rest).await.map(drop)
    }

    /// Jobs that were refused will never end.
    async fn shrink_batch(&self, id: &str, by: usize) -> Result<(), Error> {
        let by = -i64::try_from(by).unwrap_or(i64::MAX);
        let key = self.space().batch(id);
        let mut cmds = Vec::new();
        for field in ["total", "pending"] {
            let mut less = cmd("HINCRBY", &key);
            less.arg(field).arg(by);
            cmds.push(less);
        }
        self.all(&cmds).await.map(drop)
    }

    /// How a batch stands.
    pub async fn batch(&self, id: &str) -> Result<Option<Batch>, Error> {
        let value = self.call(&cmd("HGETALL", self.space().batch(id))).await?;
        let pairs = reply::pairs(&value).unwrap_or_default();
        let fields: HashMap<&str, &str> = pairs
            .iter()
            .filter_map(|(name, value)| Some((reply::text(name)?, reply::text(value)?)))
            .collect();
        if fields.is_empty() {
            return Ok(None);
        }
        let number = |name: &str| fields.get(name).and_then(|text| text.parse::<i64>().ok());
        let count = |name: &str| number(name).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        Ok(Some(Batch {
            id: id.to_owned(),
            total: count("total"),
            pending: count("pending"),
            completed: count("completed"),
            failed: count("failed"),
            ended_at: number("endedAt").and_then(|n| u64::try_from(n).ok()),
            callback_id: fields.get("callbackId").map(|id| (*id).to_owned()),
        }))
    }
}
