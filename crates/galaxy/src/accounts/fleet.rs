//! A player in the store: the ships they own and the one they fly. The database decides; the store
//! is told at each login, and a ship whose hash is missing is spawned again.
//!
//! Keys: `player:{id}:ships`, `player:{id}:active_ship`, `game:registration_open`. Ships themselves
//! are the engine's: here they are only asked for.

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::{BadId, Key};
use kernel::{Clock, Cmd, Deadline, Fault, Packed, Store, reply};
use uuid::Uuid;

use crate::accounts::{Accounts, Player, ShipRow};
use crate::engine::Orders;
use crate::error::{AccountError, FleetError};
use crate::keys::Keys;
use crate::model::text;
use crate::store::cmd;
use crate::world::orders::{Command, Order};

const PATIENCE: Duration = Duration::from_secs(5);

/// A player as the game welcomes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleet {
    /// Theirs, oldest first.
    pub ships: Vec<ShipRow>,
    /// The one they fly; `None` for a player without ships.
    pub active: Option<Uuid>,
    /// How many were missing in the world and were asked for again.
    pub respawned: usize,
}

/// Players, their keys in the store, and the engine that flies their ships.
pub struct Fleets {
    accounts: Arc<Accounts>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    orders: Arc<Orders>,
}

impl Fleets {
    /// `orders` go to whichever engine leads.
    pub fn new(
        accounts: Arc<Accounts>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        keys: Keys,
        orders: Arc<Orders>,
    ) -> Self {
        Fleets { accounts, store, clock, keys, orders }
    }

    /// The accounts.
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    /// A new player with a first ship in the world; refused while registration is closed. One that was cut short before
    /// anybody heard of it is completed when it is repeated with the same password.
    pub async fn register(
        &self,
        username: &str,
        password: &str,
    ) -> Result<(Player, Fleet), FleetError> {
        if !self.registration_open().await? {
            return Err(AccountError::RegistrationClosed.into());
        }
        self.orders.check()?;
        let player = match self.accounts.register(username, password).await {
            Ok((player, _)) => player,
            Err(AccountError::UsernameTaken) => {
                let unfinished = self.accounts.unfinished(username, password).await?;
                unfinished.ok_or(AccountError::UsernameTaken)?
            }
            Err(error) => return Err(error.into()),
        };
        let fleet = self.put_in_order(&player, true).await?;
        Ok((player, fleet))
    }

    /// Gives those a ship whose registration was cut short before they had one.
    pub async fn complete(&self) -> Result<usize, FleetError> {
        let unfinished = self.accounts.all_unfinished().await?;
        for player in &unfinished {
            self.put_in_order(player, true).await?;
        }
        Ok(unfinished.len())
    }

    /// Logs in and puts the player's fleet in order.
    pub async fn login(
        &self,
        username: &str,
        password: &str,
    ) -> Result<(Player, Fleet), FleetError> {
        let player = self.accounts.login(username, password).await?;
        let fleet = self.restore(&player).await?;
        Ok((player, fleet))
    }

    /// Tells the store which ships are theirs, asks for those that are missing, and finds the one they fly. Without a world
    /// to be asked, the ships come with a later login: nobody is kept out by that.
    pub async fn restore(&self, player: &Player) -> Result<Fleet, FleetError> {
        self.put_in_order(player, false).await
    }

    /// The same; `whole` when a ship that is missing and cannot be had is a failure.
    async fn put_in_order(&self, player: &Player, whole: bool) -> Result<Fleet, FleetError> {
        let ships = self.ships_of(player.id).await?;
        self.tell_ships(player.id, &ships).await?;
        let (mut respawned, mut lacking) = (0, false);
        for ship in self.missing(&ships).await? {
            match self.spawn(ship).await {
                Ok(()) => respawned += 1,
                Err(error) if !whole && error.is_missing() => lacking = true,
                Err(error) => return Err(error),
            }
        }
        let active = self.choose_active(player.id, &ships).await?;
        if !lacking {
            self.accounts.finish(player.id).await?;
        }
        Ok(Fleet { ships, active, respawned })
    }

