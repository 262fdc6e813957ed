//! A reactor is struck: by a character, or by an item that lies on it. The decision is the state machine's; here
//! it becomes one step with everything that is told. Of N that strike the last blow, one destroys.

use kernel::{Decision, Effects as _, Pending, Step, Timer, Written};
use uuid::Uuid;

use super::change::{Context, StoredReactor};
use super::{Drop, Reactors, state_timer};
use crate::error::ReactorError;
use crate::events;
use crate::machine::{self, By, Next};
use crate::model::Reactor;

/// A strike of a character.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hit {
    /// The character that strikes.
    pub character_id: u32,
    /// Which skill; 0 is a plain attack.
    pub skill_id: u32,
}

/// The outcome of a hit.
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

/// A hit by a character or by an item.
pub(super) enum Blow {
    Character(Hit),
    Item { drop: Drop, timer: Timer },
}

impl Reactors {
    /// Strikes a reactor.
    pub async fn hit(&self, tenant: Uuid, id: u32, hit: Hit) -> Result<Struck, ReactorError> {
        self.hit_for(tenant, id, hit, None).await
    }

    /// The same as the answer to a command.
    pub async fn hit_for(
        &self,
        tenant: Uuid,
        id: u32,
        hit: Hit,
        command: Option<&Pending>,
    ) -> Result<Struck, ReactorError> {
        self.strike(tenant, id, Blow::Character(hit), command).await
    }

    pub(super) async fn strike(
        &self,
        tenant: Uuid,
        id: u32,
        blow: Blow,
        command: Option<&Pending>,
    ) -> Result<Struck, ReactorError> {
        self.ensure(tenant).await?;
        let command = command.cloned();
        let rule = move |context: &Context, seen: &StoredReactor| {
            context.strike(seen, &blow, command.as_ref())
        };
        match self.change(tenant, id, rule).await? {
            Written::Answer(struck) => {
                if !matches!(struck, Struck::NoMatch { .. }) {
                    self.wake.notify_one();
                }
                Ok(struck)
            }
            // The command, or the timer, is not ours any more.
            Written::Guarded(_) => Err(ReactorError::Answered),
        }
    }
}

/// The rule of a blow.
impl Context {
    fn strike(
        &self,
        seen: &StoredReactor,
        blow: &Blow,
        command: Option<&Pending>,
    ) -> Result<Decision<Struck>, ReactorError> {
        let (reactor, state) = (&seen.reactor, seen.reactor.state);
        let by = match blow {
            Blow::Character(hit) => By::Skill(hit.skill_id),
            Blow::Item { drop, .. } if machine::takes_drop(reactor, drop) => {
                By::Item { item_id: drop.item_id, quantity: drop.quantity }
            }
            Blow::Item { .. } => return Ok(Decision::Leave(Struck::NoMatch { state })),
        };
        let (step, struck) = match machine::hit(&reactor.data, state, by, self.rules) {
            Next::Nothing => return Ok(Decision::Leave(Struck::NoMatch { state })),
            Next::Stands { state, trigger } => {
                let (step, moved) = self.moving(seen, state, command)?;
                (self.stands(step, reactor, &moved, blow, trigger), Struck::Hit { state })
            }
            Next::Gone { state } => {
                let step = self.removal(self.step(reactor, command), reactor, true);
                (self.gone(step, reactor, blow, state), Struck::Destroyed { state })
            }
        };
        let step = match blow {
            Blow::Character(_) => step,
            Blow::Item { timer, .. } => timer.finish(step),
        };
        Ok(Decision::Write(step, struck))
    }

    /// Adds the events that are told before the reactor changes.
    fn struck(&self, step: Step, reactor: &Reactor, blow: &Blow) -> Step {
        let stream = self.keys.events(reactor.tenant.id);
        let step = match blow {
            Blow::Character(_) => step,
            Blow::Item { drop, .. } => {
                step.event(&stream, &events::consume(reactor, drop.drop_id, self.now_ms))
            }
        };
        let Hit { character_id, skill_id } = blow.hit();
        step.event(&stream, &events::script_hit(reactor, character_id, skill_id, self.now_ms))
    }

