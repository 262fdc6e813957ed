//! Deadlines: `EXPIRE TTL PERSIST …`. In the log a deadline is always an absolute time.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::string::{Unit, expire_or_delete};
use crate::commands::table::Run::{self, Plain};
use crate::core::notify::class;
use crate::error::{Outcome, ReplyError};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("expire", Plain(|cx, argv| expire(cx, argv, Unit::Seconds, true))),
    ("pexpire", Plain(|cx, argv| expire(cx, argv, Unit::Millis, true))),
    ("expireat", Plain(|cx, argv| expire(cx, argv, Unit::Seconds, false))),
    ("pexpireat", Plain(|cx, argv| expire(cx, argv, Unit::Millis, false))),
    ("ttl", Plain(|cx, argv| ttl(cx, argv[1], Unit::Seconds, true))),
    ("pttl", Plain(|cx, argv| ttl(cx, argv[1], Unit::Millis, true))),
    ("expiretime", Plain(|cx, argv| ttl(cx, argv[1], Unit::Seconds, false))),
    ("pexpiretime", Plain(|cx, argv| ttl(cx, argv[1], Unit::Millis, false))),
    ("persist", Plain(persist)),
];

#[derive(Default)]
struct When {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

fn when(args: &[&[u8]]) -> Result<When, ReplyError> {
    let mut when = When::default();
    for arg in args {
        let known = [
            ("NX", &mut when.nx),
            ("XX", &mut when.xx),
            ("GT", &mut when.gt),
            ("LT", &mut when.lt),
        ];
        let Some((_, set)) = known.into_iter().find(|(word, _)| is(arg, word)) else {
            let arg = String::from_utf8_lossy(arg);
            return Err(ReplyError::new(format!("ERR Unsupported option {arg}")));
        };
        *set = true;
    }
    if when.nx && (when.xx || when.gt || when.lt) {
        return Err(ReplyError::fixed(
            "ERR NX and XX, GT or LT options at the same time are not compatible",
        ));
    }
    if when.gt && when.lt {
        return Err(ReplyError::fixed("ERR GT and LT options at the same time are not compatible"));
    }
    Ok(when)
}

fn expire(cx: &mut Ctx<'_>, argv: &[&[u8]], unit: Unit, relative: bool) -> Outcome {
    let key = argv[1];
    let when = when(&argv[3..])?;
    let amount = int(argv[2])?;
    let millis = match unit {
        Unit::Seconds => amount.checked_mul(1000),
        Unit::Millis => Some(amount),
    };
    let base = if relative { cx.core.now } else { 0 };
    let at = millis.and_then(|ms| ms.checked_add(base)).ok_or_else(|| {
        ReplyError::new(format!("ERR invalid expire time in '{}' command", cx.spec.full_name))
    })?;
    if !cx.core.exists(key) {
        cx.out.flag(false);
        return Ok(());
    }
    let old = cx.core.keys().expire_at(key);
    let refused = (when.nx && old.is_some())
        || (when.xx && old.is_none())
        || (when.gt && old.is_none_or(|old| at <= old))
        || (when.lt && old.is_some_and(|old| at >= old));
    if !refused {
        expire_or_delete(cx.core, key, at);
    }
    cx.out.flag(!refused);
    Ok(())
}

fn ttl(cx: &mut Ctx<'_>, key: &[u8], unit: Unit, relative: bool) -> Outcome {
    if cx.core.peek(key).is_none() {
        cx.out.int(-2);
        return Ok(());
    }
    let now = cx.core.now;
    let Some(at) = cx.core.keys().expire_at(key) else {
        cx.out.int(-1);
        return Ok(());
    };
    let millis = if relative { (at - now).max(0) } else { at };
    cx.out.int(match unit {
        Unit::Seconds => (millis + 500) / 1000,
        Unit::Millis => millis,
    });
    Ok(())
}

fn persist(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let done = cx.core.exists(key) && cx.core.clear_deadline(key);
    if done {
        cx.core.changed(class::GENERIC, "persist", key);
    }
    cx.out.flag(done);
    Ok(())
}
