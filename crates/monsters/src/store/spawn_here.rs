//! What `scripts/spawn.lua` does, on data inside this process and without Lua: the same looks, the same writes, the same
//! words; a test compares them. Whatever is unusual is found before the first write and left to the script.

use kernel::{Calls, reply};

use super::Monsters;
use super::spawn::{Drawn, SpawnKeys};
use crate::error::Result;

const MIN: u64 = 1_000_000_000;
const MAX: u64 = 2_000_000_000;
/// Arguments of the script for each monster; they come after four for all.
const PARTS: usize = 7;
/// So many ids are tried for each.
const TRIES: usize = 64;

impl Monsters {
    /// `None`: it is left to the script.
    pub(super) fn spawn_here(&self, keys: &SpawnKeys, args: &[String]) -> Result<Option<Drawn>> {
        let (Some(here), [_, _, member, _, ..]) = (self.store.here(), args) else {
            return Ok(None);
        };
        // Work that finishes a timer is rare.
        if !member.is_empty() {
            return Ok(None);
        }
        let mut drawn = None;
        let ran = here.alone(&mut |calls| drawn = Spawning { calls, keys, args }.run(), self.by());
        if let Some(ran) = ran {
            ran?;
        }
        Ok(drawn)
    }
}

/// A reply that the script has to make sense of.
struct Unusual;

struct Spawning<'a> {
    calls: &'a mut dyn Calls,
    keys: &'a SpawnKeys,
    args: &'a [String],
}

