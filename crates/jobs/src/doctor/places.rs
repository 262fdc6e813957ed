//! Each entry of a structure: does its state say so, can it be read, does anybody hold it?

use kernel::check::Trouble;
use kernel::{Value, reply};

use super::{TEXTS, Visit};
use crate::error::Error;
use crate::keys::def;
use crate::model::{Job, Status};
use crate::said;
use crate::scripts::REPAIR_STATUS;
use crate::store::wire::texts;
use crate::store::{Jobs, cmd};

impl Visit<'_> {
    /// All entries of one structure.
    pub(super) async fn place(&mut self, place: &str) -> Result<(), Error> {
        let jobs = self.jobs;
        if matches!(place, "active" | "parked") {
            let ids = jobs.members_of(place).await?;
            for chunk in ids.chunks(TEXTS) {
                self.entries(place, chunk).await?;
            }
            return Ok(());
        }
        let status: Status = place.parse().unwrap_or(Status::Waiting);
        // A repaired job leaves the list, so the list is read before.
        for chunk in jobs.ids_of(status).await?.chunks(TEXTS) {
            self.entries(place, chunk).await?;
        }
        Ok(())
    }

    async fn entries(&mut self, place: &str, ids: &[String]) -> Result<(), Error> {
        let jobs = self.jobs;
        let word = if place == "parked" { "waiting" } else { place };
        let texts = jobs.texts_of(ids).await?;
        let said = jobs.said(ids).await?;
        for ((id, says), text) in said.into_iter().zip(texts) {
            // An entry without data is a ghost, which the check of the keys removes.
            let Some(text) = text else { continue };
            if Job::read(&*id, &*text).is_err() {
                if place != "dead" {
                    self.unreadable(&id).await?;
                }
                continue;
            }
            if place == "parked" {
                self.parked(&id).await?;
            }
            if place == "active" && jobs.owner_of(&id).await?.is_none() {
                self.unowned(&id).await?;
            } else if says != word && !(place == "active" && says == "waiting") {
                // The seed's claim leaves `waiting`; its lock says that the job runs.
                self.contradicted(&id, place, &says).await?;
            }
        }
        Ok(())
    }

    async fn unreadable(&mut self, id: &str) -> Result<(), Error> {
        let repaired = self.repair && self.jobs.quarantine(id).await?;
        let key = self.jobs.space().data(id);
        self.add(Trouble::BadValue, &def::data, &key, said::NO_JOB.say(), repaired);
        Ok(())
    }

    async fn parked(&mut self, id: &str) -> Result<(), Error> {
        let jobs = self.jobs;
        let deps = texts(&jobs.call(&cmd("SMEMBERS", jobs.space().deps(id))).await?);
        let open = |word: &str| matches!(word, "waiting" | "active" | "delayed" | "cron");
        if jobs.said(&deps).await?.iter().any(|(_, word)| open(word)) {
            return Ok(());
        }
        let text = jobs.text_of(id).await?;
        let job = text.and_then(|text| Job::read(id, text).ok());
        if job.is_some_and(|job| job.x.on_dependency_failed.as_deref() == Some("wait")) {
            let failed = jobs.said(&deps).await?;
            if failed.iter().any(|(_, word)| matches!(word.as_str(), "failed" | "dead")) {
                return Ok(());
            }
        }
        if self.repair {
            jobs.recheck_dependencies(id).await?;
        }
        let key = jobs.space().status(id);
        let parked = said::PARKED_FOR_NOTHING.say();
        self.add(Trouble::WrongState, &def::status, &key, parked, self.repair);
        Ok(())
    }

    async fn unowned(&mut self, id: &str) -> Result<(), Error> {
        let jobs = self.jobs;
        let mut claimed = cmd("HEXISTS", jobs.space().claimed.as_str());
        claimed.arg(id);
        // One that we claimed is taken back within seconds by anybody.
        if reply::int(&jobs.call(&claimed).await?) == Some(1)
            || jobs.owner_of(id).await?.is_some()
            || !jobs.is_in(id, "active").await?
        {
            return Ok(());
        }
        let due = vec![(id.to_owned(), String::new())];
        let repaired = self.repair && !jobs.recover_active(due).await?.is_empty();
        let key = jobs.space().status(id);
        self.add(Trouble::WrongState, &def::status, &key, said::NO_LOCK.say(), repaired);
        Ok(())
    }

    async fn contradicted(&mut self, id: &str, place: &str, says: &str) -> Result<(), Error> {
        let jobs = self.jobs;
        let again = jobs.said(&[id.to_owned()]).await?;
        if again[0].1 != says || !jobs.is_in(id, place).await? {
            return Ok(());
        }
        let mut repaired = false;
        if self.repair {
            let args = [id, place, says].map(str::as_bytes);
            let reply = jobs.script(&REPAIR_STATUS, &args, jobs.by()).await?;
            repaired = reply::text(&reply) == Some("done");
        }
        let wrong = if says.is_empty() { said::SAYS_NOTHING } else { said::CONTRADICTED };
        let wrong = wrong.say().with("says", says).with("place", place);
        self.add(Trouble::WrongState, &def::status, &jobs.space().status(id), wrong, repaired);
        Ok(())
    }
}

impl Jobs {
    /// The word stored as each job's state; empty when there is none.
    pub(super) async fn said(&self, ids: &[String]) -> Result<Vec<(String, String)>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = redis::cmd("MGET");
        for id in ids {
            get.arg(self.space().status(id));
        }
        let values = self.call(&get).await?;
        let words = reply::list(&values).unwrap_or_default();
        let word = |value: &Value| reply::text(value).unwrap_or_default().to_owned();
        Ok(ids.iter().cloned().zip(words.iter().map(word)).collect())
    }

    async fn owner_of(&self, id: &str) -> Result<Option<String>, Error> {
        let value = self.call(&cmd("GET", self.space().lock(id))).await?;
        Ok(reply::text(&value).map(str::to_owned))
    }

    pub(super) async fn is_in(&self, id: &str, place: &str) -> Result<bool, Error> {
        let space = self.space();
        let (name, key) = match place {
            "waiting" => ("LPOS", &space.waiting),
            "dead" => ("LPOS", &space.deadletter),
            "delayed" => ("ZSCORE", &space.delayed),
            "cron" => ("ZSCORE", &space.cron),
            "parked" => ("SISMEMBER", &space.parked),
            _ => ("SISMEMBER", &space.active),
        };
        let mut ask = cmd(name, key.as_str());
        ask.arg(id);
        let answer = self.call(&ask).await?;
        Ok(answer != Value::Nil && (name != "SISMEMBER" || reply::int(&answer) == Some(1)))
    }
}
