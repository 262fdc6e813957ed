//! What vectors tell of producers and workers: enqueue, claim, finish.

use std::time::Duration;

use jobs::{Done, Ending, Failure, Flow, NewJob, OnConflict, Options, Retry, Target};
use parking_lot::Mutex;

use crate::own_vectors::Book;
use crate::support::{Bed, NOW, job, worker};

pub(crate) fn plain() -> Options {
    Options::default()
}

/// Nothing was there before.
pub(crate) async fn nothing(_: &Bed) {}

pub(crate) async fn put_abc(bed: &Bed) {
    for id in ["a", "b", "c"] {
        bed.put(job("email", id)).await;
    }
}

pub(crate) async fn raw(bed: &Bed, id: &str, text: &str) {
    bed.ask(&["SET", &format!("bridge:jobs:data:{id}"), text]).await;
    bed.ask(&["SET", &format!("bridge:jobs:status:{id}"), "waiting"]).await;
    bed.ask(&["RPUSH", "bridge:jobs:waiting", id]).await;
}

fn unique(id: &str) -> NewJob {
    job("email", id).unique("user 42", Duration::from_mins(1))
}

async fn send(bed: &Bed, job: NewJob) {
    drop(bed.jobs.dispatch(job).await);
}

pub(crate) async fn enqueue(book: &mut Book) {
    let high = async |bed: &Bed| {
        put_abc(bed).await;
        bed.put(job("email", "h1").priority(9)).await;
    };
    let held = async |bed: &Bed| drop(bed.put(unique("a")).await);
    let window = Duration::from_mins(1);
    let replacing = job("email", "b").unique_or("user 42", window, OnConflict::Replace);
    let fair = Options { fair_high: true, ..plain() };
    let small = Options { max_waiting: 3, ..plain() };
    let silent = Options { events: false, ..plain() };
    let script = "enqueue";

    let name = "a job goes to the end of the list";
    let act = async |bed: &Bed| send(bed, job("email", "a")).await;
    let (keys, mut args) = book.note((script, name), plain(), nothing, act).await;
    // The id is new for sure, as a fresh UUID is: nobody looks whether it exists.
    args[4] = String::from("1");
    book.play(script, "a job under a fresh id", &[], &keys, &args).await;

    let act = async |bed: &Bed| send(bed, job("email", "d").priority(7)).await;
    book.note((script, "priority 7 and more goes to the front"), plain(), put_abc, act).await;
    let act = async |bed: &Bed| send(bed, job("email", "h2").priority(8)).await;
    book.note((script, "fair: behind the high ones that wait"), fair, high, act).await;
    let act = async |bed: &Bed| send(bed, job("email", "a").delay(Duration::from_secs(5))).await;
    book.note((script, "a delay puts it into delayed"), plain(), nothing, act).await;
    let act = async |bed: &Bed| send(bed, job("email", "a").cron("*/5 * * * *", None)).await;
    book.note((script, "a definition waits in cron"), plain(), nothing, act).await;
    let act = async |bed: &Bed| send(bed, job("email", "b")).await;
    book.note((script, "an id that exists is refused"), plain(), put_abc, act).await;
    let act = async |bed: &Bed| send(bed, unique("a")).await;
    book.note((script, "a uniqueness key is taken"), plain(), nothing, act).await;
    let act = async |bed: &Bed| send(bed, unique("b")).await;
    book.note((script, "a uniqueness key that is held refuses"), plain(), held, act).await;
    let act = async |bed: &Bed| send(bed, replacing).await;
    book.note((script, "a uniqueness key that replaces"), plain(), held, act).await;
    let act = async |bed: &Bed| send(bed, job("email", "d")).await;
    book.note((script, "a full queue tells how many wait"), small, put_abc, act).await;
    let act = async |bed: &Bed| send(bed, job("email", "a")).await;
    book.note((script, "without events nothing is told"), silent, nothing, act).await;
    let act = async |bed: &Bed| {
        let jobs = vec![
            job("email", "b"),
            job("sms", "d"),
            job("email", "e").priority(9),
            job("sms", "f").delay(Duration::from_secs(1)),
        ];
        drop(bed.jobs.dispatch_many(jobs).await);
    };
    book.note((script, "bulk: many jobs in one step"), plain(), put_abc, act).await;

    let after = async |bed: &Bed| send(bed, job("email", "d").depends_on("a")).await;
    book.note(("enqueue_dependent", "a job waits for another"), plain(), put_abc, after).await;
    book.note(("enqueue_dependent", "an unknown dependency is refused"), plain(), nothing, after)
        .await;
    let flow = async |bed: &Bed| {
        let root = Flow::new(job("report", "r").ignore_failed_dependencies());
        let flow = root.child(job("page", "p1")).child(job("page", "p2").priority(8));
        drop(bed.jobs.dispatch_flow(flow).await);
    };
    book.note(
        ("enqueue_dependent", "a flow: children wait, their parent is parked"),
        plain(),
        nothing,
        flow,
    )
    .await;
}

