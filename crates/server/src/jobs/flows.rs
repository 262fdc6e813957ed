//! `POST /api/jobs:flow` and `GET /api/jobs/{id}/tree`.

use axum::Json;
use axum::extract::{Path, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jobs::{Error, Flow, JobTree, TreeBranch};
use serde::Serialize;
use serde_json::value::RawValue;

use super::body;
use super::handle::{Here, refuse};
use super::produce::{JobBody, NsQuery, seen};
use super::show::View;
use crate::reply::Refusal;

/// A job and those that must end before it. What a parent does after the failure of a child is its `x.onDependencyFailed`: `fail`
/// (usual), `wait` or `ignore`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[allow(dead_code)] // A description: the text is read by the queue, which names the field that is wrong.
pub(crate) struct FlowBody {
    #[serde(flatten)]
    job: JobBody,
    /// Each a job that may have children, too; up to 500 jobs in all, 16 deep.
    #[schema(no_recursion)]
    children: Option<Vec<FlowBody>>,
}

/// A flow that was stored.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FlowAnswer {
    /// The root, which runs last.
    job_id: String,
    /// The stored jobs with their `status`, each parent before its children.
    #[schema(value_type = Vec<Object>)]
    jobs: Vec<Box<RawValue>>,
}

/// Stores a tree of jobs, all of it or nothing. A parent runs when its children have ended.
#[utoipa::path(post, path = "/api/jobs:flow", tag = "jobs", params(NsQuery), request_body = FlowBody,
    responses(
        (status = 201, body = FlowAnswer),
        (status = 400, description = "a field is wrong; `field` names it, such as `children[1].type`"),
        (status = 409, description = "an id or a unique key is taken; `details.jobId` holds it"),
        (status = 413), (status = 429, description = "jobs.max_waiting jobs wait already")))]
pub(crate) async fn dispatch(here: Here, request: Request) -> Result<Response, Refusal> {
    let trace = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    let trace = trace.map(str::to_owned);
    let text = body::text(request, here.app.settings.jobs.batch_bytes).await?;
    let mut flow = Flow::from_json(&text).map_err(refuse)?;
    if let Some(trace) = trace {
        follow(&mut flow, &trace);
    }
    let stored = here.jobs.dispatch_flow(flow).await.map_err(refuse)?;
    let job_id = stored.first().map(|root| root.job.id.clone()).unwrap_or_default();
    let jobs = stored.iter().map(|one| seen(&here, one)).collect();
    Ok((StatusCode::CREATED, Json(FlowAnswer { job_id, jobs })).into_response())
}

/// Jobs that name no trace belong to that of the request.
fn follow(flow: &mut Flow, trace: &str) {
    flow.job.x.traceparent.get_or_insert_with(|| trace.to_owned());
    flow.children.iter_mut().for_each(|child| follow(child, trace));
}

/// A job with those it waits for, or waited for.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TreeNode {
    job_id: String,
    /// Absent when the job is gone.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The job's state; `gone` when nothing of it is left.
    status: String,
    /// Of a parent, what it does after the failure of a child: `fail`, `wait` or `ignore`.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_dependency_failed: Option<String>,
    /// Of the last attempt, up to 4096 bytes; `GET /api/jobs/{id}/result` has longer ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    result: Option<Box<RawValue>>,
    #[schema(no_recursion)]
    children: Vec<TreeNode>,
}

impl TreeNode {
    fn of(branch: TreeBranch, view: &View) -> TreeNode {
        TreeNode {
            job_id: branch.id,
            kind: branch.kind,
            status: branch.status,
            on_dependency_failed: branch.on_dependency_failed,
            result: branch.result.map(|result| view.result(result.get())),
            children: branch.children.into_iter().map(|child| TreeNode::of(child, view)).collect(),
        }
    }
}

/// The tree that a job belongs to.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TreeAnswer {
    /// The job that was asked for.
    job_id: String,
    /// From the root of its flow, or from the job itself.
    root: TreeNode,
    /// How many jobs are shown.
    jobs: usize,
    /// Whether there are more: a tree shows up to 500 jobs, 16 deep.
    truncated: bool,
    at: u64,
}

/// The flow that a job belongs to, as a tree; of a job without a flow, what it depends on.
#[utoipa::path(get, path = "/api/jobs/{id}/tree", tag = "jobs",
    params(("id" = String, Path, description = "the job's id"), NsQuery),
    responses((status = 200, body = TreeAnswer), (status = 404)))]
pub(crate) async fn tree(here: Here, Path(id): Path<String>) -> Result<Json<TreeAnswer>, Refusal> {
    let found = here.jobs.tree(&id).await.map_err(refuse)?;
    let JobTree { id, root, jobs, truncated } = found.ok_or_else(|| refuse(Error::no_job(&*id)))?;
    let root = TreeNode::of(root, &here.view);
    Ok(Json(TreeAnswer { job_id: id, root, jobs, truncated, at: here.app.now_ms() }))
}
