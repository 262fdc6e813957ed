//! Keys of the product itself: tokens, dashboard sessions, socket tickets, tries to log in, leases, live servers, the last backup. They
//! carry no scope, since no step shares them with a module's state; all are the same in both layouts.

use super::{Life, Secrecy};

crate::keyspace! {
    module = "worldkeep",
    about = "What the server keeps for itself.",
    prefixes = &["wk:"],
    ;

    /// Access tokens: field = SHA-256 of the token, value = JSON of name, role, tenants, namespaces, rights.
    own tokens() = "wk:tokens", Hash, Life::None, secrecy = Secrecy::Secret;
    /// A browser's dashboard session, by the SHA-256 of its cookie.
    own session(digest: Sha256) = "wk:sessions:{digest}", Json,
        Life::Computed("the session's idle time, renewed by use"), secrecy = Secrecy::Secret;
    /// A ticket that opens one socket once, by its SHA-256.
    own ticket(digest: Sha256) = "wk:tickets:{digest}", Json, Life::Secs(30),
        secrecy = Secrecy::Secret;
    /// Tries to log in of the last minute that may be guesses, of one address or at one account, by its SHA-256.
    own tries(digest: Sha256) = "wk:tries:{digest}", Int, Life::Secs(60);
    /// Who runs a loop that must run once: the holder's id.
    own lease(name: Path) = "wk:lease:{name}", String,
        Life::Computed("the lease's time, renewed while its holder lives");
    /// Servers that share this store: member = server id, score = Unix ms at which its lease ends.
    own servers() = "wk:servers", Zset, Life::None;
    /// The last backup that a server made by its settings: when, by which server, the file, why it failed.
    own backup() = "wk:backup", Hash, Life::None;
}
