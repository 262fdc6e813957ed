//! Explains why a job is not running: the checks of a claim that fail, for each worker, and the
//! jobs in front of it.

use kernel::{Said, reply};
use serde::Serialize;

use crate::error::Error;
use crate::model::routing::{Facts, Route};
use crate::model::{Job, Status, Worker};
use crate::said;
use crate::store::wire::texts;
use crate::store::{Jobs, cmd};

/// One thing that keeps a job from running, or would not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// `unreadable`, `ended`, `running`, `delayed`, `cron`, `parked`, `paused`, `concurrent`, `drifted`, `minute`, `rate`, `group`,
    /// `locked`, `no_worker`, `lost`, `behind`.
    pub code: &'static str,
    /// Whether it stops the job.
    pub stops: bool,
    /// In English.
    pub sentence: String,
    /// The same for pages.
    pub said: Said,
}

/// Whether one worker may run the job, and if not, why.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerVerdict {
    /// The worker.
    pub server_id: String,
    /// Whether it is alive.
    pub alive: bool,
    /// Whether it may run the job.
    pub may: bool,
    /// Each check that fails.
    pub why_not: Vec<crate::model::routing::Miss>,
}

/// The explanation of one job.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The job.
    pub id: String,
    /// The job's state.
    pub status: Option<String>,
    /// The first sentence that matters, in English.
    pub summary: String,
    /// The same for pages.
    pub said: Said,
    /// Everything found.
    pub reasons: Vec<Reason>,
    /// The job's place in the waiting list, from 0.
    pub position: Option<u64>,
    /// Each registered worker.
    pub workers: Vec<WorkerVerdict>,
}

impl Jobs {
    /// Why this job is not running.
    pub async fn explain(&self, id: &str) -> Result<Explanation, Error> {
        let view = self.get(id).await?.ok_or_else(|| Error::no_job(id))?;
        let mut found = Explanation {
            id: id.to_owned(),
            status: view.status.clone(),
            summary: String::new(),
            said: said::NOTHING_STOPS.say(),
            reasons: Vec::new(),
            position: None,
            workers: Vec::new(),
        };
        let status = view.status.as_deref().and_then(|word| word.parse::<Status>().ok());
        match view.read() {
            None => found.add("unreadable", true, said::UNREADABLE.say()),
            Some(job) => {
                self.explain_state(&view, status, &mut found).await?;
                if !status.is_some_and(Status::is_ended) {
                    self.explain_limits(&job, &mut found).await?;
                    let workers = self.workers().await?;
                    judge(&job, &workers, &mut found);
                }
            }
        }
        let first = found.reasons.iter().find(|reason| reason.stops).or(found.reasons.first());
        if let Some(first) = first {
            found.said = first.said.clone();
        }
        found.summary = found.said.sentence();
        Ok(found)
    }

