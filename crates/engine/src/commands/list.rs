//! Lists, without those that wait (`list/block.rs`).

pub(crate) mod block;

use crate::commands::ctx::{Ctx, int, is, positive};
use crate::commands::many_pop::ManyPop;
use crate::commands::string::clip;
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::notify::class;
use crate::data::{List, Text};
use crate::error::{NO_SUCH_KEY, OUT_OF_RANGE, OUT_OF_RANGE_VALUE, Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("lpush", Plain(|cx, argv| push(cx, argv, End::Left, false))),
    ("rpush", Plain(|cx, argv| push(cx, argv, End::Right, false))),
    ("lpushx", Plain(|cx, argv| push(cx, argv, End::Left, true))),
    ("rpushx", Plain(|cx, argv| push(cx, argv, End::Right, true))),
    ("lpop", Plain(|cx, argv| pop(cx, argv, End::Left))),
    ("rpop", Plain(|cx, argv| pop(cx, argv, End::Right))),
    ("llen", Plain(llen)),
    ("lrange", Plain(lrange)),
    ("lindex", Plain(lindex)),
    ("lset", Plain(lset)),
    ("lrem", Plain(lrem)),
    ("ltrim", Plain(ltrim)),
    ("linsert", Plain(linsert)),
    ("lpos", Plain(lpos)),
    ("lmove", Plain(lmove)),
    ("rpoplpush", Plain(|cx, argv| shift(cx, argv[1], argv[2], End::Right, End::Left))),
    ("lmpop", Plain(|cx, argv| lmpop(cx, &argv[1..]))),
];

/// Which end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Left,
    Right,
}

impl End {
    pub(crate) fn parse(arg: &[u8]) -> Result<Self, ReplyError> {
        if is(arg, "LEFT") {
            Ok(End::Left)
        } else if is(arg, "RIGHT") {
            Ok(End::Right)
        } else {
            Err(SYNTAX)
        }
    }

    fn push_event(self) -> &'static str {
        if self == End::Left { "lpush" } else { "rpush" }
    }

    fn pop_event(self) -> &'static str {
        if self == End::Left { "lpop" } else { "rpop" }
    }

    pub(crate) fn word(self) -> &'static [u8] {
        if self == End::Left { b"LEFT" } else { b"RIGHT" }
    }

    fn pop_word(self) -> &'static [u8] {
        if self == End::Left { b"LPOP" } else { b"RPOP" }
    }

    fn push_to(self, list: &mut List, element: &[u8]) {
        match self {
            End::Left => list.push_front(element),
            End::Right => list.push_back(element),
        }
    }

    fn pop_from(self, list: &mut List) -> Option<Text> {
        match self {
            End::Left => list.pop_front(),
            End::Right => list.pop_back(),
        }
    }
}

fn push(cx: &mut Ctx<'_>, argv: &[&[u8]], end: End, only_existing: bool) -> Outcome {
    let key = argv[1];
    if only_existing && cx.core.list_mut(key)?.is_none() {
        cx.out.len(0);
        return Ok(());
    }
    let list = cx.core.list_or_new(key)?;
    for element in &argv[2..] {
        end.push_to(list, element);
    }
    let len = list.len();
    cx.core.signal_ready(key);
    cx.core.changed(class::LIST, end.push_event(), key);
    cx.out.len(len);
    Ok(())
}

fn pop(cx: &mut Ctx<'_>, argv: &[&[u8]], end: End) -> Outcome {
    if argv.len() > 3 {
        return Err(ReplyError::arity(cx.spec.full_name));
    }
    let count = match argv.get(2) {
        None => None,
        Some(arg) => Some(positive(arg)?),
    };
    let key = argv[1];
    let Some(list) = cx.core.list_mut(key)? else {
        if count.is_some() {
            cx.out.null_array();
        } else {
            cx.out.null();
        }
        return Ok(());
    };
    let Some(count) = count else {
        if let Some(element) = end.pop_from(list) {
            cx.out.bulk(&element);
        }
        popped(cx.core, key, end);
        return Ok(());
    };
    let taken = count.min(list.len());
    cx.out.array(taken);
    for _ in 0..taken {
        if let Some(element) = end.pop_from(list) {
            cx.out.bulk(&element);
        }
    }
    if taken > 0 {
        popped(cx.core, key, end);
    }
    Ok(())
}

/// After elements left a list: event, and the end of an empty list.
fn popped(core: &mut Core, key: &[u8], end: End) {
    core.changed(class::LIST, end.pop_event(), key);
    core.remove_if_empty(key);
}

