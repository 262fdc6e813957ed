//! Optimistic updates: no lost change, no key that came back, a bounded number of attempts.

use kernel::{Effects as _, Fault};
use testkit::on_every_store;
use testkit::update::{Change, Tries, Updated, update, update_with};

use crate::support::{ask, int, soon, text};

on_every_store!(an_update_writes_document_and_index_together, |store| {
    ask(&*store, &["SET", "doc", "1", "PX", "60000"]).await;
    let done = update(&*store, "doc", soon(), |text| {
        assert_eq!(text, Some(&b"1"[..]));
        Change::write("2").sadd("set", "a")
    });
    assert_eq!(done.await.unwrap(), Updated::Done);
    assert_eq!(text(&*store, &["GET", "doc"]).await, "2");
    assert!(int(&*store, &["PTTL", "doc"]).await > 50_000);
    assert_eq!(int(&*store, &["SISMEMBER", "set", "a"]).await, 1);
    let gone = update(&*store, "doc", soon(), |_| Change::delete().srem("set", "a"));
    assert_eq!(gone.await.unwrap(), Updated::Done);
    assert_eq!(int(&*store, &["EXISTS", "doc", "set"]).await, 0);
});

on_every_store!(a_missing_document_is_only_made_by_create, |store| {
    let write = update(&*store, "doc", soon(), |_| Change::write("x").sadd("set", "a"));
    assert_eq!(write.await.unwrap(), Updated::Gone);
    let index = update(&*store, "doc", soon(), |_| Change::leave().sadd("set", "a"));
    assert_eq!(index.await.unwrap(), Updated::Gone);
    assert_eq!(int(&*store, &["EXISTS", "doc", "set"]).await, 0);
    let left = update(&*store, "doc", soon(), |_| Change::leave());
    assert_eq!(left.await.unwrap(), Updated::Left);
    let create = update(&*store, "doc", soon(), |_| Change::create("x", Some(60_000)));
    assert_eq!(create.await.unwrap(), Updated::Done);
    assert!(int(&*store, &["PTTL", "doc"]).await > 50_000);
    let again = update(&*store, "doc", soon(), |_| Change::create("y", None));
    assert_eq!(again.await.unwrap(), Updated::Exists);
    assert_eq!(text(&*store, &["GET", "doc"]).await, "x");
});

on_every_store!(no_increment_is_lost_between_many, |store| {
    ask(&*store, &["SET", "doc", "0"]).await;
    let tries = Tries { attempts: 200, pause_ms: 0..=2 };
    let racers: Vec<_> = (0..8)
        .map(|_| {
            let (store, tries) = (store.clone(), tries.clone());
            tokio::spawn(async move {
                for _ in 0..5 {
                    let done = update_with(&*store, "doc", &tries, soon(), |text| {
                        let seen: i64 =
                            std::str::from_utf8(text.unwrap()).unwrap().parse().unwrap();
                        Change::write((seen + 1).to_string())
                    });
                    assert_eq!(done.await.unwrap(), Updated::Done);
                }
            })
        })
        .collect();
    for racer in racers {
        racer.await.unwrap();
    }
    assert_eq!(text(&*store, &["GET", "doc"]).await, "40");
});

on_every_store!(a_document_that_others_keep_changing_is_given_up, |store| {
    ask(&*store, &["SET", "doc", "0"]).await;
    let mut calls = 0;
    let other = store.clone();
    let result = update(&*store, "doc", soon(), |_| {
        calls += 1;
        // Somebody else writes between our reading and our writing, each time.
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(ask(&*other, &["INCR", "doc"]))
        });
        Change::write("mine")
    })
    .await;
    assert_eq!(result, Err(Fault::Contended { key: "doc".to_owned(), attempts: 10 }));
    assert_eq!(calls, 10);
    assert_eq!(text(&*store, &["GET", "doc"]).await, "10");
});

on_every_store!(a_document_deleted_meanwhile_is_not_recreated, |store| {
    ask(&*store, &["SET", "doc", "0"]).await;
    let other = store.clone();
    let result = update(&*store, "doc", soon(), |_| {
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(ask(&*other, &["DEL", "doc"]))
        });
        Change::write("mine")
    })
    .await;
    assert_eq!(result, Ok(Updated::Gone));
    assert_eq!(int(&*store, &["EXISTS", "doc"]).await, 0);
});

on_every_store!(an_index_of_the_wrong_type_is_reported_by_its_key, |store| {
    ask(&*store, &["SET", "doc", "0"]).await;
    ask(&*store, &["SET", "set", "text"]).await;
    let result = update(&*store, "doc", soon(), |_| Change::write("1").sadd("set", "a")).await;
    assert!(matches!(&result, Err(Fault::Corrupt { key, .. }) if key == "set"), "{result:?}");
});
