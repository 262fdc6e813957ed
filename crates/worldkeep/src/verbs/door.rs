//! The RESP door of `serve`: its users and its address. Beyond loopback it is not opened before a
//! password or users are named.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kernel::{Cmd, Deadline, Store, Value};
use server::settings::Settings;

use super::serve::cannot_listen;
use crate::config::plain;
use crate::exit::Failure;

/// Opens the door at an address.
pub(super) async fn open(
    settings: &Settings,
    embedded: Option<&link::Embedded>,
    store: &Arc<dyn Store>,
    address: &str,
) -> Result<link::RespListener, Failure> {
    let Some(embedded) = embedded else {
        return Err(Failure::usage(
            "--resp lets programs into the embedded engine; with --redis they talk to Redis itself",
        ));
    };
    let address: SocketAddr = address
        .replace("localhost", "127.0.0.1")
        .parse()
        .map_err(|_| Failure::usage(format!("--resp {address}: write it like 127.0.0.1:6380")))?;
    let password = settings.server.resp_password.as_deref();
    if let Some(file) = settings.server.resp_users.as_deref() {
        name_users(&**store, Path::new(file), password.is_none()).await?;
    }
    if let Some(password) = password {
        say(&**store, &["CONFIG", "SET", "requirepass", password]).await?;
    }
    if !address.ip().to_canonical().is_loopback() && lets_everybody_in(&**store).await? {
        return Err(Failure::usage(format!(
            "refusing to speak RESP on {address} to everybody; set a password with \
             WORLDKEEP_RESP_PASSWORD or WORLDKEEP_RESP_PASSWORD_FILE, or name a file of users with \
             WORLDKEEP_RESP_USERS (`worldkeep acl` prints one; in it the user default must be off or \
             have a password), or use 127.0.0.1"
        )));
    }
    let stall = Duration::from_millis(settings.limits.write_stall_ms);
    let listening = match server::tls::Identity::resp(settings).map_err(Failure::usage)? {
        None => embedded.listen(address, stall),
        Some(identity) => embedded.listen_tls(address, stall, move || identity.config()),
    };
    listening.map_err(|error| cannot_listen(&address.to_string(), "--resp", &error))
}

async fn say(store: &dyn Store, words: &[&str]) -> Result<Value, kernel::Fault> {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    store.call(&cmd, Deadline::after(Duration::from_secs(2))).await
}

/// Takes users from a file with the lines of a Redis ACL file. Unless it names the user `default`, or a password is set
/// apart, only its users get in.
async fn name_users(store: &dyn Store, file: &Path, alone: bool) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("resp_users: cannot read {}: {}", file.display(), plain(&error)))
    })?;
    let mut names_default = false;
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: String| {
            Failure::usage(format!("resp_users: {}, line {}: {why}", file.display(), at + 1))
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["user", name, rules @ ..] = &words[..] else {
            return Err(wrong("write it like `user NAME on >PASSWORD ~keys:* +@read`".into()));
        };
        names_default |= *name == "default";
        let call = [&["ACL", "SETUSER", name, "reset"], rules].concat();
        say(store, &call).await.map_err(|fault| wrong(fault.to_string()))?;
    }
    if alone && !names_default {
        say(store, &["ACL", "SETUSER", "default", "off"]).await?;
    }
    Ok(())
}

/// Whether a client may do something without login.
async fn lets_everybody_in(store: &dyn Store) -> Result<bool, Failure> {
    let Value::Array(users) = say(store, &["ACL", "LIST"]).await? else { return Ok(true) };
    let default = users.iter().find_map(|user| match user {
        Value::BulkString(rules) => rules.strip_prefix(b"user default "),
        _ => None,
    });
    Ok(default.is_none_or(|rules| {
        let has = |word: &str| rules.split(|b| *b == b' ').any(|rule| rule == word.as_bytes());
        has("on") && has("nopass")
    }))
}
