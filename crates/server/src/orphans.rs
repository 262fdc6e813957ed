//! Leases that a dead server still holds in a store that it had to itself. An embedded directory has one owner at a time, so its new
//! owner knows that no earlier one lives: leases end at the start instead of running out, and timers go on at once.

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::{KeyDef, Layout, Type, own, scan_glob};
use kernel::timers::{TimerKeys, free_all};
use kernel::{Deadline, Fault, Scan, Store};

use crate::modules::{Module, choose};
use crate::settings::Settings;
use crate::wire;

const PATIENCE: Duration = Duration::from_secs(10);
/// Keys per round of the walk.
const ROUND: usize = 1_000;

/// Ends the leases of all servers and frees their timers. Only for a store that nobody else can use now.
pub async fn end_leases(
    store: &Arc<dyn Store>,
    settings: &Settings,
    now_ms: u64,
) -> Result<(), Fault> {
    let layout = settings.server.layout;
    let modules = choose(&settings.server.modules).unwrap_or_default();
    if modules.is_empty() {
        return Ok(());
    }
    end(store, &own::def::servers, layout, &[]).await?;
    end_named(store, layout).await?;
    for module in modules {
        for scope in scopes(module, store, settings, layout).await? {
            let values: Vec<(&str, &str)> = match &scope {
                Some(scope) => vec![("tenant_id", scope), ("ns", scope)],
                None => Vec::new(),
            };
            for def in module.leases {
                end(store, def, layout, &values).await?;
            }
            if let Some((due, data)) = module.timers
                && let (Ok(due), Ok(data)) =
                    (due.render(layout, &values), data.render(layout, &values))
            {
                let keys = TimerKeys::new(due.as_str(), data.as_str());
                free_all(&**store, &keys, now_ms, Deadline::after(PATIENCE)).await?;
            }
        }
    }
    Ok(())
}

/// The scopes of a module's keys; one without a name where it has none.
async fn scopes(
    module: &Module,
    store: &Arc<dyn Store>,
    settings: &Settings,
    layout: Layout,
) -> Result<Vec<Option<String>>, Fault> {
    let streams = module.streams.list(&**store, settings, layout).await?;
    let mut scopes: Vec<Option<String>> = streams.into_iter().map(|(scope, _)| scope).collect();
    scopes.dedup();
    Ok(scopes)
}

/// Ends a lease: a key of its own goes, the members of a sorted set have run out.
async fn end(
    store: &Arc<dyn Store>,
    def: &KeyDef,
    layout: Layout,
    values: &[(&str, &str)],
) -> Result<(), Fault> {
    let Ok(key) = def.render(layout, values) else { return Ok(()) };
    if def.type_ != Type::Zset {
        return wire::call(&**store, &["DEL", key.as_str()]).await.map(drop);
    }
    let members = wire::call(&**store, &["ZRANGE", key.as_str(), "0", "-1"]).await?;
    for member in wire::items(&members).into_iter().filter_map(wire::text) {
        wire::call(&**store, &["ZADD", key.as_str(), "XX", "0", &member]).await?;
    }
    Ok(())
}

/// Ends the leases of loops that must run once.
async fn end_named(store: &Arc<dyn Store>, layout: Layout) -> Result<(), Fault> {
    let Ok(glob) = scan_glob(&own::def::lease, layout, &[]) else { return Ok(()) };
    let mut walk = Scan::open(&**store, PATIENCE).await?.matching(glob);
    while let Some(keys) = walk.next(ROUND).await? {
        for key in keys {
            let mut cmd = wire::cmd(&["DEL"]);
            cmd.arg(key);
            store.call(&cmd, Deadline::after(PATIENCE)).await?;
        }
    }
    Ok(())
}
