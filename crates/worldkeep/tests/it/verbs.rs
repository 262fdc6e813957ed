//! The verbs, on a running server and on their own.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{command, data, output, run, serve, told};

fn json(args: &[&str]) -> Value {
    let (code, out, err) = told(&run(args));
    assert_eq!(code, 0, "{args:?}: {err}");
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("{args:?} did not print JSON: {out}"))
}

#[test]
fn configuration_is_shown_with_its_sources() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("worldkeep.toml"), "log = 'warn'\nhttp = '127.0.0.1:1'\n")
        .unwrap();
    let mut show = command(&dir, &["config", "show", "--json", "--redis", "redis://:pw@h"]);
    show.env("WORLDKEEP_HTTP", "127.0.0.1:2")
        .env("WORLDKEEP_ADMIN_TOKEN", "wk_0123456789012345678901234567890123456789");
    let (code, out, err) = told(&output(&mut show));
    assert_eq!(code, 0, "{err}");
    let all: Vec<Value> = serde_json::from_str(&out).unwrap();
    let of = |name: &str| all.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(
        (&of("http")["value"], &of("http")["source"]),
        (&Value::from("127.0.0.1:2"), &Value::from("environment WORLDKEEP_HTTP"))
    );
    assert_eq!(of("log")["source"], "file worldkeep.toml");
    assert_eq!(of("redis")["source"], "flag --redis");
    assert_eq!(of("layout")["source"], "default");
    assert_eq!(of("limits.body_bytes")["variable"], "WORLDKEEP_LIMITS_BODY_BYTES");
    assert!(!out.contains("pw@") && !out.contains("wk_0123"), "secrets are hidden: {out}");
}

#[test]
fn keys_and_acl_come_from_the_tables_alone() {
    let keys = json(&["keys", "--json"]);
    assert!(keys.as_array().unwrap().len() >= 59);
    let rooms = json(&["keys", "--json", "--module", "rooms"]);
    assert!(rooms.as_array().unwrap().iter().all(|key| key["module"] == "rooms"));
    let (code, document, _) = told(&run(&["keys", "--markdown"]));
    assert_eq!(code, 0);
    let kept =
        std::fs::read_to_string(testkit::picture::workspace().join("docs/keyspace.md")).unwrap();
    assert_eq!(document.trim(), kept.trim(), "`keys --markdown` is docs/keyspace.md");
    let users = json(&["acl", "--json"]);
    assert!(users.as_array().unwrap().iter().any(|user| user["user"] == "rooms"));
    let (_, lines, _) = told(&run(&["acl", "--module", "rooms"]));
    assert!(lines.lines().any(|line| line.starts_with("user rooms on ")), "{lines}");
}

#[test]
fn completions_man_pages_and_version_are_made() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let (code, out, _) = told(&run(&["completions", shell]));
        assert_eq!(code, 0);
        assert!(out.contains("worldkeep") && out.contains("check"), "{shell}");
    }
    let dir = tempfile::tempdir().unwrap();
    let output = output(&mut command(&dir, &["man", "pages"]));
    assert!(output.status.success());
    for page in ["worldkeep.1", "worldkeep-serve.1", "worldkeep-token-new.1"] {
        assert!(dir.path().join("pages").join(page).is_file(), "{page}");
    }
    assert_eq!(json(&["version", "--json"])["name"], "worldkeep");
    let (code, help, _) = told(&run(&["serve", "--help"]));
    assert_eq!(code, 0);
    assert!(help.contains("Examples:") && help.contains("--modules"), "{help}");
}

#[test]
fn tokens_are_made_listed_used_and_removed() {
    let served = serve(&[]);
    let url = served.url();
    let made =
        json(&["token", "new", "--name", "ci", "--role", "operator", "--json", "--server", &url]);
    let token = made["token"].as_str().unwrap();
    let id = made["id"].as_str().unwrap();
    assert!(token.starts_with("wk_") && token.len() == 46, "{token}");
    let list = json(&["token", "ls", "--json", "--server", &url]);
    assert_eq!(list[0]["id"], id);
    assert_eq!(list[0]["role"], "operator");
    let (code, _, _) = told(&run(&["token", "ls", "--server", &url, "--token", token]));
    assert_eq!(code, 5, "an operator manages no tokens");
    let (code, _, _) = told(&run(&["token", "rm", id, "--yes", "--server", &url]));
    assert_eq!(code, 0);
    let (code, _, _) = told(&run(&["token", "rm", id, "--yes", "--server", &url]));
    assert_eq!(code, 3);
}

