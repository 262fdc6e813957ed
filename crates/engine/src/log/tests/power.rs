//! The power fails: of the bytes that were written and not synced, any part may be on the disk, in
//! any order. The rest must load as some prefix of the operations, with everything acknowledged
//! under `fsync always`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use redis::{Value, cmd};

use crate::log::file::{Disk, LogFile};
use crate::{Connection, Engine, Fsync, Options};

const FILE: &str = "appendonlydir/appendonly.aof.1.incr.aof";

/// A disk that remembers what is safe and what is not yet.
#[derive(Debug, Default)]
struct Sim(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    safe: Vec<u8>,
    /// Writes since the last sync: where, and what.
    recent: Vec<(usize, Vec<u8>)>,
    len: usize,
    /// The power is about to fail: no sync returns any more.
    failing: bool,
}

impl Disk for Sim {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock();
        let at = state.len;
        state.recent.push((at, bytes.to_vec()));
        state.len += bytes.len();
        Ok(())
    }

    fn cut(&self, _: u64) -> io::Result<()> {
        Err(io::Error::other("not in this simulation"))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.0.lock();
        if state.failing {
            return Err(io::Error::other("the power failed"));
        }
        for (at, bytes) in std::mem::take(&mut state.recent) {
            lay(&mut state.safe, at, &bytes);
        }
        Ok(())
    }
}

fn lay(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if file.len() < at + bytes.len() {
        file.resize(at + bytes.len(), 0);
    }
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

impl Sim {
    /// A file that may be found after the power came back.
    fn after_loss(&self, rng: &mut StdRng) -> Vec<u8> {
        let state = self.0.lock();
        let mut file = state.safe.clone();
        for (at, bytes) in &state.recent {
            match rng.random_range(0..3) {
                0 => {}
                1 => lay(&mut file, *at, bytes),
                _ => lay(&mut file, *at, &bytes[..rng.random_range(0..=bytes.len())]),
            }
        }
        if rng.random_range(0..4) == 0 && file.len() < state.len {
            // The length reached the disk, the bytes did not.
            file.resize(rng.random_range(file.len()..=state.len), 0);
        }
        file
    }
}

/// Operation `n`: alone, in a transaction, or in a script; each leaves `n` in both places or in none.
fn operate(connection: &Connection, n: i64) -> bool {
    let done = |reply: Option<Value>| !matches!(reply, None | Some(Value::ServerError(_)));
    match n % 3 {
        0 => done(connection.call(cmd("RPUSH").arg("list").arg(n))),
        1 => {
            connection.call(&cmd("MULTI"));
            connection.call(cmd("RPUSH").arg("list").arg(n));
            connection.call(cmd("SET").arg("twin").arg(n));
            done(connection.call(&cmd("EXEC")))
        }
        _ => {
            let script =
                "redis.call('RPUSH', 'list', ARGV[1]) return redis.call('SET', 'twin', ARGV[1])";
            done(connection.call(cmd("EVAL").arg(script).arg(0).arg(n)))
        }
    }
}

/// How many operations a directory holds; they must be the first ones, each whole.
fn held(dir: &Path, seed: u64) -> Option<i64> {
    let options = Options { dir: Some(dir.into()), fsync: Fsync::No, ..Options::default() };
    let (engine, _) = Engine::open(options).ok()?;
    let connection = engine.connect();
    let list = connection.call(cmd("LRANGE").arg("list").arg(0).arg(-1)).unwrap();
    let list: Vec<i64> = redis::from_redis_value(list).unwrap();
    let count = i64::try_from(list.len()).unwrap();
    assert_eq!(list, (0..count).collect::<Vec<_>>(), "seed {seed}: not a prefix");
    let twin = connection.call(cmd("GET").arg("twin")).unwrap();
    let twin: Option<i64> = redis::from_redis_value(twin).unwrap();
    assert_eq!(twin, (0..count).rev().find(|n| n % 3 != 0), "seed {seed}: half an operation");
    Some(count)
}

fn scratch() -> tempfile::TempDir {
    // The real files of this test need not be on a disk.
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Does the work of the thread that syncs once a second, and mostly that of the tick after it.
fn sync_now(engine: &Engine) -> io::Result<()> {
    let mut inner = engine.shared.lock();
    let log = inner.log.as_mut().unwrap();
    log.sync()?;
    if !log.file.len.is_multiple_of(4) {
        log.claim();
    }
    Ok(())
}

/// One life and loss; gives whether the directory had to be repaired.
fn lose_power(seed: u64, fsync: Fsync) -> bool {
    let mut rng = StdRng::seed_from_u64(seed);
    let dir = scratch();
    let options = Options { dir: Some(dir.path().into()), fsync, ..Options::default() };
    let (engine, _) = Engine::open(options).unwrap();
    let sim = Arc::new(Sim::default());
    {
        let mut inner = engine.shared.lock();
        let log = inner.log.as_mut().unwrap();
        log.file = LogFile::on(sim.clone(), 0);
        log.syncer.follow(&log.file);
    }
    let connection = engine.connect();
    let (mut acknowledged, mut synced) = (0, 0);
    let count = rng.random_range(1..12);
    for n in 0..count {
        sim.0.lock().failing = n + 1 == count && rng.random_range(0..2) == 0;
        acknowledged += i64::from(operate(&connection, n));
        if fsync != Fsync::Always && rng.random_range(0..4) == 0 && sync_now(&engine).is_ok() {
            synced = n + 1;
        }
    }
    let promised = if fsync == Fsync::Always { acknowledged } else { synced };
    let left = sim.after_loss(&mut rng);
    drop((connection, engine));
    let after = scratch();
    std::fs::create_dir(after.path().join("appendonlydir")).unwrap();
    // The list of files was synced before the first write, see `Log::list`.
    let list = "file appendonly.aof.1.incr.aof seq 1 type i\n";
    std::fs::write(after.path().join("appendonlydir/appendonly.aof.manifest"), list).unwrap();
    std::fs::write(after.path().join(FILE), left).unwrap();
    let (found, repaired) = if let Some(found) = held(after.path(), seed) {
        (found, false)
    } else {
        crate::repair_log(after.path()).unwrap();
        (held(after.path(), seed).unwrap_or_else(|| panic!("seed {seed}: not repaired")), true)
    };
    assert!(found >= promised, "seed {seed}: {found} of {promised} promised operations are left");
    repaired
}

fn seeds() -> u64 {
    if std::env::var_os("WORLDKEEP_TORTURE").is_some() { 200_000 } else { 2_000 }
}

#[test]
fn under_fsync_always_no_loss_of_power_loses_what_was_acknowledged() {
    let repaired = (0..seeds()).filter(|seed| lose_power(*seed, Fsync::Always)).count();
    assert!(repaired as u64 * 50 < seeds(), "{repaired} needed the repair");
    println!("PASS power, fsync always: {} seeds, 0 lost, {repaired} needed the repair", seeds());
}

#[test]
fn without_it_what_was_synced_stays_and_the_rest_is_a_prefix() {
    let repaired = (0..seeds()).filter(|seed| lose_power(*seed, Fsync::EverySecond)).count();
    assert!(repaired as u64 * 10 < seeds(), "{repaired} needed the repair");
    println!("PASS power, synced now and then: {} seeds, {repaired} needed the repair", seeds());
}
