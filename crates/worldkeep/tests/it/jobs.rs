//! `worldkeep jobs …`, on a running server, on a directory, and on Redis.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{command, output, run, serve, told};

/// Where the verbs of a test work.
struct Place {
    flags: Vec<String>,
}

impl Place {
    fn new(flags: &[&str]) -> Place {
        Place { flags: flags.iter().map(|flag| (*flag).to_owned()).collect() }
    }

    fn run(&self, line: &[&str]) -> (i32, String, String) {
        let mut all = vec!["jobs"];
        all.extend(line);
        all.extend(self.flags.iter().map(String::as_str));
        told(&run(&all))
    }

    fn good(&self, line: &[&str]) -> String {
        let (code, out, err) = self.run(line);
        assert_eq!(code, 0, "{line:?}: {err}{out}");
        out
    }

    fn json(&self, line: &[&str]) -> Value {
        let mut all = line.to_vec();
        all.push("--json");
        let out = self.good(&all);
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{line:?} did not print JSON: {out}"))
    }

    fn code(&self, line: &[&str]) -> i32 {
        self.run(line).0
    }
}

/// A flow from a file, drawn as a tree.
fn a_flow(place: &Place) {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("report.json");
    let flow = json!({ "type": "report", "jobId": "r", "children": [
        { "type": "page", "jobId": "a", "children": [{ "type": "picture", "jobId": "a1" }] },
        { "type": "page", "jobId": "b" },
    ] });
    std::fs::write(&file, flow.to_string()).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(place.good(&["flow", file]).trim(), "r");
    place.good(&["bury", "b"]);
    let tree = "report r dead: DependencyFailed\n├─ page a waiting ←\n│  └─ picture a1 waiting\n\
        └─ page b dead: Buried";
    assert_eq!(place.good(&["tree", "a"]).trim(), tree);
    assert_eq!(place.json(&["tree", "a1"])["root"]["children"][1]["status"], "dead");
    assert_eq!(place.code(&["flow", file]), 4, "its ids are taken");
    assert_eq!(place.code(&["flow", "/nowhere.json"]), 2);
    place.good(&["rm", "r", "a", "a1", "b", "--yes"]);
}

