//! Publish and subscribe, by channel, pattern and shard channel.

use crate::commands::ctx::Ctx;
use crate::commands::table::Run::{self, Plain};
use crate::core::pubsub::{self, IndexedSet, Way};
use crate::data::glob;
use crate::error::{Outcome, ReplyError};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("subscribe", Plain(|cx, argv| subscribe(cx, Way::Channel, argv))),
    ("psubscribe", Plain(|cx, argv| subscribe(cx, Way::Pattern, argv))),
    ("ssubscribe", Plain(|cx, argv| subscribe(cx, Way::Shard, argv))),
    ("unsubscribe", Plain(|cx, argv| unsubscribe(cx, Way::Channel, argv))),
    ("punsubscribe", Plain(|cx, argv| unsubscribe(cx, Way::Pattern, argv))),
    ("sunsubscribe", Plain(|cx, argv| unsubscribe(cx, Way::Shard, argv))),
    ("publish", Plain(publish)),
    ("spublish", Plain(spublish)),
    ("pubsub|channels", Plain(|cx, argv| channels(cx, Way::Channel, argv.get(2).copied()))),
    ("pubsub|shardchannels", Plain(|cx, argv| channels(cx, Way::Shard, argv.get(2).copied()))),
    ("pubsub|numsub", Plain(|cx, argv| numsub(cx, Way::Channel, &argv[2..]))),
    ("pubsub|shardnumsub", Plain(|cx, argv| numsub(cx, Way::Shard, &argv[2..]))),
    ("pubsub|numpat", Plain(numpat)),
];

impl Way {
    fn words(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Way::Channel => (b"subscribe", b"unsubscribe"),
            Way::Pattern => (b"psubscribe", b"punsubscribe"),
            Way::Shard => (b"ssubscribe", b"sunsubscribe"),
        }
    }
}

fn names<'a>(cx: &'a mut Ctx<'_>, way: Way) -> &'a mut hashbrown::HashSet<Box<[u8]>> {
    match way {
        Way::Channel => &mut cx.client.channels,
        Way::Pattern => &mut cx.client.patterns,
        Way::Shard => &mut cx.client.shard_channels,
    }
}

/// The number told after each change: shard channels are counted apart.
fn count(cx: &Ctx<'_>, way: Way) -> usize {
    match way {
        Way::Shard => cx.client.shard_channels.len(),
        _ => cx.client.subscriptions(),
    }
}

fn subscribe(cx: &mut Ctx<'_>, way: Way, argv: &[&[u8]]) -> Outcome {
    if cx.client.deny_blocking && !cx.out.resp3 {
        return Err(ReplyError::new(format!(
            "ERR {} isn't allowed for a DENY BLOCKING client",
            cx.spec.full_name.to_uppercase()
        )));
    }
    for name in &argv[1..] {
        if names(cx, way).insert(Box::from(*name)) {
            let id = cx.client.id;
            cx.core.pubsub.add(way, name, id);
        }
        let n = count(cx, way);
        cx.out.push(3);
        cx.out.bulk(way.words().0);
        cx.out.bulk(name);
        cx.out.len(n);
    }
    Ok(())
}

fn unsubscribe(cx: &mut Ctx<'_>, way: Way, argv: &[&[u8]]) -> Outcome {
    let wanted: Vec<Box<[u8]>> = if argv.len() > 1 {
        argv[1..].iter().map(|name| Box::from(*name)).collect()
    } else {
        names(cx, way).iter().cloned().collect()
    };
    for name in &wanted {
        if names(cx, way).remove(name) {
            let id = cx.client.id;
            cx.core.pubsub.drop_one(way, name, id);
        }
        confirm_unsubscribed(cx, way, Some(name));
    }
    if wanted.is_empty() {
        confirm_unsubscribed(cx, way, None);
    }
    Ok(())
}

fn confirm_unsubscribed(cx: &mut Ctx<'_>, way: Way, name: Option<&[u8]>) {
    let n = count(cx, way);
    cx.out.push(3);
    cx.out.bulk(way.words().1);
    cx.out.bulk_opt(name);
    cx.out.len(n);
}

fn publish(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let n = pubsub::publish(cx.core, argv[1], argv[2]);
    cx.out.len(n);
    Ok(())
}

fn spublish(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let n = pubsub::publish_shard(cx.core, argv[1], argv[2]);
    cx.out.len(n);
    Ok(())
}

fn channels(cx: &mut Ctx<'_>, way: Way, pattern: Option<&[u8]>) -> Outcome {
    let known = cx.core.pubsub.of(way);
    let matching: Vec<&[u8]> = known
        .keys()
        .map(|name| &**name)
        .filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name, false)))
        .collect();
    cx.out.array(matching.len());
    for name in matching {
        cx.out.bulk(name);
    }
    Ok(())
}

fn numsub(cx: &mut Ctx<'_>, way: Way, wanted: &[&[u8]]) -> Outcome {
    cx.out.array(wanted.len() * 2);
    for name in wanted {
        cx.out.bulk(name);
        let listeners = cx.core.pubsub.of(way).get(*name);
        cx.out.len(listeners.map_or(0, IndexedSet::len));
    }
    Ok(())
}

fn numpat(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.len(cx.core.pubsub.patterns.len());
    Ok(())
}
