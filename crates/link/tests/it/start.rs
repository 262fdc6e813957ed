//! Opening a store: what it finds is said, and each failure has one sentence and its exit code.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use kernel::{Kind, Value};
use link::{OpenError, Options};
use testkit::{Program, Server, Setup, open, programs};

use crate::{cmd, soon};

async fn failure(url: &str) -> OpenError {
    let options = Options { patience: Duration::from_millis(100), ..Options::default() };
    match link::open(url, options).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_found_is_said_with_what_will_hurt() {
    for program in programs() {
        let server = Setup::new(program)
            .args(["--maxmemory-policy", "allkeys-lru", "--maxmemory", "100mb"])
            .start();
        let status = open(&server.url()).await.status();
        assert_eq!(status.kind, Kind::Standalone);
        assert_eq!(status.address, server.url());
        let name = if program == Program::Redis { "redis 7." } else { "valkey 9." };
        assert!(status.server.starts_with(name), "{}", status.server);
        assert!(status.up && status.reason.is_none() && status.reconnects == 0);
        assert_eq!(status.persistence.sentence(), "none");
        assert_eq!(status.eviction, "allkeys-lru");
        let all: Vec<String> = status.warnings.iter().map(kernel::Said::sentence).collect();
        let all = all.join("\n");
        assert!(all.contains("allkeys-lru: keys may vanish; set it to noeviction"), "{all}");
        assert!(all.contains("no append-only file"), "{all}");

        let kept = Setup::new(program).args(["--appendonly", "yes"]).start();
        let store = open(&kept.url()).await;
        let status = store.status();
        assert_eq!(status.persistence.sentence(), "append-only log, synced every second");
        assert_eq!(status.warnings, Vec::new());
        // Somebody turned the log off, and the dashboard went on to say that there was one.
        store.call(&cmd("CONFIG SET appendonly no"), soon()).await.expect("it is turned off");
        until(&*store, "snapshots only").await;
        assert!(store.status().warnings[0].sentence().contains("no append-only file"));
    }
}

/// Waits until a store says that it keeps its data so.
pub(crate) async fn until(store: &dyn kernel::Store, kept: &str) {
    for _ in 0..400 {
        let says = store.status().persistence.sentence();
        if says == kept || (kept == "snapshots only" && says == "none") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited 20 s for `{kept}`: {:?}", store.status());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_opens_and_a_wrong_one_is_refused_at_once_without_being_shown() {
    for program in programs() {
        let server = Setup::new(program).args(["--requirepass", "s3cr3t"]).start();
        let addr = server.addr();
        let store = open(&format!("redis://:s3cr3t@{addr}/2")).await;
        store.call(&cmd("SET a 1"), soon()).await.expect("it lets us in");
        let status = store.status();
        assert!(!format!("{status:?}").contains("s3cr3t"));
        for url in [format!("redis://{addr}"), format!("redis://:wr0ng@{addr}")] {
            let error = failure(&url).await;
            assert!(matches!(error, OpenError::Login { .. }), "{error}");
            assert_eq!(error.exit_code(), 5);
            assert!(error.to_string().contains("check user and password"), "{error}");
            assert!(!error.to_string().contains("wr0ng"), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_of_the_url_is_used_on_every_connection() {
    for program in programs() {
        let server = Server::start(program);
        let store = open(&format!("{}/5", server.url())).await;
        store.call(&cmd("SET common 1"), soon()).await.expect("written");
        let mut session = store.session(b"own", soon()).await.expect("a session");
        session.call(&cmd("SET own 1"), soon()).await.expect("written");
        assert_eq!(server.ask(&["DBSIZE"]), ":0\r\n");
        assert_eq!(session.call(&cmd("DBSIZE"), soon()).await, Ok(Value::Int(2)));
        let none = failure(&format!("{}/99", server.url())).await;
        assert!(none.to_string().contains("DB index"), "{none}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unix_socket_is_as_good() {
    for program in programs() {
        let server = Server::start(program);
        let store = open(&format!("unix://{}", server.socket().display())).await;
        assert_eq!(store.call(&cmd("SET a 1"), soon()).await, Ok(Value::Okay));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_few_rights_works_and_the_status_says_what_is_unknown() {
    for program in programs() {
        let server = Setup::new(program)
            .args("--user few on >pw ~* +get +set +client|setname".split(' '))
            .start();
        let store = open(&format!("redis://few:pw@{}", server.addr())).await;
        assert_eq!(store.call(&cmd("SET a 1"), soon()).await, Ok(Value::Okay));
        let refused = store.call(&cmd("DEL a"), soon()).await;
        assert!(refused.expect_err("not allowed").to_string().contains("NOPERM"));
        assert!(store.status().warnings[0].sentence().contains("may not run INFO"));
    }
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let port = testkit::free_port();
    let error = failure(&format!("redis://u:hidden@127.0.0.1:{port}")).await;
    assert_eq!(error.exit_code(), 6);
    assert_eq!(
        error.to_string(),
        format!(
            "cannot reach Redis at redis://127.0.0.1:{port}: connection refused; start it or \
             correct the address"
        )
    );
    let error = failure("redis://no-such-host.invalid").await;
    assert!(error.to_string().contains("the name no-such-host.invalid is not known"), "{error}");
    assert_eq!(failure("unix:///nowhere/at/all").await.exit_code(), 6);
    assert_eq!(failure("ftp://h").await.exit_code(), 2);
}

#[tokio::test]
async fn a_web_server_is_no_redis() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let error = failure(&format!("redis://{addr}")).await;
    assert!(matches!(error, OpenError::NotRedis { .. }), "{error}");
    assert!(error.to_string().contains("a web server listens there, check the port"), "{error}");
    let tls = failure(&format!("rediss://{addr}")).await;
    assert!(
        tls.to_string().contains("does not speak TLS; for a plain port write redis://"),
        "{tls}"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_in_time() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("an address");
    let url = format!("redis://{addr}");
    let error = testkit::within("the server is given up", failure(&url)).await;
    assert!(error.to_string().contains("accepts connections but does not answer"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_and_a_protected_one_are_told() {
    for program in programs() {
        let server = Setup::new(program).args(["--maxclients", "1"]).start();
        let store = open(&server.url()).await;
        let options = Options { patience: Duration::from_millis(600), ..Options::default() };
        let Err(error) = link::open(&server.url(), options).await else {
            panic!("a second client was let in")
        };
        assert!(error.to_string().contains("raise its maxclients"), "{error}");
        assert_eq!(error.exit_code(), 6);
        let none = store.session(b"k", crate::ms(500)).await;
        let Err(fault) = none else { panic!("a third client was let in") };
        assert!(
            matches!(&fault, kernel::Fault::Unavailable(why) if why.contains("maxclients")),
            "{fault}"
        );
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.write_all(b"-DENIED Redis is running in protected mode\r\n");
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    let error = failure(&format!("redis://{addr}")).await;
    assert!(error.to_string().contains("protected mode"), "{error}");
    assert_eq!(error.exit_code(), 5);
}
