//! Groups of a stream: `XGROUP`, `XACK`, `XPENDING`.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::stream::read::group_of;
use crate::commands::stream::{any_id, range_end, range_start, strict_id, write_id};
use crate::commands::table::Run::{self, Plain};
use crate::core::notify::class;
use crate::data::Stream;
use crate::data::stream::Id;
use crate::data::stream::groups::{Group, Pending};
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("xgroup|create", Plain(create)),
    ("xgroup|setid", Plain(set_id)),
    ("xgroup|destroy", Plain(destroy)),
    ("xgroup|createconsumer", Plain(create_consumer)),
    ("xgroup|delconsumer", Plain(delete_consumer)),
    ("xgroup|help", Plain(help)),
    ("xack", Plain(xack)),
    ("xpending", Plain(xpending)),
];

const NO_STREAM: ReplyError = ReplyError::fixed(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.",
);

/// The error for a wrong option of a subcommand.
pub(crate) fn bad_subcommand(command: &str, sub: &[u8]) -> ReplyError {
    let text = [
        &b"ERR unknown subcommand or wrong number of arguments for '"[..],
        &sub[..sub.len().min(128)],
        b"'. Try ",
        command.as_bytes(),
        b" HELP.",
    ];
    ReplyError(text.concat().into())
}

/// `NOGROUP No such consumer group 'g' for key name 'k'`.
pub(crate) fn no_such_group(key: &[u8], group: &[u8]) -> ReplyError {
    let text = [&b"NOGROUP No such consumer group '"[..], group, b"' for key name '", key, b"'"];
    ReplyError(text.concat().into())
}

struct GroupArgs {
    make: bool,
    entries_read: Option<i64>,
}

fn options(argv: &[&[u8]], may_make: bool) -> Result<GroupArgs, ReplyError> {
    let mut found = GroupArgs { make: false, entries_read: None };
    let mut rest = &argv[5..];
    while let Some((word, tail)) = rest.split_first() {
        if may_make && is(word, "MKSTREAM") {
            found.make = true;
            rest = tail;
        } else if let (true, Some((value, tail))) = (is(word, "ENTRIESREAD"), tail.split_first()) {
            found.entries_read = match int(value)? {
                -1 => None,
                n if n < 0 => {
                    return Err(ReplyError::fixed(
                        "ERR value for ENTRIESREAD must be positive or -1",
                    ));
                }
                n => Some(n),
            };
            rest = tail;
        } else {
            return Err(bad_subcommand("XGROUP", argv[1]));
        }
    }
    Ok(found)
}

fn create(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let options = options(argv, true)?;
    let (key, name) = (argv[2], argv[3]);
    let last = match cx.core.stream_mut(key)? {
        None if !options.make => return Err(NO_STREAM),
        stream => stream.map(|stream| stream.entries.last_id),
    };
    if argv.len() > 8 {
        return Err(bad_subcommand("XGROUP", argv[1]));
    }
    let id = match argv[4] {
        b"$" => last.unwrap_or_default(),
        arg => strict_id(arg, 0)?,
    };
    if last.is_none() {
        cx.core.stream_or_new(key)?;
        cx.core.break_watches(key);
    }
    let groups = &mut cx.core.stream_or_new(key)?.groups.0;
    if groups.contains_key(name) {
        return Err(ReplyError::fixed("BUSYGROUP Consumer Group name already exists"));
    }
    groups.insert(Box::from(name), Group::new(id, options.entries_read));
    cx.core.dirty += 1;
    cx.core.notify(class::STREAM, "xgroup-create", key);
    cx.out.ok();
    Ok(())
}

/// The stream of a subcommand that needs one, and the group's name checked.
fn needed<'a>(cx: &'a mut Ctx<'_>, argv: &[&[u8]]) -> Result<&'a mut Stream, ReplyError> {
    let stream = cx.core.stream_mut(argv[2])?.ok_or(NO_STREAM)?;
    if stream.groups.get(argv[3]).is_none() {
        return Err(no_such_group(argv[2], argv[3]));
    }
    Ok(stream)
}

fn set_id(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let options = options(argv, false)?;
    let stream = needed(cx, argv)?;
    if argv.len() > 7 {
        return Err(bad_subcommand("XGROUP", argv[1]));
    }
    let id = match argv[4] {
        b"$" => stream.entries.last_id,
        arg => any_id(arg, 0)?,
    };
    let group = stream.groups.get_mut(argv[3]).expect("checked above");
    (group.last_id, group.entries_read) = (id, options.entries_read);
    cx.core.dirty += 1;
    cx.core.notify(class::STREAM, "xgroup-setid", argv[2]);
    cx.out.ok();
    Ok(())
}

fn destroy(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[2];
    let stream = cx.core.stream_mut(key)?.ok_or(NO_STREAM)?;
    let gone = stream.groups.0.remove(argv[3]).is_some();
    if gone {
        cx.core.dirty += 1;
        cx.core.notify(class::STREAM, "xgroup-destroy", key);
        // Readers that wait for this group must be told.
        cx.core.signal_ready(key);
    }
    cx.out.flag(gone);
    Ok(())
}

