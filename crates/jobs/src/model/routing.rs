//! Which worker may run a job: the rules of the claim scripts as a pure function, for "why is this job not
//! running" and for tests that hold the scripts to it.
//!
//! Always true: a `server` decides alone; otherwise every criterion given must hold, and `mode` only changes
//! what holding means inside one criterion.

use kernel::{Said, Wording};
use serde::Serialize;
use serde_json::Value;

use crate::model::{Worker, WorkerFacts};
use crate::said;

/// The facts that a worker tells the claim script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The worker's id.
    pub server_id: String,
    /// The worker's stacks, the main one first.
    pub stack: Vec<String>,
    /// The worker's regions, the main one first.
    pub region: Vec<String>,
    /// The worker's capabilities.
    pub capabilities: Vec<String>,
    /// The types it has handlers for; `None` takes any.
    pub types: Option<Vec<String>>,
}

impl From<&WorkerFacts> for Facts {
    fn from(facts: &WorkerFacts) -> Facts {
        Facts {
            server_id: facts.server_id.clone(),
            stack: vec![facts.stack.clone()],
            region: facts.region.iter().cloned().collect(),
            capabilities: facts.capabilities.clone(),
            types: facts.types.clone(),
        }
    }
}

impl From<&Worker> for Facts {
    fn from(worker: &Worker) -> Facts {
        Facts {
            server_id: worker.server_id.clone(),
            stack: vec![worker.stack.clone()],
            region: worker.region.iter().cloned().collect(),
            capabilities: worker.capabilities.clone(),
            types: worker.types.clone(),
        }
    }
}

/// One list of a target. An entry that is no text matches nothing.
type Listed = Vec<Option<String>>;

/// A job's `target`, read as the claim of our workers reads it: what has a wrong JSON type is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Route {
    server: Option<String>,
    stack: Listed,
    capabilities: Listed,
    region: Listed,
    all: bool,
    /// The job's type, when the whole job was read.
    kind: Option<String>,
    /// Workers that must not run it again.
    exclude: Vec<String>,
}

/// Why a worker may not run a job: one criterion that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Miss {
    /// `type`, `exclude`, `server`, `stack`, `capabilities` or `region`.
    pub criterion: &'static str,
    /// A sentence with the need of the job that this worker does not meet.
    pub sentence: String,
    /// The same for pages.
    pub said: Said,
}

impl Miss {
    fn new(criterion: &'static str, said: Said) -> Self {
        Miss { criterion, sentence: said.sentence(), said }
    }
}

impl Route {
    /// Reads the `target` of a job.
    pub fn of(target: &Value) -> Route {
        let list = |name: &str| -> Listed {
            let items = target.get(name).and_then(Value::as_array);
            let text = |item: &Value| item.as_str().map(str::to_owned);
            items.map(|items| items.iter().map(text).collect()).unwrap_or_default()
        };
        let server = target.get("server").and_then(Value::as_str).filter(|id| !id.is_empty());
        let mode = target.get("mode").and_then(Value::as_str);
        Route {
            server: server.map(str::to_owned),
            stack: list("stack"),
            capabilities: list("capabilities"),
            region: list("region"),
            // Any unknown mode counts as `all`, as in the seed's script.
            all: mode.is_some_and(|mode| mode != "any"),
            kind: None,
            exclude: Vec::new(),
        }
    }

    /// Reads a job's stored text: its target, its type, and the workers that must not run it. A
    /// text that cannot be read has none of them.
    pub fn of_job(text: &str) -> Route {
        let job: Value = serde_json::from_str(text).unwrap_or_default();
        let target = job.get("target").map(Route::of).unwrap_or_default();
        let exclude = job.pointer("/x/exclude").and_then(Value::as_array);
        let text = |item: &Value| item.as_str().map(str::to_owned);
        Route {
            kind: job.get("type").and_then(text),
            exclude: exclude.into_iter().flatten().filter_map(text).collect(),
            ..target
        }
    }

    /// Whether that worker may run the job.
    pub fn admits(&self, worker: &Facts) -> bool {
        self.misses(worker).is_empty()
    }

    /// Every criterion that keeps that worker from the job.
    pub fn misses(&self, worker: &Facts) -> Vec<Miss> {
        let mut misses = Vec::new();
        if let (Some(kind), Some(types)) = (&self.kind, &worker.types)
            && !types.contains(kind)
        {
            let said = said::NO_HANDLER.say().with("type", kind.as_str());
            misses.push(Miss::new("type", said));
        }
        if self.exclude.contains(&worker.server_id) {
            misses.push(Miss::new("exclude", said::EXCLUDED.say()));
        }
        if let Some(server) = &self.server {
            if *server != worker.server_id {
                let said = said::ONLY.say().with("worker", server.as_str());
                misses.push(Miss::new("server", said));
            }
            return misses;
        }
        if !self.place(&self.stack, &worker.stack) {
            misses.push(miss("stack", said::WANTS_ONE, &self.stack));
        }
        if !self.capable(&worker.capabilities) {
            let (wanted, word) = if self.all {
                (self.lacking(&worker.capabilities), said::WANTS_ALSO)
            } else {
                (self.capabilities.clone(), said::WANTS_ONE)
            };
            misses.push(miss("capabilities", word, &wanted));
        }
        if !self.place(&self.region, &worker.region) {
            misses.push(miss("region", said::WANTS_ONE, &self.region));
        }
        misses
    }

