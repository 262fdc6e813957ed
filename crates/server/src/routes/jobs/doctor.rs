//! The doctor: the jobs part of the consistency check, and what only the queue knows: counters that leaked, jobs nobody
//! can read, workers that do not keep the rules. Looks at a bounded number of jobs beyond the check itself.

use std::collections::BTreeMap;

use axum::Json;
use jobs::{Jobs, ListQuery, Sightings, Status};
use kernel::check::{Options, check};
use kernel::keyspace::Classifier;
use serde::{Deserialize, Serialize};

use super::handle::{Here, refuse};
use super::produce::NsQuery;
use crate::app::App;
use crate::extract::Body;
use crate::reply::Refusal;

/// Jobs that are looked at beyond the check, in each state.
const LOOKED_AT: usize = 10_000;
/// Findings that are told in full.
const KEPT: usize = 500;

/// Something wrong.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Finding {
    /// Such as `orphan_entry`, `counter`, `malformed`.
    kind: String,
    sentence: String,
    /// The key or job it is about.
    about: String,
    repaired: bool,
}

/// What the doctor found.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub(crate) struct Report {
    namespace: String,
    /// Keys looked at.
    scanned: u64,
    findings: Vec<Finding>,
    findings_total: u64,
    repaired: u64,
    remaining: u64,
    /// What is no fault and may become one.
    warnings: Vec<String>,
    /// All of it in a sentence.
    sentence: String,
}

impl Report {
    fn add(&mut self, kind: &str, about: String, sentence: String, repaired: bool) {
        self.findings_total += 1;
        self.repaired += u64::from(repaired);
        if self.findings.len() < KEPT {
            self.findings.push(Finding { kind: kind.to_owned(), sentence, about, repaired });
        }
    }
}

async fn examine(app: &App, jobs: &Jobs, repair: bool) -> Result<Report, Refusal> {
    let mut report = Report { namespace: jobs.namespace().to_owned(), ..Report::default() };
    structures(app, jobs, repair, &mut report).await?;
    malformed(jobs, repair, &mut report).await?;
    counters(jobs, repair, &mut report).await?;
    strangers(jobs, &mut report).await?;
    report.remaining = report.findings_total - report.repaired;
    report.sentence = match (report.findings_total, report.remaining) {
        (0, _) => format!("{} keys looked at; nothing is wrong.", report.scanned),
        (found, 0) => format!("{found} faults found and repaired."),
        (found, left) => {
            format!("{found} faults found, {} repaired, {left} remain.", report.repaired)
        }
    };
    Ok(report)
}

/// Types, lives, indexes and places, by the tables.
async fn structures(
    app: &App,
    jobs: &Jobs,
    repair: bool,
    report: &mut Report,
) -> Result<(), Refusal> {
    let classifier = Classifier::new(&[&jobs::keys::TABLE], &[jobs.namespace().to_owned()]);
    let options = Options { repair, keep: KEPT, ..Options::new(classifier, jobs.layout()) };
    let found = check(app.store(), &options, &mut |_| {}).await?;
    report.scanned = found.scanned.saturating_sub(found.foreign);
    let (total, repaired) = (found.findings_total(), found.repaired);
    for finding in found.findings {
        let kind = serde_json::to_value(finding.trouble).unwrap_or_default();
        let entry = finding.entry.map(|entry| format!(" [{entry}]")).unwrap_or_default();
        report.findings.push(Finding {
            kind: kind.as_str().unwrap_or("fault").to_owned(),
            sentence: format!("{}{entry}: {}", finding.key, finding.detail),
            about: finding.key,
            repaired: finding.repaired,
        });
    }
    report.findings_total += total;
    report.repaired += repaired;
    Ok(())
}

