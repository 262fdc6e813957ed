//! What vectors tell of everybody else: leases, recovery, schedulers, operators, the registry.

use std::time::Duration;

use jobs::{Limit, Options, Overlap, Pick, Progress, Registration, Sightings, Target};

use crate::own_vectors::Book;
use crate::support::{Bed, NOW, job, worker};
use crate::vector_cases::{nothing, plain, put_abc, raw};

async fn claimed_abc(bed: &Bed) {
    put_abc(bed).await;
    assert_eq!(bed.jobs.claim(&worker("w1"), 3).await.unwrap().jobs.len(), 3);
}

pub(crate) async fn hold(book: &mut Book) {
    let asked = async |bed: &Bed| {
        claimed_abc(bed).await;
        bed.ask(&["SADD", "bridge:x:cancelled", "b"]).await;
        bed.ask(&["SET", "bridge:jobs:lock:c", "w2"]).await;
    };
    let renew = async |bed: &Bed| {
        bed.pass(10_000);
        drop(bed.jobs.renew(&worker("w1"), &["a", "b", "c"]).await);
    };
    book.note(("renew", "held, asked to stop, lost"), plain(), asked, renew).await;
    let half = Progress { percent: 50.0, message: Some("half".into()), data: None };
    for (name, me) in [("the owner's progress", "w1"), ("somebody else's progress", "w2")] {
        let act = async |bed: &Bed| drop(bed.jobs.progress(&worker(me), "a", &half).await);
        book.note(("progress", name), plain(), claimed_abc, act).await;
    }

    let reclaim = async |bed: &Bed| {
        bed.pass(31_000);
        drop(bed.jobs.reclaim().await);
    };
    let lost = async |bed: &Bed| {
        claimed_abc(bed).await;
        bed.ask(&["DEL", "bridge:jobs:lock:a", "bridge:jobs:lock:b", "bridge:jobs:lock:c"]).await;
    };
    book.note(("reclaim", "jobs of a dead worker wait again"), plain(), lost, reclaim).await;
    let often = async |bed: &Bed| {
        lost(bed).await;
        bed.ask(&["HSET", "bridge:x:recoveries", "a", "3"]).await;
        bed.ask(&["SADD", "bridge:x:cancelled", "b"]).await;
    };
    book.note(("reclaim", "too often is dead, cancelled is failed"), plain(), often, reclaim).await;
    let early = async |bed: &Bed| drop(bed.jobs.reclaim().await);
    book.note(("reclaim", "no lease ran out"), plain(), claimed_abc, early).await;

    let seen = Sightings::default();
    let foreign = async |bed: &Bed| {
        bed.put(job("email", "a")).await;
        bed.ask(&["LPOP", "bridge:jobs:waiting"]).await;
        bed.ask(&["SADD", "bridge:jobs:active", "a"]).await;
        bed.ask(&["INCR", "bridge:ratelimit:concurrent:email"]).await;
        drop(bed.jobs.sweep_active(&seen).await);
    };
    let sweep = async |bed: &Bed| {
        bed.pass(10_000);
        drop(bed.jobs.sweep_active(&seen).await);
    };
    let name = "an active job that nobody holds";
    book.note(("recover_active", name), plain(), foreign, sweep).await;

    let lost = async |bed: &Bed| {
        bed.put(job("email", "a")).await;
        bed.ask(&["LPOP", "bridge:jobs:waiting"]).await;
    };
    let repair = async |bed: &Bed| drop(bed.jobs.doctor(true).await);
    book.note(("requeue_orphan", "a job in no structure"), plain(), lost, repair).await;
}

pub(crate) async fn schedule(book: &mut Book) {
    let delayed = async |bed: &Bed| {
        for (id, ms) in [("a", 500), ("b", 1_000), ("gone", 800), ("c", 5_000)] {
            bed.put(job("email", id).priority(9).delay(Duration::from_millis(ms))).await;
        }
        bed.ask(&["DEL", "bridge:jobs:data:gone"]).await;
    };
    let promote = async |bed: &Bed| {
        bed.pass(1_000);
        drop(bed.jobs.promote(100).await);
    };
    book.note(("promote", "due jobs go to the end of the list"), plain(), delayed, promote).await;
    let front = Options { promote_honours_priority: true, ..plain() };
    book.note(("promote", "by their priority, if asked for"), front, delayed, promote).await;
    let early = async |bed: &Bed| drop(bed.jobs.promote(100).await);
    book.note(("promote", "nothing is due"), plain(), delayed, early).await;

    let definition = async |bed: &Bed| {
        bed.put(job("email", "tick").cron("* * * * *", None)).await;
    };
    let fire = async |bed: &Bed| {
        bed.pass(60_000);
        let (due, _) = bed.jobs.due_crons(10).await.unwrap();
        let (job, score) = &due[0];
        drop(bed.jobs.fire_cron(job, *score, Overlap::default()).await);
    };
    book.note(("fire_cron", "fired, and its next time is set"), plain(), definition, fire).await;
    let busy = async |bed: &Bed| {
        definition(bed).await;
        bed.ask(&["SET", "bridge:jobs:status:tick", "active"]).await;
    };
    book.note(("fire_cron", "the one before is not over"), plain(), busy, fire).await;
    let instances = Options { cron_instances: true, ..plain() };
    book.note(("fire_cron", "a job of its own"), instances, definition, fire).await;
    let wrong = async |bed: &Bed| {
        definition(bed).await;
        bed.ask(&["ZADD", "bridge:jobs:cron", &(NOW + 1).to_string(), "tick"]).await;
    };
    book.note(("fire_cron", "a time that is no occurrence"), plain(), wrong, fire).await;
    let second = async |bed: &Bed| {
        bed.pass(60_000);
        let (due, _) = bed.jobs.due_crons(10).await.unwrap();
        drop(bed.jobs.fire_cron(&due[0].0, due[0].1 - 60_000, Overlap::default()).await);
    };
    book.note(("fire_cron", "another scheduler was first"), plain(), definition, second).await;
    let put = async |bed: &Bed| {
        drop(bed.jobs.put_cron(job("email", "tick").cron("0 3 * * *", Some("Europe/Paris"))).await);
    };
    book.note(("put_cron", "a definition is replaced"), plain(), definition, put).await;
}

