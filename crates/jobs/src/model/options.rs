//! Options of a namespace. The defaults are the seed's numbers where it has them.

use std::time::Duration;

use crate::error::Error;
use crate::error::refusal::program::{
    INVALID_LOCK_TTL, INVALID_RESULT_TTL, INVALID_RETENTION, INVALID_ROTATE_UNCLAIMABLE,
    INVALID_SCAN_LIMIT, INVALID_STARVATION_GUARD,
};

/// The treatment of firings that were missed while no scheduler ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Catchup {
    /// Missed firings are dropped; the next one fires at its time.
    None,
    /// One fires for all of them.
    #[default]
    One,
    /// Each fires, the last 100 of them. Firings of one id coalesce, so this wants `cron_instances`.
    All,
}

/// The treatment of a firing that failed for good. The definition fires on in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CronFailed {
    /// The firing is a dead letter: a job of its own, `{definition}:{Unix ms}`.
    #[default]
    Letter,
    /// The definition is marked until a firing completes.
    Alarm,
}

/// The usual [`Options::starvation_guard`] where one is wanted.
pub const STARVATION_GUARD: u32 = 10;

/// The bounds of the options that have some.
pub mod bounds {
    use kernel::Bounds;

    const MOST: f64 = f64::INFINITY;
    /// Ten years. A store refuses a life beyond what it can count, and would do so in the middle of a step.
    const LONGEST_LIFE: f64 = 315_360_000.0;

    /// Of `lock_ttl_s`.
    pub const LOCK_TTL_S: Bounds = Bounds::within(5.0..=MOST);
    /// Of `retention_s`; -1 is for ever.
    pub const RETENTION_S: Bounds = Bounds::within(0.0..=LONGEST_LIFE).or(-1.0);
    /// Of `result_ttl_s`.
    pub const RESULT_TTL_S: Bounds = Bounds::within(0.0..=LONGEST_LIFE);
    /// Of `scan_limit`.
    pub const SCAN_LIMIT: Bounds = Bounds::within(1.0..=MOST);
    /// Of `starvation_guard`; 0 is off.
    pub const STARVATION_GUARD: Bounds = Bounds::within(0.0..=10_000.0);
    /// Of `rotate_unclaimable_s`; 0 is off.
    pub const ROTATE_UNCLAIMABLE_S: Bounds = Bounds::within(5.0..=86_400.0).or(0.0);
}

/// How a [`crate::Jobs`] behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // switches of the configuration, each on its own
pub struct Options {
    /// Bytes of a payload, at most.
    pub payload_max: usize,
    /// Bytes of a result, at most; a larger one is stored as `null` and told as `result_too_large`.
    pub result_max: usize,
    /// Seconds for which an ended job's data, status and progress stay; 0 deletes them at once, -1 keeps them.
    pub retention_s: i64,
    /// Seconds for which a result stays (seed: one day). With 0 a job that completes leaves none, as in queues that
    /// know no results; why one failed stays for a day all the same.
    pub result_ttl_s: u64,
    /// Seconds a lock lasts unless it is renewed (seed: 30).
    pub lock_ttl_s: u32,
    /// Dispatch is refused when so many jobs wait; 0 switches it off.
    pub max_waiting: u64,
    /// Whether a promoted job with priority 7 or more goes to the front (the seed pushes it to the back).
    pub promote_honours_priority: bool,
    /// Whether a job with priority 7 or more goes behind those that are there already, not before them.
    pub fair_high: bool,
    /// After so many jobs with priority 7 or more a worker takes one from behind them; 0 never does, 10 is
    /// usual ([`STARVATION_GUARD`]), 10 000 the most. Each worker counts for itself.
    pub starvation_guard: u32,
    /// Seconds after which the leading scheduler moves jobs that no living worker may run from the head of the list
    /// to its tail: 5 to 86 400, or 0 for never.
    pub rotate_unclaimable_s: u32,
    /// How many waiting jobs one claim looks at.
    pub scan_limit: u32,
    /// Whether events are written.
    pub events: bool,
    /// Dead letters that are kept; the oldest go first. 0 keeps all.
    pub dlq_max: u64,
    /// How often a job is taken back from dead workers before it is dead itself.
    pub max_recoveries: u32,
    /// Whether each firing of a cron definition makes a job of its own.
    pub cron_instances: bool,
    /// The treatment of missed firings.
    pub cron_catchup: Catchup,
    /// The treatment of a firing that failed for good.
    pub cron_failed: CronFailed,
    /// How long a dispatch may take.
    pub enqueue_timeout: Duration,
    /// How long any other call may take.
    pub call_timeout: Duration,
}

impl Options {
    /// Whether a queue can be opened with these; the first wrong one is told.
    pub fn check(&self) -> Result<(), Error> {
        #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2^53")]
        let (retention, result_ttl) = (self.retention_s as f64, self.result_ttl_s as f64);
        for (def, field, value, bounds) in [
            (INVALID_LOCK_TTL, "lock_ttl_s", self.lock_ttl_s.into(), bounds::LOCK_TTL_S),
            (INVALID_RETENTION, "retention_s", retention, bounds::RETENTION_S),
            (INVALID_RESULT_TTL, "result_ttl_s", result_ttl, bounds::RESULT_TTL_S),
            (INVALID_SCAN_LIMIT, "scan_limit", self.scan_limit.into(), bounds::SCAN_LIMIT),
            (
                INVALID_STARVATION_GUARD,
                "starvation_guard",
                self.starvation_guard.into(),
                bounds::STARVATION_GUARD,
            ),
            (
                INVALID_ROTATE_UNCLAIMABLE,
                "rotate_unclaimable_s",
                self.rotate_unclaimable_s.into(),
                bounds::ROTATE_UNCLAIMABLE_S,
            ),
        ] {
            if !bounds.hold(value) {
                return Err(Error::invalid(def, field, format!("{field} must be {bounds}")));
            }
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            payload_max: 1 << 20,
            result_max: 1 << 20,
            retention_s: 86_400,
            result_ttl_s: 86_400,
            lock_ttl_s: 30,
            max_waiting: 0,
            promote_honours_priority: false,
            fair_high: false,
            starvation_guard: 0,
            rotate_unclaimable_s: 0,
            scan_limit: 1_000,
            events: true,
            dlq_max: 100_000,
            max_recoveries: 3,
            cron_instances: false,
            cron_catchup: Catchup::One,
            cron_failed: CronFailed::Letter,
            enqueue_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(5),
        }
    }
}
