//! `SORT` and `SORT_RO`: lists, sets and sorted sets in order of their elements or of other keys' values.

use std::cmp::Ordering;

use memchr::{memchr, memmem};

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::notify::class;
use crate::data::num::parse_f64;
use crate::data::{List, Text, Value};
use crate::error::{Outcome, ReplyError, SYNTAX, WRONG_TYPE};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("sort", Plain(|cx, argv| sort(cx, argv, false))),
    ("sort_ro", Plain(|cx, argv| sort(cx, argv, true))),
];

struct SortArgs<'a> {
    down: bool,
    alpha: bool,
    limit: (i64, i64),
    by: Option<&'a [u8]>,
    get: Vec<&'a [u8]>,
    store: Option<&'a [u8]>,
    /// `BY` names no key: the order stays as it is.
    as_is: bool,
}

fn parse<'a>(cx: &Ctx<'_>, argv: &[&'a [u8]], read_only: bool) -> Result<SortArgs<'a>, ReplyError> {
    let mut wanted = SortArgs {
        down: false,
        alpha: false,
        limit: (0, -1),
        by: None,
        get: Vec::new(),
        store: None,
        as_is: false,
    };
    let mut rest = &argv[2..];
    while let Some((word, args)) = rest.split_first() {
        rest = args;
        if is(word, "ASC") {
            wanted.down = false;
        } else if is(word, "DESC") {
            wanted.down = true;
        } else if is(word, "ALPHA") {
            wanted.alpha = true;
        } else if is(word, "LIMIT") && args.len() >= 2 {
            wanted.limit = (int(args[0])?, int(args[1])?);
            rest = &args[2..];
        } else if !read_only && is(word, "STORE") && !args.is_empty() {
            wanted.store = Some(args[0]);
            rest = &args[1..];
        } else if is(word, "BY") && !args.is_empty() {
            wanted.by = Some(args[0]);
            if memchr(b'*', args[0]).is_none() {
                wanted.as_is = true;
            } else {
                may_follow(cx, argv, "BY")?;
            }
            rest = &args[1..];
        } else if is(word, "GET") && !args.is_empty() {
            may_follow(cx, argv, "GET")?;
            wanted.get.push(args[0]);
            rest = &args[1..];
        } else {
            return Err(SYNTAX);
        }
    }
    Ok(wanted)
}

/// Patterns reach keys that the call does not name: a Cluster node and a user of few keys are refused.
fn may_follow(cx: &Ctx<'_>, argv: &[&[u8]], option: &str) -> Outcome {
    if cx.core.config.cluster {
        return Err(ReplyError::new(format!(
            "ERR {option} option of SORT denied in Cluster mode."
        )));
    }
    if !cx.client.user.may_read_any(cx.spec, argv) {
        return Err(ReplyError::new(format!(
            "ERR {option} option of SORT denied due to insufficient ACL permissions."
        )));
    }
    Ok(())
}

fn elements(core: &mut Core, key: &[u8]) -> Result<(Vec<Text>, bool), ReplyError> {
    match core.read(key) {
        None => Ok((Vec::new(), false)),
        Some(Value::List(list)) => Ok((list.iter().map(Text::new).collect(), false)),
        Some(Value::Set(set)) => Ok((set.iter().map(|member| member.to_text()).collect(), true)),
        Some(Value::Zset(zset)) => {
            Ok((zset.iter().map(|(member, _)| Text::new(member)).collect(), false))
        }
        Some(_) => Err(WRONG_TYPE),
    }
}

/// The value that a pattern names for an element: `#` is the element, `*` stands for it in a key, and
/// `->` comes before a hash's field.
fn follow(core: &mut Core, pattern: &[u8], element: &[u8]) -> Option<Text> {
    if pattern == b"#" {
        return Some(Text::new(element));
    }
    let star = memchr(b'*', pattern)?;
    let arrow = memmem::find(&pattern[star + 1..], b"->").map(|at| star + 1 + at);
    let arrow = arrow.filter(|at| at + 2 < pattern.len());
    let end = arrow.unwrap_or(pattern.len());
    let key = [&pattern[..star], element, &pattern[star + 1..end]].concat();
    match (core.read(&key)?, arrow) {
        (Value::Hash(hash), Some(at)) => hash.get(&pattern[at + 2..]).map(Text::new),
        (value, None) => value.as_string().map(|text| Text::new(&text)),
        _ => None,
    }
}

/// The weight by which an element is compared.
enum Weight {
    Score(f64),
    Text(Option<Text>),
    Itself,
}

fn weigh(core: &mut Core, wanted: &SortArgs<'_>, element: &Text) -> Result<Weight, ReplyError> {
    let by = wanted.by.map(|pattern| follow(core, pattern, element));
    if wanted.alpha {
        return Ok(by.map_or(Weight::Itself, Weight::Text));
    }
    let text = match &by {
        None => element,
        Some(None) => return Ok(Weight::Score(0.0)),
        Some(Some(text)) => text,
    };
    // An empty text and spaces in front are read as C's strtod does.
    let text = text.as_bytes().trim_ascii_start();
    if text.is_empty() {
        return Ok(Weight::Score(0.0));
    }
    parse_f64(text)
        .map(Weight::Score)
        .ok_or(ReplyError::fixed("ERR One or more scores can't be converted into double"))
}

fn compare((a, x): &(Weight, Text), (b, y): &(Weight, Text)) -> Ordering {
    let by_element = || x.as_bytes().cmp(y.as_bytes());
    match (a, b) {
        (Weight::Score(a), Weight::Score(b)) => {
            a.partial_cmp(b).unwrap_or(Ordering::Equal).then_with(by_element)
        }
        (Weight::Text(a), Weight::Text(b)) => {
            a.as_ref().map(Text::as_bytes).cmp(&b.as_ref().map(Text::as_bytes))
        }
        _ => by_element(),
    }
}

/// The elements that are wanted, in order.
fn select(
    cx: &mut Ctx<'_>,
    key: &[u8],
    wanted: &mut SortArgs<'_>,
) -> Result<Vec<Text>, ReplyError> {
    let (mut all, is_set) = elements(cx.core, key)?;
    // The order of a set is nobody's promise: what is stored or seen by a script must not depend on it.
    if wanted.as_is && is_set && (wanted.store.is_some() || cx.client.in_script) {
        (wanted.as_is, wanted.alpha, wanted.by) = (false, true, None);
    }
    if !wanted.as_is {
        let mut weighed = Vec::with_capacity(all.len());
        for element in all {
            weighed.push((weigh(cx.core, wanted, &element)?, element));
        }
        weighed.sort_by(|a, b| if wanted.down { compare(b, a) } else { compare(a, b) });
        all = weighed.into_iter().map(|(_, element)| element).collect();
    } else if wanted.down && !is_set {
        all.reverse();
    }
    let len = all.len();
    let start = usize::try_from(wanted.limit.0).unwrap_or(0).min(len);
    let count = usize::try_from(wanted.limit.1).unwrap_or(len).min(len - start);
    all.truncate(start + count);
    all.drain(..start);
    Ok(all)
}

fn sort(cx: &mut Ctx<'_>, argv: &[&[u8]], read_only: bool) -> Outcome {
    let mut wanted = parse(cx, argv, read_only)?;
    let chosen = select(cx, argv[1], &mut wanted)?;
    let mut results = Vec::with_capacity(chosen.len() * wanted.get.len().max(1));
    for element in chosen {
        for pattern in &wanted.get {
            results.push(follow(cx.core, pattern, &element));
        }
        if wanted.get.is_empty() {
            results.push(Some(element));
        }
    }
    let Some(target) = wanted.store else {
        cx.out.array(results.len());
        for result in &results {
            cx.out.bulk_opt(result.as_ref().map(Text::as_bytes));
        }
        return Ok(());
    };
    if results.is_empty() {
        if cx.core.remove(target).is_some() {
            cx.core.changed(class::GENERIC, "del", target);
        }
    } else {
        let mut list = List::new();
        for result in &results {
            list.push_back(result.as_ref().map_or(&b""[..], Text::as_bytes));
        }
        cx.core.put(target, Value::List(Box::new(list)));
        cx.core.changed(class::LIST, "sortstore", target);
    }
    cx.out.len(results.len());
    Ok(())
}
