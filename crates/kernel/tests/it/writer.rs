//! The writer: changes of a document leave together, each caller gets its own answer, and nothing is
//! sent twice, lost half-way or answered from memory.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernel::{
    Deadline, Decision, Effects as _, Fault, Pending, Step, Store, Writer, WriterLimits, Written,
};
use testkit::{How, Network, Sent, Weather, eventually, on_every_store, within};

use crate::network::Gate;
use crate::support::{ask, int, soon, text};

type Outcome<T> = Result<Written<T>, Fault>;

fn as_text(current: Option<&[u8]>) -> String {
    current.map_or_else(String::new, |text| String::from_utf8_lossy(text).into_owned())
}

/// Appends a word to the document, which is made where there is none; the answer is the new text.
fn append(
    key: &'static str,
    word: &'static str,
) -> impl FnMut(Option<&[u8]>) -> Decision<String> + Send {
    append_with(key, word, |step| step)
}

/// The same with further guards and writes.
fn append_with(
    key: &'static str,
    word: &'static str,
    more: impl Fn(Step) -> Step + Send,
) -> impl FnMut(Option<&[u8]>) -> Decision<String> + Send {
    move |current| {
        let new = as_text(current) + word;
        Decision::Write(more(Step::new(key).write(&new)), new)
    }
}

/// Refuses, and says what it saw.
fn look(current: Option<&[u8]>) -> Decision<String> {
    Decision::Leave(as_text(current))
}

#[allow(clippy::unnecessary_wraps)] // to be compared with outcomes
fn answer(text: &str) -> Outcome<String> {
    Ok(Written::Answer(text.to_owned()))
}

/// A call that has arrived at the writer, and waits.
type Begun<T> = Pin<Box<dyn Future<Output = Outcome<T>> + Send>>;

/// Begins a call: after this its change is queued.
async fn begin<T: 'static>(call: impl Future<Output = Outcome<T>> + Send + 'static) -> Begun<T> {
    let mut call: Begun<T> = Box::pin(call);
    let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await;
    assert!(polled.is_pending(), "it waits");
    call
}

/// A writer on `doc` whose first step, which appends `0`, waits at a closed gate.
struct Held {
    gate: Arc<Network<Gate>>,
    writer: Writer,
    first: Begun<String>,
}

impl Held {
    async fn on(store: &Arc<dyn Store>) -> Held {
        let gate = Gate::before(store.clone());
        let writer = Writer::new(gate.clone());
        Held::with(gate, writer).await
    }

    async fn with(gate: Arc<Network<Gate>>, writer: Writer) -> Held {
        gate.weather.close();
        let call = writer.clone();
        let first = begin(async move { call.write("doc", soon(), append("doc", "0")).await }).await;
        eventually("the first step is sent", async || gate.weather.steps() == 1).await;
        Held { gate, writer, first }
    }

    /// Queues a change behind the first one.
    async fn queue<T: Send + 'static>(
        &self,
        rule: impl FnMut(Option<&[u8]>) -> Decision<T> + Send + 'static,
    ) -> Begun<T> {
        self.queue_by(soon(), rule).await
    }

    async fn queue_by<T: Send + 'static>(
        &self,
        by: Deadline,
        rule: impl FnMut(Option<&[u8]>) -> Decision<T> + Send + 'static,
    ) -> Begun<T> {
        let writer = self.writer.clone();
        begin(async move { writer.write("doc", by, rule).await }).await
    }

    /// Opens the gate; the first change is answered.
    async fn release(self) -> (Arc<Network<Gate>>, Writer) {
        self.gate.weather.open();
        assert_eq!(ended(self.first).await, answer("0"));
        (self.gate, self.writer)
    }
}

async fn ended<T>(call: Begun<T>) -> Outcome<T> {
    within("the change is answered", call).await
}

