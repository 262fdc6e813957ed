//! Players and the ships they own, and how a player proves who they are.
//!
//! Always true: a player's ships, names and limits are decided here, in the database; the store is told afterwards. A
//! password is known only as its hash, and a wrong name takes as long as a wrong password.

use std::sync::Arc;

use jiff::Timestamp;
use kernel::Clock;
use serde::Serialize;
use sqlx::Row as _;
use uuid::Uuid;

use crate::accounts::tokens::{ShortKey, Signer};
use crate::error::AccountError;
use crate::store::database::{self, Database, DatabaseAddress, DatabaseError, on};

/// A player of a row of either database.
macro_rules! player {
    ($row:expr) => {
        Ok::<_, AccountError>(Player {
            id: crate::accounts::read_id($row.try_get("id")?)?,
            username: $row.try_get("username")?,
            is_admin: $row.try_get("is_admin")?,
            created_at: database::read_time($row.try_get("created_at")?)?,
        })
    };
}

mod fleet;
mod logins;
mod passwords;
mod ships;
mod tie;
pub(crate) mod tokens;
mod unfinished;

pub use fleet::{Fleet, Fleets};
pub use ships::ShipRow;

use passwords::Passwords;

/// The most that one page lists.
pub(crate) const PAGE_MOST: u32 = 500;
const KEY_NAME: &str = "jwt_key";

/// A player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Player {
    /// For ever.
    pub id: Uuid,
    /// 3 to 20 of letters, digits and `_`.
    pub username: String,
    /// Whether `/api/admin` is open to the player.
    pub is_admin: bool,
    /// When the account was made.
    pub created_at: Timestamp,
}

/// Which part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlayerPage {
    /// How many; 0 is 50, and no more than [`PAGE_MOST`].
    pub limit: u32,
    /// The cursor of the page before.
    pub after: Option<String>,
}

/// A part of a list, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paged<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// For the next page; `None` when this is the last.
    pub cursor: Option<String>,
}

/// The accounts of one database.
pub struct Accounts {
    database: Database,
    clock: Arc<dyn Clock>,
    signer: Signer,
    passwords: Passwords,
}

impl Accounts {
    /// Opens the accounts. The key for tokens is the one given, or the database's own, made when it has none.
    pub async fn open(
        place: DatabaseAddress,
        clock: Arc<dyn Clock>,
        jwt_key: Option<&str>,
    ) -> Result<Accounts, AccountError> {
        Accounts::over(Database::open(place).await?, clock, jwt_key).await
    }

    /// The accounts of a database that is open.
    pub async fn over(
        database: Database,
        clock: Arc<dyn Clock>,
        jwt_key: Option<&str>,
    ) -> Result<Accounts, AccountError> {
        let signer = match jwt_key {
            Some(key) => Signer::new(key.as_bytes()),
            None => Signer::new(stored_key(&database).await?.as_bytes()),
        };
        let signer = signer.map_err(|ShortKey| AccountError::ShortKey(ShortKey))?;
        Ok(Accounts { database, clock, signer, passwords: Passwords::new() })
    }

    /// The database they are in, for snapshots.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// A new player with a first ship, named after the player. Whether registration is open is the caller's to ask.
    pub async fn register(
        &self,
        username: &str,
        password: &str,
    ) -> Result<(Player, ShipRow), AccountError> {
        self.make(username, password, false).await
    }

    /// The first admin, when there is none yet. A name that a player has already is refused: nobody is raised by it.
    pub async fn first_admin(
        &self,
        username: &str,
        password: &str,
    ) -> Result<Option<Player>, AccountError> {
        let statement = self.database.sql("SELECT count(*) AS admins FROM players WHERE is_admin");
        let admins: i64 = on!(self.database, pool =>
            sqlx::query(statement).fetch_one(pool).await?.try_get("admins")?);
        if admins > 0 {
            return Ok(None);
        }
        self.make(username, password, true).await.map(|(player, _)| Some(player))
    }

    async fn make(
        &self,
        username: &str,
        password: &str,
        is_admin: bool,
    ) -> Result<(Player, ShipRow), AccountError> {
        check_username(username)?;
        passwords::check(password)?;
        let hash = self.passwords.hash(password).await?;
        let player = Player {
            id: Uuid::new_v4(),
            username: username.to_owned(),
            is_admin,
            created_at: self.now(),
        };
        let ship = ShipRow::first(&player);
        let new = [(player, ship)];
        self.insert(&new, &hash).await?;
        let [new] = new;
        Ok(new)
    }

    /// Takes in players with a ship each, all or none. They have no password: only a token lets them in.
    pub async fn adopt(&self, players: &[(Player, ShipRow)]) -> Result<(), AccountError> {
        for (player, _) in players {
            check_username(&player.username)?;
        }
        self.insert(players, passwords::NONE).await
    }

