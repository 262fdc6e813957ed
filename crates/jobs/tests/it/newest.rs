//! Lists with the newest first: their index, its cursors, and what happens to it when jobs end, are removed or come from
//! programs that know no index.

use std::sync::Arc;
use std::time::Duration;

use jobs::{ListQuery, NewJob, Options, Page, Scheduler, Status};
use testkit::on_every_store;

use crate::support::{Bed, bed, bed_with, job, worker};

async fn page(bed: &Bed, query: &ListQuery) -> (Vec<String>, Option<String>, usize) {
    let Page { items, cursor, looked_at } = bed.jobs.list(query).await.unwrap();
    (items.into_iter().map(|one| one.id).collect(), cursor, looked_at)
}

async fn all(bed: &Bed, query: &ListQuery) -> Vec<String> {
    let (mut query, mut found) = (query.clone(), Vec::new());
    for _ in 0..1_000 {
        let (ids, cursor, _) = page(bed, &query).await;
        found.extend(ids);
        if cursor.is_none() {
            return found;
        }
        query.cursor = cursor;
    }
    panic!("the list has no end");
}

fn of(limit: usize) -> ListQuery {
    ListQuery { limit, ..ListQuery::default() }
}

on_every_store!(the_newest_job_comes_first_in_every_list, |store| {
    let bed = bed(store);
    let facts = worker("w");
    // One by one, many in a step, of high priority, delayed, depending, recurring.
    bed.put(job("even", "a0")).await;
    let many = (1..5).map(|n| job(if n % 2 == 0 { "even" } else { "odd" }, &format!("a{n}")));
    bed.jobs.dispatch_many(many.collect()).await.unwrap();
    bed.pass(5);
    bed.put(job("odd", "b").priority(9)).await;
    bed.put(job("even", "c").delay(Duration::from_secs(9))).await;
    bed.put(job("even", "d").depends_on("c")).await;
    bed.jobs.put_cron(job("odd", "e").cron("* * * * *", None)).await.unwrap();
    let newest = ["e", "d", "c", "b", "a4", "a3", "a2", "a1", "a0"];
    for limit in [1, 2, 3, 50] {
        assert_eq!(all(&bed, &of(limit)).await, newest, "{limit} in a page");
        let odd = ListQuery { kind: Some("odd".into()), ..of(limit) };
        assert_eq!(all(&bed, &odd).await, ["e", "b", "a3", "a1"]);
        let waiting = ListQuery { status: Some(Status::Waiting), ..of(limit) };
        assert_eq!(all(&bed, &waiting).await, ["d", "b", "a4", "a3", "a2", "a1", "a0"]);
    }
    for _ in 0..3 {
        let one = bed.claim(&facts).await.unwrap();
        bed.jobs.complete(&facts, one.job, None, 1).await.unwrap();
    }
    let done = ListQuery { status: Some(Status::Completed), ..of(2) };
    assert_eq!(all(&bed, &done).await, ["b", "a1", "a0"]);
    let text = ListQuery { text: Some("a4".into()), ..of(5) };
    assert_eq!(all(&bed, &text).await, ["a4"]);
});

on_every_store!(a_cursor_stays_where_it_is_while_jobs_come_and_go, |store| {
    let bed = bed(store);
    for n in 0..10 {
        bed.put(job("t", &format!("j{n}"))).await;
    }
    let (first, cursor, _) = page(&bed, &of(4)).await;
    assert_eq!(first, ["j9", "j8", "j7", "j6"]);
    bed.put(job("t", "new")).await;
    bed.jobs.remove("j6").await.unwrap();
    bed.jobs.remove("j4").await.unwrap();
    let rest = all(&bed, &ListQuery { cursor, ..of(3) }).await;
    assert_eq!(rest, ["j5", "j3", "j2", "j1", "j0"]);
    for bad in ["n.1.2", "n.a-b.0", "n.1-2.x", "c.x.y", "n", "s.0.0"] {
        let query = ListQuery { cursor: Some(bad.into()), ..of(3) };
        assert_eq!(bed.jobs.list(&query).await.unwrap_err().code(), "invalid_cursor", "{bad}");
    }
});

