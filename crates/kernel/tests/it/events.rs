//! Reading events: live, filtered, resumed, with gaps told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kernel::events::{EventReader, Feed, Filter, Record, Seq};
use kernel::numbers::Dialect;
use kernel::{Event, Store};
use testkit::on_every_store;

use crate::support::{ask, int, soon, text};

const WAIT: Duration = Duration::from_secs(5);

fn stream(scope: &str) -> String {
    format!("wk:reactors:{scope}:events")
}

fn feeds() -> Vec<Feed> {
    vec![
        Feed::scoped("reactors", "wk:reactors:scopes", |scope| Some(stream(scope))),
        Feed::one("rooms", "wk:rooms:events", None),
    ]
}

fn reader(store: &Arc<dyn Store>, filter: &str, after: &[(&str, Seq)]) -> EventReader {
    let after = after.iter().map(|(stream, seq)| ((*stream).to_owned(), *seq)).collect();
    EventReader::new(store.clone(), feeds(), serde_json::from_str(filter).unwrap(), after)
}

async fn tell(store: &dyn Store, stream: &str, kind: &str, id: &str) {
    let event = Event::new(kind, 5, id, &BTreeMap::from([("n", id)]), Dialect::Go).unwrap();
    store.call(&event.append_to(stream).cmd(), soon()).await.unwrap();
}

/// `stream type id`, one line each.
fn lines(records: &[Record]) -> Vec<String> {
    records
        .iter()
        .map(|record| match record {
            Record::Event(told) => {
                format!("{} {} {}", told.stream, told.envelope.kind, told.envelope.id)
            }
            Record::Gap(gap) => format!("{} gap", gap.stream),
        })
        .collect()
}

on_every_store!(a_reader_gets_what_happens_from_now_on, |store| {
    ask(&*store, &["SADD", "wk:reactors:scopes", "t1"]).await;
    tell(&*store, &stream("t1"), "CREATED", "before").await;
    let mut reader = reader(&store, "{}", &[]);
    assert!(reader.next(Duration::ZERO).await.unwrap().is_empty());
    tell(&*store, &stream("t1"), "CREATED", "7").await;
    let records = reader.next(WAIT).await.unwrap();
    let line = serde_json::to_value(&records[0]).unwrap();
    let seq = line["seq"].clone();
    let wanted = serde_json::json!({
        "module": "reactors", "scope": "t1", "seq": seq, "at": 5, "type": "CREATED", "id": "7",
        "body": {"n": "7"}, "stream": "wk:reactors:t1:events",
    });
    assert_eq!(line, wanted);
    assert_eq!(records.len(), 1);
});

on_every_store!(a_waiting_reader_is_woken_by_news_and_by_a_new_scope, |store| {
    let mut reader = reader(&store, "{}", &[]);
    assert!(reader.next(Duration::ZERO).await.unwrap().is_empty());
    let reading = tokio::spawn(async move {
        let first = reader.next(WAIT).await.unwrap();
        let second = reader.next(WAIT).await.unwrap();
        [lines(&first), lines(&second)].concat()
    });
    tell(&*store, "wk:rooms:events", "opened", "ABCD1234").await;
    // Its scope is unknown so far; what it already holds is read from the subscription on.
    tell(&*store, &stream("new"), "CREATED", "1").await;
    ask(&*store, &["SADD", "wk:reactors:scopes", "new"]).await;
    let seen = reading.await.unwrap();
    assert_eq!(seen, ["wk:rooms:events opened ABCD1234", "wk:reactors:new:events CREATED 1"]);
});

on_every_store!(a_filter_narrows_streams_types_and_bodies, |store| {
    for scope in ["t1", "t2"] {
        ask(&*store, &["SADD", "wk:reactors:scopes", scope]).await;
    }
    let filter = r#"{"scopes":["t1"],"types":["HIT"],"where":{"n":"2"}}"#;
    let start = stream("t1");
    let mut reader = reader(&store, filter, &[(&start, Seq::START)]);
    for (scope, kind, id) in [("t1", "HIT", "1"), ("t1", "CREATED", "2"), ("t2", "HIT", "2")] {
        tell(&*store, &stream(scope), kind, id).await;
    }
    tell(&*store, &stream("t1"), "HIT", "2").await;
    assert_eq!(lines(&reader.next(WAIT).await.unwrap()), ["wk:reactors:t1:events HIT 2"]);
    assert_eq!(reader.places().len(), 1, "streams that cannot match are not read");
    // Another wish: what stays goes on, what comes starts now.
    reader.subscribe(Filter::default(), BTreeMap::new());
    assert!(reader.next(Duration::ZERO).await.unwrap().is_empty());
    tell(&*store, &stream("t2"), "HIT", "9").await;
    assert_eq!(lines(&reader.next(WAIT).await.unwrap()), ["wk:reactors:t2:events HIT 9"]);
});

