//! The jobs module on HTTP: its routes, access, errors, settings, loops and tile (see `modules.rs`). A verb is the text
//! after the last `:` of a POST path; ids and types that end like one are refused at dispatch.

use axum::routing::post;
use jobs::keys::{TABLE, def};
use jobs::refusal;
use kernel::keyspace::Layout;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Role::{Operator, Reader};
use crate::access::{Access, namespace};
use crate::modules::{Loop, Module, State, Streams};
use crate::settings::Settings;

mod act;
mod body;
mod bulk;
mod columns;
mod cron;
mod demo;
mod dlq;
mod doctor;
mod find;
mod flows;
mod groups;
mod handle;
mod history;
mod item;
mod produce;
mod queues;
mod read;
mod sampler;
mod scheduler;
pub(crate) mod settings;
mod show;
mod stats;
mod tile;
mod workers;

pub(crate) use handle::namespace_of;

/// The jobs' part of the server.
pub(crate) const MODULE: Module = Module {
    streams: Streams::Namespaces(&def::events),
    leases: &[&def::scheduler_lock, &def::scheduler_leader],
    routes: router,
    access: ACCESS,
    refusals: refusal::REFUSALS,
    loops: &[
        Loop { name: "jobs sampler", run: sampler::run },
        Loop { name: "jobs progress", run: sampler::progress },
        Loop { name: "jobs scheduler", run: scheduler::run },
        Loop { name: "jobs demo", run: demo::run },
    ],
    plain_on_cluster,
    check: Some(|at| Box::pin(doctor::beyond_keys(at))),
    tile: Some(tile::tile),
    samples: Some(sampler::samples),
    find: Some(find::find),
    start: Some(|app| {
        Box::pin(async move { handle::Queues::of(&app).problem().map_or(Ok(()), Err) })
    }),
    ..Module::named("jobs", "a job queue with routing, cron, rate limits, recovery", &TABLE)
};

/// A namespace that brings its own hash tag keeps its keys in one slot, however they are spelled.
fn plain_on_cluster(settings: &Settings) -> bool {
    settings.jobs.namespaces.iter().all(|ns| {
        let keys = jobs::keys::Keys::new(Layout::Plain);
        match (keys.waiting(ns), keys.active(ns), keys.paused(ns)) {
            (Ok(a), Ok(b), Ok(c)) => a.slot() == b.slot() && b.slot() == c.slot(),
            _ => false,
        }
    })
}

const ACCESS: &[Access] = &[
    namespace("POST", "/api/jobs", Operator),
    namespace("GET", "/api/jobs", Reader),
    namespace("POST", "/api/jobs:batch", Operator),
    namespace("POST", "/api/jobs:bulk", Operator),
    namespace("POST", "/api/jobs:flow", Operator),
    namespace("GET", "/api/jobs:doctor", Reader),
    namespace("POST", "/api/jobs:doctor", Operator),
    namespace("GET", "/api/jobs/{id}", Reader),
    namespace("DELETE", "/api/jobs/{id}", Operator),
    namespace("POST", "/api/jobs/{id}", Operator),
    namespace("POST", "/api/jobs/{id}:cancel", Operator),
    namespace("POST", "/api/jobs/{id}:retry", Operator),
    namespace("POST", "/api/jobs/{id}:runNow", Operator),
    namespace("POST", "/api/jobs/{id}:bury", Operator),
    namespace("GET", "/api/jobs/{id}/result", Reader),
    namespace("GET", "/api/jobs/{id}/explain", Reader),
    namespace("GET", "/api/jobs/{id}/timeline", Reader),
    namespace("GET", "/api/jobs/{id}/tree", Reader),
    namespace("GET", "/api/queues", Reader),
    namespace("GET", "/api/queues/{type}", Reader),
    namespace("POST", "/api/queues/{type}", Operator),
    namespace("POST", "/api/queues/{type}:pause", Operator),
    namespace("POST", "/api/queues/{type}:resume", Operator),
    namespace("POST", "/api/queues/{type}:limit", Operator),
    namespace("POST", "/api/queues/{type}:purge", Operator),
    namespace("GET", "/api/groups", Reader),
    namespace("POST", "/api/groups/{group}", Operator),
    namespace("POST", "/api/groups/{group}:limit", Operator),
    namespace("GET", "/api/dlq", Reader),
    namespace("DELETE", "/api/dlq", Operator),
    namespace("POST", "/api/dlq:requeue", Operator),
    namespace("POST", "/api/dlq/{id}", Operator),
    namespace("POST", "/api/dlq/{id}:edit", Operator),
    namespace("GET", "/api/cron", Reader),
    namespace("POST", "/api/cron:preview", Reader),
    namespace("GET", "/api/cron/{id}", Reader),
    namespace("PUT", "/api/cron/{id}", Operator),
    namespace("DELETE", "/api/cron/{id}", Operator),
    namespace("POST", "/api/cron/{id}", Operator),
    namespace("POST", "/api/cron/{id}:fire", Operator),
    namespace("GET", "/api/cron/{id}/next", Reader),
    namespace("GET", "/api/workers", Reader),
    namespace("POST", "/api/workers/{id}", Operator),
    namespace("POST", "/api/workers/{id}:quiet", Operator),
    namespace("POST", "/api/workers/{id}:stop", Operator),
    namespace("GET", "/api/stats", Reader),
    namespace("GET", "/api/stats/history", Reader),
];

