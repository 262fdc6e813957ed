//! Every route of the `OpenAPI` document × every kind of caller, asked for real. What came out is kept as data in
//! `docs/access.md`: a new route, or another answer, is a difference that somebody has to look at.

use std::fmt::Write as _;
use std::sync::Arc;

use kernel::Store;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use server::access::{Access, Role, Scope, Table};
use server::app::{openapi, operations};

use crate::docs::hold;
use crate::rooms::phone::setup;
use crate::support::{Running, start};

const TENANT: &str = "083839c6-c47c-42a6-9585-76492795d123";
const OTHER: &str = "11111111-1111-4111-8111-111111111111";
const NS: &str = "bridge";
const PASSWORD: &str = "long enough";

/// Who asks, in the order of the columns.
const KINDS: [&str; 15] = [
    "nobody",
    "reader",
    "operator",
    "admin",
    "reader of the tenant",
    "operator of the tenant",
    "admin of the tenant",
    "admin of another tenant",
    "reader of the namespace",
    "operator of the namespace",
    "admin of the namespace",
    "admin of another namespace",
    "player",
    "player who is admin",
    "holder of a room's key",
];

struct World {
    running: Running,
    /// What each kind shows; `None` for nothing.
    shows: Vec<Option<String>>,
}

impl World {
    async fn start(store: &Arc<dyn Store>) -> Self {
        let running = start(
            Arc::clone(store),
            &[
                ("loopback_admin", "false"),
                ("limits.anonymous_per_second", "0"),
                ("limits.requests_per_second", "0"),
                ("limits.logins_per_minute", "0"),
                ("limits.sockets_per_address", "0"),
                ("rooms.created_per_hour", "0"),
                ("rooms.sockets_per_minute", "0"),
                ("rooms.unknown_codes_per_minute", "0"),
                ("galaxy.engine", "true"),
                ("galaxy.tick_rate", "20"),
                ("galaxy.logins_per_minute", "0"),
                ("galaxy.sockets_per_address", "0"),
                ("galaxy.admin_user", "marshal"),
                ("galaxy.admin_password", PASSWORD),
            ],
        )
        .await;
        let mut shows = vec![None];
        for role in [Role::Reader, Role::Operator, Role::Admin] {
            shows.push(Some(running.token(role).await));
        }
        let admin = shows[3].clone().unwrap();
        let tenant: (Option<&[&str]>, Option<&[&str]>) = (Some(&[TENANT]), None);
        let namespace: (Option<&[&str]>, Option<&[&str]>) = (None, Some(&[NS]));
        for ((tenants, namespaces), role) in [
            (tenant, Role::Reader),
            (tenant, Role::Operator),
            (tenant, Role::Admin),
            ((Some(&[OTHER][..]), None), Role::Admin),
            (namespace, Role::Reader),
            (namespace, Role::Operator),
            (namespace, Role::Admin),
            ((None, Some(&["other"][..])), Role::Admin),
        ] {
            shows.push(Some(running.limited_token(role, tenants, namespaces).await));
        }
        let made = running.ask(Method::POST, "/api/admin/game/init").bearer_auth(&admin);
        let made = made.send().await.unwrap().status().as_u16();
        assert!([201, 409].contains(&made), "a world is made: {made}");
        running.store(&["SET", &format!("atlas:monster:{TENANT}:1"), "{}"]).await;
        let mut world = World { running, shows };
        let new = json!({ "username": "wren", "password": PASSWORD });
        let registered = world.running.ask(Method::POST, "/api/auth/register").json(&new);
        assert_eq!(registered.send().await.unwrap().status(), 201);
        for name in ["wren", "marshal"] {
            let token = world.log_in(name).await;
            world.shows.push(Some(token));
        }
        let (_, key) = world.room().await;
        world.shows.push(Some(key));
        world
    }