    /// Stack and region: shared in mode `any`; in mode `all` the worker's first one is listed.
    fn place(&self, listed: &Listed, has: &[String]) -> bool {
        listed.is_empty()
            || if self.all {
                has.first().is_some_and(|own| lists(listed, own))
            } else {
                shares(listed, has)
            }
    }

    fn capable(&self, has: &[String]) -> bool {
        self.capabilities.is_empty()
            || if self.all { self.lacking(has).is_empty() } else { shares(&self.capabilities, has) }
    }

    fn lacking(&self, has: &[String]) -> Listed {
        let held = |item: &Option<String>| item.as_ref().is_some_and(|item| has.contains(item));
        self.capabilities.iter().filter(|item| !held(item)).cloned().collect()
    }
}

fn lists(listed: &Listed, own: &str) -> bool {
    listed.iter().flatten().any(|item| item == own)
}

fn shares(listed: &Listed, has: &[String]) -> bool {
    has.iter().any(|own| lists(listed, own))
}

fn miss(criterion: &'static str, wants: &'static Wording, listed: &Listed) -> Miss {
    let names: Vec<&str> =
        listed.iter().map(|item| item.as_deref().unwrap_or("(not a text)")).collect();
    Miss::new(criterion, wants.say().with("names", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn facts(stack: &[&str], region: &[&str], capabilities: &[&str]) -> Facts {
        let own = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        Facts {
            server_id: "w1".to_owned(),
            stack: own(stack),
            region: own(region),
            capabilities: own(capabilities),
            types: None,
        }
    }

    /// The table of the specification, which was measured on the seed's own script.
    #[test]
    fn the_measured_table_holds() {
        let worker = facts(&["node"], &["us-east"], &["email", "gpu"]);
        let two = facts(&["node"], &["eu", "us-east"], &[]);
        for (target, of, runs) in [
            (json!({}), &worker, true),
            (json!({"mode": "all"}), &worker, true),
            (json!({"stack": [], "capabilities": [], "region": []}), &worker, true),
            (json!({"server": "w1", "stack": ["python"]}), &worker, true),
            (json!({"server": "w2"}), &worker, false),
            (json!({"server": ""}), &worker, true),
            (json!({"stack": ["node", "python"]}), &worker, true),
            (json!({"stack": ["node", "python"], "mode": "all"}), &worker, true),
            (json!({"capabilities": ["gpu", "tpu"]}), &worker, true),
            (json!({"capabilities": ["gpu", "tpu"], "mode": "all"}), &worker, false),
            (json!({"capabilities": ["gpu", "tpu"], "mode": "most"}), &worker, false),
            (json!({"capabilities": ["gpu", "email"], "mode": "all"}), &worker, true),
            (json!({"region": ["us-east", "eu"], "mode": "all"}), &worker, true),
            (json!({"stack": ["node"], "region": ["eu"], "mode": "any"}), &worker, false),
            (json!({"stack": ["Node"]}), &worker, false),
            (json!({"region": ["us-east"]}), &two, true),
            (json!({"region": ["us-east"], "mode": "all"}), &two, false),
        ] {
            assert_eq!(Route::of(&target).admits(of), runs, "{target}");
        }
    }

    #[test]
    fn wrong_json_types_are_absent() {
        let worker = facts(&["node"], &[], &[]);
        for target in [
            json!(null),
            json!("x"),
            json!({"server": null}),
            json!({"server": 5}),
            json!({"stack": "node"}),
            json!({"stack": null, "region": {"a": "b"}, "mode": 5}),
        ] {
            assert!(Route::of(&target).admits(&worker), "{target}");
        }
        assert!(
            !Route::of(&json!({"stack": [1]})).admits(&worker),
            "a list of no texts is a criterion"
        );
        assert!(Route::of_job("{").admits(&worker));
        assert!(!Route::of_job(r#"{"target":{"region":["eu"]}}"#).admits(&worker));
    }

    #[test]
    fn every_miss_is_told() {
        let worker = facts(&["node"], &["eu"], &["email"]);
        let target = json!({"stack": ["rust"], "capabilities": ["email", "gpu"], "region": ["us"], "mode": "all"});
        let job = json!({"type": "email", "target": target, "x": {"exclude": ["w1"]}});
        let worker = Facts { types: Some(vec!["sms".to_owned()]), ..worker };
        let told: Vec<String> = Route::of_job(&job.to_string())
            .misses(&worker)
            .into_iter()
            .map(|miss| format!("{}: {}", miss.criterion, miss.sentence))
            .collect();
        assert_eq!(
            told,
            [
                "type: it has no handler for email",
                "exclude: it failed here and asked to run elsewhere",
                "stack: it wants one of rust",
                "capabilities: it wants also gpu",
                "region: it wants one of us"
            ]
        );
    }
}
