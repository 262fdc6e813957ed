//! `XCLAIM` and `XAUTOCLAIM`: pending entries change hands. Both are logged as plain claims with absolute times.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::stream::read::{group_of, log_claims, log_group_id};
use crate::commands::stream::{range_start, strict_id, write_entry, write_id};
use crate::commands::table::Run::{self, Plain};
use crate::core::notify::class;
use crate::data::Stream;
use crate::data::num::parse_i64;
use crate::data::stream::Id;
use crate::data::stream::groups::Pending;
use crate::doors::out::Out;
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] =
    &[("xclaim", Plain(xclaim)), ("xautoclaim", Plain(xautoclaim))];

struct Claim<'a> {
    group: &'a [u8],
    consumer: &'a [u8],
    min_idle: i64,
    /// When it counts as delivered; now unless said otherwise.
    delivered_ms: i64,
    retries: Option<i64>,
    force: bool,
    just_id: bool,
    last_id: Id,
}

/// The effects of a claim, for events and log.
#[derive(Default)]
struct ClaimResult {
    created: bool,
    log: Vec<(Id, Pending)>,
    n: usize,
}

fn number(arg: &[u8], what: &str, command: &str) -> Result<i64, ReplyError> {
    let error = || ReplyError::new(format!("ERR Invalid {what} argument for {command}"));
    parse_i64(arg).ok_or_else(error)
}

fn options<'a>(argv: &[&'a [u8]], now: i64) -> Result<(Claim<'a>, Vec<Id>), ReplyError> {
    let mut claim = Claim {
        group: argv[2],
        consumer: argv[3],
        min_idle: number(argv[4], "min-idle-time", "XCLAIM")?.max(0),
        delivered_ms: now,
        retries: None,
        force: false,
        just_id: false,
        last_id: Id::ZERO,
    };
    let ids: Vec<Id> = argv[5..].iter().map_while(|arg| strict_id(arg, 0).ok()).collect();
    let mut rest = &argv[5 + ids.len()..];
    while let Some((word, tail)) = rest.split_first() {
        rest = tail;
        if is(word, "FORCE") {
            claim.force = true;
            continue;
        } else if is(word, "JUSTID") {
            claim.just_id = true;
            continue;
        }
        let value = tail.first().copied();
        match value {
            Some(value) if is(word, "IDLE") => {
                claim.delivered_ms = now.wrapping_sub(number(value, "IDLE option", "XCLAIM")?);
            }
            Some(value) if is(word, "TIME") => {
                claim.delivered_ms = number(value, "TIME option", "XCLAIM")?;
            }
            Some(value) if is(word, "RETRYCOUNT") => {
                let count = number(value, "RETRYCOUNT option", "XCLAIM")?;
                claim.retries = (count >= 0).then_some(count);
            }
            Some(value) if is(word, "LASTID") => claim.last_id = strict_id(value, 0)?,
            _ => {
                let text = [&b"ERR Unrecognized XCLAIM option '"[..], word, b"'"];
                return Err(ReplyError(text.concat().into()));
            }
        }
        rest = &tail[1..];
    }
    if claim.delivered_ms < 0 || claim.delivered_ms > now {
        claim.delivered_ms = now;
    }
    Ok((claim, ids))
}

/// Gives one entry to the consumer and writes it, if it may.
fn claim_one(
    out: &mut Out,
    stream: &mut Stream,
    id: Id,
    claim: &Claim<'_>,
    now: i64,
    done: &mut ClaimResult,
) {
    let group = stream.groups.get_mut(claim.group).expect("found before");
    let old = group.pending.get(&id);
    if old.is_none() && !claim.force {
        return;
    }
    if let Some(old) = old
        && claim.min_idle > 0
        && now.saturating_sub(old.delivered_ms) < claim.min_idle
    {
        return;
    }
    let before = old.map_or(1, |old| old.deliveries);
    let deliveries = match claim.retries {
        Some(retries) => retries,
        None => before + i64::from(!claim.just_id),
    };
    let (consumer, created) = group.see(claim.consumer, now);
    done.created |= created;
    let pending = Pending { consumer, delivered_ms: claim.delivered_ms, deliveries };
    group.assign(id, pending.clone());
    if claim.just_id {
        write_id(out, id);
    } else if let Some(entry) = stream.entries.get(id) {
        write_entry(out, &entry);
    }
    done.n += 1;
    done.log.push((id, pending));
}

