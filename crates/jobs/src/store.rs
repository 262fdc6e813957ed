//! The handle of a queue: a store, a clock, the keys of one namespace, and its options. The verbs
//! are in the files of `store/`: `produce`, `work`, `read`, `act`, `dlq`, `recover` and others, by
//! concern.

pub(crate) mod act;
pub(crate) mod batch;
pub(crate) mod counters;
pub(crate) mod counts;
pub(crate) mod definitions;
pub(crate) mod dlq;
pub(crate) mod explain;
pub(crate) mod finish;
pub(crate) mod flows;
pub(crate) mod index;
pub(crate) mod lease;
pub(crate) mod limits;
pub(crate) mod list;
pub(crate) mod newest;
pub(crate) mod numbers;
pub(crate) mod produce;
pub(crate) mod read;
pub(crate) mod recover;
pub(crate) mod rotate;
pub(crate) mod starvation;
pub(crate) mod sweep;
pub(crate) mod takeover;
pub(crate) mod wait;
pub(crate) mod wire;
pub(crate) mod work;
pub(crate) mod workers;

use std::sync::Arc;

use kernel::keyspace::{Key, KeyDef, Layout};
use kernel::{
    Clock, Cmd, Deadline, Decision, Fault, Kind, Script, Store, Value, Writer, Written, reply,
};

use crate::error::{Error, refusal};
use crate::keys;
use crate::keys::space::Space;
use crate::model::options::Options;
use crate::store::counts::Counts;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The life of a job's failure where results are not kept.
const FAILURE_TTL_S: u64 = 86_400;

