//! The players online: `connections:online`, exact for several sockets per player, several servers,
//! and one that dies.
//!
//! Each server counts its own sockets under a lease of fifteen seconds; a server whose lease is
//! over is reaped by any other. A count is written as its value, not as a difference, so that a
//! write may be repeated; one that failed is tried again with the next beat. Readers of the seed
//! see an ordinary set of player ids.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::Key;
use kernel::{Clock, Deadline, Fault, Store, Value, reply};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::keys::Keys;
use crate::scripts;
use crate::store::cmd;

/// How often a lease is renewed and the others are looked at.
pub const ONLINE_BEAT: Duration = Duration::from_secs(5);
/// How long a server that does not renew counts as alive.
pub(crate) const LEASE_MS: u64 = 15_000;
const PATIENCE: Duration = Duration::from_secs(2);

/// The sockets of one player here.
#[derive(Default)]
struct Here {
    sockets: u32,
    /// Whether the store does not know the number yet.
    untold: bool,
    /// One at a time tells the store, so that the newest number is the last.
    telling: Arc<tokio::sync::Mutex<()>>,
}

/// This server's part of who is online.
pub struct Online {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    instance: String,
    inst: Key,
    here: Mutex<HashMap<Uuid, Here>>,
}

/// The change of a player when a socket came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnlineChange {
    /// The first socket anywhere.
    Came,
    /// The last socket anywhere.
    Left,
    /// Online or offline as before.
    Same,
}

