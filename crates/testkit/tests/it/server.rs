//! The server fixture: starts, dies, comes back on the same port and directory, and leaves nothing.

use testkit::{Setup, programs};

#[test]
fn a_killed_server_comes_back_with_its_log() {
    for program in programs() {
        let mut server =
            Setup::new(program).args(["--appendonly", "yes", "--appendfsync", "always"]).start();
        assert_eq!(server.ask(&["SET", "key", "value"]), "+OK\r\n");
        let port = server.port();
        server.kill();
        assert!(testkit::ask(server.addr(), &["PING"]).is_err(), "it is gone");
        server.restart();
        assert_eq!(server.port(), port);
        assert_eq!(server.ask(&["GET", "key"]), "$5\r\nvalue\r\n");
    }
}

#[test]
fn a_dropped_server_is_gone() {
    for program in programs() {
        let server = testkit::Server::start(program);
        let (addr, dir) = (server.addr(), server.dir().to_owned());
        drop(server);
        assert!(testkit::ask(addr, &["PING"]).is_err());
        assert!(!dir.exists());
    }
}

#[test]
fn a_server_of_another_on_the_same_port_is_not_taken_for_ones_own() {
    for program in programs() {
        let first = testkit::Server::start(program);
        let on_taken = Setup::new(program).port(first.port());
        let second = std::panic::catch_unwind(|| on_taken.start().pid());
        assert!(second.is_err(), "port {} is lent twice", first.port());
    }
}

/// Started again by the test below, with nobody to stop its server.
#[test]
fn an_abandoned_server() {
    if std::env::var_os("TESTKIT_ABANDON").is_none() {
        return;
    }
    for program in programs() {
        let server = testkit::Server::start(program);
        println!("abandoned {} {}", server.addr(), server.dir().display());
        std::mem::forget(server);
    }
    // SIGKILL: no destructor runs and nobody can say goodbye.
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .expect("we may end ourselves");
}

#[test]
fn a_killed_test_process_leaves_no_server_and_no_directory() {
    let output = std::process::Command::new(std::env::current_exe().expect("ourselves"))
        .args(["server::an_abandoned_server", "--exact", "--nocapture"])
        .env("TESTKIT_ABANDON", "1")
        .output()
        .expect("it can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let left: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.split_once("abandoned ").map(|(_, rest)| rest.split(' ').collect()))
        .collect();
    assert_eq!(left.len(), programs().len(), "{text}");
    let gone = |one: &Vec<&str>| {
        let addr = one[0].parse().expect("an address");
        testkit::ask(addr, &["PING"]).is_err() && !std::path::Path::new(one[1]).exists()
    };
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !left.iter().all(gone) {
        assert!(std::time::Instant::now() < give_up, "still there: {left:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_missing_program_is_a_failure_that_says_how_to_install_it() {
    for (store, told) in [("redis", "apt-get install -y redis-server"), ("valkey", "make tools")] {
        let output = std::process::Command::new(std::env::current_exe().expect("ourselves"))
            .args(["server::a_dropped_server_is_gone", "--exact", "--nocapture"])
            .env("WORLDKEEP_TEST_STORES", store)
            .env("WORLDKEEP_VALKEY", "nowhere/valkey-server")
            .env("PATH", "nowhere")
            .output()
            .expect("it can be started");
        assert!(!output.status.success());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(told), "{text}");
    }
}
