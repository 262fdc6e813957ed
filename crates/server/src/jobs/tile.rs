//! Jobs on the front page: how many wait, how fast they go, and what deserves a look.

use futures_util::future::BoxFuture;
use kernel::{Said, Wording};

use super::handle::Queues;
use super::stats::{Numbers, numbers};
use crate::modules::State;
use crate::overview::{Look, Tile};
use crate::reply::Refusal;
use crate::said;

/// A head older than this deserves a look.
const OLD_MS: u64 = 60_000;

pub(crate) fn tile(app: State) -> BoxFuture<'static, Result<Tile, Refusal>> {
    Box::pin(async move {
        let mut all = Vec::new();
        for jobs in Queues::of(&app).iter() {
            all.push(numbers(&app, jobs).await?);
        }
        let scheduler = app.settings.jobs.scheduler;
        let said = line(&all);
        Ok(Tile {
            module: "jobs",
            number: all.iter().map(|one| one.waiting).sum(),
            unit: "jobs waiting".into(),
            sentence: said.sentence(),
            said,
            counted: None,
            link: "/jobs".into(),
            looks: all.iter().flat_map(|one| looks(one, all.len() > 1, scheduler)).collect(),
        })
    })
}

fn line(all: &[Numbers]) -> Said {
    let active: u64 = all.iter().map(|one| one.active).sum();
    let rate: f64 = all.iter().map(|one| one.completed_per_second).sum();
    let workers: u64 = all.iter().map(|one| one.workers).sum();
    let line = if workers == 0 { said::JOBS_TILE_NOWORKER } else { said::JOBS_TILE };
    line.say().with("active", active).tenths("rate", rate).with("n", workers)
}

fn looks(one: &Numbers, several: bool, scheduler: bool) -> Vec<Look> {
    let mut looks = Vec::new();
    let ns = if several { format!("?ns={}", one.namespace) } else { String::new() };
    let say = |wording: &'static Wording| {
        if several { wording.say().with("ns", one.namespace.as_str()) } else { wording.say() }
    };
    let mut add = |level: &'static str, said: Said, page: &str| {
        looks.push(Look::new(level, "jobs", said, format!("{page}{ns}")));
    };
    if one.waiting > 0 && one.workers == 0 {
        add("bad", say(said::JOBS_NOWORKER).with("n", one.waiting), "/jobs/workers");
    }
    if one.leader.is_none() && scheduler && (one.cron > 0 || one.active > 0) {
        add("bad", say(said::JOBS_NOLEADER), "/jobs/cron");
    }
    if let Some(age) = one.oldest_waiting_ms.filter(|age| *age > OLD_MS && one.workers > 0) {
        add("warn", say(said::JOBS_OLD).with("age_ms", age), "/jobs");
    }
    if one.dead > 0 {
        add("warn", say(said::JOBS_DEAD).with("n", one.dead), "/jobs/dead");
    }
    if let Some(id) = one.cron_failed.first() {
        let failed = say(said::JOBS_CRONFAILED).with("n", one.cron_failed.len());
        add("bad", failed.with("id", id.as_str()), "/jobs/cron");
    }
    if one.paused.iter().any(|kind| kind == "*") {
        add("warn", say(said::JOBS_ALLPAUSED), "/jobs/types");
    } else if !one.paused.is_empty() {
        let (n, types) = (one.paused.len(), one.paused.join(", "));
        add("warn", say(said::JOBS_PAUSED).with("n", n).with("types", types), "/jobs/types");
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> Numbers {
        Numbers {
            namespace: "bridge".into(),
            workers: 2,
            leader: Some(1.into()),
            ..Numbers::default()
        }
    }

    #[test]
    fn a_healthy_queue_asks_for_nothing() {
        assert!(
            looks(&Numbers { waiting: 5, oldest_waiting_ms: Some(10), ..numbers() }, false, true)
                .is_empty()
        );
        assert_eq!(line(&[numbers()]).sentence(), "0 running, 0.0 per second, 2 workers");
    }

    #[test]
    fn what_is_wrong_is_told_in_a_sentence() {
        let sick = Numbers {
            waiting: 3,
            workers: 0,
            leader: None,
            cron: 1,
            dead: 2,
            paused: vec!["email".into()],
            cron_failed: vec!["digest".into()],
            ..numbers()
        };
        let told: Vec<_> = looks(&sick, true, true).into_iter().map(|look| look.sentence).collect();
        assert_eq!(told[0], "3 jobs wait in bridge and no worker is alive.");
        assert!(told.contains(&"email is paused in bridge.".to_owned()), "{told:?}");
        assert!(told.contains(&"The last firing of digest in bridge failed for good.".to_owned()));
        assert_eq!(told.len(), 5);
    }
}
