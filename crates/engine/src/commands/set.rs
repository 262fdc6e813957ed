//! Sets.

use crate::commands::ctx::{Ctx, int, is, positive};
use crate::commands::random;
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::notify::class;
use crate::data::{Limits, Set, Text, Value};
use crate::error::{Outcome, ReplyError, SYNTAX, WRONG_TYPE};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("sadd", Plain(sadd)),
    ("srem", Plain(srem)),
    ("smove", Plain(smove)),
    ("sismember", Plain(sismember)),
    ("smismember", Plain(smismember)),
    ("scard", Plain(scard)),
    ("smembers", Plain(|cx, argv| combine(cx, &argv[1..2], Op::Union))),
    ("spop", Plain(spop)),
    ("srandmember", Plain(srandmember)),
    ("sinter", Plain(|cx, argv| combine(cx, &argv[1..], Op::Inter))),
    ("sunion", Plain(|cx, argv| combine(cx, &argv[1..], Op::Union))),
    ("sdiff", Plain(|cx, argv| combine(cx, &argv[1..], Op::Diff))),
    ("sinterstore", Plain(|cx, argv| combine_store(cx, argv, Op::Inter, "sinterstore"))),
    ("sunionstore", Plain(|cx, argv| combine_store(cx, argv, Op::Union, "sunionstore"))),
    ("sdiffstore", Plain(|cx, argv| combine_store(cx, argv, Op::Diff, "sdiffstore"))),
    ("sintercard", Plain(sintercard)),
];

fn sadd(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let limits = cx.core.config.limits;
    let set = cx.core.set_or_new(key)?;
    let added = argv[2..].iter().filter(|member| set.add(member, &limits)).count();
    if added > 0 {
        cx.core.changed(class::SET, "sadd", key);
    }
    cx.out.len(added);
    Ok(())
}

fn srem(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let gone = match cx.core.set_mut(key)? {
        None => 0,
        Some(set) => argv[2..].iter().filter(|member| set.remove(member)).count(),
    };
    if gone > 0 {
        cx.core.changed(class::SET, "srem", key);
        cx.core.remove_if_empty(key);
    }
    cx.out.len(gone);
    Ok(())
}

fn smove(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (from, to, member) = (argv[1], argv[2], argv[3]);
    let limits = cx.core.config.limits;
    let there = cx.core.set(from)?.map(|set| set.contains(member));
    if there.is_none() {
        cx.out.flag(false);
        return Ok(());
    }
    cx.core.set(to)?;
    if from == to || there == Some(false) {
        cx.out.flag(there == Some(true));
        return Ok(());
    }
    if let Some(set) = cx.core.set_mut(from)? {
        set.remove(member);
    }
    cx.core.changed(class::SET, "srem", from);
    cx.core.remove_if_empty(from);
    let added = cx.core.set_or_new(to)?.add(member, &limits);
    if added {
        cx.core.changed(class::SET, "sadd", to);
    }
    cx.out.flag(true);
    Ok(())
}

fn sismember(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let there = cx.core.set(argv[1])?.is_some_and(|set| set.contains(argv[2]));
    cx.out.flag(there);
    Ok(())
}

fn smismember(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let set = cx.core.set(argv[1])?;
    cx.out.array(argv.len() - 2);
    for member in &argv[2..] {
        cx.out.flag(set.is_some_and(|set| set.contains(member)));
    }
    Ok(())
}

fn scard(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let len = cx.core.set(argv[1])?.map_or(0, Set::len);
    cx.out.len(len);
    Ok(())
}

fn spop(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if argv.len() > 3 {
        return Err(SYNTAX);
    }
    let key = argv[1];
    let count = match argv.get(2) {
        None => None,
        Some(arg) => Some(positive(arg)?),
    };
    if cx.core.set_mut(key)?.is_none() {
        if count.is_some() {
            cx.out.set(0);
        } else {
            cx.out.null();
        }
        return Ok(());
    }
    let popped = pop_members(cx.core, key, count.unwrap_or(1));
    if count.is_none() {
        cx.out.bulk_opt(popped.first().map(Text::as_bytes));
    } else {
        cx.out.set(popped.len());
        for member in &popped {
            cx.out.bulk(member);
        }
    }
    if popped.is_empty() {
        return Ok(());
    }
    cx.core.changed(class::SET, "spop", key);
    if cx.core.remove_if_empty(key) {
        cx.core.log_as(&[&[b"DEL", key]]);
        return Ok(());
    }
    // The log must not draw lots again: it names who left, a bounded number a line.
    cx.core.log_as(&[]);
    for some in popped.chunks(1024) {
        let mut argv: Vec<&[u8]> = vec![b"SREM", key];
        argv.extend(some.iter().map(Text::as_bytes));
        cx.core.pending_push(&argv);
    }
    Ok(())
}

fn pop_members(core: &mut Core, key: &[u8], count: usize) -> Vec<Text> {
    let Core { dbs, db, rng, .. } = core;
    let Some(Value::Set(set)) = dbs[*db].keys.get_mut(key) else { return Vec::new() };
    std::iter::from_fn(|| set.pop(rng)).take(count).collect()
}

