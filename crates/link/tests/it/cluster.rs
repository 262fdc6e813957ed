//! A Cluster of real nodes: commands find their slots, failovers and moving slots surface no error and
//! repeat nothing, scripts go on without anybody loading them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use kernel::{Fault, Kind, Message, Script, Store, Topic, Value};
use testkit::{on_cluster, timed};

use crate::{cmd, exec, ms, soon};

static ONCE: Script = Script::new(
    "once",
    "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end redis.call('SET', KEYS[1], ARGV[1]) return 1",
);

on_cluster!(commands_pipelines_and_scripts_find_their_slots, |store, _cluster| {
    assert!(link::is_cluster(&*store));
    let sets: Vec<_> = (0..100).map(|at| cmd(&format!("SET key:{at} {at}"))).collect();
    let done = store.pipeline(&sets, soon()).await.expect("sent");
    assert!(done.iter().all(|result| result == &Ok(Value::Okay)), "{done:?}");
    for at in 0..100 {
        let got = store.call(&cmd(&format!("GET key:{at}")), soon()).await;
        assert_eq!(got, Ok(Value::BulkString(at.to_string().into_bytes())));
        let key = format!("script:{at}");
        let ran = store.script(&ONCE, &[key.as_bytes()], &[b"x"], soon()).await;
        assert_eq!(ran, Ok(Value::Int(1)));
    }
    assert_eq!(store.call(&cmd("DBSIZE"), soon()).await, Ok(Value::Int(200)));
    let crossed = store.call(&cmd("MGET key:1 key:2"), soon()).await;
    assert!(matches!(crossed, Err(Fault::Refused { code, .. }) if code == "CROSSSLOT"));
});

on_cluster!(a_scan_walks_every_primary, |store, _cluster| {
    let sets: Vec<_> = (0..500).map(|at| cmd(&format!("SET key:{at} x"))).collect();
    store.pipeline(&sets, soon()).await.expect("sent");
    let (mut cursor, mut seen) = ("0".to_owned(), HashSet::new());
    loop {
        let line = format!("SCAN {cursor} MATCH key:* COUNT 50");
        let Ok(Value::Array(parts)) = store.call(&cmd(&line), soon()).await else {
            panic!("a page")
        };
        let [Value::BulkString(next), Value::Array(keys)] = &*parts else { panic!("two parts") };
        seen.extend(keys.iter().map(|key| format!("{key:?}")));
        cursor = String::from_utf8_lossy(next).into_owned();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen.len(), 500);
});

on_cluster!(one_named_node_is_enough, |_store, cluster| {
    let url = format!("redis://127.0.0.1:{}", cluster.ports()[4]);
    let store = testkit::open(&url).await;
    assert_eq!(store.status().kind, Kind::Cluster);
    for at in 0..20 {
        store.call(&cmd(&format!("SET k{at} 1")), soon()).await.expect("found its slot");
    }
});

on_cluster!(sessions_go_to_the_owner_of_their_key, |store, _cluster| {
    for at in 0..12 {
        let key = format!("watched:{at}");
        let mut session = store.session(key.as_bytes(), soon()).await.expect("a session");
        session.call(&cmd(&format!("WATCH {key}")), soon()).await.expect("watched");
        let done = exec(&mut *session, &[cmd(&format!("SET {key} 1"))], soon()).await;
        assert_eq!(done, Ok(Some(vec![Value::Okay])));
        session.call(&cmd(&format!("WATCH {key}")), soon()).await.expect("watched");
        store.call(&cmd(&format!("SET {key} 2")), soon()).await.expect("written");
        assert_eq!(exec(&mut *session, &[cmd(&format!("SET {key} 3"))], soon()).await, Ok(None));
    }
    let popped = tokio::spawn({
        let store = store.clone();
        async move { store.call(&cmd("BLPOP list 8"), soon()).await }
    });
    store.call(&cmd("RPUSH list x"), soon()).await.expect("pushed");
    assert!(popped.await.expect("no panic").is_ok());
});

/// Callers that claim fresh keys by script until told to stop; a key claimed twice is a repeated step.
struct Load {
    stop: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<(u32, u32, u32)>>,
}

impl Load {
    fn start(store: &Arc<dyn Store>, wait_ms: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let tasks = (0..8).map(|at| {
            let (store, stop) = (store.clone(), stop.clone());
            tokio::spawn(async move {
                let (mut done, mut unknown, mut refused, mut round) = (0, 0, 0, 0_u32);
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    let key = format!("claim:{at}:{round}");
                    match store.script(&ONCE, &[key.as_bytes()], &[b"x"], ms(wait_ms)).await {
                        Ok(value) => {
                            assert_eq!(value, Value::Int(1), "{key} was claimed twice");
                            done += 1;
                        }
                        Err(Fault::Unknown(_)) => unknown += 1,
                        Err(Fault::Unavailable(_)) => refused += 1,
                        Err(other) => panic!("{other}"),
                    }
                    tokio::task::yield_now().await;
                }
                (done, unknown, refused)
            })
        });
        Load { tasks: tasks.collect(), stop }
    }

    async fn end(self) -> (u32, u32, u32) {
        self.stop.store(true, Ordering::Relaxed);
        let mut sum = (0, 0, 0);
        for task in self.tasks {
            let one = task.await.expect("no step was repeated");
            sum = (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2);
        }
        sum
    }
}

