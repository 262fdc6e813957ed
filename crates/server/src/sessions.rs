//! Dashboard logins and socket tickets. Both live in the store under the hash of a random text, so several
//! servers share them and none holds a secret: `wk:sessions:<hash>` for some hours without use, `wk:tickets:<hash>` for
//! thirty seconds and one use (`GETDEL`). Both point at the token they came from, so removing it ends them, and they hold
//! what it holds. The CSRF secret is a hash of the cookie, so it is stored nowhere.

use kernel::{Deadline, Store};
use serde::{Deserialize, Serialize};

use crate::reply::Refusal;
use crate::tokens;
use crate::wire;

/// Cookie of the dashboard.
pub const COOKIE: &str = "wk_session";
/// Header that proves a write comes from the dashboard's own pages.
pub const CSRF_HEADER: &str = "x-csrf-token";
/// Seconds a ticket is good for.
pub const TICKET_S: u64 = 30;

/// A login, as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Hash of the token that logged in.
    pub(crate) token: String,
}

/// The text that writes of the cookie's holder must repeat in [`CSRF_HEADER`]. Another site can make a browser send the cookie
/// but cannot read it; the store has only the cookie's other hash.
pub(crate) fn csrf_of(cookie: &str) -> String {
    tokens::hash(&format!("csrf {cookie}"))
}

/// Logs in; gives the cookie's text.
pub(crate) async fn open(
    store: &dyn Store,
    token_hash: &str,
    hours: u64,
) -> Result<String, Refusal> {
    let cookie = tokens::random_text();
    let session = Session { token: token_hash.to_owned() };
    let json = serde_json::to_string(&session).expect("a session is plain data");
    let seconds = life_s(hours).to_string();
    wire::call(store, &["SET", &session_key(&cookie), &json, "EX", &seconds]).await?;
    Ok(cookie)
}

/// The session of a cookie, if it lives.
pub(crate) async fn find(
    store: &dyn Store,
    cookie: &str,
    hours: u64,
) -> Result<Option<Session>, Refusal> {
    if !plausible(cookie) {
        return Ok(None);
    }
    let key = session_key(cookie);
    let cmds = [wire::cmd(&["GET", &key]), wire::cmd(&["TTL", &key])];
    let replies = store.pipeline(&cmds, Deadline::after(wire::CALL)).await?;
    let mut replies = replies.into_iter();
    let (json, left) = (replies.next().transpose()?, replies.next().transpose()?);
    let session: Option<Session> =
        json.as_ref().and_then(wire::text).and_then(|json| serde_json::from_str(&json).ok());
    // Renewed by use, but written only once in half its life.
    let life = life_s(hours);
    let left =
        left.as_ref().and_then(wire::int).and_then(|s| u64::try_from(s).ok()).unwrap_or(life);
    if session.is_some() && left < life / 2 {
        wire::call(store, &["EXPIRE", &key, &life.to_string()]).await?;
    }
    Ok(session)
}

fn life_s(hours: u64) -> u64 {
    hours.max(1) * 3600
}

/// Logs out.
pub(crate) async fn close(store: &dyn Store, cookie: &str) -> Result<(), Refusal> {
    if plausible(cookie) {
        wire::call(store, &["DEL", &session_key(cookie)]).await?;
    }
    Ok(())
}

/// A ticket for one socket of `holder`: a token's hash, or `loopback`.
pub(crate) async fn issue_ticket(store: &dyn Store, holder: &str) -> Result<String, Refusal> {
    let ticket = tokens::random_text();
    let seconds = TICKET_S.to_string();
    let json = serde_json::json!({ "holder": holder }).to_string();
    wire::call(store, &["SET", &ticket_key(&ticket), &json, "EX", &seconds]).await?;
    Ok(ticket)
}

/// The holder of this ticket, which is good once.
pub(crate) async fn take_ticket(
    store: &dyn Store,
    ticket: &str,
) -> Result<Option<String>, Refusal> {
    if !plausible(ticket) {
        return Ok(None);
    }
    let reply = wire::call(store, &["GETDEL", &ticket_key(ticket)]).await?;
    let json: Option<serde_json::Value> =
        wire::text(&reply).and_then(|json| serde_json::from_str(&json).ok());
    Ok(json.and_then(|json| json["holder"].as_str().map(str::to_owned)))
}

fn plausible(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn session_key(cookie: &str) -> String {
    format!("wk:sessions:{}", tokens::hash(cookie))
}

fn ticket_key(ticket: &str) -> String {
    format!("wk:tickets:{}", tokens::hash(ticket))
}
