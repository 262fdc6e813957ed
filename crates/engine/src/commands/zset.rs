//! Sorted sets: members, scores, ranks, random members. Ranges are in `range`, combinations in
//! `ops`, pops in `pop`.

pub(crate) mod ops;
pub(crate) mod pop;
pub(crate) mod range;

use crate::commands::ctx::{Ctx, float, int, is};
use crate::commands::random;
use crate::commands::table::Run::{self, Plain};
use crate::core::notify::class;
use crate::data::zset::Outcome as Insert;
use crate::data::{Value, Zset};
use crate::error::{Outcome, ReplyError, SYNTAX, WRONG_TYPE};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("zadd", Plain(zadd)),
    ("zincrby", Plain(zincrby)),
    ("zrem", Plain(zrem)),
    ("zscore", Plain(zscore)),
    ("zmscore", Plain(zmscore)),
    ("zcard", Plain(zcard)),
    ("zrank", Plain(|cx, argv| rank(cx, argv, false))),
    ("zrevrank", Plain(|cx, argv| rank(cx, argv, true))),
    ("zrandmember", Plain(zrandmember)),
];

#[derive(Debug, Default, Clone, Copy)]
struct How {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
    ch: bool,
    incr: bool,
}

fn how<'a>(args: &'a [&'a [u8]]) -> Result<(How, &'a [&'a [u8]]), ReplyError> {
    let mut how = How::default();
    let mut rest = args;
    while let [word, tail @ ..] = rest {
        let known = [
            ("NX", &mut how.nx),
            ("XX", &mut how.xx),
            ("GT", &mut how.gt),
            ("LT", &mut how.lt),
            ("CH", &mut how.ch),
            ("INCR", &mut how.incr),
        ];
        match known.into_iter().find(|(known, _)| is(word, known)) {
            Some((_, flag)) => *flag = true,
            None => break,
        }
        rest = tail;
    }
    if rest.is_empty() || !rest.len().is_multiple_of(2) {
        return Err(SYNTAX);
    }
    if how.nx && how.xx {
        return Err(ReplyError::fixed("ERR XX and NX options at the same time are not compatible"));
    }
    if (how.gt && how.lt) || (how.nx && (how.gt || how.lt)) {
        return Err(ReplyError::fixed(
            "ERR GT, LT, and/or NX options at the same time are not compatible",
        ));
    }
    if how.incr && rest.len() > 2 {
        return Err(ReplyError::fixed("ERR INCR option supports a single increment-element pair"));
    }
    Ok((how, rest))
}

/// The effect of one pair of `ZADD` on a member.
enum ScoreChange {
    /// A condition forbids it.
    Refused,
    Set(f64),
}

fn change(how: How, old: Option<f64>, score: f64) -> Result<ScoreChange, ReplyError> {
    let Some(old) = old else {
        return Ok(if how.xx { ScoreChange::Refused } else { ScoreChange::Set(score) });
    };
    if how.nx {
        return Ok(ScoreChange::Refused);
    }
    let new = if how.incr { old + score } else { score };
    if new.is_nan() {
        return Err(ReplyError::fixed("ERR resulting score is not a number (NaN)"));
    }
    let refused = (how.gt && new <= old) || (how.lt && new >= old);
    Ok(if refused { ScoreChange::Refused } else { ScoreChange::Set(new) })
}

pub(crate) fn zadd(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (how, pairs) = how(&argv[2..])?;
    add(cx, argv[1], how, pairs)
}

fn zincrby(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    add(cx, argv[1], How { incr: true, ..How::default() }, &argv[2..4])
}

fn add(cx: &mut Ctx<'_>, key: &[u8], how: How, pairs: &[&[u8]]) -> Outcome {
    let scores: Vec<f64> =
        pairs.iter().step_by(2).map(|score| float(score)).collect::<Result<_, _>>()?;
    let limits = cx.core.config.limits;
    if cx.core.zset_mut(key)?.is_none() && how.xx {
        if how.incr {
            cx.out.null();
        } else {
            cx.out.len(0);
        }
        return Ok(());
    }
    let zset = cx.core.zset_or_new(key)?;
    let (mut added, mut updated, mut result) = (0, 0, None);
    let mut failed = None;
    for (score, member) in scores.into_iter().zip(pairs.iter().skip(1).step_by(2)) {
        match change(how, zset.score(member), score) {
            Ok(ScoreChange::Refused) => {}
            Ok(ScoreChange::Set(score)) => {
                result = Some(score);
                match zset.insert(member, score, &limits) {
                    Insert::Added => added += 1,
                    Insert::Updated => updated += 1,
                    Insert::Same => {}
                }
            }
            Err(error) => failed = Some(error),
        }
    }
    if added + updated > 0 {
        cx.core.signal_ready(key);
        cx.core.changed(class::ZSET, if how.incr { "zincr" } else { "zadd" }, key);
    } else {
        cx.core.drop_if_empty(key);
    }
    if let Some(error) = failed {
        return Err(error);
    }
    match result {
        Some(score) if how.incr => cx.out.double(score),
        None if how.incr => cx.out.null(),
        _ => cx.out.len(if how.ch { added + updated } else { added }),
    }
    Ok(())
}

fn zrem(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let gone = match cx.core.zset_mut(key)? {
        None => 0,
        Some(zset) => argv[2..].iter().filter(|member| zset.remove(member).is_some()).count(),
    };
    if gone > 0 {
        cx.core.changed(class::ZSET, "zrem", key);
        cx.core.remove_if_empty(key);
    }
    cx.out.len(gone);
    Ok(())
}

fn zscore(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    match cx.core.zset(argv[1])?.and_then(|zset| zset.score(argv[2])) {
        Some(score) => cx.out.double(score),
        None => cx.out.null(),
    }
    Ok(())
}

fn zmscore(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let zset = cx.core.zset(argv[1])?;
    cx.out.array(argv.len() - 2);
    for member in &argv[2..] {
        match zset.and_then(|zset| zset.score(member)) {
            Some(score) => cx.out.double(score),
            None => cx.out.null(),
        }
    }
    Ok(())
}

fn zcard(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let len = cx.core.zset(argv[1])?.map_or(0, Zset::len);
    cx.out.len(len);
    Ok(())
}

fn rank(cx: &mut Ctx<'_>, argv: &[&[u8]], reverse: bool) -> Outcome {
    let zset = cx.core.zset(argv[1])?;
    let rank =
        zset.and_then(|zset| if reverse { zset.rank_rev(argv[2]) } else { zset.rank(argv[2]) });
    match rank {
        Some(rank) => cx.out.len(rank),
        None => cx.out.null(),
    }
    Ok(())
}

fn zrandmember(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if let Some(arg) = argv.get(2) {
        int(arg)?;
    }
    let with_scores = match argv.get(3) {
        None => false,
        Some(word) if is(word, "WITHSCORES") && argv.len() == 4 => true,
        Some(_) => return Err(SYNTAX),
    };
    let count = argv.get(2).map(|arg| random::count(arg, with_scores)).transpose()?;
    let (zset, rng) = match cx.core.value_and_rng(argv[1]) {
        (None, _) => {
            random::none(cx.out, count);
            return Ok(());
        }
        (Some(Value::Zset(zset)), rng) => (zset, rng),
        _ => return Err(WRONG_TYPE),
    };
    let Some(count) = count else {
        cx.out.bulk_opt(zset.random(rng).map(|(member, _)| member));
        return Ok(());
    };
    let pairs = random::choose(zset.len(), count, rng, || zset.iter(), |rng| zset.random(rng));
    cx.out.scored(&pairs, with_scores);
    Ok(())
}
