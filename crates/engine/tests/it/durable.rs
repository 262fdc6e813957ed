//! The log: what was acknowledged is there again, on our own loader and on a real server.

use std::path::Path;

use engine::{Connection, Engine, Fsync, LoadError, OpenError, Options};
use redis::{Value, cmd};

fn open(dir: &Path, fsync: Fsync) -> Result<Engine, OpenError> {
    let options = Options { dir: Some(dir.to_path_buf()), fsync, ..Options::default() };
    Engine::open(options).map(|(engine, _)| engine)
}

fn run(connection: &Connection, line: &str) -> Value {
    let mut words = line.split(' ');
    let mut command = cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    connection.call(&command).expect("does not block")
}

fn text(value: Value) -> String {
    redis::from_redis_value(value).unwrap()
}

/// Keys of every type, changed in every way that is logged in another form than it came.
const LINES: &[&str] = &[
    "SET a 1",
    "INCRBY a 41",
    "SET b text EX 10000",
    "APPEND b -more",
    "INCRBYFLOAT c 0.1",
    "INCRBYFLOAT c 0.2",
    "RPUSH list a b c d",
    "LPOP list",
    "LMOVE list other LEFT RIGHT",
    "HSET hash f v g w",
    "HINCRBYFLOAT hash n 1.5",
    "SADD set a b c d e f g",
    "SPOP set 3",
    "ZADD zset 1 one 2 two 3 three",
    "ZPOPMIN zset",
    "ZADD zset -inf low 1e300 high",
    "PFADD visitors a b c d e",
    "PFCOUNT visitors",
    "PFMERGE all visitors",
    "GEOADD places 13.361389 38.115556 Palermo 15.087269 37.502669 Catania",
    "GEOADD places XX CH 15.09 37.51 Catania",
    "GEOSEARCHSTORE near places FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST",
    "GEORADIUS places 15 37 100 km STORE nearer",
    "SELECT 3",
    "SET in-three yes",
    "SELECT 0",
    "GETEX a PX 5000000",
    "SET gone soon",
    "GETDEL gone",
    "RENAME other another",
    "SINTERSTORE copy set",
    "SETRANGE range 5 hello",
    "MSET m1 1 m2 2",
    "EXPIRE m1 1000",
    "PERSIST m1",
    "XADD s * f v",
    "XADD s 99999999999999-1 f v g w",
    "XADD s MAXLEN ~ 100 99999999999999-* f v",
    "XADD s 99999999999999-4 other v",
    "XDEL s 99999999999999-1",
    "XGROUP CREATE s g 0",
    "XREADGROUP GROUP g ann COUNT 1 STREAMS s >",
    "XREADGROUP GROUP g bob NOACK COUNT 1 STREAMS s >",
    "XREADGROUP GROUP g bob STREAMS s >",
    "XADD s 99999999999999-9 late v",
    "XAUTOCLAIM s g cy 0 - COUNT 1 JUSTID",
    "XGROUP CREATECONSUMER s g idle",
    "XACK s g 99999999999999-2",
    "XGROUP CREATE empty g $ MKSTREAM",
    "XADD trimmed 5-5 f v",
    "XTRIM trimmed MAXLEN 0",
];

fn digest(connection: &Connection) -> Vec<String> {
    let mut found = Vec::new();
    for db in [0, 3] {
        run(connection, &format!("SELECT {db}"));
        let keys: Vec<String> = redis::from_redis_value(run(connection, "KEYS *")).unwrap();
        for key in keys {
            let kind = text(run(connection, &format!("TYPE {key}")));
            let mut value: Vec<String> = match kind.as_str() {
                "string" => vec![format!("{:?}", run(connection, &format!("GET {key}")))],
                "list" => {
                    redis::from_redis_value(run(connection, &format!("LRANGE {key} 0 -1"))).unwrap()
                }
                "hash" => {
                    redis::from_redis_value(run(connection, &format!("HGETALL {key}"))).unwrap()
                }
                "set" => {
                    redis::from_redis_value(run(connection, &format!("SMEMBERS {key}"))).unwrap()
                }
                "stream" => ["XRANGE {} - +", "XINFO GROUPS {}", "XPENDING {} g"]
                    .map(|line| format!("{:?}", run(connection, &line.replace("{}", &key))))
                    .to_vec(),
                _ => redis::from_redis_value(run(
                    connection,
                    &format!("ZRANGE {key} 0 -1 WITHSCORES"),
                ))
                .unwrap(),
            };
            if kind == "set" {
                value.sort();
            }
            let end = run(connection, &format!("PEXPIRETIME {key}"));
            found.push(format!("{db} {key} {kind} {end:?} {value:?}"));
        }
    }
    run(connection, "SELECT 0");
    found.sort();
    found
}

