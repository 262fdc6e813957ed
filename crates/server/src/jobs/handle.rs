//! Which queue a request is about: the namespaces of the settings, each opened once, and what its caller may see of
//! them. Refusals of the queue become answers here and nowhere else.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use jobs::{Error, Jobs, Options, refusal};
use serde::Deserialize;

use super::show::View;
use crate::app::App;
use crate::caller::Caller;
use crate::extract::Query;
use crate::modules::State;
use crate::reply::{self, Refusal};
use crate::settings::Settings;

/// The queues of this server, in the order of the setting.
pub(crate) struct Queues(Vec<(String, Result<Jobs, Error>)>);

impl Queues {
    /// Opened at the first use.
    pub(crate) fn of(app: &App) -> Arc<Queues> {
        app.kept(|| {
            let open = |ns: String| {
                let (store, clock) = (app.shared_store(), Arc::clone(&app.clock));
                let layout = app.keyspace.layout;
                let jobs = Jobs::new(store, clock, &ns, layout, options(&app.settings));
                (ns, jobs)
            };
            Queues(app.settings.jobs.namespaces.iter().cloned().map(open).collect())
        })
    }

    /// The queues that could be opened.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Jobs> {
        self.0.iter().filter_map(|(_, jobs)| jobs.as_ref().ok())
    }

    /// The first that could not be, in a sentence.
    pub(crate) fn problem(&self) -> Option<String> {
        self.0.iter().find_map(|(_, jobs)| jobs.as_ref().err().map(ToString::to_string))
    }

    /// The one that is asked for: by name, else the first that this caller may see. The routes have the scope of a
    /// namespace, so a name that the caller may not see does not come here.
    fn choose(&self, caller: &Caller, ns: Option<&str>) -> Result<Jobs, Refusal> {
        let found = self.0.iter().find(|(name, _)| match ns {
            Some(ns) => name == ns,
            None => caller.may_namespace(name),
        });
        match (found, ns) {
            (Some((_, jobs)), _) => jobs.clone().map_err(refuse),
            (None, ns) => {
                let sentence = format!(
                    "this server has no namespace {}; add it to the setting jobs.namespaces",
                    ns.unwrap_or("of yours")
                );
                Err(Refusal::new(refusal::NO_NAMESPACE, sentence).field("ns"))
            }
        }
    }
}

/// The settings of the queue.
#[allow(clippy::field_reassign_with_default)] // It may grow, so it has no literal outside of its crate.
pub(crate) fn options(settings: &Settings) -> Options {
    let settings = &settings.jobs;
    let mut options = Options::default();
    options.payload_max = settings.payload_bytes;
    options.result_max = settings.result_bytes;
    options.retention_s = settings.retention_s;
    options.result_ttl_s = settings.result_ttl_s;
    options.lock_ttl_s = settings.lock_ttl_s;
    options.max_waiting = settings.max_waiting;
    options.promote_honours_priority = settings.promote_honours_priority;
    options.fair_high = settings.fair_high;
    options.starvation_guard = settings.starvation_guard;
    options.rotate_unclaimable_s = settings.rotate_unclaimable_s;
    options.scan_limit = settings.scan_limit;
    options.events = settings.events;
    options.dlq_max = settings.dlq_max;
    options.max_recoveries = settings.max_recoveries;
    options.cron_instances = settings.cron_instances;
    options.cron_catchup = settings.cron_catchup;
    options.cron_failed = settings.cron_failed;
    options
}

/// The surroundings of every handler of jobs.
pub(crate) struct Here {
    pub(crate) app: State,
    pub(crate) jobs: Jobs,
    pub(crate) caller: Caller,
    /// The caller's view of payloads.
    pub(crate) view: View,
}

#[derive(Deserialize)]
struct Named {
    ns: Option<String>,
}

/// The namespace that a query names.
pub(crate) fn namespace_of(uri: &Uri) -> Result<Option<String>, Refusal> {
    Query::<Named>::of(uri).map(|Query(named)| named.ns)
}

impl FromRequestParts<State> for Here {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &State) -> Result<Self, Refusal> {
        let caller = Caller::from_request_parts(parts, app).await?;
        let ns = namespace_of(&parts.uri)?;
        let jobs = Queues::of(app).choose(&caller, ns.as_deref())?;
        Ok(Here { view: View::of(&caller, &app.settings), app: Arc::clone(app), jobs, caller })
    }
}

/// The queue's refusals as answers.
#[allow(clippy::needless_pass_by_value)] // It is used as a function of `map_err`.
pub(crate) fn refuse(error: Error) -> Refusal {
    let with = |def| Refusal::new(def, error.to_string());
    match &error {
        Error::Fault(fault) => fault.clone().into(),
        Error::Invalid { def: refusal::program::INVALID_CURSOR, .. } => {
            Refusal::from(reply::BAD_CURSOR).field("cursor")
        }
        Error::TooLarge { field, .. } => with(reply::TOO_LARGE).field(*field),
        Error::WorkerInUse { .. } => with(reply::CONFLICT),
        other => Refusal::of(other),
    }
}
