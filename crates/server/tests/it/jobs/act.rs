//! Cancel, retry, run now, bury, remove, bulk, pause, purge, workers, doctor.

use reqwest::Method;
use serde_json::json;

use super::support::{NS, queue};

testkit::on_every_store!(a_job_is_cancelled_retried_buried_and_removed, |store| {
    let queue = queue(store).await;
    let id = queue.dispatch(json!({ "type": "t", "schedule": { "delay": 60000 } })).await;
    assert_eq!(queue.post(&format!("/api/jobs/{id}:runNow"), json!({})).await.0, 200);
    assert_eq!(queue.status_of(&id).await, "waiting");
    assert_eq!(queue.post(&format!("/api/jobs/{id}:cancel"), json!({})).await.0, 200);
    assert_eq!(queue.status_of(&id).await, "failed");
    let (status, answer) = queue.post(&format!("/api/jobs/{id}:cancel"), json!({})).await;
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("wrong_state")));
    assert_eq!(queue.post(&format!("/api/jobs/{id}:retry"), json!({})).await.0, 200);
    assert_eq!(queue.status_of(&id).await, "waiting");
    assert_eq!(queue.post(&format!("/api/jobs/{id}:bury"), json!({})).await.0, 200);
    assert_eq!(queue.status_of(&id).await, "dead");
    assert_eq!(queue.ask(Method::DELETE, &format!("/api/jobs/{id}"), None).await.0, 200);
    assert_eq!(queue.get(&format!("/api/jobs/{id}")).await.0, 404);
    assert_eq!(queue.ask(Method::DELETE, &format!("/api/jobs/{id}"), None).await.0, 404);
    for verb in ["cancel", "retry", "runNow", "bury"] {
        assert_eq!(
            queue.post(&format!("/api/jobs/nobody:{verb}"), json!({})).await.0,
            404,
            "{verb}"
        );
    }
    for path in ["/api/jobs/x:dance", "/api/jobs/x", "/api/jobs/:cancel"] {
        let (status, answer) = queue.post(path, json!({})).await;
        assert_eq!((status, &answer["error"]["code"]), (404, &json!("no_such_verb")), "{path}");
    }
});

testkit::on_every_store!(a_running_job_is_asked_to_stop, |store| {
    let queue = queue(store).await;
    let id = queue.dispatch(json!({ "type": "t" })).await;
    queue.claim().await;
    let (status, answer) = queue.post(&format!("/api/jobs/{id}:cancel"), json!({})).await;
    assert_eq!((status, &answer["asked"]), (200, &json!(true)), "{answer}");
    assert_eq!(queue.status_of(&id).await, "active");
    assert_eq!(queue.ask(Method::DELETE, &format!("/api/jobs/{id}"), None).await.0, 409);
});

testkit::on_every_store!(many_are_counted_before_they_are_touched, |store| {
    let queue = queue(store).await;
    for n in 0..7 {
        let kind = if n < 5 { "email" } else { "sms" };
        queue.dispatch(json!({ "type": kind, "jobId": format!("j{n}") })).await;
    }
    let filter = json!({ "action": "cancel", "type": "email", "count": true });
    let (status, answer) = queue.post("/api/jobs:bulk", filter).await;
    assert_eq!((status, &answer["count"]), (200, &json!(5)), "{answer}");
    assert_eq!(queue.get("/api/stats").await.1["waiting"], 7, "a count changes nothing");
    let (_, answer) =
        queue.post("/api/jobs:bulk", json!({ "action": "cancel", "type": "email" })).await;
    assert_eq!(answer["count"], 5, "{answer}");
    let body = json!({ "action": "remove", "ids": ["j0", "j5", "nobody"] });
    let (_, answer) = queue.post("/api/jobs:bulk", body).await;
    assert_eq!((&answer["count"], &answer["missing"]), (&json!(2), &json!(1)), "{answer}");
    assert_eq!(queue.get("/api/stats").await.1["waiting"], 1);
    assert_eq!(queue.post("/api/jobs:bulk", json!({ "action": "cancel" })).await.0, 400);
    assert_eq!(
        queue.post("/api/jobs:bulk", json!({ "action": "dance", "ids": ["a"] })).await.0,
        400
    );
});

