//! Backup, restore and migrate by the real program: what comes back, what is refused, and that a kill leaves nothing half.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kernel::{Cmd, Deadline, Scan, Store, Value};
use tempfile::TempDir;

use crate::support::{command, output, serve_env, serve_in, told};

const WAIT: Duration = Duration::from_secs(30);
/// Far ahead, in Unix milliseconds.
const LATER: &str = "4102444800000";

async fn say(store: &dyn Store, words: &[&str]) -> Value {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    store.call(&cmd, Deadline::after(WAIT)).await.unwrap()
}

/// A key of each type, and some keys of ours.
async fn fill(store: &dyn Store) {
    for line in [
        "SET text hello",
        "RPUSH list a b c",
        "SADD set x y",
        "HSET hash f v g w",
        "ZADD zset 1 one 2.5 two",
        "XADD stream 1-1 f v",
        "XGROUP CREATE stream group 0",
        "SET passing x",
        "SET reactor:083839c6-c47c-42a6-9585-76492795d123:1000000001 x",
        "SADD wk:reactors:scopes t",
        "SET room:ABCD2345:meta {}",
    ] {
        say(store, &line.split(' ').collect::<Vec<_>>()).await;
    }
    say(store, &["PEXPIREAT", "passing", LATER]).await;
}

/// Every key with its end and its value.
async fn all(store: &dyn Store) -> BTreeMap<String, String> {
    let mut scan = Scan::open(store, WAIT).await.unwrap();
    let mut found = BTreeMap::new();
    while let Some(keys) = scan.next(100).await.unwrap() {
        for key in keys {
            let key = String::from_utf8(key).unwrap();
            let kind = match say(store, &["TYPE", &key]).await {
                Value::SimpleString(kind) => kind,
                other => panic!("{other:?}"),
            };
            let value = match &*kind {
                "list" => say(store, &["LRANGE", &key, "0", "-1"]).await,
                "set" => say(store, &["SORT", &key, "ALPHA"]).await,
                "hash" => say(store, &["HGETALL", &key]).await,
                "zset" => say(store, &["ZRANGE", &key, "0", "-1", "WITHSCORES"]).await,
                "stream" => say(store, &["XRANGE", &key, "-", "+"]).await,
                _ => say(store, &["GET", &key]).await,
            };
            let end = say(store, &["PEXPIRETIME", &key]).await;
            found.insert(key, format!("{kind} {value:?} {end:?}"));
        }
    }
    found
}

async fn in_directory(dir: &Path) -> BTreeMap<String, String> {
    let store = link::Embedded::open_existing(dir).unwrap().store();
    all(&*store).await
}

/// A filled directory.
async fn filled(dir: &TempDir) -> (String, BTreeMap<String, String>) {
    let data = dir.path().join("data");
    let store = link::Embedded::open(&data).unwrap().store();
    fill(&*store).await;
    let found = all(&*store).await;
    (data.display().to_string(), found)
}

fn run(dir: &TempDir, args: &[&str]) -> (i32, String, String) {
    told(&output(&mut command(dir, args)))
}

