//! Streams without their readers: `XADD XLEN XRANGE XREVRANGE XTRIM XDEL XSETID`, and the ids and
//! entries that all stream commands share. The log has exact values: the id that was made, the
//! length that was left.

pub(crate) mod claim;
pub(crate) mod group;
pub(crate) mod info;
pub(crate) mod read;

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::notify::class;
use crate::data::stream::{Entries, Id, NODE_BYTES_MAX, StreamEntry, Trim};
use crate::doors::out::Out;
use crate::error::{NO_SUCH_KEY, Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("xadd", Plain(xadd)),
    ("xlen", Plain(xlen)),
    ("xrange", Plain(|cx, argv| xrange(cx, argv, false))),
    ("xrevrange", Plain(|cx, argv| xrange(cx, argv, true))),
    ("xtrim", Plain(xtrim)),
    ("xdel", Plain(xdel)),
    ("xsetid", Plain(xsetid)),
];

const INVALID_ID: ReplyError =
    ReplyError::fixed("ERR Invalid stream ID specified as stream command argument");

/// A number as the C library reads it: spaces, a sign and leading zeros are welcome.
fn number(text: &[u8]) -> Option<u64> {
    if let Some(number) = crate::data::num::parse_i64(text) {
        return u64::try_from(number).ok();
    }
    let text = text.trim_ascii_start();
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if negative { number.wrapping_neg() } else { number })
}

/// `ms`, `ms-seq` or, where the sequence may be made, `ms-*`, which gives no sequence.
fn parts(arg: &[u8], missing: u64, star: bool) -> Result<(u64, Option<u64>), ReplyError> {
    const LONGEST: usize = 127;
    if arg.len() > LONGEST {
        return Err(INVALID_ID);
    }
    let dash = arg.iter().position(|byte| *byte == b'-');
    let ms = number(&arg[..dash.unwrap_or(arg.len())]).ok_or(INVALID_ID)?;
    let seq = match dash.map(|dash| &arg[dash + 1..]) {
        None => Some(missing),
        Some(b"*") if star => None,
        Some(text) => Some(number(text).ok_or(INVALID_ID)?),
    };
    Ok((ms, seq))
}

/// An id; `-` and `+` are none.
pub(crate) fn strict_id(arg: &[u8], missing: u64) -> Result<Id, ReplyError> {
    let (ms, seq) = parts(arg, missing, false)?;
    Ok(Id::new(ms, seq.unwrap_or(missing)))
}

/// An id, or `-` or `+` for the least and the greatest.
pub(crate) fn any_id(arg: &[u8], missing: u64) -> Result<Id, ReplyError> {
    match arg {
        b"-" => Ok(Id::ZERO),
        b"+" => Ok(Id::MAX),
        arg => strict_id(arg, missing),
    }
}

/// The lower end of a range, `(` before it for an open one.
pub(crate) fn range_start(arg: &[u8]) -> Result<Id, ReplyError> {
    match arg {
        [b'(', rest @ ..] if !rest.is_empty() => strict_id(rest, 0)?
            .next()
            .ok_or(ReplyError::fixed("ERR invalid start ID for the interval")),
        arg => any_id(arg, 0),
    }
}

/// The upper end of a range.
pub(crate) fn range_end(arg: &[u8]) -> Result<Id, ReplyError> {
    match arg {
        [b'(', rest @ ..] if !rest.is_empty() => strict_id(rest, u64::MAX)?
            .prev()
            .ok_or(ReplyError::fixed("ERR invalid end ID for the interval")),
        arg => any_id(arg, u64::MAX),
    }
}

/// An id as a bulk string.
pub(crate) fn write_id(out: &mut Out, id: Id) {
    out.bulk(&id_text(id));
}

/// `ms-seq`, without the machinery of formats: every event has one.
fn id_text(id: Id) -> smallvec::SmallVec<[u8; 44]> {
    let mut digits = itoa::Buffer::new();
    let mut text = smallvec::SmallVec::new();
    text.extend_from_slice(digits.format(id.ms).as_bytes());
    text.push(b'-');
    text.extend_from_slice(digits.format(id.seq).as_bytes());
    text
}

