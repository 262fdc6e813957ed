//! What a `Store` costs over the raw connection below it: the engine by direct call, and, when a URL is
//! given, a server through `link` beside the `redis` crate's own multiplexed connection.
//!
//! `cargo run --release -p worldkeep-link --example overhead -- redis://127.0.0.1:6379`

#![allow(clippy::print_stdout, reason = "it is here to print")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::{Deadline, Store};
use redis::aio::ConnectionLike as _;

const DIRECT: u32 = 1_000_000;
const ROUNDS: u32 = 20_000;
const CALLERS: u32 = 64;

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(30))
}

fn median(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs[runs.len() / 2]
}

fn nanos(began: Instant, count: u32) -> f64 {
    began.elapsed().as_secs_f64() * 1e9 / f64::from(count)
}

async fn direct() {
    let embedded = worldkeep_link::Embedded::memory();
    let connection = embedded.engine().connect();
    let store = embedded.store();
    store.call(redis::cmd("SET").arg("key").arg("value"), soon()).await.expect("written");
    let mut get = redis::cmd("GET");
    get.arg("key");
    let (mut raw, mut through) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let began = Instant::now();
        for _ in 0..DIRECT {
            black_box(connection.call(black_box(&get)));
        }
        raw.push(nanos(began, DIRECT));
        let by = soon();
        let began = Instant::now();
        for _ in 0..DIRECT {
            let _ = black_box(store.call(black_box(&get), by).await);
        }
        through.push(nanos(began, DIRECT));
    }
    let (raw, through) = (median(raw), median(through));
    println!("embedded GET: raw {raw:.0} ns, store {through:.0} ns, adds {:.0} ns", through - raw);
}

async fn server(url: &str) {
    let client = redis::Client::open(url).expect("a URL");
    let raw = client.get_multiplexed_async_connection().await.expect("a server");
    let store =
        worldkeep_link::open(url, worldkeep_link::Options::default()).await.expect("a server");
    let mut get = redis::cmd("GET");
    get.arg("key");
    for _ in 0..3 {
        let mut one = raw.clone();
        let began = Instant::now();
        for _ in 0..ROUNDS {
            one.req_packed_command(&get).await.expect("an answer");
        }
        let raw_one = nanos(began, ROUNDS) / 1000.0;
        let began = Instant::now();
        for _ in 0..ROUNDS {
            store.call(&get, soon()).await.expect("an answer");
        }
        let store_one = nanos(began, ROUNDS) / 1000.0;
        println!("one caller: redis crate {raw_one:.1} µs, store {store_one:.1} µs");

        let began = Instant::now();
        let tasks: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (mut one, get) = (raw.clone(), get.clone());
                tokio::spawn(async move {
                    for _ in 0..ROUNDS / 8 {
                        one.req_packed_command(&get).await.expect("an answer");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        let raw_many = 1e9 / nanos(began, CALLERS * (ROUNDS / 8));
        let began = Instant::now();
        let tasks: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (store, get): (Arc<dyn Store>, _) = (Arc::clone(&store), get.clone());
                tokio::spawn(async move {
                    for _ in 0..ROUNDS / 8 {
                        store.call(&get, soon()).await.expect("an answer");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        let store_many = 1e9 / nanos(began, CALLERS * (ROUNDS / 8));
        println!("{CALLERS} callers: redis crate {raw_many:.0}/s, store {store_many:.0}/s");
    }
}

#[tokio::main]
async fn main() {
    direct().await;
    if let Some(url) = std::env::args().nth(1) {
        server(&url).await;
    }
}
