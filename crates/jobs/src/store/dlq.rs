//! Dead letters: look at them, group them by error, requeue, edit, delete. Bulk actions go from the oldest on, in
//! chunks, because that end of the list is cheap.

use std::collections::BTreeMap;

use kernel::reply;
use serde::Serialize;

use crate::error::{Error, refusal};
use crate::model::{Job, JobResult};
use crate::scripts::{REMOVE, TRIM_DLQ};
use crate::store::act::BULK;
use crate::store::list::{ListQuery, Order, Page};
use crate::store::read::JobView;
use crate::store::wire::texts;
use crate::store::{Jobs, cmd};

/// Which dead letters are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// These.
    Ids(Vec<String>),
    /// The dead letters of a type.
    Type(String),
    /// The dead letters whose last error has this name.
    Error(String),
    /// All of them.
    All,
}

/// Dead letters with the same error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorGroup {
    /// The error's name; `unknown` where the result is gone.
    pub error: String,
    /// The number of dead letters.
    pub count: u64,
    /// Their types, with how many each.
    pub types: BTreeMap<String, u64>,
    /// One message of them.
    pub message: String,
    /// The newest of them.
    pub newest: String,
}

/// A dead letter as far as picking needs it.
struct Letter {
    id: String,
    text: Option<String>,
    kind: String,
    error: String,
    message: String,
}

impl Letter {
    fn is(&self, pick: &Pick) -> bool {
        match pick {
            Pick::Ids(ids) => ids.contains(&self.id),
            Pick::Type(kind) => self.kind == *kind,
            Pick::Error(name) => self.error == *name,
            Pick::All => true,
        }
    }
}

impl Jobs {
    /// Dead letters, the newest first.
    pub async fn dlq(&self, cursor: Option<&str>, limit: usize) -> Result<Page<JobView>, Error> {
        self.list(&ListQuery {
            status: Some(crate::model::Status::Dead),
            cursor: cursor.map(str::to_owned),
            limit,
            order: Order::Place,
            ..Default::default()
        })
        .await
    }

