//! One key, explained: definition, value by its type, life, neighbours, plain faults. Secrets and payloads are
//! hidden here, so that no way of asking shows them.

use kernel::keyspace::{Classified, KeyDef, Life, Secrecy};
use kernel::{Cmd, Deadline, Said, Store, Value};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::access::Role;
use crate::caller::Caller;
use crate::keyspace::{self, Keyspace};
use crate::reply::{self, Refusal};
use crate::said::{self, SaidShape, Told};
use crate::wire;

/// Elements of a value that are shown.
const SHOWN: usize = 200;
/// Bytes of a string that are shown.
const SHOWN_BYTES: i64 = 65_536;

/// The declaration of a key.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Definition {
    module: &'static str,
    name: &'static str,
    /// Placeholders in braces.
    pattern: &'static str,
    /// One sentence.
    says: &'static str,
    /// `string json int hash list set zset stream channel`.
    #[serde(rename = "type")]
    type_: &'static str,
    /// How long it lives, in words; `none` for no end.
    life: String,
    /// The longest life in milliseconds, where it is fixed.
    life_ms: Option<u64>,
    /// `seed` or `own`.
    #[schema(value_type = String)]
    origin: kernel::keyspace::Origin,
    /// The writers.
    owner: &'static str,
    readers: Vec<&'static str>,
    /// Patterns whose entries name it.
    indexed_by: Vec<&'static str>,
    /// `open`, `payloads` or `secret`.
    #[schema(value_type = String)]
    secrecy: Secrecy,
}

/// A live key in a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct KeyLine {
    key: String,
    #[serde(rename = "type")]
    type_: String,
    /// Bytes of a string, else elements.
    length: Option<i64>,
    memory: Option<i64>,
    /// Milliseconds left; -1 for no end.
    ttl_ms: i64,
}

/// One key.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct KeyView {
    #[serde(flatten)]
    line: KeyLine,
    /// Null for a key of somebody else.
    definition: Option<Definition>,
    /// Values of the placeholders.
    #[schema(value_type = Object)]
    params: Json,
    /// Text, pairs, members or entries, by type. Absent when hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    value: Option<Json>,
    /// Why the value is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<String>,
    /// The same for pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SaidShape>)]
    hidden_said: Option<Said>,
    /// Whether there is more of the value than is shown.
    truncated: bool,
    /// Elements shown.
    shown: usize,
    /// Other keys of the same scope that exist now.
    neighbours: Vec<Neighbour>,
    /// Plain faults, in sentences.
    findings: Vec<Told>,
}

/// A key of the same scope.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Neighbour {
    key: String,
    name: &'static str,
    says: &'static str,
}

/// Everything about one key that this caller may see.
pub(crate) async fn view(
    store: &dyn Store,
    keys: &Keyspace,
    caller: &Caller,
    key: &str,
) -> Result<KeyView, Refusal> {
    let found = keys.classifier.classify(key.as_bytes());
    if !keyspace::may_see(caller, found.as_ref()) {
        return Err(Refusal::new(
            reply::FORBIDDEN,
            "this key is not of a tenant or namespace of your token",
        ));
    }
    let line = lines(store, &[key.as_bytes().to_vec()]).await?.pop();
    let mut line = line.ok_or_else(|| absent(key, found.as_ref()))?;
    key.clone_into(&mut line.key);
    let hidden = hidden(caller, found.as_ref());
    let (value, shown, truncated) = if hidden.is_some() {
        (None, 0, false)
    } else {
        let (value, shown, truncated) = read(store, key, &line).await?;
        (Some(redact(value)), shown, truncated)
    };
    let findings = found
        .as_ref()
        .map(|found| keyspace::quick_faults(found.def, &line.type_, line.ttl_ms))
        .unwrap_or_default();
    let neighbours = match &found {
        Some(found) => neighbours(store, keys, caller, found, key).await?,
        None => Vec::new(),
    };
    let params: serde_json::Map<String, Json> = found
        .iter()
        .flat_map(|found| &found.params)
        .map(|(name, value)| ((*name).to_owned(), Json::from(*value)))
        .collect();
    Ok(KeyView {
        line,
        definition: found.as_ref().map(|found| definition(keys, found.def)),
        params: params.into(),
        value,
        hidden: hidden.as_ref().map(Said::sentence),
        hidden_said: hidden,
        truncated,
        shown,
        neighbours,
        findings: findings.into_iter().map(Told::from).collect(),
    })
}

