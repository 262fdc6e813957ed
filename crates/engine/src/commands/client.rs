//! `CLIENT …`: who is connected, and what can be done about it. Tracking of keys is in `core/tracking.rs`.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::help;
use crate::commands::table::Run::{self, Plain};
use crate::commands::tracking;
use crate::core::Core;
use crate::core::client::{Client, OnTimeout, Replies};
use crate::data::num;
use crate::error::{Outcome, ReplyError, SYNTAX};
use crate::exec::guard::Pause;

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("client|setname", Plain(client_setname)),
    ("client|getname", Plain(getname)),
    ("client|setinfo", Plain(setinfo)),
    ("client|id", Plain(id)),
    ("client|info", Plain(info)),
    ("client|list", Plain(list)),
    ("client|kill", Plain(kill)),
    ("client|unblock", Plain(unblock)),
    ("client|no-evict", Plain(no_evict)),
    ("client|reply", Plain(reply)),
    ("client|pause", Plain(pause)),
    ("client|unpause", Plain(unpause)),
    ("client|tracking", Plain(tracking::client_tracking)),
    ("client|caching", Plain(tracking::client_caching)),
    ("client|getredir", Plain(tracking::client_getredir)),
    ("client|trackinginfo", Plain(tracking::client_trackinginfo)),
    ("client|help", Plain(|cx, _| help::reply(cx, "CLIENT", HELP))),
];

const HELP: &[(&str, &str)] = &[
    ("CACHING (YES|NO)", "Whether the next command's keys are tracked, with OPTIN or OPTOUT."),
    ("GETREDIR", "The client that invalidations go to."),
    ("GETNAME", "The name of this connection."),
    ("ID", "The number of this connection."),
    ("INFO", "All about this connection."),
    ("KILL <ip:port>", "Close the connection from there."),
    (
        "KILL <option> <value> [<option> <value> [...]]",
        "Close connections by ADDR, LADDR, TYPE, USER or ID; SKIPME NO includes this one.",
    ),
    ("LIST [TYPE <type> | ID <id> [<id> ...]]", "All connections, or some."),
    ("UNPAUSE", "End a pause."),
    ("PAUSE <timeout> [WRITE|ALL]", "Let calls, or only writes, wait for so many milliseconds."),
    ("REPLY (ON|OFF|SKIP)", "Whether this connection is answered."),
    ("SETNAME <name>", "Name this connection."),
    ("SETINFO <LIB-NAME|LIB-VER> <value>", "Say which library this connection uses."),
    ("UNBLOCK <clientid> [TIMEOUT|ERROR]", "End the wait of a blocked connection."),
    (
        "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]] [OPTIN] [OPTOUT] [NOLOOP]",
        "Tell this connection when keys it has read change.",
    ),
    ("TRACKINGINFO", "How keys are tracked for this connection."),
    ("NO-EVICT (ON|OFF)", "Accepted; connections are never evicted."),
];

/// Characters that would break the lines of `CLIENT LIST`.
fn printable(text: &[u8]) -> bool {
    text.iter().all(|b| (b'!'..=b'~').contains(b))
}

/// Names the connection, or says why not.
pub(crate) fn set_name(cx: &mut Ctx<'_>, name: &[u8]) -> Outcome {
    if !printable(name) {
        return Err(ReplyError::fixed(
            "ERR Client names cannot contain spaces, newlines or special characters.",
        ));
    }
    cx.client.name = name.to_vec();
    Ok(())
}

fn client_setname(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    set_name(cx, argv[2])?;
    cx.out.ok();
    Ok(())
}

fn getname(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    if cx.client.name.is_empty() {
        cx.out.null();
    } else {
        cx.out.bulk(&cx.client.name);
    }
    Ok(())
}

fn setinfo(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (option, value) = (argv[2], argv[3]);
    let named = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let field = if is(option, "lib-name") {
        &mut cx.client.lib_name
    } else if is(option, "lib-ver") {
        &mut cx.client.lib_ver
    } else {
        return Err(ReplyError::new(format!("ERR Unrecognized option '{}'", named(option))));
    };
    if !printable(value) {
        return Err(ReplyError::new(format!(
            "ERR {} cannot contain spaces, newlines or special characters.",
            named(option)
        )));
    }
    *field = value.to_vec();
    cx.out.ok();
    Ok(())
}

