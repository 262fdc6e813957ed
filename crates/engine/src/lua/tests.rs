//! The sandbox from inside: what a script reads, catches and cannot do, and how it is stopped.

use std::fmt::Write as _;
use std::sync::Arc;

use super::raw::Ended;
use super::sandbox::Sandbox;
use super::watch::{Kill, Watch};
use crate::doors::out::Out;

fn sandbox(watch: &Arc<Watch>) -> Sandbox {
    Sandbox::new(watch, |_, _| Ok(()), None).unwrap()
}

const SHOW: &str = "local function show(...) local r = {} for i = 1, select('#', ...) do \
    r[i] = tostring((select(i, ...))) end return table.concat(r, ' | ') end ";

/// Runs a script; gives its text result, or `! ` and the error text.
fn run_in(sandbox: &Sandbox, watch: &Watch, source: &[u8]) -> Vec<u8> {
    let function = match sandbox.compile_script(source) {
        Ok(function) => function,
        Err(message) => return [b"! compile ", message.as_slice()].concat(),
    };
    watch.begin(true, false);
    let mut out = Out::default();
    let ended = sandbox.run(&function, &[], &[], true, &mut out, || false);
    let stopped = watch.stopping();
    watch.end();
    sandbox.settle(stopped, false).unwrap();
    let text = match ended {
        Ended::Well => return text_of(out.buf),
        Ended::Failed(failed) => failed.text,
        Ended::Broken(text) => text,
        Ended::Panicked => b"panicked".to_vec(),
    };
    [b"! ".as_slice(), &text].concat()
}

/// The body of a bulk string; another reply as it is.
fn text_of(reply: Vec<u8>) -> Vec<u8> {
    if !reply.starts_with(b"$") || reply.starts_with(b"$-1") {
        return reply;
    }
    let start = reply.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    reply[start..reply.len() - 2].to_vec()
}

fn run(source: &str) -> String {
    let watch = Arc::default();
    let text = run_in(&sandbox(&watch), &watch, source.as_bytes());
    String::from_utf8_lossy(&text).into_owned()
}

/// Printable bytes as they are, others as `\xNN`: the form of `golden.txt`.
fn printable(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, &byte| {
        if (32..127).contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "\\x{byte:02x}");
        }
        text
    })
}

