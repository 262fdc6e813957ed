//! The keys of a tenant's reactors. All their parts are numbers and UUIDs, so none can be refused.

use field::{Field, Tenant};
use kernel::TimerKeys;
use kernel::keyspace::{Key, Layout};
use uuid::Uuid;

use crate::keys::Keys;
use crate::model::Reactor;

pub(super) const TYPED: &str = "numbers and UUIDs cannot break a key";

/// Builders of keys that give a key, not a result.
#[derive(Clone, Copy)]
pub(super) struct TypedKeys(Keys);

impl TypedKeys {
    pub(super) fn new(layout: Layout) -> Self {
        TypedKeys(Keys::new(layout))
    }

    pub(super) fn layout(self) -> Layout {
        self.0.layout()
    }

    pub(super) fn reactor(self, tenant: Uuid, id: u32) -> Key {
        self.0.reactor(tenant, id).expect(TYPED)
    }

    /// The part of a reactor's key before the id.
    pub(super) fn prefix(self, tenant: Uuid) -> String {
        let key = String::from(self.reactor(tenant, 0));
        key[..key.len() - 1].to_owned()
    }

    pub(super) fn next_id(self, tenant: Uuid) -> Key {
        self.0.next_id(tenant).expect(TYPED)
    }

    pub(super) fn all(self, tenant: Uuid) -> Key {
        self.0.all(tenant).expect(TYPED)
    }

    pub(super) fn map(self, tenant: Uuid, field: Field) -> Key {
        let Field { world_id, channel_id, map_id, instance } = field;
        self.0.map(tenant, world_id, channel_id, map_id, instance).expect(TYPED)
    }

    pub(super) fn cooldown(self, reactor: &Reactor) -> Key {
        let Field { world_id, channel_id, map_id, instance } = reactor.field();
        let Reactor { tenant: Tenant { id: tenant, .. }, classification, x, y, .. } = reactor;
        self.0
            .cooldown(*tenant, world_id, channel_id, map_id, instance, *classification, *x, *y)
            .expect(TYPED)
    }

    pub(super) fn spots(self, tenant: Uuid) -> Key {
        self.0.spots(tenant).expect(TYPED)
    }

    pub(super) fn events(self, tenant: Uuid) -> Key {
        self.0.events(tenant).expect(TYPED)
    }

    pub(super) fn commands(self, tenant: Uuid) -> Key {
        self.0.commands(tenant).expect(TYPED)
    }

    pub(super) fn due(self, tenant: Uuid) -> TimerKeys {
        TimerKeys::new(self.0.due(tenant).expect(TYPED), self.0.due_data(tenant).expect(TYPED))
    }

    pub(super) fn scopes(self) -> Key {
        self.0.scopes()
    }
}
