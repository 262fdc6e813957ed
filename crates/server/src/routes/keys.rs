//! `GET /api/keys`: every known pattern with counts and memory; with `module` and `pattern`, its live keys.
//! `GET /api/keys/{key}`: definition, value, life and neighbours of one key. Secrets are never in an answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use kernel::keyspace::{Classified, KeyDef, Secrecy, scan_glob};
use kernel::{Cmd, Deadline, Store, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json_, json};

use crate::access::Role;
use crate::app::App;
use crate::caller::Caller;
use crate::extract::{Query, pack_cursor, page_limit, unpack_cursor};
use crate::keyspace::{self, Census, Count};
use crate::reply::{self, Refusal};
use crate::wire;

/// Rounds of SCAN one page may cost; a pattern with few keys in a large store then answers with a cursor.
const ROUNDS: usize = 100;
const ROUND_KEYS: u32 = 1000;
/// Elements of a value that are shown.
const SHOWN: usize = 200;
/// Bytes of a string that are shown.
const SHOWN_BYTES: i64 = 65_536;

/// What to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeysQuery {
    /// Module of the pattern.
    module: Option<String>,
    /// Name of the pattern, as in the tree: then the answer is a page of its keys.
    pattern: Option<String>,
    /// 1 to 500, default 50.
    limit: Option<u32>,
    /// Where the last page ended.
    cursor: Option<String>,
}

/// The tree.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Tree {
    /// Keys seen.
    keys: u64,
    /// Bytes, judged by samples.
    memory: Option<u64>,
    /// Unix milliseconds of the count.
    at: u64,
    /// Whether the count is finished; if not, ask again.
    done: bool,
    /// Keys there were when the count began.
    expected: u64,
    /// Whether counts are left out because the token is limited to some tenants or namespaces.
    limited: bool,
    /// Every module with all its patterns, also those without keys; last the keys of others.
    modules: Vec<Group>,
}

/// One module.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Group {
    module: String,
    about: String,
    keys: u64,
    memory: Option<u64>,
    /// Keys under the module's prefixes that have no definition.
    unknown: u64,
    patterns: Vec<PatternLine>,
}

/// One pattern.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct PatternLine {
    #[serde(flatten)]
    definition: Definition,
    keys: u64,
    memory: Option<u64>,
}

/// What is declared about a key.
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
    /// Who writes it.
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

/// A page of live keys.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct KeyPage {
    items: Vec<KeyLine>,
    cursor: Option<String>,
}

/// The keyspace as a tree with counts and memory, or a page of the keys of one pattern.
#[utoipa::path(get, path = "/api/keys", tag = "store", params(KeysQuery),
    responses((status = 200, description = "the tree; with `pattern` a page of keys", body = Tree)))]
pub(crate) async fn keys(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(query): Query<KeysQuery>,
) -> Result<Response, Refusal> {
    let Some(pattern) = &query.pattern else {
        return Ok(Json(tree(&app, &caller, query.module.as_deref()).await?).into_response());
    };
    let limit = page_limit(query.limit)?;
    let tables = app.keyspace.classifier.tables();
    let def = tables
        .iter()
        .filter(|table| query.module.as_deref().is_none_or(|module| module == table.module))
        .find_map(|table| table.def(pattern))
        .ok_or_else(|| {
            Refusal::new(
                reply::BAD_FIELD,
                format!("there is no pattern named `{pattern}`; /api/keys lists them"),
            )
            .field("pattern")
        })?;
    Ok(Json(page(&app, &caller, def, limit, query.cursor.as_deref()).await?).into_response())
}

async fn tree(app: &App, caller: &Caller, module: Option<&str>) -> Result<Tree, Refusal> {
    let limited = caller.tenants.is_some() || caller.namespaces.is_some();
    let census = if limited {
        Arc::new(Census { done: true, ..Census::default() })
    } else {
        app.keyspace.census(app.shared_store(), Arc::clone(&app.clock)).await
    };
    let sum = |counts: &mut dyn Iterator<Item = Count>| {
        counts.fold((0, Some(0)), |(keys, memory): (u64, Option<u64>), count| {
            (keys + count.keys, memory.zip(count.memory()).map(|(a, b)| a + b))
        })
    };
    let mut modules = Vec::new();
    for table in app.keyspace.classifier.tables() {
        if module.is_some_and(|wanted| wanted != table.module) {
            continue;
        }
        let of =
            |def: &KeyDef| census.by_def.get(&(def.module, def.name)).copied().unwrap_or_default();
        let unknown = census.unknown.get(table.module).copied().unwrap_or_default();
        let (keys, memory) = sum(&mut table.keys.iter().map(|def| of(def)).chain([unknown]));
        let patterns = table
            .keys
            .iter()
            .filter(|def| def.is_key())
            .map(|def| {
                let count = of(def);
                PatternLine {
                    definition: definition(app, def),
                    keys: count.keys,
                    memory: count.memory(),
                }
            })
            .collect();
        let (module, about) = (table.module.to_owned(), table.about.to_owned());
        modules.push(Group { module, about, keys, memory, unknown: unknown.keys, patterns });
    }
    if module.is_none() && !limited {
        let foreign = census.foreign;
        modules.push(Group {
            module: "foreign".into(),
            about: "Keys of other programs in the same store.".into(),
            keys: foreign.keys,
            memory: foreign.memory(),
            unknown: 0,
            patterns: Vec::new(),
        });
    }
    let memory = modules.iter().try_fold(0, |sum, group| Some(sum + group.memory?));
    Ok(Tree {
        keys: modules.iter().map(|group| group.keys).sum(),
        memory,
        at: census.at,
        done: census.done,
        expected: census.expected,
        limited,
        modules,
    })
}

