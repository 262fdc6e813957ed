//! Timers that outlive every process: a sorted set `wk:<module>:<scope>:due` (score = due ms) and a hash
//! `…:due:data` (member → `<token> <payload>`). Serving leases a timer by moving its score forward and
//! writing the server's token, acts by compare-and-set on the state, then removes it. Arming anew replaces
//! the value, so the holder of the old one cannot remove the new one. A server that dies lets its leases
//! run out, and another acts.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use redis::Cmd;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::effects::{Effects, Op};
use crate::fault::Fault;
use crate::log_once::LogOnce;
use crate::reply;
use crate::scopes;
use crate::script::Script;
use crate::step::Step;
use crate::store::{Deadline, Store};

/// Lines logged of timers that cannot be read, of scopes that cannot be served, and of scopes that
/// cannot be read.
static TOLD: LogOnce = LogOnce::new();
static SERVED: LogOnce = LogOnce::new();
static READ: LogOnce = LogOnce::new();

/// Hands out timers that are due.
pub(crate) static LEASE: Script =
    Script::new("timers_lease", include_str!("../scripts/timers_lease.lua"));
/// Removes or moves a timer one still has.
pub(crate) static DONE: Script =
    Script::new("timers_done", include_str!("../scripts/timers_done.lua"));

/// The two keys of one scope's timers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerKeys {
    /// The sorted set.
    pub due: String,
    /// The hash.
    pub data: String,
}

impl TimerKeys {
    /// As a table's builders name them. On a Cluster both must share a slot.
    pub fn new(due: impl Into<String>, data: impl Into<String>) -> Self {
        TimerKeys { due: due.into(), data: data.into() }
    }

    /// From the sorted set's key alone; the hash is beside it, in the same slot when the key has a hash tag.
    pub fn of(due: impl Into<String>) -> Self {
        let due = due.into();
        TimerKeys { data: format!("{due}:data"), due }
    }

    /// The writes that arm a timer, or arm it anew. In a [`Step`] they are part of it.
    pub fn arm(&self, member: &str, due_ms: u64, payload: &str) -> Vec<Op> {
        Vec::new().zadd(&self.due, due_ms, member).hset(&self.data, member, free(payload))
    }

    /// The same for a timer that runs at its own pace: one that is armed already stays as it is, also in
    /// the hands of a server, whose step compares the document before it ends or moves the timer.
    pub fn arm_if_absent(&self, member: &str, due_ms: u64, payload: &str) -> Vec<Op> {
        let due = due_ms.to_string();
        let due = Op::on("ZADD", &self.due, &[b"NX", due.as_bytes(), member.as_bytes()]);
        let data = Op::on("HSETNX", &self.data, &[member.as_bytes(), free(payload).as_bytes()]);
        vec![due, data]
    }

    /// The writes that take a timer away, whoever has it.
    pub fn cancel(&self, member: &str) -> Vec<Op> {
        Vec::new().zrem(&self.due, member).hdel(&self.data, member)
    }
}

fn free(payload: &str) -> String {
    format!("- {payload}")
}

/// Takes back the timers that servers have in hand, which must all be dead: they are due now. Gives how many there were.
pub async fn free_all(
    store: &dyn Store,
    keys: &TimerKeys,
    now_ms: u64,
    by: Deadline,
) -> Result<usize, Fault> {
    let answer = store.call(redis::cmd("HGETALL").arg(&keys.data), by).await?;
    let mut cmds = Vec::new();
    for (member, value) in reply::pairs(&answer).unwrap_or_default() {
        let (Some(member), Some(value)) = (reply::bytes(member), reply::text(value)) else {
            continue;
        };
        let Some((token, payload)) = value.split_once(' ').filter(|(token, _)| *token != "-")
        else {
            continue;
        };
        tracing::debug!(key = %keys.due, token, "a timer of a dead server is due");
        let mut due = redis::cmd("ZADD");
        due.arg(&keys.due).arg("XX").arg(now_ms).arg(member);
        let mut data = redis::cmd("HSET");
        data.arg(&keys.data).arg(member).arg(free(payload));
        cmds.extend([due, data]);
    }
    for answer in store.pipeline(&cmds, by).await? {
        answer?;
    }
    Ok(cmds.len() / 2)
}

