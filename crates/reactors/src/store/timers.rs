//! The work of the reactors' timers: states that end by themselves, items that are taken. Timers
//! are in the store, so a killed server loses none. The work and the timer's end are one step, so
//! two servers never do one twice.

use kernel::timers::Scopes;
use kernel::{Decision, Effects as _, Fault, Timer, Timers, Verdict, Written};
use uuid::Uuid;

use super::change::{Context, StoredReactor};
use super::hit::{Blow, Struck};
use super::{Drop, Reactors, state_timer};
use crate::error::ReactorError;
use crate::events;

impl Reactors {
    /// Serves the timers of all tenants, until `stop` ends.
    pub async fn serve_timers(&self, stop: impl Future<Output = ()>) {
        let timers = self.timers();
        let waker = timers.waker();
        let wake = async {
            loop {
                self.wake.notified().await;
                waker.notify_one();
            }
        };
        tokio::select! {
            () = timers.serve(|timer| self.fire(timer), stop) => {}
            () = wake => {}
        }
    }

    /// The timers of all tenants, for those who serve them themselves.
    pub fn timers(&self) -> Timers {
        let keys = self.keys;
        let scopes = Scopes::Set(self.scopes.key().to_owned());
        Timers::new(self.store.clone(), self.clock.clone(), scopes, move |scope| {
            Some(keys.due(Uuid::parse_str(scope).ok()?))
        })
    }

    /// Does the work of one timer.
    pub async fn fire(&self, timer: Timer) -> Verdict {
        let parts = timer.member.split_once(':').zip(Uuid::parse_str(&timer.scope).ok());
        let done = match parts {
            Some((("state", id), tenant)) => self.time_out(tenant, id.parse().ok(), &timer).await,
            Some((("item", id), tenant)) => self.take_item(tenant, id.parse().ok(), &timer).await,
            _ => Ok(false),
        };
        match done {
            // Answered: it is not ours any more, so nothing is left to settle; if it is after all, it comes again.
            Ok(true) | Err(ReactorError::Answered) => Verdict::Finished,
            Ok(false) | Err(ReactorError::NotFound(_)) => Verdict::Done,
            Err(ReactorError::Fault(fault @ Fault::Corrupt { .. })) => {
                // Nothing will make it readable: what stands there is the check's to report.
                tracing::warn!(member = timer.member, %fault, "a timer was given up");
                Verdict::Done
            }
            Err(error) => {
                tracing::debug!(member = timer.member, %error, "a timer waits");
                Verdict::Failed
            }
        }
    }

    /// A state ends by itself. It never destroys, whatever comes next. `false`: there was nothing to do.
    async fn time_out(
        &self,
        tenant: Uuid,
        id: Option<u32>,
        timer: &Timer,
    ) -> Result<bool, ReactorError> {
        let (Some(id), Ok(armed)) = (id, timer.payload.parse::<i8>()) else { return Ok(false) };
        debug_assert_eq!(timer.member, state_timer(id));
        let timer = timer.clone();
        let rule =
            move |context: &Context, seen: &StoredReactor| context.time_out(seen, armed, &timer);
        match self.change(tenant, id, rule).await? {
            Written::Answer(ended) => {
                if ended {
                    self.wake.notify_one();
                }
                Ok(ended)
            }
            Written::Guarded(_) => Err(ReactorError::Answered),
        }
    }

    /// An item has lain long enough.
    async fn take_item(
        &self,
        tenant: Uuid,
        id: Option<u32>,
        timer: &Timer,
    ) -> Result<bool, ReactorError> {
        let (Some(id), Ok(drop)) = (id, serde_json::from_str::<Drop>(&timer.payload)) else {
            return Ok(false);
        };
        let blow = Blow::Item { drop, timer: timer.clone() };
        let struck = self.strike(tenant, id, blow, None).await?;
        Ok(!matches!(struck, Struck::NoMatch { .. }))
    }
}

/// The rule of a state that ends by itself; the timer's end is part of the step.
impl Context {
    fn time_out(
        &self,
        seen: &StoredReactor,
        armed: i8,
        timer: &Timer,
    ) -> Result<Decision<bool>, ReactorError> {
        let timeout = seen.reactor.data.timeout(armed).filter(|_| seen.reactor.state == armed);
        let Some((_, next)) = timeout else { return Ok(Decision::Leave(false)) };
        let (step, reactor) = self.moving(seen, next, None)?;
        let stream = self.keys.events(reactor.tenant.id);
        let step = step
            .event(&stream, &events::script_trigger(&reactor, 0, self.now_ms))
            .event(&stream, &events::hit(&reactor, self.now_ms));
        let step = match reactor.data.timeout(next) {
            Some((wait, _)) => timer.rearm(step, self.now_ms + u64::from(wait), &next.to_string()),
            None => timer.finish(step),
        };
        Ok(Decision::Write(step, true))
    }
}
