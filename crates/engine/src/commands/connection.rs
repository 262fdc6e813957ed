//! Connections: `PING ECHO SELECT HELLO QUIT RESET MONITOR`. `AUTH` is with the users, `CLIENT …` in `client`.

use std::sync::Arc;

use crate::commands::acl::log_in;
use crate::commands::client::set_name;
use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::core::client::Replies;
use crate::data::num;
use crate::error::{Outcome, ReplyError};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("ping", Plain(ping)),
    ("echo", Plain(echo)),
    ("select", Plain(select)),
    ("quit", Plain(quit)),
    ("hello", Plain(hello)),
    ("reset", Plain(reset)),
    ("monitor", Plain(monitor)),
];

fn ping(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if argv.len() > 2 {
        return Err(ReplyError::arity("ping"));
    }
    if !cx.out.resp3 && cx.client.subscribed() {
        cx.out.array(2);
        cx.out.bulk(b"pong");
        cx.out.bulk(argv.get(1).copied().unwrap_or_default());
    } else if let Some(text) = argv.get(1) {
        cx.out.bulk(text);
    } else {
        cx.out.status("PONG");
    }
    Ok(())
}

fn echo(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    cx.out.bulk(argv[1]);
    Ok(())
}

fn select(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let index = int(argv[1])?;
    if cx.core.config.cluster && index != 0 {
        return Err(ReplyError::fixed("ERR SELECT is not allowed in cluster mode"));
    }
    let db = usize::try_from(index).ok().filter(|db| *db < cx.core.dbs.len());
    let Some(db) = db else { return Err(ReplyError::fixed("ERR DB index is out of range")) };
    cx.client.db = db;
    cx.core.db = db;
    cx.out.ok();
    Ok(())
}

fn quit(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.client.closing = true;
    cx.out.ok();
    Ok(())
}

fn hello(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let mut version = None;
    if let Some(wanted) = argv.get(1) {
        version = match num::parse_i64(wanted) {
            Some(n @ 2..=3) => Some(n),
            Some(_) => return Err(ReplyError::fixed("NOPROTO unsupported protocol version")),
            None => {
                return Err(ReplyError::fixed(
                    "ERR Protocol version is not an integer or out of range",
                ));
            }
        };
    }
    let mut at = 2;
    while at < argv.len() {
        let left = argv.len() - at - 1;
        if is(argv[at], "auth") && left >= 2 {
            log_in(cx, argv[0], argv[at + 1], argv[at + 2])?;
            at += 3;
        } else if is(argv[at], "setname") && left >= 1 {
            set_name(cx, argv[at + 1])?;
            at += 2;
        } else {
            let option = String::from_utf8_lossy(argv[at]);
            return Err(ReplyError::new(format!("ERR Syntax error in HELLO option '{option}'")));
        }
    }
    if !cx.client.authenticated {
        return Err(ReplyError::fixed(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
             AUTH <user> <pass> option can be used to authenticate the client and select the RESP \
             protocol version at the same time",
        ));
    }
    if let Some(version) = version {
        cx.out.resp3 = version == 3;
        cx.client.out.resp3 = cx.out.resp3;
        cx.core.current_resp3 = cx.out.resp3;
    }
    cx.out.map(7);
    cx.out.bulk(b"server");
    cx.out.bulk(b"redis");
    cx.out.bulk(b"version");
    cx.out.bulk(crate::REDIS_VERSION.as_bytes());
    cx.out.bulk(b"proto");
    cx.out.int(if cx.out.resp3 { 3 } else { 2 });
    cx.out.bulk(b"id");
    cx.out.int(i64::try_from(cx.client.id).unwrap_or(i64::MAX));
    cx.out.bulk(b"mode");
    cx.out.bulk(if cx.core.config.cluster { b"cluster".as_slice() } else { b"standalone" });
    cx.out.bulk(b"role");
    cx.out.bulk(b"master");
    cx.out.bulk(b"modules");
    cx.out.array(0);
    Ok(())
}

fn reset(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.client.multi = None;
    cx.core.unwatch(cx.client);
    cx.core.pubsub.forget(cx.client);
    cx.client.channels.clear();
    cx.client.patterns.clear();
    cx.client.shard_channels.clear();
    cx.core.stop_tracking(cx.client);
    if std::mem::take(&mut cx.client.monitor) {
        cx.core.monitors -= 1;
    }
    cx.client.name.clear();
    cx.client.replies = Replies::On;
    cx.client.no_evict = false;
    cx.client.db = 0;
    cx.core.db = 0;
    if !cx.client.owner {
        cx.client.user = Arc::clone(cx.core.admin.users.default_user());
        cx.client.authenticated = cx.client.user.needs_no_password();
    }
    cx.out.resp3 = false;
    cx.client.out.resp3 = false;
    cx.core.current_resp3 = false;
    cx.out.status("RESET");
    Ok(())
}

fn monitor(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    if cx.client.deny_blocking {
        return Err(ReplyError::fixed("ERR MONITOR isn't allowed for DENY BLOCKING client"));
    }
    if !std::mem::replace(&mut cx.client.monitor, true) {
        cx.core.monitors += 1;
    }
    cx.out.ok();
    Ok(())
}
