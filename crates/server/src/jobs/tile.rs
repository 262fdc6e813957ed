//! Jobs on the front page: how many wait, how fast they go, and what deserves a look.

use futures_util::future::BoxFuture;

use super::handle::Queues;
use super::item::time;
use super::stats::{Numbers, numbers};
use crate::modules::State;
use crate::overview::{Look, Tile};
use crate::reply::Refusal;

/// A head older than this deserves a look.
const OLD_MS: u64 = 60_000;

pub(crate) fn tile(app: State) -> BoxFuture<'static, Result<Tile, Refusal>> {
    Box::pin(async move {
        let mut all = Vec::new();
        for jobs in Queues::of(&app).iter() {
            all.push(numbers(&app, jobs).await?);
        }
        let scheduler = app.settings.jobs.scheduler;
        Ok(Tile {
            module: "jobs",
            number: all.iter().map(|one| one.waiting).sum(),
            unit: "jobs waiting".into(),
            sentence: sentence(&all),
            link: "/jobs".into(),
            looks: all.iter().flat_map(|one| looks(one, all.len() > 1, scheduler)).collect(),
        })
    })
}

fn sentence(all: &[Numbers]) -> String {
    let active: u64 = all.iter().map(|one| one.active).sum();
    let rate: f64 = all.iter().map(|one| one.completed_per_second).sum();
    let workers: u64 = all.iter().map(|one| one.workers).sum();
    let workers = match workers {
        0 => "no worker".to_owned(),
        1 => "1 worker".to_owned(),
        n => format!("{n} workers"),
    };
    format!("{active} running, {rate:.1} per second, {workers}")
}

fn looks(one: &Numbers, several: bool, scheduler: bool) -> Vec<Look> {
    let mut looks = Vec::new();
    let place = if several { format!(" in {}", one.namespace) } else { String::new() };
    let ns = if several { format!("?ns={}", one.namespace) } else { String::new() };
    let mut add = |level: &'static str, sentence: String, page: &str| {
        looks.push(Look { level, module: "jobs".into(), sentence, link: format!("{page}{ns}") });
    };
    if one.waiting > 0 && one.workers == 0 {
        add(
            "bad",
            format!("{} jobs wait{place} and no worker is alive.", one.waiting),
            "/jobs/workers",
        );
    }
    if one.leader.is_none() && scheduler && (one.cron > 0 || one.active > 0) {
        add("bad", format!("No scheduler holds the lead{place}; cron waits."), "/jobs/cron");
    }
    if let Some(age) = one.oldest_waiting_ms.filter(|age| *age > OLD_MS && one.workers > 0) {
        let age = time(i64::try_from(age).unwrap_or(i64::MAX));
        add("warn", format!("The job at the head{place} waits for {age}."), "/jobs");
    }
    match one.dead {
        0 => {}
        1 => add("warn", format!("One job{place} is a dead letter."), "/jobs/dead"),
        n => add("warn", format!("{n} jobs{place} are dead letters."), "/jobs/dead"),
    }
    match one.cron_failed.as_slice() {
        [] => {}
        [id] => {
            add("bad", format!("The last firing of {id}{place} failed for good."), "/jobs/cron");
        }
        all => add(
            "bad",
            format!("The last firings of {} recurring jobs{place} failed for good.", all.len()),
            "/jobs/cron",
        ),
    }
    if !one.paused.is_empty() {
        let all = one.paused.iter().any(|kind| kind == "*");
        let what = if all { "Every type".to_owned() } else { one.paused.join(", ") };
        let verb = if one.paused.len() == 1 || all { "is" } else { "are" };
        add("warn", format!("{what} {verb} paused{place}."), "/jobs/types");
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
        assert_eq!(sentence(&[numbers()]), "0 running, 0.0 per second, 2 workers");
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
