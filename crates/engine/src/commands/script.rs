//! Scripts: `EVAL EVALSHA EVAL_RO EVALSHA_RO SCRIPT`.

use crate::commands::ctx::{self, Ctx, is};
use crate::commands::table::Run::{self, Host, Plain};
use crate::core::client::Client;
use crate::error::{Outcome, ReplyError};
use crate::exec::LockedEngine;
use crate::lua::host::Call;
use crate::lua::watch::Kill;

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("eval", Host(|inner, client, argv| eval(inner, client, argv, false))),
    ("eval_ro", Host(|inner, client, argv| eval(inner, client, argv, true))),
    ("evalsha", Host(|inner, client, argv| evalsha(inner, client, argv, false))),
    ("evalsha_ro", Host(|inner, client, argv| evalsha(inner, client, argv, true))),
    ("script|load", Host(load)),
    ("script|exists", Host(exists)),
    ("script|flush", Host(flush)),
    ("script|kill", Host(|inner, client, _| kill(inner, client, true))),
    ("script|debug", Plain(debug)),
    ("script|help", Plain(help)),
];

/// How many of the arguments behind the number are keys.
pub(crate) fn key_count(count: i64, argv: &[&[u8]]) -> Result<usize, ReplyError> {
    let Ok(count) = usize::try_from(count) else {
        return Err(ReplyError::fixed("ERR Number of keys can't be negative"));
    };
    if count > argv.len() - 3 {
        return Err(ReplyError::fixed("ERR Number of keys can't be greater than number of args"));
    }
    Ok(count)
}

fn eval(inner: &mut LockedEngine, client: &mut Client, argv: &[&[u8]], read_only: bool) -> Outcome {
    let keys = key_count(ctx::int(argv[2])?, argv)?;
    let sha = inner.lua.load_script(argv[1])?;
    recount(inner);
    run(inner, client, argv, &sha, keys, read_only)
}

fn evalsha(
    inner: &mut LockedEngine,
    client: &mut Client,
    argv: &[&[u8]],
    read_only: bool,
) -> Outcome {
    if argv[1].len() != 40 {
        return Err(NO_SCRIPT);
    }
    let keys = key_count(ctx::int(argv[2])?, argv)?;
    run(inner, client, argv, argv[1], keys, read_only)
}

const NO_SCRIPT: ReplyError = ReplyError::fixed("NOSCRIPT No matching script. Please use EVAL.");

fn run(
    inner: &mut LockedEngine,
    client: &mut Client,
    argv: &[&[u8]],
    sha: &[u8],
    keys: usize,
    read_only: bool,
) -> Outcome {
    let (sha, function, flags) = inner.lua.script(sha).ok_or(NO_SCRIPT)?;
    let call = Call { name: &sha, function, flags, read_only, argv, keys, eval: true };
    start(inner, client, &call)
}

/// Tells the core how much the Lua host keeps.
pub(crate) fn recount(inner: &mut LockedEngine) {
    inner.core().script_counts = inner.lua.counts();
}

/// Runs a script or function on the core.
pub(crate) fn start(inner: &mut LockedEngine, client: &mut Client, call: &Call<'_>) -> Outcome {
    let core = inner.lend();
    let (core, outcome) = inner.lua.run(core, client, call);
    inner.give_back(core);
    outcome
}

fn load(inner: &mut LockedEngine, client: &mut Client, argv: &[&[u8]]) -> Outcome {
    let sha = inner.lua.load_script(argv[2])?;
    recount(inner);
    client.out.bulk(&sha);
    Ok(())
}

fn exists(inner: &mut LockedEngine, client: &mut Client, argv: &[&[u8]]) -> Outcome {
    client.out.array(argv.len() - 2);
    for sha in &argv[2..] {
        client.out.flag(inner.lua.knows(sha));
    }
    Ok(())
}

fn flush(inner: &mut LockedEngine, client: &mut Client, argv: &[&[u8]]) -> Outcome {
    match argv.get(2) {
        None => {}
        Some(mode) if argv.len() == 3 && (is(mode, "sync") || is(mode, "async")) => {}
        Some(_) => {
            return Err(ReplyError::fixed("ERR SCRIPT FLUSH only support SYNC|ASYNC option"));
        }
    }
    inner.lua.flush_scripts();
    recount(inner);
    client.out.ok();
    Ok(())
}

/// `SCRIPT KILL` and `FUNCTION KILL`. Whoever holds the lock finds nothing running; the doors ask before
/// they take it.
pub(crate) fn kill(inner: &mut LockedEngine, client: &mut Client, eval: bool) -> Outcome {
    match inner.lua.watch.kill(eval) {
        Kill::Done => {
            client.out.ok();
            Ok(())
        }
        Kill::NothingRuns => Err(ReplyError::fixed("NOTBUSY No scripts in execution right now.")),
        Kill::Wrote => Err(UNKILLABLE),
        Kill::OtherKind => Err(busy(!eval)),
    }
}

/// The error of `SCRIPT KILL` for a script that has written.
pub(crate) const UNKILLABLE: ReplyError = ReplyError::fixed(
    "UNKILLABLE Sorry the script already executed write commands against the dataset. You can \
     either wait the script termination or kill the server in a hard way using the SHUTDOWN \
     NOSAVE command.",
);

/// The error that other clients get while a slow script runs.
pub(crate) fn busy(eval: bool) -> ReplyError {
    ReplyError::fixed(if eval {
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
    } else {
        "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
    })
}

fn debug(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if is(argv[2], "no") {
        cx.out.ok();
        Ok(())
    } else if is(argv[2], "yes") || is(argv[2], "sync") {
        Err(ReplyError::fixed("ERR this engine has no script debugger; use redis.log instead"))
    } else {
        Err(ReplyError::fixed("ERR Use SCRIPT DEBUG YES/SYNC/NO"))
    }
}

fn help(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.help(
        "SCRIPT",
        &[
            "DEBUG (YES|SYNC|NO)",
            "    There is no debugger here; NO is accepted.",
            "EXISTS <sha1> [<sha1> ...]",
            "    Tell for each digest whether its script is cached.",
            "FLUSH [ASYNC|SYNC]",
            "    Forget all cached scripts.",
            "KILL",
            "    End the running script if it has not written yet.",
            "LOAD <script>",
            "    Cache a script without running it; give its digest.",
        ],
    );
    Ok(())
}
