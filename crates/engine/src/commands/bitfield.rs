//! `BITFIELD` and `BITFIELD_RO`: a string as an array of integers of any width up to 64 bits.

use crate::commands::bit::{bit_offset, bytes, reach};
use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::notify::class;
use crate::data::num::parse_i64;
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("bitfield", Plain(|cx, argv| bitfield(cx, argv, false))),
    ("bitfield_ro", Plain(|cx, argv| bitfield(cx, argv, true))),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

/// Width and sign of an integer.
#[derive(Clone, Copy)]
struct BitWidth {
    signed: bool,
    bits: u32,
}

impl BitWidth {
    fn parse(arg: &[u8]) -> Result<Self, ReplyError> {
        let (signed, width) = match arg {
            [b'i', width @ ..] => (true, width),
            [b'u', width @ ..] => (false, width),
            _ => (true, &b""[..]),
        };
        let max = if signed { 64 } else { 63 };
        match parse_i64(width) {
            Some(bits) if (1..=max).contains(&bits) => Ok(BitWidth { signed, bits: bits as u32 }),
            _ => Err(ReplyError::fixed(
                "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
            )),
        }
    }

    fn min(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    fn max(self) -> i128 {
        (1 << (self.bits - u32::from(self.signed))) - 1
    }

    /// The integer with these low bits.
    fn of_bits(self, raw: u64) -> i128 {
        let raw = i128::from(raw) & ((1 << self.bits) - 1);
        if raw > self.max() { raw - (1 << self.bits) } else { raw }
    }

    /// The value to store, or none where an overflow must fail.
    fn fit(self, value: i128, overflow: Overflow) -> Option<i128> {
        if (self.min()..=self.max()).contains(&value) {
            return Some(value);
        }
        match overflow {
            Overflow::Wrap => Some(self.of_bits(value as u64)),
            Overflow::Saturate => Some(value.clamp(self.min(), self.max())),
            Overflow::Fail => None,
        }
    }
}

enum Action {
    Get,
    Set(i64),
    Add(i64),
}

struct BitfieldOp {
    action: Action,
    kind: BitWidth,
    at: usize,
    overflow: Overflow,
}

fn steps(core: &Core, argv: &[&[u8]]) -> Result<Vec<BitfieldOp>, ReplyError> {
    let mut steps = Vec::new();
    let mut overflow = Overflow::Wrap;
    let mut rest = &argv[2..];
    while let Some((word, args)) = rest.split_first() {
        if is(word, "OVERFLOW") && !args.is_empty() {
            overflow = if is(args[0], "WRAP") {
                Overflow::Wrap
            } else if is(args[0], "SAT") {
                Overflow::Saturate
            } else if is(args[0], "FAIL") {
                Overflow::Fail
            } else {
                return Err(ReplyError::fixed("ERR Invalid OVERFLOW type specified"));
            };
            rest = &args[1..];
            continue;
        }
        let width = match args.len() {
            2.. if is(word, "GET") => 2,
            3.. if is(word, "SET") || is(word, "INCRBY") => 3,
            _ => return Err(SYNTAX),
        };
        let kind = BitWidth::parse(args[0])?;
        let at = bit_offset(core, args[1], i64::from(kind.bits))?;
        let action = if width == 2 {
            Action::Get
        } else if is(word, "SET") {
            Action::Set(int(args[2])?)
        } else {
            Action::Add(int(args[2])?)
        };
        steps.push(BitfieldOp { action, kind, at, overflow });
        rest = &args[width..];
    }
    Ok(steps)
}

/// The integer at a bit; beyond the end are zeros.
fn load(text: &[u8], at: usize, kind: BitWidth) -> i128 {
    let raw = (at..at + kind.bits as usize).fold(0, |raw, bit| {
        let byte = text.get(bit >> 3).copied().unwrap_or(0);
        raw << 1 | u64::from(byte >> (7 - (bit & 7)) & 1)
    });
    kind.of_bits(raw)
}

fn store(text: &mut [u8], at: usize, kind: BitWidth, value: i128) {
    for (place, bit) in (at..at + kind.bits as usize).enumerate() {
        let on = value >> (kind.bits as usize - 1 - place) & 1 == 1;
        let mask = 0x80 >> (bit & 7);
        text[bit >> 3] = if on { text[bit >> 3] | mask } else { text[bit >> 3] & !mask };
    }
}

fn bitfield(cx: &mut Ctx<'_>, argv: &[&[u8]], read_only: bool) -> Outcome {
    let steps = steps(cx.core, argv)?;
    let key = argv[1];
    let writes = steps.iter().filter(|step| !matches!(step.action, Action::Get));
    let Some(last) = writes.map(|step| step.at + step.kind.bits as usize - 1).max() else {
        let text = bytes(cx.core, key)?.unwrap_or_default();
        cx.out.array(steps.len());
        for step in steps {
            cx.out.int(load(&text, step.at, step.kind) as i64);
        }
        return Ok(());
    };
    if read_only {
        return Err(ReplyError::fixed("ERR BITFIELD_RO only supports the GET subcommand"));
    }
    let (text, grew) = reach(cx.core, key, last)?;
    let mut changes = 0;
    cx.out.array(steps.len());
    for BitfieldOp { action, kind, at, overflow } in steps {
        let old = load(text, at, kind);
        let (wanted, reply_old) = match action {
            Action::Get => {
                cx.out.int(old as i64);
                continue;
            }
            // An unsigned field takes the bits of a negative number.
            Action::Set(value) if !kind.signed => (i128::from(value as u64), true),
            // Redis takes the distance to the greatest in 64 bits: what is too far below seems too far above.
            Action::Set(value)
                if overflow == Overflow::Saturate
                    && kind.max() - i128::from(value) > i128::from(i64::MAX)
                    && kind.bits < 64 =>
            {
                (kind.max(), true)
            }
            Action::Set(value) => (i128::from(value), true),
            Action::Add(by) => (old + i128::from(by), false),
        };
        match kind.fit(wanted, overflow) {
            None => cx.out.null(),
            Some(new) => {
                cx.out.int(if reply_old { old } else { new } as i64);
                store(text, at, kind, new);
                changes += u64::from(grew || old != new);
            }
        }
    }
    if changes > 0 {
        cx.core.changed(class::STRING, "setbit", key);
        cx.core.dirty += changes - 1;
    } else if grew {
        // Nothing but zeros came, without an event; the log must know all the same.
        cx.core.dirty += 1;
    }
    Ok(())
}
