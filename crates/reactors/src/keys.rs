//! Keys of the reactors (seed 000). Plain keys of a reactor are global, as the seed has them; tagged, all of
//! a tenant's share its slot. Own keys are under `wk:reactors:`.

use kernel::keyspace::{At, Held, Index, Life, Named};

kernel::keyspace! {
    module = "reactors" by "tenant_id",
    seed = Some("000"),
    about = "Breakable, timed, item-triggered objects of a map.",
    prefixes = &["reactor:", "reactors:", "wk:reactors:"],
    ;

    /// The last reactor id issued: 1000000001 to 2000000000, then around again.
    seed next_id(tenant_id: Uuid) = "reactors:next_id", Int, Life::None,
        tagged = Some("reactors:next_id:{tenantId}");
    /// Ids of all reactors; teardown walks it.
    seed all(tenant_id: Uuid) = "reactors:all", Set, Life::None,
        tagged = Some("reactors:all:{tenantId}"),
        index = Some(Index {
            names: "reactor", fills: "id", held: Held::Members, named: Named::Live,
            complete: Some(&[]),
        });
    /// One reactor: tenant, field, classification, game data, state.
    seed reactor(tenant_id: Uuid, id: U32) = "reactor:{id}", Json, Life::None,
        tagged = Some("reactor:{tenantId}:{id}"),
        decoder = Some(|text| crate::store::decode(text).map(drop)), drop_unreadable = true;
    /// Ids of the reactors in one field of a tenant.
    seed map(tenant_id: Uuid, world_id: U8, channel_id: U8, map_id: U32, instance: Uuid)
        = "reactors:map:{tenantId}:{worldId}:{channelId}:{mapId}:{instance}", Set, Life::None,
        index = Some(Index {
            names: "reactor", fills: "id", held: Held::Members, named: Named::Live,
            complete: Some(&[
                ("tenant_id", At::Json("/tenant/id")), ("world_id", At::Json("/worldId")),
                ("channel_id", At::Json("/channelId")), ("map_id", At::Json("/mapId")),
                ("instance", At::Json("/instance")),
            ]),
        });
    /// A spot where a reactor was destroyed: while it lasts, none of that kind appears there.
    seed cooldown(
        tenant_id: Uuid, world_id: U8, channel_id: U8, map_id: U32, instance: Uuid,
        classification: U32, x: I16, y: I16,
    ) = "reactor:cd:{tenantId}:{worldId}:{channelId}:{mapId}:{instance}:{classification}:{x}:{y}",
        String, Life::Computed("the reactor's delay in milliseconds"), drop_endless = true;

    /// State timers and item activations: member = what is due, score = Unix ms at which it is.
    own due(tenant_id: Uuid) = "wk:reactors:{tenantId}:due", Zset, Life::None;
    /// What each member of `due` means.
    own due_data(tenant_id: Uuid) = "wk:reactors:{tenantId}:due:data", Hash, Life::None;
    /// Which reactor holds a spot: field = world, channel, map, instance, classification, x and y.
    own spots(tenant_id: Uuid) = "wk:reactors:{tenantId}:spots", Hash, Life::None,
        index = Some(Index {
            names: "reactor", fills: "id", held: Held::Values, named: Named::Live, complete: None,
        });
    /// What happened to the tenant's reactors.
    own events(tenant_id: Uuid) = "wk:reactors:{tenantId}:events", Stream, Life::None;
    /// What other services ask of the tenant's reactors.
    own commands(tenant_id: Uuid) = "wk:reactors:{tenantId}:commands", Stream, Life::None;
    /// Tenants that have own keys here.
    own scopes() = "wk:reactors:scopes", Set, Life::None;
}
