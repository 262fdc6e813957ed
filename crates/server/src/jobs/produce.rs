//! `POST /api/jobs` and `POST /api/jobs:batch`.

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jobs::{Dispatched, NewJob};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::body;
use super::handle::{Here, refuse};
use crate::reply::{self, Refusal};

/// The bytes that a job has around its payload, at most.
const AROUND: usize = 256 * 1024;
/// Jobs of one batch.
const BATCH: usize = 500;

/// Which namespace.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // Read by `Here`; this is its description.
pub(crate) struct NsQuery {
    /// A namespace of jobs.namespaces; the first one when absent.
    ns: Option<String>,
}

/// A job to dispatch. Only `type` is needed; docs/jobs.md explains every field.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)] // A description: the text is read by the queue, which names the field that is wrong.
pub(crate) struct JobBody {
    /// Which handler runs it.
    #[schema(example = "email")]
    r#type: String,
    /// Any JSON, kept byte for byte.
    #[schema(value_type = Option<Object>)]
    payload: Option<Value>,
    /// 1 to 128 of `A-Z a-z 0-9 . _ ~ - :`; a new UUID when absent.
    job_id: Option<String>,
    /// One of `delay` (ms), `runAt` (Unix ms), `cron` with `timezone`.
    #[schema(value_type = Option<Object>)]
    schedule: Option<Value>,
    /// `attempts`, `backoff` `{type,delay,maxDelay,jitter}`, `skipOn`, `rerouteOn`.
    #[schema(value_type = Option<Object>)]
    retry: Option<Value>,
    /// 1 to 10; 7 and more go to the front.
    priority: Option<u8>,
    /// Jobs that must complete first.
    depends_on: Option<Vec<String>>,
    /// `server`, or `stack`, `capabilities`, `region` with `mode`.
    #[schema(value_type = Option<Object>)]
    target: Option<Value>,
    #[schema(value_type = Option<Object>)]
    metadata: Option<Value>,
    /// `maxConcurrent`, `maxPerMinute`.
    #[schema(value_type = Option<Object>)]
    rate_limit: Option<Value>,
    /// `key`, `windowMs`, `onConflict`.
    #[schema(value_type = Option<Object>)]
    unique: Option<Value>,
    /// `key`, `waitMs`: runs once, that long after the last job with this key.
    #[schema(value_type = Option<Object>)]
    debounce: Option<Value>,
    /// `key`, `windowMs`: all but the first job with this key in the window are refused.
    #[schema(value_type = Option<Object>)]
    throttle: Option<Value>,
    /// `timeoutMs`, `expiresAt`, `traceparent`, `batch`, `exclude`, `limiter`, `group`, `sequence`, `onDependencyFailed` (`fail`,
    /// `wait` or `ignore`), `overlap`.
    #[schema(value_type = Option<Object>)]
    x: Option<Value>,
}

/// Stores a job and puts it where it belongs.
#[utoipa::path(post, path = "/api/jobs", tag = "jobs", params(NsQuery), request_body = JobBody,
    responses(
        (status = 201, description = "the stored job, and its `status`", body = Object),
        (status = 400, description = "a field is wrong; `field` names it"),
        (status = 409, description = "the id or the unique key is taken; `details.jobId` holds it"),
        (status = 413), (status = 429, description = "jobs.max_waiting jobs wait already")))]
pub(crate) async fn dispatch(here: Here, request: Request) -> Result<Response, Refusal> {
    let trace = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    let trace = trace.map(str::to_owned);
    let most = here.app.settings.jobs.payload_bytes.saturating_add(AROUND);
    let text = body::text(request, most).await?;
    let mut job = NewJob::from_json(&text).map_err(refuse)?;
    if let (None, Some(trace)) = (&job.x.traceparent, trace) {
        job = job.traceparent(trace);
    }
    let made = here.jobs.dispatch(job).await.map_err(refuse)?;
    Ok((StatusCode::CREATED, Json(seen(&here, &made))).into_response())
}

/// The stored job and its status, as far as its sender may see it.
pub(super) fn seen(here: &Here, made: &Dispatched) -> Box<RawValue> {
    let text = serde_json::to_string(made).unwrap_or_default();
    here.view.job(&text)
}

/// Many jobs.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[allow(dead_code)]
pub(crate) struct BatchBody {
    /// Up to 500.
    jobs: Vec<JobBody>,
}

/// One answer per job, in order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BatchAnswer {
    items: Vec<BatchItem>,
    /// How many were stored.
    dispatched: usize,
    /// How many were not.
    refused: usize,
}

/// The outcome of one job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BatchItem {
    /// As `POST /api/jobs` would have answered.
    status: u16,
    /// The stored job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    job: Option<Box<RawValue>>,
    /// As in any error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    error: Option<Value>,
}

/// Stores many jobs, as many as possible in one step each. One that is refused does not stop the others.
#[utoipa::path(post, path = "/api/jobs:batch", tag = "jobs", params(NsQuery), request_body = BatchBody,
    responses((status = 207, body = BatchAnswer), (status = 400), (status = 413)))]
pub(crate) async fn batch(here: Here, request: Request) -> Result<Response, Refusal> {
    let text = body::text(request, here.app.settings.jobs.batch_bytes).await?;
    let bodies = bodies(&text)?;
    let mut items: Vec<Option<BatchItem>> = Vec::with_capacity(bodies.len());
    let (mut places, mut good) = (Vec::new(), Vec::new());
    for (at, body) in bodies.iter().enumerate() {
        match NewJob::from_json(body.get()) {
            Ok(job) => {
                items.push(None);
                places.push(at);
                good.push(job);
            }
            Err(error) => items.push(Some(refused(&refuse(error)))),
        }
    }
    let answers = here.jobs.dispatch_many(good).await.map_err(refuse)?;
    for (at, answer) in places.into_iter().zip(answers) {
        items[at] = Some(match answer {
            Ok(made) => BatchItem { status: 201, job: Some(seen(&here, &made)), error: None },
            Err(error) => refused(&refuse(error)),
        });
    }
    let items: Vec<BatchItem> = items.into_iter().flatten().collect();
    let refused = items.iter().filter(|item| item.error.is_some()).count();
    let answer = BatchAnswer { dispatched: items.len() - refused, refused, items };
    Ok((StatusCode::MULTI_STATUS, Json(answer)).into_response())
}

fn refused(refusal: &Refusal) -> BatchItem {
    let mut error = json!({ "code": refusal.def.code, "message": refusal.message });
    if let Some(field) = &refusal.field {
        error["field"] = field.as_str().into();
    }
    if let Some(details) = &refusal.details {
        error["details"] = Value::clone(details);
    }
    BatchItem { status: refusal.def.status, job: None, error: Some(error) }
}

/// `{"jobs":[…]}`, or the list alone.
fn bodies(text: &str) -> Result<Vec<&RawValue>, Refusal> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Named<'a> {
        #[serde(borrow)]
        jobs: Vec<&'a RawValue>,
    }
    let list = if text.trim_start().starts_with('[') {
        serde_json::from_str(text)
    } else {
        serde_json::from_str::<Named<'_>>(text).map(|named| named.jobs)
    };
    let list: Vec<&RawValue> = list.map_err(|error| {
        Refusal::new(reply::BAD_JSON, format!("send {{\"jobs\":[…]}}: {error}")).field("jobs")
    })?;
    if list.is_empty() || list.len() > BATCH {
        let sentence = format!("jobs holds {}; send 1 to {BATCH} at once", list.len());
        return Err(Refusal::new(reply::BAD_FIELD, sentence).field("jobs"));
    }
    Ok(list)
}
