//! The verbs. Each change of a reactor is a rule, a pure function of the stored text, that the kernel's
//! writer applies as one step: of several that try the same, one wins, and the others are decided on what
//! it left. A step never recreates a reactor that is gone.

mod change;
mod create;
mod drops;
mod field_wide;
mod hit;
mod read;
mod timers;
mod typed_keys;
mod unreadable;

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::Layout;
use kernel::{Clock, Deadline, Decision, Effects as _, Fault, ScopeSet, Store, Writer};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::error::ReactorError;
use crate::events;
use crate::machine::Rules;
use crate::template::Templates;
use change::{Context, StoredReactor};
use typed_keys::TypedKeys;

pub use create::{Created, New};
pub use drops::Drop;
pub use hit::{Hit, Struck};
pub use read::Listing;
pub(crate) use unreadable::decode;

/// How long one call of the store may take, and one change with all its tries.
const PATIENCE: Duration = Duration::from_secs(2);
/// After so many milliseconds an item that lies in the right place is taken.
const ITEM_DELAY_MS: u64 = 5_000;

/// All reactors of a store. Share it: it has the connection, the catalogue and the rules.
pub struct Reactors {
    store: Arc<dyn Store>,
    writer: Writer,
    clock: Arc<dyn Clock>,
    keys: TypedKeys,
    scopes: ScopeSet,
    templates: Arc<Templates>,
    rules: Rules,
    item_delay_ms: u64,
    wake: Arc<Notify>,
}

impl Reactors {
    /// With this catalogue and upstream's rules.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        layout: Layout,
        templates: Arc<Templates>,
    ) -> Self {
        let keys = TypedKeys::new(layout);
        Reactors {
            writer: Writer::new(Arc::clone(&store)),
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
        match self.remove(tenant, id, true).await {
            Err(ReactorError::Fault(Fault::Corrupt { .. })) => {
                self.remove_unreadable(tenant, id).await
            }
            done => done,
        }
    }

    /// Takes a reactor away; only the caller that did so tells of it and sets the cooldown.
    async fn remove(&self, tenant: Uuid, id: u32, cools: bool) -> Result<(), ReactorError> {
        self.ensure(tenant).await?;
        let rule = move |context: &Context, seen: &StoredReactor| {
            let told = events::destroyed(&seen.reactor, context.now_ms);
            let step = context.removal(context.step(&seen.reactor, None), &seen.reactor, cools);
            Ok(Decision::Write(step.event(context.keys.events(tenant), &told), ()))
        };
        self.change(tenant, id, rule).await?;
        Ok(())
    }

    /// Makes sure that loops and readers find this tenant's own keys.
    async fn ensure(&self, tenant: Uuid) -> Result<(), Fault> {
        self.scopes.ensure(&*self.store, &*self.clock, &tenant.to_string(), by()).await
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
