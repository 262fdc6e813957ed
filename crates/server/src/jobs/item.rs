//! A job as lists and pages show it: the facts, and the one sentence that matters now.

use jobs::{Job, JobResult, JobView};
use serde::Serialize;
use serde_json::value::RawValue;

use super::show::View;

/// Runs used of runs allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct Tries {
    used: u32,
    allowed: u32,
}

/// Why the last attempt failed.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub(crate) struct Why {
    pub(crate) name: String,
    /// Only for those who may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// One row.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobItem {
    job_id: String,
    /// Null when nobody can read the job.
    r#type: Option<String>,
    status: String,
    priority: u8,
    created_at: i64,
    tries: Tries,
    /// The one sentence that matters now.
    now: String,
    /// Unix milliseconds at which it runs or fires.
    run_at: Option<i64>,
    /// Unix milliseconds since when it runs.
    claimed_at: Option<i64>,
    /// Unix milliseconds of the end of the last attempt.
    ended_at: Option<i64>,
    /// Milliseconds of the last attempt in the handler.
    took_ms: Option<i64>,
    worker: Option<String>,
    #[schema(value_type = Option<Object>)]
    progress: Option<Box<RawValue>>,
    error: Option<Why>,
    waits_for: Vec<String>,
}

/// Ends that no handler caused.
const NOT_RUN: &[&str] =
    &["Buried", "JobCancelled", "DependencyFailed", "MalformedJob", "JobExpired"];

/// The stored values that everything about a job is derived from.
pub(crate) struct Facts {
    job: Option<Job>,
    result: Option<JobResult>,
    pub(crate) status: String,
}

impl Facts {
    pub(crate) fn of(found: &JobView) -> Facts {
        Facts {
            job: found.read(),
            result: found.result.as_ref().and_then(|raw| JobResult::read(raw.get())),
            status: found.status.clone().unwrap_or_else(|| "unknown".into()),
        }
    }

    pub(crate) fn tries(&self) -> Tries {
        let Some(job) = &self.job else { return Tries { used: 0, allowed: 0 } };
        let error = self.result.as_ref().and_then(|result| result.error.as_ref());
        let ran = !error.is_some_and(|error| NOT_RUN.contains(&error.name.as_str()));
        let last = match self.status.as_str() {
            "active" | "completed" => 1,
            "dead" | "failed" => u32::from(ran),
            _ => 0,
        };
        Tries { used: job.attempts + last, allowed: job.retry.attempts.saturating_add(1) }
    }

    pub(crate) fn why(&self, view: &View) -> Option<Why> {
        let error = self.result.as_ref()?.error.as_ref()?;
        Some(Why {
            name: error.name.clone(),
            message: view.message(&error.message).map(str::to_owned),
        })
    }

    /// The one sentence that matters now.
    pub(crate) fn now(&self, found: &JobView, view: &View, now_ms: i64) -> String {
        let error = self.why(view).map(|why| match why.message {
            Some(message) if !message.is_empty() => format!("{}: {}", why.name, line(&message)),
            _ => why.name,
        });
        if self.job.is_none() {
            return "nobody can read it".into();
        }
        match self.status.as_str() {
            "waiting" if !found.waits_for.is_empty() => match found.waits_for.len() {
                1 => format!("waits for {}", found.waits_for[0]),
                n => format!("waits for {n} other jobs"),
            },
            "waiting" => match (&error, self.tries().used) {
                (Some(error), used) if used > 0 => format!("waits again after {error}"),
                _ => "waits for a worker".into(),
            },
            "active" => {
                let on =
                    found.lock.as_ref().map_or("an unknown worker", |lock| lock.owner.as_str());
                let asked = if found.cancelling { ", asked to stop" } else { "" };
                match percent(found) {
                    Some(percent) => format!("{percent} % on {on}{asked}"),
                    None => match found.claimed_at {
                        Some(at) => {
                            format!("runs on {on} for {}{asked}", kernel::said::span(now_ms - at))
                        }
                        None => format!("runs on {on}{asked}"),
                    },
                }
            }
            "delayed" => {
                let when = found.due_at.map_or_else(|| "later".into(), |at| until(at - now_ms));
                match error {
                    Some(error) if self.tries().used > 0 => format!("{error}; again {when}"),
                    _ => format!("runs {when}"),
                }
            }
            "cron" => found.due_at.map_or_else(
                || "never fires again".into(),
                |at| format!("fires {}", until(at - now_ms)),
            ),
            "completed" => match &self.result {
                Some(result) => format!("took {}", kernel::said::span(result.processing_time)),
                None => "completed".into(),
            },
            _ => error.unwrap_or_else(|| self.status.clone()),
        }
    }

    pub(crate) fn item(&self, found: &JobView, view: &View, now_ms: u64) -> JobItem {
        let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
        JobItem {
            job_id: found.id.clone(),
            r#type: self.job.as_ref().map(|job| job.kind.clone()),
            priority: self.job.as_ref().map_or(5, |job| job.priority),
            created_at: self.job.as_ref().map_or(0, |job| job.created_at),
            tries: self.tries(),
            now: self.now(found, view, now_ms),
            run_at: found.due_at,
            claimed_at: found.claimed_at,
            ended_at: self.result.as_ref().map(|result| result.completed_at),
            took_ms: self.result.as_ref().map(|result| result.processing_time),
            worker: found.lock.as_ref().map(|lock| lock.owner.clone()),
            progress: found.progress.as_ref().map(|raw| view.progress(raw.get())),
            error: self.why(view),
            waits_for: found.waits_for.clone(),
            status: self.status.clone(),
        }
    }
}

fn percent(found: &JobView) -> Option<String> {
    let progress: serde_json::Value = serde_json::from_str(found.progress.as_ref()?.get()).ok()?;
    Some(format!("{:.0}", progress["percent"].as_f64()?))
}

/// A message in one line.
fn line(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    if first.chars().count() <= 120 {
        return first.to_owned();
    }
    first.chars().take(119).chain(['…']).collect()
}

fn until(ms: i64) -> String {
    if ms <= 0 { "now".into() } else { format!("in {}", kernel::said::span(ms)) }
}
