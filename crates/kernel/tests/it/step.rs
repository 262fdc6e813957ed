//! Steps: all or nothing, never a key that came back.

use std::fmt::Write as _;

use kernel::numbers::Dialect;
use kernel::{Effects as _, Event, Fault, Pending, Step, Swap};
use testkit::on_every_store;

use crate::support::{ask, int, soon, text};

on_every_store!(a_step_writes_indexes_and_tells_at_once, |store| {
    ask(&*store, &["SET", "doc", "old", "PX", "60000"]).await;
    let event = Event::new("hit", 5, "7", &1, Dialect::Go).unwrap();
    let done = Step::new("doc")
        .expect("old")
        .write("new")
        .sadd("set", "a")
        .zadd("zset", 1_700_000_000_123_u64, "b")
        .hset("hash", "f", "v")
        .hincrby("hash", "n", 3)
        .incrby("count", 2)
        .lpush("list", "l")
        .set_for("cool", "1", 60_000)
        .set_for("never", "1", 0)
        .event("stream", &event)
        .run(&*store, soon())
        .await
        .unwrap();
    assert_eq!(done, Swap::Swapped);
    assert_eq!(text(&*store, &["GET", "doc"]).await, "new");
    assert!(int(&*store, &["PTTL", "doc"]).await > 50_000);
    assert_eq!(int(&*store, &["SISMEMBER", "set", "a"]).await, 1);
    assert_eq!(text(&*store, &["ZSCORE", "zset", "b"]).await, "1700000000123");
    assert_eq!(text(&*store, &["HGET", "hash", "n"]).await, "3");
    assert_eq!(text(&*store, &["GET", "count"]).await, "2");
    assert_eq!(int(&*store, &["LLEN", "list"]).await, 1);
    assert!(int(&*store, &["PTTL", "cool"]).await > 50_000);
    assert_eq!(int(&*store, &["EXISTS", "never"]).await, 0);
    assert_eq!(int(&*store, &["XLEN", "stream"]).await, 1);

    let undone = Step::new("doc")
        .expect("new")
        .delete()
        .srem("set", "a")
        .zrem("zset", "b")
        .hdel("hash", "f")
        .lrem("list", "l")
        .del("cool")
        .run(&*store, soon())
        .await
        .unwrap();
    assert_eq!(undone, Swap::Swapped);
    assert_eq!(int(&*store, &["EXISTS", "doc", "set", "zset", "list", "cool"]).await, 0);
});

on_every_store!(a_changed_document_is_left_alone, |store| {
    ask(&*store, &["SET", "doc", "other"]).await;
    let step = Step::new("doc").expect("old").write("new").sadd("set", "a");
    assert_eq!(step.run(&*store, soon()).await.unwrap(), Swap::Changed);
    assert_eq!(text(&*store, &["GET", "doc"]).await, "other");
    assert_eq!(int(&*store, &["EXISTS", "set"]).await, 0);
});

on_every_store!(a_document_that_is_gone_stays_gone, |store| {
    let expecting = Step::new("doc").expect("old").write("new").sadd("set", "a");
    assert_eq!(expecting.run(&*store, soon()).await.unwrap(), Swap::Gone);
    let blind = Step::new("doc").write("new").sadd("set", "a");
    assert_eq!(blind.run(&*store, soon()).await.unwrap(), Swap::Gone);
    assert_eq!(int(&*store, &["EXISTS", "doc", "set"]).await, 0);
});

on_every_store!(only_one_of_two_creates, |store| {
    let create = Step::new("doc").absent().write_for("first", 60_000).sadd("set", "a");
    assert_eq!(create.run(&*store, soon()).await.unwrap(), Swap::Swapped);
    assert!(int(&*store, &["PTTL", "doc"]).await > 50_000);
    let again = Step::new("doc").absent().write("second").sadd("set", "b");
    assert_eq!(again.run(&*store, soon()).await.unwrap(), Swap::Changed);
    assert_eq!(text(&*store, &["GET", "doc"]).await, "first");
    assert_eq!(int(&*store, &["SCARD", "set"]).await, 1);
});

on_every_store!(every_guard_can_stop_the_step, |store| {
    ask(&*store, &["SET", "doc", "d"]).await;
    ask(&*store, &["SET", "other", "o"]).await;
    ask(&*store, &["HSET", "hash", "f", "v"]).await;
    let step = || Step::new("doc").expect("d").sadd("set", "a");
    for stopped in [
        step().while_text("other", "x"),
        step().while_text("none", "x"),
        step().while_absent("other"),
        step().while_exists("none"),
        step().while_field("hash", "f", "x"),
        step().while_field("hash", "g", "x"),
        step().while_no_field("hash", "f"),
    ] {
        assert_eq!(stopped.run(&*store, soon()).await.unwrap(), Swap::Changed, "{stopped:?}");
    }
    assert_eq!(int(&*store, &["EXISTS", "set"]).await, 0);
    let passed = step()
        .while_text("other", "o")
        .while_absent("none")
        .while_exists("other")
        .while_field("hash", "f", "v")
        .while_no_field("hash", "g");
    assert_eq!(passed.run(&*store, soon()).await.unwrap(), Swap::Swapped);
});

