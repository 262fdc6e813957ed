//! Commands of other services, from `wk:<module>:<tenant>:commands`: entries with `tenant` (region and version
//! as JSON), `type` and `body`, read by the consumer group `worldkeep`. One server at a time reads a module's
//! commands, by a lease. It takes over what others held, does all of it, oldest first, and only then reads what is
//! new: the commands of a tenant take effect in their order, also over crashes. A command for one entity is
//! acknowledged and deleted inside the step it causes, so that a crash repeats none and loses none. One that cannot
//! be understood or done is acknowledged, counted and reported; only one that the store could not take is tried again,
//! and holds back those behind it.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use field::Tenant;
use futures_util::StreamExt as _;
use kernel::keyspace::{KeyDef, Layout};
use kernel::{Cmd, Deadline, Fault, Lease, LogOnce, Pending, Value, reply};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::modules::State;

/// The log of streams that cannot be read.
static UNREAD: LogOnce = LogOnce::new();

/// The consumer group of all servers.
pub(crate) const GROUP: &str = "worldkeep";
/// How many commands of a tenant are read at once.
const BATCH: &str = "64";
/// Another server reads on after this time when the reading one is killed.
const LEASE: Duration = Duration::from_secs(3);
/// New tenants and new streams are looked for this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long it rests at most while no service has ever sent a command.
const QUIET: Duration = Duration::from_secs(5);
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
    /// The stream entry that the answering step acknowledges.
    pub(crate) entry: Pending,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It is done, and was acknowledged and deleted by its own step.
    Answered,
    /// It is done, or was answered by another server: the loop acknowledges it.
    Done,
    /// The world says no, or it makes no sense: acknowledged, counted and reported with this sentence.
    Refused(String),
    /// The store did not do it: it stays, and is tried again.
    Failed(Fault),
}

/// The place of a module's commands.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) module: &'static str,
    pub(crate) scopes: &'static KeyDef,
    pub(crate) stream: &'static KeyDef,
}

/// A stream that exists and has the group.
#[derive(Clone)]
struct Stream {
    tenant: Uuid,
    key: String,
    /// Whether this server may hold commands that are not done yet. They come before what is new.
    holds: bool,
}

struct Reader {
    app: State,
    source: Source,
    layout: Layout,
    streams: Vec<Stream>,
}

/// Serves a module's commands until the stop.
pub(crate) async fn serve<H, F>(app: State, stop: CancellationToken, source: Source, handle: H)
where
    H: Fn(Command) -> F,
    F: Future<Output = Ended>,
{
    let layout = app.keyspace.layout;
    let reader = || Reader { app: app.clone(), source, layout, streams: Vec::new() };
    let mut rest = REST.0;
    // Without a command there is nothing to lead.
    while !reader().finds_any().await {
        rest = (rest * 2).min(QUIET);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(rest) => {}
        }
    }
    let name = format!("{}-commands", source.module);
    let lease = Lease::new(app.shared_store(), app.clock.clone(), &name, LEASE);
    lease.lead(|| reader().read_on(&handle), stop.cancelled()).await;
    reader().leave().await;
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(2))
}

fn words(words: &[&str]) -> Cmd {
    crate::wire::cmd(words)
}

impl Reader {
    async fn finds_any(self) -> bool {
        self.others().await.is_ok_and(|streams| !streams.is_empty())
    }

