//! Short words for what every test does: a queue at a fixed time, raw commands, claims.

use std::sync::Arc;
use std::time::Duration;

use jobs::{Claimed, Jobs, NewJob, Options, WorkerFacts};
use kernel::keyspace::Layout;
use kernel::{Cmd, Deadline, FakeClock, Store, Value, reply};

pub(crate) const NOW: u64 = 1_794_768_259_299;

pub(crate) struct Bed {
    pub(crate) jobs: Jobs,
    pub(crate) clock: FakeClock,
    pub(crate) store: Arc<dyn Store>,
}

pub(crate) fn bed(store: Arc<dyn Store>) -> Bed {
    bed_with(store, Options::default())
}

pub(crate) fn bed_with(store: Arc<dyn Store>, options: Options) -> Bed {
    let clock = FakeClock::at(NOW);
    let jobs = Jobs::new(store.clone(), Arc::new(clock.clone()), "bridge", Layout::Plain, options)
        .unwrap();
    Bed { jobs, clock, store }
}

pub(crate) fn worker(id: &str) -> WorkerFacts {
    WorkerFacts::new(id).unwrap()
}

pub(crate) fn job(kind: &str, id: &str) -> NewJob {
    NewJob::raw(kind, "{}").id(id)
}

impl Bed {
    pub(crate) async fn ask(&self, words: &[&str]) -> Value {
        let mut cmd = Cmd::new();
        for word in words {
            cmd.arg(*word);
        }
        let by = Deadline::after(Duration::from_secs(10));
        testkit::call_as_default(&*self.store, &cmd, by).await.unwrap()
    }

    /// One line of words, split at spaces; the answer as text.
    pub(crate) async fn line(&self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        show(&self.ask(&words).await)
    }

    pub(crate) async fn put(&self, job: NewJob) -> String {
        self.jobs.dispatch(job).await.unwrap().job.id
    }

    pub(crate) async fn claim(&self, facts: &WorkerFacts) -> Option<Claimed> {
        self.jobs.claim(facts, 1).await.unwrap().jobs.pop()
    }

    pub(crate) async fn claimed_id(&self, facts: &WorkerFacts) -> String {
        self.claim(facts).await.map_or_else(|| "-".to_owned(), |one| one.job.id)
    }

    pub(crate) async fn status(&self, id: &str) -> String {
        self.line(&format!("GET bridge:jobs:status:{id}")).await
    }

    pub(crate) fn pass(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }

    /// Event words with their ids, in order.
    pub(crate) async fn events(&self) -> String {
        let value = self.ask(&["XRANGE", "bridge:events:stream", "-", "+"]).await;
        let entries = reply::list(&value).unwrap_or_default().iter();
        let lines: Vec<String> = entries
            .map(|entry| {
                let fields = reply::list(entry).and_then(|parts| parts.get(1)).unwrap();
                let pairs = reply::pairs(fields).unwrap();
                let at = |n: usize| reply::text(pairs[n].1).unwrap_or_default();
                format!("{} {}", at(0), at(2))
            })
            .collect();
        lines.join(", ")
    }

    /// Every key and value of the namespace, without the events: what a foreign program sees.
    pub(crate) async fn dump(&self) -> String {
        self.dump_with("TTL", "s").await
    }

    /// The same with the instant at which each life ends: equal whenever nothing changed, however late it is asked.
    pub(crate) async fn state(&self) -> String {
        self.dump_with("PEXPIRETIME", "ms").await
    }

    async fn dump_with(&self, life: &str, unit: &str) -> String {
        let keys = self.ask(&["KEYS", "*"]).await;
        let mut names: Vec<String> = reply::list(&keys)
            .unwrap()
            .iter()
            .map(|key| reply::text(key).unwrap().to_owned())
            .filter(|key| !key.ends_with("events:stream"))
            .collect();
        names.sort_unstable();
        let mut lines = Vec::new();
        for key in names {
            let kind = show(&self.ask(&["TYPE", &key]).await);
            let value = match kind.as_str() {
                "string" => show(&self.ask(&["GET", &key]).await),
                "list" => show(&self.ask(&["LRANGE", &key, "0", "-1"]).await),
                "set" => {
                    let members = self.ask(&["SMEMBERS", &key]).await;
                    let mut all: Vec<String> =
                        reply::list(&members).unwrap().iter().map(show).collect();
                    all.sort_unstable();
                    format!("[{}]", all.join(" "))
                }
                "zset" => {
                    let value = self.ask(&["ZRANGE", &key, "0", "-1", "WITHSCORES"]).await;
                    let pairs = reply::pairs(&value).unwrap();
                    let all = pairs.iter().map(|(member, score)| {
                        format!("{}={}", show(member), reply::number(score).unwrap())
                    });
                    format!("[{}]", all.collect::<Vec<_>>().join(" "))
                }
                "hash" => {
                    let value = self.ask(&["HGETALL", &key]).await;
                    let pairs = reply::pairs(&value).unwrap();
                    let mut all: Vec<String> = pairs
                        .iter()
                        .map(|(name, value)| format!("{}={}", show(name), show(value)))
                        .collect();
                    all.sort_unstable();
                    format!("[{}]", all.join(" "))
                }
                other => other.to_owned(),
            };
            let left = reply::int(&self.ask(&[life, &key]).await).unwrap();
            let left = if left < 0 { String::new() } else { format!(" ({left} {unit})") };
            lines.push(format!("{key}{left} {value}"));
        }
        lines.join("\n") + "\n"
    }
}

pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::Nil => "-".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Array(items) | Value::Set(items) => {
            format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" "))
        }
        Value::Double(number) => number.to_string(),
        other => String::from_utf8_lossy(reply::bytes(other).unwrap_or(b"?")).into_owned(),
    }
}
