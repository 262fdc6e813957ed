//! Lists, one job, its result, why it does not run, numbers.

use std::time::Duration;

use serde_json::{Value, json};
use server::access::Role;
use server::caller::Caller;
use server::tokens::{self, NewToken};

use super::support::{NS, queue, queue_with};

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["jobId"].as_str().unwrap().to_owned()).collect()
}

testkit::on_every_store!(jobs_are_listed_by_state_type_and_text, |store| {
    let queue = queue(store).await;
    for n in 0..5 {
        queue
            .dispatch(json!({ "type": "email", "jobId": format!("e{n}"), "payload": { "n": n } }))
            .await;
    }
    queue.dispatch(json!({ "type": "sms", "jobId": "s0", "payload": { "to": "invoice" } })).await;
    queue.dispatch(json!({ "type": "sms", "jobId": "d0", "schedule": { "delay": 60000 } })).await;
    for (order, first, second) in [
        ("newest", ["s0", "e4", "e3", "e2"], ["e1", "e0"]),
        ("place", ["e0", "e1", "e2", "e3"], ["e4", "s0"]),
    ] {
        let path = format!("/api/jobs?status=waiting&limit=4&order={order}");
        let (_, page) = queue.get(&path).await;
        assert_eq!(ids(&page), first);
        assert!(page["lookedAt"].as_u64().unwrap() >= 4, "{page}");
        let cursor = page["cursor"].as_str().unwrap();
        let (_, next) = queue.get(&format!("{path}&cursor={cursor}")).await;
        assert_eq!(ids(&next), second);
        assert!(next["cursor"].is_null());
    }
    let newest = ["d0", "s0", "e4", "e3", "e2", "e1", "e0"];
    assert_eq!(ids(&queue.get("/api/jobs").await.1), newest);
    assert_eq!(queue.get("/api/jobs?order=oldest").await.0, 400);
    let (_, sms) = queue.get("/api/jobs?type=sms").await;
    assert_eq!(ids(&sms), ["d0", "s0"]);
    assert_eq!(ids(&queue.get("/api/jobs?text=invoice").await.1), ["s0"]);
    let (_, delayed) = queue.get("/api/jobs?status=delayed").await;
    assert_eq!(ids(&delayed), ["d0"]);
    let item = &delayed["items"][0];
    assert!(item["now"].as_str().unwrap().contains("in "), "{item}");
    assert_eq!(item["tries"], json!({ "used": 0, "allowed": 4 }));
    assert_eq!(queue.get("/api/jobs?status=sleeping").await.0, 400);
    assert_eq!(queue.get("/api/jobs?limit=501").await.0, 400);
    assert_eq!(queue.get("/api/jobs?cursor=x").await.0, 400);
    assert_eq!(queue.get("/api/jobs?stauts=dead").await.0, 400);
});

testkit::on_every_store!(one_job_is_shown_whole, |store| {
    let queue = queue(store).await;
    let id = queue.dispatch(json!({ "type": "t", "payload": { "a": 1 } })).await;
    let (_, job) = queue.get(&format!("/api/jobs/{id}")).await;
    assert_eq!((&job["status"], &job["job"]["payload"]), (&json!("waiting"), &json!({ "a": 1 })));
    assert_eq!((&job["lock"], &job["recoveries"]), (&Value::Null, &json!(0)));
    queue.claim().await;
    let (_, job) = queue.get(&format!("/api/jobs/{id}")).await;
    assert_eq!((&job["status"], &job["lock"]["owner"]), (&json!("active"), &json!("w1")));
    let ttl = job["lock"]["ttlMs"].as_u64().unwrap();
    assert!((1..=30_000).contains(&ttl), "{ttl}");
    let (status, answer) = queue.get("/api/jobs/nobody").await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("no_such_job")));
});

testkit::on_every_store!(a_result_can_be_waited_for, |store| {
    let queue = queue(store).await;
    let id = queue.dispatch(json!({ "type": "t" })).await;
    let path = format!("/api/jobs/{id}/result");
    assert_eq!(queue.get(&path).await.0, 202);
    assert_eq!(queue.get("/api/jobs/nobody/result").await.0, 404);
    assert_eq!(queue.get(&format!("{path}?waitMs=x")).await.0, 400);
    let waiting = format!("{path}?waitMs=10000");
    let wait = queue.get(&waiting);
    let work = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        queue.complete(r#"{"sent":true}"#).await
    };
    let both = Box::pin(async { tokio::join!(wait, work) });
    let ((status, result), _) = testkit::within("the result comes", both).await;
    assert_eq!((status, &result["data"]), (200, &json!({ "sent": true })));
});

testkit::on_every_store!(it_is_explained_why_a_job_does_not_run, |store| {
    let queue = queue(store).await;
    let id = queue.dispatch(json!({ "type": "email" })).await;
    queue.post("/api/queues/email:pause", json!({})).await;
    let (status, why) = queue.get(&format!("/api/jobs/{id}/explain")).await;
    assert_eq!(status, 200, "{why}");
    assert!(why["sentence"].as_str().unwrap().contains("paused"), "{why}");
    assert!(why["checks"].as_array().unwrap().iter().any(|check| check["ok"] == json!(false)));
    assert_eq!(queue.get("/api/jobs/nobody/explain").await.0, 404);
});

