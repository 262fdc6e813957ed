//! Client-side caching: which client has read which key, and the message it gets when that key changes.
//! Messages wait in an outbox until the running command's reply is written.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::client::Client;
use crate::command::{Spec, flag};
use crate::core::Core;
use crate::ctx::{Ctx, int, is};
use crate::error::{Outcome, ReplyError, SYNTAX};
use crate::pubsub;

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
struct Broadcast {
    clients: BTreeSet<u64>,
    /// Key, and the client that changed it.
    changed: BTreeMap<Vec<u8>, u64>,
}

/// A message to be sent: client, who made the change, and key; no key: everything.
type Letter = (u64, u64, Option<Box<[u8]>>);

/// What all clients track.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    /// Number of clients that track.
    pub(crate) clients: usize,
    readers: HashMap<Box<[u8]>, BTreeSet<u64>>,
    prefixes: BTreeMap<Vec<u8>, Broadcast>,
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

const BROKEN_SWITCH: ReplyError = ReplyError::fixed(
    "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then \
     re-enabling it with a different mode.",
);
const BROKEN_OPT: ReplyError = ReplyError::fixed(
    "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then \
     re-enabling it with a different mode.",
);

pub(crate) fn client_tracking(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let mut wanted = ClientTracking::default();
    let mut prefixes: Vec<&[u8]> = Vec::new();
    let mut at = 3;
    while at < argv.len() {
        let more = at + 1 < argv.len();
        if is(argv[at], "redirect") && more {
            at += 1;
            if wanted.redirect != 0 {
                return Err(ReplyError::fixed(
                    "ERR A client can only redirect to a single other client",
                ));
            }
            wanted.redirect = u64::try_from(int(argv[at])?).unwrap_or(u64::MAX);
            let known = |id| cx.core.clients.get(id).is_some_and(|c| !c.closing);
            if wanted.redirect != cx.client.id && !known(wanted.redirect) {
                return Err(ReplyError::fixed(
                    "ERR The client ID you want redirect to does not exist",
                ));
            }
        } else if is(argv[at], "bcast") {
            wanted.bcast = true;
        } else if is(argv[at], "optin") {
            wanted.optin = true;
        } else if is(argv[at], "optout") {
            wanted.optout = true;
        } else if is(argv[at], "noloop") {
            wanted.noloop = true;
        } else if is(argv[at], "prefix") && more {
            at += 1;
            prefixes.push(argv[at]);
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    if is(argv[2], "on") {
        start(cx, wanted, &prefixes)?;
    } else if is(argv[2], "off") {
        cx.core.stop_tracking(cx.client);
    } else {
        return Err(SYNTAX);
    }
    cx.out.ok();
    Ok(())
}

fn start(cx: &mut Ctx<'_>, mut wanted: ClientTracking, prefixes: &[&[u8]]) -> Outcome {
    if !wanted.bcast && !prefixes.is_empty() {
        return Err(ReplyError::fixed("ERR PREFIX option requires BCAST mode to be enabled"));
    }
    let old = cx.client.tracking.as_deref();
    if old.is_some_and(|old| old.bcast != wanted.bcast) {
        return Err(BROKEN_SWITCH);
    }
    if wanted.bcast && (wanted.optin || wanted.optout) {
        return Err(ReplyError::fixed("ERR OPTIN and OPTOUT are not compatible with BCAST"));
    }
    if wanted.optin && wanted.optout {
        return Err(ReplyError::fixed("ERR You can't specify both OPTIN mode and OPTOUT mode"));
    }
    if old.is_some_and(|old| (wanted.optin && old.optout) || (wanted.optout && old.optin)) {
        return Err(BROKEN_OPT);
    }
    let known = old.map(|old| old.prefixes.clone()).unwrap_or_default();
    if wanted.bcast {
        no_overlap(&known, prefixes)?;
    }
    let id = cx.client.id;
    let tracking = &mut cx.core.admin.tracking;
    tracking.clients += usize::from(old.is_none());
    wanted.prefixes = known;
    if wanted.bcast {
        let whole: &[&[u8]] = &[b""];
        for prefix in if prefixes.is_empty() { whole } else { prefixes } {
            wanted.prefixes.insert(prefix.to_vec());
            tracking.prefixes.entry(prefix.to_vec()).or_default().clients.insert(id);
        }
    }
    cx.client.tracking = Some(Box::new(wanted));
    Ok(())
}

fn no_overlap(known: &BTreeSet<Vec<u8>>, prefixes: &[&[u8]]) -> Outcome {
    let overlap = |a: &[u8], b: &[u8]| a.starts_with(b) || b.starts_with(a);
    let show = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    for (i, prefix) in prefixes.iter().enumerate() {
        if let Some(other) = known.iter().find(|other| overlap(other, prefix)) {
            return Err(ReplyError::new(format!(
                "ERR Prefix '{}' overlaps with an existing prefix '{}'. Prefixes for a single client \
                 must not overlap.",
                show(prefix),
                show(other)
            )));
        }
        if let Some(other) = prefixes[i + 1..].iter().find(|other| overlap(other, prefix)) {
            return Err(ReplyError::new(format!(
                "ERR Prefix '{}' overlaps with another provided prefix '{}'. Prefixes for a single \
                 client must not overlap.",
                show(prefix),
                show(other)
            )));
        }
    }
    Ok(())
}

pub(crate) fn client_caching(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let Some(tracking) = cx.client.tracking.as_deref_mut() else {
        return Err(ReplyError::fixed(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or \
             OPTOUT mode enabled",
        ));
    };
    if is(argv[2], "yes") {
        if !tracking.optin {
            return Err(ReplyError::fixed(
                "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
            ));
        }
    } else if is(argv[2], "no") {
        if !tracking.optout {
            return Err(ReplyError::fixed(
                "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
            ));
        }
    } else {
        return Err(SYNTAX);
    }
    tracking.caching = true;
    cx.out.ok();
    Ok(())
}

pub(crate) fn client_getredir(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let redirect = cx.client.tracking.as_deref().map(|tracking| tracking.redirect);
    cx.out.int(redirect.map_or(-1, |id| i64::try_from(id).unwrap_or(i64::MAX)));
    Ok(())
}

pub(crate) fn client_trackinginfo(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let mut flags: Vec<&str> = Vec::new();
    match cx.client.tracking.as_deref() {
        None => flags.push("off"),
        Some(tracking) => {
            let caching = tracking.caching;
            for (flag, set) in [
                ("on", true),
                ("bcast", tracking.bcast),
                ("optin", tracking.optin),
                ("caching-yes", tracking.optin && caching),
                ("optout", tracking.optout),
                ("caching-no", tracking.optout && caching),
                ("noloop", tracking.noloop),
                ("broken_redirect", tracking.broken_redirect),
            ] {
                if set {
                    flags.push(flag);
                }
            }
        }
    }
    cx.out.map(3);
    cx.out.bulk(b"flags");
    cx.out.set(flags.len());
    for flag in flags {
        cx.out.bulk(flag.as_bytes());
    }
    cx.out.bulk(b"redirect");
    client_getredir(cx, &[])?;
    cx.out.bulk(b"prefixes");
    let prefixes = cx.client.tracking.as_deref().map(|t| &t.prefixes);
    cx.out.array(prefixes.map_or(0, BTreeSet::len));
    for prefix in prefixes.into_iter().flatten() {
        cx.out.bulk(prefix);
    }
    Ok(())
}