fn definition(app: &App, def: &'static KeyDef) -> Definition {
    let layout = app.keyspace.layout;
    let table = app.keyspace.classifier.tables().iter().find(|table| table.module == def.module);
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
            kernel::keyspace::Life::Secs(seconds) => Some(seconds * 1000),
            _ => None,
        },
        origin: def.origin,
        owner: def.writers()[0],
        readers: def.readers.to_vec(),
        indexed_by,
        secrecy: def.secrecy,
    }
}

/// Where a page ended: the SCAN cursor of its last round, and how much of that round was used.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    scan: String,
    used: usize,
}

async fn page(
    app: &App,
    caller: &Caller,
    def: &'static KeyDef,
    limit: usize,
    cursor: Option<&str>,
) -> Result<KeyPage, Refusal> {
    let mut place = match cursor {
        Some(cursor) => unpack_cursor::<Place>(cursor)?,
        None => Place { scan: "0".into(), used: 0 },
    };
    if place.scan.len() > 64
        || !place.scan.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
    {
        return Err(reply::BAD_CURSOR.into());
    }
    let glob = scan_glob(def, app.keyspace.layout, &[]).map_err(|error| {
        tracing::error!(%error, "a definition without a glob");
        Refusal::from(reply::INTERNAL)
    })?;
    let mut keys = Vec::new();
    let mut more = true;
    for _ in 0..ROUNDS {
        let (next, found) =
            keyspace::scan(app.store(), &place.scan, Some(&glob), ROUND_KEYS).await?;
        let room = limit - keys.len();
        let fitting = found.iter().enumerate().skip(place.used).filter(|(_, key)| {
            let classified = app.keyspace.classifier.classify(key);
            classified.as_ref().is_some_and(|c| c.def == def)
                && keyspace::may_see(caller, classified.as_ref())
        });
        let taken: Vec<(usize, &Vec<u8>)> = fitting.take(room).collect();
        let full = taken.len() == room;
        let last = taken.last().map(|(at, _)| at + 1);
        keys.extend(taken.into_iter().map(|(_, key)| key.clone()));
        if full && last.is_some_and(|last| last < found.len()) {
            place.used = last.unwrap_or(0);
            break;
        }
        place = Place { scan: next, used: 0 };
        more = place.scan != "0";
        if full || !more {
            break;
        }
    }
    let items = lines(app.store(), &keys).await?;
    Ok(KeyPage { items, cursor: more.then(|| pack_cursor(&place)) })
}

fn key_cmd(words: &[&str], key: &[u8]) -> Cmd {
    let mut cmd = wire::cmd(words);
    cmd.arg(key);
    cmd
}

async fn lines(store: &dyn Store, keys: &[Vec<u8>]) -> Result<Vec<KeyLine>, Refusal> {
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

/// One key.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct KeyView {
    #[serde(flatten)]
    line: KeyLine,
    /// Null for a key of somebody else.
    definition: Option<Definition>,
    /// Values of the placeholders.
    #[schema(value_type = Object)]
    params: Json_,
    /// Text, pairs, members or entries, by type. Absent when hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    value: Option<Json_>,
    /// Why the value is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<&'static str>,
    /// Whether there is more of the value than is shown.
    truncated: bool,
    /// Elements shown.
    shown: usize,
    /// Other keys of the same scope that exist now.
    neighbours: Vec<Neighbour>,
    /// What is plainly wrong with it, in sentences.
    findings: Vec<Finding>,
}

/// A key of the same scope.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Neighbour {
    key: String,
    name: &'static str,
    says: &'static str,
}

/// Something wrong.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Finding {
    sentence: String,
}

