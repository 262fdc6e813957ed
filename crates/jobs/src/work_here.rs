//! The worker's hot path where the data is in this process: what `scripts/kit/single.lua` does, command by command and
//! without Lua. Everything is looked at before the first write; where it is not that simple, nothing is written and the
//! script does it. Both write the same bytes, and a test compares them.

use kernel::{Deadline, Fault, Here, Next, Value};

use crate::error::Error;
use crate::finish::Outcome;
use crate::jobs::Jobs;
use crate::model::WorkerFacts;
use crate::space::Space;

/// What the reply to a command must be for the rest to run.
enum Want {
    /// Exactly this.
    Reply(Vec<u8>),
    /// A counter of at least so much; an absent one is 0.
    Count(i64),
    /// No error: a key of the right type, or a write.
    Fine,
}

/// Commands, and what is expected of each. Those before `writes` only look.
#[derive(Default)]
struct Plan<'a> {
    cmds: Vec<Vec<&'a [u8]>>,
    wants: Vec<Want>,
}

impl<'a> Plan<'a> {
    fn look(&mut self, words: &[&'a [u8]], want: Want) {
        self.cmds.push(words.to_vec());
        self.wants.push(want);
    }

    fn write(&mut self, words: &[&'a [u8]]) {
        self.look(words, Want::Fine);
    }

    /// A key of another type would stop the step halfway; pauses and the like are the script's.
    fn look_at_queue(&mut self, space: &'a Space) {
        self.look(&[b"SCARD", space.active.as_bytes()], Want::Fine);
        self.look(&[b"ZCARD", space.leases.as_bytes()], Want::Fine);
        self.look(&[b"HLEN", space.claimed.as_bytes()], Want::Fine);
        self.look(&[b"XLEN", space.events.as_bytes()], Want::Fine);
        let rare = [&space.paused, &space.cancelled, &space.parked, &space.recoveries];
        let words =
            std::iter::once(&b"EXISTS"[..]).chain(rare.map(kernel::keyspace::Key::as_bytes));
        self.look(&words.collect::<Vec<_>>(), Want::Reply(b":0\r\n".to_vec()));
    }

    fn tell(&mut self, with: &Common<'a>, kind: &'a [u8], id: &'a str, body: &'a str) {
        if with.tells {
            let (events, now) = (with.space.events.as_bytes(), with.now.as_bytes());
            self.write(&[
                b"XADD",
                events,
                b"MAXLEN",
                b"~",
                b"10000",
                b"*",
                b"type",
                kind,
                b"at",
                now,
                b"id",
                id.as_bytes(),
                b"body",
                body.as_bytes(),
            ]);
        }
    }

    /// Runs them; false when something was not as expected, and nothing was written.
    fn run(&self, here: &dyn Here, writes: usize, by: Deadline) -> Option<Result<bool, Fault>> {
        let cmds: Vec<&[&[u8]]> = self.cmds.iter().map(Vec::as_slice).collect();
        let mut ended = Ok(true);
        let mut look = |at: usize, reply: &[u8]| {
            if self.wants[at].is_met(reply) {
                return Next::Go;
            }
            ended = if at < writes {
                Ok(false)
            } else {
                Err(Fault::Unknown(format!("a write failed: {}", String::from_utf8_lossy(reply))))
            };
            Next::Stop
        };
        let ran = here.at_once(&cmds, &mut look, by)?;
        Some(ran.and(ended))
    }
}

impl Want {
    fn is_met(&self, reply: &[u8]) -> bool {
        match self {
            Want::Reply(wanted) => reply == wanted,
            Want::Count(least) => match bulk_in(reply) {
                Some(text) => std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.parse::<i64>().ok())
                    .is_some_and(|count| (*least..i64::MAX / 2).contains(&count)),
                None => *least <= 0 && reply == NONE,
            },
            Want::Fine => !reply.starts_with(b"-"),
        }
    }
}

const NONE: &[u8] = b"$-1\r\n";

fn bulk(text: &[u8]) -> Vec<u8> {
    let head = format!("${}\r\n", text.len());
    [head.as_bytes(), text, b"\r\n"].concat()
}

fn bulk_in(reply: &[u8]) -> Option<&[u8]> {
    let rest = reply.strip_prefix(b"$")?;
    let end = rest.iter().position(|byte| *byte == b'\r')?;
    let len: usize = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    rest.get(end + 2..end + 2 + len)
}

/// The type of a job that every worker for its type may run; see `plain` in `finish_and_claim.lua`.
fn plain(text: &str) -> Option<&str> {
    if text.contains("rateLimit\"") || text.contains("\"x\"") {
        return None;
    }
    if let Some((_, after)) = text.split_once("target\"")
        && (!after.starts_with(":{}") || after.contains("target\""))
    {
        return None;
    }
    let rest = text.strip_prefix(r#"{"jobId":""#)?;
    let rest = rest[rest.find(['"', '\\'])?..].strip_prefix(r#"","type":""#)?;
    let end = rest.find(|c: char| matches!(c, '"' | '\\') || c.is_ascii_control())?;
    (end > 0 && rest[end..].starts_with("\",")).then_some(&rest[..end])
}

/// The head of the list and its text, as they are at this moment.
struct Head {
    id: String,
    text: String,
}

impl Jobs {
    /// Ends one plain attempt at most and claims the job at the head. `None` where it has to be the script.
    pub(crate) fn work_here(
        &self,
        facts: &WorkerFacts,
        outcomes: &[Outcome<'_>],
        lease_until: u64,
    ) -> Option<Result<Value, Error>> {
        let here = self.store().here()?;
        let ended = match outcomes {
            [] => None,
            [one] => Some(one.plainly()?),
            _ => return None,
        };
        let head = match self.head_of_list(here)? {
            Ok(head) => head,
            Err(fault) => return Some(Err(fault.into())),
        };
        match self.single(here, facts, ended, head.as_ref(), lease_until)? {
            Ok(true) => {}
            Ok(false) => return None,
            Err(fault) => return Some(Err(fault.into())),
        }
        let mut parts = vec![Value::BulkString(Vec::new()), Value::BulkString(Vec::new())];
        let texts = head.into_iter().flat_map(|head| [head.id, head.text]);
        parts.extend(texts.map(|text| Value::BulkString(text.into_bytes())));
        Some(Ok(Value::Array(parts)))
    }

    fn head_of_list(&self, here: &dyn Here) -> Option<Result<Option<Head>, Fault>> {
        let ask = |words: &[&[u8]]| {
            let mut found = None;
            let mut look = |_: usize, reply: &[u8]| {
                let text = bulk_in(reply).and_then(|text| String::from_utf8(text.to_vec()).ok());
                found = Some((reply == NONE, text));
                Next::Stop
            };
            let ran = here.at_once(&[words], &mut look, self.by())?;
            Some(ran.map(|()| found))
        };
        let id = match ask(&[b"LINDEX", self.space().waiting.as_bytes(), b"0"])? {
            Ok(Some((true, _))) => return Some(Ok(None)),
            Ok(found) => found?.1?,
            Err(fault) => return Some(Err(fault)),
        };
        let data = self.space().data(&id);
        match ask(&[b"GET", data.as_bytes()])? {
            Ok(found) => Some(Ok(Some(Head { id, text: found?.1? }))),
            Err(fault) => Some(Err(fault)),
        }
    }
}

/// What both halves of the step are told.
struct Common<'a> {
    space: &'a Space,
    me: &'a str,
    now: &'a str,
    tells: bool,
}

/// An attempt that ended plainly.
struct Ended<'a> {
    id: &'a str,
    kind: &'a str,
    text: &'a str,
    body: &'a str,
    lock: String,
    result: String,
    status: String,
    data: String,
    progress: String,
    counter: String,
}

impl<'a> Ended<'a> {
    fn new(space: &Space, [id, kind, text, body]: [&'a str; 4]) -> Self {
        let [lock, result, status] = [space.lock(id), space.result(id), space.status(id)];
        let (data, progress, counter) =
            (space.data(id), space.progress(id), space.concurrent(kind));
        Ended { id, kind, text, body, lock, result, status, data, progress, counter }
    }

    fn look<'p>(&'p self, plan: &mut Plan<'p>, me: &str, moves: bool) {
        plan.look(&[b"GET", self.lock.as_bytes()], Want::Reply(bulk(me.as_bytes())));
        if moves {
            plan.look(&[b"GET", self.counter.as_bytes()], Want::Count(1));
        }
    }

    fn write<'p>(&'p self, plan: &mut Plan<'p>, with: &Common<'p>, ttl: &'p str, kept: &'p str) {
        let (status, data) = (self.status.as_bytes(), self.data.as_bytes());
        plan.write(&[b"SET", self.result.as_bytes(), self.text.as_bytes(), b"EX", ttl.as_bytes()]);
        match kept {
            "-1" => plan.write(&[b"SET", status, b"completed"]),
            "0" => plan.write(&[b"DEL", status, data, self.progress.as_bytes()]),
            _ => {
                plan.write(&[b"SET", status, b"completed", b"EX", kept.as_bytes()]);
                plan.write(&[b"EXPIRE", data, kept.as_bytes()]);
            }
        }
        plan.tell(with, b"completed", self.id, self.body);
        plan.write(&[b"DEL", self.lock.as_bytes()]);
        plan.write(&[b"SREM", with.space.active.as_bytes(), self.id.as_bytes()]);
        plan.write(&[b"ZREM", with.space.leases.as_bytes(), self.id.as_bytes()]);
        plan.write(&[b"HDEL", with.space.claimed.as_bytes(), self.id.as_bytes()]);
    }
}

/// The job at the head, taken.
struct Taken<'a> {
    id: &'a str,
    kind: &'a str,
    text: &'a str,
    lock: String,
    status: String,
    data: String,
    counter: String,
    until: String,
    by: String,
    body: String,
}

