//! A step on data inside this process: what `scripts/swap.lua` does, command by command and without Lua. Guards first,
//! then the types of all that is written, then the writes; the same words come out of both, and a test compares them.

use smallvec::SmallVec;

use crate::effects::Op;
use crate::fault::Fault;
use crate::reply::raw_bulk;
use crate::step::{Guard, Step, Swap};
use crate::store::{Deadline, Here, Next};

/// What the reply of a command must be.
enum Want<'a> {
    /// This text; the word when there is none.
    Text(&'a [u8], Swap),
    /// Whether a key exists; the word when it is otherwise.
    Exists(bool, Swap),
    /// No value.
    Nothing,
    /// Something that waits; an error counts as nothing.
    Waiting,
    /// Nothing there, or this type.
    Kind(&'static str, &'a [u8]),
    /// Nothing there, or a whole number.
    Number(&'a [u8]),
    /// This text, else the next command is left out.
    Held(&'a [u8]),
    /// Anything but an error.
    Done,
}

type Words<'a> = SmallVec<[&'a [u8]; 12]>;

/// The commands of a step and what is expected of each.
#[derive(Default)]
struct Plan<'a> {
    cmds: Vec<Words<'a>>,
    wants: Vec<Want<'a>>,
}

impl<'a> Plan<'a> {
    fn add(&mut self, words: &[&'a [u8]], want: Want<'a>) {
        self.cmds.push(SmallVec::from_slice(words));
        self.wants.push(want);
    }

    fn guard(&mut self, keys: &'a [Vec<u8>], guard: &'a Guard) {
        let missing = |n: usize| if n == 1 { Swap::Gone } else { Swap::Changed };
        let key = |n: usize| keys[n - 1].as_slice();
        match guard {
            Guard::Text(n, text) => self.add(&[b"GET", key(*n)], Want::Text(text, missing(*n))),
            Guard::Absent(n) => {
                self.add(&[b"EXISTS", key(*n)], Want::Exists(false, Swap::Changed));
            }
            Guard::Exists(n) => self.add(&[b"EXISTS", key(*n)], Want::Exists(true, missing(*n))),
            Guard::Field(n, field, text) => {
                self.add(&[b"HGET", key(*n), field], Want::Text(text, Swap::Changed));
            }
            Guard::NoField(n, field) => self.add(&[b"HGET", key(*n), field], Want::Nothing),
            Guard::Pending(n, group, entry) => {
                self.add(&[b"XPENDING", key(*n), group, entry, entry, b"1"], Want::Waiting);
            }
        }
    }

    /// A write that fails halfway would leave the ones before it: all of them are looked at first.
    fn look_at(&mut self, op: &'a Op) {
        let (Some(kind), Some(key)) = (kind(op.name), &op.key) else { return };
        let seen = self.cmds.iter().zip(&self.wants).any(|(words, want)| {
            matches!(want, Want::Kind(known, _) if *known == kind) && words[1] == key.as_slice()
        });
        if !seen {
            self.add(&[b"TYPE", key], Want::Kind(kind, key));
        }
        match op.name {
            "HINCRBY" => self.add(&[b"HGET", key, &op.args[0]], Want::Number(key)),
            "INCRBY" => self.add(&[b"GET", key], Want::Number(key)),
            _ => {}
        }
    }

    fn write(&mut self, op: &'a Op) {
        if let ("RELEASE", Some(key)) = (op.name, &op.key) {
            self.add(&[b"HGET", key, &op.args[0]], Want::Held(&op.args[1]));
            self.add(&[b"HDEL", key, &op.args[0]], Want::Done);
            return;
        }
        let words = std::iter::once(op.name.as_bytes())
            .chain(op.key.as_deref())
            .chain(op.args.iter().map(Vec::as_slice));
        self.cmds.push(words.collect());
        self.wants.push(Want::Done);
    }
}

/// The type that a write needs.
fn kind(name: &str) -> Option<&'static str> {
    Some(match name {
        "SADD" | "SREM" => "set",
        "ZADD" | "ZREM" => "zset",
        "HSET" | "HDEL" | "HINCRBY" | "RELEASE" => "hash",
        "LPUSH" | "RPUSH" | "LREM" => "list",
        "XADD" | "XACK" => "stream",
        "INCRBY" => "string",
        _ => return None,
    })
}

impl Step {
    /// Runs it without a script; `None` when it has to be one.
    pub(crate) fn run_here(&self, here: &dyn Here, by: Deadline) -> Option<Result<Swap, Fault>> {
        let mut plan = Plan::default();
        for guard in std::iter::once(&self.guard).chain(&self.others) {
            plan.guard(&self.keys, guard);
        }
        for op in self.document.iter().chain(&self.ops) {
            plan.look_at(op);
        }
        for op in self.document.iter().chain(&self.ops) {
            plan.write(op);
        }
        let cmds: Vec<&[&[u8]]> = plan.cmds.iter().map(SmallVec::as_slice).collect();
        let mut ended: Result<Swap, Fault> = Ok(Swap::Swapped);
        let mut look = |at: usize, reply: &[u8]| {
            match judge(&plan.wants[at], reply) {
                Ok(next) => return next,
                Err(early) => ended = early,
            }
            Next::Stop
        };
        let ran = here.at_once(&cmds, &mut look, by)?;
        Some(ran.and(ended))
    }
}

/// What follows a reply, or how the step ends with it.
fn judge(want: &Want<'_>, reply: &[u8]) -> Result<Next, Result<Swap, Fault>> {
    if let (Want::Waiting, true) = (want, reply.starts_with(b"-") || reply.starts_with(b"*0")) {
        return Err(Ok(Swap::Changed));
    }
    if let Some(error) = reply.strip_prefix(b"-") {
        return Err(Err(refused(error)));
    }
    let ends = |word| Err(Ok(word));
    match want {
        Want::Text(text, missing) => match raw_bulk(reply) {
            None => ends(*missing),
            Some(have) if have == *text => Ok(Next::Go),
            Some(_) => ends(Swap::Changed),
        },
        Want::Exists(wanted, word) if (reply == b":1\r\n") != *wanted => ends(*word),
        Want::Nothing if raw_bulk(reply).is_some() => ends(Swap::Changed),
        Want::Kind(kind, key) => {
            let is = reply.get(1..reply.len().saturating_sub(2)).unwrap_or_default();
            if is == b"none" || is == kind.as_bytes() {
                return Ok(Next::Go);
            }
            let is = String::from_utf8_lossy(is);
            Err(Err(wrong(key, &format!("holds a {is}, not a {kind}"))))
        }
        Want::Number(key) => match raw_bulk(reply) {
            Some(text) if !whole(text) => Err(Err(wrong(key, "holds no whole number"))),
            _ => Ok(Next::Go),
        },
        Want::Held(text) if raw_bulk(reply) != Some(text) => Ok(Next::Skip),
        _ => Ok(Next::Go),
    }
}

fn whole(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

fn wrong(key: &[u8], why: &str) -> Fault {
    let key = String::from_utf8_lossy(key);
    let detail = format!("{key} {why}, nothing was written");
    Fault::Refused { code: "WRONGTYPE".to_owned(), detail }
}

fn refused(error: &[u8]) -> Fault {
    let text = String::from_utf8_lossy(error);
    let (code, detail) = text.trim_end().split_once(' ').unwrap_or((text.trim_end(), ""));
    Fault::Refused { code: code.to_owned(), detail: detail.to_owned() }
}