/// Definition, value, life and neighbours of one key. Secrets are hidden.
#[utoipa::path(get, path = "/api/keys/{*key}", tag = "store",
    params(("key" = String, Path, description = "the key, percent-encoded")),
    responses((status = 200, body = KeyView), (status = 403), (status = 404)))]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(key): Path<String>,
) -> Result<Json<KeyView>, Refusal> {
    let found = app.keyspace.classifier.classify(key.as_bytes());
    if !keyspace::may_see(&caller, found.as_ref()) {
        return Err(Refusal::new(
            reply::FORBIDDEN,
            "this key is not of a tenant or namespace of your token",
        ));
    }
    let mut line =
        lines(app.store(), &[key.clone().into_bytes()]).await?.pop().ok_or(reply::NO_KEY)?;
    let hidden = hidden(&caller, found.as_ref());
    let (value, shown, truncated) = match hidden {
        Some(_) => (None, 0, false),
        None => {
            let (value, shown, truncated) = read(app.store(), &key, &line).await?;
            (Some(redact(value)), shown, truncated)
        }
    };
    let findings = found
        .as_ref()
        .map(|found| keyspace::quick_faults(found.def, &line.type_, line.ttl_ms))
        .unwrap_or_default();
    let neighbours = match &found {
        Some(found) => neighbours(&app, found, &key).await?,
        None => Vec::new(),
    };
    let params: serde_json::Map<String, Json_> = found
        .iter()
        .flat_map(|found| &found.params)
        .map(|(name, value)| ((*name).to_owned(), Json_::from(*value)))
        .collect();
    line.key = key.clone();
    Ok(Json(KeyView {
        line,
        definition: found.as_ref().map(|found| definition(&app, found.def)),
        params: params.into(),
        value,
        hidden,
        truncated,
        shown,
        neighbours,
        findings: findings.into_iter().map(|sentence| Finding { sentence }).collect(),
    }))
}

fn hidden(caller: &Caller, found: Option<&Classified<'_>>) -> Option<&'static str> {
    match found.map(|found| found.def.secrecy) {
        Some(Secrecy::Secret) => Some("this value is a secret and is never shown"),
        Some(Secrecy::Payloads) if !caller.payloads => {
            Some("seeing payloads needs a token with the right `payloads`")
        }
        // Nobody told us what other programs keep there, so only an admin looks.
        None if caller.role < Some(Role::Admin) => {
            Some("values of keys that are not ours are shown to admins only")
        }
        _ => None,
    }
}

async fn read(
    store: &dyn Store,
    key: &str,
    line: &KeyLine,
) -> Result<(Json_, usize, bool), Refusal> {
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
        _ => return Ok((Json_::Null, 0, false)),
    };
    let reply = wire::call(store, &words).await?;
    let length = line.length.unwrap_or(0);
    if line.type_ == "string" {
        let text = wire::text(&reply).unwrap_or_default();
        return Ok((text.into(), 1, length > SHOWN_BYTES));
    }
    let mut rows: Vec<Json_> = match line.type_.as_str() {
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
            .map(Json_::from)
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
                let fields: serde_json::Map<String, Json_> =
                    fields.into_iter().map(|(name, value)| (name, value.into())).collect();
                json!({ "id": entry.first().and_then(|id| wire::text(id)), "fields": fields })
            })
            .collect(),
        _ => wire::items(&reply).into_iter().filter_map(wire::text).map(Json_::from).collect(),
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
fn redact(value: Json_) -> Json_ {
    match value {
        Json_::String(text) if text.starts_with(['{', '[']) => {
            match serde_json::from_str::<Json_>(&text) {
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
        Json_::Array(rows) => rows.into_iter().map(redact).collect(),
        Json_::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, redact(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

fn hide_members(value: &mut Json_) -> bool {
    match value {
        Json_::Array(items) => items.iter_mut().fold(false, |any, item| hide_members(item) | any),
        Json_::Object(members) => members.iter_mut().fold(false, |any, (name, value)| {
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
    app: &App,
    found: &Classified<'_>,
    key: &str,
) -> Result<Vec<Neighbour>, Refusal> {
    let table =
        app.keyspace.classifier.tables().iter().find(|table| table.module == found.def.module);
    let layout = found.layout.unwrap_or(app.keyspace.layout);
    let candidates: Vec<(&'static KeyDef, String)> = table
        .into_iter()
        .flat_map(|table| table.keys.iter().copied())
        .filter(|def| def.is_key())
        .filter(|def| {
            found.params.is_empty() || def.pattern(layout).placeholders().next().is_some()
        })
        .filter_map(|def| Some((def, def.render(layout, &found.params).ok()?.as_str().to_owned())))
        .filter(|(_, other)| other != key)
        .take(50)
        .collect();
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let cmds: Vec<Cmd> =
        candidates.iter().map(|(_, other)| wire::cmd(&["EXISTS", other])).collect();
    let exist = app.store().pipeline(&cmds, Deadline::after(wire::CALL)).await?;
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
        assert_eq!(redact(plain.into()), Json_::from(plain));
        let rows = json!([{ "field": "d", "value": r#"{"token":"t"}"# }]);
        assert!(!redact(rows).to_string().contains("\"t\""));
    }
}
