//! Workers: the facts that a claim needs of one, and its entry in the registry.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::value::RawValue;

use super::raw::{Object, quote};
use crate::error::{Error, refusal};
use crate::store::workers::ALIVE_MS;

/// The facts that a claim tells of its worker. Clones share the worker's memory of the queue's
/// head.
#[derive(Debug, Clone)]
pub struct WorkerFacts {
    /// The worker's id.
    pub server_id: String,
    /// Such as `rust`.
    pub stack: String,
    /// The worker's region.
    pub region: Option<String>,
    /// The worker's capabilities.
    pub capabilities: Vec<String>,
    /// The types it has handlers for; `None` takes any.
    pub types: Option<Vec<String>>,
    pub(crate) memory: Arc<Mutex<Memory>>,
    /// Jobs of high priority it took, less what it took from behind them; counted for the starvation guard.
    pub(crate) fronts: Arc<Mutex<u64>>,
    said: OnceLock<Said>,
}

/// The facts of a worker in the form of the claim script, written once.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// JSON of what targets compare.
    pub(crate) routing: String,
    /// The worker's types, each between line ends; empty for any.
    pub(crate) types: String,
}

/// The memory of the jobs at the head of the list that this worker can never run, up to the last of
/// them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    /// The head when it was looked at.
    pub(crate) head: String,
    /// The last of those jobs, and its place.
    pub(crate) last: String,
    pub(crate) index: u64,
    /// When it was first remembered.
    pub(crate) since_ms: u64,
}

impl Memory {
    /// The head is to be looked at anew.
    pub(crate) fn forget(&mut self) {
        if !self.last.is_empty() {
            *self = Memory::default();
        }
    }
}

impl WorkerFacts {
    /// A worker of this id that takes any type, or a sentence why the id cannot be.
    pub fn new(server_id: impl Into<String>) -> Result<Self, Error> {
        let server_id = server_id.into();
        check_server_id(&server_id)?;
        Ok(WorkerFacts {
            server_id,
            stack: "rust".to_owned(),
            region: None,
            capabilities: Vec::new(),
            types: None,
            memory: Arc::default(),
            fronts: Arc::default(),
            said: OnceLock::new(),
        })
    }

    /// The facts in the form of the claim script. The first claim settles them.
    pub(crate) fn said(&self) -> &Said {
        self.said.get_or_init(|| {
            let region: Vec<&String> = self.region.iter().collect();
            let routing = serde_json::json!({
                "stack": [&self.stack], "capabilities": &self.capabilities, "region": region,
            });
            let types = self.types.as_deref().map_or(String::new(), |types| {
                types.iter().fold("\n".to_owned(), |all, one| all + one + "\n")
            });
            Said { routing: routing.to_string(), types }
        })
    }

    /// Sets the worker's stack, which is `rust` otherwise.
    #[must_use]
    pub fn stack(mut self, stack: impl Into<String>) -> Self {
        self.stack = stack.into();
        self.said.take();
        self
    }

    /// Sets the worker's region.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self.said.take();
        self
    }

    /// Sets the worker's capabilities.
    #[must_use]
    pub fn capabilities<S: Into<String>>(mut self, all: impl IntoIterator<Item = S>) -> Self {
        self.capabilities = all.into_iter().map(Into::into).collect();
        self.said.take();
        self
    }

    /// The types it has handlers for.
    #[must_use]
    pub fn types<S: Into<String>>(mut self, all: impl IntoIterator<Item = S>) -> Self {
        self.types = Some(all.into_iter().map(Into::into).collect());
        self.said.take();
        self
    }
}

/// Refuses ids that would overwrite a neighbouring key.
fn check_server_id(id: &str) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::invalid(refusal::INVALID_SERVER_ID, "serverId", why));
    if id == "active" || id == "heartbeat" {
        return refuse("serverId must not be active or heartbeat, which are keys of the registry");
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if id.is_empty() || id.len() > 128 || !id.chars().all(allowed) {
        return refuse("serverId must be 1 to 128 of A-Z, a-z, 0-9, ., _ and -");
    }
    Ok(())
}

/// The data that a worker registers beside its facts.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    /// The worker's process id.
    pub pid: u32,
    /// The worker's host name.
    pub hostname: String,
    /// The version of its program.
    pub version: String,
    /// How many jobs it runs at once.
    pub concurrency: u32,
    /// Unix milliseconds of its start.
    pub started_at: u64,
    /// The machine and the process, if they can be told ([`process_name`]).
    pub process: String,
}

/// The mark of this process among all others before or after it on this machine: the boot, the pid namespace, the start of
/// the process. Empty where the system does not say.
pub(crate) fn process_name(pid: u32) -> String {
    let (Some(machine), Some(start)) = (machine(), started(i64::from(pid))) else {
        return String::new();
    };
    format!("{machine}/{start}")
}

