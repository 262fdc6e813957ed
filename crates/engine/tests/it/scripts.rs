//! Scripts and functions through the doors: the answers of Redis 7.0.15, the effects in the log, and the end
//! of scripts that do not end.

use std::path::Path;

use engine::{Connection, Engine, Options};
use redis::{Value, cmd};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn eval(connection: &Connection, script: &str, keys: &[&str], args: &[&str]) -> Value {
    let mut command = cmd("EVAL");
    command.arg(script).arg(keys.len()).arg(keys).arg(args);
    connection.call(&command).expect("scripts do not block")
}

/// A value as text: `! ` before an error, `_` for none, `[a b]` for an array.
fn show(value: &Value) -> String {
    match value {
        Value::Nil => "_".into(),
        Value::Okay => "+OK".into(),
        Value::Int(n) => n.to_string(),
        Value::SimpleString(text) => format!("+{text}"),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" "))
        }
        Value::ServerError(error) => {
            format!("! {} {}", error.code(), error.details().unwrap_or_default())
        }
        other => format!("{other:?}"),
    }
}

fn run(connection: &Connection, line: &[&str]) -> String {
    let mut command = cmd(line[0]);
    command.arg(&line[1..]);
    show(&connection.call(&command).expect("does not block"))
}

#[test]
fn values_become_the_replies_of_redis() {
    let connection = Engine::memory().connect();
    let answer = |script: &str| show(&eval(&connection, script, &[], &[]));
    assert_eq!(answer("return {1, 2.9, nil, 4}"), "[1 2]");
    assert_eq!(answer("return true"), "1");
    assert_eq!(answer("return false"), "_");
    assert_eq!(answer("return {ok = 'fine'}"), "+fine");
    assert_eq!(answer("return {err = 'MY error'}"), "! MY error");
    assert_eq!(answer("return redis.error_reply('too many')"), "! too many");
    assert_eq!(answer("return redis.status_reply('X')"), "+X");
    assert_eq!(answer("return {'a', {'b', {}}}"), "[a [b []]]");
    assert_eq!(answer("return redis.call('GET', 'nothing')"), "_");
    assert_eq!(answer("return type(redis.call('GET', 'nothing'))"), "boolean");
    assert_eq!(answer("return redis.call('SET', 'k', 0.1)"), "+OK");
    assert_eq!(answer("return redis.call('GET', 'k')"), "0.10000000000000001");
    assert_eq!(answer("return redis.call('ECHO', 10^17)"), "1e+17");
    assert_eq!(answer("return redis.call('ECHO', 1000000001)"), "1000000001");
    assert_eq!(answer("return redis.sha1hex('')"), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    let deep = answer("local a = {} a[1] = a return a");
    assert!(deep.contains("reached lua stack limit"));
}

#[test]
fn errors_have_the_texts_of_redis() {
    let connection = Engine::memory().connect();
    let answer = |script: &str| {
        let text = show(&eval(&connection, script, &[], &[]));
        // The digest differs from script to script.
        match (text.find(" script: "), text.rfind(", on ")) {
            (Some(from), Some(to)) => format!("{} script: SHA{}", &text[..from], &text[to..]),
            _ => text,
        }
    };
    let at = " script: SHA, on @user_script:1.";
    assert_eq!(
        answer("return redis.call('nosuch')"),
        format!("! ERR Unknown Redis command called from script{at}")
    );
    assert_eq!(
        answer("return redis.call('GET')"),
        format!("! ERR Wrong number of args calling Redis command from script{at}")
    );
    assert_eq!(
        answer("return redis.call('EVAL', 'return 1', 0)"),
        format!("! ERR This Redis command is not allowed from script{at}")
    );
    assert_eq!(
        answer("x = 1"),
        format!("! ERR user_script:1: Attempt to modify a readonly table{at}")
    );
    assert_eq!(
        answer("return x"),
        format!(
            "! ERR user_script:1: Script attempted to access nonexistent global variable 'x'{at}"
        )
    );
    assert_eq!(
        answer("#!lua flags=no-writes\nreturn redis.call('SET', 'k', 'v')"),
        "! ERR Write commands are not allowed from read-only scripts. script: SHA, on \
         @user_script:2."
    );
    assert_eq!(answer("error('x')"), format!("! ERR user_script:1: x{at}"));
    assert_eq!(
        answer("return redis.call('LPUSH', 'k', 'v') and redis.call('GET', 'k')"),
        format!("! WRONGTYPE Operation against a key holding the wrong kind of value{at}")
    );
    assert_eq!(
        answer("return {pcall(redis.call, 'GET', 'k')}"),
        "[_ WRONGTYPE Operation against a key holding the wrong kind of value]"
    );
    assert_eq!(answer("return redis.pcall('INCR', 'k')").find("! WRONGTYPE"), Some(0));
    assert_eq!(
        answer("return 1 1"),
        "! ERR Error compiling script (new function): user_script:1: '<eof>' expected near '1'"
    );
    assert_eq!(answer("#!php\nreturn 1"), "! ERR Unexpected engine in script shebang: #!php");
    assert_eq!(
        run(&connection, &["EVALSHA", "0000000000000000000000000000000000000000", "0"]),
        "! NOSCRIPT No matching script. Please use EVAL."
    );
    assert_eq!(
        run(&connection, &["EVAL", "return 1", "-1"]),
        "! ERR Number of keys can't be negative"
    );
    assert_eq!(
        run(&connection, &["EVAL", "return 1", "1"]),
        "! ERR Number of keys can't be greater than number of args"
    );
    assert_eq!(
        run(&connection, &["EVAL_RO", "return redis.call('DEL', 'k')", "0"]).find("! ERR Write"),
        Some(0)
    );
}

#[test]
fn a_script_selects_a_database_for_itself_only() {
    let connection = Engine::memory().connect();
    eval(&connection, "redis.call('SELECT', 3) redis.call('SET', 'here', '1')", &[], &[]);
    assert_eq!(run(&connection, &["EXISTS", "here"]), "0");
    run(&connection, &["SELECT", "3"]);
    assert_eq!(run(&connection, &["EXISTS", "here"]), "1");
}

#[test]
fn many_arguments_arrive_in_order() {
    let connection = Engine::memory().connect();
    let keys: Vec<String> = (0..3000).map(|n| format!("k{n}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let script = "return {#KEYS, KEYS[1], KEYS[3000], #ARGV, ARGV[2]}";
    let got = eval(&connection, script, &keys, &["a", "b"]);
    assert_eq!(show(&got), "[3000 k0 k2999 2 b]");
}

#[test]
fn keys_and_arguments_are_told_apart_however_many() {
    let connection = Engine::memory().connect();
    let script = "return {#KEYS, #ARGV, table.concat(KEYS), table.concat(ARGV)}";
    let (keys, args) = (["a", "b", "c", "d", "e", "f"], ["1", "2", "3"]);
    for few in 0..=keys.len() {
        for rest in 0..=args.len() {
            let (keys, args) = (&keys[..few], &args[..rest]);
            let expected = format!("[{few} {rest} {} {}]", keys.concat(), args.concat());
            assert_eq!(show(&eval(&connection, script, keys, args)), expected);
        }
    }
}

#[test]
fn bytes_that_are_no_text_pass_through_a_script() {
    let connection = Engine::memory().connect();
    let bytes: Vec<u8> = (0..=255).collect();
    let mut command = cmd("EVAL");
    let script =
        "redis.call('RPUSH', KEYS[1], ARGV[1], 'text') return redis.call('LRANGE', KEYS[1], 0, -1)";
    command.arg(script).arg(1).arg("key").arg(&bytes);
    let expected = [Value::BulkString(bytes), Value::BulkString(b"text".to_vec())];
    assert_eq!(connection.call(&command), Some(Value::Array(expected.into())));
}

#[test]
fn a_name_means_the_same_command_each_time_it_is_called() {
    let connection = Engine::memory().connect();
    let script = "local seen = {}
        for round = 1, 3 do
            for _, name in ipairs({'set', 'SET', 'sEt'}) do
                redis.call(name, 'k', name .. round)
                seen[#seen + 1] = redis.call('g' .. 'et', 'k')
            end
            seen[#seen + 1] = redis.call('OBJECT', 'REFCOUNT', 'k')
            seen[#seen + 1] = redis.call('object', 'encoding', 'k')
            seen[#seen + 1] = redis.pcall('nothing', 'k').err
        end
        return seen";
    let round = |n: u32| {
        format!("set{n} SET{n} sEt{n} 1 embstr ERR Unknown Redis command called from script")
    };
    let expected = format!("[{} {} {}]", round(1), round(2), round(3));
    for _ in 0..3 {
        assert_eq!(show(&eval(&connection, script, &[], &[])), expected);
        // A new Lua state, where the same names stand elsewhere.
        assert_eq!(run(&connection, &["SCRIPT", "FLUSH"]), "+OK");
    }
}

#[test]
fn functions_are_loaded_called_and_moved() {
    let engine = Engine::memory();
    let connection = engine.connect();
    let code = "#!lua name=lib\nredis.register_function('put', function(keys, args) \
        return redis.call('SET', keys[1], args[1]) end)\nredis.register_function{function_name = \
        'look', callback = function(keys) return redis.call('GET', keys[1]) end, \
        flags = {'no-writes'}}";
    assert_eq!(run(&connection, &["FUNCTION", "LOAD", code]), "lib");
    assert_eq!(run(&connection, &["FUNCTION", "LOAD", code]), "! ERR Library 'lib' already exists");
    assert_eq!(run(&connection, &["FCALL", "put", "1", "k", "v"]), "+OK");
    assert_eq!(run(&connection, &["FCALL_RO", "LOOK", "1", "k"]), "v");
    assert_eq!(
        run(&connection, &["FCALL_RO", "put", "1", "k", "v"]),
        "! ERR Can not execute a script with write flag using *_ro command."
    );
    let payload = connection.call(cmd("FUNCTION").arg("DUMP")).unwrap();
    let Value::BulkString(payload) = payload else { panic!("{payload:?}") };
    let other = Engine::memory().connect();
    let restored = other.call(cmd("FUNCTION").arg("RESTORE").arg(payload.as_slice())).unwrap();
    assert_eq!(show(&restored), "+OK");
    assert_eq!(run(&other, &["FCALL", "put", "1", "k", "v"]), "+OK");
    let mut damaged = payload;
    damaged[5] ^= 1;
    let refused = other.call(cmd("FUNCTION").arg("RESTORE").arg(damaged.as_slice())).unwrap();
    assert_eq!(show(&refused), "! ERR DUMP payload version or checksum are wrong");
    assert_eq!(run(&connection, &["FUNCTION", "DELETE", "lib"]), "+OK");
    assert_eq!(run(&connection, &["FCALL", "put", "0"]), "! ERR Function not found");
}

#[test]
fn a_library_that_does_not_load_changes_nothing() {
    let connection = Engine::memory().connect();
    let good = "#!lua name=lib\nredis.register_function('f', function() return 1 end)";
    run(&connection, &["FUNCTION", "LOAD", good]);
    for bad in [
        "#!lua name=lib\nreturn 1",
        "#!lua name=lib\nwhile true do end",
        "#!lua name=lib\nredis.call('GET', 'x')",
        "#!lua name=lib\nredis.register_function('a b', function() end)",
    ] {
        let answer = run(&connection, &["FUNCTION", "LOAD", "REPLACE", bad]);
        assert!(answer.starts_with("! ERR"), "{answer}");
        assert_eq!(run(&connection, &["FCALL", "f", "0"]), "1", "after {bad}");
    }
}

fn open(dir: &Path) -> Engine {
    let options = Options { dir: Some(dir.to_path_buf()), ..Options::default() };
    Engine::open(options).unwrap().0
}

#[test]
fn effects_and_libraries_are_there_after_a_restart_and_a_rewrite() {
    let dir = tempfile::tempdir().unwrap();
    let script = "redis.call('SET', KEYS[1], redis.call('INCR', 'n')) redis.call('SADD', 's', 'a')";
    let library = "#!lua name=lib\nredis.register_function('f', function() return 7 end)";
    {
        let engine = open(dir.path());
        let connection = engine.connect();
        eval(&connection, script, &["k"], &[]);
        // What fails half-way keeps what it did, as in Redis.
        eval(&connection, "redis.call('SET', 'half', 'done') error('x')", &[], &[]);
        run(&connection, &["FUNCTION", "LOAD", library]);
    }
    for rewrite in [true, false] {
        let engine = open(dir.path());
        let connection = engine.connect();
        assert_eq!(run(&connection, &["MGET", "k", "n", "half"]), "[1 1 done]");
        assert_eq!(run(&connection, &["FCALL", "f", "0"]), "7");
        if rewrite {
            engine.rewrite();
            testkit::wait_until("the rewrite ends", || !engine.is_rewriting());
        }
    }
}

#[test]
fn limits_of_time_and_memory_end_scripts() {
    let (script_time, script_memory) = (Some(std::time::Duration::from_millis(50)), 16 << 20);
    let options = Options { script_time, script_memory, ..Options::default() };
    let connection = Engine::open(options).unwrap().0.connect();
    let answer = |script: &str| show(&eval(&connection, script, &[], &[]));
    assert!(answer("while true do end").starts_with("! ERR Script killed"));
    assert!(answer("local s = 'x' while true do s = s .. s end").contains("not enough memory"));
    assert!(answer("return string.rep('x', 2^30)").contains("not enough memory"));
    assert_eq!(answer("return 'well'"), "well");
}

#[tokio::test]
async fn a_slow_script_is_told_of_and_killed_from_another_connection() {
    let engine = Engine::memory();
    run(&engine.connect(), &["CONFIG", "SET", "busy-reply-threshold", "20"]);
    let door = engine.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut slow = tokio::net::TcpStream::connect(door.addr()).await.unwrap();
    let script = "while true do pcall(function() while true do end end) end";
    let call = format!("*3\r\n$4\r\nEVAL\r\n${}\r\n{script}\r\n$1\r\n0\r\n", script.len());
    slow.write_all(call.as_bytes()).await.unwrap();
    let mut other = tokio::net::TcpStream::connect(door.addr()).await.unwrap();
    // Until the script has run for that long, the other is answered as usual or waits.
    testkit::eventually("the script is told of", async || {
        other.write_all(b"PING\r\n").await.unwrap();
        let answer = line(&mut other).await;
        assert!(answer == "+PONG" || answer.starts_with("-BUSY "), "{answer}");
        answer != "+PONG"
    })
    .await;
    other.write_all(b"FUNCTION KILL\r\n").await.unwrap();
    assert!(line(&mut other).await.starts_with("-BUSY "));
    other.write_all(b"SCRIPT KILL\r\n").await.unwrap();
    assert_eq!(line(&mut other).await, "+OK");
    assert!(line(&mut slow).await.starts_with("-ERR Script killed by user with SCRIPT KILL"));
    other.write_all(b"PING\r\n").await.unwrap();
    assert_eq!(line(&mut other).await, "+PONG");
}

async fn line(stream: &mut tokio::net::TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n") {
        text.push(testkit::within("a line comes", stream.read_u8()).await.unwrap());
    }
    text.truncate(text.len() - 2);
    String::from_utf8(text).unwrap()
}
