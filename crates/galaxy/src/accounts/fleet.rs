//! What the store knows of a player: which ships are theirs and which one they fly. The database decides; the store is
//! told at each login, and a ship whose hash is missing is spawned again.
//!
//! Keys: `player:{id}:ships`, `player:{id}:active_ship`, `game:registration_open`. Ships themselves are the engine's:
//! here they are only asked for.

use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::{BadId, Key};
use kernel::{Clock, Cmd, Deadline, Fault, Store, reply};
use uuid::Uuid;

use crate::accounts::{AccountError, Accounts, Player, ShipRow};
use crate::engine::{self, Handle};
use crate::keys::Keys;
use crate::load::cmd;
use crate::orders::{Command, Order, OrderError};
use crate::text;

const PATIENCE: Duration = Duration::from_secs(5);

/// Why it did not work.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The accounts say no.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The engine says no.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

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
    engine: Option<Handle>,
}

impl Fleets {
    /// `engine` is the one in this process, if there is one; orders go to whichever leads.
    pub fn new(
        accounts: Arc<Accounts>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        keys: Keys,
        engine: Option<Handle>,
    ) -> Self {
        Fleets { accounts, store, clock, keys, engine }
    }

    /// The accounts.
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    /// A new player with a first ship in the world; refused while registration is closed.
    pub async fn register(
        &self,
        username: &str,
        password: &str,
    ) -> Result<(Player, Fleet), FleetError> {
        if !self.registration_open().await? {
            return Err(AccountError::RegistrationClosed.into());
        }
        let (player, _) = self.accounts.register(username, password).await?;
        let fleet = self.restore(&player).await?;
        Ok((player, fleet))
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

    /// Tells the store which ships are theirs, asks for those that are missing, and finds the one they fly.
    pub async fn restore(&self, player: &Player) -> Result<Fleet, FleetError> {
        let ships = self.accounts.ships_of(player.id).await?;
        self.tell_ships(player.id, &ships).await?;
        let mut respawned = 0;
        for ship in self.missing(&ships).await? {
            self.spawn(ship).await?;
            respawned += 1;
        }
        let active = self.choose_active(player.id, &ships).await?;
        Ok(Fleet { ships, active, respawned })
    }

    /// One more ship, in the database, in the world and in the player's set.
    pub async fn add_ship(
        &self,
        player: Uuid,
        name: &str,
        ship_class: Option<&str>,
    ) -> Result<ShipRow, FleetError> {
        let ship = self.accounts.add_ship(player, name, ship_class).await?;
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
            Ok(()) | Err(FleetError::Order(OrderError::Missing(_))) => Ok(name),
            Err(error) => Err(error),
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
                Ok(()) | Err(FleetError::Order(OrderError::Missing(_))) => {}
                Err(error) => return Err(error),
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
        let mut step = vec![cmd(&["DEL", key.as_str()])];
        if !ships.is_empty() {
            let mut add = cmd(&["SADD", key.as_str()]);
            for ship in ships {
                add.arg(ship.id.to_string());
            }
            step.push(add);
        }
        let by = Deadline::after(PATIENCE);
        let mut session = self.store.session(key.as_str().as_bytes(), by).await?;
        session.exec(&step, by).await.map(drop)
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
        match self.order(ship.player_id, ship.id, order.clone()).await {
            // Another login was quicker, or the engine here just stopped to lead. Whichever leads now refuses a ship
            // that exists, so it may as well be asked again.
            Err(FleetError::Order(OrderError::Conflict(_))) => {
                let command = self.command(ship.player_id, ship.id, order);
                Ok(engine::send(&*self.store, self.keys, &command).await?)
            }
            outcome => outcome,
        }
    }

    fn command(&self, player: Uuid, ship: Uuid, order: Order) -> Command {
        let (at_ms, player_id) = (self.clock.now_ms(), Some(player.to_string()));
        Command { at_ms, player_id, ship_id: Some(ship), order }
    }

    /// To the engine here when it leads, otherwise by the stream to the one that does.
    async fn order(&self, player: Uuid, ship: Uuid, order: Order) -> Result<(), FleetError> {
        let command = self.command(player, ship, order);
        if let Some(handle) = &self.engine
            && let Some(outcome) = handle.ask(command.clone()).await
        {
            return Ok(outcome.map(drop)?);
        }
        Ok(engine::send(&*self.store, self.keys, &command).await?)
    }

    async fn call(&self, words: &[&str]) -> Result<kernel::Value, Fault> {
        self.store.call(&cmd(words), Deadline::after(PATIENCE)).await
    }
}

/// An id of ours always fits its key; a foreign one would be a fault of who stored it.
fn sure(key: Result<Key, BadId>) -> Result<Key, Fault> {
    key.map_err(|bad| Fault::Corrupt { key: bad.key.to_owned(), detail: bad.to_string() })
}
