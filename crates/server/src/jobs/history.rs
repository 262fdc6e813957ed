//! The last minutes of a queue, second by second, in memory: what charts begin with. Counts come from the event
//! stream, so they are the same whichever process works, and a restarted server finds them again; sizes are sampled.
//! Bounded: seconds, types, and jobs whose begin is remembered.

use std::collections::{BTreeMap, HashMap, VecDeque};

use kernel::events::Envelope;
use serde::Serialize;

use super::columns::Columns;

/// Seconds that are kept.
pub(crate) const SECONDS: u64 = 900;
/// Types that are told apart; the rest counts together.
pub(crate) const TYPES: usize = 200;
/// Jobs whose begin is remembered until their end.
const OPEN: usize = 20_000;
/// Times of one second that are kept for its percentiles.
const TIMES: usize = 256;
/// Upper bounds of the histograms, milliseconds; the last bucket has none.
pub(crate) const BOUNDS: [u64; 15] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/// How many of what are there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) waiting: u64,
    pub(crate) active: u64,
    pub(crate) delayed: u64,
    pub(crate) dead: u64,
    pub(crate) workers: u64,
    pub(crate) oldest_ms: u64,
}

/// One second.
#[derive(Debug, Clone, Default)]
pub(super) struct Second {
    pub(super) sizes: Option<Sizes>,
    pub(super) dispatched: u32,
    pub(super) claimed: u32,
    pub(super) completed: u32,
    pub(super) failed: u32,
    pub(super) unread: u64,
    pub(super) latency: Vec<u32>,
    pub(super) duration: Vec<u32>,
}

/// One type since the server began to look.
#[derive(Debug, Clone, Default, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TypeTally {
    pub(crate) dispatched: u64,
    pub(crate) completed: u64,
    /// Attempts that failed, whatever came after.
    pub(crate) failed: u64,
    pub(crate) dead: u64,
    /// From ready to claimed: how many in each bucket of `boundsMs`.
    pub(crate) latency: [u64; BOUNDS.len() + 1],
    /// In the handler.
    pub(crate) duration: [u64; BOUNDS.len() + 1],
}

/// An event as numbers elsewhere need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) kind: String,
    pub(crate) event: &'static str,
    pub(crate) latency_ms: Option<u64>,
    pub(crate) duration_ms: Option<u64>,
}

/// The state of a job, as far as events told.
#[derive(Debug, Clone, Copy)]
struct Open {
    ready_at: u64,
    claimed_at: Option<u64>,
}

/// The last minutes of one namespace.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Unix second of the first one.
    first: u64,
    seconds: VecDeque<Second>,
    types: BTreeMap<String, TypeTally>,
    open: HashMap<String, Open>,
    /// The last sizes, and when they were right.
    now: Option<(u64, Sizes)>,
}

/// Events we count, as their streams spell them.
const COUNTED: &[&str] = &[
    "dispatched",
    "claimed",
    "completed",
    "failed",
    "dead",
    "retried",
    "recovered",
    "promoted",
    "requeued",
    "fired",
    "cancelled",
    "malformed",
    "orphan_requeued",
    "removed",
];

impl History {
    /// The second of a time, made when it is new; `None` when it is too old.
    fn second(&mut self, at_ms: u64) -> Option<&mut Second> {
        let second = at_ms / 1000;
        if self.seconds.is_empty() || second >= self.first + 2 * SECONDS + self.len() {
            self.first = second.saturating_sub(SECONDS - 1);
            self.seconds = (0..SECONDS).map(|_| Second::default()).collect();
        }
        while second >= self.first + self.len() {
            self.seconds.pop_front();
            self.seconds.push_back(Second::default());
            self.first += 1;
        }
        let index = usize::try_from(second.checked_sub(self.first)?).ok()?;
        self.seconds.get_mut(index)
    }

    fn len(&self) -> u64 {
        self.seconds.len() as u64
    }

    /// How many there are now.
    pub(crate) fn sample(&mut self, now_ms: u64, sizes: Sizes) {
        self.now = Some((now_ms, sizes));
        if let Some(second) = self.second(now_ms) {
            second.sizes = Some(sizes);
        }
    }

    /// Nobody uses the queue: its sizes are what they were.
    pub(crate) fn unchanged(&mut self, now_ms: u64) {
        if let Some((at, _)) = &mut self.now {
            *at = now_ms;
        }
    }

    /// The sizes, unless the last look is older than that.
    pub(crate) fn sizes(&self, not_before_ms: u64) -> Option<Sizes> {
        self.now.filter(|(at, _)| *at >= not_before_ms).map(|(_, sizes)| sizes)
    }

    /// How long jobs of the last `seconds` waited for a worker: the time that 95 of 100 kept. `None` when none began.
    pub(crate) fn waits_p95_ms(&self, now_ms: u64, seconds: u64) -> Option<u32> {
        let last = now_ms / 1000;
        let recent = (last.saturating_sub(seconds)..last)
            .filter_map(|at| self.seconds.get(usize::try_from(at.checked_sub(self.first)?).ok()?));
        let mut waits: Vec<u32> =
            recent.flat_map(|second| second.latency.iter().copied()).collect();
        waits.sort_unstable();
        super::columns::rank(&waits, 95)
    }

