//! `string.find`, `match`, `gmatch`, `gsub` and `rep` on our own matcher and within the script's
//! budgets. The functions that call back into the script are in `prelude.lua`; those here must be
//! quick or bounded.

use std::sync::Arc;

use mlua::{BString, Lua, MultiValue, Table, Value};

use super::pattern::{Capture, Fail, Matcher};
use super::watch::{Meter, Watch};
use super::{number, raise};

/// Functions for the prelude, by the names scripts know where these are the same.
pub(crate) fn install(lua: &Lua, watch: &Arc<Watch>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let shared = watch.clone();
    let call = move |lua: &Lua, args: MultiValue| search(lua, &shared, &args.into_vec(), true);
    table.raw_set("find", lua.create_function(call)?)?;
    let shared = watch.clone();
    let call = move |lua: &Lua, args: MultiValue| search(lua, &shared, &args.into_vec(), false);
    table.raw_set("match", lua.create_function(call)?)?;
    let shared = watch.clone();
    let call = move |lua: &Lua, args: MultiValue| next_match(lua, &shared, &args.into_vec());
    table.raw_set("next_match", lua.create_function(call)?)?;
    let shared = watch.clone();
    let call = move |lua: &Lua, args: MultiValue| replace_text(lua, &shared, &args.into_vec());
    table.raw_set("gsub", lua.create_function(call)?)?;
    let shared = watch.clone();
    let call = move |lua: &Lua, args: MultiValue| every_match(lua, &shared, &args.into_vec());
    table.raw_set("every_match", lua.create_function(call)?)?;
    let shared = watch.clone();
    let call = move |lua: &Lua, args: MultiValue| splice(lua, &shared, &args.into_vec());
    table.raw_set("splice", lua.create_function(call)?)?;
    let shared = watch.clone();
    let call = move |lua: &Lua, args: MultiValue| repeat(lua, &shared, &args.into_vec());
    table.raw_set("rep", lua.create_function(call)?)?;
    Ok(table)
}

fn failed(lua: &Lua, fail: Fail) -> mlua::Error {
    match fail {
        Fail::Pattern(text) => raise::error(lua, text),
        Fail::Stop(error) => error,
    }
}

/// The value of capture `index`; the whole match when the pattern has none.
fn capture(
    lua: &Lua,
    text: &[u8],
    captures: &[Capture],
    index: usize,
    span: (usize, usize),
) -> mlua::Result<Value> {
    match captures.get(index) {
        Some(Capture::Text(start, length)) => {
            lua.create_string(&text[*start..start + length]).map(Value::String)
        }
        Some(Capture::Position(at)) => Ok(Value::Integer(i64::try_from(at + 1).unwrap_or(0))),
        Some(Capture::Open(_)) => Err(raise::error(lua, "unfinished capture")),
        None if index == 0 => lua.create_string(&text[span.0..span.1]).map(Value::String),
        None => Err(raise::error(lua, "invalid capture index")),
    }
}

/// All captures, or the whole match when there are none and `whole` is asked for.
fn push_captures(
    lua: &Lua,
    values: &mut Vec<Value>,
    text: &[u8],
    captures: &[Capture],
    span: (usize, usize),
    whole: bool,
) -> mlua::Result<()> {
    let count = if captures.is_empty() && whole { 1 } else { captures.len() };
    for index in 0..count {
        values.push(capture(lua, text, captures, index, span)?);
    }
    Ok(())
}

fn place(at: usize) -> Value {
    Value::Integer(i64::try_from(at).unwrap_or(i64::MAX))
}

