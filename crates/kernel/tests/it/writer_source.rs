//! A writer over several values that are read together: each batch begins with a look, what a step leaves is
//! foreseen, and every guard that fails is a conflict. Calls apply themselves.

use std::sync::Arc;

use kernel::{
    Deadline, Decision, Effects as _, Fault, Source, Step, Store, Writer, WriterLimits, Written,
    reply,
};
use testkit::{How, Network, eventually, on_every_store, within};

use crate::network::Gate;
use crate::support::{ask, soon, text};

/// A text and a hash beside it.
struct Pair;

#[derive(Clone, Default)]
struct Seen {
    words: String,
    seats: Vec<(String, String)>,
}

const WORDS: &str = "words";
const SEATS: &str = "seats";

impl Source for Pair {
    type State = Seen;
    type Need = ();

    async fn look(
        &self,
        store: &dyn Store,
        _: &[u8],
        _: &[()],
        by: Deadline,
    ) -> Result<Seen, Fault> {
        let mut seats = kernel::Cmd::new();
        seats.arg("HGETALL").arg(SEATS);
        let mut words = kernel::Cmd::new();
        words.arg("GET").arg(WORDS);
        let (words, seats) = (store.call(&words, by).await?, store.call(&seats, by).await?);
        let own = |value: &kernel::Value| reply::text(value).unwrap_or_default().to_owned();
        let pairs = reply::pairs(&seats).unwrap_or_default();
        let seats = pairs.into_iter().map(|(name, value)| (own(name), own(value))).collect();
        Ok(Seen { words: own(&words), seats })
    }

    fn foresee(&self, _: &[u8], seen: &Seen, step: &Step) -> Option<Seen> {
        let mut seen = seen.clone();
        for op in step.writes() {
            let arg = |n: usize| String::from_utf8_lossy(&op.args()[n]).into_owned();
            match (op.name(), op.key()) {
                ("SET", Some(b"words")) => seen.words = arg(0),
                ("SPLICE", Some(b"words")) => seen.words.push_str(&arg(2)),
                ("HSET", Some(b"seats")) => seen.seats.push((arg(0), arg(1))),
                ("RPUSH", _) => {}
                _ => return None,
            }
        }
        Some(seen)
    }
}

fn over(store: Arc<dyn Store>) -> Writer<Pair> {
    Writer::over(store, Pair, WriterLimits::default())
}

/// A step on the document, which nobody changes here.
fn document() -> Step {
    Step::new("doc").expect("same")
}

/// Appends a word by a splice that the whole text guards.
fn append(word: &'static str) -> impl FnMut(&Seen) -> Decision<String> + Send {
    move |seen: &Seen| {
        let (len, new) = (seen.words.len(), format!("{}{word}", seen.words));
        let step = document().while_sha(WORDS, kernel::sha1_hex(seen.words.as_bytes()));
        Decision::Write(step.splice(WORDS, len..len, word).rpush("log", word), new)
    }
}

/// Takes a seat that nobody has.
fn sit(seat: &'static str, who: &'static str) -> impl FnMut(&Seen) -> Decision<bool> + Send {
    move |seen: &Seen| {
        if seen.seats.iter().any(|(taken, _)| taken == seat) {
            return Decision::Leave(false);
        }
        let step = document().while_no_field(SEATS, seat).hset(SEATS, seat, who);
        Decision::Write(step, true)
    }
}

/// Appends a word by a call that compares and writes by itself.
fn call(
    store: &Arc<dyn Store>,
    word: &'static str,
) -> impl FnMut(&Seen) -> Decision<String> + Send + use<> {
    let store = store.clone();
    move |seen: &Seen| {
        let new = format!("{}{word}", seen.words);
        let step = document().while_text(WORDS, &seen.words).set(WORDS, &new);
        let store = store.clone();
        Decision::call(move |by| async move {
            Ok(store.step(&step, by).await?.is_done().then_some(new))
        })
    }
}

type Rules<T> = Vec<Box<dyn FnMut(&Seen) -> Decision<T> + Send>>;
type Outcome<T> = Result<Written<T>, Fault>;
type Begun<T> = tokio::task::JoinHandle<Outcome<T>>;

fn begin<T: Send + 'static>(
    writer: &Writer<Pair>,
    rule: impl FnMut(&Seen) -> Decision<T> + Send + 'static,
) -> Begun<T> {
    let writer = writer.clone();
    tokio::spawn(async move { writer.change("pair", (), soon(), rule).await })
}

async fn ended<T>(call: Begun<T>) -> Outcome<T> {
    within("the change is answered", call).await.expect("no panic")
}

#[allow(clippy::unnecessary_wraps)] // to be compared with outcomes
fn answer<T>(told: T) -> Outcome<T> {
    Ok(Written::Answer(told))
}

async fn prepare(store: &Arc<dyn Store>) -> (Arc<Network<Gate>>, Writer<Pair>) {
    ask(&**store, &["SET", WORDS, "0"]).await;
    ask(&**store, &["SET", "doc", "same"]).await;
    let gate = Gate::before(store.clone());
    let writer = over(gate.clone());
    (gate, writer)
}

