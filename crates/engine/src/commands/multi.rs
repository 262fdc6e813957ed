//! Transactions: `MULTI EXEC DISCARD WATCH UNWATCH`.

use crate::commands::ctx::Ctx;
use crate::commands::table::Run::{self, Host, Plain};
use crate::core::Core;
use crate::core::client::{Client, Multi};
use crate::error::{Outcome, ReplyError};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("multi", Plain(multi)),
    ("exec", Host(|inner, client, _| inner.exec(client))),
    ("discard", Plain(discard)),
    ("watch", Plain(watch)),
    ("unwatch", Plain(unwatch)),
];

fn multi(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    if cx.client.multi.is_some() {
        return Err(ReplyError::fixed("ERR MULTI calls can not be nested"));
    }
    cx.client.multi = Some(Multi::default());
    cx.out.ok();
    Ok(())
}

fn discard(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    if cx.client.multi.take().is_none() {
        return Err(ReplyError::fixed("ERR DISCARD without MULTI"));
    }
    cx.core.unwatch(cx.client);
    cx.out.ok();
    Ok(())
}

fn watch(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if cx.client.multi.is_some() {
        return Err(ReplyError::fixed("ERR WATCH inside MULTI is not allowed"));
    }
    let db = cx.core.db;
    for key in &argv[1..] {
        if cx.client.watching.iter().any(|(at, known)| *at == db && **known == **key) {
            continue;
        }
        // A key that is over already is gone for the watcher too; its later deletion changes nothing.
        cx.core.expire_if_due(key);
        let watchers = cx.core.dbs[db].watched.entry(Box::from(*key)).or_default();
        watchers.push(cx.client.id);
        cx.client.watching.push((db, Box::from(*key)));
    }
    cx.out.ok();
    Ok(())
}

fn unwatch(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.core.unwatch(cx.client);
    cx.out.ok();
    Ok(())
}

impl Core {
    /// Whether a watched key changed, or its life ended.
    pub(crate) fn watches_broken(&mut self, client: &Client) -> bool {
        if self.watch_broken.contains(&client.id) {
            return true;
        }
        let now = self.now;
        client
            .watching
            .iter()
            .any(|(db, key)| self.dbs[*db].keys.expire_at(key).is_some_and(|at| at <= now))
    }

    /// Forgets what a client watches.
    pub(crate) fn unwatch(&mut self, client: &mut Client) {
        for (db, key) in client.watching.drain(..) {
            let watched = &mut self.dbs[db].watched;
            if let Some(watchers) = watched.get_mut(&key) {
                watchers.retain(|id| *id != client.id);
                if watchers.is_empty() {
                    watched.remove(&key);
                }
            }
        }
        self.watch_broken.remove(&client.id);
    }
}
