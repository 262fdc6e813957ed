//! A bad network: every call ends at its deadline, whether it was sent is told truly, and a connection
//! that may be out of step is never used again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::{Fault, Store, Value};
use testkit::{Mode, Proxy, Server, ask, open, programs, timed};

use crate::{cmd, ms, soon};

const SPARE: Duration = Duration::from_millis(100);

/// How late this machine wakes tasks that only sleep, beside the calls: that much is not the store's doing.
async fn noise() -> Duration {
    let sleepers: Vec<_> = (0..40)
        .map(|at| {
            tokio::spawn(async move {
                let wait = Duration::from_millis(100 + 10 * at);
                let began = Instant::now();
                tokio::time::sleep(wait).await;
                began.elapsed().saturating_sub(wait)
            })
        })
        .collect();
    let mut worst = Duration::ZERO;
    for sleeper in sleepers {
        worst = worst.max(sleeper.await.expect("a sleeper wakes"));
    }
    worst
}

async fn start(program: testkit::Program) -> (Server, Proxy, Arc<dyn Store>) {
    let server = Server::start(program);
    let proxy = Proxy::start(server.addr()).await;
    let store = open(&proxy.url()).await;
    (server, proxy, store)
}

async fn back(store: &Arc<dyn Store>, proxy: &Proxy) {
    proxy.set(Mode::Pass);
    // Silence is noticed within five seconds; all else at once.
    testkit::eventually("the store heals", async || {
        store.call(&cmd("PING"), ms(500)).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_ends_within_its_deadline_under_every_fault() {
    let modes = [
        Mode::Cut,
        Mode::HalfOpen,
        Mode::Delay(Duration::from_millis(700)),
        Mode::Trickle,
        Mode::Garbage,
        Mode::ResetMidReply,
    ];
    for program in programs() {
        let (_server, proxy, store) = start(program).await;
        for mode in modes {
            proxy.set(mode);
            let noise = tokio::spawn(noise());
            let calls: Vec<_> = (0..40)
                .map(|at| {
                    let store = store.clone();
                    tokio::spawn(async move {
                        let wait = Duration::from_millis(100 + 10 * at);
                        let began = Instant::now();
                        let by = kernel::Deadline::after(wait);
                        let text = format!("{at}");
                        let failed = match at % 4 {
                            0 => store.call(&cmd("INCR n"), by).await.is_err(),
                            1 => match store.call(&cmd(&format!("ECHO {text}")), by).await {
                                Ok(answer) => {
                                    assert_eq!(answer, Value::BulkString(text.into_bytes()));
                                    false
                                }
                                Err(_) => true,
                            },
                            2 => store.session(b"k", by).await.is_err(),
                            _ => {
                                store.subscribe(&[kernel::Topic::Channel(text)], by).await.is_err()
                            }
                        };
                        (began.elapsed().saturating_sub(wait), failed)
                    })
                })
                .collect();
            let noise = noise.await.expect("sleepers end");
            let (mut failed, mut worst) = (0, Duration::ZERO);
            for call in calls {
                let call = testkit::within("the call ends", call);
                let (late, fails) = call.await.expect("no mismatched answer");
                worst = worst.max(late);
                failed += usize::from(fails);
            }
            let what = format!("{program:?} {mode:?}: after the deadline");
            timed(&what, worst.saturating_sub(noise), SPARE);
            assert!(failed > 0, "{mode:?} spoils something");
            back(&store, &proxy).await;
        }
    }
}

/// So many calls that a lone one is awaited awake: the second of the two trials that a connection begins with.
async fn warm_up(store: &Arc<dyn Store>) {
    for _ in 0..90 {
        store.call(&cmd("PING"), soon()).await.expect("the store answers");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_unknown_and_an_unsent_request_unavailable() {
    for (program, awake) in programs().into_iter().flat_map(|one| [(one, false), (one, true)]) {
        let (server, proxy, store) = start(program).await;
        let ready = async || {
            back(&store, &proxy).await;
            if awake {
                warm_up(&store).await;
            }
        };
        // The request passes, the answer does not come in time: it was done.
        ready().await;
        proxy.set(Mode::Delay(Duration::from_millis(400)));
        let lost = store.call(&cmd("INCR done"), ms(100)).await;
        assert!(matches!(lost, Err(Fault::Unknown(_))), "{lost:?}");
        assert_eq!(ask(server.addr(), &["GET", "done"]).expect("asked"), "$1\r\n1\r\n");
        // The answer is cut in half: it was done, too.
        ready().await;
        proxy.set(Mode::ResetMidReply);
        let torn = store.call(&cmd("INCR torn"), soon()).await;
        assert!(matches!(torn, Err(Fault::Unknown(_))), "{torn:?}");
        assert_eq!(ask(server.addr(), &["GET", "torn"]).expect("asked"), "$1\r\n1\r\n");
        // No answer but garbage.
        ready().await;
        proxy.set(Mode::Garbage);
        let foul = store.call(&cmd("INCR foul"), soon()).await;
        assert!(matches!(foul, Err(Fault::Unknown(_))), "{foul:?}");
        // No connection at all: never sent.
        ready().await;
        proxy.set(Mode::Cut);
        let _ = store.call(&cmd("PING"), ms(100)).await;
        let unsent = store.call(&cmd("INCR unsent"), ms(100)).await;
        assert!(matches!(unsent, Err(Fault::Unavailable(_))), "{unsent:?}");
        assert_eq!(ask(server.addr(), &["EXISTS", "unsent"]).expect("asked"), ":0\r\n");
        back(&store, &proxy).await;
        assert_eq!(store.call(&cmd("EXISTS unsent"), soon()).await, Ok(Value::Int(0)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_open_connection_is_found_out_within_five_seconds() {
    for program in programs() {
        let (_server, proxy, store) = start(program).await;
        proxy.set(Mode::HalfOpen);
        let began = Instant::now();
        // Nobody calls: an idle connection is looked after, too.
        testkit::eventually("the silence is noticed", async || !store.status().up).await;
        timed(
            &format!("{program:?}: half-open found out"),
            began.elapsed(),
            Duration::from_secs(5),
        );
        back(&store, &proxy).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_is_ever_mixed_up_while_the_network_misbehaves() {
    for program in programs() {
        let (_server, proxy, store) = start(program).await;
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let callers: Vec<_> = (0..16)
            .map(|at| {
                let (store, stop) = (store.clone(), stop.clone());
                tokio::spawn(async move {
                    let (mut good, mut round) = (0_u32, 0_u32);
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        round += 1;
                        let text = format!("{at}-{round}");
                        let line = cmd(&format!("ECHO {text}"));
                        let answer = if round % 8 == 0 {
                            match store.session(b"k", ms(60)).await {
                                Ok(mut session) => session.call(&line, ms(60)).await,
                                Err(fault) => Err(fault),
                            }
                        } else {
                            store.call(&line, ms(60)).await
                        };
                        if let Ok(answer) = answer {
                            assert_eq!(answer, Value::BulkString(text.into_bytes()));
                            good += 1;
                        }
                    }
                    good
                })
            })
            .collect();
        let spoil = [
            Mode::Delay(Duration::from_millis(90)),
            Mode::ResetMidReply,
            Mode::Garbage,
            Mode::Cut,
            Mode::Delay(Duration::from_millis(30)),
        ];
        for mode in spoil.iter().cycle().take(15) {
            proxy.set(*mode);
            tokio::time::sleep(Duration::from_millis(60)).await;
            proxy.set(Mode::Pass);
            tokio::time::sleep(Duration::from_millis(80)).await;
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let mut good = 0;
        for caller in callers {
            good += caller.await.expect("no mismatched answer");
        }
        println!("{program:?}: {good} right answers, no wrong one");
        assert!(good > 100);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_every_write_is_known_and_so_is_its_end() {
    // `/readyz` said ready while a Redis with a full memory or disk refused every write.
    for program in programs() {
        let server = Server::start(program);
        let store = open(&server.url()).await;
        for (setting, refusing, taking) in
            [("maxmemory", "1", "0"), ("min-replicas-to-write", "1", "0")]
        {
            server.ask(&["CONFIG", "SET", setting, refusing]);
            assert_eq!(store.status().refuses_writes, None, "nobody wrote yet");
            let refused = if setting == "maxmemory" {
                store.call(&cmd("SET a 1"), soon()).await.map(drop)
            } else {
                let mut own = store.session(b"a", soon()).await.expect("a session");
                crate::exec(&mut *own, &[cmd("SET a 1")], soon()).await.map(drop)
            };
            assert!(matches!(refused, Err(Fault::Refused { .. })), "{refused:?}");
            let why = store.status().refuses_writes.expect("the reply tells");
            assert!(why.starts_with("OOM ") || why.starts_with("NOREPLICAS "), "{why}");
            assert!(store.call(&cmd("GET a"), soon()).await.is_ok(), "reads go on");
            server.ask(&["CONFIG", "SET", setting, taking]);
            testkit::eventually("writes are taken again", async || {
                store.status().refuses_writes.is_none()
            })
            .await;
        }
    }
}
