//! A player's token: a JWT signed with HMAC-SHA256, good for a day. Nothing else is signed, and no other algorithm is
//! ever accepted, whatever the token's header says.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use uuid::Uuid;

/// How long a token is good.
pub(crate) const LIFE_S: u64 = 24 * 60 * 60;
/// A socket is given a new one this long before the end of the old.
pub const REFRESH_BEFORE_S: u64 = 60 * 60;
/// Of a key that is given.
const KEY_LEAST: usize = 32;
/// No token of ours is longer.
const LONGEST: usize = 2_048;
/// `{"alg":"HS256","typ":"JWT"}`.
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

/// The claims of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The player.
    #[serde(rename = "sub")]
    pub player_id: Uuid,
    /// Shown to people.
    pub username: String,
    /// Whether `/api/admin` is open to the player.
    pub is_admin: bool,
    /// Unix seconds at which it was made.
    pub iat: u64,
    /// Unix seconds from which on it is no good.
    pub exp: u64,
    /// `iat` in milliseconds; tokens of other programs may lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iat_ms: Option<u64>,
    /// The login it belongs to; a token without one is a login of its own.
    #[serde(default, rename = "sid", skip_serializing_if = "Option::is_none")]
    pub login: Option<Uuid>,
}

/// Why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// Not one of ours.
    #[error("the token is not valid; log in again")]
    Invalid,
    /// It was.
    #[error("the token has expired; log in again")]
    Expired,
    /// By a logout, or by a new password.
    #[error("this login has ended; log in again")]
    Ended,
}

/// A key that is too short to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key for tokens has fewer than 32 bytes; give a longer one, or none to have one made")]
pub struct ShortKey;

#[derive(Deserialize)]
struct Header {
    alg: String,
}

/// Signs and verifies.
#[derive(Clone)]
pub struct Signer {
    mac: Hmac<Sha256>,
}

impl Signer {
    /// With this key.
    pub fn new(key: &[u8]) -> Result<Signer, ShortKey> {
        if key.len() < KEY_LEAST {
            return Err(ShortKey);
        }
        Ok(Signer { mac: Hmac::new_from_slice(key).expect("a key of any length will do") })
    }

    /// The token that says this.
    pub fn issue(&self, claims: &Claims) -> String {
        let claims = serde_json::to_vec(claims).expect("claims are plain values");
        let mut token = format!("{HEADER}.{}", BASE64.encode(claims));
        let signature = self.mac.clone().chain_update(&token).finalize().into_bytes();
        token.push('.');
        BASE64.encode_string(signature, &mut token);
        token
    }

    /// The claims of a token, if it is ours and still good.
    pub fn verify(&self, token: &str, now_s: u64) -> Result<Claims, BadToken> {
        let claims = self.read(token).ok_or(BadToken::Invalid)?;
        if claims.exp <= now_s { Err(BadToken::Expired) } else { Ok(claims) }
    }

    fn read(&self, token: &str) -> Option<Claims> {
        if token.len() > LONGEST {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header: Header = serde_json::from_slice(&BASE64.decode(header).ok()?).ok()?;
        if header.alg != "HS256" {
            return None;
        }
        let signature = BASE64.decode(signature).ok()?;
        self.mac.clone().chain_update(signed).verify_slice(&signature).ok()?;
        serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn claims() -> Claims {
        let player_id = Uuid::from_u128(7);
        let (iat_ms, login) = (Some(100_000), Some(Uuid::from_u128(8)));
        Claims {
            player_id,
            username: "ann".into(),
            is_admin: false,
            iat: 100,
            exp: 200,
            iat_ms,
            login,
        }
    }

    #[test]
    fn a_token_is_good_until_its_end_and_only_under_its_key() {
        let signer = Signer::new(KEY).unwrap();
        let token = signer.issue(&claims());
        assert_eq!(signer.verify(&token, 199), Ok(claims()));
        assert_eq!(signer.verify(&token, 200), Err(BadToken::Expired));
        let other = Signer::new(b"another key, also of 32 bytes or more").unwrap();
        assert_eq!(other.verify(&token, 150), Err(BadToken::Invalid));
        assert!(Signer::new(b"short").is_err());
    }

    #[test]
    fn what_was_changed_or_signed_otherwise_is_refused() {
        let signer = Signer::new(KEY).unwrap();
        let token = signer.issue(&claims());
        let parts: Vec<_> = token.split('.').collect();
        let admin =
            BASE64.encode(serde_json::to_vec(&Claims { is_admin: true, ..claims() }).unwrap());
        let none = BASE64.encode(r#"{"alg":"none","typ":"JWT"}"#);
        for bad in [
            format!("{}.{admin}.{}", parts[0], parts[2]),
            format!("{none}.{}.", parts[1]),
            format!("{none}.{}.{}", parts[1], parts[2]),
            format!("{}.{}", parts[0], parts[1]),
            token[..token.len() - 2].to_owned(),
            format!("{token}x"),
            "x".repeat(100_000),
            String::new(),
            "..".to_owned(),
        ] {
            assert_eq!(signer.verify(&bad, 150), Err(BadToken::Invalid), "{bad:.80}");
        }
    }

    /// The same bytes as any other library makes of these claims and this key.
    #[test]
    fn the_signature_is_that_of_rfc_7515() {
        // The example of RFC 7515, appendix A.1: header, claims and key are given there.
        let key = BASE64
            .decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
            .unwrap();
        let signer = Signer::new(&key).unwrap();
        let signed = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signature = signer.mac.clone().chain_update(signed).finalize().into_bytes();
        assert_eq!(BASE64.encode(signature), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    }
}
