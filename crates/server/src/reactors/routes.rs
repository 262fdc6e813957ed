//! The handlers. Each reads, asks the module, and answers in JSON:API.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use reactors::{Created, Reactor, refusal};
use serde_json::json;

use super::attributes::{
    self, DropAttributes, HitAttributes, NewDrop, NewHit, NewReactor, ReactorAttributes,
};
use super::{commands, handle};
use crate::modules;
use crate::reply::Refusal;
use crate::worlds::attributes::Attributes;
use crate::worlds::document::{self, Many, One, Resource, TeardownAttributes};
use crate::worlds::paging::Paging;
use crate::worlds::{At, FieldPath, Id, Later, Of, PageQuery, TenantHeaders};

const KIND: &str = "reactors";

fn resource(reactor: Reactor) -> Resource<ReactorAttributes> {
    Resource { kind: KIND, id: reactor.id.to_string(), attributes: reactor.into() }
}

/// One reactor of the tenant.
#[utoipa::path(get, path = "/api/reactors/{id}", tag = "reactors",
    params(("id" = u32, Path, description = "1000000001 to 2000000000"), TenantHeaders),
    responses((status = 200, body = One<ReactorAttributes>), (status = 400), (status = 404)))]
pub(crate) async fn show(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
) -> Result<Response, Refusal> {
    let reactor = handle(&app)?.get(tenant.id, id).await?;
    Ok(document::one(KIND, id, ReactorAttributes::from(reactor)))
}

/// Takes a reactor away; its spot cools down.
#[utoipa::path(delete, path = "/api/reactors/{id}", tag = "reactors",
    params(("id" = u32, Path, description = "1000000001 to 2000000000"), TenantHeaders),
    responses((status = 204), (status = 400), (status = 404)))]
pub(crate) async fn destroy(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
) -> Result<Response, Refusal> {
    handle(&app)?.destroy(tenant.id, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Strikes a reactor.
#[utoipa::path(post, path = "/api/reactors/{id}/hits", tag = "reactors",
    params(("id" = u32, Path, description = "1000000001 to 2000000000"), TenantHeaders),
    request_body(content = NewHit, description = "as `data.attributes`"),
    responses((status = 200, body = One<HitAttributes>), (status = 400), (status = 404)))]
pub(crate) async fn hit(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
    given: Attributes,
) -> Result<Response, Refusal> {
    let hit = attributes::hit(&given.of("hits")?)?;
    let struck = handle(&app)?.hit(tenant.id, id, hit).await?;
    Ok(document::one("hits", id, HitAttributes::from(struck)))
}

/// Takes away every reactor of every tenant. Cooldowns are recorded.
#[utoipa::path(delete, path = "/api/reactors", tag = "reactors",
    responses((status = 200, body = One<TeardownAttributes>), (status = 403)))]
pub(crate) async fn teardown(State(app): State<modules::State>) -> Result<Response, Refusal> {
    Ok(document::torn_down(handle(&app)?.teardown().await?))
}

/// The reactors of a field, by ascending id. `name` filters, exactly.
#[utoipa::path(get, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/reactors",
    tag = "reactors",
    params(FieldPath, TenantHeaders, PageQuery,
        ("name" = Option<String>, Query, description = "only reactors of exactly this name")),
    responses((status = 200, body = Many<ReactorAttributes>), (status = 400)))]
pub(crate) async fn list(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    paging: Paging,
) -> Result<Response, Refusal> {
    let mut listing = handle(&app)?.list(tenant.id, field).await?;
    for fault in &listing.corrupt {
        crate::reply::tell_fault(fault);
    }
    if let Some(name) = paging.filter("name") {
        listing.reactors.retain(|reactor| reactor.name == name);
    }
    let (total, page) = paging.cut(listing.reactors);
    Ok(paging.answer(total, page.into_iter().map(resource).collect()))
}