/// The life of jobs by hand; the same on every place.
fn by_hand(place: &Place) {
    a_flow(place);
    let id = place.good(&["dispatch", "email", r#"{"n":1.50}"#, "--priority", "8"]);
    let id = id.trim();
    assert!(place.good(&["ls"]).contains("waits for a worker"));
    let shown = place.good(&["get", id]);
    assert!(shown.contains("email") && shown.contains("0 of 4"), "{shown}");
    assert!(place.good(&["get", id, "--json"]).contains(r#""n":1.50"#), "bytes as they were sent");
    assert_eq!(place.json(&["ls", "--type", "email"])["items"][0]["jobId"], id);
    assert!(place.good(&["explain", id]).contains("No worker is alive"));
    assert!(place.good(&["timeline", id]).contains("dispatched"));
    assert!(place.good(&["tail", "--once"]).contains(id));
    assert_eq!(place.good(&["tree", id]).trim(), format!("email {id} waiting ←"));
    assert_eq!(place.json(&["stats"])["waiting"], 1);
    assert!(place.good(&["queues"]).contains("email"));
    place.good(&["pause", "email", "--for", "10m"]);
    assert!(place.good(&["explain", id]).contains("paused"));
    place.good(&["resume", "email"]);
    place.good(&["cancel", id]);
    assert_eq!(place.code(&["cancel", id]), 4, "it has ended");
    assert_eq!(place.code(&["wait", id]), 1, "it failed");
    place.good(&["retry", id]);
    assert_eq!(place.code(&["wait", id, "--timeout", "1ms"]), 1, "it has not ended");
    place.good(&["bury", id]);
    assert!(place.good(&["dlq", "ls"]).contains("Buried"));
    assert!(place.good(&["dlq", "ls", "--group", "error"]).contains("Buried"));
    assert!(place.good(&["dlq", "show", id]).contains("dead"));
    place.good(&["dlq", "edit", id, "--payload", r#"{"n":2}"#]);
    place.good(&["bury", id]);
    let (code, _, err) = place.run(&["dlq", "requeue", "--all"]);
    assert!(code == 2 && err.contains("1 dead letters"), "many are counted first: {err}");
    assert!(place.good(&["dlq", "requeue", "--type", "email", "--yes"]).contains("requeued 1"));
    for nothing in
        [&["requeue", "--all", "--yes"][..], &["requeue", "nobody"], &["purge", "--all", "--yes"]]
    {
        let (code, _, err) = place.run(&[&["dlq"], nothing].concat());
        assert!(code == 3 && err.contains("no dead letter is meant"), "{nothing:?}: {code} {err}");
    }
    let later = place.good(&["dispatch", "email", "--delay", "1h"]);
    place.good(&["run", later.trim()]);
    assert!(place.good(&["purge", "email", "--yes"]).contains("removed 2 jobs"));
    assert_eq!(place.code(&["rm", id, "--yes"]), 3, "it is gone");
    assert_eq!(place.code(&["get", "nobody"]), 3);
    assert_eq!(place.code(&["dispatch", "email", "{oops"]), 2);
    assert_eq!(place.code(&["dispatch", "email", "--priority", "11"]), 2);
    assert_eq!(place.code(&["ls", "--status", "sleeping"]), 2);
    assert_eq!(place.json(&["doctor"])["remaining"], 0);
    place.good(&["doctor", "--repair", "--yes"]);
    assert_eq!(place.json(&["workers"])["items"], json!([]));
    assert_eq!(place.code(&["workers", "quiet", "nobody"]), 3);
}

fn recurring(place: &Place) {
    let said =
        place.good(&["cron", "add", "daily", "0 18 * * *", "digest", "--timezone", "Europe/Paris"]);
    assert!(said.contains("next 20"), "{said}");
    assert!(place.good(&["cron", "ls"]).contains("Europe/Paris"));
    assert_eq!(
        place.json(&["cron", "next", "daily", "-n", "3"])["items"].as_array().unwrap().len(),
        3
    );
    assert!(place.good(&["cron", "next", "daily"]).contains("T18:00:00"));
    assert!(place.good(&["cron", "fire", "daily"]).contains("fired daily"));
    assert!(place.good(&["cron", "fire", "daily"]).contains("runs already"));
    assert_eq!(place.code(&["cron", "rm", "daily"]), 2, "without --yes nothing is done");
    place.good(&["cron", "rm", "daily", "--yes"]);
    assert_eq!(place.code(&["cron", "show", "daily"]), 3);
    assert_eq!(place.code(&["cron", "add", "bad", "0 0 30 2 *", "t"]), 2);
}

#[test]
fn verbs_work_on_a_running_server() {
    let served = serve(&["--no-demo", "--modules", "jobs"]);
    let place = Place::new(&["--server", &served.url()]);
    by_hand(&place);
    recurring(&place);
    let (code, _, err) = place.run(&["ls", "--ns", "elsewhere"]);
    assert!(code == 3 && err.contains("jobs.namespaces"), "{err}");
}

#[test]
fn verbs_work_on_a_directory_and_in_any_namespace() {
    let dir = tempfile::tempdir().unwrap();
    let data = &crate::support::data(&dir);
    by_hand(&Place::new(&["--data", data]));
    recurring(&Place::new(&["--data", data, "--ns", "mine", "--layout", "tagged"]));
    assert_eq!(Place::new(&["--data", data]).json(&["stats"])["namespace"], "bridge");
}

#[test]
fn verbs_work_on_real_servers() {
    for program in testkit::programs() {
        let server = testkit::Server::start(program);
        let place = Place::new(&["--redis", &server.url()]);
        by_hand(&place);
        recurring(&place);
    }
}

#[test]
fn files_of_jobs_are_dispatched_and_refusals_are_told() {
    let dir: TempDir = tempfile::tempdir().unwrap();
    let file = dir.path().join("jobs.ndjson");
    std::fs::write(&file, "{\"type\":\"a\",\"jobId\":\"one\"}\n{\"type\":\"\"}\n").unwrap();
    let (data, file) = (crate::support::data(&dir), file.to_str().unwrap());
    let data = data.as_str();
    let place = Place::new(&["--data", data]);
    let (code, out, err) = place.run(&["dispatch", "--file", file]);
    assert_eq!((code, out.trim()), (1, "one"), "{err}");
    assert!(err.contains("1 of 2 jobs were refused"), "{err}");
    let mut piped = command(&dir, &["jobs", "dispatch", "b", "-", "--data", data]);
    let mut child = piped
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"{\"from\":\"stdin\"}").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(place.json(&["ls", "--text", "stdin"])["items"].as_array().unwrap().len(), 1);
}

#[test]
fn a_job_of_the_demo_is_waited_for() {
    let served = serve(&["--modules", "jobs"]);
    let place = Place::new(&["--server", &served.url()]);
    let result = place.json(&["dispatch", "cleanup", "--wait"]);
    assert_eq!(result["success"], true, "{result}");
    assert!(place.good(&["workers"]).contains("demo-eu"));
    assert!(place.good(&["cron", "ls"]).contains("demo-digest"));
}

#[test]
fn refusals_and_absence_have_their_codes() {
    let (code, _, err) = told(&run(&["jobs", "ls", "--server", "http://127.0.0.1:9"]));
    assert_eq!(code, 6, "{err}");
    assert!(err.contains("start it with `worldkeep`"), "{err}");
    let served = serve(&["--no-demo", "--modules", "jobs"]);
    let url = served.url();
    let token = "wk_nobodynobodynobodynobodynobodynobodynobodyno";
    let (code, _, err) = told(&run(&["jobs", "ls", "--server", &url, "--token", token]));
    assert_eq!(code, 5, "{err}");
    let limited = ["token", "new", "--name", "n", "--role", "reader", "--json", "--server", &url];
    let made: Value = serde_json::from_str(&told(&run(&limited)).1).unwrap();
    let reader = made["token"].as_str().unwrap();
    let line = ["jobs", "dispatch", "t", "--server", &url, "--token", reader];
    assert_eq!(told(&run(&line)).0, 5, "a reader only reads");
}

#[test]
fn scripts_are_exported_for_other_languages() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = told(&output(&mut command(&dir, &["jobs", "lua", "export", "lua"])));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("claim_job.lua"), "{out}");
    for file in ["README.md", "claim_job.lua", "release_lock.lua", "vectors.json"] {
        assert!(dir.path().join("lua").join(file).is_file(), "{file}");
    }
}