/// A timer in the hands of this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    /// The scope it belongs to; empty where the module has none.
    pub scope: String,
    /// The timer's name in the sorted set.
    pub member: String,
    /// When it was due. After a crash of another server this is the end of that one's lease, or of its life.
    pub due_ms: u64,
    /// The payload with which the timer was armed.
    pub payload: String,
    keys: TimerKeys,
    token: String,
}

impl Timer {
    /// Makes the timer's removal part of the step that does its work: then it happens exactly once, whatever
    /// crashes. The step is refused when somebody armed the timer anew or took it over.
    pub fn finish(&self, step: Step) -> Step {
        step.while_field(&self.keys.data, &self.member, self.value())
            .ops(self.keys.cancel(&self.member))
    }

    /// The same for a timer that goes on: armed again with another payload, in the step.
    pub fn rearm(&self, step: Step, due_ms: u64, payload: &str) -> Step {
        step.while_field(&self.keys.data, &self.member, self.value()).ops(self.keys.arm(
            &self.member,
            due_ms,
            payload,
        ))
    }

    /// The text under which this server holds it, for scripts that finish it themselves.
    pub fn value(&self) -> String {
        format!("{} {}", self.token, self.payload)
    }
}

/// The outcome of a handler for a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The timer's work is done, or there was none: the timer is removed. Also right after
    /// [`Timer::finish`].
    Done,
    /// The timer ended in the step that did its work ([`Timer::finish`], [`Timer::rearm`]): nothing
    /// is left to settle.
    Finished,
    /// Again at that time, with the same payload.
    Again(u64),
    /// It could not be done now: it stays leased and comes again when the lease has run out.
    Failed,
}

/// The place where a module's scopes are found.
#[derive(Debug, Clone)]
pub enum Scopes {
    /// Members of this set, such as `wk:reactors:scopes`.
    Set(String),
    /// The module has one set of timers only.
    One,
}

type KeysOf = dyn Fn(&str) -> Option<TimerKeys> + Send + Sync;

/// Serves one module's timers.
pub struct Timers {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    scopes: Scopes,
    keys: Box<KeysOf>,
    lease: Duration,
    batch: usize,
    look_every: Duration,
    /// Of this server; each taking adds a number, so that no two leases are alike.
    server: String,
    taken: AtomicU64,
    wake: Arc<Notify>,
}

