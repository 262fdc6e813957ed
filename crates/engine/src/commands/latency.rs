//! Commands that took long: `SLOWLOG` and `LATENCY`.

use std::fmt::Write as _;

use crate::commands::ctx::Ctx;
use crate::commands::help;
use crate::commands::table::Run::{self, Plain};
use crate::commands::table::TABLE;
use crate::data::num;
use crate::error::{Outcome, ReplyError};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("slowlog|get", Plain(slowlog_get)),
    ("slowlog|len", Plain(slowlog_len)),
    ("slowlog|reset", Plain(slowlog_reset)),
    ("slowlog|help", Plain(|cx, _| help::reply(cx, "SLOWLOG", SLOWLOG_HELP))),
    ("latency|latest", Plain(latest)),
    ("latency|history", Plain(history)),
    ("latency|reset", Plain(reset)),
    ("latency|histogram", Plain(histogram)),
    ("latency|doctor", Plain(doctor)),
    ("latency|graph", Plain(graph)),
    ("latency|help", Plain(|cx, _| help::reply(cx, "LATENCY", LATENCY_HELP))),
];

const SLOWLOG_HELP: &[(&str, &str)] = &[
    ("GET [<count>]", "The newest slow calls (10, or so many; -1 for all)."),
    ("LEN", "How many are kept."),
    ("RESET", "Forget them."),
];

const LATENCY_HELP: &[(&str, &str)] = &[
    ("DOCTOR", "What was slow, in words."),
    ("GRAPH <event>", "An event's samples as a picture."),
    ("HISTORY <event>", "An event's samples."),
    ("LATEST", "The latest of every event."),
    ("RESET [<event> ...]", "Forget events."),
    ("HISTOGRAM [<command> ...]", "How long commands take."),
];

fn slowlog_get(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let count = match argv {
        [_, _] => 10,
        [_, _, n] => num::parse_i64(n)
            .filter(|n| *n >= -1)
            .ok_or(ReplyError::fixed("ERR count should be greater than or equal to -1"))?,
        _ => return Err(ReplyError::wrong_sub_args("SLOWLOG", argv[1])),
    };
    let calls = &cx.core.admin.slowlog.calls;
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(calls.len());
    cx.out.array(count);
    for call in calls.iter().take(count) {
        cx.out.array(6);
        cx.out.int(i64::try_from(call.id).unwrap_or(i64::MAX));
        cx.out.int(call.time_s);
        cx.out.int(i64::try_from(call.usec).unwrap_or(i64::MAX));
        cx.out.array(call.argv.len());
        for arg in &call.argv {
            cx.out.bulk(arg);
        }
        cx.out.bulk(call.addr.as_bytes());
        cx.out.bulk(&call.name);
    }
    Ok(())
}

fn slowlog_len(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.len(cx.core.admin.slowlog.calls.len());
    Ok(())
}

fn slowlog_reset(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.core.admin.slowlog.calls.clear();
    cx.out.ok();
    Ok(())
}

fn latest(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let events = &cx.core.admin.latency.events;
    cx.out.array(events.len());
    for (kind, event) in events {
        let (second, ms) = event.samples.back().copied().unwrap_or_default();
        cx.out.array(4);
        cx.out.bulk(kind.as_bytes());
        cx.out.int(second);
        cx.out.int(ms);
        cx.out.int(event.max_ms);
    }
    Ok(())
}

fn history(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let events = &cx.core.admin.latency.events;
    let found = events.iter().find(|(kind, _)| kind.as_bytes() == argv[2]);
    let samples = found.map(|(_, event)| &event.samples);
    cx.out.array(samples.map_or(0, std::collections::VecDeque::len));
    for (second, ms) in samples.into_iter().flatten() {
        cx.out.array(2);
        cx.out.int(*second);
        cx.out.int(*ms);
    }
    Ok(())
}

fn reset(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let events = &mut cx.core.admin.latency.events;
    let before = events.len();
    if argv.len() == 2 {
        events.clear();
    } else {
        events.retain(|kind, _| !argv[2..].contains(&kind.as_bytes()));
    }
    let gone = before - events.len();
    cx.out.len(gone);
    Ok(())
}

fn histogram(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let wanted: Vec<usize> = if argv.len() == 2 {
        (0..TABLE.specs.len()).collect()
    } else {
        let mut wanted = Vec::new();
        for name in &argv[2..] {
            let Some(spec) = TABLE.by_full_name(name) else { continue };
            wanted.push(spec.id);
            let mut subs: Vec<usize> = spec.subs.values().copied().collect();
            subs.sort_unstable();
            wanted.extend(subs);
        }
        wanted
    };
    let stats = &cx.core.stats.per_command;
    let shown: Vec<_> = wanted
        .into_iter()
        .filter_map(|id| Some((TABLE.specs[id].full_name, stats[id].times.as_deref()?)))
        .collect();
    cx.out.map(shown.len());
    for (name, times) in shown {
        cx.out.bulk(name.as_bytes());
        cx.out.map(2);
        cx.out.bulk(b"calls");
        cx.out.int(i64::try_from(times.total).unwrap_or(i64::MAX));
        cx.out.bulk(b"histogram_usec");
        let lines = times.powers();
        cx.out.map(lines.len());
        for (usec, calls) in lines {
            cx.out.int(i64::try_from(usec).unwrap_or(i64::MAX));
            cx.out.int(i64::try_from(calls).unwrap_or(i64::MAX));
        }
    }
    Ok(())
}

fn doctor(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let mut text = String::new();
    if cx.core.config.latency_threshold_ms == 0 {
        text.push_str(
            "Latency monitoring is off: CONFIG SET latency-monitor-threshold <milliseconds> \
             switches it on.\n",
        );
    }
    for (kind, event) in &cx.core.admin.latency.events {
        let count = event.samples.len().max(1) as i64;
        let mean = event.samples.iter().map(|(_, ms)| ms).sum::<i64>() / count;
        let worst = event.max_ms;
        let _ = writeln!(
            text,
            "{kind}: {count} slow moments, {mean} ms on average, {worst} ms at worst."
        );
    }
    if text.is_empty() {
        text.push_str("Nothing was slow.\n");
    }
    cx.out.verbatim("txt", text.as_bytes());
    Ok(())
}

fn graph(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let events = &cx.core.admin.latency.events;
    let found = events.iter().find(|(kind, _)| kind.as_bytes() == argv[2]);
    let Some((kind, event)) = found else {
        let kind = String::from_utf8_lossy(argv[2]);
        return Err(ReplyError::new(format!("ERR No samples available for event '{kind}'")));
    };
    let low = event.samples.iter().map(|(_, ms)| *ms).min().unwrap_or(0);
    let mut text = format!(
        "{kind} - high {} ms, low {low} ms (all time high {} ms)\n",
        event.max_ms, event.max_ms
    );
    for (second, ms) in &event.samples {
        let bar = usize::try_from(ms * 60 / event.max_ms.max(1)).unwrap_or(0).max(1);
        let _ = writeln!(text, "{second} {ms:>6} ms {}", "#".repeat(bar));
    }
    cx.out.verbatim("txt", text.as_bytes());
    Ok(())
}