#[test]
fn the_same_verbs_work_on_a_directory_that_no_server_uses() {
    let dir = tempfile::tempdir().unwrap();
    let data = &data(&dir);
    let made = json(&["token", "new", "--name", "ci", "--json", "--data", data]);
    let id = made["id"].as_str().unwrap();
    assert_eq!(json(&["token", "ls", "--json", "--data", data])[0]["id"], id);
    let (code, out, _) = told(&run(&["token", "ls", "--data", data]));
    assert_eq!(code, 0);
    assert!(out.lines().nth(1).unwrap().starts_with(&format!("{id}  ci    reader  all")), "{out}");
    let shown = json(&["keys", "show", "wk:tokens", "--json", "--data", data]);
    assert_eq!(shown["definition"]["module"], "worldkeep");
    let (code, _, err) = told(&run(&["token", "rm", "../x", "--yes", "--data", data]));
    assert_eq!(code, 3, "{err}");
    let (code, _, _) = told(&run(&["token", "rm", id, "--yes", "--data", data]));
    assert_eq!(code, 0);
    assert_eq!(json(&["token", "ls", "--json", "--data", data]), serde_json::json!([]));
}

#[test]
fn check_asks_the_running_server_and_fails_while_faults_remain() {
    let served = serve(&["--resp", "127.0.0.1:0"]);
    let url = served.url();
    let (code, out, err) = told(&run(&["check", "--server", &url]));
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("0 faults"), "{out}");
    let door = served.lines.iter().find(|line| line.starts_with("RESP")).unwrap();
    let mut resp = std::net::TcpStream::connect(door.split("redis://").nth(1).unwrap()).unwrap();
    std::io::Write::write_all(&mut resp, b"SET room:ABCD2345:claims wrong\r\n").unwrap();
    std::io::Read::read_exact(&mut resp, &mut [0; 5]).unwrap();
    let (code, out, _) = told(&run(&["check", "--server", &url]));
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("room:ABCD2345:claims"), "{out}");
    let (code, out, _) = told(&run(&["check", "--json", "--server", &url]));
    assert_eq!(code, 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert!(report["findings_total"].as_u64().unwrap() >= 1);
    let (code, out, _) = told(&run(&["keys", "show", "room:ABCD2345:claims", "--server", &url]));
    assert_eq!(code, 0);
    assert!(out.contains("hidden") && out.contains("should be a hash"), "{out}");
}

#[test]
fn a_damaged_log_is_checked_and_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let log = data.join("appendonlydir");
    std::fs::create_dir_all(&log).unwrap();
    std::fs::write(
        log.join("appendonly.aof.manifest"),
        "file appendonly.aof.1.incr.aof seq 1 type i\n",
    )
    .unwrap();
    let good = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";
    std::fs::write(log.join("appendonly.aof.1.incr.aof"), [good, "garbage\r\n"].concat()).unwrap();
    let data = data.to_str().unwrap();
    let (code, _, err) = told(&run(&["log", "check", "--data", data]));
    assert_eq!(code, 1, "{err}");
    assert!(err.contains(&format!("at byte {}", good.len())), "{err}");
    assert!(err.contains(&format!("worldkeep log repair --data {data}")), "{err}");
    let (code, _, err) = told(&run(&["log", "repair", "--data", data]));
    assert_eq!(code, 2, "without --yes nothing is done: {err}");
    let repaired = json(&["log", "repair", "--data", data, "--yes", "--json"]);
    assert_eq!(repaired["aside"][0]["bytes"], 9);
    assert_eq!(repaired["commands"], 1);
    let checked = json(&["log", "check", "--data", data, "--json"]);
    assert_eq!(checked["damage"], Value::Null);
}

#[test]
fn a_verb_waits_for_a_slow_answer_and_not_for_a_server_that_is_silent() {
    let served = serve(&["--no-demo"]);
    let url = served.url();
    let ask = |args: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["--server", &url]);
        told(&run(&all))
    };
    assert_eq!(ask(&["jobs", "dispatch", "slow", "--id", "j"]).0, 0);
    // One request that takes longer than the looks at the server's life are apart.
    let started = Instant::now();
    let (code, _, err) = ask(&["jobs", "wait", "j", "--timeout", "8s"]);
    assert_eq!((code, err.contains("has not ended yet")), (1, true), "{err}");
    assert!(started.elapsed() >= Duration::from_secs(8));
    // It takes connections still, as the kernel does for it, and says nothing.
    served.signal("STOP");
    let started = Instant::now();
    let (code, _, err) = ask(&["jobs", "get", "j"]);
    served.signal("CONT");
    assert_eq!((code, err.contains("does not answer")), (6, true), "{err}");
    testkit::timed(
        "a verb whose server is silent ends",
        started.elapsed(),
        Duration::from_secs(20),
    );
    assert_eq!(ask(&["jobs", "get", "j"]).0, 0);
}