on_every_store!(a_reader_resumes_where_another_stopped, |store| {
    for n in 0..1_200 {
        tell(&*store, "wk:rooms:events", "voted", &n.to_string()).await;
    }
    let mut first = reader(&store, "{}", &[("wk:rooms:events", Seq::START)]);
    let mut seen = first.next(WAIT).await.unwrap();
    assert!(seen.len() < 1_200, "a batch is bounded");
    let place = first.places()["wk:rooms:events"];
    drop(first);
    let mut second = reader(&store, "{}", &[("wk:rooms:events", place)]);
    while seen.len() < 1_200 {
        seen.extend(second.next(WAIT).await.unwrap());
    }
    let wanted: Vec<String> = (0..1_200).map(|n| format!("wk:rooms:events voted {n}")).collect();
    assert_eq!(lines(&seen), wanted);
});

on_every_store!(a_place_that_was_trimmed_is_told_as_a_gap, |store| {
    for n in 0..10 {
        tell(&*store, "wk:rooms:events", "voted", &n.to_string()).await;
    }
    let mut old = reader(&store, "{}", &[("wk:rooms:events", Seq { ms: 1, n: 0 })]);
    ask(&*store, &["XTRIM", "wk:rooms:events", "MAXLEN", "2"]).await;
    let gap = old.next(WAIT).await.unwrap();
    assert_eq!(lines(&gap), ["wk:rooms:events gap"]);
    let rest = old.next(WAIT).await.unwrap();
    assert_eq!(lines(&rest), ["wk:rooms:events voted 8", "wk:rooms:events voted 9"]);
    let Record::Gap(gap) = &gap[0] else { panic!("a gap") };
    let Record::Event(first) = &rest[0] else { panic!("an event") };
    assert_eq!(gap.from, first.envelope.seq);
});

on_every_store!(a_slow_reader_that_is_overtaken_hears_of_it, |store| {
    for n in 0..600 {
        tell(&*store, "wk:rooms:events", "voted", &n.to_string()).await;
    }
    let mut slow = reader(&store, "{}", &[("wk:rooms:events", Seq::START)]);
    let first = slow.next(WAIT).await.unwrap();
    assert_eq!(first.len(), 512);
    for n in 600..1_800 {
        tell(&*store, "wk:rooms:events", "voted", &n.to_string()).await;
    }
    ask(&*store, &["XTRIM", "wk:rooms:events", "MAXLEN", "1000"]).await;
    let second = lines(&slow.next(WAIT).await.unwrap());
    assert_eq!(second[..2], ["wk:rooms:events gap", "wk:rooms:events voted 800"]);
});

on_every_store!(very_many_streams_are_read_in_turn, |store| {
    for scope in 0..600 {
        ask(&*store, &["SADD", "wk:reactors:scopes", &format!("t{scope}")]).await;
    }
    let mut reader = reader(&store, r#"{"modules":["reactors"]}"#, &[]);
    assert!(reader.next(Duration::ZERO).await.unwrap().is_empty());
    for scope in 0..600 {
        tell(&*store, &stream(&format!("t{scope}")), "CREATED", "1").await;
    }
    let mut seen = Vec::new();
    while seen.len() < 600 {
        seen.extend(lines(&reader.next(WAIT).await.unwrap()));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 600);
});

on_every_store!(a_dropped_wait_loses_nothing, |store| {
    let mut reader = reader(&store, "{}", &[("wk:rooms:events", Seq::START)]);
    for n in 0..20 {
        let wait = reader.next(WAIT);
        let _ = tokio::time::timeout(Duration::from_millis(n % 3), wait).await.map(|got| {
            assert!(got.unwrap().is_empty());
        });
    }
    tell(&*store, "wk:rooms:events", "opened", "1").await;
    assert_eq!(lines(&reader.next(WAIT).await.unwrap()), ["wk:rooms:events opened 1"]);
});

on_every_store!(a_stream_stays_bounded, |store| {
    let mut cmds = Vec::new();
    let event = Event::new("voted", 5, "1", &1, Dialect::JavaScript).unwrap();
    cmds.resize(12_000, event.append_to("wk:rooms:events").cmd());
    store.pipeline(&cmds, soon()).await.unwrap();
    let length = int(&*store, &["XLEN", "wk:rooms:events"]).await;
    assert!((10_000..10_200).contains(&length), "{length}");
    assert_eq!(text(&*store, &["TYPE", "wk:rooms:events"]).await, "stream");
});