#[test]
fn everything_is_there_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let before = {
        let engine = open(dir.path(), Fsync::EverySecond).unwrap();
        let connection = engine.connect();
        for line in LINES {
            run(&connection, line);
        }
        digest(&connection)
    };
    let engine = open(dir.path(), Fsync::EverySecond).unwrap();
    assert_eq!(digest(&engine.connect()), before);
}

#[test]
fn a_rewrite_under_writes_keeps_everything() {
    let dir = tempfile::tempdir().unwrap();
    let before = {
        let engine = open(dir.path(), Fsync::EverySecond).unwrap();
        let connection = engine.connect();
        for i in 0..20_000 {
            run(&connection, &format!("RPUSH l{} {i}", i % 5000));
            run(&connection, &format!("INCR n{}", i % 3000));
        }
        for line in LINES {
            run(&connection, line);
        }
        assert!(engine.rewrite());
        let mut i = 0;
        while engine.is_rewriting() {
            run(&connection, &format!("RPUSH l{} late{i}", i % 5000));
            run(&connection, &format!("INCR n{}", i % 3000));
            run(&connection, &format!("DEL l{}", (i * 7) % 5000));
            run(&connection, &format!("SET new{i} x"));
            i += 1;
        }
        assert!(i > 0, "the rewrite ran beside the writes");
        digest(&connection)
    };
    let files: Vec<String> = std::fs::read_dir(dir.path().join("appendonlydir"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files.len(), 3, "manifest, base and increment: {files:?}");
    let engine = open(dir.path(), Fsync::EverySecond).unwrap();
    assert_eq!(digest(&engine.connect()), before);
}

#[test]
fn a_new_directory_has_a_list_of_its_files_from_the_first_write_on() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("appendonlydir/appendonly.aof.manifest");
    for _ in 0..2 {
        // Nothing was acknowledged, so nothing need be there; the next start is as new.
        drop(open(dir.path(), Fsync::Always).unwrap());
        assert!(!list.exists());
    }
    let engine = open(dir.path(), Fsync::Always).unwrap();
    run(&engine.connect(), "GET a");
    assert!(!list.exists(), "reading writes nothing");
    run(&engine.connect(), "SET a 1");
    assert_eq!(
        std::fs::read_to_string(&list).unwrap(),
        "file appendonly.aof.1.incr.aof seq 1 type i\n"
    );
    drop(engine);
    let engine = open(dir.path(), Fsync::Always).unwrap();
    assert_eq!(text(run(&engine.connect(), "GET a")), "1");
}

#[test]
fn a_directory_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let _engine = open(dir.path(), Fsync::No).unwrap();
    assert!(matches!(open(dir.path(), Fsync::No), Err(OpenError::Locked(_))));
}

fn only_increment(dir: &Path) -> std::path::PathBuf {
    dir.join("appendonlydir/appendonly.aof.1.incr.aof")
}

#[test]
fn a_tail_cut_at_any_byte_loads_the_longest_whole_prefix() {
    let dir = tempfile::tempdir().unwrap();
    {
        let engine = open(dir.path(), Fsync::No).unwrap();
        let connection = engine.connect();
        for i in 0..40 {
            run(&connection, &format!("SET k{i} v"));
        }
        run(&connection, "MULTI");
        run(&connection, "SET both one");
        run(&connection, "SET both two");
        run(&connection, "EXEC");
    }
    let whole = std::fs::read(only_increment(dir.path())).unwrap();
    let mut seen = 0;
    for cut in 0..=whole.len() {
        let copy = tempfile::tempdir().unwrap();
        std::fs::create_dir(copy.path().join("appendonlydir")).unwrap();
        std::fs::copy(
            dir.path().join("appendonlydir/appendonly.aof.manifest"),
            copy.path().join("appendonlydir/appendonly.aof.manifest"),
        )
        .unwrap();
        std::fs::write(only_increment(copy.path()), &whole[..cut]).unwrap();
        let engine = open(copy.path(), Fsync::No).unwrap_or_else(|e| panic!("cut at {cut}: {e}"));
        let connection = engine.connect();
        let size: usize = redis::from_redis_value(run(&connection, "DBSIZE")).unwrap();
        assert!(size >= seen, "cut at {cut}: {size} keys after {seen}");
        seen = size;
        // A transaction is there whole or not at all.
        if let Value::BulkString(both) = run(&connection, "GET both") {
            assert_eq!(both, b"two", "cut at {cut}");
        }
        // What is left takes more, and loads again.
        run(&connection, "SET after cut");
        drop(connection);
        drop(engine);
        let again = open(copy.path(), Fsync::No).unwrap_or_else(|e| panic!("again at {cut}: {e}"));
        assert_eq!(text(run(&again.connect(), "GET after")), "cut");
    }
    assert_eq!(seen, 41);
}

