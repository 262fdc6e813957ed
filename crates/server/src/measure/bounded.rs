//! A recorder in front of the exporter that lets only metrics of the table through, and of each label only as many
//! values as the table allows. A value beyond that is `other`, so no caller can make the page or our memory grow.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Label as Given, Metadata, Recorder, SharedString, Unit,
};
use parking_lot::RwLock;

use super::table::{Kind, METRICS, Metric, NAMESPACE};

/// The label for a value that is not.
const OTHER: &str = "other";
/// Longer values are `other`.
const LONGEST: usize = 128;

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), metrics::Level::INFO, Some(module_path!()));

struct Row {
    metric: &'static Metric,
    /// Values seen beside the words, for each label.
    seen: Vec<RwLock<HashSet<String>>>,
}

pub(super) struct Bounded<R> {
    inner: R,
    rows: HashMap<&'static str, Row>,
}

impl<R: Recorder> Bounded<R> {
    pub(super) fn new(inner: R) -> Self {
        let row = |metric: &'static Metric| {
            (
                metric.name,
                Row { metric, seen: metric.labels.iter().map(|_| RwLock::default()).collect() },
            )
        };
        let bounded = Bounded { inner, rows: METRICS.iter().map(row).collect() };
        for metric in METRICS {
            let (name, about) = (KeyName::from_const_str(metric.name), metric.about.into());
            match metric.kind {
                Kind::Counter => bounded.inner.describe_counter(name, None, about),
                Kind::Gauge => bounded.inner.describe_gauge(name, None, about),
                Kind::Histogram => bounded.inner.describe_histogram(name, None, about),
            }
        }
        bounded
    }

    /// The key as it is shown; `None` for a metric that the table does not have.
    fn shown<'a>(&self, key: &'a Key) -> Option<Cow<'a, Key>> {
        let row = self.rows.get(key.name());
        debug_assert!(row.is_some(), "{} is not in the table of metrics", key.name());
        let row = row?;
        let given: Vec<&Given> = key.labels().collect();
        let mut values = Vec::with_capacity(given.len());
        let (mut changed, mut fresh) = (given.len() != row.metric.labels.len(), false);
        for (label, seen) in row.metric.labels.iter().zip(&row.seen) {
            let value = given.iter().find(|one| one.key() == label.name).map(|one| one.value());
            debug_assert!(value.is_some(), "{} comes without its {}", key.name(), label.name);
            let value = value.unwrap_or(OTHER);
            let room = if label.words.contains(&value) {
                Room::Known
            } else {
                room(seen, value, label.more)
            };
            changed |= matches!(room, Room::Full);
            fresh |= matches!(room, Room::Fresh);
            values.push(if matches!(room, Room::Full) { OTHER } else { value });
        }
        if fresh && row.metric.kind == Kind::Counter {
            self.beside(row.metric, &values);
        }
        Some(if changed { Cow::Owned(key_of(row.metric, &values)) } else { Cow::Borrowed(key) })
    }

    /// With a new value, counters of all words beside it begin at zero.
    fn beside(&self, metric: &'static Metric, values: &[&str]) {
        let choices = metric.labels.iter().zip(values);
        let choices =
            choices.map(
                |(label, value)| {
                    if label.more == 0 { label.words.to_vec() } else { vec![*value] }
                },
            );
        for values in products(choices) {
            drop(self.inner.register_counter(&key_of(metric, &values), &METADATA));
        }
    }
}

enum Room {
    Known,
    Fresh,
    Full,
}

/// Whether a value has its place among those seen, or gets one.
fn room(seen: &RwLock<HashSet<String>>, value: &str, most: usize) -> Room {
    if seen.read().contains(value) {
        return Room::Known;
    }
    if value.len() > LONGEST {
        return Room::Full;
    }
    let mut seen = seen.write();
    if seen.contains(value) {
        return Room::Known;
    }
    if seen.len() >= most {
        return Room::Full;
    }
    seen.insert(value.to_owned());
    Room::Fresh
}

fn key_of(metric: &'static Metric, values: &[&str]) -> Key {
    let labels = metric.labels.iter().zip(values);
    let labels: Vec<Given> =
        labels.map(|(label, value)| Given::new(label.name, (*value).to_owned())).collect();
    Key::from_parts(metric.name, labels)
}

