//! The verbs of reactors, on a running server and on a store; a server that is killed in the middle.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Served, command, output, run, serve, serve_in, told};

/// Runs a verb against the server: exit code, stdout, stderr.
fn at(served: &Served, args: &[&str]) -> (i32, String, String) {
    let url = served.url();
    let mut all = vec!["reactors"];
    all.extend(args);
    all.extend(["--server", &url]);
    told(&output(&mut command(&served.dir, &all)))
}

fn json(answer: (i32, String, String)) -> Value {
    let (code, out, err) = answer;
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("no JSON: {out}"))
}

#[test]
fn a_reactor_from_its_creation_to_its_end() {
    let served = serve(&["--no-demo"]);
    let (code, _, err) = at(&served, &["ls"]);
    assert_eq!((code, err.trim()), (0, "no reactor stands there"));
    let (code, out, err) = at(&served, &["create", "2002", "--at=-5,253", "--delay", "60000"]);
    assert_eq!((code, out.trim()), (0, "reactor 1000000001 stands there"), "{err}");
    let (code, _, err) = at(&served, &["create", "2002", "--at=-5,253"]);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("reactor 1000000001 stands on this spot"), "{err}");
    let (_, out, _) = at(&served, &["ls"]);
    assert!(out.contains("1000000001") && out.contains("barrel") && out.contains("60 s"), "{out}");
    let shown = json(at(&served, &["show", "1000000001", "--json"]));
    assert_eq!(shown["data"]["attributes"]["x"], -5);
    let (_, out, _) = at(&served, &["hit", "1000000001", "--character", "7"]);
    assert_eq!(out.trim(), "reactor 1000000001 is in state 1 now");
    let listed = json(at(&served, &["ls", "--json", "--name", "barrel"]));
    assert_eq!(
        (&listed["meta"]["total"], listed["data"].as_array().unwrap().len()),
        (&Value::from(1), 1)
    );
    let (code, _, err) = at(&served, &["show", "5"]);
    assert_eq!((code, err.contains("unable to locate reactor 5")), (3, true), "{err}");
    let (_, out, _) = at(&served, &["destroy", "1000000001"]);
    assert_eq!(out.trim(), "reactor 1000000001 is destroyed");
    let (code, _, err) = at(&served, &["create", "2002", "--at=-5,253"]);
    assert!(code == 4 && err.contains("stays empty for another"), "{err}");
    json(at(&served, &["destroy", "--all", "--yes", "--json"]));
    at(&served, &["create", "2001", "--at", "1,1"]);
    let gone = json(at(&served, &["teardown", "--yes", "--json"]));
    assert_eq!(gone["data"]["attributes"]["destroyed"], 1);
    for (args, code) in [
        (&["create", "0", "--at", "1,1"][..], 2),
        (&["create", "2001", "--at", "1"], 2),
        (&["ls", "--field", "256:0:0"], 2),
        (&["ls", "--tenant", "*"], 2),
    ] {
        assert_eq!(at(&served, args).0, code, "{args:?}");
    }
}

#[test]
fn what_nobody_can_read_is_told_once_named_by_the_check_and_removed() {
    let mut served = serve(&["--no-demo", "--resp", "127.0.0.1:0"]);
    let door = served.lines.iter().find(|line| line.starts_with("RESP")).unwrap();
    let door = door.split("redis://").nth(1).unwrap().to_owned();
    let spoil = |id: u32| {
        let mut resp = std::net::TcpStream::connect(&door).unwrap();
        std::io::Write::write_all(&mut resp, format!("SET reactor:{id} {{\r\n").as_bytes())
            .unwrap();
        std::io::Read::read_exact(&mut resp, &mut [0; 5]).unwrap();
    };
    let url = served.url();
    let check = |args: &[&str]| {
        let all: Vec<&str> = ["check", "--server", &url].into_iter().chain(args.to_vec()).collect();
        told(&run(&all))
    };
    at(&served, &["create", "2001", "--at", "1,1"]);
    spoil(1_000_000_001);
    for _ in 0..3 {
        assert_eq!(at(&served, &["ls"]).0, 0);
    }
    let (code, out, _) = check(&[]);
    assert!(code == 1 && out.contains("bad value: reactor:1000000001"), "{out}");
    assert!(out.contains("`worldkeep check --repair` removes it"), "{out}");
    assert_eq!(at(&served, &["destroy", "1000000001"]).0, 0, "through the API");
    assert_eq!(check(&[]).0, 0);
    at(&served, &["create", "2001", "--at", "1,1"]);
    spoil(1_000_000_002);
    let (code, out, _) = check(&["--repair", "--yes"]);
    assert!(code == 0 && out.contains("0 remain"), "{out}");
    assert_eq!(check(&[]).0, 0);
    served.signal("TERM");
    let (_, _, log) = served.ended(Duration::from_secs(40));
    assert_eq!(log.matches("store fault").count(), 1, "{log}");
}

#[test]
fn templates_need_no_server_and_faults_have_their_line() {
    let (code, out, _) = told(&run(&["reactors", "templates"]));
    assert!(code == 0 && out.contains("2001") && out.contains("box"), "{out}");
    let all: Value =
        serde_json::from_str(&told(&run(&["reactors", "templates", "--json"])).1).unwrap();
    assert!(all.as_array().unwrap().iter().any(|one| one["classification"] == 2001));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.json");
    std::fs::write(&file, "{\"format\":1,\n\"reactors\":[\n{\"classification\":1}]}").unwrap();
    let path = file.display().to_string();
    let (code, _, err) = told(&run(&["reactors", "templates", "--catalogue", &path]));
    assert!(code == 1 && err.contains("mine.json:3: missing field `name`"), "{err}");
}

#[test]
fn a_killed_server_comes_back_clean_and_its_timers_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data").display().to_string();
    let mut served = serve_in(dir, &["--no-demo", "--data", &data]);
    // A beacon of one's own: two states of half a second each, for ever.
    let beacon = r#"{"name":"b","stateInfo":{"0":[{"type":101,"nextState":1}],"1":[{"type":101,"nextState":0}]},"timeoutInfo":{"0":500,"1":500},"timeoutNextStateInfo":{"0":1,"1":0}}"#;
    let (code, _, err) = at(&served, &["create", "7", "--at", "1,1", "--behaviour", beacon]);
    assert_eq!(code, 0, "{err}");
    // A storm from several sides while the server dies.
    let url = served.url();
    let storm: Vec<_> = (0..4)
        .map(|side: i32| {
            let url = url.clone();
            std::thread::spawn(move || {
                for x in 0..20 {
                    let at = format!("{},{side}", x * 4);
                    let made = ["reactors", "create", "2001", "--at", &at, "--server", &url];
                    told(&run(&made));
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(150));
    served.signal("KILL");
    served.ended(Duration::from_secs(5));
    for side in storm {
        side.join().unwrap();
    }
    let dir = std::mem::replace(&mut served.dir, tempfile::tempdir().unwrap());
    let again = serve_in(dir, &["--no-demo", "--data", &data]);
    let url = again.url();
    let (code, out, err) = told(&run(&["check", "--json", "--server", &url]));
    assert_eq!(code, 0, "{out} {err}");
    let state = || {
        json(at(&again, &["show", "1000000001", "--json"]))["data"]["attributes"]["state"].clone()
    };
    let (first, restarted) = (state(), Instant::now());
    // A timer that the first server had in hand when it died comes back when its lease of ten seconds is over.
    while state() == first {
        let waited = restarted.elapsed();
        assert!(waited < Duration::from_secs(30), "the timer did not go on after the restart");
        std::thread::sleep(Duration::from_millis(50));
    }
}
