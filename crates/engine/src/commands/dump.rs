//! `DUMP` and `RESTORE`: a value as bytes, and back.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::core::access_stamp;
use crate::core::notify::class;
use crate::data::rdb::{self, read};
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] =
    &[("dump", Plain(dump)), ("restore", Plain(restore)), ("restore-asking", Plain(restore))];

fn dump(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    match cx.core.read(argv[1]) {
        None => cx.out.null(),
        Some(value) => cx.out.bulk(&rdb::payload(value)),
    }
    Ok(())
}

#[derive(Default)]
struct RestoreArgs {
    replace: bool,
    absolute: bool,
    idle_s: Option<i64>,
    freq: Option<i64>,
}

fn options(args: &[&[u8]]) -> Result<RestoreArgs, ReplyError> {
    let mut options = RestoreArgs::default();
    let mut rest = args;
    while let Some((word, tail)) = rest.split_first() {
        rest = tail;
        if is(word, "REPLACE") {
            options.replace = true;
        } else if is(word, "ABSTTL") {
            options.absolute = true;
        } else if is(word, "IDLETIME") && !tail.is_empty() && options.freq.is_none() {
            let idle = int(tail[0])?;
            if idle < 0 {
                return Err(ReplyError::fixed("ERR Invalid IDLETIME value, must be >= 0"));
            }
            options.idle_s = Some(idle);
            rest = &tail[1..];
        } else if is(word, "FREQ") && !tail.is_empty() && options.idle_s.is_none() {
            let freq = int(tail[0])?;
            if !(0..=255).contains(&freq) {
                return Err(ReplyError::fixed("ERR Invalid FREQ value, must be >= 0 and <= 255"));
            }
            options.freq = Some(freq);
            rest = &tail[1..];
        } else {
            return Err(SYNTAX);
        }
    }
    Ok(options)
}

fn restore(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let options = options(&argv[4..])?;
    let (key, payload) = (argv[1], argv[3]);
    if !options.replace && cx.core.exists(key) {
        return Err(ReplyError::fixed("BUSYKEY Target key name already exists."));
    }
    let ttl = int(argv[2])?;
    if ttl < 0 {
        return Err(ReplyError::fixed("ERR Invalid TTL value, must be >= 0"));
    }
    if !read::is_whole(payload) {
        return Err(ReplyError::fixed("ERR DUMP payload version or checksum are wrong"));
    }
    let value = read::value(payload, &cx.core.config.limits)
        .ok_or(ReplyError::fixed("ERR Bad data format"))?;
    let deleted = options.replace && cx.core.remove(key).is_some();
    let until = if options.absolute { ttl } else { ttl.saturating_add(cx.core.now) };
    if ttl > 0 && until <= cx.core.now && !cx.core.loading {
        if deleted {
            cx.core.changed(class::GENERIC, "del", key);
            cx.core.log_as(&[&[b"DEL", key]]);
        }
        cx.out.ok();
        return Ok(());
    }
    cx.core.put(key, value);
    if ttl > 0 {
        cx.core.keys().set_expire(key, until);
        if !options.absolute {
            let mut digits = itoa::Buffer::new();
            let mut exact = argv.to_vec();
            exact[2] = digits.format(until).as_bytes();
            exact.push(b"ABSTTL");
            cx.core.log_as(&[&exact]);
        }
    }
    if let Some(idle) = options.idle_s {
        let used = cx.core.now.saturating_sub(idle.saturating_mul(1000));
        let keys = cx.core.keys();
        keys.note_uses_at(access_stamp(used));
        keys.get_touched(key);
    }
    cx.core.changed(class::GENERIC, "restore", key);
    cx.out.ok();
    Ok(())
}
