//! The packages of other languages (`clients/`) on every store: cases that all languages play, this crate among them, and
//! workers of three languages that are killed on one queue. `tests/clients/install` puts the packages' drivers there.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jobs::worker::{Job, JobCx, JobError, Worker};
use jobs::{Flow, Jobs, NewJob, Options, Scheduler};
use kernel::events::{Filter, Record, StreamEvent};
use kernel::keyspace::Layout;
use kernel::{Store, SystemClock};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use testkit::{on_every_address, open};

use crate::hands::{Live, NS, ask, int, options, queue_with, text, until};
use crate::torture::{Process, left, long, many, runtime};

const CASES: &str = include_str!("../../../../tests/clients/packages/cases.json");

/// Checks that a program has beside the cases: verbs that no case has, and connections that are cut.
const OWN: usize = 2;

fn cases() -> Json {
    serde_json::from_str(CASES).unwrap()
}

fn count(list: &str) -> usize {
    cases()[list].as_array().unwrap().len()
}

/// A program of `tests/clients/packages` with the package of its language.
fn program(language: &str, name: &str) -> Command {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let packages = root.join("target/clients/python");
    let (driver, mut command, file) = if language == "node" {
        (root.join("clients/js/node_modules/ioredis"), Command::new("node"), format!("{name}.mjs"))
    } else {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", &packages).env("PYTHONDONTWRITEBYTECODE", "1");
        (packages.join("redis"), command, format!("{name}.py"))
    };
    assert!(driver.exists(), "the driver for {language} is not installed: run `make tools`");
    command.arg(root.join("tests/clients/packages").join(file));
    command
}

fn plays(language: &str, held: usize) {
    on_every_address(language, |url| {
        let output = program(language, "play").arg(url).output().unwrap();
        let problems = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{language}: {problems}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.trim(), held.to_string(), "{language} played every case: {problems}");
    });
}

#[test]
fn node_plays_the_cases() {
    plays("node", count("stored") + count("refused") + count("lives") + OWN);
}

#[test]
fn python_plays_the_cases() {
    // Each life with a coroutine, and with a function in a thread.
    plays("python", count("stored") + count("refused") + 2 * count("lives") + OWN);
}

fn queue(store: &Arc<dyn Store>) -> Jobs {
    let clock = Arc::new(SystemClock::new());
    Jobs::new(store.clone(), clock, "bridge", Layout::Plain, Options::default()).unwrap()
}