impl<'a> Taken<'a> {
    fn new(with: &Common<'_>, head: &'a Head, lease_until: u64) -> Option<Self> {
        let (space, me) = (with.space, with.me);
        let kind = plain(&head.text)?;
        Some(Taken {
            id: &head.id,
            kind,
            text: &head.text,
            lock: space.lock(&head.id),
            status: space.status(&head.id),
            data: space.data(&head.id),
            counter: space.concurrent(kind),
            until: lease_until.to_string(),
            by: format!("{} {me}", with.now),
            body: format!(r#"{{"type":"{kind}","worker":"{me}"}}"#),
        })
    }

    fn look<'p>(&'p self, plan: &mut Plan<'p>, moves: bool) {
        plan.look(&[b"GET", self.data.as_bytes()], Want::Reply(bulk(self.text.as_bytes())));
        plan.look(&[b"EXISTS", self.lock.as_bytes()], Want::Reply(b":0\r\n".to_vec()));
        if moves {
            plan.look(&[b"GET", self.counter.as_bytes()], Want::Count(0));
        }
    }

    fn write<'p>(&'p self, plan: &mut Plan<'p>, with: &Common<'p>) {
        let (space, id) = (with.space, self.id.as_bytes());
        plan.write(&[b"LPOP", space.waiting.as_bytes()]);
        plan.write(&[b"SET", self.status.as_bytes(), b"active"]);
        plan.write(&[b"SADD", space.active.as_bytes(), id]);
        plan.write(&[b"ZADD", space.leases.as_bytes(), self.until.as_bytes(), id]);
        plan.write(&[b"HSET", space.claimed.as_bytes(), id, self.by.as_bytes()]);
        plan.tell(with, b"claimed", self.id, &self.body);
    }
}

