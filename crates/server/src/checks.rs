//! The consistency check of a running server: one at a time, in the background, with progress to look at.
//! Whoever asks for a check waits for its end; others see how far it is, and the last report after it.

use std::sync::Arc;
use std::time::Instant;

use kernel::Fault;
use kernel::check::{Options, Progress, Report, check};
use parking_lot::Mutex;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::modules::Checking;
use crate::reply::{self, Refusal};

/// The state of checks.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct CheckState {
    /// `never`, `running`, `done` or `failed`.
    pub state: &'static str,
    /// Whether it repairs.
    pub repair: bool,
    /// Unix milliseconds.
    pub started_at: Option<u64>,
    /// Unix milliseconds; null while it runs.
    pub finished_at: Option<u64>,
    /// How long it took, or has taken so far.
    pub took_ms: Option<u64>,
    /// Keys there were at the start, of the node that was asked.
    pub total: u64,
    /// All findings, kept or counted.
    pub findings_total: u64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Keys seen, counts by module and name, findings. Findings come with the end.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub report: Arc<Report>,
}

impl Default for CheckState {
    fn default() -> Self {
        CheckState {
            state: "never",
            repair: false,
            started_at: None,
            finished_at: None,
            took_ms: None,
            total: 0,
            findings_total: 0,
            reason: None,
            report: Arc::default(),
        }
    }
}

/// The check that runs, or the last one.
#[derive(Default)]
pub struct Checks {
    state: Mutex<CheckState>,
    /// Ends the check that runs.
    cancel: Mutex<CancellationToken>,
}

impl Checks {
    /// How it stands.
    pub fn state(&self) -> CheckState {
        self.state.lock().clone()
    }

    /// Ends the check that runs, if one does. Repairs that were made stay.
    pub fn cancel(&self) {
        self.cancel.lock().cancel();
    }

    /// Begins one; gives the token that ends it.
    fn begin(&self, now_ms: u64, repair: bool) -> Result<CancellationToken, Refusal> {
        let mut state = self.state.lock();
        if state.state == "running" {
            return Err(Refusal::new(
                reply::CONFLICT,
                "a check is running already; GET /api/check shows how far it is",
            ));
        }
        *state = CheckState {
            state: "running",
            repair,
            started_at: Some(now_ms),
            ..CheckState::default()
        };
        let token = CancellationToken::new();
        *self.cancel.lock() = token.clone();
        Ok(token)
    }

    fn progress(&self, progress: Progress, started: Instant) {
        let mut state = self.state.lock();
        state.total = progress.total;
        state.findings_total = progress.findings;
        state.took_ms = Some(elapsed_ms(started));
        state.report = Arc::new(Report { scanned: progress.scanned, ..Report::default() });
    }

    fn end(&self, now_ms: u64, started: Instant, result: &Result<Report, Fault>) {
        let mut state = self.state.lock();
        state.finished_at = Some(now_ms);
        state.took_ms = Some(elapsed_ms(started));
        match result {
            Ok(report) => {
                state.state = "done";
                state.findings_total = report.findings_total();
                state.report = Arc::new(report.clone());
            }
            Err(fault) => {
                state.state = "failed";
                state.reason = Some(fault.to_string());
            }
        }
    }
}

fn elapsed_ms(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Checks the whole store, and repairs when asked to. Goes on when the asker leaves; ends with the server.
pub async fn run(app: &Arc<App>, repair: bool) -> Result<CheckState, Refusal> {
    let cancelled = app.checks.begin(app.now_ms(), repair)?;
    let this = Arc::clone(app);
    let task = app.tasks.spawn(async move {
        let started = Instant::now();
        let options = Options {
            repair,
            ..Options::new(this.keyspace.classifier.clone(), this.keyspace.layout)
        };
        let mut progress = |progress: Progress| this.checks.progress(progress, started);
        let checking = Checking {
            store: this.shared_store(),
            clock: Arc::clone(&this.clock),
            layout: this.keyspace.layout,
            namespaces: this.settings.jobs.namespaces.clone(),
            repair,
        };
        let work = async {
            let beyond = checking.beyond_keys(&this.modules).await?;
            let mut report = check(this.store(), &options, &mut progress).await?;
            report.merge(beyond, options.keep);
            Ok(report)
        };
        let result = tokio::select! {
            result = work => result,
            () = cancelled.cancelled() => Err(Fault::Unavailable("the check was cancelled".into())),
            () = this.stopping.cancelled() => Err(Fault::Unavailable("the server is stopping".into())),
        };
        this.checks.end(this.now_ms(), started, &result);
        result.map(|_| ())
    });
    match task.await {
        Ok(Ok(())) => Ok(app.checks.state()),
        Ok(Err(fault)) => Err(fault.into()),
        Err(_) => Err(reply::INTERNAL.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_ends_the_check_that_runs_and_no_later_one() {
        let checks = Checks::default();
        checks.cancel();
        let first = checks.begin(1, false).unwrap();
        assert!(!first.is_cancelled(), "what was cancelled before it began goes on");
        assert!(checks.begin(2, false).is_err(), "one at a time");
        checks.cancel();
        assert!(first.is_cancelled());
        checks.end(3, Instant::now(), &Err(Fault::Unavailable("the check was cancelled".into())));
        assert_eq!(checks.state().state, "failed");
        assert!(!checks.begin(4, false).unwrap().is_cancelled());
    }
}
