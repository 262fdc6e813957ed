//! Which servers share a store: a lease each in the sorted set `wk:servers`, renewed while the server lives. The
//! last one to stop can tell that it is the last, which some modules need for their teardown.

use std::sync::Arc;
use std::time::Duration;

use kernel::Fault;
use kernel::keyspace::{Layout, own};

use crate::app::App;
use crate::wire;

const RENEW: Duration = Duration::from_secs(5);
const LEASE_MS: u64 = 15_000;

fn key() -> String {
    own::Keys::new(Layout::Plain).servers().as_str().to_owned()
}

/// Renews this server's lease until the stop. A store that is away is tried again at the next turn.
pub(crate) async fn keep(app: Arc<App>) {
    let mut every = tokio::time::interval(RENEW);
    loop {
        tokio::select! {
            () = app.stopping.cancelled() => return,
            _ = every.tick() => {}
        }
        let now = app.now_ms();
        let until = (now + LEASE_MS).to_string();
        let renewed = wire::call(app.store(), &["ZADD", &key(), &until, &app.server_id]).await;
        if let Err(fault) = renewed {
            tracing::debug!(%fault, "renewing this server's lease");
            continue;
        }
        let _ =
            wire::call(app.store(), &["ZREMRANGEBYSCORE", &key(), "-inf", &now.to_string()]).await;
    }
}

/// Takes this server off the list; `true` when no other is on it. Asked once, at the stop.
pub async fn leave(app: &App) -> Result<bool, Fault> {
    wire::call(app.store(), &["ZREM", &key(), &app.server_id]).await?;
    Ok(others(app).await? == 0)
}

/// How many other servers live.
pub async fn others(app: &App) -> Result<usize, Fault> {
    let from = format!("({}", app.now_ms());
    let reply = wire::call(app.store(), &["ZRANGEBYSCORE", &key(), &from, "+inf"]).await?;
    let all = wire::items(&reply).into_iter().filter_map(wire::text);
    Ok(all.filter(|id| *id != app.server_id).count())
}
