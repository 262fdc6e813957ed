//! The handlers. Each reads, asks the module, and answers in JSON:API.

use std::collections::HashMap;

use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use field::Point;
use monsters::{Monster, MonsterError, Used};
use serde::Serialize;

use super::attributes::{
    self, AppliedAttributes, BlowAttributes, CancelledAttributes, MonsterAttributes,
    MovedAttributes, NewAttack, NewItems, NewMonster, NewMovement, NewPresence, NewSkill,
    NewStatus, UsedAttributes,
};
use super::handle;
use crate::extract::Body;
use crate::modules;
use crate::reply::{self, Refusal};
use crate::worlds::attributes::{Attributes, Items};
use crate::worlds::document::{self, Bulk, Many, One, Resource, TeardownAttributes};
use crate::worlds::paging::Paging;
use crate::worlds::{At, FieldPath, Id, Of, PageQuery, TenantHeaders};

const KIND: &str = "monsters";
/// The log of monsters that cannot be read.
static RUINED: kernel::LogOnce = kernel::LogOnce::new();
/// A list of types is no longer.
const MOST_TYPES: usize = 64;

fn resource(monster: &Monster) -> Resource<MonsterAttributes> {
    let id = monster.unique_id.to_string();
    Resource { kind: KIND, id, attributes: MonsterAttributes::of(monster) }
}

/// One monster, and what it waits for.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct MonsterAnswer {
    data: Resource<MonsterAttributes>,
    meta: Waits,
}

/// The skills that a monster cannot use yet.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Waits {
    cooldowns: Vec<Wait>,
}

/// One such skill.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wait {
    skill_id: u16,
    remaining_ms: u64,
}

/// One monster of the tenant. `meta.cooldowns` has the skills it cannot use yet, each with `remainingMs`.
#[utoipa::path(get, path = "/api/monsters/{id}", tag = "monsters",
    params(("id" = u32, Path, description = "1000000000 to 2000000000"), TenantHeaders),
    responses((status = 200, body = MonsterAnswer), (status = 400), (status = 404)))]
pub(crate) async fn show(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
) -> Result<Response, Refusal> {
    let monsters = handle(&app)?;
    let monster = monsters.get(&tenant, id).await?;
    let waits = monsters.cooldowns(&tenant, &monster).await?;
    let cooldowns =
        waits.into_iter().map(|(skill_id, remaining_ms)| Wait { skill_id, remaining_ms }).collect();
    let answer = MonsterAnswer { data: resource(&monster), meta: Waits { cooldowns } };
    Ok(document::answer(StatusCode::OK, &answer))
}

/// Takes a monster away, without loot or revives.
#[utoipa::path(delete, path = "/api/monsters/{id}", tag = "monsters",
    params(("id" = u32, Path, description = "1000000000 to 2000000000"), TenantHeaders),
    responses((status = 204), (status = 400), (status = 404)))]
pub(crate) async fn destroy(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
) -> Result<Response, Refusal> {
    handle(&app)?.destroy(&tenant, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Hits a monster: one attack of one or more hits. Exactly one attack in its life kills.
#[utoipa::path(post, path = "/api/monsters/{id}/damage", tag = "monsters",
    params(("id" = u32, Path, description = "1000000000 to 2000000000"), TenantHeaders),
    request_body(content = NewAttack, description = "as `data.attributes`"),
    responses((status = 200, body = One<BlowAttributes>), (status = 400), (status = 404), (status = 409)))]
pub(crate) async fn damage(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
    given: Attributes,
) -> Result<Response, Refusal> {
    let attack = attributes::attack(&given.of("damage")?)?;
    let blow = handle(&app)?.damage(&tenant, id, attack).await?;
    Ok(document::one("damage", id, BlowAttributes::from(blow)))
}

/// Moves a monster.
#[utoipa::path(post, path = "/api/monsters/{id}/movement", tag = "monsters",
    params(("id" = u32, Path, description = "1000000000 to 2000000000"), TenantHeaders),
    request_body(content = NewMovement, description = "as `data.attributes`"),
    responses((status = 200, body = One<MonsterAttributes>), (status = 400), (status = 404)))]
pub(crate) async fn movement(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
    given: Attributes,
) -> Result<Response, Refusal> {
    let to = attributes::movement(&given.of("movement")?)?;
    let monster = handle(&app)?.movement(&tenant, id, to).await?;
    Ok(document::one(KIND, id, MonsterAttributes::of(&monster)))
}

