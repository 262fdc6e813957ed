//! Jobs by id and by type, for the search field: the whole id in every namespace, parts among the jobs that were seen lately.

use futures_util::future::BoxFuture;

use super::handle::{Queues, refuse};
use super::sampler::Histories;
use crate::modules::State;
use crate::reply::Refusal;
use crate::search::{Found, Hit, MOST, part};

pub(crate) fn find(app: State, words: String) -> BoxFuture<'static, Result<Found, Refusal>> {
    Box::pin(async move {
        let all = Queues::of(&app);
        let several = all.iter().count() > 1;
        let mut found = Found::default();
        for jobs in all.iter() {
            let ns = jobs.namespace();
            let tail = if several { format!("&ns={}", part(ns)) } else { String::new() };
            let (mut ids, types) = {
                let place = Histories::of(&app, jobs);
                let history = place.history.lock();
                (history.ids_like(&words, MOST), history.types_like(&words, MOST))
            };
            if !ids.contains(&words) && jobs.get(&words).await.map_err(refuse)?.is_some() {
                ids.insert(0, words.clone());
            }
            let note = if several { ns.to_owned() } else { String::new() };
            let hit = |kind, label: String, link| Hit {
                kind,
                module: "jobs",
                label,
                note: note.clone(),
                link,
            };
            found.hits.extend(ids.into_iter().take(MOST).map(|id| {
                let link = format!("/jobs/job?id={}{tail}", part(&id));
                hit("job", id, link)
            }));
            found.hits.extend(types.into_iter().map(|kind| {
                let link = format!("/jobs?type={}{tail}", part(&kind));
                hit("type", kind, link)
            }));
        }
        // Jobs that nobody has touched since this server began are found by their whole id only.
        found.bounded = found.hits.is_empty();
        Ok(found)
    })
}