fn create_consumer(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let now = cx.core.now;
    let group = needed(cx, argv)?.groups.get_mut(argv[3]).expect("checked above");
    let created = group.create(argv[4], now).is_some();
    if created {
        cx.core.dirty += 1;
        cx.core.notify(class::STREAM, "xgroup-createconsumer", argv[2]);
    }
    cx.out.flag(created);
    Ok(())
}

fn delete_consumer(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let group = needed(cx, argv)?.groups.get_mut(argv[3]).expect("checked above");
    let pending = group.remove(argv[4]);
    if pending.is_some() {
        cx.core.dirty += 1;
        cx.core.notify(class::STREAM, "xgroup-delconsumer", argv[2]);
    }
    cx.out.len(pending.unwrap_or(0));
    Ok(())
}

fn help(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.help(
        "XGROUP",
        &[
            "CREATE <key> <groupname> <id|$> [option]",
            "    Create a new consumer group. Options are:",
            "    * MKSTREAM",
            "      Create the empty stream if it does not exist.",
            "    * ENTRIESREAD entries_read",
            "      Set the group's entries_read counter (internal use).",
            "CREATECONSUMER <key> <groupname> <consumer>",
            "    Create a new consumer in the specified group.",
            "DELCONSUMER <key> <groupname> <consumer>",
            "    Remove the specified consumer.",
            "DESTROY <key> <groupname>",
            "    Remove the specified group.",
            "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
            "    Set the current group ID and entries_read counter.",
        ],
    );
    Ok(())
}

fn xack(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let stream = cx.core.stream_mut(argv[1])?;
    let Some(group) = stream.and_then(|stream| stream.groups.get_mut(argv[2])) else {
        cx.out.len(0);
        return Ok(());
    };
    let ids = argv[3..].iter().map(|arg| strict_id(arg, 0)).collect::<Result<Vec<_>, _>>()?;
    let done = ids.into_iter().filter(|id| group.acknowledge(*id)).count();
    cx.core.dirty += done as u64;
    cx.out.len(done);
    Ok(())
}

/// The range of `XPENDING`.
struct PendingRange<'a> {
    idle: i64,
    from: Id,
    to: Id,
    count: usize,
    consumer: Option<&'a [u8]>,
}

fn pending_range<'a>(args: &[&'a [u8]]) -> Result<PendingRange<'a>, ReplyError> {
    let (idle, rest) = match args {
        [word, idle, rest @ ..] if is(word, "IDLE") => {
            let idle = int(idle)?;
            if rest.len() < 3 {
                return Err(SYNTAX);
            }
            (idle, rest)
        }
        rest => (0, rest),
    };
    let [start, end, count, consumer @ ..] = rest else { return Err(SYNTAX) };
    let count = usize::try_from(int(count)?).unwrap_or(0);
    let (from, to) = (range_start(start)?, range_end(end)?);
    Ok(PendingRange { idle, from, to, count, consumer: consumer.first().copied() })
}

fn xpending(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let range = match argv.len() {
        3 => None,
        6..=9 => Some(pending_range(&argv[3..])?),
        _ => return Err(SYNTAX),
    };
    let now = cx.core.now;
    let (_, group) = group_of(cx.core, argv[1], argv[2])?;
    let Some(range) = range else {
        summary(cx.out, group);
        return Ok(());
    };
    let mark = cx.out.begin_array();
    let mut n = 0;
    let mut write = |id: Id, pending: &Pending| {
        let idle = now.saturating_sub(pending.delivered_ms);
        if n < range.count && (range.idle == 0 || idle >= range.idle) {
            cx.out.array(4);
            write_id(cx.out, id);
            cx.out.bulk(&pending.consumer);
            cx.out.int(idle.max(0));
            cx.out.int(pending.deliveries);
            n += 1;
        }
        n < range.count
    };
    if range.from > range.to || range.count == 0 {
        // An empty range.
    } else if let Some(name) = range.consumer {
        let ids =
            group.consumers.get(name).map(|consumer| consumer.pending.range(range.from..=range.to));
        let _ = ids.into_iter().flatten().all(|id| write(*id, &group.pending[id]));
    } else {
        let _ = group.pending.range(range.from..=range.to).all(|(id, pending)| write(*id, pending));
    }
    cx.out.end_array(mark, n);
    Ok(())
}

fn summary(out: &mut crate::doors::out::Out, group: &Group) {
    out.array(4);
    out.len(group.pending.len());
    let (Some(first), Some(last)) = (group.pending.keys().next(), group.pending.keys().next_back())
    else {
        out.null();
        out.null();
        out.null_array();
        return;
    };
    write_id(out, *first);
    write_id(out, *last);
    let mark = out.begin_array();
    let mut n = 0;
    for (name, consumer) in group.consumers.iter().filter(|(_, it)| !it.pending.is_empty()) {
        out.array(2);
        out.bulk(name);
        out.bulk_int(consumer.pending.len() as i64);
        n += 1;
    }
    out.end_array(mark, n);
}