    /// The number of dead letters.
    pub async fn dlq_len(&self) -> Result<u64, Error> {
        let value = self.call(&cmd("LLEN", self.space().deadletter.as_str())).await?;
        Ok(reply::int(&value).and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
    }

    /// All of them by the name of their last error, the largest group first. Looks at `most` letters.
    pub async fn dlq_by_error(&self, most: u64) -> Result<Vec<ErrorGroup>, Error> {
        let mut groups: BTreeMap<String, ErrorGroup> = BTreeMap::new();
        let mut from = 0;
        while from < most {
            let letters = self.letters(from, from + BULK as u64 - 1).await?;
            if letters.is_empty() {
                break;
            }
            from += BULK as u64;
            for letter in letters {
                let group = groups.entry(letter.error.clone()).or_insert_with(|| ErrorGroup {
                    error: letter.error,
                    count: 0,
                    types: BTreeMap::new(),
                    message: letter.message,
                    newest: letter.id,
                });
                group.count += 1;
                *group.types.entry(letter.kind).or_default() += 1;
            }
        }
        let mut groups: Vec<ErrorGroup> = groups.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        Ok(groups)
    }

    /// How many a [`Pick`] means now, so that a bulk action can be asked about first.
    pub async fn dlq_count(&self, pick: &Pick) -> Result<u64, Error> {
        match pick {
            Pick::All => self.dlq_len().await,
            Pick::Ids(ids) => Ok(ids.len() as u64),
            _ => Ok(self.picked(pick).await?.len() as u64),
        }
    }

    /// Puts dead letters back into the queue with all their attempts, in a flow after what failed beneath them; says how many.
    pub async fn dlq_requeue(&self, pick: &Pick) -> Result<u64, Error> {
        let mut done = 0;
        let picked = self.picked(pick).await?;
        for chunk in picked.chunks(BULK) {
            let texts = self.texts_of(chunk).await?;
            let mut jobs: Vec<(Job, String)> = Vec::new();
            for (id, text) in chunk.iter().zip(texts) {
                let Some(text) = text else { continue };
                // A job that nobody can read stays dead.
                let Ok(job) = Job::read(&**id, text) else { continue };
                jobs.extend(self.failed_beneath(&job).await?);
                let new = job.with_attempts(0);
                jobs.push((job, new));
            }
            let borrowed: Vec<(&str, &str, &str)> =
                jobs.iter().map(|(job, new)| (&*job.id, job.text(), new.as_str())).collect();
            let answers = self.requeue_many(" dead failed ", &borrowed).await?;
            done += answers.iter().filter(|(word, _)| word == "done").count() as u64;
        }
        Ok(done)
    }

    /// Gives a dead letter another payload, raw JSON, and puts it back into the queue.
    pub async fn dlq_edit_and_requeue(&self, id: &str, payload: &str) -> Result<Job, Error> {
        let checked = crate::model::NewJob::raw("edit", payload);
        checked.validate(self.options().payload_max)?;
        let payload = crate::model::compact(payload).into_owned();
        self.requeue(id, " dead ", "requeued", move |job| {
            job.with_payload(&payload).map_err(|error| {
                Error::invalid(refusal::INVALID_PAYLOAD, "payload", error.to_string())
            })
        })
        .await
    }

    /// Deletes dead letters and all that belongs to them; says how many.
    pub async fn dlq_delete(&self, pick: &Pick) -> Result<u64, Error> {
        let mut done = 0;
        for chunk in self.picked(pick).await?.chunks(BULK) {
            for (word, _) in self.end_many(&REMOVE, chunk).await? {
                done += u64::from(word == "done");
            }
        }
        Ok(done)
    }

    /// Removes the oldest letters beyond the limit; the scheduler calls it.
    pub async fn trim_dlq(&self) -> Result<u64, Error> {
        if self.options().dlq_max == 0 {
            return Ok(0);
        }
        let (now, opts) = (self.now_ms().to_string(), self.opts());
        let most = self.options().dlq_max.to_string();
        let args = [now.as_str(), &opts, &most, "100"].map(str::as_bytes);
        let reply = self.script(&TRIM_DLQ, &args, self.by()).await?;
        Ok(reply::int(&reply).and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
    }

    /// Ids that are dead letters and picked, the oldest first.
    async fn picked(&self, pick: &Pick) -> Result<Vec<String>, Error> {
        if let Pick::Ids(ids) = pick {
            let gets: Vec<_> = ids.iter().map(|id| cmd("GET", self.space().status(id))).collect();
            let words = self.all(&gets).await?;
            let dead = ids.iter().zip(&words).filter(|(_, word)| reply::text(word) == Some("dead"));
            return Ok(dead.map(|(id, _)| id.clone()).collect());
        }
        let mut ids = Vec::new();
        let mut from = 0;
        loop {
            let letters = self.letters(from, from + BULK as u64 - 1).await?;
            if letters.is_empty() {
                ids.reverse();
                return Ok(ids);
            }
            from += BULK as u64;
            ids.extend(letters.into_iter().filter(|letter| letter.is(pick)).map(|one| one.id));
        }
    }

    async fn letters(&self, from: u64, to: u64) -> Result<Vec<Letter>, Error> {
        let space = self.space();
        let mut range = cmd("LRANGE", space.deadletter.as_str());
        range.arg(from).arg(to);
        let ids = texts(&self.call(&range).await?);
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let stored = self.texts_of(&ids).await?;
        let mut results = redis::cmd("MGET");
        for id in &ids {
            results.arg(space.result(id));
        }
        let results = self.call(&results).await?;
        let results = reply::list(&results).unwrap_or_default();
        let mut letters = Vec::new();
        for (at, (id, text)) in ids.into_iter().zip(stored).enumerate() {
            let kind = text.as_deref().and_then(|text| Job::read(&*id, text).ok());
            let kind = kind.map(|job| job.kind).unwrap_or_default();
            let error = results.get(at).and_then(reply::text).and_then(JobResult::read);
            let (error, message) = error
                .and_then(|result| result.error)
                .map_or_else(|| ("unknown".to_owned(), String::new()), |e| (e.name, e.message));
            letters.push(Letter { id, text, kind, error, message });
        }
        Ok(letters
            .into_iter()
            .filter(|letter| letter.text.is_some() || !letter.id.is_empty())
            .collect())
    }

    /// The stored texts of many jobs, in one trip.
    pub(crate) async fn texts_of<S: AsRef<str>>(
        &self,
        ids: &[S],
    ) -> Result<Vec<Option<String>>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = redis::cmd("MGET");
        for id in ids {
            get.arg(self.space().data(id.as_ref()));
        }
        let values = self.call(&get).await?;
        let values = reply::list(&values).unwrap_or_default();
        Ok(values.iter().map(|value| reply::text(value).map(str::to_owned)).collect())
    }
}