/// Ends well and gives its JSON.
fn done(dir: &TempDir, args: &[&str]) -> serde_json::Value {
    let (code, out, error) = run(dir, &[args, &["--json"]].concat());
    assert_eq!(code, 0, "{args:?}: {out} {error}");
    serde_json::from_str(&out).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_comes_back_from_its_backup() {
    let dir = tempfile::tempdir().unwrap();
    let (data, before) = filled(&dir).await;
    let told = done(&dir, &["backup", "b", "--data", &data]);
    assert_eq!(told["keys"], before.len());
    assert_eq!(told["encrypted"], false);
    done(&dir, &["restore", "b", "--data", "new"]);
    assert_eq!(in_directory(&dir.path().join("new")).await, before);
    assert_eq!(in_directory(Path::new(&data)).await, before, "the source is as it was");

    let (code, _, error) = run(&dir, &["backup", "b", "--data", &data]);
    assert!(code == 4 && error.contains("--yes"), "{code} {error}");
    done(&dir, &["backup", "b", "--data", &data, "--yes"]);
    let (code, _, error) = run(&dir, &["restore", "b", "--data", "new"]);
    assert!(code == 4 && error.contains("--replace"), "{code} {error}");
    let told = done(&dir, &["restore", "b", "--data", "new", "--replace", "--yes"]);
    let kept = dir.path().join(told["kept"].as_str().unwrap());
    assert_eq!(in_directory(&kept).await, before, "the old directory is kept");
    let left = std::fs::read_dir(dir.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_backup_needs_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let (data, before) = filled(&dir).await;
    std::fs::write(dir.path().join("key"), "0123456789abcdef0123456789abcdef\n").unwrap();
    std::fs::write(dir.path().join("other"), "another key that is long enough to be one").unwrap();
    done(&dir, &["backup", "b", "--data", &data, "--key-file", "key"]);
    let bytes = std::fs::read(dir.path().join("b")).unwrap();
    assert!(!bytes.windows(5).any(|part| part == b"hello"), "no value can be read");
    for (with, word) in [(&["--key-file", "other"][..], "does not open"), (&[], "encrypted")] {
        let (code, _, error) = run(&dir, &[&["restore", "b", "--data", "new"], with].concat());
        assert!(code == 1 && error.contains(word), "{code} {error}");
        assert!(!dir.path().join("new").exists(), "nothing is made");
    }
    done(&dir, &["restore", "b", "--data", "new", "--key-file", "key"]);
    assert_eq!(in_directory(&dir.path().join("new")).await, before);
    std::fs::write(dir.path().join("short"), "x").unwrap();
    let (code, _, error) = run(&dir, &["backup", "c", "--data", &data, "--key-file", "short"]);
    assert!(code == 2 && error.contains("needs 32"), "{code} {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_is_backed_up_with_its_accounts() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data").display().to_string();
    let served = serve_in(dir, &["--data", &data, "--no-demo"]);
    let server = format!("http://{}", served.addr);
    done(&served.dir, &["token", "new", "--name", "ci", "--server", &server]);
    let told = done(&served.dir, &["backup", "b", "--data", &data]);
    assert!(told["keys"].as_u64().unwrap() > 0, "{told}");
    assert!(told["database_bytes"].as_u64().unwrap() > 0, "{told}");
    let told = done(&served.dir, &["backup", "sent", "--server", &server]);
    assert!(told["keys"].as_u64().unwrap() > 0, "the server sends the same: {told}");
    done(&served.dir, &["restore", "sent", "--data", "from-afar"]);
    let found = in_directory(&served.dir.path().join("from-afar")).await;
    assert!(found["wk:tokens"].contains("ci"), "{found:?}");
    let made = ["token", "new", "--name", "op", "--role", "operator", "--server", &server];
    let token = done(&served.dir, &made)["token"].as_str().unwrap().to_owned();
    let asked = ["backup", "no", "--server", &server, "--token", &token];
    assert_eq!(run(&served.dir, &asked).0, 5, "secrets are for admins");
    // A directory in use is not migrated; the restored one is, and its accounts go along.
    assert_ne!(run(&served.dir, &["migrate", &data, "moved"]).0, 0);
    done(&served.dir, &["restore", "b", "--data", "new"]);
    let told = done(&served.dir, &["migrate", "new", "moved"]);
    assert!(told["database"].as_str().unwrap().contains("moved/galaxy.db"), "{told}");
    let moved = std::fs::read(served.dir.path().join("moved/galaxy.db")).unwrap();
    assert!(moved.starts_with(b"SQLite format 3"), "the accounts are there");
    let told = done(&served.dir, &["migrate", "new", "moved", "--resume"]);
    assert!(told["database"].as_str().unwrap().contains("already"), "{told}");
    let found = in_directory(&served.dir.path().join("new")).await;
    assert!(found["wk:tokens"].contains("ci"), "what was acknowledged is there: {found:?}");
    let database = std::fs::read(served.dir.path().join("new/galaxy.db")).unwrap();
    assert!(database.starts_with(b"SQLite format 3"), "the accounts are there");
    let (code, _, error) =
        run(&served.dir, &["restore", "b", "--data", &data, "--replace", "--yes"]);
    assert!(code != 0, "a directory in use is not replaced: {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (data, _) = filled(&dir).await;
    done(&dir, &["backup", "b", "--data", &data]);
    let good = std::fs::read(dir.path().join("b")).unwrap();
    for at in [5, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        std::fs::write(dir.path().join("bad"), bad).unwrap();
        let (code, _, error) = run(&dir, &["restore", "bad", "--data", "new"]);
        assert_eq!(code, 1, "{error}");
        assert!(!dir.path().join("new").exists());
    }
    assert_eq!(run(&dir, &["restore", "none", "--data", "new"]).0, 3);
    assert_eq!(run(&dir, &["backup", "c", "--data", "nowhere"]).0, 2);
    assert_eq!(run(&dir, &["backup", "c", "--server", "http://127.0.0.1:1"]).0, 6);
}

/// Kills the program after each of many moments.
fn killed(dir: &TempDir, args: &[&str], mut look: impl FnMut()) {
    for after_ms in [0, 2, 5, 10, 20, 30, 40, 60, 80, 120, 200, 300, 500] {
        let mut child = command(dir, args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        let _ = Command::new("kill").args(["-KILL", &child.id().to_string()]).status();
        child.wait().unwrap();
        look();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_leaves_no_half_file_and_no_half_directory() {
    let dir = tempfile::tempdir().unwrap();
    let (data, _) = filled(&dir).await;
    let store = link::Embedded::open(Path::new(&data)).unwrap().store();
    let script = "for n = 1, 20000 do redis.call('SET', 'n' .. n, string.rep('x', 100)) end";
    say(&*store, &["EVAL", script, "0"]).await;
    let before = all(&*store).await;
    drop(store);
    killed(&dir, &["backup", "b", "--data", &data], || {
        if dir.path().join("b").exists() {
            let (code, _, error) = run(&dir, &["restore", "b", "--data", "looked"]);
            assert_eq!(code, 0, "a file with its name is whole: {error}");
            std::fs::remove_dir_all(dir.path().join("looked")).unwrap();
            std::fs::remove_file(dir.path().join("b")).unwrap();
        }
    });
    done(&dir, &["backup", "whole", "--data", &data]);
    // One that was killed before it had its lock is too new to be taken for left.
    let left = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap());
    let left: Vec<_> = left
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(".worldkeep-"))
        .filter(|entry| entry.path().join("lock").exists())
        .collect();
    assert!(left.is_empty(), "a backup removes what killed ones left: {left:?}");
    let new = dir.path().join("new");
    killed(&dir, &["restore", "whole", "--data", "new"], || {
        if new.exists() {
            std::fs::rename(&new, dir.path().join("restored")).unwrap();
            let store = link::Embedded::open_existing(&dir.path().join("restored")).unwrap();
            let size = futures_util::FutureExt::now_or_never(say(&*store.store(), &["DBSIZE"]));
            assert_eq!(size, Some(Value::Int(i64::try_from(before.len()).unwrap())));
            drop(store);
            std::fs::remove_dir_all(dir.path().join("restored")).unwrap();
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_of_all_kinds_are_backed_up_and_migrated() {
    for program in testkit::programs() {
        let server = testkit::Server::start(program);
        let store = testkit::open(&server.url()).await;
        let dir = tempfile::tempdir().unwrap();
        let (data, before) = filled(&dir).await;
        let url = server.url();
        let told = done(&dir, &["migrate", &data, &url]);
        assert_eq!(
            (&told["copied"], &told["compared"]),
            (&before.len().into(), &before.len().into())
        );
        assert_eq!(all(&*store).await, before, "{url}");
        let (code, _, error) = run(&dir, &["migrate", &data, &url]);
        assert!(code == 4 && error.contains("--resume"), "{code} {error}");
        say(&*store, &["DEL", "text"]).await;
        say(&*store, &["SET", "list", "other"]).await;
        let told = done(&dir, &["migrate", &data, &url, "--resume"]);
        assert_eq!(told["copied"], 2, "{told}");
        assert_eq!(all(&*store).await, before);

        if program == testkit::Program::Redis {
            done(&dir, &["backup", "b", "--redis", &url, "--data", "accounts"]);
            done(&dir, &["restore", "b", "--data", "back"]);
            assert_eq!(in_directory(&dir.path().join("back")).await, before);
            let (code, _, error) = run(&dir, &["restore", "b", "--redis", &url]);
            assert!(code == 4 && error.contains("--replace"), "{code} {error}");
            say(&*store, &["SET", "text", "changed"]).await;
            done(&dir, &["restore", "b", "--redis", &url, "--replace", "--yes"]);
            assert_eq!(all(&*store).await, before);
            done(&dir, &["migrate", &url, "again"]);
            assert_eq!(in_directory(&dir.path().join("again")).await, before);
        }
    }
}

/// Backups that a server made by its settings.
fn made_by_settings(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).into_iter().flatten();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("worldkeep-")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_makes_backups_by_its_settings_and_keeps_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    let backups = dir.path().join("backups");
    let told = format!(
        "[backup]\nevery_s = 1\nkeep = 2\ndirectory = '{}'\nkey = '0123456789abcdef0123456789abcdef'\n",
        backups.display()
    );
    std::fs::write(dir.path().join("worldkeep.toml"), told).unwrap();
    let data = dir.path().join("data").display().to_string();
    let served = serve_in(dir, &["--data", &data, "--no-demo"]);
    // Three have been made when the first one is gone.
    let health = served.until("/api/health", |_, body| body.contains(".backup\""));
    let health: serde_json::Value = serde_json::from_str(&health).unwrap();
    let first = health["backup"]["file"].as_str().unwrap().to_owned();
    served.until("/api/health", |_, body| {
        body.contains(".backup\"") && !body.contains(&first) && !Path::new(&first).exists()
    });
    assert!(made_by_settings(&backups).len() <= 3, "two are kept, one may be new");
    let (_, metrics) = served.get("/metrics");
    assert!(metrics.contains("worldkeep_backups_total{ended=\"done\"}"), "{metrics}");
    assert!(metrics.contains("worldkeep_backups_total{ended=\"failed\"} 0"), "{metrics}");
    std::fs::rename(&backups, served.dir.path().join("moved")).unwrap();
    std::fs::write(&backups, "in the way").unwrap();
    served.until("/api/overview", |_, body| body.contains("The last backup failed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_servers_one_makes_the_backup() {
    for program in testkit::programs().into_iter().take(1) {
        let redis = testkit::Server::start(program);
        let backups = tempfile::tempdir().unwrap();
        let told = backups.path().display().to_string();
        let env = [("WORLDKEEP_BACKUP_EVERY_S", "3600"), ("WORLDKEEP_BACKUP_DIRECTORY", &*told)];
        let url = redis.url();
        let args = ["serve", "--http", "127.0.0.1:0", "--redis", &*url, "--modules", "jobs"];
        let servers = [0, 1].map(|_| serve_env(&args, &env));
        for served in &servers {
            served.until("/api/health", |_, body| body.contains(".backup\""));
        }
        let made = made_by_settings(backups.path());
        assert_eq!(made.len(), 1, "{made:?}");
        let dir = tempfile::tempdir().unwrap();
        let file = backups.path().join(&made[0]).display().to_string();
        done(&dir, &["restore", &file, "--data", "new"]);
        assert!(in_directory(&dir.path().join("new")).await.contains_key("wk:servers"));
    }
}

#[test]
fn backups_that_cannot_be_made_stop_the_start() {
    for (env, says) in [
        (&[("WORLDKEEP_BACKUP_EVERY_S", "60")][..], "backup.directory"),
        (&[("WORLDKEEP_BACKUP_EVERY_S", "60"), ("WORLDKEEP_BACKUP_DIRECTORY", "b")], "--data DIR"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut serve = command(&dir, &["serve", "--data", "memory", "--http", "127.0.0.1:0"]);
        let (code, _, error) = told(&output(serve.envs(env.iter().copied())));
        assert!(code == 2 && error.contains(says), "{code} {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_respelled_for_the_other_layout_and_back() {
    let dir = tempfile::tempdir().unwrap();
    let (data, before) = filled(&dir).await;
    done(&dir, &["migrate", &data, "tagged", "--to-layout", "tagged"]);
    let tagged = in_directory(&dir.path().join("tagged")).await;
    assert!(tagged.contains_key("room:{ABCD2345}:meta"), "{:?}", tagged.keys());
    assert!(!tagged.contains_key("room:ABCD2345:meta"));
    assert!(tagged.contains_key("text"), "keys of others stay");
    assert_eq!(tagged.len(), before.len());
    done(&dir, &["migrate", "tagged", "plain", "--to-layout", "plain"]);
    assert_eq!(in_directory(&dir.path().join("plain")).await, before);
}

#[test]
fn a_cluster_is_filled_with_tagged_keys() {
    testkit::on_cluster("migrate", |store, cluster| async move {
        let dir = tempfile::tempdir().unwrap();
        let (data, before) = filled(&dir).await;
        let url = cluster.url();
        let told = done(&dir, &["migrate", &data, &url]);
        assert_eq!(told["compared"], before.len());
        let found = all(&*store).await;
        assert!(found.contains_key("room:{ABCD2345}:meta"), "{:?}", found.keys());
        done(&dir, &["migrate", &url, "back", "--to-layout", "plain"]);
        assert_eq!(in_directory(&dir.path().join("back")).await, before);
    });
}