fn srandmember(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if argv.len() > 3 {
        return Err(SYNTAX);
    }
    let count = argv.get(2).map(|arg| random::count(arg, false)).transpose()?;
    let (set, rng) = match cx.core.value_and_rng(argv[1]) {
        (None, _) => {
            random::none(cx.out, count);
            return Ok(());
        }
        (Some(Value::Set(set)), rng) => (set, rng),
        _ => return Err(WRONG_TYPE),
    };
    let Some(count) = count else {
        cx.out.bulk_opt(set.random(rng).map(|member| member.to_text()).as_deref());
        return Ok(());
    };
    let members = random::choose(set.len(), count, rng, || set.iter(), |rng| set.random(rng));
    cx.out.array(members.len());
    for member in members {
        cx.out.bulk(&member.to_text());
    }
    Ok(())
}

/// How sets are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Union,
    Inter,
    Diff,
}

/// The members of a combination, in no order; at most `limit`.
fn members(core: &mut Core, keys: &[&[u8]], op: Op, limit: usize) -> Result<Vec<Text>, ReplyError> {
    for key in keys {
        core.set(key)?;
    }
    let db = &core.dbs[core.db].keys;
    let sets: Vec<Option<&Set>> = keys
        .iter()
        .map(|key| match db.get(key) {
            Some(Value::Set(set)) => Some(&**set),
            _ => None,
        })
        .collect();
    Ok(match op {
        Op::Inter => {
            let Some(mut sets) = sets.into_iter().collect::<Option<Vec<&Set>>>() else {
                return Ok(Vec::new());
            };
            sets.sort_by_key(|set| set.len());
            let (first, others) = sets.split_first().expect("a command names a key");
            let first = first.iter().map(|member| member.to_text());
            first
                .filter(|member| others.iter().all(|set| set.contains(member)))
                .take(limit)
                .collect()
        }
        Op::Diff => {
            let (first, others) = sets.split_first().expect("a command names a key");
            let first = first.iter().flat_map(|set| set.iter()).map(|member| member.to_text());
            first
                .filter(|member| !others.iter().flatten().any(|set| set.contains(member)))
                .collect()
        }
        Op::Union if sets.len() == 1 => {
            sets[0].iter().flat_map(|set| set.iter()).map(|member| member.to_text()).collect()
        }
        Op::Union => {
            let mut all = Set::new();
            let limits = Limits::default();
            for member in sets.iter().flatten().flat_map(|set| set.iter()) {
                all.add(&member.to_text(), &limits);
            }
            all.iter().map(|member| member.to_text()).collect()
        }
    })
}

fn combine(cx: &mut Ctx<'_>, keys: &[&[u8]], op: Op) -> Outcome {
    let members = members(cx.core, keys, op, usize::MAX)?;
    cx.out.set(members.len());
    for member in &members {
        cx.out.bulk(member);
    }
    Ok(())
}

fn combine_store(cx: &mut Ctx<'_>, argv: &[&[u8]], op: Op, event: &str) -> Outcome {
    let target = argv[1];
    let members = members(cx.core, &argv[2..], op, usize::MAX)?;
    if members.is_empty() {
        if cx.core.remove(target).is_some() {
            cx.core.changed(class::GENERIC, "del", target);
        }
    } else {
        let limits = cx.core.config.limits;
        let mut set = Set::new();
        for member in &members {
            set.add(member, &limits);
        }
        cx.core.remove(target);
        cx.core.put(target, Value::Set(Box::new(set)));
        cx.core.changed(class::SET, event, target);
    }
    cx.out.len(members.len());
    Ok(())
}

fn sintercard(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let few = ReplyError::fixed("ERR numkeys should be greater than 0");
    let many = ReplyError::fixed("ERR Number of keys can't be greater than number of args");
    let (keys, limit) = counted_keys(argv, &few, &many)?;
    let n = members(cx.core, keys, Op::Inter, limit)?.len();
    cx.out.len(n);
    Ok(())
}

/// `numkeys key … [LIMIT n]`, shared with `ZINTERCARD`, which has other words for too few or too many keys.
pub(crate) fn counted_keys<'a>(
    argv: &'a [&'a [u8]],
    few: &ReplyError,
    many: &ReplyError,
) -> Result<(&'a [&'a [u8]], usize), ReplyError> {
    let n = usize::try_from(int(argv[1]).unwrap_or(0)).unwrap_or(0);
    if n == 0 {
        return Err(few.clone());
    }
    let keys = argv[2..].get(..n).ok_or_else(|| many.clone())?;
    let mut limit = usize::MAX;
    let mut rest = &argv[2 + n..];
    while let [word, value, tail @ ..] = rest {
        if !is(word, "LIMIT") {
            return Err(SYNTAX);
        }
        limit = match usize::try_from(int(value).unwrap_or(-1)) {
            Ok(0) => usize::MAX,
            Ok(n) => n,
            Err(_) => return Err(ReplyError::fixed("ERR LIMIT can't be negative")),
        };
        rest = tail;
    }
    if rest.is_empty() { Ok((keys, limit)) } else { Err(SYNTAX) }
}