on_every_store!(a_filter_looks_at_a_bounded_stretch_and_goes_on_from_there, |store| {
    let bed = bed(store);
    let jobs = (0..4_500).map(|n| NewJob::raw(if n == 7 { "rare" } else { "t" }, "{}"));
    bed.jobs.dispatch_many(jobs.collect()).await.unwrap();
    let rare = ListQuery { kind: Some("rare".into()), ..of(10) };
    let (ids, cursor, looked_at) = page(&bed, &rare).await;
    assert!(ids.is_empty() && cursor.is_some());
    assert!((2_000..2_300).contains(&looked_at), "{looked_at}");
    assert_eq!(all(&bed, &rare).await.len(), 1);
    assert_eq!(all(&bed, &of(500)).await.len(), 4_500);
});

on_every_store!(an_id_that_is_used_again_is_listed_once, |store| {
    let bed = bed(store);
    bed.put(job("t", "again")).await;
    bed.put(job("t", "other")).await;
    bed.jobs.remove("again").await.unwrap();
    bed.pass(1);
    bed.put(job("t", "again")).await;
    assert_eq!(all(&bed, &of(1)).await, ["again", "other"]);
});

on_every_store!(entries_go_when_their_jobs_are_gone, |store| {
    let bed = bed_with(store, Options { retention_s: 0, ..Options::default() });
    let facts = worker("w");
    for n in 0..5 {
        bed.put(job("t", &format!("j{n}"))).await;
    }
    bed.put(job("t", "stays").delay(Duration::from_hours(9_000))).await;
    bed.put(job("t", "last")).await;
    for claimed in bed.jobs.claim(&facts, 10).await.unwrap().jobs {
        bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    }
    let mut scheduler = Scheduler::new(&bed.jobs, Arc::default());
    scheduler.round().await;
    assert_eq!(bed.line("XLEN bridge:x:index").await, "7", "they are too young to be looked at");
    bed.pass(61_000);
    scheduler.round().await;
    assert_eq!(bed.line("XLEN bridge:x:index").await, "1");
    assert_eq!(all(&bed, &of(5)).await, ["stays"]);
});

on_every_store!(jobs_of_programs_that_know_no_index_are_listed_too, |store| {
    let bed = bed(store);
    let text = |id: &str, at: u64| {
        format!(r#"{{"jobId":"{id}","type":"t","payload":{{}},"createdAt":{at},"attempts":0}}"#)
    };
    let foreign = async |id: &str, at: u64| {
        bed.ask(&["SET", &format!("bridge:jobs:data:{id}"), &text(id, at)]).await;
        bed.ask(&["RPUSH", "bridge:jobs:waiting", id]).await;
        bed.ask(&["SET", &format!("bridge:jobs:status:{id}"), "waiting"]).await;
    };
    bed.put(job("t", "ours")).await;
    foreign("v2", 6).await;
    foreign("v1", 5).await;
    assert_eq!(all(&bed, &of(5)).await, ["ours"]);
    let mut scheduler = Scheduler::new(&bed.jobs, Arc::default());
    scheduler.round().await;
    assert_eq!(all(&bed, &of(5)).await, ["v2", "v1", "ours"], "the leader has found them");
    // One that our worker ran at once is known by its events.
    foreign("quick", 7).await;
    let facts = worker("w");
    for claimed in bed.jobs.claim(&facts, 10).await.unwrap().jobs {
        bed.jobs.complete(&facts, claimed.job, None, 1).await.unwrap();
    }
    bed.pass(10_000);
    scheduler.round().await;
    assert_eq!(all(&bed, &of(5)).await, ["quick", "v2", "v1", "ours"]);
});

on_every_store!(the_doctor_makes_a_lost_index_anew, |store| {
    let bed = bed(store);
    for n in 0..3 {
        bed.put(job("t", &format!("j{n}"))).await;
        bed.pass(1);
    }
    assert!(bed.jobs.doctor(false).await.unwrap().is_empty());
    bed.line("DEL bridge:x:index").await;
    bed.put(job("t", "new")).await;
    let found = bed.jobs.doctor(false).await.unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].detail.starts_with("lacks 3 jobs, such as j"), "{found:?}");
    assert!(bed.jobs.doctor(true).await.unwrap()[0].repaired);
    assert!(bed.jobs.doctor(true).await.unwrap().is_empty());
    assert_eq!(all(&bed, &of(5)).await, ["new", "j2", "j1", "j0"]);
});
