//! Bits of strings: `SETBIT GETBIT BITCOUNT BITPOS BITOP`. Bit 0 is the highest bit of the first byte; beyond its
//! end a string is zeros.

use std::borrow::Cow;

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::notify::class;
use crate::data::num::parse_i64;
use crate::data::{Text, Value};
use crate::error::{Outcome, ReplyError, SYNTAX, WRONG_TYPE};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("setbit", Plain(setbit)),
    ("getbit", Plain(getbit)),
    ("bitcount", Plain(bitcount)),
    ("bitpos", Plain(bitpos)),
    ("bitop", Plain(bitop)),
];

/// A bit's place within the longest string that may be; with `#`, a multiple of `bits`.
pub(crate) fn bit_offset(core: &Core, arg: &[u8], bits: i64) -> Result<usize, ReplyError> {
    let error = || ReplyError::fixed("ERR bit offset is not an integer or out of range");
    let offset = match arg {
        [b'#', rest @ ..] if bits > 0 => parse_i64(rest).map(|n| n.wrapping_mul(bits)),
        arg => parse_i64(arg),
    };
    let offset = offset.and_then(|n| usize::try_from(n).ok()).ok_or_else(error)?;
    let fits = core.loading || offset >> 3 < core.config.proto_max_bulk_len;
    fits.then_some(offset).ok_or_else(error)
}

/// The string at `key` to edit, at least long enough for that bit; whether it had to grow.
pub(crate) fn reach<'a>(
    core: &'a mut Core,
    key: &[u8],
    last_bit: usize,
) -> Result<(&'a mut Vec<u8>, bool), ReplyError> {
    let size = (last_bit >> 3) + 1;
    let new = core.write(key).is_none();
    if new {
        core.put(key, Value::Text(Text::new(b"")));
    }
    let text = core.write(key).and_then(Value::as_text_mut).ok_or(WRONG_TYPE)?.make_mut();
    let grows = text.len() < size;
    if grows {
        text.resize(size, 0);
    }
    Ok((text, grows))
}

/// The bytes of the string at `key`, to read.
pub(crate) fn bytes<'a>(
    core: &'a mut Core,
    key: &[u8],
) -> Result<Option<Cow<'a, [u8]>>, ReplyError> {
    match core.read(key) {
        None => Ok(None),
        Some(value) => value.as_string().map(Some).ok_or(WRONG_TYPE),
    }
}

fn setbit(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let offset = bit_offset(cx.core, argv[2], 0)?;
    let on = match parse_i64(argv[3]) {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(ReplyError::fixed("ERR bit is not an integer or out of range")),
    };
    let (text, grew) = reach(cx.core, argv[1], offset)?;
    let (byte, mask) = (offset >> 3, 0x80 >> (offset & 7));
    let old = text[byte] & mask != 0;
    if grew || old != on {
        text[byte] = if on { text[byte] | mask } else { text[byte] & !mask };
        cx.core.changed(class::STRING, "setbit", argv[1]);
    }
    cx.out.flag(old);
    Ok(())
}

fn getbit(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let offset = bit_offset(cx.core, argv[2], 0)?;
    let text = bytes(cx.core, argv[1])?.unwrap_or_default();
    let byte = text.get(offset >> 3).copied().unwrap_or(0);
    cx.out.flag(byte & (0x80 >> (offset & 7)) != 0);
    Ok(())
}

fn is_bit_unit(arg: &[u8]) -> Result<bool, ReplyError> {
    if is(arg, "BIT") {
        Ok(true)
    } else if is(arg, "BYTE") {
        Ok(false)
    } else {
        Err(SYNTAX)
    }
}

/// A range of bits from a range of bits or bytes; negative numbers count from the end. `None` when it is empty.
fn bit_range(start: i64, end: i64, by_bit: bool, len: usize) -> Option<(usize, usize)> {
    let total = len as i64 * if by_bit { 8 } else { 1 };
    let place = |n: i64| if n < 0 { (n.saturating_add(total)).max(0) } else { n };
    let (start, end) = (place(start), place(end).min(total - 1));
    if start > end {
        return None;
    }
    let (start, end) = (start as usize, end as usize);
    Some(if by_bit { (start, end) } else { (start * 8, end * 8 + 7) })
}

/// The byte at `index` with the bits outside `first..=last` replaced by `fill`.
fn masked(text: &[u8], index: usize, first: usize, last: usize, fill: bool) -> u8 {
    let mut keep = 0xffu8;
    if index == first >> 3 {
        keep &= 0xff >> (first & 7);
    }
    if index == last >> 3 {
        keep &= 0xffu8 << (7 - (last & 7));
    }
    if fill { text[index] | !keep } else { text[index] & keep }
}