    async fn log_in(&self, username: &str) -> String {
        let body = json!({ "username": username, "password": PASSWORD });
        let answer = self.running.ask(Method::POST, "/api/auth/login").json(&body);
        let answer: Value = answer.send().await.unwrap().json().await.unwrap();
        answer["token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Code and key of a new room.
    async fn room(&self) -> (String, String) {
        let made = self.running.ask(Method::POST, "/api/rooms").json(&setup(2));
        let made: Value = made.send().await.unwrap().json().await.unwrap();
        let word = |name: &str| made[name].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        (word("code"), word("master_key"))
    }

    /// A request that names the tenant, the namespace, the key or the room where the route takes one.
    async fn request(&self, row: Access, kind: usize) -> RequestBuilder {
        let mut shown = self.shows[kind].clone();
        let mut part = "room:ABCD2345:meta".to_owned();
        if row.path.starts_with("/api/rooms/") {
            let (code, key) = self.room().await;
            part = code;
            shown = if kind == 14 { Some(key) } else { shown };
        }
        if row.path.contains("{*key}") {
            part = format!("atlas:monster:{TENANT}:1");
        }
        // A token that was logged out is no use for the next route.
        if row.path == "/api/auth/logout" && kind == 12 {
            shown = Some(self.log_in("wren").await);
        }
        if row.path == "/api/auth/logout" && kind == 13 {
            shown = Some(self.log_in("marshal").await);
        }
        let parts = row.path.split('/').map(|one| match one.split_once('}') {
            Some((_, verb)) => format!("{part}{verb}"),
            None => one.to_owned(),
        });
        let mut path = parts.collect::<Vec<_>>().join("/");
        if row.scope == Scope::Namespace {
            path.push_str("?ns=");
            path.push_str(NS);
        }
        let method = Method::from_bytes(row.method.as_bytes()).unwrap();
        let mut request = self.running.ask(method.clone(), &path);
        if method != Method::GET {
            request = request.json(&json!({}));
        }
        if row.scope == Scope::Tenant {
            request = request.header("TENANT_ID", TENANT).header("REGION", "GMS");
            request = request.header("MAJOR_VERSION", "83").header("MINOR_VERSION", "1");
        }
        if row.path == "/ws" || row.path.starts_with("/ws/") {
            request = request
                .header("connection", "Upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        }
        match shown {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// `ok` for whatever the caller was let in to be told; else who is kept out and how.
    async fn verdict(&self, row: Access, kind: usize) -> &'static str {
        let place = format!("{} {}, {}", row.method, row.path, KINDS[kind]);
        let answer = self.request(row, kind).await.send().await;
        match answer.unwrap_or_else(|error| panic!("{place}: {error}")).status().as_u16() {
            401 => "401",
            403 => "403",
            status => {
                assert!(status < 500 || status == 503, "{place}: {status}");
                "ok"
            }
        }
    }
}

fn table() -> Table {
    let modules = server::modules::MODULES.iter().flat_map(|module| module.access);
    Table::new(server::access::ACCESS.iter().chain(modules))
}

const HEAD: &str = "# Who may call what

Made by a test that asks every route of [openapi.json](openapi.json) as every kind of caller, on a running server:
`UPDATE_EXPECT=1 cargo test -p worldkeep-server matrix`. `ok`: let in, whatever the answer then is; `401`: show who you are;
`403`: you may not.

Whose data a route is about (`access.rs`): `Public` nobody's, `Tenant` of the tenant that the headers name, `Namespace` of the job
namespace that `ns=` names, `Filtered` everybody's with what the token does not hold left out, `Server` everybody's as a whole.
Here requests name a tenant and a namespace; \"of another\" callers hold a different one. An open route about the whole server
treats a limited token as no token.

Columns:

";

fn page(rows: &[(Access, Vec<&'static str>)]) -> String {
    let mut page = HEAD.to_owned();
    for (at, kind) in KINDS.iter().enumerate() {
        let _ = writeln!(page, "{}. {kind}", at + 1);
    }
    page.push_str("\n| route | about |");
    (1..=KINDS.len()).for_each(|at| {
        let _ = write!(page, " {at} |");
    });
    page.push_str("\n|---|---|");
    page.push_str(&"---|".repeat(KINDS.len()));
    page.push('\n');
    for (row, verdicts) in rows {
        let cells = verdicts.join(" | ");
        let _ = writeln!(page, "| {} `{}` | {:?} | {cells} |", row.method, row.path, row.scope);
    }
    page
}

testkit::on_every_store!(who_may_call_what_is_as_recorded, |store| {
    let world = World::start(&store).await;
    let table = table();
    let mut rows = Vec::new();
    for (method, path) in operations(&openapi()) {
        let row = table.row(&method, &path);
        let row = row.unwrap_or_else(|| panic!("{method} {path} has no row in the access table"));
        let mut verdicts = Vec::new();
        for kind in 0..KINDS.len() {
            verdicts.push(world.verdict(row, kind).await);
        }
        rows.push((row, verdicts));
    }
    hold("access.md", &page(&rows));
});

/// What the document says a route takes is what its row says it is about.
#[test]
fn routes_that_take_a_tenant_or_a_namespace_are_about_it() {
    let document = serde_json::to_value(openapi()).unwrap();
    let table = table();
    for (method, path) in operations(&openapi()) {
        let row = table.row(&method, &path).expect("every route has a row");
        let operation = &document["paths"][&path][method.to_lowercase()];
        let takes = |place: &str, name: &str| {
            operation["parameters"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["in"] == place && one["name"] == name))
        };
        assert_eq!(takes("header", "TENANT_ID"), row.scope == Scope::Tenant, "{method} {path}");
        assert_eq!(takes("query", "ns"), row.scope == Scope::Namespace, "{method} {path}");
    }
}