#[test]
fn a_flipped_bit_is_found_and_refused() {
    let dir = tempfile::tempdir().unwrap();
    {
        let engine = open(dir.path(), Fsync::No).unwrap();
        let connection = engine.connect();
        for i in 0..30 {
            run(&connection, &format!("SET key{i} value{i}"));
        }
    }
    let path = only_increment(dir.path());
    let whole = std::fs::read(&path).unwrap();
    let expected = digest(&open(dir.path(), Fsync::No).unwrap().connect());
    for byte in 0..whole.len() {
        let bit = byte % 8;
        let mut flipped = whole.clone();
        flipped[byte] ^= 1 << bit;
        std::fs::write(&path, &flipped).unwrap();
        match open(dir.path(), Fsync::No) {
            Err(OpenError::Load(LoadError::Damaged { .. })) => {}
            Err(other) => panic!("bit {bit} of byte {byte}: {other}"),
            // Only the very end may look torn; nothing that was acknowledged may be lost or changed by it.
            Ok(engine) => {
                assert!(byte + 2 >= whole.len(), "bit {bit} of byte {byte} was not noticed");
                assert_eq!(digest(&engine.connect()), expected, "bit {bit} of byte {byte}");
            }
        }
    }
}

#[test]
fn a_real_server_reads_the_streams_of_a_log() {
    const QUESTIONS: &[&str] = &[
        "XRANGE s - +",
        "XINFO GROUPS s",
        "XPENDING s g",
        "XINFO STREAM empty",
        "XINFO GROUPS empty",
        "XINFO STREAM trimmed",
    ];
    for rewritten in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let ours: Vec<Value> = {
            let engine = open(dir.path(), Fsync::Always).unwrap();
            let connection = engine.connect();
            for line in LINES {
                run(&connection, line);
            }
            if rewritten {
                assert!(engine.rewrite());
                testkit::wait_until("the rewrite ends", || !engine.is_rewriting());
            }
            QUESTIONS.iter().map(|line| run(&connection, line)).collect()
        };
        let path = dir.path().to_str().unwrap().to_owned();
        let server = testkit::Setup::new(testkit::Program::Redis)
            .args(["--dir".to_owned(), path, "--appendonly".to_owned(), "yes".to_owned()])
            .start();
        let client = redis::Client::open(format!("redis://{}", server.addr())).unwrap();
        let mut connection = client.get_connection().unwrap();
        for (line, ours) in QUESTIONS.iter().zip(ours) {
            let mut words = line.split(' ');
            let mut command = cmd(words.next().unwrap());
            for word in words {
                command.arg(word);
            }
            let theirs: Value = command.query(&mut connection).unwrap();
            assert_eq!(theirs, ours, "{line}, rewritten: {rewritten}");
        }
    }
}

#[test]
fn an_engine_dropped_in_the_middle_of_a_rewrite_leaves_its_directory_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut written = 0;
    for round in 0..120u64 {
        let engine = open(dir.path(), Fsync::No).unwrap();
        let connection = engine.connect();
        assert_eq!(run(&connection, "DBSIZE"), Value::Int(written), "round {round}");
        for n in written..written + 20 {
            run(&connection, &format!("SET k{n} {n}"));
        }
        written += 20;
        assert!(engine.rewrite());
        // The moment of the end wanders over all steps of the rewrite.
        std::thread::sleep(std::time::Duration::from_micros(round * 50));
    }
}