on_cluster!(a_killed_primary_is_replaced_and_no_step_is_repeated, |store, cluster| {
    let load = Load::start(&store, 15_000);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let gone = cluster.primary_of("claim:0:1");
    let began = Instant::now();
    tokio::task::block_in_place(|| {
        cluster.kill(gone);
        cluster.wait_ok();
    });
    let whole = began.elapsed();
    let healed = Instant::now();
    for at in 0..60 {
        store.call(&cmd(&format!("SET after:{at} x")), soon()).await.expect("healed");
    }
    let healed = healed.elapsed();
    assert!(matches!(store.call(&cmd("DBSIZE"), ms(2000)).await, Ok(Value::Int(60..))));
    let (done, unknown, refused) = load.end().await;
    timed("healthy after a failover", healed, Duration::from_secs(2));
    println!(
        "failover {whole:?}, healthy {healed:?} after that; {done} claimed, {unknown} unknown, {refused} refused"
    );
    assert!(done > 0);
    assert_eq!(refused, 0, "15 s are enough for every call that was not sent");
    assert!(store.status().up);
    tokio::task::block_in_place(|| {
        cluster.restart(gone);
        cluster.wait_ok();
    });
});

on_cluster!(a_rebooted_cluster_is_found_again, |store, cluster| {
    let load = Load::start(&store, 30_000);
    tokio::time::sleep(Duration::from_millis(100)).await;
    tokio::task::block_in_place(|| {
        (0..6).for_each(|node| cluster.kill(node));
        (0..6).for_each(|node| cluster.restart(node));
        cluster.wait_ok();
    });
    let healed = Instant::now();
    for at in 0..60 {
        store.call(&cmd(&format!("SET after:{at} x")), soon()).await.expect("healed");
    }
    let healed = healed.elapsed();
    let (done, unknown, refused) = load.end().await;
    timed("healthy after a reboot", healed, Duration::from_secs(2));
    println!(
        "healthy {healed:?} after a reboot; {done} claimed, {unknown} unknown, {refused} refused"
    );
    assert_eq!(refused, 0);
});

on_cluster!(an_agreed_failover_surfaces_no_error, |store, cluster| {
    let load = Load::start(&store, 10_000);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let old = cluster.primary_of("claim:0:1");
    tokio::task::block_in_place(|| {
        let replica = cluster.replica_of(old);
        cluster.fail_over_to(replica);
        cluster.wait_ok();
    });
    let (done, unknown, refused) = load.end().await;
    println!("{done} claimed, {unknown} unknown, {refused} refused");
    assert_eq!((unknown, refused), (0, 0));
    assert!(done > 0);
});

on_cluster!(a_slot_on_its_way_surfaces_no_error, |store, cluster| {
    // One tag, so that all keys share the slot that moves.
    for at in 0..50 {
        store.call(&cmd(&format!("SET {{tag}}:{at} {at}")), soon()).await.expect("written");
    }
    let (runtime, mut parts) = (tokio::runtime::Handle::current(), 0);
    // Half of the slot is here, half there; new keys go there already.
    let between = async |at: usize| {
        for look in 0..50 {
            let got = store.call(&cmd(&format!("GET {{tag}}:{look}")), soon()).await;
            assert_eq!(got, Ok(Value::BulkString(look.to_string().into_bytes())));
        }
        let fresh = format!("{{tag}}:new:{at}");
        let ran = store.script(&ONCE, &[fresh.as_bytes()], &[b"x"], soon()).await;
        assert_eq!(ran, Ok(Value::Int(1)));
    };
    tokio::task::block_in_place(|| {
        cluster.move_slot_in_parts("{tag}", 1, || {
            runtime.block_on(between(parts));
            parts += 1;
        });
    });
    assert_eq!(parts, 50);
    assert!(store.call(&cmd("GET {tag}:1"), soon()).await.is_ok());
    let pipeline: Vec<_> = (0..50).map(|at| cmd(&format!("GET {{tag}}:{at}"))).collect();
    let all = store.pipeline(&pipeline, soon()).await.expect("sent");
    assert!(all.iter().all(Result::is_ok), "{all:?}");
});

on_cluster!(a_subscription_survives_its_node, |store, cluster| {
    let topics = [Topic::Channel("news".to_owned())];
    let mut stream = store.subscribe(&topics, soon()).await.expect("subscribed");
    store.call(&cmd("PUBLISH news one"), soon()).await.expect("published");
    assert!(matches!(stream.next().await, Some(Message::Payload { .. })));
    let host =
        (0..6).find(|at| cluster.ask(*at, &["PUBSUB", "NUMSUB", "news"]).ends_with(":1\r\n"));
    let host = host.expect("somebody holds the subscription");
    tokio::task::block_in_place(|| cluster.kill(host));
    assert_eq!(stream.next().await, Some(Message::Resumed));
    tokio::task::block_in_place(|| {
        cluster.wait_ok();
        cluster.restart(host);
        cluster.wait_ok();
    });
    store.call(&cmd("PUBLISH news two"), soon()).await.expect("published");
    assert!(matches!(stream.next().await, Some(Message::Payload { .. })));
});

#[tokio::test(flavor = "multi_thread")]
async fn a_single_server_is_no_cluster() {
    for program in testkit::programs() {
        let server = testkit::Server::start(program);
        let url = format!("redis+cluster://{}", server.addr());
        let Err(error) = link::open(&url, link::Options::default()).await else { panic!("opened") };
        assert!(error.to_string().contains("for a single server write redis://"), "{error}");
    }
}
