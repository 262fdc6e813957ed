//! Reads the events of many streams and can resume after a gap. New scopes are found while it reads. It
//! waits in one `XREAD BLOCK` on a connection of its own where one command can see all streams; on a Cluster
//! with several slots, or with very many streams, it asks group by group and waits a little in between.
//! Memory is bounded by the size of a batch, not by how far behind a reader is.

mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};
use serde::Serialize;

use crate::events::{Envelope, Filter, Seq};
use crate::fault::Fault;
use crate::keyspace::slot;
use crate::reply;
use crate::scopes;
use crate::store::{Deadline, Kind, Session, Store};
use resume::{Info, resume};

/// How many records one batch has, about.
const BATCH: usize = 512;
/// How many streams one command names at most.
const STREAMS: usize = 256;
/// How often new scopes are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a group-by-group reader rests, from just after news to long after them.
const REST: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// A source of events: one stream, or one stream per scope.
#[derive(Clone)]
pub struct Feed {
    module: String,
    source: FeedSource,
}

#[derive(Clone)]
enum FeedSource {
    One { stream: String, scope: Option<String> },
    Scoped { set: String, stream: Arc<StreamOf> },
}

type StreamOf = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Feed {
    /// One stream, with the scope its events carry.
    pub fn one(module: impl Into<String>, stream: impl Into<String>, scope: Option<&str>) -> Self {
        let source = FeedSource::One { stream: stream.into(), scope: scope.map(str::to_owned) };
        Feed { module: module.into(), source }
    }

    /// One stream per member of a set of scopes; `stream` names it, `None` passes over what is no scope.
    pub fn scoped(
        module: impl Into<String>,
        set: impl Into<String>,
        stream: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let source = FeedSource::Scoped { set: set.into(), stream: Arc::new(stream) };
        Feed { module: module.into(), source }
    }
}

/// An item that a reader yields.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Record {
    /// Something happened.
    Event(StreamEvent),
    /// Something happened that can no longer be read.
    Gap(Gap),
}

/// An event and the stream it stands in, as `/ws/events` sends it.
#[derive(Debug, Clone, Serialize)]
pub struct StreamEvent {
    /// The event.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The key of its stream: with `seq`, where to resume.
    pub stream: String,
}

/// Entries before `from` were trimmed before they were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "gap")]
pub struct Gap {
    /// The stream.
    pub stream: String,
    /// The id from which reading goes on.
    pub from: Seq,
}

/// A place in one stream.
#[derive(Debug, Clone)]
struct StreamPosition {
    module: String,
    scope: Option<String>,
    after: Seq,
}

/// Reads events. Dropping a pending [`EventReader::next`] loses nothing.
pub struct EventReader {
    store: Arc<dyn Store>,
    feeds: Vec<Feed>,
    filter: Filter,
    places: BTreeMap<String, StreamPosition>,
    /// The ids after which to start in streams that are not yet being read.
    resume: BTreeMap<String, Seq>,
    /// The store's time at the subscription; `None` until it is known.
    since: Option<Seq>,
    found: Vec<Record>,
    /// Streams whose last read filled its share, and where they stood before it: trimming may be near.
    unchecked: Vec<(String, Seq)>,
    looked: Option<Deadline>,
    session: Option<Box<dyn Session>>,
    /// Which group is next.
    turn: usize,
    rest: Duration,
}

impl EventReader {
    /// Reads what the filter wants, from now on, or after the given places.
    pub fn new(
        store: Arc<dyn Store>,
        feeds: Vec<Feed>,
        filter: Filter,
        after: BTreeMap<String, Seq>,
    ) -> Self {
        EventReader {
            store,
            feeds,
            filter,
            places: BTreeMap::new(),
            resume: after,
            since: None,
            found: Vec::new(),
            unchecked: Vec::new(),
            looked: None,
            session: None,
            turn: 0,
            rest: REST.0,
        }
    }

    /// Wants something else from now on. Streams that stay go on where they are, unless `after` names them.
    pub fn subscribe(&mut self, filter: Filter, after: BTreeMap<String, Seq>) {
        self.places.retain(|stream, place| {
            filter.wants_stream(&place.module, place.scope.as_deref())
                && !after.contains_key(stream)
        });
        self.filter = filter;
        self.resume = after;
        self.since = None;
        self.looked = None;
    }

    /// The id last read in each stream: give them back as `after` to resume.
    pub fn places(&self) -> BTreeMap<String, Seq> {
        self.places.iter().map(|(stream, place)| (stream.clone(), place.after)).collect()
    }

    /// The next records, at most a batch; none when nothing happened in `wait`. After a fault call it again:
    /// it goes on where it was.
    pub async fn next(&mut self, wait: Duration) -> Result<Vec<Record>, Fault> {
        let end = Deadline::after(wait);
        loop {
            self.look().await?;
            if self.found.is_empty() {
                self.read(end).await?;
            }
            self.look_for_gaps().await?;
            if !self.found.is_empty() || end.left().is_zero() {
                return Ok(std::mem::take(&mut self.found));
            }
            // The embedded engine answers at once: let others run.
            tokio::task::yield_now().await;
        }
    }