    async fn explain_state(
        &self,
        view: &crate::store::read::JobView,
        status: Option<Status>,
        found: &mut Explanation,
    ) -> Result<(), Error> {
        let now = i64::try_from(self.now_ms()).unwrap_or(i64::MAX);
        if let Some(lock) = &view.lock {
            let running = status == Some(Status::Active);
            let held = said::HELD.say().with("worker", lock.owner.as_str());
            let held = held.with("left_ms", lock.ttl_ms);
            found.add(if running { "running" } else { "locked" }, !running, held);
        }
        match status {
            Some(Status::Delayed) => {
                let wait = view.due_at.unwrap_or(now) - now;
                let delayed = said::DELAYED.say().with("left_ms", wait);
                found.add("delayed", true, if wait > 0 { delayed } else { said::DUE.say() });
            }
            Some(Status::Cron) => {
                found.add("cron", true, said::DEFINITION.say());
            }
            Some(status) if status.is_ended() => {
                found.add("ended", true, said::OVER.say().with("status", status.to_string()));
            }
            Some(Status::Waiting) if !view.waits_for.is_empty() => {
                let waits = self.waits_with_states(&view.waits_for).await?;
                found.add("parked", true, said::PARKED.say().with("jobs", waits));
            }
            Some(Status::Waiting) | None => {
                let mut pos = cmd("LPOS", self.space().waiting.as_str());
                pos.arg(&view.id);
                let at = reply::int(&self.call(&pos).await?);
                found.position = at.and_then(|at| u64::try_from(at).ok());
                match found.position {
                    Some(0) => {}
                    Some(n) => found.add("behind", false, said::BEHIND.say().with("n", n)),
                    None => found.add("lost", true, said::LOST.say()),
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ids of jobs; one that failed says so, because somebody has to retry or remove it.
    async fn waits_with_states(&self, ids: &[String]) -> Result<String, Error> {
        let gets: Vec<_> = ids.iter().map(|id| cmd("GET", self.space().status(id))).collect();
        let states = self.all(&gets).await?;
        let shown = ids.iter().zip(&states).map(|(id, state)| match reply::text(state) {
            Some(state @ ("failed" | "dead")) => format!("{id} ({state})"),
            _ => id.clone(),
        });
        Ok(shown.collect::<Vec<_>>().join(", "))
    }

    async fn explain_limits(&self, job: &Job, found: &mut Explanation) -> Result<(), Error> {
        let space = self.space();
        let cmds = [
            cmd("SMEMBERS", space.paused.as_str()),
            cmd("GET", space.concurrent(&job.kind)),
            cmd("GET", space.minute(&job.kind)),
            cmd("PTTL", space.minute(&job.kind)),
        ];
        let values = self.all(&cmds).await?;
        let paused = texts(&values[0]);
        if let Some(kind) = paused.iter().find(|kind| **kind == job.kind || *kind == "*") {
            found.add("paused", true, said::PAUSED.say().with("type", kind.as_str()));
        }
        if found.status.as_deref() == Some("active") {
            return Ok(());
        }
        self.explain_set_limit(&job.kind, found).await?;
        if let Some(group) = &job.x.group
            && let Some(stopped) = self.stopped_group(group).await?
        {
            found.add("group", true, stopped);
        }
        let limit = job.rate_limit.unwrap_or_default();
        let number = |at: usize| reply::int(&values[at]).unwrap_or(0);
        let most = |max: Option<u64>| max.and_then(|max| i64::try_from(max).ok());
        if let Some(most) = most(limit.max_concurrent) {
            self.explain_concurrent(&job.kind, most, number(1), found).await?;
        }
        if let Some(most) = most(limit.max_per_minute).filter(|most| number(2) >= *most) {
            let full = said::MINUTE_FULL.say().with("n", number(2)).with("most", most);
            found.add("minute", true, full.with("left_ms", number(3)));
        }
        Ok(())
    }

    /// The limit that was set on the type.
    async fn explain_set_limit(&self, kind: &str, found: &mut Explanation) -> Result<(), Error> {
        let Some(limit) = self.limits().await?.remove(kind) else { return Ok(()) };
        if let Some(most) = limit.concurrency.and_then(|most| i64::try_from(most).ok()) {
            let counter = self.call(&cmd("GET", self.space().concurrent(kind))).await?;
            self.explain_concurrent(kind, most, reply::int(&counter).unwrap_or(0), found).await?;
        }
        let Some(rate) = limit.rate else { return Ok(()) };
        let period_ms = limit.period_ms.unwrap_or(60_000);
        let started = self.started_in(kind, period_ms).await?;
        if started >= rate {
            let full = said::RATE_FULL.say().with("n", started).with("most", rate);
            found.add("rate", true, full.with("period_ms", period_ms));
        }
        Ok(())
    }

    /// A claim goes by the counter. The jobs that really run are counted beside it, so that a
    /// counter that drifted is told apart from a limit that is reached.
    async fn explain_concurrent(
        &self,
        kind: &str,
        most: i64,
        counter: i64,
        found: &mut Explanation,
    ) -> Result<(), Error> {
        let compared = self.compare_counters(&[], &[kind.to_owned()]).await?;
        let drifted = compared.into_iter().find(|one| one.kind == kind);
        let runs = drifted.as_ref().map_or(counter, |one| one.active);
        if runs >= most && counter >= most {
            found.add("concurrent", true, said::FULL.say().with("n", runs).with("most", most));
        }
        if drifted.is_some() {
            let drifted = said::DRIFTED.say().with("counter", counter).with("n", runs);
            let drifted = drifted.with("most", most);
            found.add("drifted", counter >= most && runs < most, drifted);
        }
        Ok(())
    }
}

impl Explanation {
    fn add(&mut self, code: &'static str, stops: bool, said: Said) {
        self.reasons.push(Reason { code, stops, sentence: said.sentence(), said });
    }
}

/// Adds each worker's verdict on the job.
fn judge(job: &Job, workers: &[Worker], found: &mut Explanation) {
    let route = Route::of_job(job.text());
    for worker in workers {
        let why_not = route.misses(&Facts::from(worker));
        found.workers.push(WorkerVerdict {
            server_id: worker.server_id.clone(),
            alive: worker.alive,
            may: why_not.is_empty(),
            why_not,
        });
    }
    let alive = found.workers.iter().filter(|one| one.alive).count();
    if alive == 0 {
        found.add("no_worker", true, said::NO_WORKER.say());
    } else if !found.workers.iter().any(|one| one.alive && one.may) {
        found.add("no_worker", true, said::NONE_MAY.say().with("n", alive));
    }
}
