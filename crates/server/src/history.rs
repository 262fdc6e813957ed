//! Short histories for the charts: the last five minutes by five seconds and the last day by five minutes, in memory.
//! Rates of events and sizes of queues are the store's, so every server tells the same of the time it has run. Memory,
//! latencies and ticks are those of this server, and the answer names it. The memory is bounded: a series has 60 and 288
//! points, and there are at most [`SERIES`] series. A point that nobody measured is `None`, never zero.

mod latencies;
mod sampler;

use parking_lot::Mutex;
use serde::Serialize;

pub(crate) use latencies::Latencies;
pub(crate) use sampler::keep;

/// Series that are kept; more would be a server with very many namespaces.
const SERIES: usize = 256;

/// How far back, and how fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grain {
    /// Milliseconds of one point.
    pub(crate) every_ms: u64,
    /// Points that are kept.
    pub(crate) points: usize,
}

/// Five minutes by five seconds.
pub(crate) const MINUTES: Grain = Grain { every_ms: 5_000, points: 60 };
/// A day by five minutes.
pub(crate) const DAY: Grain = Grain { every_ms: 300_000, points: 288 };

/// The unit of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// A number per second.
    PerSecond,
    /// A number at that time.
    Count,
    /// Milliseconds; of several measurements the longest counts.
    Ms,
    /// Bytes at that time.
    Bytes,
}

/// The owner of a number: the store or one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Whose {
    /// The same on every server that shares the store.
    Store,
    /// Of the server that answers.
    Server,
}

/// One measurement of one series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    /// Which number.
    pub(crate) name: &'static str,
    /// Whose it is.
    pub(crate) module: &'static str,
    /// Namespace of jobs, where there is one.
    pub(crate) scope: Option<String>,
    pub(crate) unit: Unit,
    pub(crate) whose: Whose,
    pub(crate) value: f64,
}

impl Sample {
    /// Of the store, without a scope.
    pub(crate) fn store(module: &'static str, name: &'static str, unit: Unit, value: f64) -> Self {
        Sample { name, module, scope: None, unit, whose: Whose::Store, value }
    }

    /// Of this server.
    pub(crate) fn server(module: &'static str, name: &'static str, unit: Unit, value: f64) -> Self {
        Sample { whose: Whose::Server, ..Sample::store(module, name, unit, value) }
    }

    /// The same, of one scope.
    pub(crate) fn scope(self, scope: &str) -> Self {
        Sample { scope: Some(scope.to_owned()), ..self }
    }
}

/// Points of one grain: slot `n` holds the time `n * every_ms`.
#[derive(Debug, Clone)]
struct Ring {
    grain: Grain,
    /// Number of the newest slot.
    last: u64,
    points: Vec<Folded>,
}

/// The measurements of one slot.
#[derive(Debug, Clone, Copy, Default)]
struct Folded {
    sum: f64,
    most: f64,
    count: u32,
}

impl Ring {
    fn new(grain: Grain) -> Self {
        Ring { grain, last: 0, points: vec![Folded::default(); grain.points] }
    }

    fn index(&self, slot: u64) -> usize {
        usize::try_from(slot % self.grain.points as u64).unwrap_or(0)
    }

    /// Adds to the slot of a time; a time before the oldest slot is left out.
    fn add(&mut self, at_ms: u64, value: f64) {
        let slot = at_ms / self.grain.every_ms;
        let points = self.grain.points as u64;
        if slot > self.last {
            for gone in slot.saturating_sub(points).max(self.last) + 1..=slot {
                let index = self.index(gone);
                self.points[index] = Folded::default();
            }
            self.last = slot;
        } else if slot + points <= self.last {
            return;
        }
        let index = self.index(slot);
        let folded = &mut self.points[index];
        folded.most = if folded.count == 0 { value } else { folded.most.max(value) };
        folded.sum += value;
        folded.count += 1;
    }

    /// The points up to a slot, which is left out, oldest first.
    fn read(&self, until: u64, unit: Unit) -> Vec<Option<f64>> {
        let points = self.grain.points as u64;
        let known = |slot: u64| slot <= self.last && slot + points > self.last;
        (until.saturating_sub(points)..until)
            .map(|slot| {
                let folded = self.points[self.index(slot)];
                let value = match unit {
                    Unit::Ms => folded.most,
                    _ => folded.sum / f64::from(folded.count),
                };
                (known(slot) && folded.count > 0).then_some(value)
            })
            .collect()
    }
}

/// One series, in both grains.
#[derive(Debug)]
struct Kept {
    name: &'static str,
    module: &'static str,
    scope: Option<String>,
    unit: Unit,
    whose: Whose,
    minutes: Ring,
    day: Ring,
}

