//! Waiting for a job's end, a job's past events, and the events from now on. All read the event
//! stream; without events, waiting asks again and again.

use std::collections::BTreeMap;
use std::time::Duration;

use kernel::events::{Envelope, EventReader, Feed, Filter, Seq};
use kernel::{Deadline, reply};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::model::Status;
use crate::store::read::JobView;
use crate::store::{Jobs, cmd};

/// How often it is asked where no event tells.
const ASK_EVERY: Duration = Duration::from_millis(250);
/// One blocking read; between two of them the state is looked at, for those who write no events.
const LISTEN: Duration = Duration::from_secs(2);

impl Jobs {
    /// Waits until the job has ended, at most that long; then its view, ended or not. A job that is deleted at its end
    /// is told as it was last seen, with its end; as missing, where neither its result nor its events are kept.
    pub async fn wait(&self, id: &str, limit: Duration) -> Result<JobView, Error> {
        let until = Deadline::after(limit);
        let mut listener = None;
        if self.options().events {
            let key = self.space().events.clone();
            listener = Some(self.store().session(key.as_bytes(), self.by()).await?);
        }
        let mut after = self.last_event().await?;
        let mut seen = None;
        loop {
            let Some(view) = self.get(id).await? else {
                return self.ended_and_gone(id, seen).await;
            };
            let status = view.status.as_deref().and_then(|word| word.parse::<Status>().ok());
            if status.is_some_and(Status::is_ended) || until.left().is_zero() {
                return Ok(view);
            }
            seen = Some(view);
            let rest = until.left().min(LISTEN);
            match &mut listener {
                None => tokio::time::sleep(rest.min(ASK_EVERY)).await,
                Some(session) => {
                    let mut read = redis::cmd("XREAD");
                    let block_ms = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX).max(1);
                    read.arg("COUNT").arg(500).arg("BLOCK").arg(block_ms);
                    read.arg("STREAMS").arg(self.space().events.as_str()).arg(after.to_string());
                    let by = Deadline::after(rest + self.options().call_timeout);
                    let value = session.call(&read, by).await?;
                    for entry in entries(&value) {
                        after = after.max(entry);
                    }
                }
            }
        }
    }

    /// How a job ended that was there a moment ago: its result tells, or its last event.
    async fn ended_and_gone(&self, id: &str, seen: Option<JobView>) -> Result<JobView, Error> {
        let Some(seen) = seen else { return Err(Error::no_job(id)) };
        let result = self.result(id).await?.0.and_then(|text| RawValue::from_string(text).ok());
        let success = result.as_ref().and_then(|text| kernel::json::get(text.get(), "success"));
        let completed = if let Some(success) = success {
            success.get() == "true"
        } else {
            let told = self.timeline(id).await?;
            let ended = told.iter().rev().find_map(|event| match event.kind.as_str() {
                "completed" => Some(true),
                "failed" | "cancelled" => Some(false),
                _ => None,
            });
            ended.ok_or_else(|| Error::no_job(id))?
        };
        let status = if completed { Status::Completed } else { Status::Failed };
        Ok(JobView { status: Some(status.to_string()), result, progress: None, lock: None, ..seen })
    }

    async fn last_event(&self) -> Result<Seq, Error> {
        let mut last = cmd("XREVRANGE", self.space().events.as_str());
        last.arg("+").arg("-").arg("COUNT").arg(1);
        let value = self.call(&last).await?;
        let seq = reply::list(&value).and_then(|list| list.first()).and_then(seq_of);
        Ok(seq.unwrap_or(Seq::START))
    }

    /// The events of this namespace from now on that the filter wants; an empty filter wants all.
    pub fn events(&self, filter: Filter) -> EventReader {
        let feed = Feed::one("jobs", self.space().events.as_str(), Some(self.namespace()));
        EventReader::new(self.store().clone(), vec![feed], filter, BTreeMap::new())
    }

    /// The events of a job, the oldest first, as far as the stream goes back.
    pub async fn timeline(&self, id: &str) -> Result<Vec<Envelope>, Error> {
        let mut events = Vec::new();
        let mut from = "-".to_owned();
        loop {
            let mut range = cmd("XRANGE", self.space().events.as_str());
            range.arg(&from).arg("+").arg("COUNT").arg(1_000);
            let value = self.call(&range).await?;
            let list = reply::list(&value).unwrap_or_default();
            for entry in list {
                let (Some(seq), Some(parts)) = (seq_of(entry), reply::list(entry)) else {
                    continue;
                };
                from = format!("({seq}");
                let Some(fields) = parts.get(1) else { continue };
                let event = Envelope::read("jobs", Some(self.namespace()), seq, fields);
                if event.id == id {
                    events.push(event);
                }
            }
            if list.len() < 1_000 {
                return Ok(events);
            }
        }
    }
}

fn seq_of(entry: &kernel::Value) -> Option<Seq> {
    reply::text(reply::list(entry)?.first()?)?.parse().ok()
}

/// The sequences of an `XREAD` reply.
fn entries(value: &kernel::Value) -> Vec<Seq> {
    let streams = reply::pairs(value).unwrap_or_default();
    let lists = streams.into_iter().filter_map(|(_, list)| reply::list(list));
    lists.flatten().filter_map(seq_of).collect()
}