pub(crate) fn definition(keys: &Keyspace, def: &'static KeyDef) -> Definition {
    let layout = keys.layout;
    let table = keys.classifier.tables().iter().find(|table| table.module == def.module);
    let indexed_by = table
        .into_iter()
        .flat_map(|table| table.keys)
        .filter(|other| other.index.is_some_and(|index| index.names == def.name))
        .map(|other| other.pattern(layout).text())
        .collect();
    Definition {
        module: def.module,
        name: def.name,
        pattern: def.pattern(layout).text(),
        says: def.sentence(),
        type_: keyspace::type_word(def.type_),
        life: keyspace::life_words(def.life),
        life_ms: match def.life {
            Life::Secs(seconds) => Some(seconds * 1000),
            _ => None,
        },
        origin: def.origin,
        owner: def.writers()[0],
        readers: def.readers.to_vec(),
        indexed_by,
        secrecy: def.secrecy,
    }
}

fn key_cmd(words: &[&str], key: &[u8]) -> Cmd {
    let mut cmd = wire::cmd(words);
    cmd.arg(key);
    cmd
}

pub(crate) async fn lines(store: &dyn Store, keys: &[Vec<u8>]) -> Result<Vec<KeyLine>, Refusal> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let by = Deadline::after(wire::CALL);
    let facts: Vec<Cmd> = keys
        .iter()
        .flat_map(|key| {
            [key_cmd(&["TYPE"], key), key_cmd(&["PTTL"], key), key_cmd(&["MEMORY", "USAGE"], key)]
        })
        .collect();
    let facts = store.pipeline(&facts, by).await?;
    let types: Vec<String> = facts
        .chunks_exact(3)
        .map(|fact| fact[0].as_ref().ok().and_then(wire::text).unwrap_or_else(|| "none".into()))
        .collect();
    let lengths: Vec<Cmd> = keys
        .iter()
        .zip(&types)
        .map(|(key, kind)| key_cmd(&[keyspace::length_command(kind).unwrap_or("EXISTS")], key))
        .collect();
    let lengths = store.pipeline(&lengths, by).await?;
    let int = |result: &Result<Value, _>| result.as_ref().ok().and_then(wire::int);
    let all = keys.iter().zip(types).zip(facts.chunks_exact(3)).zip(&lengths);
    Ok(all
        .filter(|(((_, kind), _), _)| kind != "none")
        .map(|(((key, kind), fact), length)| KeyLine {
            key: wire::readable(key),
            type_: kind,
            length: int(length),
            memory: int(&fact[2]),
            ttl_ms: int(&fact[1]).unwrap_or(-1),
        })
        .collect())
}

/// A key that is not there; of one that is declared, what it would be.
fn absent(key: &str, found: Option<&Classified<'_>>) -> Refusal {
    match found {
        None => Refusal::from(reply::NO_KEY),
        Some(found) => Refusal::new(
            reply::NO_KEY,
            format!("the store holds no {key} now; it is declared as: {}", found.def.sentence()),
        ),
    }
}

fn hidden(caller: &Caller, found: Option<&Classified<'_>>) -> Option<Said> {
    match found.map(|found| found.def.secrecy) {
        Some(Secrecy::Secret) => Some(said::KEY_SECRET.say()),
        Some(Secrecy::Payloads) if !caller.payloads => Some(said::KEY_PAYLOADS.say()),
        // Nobody told us what other programs keep there, so only an admin looks.
        None if caller.role < Some(Role::Admin) => Some(said::KEY_FOREIGN.say()),
        _ => None,
    }
}

async fn read(
    store: &dyn Store,
    key: &str,
    line: &KeyLine,
) -> Result<(Json, usize, bool), Refusal> {
    let last = (SHOWN - 1).to_string();
    let count = SHOWN.to_string();
    let bytes = (SHOWN_BYTES - 1).to_string();
    let words: Vec<&str> = match line.type_.as_str() {
        "string" => vec!["GETRANGE", key, "0", &bytes],
        "hash" => vec!["HSCAN", key, "0", "COUNT", &count],
        "set" => vec!["SSCAN", key, "0", "COUNT", &count],
        "list" => vec!["LRANGE", key, "0", &last],
        "zset" => vec!["ZRANGE", key, "0", &last, "WITHSCORES"],
        "stream" => vec!["XREVRANGE", key, "+", "-", "COUNT", &count],
        _ => return Ok((Json::Null, 0, false)),
    };
    let reply = wire::call(store, &words).await?;
    let length = line.length.unwrap_or(0);
    if line.type_ == "string" {
        let text = wire::text(&reply).unwrap_or_default();
        return Ok((text.into(), 1, length > SHOWN_BYTES));
    }
    let mut rows: Vec<Json> = match line.type_.as_str() {
        "hash" => wire::items(&reply)
            .get(1)
            .map(|pairs| wire::pairs(pairs))
            .unwrap_or_default()
            .into_iter()
            .map(|(field, value)| json!({ "field": field, "value": value }))
            .collect(),
        "set" => wire::items(&reply)
            .get(1)
            .map(|members| wire::items(members))
            .unwrap_or_default()
            .into_iter()
            .filter_map(wire::text)
            .map(Json::from)
            .collect(),
        "zset" => kernel::reply::pairs(&reply)
            .unwrap_or_default()
            .into_iter()
            .map(|(member, score)| json!({ "member": wire::text(member), "score": wire::text(score) }))
            .collect(),
        "stream" => wire::items(&reply)
            .into_iter()
            .map(|entry| {
                let entry = wire::items(entry);
                let fields = entry.get(1).map(|fields| wire::pairs(fields)).unwrap_or_default();
                let fields: serde_json::Map<String, Json> =
                    fields.into_iter().map(|(name, value)| (name, value.into())).collect();
                json!({ "id": entry.first().and_then(|id| wire::text(id)), "fields": fields })
            })
            .collect(),
        _ => wire::items(&reply).into_iter().filter_map(wire::text).map(Json::from).collect(),
    };
    rows.truncate(SHOWN);
    let shown = rows.len();
    let truncated = usize::try_from(length).unwrap_or(usize::MAX) > shown;
    Ok((rows.into(), shown, truncated))
}