on_every_store!(changes_that_wait_leave_as_one_step_and_each_has_its_own_answer, |store| {
    let held = Held::on(&store).await;
    let mut calls = Vec::new();
    for word in ["a", "b", "c", "d"] {
        calls.push(held.queue(append_with("doc", word, move |step| step.rpush("log", word))).await);
    }
    let (gate, _) = held.release().await;
    let mut answers = Vec::new();
    for call in calls {
        answers.push(ended(call).await);
    }
    assert_eq!(answers, ["0a", "0ab", "0abc", "0abcd"].map(answer));
    assert_eq!(gate.weather.take_log(), ["read", "step", "step"]);
    assert_eq!(text(&*store, &["GET", "doc"]).await, "0abcd");
    assert_eq!(int(&*store, &["LLEN", "log"]).await, 4);
    assert_eq!(text(&*store, &["LINDEX", "log", "1"]).await, "b");
});

on_every_store!(the_known_text_saves_the_read_and_a_stale_one_costs_a_try, |store| {
    let gate = Gate::before(store.clone());
    let writer = Writer::new(gate.clone());
    for (word, after) in [("a", "a"), ("b", "ab")] {
        assert_eq!(writer.write("doc", soon(), append("doc", word)).await, answer(after));
    }
    assert_eq!(gate.weather.take_log(), ["read", "step", "step"]);
    ask(&*store, &["SET", "doc", "foreign"]).await;
    assert_eq!(writer.write("doc", soon(), append("doc", "c")).await, answer("foreignc"));
    assert_eq!(gate.weather.take_log(), ["step", "step"], "the refused step brought the text");
    ask(&*store, &["DEL", "doc"]).await;
    assert_eq!(writer.write("doc", soon(), append("doc", "d")).await, answer("d"));
    assert_eq!(gate.weather.take_log(), ["step", "step"], "or that there is none");
});

on_every_store!(
    a_change_that_guards_what_an_earlier_one_writes_waits_for_the_next_batch,
    |store| {
        ask(&*store, &["XGROUP", "CREATE", "asks", "group", "0", "MKSTREAM"]).await;
        let entry = text(&*store, &["XADD", "asks", "*", "type", "HIT"]).await;
        ask(&*store, &["XREADGROUP", "GROUP", "group", "one", "STREAMS", "asks", ">"]).await;
        let command = Pending { stream: "asks".into(), group: "group".into(), entry };
        let more: [Box<dyn Fn(Step) -> Step + Send + Sync>; 4] = [
            Box::new(|step| step.while_absent("cooldown").set_for("cooldown", "1", 60_000)),
            Box::new(|step| step.while_no_field("hash", "field").hset("hash", "field", "v")),
            Box::new(move |step| step.answers(&command)),
            Box::new(|step| step.while_text("text", "old").set("text", "new")),
        ];
        ask(&*store, &["SET", "text", "old"]).await;
        for more in more {
            ask(&*store, &["DEL", "doc"]).await;
            let more: Arc<dyn Fn(Step) -> Step + Send + Sync> = more.into();
            let held = Held::on(&store).await;
            let (one, two) = (more.clone(), more.clone());
            let one = held.queue(append_with("doc", "a", move |step| one(step))).await;
            let two = held.queue(append_with("doc", "b", move |step| two(step))).await;
            let (gate, _) = held.release().await;
            assert_eq!(ended(one).await, answer("0a"));
            assert_eq!(ended(two).await, Ok(Written::Guarded(0)), "the earlier one took it");
            assert_eq!(gate.weather.steps(), 3);
            assert_eq!(text(&*store, &["GET", "doc"]).await, "0a");
        }
    }
);

on_every_store!(changes_that_guard_different_fields_of_a_hash_leave_together, |store| {
    let held = Held::on(&store).await;
    let own = |field: &'static str| {
        move |step: Step| step.while_no_field("hash", field).hset("hash", field, "v")
    };
    let one = held.queue(append_with("doc", "a", own("a"))).await;
    let two = held.queue(append_with("doc", "b", own("b"))).await;
    let (gate, _) = held.release().await;
    assert_eq!((ended(one).await, ended(two).await), (answer("0a"), answer("0ab")));
    assert_eq!(gate.weather.steps(), 2);
});

