//! What the kernel makes of a store that fails: nothing twice, nothing lost, no doubt where there is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernel::events::{EventReader, Feed, Filter, Record, Seq};
use kernel::numbers::Dialect;
use kernel::timers::Scopes;
use kernel::{
    Effects as _, Event, Fault, Step, Stepped, Store as _, SystemClock, TimerKeys, Timers, Verdict,
};
use testkit::update::{Change, Updated, update};
use testkit::{Faulty, How, on_every_store};

use crate::support::{ask, int, refused, soon, text};

on_every_store!(a_step_without_an_answer_can_be_repeated, |store| {
    let faulty = Faulty::new(store.clone());
    let changed = refused(0, Some("new"), false);
    for (how, second) in [(How::AnswerLost, changed), (How::RequestLost, Stepped::Done)] {
        ask(&*store, &["SET", "doc", "old"]).await;
        ask(&*store, &["DEL", "fired"]).await;
        let step = Step::new("doc").expect("old").write("new").incrby("fired", 1);
        faulty.fail_next(how);
        let first = faulty.step(&step, soon()).await;
        assert!(matches!(first, Err(Fault::Unknown(_))), "{first:?}");
        assert_eq!(faulty.step(&step, soon()).await.unwrap(), second);
        assert_eq!(text(&*store, &["GET", "fired"]).await, "1");
    }
});

on_every_store!(an_update_without_an_answer_to_exec_is_not_repeated, |store| {
    let faulty = Faulty::new(store.clone());
    for (how, after) in [(How::AnswerLost, "new"), (How::RequestLost, "old")] {
        ask(&*store, &["SET", "doc", "old"]).await;
        let mut calls = 0;
        let result = update(&*faulty, "doc", soon(), |_| {
            calls += 1;
            faulty.fail_next(how);
            Change::write("new")
        })
        .await;
        assert!(matches!(result, Err(Fault::Unknown(_))), "{result:?}");
        assert_eq!(calls, 1);
        assert_eq!(text(&*store, &["GET", "doc"]).await, after);
    }
});

on_every_store!(an_update_that_fails_before_exec_leaves_no_doubt, |store| {
    let faulty = Faulty::new(store.clone());
    ask(&*store, &["SET", "doc", "old"]).await;
    // Every call fails at once, so that nothing but reading is reached.
    faulty.fail_every(1, How::AnswerLost);
    let result = update(&*faulty, "doc", soon(), |_| Change::write("new")).await;
    assert!(result.is_err());
    faulty.fail_every(0, How::NotSent);
    faulty.fail_every(2, How::AnswerLost);
    let result = update(&*faulty, "doc", soon(), |_| Change::write("new")).await;
    assert!(matches!(result, Err(Fault::Unavailable(_))), "{result:?}");
    assert_eq!(text(&*store, &["GET", "doc"]).await, "old");
    faulty.fail_every(0, How::NotSent);
    let result = update(&*faulty, "doc", soon(), |_| Change::write("new")).await;
    assert_eq!(result, Ok(Updated::Done));
});

on_every_store!(timers_fire_once_on_a_store_that_keeps_failing, |store| {
    let faulty = Faulty::new(store.clone());
    let keys = TimerKeys::of("wk:test:due");
    for n in 0..40 {
        for op in keys.arm(&format!("m{n}"), 1, "p") {
            store.call(&op.cmd(), soon()).await.unwrap();
        }
    }
    ask(&*store, &["SET", "doc", "d"]).await;
    faulty.fail_every(3, How::AnswerLost);
    let served = |lose: Arc<Faulty>| {
        let named = TimerKeys::of("wk:test:due");
        let clock = Arc::new(SystemClock::new());
        let timers = Timers::new(lose, clock, Scopes::One, move |_| Some(named.clone()));
        timers.lease(Duration::from_millis(50)).look_every(Duration::from_millis(5)).batch(4)
    };
    let act = |timer: kernel::Timer| {
        let faulty = faulty.clone();
        async move {
            let work =
                Step::new("doc").incrby("fired", 1).incrby(format!("fired:{}", timer.member), 1);
            match faulty.step(&timer.finish(work), soon()).await {
                Ok(_) => Verdict::Done,
                Err(_) => Verdict::Failed,
            }
        }
    };
    let all = async {
        while int(&*store, &["ZCARD", "wk:test:due"]).await > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let (one, two) = (served(faulty.clone()), served(faulty.clone()));
    let other = two.serve(act, std::future::pending());
    tokio::select! {
        () = one.serve(act, all) => {}
        () = other => unreachable!("it never ends by itself"),
        () = tokio::time::sleep(Duration::from_secs(20)) => panic!("timers were not served"),
    }
    assert_eq!(text(&*store, &["GET", "fired"]).await, "40");
    assert_eq!(text(&*store, &["GET", "fired:m7"]).await, "1");
    assert_eq!(int(&*store, &["HLEN", "wk:test:due:data"]).await, 0);
    assert!(faulty.failed() > 10);
});

on_every_store!(events_are_read_once_and_in_order_on_a_store_that_keeps_failing, |store| {
    let faulty = Faulty::new(store.clone());
    for n in 0..1_500 {
        let event = Event::new("voted", 5, n.to_string(), &n, Dialect::JavaScript).unwrap();
        store.call(&event.append_to("wk:rooms:events").cmd(), soon()).await.unwrap();
    }
    let feeds = vec![Feed::one("rooms", "wk:rooms:events", None)];
    let after = [("wk:rooms:events".to_owned(), Seq::START)].into();
    let mut reader = EventReader::new(faulty.clone(), feeds, Filter::default(), after);
    faulty.fail_every(3, How::AnswerLost);
    let (mut seen, faults) = (Vec::new(), AtomicU64::new(0));
    while seen.len() < 1_500 {
        match reader.next(Duration::from_secs(1)).await {
            Ok(records) => seen.extend(records.into_iter().map(|record| match record {
                Record::Event(told) => told.envelope.id,
                Record::Gap(gap) => panic!("nothing was trimmed: {gap:?}"),
            })),
            Err(_) => assert!(faults.fetch_add(1, Ordering::SeqCst) < 100),
        }
    }
    assert_eq!(seen, (0..1_500).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(faults.load(Ordering::SeqCst) > 0);
});