fn xclaim(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (key, now) = (argv[1], cx.core.now);
    group_of(cx.core, key, argv[2])?;
    let (claim, ids) = options(argv, now)?;
    let stream = cx.core.stream_mut(key)?.expect("found above");
    let group = stream.groups.get_mut(claim.group).expect("found above");
    let moved = claim.last_id > group.last_id;
    group.last_id = group.last_id.max(claim.last_id);
    let mut done = ClaimResult::default();
    let mark = cx.out.begin_array();
    for id in ids {
        if stream.entries.get(id).is_some() {
            claim_one(cx.out, stream, id, &claim, now, &mut done);
            continue;
        }
        // The entry was deleted: it is no longer pending with anybody.
        let group = stream.groups.get_mut(claim.group).expect("found above");
        if let Some(pending) = group.pending.get(&id).cloned() {
            group.acknowledge(id);
            done.log.push((id, pending));
        }
    }
    cx.out.end_array(mark, done.n);
    let group = stream.groups.get(claim.group).expect("found above");
    let (last, read) = (group.last_id, group.entries_read);
    finish(cx, key, claim.group, last, &done);
    if moved && done.log.is_empty() {
        log_group_id(cx.core, key, claim.group, last, read);
        cx.core.dirty += 1;
    }
    Ok(())
}

fn finish(cx: &mut Ctx<'_>, key: &[u8], group: &[u8], last: Id, done: &ClaimResult) {
    cx.core.dirty += done.log.len() as u64 + u64::from(done.created);
    if done.created {
        cx.core.notify(class::STREAM, "xgroup-createconsumer", key);
    }
    cx.core.log_as(&[]);
    log_claims(cx.core, key, group, last, &done.log);
}

fn xautoclaim(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    const COUNT_MAX: i64 = i64::MAX / 16;
    const TRIES_FOR_ONE: usize = 10;
    let min_idle = number(argv[4], "min-idle-time", "XAUTOCLAIM")?.max(0);
    let start = range_start(argv[5])?;
    let (mut count, mut just_id) = (100, false);
    let mut rest = &argv[6..];
    while let Some((word, tail)) = rest.split_first() {
        rest = tail;
        match tail.split_first() {
            Some((value, tail)) if is(word, "COUNT") => {
                count = int(value)
                    .ok()
                    .filter(|n| (1..=COUNT_MAX).contains(n))
                    .ok_or(ReplyError::fixed("ERR COUNT must be > 0"))?
                    as usize;
                rest = tail;
            }
            _ if is(word, "JUSTID") => just_id = true,
            _ => return Err(SYNTAX),
        }
    }
    let (key, group_name, now) = (argv[1], argv[2], cx.core.now);
    group_of(cx.core, key, group_name)?;
    let claim = Claim {
        group: group_name,
        consumer: argv[3],
        min_idle,
        delivered_ms: now,
        retries: None,
        force: false,
        just_id,
        last_id: Id::ZERO,
    };
    let stream = cx.core.stream_mut(key)?.expect("found above");
    let (mut done, mut deleted) = (ClaimResult::default(), Vec::new());
    let mut claimed = Out::new(cx.out.resp3);
    let mut tries = count.saturating_mul(TRIES_FOR_ONE);
    let mut at = Some(start);
    let mut cursor = Id::ZERO;
    while let Some(from) = at {
        let group = stream.groups.get_mut(group_name).expect("found above");
        let Some((id, pending)) = group.pending.range(from..).next() else { break };
        let id = *id;
        if tries == 0 || done.n + deleted.len() >= count {
            cursor = id;
            break;
        }
        tries -= 1;
        at = id.next();
        if stream.entries.get(id).is_some() {
            claim_one(&mut claimed, stream, id, &claim, now, &mut done);
        } else {
            done.log.push((id, pending.clone()));
            group.acknowledge(id);
            deleted.push(id);
        }
    }
    let last = stream.groups.get(group_name).expect("found above").last_id;
    cx.out.array(3);
    write_id(cx.out, cursor);
    cx.out.array(done.n);
    cx.out.buf.append(&mut claimed.buf);
    cx.out.array(deleted.len());
    for id in deleted {
        write_id(cx.out, id);
    }
    finish(cx, key, group_name, last, &done);
    Ok(())
}