/// Members that must not be seen wherever they stand in a stored document.
const SECRET_MEMBERS: &[&str] = &[
    "master_key",
    "master_key_hash",
    "masterKeyHash",
    "masterKey",
    "password",
    "password_hash",
    "token",
    "device_id",
    "deviceId",
    "avatar",
    "avatar_url",
    "secret",
];

/// Hides secret members of JSON texts; anything else stays as it is.
fn redact(value: Json) -> Json {
    match value {
        Json::String(text) if text.starts_with(['{', '[']) => {
            match serde_json::from_str::<Json>(&text) {
                Ok(mut inner) => {
                    if hide_members(&mut inner) {
                        inner.to_string().into()
                    } else {
                        text.into()
                    }
                }
                Err(_) => text.into(),
            }
        }
        Json::Array(rows) => rows.into_iter().map(redact).collect(),
        Json::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, redact(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

fn hide_members(value: &mut Json) -> bool {
    match value {
        Json::Array(items) => items.iter_mut().fold(false, |any, item| hide_members(item) | any),
        Json::Object(members) => members.iter_mut().fold(false, |any, (name, value)| {
            if SECRET_MEMBERS.contains(&name.as_str()) && !value.is_null() {
                *value = "(hidden)".into();
                return true;
            }
            hide_members(value) | any
        }),
        _ => false,
    }
}

/// Keys of the same scope whose whole name is known from this one, and that exist.
async fn neighbours(
    store: &dyn Store,
    keys: &Keyspace,
    caller: &Caller,
    found: &Classified<'_>,
    key: &str,
) -> Result<Vec<Neighbour>, Refusal> {
    let table = keys.classifier.tables().iter().find(|table| table.module == found.def.module);
    let layout = found.layout.unwrap_or(keys.layout);
    let candidates: Vec<(&'static KeyDef, String)> = table
        .into_iter()
        .flat_map(|table| table.keys.iter().copied())
        .filter(|def| def.is_key())
        .filter(|def| {
            found.params.is_empty() || def.pattern(layout).placeholders().next().is_some()
        })
        .filter_map(|def| Some((def, def.render(layout, &found.params).ok()?.as_str().to_owned())))
        .filter(|(_, other)| other != key)
        .filter(|(_, other)| {
            keyspace::may_see(caller, keys.classifier.classify(other.as_bytes()).as_ref())
        })
        .take(50)
        .collect();
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let cmds: Vec<Cmd> =
        candidates.iter().map(|(_, other)| wire::cmd(&["EXISTS", other])).collect();
    let exist = store.pipeline(&cmds, Deadline::after(wire::CALL)).await?;
    Ok(candidates
        .into_iter()
        .zip(exist)
        .filter(|(_, exists)| exists.as_ref().ok().and_then(wire::int) == Some(1))
        .map(|((def, key), _)| Neighbour { key, name: def.name, says: def.sentence() })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_members_are_hidden_and_other_texts_kept() {
        let stored = r#"{"phase":"lobby","master_key_hash":"sha256:ab","players":[{"name":"A","avatar":"data:x"}]}"#;
        let shown = redact(stored.into());
        let text = shown.as_str().unwrap();
        assert!(!text.contains("sha256:ab") && !text.contains("data:x"), "{text}");
        assert!(text.contains("lobby"));
        // Untouched documents keep their bytes, number spelling included.
        let plain = r#"{"hp":1.50, "x":[]}"#;
        assert_eq!(redact(plain.into()), Json::from(plain));
        let rows = json!([{ "field": "d", "value": r#"{"token":"t"}"# }]);
        assert!(!redact(rows).to_string().contains("\"t\""));
    }
}
