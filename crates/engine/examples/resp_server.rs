//! The engine alone, listening for RESP clients: `cargo run --example resp_server -- 6379`.
//! Prints the port it listens on (0 or nothing lets the system choose) and serves until killed. For test suites that
//! ask for it, `DEBUG` is allowed here.

#![allow(clippy::print_stdout)] // a program for a terminal

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let options = worldkeep_engine::Options { debug: true, ..worldkeep_engine::Options::default() };
    let (engine, _) = worldkeep_engine::Engine::open(options).map_err(std::io::Error::other)?;
    let listener = engine.listen(([127, 0, 0, 1], port).into())?;
    println!("{}", listener.addr().port());
    loop {
        std::thread::park();
    }
}
