//! The writes that go along with a change of state: index entries, helpers, timers, events. One vocabulary
//! for all that changes a document, so that a module says what happens and not how. A [`crate::Step`] looks at all its
//! writes before the first one; `MULTI` cannot.

use redis::Cmd;

use crate::events::Event;
use crate::packed::Words;

/// Streams keep about this many entries.
pub const EVENTS_KEPT: &str = "10000";

/// One write beside the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    pub(crate) name: &'static str,
    /// `None` only for `PUBLISH`, whose channel is no key.
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) args: Vec<Vec<u8>>,
}

impl Op {
    /// A write to a key.
    pub fn on(name: &'static str, key: impl AsRef<[u8]>, args: &[&[u8]]) -> Self {
        let args = args.iter().map(|arg| arg.to_vec()).collect();
        Op { name, key: Some(key.as_ref().to_vec()), args }
    }

    /// The command's name; `RELEASE`, `SPLICE` and `LIFE` are a step's own.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The key it writes; `None` only for `PUBLISH`, whose channel is no key.
    pub fn key(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    /// The arguments after the key.
    pub fn args(&self) -> &[Vec<u8>] {
        &self.args
    }

    /// The type that the key must have, where the write needs one.
    pub fn kind(&self) -> Option<&'static str> {
        Some(match self.name {
            "SADD" | "SREM" => "set",
            "ZADD" | "ZREM" => "zset",
            "HSET" | "HSETNX" | "HDEL" | "HINCRBY" | "RELEASE" => "hash",
            "LPUSH" | "RPUSH" | "LREM" => "list",
            "XADD" | "XACK" | "XDEL" => "stream",
            "INCRBY" | "SPLICE" => "string",
            _ => return None,
        })
    }

    /// The field or the stream entry that is written, where it is not the whole key.
    pub(crate) fn part(&self) -> Option<&[u8]> {
        match self.name {
            "HSET" | "HSETNX" | "HDEL" | "HINCRBY" | "RELEASE" | "XDEL" => {
                self.args.first().map(Vec::as_slice)
            }
            "XACK" => self.args.get(1).map(Vec::as_slice),
            _ => None,
        }
    }

    /// Whether it gives a life to a key without one, and writes nothing else.
    pub(crate) fn is_life(&self) -> bool {
        self.name == "LIFE"
    }

    /// This write of a document right behind an earlier one: a life given there stays.
    pub(crate) fn following(mut self, earlier: Op) -> Op {
        let keeps_life = self.args.get(1).is_some_and(|arg| arg == b"KEEPTTL");
        if keeps_life && earlier.name == "SET" {
            self.args.truncate(1);
            self.args.extend(earlier.args.into_iter().skip(1));
        }
        self
    }

    /// All its words: name, key, what follows.
    pub fn words(&self) -> Words<'_> {
        let name = std::iter::once(self.name.as_bytes());
        name.chain(self.key()).chain(self.args.iter().map(Vec::as_slice)).collect()
    }

    /// The same write as a command.
    pub fn cmd(&self) -> Cmd {
        let mut cmd = Cmd::new();
        for word in self.words() {
            cmd.arg(word);
        }
        cmd
    }
}

/// The writes that can be added to a change. Bring the trait into scope, then chain.
pub trait Effects: Sized {
    /// Adds one write.
    #[must_use]
    fn op(self, op: Op) -> Self;

    /// Adds several, in order.
    #[must_use]
    fn ops(self, ops: impl IntoIterator<Item = Op>) -> Self {
        ops.into_iter().fold(self, Effects::op)
    }

