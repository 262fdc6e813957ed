//! Dashboard logins, CSRF, tickets.

use reqwest::Method;
use serde_json::{Value, json};
use server::access::Role;

use crate::support::{start, start_strict};

testkit::on_every_store!(a_login_is_a_cookie_that_needs_csrf_for_writes, |store| {
    let running = start_strict(store).await;
    let token = running.token(Role::Admin).await;
    let login = running.ask(Method::POST, "/api/session").json(&json!({ "token": token }));
    let response = login.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let cookie = response.headers()["set-cookie"].to_str().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let me: Value = response.json().await.unwrap();
    let csrf = me["csrf"].as_str().unwrap();
    let ask = |method: Method, path: &str, csrf: Option<&str>| {
        let mut request = running.ask(method, path).header("cookie", &cookie);
        if let Some(csrf) = csrf {
            request = request.header("x-csrf-token", csrf);
        }
        async move { request.send().await.unwrap() }
    };
    assert_eq!(ask(Method::GET, "/api/tokens", None).await.status(), 200);
    let refused = ask(Method::POST, "/api/ws-ticket", None).await;
    assert_eq!(refused.status(), 403);
    let body: Value = refused.json().await.unwrap();
    assert_eq!(body["error"]["code"], "bad_csrf");
    assert_eq!(ask(Method::POST, "/api/ws-ticket", Some("wrong")).await.status(), 403);
    assert_eq!(ask(Method::POST, "/api/ws-ticket", Some(csrf)).await.status(), 200);
    assert_eq!(ask(Method::DELETE, "/api/session", Some(csrf)).await.status(), 204);
    assert_eq!(ask(Method::GET, "/api/tokens", None).await.status(), 401);
});

testkit::on_every_store!(a_session_ends_with_its_token, |store| {
    let running = start_strict(store).await;
    let token = running.token(Role::Reader).await;
    let login = running.ask(Method::POST, "/api/session").json(&json!({ "token": token }));
    let response = login.send().await.unwrap();
    let cookie =
        response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let ask = || running.get("/api/overview").header("cookie", &cookie).send();
    assert_eq!(ask().await.unwrap().status(), 200);
    running.store(&["DEL", "wk:tokens"]).await;
    assert_eq!(ask().await.unwrap().status(), 401);
});

testkit::on_every_store!(logins_are_limited_per_address, |store| {
    let running = start(store, &[("loopback_admin", "false")]).await;
    let try_once = || {
        let wrong = json!({ "token": format!("wk_{}", "x".repeat(43)) });
        running.ask(Method::POST, "/api/session").json(&wrong).send()
    };
    for _ in 0..5 {
        assert_eq!(try_once().await.unwrap().status(), 401);
    }
    let refused = try_once().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert!(refused.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
});

testkit::on_every_store!(secrets_are_not_in_the_store_as_they_are, |store| {
    let running = start_strict(store).await;
    let token = running.token(Role::Reader).await;
    let login = running.ask(Method::POST, "/api/session").json(&json!({ "token": token }));
    let response = login.send().await.unwrap();
    let cookie = response.headers()["set-cookie"].to_str().unwrap().to_owned();
    let secret = cookie.split(';').next().unwrap().split_once('=').unwrap().1.to_owned();
    let keys = format!("{:?}", running.store(&["KEYS", "wk:*"]).await);
    assert!(keys.contains("wk:sessions:"), "{keys}");
    assert!(!keys.contains(&secret), "the cookie itself is not stored");
    let me: Value = response.json().await.unwrap();
    let csrf = me["csrf"].as_str().unwrap();
    let digest = keys.split("wk:sessions:").nth(1).unwrap()[..64].to_owned();
    let stored = format!("{:?}", running.store(&["GET", &format!("wk:sessions:{digest}")]).await);
    assert!(stored.contains("token"), "{stored}");
    for hidden in [&secret, csrf, &token] {
        assert!(
            !stored.contains(hidden) && !digest.contains(hidden),
            "{hidden} is stored: {stored}"
        );
    }
    // A page that is loaded again asks for it by its cookie.
    let again = running.get("/api/session").header("cookie", format!("wk_session={secret}"));
    let again: Value = again.send().await.unwrap().json().await.unwrap();
    assert_eq!(again["csrf"], csrf);
});
