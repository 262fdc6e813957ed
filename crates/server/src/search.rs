//! The search field of the dashboard: each module looks where it has an index or something in memory, the server
//! among the keys. Every look is bounded in count and time, and a look that stopped early says so.

use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, join_all};
use kernel::{Fault, Store};
use serde::Serialize;

use crate::keyspace::scan;
use crate::modules::State;
use crate::wire;

/// Hits of one kind.
pub(crate) const MOST: usize = 6;
/// How long a look may take; the page hears from all of them within 100 ms.
const PATIENCE: Duration = Duration::from_millis(80);
/// Keys that are looked at for a part of a name.
const KEYS: usize = 20_000;
/// Keys of one round.
const ROUND: u32 = 5_000;
/// How long the keys may take.
const KEYS_PATIENCE: Duration = Duration::from_millis(40);

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct Hit {
    /// `job`, `type`, `room`, `ship`, `player`, `monster`, `reactor` or `key`.
    pub(crate) kind: &'static str,
    /// Module it belongs to; empty for keys of others.
    pub(crate) module: &'static str,
    /// The name, or the id where there is none.
    pub(crate) label: String,
    /// Beside the name: an id, a state, a place.
    pub(crate) note: String,
    /// Page of the dashboard that shows it.
    pub(crate) link: String,
}

/// The hits of a look, and whether it saw everything.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// Something was left out: there may be more.
    pub(crate) bounded: bool,
}

/// A module finds things by the words as typed.
pub(crate) type Finder =
    fn(State, String) -> BoxFuture<'static, Result<Found, crate::reply::Refusal>>;

/// A part of an address, with everything escaped that is not plain.
pub(crate) fn part(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Asks every module and the keys, side by side.
pub(crate) async fn find(app: &State, words: &str) -> Found {
    let finders = app.modules.iter().filter_map(|module| module.find);
    let asked = finders.map(|find| {
        let looking = find(State::clone(app), words.to_owned());
        async move { tokio::time::timeout(PATIENCE, looking).await }
    });
    let (found, keys) = futures_util::join!(join_all(asked), keys(app, words));
    let mut all = Found::default();
    for one in found {
        match one {
            Ok(Ok(found)) => {
                all.bounded |= found.bounded;
                all.hits.extend(found.hits);
            }
            // Late or failed: what it would have found is missing, and the answer says so.
            _ => all.bounded = true,
        }
    }
    match keys {
        Ok(found) => {
            all.bounded |= found.bounded;
            all.hits.extend(found.hits);
        }
        Err(_) => all.bounded = true,
    }
    all
}

fn key_hit(app: &State, key: &[u8]) -> Hit {
    let classified = app.keyspace.classifier.classify(key);
    let label = wire::readable(key);
    Hit {
        kind: "key",
        module: classified.as_ref().map_or("", |found| found.def.module),
        note: classified.map(|found| found.def.name.to_owned()).unwrap_or_default(),
        link: format!("/keys?key={}", part(&label)),
        label,
    }
}

/// The whole key, and keys that hold the words among the first ones of a walk.
async fn keys(app: &State, words: &str) -> Result<Found, Fault> {
    let mut found = Found::default();
    let whole = wire::call(app.store(), &["EXISTS", words]).await?;
    if wire::int(&whole) == Some(1) {
        found.hits.push(key_hit(app, words.as_bytes()));
    }
    if words.len() < 3 {
        return Ok(found);
    }
    let (keys, complete) = walk(app.store(), words).await?;
    found.bounded = !complete;
    let fresh = keys.iter().filter(|key| key.as_slice() != words.as_bytes());
    found.hits.extend(fresh.map(|key| key_hit(app, key)).take(MOST - found.hits.len()));
    Ok(found)
}

async fn walk(store: &dyn Store, words: &str) -> Result<(Vec<Vec<u8>>, bool), Fault> {
    let until = Instant::now() + KEYS_PATIENCE;
    let (mut cursor, mut seen, mut hits) = ("0".to_owned(), 0, Vec::new());
    let holds = |key: &[u8]| key.windows(words.len()).any(|part| part == words.as_bytes());
    loop {
        let (next, keys) = scan(store, &cursor, None, ROUND).await?;
        seen += keys.len();
        hits.extend(keys.into_iter().filter(|key| holds(key)));
        if next == "0" {
            return Ok((hits, true));
        }
        if hits.len() > MOST || seen >= KEYS || Instant::now() > until {
            return Ok((hits, false));
        }
        cursor = next;
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn a_part_of_an_address_holds_no_foreign_sign() {
        assert_eq!(part("room:A b&c/é"), "room%3AA%20b%26c%2F%C3%A9");
    }
}
