//! JSON:API documents as the worlds' routes answer them: `{"data":{"type","id","attributes"}}`, media type
//! `application/vnd.api+json`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

use crate::reply::Refusal;

const MEDIA: HeaderValue = HeaderValue::from_static("application/vnd.api+json");

/// One thing with its attributes.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Resource<A> {
    /// `reactors` or `monsters`, or what the route answers with.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// As text.
    pub(crate) id: String,
    /// The attributes.
    pub(crate) attributes: A,
}

/// One resource, as most routes answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct One<A> {
    /// The resource.
    pub(crate) data: Resource<A>,
}

/// A page of them.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Many<A> {
    /// The resources of this page.
    pub(crate) data: Vec<Resource<A>>,
    /// `total` after filtering, and `page` with `number`, `size` and `last`.
    #[schema(value_type = Object)]
    pub(crate) meta: Value,
    /// `self`, `first`, `last`, and `prev` and `next` where there are such pages.
    #[schema(value_type = Object)]
    pub(crate) links: Value,
}

/// The answers of a call about many, in the order of its items. Each is the document that a call about it alone would
/// have had: `data`, or `errors`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Bulk<A> {
    /// One for each item.
    pub(crate) data: Vec<Answered<A>>,
    /// How many of them were refused.
    pub(crate) meta: BulkMeta,
}

/// The answer to one item: `data` or `errors`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Answered<A> {
    /// The resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Resource<A>>,
    /// Why there is none, as in the answer of a refused call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    errors: Option<Value>,
}

/// The counts of a call about many.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BulkMeta {
    /// Items that were done.
    done: usize,
    /// Items that were refused.
    refused: usize,
}

/// Answers each item of a call about many.
pub(crate) fn bulk<A: Serialize>(answers: Vec<Result<Resource<A>, Refusal>>) -> Response {
    let mut meta = BulkMeta { done: 0, refused: 0 };
    let mut data = Vec::with_capacity(answers.len());
    for (at, answer) in answers.into_iter().enumerate() {
        data.push(match answer {
            Ok(resource) => {
                meta.done += 1;
                Answered { data: Some(resource), errors: None }
            }
            Err(mut refusal) => {
                meta.refused += 1;
                // A pointer into the item becomes one into the whole body.
                let place = |field: String| match field.strip_prefix("/data/") {
                    Some(rest) => format!("/data/{at}/{rest}"),
                    None => field,
                };
                refusal.field = refusal.field.map(place);
                let told = crate::reply::json_api_error(&refusal);
                Answered { data: None, errors: Some(json!([told])) }
            }
        });
    }
    answer(StatusCode::OK, &Bulk { data, meta })
}

/// Answers with one resource.
pub(crate) fn one<A: Serialize>(kind: &'static str, id: u32, attributes: A) -> Response {
    answer(StatusCode::OK, &One { data: Resource { kind, id: id.to_string(), attributes } })
}

/// Answers that one was made, and where it is.
pub(crate) fn created<A: Serialize>(
    place: &str,
    kind: &'static str,
    id: u32,
    attributes: A,
) -> Response {
    let id = id.to_string();
    let place = HeaderValue::try_from(format!("{place}/{id}"));
    let mut response =
        answer(StatusCode::CREATED, &One { data: Resource { kind, id, attributes } });
    if let Ok(place) = place {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

/// Answers with a status and attributes of something that has no id of its own.
pub(crate) fn result<A: Serialize>(
    status: StatusCode,
    kind: &'static str,
    attributes: A,
) -> Response {
    answer(status, &json!({ "data": { "type": kind, "attributes": attributes } }))
}

/// How many of a module's things were taken away.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TeardownAttributes {
    /// Of all tenants.
    pub(crate) destroyed: u64,
}

/// Answers that so many are gone, of all tenants.
pub(crate) fn torn_down(destroyed: u64) -> Response {
    result(StatusCode::OK, "teardowns", TeardownAttributes { destroyed })
}

/// Answers that the request was taken and has nothing to say yet.
pub(crate) fn taken() -> Response {
    StatusCode::ACCEPTED.into_response()
}

/// The templates of a catalogue, each with its id.
pub(crate) fn templates<'a, T: Serialize + 'a>(
    kind: &str,
    all: impl Iterator<Item = (impl ToString, &'a T)>,
) -> Response {
    let data: Vec<_> = all
        .map(|(id, one)| json!({ "type": kind, "id": id.to_string(), "attributes": one }))
        .collect();
    answer(StatusCode::OK, &json!({ "data": data }))
}

/// Any document, with the media type.
pub(crate) fn answer<T: Serialize>(status: StatusCode, document: &T) -> Response {
    match serde_json::to_vec(document) {
        Ok(body) => (status, [(header::CONTENT_TYPE, MEDIA)], body).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            crate::reply::Refusal::from(crate::reply::INTERNAL).into_response()
        }
    }
}
