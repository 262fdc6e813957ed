//! The embedded engine as a store: ready at once, durable in a directory that has one owner, and open to
//! other programs by RESP when asked.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use kernel::{Kind, Message, Topic, Value};
use link::{Embedded, OpenError};

use crate::{cmd, exec, soon};

fn damaged(dir: &std::path::Path) -> OpenError {
    let log = std::fs::read_dir(dir.join("appendonlydir")).expect("a log");
    let file = log
        .map(|entry| entry.expect("an entry").path())
        .find(|path| {
            path.extension().is_some_and(|ext| ext == "aof")
                && path.to_string_lossy().contains("incr")
        })
        .expect("an increment");
    let mut bytes = std::fs::read(&file).expect("readable");
    let at = bytes.windows(5).position(|five| five == b"value").expect("it was written");
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("writable");
    match Embedded::open(dir) {
        Ok(_) => panic!("a damaged log was loaded"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_call_is_ready_at_once() {
    let store = link::open("memory", link::Options::default()).await.expect("always there");
    let set = cmd("SET a 1");
    assert_eq!(store.call(&set, soon()).now_or_never(), Some(Ok(Value::Okay)));
    let cmds = [cmd("INCR a"), cmd("INCR a")];
    assert!(store.pipeline(&cmds, soon()).now_or_never().is_some());
    assert!(store.session(b"a", soon()).now_or_never().is_some());
    let status = store.status();
    assert_eq!((status.kind, status.up), (Kind::Embedded, true));
    assert_eq!((&*status.address, &*status.persistence.sentence()), ("memory", "none"));
    assert!(status.warnings[0].sentence().contains("in memory only"));
}

#[tokio::test]
async fn a_directory_keeps_the_data_and_has_one_owner() {
    let dir = tempfile::tempdir().expect("scratch");
    let place = format!("embedded:{}", dir.path().display());
    let store = link::open(&place, link::Options::default()).await.expect("made");
    store.call(&cmd("SET kept value"), soon()).await.expect("written");
    let status = store.status();
    assert_eq!(status.persistence.sentence(), "append-only log, synced every second");
    assert_eq!(status.address, dir.path().display().to_string());
    assert_eq!(status.warnings, Vec::new());
    // What it says follows its settings.
    store.call(&cmd("CONFIG SET appendfsync always"), soon()).await.expect("taken");
    store.call(&cmd("CONFIG SET maxmemory-policy allkeys-lru"), soon()).await.expect("taken");
    crate::start::until(&*store, "append-only log, synced at every write").await;
    let status = store.status();
    assert_eq!(status.eviction, "allkeys-lru");
    assert!(status.warnings[0].sentence().contains("keys may vanish"), "{:?}", status.warnings);
    let Err(second) = link::open(&place, link::Options::default()).await else { panic!("opened") };
    assert!(second.to_string().contains("another process uses it"), "{second}");
    assert_eq!(second.exit_code(), 2);
    drop(store);
    let again = link::open(&place, link::Options::default()).await.expect("opened again");
    let kept = again.call(&cmd("GET kept"), soon()).await;
    assert_eq!(kept, Ok(Value::BulkString(b"value".to_vec())));
    drop(again);
    let error = damaged(dir.path());
    assert_eq!(error.exit_code(), 1);
    assert!(error.to_string().contains("at byte"), "{error}");
}

#[test]
fn a_directory_that_cannot_be_used_is_told() {
    let file = tempfile::NamedTempFile::new().expect("scratch");
    let Err(error) = Embedded::open(file.path()) else { panic!("a file is no directory") };
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().starts_with("cannot use the data directory "), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_programs_come_in_by_resp() {
    let embedded = Embedded::memory();
    let (address, stall) = ("127.0.0.1:0".parse().expect("an address"), Duration::from_secs(10));
    let listener = embedded.listen(address, stall).expect("listens");
    let store = testkit::open(&format!("redis://{}", listener.addr())).await;
    assert_eq!(store.call(&cmd("SET a 1"), soon()).await, Ok(Value::Okay));
    let inside = embedded.store().call(&cmd("GET a"), soon()).await;
    assert_eq!(inside, Ok(Value::BulkString(b"1".to_vec())));
}

#[test]
fn while_a_script_runs_calls_wait_without_a_thread_and_are_given_up_as_not_sent() {
    use kernel::{Deadline, Effects as _, Fault, Step};

    static SCRIPT: kernel::Script = kernel::Script::new("one", "return 1");
    let embedded = Embedded::memory();
    let store = embedded.store();
    let looping = embedded.engine().connect();
    let (begun, begins) = std::sync::mpsc::channel();
    let script = std::thread::spawn(move || {
        begun.send(()).expect("somebody waits");
        looping.call(&cmd_words(&["EVAL", "while true do end", "0"]))
    });
    begins.recv().expect("it begins");
    // One thread: whoever holds it while it waits keeps all others from running.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("one");
    let given_up = |fault: Fault| assert!(fault.is_busy(), "{fault}");
    runtime.block_on(async {
        while store.status().up {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let by = || Deadline::after(Duration::from_millis(50));
        let get = cmd("GET a");
        given_up(store.call(&get, by()).await.expect_err("busy"));
        given_up(store.pipeline(std::slice::from_ref(&get), by()).await.expect_err("busy"));
        given_up(store.script(&SCRIPT, &[], &[], by()).await.expect_err("busy"));
        let step = Step::new("a").absent().write("1").zadd("z", 1, "a");
        given_up(store.step(&step, by()).await.expect_err("busy"));
        let mut session = store.session(b"a", by()).await.expect("it needs no turn");
        given_up(session.call(&get, by()).await.expect_err("busy"));
        given_up(exec(&mut *session, std::slice::from_ref(&get), by()).await.expect_err("busy"));
        let reason = store.status().reason.expect("a reason");
        assert!(reason.starts_with(Fault::BUSY), "{reason}");
        // Calls that may wait longer are done as soon as the script is over.
        let waits = store.call(&get, soon());
        let other = session.call(&get, soon());
        let kill = async {
            let mut pipe = embedded.engine().duplex();
            let mut answer = [0; 64];
            while !answer.starts_with(b"+OK") {
                use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                pipe.write_all(b"SCRIPT KILL\r\n").await.expect("open");
                answer = [0; 64];
                let _ = pipe.read(&mut answer).await.expect("open");
            }
        };
        let (waited, other, ()) = tokio::join!(waits, other, kill);
        assert_eq!((waited, other), (Ok(Value::Nil), Ok(Value::Nil)));
        while !store.status().up {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    script.join().expect("it was ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_is_native_and_a_script_where_the_engine_declines() {
    use kernel::{Refused, Step, Stepped};

    let store = Embedded::memory().store();
    let refused = Refused { guard: 0, found: Some(b"new".to_vec()), missing: false };
    // A write could be refused halfway where memory has a limit: there a script says so first.
    for (limit, scripts) in [("0", 0), ("100mb", 2), ("0", 0)] {
        store.call(&cmd(&format!("CONFIG SET maxmemory {limit}")), soon()).await.expect("set");
        store.call(&cmd("SET doc old"), soon()).await.expect("set");
        store.call(&cmd("CONFIG RESETSTAT"), soon()).await.expect("forgotten");
        let step = Step::new("doc").expect("old").write("new");
        assert_eq!(store.step(&step, soon()).await, Ok(Stepped::Done));
        assert_eq!(store.step(&step, soon()).await, Ok(Stepped::Refused(refused.clone())));
        let Ok(Value::BulkString(stats)) = store.call(&cmd("INFO commandstats"), soon()).await
        else {
            panic!("a text");
        };
        let stats = String::from_utf8_lossy(&stats);
        let calls = |line: &&str| line.starts_with("cmdstat_eval");
        let calls = stats.lines().filter(calls).filter_map(|line| line.split(['=', ',']).nth(1));
        let calls: u32 = calls.map(|count| count.parse::<u32>().expect("a number")).sum();
        assert_eq!(calls.min(2), scripts, "maxmemory {limit}: {stats}");
    }
}

fn cmd_words(words: &[&str]) -> kernel::Cmd {
    let mut cmd = kernel::Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    cmd
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_for_other_programs_does_not_lock_us_out() {
    let embedded = Embedded::memory();
    let store = embedded.store();
    store.call(&cmd("CONFIG SET requirepass secret"), soon()).await.expect("set");
    store.call(&cmd("ACL SETUSER default off"), soon()).await.expect("set");
    let mut session = store.session(b"a", soon()).await.expect("a session");
    assert_eq!(session.call(&cmd("SET a 1"), soon()).await, Ok(Value::Okay));
    let pop = store.call(&cmd("BLPOP q 0.01"), soon()).await;
    assert_eq!(pop, Ok(Value::Nil));
    let topics = [Topic::Channel("news".into())];
    let mut news = store.subscribe(&topics, soon()).await.expect("subscribed");
    store.call(&cmd("PUBLISH news hello"), soon()).await.expect("published");
    assert!(matches!(news.next().await, Some(Message::Payload { .. })));
}
