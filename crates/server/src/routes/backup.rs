//! `GET /api/backup` makes a backup and sends it: the file that `worldkeep backup` writes and `worldkeep restore` reads.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use tokio::io::AsyncReadExt as _;

use crate::app::App;
use crate::reply::{self, Refusal};

/// Bytes that are read at once.
const PART: usize = 256 * 1024;

/// The store and the galaxy's database as one file, made when it is asked for and encrypted with `backup.key`. Exempt from the
/// request's time limit; one at a time.
#[utoipa::path(get, path = "/api/backup", tag = "store",
    responses((status = 200, description = "a backup", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 404, description = "the store is in memory"), (status = 409, description = "one is being made")))]
pub(crate) async fn download(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    let no_files = || Refusal::new(reply::NOT_FOUND, "a store in memory has no backup");
    let maker = app.backups.maker.get().ok_or_else(no_files)?;
    let busy =
        |_| Refusal::new(reply::CONFLICT, "a backup is being made; try again when it is done");
    let one = app.backups.one.try_lock().map_err(busy)?;
    let made = maker().await.map_err(|why| Refusal::new(reply::INTERNAL, why))?;
    drop(one);
    let file = tokio::fs::File::from_std(made.file);
    let parts = futures_util::stream::try_unfold(file, |mut file| async move {
        let mut part = vec![0; PART];
        let len = file.read(&mut part).await?;
        part.truncate(len);
        Ok::<_, io::Error>((len > 0).then(|| (Bytes::from(part), file)))
    });
    let head = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, made.bytes.to_string()),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"worldkeep.backup\"".to_owned()),
    ];
    Ok((head, Body::from_stream(parts)).into_response())
}