fn id(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.int(i64::try_from(cx.client.id).unwrap_or(i64::MAX));
    Ok(())
}

fn info(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let line = cx.core.client_info(cx.client) + "\n";
    cx.out.verbatim("txt", line.as_bytes());
    Ok(())
}

/// Kinds of clients, as `TYPE` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientType {
    Normal,
    PubSub,
    /// Masters and replicas: the engine has none.
    Absent,
}

impl ClientType {
    fn named(name: &[u8]) -> Result<Self, ReplyError> {
        Ok(match name.to_ascii_lowercase().as_slice() {
            b"normal" => ClientType::Normal,
            b"pubsub" => ClientType::PubSub,
            b"master" | b"slave" | b"replica" => ClientType::Absent,
            _ => {
                let name = String::from_utf8_lossy(name);
                return Err(ReplyError::new(format!("ERR Unknown client type '{name}'")));
            }
        })
    }

    fn of(client: &Client) -> Self {
        if client.subscribed() { ClientType::PubSub } else { ClientType::Normal }
    }
}

/// Every open connection in order of age, the running one included.
fn everyone<'a>(core: &'a Core, running: &'a Client) -> Vec<&'a Client> {
    let others = core.clients.iter().filter(|client| !client.closing);
    let mut all: Vec<&Client> = others.chain([running]).collect();
    all.sort_by_key(|client| client.id);
    all
}

fn list(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let mut kind = None;
    let mut ids = None;
    match argv {
        [_, _] => {}
        [_, _, word, name] if is(word, "type") => kind = Some(ClientType::named(name)?),
        [_, _, word, wanted @ ..] if is(word, "id") && !wanted.is_empty() => {
            let parse =
                |id: &&[u8]| num::parse_i64(id).ok_or(ReplyError::fixed("ERR Invalid client ID"));
            ids = Some(wanted.iter().map(parse).collect::<Result<Vec<i64>, _>>()?);
        }
        _ => return Err(SYNTAX),
    }
    let all = everyone(cx.core, cx.client);
    let mut chosen: Vec<&Client> = Vec::new();
    if let Some(ids) = ids {
        for id in ids {
            chosen.extend(all.iter().find(|client| i64::try_from(client.id) == Ok(id)));
        }
    } else {
        chosen.extend(
            all.iter().filter(|client| kind.is_none_or(|kind| kind == ClientType::of(client))),
        );
    }
    let text: String = chosen.iter().map(|client| cx.core.client_info(client) + "\n").collect();
    cx.out.verbatim("txt", text.as_bytes());
    Ok(())
}

/// The conditions of `CLIENT KILL`.
#[derive(Default)]
struct Filter<'a> {
    id: Option<i64>,
    kind: Option<ClientType>,
    addr: Option<&'a [u8]>,
    laddr: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
}

impl Filter<'_> {
    fn fits(&self, client: &Client) -> bool {
        self.id.is_none_or(|id| i64::try_from(client.id) == Ok(id))
            && self.kind.is_none_or(|kind| kind == ClientType::of(client))
            && self.addr.is_none_or(|addr| addr == client.addr.as_bytes())
            && self.laddr.is_none_or(|laddr| laddr == client.laddr.as_bytes())
            && self.user.is_none_or(|user| user == client.user.name)
    }
}

