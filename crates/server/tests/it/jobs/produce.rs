//! Dispatch: what is stored, what is refused.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::{NS, queue, queue_with};

testkit::on_every_store!(a_job_is_stored_with_the_bytes_that_were_sent, |store| {
    let queue = queue(store).await;
    let body = r#"{"type":"email","payload":{"b":1.50,"a":12345678901234567890,"c":"\u00e9"},"priority":8}"#;
    let request = queue.running.ask(Method::POST, "/api/jobs");
    let response =
        request.header("content-type", "application/json").body(body).send().await.unwrap();
    assert_eq!(response.status(), 201);
    let text = response.text().await.unwrap();
    assert!(
        text.contains(r#""payload":{"b":1.50,"a":12345678901234567890,"c":"\u00e9"}"#),
        "{text}"
    );
    let made: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&made["status"], &made["priority"]), (&json!("waiting"), &json!(8)));
    let id = made["jobId"].as_str().unwrap();
    let shown = queue.running.get(&format!("/api/jobs/{id}")).send().await.unwrap();
    assert!(shown.text().await.unwrap().contains(r#""b":1.50,"a":12345678901234567890"#));
});

testkit::on_every_store!(each_bad_field_is_named, |store| {
    let queue = queue(store).await;
    let cases = [
        (json!({}), "invalid_type", "type"),
        (json!({ "type": "" }), "invalid_type", "type"),
        (json!({ "type": 5 }), "invalid_type", "type"),
        (json!({ "type": "a\u{1}b" }), "invalid_type", "type"),
        (json!({ "type": "x".repeat(201) }), "invalid_type", "type"),
        (json!({ "type": "email:pause" }), "invalid_type", "type"),
        (json!({ "type": "t", "jobId": "a:cancel" }), "invalid_id", "jobId"),
        (json!({ "type": "t", "jobId": "a b" }), "invalid_id", "jobId"),
        (json!({ "type": "t", "priority": 11 }), "invalid_priority", "priority"),
        (json!({ "type": "t", "priority": 1.5 }), "invalid_priority", "priority"),
        (json!({ "type": "t", "schedule": { "delay": -1 } }), "invalid_delay", "schedule.delay"),
        (json!({ "type": "t", "schedule": { "runAt": -1 } }), "invalid_run_at", "schedule.runAt"),
        (
            json!({ "type": "t", "schedule": { "delay": 5, "runAt": 5 } }),
            "conflicting_schedule",
            "schedule",
        ),
        (
            json!({ "type": "t", "schedule": { "cron": "*/61 * * * *" } }),
            "invalid_cron",
            "schedule.cron",
        ),
        (
            json!({ "type": "t", "schedule": { "cron": "* * * * *", "timezone": "Mars/X" } }),
            "invalid_timezone",
            "schedule.timezone",
        ),
        (json!({ "type": "t", "retry": { "attempts": 1001 } }), "invalid_retry", "retry.attempts"),
        (
            json!({ "type": "t", "retry": { "backoff": { "type": "x" } } }),
            "invalid_retry",
            "retry.backoff.type",
        ),
        (
            json!({ "type": "t", "rateLimit": { "maxConcurrent": 0 } }),
            "invalid_rate_limit",
            "rateLimit.maxConcurrent",
        ),
        (json!({ "type": "t", "target": { "stack": [1] } }), "invalid_target", "target.stack"),
        (json!({ "type": "t", "target": { "mode": "some" } }), "invalid_target", "target.mode"),
        (json!({ "type": "t", "dependsOn": ["nobody"] }), "unknown_dependency", "dependsOn"),
        (json!({ "type": "t", "prority": 5 }), "unknown_field", "prority"),
    ];
    for (body, code, field) in cases {
        let (status, answer) = queue.post("/api/jobs", body.clone()).await;
        assert_eq!(status, 400, "{body}");
        assert_eq!(answer["error"]["code"], code, "{body} gave {answer}");
        let named = answer["error"]["field"].as_str().unwrap();
        assert!(named.starts_with(field) || field.starts_with(named), "{body} gave {answer}");
    }
    assert_eq!(queue.get("/api/jobs").await.1["items"], json!([]), "nothing was stored");
});

testkit::on_every_store!(large_and_deep_bodies_are_refused, |store| {
    let queue = queue_with(store, &[("jobs.payload_bytes", "1000")]).await;
    let (status, answer) =
        queue.post("/api/jobs", json!({ "type": "t", "payload": "x".repeat(1200) })).await;
    assert_eq!((status, &answer["error"]["field"]), (413, &json!("payload")));
    // Refused before its body was read: the connection ends, and the client hears of it instead of using it again.
    let long = json!({ "type": "t", "payload": "x".repeat(400_000) });
    let answer = queue.running.ask(Method::POST, "/api/jobs").json(&long).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["connection"]),
        (413, &"close".parse().unwrap())
    );
    let deep = format!(r#"{{"type":"t","payload":{}{}}}"#, "[".repeat(150), "]".repeat(150));
    let request = queue.running.ask(Method::POST, "/api/jobs");
    let answer =
        request.header("content-type", "application/json").body(deep).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    for bad in ["{", "[]", "\"x\"", "{\"type\":\"t\"} x"] {
        let request = queue.running.ask(Method::POST, "/api/jobs");
        let answer =
            request.header("content-type", "application/json").body(bad).send().await.unwrap();
        assert_eq!(answer.status(), 400, "{bad}");
    }
    let text = queue.running.ask(Method::POST, "/api/jobs").body("{}").send().await.unwrap();
    assert_eq!(text.status(), 415);
});

