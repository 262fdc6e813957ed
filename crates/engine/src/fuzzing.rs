//! Targets for hostile input, run by `fuzz/` with a fuzzer and by `tests/it/hostile.rs` for seconds in every test run.
//! A target must neither panic nor hang, whatever the bytes are.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use crate::acl::User;
use crate::clock::ManualClock;
use crate::commands::ctx::is;
use crate::commands::table::TABLE;
use crate::core::Core;
use crate::core::client::Client;
use crate::core::config::Config;
use crate::doors::resp::{self, Argv, Bounds, Parsed};
use crate::exec::LockedEngine;
use crate::log::load;
use crate::lua::host::LuaHost;

/// Lines of one input that are run.
const LINES: usize = 64;
/// A script may take this long and this much.
const SCRIPT_MS: u64 = 100;
const SCRIPT_BYTES: usize = 16 << 20;

/// The names of all commands, for those who make inputs.
pub fn commands_known() -> Vec<&'static str> {
    TABLE.specs.iter().map(|spec| spec.full_name).collect()
}

thread_local! {
    static INNER: RefCell<LockedEngine> = RefCell::new(fresh());
}

fn fresh() -> LockedEngine {
    let mut config = Config::opened(16, false);
    // This setting bounds the size of one call's result, in Redis too.
    config.set_text("proto-max-bulk-len", b"1048576");
    let core = Core::new(Arc::new(ManualClock::at_ms(1_700_000_000_000)), config);
    let inner = LockedEngine::new(core, LuaHost::default());
    inner.lua.watch.set_limits(SCRIPT_MS, SCRIPT_BYTES);
    inner
}

/// Calls out of a byte buffer.
pub fn resp(data: &[u8]) {
    for bounds in [Bounds::STRANGER, Bounds { bulk_max: 512 << 20, args_max: 1 << 20 }] {
        let mut at = 0;
        while at < data.len() {
            let mut space = Vec::new();
            let mut argv = Argv::new();
            match resp::parse(&data[at..], bounds, &mut space, &mut argv) {
                Parsed::Call(used) => {
                    assert!(used > 0 && at + used <= data.len(), "a call has its bytes");
                    let bytes: usize = argv.iter().map(|arg| arg.len()).sum();
                    assert!(bytes <= used, "arguments come from the call");
                    at += used;
                }
                Parsed::More(wanted) => {
                    assert!(wanted > data.len() - at, "more than there is");
                    break;
                }
                Parsed::Broken(_) => break,
            }
        }
    }
}

/// Lines of words as commands of one client.
pub fn commands(data: &[u8]) {
    INNER.with_borrow_mut(|inner| {
        let now = inner.core().clock.now_ms();
        let client = Client::new(1, "fuzz:0".into(), User::unrestricted(), now);
        let seat = inner.core().clients.add(Box::new(client));
        for line in data.split(|byte| *byte == b'\n').take(LINES) {
            let Some(words) = resp::split_words(line) else { continue };
            let argv: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            if argv.is_empty() || is_left_out(&argv) {
                continue;
            }
            inner.run_seated(seat, &argv);
            let core = inner.core();
            let Some(client) = core.clients.get_mut(seat.id) else { break };
            client.out.buf = Vec::new();
            if client.blocked.is_some() {
                break;
            }
        }
        if let Some(mut client) = inner.core().clients.remove(seat) {
            inner.core().detach(&mut client);
        }
        wipe(inner);
    });
}

/// Whether a command would change the limits of this very test, or is there to break a server.
fn is_left_out(argv: &[&[u8]]) -> bool {
    ["config", "debug", "shutdown", "acl"].iter().any(|name| is(argv[0], name))
}

fn wipe(inner: &mut LockedEngine) {
    let mut client = Client::new(2, "fuzz:0".into(), User::unrestricted(), 0);
    for command in [&[b"FLUSHALL".as_slice()][..], &[b"FUNCTION", b"FLUSH"], &[b"SCRIPT", b"FLUSH"]]
    {
        inner.run(&mut client, command);
    }
    client.out.buf.clear();
}

/// The first byte chooses a script; the rest is its source or its arguments.
pub fn lua(data: &[u8]) {
    const SCRIPTS: &[&str] = &[
        "return cjson.decode(ARGV[1])",
        "return cjson.encode(cjson.decode(ARGV[1]))",
        "return cmsgpack.unpack(ARGV[1])",
        "return cmsgpack.pack(cmsgpack.unpack(ARGV[1]))",
        "return {struct.unpack(ARGV[1], ARGV[2])}",
        "return struct.pack(ARGV[1], ARGV[2], ARGV[2], ARGV[2])",
        "return {string.find(ARGV[1], ARGV[2])}",
        "return string.gsub(ARGV[2], ARGV[1], ARGV[2])",
        "return string.format(ARGV[1], ARGV[2], ARGV[2])",
        "return redis.pcall(ARGV[1], ARGV[2])",
        "return loadstring(ARGV[1])",
    ];
    let Some((first, rest)) = data.split_first() else { return };
    let cut = rest.iter().position(|byte| *byte == b'|').unwrap_or(rest.len());
    let (one, two) = (&rest[..cut], rest.get(cut + 1..).unwrap_or_default());
    let source = SCRIPTS.get(usize::from(*first));
    INNER.with_borrow_mut(|inner| {
        let mut client = Client::new(1, "fuzz:0".into(), User::unrestricted(), 0);
        match source {
            Some(source) => inner.run(&mut client, &[b"EVAL", source.as_bytes(), b"0", one, two]),
            None => inner.run(&mut client, &[b"EVAL", rest, b"0"]),
        }
        wipe(inner);
    });
}

/// A file of a log.
pub fn log(data: &[u8]) {
    let path = scratch();
    if std::fs::write(&path, data).is_err() {
        return;
    }
    for last in [true, false] {
        let mut inner = fresh();
        inner.core().loading = true;
        let mut client = Client::new(0, "log:0".into(), User::unrestricted(), 0);
        if let Ok(loaded) = load::load(&mut inner, &mut client, &path, last) {
            assert!(loaded.good <= loaded.len && loaded.uncovered_from <= loaded.good);
        }
    }
    let _ = std::fs::remove_file(&path);
}

fn scratch() -> PathBuf {
    let name = format!("engine-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
    std::env::temp_dir().join(name)
}

/// The commands that exist, by group, and those of Redis 7.0 that do not, as `docs/engine.md` has them.
pub fn command_list() -> String {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for spec in TABLE.specs.iter().filter(|spec| spec.parent.is_none()) {
        groups.entry(spec.group).or_default().push(spec.full_name.to_uppercase());
    }
    let lines = include_str!("commands/commands.tsv").lines().filter(|line| !line.starts_with('#'));
    let names = lines.filter_map(|line| line.split('\t').next());
    let absent = names
        .filter(|name| TABLE.by_full_name(name.as_bytes()).is_none())
        .map(|name| name.replace('|', " ").to_uppercase());
    let absent: Vec<String> = absent.collect();
    let mut text = String::new();
    for (group, mut names) in groups {
        names.sort();
        let _ = writeln!(text, "- **{group}**: {}", names.join(" "));
    }
    let _ = writeln!(text, "\nOf Redis 7.0 these are absent: {}.", absent.join(", "));
    text
}
