//! `XREAD` and `XREADGROUP`. A reader that waits is run again with the ids it had when it began to wait. Reading for
//! a group is a write: it is logged as the claims that it amounts to.

use std::sync::Arc;

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::stream::{strict_id, write_entries, write_entry, write_id};
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::client::OnTimeout;
use crate::core::notify::class;
use crate::data::Stream;
use crate::data::num::parse_i64;
use crate::data::stream::Id;
use crate::data::stream::groups::{Group, Pending};
use crate::doors::out::Out;
use crate::error::{Outcome, ReplyError, SYNTAX, WRONG_TYPE};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("xread", Plain(|cx, argv| read(cx, argv, false))),
    ("xreadgroup", Plain(|cx, argv| read(cx, argv, true))),
];

/// Most entries of one stream for a reader that waited and gave no count.
const AFTER_WAIT_MAX: usize = 1000;

/// Whether a reader that finds nothing waits.
#[derive(Clone, Copy)]
enum Wait {
    No,
    /// Until that time, or for ever.
    Until(Option<i64>),
}

struct ReadArgs<'a> {
    wait: Wait,
    count: usize,
    group: Option<(&'a [u8], &'a [u8])>,
    no_ack: bool,
    keys: &'a [&'a [u8]],
    ids: &'a [&'a [u8]],
}

/// From where a stream is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// Entries after this one; for a group, those already delivered to the consumer.
    After(Id),
    /// Entries that the group has not yet seen.
    New,
}

