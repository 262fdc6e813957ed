//! Rules on documents as their modules read them: a batch reads the text once at most and writes it once, and
//! what the writer keeps is never believed against the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::{Decision, Document, Documents, Effects as _, Fault, Mark, Step, Writer, Written};
use testkit::on_every_store;

use crate::support::{ask, int, soon, text};

static READ: AtomicU64 = AtomicU64::new(0);

/// Numbers, stored with spaces between them.
#[derive(Debug, Clone, PartialEq)]
struct Numbers(Vec<u64>);

impl Document for Numbers {
    fn read(key: &[u8], text: &[u8], _: Option<&[u8]>) -> Result<Self, Fault> {
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

/// The mark of the one document here.
fn mark() -> Mark {
    Mark { hash: b"marks".to_vec(), field: b"doc".to_vec() }
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
    let changes = (1..=200).map(|number| writer.apply("doc", mark(), soon(), push("doc", number)));
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
    let done = writer.apply("doc", mark(), soon(), push("doc", 3)).await.unwrap();
    assert_eq!(done, Written::Answer(3));
    assert_eq!(text(&*store, &["GET", "doc"]).await, "1 2 3");
});

on_every_store!(a_document_is_left_deleted_made_anew_and_refused, |store| {
    let writer = Writer::<Documents<Numbers>>::of_documents(Arc::clone(&store));
    let made = writer.apply("doc", mark(), soon(), push("doc", 5)).await.unwrap();
    assert_eq!((made, text(&*store, &["GET", "doc"]).await.as_str()), (Written::Answer(1), "5"));
    // A step that changes nothing of the document writes beside it, and compares it.
    let beside = |current: Option<&Numbers>| {
        let step = Step::new("doc").sadd("others", "x");
        (Decision::Write(step, current.cloned()), current.cloned())
    };
    let told = writer.apply("doc", mark(), soon(), beside).await.unwrap();
    assert_eq!(told, Written::Answer(Some(Numbers(vec![5]))));
    assert_eq!(int(&*store, &["SCARD", "others"]).await, 1);
    let drop = |_: Option<&Numbers>| (Decision::Write(Step::new("doc").delete(), 0), None);
    let (gone, anew) = tokio::join!(
        writer.apply("doc", mark(), soon(), drop),
        writer.apply("doc", mark(), soon(), push("doc", 6))
    );
    assert_eq!((gone.unwrap(), anew.unwrap()), (Written::Answer(0), Written::Answer(1)));
    assert_eq!(text(&*store, &["GET", "doc"]).await, "6");
    ask(&*store, &["SET", "doc", "six"]).await;
    let bad = writer.apply("doc", mark(), soon(), push("doc", 1)).await;
    assert!(matches!(bad, Err(Fault::Corrupt { .. })), "{bad:?}");
    assert_eq!(text(&*store, &["GET", "doc"]).await, "six");
});

on_every_store!(a_document_that_was_remembered_wrongly_costs_a_round_trip_and_no_truth, |store| {
    let writer = Writer::<Documents<Numbers>>::of_documents(Arc::clone(&store));
    ask(&*store, &["SET", "doc", "1"]).await;
    writer.remember("doc", b"1 2 3".to_vec(), (mark(), None), Numbers(vec![1, 2, 3]));
    let done = writer.apply("doc", mark(), soon(), push("doc", 4)).await.unwrap();
    assert_eq!((done, text(&*store, &["GET", "doc"]).await.as_str()), (Written::Answer(2), "1 4"));
});

on_every_store!(a_document_made_anew_with_the_same_text_is_another_one, |store| {
    // The text alone does not tell them apart: what was remembered of the first one is not so any more.
    let told = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let writer = Writer::<Documents<Marked>>::of_documents(Arc::clone(&store));
    let look = || {
        let told = Arc::clone(&told);
        move |current: Option<&Marked>| {
            told.lock().push(current.map(|one| one.0.clone()));
            (
                Decision::Write(Step::new("doc").sadd("others", "x"), current.cloned()),
                current.cloned(),
            )
        }
    };
    ask(&*store, &["SET", "doc", "1"]).await;
    let first = writer.apply("doc", mark(), soon(), look()).await.unwrap();
    assert_eq!(first, Written::Answer(Some(Marked(None))));
    ask(&*store, &["HSET", "marks", "doc", "2"]).await;
    let second = writer.apply("doc", mark(), soon(), look()).await.unwrap();
    assert_eq!(second, Written::Answer(Some(Marked(Some("2".to_owned())))));
    let seen = std::mem::take(&mut *told.lock());
    assert_eq!(seen, [Some(None), Some(None), Some(Some("2".to_owned()))], "refused once");
    // A guard of the change's own counts from 0, behind those of the document.
    let guarded = |_: Option<&Marked>| {
        let step = Step::new("doc").while_exists("others").while_absent("others");
        (Decision::Write(step, ()), None)
    };
    let refused = writer.apply("doc", mark(), soon(), guarded).await.unwrap();
    assert_eq!(refused, Written::Guarded(1));
    ask(&*store, &["SET", "marks", "no hash"]).await;
    let fresh = Writer::<Documents<Marked>>::of_documents(Arc::clone(&store));
    let wrong = fresh.apply("doc", mark(), soon(), look()).await;
    assert!(matches!(wrong, Err(Fault::Corrupt { key, .. }) if key == "marks"));
});

/// A document that says nothing but its mark.
#[derive(Debug, Clone, PartialEq)]
struct Marked(Option<String>);

impl Document for Marked {
    fn read(_: &[u8], _: &[u8], mark: Option<&[u8]>) -> Result<Self, Fault> {
        Ok(Marked(mark.map(|mark| String::from_utf8_lossy(mark).into_owned())))
    }

    fn text(&self, _: Option<(&Self, &[u8])>) -> Result<Vec<u8>, Fault> {
        Ok(b"1".to_vec())
    }
}
