//! What a running server endures: scripts without an end, a full disk, the death of its predecessor.

use std::io::Write as _;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::running::{read, resp_of};
use crate::support::{Served, serve_in};

const ARGS: &[&str] = &["--data", "data", "--resp", "127.0.0.1:0", "--no-demo"];

fn started() -> Served {
    serve_in(tempfile::tempdir().unwrap(), ARGS)
}

/// The same directory once more.
fn again(mut ended: Served) -> Served {
    serve_in(std::mem::replace(&mut ended.dir, tempfile::tempdir().unwrap()), ARGS)
}

/// One inline command on a connection of its own.
fn ask(served: &Served, line: &str) -> String {
    let mut resp = resp_of(&served.lines);
    resp.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    read(&mut resp)
}

fn post(served: &Served, path: &str, json: &str) -> String {
    let length = json.len();
    let head = format!("Content-Type: application/json\r\nContent-Length: {length}");
    request(served, &format!("POST {path}"), &head, json)
}

/// `/metrics` as a monitoring server reads it.
fn scrape(served: &Served, token: &str) -> String {
    request(served, "GET /metrics", &format!("Authorization: Bearer {token}"), "")
}

fn request(served: &Served, line: &str, head: &str, body: &str) -> String {
    let mut stream = std::net::TcpStream::connect(served.addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let host = served.addr;
    let whole =
        format!("{line} HTTP/1.1\r\nHost: {host}\r\n{head}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(whole.as_bytes()).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    answer
}

#[test]
fn a_script_without_an_end_keeps_nobody_else_and_nothing_of_it_survives() {
    // It froze both threads of the runtime, and signals were not heard once it had written.
    for ending in ["TERM", "KILL"] {
        let mut served = started();
        assert_eq!(ask(&served, "SET before 1"), "+OK\r\n");
        let made = post(&served, "/api/tokens", r#"{"name":"monitoring","role":"reader"}"#);
        let token = made.split("\"token\":\"").nth(1).expect(&made).split('"').next().unwrap();
        assert!(scrape(&served, token).starts_with("HTTP/1.1 200"));
        let mut looping = resp_of(&served.lines);
        let script = "EVAL \"redis.call('SET','half','1') while true do end\" 0\r\n";
        looping.write_all(script.as_bytes()).unwrap();
        let why = served.until("/readyz", |status, _| status == 503);
        assert!(why.contains("the store is busy"), "{why}");
        assert_eq!(served.get("/healthz").0, 200);
        assert_eq!(served.get("/metrics").0, 200);
        // A token of the store cannot be looked up now; one that was good at its last scrape still is.
        assert!(scrape(&served, token).starts_with("HTTP/1.1 200"));
        assert!(scrape(&served, &token.replace("wk_", "wk_x")).starts_with("HTTP/1.1 503"));
        let told = served.get("/api/overview").1;
        assert!(told.contains("The store is busy."), "{told}");
        let refused = post(&served, "/api/jobs", r#"{"type":"t","payload":{}}"#);
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.contains("busy") && refused.contains("not_sent"), "{refused}");
        served.signal(ending);
        if ending == "TERM" {
            // Not listening any more is the sign that the first one was heard.
            let deadline = std::time::Instant::now() + Duration::from_secs(30);
            while std::net::TcpStream::connect(served.addr).is_ok() {
                assert!(std::time::Instant::now() < deadline, "the first signal was not heard");
                std::thread::sleep(Duration::from_millis(10));
            }
            served.signal(ending);
        }
        let (code, ..) = served.ended(Duration::from_secs(20));
        assert_eq!(code, if ending == "TERM" { 130 } else { -1 });
        let served = again(served);
        assert_eq!(ask(&served, "MGET before half"), "*2\r\n$1\r\n1\r\n$-1\r\n", "{ending}");
    }
}

#[test]
fn a_full_disk_is_told_everywhere_and_so_is_its_end() {
    let served = started();
    assert_eq!(ask(&served, "SET before 1"), "+OK\r\n");
    served.until("/readyz", |status, _| status == 200);
    // No file may grow: the system refuses with a signal that would end the process.
    let pid = Pid::from_raw(i32::try_from(served.child.id()).unwrap());
    let limited = |current| {
        prlimit(pid, Resource::Fsize, Rlimit { current, maximum: None }).unwrap();
    };
    limited(Some(1));
    let refused = ask(&served, "SET refused 1");
    assert!(!refused.starts_with('+'), "{refused}");
    let why = served.until("/readyz", |status, _| status == 503);
    assert!(why.contains("the store refuses every write"), "{why}");
    for path in ["/api/health", "/api/overview"] {
        let (status, body) = served.get(path);
        let told: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status, 200);
        let sentence = told["sentence"].as_str().unwrap();
        assert!(sentence.starts_with("The store refuses every write"), "{path}: {sentence}");
        assert!(told["store"]["refuses_writes"].is_string(), "{body}");
    }
    assert!(served.get("/metrics").1.contains("worldkeep_store_takes_writes 0"));
    let told = post(&served, "/api/jobs", r#"{"type":"t","payload":{}}"#);
    assert!(told.starts_with("HTTP/1.1 503"), "{told}");
    assert_eq!(ask(&served, "GET before"), "$1\r\n1\r\n", "reads go on");
    limited(None);
    served.until("/readyz", |status, _| status == 200);
    assert!(served.get("/metrics").1.contains("worldkeep_store_takes_writes 1"));
    assert_eq!(ask(&served, "SET after 1"), "+OK\r\n");
    served.signal("KILL");
    let served = again(served);
    assert_eq!(ask(&served, "MGET before after"), "*2\r\n$1\r\n1\r\n$1\r\n1\r\n");
}

#[test]
fn a_redis_that_refuses_writes_is_told_everywhere_and_so_is_its_end() {
    for program in testkit::programs() {
        let redis = testkit::Server::start(program);
        let served = crate::support::serve(&["--redis", &redis.url(), "--no-demo"]);
        served.until("/readyz", |status, _| status == 200);
        redis.ask(&["CONFIG", "SET", "maxmemory", "1"]);
        // Nobody asks for anything: the lease of the server meets it.
        let why = served.until("/readyz", |status, _| status == 503);
        assert!(why.contains("the store refuses every write"), "{why}");
        for path in ["/api/health", "/api/overview"] {
            let told: serde_json::Value = serde_json::from_str(&served.get(path).1).unwrap();
            let sentence = told["sentence"].as_str().unwrap();
            assert!(sentence.starts_with("The store refuses every write"), "{path}: {sentence}");
        }
        assert!(served.get("/metrics").1.contains("worldkeep_store_takes_writes 0"));
        redis.ask(&["CONFIG", "SET", "maxmemory", "0"]);
        served.until("/readyz", |status, _| status == 200);
        assert!(served.get("/metrics").1.contains("worldkeep_store_takes_writes 1"));
    }
}

#[test]
fn leases_of_a_killed_server_end_with_it() {
    let mut served = started();
    let others = |served: &Served| -> serde_json::Value {
        let body = served.get("/api/health").1;
        serde_json::from_str::<serde_json::Value>(&body).unwrap()["other_servers"].clone()
    };
    // All of it is held for an hour, so that nothing runs out by itself.
    let far = "9999999999999";
    assert_eq!(ask(&served, &format!("ZADD wk:servers {far} dead")), ":1\r\n");
    assert_eq!(others(&served), 1);
    assert_eq!(ask(&served, "SET wk:lease:work dead EX 3600"), "+OK\r\n");
    assert_eq!(ask(&served, "SET game:engine_lock dead EX 3600"), "+OK\r\n");
    assert_eq!(ask(&served, "SET bridge:scheduler:lock dead EX 3600"), "+OK\r\n");
    assert_eq!(ask(&served, &format!("ZADD wk:rooms:due {far} timer")), ":1\r\n");
    ask(&served, "HSET wk:rooms:due:data timer \"dead.1 payload\"");
    served.signal("KILL");
    served.ended(Duration::from_secs(20));
    let served = again(served);
    assert_eq!(others(&served), 0, "the directory has one owner");
    assert_eq!(ask(&served, "EXISTS wk:lease:work"), ":0\r\n");
    for lock in ["game:engine_lock", "bridge:scheduler:lock"] {
        assert!(!ask(&served, &format!("GET {lock}")).contains("dead"), "{lock}");
    }
    // It is no timer of a room, so whoever serves it drops it.
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while ask(&served, "EXISTS wk:rooms:due:data") != ":0\r\n" {
        assert!(std::time::Instant::now() < deadline, "the timer was not served");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_stop_waits_for_no_socket_where_there_is_none() {
    // Rooms waited two seconds for a channel that they held open themselves.
    let mut served = serve_in(tempfile::tempdir().unwrap(), &[]);
    served.until("/readyz", |status, _| status == 200);
    served.signal("TERM");
    let (code, _, log) = served.ended(Duration::from_mins(1));
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("stopped") && !log.contains("in time"), "{log}");
}
