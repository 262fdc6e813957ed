//! Ranges of sorted sets, by rank, score and name: read, count, store, remove. Every range is first turned into
//! ranks; the rest is the same for all.

use std::ops::Range;

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::notify::class;
use crate::data::zset::{LexBound, ScoreBound};
use crate::data::{Value, Zset, num};
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("zrange", Plain(|cx, argv| read(cx, argv[1], &parse(argv, 2, None, false)?))),
    ("zrevrange", Plain(|cx, argv| read(cx, argv[1], &parse(argv, 2, Some(By::Rank), true)?))),
    (
        "zrangebyscore",
        Plain(|cx, argv| read(cx, argv[1], &parse(argv, 2, Some(By::Score), false)?)),
    ),
    (
        "zrevrangebyscore",
        Plain(|cx, argv| read(cx, argv[1], &parse(argv, 2, Some(By::Score), true)?)),
    ),
    ("zrangebylex", Plain(|cx, argv| read(cx, argv[1], &parse(argv, 2, Some(By::Lex), false)?))),
    ("zrevrangebylex", Plain(|cx, argv| read(cx, argv[1], &parse(argv, 2, Some(By::Lex), true)?))),
    ("zrangestore", Plain(zrangestore)),
    ("zcount", Plain(|cx, argv| count(cx, argv, By::Score))),
    ("zlexcount", Plain(|cx, argv| count(cx, argv, By::Lex))),
    ("zremrangebyrank", Plain(|cx, argv| remove(cx, argv, By::Rank, "zremrangebyrank"))),
    ("zremrangebyscore", Plain(|cx, argv| remove(cx, argv, By::Score, "zremrangebyscore"))),
    ("zremrangebylex", Plain(|cx, argv| remove(cx, argv, By::Lex, "zremrangebylex"))),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Lex,
}

/// The two ends as given, checked.
enum Ends<'a> {
    Ranks(i64, i64),
    Scores(ScoreBound, ScoreBound),
    Names(LexBound<'a>, LexBound<'a>),
}

struct RangeArgs<'a> {
    ends: Ends<'a>,
    reverse: bool,
    with_scores: bool,
    offset: i64,
    limit: i64,
}

fn score_bound(arg: &[u8]) -> Result<ScoreBound, ReplyError> {
    let (exclusive, text) = match arg.strip_prefix(b"(") {
        Some(text) => (true, text),
        None => (false, arg),
    };
    let value = num::parse_f64(text).ok_or(ReplyError::fixed("ERR min or max is not a float"))?;
    Ok(ScoreBound { value, exclusive })
}

fn lex_bound(arg: &[u8]) -> Result<LexBound<'_>, ReplyError> {
    match arg {
        b"-" => Ok(LexBound::Lowest),
        b"+" => Ok(LexBound::Highest),
        [b'[', member @ ..] => Ok(LexBound::Inclusive(member)),
        [b'(', member @ ..] => Ok(LexBound::Exclusive(member)),
        _ => Err(ReplyError::fixed("ERR min or max not valid string range item")),
    }
}

fn ends<'a>(by: By, min: &'a [u8], max: &'a [u8]) -> Result<Ends<'a>, ReplyError> {
    Ok(match by {
        By::Rank => Ends::Ranks(int(min)?, int(max)?),
        By::Score => Ends::Scores(score_bound(min)?, score_bound(max)?),
        By::Lex => Ends::Names(lex_bound(min)?, lex_bound(max)?),
    })
}

