//! Cron definitions: jobs that fire again and again. A definition is a job whose `schedule` has `cron`; the
//! sorted set `cron` holds when it fires next. Firing and setting the next time are one step.

use std::collections::{HashMap, VecDeque};

use kernel::reply;
use serde::Serialize;

use crate::cron::{Cron, CronError};
use crate::error::{Error, refusal};
use crate::model::options::Catchup;
use crate::model::{Job, NewJob, Status};
use crate::scripts::{FIRE_CRON, PUT_CRON};
use crate::store::{Jobs, cmd};

/// A firing later than this was missed: a leader that dies is followed sooner.
const MISSED_MS: u64 = 60_000;
/// Missed firings that are caught up with.
const CATCHUP_MAX: usize = 100;
/// More missed firings than this are not even counted.
const CATCHUP_LOOK: usize = 100_000;

/// Definitions whose times are looked at in one trip, and in one round.
const CORRECTED: u64 = 500;
const CORRECTED_MAX: u64 = 20_000;

/// Reads an expression; the refusal names its field.
pub(crate) fn parse(expression: &str, timezone: Option<&str>) -> Result<Cron, Error> {
    Cron::parse(expression, timezone).map_err(|error| match error {
        CronError::Timezone(_) => {
            Error::invalid(refusal::INVALID_TIMEZONE, "schedule.timezone", error.to_string())
        }
        _ => Error::invalid(refusal::INVALID_CRON, "schedule.cron", error.to_string()),
    })
}

/// The outcome of firing a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fired {
    /// It is in the queue.
    Fired,
    /// The firing before is not over; this one was counted and dropped.
    Coalesced,
    /// Another scheduler was faster.
    Elsewhere,
    /// The time was no occurrence of the expression and was put right.
    Corrected,
    /// The definition is gone, or cannot be read.
    Gone,
}

/// The treatment of a firing while the one before is not over: `x.overlap` of the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It is dropped.
    #[default]
    Skip,
    /// It queues up.
    Queue,
}

impl Overlap {
    /// The setting of a definition.
    pub fn of(definition: &Job) -> Overlap {
        match definition.x.overlap.as_deref() {
            Some("queue") => Overlap::Queue,
            _ => Overlap::Skip,
        }
    }

    /// As in requests.
    pub const fn word(self) -> &'static str {
        match self {
            Overlap::Skip => "skip",
            Overlap::Queue => "queue",
        }
    }
}

/// A definition and when it fires next.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The definition, a job like any other.
    pub job: Job,
    /// Unix milliseconds of the next firing.
    pub next_at: Option<u64>,
    /// The definition's state: `cron`, or that of the firing under way.
    pub status: Option<Status>,
}

impl Jobs {
    /// Creates a definition or replaces one. The id is the caller's; the answer says whether it was new.
    pub async fn put_cron(&self, job: NewJob) -> Result<(Definition, bool), Error> {
        job.validate(self.options().payload_max)?;
        let Some(expression) = &job.schedule.cron else {
            let sentence = "schedule.cron is missing: say when the definition fires";
            return Err(Error::invalid(refusal::INVALID_CRON, "schedule.cron", sentence));
        };
        let cron = parse(expression, job.schedule.timezone.as_deref())?;
        let now_ms = self.now_ms();
        let next = cron.next_after(now_ms).ok_or_else(|| {
            Error::invalid(
                refusal::INVALID_CRON,
                "schedule.cron",
                "schedule.cron never fires again",
            )
        })?;
        let id = job.id.clone().unwrap_or_else(crate::store::produce::new_id);
        let (text, kind, name) = (job.text(&id, now_ms), job.kind, id.clone());
        let rule = move |jobs: Jobs, old: Option<&str>| {
            let args = [
                now_ms.to_string(),
                jobs.opts(),
                name.clone(),
                old.unwrap_or_default().to_owned(),
                text.clone(),
                next.to_string(),
                kind.clone(),
            ];
            Ok(async move {
                let args = args.each_ref().map(String::as_bytes);
                let reply = jobs.script(&PUT_CRON, &args, jobs.by()).await?;
                match reply::text(&reply) {
                    Some("created") => Ok(Some(true)),
                    Some("replaced") => Ok(Some(false)),
                    Some("changed") => Ok(None),
                    Some("exists") => {
                        Err(Error::Exists(String::from_utf8_lossy(args[2]).into_owned()))
                    }
                    _ => Err(reply::unexpected("put_cron", "a known word", &reply).into()),
                }
            })
        };
        let is_new = self.change(&id, rule).await?;
        Ok((self.definition(&id).await?, is_new))
    }

    /// One definition.
    pub async fn cron(&self, id: &str) -> Result<Option<Definition>, Error> {
        Ok(self.definitions(&[id.to_owned()]).await?.pop())
    }

