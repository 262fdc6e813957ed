//! Functions: `FUNCTION FCALL FCALL_RO`.

use crate::commands::ctx::{Ctx, is};
use crate::commands::script::{key_count, kill, recount, start};
use crate::commands::table::Run::{self, Host, Plain};
use crate::core::client::Client;
use crate::data::glob;
use crate::data::num;
use crate::doors::out::Out;
use crate::error::{Outcome, ReplyError};
use crate::exec::LockedEngine;
use crate::lua::flags;
use crate::lua::host::Call;
use crate::lua::library::Library;
use crate::lua::payload::{self, Refusal};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("fcall", Host(|inner, client, argv| fcall(inner, client, argv, false))),
    ("fcall_ro", Host(|inner, client, argv| fcall(inner, client, argv, true))),
    ("function|load", Host(load)),
    ("function|delete", Host(delete)),
    ("function|flush", Host(flush)),
    ("function|list", Host(list)),
    ("function|kill", Host(|inner, client, _| kill(inner, client, false))),
    ("function|stats", Host(stats)),
    ("function|dump", Host(dump)),
    ("function|restore", Host(restore)),
    ("function|help", Plain(help)),
];

fn fcall(
    inner: &mut LockedEngine,
    client: &mut Client,
    argv: &[&[u8]],
    read_only: bool,
) -> Outcome {
    let Some(found) = inner.lua.libraries.function(argv[1]) else {
        return Err(ReplyError::fixed("ERR Function not found"));
    };
    let (name, function, flags) = (found.name.clone(), found.function.clone(), found.flags);
    let count =
        num::parse_i64(argv[2]).ok_or(ReplyError::fixed("ERR Bad number of keys provided"))?;
    let keys = key_count(count, argv)?;
    let call = Call { name: &name, function, flags, read_only, argv, keys, eval: false };
    start(inner, client, &call)
}

fn load(inner: &mut LockedEngine, client: &mut Client, argv: &[&[u8]]) -> Outcome {
    let (code, options) = argv[2..].split_last().expect("the table asks for one");
    for option in options {
        if !is(option, "replace") {
            return Err(flags::with("ERR Unknown option given: ", option));
        }
    }
    let name = inner.lua.load_library(code, !options.is_empty())?;
    changed(inner);
    client.out.bulk(&name);
    Ok(())
}

fn delete(inner: &mut LockedEngine, client: &mut Client, argv: &[&[u8]]) -> Outcome {
    if !inner.lua.libraries.remove(argv[2]) {
        return Err(ReplyError::fixed("ERR Library not found"));
    }
    changed(inner);
    client.out.ok();
    Ok(())
}

fn flush(inner: &mut LockedEngine, client: &mut Client, argv: &[&[u8]]) -> Outcome {
    match argv.get(2) {
        _ if argv.len() > 3 => return Err(wrong_use("flush")),
        None => {}
        Some(mode) if is(mode, "sync") || is(mode, "async") => {}
        Some(_) => {
            return Err(ReplyError::fixed("ERR FUNCTION FLUSH only supports SYNC|ASYNC option"));
        }
    }
    inner.lua.libraries.clear();
    changed(inner);
    client.out.ok();
    Ok(())
}

/// The libraries changed: the command goes to the log.
fn changed(inner: &mut LockedEngine) {
    recount(inner);
    inner.core().dirty += 1;
}

fn wrong_use(sub: &str) -> ReplyError {
    ReplyError::new(format!(
        "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try FUNCTION HELP."
    ))
}

fn list(inner: &mut LockedEngine, client: &mut Client, argv: &[&[u8]]) -> Outcome {
    let (mut with_code, mut pattern) = (false, None);
    let mut words = argv[2..].iter();
    while let Some(word) = words.next() {
        if !with_code && is(word, "withcode") {
            with_code = true;
        } else if pattern.is_none() && is(word, "libraryname") {
            pattern = Some(
                words.next().ok_or(ReplyError::fixed("ERR library name argument was not given"))?,
            );
        } else {
            return Err(flags::with("ERR Unknown argument ", word));
        }
    }
    let chosen: Vec<(&[u8], &Library)> = inner
        .lua
        .libraries
        .iter()
        .filter(|(name, _)| pattern.is_none_or(|pattern| glob::matches(pattern, name, true)))
        .collect();
    client.out.array(chosen.len());
    for (name, library) in chosen {
        write_library(&mut client.out, name, library, with_code);
    }
    Ok(())
}

