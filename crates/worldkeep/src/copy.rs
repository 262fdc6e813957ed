//! Keys from one store to another, or to a file and back: backup, restore and migrate share it. A key travels as its `DUMP`
//! with its end as an absolute time, a thousand keys in one round trip. Nothing is ever written to the source.

use std::time::Duration;

use kernel::keyspace::{Classifier, Layout};
use kernel::{Deadline, Fault, Scan, Store, Value, reply};
use redis::Cmd;

use crate::exit::Failure;

/// Keys of one round trip.
const BATCH: usize = 1000;
/// Bytes of one round trip, about; a larger value goes alone.
const BYTES: usize = 8 << 20;
/// Values that are compared at once.
const VALUES: usize = 256;
/// How long one call may take.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// One key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// As it is spelled.
    pub(crate) key: Vec<u8>,
    /// Unix milliseconds at which it ends; 0 for never.
    pub(crate) expires_at: u64,
    /// As `DUMP` gives it.
    pub(crate) payload: Vec<u8>,
}

impl Entry {
    /// Whether its end has come.
    pub(crate) fn is_over(&self, now_ms: u64) -> bool {
        self.expires_at != 0 && self.expires_at <= now_ms
    }
}

/// All keys of a store, batch by batch.
pub(crate) struct Source<'a> {
    store: &'a dyn Store,
    scan: Scan<'a>,
}

impl<'a> Source<'a> {
    /// Starts at the first key.
    pub(crate) async fn open(store: &'a dyn Store) -> Result<Source<'a>, Fault> {
        Ok(Source { store, scan: Scan::open(store, WAIT).await? })
    }

    /// The next entries; `None` when all were seen. A key may come twice, as `SCAN` gives it.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Entry>>, Fault> {
        match self.scan.next(BATCH).await? {
            Some(keys) => fetch(self.store, keys).await.map(Some),
            None => Ok(None),
        }
    }
}

/// The number of keys, for progress.
pub(crate) async fn count(store: &dyn Store) -> u64 {
    let answer = store.call(&redis::cmd("DBSIZE"), Deadline::after(WAIT)).await;
    answer
        .ok()
        .and_then(|count| reply::int(&count))
        .and_then(|count| u64::try_from(count).ok())
        .unwrap_or(0)
}

