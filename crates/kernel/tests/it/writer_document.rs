//! Rules on documents as their modules read them: a batch reads the text once at most and writes it once, and
//! what the writer keeps is never believed against the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::{Decision, Document, Documents, Effects as _, Fault, Step, Writer, Written};
use testkit::on_every_store;

use crate::support::{ask, int, soon, text};

static READ: AtomicU64 = AtomicU64::new(0);

/// Numbers, stored with spaces between them.
#[derive(Debug, Clone, PartialEq)]
struct Numbers(Vec<u64>);

impl Document for Numbers {
    fn read(key: &[u8], text: &[u8]) -> Result<Self, Fault> {
        READ.fetch_add(1, Ordering::Relaxed);
        let key = String::from_utf8_lossy(key).into_owned();
        let bad = |_| Fault::Corrupt { key: key.clone(), detail: "no numbers".to_owned() };
        let text = String::from_utf8_lossy(text);
        let numbers = text.split_whitespace().map(str::parse).collect::<Result<_, _>>();
        numbers.map(Numbers).map_err(bad)
    }

    fn text(&self, _: Option<(&Self, &[u8])>) -> Result<Vec<u8>, Fault> {
        let words: Vec<String> = self.0.iter().map(u64::to_string).collect();
        Ok(words.join(" ").into_bytes())
    }
}

/// Appends a number; the answer is how many there are.
fn push(
    key: &'static str,
    number: u64,
) -> impl FnMut(Option<&Numbers>) -> (Decision<usize>, Option<Numbers>) + Send {
    move |current| {
        let mut numbers = current.cloned().unwrap_or(Numbers(Vec::new()));
        numbers.0.push(number);
        (Decision::Write(Step::new(key), numbers.0.len()), Some(numbers))
    }
}

on_every_store!(many_changes_read_the_document_once_and_keep_their_order, |store| {
    let writer = Writer::<Documents<Numbers>>::of_documents(Arc::clone(&store));
    ask(&*store, &["SET", "doc", "7"]).await;
    let read = READ.load(Ordering::Relaxed);
    let changes = (1..=200).map(|number| writer.apply("doc", soon(), push("doc", number)));
    let done = futures_util::future::join_all(changes).await;
    let mut places: Vec<usize> = done
        .into_iter()
        .map(|done| match done.unwrap() {
            Written::Answer(place) => place,
            Written::Guarded(_) => panic!("no guard was set"),
        })
        .collect();
    places.sort_unstable();
    assert_eq!(places, (2..=201).collect::<Vec<_>>(), "each has its own place");
    assert_eq!(text(&*store, &["GET", "doc"]).await.split(' ').count(), 201);
    assert_eq!(READ.load(Ordering::Relaxed) - read, 1, "nobody else wrote it");
    // What somebody else wrote is read before it is built upon.
    ask(&*store, &["SET", "doc", "1 2"]).await;
    let done = writer.apply("doc", soon(), push("doc", 3)).await.unwrap();
    assert_eq!(done, Written::Answer(3));
    assert_eq!(text(&*store, &["GET", "doc"]).await, "1 2 3");
});

on_every_store!(a_document_is_left_deleted_made_anew_and_refused, |store| {
    let writer = Writer::<Documents<Numbers>>::of_documents(Arc::clone(&store));
    let made = writer.apply("doc", soon(), push("doc", 5)).await.unwrap();
    assert_eq!((made, text(&*store, &["GET", "doc"]).await.as_str()), (Written::Answer(1), "5"));
    // A step that changes nothing of the document writes beside it, and compares it.
    let beside = |current: Option<&Numbers>| {
        let step = Step::new("doc").sadd("others", "x");
        (Decision::Write(step, current.cloned()), current.cloned())
    };
    let told = writer.apply("doc", soon(), beside).await.unwrap();
    assert_eq!(told, Written::Answer(Some(Numbers(vec![5]))));
    assert_eq!(int(&*store, &["SCARD", "others"]).await, 1);
    let drop = |_: Option<&Numbers>| (Decision::Write(Step::new("doc").delete(), 0), None);
    let (gone, anew) = tokio::join!(
        writer.apply("doc", soon(), drop),
        writer.apply("doc", soon(), push("doc", 6))
    );
    assert_eq!((gone.unwrap(), anew.unwrap()), (Written::Answer(0), Written::Answer(1)));
    assert_eq!(text(&*store, &["GET", "doc"]).await, "6");
    ask(&*store, &["SET", "doc", "six"]).await;
    let bad = writer.apply("doc", soon(), push("doc", 1)).await;
    assert!(matches!(bad, Err(Fault::Corrupt { .. })), "{bad:?}");
    assert_eq!(text(&*store, &["GET", "doc"]).await, "six");
});

on_every_store!(a_document_that_was_remembered_wrongly_costs_a_round_trip_and_no_truth, |store| {
    let writer = Writer::<Documents<Numbers>>::of_documents(Arc::clone(&store));
    ask(&*store, &["SET", "doc", "1"]).await;
    writer.remember("doc", b"1 2 3".to_vec(), Numbers(vec![1, 2, 3]));
    let done = writer.apply("doc", soon(), push("doc", 4)).await.unwrap();
    assert_eq!((done, text(&*store, &["GET", "doc"]).await.as_str()), (Written::Answer(2), "1 4"));
});