/// An entry as `[id, [field, value, …]]`.
pub(crate) fn write_entry(out: &mut Out, entry: &StreamEntry<'_>) {
    out.array(2);
    write_id(out, entry.id);
    out.array(entry.pairs() * 2);
    entry.each(|part| out.bulk(part));
}

/// Entries as an array; `count` 0 for all.
pub(crate) fn write_entries<'a>(
    out: &mut Out,
    entries: impl Iterator<Item = StreamEntry<'a>>,
    count: usize,
) {
    let mark = out.begin_array();
    let mut n = 0;
    for entry in entries.take(if count == 0 { usize::MAX } else { count }) {
        write_entry(out, &entry);
        n += 1;
    }
    out.end_array(mark, n);
}

/// How a new entry is named.
#[derive(Clone, Copy)]
enum NewId {
    Made,
    Ms(u64),
    Given(Id),
}

/// The options that `XADD` and `XTRIM` share.
struct Cut {
    to: Trim,
    rough: bool,
    limit: usize,
    /// Place of the length or id.
    at: usize,
}

struct AddArgs {
    no_make: bool,
    cut: Option<Cut>,
    id: NewId,
    /// Place of the id of `XADD`.
    id_at: usize,
}

fn options(core: &Core, argv: &[&[u8]], add: bool) -> Result<AddArgs, ReplyError> {
    let mut found = AddArgs { no_make: false, cut: None, id: NewId::Made, id_at: argv.len() };
    let mut limit = None;
    let mut at = 2;
    while at < argv.len() {
        let (word, more) = (argv[at], argv.len() - 1 - at);
        if add && word == b"*" {
            found.id_at = at;
            break;
        } else if (is(word, "MAXLEN") || is(word, "MINID")) && more > 0 {
            found.cut = Some(cut(argv, &mut at, found.cut.is_some())?);
        } else if is(word, "LIMIT") && more > 0 {
            let n = usize::try_from(int(argv[at + 1])?)
                .map_err(|_| ReplyError::fixed("ERR The LIMIT argument must be >= 0."))?;
            limit = Some(n);
            at += 1;
        } else if add && is(word, "NOMKSTREAM") {
            found.no_make = true;
        } else if add {
            found.id = match parts(word, 0, true)? {
                (ms, None) => NewId::Ms(ms),
                (ms, Some(seq)) => NewId::Given(Id::new(ms, seq)),
            };
            found.id_at = at;
            break;
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    if limit.is_some_and(|limit| limit > 0) && found.cut.is_none() {
        return Err(ReplyError::fixed(
            "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
        ));
    }
    if !add && found.cut.is_none() {
        return Err(ReplyError::fixed(
            "ERR syntax error, XTRIM must be called with a trimming strategy",
        ));
    }
    let rough = found.cut.as_ref().is_some_and(|cut| cut.rough);
    if !core.loading && limit.is_some() && !rough {
        return Err(ReplyError::fixed(
            "ERR syntax error, LIMIT cannot be used without the special ~ option",
        ));
    }
    if let Some(cut) = &mut found.cut {
        let default = match core.config.limits.stream_node_max_entries.saturating_mul(100) {
            0 => 10_000,
            n => n.min(1_000_000),
        };
        cut.limit = if core.loading || !rough { 0 } else { limit.unwrap_or(default) };
    }
    Ok(found)
}

/// `MAXLEN` or `MINID` at `at`, which is moved to its last argument.
fn cut(argv: &[&[u8]], at: &mut usize, again: bool) -> Result<Cut, ReplyError> {
    if again {
        return Err(ReplyError::fixed(
            "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
        ));
    }
    let by_length = is(argv[*at], "MAXLEN");
    *at += 1;
    let marked = argv.len() - *at >= 2 && matches!(argv[*at], b"~" | b"=");
    let rough = marked && argv[*at] == b"~";
    *at += usize::from(marked);
    let to = if by_length {
        let max = usize::try_from(int(argv[*at])?)
            .map_err(|_| ReplyError::fixed("ERR The MAXLEN argument must be >= 0."))?;
        Trim::MaxLen(max)
    } else {
        Trim::MinId(strict_id(argv[*at], 0)?)
    };
    Ok(Cut { to, rough, limit: 0, at: *at })
}

/// The id that a new entry gets.
fn new_id(entries: &Entries, wanted: NewId, now_ms: i64) -> Result<Id, ReplyError> {
    const NOT_ABOVE: ReplyError = ReplyError::fixed(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item",
    );
    let last = entries.last_id;
    if last == Id::MAX {
        return Err(ReplyError::fixed(
            "ERR The stream has exhausted the last possible ID, unable to add more items",
        ));
    }
    let id = match wanted {
        NewId::Given(id) => id,
        NewId::Ms(ms) if ms == last.ms => Id::new(ms, last.seq.checked_add(1).ok_or(NOT_ABOVE)?),
        NewId::Ms(ms) => Id::new(ms, 0),
        NewId::Made => match u64::try_from(now_ms) {
            Ok(ms) if ms > last.ms => Id::new(ms, 0),
            _ => last.next().ok_or(NOT_ABOVE)?,
        },
    };
    if id > last { Ok(id) } else { Err(NOT_ABOVE) }
}

fn xadd(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let options = options(cx.core, argv, true)?;
    let pairs = argv.get(options.id_at + 1..).unwrap_or_default();
    if pairs.is_empty() || !pairs.len().is_multiple_of(2) {
        return Err(ReplyError::arity("xadd"));
    }
    if matches!(options.id, NewId::Given(Id::ZERO)) {
        return Err(ReplyError::fixed("ERR The ID specified in XADD must be greater than 0-0"));
    }
    let key = argv[1];
    let known = cx.core.stream_mut(key)?.is_some();
    if !known && options.no_make {
        cx.out.null();
        return Ok(());
    }
    let (now, limits) = (cx.core.now, cx.core.config.limits);
    let id = match cx.core.stream_mut(key)? {
        Some(stream) => new_id(&stream.entries, options.id, now)?,
        None => new_id(&Entries::default(), options.id, now)?,
    };
    if pairs.iter().map(|part| part.len()).sum::<usize>() > NODE_BYTES_MAX {
        return Err(ReplyError::fixed("ERR Elements are too large to be stored"));
    }
    let entries = &mut cx.core.stream_or_new(key)?.entries;
    entries.append(id, pairs, &limits);
    let gone = options.cut.as_ref().map_or(0, |cut| entries.trim(cut.to, cut.rough, cut.limit));
    let left = (entries.len(), entries.first_id());
    cx.core.changed(class::STREAM, "xadd", key);
    if gone > 0 {
        cx.core.notify(class::STREAM, "xtrim", key);
    }
    write_id(cx.out, id);
    let id = id_text(id);
    log_exact(cx.core, argv, Some((options.id_at, &id)), options.cut.as_ref(), left);
    cx.core.signal_ready(key);
    Ok(())
}

/// Logs the command with the id that was made, and with the length or id that rough trimming left.
fn log_exact(
    core: &mut Core,
    argv: &[&[u8]],
    id: Option<(usize, &[u8])>,
    cut: Option<&Cut>,
    (len, first): (usize, Id),
) {
    if !core.pending.on {
        core.log_as(&[]);
        return;
    }
    let mut exact = argv.to_vec();
    if let Some((at, id)) = id {
        exact[at] = id;
    }
    let left = match cut {
        Some(Cut { to: Trim::MaxLen(_), .. }) => len.to_string(),
        _ if len == 0 => Id::MAX.to_string(),
        _ => first.to_string(),
    };
    if let Some(cut) = cut
        && cut.rough
    {
        exact[cut.at - 1] = b"=";
        exact[cut.at] = left.as_bytes();
    }
    core.log_as(&[&exact]);
}

fn xtrim(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let cut = options(cx.core, argv, false)?.cut.ok_or(SYNTAX)?;
    let key = argv[1];
    let Some(stream) = cx.core.stream_mut(key)? else {
        cx.out.len(0);
        return Ok(());
    };
    let entries = &mut stream.entries;
    let gone = entries.trim(cut.to, cut.rough, cut.limit);
    let left = (entries.len(), entries.first_id());
    if gone > 0 {
        cx.core.changed(class::STREAM, "xtrim", key);
        log_exact(cx.core, argv, None, Some(&cut), left);
    }
    cx.out.len(gone);
    Ok(())
}

fn xlen(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let len = cx.core.stream(argv[1])?.map_or(0, |stream| stream.entries.len());
    cx.out.len(len);
    Ok(())
}

fn xrange(cx: &mut Ctx<'_>, argv: &[&[u8]], back: bool) -> Outcome {
    let (start, end) = if back { (argv[3], argv[2]) } else { (argv[2], argv[3]) };
    let (from, to) = (range_start(start)?, range_end(end)?);
    let mut count = None;
    let mut rest = &argv[4..];
    while let Some((word, tail)) = rest.split_first() {
        let Some((value, tail)) = tail.split_first().filter(|_| is(word, "COUNT")) else {
            return Err(SYNTAX);
        };
        count = Some(usize::try_from(int(value)?).unwrap_or(0));
        rest = tail;
    }
    let Some(stream) = cx.core.stream(argv[1])? else {
        cx.out.array(0);
        return Ok(());
    };
    match (count, back) {
        (Some(0), _) => cx.out.null_array(),
        (count, false) => write_entries(cx.out, stream.entries.range(from, to), count.unwrap_or(0)),
        (count, true) => {
            write_entries(cx.out, stream.entries.range_back(from, to), count.unwrap_or(0));
        }
    }
    Ok(())
}

fn xdel(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let Some(stream) = cx.core.stream_mut(key)? else {
        cx.out.len(0);
        return Ok(());
    };
    let ids = argv[2..].iter().map(|arg| strict_id(arg, 0)).collect::<Result<Vec<_>, _>>()?;
    let gone = ids.into_iter().filter(|id| stream.entries.delete(*id)).count();
    if gone > 0 {
        cx.core.changed(class::STREAM, "xdel", key);
    }
    cx.out.len(gone);
    Ok(())
}

fn xsetid(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let id = strict_id(argv[2], 0)?;
    let (mut added, mut deleted) = (None, Id::ZERO);
    let mut rest = &argv[3..];
    while let [word, value, tail @ ..] = rest {
        if is(word, "ENTRIESADDED") {
            let n = u64::try_from(int(value)?);
            added = Some(n.map_err(|_| ReplyError::fixed("ERR entries_added must be positive"))?);
        } else if is(word, "MAXDELETEDID") {
            deleted = strict_id(value, 0)?;
            if id < deleted {
                return Err(ReplyError::fixed(
                    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                ));
            }
        } else {
            return Err(SYNTAX);
        }
        rest = tail;
    }
    if !rest.is_empty() {
        return Err(SYNTAX);
    }
    let key = argv[1];
    let entries = &mut cx.core.stream_mut(key)?.ok_or(NO_SUCH_KEY)?.entries;
    if let Some(last) = entries.last_live() {
        if id < last {
            return Err(ReplyError::fixed(
                "ERR The ID specified in XSETID is smaller than the target stream top item",
            ));
        }
        if added.is_some_and(|added| (entries.len() as u64) > added) {
            return Err(ReplyError::fixed(
                "ERR The entries_added specified in XSETID is smaller than the target stream length",
            ));
        }
    }
    entries.last_id = id;
    entries.added = added.unwrap_or(entries.added);
    if deleted != Id::ZERO {
        entries.max_deleted_id = deleted;
    }
    cx.core.dirty += 1;
    cx.core.notify(class::STREAM, "xsetid", key);
    cx.out.ok();
    Ok(())
}