testkit::on_every_store!(a_second_job_with_an_id_or_key_is_a_conflict, |store| {
    let queue = queue(store).await;
    queue.dispatch(json!({ "type": "t", "jobId": "mine" })).await;
    let (status, answer) = queue.post("/api/jobs", json!({ "type": "t", "jobId": "mine" })).await;
    assert_eq!((status, &answer["error"]["details"]["jobId"]), (409, &json!("mine")));
    let unique = json!({ "type": "t", "unique": { "key": "u:1", "windowMs": 60000 } });
    let id = queue.dispatch(unique.clone()).await;
    let (status, answer) = queue.post("/api/jobs", unique).await;
    assert_eq!((status, &answer["error"]["details"]["jobId"]), (409, &json!(id)));
    assert_eq!(answer["error"]["code"], "not_unique");
});

testkit::on_every_store!(a_batch_answers_for_each_job, |store| {
    let queue = queue(store).await;
    let jobs = json!({ "jobs": [
        { "type": "a", "jobId": "one" }, { "type": "" }, { "type": "b", "jobId": "one" },
        { "type": "c", "dependsOn": ["one"] },
    ] });
    let (status, answer) = queue.post("/api/jobs:batch", jobs).await;
    assert_eq!(status, 207, "{answer}");
    let statuses: Vec<_> =
        answer["items"].as_array().unwrap().iter().map(|item| item["status"].clone()).collect();
    assert_eq!(statuses, [201, 400, 409, 201]);
    assert_eq!((&answer["dispatched"], &answer["refused"]), (&json!(2), &json!(2)));
    assert_eq!(answer["items"][0]["job"]["jobId"], "one");
    assert_eq!(answer["items"][1]["error"]["field"], "type");
    assert_eq!(queue.post("/api/jobs:batch", json!({ "jobs": [] })).await.0, 400);
    let many: Vec<Value> = (0..501).map(|_| json!({ "type": "t" })).collect();
    assert_eq!(queue.post("/api/jobs:batch", json!({ "jobs": many })).await.0, 400);
});

testkit::on_every_store!(a_full_queue_pushes_back, |store| {
    let queue = queue_with(store, &[("jobs.max_waiting", "2")]).await;
    queue.dispatch(json!({ "type": "t" })).await;
    queue.dispatch(json!({ "type": "t" })).await;
    let request = queue.running.ask(Method::POST, "/api/jobs").json(&json!({ "type": "t" }));
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 429);
    assert!(answer.headers().contains_key("retry-after"));
    assert_eq!(answer.json::<Value>().await.unwrap()["error"]["code"], "queue_full");
});

testkit::on_every_store!(namespaces_are_apart_and_a_token_may_be_limited, |store| {
    let queue = queue_with(store, &[("loopback_admin", "false")]).await;
    let running = &queue.running;
    let token =
        running.limited_token(server::access::Role::Operator, None, Some(&["{other}"])).await;
    let send = |path: &str| running.ask(Method::POST, path).bearer_auth(&token);
    // Without a name it is the first that the token is for.
    let made = send("/api/jobs").json(&json!({ "type": "t" })).send().await.unwrap();
    assert_eq!(made.status(), 201);
    let stats = running.get("/api/stats").bearer_auth(&token).send().await.unwrap();
    let stats: Value = stats.json().await.unwrap();
    assert_eq!((&stats["namespace"], &stats["waiting"]), (&json!("{other}"), &json!(1)));
    let ns = NS.replace('{', "%7B").replace('}', "%7D");
    let refused = send(&format!("/api/jobs?ns={ns}")).json(&json!({ "type": "t" })).send().await;
    assert_eq!(refused.unwrap().status(), 403);
    let all = running.token(server::access::Role::Operator).await;
    let missing = running.get("/api/jobs?ns=nowhere").bearer_auth(&all).send().await.unwrap();
    assert_eq!(missing.status(), 404);
    let reader = running.token(server::access::Role::Reader).await;
    let write = running.ask(Method::POST, "/api/jobs").bearer_auth(&reader);
    assert_eq!(write.json(&json!({ "type": "t" })).send().await.unwrap().status(), 403);
});