on_every_store!(a_change_whose_key_an_earlier_one_spoils_waits_and_fails_alone, |store| {
    // The types and the counted numbers of a step are looked at before its first write too.
    let held = Held::on(&store).await;
    let spoil = held
        .queue(append_with("doc", "a", |step| step.set("x", "text").hset("hash", "n", "many")))
        .await;
    let set = held.queue(append_with("doc", "b", |step| step.sadd("x", "member"))).await;
    let count = held.queue(append_with("doc", "c", |step| step.hincrby("hash", "n", 1))).await;
    let fine = held.queue(append("doc", "d")).await;
    held.release().await;
    assert_eq!(ended(spoil).await, answer("0a"));
    for call in [set, count] {
        let fault = ended(call).await.unwrap_err();
        assert!(matches!(&fault, Fault::Refused { code, .. } if code == "WRONGTYPE"), "{fault:?}");
    }
    assert_eq!(ended(fine).await, answer("0ad"));
    assert_eq!(text(&*store, &["GET", "doc"]).await, "0ad");
});

on_every_store!(a_failed_guard_is_answered_to_the_change_that_brought_it, |store| {
    ask(&*store, &["SET", "taken", "1"]).await;
    let held = Held::on(&store).await;
    let one = held.queue(append("doc", "a")).await;
    let guards = |step: Step| step.while_absent("free").while_absent("taken").sadd("set", "b");
    let two = held.queue(append_with("doc", "b", guards)).await;
    let three = held.queue(append("doc", "c")).await;
    held.release().await;
    assert_eq!(ended(one).await, answer("0a"));
    assert_eq!(ended(two).await, Ok(Written::Guarded(1)), "the second of its own");
    assert_eq!(ended(three).await, answer("0ac"));
    assert_eq!(text(&*store, &["GET", "doc"]).await, "0ac");
    assert_eq!(int(&*store, &["EXISTS", "set"]).await, 0);
});

on_every_store!(a_guard_that_nobody_would_bring_any_more_is_not_answered, |store| {
    // The second change brings its guard only behind the first one, which another process defeats.
    ask(&*store, &["SET", "taken", "1"]).await;
    let held = Held::on(&store).await;
    let rule = |current: Option<&[u8]>| match as_text(current).as_str() {
        "0a" => Decision::Write(Step::new("doc").write("never").while_absent("taken"), "guarded"),
        _ => Decision::Leave("looked"),
    };
    let one = held
        .queue(|current| match as_text(current).as_str() {
            "0" => Decision::Write(Step::new("doc").write("0a"), "appended"),
            _ => Decision::Leave("looked"),
        })
        .await;
    let two = held.queue(rule).await;
    let gate = held.gate.clone();
    gate.weather.pass();
    assert_eq!(ended(held.first).await, answer("0"));
    eventually("the batch is sent", async || gate.weather.steps() == 2).await;
    gate.weather.pass();
    eventually("the first of them is sent alone", async || gate.weather.steps() == 3).await;
    ask(&*store, &["SET", "doc", "foreign"]).await;
    gate.weather.open();
    assert_eq!(ended(one).await, Ok(Written::Answer("looked")));
    assert_eq!(ended(two).await, Ok(Written::Answer("looked")));
});

on_every_store!(a_batch_that_the_store_refuses_is_tried_change_by_change, |store| {
    ask(&*store, &["SET", "broken", "text"]).await;
    let held = Held::on(&store).await;
    let mut calls = Vec::new();
    for word in ["a", "b", "c"] {
        let broken = move |step: Step| if word == "b" { step.sadd("broken", "b") } else { step };
        calls.push(held.queue(append_with("doc", word, broken)).await);
    }
    held.release().await;
    let mut answers = Vec::new();
    for call in calls {
        answers.push(ended(call).await);
    }
    assert_eq!((&answers[0], &answers[2]), (&answer("0a"), &answer("0ac")));
    let fault = answers[1].clone().unwrap_err();
    assert!(matches!(&fault, Fault::Refused { code, .. } if code == "WRONGTYPE"), "{fault:?}");
    assert_eq!(text(&*store, &["GET", "doc"]).await, "0ac");
});

