//! Commands of other services, from `wk:<module>:<tenant>:commands`: entries with `tenant` (region and version
//! as JSON), `type` and `body`, read by the consumer group `worldkeep`. One server at a time reads the commands of a
//! tenant, by a lease of the tenant's own, so that no tenant waits for another. It takes over what others held, does
//! all of it, oldest first, and only then reads what is new: the commands of a tenant take effect in their order, also
//! over crashes. A command for one entity is acknowledged and deleted inside the step it causes, so that a crash repeats
//! none and loses none. One that cannot be understood or done is acknowledged, counted and reported; only one that the
//! store could not take is tried again, and holds back those behind it.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use field::Tenant;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
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
/// New tenants and new streams are looked for this often, and so is one that cannot be read.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long it rests at most while no service has ever sent a command.
const QUIET: Duration = Duration::from_secs(5);
/// How long to rest when there was nothing to do: from just after news to long after them.
const REST: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

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
pub(crate) enum CommandEnd {
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
pub(crate) struct CommandSource {
    pub(crate) module: &'static str,
    pub(crate) scopes: &'static KeyDef,
    pub(crate) stream: &'static KeyDef,
}

/// The stream of one tenant.
struct Stream {
    tenant: Uuid,
    key: String,
}

struct CommandReader {
    app: State,
    source: CommandSource,
    layout: Layout,
}

/// Serves a module's commands until the stop.
pub(crate) async fn serve<H, F>(
    app: State,
    stop: CancellationToken,
    source: CommandSource,
    handle: H,
) where
    H: Fn(Command) -> F,
    F: Future<Output = CommandEnd>,
{
    let layout = app.keyspace.layout;
    let reader = CommandReader { app, source, layout };
    let (mut known, mut served) = (HashSet::new(), FuturesUnordered::new());
    let mut rest = Duration::ZERO;
    loop {
        let look = async {
            tokio::time::sleep(rest).await;
            reader.others(&known).await
        };
        let found = tokio::select! {
            () = stop.cancelled() => break,
            found = look => found,
            // A tenant is served until the stop.
            Some(()) = served.next() => continue,
        };
        match found {
            Ok(found) => {
                for stream in found {
                    known.insert(stream.tenant);
                    served.push(reader.serve_tenant(stream, &handle, &stop));
                }
            }
            Err(fault) => tracing::debug!(%fault, module = source.module, "looking for commands"),
        }
        // Without a command there is nothing to lead.
        let quiet = known.is_empty();
        rest = if quiet { (rest * 2).clamp(REST.0, QUIET) } else { LOOK_EVERY };
    }
    while served.next().await.is_some() {}
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(2))
}

fn words(words: &[&str]) -> Cmd {
    crate::wire::cmd(words)
}

impl CommandReader {
    /// Leads a tenant's commands whenever this server can.
    async fn serve_tenant<H, F>(&self, stream: Stream, handle: &H, stop: &CancellationToken)
    where
        H: Fn(Command) -> F,
        F: Future<Output = CommandEnd>,
    {
        let name = format!("{}-commands-{}", self.source.module, stream.tenant);
        let lease = Lease::new(self.app.shared_store(), self.app.clock.clone(), &name, LEASE);
        lease.lead(|| self.read_on(&stream, handle), stop.cancelled()).await;
        self.leave(&stream.key).await;
    }

    /// Reads and does commands as long as this server leads: first what others held, then what it holds itself, then
    /// what is new.
    async fn read_on<H, F>(&self, stream: &Stream, handle: &H)
    where
        H: Fn(Command) -> F,
        F: Future<Output = CommandEnd>,
    {
        let (mut took_over, mut holds, mut rest) = (false, true, REST.0);
        loop {
            let outcome = if took_over {
                self.round(stream, &mut holds, handle).await
            } else {
                self.take_over(&stream.key).await.map(|()| 1)
            };
            rest = match outcome {
                Ok(0) => (rest * 2).min(REST.1),
                Ok(_) => {
                    took_over = true;
                    REST.0
                }
                Err(fault) => {
                    (took_over, holds) = (false, true);
                    let key = stream.key.as_str();
                    // The stream or its group is gone, or the key is no stream: it is looked at now and then.
                    let refused = matches!(fault, Fault::Refused { .. });
                    if refused && UNREAD.is_news(key, &fault) {
                        tracing::warn!(key, %fault, "commands cannot be read");
                    } else {
                        tracing::debug!(key, %fault, "commands wait for the store");
                    }
                    if refused { LOOK_EVERY } else { REST.1 }
                }
            };
            tokio::time::sleep(rest).await;
        }
    }

