//! Moves as a game server makes them: many in one call; and moves on their way to listeners who each see a part of the
//! field.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI16, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kernel::{Clock, Store, SystemClock};
use monsters::{Monsters, Move, Spawn};

use super::{PLAIN, at, empty, world};
use crate::crowd::Crowd;
use crate::line::Line;
use crate::own_redis::OwnRedis;
use crate::own_server::OwnServer;
use crate::pace::pace;
use crate::stats::percentile;
use crate::{Figure, Tell};

/// Monsters of a call, and game servers that make calls.
const EACH: u16 = 500;
const CALLERS: u32 = 2;
/// Monsters that move ten times a second, and who listens.
const MOVING: u16 = 1_000;
const TICK: Duration = Duration::from_millis(100);
const LISTENERS: u16 = 100;
/// Monsters stand so far apart, in one row.
const APART: i16 = 50;
/// The box of a listener holds this many of them.
const IN_BOX: u16 = 50;

async fn spawned(monsters: &Monsters, many: u16) -> Result<Vec<u32>, String> {
    let (tenant, field) = at();
    let spawn = |n: u16| Spawn { monster_id: PLAIN, x: place(n), ..Spawn::default() };
    let spawns: Vec<Spawn> = (0..many).map(spawn).collect();
    let born = monsters.spawn_many(&tenant, field, &spawns).await.map_err(|e| e.to_string())?;
    born.into_iter().map(|one| Ok(one.map_err(|e| e.to_string())?.unique_id)).collect()
}

/// The x of a monster before it moves.
fn place(n: u16) -> i16 {
    let middle = i32::from(MOVING / 2);
    i16::try_from((i32::from(n) - middle) * i32::from(APART)).unwrap_or(0)
}

/// All of them go one step to the right or back.
fn moves(ids: &[u32], step: i16) -> Vec<(u32, Move)> {
    let one = |(n, id): (u16, &u32)| {
        (*id, Move { x: place(n) + step, y: step, stance: 2, ..Move::default() })
    };
    (0_u16..).zip(ids).map(one).collect()
}

/// Five hundred moves in each call, on a Redis.
#[allow(clippy::cast_precision_loss)] // figures for people
pub(super) async fn bulk(
    store: &Arc<dyn Store>,
    time: Duration,
    tell: &mut Tell<'_>,
) -> Result<(), String> {
    empty(store).await;
    let monsters = world(store, Arc::new(SystemClock::new()));
    let mut groups = Vec::new();
    for _ in 0..CALLERS {
        groups.push(spawned(&monsters, EACH).await?);
    }
    let (groups, refused) = (Arc::new(groups), Arc::new(AtomicU64::new(0)));
    let lost = Arc::clone(&refused);
    let next = Arc::new(AtomicI16::new(0));
    let run = pace(CALLERS, time, move |who, _| {
        let (monsters, groups) = (Arc::clone(&monsters), Arc::clone(&groups));
        let (lost, step) = (Arc::clone(&lost), next.fetch_add(1, Ordering::Relaxed).rem_euclid(40));
        async move {
            let moves = moves(&groups[who as usize], step);
            let done = monsters.move_all(&at().0, &moves).await.unwrap_or_default();
            let done = done.iter().filter(|one| one.is_ok()).count();
            lost.fetch_add((moves.len() - done) as u64, Ordering::Relaxed);
        }
    })
    .await;
    let per_s = run.per_s * f64::from(EACH);
    tell(Figure::at_least("moves in calls of 500, Redis", per_s, "moves/s", 20_000.0));
    tell(Figure::plain("a call of 500 moves: p99", run.p99_ms, "ms"));
    let refused = refused.load(Ordering::Relaxed) as f64;
    tell(Figure::at_most("moves in calls of 500: refused", refused, "", 0.0));
    Ok(())
}

/// A thousand monsters move ten times a second, and a hundred listeners hear what happens in their boxes.
#[allow(clippy::cast_precision_loss)] // figures for people
pub(super) async fn listeners(
    redis: &OwnRedis,
    store: &Arc<dyn Store>,
    time: Duration,
    tell: &mut Tell<'_>,
) -> Result<(), String> {
    empty(store).await;
    let said = |error: io::Error| error.to_string();
    let server = OwnServer::start("monsters", Some(redis.url())).await.map_err(said)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let monsters = world(store, Arc::clone(&clock));
    let ids = spawned(&monsters, MOVING).await?;
    let mut lines = Vec::new();
    for n in 0..LISTENERS {
        let mut line = Line::open(server.at, "/ws/events").await.map_err(said)?;
        line.ask(&subscription(n), "subscribed").await.map_err(said)?;
        lines.push(line);
    }
    let mut crowd = Crowd::new(lines, 1 << 14).map_err(said)?;
    let (now_ms, now) = (clock.now_ms(), Instant::now());
    let ears = tokio::task::spawn_blocking(move || {
        crowd.listen(told_at, time + Duration::from_secs(1)).map_err(said)
    });
    let moved = drive(&monsters, &ids, time).await;
    let heard = ears.await.map_err(|error| error.to_string())??;
    let late = heard.iter().map(|(at, heard)| {
        let heard = now_ms as f64 + heard.duration_since(now).as_secs_f64() * 1000.0;
        (heard - *at as f64).max(0.0)
    });
    let p99 = percentile(late, 0.99);
    let (moved, seconds) = (moved as f64, time.as_secs_f64().max(0.1));
    let wanted = moved * f64::from(IN_BOX) * f64::from(LISTENERS) / f64::from(MOVING);
    let count = heard.len() as f64;
    tell(Figure::plain("1000 monsters at 10 Hz, 100 listeners: moves", moved / seconds, "per s"));
    tell(Figure::plain("1000 monsters at 10 Hz, 100 listeners: heard", count / seconds, "per s"));
    tell(Figure::at_least("… of those in a listener's box", count / wanted.max(1.0), "x", 0.99));
    tell(Figure::at_most("… from the move to the listener: p99", p99, "ms", 100.0));
    Ok(())
}

/// The box of a listener: fifty monsters in a row, each row begins somewhere else.
fn subscription(n: u16) -> String {
    let first = n * (MOVING - IN_BOX) / (LISTENERS - 1);
    let (x1, x2) = (i32::from(place(first)), i32::from(place(first + IN_BOX - 1)) + 40);
    format!(
        r#"{{"type":"subscribe","modules":["monsters"],"types":["MOVED"],"boxes":[{{"worldId":0,"channelId":0,"mapId":0,"x1":{x1},"y1":0,"x2":{x2},"y2":40}}]}}"#
    )
}

/// The time at which a move was told, in the beginning of its message.
fn told_at(begin: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(begin).ok()?;
    let (_, rest) = text.split_once("\"at\":")?;
    rest.split(',').next()?.parse().ok()
}

/// Moves everybody ten times a second; how many moves were done.
async fn drive(monsters: &Monsters, ids: &[u32], time: Duration) -> u64 {
    let (until, mut done) = (Instant::now() + time, 0);
    let mut ticks = tokio::time::interval(TICK);
    let mut step = 0;
    while Instant::now() < until {
        ticks.tick().await;
        step = (step + 1) % 40;
        let moved = monsters.move_all(&at().0, &moves(ids, step)).await.unwrap_or_default();
        done += moved.iter().filter(|one| one.is_ok()).count() as u64;
    }
    done
}
