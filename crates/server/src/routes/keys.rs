//! `GET /api/keys`: every known pattern with counts and memory; with `module` and `pattern`, its live keys.
//! `GET /api/keys/{key}`: definition, value, life and neighbours of one key. Secrets are never in an answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use kernel::keyspace::{KeyDef, scan_glob};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::caller::Caller;
use crate::extract::{Query, pack_cursor, page_limit, unpack_cursor};
use crate::keyspace::{self, Census, Count};
use crate::keyview::{self, Definition, KeyLine, KeyView};
use crate::reply::{self, Refusal};

/// Rounds of SCAN one page may cost; a pattern with few keys in a large store then answers with a cursor.
const ROUNDS: usize = 100;
const ROUND_KEYS: u32 = 5000;
/// The keys to list.
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
    /// The cursor of the last page.
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
    let limited = caller.scopes.is_limited();
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
                    definition: keyview::definition(&app.keyspace, def),
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

/// The end of a page: the next SCAN cursor, and keys of the last round that found no room on the page. A round
/// is never asked for twice to skip a part of it: while a table grows its order changes, and keys would be lost.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    scan: String,
    left: Vec<String>,
}

/// Bytes of keys that a cursor may carry.
const CARRIED: usize = 3000;

async fn page(
    app: &App,
    caller: &Caller,
    def: &'static KeyDef,
    limit: usize,
    cursor: Option<&str>,
) -> Result<KeyPage, Refusal> {
    let place = match cursor {
        Some(cursor) => unpack_cursor::<Place>(cursor)?,
        None => Place { scan: "0".into(), left: Vec::new() },
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    if place.scan.len() > 64 || !place.scan.bytes().all(plain) {
        return Err(reply::BAD_CURSOR.into());
    }
    let glob = scan_glob(def, app.keyspace.layout, &[]).map_err(|error| {
        tracing::error!(%error, "a definition without a glob");
        Refusal::from(reply::INTERNAL)
    })?;
    let fits = |key: &str| {
        let found = app.keyspace.classifier.classify(key.as_bytes());
        found.as_ref().is_some_and(|found| found.def == def)
            && keyspace::may_see(caller, found.as_ref())
    };
    // A cursor comes from outside: what it carries is looked at like anything else.
    let mut keys: Vec<String> = place.left.into_iter().filter(|key| fits(key)).collect();
    let mut left = keys.split_off(keys.len().min(limit));
    let mut scan = place.scan;
    // A page that begins with a carried rest of the last round has nothing more to scan.
    let mut ended = scan == "0" && cursor.is_some();
    let mut count = limit;
    for _ in 0..ROUNDS {
        if ended || keys.len() >= limit {
            break;
        }
        let asked = u32::try_from(count).unwrap_or(ROUND_KEYS).clamp(1, ROUND_KEYS);
        let (next, found) = keyspace::scan(app.store(), &scan, Some(&glob), asked).await?;
        let mut found: Vec<String> = found
            .into_iter()
            .filter_map(|key| String::from_utf8(key).ok())
            .filter(|key| fits(key))
            .collect();
        found.retain(|key| !keys.contains(key));
        let room = limit - keys.len();
        let rest = found.split_off(found.len().min(room));
        if rest.iter().map(String::len).sum::<usize>() > CARRIED && asked > 1 {
            // Nothing of this round is used: ask for less of it.
            count = (count / 4).max(1);
            continue;
        }
        // Sparse regions are crossed in long steps, dense ones in short.
        count = if found.is_empty() { count.saturating_mul(4) } else { limit };
        keys.extend(found);
        left = rest;
        ended = next == "0";
        scan = next;
    }
    let bytes: Vec<Vec<u8>> = keys.into_iter().map(String::into_bytes).collect();
    let items = keyview::lines(app.store(), &bytes).await?;
    let more = !ended || !left.is_empty();
    Ok(KeyPage { items, cursor: more.then(|| pack_cursor(&Place { scan, left })) })
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
    Ok(Json(keyview::view(app.store(), &app.keyspace, &caller, &key).await?))
}