    /// A player's ships, oldest first, with the names they have in the world: another service may have given them. The
    /// accounts keep such a name where it may be one, so that a ship that is spawned again has it too.
    pub async fn ships_of(&self, player: Uuid) -> Result<Vec<ShipRow>, FleetError> {
        let mut ships = self.accounts.ships_of(player).await?;
        let mut asks = Vec::new();
        for ship in &ships {
            asks.push(cmd(&["HGET", sure(self.keys.ship(ship.id))?.as_str(), "name"]));
        }
        let answers = self.store.pipeline(&asks, Deadline::after(PATIENCE)).await?;
        for (ship, answer) in ships.iter_mut().zip(answers) {
            let answer = answer?;
            let Some(name) = reply::text(&answer).filter(|name| *name != ship.name) else {
                continue;
            };
            name.clone_into(&mut ship.name);
            match self.accounts.rename_ship(player, ship.id, name).await {
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, ship = %ship.id, "its name is not kept"),
            }
        }
        Ok(ships)
    }

    /// One more ship, in the database, in the world and in the player's set.
    pub async fn add_ship(
        &self,
        player: Uuid,
        name: &str,
        ship_class: Option<&str>,
    ) -> Result<ShipRow, FleetError> {
        self.orders.check()?;
        let ship = match self.accounts.add_ship(player, name, ship_class).await {
            Err(AccountError::ShipNameTaken) => self
                .unspawned(player, name, ship_class)
                .await?
                .ok_or(AccountError::ShipNameTaken)?,
            made => made?,
        };
        self.spawn(&ship).await?;
        let key = sure(self.keys.player_ships(player))?;
        self.call(&["SADD", key.as_str(), &ship.id.to_string()]).await?;
        Ok(ship)
    }

    /// Another name, in the database and in the world.
    pub async fn rename(&self, player: Uuid, ship: Uuid, name: &str) -> Result<String, FleetError> {
        let name = self.accounts.rename_ship(player, ship, name).await?;
        match self.order(player, ship, Order::Rename { name: name.clone() }).await {
            // It will have its new name when it is spawned again.
            Err(error) if !error.is_missing() => Err(error),
            _ => Ok(name),
        }
    }

    /// The ship they fly from now on; only one of theirs.
    pub async fn switch(&self, player: Uuid, ship: Uuid) -> Result<ShipRow, FleetError> {
        let row = self.accounts.ship_of(player, ship).await?;
        let key = sure(self.keys.active_ship(player))?;
        self.call(&["SET", key.as_str(), &ship.to_string()]).await?;
        Ok(row)
    }

    /// The ship they fly.
    pub async fn active(&self, player: Uuid) -> Result<Option<Uuid>, FleetError> {
        let key = sure(self.keys.active_ship(player))?;
        let answer = self.call(&["GET", key.as_str()]).await?;
        Ok(reply::text(&answer).and_then(|id| id.parse().ok()))
    }

    /// Takes a player out of the world and the database; their sockets are closed before. May be repeated.
    pub async fn delete_player(&self, player: Uuid) -> Result<Vec<ShipRow>, FleetError> {
        for ship in self.accounts.ships_of(player).await? {
            match self.order(player, ship.id, Order::Despawn).await {
                Err(error) if !error.is_missing() => return Err(error),
                _ => {}
            }
        }
        for key in [self.keys.player_ships(player), self.keys.active_ship(player)] {
            let key = sure(key)?;
            self.call(&["DEL", key.as_str()]).await?;
        }
        Ok(self.accounts.delete_player(player).await?)
    }

    /// Whether players may register: unless somebody said `false`.
    pub async fn registration_open(&self) -> Result<bool, Fault> {
        let answer = self.call(&["GET", self.keys.registration_open().as_str()]).await?;
        Ok(reply::text(&answer) != Some("false"))
    }

    /// Opens or closes registration; login is never closed.
    pub async fn set_registration(&self, open: bool) -> Result<(), Fault> {
        self.call(&["SET", self.keys.registration_open().as_str(), text::flag(open)])
            .await
            .map(drop)
    }

    async fn tell_ships(&self, player: Uuid, ships: &[ShipRow]) -> Result<(), Fault> {
        let key = sure(self.keys.player_ships(player))?;
        let mut step: Packed = std::iter::once(&cmd(&["DEL", key.as_str()])).collect();
        if !ships.is_empty() {
            let mut add = cmd(&["SADD", key.as_str()]);
            for ship in ships {
                add.arg(ship.id.to_string());
            }
            step.push(&add);
        }
        let by = Deadline::after(PATIENCE);
        let mut session = self.store.session(key.as_str().as_bytes(), by).await?;
        session.queue(&[&step], by).await?;
        session.exec(by).await.map(drop)
    }

    async fn missing<'a>(&self, ships: &'a [ShipRow]) -> Result<Vec<&'a ShipRow>, Fault> {
        let mut asks: Vec<Cmd> = Vec::new();
        for ship in ships {
            asks.push(cmd(&["EXISTS", sure(self.keys.ship(ship.id))?.as_str()]));
        }
        let answers = self.store.pipeline(&asks, Deadline::after(PATIENCE)).await?;
        let mut missing = Vec::new();
        for (ship, answer) in ships.iter().zip(answers) {
            if reply::int(&answer?) == Some(0) {
                missing.push(ship);
            }
        }
        Ok(missing)
    }

    /// The stored choice while it is one of theirs, else the oldest.
    async fn choose_active(
        &self,
        player: Uuid,
        ships: &[ShipRow],
    ) -> Result<Option<Uuid>, FleetError> {
        let Some(first) = ships.first() else { return Ok(None) };
        let key = sure(self.keys.active_ship(player))?;
        let first = first.id.to_string();
        self.call(&["SET", key.as_str(), &first, "NX"]).await?;
        let active = self.active(player).await?;
        if active.is_some_and(|active| ships.iter().any(|ship| ship.id == active)) {
            return Ok(active);
        }
        // It was given up, or is no id at all.
        self.call(&["SET", key.as_str(), &first]).await?;
        Ok(ships.first().map(|ship| ship.id))
    }

    async fn spawn(&self, ship: &ShipRow) -> Result<(), FleetError> {
        let order = Order::Spawn {
            name: ship.name.clone(),
            ship_class: Some(ship.ship_class.clone()),
            station_id: None,
        };
        self.order(ship.player_id, ship.id, order).await
    }

    /// A ship of that name and class that was cut short before it was in the world.
    async fn unspawned(
        &self,
        player: Uuid,
        name: &str,
        ship_class: Option<&str>,
    ) -> Result<Option<ShipRow>, FleetError> {
        let ships = self.accounts.ships_of(player).await?;
        let missing = self.missing(&ships).await?;
        let same = |ship: &&&ShipRow| {
            ship.name == name.trim() && ship_class.is_none_or(|class| class == ship.ship_class)
        };
        Ok(missing.iter().find(same).map(|ship| (*ship).clone()))
    }

    /// To whichever engine leads; back when what it did is stored.
    async fn order(&self, player: Uuid, ship: Uuid, order: Order) -> Result<(), FleetError> {
        let (at_ms, player_id) = (self.clock.now_ms(), Some(player.to_string()));
        let command = Command { at_ms, player_id, ship_id: Some(ship), order };
        Ok(self.orders.give(command).await?)
    }

    async fn call(&self, words: &[&str]) -> Result<kernel::Value, Fault> {
        self.store.call(&cmd(words), Deadline::after(PATIENCE)).await
    }
}

/// An id of ours always fits its key; a foreign one would be a fault of who stored it.
fn sure(key: Result<Key, BadId>) -> Result<Key, Fault> {
    key.map_err(|bad| Fault::Corrupt { key: bad.key.to_owned(), detail: bad.to_string() })
}
