//! Union, intersection and difference of sorted sets and sets.

use hashbrown::HashMap;

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::set::counted_keys;
use crate::commands::table::Run::{self, Plain};
use crate::commands::zset::range::store;
use crate::core::Core;
use crate::data::{Limits, Set, Text, Value, Zset, num};
use crate::error::{Outcome, ReplyError, SYNTAX, WRONG_TYPE};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("zunion", Plain(|cx, argv| answer(cx, argv, Op::Union))),
    ("zinter", Plain(|cx, argv| answer(cx, argv, Op::Inter))),
    ("zdiff", Plain(|cx, argv| answer(cx, argv, Op::Diff))),
    ("zunionstore", Plain(|cx, argv| keep(cx, argv, Op::Union, "zunionstore"))),
    ("zinterstore", Plain(|cx, argv| keep(cx, argv, Op::Inter, "zinterstore"))),
    ("zdiffstore", Plain(|cx, argv| keep(cx, argv, Op::Diff, "zdiffstore"))),
    ("zintercard", Plain(zintercard)),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Union,
    Inter,
    Diff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn join(self, a: f64, b: f64) -> f64 {
        match self {
            Aggregate::Sum => {
                // Infinities of both signs cancel out.
                let sum = a + b;
                if sum.is_nan() { 0.0 } else { sum }
            }
            Aggregate::Min => a.min(b),
            Aggregate::Max => a.max(b),
        }
    }
}

struct CombineArgs<'a> {
    keys: &'a [&'a [u8]],
    weights: Vec<f64>,
    aggregate: Aggregate,
    with_scores: bool,
}

/// From the number of keys on. Types are looked at before options, as Redis does.
fn parse<'a>(
    core: &mut Core,
    args: &'a [&'a [u8]],
    op: Op,
    storing: bool,
    command: &str,
) -> Result<CombineArgs<'a>, ReplyError> {
    let n = int(args[0])?;
    let Some(n) = usize::try_from(n).ok().filter(|n| *n > 0) else {
        return Err(ReplyError::new(format!(
            "ERR at least 1 input key is needed for '{command}' command"
        )));
    };
    let keys = args[1..].get(..n).ok_or(SYNTAX)?;
    sources(core, keys)?;
    let mut asked =
        CombineArgs { keys, weights: vec![1.0; n], aggregate: Aggregate::Sum, with_scores: false };
    let mut rest = &args[1 + n..];
    while let [word, tail @ ..] = rest {
        if op != Op::Diff && is(word, "WEIGHTS") && tail.len() >= n {
            for (weight, arg) in asked.weights.iter_mut().zip(tail) {
                let value = num::parse_f64(arg);
                *weight = value.ok_or(ReplyError::fixed("ERR weight value is not a float"))?;
            }
            rest = &tail[n..];
        } else if op != Op::Diff
            && is(word, "AGGREGATE")
            && let [how, tail @ ..] = tail
        {
            asked.aggregate = match () {
                () if is(how, "SUM") => Aggregate::Sum,
                () if is(how, "MIN") => Aggregate::Min,
                () if is(how, "MAX") => Aggregate::Max,
                () => return Err(SYNTAX),
            };
            rest = tail;
        } else if !storing && is(word, "WITHSCORES") {
            asked.with_scores = true;
            rest = tail;
        } else {
            return Err(SYNTAX);
        }
    }
    Ok(asked)
}

/// A sorted set, or a set whose members all have score 1.
#[derive(Clone, Copy)]
enum CombineSource<'a> {
    Empty,
    Zset(&'a Zset),
    Set(&'a Set),
}

impl CombineSource<'_> {
    fn len(self) -> usize {
        match self {
            CombineSource::Empty => 0,
            CombineSource::Zset(zset) => zset.len(),
            CombineSource::Set(set) => set.len(),
        }
    }

    fn score(self, member: &[u8]) -> Option<f64> {
        match self {
            CombineSource::Empty => None,
            CombineSource::Zset(zset) => zset.score(member),
            CombineSource::Set(set) => set.contains(member).then_some(1.0),
        }
    }

    fn each(self, mut visit: impl FnMut(&[u8], f64)) {
        match self {
            CombineSource::Empty => {}
            CombineSource::Zset(zset) => {
                zset.iter().for_each(|(member, score)| visit(member, score));
            }
            CombineSource::Set(set) => set.iter().for_each(|member| visit(&member.to_text(), 1.0)),
        }
    }
}