fn write_library(out: &mut Out, name: &[u8], library: &Library, with_code: bool) {
    out.map(if with_code { 4 } else { 3 });
    out.bulk(b"library_name");
    out.bulk(name);
    out.bulk(b"engine");
    out.bulk(b"LUA");
    out.bulk(b"functions");
    out.array(library.functions.len());
    for function in &library.functions {
        out.map(3);
        out.bulk(b"name");
        out.bulk(&function.name);
        out.bulk(b"description");
        out.bulk_opt(function.description.as_deref());
        out.bulk(b"flags");
        out.set(function.flags.words().count());
        for word in function.flags.words() {
            out.status(word);
        }
    }
    if with_code {
        out.bulk(b"library_code");
        out.bulk(&library.code);
    }
}

fn stats(inner: &mut LockedEngine, client: &mut Client, _: &[&[u8]]) -> Outcome {
    let counts = inner.lua.libraries.counts();
    client.out.map(2);
    client.out.bulk(b"running_script");
    client.out.null();
    write_engines(&mut client.out, counts);
    Ok(())
}

/// The second half of `FUNCTION STATS`.
pub(crate) fn write_engines(out: &mut Out, (libraries, functions): (usize, usize)) {
    out.bulk(b"engines");
    out.map(1);
    out.bulk(b"LUA");
    out.map(2);
    out.bulk(b"libraries_count");
    out.len(libraries);
    out.bulk(b"functions_count");
    out.len(functions);
}

fn dump(inner: &mut LockedEngine, client: &mut Client, _: &[&[u8]]) -> Outcome {
    let sources = inner.lua.libraries.iter().map(|(_, library)| library.code.as_slice());
    client.out.bulk(&payload::dump(sources));
    Ok(())
}

fn restore(inner: &mut LockedEngine, client: &mut Client, argv: &[&[u8]]) -> Outcome {
    let (mut flush, mut replace) = (false, false);
    match argv.get(3) {
        _ if argv.len() > 4 => return Err(wrong_use("restore")),
        None => {}
        Some(policy) if is(policy, "append") => {}
        Some(policy) if is(policy, "replace") => replace = true,
        Some(policy) if is(policy, "flush") => flush = true,
        Some(_) => {
            return Err(ReplyError::fixed(
                "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
            ));
        }
    }
    let sources = payload::read(argv[2]).map_err(|refusal| {
        ReplyError::fixed(match refusal {
            Refusal::Checksum => "ERR DUMP payload version or checksum are wrong",
            Refusal::OtherType => "ERR given type is not a function",
            Refusal::Broken => "ERR failed loading the given functions payload",
        })
    })?;
    inner.lua.restore_libraries(&sources, flush, replace)?;
    changed(inner);
    client.out.ok();
    Ok(())
}

fn help(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.help(
        "FUNCTION",
        &[
            "DELETE <library-name>",
            "    Remove a library and its functions.",
            "DUMP",
            "    Give all libraries as one payload for RESTORE.",
            "FLUSH [ASYNC|SYNC]",
            "    Remove all libraries.",
            "KILL",
            "    End the running function if it has not written yet.",
            "LIST [LIBRARYNAME <pattern>] [WITHCODE]",
            "    Show libraries, their functions and, if asked, their code.",
            "LOAD [REPLACE] <function-code>",
            "    Load a library; its first line names it: #!lua name=<library-name>.",
            "RESTORE <payload> [FLUSH|APPEND|REPLACE]",
            "    Load the libraries of a payload (default APPEND: no library may exist already).",
            "STATS",
            "    Show the running function and the numbers of libraries and functions.",
        ],
    );
    Ok(())
}
