//! Client-side caching: which client has read which key, and the message it gets when that key changes.
//! Messages wait in an outbox until the running command's reply is written.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::commands::table::{Spec, flag};
use crate::core::Core;
use crate::core::client::Client;
use crate::core::pubsub;

/// How one client tracks.
#[derive(Debug, Default)]
pub(crate) struct ClientTracking {
    /// The client that gets the messages; 0 for itself.
    pub(crate) redirect: u64,
    pub(crate) bcast: bool,
    pub(crate) optin: bool,
    pub(crate) optout: bool,
    pub(crate) noloop: bool,
    /// `CLIENT CACHING` was said for the next command.
    pub(crate) caching: bool,
    pub(crate) broken_redirect: bool,
    pub(crate) prefixes: BTreeSet<Vec<u8>>,
}

/// Clients of one prefix, and what changed since they were told.
#[derive(Debug, Default)]
pub(crate) struct Broadcast {
    pub(crate) clients: BTreeSet<u64>,
    /// Key, and the client that changed it.
    changed: BTreeMap<Vec<u8>, u64>,
}

/// A message to be sent: client, who made the change, and key; no key: everything.
type Letter = (u64, u64, Option<Box<[u8]>>);

/// The tracking of all clients.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    /// Number of clients that track.
    pub(crate) clients: usize,
    readers: HashMap<Box<[u8]>, BTreeSet<u64>>,
    pub(crate) prefixes: BTreeMap<Vec<u8>, Broadcast>,
    outbox: Vec<Letter>,
    broadcast_due: bool,
    /// The running script has read something.
    script_reads: bool,
    /// The running client, when the keys it reads are to be remembered.
    pub(crate) reader: Option<u64>,
}

impl Tracking {
    pub(crate) fn keys(&self) -> usize {
        self.readers.len()
    }

    pub(crate) fn items(&self) -> usize {
        self.readers.values().map(BTreeSet::len).sum()
    }

    pub(crate) fn prefixes(&self) -> usize {
        self.prefixes.len()
    }

    /// Whether [`Core::send_invalidations`] has work.
    pub(crate) fn due(&self) -> bool {
        self.broadcast_due || !self.outbox.is_empty()
    }
}

impl ClientTracking {
    /// Whether keys read by the next command are to be remembered.
    pub(crate) fn remembers(&self) -> bool {
        !self.bcast && if self.optin { self.caching } else { !(self.optout && self.caching) }
    }
}

impl Core {
    /// The running client read these keys. A script that reads anything has read all the keys it was given.
    pub(crate) fn remember_read(&mut self, spec: &'static Spec, argv: &[&[u8]], in_script: bool) {
        let tracking = &mut self.admin.tracking;
        let Some(id) = tracking.reader else { return };
        let script = spec.group == "scripting";
        let reads = spec.has(flag::READONLY) && !spec.has(flag::PUBSUB) && !script;
        if in_script {
            tracking.script_reads |= reads;
            return;
        }
        let script_reads = std::mem::take(&mut tracking.script_reads);
        let read_something = if script { script_reads } else { reads };
        if !read_something {
            return;
        }
        for key in spec.keys_of(argv) {
            let key = Box::from(argv[key.at]);
            self.admin.tracking.readers.entry(key).or_default().insert(id);
        }
        self.limit_tracking();
    }

    /// Forgets keys beyond the limit; their readers are told as if they had changed.
    pub(crate) fn limit_tracking(&mut self) {
        let max = self.config.tracking_table_max_keys;
        while max > 0 && self.admin.tracking.readers.len() > max {
            let Some(key) = self.admin.tracking.readers.keys().next().cloned() else { return };
            self.invalidate_readers(&key);
        }
    }

    /// `key` changed: whoever has read it is told.
    #[cold]
    pub(crate) fn invalidate(&mut self, key: &[u8]) {
        let by = self.current;
        let tracking = &mut self.admin.tracking;
        for (prefix, broadcast) in &mut tracking.prefixes {
            if key.starts_with(prefix) {
                broadcast.changed.insert(key.to_vec(), by);
                tracking.broadcast_due = true;
            }
        }
        self.invalidate_readers(key);
    }

