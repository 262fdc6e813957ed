//! Many rooms of eight that vote within ten seconds: how long from a vote to the Master's `PLAYER_VOTED`, and from
//! the last one to `VOTE_RESULTS`.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _};
use parking_lot::Mutex;
use rand::RngExt as _;
use serde_json::Value;
use tokio::task::JoinSet;

use super::peer::{Peer, create};
use crate::Figure;
use crate::line::{Line, TEXT};
use crate::stats::{Sleeper, percentile};

const PLAYERS: usize = 8;
const WITHIN_MS: u64 = 10_000;

/// One room with an open vote.
struct Voting {
    master: Line,
    phones: Vec<Line>,
}

/// Rooms on our own server, on this store.
pub(super) async fn run(
    rooms: usize,
    redis: Option<&str>,
    store: &str,
    bar_ms: f64,
) -> io::Result<Vec<Figure>> {
    let peer = Peer::worldkeep(redis).await?;
    let ready = futures_util::stream::iter((0..rooms).map(|number| ready(&peer, number)));
    let ready: Vec<Voting> = ready.buffer_unordered(8).try_collect().await?;
    let sleeper = Sleeper::start();
    let mut running = JoinSet::new();
    for voting in ready {
        running.spawn(vote(voting));
    }
    let (mut voted, mut closed) = (Vec::new(), Vec::new());
    while let Some(took) = running.join_next().await {
        let (each, last) = took.map_err(io::Error::other)??;
        voted.extend(each);
        closed.push(last);
    }
    let late = sleeper.end();
    let p99 =
        |took: &[Duration]| percentile(took.iter().map(|took| took.as_secs_f64() * 1000.0), 0.99);
    let name =
        |what: &str| format!("{rooms} rooms of {PLAYERS}, {store}: p99 from a vote to {what}");
    Ok(vec![
        Figure::at_most(name("PLAYER_VOTED"), p99(&voted), "ms", bar_ms),
        Figure::at_most(name("VOTE_RESULTS"), p99(&closed), "ms", bar_ms),
        late,
    ])
}

/// A room up to the open vote.
async fn ready(peer: &Peer, number: usize) -> io::Result<Voting> {
    let mut master = Line::open(peer.at, "/ws/rooms").await?;
    let made = master.ask(&create(), "ROOM_CREATED").await?;
    let made: Value = serde_json::from_str(&made).map_err(io::Error::other)?;
    let code = made["payload"]["code"].as_str().unwrap_or_default().to_owned();
    let mut phones = Vec::with_capacity(PLAYERS);
    for player in 0..PLAYERS {
        let mut phone = Line::open(peer.at, "/ws/rooms").await?;
        let join = format!(
            r#"{{"type":"JOIN_ROOM","payload":{{"code":"{code}","device_id":"bench-{number:05}-{player}"}}}}"#
        );
        phone.ask(&join, "JOIN_OK").await?;
        let take = format!(r#"{{"type":"TAKE_PLAYER","payload":{{"player_id":"p{player}"}}}}"#);
        phone.ask(&take, "TAKE_PLAYER_OK").await?;
        phones.push(phone);
    }
    master.ask(r#"{"type":"START_GAME","payload":{}}"#, "\"NEW_ITEM\"").await?;
    let open = r#"{"type":"REEL_OPENED","payload":{"round_id":"r1","item_id":"i1"}}"#;
    master.ask(open, "START_VOTE").await?;
    Ok(Voting { master, phones })
}

/// Everybody votes at some time; the Master hears of each.
async fn vote(voting: Voting) -> io::Result<(Vec<Duration>, Duration)> {
    let Voting { mut master, phones } = voting;
    let sent: Arc<Mutex<[Option<Instant>; PLAYERS]>> = Arc::default();
    for (player, mut phone) in phones.into_iter().enumerate() {
        let (sent, wait) = (Arc::clone(&sent), rand::rng().random_range(0..WITHIN_MS));
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            let vote = r#"{"type":"SUBMIT_VOTE","payload":{"round_id":"r1","item_id":"i1","selections":["s0"]}}"#;
            sent.lock()[player] = Some(Instant::now());
            phone.send(TEXT, vote.as_bytes()).await?;
            phone.until("VOTE_ACK").await?;
            // The socket stays open to the end, as a phone's would.
            tokio::time::sleep(Duration::from_millis(WITHIN_MS)).await;
            io::Result::Ok(())
        });
    }
    let mut each = Vec::with_capacity(PLAYERS);
    while each.len() < PLAYERS {
        let text = master.until("\"PLAYER_VOTED\"").await?;
        let now = Instant::now();
        let told: Value = serde_json::from_str(&text).map_err(io::Error::other)?;
        let player =
            told["payload"]["player_id"].as_str().and_then(|id| id.get(1..)?.parse::<usize>().ok());
        let sent = player.and_then(|player| sent.lock().get(player).copied().flatten());
        each.push(now - sent.unwrap_or(now));
    }
    master.until("\"VOTE_RESULTS\"").await?;
    let now = Instant::now();
    let last = sent.lock().iter().flatten().max().copied().unwrap_or(now);
    Ok((each, now - last))
}
