//! Subscriptions to channels, and delivery. A message goes into the listener's output buffer at
//! once. A listener that does not read loses its connection; the server does not lose its memory.

use hashbrown::HashMap;
pub(crate) use indexed::IndexedSet;

use crate::core::Core;
use crate::core::client::Client;
use crate::data::glob;
use crate::doors::out::Out;

/// Subscriptions of all clients.
#[derive(Debug, Default)]
pub(crate) struct PubSub {
    pub(crate) channels: HashMap<Box<[u8]>, IndexedSet>,
    pub(crate) patterns: HashMap<Box<[u8]>, IndexedSet>,
    pub(crate) shards: HashMap<Box<[u8]>, IndexedSet>,
}

/// Clients in order of subscription.
mod indexed {
    /// A small ordered set of client ids.
    #[derive(Debug, Default)]
    pub(crate) struct IndexedSet(std::collections::BTreeSet<u64>);

    impl IndexedSet {
        pub(crate) fn insert(&mut self, id: u64) {
            self.0.insert(id);
        }

        /// True when nobody is left.
        pub(crate) fn remove(&mut self, id: u64) -> bool {
            self.0.remove(&id);
            self.0.is_empty()
        }

        pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
            self.0.iter().copied()
        }

        pub(crate) fn len(&self) -> usize {
            self.0.len()
        }
    }
}

/// The three ways to subscribe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Channel,
    Pattern,
    Shard,
}

impl PubSub {
    pub(crate) fn of(&mut self, way: Way) -> &mut HashMap<Box<[u8]>, IndexedSet> {
        match way {
            Way::Channel => &mut self.channels,
            Way::Pattern => &mut self.patterns,
            Way::Shard => &mut self.shards,
        }
    }

    /// Adds a listener; the client's own sets are the caller's to keep.
    pub(crate) fn add(&mut self, way: Way, name: &[u8], id: u64) {
        self.of(way).entry(Box::from(name)).or_default().insert(id);
    }

    pub(crate) fn drop_one(&mut self, way: Way, name: &[u8], id: u64) {
        let map = self.of(way);
        if map.get_mut(name).is_some_and(|listeners| listeners.remove(id)) {
            map.remove(name);
        }
    }

    /// A client goes: nothing of it stays.
    pub(crate) fn forget(&mut self, client: &Client) {
        for (way, names) in [
            (Way::Channel, &client.channels),
            (Way::Pattern, &client.patterns),
            (Way::Shard, &client.shard_channels),
        ] {
            for name in names {
                self.drop_one(way, name, client.id);
            }
        }
    }
}

/// Delivers to channel and pattern listeners; gives how many there were.
pub(crate) fn publish(core: &mut Core, channel: &[u8], payload: &[u8]) -> usize {
    let mut to: Vec<(u64, Option<Box<[u8]>>)> = Vec::new();
    if let Some(listeners) = core.pubsub.channels.get(channel) {
        to.extend(listeners.iter().map(|id| (id, None)));
    }
    for (pattern, listeners) in &core.pubsub.patterns {
        if glob::matches(pattern, channel, false) {
            to.extend(listeners.iter().map(|id| (id, Some(pattern.clone()))));
        }
    }
    for (id, pattern) in &to {
        deliver(core, *id, |out| match pattern {
            None => message(out, b"message", channel, payload),
            Some(pattern) => {
                out.push(4);
                out.bulk(b"pmessage");
                out.bulk(pattern);
                out.bulk(channel);
                out.bulk(payload);
            }
        });
    }
    to.len()
}

/// Delivers to listeners of a shard channel.
pub(crate) fn publish_shard(core: &mut Core, channel: &[u8], payload: &[u8]) -> usize {
    let ids: Vec<u64> =
        core.pubsub.shards.get(channel).map(|s| s.iter().collect()).unwrap_or_default();
    for id in &ids {
        deliver(core, *id, |out| message(out, b"smessage", channel, payload));
    }
    ids.len()
}

fn message(out: &mut Out, kind: &[u8], channel: &[u8], payload: &[u8]) {
    out.push(3);
    out.bulk(kind);
    out.bulk(channel);
    out.bulk(payload);
}

/// Puts a push into a client's buffer and wakes its door.
pub(crate) fn deliver(core: &mut Core, id: u64, write: impl FnOnce(&mut Out)) {
    if id == core.current {
        let mut out = Out::new(core.current_resp3);
        write(&mut out);
        core.self_push.append(&mut out.buf);
        return;
    }
    let max = core.config.pubsub_buffer_max;
    let Some(client) = core.clients.get_mut(id) else { return };
    write(&mut client.out);
    if max > 0 && client.waiting_bytes() > max {
        client.out.buf = Vec::new();
        client.closing = true;
    }
    client.wake.ring();
}
