//! Kill -9 in the middle of everything. A process of its own writes with several threads and tells each
//! acknowledged write over a pipe; after it was killed, each thread's data must be exactly what its operations up to the
//! last acknowledged one make, or one more: nothing lost, nothing half done.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use engine::{Connection, Engine, Fsync, Options};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::common::{Ask, failed};

const THREADS: usize = 4;
const TASK: &str = "WORLDKEEP_CRASH_TASK";

/// Operation `i` of thread `t`, whose keys are its own.
fn operate(connection: &mut Connection, t: usize, i: u64) -> bool {
    let key = |name: &str| format!("{name}:{t}");
    let n = i.to_string();
    let reply = match i % 5 {
        0 => connection.ask(&["SET", &format!("k{}:{t}", i % 35), &n]),
        1 => {
            connection.ask(&["MULTI"]);
            connection.ask(&["RPUSH", &key("list"), &n]);
            connection.ask(&["LTRIM", &key("list"), "-20", "-1"]);
            connection.ask(&["INCR", &key("pushes")]);
            connection.ask(&["EXEC"])
        }
        2 => connection.ask(&["HINCRBY", &key("hash"), &format!("f{}", i % 9), "1"]),
        3 => connection.ask(&[
            "EVAL",
            "redis.call('INCR', KEYS[1]) redis.call('INCRBY', KEYS[2], 2) return 1",
            "2",
            &key("one"),
            &key("two"),
        ]),
        _ => connection.ask(&["ZADD", &key("zset"), &n, &format!("m{}", i % 12)]),
    };
    !failed(&reply)
}

/// What operations `0..count` of a thread leave.
fn model(t: usize, count: u64) -> Vec<String> {
    let engine = Engine::memory();
    let mut connection = engine.connect();
    // Everything an operation leaves depends on the last few hundred; counters are set to where they were.
    let from = count.saturating_sub(1000) / 5 * 5;
    let done = (from / 5).to_string();
    let key = |name: &str| format!("{name}:{t}");
    if from > 0 {
        connection.ask(&["SET", &key("pushes"), &done]);
        connection.ask(&["SET", &key("one"), &done]);
        connection.ask(&["SET", &key("two"), &(from / 5 * 2).to_string()]);
        for i in (2..from).step_by(5) {
            connection.ask(&["HINCRBY", &key("hash"), &format!("f{}", i % 9), "1"]);
        }
    }
    for i in from..count {
        operate(&mut connection, t, i);
    }
    of_thread(&mut connection, t)
}

fn of_thread(connection: &mut Connection, t: usize) -> Vec<String> {
    let suffix = format!(":{t} ");
    crate::common::everything(connection).into_iter().filter(|l| l.contains(&suffix)).collect()
}

