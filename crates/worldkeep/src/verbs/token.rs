//! `worldkeep token new|ls|rm`, on a store or over HTTP.

use kernel::{Clock as _, Store, SystemClock};
use reqwest::Method;
use serde_json::{Value, json};
use server::access;
use server::tokens::{self, NewToken};

use crate::cli::{Global, Role, Token, TokenNew};
use crate::client::Client;
use crate::exit::Failure;
use crate::open::{self, Target};
use crate::print;

pub(super) fn run(global: &Global, verb: Token) -> Result<(), Failure> {
    super::wait(async {
        match verb {
            Token::New(flags) => new(global, flags).await,
            Token::Ls => ls(global).await,
            Token::Rm { id } => rm(global, &id).await,
        }
    })
}

async fn new(global: &Global, flags: TokenNew) -> Result<(), Failure> {
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
    let made = match open::target(global).await? {
        Target::Store(store) => {
            json!(tokens::make(&*store as &dyn Store, SystemClock::new().now_ms(), new).await?)
        }
        Target::Server(client) => {
            client.call(Method::POST, "/api/tokens", Some(&json!(new))).await?
        }
    };
    if global.json {
        print::json(&made);
        return Ok(());
    }
    print::line(made["token"].as_str().unwrap_or_default());
    if !global.quiet {
        let id = made["id"].as_str().unwrap_or_default();
        print::note(&format!("id {id}; keep the token safe, it is shown only now"));
    }
    Ok(())
}

async fn ls(global: &Global) -> Result<(), Failure> {
    let items = match open::target(global).await? {
        Target::Store(store) => json!(tokens::list(&*store as &dyn Store).await?),
        Target::Server(client) => {
            client.call(Method::GET, "/api/tokens", None).await?["items"].take()
        }
    };
    if global.json {
        print::json(&items);
        return Ok(());
    }
    let list = |value: &Value| match value.as_array() {
        Some(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        None => "all".to_owned(),
    };
    let rows: Vec<Vec<String>> = items
        .as_array()
        .into_iter()
        .flatten()
        .map(|token| {
            let text = |name: &str| token[name].as_str().unwrap_or_default().to_owned();
            let payloads = if token["payloads"] == json!(true) { "yes" } else { "no" };
            let ends =
                token["expires_at"].as_u64().map_or_else(|| "never".into(), |at| at.to_string());
            vec![
                text("id"),
                text("name"),
                text("role"),
                list(&token["tenants"]),
                list(&token["namespaces"]),
                payloads.to_owned(),
                ends,
            ]
        })
        .collect();
    print::table(
        &["id", "name", "role", "tenants", "namespaces", "payloads", "ends (Unix ms)"],
        &rows,
    );
    Ok(())
}

async fn rm(global: &Global, id: &str) -> Result<(), Failure> {
    open::confirm(global, &format!("remove token {id}; whoever uses it is refused from then on"))?;
    match open::target(global).await? {
        Target::Store(store) => tokens::remove(&*store as &dyn Store, id).await?,
        Target::Server(client) => remove_over_http(&client, id).await?,
    }
    if global.json {
        print::json(&json!({ "removed": id }));
    } else if !global.quiet {
        print::note(&format!("removed {id}"));
    }
    Ok(())
}

async fn remove_over_http(client: &Client, id: &str) -> Result<(), Failure> {
    // Ids are hexadecimal; anything else would change the path.
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Failure::not_found("no token has this id; `worldkeep token ls` lists them"));
    }
    client.call(Method::DELETE, &format!("/api/tokens/{id}"), None).await.map(|_| ())
}
