//! A model of the writer: random histories of many callers in two processes, with answers that get lost,
//! requests that arrive late, callers that leave and writers that use no writer. Every history must be
//! linearisable, and every change happens at most once.
//!
//! Each change appends what it did to a journal, in its own step: the journal is the order in which things
//! happened, and the answers are held to it. A history that fails prints its seed, and `SIM_SEED` begins
//! with it; `WORLDKEEP_TORTURE` plays many.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::{
    Deadline, Decision, Effects as _, Fault, Step, Stepped, Store, Writer, Written, reply,
};
use parking_lot::Mutex;
use testkit::{How, Network, Sent, Weather, on_every_store, within};

use crate::support::{ask, soon};

/// A small generator of one's own: the same history for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// Whether something that happens so often in a hundred happens now.
    fn percent(&mut self, often: u64) -> bool {
        self.roll(100) < often
    }

    /// A few turns of the runtime, seldom many.
    fn turns(&mut self) -> u64 {
        if self.percent(5) { self.roll(60) } else { self.roll(6) }
    }
}

async fn turns(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// A network that delays and loses, by the dice.
struct Storm(Mutex<Dice>);

impl Weather for Storm {
    fn before(&self, sent: Sent) -> BoxFuture<'_, How> {
        if sent == Sent::Other {
            return std::future::ready(How::Arrives).boxed();
        }
        let (wait, fate) = {
            let mut dice = self.0.lock();
            let fate = match dice.roll(100) {
                0..3 => How::NotSent,
                3..6 => How::RequestLost,
                6..9 => How::AnswerLost,
                9..12 => How::Late(dice.roll(80)),
                _ => How::Arrives,
            };
            (dice.turns(), fate)
        };
        turns(wait).map(move |()| fate).boxed()
    }

    fn after(&self) -> BoxFuture<'_, ()> {
        let wait = self.0.lock().turns();
        turns(wait).boxed()
    }
}

/// What a caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// Counts up, and makes the document where there is none.
    Add,
    /// The same where the count is even; refuses else.
    AddIfEven,
    /// Takes the document away; nothing to change where there is none.
    Delete,
    /// Looks only.
    Look,
    /// Counts up once per token, which a guard holds.
    Spend(u64),
    /// Writes beside the document to a key of the wrong type.
    Break,
}

impl Wish {
    fn random(dice: &mut Dice) -> Wish {
        match dice.roll(100) {
            0..30 => Wish::Add,
            30..50 => Wish::AddIfEven,
            50..60 => Wish::Delete,
            60..70 => Wish::Look,
            70..95 => Wish::Spend(dice.roll(8)),
            _ => Wish::Break,
        }
    }
}

/// A text of the document, or none.
type Text = Option<String>;

/// What a rule answers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Wrote { before: Text, after: Text },
    Saw(Text),
}

/// A change on its way through the history.
#[derive(Debug, Clone)]
struct Op {
    id: u64,
    document: usize,
    wish: Wish,
    called: u64,
    /// When it was answered, and what. `None`: its caller left.
    answered: Option<(u64, Result<Written<Told>, Fault>)>,
}

/// The keys of one document of one history.
#[derive(Debug, Clone)]
struct Keys {
    document: String,
    journal: String,
    tokens: String,
    broken: String,
}

impl Keys {
    fn of(seed: u64, document: usize) -> Keys {
        let key = |what: &str| format!("{what}:{{{seed}:{document}}}");
        Keys {
            document: key("doc"),
            journal: key("journal"),
            tokens: key("tokens"),
            broken: key("broken"),
        }
    }
}