    /// Finds streams, now and then.
    async fn look(&mut self) -> Result<(), Fault> {
        if self.looked.is_some_and(|looked| !looked.left().is_zero()) {
            return Ok(());
        }
        let by = patience();
        let first = self.since.is_none();
        let since = match self.since {
            Some(since) => since,
            None => store_time(&*self.store, by).await?,
        };
        let mut fresh: Vec<(String, StreamPosition)> = Vec::new();
        let wanted = wanted(&*self.store, &self.feeds, &self.filter, by).await?;
        for (module, scope, stream) in wanted {
            if !self.places.contains_key(&stream) && !fresh.iter().any(|(seen, _)| *seen == stream)
            {
                // A stream that appears later is new to us and is read from the time of the
                // subscription on.
                fresh.push((stream, StreamPosition { module, scope, after: since }));
            }
        }
        let ask = |(stream, _): &(String, StreamPosition)| {
            let mut cmd = redis::cmd("XINFO");
            cmd.arg("STREAM").arg(stream);
            cmd
        };
        let cmds: Vec<Cmd> = fresh.iter().map(ask).collect();
        let infos = match cmds.as_slice() {
            [] => Vec::new(),
            cmds => self.store.pipeline(cmds, by).await?,
        };
        let mut gaps = Vec::new();
        for ((stream, place), info) in fresh.iter_mut().zip(infos) {
            let info = info.ok().and_then(|info| Info::read(&info));
            if let Some(after) = self.resume.get(stream) {
                let (start, gap) = resume(*after, info.as_ref());
                place.after = start;
                gaps.extend(gap.map(|from| Record::Gap(Gap { stream: stream.clone(), from })));
            } else if first {
                place.after = info.map_or(Seq::START, |info| info.last);
            }
        }
        // Nothing awaits from here on, so that a dropped call leaves no half-made state.
        for (stream, place) in fresh {
            self.resume.remove(&stream);
            self.places.insert(stream, place);
        }
        self.since = Some(since);
        self.found.append(&mut gaps);
        self.looked = Some(Deadline::after(LOOK_EVERY));
        Ok(())
    }

    /// Streams that one command may name together.
    fn groups(&self) -> Vec<Vec<String>> {
        let cluster = self.store.status().kind == Kind::Cluster;
        let mut by_slot: BTreeMap<u16, Vec<String>> = BTreeMap::new();
        for stream in self.places.keys() {
            let slot = if cluster { slot(stream.as_bytes()) } else { 0 };
            by_slot.entry(slot).or_default().push(stream.clone());
        }
        by_slot.values().flat_map(|streams| streams.chunks(STREAMS)).map(<[_]>::to_vec).collect()
    }

    async fn read(&mut self, end: Deadline) -> Result<(), Fault> {
        let wait = self.looked.map_or(LOOK_EVERY, Deadline::left).min(end.left());
        let groups = self.groups();
        match groups.as_slice() {
            [] => {
                tokio::time::sleep(wait).await;
                Ok(())
            }
            [streams] => self.read_waiting(streams, wait).await,
            groups => self.read_in_turn(groups, wait).await,
        }
    }

