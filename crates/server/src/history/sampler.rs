//! Measures every five seconds, on the five seconds, so that the points of several servers stand at the same times. Events
//! are counted by what each stream says of itself (`entries-added`), without reading them. At the start the entries that
//! the streams still hold fill in the last five minutes. A look that fails leaves a gap.

use std::collections::HashMap;
use std::sync::Arc;

use kernel::{Deadline, Fault, Value};

use super::{MINUTES, Sample, Unit};
use crate::app::App;
use crate::measure;
use crate::wire;

/// Streams of one module that are counted; a module with more tenants shows no rate.
const STREAMS: usize = 200;
/// Entries of a stream that are read to fill in the past.
const PAST: usize = 2_000;
/// Streams whose past is read.
const PAST_STREAMS: usize = 12;

/// How many events each stream has ever had, by module and stream; `None` for a module that could not be asked.
type Counts = HashMap<&'static str, Option<HashMap<String, u64>>>;

/// Events of each module in the five seconds that are not over at the start.
type Early = HashMap<&'static str, u64>;

/// Measures until the stop.
pub(crate) async fn keep(app: Arc<App>) {
    let measuring = async {
        let mut early = fill_in(&app).await;
        let mut before = counts(&app).await;
        let mut since = app.now_ms();
        loop {
            let next = (app.now_ms() / MINUTES.every_ms + 1) * MINUTES.every_ms;
            app.clock.sleep_until(next).await;
            let now = app.now_ms();
            if now < next {
                continue;
            }
            // The point belongs to the five seconds that have just ended.
            let at = now - MINUTES.every_ms;
            let counted = counts(&app).await;
            for sample in rates(&before, &counted, &early, now.saturating_sub(since)) {
                app.histories.add(at, &sample);
            }
            early.clear();
            (before, since) = (counted, now);
            for sample in here(&app, now.saturating_sub(at)) {
                app.histories.add(at, &sample);
            }
        }
    };
    tokio::select! {
        () = app.stopping.cancelled() => {}
        () = measuring => {}
    }
}

/// Measurements of this server and its modules that need no call to the store.
#[allow(clippy::cast_precision_loss)] // A chart has no use for the last digits.
fn here(app: &App, over_ms: u64) -> Vec<Sample> {
    let mut found = Vec::new();
    if let Some(bytes) = measure::resident_bytes() {
        found.push(Sample::server("server", "memory", Unit::Bytes, bytes as f64));
    }
    let requests = app.histories.requests.take();
    let rate = requests.map_or(0.0, |taken| f64::from(taken.count) * 1000.0 / over_ms as f64);
    found.push(Sample::server("server", "requests", Unit::PerSecond, rate));
    if let Some(taken) = requests {
        found.push(Sample::server("server", "request_p50", Unit::Ms, taken.p50_ms));
        found.push(Sample::server("server", "request_p99", Unit::Ms, taken.p99_ms));
    }
    if let Some(taken) = app.histories.store.take() {
        found.push(Sample::server("server", "store_p99", Unit::Ms, taken.p99_ms));
    }
    found.extend(app.modules.iter().filter_map(|module| module.samples).flat_map(|ask| ask(app)));
    found
}

/// Events per second of each module between two looks. A stream that was not there counts from zero, and so does one that
/// was made anew. `early` are those of the first five seconds that came before the first look.
#[allow(clippy::cast_precision_loss)]
fn rates(before: &Counts, now: &Counts, early: &Early, over_ms: u64) -> Vec<Sample> {
    let rate = |module: &&'static str| {
        let (was, is) = (before.get(module)?.as_ref()?, now.get(module)?.as_ref()?);
        let fresh = is.iter().map(|(stream, count)| {
            let known = was.get(stream).copied().unwrap_or(0);
            count.checked_sub(known).unwrap_or(*count)
        });
        let total: u64 = fresh.sum::<u64>() + early.get(module).copied().unwrap_or(0);
        // The first point is a whole one, although this server has seen only a part of it.
        let rate = total as f64 * 1000.0 / over_ms.max(MINUTES.every_ms) as f64;
        Some(Sample::store(module, "events", Unit::PerSecond, rate))
    };
    now.keys().filter_map(rate).collect()
}

/// Asks every stream of every module how many entries it has had.
async fn counts(app: &App) -> Counts {
    let mut all = Counts::new();
    for module in &app.modules {
        all.insert(module.name, streams(app, module.name).await.ok().flatten());
    }
    all
}