    /// Per second over the last `seconds`: dispatched, completed, failed attempts. `None` before the first look.
    pub(crate) fn flow(&self, now_ms: u64, seconds: u64) -> Option<[f64; 3]> {
        self.now?;
        let last = now_ms / 1000;
        let recent = (last.saturating_sub(seconds)..last)
            .filter_map(|at| self.seconds.get(usize::try_from(at.checked_sub(self.first)?).ok()?));
        let mut sums = [0_u32; 3];
        for second in recent {
            for (sum, more) in
                sums.iter_mut().zip([second.dispatched, second.completed, second.failed])
            {
                *sum += more;
            }
        }
        #[allow(clippy::cast_precision_loss)] // Some seconds.
        Some(sums.map(|sum| f64::from(sum) / seconds.max(1) as f64))
    }

    /// The number of events that came and went before they could be read.
    pub(crate) fn missed(&mut self, now_ms: u64, count: u64) {
        if let Some(second) = self.second(now_ms) {
            second.unread += count;
        }
    }

    /// One event, heard at `now_ms`.
    pub(crate) fn hear(&mut self, now_ms: u64, event: &Envelope) -> Option<Fact> {
        let name = COUNTED.iter().find(|name| **name == event.kind)?;
        let body: Body = serde_json::from_str(event.body.get()).unwrap_or_default();
        let kind = self.name(body.kind.as_deref().unwrap_or("unknown"));
        // A foreign clock must not move ours.
        let (at, id) = (event.at.min(now_ms), event.id.as_str());
        let mut fact = Fact { kind, event: name, latency_ms: None, duration_ms: None };
        match *name {
            "dispatched" | "promoted" | "recovered" | "requeued" | "orphan_requeued" | "fired" => {
                self.begin(id, at);
            }
            "claimed" => {
                if let Some(open) = self.open.get_mut(id) {
                    fact.latency_ms = Some(at.saturating_sub(open.ready_at));
                    open.claimed_at = Some(at);
                } else {
                    self.begin(id, at);
                    if let Some(open) = self.open.get_mut(id) {
                        open.claimed_at = Some(at);
                    }
                }
            }
            "completed" | "failed" | "dead" | "retried" => {
                let open = self.open.remove(id);
                let seen =
                    open.and_then(|open| open.claimed_at).map(|from| at.saturating_sub(from));
                fact.duration_ms = body.took_ms.or(seen);
                if *name == "retried" {
                    self.begin(id, body.run_at.unwrap_or(at).max(at));
                }
            }
            _ => {
                self.open.remove(id);
            }
        }
        self.count(at, &fact);
        Some(fact)
    }

    fn begin(&mut self, id: &str, ready_at: u64) {
        if self.open.len() >= OPEN {
            // Whoever never came back: the numbers of a second are worth less than the memory.
            self.open.clear();
        }
        self.open.insert(id.to_owned(), Open { ready_at, claimed_at: None });
    }

    fn name(&self, kind: &str) -> String {
        let known = self.types.contains_key(kind) || self.types.len() < TYPES;
        if known { kind.to_owned() } else { "other".to_owned() }
    }

    fn count(&mut self, at: u64, fact: &Fact) {
        let tally = self.types.entry(fact.kind.clone()).or_default();
        if let Some(ms) = fact.latency_ms {
            tally.latency[bucket(ms)] += 1;
        }
        if let Some(ms) = fact.duration_ms {
            tally.duration[bucket(ms)] += 1;
        }
        match fact.event {
            "dispatched" => tally.dispatched += 1,
            "completed" => tally.completed += 1,
            "dead" => {
                tally.dead += 1;
                tally.failed += 1;
            }
            "failed" | "retried" => tally.failed += 1,
            _ => {}
        }
        let Some(second) = self.second(at) else { return };
        match fact.event {
            "dispatched" => second.dispatched += 1,
            "claimed" => second.claimed += 1,
            "completed" => second.completed += 1,
            "failed" | "dead" | "retried" => second.failed += 1,
            _ => {}
        }
        for (times, ms) in
            [(&mut second.latency, fact.latency_ms), (&mut second.duration, fact.duration_ms)]
        {
            if let Some(ms) = ms.filter(|_| times.len() < TIMES) {
                times.push(u32::try_from(ms).unwrap_or(u32::MAX));
            }
        }
    }

    /// Jobs that were heard of and have not ended, whose id holds these words.
    pub(crate) fn ids_like(&self, words: &str, most: usize) -> Vec<String> {
        let mut like: Vec<_> = self.open.keys().filter(|id| id.contains(words)).cloned().collect();
        like.sort_unstable();
        like.truncate(most);
        like
    }

    /// Types that were heard of, whose name holds these words.
    pub(crate) fn types_like(&self, words: &str, most: usize) -> Vec<String> {
        let words = words.to_lowercase();
        let holds = |kind: &&String| kind.to_lowercase().contains(&words);
        self.types.keys().filter(holds).take(most).cloned().collect()
    }

