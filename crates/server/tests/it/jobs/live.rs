//! What moves by itself: progress on the socket, delayed jobs, the demo.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use jobs::Progress;
use serde_json::{Value, json};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use super::support::{queue, queue_with};

testkit::on_every_store!(progress_is_told_to_those_who_ask_for_it, |store| {
    let queue = queue(store).await;
    let id = queue.dispatch(json!({ "type": "t" })).await;
    queue.claim().await;
    let url = format!("ws://{}/ws/events", queue.running.addr);
    let (mut socket, _) = connect_async(url).await.unwrap();
    let ask =
        json!({ "type": "subscribe", "modules": ["jobs"], "types": ["progress", "completed"] });
    socket.send(Message::text(ask.to_string())).await.unwrap();
    let mut heard = Value::Null;
    // The server's own subscription may come up a moment later: what is told before is not repeated.
    for percent in 1..100_u32 {
        let progress = Progress {
            percent: f64::from(percent),
            message: Some("secret step".into()),
            data: None,
        };
        assert!(queue.jobs.progress(&queue.worker, &id, &progress).await.unwrap());
        let next = tokio::time::timeout(Duration::from_millis(100), socket.next()).await;
        let Ok(Some(Ok(Message::Text(text)))) = next else { continue };
        let message: Value = serde_json::from_str(&text).unwrap();
        if message["type"] == "progress" {
            heard = message;
            break;
        }
    }
    assert_eq!((&heard["id"], &heard["module"]), (&json!(id), &json!("jobs")), "{heard}");
    assert!(heard["body"]["percent"].as_f64().is_some_and(|percent| percent >= 1.0), "{heard}");
    assert!(!heard.to_string().contains("secret"), "what a handler says is no event: {heard}");
});

testkit::on_every_store!(a_server_promotes_what_is_due, |store| {
    let queue = queue_with(store, &[("jobs.scheduler", "true")]).await;
    let id = queue.dispatch(json!({ "type": "t", "schedule": { "delay": 300 } })).await;
    let claimed = tokio::time::timeout(Duration::from_secs(10), async {
        loop {
            if let Some(claimed) = queue.jobs.claim(&queue.worker, 1).await.unwrap().jobs.pop() {
                return claimed;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert_eq!(claimed.await.expect("it is promoted").job.id, id);
    let (_, stats) = queue.get("/api/stats").await;
    assert!(stats["leader"]["id"].is_string(), "{stats}");
});

testkit::on_every_store!(a_completed_job_without_a_result_is_known_to_have_completed, |store| {
    let settings = [("jobs.scheduler", "true"), ("demo", "on"), ("jobs.result_ttl_s", "0")];
    let queue = queue_with(store, &settings).await;
    let id = queue.dispatch(json!({ "type": "cleanup" })).await;
    let (status, result) = queue.get(&format!("/api/jobs/{id}/result?waitMs=10000")).await;
    assert_eq!((status, result), (200, json!({ "success": true })));
    let (_, job) = queue.get(&format!("/api/jobs/{id}")).await;
    assert_eq!((&job["status"], &job["result"]), (&json!("completed"), &Value::Null), "{job}");
});

testkit::on_every_store!(the_demo_lives_and_ends_with_the_server, |store| {
    let mut queue = queue_with(store, &[("jobs.scheduler", "true"), ("demo", "on")]).await;
    let (status, made) = queue.post("/api/jobs", json!({ "type": "cleanup" })).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/api/jobs/{}/result?waitMs=10000", made["jobId"].as_str().unwrap());
    let (status, result) = queue.get(&path).await;
    assert_eq!((status, &result["success"]), (200, &json!(true)), "{result}");
    let (_, workers) = queue.get("/api/workers").await;
    assert_eq!(workers["alive"], 2, "{workers}");
    let (_, cron) = queue.get("/api/cron").await;
    assert_eq!(cron["items"].as_array().unwrap().len(), 3, "{cron}");
    let (_, overview) = queue.get("/api/overview").await;
    let tile = overview["tiles"].as_array().unwrap().iter().find(|tile| tile["module"] == "jobs");
    assert!(tile.is_some_and(|tile| tile["sentence"].as_str().unwrap().contains("2 workers")));
    queue.running.stop.cancel();
    let done = queue.running.done.take().unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(15), done).await;
    ended.expect("it ends in time").unwrap().unwrap();
    let workers = queue.jobs.workers().await.unwrap();
    assert!(workers.is_empty(), "the demo's workers left in good order: {workers:?}");
});
