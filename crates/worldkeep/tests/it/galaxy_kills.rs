//! Servers that are killed while they are asked: what was answered is there after the next start, and what was not can
//! be asked again. Two kills per store here, a hundred with `WORLDKEEP_TORTURE`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::programs;

use crate::support::{Served, serve_in};

const PASSWORD: &str = "long enough";
/// How long a server may take until it answers the first order: the lock of the one before lives for five seconds.
const FIRST: Duration = Duration::from_secs(40);

/// What was asked and what was answered.
#[derive(Default)]
struct Acked {
    /// Players whose registration was asked for.
    asked: Vec<String>,
    /// Ships by id: the name that was acknowledged last, and the one that was asked for since.
    ships: BTreeMap<String, (String, Option<String>)>,
    registered: usize,
    renamed: usize,
    built: usize,
}

fn kills() -> u64 {
    if std::env::var_os("WORLDKEEP_TORTURE").is_some() { 100 } else { 2 }
}

/// Asks until the server is gone.
async fn ask_on(url: String, round: u64, acked: Arc<Mutex<Acked>>) {
    let client = Client::builder().timeout(FIRST).build().unwrap();
    for n in 0.. {
        let name = format!("p{round}_{n}");
        acked.lock().unwrap().asked.push(name.clone());
        let body = json!({ "username": name, "password": PASSWORD });
        let made = client.post(format!("{url}/api/auth/register")).json(&body).send().await;
        let Ok(made) = made else { return };
        if made.status() != 201 {
            let (status, why): (_, Value) = (made.status(), made.json().await.unwrap_or_default());
            assert_eq!(status, 503, "{why}");
            assert!(why["error"]["details"]["outcome"].is_string(), "{why}");
            continue;
        }
        let Ok(made) = made.json::<Value>().await else { return };
        let (ship, token) = (made["ship_id"].as_str().unwrap(), made["token"].as_str().unwrap());
        {
            let mut acked = acked.lock().unwrap();
            acked.registered += 1;
            acked.ships.insert(ship.to_owned(), (name.clone(), Some(format!("{name}x"))));
        }
        let body = json!({ "name": format!("{name}x") });
        let renamed =
            client.patch(format!("{url}/api/ships/{ship}")).bearer_auth(token).json(&body);
        let Ok(renamed) = renamed.send().await else { return };
        if renamed.status() == 200 {
            let mut acked = acked.lock().unwrap();
            acked.renamed += 1;
            acked.ships.insert(ship.to_owned(), (format!("{name}x"), None));
        }
        let body = json!({ "name": "Second" });
        let built = client.post(format!("{url}/api/fleet")).bearer_auth(token).json(&body);
        let Ok(built) = built.send().await else { return };
        if built.status() == 201 {
            let Ok(built) = built.json::<Value>().await else { return };
            let mut acked = acked.lock().unwrap();
            acked.built += 1;
            let id = built["ship_id"].as_str().unwrap().to_owned();
            acked.ships.insert(id, ("Second".to_owned(), None));
        }
    }
}

fn server(dir: TempDir, args: &[&str]) -> Served {
    let file = "[galaxy]\nlogins_per_minute = 0\ntick_rate = 20\n";
    std::fs::write(dir.path().join("worldkeep.toml"), file).unwrap();
    let mut all = vec!["--no-demo", "--modules", "galaxy"];
    all.extend(args);
    serve_in(dir, &all)
}

fn taken(served: &mut Served) -> TempDir {
    std::mem::replace(&mut served.dir, tempfile::tempdir().unwrap())
}

async fn torture(store: &str, args: &[&str], dir: TempDir) {
    let acked = Arc::new(Mutex::new(Acked::default()));
    let mut dir = dir;
    let kills = kills();
    for round in 0..kills {
        let mut served = server(dir, args);
        // A store that is not ours alone gets its world when somebody says so.
        if round == 0 && args.contains(&"--redis") {
            let made = Client::new().post(format!("{}/api/admin/game/init", served.url()));
            assert_eq!(made.send().await.unwrap().status(), 201);
        }
        let before = acked.lock().unwrap().registered;
        let asking = tokio::spawn(ask_on(served.url(), round, Arc::clone(&acked)));
        let began = Instant::now();
        // Every third is killed before it has answered anything.
        while round % 3 != 2 && acked.lock().unwrap().registered == before {
            assert!(began.elapsed() < FIRST, "no registration was answered within {FIRST:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(200 + round * 137 % 700)).await;
        served.child.kill().unwrap();
        served.child.wait().unwrap();
        asking.await.unwrap();
        dir = taken(&mut served);
    }
    let served = server(dir, args);
    let client = Client::builder().timeout(FIRST).build().unwrap();
    let acked = std::mem::take(&mut *acked.lock().unwrap());
    let mut completed = 0;
    for name in &acked.asked {
        let body = json!({ "username": name, "password": PASSWORD });
        let login = client.post(format!("{}/api/auth/login", served.url())).json(&body);
        let login = login.send().await.unwrap();
        if login.status() == 200 {
            let login: Value = login.json().await.unwrap();
            let ship = login["ship_id"].as_str().unwrap();
            assert_eq!(served.get(&format!("/api/ships/{ship}")).0, 200, "{name} has a ship");
            completed += 1;
        }
    }
    let mut lost = Vec::new();
    for (ship, (name, asked)) in &acked.ships {
        let (status, body) = served.get(&format!("/api/ships/{ship}"));
        let found: Value = serde_json::from_str(&body).unwrap_or_default();
        let called = found["name"].as_str().unwrap_or_default();
        if status != 200 || (called != name && Some(called) != asked.as_deref()) {
            lost.push(format!("{ship} {name}: {status} {called}"));
        }
    }
    let Acked { registered, renamed, built, .. } = acked;
    let _ = writeln!(
        std::io::stderr(),
        "{store}: {kills} kills; acknowledged: {registered} registered, {renamed} renamed, {built} built; \
         {completed} of {} accounts whole; lost {}",
        acked.asked.len(),
        lost.len()
    );
    assert!(lost.is_empty(), "{lost:?}");
    assert!(registered > 0, "something was acknowledged");
}

fn run(store: &str, args: &[&str], dir: TempDir) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(torture(store, args, dir));
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn what_an_embedded_server_acknowledged_outlives_its_kills() {
    let dir = tempfile::tempdir().unwrap();
    let data = text(&dir.path().join("data"));
    run("embedded", &["--data", &data], dir);
}

#[test]
fn what_a_server_on_redis_acknowledged_outlives_its_kills() {
    for program in programs().into_iter().take(1) {
        let redis = testkit::Lent::take(program);
        let dir = tempfile::tempdir().unwrap();
        let data = text(&dir.path().join("data"));
        run("redis", &["--redis", &redis.server().url(), "--data", &data], dir);
    }
}
