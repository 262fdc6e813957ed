//! A step without Lua: what `kernel/scripts/swap.lua` does, as direct calls of the engine while nothing
//! else runs. Guards come first, then the types of all that is written, then the writes. Both give the
//! same outcome and leave the same data: `kernel/tests/it/step.rs` compares them.

use engine::{Turn, Unit};
use kernel::{Condition, Fault, Guard, Op, Refused, Step, Stepped, sha1_hex};

use crate::reply::{self, raw_bulk};

/// Runs a step in this turn. `None`, and nothing was done, where the engine wants a script instead.
pub(super) fn run(turn: &mut Turn<'_>, step: &Step) -> Option<Result<Stepped, Fault>> {
    let mut stepped = Ok(Stepped::Done);
    let logged = turn.alone(&mut |unit| stepped = run_alone(unit, step))?;
    Some(match logged {
        Ok(()) => stepped,
        Err(error) => reply::outcome(error).and(stepped),
    })
}

fn run_alone(unit: &mut Unit<'_>, step: &Step) -> Result<Stepped, Fault> {
    for (number, guard) in step.guards().iter().enumerate() {
        if let Some(refused) = refusal(unit, number, guard)? {
            return Ok(Stepped::Refused(refused));
        }
    }
    // A write that fails halfway would leave the ones before it. Look at all of them first.
    for op in step.writes() {
        check_type(unit, op)?;
    }
    for op in step.writes() {
        write(unit, op)?;
    }
    Ok(Stepped::Done)
}

/// Runs a command; an error reply is a fault.
fn call<'u>(unit: &'u mut Unit<'_>, argv: &[&[u8]]) -> Result<&'u [u8], Fault> {
    let reply = unit.call(argv);
    match reply.strip_prefix(b"-") {
        Some(error) => Err(refused(error)),
        None => Ok(reply),
    }
}

fn exists(unit: &mut Unit<'_>, key: &[u8]) -> Result<bool, Fault> {
    Ok(call(unit, &[b"EXISTS", key])? == b":1\r\n")
}

/// Why the guard does not hold; `None` when it does.
fn refusal(unit: &mut Unit<'_>, number: usize, guard: &Guard) -> Result<Option<Refused>, Fault> {
    let Guard { key, condition } = guard;
    let mut found = None;
    let holds = match condition {
        Condition::Text(text) => {
            let have = raw_bulk(call(unit, &[b"GET", key])?);
            let holds = have == Some(text.as_slice());
            if !holds && number == 0 {
                found = have.map(<[u8]>::to_vec);
            }
            holds
        }
        Condition::Sha(sha) => {
            raw_bulk(call(unit, &[b"GET", key])?).is_some_and(|have| sha1_hex(have) == *sha)
        }
        Condition::Absent => !exists(unit, key)?,
        Condition::Exists => exists(unit, key)?,
        Condition::Field(field, text) => {
            raw_bulk(call(unit, &[b"HGET", key, field])?) == Some(text.as_slice())
        }
        Condition::NoField(field) => raw_bulk(call(unit, &[b"HGET", key, field])?).is_none(),
        Condition::Count(fields) => {
            call(unit, &[b"HLEN", key])? == format!(":{fields}\r\n").as_bytes()
        }
        Condition::Pending(group, entry) => {
            // A stream or group that is gone is an error reply, and has no command to answer.
            let waits = unit.call(&[b"XPENDING", key, group, entry, entry, b"1"]);
            !waits.starts_with(b"-") && !waits.starts_with(b"*0")
        }
    };
    if holds {
        return Ok(None);
    }
    let missing = !exists(unit, key)?;
    Ok(Some(Refused { guard: number, found, missing }))
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

fn check_type(unit: &mut Unit<'_>, op: &Op) -> Result<(), Fault> {
    let (Some(kind), Some(key)) = (kind(op.name()), op.key()) else { return Ok(()) };
    let reply = call(unit, &[b"TYPE", key])?;
    let is = reply.get(1..reply.len().saturating_sub(2)).unwrap_or_default();
    if is != b"none" && is != kind.as_bytes() {
        let is = String::from_utf8_lossy(is);
        return Err(wrong(key, &format!("holds a {is}, not a {kind}")));
    }
    let number = match op.name() {
        "HINCRBY" => call(unit, &[b"HGET", key, &op.args()[0]])?,
        "INCRBY" => call(unit, &[b"GET", key])?,
        _ => return Ok(()),
    };
    match raw_bulk(number) {
        Some(text) if !is_whole(text) => Err(wrong(key, "holds no whole number")),
        _ => Ok(()),
    }
}

fn write(unit: &mut Unit<'_>, op: &Op) -> Result<(), Fault> {
    if let ("RELEASE", Some(key), [field, holder]) = (op.name(), op.key(), op.args()) {
        // A claim in a hash: only its holder lets it go.
        if raw_bulk(call(unit, &[b"HGET", key, field])?) == Some(holder.as_slice()) {
            call(unit, &[b"HDEL", key, field])?;
        }
        return Ok(());
    }
    call(unit, &op.words()).map(drop)
}

fn is_whole(text: &[u8]) -> bool {
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
