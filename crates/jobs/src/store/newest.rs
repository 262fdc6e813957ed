//! Pages of jobs, the newest first. They come from the index of lists; a state whose structure is small is read from
//! there as a whole and sorted. A page looks at a bounded number of jobs, so it may be short and still have a cursor. The
//! cursor names a place in the index, which stays where it is while jobs come and go.

use std::collections::HashSet;

use kernel::reply;

use crate::error::{Error, refusal};
use crate::model::{Job, Status};
use crate::store::index::entries;
use crate::store::list::{LOOKED_AT, ListQuery, Page};
use crate::store::read::JobView;
use crate::store::{Jobs, cmd};

/// Entries of the index in one trip.
const TRIP: usize = 200;
/// A structure with up to so many jobs is read as a whole.
const SMALL: u64 = 2_000;

/// One id of the index and its place there.
struct Spot {
    entry: String,
    /// Ids of the entry that come before it, counted from the entry's end.
    passed: usize,
    dispatched_ms: u64,
    id: String,
}

/// The beginning of a page.
enum Start {
    Newest,
    /// In the index: behind so many ids of this entry.
    Index(String, usize),
    /// In a small structure: behind this job.
    Behind(i64, String),
}

impl Start {
    fn read(cursor: Option<&str>) -> Result<Start, Error> {
        let Some(cursor) = cursor else { return Ok(Start::Newest) };
        let bad = || {
            Error::invalid(refusal::program::INVALID_CURSOR, "cursor", "cursor is not one of ours")
        };
        let mut parts = cursor.splitn(3, '.');
        let (part, at) = (parts.next(), parts.next().ok_or_else(bad)?);
        let rest = parts.next().ok_or_else(bad)?;
        match part {
            Some("n") => {
                let (ms, seq) = at.split_once('-').ok_or_else(bad)?;
                if ms.parse::<u64>().is_err() || seq.parse::<u64>().is_err() {
                    return Err(bad());
                }
                Ok(Start::Index(at.to_owned(), rest.parse().map_err(|_| bad())?))
            }
            Some("c") => Ok(Start::Behind(at.parse().map_err(|_| bad())?, rest.to_owned())),
            _ => Err(bad()),
        }
    }
}

fn behind(spot: &Spot) -> String {
    format!("n.{}.{}", spot.entry, spot.passed + 1)
}

impl Jobs {
    /// A page of jobs, the newest first.
    pub(super) async fn newest(
        &self,
        query: &ListQuery,
        limit: usize,
    ) -> Result<Page<JobView>, Error> {
        let start = Start::read(query.cursor.as_deref())?;
        if let (Some(status), Start::Newest | Start::Behind(..)) = (query.status, &start)
            && self.count_of(status).await?.is_some_and(|count| count <= SMALL)
        {
            return self.newest_of_small(query, status, &start, limit).await;
        }
        let mut at = match start {
            Start::Newest => None,
            Start::Index(entry, passed) => Some((entry, passed)),
            // The structure has grown meanwhile: the index goes on at about the same time.
            Start::Behind(created_ms, _) => Some((format!("{}-0", created_ms.max(0)), 0)),
        };
        let mut page = Page { items: Vec::new(), cursor: None, looked_at: 0 };
        loop {
            let (spots, next) = self.index_stretch(at.as_ref()).await?;
            let is_last = |spot: &Spot| {
                next.is_none()
                    && spots
                        .last()
                        .is_some_and(|last| last.entry == spot.entry && last.passed == spot.passed)
            };
            for chunk in spots.chunks(limit.clamp(50, TRIP)) {
                page.looked_at += chunk.len();
                let mut wanted = self.fitting(query, chunk).await?;
                while !wanted.is_empty() {
                    let take = wanted.len().min(limit - page.items.len());
                    let part: Vec<&Spot> = wanted.drain(..take).collect();
                    self.add_views(&part, &mut page.items).await?;
                    if page.items.len() >= limit {
                        page.cursor =
                            part.last().filter(|spot| !is_last(spot)).map(|spot| behind(spot));
                        return Ok(page);
                    }
                }
                if page.looked_at >= LOOKED_AT {
                    page.cursor = chunk.last().filter(|spot| !is_last(spot)).map(behind);
                    return Ok(page);
                }
            }
            match next {
                Some(next) => at = Some((next, 0)),
                None => return Ok(page),
            }
        }
    }

