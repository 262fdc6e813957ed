//! A stop: not ready, goodbye to sockets, requests under way end, no longer than allowed.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::tungstenite::Message;

use crate::support::start;

testkit::on_every_store!(a_stop_says_goodbye_and_ends, |store| {
    let mut running = start(store, &[]).await;
    assert_eq!(running.status("/readyz").await, 200);
    let url = format!("ws://{}/ws/events", running.addr);
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    running.stop.cancel();
    let closing = async {
        loop {
            if let Message::Close(frame) = socket.next().await.unwrap().unwrap() {
                break u16::from(frame.unwrap().code);
            }
        }
    };
    assert_eq!(testkit::within("the socket is closed", closing).await, 1012);
    drop(socket);
    testkit::within("the server ends", running.done.take().unwrap()).await.unwrap().unwrap();
    assert!(running.get("/healthz").send().await.is_err(), "nobody listens any more");
});

testkit::on_every_store!(a_stop_does_not_wait_for_ever, |store| {
    let mut running =
        start(store, &[("stop_wait_s", "1"), ("limits.header_read_ms", "60000")]).await;
    // A request that never ends: its body is announced and not sent.
    let mut stuck = tokio::net::TcpStream::connect(running.addr).await.unwrap();
    let head = b"POST /api/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{";
    stuck.write_all(head).await.unwrap();
    assert_eq!(running.status("/healthz").await, 200);
    running.stop.cancel();
    testkit::within("the server ends", running.done.take().unwrap()).await.unwrap().unwrap();
});

testkit::on_every_store!(servers_know_of_each_other_and_the_last_one_knows_it, |store| {
    let mut first = start(std::sync::Arc::clone(&store), &[]).await;
    let mut second = start(store, &[]).await;
    let alone = |health: serde_json::Value| health["other_servers"] == serde_json::json!(0);
    for running in [&first, &second] {
        testkit::eventually("it knows of the other", async || {
            !alone(running.json("/api/health").await)
        })
        .await;
    }
    first.stop.cancel();
    first.done.take().unwrap().await.unwrap().unwrap();
    assert!(!first.app.was_last.load(std::sync::atomic::Ordering::Relaxed));
    assert!(alone(second.json("/api/health").await));
    second.stop.cancel();
    second.done.take().unwrap().await.unwrap().unwrap();
    assert!(second.app.was_last.load(std::sync::atomic::Ordering::Relaxed));
});

testkit::on_every_store!(a_server_without_modules_writes_nothing, |store| {
    let running = start(store, &[("modules", "none")]).await;
    assert_eq!(running.status("/readyz").await, 200);
    assert_eq!(running.status("/api/overview").await, 200);
    assert_eq!(running.store(&["DBSIZE"]).await, kernel::Value::Int(0));
});

testkit::on_every_store!(
    a_lease_of_a_crashed_server_is_waited_for_and_a_renewed_one_counts,
    |store| {
        use std::sync::atomic::Ordering;
        for renews in [false, true] {
            let clock = kernel::FakeClock::at(kernel::Clock::now_ms(&kernel::SystemClock::new()));
            let shared = std::sync::Arc::new(clock.clone());
            let settings = [("modules", "reactors")];
            let mut running =
                crate::support::start_at(std::sync::Arc::clone(&store), &settings, shared).await;
            let until = |at: u64| (at + 15_000).to_string();
            let now = kernel::Clock::now_ms(&clock);
            running.store(&["ZADD", "wk:servers", &until(now), "other"]).await;
            running.stop.cancel();
            let mut done = running.done.take().unwrap();
            let mine = ["ZSCORE", "wk:servers", &running.app.server_id];
            testkit::eventually("it is off the list", async || {
                running.store(&mine).await == kernel::Value::Nil
            })
            .await;
            // The other one renews as a server does, again and again: whenever ours first looks, it sees the next one.
            let ended = async {
                loop {
                    tokio::select! {
                        ended = &mut done => break ended,
                        () = tokio::time::sleep(Duration::from_millis(2)) => {}
                    }
                    clock.advance(Duration::from_millis(250));
                    let at = kernel::Clock::now_ms(&clock);
                    if renews && (at - now).is_multiple_of(1_000) {
                        running.store(&["ZADD", "wk:servers", &until(at), "other"]).await;
                    }
                }
            };
            let ended = testkit::within("it decides whether it is the last", ended).await;
            ended.unwrap().unwrap();
            assert_eq!(running.app.was_last.load(Ordering::Relaxed), !renews);
            let ran_out = kernel::Clock::now_ms(&clock) >= now + 15_000;
            assert!(renews || ran_out, "only the lease's end tells that its server is dead");
        }
    }
);
