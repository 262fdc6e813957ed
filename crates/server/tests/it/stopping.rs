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