/// Whether there is no key at all.
pub(crate) async fn is_empty(store: &dyn Store) -> Result<bool, Fault> {
    let mut scan = Scan::open(store, WAIT).await?;
    while let Some(keys) = scan.next(BATCH).await? {
        if !keys.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Values and ends of these keys; keys that are gone are left out.
async fn fetch(store: &dyn Store, keys: Vec<Vec<u8>>) -> Result<Vec<Entry>, Fault> {
    let ask = |name: &str, key: &Vec<u8>| {
        let mut cmd = redis::cmd(name);
        cmd.arg(key);
        cmd
    };
    let cmds: Vec<Cmd> =
        keys.iter().flat_map(|key| [ask("DUMP", key), ask("PEXPIRETIME", key)]).collect();
    if cmds.is_empty() {
        return Ok(Vec::new());
    }
    let mut answers = store.pipeline(&cmds, Deadline::after(WAIT)).await?.into_iter();
    let mut entries = Vec::with_capacity(keys.len());
    for key in keys {
        let (payload, end) = (answers.next().transpose()?, answers.next().transpose()?);
        let end = end.as_ref().and_then(reply::int).unwrap_or(-2);
        let Some(Value::BulkString(payload)) = payload else { continue };
        let expires_at = match end {
            // It went between the two questions.
            -2 => continue,
            end => u64::try_from(end).unwrap_or(0),
        };
        entries.push(Entry { key, expires_at, payload });
    }
    Ok(entries)
}

/// Writes entries over whatever has their keys.
pub(crate) async fn write(store: &dyn Store, entries: &[Entry]) -> Result<(), Failure> {
    let mut rest = entries;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fit = rest.iter().take_while(|entry| {
            bytes += entry.payload.len() + entry.key.len();
            bytes <= BYTES
        });
        let (now, later) = rest.split_at(fit.count().max(1));
        let cmds: Vec<Cmd> = now.iter().map(restore).collect();
        let results = store.pipeline(&cmds, Deadline::after(WAIT)).await?;
        for (entry, result) in now.iter().zip(results) {
            result.map_err(|fault| {
                let key = String::from_utf8_lossy(&entry.key);
                match fault {
                    Fault::Refused { .. } => Failure::failed(format!(
                        "the store does not take {key}: {fault}; a store takes values of its own version or older"
                    )),
                    other => other.into(),
                }
            })?;
        }
        rest = later;
    }
    Ok(())
}

fn restore(entry: &Entry) -> Cmd {
    let mut cmd = redis::cmd("RESTORE");
    cmd.arg(&entry.key).arg(entry.expires_at).arg(&entry.payload).arg("ABSTTL").arg("REPLACE");
    cmd
}

/// The places of those entries of `from` that the store does not hold as they are, under their new spelling. Values whose
/// bytes differ are read and compared: two versions may write the same value in different ways.
pub(crate) async fn differing(
    store: &dyn Store,
    from: &dyn Store,
    entries: &[Entry],
    spelled: &[Vec<u8>],
) -> Result<Vec<usize>, Fault> {
    let mut found = fetch(store, spelled.to_vec()).await?.into_iter().peekable();
    let (mut wrong, mut unsure) = (Vec::new(), Vec::new());
    for (at, (entry, key)) in entries.iter().zip(spelled).enumerate() {
        match found.next_if(|copy| copy.key == *key) {
            Some(copy) if copy.expires_at == entry.expires_at => {
                if copy.payload != entry.payload {
                    unsure.push(at);
                }
            }
            _ => wrong.push(at),
        }
    }
    for chunk in unsure.chunks(VALUES) {
        let ours: Vec<&[u8]> = chunk.iter().map(|at| &*entries[*at].key).collect();
        let theirs: Vec<&[u8]> = chunk.iter().map(|at| &*spelled[*at]).collect();
        let (ours, theirs) = tokio::join!(values(from, &ours), values(store, &theirs));
        for ((at, ours), theirs) in chunk.iter().zip(ours?).zip(theirs?) {
            if ours != theirs {
                wrong.push(*at);
            }
        }
    }
    wrong.sort_unstable();
    Ok(wrong)
}

/// Values in a form that does not depend on how they are kept, each with its type.
async fn values(store: &dyn Store, keys: &[&[u8]]) -> Result<Vec<Vec<Value>>, Fault> {
    let ask = |words: &[&str], key: &[u8]| {
        let mut cmd = Cmd::new();
        for word in words {
            // `@` stands for the key.
            match *word {
                "@" => cmd.arg(key),
                word => cmd.arg(word),
            };
        }
        cmd
    };
    let all = async |cmds: Vec<Cmd>| {
        let answers = store.pipeline(&cmds, Deadline::after(WAIT)).await?;
        answers.into_iter().collect::<Result<Vec<Value>, Fault>>()
    };
    let kinds = all(keys.iter().map(|key| ask(&["TYPE", "@"], key)).collect()).await?;
    let reads = kinds.iter().zip(keys).flat_map(|(kind, key)| {
        let second = match reply::text(kind) {
            Some("stream") => &["XINFO", "GROUPS", "@"][..],
            _ => &["TYPE", "@"],
        };
        let first = match reply::text(kind) {
            Some("list") => &["LRANGE", "@", "0", "-1"][..],
            Some("set") => &["SMEMBERS", "@"],
            Some("hash") => &["HGETALL", "@"],
            Some("zset") => &["ZRANGE", "@", "0", "-1", "WITHSCORES"],
            Some("stream") => &["XRANGE", "@", "-", "+"],
            Some("string") => &["GET", "@"],
            // Gone meanwhile.
            _ => second,
        };
        [ask(first, key), ask(second, key)]
    });
    let found = all(reads.collect()).await?;
    let pairs = kinds.iter().zip(found.chunks_exact(2));
    Ok(pairs.map(|(kind, found)| ordered(reply::text(kind), found)).collect())
}

/// Members of sets and hashes come in any order.
fn ordered(kind: Option<&str>, found: &[Value]) -> Vec<Value> {
    let width = match kind {
        Some("set") => 1,
        Some("hash") => 2,
        _ => return found.to_vec(),
    };
    let Some(all) = reply::list(&found[0]) else { return found.to_vec() };
    let mut rows: Vec<&[Value]> = all.chunks(width).collect();
    rows.sort_by_cached_key(|row| format!("{row:?}"));
    [&rows.concat()[..], &found[1..]].concat()
}

/// A key as the layout spells it; keys that no table has, and those that are the same in both, stay.
pub(crate) fn respell(
    classifier: &Classifier,
    layout: Layout,
    key: &[u8],
) -> Result<Vec<u8>, Failure> {
    let Some(found) = classifier.classify(key) else { return Ok(key.to_vec()) };
    if found.layout.is_none_or(|spelled| spelled == layout) {
        return Ok(key.to_vec());
    }
    let key = found.def.render(layout, &found.params).map_err(|why| {
        Failure::failed(format!("{} cannot be respelled: {why}", String::from_utf8_lossy(key)))
    })?;
    Ok(key.as_bytes().to_vec())
}
