//! The one way a stored reactor changes: a rule decides on the reactor as it is and on the time, and the
//! kernel's writer applies what it decided. Rules are pure, because they may run several times.

use kernel::{Decision, Effects as _, Fault, Pending, Step, Written};
use uuid::Uuid;

use super::typed_keys::TypedKeys;
use super::{Reactors, by, decode, item_timer, state_timer};
use crate::error::ReactorError;
use crate::machine::Rules;
use crate::model::{Reactor, moved, rfc3339};

/// A reactor as it is stored.
pub(super) struct StoredReactor {
    pub(super) reactor: Reactor,
    pub(super) text: String,
}

impl StoredReactor {
    /// Reads what is stored under a key.
    pub(super) fn read(key: &str, text: &[u8]) -> Result<StoredReactor, Fault> {
        let bad = |detail: String| Fault::Corrupt { key: key.to_owned(), detail };
        let reactor = decode(text).map_err(bad)?;
        Ok(StoredReactor { reactor, text: String::from_utf8_lossy(text).into_owned() })
    }

    /// Whether it is this reactor: plain keys are global, and a value may say that it is another one.
    pub(super) fn is(&self, tenant: Uuid, id: u32) -> bool {
        self.reactor.tenant.id == tenant && self.reactor.id == id
    }
}

/// The inputs of a rule beside the reactor.
pub(super) struct Context {
    pub(super) keys: TypedKeys,
    pub(super) rules: Rules,
    pub(super) now_ms: u64,
}

impl Reactors {
    /// Changes one reactor by a rule. Refuses what is not there.
    pub(super) async fn change<T, R>(
        &self,
        tenant: Uuid,
        id: u32,
        mut rule: R,
    ) -> Result<Written<T>, ReactorError>
    where
        T: Send + 'static,
        R: FnMut(&Context, &StoredReactor) -> Result<Decision<T>, ReactorError> + Send + 'static,
    {
        let key = self.keys.reactor(tenant, id);
        let (name, keys, rules) = (key.clone(), self.keys, self.rules);
        let clock = self.clock.clone();
        let decide = move |current: Option<&[u8]>| {
            let context = Context { keys, rules, now_ms: clock.now_ms() };
            let seen = current.map(|text| StoredReactor::read(name.as_str(), text)).transpose();
            let decided = match seen {
                Ok(Some(seen)) if seen.is(tenant, id) => rule(&context, &seen),
                Ok(_) => Err(ReactorError::NotFound(id)),
                Err(fault) => Err(fault.into()),
            };
            match decided {
                Ok(decision) => decision.map(Ok),
                Err(error) => Decision::Leave(Err(error)),
            }
        };
        match self.writer.write(&key, by(), decide).await? {
            Written::Answer(answer) => answer.map(Written::Answer),
            Written::Guarded(guard) => Ok(Written::Guarded(guard)),
        }
    }
}

impl Context {
    /// A step on this reactor. As the answer to a command, its first guard is that nobody has answered
    /// the command yet.
    pub(super) fn step(&self, reactor: &Reactor, command: Option<&Pending>) -> Step {
        let step = Step::new(self.keys.reactor(reactor.tenant.id, reactor.id));
        match command {
            Some(command) => step.answers(command),
            None => step,
        }
    }

    /// The step that writes another state, and the reactor as it is then.
    pub(super) fn moving(
        &self,
        seen: &StoredReactor,
        state: i8,
        command: Option<&Pending>,
    ) -> Result<(Step, Reactor), ReactorError> {
        let mut reactor = seen.reactor.clone();
        reactor.state = state;
        reactor.update_time = rfc3339(self.now_ms);
        let text = moved(&seen.text, state, &reactor.update_time).map_err(|error| {
            let key = self.keys.reactor(reactor.tenant.id, reactor.id).into();
            Fault::Corrupt { key, detail: error.to_string() }
        })?;
        Ok((self.step(&reactor, command).write(text), reactor))
    }

    /// The writes that take a reactor away, without what is told of it.
    pub(super) fn removal(&self, step: Step, reactor: &Reactor, cools: bool) -> Step {
        let (tenant, id) = (reactor.tenant.id, reactor.id.to_string());
        let timers = self.keys.due(tenant);
        let delay = if cools { u64::from(reactor.delay) } else { 0 };
        step.delete()
            .srem(self.keys.all(tenant), &id)
            .srem(self.keys.map(tenant, reactor.field()), &id)
            .set_for(self.keys.cooldown(reactor), "1", delay)
            .ops(timers.cancel(&state_timer(reactor.id)))
            .ops(timers.cancel(&item_timer(reactor.id)))
            .release(self.keys.spots(tenant), reactor.spot(), &id)
    }
}