impl Spawning<'_> {
    fn run(&mut self) -> Option<Drawn> {
        let keys = self.keys;
        // All reads are of the type that is written later: a wrong one is the script's to tell.
        let last = self.bulk(&[b"GET", keys.of.next.as_bytes()]).ok()?;
        let last = match &last {
            Some(text) => Some(whole(text)?),
            None => None,
        };
        self.count(b"LLEN", keys.of.free.as_bytes())?;
        let listed = self.count(b"SCARD", keys.map.as_bytes())?;
        self.count(b"SCARD", keys.hidden.as_bytes())?;
        self.count(b"XLEN", keys.of.events.as_bytes())?;
        self.count(b"ZCARD", keys.of.timers.due.as_bytes())?;
        self.count(b"HLEN", keys.of.timers.data.as_bytes())?;
        let mut crowd = self.crowd()?;
        let limit: u64 = self.args[1].parse().ok()?;
        if limit > 0 && listed >= limit {
            return Some(Drawn::Full);
        }
        let monsters = (self.args.len() - 4) / PARTS;
        let ids = self.draw(monsters, last);
        if ids.len() < monsters {
            for id in ids.iter().rev() {
                let id = id.to_string();
                self.calls.call(&[b"LPUSH", keys.of.free.as_bytes(), id.as_bytes()]);
            }
            return Some(Drawn::Busy);
        }
        let mut born = Vec::with_capacity(monsters);
        for (id, parts) in ids.into_iter().zip(self.args[4..].chunks_exact(PARTS)) {
            let control = self.controller(&mut crowd);
            self.store(id, control, parts);
            born.push((u32::try_from(id).ok()?, control));
        }
        Some(Drawn::Born(born))
    }

    /// The reply of a command that gives a text or nothing.
    fn bulk(&mut self, argv: &[&[u8]]) -> std::result::Result<Option<Vec<u8>>, Unusual> {
        let reply = self.calls.call(argv);
        if !reply.starts_with(b"$") {
            return Err(Unusual);
        }
        Ok(reply::raw_bulk(reply).map(<[u8]>::to_vec))
    }

    fn count(&mut self, verb: &[u8], key: &[u8]) -> Option<u64> {
        whole(self.calls.call(&[verb, key]).strip_prefix(b":")?.strip_suffix(b"\r\n")?)
    }

    /// Those present and seen, each with how many it controls. `None` where one is not spelled as we do.
    fn crowd(&mut self) -> Option<Vec<(u32, i64)>> {
        let words = list(self.calls.call(&[b"HGETALL", self.keys.present.as_bytes()]))?;
        let mut crowd = Vec::with_capacity(words.len() / 2);
        if words.is_empty() {
            return Some(crowd);
        }
        for pair in words.chunks_exact(2) {
            let who = u32::try_from(whole(&pair[0])?).ok()?;
            let count: i64 = std::str::from_utf8(&pair[1]).ok()?.parse().ok()?;
            crowd.push((who, count));
        }
        let unseen = list(self.calls.call(&[b"SMEMBERS", self.keys.hidden.as_bytes()]))?;
        crowd.retain(|(who, count)| {
            *count >= 0 && !unseen.iter().any(|unseen| *unseen == who.to_string().as_bytes())
        });
        Some(crowd)
    }

    /// Ids to use again first, then the next ones; one in use is passed over.
    fn draw(&mut self, count: usize, mut last: Option<u64>) -> Vec<u64> {
        let keys = self.keys;
        let mut ids: Vec<u64> = Vec::with_capacity(count);
        for _ in 0..count {
            for _ in 0..TRIES {
                let freed = self.bulk(&[b"LPOP", keys.of.free.as_bytes()]).ok().flatten();
                let id = if let Some(text) = &freed {
                    whole(text).unwrap_or(0)
                } else {
                    let next = last.map_or(MIN, |last| last.saturating_add(1));
                    let id = if (MIN..=MAX).contains(&next) { next } else { MIN };
                    last = Some(id);
                    let text = itoa::Buffer::new().format(id).to_owned();
                    self.calls.call(&[b"SET", keys.of.next.as_bytes(), text.as_bytes()]);
                    id
                };
                if (MIN..=MAX).contains(&id) && !ids.contains(&id) && self.is_free(id) {
                    ids.push(id);
                    break;
                }
            }
        }
        ids
    }

    fn is_free(&mut self, id: u64) -> bool {
        let key = format!("{}{id}", self.keys.of.monsters);
        self.calls.call(&[b"EXISTS", key.as_bytes()]) == b":0\r\n"
    }

    /// The one who controls fewest; of equals, the lowest id.
    fn controller(&mut self, crowd: &mut [(u32, i64)]) -> u32 {
        let Some((who, count)) = crowd.iter_mut().min_by_key(|(who, count)| (*count, *who)) else {
            return 0;
        };
        *count += 1;
        let who = *who;
        let present = self.keys.present.as_bytes();
        self.calls.call(&[b"HINCRBY", present, who.to_string().as_bytes(), b"1"]);
        who
    }

    fn store(&mut self, id: u64, control: u32, parts: &[String]) {
        let (keys, now_ms) = (self.keys, self.args[0].as_bytes());
        let (mut id_digits, mut control_digits) = (itoa::Buffer::new(), itoa::Buffer::new());
        let (id, control) = (id_digits.format(id), control_digits.format(control));
        let key = [keys.of.monsters.as_str(), id].concat();
        let text = ["{\"uniqueId\":", id, &parts[0], control, &parts[1]].concat();
        self.calls.call(&[b"SET", key.as_bytes(), text.as_bytes()]);
        self.calls.call(&[b"SADD", keys.map.as_bytes(), id.as_bytes()]);
        if !parts[4].is_empty() {
            let key = [keys.of.drop_timers.as_str(), id].concat();
            let text = [&parts[4], id, &parts[5]].concat();
            let (member, value) = (["drop:", id].concat(), ["- ", id].concat());
            let (member, value) = (member.as_bytes(), value.as_bytes());
            let timers = &keys.of.timers;
            self.calls.call(&[b"SET", key.as_bytes(), text.as_bytes()]);
            self.calls.call(&[b"ZADD", timers.due.as_bytes(), parts[6].as_bytes(), member]);
            self.calls.call(&[b"HSET", timers.data.as_bytes(), member, value]);
        }
        let event = [parts[2].as_str(), id, &parts[3]].concat();
        self.calls.call(&[
            b"XADD",
            keys.of.events.as_bytes(),
            b"MAXLEN",
            b"~",
            kernel::EVENTS_KEPT.as_bytes(),
            b"*",
            b"type",
            b"CREATED",
            b"at",
            now_ms,
            b"id",
            id.as_bytes(),
            b"body",
            event.as_bytes(),
        ]);
    }
}

/// Digits without a leading zero.
fn whole(text: &[u8]) -> Option<u64> {
    let plain = text.iter().all(u8::is_ascii_digit) && (text.len() == 1 || !text.starts_with(b"0"));
    std::str::from_utf8(text).ok().filter(|_| plain)?.parse().ok()
}

/// The texts of a flat list.
fn list(reply: &[u8]) -> Option<Vec<Vec<u8>>> {
    let line = |text: &[u8], mark: u8| -> Option<(usize, usize)> {
        let end = text.iter().position(|byte| *byte == b'\r')?;
        let number = whole(text.get(..end)?.strip_prefix(&[mark])?)?;
        Some((usize::try_from(number).ok()?, end + 2))
    };
    let (count, mut at) = line(reply, b'*')?;
    let mut words = Vec::with_capacity(count.min(1_024));
    for _ in 0..count {
        let (length, start) = line(reply.get(at..)?, b'$')?;
        let from = at + start;
        words.push(reply.get(from..from + length)?.to_vec());
        at = from + length + 2;
    }
    Some(words)
}
