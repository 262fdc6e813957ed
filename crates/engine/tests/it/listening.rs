//! The listening door, whose one thread serves all: nobody waits for a slow or greedy neighbour, and nothing is left behind.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::{Engine, Listener, Options};
use redis::{Value, cmd};
use testkit::wait_until;

fn open() -> (Engine, Listener) {
    let engine = Engine::memory();
    let door = engine.listen(([127, 0, 0, 1], 0).into()).unwrap();
    (engine, door)
}

fn connect(door: &Listener) -> TcpStream {
    let stream = TcpStream::connect(door.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn say(stream: &mut impl Write, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
}

/// Bytes as text, as many as `expected` has.
fn hears(stream: &mut impl Read, expected: &str) {
    let mut reply = vec![0; expected.len()];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(String::from_utf8_lossy(&reply), expected);
}

fn line(stream: &mut impl Read) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(b"\r\n") {
        stream.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap().trim_end().to_owned()
}

fn clients(engine: &Engine) -> usize {
    let list = engine.connect().call(cmd("CLIENT").arg("LIST")).unwrap();
    redis::from_redis_value::<String>(list).unwrap().lines().count() - 1
}

#[test]
fn who_takes_no_replies_is_not_read_from_and_holds_up_nobody() {
    let (engine, door) = open();
    engine.connect().call(cmd("SET").arg("big").arg(vec![b'x'; 1 << 20]));
    let mut slow = connect(&door);
    slow.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    // A hundred thousand replies of a megabyte each are asked for: they are made as they are taken.
    let asked = "GET big\r\n".repeat(1000);
    let mut bytes = 0;
    let refused = loop {
        match slow.write(asked.as_bytes()) {
            Ok(len) => bytes += len,
            Err(error) => break error.kind(),
        }
        assert!(bytes < 64 << 20, "everything is read");
    };
    assert!(matches!(refused, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{refused}");
    let mut other = connect(&door);
    for _ in 0..100 {
        say(&mut other, "PING\r\n");
        hears(&mut other, "+PONG\r\n");
    }
    say(&mut other, "CLIENT LIST\r\n");
    let length: usize = line(&mut other)[1..].parse().unwrap();
    let mut list = vec![0; length + 2];
    other.read_exact(&mut list).unwrap();
    let list = String::from_utf8(list).unwrap();
    assert_eq!(list.matches("cmd=get").count(), 1, "{list}");
    // It is served on as soon as it reads.
    let mut reply = vec![0; 10 + (1 << 20) + 2];
    for _ in 0..20 {
        slow.read_exact(&mut reply).unwrap();
        assert!(reply.starts_with(b"$1048576\r\nxxx") && reply.ends_with(b"xx\r\n"));
    }
}

#[test]
fn an_endless_pipeline_starves_nobody() {
    let (_engine, door) = open();
    let stop = AtomicBool::new(false);
    let mut greedy = connect(&door);
    let mut replies = greedy.try_clone().unwrap();
    let mut other = connect(&door);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let calls = "INCR n\r\n".repeat(2000);
            while !stop.load(Ordering::Relaxed) {
                greedy.write_all(calls.as_bytes()).unwrap();
            }
            greedy.shutdown(Shutdown::Write).unwrap();
        });
        scope.spawn(|| std::io::copy(&mut replies, &mut std::io::sink()).unwrap());
        for _ in 0..50 {
            say(&mut other, "PING\r\n");
            hears(&mut other, "+PONG\r\n");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn calls_before_the_end_of_a_half_closed_connection_are_answered() {
    let (engine, door) = open();
    let mut stream = connect(&door);
    say(&mut stream, &"PING\r\n".repeat(20_000));
    stream.shutdown(Shutdown::Write).unwrap();
    let mut replies = String::new();
    stream.read_to_string(&mut replies).unwrap();
    assert_eq!(replies, "+PONG\r\n".repeat(20_000));
    wait_until("its client leaves", || clients(&engine) == 0);
}

#[test]
fn a_blocked_client_is_woken_from_any_door_and_its_pipeline_goes_on() {
    let (engine, door) = open();
    let mut waiting = connect(&door);
    say(&mut waiting, "BLPOP q 0\r\nPING\r\n");
    let blocked = || {
        let info = engine.connect().call(cmd("INFO").arg("clients")).unwrap();
        redis::from_redis_value::<String>(info).unwrap().contains("blocked_clients:1")
    };
    wait_until("it blocks", blocked);
    engine.connect().call(cmd("RPUSH").arg("q").arg("a"));
    hears(&mut waiting, "*2\r\n$1\r\nq\r\n$1\r\na\r\n+PONG\r\n");
    say(&mut waiting, "BLPOP q 0\r\n");
    wait_until("it blocks again", blocked);
    let mut other = connect(&door);
    say(&mut other, "RPUSH q b\r\n");
    hears(&mut other, ":1\r\n");
    hears(&mut waiting, "*2\r\n$1\r\nq\r\n$1\r\nb\r\n");
    say(&mut waiting, "BLPOP q 0.05\r\n");
    hears(&mut waiting, "*-1\r\n");
    // One that goes away while it waits is noticed, and nothing is given to it.
    say(&mut waiting, "BLPOP q 0\r\n");
    wait_until("it blocks once more", blocked);
    drop(waiting);
    wait_until("it leaves", || clients(&engine) == 1);
    say(&mut other, "RPUSH q c\r\nLLEN q\r\n");
    hears(&mut other, ":1\r\n:1\r\n");
}

#[test]
fn calls_that_came_with_a_slow_script_are_answered_and_it_can_be_ended() {
    let (engine, door) = open();
    engine.connect().call(cmd("CONFIG").arg("SET").arg("busy-reply-threshold").arg(20));
    let mut slow = connect(&door);
    let mut others: Vec<TcpStream> = (0..20).map(|_| connect(&door)).collect();
    wait_until("all have come in", || clients(&engine) == 21);
    for (at, other) in others.iter_mut().enumerate() {
        say(other, "PING\r\n");
        if at == 10 {
            say(&mut slow, "EVAL 'while true do end' 0\r\n");
        }
    }
    let mut late = connect(&door);
    say(&mut late, "PING\r\n");
    let answer = line(&mut late);
    assert!(answer.starts_with("-BUSY ") || answer == "+PONG", "{answer}");
    wait_until("the script can be killed", || {
        say(&mut late, "SCRIPT KILL\r\n");
        let answer = line(&mut late);
        assert!(answer == "+OK" || answer.starts_with("-NOTBUSY"), "{answer}");
        answer == "+OK"
    });
    assert!(line(&mut slow).starts_with("-ERR Script killed by user"));
    for other in &mut others {
        let answer = line(other);
        assert!(answer.starts_with("-BUSY ") || answer == "+PONG", "{answer}");
        say(other, "PING\r\n");
        hears(other, "+PONG\r\n");
    }
    say(&mut late, "PING\r\n");
    hears(&mut late, "+PONG\r\n");
}

#[test]
fn a_slow_script_of_another_door_is_told_of_too() {
    let (engine, door) = open();
    let connection = engine.connect();
    connection.call(cmd("CONFIG").arg("SET").arg("busy-reply-threshold").arg(20));
    let mut known = connect(&door);
    say(&mut known, "PING\r\n");
    hears(&mut known, "+PONG\r\n");
    std::thread::scope(|scope| {
        let slow =
            scope.spawn(|| connection.call(cmd("EVAL").arg("while true do end").arg(0)).unwrap());
        let mut busy = String::new();
        wait_until("it is busy", || {
            say(&mut known, "PING\r\n");
            busy = line(&mut known);
            busy != "+PONG"
        });
        assert!(busy.starts_with("-BUSY "), "{busy}");
        let mut new = connect(&door);
        say(&mut new, "GET a\r\n");
        assert!(line(&mut new).starts_with("-BUSY "));
        say(&mut new, "SCRIPT KILL\r\n");
        hears(&mut new, "+OK\r\n");
        assert!(matches!(slow.join().unwrap(), Value::ServerError(_)));
        say(&mut new, "PING\r\n");
        hears(&mut new, "+PONG\r\n");
    });
}

#[test]
fn those_served_just_before_a_slow_script_of_another_door_have_their_replies() {
    let (engine, door) = open();
    let connection = engine.connect();
    connection.call(cmd("CONFIG").arg("SET").arg("busy-reply-threshold").arg(50));
    for _ in 0..30 {
        std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8)
                .map(|_| {
                    let mut stream = connect(&door);
                    scope.spawn(move || {
                        loop {
                            say(&mut stream, "EVAL 'for _ = 1, 50000 do end return 1' 0\r\n");
                            let answer = line(&mut stream);
                            if answer != ":1" {
                                return answer;
                            }
                        }
                    })
                })
                .collect();
            wait_until("all are there", || clients(&engine) >= 9);
            let slow = scope
                .spawn(|| connection.call(cmd("EVAL").arg("while true do end").arg(0)).unwrap());
            // Whatever came of it, the script must end, or the test cannot.
            let answers: Vec<_> =
                asking.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            let mut killer = connect(&door);
            say(&mut killer, "SCRIPT KILL\r\n");
            hears(&mut killer, "+OK\r\n");
            assert!(matches!(slow.join().unwrap(), Value::ServerError(_)));
            for answer in answers {
                assert!(answer.is_ok_and(|answer| answer.starts_with("-BUSY ")));
            }
        });
        wait_until("all have left", || clients(&engine) == 1);
    }
}

#[test]
fn a_closed_door_ends_its_connections_and_lets_go_of_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let options = Options { dir: Some(dir.path().into()), ..Options::default() };
        let (engine, _) = Engine::open(options).unwrap();
        let door = engine.listen(([127, 0, 0, 1], 0).into()).unwrap();
        let mut stream = connect(&door);
        say(&mut stream, "INCR n\r\nBLPOP q 0\r\n");
        assert!(line(&mut stream).starts_with(':'));
        drop((engine, door));
        assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0, "it has ended");
    }
}

