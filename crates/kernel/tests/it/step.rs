//! Steps: all or nothing, never a key that came back.

use std::fmt::Write as _;

use kernel::numbers::Dialect;
use kernel::{Effects as _, Event, Fault, Pending, Step, Stepped, Store, sha1_hex};
use testkit::on_every_store;

use crate::support::{ask, int, refused, soon, text};

on_every_store!(a_step_writes_indexes_and_tells_at_once, |store| {
    ask(&*store, &["SET", "doc", "old", "PX", "60000"]).await;
    let event = Event::new("hit", 5, "7", &1, Dialect::Go).unwrap();
    let step = Step::new("doc")
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
        .event("stream", &event);
    assert_eq!(store.step(&step, soon()).await.unwrap(), Stepped::Done);
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

    let undo = Step::new("doc")
        .expect("new")
        .delete()
        .srem("set", "a")
        .zrem("zset", "b")
        .hdel("hash", "f")
        .lrem("list", "l")
        .del("cool");
    assert_eq!(store.step(&undo, soon()).await.unwrap(), Stepped::Done);
    assert_eq!(int(&*store, &["EXISTS", "doc", "set", "zset", "list", "cool"]).await, 0);
});

on_every_store!(a_changed_document_is_left_alone, |store| {
    ask(&*store, &["SET", "doc", "other"]).await;
    let step = Step::new("doc").expect("old").write("new").sadd("set", "a");
    let changed = store.step(&step, soon()).await.unwrap();
    // The text comes back, so that the next try needs no read.
    assert_eq!(changed, refused(0, Some("other"), false));
    assert_eq!(text(&*store, &["GET", "doc"]).await, "other");
    assert_eq!(int(&*store, &["EXISTS", "set"]).await, 0);
    let again = Step::new("doc").expect("other").write("new");
    assert_eq!(store.step(&again, soon()).await.unwrap(), Stepped::Done);
    assert_eq!(text(&*store, &["GET", "doc"]).await, "new");
});

on_every_store!(a_document_that_is_gone_stays_gone, |store| {
    let expecting = Step::new("doc").expect("old").write("new").sadd("set", "a");
    assert_eq!(store.step(&expecting, soon()).await.unwrap(), refused(0, None, true));
    let blind = Step::new("doc").write("new").sadd("set", "a");
    assert_eq!(store.step(&blind, soon()).await.unwrap(), refused(0, None, true));
    assert_eq!(int(&*store, &["EXISTS", "doc", "set"]).await, 0);
});

on_every_store!(only_one_of_two_creates, |store| {
    let create = Step::new("doc").absent().write_for("first", 60_000).sadd("set", "a");
    assert_eq!(store.step(&create, soon()).await.unwrap(), Stepped::Done);
    assert!(int(&*store, &["PTTL", "doc"]).await > 50_000);
    let again = Step::new("doc").absent().write("second").sadd("set", "b");
    assert_eq!(store.step(&again, soon()).await.unwrap(), refused(0, None, false));
    assert_eq!(text(&*store, &["GET", "doc"]).await, "first");
    assert_eq!(int(&*store, &["SCARD", "set"]).await, 1);
});

on_every_store!(every_guard_can_stop_the_step, |store| {
    ask(&*store, &["SET", "doc", "d"]).await;
    ask(&*store, &["SET", "other", "o"]).await;
    ask(&*store, &["HSET", "hash", "f", "v"]).await;
    let step = || Step::new("doc").expect("d").sadd("set", "a");
    for (stopped, missing) in [
        (step().while_text("other", "x"), false),
        (step().while_text("none", "x"), true),
        (step().while_sha("other", sha1_hex(b"x")), false),
        (step().while_sha("none", sha1_hex(b"")), true),
        (step().while_absent("other"), false),
        (step().while_exists("none"), true),
        (step().while_field("hash", "f", "x"), false),
        (step().while_field("hash", "g", "x"), false),
        (step().while_field("none", "g", "x"), true),
        (step().while_no_field("hash", "f"), false),
        (step().while_count("hash", 2), false),
        (step().while_count("none", 1), true),
    ] {
        let outcome = store.step(&stopped, soon()).await.unwrap();
        assert_eq!(outcome, refused(1, None, missing), "{stopped:?}");
    }
    let third = step().while_exists("other").while_text("other", "o").while_exists("none");
    assert_eq!(store.step(&third, soon()).await.unwrap(), refused(3, None, true));
    assert_eq!(int(&*store, &["EXISTS", "set"]).await, 0);
    let passed = step()
        .while_text("other", "o")
        .while_absent("none")
        .while_exists("other")
        .while_sha("other", sha1_hex(b"o"))
        .while_field("hash", "f", "v")
        .while_no_field("hash", "g")
        .while_count("hash", 1)
        .while_count("none", 0);
    assert_eq!(store.step(&passed, soon()).await.unwrap(), Stepped::Done);
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
        let fault = store.step(&broken, soon()).await.unwrap_err();
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
                let kill = Step::new("doc").expect("old").delete().incrby("kills", 1);
                store.step(&kill, soon()).await
            })
        })
        .collect();
    let mut won = 0;
    for racer in racers {
        won += u32::from(racer.await.unwrap().unwrap().is_done());
    }
    assert_eq!(won, 1);
    assert_eq!(text(&*store, &["GET", "kills"]).await, "1");
});

