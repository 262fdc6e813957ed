//! Prefetch for a worker with one slot. When jobs are quick and the store is at the end of a wire,
//! the round trip takes longer than the job. So the next jobs are claimed while one runs, and
//! finished jobs are written while the next runs. Jobs still run one at a time, in the order they
//! were claimed. A job that takes long sends those behind it back to the front, where other workers
//! find them.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;

use super::Shared;
use super::phase::Phase;
use super::pump::Work;
use crate::model::outcome::{Claimed, Done, Ending};

/// Jobs held at once, the one that runs among them.
const HELD: usize = 4;
/// How long the others wait behind one that runs.
const PATIENCE: Duration = Duration::from_millis(2);

/// The jobs that are held and do not run yet.
struct Behind<F: Future> {
    work: VecDeque<Work>,
    /// Each writes an end and claims the next job.
    calls: FuturesOrdered<F>,
}

impl Shared {
    /// Runs jobs until one takes long, no more come, or the worker stops. Gives what is still to be written.
    pub(super) async fn prefetch(&self, done: Vec<Done>) -> Vec<Done> {
        let mut behind = Behind { work: VecDeque::new(), calls: FuturesOrdered::new() };
        behind.calls.push_back(self.call(done, HELD));
        let mut quick = true;
        loop {
            let Some((claimed, cx)) = behind.work.pop_front() else {
                match behind.calls.next().await {
                    Some(got) => behind.work.extend(got),
                    None => return Vec::new(),
                }
                continue;
            };
            let mut run = pin!(self.run(claimed, cx));
            let one = tokio::select! {
                biased;
                one = &mut run => one,
                () = self.wait_behind(&mut behind) => {
                    let (one, ()) = tokio::join!(run, self.give_back(&mut behind));
                    return one.into_iter().collect();
                }
            };
            let took =
                one.as_ref().map_or(Duration::ZERO, |one| Duration::from_millis(one.took_ms));
            if took >= PATIENCE {
                // It held the thread, so that nobody could see that it takes long.
                self.give_back(&mut behind).await;
            }
            if behind.work.is_empty() && behind.calls.is_empty() {
                return one.into_iter().collect();
            }
            quick &= took.is_zero();
            let claims = quick && self.phase.get() == Phase::Running;
            if claims || one.is_some() {
                behind.calls.push_back(self.call(one.into_iter().collect(), usize::from(claims)));
            }
        }
    }

    async fn call(&self, mut done: Vec<Done>, want: usize) -> Vec<Work> {
        self.exchange(&mut done, want).await.0
    }

    /// Ends when those behind have waited long enough.
    async fn wait_behind<F: Future<Output = Vec<Work>>>(&self, behind: &mut Behind<F>) {
        let mut over = pin!(self.jobs.clock().sleep(PATIENCE));
        loop {
            tokio::select! {
                biased;
                Some(got) = behind.calls.next() => behind.work.extend(got),
                () = &mut over => return,
            }
        }
    }

    /// To the front of the list, the last one first.
    async fn give_back<F: Future<Output = Vec<Work>>>(&self, behind: &mut Behind<F>) {
        while let Some(got) = behind.calls.next().await {
            behind.work.extend(got);
        }
        let back = |(Claimed { job, .. }, _)| Done::new(job, Ending::HandBack, 0);
        let mut back: Vec<Done> = behind.work.drain(..).rev().map(back).collect();
        if !back.is_empty() {
            self.exchange(&mut back, 0).await;
        }
    }
}
