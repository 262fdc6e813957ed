//! Producers: one job, many in a trip, those that depend on others. Each dispatch is one atomic step: data,
//! status, its place, the event, the wake-up.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, MaybeDone, maybe_done};
use kernel::{Deadline, Value, reply};
use serde::Serialize;

use crate::error::{Error, refusal};
use crate::model::{Job, NewJob, Status};
use crate::scripts::{ENQUEUE, ENQUEUE_DEPENDENT, JOIN_GROUPS};
use crate::store::Jobs;
use crate::store::definitions;
use crate::store::wire::texts;

/// Jobs in one trip, at most.
pub const DISPATCH_MAX: usize = 500;

/// The outcome for each job of a step, by its place in the call.
type Stored = Vec<(usize, Result<Dispatched, Error>)>;
/// A step under way.
type Sent<'a> = Pin<Box<MaybeDone<BoxFuture<'a, Result<Stored, Error>>>>>;

/// A job that was stored.
#[derive(Debug, Clone)]
pub struct Dispatched {
    /// The job as it is stored.
    pub job: Job,
    /// The job's state now.
    pub status: Status,
}

/// One argument list per job, borrowed by the script call.
pub(crate) struct Record {
    job: Job,
    fresh: &'static str,
    place: &'static str,
    score: String,
    digest: String,
    window_ms: String,
    policy: &'static str,
}

impl Record {
    fn of(job: NewJob, now_ms: u64) -> Result<Record, Error> {
        // An id of our own making cannot exist yet, which saves a look.
        let fresh = if job.id.is_none() { "1" } else { "" };
        let id = job.id.clone().unwrap_or_else(new_id);
        let (place, score) = place(&job, now_ms)?;
        let (digest, window_ms, policy) = match &job.unique {
            Some(unique) => (
                unique_digest(&unique.key),
                unique.window.as_millis().to_string(),
                unique.on_conflict.word(),
            ),
            None => Default::default(),
        };
        let score = score.to_string();
        let job = Job::stored(job, id, now_ms).map_err(|malformed| {
            Error::invalid(refusal::INVALID_PAYLOAD, "payload", malformed.to_string())
        })?;
        Ok(Record { job, fresh, place, score, digest, window_ms, policy })
    }

    fn args(&self) -> [&[u8]; 9] {
        [
            self.job.id.as_bytes(),
            self.fresh.as_bytes(),
            self.place.as_bytes(),
            self.score.as_bytes(),
            self.job.text().as_bytes(),
            self.job.kind.as_bytes(),
            self.digest.as_bytes(),
            self.window_ms.as_bytes(),
            self.policy.as_bytes(),
        ]
    }

    /// It was stored and is where it belongs.
    fn done(self) -> Dispatched {
        let status = match self.place {
            "delayed" => Status::Delayed,
            "cron" => Status::Cron,
            _ => Status::Waiting,
        };
        Dispatched { job: self.job, status }
    }
}

/// A new id: UUID v4, lower case, as the seed's programs make them.
pub(crate) fn new_id() -> String {
    // The thread's generator spares a call to the system for each.
    uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string()
}