#[test]
fn there_are_as_many_clients_as_allowed_and_none_is_forgotten() {
    let (engine, door) = open();
    for _ in 0..300 {
        let mut stream = connect(&door);
        say(&mut stream, "PING\r\n");
    }
    // They are let in by order: when the last one is heard, none is at the door any more.
    let mut last = connect(&door);
    say(&mut last, "PING\r\n");
    hears(&mut last, "+PONG\r\n");
    drop(last);
    wait_until("all have left", || clients(&engine) == 0);
    engine.connect().call(cmd("CONFIG").arg("SET").arg("maxclients").arg(3));
    let mut two: Vec<TcpStream> = (0..2).map(|_| connect(&door)).collect();
    for stream in &mut two {
        say(stream, "PING\r\n");
        hears(stream, "+PONG\r\n");
    }
    let _third = engine.connect();
    let mut words = String::new();
    connect(&door).read_to_string(&mut words).unwrap();
    assert_eq!(words, "-ERR max number of clients reached\r\n");
}

#[test]
fn a_unix_socket_serves_and_goes_with_its_door() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("engine.sock");
    let engine = Engine::memory();
    let door = engine.listen_unix(&path).unwrap();
    assert!(engine.listen_unix(&path).is_err(), "it is taken");
    let mut stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
    say(&mut stream, "SET a 1\r\nGET a\r\n");
    hears(&mut stream, "+OK\r\n$1\r\n1\r\n");
    say(&mut stream, "CLIENT INFO\r\n");
    line(&mut stream);
    assert!(line(&mut stream).contains(&format!("addr={}:0", path.display())));
    drop(door);
    assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0);
    assert!(!path.exists());
}