pub(crate) async fn act(book: &mut Book) {
    let states = async |bed: &Bed| {
        put_abc(bed).await;
        bed.put(job("email", "d").delay(Duration::from_secs(5))).await;
        bed.put(job("email", "parked").depends_on("d")).await;
        bed.claim(&worker("w1")).await.unwrap();
    };
    for (name, id) in [
        ("cancel: a waiting job", "b"),
        ("cancel: a delayed one, and what waits for it", "d"),
        ("cancel: a running one is asked to stop", "a"),
        ("cancel: nobody knows it", "z"),
    ] {
        let cancel = async |bed: &Bed| drop(bed.jobs.cancel(id).await);
        book.note(("cancel", name), plain(), states, cancel).await;
    }
    let bury = async |bed: &Bed| drop(bed.jobs.bury("a").await);
    let name = "bury: a running one is taken from its worker";
    book.note(("bury", name), plain(), states, bury).await;
    let remove = async |bed: &Bed| drop(bed.jobs.remove("b").await);
    book.note(("remove", "remove: a waiting job"), plain(), states, remove).await;

    let dead = async |bed: &Bed| {
        put_abc(bed).await;
        bed.jobs.bury("b").await.unwrap();
        bed.jobs.bury("a").await.unwrap();
    };
    let requeue = async |bed: &Bed| drop(bed.jobs.dlq_requeue(&Pick::Ids(vec!["b".into()])).await);
    book.note(("requeue", "requeue: out of the dead letters"), plain(), dead, requeue).await;
    let retry = async |bed: &Bed| drop(bed.jobs.retry("c").await);
    book.note(("requeue", "requeue: one that waits is refused"), plain(), dead, retry).await;
    let run_now = async |bed: &Bed| drop(bed.jobs.run_now("d").await);
    book.note(("requeue", "run now: out of delayed"), plain(), states, run_now).await;
    let few = Options { dlq_max: 1, ..plain() };
    let trim = async |bed: &Bed| drop(bed.jobs.trim_dlq().await);
    book.note(("trim_dlq", "the oldest go"), few, dead, trim).await;

    let pause = async |bed: &Bed| drop(bed.jobs.pause("email", None).await);
    book.note(("pause", "for good"), plain(), nothing, pause).await;
    let until = async |bed: &Bed| drop(bed.jobs.pause("email", Some(NOW + 60_000)).await);
    book.note(("pause", "until a time"), plain(), nothing, until).await;
    let resume = async |bed: &Bed| drop(bed.jobs.resume("email").await);
    book.note(("resume", "resumed"), plain(), until, resume).await;
    let limit = async |bed: &Bed| drop(bed.jobs.limit("email", Limit::rate(5, 1_000)).await);
    book.note(("limit", "on a type"), plain(), nothing, limit).await;
    let clear = async |bed: &Bed| drop(bed.jobs.limit("email", Limit::default()).await);
    book.note(("limit", "taken away"), plain(), limit, clear).await;
    let group = async |bed: &Bed| drop(bed.jobs.limit_group("acme", Limit::concurrency(2)).await);
    book.note(("limit", "on a group"), plain(), nothing, group).await;
    let grouped = async |bed: &Bed| drop(bed.put(job("email", "a").group("acme")).await);
    book.note(("join_groups", "a job joins the line of its group"), plain(), nothing, grouped)
        .await;
}

