//! Timers: exactly once between many servers, nothing lost by a crash, no polling when nothing is due.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernel::timers::Scopes;
use kernel::{
    Clock, Effects as _, FakeClock, ScopeSet, Step, Stepped, Store, TimerKeys, Timers, Verdict,
};
use testkit::on_every_store;

use crate::support::{ask, int, refused, soon, text};

const NOW: u64 = 1_700_000_000_000;

fn keys(scope: &str) -> TimerKeys {
    TimerKeys::of(format!("wk:test:{scope}:due"))
}

fn timers(store: &Arc<dyn Store>, clock: &FakeClock) -> Timers {
    let scopes = Scopes::Set("wk:test:scopes".to_owned());
    Timers::new(store.clone(), Arc::new(clock.clone()), scopes, |scope| Some(keys(scope)))
}

/// Arms outside any step.
async fn arm(store: &dyn Store, scope: &str, member: &str, due_ms: u64, payload: &str) {
    ask(store, &["SADD", "wk:test:scopes", scope]).await;
    for op in keys(scope).arm(member, due_ms, payload) {
        store.call(&op.cmd(), soon()).await.unwrap();
    }
}

/// Lets other tasks run until `done`; fails after ten seconds.
async fn until(done: impl AsyncFn() -> bool) {
    for _ in 0..10_000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it never came true");
}

on_every_store!(only_what_is_due_is_taken_and_only_once, |store| {
    let clock = FakeClock::at(NOW);
    arm(&*store, "t1", "a", NOW, "pa").await;
    arm(&*store, "t1", "b", NOW + 1, "pb").await;
    let (first, second) = (timers(&store, &clock), timers(&store, &clock));
    let taken = first.take("t1", soon()).await.unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].member.as_str(), taken[0].payload.as_str()), ("a", "pa"));
    assert_eq!(taken[0].due_ms, NOW);
    assert!(second.take("t1", soon()).await.unwrap().is_empty());
    assert!(first.settle(&taken[0], Verdict::Done, soon()).await.unwrap());
    assert_eq!(int(&*store, &["ZCARD", "wk:test:t1:due"]).await, 1);
    assert_eq!(int(&*store, &["HLEN", "wk:test:t1:due:data"]).await, 1);
});

on_every_store!(after_a_crash_between_lease_and_act_another_server_acts, |store| {
    let clock = FakeClock::at(NOW);
    arm(&*store, "t1", "a", NOW, "p").await;
    let (dead, alive) = (timers(&store, &clock), timers(&store, &clock));
    let lost = dead.take("t1", soon()).await.unwrap().remove(0);
    assert!(alive.take("t1", soon()).await.unwrap().is_empty());
    clock.advance(Duration::from_secs(10));
    let found = alive.take("t1", soon()).await.unwrap().remove(0);
    assert_eq!(found.payload, "p");
    // The dead one was only slow: it may not remove what it no longer has.
    assert!(!dead.settle(&lost, Verdict::Done, soon()).await.unwrap());
    assert!(alive.settle(&found, Verdict::Done, soon()).await.unwrap());
    assert_eq!(int(&*store, &["EXISTS", "wk:test:t1:due", "wk:test:t1:due:data"]).await, 0);
});

on_every_store!(a_timer_armed_anew_while_it_is_served_survives, |store| {
    let clock = FakeClock::at(NOW);
    arm(&*store, "t1", "a", NOW, "same").await;
    let server = timers(&store, &clock);
    let old = server.take("t1", soon()).await.unwrap().remove(0);
    arm(&*store, "t1", "a", NOW, "same").await;
    let new = server.take("t1", soon()).await.unwrap().remove(0);
    assert!(!server.settle(&old, Verdict::Done, soon()).await.unwrap());
    assert_eq!(int(&*store, &["ZCARD", "wk:test:t1:due"]).await, 1);
    assert!(server.settle(&new, Verdict::Done, soon()).await.unwrap());
});

on_every_store!(work_and_removal_in_one_step_happen_once_even_after_a_clock_jump, |store| {
    let clock = FakeClock::at(NOW);
    ask(&*store, &["SET", "doc", "0"]).await;
    arm(&*store, "t1", "a", NOW, "p").await;
    let (first, second) = (timers(&store, &clock), timers(&store, &clock));
    let mine = first.take("t1", soon()).await.unwrap().remove(0);
    // The store's clock is set an hour ahead: every lease looks as if it had run out.
    clock.set(NOW + 3_600_000);
    let theirs = second.take("t1", soon()).await.unwrap().remove(0);
    let work = || Step::new("doc").expect("0").write("1").incrby("fired", 1);
    let done = store.step(&theirs.finish(work()), soon()).await.unwrap();
    assert_eq!(done, Stepped::Done);
    let late = mine.finish(Step::new("doc").incrby("fired", 1));
    let late = store.step(&late, soon()).await.unwrap();
    assert_eq!(late, refused(1, None, true));
    assert_eq!(text(&*store, &["GET", "fired"]).await, "1");
    assert_eq!(int(&*store, &["EXISTS", "wk:test:t1:due"]).await, 0);
    // Set back: what is armed waits, nothing is lost.
    clock.set(NOW);
    arm(&*store, "t1", "b", NOW + 5, "p").await;
    assert!(first.take("t1", soon()).await.unwrap().is_empty());
    clock.set(NOW + 5);
    let again = first.take("t1", soon()).await.unwrap().remove(0);
    let step = again.rearm(Step::new("doc").expect("1").write("2"), NOW + 50, "q");
    assert_eq!(store.step(&step, soon()).await.unwrap(), Stepped::Done);
    assert_eq!(text(&*store, &["ZSCORE", "wk:test:t1:due", "b"]).await, (NOW + 50).to_string());
    assert_eq!(text(&*store, &["HGET", "wk:test:t1:due:data", "b"]).await, "- q");
});

