//! Redis inside a program, without a server: `cargo run -p worldkeep-engine --example embedded -- ./data`.
//! Run it twice: the second time the counter goes on where it was.

#![allow(clippy::print_stdout)] // a program for a terminal

use redis::AsyncCommands as _;
use worldkeep_engine::{Engine, Fsync, Options};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "./data".into());
    let options =
        Options { dir: Some(dir.into()), fsync: Fsync::EverySecond, ..Options::default() };
    let (engine, opened) = Engine::open(options)?;
    println!("loaded {} commands", opened.commands);

    // A connection works with the functions of the `redis` crate, and answers without a network.
    let mut connection = engine.connect();
    let runs: i64 = connection.incr("runs", 1).await?;
    let _: () = connection.hset("player:1", "name", "Ann").await?;
    let (name, top): (String, Vec<String>) = redis::pipe()
        .atomic()
        .hget("player:1", "name")
        .zadd("scores", "Ann", runs)
        .ignore()
        .zrevrange("scores", 0, 2)
        .query_async(&mut connection)
        .await?;
    println!("run {runs}: {name}, best {top:?}");

    let script = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
    let total: i64 = redis::cmd("EVAL")
        .arg(script)
        .arg(1)
        .arg("total")
        .arg(5)
        .query_async(&mut connection)
        .await?;
    println!("total {total}");

    // Other programs can join: redis-cli -p PORT
    let listener = engine.listen(([127, 0, 0, 1], 0).into())?;
    println!("clients may join at {}", listener.addr());
    Ok(())
}
