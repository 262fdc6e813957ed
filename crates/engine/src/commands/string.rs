//! Strings: `SET GET INCR APPEND …`. Deadlines reach the log as absolute times, sums as their result.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::notify::class;
use crate::data::{Value, num};
use crate::doors::out::Out;
use crate::error::{NOT_INT, Outcome, ReplyError, SYNTAX, WRONG_TYPE};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("get", Plain(|cx, argv| get(cx, argv[1]))),
    ("set", Plain(set)),
    ("setnx", Plain(setnx)),
    ("setex", Plain(|cx, argv| set_for(cx, argv, Unit::Seconds))),
    ("psetex", Plain(|cx, argv| set_for(cx, argv, Unit::Millis))),
    ("getset", Plain(getset)),
    ("getdel", Plain(getdel)),
    ("getex", Plain(getex)),
    ("mget", Plain(mget)),
    ("mset", Plain(mset)),
    ("msetnx", Plain(msetnx)),
    ("append", Plain(append)),
    ("strlen", Plain(strlen)),
    ("getrange", Plain(getrange)),
    ("substr", Plain(getrange)),
    ("setrange", Plain(setrange)),
    ("incr", Plain(|cx, argv| add(cx, argv[1], 1))),
    ("decr", Plain(|cx, argv| add(cx, argv[1], -1))),
    ("incrby", Plain(|cx, argv| add(cx, argv[1], int(argv[2])?))),
    ("decrby", Plain(decrby)),
    ("incrbyfloat", Plain(incrbyfloat)),
    ("lcs", Plain(crate::commands::lcs::lcs)),
];

/// Writes a string value, or null.
fn write_string(out: &mut Out, value: Option<&Value>) -> Outcome {
    match value {
        None => out.null(),
        Some(Value::Text(text)) => out.bulk(text),
        Some(Value::Int(number)) => out.bulk_int(*number),
        Some(_) => return Err(WRONG_TYPE),
    }
    Ok(())
}

fn get(cx: &mut Ctx<'_>, key: &[u8]) -> Outcome {
    write_string(cx.out, cx.core.read(key))
}

/// How a time is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
}

/// An absolute deadline from an argument; the usual refusal names the command.
pub(crate) fn deadline(
    core: &Core,
    arg: &[u8],
    unit: Unit,
    relative: bool,
    command: &str,
) -> Result<i64, ReplyError> {
    let invalid = || ReplyError::new(format!("ERR invalid expire time in '{command}' command"));
    let amount = int(arg)?;
    if amount <= 0 {
        return Err(invalid());
    }
    let millis = match unit {
        Unit::Seconds => amount.checked_mul(1000).ok_or_else(invalid)?,
        Unit::Millis => amount,
    };
    if relative { millis.checked_add(core.now).ok_or_else(invalid) } else { Ok(millis) }
}

/// Options of `SET` and `GETEX`.
#[derive(Default)]
struct SetArgs {
    nx: bool,
    xx: bool,
    get: bool,
    keep_ttl: bool,
    persist: bool,
    expire: Option<i64>,
}

