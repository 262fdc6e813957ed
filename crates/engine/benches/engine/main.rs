//! The engine beside a real Redis, in one run: `cargo bench -p worldkeep-engine --bench engine [-- PART…]`. Each line gives
//! both figures, their ratio and the bar. Parts: direct tcp memory zset load rewrite. Figures move with the machine,
//! ratios little; each is a median of interleaved rounds.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
#![allow(clippy::disallowed_methods)]

mod beside;
mod direct;
mod load;
mod memory;
mod tcp;
mod zset;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    // The bench starts itself as the server under test, so that its memory and CPU are its own.
    if args.first().is_some_and(|arg| arg == "serve") {
        beside::serve(&args[1..]);
        return;
    }
    let wants = |part: &str| args.is_empty() || args.iter().any(|arg| arg == part);
    println!("{:34} {:>12} {:>12} {:>8}  bar", "figure", "engine", "redis", "ratio");
    if wants("direct") {
        direct::run();
    }
    if wants("tcp") {
        tcp::run();
    }
    if wants("memory") {
        memory::run();
    }
    if wants("zset") {
        zset::run();
    }
    if wants("load") {
        load::run();
    }
    if wants("rewrite") {
        load::rewrite();
    }
}