on_every_store!(
    after_an_unknown_outcome_nothing_is_sent_again_and_the_text_is_read_anew,
    |store| {
        for (fate, after) in [(How::AnswerLost, "0abc"), (How::RequestLost, "0c")] {
            ask(&*store, &["DEL", "doc"]).await;
            let held = Held::on(&store).await;
            let one = held.queue(append("doc", "a")).await;
            let two = held.queue(append("doc", "b")).await;
            let gate = held.gate.clone();
            gate.weather.pass();
            let first = ended(held.first).await;
            assert_eq!(first, answer("0"));
            eventually("the batch is sent", async || gate.weather.steps() == 2).await;
            gate.weather.fail_next(fate);
            gate.weather.open();
            for call in [one, two] {
                let fault = ended(call).await.unwrap_err();
                assert!(matches!(fault, Fault::Unknown(_)), "{fault:?}");
            }
            assert_eq!(gate.weather.take_log(), ["read", "step", "step"], "{fate:?}");
            let next = held.writer.write("doc", soon(), append("doc", "c")).await;
            assert_eq!(next, answer(after));
            assert_eq!(gate.weather.take_log(), ["read", "step"], "{fate:?}");
        }
    }
);

on_every_store!(a_lost_answer_to_a_read_leaves_no_doubt, |store| {
    let faulty = testkit::Faulty::new(store.clone());
    let writer = Writer::new(faulty.clone());
    faulty.fail_next(How::AnswerLost);
    let fault = writer.write("doc", soon(), append("doc", "a")).await.unwrap_err();
    assert!(matches!(fault, Fault::Unavailable(_)), "{fault:?}");
    assert_eq!(writer.write("doc", soon(), append("doc", "a")).await, answer("a"));
});

on_every_store!(a_refusal_comes_from_a_text_that_was_read_after_the_call, |store| {
    let gate = Gate::before(store.clone());
    let writer = Writer::new(gate.clone());
    assert_eq!(writer.write("doc", soon(), append("doc", "mine")).await, answer("mine"));
    ask(&*store, &["SET", "doc", "foreign"]).await;
    assert_eq!(writer.write("doc", soon(), look).await, answer("foreign"));
    ask(&*store, &["DEL", "doc"]).await;
    assert_eq!(writer.write("doc", soon(), look).await, answer(""));
    assert_eq!(gate.weather.take_log(), ["read", "step", "read", "read"]);

    // A call that arrives while a step is under way may have come after what the step saw.
    let held = Held::on(&store).await;
    let look = held.queue(look).await;
    let (gate, _) = held.release().await;
    assert_eq!(ended(look).await, answer("0"));
    assert_eq!(gate.weather.take_log(), ["read", "step", "read"]);
});

on_every_store!(a_refusal_among_writes_is_confirmed_by_their_step, |store| {
    let held = Held::on(&store).await;
    let one = held.queue(append("doc", "a")).await;
    let seen = held.queue(look).await;
    let two = held.queue(append("doc", "b")).await;
    let (gate, _) = held.release().await;
    assert_eq!((ended(one).await, ended(two).await), (answer("0a"), answer("0ab")));
    assert_eq!(ended(seen).await, answer("0a"));
    assert_eq!(gate.weather.take_log(), ["read", "step", "step"]);
});

on_every_store!(each_caller_keeps_its_own_deadline, |store| {
    let short = || Deadline::after(Duration::from_millis(20));
    let held = Held::on(&store).await;
    let waits = held.queue_by(short(), append("doc", "a")).await;
    let fault = ended(waits).await.unwrap_err();
    assert!(matches!(fault, Fault::Unavailable(_)), "nothing was sent: {fault:?}");

    let sent = held.queue_by(Deadline::after(Duration::from_secs(1)), append("doc", "b")).await;
    let long = held.queue(append("doc", "c")).await;
    let gate = held.gate.clone();
    gate.weather.pass();
    assert_eq!(ended(held.first).await, answer("0"));
    eventually("the batch is sent", async || gate.weather.steps() == 2).await;
    let fault = ended(sent).await.unwrap_err();
    assert!(matches!(fault, Fault::Unknown(_)), "it was sent: {fault:?}");
    gate.weather.open();
    assert_eq!(ended(long).await, answer("0bc"), "a companion does not notice");
    assert_eq!(text(&*store, &["GET", "doc"]).await, "0bc");
});

