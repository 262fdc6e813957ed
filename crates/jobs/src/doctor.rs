//! The doctor finds faults of a namespace beyond single keys: states that no structure confirms or
//! that one contradicts, jobs nobody can read, counters that leaked, parked jobs that wait for
//! nothing. It is the jobs part of `worldkeep check`. The queue is in use meanwhile, so each
//! suspect is looked at twice, and each repair is a step that judges once more.

mod places;

use std::collections::HashSet;

use kernel::check::{Finding, Trouble};
use kernel::keyspace::KeyDef;
use kernel::{Effects as _, Said, Step, reply};

use crate::error::Error;
use crate::keys::def;
use crate::model::{Job, Status};
use crate::said;
use crate::scripts::RECHECK_DEPENDENCIES;
use crate::store::index::Known;
use crate::store::wire::scanned;
use crate::store::{Jobs, cmd};

/// Ids in one trip.
const TRIP: u64 = 1_000;
/// Keys that one stretch of SCAN looks at.
const STATES: usize = 5_000;
/// Texts of jobs in one trip.
const TEXTS: usize = 250;

/// One examination under way.
struct Visit<'a> {
    jobs: &'a Jobs,
    repair: bool,
    found: Vec<Finding>,
    /// The waiting and the dead jobs at the beginning: a place in a list is dear to find.
    waiting: HashSet<String>,
    dead: HashSet<String>,
}

impl Jobs {
    /// Examines the namespace and tells what is wrong; repairs it when asked to.
    pub async fn doctor(&self, repair: bool) -> Result<Vec<Finding>, Error> {
        let (waiting, dead) =
            (self.ids_of(Status::Waiting).await?, self.ids_of(Status::Dead).await?);
        let (waiting, dead) = (HashSet::from_iter(waiting), HashSet::from_iter(dead));
        let mut visit = Visit { jobs: self, repair, found: Vec::new(), waiting, dead };
        visit.index().await?;
        visit.states().await?;
        for place in ["waiting", "delayed", "dead", "active", "parked"] {
            visit.place(place).await?;
        }
        visit.counters().await?;
        Ok(visit.found)
    }

    /// Looks again at every parked job whose dependencies may have ended unheard; the scheduler calls it. Says how
    /// many go on.
    pub async fn sweep_parked(&self) -> Result<u64, Error> {
        let mut freed = 0;
        for id in self.members_of("parked").await? {
            freed += u64::from(self.recheck_dependencies(&id).await? != "waiting");
        }
        Ok(freed)
    }

    async fn recheck_dependencies(&self, id: &str) -> Result<String, Error> {
        let head = self.ending_args();
        let args: Vec<&[u8]> =
            head.iter().map(String::as_bytes).chain(std::iter::once(id.as_bytes())).collect();
        let reply = self.script(&RECHECK_DEPENDENCIES, &args, self.by()).await?;
        Ok(reply::text(&reply).unwrap_or_default().to_owned())
    }

    /// Every id of a structure that has an order.
    async fn ids_of(&self, status: Status) -> Result<Vec<String>, Error> {
        let (mut all, mut from) = (Vec::new(), 0);
        loop {
            let part = self.stretch(status, from, TRIP).await?;
            from += TRIP;
            let last = (part.len() as u64) < TRIP;
            all.extend(part);
            if last {
                return Ok(all);
            }
        }
    }

    /// Every id of a set.
    async fn members_of(&self, place: &str) -> Result<Vec<String>, Error> {
        let space = self.space();
        let key = if place == "parked" { &space.parked } else { &space.active };
        let (mut all, mut cursor) = (Vec::new(), b"0".to_vec());
        loop {
            let mut scan = cmd("SSCAN", key.as_str());
            scan.arg(&cursor).arg("COUNT").arg(TRIP);
            let (next, ids) = scanned(&self.call(&scan).await?);
            all.extend(ids);
            cursor = next;
            if cursor == b"0" {
                return Ok(all);
            }
        }
    }

    /// Notes that are no fault: programs that take jobs without leases.
    pub async fn doctor_notes(&self) -> Result<Vec<Said>, Error> {
        let foreign = self.workers().await?.into_iter().filter(|one| one.version.is_none());
        let foreign: Vec<String> = foreign.map(|one| one.server_id).collect();
        let space = self.space();
        let counts = [cmd("SCARD", space.active.as_str()), cmd("HLEN", space.claimed.as_str())];
        let counts = self.all(&counts).await?;
        let number = |at: usize| reply::int(&counts[at]).unwrap_or(0);
        let mut notes = Vec::new();
        if !foreign.is_empty() && number(0) > number(1) {
            let note = said::NOTE_NO_LEASE.say().with("bare", number(0) - number(1));
            notes.push(note.with("active", number(0)).with("workers", foreign.join(", ")));
        }
        Ok(notes)
    }
}