    fn invalidate_readers(&mut self, key: &[u8]) {
        let Some(ids) = self.admin.tracking.readers.remove(key) else { return };
        let by = self.current;
        let outbox = &mut self.admin.tracking.outbox;
        outbox.extend(ids.into_iter().map(|id| (id, by, Some(Box::from(key)))));
    }

    /// Everything changed.
    pub(crate) fn invalidate_all(&mut self) {
        self.admin.tracking.readers.clear();
        if self.admin.tracking.clients == 0 {
            return;
        }
        let tracking = |client: &&Client| client.tracking.is_some();
        let mut ids: Vec<u64> =
            self.clients.iter().filter(tracking).map(|client| client.id).collect();
        ids.push(self.current);
        self.admin.tracking.outbox.extend(ids.into_iter().map(|id| (id, 0, None)));
    }

    /// Sends what waits. All clients are seated.
    #[cold]
    pub(crate) fn send_invalidations(&mut self) {
        for (id, by, key) in std::mem::take(&mut self.admin.tracking.outbox) {
            let Some(tracking) = self.clients.get(id).and_then(|c| c.tracking.as_deref()) else {
                continue;
            };
            if key.is_some() && (tracking.bcast || (tracking.noloop && id == by)) {
                continue;
            }
            let keys: Option<Vec<&[u8]>> = key.as_deref().map(|key| vec![key]);
            self.send_invalidation(id, keys.as_deref());
        }
        if !std::mem::take(&mut self.admin.tracking.broadcast_due) {
            return;
        }
        let mut letters: Vec<(u64, Vec<Vec<u8>>)> = Vec::new();
        for broadcast in self.admin.tracking.prefixes.values_mut() {
            let changed = std::mem::take(&mut broadcast.changed);
            if changed.is_empty() {
                continue;
            }
            for id in &broadcast.clients {
                let tracking = self.clients.get(*id).and_then(|c| c.tracking.as_deref());
                let noloop = tracking.is_some_and(|t| t.noloop);
                let keys = changed.iter().filter(|(_, by)| !(noloop && *by == id));
                let keys: Vec<Vec<u8>> = keys.map(|(key, _)| key.clone()).collect();
                if !keys.is_empty() {
                    letters.push((*id, keys));
                }
            }
        }
        for (id, keys) in letters {
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            self.send_invalidation(id, Some(&keys));
        }
    }

    fn send_invalidation(&mut self, id: u64, keys: Option<&[&[u8]]>) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let Some(tracking) = client.tracking.as_deref_mut() else { return };
        let redirect = tracking.redirect;
        let mut to = id;
        if redirect != 0 {
            if self.clients.get(redirect).is_none_or(|client| client.closing) {
                let Some(client) = self.clients.get_mut(id) else { return };
                if let Some(tracking) = client.tracking.as_deref_mut() {
                    tracking.broken_redirect = true;
                }
                if client.out.resp3 {
                    pubsub::deliver(self, id, |out| {
                        out.push(2);
                        out.bulk(b"tracking-redir-broken");
                        out.int(i64::try_from(redirect).unwrap_or(i64::MAX));
                    });
                }
                return;
            }
            to = redirect;
        }
        let Some(target) = self.clients.get(to) else { return };
        let (resp3, subscribed) = (target.out.resp3, target.subscribed());
        let by_channel = redirect != 0 && subscribed;
        if !resp3 && !by_channel {
            return;
        }
        pubsub::deliver(self, to, |out| {
            if resp3 {
                out.push(2);
                out.bulk(b"invalidate");
            } else {
                out.push(3);
                out.bulk(b"message");
                out.bulk(b"__redis__:invalidate");
            }
            match keys {
                None => out.null(),
                Some(keys) => {
                    out.array(keys.len());
                    for key in keys {
                        out.bulk(key);
                    }
                }
            }
        });
    }

    /// The client tracks no more.
    pub(crate) fn stop_tracking(&mut self, client: &mut Client) {
        let Some(old) = client.tracking.take() else { return };
        let tracking = &mut self.admin.tracking;
        tracking.clients -= 1;
        for prefix in &old.prefixes {
            if let Some(broadcast) = tracking.prefixes.get_mut(prefix) {
                broadcast.clients.remove(&client.id);
                if broadcast.clients.is_empty() {
                    tracking.prefixes.remove(prefix);
                }
            }
        }
    }
}