/// One series as charts take it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Series {
    /// Which number, such as `events`, `waiting`, `tick`.
    name: &'static str,
    /// A module's name, or `server`.
    module: &'static str,
    /// Namespace of jobs, where there is one.
    scope: Option<String>,
    unit: Unit,
    whose: Whose,
    /// One number per point, the oldest first; null where nothing was measured. In the day's grain a point is the mean of
    /// its measurements, and for milliseconds the longest.
    points: Vec<Option<f64>>,
}

/// All histories of one server.
#[derive(Default)]
pub(crate) struct Histories {
    series: Mutex<Vec<Kept>>,
    /// Time to the head of an answer.
    pub(crate) requests: Latencies,
    /// Round trips to the store.
    pub(crate) store: Latencies,
}

impl Histories {
    /// Adds a measurement of the time `at_ms`, in both grains.
    pub(crate) fn add(&self, at_ms: u64, sample: &Sample) {
        if !sample.value.is_finite() {
            return;
        }
        let mut all = self.series.lock();
        let same = |one: &Kept| {
            one.name == sample.name && one.module == sample.module && one.scope == sample.scope
        };
        let found = all.iter().position(same).or_else(|| {
            (all.len() < SERIES).then(|| {
                all.push(Kept {
                    name: sample.name,
                    module: sample.module,
                    scope: sample.scope.clone(),
                    unit: sample.unit,
                    whose: sample.whose,
                    minutes: Ring::new(MINUTES),
                    day: Ring::new(DAY),
                });
                all.len() - 1
            })
        });
        let Some(one) = found.and_then(|at| all.get_mut(at)) else { return };
        one.minutes.add(at_ms, sample.value);
        one.day.add(at_ms, sample.value);
    }

    /// Every series up to now, and the time of the first point. The slot that still fills is left out, except in the day's
    /// grain, where five minutes would be long to wait.
    pub(crate) fn read(&self, now_ms: u64, grain: Grain) -> (u64, Vec<Series>) {
        let until = now_ms / grain.every_ms + u64::from(grain == DAY);
        let from = until.saturating_sub(grain.points as u64) * grain.every_ms;
        let kept = self.series.lock();
        let series = kept.iter().map(|one| Series {
            name: one.name,
            module: one.module,
            scope: one.scope.clone(),
            unit: one.unit,
            whose: one.whose,
            points: if grain == DAY { &one.day } else { &one.minutes }.read(until, one.unit),
        });
        (from, series.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn points(all: &Histories, now: u64, grain: Grain) -> Vec<Option<f64>> {
        all.read(now, grain).1.remove(0).points
    }

    #[test]
    fn a_point_that_nobody_measured_is_a_gap() {
        let all = Histories::default();
        let sample = Sample::store("jobs", "events", Unit::PerSecond, 2.0);
        all.add(NOW, &sample);
        all.add(NOW + 10_000, &sample);
        let seen = points(&all, NOW + 15_000, MINUTES);
        assert_eq!(seen.len(), 60);
        assert_eq!(seen[57..], [Some(2.0), None, Some(2.0)]);
        assert_eq!(all.read(NOW + 15_000, MINUTES).0 + 59 * 5_000, NOW + 10_000);
        assert!(points(&all, NOW + 400_000, MINUTES).iter().all(Option::is_none), "it is over");
    }

    #[test]
    fn a_day_folds_five_minutes_into_one_point() {
        let all = Histories::default();
        let start = NOW - NOW % DAY.every_ms;
        for n in 0..60_u32 {
            let at = start + u64::from(n) * 5_000;
            all.add(at, &Sample::server("server", "request", Unit::Ms, f64::from(n)));
            all.add(at, &Sample::store("jobs", "waiting", Unit::Count, f64::from(n)));
        }
        let (from, series) = all.read(start + 300_000, DAY);
        assert_eq!(from + 286 * 300_000, start);
        assert_eq!(series[0].points[286..], [Some(59.0), None], "the longest counts");
        assert_eq!(series[1].points[286..], [Some(29.5), None], "the mean counts");
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let all = Histories::default();
        for n in 0..1_000 {
            let sample = Sample::store("jobs", "waiting", Unit::Count, 1.0).scope(&n.to_string());
            all.add(NOW, &sample);
        }
        assert_eq!(all.read(NOW, DAY).1.len(), SERIES);
        let sample = Sample::store("jobs", "waiting", Unit::Count, 1.0).scope("0");
        all.add(u64::MAX, &sample);
        all.add(0, &sample);
        all.add(NOW, &Sample { value: f64::NAN, ..sample });
    }
}
