//! The verbs. Each change is one step of the store, based on the text that was read: of several that try the
//! same, one wins, and the others look again. A step never recreates a reactor that is gone.

mod create;
mod drops;
mod field_wide;
mod hit;
mod read;
mod timers;
mod unreadable;

use std::sync::Arc;
use std::time::Duration;

use field::{Field, Tenant};
use kernel::keyspace::{Key, Layout};
use kernel::{Clock, Deadline, Effects as _, Fault, Pending, ScopeSet, Step, Store, TimerKeys};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::error::ReactorError;
use crate::events;
use crate::keys::Keys;
use crate::machine::Rules;
use crate::model::Reactor;
use crate::template::Templates;

pub use create::{Created, New};
pub use drops::Drop;
pub use hit::{Hit, Struck};
pub use read::Listing;
pub(crate) use unreadable::decode;

/// How long one call of the store may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a step is tried anew when others keep changing the reactor.
const TRIES: u32 = 100;
/// After so many milliseconds an item that lies in the right place is taken.
const ITEM_DELAY_MS: u64 = 5_000;

/// All reactors of a store. Share it: it has the connection, the catalogue and the rules.
pub struct Reactors {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    scopes: ScopeSet,
    templates: Arc<Templates>,
    rules: Rules,
    item_delay_ms: u64,
    wake: Arc<Notify>,
}

/// A reactor as it was read: the text is what a step compares.
struct Seen {
    reactor: Reactor,
    text: String,
}

impl Reactors {
    /// With this catalogue and upstream's rules.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        layout: Layout,
        templates: Arc<Templates>,
    ) -> Self {
        let keys = Keys::new(layout);
        Reactors {
            store,
            clock,
            keys,
            scopes: ScopeSet::new(keys.scopes()),
            templates,
            rules: Rules::default(),
            item_delay_ms: ITEM_DELAY_MS,
            wake: Arc::new(Notify::new()),
        }
    }

    /// With other rules.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// With another wait before an item is taken.
    #[must_use]
    pub fn item_delay_ms(mut self, ms: u64) -> Self {
        self.item_delay_ms = ms;
        self
    }

    /// The templates.
    pub fn templates(&self) -> &Arc<Templates> {
        &self.templates
    }

    /// Takes a reactor away and lets its spot cool down. Refuses what is not there.
    pub async fn destroy(&self, tenant: Uuid, id: u32) -> Result<(), ReactorError> {
        match self.remove(tenant, id, true, None).await {
            Err(ReactorError::Fault(Fault::Corrupt { .. })) => {
                self.remove_unreadable(tenant, id).await
            }
            done => done.map(|_| ()),
        }
    }

    /// Takes a reactor away; only the caller that did so tells of it and sets the cooldown.
    async fn remove(
        &self,
        tenant: Uuid,
        id: u32,
        cools: bool,
        command: Option<&Pending>,
    ) -> Result<Reactor, ReactorError> {
        self.ensure(tenant).await?;
        for _ in 0..TRIES {
            let seen = self.load(tenant, id).await?.ok_or(ReactorError::NotFound(id))?;
            let told = events::destroyed(&seen.reactor, self.clock.now_ms());
            let step = self.removal(&seen, cools).event(self.events(tenant), &told);
            if self.run(step, command).await? {
                return Ok(seen.reactor);
            }
            self.still_pending(command).await?;
        }
        Err(self.contended(tenant, id))
    }

    /// The step that takes a reactor away, without what is told of it.
    fn removal(&self, seen: &Seen, cools: bool) -> Step {
        let Seen { reactor, text } = seen;
        let (tenant, id) = (reactor.tenant.id, reactor.id.to_string());
        let timers = self.due(tenant);
        let delay = if cools { u64::from(reactor.delay) } else { 0 };
        Step::new(self.reactor_key(tenant, reactor.id))
            .expect(text)
            .delete()
            .srem(self.all(tenant), &id)
            .srem(self.map(tenant, reactor.field()), &id)
            .set_for(self.cooldown(reactor), "1", delay)
            .ops(timers.cancel(&state_timer(reactor.id)))
            .ops(timers.cancel(&item_timer(reactor.id)))
            .release(self.spots(tenant), reactor.spot(), &id)
    }

    /// Runs a step; `false`: something it was based on has changed.
    async fn run(&self, step: Step, command: Option<&Pending>) -> Result<bool, ReactorError> {
        let step = match command {
            Some(command) => step.answers(command),
            None => step,
        };
        Ok(self.store.step(&step, by()).await?.is_done())
    }

    /// After a step that found something changed: was it the command, which another server has answered?
    async fn still_pending(&self, command: Option<&Pending>) -> Result<(), ReactorError> {
        let Some(Pending { stream, group, entry }) = command else { return Ok(()) };
        let mut ask = kernel::Cmd::new();
        ask.arg("XPENDING").arg(stream).arg(group).arg(entry).arg(entry).arg(1);
        let answer = self.store.call(&ask, by()).await?;
        match kernel::reply::list(&answer) {
            Some(list) if !list.is_empty() => Ok(()),
            _ => Err(ReactorError::Answered),
        }
    }

    /// Makes sure that loops and readers find this tenant's own keys.
    async fn ensure(&self, tenant: Uuid) -> Result<(), Fault> {
        self.scopes.ensure(&*self.store, &*self.clock, &tenant.to_string(), by()).await
    }

    fn contended(&self, tenant: Uuid, id: u32) -> ReactorError {
        let key = String::from(self.reactor_key(tenant, id));
        Fault::Contended { key, attempts: TRIES }.into()
    }
}

const TYPED: &str = "numbers and UUIDs cannot break a key";

/// The keys. All their parts are typed, so none can be refused.
impl Reactors {
    fn reactor_key(&self, tenant: Uuid, id: u32) -> Key {
        self.keys.reactor(tenant, id).expect(TYPED)
    }

    /// What stands before the id in a reactor's key.
    fn prefix(&self, tenant: Uuid) -> String {
        let key = String::from(self.reactor_key(tenant, 0));
        key[..key.len() - 1].to_owned()
    }

    fn all(&self, tenant: Uuid) -> Key {
        self.keys.all(tenant).expect(TYPED)
    }

    fn map(&self, tenant: Uuid, field: Field) -> Key {
        let Field { world_id, channel_id, map_id, instance } = field;
        self.keys.map(tenant, world_id, channel_id, map_id, instance).expect(TYPED)
    }

    fn cooldown(&self, reactor: &Reactor) -> Key {
        let Field { world_id, channel_id, map_id, instance } = reactor.field();
        let Reactor { tenant: Tenant { id: tenant, .. }, classification, x, y, .. } = reactor;
        self.keys
            .cooldown(*tenant, world_id, channel_id, map_id, instance, *classification, *x, *y)
            .expect(TYPED)
    }

    fn spots(&self, tenant: Uuid) -> Key {
        self.keys.spots(tenant).expect(TYPED)
    }

    fn events(&self, tenant: Uuid) -> Key {
        self.keys.events(tenant).expect(TYPED)
    }

    fn due(&self, tenant: Uuid) -> TimerKeys {
        TimerKeys::new(
            self.keys.due(tenant).expect(TYPED),
            self.keys.due_data(tenant).expect(TYPED),
        )
    }
}

/// A reactor has at most one timer of each kind.
fn state_timer(id: u32) -> String {
    format!("state:{id}")
}

fn item_timer(id: u32) -> String {
    format!("item:{id}")
}

fn by() -> Deadline {
    Deadline::after(PATIENCE)
}
