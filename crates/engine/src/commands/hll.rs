//! `PFADD`, `PFCOUNT` and `PFMERGE`: how many different elements, roughly. The value is a string (see `hll`).

use crate::commands::ctx::Ctx;
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::notify::class;
use crate::data::Value;
use crate::data::hll::{self, Corrupted};
use crate::error::{Outcome, ReplyError, WRONG_TYPE};

pub(crate) const HANDLERS: &[(&str, Run)] =
    &[("pfadd", Plain(pfadd)), ("pfcount", Plain(pfcount)), ("pfmerge", Plain(pfmerge))];

impl From<Corrupted> for ReplyError {
    fn from(_: Corrupted) -> Self {
        ReplyError::fixed("INVALIDOBJ Corrupted HLL object detected")
    }
}

fn check(value: &[u8]) -> Outcome {
    if hll::is_valid(value) {
        return Ok(());
    }
    Err(ReplyError::fixed("WRONGTYPE Key is not a valid HyperLogLog string value."))
}

/// The value at a key, checked, to change; made when there is none.
fn reach<'a>(core: &'a mut Core, key: &[u8]) -> Result<(&'a mut Vec<u8>, bool), ReplyError> {
    let new = match core.write(key) {
        None => true,
        Some(value) => {
            check(&value.as_string().ok_or(WRONG_TYPE)?)?;
            false
        }
    };
    if new {
        core.put(key, Value::string(&hll::empty()));
    }
    let text = core.write(key).and_then(Value::as_text_mut).ok_or(WRONG_TYPE)?;
    Ok((text.make_mut(), new))
}

fn pfadd(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let sparse_max = cx.core.config.hll_sparse_max;
    let (value, mut rose) = reach(cx.core, argv[1])?;
    let mut failed = None;
    for item in &argv[2..] {
        match hll::add(value, item, sparse_max) {
            Ok(higher) => rose |= higher,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if rose {
        hll::set_stale(value);
        cx.core.changed(class::STRING, "pfadd", argv[1]);
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    cx.out.flag(rose);
    Ok(())
}

/// The registers of all keys together, and whether one of them is dense.
fn union(core: &mut Core, keys: &[&[u8]]) -> Result<(Box<hll::Registers>, bool), ReplyError> {
    let mut registers = hll::no_registers();
    let mut dense = false;
    for key in keys {
        let Some(value) = core.read(key) else { continue };
        let value = value.as_string().ok_or(WRONG_TYPE)?;
        check(&value)?;
        dense |= hll::is_dense(&value);
        hll::merge(&mut registers, &value)?;
    }
    Ok((registers, dense))
}

fn pfcount(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let keys = &argv[1..];
    if let [key] = keys {
        let Some(value) = cx.core.read(key) else {
            cx.out.len(0);
            return Ok(());
        };
        let value = value.as_string().ok_or(WRONG_TYPE)?;
        check(&value)?;
        if let Some(count) = hll::cached(&value) {
            cx.out.int(count as i64);
            return Ok(());
        }
    }
    let count = hll::estimate(&union(cx.core, keys)?.0);
    if let [key] = keys {
        // The estimate is kept in the value, which changes by being counted.
        hll::set_cached(reach(cx.core, key)?.0, count);
        cx.core.touched(key);
    }
    cx.out.int(count as i64);
    Ok(())
}

fn pfmerge(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let sparse_max = cx.core.config.hll_sparse_max;
    let (registers, dense) = union(cx.core, &argv[1..])?;
    let (value, _) = reach(cx.core, argv[1])?;
    if dense {
        hll::make_dense(value)?;
    }
    for (at, count) in registers.iter().enumerate().filter(|(_, count)| **count > 0) {
        hll::raise(value, at, *count, sparse_max)?;
    }
    hll::set_stale(value);
    cx.core.changed(class::STRING, "pfadd", argv[1]);
    cx.out.ok();
    Ok(())
}
