//! Accounts belong to their store: which database fits which store, what is refused, what is carried along by a move, and
//! who may read the files.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Program, Setup, programs};

use crate::support::{Served, command, output, serve_in, told};

const PASSWORD: &str = "long enough";

fn served(args: &[&str]) -> Served {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("worldkeep.toml"), "[galaxy]\nlogins_per_minute = 0\n").unwrap();
    let mut all = vec!["--no-demo", "--modules", "galaxy"];
    all.extend(args);
    serve_in(dir, &all)
}

/// A start that must fail: exit code and what it said.
fn refused(args: &[&str]) -> (i32, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut all = vec!["serve", "--http", "127.0.0.1:0", "--no-demo", "--modules", "galaxy"];
    all.extend(args);
    let (code, _, err) = told(&output(&mut command(&dir, &all)));
    (code, err)
}

fn post(served: &Served, path: &str, body: &Value) -> (u16, Value) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let sent = reqwest::Client::new().post(format!("{}{path}", served.url())).json(body).send();
        let sent = sent.await.unwrap();
        (sent.status().as_u16(), sent.json().await.unwrap_or_default())
    })
}

fn who(name: &str) -> Value {
    json!({ "username": name, "password": PASSWORD })
}

fn until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(40), "{what} did not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn stop(mut served: Served) {
    served.signal("TERM");
    assert_eq!(served.ended(Duration::from_secs(40)).0, 0);
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

// A second, empty Redis was filled unasked with the first one's world, and two homes had the same name twice.
#[test]
fn a_database_fits_one_store_and_a_store_one_database() {
    for program in programs().into_iter().take(1) {
        let (first, second) = (Setup::new(program).start(), Setup::new(program).start());
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (home, other) = (text(home.path()), text(other.path()));
        let (url, empty) = (first.url(), second.url());
        let here = served(&["--redis", &url, "--data", &home]);
        assert_eq!(post(&here, "/api/admin/game/init", &json!({})).0, 201);
        let (status, ann) = post(&here, "/api/auth/register", &who("ann"));
        assert_eq!(status, 201, "{ann}");

        let (code, why) = refused(&["--redis", &url, "--data", &other]);
        assert_eq!(code, 1, "{why}");
        assert!(why.contains("another database") && why.contains("--data"), "{why}");
        assert!(why.contains("galaxy.db"), "it says where they are: {why}");

        // A second server on the same machine may share the file.
        let beside = served(&["--redis", &url, "--data", &home]);
        assert_eq!(post(&beside, "/api/auth/register", &who("ann")).0, 409);
        drop(beside);
        assert_eq!(post(&here, "/api/admin/snapshots", &json!({})).0, 201);
        stop(here);

        let lost = served(&["--redis", &empty, "--data", &home]);
        until("the alarm", || {
            let (_, page) = lost.get("/api/overview");
            page.contains("has lost the world")
        });
        assert_eq!(lost.get("/api/status").0, 503);
        assert_eq!(post(&lost, "/api/auth/register", &who("ben")).0, 503);
        assert!(lost.get("/metrics").1.contains("worldkeep_galaxy_world_lost 1"));
        let keys = second.ask(&["KEYS", "*"]);
        for word in ["ship:", "body:", "game:tick", "wk:galaxy:store"] {
            assert!(!keys.contains(word), "nothing is filled unasked: {keys}");
        }
        // The operator knows that it is the same store, emptied.
        let (_, list) = lost.get("/api/admin/snapshots");
        let list: Value = serde_json::from_str(&list).unwrap();
        let id = list["items"][0]["id"].as_i64().unwrap();
        let (status, back) = post(&lost, &format!("/api/admin/snapshots/{id}/restore"), &json!({}));
        assert!((200..300).contains(&status), "{status} {back}");
        let ship = ann["ship_id"].as_str().unwrap();
        until("the ship", || lost.get(&format!("/api/ships/{ship}")).0 == 200);
        drop(lost);
        // Without --data each store has accounts of its own.
        let fresh = Setup::new(program).start();
        let own = served(&["--redis", &fresh.url()]);
        assert_eq!(post(&own, "/api/admin/game/init", &json!({})).0, 201);
        assert_eq!(post(&own, "/api/auth/register", &who("ann")).0, 201);
    }
}

// The documented move lost all accounts: anyone could register the old names.
#[test]
fn the_move_to_redis_carries_accounts_along() {
    if !programs().contains(&Program::Redis) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let data = text(&dir.path().join("data"));
    let before = served(&["--data", &data]);
    let (status, ann) = post(&before, "/api/auth/register", &who("ann"));
    assert_eq!(status, 201, "{ann}");
    stop(before);
    let redis = Setup::new(Program::Redis).args(["--appendonly", "yes", "--dir", &data]).start();
    let (code, why) = refused(&["--redis", &redis.url()]);
    assert_eq!(code, 1, "{why}");
    assert!(why.contains(&data), "it says where the accounts are: {why}");
    let after = served(&["--redis", &redis.url(), "--data", &data]);
    let (status, again) = post(&after, "/api/auth/login", &who("ann"));
    assert_eq!((status, &again["ship_id"]), (200, &ann["ship_id"]), "{again}");
    let ship = ann["ship_id"].as_str().unwrap();
    assert_eq!(after.get(&format!("/api/ships/{ship}")).0, 200);
    assert_eq!(post(&after, "/api/auth/register", &who("ann")).0, 409);
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// `serve` as a shell with an open umask starts it.
fn start_wide(dir: &TempDir, data: &Path) -> Child {
    let args = ["serve", "--http", "127.0.0.1:0", "--no-demo", "--modules", "galaxy", "--data"];
    let plain = command(dir, &args);
    let mut wide = Command::new("sh");
    wide.args(["-c", "umask 022; exec \"$0\" \"$@\""]).arg(plain.get_program());
    wide.args(plain.get_args()).arg(data).current_dir(dir.path()).env("HOME", dir.path());
    wide.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn files_are_ours_alone_whatever_the_umask() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut wide = start_wide(&dir, &data);
    let made = |name: &str| data.join(name).exists();
    until("the database", || made("galaxy.db") && made("appendonlydir"));
    wide.kill().unwrap();
    wide.wait().unwrap();
    assert_eq!(mode(&data), 0o700);
    for file in std::fs::read_dir(&data).unwrap() {
        let file = file.unwrap().path();
        assert_eq!(mode(&file) & 0o077, 0, "{}", file.display());
    }
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    let warned = served(&["--data", &text(&data)]);
    let told = warned.lines.iter().find(|line| line.contains("chmod -R go="));
    assert!(told.is_some_and(|line| line.contains(&text(&data))), "{:?}", warned.lines);
}

#[test]
fn a_password_can_be_kept_from_the_list_of_processes() {
    for program in programs().into_iter().take(1) {
        let redis = Setup::new(program).args(["--requirepass", "hush"]).start();
        let url = format!("redis://:hush@127.0.0.1:{}", redis.port());
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("url");
        std::fs::write(&file, format!("{url}\n")).unwrap();
        let quiet = served(&["--redis-file", &text(&file), "--data", "memory"]);
        let warns = |served: &Served| served.lines.iter().any(|line| line.contains("--redis-file"));
        assert!(!warns(&quiet), "{:?}", quiet.lines);
        drop(quiet);
        let loud = served(&["--redis", &url, "--data", "memory"]);
        assert!(warns(&loud) && !loud.lines.concat().contains("hush"), "{:?}", loud.lines);
    }
}
