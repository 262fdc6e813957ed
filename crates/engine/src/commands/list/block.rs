//! Lists that wait: `BLPOP BRPOP BLMOVE BRPOPLPUSH BLMPOP`. A command that finds nothing is run again when one
//! of its keys gets something.

use crate::commands::ctx::Ctx;
use crate::commands::list::{End, try_many_pop, try_pop_any, try_shift};
use crate::commands::many_pop::ManyPop;
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::client::OnTimeout;
use crate::data::num;
use crate::error::{Outcome, ReplyError};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("blpop", Plain(|cx, argv| pop_any(cx, argv, End::Left))),
    ("brpop", Plain(|cx, argv| pop_any(cx, argv, End::Right))),
    ("blmove", Plain(blmove)),
    ("brpoplpush", Plain(brpoplpush)),
    ("blmpop", Plain(blmpop)),
];

/// When a wait of that many seconds ends; `None` for 0, which waits for ever.
pub(crate) fn until(core: &Core, arg: &[u8]) -> Result<Option<i64>, ReplyError> {
    let seconds = num::parse_f64(arg)
        .ok_or(ReplyError::fixed("ERR timeout is not a float or out of range"))?;
    if seconds < 0.0 {
        return Err(ReplyError::fixed("ERR timeout is negative"));
    }
    let millis = (seconds * 1000.0).ceil();
    if !millis.is_finite() || millis > (i64::MAX - core.now) as f64 {
        return Err(ReplyError::fixed("ERR timeout is out of range"));
    }
    Ok((millis > 0.0).then(|| core.now + millis as i64))
}

fn pop_any(cx: &mut Ctx<'_>, argv: &[&[u8]], end: End) -> Outcome {
    let (timeout, keys) = argv[1..].split_last().expect("arity is at least 3");
    let until = until(cx.core, timeout)?;
    if try_pop_any(cx, keys, end)? {
        return Ok(());
    }
    cx.block(keys, argv, until, OnTimeout::NullArray)
}

fn blmove(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (from, to) = (End::parse(argv[3])?, End::parse(argv[4])?);
    shift(cx, argv, from, to, argv[5])
}

fn brpoplpush(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    shift(cx, argv, End::Right, End::Left, argv[3])
}

fn shift(cx: &mut Ctx<'_>, argv: &[&[u8]], from: End, to: End, timeout: &[u8]) -> Outcome {
    let until = until(cx.core, timeout)?;
    if try_shift(cx, argv[1], argv[2], from, to)? {
        return Ok(());
    }
    cx.block(&argv[1..2], argv, until, OnTimeout::Null)
}

fn blmpop(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let until = until(cx.core, argv[1])?;
    let wanted = ManyPop::parse(&argv[2..], End::parse)?;
    if try_many_pop(cx, &wanted)? {
        return Ok(());
    }
    cx.block(wanted.keys, argv, until, OnTimeout::NullArray)
}