fn kill(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let mut filter = Filter::default();
    let mut skip_me = true;
    let old_form = argv.len() == 3;
    if old_form {
        filter.addr = Some(argv[2]);
        skip_me = false;
    } else {
        if !argv.len().is_multiple_of(2) {
            return Err(SYNTAX);
        }
        for pair in argv[2..].chunks(2) {
            kill_option(cx, &mut filter, &mut skip_me, pair[0], pair[1])?;
        }
    }
    let me = cx.client.id;
    let all = everyone(cx.core, cx.client);
    let found: Vec<u64> = all
        .iter()
        .filter(|client| filter.fits(client) && !(skip_me && client.id == me))
        .map(|client| client.id)
        .collect();
    for id in &found {
        if *id == me {
            cx.client.closing = true;
        } else {
            cx.core.kill(*id);
        }
    }
    match (old_form, found.len()) {
        (true, 0) => return Err(ReplyError::fixed("ERR No such client")),
        (true, _) => cx.out.ok(),
        (false, n) => cx.out.len(n),
    }
    Ok(())
}

fn kill_option<'a>(
    cx: &Ctx<'_>,
    filter: &mut Filter<'a>,
    skip_me: &mut bool,
    option: &[u8],
    value: &'a [u8],
) -> Outcome {
    match option.to_ascii_lowercase().as_slice() {
        b"id" => {
            let id = num::parse_i64(value).filter(|id| *id >= 1);
            filter.id =
                Some(id.ok_or(ReplyError::fixed("ERR client-id should be greater than 0"))?);
        }
        b"type" => filter.kind = Some(ClientType::named(value)?),
        b"addr" => filter.addr = Some(value),
        b"laddr" => filter.laddr = Some(value),
        b"user" => {
            if cx.core.admin.users.get(value).is_none() {
                let name = String::from_utf8_lossy(value);
                return Err(ReplyError::new(format!("ERR No such user '{name}'")));
            }
            filter.user = Some(value);
        }
        b"skipme" if is(value, "yes") => *skip_me = true,
        b"skipme" if is(value, "no") => *skip_me = false,
        _ => return Err(SYNTAX),
    }
    Ok(())
}

fn unblock(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let with_error = match argv.get(3) {
        None => false,
        Some(word) if is(word, "timeout") => false,
        Some(word) if is(word, "error") => true,
        Some(_) => {
            return Err(ReplyError::fixed("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"));
        }
    };
    if argv.len() > 4 {
        return Err(ReplyError::wrong_sub_args("CLIENT", argv[1]));
    }
    let id = u64::try_from(int(argv[2])?).unwrap_or(0);
    let target = cx.core.clients.get_mut(id);
    let waits = target.and_then(|client| client.blocked.as_mut()).filter(|b| !b.paused);
    let Some(blocked) = waits else {
        cx.out.int(0);
        return Ok(());
    };
    if with_error {
        const TEXT: &str = "UNBLOCKED client unblocked via CLIENT UNBLOCK";
        blocked.on_timeout = OnTimeout::Run;
        let spec = blocked.spec;
        cx.core.time_out(id);
        if let Some(client) = cx.core.clients.get_mut(id) {
            client.out.error(TEXT);
        }
        cx.core.stats.error(TEXT.as_bytes());
        cx.core.stats.of(spec).failed += 1;
    } else {
        cx.core.time_out(id);
    }
    cx.out.int(1);
    Ok(())
}

fn no_evict(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    cx.client.no_evict = match argv[2] {
        word if is(word, "on") => true,
        word if is(word, "off") => false,
        _ => return Err(SYNTAX),
    };
    cx.out.ok();
    Ok(())
}

fn reply(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    match argv[2] {
        word if is(word, "on") => {
            cx.client.replies = Replies::On;
            cx.out.ok();
        }
        word if is(word, "off") => cx.client.replies = Replies::Off,
        word if is(word, "skip") => {
            if cx.client.replies != Replies::Off {
                cx.client.replies = Replies::SkipNext;
            }
        }
        _ => return Err(SYNTAX),
    }
    Ok(())
}