/// The count in a text such as `3 by 17`; the second number makes every text unlike all others.
fn count(text: Option<&str>) -> u64 {
    text.and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// The rule of a wish, pure. The step has no guard of the document yet.
fn decide(keys: &Keys, id: u64, wish: Wish, current: Option<&[u8]>) -> Decision<Told> {
    let before = current.map(|text| String::from_utf8_lossy(text).into_owned());
    let count = count(before.as_deref());
    let after = match wish {
        Wish::Look => return Decision::Leave(Told::Saw(before)),
        Wish::AddIfEven if count % 2 == 1 => return Decision::Leave(Told::Saw(before)),
        Wish::Delete if before.is_none() => return Decision::Leave(Told::Saw(before)),
        Wish::Delete => None,
        _ => Some(format!("{} by {id}", count + 1)),
    };
    let step = Step::new(&keys.document);
    let step = match &after {
        Some(after) => step.write(after),
        None => step.delete(),
    };
    let entry = [Some(&id.to_string()), before.as_ref(), after.as_ref()];
    let entry = entry.map(|part| part.map_or("-", String::as_str)).join("|");
    let step = step.rpush(&keys.journal, entry);
    let step = match wish {
        Wish::Spend(token) => {
            let token = token.to_string();
            step.while_no_field(&keys.tokens, &token).hset(&keys.tokens, &token, id.to_string())
        }
        Wish::Break => step.sadd(&keys.broken, "member"),
        _ => step,
    };
    Decision::Write(step, Told::Wrote { before, after })
}

/// The step with the guard of the document that it was decided on.
fn guarded(step: Step, current: Option<&[u8]>) -> Step {
    match current {
        Some(text) => step.expect(text),
        None => step.absent(),
    }
}

/// The same decision as a call that compares and writes by itself.
fn as_call(
    store: &Arc<dyn Store>,
    decision: Decision<Told>,
    current: Option<&[u8]>,
) -> Decision<Told> {
    let Decision::Write(step, told) = decision else { return decision };
    let (store, step) = (store.clone(), guarded(step, current));
    Decision::call(
        move |by| async move { Ok(store.step(&step, by).await?.is_done().then_some(told)) },
    )
}

/// What happened in a history, with a clock that counts calls and answers.
#[derive(Default)]
struct History {
    seed: u64,
    now: AtomicU64,
    ops: Mutex<Vec<Op>>,
}

impl History {
    fn tick(&self) -> u64 {
        self.now.fetch_add(1, Ordering::SeqCst)
    }

    fn call(&self, document: usize, wish: Wish) -> Op {
        let called = self.tick();
        Op { id: called, document, wish, called, answered: None }
    }

    /// One caller of a process: some wishes, one after the other.
    async fn caller(
        self: Arc<Self>,
        (store, writer): (Arc<dyn Store>, Writer),
        mut dice: Dice,
        wishes: u64,
    ) {
        for _ in 0..wishes {
            turns(dice.turns()).await;
            let document = usize::from(dice.percent(30));
            let mut op = self.call(document, Wish::random(&mut dice));
            let (keys, id, wish) = (Keys::of(self.seed, document), op.id, op.wish);
            let by = if dice.percent(3) { Deadline::after(Duration::ZERO) } else { soon() };
            let document = keys.document.clone();
            // A guard of its own is answered by the writer, so such a wish is no call.
            let is_call = !matches!(wish, Wish::Spend(_)) && dice.percent(25);
            let store = store.clone();
            let rule = move |current: Option<&[u8]>| match decide(&keys, id, wish, current) {
                decision if is_call => as_call(&store, decision, current),
                decision => decision,
            };
            let call = writer.write(document, by, rule);
            if dice.percent(10) {
                // An impatient caller.
                tokio::select! {
                    biased;
                    answer = call => op.answered = Some((self.tick(), answer)),
                    () = turns(dice.roll(30)) => {}
                }
            } else {
                let answer = within("a change is answered", call).await;
                op.answered = Some((self.tick(), answer));
            }
            self.ops.lock().push(op);
        }
    }

    /// A program of somebody else: reads, decides by the same rules, writes by a step of its own.
    async fn foreigner(self: Arc<Self>, store: Arc<dyn Store>, mut dice: Dice, wishes: u64) {
        for _ in 0..wishes {
            turns(dice.turns() + 3).await;
            let document = usize::from(dice.percent(30));
            let mut op =
                self.call(document, [Wish::Add, Wish::Delete][usize::from(dice.percent(20))]);
            let keys = Keys::of(self.seed, document);
            let current = ask(&*store, &["GET", &keys.document]).await;
            let current = reply::bytes(&current);
            let answer = match decide(&keys, op.id, op.wish, current) {
                Decision::Leave(told) => told,
                Decision::Call(_) => unreachable!("no wish is a call by itself"),
                Decision::Write(step, told) => {
                    if store.step(&guarded(step, current), soon()).await.unwrap() != Stepped::Done {
                        continue;
                    }
                    told
                }
            };
            op.answered = Some((self.tick(), Ok(Written::Answer(answer))));
            self.ops.lock().push(op);
        }
    }
}

/// Plays one history and gives what its callers were told.
async fn play(store: &Arc<dyn Store>, seed: u64) -> Vec<Op> {
    let mut dice = Dice(seed);
    let history = Arc::new(History { seed, ..History::default() });
    for document in 0..2 {
        ask(&**store, &["SET", &Keys::of(seed, document).broken, "not a set"]).await;
    }
    let (mut tasks, mut processes) = (Vec::new(), Vec::new());
    for process in 0..2 {
        let storm = Storm(Mutex::new(Dice(seed ^ (process + 1) << 40)));
        let network = Network::under(storm, store.clone());
        let writer = Writer::new(network.clone());
        for _ in 0..2 + dice.roll(6) {
            let (own, wishes) = (Dice(dice.roll(u64::from(u32::MAX))), 1 + dice.roll(8));
            let process: (Arc<dyn Store>, Writer) = (network.clone(), writer.clone());
            tasks.push(tokio::spawn(history.clone().caller(process, own, wishes)));
        }
        processes.push((network, writer));
    }
    let own = Dice(dice.roll(u64::from(u32::MAX)));
    tasks.push(tokio::spawn(history.clone().foreigner(store.clone(), own, dice.roll(6))));
    for task in tasks {
        task.await.expect("a caller ends");
    }
    for (network, writer) in processes {
        for document in 0..2 {
            // Behind all that is still under way for callers who left. It may fail, and ends.
            let look = |_: Option<&[u8]>| Decision::Leave(());
            let _ = writer.write(Keys::of(seed, document).document, soon(), look).await;
        }
        network.quiet().await;
    }
    std::mem::take(&mut history.ops.lock())
}

/// One line of the journal.
struct Entry {
    id: u64,
    before: Text,
    after: Text,
}

async fn journal(store: &dyn Store, keys: &Keys) -> Vec<Entry> {
    let answer = ask(store, &["LRANGE", &keys.journal, "0", "-1"]).await;
    let lines = reply::list(&answer).unwrap_or_default().iter().filter_map(reply::text);
    let entry = |line: &str| {
        let mut parts = line.split('|').map(str::to_owned);
        let id = parts.next().unwrap().parse().unwrap();
        let mut text = || parts.next().filter(|part| part != "-");
        Entry { id, before: text(), after: text() }
    };
    lines.map(entry).collect()
}

/// What happened to one document, and what its callers were told.
struct Record<'a> {
    journal: Vec<Entry>,
    /// Where each change is in the journal.
    places: HashMap<u64, usize>,
    ops: Vec<&'a Op>,
    /// When each change was called.
    called: HashMap<u64, u64>,
    spent: HashSet<u64>,
}

