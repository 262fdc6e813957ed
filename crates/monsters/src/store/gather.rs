//! Hits on different monsters of one tenant that arrive together become one call of `scripts/damage.lua`. Two calls
//! per tenant are under way at most: one is made up while the server does the other. What comes meanwhile waits and
//! goes with the next one, so a hit that is alone never waits. A hit whose caller left before it was sent is dropped.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kernel::{Deadline, Fault, Store, Value, reply};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::fold::Hint;
use crate::error::Result;
use crate::scripts;

/// So many calls per tenant are under way at a time.
const UNDER_WAY: usize = 2;
/// No call hits more monsters: others use the server too.
const MOST: usize = 64;
/// Arguments of the script for each monster.
const PARTS: usize = 12;

/// What the script is asked about one monster.
pub(super) struct Hit {
    pub(super) hint: Hint,
    pub(super) total: u64,
    pub(super) added: String,
    pub(super) event: String,
    pub(super) now: i64,
    /// When it recovers, where it does.
    pub(super) recover: Option<i64>,
}

/// What comes back: the hint, as it was, and what the script said.
type Answered = (Hint, Result<Value>);

struct Waiting {
    hit: Hit,
    tell: oneshot::Sender<Answered>,
}

#[derive(Default)]
struct Line {
    waiting: Vec<Waiting>,
    under_way: usize,
}

/// Hits on their way, by tenant; a tenant without any is not in it.
#[derive(Default)]
pub(super) struct Gather(Mutex<HashMap<Uuid, Line>>);

impl Gather {
    /// Sends a hit along with others.
    pub(super) async fn send(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        patience: Duration,
        tenant: Uuid,
        hit: Hit,
    ) -> Result<Answered> {
        let (tell, hear) = oneshot::channel();
        let goes = {
            let mut lines = self.0.lock();
            let line = lines.entry(tenant).or_default();
            line.waiting.push(Waiting { hit, tell });
            let goes = line.under_way < UNDER_WAY;
            line.under_way += usize::from(goes);
            goes
        };
        if goes {
            let carrier = Carrier { gather: Arc::clone(self), tenant, ended: false };
            tokio::spawn(carrier.carry(Arc::clone(store), patience));
        }
        hear.await.map_err(|_| Fault::Unknown("the call that carried this hit ended".into()).into())
    }
}

/// Makes a tenant's calls until nobody waits; where it is dropped before, there is room for another one.
struct Carrier {
    gather: Arc<Gather>,
    tenant: Uuid,
    ended: bool,
}

impl Carrier {
    async fn carry(mut self, store: Arc<dyn Store>, patience: Duration) {
        while let Some((hits, tells)) = self.next() {
            match call(&*store, &hits, patience).await {
                Ok(answers) => {
                    for ((hit, tell), answer) in hits.into_iter().zip(tells).zip(answers) {
                        let _ = tell.send((hit.hint, judged(answer)));
                    }
                }
                Err(error) => {
                    for (hit, tell) in hits.into_iter().zip(tells) {
                        let _ = tell.send((hit.hint, Err(error.clone())));
                    }
                }
            }
        }
    }

    fn next(&mut self) -> Option<(Vec<Hit>, Vec<oneshot::Sender<Answered>>)> {
        let mut lines = self.gather.0.lock();
        let line = lines.get_mut(&self.tenant)?;
        line.waiting.retain(|waiting| !waiting.tell.is_closed());
        if line.waiting.is_empty() {
            self.ended = true;
            leave(&mut lines, self.tenant);
            return None;
        }
        let many = line.waiting.len().min(MOST);
        Some(line.waiting.drain(..many).map(|waiting| (waiting.hit, waiting.tell)).unzip())
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        if !self.ended {
            leave(&mut self.gather.0.lock(), self.tenant);
        }
    }
}

/// One call less. Where nobody is left to send them, those who wait hear of it.
fn leave(lines: &mut HashMap<Uuid, Line>, tenant: Uuid) {
    let Some(line) = lines.get_mut(&tenant) else { return };
    line.under_way -= 1;
    if line.under_way == 0 {
        lines.remove(&tenant);
    }
}

/// One call; an answer for each of them.
async fn call(store: &dyn Store, hits: &[Hit], patience: Duration) -> Result<Vec<Value>> {
    let numbers: Vec<[String; 7]> = hits.iter().map(numbers).collect();
    let Some(Hit { hint: Hint { keys: of, .. }, .. }) = hits.first() else { return Ok(Vec::new()) };
    let mut keys: Vec<&[u8]> = Vec::with_capacity(3 + hits.len());
    keys.extend([of.events.as_bytes(), of.timers.due.as_bytes(), of.timers.data.as_bytes()]);
    let mut args: Vec<&[u8]> = Vec::with_capacity(PARTS * hits.len());
    for (hit, [hp, left, total, template, now, id, recover]) in hits.iter().zip(&numbers) {
        let hint = &hit.hint;
        keys.push(hint.key.as_bytes());
        let (body, tail) = hint.around.as_ref().map_or(("", ""), |(body, tail)| (body, tail));
        let head = hint.head.as_deref().unwrap_or_default();
        let (added, event) = (hit.added.as_str(), hit.event.as_str());
        let parts: [&str; PARTS] =
            [head, hp, left, body, tail, added, event, total, template, now, id, recover];
        args.extend(parts.map(str::as_bytes));
    }
    match store.script(&scripts::DAMAGE, &keys, &args, Deadline::after(patience)).await? {
        Value::Array(answers) if answers.len() == hits.len() => Ok(answers),
        other => Err(reply::unexpected("damage", "an answer for each monster", &other).into()),
    }
}

fn numbers(hit: &Hit) -> [String; 7] {
    let text = |number: i64| itoa::Buffer::new().format(number).to_owned();
    let hint = &hit.hint;
    // Without its whole text there is nothing to compare.
    let hp = if hint.around.is_some() { text(hint.hp.into()) } else { String::new() };
    let total = i64::try_from(hit.total).unwrap_or(i64::MAX);
    let left = text((i64::from(hint.hp) - total).max(0));
    let (template, id) = (text(hint.monster_id.into()), text(hint.id.into()));
    let recover = hit.recover.map(text).unwrap_or_default();
    [hp, left, text(total), template, text(hit.now), id, recover]
}

/// What is wrong with one monster is its own fault.
fn judged(answer: Value) -> Result<Value> {
    let items = reply::list(&answer).unwrap_or_default();
    if items.first().and_then(reply::bytes) != Some(b"error") {
        return Ok(answer);
    }
    let text = items.get(1).and_then(reply::text).unwrap_or_default();
    let (code, detail) = text.split_once(' ').unwrap_or((text, ""));
    Err(Fault::Refused { code: code.to_owned(), detail: detail.to_owned() }.into())
}