/// The digest of a uniqueness key, which stands in its Redis key; scripts compute the same.
pub(crate) fn unique_digest(key: &str) -> String {
    use sha1::Digest as _;
    use std::fmt::Write as _;
    sha1::Sha1::digest(key.as_bytes()).iter().fold(String::with_capacity(40), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The structure that a new job goes to, and its score there.
fn place(job: &NewJob, now_ms: u64) -> Result<(&'static str, i64), Error> {
    let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    if let Some(cron) = &job.schedule.cron {
        let next = definitions::parse(cron, job.schedule.timezone.as_deref())?.next_after(now_ms);
        let next = next.ok_or_else(|| {
            Error::invalid(
                refusal::INVALID_CRON,
                "schedule.cron",
                "schedule.cron never fires again",
            )
        })?;
        return Ok(("cron", signed(next)));
    }
    if let Some(at) = job.schedule.run_at {
        return Ok(("delayed", at));
    }
    match job.schedule.delay {
        Some(delay) if delay > 0 => Ok(("delayed", signed(now_ms.saturating_add(delay)))),
        _ if job.priority >= 7 => Ok(("front", 0)),
        _ => Ok(("back", 0)),
    }
}

impl Jobs {
    /// Stores a job and puts it where it belongs.
    pub async fn dispatch(&self, job: NewJob) -> Result<Dispatched, Error> {
        self.dispatch_many(vec![job]).await?.pop().expect("one answer per job")
    }

    /// The same for many, at most [`DISPATCH_MAX`] in a trip, each trip one step. Each job has its own answer; a
    /// fault of the store ends it, and what was stored before stays.
    pub async fn dispatch_many(
        &self,
        mut jobs: Vec<NewJob>,
    ) -> Result<Vec<Result<Dispatched, Error>>, Error> {
        crate::worker::mark(&mut jobs);
        let mut answers = Vec::with_capacity(jobs.len());
        let mut plain: Vec<(usize, Record)> = Vec::new();
        // One step is under way while the next is prepared.
        let mut sent: Option<Sent<'_>> = None;
        for job in jobs {
            let at = answers.len();
            match self.prepare(job) {
                Err(refusal) => answers.push(Err(refusal)),
                Ok(record)
                    if record.job.depends_on.is_empty() && record.job.x.sequence.is_none() =>
                {
                    plain.push((at, record));
                    answers.push(Err(Error::no_job("")));
                }
                Ok(record) => {
                    // A job it depends on may stand before it in this very call.
                    hear(&mut sent, &mut answers).await?;
                    sent = self.send(&mut plain);
                    hear(&mut sent, &mut answers).await?;
                    let stored = Box::pin(self.enqueue_dependent(vec![record])).await;
                    answers.push(stored.map(|mut one| one.pop().expect("one answer per job")));
                }
            }
            if plain.len() == DISPATCH_MAX {
                hear(&mut sent, &mut answers).await?;
                sent = self.send(&mut plain);
                if let Some(sent) = &mut sent {
                    // Once to say it, once more to let it go out.
                    poll_fn(|cx| {
                        let _ = sent.as_mut().poll(cx);
                        Poll::Ready(())
                    })
                    .await;
                    tokio::task::yield_now().await;
                }
            }
        }
        hear(&mut sent, &mut answers).await?;
        sent = self.send(&mut plain);
        hear(&mut sent, &mut answers).await?;
        Ok(answers)
    }

    pub(crate) fn prepare(&self, job: NewJob) -> Result<Record, Error> {
        job.validate(self.options().payload_max)?;
        Record::of(job, self.now_ms())
    }

    /// Enqueues what was gathered, in one step.
    fn send<'a>(&'a self, plain: &mut Vec<(usize, Record)>) -> Option<Sent<'a>> {
        let records = std::mem::take(plain);
        (!records.is_empty()).then(|| Box::pin(maybe_done(self.enqueue(records).boxed())))
    }

    async fn enqueue(&self, records: Vec<(usize, Record)>) -> Result<Stored, Error> {
        let most = self.options().max_waiting;
        let (now, opts) = (self.now_ms().to_string(), self.opts());
        let most_text = most.to_string();
        let mut args: Vec<&[u8]> = Vec::with_capacity(3 + 9 * records.len());
        args.extend([now.as_bytes(), opts.as_bytes(), most_text.as_bytes()]);
        args.extend(records.iter().flat_map(|(_, record)| record.args()));
        let by = Deadline::after(self.options().enqueue_timeout);
        let reply = self.script(&ENQUEUE, &args, by).await?;
        if let Value::Int(waiting) = reply {
            let waiting = u64::try_from(waiting).unwrap_or(0);
            let full = |(at, _)| (at, Err(Error::Full { waiting, max: most }));
            return Ok(records.into_iter().map(full).collect());
        }
        let words = reply::list(&reply).unwrap_or_default();
        if words.len() != records.len() {
            return Err(reply::unexpected("enqueue", "an answer per job", &reply).into());
        }
        let stored = records.into_iter().zip(words).map(|((at, record), word)| {
            let answer = match reply::text(word).unwrap_or_default() {
                "" => Ok(record.done()),
                "exists" => Err(Error::Exists(record.job.id)),
                held => {
                    let existing = held.strip_prefix("held ").unwrap_or(held).to_owned();
                    Err(Error::NotUnique { existing })
                }
            };
            (at, answer)
        });
        let stored: Stored = stored.collect();
        self.join_groups(stored.iter().filter_map(|(_, answer)| answer.as_ref().ok())).await;
        Ok(stored)
    }

    /// Enters stored jobs into the lines of their groups, those that have one. A claim enters what it meets in the
    /// list, so a fault here costs a turn and nothing else.
    async fn join_groups<'a>(&self, stored: impl Iterator<Item = &'a Dispatched> + Send) {
        let waits = stored.filter(|one| one.status == Status::Waiting);
        let named: Vec<(&str, &str)> =
            waits.filter_map(|one| Some((&*one.job.id, one.job.x.group.as_deref()?))).collect();
        if named.is_empty() {
            return;
        }
        let now = self.now_ms().to_string();
        let mut args: Vec<&[u8]> = vec![now.as_bytes()];
        args.extend(named.iter().flat_map(|(id, group)| [id.as_bytes(), group.as_bytes()]));
        if let Err(error) = self.script(&JOIN_GROUPS, &args, self.by()).await {
            tracing::debug!(%error, "jobs did not join the lines of their groups yet");
        }
    }

    /// Jobs that depend on others or follow the last of their sequence, dependencies first. All are stored, or none.
    pub(crate) async fn enqueue_dependent(
        &self,
        records: Vec<Record>,
    ) -> Result<Vec<Dispatched>, Error> {
        let (head, most) = (self.ending_args(), self.options().max_waiting);
        let most_text = most.to_string();
        let mut args: Vec<&[u8]> = head.iter().map(String::as_bytes).collect();
        args.push(most_text.as_bytes());
        for Record { job, digest, window_ms, .. } in &records {
            args.extend([&job.id, job.text(), digest, window_ms].map(str::as_bytes));
        }
        let by = Deadline::after(self.options().enqueue_timeout);
        let reply = self.script(&ENQUEUE_DEPENDENT, &args, by).await?;
        if let Value::Int(waiting) = reply {
            return Err(Error::Full { waiting: u64::try_from(waiting).unwrap_or(0), max: most });
        }
        let words = texts(&reply);
        if let [word, id] = &words[..] {
            match word.as_str() {
                "exists" => return Err(Error::Exists(id.clone())),
                "held" => return Err(Error::NotUnique { existing: id.clone() }),
                "unknown" => {
                    let sentence = format!("there is no job {id}, so nothing can depend on it");
                    return Err(Error::invalid(refusal::UNKNOWN_DEPENDENCY, "dependsOn", sentence));
                }
                _ => {}
            }
        }
        if words.len() != records.len() {
            return Err(reply::unexpected("enqueue_dependent", "a word per job", &reply).into());
        }
        let (mut placed, mut stored) = (Vec::new(), Vec::new());
        for (record, word) in records.into_iter().zip(words) {
            let status = match word.as_str() {
                "failed" => Status::Failed,
                "dead" => Status::Dead,
                "placed" => {
                    placed.push(record.done());
                    continue;
                }
                _ => Status::Waiting,
            };
            stored.push(Dispatched { job: record.job, status });
        }
        self.join_groups(placed.iter()).await;
        stored.extend(placed);
        Ok(stored)
    }
}

/// Waits for the step under way and writes down its answers.
async fn hear(
    sent: &mut Option<Sent<'_>>,
    answers: &mut [Result<Dispatched, Error>],
) -> Result<(), Error> {
    let Some(mut step) = sent.take() else { return Ok(()) };
    step.as_mut().await;
    for (at, answer) in step.as_mut().take_output().expect("it was awaited just now")? {
        answers[at] = answer;
    }
    Ok(())
}

impl Serialize for Dispatched {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.job.with_status(self.status.word()).serialize(serializer)
    }
}
