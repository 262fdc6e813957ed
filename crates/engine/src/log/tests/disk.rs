//! A disk that fails: what is promised about acknowledging, refusing and coming back.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use redis::{Value, cmd};
use testkit::wait_until;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::log::file::{Disk, LogFile};
use crate::{Connection, Engine, Fsync, Options};

/// A file that refuses on demand.
#[derive(Debug)]
struct Moody {
    file: std::fs::File,
    full: AtomicBool,
    /// With `full`, half of a batch is written before the refusal, and cannot be cut off.
    torn: AtomicBool,
    unsynced: AtomicBool,
    syncs: AtomicU64,
    appends: AtomicU64,
}

impl Disk for Moody {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.appends.fetch_add(1, Ordering::SeqCst);
        if self.full.load(Ordering::SeqCst) {
            if self.torn.load(Ordering::SeqCst) {
                Disk::append(&self.file, &bytes[..bytes.len() / 2])?;
            }
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        Disk::append(&self.file, bytes)
    }

    fn cut(&self, len: u64) -> io::Result<()> {
        if self.torn.load(Ordering::SeqCst) {
            return Err(io::Error::other("cannot cut"));
        }
        Disk::cut(&self.file, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        if self.unsynced.load(Ordering::SeqCst) {
            return Err(io::Error::other("input/output error"));
        }
        self.file.sync_data()
    }
}

fn open(dir: &Path, fsync: Fsync) -> Engine {
    let options = Options { dir: Some(dir.into()), fsync, ..Options::default() };
    Engine::open(options).unwrap().0
}

/// An engine whose present increment is on a moody disk.
fn moody(dir: &Path, fsync: Fsync) -> (Engine, Arc<Moody>) {
    let engine = open(dir, fsync);
    let path = dir.join("appendonlydir/appendonly.aof.1.incr.aof");
    let disk = Arc::new(Moody {
        file: std::fs::File::options().append(true).open(path).unwrap(),
        full: AtomicBool::default(),
        torn: AtomicBool::default(),
        unsynced: AtomicBool::default(),
        syncs: AtomicU64::default(),
        appends: AtomicU64::default(),
    });
    let mut inner = engine.shared.lock();
    let log = inner.log.as_mut().unwrap();
    log.file = LogFile::on(disk.clone(), log.file.len);
    log.syncer.follow(&log.file);
    drop(inner);
    (engine, disk)
}

fn ask(connection: &Connection, line: &str) -> String {
    let mut words = line.split(' ');
    let mut command = cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    match connection.call(&command).unwrap() {
        Value::ServerError(error) => {
            format!("{} {}", error.code(), error.details().unwrap_or_default())
        }
        Value::Array(values) => format!("{values:?}"),
        other => redis::from_redis_value(other).unwrap_or_default(),
    }
}

#[test]
fn a_full_disk_refuses_writes_and_comes_back_by_itself() {
    for torn in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (engine, disk) = moody(dir.path(), Fsync::Always);
        let connection = engine.connect();
        assert_eq!(ask(&connection, "SET before 1"), "OK");
        ask(&connection, "SELECT 3");
        assert_eq!(ask(&connection, "INCR n"), "1");
        disk.torn.store(torn, Ordering::SeqCst);
        disk.full.store(true, Ordering::SeqCst);
        let refused = ask(&connection, "INCR n");
        assert!(refused.starts_with("MISCONF") && refused.contains("outcome unknown"), "{refused}");
        let refused = ask(&connection, "SET c 3");
        assert!(refused.starts_with("MISCONF Errors writing to the AOF file"), "{refused}");
        let refused = ask(&connection, "EVAL return(redis.call('SET','d','1')) 0");
        assert!(refused.starts_with("MISCONF"), "{refused}");
        ask(&connection, "SELECT 0");
        assert_eq!(ask(&connection, "GET before"), "1", "reads go on");
        assert_eq!(ask(&connection, "GET c"), "");
        disk.torn.store(false, Ordering::SeqCst);
        disk.full.store(false, Ordering::SeqCst);
        wait_until("writes are taken again", || ask(&connection, "SET after 1") == "OK");
        drop(connection);
        drop(engine);
        let again = open(dir.path(), Fsync::No).connect();
        // The command that was refused with an unknown outcome may be there, once.
        assert_eq!(
            ask(&again, "MGET before after c"),
            "[bulk-string('\"1\"'), bulk-string('\"1\"'), nil]"
        );
        ask(&again, "SELECT 3");
        assert_eq!(ask(&again, "GET n"), "2");
    }
}

