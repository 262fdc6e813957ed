//! Damage in every form a disk knows: found with its place, never read as something else, and cut out by a repair that
//! deletes nothing.

use std::path::{Path, PathBuf};

use engine::{Engine, Fsync, LoadError, OpenError, Options, check_log, repair_log};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::common::{Ask, everything, open};

fn files(dir: &Path) -> PathBuf {
    dir.join("appendonlydir")
}

/// A log of a base and an increment, and what each number of its increment's batches leaves.
fn sample(dir: &Path) -> Vec<Vec<String>> {
    let engine = open(dir, Fsync::No).unwrap();
    let mut connection = engine.connect();
    for n in 0..60 {
        connection.ask(&["RPUSH", &format!("l{}", n % 7), &format!("element {n}")]);
    }
    assert!(engine.rewrite());
    testkit::wait_until("the rewrite ends", || !engine.is_rewriting());
    let mut states = vec![everything(&mut connection)];
    for n in 0..60 {
        connection.ask(&["RPUSH", &format!("l{}", n % 7), &format!("later {n}")]);
        states.push(everything(&mut connection));
    }
    states
}

/// One way of spoiling bytes.
fn spoil(bytes: &mut Vec<u8>, how: u32, rng: &mut StdRng) {
    let len = bytes.len();
    let size = rng.random_range(1..200.min(len));
    let at = rng.random_range(0..len - size);
    let block = bytes[at..at + size].to_vec();
    match how {
        // Written twice.
        0 => drop(bytes.splice(at..at, block)),
        // In another place.
        1 => {
            bytes.drain(at..at + size);
            let to = rng.random_range(0..bytes.len());
            drop(bytes.splice(to..to, block));
        }
        // Zeroed.
        2 => bytes[at..at + size].fill(0),
        // Lost.
        3 => drop(bytes.drain(at..at + size)),
        // One bit.
        _ => bytes[at] ^= 1 << rng.random_range(0..8),
    }
}

#[test]
fn spoiled_blocks_are_found_and_a_repair_keeps_a_prefix() {
    let source = tempfile::tempdir().unwrap();
    let states = sample(source.path());
    let mut rng = StdRng::seed_from_u64(7);
    let (mut refused, mut torn, mut same) = (0, 0, 0);
    for case in 0..300 {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(files(dir.path())).unwrap();
        for entry in std::fs::read_dir(files(source.path())).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), files(dir.path()).join(entry.file_name())).unwrap();
        }
        let name =
            if case % 5 == 0 { "appendonly.aof.1.base.aof" } else { "appendonly.aof.2.incr.aof" };
        let path = files(dir.path()).join(name);
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        spoil(&mut bytes, case / 5 % 5, &mut rng);
        if bytes == whole {
            same += 1;
            continue;
        }
        std::fs::write(&path, &bytes).unwrap();
        let options = Options { dir: Some(dir.path().into()), ..Options::default() };
        match Engine::open(options) {
            Ok((engine, opened)) => {
                let found = everything(&mut engine.connect());
                assert!(states.contains(&found), "case {case}: not a prefix");
                assert!(opened.cut.is_some(), "case {case}: {name} was read as if whole");
                torn += 1;
            }
            Err(OpenError::Load(LoadError::Damaged { file, .. })) => {
                refused += 1;
                assert_eq!(file, path, "case {case}");
                repair_and_look(dir.path(), &states, &bytes, case);
            }
            Err(other) => panic!("case {case}: {other}"),
        }
    }
    assert!(refused > 200, "{refused}");
    println!(
        "PASS damage: {refused} refused and repaired, {torn} torn tails cut, {same} unchanged, 0 wrong"
    );
}

fn repair_and_look(dir: &Path, states: &[Vec<String>], bytes: &[u8], case: u32) {
    let check = check_log(dir).unwrap();
    let damage = check.damage.unwrap().to_string();
    assert!(
        damage.contains(&format!("`worldkeep log repair --data {}`", dir.display())),
        "{damage}"
    );
    let repaired = repair_log(dir).unwrap();
    let aside = &repaired.aside[0];
    let kept = std::fs::read(&aside.kept_in).unwrap();
    let good = std::fs::read(&aside.from).unwrap();
    assert_eq!([good, kept].concat(), bytes, "case {case}: every byte is still there");
    assert!(
        aside.kept_in.to_string_lossy().contains(".aof.damaged-"),
        "{}",
        aside.kept_in.display()
    );
    let clean = check_log(dir).unwrap();
    assert!(clean.damage.is_none());
    let engine = open(dir, Fsync::No).unwrap();
    let mut connection = engine.connect();
    let found = everything(&mut connection);
    let in_base = aside.from.to_string_lossy().contains("base");
    if in_base {
        assert_eq!(repaired.aside.len(), 2, "the increment cannot follow half a base");
    } else {
        assert!(states.contains(&found), "case {case}: not a prefix");
    }
    connection.ask(&["SET", "after", "repair"]);
    drop(connection);
    drop(engine);
    open(dir, Fsync::No).unwrap_or_else(|error| panic!("case {case}: {error}"));
}

#[test]
fn a_server_s_log_is_cut_at_its_last_whole_command() {
    // Nothing of it has a checksum: all before the damage is as good as it ever was.
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(files(dir.path())).unwrap();
    std::fs::write(
        files(dir.path()).join("appendonly.aof.manifest"),
        "file appendonly.aof.1.incr.aof seq 1 type i\n",
    )
    .unwrap();
    let good = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\n2\r\n*1\r\n$4\r\nEXEC\r\n";
    let bad = "*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nc\r\n$1\r\n3\r\ngarbage";
    let path = files(dir.path()).join("appendonly.aof.1.incr.aof");
    std::fs::write(&path, [good, bad].concat()).unwrap();
    let check = check_log(dir.path()).unwrap();
    let Some(LoadError::Damaged { offset, .. }) = check.damage else { panic!("{check:?}") };
    assert_eq!(offset, good.len() as u64);
    let repaired = repair_log(dir.path()).unwrap();
    assert_eq!(repaired.aside[0].bytes, bad.len() as u64);
    let engine = open(dir.path(), Fsync::No).unwrap();
    assert_eq!(everything(&mut engine.connect()).len(), 3, "a, b and no function");
}

#[test]
fn a_log_in_use_is_neither_checked_nor_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let _engine = open(dir.path(), Fsync::No).unwrap();
    assert!(matches!(check_log(dir.path()), Err(OpenError::Locked(_))));
    assert!(matches!(repair_log(dir.path()), Err(OpenError::Locked(_))));
    let empty = tempfile::tempdir().unwrap();
    let error = check_log(empty.path()).unwrap_err().to_string();
    assert!(error.contains("has no log"), "{error}");
}

#[test]
fn zeros_at_the_end_are_a_torn_tail() {
    // What a machine that lost its power may leave behind the last whole batch, or inside it.
    let dir = tempfile::tempdir().unwrap();
    let states = sample(dir.path());
    let path = files(dir.path()).join("appendonly.aof.2.incr.aof");
    let whole = std::fs::read(&path).unwrap();
    for lost in [0, 3, 40, 90] {
        let mut bytes = whole[..whole.len() - lost].to_vec();
        bytes.extend(vec![0; 5000]);
        std::fs::write(&path, bytes).unwrap();
        let options = Options { dir: Some(dir.path().into()), ..Options::default() };
        let (engine, opened) = Engine::open(options).unwrap();
        assert!(opened.cut.is_some_and(|(_, bytes)| bytes >= 5000));
        assert!(states.contains(&everything(&mut engine.connect())));
    }
}
