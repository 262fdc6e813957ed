//! Who may use which route, as data. One row per method and path; the middleware reads nothing else. A route
//! without a row stops the server from starting, so nothing is open by accident.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// What a token may do. Each includes the ones before it.
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

/// What a route asks of its caller.
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

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Upper case.
    pub method: &'static str,
    /// As the router spells it, `/api/keys/{*key}`.
    pub path: &'static str,
    /// What it asks for.
    pub need: Need,
}

/// A row, short to write.
pub const fn row(method: &'static str, path: &'static str, need: Need) -> Access {
    Access { method, path, need }
}

/// A row for a role.
pub const fn role(method: &'static str, path: &'static str, role: Role) -> Access {
    Access { method, path, need: Need::Role(role) }
}

/// The rows of the server itself.
pub const ACCESS: &[Access] = &[
    row("GET", "/healthz", Need::Open),
    row("GET", "/readyz", Need::Open),
    row("GET", "/version", Need::Open),
    row("GET", "/openapi.json", Need::Open),
    role("GET", "/metrics", Role::Reader),
    role("GET", "/api/overview", Role::Reader),
    role("GET", "/api/health", Role::Reader),
    role("GET", "/api/keys", Role::Reader),
    role("GET", "/api/keys/{*key}", Role::Reader),
    role("GET", "/api/events", Role::Reader),
    role("GET", "/api/check", Role::Reader),
    role("POST", "/api/check", Role::Operator),
    role("GET", "/api/worlds", Role::Reader),
    role("GET", "/api/config", Role::Admin),
    role("GET", "/api/tokens", Role::Admin),
    role("POST", "/api/tokens", Role::Admin),
    role("DELETE", "/api/tokens/{id}", Role::Admin),
    row("POST", "/api/session", Need::Open),
    row("GET", "/api/session", Need::Open),
    row("DELETE", "/api/session", Need::Open),
    role("POST", "/api/ws-ticket", Role::Reader),
    // The ticket in the query is checked by the handler, before the upgrade.
    row("GET", "/ws/events", Need::Own),
];

/// The table of a running server.
#[derive(Debug, Default)]
pub struct Table(HashMap<(String, String), Need>);

impl Table {
    /// From the server's rows and those of its modules.
    pub fn new<'a>(rows: impl IntoIterator<Item = &'a Access>) -> Self {
        Table(
            rows.into_iter()
                .map(|row| ((row.method.to_owned(), row.path.to_owned()), row.need))
                .collect(),
        )
    }

    /// What a route asks for; `HEAD` asks what `GET` does.
    pub fn need(&self, method: &str, path: &str) -> Option<Need> {
        let method = if method == "HEAD" { "GET" } else { method };
        self.0.get(&(method.to_owned(), path.to_owned())).copied()
    }
}
