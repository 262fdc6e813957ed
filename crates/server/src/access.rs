//! The rights to each route, as data. One row per method and path: what it asks of its caller, and whose data it is
//! about. The middleware reads nothing else. A route without a row stops the server from starting, so nothing is open
//! by accident.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The role of a token. Each includes the ones before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees.
    Reader,
    /// Sees and acts.
    Operator,
    /// Sees, acts, and manages tokens.
    Admin,
}

/// The right that a route asks of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Open,
    /// A token, a session or direct loopback, with at least this role.
    Role(Role),
    /// The handler itself decides, by a room's credentials or a ticket.
    Own,
    /// A player's token; the module that knows players says whose it is.
    Player,
    /// A role, or any player.
    RoleOrPlayer(Role),
    /// A role, or a player who is an admin.
    RoleOrAdmin(Role),
}

/// Whose data a route is about. A token that is limited to some tenants or namespaces reaches no further than they do;
/// this says how far that is for the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Nobody's: the same for every caller, such as health, a login or a catalogue.
    Public,
    /// One tenant's, the one that the headers name. The token must hold it.
    Tenant,
    /// One job namespace's, the one that `ns=` names. The token must hold it.
    Namespace,
    /// Everybody's, and the handler leaves out what the token does not hold.
    Filtered,
    /// Everybody's, and it cannot be divided: only a token without limits will do. Where no token is needed, one with
    /// limits adds nothing.
    Server,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Upper case.
    pub method: &'static str,
    /// As the router spells it, `/api/keys/{*key}`.
    pub path: &'static str,
    /// The right that it asks for.
    pub need: Need,
    /// Whose data it is about.
    pub scope: Scope,
    /// Whether the party's listener serves it too; see `party.rs`.
    pub at_party: bool,
}

impl Access {
    /// A part of the party game: guests on the local network may ask for it.
    #[must_use]
    pub const fn at_party(self) -> Self {
        Access { at_party: true, ..self }
    }
}

/// A row, short to write.
pub const fn row(method: &'static str, path: &'static str, need: Need, scope: Scope) -> Access {
    Access { method, path, need, scope, at_party: false }
}

/// A row for anybody, about nobody's data.
pub const fn open(method: &'static str, path: &'static str) -> Access {
    row(method, path, Need::Open, Scope::Public)
}

/// A row for a role, about one tenant's data.
pub const fn tenant(method: &'static str, path: &'static str, role: Role) -> Access {
    row(method, path, Need::Role(role), Scope::Tenant)
}

/// A row for a role, about one job namespace's data.
pub const fn namespace(method: &'static str, path: &'static str, role: Role) -> Access {
    row(method, path, Need::Role(role), Scope::Namespace)
}

/// A row for a role whose handler leaves out what the token does not hold.
pub const fn filtered(method: &'static str, path: &'static str, role: Role) -> Access {
    row(method, path, Need::Role(role), Scope::Filtered)
}

/// A row for a role of a token without limits.
pub const fn server(method: &'static str, path: &'static str, role: Role) -> Access {
    row(method, path, Need::Role(role), Scope::Server)
}

/// The rows of the server itself.
pub const ACCESS: &[Access] = &[
    open("GET", "/healthz"),
    open("GET", "/readyz"),
    open("GET", "/version"),
    open("GET", "/openapi.json"),
    server("GET", "/metrics", Role::Reader),
    filtered("GET", "/api/overview", Role::Reader),
    server("GET", "/api/health", Role::Reader),
    server("GET", "/api/history", Role::Reader),
    server("GET", "/api/search", Role::Reader),
    filtered("GET", "/api/keys", Role::Reader),
    filtered("GET", "/api/keys/{*key}", Role::Reader),
    filtered("GET", "/api/events", Role::Reader),
    server("GET", "/api/check", Role::Reader),
    server("POST", "/api/check", Role::Operator),
    server("DELETE", "/api/check", Role::Operator),
    // It holds hashes of tokens and passwords, and the key that signs players' tokens.
    server("GET", "/api/backup", Role::Admin),
    filtered("GET", "/api/worlds", Role::Reader),
    server("GET", "/api/config", Role::Admin),
    filtered("GET", "/api/tokens", Role::Admin),
    filtered("POST", "/api/tokens", Role::Admin),
    filtered("DELETE", "/api/tokens/{id}", Role::Admin),
    open("POST", "/api/session"),
    open("GET", "/api/session"),
    open("DELETE", "/api/session"),
    // A ticket points at its token, so it holds no more than that.
    filtered("POST", "/api/ws-ticket", Role::Reader),
    // The ticket in the query is checked by the handler, before the upgrade.
    row("GET", "/ws/events", Need::Own, Scope::Filtered),
];

/// The table of a running server.
#[derive(Debug, Default)]
pub struct Table(HashMap<(String, String), Access>);

impl Table {
    /// From the server's rows and those of its modules.
    pub fn new<'a>(rows: impl IntoIterator<Item = &'a Access>) -> Self {
        Table(
            rows.into_iter()
                .map(|row| ((row.method.to_owned(), row.path.to_owned()), *row))
                .collect(),
        )
    }

    /// The row of a route; `HEAD` asks what `GET` does.
    pub fn row(&self, method: &str, path: &str) -> Option<Access> {
        let method = if method == "HEAD" { "GET" } else { method };
        self.0.get(&(method.to_owned(), path.to_owned())).copied()
    }
}