fn llen(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let len = cx.core.list(argv[1])?.map_or(0, List::len);
    cx.out.len(len);
    Ok(())
}

fn lrange(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (start, end) = (int(argv[2])?, int(argv[3])?);
    let list = cx.core.list(argv[1])?;
    let range = list.and_then(|list| clip(start, end, list.len()).map(|range| (list, range)));
    let Some((list, (from, to))) = range else {
        cx.out.array(0);
        return Ok(());
    };
    cx.out.array(to - from);
    for element in list.range(from..to) {
        cx.out.bulk(element);
    }
    Ok(())
}

/// A position that counts from the end when negative.
fn place(index: i64, len: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(len as i64)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < len)
}

fn lindex(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let list = cx.core.list(argv[1])?;
    let Some(list) = list else {
        cx.out.null();
        return Ok(());
    };
    let index = int(argv[2])?;
    cx.out.bulk_opt(place(index, list.len()).and_then(|index| list.get(index)));
    Ok(())
}

fn lset(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let list = cx.core.list_mut(argv[1])?.ok_or(NO_SUCH_KEY)?;
    let index = int(argv[2])?;
    let index = place(index, list.len()).ok_or(OUT_OF_RANGE)?;
    list.set(index, argv[3]);
    cx.core.changed(class::LIST, "lset", argv[1]);
    cx.out.ok();
    Ok(())
}

fn lrem(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let count = int(argv[2])?;
    let Some(list) = cx.core.list_mut(key)? else {
        cx.out.len(0);
        return Ok(());
    };
    let max = match usize::try_from(count.unsigned_abs()) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(max) => max,
    };
    let gone = list.remove_value(argv[3], max, count < 0);
    if gone > 0 {
        cx.core.changed(class::LIST, "lrem", key);
        cx.core.remove_if_empty(key);
    }
    cx.out.len(gone);
    Ok(())
}

fn ltrim(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let (start, end) = (int(argv[2])?, int(argv[3])?);
    if let Some(list) = cx.core.list_mut(key)? {
        let (from, to) = clip(start, end, list.len()).unwrap_or((0, 0));
        list.trim(from..to);
        cx.core.changed(class::LIST, "ltrim", key);
        cx.core.remove_if_empty(key);
    }
    cx.out.ok();
    Ok(())
}

fn linsert(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let after = if is(argv[2], "AFTER") {
        true
    } else if is(argv[2], "BEFORE") {
        false
    } else {
        return Err(SYNTAX);
    };
    let Some(list) = cx.core.list_mut(key)? else {
        cx.out.len(0);
        return Ok(());
    };
    let done = if after {
        list.insert_after(argv[3], argv[4])
    } else {
        list.insert_before(argv[3], argv[4])
    };
    if !done {
        cx.out.int(-1);
        return Ok(());
    }
    let len = list.len();
    cx.core.changed(class::LIST, "linsert", key);
    cx.out.len(len);
    Ok(())
}

struct Position {
    rank: i64,
    count: Option<usize>,
    max: usize,
}

fn position(args: &[&[u8]]) -> Result<Position, ReplyError> {
    let mut wanted = Position { rank: 1, count: None, max: 0 };
    let mut rest = args;
    while let [word, value, tail @ ..] = rest {
        if is(word, "RANK") {
            wanted.rank = int(value)?;
            if wanted.rank == i64::MIN {
                return Err(OUT_OF_RANGE_VALUE);
            }
            if wanted.rank == 0 {
                return Err(ReplyError::fixed(
                    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
                ));
            }
        } else if is(word, "COUNT") {
            let count = usize::try_from(int(value)?);
            wanted.count =
                Some(count.map_err(|_| ReplyError::fixed("ERR COUNT can't be negative"))?);
        } else if is(word, "MAXLEN") {
            wanted.max = usize::try_from(int(value)?)
                .map_err(|_| ReplyError::fixed("ERR MAXLEN can't be negative"))?;
        } else {
            return Err(SYNTAX);
        }
        rest = tail;
    }
    if rest.is_empty() { Ok(wanted) } else { Err(SYNTAX) }
}