    /// Ids of the index from a place on, the newest first, and the entry behind them.
    async fn index_stretch(
        &self,
        at: Option<&(String, usize)>,
    ) -> Result<(Vec<Spot>, Option<String>), Error> {
        let (from, skip) = at.map_or(("+", 0), |(entry, passed)| (entry.as_str(), *passed));
        let mut range = cmd("XREVRANGE", self.space().index.as_str());
        range.arg(from).arg("-").arg("COUNT").arg(TRIP + 1);
        let mut found = entries(&self.call(&range).await?);
        let next = (found.len() > TRIP).then(|| found.pop().map(|entry| entry.at)).flatten();
        let mut spots = Vec::new();
        for entry in found {
            // Only the entry that the cursor names was begun.
            let begun = if entry.at == from { skip } else { 0 };
            let ids = entry.ids.into_iter().rev().enumerate().skip(begun);
            spots.extend(ids.map(|(passed, id)| Spot {
                entry: entry.at.clone(),
                passed,
                dispatched_ms: entry.dispatched_ms,
                id,
            }));
        }
        Ok((spots, next))
    }

    /// The jobs whose state, type and text are wanted.
    async fn fitting<'a>(
        &self,
        query: &ListQuery,
        spots: &'a [Spot],
    ) -> Result<Vec<&'a Spot>, Error> {
        let mut chosen: Vec<&Spot> = spots.iter().collect();
        if let Some(status) = query.status {
            let words = self.states_of(&chosen).await?;
            let mut words = words.into_iter();
            chosen.retain(|_| words.next().flatten() == Some(status));
        }
        if query.kind.is_none() && query.text.is_none() {
            return Ok(chosen);
        }
        let ids: Vec<&str> = chosen.iter().map(|spot| spot.id.as_str()).collect();
        let mut texts = self.texts_of(&ids).await?.into_iter();
        chosen
            .retain(|spot| texts.next().flatten().is_some_and(|text| query.wants(&spot.id, &text)));
        Ok(chosen)
    }

    /// The states of jobs. The seed's claim leaves the word as it was, so the active set is asked too.
    async fn states_of(&self, spots: &[&Spot]) -> Result<Vec<Option<Status>>, Error> {
        if spots.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = redis::cmd("MGET");
        let mut runs = cmd("SMISMEMBER", self.space().active.as_str());
        for spot in spots {
            get.arg(self.space().status(&spot.id));
            runs.arg(&spot.id);
        }
        let values = self.all(&[get, runs]).await?;
        let words = reply::list(&values[0]).unwrap_or_default().iter();
        let runs = reply::list(&values[1]).unwrap_or_default().iter();
        Ok(words
            .zip(runs)
            .map(|(word, runs)| match reply::int(runs) {
                Some(1) => Some(Status::Active),
                _ => reply::text(word).and_then(|word| word.parse().ok()),
            })
            .collect())
    }

    /// Adds the jobs that are still there. A job that is younger than its entry is another one of the same id, which has
    /// an entry of its own.
    async fn add_views(&self, spots: &[&Spot], items: &mut Vec<JobView>) -> Result<(), Error> {
        let ids: Vec<String> = spots.iter().map(|spot| spot.id.clone()).collect();
        let mut views = self.views(&ids).await?.into_iter().peekable();
        let mut shown: HashSet<String> = items.iter().map(|item| item.id.clone()).collect();
        for spot in spots {
            let Some(view) = views.next_if(|view| view.id == spot.id) else { continue };
            let created_ms = view.read().map_or(0, |job| job.created_at);
            let is_other = created_ms > i64::try_from(spot.dispatched_ms).unwrap_or(i64::MAX);
            if !is_other && shown.insert(view.id.clone()) {
                items.push(view);
            }
        }
        Ok(())
    }

    /// The same for a state whose structure is small: all of it is sorted.
    async fn newest_of_small(
        &self,
        query: &ListQuery,
        status: Status,
        start: &Start,
        limit: usize,
    ) -> Result<Page<JobView>, Error> {
        let mut ids = self.ids_in_place(status).await?;
        // Of jobs of one millisecond the later in the structure is the newer.
        ids.reverse();
        let (mut found, mut seen): (Vec<(i64, String)>, _) = (Vec::new(), HashSet::new());
        for chunk in ids.chunks(TRIP) {
            for (id, text) in chunk.iter().zip(self.texts_of(chunk).await?) {
                let Some(text) = text.filter(|text| query.wants(id, text)) else { continue };
                if seen.insert(id) {
                    let created_ms = Job::read(&**id, text).map_or(0, |job| job.created_at);
                    found.push((created_ms, id.clone()));
                }
            }
        }
        found.sort_by_key(|(created_ms, _)| std::cmp::Reverse(*created_ms));
        if let Start::Behind(created_ms, id) = start {
            let last = found.iter().position(|one| one.0 == *created_ms && one.1 == *id);
            let older = found.partition_point(|one| one.0 >= *created_ms);
            found.drain(..last.map_or(older, |last| last + 1));
        }
        let more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| more);
        let cursor = last.map(|(created_ms, id)| format!("c.{created_ms}.{id}"));
        let chosen: Vec<String> = found.into_iter().map(|(_, id)| id).collect();
        Ok(Page { items: self.views(&chosen).await?, cursor, looked_at: ids.len() })
    }
}
