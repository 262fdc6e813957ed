//! What must hold on a Cluster: steps, timers, updates and leases inside one slot, events over many.

use std::sync::Arc;
use std::time::Duration;

use kernel::events::{EventReader, Feed, Filter, Record};
use kernel::numbers::Dialect;
use kernel::timers::Scopes;
use kernel::{
    Effects as _, Event, FakeClock, Lease, Step, Stepped, SystemClock, TimerKeys, Timers, Verdict,
};
use testkit::on_cluster;
use testkit::update::{Change, Updated, update};

use crate::support::{ask, int, soon, text};

const SCOPES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn key(scope: &str, what: &str) -> String {
    format!("wk:reactors:{{{scope}}}:{what}")
}

on_cluster!(steps_timers_and_events_of_many_scopes_work, |store, _cluster| {
    let feed = Feed::scoped("reactors", "wk:reactors:scopes", |scope| Some(key(scope, "events")));
    let mut reader = EventReader::new(store.clone(), vec![feed], Filter::default(), [].into());
    for scope in SCOPES {
        ask(&*store, &["SADD", "wk:reactors:scopes", scope]).await;
        ask(&*store, &["SET", &key(scope, "doc"), "0"]).await;
    }
    assert!(reader.next(Duration::ZERO).await.unwrap().is_empty());
    for scope in SCOPES {
        let event = Event::new("armed", 5, scope, &1, Dialect::Go).unwrap();
        let step = Step::new(key(scope, "doc"))
            .expect("0")
            .write("1")
            .ops(TimerKeys::of(key(scope, "due")).arm("m", 1, "p"))
            .event(key(scope, "events"), &event);
        assert_eq!(store.step(&step, soon()).await.unwrap(), Stepped::Done);
    }
    let keys = |scope: &str| Some(TimerKeys::of(key(scope, "due")));
    let set = Scopes::Set("wk:reactors:scopes".to_owned());
    let timers = Timers::new(store.clone(), Arc::new(FakeClock::at(10)), set, keys);
    let act = |timer: kernel::Timer| {
        let store = store.clone();
        async move {
            let event = Event::new("fired", 5, &timer.scope, &1, Dialect::Go).unwrap();
            let step = Step::new(key(&timer.scope, "doc"))
                .expect("1")
                .write("2")
                .event(key(&timer.scope, "events"), &event);
            let finished = store.step(&timer.finish(step), soon()).await.unwrap();
            assert_eq!(finished, Stepped::Done);
            Verdict::Done
        }
    };
    let all = async {
        for scope in SCOPES {
            while text(&*store, &["GET", &key(scope, "doc")]).await != "2" {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            while int(&*store, &["EXISTS", &key(scope, "due")]).await != 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    };
    let served = timers.serve(act, all);
    tokio::time::timeout(Duration::from_secs(20), served).await.expect("timers are served");
    let mut seen = Vec::new();
    while seen.len() < 2 * SCOPES.len() {
        for record in reader.next(Duration::from_secs(5)).await.unwrap() {
            let Record::Event(told) = record else { panic!("no gap: {record:?}") };
            assert_eq!(told.stream, key(&told.envelope.id, "events"));
            seen.push(told.envelope.kind + &told.envelope.id);
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 2 * SCOPES.len());
});

on_cluster!(updates_and_leases_find_their_node, |store, _cluster| {
    for scope in SCOPES {
        let doc = key(scope, "doc");
        ask(&*store, &["SET", &doc, "0"]).await;
        let index = key(scope, "index");
        let done = update(&*store, &doc, soon(), |_| Change::write("1").sadd(&index, "m")).await;
        assert_eq!(done.unwrap(), Updated::Done);
        let clock = Arc::new(SystemClock::new());
        let lease = Lease::new(store.clone(), clock, scope, Duration::from_secs(30));
        assert!(lease.take(soon()).await.unwrap().is_some());
        assert!(lease.renew(soon()).await.unwrap().is_some());
        lease.give_back(soon()).await.unwrap();
    }
});