#[test]
fn expressions_give_what_redis_gave() {
    // Each pair of lines is an expression and the answer of a Redis 7.0.15 to it.
    let watch = Arc::default();
    let sandbox = sandbox(&watch);
    let lines: Vec<&str> = include_str!("golden.txt").lines().collect();
    let mut wrong = String::new();
    for pair in lines.chunks(2) {
        let script = format!("{SHOW} return show({})", pair[0]);
        let got = printable(&run_in(&sandbox, &watch, script.as_bytes()));
        if got != pair[1].trim_start() {
            let _ = write!(wrong, "{}\n  redis {}\n  ours  {got}\n", pair[0], pair[1].trim_start());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(lines.len() > 250, "the golden file is whole");
}

#[test]
fn globals_are_read_only() {
    let refused = "Attempt to modify a readonly table";
    for script in [
        "x = 1",
        "_G.x = 1",
        "redis = nil",
        "string.find = nil",
        "cjson.encode = nil",
        "KEYS = {}",
        "rawset(_G, 'x', 1)",
        "setmetatable(_G, {})",
        "getmetatable(_G).__index = nil",
        "getmetatable('').__index = nil",
        "getmetatable('').__index.find = nil",
        "function tostring() end",
    ] {
        assert!(run(script).contains(refused), "{script}: {}", run(script));
    }
    assert_eq!(
        run("return nothing"),
        "! ERR user_script:1: Script attempted to access nonexistent global variable 'nothing'"
    );
    assert_eq!(run("return redis.nothing"), "$-1\r\n");
}

#[test]
fn walking_the_globals_does_not_hand_out_what_is_behind_them() {
    let script = "local _, front = pairs(_G) local found = 0 for name, value in pairs(_G) do \
        found = found + 1 if type(value) == 'table' and name ~= 'KEYS' and name ~= 'ARGV' then \
        if pcall(function() value.tamper = 1 end) then return 'open: ' .. name end end end \
        if pcall(function() front.x = 1 end) then return 'open: front' end \
        return found > 25 and 'closed' or 'few'";
    assert_eq!(run(script), "closed");
}

#[test]
fn the_globals_are_those_of_redis() {
    let names = run("local r = {} for k in pairs(_G) do r[#r + 1] = k end table.sort(r) \
        return table.concat(r, ' ')");
    assert_eq!(
        names,
        "ARGV KEYS _G _VERSION assert bit cjson cmsgpack collectgarbage coroutine error gcinfo \
         getmetatable ipairs load loadstring math next pairs pcall rawequal rawget rawset redis \
         select setmetatable string struct table tonumber tostring type unpack xpcall"
    );
}

#[test]
fn bytecode_is_refused() {
    let made = "local code = string.dump(function() return 1 end) ";
    for load in [
        "loadstring(code)",
        "load(function() local c = code code = nil return c end)",
        "load(coroutine.wrap(function() for i = 1, #code do coroutine.yield(code:sub(i, i)) end end))",
    ] {
        let got = run(&format!("{made} local f = {load} return tostring(f)"));
        assert_eq!(got, "nil", "{load}");
    }
}

#[test]
fn loaded_code_has_the_same_globals() {
    assert!(run("loadstring('x = 1')()").contains("readonly"));
    assert!(run("coroutine.wrap(function() x = 1 end)()").contains("readonly"));
}

#[test]
fn recursion_ends_in_an_error() {
    assert!(run("local function f() return 1 + f() end return f()").contains("stack overflow"));
    assert!(run("local function f() return pcall(f) end return tostring(f())").len() < 200);
    let nested = "return tostring(#string.rep('(', 5000)) .. loadstring(string.rep('(', 5000))";
    assert!(run(nested).starts_with("! ERR"));
    let sub = "local function f(s) return (s:gsub('.', f)) end return f('x')";
    assert!(run(sub).contains("stack overflow"), "{}", run(sub));
    let deep = "local t = {} for i = 1, 5000 do t = {t} end return cjson.encode(t)";
    assert!(run(deep).contains("excessive nesting"));
    let deep = "return tostring(pcall(cmsgpack.unpack, string.rep('\\145', 100000)))";
    assert_eq!(run(deep), "false");
}

/// Runs a script under a limit of 100 ms; a script without an end would never return.
fn runs_limited(script: &str) -> String {
    let watch = Arc::new(Watch::default());
    watch.set_limits(100, 64 << 20);
    let sandbox = sandbox(&watch);
    let got = run_in(&sandbox, &watch, script.as_bytes());
    let after = run_in(&sandbox, &watch, b"return string.rep('x', 3) .. ('a'):gsub('a', 'b')");
    assert_eq!(after, b"xxxb", "the next script works after {script}");
    String::from_utf8_lossy(&got).into_owned()
}

#[test]
fn a_script_that_does_not_end_is_ended() {
    for script in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error, 'x') end",
        "local co = coroutine.wrap(function() while true do pcall(function() while true do end end) end end) co()",
        "return string.find(string.rep('a', 30000), string.rep('.-', 8) .. 'b')",
        "return string.gsub(string.rep('a', 30000), '(a*)*b', '')",
        "while true do pcall(string.match, string.rep('a', 30000), '.-.-.-.-b') end",
        "local t = {} for i = 1, 16 do local u = {} for j = 1, 20 do u[j] = t end t = u end return cjson.encode(t)",
        "local t = {} for i = 1, 16 do local u = {} for j = 1, 20 do u[j] = t end t = u end return cmsgpack.pack(t)",
        "return xpcall(function() while true do end end, function() while true do end end)",
    ] {
        let got = runs_limited(script);
        assert!(got.starts_with("! "), "{script}: {}", &got[..got.len().min(200)]);
    }
}