testkit::on_every_store!(a_type_is_paused_resumed_and_purged, |store| {
    let queue = queue(store).await;
    // A type may hold what a path does not.
    let kind = "a/b c?";
    let path = "/api/queues/a%2Fb%20c%3F";
    queue.dispatch(json!({ "type": kind })).await;
    queue.dispatch(json!({ "type": kind, "schedule": { "delay": 60000 } })).await;
    let (status, answer) = queue.post(&format!("{path}:pause"), json!({ "forMs": 60000 })).await;
    assert_eq!((status, &answer["paused"]), (200, &json!(true)), "{answer}");
    let (_, one) = queue.get(path).await;
    assert_eq!((&one["paused"], &one["waiting"]), (&json!(true), &json!(1)), "{one}");
    assert!(one["pausedUntil"].as_u64().is_some(), "{one}");
    assert!(queue.jobs.claim(&queue.worker, 1).await.unwrap().jobs.is_empty());
    assert_eq!(queue.post(&format!("{path}:resume"), json!({})).await.0, 200);
    let (_, counted) = queue.post(&format!("{path}:purge"), json!({ "count": true })).await;
    assert_eq!(counted["count"], 2, "{counted}");
    let (_, purged) = queue.post(&format!("{path}:purge"), json!({})).await;
    assert_eq!(purged["count"], 2, "{purged}");
    assert_eq!(queue.get("/api/stats").await.1["waiting"], 0);
    assert_eq!(queue.post(&format!("{path}:dance"), json!({})).await.0, 404);
});

testkit::on_every_store!(workers_are_listed_and_asked, |store| {
    let queue = queue(store).await;
    let registration = jobs::Registration { pid: 7, hostname: "h".into(), ..Default::default() };
    queue.jobs.register(&queue.worker, &registration).await.unwrap();
    queue.dispatch(json!({ "type": "t" })).await;
    queue.claim().await;
    let (_, page) = queue.get("/api/workers").await;
    let worker = &page["items"][0];
    assert_eq!((&worker["serverId"], &worker["alive"]), (&json!("w1"), &json!(true)), "{page}");
    assert_eq!(worker["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(queue.post("/api/workers/w1:quiet", json!({})).await.0, 200);
    assert_eq!(queue.post("/api/workers/nobody:stop", json!({})).await.0, 404);
});

testkit::on_every_store!(the_doctor_finds_and_mends_a_ghost, |store| {
    let queue = queue(store).await;
    let (status, report) = queue.get("/api/jobs:doctor").await;
    assert_eq!((status, &report["remaining"]), (200, &json!(0)), "{report}");
    let waiting = format!("{NS}:jobs:waiting");
    queue.running.store(&["RPUSH", &waiting, "ghost"]).await;
    let (_, report) = queue.get("/api/jobs:doctor").await;
    assert_eq!(report["remaining"], 1, "{report}");
    let (_, report) = queue.post("/api/jobs:doctor", json!({ "repair": true })).await;
    assert_eq!(report["remaining"], 0, "{report}");
    assert_eq!(queue.get("/api/jobs:doctor").await.1["remaining"], 0);
});

testkit::on_every_store!(the_check_finds_and_repairs_a_lost_job_and_a_leaked_counter, |store| {
    let queue = queue(store).await;
    let id = queue.dispatch(json!({ "type": "t" })).await;
    let (waiting, counter) = (format!("{NS}:jobs:waiting"), format!("{NS}:ratelimit:concurrent:t"));
    queue.running.store(&["LREM", &waiting, "1", &id]).await;
    queue.running.store(&["SET", &counter, "3"]).await;
    let (_, report) = queue.post("/api/check", json!({})).await;
    assert_eq!(report["troubles"], json!({ "unlisted": 1, "miscounted": 1 }), "{report}");
    let (_, report) = queue.post("/api/check", json!({ "repair": true })).await;
    assert_eq!(
        (&report["findings_total"], &report["repaired"]),
        (&json!(2), &json!(2)),
        "{report}"
    );
    let (_, report) = queue.post("/api/check", json!({})).await;
    assert_eq!(report["findings_total"], 0, "{report}");
    assert_eq!(queue.status_of(&id).await, "waiting");
    assert_eq!(queue.claim().await.job.id, id);
});