pub(crate) async fn claim(book: &mut Book) {
    let script = "finish_and_claim";
    let one = async |bed: &Bed| drop(bed.claim(&worker("w1")).await);
    let ten = async |bed: &Bed| drop(bed.jobs.claim(&worker("w1"), 10).await);
    book.note((script, "claim: nothing waits"), plain(), nothing, one).await;
    book.note((script, "claim: the head"), plain(), put_abc, one).await;
    book.note((script, "claim: many at once, in order"), plain(), put_abc, ten).await;

    let mixed = async |bed: &Bed| {
        bed.put(job("email", "gpu").target(Target::any().capability("gpu"))).await;
        bed.put(job("sms", "sms")).await;
        raw(bed, "bad", "{no job").await;
        bed.ask(&["RPUSH", "bridge:jobs:waiting", "ghost"]).await;
        bed.put(job("email", "mine").target(Target::any().region("eu"))).await;
    };
    let act = async |bed: &Bed| {
        let facts = worker("w1").types(["email"]).region("eu");
        drop(bed.jobs.claim(&facts, 2).await);
    };
    let name = "claim: passes over what is for others, drops ghosts, tells the unreadable";
    book.note((script, name), plain(), mixed, act).await;

    let paused = async |bed: &Bed| {
        put_abc(bed).await;
        bed.put(job("sms", "d")).await;
        bed.jobs.pause("email", None).await.unwrap();
    };
    book.note((script, "claim: a paused type stays"), plain(), paused, ten).await;
    let limited = async |bed: &Bed| {
        for id in ["a", "b", "c"] {
            bed.put(job("email", id).max_concurrent(2)).await;
        }
    };
    book.note((script, "claim: a concurrent limit"), plain(), limited, ten).await;
    let minute = async |bed: &Bed| {
        for id in ["a", "b"] {
            bed.put(job("email", id).max_per_minute(1)).await;
        }
    };
    book.note((script, "claim: a limit per minute"), plain(), minute, ten).await;
    let locked = async |bed: &Bed| {
        put_abc(bed).await;
        bed.ask(&["SET", "bridge:jobs:lock:a", "w9", "EX", "30"]).await;
    };
    book.note((script, "claim: a lock that is held"), plain(), locked, one).await;

    let guard = Options { starvation_guard: 2, ..plain() };
    let facts = worker("w1");
    let fronts = async |bed: &Bed| {
        put_abc(bed).await;
        for id in ["h1", "h2", "h3"] {
            bed.put(job("email", id).priority(9)).await;
        }
        drop(bed.jobs.claim(&facts, 2).await);
    };
    let act = async |bed: &Bed| drop(bed.jobs.claim(&facts, 2).await);
    book.note((script, "claim: one from behind the high ones"), guard, fronts, act).await;
}

fn broken() -> Failure {
    Failure::new("Broken", "it is broken")
}

fn again_in(delay_ms: u64) -> Ending {
    let run_at = if delay_ms == 0 { 0 } else { NOW + delay_ms };
    Ending::Retry { failure: broken(), run_at, counts: true, reroute: false }
}

pub(crate) async fn finish(book: &mut Book) {
    let sent = || Ending::Completed { data: Some(r#"{"sent":true}"#.to_owned()) };
    let unkept = Options { retention_s: 0, ..plain() };
    for (name, options, ending, next) in [
        ("finish: complete", plain(), sent(), 0),
        ("finish: complete, and claim the next", plain(), Ending::Completed { data: None }, 1),
        ("finish: complete, nothing is kept", unkept, Ending::Completed { data: None }, 0),
        ("finish: retry after its backoff", plain(), again_in(2_000), 0),
        ("finish: retry at once", plain(), again_in(0), 0),
        ("finish: dead", plain(), Ending::Dead { failure: broken() }, 0),
        ("finish: failed", plain(), Ending::Failed { failure: broken() }, 0),
        ("finish: handed back", plain(), Ending::HandBack, 0),
    ] {
        let facts = worker("w1");
        let held = Mutex::new(None);
        let setup = async |bed: &Bed| {
            put_abc(bed).await;
            *held.lock() = bed.claim(&facts).await;
        };
        let act = async |bed: &Bed| {
            let claimed = held.lock().take().unwrap();
            let done = Done::new(claimed.job, ending, 12);
            drop(bed.jobs.finish_and_claim(&facts, &[done], next).await);
        };
        book.note(("finish_and_claim", name), options, setup, act).await;
    }
    finish_oddly(book).await;
}

/// Ends that meet something else.
async fn finish_oddly(book: &mut Book) {
    let late = ["SET", "bridge:jobs:lock:a", "w2", "EX", "30"];
    let edited = ["SET", "bridge:jobs:data:a", "{}"];
    let cancelled = ["SADD", "bridge:x:cancelled", "a"];
    for (name, meanwhile, ending) in [
        ("finish: a late worker writes nothing", &late[..], again_in(0)),
        ("finish: cancelled meanwhile", &cancelled, again_in(0)),
        ("finish: handed back, cancelled meanwhile", &cancelled, Ending::HandBack),
        ("finish: a job that was edited meanwhile is told", &edited, again_in(0)),
    ] {
        let facts = worker("w1");
        let held = Mutex::new(None);
        let setup = async |bed: &Bed| {
            bed.put(job("email", "a").retry(Retry { attempts: 1, ..Retry::default() })).await;
            *held.lock() = bed.claim(&facts).await;
            bed.ask(meanwhile).await;
        };
        let act = async |bed: &Bed| {
            let claimed = held.lock().take().unwrap();
            drop(bed.jobs.finish(&facts, Done::new(claimed.job, ending, 12)).await);
        };
        book.note(("finish_and_claim", name), plain(), setup, act).await;
    }
    let facts = worker("w1");
    let held = Mutex::new(None);
    let setup = async |bed: &Bed| {
        bed.put(unique("a")).await;
        bed.put(job("email", "b").depends_on("a")).await;
        *held.lock() = bed.claim(&facts).await;
    };
    let act = async |bed: &Bed| {
        let claimed = held.lock().take().unwrap();
        drop(bed.jobs.complete(&facts, claimed.job, None, 12).await);
    };
    let name = "finish: a uniqueness key is free again and a dependant waits no more";
    book.note(("finish_and_claim", name), plain(), setup, act).await;
}
