//! Leases: one holder at a time, and none that acts after it may have lost it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use kernel::{Clock as _, FakeClock, Lease, ServerClock, Store, SystemClock};
use testkit::on_every_store;

use crate::support::{ask, int, soon};

fn lease(store: &Arc<dyn Store>, life: Duration) -> Lease {
    Lease::new(store.clone(), Arc::new(SystemClock::new()), "loop", life)
}

on_every_store!(one_of_two_contenders_holds_it, |store| {
    let (first, second) =
        (lease(&store, Duration::from_mins(1)), lease(&store, Duration::from_mins(1)));
    assert!(first.take(soon()).await.unwrap().is_some());
    assert!(second.take(soon()).await.unwrap().is_none());
    assert!(second.renew(soon()).await.unwrap().is_none());
    assert!(first.take(soon()).await.unwrap().is_some(), "taking one's own again renews it");
    assert!(first.renew(soon()).await.unwrap().is_some());
    assert_eq!(second.holder(soon()).await.unwrap().as_deref(), Some(first.token()));
    second.give_back(soon()).await.unwrap();
    assert_eq!(int(&*store, &["EXISTS", "wk:lease:loop"]).await, 1, "not its to give back");
    first.give_back(soon()).await.unwrap();
    assert!(second.take(soon()).await.unwrap().is_some());
});

on_every_store!(a_lease_that_ran_out_is_not_renewed, |store| {
    let (first, second) =
        (lease(&store, Duration::from_mins(1)), lease(&store, Duration::from_mins(1)));
    first.take(soon()).await.unwrap();
    ask(&*store, &["DEL", "wk:lease:loop"]).await;
    assert!(first.renew(soon()).await.unwrap().is_none());
    assert!(second.take(soon()).await.unwrap().is_some());
});

on_every_store!(a_term_ends_before_the_lease_can_be_lost, |store| {
    let clock = FakeClock::at(0);
    let lease = Lease::new(store, Arc::new(clock.clone()), "loop", Duration::from_secs(10));
    clock.advance(Duration::from_secs(3));
    let term = lease.take(soon()).await.unwrap().unwrap();
    assert_eq!(term.until, Duration::from_secs(12));
});

on_every_store!(leadership_moves_and_never_two_lead, |store| {
    let (leading, most, turns) =
        (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)), Arc::new(AtomicU64::new(0)));
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let contenders: Vec<_> = (0..3)
        .map(|_| {
            let lease = lease(&store, Duration::from_millis(150));
            let (leading, most, turns) = (leading.clone(), most.clone(), turns.clone());
            let mut stopped = stopped.clone();
            tokio::spawn(async move {
                let work = || {
                    let (leading, most, turns) = (leading.clone(), most.clone(), turns.clone());
                    async move {
                        let _lead = Leading::new(&leading);
                        most.fetch_max(leading.load(Ordering::SeqCst), Ordering::SeqCst);
                        turns.fetch_add(1, Ordering::SeqCst);
                        // Longer than one lease: it lives by being renewed.
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                };
                let ended = async move {
                    let _ = stopped.wait_for(|stopped| *stopped).await;
                };
                lease.lead(work, ended).await;
            })
        })
        .collect();
    let four = async {
        while turns.load(Ordering::SeqCst) < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), four).await.expect("leadership moves");
    stop.send(true).unwrap();
    for contender in contenders {
        contender.await.unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
    assert_eq!(leading.load(Ordering::SeqCst), 0, "stopping drops the work");
    assert_eq!(int(&*store, &["EXISTS", "wk:lease:loop"]).await, 0, "and gives the lease back");
});

struct Leading(Arc<AtomicI64>);

impl Leading {
    fn new(count: &Arc<AtomicI64>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Leading(count.clone())
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

on_every_store!(work_stops_when_the_lease_is_taken_away, |store| {
    let lease = lease(&store, Duration::from_millis(150));
    let count = Arc::new(AtomicI64::new(0));
    let work = || {
        let count = count.clone();
        async move {
            let _lead = Leading::new(&count);
            std::future::pending::<()>().await;
        }
    };
    let thief = async {
        while count.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        ask(&*store, &["SET", "wk:lease:loop", "thief"]).await;
        while count.load(Ordering::SeqCst) == 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), lease.lead(work, thief)).await.unwrap();
    assert_eq!(lease.holder(soon()).await.unwrap().as_deref(), Some("thief"));
});

on_every_store!(the_clock_is_the_stores, |store| {
    let under = Arc::new(FakeClock::at(0));
    let clock = ServerClock::start(&*store, under.clone(), soon()).await.unwrap();
    let told = SystemClock::new().now_ms();
    assert!(clock.now_ms().abs_diff(told) < 5_000, "one machine, one time");
    under.advance(Duration::from_millis(700));
    let before = clock.now_ms();
    clock.refresh(&*store, soon()).await.unwrap();
    assert!(clock.now_ms() >= before);
});
