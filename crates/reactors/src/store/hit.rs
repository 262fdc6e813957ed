//! A reactor is struck: by a character, or by an item that lies on it. The decision is the state machine's; here
//! it becomes one step with everything that is told. Of N that strike the last blow, one destroys.

use kernel::{Effects as _, Pending, Step, Timer};
use uuid::Uuid;

use super::{Reactors, Seen, TRIES, state_timer};
use crate::error::ReactorError;
use crate::events;
use crate::machine::{self, By, Next};
use crate::model::{moved, rfc3339};
use crate::store::Drop;

/// Who strikes, with what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hit {
    /// Which character.
    pub character_id: u32,
    /// Which skill; 0 is a plain attack.
    pub skill_id: u32,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Struck {
    /// It stands, in this state.
    Hit {
        /// The new state.
        state: i8,
    },
    /// It is gone.
    Destroyed {
        /// The state that was reported.
        state: i8,
    },
    /// The hit fits nothing here, and the rules are strict.
    NoMatch {
        /// The state, as before.
        state: i8,
    },
}

/// What strikes.
pub(super) enum Blow<'a> {
    Character(Hit),
    Item { drop: &'a Drop, timer: &'a Timer },
}

impl Reactors {
    /// Strikes a reactor.
    pub async fn hit(&self, tenant: Uuid, id: u32, hit: Hit) -> Result<Struck, ReactorError> {
        self.strike(tenant, id, &Blow::Character(hit), None).await
    }

    /// The same as the answer to a command.
    pub async fn hit_for(
        &self,
        tenant: Uuid,
        id: u32,
        hit: Hit,
        command: Option<&Pending>,
    ) -> Result<Struck, ReactorError> {
        self.strike(tenant, id, &Blow::Character(hit), command).await
    }

    pub(super) async fn strike(
        &self,
        tenant: Uuid,
        id: u32,
        blow: &Blow<'_>,
        command: Option<&Pending>,
    ) -> Result<Struck, ReactorError> {
        self.ensure(tenant).await?;
        let mut before: Option<String> = None;
        for _ in 0..TRIES {
            let seen = self.load(tenant, id).await?.ok_or(ReactorError::NotFound(id))?;
            let state = seen.reactor.state;
            // Nothing about the reactor has changed: then it was the timer or the command that is not ours
            // any more.
            if before.as_ref() == Some(&seen.text) {
                self.still_pending(command).await?;
                if matches!(blow, Blow::Item { .. }) {
                    return Err(ReactorError::Answered);
                }
            }
            let by = match blow {
                Blow::Character(hit) => By::Skill(hit.skill_id),
                Blow::Item { drop, .. } if machine::takes_drop(&seen.reactor, drop) => {
                    By::Item { item_id: drop.item_id, quantity: drop.quantity }
                }
                Blow::Item { .. } => return Ok(Struck::NoMatch { state }),
            };
            let next = machine::hit(&seen.reactor.data, state, by, self.rules);
            let (step, struck) = match next {
                Next::Nothing => return Ok(Struck::NoMatch { state }),
                Next::Stands { state, trigger } => {
                    (self.stands(&seen, blow, state, trigger)?, Struck::Hit { state })
                }
                Next::Gone { state } => {
                    (self.gone(&seen, blow, state), Struck::Destroyed { state })
                }
            };
            let step = match blow {
                Blow::Character(_) => step,
                Blow::Item { timer, .. } => timer.finish(step),
            };
            if self.run(step, command).await? {
                self.wake.notify_one();
                return Ok(struck);
            }
            before = Some(seen.text);
        }
        Err(self.contended(tenant, id))
    }

    /// What is told before anything has changed.
    fn struck(&self, step: Step, seen: &Seen, blow: &Blow<'_>) -> Step {
        let (reactor, now_ms) = (&seen.reactor, self.clock.now_ms());
        let stream = self.events(reactor.tenant.id);
        let step = match blow {
            Blow::Character(_) => step,
            Blow::Item { drop, .. } => {
                step.event(&stream, &events::consume(reactor, drop.drop_id, now_ms))
            }
        };
        let Hit { character_id, skill_id } = blow.hit();
        step.event(&stream, &events::script_hit(reactor, character_id, skill_id, now_ms))
    }

    fn stands(
        &self,
        seen: &Seen,
        blow: &Blow<'_>,
        state: i8,
        trigger: bool,
    ) -> Result<Step, ReactorError> {
        let (id, tenant) = (seen.reactor.id, seen.reactor.tenant.id);
        let (mut step, reactor) = self.moving(seen, state)?;
        let (timers, member) = (self.due(tenant), state_timer(id));
        step = match reactor.data.timeout(state) {
            Some((wait, _)) => {
                let due_ms = self.clock.now_ms() + u64::from(wait);
                step.ops(timers.arm(&member, due_ms, &state.to_string()))
            }
            None => step.ops(timers.cancel(&member)),
        };
        step = self.struck(step, seen, blow);
        let (now_ms, stream) = (self.clock.now_ms(), self.events(tenant));
        if trigger {
            let told = events::script_trigger(&reactor, blow.hit().character_id, now_ms);
            step = step.event(&stream, &told);
        }
        Ok(step.event(&stream, &events::hit(&reactor, now_ms)))
    }

    fn gone(&self, seen: &Seen, blow: &Blow<'_>, state: i8) -> Step {
        let mut reactor = seen.reactor.clone();
        reactor.state = state;
        let (now_ms, stream) = (self.clock.now_ms(), self.events(reactor.tenant.id));
        self.struck(self.removal(seen, true), seen, blow)
            .event(&stream, &events::script_trigger(&reactor, blow.hit().character_id, now_ms))
            .event(&stream, &events::destroyed(&reactor, now_ms))
    }

    /// The step that writes another state, and the reactor as it is then.
    pub(super) fn moving(
        &self,
        seen: &Seen,
        state: i8,
    ) -> Result<(Step, crate::Reactor), ReactorError> {
        let key = self.reactor_key(seen.reactor.tenant.id, seen.reactor.id);
        let time = rfc3339(self.clock.now_ms());
        let text = moved(&seen.text, state, &time).map_err(|error| kernel::Fault::Corrupt {
            key: key.clone().into(),
            detail: error.to_string(),
        })?;
        let mut reactor = seen.reactor.clone();
        reactor.state = state;
        reactor.update_time = time;
        Ok((Step::new(key).expect(&seen.text).write(text), reactor))
    }
}

impl Blow<'_> {
    fn hit(&self) -> Hit {
        match self {
            Blow::Character(hit) => *hit,
            Blow::Item { drop, .. } => Hit { character_id: drop.owner_id, skill_id: 0 },
        }
    }
}
