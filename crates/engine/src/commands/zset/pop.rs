//! Members taken off the ends of sorted sets, also by those who wait.

use crate::commands::ctx::{Ctx, is, positive};
use crate::commands::list::block::until;
use crate::commands::many_pop::ManyPop;
use crate::commands::table::Run::{self, Plain};
use crate::core::client::OnTimeout;
use crate::core::notify::class;
use crate::data::{Text, Zset};
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("zpopmin", Plain(|cx, argv| pop(cx, argv, Which::Min))),
    ("zpopmax", Plain(|cx, argv| pop(cx, argv, Which::Max))),
    ("bzpopmin", Plain(|cx, argv| wait_pop(cx, argv, Which::Min))),
    ("bzpopmax", Plain(|cx, argv| wait_pop(cx, argv, Which::Max))),
    ("zmpop", Plain(zmpop)),
    ("bzmpop", Plain(bzmpop)),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Min,
    Max,
}

impl Which {
    fn event(self) -> &'static str {
        if self == Which::Min { "zpopmin" } else { "zpopmax" }
    }

    fn word(self) -> &'static [u8] {
        if self == Which::Min { b"ZPOPMIN" } else { b"ZPOPMAX" }
    }

    fn take(self, zset: &mut Zset) -> Option<(Text, f64)> {
        match self {
            Which::Min => zset.pop_min(),
            Which::Max => zset.pop_max(),
        }
    }
}

/// Takes up to `count` members off a key that has some, with event and log line.
fn take(
    cx: &mut Ctx<'_>,
    key: &[u8],
    which: Which,
    count: usize,
) -> Result<Vec<(Text, f64)>, ReplyError> {
    let waiting = cx.core.retrying;
    let zset = match cx.core.zset_mut(key) {
        Ok(Some(zset)) => zset,
        // A waiting client goes on waiting at a key of another type.
        Err(error) if !waiting => return Err(error),
        _ => return Ok(Vec::new()),
    };
    let count = count.min(zset.len());
    let taken: Vec<(Text, f64)> = (0..count).filter_map(|_| which.take(zset)).collect();
    if !taken.is_empty() {
        cx.core.changed(class::ZSET, which.event(), key);
        cx.core.remove_if_empty(key);
        let mut digits = itoa::Buffer::new();
        cx.core.log_as(&[&[which.word(), key, digits.format(taken.len()).as_bytes()]]);
    }
    Ok(taken)
}

fn pop(cx: &mut Ctx<'_>, argv: &[&[u8]], which: Which) -> Outcome {
    if argv.len() > 3 {
        return Err(SYNTAX);
    }
    let count = match argv.get(2) {
        None => None,
        Some(arg) => Some(positive(arg)?),
    };
    let taken = take(cx, argv[1], which, count.unwrap_or(1))?;
    if count.is_some() && cx.out.resp3 {
        write_pairs(cx, &taken);
        return Ok(());
    }
    cx.out.array(taken.len() * 2);
    for (member, score) in &taken {
        cx.out.bulk(member);
        cx.out.double(*score);
    }
    Ok(())
}

/// Each pair an array of its own.
fn write_pairs(cx: &mut Ctx<'_>, pairs: &[(Text, f64)]) {
    cx.out.array(pairs.len());
    for (member, score) in pairs {
        cx.out.array(2);
        cx.out.bulk(member);
        cx.out.double(*score);
    }
}

fn wait_pop(cx: &mut Ctx<'_>, argv: &[&[u8]], which: Which) -> Outcome {
    let (timeout, keys) = argv[1..].split_last().expect("arity is at least 3");
    let until = until(cx.core, timeout)?;
    for key in keys {
        if let Some((member, score)) = take(cx, key, which, 1)?.first() {
            cx.out.array(3);
            cx.out.bulk(key);
            cx.out.bulk(member);
            cx.out.double(*score);
            return Ok(());
        }
    }
    cx.block(keys, argv, until, OnTimeout::NullArray)
}

/// From the number of keys on.
fn many_pop<'a>(args: &'a [&'a [u8]]) -> Result<ManyPop<'a, Which>, ReplyError> {
    ManyPop::parse(args, |word| match () {
        () if is(word, "MIN") => Ok(Which::Min),
        () if is(word, "MAX") => Ok(Which::Max),
        () => Err(SYNTAX),
    })
}

/// False when no key has members.
fn try_many(cx: &mut Ctx<'_>, wanted: &ManyPop<'_, Which>) -> Result<bool, ReplyError> {
    for key in wanted.keys {
        let taken = take(cx, key, wanted.end, wanted.count)?;
        if !taken.is_empty() {
            cx.out.array(2);
            cx.out.bulk(key);
            write_pairs(cx, &taken);
            return Ok(true);
        }
    }
    Ok(false)
}

fn zmpop(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if !try_many(cx, &many_pop(&argv[1..])?)? {
        cx.out.null_array();
    }
    Ok(())
}

fn bzmpop(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let until = until(cx.core, argv[1])?;
    let wanted = many_pop(&argv[2..])?;
    if try_many(cx, &wanted)? {
        return Ok(());
    }
    cx.block(wanted.keys, argv, until, OnTimeout::NullArray)
}
