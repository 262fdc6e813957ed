//! The doctor: the jobs part of the consistency check, what the queue knows about itself (`jobs::Jobs::doctor`), and
//! workers that do not keep the rules.

use axum::Json;
use jobs::{Jobs, ListQuery, Order, Status};
use kernel::check::{Options, check};
use kernel::keyspace::Classifier;
use kernel::{Fault, Said};
use serde::{Deserialize, Serialize};

use super::handle::{Here, refuse};
use super::produce::NsQuery;
use crate::app::App;
use crate::extract::Body;
use crate::modules::Checking;
use crate::reply::Refusal;
use crate::said::{self, SaidShape, Told};

/// Jobs that are looked at beyond the check, in each state.
const LOOKED_AT: usize = 10_000;
/// Findings that are told in full.
const KEPT: usize = 500;

/// Something wrong.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = DoctorFinding)]
pub(crate) struct Finding {
    /// Such as `unlisted`, `wrong_state`, `miscounted`, `bad_value`.
    kind: String,
    /// The key, and what is wrong with it.
    sentence: String,
    /// The fault as pages word it.
    #[schema(value_type = SaidShape)]
    said: Said,
    /// The entry of an index, when it is about one.
    entry: Option<String>,
    /// The key or job it is about.
    about: String,
    repaired: bool,
}

/// The doctor's findings.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub(crate) struct Report {
    namespace: String,
    /// Keys looked at.
    scanned: u64,
    findings: Vec<Finding>,
    findings_total: u64,
    repaired: u64,
    remaining: u64,
    /// Notes: no fault now, perhaps one later.
    warnings: Vec<Told>,
    /// All of it in a sentence.
    sentence: String,
}

/// The queue's own findings, in every namespace: the jobs part of the check.
pub(crate) async fn beyond_keys(at: Checking) -> Result<Vec<kernel::check::Finding>, Fault> {
    let mut found = Vec::new();
    for ns in &at.namespaces {
        let (store, clock) = (at.store.clone(), at.clock.clone());
        // One that cannot be opened stops the server's start; here it has nothing to say.
        let Ok(jobs) = Jobs::new(store, clock, ns, at.layout, jobs::Options::default()) else {
            continue;
        };
        found.extend(jobs.doctor(at.repair).await.map_err(|error| match error {
            jobs::Error::Fault(fault) => fault,
            other => Fault::Corrupt { key: ns.clone(), detail: other.to_string() },
        })?);
    }
    Ok(found)
}

async fn examine(app: &App, jobs: &Jobs, repair: bool) -> Result<Report, Refusal> {
    let mut report = Report { namespace: jobs.namespace().to_owned(), ..Report::default() };
    let beyond = jobs.doctor(repair).await.map_err(refuse)?;
    structures(app, jobs, repair, beyond, &mut report).await?;
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
    beyond: Vec<kernel::check::Finding>,
    report: &mut Report,
) -> Result<(), Refusal> {
    let classifier = Classifier::new(&[&jobs::keys::TABLE], &[jobs.namespace().to_owned()]);
    let options = Options { repair, keep: KEPT, ..Options::new(classifier, jobs.layout()) };
    let mut found = check(app.store(), &options, &mut |_| {}).await?;
    found.merge(beyond, KEPT);
    report.scanned = found.scanned.saturating_sub(found.foreign);
    let (total, repaired) = (found.findings_total(), found.repaired);
    for finding in found.findings {
        let kind = serde_json::to_value(finding.trouble).unwrap_or_default();
        let entry = finding.entry.as_ref().map(|entry| format!(" [{entry}]")).unwrap_or_default();
        report.findings.push(Finding {
            kind: kind.as_str().unwrap_or("fault").to_owned(),
            sentence: format!("{}{entry}: {}", finding.key, finding.detail),
            said: finding.said,
            entry: finding.entry,
            about: finding.key,
            repaired: finding.repaired,
        });
    }
    report.findings_total += total;
    report.repaired += repaired;
    Ok(())
}

async fn walk(jobs: &Jobs, status: Status) -> Result<Vec<jobs::JobView>, Refusal> {
    let order = Order::Place;
    let mut query = ListQuery { status: Some(status), limit: 500, order, ..ListQuery::default() };
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

/// Workers of other programs, which may not keep routes, pauses and limits.
async fn strangers(jobs: &Jobs, report: &mut Report) -> Result<(), Refusal> {
    let workers = jobs.workers().await.map_err(refuse)?;
    for worker in workers.iter().filter(|worker| worker.alive && worker.concurrency.is_none()) {
        let foreign = said::DOCTOR_FOREIGN.say().with("worker", worker.server_id.as_str());
        report.warnings.push(foreign.with("stack", worker.stack.as_str()).into());
    }
    let bare =
        walk(jobs, Status::Active).await?.iter().filter(|one| one.claimed_at.is_none()).count();
    if bare > 0 {
        report.warnings.push(said::DOCTOR_BARE.say().with("n", bare).into());
    }
    Ok(())
}

/// Faults of a queue; changes nothing.
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

/// Faults of a queue, mended where they can be.
#[utoipa::path(post, path = "/api/jobs:doctor", tag = "jobs", params(NsQuery), request_body = MendBody,
    responses((status = 200, body = Report)))]
pub(crate) async fn mend(here: Here, Body(body): Body<MendBody>) -> Result<Json<Report>, Refusal> {
    examine(&here.app, &here.jobs, body.repair).await.map(Json)
}
