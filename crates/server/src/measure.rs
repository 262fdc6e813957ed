//! Numbers for `/metrics`: the process-wide recorder and what is sampled when somebody asks.

use std::sync::OnceLock;

use kernel::Status;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// From 100 µs to 30 s.
const BUCKETS: &[f64] = &[0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Finer around what a state may take on its way to the sockets.
const STATE_BUCKETS: &[f64] = &[
    0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05, 0.06, 0.075,
    0.1, 0.15, 0.25, 0.5, 1.0, 5.0,
];

/// The recorder of this process; the first server installs it, others share it.
pub(crate) fn recorder() -> PrometheusHandle {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    RECORDER
        .get_or_init(|| {
            let builder = PrometheusBuilder::new();
            let builder = builder
                .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), BUCKETS)
                .and_then(|builder| {
                    let state =
                        ["worldkeep_galaxy_state_seconds", "worldkeep_galaxy_fanout_seconds"];
                    state.into_iter().try_fold(builder, |builder, name| {
                        builder.set_buckets_for_metric(Matcher::Full(name.into()), STATE_BUCKETS)
                    })
                })
                .expect("the buckets are not empty");
            let recorder = builder.build_recorder();
            let handle = recorder.handle();
            // Somebody else's recorder in the same process keeps its place; ours then renders nothing.
            let _ = metrics::set_global_recorder(recorder);
            describe();
            handle
        })
        .clone()
}

fn describe() {
    metrics::describe_counter!(
        "worldkeep_http_requests_total",
        "requests by method, route and status"
    );
    metrics::describe_histogram!(
        "worldkeep_http_request_seconds",
        "time to the head of the answer"
    );
    metrics::describe_counter!("worldkeep_rate_limited_total", "requests over a rate limit");
    metrics::describe_counter!("worldkeep_panics_total", "handlers that panicked");
    metrics::describe_gauge!("worldkeep_store_up", "1 while the store answers");
    metrics::describe_gauge!(
        "worldkeep_store_reconnects",
        "connections opened anew since the start"
    );
    metrics::describe_gauge!("worldkeep_sockets", "open sockets");
    metrics::describe_counter!("worldkeep_events_total", "events read from the streams");
    metrics::describe_gauge!("worldkeep_resident_bytes", "memory of this process");
    metrics::describe_histogram!(
        "worldkeep_galaxy_state_seconds",
        "from the end of a tick until its state is queued to a socket"
    );
    metrics::describe_histogram!(
        "worldkeep_galaxy_fanout_seconds",
        "from the end of a tick until its state is queued to the last socket that gets it"
    );
}

/// Samples what is not counted as it happens.
#[allow(clippy::cast_precision_loss)] // A gauge is a float by its format.
pub(crate) fn sample(status: &Status) {
    metrics::gauge!("worldkeep_store_up").set(if status.up { 1.0 } else { 0.0 });
    metrics::gauge!("worldkeep_store_reconnects").set(status.reconnects as f64);
    if let Some(bytes) = resident_bytes() {
        metrics::gauge!("worldkeep_resident_bytes").set(bytes as f64);
    }
}

/// Resident memory of this process, where the system tells it.
pub fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
