//! Dead letters: list, group, requeue, edit, delete.

use reqwest::Method;
use serde_json::json;

use super::support::queue;

testkit::on_every_store!(dead_letters_are_grouped_by_their_error, |store| {
    let queue = queue(store).await;
    let first = queue.dead("email", "SmtpTimeout").await;
    queue.dead("email", "SmtpTimeout").await;
    let last = queue.dead("sms", "NoCredit").await;
    let (_, page) = queue.get("/api/dlq").await;
    assert_eq!(page["items"][0]["jobId"], last, "the newest first: {page}");
    assert_eq!(page["items"][2]["error"]["name"], "SmtpTimeout");
    let (_, some) = queue.get("/api/dlq?error=SmtpTimeout&type=email").await;
    assert_eq!(some["items"].as_array().unwrap().len(), 2);
    let (_, groups) = queue.get("/api/dlq?group=error").await;
    let group = groups["items"].as_array().unwrap().iter().find(|g| g["error"] == "SmtpTimeout");
    assert_eq!(group.unwrap()["count"], 2, "{groups}");
    assert_eq!(queue.get("/api/dlq?group=colour").await.0, 400);
    let (status, answer) =
        queue.post("/api/dlq:requeue", json!({ "ids": [first, "nobody"] })).await;
    assert_eq!((status, &answer["count"], &answer["missing"]), (200, &json!(1), &json!(1)));
    assert_eq!(queue.status_of(&first).await, "waiting");
});

testkit::on_every_store!(requeue_and_delete_count_first, |store| {
    let queue = queue(store).await;
    for _ in 0..3 {
        queue.dead("email", "SmtpTimeout").await;
    }
    queue.dead("sms", "NoCredit").await;
    let (_, counted) =
        queue.post("/api/dlq:requeue", json!({ "type": "email", "count": true })).await;
    assert_eq!(counted["count"], 3, "{counted}");
    assert_eq!(queue.get("/api/stats").await.1["dead"], 4);
    let (_, done) = queue.post("/api/dlq:requeue", json!({ "error": "SmtpTimeout" })).await;
    assert_eq!(done["count"], 3, "{done}");
    assert_eq!(queue.get("/api/stats").await.1["waiting"], 3);
    assert_eq!(queue.post("/api/dlq:requeue", json!({})).await.0, 400);
    let (_, gone) = queue.ask(Method::DELETE, "/api/dlq", Some(json!({ "all": true }))).await;
    assert_eq!(gone["count"], 1, "{gone}");
    assert_eq!(queue.get("/api/stats").await.1["dead"], 0);
});

testkit::on_every_store!(a_dead_letter_is_edited_and_runs_again, |store| {
    let queue = queue(store).await;
    let id = queue.dead("email", "SmtpTimeout").await;
    let path = format!("/api/dlq/{id}:edit");
    let (status, answer) = queue.post(&path, json!({ "payload": { "to": "x@y.z" } })).await;
    assert_eq!(status, 200, "{answer}");
    let (_, job) = queue.get(&format!("/api/jobs/{id}")).await;
    assert_eq!(
        (&job["status"], &job["job"]["payload"]["to"]),
        (&json!("waiting"), &json!("x@y.z"))
    );
    assert_eq!(queue.post(&path, json!({ "payload": 1 })).await.0, 409, "it is not dead any more");
    assert_eq!(queue.post("/api/dlq/nobody:edit", json!({ "payload": 1 })).await.0, 404);
    assert_eq!(queue.post(&path, json!({})).await.0, 400);
});
