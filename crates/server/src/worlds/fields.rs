//! `GET /api/worlds`: which fields hold something, with counts, for those who want to choose one. Found by SCAN
//! over the field sets of both modules, for a bounded time; what the caller's token does not cover is left out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use field::{Field, Tenant};
use kernel::keyspace::{Classifier, KeyDef, Table, scan_glob};
use kernel::{Cmd, Scan, reply};
use serde_json::{Value, json};
use uuid::Uuid;

use super::document;
use crate::app::App;
use crate::caller::Caller;
use crate::modules;
use crate::reply::Refusal;
use crate::wire;

/// How long a look may take; a store with very many keys is seen in part.
const LOOK: Duration = Duration::from_secs(1);
/// How many fields are answered at most.
const MOST: usize = 500;

/// One module's sets.
struct Sets {
    module: &'static str,
    table: &'static Table,
    map: &'static KeyDef,
    /// The key of one of its members.
    one: &'static KeyDef,
    id: &'static str,
}

static SETS: [Sets; 2] = [
    Sets {
        module: "reactors",
        table: &reactors::keys::TABLE,
        map: &reactors::keys::def::map,
        one: &reactors::keys::def::reactor,
        id: "id",
    },
    Sets {
        module: "monsters",
        table: &monsters::keys::TABLE,
        map: &monsters::keys::def::map,
        one: &monsters::keys::def::monster,
        id: "unique_id",
    },
];

#[derive(Default)]
struct Found {
    counts: BTreeMap<&'static str, u64>,
    /// The place where region and version can be read.
    sample: Option<String>,
}

/// The fields that hold reactors or monsters.
#[utoipa::path(get, path = "/api/worlds", tag = "reactors",
    responses((status = 200, description = "resources of type `fields`: `tenant`, the parts of the field, `reactors` and \
        `monsters` as counts; `meta.complete` is false when the look was cut short")))]
pub(crate) async fn fields(
    State(app): State<modules::State>,
    caller: Caller,
) -> Result<Response, Refusal> {
    let mut all: BTreeMap<(Uuid, Field), Found> = BTreeMap::new();
    let until = Instant::now() + LOOK;
    let mut complete = true;
    for sets in SETS.iter().filter(|sets| app.runs(sets.module)) {
        complete &= look(&app, sets, &caller, until, &mut all).await?;
    }
    let mut data = Vec::new();
    for ((id, field), found) in all.into_iter().take(MOST) {
        let tenant = tenant(&app, id, found.sample.as_deref()).await?;
        let mut attributes = json!({
            "tenant": tenant, "worldId": field.world_id, "channelId": field.channel_id,
            "mapId": field.map_id, "instance": field.instance,
        });
        for sets in &SETS {
            attributes[sets.module] = found.counts.get(sets.module).copied().unwrap_or(0).into();
        }
        data.push(
            json!({ "type": "fields", "id": format!("{id}/{field}"), "attributes": attributes }),
        );
    }
    let meta = json!({ "total": data.len(), "complete": complete });
    Ok(document::answer(StatusCode::OK, &json!({ "data": data, "meta": meta })))
}

/// Walks one module's sets. `false`: the time was over before the end.
async fn look(
    app: &App,
    sets: &'static Sets,
    caller: &Caller,
    until: Instant,
    all: &mut BTreeMap<(Uuid, Field), Found>,
) -> Result<bool, Refusal> {
    let layout = app.keyspace.layout;
    let Ok(glob) = scan_glob(sets.map, layout, &[]) else { return Ok(true) };
    let none: [&str; 0] = [];
    let classifier = Classifier::new(&[sets.table], &none);
    let mut scan = Scan::open(app.store(), wire::CALL).await?.matching(glob);
    while let Some(keys) = scan.next(1_000).await? {
        let mut places = Vec::new();
        for key in &keys {
            let Some(known) = classifier.classify(key) else { continue };
            let part = |name: &str| known.param(name).unwrap_or_default();
            let field = Field::parse(
                part("world_id"),
                part("channel_id"),
                part("map_id"),
                part("instance"),
            );
            let (Ok(field), Ok(tenant)) = (field, Uuid::parse_str(part("tenant_id"))) else {
                continue;
            };
            if std::ptr::eq(known.def, sets.map) && caller.may_tenant(part("tenant_id")) {
                places.push((key, tenant, field));
            }
        }
        let asks: Vec<Cmd> = places
            .iter()
            .flat_map(|(key, ..)| {
                ["SCARD", "SRANDMEMBER"].map(|name| {
                    let mut cmd = Cmd::new();
                    cmd.arg(name).arg(key.as_slice());
                    cmd
                })
            })
            .collect();
        let answers = app.store().pipeline(&asks, kernel::Deadline::after(wire::CALL)).await?;
        for ((_, tenant, field), pair) in places.into_iter().zip(answers.chunks_exact(2)) {
            let count = pair[0].as_ref().ok().and_then(reply::int).unwrap_or(0);
            let member = pair[1].as_ref().ok().and_then(reply::text);
            let found = all.entry((tenant, field)).or_default();
            found.counts.insert(sets.module, u64::try_from(count).unwrap_or(0));
            if let (None, Some(member)) = (&found.sample, member) {
                let values = [("tenant_id", &*tenant.to_string()), (sets.id, member)];
                found.sample = sets.one.render(layout, &values).ok().map(Into::into);
            }
        }
        if Instant::now() >= until {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tenant with its region and version, as one of its things says.
async fn tenant(app: &App, id: Uuid, sample: Option<&str>) -> Result<Tenant, Refusal> {
    let Some(key) = sample else { return Ok(Tenant::of(id)) };
    let text = wire::text(&wire::call(app.store(), &["GET", key]).await?).unwrap_or_default();
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    // A reactor has an object, a monster has members of its own.
    let region = value["tenant"]["region"].as_str().or(value["tenantRegion"].as_str());
    let number = |name: &str, other: &str| {
        let number = value["tenant"][name].as_u64().or(value[other].as_u64());
        number.and_then(|number| u16::try_from(number).ok()).unwrap_or(0)
    };
    Ok(Tenant {
        id,
        region: region.unwrap_or_default().to_owned(),
        major_version: number("majorVersion", "tenantMajorVersion"),
        minor_version: number("minorVersion", "tenantMinorVersion"),
    })
}