/// Every choice of one value each.
fn products<'a>(choices: impl Iterator<Item = Vec<&'a str>>) -> Vec<Vec<&'a str>> {
    choices.fold(vec![Vec::new()], |before, next| {
        let longer = |start: &Vec<&'a str>| {
            let start = start.clone();
            next.iter().map(move |value| [start.clone(), vec![*value]].concat()).collect::<Vec<_>>()
        };
        before.iter().flat_map(longer).collect()
    })
}

/// Metrics of the server and these modules begin at zero, for every value that is known now. Gauges with labels wait
/// for their first look, since a zero there would be a guess.
pub(super) fn begin(modules: &[&str], namespaces: &[String]) {
    let counts = |metric: &&Metric| metric.module.is_empty() || modules.contains(&metric.module);
    for metric in METRICS.iter().filter(counts) {
        let choices = metric.labels.iter().map(|label| {
            if label.name == NAMESPACE {
                namespaces.iter().map(String::as_str).collect()
            } else {
                label.words.to_vec()
            }
        });
        for values in products(choices) {
            let key = key_of(metric, &values);
            metrics::with_recorder(|recorder| match metric.kind {
                Kind::Counter => drop(recorder.register_counter(&key, &METADATA)),
                Kind::Gauge if metric.labels.is_empty() => {
                    drop(recorder.register_gauge(&key, &METADATA));
                }
                Kind::Gauge => {}
                Kind::Histogram => drop(recorder.register_histogram(&key, &METADATA)),
            });
        }
    }
}

impl<R: Recorder> Recorder for Bounded<R> {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, about: SharedString) {
        self.inner.describe_counter(key, unit, about);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, about: SharedString) {
        self.inner.describe_gauge(key, unit, about);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, about: SharedString) {
        self.inner.describe_histogram(key, unit, about);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        let key = self.shown(key);
        key.map_or_else(Counter::noop, |key| self.inner.register_counter(&key, metadata))
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        let key = self.shown(key);
        key.map_or_else(Gauge::noop, |key| self.inner.register_gauge(&key, metadata))
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        let key = self.shown(key);
        key.map_or_else(Histogram::noop, |key| self.inner.register_histogram(&key, metadata))
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    fn lines(name: &str, count: impl Fn()) -> Vec<String> {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&Bounded::new(recorder), count);
        let text = handle.render();
        text.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect()
    }

    #[test]
    fn a_label_has_as_many_values_as_the_table_allows_and_other() {
        let told = lines("jobs_duration_seconds_count", || {
            for n in 0..5_000 {
                let labels = [("ns", "bridge".to_owned()), ("type", format!("made-up-{n}"))];
                metrics::histogram!("jobs_duration_seconds", &labels).record(1.0);
            }
            let labels = [("ns", "bridge".to_owned()), ("type", "x".repeat(1_000_000))];
            metrics::histogram!("jobs_duration_seconds", &labels).record(1.0);
        });
        assert_eq!(told.len(), 201, "{told:?}");
        assert!(told.iter().any(|line| line.contains("\"other\"} 4801")), "{told:?}");
    }

    #[test]
    fn a_new_job_type_begins_with_every_outcome_at_zero() {
        let told = lines("jobs_total", || {
            metrics::counter!("jobs_total", "ns" => "bridge", "type" => "mail", "outcome" => "failed")
                .increment(1);
        });
        assert_eq!(told.len(), 5, "{told:?}");
        assert_eq!(told.iter().filter(|line| line.ends_with(" 0")).count(), 4, "{told:?}");
    }

    #[test]
    fn counters_begin_at_zero() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&Bounded::new(recorder), || {
            begin(&["rooms", "jobs"], &["bridge".to_owned()]);
        });
        let text = handle.render();
        for line in [
            "worldkeep_panics_total 0",
            "worldkeep_rooms_created_total 0",
            "worldkeep_rooms_closes_total{cause=\"forced\"} 0",
            "jobs_recovered_total{ns=\"bridge\"} 0",
            "worldkeep_rooms_step_seconds_count 0",
        ] {
            assert!(text.lines().any(|told| told == line), "no {line} in {text}");
        }
        assert!(!text.contains("worldkeep_galaxy_"), "a module that is off counts nothing");
    }
}