fn lpos(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let wanted = position(&argv[3..])?;
    let Some(list) = cx.core.list(argv[1])? else {
        if wanted.count.is_some() {
            cx.out.array(0);
        } else {
            cx.out.null();
        }
        return Ok(());
    };
    let max = if wanted.max == 0 { usize::MAX } else { wanted.max };
    let skip = (wanted.rank.unsigned_abs() - 1) as usize;
    let want = match wanted.count {
        None => 1,
        Some(0) => usize::MAX,
        Some(n) => n,
    };
    let len = list.len();
    let matches = |(index, element): (usize, &[u8])| (element == argv[2]).then_some(index);
    let found: Vec<usize> = if wanted.rank > 0 {
        list.iter().take(max).enumerate().filter_map(matches).skip(skip).take(want).collect()
    } else {
        let from_end = list.iter_rev().take(max).enumerate().filter_map(matches);
        from_end.skip(skip).take(want).map(|index| len - 1 - index).collect()
    };
    if wanted.count.is_some() {
        cx.out.array(found.len());
        for index in found {
            cx.out.len(index);
        }
    } else if let Some(index) = found.first() {
        cx.out.len(*index);
    } else {
        cx.out.null();
    }
    Ok(())
}

fn lmove(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (from, to) = (End::parse(argv[3])?, End::parse(argv[4])?);
    shift(cx, argv[1], argv[2], from, to)
}

fn shift(cx: &mut Ctx<'_>, source: &[u8], target: &[u8], from: End, to: End) -> Outcome {
    if !try_shift(cx, source, target, from, to)? {
        cx.out.null();
    }
    Ok(())
}

/// A list to take from. For a client that waits, a key of another type is one it goes on waiting for.
fn source<'a>(core: &'a mut Core, key: &[u8]) -> Result<Option<&'a mut List>, ReplyError> {
    let waiting = core.retrying;
    match core.list_mut(key) {
        Err(_) if waiting => Ok(None),
        found => found,
    }
}

/// Moves one element and writes it. False when the source is empty.
pub(crate) fn try_shift(
    cx: &mut Ctx<'_>,
    source: &[u8],
    target: &[u8],
    from: End,
    to: End,
) -> Result<bool, ReplyError> {
    if self::source(cx.core, source)?.is_none() {
        return Ok(false);
    }
    // The target's type is checked before anything moves.
    cx.core.list_mut(target)?;
    let Some(element) = cx.core.list_mut(source)?.and_then(|list| from.pop_from(list)) else {
        return Ok(false);
    };
    to.push_to(cx.core.list_or_new(target)?, &element);
    cx.core.signal_ready(target);
    cx.core.changed(class::LIST, to.push_event(), target);
    cx.core.touched(source);
    cx.core.notify(class::LIST, from.pop_event(), source);
    cx.core.remove_if_empty(source);
    cx.core.log_as(&[&[b"LMOVE", source, target, from.word(), to.word()]]);
    cx.out.bulk(&element);
    Ok(true)
}

fn lmpop(cx: &mut Ctx<'_>, args: &[&[u8]]) -> Outcome {
    let wanted = ManyPop::parse(args, End::parse)?;
    if !try_many_pop(cx, &wanted)? {
        cx.out.null_array();
    }
    Ok(())
}

/// Pops from the first list that has something. False when none has.
pub(crate) fn try_many_pop(
    cx: &mut Ctx<'_>,
    wanted: &ManyPop<'_, End>,
) -> Result<bool, ReplyError> {
    for key in wanted.keys {
        let Some(list) = source(cx.core, key)? else { continue };
        let taken = wanted.count.min(list.len());
        cx.out.array(2);
        cx.out.bulk(key);
        cx.out.array(taken);
        for _ in 0..taken {
            if let Some(element) = wanted.end.pop_from(list) {
                cx.out.bulk(&element);
            }
        }
        popped(cx.core, key, wanted.end);
        let mut digits = itoa::Buffer::new();
        let taken = digits.format(taken).as_bytes();
        cx.core.log_as(&[&[wanted.end.pop_word(), key, taken]]);
        return Ok(true);
    }
    Ok(false)
}

/// Pops one element from the first list that has one and writes key and element. False when none has.
pub(crate) fn try_pop_any(cx: &mut Ctx<'_>, keys: &[&[u8]], end: End) -> Result<bool, ReplyError> {
    for key in keys {
        let Some(list) = source(cx.core, key)? else { continue };
        let Some(element) = end.pop_from(list) else { continue };
        cx.out.array(2);
        cx.out.bulk(key);
        cx.out.bulk(&element);
        popped(cx.core, key, end);
        cx.core.log_as(&[&[end.pop_word(), key]]);
        return Ok(true);
    }
    Ok(false)
}