/// Waiting and delayed jobs that nobody can read; mended, they are dead letters.
async fn malformed(jobs: &Jobs, repair: bool, report: &mut Report) -> Result<(), Refusal> {
    for status in [Status::Waiting, Status::Delayed, Status::Cron] {
        for found in walk(jobs, status).await? {
            // A ghost is the check's business; this is about texts that are there.
            if found.job.get() == "null" || found.read().is_some() {
                continue;
            }
            let moved = repair && jobs.quarantine(&found.id).await.map_err(refuse)?;
            let sentence = format!("the stored text of job {} is no job", found.id);
            report.add("malformed", found.id, sentence, moved);
        }
    }
    Ok(())
}

async fn walk(jobs: &Jobs, status: Status) -> Result<Vec<jobs::JobView>, Refusal> {
    let mut query = ListQuery { status: Some(status), limit: 500, ..ListQuery::default() };
    let mut all = Vec::new();
    loop {
        let page = jobs.list(&query).await.map_err(refuse)?;
        all.extend(page.items);
        if page.cursor.is_none() || all.len() >= LOOKED_AT {
            return Ok(all);
        }
        query.cursor = page.cursor;
    }
}

/// Counters of running jobs that do not count what runs.
async fn counters(jobs: &Jobs, repair: bool, report: &mut Report) -> Result<(), Refusal> {
    if repair {
        // A counter is set right when it was wrong twice.
        let seen = Sightings::default();
        jobs.reconcile(&seen).await.map_err(refuse)?;
        for wrong in jobs.reconcile(&seen).await.map_err(refuse)? {
            let sentence = format!(
                "the counter of {} said {}, and {} run",
                wrong.kind, wrong.counter, wrong.active
            );
            report.add("counter", wrong.kind, sentence, wrong.repaired);
        }
        return Ok(());
    }
    let mut running: BTreeMap<String, u64> = BTreeMap::new();
    for found in walk(jobs, Status::Active).await? {
        if let Some(job) = found.read() {
            *running.entry(job.kind).or_default() += 1;
        }
    }
    for queue in jobs.queues().await.map_err(refuse)?.items {
        let runs = running.get(&queue.kind).copied().unwrap_or(0);
        if queue.running > runs {
            let sentence =
                format!("the counter of {} says {}, and {runs} run", queue.kind, queue.running);
            report.add("counter", queue.kind, sentence, false);
        }
    }
    Ok(())
}

/// Workers of other programs, which may not keep routes, pauses and limits.
async fn strangers(jobs: &Jobs, report: &mut Report) -> Result<(), Refusal> {
    let workers = jobs.workers().await.map_err(refuse)?;
    for worker in workers.iter().filter(|worker| worker.alive && worker.concurrency.is_none()) {
        report.warnings.push(format!(
            "worker {} ({}) is of another program: it may take jobs whatever their target, pause or limit",
            worker.server_id, worker.stack
        ));
    }
    let bare =
        walk(jobs, Status::Active).await?.iter().filter(|one| one.claimed_at.is_none()).count();
    if bare > 0 {
        report.warnings.push(format!(
            "{bare} running jobs have no lease: a program with the seed's scripts has them; they are taken back when its lock ends"
        ));
    }
    Ok(())
}

/// What is wrong with a queue; changes nothing.
#[utoipa::path(get, path = "/api/jobs:doctor", tag = "jobs", params(NsQuery),
    responses((status = 200, body = Report)))]
pub(crate) async fn look(here: Here) -> Result<Json<Report>, Refusal> {
    examine(&here.app, &here.jobs, false).await.map(Json)
}

/// Whether to mend.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MendBody {
    #[serde(default)]
    repair: bool,
}

/// What is wrong with a queue, mended where it can be.
#[utoipa::path(post, path = "/api/jobs:doctor", tag = "jobs", params(NsQuery), request_body = MendBody,
    responses((status = 200, body = Report)))]
pub(crate) async fn mend(here: Here, Body(body): Body<MendBody>) -> Result<Json<Report>, Refusal> {
    examine(&here.app, &here.jobs, body.repair).await.map(Json)
}
