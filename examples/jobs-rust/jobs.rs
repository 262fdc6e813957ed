//! A queue, a worker and a scheduler in one process:
//! `cargo run -p worldkeep-cli --example jobs [-- redis://127.0.0.1:6379]`

use std::sync::Arc;
use std::time::Duration;

use jobs::worker::{Job, JobCx, JobError, JobType, Worker, timeout};
use jobs::{Jobs, NewJob, Options, Scheduler};
use kernel::keyspace::Layout;
use kernel::{Deadline, ServerClock, SystemClock};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Serialize, Deserialize)]
struct Email {
    to: String,
}

impl JobType for Email {
    const TYPE: &'static str = "email";
}

/// Works at the second try.
async fn send(email: Job<Email>, cx: JobCx) -> Result<serde_json::Value, JobError> {
    cx.progress(50.0, "connected").await?;
    if cx.attempt() == 0 {
        let wait = Duration::from_millis(300);
        return Err(JobError::retry_after(wait, "Busy", "the mail server is busy"));
    }
    Ok(json!({"sent": email.payload.to}))
}

#[tokio::main]
#[allow(clippy::print_stdout)] // an example says what it does
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = std::env::args().nth(1).unwrap_or_else(|| "memory".to_owned());
    let store = link::open(&place, link::Options::default()).await?;
    // The store's own time, so that machines with wrong clocks agree.
    let by = Deadline::after(Duration::from_secs(1));
    let clock = ServerClock::start(&*store, Arc::new(SystemClock::new()), by).await?;
    let jobs = Jobs::new(store, Arc::new(clock), "bridge", Layout::Plain, Options::default())?;

    let worker = Worker::builder(&jobs)
        .concurrency(16)
        .layer(timeout(Duration::from_secs(30)))
        .on(send)
        .handle("tick", |job: Job<serde_json::Value>, _| async move {
            println!("tick {}", job.id);
            Ok(())
        })
        .build()
        .await?;
    let stopper = worker.stopper();
    let working = tokio::spawn(worker.run());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let scheduler = Scheduler::new(&jobs, Arc::default());
    let scheduling = tokio::spawn(scheduler.run_until(async {
        let _ = stopped.await;
    }));

    let tick = jobs.dispatch(NewJob::new("tick", &json!({})).cron("* * * * * *", None)).await?;
    let email = NewJob::of(&Email { to: "someone@example.org".to_owned() }).priority(8);
    let email = jobs.dispatch(email).await?;
    let done = jobs.wait(&email.job.id, Duration::from_secs(10)).await?;
    println!("{} {}", done.status.unwrap_or_default(), done.result.map_or("", |_| "with a result"));
    tokio::time::sleep(Duration::from_secs(2)).await;

    jobs.remove_cron(&tick.job.id).await?;
    let _ = stop.send(());
    scheduling.await?;
    stopper.stop();
    working.await??;
    println!("{:?}", jobs.stats().await?);
    Ok(())
}