/// Options from `argv[at]` on: two ends, then words. `by` is fixed by the older commands.
fn parse<'a>(
    argv: &'a [&'a [u8]],
    at: usize,
    fixed: Option<By>,
    reverse: bool,
) -> Result<RangeArgs<'a>, ReplyError> {
    let mut by = fixed.unwrap_or(By::Rank);
    let (mut reverse, mut with_scores, mut limited) = (reverse, false, false);
    let (mut offset, mut limit) = (0, -1);
    let mut rest = &argv[at + 2..];
    while let [word, tail @ ..] = rest {
        rest = tail;
        if is(word, "WITHSCORES") {
            with_scores = true;
        } else if is(word, "LIMIT")
            && let [first, second, tail @ ..] = rest
        {
            (offset, limit, limited) = (int(first)?, int(second)?, true);
            rest = tail;
        } else if fixed.is_none() && is(word, "REV") {
            reverse = true;
        } else if fixed.is_none() && is(word, "BYSCORE") && by != By::Lex {
            by = By::Score;
        } else if fixed.is_none() && is(word, "BYLEX") && by != By::Score {
            by = By::Lex;
        } else {
            return Err(SYNTAX);
        }
    }
    if limited && limit != -1 && by == By::Rank {
        return Err(ReplyError::fixed(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    if with_scores && by == By::Lex {
        return Err(ReplyError::fixed(
            "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
        ));
    }
    let (min, max) = match (reverse, by) {
        (true, By::Score | By::Lex) => (argv[at + 1], argv[at]),
        _ => (argv[at], argv[at + 1]),
    };
    Ok(RangeArgs { ends: ends(by, min, max)?, reverse, with_scores, offset, limit })
}

/// Ranks with negative positions, from the lowest.
fn rank_range(start: i64, end: i64, len: usize) -> Range<usize> {
    crate::commands::string::clip(start, end, len).map_or(0..0, |(from, to)| from..to)
}

fn ranks(zset: &Zset, ends: &Ends<'_>) -> Range<usize> {
    match ends {
        Ends::Ranks(start, end) => rank_range(*start, *end, zset.len()),
        Ends::Scores(min, max) => zset.score_range(*min, *max),
        Ends::Names(min, max) => zset.lex_range(*min, *max),
    }
}

/// The members asked for, in order.
fn select<'z>(zset: &'z Zset, asked: &RangeArgs<'_>) -> Vec<(&'z [u8], f64)> {
    let mut range = match asked.ends {
        Ends::Ranks(start, end) if asked.reverse => {
            let range = rank_range(start, end, zset.len());
            zset.len() - range.end..zset.len() - range.start
        }
        _ => ranks(zset, &asked.ends),
    };
    let Ok(offset) = usize::try_from(asked.offset) else { return Vec::new() };
    let limit = usize::try_from(asked.limit).unwrap_or(usize::MAX);
    let wanted = range.len().saturating_sub(offset).min(limit);
    if asked.reverse {
        range.end = range.end.saturating_sub(offset);
        zset.range_rev(range.end.saturating_sub(wanted)..range.end).take(wanted).collect()
    } else {
        range.start = range.start.saturating_add(offset);
        zset.range(range.start..range.start.saturating_add(wanted)).take(wanted).collect()
    }
}

fn read(cx: &mut Ctx<'_>, key: &[u8], asked: &RangeArgs<'_>) -> Outcome {
    match cx.core.zset(key)? {
        None => cx.out.array(0),
        Some(zset) => cx.out.scored(&select(zset, asked), asked.with_scores),
    }
    Ok(())
}

fn zrangestore(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let asked = parse(argv, 3, None, false)?;
    if asked.with_scores {
        return Err(SYNTAX);
    }
    let limits = cx.core.config.limits;
    let mut stored = Zset::new();
    if let Some(zset) = cx.core.zset(argv[2])? {
        for (member, score) in select(zset, &asked) {
            stored.insert(member, score, &limits);
        }
    }
    let n = stored.len();
    store(cx.core, argv[1], stored, "zrangestore");
    cx.out.len(n);
    Ok(())
}

/// Puts a result in place of what a key held; an empty one deletes it.
pub(crate) fn store(core: &mut Core, key: &[u8], zset: Zset, event: &str) {
    let existed = core.remove(key).is_some();
    if !zset.is_empty() {
        core.put(key, Value::Zset(Box::new(zset)));
        core.changed(class::ZSET, event, key);
    } else if existed {
        core.changed(class::GENERIC, "del", key);
    }
}

fn count(cx: &mut Ctx<'_>, argv: &[&[u8]], by: By) -> Outcome {
    let ends = ends(by, argv[2], argv[3])?;
    let n = cx.core.zset(argv[1])?.map_or(0, |zset| ranks(zset, &ends).len());
    cx.out.len(n);
    Ok(())
}

fn remove(cx: &mut Ctx<'_>, argv: &[&[u8]], by: By, event: &str) -> Outcome {
    let key = argv[1];
    let ends = ends(by, argv[2], argv[3])?;
    let gone = match cx.core.zset_mut(key)? {
        None => 0,
        Some(zset) => {
            let range = ranks(zset, &ends);
            zset.remove_range(range)
        }
    };
    if gone > 0 {
        cx.core.changed(class::ZSET, event, key);
        cx.core.remove_if_empty(key);
    }
    cx.out.len(gone);
    Ok(())
}
