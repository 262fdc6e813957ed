//! A part of a worker's slots and the loop that serves them: one call to the store at a time, as many jobs in it
//! as there are. Handlers that are quick begin right here; the others have tasks of their own.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};

use super::Shared;
use super::handler::Handler;
use super::phase::Phase;
use super::pump::{DEEPER_MAX, Work};
use crate::model::outcome::Done;
use crate::store::work::WORK_MAX;

/// From so many slots on there are two teams.
const TWO_TEAMS: usize = 16;
/// A handler whose first stretch took longer than this begins on a task of its own the next time.
const QUICK: Duration = Duration::from_micros(100);

/// The slots of one team.
struct Team {
    size: usize,
    free: usize,
    done: Vec<Done>,
    /// Attempts that wait for something; they end with the team.
    attempts: JoinSet<Option<Done>>,
}

impl Team {
    fn new(size: usize) -> Team {
        Team { size, free: size, done: Vec::new(), attempts: JoinSet::new() }
    }

    /// A job of this team ended.
    fn note(&mut self, one: Result<Option<Done>, JoinError>) {
        self.free += 1;
        self.done.extend(one.ok().flatten());
    }
}

impl Shared {
    pub(super) async fn teams(self: Arc<Self>) {
        let count = if self.concurrency >= TWO_TEAMS { 2 } else { 1 };
        let mut teams = JoinSet::new();
        for number in 0..count {
            let size = (self.concurrency + number) / count;
            teams.spawn(self.clone().serve(Team::new(size)));
        }
        while teams.join_next().await.is_some() {}
    }

    async fn serve(self: Arc<Self>, mut team: Team) {
        // Whether there may be something to claim.
        let (mut look, mut deeper) = (true, 0u32);
        loop {
            while let Some(one) = team.attempts.try_join_next() {
                team.note(one);
            }
            let claiming = self.phase.get() == Phase::Running;
            let look_now = claiming && (look || !team.done.is_empty());
            let want = if look_now { team.free.min(WORK_MAX) } else { 0 };
            if want > 0 || !team.done.is_empty() {
                let (got, more) = self.exchange(&mut team.done, want).await;
                if want > 0 {
                    deeper = if more && got.is_empty() { deeper + 1 } else { 0 };
                    look = got.len() == want || (more && deeper <= DEEPER_MAX);
                }
                if want > 0 && got.len() == want {
                    // There may be more than this team can take.
                    self.wake.notify_one();
                }
                for work in got {
                    self.begin(&mut team, work).await;
                }
                if !team.done.is_empty() || (look && team.free > 0) {
                    // A store in the process answers at once: others must run too.
                    tokio::task::yield_now().await;
                    continue;
                }
            } else if self.phase.get() >= Phase::Draining && team.free == team.size {
                return;
            }
            tokio::select! {
                biased;
                Some(one) = team.attempts.join_next() => {
                    team.note(one);
                    // Attempts that finish at the same time go out together.
                    tokio::task::yield_now().await;
                }
                () = self.wake.notified(), if claiming && team.free > 0 => look = true,
                () = self.phase.reached(Phase::Draining), if self.phase.get() < Phase::Draining => {}
                () = self.poll() => look = true,
            }
        }
    }

    /// Starts one attempt. An attempt that ends at once is done right here; one that waits goes on
    /// by itself.
    async fn begin(self: &Arc<Self>, team: &mut Team, work: Work) {
        let kind = work.0.job.kind.clone();
        let quick = self.handlers.get(&kind).is_none_or(Handler::is_quick);
        let shared = self.clone();
        let mut attempt = Box::pin(async move {
            let (claimed, cx) = work;
            let mut run = pin!(shared.run(claimed, cx));
            let clock = shared.jobs.clock();
            let began = clock.monotonic();
            let first = once(run.as_mut()).await;
            if let Some(handler) = shared.handlers.get(&kind) {
                handler.set_quick(clock.monotonic().saturating_sub(began) < QUICK);
            }
            match first {
                Poll::Ready(one) => one,
                Poll::Pending => run.await,
            }
        });
        if quick && let Poll::Ready(one) = once(attempt.as_mut()).await {
            team.done.extend(one);
            return;
        }
        team.free -= 1;
        team.attempts.spawn(attempt);
    }
}

/// Polls it once.
async fn once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}