fn sources<'a>(core: &'a mut Core, keys: &[&[u8]]) -> Result<Vec<CombineSource<'a>>, ReplyError> {
    for key in keys {
        core.read(key);
    }
    let db = &core.dbs[core.db].keys;
    keys.iter()
        .map(|key| match db.get(key) {
            None => Ok(CombineSource::Empty),
            Some(Value::Zset(zset)) => Ok(CombineSource::Zset(zset)),
            Some(Value::Set(set)) => Ok(CombineSource::Set(set)),
            Some(_) => Err(WRONG_TYPE),
        })
        .collect()
}

fn weighted(score: f64, weight: f64) -> f64 {
    let product = score * weight;
    if product.is_nan() { 0.0 } else { product }
}

/// In the large form: the small one drops the sign of zero, which a result keeps that is only shown or is large in
/// the end.
fn combine(core: &mut Core, asked: &CombineArgs<'_>, op: Op) -> Result<Zset, ReplyError> {
    let limits = Limits { zset_max_listpack_entries: 0, ..core.config.limits };
    let sources = sources(core, asked.keys)?;
    let mut result = Zset::new();
    let mut inputs: Vec<(CombineSource<'_>, f64)> =
        sources.into_iter().zip(asked.weights.iter().copied()).collect();
    match op {
        Op::Union => {
            let mut sums: HashMap<Text, f64> = HashMap::new();
            for (source, weight) in &inputs {
                source.each(|member, score| {
                    let score = weighted(score, *weight);
                    sums.entry(Text::new(member))
                        .and_modify(|sum| *sum = asked.aggregate.join(*sum, score))
                        .or_insert(score);
                });
            }
            for (member, score) in &sums {
                result.insert(member, *score, &limits);
            }
        }
        Op::Inter => {
            inputs.sort_by_key(|(source, _)| source.len());
            let ((first, weight), others) = inputs.split_first().expect("a command names a key");
            first.each(|member, score| {
                let mut sum = weighted(score, *weight);
                for (other, weight) in others {
                    let Some(score) = other.score(member) else { return };
                    sum = asked.aggregate.join(sum, weighted(score, *weight));
                }
                result.insert(member, sum, &limits);
            });
        }
        Op::Diff => {
            let ((first, _), others) = inputs.split_first().expect("a command names a key");
            first.each(|member, score| {
                if !others.iter().any(|(other, _)| other.score(member).is_some()) {
                    result.insert(member, score, &limits);
                }
            });
        }
    }
    Ok(result)
}

fn answer(cx: &mut Ctx<'_>, argv: &[&[u8]], op: Op) -> Outcome {
    let asked = parse(cx.core, &argv[1..], op, false, cx.spec.full_name)?;
    let result = combine(cx.core, &asked, op)?;
    let pairs: Vec<(&[u8], f64)> = result.iter().collect();
    cx.out.scored(&pairs, asked.with_scores);
    Ok(())
}

fn keep(cx: &mut Ctx<'_>, argv: &[&[u8]], op: Op, event: &str) -> Outcome {
    let asked = parse(cx.core, &argv[2..], op, true, cx.spec.full_name)?;
    let result = combine(cx.core, &asked, op)?.shrunk(&cx.core.config.limits);
    let n = result.len();
    store(cx.core, argv[1], result, event);
    cx.out.len(n);
    Ok(())
}

fn zintercard(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    int(argv[1])?;
    let few = ReplyError::fixed("ERR at least 1 input key is needed for 'zintercard' command");
    let (keys, limit) = counted_keys(argv, &few, &SYNTAX)?;
    let mut sources = sources(cx.core, keys)?;
    sources.sort_by_key(|source| source.len());
    let (first, others) = sources.split_first().expect("a command names a key");
    let mut n = 0;
    first.each(|member, _| {
        if n < limit && others.iter().all(|other| other.score(member).is_some()) {
            n += 1;
        }
    });
    cx.out.len(n);
    Ok(())
}