#[test]
fn a_script_that_takes_all_memory_is_ended() {
    for script in [
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = {} end",
        "local t = {} while true do t[#t + 1] = string.rep('x', 1000) .. #t end",
        "return string.rep('x', 1e9)",
        "return ('x'):rep(1e6):gsub('x', string.rep('y', 1000))",
        "local t = {} for i = 1, 1e5 do t[i] = string.rep('x', 1000) end return table.concat(t)",
        "local s = 'x' while true do pcall(function() s = s .. s end) end",
    ] {
        let got = runs_limited(script);
        assert!(got.starts_with("! "), "{script}: {}", &got[..got.len().min(200)]);
    }
}

#[test]
fn a_kill_from_outside_ends_the_script() {
    let watch = Arc::new(Watch::default());
    let sandbox = sandbox(&watch);
    let outside = watch.clone();
    let killer = std::thread::spawn(move || {
        while outside.kill(true) != Kill::Done {
            std::thread::yield_now();
        }
    });
    let got =
        run_in(&sandbox, &watch, b"while true do pcall(function() while true do end end) end");
    killer.join().unwrap();
    assert_eq!(got, b"! ERR Script killed by user with SCRIPT KILL...");
    assert_eq!(watch.kill(true), Kill::NothingRuns);
}

#[test]
fn a_script_that_wrote_cannot_be_killed() {
    let watch = Watch::default();
    watch.begin(true, false);
    assert_eq!(watch.kill(false), Kill::OtherKind);
    watch.wrote();
    assert_eq!(watch.kill(true), Kill::Wrote);
    assert!(watch.check().is_ok());
}

/// Runs a script in an engine; gives its reply in debug form.
fn eval(connection: &crate::Connection, source: &str) -> String {
    let mut call = redis::cmd("EVAL");
    call.arg(source).arg(0);
    format!("{:?}", connection.call(&call).unwrap())
}

#[test]
fn a_reply_that_does_not_fit_in_memory_is_an_error_of_the_script() {
    let options = crate::Options { script_memory: 2 << 20, ..crate::Options::default() };
    let (engine, _) = crate::Engine::open(options).unwrap();
    let connection = engine.connect();
    connection.call(redis::cmd("SET").arg("large").arg(vec![b'x'; 8 << 20])).unwrap();
    let mut push = redis::cmd("RPUSH");
    push.arg("many");
    for i in 0..100_000 {
        push.arg(i);
    }
    connection.call(&push).unwrap();
    for command in ["'get', 'large'", "'lrange', 'many', 0, -1"] {
        let got = eval(&connection, &format!("return redis.call({command})"));
        assert!(got.contains("not enough memory"), "{got}");
        // Caught or not: until the next collection the state may be too full even to go on.
        let caught = format!("if pcall(redis.pcall, {command}) then return 1 end return 2");
        let got = eval(&connection, &caught);
        assert!(got == "int(2)" || got.contains("not enough memory"), "{got}");
        assert_eq!(eval(&connection, "return redis.call('strlen', 'large')"), "int(8388608)");
    }
}

#[test]
fn after_a_script_that_took_all_memory_the_next_one_has_it() {
    let options = crate::Options { script_memory: 8 << 20, ..crate::Options::default() };
    let (engine, _) = crate::Engine::open(options).unwrap();
    let connection = engine.connect();
    for round in 0..3 {
        let got = eval(&connection, "local t = {} while true do t[#t + 1] = {} end");
        assert!(got.contains("not enough memory; scripts may take 8388608 bytes"), "{got}");
        // Three quarters of it, so nothing of the first may be left.
        let got = eval(&connection, "return #string.rep('x', 6000000)");
        assert_eq!(got, "int(6000000)", "round {round}");
    }
}

#[test]
fn a_script_that_others_wait_for_may_not_go_on_taking_memory() {
    // Lua compares long strings of one length byte by byte: a script took 41 s to reach its limit.
    let options = crate::Options { script_memory: 64 << 20, ..crate::Options::default() };
    let (engine, _) = crate::Engine::open(options).unwrap();
    let connection = engine.connect();
    connection.call(redis::cmd("CONFIG").arg(&["SET", "busy-reply-threshold", "1"])).unwrap();
    let bomb = "local t = {} while true do t[#t + 1] = string.rep('x', 1000) .. #t end";
    let got = eval(&connection, bomb);
    assert!(got.contains("not enough memory for a script that takes so long"), "{got}");
    let wrote = "redis.call('set', 'a', 1) local t = {} \
        for i = 1, 30000 do t[i] = string.rep('x', 1000) .. i end return #t";
    assert_eq!(eval(&connection, wrote), "int(30000)", "what has written may finish");
}