fn search(lua: &Lua, watch: &Watch, args: &[Value], find: bool) -> mlua::Result<MultiValue> {
    raise::with_string(lua, args, 1, |text| {
        raise::with_string(lua, args, 2, |pattern| {
            let start = start_of(raise::opt_integer(lua, args, 3, 1)?, text.len());
            let plain = !matches!(args.get(3), None | Some(Value::Nil | Value::Boolean(false)));
            if find && (plain || !has_specials(pattern)) {
                let found = memchr::memmem::find(&text[start..], pattern);
                return Ok(found.map_or_else(
                    || MultiValue::from_vec(vec![Value::Nil]),
                    |at| {
                        let first = place(start + at + 1);
                        MultiValue::from_vec(vec![first, place(start + at + pattern.len())])
                    },
                ));
            }
            let mut matcher = Matcher::new(text, pattern, Meter::new(watch));
            let anchored = matcher.take_anchor();
            for at in start..=text.len() {
                if let Some(end) = matcher.at(at).map_err(|fail| failed(lua, fail))? {
                    let mut values = Vec::new();
                    if find {
                        values.extend([place(at + 1), place(end)]);
                    }
                    push_captures(lua, &mut values, text, &matcher.captures, (at, end), !find)?;
                    return Ok(MultiValue::from_vec(values));
                }
                if anchored {
                    break;
                }
            }
            Ok(MultiValue::from_vec(vec![Value::Nil]))
        })
    })
}

/// The offset a start argument means: counted from 1, or from the end when negative.
fn start_of(init: i64, length: usize) -> usize {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let init = if init < 0 { (init + length + 1).max(0) } else { init };
    usize::try_from((init - 1).clamp(0, length)).unwrap_or(0)
}

fn has_specials(pattern: &[u8]) -> bool {
    let end = memchr::memchr(0, pattern).unwrap_or(pattern.len());
    pattern[..end].iter().any(|byte| b"^$*+?.([%-".contains(byte))
}

/// For `gmatch`: text, pattern, offset; gives the next offset and the captures, or nothing.
fn next_match(lua: &Lua, watch: &Watch, args: &[Value]) -> mlua::Result<MultiValue> {
    raise::with_string(lua, args, 1, |text| {
        raise::with_string(lua, args, 2, |pattern| {
            let from = usize::try_from(raise::check_integer(lua, args, 3)?).unwrap_or(usize::MAX);
            let mut matcher = Matcher::new(text, pattern, Meter::new(watch));
            let mut values = Vec::new();
            for at in from..=text.len() {
                if let Some(end) = matcher.at(at).map_err(|fail| failed(lua, fail))? {
                    values.push(place(if end == at { end + 1 } else { end }));
                    push_captures(lua, &mut values, text, &matcher.captures, (at, end), true)?;
                    break;
                }
            }
            Ok(MultiValue::from_vec(values))
        })
    })
}

/// Walks the matches that `gsub` replaces; `each` gets the span and captures of a match.
fn walk(
    lua: &Lua,
    watch: &Watch,
    args: &[Value],
    text: &[u8],
    mut each: impl FnMut((usize, usize), &[Capture]) -> mlua::Result<()>,
) -> mlua::Result<i64> {
    raise::with_string(lua, args, 2, |pattern| {
        let all = i64::try_from(text.len()).unwrap_or(i64::MAX).saturating_add(1);
        // The reference keeps the limit in an int.
        #[expect(clippy::cast_possible_truncation, reason = "the reference keeps an int")]
        let most = i64::from(raise::opt_integer(lua, args, 4, all)? as i32);
        let mut matcher = Matcher::new(text, pattern, Meter::new(watch));
        let anchored = matcher.take_anchor();
        let (mut at, mut count) = (0, 0i64);
        while count < most {
            let found = matcher.at(at).map_err(|fail| failed(lua, fail))?;
            if let Some(end) = found {
                count += 1;
                each((at, end), &matcher.captures)?;
            }
            match found {
                Some(end) if end > at => at = end,
                _ if at < text.len() => at += 1,
                _ => break,
            }
            if anchored {
                break;
            }
        }
        Ok(count)
    })
}

