//! Flows: a parent runs after its children and sees how they ended; what it does after a failure is its own choice.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jobs::worker::{Job, JobCx, JobError, Worker};
use jobs::{ChildJob, Failure, Flow, NewJob, Options, Pick, Status, TreeBranch};
use serde_json::Value as Json;
use testkit::on_every_store;

use crate::support::{Bed, bed, bed_with, job, worker};

/// A report over two pages, one of which needs a picture.
fn report(root: NewJob) -> Flow {
    let page = Flow::new(job("page", "p1")).child(job("page", "pic"));
    Flow::new(root).child(page).child(job("page", "p2"))
}

async fn put(bed: &Bed, flow: Flow) -> Vec<String> {
    let stored = bed.jobs.dispatch_flow(flow).await.unwrap();
    stored.into_iter().map(|one| one.job.id).collect()
}

/// Claims this one and completes it with this result.
async fn complete(bed: &Bed, id: &str, data: &str) {
    let facts = worker("w");
    let one = bed.claim(&facts).await.unwrap();
    assert_eq!(one.job.id, id);
    bed.jobs.complete(&facts, one.job, Some(data.to_owned()), 1).await.unwrap();
}

async fn list(bed: &Bed) -> String {
    bed.line("LRANGE bridge:jobs:waiting 0 -1").await
}

/// The tree that a job belongs to, in one line: `root waiting (a completed, b gone)`.
async fn drawn(bed: &Bed, id: &str) -> String {
    fn draw(branch: &TreeBranch) -> String {
        let below: Vec<String> = branch.children.iter().map(draw).collect();
        let below =
            if below.is_empty() { String::new() } else { format!(" ({})", below.join(", ")) };
        format!("{} {}{below}", branch.id, branch.status)
    }
    draw(&bed.jobs.tree(id).await.unwrap().unwrap().root)
}

/// Runs what waits: pages give a number, reports what they see of their children.
async fn run(bed: &Bed) -> Vec<String> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let shown = |child: &ChildJob| {
        let data = child.data::<i64>().map(|data| data.to_string());
        let said = data.or(child.error().map(|error| error.name.clone())).unwrap_or_default();
        format!("{} {} {said}", child.id, child.status)
    };
    let worker = Worker::builder(&bed.jobs)
        .server_id("runner")
        .handle("page", |job: Job<Json>, _| async move {
            let fails = Failure::new("Torn", "no paper");
            if job.payload == 0 { Err(JobError::Dead(fails)) } else { Ok(7) }
        })
        .handle("report", move |_: Job<Json>, cx: JobCx| {
            let notes = Arc::clone(&notes);
            async move {
                let lines = cx.children().await?.iter().map(shown).collect::<Vec<_>>();
                notes.lock().unwrap().extend(lines);
                Ok(())
            }
        })
        .build()
        .await
        .unwrap();
    worker.drain().await.unwrap();
    let lines = seen.lock().unwrap();
    lines.clone()
}

/// A report whose first page fails for good.
fn torn(root: NewJob) -> Flow {
    let page = NewJob::raw("page", "0").id("p1");
    Flow::new(root).child(page).child(job("page", "p2"))
}

on_every_store!(a_parent_runs_after_its_children, |store| {
    let bed = bed(store);
    let ids = put(&bed, report(job("report", "r"))).await;
    assert_eq!(ids, ["r", "p2", "p1", "pic"]);
    assert_eq!(list(&bed).await, "[pic p2]", "leaves wait, parents are in no queue");
    assert_eq!(bed.line("SCARD bridge:x:parked").await, "2");
    complete(&bed, "pic", "1").await;
    assert_eq!(list(&bed).await, "[p2 p1]");
    complete(&bed, "p2", "2").await;
    complete(&bed, "p1", "3").await;
    assert_eq!(list(&bed).await, "[r]");
    let tree = "r waiting (p1 completed (pic completed), p2 completed)";
    assert_eq!(drawn(&bed, "pic").await, tree);
    assert_eq!(run(&bed).await, ["p1 completed 3", "p2 completed 2"]);
    assert_eq!(bed.line("EXISTS bridge:x:parked bridge:x:deps:r bridge:x:children:p1").await, "0");
    assert_eq!(bed.line("TTL bridge:x:flow:r").await, "86400", "as long as its data");
});

on_every_store!(a_flow_is_stored_whole_or_not_at_all, |store| {
    let bed = bed_with(store, Options { max_waiting: 3, ..Options::default() });
    bed.put(job("page", "p2")).await;
    let before = bed.state().await;
    let refused = bed.jobs.dispatch_flow(report(job("report", "r"))).await.unwrap_err();
    assert_eq!(refused.code(), "job_exists");
    let twice = Flow::new(job("report", "r")).child(job("page", "a")).child(job("page", "a"));
    assert_eq!(bed.jobs.dispatch_flow(twice).await.unwrap_err().code(), "job_exists");
    let key = |id: &str| job("page", id).unique("k", Duration::from_secs(9));
    let same = Flow::new(job("report", "r")).child(key("a")).child(key("b"));
    assert_eq!(bed.jobs.dispatch_flow(same).await.unwrap_err().code(), "not_unique");
    let nobody = Flow::new(job("report", "r").depends_on("nobody")).child(job("page", "a"));
    assert_eq!(bed.jobs.dispatch_flow(nobody).await.unwrap_err().code(), "unknown_dependency");
    assert_eq!(bed.state().await, before);
    for id in ["x", "y"] {
        bed.put(job("page", id)).await;
    }
    let full = Flow::new(job("report", "r")).child(job("page", "a"));
    assert_eq!(bed.jobs.dispatch_flow(full).await.unwrap_err().code(), "queue_full");
});

