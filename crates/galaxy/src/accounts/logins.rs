//! Logins and the tokens that stand for them. A token is good for a day. Tokens for sockets that
//! are made from it belong to the same login. Logging out ends all tokens of a login, and a new
//! password ends every other login of the player.
//!
//! Tables: `ended_logins` holds the logins that ended, until their last token would have run out
//! anyway. `logins_since` holds a time per player: older tokens are no good.

use sha2::{Digest as _, Sha256};
use sqlx::Row as _;
use uuid::Uuid;

use super::{Accounts, Player, passwords};
use crate::accounts::tokens::{BadToken, Claims, LIFE_S};
use crate::error::AccountError;
use crate::store::database::{self, on};

impl Accounts {
    /// A token that says who the player is, for a day: a new login.
    pub fn token(&self, player: &Player) -> String {
        self.issue(player, self.clock.now_ms(), Some(Uuid::new_v4()))
    }

    fn issue(&self, player: &Player, at_ms: u64, login: Option<Uuid>) -> String {
        self.signer.issue(&Claims {
            player_id: player.id,
            username: player.username.clone(),
            is_admin: player.is_admin,
            iat: at_ms / 1_000,
            exp: at_ms / 1_000 + LIFE_S,
            iat_ms: Some(at_ms),
            login,
        })
    }

    /// The claims of a token, if it is ours and its day is not over. The login may have ended, and
    /// the player may be gone meanwhile: see [`Accounts::whose`].
    pub fn verify(&self, token: &str) -> Result<Claims, BadToken> {
        self.signer.verify(token, self.clock.now_ms() / 1_000)
    }

    /// The player whose token this is; refused when its login has ended or the account is gone.
    pub async fn whose(&self, token: &str) -> Result<Player, AccountError> {
        self.logged_in(token).await.map(|(player, _)| player)
    }

    async fn logged_in(&self, token: &str) -> Result<(Player, Claims), AccountError> {
        let claims = self.verify(token)?;
        let player = self.standing(&claims, token).await?;
        Ok((player, claims))
    }

    /// The player of a token that was good once, whatever the time is now; refused when its login has ended or the
    /// account is gone.
    pub async fn standing(&self, claims: &Claims, token: &str) -> Result<Player, AccountError> {
        let statement = self.database.sql(
            "SELECT id::text, username, is_admin, @created_at,
                (SELECT since_ms FROM logins_since WHERE player_id = players.id) AS since_ms,
                (SELECT count(*) FROM ended_logins WHERE login = $2) AS ended
             FROM players WHERE id = $1::uuid",
        );
        let login = login_of(claims, token);
        let found: Option<(Player, Option<i64>, i64)> = on!(self.database, pool => {
            let row = sqlx::query(statement)
                .bind(claims.player_id.to_string())
                .bind(login)
                .fetch_optional(pool)
                .await?;
            row.map(|row| {
                let player = player!(row)?;
                Ok::<_, AccountError>((player, row.try_get("since_ms")?, row.try_get("ended")?))
            })
            .transpose()?
        });
        let (player, since_ms, ended) = found.ok_or(AccountError::Token(BadToken::Invalid))?;
        let made_ms = claims.iat_ms.unwrap_or(claims.iat * 1_000);
        let too_old = since_ms.and_then(|ms| u64::try_from(ms).ok()).is_some_and(|ms| made_ms < ms);
        if ended > 0 || too_old {
            return Err(AccountError::Token(BadToken::Ended));
        }
        Ok(player)
    }

    /// A new token for one that is still good, with what is true of the player now; the login stays the same.
    pub async fn refresh(&self, token: &str) -> Result<(Player, String), AccountError> {
        let (player, claims) = self.logged_in(token).await?;
        // Never older than the one it follows: that may be of the millisecond after a new password.
        let at_ms = self.clock.now_ms().max(claims.iat_ms.unwrap_or(0));
        let token = self.issue(&player, at_ms, claims.login);
        Ok((player, token))
    }

    /// Ends the login of a token: it and all that were made of it are no good from now on.
    pub async fn log_out(&self, token: &str) -> Result<Player, AccountError> {
        let (player, claims) = self.logged_in(token).await?;
        let now_s = i64::try_from(self.clock.now_ms() / 1_000).unwrap_or(i64::MAX);
        // Whatever was made of it until now has ended by then.
        let forget_at = now_s.saturating_add(i64::try_from(LIFE_S).unwrap_or(i64::MAX));
        let forget = self.database.sql("DELETE FROM ended_logins WHERE forget_at < $1");
        let end = self.database.sql(
            "INSERT INTO ended_logins (login, forget_at) VALUES ($1, $2) ON CONFLICT (login) DO NOTHING",
        );
        let login = login_of(&claims, token);
        on!(self.database, pool => {
            sqlx::query(forget).bind(now_s).execute(pool).await?;
            sqlx::query(end).bind(login).bind(forget_at).execute(pool).await?;
        });
        Ok(player)
    }

    /// Another password, for whoever knows the old one. All logins of the player end; the token that is given back is
    /// the only one that is good.
    pub async fn change_password(
        &self,
        player: &Player,
        old: &str,
        new: &str,
    ) -> Result<String, AccountError> {
        passwords::check(new)?;
        let found = self.find_with_hash(&player.username).await?;
        let (_, stored) = found.ok_or(AccountError::NoPlayer)?;
        if !self.passwords.verify(old, Some(stored.clone())).await? {
            return Err(AccountError::Credentials);
        }
        let hash = self.passwords.hash(new).await?;
        // Tokens of this very millisecond are old too, and the new one is of the next.
        let since_ms = self.clock.now_ms() + 1;
        if !self.replace_password(player.id, &stored, &hash, since_ms).await? {
            return Err(AccountError::Credentials);
        }
        Ok(self.issue(player, since_ms, Some(Uuid::new_v4())))
    }

    /// In one step, if nobody else changed it meanwhile.
    async fn replace_password(
        &self,
        player: Uuid,
        old_hash: &str,
        new_hash: &str,
        since_ms: u64,
    ) -> Result<bool, AccountError> {
        let replace = self.database.sql(
            "UPDATE players SET password_hash = $3 WHERE id = $1::uuid AND password_hash = $2",
        );
        let since = self.database.sql(
            "INSERT INTO logins_since (player_id, since_ms) VALUES ($1::uuid, $2)
             ON CONFLICT (player_id) DO UPDATE SET since_ms = excluded.since_ms",
        );
        let since_ms = i64::try_from(since_ms).unwrap_or(i64::MAX);
        let outcome: Result<bool, sqlx::Error> = on!(self.database, pool => async {
            let mut step = pool.begin_with(self.database.begin()).await?;
            let changed = sqlx::query(replace)
                .bind(player.to_string())
                .bind(old_hash)
                .bind(new_hash)
                .execute(&mut *step)
                .await?
                .rows_affected();
            if changed == 0 {
                return Ok(false);
            }
            sqlx::query(since).bind(player.to_string()).bind(since_ms).execute(&mut *step).await?;
            step.commit().await?;
            Ok(true)
        }.await);
        Ok(outcome?)
    }
}

/// Which login a token belongs to. One that does not say is a login of its own.
fn login_of(claims: &Claims, token: &str) -> String {
    use std::fmt::Write as _;
    match claims.login {
        Some(login) => login.to_string(),
        None => Sha256::digest(token).iter().fold(String::with_capacity(64), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        }),
    }
}
