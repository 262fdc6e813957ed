//! Numbers for `/metrics`: the table of all metrics, the process-wide recorder, which holds callers to the table, and
//! what is sampled when somebody asks.

mod bounded;
mod table;

use std::sync::OnceLock;

use kernel::Status;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use bounded::Bounded;
pub use table::{METRICS, metrics_page};

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
            let _ = metrics::set_global_recorder(Bounded::new(recorder));
            handle
        })
        .clone()
}

/// Counters of the server and these modules begin at zero, so that their first event is seen as one.
pub(crate) fn begin(modules: &[&str], namespaces: &[String]) {
    bounded::begin(modules, namespaces);
}

/// Samples what is not counted as it happens.
#[allow(clippy::cast_precision_loss)] // A gauge is a float by its format.
pub(crate) fn sample(status: &Status) {
    metrics::gauge!("worldkeep_store_up").set(if status.up { 1.0 } else { 0.0 });
    let takes_writes = if status.refuses_writes.is_none() { 1.0 } else { 0.0 };
    metrics::gauge!("worldkeep_store_takes_writes").set(takes_writes);
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
