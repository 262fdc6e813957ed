//! `SCAN HSCAN SSCAN ZSCAN`: every element present throughout a full scan comes at least once.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::data::{glob, num};
use crate::error::{NOT_INT, Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("scan", Plain(scan)),
    ("hscan", Plain(hscan)),
    ("sscan", Plain(sscan)),
    ("zscan", Plain(zscan)),
];

struct ScanArgs<'a> {
    cursor: u64,
    count: usize,
    pattern: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
}

impl ScanArgs<'_> {
    fn wants(&self, element: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, element, false))
    }
}

/// A cursor is an unsigned number; leading blanks are read as Redis reads them.
fn cursor(arg: &[u8]) -> Result<u64, ReplyError> {
    let text = std::str::from_utf8(arg).ok().filter(|text| !text.starts_with(char::is_whitespace));
    text.and_then(|text| text.parse().ok()).ok_or(ReplyError::fixed("ERR invalid cursor"))
}

fn asked<'a>(at: u64, args: &[&'a [u8]], types: bool) -> Result<ScanArgs<'a>, ReplyError> {
    let mut asked = ScanArgs { cursor: at, count: 10, pattern: None, kind: None };
    let mut rest = args;
    while let [word, value, tail @ ..] = rest {
        if is(word, "COUNT") {
            let count = int(value).map_err(|_| NOT_INT)?;
            asked.count = usize::try_from(count).ok().filter(|n| *n > 0).ok_or(SYNTAX)?;
        } else if is(word, "MATCH") {
            asked.pattern = (*value != b"*").then_some(value);
        } else if types && is(word, "TYPE") {
            asked.kind = Some(value);
        } else {
            return Err(SYNTAX);
        }
        rest = tail;
    }
    if rest.is_empty() { Ok(asked) } else { Err(SYNTAX) }
}

/// The cursor, then the array of what was found.
fn answer(cx: &mut Ctx<'_>, cursor: u64, found: &[Vec<u8>]) {
    cx.out.array(2);
    cx.out.bulk(cursor.to_string().as_bytes());
    cx.out.array(found.len());
    for element in found {
        cx.out.bulk(element);
    }
}

fn scan(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let asked = asked(cursor(argv[1])?, &argv[2..], true)?;
    let mut found = Vec::new();
    let next = cx.core.keys().scan(asked.cursor, asked.count, &mut |key, value| {
        let kind_fits = asked.kind.is_none_or(|kind| is(kind, value.type_name()));
        if kind_fits && asked.wants(key) {
            found.push(key.to_vec());
        }
    });
    found.retain(|key| !cx.core.expire_if_due(key));
    answer(cx, next, &found);
    Ok(())
}

fn empty(cx: &mut Ctx<'_>) -> Outcome {
    answer(cx, 0, &[]);
    Ok(())
}

fn hscan(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let at = cursor(argv[2])?;
    let Some(hash) = cx.core.hash(argv[1])? else { return empty(cx) };
    let asked = asked(at, &argv[3..], false)?;
    let mut found = Vec::new();
    let next = hash.scan(asked.cursor, asked.count, &mut |field, value| {
        if asked.wants(field) {
            found.extend([field.to_vec(), value.to_vec()]);
        }
    });
    answer(cx, next, &found);
    Ok(())
}

fn sscan(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let at = cursor(argv[2])?;
    let Some(set) = cx.core.set(argv[1])? else { return empty(cx) };
    let asked = asked(at, &argv[3..], false)?;
    let mut found = Vec::new();
    let next = set.scan(asked.cursor, asked.count, &mut |member| {
        if asked.wants(member) {
            found.push(member.to_vec());
        }
    });
    answer(cx, next, &found);
    Ok(())
}

fn zscan(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let at = cursor(argv[2])?;
    let Some(zset) = cx.core.zset(argv[1])? else { return empty(cx) };
    let asked = asked(at, &argv[3..], false)?;
    let mut found = Vec::new();
    // The small form shows its scores as they are stored, with no exponent on whole numbers.
    let packed = zset.is_packed();
    let next = zset.scan(asked.cursor, asked.count, &mut |member, score| {
        if asked.wants(member) {
            let mut spelled = Vec::new();
            if packed {
                num::fmt_stored_double(score, &mut spelled);
            } else {
                num::fmt_g17(score, &mut spelled);
            }
            found.extend([member.to_vec(), spelled]);
        }
    });
    answer(cx, next, &found);
    Ok(())
}
