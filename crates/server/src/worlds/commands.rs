//! Commands of other services, from `wk:<module>:<tenant>:commands`: entries with `tenant` (region and version
//! as JSON), `type` and `body`, read by the consumer group `worldkeep`. A command is acknowledged inside the
//! step it causes, so that a crash repeats none and loses none; what a dead server held is taken over. One that
//! cannot be understood is acknowledged, counted and reported. Those of one tenant are done in their order.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use field::Tenant;
use futures_util::StreamExt as _;
use kernel::keyspace::{KeyDef, Layout};
use kernel::{Cmd, Deadline, Fault, LogOnce, Pending, Value, reply};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::modules::State;

/// What was said of streams that cannot be read.
static UNREAD: LogOnce = LogOnce::new();

/// The consumer group of all servers.
pub(crate) const GROUP: &str = "worldkeep";
/// How many commands of a tenant are read at once.
const BATCH: &str = "64";
/// How long a command may stay with a server that does not answer for it.
const IDLE_MS: &str = "15000";
/// New tenants, new streams and what dead servers held are looked for this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long it rests at most while no service has ever sent a command.
const QUIET: Duration = Duration::from_secs(5);
const CLAIM_EVERY: Duration = Duration::from_secs(5);
/// How long to rest when there was nothing to do: from just after news to long after them.
const REST: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));
/// How many tenants are served side by side.
const SIDE_BY_SIDE: usize = 16;

/// One command.
#[derive(Debug)]
pub(crate) struct Command {
    /// Whose.
    pub(crate) tenant: Tenant,
    /// Upstream's word.
    pub(crate) kind: String,
    /// Upstream's message.
    pub(crate) body: Box<RawValue>,
    /// What the step that answers it acknowledges.
    pub(crate) entry: Pending,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It is acknowledged by its own step, or its acknowledging is left to the loop: both are the same to it.
    Done,
    /// The world says no, or it makes no sense: acknowledged, counted and reported with this sentence.
    Refused(String),
    /// The store did not do it: it stays, and is tried again.
    Failed(Fault),
}

/// Where a module's commands are.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) module: &'static str,
    pub(crate) scopes: &'static KeyDef,
    pub(crate) stream: &'static KeyDef,
}

struct Reader {
    app: State,
    source: Source,
    layout: Layout,
    /// Streams that exist and have the group, with their tenants.
    known: Vec<(Uuid, String)>,
}

/// Serves a module's commands until the stop.
pub(crate) async fn serve<H, F>(app: State, stop: CancellationToken, source: Source, handle: H)
where
    H: Fn(Command) -> F,
    F: Future<Output = Ended>,
{
    let layout = app.keyspace.layout;
    let mut reader = Reader { app, source, layout, known: Vec::new() };
    let (mut looked, mut claimed) = (None::<tokio::time::Instant>, None::<tokio::time::Instant>);
    let mut rest = REST.0;
    while !stop.is_cancelled() {
        let over =
            |at: Option<tokio::time::Instant>, every| at.is_none_or(|at| at.elapsed() >= every);
        let mut outcome = Ok(0);
        if over(looked, LOOK_EVERY) {
            outcome = reader.look().await.map(|()| 0);
            looked = Some(tokio::time::Instant::now());
        }
        if outcome.is_ok() && over(claimed, CLAIM_EVERY) {
            outcome = reader.round(true, &handle).await;
            claimed = Some(tokio::time::Instant::now());
        }
        if outcome.is_ok() {
            outcome = reader.round(false, &handle).await;
        }
        rest = match outcome {
            Ok(0) if reader.known.is_empty() => (rest * 2).min(QUIET),
            Ok(0) => (rest * 2).min(REST.1),
            Ok(_) => REST.0,
            Err(fault) => {
                tracing::debug!(%fault, module = source.module, "commands wait for the store");
                looked = None;
                REST.1
            }
        };
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(rest) => {}
        }
    }
    reader.leave().await;
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(2))
}

fn words(words: &[&str]) -> Cmd {
    crate::wire::cmd(words)
}