on_every_store!(a_step_with_very_many_writes_fits, |store| {
    let step = (0..500).fold(Step::new("doc").absent().write("d"), |step, n| {
        step.sadd(format!("set:{n}"), "a").publish("channel", "told")
    });
    assert_eq!(store.step(&step, soon()).await.unwrap(), Stepped::Done);
    assert_eq!(int(&*store, &["DBSIZE"]).await, 501);
});

on_every_store!(a_command_is_answered_once, |store| {
    ask(&*store, &["XGROUP", "CREATE", "asks", "workers", "0", "MKSTREAM"]).await;
    let entry = text(&*store, &["XADD", "asks", "*", "type", "HIT"]).await;
    ask(&*store, &["XREADGROUP", "GROUP", "workers", "one", "STREAMS", "asks", ">"]).await;
    ask(&*store, &["SET", "doc", "0"]).await;
    let command = Pending { stream: "asks".into(), group: "workers".into(), entry };
    let answer = || Step::new("doc").incrby("count", 1).answers(&command);
    assert_eq!(store.step(&answer(), soon()).await.unwrap(), Stepped::Done);
    // A server that was taken for dead comes back with the same command.
    assert_eq!(store.step(&answer(), soon()).await.unwrap(), refused(1, None, false));
    assert_eq!(text(&*store, &["GET", "count"]).await, "1");
    // A stream or group that is gone has no command to answer.
    ask(&*store, &["DEL", "asks"]).await;
    assert_eq!(store.step(&answer(), soon()).await.unwrap(), refused(1, None, true));
});

on_every_store!(a_claim_is_let_go_by_its_holder_only, |store| {
    ask(&*store, &["SET", "doc", "0"]).await;
    ask(&*store, &["HSET", "claims", "spot", "7"]).await;
    let release = |holder: &'static str| Step::new("doc").release("claims", "spot", holder);
    assert_eq!(store.step(&release("8"), soon()).await.unwrap(), Stepped::Done);
    assert_eq!(text(&*store, &["HGET", "claims", "spot"]).await, "7");
    assert_eq!(store.step(&release("7"), soon()).await.unwrap(), Stepped::Done);
    assert_eq!(int(&*store, &["EXISTS", "claims"]).await, 0);
    ask(&*store, &["SET", "claims", "not a hash"]).await;
    let broken = release("7").sadd("other", "x");
    let fault = store.step(&broken, soon()).await.unwrap_err();
    assert!(matches!(fault, Fault::Refused { .. }));
    assert_eq!(int(&*store, &["EXISTS", "other"]).await, 0);
});

