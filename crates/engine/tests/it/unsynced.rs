//! A log whose end was never synced when the machine died: opening cuts what is spoiled there by itself, keeps it beside the
//! log, and never takes damage before a claim of the disk for such an end.

use std::path::{Path, PathBuf};

use engine::{Engine, Fsync, LoadError, OpenError, Options, check_log};

use crate::common::{Ask, everything, open};

fn increment(dir: &Path) -> PathBuf {
    dir.join("appendonlydir/appendonly.aof.1.incr.aof")
}

/// A log of twenty lines, ten of them before a claim.
struct Sample {
    dir: tempfile::TempDir,
    /// As a loss of power would find it: without the claim of a proper end.
    bytes: Vec<u8>,
    /// Where the claim stands.
    claim: usize,
    /// What there is after each line.
    states: Vec<Vec<String>>,
}

fn sample() -> Sample {
    // On a slow machine the second may end meanwhile, and bring a claim more.
    std::iter::repeat_with(try_sample).flatten().next().unwrap()
}

fn try_sample() -> Option<Sample> {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    let engine = open(dir, Fsync::EverySecond).unwrap();
    let mut connection = engine.connect();
    let mut states = vec![everything(&mut connection)];
    let mut push = |connection: &mut engine::Connection, n: usize| {
        connection.ask(&["RPUSH", &format!("l{}", n % 3), &format!("element {n}")]);
        states.push(everything(connection));
    };
    (0..10).for_each(|n| push(&mut connection, n));
    engine.sync().unwrap();
    engine.tick();
    (10..20).for_each(|n| push(&mut connection, n));
    let bytes = std::fs::read(increment(dir)).unwrap();
    let claims = bytes.windows(11).enumerate().filter(|(_, part)| part == b"#WK synced=");
    let [_, claim] = claims.map(|(at, _)| at).collect::<Vec<_>>()[..] else { return None };
    drop((connection, engine));
    Some(Sample { dir: temporary, bytes, claim, states })
}

fn with(dir: &Path, source: &Path, bytes: &[u8]) {
    let files = dir.join("appendonlydir");
    std::fs::create_dir_all(&files).unwrap();
    let list = "appendonly.aof.manifest";
    std::fs::copy(source.join("appendonlydir").join(list), files.join(list)).unwrap();
    std::fs::write(increment(dir), bytes).unwrap();
}

fn options(dir: &Path) -> Options {
    Options { dir: Some(dir.into()), ..Options::default() }
}

#[test]
fn a_spoiled_end_that_was_never_synced_is_cut_and_kept() {
    let Sample { dir: source, bytes: whole, claim, states } = sample();
    let after_claim = claim + whole[claim..].iter().position(|b| *b == b'\n').unwrap() + 1;
    let mut cut_short = 0;
    for at in (after_claim..whole.len() - 40).step_by(7) {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = whole.clone();
        bytes[at..at + 40].fill(0);
        with(dir.path(), source.path(), &bytes);
        let told = check_log(dir.path()).unwrap();
        assert!(told.damage.is_none() && told.torn.is_some(), "at {at}: {told:?}");
        let (engine, opened) = Engine::open(options(dir.path())).unwrap();
        let (file, lost) = opened.cut.unwrap();
        assert_eq!(file, increment(dir.path()));
        let mut connection = engine.connect();
        let found = everything(&mut connection);
        let kept = states.iter().position(|state| *state == found);
        assert!(kept.is_some_and(|kept| kept >= 10), "at {at}: {kept:?} of the synced ten");
        cut_short += usize::from(kept < Some(20));
        let aside = std::fs::read_dir(dir.path().join("appendonlydir")).unwrap();
        let aside: Vec<PathBuf> = aside.map(|entry| entry.unwrap().path()).collect();
        let aside = aside.iter().find(|path| path.to_string_lossy().contains(".damaged-"));
        if let Some(aside) = aside {
            let end = bytes.len() - usize::try_from(lost).unwrap();
            assert_eq!(std::fs::read(aside).unwrap(), bytes[end..], "at {at}");
        }
        connection.ask(&["SET", "after", "it"]);
        drop((connection, engine));
        open(dir.path(), Fsync::No).unwrap_or_else(|error| panic!("at {at}: {error}"));
    }
    assert!(cut_short > 50, "{cut_short}");
}

#[test]
fn damage_before_a_claim_is_refused() {
    let Sample { dir: source, bytes: whole, claim, .. } = sample();
    for at in (0..claim).step_by(5) {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        with(dir.path(), source.path(), &bytes);
        match Engine::open(options(dir.path())) {
            Err(OpenError::Load(LoadError::Damaged { offset, .. })) => {
                assert!(offset <= at as u64, "at {at}: {offset}");
            }
            other => panic!("at {at}: {:?}", other.map(|(_, opened)| opened)),
        }
    }
}

#[test]
fn a_log_that_was_closed_properly_has_no_unsynced_end() {
    let dir = sample().dir;
    let whole = std::fs::read(increment(dir.path())).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(increment(dir.path()), &bytes).unwrap();
        match Engine::open(options(dir.path())) {
            Err(OpenError::Load(LoadError::Damaged { .. })) => {}
            // Without its line end the last line looks torn; it only says that all is there.
            Ok((_, opened)) => {
                assert!(at + 2 >= whole.len() && opened.commands >= 20, "at {at}: {opened:?}");
            }
            Err(other) => panic!("at {at}: {other}"),
        }
    }
}
