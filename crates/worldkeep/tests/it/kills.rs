//! Kills under load. Whatever a server acknowledged (a job, its end, a hit, a vote) is there after it was killed and
//! started again, on the embedded engine and on real servers. `WORLDKEEP_TORTURE` kills a hundred times.

use std::sync::Arc;
use std::time::Duration;

use jobs::{Done, Ending, Jobs, Options, WorkerFacts};
use kernel::SystemClock;
use kernel::keyspace::Layout;
use serde_json::{Value, json};

use crate::rooms::{ask, open, setup};
use crate::support::{Served, serve_in};

const NAMESPACE: &str = "bridge";
const DUMMY: u32 = 9_300_018; // a template with 100 hp that does not recover
const HITS_EACH: u32 = 40;

/// Everything that was acknowledged so far.
#[derive(Default)]
struct Acknowledged {
    dispatched: Vec<String>,
    finished: Vec<String>,
    hit: Vec<Target>,
    votes: Vec<Vote>,
}

/// A monster that was hit by one point at a time.
struct Target {
    id: String,
    acknowledged: u32,
    /// Hits whose answer was lost: they may count or not.
    unknown: u32,
}

/// A vote that a phone was told of.
struct Vote {
    room: String,
    device: String,
    selection: String,
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let kills = if std::env::var_os("WORLDKEEP_TORTURE").is_some() { 100 } else { 3 };
    if testkit::On::Embedded.is_wanted() {
        kill_and_count("embedded", kills, &["--data", "data", "--resp", "127.0.0.1:0"], None);
    }
    for program in testkit::programs() {
        let lent = testkit::Lent::take(program);
        let url = lent.server().url();
        kill_and_count(&format!("{program:?}"), kills, &["--redis", &url], Some(&url));
    }
}

fn kill_and_count(store: &str, kills: u64, args: &[&str], url: Option<&str>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut dir = tempfile::tempdir().unwrap();
    let limits = "[rooms]\ncreated_per_hour = 0\nsockets_per_minute = 0\n";
    std::fs::write(dir.path().join("worldkeep.toml"), limits).unwrap();
    let mut all = Acknowledged::default();
    let args: Vec<_> =
        args.iter().chain(&["--no-demo", "--modules", "jobs,monsters,rooms"]).copied().collect();
    for round in 0..kills {
        let mut served = serve_in(dir, &args);
        let resp = served.lines.iter().find_map(|line| line.strip_prefix("RESP"));
        let url = url.or(resp.map(str::trim)).unwrap().to_owned();
        let (web, at) = (served.url(), served.addr);
        let (dispatched, finished, hit, votes) = runtime.block_on(async {
            let dispatching = tokio::spawn(dispatch(web.clone(), round));
            let finishing = tokio::spawn(finish(url));
            let hitting = tokio::spawn(hit(web));
            let voting = tokio::spawn(vote(at, round));
            // Another moment of the work each time.
            tokio::time::sleep(Duration::from_millis(250 + 37 * (round % 10))).await;
            served.child.kill().unwrap();
            served.child.wait().unwrap();
            let work = async { tokio::join!(dispatching, finishing, hitting, voting) };
            testkit::within("clients notice that the server is gone", Box::pin(work)).await
        });
        all.dispatched.extend(dispatched.unwrap());
        all.finished.extend(finished.unwrap());
        all.hit.extend(hit.unwrap());
        all.votes.extend(votes.unwrap());
        dir = std::mem::replace(&mut served.dir, tempfile::tempdir().unwrap());
    }
    let served = serve_in(dir, &args);
    runtime.block_on(everything_is_there(&served, &all));
    println!(
        "{store}: {kills} kills; {} jobs, {} ends, {} hits, {} votes acknowledged, 0 lost: PASS",
        all.dispatched.len(),
        all.finished.len(),
        all.hit.iter().map(|target| target.acknowledged).sum::<u32>(),
        all.votes.len(),
    );
    assert!(!all.dispatched.is_empty() && !all.hit.is_empty(), "there was something to lose");
}

/// A client that speaks for one tenant of the worlds.
fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let tenant = [
        ("tenant_id", "083839c6-c47c-42a6-9585-76492795d123"),
        ("region", "GMS"),
        ("major_version", "83"),
        ("minor_version", "1"),
    ];
    let headers = tenant.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    reqwest::Client::builder().default_headers(headers.into_iter().collect()).build().unwrap()
}

/// The answer to a request that was done; `None` when it was refused or nobody answers.
async fn post(client: &reqwest::Client, url: &str, body: &Value) -> Option<Value> {
    let answer = client.post(url).json(body).send().await.ok()?;
    let good = answer.status().is_success();
    answer.json().await.ok().filter(|_| good)
}

/// Dispatches until nobody answers; the ids that were answered.
async fn dispatch(web: String, round: u64) -> Vec<String> {
    let (client, url, mut acknowledged) = (client(), format!("{web}/api/jobs"), Vec::new());
    for n in 0.. {
        let id = format!("job-{round}-{n}");
        if post(&client, &url, &json!({"type": "kept", "jobId": id})).await.is_none() {
            break;
        }
        acknowledged.push(id);
    }
    acknowledged
}