    /// `SADD`.
    #[must_use]
    fn sadd(self, key: impl AsRef<[u8]>, member: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("SADD", key, &[member.as_ref()]))
    }

    /// `SREM`.
    #[must_use]
    fn srem(self, key: impl AsRef<[u8]>, member: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("SREM", key, &[member.as_ref()]))
    }

    /// `ZADD`.
    #[must_use]
    fn zadd(
        self,
        key: impl AsRef<[u8]>,
        score: impl std::fmt::Display,
        member: impl AsRef<[u8]>,
    ) -> Self {
        self.op(Op::on("ZADD", key, &[score.to_string().as_bytes(), member.as_ref()]))
    }

    /// `ZREM`.
    #[must_use]
    fn zrem(self, key: impl AsRef<[u8]>, member: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("ZREM", key, &[member.as_ref()]))
    }

    /// `HSET` of one field.
    #[must_use]
    fn hset(self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("HSET", key, &[field.as_ref(), value.as_ref()]))
    }

    /// `HDEL` of one field.
    #[must_use]
    fn hdel(self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("HDEL", key, &[field.as_ref()]))
    }

    /// `HINCRBY`. A field that holds no whole number refuses the whole step.
    #[must_use]
    fn hincrby(self, key: impl AsRef<[u8]>, field: impl AsRef<[u8]>, by: i64) -> Self {
        self.op(Op::on("HINCRBY", key, &[field.as_ref(), by.to_string().as_bytes()]))
    }

    /// `INCRBY`. A key that holds no whole number refuses the whole step.
    #[must_use]
    fn incrby(self, key: impl AsRef<[u8]>, by: i64) -> Self {
        self.op(Op::on("INCRBY", key, &[by.to_string().as_bytes()]))
    }

    /// `LPUSH`.
    #[must_use]
    fn lpush(self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("LPUSH", key, &[value.as_ref()]))
    }

    /// `RPUSH`.
    #[must_use]
    fn rpush(self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("RPUSH", key, &[value.as_ref()]))
    }

    /// `LREM` of every occurrence.
    #[must_use]
    fn lrem(self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("LREM", key, &[b"0", value.as_ref()]))
    }

    /// `SET` of another key, without life.
    #[must_use]
    fn set(self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("SET", key, &[value.as_ref()]))
    }

    /// `SET … KEEPTTL` of another key: a new text, and the life that it has.
    #[must_use]
    fn rewrite(self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("SET", key, &[value.as_ref(), b"KEEPTTL"]))
    }

    /// `SET … PX` of another key. A life of zero milliseconds writes nothing, because Redis refuses it.
    #[must_use]
    fn set_for(self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, life_ms: u64) -> Self {
        if life_ms == 0 {
            return self;
        }
        self.op(Op::on("SET", key, &[value.as_ref(), b"PX", life_ms.to_string().as_bytes()]))
    }

    /// `PEXPIRE` of another key.
    #[must_use]
    fn pexpire(self, key: impl AsRef<[u8]>, life_ms: u64) -> Self {
        self.op(Op::on("PEXPIRE", key, &[life_ms.to_string().as_bytes()]))
    }

    /// `DEL` of another key.
    #[must_use]
    fn del(self, key: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("DEL", key, &[]))
    }

    /// `XACK`: the command that caused this change is done with it, in the same step.
    #[must_use]
    fn xack(self, key: impl AsRef<[u8]>, group: impl AsRef<[u8]>, entry: impl AsRef<[u8]>) -> Self {
        self.op(Op::on("XACK", key, &[group.as_ref(), entry.as_ref()]))
    }

    /// `PUBLISH`.
    #[must_use]
    fn publish(self, channel: impl AsRef<[u8]>, payload: impl AsRef<[u8]>) -> Self {
        let args = vec![channel.as_ref().to_vec(), payload.as_ref().to_vec()];
        self.op(Op { name: "PUBLISH", key: None, args })
    }

    /// Appends one event to a stream.
    #[must_use]
    fn event(self, stream: impl AsRef<[u8]>, event: &Event) -> Self {
        self.op(event.append_to(stream))
    }
}

/// A bare list of writes, to be made in one place and added to a step in another.
impl Effects for Vec<Op> {
    fn op(mut self, op: Op) -> Self {
        self.push(op);
        self
    }
}
