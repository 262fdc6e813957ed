//! Rotation of jobs that nobody may run: when they stand at the head for long, they go to the tail,
//! so that claims that look at few heads find the jobs behind them. Each move is one step and moves
//! only jobs that still stand there.

use std::collections::HashMap;

use kernel::reply;

use crate::error::Error;
use crate::model::routing::{Facts, Route};
use crate::scripts::ROTATE;
use crate::store::sweep::Sightings;
use crate::store::wire::texts;
use crate::store::{Jobs, cmd};

/// Heads read at once and moved in one step; as many as the seed's claim looks at.
const WINDOW: usize = 100;
/// Reads of one round: so deep a job is found behind those that nobody may run.
const WINDOWS_MAX: usize = 100;
/// Jobs that stay and stand among those that move, at most.
const KEPT_MAX: usize = 1_000;
/// New heads that may have come between the look and the step.
const SLACK: usize = 100;

impl Jobs {
    /// Moves jobs from the head to the tail that no living worker may run, and could not run for
    /// `rotate_unclaimable_s` seconds already. Tells how many moved; none when that is off, when no job stands behind
    /// them that somebody may run, or when nobody is alive.
    pub async fn rotate(&self, seen: &Sightings) -> Result<u64, Error> {
        let after_ms = u64::from(self.options().rotate_unclaimable_s) * 1000;
        if after_ms == 0 {
            return Ok(0);
        }
        let workers = self.workers().await?;
        let alive: Vec<Facts> = workers.iter().filter(|one| one.alive).map(Facts::from).collect();
        let mut unserved = Unserved {
            before: std::mem::take(&mut *seen.unserved.lock()),
            now: HashMap::new(),
            now_ms: self.now_ms(),
            after_ms,
        };
        let found = if alive.is_empty() {
            Ok(InFront::default())
        } else {
            self.unclaimable(&alive, &mut unserved).await
        };
        *seen.unserved.lock() = unserved.now;
        let found = found?;
        let mut moved = 0;
        for ids in found.ids.chunks(WINDOW) {
            moved += self.rotate_step(ids, &found).await?;
        }
        Ok(moved)
    }

    /// The first jobs that nobody may run and that stand in front of one that somebody may.
    async fn unclaimable(
        &self,
        alive: &[Facts],
        unserved: &mut Unserved,
    ) -> Result<InFront, Error> {
        let mut found = InFront::default();
        let mut since = Vec::new();
        for window in 0..WINDOWS_MAX {
            let heads = self.heads(window * WINDOW, WINDOW).await?;
            let last = heads.len() < WINDOW;
            for (id, text) in heads {
                let route = text.as_deref().map(Route::of_job);
                let served =
                    route.as_ref().is_none_or(|route| alive.iter().any(|one| route.admits(one)));
                if !served && route.is_some_and(|route| unserved.for_long(route)) {
                    since.push(id);
                    continue;
                }
                found.kept += 1;
                if served && !since.is_empty() {
                    found.ids.append(&mut since);
                    found.behind = id;
                }
            }
            if last || !found.ids.is_empty() || found.kept > KEPT_MAX {
                break;
            }
        }
        Ok(found)
    }

    async fn rotate_step(&self, ids: &[String], found: &InFront) -> Result<u64, Error> {
        let (now, opts) = (self.now_ms().to_string(), self.opts());
        let window = (ids.len() + found.kept + SLACK).to_string();
        let mut args: Vec<&[u8]> = Vec::with_capacity(4 + ids.len());
        for word in [&now, &opts, &window, &found.behind] {
            args.push(word.as_bytes());
        }
        args.extend(ids.iter().map(String::as_bytes));
        let reply = self.script(&ROTATE, &args, self.by()).await?;
        let moved = reply::int(&reply).and_then(|moved| u64::try_from(moved).ok());
        moved.ok_or_else(|| reply::unexpected("rotate", "a number", &reply).into())
    }

    /// A stretch of the list: ids with their texts, if they have one.
    async fn heads(
        &self,
        from: usize,
        count: usize,
    ) -> Result<Vec<(String, Option<String>)>, Error> {
        let mut range = cmd("LRANGE", self.space().waiting.as_str());
        range.arg(from).arg(from + count - 1);
        let ids = texts(&self.call(&range).await?);
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = redis::cmd("MGET");
        for id in &ids {
            get.arg(self.space().data(id));
        }
        let found = self.call(&get).await?;
        let found = reply::list(&found).unwrap_or_default();
        let text = |value| reply::text(value).map(str::to_owned);
        Ok(ids.into_iter().zip(found.iter().map(text)).collect())
    }
}

/// The jobs at the head that are to move.
#[derive(Default)]
struct InFront {
    /// In the order of the list.
    ids: Vec<String>,
    /// How many others stand among them.
    kept: usize,
    /// The job behind all of them that somebody may run.
    behind: String,
}

/// Routes that no living worker serves, each with the Unix ms at which that was first seen.
struct Unserved {
    before: HashMap<Route, u64>,
    now: HashMap<Route, u64>,
    now_ms: u64,
    after_ms: u64,
}

impl Unserved {
    /// Whether that route has been without a worker for long enough.
    fn for_long(&mut self, route: Route) -> bool {
        let first = self.before.get(&route).copied().unwrap_or(self.now_ms);
        let first = *self.now.entry(route).or_insert(first);
        self.now_ms.saturating_sub(first) >= self.after_ms
    }
}