    /// The reactor stands in another state: its timer, and what is told.
    fn stands(
        &self,
        step: Step,
        before: &Reactor,
        after: &Reactor,
        blow: &Blow,
        trigger: bool,
    ) -> Step {
        let (timers, member) = (self.keys.due(after.tenant.id), state_timer(after.id));
        let step = match after.data.timeout(after.state) {
            Some((wait, _)) => {
                let due_ms = self.now_ms + u64::from(wait);
                step.ops(timers.arm(&member, due_ms, &after.state.to_string()))
            }
            None => step.ops(timers.cancel(&member)),
        };
        let mut step = self.struck(step, before, blow);
        let stream = self.keys.events(after.tenant.id);
        if trigger {
            let told = events::script_trigger(after, blow.hit().character_id, self.now_ms);
            step = step.event(&stream, &told);
        }
        step.event(&stream, &events::hit(after, self.now_ms))
    }

    /// The reactor is gone: what is told, with the state it reports.
    fn gone(&self, step: Step, reactor: &Reactor, blow: &Blow, state: i8) -> Step {
        let last = Reactor { state, ..reactor.clone() };
        let stream = self.keys.events(reactor.tenant.id);
        self.struck(step, reactor, blow)
            .event(&stream, &events::script_trigger(&last, blow.hit().character_id, self.now_ms))
            .event(&stream, &events::destroyed(&last, self.now_ms))
    }
}

impl Blow {
    fn hit(&self) -> Hit {
        match self {
            Blow::Character(hit) => *hit,
            Blow::Item { drop, .. } => Hit { character_id: drop.owner_id, skill_id: 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::keyspace::Layout;

    use super::*;
    use crate::machine::{HitPolicy, Rules};
    use crate::store::typed_keys::TypedKeys;

    const TENANT: &str = r#""tenant":{"id":"11111111-1111-4111-8111-111111111111","region":"GMS","majorVersion":83,"minorVersion":1}"#;

    /// A reactor in state 0 with these reactions.
    fn seen(states: &str) -> StoredReactor {
        let text = format!(
            r#"{{{TENANT},"id":7,"worldId":0,"channelId":1,"mapId":5,"instance":"00000000-0000-0000-0000-000000000000","classification":2001,"name":"box","data":{{"stateInfo":{states}}},"state":0,"eventState":0,"delay":5000,"direction":0,"x":1,"y":2,"updateTime":"2026-02-21T10:11:12.5Z"}}"#
        );
        StoredReactor::read("reactor:7", text.as_bytes()).expect("it is a reactor")
    }

    fn strike(seen: &StoredReactor, hit: HitPolicy, command: Option<&Pending>) -> Decision<Struck> {
        let rules = Rules { hit, ..Rules::default() };
        let context = Context { keys: TypedKeys::new(Layout::Plain), rules, now_ms: 9_000 };
        let blow = Blow::Character(Hit { character_id: 1, skill_id: 0 });
        context.strike(seen, &blow, command).expect("it can be written")
    }

    fn names(step: &Step) -> Vec<&'static str> {
        step.writes().map(kernel::Op::name).collect()
    }

    #[test]
    fn a_last_blow_takes_along_all_that_named_the_reactor() {
        let last = seen(r#"{"0":[{"type":0,"nextState":-1}]}"#);
        let Decision::Write(step, struck) = strike(&last, HitPolicy::Upstream, None) else {
            panic!("it is destroyed")
        };
        assert_eq!(struck, Struck::Destroyed { state: 0 });
        let expected = "DEL SREM SREM SET ZREM HDEL ZREM HDEL RELEASE XADD XADD XADD";
        assert_eq!(names(&step).join(" "), expected);
    }

    #[test]
    fn a_hit_as_the_answer_to_a_command_is_guarded_by_it() {
        let ring = seen(r#"{"0":[{"type":0,"nextState":1}],"1":[{"type":0,"nextState":0}]}"#);
        let command = Pending { stream: "s".into(), group: "g".into(), entry: "1-1".into() };
        let decided = strike(&ring, HitPolicy::Upstream, Some(&command));
        let Decision::Write(step, struck) = decided else { panic!("it stands") };
        assert_eq!(struck, Struck::Hit { state: 1 });
        assert_eq!(step.guards().len(), 2);
        assert_eq!(names(&step).join(" "), "SET XACK XDEL ZREM HDEL XADD XADD");
    }

    #[test]
    fn a_hit_that_fits_nothing_writes_nothing() {
        let gated = seen(r#"{"0":[{"type":5,"activeSkills":[9],"nextState":1}]}"#);
        let decided = strike(&gated, HitPolicy::Strict, None);
        assert!(matches!(decided, Decision::Leave(Struck::NoMatch { state: 0 })));
    }
}