on_every_store!(a_caller_that_leaves_before_it_was_sent_takes_its_change_along, |store| {
    let held = Held::on(&store).await;
    let one = held.queue(append("doc", "a")).await;
    let two = held.queue(append("doc", "b")).await;
    let three = held.queue(append("doc", "c")).await;
    drop(two);
    let (gate, _) = held.release().await;
    assert_eq!((ended(one).await, ended(three).await), (answer("0a"), answer("0ac")));
    assert_eq!(gate.weather.steps(), 2);
});

on_every_store!(a_caller_that_leaves_after_it_was_sent_stops_nobody, |store| {
    let held = Held::on(&store).await;
    let one = held.queue(append("doc", "a")).await;
    let Held { gate, writer: _writer, first } = held;
    drop(first);
    gate.weather.open();
    assert_eq!(ended(one).await, answer("0a"), "the dropped change was under way and happened");
});

on_every_store!(a_change_is_tried_again_while_others_keep_changing_the_document, |store| {
    let writer = Writer::new(Network::under(Rival::new(store.clone(), 12), store.clone()));
    let outcome = writer.write("doc", soon(), append("doc", "mine")).await;
    assert_eq!(outcome, answer("rival 12mine"));
    assert_eq!(text(&*store, &["GET", "doc"]).await, "rival 12mine");
});

on_every_store!(a_change_that_never_wins_ends_at_its_deadline_and_wrote_nothing, |store| {
    let writer = Writer::new(Network::under(Rival::new(store.clone(), u64::MAX), store.clone()));
    eventually("a deadline passes between two tries, after ten and more", async || {
        let by = Deadline::after(Duration::from_millis(400));
        match writer.write("doc", by, append("doc", "mine")).await {
            Err(Fault::Contended { attempts, .. }) => attempts >= 10,
            // The deadline passed while a step was under way, or when it came to the store.
            Err(Fault::Unknown(_) | Fault::Unavailable(_)) => false,
            other => panic!("{other:?}"),
        }
    })
    .await;
    assert!(!text(&*store, &["GET", "doc"]).await.contains("mine"));
});

/// Changes the document before each of the first steps.
struct Rival {
    store: Arc<dyn Store>,
    times: u64,
    done: AtomicU64,
}

impl Rival {
    fn new(store: Arc<dyn Store>, times: u64) -> Self {
        Rival { store, times, done: AtomicU64::new(0) }
    }
}

impl Weather for Rival {
    fn before(&self, sent: Sent) -> futures_util::future::BoxFuture<'_, How> {
        Box::pin(async move {
            let done = self.done.load(Ordering::SeqCst) + u64::from(sent == Sent::Step);
            if sent == Sent::Step && done <= self.times {
                self.done.store(done, Ordering::SeqCst);
                ask(&*self.store, &["SET", "doc", &format!("rival {done}")]).await;
            }
            How::Arrives
        })
    }
}