fn timeless(text: &str) -> String {
    let (before, rest) = text.split_once("\"createdAt\":").unwrap();
    format!("{before}\"createdAt\":0{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
}

async fn stored(jobs: &Jobs, store: &dyn Store, case: &Json) {
    let job = NewJob::from_json(&case["job"].to_string()).unwrap();
    let id = jobs.dispatch(job).await.unwrap().job.id;
    let data = text(store, &["GET", &format!("bridge:jobs:data:{id}")]).await.unwrap();
    // The cases are read with their members in another order: only their values are compared.
    let (found, wanted): (Json, Json) = (
        serde_json::from_str(&timeless(&data)).unwrap(),
        serde_json::from_str(case["text"].as_str().unwrap()).unwrap(),
    );
    assert_eq!(found, wanted, "{}", case["name"]);
    let status = text(store, &["GET", &format!("bridge:jobs:status:{id}")]).await;
    assert_eq!(status.as_deref(), case["status"].as_str());
}

async fn refused(jobs: &Jobs, case: &Json) {
    let error = if case["flow"].is_object() {
        match Flow::from_json(&case["flow"].to_string()) {
            Ok(flow) => jobs.dispatch_flow(flow).await.expect_err(&case["flow"].to_string()),
            Err(error) => error,
        }
    } else {
        match NewJob::from_json(&case["job"].to_string()) {
            Ok(job) => jobs.dispatch(job).await.expect_err(&case["job"].to_string()),
            Err(error) => error,
        }
    };
    let wanted = (case["code"].as_str().unwrap(), case["field"].as_str());
    assert_eq!((error.code(), error.field()), wanted, "{} {error}", case["job"]);
}

/// The handler: it does what the payload asks for.
#[allow(clippy::needless_pass_by_value)] // a handler owns its job and context
async fn play(job: Job<Json>, cx: JobCx) -> Result<Option<Json>, JobError> {
    let payload = job.payload;
    let is_due = payload["times"].as_u64().is_none_or(|times| u64::from(cx.attempt()) < times);
    if payload["children"] == true {
        let seen = |child: &jobs::ChildJob| {
            let error = child.error().map(|error| json!(error.name));
            json!([child.id, child.status, child.data::<Json>().or(error)])
        };
        return Ok(Some(cx.children().await?.iter().map(seen).collect()));
    }
    if payload["child"].is_object() {
        cx.spawn_child(NewJob::new("play", &payload["child"])).await?;
    }
    for one in payload["progress"].as_array().into_iter().flatten() {
        cx.progress(one[0].as_f64().unwrap(), one[1].as_str().unwrap()).await?;
    }
    if payload["untilCancelled"] == true {
        cx.cancelled().await;
        return Ok(None);
    }
    if let Some(ms) = payload["snooze"].as_u64() {
        if let Some(slept) = cx.restored::<Json>().await? {
            return Ok(Some(slept));
        }
        cx.checkpoint(&json!({"slept": 1})).await?;
        return Err(JobError::snooze(Duration::from_millis(ms)));
    }
    if let Some(message) = payload["discard"].as_str() {
        return Err(JobError::discard("Discard", message));
    }
    if let Some(message) = payload["dead"].as_str() {
        return Err(JobError::dead("Dead", message));
    }
    if let Some(ms) = payload["retryAfter"].as_u64().filter(|_| is_due) {
        return Err(JobError::retry_after(Duration::from_millis(ms), "RetryAfter", "later"));
    }
    if let Some(named) = payload["throw"].as_array().filter(|_| is_due) {
        return Err(JobError::retry(named[0].as_str().unwrap(), named[1].as_str().unwrap()));
    }
    Ok(payload.get("return").cloned())
}

async fn check_end(jobs: &Jobs, events: &[(String, String)], id: &str, want: &Json) {
    let view = jobs.get(id).await.unwrap().unwrap();
    assert_eq!(view.status.as_deref(), want["status"].as_str(), "{id}");
    let job = view.read().unwrap();
    assert_eq!(u64::from(job.attempts), want["attempts"].as_u64().unwrap(), "{id}");
    if let Some(text) = want["text"].as_str() {
        let (found, wanted): (Json, Json) = (
            serde_json::from_str(&timeless(job.text())).unwrap(),
            serde_json::from_str(text).unwrap(),
        );
        assert_eq!(found, wanted, "{id}");
    }
    let result: Json =
        view.result.as_ref().map_or(Json::Null, |raw| serde_json::from_str(raw.get()).unwrap());
    if want["status"] == "completed" {
        let data = result.get("data").filter(|data| !data.is_null());
        assert_eq!(data, want.get("data"), "{id}");
    }
    if let Some(error) = want["error"].as_array() {
        assert_eq!(result["error"]["name"], error[0], "{id}");
        assert!(error[1].is_null() || result["error"]["message"] == error[1], "{id} {result}");
    }
    if let Some(wanted) = want["events"].as_array() {
        let told = events.iter().filter(|(_, of)| of == id).map(|(kind, _)| json!(kind));
        assert_eq!(&told.collect::<Vec<_>>(), wanted, "{id}");
    }
}

async fn life(jobs: &Jobs, store: &dyn Store, case: &Json) {
    if case["flow"].is_object() {
        let flow = Flow::from_json(&case["flow"].to_string()).unwrap();
        jobs.dispatch_flow(flow).await.unwrap();
    }
    let given = case["jobs"].as_array().into_iter().flatten();
    let given = given.map(|job| NewJob::from_json(&job.to_string()).unwrap()).collect();
    let answers = jobs.dispatch_many(given).await.unwrap();
    for (n, answer) in answers.iter().enumerate() {
        let code = answer.as_ref().err().map(jobs::Error::code);
        assert_eq!(code, case["answers"][n].as_str(), "{}", case["name"]);
    }
    let worker = Worker::builder(jobs).server_id("w1").region("eu").capabilities(["gpu"]);
    let worker = Live::start(worker.handle("play", play)).await;
    for id in case["cancel"].as_array().into_iter().flatten() {
        let id = id.as_str().unwrap();
        until("it runs", || async { crate::hands::status(jobs, id).await == "active" }).await;
        jobs.cancel(id).await.unwrap();
    }
    for id in case["when"].as_object().into_iter().flat_map(serde_json::Map::keys) {
        until("it was tried", || async {
            jobs.get(id).await.unwrap().unwrap().read().unwrap().attempts > 0
        })
        .await;
    }
    let wanted = case["left"].as_u64().unwrap_or(0);
    until("all is done", || async {
        left(jobs).await == wanted && int(store, &["SCARD", "bridge:x:parked"]).await == 0
    })
    .await;
    worker.stop().await;
    let found = ask(store, &["XRANGE", "bridge:events:stream", "-", "+"]).await;
    let events: Vec<(String, String)> = kernel::reply::list(&found)
        .unwrap()
        .iter()
        .map(|entry| {
            let flat = kernel::reply::list(&kernel::reply::list(entry).unwrap()[1]).unwrap();
            let word = |at: usize| kernel::reply::text(&flat[at]).unwrap().to_owned();
            (word(1), word(5))
        })
        .collect();
    for (id, want) in case["ends"].as_object().unwrap() {
        check_end(jobs, &events, id, want).await;
    }
    if let Some(wanted) = case["claimed"].as_array() {
        let claimed = events.iter().filter(|(kind, _)| kind == "claimed").map(|(_, id)| json!(id));
        assert_eq!(&claimed.collect::<Vec<_>>(), wanted, "{}", case["name"]);
    }
}

#[test]
fn the_crate_plays_the_cases() {
    on_every_address("the_crate_plays_the_cases", |url| {
        runtime().block_on(async {
            let store = open(url).await;
            let jobs = queue(&store);
            for (list, all) in cases().as_object().unwrap() {
                for case in all.as_array().unwrap() {
                    ask(&*store, &["FLUSHALL"]).await;
                    match list.as_str() {
                        "stored" => stored(&jobs, &*store, case).await,
                        "refused" => refused(&jobs, case).await,
                        _ => life(&jobs, &*store, case).await,
                    }
                }
            }
        });
    });
}

#[test]
fn a_leader_tells_the_digest_of_the_scripts_that_the_packages_hold() {
    const BUNDLE: &str = include_str!("../../../../clients/python/worldkeep/jobs/bundle.json");
    let bundle: Json = serde_json::from_str(BUNDLE).unwrap();
    runtime().block_on(async {
        let store = open("memory").await;
        let (jobs, _) = crate::hands::still(&store);
        Scheduler::new(&jobs, Arc::default()).round().await;
        let leader = text(&*store, &["GET", &format!("{NS}:scheduler:leader")]).await.unwrap();
        let leader: Json = serde_json::from_str(&leader).unwrap();
        assert_eq!(leader["scripts"], bundle["digest"]);
    });
}

/// A worker in one of the three languages. Dropped, it is killed.
struct Killed {
    /// A worker of the crate, which kills its process when it is dropped.
    _own: Option<Process>,
    package: Option<Child>,
}

impl Killed {
    fn start(url: &str, number: usize, slots: usize, ms: u64) -> Killed {
        let id = format!("w-{number}");
        let language = match number % 3 {
            0 => {
                let own = Process::start_with(url, &id, slots, ms, 1_000);
                return Killed { _own: Some(own), package: None };
            }
            1 => "node",
            _ => "python",
        };
        let mut command = program(language, "worker");
        command.args([url, &id, &slots.to_string(), &ms.to_string()]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Killed { _own: None, package: Some(child) }
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        if let Some(child) = &mut self.package {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How often each job was told to be completed, and by workers of which language.
#[derive(Default)]
struct Completions {
    times: Mutex<HashMap<String, u32>>,
    workers: Mutex<HashMap<usize, u32>>,
    gaps: Mutex<u32>,
}

impl Completions {
    async fn watch(self: Arc<Self>, jobs: Jobs) {
        let types = vec!["completed".to_owned()];
        let mut events = jobs.events(Filter { types, ..Filter::default() });
        loop {
            let Ok(records) = events.next(Duration::from_secs(1)).await else { continue };
            for record in records {
                let Record::Event(StreamEvent { envelope: event, .. }) = record else {
                    *self.gaps.lock() += 1;
                    continue;
                };
                let body: Json = serde_json::from_str(event.body.get()).unwrap_or_default();
                let number =
                    body["worker"].as_str().and_then(|id| id.strip_prefix("w-")?.parse().ok());
                *self.workers.lock().entry(number.unwrap_or(0_usize) % 3).or_default() += 1;
                *self.times.lock().entry(event.id).or_default() += 1;
            }
        }
    }
}

#[test]
fn killed_workers_of_three_languages_lose_nothing() {
    const SLOTS: usize = 8;
    const MS: u64 = 50;
    let (count, team) = (many(1_500, 30_000), if long() { 12 } else { 3 });
    let kills = if long() { usize::MAX } else { 6 };
    on_every_address("killed_workers_of_three_languages_lose_nothing", |url| {
        runtime().block_on(async {
            let store = open(url).await;
            let options = Options { max_recoveries: 1_000, ..options() };
            let jobs = queue_with(&store, Arc::new(SystemClock::new()), options);
            let completions = Arc::new(Completions::default());
            let watching = tokio::spawn(completions.clone().watch(jobs.clone()));
            let scheduler = Scheduler::new(&jobs, Arc::default()).run_until(std::future::pending());
            let scheduler = tokio::spawn(scheduler);
            let mut workers: Vec<Killed> =
                (0..team).map(|n| Killed::start(url, n, SLOTS, MS)).collect();
            until("all workers are there", || async {
                jobs.workers().await.unwrap().len() == team
            })
            .await;
            let all: Vec<NewJob> = (0..count).map(|n| NewJob::new("work", &n)).collect();
            for lot in all.chunks(500) {
                jobs.dispatch_many(lot.to_vec()).await.unwrap();
            }
            let mut killed = 0;
            while killed < kills && jobs.stats().await.unwrap().waiting > 0 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                // The next one to be killed holds jobs, so that each kill hits some that run.
                let doomed = format!("w-{killed}");
                until("the next to be killed holds jobs, or all is done", || async {
                    let mut all = jobs.workers().await.unwrap().into_iter();
                    all.any(|one| one.server_id == doomed && !one.jobs.is_empty())
                        || left(&jobs).await == 0
                })
                .await;
                let next = Killed::start(url, killed + team, SLOTS, MS);
                // Dropping the old one is kill -9.
                workers[killed % team] = next;
                killed += 1;
            }
            let last_kill = Instant::now();
            let limit = Duration::from_secs(if long() { 600 } else { 90 });
            while left(&jobs).await > 0 {
                assert!(last_kill.elapsed() < limit, "{} jobs are left", left(&jobs).await);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            until("every completion was told", || async {
                completions.times.lock().len() == count || *completions.gaps.lock() > 0
            })
            .await;
            drop(workers);
            scheduler.abort();
            watching.abort();
            let effects = int(&*store, &["SCARD", "effects"]).await;
            let runs = int(&*store, &["GET", "runs"]).await;
            let doubled = completions.times.lock().values().filter(|times| **times > 1).count();
            let by = completions.workers.lock().clone();
            let twice = usize::try_from(runs).unwrap().saturating_sub(count);
            println!(
                "killed {killed} of three languages, {count} jobs: lost {}, completed twice {doubled}, runs twice {twice}, \
                 by rust, node, python {by:?}: PASS",
                count - usize::try_from(effects).unwrap(),
            );
            assert_eq!(*completions.gaps.lock(), 0, "every completion was read");
            assert_eq!(usize::try_from(effects).unwrap(), count, "nothing is lost");
            assert_eq!(doubled, 0, "no job was completed twice");
            // Jobs that run, and those whose end is not written yet.
            assert!(twice <= killed * SLOTS * 2, "{twice} runs twice");
            assert_eq!(jobs.stats().await.unwrap().dead, 0);
            assert_eq!(int(&*store, &["GET", &format!("{NS}:ratelimit:concurrent:work")]).await, 0);
            assert_eq!(int(&*store, &["HLEN", &format!("{NS}:x:claimed")]).await, 0);
            assert_eq!(by.len(), 3, "each language did its part");
        });
    });
}