impl Reader {
    /// Finds the streams there are, and makes the group where it is missing.
    async fn look(&mut self) -> Result<(), Fault> {
        let Ok(set) = self.source.scopes.render(self.layout, &[]) else { return Ok(()) };
        let answer = self.app.store().call(&words(&["SMEMBERS", set.as_str()]), soon()).await?;
        let tenants = reply::list(&answer).unwrap_or_default().iter().filter_map(reply::text);
        let all: Vec<(Uuid, String)> = tenants
            .filter_map(|tenant| {
                let key = self.source.stream.render(self.layout, &[("tenant_id", tenant)]).ok()?;
                Some((Uuid::parse_str(tenant).ok()?, key.as_str().to_owned()))
            })
            .collect();
        let known: HashSet<&String> = self.known.iter().map(|(_, key)| key).collect();
        let new: Vec<&(Uuid, String)> =
            all.iter().filter(|(_, key)| !known.contains(key)).collect();
        let asks: Vec<Cmd> = new.iter().map(|(_, key)| words(&["EXISTS", key])).collect();
        let there = self.app.store().pipeline(&asks, soon()).await?;
        let mut found = Vec::new();
        for ((tenant, key), answer) in new.into_iter().zip(there) {
            if reply::int(&answer?) != Some(1) {
                continue;
            }
            let make = words(&["XGROUP", "CREATE", key, GROUP, "0"]);
            match self.app.store().call(&make, soon()).await {
                Ok(_) => found.push((*tenant, key.clone())),
                Err(Fault::Refused { code, .. }) if code == "BUSYGROUP" => {
                    found.push((*tenant, key.clone()));
                }
                Err(fault @ Fault::Refused { .. }) => {
                    if UNREAD.is_news(key, &fault) {
                        tracing::warn!(key, %fault, "commands cannot be read");
                    }
                }
                Err(fault) => return Err(fault),
            }
        }
        self.known.extend(found);
        Ok(())
    }

    /// Reads what is new, or what dead servers held, and does it. Tells how many commands there were.
    async fn round<H, F>(&mut self, dead: bool, handle: &H) -> Result<usize, Fault>
    where
        H: Fn(Command) -> F,
        F: Future<Output = Ended>,
    {
        if self.known.is_empty() {
            return Ok(0);
        }
        let me = self.app.server_id.as_str();
        let ask = |(_, key): &(Uuid, String)| {
            if dead {
                return words(&["XAUTOCLAIM", key, GROUP, me, IDLE_MS, "0-0", "COUNT", BATCH]);
            }
            words(&["XREADGROUP", "GROUP", GROUP, me, "COUNT", BATCH, "STREAMS", key, ">"])
        };
        let asks: Vec<Cmd> = self.known.iter().map(ask).collect();
        let answers = self.app.store().pipeline(&asks, soon()).await?;
        let (mut lost, mut work) = (HashSet::new(), Vec::new());
        for ((tenant, key), answer) in self.known.iter().zip(answers) {
            match answer {
                Ok(answer) => {
                    let entries = entries(&answer, dead);
                    if !entries.is_empty() {
                        work.push((*tenant, key.clone(), entries));
                    }
                }
                // The stream or its group is gone: it is looked for again.
                Err(Fault::Refused { .. }) => drop(lost.insert(key.clone())),
                Err(fault) => return Err(fault),
            }
        }
        let count = work.iter().map(|(_, _, entries)| entries.len()).sum();
        let this = &*self;
        futures_util::stream::iter(work)
            .for_each_concurrent(SIDE_BY_SIDE, |(tenant, key, entries)| async move {
                this.one_tenant(tenant, &key, entries, handle).await;
            })
            .await;
        self.known.retain(|(_, key)| !lost.contains(key));
        Ok(count)
    }

