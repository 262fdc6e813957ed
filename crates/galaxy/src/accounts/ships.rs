//! The ships a player owns, as the database knows them: which ships exist, not where they are.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::Row as _;
use uuid::Uuid;

use crate::accounts::{Accounts, Player, read_id};
use crate::error::AccountError;
use crate::model::HOME_SYSTEM;
use crate::physics::ShipClass;
use crate::store::database::{self, DatabaseError, on};
use crate::world::orders;

/// The most ships of one player.
pub(crate) const SHIPS_MOST: i64 = 8;

pub(super) const INSERT: &str =
    "INSERT INTO ships (id, player_id, name, ship_class, system_id, created_at)
     VALUES ($1::uuid, $2::uuid, $3, $4, $5, $6::timestamptz)";

/// A ship that somebody owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShipRow {
    /// For ever; also of its hash.
    pub id: Uuid,
    /// The player who owns it.
    pub player_id: Uuid,
    /// Unique among the player's ships.
    pub name: String,
    /// The ship class.
    pub ship_class: String,
    /// The ship's home system.
    pub system_id: String,
    /// When it was built.
    pub created_at: Timestamp,
}

impl ShipRow {
    pub(super) fn first(player: &Player) -> ShipRow {
        ShipRow {
            id: Uuid::new_v4(),
            player_id: player.id,
            name: player.username.clone(),
            ship_class: ShipClass::first().name.to_owned(),
            system_id: HOME_SYSTEM.to_owned(),
            created_at: player.created_at,
        }
    }
}

fn check_name(name: &str) -> Result<&str, AccountError> {
    orders::ship_name(name).map_err(|_| AccountError::BadShipName)
}

impl Accounts {
    /// A player's ships, oldest first.
    pub async fn ships_of(&self, player: Uuid) -> Result<Vec<ShipRow>, AccountError> {
        let statement = self.database.sql(
            "SELECT id::text, name, ship_class, system_id, @created_at FROM ships
             WHERE player_id = $1::uuid ORDER BY ships.created_at, ships.id",
        );
        on!(self.database, pool => {
            let rows = sqlx::query(statement).bind(player.to_string()).fetch_all(pool).await?;
            rows.into_iter()
                .map(|row| {
                    Ok(ShipRow {
                        id: read_id(row.try_get("id")?)?,
                        player_id: player,
                        name: row.try_get("name")?,
                        ship_class: row.try_get("ship_class")?,
                        system_id: row.try_get("system_id")?,
                        created_at: database::read_time(row.try_get("created_at")?)?,
                    })
                })
                .collect()
        })
    }

    /// A player's ship; refused when it is not theirs.
    pub async fn ship_of(&self, player: Uuid, ship: Uuid) -> Result<ShipRow, AccountError> {
        let ships = self.ships_of(player).await?;
        ships.into_iter().find(|row| row.id == ship).ok_or(AccountError::NoShip)
    }

    /// One more ship for a player. Without a class it is the one that everybody begins with.
    pub async fn add_ship(
        &self,
        player: Uuid,
        name: &str,
        ship_class: Option<&str>,
    ) -> Result<ShipRow, AccountError> {
        let class = ship_class.map_or(Some(ShipClass::first()), ShipClass::named);
        let ship = ShipRow {
            id: Uuid::new_v4(),
            player_id: player,
            name: check_name(name)?.to_owned(),
            ship_class: class.ok_or(AccountError::BadShipClass)?.name.to_owned(),
            system_id: HOME_SYSTEM.to_owned(),
            created_at: self.now(),
        };
        // The player's row is locked meanwhile, so that two at once do not both find room for one.
        let lock = self.database.sql("SELECT 1 AS one FROM players WHERE id = $1::uuid FOR UPDATE");
        let count =
            self.database.sql("SELECT count(*) AS ships FROM ships WHERE player_id = $1::uuid");
        let insert = self.database.sql(INSERT);
        on!(self.database, pool => {
            let mut step = pool.begin_with(self.database.begin()).await?;
            let owner = sqlx::query(lock).bind(player.to_string()).fetch_optional(&mut *step).await?;
            owner.ok_or(AccountError::NoPlayer)?;
            let counted = sqlx::query(count).bind(player.to_string()).fetch_one(&mut *step).await?;
            if counted.try_get::<i64, _>("ships")? >= SHIPS_MOST {
                return Err(AccountError::FleetFull);
            }
            sqlx::query(insert)
                .bind(ship.id.to_string())
                .bind(player.to_string())
                .bind(&ship.name)
                .bind(&ship.ship_class)
                .bind(&ship.system_id)
                .bind(database::time_text(ship.created_at))
                .execute(&mut *step)
                .await
                .map_err(name_taken)?;
            step.commit().await?;
        });
        Ok(ship)
    }

    /// Gives a player's ship another name, and gives the name as it is kept.
    pub async fn rename_ship(
        &self,
        player: Uuid,
        ship: Uuid,
        name: &str,
    ) -> Result<String, AccountError> {
        let name = check_name(name)?;
        let statement = self
            .database
            .sql("UPDATE ships SET name = $1 WHERE id = $2::uuid AND player_id = $3::uuid");
        let changed = on!(self.database, pool => sqlx::query(statement)
            .bind(name)
            .bind(ship.to_string())
            .bind(player.to_string())
            .execute(pool)
            .await
            .map_err(name_taken)?
            .rows_affected());
        if changed == 0 { Err(AccountError::NoShip) } else { Ok(name.to_owned()) }
    }

    /// Gives a ship up.
    pub async fn delete_ship(&self, player: Uuid, ship: Uuid) -> Result<(), AccountError> {
        let statement =
            self.database.sql("DELETE FROM ships WHERE id = $1::uuid AND player_id = $2::uuid");
        let gone = on!(self.database, pool => sqlx::query(statement)
            .bind(ship.to_string())
            .bind(player.to_string())
            .execute(pool)
            .await?
            .rows_affected());
        if gone == 0 { Err(AccountError::NoShip) } else { Ok(()) }
    }
}

fn name_taken(error: sqlx::Error) -> AccountError {
    if DatabaseError::is_taken(&error) { AccountError::ShipNameTaken } else { error.into() }
}
