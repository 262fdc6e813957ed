//! Operators' tokens: `wk_` and 256 random bits, shown once, kept as SHA-256 in the hash `wk:tokens`
//! (field: hash, value: what it may do). The text itself is never stored and never logged.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kernel::Store;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::access::Role;
use crate::caller::Caller;
use crate::reply::{self, Refusal};
use crate::token_scopes::TokenScopes;
use crate::wire;

/// The hash of all tokens.
pub const KEY: &str = "wk:tokens";
/// Every token starts with it, so that a header cannot be mistaken for a JWT or a room's key.
pub const PREFIX: &str = "wk_";
/// Characters of the hash that make a token's id.
const ID_LEN: usize = 12;
/// `wk_` and 43 characters of base64; anything much longer is not looked up.
const MAX_LEN: usize = 128;

/// The rights of a token, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Token {
    /// For people: who or what uses it.
    pub name: String,
    /// The role.
    pub role: Role,
    /// Tenants it is good for. With `tenants` and `namespaces` both absent it is good everywhere; else only for what
    /// they list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<String>>,
    /// Job namespaces it is good for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// Whether it may see payloads and results.
    #[serde(default)]
    pub payloads: bool,
    /// Unix milliseconds.
    pub created_at: u64,
    /// Unix milliseconds; never when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

impl Token {
    /// The reach.
    pub fn scopes(&self) -> TokenScopes {
        TokenScopes::of(self.tenants.as_deref(), self.namespaces.as_deref())
    }
}

/// A token in a list: the stored part and its id, the first characters of its hash.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Listed {
    /// Good for `token rm`.
    pub id: String,
    /// The role.
    #[serde(flatten)]
    pub token: Token,
}

/// The token to make.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// For people, 1 to 64 characters.
    pub name: String,
    /// The role.
    pub role: Role,
    /// Tenants it is good for. With `tenants` and `namespaces` both absent it is good everywhere; else only for what
    /// they list. Nobody gives more than they hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<String>>,
    /// Job namespaces it is good for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// Whether it may see payloads and results.
    #[serde(default)]
    pub payloads: bool,
    /// Days until it ends. When absent it ends with the token that makes it, or never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

/// A new token; the only time its text is seen.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Made {
    /// The text to keep safe.
    pub token: String,
    /// Good for `token rm`.
    pub id: String,
}

/// 256 random bits as text.
pub(crate) fn random_text() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

/// Lower-case hexadecimal SHA-256.
pub(crate) fn hash(text: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Whether two texts are equal, in a time that does not tell where they differ.
pub(crate) fn same(a: &str, b: &str) -> bool {
    hash(a).as_bytes().ct_eq(hash(b).as_bytes()).into()
}

/// The id of a token with this hash.
pub(crate) fn id_of(hash: &str) -> String {
    hash.chars().take(ID_LEN).collect()
}

/// Makes and stores one for `maker`. Refuses names and lists that could not be shown or matched, and whatever goes
/// beyond what the maker holds: role, tenants, namespaces, payloads, and the day its own token ends.
pub async fn make(
    store: &dyn Store,
    now_ms: u64,
    maker: &Caller,
    new: NewToken,
) -> Result<Made, Refusal> {
    let name = new.name.trim().to_owned();
    if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
        return Err(Refusal::new(reply::BAD_FIELD, "name must have 1 to 64 printable characters")
            .field("name"));
    }
    for (field, list) in [("tenants", &new.tenants), ("namespaces", &new.namespaces)] {
        let bad = |entry: &String| entry.is_empty() || entry.len() > 128;
        if list.as_ref().is_some_and(|list| list.is_empty() || list.iter().any(bad)) {
            let message = format!("{field} must be absent or hold names of 1 to 128 bytes");
            return Err(Refusal::new(reply::BAD_FIELD, message).field(field));
        }
    }
    let created_at = now_ms;
    let token = Token {
        name,
        role: new.role,
        tenants: new.tenants,
        namespaces: new.namespaces,
        payloads: new.payloads,
        created_at,
        expires_at: end(maker, new.days.map(|days| created_at + u64::from(days) * 86_400_000))?,
    };
    if let Some(field) = maker.exceeded_by(&token) {
        let message = format!("{field} goes beyond what your own token holds; ask for less");
        return Err(Refusal::new(reply::FORBIDDEN, message).field(field));
    }
    let text = format!("{PREFIX}{}", random_text());
    let hash = hash(&text);
    let json = serde_json::to_string(&token).expect("a token is plain data");
    wire::call(store, &["HSET", KEY, &hash, &json]).await?;
    Ok(Made { id: id_of(&hash), token: text })
}

