//! Options of a namespace. The defaults are the seed's numbers where it has them.

use std::time::Duration;

use crate::error::Error;

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

/// Ten years. A store refuses a life beyond what it can count, and would do so in the middle of a step.
const LONGEST_LIFE_S: u64 = 315_360_000;

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
        if self.lock_ttl_s < 5 {
            let sentence = "lock_ttl_s must be whole seconds, 5 or more";
            return Err(Error::invalid("invalid_lock_ttl", "lock_ttl", sentence));
        }
        if self.retention_s > LONGEST_LIFE_S.cast_signed() {
            let sentence = format!(
                "retention_s must be at most {LONGEST_LIFE_S} (ten years), or -1 (for ever)"
            );
            return Err(Error::invalid("invalid_retention", "retention_s", sentence));
        }
        if self.result_ttl_s > LONGEST_LIFE_S {
            let sentence = format!("result_ttl_s must be at most {LONGEST_LIFE_S} (ten years)");
            return Err(Error::invalid("invalid_result_ttl", "result_ttl_s", sentence));
        }
        if self.scan_limit == 0 {
            let sentence = "scan_limit must be 1 or more";
            return Err(Error::invalid("invalid_scan_limit", "scan_limit", sentence));
        }
        if self.starvation_guard > 10_000 {
            let sentence = "starvation_guard must be 0 (off) to 10000";
            return Err(Error::invalid("invalid_starvation_guard", "starvation_guard", sentence));
        }
        if self.rotate_unclaimable_s != 0 && !(5..=86_400).contains(&self.rotate_unclaimable_s) {
            let sentence = "rotate_unclaimable_s must be 5 to 86400, or 0 (off)";
            let field = "rotate_unclaimable_s";
            return Err(Error::invalid("invalid_rotate_unclaimable", field, sentence));
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