async fn streams(app: &App, module: &str) -> Result<Option<HashMap<String, u64>>, Fault> {
    let Some(module) = app.modules.iter().find(|one| one.name == module) else { return Ok(None) };
    let listed = module.streams.list(app.store(), &app.settings, app.keyspace.layout).await?;
    if listed.len() > STREAMS {
        return Ok(None);
    }
    let names: Vec<String> = listed.into_iter().map(|(_, stream)| stream).collect();
    let asked: Vec<_> = names.iter().map(|name| wire::cmd(&["XINFO", "STREAM", name])).collect();
    if asked.is_empty() {
        return Ok(Some(HashMap::new()));
    }
    let told = app.store().pipeline(&asked, Deadline::after(wire::CALL)).await?;
    Ok(names.into_iter().zip(told).map(|(name, told)| Some((name, added(&told)?))).collect())
}

/// How many entries a stream has had. One that is not there has had none; a server that does not tell gives `None`.
fn added(told: &Result<Value, Fault>) -> Option<u64> {
    match told {
        Ok(reply) => {
            let pairs = kernel::reply::pairs(reply)?;
            let named = |(name, count): &(&Value, &Value)| {
                (wire::text(name)? == "entries-added").then(|| wire::int(count))?
            };
            u64::try_from(pairs.iter().find_map(named)?).ok()
        }
        Err(Fault::Refused { detail, .. }) if detail.contains("no such key") => Some(0),
        Err(_) => None,
    }
}

/// The last five minutes before this server, from what the streams still hold. A time that a stream no longer reaches stays a
/// gap.
#[allow(clippy::cast_precision_loss)]
async fn fill_in(app: &App) -> Early {
    let counts = &counts(app).await;
    let mut early = Early::new();
    let now = app.now_ms();
    let every = MINUTES.every_ms;
    let first = (now / every).saturating_sub(MINUTES.points as u64);
    for (module, streams) in counts {
        let Some(streams) = streams.as_ref().filter(|all| all.len() <= PAST_STREAMS) else {
            continue;
        };
        // The last one is the slot that is not over.
        let mut slots = vec![0_u64; MINUTES.points + 1];
        let mut known_from = first;
        for (stream, added) in streams.iter().filter(|(_, added)| **added > 0) {
            let Ok(seen) = past(app, stream).await else { return early };
            if (seen.len() as u64) < *added
                && let Some(oldest) = seen.iter().min()
            {
                // Entries before the oldest one that was read are gone or unread.
                known_from = known_from.max(oldest / every + 1);
            }
            for at in seen {
                let slot = (at / every).checked_sub(first).and_then(|n| usize::try_from(n).ok());
                if let Some(count) = slot.and_then(|slot| slots.get_mut(slot)) {
                    *count += 1;
                }
            }
        }
        early.insert(module, slots.pop().unwrap_or(0));
        for (slot, count) in (first..).zip(slots).skip_while(|(slot, _)| *slot < known_from) {
            let rate = count as f64 * 1000.0 / every as f64;
            let sample = Sample::store(module, "events", Unit::PerSecond, rate);
            app.histories.add(slot * every, &sample);
        }
    }
    early
}

/// Times of the newest entries of a stream, by their ids.
async fn past(app: &App, stream: &str) -> Result<Vec<u64>, Fault> {
    let count = PAST.to_string();
    let reply = wire::call(app.store(), &["XREVRANGE", stream, "+", "-", "COUNT", &count]).await?;
    let time = |entry: &Value| {
        let id = wire::text(kernel::reply::list(entry)?.first()?)?;
        id.split_once('-')?.0.parse().ok()
    };
    Ok(kernel::reply::list(&reply).unwrap_or_default().iter().filter_map(time).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(count: u64) -> Counts {
        Counts::from([("jobs", Some(HashMap::from([("s".to_owned(), count)])))])
    }

    fn rate(before: &Counts, now: &Counts) -> Option<f64> {
        rates(before, now, &Early::new(), 5_000).first().map(|sample| sample.value)
    }

    #[test]
    fn a_rate_is_what_came_between_two_looks() {
        assert_eq!(rate(&counted(10), &counted(60)), Some(10.0));
        assert_eq!(rate(&counted(10), &counted(5)), Some(1.0), "a stream made anew");
        let none = Counts::from([("jobs", Some(HashMap::new()))]);
        assert_eq!(rate(&none, &counted(5)), Some(1.0), "a stream that was not there");
        let unasked = Counts::from([("jobs", None)]);
        assert_eq!(rate(&unasked, &counted(5)), None, "nobody knows what came before");
        assert_eq!(rate(&counted(5), &unasked), None);
        let early = rates(&counted(0), &counted(5), &Early::from([("jobs", 20)]), 1_000);
        let first = early.first().map(|sample| sample.value);
        assert_eq!(first, Some(5.0), "the first point is a whole one");
    }
}
