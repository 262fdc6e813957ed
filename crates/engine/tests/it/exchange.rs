//! A directory goes back and forth between the engine and a real server, and the data is the same on both
//! sides each time.

use std::path::Path;

use engine::{Fsync, OpenError};
use redis::Value;
use testkit::{Program, Server, Setup, programs};

use crate::common::{Ask, everything, failed, open};

/// Keys of every type, changed in every way that is logged in another form than it came. `|` splits words.
const LINES: &[&str] = &[
    "SET|a|1",
    "INCRBY|a|41",
    "SET|b|text with space|EX|10000",
    "APPEND|b|-more",
    "SET|empty|",
    "SET|number|00012",
    "INCRBYFLOAT|c|0.1",
    "INCRBYFLOAT|c|0.2",
    "SETBIT|bits|77|1",
    "RPUSH|list|a|b|c|d||é\r\n",
    "LPOP|list",
    "LMOVE|list|other|LEFT|RIGHT",
    "LINSERT|list|BEFORE|c|x",
    "HSET|hash|f|v|g|w",
    "HINCRBYFLOAT|hash|n|1.5",
    "HDEL|hash|f",
    "SADD|set|a|b|c|d|e|f|g",
    "SPOP|set|3",
    "SADD|ints|1|2|3|-9223372036854775808",
    "ZADD|zset|1|one|2|two|3|three",
    "ZPOPMIN|zset",
    "ZADD|zset|-inf|low|1e300|high|0.1|tenth",
    "ZINCRBY|zset|0.2|tenth",
    "ZRANGESTORE|part|zset|0|1",
    "SELECT|3",
    "SET|in-three|yes|PXAT|33000000000000",
    "SELECT|0",
    "MOVE|number|5",
    "GETEX|a|PX|5000000",
    "SET|gone|soon",
    "GETDEL|gone",
    "SET|short|life|PX|1",
    "RENAME|other|another",
    "COPY|list|copied|DB|7",
    "SINTERSTORE|copy|set",
    "SETRANGE|range|5|hello",
    "MSET|m1|1|m2|2",
    "EXPIRE|m1|1000",
    "PERSIST|m1",
    "MULTI",
    "INCR|in-multi",
    "SELECT|4",
    "RPUSH|in-multi|x",
    "SELECT|0",
    "EXEC",
    "EVAL|redis.call('INCR', KEYS[1]) redis.call('HSET', KEYS[2], 'f', ARGV[1]) return redis.call('SPOP', KEYS[3])|3|ev|evh|set|v",
    "XADD|stream|1-1|f|v",
    "XADD|stream|*|g|w|h|x",
    "XADD|stream|MAXLEN|3|*|i|j",
    "XADD|stream|*|k|l",
    "XADD|stream|*|m|n",
    "XGROUP|CREATE|stream|workers|0",
    "XREADGROUP|GROUP|workers|ann|COUNT|2|STREAMS|stream|>",
    "XGROUP|CREATECONSUMER|stream|workers|bob",
    "XACK|stream|workers|1-1", // a deleted entry that is still pending is lost by a rewrite, in Redis too
    "XDEL|stream|1-1",
    "XADD|emptied|5-5|f|v",
    "XDEL|emptied|5-5",
    "SORT|ints|DESC|STORE|sorted",
    "SET|dumped|x",
    "FUNCTION|LOAD|REPLACE|#!lua name=lib\nredis.register_function('f', function(keys, args) redis.call('INCR', keys[1]) return 1 end)",
    "FCALL|f|1|by-function",
];

fn feed(to: &mut dyn Ask) {
    for line in LINES {
        let words: Vec<&str> = line.split('|').collect();
        let reply = to.ask(&words);
        assert!(!failed(&reply), "{line:?}: {reply:?}");
    }
    for i in 0..300 {
        to.ask(&["RPUSH", "long", &format!("element {i}")]);
        to.ask(&["HSET", "wide", &format!("field {i}"), &i.to_string()]);
        to.ask(&["ZADD", "many", &format!("{i}.5"), &format!("member {i}")]);
        to.ask(&["SADD", "lots", &format!("member {i}")]);
    }
    // So that the short life is over on both sides, and the log says so.
    testkit::wait_until("the short life is over", || to.ask(&["EXISTS", "short"]) == Value::Int(0));
}

fn serve(program: Program, dir: &Path) -> Server {
    let dir = dir.to_str().unwrap();
    let setup = Setup::new(program);
    setup.args(["--dir", dir, "--appendonly", "yes", "--aof-use-rdb-preamble", "no"]).start()
}

fn connect(server: &Server) -> redis::Connection {
    redis::Client::open(server.url()).unwrap().get_connection().unwrap()
}

fn same(what: &str, left: &[String], right: &[String]) {
    for (a, b) in left.iter().zip(right) {
        assert_eq!(a, b, "{what}");
    }
    assert_eq!(left.len(), right.len(), "{what}");
}