    /// Reads and does commands as long as this server leads.
    async fn read_on<H, F>(mut self, handle: &H)
    where
        H: Fn(Command) -> F,
        F: Future<Output = Ended>,
    {
        let (mut looked, mut rest) = (None::<tokio::time::Instant>, REST.0);
        loop {
            let mut outcome = Ok(0);
            if looked.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
                outcome = self.look().await.map(|()| 0);
                looked = Some(tokio::time::Instant::now());
            }
            if outcome.is_ok() {
                outcome = self.round(handle).await;
            }
            rest = match outcome {
                Ok(0) => (rest * 2).min(REST.1),
                Ok(_) => REST.0,
                Err(fault) => {
                    let module = self.source.module;
                    tracing::debug!(%fault, module, "commands wait for the store");
                    looked = None;
                    REST.1
                }
            };
            tokio::time::sleep(rest).await;
        }
    }

    /// The streams there are beside those that this server reads.
    async fn others(&self) -> Result<Vec<Stream>, Fault> {
        let Ok(set) = self.source.scopes.render(self.layout, &[]) else { return Ok(Vec::new()) };
        let answer = self.app.store().call(&words(&["SMEMBERS", set.as_str()]), soon()).await?;
        let tenants = reply::list(&answer).unwrap_or_default().iter().filter_map(reply::text);
        let known: HashSet<Uuid> = self.streams.iter().map(|stream| stream.tenant).collect();
        let mut all: Vec<Stream> = tenants
            .filter_map(|tenant| {
                let key = self.source.stream.render(self.layout, &[("tenant_id", tenant)]).ok()?;
                let tenant = Uuid::parse_str(tenant).ok()?;
                Some(Stream { tenant, key: key.as_str().to_owned(), holds: true })
            })
            .filter(|stream| !known.contains(&stream.tenant))
            .collect();
        let asks: Vec<Cmd> = all.iter().map(|stream| words(&["EXISTS", &stream.key])).collect();
        let mut there = self.app.store().pipeline(&asks, soon()).await?.into_iter();
        all.retain(|_| matches!(there.next(), Some(Ok(answer)) if reply::int(&answer) == Some(1)));
        Ok(all)
    }

    /// Finds new streams, and takes over what others held of them.
    async fn look(&mut self) -> Result<(), Fault> {
        for stream in self.others().await? {
            match self.take_over(&stream.key).await {
                Ok(()) => self.streams.push(stream),
                Err(fault @ Fault::Refused { .. }) => {
                    if UNREAD.is_news(&stream.key, &fault) {
                        tracing::warn!(key = stream.key, %fault, "commands cannot be read");
                    }
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    /// Takes what other servers held: nobody else reads. They leave the group.
    async fn take_over(&self, key: &str) -> Result<(), Fault> {
        let (store, me) = (self.app.store(), self.app.server_id.as_str());
        let make = words(&["XGROUP", "CREATE", key, GROUP, "0"]);
        match store.call(&make, soon()).await {
            Err(Fault::Refused { code, .. }) if code == "BUSYGROUP" => {}
            made => drop(made?),
        }
        let mut from = "0-0".to_owned();
        loop {
            let claim =
                words(&["XAUTOCLAIM", key, GROUP, me, "0", &from, "COUNT", BATCH, "JUSTID"]);
            let claimed = store.call(&claim, soon()).await?;
            let next = reply::list(&claimed).and_then(|parts| reply::text(parts.first()?));
            next.unwrap_or("0-0").clone_into(&mut from);
            if from == "0-0" {
                break;
            }
        }
        let consumers = store.call(&words(&["XINFO", "CONSUMERS", key, GROUP]), soon()).await?;
        for consumer in reply::list(&consumers).unwrap_or_default() {
            let facts = reply::pairs(consumer).unwrap_or_default();
            let fact = |name: &str| facts.iter().find(|(n, _)| reply::text(n) == Some(name));
            let name = fact("name").and_then(|(_, name)| reply::text(name)).unwrap_or(me);
            let pending = fact("pending").and_then(|(_, count)| reply::int(count));
            if name != me && pending == Some(0) {
                store.call(&words(&["XGROUP", "DELCONSUMER", key, GROUP, name]), soon()).await?;
            }
        }
        Ok(())
    }

    /// Reads what this server holds, or else what is new, and does it. Tells how many commands were done.
    async fn round<H, F>(&mut self, handle: &H) -> Result<usize, Fault>
    where
        H: Fn(Command) -> F,
        F: Future<Output = Ended>,
    {
        if self.streams.is_empty() {
            return Ok(0);
        }
        let me = self.app.server_id.as_str();
        let ask = |Stream { key, holds, .. }: &Stream| {
            let from = if *holds { "0" } else { ">" };
            words(&["XREADGROUP", "GROUP", GROUP, me, "COUNT", BATCH, "STREAMS", key, from])
        };
        let asks: Vec<Cmd> = self.streams.iter().map(ask).collect();
        let answers = self.app.store().pipeline(&asks, soon()).await?;
        let mut work = Vec::new();
        for (mut stream, answer) in std::mem::take(&mut self.streams).into_iter().zip(answers) {
            match answer {
                Ok(answer) => {
                    let entries = entries(&answer);
                    stream.holds &= !entries.is_empty();
                    work.push((stream, entries));
                }
                // The stream or its group is gone: it is looked for again.
                Err(Fault::Refused { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        let this = &*self;
        let done: Vec<(Stream, usize)> = futures_util::stream::iter(work)
            .map(|(mut stream, entries)| async move {
                let all = entries.len();
                let count = this.one_tenant(&stream, entries, handle).await;
                stream.holds |= count < all;
                (stream, count)
            })
            .buffer_unordered(SIDE_BY_SIDE)
            .collect()
            .await;
        let count = done.iter().map(|(_, count)| count).sum();
        self.streams = done.into_iter().map(|(stream, _)| stream).collect();
        Ok(count)
    }

    /// Does a tenant's commands in order. What failed stays, and so does all behind it. Tells how many were done.
    async fn one_tenant<H, F>(&self, stream: &Stream, entries: Vec<Entry>, handle: &H) -> usize
    where
        H: Fn(Command) -> F,
        F: Future<Output = Ended>,
    {
        let (module, Stream { tenant, key, .. }) = (self.source.module, stream);
        let mut count = 0;
        for Entry { id, fields } in entries {
            let entry = Pending { stream: key.clone(), group: GROUP.into(), entry: id.clone() };
            let ended = match understand(*tenant, fields, entry) {
                Ok(command) => handle(command).await,
                Err(says) => Ended::Refused(says),
            };
            let is_answered = matches!(ended, Ended::Answered);
            let word = match ended {
                Ended::Answered | Ended::Done => "done",
                Ended::Refused(says) => {
                    tracing::warn!(module, %tenant, entry = id, says, "a command was refused");
                    "refused"
                }
                Ended::Failed(fault) if fault.may_pass() => {
                    tracing::debug!(module, %tenant, entry = id, %fault, "a command waits");
                    break;
                }
                Ended::Failed(fault) => {
                    tracing::warn!(module, %tenant, entry = id, %fault, "a command cannot be done");
                    "refused"
                }
            };
            if !is_answered && let Err(fault) = self.acknowledge(key, &id).await {
                tracing::debug!(%fault, "a command was not acknowledged yet");
                break;
            }
            metrics::counter!("worldkeep_commands_total", "module" => module, "ended" => word)
                .increment(1);
            count += 1;
        }
        count
    }

    /// An entry that is deleted and still held is acknowledged by the next reader: none stays that nobody holds.
    async fn acknowledge(&self, key: &str, id: &str) -> Result<(), Fault> {
        let (del, ack) = (words(&["XDEL", key, id]), words(&["XACK", key, GROUP, id]));
        for answer in self.app.store().pipeline(&[del, ack], soon()).await? {
            answer?;
        }
        Ok(())
    }

    /// Takes this server off the groups; commands it still holds keep it there, for another to take over.
    async fn leave(self) {
        let me = self.app.server_id.as_str();
        for Stream { key, .. } in self.others().await.unwrap_or_default() {
            let key = key.as_str();
            let ask = words(&["XPENDING", key, GROUP, "-", "+", "1", me]);
            let Ok(held) = self.app.store().call(&ask, soon()).await else { continue };
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

/// The entries of an `XREADGROUP` answer.
fn entries(answer: &Value) -> Vec<Entry> {
    let list = reply::pairs(answer).and_then(|pairs| pairs.first().map(|(_, list)| *list));
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
