//! The one way a stored monster changes: a rule decides on the monster as it is, its template and the time, and
//! the kernel's writer applies what it decided. Rules are pure, because they may run several times: dice are
//! rolled before.

use std::sync::Arc;

use kernel::{Decision, Pending, Step, Written};
use uuid::Uuid;

use super::{Monsters, Options, TenantKeys};
use crate::error::{MonsterError, Result};
use crate::model::Monster;
use crate::template::Template;

/// The surroundings of a rule beside the monster.
pub(super) struct Context {
    pub(super) keys: Arc<TenantKeys>,
    pub(super) options: Arc<Options>,
    pub(super) now_ms: u64,
}

impl Context {
    /// The time as monsters have it.
    pub(super) fn now(&self) -> i64 {
        i64::try_from(self.now_ms).unwrap_or(i64::MAX)
    }

    /// The time that a damage entry keeps; 0 is none.
    pub(super) fn stamp(&self) -> i64 {
        if self.options.decay { self.now() } else { 0 }
    }

    pub(super) fn template(&self, monster: &Monster) -> Option<Arc<Template>> {
        self.options.templates.get(monster.monster_id)
    }

    pub(super) fn is_boss(&self, monster: &Monster) -> bool {
        self.template(monster).is_some_and(|template| template.boss)
    }
}

impl Monster {
    /// Refuses what is meant for another life.
    pub(super) fn meant(&self, life: Option<u64>) -> Result<()> {
        let fits = life.is_none_or(|life| life.max(1) == self.life);
        if fits { Ok(()) } else { Err(MonsterError::NotFound) }
    }
}

impl Monsters {
    /// Changes one monster by a rule that brings no guard. Refuses what is not there.
    pub(super) async fn alter<T, R>(
        &self,
        tenant: Uuid,
        id: u32,
        answers: Option<&Pending>,
        rule: R,
    ) -> Result<T>
    where
        T: Send + 'static,
        R: FnMut(&Context, Step, &mut Monster) -> Result<Decision<T>> + Send + 'static,
    {
        match self.change(tenant, id, answers, rule).await? {
            Written::Answer(answer) => Ok(answer),
            Written::Guarded(_) => Err(MonsterError::Contended),
        }
    }

    /// The same by a rule that may add guards, which count from 0. As the answer to a command the step
    /// acknowledges it, also where nothing is written; [`MonsterError::Contended`]: another server has.
    pub(super) async fn change<T, R>(
        &self,
        tenant: Uuid,
        id: u32,
        answers: Option<&Pending>,
        mut rule: R,
    ) -> Result<Written<T>>
    where
        T: Send + 'static,
        R: FnMut(&Context, Step, &mut Monster) -> Result<Decision<T>> + Send + 'static,
    {
        let command = answers.cloned();
        let decide = move |context: &Context, step: Step, monster: Option<&mut Monster>| {
            let monster = monster.ok_or(MonsterError::NotFound)?;
            let Some(command) = &command else { return rule(context, step, monster) };
            let step = step.answers(command);
            Ok(match rule(context, step.clone(), monster)? {
                Decision::Leave(answer) => Decision::Write(step, answer),
                decision => decision,
            })
        };
        match (self.decide(tenant, id, decide).await?, answers) {
            (Written::Guarded(0), Some(_)) => Err(MonsterError::Contended),
            (Written::Guarded(guard), Some(_)) => Ok(Written::Guarded(guard - 1)),
            (written, _) => Ok(written),
        }
    }

    /// The same by a rule that also decides where there is no monster.
    pub(super) async fn decide<T, R>(
        &self,
        tenant: Uuid,
        id: u32,
        mut rule: R,
    ) -> Result<Written<T>>
    where
        T: Send + 'static,
        R: FnMut(&Context, Step, Option<&mut Monster>) -> Result<Decision<T>> + Send + 'static,
    {
        let key = self.keys.monster(tenant, id)?;
        let (document, clock) = (key.clone(), Arc::clone(&self.clock));
        let (keys, options) = (self.of(tenant)?, Arc::clone(&self.options));
        let mark = keys.mark(id);
        let mut context = Context { keys, options, now_ms: 0 };
        let decide = move |current: Option<&Monster>| {
            context.now_ms = clock.now_ms();
            let mut monster = current.cloned();
            match rule(&context, Step::new(&document), monster.as_mut()) {
                Ok(decision @ Decision::Write(..)) => (decision.map(Ok), monster),
                Ok(decision) => (decision.map(Ok), None),
                Err(refused) => (Decision::Leave(Err(refused)), None),
            }
        };
        match self.writer.apply(&key, mark, self.by(), decide).await? {
            Written::Answer(answer) => answer.map(Written::Answer),
            Written::Guarded(guard) => Ok(Written::Guarded(guard)),
        }
    }
}