/// An engine with a door that waits only so long for a client to take something.
fn open_impatient(stall: Duration) -> (Engine, Listener) {
    let options = Options { write_stall: stall, ..Options::default() };
    let (engine, _) = Engine::open(options).unwrap();
    engine.connect().call(cmd("SET").arg("big").arg(vec![b'x'; 1 << 20]));
    let door = engine.listen(([127, 0, 0, 1], 0).into()).unwrap();
    (engine, door)
}

/// The connection was reset under the one who holds this end.
fn is_reset(stream: &TcpStream) -> bool {
    stream.take_error().unwrap().is_some()
}

#[test]
fn who_takes_nothing_of_what_it_is_owed_is_closed() {
    let (engine, door) = open_impatient(Duration::from_millis(300));
    let mut asking = connect(&door);
    say(&mut asking, &"GET big\r\n".repeat(100));
    let mut listening = connect(&door);
    say(&mut listening, "SUBSCRIBE news\r\n");
    line(&mut listening);
    for _ in 0..20 {
        engine.connect().call(cmd("PUBLISH").arg("news").arg(vec![b'x'; 1 << 20]));
    }
    // The client is gone at once, and the connection waits for the last reply to be taken.
    let mut leaving = connect(&door);
    say(&mut leaving, &format!("{}QUIT\r\n", "GETRANGE big 0 -1\r\n".repeat(30)));
    for (stream, who) in [
        (&asking, "one that asks"),
        (&listening, "one that listens"),
        (&leaving, "one that leaves"),
    ] {
        wait_until(&format!("{who} is closed"), || is_reset(stream));
    }
    wait_until("nothing of them is left", || clients(&engine) == 0);
}

#[test]
fn who_reads_slowly_but_reads_is_served_to_the_end() {
    let (_engine, door) = open_impatient(Duration::from_millis(500));
    let mut slow = connect(&door);
    say(&mut slow, &"GET big\r\n".repeat(16));
    let (mut left, mut space) = (16 * ((1 << 20) + 12), vec![0; 64 * 1024]);
    // Slower than the system tells of room: its buffers take seconds to become empty.
    while left > 0 {
        let read = slow.read(&mut space).unwrap();
        assert!(read > 0, "{left} bytes were still to come");
        left -= read;
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn replies_beyond_the_output_limit_close_the_connection() {
    let (engine, door) = open_impatient(Duration::from_secs(10));
    let limit = "normal 100000 0 0";
    engine.connect().call(cmd("CONFIG").arg("SET").arg("client-output-buffer-limit").arg(limit));
    let mut stream = connect(&door);
    say(&mut stream, "GET big\r\n");
    assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0, "it has ended");
}
