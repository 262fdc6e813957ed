//! Recurring jobs.

use reqwest::Method;
use serde_json::json;

use super::support::queue;

testkit::on_every_store!(a_recurring_job_is_made_shown_fired_and_removed, |store| {
    let queue = queue(store).await;
    let body = json!({ "type": "digest", "schedule": { "cron": "0 18 * * *", "timezone": "Europe/Paris" } });
    let put = |body| queue.ask(Method::PUT, "/api/cron/daily", Some(body));
    let (status, made) = put(body.clone()).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(put(body.clone()).await.0, 200, "the second time it is replaced");
    assert_eq!((&made["jobId"], &made["cron"]), (&json!("daily"), &json!("0 18 * * *")));
    assert!(made["next"]["local"].as_str().unwrap().contains("T18:00:00"), "{made}");
    assert!(!made["sentence"].as_str().unwrap().is_empty());
    let (_, next) = queue.get("/api/cron/daily/next?n=3").await;
    assert_eq!(next["items"].as_array().unwrap().len(), 3);
    assert!(next["items"][0]["utc"].as_str().unwrap().ends_with('Z'));
    assert_eq!(queue.get("/api/cron/daily/next?n=0").await.0, 400);
    let (_, page) = queue.get("/api/cron").await;
    assert_eq!(page["items"][0]["jobId"], "daily");
    let (status, fired) = queue.post("/api/cron/daily:fire", json!({})).await;
    assert_eq!((status, &fired["fired"]), (200, &json!(true)), "{fired}");
    let (_, again) = queue.post("/api/cron/daily:fire", json!({})).await;
    assert_eq!(again["fired"], false, "the one before has not run: {again}");
    queue.complete("1").await;
    assert_eq!(queue.get("/api/cron/daily").await.1["lastResult"]["data"], 1);
    assert_eq!(queue.ask(Method::DELETE, "/api/cron/daily", None).await.0, 200);
    for path in ["/api/cron/daily", "/api/cron/daily/next"] {
        assert_eq!(queue.get(path).await.0, 404, "{path}");
    }
    assert_eq!(queue.post("/api/cron/daily:fire", json!({})).await.0, 404);
    let bad = json!({ "type": "t", "schedule": { "cron": "0 0 30 2 *" } });
    assert_eq!(put(bad).await.1["error"]["code"], "invalid_cron");
    assert_eq!(put(json!({ "type": "t" })).await.0, 400, "a time is needed");
});

testkit::on_every_store!(a_pattern_is_read_back_before_it_is_stored, |store| {
    let queue = queue(store).await;
    let body = json!({ "cron": "*/15 * * * *", "timezone": "Asia/Tokyo", "n": 2 });
    let (status, answer) = queue.post("/api/cron:preview", body).await;
    assert_eq!((status, answer["items"].as_array().unwrap().len()), (200, 2), "{answer}");
    let (status, answer) = queue.post("/api/cron:preview", json!({ "cron": "61 * * * *" })).await;
    assert_eq!((status, &answer["error"]["field"]), (400, &json!("schedule.cron")));
});
