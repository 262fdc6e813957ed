//! A stored job: a view over its text. The text is the truth; edits change the members they own and
//! keep every other byte.

use kernel::json::{self, Change};
use serde_json::value::RawValue;

use super::new_job::NewJob;
use super::parts::{Extras, Schedule};
use super::raw::{Object, quote, whole};
use super::rules::{RateLimit, Retry, Target};
use super::text::Written;

/// Why a stored text is no job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("job {id} cannot be read: {reason}")]
pub struct Malformed {
    /// The id it is stored under.
    pub id: String,
    /// The reason.
    pub reason: String,
}

/// A job as it is stored. Members of the wrong type read as absent.
#[derive(Debug, Clone)]
pub struct Job {
    text: String,
    /// The id it is stored under.
    pub id: String,
    /// The job's type, which chooses the handler.
    pub kind: String,
    /// The time to run it.
    pub schedule: Schedule,
    /// The rules after a failure.
    pub retry: Retry,
    /// 1 to 10; 7 and more go to the front.
    pub priority: u8,
    /// Jobs that must complete first.
    pub depends_on: Vec<String>,
    /// Which workers may run it.
    pub target: Target,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Retries that were scheduled so far.
    pub attempts: u32,
    /// Limits it asks for.
    pub rate_limit: Option<RateLimit>,
    /// The members that we add.
    pub x: Extras,
    payload: (usize, usize),
    metadata: (usize, usize),
}

impl Job {
    /// Reads a stored text, or says why nobody can run it.
    pub fn read(id: impl Into<String>, text: impl Into<String>) -> Result<Job, Malformed> {
        let (id, text) = (id.into(), text.into());
        let object = match Object::read(&text) {
            Ok(object) => object,
            Err(error) => return Err(Malformed { id, reason: format!("no JSON: {error}") }),
        };
        let Some(kind) = object.get::<String>("type").filter(|kind| !kind.is_empty()) else {
            return Err(Malformed { id, reason: "its type is missing or no text".to_owned() });
        };
        let span = |name: &str| {
            object.raw(name).map_or((0, 0), |part| {
                let from = part.get().as_ptr() as usize - text.as_ptr() as usize;
                (from, from + part.get().len())
            })
        };
        let priority = object.whole("priority").filter(|number| *number != 0).unwrap_or(5);
        let attempts = object.raw("attempts").and_then(|raw| whole(raw.get())).unwrap_or(0);
        let (payload, metadata) = (span("payload"), span("metadata"));
        Ok(Job {
            schedule: Schedule::read(object.raw("schedule")),
            retry: Retry::read(object.raw("retry")),
            priority: u8::try_from(priority.clamp(1, 10)).unwrap_or(5),
            depends_on: object.words("dependsOn"),
            target: Target::read(object.raw("target")),
            created_at: object.whole("createdAt").unwrap_or(0),
            attempts: u32::try_from(attempts.clamp(0, i64::from(u32::MAX))).unwrap_or(0),
            rate_limit: RateLimit::read(object.raw("rateLimit")),
            x: Extras::read(object.raw("x")),
            payload,
            metadata,
            id,
            kind,
            text,
        })
    }

    /// The stored form of a new job that was checked, as if its text was read.
    pub(crate) fn stored(new: NewJob, id: String, now_ms: u64) -> Result<Job, Malformed> {
        let Written { text, payload, metadata } = new.written(&id, now_ms);
        if !new.is_usual() {
            return Job::read(id, text);
        }
        Ok(Job {
            schedule: Schedule::default(),
            retry: Retry::default(),
            priority: new.stored_priority(),
            depends_on: new.depends_on,
            target: Target::default(),
            created_at: i64::try_from(now_ms).unwrap_or(0),
            attempts: 0,
            rate_limit: None,
            x: Extras::default(),
            payload,
            metadata,
            id,
            kind: new.kind,
            text,
        })
    }

    /// The stored text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The payload as raw JSON; `{}` when the job has none.
    pub fn payload(&self) -> &str {
        self.part(self.payload)
    }

    /// The metadata as raw JSON; `{}` when the job has none.
    pub fn metadata(&self) -> &str {
        self.part(self.metadata)
    }

    /// Whether it goes to the front.
    pub fn is_high(&self) -> bool {
        self.priority >= 7
    }

    /// Whether it is a definition that fires again.
    pub fn is_cron(&self) -> bool {
        self.schedule.cron.is_some()
    }

    fn part(&self, (from, to): (usize, usize)) -> &str {
        if from == to { "{}" } else { &self.text[from..to] }
    }

    /// The text with another number of attempts.
    pub fn with_attempts(&self, attempts: u32) -> String {
        self.edited(&[("attempts", Change::Set(&attempts.to_string()))])
    }

    /// The text with another payload, which must be JSON.
    pub fn with_payload(&self, payload: &str) -> Result<String, json::JsonError> {
        json::edit(&self.text, &[("payload", Change::Set(payload)), ("attempts", Change::Set("0"))])
    }

    /// The text for a retry that must not run on `worker` again: no `target.server`, `worker` in `x.exclude`.
    pub fn rerouted(&self, worker: &str, attempts: u32) -> String {
        let mut exclude = self.x.exclude.clone();
        if !exclude.iter().any(|known| known == worker) {
            exclude.push(worker.to_owned());
        }
        let exclude = serde_json::to_string(&exclude).expect("text is always JSON");
        let x = json::get(&self.text, "x").map_or("{}", RawValue::get);
        let x = json::edit(x, &[("exclude", Change::Set(&exclude))])
            .unwrap_or_else(|_| format!("{{{}:{exclude}}}", quote("exclude")));
        let target = json::get(&self.text, "target").map_or("{}", RawValue::get);
        let target =
            json::edit(target, &[("server", Change::Remove)]).unwrap_or_else(|_| target.to_owned());
        let attempts = attempts.to_string();
        self.edited(&[
            ("target", Change::Set(&target)),
            ("attempts", Change::Set(&attempts)),
            ("x", Change::Set(&x)),
        ])
    }

    /// The text of one firing of this definition: a job of its own, run at once.
    pub(crate) fn instance(&self, id: &str, now_ms: u64) -> String {
        let x = json::get(&self.text, "x").map_or("{}", RawValue::get);
        let parent = quote(&self.id);
        let x = json::edit(x, &[("cronParent", Change::Set(&parent))])
            .unwrap_or_else(|_| format!("{{{}:{parent}}}", quote("cronParent")));
        self.edited(&[
            ("jobId", Change::Set(&quote(id))),
            ("schedule", Change::Set("{}")),
            ("createdAt", Change::Set(&now_ms.to_string())),
            ("attempts", Change::Set("0")),
            ("x", Change::Set(&x)),
        ])
    }

    /// The stored object with one member more, as answers have it.
    pub fn with_status(&self, status: &str) -> Box<RawValue> {
        let text = self.edited(&[("status", Change::Set(&quote(status)))]);
        RawValue::from_string(text).expect("an edited object is JSON")
    }

    fn edited(&self, changes: &[(&str, Change<'_>)]) -> String {
        json::edit(&self.text, changes).expect("a job that was read is an object")
    }
}
