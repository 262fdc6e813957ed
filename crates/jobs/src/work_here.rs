//! The worker's hot path where the data is in this process: what `single` of `finish_and_claim.lua` does, command by
//! command and without Lua. Everything is looked at before the first write; where it is not that simple, nothing is
//! written and the script does it. Both write the same bytes, and a test compares them.

use kernel::{Calls, EVENTS_KEPT, Fault, Value, reply};

use crate::error::Error;
use crate::finish::Outcome;
use crate::jobs::Jobs;
use crate::model::WorkerFacts;
use crate::space::Space;

impl Jobs {
    /// Ends one plain attempt at most and claims the job at the head. `None` where it has to be the script.
    pub(crate) fn work_here(
        &self,
        facts: &WorkerFacts,
        outcomes: &[Outcome<'_>],
    ) -> Option<Result<Value, Error>> {
        let here = self.store().here()?;
        let ended = match outcomes {
            [] => None,
            [one] => Some(one.plainly()?),
            _ => return None,
        };
        let [now, opts, result_ttl, retention] = self.ending_args();
        let with = With {
            space: self.space(),
            me: &facts.server_id,
            types: &facts.said().types,
            tells: opts.contains('e'),
            keeps: !opts.contains('n'),
            now,
            result_ttl,
            retention,
            lock_ttl: self.options().lock_ttl_s.to_string(),
        };
        let mut done = None;
        let mut work = |calls: &mut dyn Calls| done = Single { calls, with: &with }.run(ended);
        match here.alone(&mut work, self.by())? {
            Ok(()) => {}
            Err(fault) => return Some(Err(fault.into())),
        }
        match done? {
            Ok(head) => {
                let nothing = [String::new(), String::new()];
                let texts = nothing
                    .into_iter()
                    .chain(head.into_iter().flat_map(|head| [head.id, head.text]));
                let parts = texts.map(|text| Value::BulkString(text.into_bytes()));
                Some(Ok(Value::Array(parts.collect())))
            }
            Err(fault) => Some(Err(fault.into())),
        }
    }
}

/// What the step is told.
struct With<'a> {
    space: &'a Space,
    me: &'a str,
    types: &'a str,
    tells: bool,
    keeps: bool,
    now: String,
    result_ttl: String,
    retention: String,
    lock_ttl: String,
}

/// The job at the head of the list.
struct Head {
    id: String,
    kind: String,
    text: String,
}

struct Single<'a, 'b> {
    calls: &'a mut dyn Calls,
    with: &'b With<'b>,
}

impl Single<'_, '_> {
    /// `ended` is id, type, result and body of an attempt. `None`, and nothing was written: it is left to the script.
    fn run(&mut self, ended: Option<[&str; 4]>) -> Option<Result<Option<Head>, Fault>> {
        let space = self.with.space;
        self.look_at_queue()?;
        if let Some([id, ..]) = ended
            && self.text(&["GET", &space.lock(id)])?.as_deref() != Some(self.with.me)
        {
            return None;
        }
        let head = match self.text(&["LINDEX", space.waiting.as_str(), "0"])? {
            Some(id) => Some(self.head(id)?),
            None => None,
        };
        // Where one ends and another of its type begins, as many run as before.
        let (less, more) = match (ended, &head) {
            (Some([_, kind, ..]), Some(head)) if kind == head.kind => (None, None),
            (ended, head) => {
                (ended.map(|[_, kind, ..]| kind), head.as_ref().map(|head| &*head.kind))
            }
        };
        let less = less.map(|kind| space.concurrent(kind));
        let more = more.map(|kind| space.concurrent(kind));
        for (counter, least) in [(&less, 1), (&more, 0)] {
            if let Some(counter) = counter {
                self.counts_at_least(counter, least)?;
            }
        }
        Some(self.write(ended, head.as_ref(), less, more).map(|()| head))
    }

    /// A key of another type would stop the step halfway; pauses and the like are the script's.
    fn look_at_queue(&mut self) -> Option<()> {
        let space = self.with.space;
        for (verb, key) in
            [("SCARD", &space.active), ("HLEN", &space.claimed), ("XLEN", &space.events)]
        {
            self.call(&[verb, key.as_str()]).ok()?;
        }
        let rare = [&space.paused, &space.cancelled, &space.parked, &space.recoveries];
        let [paused, cancelled, parked, recoveries] = rare.map(kernel::keyspace::Key::as_str);
        self.finds_none(&["EXISTS", paused, cancelled, parked, recoveries])
    }