/// The boot and the pid namespace: process ids of two that are equal are about the same processes.
fn machine() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), space.display()))
}

/// When a process started, in ticks since the boot; `None` when there is none.
fn started(pid: i64) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything; the start is the twentieth word behind it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

impl Registration {
    /// The registry's bytes.
    pub fn text(&self, facts: &WorkerFacts, now_ms: u64) -> String {
        let list = |words: &[String]| serde_json::to_string(words).expect("text is always JSON");
        let types = facts
            .types
            .as_deref()
            .map_or(String::new(), |types| format!(",\"types\":{}", list(types)));
        let region = facts
            .region
            .as_deref()
            .map_or(String::new(), |region| format!(",\"region\":{}", quote(region)));
        let process = match self.process.as_str() {
            "" => String::new(),
            name => format!(",\"process\":{}", quote(name)),
        };
        format!(
            r#"{{"serverId":{},"stack":{}{region},"capabilities":{},"lastSeen":{now_ms},"pid":{},"hostname":{},"x":{{"version":{},"concurrency":{}{types},"startedAt":{}{process}}}}}"#,
            quote(&facts.server_id),
            quote(&facts.stack),
            list(&facts.capabilities),
            self.pid,
            quote(&self.hostname),
            quote(&self.version),
            self.concurrency,
            self.started_at,
        )
    }
}

/// A registered worker, as any program wrote it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// The worker's id.
    pub server_id: String,
    /// Such as `node`.
    pub stack: String,
    /// The worker's region.
    pub region: Option<String>,
    /// The worker's capabilities.
    pub capabilities: Vec<String>,
    /// Unix milliseconds.
    pub last_seen: i64,
    /// The worker's process id.
    pub pid: i64,
    /// The worker's host name.
    pub hostname: String,
    /// The version of its program, if it says.
    pub version: Option<String>,
    /// How many jobs it runs at once, if it says.
    pub concurrency: Option<u64>,
    /// The types it has handlers for, if it says.
    pub types: Option<Vec<String>>,
    /// Unix milliseconds of its start, if it says.
    pub started_at: Option<i64>,
    /// The machine and the process, if it says.
    #[serde(skip)]
    pub(crate) process: Option<String>,
    /// Unix milliseconds of its last sign of life, when that has not run out.
    pub heartbeat: Option<i64>,
    /// Whether it counts as alive.
    pub alive: bool,
    /// The jobs it holds.
    pub jobs: Vec<String>,
    /// The order the worker was given: `quiet` or `stop`.
    pub asked: Option<String>,
}

impl Worker {
    pub(crate) fn read(server_id: &str, text: &str) -> Worker {
        let raw: Option<&RawValue> = serde_json::from_str(text).ok();
        let object = Object::of(raw);
        let x = Object::of(object.raw("x"));
        Worker {
            server_id: server_id.to_owned(),
            stack: object.get("stack").unwrap_or_default(),
            region: object.get("region"),
            capabilities: object.words("capabilities"),
            last_seen: object.whole("lastSeen").unwrap_or(0),
            pid: object.whole("pid").unwrap_or(0),
            hostname: object.get("hostname").unwrap_or_default(),
            version: x.get("version"),
            concurrency: x.count("concurrency"),
            types: x.raw("types").map(|_| x.words("types")),
            started_at: x.whole("startedAt"),
            process: x.get("process"),
            heartbeat: None,
            alive: false,
            jobs: Vec::new(),
            asked: None,
        }
    }

    /// Whether its process ran on this machine and is over.
    pub(crate) fn is_gone(&self) -> bool {
        let told = self.process.as_deref().and_then(|process| process.rsplit_once('/'));
        told.is_some_and(|(place, start)| {
            machine().is_some_and(|here| here == place)
                && started(self.pid).is_none_or(|now| now != start)
        })
    }

    /// Notes the last sign of life. A foreign worker's first beat comes late: a young entry counts too.
    pub(crate) fn note_life(&mut self, heartbeat: Option<i64>, now_ms: i64) {
        self.heartbeat = heartbeat;
        self.alive = heartbeat.is_some() || now_ms - self.last_seen < ALIVE_MS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_this_machine_is_known_to_be_over() {
        let own = process_name(std::process::id());
        let entry = |pid: u32, process: &str| {
            let entry = Registration { pid, process: process.into(), ..Registration::default() };
            Worker::read("w", &entry.text(&WorkerFacts::new("w").unwrap(), 1))
        };
        let pid = std::process::id();
        assert!(!entry(pid, &own).is_gone(), "it lives");
        assert!(entry(pid, &format!("{own}1")).is_gone(), "its number has another process now");
        assert!(!entry(pid, "").is_gone() && !entry(pid, "elsewhere/1").is_gone(), "nobody knows");
    }
}
