//! Connections: `PING ECHO SELECT HELLO AUTH QUIT RESET CLIENT …`.

use crate::command::Run::{self, Plain};
use crate::ctx::{Ctx, int};
use crate::error::{Outcome, ReplyError};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("ping", Plain(ping)),
    ("echo", Plain(echo)),
    ("select", Plain(select)),
    ("quit", Plain(quit)),
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