#[test]
fn a_rewrite_beside_refused_writes_counts_none_twice() {
    // The refused batch is in memory: the new base has it, so the new increment must not.
    let dir = tempfile::tempdir().unwrap();
    let (engine, disk) = moody(dir.path(), Fsync::Always);
    let connection = engine.connect();
    ask(&connection, "SELECT 2");
    assert_eq!(ask(&connection, "INCR n"), "1");
    disk.full.store(true, Ordering::SeqCst);
    assert!(ask(&connection, "INCR n").starts_with("MISCONF"));
    assert!(engine.rewrite());
    wait_until("the rewrite ends", || !engine.is_rewriting());
    wait_until("writes are taken again", || ask(&connection, "SET after 1") == "OK");
    assert_eq!(ask(&connection, "GET n"), "2");
    drop(connection);
    drop(engine);
    let again = open(dir.path(), Fsync::No).connect();
    ask(&again, "SELECT 2");
    assert_eq!(ask(&again, "GET n"), "2");
    assert_eq!(ask(&again, "GET after"), "1");
}

#[test]
fn a_rewrite_that_fails_leaves_the_old_files_valid() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path(), Fsync::Always);
    let connection = engine.connect();
    for n in 0..100 {
        ask(&connection, &format!("SET k{n} {n}"));
    }
    // A directory where the new base is to be written stops every rewrite.
    let block = dir.path().join("appendonlydir/temp-rewrite.aof");
    std::fs::create_dir(&block).unwrap();
    for n in 0..3 {
        assert!(engine.rewrite());
        wait_until("the rewrite ends", || !engine.is_rewriting());
        assert_eq!(ask(&connection, &format!("SET after{n} 1")), "OK");
        let copy = tempfile::tempdir().unwrap();
        copy_log(dir.path(), copy.path());
        assert_eq!(ask(&open(copy.path(), Fsync::No).connect(), "DBSIZE"), (101 + n).to_string());
    }
    assert!(ask(&connection, "INFO persistence").contains("aof_last_bgrewrite_status:err"));
    std::fs::remove_dir(&block).unwrap();
    assert!(engine.rewrite());
    wait_until("the rewrite ends", || !engine.is_rewriting());
    assert!(ask(&connection, "INFO persistence").contains("aof_last_bgrewrite_status:ok"));
    drop(connection);
    drop(engine);
    assert_eq!(ask(&open(dir.path(), Fsync::No).connect(), "DBSIZE"), "103");
}

fn copy_log(from: &Path, to: &Path) {
    std::fs::create_dir(to.join("appendonlydir")).unwrap();
    for entry in std::fs::read_dir(from.join("appendonlydir")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join("appendonlydir").join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn after_a_failed_sync_only_new_files_count() {
    for fsync in [Fsync::Always, Fsync::EverySecond] {
        let dir = tempfile::tempdir().unwrap();
        let (engine, disk) = moody(dir.path(), fsync);
        let connection = engine.connect();
        assert_eq!(ask(&connection, "SET a 1"), "OK");
        // New files cannot be made either, for now.
        let block = dir.path().join("appendonlydir/temp-rewrite.aof");
        std::fs::create_dir(&block).unwrap();
        disk.unsynced.store(true, Ordering::SeqCst);
        wait_until("the failure is noticed", || ask(&connection, "INCR n").starts_with("MISCONF"));
        disk.unsynced.store(false, Ordering::SeqCst);
        // The disk syncs again, and that is no reason to trust the old file.
        std::thread::sleep(Duration::from_millis(300));
        assert!(ask(&connection, "INCR n").starts_with("MISCONF"));
        assert_eq!(ask(&connection, "GET a"), "1");
        std::fs::remove_dir(&block).unwrap();
        wait_until("new files are complete", || ask(&connection, "SET b 1") == "OK");
        let n = ask(&connection, "GET n");
        drop(connection);
        drop(engine);
        let again = open(dir.path(), Fsync::No).connect();
        assert_eq!(ask(&again, "GET b"), "1");
        assert_eq!(ask(&again, "GET n"), n);
        assert!(!dir.path().join("appendonlydir/appendonly.aof.1.incr.aof").exists());
    }
}

#[test]
fn a_transaction_queued_before_the_failure_is_refused_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, disk) = moody(dir.path(), Fsync::Always);
    let (one, other) = (engine.connect(), engine.connect());
    ask(&one, "MULTI");
    ask(&one, "SET a 1");
    disk.full.store(true, Ordering::SeqCst);
    assert!(ask(&other, "SET b 1").starts_with("MISCONF"));
    let refused = ask(&one, "EXEC");
    assert!(refused.starts_with("EXECABORT"), "{refused}");
    assert_eq!(ask(&one, "GET a"), "");
}

