//! Unfinished registrations: the account is in the database, and its ship may not be in the store
//! yet. The row is written with the account in one transaction, and removed when the ship is
//! stored.

use sqlx::Row as _;
use uuid::Uuid;

use crate::accounts::{Accounts, Player, read_id};
use crate::error::AccountError;
use crate::store::database::on;

pub(super) const INSERT: &str = "INSERT INTO worldkeep_unfinished (player_id) VALUES ($1::uuid)";

impl Accounts {
    /// The player of this name and password whose registration was cut short, if there is one.
    pub(super) async fn unfinished(
        &self,
        username: &str,
        password: &str,
    ) -> Result<Option<Player>, AccountError> {
        let all = self.all_unfinished().await?;
        if !all.iter().any(|player| player.username == username) {
            return Ok(None);
        }
        match self.login(username, password).await {
            Ok(player) => Ok(Some(player)),
            Err(AccountError::Credentials) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Everybody whose registration was cut short.
    pub(super) async fn all_unfinished(&self) -> Result<Vec<Player>, AccountError> {
        let statement = self.database.sql("SELECT player_id::text AS id FROM worldkeep_unfinished");
        let ids: Vec<String> = on!(self.database, pool => {
            let rows = sqlx::query(statement).fetch_all(pool).await?;
            rows.into_iter().map(|row| row.try_get("id")).collect::<Result<_, _>>()?
        });
        let mut players = Vec::with_capacity(ids.len());
        for id in ids {
            players.extend(self.player(read_id(id)?).await?);
        }
        Ok(players)
    }

    /// The player has all that was promised. Nothing is written for one whose registration was finished before.
    pub(super) async fn finish(&self, player: Uuid) -> Result<(), AccountError> {
        let look = self
            .database
            .sql("SELECT 1 AS one FROM worldkeep_unfinished WHERE player_id = $1::uuid");
        let statement =
            self.database.sql("DELETE FROM worldkeep_unfinished WHERE player_id = $1::uuid");
        let id = player.to_string();
        on!(self.database, pool => {
            if sqlx::query(look).bind(&id).fetch_optional(pool).await?.is_some() {
                sqlx::query(statement).bind(&id).execute(pool).await?;
            }
        });
        Ok(())
    }
}
