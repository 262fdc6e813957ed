//! The embedded engine as a store: ready at once, durable in a directory that has one owner, and open to
//! other programs by RESP when asked.

use futures_util::FutureExt as _;
use kernel::{Kind, Value};
use link::{Embedded, OpenError};

use crate::{cmd, soon};

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
    assert_eq!((&*status.place, &*status.persistence), ("memory", "none"));
    assert!(status.warnings[0].contains("in memory only"));
}

#[tokio::test]
async fn a_directory_keeps_the_data_and_has_one_owner() {
    let dir = tempfile::tempdir().expect("scratch");
    let place = format!("embedded:{}", dir.path().display());
    let store = link::open(&place, link::Options::default()).await.expect("made");
    store.call(&cmd("SET kept value"), soon()).await.expect("written");
    let status = store.status();
    assert_eq!(status.persistence, "append-only log, synced every second");
    assert_eq!(status.place, dir.path().display().to_string());
    assert_eq!(status.warnings, Vec::<String>::new());
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
    let listener = embedded.listen("127.0.0.1:0".parse().expect("an address")).expect("listens");
    let store = testkit::open(&format!("redis://{}", listener.addr())).await;
    assert_eq!(store.call(&cmd("SET a 1"), soon()).await, Ok(Value::Okay));
    let inside = embedded.store().call(&cmd("GET a"), soon()).await;
    assert_eq!(inside, Ok(Value::BulkString(b"1".to_vec())));
}