#[tokio::test]
async fn a_stream_is_closed_without_the_reply_that_was_not_logged() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, disk) = moody(dir.path(), Fsync::Always);
    let mut waiting = engine.duplex();
    waiting.write_all(b"BLPOP list 0\r\n").await.unwrap();
    let blocked = || engine.shared.lock().core().blocked_clients > 0;
    while !blocked() {
        tokio::task::yield_now().await;
    }
    let mut writing = engine.duplex();
    writing.write_all(b"SET a 1\r\n").await.unwrap();
    let mut ok = [0; 5];
    writing.read_exact(&mut ok).await.unwrap();
    disk.full.store(true, Ordering::SeqCst);
    writing.write_all(b"RPUSH list x\r\n").await.unwrap();
    let mut rest = Vec::new();
    writing.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty(), "{rest:?}");
    // Nor may the one who got the element believe it.
    let mut told = [0; 8];
    waiting.read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"-MISCONF");
    let mut reading = engine.duplex();
    reading.write_all(b"GET a\r\n").await.unwrap();
    let mut reply = [0; 7];
    reading.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"$1\r\n1\r\n");
}

#[test]
fn one_write_of_the_log_serves_all_that_are_ready_and_fails_for_all() {
    const CLIENTS: usize = 20;
    let dir = tempfile::tempdir().unwrap();
    let (engine, disk) = moody(dir.path(), Fsync::Always);
    let door = engine.listen(([127, 0, 0, 1], 0).into()).unwrap();
    let mut streams: Vec<_> =
        (0..CLIENTS).map(|_| std::net::TcpStream::connect(door.addr()).unwrap()).collect();
    let say_all = |streams: &mut Vec<std::net::TcpStream>, calls: &[u8]| {
        // Nothing runs before everybody has spoken.
        let lock = engine.shared.lock();
        for stream in streams {
            stream.write_all(calls).unwrap();
        }
        drop(lock);
    };
    // Two lines, or as much as there is before the end.
    let hear = |stream: &mut std::net::TcpStream| {
        let (mut text, mut byte) = (Vec::new(), [0]);
        while memchr::memchr_iter(b'\n', &text).count() < 2
            && stream.read(&mut byte).is_ok_and(|len| len > 0)
        {
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    };
    say_all(&mut streams, b"INCR n\r\nINCR n\r\n");
    let mut sum = 0;
    for stream in &mut streams {
        let text = hear(stream);
        sum += text.lines().map(|line| line[1..].parse::<usize>().unwrap()).sum::<usize>();
    }
    assert_eq!(sum, (1..=2 * CLIENTS).sum::<usize>());
    let (appends, syncs) = (disk.appends.load(Ordering::SeqCst), disk.syncs.load(Ordering::SeqCst));
    assert!(appends < 10 && syncs < 10, "{appends} appends, {syncs} syncs for {CLIENTS} clients");

    disk.full.store(true, Ordering::SeqCst);
    say_all(&mut streams, b"INCR n\r\nINCR n\r\n");
    let mut closed = 0;
    for stream in &mut streams {
        // Calls that came after the failure are refused; nobody is told a number.
        let text = hear(stream);
        assert!(text.is_empty() || text.starts_with("-MISCONF"), "{text}");
        closed += usize::from(text.is_empty());
    }
    assert!(closed > 0, "those whose calls could not be logged are closed");
    drop(streams);
    disk.full.store(false, Ordering::SeqCst);
    let connection = engine.connect();
    wait_until("writes are taken again", || ask(&connection, "SET after 1") == "OK");
    let n: usize = ask(&connection, "GET n").parse().unwrap();
    drop((connection, door, engine));
    let again = open(dir.path(), Fsync::No).connect();
    assert_eq!(ask(&again, "GET n"), n.to_string());
    assert!(n >= 2 * CLIENTS);
}

#[tokio::test]
async fn a_rewrite_between_a_call_and_its_reply_counts_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path(), Fsync::No);
    let mut streams: Vec<_> = (0..10).map(|_| engine.duplex()).collect();
    for round in 1..=30 {
        for stream in &mut streams {
            stream.write_all(b"INCR n\r\n").await.unwrap();
        }
        if round % 5 == 0 {
            engine.rewrite();
        }
        for stream in &mut streams {
            let mut reply = [0; 2];
            stream.read_exact(&mut reply).await.unwrap();
            while reply[1] != b'\n' {
                stream.read_exact(&mut reply[1..]).await.unwrap();
            }
        }
    }
    wait_until("the rewrite ends", || !engine.is_rewriting());
    drop(streams);
    tokio::task::yield_now().await;
    let connection = engine.connect();
    assert_eq!(ask(&connection, "GET n"), "300");
    let copy = tempfile::tempdir().unwrap();
    copy_log(dir.path(), copy.path());
    assert_eq!(ask(&open(copy.path(), Fsync::No).connect(), "GET n"), "300");
}

