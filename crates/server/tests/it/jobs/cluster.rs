//! On a real Cluster: a namespace with a hash tag works in both layouts, one without needs `tagged`.

use serde_json::json;

use super::support::queue_with;

testkit::on_cluster!(a_tagged_namespace_works_in_both_layouts, |store, _cluster| {
    for layout in ["plain", "tagged"] {
        let settings = [("layout", layout), ("jobs.namespaces", "{bridge},bare")];
        let queue = queue_with(store.clone(), &settings).await;
        let id = queue.dispatch(json!({ "type": layout })).await;
        assert_eq!(queue.complete("1").await, id);
        let (_, page) = queue.get("/api/jobs?status=completed").await;
        let found = page["items"].as_array().unwrap().iter().any(|item| item["jobId"] == json!(id));
        assert!(found, "{page}");
        assert_eq!(queue.get("/api/jobs:doctor").await.1["remaining"], 0);
        let (status, answer) = queue.post("/api/jobs?ns=bare", json!({ "type": "t" })).await;
        if layout == "tagged" {
            assert_eq!(status, 201, "{answer}");
        } else {
            assert_eq!((status, &answer["error"]["code"]), (503, &json!("needs_tag")));
            assert!(answer["error"]["message"].as_str().unwrap().contains("--layout tagged"));
        }
    }
});