impl Timers {
    /// `keys` names the timers of a scope; `None` passes over a scope that is none. Leases last 10 s, a batch
    /// has 64, and new timers of other processes are noticed within half a second.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        scopes: Scopes,
        keys: impl Fn(&str) -> Option<TimerKeys> + Send + Sync + 'static,
    ) -> Self {
        Timers {
            store,
            clock,
            scopes,
            keys: Box::new(keys),
            lease: Duration::from_secs(10),
            batch: 64,
            look_every: Duration::from_millis(500),
            server: uuid::Uuid::new_v4().simple().to_string(),
            taken: AtomicU64::new(0),
            wake: Arc::new(Notify::new()),
        }
    }

    /// How long a timer stays with a server that does not answer for it.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_millis(1));
        self
    }

    /// How many timers of a scope are taken at once.
    #[must_use]
    pub fn batch(mut self, batch: usize) -> Self {
        self.batch = batch.max(1);
        self
    }

    /// How often to look for timers that other processes armed.
    #[must_use]
    pub fn look_every(mut self, every: Duration) -> Self {
        self.look_every = every.max(Duration::from_millis(1));
        self
    }

    /// Wakes the serving loop by `notify_one`: do so after arming, so that a near timer is not served late.
    pub fn waker(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Takes what is due in a scope, at most a batch.
    pub async fn take(&self, scope: &str, by: Deadline) -> Result<Vec<Timer>, Fault> {
        let Some(keys) = (self.keys)(scope) else { return Ok(Vec::new()) };
        let token = format!("{}.{}", self.server, self.taken.fetch_add(1, Ordering::Relaxed));
        let now_ms = self.clock.now_ms();
        let until_ms = now_ms.saturating_add(u64::try_from(self.lease.as_millis()).unwrap_or(0));
        let (now, until) = (now_ms.to_string(), until_ms.to_string());
        let most = self.batch.to_string();
        let args = [now.as_bytes(), until.as_bytes(), most.as_bytes(), token.as_bytes()];
        let both = [keys.due.as_bytes(), keys.data.as_bytes()];
        let answer = self.store.script(&LEASE, &both, &args, by).await?;
        let items = reply::list(&answer)
            .filter(|items| items.len() % 3 == 0)
            .ok_or_else(|| reply::unexpected(&keys.due, "timers", &answer))?;
        let timer = |item: &[redis::Value]| {
            // Members and payloads are ours and UTF-8; a score of ours is a whole number.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let due_ms = reply::number(&item[1])?.max(0.0) as u64;
            Some(Timer {
                scope: scope.to_owned(),
                member: reply::text(&item[0])?.to_owned(),
                due_ms,
                payload: reply::text(&item[2])?.to_owned(),
                keys: keys.clone(),
                token: token.clone(),
            })
        };
        // One that cannot be read comes back with every lease; it is reported and does not stop the others.
        let (timers, unread): (Vec<_>, Vec<_>) =
            items.chunks_exact(3).map(timer).partition(Option::is_some);
        if !unread.is_empty() {
            let count = unread.len();
            if TOLD.is_news(keys.due.as_ref(), &count) {
                tracing::warn!(key = %keys.due, count, "timers that are not UTF-8");
            }
        }
        Ok(timers.into_iter().flatten().collect())
    }

    /// Settles a timer. `false`: somebody armed it anew or took it over, and it was left alone.
    pub async fn settle(
        &self,
        timer: &Timer,
        verdict: Verdict,
        by: Deadline,
    ) -> Result<bool, Fault> {
        let again = match verdict {
            Verdict::Failed | Verdict::Finished => return Ok(true),
            Verdict::Done => String::new(),
            Verdict::Again(at_ms) => at_ms.to_string(),
        };
        let (value, free) = (timer.value(), free(&timer.payload));
        let args = [timer.member.as_bytes(), value.as_bytes(), again.as_bytes(), free.as_bytes()];
        let both = [timer.keys.due.as_bytes(), timer.keys.data.as_bytes()];
        let answer = self.store.script(&DONE, &both, &args, by).await?;
        Ok(reply::bytes(&answer) == Some(b"done"))
    }

    /// Serves until `stop` ends. `act` does one timer's work; it may run twice for one timer only when its
    /// server was taken for dead, and then [`Timer::finish`] or a compare-and-set lets one of them win.
    pub async fn serve<A, F>(&self, mut act: A, stop: impl Future<Output = ()>)
    where
        A: FnMut(Timer) -> F,
        F: Future<Output = Verdict>,
    {
        let mut stop = std::pin::pin!(stop);
        let mut rest = self.look_every;
        loop {
            let wake = self.wake.clone();
            let woken = wake.notified();
            let round = async {
                let next_ms = match self.round(&mut act).await {
                    Ok(next_ms) => next_ms,
                    Err(fault) => {
                        tracing::debug!(%fault, "timers wait for the store");
                        None
                    }
                };
                // Whoever arms the first timer serves it too; others need not look often while there is none.
                let rest = if next_ms.is_some() { self.look_every } else { rest };
                let look = self.clock.sleep(rest);
                let due = self.clock.sleep_until(next_ms.unwrap_or(u64::MAX));
                tokio::select! {
                    () = look => if next_ms.is_some() { self.look_every } else { rest * 2 },
                    () = due => self.look_every,
                    () = woken => self.look_every,
                }
            };
            rest = tokio::select! {
                biased;
                () = &mut stop => return,
                longer = round => longer.min(self.look_every * QUIET),
            };
        }
    }

    /// Does all that is due now and tells when the next one is.
    async fn round<A, F>(&self, act: &mut A) -> Result<Option<u64>, Fault>
    where
        A: FnMut(Timer) -> F,
        F: Future<Output = Verdict>,
    {
        let mut waiting = self.due_scopes(patience()).await?;
        let mut next_ms: Option<u64> = None;
        while !waiting.is_empty() {
            let mut still = Vec::new();
            for (scope, due_ms) in waiting {
                if due_ms > self.clock.now_ms() {
                    next_ms = Some(next_ms.map_or(due_ms, |next| next.min(due_ms)));
                    continue;
                }
                match self.batch_of(&scope, act).await {
                    Ok(()) => {
                        SERVED.well(&scope);
                        still.push(scope);
                    }
                    // One broken scope must not stop the others.
                    Err(fault @ (Fault::Refused { .. } | Fault::Corrupt { .. })) => {
                        if SERVED.is_news(&scope, &fault) {
                            tracing::warn!(%scope, %fault, "timers of a scope cannot be served");
                        }
                    }
                    Err(fault) => return Err(fault),
                }
                // The embedded engine answers at once: let others run between two batches.
                tokio::task::yield_now().await;
            }
            waiting = self.next_due(still, patience()).await?;
        }
        Ok(next_ms)
    }

    /// Serves one batch, as long as its leases can be counted on: what is left then comes again.
    async fn batch_of<A, F>(&self, scope: &str, act: &mut A) -> Result<(), Fault>
    where
        A: FnMut(Timer) -> F,
        F: Future<Output = Verdict>,
    {
        let until = self.clock.monotonic() + self.lease * 9 / 10;
        // Side by side: on a network most of a timer's time is waiting for the store.
        let mut work: FuturesUnordered<_> = self
            .take(scope, patience())
            .await?
            .into_iter()
            .map(|timer| (act(timer.clone()), timer))
            .map(|(acting, timer)| async move {
                let left = until.saturating_sub(self.clock.monotonic());
                let verdict = tokio::select! {
                    biased;
                    verdict = acting => verdict,
                    () = self.clock.sleep(left) => Verdict::Failed,
                };
                let settled = self.settle(&timer, verdict, patience()).await;
                settled.map(|had| (had, timer))
            })
            .collect();
        let mut failed = None;
        while let Some(settled) = work.next().await {
            match settled {
                Ok((true, _)) => {}
                Ok((false, timer)) => {
                    tracing::debug!(member = %timer.member, "timer was finished, armed anew or taken over");
                }
                // The others are under way already: let them end.
                Err(fault) => failed = Some(fault),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn due_scopes(&self, by: Deadline) -> Result<Vec<(String, u64)>, Fault> {
        let scopes = match &self.scopes {
            Scopes::One => vec![String::new()],
            Scopes::Set(key) => scopes::list(&*self.store, key, by).await?,
        };
        self.next_due(scopes, by).await
    }

    /// The earliest time of each scope that has a timer at all.
    async fn next_due(
        &self,
        scopes: Vec<String>,
        by: Deadline,
    ) -> Result<Vec<(String, u64)>, Fault> {
        let ask = |scope: String| {
            let due = (self.keys)(&scope)?.due;
            let mut cmd = redis::cmd("ZRANGE");
            cmd.arg(due).arg(0).arg(0).arg("WITHSCORES");
            Some((scope, cmd))
        };
        let (scopes, cmds): (Vec<String>, Vec<Cmd>) = scopes.into_iter().filter_map(ask).unzip();
        if cmds.is_empty() {
            return Ok(Vec::new());
        }
        let answers = self.store.pipeline(&cmds, by).await?;
        let mut found = Vec::new();
        for (scope, answer) in scopes.into_iter().zip(answers) {
            let answer = match answer {
                Ok(answer) => answer,
                // One broken scope must not stop the others.
                Err(fault @ Fault::Refused { .. }) => {
                    if READ.is_news(&scope, &fault) {
                        tracing::warn!(%scope, %fault, "timers of a scope cannot be read");
                    }
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            let pairs = reply::pairs(&answer).unwrap_or_default();
            let Some(score) = pairs.first().and_then(|(_, score)| reply::number(score)) else {
                continue;
            };
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            // ms, and not negative
            found.push((scope, score.max(0.0).ceil() as u64));
        }
        Ok(found)
    }
}

/// A set without timers is looked at so many times less often.
const QUIET: u32 = 10;

fn patience() -> Deadline {
    Deadline::after(Duration::from_secs(2))
}