fn parse<'a>(
    cx: &Ctx<'_>,
    argv: &'a [&'a [u8]],
    for_group: bool,
) -> Result<ReadArgs<'a>, ReplyError> {
    let mut wanted =
        ReadArgs { wait: Wait::No, count: 0, group: None, no_ack: false, keys: &[], ids: &[] };
    let mut at = 1;
    while at < argv.len() {
        let (word, more) = (argv[at], argv.len() - 1 - at);
        if is(word, "BLOCK") && more > 0 {
            if cx.client.in_script {
                let name = String::from_utf8_lossy(argv[0]);
                return Err(ReplyError::new(format!(
                    "ERR {name} command is not allowed with BLOCK option from scripts"
                )));
            }
            at += 1;
            wanted.wait = Wait::Until(until_ms(cx.core, argv[at])?);
        } else if is(word, "COUNT") && more > 0 {
            at += 1;
            wanted.count = usize::try_from(int(argv[at])?).unwrap_or(0);
        } else if is(word, "STREAMS") && more > 0 {
            let list = &argv[at + 1..];
            if !list.len().is_multiple_of(2) {
                return Err(ReplyError::fixed(
                    "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
                ));
            }
            (wanted.keys, wanted.ids) = list.split_at(list.len() / 2);
            break;
        } else if is(word, "GROUP") && more >= 2 {
            if !for_group {
                return Err(ReplyError::fixed(
                    "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.",
                ));
            }
            wanted.group = Some((argv[at + 1], argv[at + 2]));
            at += 2;
        } else if is(word, "NOACK") {
            if !for_group {
                return Err(ReplyError::fixed(
                    "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.",
                ));
            }
            wanted.no_ack = true;
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    if wanted.keys.is_empty() {
        return Err(SYNTAX);
    }
    if for_group && wanted.group.is_none() {
        return Err(ReplyError::fixed("ERR Missing GROUP option for XREADGROUP"));
    }
    Ok(wanted)
}

/// When a wait of that many milliseconds ends; `None` for 0, which waits for ever.
fn until_ms(core: &Core, arg: &[u8]) -> Result<Option<i64>, ReplyError> {
    let millis =
        parse_i64(arg).ok_or(ReplyError::fixed("ERR timeout is not an integer or out of range"))?;
    if millis < 0 {
        return Err(ReplyError::fixed("ERR timeout is negative"));
    }
    Ok((millis > 0).then(|| core.now.saturating_add(millis)))
}

/// `NOGROUP No such key 'k' or consumer group 'g'`, and what follows.
pub(crate) fn no_group(key: &[u8], group: &[u8], more: &str) -> ReplyError {
    let text = [
        &b"NOGROUP No such key '"[..],
        key,
        b"' or consumer group '",
        group,
        b"'",
        more.as_bytes(),
    ];
    ReplyError(text.concat().into())
}

/// Checks that each stream can be read, and resolves each id.
fn resolve(cx: &mut Ctx<'_>, wanted: &ReadArgs<'_>) -> Result<Vec<From>, ReplyError> {
    let mut all = Vec::with_capacity(wanted.ids.len());
    let retrying = cx.core.retrying;
    for (key, id) in wanted.keys.iter().zip(wanted.ids) {
        let stream = match cx.core.stream(key) {
            Err(_) | Ok(None) if retrying && wanted.group.is_some() => {
                return Err(ReplyError::fixed("UNBLOCKED the stream key no longer exists"));
            }
            // A reader goes on waiting for a stream to come.
            Err(_) if retrying => None,
            other => other?,
        };
        if let Some((group, _)) = wanted.group
            && stream.is_none_or(|stream| stream.groups.get(group).is_none())
        {
            return Err(if retrying {
                ReplyError::fixed(
                    "NOGROUP the consumer group this client was blocked on no longer exists",
                )
            } else {
                no_group(key, group, " in XREADGROUP with GROUP option")
            });
        }
        all.push(match (*id, wanted.group) {
            (b"$", Some(_)) => {
                return Err(ReplyError::fixed(
                    "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.",
                ));
            }
            (b"$", None) => From::After(stream.map_or(Id::ZERO, |stream| stream.entries.last_id)),
            (b">", Some(_)) => From::New,
            (b">", None) => {
                return Err(ReplyError::fixed(
                    "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
                ));
            }
            (id, group) => match strict_id(id, 0)? {
                Id::MAX if group.is_some() => From::New,
                id => From::After(id),
            },
        });
    }
    Ok(all)
}

fn read(cx: &mut Ctx<'_>, argv: &[&[u8]], for_group: bool) -> Outcome {
    let mut wanted = parse(cx, argv, for_group)?;
    let from = resolve(cx, &wanted)?;
    if cx.core.retrying && wanted.count == 0 {
        wanted.count = AFTER_WAIT_MAX;
    }
    if for_group {
        // It logs what it did, if anything.
        cx.core.log_as(&[]);
    }
    let mark = cx.out.begin_array();
    let mut served = 0;
    for (key, from) in wanted.keys.iter().zip(&from) {
        served += usize::from(match wanted.group {
            None => serve(cx, key, *from, wanted.count),
            Some(group) => serve_group(cx, key, group, *from, &wanted),
        });
    }
    if served > 0 {
        if cx.out.resp3 {
            cx.out.end_map(mark, served);
        } else {
            cx.out.end_array(mark, served);
        }
        return Ok(());
    }
    let Wait::Until(until) = wanted.wait else {
        cx.out.null_array();
        return Ok(());
    };
    let ids: Vec<Vec<u8>> = from
        .iter()
        .map(|from| match from {
            From::After(id) => id.to_string().into_bytes(),
            From::New => b">".to_vec(),
        })
        .collect();
    let mut again = argv.to_vec();
    let at = again.len() - ids.len();
    for (place, id) in again[at..].iter_mut().zip(&ids) {
        *place = id;
    }
    cx.block(wanted.keys, &again, until, OnTimeout::NullArray)
}

/// Whether a stream has something after `last`. Once a reader waited, an entry that came and went counts: Redis
/// then answers with no entries.
fn has_more(stream: &Stream, last: Id, retrying: bool) -> bool {
    if retrying {
        return stream.entries.last_id > last;
    }
    stream.entries.last_id > last && stream.entries.last_live().is_some_and(|newest| newest > last)
}

fn write_key(out: &mut Out, key: &[u8]) {
    if !out.resp3 {
        out.array(2);
    }
    out.bulk(key);
}

fn serve(cx: &mut Ctx<'_>, key: &[u8], from: From, count: usize) -> bool {
    let retrying = cx.core.retrying;
    let (Ok(Some(stream)), From::After(last)) = (cx.core.stream(key), from) else { return false };
    if !has_more(stream, last, retrying) {
        return false;
    }
    write_key(cx.out, key);
    let first = last.next().unwrap_or_default();
    write_entries(cx.out, stream.entries.range(first, Id::MAX), count);
    true
}

fn serve_group(
    cx: &mut Ctx<'_>,
    key: &[u8],
    (group_name, consumer): (&[u8], &[u8]),
    from: From,
    wanted: &ReadArgs<'_>,
) -> bool {
    let (now, retrying) = (cx.core.now, cx.core.retrying);
    let Ok(Some(stream)) = cx.core.stream_mut(key) else { return false };
    let Some(last) = stream.groups.get(group_name).map(|group| group.last_id) else { return false };
    if from == From::New && !has_more(stream, last, retrying) {
        return false;
    }
    write_key(cx.out, key);
    let group = stream.groups.get_mut(group_name).expect("just found");
    let (consumer, created) = group.see(consumer, now);
    let mut log = Vec::new();
    match from {
        From::After(id) => {
            history(cx.out, stream, group_name, &consumer, id, wanted.count, now);
        }
        From::New => deliver(cx.out, stream, group_name, &consumer, wanted, now, &mut log),
    }
    let group = stream.groups.get(group_name).expect("just found");
    let (new_last, entries_read) = (group.last_id, group.entries_read);
    cx.core.dirty += 1;
    if created {
        cx.core.dirty += 1;
        cx.core.notify(class::STREAM, "xgroup-createconsumer", key);
        if log.is_empty() {
            cx.core.log_as(&[&[b"XGROUP", b"CREATECONSUMER", key, group_name, &consumer]]);
        }
    }
    log_claims(cx.core, key, group_name, new_last, &log);
    if new_last != last {
        log_group_id(cx.core, key, group_name, new_last, entries_read);
    }
    true
}

/// Writes the entries that were delivered to this consumer before and are still pending.
fn history(
    out: &mut Out,
    stream: &mut Stream,
    group: &[u8],
    consumer: &Arc<[u8]>,
    after: Id,
    count: usize,
    now: i64,
) {
    let group = stream.groups.get_mut(group).expect("found before");
    let first = after.next().unwrap_or_default();
    let max = if count == 0 { usize::MAX } else { count };
    let ids: Vec<Id> =
        group.consumers[consumer].pending.range(first..).take(max).copied().collect();
    out.array(ids.len());
    for id in ids {
        let Some(entry) = stream.entries.get(id) else {
            out.array(2);
            write_id(out, id);
            out.null_array();
            continue;
        };
        write_entry(out, &entry);
        if let Some(pending) = group.pending.get_mut(&id) {
            pending.delivered_ms = now;
            pending.deliveries += 1;
        }
    }
}

/// Writes the entries that the group has not seen yet.
fn deliver(
    out: &mut Out,
    stream: &mut Stream,
    group: &[u8],
    consumer: &Arc<[u8]>,
    wanted: &ReadArgs<'_>,
    now: i64,
    log: &mut Vec<(Id, Pending)>,
) {
    let Stream { entries, groups } = stream;
    let group: &mut Group = groups.get_mut(group).expect("found before");
    let first = group.last_id.next().unwrap_or_default();
    let max = if wanted.count == 0 { usize::MAX } else { wanted.count };
    let mark = out.begin_array();
    let mut n = 0;
    for entry in entries.range(first, Id::MAX).take(max) {
        group.advance(entries, entry.id);
        write_entry(out, &entry);
        n += 1;
        if !wanted.no_ack {
            let pending = Pending { consumer: consumer.clone(), delivered_ms: now, deliveries: 1 };
            group.assign(entry.id, pending.clone());
            log.push((entry.id, pending));
        }
    }
    out.end_array(mark, n);
}

/// Logs who holds which entries, in a form that can be repeated without harm.
pub(crate) fn log_claims(
    core: &mut Core,
    key: &[u8],
    group: &[u8],
    last: Id,
    claims: &[(Id, Pending)],
) {
    if !core.pending.on {
        return core.log_as(&[]);
    }
    let last = last.to_string();
    for (id, pending) in claims {
        let (mut time, mut count) = (itoa::Buffer::new(), itoa::Buffer::new());
        core.log_as(&[&[
            b"XCLAIM",
            key,
            group,
            &pending.consumer,
            b"0",
            id.to_string().as_bytes(),
            b"TIME",
            time.format(pending.delivered_ms).as_bytes(),
            b"RETRYCOUNT",
            count.format(pending.deliveries).as_bytes(),
            b"FORCE",
            b"JUSTID",
            b"LASTID",
            last.as_bytes(),
        ]]);
    }
}

/// Logs how far a group has read.
pub(crate) fn log_group_id(
    core: &mut Core,
    key: &[u8],
    group: &[u8],
    last: Id,
    entries_read: Option<i64>,
) {
    let mut digits = itoa::Buffer::new();
    let read = digits.format(entries_read.unwrap_or(-1)).as_bytes();
    let last = last.to_string();
    core.log_as(&[&[b"XGROUP", b"SETID", key, group, last.as_bytes(), b"ENTRIESREAD", read]]);
}

/// A stream's group, to read; the error that names both when there is none.
pub(crate) fn group_of<'a>(
    core: &'a mut Core,
    key: &[u8],
    name: &[u8],
) -> Result<(&'a Stream, &'a Group), ReplyError> {
    let missing = || no_group(key, name, "");
    match core.read(key) {
        Some(crate::data::Value::Stream(stream)) => {
            let stream: &Stream = stream;
            stream.groups.get(name).map(|group| (stream, group)).ok_or_else(missing)
        }
        Some(_) => Err(WRONG_TYPE),
        None => Err(missing()),
    }
}