impl Online {
    /// A new server with an id of its own; clears away what dead ones left.
    pub async fn start(
        store: Arc<dyn Store>,
        keys: Keys,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Online>, Fault> {
        let instance = Uuid::new_v4().to_string();
        let inst = instance_key(keys, &instance)?;
        let here = Mutex::default();
        let online = Online { store, clock, keys, instance, inst, here };
        online.reap().await?;
        let (set, count, leases) = (keys.online(), keys.online_count(), keys.online_leases());
        let now = online.clock.now_ms().to_string();
        let all: [&[u8]; 3] = [set.as_ref(), count.as_ref(), leases.as_ref()];
        let args: [&[u8]; 1] = [now.as_bytes()];
        online.store.script(&scripts::START, &all, &args, by()).await?;
        Ok(Arc::new(online))
    }

    /// This server's id.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// A socket of the player was opened here. A fault means that the store will hear of it with the next beat.
    pub async fn connect(&self, player: Uuid) -> Result<OnlineChange, Fault> {
        {
            let mut here = self.here.lock();
            let entry = here.entry(player).or_default();
            entry.sockets += 1;
            entry.untold = true;
        }
        self.tell(player).await
    }

    /// A socket of the player was closed here. Once too often changes nothing.
    pub async fn disconnect(&self, player: Uuid) -> Result<OnlineChange, Fault> {
        {
            let mut here = self.here.lock();
            let Some(entry) = here.get_mut(&player).filter(|entry| entry.sockets > 0) else {
                return Ok(OnlineChange::Same);
            };
            entry.sockets -= 1;
            entry.untold = true;
        }
        self.tell(player).await
    }

    /// Tells the store how many sockets the player has here now.
    async fn tell(&self, player: Uuid) -> Result<OnlineChange, Fault> {
        let telling = self.here.lock().get(&player).map(|entry| Arc::clone(&entry.telling));
        let Some(telling) = telling else { return Ok(OnlineChange::Same) };
        let _turn = telling.lock().await;
        // Only now: whoever was before us may have told it already, or somebody changed it since.
        let sockets = match self.here.lock().get_mut(&player) {
            Some(entry) if entry.untold => {
                entry.untold = false;
                entry.sockets
            }
            _ => return Ok(OnlineChange::Same),
        };
        match self.write(player, sockets).await {
            Ok((change, fresh)) => {
                let mut here = self.here.lock();
                if fresh {
                    // Others took us for dead and forgot our sockets: all are told again.
                    for (_, entry) in here.iter_mut().filter(|(other, _)| **other != player) {
                        entry.untold = true;
                    }
                }
                if here.get(&player).is_some_and(|entry| entry.sockets == 0 && !entry.untold) {
                    here.remove(&player);
                }
                Ok(change)
            }
            Err(fault) => {
                if let Some(entry) = self.here.lock().get_mut(&player) {
                    entry.untold = true;
                }
                Err(fault)
            }
        }
    }

    async fn write(&self, player: Uuid, sockets: u32) -> Result<(OnlineChange, bool), Fault> {
        let keys = self.keys;
        let (set, count, leases) = (keys.online(), keys.online_count(), keys.online_leases());
        let all: [&[u8]; 4] = [set.as_ref(), count.as_ref(), self.inst.as_ref(), leases.as_ref()];
        let (player, sockets) = (player.to_string(), sockets.to_string());
        let until = (self.clock.now_ms() + LEASE_MS).to_string();
        let args: [&[u8]; 4] =
            [self.instance.as_bytes(), player.as_bytes(), sockets.as_bytes(), until.as_bytes()];
        let answer = self.store.script(&scripts::SOCKETS, &all, &args, by()).await?;
        let numbers: Option<Vec<i64>> =
            reply::list(&answer).and_then(|list| list.iter().map(reply::int).collect());
        let Some([before, after, fresh]) = numbers.as_deref() else {
            return Err(reply::unexpected(&set, "three numbers", &answer));
        };
        let change = match (*before > 0, *after > 0) {
            (false, true) => OnlineChange::Came,
            (true, false) => OnlineChange::Left,
            _ => OnlineChange::Same,
        };
        Ok((change, *fresh == 1))
    }

    /// Renews the lease, tells what is untold, reaps the dead. Gives the players who went offline by a death.
    pub async fn beat(&self) -> Result<Vec<Uuid>, Fault> {
        let now = self.clock.now_ms();
        if !self.here.lock().is_empty() {
            let leases = self.keys.online_leases();
            let until = (now + LEASE_MS).to_string();
            let renew = cmd(&["ZADD", leases.as_str(), "XX", "CH", &until, &self.instance]);
            let renewed = self.store.call(&renew, by()).await?;
            if reply::int(&renewed) == Some(0) {
                self.doubt_all(&until).await?;
            }
        }
        let untold: Vec<Uuid> = {
            let here = self.here.lock();
            here.iter().filter(|(_, entry)| entry.untold).map(|(player, _)| *player).collect()
        };
        for player in untold {
            self.tell(player).await?;
        }
        self.reap().await
    }

    /// The lease was not there, or is as old as it would be now: in the first case the store forgot our sockets.
    async fn doubt_all(&self, until: &str) -> Result<(), Fault> {
        let leases = self.keys.online_leases();
        let same = cmd(&["ZRANGEBYSCORE", leases.as_str(), until, until]);
        let held = self.store.call(&same, by()).await?;
        if !members(&held).any(|member| member == self.instance) {
            for entry in self.here.lock().values_mut() {
                entry.untold = true;
            }
        }
        Ok(())
    }

    /// Takes back the sockets of every other server whose lease is over. Gives the players who are offline by that.
    pub async fn reap(&self) -> Result<Vec<Uuid>, Fault> {
        let leases = self.keys.online_leases();
        let now = self.clock.now_ms().to_string();
        let over = cmd(&["ZRANGEBYSCORE", leases.as_str(), "-inf", &now]);
        let over = self.store.call(&over, by()).await?;
        let mut offline = Vec::new();
        // A clock that jumped makes our own lease look over; who asks is alive.
        for dead in members(&over).filter(|dead| *dead != self.instance) {
            offline.extend(self.take_back(dead, &now).await?);
        }
        Ok(offline)
    }

    async fn take_back(&self, instance: &str, now: &str) -> Result<Vec<Uuid>, Fault> {
        let keys = self.keys;
        let (set, count, leases) = (keys.online(), keys.online_count(), keys.online_leases());
        let Ok(inst) = keys.online_inst(instance) else {
            // Not a name that a server could have: no hash goes with it.
            self.store.call(&cmd(&["ZREM", leases.as_str(), instance]), by()).await?;
            return Ok(Vec::new());
        };
        let all: [&[u8]; 4] = [set.as_ref(), count.as_ref(), inst.as_ref(), leases.as_ref()];
        let args: [&[u8]; 2] = [instance.as_bytes(), now.as_bytes()];
        let answer = self.store.script(&scripts::REAP, &all, &args, by()).await?;
        Ok(members(&answer).filter_map(|player| player.parse().ok()).collect())
    }

    /// Everybody who is online, on all servers.
    pub async fn players(&self) -> Result<Vec<Uuid>, Fault> {
        let answer =
            self.store.call(&cmd(&["SMEMBERS", self.keys.online().as_str()]), by()).await?;
        let mut players: Vec<Uuid> = members(&answer).filter_map(|id| id.parse().ok()).collect();
        players.sort_unstable();
        Ok(players)
    }

    /// The number of players online.
    pub async fn count(&self) -> Result<u64, Fault> {
        let answer = self.store.call(&cmd(&["SCARD", self.keys.online().as_str()]), by()).await?;
        Ok(reply::int(&answer).and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
    }

    /// Whether the player has a socket anywhere.
    pub async fn is_online(&self, player: Uuid) -> Result<bool, Fault> {
        let ask = cmd(&["SISMEMBER", self.keys.online().as_str(), &player.to_string()]);
        Ok(reply::int(&self.store.call(&ask, by()).await?) == Some(1))
    }

    /// Beats until `stop`, then takes this server's sockets back. `left` hears of players who went offline by a death.
    pub async fn run(&self, stop: CancellationToken, left: impl Fn(Uuid)) {
        while !stop.is_cancelled() {
            match self.beat().await {
                Ok(offline) => offline.into_iter().for_each(&left),
                Err(fault) => {
                    tracing::warn!(%fault, "who is online could not be told; tried again");
                }
            }
            tokio::select! {
                () = self.clock.sleep(ONLINE_BEAT) => {}
                () = stop.cancelled() => {}
            }
        }
        if let Err(fault) = self.leave().await {
            tracing::warn!(%fault, "the others will find out in {} s", LEASE_MS / 1_000);
        }
    }

    /// This server ends: its sockets are gone.
    pub async fn leave(&self) -> Result<(), Fault> {
        self.here.lock().clear();
        // By a time at which our own lease is over too.
        let later = self.clock.now_ms() + 2 * LEASE_MS;
        self.take_back(&self.instance, &later.to_string()).await.map(drop)
    }
}

fn instance_key(keys: Keys, instance: &str) -> Result<Key, Fault> {
    keys.online_inst(instance)
        .map_err(|bad| Fault::Corrupt { key: instance.to_owned(), detail: bad.to_string() })
}

fn members(answer: &Value) -> impl Iterator<Item = &str> {
    reply::list(answer).unwrap_or_default().iter().filter_map(reply::text)
}

fn by() -> Deadline {
    Deadline::after(PATIENCE)
}
