//! Connections: greeting, names, kills, pauses, monitors, silence.

use crate::talk::{Socket, say, served};
use engine::{Engine, Options, ShutdownHook};

#[test]
fn hello_tells_who_answers_and_switches_the_protocol() {
    let (_engine, listener) = served();
    let mut client = Socket::open(&listener);
    let reply = client.say("HELLO 3 SETNAME me");
    assert!(reply.starts_with("{server=redis version=7.0.15 proto=3 id="), "{reply}");
    assert_eq!(client.say("CLIENT GETNAME"), "me");
    assert_eq!(client.say("HELLO 9"), "NOPROTO unsupported protocol version");
    assert_eq!(client.say("RESET"), "RESET");
    assert_eq!(client.say("CLIENT GETNAME"), "nil");
}

#[test]
fn what_only_newer_servers_know_is_refused_clearly() {
    let connection = Engine::memory().connect();
    assert_eq!(
        say(&connection, "CLIENT MAINT_NOTIFICATIONS ON"),
        "ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP."
    );
    assert_eq!(say(&connection, "CLIENT SETINFO LIB-NAME x"), "OK");
}

#[test]
fn a_killed_client_is_closed_and_listens_no_more() {
    let (engine, listener) = served();
    let mut listening = Socket::open(&listener);
    let id = listening.say("CLIENT ID");
    assert_eq!(listening.say("SUBSCRIBE news"), "[subscribe news 1]");
    let connection = engine.connect();
    assert_eq!(say(&connection, "PUBLISH news a"), "1");
    assert_eq!(listening.read(), "[message news a]");
    assert_eq!(say(&connection, &format!("CLIENT KILL ID {id}")), "1");
    assert_eq!(say(&connection, "PUBLISH news b"), "0");
    assert_eq!(listening.read(), "(closed)");
    assert_eq!(say(&connection, "CLIENT KILL 1.2.3.4:5"), "ERR No such client");
}

#[test]
fn a_pause_holds_writes_back_until_it_is_lifted() {
    let (engine, listener) = served();
    let connection = engine.connect();
    let mut writer = Socket::open(&listener);
    assert_eq!(say(&connection, "CLIENT PAUSE 60000 WRITE"), "OK");
    assert_eq!(writer.say("GET k"), "nil");
    writer.send("SET k v");
    // Its own reply shows that the write arrived and waits.
    testkit::wait_until("the write waits", || say(&connection, "CLIENT LIST").contains("flags=b"));
    assert_eq!(say(&connection, "GET k"), "nil");
    assert_eq!(say(&connection, "CLIENT UNPAUSE"), "OK");
    assert_eq!(writer.read(), "OK");
    assert_eq!(say(&connection, "GET k"), "v");
}

#[test]
fn silence_ends_with_the_word_that_ends_it() {
    let (_engine, listener) = served();
    let mut client = Socket::open(&listener);
    client.send("CLIENT REPLY OFF");
    client.send("PING lost");
    assert_eq!(client.say("CLIENT REPLY ON"), "OK");
    client.send("CLIENT REPLY SKIP");
    client.send("PING lost");
    assert_eq!(client.say("PING heard"), "heard");
}

#[test]
fn a_monitor_sees_calls_but_no_passwords() {
    let (engine, listener) = served();
    let connection = engine.connect();
    let mut monitor = Socket::open(&listener);
    assert_eq!(monitor.say("MONITOR"), "OK");
    say(&connection, "SET a \"b\\");
    say(&connection, "AUTH someone secret");
    let line = monitor.read();
    assert!(line.ends_with(r#"[0 in-process:0] "SET" "a" "\"b\\""#), "{line}");
    let line = monitor.read();
    assert!(line.ends_with(r#""AUTH" "(redacted)" "(redacted)""#), "{line}");
}

#[test]
fn too_many_clients_are_told_so() {
    let (engine, listener) = served();
    let connection = engine.connect();
    assert_eq!(say(&connection, "CONFIG SET maxclients 2"), "OK");
    let mut welcome = Socket::open(&listener);
    assert_eq!(welcome.say("PING"), "PONG");
    assert_eq!(Socket::open(&listener).read(), "ERR max number of clients reached");
}

#[test]
fn who_is_owed_too_much_is_closed() {
    let (_engine, listener) = served();
    let mut client = Socket::open(&listener);
    let big = "x".repeat(20_000);
    assert_eq!(client.say(&format!("SET k {big}")), "OK");
    let limit = "\"normal 10000 0 0\"";
    assert_eq!(client.say(&format!("CONFIG SET client-output-buffer-limit {limit}")), "OK");
    assert_eq!(client.say("GET k"), "(closed)");
}

#[test]
fn shutdown_is_the_hosts_decision() {
    let connection = Engine::memory().connect();
    assert!(say(&connection, "SHUTDOWN").starts_with("ERR this engine is part of a program"));
    let (tell, told) = std::sync::mpsc::channel();
    let on_shutdown = Some(ShutdownHook::new(move || tell.send(()).unwrap()));
    let (engine, _) = Engine::open(Options { on_shutdown, ..Options::default() }).unwrap();
    say(&engine.connect(), "SHUTDOWN NOSAVE");
    assert_eq!(told.try_recv(), Ok(()));
}

#[test]
fn a_tracking_client_is_told_what_changed() {
    let (engine, listener) = served();
    let mut client = Socket::open(&listener);
    client.say("HELLO 3");
    assert_eq!(client.say("CLIENT TRACKING ON"), "OK");
    assert_eq!(client.say("GET k"), "nil");
    let connection = engine.connect();
    say(&connection, "SET k 1");
    let message = client.read();
    assert!(message.contains("Invalidate") && message.contains("\"k\""), "{message}");
    // Told once: it has to read the key again to hear of it again.
    say(&connection, "SET k 2");
    assert_eq!(client.say("PING"), "PONG");
}