/// Holds a first change at the gate until these are queued, and lets all go.
async fn batch<T: Send + 'static>(
    gate: &Network<Gate>,
    writer: &Writer<Pair>,
    rules: Rules<T>,
) -> Vec<Outcome<T>> {
    gate.weather.close();
    let first = begin(writer, append("-"));
    eventually("the first step is sent", async || gate.weather.steps() == 1).await;
    let mut calls = Vec::new();
    for mut rule in rules {
        let mut call = Box::pin({
            let writer = writer.clone();
            async move { writer.change("pair", (), soon(), move |seen: &Seen| rule(seen)).await }
        });
        let polled =
            std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await;
        assert!(polled.is_pending(), "it waits behind the first");
        calls.push(call);
    }
    gate.weather.open();
    assert_eq!(ended(first).await, answer("0-".to_owned()));
    let mut outcomes = Vec::new();
    for call in calls {
        outcomes.push(within("the change is answered", call).await);
    }
    outcomes
}

on_every_store!(changes_of_several_values_leave_as_one_step_behind_one_look, |store| {
    let (gate, writer) = prepare(&store).await;
    let rules: Rules<String> =
        vec![Box::new(append("a")), Box::new(append("b")), Box::new(append("c"))];
    let outcomes = batch(&gate, &writer, rules).await;
    assert_eq!(outcomes, ["0-a", "0-ab", "0-abc"].map(|text| answer(text.to_owned())));
    assert_eq!(gate.weather.take_log(), ["read", "read", "step", "read", "read", "step"]);
    assert_eq!(text(&*store, &["GET", WORDS]).await, "0-abc");
});

on_every_store!(a_later_change_sees_what_an_earlier_one_of_its_batch_did, |store| {
    let (gate, writer) = prepare(&store).await;
    let rules: Rules<bool> =
        vec![Box::new(sit("1", "ann")), Box::new(sit("1", "bob")), Box::new(sit("2", "cid"))];
    let outcomes = batch(&gate, &writer, rules).await;
    assert_eq!(outcomes, [true, false, true].map(answer));
    assert_eq!(gate.weather.steps(), 2);
    assert_eq!(text(&*store, &["HGET", SEATS, "1"]).await, "ann");
});

on_every_store!(behind_what_nobody_can_foresee_a_change_waits_for_a_look, |store| {
    let (gate, writer) = prepare(&store).await;
    let odd = |seen: &Seen| Decision::Write(document().del(SEATS), seen.words.clone());
    let rules: Rules<String> = vec![Box::new(odd), Box::new(append("a"))];
    let outcomes = batch(&gate, &writer, rules).await;
    assert_eq!(outcomes, ["0-", "0-a"].map(|text| answer(text.to_owned())));
    assert_eq!(gate.weather.steps(), 3);
});

on_every_store!(a_guard_that_fails_is_a_conflict_and_decided_anew_on_a_new_look, |store| {
    let (gate, writer) = prepare(&store).await;
    gate.weather.close();
    let late = begin(&writer, sit("1", "ann"));
    eventually("its step is sent", async || gate.weather.steps() == 1).await;
    ask(&*store, &["HSET", SEATS, "1", "foreign"]).await;
    gate.weather.open();
    assert_eq!(ended(late).await, answer(false));
    assert_eq!(text(&*store, &["HGET", SEATS, "1"]).await, "foreign");
});

on_every_store!(calls_of_a_batch_run_at_once_and_those_that_lose_are_decided_anew, |store| {
    let (gate, writer) = prepare(&store).await;
    let shared: Arc<dyn Store> = gate.clone();
    let rules: Rules<String> = vec![Box::new(call(&shared, "a")), Box::new(call(&shared, "b"))];
    let outcomes = batch(&gate, &writer, rules).await;
    let words = text(&*store, &["GET", WORDS]).await;
    assert!(["0-ab", "0-ba"].contains(&words.as_str()), "{words}");
    for outcome in outcomes {
        let Ok(Written::Answer(told)) = outcome else { panic!("{outcome:?}") };
        assert!(words.starts_with(&told), "{told} then {words}");
    }
    assert_eq!(gate.weather.steps(), 4, "both at once, and one of them again");
});

on_every_store!(after_a_call_of_unknown_outcome_nothing_is_sent_again, |store| {
    for (fate, after) in [(How::AnswerLost, "0a"), (How::RequestLost, "0")] {
        let (gate, writer) = prepare(&store).await;
        let shared: Arc<dyn Store> = gate.clone();
        gate.weather.close();
        let lost = begin(&writer, call(&shared, "a"));
        eventually("it is sent", async || gate.weather.steps() == 1).await;
        gate.weather.fail_next(fate);
        gate.weather.open();
        let fault = ended(lost).await.unwrap_err();
        assert!(matches!(fault, Fault::Unknown(_)), "{fault:?}");
        assert_eq!(gate.weather.steps(), 1, "{fate:?}");
        assert_eq!(text(&*store, &["GET", WORDS]).await, after);
    }
});

on_every_store!(a_caller_that_leaves_before_its_call_takes_it_along, |store| {
    let (gate, writer) = prepare(&store).await;
    let shared: Arc<dyn Store> = gate.clone();
    gate.weather.close();
    let first = begin(&writer, append("-"));
    eventually("the first step is sent", async || gate.weather.steps() == 1).await;
    let gone = begin(&writer, call(&shared, "never"));
    tokio::task::yield_now().await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    gate.weather.open();
    assert_eq!(ended(first).await, answer("0-".to_owned()));
    assert_eq!(ended(begin(&writer, append("a"))).await, answer("0-a".to_owned()));
});