fn options(cx: &Ctx<'_>, args: &[&[u8]], set: bool) -> Result<SetArgs, ReplyError> {
    let mut o = SetArgs::default();
    let mut timed: Option<(&[u8], Unit, bool)> = None;
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let free = timed.is_none() && !o.keep_ttl && !o.persist;
        if set && is(arg, "NX") && !o.xx {
            o.nx = true;
        } else if set && is(arg, "XX") && !o.nx {
            o.xx = true;
        } else if set && is(arg, "GET") {
            o.get = true;
        } else if set && is(arg, "KEEPTTL") && timed.is_none() && !o.persist {
            o.keep_ttl = true;
        } else if !set && is(arg, "PERSIST") && timed.is_none() && !o.keep_ttl {
            o.persist = true;
        } else if let Some((unit, relative)) = time_word(arg)
            && free
            && let Some(amount) = args.get(at + 1)
        {
            timed = Some((amount, unit, relative));
            at += 1;
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    if let Some((amount, unit, relative)) = timed {
        o.expire = Some(deadline(cx.core, amount, unit, relative, cx.spec.full_name)?);
    }
    Ok(o)
}

fn time_word(arg: &[u8]) -> Option<(Unit, bool)> {
    [
        ("EX", Unit::Seconds, true),
        ("PX", Unit::Millis, true),
        ("EXAT", Unit::Seconds, false),
        ("PXAT", Unit::Millis, false),
    ]
    .into_iter()
    .find_map(|(word, unit, relative)| is(arg, word).then_some((unit, relative)))
}

fn set(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if argv.len() == 3 {
        store(cx.core, argv[1], Value::string(argv[2]));
        cx.out.ok();
        return Ok(());
    }
    let o = options(cx, &argv[3..], true)?;
    let (key, text) = (argv[1], argv[2]);
    if o.get {
        let mark = cx.out.buf.len();
        write_string(cx.out, cx.core.read(key))?;
        debug_assert!(cx.out.buf.len() > mark);
    }
    if (o.nx || o.xx) && cx.core.exists(key) == o.nx {
        if !o.get {
            cx.out.null();
        }
        return Ok(());
    }
    if o.keep_ttl {
        cx.core.put_keeping_ttl(key, Value::string(text));
        cx.core.touched(key);
        cx.core.notify(class::STRING, "set", key);
        cx.core.log_as(&[&[b"SET", key, text, b"KEEPTTL"]]);
    } else {
        store(cx.core, key, Value::string(text));
        match o.expire {
            Some(at) => expire_stored(cx.core, key, text, at),
            None => cx.core.log_as(&[&[b"SET", key, text]]),
        }
    }
    if !o.get {
        cx.out.ok();
    }
    Ok(())
}

/// `SET` without options.
fn store(core: &mut Core, key: &[u8], value: Value) {
    core.expire_if_due(key);
    core.put(key, value);
    core.touched(key);
    core.notify(class::STRING, "set", key);
}

/// Gives the string just stored a deadline.
fn expire_stored(core: &mut Core, key: &[u8], text: &[u8], at: i64) {
    core.set_deadline(key, at);
    core.notify(class::GENERIC, "expire", key);
    let mut digits = itoa::Buffer::new();
    core.log_as(&[&[b"SET", key, text, b"PXAT", digits.format(at).as_bytes()]]);
}

fn setnx(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let new = !cx.core.exists(argv[1]);
    if new {
        store(cx.core, argv[1], Value::string(argv[2]));
    }
    cx.out.flag(new);
    Ok(())
}

fn set_for(cx: &mut Ctx<'_>, argv: &[&[u8]], unit: Unit) -> Outcome {
    let at = deadline(cx.core, argv[2], unit, true, cx.spec.full_name)?;
    store(cx.core, argv[1], Value::string(argv[3]));
    expire_stored(cx.core, argv[1], argv[3], at);
    cx.out.ok();
    Ok(())
}

fn getset(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    get(cx, argv[1])?;
    store(cx.core, argv[1], Value::string(argv[2]));
    cx.core.log_as(&[&[b"SET", argv[1], argv[2]]]);
    Ok(())
}

fn getdel(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    get(cx, key)?;
    if cx.core.remove(key).is_some() {
        cx.core.changed(class::GENERIC, "del", key);
        cx.core.log_as(&[&[b"DEL", key]]);
    }
    Ok(())
}

fn getex(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let o = match options(cx, &argv[2..], false) {
        Err(error) if error == SYNTAX => return Err(error),
        Err(error) => {
            get(cx, key)?;
            return if cx.core.exists(key) { Err(error) } else { Ok(()) };
        }
        Ok(o) => o,
    };
    get(cx, key)?;
    if !cx.core.exists(key) {
        return Ok(());
    }
    if let Some(at) = o.expire {
        expire_or_delete(cx.core, key, at);
    } else if o.persist && cx.core.clear_deadline(key) {
        cx.core.changed(class::GENERIC, "persist", key);
        cx.core.log_as(&[&[b"PERSIST", key]]);
    }
    Ok(())
}

/// Gives a live key a deadline; one in the past deletes it at once.
pub(crate) fn expire_or_delete(core: &mut Core, key: &[u8], at: i64) {
    if at <= core.now && !core.loading {
        core.remove(key);
        core.changed(class::GENERIC, "del", key);
        core.log_as(&[&[b"DEL", key]]);
        return;
    }
    core.set_deadline(key, at);
    core.changed(class::GENERIC, "expire", key);
    let mut digits = itoa::Buffer::new();
    core.log_as(&[&[b"PEXPIREAT", key, digits.format(at).as_bytes()]]);
}

fn mget(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    cx.out.array(argv.len() - 1);
    for key in &argv[1..] {
        match cx.core.read(key) {
            Some(value @ (Value::Text(_) | Value::Int(_))) => write_string(cx.out, Some(value))?,
            _ => cx.out.null(),
        }
    }
    Ok(())
}

/// A key and its text.
type Pair<'a> = (&'a [u8], &'a [u8]);

fn pairs_of<'a>(argv: &'a [&'a [u8]], command: &str) -> Result<Vec<Pair<'a>>, ReplyError> {
    if argv.len().is_multiple_of(2) {
        return Err(ReplyError::arity(command));
    }
    Ok(argv[1..].chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

fn mset(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    for (key, text) in pairs_of(argv, "mset")? {
        store(cx.core, key, Value::string(text));
    }
    cx.out.ok();
    Ok(())
}

fn msetnx(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let pairs = pairs_of(argv, "msetnx")?;
    let free = !pairs.iter().any(|(key, _)| cx.core.exists(key));
    if free {
        for (key, text) in pairs {
            store(cx.core, key, Value::string(text));
        }
    }
    cx.out.flag(free);
    Ok(())
}

const TOO_LONG: ReplyError =
    ReplyError::fixed("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

fn check_length(core: &Core, len: usize, more: usize) -> Outcome {
    let fits = len.checked_add(more).is_some_and(|all| all <= core.config.proto_max_bulk_len);
    if fits { Ok(()) } else { Err(TOO_LONG) }
}

/// Length of the string at `key`; 0 when there is none.
fn string_len(core: &mut Core, key: &[u8]) -> Result<usize, ReplyError> {
    match core.read(key) {
        None => Ok(0),
        Some(value) => value.string_len().ok_or(WRONG_TYPE),
    }
}

fn append(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (key, more) = (argv[1], argv[2]);
    let len = match cx.core.write(key) {
        None => {
            cx.core.put(key, Value::string(more));
            more.len()
        }
        Some(value) => {
            let len = value.string_len().ok_or(WRONG_TYPE)?;
            check_length(cx.core, len, more.len())?;
            let text = cx.core.write(key).and_then(Value::as_text_mut).ok_or(WRONG_TYPE)?;
            text.append(more);
            len + more.len()
        }
    };
    cx.core.changed(class::STRING, "append", key);
    cx.out.len(len);
    Ok(())
}

fn strlen(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let len = string_len(cx.core, argv[1])?;
    cx.out.len(len);
    Ok(())
}

/// First and end (exclusive) of a range with negative positions; `None` when it is empty.
pub(crate) fn clip(start: i64, end: i64, len: usize) -> Option<(usize, usize)> {
    let len = len as i64;
    let from = if start < 0 { (start + len).max(0) } else { start };
    let to = if end < 0 { (end + len).max(-1) } else { end }.min(len - 1);
    (from <= to && from < len).then(|| (from as usize, to as usize + 1))
}

fn getrange(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (start, end) = (int(argv[2])?, int(argv[3])?);
    let Some(value) = cx.core.read(argv[1]) else {
        cx.out.bulk(b"");
        return Ok(());
    };
    let text = value.as_string().ok_or(WRONG_TYPE)?;
    // Both negative and the wrong way round is empty even where clipping would make them meet.
    let range = if start < 0 && end < 0 && start > end {
        None
    } else {
        clip_string(start, end, text.len())
    };
    cx.out.bulk(range.map_or(b"".as_slice(), |(from, to)| &text[from..to]));
    Ok(())
}

/// As [`clip`], but an end before the first byte means the first byte, as Redis reads it.
fn clip_string(start: i64, end: i64, len: usize) -> Option<(usize, usize)> {
    let size = len as i64;
    let end = if end < 0 { (end + size).max(0) } else { end };
    clip(start, end, len)
}

fn setrange(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (key, patch) = (argv[1], argv[3]);
    let Ok(offset) = usize::try_from(int(argv[2])?) else {
        return Err(ReplyError::fixed("ERR offset is out of range"));
    };
    let len = string_len(cx.core, key)?;
    if patch.is_empty() {
        cx.out.len(len);
        return Ok(());
    }
    check_length(cx.core, offset, patch.len())?;
    if cx.core.write(key).is_none() {
        cx.core.put(key, Value::Text(crate::data::Text::new(b"")));
    }
    let text = cx.core.write(key).and_then(Value::as_text_mut).ok_or(WRONG_TYPE)?.make_mut();
    let end = offset + patch.len();
    if text.len() < end {
        text.resize(end, 0);
    }
    text[offset..end].copy_from_slice(patch);
    let len = text.len();
    cx.core.changed(class::STRING, "setrange", key);
    cx.out.len(len);
    Ok(())
}

fn decrby(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let by = int(argv[2])?;
    if by == i64::MIN {
        return Err(ReplyError::fixed("ERR decrement would overflow"));
    }
    add(cx, argv[1], -by)
}

fn add(cx: &mut Ctx<'_>, key: &[u8], by: i64) -> Outcome {
    let old = match cx.core.write(key) {
        None => None,
        Some(Value::Int(number)) => Some(*number),
        Some(value) => {
            let text = value.as_string().ok_or(WRONG_TYPE)?;
            Some(num::parse_i64(&text).ok_or(NOT_INT)?)
        }
    };
    let sum = old
        .unwrap_or(0)
        .checked_add(by)
        .ok_or(ReplyError::fixed("ERR increment or decrement would overflow"))?;
    match cx.core.keys().get_mut(key) {
        Some(value) => *value = Value::Int(sum),
        None => cx.core.put(key, Value::Int(sum)),
    }
    cx.core.changed(class::STRING, "incrby", key);
    cx.out.int(sum);
    Ok(())
}

fn incrbyfloat(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let text = match cx.core.write(key) {
        None => std::borrow::Cow::Borrowed(b"0".as_slice()),
        Some(value) => value.as_string().ok_or(WRONG_TYPE)?,
    };
    let sum = add_floats(&text, argv[2])?;
    // Kept as text even where it is a whole number, as `OBJECT ENCODING` shows in Redis.
    cx.core.put_keeping_ttl(key, Value::Text(crate::data::Text::new(&sum)));
    cx.core.changed(class::STRING, "incrbyfloat", key);
    cx.core.log_as(&[&[b"SET", key, &sum, b"KEEPTTL"]]);
    cx.out.bulk(&sum);
    Ok(())
}

/// The sum of two numbers as Redis prints it; shared with `HINCRBYFLOAT`.
pub(crate) fn add_floats(old: &[u8], by: &[u8]) -> Result<Vec<u8>, ReplyError> {
    let old = num::parse_long_double(old).ok_or(crate::error::NOT_FLOAT)?;
    let by = num::parse_long_double(by).ok_or(crate::error::NOT_FLOAT)?;
    let sum = old.checked_add(by).filter(|sum| !sum.is_infinite());
    let sum = sum.ok_or(ReplyError::fixed("ERR increment would produce NaN or Infinity"))?;
    let mut text = Vec::new();
    num::fmt_human(sum, &mut text);
    Ok(text)
}