/// Applies a status effect.
#[utoipa::path(post, path = "/api/monsters/{id}/status", tag = "monsters",
    params(("id" = u32, Path, description = "1000000000 to 2000000000"), TenantHeaders),
    request_body(content = NewStatus, description = "as `data.attributes`"),
    responses((status = 201, body = One<AppliedAttributes>), (status = 400), (status = 404), (status = 409)))]
pub(crate) async fn apply(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
    given: Attributes,
) -> Result<Response, Refusal> {
    let effect = attributes::effect(&given.of("status")?)?;
    let applied = handle(&app)?.apply_status(&tenant, id, &effect).await?;
    let (effect_id, life) = (applied.effect_id.to_string(), applied.life);
    Ok(document::result(StatusCode::CREATED, "status", AppliedAttributes { effect_id, life }))
}

/// Takes effects away: those that contain any of `types`, or all.
#[utoipa::path(delete, path = "/api/monsters/{id}/status", tag = "monsters",
    params(("id" = u32, Path, description = "1000000000 to 2000000000"), TenantHeaders,
        ("types" = Option<String>, Query, description = "such as POISON,STUN; without it all")),
    responses((status = 200, body = One<CancelledAttributes>), (status = 400), (status = 404)))]
pub(crate) async fn cancel(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
    paging: Paging,
) -> Result<Response, Refusal> {
    let types = paging.other("types").unwrap_or_default();
    let types: Vec<String> =
        types.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
    if types.len() > MOST_TYPES {
        return Err(Refusal::new(reply::BAD_FIELD, "types names more than 64").field("types"));
    }
    let gone = handle(&app)?.cancel_status(&tenant, id, &types, None).await?;
    let shown = CancelledAttributes { cancelled: gone.effects.len(), life: gone.life };
    Ok(document::one("status", id, shown))
}

/// A monster uses a skill.
#[utoipa::path(post, path = "/api/monsters/{id}/skills", tag = "monsters",
    params(("id" = u32, Path, description = "1000000000 to 2000000000"), TenantHeaders),
    request_body(content = NewSkill, description = "as `data.attributes`"),
    responses((status = 200, body = One<UsedAttributes>), (status = 400), (status = 404), (status = 409)))]
pub(crate) async fn skill(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Id(id): Id,
    given: Attributes,
) -> Result<Response, Refusal> {
    let given = given.of("skills")?;
    let (skill, level) = (given.need("skillId")?, given.need("skillLevel")?);
    let gm = given.flag("gm")?.unwrap_or(false);
    let used = handle(&app)?.use_skill(&tenant, id, skill, level, gm).await?;
    let Used { worked, delay_ms, mp, life } = used;
    let shown = UsedAttributes { worked, delay_ms, mp, life };
    Ok(document::one("skills", id, shown))
}

/// Takes away every monster of every tenant. Counters and free ids remain.
#[utoipa::path(delete, path = "/api/monsters", tag = "monsters",
    responses((status = 200, body = One<TeardownAttributes>), (status = 403)))]
pub(crate) async fn teardown(State(app): State<modules::State>) -> Result<Response, Refusal> {
    Ok(document::torn_down(handle(&app)?.teardown().await?.destroyed as u64))
}

/// The monsters of a field, by ascending id. `monsterId` filters.
#[utoipa::path(get, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/monsters",
    tag = "monsters",
    params(FieldPath, TenantHeaders, PageQuery,
        ("monsterId" = Option<u32>, Query, description = "only monsters of this template")),
    responses((status = 200, body = Many<MonsterAttributes>), (status = 400)))]
pub(crate) async fn list(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    paging: Paging,
) -> Result<Response, Refusal> {
    let mut listed = handle(&app)?.list(&tenant, field).await?;
    for (id, what) in &listed.ruined {
        if RUINED.is_news(&format!("{} {id}", tenant.id), what) {
            tracing::warn!(id, what, "a monster cannot be read");
        }
    }
    if let Some(text) = paging.filter("monsterId") {
        let wanted: u32 = field::number("monsterId", text)?;
        listed.monsters.retain(|monster| monster.monster_id == wanted);
    }
    let (total, page) = paging.cut(listed.monsters);
    Ok(paging.answer(total, page.iter().map(resource).collect()))
}