/// When a new token ends: as asked for, but not after its maker's.
fn end(maker: &Caller, asked: Option<u64>) -> Result<Option<u64>, Refusal> {
    match (asked, maker.expires_at) {
        (Some(asked), Some(own)) if asked > own => Err(Refusal::new(
            reply::FORBIDDEN,
            "days goes beyond the end of your own token; ask for fewer, or leave it out to end with it",
        )
        .field("days")),
        (asked, own) => Ok(asked.or(own)),
    }
}

/// The tokens that `viewer` could hand out, oldest first.
pub async fn list(store: &dyn Store, viewer: &Caller) -> Result<Vec<Listed>, Refusal> {
    let reply = wire::call(store, &["HGETALL", KEY]).await?;
    let mut all: Vec<Listed> = wire::pairs(&reply)
        .into_iter()
        .filter_map(|(hash, json)| {
            let token = serde_json::from_str(&json).ok()?;
            let shown = viewer.exceeded_by(&token).is_none();
            shown.then(|| Listed { id: id_of(&hash), token })
        })
        .collect();
    all.sort_by(|a, b| (a.token.created_at, &a.id).cmp(&(b.token.created_at, &b.id)));
    Ok(all)
}

/// Whether at least one is stored.
pub async fn any(store: &dyn Store) -> Result<bool, Refusal> {
    let reply = wire::call(store, &["EXISTS", KEY]).await?;
    Ok(wire::int(&reply).unwrap_or(0) > 0)
}

/// Removes the one with this id, when `remover` could hand it out; else it is not there for them.
pub async fn remove(store: &dyn Store, remover: &Caller, id: &str) -> Result<(), Refusal> {
    let missing = || Refusal::from(reply::NO_TOKEN);
    if id.len() < ID_LEN || id.len() > 64 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(missing());
    }
    let reply = wire::call(store, &["HGETALL", KEY]).await?;
    let held = |json: &str| match serde_json::from_str::<Token>(json) {
        Ok(token) => remover.exceeded_by(&token).is_none(),
        // Nobody knows what it may do, so only somebody who may do everything takes it away.
        Err(_) => !remover.scopes.is_limited() && remover.payloads,
    };
    let mut all = wire::pairs(&reply).into_iter();
    let found = all.find(|(hash, json)| hash.starts_with(id) && held(json));
    let (field, _) = found.ok_or_else(missing)?;
    let reply = wire::call(store, &["HDEL", KEY, &field]).await?;
    if wire::int(&reply) == Some(1) { Ok(()) } else { Err(missing()) }
}

/// The rights of the token with this hash; `None` when unknown, removed or ended.
pub(crate) async fn by_hash(
    store: &dyn Store,
    now_ms: u64,
    hash: &str,
) -> Result<Option<Token>, Refusal> {
    let reply = wire::call(store, &["HGET", KEY, hash]).await?;
    let Some(json) = wire::text(&reply) else { return Ok(None) };
    let Ok(token) = serde_json::from_str::<Token>(&json) else { return Ok(None) };
    Ok(Some(token).filter(|token| token.expires_at.is_none_or(|end| end > now_ms)))
}

/// Whether a text can be a token at all, before anything is hashed or looked up.
pub(crate) fn plausible(text: &str) -> bool {
    text.starts_with(PREFIX) && text.len() <= MAX_LEN && text.bytes().all(|b| b.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_sha256_in_hexadecimal() {
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn tokens_hold_256_bits_and_differ() {
        let (a, b) = (random_text(), random_text());
        assert_eq!(URL_SAFE_NO_PAD.decode(&a).unwrap().len(), 32);
        assert_ne!(a, b);
        assert!(same(&a, &a) && !same(&a, &b));
    }

    #[test]
    fn only_texts_that_can_be_tokens_are_looked_up() {
        assert!(plausible("wk_abc"));
        assert!(!plausible("eyJhbGciOi"));
        assert!(!plausible(&format!("wk_{}", "a".repeat(200))));
        assert!(!plausible("wk_a b"));
    }
}
