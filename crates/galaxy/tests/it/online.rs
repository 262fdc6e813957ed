//! Who is online: several sockets, several servers, servers that die, stores that fail.

use std::sync::Arc;
use std::time::Duration;

use galaxy::keys::Keys;
use galaxy::{Online, OnlineChange};
use kernel::keyspace::Layout;
use kernel::{Cmd, Deadline, FakeClock, Store, Value, reply};
use testkit::{Faulty, How, on_cluster, on_every_store};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const KEYS: Keys = Keys::new(Layout::Plain);
const ONE: Uuid = Uuid::from_u128(1);
const TWO: Uuid = Uuid::from_u128(2);
const NOBODY: [Uuid; 0] = [];

fn clock() -> Arc<FakeClock> {
    Arc::new(FakeClock::at(1_800_000_000_000))
}

async fn server(store: &Arc<dyn Store>, clock: &Arc<FakeClock>) -> Arc<Online> {
    Online::start(Arc::clone(store), KEYS, Arc::clone(clock) as _).await.unwrap()
}

async fn ask(store: &Arc<dyn Store>, words: &[&str]) -> Value {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    let by = Deadline::after(Duration::from_secs(5));
    testkit::call_as_default(&**store, &cmd, by).await.unwrap()
}

/// None of the keys that only count is left.
async fn nothing_left(store: &Arc<dyn Store>, servers: &[&Online]) {
    let mut keys = vec![
        "connections:online".to_owned(),
        "{connections:online}:count".to_owned(),
        "{connections:online}:leases".to_owned(),
    ];
    keys.extend(
        servers.iter().map(|one| format!("{{connections:online}}:inst:{}", one.instance())),
    );
    for key in keys {
        assert_eq!(reply::int(&ask(store, &["EXISTS", &key]).await), Some(0), "{key}");
    }
}

async fn the_story(store: Arc<dyn Store>) {
    let clock = clock();
    let (a, b) = (server(&store, &clock).await, server(&store, &clock).await);
    assert_eq!(a.connect(ONE).await.unwrap(), OnlineChange::Came);
    assert_eq!(b.connect(ONE).await.unwrap(), OnlineChange::Same);
    assert_eq!(a.connect(TWO).await.unwrap(), OnlineChange::Came);
    assert_eq!(a.disconnect(ONE).await.unwrap(), OnlineChange::Same);
    assert_eq!(a.players().await.unwrap(), [ONE, TWO], "closing one on a keeps both online");
    // A dies: it renews no more. B does.
    clock.advance(Duration::from_secs(10));
    assert_eq!(b.beat().await.unwrap(), NOBODY);
    assert!(b.is_online(TWO).await.unwrap(), "it may still come back");
    clock.advance(Duration::from_secs(5));
    assert_eq!(b.beat().await.unwrap(), [TWO], "reaping a takes two only");
    assert_eq!((b.players().await.unwrap(), b.count().await.unwrap()), (vec![ONE], 1));
    assert_eq!(b.disconnect(ONE).await.unwrap(), OnlineChange::Left);
    assert_eq!(b.disconnect(ONE).await.unwrap(), OnlineChange::Same, "once too often");
    assert_eq!(b.players().await.unwrap(), NOBODY);
    clock.advance(Duration::from_secs(16));
    a.reap().await.unwrap();
    nothing_left(&store, &[&a, &b]).await;
}

on_every_store!(sockets_on_two_servers_one_of_which_dies, |store| { the_story(store).await });
on_cluster!(sockets_on_two_servers_of_a_cluster, |store, _cluster| { the_story(store).await });

on_every_store!(two_sockets_of_a_player_are_two, |store| {
    let clock = clock();
    let a = server(&store, &clock).await;
    a.connect(ONE).await.unwrap();
    assert_eq!(a.connect(ONE).await.unwrap(), OnlineChange::Same);
    let count = ask(&store, &["HGET", "{connections:online}:count", &ONE.to_string()]).await;
    assert_eq!(reply::int(&count), Some(2));
    assert_eq!(a.disconnect(ONE).await.unwrap(), OnlineChange::Same);
    assert!(a.is_online(ONE).await.unwrap());
    assert_eq!(a.disconnect(ONE).await.unwrap(), OnlineChange::Left);
    assert!(!a.is_online(ONE).await.unwrap());
});

