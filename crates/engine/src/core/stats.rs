//! Counters for `INFO`, per command and overall, and how long commands take.

use crate::commands::table::{Spec, TABLE};

/// The counters of one command.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandStats {
    pub(crate) calls: u64,
    pub(crate) usec: u64,
    pub(crate) rejected: u64,
    pub(crate) failed: u64,
    /// Made at the first call.
    pub(crate) times: Option<Box<Histogram>>,
}

/// Durations from a microsecond to half an hour, in steps of about three per cent.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    counts: [u32; OCTAVES * STEPS],
    pub(crate) total: u64,
}

const STEPS: usize = 32;
const OCTAVES: usize = 32;
const FIRST: u32 = 10; // 1024 ns

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: [0; OCTAVES * STEPS], total: 0 }
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, nanos: u64) {
        let nanos = nanos.max(1 << FIRST);
        let octave = nanos.ilog2() - FIRST;
        let step = (nanos >> (octave + FIRST - 5)) as usize & (STEPS - 1);
        let at = (octave as usize * STEPS + step).min(OCTAVES * STEPS - 1);
        self.counts[at] = self.counts[at].saturating_add(1);
        self.total += 1;
    }

    /// The largest duration that counts at a place.
    fn top(at: usize) -> u64 {
        let (octave, step) = (at / STEPS, at % STEPS);
        let width = 1u64 << (octave as u32 + FIRST - 5);
        (1u64 << (octave as u32 + FIRST)) + width * (step as u64 + 1) - 1
    }

    /// The duration that this share of calls did not exceed, in nanoseconds.
    pub(crate) fn at_percentile(&self, percentile: f64) -> u64 {
        let wanted = ((percentile / 100.0 * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return Self::top(at);
            }
        }
        0
    }

    /// Microseconds and how many calls took at most that, at powers of two, where the number changes.
    pub(crate) fn powers(&self) -> Vec<(u64, u64)> {
        let mut seen = 0;
        let mut lines = Vec::new();
        for octave in 0..OCTAVES {
            // The first step of an octave still counts as its power of two.
            let from = if octave == 0 { 0 } else { (octave - 1) * STEPS + 1 };
            let new: u64 = self.counts[from..=octave * STEPS].iter().map(|n| u64::from(*n)).sum();
            if new > 0 {
                seen += new;
                let power = 1u64 << (octave as u32 + FIRST);
                lines.push(((power + power / 128 - 1) / 1000, seen));
            }
        }
        lines
    }
}

/// Counters since the start or `CONFIG RESETSTAT`.
#[derive(Debug)]
pub(crate) struct Stats {
    pub(crate) started_ms: i64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) expired_keys: u64,
    pub(crate) evicted_keys: u64,
    /// Keys that were freed on a thread of their own.
    pub(crate) lazyfreed: u64,
    pub(crate) connections: u64,
    pub(crate) rejected_connections: u64,
    pub(crate) commands: u64,
    pub(crate) input_bytes: u64,
    pub(crate) output_bytes: u64,
    pub(crate) error_replies: u64,
    pub(crate) per_command: Vec<CommandStats>,
    /// First word of an error and how often it was answered.
    pub(crate) errors: std::collections::BTreeMap<String, u64>,
    /// The next error was counted when a script's command failed with it.
    skip_error: bool,
}

impl Stats {
    pub(crate) fn new(now_ms: i64) -> Self {
        Stats {
            started_ms: now_ms,
            hits: 0,
            misses: 0,
            expired_keys: 0,
            evicted_keys: 0,
            lazyfreed: 0,
            connections: 0,
            rejected_connections: 0,
            commands: 0,
            input_bytes: 0,
            output_bytes: 0,
            error_replies: 0,
            per_command: vec![CommandStats::default(); TABLE.specs.len()],
            errors: std::collections::BTreeMap::new(),
            skip_error: false,
        }
    }

    pub(crate) fn of(&mut self, spec: &Spec) -> &mut CommandStats {
        &mut self.per_command[spec.id]
    }

    /// The error about to be replied has been counted.
    pub(crate) fn counted_already(&mut self) {
        self.skip_error = true;
    }

    /// Counts an error reply under its code.
    pub(crate) fn error(&mut self, text: &[u8]) {
        // Scripts choose their own codes: past this many the rest is one line.
        const CODES_MAX: usize = 128;
        if std::mem::take(&mut self.skip_error) {
            return;
        }
        self.error_replies += 1;
        let code = text.split(|b| *b == b' ').next().unwrap_or_default();
        let code = String::from_utf8_lossy(&code[..code.len().min(64)]).into_owned();
        if self.errors.len() < CODES_MAX || self.errors.contains_key(&code) {
            *self.errors.entry(code).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn percentiles_are_within_three_per_cent() {
        let mut times = Histogram::default();
        for micros in 1..=1000 {
            times.add(micros * 1000);
        }
        let half = times.at_percentile(50.0);
        assert!((500_000..=516_000).contains(&half), "{half}");
        assert!(times.at_percentile(100.0) >= 1_000_000);
    }

    #[test]
    fn powers_of_two_add_up() {
        let mut times = Histogram::default();
        for nanos in [500, 3_000, 3_000, 20_000] {
            times.add(nanos);
        }
        assert_eq!(times.powers(), [(1, 1), (4, 3), (33, 4)]);
    }
}
