//! A stop: not ready, goodbye to sockets, requests under way end, no longer than allowed.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::tungstenite::Message;

use crate::support::start;

testkit::on_every_store!(a_stop_says_goodbye_and_ends, |store| {
    let mut running = start(store, &[]).await;
    assert_eq!(running.status("/readyz").await, 200);
    let url = format!("ws://{}/ws/events", running.addr);
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let started = Instant::now();
    running.stop.cancel();
    let code = loop {
        if let Message::Close(frame) = socket.next().await.unwrap().unwrap() {
            break u16::from(frame.unwrap().code);
        }
    };
    assert_eq!(code, 1012);
    drop(socket);
    running.done.take().unwrap().await.unwrap().unwrap();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
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
    let started = Instant::now();
    running.stop.cancel();
    running.done.take().unwrap().await.unwrap().unwrap();
    let took = started.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
});

testkit::on_every_store!(servers_know_of_each_other_and_the_last_one_knows_it, |store| {
    let mut first = start(std::sync::Arc::clone(&store), &[]).await;
    let mut second = start(store, &[]).await;
    let alone = |health: serde_json::Value| health["other_servers"] == serde_json::json!(0);
    for running in [&first, &second] {
        while alone(running.json("/api/health").await) {
            tokio::task::yield_now().await;
        }
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
