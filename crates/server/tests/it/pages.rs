//! The embedded files: the shell for every dashboard address, media types, freshness, no way out of `web/`.

use std::time::Duration;

use crate::support::{raw, start};

testkit::on_every_store!(dashboard_addresses_get_the_shell, |store| {
    let running = start(store, &[]).await;
    for path in ["/", "/keys", "/jobs/dead"] {
        let response = running.get(path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
        assert!(response.text().await.unwrap().to_lowercase().contains("<!doctype html>"));
    }
    assert_eq!(running.status("/nothing.js").await, 404);
    let post = running.ask(reqwest::Method::POST, "/keys").send().await.unwrap();
    assert_eq!(post.status(), 405);
});

testkit::on_every_store!(a_known_file_is_not_sent_twice, |store| {
    let running = start(store, &[]).await;
    let first = running.get("/").send().await.unwrap();
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    let again = running.get("/").header("if-none-match", &tag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    assert_eq!(again.headers()["etag"], tag.as_str());
    assert!(again.text().await.unwrap().is_empty());
    let packed = running.get("/app.js").header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    let api = running.get("/openapi.json").header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(api.headers()["content-encoding"], "gzip");
    let (tag, bytes) = (api.headers()["etag"].clone(), api.bytes().await.unwrap().len());
    assert!(bytes < 60_000, "{bytes} bytes");
    let again = running.get("/openapi.json").header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    let plain = running.get("/openapi.json").send().await.unwrap();
    assert!(plain.headers().get("content-encoding").is_none());
});

testkit::on_every_store!(no_path_leads_out_of_the_pages, |store| {
    let running = start(store, &[]).await;
    for path in [
        "/../Cargo.toml",
        "/..%2fCargo.toml",
        "/%2e%2e/Cargo.toml",
        "/base/../../Cargo.toml",
        "/base/..%5c..%5cCargo.toml",
        "//etc/passwd",
        "/.git/config.txt",
        "/etc/passwd.txt",
    ] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        let (answer, _) = raw(running.addr, head.as_bytes(), Duration::from_secs(5)).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer:.80}");
    }
});

testkit::on_every_store!(the_api_pages_load_nothing_from_elsewhere, |store| {
    let running = start(store, &[]).await;
    let page = running.get("/docs/").send().await.unwrap().text().await.unwrap();
    assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
    assert!(page.contains("/docs/docs.js"), "{page}");
    assert_eq!(running.status("/docs").await, 200);
    assert_eq!(running.status("/docs/docs.js").await, 200);
    assert_eq!(running.status("/docs/other.js").await, 404);
});

// A party's phones share the address of their router, and each opens forty files at once: these were refused.
testkit::on_every_store!(files_of_pages_have_the_rate_of_an_account, |store| {
    let running = start(store, &[("limits.anonymous_per_second", "1")]).await;
    for _ in 0..300 {
        assert_eq!(running.status("/party/play.js").await, 200);
    }
    let mut asked = 0;
    while running.status("/openapi.json").await != 429 {
        asked += 1;
        assert!(asked < 300, "anything else has the rate of strangers");
    }
});