fn bitcount(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let Some(text) = bytes(cx.core, argv[1])? else {
        cx.out.int(0);
        return Ok(());
    };
    let range = match &argv[2..] {
        [] => bit_range(0, -1, false, text.len()),
        [start, end, unit @ ..] if unit.len() < 2 => {
            let (start, end) = (int(start)?, int(end)?);
            if start < 0 && end < 0 && start > end {
                cx.out.int(0);
                return Ok(());
            }
            let by_bit = unit.first().map_or(Ok(false), |unit| is_bit_unit(unit))?;
            bit_range(start, end, by_bit, text.len())
        }
        _ => return Err(SYNTAX),
    };
    let Some((first, last)) = range else {
        cx.out.int(0);
        return Ok(());
    };
    let (from, to) = (first >> 3, last >> 3);
    let edges = |index| u64::from(masked(&text, index, first, last, false).count_ones());
    let count =
        if from == to { edges(from) } else { edges(from) + edges(to) + ones(&text[from + 1..to]) };
    cx.out.int(count as i64);
    Ok(())
}

/// Bits that are set, eight bytes at a time.
fn ones(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let many: u64 =
        words.iter().map(|word| u64::from(u64::from_ne_bytes(*word).count_ones())).sum();
    many + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

fn bitpos(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let wanted = match int(argv[2])? {
        0 => false,
        1 => true,
        _ => return Err(ReplyError::fixed("ERR The bit argument must be 1 or 0.")),
    };
    let Some(text) = bytes(cx.core, argv[1])? else {
        cx.out.int(if wanted { -1 } else { 0 });
        return Ok(());
    };
    let (start, end, by_bit) = match &argv[3..] {
        [] => (0, None, false),
        [start] => (int(start)?, None, false),
        [start, end] => (int(start)?, Some(int(end)?), false),
        [start, end, unit] => {
            let (start, by_bit) = (int(start)?, is_bit_unit(unit)?);
            (start, Some(int(end)?), by_bit)
        }
        _ => return Err(SYNTAX),
    };
    let Some((first, last)) = bit_range(start, end.unwrap_or(-1), by_bit, text.len()) else {
        cx.out.int(-1);
        return Ok(());
    };
    let skip = if wanted { 0 } else { 0xff };
    let found = ((first >> 3)..=(last >> 3)).find_map(|index| {
        let byte = masked(&text, index, first, last, !wanted);
        (byte != skip).then(|| {
            let lead = if wanted { byte.leading_zeros() } else { byte.leading_ones() };
            index as i64 * 8 + i64::from(lead)
        })
    });
    cx.out.int(match found {
        Some(at) => at,
        // After the end of a string come zeros, unless the range has an end of its own.
        None if !wanted && end.is_none() => last as i64 + 1,
        None => -1,
    });
    Ok(())
}

fn bitop(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (name, target, keys) = (argv[1], argv[2], &argv[3..]);
    let op: Option<fn(u8, u8) -> u8> = if is(name, "AND") {
        Some(|a, b| a & b)
    } else if is(name, "OR") {
        Some(|a, b| a | b)
    } else if is(name, "XOR") {
        Some(|a, b| a ^ b)
    } else if is(name, "NOT") {
        if keys.len() != 1 {
            return Err(ReplyError::fixed(
                "ERR BITOP NOT must be called with a single source key.",
            ));
        }
        None
    } else {
        return Err(SYNTAX);
    };
    let mut result: Option<Vec<u8>> = None;
    for key in keys {
        let text = bytes(cx.core, key)?.unwrap_or_default();
        match (&mut result, op) {
            (None, _) => result = Some(text.into_owned()),
            (Some(result), Some(op)) => combine(result, &text, op),
            (Some(_), None) => {}
        }
    }
    let mut result = result.unwrap_or_default();
    if op.is_none() {
        for byte in &mut result {
            *byte = !*byte;
        }
    }
    cx.out.len(result.len());
    if !result.is_empty() {
        let mut text = Text::new(b"");
        *text.make_mut() = result;
        cx.core.put(target, Value::Text(text));
        cx.core.changed(class::STRING, "set", target);
    } else if cx.core.remove(target).is_some() {
        cx.core.changed(class::GENERIC, "del", target);
    }
    Ok(())
}

fn combine(result: &mut Vec<u8>, text: &[u8], op: fn(u8, u8) -> u8) {
    if result.len() < text.len() {
        result.resize(text.len(), 0);
    }
    let (both, alone) = result.split_at_mut(text.len());
    for (byte, other) in both.iter_mut().zip(text) {
        *byte = op(*byte, *other);
    }
    for byte in alone {
        *byte = op(*byte, 0);
    }
}