    async fn definition(&self, id: &str) -> Result<Definition, Error> {
        self.cron(id).await?.ok_or_else(|| Error::Missing { what: "cron", id: id.to_owned() })
    }

    /// Definitions by the time of their next firing, from `offset` on.
    pub async fn crons(&self, offset: u64, limit: u64) -> Result<Vec<Definition>, Error> {
        let mut range = cmd("ZRANGE", self.space().cron.as_str());
        range.arg(offset).arg(offset.saturating_add(limit.max(1)) - 1);
        let ids = crate::store::wire::texts(&self.call(&range).await?);
        self.definitions(&ids).await
    }

    async fn definitions(&self, ids: &[String]) -> Result<Vec<Definition>, Error> {
        let space = self.space();
        let cmds: Vec<_> = ids
            .iter()
            .flat_map(|id| {
                let mut score = cmd("ZSCORE", space.cron.as_str());
                score.arg(id);
                [score, cmd("GET", space.data(id)), cmd("GET", space.status(id))]
            })
            .collect();
        let values = self.all(&cmds).await?;
        let mut found = Vec::new();
        for (id, parts) in ids.iter().zip(values.chunks_exact(3)) {
            let Some(score) = reply::number(&parts[0]) else { continue };
            let Some(text) = reply::text(&parts[1]) else { continue };
            let Ok(job) = Job::read(&**id, text) else { continue };
            let status = reply::text(&parts[2]).and_then(|word| word.parse().ok());
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a time, checked
            let next_at = (0.0..9e15).contains(&score).then_some(score as u64);
            found.push(Definition { job, next_at, status });
        }
        Ok(found)
    }

    /// Removes a definition; a firing that runs now is refused.
    pub async fn remove_cron(&self, id: &str) -> Result<(), Error> {
        self.definition(id).await?;
        self.remove(id).await
    }

    /// Fires a definition now, whatever its time; the next firing stays as it is.
    pub async fn fire_now(&self, id: &str) -> Result<Fired, Error> {
        let name = id.to_owned();
        let rule = move |jobs: Jobs, _: Option<&str>| {
            let id = name.clone();
            Ok(async move {
                let found = jobs.definition(&id).await?;
                let score = found.next_at.unwrap_or(0);
                let overlap = Overlap::of(&found.job);
                let done = jobs.fire(&found.job, score, Some(score), overlap).await?;
                Ok((done != Fired::Elsewhere).then_some(done))
            })
        };
        self.change(id, rule).await
    }

    /// Fires a definition that is due and sets its next time. `score` is the time it was found with.
    pub async fn fire_cron(&self, job: &Job, score: u64, overlap: Overlap) -> Result<Fired, Error> {
        let Some(expression) = &job.schedule.cron else { return Ok(Fired::Gone) };
        let Ok(cron) = parse(expression, job.schedule.timezone.as_deref()) else {
            return Ok(Fired::Gone);
        };
        let now_ms = self.now_ms();
        if score > now_ms {
            // Somebody fired it between the two reads of `due_crons`: this is the time after.
            return Ok(Fired::Elsewhere);
        }
        let catchup = self.options().cron_catchup;
        let next = match catchup {
            Catchup::All => caught_up(&cron, score, now_ms),
            Catchup::None | Catchup::One => cron.next_after(now_ms),
        };
        let dropped = catchup == Catchup::None && now_ms - score > MISSED_MS;
        if dropped || !cron.is_occurrence(score) {
            return self.fire_step(job, score, next, "rescore", "", job.text()).await;
        }
        self.fire(job, score, next, overlap).await
    }

    /// Puts right the times of definitions that are no occurrence of their expressions, before they are due: the
    /// seed's program writes a minute from now, whatever the expression says. `seen` are those that were right; the
    /// scheduler calls it. Says how many were wrong.
    pub(crate) async fn correct_crons(
        &self,
        seen: &mut HashMap<String, u64>,
    ) -> Result<u64, Error> {
        let (mut wrong, mut right, mut offset) = (0, HashMap::new(), 0);
        loop {
            let mut range = cmd("ZRANGE", self.space().cron.as_str());
            range.arg(offset).arg(offset + CORRECTED - 1).arg("WITHSCORES");
            let found = self.call(&range).await?;
            let pairs = reply::pairs(&found).unwrap_or_default();
            let mut unseen = Vec::new();
            for (id, score) in &pairs {
                let (Some(id), Some(score)) = (reply::text(id), reply::number(score)) else {
                    continue;
                };
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a time
                let score = score.max(0.0) as u64;
                if seen.get(id) == Some(&score) {
                    right.insert(id.to_owned(), score);
                } else {
                    unseen.push(id.to_owned());
                }
            }
            for one in self.definitions(&unseen).await? {
                let score = one.next_at.unwrap_or(0);
                if self.correct_cron(&one.job, score).await? {
                    wrong += 1;
                } else {
                    right.insert(one.job.id, score);
                }
            }
            offset += CORRECTED;
            if (pairs.len() as u64) < CORRECTED || offset >= CORRECTED_MAX {
                *seen = right;
                return Ok(wrong);
            }
        }
    }