/// What the killed process does: `task` is directory, fsync, whether to rewrite, and where each thread goes on.
fn work(task: &str, acknowledged: &(dyn Fn(usize, u64) + Sync), stop: impl Fn() -> bool + Sync) {
    let parts: Vec<&str> = task.split('|').collect();
    let fsync = if parts[1] == "always" { Fsync::Always } else { Fsync::EverySecond };
    let options = Options { dir: Some(parts[0].into()), fsync, ..Options::default() };
    let (engine, _) = Engine::open(options).unwrap();
    std::thread::scope(|scope| {
        for (t, from) in parts[3].split(',').enumerate() {
            let (engine, stop) = (&engine, &stop);
            let from: u64 = from.parse().unwrap();
            scope.spawn(move || {
                let mut connection = engine.connect();
                for i in from.. {
                    assert!(operate(&mut connection, t, i), "operation {i} of thread {t}");
                    acknowledged(t, i);
                    if stop() {
                        break;
                    }
                }
            });
        }
        while parts[2] == "rewrite" && !stop() {
            if !engine.rewrite() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
}

/// Without a task this checks the writer itself; with one it is the process that gets killed.
#[test]
fn the_writer_and_the_model_agree() {
    if let Ok(task) = std::env::var(TASK) {
        let out = std::io::stdout();
        let tell = |t: usize, i: u64| {
            let _ = out.lock().write_all(format!("ack {t} {i}\n").as_bytes());
            let _ = out.lock().flush();
        };
        return work(&task, &tell, || false);
    }
    let dir = tempfile::tempdir().unwrap();
    let counts = std::sync::Mutex::new([0; THREADS]);
    let task = format!("{}|everysec|rewrite|0,0,0,0", dir.path().display());
    let tell = |t: usize, i: u64| counts.lock().unwrap()[t] = i + 1;
    work(&task, &tell, || counts.lock().unwrap().iter().all(|count| *count > 1200));
    let engine = crate::common::open(dir.path(), Fsync::No).unwrap();
    for (t, count) in counts.into_inner().unwrap().into_iter().enumerate() {
        assert_eq!(of_thread(&mut engine.connect(), t), model(t, count));
    }
}

struct Round {
    acknowledged: u64,
    cut: bool,
}

fn round(
    dir: &Path,
    done: &mut [u64; THREADS],
    fsync: &str,
    rewrite: &str,
    life: Duration,
) -> Round {
    let from: Vec<String> = done.iter().map(u64::to_string).collect();
    let task = format!("{}|{fsync}|{rewrite}|{}", dir.display(), from.join(","));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::the_writer_and_the_model_agree", "--exact", "--nocapture"])
        .env(TASK, &task)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut end = None;
    let mut acknowledged = 0;
    let mut killed = false;
    for line in lines {
        let Ok(line) = line else { break };
        // The harness may have begun a line of its own.
        let Some(at) = line.find("ack ") else { continue };
        let mut words = line[at + 4..].split(' ');
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        let (t, i) = (usize::try_from(number()).unwrap(), number());
        assert_eq!(i, done[t], "the writer goes one by one");
        done[t] = i + 1;
        acknowledged += 1;
        if !killed && Instant::now() >= *end.get_or_insert_with(|| Instant::now() + life) {
            child.kill().unwrap();
            killed = true;
        }
    }
    let status = child.wait().unwrap();
    assert!(killed, "the writer ended by itself: {status}");

    let options = Options { dir: Some(dir.to_path_buf()), fsync: Fsync::No, ..Options::default() };
    let (engine, opened) = Engine::open(options).unwrap_or_else(|error| panic!("{error}"));
    for (t, done) in done.iter_mut().enumerate() {
        let found = of_thread(&mut engine.connect(), t);
        if found == model(t, *done + 1) {
            *done += 1;
        } else {
            assert_eq!(found, model(t, *done), "thread {t} after {done} acknowledged ({fsync})");
        }
    }
    Round { acknowledged, cut: opened.cut.is_some() }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged() {
    let kills = if crate::common::long() { 1000 } else { 20 };
    let seed = std::env::var("SIM_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(42);
    let mut rng = StdRng::seed_from_u64(seed);
    let started = Instant::now();
    let (mut total, mut cut) = (0, 0);
    let mut dir = tempfile::tempdir().unwrap();
    let mut done = [0; THREADS];
    for kill in 0..kills {
        if kill % 50 == 0 {
            (dir, done) = (tempfile::tempdir().unwrap(), [0; THREADS]);
        }
        let fsync = ["always", "everysec"][kill % 2];
        let rewrite = ["no", "no", "rewrite", "rewrite"][kill % 4];
        let life = Duration::from_millis(rng.random_range(1..250));
        let round = round(dir.path(), &mut done, fsync, rewrite, life);
        total += round.acknowledged;
        cut += usize::from(round.cut);
    }
    println!(
        "PASS crash: seed {seed}, {kills} kills, {total} acknowledged writes, 0 lost, 0 half done, {cut} torn tails cut, {:.1} s",
        started.elapsed().as_secs_f64()
    );
}
