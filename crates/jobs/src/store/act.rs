//! Actions by hand on single jobs and on types: cancel, retry, run now, bury, remove, pause, purge. Each is one
//! step that looks at the state first; an action that the state does not allow is refused with the state.

use kernel::{Script, reply};
use serde::Serialize;

use crate::error::Error;
use crate::model::{Job, Status, check_type};
use crate::scripts::{BURY, CANCEL, PAUSE, REMOVE, REQUEUE, RESUME};
use crate::store::definitions::Fired;
use crate::store::wire::texts;
use crate::store::{Jobs, cmd};

/// Ids in one step of a bulk action.
pub(crate) const BULK: usize = 100;

/// The outcome of cancelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancelled {
    /// The job is over.
    Done,
    /// It runs: its worker was told, and it ends as `failed` when the handler returns.
    Asked,
}

impl Jobs {
    /// Ends a job that has not ended. A running one is asked to stop.
    pub async fn cancel(&self, id: &str) -> Result<Cancelled, Error> {
        let (word, status) = self.end_one(&CANCEL, id).await?;
        match word.as_str() {
            "done" => Ok(Cancelled::Done),
            "asked" => Ok(Cancelled::Asked),
            word => Err(refusal(word, id, &status, "cancelled")),
        }
    }

    /// Puts a waiting, delayed or running job into the dead letters. A running one is taken from its worker.
    pub async fn bury(&self, id: &str) -> Result<(), Error> {
        match self.end_one(&BURY, id).await? {
            (word, _) if word == "done" => Ok(()),
            (word, status) => Err(refusal(&word, id, &status, "buried")),
        }
    }

    /// Removes a job and all that belongs to it, unless it runs.
    pub async fn remove(&self, id: &str) -> Result<(), Error> {
        match self.end_one(&REMOVE, id).await? {
            (word, _) if word == "done" => Ok(()),
            (word, status) => Err(refusal(&word, id, &status, "removed")),
        }
    }

    /// Runs an ended job again, with all its attempts. In a flow, what failed beneath it is run again, too, and comes first.
    pub async fn retry(&self, id: &str) -> Result<Job, Error> {
        self.requeue(id, " dead failed completed ", "retried", |job| Ok(job.with_attempts(0))).await
    }

    /// Runs a delayed job at once, or fires a definition.
    pub async fn run_now(&self, id: &str) -> Result<(), Error> {
        let unchanged = |job: &Job| Ok(job.text().to_owned());
        match self.requeue(id, " delayed ", "run now", unchanged).await {
            Err(Error::WrongState { status, .. }) if status == Status::Cron.word() => {
                match self.fire_now(id).await? {
                    Fired::Fired => Ok(()),
                    _ => Err(refusal("refused", id, "running already", "run now")),
                }
            }
            other => other.map(drop),
        }
    }

    /// Puts one job back into the queue with a changed text, if its state is among `allowed`.
    pub(crate) async fn requeue(
        &self,
        id: &str,
        allowed: &'static str,
        verb: &'static str,
        edit: impl Fn(&Job) -> Result<String, Error> + Send + 'static,
    ) -> Result<Job, Error> {
        let name = id.to_owned();
        let rule = move |jobs: Jobs, old: Option<&str>| {
            let old = old.ok_or_else(|| Error::no_job(&name))?.to_owned();
            let Ok(job) = Job::read(&*name, &*old) else {
                return Err(refusal("refused", &name, "unreadable", verb));
            };
            let (id, new) = (name.clone(), edit(&job)?);
            Ok(async move {
                let beneath = jobs.failed_beneath(&job).await?;
                let mut texts: Vec<(&str, &str, &str)> =
                    beneath.iter().map(|(job, new)| (&*job.id, job.text(), &**new)).collect();
                texts.push((&id, &old, &new));
                let answers = jobs.requeue_many(allowed, &texts).await?;
                match answers.into_iter().last() {
                    Some((word, _)) if word == "done" => {
                        Job::read(&*id, new).map(Some).map_err(|_| Error::no_job(&id))
                    }
                    Some((word, _)) if word == "changed" => Ok(None),
                    Some((word, status)) => Err(refusal(&word, &id, &status, verb)),
                    None => Err(Error::no_job(&id)),
                }
            })
        };
        self.change(id, rule).await
    }