on_every_store!(a_timer_without_data_is_dropped, |store| {
    let clock = FakeClock::at(NOW);
    ask(&*store, &["ZADD", "wk:test:t1:due", "1", "ghost"]).await;
    assert!(timers(&store, &clock).take("t1", soon()).await.unwrap().is_empty());
    assert_eq!(int(&*store, &["EXISTS", "wk:test:t1:due"]).await, 0);
});

on_every_store!(a_batch_is_bounded, |store| {
    let clock = FakeClock::at(NOW);
    for n in 0..5 {
        arm(&*store, "t1", &n.to_string(), NOW, "p").await;
    }
    let server = timers(&store, &clock).batch(3);
    assert_eq!(server.take("t1", soon()).await.unwrap().len(), 3);
    assert_eq!(server.take("t1", soon()).await.unwrap().len(), 2);
});

on_every_store!(two_servers_serve_every_timer_of_every_scope_once, |store| {
    let clock = FakeClock::at(NOW);
    for n in 0..60_u64 {
        arm(&*store, &format!("t{}", n % 3), &format!("m{n}"), NOW + n, "p").await;
    }
    let fired = Arc::new(AtomicU64::new(0));
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let servers: Vec<_> = (0..2)
        .map(|_| {
            let (server, store) = (timers(&store, &clock).batch(4), store.clone());
            let (fired, mut stopped) = (fired.clone(), stopped.clone());
            tokio::spawn(async move {
                let act = |timer: kernel::Timer| {
                    let (store, fired) = (store.clone(), fired.clone());
                    async move {
                        let once = Step::new(format!("done:{}", timer.member)).absent().write("1");
                        let once = store.step(&timer.finish(once), soon()).await.unwrap();
                        assert_eq!(once, Stepped::Done, "{} was served twice", timer.member);
                        fired.fetch_add(1, Ordering::SeqCst);
                        Verdict::Done
                    }
                };
                let ended = async move {
                    let _ = stopped.wait_for(|stopped| *stopped).await;
                };
                server.serve(act, ended).await;
            })
        })
        .collect();
    clock.advance(Duration::from_millis(30));
    until(async || fired.load(Ordering::SeqCst) == 31).await;
    assert_eq!(int(&*store, &["DBSIZE"]).await, 31 + 6 + 1);
    // Both sleep until the next one is due; nothing fires before.
    until(async || clock.sleepers() >= 4).await;
    assert_eq!(fired.load(Ordering::SeqCst), 31);
    clock.advance(Duration::from_millis(30));
    until(async || fired.load(Ordering::SeqCst) == 60).await;
    stop.send(true).unwrap();
    for server in servers {
        server.await.unwrap();
    }
    assert_eq!(int(&*store, &["EXISTS", "wk:test:t0:due", "wk:test:t1:due:data"]).await, 0);
});

on_every_store!(one_broken_scope_does_not_stop_the_others, |store| {
    let clock = FakeClock::at(NOW);
    ask(&*store, &["SET", "wk:test:bad:due", "text"]).await;
    ask(&*store, &["SADD", "wk:test:scopes", "bad"]).await;
    arm(&*store, "good", "a", NOW, "p").await;
    let fired = AtomicU64::new(0);
    let server = timers(&store, &clock);
    let stop = until(async || fired.load(Ordering::SeqCst) == 2);
    let act = |timer: kernel::Timer| {
        let before = fired.fetch_add(1, Ordering::SeqCst);
        let now = clock.now_ms();
        async move {
            assert_eq!(timer.member, "a");
            if before == 0 { Verdict::Again(now) } else { Verdict::Done }
        }
    };
    server.serve(act, stop).await;
    assert_eq!(fired.load(Ordering::SeqCst), 2);
});

on_every_store!(a_scope_is_listed_before_its_first_write_and_again_when_it_was_dropped, |store| {
    let clock = FakeClock::at(NOW);
    let set = ScopeSet::new("wk:test:scopes");
    set.ensure(&*store, &clock, "t1", soon()).await.unwrap();
    assert_eq!(set.list(&*store, soon()).await.unwrap(), ["t1"]);
    // Somebody dropped it: the next writer lists it again, after a few seconds at most.
    ask(&*store, &["DEL", "wk:test:scopes"]).await;
    set.ensure(&*store, &clock, "t1", soon()).await.unwrap();
    assert!(set.list(&*store, soon()).await.unwrap().is_empty());
    clock.advance(Duration::from_secs(5));
    set.ensure(&*store, &clock, "t1", soon()).await.unwrap();
    assert_eq!(set.list(&*store, soon()).await.unwrap(), ["t1"]);
});