impl<'a> Record<'a> {
    /// Reads the journal, which must be a chain from nothing to the text that is there now.
    async fn of(store: &dyn Store, seed: u64, document: usize, ops: &'a [Op]) -> Self {
        let keys = Keys::of(seed, document);
        let journal = journal(store, &keys).await;
        let mut text: Text = None;
        for entry in &journal {
            assert_eq!(entry.before, text, "change {} was decided on what was there", entry.id);
            text.clone_from(&entry.after);
        }
        let now = ask(store, &["GET", &keys.document]).await;
        assert_eq!(text.as_deref(), reply::text(&now), "nothing else wrote");

        let places: HashMap<u64, usize> =
            journal.iter().enumerate().map(|(at, entry)| (entry.id, at)).collect();
        assert_eq!(places.len(), journal.len(), "each change happened at most once");
        let ops: Vec<&Op> = ops.iter().filter(|op| op.document == document).collect();
        let called = ops.iter().map(|op| (op.id, op.called)).collect();
        let mut spent = HashSet::new();
        for op in &ops {
            if let (Wish::Spend(token), true) = (op.wish, places.contains_key(&op.id)) {
                assert!(spent.insert(token), "token {token} was spent twice");
            }
        }
        Record { journal, places, ops, called, spent }
    }

    /// Holds an answer to the journal.
    fn check(&self, op: &Op, answered: u64, outcome: &Result<Written<Told>, Fault>) {
        let place = self.places.get(&op.id).copied();
        let (least, most) = self.window(op.called, answered);
        match outcome {
            Ok(Written::Answer(Told::Wrote { before, after })) => {
                let place = place.unwrap_or_else(|| panic!("{op:?} did not happen"));
                let entry = &self.journal[place];
                assert_eq!((before, after), (&entry.before, &entry.after), "{op:?}");
                assert!(least <= place && place < most, "{op:?} is out of order");
            }
            Ok(Written::Answer(Told::Saw(seen))) => {
                assert_eq!(place, None, "{op:?} writes nothing");
                let text =
                    |at: usize| at.checked_sub(1).and_then(|at| self.journal[at].after.as_ref());
                let seen = seen.as_ref();
                assert!((least..=most).any(|at| text(at) == seen), "{op:?} was not so at the time");
            }
            Ok(Written::Guarded(guard)) => {
                assert_eq!((place, *guard), (None, 0), "{op:?}");
                let Wish::Spend(token) = op.wish else { panic!("{op:?} brought no guard") };
                assert!(self.spent.contains(&token), "{op:?}: nobody spent the token");
            }
            Err(Fault::Unknown(_)) => {}
            Err(fault) => {
                assert_eq!(place, None, "{op:?}: {fault} says that nothing happened");
                let broken = matches!(fault, Fault::Refused { .. });
                assert!(!broken || op.wish == Wish::Break, "{op:?}: a companion's fault");
            }
        }
    }

