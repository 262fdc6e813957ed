//! Keys of the monsters (seed 001). All carry the tenant, which is the hash tag in the tagged layout. Own
//! keys are under `wk:monsters:`.

use kernel::keyspace::{At, Belongs, Held, Index, Life, Named};

kernel::keyspace! {
    module = "monsters" by "tenant_id",
    seed = Some("001"),
    about = "Monsters of a map: hp, damage, control, effects, skills, drops.",
    prefixes = &[
        "atlas:monster:", "atlas:monster-map:", "atlas:monster-ids:", "atlas:monster-cooldown:",
        "atlas:drop-timer:", "wk:monsters:",
    ],
    ;

    /// One monster: field, hp and mp, controller, position, damage entries, status effects.
    seed monster(tenant_id: Uuid, unique_id: U32) = "atlas:monster:{tenantId}:{uniqueId}", Json,
        Life::None, decoder = Some(crate::model::check_monster), drop_unreadable = true,
        remedy = Some("worldkeep monsters destroy {unique_id} --tenant {tenant_id}");
    /// Unique ids of the monsters in one field.
    seed map(tenant_id: Uuid, world_id: U8, channel_id: U8, map_id: U32, instance: Uuid)
        = "atlas:monster-map:{tenantId}:{worldId}:{channelId}:{mapId}:{instance}", Set, Life::None,
        index = Some(Index {
            names: "monster", fills: "unique_id", held: Held::Members, named: Named::Live,
            complete: Some(&[
                ("world_id", At::Json("/worldId")), ("channel_id", At::Json("/channelId")),
                ("map_id", At::Json("/mapId")), ("instance", At::Json("/instance")),
            ]),
        });
    /// The last sequential id: 1000000000 to 2000000000, then around again.
    seed ids_next(tenant_id: Uuid) = "atlas:monster-ids:{tenantId}:next", Int, Life::None;
    /// Ids to use again, the last released first.
    seed ids_free(tenant_id: Uuid) = "atlas:monster-ids:{tenantId}:free", List, Life::None,
        index = Some(Index {
            names: "monster", fills: "unique_id", held: Held::Members, named: Named::Free,
            complete: None,
        });
    /// A skill that a monster may not use yet; `monsterId` is the unique id of the instance.
    seed cooldown(tenant_id: Uuid, monster_id: U32, skill_id: U32)
        = "atlas:monster-cooldown:{tenantId}:{monsterId}:{skillId}", String,
        Life::Computed("the skill's cooldown"), drop_endless = true,
        belongs = Some(Belongs { to: "monster", with: &[("unique_id", "monster_id")], drop: true });
    /// When a friendly monster drops next.
    seed drop_timer(tenant_id: Uuid, unique_id: U32) = "atlas:drop-timer:{tenantId}:{uniqueId}",
        Json, Life::None, belongs = Some(Belongs { to: "monster", with: &[], drop: true }),
        decoder = Some(crate::model::check_drop_timer);

    /// Work to come (expiry, ticks, drops, delayed skills, recovery): score = Unix ms at which it is due.
    own due(tenant_id: Uuid) = "wk:monsters:{tenantId}:due", Zset, Life::None;
    /// What each member of `due` means.
    own due_data(tenant_id: Uuid) = "wk:monsters:{tenantId}:due:data", Hash, Life::None;
    /// Characters present in a field, each with how many monsters it controls there.
    own present(tenant_id: Uuid, world_id: U8, channel_id: U8, map_id: U32, instance: Uuid)
        = "wk:monsters:{tenantId}:present:{worldId}:{channelId}:{mapId}:{instance}", Hash,
        Life::None;
    /// Characters present in a field that nobody sees.
    own hidden(tenant_id: Uuid, world_id: U8, channel_id: U8, map_id: U32, instance: Uuid)
        = "wk:monsters:{tenantId}:hidden:{worldId}:{channelId}:{mapId}:{instance}", Set, Life::None;
    /// Puppets in a field: owner to where it stands, `x:y`.
    own puppets(tenant_id: Uuid, world_id: U8, channel_id: U8, map_id: U32, instance: Uuid)
        = "wk:monsters:{tenantId}:puppets:{worldId}:{channelId}:{mapId}:{instance}", Hash,
        Life::None;
    /// A basic attack that a monster may not use yet.
    own attack(tenant_id: Uuid, unique_id: U32, position: U8)
        = "wk:monsters:{tenantId}:attack:{uniqueId}:{position}", String,
        Life::Computed("the attack's cooldown"), drop_endless = true,
        belongs = Some(Belongs { to: "monster", with: &[], drop: true });
    /// How often an id was given out again; without an entry never.
    own lives(tenant_id: Uuid) = "wk:monsters:{tenantId}:lives", Hash, Life::None;
    /// What happened to the tenant's monsters.
    own events(tenant_id: Uuid) = "wk:monsters:{tenantId}:events", Stream, Life::None;
    /// Moves of the tenant's monsters, told in passing: where each is now, and where it was.
    own moves(tenant_id: Uuid) = "wk:monsters:{tenantId}:moves", Channel, Life::None;
    /// What other services ask of the tenant's monsters.
    own commands(tenant_id: Uuid) = "wk:monsters:{tenantId}:commands", Stream, Life::None;
    /// Tenants that have own keys here.
    own scopes() = "wk:monsters:scopes", Set, Life::None;
}
