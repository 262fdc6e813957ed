//! JSON:API documents as the worlds' routes answer them: `{"data":{"type","id","attributes"}}`, media type
//! `application/vnd.api+json`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

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