/// What is there before a step, and the step. A word that begins with `@` is a key.
type Case = (&'static [&'static [&'static str]], fn(&Keys) -> Step);

/// Spells the keys of a case: each has its own, once per way of running a step.
struct Keys(String);

impl Keys {
    fn at(&self, key: &str) -> String {
        format!("{}{key}", self.0)
    }

    /// A step on the document, which holds `x`.
    fn step(&self) -> Step {
        Step::new(self.at("doc")).expect("x").write("y")
    }

    fn command(&self) -> Pending {
        let stream = self.at("commands");
        Pending { stream, group: "g".to_owned(), entry: "1-1".to_owned() }
    }
}

const DOC: &[&str] = &["SET", "@doc", "x"];
const HASH: &[&str] = &["HSET", "@hash", "mine", "me", "theirs", "you"];
const TEXT: &[&str] = &["SET", "@other", "o"];
const GROUP: &[&str] = &["XGROUP", "CREATE", "@commands", "g", "0", "MKSTREAM"];
const COMMAND: &[&str] = &["XADD", "@commands", "1-1", "type", "HIT"];
const READ: &[&str] = &["XREADGROUP", "GROUP", "g", "one", "STREAMS", "@commands", ">"];

/// In the year 2100.
const FAR_MS: u64 = 4_102_444_800_000;

/// Every guard, met and not, every write, every refusal.
const CASES: &[Case] = &[
    // The document's own guard.
    (&[], |keys| keys.step()),
    (&[&["SET", "@doc", "z"]], |keys| keys.step()),
    (&[&["LPUSH", "@doc", "x"]], |keys| keys.step()),
    (&[&["LPUSH", "@doc", "x"]], |keys| keys.step().delete()),
    (&[], |keys| Step::new(keys.at("doc")).write("y")),
    (&[DOC], |keys| Step::new(keys.at("doc")).write("y")),
    (&[], |keys| Step::new(keys.at("doc")).absent().write("y").sadd(keys.at("set"), "a")),
    (&[DOC], |keys| Step::new(keys.at("doc")).absent().write("y")),
    (&[DOC], |keys| Step::new(keys.at("doc")).expect("x")),
    // Guards on other keys.
    (&[DOC, TEXT], |keys| keys.step().while_text(keys.at("other"), "o")),
    (&[DOC, TEXT], |keys| keys.step().while_text(keys.at("other"), "p")),
    (&[DOC], |keys| keys.step().while_text(keys.at("other"), "o")),
    (&[DOC, HASH], |keys| keys.step().while_text(keys.at("hash"), "o")),
    (&[DOC, TEXT], |keys| keys.step().while_sha(keys.at("other"), sha1_hex(b"o"))),
    (&[DOC, TEXT], |keys| keys.step().while_sha(keys.at("other"), sha1_hex(b"p"))),
    (&[DOC], |keys| keys.step().while_sha(keys.at("other"), sha1_hex(b""))),
    (&[DOC, HASH], |keys| keys.step().while_sha(keys.at("hash"), sha1_hex(b""))),
    (&[DOC], |keys| keys.step().while_absent(keys.at("other"))),
    (&[DOC, TEXT], |keys| keys.step().while_absent(keys.at("other"))),
    (&[DOC, HASH], |keys| keys.step().while_exists(keys.at("hash"))),
    (&[DOC], |keys| keys.step().while_exists(keys.at("other"))),
    (&[DOC, HASH], |keys| keys.step().while_field(keys.at("hash"), "mine", "me")),
    (&[DOC, HASH], |keys| keys.step().while_field(keys.at("hash"), "mine", "you")),
    (&[DOC, HASH], |keys| keys.step().while_field(keys.at("hash"), "none", "")),
    (&[DOC], |keys| keys.step().while_field(keys.at("hash"), "mine", "me")),
    (&[DOC, TEXT], |keys| keys.step().while_field(keys.at("other"), "mine", "me")),
    (&[DOC, HASH], |keys| keys.step().while_no_field(keys.at("hash"), "none")),
    (&[DOC], |keys| keys.step().while_no_field(keys.at("hash"), "none")),
    (&[DOC, HASH], |keys| keys.step().while_no_field(keys.at("hash"), "mine")),
    (&[DOC, TEXT], |keys| keys.step().while_no_field(keys.at("other"), "mine")),
    (&[DOC, HASH], |keys| keys.step().while_count(keys.at("hash"), 2)),
    (&[DOC], |keys| keys.step().while_count(keys.at("hash"), 0)),
    (&[DOC, HASH], |keys| keys.step().while_count(keys.at("hash"), 1)),
    (&[DOC], |keys| keys.step().while_count(keys.at("hash"), 1)),
    (&[DOC, TEXT], |keys| keys.step().while_count(keys.at("other"), 1)),
    (&[DOC, GROUP, COMMAND, READ], |keys| keys.step().answers(&keys.command())),
    (&[DOC, GROUP, COMMAND], |keys| keys.step().answers(&keys.command())),
    (&[DOC, COMMAND], |keys| keys.step().answers(&keys.command())),
    (&[DOC], |keys| keys.step().answers(&keys.command())),
    (&[DOC, &["SET", "@commands", "o"]], |keys| keys.step().answers(&keys.command())),
    // The first guard that fails is named.
    (&[DOC, TEXT, HASH], |keys| {
        let step = keys.step().while_text(keys.at("other"), "o").while_count(keys.at("hash"), 2);
        step.while_absent(keys.at("hash")).while_exists(keys.at("none"))
    }),
    (&[&["SET", "@doc", "z"]], |keys| keys.step().while_exists(keys.at("none"))),
    // Writes.
    (&[&["SET", "@doc", "x", "PX", "60000"]], |keys| {
        let event = Event::new("hit", 5, "7", &1, Dialect::Go).unwrap();
        keys.step()
            .sadd(keys.at("set"), "a")
            .zadd(keys.at("zset"), 12, "b")
            .hset(keys.at("hash"), "f", "v")
            .hincrby(keys.at("hash"), "n", -3)
            .incrby(keys.at("count"), 2)
            .lpush(keys.at("list"), "l")
            .rpush(keys.at("list"), "r")
            .set_for(keys.at("cool"), "1", 60_000)
            .event(keys.at("stream"), &event)
            .event(keys.at("stream"), &event)
            .publish("told", "payload")
    }),
    (&[DOC, HASH], |keys| {
        keys.step()
            .release(keys.at("hash"), "mine", "me")
            .release(keys.at("hash"), "theirs", "me")
            .release(keys.at("none"), "mine", "me")
    }),
    (&[DOC, TEXT], |keys| Step::new(keys.at("doc")).expect("x").delete().del(keys.at("other"))),
    (&[DOC], |keys| Step::new(keys.at("doc")).expect("x").write_for("y", 60_000)),
    (&[DOC, &["SET", "@other", "0123456789", "PX", "60000"]], |keys| {
        let (other, count) = (keys.at("other"), keys.at("count"));
        let step = keys.step().splice(&other, 2..5, "-").splice(&other, 0..0, "<");
        step.splice(&other, 9..9, ">").splice(&count, 0..0, "7").rewrite(&other, "new")
    }),
    (&[DOC, TEXT], |keys| keys.step().splice(keys.at("other"), 0..1, "a long text")),
    (&[DOC, TEXT, HASH, &["SET", "@cool", "1", "PX", "999999"]], |keys| {
        let own = ["other", "hash", "cool", "none"].map(|key| keys.at(key));
        keys.step().life(FAR_MS, own)
    }),
    (&[&["SET", "@doc", "x", "PX", "60000"], TEXT], |keys| {
        keys.step().rewrite(keys.at("other"), "p").life(FAR_MS, [keys.at("other")])
    }),
    // A life that is over takes the document and what it would have lived with.
    (&[DOC, TEXT], |keys| keys.step().life(1, [keys.at("other")])),
    // Writes that cannot be: nothing of the step happens.
    (&[DOC, HASH], |keys| keys.step().splice(keys.at("hash"), 0..0, "a")),
    (&[DOC, TEXT], |keys| keys.step().sadd(keys.at("other"), "a")),
    (&[DOC, TEXT], |keys| keys.step().zrem(keys.at("other"), "a")),
    (&[DOC, TEXT], |keys| keys.step().hset(keys.at("other"), "f", "v")),
    (&[DOC, TEXT], |keys| keys.step().release(keys.at("other"), "f", "v")),
    (&[DOC, TEXT], |keys| keys.step().lrem(keys.at("other"), "a")),
    (&[DOC, TEXT], |keys| keys.step().xack(keys.at("other"), "g", "1-1")),
    (&[DOC, HASH], |keys| keys.step().incrby(keys.at("hash"), 1)),
    (&[DOC, HASH], |keys| keys.step().hincrby(keys.at("hash"), "mine", 1)),
    (&[DOC, &["SET", "@count", "1.5"]], |keys| keys.step().incrby(keys.at("count"), 1)),
];

/// Sets up a case and runs it; tells how it ended and what is there now.
async fn told(store: &dyn Store, keys: &Keys, (before, step): &Case) -> String {
    let spell = |text: String| text.replace(&keys.0, "");
    for words in *before {
        let words = words.iter().map(|word| match word.strip_prefix('@') {
            Some(key) => keys.at(key),
            None => (*word).to_owned(),
        });
        let words: Vec<String> = words.collect();
        ask(store, &words.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    let outcome = spell(format!("{:?}", store.step(&step(keys), soon()).await));
    // A refusal by the store itself names the script and its line.
    let outcome = outcome.split(" script: ").next().unwrap_or_default();
    let mut told = outcome.trim_end_matches(['"', ' ', '}', ')']).to_owned();
    for key in ["doc", "other", "set", "zset", "hash", "count", "list", "cool"] {
        let value = ask(store, &["DUMP", &keys.at(key)]).await;
        let life = int(store, &["TTL", &keys.at(key)]).await;
        // Two keys are asked one after the other: a minute is what it is about.
        let _ = write!(told, " {key}={value:?} {}", if life > 0 { (life + 30) / 60 } else { life });
    }
    let _ = write!(told, " stream={}", int(store, &["XLEN", &keys.at("stream")]).await);
    let mut waiting = kernel::Cmd::new();
    waiting.arg("XPENDING").arg(keys.at("commands")).arg("g");
    told + &spell(format!(" waiting={:?}", store.call(&waiting, soon()).await))
}

on_every_store!(a_step_is_the_same_with_and_without_a_script, |store| {
    // The recorder wants to see every call, so its steps are scripts.
    let recorder = testkit::Recorder::new(store.clone());
    for (number, case) in CASES.iter().enumerate() {
        let native = told(&*store, &Keys(format!("here:{number}:")), case).await;
        let script = told(&*recorder, &Keys(format!("lua:{number}:")), case).await;
        assert_eq!(native, script, "case {number}");
        assert_eq!(recorder.take_scripts().len(), 1, "case {number}");
    }
});
