//! Argon2id, on threads that may take their time, two at once: a hash costs 20 MB and a tenth of a second.

use std::sync::Arc;
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::Semaphore;

use crate::accounts::AccountError;

const AT_ONCE: usize = 2;
/// Who waits longer is told to come back.
const PATIENCE: Duration = Duration::from_secs(10);
const SHORTEST: usize = 8;
const LONGEST_BYTES: usize = 1_024;
/// In place of a hash where there is no password: no password fits it.
pub(super) const NONE: &str = "none";

/// Hashes and verifies.
pub(super) struct Passwords {
    places: Arc<Semaphore>,
    /// Of a password nobody has: an unknown name costs as much as a wrong password.
    nobody: String,
}

/// Whether it may be a password.
pub(super) fn check(password: &str) -> Result<(), AccountError> {
    let good = password.len() <= LONGEST_BYTES && password.chars().count() >= SHORTEST;
    if good { Ok(()) } else { Err(AccountError::BadPassword) }
}

impl Passwords {
    pub(super) async fn new() -> Result<Self, AccountError> {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut passwords = Passwords { places, nobody: String::new() };
        passwords.nobody = passwords.hash(&format!("{:x}", rand::random::<u128>())).await?;
        Ok(passwords)
    }

    pub(super) async fn hash(&self, password: &str) -> Result<String, AccountError> {
        let password = password.to_owned();
        self.work(move || {
            let hash: PasswordHash = Argon2::default()
                .hash_password(password.as_bytes())
                .expect("the system gives random bytes");
            hash.to_string()
        })
        .await
    }

    /// Whether it is the password of that hash; without a hash it is not, after the same work.
    pub(super) async fn verify(
        &self,
        password: &str,
        hash: Option<String>,
    ) -> Result<bool, AccountError> {
        let hash = hash.filter(|hash| hash != NONE);
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.nobody.clone());
        // A longer one was never accepted, so it is nobody's; cut, so that it costs no more than the others.
        let fits = password.len() <= LONGEST_BYTES;
        let password = password.as_bytes()[..password.len().min(LONGEST_BYTES)].to_vec();
        let same = self.work(move || {
            PasswordHash::new(&hash)
                .is_ok_and(|hash| Argon2::default().verify_password(&password, &hash).is_ok())
        });
        Ok(same.await? && known && fits)
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, AccountError> {
        let place = tokio::time::timeout(PATIENCE, Arc::clone(&self.places).acquire_owned());
        let place = place.await.map_err(|_| AccountError::Busy)?.expect("it is never closed");
        let work = move || {
            let _place = place;
            work()
        };
        Ok(tokio::task::spawn_blocking(work).await.expect("hashing does not panic"))
    }
}
