//! Which servers share a store: a lease each in the sorted set `wk:servers`, renewed while the server lives. The
//! last one to stop can tell that it is the last, which some modules need for their teardown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::Fault;
use kernel::keyspace::{Layout, own};

use crate::app::App;
use crate::{wire, worlds};

/// Often enough that a server that goes hears soon of one that lives, and that a store which refuses writes is known
/// within about a second although nobody asks for anything.
const RENEW: Duration = Duration::from_secs(1);
/// Renewals between two looks for leases that ran out.
const PRUNE_EVERY: u64 = 10;
const LEASE_MS: u64 = 15_000;
/// How often a server that goes looks whether the others live.
const LOOK: Duration = Duration::from_millis(250);

fn key() -> String {
    own::Keys::new(Layout::Plain).servers().as_str().to_owned()
}

/// Renews this server's lease until the stop. A store that is away is tried again at the next turn.
pub(crate) async fn keep(app: Arc<App>) {
    let mut every = tokio::time::interval(RENEW);
    for turn in 0_u64.. {
        tokio::select! {
            () = app.stopping.cancelled() => return,
            _ = every.tick() => {}
        }
        let now = app.now_ms();
        let until = (now + LEASE_MS).to_string();
        let started = Instant::now();
        let renewed = wire::call(app.store(), &["ZADD", &key(), &until, &app.server_id]).await;
        app.histories.store.record(started.elapsed());
        if let Err(fault) = renewed {
            tracing::debug!(%fault, "renewing this server's lease");
            continue;
        }
        if turn.is_multiple_of(PRUNE_EVERY) {
            let ended = ["ZREMRANGEBYSCORE", &key(), "-inf", &now.to_string()];
            let _ = wire::call(app.store(), &ended).await;
        }
    }
}

/// Takes this server off the list; `true` when no other is on it. Asked once, at the stop. The lease of another may be that
/// of a server that crashed. Where somebody wants to know for certain, a lease counts once it is renewed, and until then it
/// is waited for, to its end.
pub async fn leave(app: &App) -> Result<bool, Fault> {
    wire::call(app.store(), &["ZREM", &key(), &app.server_id]).await?;
    let known = leases(app).await?;
    let mut left = known.clone();
    while worlds::asks_who_is_last(app) && !left.is_empty() && !any_renewed(&known, &left) {
        app.clock.sleep(LOOK).await;
        left = leases(app).await?;
    }
    Ok(left.is_empty())
}

/// Whether some lease is not as it was before.
fn any_renewed(known: &[(String, String)], now: &[(String, String)]) -> bool {
    now.iter().any(|lease| !known.contains(lease))
}

/// How many other servers live.
pub async fn others(app: &App) -> Result<usize, Fault> {
    Ok(leases(app).await?.len())
}

/// The leases of other servers that still run: id, and until when.
async fn leases(app: &App) -> Result<Vec<(String, String)>, Fault> {
    let from = format!("({}", app.now_ms());
    let words = ["ZRANGEBYSCORE", &key(), &from, "+inf", "WITHSCORES"];
    let mut all = wire::pairs(&wire::call(app.store(), &words).await?);
    all.retain(|(id, _)| *id != app.server_id);
    Ok(all)
}