testkit::on_every_store!(a_type_is_limited_and_freed_at_run_time, |store| {
    let queue = queue(store).await;
    let id = queue.dispatch(json!({ "type": "email" })).await;
    let rate = json!({ "rate": 1, "periodMs": 3_600_000 });
    let (status, answer) = queue.post("/api/queues/email:limit", rate.clone()).await;
    assert_eq!((status, &answer["changed"]), (200, &json!(true)), "{answer}");
    let (_, page) = queue.get("/api/queues").await;
    assert_eq!(page["items"][0]["limit"]["rate"], 1, "{page}");
    queue.complete("1").await;
    let second = queue.dispatch(json!({ "type": "email" })).await;
    let (_, why) = queue.get(&format!("/api/jobs/{second}/explain")).await;
    assert!(why["sentence"].as_str().unwrap().contains("limit is 1"), "{why}");
    assert_ne!(id, second);
    for (body, field) in [
        (json!({ "concurrency": 0 }), "concurrency"),
        (json!({ "rate": 1, "periodMs": 0 }), "periodMs"),
    ] {
        let (status, answer) = queue.post("/api/queues/email:limit", body).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("invalid_limit")), "{answer}");
        assert_eq!(answer["error"]["field"], field);
    }
    let (_, answer) = queue.post("/api/queues/email:limit", json!({})).await;
    assert_eq!((&answer["limit"], &answer["changed"]), (&json!(null), &json!(true)));
});

testkit::on_every_store!(the_timeline_tells_what_happened, |store| {
    let queue = queue(store).await;
    let id = queue.dispatch(json!({ "type": "t" })).await;
    queue.complete("1").await;
    let (_, page) = queue.get(&format!("/api/jobs/{id}/timeline")).await;
    let kinds: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["dispatched", "claimed", "completed"]);
});

testkit::on_every_store!(numbers_and_history_follow_what_happens, |store| {
    let queue = queue(store).await;
    queue.dispatch(json!({ "type": "t" })).await;
    queue.dispatch(json!({ "type": "t" })).await;
    queue.dispatch(json!({ "type": "t", "schedule": { "delay": 60000 } })).await;
    queue.complete("1").await;
    let (_, stats) = queue.get("/api/stats").await;
    for (name, count) in [("waiting", 1), ("active", 0), ("delayed", 1), ("cron", 0), ("dead", 0)] {
        assert_eq!(stats[name], count, "{name} in {stats}");
    }
    let (_, history) = queue.get("/api/stats/history?seconds=60").await;
    let lists = ["at", "waiting", "completed", "latencyP50Ms"];
    assert!(lists.iter().all(|name| history[name].as_array().unwrap().len() == 60), "{history}");
    let (_, queues) = queue.get("/api/queues").await;
    let row = &queues["items"][0];
    assert_eq!(
        (&row["type"], &row["waiting"], &row["delayed"]),
        (&json!("t"), &json!(1), &json!(1))
    );
    let (_, one) = queue.get("/api/queues/t").await;
    assert_eq!(one["seen"]["completed"], 1, "{one}");
    for state in ["waiting", "delayed"] {
        let line = format!(r#"jobs_queue{{ns="{NS}",state="{state}"}} 1"#);
        queue.running.measures(&line).await;
    }
});

testkit::on_every_store!(payloads_are_for_those_who_have_the_right, |store| {
    let queue = queue_with(store, &[("loopback_admin", "false"), ("jobs.redact", "secret")]).await;
    let running = &queue.running;
    let make = |payloads: bool| {
        let new = NewToken {
            name: "n".into(),
            role: Role::Operator,
            tenants: None,
            namespaces: None,
            payloads,
            days: None,
        };
        async move {
            tokens::make(running.app.store(), running.app.now_ms(), &Caller::owner(), new)
                .await
                .unwrap()
                .token
        }
    };
    let (sees, blind) = (make(true).await, make(false).await);
    let body = json!({ "type": "t", "payload": { "a": "visible", "secret": "s3cr3t" } });
    let made = running.ask(reqwest::Method::POST, "/api/jobs").bearer_auth(&blind).json(&body);
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    assert!(made.get("payload").is_none(), "{made}");
    let id = made["jobId"].as_str().unwrap();
    queue.complete(r#"{"secret":"r3sult","ok":true}"#).await;
    let text = async |token: &str, path: String| {
        running.get(&path).bearer_auth(token).send().await.unwrap().text().await.unwrap()
    };
    for path in
        [format!("/api/jobs/{id}"), format!("/api/jobs/{id}/result"), "/api/jobs".to_owned()]
    {
        let shown = text(&blind, path.clone()).await;
        assert!(
            !shown.contains("visible") && !shown.contains("s3cr3t") && !shown.contains("ok\":true"),
            "{path}: {shown}"
        );
        let shown = text(&sees, path.clone()).await;
        assert!(!shown.contains("s3cr3t") && !shown.contains("r3sult"), "{path}: {shown}");
    }
    let whole = text(&sees, format!("/api/jobs/{id}")).await;
    assert!(whole.contains("visible") && whole.contains("(hidden)"), "{whole}");
    // Searching in payloads would tell what is in them.
    let found = text(&blind, "/api/jobs?text=visible".to_owned()).await;
    assert!(found.contains("\"items\":[]"), "{found}");
});