on_every_store!(a_server_that_was_taken_for_dead_comes_back_with_its_sockets, |store| {
    let clock = clock();
    let (a, b) = (server(&store, &clock).await, server(&store, &clock).await);
    a.connect(ONE).await.unwrap();
    a.connect(TWO).await.unwrap();
    clock.advance(Duration::from_secs(20));
    let mut reaped = b.beat().await.unwrap();
    reaped.sort_unstable();
    assert_eq!(reaped, [ONE, TWO]);
    // A was only slow. One of its players leaves before it notices; the other is still there.
    assert_eq!(a.disconnect(ONE).await.unwrap(), OnlineChange::Same);
    a.beat().await.unwrap();
    assert_eq!(b.players().await.unwrap(), [TWO]);
    // And once more, noticed by the beat itself.
    clock.advance(Duration::from_secs(20));
    b.beat().await.unwrap();
    assert_eq!(b.players().await.unwrap(), NOBODY);
    a.beat().await.unwrap();
    assert_eq!(b.players().await.unwrap(), [TWO]);
    a.disconnect(TWO).await.unwrap();
    a.leave().await.unwrap();
    nothing_left(&store, &[&a, &b]).await;
});

on_every_store!(the_first_server_clears_away_what_nobody_counts, |store| {
    let clock = clock();
    ask(&store, &["SADD", "connections:online", &ONE.to_string(), "somebody"]).await;
    let a = server(&store, &clock).await;
    assert_eq!(a.players().await.unwrap(), NOBODY);
    a.connect(TWO).await.unwrap();
    // A gateway of the seed adds its own; while one of ours lives, that is left alone.
    ask(&store, &["SADD", "connections:online", &ONE.to_string()]).await;
    let b = server(&store, &clock).await;
    assert_eq!(b.players().await.unwrap(), [ONE, TWO]);
});

on_every_store!(what_the_store_missed_it_hears_with_the_next_beat, |store| {
    let clock = clock();
    for how in [How::NotSent, How::AnswerLost, How::RequestLost] {
        let faulty = Faulty::new(Arc::clone(&store));
        let a =
            Online::start(Arc::clone(&faulty) as _, KEYS, Arc::clone(&clock) as _).await.unwrap();
        faulty.fail_next(how);
        assert!(a.connect(ONE).await.is_err());
        a.beat().await.unwrap();
        assert_eq!(a.players().await.unwrap(), [ONE], "{how:?}");
        a.connect(ONE).await.unwrap();
        faulty.fail_next(how);
        assert!(a.disconnect(ONE).await.is_err());
        a.beat().await.unwrap();
        assert_eq!(a.players().await.unwrap(), [ONE], "{how:?}");
        faulty.fail_next(how);
        assert!(a.disconnect(ONE).await.is_err());
        a.beat().await.unwrap();
        assert_eq!(a.players().await.unwrap(), NOBODY, "{how:?}");
    }
});

on_every_store!(many_sockets_at_once_are_counted_exactly, |store| {
    let clock = clock();
    let (a, b) = (server(&store, &clock).await, server(&store, &clock).await);
    let all = (0..200).map(|n| {
        let server = Arc::clone(if n % 2 == 0 { &a } else { &b });
        let player = Uuid::from_u128(n % 7);
        tokio::spawn(async move {
            server.connect(player).await.unwrap();
            if n % 3 == 0 {
                server.disconnect(player).await.unwrap();
            }
        })
    });
    futures_util::future::join_all(all).await;
    let count = ask(&store, &["HGETALL", "{connections:online}:count"]).await;
    let total: i64 =
        reply::pairs(&count).unwrap().iter().filter_map(|(_, sockets)| reply::int(sockets)).sum();
    assert_eq!(total, 200 - 67);
    assert_eq!(a.count().await.unwrap(), 7);
});

on_every_store!(a_server_that_stops_takes_its_sockets_with_it, |store| {
    let clock = clock();
    let (a, b) = (server(&store, &clock).await, server(&store, &clock).await);
    a.connect(ONE).await.unwrap();
    a.connect(TWO).await.unwrap();
    b.connect(TWO).await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    a.run(stop, |_| {}).await;
    assert_eq!(b.players().await.unwrap(), [TWO]);
});