#[test]
fn a_command_that_panics_ends_its_script_and_nothing_else() {
    let engine = crate::Engine::memory();
    let connection = engine.connect();
    for script in [
        "return redis.call('get', 'panic now')",
        "redis.call('set', 'a', '1') pcall(redis.call, 'get', 'panic now') return 1",
        "pcall(redis.call, 'get', 'panic now') while true do pcall(redis.call, 'incr', 'b') end",
    ] {
        let got = eval(&connection, script);
        assert!(got.contains("internal error while a script ran"), "{script}: {got}");
    }
    assert_eq!(eval(&connection, "return redis.call('incr', 'a')"), "int(2)");
    assert_eq!(eval(&connection, "return redis.call('exists', 'b')"), "int(0)");
}

#[test]
fn arguments_of_every_kind_arrive() {
    let engine = crate::Engine::memory();
    let connection = engine.connect();
    let script = "redis.call('rpush', 'l', 1, 'two', 3.5, 1e15, -0.1, '', 'six', 7) \
        return table.concat(redis.call('lrange', 'l', 0, -1), ' ') == \
        '1 two 3.5 1000000000000000 -0.10000000000000001  six 7'";
    assert_eq!(eval(&connection, script), "int(1)");
    for bad in ["{}", "true", "nil", "print"] {
        let got = eval(&connection, &format!("return redis.call('get', {bad})"));
        assert!(
            got.contains("must be strings or integers") || got.contains("nonexistent"),
            "{got}"
        );
    }
    assert!(eval(&connection, "return redis.call()").contains("at least one argument"));
    assert!(eval(&connection, "return redis.call('nosuch')").contains("Unknown Redis command"));
    // More arguments than the stack of a C function begins with.
    let many = "local t = {} for i = 1, 4000 do t[i] = i end \
        return redis.call('rpush', 'm', unpack(t))";
    assert_eq!(eval(&connection, many), "int(4000)");
}

#[test]
fn what_a_script_does_to_its_lists_is_gone_for_the_next() {
    let engine = crate::Engine::memory();
    let connection = engine.connect();
    let run = |source: &str, words: &[&str]| {
        let mut call = redis::cmd("EVAL");
        call.arg(source).arg(words.len().min(2)).arg(words);
        format!("{:?}", connection.call(&call).unwrap())
    };
    let show = "local r = {#KEYS, #ARGV} for _, t in pairs({KEYS, ARGV}) do for k, v in pairs(t) do \
        r[#r + 1] = k .. v end end return {r, getmetatable(KEYS) and 1 or 0}";
    let expected = run(show, &["a", "b", "c"]);
    for spoil in [
        "KEYS[1] = 'other'",
        "KEYS[1] = nil",
        "KEYS[2] = nil KEYS.x = 1",
        "KEYS.x = 'left' ARGV[9] = 'left'",
        "setmetatable(KEYS, {__index = function() return 'left' end})",
        "for i = 1, 100 do ARGV[i] = i end",
        "for i = 1, 100 do ARGV[i] = i end for i = 2, 100 do ARGV[i] = nil end",
        "table.sort(KEYS, function(a, b) return a > b end) table.remove(ARGV)",
        "KEYS[1] = nil KEYS[2] = nil KEYS[0.5] = 'x' KEYS[-1] = 'y'",
        "rawset(KEYS, 'x', 'left')",
        "return #ARGV",
    ] {
        run(spoil, &["k", "l", "m", "n", "o"]);
        assert_eq!(run(show, &["a", "b", "c"]), expected, "after {spoil}");
    }
    assert_eq!(run("return #KEYS + #ARGV", &[]), "int(0)");
    let many: Vec<String> = (0..20_000).map(|i| i.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(run("return #ARGV", &many), "int(19998)");
    assert_eq!(run(show, &["a", "b", "c"]), expected);
}
