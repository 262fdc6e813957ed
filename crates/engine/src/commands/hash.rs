//! Hashes.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::random;
use crate::commands::string::add_floats;
use crate::commands::table::Run::{self, Plain};
use crate::core::notify::class;
use crate::data::{Hash, Value, num};
use crate::error::{NOT_INT, Outcome, ReplyError, SYNTAX, WRONG_TYPE};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("hset", Plain(hset)),
    ("hmset", Plain(hmset)),
    ("hsetnx", Plain(hsetnx)),
    ("hget", Plain(hget)),
    ("hmget", Plain(hmget)),
    ("hgetall", Plain(|cx, argv| all(cx, argv[1], true, true))),
    ("hkeys", Plain(|cx, argv| all(cx, argv[1], true, false))),
    ("hvals", Plain(|cx, argv| all(cx, argv[1], false, true))),
    ("hdel", Plain(hdel)),
    ("hexists", Plain(hexists)),
    ("hlen", Plain(hlen)),
    ("hstrlen", Plain(hstrlen)),
    ("hincrby", Plain(hincrby)),
    ("hincrbyfloat", Plain(hincrbyfloat)),
    ("hrandfield", Plain(hrandfield)),
];

/// Sets pairs of field and value; gives how many fields are new.
fn set_pairs(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Result<usize, ReplyError> {
    if !argv.len().is_multiple_of(2) {
        return Err(ReplyError::arity(cx.spec.full_name));
    }
    let key = argv[1];
    let limits = cx.core.config.limits;
    let hash = cx.core.hash_or_new(key)?;
    let mut added = 0;
    for pair in argv[2..].chunks_exact(2) {
        added += usize::from(hash.set(pair[0], pair[1], &limits));
    }
    cx.core.changed(class::HASH, "hset", key);
    Ok(added)
}

fn hset(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let added = set_pairs(cx, argv)?;
    cx.out.len(added);
    Ok(())
}

fn hmset(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    set_pairs(cx, argv)?;
    cx.out.ok();
    Ok(())
}

fn hsetnx(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let limits = cx.core.config.limits;
    let hash = cx.core.hash_or_new(argv[1])?;
    let new = !hash.contains(argv[2]);
    if new {
        hash.set(argv[2], argv[3], &limits);
        cx.core.changed(class::HASH, "hset", argv[1]);
    }
    cx.out.flag(new);
    Ok(())
}

fn hget(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let value = cx.core.hash(argv[1])?.and_then(|hash| hash.get(argv[2]));
    cx.out.bulk_opt(value);
    Ok(())
}

fn hmget(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let hash = cx.core.hash(argv[1])?;
    cx.out.array(argv.len() - 2);
    for field in &argv[2..] {
        cx.out.bulk_opt(hash.and_then(|hash| hash.get(field)));
    }
    Ok(())
}

fn all(cx: &mut Ctx<'_>, key: &[u8], fields: bool, values: bool) -> Outcome {
    let hash = cx.core.hash(key)?;
    let len = hash.map_or(0, Hash::len);
    if fields && values {
        cx.out.map(len);
    } else {
        cx.out.array(len);
    }
    for (field, value) in hash.into_iter().flat_map(Hash::iter) {
        if fields {
            cx.out.bulk(field);
        }
        if values {
            cx.out.bulk(value);
        }
    }
    Ok(())
}

fn hdel(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let Some(hash) = cx.core.hash_mut(key)? else {
        cx.out.len(0);
        return Ok(());
    };
    let gone = argv[2..].iter().filter(|field| hash.remove(field)).count();
    if gone > 0 {
        cx.core.changed(class::HASH, "hdel", key);
        cx.core.remove_if_empty(key);
    }
    cx.out.len(gone);
    Ok(())
}

fn hexists(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let there = cx.core.hash(argv[1])?.is_some_and(|hash| hash.contains(argv[2]));
    cx.out.flag(there);
    Ok(())
}

fn hlen(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let len = cx.core.hash(argv[1])?.map_or(0, Hash::len);
    cx.out.len(len);
    Ok(())
}

fn hstrlen(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let value = cx.core.hash(argv[1])?.and_then(|hash| hash.get(argv[2]));
    cx.out.len(value.map_or(0, <[u8]>::len));
    Ok(())
}

fn hincrby(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (key, field) = (argv[1], argv[2]);
    let by = int(argv[3]).map_err(|_| NOT_INT)?;
    let limits = cx.core.config.limits;
    let old = match cx.core.hash_mut(key)?.and_then(|hash| hash.get(field)) {
        None => 0,
        Some(text) => {
            num::parse_i64(text).ok_or(ReplyError::fixed("ERR hash value is not an integer"))?
        }
    };
    let sum = old
        .checked_add(by)
        .ok_or(ReplyError::fixed("ERR increment or decrement would overflow"))?;
    let mut digits = itoa::Buffer::new();
    cx.core.hash_or_new(key)?.set(field, digits.format(sum).as_bytes(), &limits);
    cx.core.changed(class::HASH, "hincrby", key);
    cx.out.int(sum);
    Ok(())
}

fn hincrbyfloat(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (key, field) = (argv[1], argv[2]);
    let by = num::parse_long_double(argv[3]).ok_or(crate::error::NOT_FLOAT)?;
    if by.is_infinite() {
        return Err(ReplyError::fixed("ERR value is NaN or Infinity"));
    }
    let limits = cx.core.config.limits;
    let hash = cx.core.hash_mut(key)?;
    let old = hash.and_then(|hash| hash.get(field)).unwrap_or(b"0");
    if num::parse_long_double(old).is_none() {
        return Err(ReplyError::fixed("ERR hash value is not a float"));
    }
    let sum = add_floats(old, argv[3])?;
    cx.core.hash_or_new(key)?.set(field, &sum, &limits);
    cx.core.changed(class::HASH, "hincrbyfloat", key);
    cx.core.log_as(&[&[b"HSET", key, field, &sum]]);
    cx.out.bulk(&sum);
    Ok(())
}

fn hrandfield(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let Some(count) = argv.get(2) else {
        match cx.core.value_and_rng(argv[1]) {
            (None, _) => cx.out.null(),
            (Some(Value::Hash(hash)), rng) => {
                cx.out.bulk_opt(hash.random(rng).map(|(field, _)| field));
            }
            _ => return Err(WRONG_TYPE),
        }
        return Ok(());
    };
    int(count)?;
    let raw_count = count;
    let with_values = match argv.get(3) {
        None => false,
        Some(word) if is(word, "WITHVALUES") && argv.len() == 4 => true,
        Some(_) => return Err(SYNTAX),
    };
    let count = random::count(raw_count, with_values)?;
    let (hash, rng) = match cx.core.value_and_rng(argv[1]) {
        (None, _) => {
            cx.out.array(0);
            return Ok(());
        }
        (Some(Value::Hash(hash)), rng) => (hash, rng),
        _ => return Err(WRONG_TYPE),
    };
    let pairs: Vec<(&[u8], &[u8])> =
        random::choose(hash.len(), count, rng, || hash.iter(), |rng| hash.random(rng));
    let nested = cx.out.resp3 && with_values;
    cx.out.array(if with_values && !nested { pairs.len() * 2 } else { pairs.len() });
    for (field, value) in pairs {
        if nested {
            cx.out.array(2);
        }
        cx.out.bulk(field);
        if with_values {
            cx.out.bulk(value);
        }
    }
    Ok(())
}