    /// One type, as far as it was seen.
    pub(crate) fn of_type(&self, kind: &str) -> Option<&TypeTally> {
        self.types.get(kind)
    }

    /// Completed and failed attempts per second, over the last ten whole seconds.
    pub(crate) fn rates(&self, now_ms: u64) -> (f64, f64) {
        let last = (now_ms / 1000).saturating_sub(1);
        let (mut done, mut failed) = (0, 0);
        for second in last.saturating_sub(9)..=last {
            let index = second.checked_sub(self.first).and_then(|n| usize::try_from(n).ok());
            if let Some(second) = index.and_then(|index| self.seconds.get(index)) {
                done += second.completed;
                failed += second.failed;
            }
        }
        (f64::from(done) / 10.0, f64::from(failed) / 10.0)
    }

    /// The last `seconds`, as columns. A size that nobody sampled is null.
    pub(crate) fn columns(&mut self, now_ms: u64, seconds: u64) -> Columns {
        // The newest second is still filling and is left out.
        let _ = self.second(now_ms);
        let count = seconds.min(SECONDS - 1);
        let mut columns = Columns { every_ms: 1000, ..Columns::default() };
        let last = now_ms / 1000;
        for at in last.saturating_sub(count)..last {
            let index = at.checked_sub(self.first).and_then(|n| usize::try_from(n).ok());
            let Some(second) = index.and_then(|index| self.seconds.get_mut(index)) else {
                continue;
            };
            columns.push(at * 1000, second);
        }
        columns
    }
}

#[derive(Default, serde::Deserialize)]
struct Body {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(rename = "took")]
    took_ms: Option<u64>,
    #[serde(rename = "runAt")]
    run_at: Option<u64>,
}

fn bucket(ms: u64) -> usize {
    BOUNDS.iter().position(|bound| ms <= *bound).unwrap_or(BOUNDS.len())
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    const NOW: u64 = 10_000_000;

    fn event(at: u64, kind: &str, id: &str, body: &str) -> Envelope {
        Envelope {
            module: "jobs".into(),
            scope: Some("bridge".into()),
            seq: "1-0".parse().unwrap(),
            at,
            kind: kind.into(),
            id: id.into(),
            body: RawValue::from_string(body.into()).unwrap(),
            place: kernel::events::KnownPlace::default(),
        }
    }

    #[test]
    fn a_job_gives_its_second_a_count_a_latency_and_a_duration() {
        let mut history = History::default();
        let email = r#"{"type":"email"}"#;
        history.hear(NOW, &event(100_000, "dispatched", "a", email));
        let claimed = history.hear(NOW, &event(100_040, "claimed", "a", email)).unwrap();
        assert_eq!(claimed.latency_ms, Some(40));
        let done = history.hear(NOW, &event(100_140, "completed", "a", email)).unwrap();
        assert_eq!(done.duration_ms, Some(100));
        let columns = history.columns(102_000, 3);
        assert_eq!(columns.at, [99_000, 100_000, 101_000]);
        assert_eq!(columns.completed, [0, 1, 0]);
        assert_eq!(columns.latency_p95_ms, [None, Some(40), None]);
        let tally = history.of_type("email").unwrap();
        assert_eq!((tally.completed, tally.latency[5], tally.duration[6]), (1, 1, 1));
        assert_eq!(history.rates(102_000), (0.1, 0.0));
    }

    #[test]
    fn a_retry_counts_its_wait_from_the_time_it_is_due() {
        let mut history = History::default();
        history.hear(NOW, &event(1_000_000, "claimed", "a", r#"{"type":"t"}"#));
        history.hear(
            NOW,
            &event(1_000_010, "retried", "a", r#"{"type":"t","took":7,"runAt":1002000}"#),
        );
        let fact = history.hear(NOW, &event(1_002_005, "claimed", "a", r#"{"type":"t"}"#)).unwrap();
        assert_eq!(fact.latency_ms, Some(5));
        assert_eq!(history.of_type("t").unwrap().failed, 1);
    }

    #[test]
    fn sizes_are_kept_for_fifteen_minutes_and_gaps_are_null() {
        let mut history = History::default();
        let sizes = Sizes { waiting: 7, ..Sizes::default() };
        history.sample(5_000_000, sizes);
        history.sample(5_002_000, sizes);
        assert_eq!(history.columns(5_003_500, 3).waiting, [Some(7), None, Some(7)]);
        assert_eq!(history.columns(5_003_500, 10_000).at.len(), 899);
        history.sample(9_000_000, sizes);
        assert_eq!(history.columns(9_001_000, 899).waiting.iter().flatten().count(), 1);
        assert_eq!(history.seconds.len(), 900);
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let mut history = History::default();
        for n in 0..OPEN + 10 {
            let body = format!(r#"{{"type":"t{n}"}}"#);
            history.hear(NOW, &event(1_000_000, "dispatched", &n.to_string(), &body));
        }
        assert!(history.open.len() <= OPEN && history.types.len() <= TYPES + 1);
        assert!(history.hear(NOW, &event(u64::MAX, "completed", "x", "{}")).is_some());
        assert!(history.hear(NOW, &event(0, "completed", "x", "\"no object\"")).is_some());
    }
}
