//! What may not be dispatched: each row of the table of bad input, by its code and field.

use jobs::{Error, Jobs, NewJob, Options, WorkerFacts};
use kernel::keyspace::Layout;

fn refusal(body: &str) -> (String, String) {
    let error = NewJob::from_json(body)
        .and_then(|job| job.validate(1_000))
        .expect_err(&format!("this must be refused: {body}"));
    assert!(!error.to_string().is_empty());
    (error.code().to_owned(), error.field().unwrap_or_default().to_owned())
}

fn refused(body: &str, code: &str, field: &str) {
    assert_eq!(refusal(body), (code.to_owned(), field.to_owned()), "{body}");
}

fn taken(body: &str) {
    let checked = NewJob::from_json(body).and_then(|job| job.validate(1_000));
    assert_eq!(checked, Ok(()), "{body}");
}

#[test]
fn a_type_is_some_text() {
    for body in
        ["{}", r#"{"type":""}"#, r#"{"type":7}"#, r#"{"type":"a\u0000"}"#, r#"{"type":"*"}"#]
    {
        refused(body, "invalid_type", "type");
    }
    refused(&format!(r#"{{"type":"{}"}}"#, "x".repeat(201)), "invalid_type", "type");
    refused(r#"{"type":"mail:pause"}"#, "invalid_type", "type");
    taken(&format!(r#"{{"type":"{}"}}"#, "x".repeat(200)));
    taken(r#"{"type":"mail:send"}"#);
}

#[test]
fn a_payload_is_json_of_some_size_and_depth() {
    let deep =
        |n: usize| format!(r#"{{"type":"t","payload":{}1{}}}"#, "[".repeat(n), "]".repeat(n));
    refused(&deep(101), "invalid_payload", "payload");
    taken(&deep(100));
    refused(
        &format!(r#"{{"type":"t","payload":"{}"}}"#, "x".repeat(1_000)),
        "too_large",
        "payload",
    );
    refused(r#"{"type":"t","payload":{"#, "invalid_body", "");
    assert_eq!(NewJob::raw("t", "{").validate(1_000).unwrap_err().code(), "invalid_payload");
    assert_eq!(NewJob::raw("t", "1 2").validate(1_000).unwrap_err().code(), "invalid_payload");
    refused(r#"{"type":"t","metadata":[]}"#, "invalid_metadata", "metadata");
    refused("[]", "invalid_body", "");
}

#[test]
fn a_priority_is_one_to_ten() {
    for body in ["11", "-1", "1.5", "\"5\"", "null", "300"] {
        let body = format!(r#"{{"type":"t","priority":{body}}}"#);
        refused(&body, "invalid_priority", "priority");
    }
    taken(r#"{"type":"t","priority":10}"#);
    taken(r#"{"type":"t","priority":0}"#);
}

#[test]
fn a_schedule_is_one_sound_time() {
    for (schedule, code, field) in [
        (r#"{"delay":-1}"#, "invalid_delay", "schedule.delay"),
        (r#"{"delay":1.5}"#, "invalid_delay", "schedule.delay"),
        (r#"{"delay":"5"}"#, "invalid_delay", "schedule.delay"),
        (r#"{"delay":400000000000}"#, "invalid_delay", "schedule.delay"),
        (r#"{"runAt":-1}"#, "invalid_run_at", "schedule.runAt"),
        (r#"{"runAt":"tomorrow"}"#, "invalid_run_at", "schedule.runAt"),
        (r#"{"runAt":5,"cron":"* * * * *"}"#, "conflicting_schedule", "schedule"),
        (r#"{"runAt":5,"delay":5}"#, "conflicting_schedule", "schedule"),
        (r#"{"delay":5,"cron":"* * * * *"}"#, "conflicting_schedule", "schedule"),
        (r#"{"cron":"* * *"}"#, "invalid_cron", "schedule.cron"),
        (r#"{"cron":"0 0 30 2 *"}"#, "invalid_cron", "schedule.cron"),
        (r#"{"cron":""}"#, "invalid_cron", "schedule.cron"),
        (r#"{"cron":"* * * * *","timezone":"Mars/Base"}"#, "invalid_timezone", "schedule.timezone"),
        (r#"{"timezone":"UTC"}"#, "invalid_timezone", "schedule.timezone"),
        (r#"{"every":5}"#, "unknown_field", "schedule.every"),
        ("5", "invalid_schedule", "schedule"),
    ] {
        refused(&format!(r#"{{"type":"t","schedule":{schedule}}}"#), code, field);
    }
    taken(r#"{"type":"t","schedule":{"runAt":5}}"#);
    taken(r#"{"type":"t","schedule":{"cron":"*/5 * * * *","timezone":"Asia/Tokyo"}}"#);
}

#[test]
fn a_retry_is_bounded() {
    for (retry, field) in [
        (r#"{"attempts":-1}"#, "retry.attempts"),
        (r#"{"attempts":1001}"#, "retry.attempts"),
        (r#"{"attempts":"3"}"#, "retry.attempts"),
        (r#"{"backoff":{"type":"quadratic"}}"#, "retry.backoff.type"),
        (r#"{"backoff":{"delay":-5}}"#, "retry.backoff.delay"),
        (r#"{"backoff":{"jitter":1}}"#, "retry.backoff.jitter"),
        (r#"{"skipOn":[1]}"#, "retry.skipOn"),
        (r#"{"backoff":7}"#, "retry.backoff"),
    ] {
        refused(&format!(r#"{{"type":"t","retry":{retry}}}"#), "invalid_retry", field);
    }
    taken(r#"{"type":"t","retry":{"attempts":0,"backoff":{"type":"linear","delay":0}}}"#);
}

#[test]
fn limits_targets_and_dependencies_are_checked() {
    for (member, code, field) in [
        (r#""rateLimit":{"maxConcurrent":0}"#, "invalid_rate_limit", "rateLimit.maxConcurrent"),
        (r#""rateLimit":{"maxPerMinute":1.5}"#, "invalid_rate_limit", "rateLimit.maxPerMinute"),
        (r#""rateLimit":{"maxPerMinute":-1}"#, "invalid_rate_limit", "rateLimit.maxPerMinute"),
        (r#""target":{"stack":[1]}"#, "invalid_target", "target.stack"),
        (r#""target":{"region":"eu"}"#, "invalid_target", "target.region"),
        (r#""target":{"mode":"most"}"#, "invalid_target", "target.mode"),
        (r#""target":null"#, "invalid_target", "target"),
        (r#""dependsOn":"a""#, "invalid_dependency", "dependsOn"),
        (r#""dependsOn":[""]"#, "invalid_dependency", "dependsOn"),
        (r#""unique":{"key":""}"#, "invalid_unique", "unique.key"),
        (r#""unique":{"key":"a","windowMs":0}"#, "invalid_unique", "unique.windowMs"),
        (r#""unique":{"key":"a","onConflict":"fight"}"#, "invalid_unique", "unique.onConflict"),
        (r#""x":{"timeoutMs":0}"#, "invalid_x", "x.timeoutMs"),
        (r#""x":{"batch":"a b"}"#, "invalid_x", "x.batch"),
        (r#""x":{"colour":1}"#, "unknown_field", "x.colour"),
        (r#""jobId":"a b""#, "invalid_id", "jobId"),
        (r#""jobId":"""#, "invalid_id", "jobId"),
        (r#""jobId":"a:cancel""#, "invalid_id", "jobId"),
        (r#""prio":1"#, "unknown_field", "prio"),
    ] {
        refused(&format!(r#"{{"type":"t",{member}}}"#), code, field);
    }
    let many: Vec<String> = (0..65).map(|n| format!("\"c{n}\"")).collect();
    let body = format!(r#"{{"type":"t","target":{{"capabilities":[{}]}}}}"#, many.join(","));
    refused(&body, "invalid_target", "target.capabilities");
    taken(r#"{"type":"t","jobId":"a:1~b.c_d","createdAt":1,"attempts":2,"x":{"timeoutMs":5}}"#);
}

#[test]
fn a_stored_job_can_be_sent_again() {
    let body = r#"{"jobId":"a","type":"t","payload":{},"schedule":{},"retry":{"attempts":3,"backoff":{"type":"exponential","delay":2000}},"priority":5,"dependsOn":[],"target":{},"metadata":{},"createdAt":1,"attempts":3,"x":{"uniqueKey":"k"}}"#;
    let job = NewJob::from_json(body).unwrap();
    assert_eq!(job.unique.as_ref().unwrap().key, "k");
    job.validate(1_000).unwrap();
}

#[test]
fn a_server_id_spells_no_other_key() {
    for id in ["", "active", "heartbeat", "a:b", "a b", &"x".repeat(129)] {
        let error = WorkerFacts::new(id).unwrap_err();
        assert_eq!((error.code(), error.field()), ("invalid_server_id", Some("serverId")), "{id}");
    }
    WorkerFacts::new("worker-1.eu_west").unwrap();
}

#[test]
fn lives_that_no_store_can_count_are_refused() {
    let ten_years = 315_360_000;
    let of = |retention_s, result_ttl_s| {
        let options = Options { retention_s, result_ttl_s, ..Options::default() };
        options.check().map_err(|error| error.field().unwrap_or_default().to_owned())
    };
    assert_eq!(of(ten_years, ten_years.cast_unsigned()), Ok(()));
    assert_eq!(of(-1, 0), Ok(()));
    assert_eq!(of(ten_years + 1, 0), Err("retention_s".to_owned()));
    assert_eq!(of(i64::MAX, 0), Err("retention_s".to_owned()));
    assert_eq!(of(0, ten_years.cast_unsigned() + 1), Err("result_ttl_s".to_owned()));
    assert_eq!(of(0, u64::MAX), Err("result_ttl_s".to_owned()));
}

#[tokio::test]
async fn a_lock_shorter_than_five_seconds_is_refused() {
    let store = testkit::open("memory").await;
    let clock = std::sync::Arc::new(kernel::FakeClock::at(0));
    let open = |ns: &str, options: Options| {
        Jobs::new(store.clone(), clock.clone(), ns, Layout::Plain, options).map(drop)
    };
    let short = Options { lock_ttl_s: 4, ..Options::default() };
    assert_eq!(open("bridge", short).unwrap_err().code(), "invalid_lock_ttl");
    for ns in ["", "a:b", "room", "{a", "a b"] {
        let error = open(ns, Options::default()).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{ns} {error:?}");
        assert_eq!(error.code(), "invalid_namespace", "{ns}");
    }
    open("{bridge}", Options::default()).unwrap();
}
