//! A store that is away: what is told, and what still works.

use std::sync::Arc;
use std::time::Duration;

use testkit::{Faulty, How, On, Program, Server};

use crate::support::start;

testkit::on_every_store!(faults_are_told_apart_and_hold_nothing_internal, |store| {
    let faulty = Faulty::new(store);
    let running = start(Arc::<Faulty>::clone(&faulty), &[("modules", "none")]).await;
    faulty.fail_every(1, How::NotSent);
    let response = running.get("/api/tokens").send().await.unwrap();
    assert_eq!(response.status(), 503);
    assert!(response.headers().contains_key("retry-after"));
    let body: serde_json::Value = response.json().await.unwrap();
    assert_eq!(body["error"]["code"], "store_unavailable");
    assert_eq!(body["error"]["details"]["outcome"], "not_sent");
    faulty.fail_every(1, How::AnswerLost);
    let body = running.json("/api/tokens").await;
    assert_eq!(body["error"]["code"], "outcome_unknown");
    assert_eq!(body["error"]["details"]["outcome"], "unknown");
    assert_eq!(running.status("/healthz").await, 200, "the process is alive");
    assert_eq!(running.status("/api/health").await, 200, "this page works from memory");
    assert_eq!(running.status("/").await, 200);
    faulty.fail_every(0, How::NotSent);
    assert_eq!(running.status("/api/tokens").await, 200);
});

testkit::on_every_store!(a_request_that_takes_too_long_is_ended, |store| {
    let faulty = Faulty::new(store);
    let settings = [("modules", "none"), ("limits.request_ms", "200")];
    let running = start(Arc::<Faulty>::clone(&faulty), &settings).await;
    faulty.delay(Duration::from_millis(1500));
    let body = running.json("/api/tokens").await;
    assert_eq!(body["error"]["code"], "timeout");
});

#[test]
fn a_killed_redis_makes_it_unready_and_its_return_ready_again() {
    if !On::Redis.is_wanted() {
        return;
    }
    let mut redis = Server::start(Program::Redis);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(testkit::open(&redis.url()));
    let running = runtime.block_on(start(store, &[]));
    let becomes = |status: u16| {
        testkit::wait_until(&format!("/readyz says {status}"), || {
            runtime.block_on(running.status("/readyz")) == status
        });
    };
    becomes(200);
    redis.kill();
    becomes(503);
    assert_eq!(runtime.block_on(running.status("/healthz")), 200);
    redis.restart();
    becomes(200);
    assert_eq!(runtime.block_on(running.status("/api/tokens")), 200);
    runtime.block_on(async { drop(running) });
}