    fn head(&mut self, id: String) -> Option<Head> {
        let space = self.with.space;
        let text = self.text(&["GET", &space.data(&id)])??;
        let kind = plain(&text)?.to_owned();
        let types = self.with.types;
        if !types.is_empty() && !types.contains(&format!("\n{kind}\n")) {
            return None;
        }
        self.finds_none(&["EXISTS", &space.lock(&id)])?;
        Some(Head { id, kind, text })
    }

    fn write(
        &mut self,
        ended: Option<[&str; 4]>,
        head: Option<&Head>,
        less: Option<String>,
        more: Option<String>,
    ) -> Result<(), Fault> {
        let with = self.with;
        if let Some(head) = head {
            let lock = with.space.lock(&head.id);
            self.call(&["SET", &lock, with.me, "NX", "EX", &with.lock_ttl])?;
        }
        if let Some(ended) = ended {
            self.end(ended)?;
        }
        if let Some(head) = head {
            self.take(head)?;
        }
        for (counter, by) in [(less, "-1"), (more, "1")] {
            if let Some(counter) = counter {
                self.call(&["INCRBY", &counter, by])?;
            }
        }
        Ok(())
    }

    fn end(&mut self, [id, _, text, body]: [&str; 4]) -> Result<(), Fault> {
        let with = self.with;
        let space = with.space;
        let (status, data, result) = (space.status(id), space.data(id), space.result(id));
        if with.keeps {
            self.call(&["SET", &result, text, "EX", &with.result_ttl])?;
        } else {
            self.call(&["DEL", &result])?;
        }
        match with.retention.as_str() {
            "-1" => self.call(&["SET", &status, "completed"])?,
            "0" => self.call(&["DEL", &status, &data, &space.progress(id)])?,
            kept => {
                self.call(&["SET", &status, "completed", "EX", kept])?;
                self.call(&["EXPIRE", &data, kept])?;
            }
        }
        self.tell("completed", id, body)?;
        self.call(&["DEL", &space.lock(id)])?;
        self.call(&["SREM", space.active.as_str(), id])?;
        self.call(&["HDEL", space.claimed.as_str(), id])
    }

    fn take(&mut self, Head { id, kind, .. }: &Head) -> Result<(), Fault> {
        let (with, space) = (self.with, self.with.space);
        self.call(&["LPOP", space.waiting.as_str()])?;
        self.call(&["SET", &space.status(id), "active"])?;
        self.call(&["SADD", space.active.as_str(), id])?;
        self.call(&["HSET", space.claimed.as_str(), id, &format!("{} {}", with.now, with.me)])?;
        self.tell("claimed", id, &format!(r#"{{"type":"{kind}","worker":"{}"}}"#, with.me))
    }

    fn tell(&mut self, kind: &str, id: &str, body: &str) -> Result<(), Fault> {
        let with = self.with;
        if !with.tells {
            return Ok(());
        }
        let stream = with.space.events.as_str();
        self.call(&[
            "XADD",
            stream,
            "MAXLEN",
            "~",
            EVENTS_KEPT,
            "*",
            "type",
            kind,
            "at",
            &with.now,
            "id",
            id,
            "body",
            body,
        ])
    }

    fn raw(&mut self, words: &[&str]) -> &[u8] {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.calls.call(&words)
    }

    fn call(&mut self, words: &[&str]) -> Result<(), Fault> {
        match self.raw(words).strip_prefix(b"-") {
            None => Ok(()),
            Some(why) => Err(Fault::Unknown(String::from_utf8_lossy(why).trim_end().to_owned())),
        }
    }

    /// The text that a command gives, or that it gives none; nothing when it is no text.
    #[allow(clippy::option_option)] // three answers, and the outer one ends the look
    fn text(&mut self, words: &[&str]) -> Option<Option<String>> {
        let reply = self.raw(words);
        match reply::raw_bulk(reply) {
            Some(text) => Some(Some(String::from_utf8(text.to_vec()).ok()?)),
            None => reply.starts_with(b"$-1").then_some(None),
        }
    }

    fn finds_none(&mut self, words: &[&str]) -> Option<()> {
        (self.raw(words) == b":0\r\n").then_some(())
    }

    /// A counter that may be moved; an absent one is 0.
    fn counts_at_least(&mut self, counter: &str, least: i64) -> Option<()> {
        let count: i64 = match self.text(&["GET", counter])? {
            // Other spellings of a number are none to `INCRBY`.
            Some(text) => text.parse().ok().filter(|count: &i64| count.to_string() == text)?,
            None => 0,
        };
        (least..i64::MAX / 2).contains(&count).then_some(())
    }
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