impl Visit<'_> {
    fn add(&mut self, trouble: Trouble, def: &KeyDef, key: &str, said: Said, repaired: bool) {
        let finding = Finding::of(trouble, def, key.as_bytes(), said);
        self.found.push(Finding { repaired, ..finding });
    }

    /// Each job: is it in the index of lists?
    async fn index(&mut self) -> Result<(), Error> {
        let (jobs, mut known) = (self.jobs, Known::default());
        let (mut all, mut lacking) = (Vec::new(), Vec::new());
        jobs.learn_index(&mut known, usize::MAX).await?;
        let mut cursor = Vec::new();
        loop {
            let (ids, next) = jobs.scan_states(&cursor, STATES).await?;
            lacking.extend(ids.iter().filter(|id| !known.has(id)).cloned());
            if self.repair {
                all.extend(ids);
            }
            cursor = next;
            if cursor.is_empty() {
                break;
            }
        }
        // Jobs that were dispatched meanwhile have entered themselves; those without data cannot be listed.
        jobs.learn_index(&mut known, usize::MAX).await?;
        lacking.retain(|id| !known.has(id));
        let mut found = Vec::new();
        for chunk in lacking.chunks(TEXTS) {
            let texts = jobs.texts_of(chunk).await?;
            found.extend(
                chunk.iter().zip(texts).filter(|(_, text)| text.is_some()).map(|(id, _)| id),
            );
        }
        let Some(one) = found.first() else { return Ok(()) };
        let repaired = self.repair && jobs.rebuild_index(&all).await? > 0;
        let lacks = said::LACKS.say().with("n", found.len()).with("one", one.as_str());
        self.add(Trouble::Unlisted, &def::index, jobs.space().index.as_str(), lacks, repaired);
        Ok(())
    }

    /// Each state: is the job where it says?
    async fn states(&mut self) -> Result<(), Error> {
        let mut cursor = Vec::new();
        loop {
            let (ids, next) = self.jobs.scan_states(&cursor, STATES).await?;
            self.lost(&ids).await?;
            self.unlisted(&ids).await?;
            cursor = next;
            if cursor.is_empty() {
                return Ok(());
            }
        }
    }

    /// Says that it waits, runs or is delayed, and nothing holds it.
    async fn lost(&mut self, ids: &[String]) -> Result<(), Error> {
        let ids: Vec<String> =
            ids.iter().filter(|id| !self.waiting.contains(*id)).cloned().collect();
        let first: Vec<String> =
            self.jobs.in_no_structure(&ids, usize::MAX).await?.into_keys().collect();
        for (id, word) in self.jobs.in_no_structure(&first, usize::MAX).await? {
            let key = self.jobs.space().status(&id);
            let mut repaired = false;
            if self.repair {
                let due = vec![(id.clone(), word.clone())];
                repaired = !self.jobs.requeue_orphans(due).await?.is_empty();
                // Without data there is nothing to run: the state goes too.
                repaired = repaired || self.drop_state(&id, &word).await?;
            }
            let lost = match word.as_str() {
                "waiting" => said::NOT_WAITING,
                "active" => said::NOT_ACTIVE,
                _ => said::NOT_DELAYED,
            };
            self.add(Trouble::Unlisted, &def::status, &key, lost.say(), repaired);
        }
        Ok(())
    }

    async fn drop_state(&self, id: &str, word: &str) -> Result<bool, Error> {
        let space = self.jobs.space();
        let step = Step::new(space.status(id)).expect(word).delete().while_absent(space.data(id));
        Ok(self.jobs.store().step(&step, self.jobs.by()).await?.is_done())
    }

    /// Says dead or cron, and is not in that list.
    async fn unlisted(&mut self, ids: &[String]) -> Result<(), Error> {
        let jobs = self.jobs;
        for (id, word) in jobs.said(ids).await? {
            let known = word == "dead" && self.dead.contains(&id);
            if known || !matches!(word.as_str(), "dead" | "cron") || jobs.is_in(&id, &word).await? {
                continue;
            }
            let space = jobs.space();
            let (key, text) = (space.status(&id), jobs.text_of(&id).await?);
            let step = Step::new(&key).expect(&word);
            let cure = match word.as_str() {
                "dead" => Some(step.rpush(&space.deadletter, &id)),
                _ => next_firing(&id, text.as_deref(), jobs.now_ms())
                    .map(|next| step.zadd(&space.cron, next, &id)),
            };
            let repaired = match cure {
                Some(step) if self.repair && text.is_some() => {
                    jobs.store().step(&step, jobs.by()).await?.is_done()
                }
                _ if self.repair => self.drop_state(&id, &word).await?,
                _ => false,
            };
            let lost = if word == "dead" { said::NOT_DEAD } else { said::NOT_CRON };
            self.add(Trouble::Unlisted, &def::status, &key, lost.say(), repaired);
        }
        Ok(())
    }

    /// Counters of running jobs that do not count the active ones.
    async fn counters(&mut self) -> Result<(), Error> {
        let types = self.jobs.all_counted_types().await?;
        let first: Vec<String> = self
            .jobs
            .compare_counters(&[], &types)
            .await?
            .into_iter()
            .map(|one| one.kind)
            .collect();
        let suspects: &[String] = if self.repair { &first } else { &[] };
        for one in self.jobs.compare_counters(suspects, &first).await? {
            if !first.contains(&one.kind) {
                continue;
            }
            let key = self.jobs.space().concurrent(&one.kind);
            let says = format!("{:?}", one.counter);
            let wrong = said::MISCOUNTED.say().with("says", says).with("n", one.active);
            self.add(Trouble::Miscounted, &def::concurrent, &key, wrong, one.repaired);
        }
        Ok(())
    }
}

/// When a definition fires next, if it can be read.
fn next_firing(id: &str, text: Option<&str>, now_ms: u64) -> Option<u64> {
    let job = Job::read(id, text?).ok()?;
    let cron =
        crate::store::definitions::parse(&job.schedule.cron?, job.schedule.timezone.as_deref());
    cron.ok()?.next_after(now_ms)
}
