//! Flows on HTTP: a tree is stored whole, drawn, and its results are for those who may see them.

use serde_json::{Value, json};

use super::support::queue;

fn report() -> Value {
    json!({ "type": "report", "jobId": "r", "x": { "onDependencyFailed": "ignore" }, "children": [
        { "type": "page", "jobId": "a", "payload": { "n": 1 } },
        { "type": "page", "jobId": "b" },
    ] })
}

testkit::on_every_store!(a_flow_is_stored_and_drawn, |store| {
    let queue = queue(store).await;
    let (status, made) = queue.post("/api/jobs:flow", report()).await;
    assert_eq!((status, &made["jobId"]), (201, &json!("r")), "{made}");
    let stored: Vec<&Value> = made["jobs"].as_array().unwrap().iter().collect();
    let ids: Vec<&Value> = stored.iter().map(|job| &job["jobId"]).collect();
    assert_eq!(ids, [&json!("r"), &json!("b"), &json!("a")]);
    assert_eq!(stored[0]["dependsOn"], json!(["a", "b"]));
    assert_eq!(stored[2]["x"], json!({ "flow": "r", "parent": "r" }));
    queue.complete("7").await;
    queue.kill("Torn").await;
    let (_, tree) = queue.get("/api/jobs/b/tree").await;
    assert_eq!((&tree["jobId"], &tree["jobs"]), (&json!("b"), &json!(3)));
    let root = &tree["root"];
    assert_eq!((&root["jobId"], &root["status"]), (&json!("r"), &json!("waiting")));
    assert_eq!(root["onDependencyFailed"], "ignore");
    assert_eq!(root["children"][0]["result"]["data"], 7);
    assert_eq!(root["children"][1]["status"], "dead");
    assert_eq!(root["children"][1]["result"]["error"]["name"], "Torn");
    assert_eq!(queue.claim().await.job.id, "r", "it goes on");
    assert_eq!(queue.get("/api/jobs/nobody/tree").await.0, 404);
});

testkit::on_every_store!(what_is_no_flow_is_refused_by_its_place, |store| {
    let queue = queue(store).await;
    let bad = json!({ "type": "r", "children": [{ "type": "a" }, { "type": "b", "delay": 5 }] });
    let (status, answer) = queue.post("/api/jobs:flow", bad).await;
    let error = &answer["error"];
    assert_eq!((status, &error["code"]), (400, &json!("unknown_field")), "{answer}");
    assert_eq!(error["field"], "children[1].delay");
    let (status, answer) =
        queue.post("/api/jobs:flow", json!({ "type": "r", "children": 5 })).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("invalid_flow")));
    queue.post("/api/jobs:flow", report()).await;
    let (status, answer) = queue.post("/api/jobs:flow", report()).await;
    assert_eq!((status, &answer["error"]["details"]["jobId"]), (409, &json!("a")), "{answer}");
    // The place in a flow is not for a sender to name.
    let id = queue.dispatch(json!({ "type": "t", "x": { "flow": "r", "parent": "r" } })).await;
    let (_, job) = queue.get(&format!("/api/jobs/{id}")).await;
    assert_eq!(job["job"]["x"], Value::Null);
});