type Switch = (char, &'static str, fn(&Options) -> bool);

/// Letters that scripts understand as `opts`, and what they mean.
pub(crate) const OPTS: &[Switch] = &[
    ('e', "events are written", |options| options.events),
    ('f', "priority 7 and more goes behind those of it that wait", |options| options.fair_high),
    ('n', "a job that completes leaves no result", |options| options.result_ttl_s == 0),
    ('p', "promoted jobs go by their priority", |options| options.promote_honours_priority),
];

/// A job queue in one namespace. Cheap to clone; all clones are the same queue.
#[derive(Clone)]
pub struct Jobs(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    writer: Writer,
    clock: Arc<dyn Clock>,
    layout: Layout,
    space: Space,
    /// On a Cluster, a key of the namespace that never is: the lock of a job without an id.
    nowhere: Option<String>,
    options: Options,
    counts: Counts,
    /// Told whenever this process changes the queue.
    used: Notify,
}

impl Jobs {
    /// Opens a namespace. Writes nothing. Refuses a bad name, and on a Cluster one whose keys do not share a slot.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        namespace: &str,
        layout: Layout,
        options: Options,
    ) -> Result<Jobs, Error> {
        let space = Space::new(namespace, layout).map_err(|bad| {
            Error::invalid(
                refusal::INVALID_NAMESPACE,
                "namespace",
                format!("namespace {}", bad.flaw),
            )
        })?;
        let nowhere = (store.status().kind == Kind::Cluster).then(|| space.lock(""));
        if nowhere.is_some() && !space.is_in_one_slot() {
            return Err(Error::NeedsTag(namespace.to_owned()));
        }
        options.check()?;
        let (counts, used) = (Counts::default(), Notify::new());
        let writer = Writer::new(Arc::clone(&store));
        Ok(Jobs(Arc::new(Inner {
            store,
            writer,
            clock,
            layout,
            space,
            nowhere,
            options,
            counts,
            used,
        })))
    }

    /// The queue's namespace, as it was given.
    pub fn namespace(&self) -> &str {
        &self.0.space.ns
    }

    /// How its keys are spelled.
    pub fn layout(&self) -> Layout {
        self.0.layout
    }

    /// The queue's options.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// The store it lives in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// The queue's clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Unix milliseconds, the store's.
    pub fn now_ms(&self) -> u64 {
        self.0.clock.now_ms()
    }

    /// The channel that says a job is waiting; the payload is its type.
    pub fn wake_channel(&self) -> &Key {
        &self.0.space.wake
    }

    /// The channel that says which running job is to be aborted; the payload is its id.
    pub fn cancel_channel(&self) -> &Key {
        &self.0.space.cancel
    }

    /// The channel that tells a worker `quiet` or `stop`; the payload is the word, a space, its id.
    pub fn control_channel(&self) -> &Key {
        &self.0.space.control
    }

    /// The channel of progress; the payload is the job's id, a space, the progress.
    pub fn progress_channel(&self) -> &Key {
        &self.0.space.progressed
    }

    pub(crate) fn space(&self) -> &Space {
        &self.0.space
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.0.counts
    }

    pub(crate) fn by(&self) -> Deadline {
        Deadline::after(self.0.options.call_timeout)
    }

    pub(crate) async fn call(&self, cmd: &Cmd) -> Result<Value, Error> {
        match self.0.store.call(cmd, self.by()).await {
            Ok(value) => Ok(value),
            Err(fault) => Err(self.explain_fault(fault).await),
        }
    }

    /// Many commands in one trip; the first refusal is the answer.
    pub(crate) async fn all(&self, cmds: &[Cmd]) -> Result<Vec<Value>, Error> {
        let answers = match self.0.store.pipeline(cmds, self.by()).await {
            Ok(answers) => answers,
            Err(fault) => return Err(fault.into()),
        };
        match answers.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(values) => Ok(values),
            Err(fault) => Err(self.explain_fault(fault).await),
        }
    }

    /// Runs a script. Its first key is always `waiting`, from whose name it has the names of all
    /// others. On a Cluster a key that never exists comes with it. While a slot is on its way, some
    /// keys here and some there, the nodes refuse a step that names a missing key, and it is asked
    /// again. Without that key the step would begin, and end at the first key that is not here, or
    /// go on without the keys that the other node still has.
    pub(crate) async fn script(
        &self,
        script: &'static Script,
        args: &[&[u8]],
        by: Deadline,
    ) -> Result<Value, Error> {
        let nowhere = self.0.nowhere.as_deref();
        let keys = [self.space().waiting.as_bytes(), nowhere.unwrap_or_default().as_bytes()];
        let keys = if nowhere.is_some() { &keys[..] } else { &keys[..1] };
        match self.0.store.script(script, keys, args, by).await {
            Ok(value) => {
                self.0.used.notify_waiters();
                Ok(value)
            }
            Err(fault) => Err(self.explain_fault(fault).await),
        }
    }

    /// Whether nobody uses the queue: it holds no job and has no worker. One command, so that a queue that only
    /// stands ready costs its store next to nothing.
    pub async fn is_unused(&self) -> Result<bool, Error> {
        let space = self.space();
        let mut exists = redis::cmd("EXISTS");
        for key in [
            &space.waiting,
            &space.delayed,
            &space.cron,
            &space.active,
            &space.deadletter,
            &space.workers_active,
            &space.claimed,
            &space.parked,
            &space.paused_until,
            &space.recoveries,
            &space.cancelled,
        ] {
            exists.arg(key.as_str());
        }
        Ok(reply::int(&self.call(&exists).await?) == Some(0))
    }

    /// Waits until this process changes the queue; counts from the call.
    pub fn used(&self) -> Notified<'_> {
        self.0.used.notified()
    }

    /// The letters of what is switched on.
    pub(crate) fn opts(&self) -> String {
        let on = OPTS.iter().filter(|(_, _, is_on)| is_on(self.options()));
        on.map(|(letter, ..)| letter).collect()
    }

    /// The first arguments of every script that may end a job.
    pub(crate) fn ending_args(&self) -> [String; 4] {
        let options = self.options();
        let result_ttl = match options.result_ttl_s {
            0 => FAILURE_TTL_S,
            seconds => seconds,
        };
        let retention = options.retention_s.max(-1).to_string();
        [self.now_ms().to_string(), self.opts(), result_ttl.to_string(), retention]
    }

    /// The stored text of a job; what is no text reads as none.
    pub(crate) async fn text_of(&self, id: &str) -> Result<Option<String>, Error> {
        let value = self.call(&cmd("GET", self.space().data(id))).await?;
        Ok(reply::text(&value).map(str::to_owned))
    }

    /// Changes one job by a script that compares the text it was decided on. The rule makes that call, whose answer is
    /// `None` where the text had changed; then it decides again.
    pub(crate) async fn change<T, R, F>(&self, id: &str, mut rule: R) -> Result<T, Error>
    where
        T: Send + 'static,
        R: FnMut(Jobs, Option<&str>) -> Result<F, Error> + Send + 'static,
        F: Future<Output = Result<Option<T>, Error>> + Send + 'static,
    {
        let jobs = self.clone();
        let decide = move |text: Option<&[u8]>| {
            let text = text.and_then(|text| std::str::from_utf8(text).ok());
            match rule(jobs.clone(), text) {
                Ok(call) => Decision::call(move |_| async move { Ok(call.await.transpose()) }),
                Err(refusal) => Decision::Leave(Err(refusal)),
            }
        };
        match self.0.writer.write(self.space().data(id), self.by(), decide).await? {
            Written::Answer(answer) => answer,
            Written::Guarded(_) => unreachable!("a call has no guards"),
        }
    }

    /// A server says that a type is wrong and not where: look.
    async fn explain_fault(&self, fault: Fault) -> Error {
        let Fault::Refused { code, detail } = &fault else { return fault.into() };
        if code != "WRONGTYPE" && !detail.contains("WRONGTYPE") {
            return fault.into();
        }
        // Channels are no keys, and the server's user may not ask for their type.
        let is_key = |name: &str| keys::TABLE.def(name).is_some_and(KeyDef::is_key);
        let mut fixed = self.space().fixed();
        fixed.retain(|(name, _)| is_key(name));
        let cmds: Vec<Cmd> = fixed.iter().map(|(_, key)| cmd("TYPE", key.as_str())).collect();
        let Ok(answers) = self.0.store.pipeline(&cmds, self.by()).await else {
            return fault.into();
        };
        for ((name, key), answer) in fixed.into_iter().zip(answers) {
            let Some(found) = answer.ok().as_ref().and_then(reply::text).map(str::to_owned) else {
                continue;
            };
            let right = keys::TABLE.def(name).map_or("none", |def| def.type_.redis());
            if found != "none" && found != right {
                return Error::WrongType { key: key.as_str().to_owned(), found };
            }
        }
        fault.into()
    }
}

/// A command on one key.
pub(crate) fn cmd(name: &str, key: impl AsRef<str>) -> Cmd {
    let mut cmd = redis::cmd(name);
    cmd.arg(key.as_ref());
    cmd
}

/// A command on a member of one key.
pub(crate) fn cmd_on(name: &str, key: impl AsRef<str>, member: &str) -> Cmd {
    let mut cmd = cmd(name, key);
    cmd.arg(member);
    cmd
}