    /// Between which lines of the journal something took effect that was called and answered then:
    /// behind all that was answered before it was called, before all that was called afterwards.
    fn window(&self, from: u64, to: u64) -> (usize, usize) {
        let earlier = self.ops.iter().filter(|op| match &op.answered {
            Some((answered, Ok(_))) => *answered < from,
            _ => false,
        });
        let least = earlier.filter_map(|op| self.places.get(&op.id)).max().map_or(0, |at| at + 1);
        let is_later = |entry: &Entry| self.called.get(&entry.id).is_some_and(|at| *at > to);
        let most = self.journal.iter().position(is_later);
        (least, most.unwrap_or(self.journal.len()))
    }
}

/// Prints the seed of a history that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "the history of SIM_SEED={} failed", self.0);
        }
    }
}

async fn play_and_check(store: &Arc<dyn Store>, seed: u64) -> Vec<Op> {
    let _seed = Seed(seed);
    let ops = play(store, seed).await;
    for document in 0..2 {
        let record = Record::of(&**store, seed, document, &ops).await;
        for op in &record.ops {
            if let Some((answered, outcome)) = &op.answered {
                record.check(op, *answered, outcome);
            }
        }
    }
    ops
}

/// The seeds to play, few or many, from the one that is asked for.
fn seeds(few: u64, many: u64) -> impl Iterator<Item = u64> {
    let first = std::env::var("SIM_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(42);
    let count = if std::env::var_os("WORLDKEEP_TORTURE").is_some() { many } else { few };
    first..first + count
}

#[test]
fn every_history_is_linearisable_and_every_change_happens_at_most_once() {
    let (mut wrote, mut saw, mut guarded, mut unknown, mut undone, mut left) = (0, 0, 0, 0, 0, 0);
    for seed in seeds(300, 20_000) {
        // One thread: a seed plays the same history again, but for the writer's pauses, which are real.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ops = runtime.block_on(async {
            let store = testkit::open("memory").await;
            play_and_check(&store, seed).await
        });
        for op in ops {
            let kind = match op.answered {
                Some((_, Ok(Written::Answer(Told::Wrote { .. })))) => &mut wrote,
                Some((_, Ok(Written::Answer(Told::Saw(_))))) => &mut saw,
                Some((_, Ok(Written::Guarded(_)))) => &mut guarded,
                Some((_, Err(Fault::Unknown(_)))) => &mut unknown,
                Some((_, Err(_))) => &mut undone,
                None => &mut left,
            };
            *kind += 1;
        }
    }
    println!(
        "{wrote} wrote, {saw} saw, {guarded} guarded, {unknown} unknown, {undone} undone, {left} left"
    );
    for kind in [wrote, saw, guarded, unknown, undone, left] {
        assert!(kind > 20, "every kind of end is tried");
    }
}

on_every_store!(histories_hold_on_every_store_and_on_many_threads, |store| {
    for seed in seeds(10, 500) {
        play_and_check(&store, seed).await;
    }
});
