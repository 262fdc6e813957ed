//! A server whose engine ticks a world of its own.

use std::sync::Arc;

use kernel::Store;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Running, start};

/// Limits off: what a test sends is its own.
const OFF: [(&str, &str); 4] = [
    ("galaxy.logins_per_minute", "0"),
    ("galaxy.sockets_per_address", "0"),
    ("limits.anonymous_per_second", "0"),
    ("galaxy.tick_rate", "20"),
];

/// A server that leads, with a world that ticks twenty times a second.
pub(super) async fn leader(store: &Arc<dyn Store>, settings: &[(&str, &str)]) -> Running {
    let mut all = vec![("galaxy.engine", "true")];
    all.extend(OFF);
    all.extend_from_slice(settings);
    let running = start(Arc::clone(store), &all).await;
    // With the embedded engine the world is there already.
    let made = running.ask(Method::POST, "/api/admin/game/init").send().await.unwrap();
    assert!([201, 409].contains(&made.status().as_u16()), "{}", made.text().await.unwrap());
    until(&running, "/api/admin/status", |status| status["leader"] == true).await;
    running
}

/// A server on the same store that never ticks.
pub(super) async fn follower(store: &Arc<dyn Store>, settings: &[(&str, &str)]) -> Running {
    let mut all = OFF.to_vec();
    all.extend_from_slice(settings);
    start(Arc::clone(store), &all).await
}

/// Asks until the answer satisfies.
pub(super) async fn until(running: &Running, path: &str, what: impl Fn(&Value) -> bool) -> Value {
    let began = std::time::Instant::now();
    loop {
        let answer = running.json(path).await;
        if what(&answer) {
            return answer;
        }
        assert!(began.elapsed().as_secs() < 20, "{path}: {answer}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// Status and body of a request with a JSON body.
pub(super) async fn send(
    running: &Running,
    method: Method,
    path: &str,
    body: Value,
) -> (u16, Value) {
    send_as(running, None, method, path, body).await
}

/// The same with a bearer.
pub(super) async fn send_as(
    running: &Running,
    token: Option<&str>,
    method: Method,
    path: &str,
    body: Value,
) -> (u16, Value) {
    let mut request = running.ask(method, path);
    if !body.is_null() {
        request = request.json(&body);
    }
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or(json!(null)))
}
