//! Pages of jobs in the order of their places. A state with a structure is paged through it, in its order; ended jobs
//! and "all" are found by SCAN over the status keys, in no order. A page looks at a bounded number of jobs, so it may be short
//! and still have a cursor.

use kernel::{Value, reply};
use serde::Serialize;

use crate::error::{Error, refusal};
use crate::model::{Job, Status};
use crate::store::read::JobView;
use crate::store::wire::escape_glob;
use crate::store::wire::scanned;
use crate::store::wire::texts;
use crate::store::{Jobs, cmd};

/// Jobs that one page looks at, at most.
pub(super) const LOOKED_AT: usize = 2_000;
/// Ids in one trip.
const TRIP: u64 = 200;

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The newest first, by their dispatch.
    #[default]
    Newest,
    /// By place: waiting as they will run, delayed and definitions by time, dead letters as they died, the newest first;
    /// all other jobs in no order. It finds every job, also those that no index has.
    Place,
}

/// The jobs that a page shows.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Only of this state.
    pub status: Option<Status>,
    /// Only of this type.
    pub kind: Option<String>,
    /// Only those whose id or stored text holds this.
    pub text: Option<String>,
    /// The cursor of the page before.
    pub cursor: Option<String>,
    /// How many; 50 when 0, at most 500.
    pub limit: usize,
    /// The order.
    pub order: Order,
}

impl ListQuery {
    /// Whether a job of this id and text has the type and the text that are asked for.
    pub(super) fn wants(&self, id: &str, text: &str) -> bool {
        let kind = self.kind.as_ref();
        let kind = kind.is_none_or(|kind| Job::read(id, text).is_ok_and(|job| job.kind == *kind));
        kind && self.text.as_ref().is_none_or(|part| id.contains(part) || text.contains(part))
    }
}

/// A page, and where the next one begins.
#[derive(Debug, Clone, Serialize)]
pub struct Page<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// `None` at the end.
    pub cursor: Option<String>,
    /// How many jobs were looked at for it.
    #[serde(skip)]
    pub looked_at: usize,
}

/// A place in the walk: a number in a list or sorted set, or the cursor of a SCAN with ids already passed.
struct Walk {
    /// `s` structure, `p` parked, `k` keys.
    part: char,
    at: String,
    /// How many of this SCAN stretch were given out.
    passed: usize,
}

impl Walk {
    fn read(cursor: Option<&str>, first: char) -> Result<Walk, Error> {
        let Some(cursor) = cursor else {
            return Ok(Walk { part: first, at: "0".into(), passed: 0 });
        };
        let bad = || {
            Error::invalid(refusal::program::INVALID_CURSOR, "cursor", "cursor is not one of ours")
        };
        let mut parts = cursor.split('.');
        let (part, at, passed) = (parts.next(), parts.next(), parts.next());
        let part = part.filter(|part| ["s", "p", "k"].contains(part)).ok_or_else(bad)?;
        let at = at.filter(|at| at.parse::<u64>().is_ok()).ok_or_else(bad)?;
        let passed = passed.and_then(|passed| passed.parse().ok()).ok_or_else(bad)?;
        Ok(Walk { part: part.chars().next().unwrap_or(first), at: at.to_owned(), passed })
    }

    fn text(&self) -> String {
        format!("{}.{}.{}", self.part, self.at, self.passed)
    }
}

/// The items found for a page: it may be more than it may show.
struct Shown {
    items: Vec<JobView>,
    limit: usize,
    walk: Walk,
    passed: usize,
    rest_here: bool,
    next: Option<Walk>,
    looked_at: usize,
}

impl Shown {
    /// The page; its cursor points behind the last one shown. `fresh` are the ids of the last stretch.
    fn page(self, fresh: &[String]) -> Page<JobView> {
        let Shown { mut items, limit, walk, passed, rest_here, next, looked_at } = self;
        if items.len() > limit {
            items.truncate(limit);
            let last = items.last().map(|view| view.id.clone()).unwrap_or_default();
            let at = fresh.iter().position(|id| *id == last);
            let passed = at.map_or(passed, |at| walk.passed + at + 1);
            return Page { items, cursor: Some(Walk { passed, ..walk }.text()), looked_at };
        }
        let cursor = if rest_here { Some(Walk { passed, ..walk }) } else { next };
        Page { items, cursor: cursor.map(|walk| walk.text()), looked_at }
    }
}

impl Jobs {
    /// A page of jobs.
    pub async fn list(&self, query: &ListQuery) -> Result<Page<JobView>, Error> {
        let limit = if query.limit == 0 { 50 } else { query.limit.min(500) };
        if query.order == Order::Newest {
            return self.newest(query, limit).await;
        }
        let by_place = matches!(
            query.status,
            Some(Status::Waiting | Status::Active | Status::Delayed | Status::Cron | Status::Dead)
        );
        let mut walk = Walk::read(query.cursor.as_deref(), if by_place { 's' } else { 'k' })?;
        let mut items: Vec<JobView> = Vec::new();
        let mut looked_at = 0;
        loop {
            let (ids, next) = self.walk_on(query, &walk).await?;
            let fresh: Vec<String> = ids.into_iter().skip(walk.passed).collect();
            let mut passed = walk.passed;
            // A trip of ids costs eleven commands each: as many as are wanted, not more.
            for chunk in fresh.chunks(limit.max(50)) {
                let chosen = self.chosen(query, chunk).await?;
                for view in self.views(&chosen).await? {
                    items.push(view);
                }
                passed += chunk.len();
                looked_at += chunk.len();
                if items.len() >= limit || looked_at >= LOOKED_AT {
                    break;
                }
            }
            let rest_here = passed - walk.passed < fresh.len();
            if rest_here || items.len() >= limit || looked_at >= LOOKED_AT {
                let shown = Shown { items, limit, walk, passed, rest_here, next, looked_at };
                return Ok(shown.page(&fresh));
            }
            match next {
                Some(next) => walk = next,
                None => return Ok(Page { items, cursor: None, looked_at }),
            }
        }
    }