on_every_store!(a_document_is_made_changed_and_taken_away, |store| {
    let writer = Writer::new(store.clone());
    let create = |current: Option<&[u8]>| match current {
        None => {
            Decision::Write(Step::new("doc").write_for("made", 60_000).sadd("all", "doc"), true)
        }
        Some(_) => Decision::Leave(false),
    };
    assert_eq!(writer.write("doc", soon(), create).await, Ok(Written::Answer(true)));
    assert_eq!(writer.write("doc", soon(), create).await, Ok(Written::Answer(false)));
    assert_eq!(writer.write("doc", soon(), append("doc", "+")).await, answer("made+"));
    assert!(int(&*store, &["PTTL", "doc"]).await > 50_000, "a change keeps the life");
    let delete = |current: Option<&[u8]>| match current {
        Some(_) => Decision::Write(Step::new("doc").delete().srem("all", "doc"), true),
        None => Decision::Leave(false),
    };
    assert_eq!(writer.write("doc", soon(), delete).await, Ok(Written::Answer(true)));
    assert_eq!(writer.write("doc", soon(), delete).await, Ok(Written::Answer(false)));
    assert_eq!(int(&*store, &["EXISTS", "doc", "all"]).await, 0);
});

on_every_store!(a_life_given_in_a_batch_stays, |store| {
    let held = Held::on(&store).await;
    let lives =
        held.queue(|_| Decision::Write(Step::new("doc").write_for("lives", 60_000), "lives")).await;
    let on = held.queue(append("doc", " on")).await;
    let (gate, _) = held.release().await;
    assert_eq!(ended(lives).await, Ok(Written::Answer("lives")));
    assert_eq!(ended(on).await, answer("lives on"));
    assert_eq!(gate.weather.steps(), 2);
    assert!(int(&*store, &["PTTL", "doc"]).await > 50_000);
});

on_every_store!(a_document_that_is_deleted_and_made_again_has_no_life_left, |store| {
    let (gate, writer) = Held::on(&store).await.release().await;
    ask(&*store, &["PEXPIRE", "doc", "60000"]).await;
    gate.weather.close();
    let (one, two, three) = (writer.clone(), writer.clone(), writer);
    let one = begin(async move { one.write("doc", soon(), append("doc", "1")).await }).await;
    eventually("its step is sent", async || gate.weather.steps() == 2).await;
    let delete = |_: Option<&[u8]>| Decision::Write(Step::new("doc").delete(), ());
    let two = begin(async move { two.write("doc", soon(), delete).await }).await;
    let three = begin(async move { three.write("doc", soon(), append("doc", "3")).await }).await;
    gate.weather.open();
    assert_eq!(ended(one).await, answer("01"));
    assert_eq!(ended(two).await, Ok(Written::Answer(())));
    assert_eq!(ended(three).await, answer("3"));
    assert_eq!(int(&*store, &["PTTL", "doc"]).await, -1);
});

on_every_store!(a_document_that_is_no_text_is_corrupt, |store| {
    let writer = Writer::new(store.clone());
    assert_eq!(writer.write("doc", soon(), append("doc", "a")).await, answer("a"));
    ask(&*store, &["DEL", "doc"]).await;
    ask(&*store, &["LPUSH", "doc", "a list"]).await;
    let fault = writer.write("doc", soon(), append("doc", "b")).await.unwrap_err();
    assert!(matches!(&fault, Fault::Corrupt { key, .. } if key == "doc"), "{fault:?}");
});

on_every_store!(a_full_queue_refuses_and_those_who_left_make_room, |store| {
    let gate = Gate::before(store.clone());
    let limits = WriterLimits { queued: 2, queued_in_all: 3, ..WriterLimits::default() };
    let held = Held::with(gate.clone(), Writer::with(gate, limits)).await;
    let one = held.queue(append("doc", "a")).await;
    let two = held.queue(append("doc", "b")).await;
    let fault = held.writer.write("doc", soon(), append("doc", "c")).await.unwrap_err();
    assert!(fault.is_busy(), "{fault:?}");
    drop(two);
    let three = held.queue(append("doc", "d")).await;

    let other = held.writer.clone();
    let other =
        begin(async move { other.write("other", soon(), append("other", "x")).await }).await;
    eventually("another document has a worker", async || held.gate.weather.steps() == 2).await;
    let writer = held.writer.clone();
    let behind =
        begin(async move { writer.write("other", soon(), append("other", "y")).await }).await;
    let fault = held.writer.write("third", soon(), append("third", "z")).await.unwrap_err();
    assert!(fault.is_busy(), "three wait in all: {fault:?}");
    let (_, writer) = held.release().await;
    assert_eq!((ended(one).await, ended(three).await), (answer("0a"), answer("0ad")));
    assert_eq!((ended(other).await, ended(behind).await), (answer("x"), answer("xy")));
    assert_eq!(writer.write("third", soon(), append("third", "z")).await, answer("z"));
});