/// Mounted while the test runs.
struct Small(tempfile::TempDir);

impl Small {
    fn mount(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let done = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(dir.path())
            .output();
        done.is_ok_and(|output| output.status.success()).then_some(Small(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_real_full_disk_loses_nothing_acknowledged() {
    let Some(small) = Small::mount("1m") else {
        println!(
            "no right to mount a tmpfs here: the full disk is only simulated, by the tests above"
        );
        return;
    };
    let dir = small.0.path();
    let filler = dir.join("filler");
    std::fs::write(&filler, vec![1; 400 << 10]).unwrap();
    let engine = open(dir, Fsync::Always);
    let connection = engine.connect();
    let value = "v".repeat(2000);
    let mut done = 0;
    let refused = loop {
        let reply = ask(&connection, &format!("SET k{done} {value}"));
        if reply != "OK" {
            break reply;
        }
        done += 1;
        assert!(done < 2000, "the disk must get full");
    };
    assert!(refused.contains("No space left"), "{refused}");
    assert_eq!(ask(&connection, "GET k0"), value);
    // A rewrite finds no room either, and harms nothing.
    engine.rewrite();
    wait_until("the rewrite ends", || !engine.is_rewriting());
    assert!(ask(&connection, "SET x 1").starts_with("MISCONF"));
    std::fs::remove_file(&filler).unwrap();
    wait_until("writes are taken again", || ask(&connection, "SET x 1") == "OK");
    drop(connection);
    drop(engine);
    let again = open(dir, Fsync::No).connect();
    for n in 0..done {
        assert_eq!(ask(&again, &format!("GET k{n}")), value, "k{n}");
    }
    assert_eq!(ask(&again, "GET x"), "1");
    drop(again);
    println!("PASS disk: {done} acknowledged on 1 MiB, 0 lost");
}

#[test]
fn the_log_is_synced_as_appendfsync_says_while_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, disk) = moody(dir.path(), Fsync::No);
    let connection = engine.connect();
    let syncs = || disk.syncs.load(Ordering::SeqCst);
    let set = |value: &str| {
        assert_eq!(ask(&connection, &format!("CONFIG SET appendfsync {value}")), "OK");
    };
    assert_eq!(ask(&connection, "INCR n"), "1");
    let before = syncs();
    assert_eq!(ask(&connection, "INCR n"), "2");
    assert_eq!(syncs(), before, "nothing is synced");
    set("always");
    assert_eq!(ask(&connection, "INCR n"), "3");
    assert_eq!(syncs(), before + 1);
    set("everysec");
    assert_eq!(ask(&connection, "INCR n"), "4");
    wait_until("a sync within a second or so", || syncs() > before + 1);
}