    /// The ids of one stretch, and where the next one begins.
    async fn walk_on(
        &self,
        query: &ListQuery,
        walk: &Walk,
    ) -> Result<(Vec<String>, Option<Walk>), Error> {
        let status = query.status.unwrap_or(Status::Waiting);
        let step = |part: char, at: String| Some(Walk { part, at, passed: 0 });
        match walk.part {
            's' if status != Status::Active => {
                let from: u64 = walk.at.parse().unwrap_or(0);
                let ids = self.stretch(status, from, TRIP).await?;
                let more = ids.len() as u64 == TRIP;
                let parked = if status == Status::Waiting { step('p', "0".into()) } else { None };
                let next = if more { step('s', (from + TRIP).to_string()) } else { parked };
                Ok((ids, next))
            }
            's' | 'p' => {
                let space = self.space();
                let set = if walk.part == 'p' { &space.parked } else { &space.active };
                let mut scan = cmd("SSCAN", set.as_str());
                scan.arg(&walk.at).arg("COUNT").arg(TRIP);
                let (cursor, ids) = scanned(&self.call(&scan).await?);
                let cursor = String::from_utf8_lossy(&cursor).into_owned();
                Ok((ids, if cursor == "0" { None } else { step(walk.part, cursor) }))
            }
            _ => {
                let prefix = self.space().status("");
                let mut scan = redis::cmd("SCAN");
                scan.arg(&walk.at).arg("MATCH").arg(format!("{}*", escape_glob(&prefix)));
                scan.arg("COUNT").arg(TRIP);
                let key = self.space().waiting.clone();
                let mut session = self.store().session(key.as_bytes(), self.by()).await?;
                let (cursor, keys) = scanned(&session.call(&scan, self.by()).await?);
                let ids = keys.iter().filter_map(|key| key.strip_prefix(&prefix));
                let ids = ids.map(str::to_owned).collect();
                let cursor = String::from_utf8_lossy(&cursor).into_owned();
                Ok((ids, if cursor == "0" { None } else { step('k', cursor) }))
            }
        }
    }

    /// The ids whose state, type and text are wanted.
    async fn chosen(&self, query: &ListQuery, ids: &[String]) -> Result<Vec<String>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut chosen = ids.to_vec();
        if let Some(status) = query.status {
            let mut get = redis::cmd("MGET");
            for id in &chosen {
                get.arg(self.space().status(id));
            }
            let words = self.call(&get).await?;
            let words = reply::list(&words).unwrap_or_default();
            let by_place = !status.is_ended() || status == Status::Dead;
            let is = |word: &Value| match reply::text(word) {
                Some(word) => word == status.word(),
                // In its structure, and a foreign program wrote no word.
                None => by_place,
            };
            // Seed scripts leave the word as it was: the structure decides where there is one.
            chosen = chosen
                .into_iter()
                .zip(words)
                .filter(|(_, word)| by_place || is(word))
                .map(|(id, _)| id)
                .collect();
        }
        if query.kind.is_none() && query.text.is_none() {
            return Ok(chosen);
        }
        let texts = self.texts_of(&chosen).await?;
        let wanted = |id: &String, text: &Option<String>| {
            query.wants(id, text.as_deref().unwrap_or_default())
        };
        Ok(chosen
            .into_iter()
            .zip(texts)
            .filter(|(id, t)| wanted(id, t))
            .map(|(id, _)| id)
            .collect())
    }

    /// Ids of a structure that has an order, from a place on.
    pub(crate) async fn stretch(
        &self,
        status: Status,
        from: u64,
        count: u64,
    ) -> Result<Vec<String>, Error> {
        let space = self.space();
        let (name, key) = match status {
            Status::Waiting => ("LRANGE", &space.waiting),
            Status::Dead => ("LRANGE", &space.deadletter),
            Status::Cron => ("ZRANGE", &space.cron),
            _ => ("ZRANGE", &space.delayed),
        };
        let mut range = cmd(name, key.as_str());
        range.arg(from).arg(from + count - 1);
        Ok(texts(&self.call(&range).await?))
    }

    /// All ids of a state that has a structure; parked jobs wait too.
    pub(super) async fn ids_in_place(&self, status: Status) -> Result<Vec<String>, Error> {
        let (mut found, mut walk) =
            (Vec::new(), Some(Walk { part: 's', at: "0".into(), passed: 0 }));
        let query = ListQuery { status: Some(status), ..ListQuery::default() };
        while let Some(at) = walk {
            let (ids, next) = self.walk_on(&query, &at).await?;
            found.extend(ids);
            walk = next;
        }
        Ok(found)
    }

    /// All ids of a type in `waiting` (parked ones too) or in `delayed`.
    pub(crate) async fn ids_of_type(
        &self,
        status: Status,
        kind: &str,
    ) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        let mut walk = Some(Walk { part: 's', at: "0".into(), passed: 0 });
        let query =
            ListQuery { status: Some(status), kind: Some(kind.to_owned()), ..ListQuery::default() };
        while let Some(at) = walk {
            let (ids, next) = self.walk_on(&query, &at).await?;
            found.extend(self.chosen(&query, &ids).await?);
            walk = next;
        }
        Ok(found)
    }
}