on_every_store!(an_index_of_the_wrong_type_refuses_the_whole_step, |store| {
    ask(&*store, &["SET", "doc", "old"]).await;
    ask(&*store, &["SET", "broken", "text"]).await;
    ask(&*store, &["HSET", "hash", "n", "many"]).await;
    let step = || Step::new("doc").expect("old").write("new").sadd("set", "a");
    let event = Event::new("hit", 5, "7", &1, Dialect::Go).unwrap();
    for broken in [
        step().zadd("broken", 1, "m"),
        step().event("broken", &event),
        step().hincrby("hash", "n", 1),
        step().incrby("broken", 1),
    ] {
        let fault = broken.run(&*store, soon()).await.unwrap_err();
        assert!(
            matches!(&fault, Fault::Refused { code, detail } if code == "WRONGTYPE" && detail.contains("nothing was written")),
            "{fault:?}"
        );
    }
    assert_eq!(text(&*store, &["GET", "doc"]).await, "old");
    assert_eq!(int(&*store, &["EXISTS", "set"]).await, 0);
});

on_every_store!(of_many_deletes_one_wins, |store| {
    ask(&*store, &["SET", "doc", "old"]).await;
    let racers: Vec<_> = (0..16)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                Step::new("doc")
                    .expect("old")
                    .delete()
                    .incrby("kills", 1)
                    .run(&*store, soon())
                    .await
            })
        })
        .collect();
    let mut won = 0;
    for racer in racers {
        won += u32::from(racer.await.unwrap().unwrap() == Swap::Swapped);
    }
    assert_eq!(won, 1);
    assert_eq!(text(&*store, &["GET", "kills"]).await, "1");
});

on_every_store!(a_step_with_very_many_writes_fits, |store| {
    let step = (0..500).fold(Step::new("doc").absent().write("d"), |step, n| {
        step.sadd(format!("set:{n}"), "a").publish("channel", "told")
    });
    assert_eq!(step.run(&*store, soon()).await.unwrap(), Swap::Swapped);
    assert_eq!(int(&*store, &["DBSIZE"]).await, 501);
});

on_every_store!(a_command_is_answered_once, |store| {
    ask(&*store, &["XGROUP", "CREATE", "asks", "workers", "0", "MKSTREAM"]).await;
    let entry = text(&*store, &["XADD", "asks", "*", "type", "HIT"]).await;
    ask(&*store, &["XREADGROUP", "GROUP", "workers", "one", "STREAMS", "asks", ">"]).await;
    ask(&*store, &["SET", "doc", "0"]).await;
    let command = Pending { stream: "asks".into(), group: "workers".into(), entry };
    let answer = || Step::new("doc").incrby("count", 1).answers(&command);
    assert_eq!(answer().run(&*store, soon()).await.unwrap(), Swap::Swapped);
    // A server that was taken for dead comes back with the same command.
    assert_eq!(answer().run(&*store, soon()).await.unwrap(), Swap::Changed);
    assert_eq!(text(&*store, &["GET", "count"]).await, "1");
    // A stream or group that is gone has no command to answer.
    ask(&*store, &["DEL", "asks"]).await;
    assert_eq!(answer().run(&*store, soon()).await.unwrap(), Swap::Changed);
});

on_every_store!(a_claim_is_let_go_by_its_holder_only, |store| {
    ask(&*store, &["SET", "doc", "0"]).await;
    ask(&*store, &["HSET", "claims", "spot", "7"]).await;
    let release = |holder: &'static str| Step::new("doc").release("claims", "spot", holder);
    assert_eq!(release("8").run(&*store, soon()).await.unwrap(), Swap::Swapped);
    assert_eq!(text(&*store, &["HGET", "claims", "spot"]).await, "7");
    assert_eq!(release("7").run(&*store, soon()).await.unwrap(), Swap::Swapped);
    assert_eq!(int(&*store, &["EXISTS", "claims"]).await, 0);
    ask(&*store, &["SET", "claims", "not a hash"]).await;
    let refused = release("7").sadd("other", "x").run(&*store, soon()).await.unwrap_err();
    assert!(matches!(refused, Fault::Refused { .. }));
    assert_eq!(int(&*store, &["EXISTS", "other"]).await, 0);
});