/// One reactor, if it stands in this field.
#[utoipa::path(get, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/reactors/{id}",
    tag = "reactors",
    params(FieldPath, TenantHeaders, ("id" = u32, Path, description = "1000000001 to 2000000000")),
    responses((status = 200, body = One<ReactorAttributes>), (status = 400), (status = 404)))]
pub(crate) async fn show_in_field(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    Id(id): Id,
) -> Result<Response, Refusal> {
    let reactor = handle(&app)?.get(tenant.id, id).await?;
    if reactor.field() != field {
        return Err(Refusal::new(
            refusal::NO_REACTOR,
            format!("unable to locate reactor {id} in this field"),
        ));
    }
    Ok(document::one(KIND, id, ReactorAttributes::from(reactor)))
}

/// Makes a reactor, or with `Prefer: respond-async` puts that on the list of commands.
#[utoipa::path(post, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/reactors",
    tag = "reactors", params(FieldPath, TenantHeaders),
    request_body(content = NewReactor, description = "as `data.attributes`"),
    responses((status = 201, body = One<ReactorAttributes>), (status = 202), (status = 400), (status = 409)))]
pub(crate) async fn create(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    Later(later): Later,
    given: Attributes,
) -> Result<Response, Refusal> {
    let new = attributes::new(field, &given.of(KIND)?)?;
    let reactors = handle(&app)?;
    if later {
        commands::queue_create(&app, &reactors, &tenant, new).await?;
        return Ok(document::taken());
    }
    match reactors.create(&tenant, new).await? {
        Created::Made(reactor) => {
            let place = format!("/api/{KIND}");
            Ok(document::created(&place, KIND, reactor.id, ReactorAttributes::from(*reactor)))
        }
        Created::OnCooldown { remaining_ms } => {
            let says = match remaining_ms {
                Some(ms) => format!("this spot stays empty for another {ms} ms"),
                None => "this spot stays empty until its cooldown key is removed".to_owned(),
            };
            let refusal = Refusal::new(refusal::ON_COOLDOWN, says);
            Err(refusal.details(json!({ "remainingMs": remaining_ms })))
        }
        Created::SpotTaken { id } => {
            let refusal =
                Refusal::new(refusal::SPOT_TAKEN, format!("reactor {id} stands on this spot"));
            Err(refusal.details(json!({ "reactorId": id.to_string() })))
        }
    }
}

/// Takes away everything in a field, cooldowns and spots too.
#[utoipa::path(delete, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/reactors",
    tag = "reactors", params(FieldPath, TenantHeaders), responses((status = 202), (status = 400)))]
pub(crate) async fn clear(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
) -> Result<Response, Refusal> {
    handle(&app)?.destroy_in_field(tenant.id, field).await?;
    Ok(document::taken())
}

/// Tells of an item on the ground; the answer says which reactor will take it.
#[utoipa::path(post, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/drops",
    tag = "reactors", params(FieldPath, TenantHeaders),
    request_body(content = NewDrop, description = "as `data.attributes`"),
    responses((status = 202, body = One<DropAttributes>), (status = 400)))]
pub(crate) async fn drop_item(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    given: Attributes,
) -> Result<Response, Refusal> {
    let drop = attributes::drop(&given.of("drops")?)?;
    let taker = handle(&app)?.offer(tenant.id, field, &drop).await?;
    let reactor_id = taker.map(|id| id.to_string());
    Ok(document::result(StatusCode::ACCEPTED, "drops", DropAttributes { reactor_id }))
}

/// The templates that reactors are made from.
#[utoipa::path(get, path = "/api/reactors/templates", tag = "reactors",
    responses((status = 200, description = "`data` as the catalogue's files have it, by classification")))]
pub(crate) async fn templates(State(app): State<modules::State>) -> Result<Response, Refusal> {
    let all = handle(&app)?.templates().all();
    Ok(document::templates("reactor-templates", all.iter().map(|one| (one.classification, &**one))))
}
