//! Which queue a request is about: the namespaces of the settings, each opened once, and what its caller may see of
//! them. Refusals of the queue become answers here and nowhere else.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use jobs::{Error, Jobs, Options};
use serde::Deserialize;
use serde_json::json;

use super::{errors, show::View};
use crate::app::App;
use crate::caller::Caller;
use crate::extract::Query;
use crate::modules::State;
use crate::reply::{self, ErrorDef, Refusal};
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

    /// Those that could be opened.
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
                Err(Refusal::new(errors::NO_NAMESPACE, sentence).field("ns"))
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
    options
}

/// What every handler of jobs gets.
pub(crate) struct Here {
    pub(crate) app: State,
    pub(crate) jobs: Jobs,
    pub(crate) caller: Caller,
    /// What the caller may see of payloads.
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
    let message = error.to_string();
    let of = |def: ErrorDef| Refusal::new(def, message.clone());
    match &error {
        Error::Fault(fault) => fault.clone().into(),
        Error::Invalid { code, field, .. } => {
            if *code == "invalid_cursor" {
                return Refusal::from(reply::BAD_CURSOR).field("cursor");
            }
            let known = errors::ERRORS.iter().find(|def| def.code == *code).copied();
            let refusal = of(known.unwrap_or(ErrorDef { code, status: 400, says: "" }));
            if field.is_empty() { refusal } else { refusal.field(field.clone()) }
        }
        Error::TooLarge { field, .. } => of(reply::TOO_LARGE).field(*field),
        Error::Exists(id) => of(errors::EXISTS).details(json!({ "jobId": id })),
        Error::NotUnique { existing } => {
            of(errors::NOT_UNIQUE).details(json!({ "jobId": existing }))
        }
        Error::Full { waiting, max } => {
            of(errors::FULL).details(json!({ "waiting": waiting, "max": max })).retry_after(1)
        }
        Error::Missing { what, .. } => of(match *what {
            "worker" => errors::NO_WORKER,
            "cron" => errors::NO_CRON,
            _ => errors::NO_JOB,
        }),
        Error::WrongState { status, .. } => {
            of(errors::WRONG_STATE).details(json!({ "status": status }))
        }
        Error::WorkerInUse(_) => of(reply::CONFLICT),
        Error::WrongType { key, .. } => of(errors::WRONG_TYPE).details(json!({ "key": key })),
        Error::NeedsTag(_) => of(errors::NEEDS_TAG).field("ns"),
        // Whatever a later queue adds keeps its word and its sentence.
        other => Refusal::new(ErrorDef { code: other.code(), status: 400, says: "" }, message),
    }
}