/// Monsters in a box, nearest to its centre first. Corners come in any order, edges are inside.
#[utoipa::path(get, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/monsters/in-rect",
    tag = "monsters",
    params(FieldPath, TenantHeaders, PageQuery,
        ("x1" = i16, Query), ("y1" = i16, Query), ("x2" = i16, Query), ("y2" = i16, Query),
        ("max" = Option<u32>, Query, description = "at most so many")),
    responses((status = 200, body = Many<MonsterAttributes>), (status = 400)))]
pub(crate) async fn in_rect(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    paging: Paging,
) -> Result<Response, Refusal> {
    let side = |name: &'static str| {
        let text = paging.other(name).unwrap_or_default();
        field::number::<i16>(name, text)
    };
    let corners = (Point::new(side("x1")?, side("y1")?), Point::new(side("x2")?, side("y2")?));
    let max = match paging.other("max") {
        Some(text) => field::number::<u32>("max", text)? as usize,
        None => usize::MAX,
    };
    let found = handle(&app)?.in_rect(&tenant, field, corners, max).await?;
    let (total, page) = paging.cut(found);
    Ok(paging.answer(total, page.iter().map(resource).collect()))
}

/// Spawns a monster; hp, mp, stance and controller come from its template and the field.
#[utoipa::path(post, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/monsters",
    tag = "monsters", params(FieldPath, TenantHeaders),
    request_body(content = NewMonster, description = "as `data.attributes`"),
    responses((status = 201, body = One<MonsterAttributes>), (status = 400)))]
pub(crate) async fn spawn(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    given: Attributes,
) -> Result<Response, Refusal> {
    let spawn = attributes::new(&given.of(KIND)?)?;
    let monster = handle(&app)?.spawn(&tenant, field, &spawn).await?;
    let (place, id) = (format!("/api/{KIND}"), monster.unique_id);
    Ok(document::created(&place, KIND, id, MonsterAttributes::of(&monster)))
}

/// Spawns many monsters of a field in one call. Each item is as the body of a spawn, and has its own answer.
#[utoipa::path(post, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/monsters/bulk",
    tag = "monsters", params(FieldPath, TenantHeaders), request_body(content = NewItems),
    responses((status = 200, body = Bulk<MonsterAttributes>), (status = 400)))]
pub(crate) async fn spawn_many(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    Items(items): Items,
) -> Result<Response, Refusal> {
    let read = |item: Result<Attributes, Refusal>| attributes::new(&item?.of(KIND)?);
    let bulk = Given::read(items, read);
    let born = handle(&app)?.spawn_many(&tenant, field, &bulk.good).await?;
    Ok(bulk.answer(born, |monster| resource(&monster)))
}

/// Moves many monsters in one call. Each item has the `id` of a monster and the attributes of a movement, and its own
/// answer; moves of one monster take effect in their order.
#[utoipa::path(post, path = "/api/monsters/bulk/movement", tag = "monsters", params(TenantHeaders),
    request_body(content = NewItems),
    responses((status = 200, body = Bulk<MovedAttributes>), (status = 400)))]
pub(crate) async fn move_many(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Items(items): Items,
) -> Result<Response, Refusal> {
    let read = |item: Result<Attributes, Refusal>| {
        let item = item?.of("movement")?;
        Ok((item.id()?, attributes::movement(&item)?))
    };
    let bulk = Given::read(items, read);
    let moved = handle(&app)?.move_all(&tenant, &bulk.good).await?;
    Ok(bulk.answer(moved, |monster| {
        let (kind, id) = ("movement", monster.unique_id.to_string());
        Resource { kind, id, attributes: MovedAttributes::from(&monster) }
    }))
}

/// Reads many monsters in one call. Each item is `{"id": …}` and has its own answer.
#[utoipa::path(post, path = "/api/monsters/bulk/read", tag = "monsters", params(TenantHeaders),
    request_body(content = NewItems),
    responses((status = 200, body = Bulk<MonsterAttributes>), (status = 400)))]
pub(crate) async fn read_many(
    State(app): State<modules::State>,
    Of(tenant): Of,
    Items(items): Items,
) -> Result<Response, Refusal> {
    let bulk = Given::read(items, |item| item?.of(KIND)?.id());
    let read = handle(&app)?.get_all(&tenant, &bulk.good).await?;
    Ok(bulk.answer(read, |monster| resource(&monster)))
}

