//! Real clients against the TCP door: `BullMQ` by Node, redis-py by Python. They run where the tests name more than the
//! embedded engine; `tests/clients/install` puts them there.

use std::path::PathBuf;
use std::process::Command;

use engine::Engine;
use testkit::programs;

fn clients() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/clients"))
}

/// Runs a client's program on a fresh engine and shows its last line.
fn passes(mut program: Command, script: &str, installed: &str) {
    assert!(
        clients().join(installed).exists(),
        "the client is not installed: run `make tools` (or tests/clients/install)"
    );
    let engine = Engine::memory();
    let listener = engine.listen(([127, 0, 0, 1], 0).into()).unwrap();
    let output = program
        .arg(clients().join(script))
        .arg(listener.addr().port().to_string())
        .output()
        .unwrap_or_else(|error| panic!("{program:?} cannot be started: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {text}\n{problems}");
    println!("{}", text.trim());
}

#[test]
fn bullmq_works_on_the_tcp_door() {
    if programs().is_empty() {
        return;
    }
    let mut program = Command::new("timeout");
    program.args(["60", "node"]);
    passes(program, "bullmq/smoke.mjs", "bullmq/node_modules/bullmq");
}

#[test]
fn redis_py_works_on_the_tcp_door() {
    if programs().is_empty() {
        return;
    }
    let mut program = Command::new("timeout");
    program.args(["60", "python3"]);
    program.env("PYTHONPATH", clients().join("../../target/clients/python"));
    passes(program, "redis_py/smoke.py", "../../target/clients/python/redis");
}
