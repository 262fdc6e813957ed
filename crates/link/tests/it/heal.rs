//! A server that dies and comes back: service is back within 250 ms of its return, scripts too, and what
//! was acknowledged is there.

use std::time::{Duration, Instant};

use kernel::{Fault, Script, Value};
use testkit::{Server, Setup, ask, open, programs, timed};

use crate::{cmd, exec, ms, soon};

static COUNT: Script = Script::new("count", "return redis.call('INCR', KEYS[1])");

const HEALED: Duration = Duration::from_millis(250);

#[tokio::test(flavor = "multi_thread")]
async fn service_is_back_soon_after_a_killed_server_returns() {
    for program in programs() {
        let mut server = Server::start(program);
        let store = open(&server.url()).await;
        let mut worst = Duration::ZERO;
        for round in 0..8 {
            store.call(&cmd("SET a 1"), soon()).await.expect("up");
            server.kill();
            let refused = store.call(&cmd("PING"), ms(60)).await;
            assert!(refused.is_err());
            // Different lengths of absence, so that no backoff is favoured.
            tokio::time::sleep(Duration::from_millis(37 * round)).await;
            let addr = server.addr();
            let watch = std::thread::spawn(move || {
                testkit::wait_until("the server answers", || {
                    ask(addr, &["PING"]).is_ok_and(|reply| reply.starts_with('+'))
                });
                Instant::now()
            });
            let call = tokio::spawn({
                let store = store.clone();
                async move {
                    store.call(&cmd("PING"), soon()).await.expect("healed");
                    Instant::now()
                }
            });
            tokio::task::block_in_place(|| server.restart());
            let answers = watch.join().expect("no panic");
            let healed = call.await.expect("no panic").saturating_duration_since(answers);
            worst = worst.max(healed);
        }
        timed(&format!("{program:?}: healed after the server answered"), worst, HEALED);
        let status = store.status();
        assert!(status.up);
        assert!(status.reconnects >= 8, "{status:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_needs_nobody_to_load_it_again() {
    for program in programs() {
        let mut server = Setup::new(program).args(["--appendonly", "yes"]).start();
        let store = open(&server.url()).await;
        assert_eq!(store.script(&COUNT, &[b"n"], &[], soon()).await, Ok(Value::Int(1)));
        server.stop();
        server.restart();
        assert_eq!(store.script(&COUNT, &[b"n"], &[], soon()).await, Ok(Value::Int(2)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_server_is_away_calls_end_in_time_and_the_status_says_why() {
    for program in programs() {
        let mut server = Server::start(program);
        let store = open(&server.url()).await;
        assert!(store.status().up);
        server.kill();
        // The first may still meet the dying connection; after it nothing is sent any more.
        let _ = store.call(&cmd("PING"), ms(100)).await;
        let away = store.call(&cmd("INCR n"), ms(200)).await;
        assert!(matches!(away, Err(Fault::Unavailable(_))), "{away:?}");
        assert!(matches!(store.session(b"k", ms(50)).await, Err(Fault::Unavailable(_))));
        let status = store.status();
        assert!(!status.up);
        assert!(status.reason.expect("a reason").contains("refused"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_nothing_is_done_twice_over_kills() {
    for program in programs() {
        let mut server =
            Setup::new(program).args(["--appendonly", "yes", "--appendfsync", "always"]).start();
        let store = open(&server.url()).await;
        let (mut acknowledged, mut unknown) = (0, 0);
        for round in 0..4 {
            let tasks: Vec<_> = (0..20)
                .map(|at| {
                    let store = store.clone();
                    tokio::spawn(async move {
                        let mut outcomes = (0, 0);
                        for turn in 0..50 {
                            let line = format!("INCR n:{round}:{at}:{turn}");
                            match store.call(&cmd(&line), ms(5000)).await {
                                Ok(value) => {
                                    assert_eq!(value, Value::Int(1), "{line} was repeated");
                                    outcomes.0 += 1;
                                }
                                Err(Fault::Unknown(_)) => outcomes.1 += 1,
                                Err(other) => panic!("{other}"),
                            }
                        }
                        outcomes
                    })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(15)).await;
            tokio::task::block_in_place(|| {
                server.kill();
                server.restart();
            });
            for task in tasks {
                let (done, lost) = task.await.expect("no call failed otherwise");
                acknowledged += done;
                unknown += lost;
            }
        }
        let Ok(Value::Int(stored)) = store.call(&cmd("DBSIZE"), soon()).await else {
            panic!("no size")
        };
        println!("{program:?}: acknowledged {acknowledged}, unknown {unknown}, stored {stored}");
        assert_eq!(acknowledged + unknown, 4000);
        assert!(stored >= acknowledged && stored <= acknowledged + unknown);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_on_a_connection_that_died_idle_is_asked_again() {
    for program in programs() {
        let mut server = Server::start(program);
        let store = open(&server.url()).await;
        for _ in 0..10 {
            let mut session = store.session(b"k", soon()).await.expect("a session");
            session.call(&cmd("WATCH k"), soon()).await.expect("watched");
            exec(&mut *session, &[cmd("SET k 1")], soon()).await.expect("sent").expect("done");
            // Lent before the death, used after it.
            let mut held = store.session(b"k", soon()).await.expect("a session");
            server.kill();
            server.restart();
            held.call(&cmd("WATCH k"), soon()).await.expect("watched on a new connection");
            exec(&mut *held, &[cmd("SET k 2")], soon()).await.expect("sent").expect("done");
        }
    }
}

// The first write that a new replica refuses ends the shared connection: those who had asked on it get their answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_left_answers_what_it_was_asked() {
    for program in programs() {
        let server = Server::start(program);
        let store = open(&server.url()).await;
        store.call(&cmd("SET a 1"), soon()).await.expect("up");
        // Nobody listens at port 1: it stays a replica without a primary.
        assert!(server.ask(&["REPLICAOF", "127.0.0.1", "1"]).starts_with("+OK"));
        for _ in 0..10 {
            let asked: Vec<_> = (0..40)
                .map(|at| {
                    let store = store.clone();
                    let line = if at % 8 == 3 { "SET a 2" } else { "GET a" };
                    let call = async move { store.call(&cmd(line), soon()).await };
                    (line, tokio::spawn(call))
                })
                .collect();
            for (line, answer) in asked {
                match (line, answer.await.expect("no panic")) {
                    ("GET a", answer) => assert_eq!(answer, Ok(Value::BulkString(b"1".to_vec()))),
                    (_, Err(Fault::Refused { code, .. })) => assert_eq!(code, "READONLY"),
                    (_, other) => panic!("{line}: {other:?}"),
                }
            }
        }
    }
}
