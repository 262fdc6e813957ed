//! `worldkeep bench`: measures on servers and stores of its own and says which bars are reached.

use serde_json::json;

use crate::bench::{Figure, galaxy, jobs, rooms, trust, worlds};
use crate::cli::{Bench, Global};
use crate::exit::Failure;
use crate::print;

pub(super) fn run(global: &Global, verb: &Bench) -> Result<(), Failure> {
    let mut all: Vec<Figure> = Vec::new();
    super::wait(async {
        let mut tell = |figure: Figure| {
            if !global.json {
                print::line(figure.line());
            }
            all.push(figure);
        };
        match *verb {
            Bench::Jobs { rounds, count, long } => {
                let size = jobs::Size { rounds: rounds.max(1), count: count.max(100), long };
                jobs::run(size, &mut tell).await.map_err(Failure::failed)
            }
            Bench::Rooms { sockets, many, back, rooms, seconds } => {
                let many = many.max(sockets);
                let amounts = rooms::Amounts { sockets, many, seconds, back, rooms };
                rooms::run(amounts, &mut tell).await.map_err(Failure::failed)
            }
            Bench::Galaxy { seconds, .. } if !(0.1..=600.0).contains(&seconds) => {
                Err(Failure::usage("--seconds goes from 0.1 to 600"))
            }
            Bench::Galaxy { ships, rounds, seconds } => {
                let ships = ships.clamp(8, 1_000_000);
                let amounts = galaxy::Amounts { ships, rounds: rounds.max(1), seconds };
                galaxy::run(amounts, &mut tell).await.map_err(Failure::failed)
            }
            Bench::Worlds { seconds } if !(0.1..=600.0).contains(&seconds) => {
                Err(Failure::usage("--seconds goes from 0.1 to 600"))
            }
            Bench::Worlds { seconds } => {
                worlds::run(seconds, &mut tell).await.map_err(Failure::failed)
            }
            Bench::Trust { rounds, requests } => {
                let (rounds, requests) = (rounds.clamp(1, 100), requests.clamp(100, 100_000));
                trust::run(rounds, requests, &mut tell)
                    .await
                    .map_err(|e| Failure::failed(e.to_string()))
            }
        }
    })?;
    if global.json {
        print::json(&json!(all));
    }
    Ok(())
}