    /// One step for several jobs: id, the text as it was read, the text as it shall be.
    pub(crate) async fn requeue_many(
        &self,
        allowed: &str,
        jobs: &[(&str, &str, &str)],
    ) -> Result<Vec<(String, String)>, Error> {
        let (now, opts) = (self.now_ms().to_string(), self.opts());
        let mut args: Vec<&[u8]> = vec![now.as_bytes(), opts.as_bytes(), allowed.as_bytes()];
        args.extend(jobs.iter().flat_map(|(id, old, new)| [*id, *old, *new].map(str::as_bytes)));
        pairs(&self.script(&REQUEUE, &args, self.by()).await?)
    }

    async fn end_one(&self, script: &'static Script, id: &str) -> Result<(String, String), Error> {
        let answers = self.end_many(script, &[id]).await?;
        answers.into_iter().next().ok_or_else(|| Error::no_job(id))
    }

    /// `cancel`, `bury` or `remove` for several jobs in one step: the word and the state before, each.
    pub(crate) async fn end_many<S: AsRef<str>>(
        &self,
        script: &'static Script,
        ids: &[S],
    ) -> Result<Vec<(String, String)>, Error> {
        let head = self.ending_args();
        let mut args: Vec<&[u8]> = head.iter().map(String::as_bytes).collect();
        args.extend(ids.iter().map(|id| id.as_ref().as_bytes()));
        pairs(&self.script(script, &args, self.by()).await?)
    }

    /// Stops claims of a type (`*` is all types), until a Unix millisecond or for good. Running jobs finish.
    /// `false` when it was so already.
    pub async fn pause(&self, kind: &str, until_ms: Option<u64>) -> Result<bool, Error> {
        if kind != "*" {
            check_type(kind)?;
        }
        let until = until_ms.map(|ms| ms.to_string()).unwrap_or_default();
        self.pause_step(&PAUSE, kind, &until).await
    }

    /// Lets claims of a type go on. `false` when it was not paused.
    pub async fn resume(&self, kind: &str) -> Result<bool, Error> {
        self.pause_step(&RESUME, kind, "").await
    }

    /// Resumes the types whose time has come; the scheduler calls it.
    pub async fn resume_due(&self) -> Result<Vec<String>, Error> {
        let mut due = cmd("ZRANGEBYSCORE", self.space().paused_until.as_str());
        due.arg("-inf").arg(self.now_ms());
        let mut resumed = Vec::new();
        for kind in texts(&self.call(&due).await?) {
            if self.pause_step(&RESUME, &kind, "due").await? {
                resumed.push(kind);
            }
        }
        Ok(resumed)
    }

    async fn pause_step(
        &self,
        script: &'static Script,
        kind: &str,
        when: &str,
    ) -> Result<bool, Error> {
        let (now, opts) = (self.now_ms().to_string(), self.opts());
        let args = [now.as_str(), &opts, kind, when].map(str::as_bytes);
        let reply = self.script(script, &args, self.by()).await?;
        Ok(reply::text(&reply) == Some("changed"))
    }

    /// Removes every waiting, delayed and parked job of a type; says how many.
    pub async fn purge(&self, kind: &str) -> Result<u64, Error> {
        let mut ids = Vec::new();
        for status in [Status::Waiting, Status::Delayed] {
            ids.extend(self.ids_of_type(status, kind).await?);
        }
        let mut removed = 0;
        for chunk in ids.chunks(BULK) {
            let answers = self.end_many(&REMOVE, chunk).await?;
            removed += answers.iter().filter(|(word, _)| word == "done").count() as u64;
        }
        Ok(removed)
    }
}

fn pairs(value: &kernel::Value) -> Result<Vec<(String, String)>, Error> {
    let words = texts(value);
    if !words.len().is_multiple_of(2) {
        return Err(reply::unexpected("jobs", "a word and a state per job", value).into());
    }
    Ok(words.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
}

fn refusal(word: &str, id: &str, status: &str, verb: &'static str) -> Error {
    match word {
        "missing" => Error::no_job(id),
        _ => Error::WrongState { id: id.to_owned(), status: status.to_owned(), verb },
    }
}