/// `gsub` with a string.
fn replace_text(lua: &Lua, watch: &Watch, args: &[Value]) -> mlua::Result<(BString, i64)> {
    raise::with_string(lua, args, 1, |text| {
        raise::with_string(lua, args, 2, |_| Ok(()))?;
        if !matches!(args.get(2), Some(Value::String(_) | Value::Integer(_) | Value::Number(_))) {
            return Err(raise::argument(lua, 3, "string/function/table expected"));
        }
        raise::with_string(lua, args, 3, |with| {
            let mut out: Vec<u8> = Vec::with_capacity(text.len());
            let mut copied = 0;
            let count = walk(lua, watch, args, text, |span, captures| {
                out.extend_from_slice(&text[copied..span.0]);
                copied = span.1;
                append_replacement(lua, &mut out, text, with, span, captures)?;
                watch.room(out.len())
            })?;
            out.extend_from_slice(&text[copied..]);
            Ok((out.into(), count))
        })
    })
}

/// The replacement string with `%0` to `%9` filled in.
fn append_replacement(
    lua: &Lua,
    out: &mut Vec<u8>,
    text: &[u8],
    with: &[u8],
    span: (usize, usize),
    captures: &[Capture],
) -> mlua::Result<()> {
    let mut bytes = with.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        match bytes.next().copied().unwrap_or(0) {
            b'0' => out.extend_from_slice(&text[span.0..span.1]),
            digit @ b'1'..=b'9' => {
                match capture(lua, text, captures, usize::from(digit - b'1'), span)? {
                    Value::String(part) => out.extend_from_slice(&part.as_bytes()),
                    Value::Integer(at) => number::write_g(out, number::of_i64(at), 14),
                    _ => {}
                }
            }
            other => out.push(other),
        }
    }
    Ok(())
}

/// For `gsub` with a function or table: the spans (from, to, …) and the captures of every match.
fn every_match(lua: &Lua, watch: &Watch, args: &[Value]) -> mlua::Result<(Table, Table, i64)> {
    raise::with_string(lua, args, 1, |text| {
        let (spans, found) = (lua.create_table()?, lua.create_table()?);
        let mut next = 1;
        let count = walk(lua, watch, args, text, |span, captures| {
            let first = if captures.len() > 1 {
                let mut values = Vec::new();
                push_captures(lua, &mut values, text, captures, span, true)?;
                Value::Table(lua.create_sequence_from(values)?)
            } else {
                capture(lua, text, captures, 0, span)?
            };
            found.raw_set(next, first)?;
            spans.raw_set(2 * next - 1, span.0)?;
            spans.raw_set(2 * next, span.1)?;
            next += 1;
            Ok(())
        })?;
        Ok((spans, found, count))
    })
}

/// The end of that `gsub`: text, spans, values (a string or number, or false to keep the match), count.
fn splice(lua: &Lua, watch: &Watch, args: &[Value]) -> mlua::Result<BString> {
    raise::with_string(lua, args, 1, |text| {
        let (Some(Value::Table(spans)), Some(Value::Table(values))) = (args.get(1), args.get(2))
        else {
            return Err(raise::bare("the prelude passes two tables"));
        };
        let mut out: Vec<u8> = Vec::with_capacity(text.len());
        let mut copied = 0;
        for index in 1..=raise::check_integer(lua, args, 4)? {
            let value: Value = values.raw_get(index)?;
            if matches!(value, Value::Boolean(_) | Value::Nil) {
                continue;
            }
            let (start, end): (usize, usize) =
                (spans.raw_get(2 * index - 1)?, spans.raw_get(2 * index)?);
            out.extend_from_slice(text.get(copied..start).unwrap_or_default());
            raise::with_string(lua, &[value], 1, |part| {
                out.extend_from_slice(part);
                Ok(())
            })?;
            copied = end;
            watch.room(out.len())?;
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
        Ok(out.into())
    })
}

fn repeat(lua: &Lua, watch: &Watch, args: &[Value]) -> mlua::Result<BString> {
    raise::with_string(lua, args, 1, |text| {
        #[expect(clippy::cast_possible_truncation, reason = "the reference keeps an int")]
        let count = raise::check_integer(lua, args, 2)? as i32;
        let count = usize::try_from(count).unwrap_or(0);
        watch.room(text.len().saturating_mul(count))?;
        Ok(text.repeat(count).into())
    })
}
