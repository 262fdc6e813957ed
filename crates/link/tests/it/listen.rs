//! Subscriptions: they deliver, and come back by themselves after a gap that they admit.

use std::time::Duration;

use futures_util::StreamExt as _;
use kernel::{Message, Topic, Value};
use testkit::{Server, on_every_store, open, programs};

use crate::{cmd, soon};

fn payload(channel: &str, text: &str) -> Message {
    Message::Payload { channel: channel.to_owned(), payload: text.as_bytes().to_vec() }
}

on_every_store!(channels_and_patterns_are_heard, |store| {
    let topics = [Topic::Channel("news".to_owned()), Topic::Pattern("room:*".to_owned())];
    let mut stream = store.subscribe(&topics, soon()).await.expect("subscribed");
    for line in ["PUBLISH other no", "PUBLISH news one", "PUBLISH room:7 two"] {
        store.call(&cmd(line), soon()).await.expect("published");
    }
    assert_eq!(stream.next().await, Some(payload("news", "one")));
    assert_eq!(stream.next().await, Some(payload("room:7", "two")));
});

on_every_store!(a_dropped_stream_ends_its_subscription, |store| {
    let topics = [Topic::Channel("news".to_owned())];
    drop(store.subscribe(&topics, soon()).await.expect("subscribed"));
    for _ in 0..500 {
        if store.call(&cmd("PUBLISH news x"), soon()).await == Ok(Value::Int(0)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the server still counts a subscriber");
});

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_survives_a_killed_server_and_says_so() {
    for program in programs() {
        let mut server = Server::start(program);
        let store = open(&server.url()).await;
        let topics = [Topic::Channel("news".to_owned())];
        let mut stream = store.subscribe(&topics, soon()).await.expect("subscribed");
        store.call(&cmd("PUBLISH news before"), soon()).await.expect("published");
        assert_eq!(stream.next().await, Some(payload("news", "before")));
        server.kill();
        server.restart();
        assert_eq!(stream.next().await, Some(Message::Resumed));
        store.call(&cmd("PUBLISH news after"), soon()).await.expect("published");
        assert_eq!(stream.next().await, Some(payload("news", "after")));
    }
}