fn pause(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let write_only = match argv {
        [_, _, _] => false,
        [_, _, _, word] if is(word, "all") => false,
        [_, _, _, word] if is(word, "write") => true,
        [_, _, _, _] => {
            return Err(ReplyError::fixed("ERR CLIENT PAUSE mode must be WRITE or ALL"));
        }
        _ => return Err(ReplyError::wrong_sub_args("CLIENT", argv[1])),
    };
    let ms = num::parse_i64(argv[2])
        .ok_or(ReplyError::fixed("ERR timeout is not an integer or out of range"))?;
    if ms < 0 {
        return Err(ReplyError::fixed("ERR timeout is negative"));
    }
    let until = cx.core.now.checked_add(ms);
    let until = until.ok_or(ReplyError::fixed("ERR timeout is out of range"))?;
    let old = cx.core.pause;
    let running = cx.core.paused();
    cx.core.pause = Pause {
        until_ms: if running { old.until_ms.max(until) } else { until },
        write_only: write_only && (!running || old.write_only),
    };
    cx.out.ok();
    Ok(())
}

fn unpause(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.core.pause = Pause::default();
    cx.core.admin.resume = true;
    cx.out.ok();
    Ok(())
}

impl Core {
    /// Closes a client that is not the running one. It listens and waits for nothing from now on.
    pub(crate) fn kill(&mut self, id: u64) {
        let Some(seat) = self.clients.seat(id) else { return };
        let Some(mut client) = self.clients.try_take(seat) else { return };
        self.detach(&mut client);
        client.out.buf = Vec::new();
        client.closing = true;
        client.wake.ring();
        self.clients.put(seat, client);
    }

    /// Takes a client off everything that could reach it.
    pub(crate) fn detach(&mut self, client: &mut Client) {
        self.unwatch(client);
        self.pubsub.forget(client);
        client.channels.clear();
        client.patterns.clear();
        client.shard_channels.clear();
        self.stop_tracking(client);
        if let Some(blocked) = client.blocked.take() {
            self.forget_waiter(client.id, &blocked);
        }
        if std::mem::take(&mut client.monitor) {
            self.monitors -= 1;
        }
    }

    /// A line of `CLIENT LIST`.
    pub(crate) fn client_info(&self, client: &Client) -> String {
        let mut flags = String::new();
        let mut flag = |letter, set: bool| {
            if set {
                flags.push(letter);
            }
        };
        let tracking = client.tracking.as_deref();
        flag('O', client.monitor);
        flag('P', client.subscribed());
        flag('x', client.multi.is_some());
        flag('b', client.blocked.is_some());
        flag('t', tracking.is_some());
        flag('R', tracking.is_some_and(|t| t.broken_redirect));
        flag('B', tracking.is_some_and(|t| t.bcast));
        flag('d', self.watch_broken.contains(&client.id));
        flag('c', client.closing);
        flag('e', client.no_evict);
        if flags.is_empty() {
            flags.push('N');
        }
        let queued = client.multi.as_ref().map_or(-1, |multi| multi.queue.len() as i64);
        let queued_bytes: usize = client
            .multi
            .iter()
            .flat_map(|multi| &multi.queue)
            .flat_map(|call| &call.argv)
            .map(|arg| arg.len())
            .sum();
        let seconds = |since: i64| ((self.now - since) / 1000).max(0);
        let waiting = client.out.buf.len();
        format!(
            "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={flags} db={} sub={} psub={} \
             ssub={} multi={queued} qbuf={} qbuf-free=0 argv-mem=0 multi-mem={queued_bytes} rbs={} \
             rbp={waiting} obl={waiting} oll=0 omem={} tot-mem={} events=r cmd={} user={} redir={} resp={}",
            client.id,
            client.addr,
            client.laddr,
            client.fd,
            String::from_utf8_lossy(&client.name),
            seconds(client.created_ms),
            seconds(client.last_ms),
            client.db,
            client.channels.len(),
            client.patterns.len(),
            client.shard_channels.len(),
            client.query_bytes,
            client.out.buf.capacity(),
            if waiting == 0 { 0 } else { client.out.buf.capacity() },
            size_of::<Client>() + client.out.buf.capacity() + queued_bytes,
            client.last_command.map_or("NULL", |spec| spec.full_name),
            String::from_utf8_lossy(&client.user.name),
            tracking.map_or(-1, |t| t.redirect as i64),
            if client.out.resp3 { 3 } else { 2 },
        )
    }
}
