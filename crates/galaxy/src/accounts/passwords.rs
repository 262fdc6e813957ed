//! Passwords: Argon2id on blocking threads, two at once. A hash costs 19 MiB and a tenth of a
//! second. The memory of the two is kept and used again, so that a flood of logins takes no more. A
//! bounded number of logins waits; any further one is told to come back (backpressure).

use crate::error::AccountError;
use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::{Output, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

const AT_ONCE: usize = 2;
/// How many may wait for a place: about two seconds' worth.
const WAITING: usize = 32;
/// A login that waits longer, on a slow machine, is told to come back.
const PATIENCE: Duration = Duration::from_secs(10);
const SHORTEST: usize = 8;
const LONGEST_BYTES: usize = 1_024;
/// In place of a hash where there is no password: no password fits it.
pub(super) const NONE: &str = "none";

/// Hashes and verifies.
pub(super) struct Passwords {
    /// Whoever works or waits holds one.
    queue: Arc<Semaphore>,
    places: Arc<Semaphore>,
    /// Memory of those places that nobody works in.
    memory: Arc<Mutex<Vec<Vec<Block>>>>,
    /// Of a password nobody has: an unknown name costs as much as a wrong password.
    nobody: String,
}

/// A hash as it is stored.
fn spelled(salt: Salt, hash: Output) -> String {
    PasswordHash {
        algorithm: Algorithm::default().ident(),
        version: Some(Version::default().into()),
        params: Params::default().try_into().expect("the defaults can be written"),
        salt: Some(salt),
        hash: Some(hash),
    }
    .to_string()
}

/// Whether it may be a password.
pub(super) fn check(password: &str) -> Result<(), AccountError> {
    let good = password.len() <= LONGEST_BYTES && password.chars().count() >= SHORTEST;
    if good { Ok(()) } else { Err(AccountError::BadPassword) }
}

impl Passwords {
    pub(super) fn new() -> Self {
        // Made up and not computed, so that a start costs no hash: nobody knows what it would be the hash of.
        let nobody = Output::new(&rand::random::<[u8; Params::DEFAULT_OUTPUT_LEN]>());
        Passwords {
            queue: Arc::new(Semaphore::new(AT_ONCE + WAITING)),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            memory: Arc::default(),
            nobody: spelled(Salt::generate(), nobody.expect("as long as every hash is")),
        }
    }

    pub(super) async fn hash(&self, password: &str) -> Result<String, AccountError> {
        let password = password.to_owned();
        self.work(move |memory| {
            let salt = Salt::generate();
            let hash = digest(&Argon2::default(), &password, &salt, memory);
            spelled(salt, hash.expect("the defaults are good ones"))
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
        // A longer one was never accepted, so it is nobody's; not hashed, so that it costs no more than the others.
        let fits = password.len() <= LONGEST_BYTES;
        let password = if fits { password.to_owned() } else { String::new() };
        let same = self.work(move |memory| fits_hash(&password, &hash, memory).unwrap_or(false));
        Ok(same.await? && known && fits)
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Vec<Block>) -> T + Send + 'static,
    ) -> Result<T, AccountError> {
        let queued = Arc::clone(&self.queue).try_acquire_owned().map_err(|_| AccountError::Busy)?;
        let place = tokio::time::timeout(PATIENCE, Arc::clone(&self.places).acquire_owned());
        let place = place.await.map_err(|_| AccountError::Busy)?.expect("it is never closed");
        let kept = Arc::clone(&self.memory);
        let work = move || {
            let _held = (queued, place);
            let mut memory = kept.lock().pop().unwrap_or_default();
            let done = work(&mut memory);
            kept.lock().push(memory);
            done
        };
        Ok(tokio::task::spawn_blocking(work).await.expect("hashing does not panic"))
    }
}

/// Whether it is the password of that hash; `None` when the hash cannot be read.
fn fits_hash(password: &str, hash: &str, memory: &mut Vec<Block>) -> Option<bool> {
    let hash = PasswordHash::new(hash).ok()?;
    let algorithm = Algorithm::try_from(hash.algorithm.as_str()).ok()?;
    let version = hash.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
    let argon2 = Argon2::new(algorithm, version, Params::try_from(&hash).ok()?);
    let computed = digest(&argon2, password, hash.salt.as_ref()?, memory)?;
    // Outputs are compared in constant time.
    Some(computed == hash.hash?)
}

fn digest(
    argon2: &Argon2<'_>,
    password: &str,
    salt: &Salt,
    memory: &mut Vec<Block>,
) -> Option<Output> {
    let params = argon2.params();
    let mut out = [0_u8; Output::MAX_LENGTH];
    let out = out.get_mut(..params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN))?;
    memory.resize(params.block_count(), Block::default());
    argon2.hash_password_into_with_memory(password.as_bytes(), salt, out, memory).ok()?;
    Output::new(out).ok()
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};

    use super::*;

    #[tokio::test]
    async fn hashes_are_those_of_the_library() {
        let passwords = Passwords::new();
        let ours = passwords.hash("long enough").await.unwrap();
        assert!(ours.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{ours}");
        let read = PasswordHash::new(&ours).unwrap();
        Argon2::default().verify_password(b"long enough", &read).unwrap();
        assert!(Argon2::default().verify_password(b"wrong enough", &read).is_err());
        let theirs: PasswordHash = Argon2::default().hash_password(b"long enough").unwrap();
        let theirs = Some(theirs.to_string());
        assert!(passwords.verify("long enough", theirs.clone()).await.unwrap());
        assert!(!passwords.verify("wrong enough", theirs).await.unwrap());
        for bad in ["", "none", "$argon2id$v=19$m=19456,t=2,p=1$", "$scrypt$x"] {
            assert!(!passwords.verify("long enough", Some(bad.to_owned())).await.unwrap(), "{bad}");
        }
    }

    /// Seen: 48 wrong logins at once left 460 MB behind.
    #[tokio::test]
    async fn a_flood_uses_the_memory_of_two_and_is_told_to_come_back() {
        let passwords = Arc::new(Passwords::new());
        let tries = (0..100).map(|_| passwords.verify("long enough", None));
        let all = futures_util::future::join_all(tries).await;
        let busy = all.iter().filter(|one| matches!(one, Err(AccountError::Busy))).count();
        assert_eq!(busy, 100 - AT_ONCE - WAITING);
        assert_eq!(all.iter().filter(|one| matches!(one, Ok(false))).count(), AT_ONCE + WAITING);
        let kept: Vec<usize> = passwords.memory.lock().iter().map(Vec::len).collect();
        assert!(kept.len() <= AT_ONCE, "{kept:?}");
        assert!(kept.iter().all(|blocks| *blocks == Params::default().block_count()), "{kept:?}");
        assert!(!passwords.verify("long enough", None).await.unwrap(), "there is room again");
    }
}
