//! Photos of a room by links that end in their hash. What a link leads to never changes, so browsers keep it; a server
//! keeps those of the rooms whose sockets it has, as long as it has them.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;

use super::gateway;
use super::http::{code_of, known};
use crate::app::App;
use crate::caller::Caller;
use crate::reply::{self, Refusal};

/// As long as a room lives.
const KEEP: HeaderValue = HeaderValue::from_static("private, max-age=43200, immutable");

/// The photos of one room, by their hashes: at most one per player, as the room has them now.
#[derive(Default)]
pub(super) struct Photos(Mutex<HashMap<String, (&'static str, Bytes)>>);

impl Photos {
    fn get(&self, hash: &str) -> Option<(&'static str, Bytes)> {
        self.0.lock().get(hash).cloned()
    }

    fn keep(&self, all: &[rooms::Photo]) {
        let entry = |one: &rooms::Photo| {
            (one.hash.clone(), (one.media, Bytes::copy_from_slice(&one.bytes)))
        };
        *self.0.lock() = all.iter().map(entry).collect();
    }
}

/// A player's photo.
#[utoipa::path(get, path = "/api/rooms/{code}/photos/{hash}", tag = "rooms",
    params(("code" = String, Path, description = "the room's code"),
        ("hash" = String, Path, description = "as a state with `photos=links` has it")),
    responses((status = 200, description = "JPEG, PNG or WebP"), (status = 404), (status = 410)))]
pub(crate) async fn photo(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((code, hash)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let code = code_of(&code)?;
    let gateway = gateway::of(&app);
    let room = gateway.room(&code);
    let kept = room.as_ref().and_then(|room| room.photos.get(&hash));
    let (media, bytes) = if let Some(kept) = kept {
        kept
    } else {
        let all = known(&app, &caller, gateway.rooms.photos(&code)).await?;
        if let Some(room) = &room {
            room.photos.keep(&all);
        }
        let found = all.into_iter().find(|one| one.hash == hash);
        let found = found.ok_or_else(|| Refusal::from(reply::NOT_FOUND))?;
        (found.media, Bytes::from(found.bytes))
    };
    let headers =
        [(header::CONTENT_TYPE, HeaderValue::from_static(media)), (header::CACHE_CONTROL, KEEP)];
    Ok((headers, bytes).into_response())
}