/// Claims and completes as a worker of another process; the ids whose end was answered.
async fn finish(url: String) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(store) = link::open(&url, link::Options::default()).await else { return acknowledged };
    let clock = Arc::new(SystemClock::new());
    let jobs = Jobs::new(store, clock, NAMESPACE, Layout::Plain, Options::default()).unwrap();
    let worker = WorkerFacts::new("test-worker").unwrap();
    // On Redis the worker goes on without the server: a bounded number is enough.
    for _ in 0..200 {
        let Ok(claimed) = jobs.claim(&worker, 1).await else { break };
        let Some(one) = claimed.jobs.into_iter().next() else {
            tokio::time::sleep(Duration::from_millis(2)).await;
            continue;
        };
        let id = one.job.id.clone();
        let ending = Ending::Completed { data: Some("7".to_owned()) };
        let done = Done { job: one.job, ending, took_ms: 1, progressed: false };
        if jobs.finish(&worker, done).await.is_err() {
            break;
        }
        acknowledged.push(id);
    }
    acknowledged
}

/// Hits one dummy after the other until nobody answers.
async fn hit(web: String) -> Vec<Target> {
    let (client, mut targets) = (client(), Vec::new());
    let field = "/api/worlds/0/channels/0/maps/1/instances/00000000-0000-0000-0000-000000000000";
    let new =
        json!({"data": {"type": "monsters", "attributes": {"monsterId": DUMMY, "x": 0, "y": 0}}});
    while let Some(made) = post(&client, &format!("{web}{field}/monsters"), &new).await {
        let id = made["data"]["id"].as_str().unwrap().to_owned();
        let mut target = Target { id, acknowledged: 0, unknown: 0 };
        let attack = json!({"characterId": 7, "damages": [1], "attackType": 0});
        let body = json!({"data": {"type": "damage", "attributes": attack}});
        let url = format!("{web}/api/monsters/{}/damage", target.id);
        while target.acknowledged < HITS_EACH && target.unknown == 0 {
            match post(&client, &url, &body).await {
                Some(_) => target.acknowledged += 1,
                None => target.unknown += 1,
            }
        }
        targets.push(target);
    }
    targets
}

/// Opens rooms with two players each and lets them vote, until nobody answers.
async fn vote(at: std::net::SocketAddr, round: u64) -> Vec<Vote> {
    let mut acknowledged = Vec::new();
    for n in 0.. {
        let device = |player: usize| format!("device-{round}-{n}-{player}");
        let all = async {
            let mut master = open(at).await?;
            let made = ask(&mut master, "CREATE_ROOM", setup(), "ROOM_CREATED").await?;
            let mut phones = Vec::new();
            for player in 0..2 {
                let mut phone = open(at).await?;
                let join = json!({"code": made["code"], "device_id": device(player)});
                ask(&mut phone, "JOIN_ROOM", join, "JOIN_OK").await?;
                let take = json!({"player_id": format!("p{player}")});
                ask(&mut phone, "TAKE_PLAYER", take, "TAKE_PLAYER_OK").await?;
                phones.push(phone);
            }
            ask(&mut master, "START_GAME", json!({}), "NEW_ITEM").await?;
            let item = json!({"round_id": "r1", "item_id": "i1"});
            ask(&mut master, "REEL_OPENED", item, "START_VOTE").await?;
            // One of two votes, so that the vote stays open and can be read again.
            let selection = format!("s{}", n % 2);
            let vote = json!({"round_id": "r1", "item_id": "i1", "selections": [selection]});
            ask(&mut phones[0], "SUBMIT_VOTE", vote, "VOTE_ACK").await?;
            let room = made["code"].as_str().unwrap().to_owned();
            Some(Vote { room, device: device(0), selection })
        };
        match Box::pin(all).await {
            Some(vote) => acknowledged.push(vote),
            None => break,
        }
    }
    acknowledged
}

async fn everything_is_there(served: &Served, all: &Acknowledged) {
    let (web, client) = (served.url(), client());
    let get = async |path: String| -> Value {
        let answer = client.get(format!("{web}{path}")).send().await.unwrap();
        answer.json().await.unwrap_or_default()
    };
    for id in &all.dispatched {
        let job = get(format!("/api/jobs/{id}")).await;
        assert_eq!(job["job"]["jobId"], *id, "a dispatched job is lost: {job}");
    }
    for id in &all.finished {
        let job = get(format!("/api/jobs/{id}")).await;
        assert_eq!(job["status"], "completed", "the end of {id} is lost: {job}");
    }
    for target in &all.hit {
        let monster = get(format!("/api/monsters/{}", target.id)).await;
        let hp = monster["data"]["attributes"]["hp"].as_u64();
        let hp = u32::try_from(hp.unwrap_or_else(|| panic!("{} is lost: {monster}", target.id)));
        let taken = 100 - hp.unwrap();
        let most = target.acknowledged + target.unknown;
        assert!((target.acknowledged..=most).contains(&taken), "{taken} of {most} hits count");
    }
    for vote in &all.votes {
        let mut phone = open(served.addr).await.expect("the server takes sockets");
        let sync = json!({"code": vote.room, "device_id": vote.device});
        let state = ask(&mut phone, "STATE_SYNC", sync, "STATE_SYNC_RESPONSE").await.unwrap();
        assert_eq!(state["game"]["my_vote"]["selections"], json!([vote.selection]), "{state}");
    }
}
