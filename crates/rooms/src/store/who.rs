//! Presence and guessers. Presence says which players (and whether a Master) have an open socket, on whichever server. Each server holds
//! leases in `wk:rooms:<code>:online`; those of a server that died run out, and whoever looks tells it.

use kernel::{Cmd, Deadline, reply};

use super::{PATIENCE, Rooms};
use crate::error::Result;
use crate::scripts::{GUESS, PRESENCE};
use crate::seen::{bad_id, sha};

/// The Master's place among the players' ids, which cannot hold an `@`.
pub const MASTER: &str = "@master";
/// How long a lease lasts without renewal, in milliseconds.
pub const LEASE_MS: u64 = 60_000;

/// A change of somebody's presence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A first socket was opened.
    Came,
    /// The last socket was closed.
    Went,
    /// Leases of servers that died are taken away.
    Sweep,
}

/// Guesses of an address count for so long.
const GUESSES_MS: &str = "60000";

impl Rooms {
    /// Counts one more code of no room for an address. Gives how many all servers counted in this window, and the
    /// milliseconds it lasts still.
    pub async fn guessed(&self, address: &str) -> Result<(u64, u64)> {
        let key = self.keys.guesses(&sha(address)).map_err(bad_id)?;
        let (keys, args) = ([key.as_bytes()], [GUESSES_MS.as_bytes()]);
        let answer = self.store.script(&GUESS, &keys, &args, Deadline::after(PATIENCE)).await?;
        let parts = reply::list(&answer).unwrap_or_default();
        let number = |n: usize| parts.get(n).and_then(reply::int).map_or(0, i64::unsigned_abs);
        Ok((number(0), number(1)))
    }

    /// Notes that somebody came or went on this server; the room is told when that changes anything.
    pub async fn presence(
        &self,
        code: &str,
        server: &str,
        who: &str,
        what: Presence,
    ) -> Result<bool> {
        let (meta, online) =
            (self.keys.meta(code).map_err(bad_id)?, self.keys.online(code).map_err(bad_id)?);
        let word = match what {
            Presence::Came => "on",
            Presence::Went => "off",
            Presence::Sweep => "sweep",
        };
        let now_ms = self.clock.now_ms();
        let (now, until) = (now_ms.to_string(), (now_ms + LEASE_MS).to_string());
        let channel = self.bus(code)?;
        let args = [word, code, server, who, &now, &until, channel.as_str()];
        let keys = [meta.as_bytes(), online.as_bytes()];
        let by = Deadline::after(PATIENCE);
        let answer = self.store.script(&PRESENCE, &keys, &args.map(str::as_bytes), by).await?;
        Ok(reply::text(&answer) == Some("changed"))
    }

    /// Renews the leases of this server in one batch and takes away those that have run out.
    pub async fn renew(&self, server: &str, here: &[(String, Vec<String>)]) -> Result<()> {
        let now_ms = self.clock.now_ms();
        let mut cmds = Vec::with_capacity(here.len() * 2);
        for (code, players) in here {
            let online = self.keys.online(code).map_err(bad_id)?;
            let mut renew = Cmd::new();
            renew.arg("ZADD").arg(&online).arg("XX");
            for player in players {
                renew.arg(now_ms + LEASE_MS).arg(format!("{server}:{player}"));
            }
            let mut dead = Cmd::new();
            if players.is_empty() {
                // The same number of commands for every room.
                renew = Cmd::new();
                renew.arg("ZCARD").arg(&online);
            }
            dead.arg("ZCOUNT").arg(&online).arg("-inf").arg(now_ms);
            cmds.extend([renew, dead]);
        }
        if cmds.is_empty() {
            return Ok(());
        }
        let answers = self.store.pipeline(&cmds, Deadline::after(PATIENCE)).await?;
        for ((code, _), pair) in here.iter().zip(answers.chunks_exact(2)) {
            let dead = pair[1].as_ref().ok().and_then(reply::int).unwrap_or(0);
            if dead > 0 {
                self.presence(code, server, "", Presence::Sweep).await?;
            }
        }
        Ok(())
    }
}
