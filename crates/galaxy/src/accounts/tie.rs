//! The tie between a store and its database. Both hold the same name, written when they first meet;
//! a database that meets the store of another is refused, because the accounts of the one do not
//! fit the ships of the other.
//!
//! Key: `wk:galaxy:store` (`id`, and `database` for people: where it was used last).

use std::time::Duration;

use kernel::{Deadline, Fault, Store, Value, reply};
use sqlx::Row as _;
use uuid::Uuid;

use crate::accounts::Accounts;
use crate::error::TieError;
use crate::keys::Keys;
use crate::store::cmd;
use crate::store::database::{Database, DatabaseAddress, on};

const PATIENCE: Duration = Duration::from_secs(5);
const NAME: &str = "store_id";

impl From<sqlx::Error> for TieError {
    fn from(error: sqlx::Error) -> Self {
        TieError::Database(error.into())
    }
}

impl Accounts {
    /// Makes sure that store and database belong together, and gives the name they share. A store that lost its world
    /// is not named anew: whoever ticks it decides what becomes of it.
    pub async fn tie(&self, store: &dyn Store, keys: Keys) -> Result<String, TieError> {
        let here = self.database.place().to_string();
        let stored = text(store, &["HGET", keys.store().as_str(), "id"]).await?;
        let last = text(store, &["HGET", keys.store().as_str(), "database"]).await?;
        let last = last.unwrap_or_else(|| "a place that is not known".to_owned());
        let known = name(&self.database).await?;
        // A database in memory ends with the process, so it fits every store.
        let passing = *self.database.place() == DatabaseAddress::Memory;
        let id = match (known, stored) {
            (Some(known), Some(stored)) if known == stored => known,
            (_, Some(stored)) if passing => stored,
            (Some(_), Some(_)) => return Err(TieError::Foreign { last, here }),
            (None, Some(_)) => return Err(TieError::Elsewhere { last, here }),
            (Some(known), None) => {
                let world = text(store, &["GET", keys.tick().as_str()]).await?.is_some();
                if !world && !self.is_new().await? {
                    return Ok(known);
                }
                known
            }
            // The database first: a name that only the store has would shut everybody out.
            (None, None) => give_name(&self.database).await?,
        };
        store
            .call(&cmd(&["HSETNX", keys.store().as_str(), "id", &id]), Deadline::after(PATIENCE))
            .await?;
        if text(store, &["HGET", keys.store().as_str(), "id"]).await? != Some(id.clone()) {
            // Another server was quicker, with another database.
            return Err(TieError::Elsewhere { last, here });
        }
        if !passing && last != here {
            let note = cmd(&["HSET", keys.store().as_str(), "database", &here]);
            store.call(&note, Deadline::after(PATIENCE)).await?;
        }
        Ok(id)
    }

    /// Whether it has neither players nor snapshots.
    async fn is_new(&self) -> Result<bool, TieError> {
        let statement = self.database.sql(
            "SELECT (SELECT count(*) FROM players) + (SELECT count(*) FROM snapshots) AS rows",
        );
        let rows: i64 = on!(self.database, pool =>
            sqlx::query(statement).fetch_one(pool).await?.try_get("rows")?);
        Ok(rows == 0)
    }
}

async fn text(store: &dyn Store, words: &[&str]) -> Result<Option<String>, Fault> {
    let answer: Value = store.call(&cmd(words), Deadline::after(PATIENCE)).await?;
    Ok(reply::text(&answer).map(str::to_owned))
}

async fn name(database: &Database) -> Result<Option<String>, TieError> {
    let get = database.sql("SELECT value FROM worldkeep_secrets WHERE name = $1");
    Ok(on!(database, pool => {
        let row = sqlx::query(get).bind(NAME).fetch_optional(pool).await?;
        row.map(|row| row.try_get("value")).transpose()?
    }))
}

/// Of two servers that give one at once, both take the first.
async fn give_name(database: &Database) -> Result<String, TieError> {
    let put = database.sql(
        "INSERT INTO worldkeep_secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
    );
    let made = Uuid::new_v4().to_string();
    on!(database, pool => { sqlx::query(put).bind(NAME).bind(&made).execute(pool).await?; });
    Ok(name(database).await?.unwrap_or(made))
}