    async fn insert(&self, new: &[(Player, ShipRow)], hash: &str) -> Result<(), AccountError> {
        const ADD: &str = "INSERT INTO players (id, username, password_hash, is_admin, created_at)
             VALUES ($1::uuid, $2, $3, $4, $5::timestamptz)";
        let outcome: Result<(), sqlx::Error> = on!(self.database, pool => async {
            let mut step = pool.begin_with(self.database.begin()).await?;
            for (player, ship) in new {
                sqlx::query(self.database.sql(ADD))
                    .bind(player.id.to_string())
                    .bind(&player.username)
                    .bind(hash)
                    .bind(player.is_admin)
                    .bind(database::time_text(player.created_at))
                    .execute(&mut *step)
                    .await?;
                // A player who is adopted comes with a ship.
                if hash != passwords::NONE {
                    sqlx::query(self.database.sql(unfinished::INSERT))
                        .bind(player.id.to_string())
                        .execute(&mut *step)
                        .await?;
                }
                sqlx::query(self.database.sql(ships::INSERT))
                    .bind(ship.id.to_string())
                    .bind(ship.player_id.to_string())
                    .bind(&ship.name)
                    .bind(&ship.ship_class)
                    .bind(&ship.system_id)
                    .bind(database::time_text(ship.created_at))
                    .execute(&mut *step)
                    .await?;
            }
            step.commit().await
        }.await);
        match outcome {
            Ok(()) => Ok(()),
            Err(error) if DatabaseError::is_taken(&error) => Err(AccountError::UsernameTaken),
            Err(error) => Err(error.into()),
        }
    }

    /// The player with this name and password.
    pub async fn login(&self, username: &str, password: &str) -> Result<Player, AccountError> {
        let found = match check_username(username) {
            Ok(()) => self.find_with_hash(username).await?,
            Err(_) => None,
        };
        let (player, hash) = found.unzip();
        let right = self.passwords.verify(password, hash).await?;
        player.filter(|_| right).ok_or(AccountError::Credentials)
    }

    async fn find_with_hash(&self, name: &str) -> Result<Option<(Player, String)>, AccountError> {
        let statement = self.database.sql(
            "SELECT id::text, username, is_admin, @created_at, password_hash FROM players WHERE username = $1",
        );
        on!(self.database, pool => {
            let row = sqlx::query(statement).bind(name).fetch_optional(pool).await?;
            row.map(|row| {
                let player = player!(row)?;
                Ok((player, row.try_get("password_hash")?))
            })
            .transpose()
        })
    }

    /// One player.
    pub async fn player(&self, id: Uuid) -> Result<Option<Player>, AccountError> {
        let statement = self.database.sql(
            "SELECT id::text, username, is_admin, @created_at FROM players WHERE id = $1::uuid",
        );
        on!(self.database, pool => {
            let row = sqlx::query(statement).bind(id.to_string()).fetch_optional(pool).await?;
            row.map(|row| {
                player!(row)
            })
            .transpose()
        })
    }

    /// Players, oldest account first.
    pub async fn players(&self, page: &PlayerPage) -> Result<Paged<Player>, AccountError> {
        let limit = if page.limit == 0 { 50 } else { page.limit.min(PAGE_MOST) };
        let (after, id) = match &page.after {
            None => ("0001-01-01T00:00:00.000000Z", Uuid::nil().to_string()),
            Some(cursor) => {
                let (after, id) = cursor.split_once('_').ok_or(AccountError::BadCursor)?;
                after.parse::<Timestamp>().map_err(|_| AccountError::BadCursor)?;
                let id: Uuid = id.parse().map_err(|_| AccountError::BadCursor)?;
                (after, id.to_string())
            }
        };
        let statement = self.database.sql(
            "SELECT id::text, username, is_admin, @created_at FROM players
             WHERE (players.created_at, id) > ($1::timestamptz, $2::uuid)
             ORDER BY players.created_at, players.id LIMIT $3",
        );
        let mut items = on!(self.database, pool => {
            let rows = sqlx::query(statement)
                .bind(after)
                .bind(id)
                .bind(i64::from(limit) + 1)
                .fetch_all(pool)
                .await?;
            rows.into_iter()
                .map(|row| {
                    player!(row)
                })
                .collect::<Result<Vec<Player>, AccountError>>()?
        });
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        let last = items.last().filter(|_| more);
        let cursor = last.map(|p| format!("{}_{}", database::time_text(p.created_at), p.id));
        Ok(Paged { items, cursor })
    }

    /// Deletes a player and the rows of their ships, and gives the ships, so that they can leave the world too.
    pub async fn delete_player(&self, id: Uuid) -> Result<Vec<ShipRow>, AccountError> {
        let ships = self.ships_of(id).await?;
        let statement = self.database.sql("DELETE FROM players WHERE id = $1::uuid");
        let gone = on!(self.database, pool =>
            sqlx::query(statement).bind(id.to_string()).execute(pool).await?.rows_affected());
        if gone == 0 { Err(AccountError::NoPlayer) } else { Ok(ships) }
    }

    fn now(&self) -> Timestamp {
        database::at_ms(self.clock.now_ms())
    }
}

fn read_id(id: String) -> Result<Uuid, AccountError> {
    id.parse().map_err(|_| DatabaseError::Corrupt { what: "id", value: id }.into())
}

/// 3 to 20 of letters, digits and `_`.
fn check_username(name: &str) -> Result<(), AccountError> {
    let good = (3..=20).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if good { Ok(()) } else { Err(AccountError::BadUsername) }
}

/// The database's own key. Of two servers that make one at once, both take the first.
async fn stored_key(database: &Database) -> Result<String, AccountError> {
    let made = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
    let put = database.sql(
        "INSERT INTO worldkeep_secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
    );
    let get = database.sql("SELECT value FROM worldkeep_secrets WHERE name = $1");
    on!(database, pool => {
        sqlx::query(put).bind(KEY_NAME).bind(made).execute(pool).await?;
        Ok(sqlx::query(get).bind(KEY_NAME).fetch_one(pool).await?.try_get("value")?)
    })
}