    /// One command that waits for news.
    async fn read_waiting(&mut self, streams: &[String], wait: Duration) -> Result<(), Fault> {
        let count = share(streams.len());
        let cmd = self.xread(streams, count, Some(wait));
        // Taken out, so that a dropped call drops the connection it left in the middle of an answer.
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.store.session(streams[0].as_bytes(), patience()).await?,
        };
        let by = Deadline::after(wait + Duration::from_secs(2));
        let answer = session.call(&cmd, by).await?;
        self.session = Some(session);
        self.take(&answer, count);
        Ok(())
    }

    /// Group after group, as many as one batch holds, without waiting in the store.
    async fn read_in_turn(&mut self, groups: &[Vec<String>], wait: Duration) -> Result<(), Fault> {
        const AT_ONCE: usize = 32;
        for window in 0..groups.len().div_ceil(AT_ONCE) {
            let start = (self.turn + window * AT_ONCE) % groups.len();
            let chosen: Vec<&Vec<String>> =
                groups.iter().cycle().skip(start).take(AT_ONCE.min(groups.len())).collect();
            let count = share(chosen.iter().map(|streams| streams.len()).sum());
            let cmds: Vec<Cmd> =
                chosen.iter().map(|streams| self.xread(streams, count, None)).collect();
            let answers = self.store.pipeline(&cmds, patience()).await?;
            for answer in answers {
                self.take(&answer?, count);
            }
            if self.found.len() >= BATCH / 2 {
                self.turn = (start + AT_ONCE) % groups.len();
                break;
            }
        }
        if self.found.is_empty() {
            tokio::time::sleep(self.rest.min(wait)).await;
            self.rest = (self.rest * 2).min(REST.1);
        } else {
            self.rest = REST.0;
        }
        Ok(())
    }

    fn xread(&self, streams: &[String], count: usize, wait: Option<Duration>) -> Cmd {
        let mut cmd = redis::cmd("XREAD");
        cmd.arg("COUNT").arg(count);
        if let Some(wait) = wait {
            // BLOCK 0 would wait for ever.
            cmd.arg("BLOCK").arg(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1));
        }
        cmd.arg("STREAMS").arg(streams);
        for stream in streams {
            let after = self.places.get(stream).map_or(Seq::START, |place| place.after);
            cmd.arg(after.to_string());
        }
        cmd
    }

    /// Takes an answer in.
    fn take(&mut self, answer: &Value, count: usize) {
        for (stream, entries) in reply::pairs(answer).unwrap_or_default() {
            let (Some(stream), Some(entries)) = (reply::text(stream), reply::list(entries)) else {
                continue;
            };
            let Some(place) = self.places.get_mut(stream) else { continue };
            if entries.len() >= count {
                self.unchecked.push((stream.to_owned(), place.after));
            }
            for entry in entries {
                let Some([id, fields]) = reply::list(entry) else { continue };
                let Some(seq) = reply::text(id).and_then(|id| id.parse().ok()) else { continue };
                place.after = seq;
                let scope = place.scope.as_deref();
                let envelope = Envelope::read(&place.module, scope, seq, fields);
                if self.filter.wants(&envelope) {
                    self.found
                        .push(Record::Event(StreamEvent { envelope, stream: stream.to_owned() }));
                }
            }
        }
    }

    /// A reader that is far behind may be overtaken by the trimming. Looked at after the reading: an entry
    /// that is still there now was there then. May report a gap where exactly nothing was lost.
    async fn look_for_gaps(&mut self) -> Result<(), Fault> {
        self.unchecked.retain(|(_, after)| *after > Seq::START);
        if self.unchecked.is_empty() {
            return Ok(());
        }
        let first = |(stream, _): &(String, Seq)| {
            let mut cmd = redis::cmd("XRANGE");
            cmd.arg(stream).arg("-").arg("+").arg("COUNT").arg(1);
            cmd
        };
        let cmds: Vec<Cmd> = self.unchecked.iter().map(first).collect();
        let answers = self.store.pipeline(&cmds, patience()).await?;
        let mut gaps = Vec::new();
        let answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
        for ((stream, after), answer) in self.unchecked.drain(..).zip(answers) {
            let first: Option<Seq> = reply::list(&answer)
                .and_then(|entries| reply::list(entries.first()?))
                .and_then(|entry| reply::text(entry.first()?)?.parse().ok());
            if first.is_some_and(|first| first > after) {
                let from = self.found.iter().find_map(|record| match record {
                    Record::Event(told) if told.stream == stream => Some(told.envelope.seq),
                    _ => None,
                });
                let from = from.or(first).unwrap_or(after);
                gaps.push(Record::Gap(Gap { stream, from }));
            }
        }
        // Before the events that follow it.
        gaps.append(&mut self.found);
        self.found = gaps;
        Ok(())
    }
}

/// Module, scope and key of every stream the filter can want.
async fn wanted(
    store: &dyn Store,
    feeds: &[Feed],
    filter: &Filter,
    by: Deadline,
) -> Result<Vec<(String, Option<String>, String)>, Fault> {
    let mut wanted = Vec::new();
    for Feed { module, source } in feeds {
        if !filter.modules.is_empty() && !filter.modules.contains(module) {
            continue;
        }
        match source {
            FeedSource::One { stream, scope } => {
                if filter.wants_stream(module, scope.as_deref()) {
                    wanted.push((module.clone(), scope.clone(), stream.clone()));
                }
            }
            FeedSource::Scoped { set, stream } => {
                for scope in scopes::list(store, set, by).await? {
                    if !filter.wants_stream(module, Some(&scope)) {
                        continue;
                    }
                    if let Some(stream) = stream(&scope) {
                        wanted.push((module.clone(), Some(scope), stream));
                    }
                }
            }
        }
    }
    Ok(wanted)
}

/// A little before now, because the nodes of a Cluster differ.
async fn store_time(store: &dyn Store, by: Deadline) -> Result<Seq, Fault> {
    let answer = store.call(&redis::cmd("TIME"), by).await?;
    let seconds = reply::list(&answer)
        .and_then(|parts| reply::int(parts.first()?))
        .and_then(|seconds| u64::try_from(seconds).ok())
        .ok_or_else(|| reply::unexpected("TIME", "seconds and microseconds", &answer))?;
    Ok(Seq { ms: seconds.saturating_sub(1) * 1000, n: 0 })
}

/// How many entries of each of so many streams fill a batch.
fn share(streams: usize) -> usize {
    (BATCH / streams.max(1)).max(1)
}

fn patience() -> Deadline {
    Deadline::after(Duration::from_secs(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_written_exactly_so() {
        let gap = Record::Gap(Gap { stream: "s".to_owned(), from: Seq { ms: 5, n: 0 } });
        let text = serde_json::to_string(&gap).unwrap();
        assert_eq!(text, r#"{"type":"gap","stream":"s","from":"5-0"}"#);
    }
}