    /// `true` when the time was wrong; what is due now is judged by the firing.
    async fn correct_cron(&self, job: &Job, score: u64) -> Result<bool, Error> {
        let Some(expression) = &job.schedule.cron else { return Ok(false) };
        let cron = parse(expression, job.schedule.timezone.as_deref());
        let Ok(cron) = cron else { return Ok(false) };
        let now_ms = self.now_ms();
        if score <= now_ms || cron.is_occurrence(score) {
            return Ok(false);
        }
        let next = cron.next_after(now_ms);
        let done = self.fire_step(job, score, next, "rescore", "", job.text()).await?;
        Ok(done == Fired::Corrected)
    }

    async fn fire(
        &self,
        job: &Job,
        score: u64,
        next: Option<u64>,
        overlap: Overlap,
    ) -> Result<Fired, Error> {
        let word = overlap.word();
        if self.options().cron_instances {
            let at = if Some(score) == next { self.now_ms() } else { score };
            let instance = format!("{}:{at}", job.id);
            let text = job.instance(&instance, self.now_ms());
            return self.fire_step(job, score, next, word, &instance, &text).await;
        }
        let text = if job.attempts == 0 { job.text().to_owned() } else { job.with_attempts(0) };
        self.fire_step(job, score, next, word, "", &text).await
    }

    async fn fire_step(
        &self,
        job: &Job,
        score: u64,
        next: Option<u64>,
        overlap: &str,
        instance: &str,
        text: &str,
    ) -> Result<Fired, Error> {
        let (now, opts, score) = (self.now_ms().to_string(), self.opts(), score.to_string());
        let next = next.map(|next| next.to_string()).unwrap_or_default();
        let args: [&str; 10] =
            [&now, &opts, &job.id, &score, &next, job.text(), text, overlap, &job.kind, instance];
        let reply = self.script(&FIRE_CRON, &args.map(str::as_bytes), self.by()).await?;
        match reply::text(&reply) {
            Some("fired") => Ok(Fired::Fired),
            Some("coalesced") => Ok(Fired::Coalesced),
            Some("rescored") => Ok(Fired::Corrected),
            Some("moved" | "changed") => Ok(Fired::Elsewhere),
            Some("gone") => Ok(Fired::Gone),
            _ => Err(reply::unexpected("fire_cron", "a known word", &reply).into()),
        }
    }

    /// Definitions that are due, each with its time, and when the next one is.
    pub async fn due_crons(&self, limit: u64) -> Result<(Vec<(Job, u64)>, Option<u64>), Error> {
        let space = self.space();
        let mut due = cmd("ZRANGEBYSCORE", space.cron.as_str());
        due.arg("-inf").arg(self.now_ms()).arg("LIMIT").arg(0).arg(limit);
        let mut next = cmd("ZRANGE", space.cron.as_str());
        next.arg(0).arg(0).arg("WITHSCORES");
        let values = self.all(&[due, next]).await?;
        let ids = crate::store::wire::texts(&values[0]);
        let found = self.definitions(&ids).await?;
        for id in ids.iter().filter(|id| !found.iter().any(|known| known.job.id == **id)) {
            // Nobody can fire what nobody can read.
            self.drop_unreadable_cron(id).await?;
        }
        // Another scheduler may have fired one between the two readings: its time is a later one now.
        let due = found.into_iter().map(|one| (one.job, one.next_at.unwrap_or(0)));
        let due = due.filter(|(_, at)| *at <= self.now_ms()).collect();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a time, checked
        let next = reply::pairs(&values[1])
            .and_then(|pairs| pairs.first().and_then(|(_, score)| reply::number(score)))
            .map(|score| score.max(0.0) as u64);
        Ok((due, next))
    }

    async fn drop_unreadable_cron(&self, id: &str) -> Result<(), Error> {
        if !self.quarantine(id).await? && self.text_of(id).await?.is_none() {
            let mut gone = cmd("ZREM", self.space().cron.as_str());
            gone.arg(id);
            self.call(&gone).await?;
        }
        Ok(())
    }
}

/// The next firing after `score` when every missed one fires, but for the oldest beyond the limit.
fn caught_up(cron: &Cron, score: u64, now_ms: u64) -> Option<u64> {
    let mut missed = VecDeque::new();
    let mut at = score;
    for _ in 0..CATCHUP_LOOK {
        match cron.next_after(at) {
            Some(next) if next <= now_ms => {
                missed.push_back(next);
                // The one at `score` fires too.
                if missed.len() >= CATCHUP_MAX {
                    missed.pop_front();
                }
                at = next;
            }
            next => return missed.pop_front().or(next),
        }
    }
    cron.next_after(now_ms)
}