/// The items of a call about many: those that can be asked for, and what is wrong with each of the others.
struct Given<T> {
    good: Vec<T>,
    /// For each item, what is wrong with it.
    wrong: Vec<Option<Refusal>>,
}

impl<T> Given<T> {
    fn read(
        items: Vec<Result<Attributes, Refusal>>,
        read: impl Fn(Result<Attributes, Refusal>) -> Result<T, Refusal>,
    ) -> Self {
        let mut given = Given { good: Vec::with_capacity(items.len()), wrong: Vec::new() };
        for item in items {
            given.wrong.push(match read(item) {
                Ok(good) => {
                    given.good.push(good);
                    None
                }
                Err(wrong) => Some(wrong),
            });
        }
        given
    }

    /// Puts the answers to the good ones in their places.
    fn answer<A: Serialize>(
        self,
        answers: Vec<Result<Monster, MonsterError>>,
        show: impl Fn(Monster) -> Resource<A>,
    ) -> Response {
        let mut answers = answers.into_iter();
        let each = self.wrong.into_iter().map(|wrong| match wrong {
            Some(wrong) => Err(wrong),
            None => match answers.next() {
                Some(answer) => answer.map(&show).map_err(Refusal::from),
                None => Err(reply::INTERNAL.into()),
            },
        });
        document::bulk(each.collect())
    }
}

/// Takes away every monster of a field.
#[utoipa::path(delete, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/monsters",
    tag = "monsters", params(FieldPath, TenantHeaders), responses((status = 202), (status = 400)))]
pub(crate) async fn clear(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
) -> Result<Response, Refusal> {
    handle(&app)?.destroy_field(&tenant, field).await?;
    Ok(document::taken())
}

/// A character is in the field: it may control monsters.
#[utoipa::path(put, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/characters/{character}",
    tag = "monsters", params(FieldPath, TenantHeaders, ("character" = u32, Path)),
    request_body(content = NewPresence, description = "as `data.attributes`"),
    responses((status = 204), (status = 400)))]
pub(crate) async fn enter(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    Character(character): Character,
    Hidden(hidden): Hidden,
) -> Result<Response, Refusal> {
    handle(&app)?.enter(&tenant, field, character, hidden).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A character has left the field: its monsters go to those who stay.
#[utoipa::path(delete, path = "/api/worlds/{world}/channels/{channel}/maps/{map}/instances/{instance}/characters/{character}",
    tag = "monsters", params(FieldPath, TenantHeaders, ("character" = u32, Path)),
    responses((status = 204), (status = 400)))]
pub(crate) async fn leave(
    State(app): State<modules::State>,
    Of(tenant): Of,
    At(field): At,
    Character(character): Character,
) -> Result<Response, Refusal> {
    handle(&app)?.leave(&tenant, field, character).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The `{character}` of a path.
pub(crate) struct Character(u32);

impl<S: Send + Sync> FromRequestParts<S> for Character {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, state).await;
        let all = path.map_err(|_| Refusal::new(reply::BAD_REQUEST, "the path is not UTF-8"))?.0;
        let text = all.get("character").map_or("", String::as_str);
        match field::number("characterId", text)? {
            0 => Err(Refusal::new(reply::BAD_FIELD, "characterId must be more than 0")
                .field("characterId")),
            character => Ok(Character(character)),
        }
    }
}

/// Whether nobody sees the character; a body need not be there.
pub(crate) struct Hidden(bool);

impl<S: Send + Sync> FromRequest<S> for Hidden {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        match Body::<serde_json::Value>::from_request(request, state).await?.0 {
            serde_json::Value::Object(all) if all.is_empty() => Ok(Hidden(false)),
            body => Ok(Hidden(Attributes::read(body)?.flag("hidden")?.unwrap_or(false))),
        }
    }
}

/// The templates that monsters are made from.
#[utoipa::path(get, path = "/api/monsters/templates", tag = "monsters",
    responses((status = 200, description = "`data` as the catalogue's files have it, by id")))]
pub(crate) async fn templates(State(app): State<modules::State>) -> Result<Response, Refusal> {
    let all = handle(&app)?.templates().all();
    Ok(document::templates("monster-templates", all.iter().map(|one| (one.id, &**one))))
}