on_every_store!(a_text_beyond_the_bound_is_read_again, |store| {
    let gate = Gate::before(store.clone());
    let limits = WriterLimits { documents: 0, ..WriterLimits::default() };
    let writer = Writer::with(gate.clone(), limits);
    assert_eq!(writer.write("doc", soon(), append("doc", "a")).await, answer("a"));
    gate.weather.take_log();
    // The worker itself knows the text for as long as it has something to do.
    eventually("a change begins with a read", async || {
        writer.write("doc", soon(), append("doc", "b")).await.unwrap();
        gate.weather.take_log() == ["read", "step"]
    })
    .await;
});

on_every_store!(a_hot_document_does_not_keep_another_waiting, |store| {
    let held = Held::on(&store).await;
    let mut hot = Vec::new();
    for _ in 0..500 {
        hot.push(held.queue(append("doc", "h")).await);
    }
    let writer = held.writer.clone();
    let cold = begin(async move { writer.write("cold", soon(), append("cold", "c")).await }).await;
    eventually("both have a step at the gate", async || held.gate.weather.steps() == 2).await;
    // Steps pass in the order in which they came: the cold one is second, before most hot ones.
    held.gate.weather.pass();
    held.gate.weather.pass();
    assert_eq!(ended(cold).await, answer("c"));
    assert!(text(&*store, &["GET", "doc"]).await.len() < 500);
    held.release().await;
    for call in hot {
        let outcome = ended(call).await;
        assert!(matches!(outcome, Ok(Written::Answer(_))), "{outcome:?}");
    }
    assert_eq!(text(&*store, &["GET", "doc"]).await.len(), 501);
});

on_every_store!(a_rule_that_panics_ends_its_own_call_only, |store| {
    let held = Held::on(&store).await;
    let one = held.queue(append("doc", "a")).await;
    let bug = held.queue(|_| -> Decision<()> { panic!("a bug in a rule") }).await;
    let two = held.queue(append("doc", "b")).await;
    held.release().await;
    assert_eq!((ended(one).await, ended(two).await), (answer("0a"), answer("0ab")));
    let bug = tokio::spawn(ended(bug)).await.unwrap_err();
    assert_eq!(bug.into_panic().downcast_ref(), Some(&"a bug in a rule"));
});

on_every_store!(two_processes_that_hammer_one_document_both_come_through, |store| {
    const CALLERS: u64 = 8;
    const CHANGES: u64 = 25;
    let add = |current: Option<&[u8]>| {
        let next = as_text(current).parse::<u64>().unwrap_or(0) + 1;
        Decision::Write(Step::new("doc").write(next.to_string()).incrby("steps", 1), next)
    };
    let mut callers = Vec::new();
    for process in [Writer::new(store.clone()), Writer::new(store.clone())] {
        for _ in 0..CALLERS {
            let writer = process.clone();
            callers.push(tokio::spawn(async move {
                let mut seen = Vec::new();
                for _ in 0..CHANGES {
                    match writer.write("doc", soon(), add).await {
                        Ok(Written::Answer(number)) => seen.push(number),
                        other => panic!("{other:?}"),
                    }
                }
                seen
            }));
        }
    }
    let mut all = Vec::new();
    for caller in callers {
        let seen = within("a caller is through", caller).await.unwrap();
        assert!(seen.is_sorted(), "a caller's own changes are in order");
        all.extend(seen);
    }
    all.sort_unstable();
    assert_eq!(all, (1..=2 * CALLERS * CHANGES).collect::<Vec<_>>(), "each once, none lost");
    assert_eq!(text(&*store, &["GET", "steps"]).await, (2 * CALLERS * CHANGES).to_string());
});
