//! On a real Cluster: keys are counted on all nodes, events of all slots arrive.

use std::collections::BTreeSet;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::start;

testkit::on_cluster!(keys_and_events_of_all_nodes_are_seen, |store, _cluster| {
    let running = start(store, &[("layout", "tagged")]).await;
    for n in 0..60 {
        running.store(&["SET", &format!("room:{{ROOM{n:04}}}:meta"), "{}", "EX", "1000"]).await;
    }
    let mut seen = BTreeSet::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/api/keys?module=rooms&pattern=meta&limit=25{cursor}");
        let page = running.json(&path).await;
        for item in page["items"].as_array().unwrap() {
            seen.insert(item["key"].as_str().unwrap().to_owned());
        }
        match page["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 60);
    let url = format!("ws://{}/ws/events", running.addr);
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    socket.send(Message::text(json!({ "type": "subscribe" }).to_string())).await.unwrap();
    let mut hear = async || loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            return serde_json::from_str::<Value>(&text).unwrap();
        }
    };
    assert_eq!(hear().await["type"], "subscribed");
    let streams = ["wk:rooms:events", "galaxy:ships", "galaxy:admin", "{bridge}:events:stream"];
    for stream in streams {
        running
            .store(&["XADD", stream, "1-1", "type", "t", "at", "1", "id", "i", "body", "{}"])
            .await;
    }
    let mut told = BTreeSet::new();
    for _ in streams {
        told.insert(hear().await["stream"].as_str().unwrap().to_owned());
    }
    assert_eq!(told, streams.iter().map(|one| (*one).to_owned()).collect());
});