on_every_store!(a_parent_fails_with_its_child_and_is_retried_with_it, |store| {
    let bed = bed(store);
    let root = Flow::new(job("report", "top").ignore_failed_dependencies());
    put(&bed, root.child(torn(job("report", "r")))).await;
    // The root goes on after failures, so it runs in the same go.
    assert_eq!(run(&bed).await, ["r dead DependencyFailed"]);
    assert_eq!(bed.line("LRANGE bridge:jobs:deadletter 0 -1").await, "[r p1]");
    let cause = bed.line("GET bridge:jobs:result:r").await;
    assert!(cause.contains(r#""message":"job p1 did not complete","name":"DependencyFailed""#));
    let tree = "top completed (r dead (p1 dead, p2 completed))";
    assert_eq!(drawn(&bed, "p2").await, tree);
    // A retry of the parent is one of what failed beneath it.
    let edited = bed.jobs.retry("r").await.unwrap();
    assert_eq!(edited.id, "r");
    assert_eq!(list(&bed).await, "[p1]");
    assert_eq!(bed.line("SMEMBERS bridge:x:deps:r").await, "[p1]");
    complete(&bed, "p1", "5").await;
    assert_eq!(run(&bed).await, ["p1 completed 5", "p2 completed 7"]);
    // So does a letter that is put back.
    put(&bed, Flow::new(job("report", "r2")).child(job("page", "a")).child(job("page", "b"))).await;
    bed.jobs.bury("a").await.unwrap();
    assert_eq!(bed.status("r2").await, "dead");
    assert_eq!(
        bed.line("EXISTS bridge:x:deps:r2 bridge:x:children:a bridge:x:children:b").await,
        "0"
    );
    let letter = Pick::Ids(vec!["r2".into()]);
    assert_eq!(bed.jobs.dlq_requeue(&letter).await.unwrap(), 2);
    assert_eq!(run(&bed).await, ["a completed 7", "b completed 7"]);
});

on_every_store!(a_parent_waits_for_a_failed_child_to_be_retried_or_removed, |store| {
    let bed = bed(store);
    let waits = |id: &str| job("report", id).wait_for_failed_dependencies();
    put(&bed, torn(waits("r"))).await;
    assert_eq!(run(&bed).await, [] as [String; 0]);
    assert_eq!(drawn(&bed, "r").await, "r waiting (p1 dead, p2 completed)");
    assert_eq!(bed.jobs.sweep_parked().await.unwrap(), 0, "nor does a sweep end it");
    assert_eq!(bed.jobs.doctor(false).await.unwrap().len(), 0);
    let why = bed.jobs.explain("r").await.unwrap();
    assert!(why.summary.contains("p1 (dead)"), "{}", why.summary);
    bed.jobs.retry("p1").await.unwrap();
    complete(&bed, "p1", "8").await;
    assert_eq!(run(&bed).await, ["p1 completed 8", "p2 completed 7"]);
    // The other way: what was removed is not waited for.
    bed.jobs.remove("p1").await.unwrap();
    bed.jobs.remove("p2").await.unwrap();
    put(&bed, torn(waits("r2"))).await;
    assert_eq!(run(&bed).await, [] as [String; 0]);
    bed.jobs.remove("p1").await.unwrap();
    assert_eq!(run(&bed).await, ["p1 dead Torn", "p2 completed 7"], "how it ended is known");
    assert_eq!(drawn(&bed, "r2").await, "r2 completed (p1 dead, p2 completed)");
});

on_every_store!(a_parent_goes_on_and_sees_what_failed, |store| {
    let bed = bed(store);
    put(&bed, torn(job("report", "r").ignore_failed_dependencies())).await;
    assert_eq!(run(&bed).await, ["p1 dead Torn", "p2 completed 7"]);
    // A child that is retried while its parent still waits is waited for again.
    let two = torn(job("report", "r2").ignore_failed_dependencies());
    bed.jobs.remove("p1").await.unwrap();
    bed.jobs.remove("p2").await.unwrap();
    put(&bed, two.child(job("report", "slow").delay(Duration::from_mins(1)))).await;
    assert_eq!(run(&bed).await, [] as [String; 0]);
    bed.jobs.retry("p1").await.unwrap();
    bed.jobs.run_now("slow").await.unwrap();
    let facts = worker("w");
    let claims = bed.jobs.claim(&facts, 2).await.unwrap().jobs;
    let [p1, slow] = claims.try_into().unwrap();
    bed.jobs.complete(&facts, slow.job, None, 1).await.unwrap();
    assert_eq!(list(&bed).await, "[]", "p1 runs again");
    bed.jobs.complete(&facts, p1.job, Some("1".into()), 1).await.unwrap();
    assert_eq!(list(&bed).await, "[r2]");
});

on_every_store!(a_foreign_worker_finishes_a_child, |store| {
    let bed = bed(store);
    put(&bed, report(job("report", "r"))).await;
    complete(&bed, "pic", "1").await;
    // As v1 does: it pops the job, and writes result and status, nothing else.
    for id in ["p2", "p1"] {
        assert_eq!(bed.line("LPOP bridge:jobs:waiting").await, id);
        bed.line(&format!(
            r#"SET bridge:jobs:result:{id} {{"success":true,"data":9,"completedAt":1,"processingTime":1}} EX 86400"#
        ))
        .await;
        bed.line(&format!("SET bridge:jobs:status:{id} completed")).await;
    }
    assert_eq!(list(&bed).await, "[]");
    assert_eq!(bed.jobs.sweep_parked().await.unwrap(), 1, "the scheduler's look");
    assert_eq!(run(&bed).await, ["p1 completed 9", "p2 completed 9"]);
});

on_every_store!(results_outlive_the_keys_of_the_children, |store| {
    let brief = Options { retention_s: 0, result_ttl_s: 0, ..Options::default() };
    let bed = bed_with(store, brief);
    put(&bed, report(job("report", "r"))).await;
    complete(&bed, "pic", "1").await;
    complete(&bed, "p2", "2").await;
    complete(&bed, "p1", "3").await;
    assert_eq!(bed.line("EXISTS bridge:jobs:data:p1 bridge:jobs:result:p1").await, "0");
    assert_eq!(drawn(&bed, "r").await, "r waiting (p1 completed, p2 completed)");
    assert_eq!(run(&bed).await, ["p1 completed 3", "p2 completed 2"]);
    let left = bed.line("KEYS bridge:x:*").await;
    assert!(!left.contains("x:flow") && !left.contains("x:deps"), "{left}");
});

on_every_store!(cancelling_a_parent_cancels_what_is_beneath_it, |store| {
    let bed = bed(store);
    let top = Flow::new(job("report", "top").ignore_failed_dependencies());
    put(&bed, top.child(report(job("report", "r")))).await;
    let running = bed.claim(&worker("w")).await.unwrap();
    assert_eq!(running.job.id, "pic");
    bed.jobs.cancel("r").await.unwrap();
    for id in ["r", "p1", "p2"] {
        assert_eq!(bed.status(id).await, "failed", "{id}");
    }
    assert_eq!(bed.line("SMEMBERS bridge:x:cancelled").await, "[pic]", "its worker was told");
    assert_eq!(list(&bed).await, "[top]", "whose policy is to go on");
});

on_every_store!(a_child_whose_worker_dies_ends_once, |store| {
    let bed = bed_with(store, Options { max_recoveries: 0, ..Options::default() });
    put(&bed, Flow::new(job("report", "r")).child(job("page", "a"))).await;
    bed.claim(&worker("w")).await.unwrap();
    bed.line("DEL bridge:jobs:lock:a").await;
    bed.jobs.reclaim().await.unwrap();
    assert_eq!(drawn(&bed, "a").await, "r dead (a dead)");
    // Children deleted by hand count as done, and are seen as gone.
    put(&bed, Flow::new(job("report", "r2")).child(job("page", "b"))).await;
    bed.line("DEL bridge:jobs:data:b bridge:jobs:status:b").await;
    assert_eq!(bed.jobs.sweep_parked().await.unwrap(), 1);
    assert_eq!(run(&bed).await, ["b gone "]);
});

on_every_store!(a_parent_whose_helpers_were_lost_still_waits, |store| {
    let bed = bed(store);
    put(&bed, report(job("report", "r"))).await;
    bed.line("DEL bridge:x:parked bridge:x:deps:r bridge:x:deps:p1 bridge:x:children:p1").await;
    bed.jobs.doctor(true).await.unwrap();
    bed.jobs.sweep_parked().await.unwrap();
    assert_eq!(list(&bed).await, "[pic p2]", "the text of a parent says what it waits for");
    complete(&bed, "pic", "1").await;
    complete(&bed, "p2", "1").await;
    complete(&bed, "p1", "1").await;
    assert_eq!(list(&bed).await, "[r]");
});

on_every_store!(jobs_without_a_flow_have_a_tree_and_see_what_they_waited_for, |store| {
    let bed = bed(store);
    bed.put(job("page", "a")).await;
    bed.put(job("report", "b").depends_on("a")).await;
    assert_eq!(drawn(&bed, "b").await, "b waiting (a waiting)");
    assert_eq!(run(&bed).await, ["a completed 7"]);
    assert_eq!(bed.line("EXISTS bridge:x:flow:b").await, "0", "nothing is kept for it");
    assert!(bed.jobs.tree("nobody").await.unwrap().is_none());
    let stored = bed.jobs.dispatch_flow(Flow::new(job("page", "alone"))).await.unwrap();
    assert_eq!(stored[0].status, Status::Waiting);
});
