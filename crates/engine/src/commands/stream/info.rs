//! `XINFO`: what a stream, its groups and their consumers look like inside.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::stream::group::{bad_subcommand, no_such_group};
use crate::commands::stream::{write_entries, write_entry, write_id};
use crate::commands::table::Run::{self, Plain};
use crate::data::Stream;
use crate::data::stream::groups::{Consumer, Group};
use crate::data::stream::{Entries, Id};
use crate::doors::out::Out;
use crate::error::{NO_SUCH_KEY, Outcome};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("xinfo|stream", Plain(stream)),
    ("xinfo|groups", Plain(groups)),
    ("xinfo|consumers", Plain(consumers)),
    ("xinfo|help", Plain(help)),
];

fn name(out: &mut Out, name: &str) {
    out.bulk(name.as_bytes());
}

fn int_or_null(out: &mut Out, number: Option<i64>) {
    match number {
        Some(number) => out.int(number),
        None => out.null(),
    }
}

fn stream(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let bad = || bad_subcommand("XINFO", argv[1]);
    let stream = cx.core.stream(argv[2])?.ok_or(NO_SUCH_KEY)?;
    let count = match &argv[3..] {
        [] => {
            write_short(cx.out, stream);
            return Ok(());
        }
        [full] if is(full, "FULL") => 10,
        [full, word, count] if is(full, "FULL") && is(word, "COUNT") => {
            usize::try_from(int(count)?).unwrap_or(10)
        }
        _ => return Err(bad()),
    };
    let out = &mut *cx.out;
    out.map(9);
    write_head(out, &stream.entries);
    name(out, "entries");
    write_entries(out, stream.entries.range(Id::ZERO, Id::MAX), count);
    name(out, "groups");
    out.array(stream.groups.0.len());
    for (group_name, group) in &stream.groups.0 {
        write_full_group(out, &stream.entries, group_name, group, count);
    }
    Ok(())
}

fn write_head(out: &mut Out, entries: &Entries) {
    name(out, "length");
    out.len(entries.len());
    name(out, "radix-tree-keys");
    out.len(entries.node_count());
    name(out, "radix-tree-nodes");
    out.len(entries.radix_tree_nodes());
    name(out, "last-generated-id");
    write_id(out, entries.last_id);
    name(out, "max-deleted-entry-id");
    write_id(out, entries.max_deleted_id);
    name(out, "entries-added");
    out.int(entries.added as i64);
    name(out, "recorded-first-entry-id");
    write_id(out, entries.first_id());
}

fn write_short(out: &mut Out, stream: &Stream) {
    out.map(10);
    write_head(out, &stream.entries);
    name(out, "groups");
    out.len(stream.groups.0.len());
    let first = stream.entries.range(Id::ZERO, Id::MAX).next();
    let last = stream.entries.range_back(Id::ZERO, Id::MAX).next();
    for (word, entry) in [("first-entry", first), ("last-entry", last)] {
        name(out, word);
        match entry {
            Some(entry) => write_entry(out, &entry),
            None => out.null(),
        }
    }
}

fn write_full_group(
    out: &mut Out,
    entries: &Entries,
    group_name: &[u8],
    group: &Group,
    count: usize,
) {
    let shown = if count == 0 { usize::MAX } else { count };
    out.map(7);
    name(out, "name");
    out.bulk(group_name);
    name(out, "last-delivered-id");
    write_id(out, group.last_id);
    name(out, "entries-read");
    int_or_null(out, group.entries_read);
    name(out, "lag");
    int_or_null(out, group.lag(entries));
    name(out, "pel-count");
    out.len(group.pending.len());
    name(out, "pending");
    out.array(group.pending.len().min(shown));
    for (id, pending) in group.pending.iter().take(shown) {
        out.array(4);
        write_id(out, *id);
        out.bulk(&pending.consumer);
        out.int(pending.delivered_ms);
        out.int(pending.deliveries);
    }
    name(out, "consumers");
    out.array(group.consumers.len());
    for (consumer_name, consumer) in &group.consumers {
        write_full_consumer(out, group, consumer_name, consumer, shown);
    }
}

fn write_full_consumer(
    out: &mut Out,
    group: &Group,
    consumer_name: &[u8],
    consumer: &Consumer,
    shown: usize,
) {
    out.map(4);
    name(out, "name");
    out.bulk(consumer_name);
    name(out, "seen-time");
    out.int(consumer.seen_ms);
    name(out, "pel-count");
    out.len(consumer.pending.len());
    name(out, "pending");
    out.array(consumer.pending.len().min(shown));
    for id in consumer.pending.iter().take(shown) {
        let pending = &group.pending[id];
        out.array(3);
        write_id(out, *id);
        out.int(pending.delivered_ms);
        out.int(pending.deliveries);
    }
}

fn groups(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let stream = cx.core.stream(argv[2])?.ok_or(NO_SUCH_KEY)?;
    let out = &mut *cx.out;
    out.array(stream.groups.0.len());
    for (group_name, group) in &stream.groups.0 {
        out.map(6);
        name(out, "name");
        out.bulk(group_name);
        name(out, "consumers");
        out.len(group.consumers.len());
        name(out, "pending");
        out.len(group.pending.len());
        name(out, "last-delivered-id");
        write_id(out, group.last_id);
        name(out, "entries-read");
        int_or_null(out, group.entries_read);
        name(out, "lag");
        int_or_null(out, group.lag(&stream.entries));
    }
    Ok(())
}

fn consumers(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let now = cx.core.now;
    let stream = cx.core.stream(argv[2])?.ok_or(NO_SUCH_KEY)?;
    let group = stream.groups.get(argv[3]).ok_or_else(|| no_such_group(argv[2], argv[3]))?;
    let out = &mut *cx.out;
    out.array(group.consumers.len());
    for (consumer_name, consumer) in &group.consumers {
        out.map(3);
        name(out, "name");
        out.bulk(consumer_name);
        name(out, "pending");
        out.len(consumer.pending.len());
        name(out, "idle");
        out.int(now.saturating_sub(consumer.seen_ms).max(0));
    }
    Ok(())
}

fn help(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.help(
        "XINFO",
        &[
            "CONSUMERS <key> <groupname>",
            "    Show consumers of <groupname>.",
            "GROUPS <key>",
            "    Show the stream consumer groups.",
            "STREAM <key> [FULL [COUNT <count>]",
            "    Show information about the stream.",
        ],
    );
    Ok(())
}
