//! The state on its way to many pilots: our own server, a socket for each of a thousand registered players with a ship
//! each, all of them near one another, so that everybody gets the nearest two hundred ships in every tick.
//!
//! The server measures from the end of a tick (it is in the store) until the last socket's state is queued; the driver
//! sees how far apart the arrivals are.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _};
use galaxy::{Accounts, DatabaseAddress, Player, ShipRow};
use kernel::{Cmd, Deadline, SystemClock};

use super::super::crowd::Crowd;
use super::super::line::{Line, TEXT};
use super::super::own_redis::OwnRedis;
use super::super::own_server::{self, OwnServer};
use super::super::stats::percentile;
use super::world::{fill, player_id, ship_id};
use super::{Amounts, Figure, Tell};

const SOCKETS: usize = 1_000;
/// Sockets that are opened at once.
const OPENING: usize = 16;
/// New sockets are slow once.
const WARMING: Duration = Duration::from_secs(2);
/// The server's figures of the fan-out of a tick.
const FANOUT: &str = "worldkeep_galaxy_fanout_seconds";

/// On a Redis that was started for it.
pub(super) async fn run(amounts: Amounts, tell: &mut Tell<'_>) -> Result<(), String> {
    let Some(redis) = OwnRedis::start() else { return Ok(()) };
    let store = redis.open().await.ok_or("the redis-server that was started does not answer")?;
    fill(&store, SOCKETS, true).await?;
    // Nothing is sent while sockets come: a pilot who waits for the others does not read.
    for (key, value) in [("game:tick_rate", "10.0"), ("game:paused", "true")] {
        let mut set = Cmd::new();
        set.arg("SET").arg(key).arg(value);
        let done = store.call(&set, Deadline::after(Duration::from_secs(5))).await;
        done.map_err(|fault| fault.to_string())?;
    }
    let said = |error: io::Error| error.to_string();
    let data = tempfile::tempdir().map_err(said)?;
    let tokens = accounts(data.path()).await?;
    let server = OwnServer::start_in(data, "galaxy", Some(redis.url()), &[]).await.map_err(said)?;
    let opening = tokens.iter().map(|token| enter(&server, token));
    let lines: Vec<Line> = futures_util::stream::iter(opening)
        .buffer_unordered(OPENING)
        .try_collect()
        .await
        .map_err(said)?;
    let crowd = Crowd::new(lines, 1 << 11).map_err(said)?;
    server.ask("POST", "/api/admin/game/resume").await.map_err(said)?;
    let seconds = Duration::from_secs_f64((amounts.seconds * 3.0).max(1.0));
    measure(&server, crowd, seconds, tell).await.map_err(said)
}

/// Registers everybody, in the database that the server will open; their tokens.
async fn accounts(data: &std::path::Path) -> Result<Vec<String>, String> {
    let place = own_server::place(data);
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    let clock = Arc::new(SystemClock::new());
    let accounts = Accounts::open(DatabaseAddress::choose(None, Some(&place)), clock, None).await;
    let accounts = accounts.map_err(|error| error.to_string())?;
    let created_at = jiff::Timestamp::now();
    let crew: Vec<_> = (0..SOCKETS)
        .map(|n| {
            let username = format!("pilot_{n}");
            let player = Player { id: player_id(n), username, is_admin: false, created_at };
            let ship = ShipRow {
                id: ship_id(n),
                player_id: player.id,
                name: player.username.clone(),
                ship_class: "fast_frigate".into(),
                system_id: "sol".into(),
                created_at,
            };
            (player, ship)
        })
        .collect();
    accounts.adopt(&crew).await.map_err(|error| error.to_string())?;
    let tokens = crew.iter().map(|(player, _)| accounts.token(player)).collect();
    accounts.database().close().await;
    Ok(tokens)
}