/// A step under keys that begin with `at`, and what must be there before it.
type Case = (&'static [&'static [&'static str]], fn(&str) -> Step);

/// Every guard, met and not, every write, every refusal.
const CASES: &[Case] = &[
    (&[], |at| Step::new(format!("{at}doc")).expect("old").write("new")),
    (&[], |at| Step::new(format!("{at}doc")).absent().write("new").sadd(format!("{at}s"), "a")),
    (&[&["SET", "doc", "old"]], |at| Step::new(format!("{at}doc")).absent().write("new")),
    (&[&["SET", "doc", "old", "PX", "60000"]], |at| {
        let event = Event::new("hit", 5, "7", &1, Dialect::Go).unwrap();
        Step::new(format!("{at}doc"))
            .expect("old")
            .write("new")
            .sadd(format!("{at}set"), "a")
            .zadd(format!("{at}zset"), 12, "b")
            .hset(format!("{at}hash"), "f", "v")
            .hincrby(format!("{at}hash"), "n", -3)
            .incrby(format!("{at}count"), 2)
            .lpush(format!("{at}list"), "l")
            .rpush(format!("{at}list"), "r")
            .set_for(format!("{at}cool"), "1", 60_000)
            .event(format!("{at}stream"), &event)
            .event(format!("{at}stream"), &event)
    }),
    (&[&["SET", "doc", "new"], &["SADD", "hash", "x"]], |at| {
        Step::new(format!("{at}doc")).expect("new").delete().hset(format!("{at}hash"), "f", "v")
    }),
    (&[&["LPUSH", "doc", "x"]], |at| Step::new(format!("{at}doc")).expect("new").delete()),
    (&[&["SET", "doc", "new"], &["HSET", "hash", "n", "many"]], |at| {
        Step::new(format!("{at}doc")).delete().hincrby(format!("{at}hash"), "n", 1)
    }),
    (&[&["SET", "doc", "new"], &["SET", "count", "1.5"]], |at| {
        Step::new(format!("{at}doc")).delete().incrby(format!("{at}count"), 1)
    }),
    (&[&["SET", "doc", "x"], &["HSET", "hash", "mine", "me", "theirs", "you"]], |at| {
        Step::new(format!("{at}doc"))
            .while_field(format!("{at}hash"), "mine", "me")
            .while_no_field(format!("{at}hash"), "none")
            .while_absent(format!("{at}nothing"))
            .while_exists(format!("{at}hash"))
            .while_text(format!("{at}doc"), "x")
            .release(format!("{at}hash"), "mine", "me")
            .release(format!("{at}hash"), "theirs", "me")
            .write("y")
    }),
    (&[&["SET", "doc", "x"], &["HSET", "hash", "mine", "you"]], |at| {
        Step::new(format!("{at}doc")).while_field(format!("{at}hash"), "mine", "me").write("y")
    }),
    (&[&["SET", "doc", "x"], &["HSET", "hash", "mine", "you"]], |at| {
        Step::new(format!("{at}doc")).while_no_field(format!("{at}hash"), "mine").write("y")
    }),
    (&[&["SET", "doc", "x"]], |at| {
        Step::new(format!("{at}doc")).while_exists(format!("{at}other")).write("y")
    }),
    (&[&["SET", "doc", "x"]], |at| {
        let (stream, group, entry) = (format!("{at}commands"), "g".to_owned(), "1-1".to_owned());
        Step::new(format!("{at}doc")).answers(&Pending { stream, group, entry }).write("y")
    }),
];

on_every_store!(a_step_is_the_same_with_and_without_a_script, |store| {
    // The recorder wants to see every call, so its steps are scripts.
    let recorder: std::sync::Arc<dyn kernel::Store> = testkit::Recorder::new(store.clone());
    assert!(recorder.here().is_none());
    for (number, (before, step)) in CASES.iter().enumerate() {
        let mut ended = Vec::new();
        for (at, store) in [("here:", &store), ("lua:", &recorder)] {
            let at = format!("{at}{number}:");
            for words in *before {
                let key = format!("{at}{}", words[1]);
                let mut words = words.to_vec();
                words[1] = &key;
                ask(&**store, &words).await;
            }
            let outcome = step(&at).run(&**store, soon()).await;
            // A refusal by the store itself names the script and its line.
            let outcome = format!("{outcome:?}").replace(&at, "");
            let outcome = outcome.split(" script: ").next().unwrap_or_default();
            let mut told = outcome.trim_end_matches(['"', ' ', '}', ')']).to_owned();
            for key in ["doc", "s", "set", "zset", "hash", "count", "list", "cool"] {
                let value = ask(&**store, &["DUMP", &format!("{at}{key}")]).await;
                let _ = write!(told, " {key}={value:?}");
            }
            let length = int(&**store, &["XLEN", &format!("{at}stream")]).await;
            ended.push(told);
            ended.push(length.to_string());
        }
        assert_eq!(ended[0..2], ended[2..4], "case {number}");
    }
});