pub(crate) async fn keep(book: &mut Book) {
    let entry = |pid: u32| Registration { pid, hostname: "host".into(), ..Registration::default() };
    let (me, other) = (entry(7), entry(8));
    let joined = async |bed: &Bed| drop(bed.jobs.register(&worker("w1"), &me).await);
    book.note(("register", "a worker joins"), plain(), nothing, joined).await;
    let second = async |bed: &Bed| drop(bed.jobs.register(&worker("w1"), &other).await);
    book.note(("register", "its id is in use"), plain(), joined, second).await;
    let leave = async |bed: &Bed| drop(bed.jobs.unregister(&worker("w1"), &me).await);
    book.note(("unregister", "a worker leaves"), plain(), joined, leave).await;

    let leaked = async |bed: &Bed| {
        claimed_abc(bed).await;
        bed.ask(&["SET", "bridge:ratelimit:concurrent:email", "9"]).await;
    };
    let first = async |bed: &Bed| drop(bed.jobs.reconcile(&Sightings::default()).await);
    book.note(("reconcile", "a counter that is wrong is told"), plain(), leaked, first).await;
    let seen = Sightings::default();
    let once = async |bed: &Bed| {
        leaked(bed).await;
        drop(bed.jobs.reconcile(&seen).await);
    };
    let again = async |bed: &Bed| drop(bed.jobs.reconcile(&seen).await);
    book.note(("reconcile", "the second time it is set"), plain(), once, again).await;

    let marked = async |bed: &Bed| {
        claimed_abc(bed).await;
        bed.ask(&["SADD", "bridge:x:cancelled", "a", "gone"]).await;
        bed.ask(&["HSET", "bridge:x:recoveries", "a", "1", "gone", "2"]).await;
    };
    let forget = async |bed: &Bed| drop(bed.jobs.forget_marks().await);
    book.note(("prune_marks", "marks of jobs that are over"), plain(), marked, forget).await;

    let bad = async |bed: &Bed| raw(bed, "bad", "{no job").await;
    let bury = async |bed: &Bed| drop(bed.jobs.quarantine("bad").await);
    book.note(("quarantine", "an unreadable job is dead"), plain(), bad, bury).await;
    let leave = async |bed: &Bed| drop(bed.jobs.quarantine("a").await);
    book.note(("quarantine", "a readable one stays"), plain(), put_abc, leave).await;
    let parked = async |bed: &Bed| {
        put_abc(bed).await;
        bed.put(job("email", "d").depends_on("a")).await;
        bed.ask(&["SET", "bridge:jobs:status:a", "completed"]).await;
    };
    let sweep = async |bed: &Bed| drop(bed.jobs.sweep_parked().await);
    book.note(("recheck_dependencies", "a parked job whose wait is over"), plain(), parked, sweep)
        .await;
    let liar = async |bed: &Bed| {
        bed.put(job("email", "a").delay(Duration::from_secs(5))).await;
        bed.ask(&["SET", "bridge:jobs:status:a", "waiting"]).await;
    };
    let repair = async |bed: &Bed| drop(bed.jobs.doctor(true).await);
    book.note(("repair_status", "a state that lies"), plain(), liar, repair).await;

    let rotating = Options { rotate_unclaimable_s: 5, ..plain() };
    let seen = Sightings::default();
    let blocked = async |bed: &Bed| {
        drop(bed.jobs.register(&worker("w1"), &me).await);
        for id in ["u1", "u2"] {
            bed.put(job("email", id).target(Target::any().capability("gpu"))).await;
        }
        put_abc(bed).await;
        drop(bed.jobs.rotate(&seen).await);
    };
    let rotate = async |bed: &Bed| {
        bed.pass(6_000);
        drop(bed.jobs.rotate(&seen).await);
    };
    let name = "what nobody may run goes to the tail";
    book.note(("rotate", name), rotating, blocked, rotate).await;
    trim(book).await;
    lead(book).await;
}

/// Entries have ids of the server's clock, so these are spelled by hand.
async fn trim(book: &mut Book) {
    let words = |line: &[&str]| line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let keys = words(&["bridge:jobs:waiting"]);
    let add = |id: &str, ids: &str| {
        words(&["XADD", "bridge:x:index", id, "at", &(NOW - 90_000).to_string(), "ids", ids])
    };
    let lives = words(&["SET", "bridge:jobs:data:a", "{}"]);
    let before = [add("1-1", "gone\nlost"), add("1-2", "a\ngone"), add("2-1", "gone"), lives];
    let args = [NOW, 60_000].map(|number| number.to_string());
    book.play("trim_index", "entries of jobs that are gone go", &before, &keys, &args).await;
    let young = [NOW, 120_000].map(|number| number.to_string());
    book.play("trim_index", "young entries stay", &before, &keys, &young).await;
}

/// What a leader says of itself names its machine, so these are spelled by hand.
async fn lead(book: &mut Book) {
    let keys = ["scheduler:lock", "scheduler:leader", "events:stream"];
    let keys = keys.map(|key| format!("bridge:{key}"));
    let text = r#"{"id":"s1","host":"host","pid":7,"since":1794768259299}"#;
    let now = NOW.to_string();
    let held_by = |id: &str| vec![["SET", "bridge:scheduler:lock", id].map(str::to_owned).to_vec()];
    for (name, verb, before) in [
        ("nobody leads", "take", vec![]),
        ("another leads", "take", held_by("s2")),
        ("it leads and goes on", "take", held_by("s1")),
        ("it leads and leaves", "leave", held_by("s1")),
    ] {
        let args = [verb, "s1", "30", text, &now, "10000"].map(str::to_owned);
        book.play("lead", name, &before, &keys, &args).await;
    }
}