    /// The streams there are beside those of the tenants that are known.
    async fn others(&self, known: &HashSet<Uuid>) -> Result<Vec<Stream>, Fault> {
        let Ok(set) = self.source.scopes.render(self.layout, &[]) else { return Ok(Vec::new()) };
        let answer = self.app.store().call(&words(&["SMEMBERS", set.as_str()]), soon()).await?;
        let tenants = reply::list(&answer).unwrap_or_default().iter().filter_map(reply::text);
        let mut all: Vec<Stream> = tenants
            .filter_map(|tenant| {
                let key = self.source.stream.render(self.layout, &[("tenant_id", tenant)]).ok()?;
                let tenant = Uuid::parse_str(tenant).ok()?;
                Some(Stream { tenant, key: key.as_str().to_owned() })
            })
            .filter(|stream| !known.contains(&stream.tenant))
            .collect();
        let asks: Vec<Cmd> = all.iter().map(|stream| words(&["EXISTS", &stream.key])).collect();
        let mut there = self.app.store().pipeline(&asks, soon()).await?.into_iter();
        all.retain(|_| matches!(there.next(), Some(Ok(answer)) if reply::int(&answer) == Some(1)));
        Ok(all)
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
    async fn round<H, F>(
        &self,
        stream: &Stream,
        holds: &mut bool,
        handle: &H,
    ) -> Result<usize, Fault>
    where
        H: Fn(Command) -> F,
        F: Future<Output = CommandEnd>,
    {
        let (me, from) = (self.app.server_id.as_str(), if *holds { "0" } else { ">" });
        let read = ["XREADGROUP", "GROUP", GROUP, me, "COUNT", BATCH, "STREAMS", &stream.key, from];
        let entries = entries(&self.app.store().call(&words(&read), soon()).await?);
        let all = entries.len();
        let count = self.one_tenant(stream, entries, handle).await;
        let was = std::mem::replace(holds, (*holds && all > 0) || count < all);
        // Nothing was held any more: what is new is read at once.
        Ok(if was && all == 0 { 1 } else { count })
    }

    /// Does a tenant's commands in order. What failed stays, and so does all behind it. Tells how many were done.
    async fn one_tenant<H, F>(
        &self,
        stream: &Stream,
        entries: Vec<CommandEntry>,
        handle: &H,
    ) -> usize
    where
        H: Fn(Command) -> F,
        F: Future<Output = CommandEnd>,
    {
        let (module, Stream { tenant, key }) = (self.source.module, stream);
        let mut count = 0;
        for CommandEntry { id, fields } in entries {
            let entry = Pending { stream: key.clone(), group: GROUP.into(), entry: id.clone() };
            let ended = match understand(*tenant, fields, entry) {
                Ok(command) => handle(command).await,
                Err(says) => CommandEnd::Refused(says),
            };
            let is_answered = matches!(ended, CommandEnd::Answered);
            let word = match ended {
                CommandEnd::Answered | CommandEnd::Done => "done",
                CommandEnd::Refused(says) => {
                    tracing::warn!(module, %tenant, entry = id, says, "a command was refused");
                    "refused"
                }
                CommandEnd::Failed(fault) if fault.may_pass() => {
                    tracing::debug!(module, %tenant, entry = id, %fault, "a command waits");
                    break;
                }
                CommandEnd::Failed(fault) => {
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

    /// Takes this server off the group; commands it still holds keep it there, for another to take over.
    async fn leave(&self, key: &str) {
        let me = self.app.server_id.as_str();
        let ask = words(&["XPENDING", key, GROUP, "-", "+", "1", me]);
        let Ok(held) = self.app.store().call(&ask, soon()).await else { return };
        if reply::list(&held).is_some_and(<[Value]>::is_empty) {
            let leave = words(&["XGROUP", "DELCONSUMER", key, GROUP, me]);
            let _ = self.app.store().call(&leave, soon()).await;
        }
    }
}

struct CommandEntry {
    id: String,
    fields: Vec<(String, String)>,
}

/// The entries of an `XREADGROUP` answer.
fn entries(answer: &Value) -> Vec<CommandEntry> {
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
            Some(CommandEntry { id: reply::text(id)?.to_owned(), fields })
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