    /// Does a tenant's commands in order. What failed stays, and so does all behind it.
    async fn one_tenant<H, F>(&self, tenant: Uuid, key: &str, entries: Vec<Entry>, handle: &H)
    where
        H: Fn(Command) -> F,
        F: Future<Output = Ended>,
    {
        let module = self.source.module;
        let mut done = Vec::new();
        for Entry { id, fields } in entries {
            let entry = Pending { stream: key.into(), group: GROUP.into(), entry: id.clone() };
            let ended = match understand(tenant, fields, entry) {
                Ok(command) => handle(command).await,
                Err(says) => Ended::Refused(says),
            };
            let word = match ended {
                Ended::Done => "done",
                Ended::Refused(says) => {
                    tracing::warn!(module, %tenant, entry = id, says, "a command was refused");
                    "refused"
                }
                Ended::Failed(fault) => {
                    tracing::debug!(module, %tenant, entry = id, %fault, "a command waits");
                    break;
                }
            };
            metrics::counter!("worldkeep_commands_total", "module" => module, "ended" => word)
                .increment(1);
            done.push(id);
        }
        if done.is_empty() {
            return;
        }
        // Acknowledged twice is acknowledged once. An answered command need not be kept.
        let mut ack = words(&["XACK", key, GROUP]);
        let mut del = words(&["XDEL", key]);
        for id in &done {
            ack.arg(id);
            del.arg(id);
        }
        if let Err(fault) = self.app.store().pipeline(&[ack, del], soon()).await {
            tracing::debug!(%fault, "commands were not acknowledged yet");
        }
    }

    /// Takes this server off the groups; commands it still holds keep it there, for another to take over.
    async fn leave(&self) {
        let me = self.app.server_id.as_str();
        for (_, key) in &self.known {
            let ask = words(&["XPENDING", key, GROUP, "-", "+", "1", me]);
            let Ok(held) = self.app.store().call(&ask, soon()).await else { return };
            if reply::list(&held).is_some_and(<[Value]>::is_empty) {
                let leave = words(&["XGROUP", "DELCONSUMER", key, GROUP, me]);
                let _ = self.app.store().call(&leave, soon()).await;
            }
        }
    }
}

struct Entry {
    id: String,
    fields: Vec<(String, String)>,
}

/// The entries of an `XREADGROUP` or `XAUTOCLAIM` answer.
fn entries(answer: &Value, dead: bool) -> Vec<Entry> {
    let list = if dead {
        reply::list(answer).and_then(|parts| parts.get(1))
    } else {
        reply::pairs(answer).and_then(|pairs| pairs.first().map(|(_, list)| *list))
    };
    let items = list.and_then(reply::list).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| {
            let [id, fields] = reply::list(item)? else { return None };
            let text = |value: &Value| reply::text(value).unwrap_or_default().to_owned();
            // An entry that was deleted while somebody held it has no fields: it is refused and so goes away.
            let pairs = reply::pairs(fields).unwrap_or_default();
            let fields = pairs.into_iter().map(|(name, value)| (text(name), text(value))).collect();
            Some(Entry { id: reply::text(id)?.to_owned(), fields })
        })
        .collect()
}

fn understand(id: Uuid, fields: Vec<(String, String)>, entry: Pending) -> Result<Command, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Said {
        region: String,
        major_version: u16,
        minor_version: u16,
    }
    let (mut tenant, mut kind, mut body) = (None, None, None);
    for (name, text) in fields {
        match name.as_str() {
            "tenant" => tenant = Some(text),
            "type" => kind = Some(text),
            "body" => body = Some(text),
            _ => {}
        }
    }
    let tenant =
        tenant.ok_or("tenant is missing: region, majorVersion and minorVersion as JSON")?;
    let said: Said =
        serde_json::from_str(&tenant).map_err(|error| format!("tenant does not fit: {error}"))?;
    let Said { region, major_version, minor_version } = said;
    let body = RawValue::from_string(body.unwrap_or_else(|| "{}".into()))
        .map_err(|error| format!("body is not JSON: {error}"))?;
    Ok(Command {
        tenant: Tenant { id, region, major_version, minor_version },
        kind: kind.filter(|kind| !kind.is_empty()).ok_or("type is missing")?,
        body,
        entry,
    })
}