/// Verbs behind a colon: the router sees one path for all of them, the document each.
#[derive(utoipa::OpenApi)]
#[openapi(
    paths(
        act::cancel, act::retry, act::run_now, act::bury,
        queues::pause, queues::resume, queues::limit, queues::purge, groups::limit,
        dlq::edit, cron::fire, workers::quiet, workers::stop,
    ),
    tags((name = "jobs", description = "The job queue. All take `ns=`, a namespace of the setting jobs.namespaces."))
)]
struct Verbs;

fn router() -> OpenApiRouter<State> {
    OpenApiRouter::with_openapi(Verbs::openapi())
        .routes(routes!(produce::dispatch, read::list))
        .routes(routes!(produce::batch))
        .routes(routes!(bulk::bulk))
        .routes(routes!(flows::dispatch))
        .routes(routes!(doctor::look, doctor::mend))
        .routes(routes!(read::get, act::remove))
        .route("/api/jobs/{id}", post(act::verb))
        .routes(routes!(read::result))
        .routes(routes!(read::explain))
        .routes(routes!(read::timeline))
        .routes(routes!(flows::tree))
        .routes(routes!(queues::list))
        .routes(routes!(queues::get))
        .route("/api/queues/{type}", post(queues::verb))
        .routes(routes!(groups::list))
        .route("/api/groups/{group}", post(groups::verb))
        .routes(routes!(dlq::list, dlq::delete))
        .routes(routes!(dlq::requeue))
        .route("/api/dlq/{id}", post(dlq::verb))
        .routes(routes!(cron::list))
        .routes(routes!(cron::preview))
        .routes(routes!(cron::get, cron::put, cron::remove))
        .route("/api/cron/{id}", post(cron::verb))
        .routes(routes!(cron::next))
        .routes(routes!(workers::list))
        .route("/api/workers/{id}", post(workers::verb))
        .routes(routes!(stats::stats))
        .routes(routes!(stats::history))
}

/// `{id}:{verb}` of a POST path.
fn split(target: &str) -> Result<(&str, &str), crate::reply::Refusal> {
    target.rsplit_once(':').filter(|(id, _)| !id.is_empty()).ok_or_else(|| {
        crate::reply::Refusal::new(
            refusal::NO_VERB,
            "write what to do behind a colon, such as ID:cancel",
        )
    })
}

/// A verb that there is not.
fn no_verb(verb: &str, known: &str) -> crate::reply::Refusal {
    let shown: String = verb.chars().take(40).collect();
    crate::reply::Refusal::new(
        refusal::NO_VERB,
        format!("there is no verb {shown} here; there are {known}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Source;

    #[test]
    fn settings_that_no_queue_can_work_with_are_refused_by_name() {
        for (name, value, fine) in [
            ("jobs.lock_ttl_s", "4", false),
            ("jobs.lock_ttl_s", "5", true),
            ("jobs.scan_limit", "0", false),
            ("jobs.starvation_guard", "0", true),
            ("jobs.starvation_guard", "10000", true),
            ("jobs.starvation_guard", "10001", false),
            ("jobs.rotate_unclaimable_s", "4", false),
            ("jobs.rotate_unclaimable_s", "5", true),
            ("jobs.rotate_unclaimable_s", "86401", false),
        ] {
            let mut settings = Settings::new();
            match settings.set(name, value, Source::Default) {
                Ok(()) => assert!(fine, "{name} = {value}"),
                Err(told) => assert!(!fine && told.to_string().contains(name), "{told}"),
            }
            let taken = handle::options(&settings).check();
            assert!(taken.is_ok(), "what the table takes, a queue takes: {taken:?}");
        }
        let mut settings = Settings::new();
        for text in ["7.5", "-5", "soon", ""] {
            let refused = settings.set("jobs.lock_ttl_s", text, Source::Default);
            assert!(refused.is_err(), "{text} is no number of whole seconds");
        }
    }
}
