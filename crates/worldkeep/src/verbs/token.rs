//! `worldkeep token new|ls|rm`, on a store or over HTTP.

use serde_json::{Value, json};
use server::access;
use server::tokens::NewToken;

use crate::cli::{Global, Role, Token, TokenNew};
use crate::exit::Failure;
use crate::path;
use crate::remote::{self, Ask, Remote};
use crate::view::{Column, Show, col, list, text, when};
use crate::{open, print};

pub(super) fn run(global: &Global, verb: Token) -> Result<(), Failure> {
    match verb {
        Token::New(flags) => new(global, flags),
        Token::Ls => super::wait(ls(global)),
        Token::Rm { id } => rm(global, &id),
    }
}

fn new(global: &Global, flags: TokenNew) -> Result<(), Failure> {
    let some = |list: Vec<String>| (!list.is_empty()).then_some(list);
    let new = NewToken {
        name: flags.name,
        role: match flags.role {
            Role::Reader => access::Role::Reader,
            Role::Operator => access::Role::Operator,
            Role::Admin => access::Role::Admin,
        },
        tenants: some(flags.tenants),
        namespaces: some(flags.namespaces),
        payloads: flags.payloads,
        days: flags.days,
    };
    let show = |made: &Value| {
        if !global.quiet {
            let id = text(&made["id"]);
            print::note(&format!("id {id}; keep the token safe, it is shown only now"));
        }
        vec![text(&made["token"])]
    };
    remote::run(global, &[], &Ask::post("/api/tokens").body(json!(new)), &Show::Lines(&show))
}

const COLUMNS: &[Column] = &[
    col("id", "/id"),
    col("name", "/name"),
    col("role", "/role"),
    col("tenants", "").by(|token| held(token, "tenants", "namespaces")),
    col("namespaces", "").by(|token| held(token, "namespaces", "tenants")),
    col("payloads", "/payloads")
        .by(|value| if *value == json!(true) { "yes" } else { "no" }.into()),
    col("ends", "/expires_at")
        .by(|value| if value.is_null() { "never".into() } else { when(value) }),
];

/// The things of one kind that a token may use: a list, or all, or none when the other kind limits
/// it.
fn held(token: &Value, kind: &str, other: &str) -> String {
    match (token[kind].is_array(), token[other].is_array()) {
        (true, _) => list(&token[kind]),
        (false, true) => "none".to_owned(),
        (false, false) => "all".to_owned(),
    }
}

async fn ls(global: &Global) -> Result<(), Failure> {
    let ask = Ask::get("/api/tokens");
    let remote = Remote::open(global, &[]).await?;
    if global.json {
        // A plain list: there are few, and programs read it so since the first release.
        print::json(&remote.json(&ask).await?["items"]);
        return Ok(());
    }
    remote.tell(global, &ask, &Show::Table(COLUMNS, "there is no token")).await
}

fn rm(global: &Global, id: &str) -> Result<(), Failure> {
    open::confirm(global, &format!("remove token {id}; whoever uses it is refused from then on"))?;
    let ask = Ask::delete(path!("/api/tokens/{}", id));
    super::wait(async { Remote::open(global, &[]).await?.raw(&ask).await })?;
    if global.json {
        print::json(&json!({ "removed": id }));
    } else if !global.quiet {
        print::note(&format!("removed {id}"));
    }
    Ok(())
}