impl Jobs {
    fn single(
        &self,
        here: &dyn Here,
        facts: &WorkerFacts,
        ended: Option<[&str; 4]>,
        head: Option<&Head>,
        lease_until: u64,
    ) -> Option<Result<bool, Fault>> {
        let space = self.space();
        let [now, opts, result_ttl, retention] = self.ending_args();
        let ttl = self.options().lock_ttl_s.to_string();
        let with = Common { space, me: &facts.server_id, now: &now, tells: opts.contains('e') };
        let ended = ended.map(|parts| Ended::new(space, parts));
        let taken = match head {
            Some(head) => Some(Taken::new(&with, head, lease_until)?),
            None => None,
        };
        let types = &facts.said().types;
        if let Some(taken) = &taken
            && !types.is_empty()
            && !types.contains(&format!("\n{}\n", taken.kind))
        {
            return None;
        }
        let moves = match (&ended, &taken) {
            (Some(ended), Some(taken)) => ended.kind != taken.kind,
            _ => true,
        };
        let mut plan = Plan::default();
        plan.look_at_queue(space);
        if let Some(ended) = &ended {
            ended.look(&mut plan, with.me, moves);
        }
        let first = head.map_or_else(|| NONE.to_vec(), |head| bulk(head.id.as_bytes()));
        plan.look(&[b"LINDEX", space.waiting.as_bytes(), b"0"], Want::Reply(first));
        if let Some(taken) = &taken {
            taken.look(&mut plan, moves);
        }
        let writes = plan.cmds.len();
        if let Some(taken) = &taken {
            let (lock, me) = (taken.lock.as_bytes(), with.me.as_bytes());
            plan.write(&[b"SET", lock, me, b"NX", b"EX", ttl.as_bytes()]);
        }
        if let Some(ended) = &ended {
            ended.write(&mut plan, &with, &result_ttl, &retention);
        }
        if let Some(taken) = &taken {
            taken.write(&mut plan, &with);
        }
        if let Some(ended) = ended.as_ref().filter(|_| moves) {
            plan.write(&[b"INCRBY", ended.counter.as_bytes(), b"-1"]);
        }
        if let Some(taken) = taken.as_ref().filter(|_| moves) {
            plan.write(&[b"INCRBY", taken.counter.as_bytes(), b"1"]);
        }
        plan.run(here, writes, self.by())
    }
}