/// The engine on a directory, as far as `work` goes, then closed; what it has at the end.
fn on_engine(dir: &Path, work: impl FnOnce(&engine::Engine, &mut dyn Ask)) -> Vec<String> {
    let engine = open(dir, Fsync::EverySecond).unwrap_or_else(|error| panic!("{error}"));
    let mut connection = engine.connect();
    work(&engine, &mut connection);
    everything(&mut connection)
}

fn on_server(program: Program, dir: &Path, work: impl FnOnce(&mut dyn Ask)) -> Vec<String> {
    let mut server = serve(program, dir);
    work(&mut connect(&server));
    // Some numbers of a stream's group are not in a server's own log, so what counts is what it loads itself.
    server.stop();
    server.restart();
    let all = everything(&mut connect(&server));
    server.stop();
    all
}

fn rewrite_on_server(to: &mut dyn Ask) {
    to.ask(&["BGREWRITEAOF"]);
    let running = |to: &mut dyn Ask| {
        let info: String = redis::from_redis_value(to.ask(&["INFO", "persistence"])).unwrap();
        !info.contains("aof_rewrite_in_progress:0") || !info.contains("aof_rewrite_scheduled:0")
    };
    testkit::wait_until("the server's rewrite ends", || !running(to));
}

fn rewrite_on_engine(engine: &engine::Engine) {
    assert!(engine.rewrite());
    testkit::wait_until("the rewrite ends", || !engine.is_rewriting());
}

fn there_and_back(program: Program) {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    let ours = on_engine(dir, |_, to| feed(to));
    same("a server on our log", &on_server(program, dir, |_| {}), &ours);
    let theirs = on_server(program, dir, |to| {
        to.ask(&["FLUSHALL"]);
        feed(to);
        to.ask(&["RPUSH", "list", "from the server"]);
    });
    same("the engine on a log that the server went on with", &on_engine(dir, |_, _| {}), &theirs);
    let ours = on_engine(dir, |engine, to| {
        rewrite_on_engine(engine);
        to.ask(&["RPUSH", "list", "after the rewrite"]);
    });
    same("a server on our rewritten log", &on_server(program, dir, |_| {}), &ours);
    let theirs = on_server(program, dir, |to| {
        rewrite_on_server(to);
        to.ask(&["RPUSH", "list", "after the server's rewrite"]);
    });
    same("the engine on a log that the server rewrote", &on_engine(dir, |_, _| {}), &theirs);
    // And once more on both sides, as nothing may be lost by merely being opened.
    let ours = on_engine(dir, |engine, _| rewrite_on_engine(engine));
    same("a server at last", &on_server(program, dir, |_| {}), &ours);
    println!("PASS exchange with {program:?}: {} keys, 6 moves, no difference", ours.len() - 1);
}

#[test]
fn a_directory_moves_between_the_engine_and_real_servers() {
    for program in programs() {
        there_and_back(program);
    }
}

#[test]
fn a_directory_that_a_server_wrote_alone_is_opened() {
    for program in programs() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = on_server(program, dir.path(), |to| feed(to));
        same("the engine on a server's log", &on_engine(dir.path(), |_, _| {}), &theirs);
    }
}

#[test]
fn a_base_in_rdb_format_is_refused_with_what_to_do() {
    for program in programs() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().to_str().unwrap();
        let mut server = Setup::new(program)
            .args(["--dir", dir, "--appendonly", "yes", "--aof-use-rdb-preamble", "yes"])
            .start();
        connect(&server).ask(&["SET", "a", "1"]);
        rewrite_on_server(&mut connect(&server));
        server.stop();
        let error = open(scratch.path(), Fsync::No).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, OpenError::Load(_)), "{text}");
        assert!(text.contains("CONFIG SET aof-use-rdb-preamble no, then BGREWRITEAOF"), "{text}");
        // What the sentence says works.
        server.restart();
        connect(&server).ask(&["CONFIG", "SET", "aof-use-rdb-preamble", "no"]);
        rewrite_on_server(&mut connect(&server));
        server.stop();
        let all = on_engine(scratch.path(), |_, _| {});
        assert!(all[0].starts_with("0 a string"), "{all:?}");
    }
}

#[test]
fn files_without_their_list_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    on_engine(dir.path(), |_, to| {
        to.ask(&["SET", "a", "1"]);
    });
    let list = dir.path().join("appendonlydir/appendonly.aof.manifest");
    let text = std::fs::read(&list).unwrap();
    std::fs::remove_file(&list).unwrap();
    let error = open(dir.path(), Fsync::No).unwrap_err().to_string();
    assert!(error.contains("no list of them (appendonly.aof.manifest)"), "{error}");
    std::fs::write(&list, text).unwrap();
    assert!(on_engine(dir.path(), |_, _| {})[0].starts_with("0 a string"));
}