/// A pilot who has been welcomed and has the first state.
async fn enter(server: &OwnServer, token: &str) -> io::Result<Line> {
    let mut line = Line::open(server.at, "/ws/galaxy").await?;
    let auth = format!(r#"{{"type":"auth","token":"{token}"}}"#);
    line.send(TEXT, auth.as_bytes()).await?;
    line.until(r#""type":"welcome""#).await?;
    line.until(r#""type":"state""#).await?;
    Ok(line)
}

/// The tick of a state, by its first bytes.
fn tick_of(begin: &[u8]) -> Option<u64> {
    let rest = begin.strip_prefix(br#"{"type":"state","tick":"#)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |tick, digit| tick * 10 + u64::from(digit - b'0')))
}

#[allow(clippy::cast_precision_loss)] // figures for people
async fn measure(
    server: &OwnServer,
    crowd: Crowd,
    time: Duration,
    tell: &mut Tell<'_>,
) -> io::Result<()> {
    // Listening blocks: on a thread of its own.
    let listening = |mut crowd: Crowd, time: Duration| async move {
        let heard = tokio::task::spawn_blocking(move || {
            let heard = crowd.listen(tick_of, time);
            (crowd, heard)
        });
        let (crowd, heard) = heard.await.map_err(io::Error::other)?;
        io::Result::Ok((crowd, heard?))
    };
    let (crowd, _) = listening(crowd, WARMING).await?;
    let before = Histogram::read(server).await?;
    let (_crowd, heard) = listening(crowd, time).await?;
    let fanout = Histogram::read(server).await?.since(&before);
    let mut ticks: BTreeMap<u64, Vec<Instant>> = BTreeMap::new();
    for (tick, at) in &heard {
        ticks.entry(*tick).or_default().push(*at);
    }
    // The first and the last tick are heard in part only.
    let whole = ticks.values().skip(1).take(ticks.len().saturating_sub(2));
    let spread = |all: &Vec<Instant>| {
        let (first, last) = (all.iter().min()?, all.iter().max()?);
        Some((*last - *first).as_secs_f64() * 1e3)
    };
    let spreads: Vec<f64> = whole.filter_map(spread).collect();
    let rate = heard.len() as f64 / SOCKETS as f64 / time.as_secs_f64();
    let name =
        |what: &str| format!("{SOCKETS} sockets, {SOCKETS} ships with a rule, 10 Hz: {what}");
    tell(Figure::plain(name("states to each"), rate, "/s"));
    let spread = percentile(spreads, 0.99);
    tell(Figure::plain(name("first to last arrival, p99"), spread, "ms"));
    let p99 = fanout.quantile(0.99) * 1e3;
    tell(Figure::at_most(name("tick end to last queued, p99"), p99, "ms", 50.0));
    Ok(())
}

/// A histogram of `/metrics`: how many were at most that long.
#[derive(Default)]
struct Histogram(Vec<(f64, f64)>);

impl Histogram {
    async fn read(server: &OwnServer) -> io::Result<Histogram> {
        Ok(Histogram::parse(&server.ask("GET", "/metrics").await?))
    }

    fn parse(text: &str) -> Histogram {
        let line = |line: &str| {
            let rest = line.strip_prefix(FANOUT)?.strip_prefix("_bucket{le=\"")?;
            let (most, count) = rest.split_once("\"} ")?;
            let most = if most == "+Inf" { f64::INFINITY } else { most.parse().ok()? };
            Some((most, count.trim().parse().ok()?))
        };
        Histogram(text.lines().filter_map(line).collect())
    }

    /// Both looks have the same edges, but for a first one that came before there was anything.
    fn since(mut self, before: &Histogram) -> Histogram {
        for ((_, count), (_, was)) in self.0.iter_mut().zip(&before.0) {
            *count -= was;
        }
        self
    }

    /// The value that such a part stays below, evenly spread within a bucket; what is beyond the last is endless.
    fn quantile(&self, part: f64) -> f64 {
        let wanted = self.0.last().map_or(0.0, |(_, count)| count * part);
        let (mut edge, mut below) = (0.0, 0.0);
        for (most, count) in &self.0 {
            if *count >= wanted && *count > below {
                return edge + (most - edge) * (wanted - below) / (count - below);
            }
            (edge, below) = (*most, *count);
        }
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_read_from_what_came_between_two_looks() {
        let text = |a, b, c| {
            format!(
                "# TYPE x histogram\n{FANOUT}_bucket{{le=\"0.01\"}} {a}\n{FANOUT}_bucket{{le=\"0.02\"}} {b}\n\
                 {FANOUT}_bucket{{le=\"+Inf\"}} {c}\n{FANOUT}_sum 3\n"
            )
        };
        let before = Histogram::parse(&text(5, 5, 7));
        let after = Histogram::parse(&text(55, 105, 107)).since(&before);
        assert!((after.quantile(0.25) - 0.005).abs() < 1e-12);
        assert!((after.quantile(0.99) - 0.0198).abs() < 1e-12);
        let late = Histogram::parse(&text(0, 0, 9));
        assert!(late.quantile(0.5).is_infinite());
        assert!(Histogram::default().quantile(0.5).is_infinite(), "nothing was measured");
    }

    #[test]
    fn a_state_is_known_by_its_tick() {
        assert_eq!(tick_of(br#"{"type":"state","tick":81204,"game_time":"#), Some(81_204));
        assert_eq!(tick_of(br#"{"type":"player_joined","player_id":"#), None);
    }
}
